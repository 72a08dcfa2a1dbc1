/* Loops for which compilers may use wide registers, where the processor has them: written once, compiled twice. */

#ifndef LURCHER_WIDE_H
#define LURCHER_WIDE_H

/* Called once, before anything else of the kernel. */
void ask_processor(void);

#if defined(__GNUC__) && defined(__x86_64__)
#define MAY_BE_WIDE 1
#define WIDE __attribute__((target("avx2")))
#define INLINED static inline __attribute__((always_inline))
#define HAS_WIDE processor.wide

typedef struct {
    int wide;                  /* AVX2 */
    int multiplies_carryless;  /* PCLMULQDQ, and SSE 4.1 */
} Processor;

extern Processor processor;
#else
#define WIDE
#define INLINED static inline
#define HAS_WIDE 0
#endif

#endif
