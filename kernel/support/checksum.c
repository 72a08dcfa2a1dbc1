/* CRC-32 as zlib has it, by multiplication without carries where the processor can do that: several times as fast.

   A text is a polynomial. Sixteen bytes times x^n modulo the checksum's polynomial are sixteen bytes again, so four runs are
   folded forward over the text, into one at the end, and what is left is divided once (Gopal and others, Fast CRC Computation
   for Generic Polynomials Using PCLMULQDQ Instruction, 2009). Bits are in reverse order, as always in this checksum. */

#include "support/kernel.h"
#include "support/wide.h"

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define FAST 1

/* x^n modulo the polynomial, for the distances over which is folded: 4·128 bits, 128 bits, 64 bits; last the polynomial and
   what stands for dividing by it. */
#define FOUR_LOW INT64_C(0x0154442bd4)
#define FOUR_HIGH INT64_C(0x01c6e41596)
#define ONE_LOW INT64_C(0x01751997d0)
#define ONE_HIGH INT64_C(0x00ccaa009e)
#define HALF INT64_C(0x0163cd6124)
#define POLYNOMIAL INT64_C(0x01db710641)
#define DIVISION INT64_C(0x01f7011641)

#define CARRYLESS __attribute__((target("pclmul,sse4.1")))

CARRYLESS static inline __m128i at(const unsigned char *data) { return _mm_loadu_si128((const __m128i *)(const void *)data); }

CARRYLESS static inline __m128i folded(__m128i run, __m128i by, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(run, by, 0x00), high = _mm_clmulepi64_si128(run, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Of at least 64 bytes, a multiple of 16. */
CARRYLESS static uint32_t fold(const unsigned char *data, size_t size, uint32_t before) {
    __m128i by = _mm_set_epi64x(FOUR_HIGH, FOUR_LOW);
    __m128i a = _mm_xor_si128(at(data), _mm_cvtsi32_si128((int)before)), b = at(data + 16), c = at(data + 32), d = at(data + 48);
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
        a = folded(a, by, at(data));
        b = folded(b, by, at(data + 16));
        c = folded(c, by, at(data + 32));
        d = folded(d, by, at(data + 48));
    }
    by = _mm_set_epi64x(ONE_HIGH, ONE_LOW);
    a = folded(folded(folded(a, by, b), by, c), by, d);
    for (; size >= 16; data += 16, size -= 16) {
        a = folded(a, by, at(data));
    }
    const __m128i words = _mm_setr_epi32(-1, 0, -1, 0);
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, words), _mm_set_epi64x(0, HALF), 0x00));
    by = _mm_set_epi64x(DIVISION, POLYNOMIAL);
    __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, words), by, 0x10), words);
    a = _mm_xor_si128(a, _mm_clmulepi64_si128(quotient, by, 0x00));
    return (uint32_t)_mm_extract_epi32(a, 1);
}

int checksum_is_fast(void) { return processor.multiplies_carryless; }

#else
#define FAST 0
int checksum_is_fast(void) { return 0; }
#endif

static uint32_t by_bits(const unsigned char *data, size_t size, uint32_t sum) {
    for (size_t i = 0; i < size; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (sum & 1)));
        }
    }
    return sum;
}

static uint32_t checksum_of(const unsigned char *data, size_t size, uint32_t before) {
    uint32_t sum = ~before;
#if FAST
    if (size >= 64 && checksum_is_fast()) {
        size_t whole = size - size % 16;
        sum = fold(data, whole, sum);
        data += whole;
        size -= whole;
    }
#endif
    return ~by_bits(data, size, sum);
}

/* Some bytes, and the checksum of those before them, if there are any. */
PyObject *kernel_crc32(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer view;
    unsigned int sum = 0;
    if (!PyArg_ParseTuple(arguments, "y*|I:crc32", &view, &sum)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    sum = checksum_of(view.buf, (size_t)view.len, (uint32_t)sum);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLong(sum);
}
