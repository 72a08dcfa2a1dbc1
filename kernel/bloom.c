/* What a text is made of, for the filter over a segment, as index/bloom.py has it: words, and threes of bytes that are not all
   of one word. */

#include "kernel.h"
#include "split.h"

#include <stdlib.h>

enum { PIECE = 1 << 16, BEYOND = 127, THREES = 1 << 21 };
#define PRIME UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static int inside(unsigned char byte) { return CLASS[byte] != BETWEEN; }

static size_t plain(unsigned char byte) { return byte < BEYOND ? byte : BEYOND; }

/* The words of one piece: 0, or -1 without memory. */
static int words_in(const unsigned char *text, size_t start, size_t end, Bytes *hashes) {
    for (size_t at = start; at < end;) {
        if (!inside(text[at])) {
            at++;
            continue;
        }
        size_t first = at;
        uint64_t digits = 0, power = 1;
        for (; at < end && inside(text[at]); at++) {
            digits += text[at] * power;
            power *= PRIME;
        }
        uint64_t hash = mixed(digits + (uint64_t)(at - first) * PRIME);
        if (bytes_append(hashes, &hash, sizeof hash) < 0) {
            return -1;
        }
    }
    return 0;
}

static void threes_in(const unsigned char *text, size_t start, size_t end, unsigned char *threes) {
    for (size_t at = start; at + 2 < end; at++) {
        if (!(inside(text[at]) && inside(text[at + 1]) && inside(text[at + 2]))) {
            threes[plain(text[at]) << 14 | plain(text[at + 1]) << 7 | plain(text[at + 2])] = 1;
        }
    }
}

/* Piece by piece; a piece ends between words, and threes reach over the border. */
static int entries_of(const unsigned char *text, size_t size, Bytes *hashes, unsigned char *threes) {
    size_t start = 0;
    while (start < size) {
        size_t end = size - start > PIECE ? start + PIECE : size;
        if (end < size) {
            size_t last = end;
            while (last > start && inside(text[last - 1])) {
                last--;
            }
            end = last > start ? last : end;
        }
        if (words_in(text, start, end, hashes) < 0) {
            return -1;
        }
        threes_in(text, start < 2 ? 0 : start - 2, end, threes);
        start = end;
    }
    return 0;
}

PyObject *kernel_text_entries(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer text, threes;
    if (!PyArg_ParseTuple(arguments, "y*w*", &text, &threes)) {
        return NULL;
    }
    PyObject *found = NULL;
    if (threes.len != THREES) {
        PyErr_SetString(PyExc_ValueError, "there is no room for all threes");
    } else {
        Bytes hashes = {0};
        int failed;
        Py_BEGIN_ALLOW_THREADS
        failed = entries_of(text.buf, (size_t)text.len, &hashes, threes.buf);
        Py_END_ALLOW_THREADS
        found = failed ? PyErr_NoMemory() : PyByteArray_FromStringAndSize(hashes.data, (Py_ssize_t)hashes.used);
        bytes_free(&hashes);
    }
    PyBuffer_Release(&text);
    PyBuffer_Release(&threes);
    return found;
}
