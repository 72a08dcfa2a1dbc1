/* Loops for which compilers may use wide registers, where the processor has them: written once, compiled twice. */

#ifndef LURCHER_WIDE_H
#define LURCHER_WIDE_H

#if defined(__GNUC__) && defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define INLINED static inline __attribute__((always_inline))
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define WIDE
#define INLINED static inline
#define HAS_WIDE 0
#endif

#endif
