/* Sums of stored rows, one owner at a time. Everything is whole and below 2^24, so single precision holds each sum exactly, in
   whatever order it is added up. */

#ifndef LURCHER_SUMS_H
#define LURCHER_SUMS_H

#include "support/wide.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Rows as they are stored: bytes, or two numbers in each, the first in the low half, both plus 8. */
typedef struct {
    const unsigned char *data;
    size_t height, width, dims;
    int bits;
} Stored;

INLINED void add_bytes(float *restrict sums, const signed char *restrict row, size_t dims, float amount) {
    for (size_t i = 0; i < dims; i++) {
        sums[i] += amount * (float)row[i];
    }
}

INLINED void add_halves(float *restrict low, float *restrict high, const unsigned char *restrict row, size_t width, float amount) {
    for (size_t i = 0; i < width; i++) {
        low[i] += amount * (float)(row[i] & 15);
        high[i] += amount * (float)(row[i] >> 4);
    }
}

/* One owner's sum, over what belongs to it: `desk` has room for two rows. */
INLINED void sum_of(const Stored *stored, const int64_t *rows, const double *amounts, size_t count, float *desk, float *sums) {
    size_t dims = stored->dims, width = stored->width;
    if (stored->bits == 8) {
        memset(sums, 0, dims * sizeof *sums);
        for (size_t i = 0; i < count; i++) {
            add_bytes(sums, (const signed char *)stored->data + (size_t)rows[i] * width, dims, (float)amounts[i]);
        }
        return;
    }
    float *low = desk, *high = desk + width, total = 0;
    memset(desk, 0, 2 * width * sizeof *desk);
    for (size_t i = 0; i < count; i++) {
        add_halves(low, high, stored->data + (size_t)rows[i] * width, width, (float)amounts[i]);
        total += (float)amounts[i];
    }
    for (size_t i = 0; i < dims; i++) {
        sums[i] = (i % 2 ? high[i / 2] : low[i / 2]) - 8 * total;
    }
}

/* A row as bytes, and the scale that makes it one long: as `unit_length` in vectors/static.py, step by step. */
INLINED float shortened(const float *restrict sums, size_t dims, signed char *restrict numbers) {
    const float whole = 12582912.0f; /* 1.5 · 2^23: what is added to it loses its fraction, halves going to the even side */
    float highest = 0;
    for (size_t i = 0; i < dims; i++) {
        float size = fabsf(sums[i]);
        highest = size > highest ? size : highest;
    }
    float factor = 127 / (highest > 0 ? highest : 1);
    int64_t squares = 0;
    for (size_t i = 0; i < dims; i++) {
        int number = (int)((sums[i] * factor + whole) - whole);
        numbers[i] = (signed char)number;
        squares += number * number;
    }
    double length = sqrt((double)squares);
    return length > 0 ? (float)(1 / length) : 0;
}

#endif
