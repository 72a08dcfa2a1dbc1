/* What the processor can do, asked once. The compilers' own question, __builtin_cpu_supports, needs a library that not every tool
   chain has. */

#include "support/wide.h"

#ifdef MAY_BE_WIDE

#include <cpuid.h>

Processor processor;

/* Whether the system saves the registers of 256 bits when it switches threads. */
static int keeps_wide_registers(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return (low & 6) == 6;
}

void ask_processor(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return;
    }
    int saves = (c & bit_OSXSAVE) && (c & bit_AVX) && keeps_wide_registers();
    processor.multiplies_carryless = (c & bit_PCLMUL) && (c & bit_SSE4_1);
    processor.wide = saves && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

#else

void ask_processor(void) {}

#endif
