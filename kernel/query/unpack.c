/* Blocks of LZ4 unpacked, for storage/container.py: a few are read for an answer, and loading the library takes longer than that.

   A block is a row of sequences: a byte with two lengths, literal bytes, how far back a copy begins, a copy. A length of 15 goes on
   in further bytes while these are 255; a copy is 4 longer than its number says. The last sequence ends with its literals, which are the last
   five bytes at least (LZ4 Block Format Description). */

#include "support/kernel.h"

enum { SHORTEST_COPY = 4, LAST_LITERALS = 5 };

/* A length that begins with four bits; SIZE_MAX where the block ends in the middle of it. */
static size_t length_of(size_t bits, const unsigned char **at, const unsigned char *end) {
    size_t length = bits;
    if (bits == 15) {
        unsigned char more;
        do {
            if (*at == end || length > SIZE_MAX / 2) {
                return SIZE_MAX;
            }
            more = *(*at)++;
            length += more;
        } while (more == 255);
    }
    return length;
}

/* Copies from what was put down before, which may reach into what is being put down. */
static void copy_back(unsigned char *to, size_t back, size_t length) {
    const unsigned char *from = to - back;
    if (back >= length) {
        memcpy(to, from, length);
        return;
    }
    while (length > back) { /* what is there already is there twice after each step */
        memcpy(to, from, back);
        to += back;
        length -= back;
        back *= 2;
    }
    memcpy(to, from, length);
}

/* Whether a block gives exactly so many bytes. */
static int unpack(const unsigned char *at, size_t packed, unsigned char *data, size_t size) {
    const unsigned char *end = at + packed;
    size_t done = 0;
    for (;;) {
        if (at == end) {
            return 0;
        }
        unsigned char both = *at++;
        size_t literals = length_of(both >> 4, &at, end);
        if (literals > (size_t)(end - at) || literals > size - done) {
            return 0;
        }
        memcpy(data + done, at, literals);
        at += literals;
        done += literals;
        if (at == end) {
            return done == size;
        }
        if (end - at < 2) {
            return 0;
        }
        size_t back = (size_t)at[0] | (size_t)at[1] << 8;
        at += 2;
        size_t length = length_of(both & 15, &at, end);
        if (length > size || back == 0 || back > done) {
            return 0;
        }
        length += SHORTEST_COPY;
        if (size < LAST_LITERALS || size - LAST_LITERALS < done || length > size - LAST_LITERALS - done) {
            return 0;
        }
        copy_back(data + done, back, length);
        done += length;
    }
}

PyObject *kernel_unpack(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer block;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "y*n", &block, &size)) {
        return NULL;
    }
    PyObject *data = NULL;
    if (size < 0) {
        fail("there is no such size");
    } else {
        data = PyBytes_FromStringAndSize(NULL, size);
    }
    if (data != NULL && !unpack(block.buf, (size_t)block.len, (unsigned char *)PyBytes_AsString(data), (size_t)size)) {
        Py_DECREF(data);
        data = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&block);
    return data;
}
