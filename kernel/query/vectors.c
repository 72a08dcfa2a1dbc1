/* Sums and products of rows of small whole numbers, as vectors/static.py and storage/vectors.py have them.

   Everything is whole and below 2^24, so single precision holds each sum exactly, in whatever order it is added up: compilers
   may use wide registers, and the result is that of any matrix product. */

#include "support/kernel.h"
#include "index/sums.h"
#include "support/parallel.h"
#include "support/wide.h"

#include <stdlib.h>

/* Numbers of two bytes are multiplied and added pair by pair in one step, where the processor has one for that. */
INLINED int short_product(const signed char *restrict row, const int16_t *restrict numbers, size_t dims) {
    int sum = 0;
    for (size_t i = 0; i < dims; i++) {
        sum += (int16_t)row[i] * numbers[i];
    }
    return sum;
}

INLINED int long_product(const signed char *restrict row, const int32_t *restrict numbers, size_t dims) {
    int sum = 0;
    for (size_t i = 0; i < dims; i++) {
        sum += row[i] * numbers[i];
    }
    return sum;
}

INLINED void all_sums(const Stored *stored, const int64_t *ends, size_t total, const int64_t *rows, const double *amounts,
                      float *desk, float *sums) {
    for (size_t owner = 0; owner < total; owner++) {
        size_t start = owner ? (size_t)ends[owner - 1] : 0, count = (size_t)ends[owner] - start;
        sum_of(stored, rows + start, amounts + start, count, desk, sums + owner * stored->dims);
    }
}

WIDE static void all_sums_wide(const Stored *stored, const int64_t *ends, size_t total, const int64_t *rows,
                               const double *amounts, float *desk, float *sums) {
    all_sums(stored, ends, total, rows, amounts, desk, sums);
}

static void all_sums_plain(const Stored *stored, const int64_t *ends, size_t total, const int64_t *rows,
                           const double *amounts, float *desk, float *sums) {
    all_sums(stored, ends, total, rows, amounts, desk, sums);
}

INLINED void all_products(const signed char *rows, size_t dims, const int64_t *places, size_t count, const int32_t *numbers,
                          const int16_t *shorts, double *products) {
    for (size_t i = 0; i < count; i++) {
        const signed char *row = rows + (places == NULL ? i : (size_t)places[i]) * dims;
        products[i] = shorts == NULL ? long_product(row, numbers, dims) : short_product(row, shorts, dims);
    }
}

WIDE static void all_products_wide(const signed char *rows, size_t dims, const int64_t *places, size_t count,
                                   const int32_t *numbers, const int16_t *shorts, double *products) {
    all_products(rows, dims, places, count, numbers, shorts, products);
}

static void all_products_plain(const signed char *rows, size_t dims, const int64_t *places, size_t count,
                               const int32_t *numbers, const int16_t *shorts, double *products) {
    all_products(rows, dims, places, count, numbers, shorts, products);
}

/* Some of all products. */
typedef struct {
    const signed char *rows;
    size_t dims, count;
    const int64_t *places;
    const int32_t *numbers;
    const int16_t *shorts;
    double *products;
} Products;

static void some_products(void *part) {
    const Products *some = part;
    (HAS_WIDE ? all_products_wide : all_products_plain)(
        some->rows, some->dims, some->places, some->count, some->numbers, some->shorts, some->products);
}

#define WORTH_A_THREAD 8000000 /* bytes: what one core takes a millisecond for */

static void products_of(Products all) {
    if (all.count < 2 || all.count < WORTH_A_THREAD / all.dims) {
        some_products(&all);
        return;
    }
    size_t half = all.count / 2;
    Products rest = all;
    all.count = half;
    rest.count -= half;
    rest.products += half;
    if (rest.places == NULL) {
        rest.rows += half * rest.dims;
    } else {
        rest.places += half;
    }
    in_two(some_products, &all, &rest);
}

/* A direction as whole numbers, of two bytes too where all fit (1; 0 where not); -1 where they are not small and whole. */
static int whole_numbers(const float *given, size_t dims, int32_t *numbers, int16_t *shorts) {
    int fit = 1;
    double together = 0;
    for (size_t i = 0; i < dims; i++) {
        if (!(fabsf(given[i]) <= 131072) || given[i] != truncf(given[i])) {
            return -1;
        }
        together += fabsf(given[i]);
        numbers[i] = (int32_t)given[i];
        fit = fit && numbers[i] >= INT16_MIN && numbers[i] <= INT16_MAX;
        shorts[i] = (int16_t)(fit ? numbers[i] : 0);
    }
    return together > 131072 + 64 ? -1 : fit;
}

/* Whether all are from 0 to below `limit`. */
static int within(const int64_t *numbers, size_t count, size_t limit) {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong |= (uint64_t)numbers[i] >= limit;
    }
    return !wrong;
}

/* Whether ends do not fall, and the last one is that of everything. */
static int in_order(const int64_t *ends, size_t count, size_t last) {
    int64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        if (ends[i] < before) {
            return 0;
        }
        before = ends[i];
    }
    return (uint64_t)before == last;
}

/* Whether amounts are small enough for what the head of this file says: whole numbers, for one owner 2^17 together. */
static int small(const double *amounts, const int64_t *ends, size_t total) {
    for (size_t owner = 0, i = 0; owner < total; owner++) {
        double together = 0;
        for (; i < (size_t)ends[owner]; i++) {
            if (!(fabs(amounts[i]) <= 131072) || amounts[i] != trunc(amounts[i])) {
                return 0;
            }
            together += fabs(amounts[i]);
        }
        if (together > 131072 + 64) {
            return 0;
        }
    }
    return 1;
}

PyObject *kernel_row_sums(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer ends, rows, amounts, data;
    Py_ssize_t dims;
    int bits;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*in", &ends, &rows, &amounts, &data, &bits, &dims)) {
        return NULL;
    }
    PyObject *found = NULL;
    Stored stored = {data.buf, 0, 0, (size_t)dims, bits};
    Py_ssize_t total = items_of(&ends, 8, "the ends"), count = items_of(&rows, 8, "the rows");
    float *desk = NULL;
    int sound = 0;
    if (total < 0 || count < 0 || items_of(&amounts, 8, "the amounts") < 0) {
        goto done;
    }
    if (dims < 1 || dims > 1 << 16 || (bits != 8 && bits != 4)) {
        fail("no such rows");
        goto done;
    }
    stored.width = bits == 8 ? (size_t)dims : ((size_t)dims + 1) / 2;
    stored.height = (size_t)data.len / stored.width;
    if ((size_t)data.len != stored.height * stored.width || amounts.len != rows.len || total > PY_SSIZE_T_MAX / 4 / dims) {
        fail("the rows do not fit");
        goto done;
    }
    found = PyByteArray_FromStringAndSize(NULL, total * dims * (Py_ssize_t)sizeof(float));
    desk = malloc(2 * stored.width * sizeof *desk);
    if (found == NULL || desk == NULL) {
        Py_CLEAR(found);
        PyErr_NoMemory();
        goto done;
    }
    float *sums = (float *)(void *)PyByteArray_AsString(found);
    Py_BEGIN_ALLOW_THREADS
    sound = in_order(ends.buf, (size_t)total, (size_t)count) && within(rows.buf, (size_t)count, stored.height) &&
            small(amounts.buf, ends.buf, (size_t)total);
    if (sound) {
        (HAS_WIDE ? all_sums_wide : all_sums_plain)(&stored, ends.buf, (size_t)total, rows.buf, amounts.buf, desk, sums);
    }
    Py_END_ALLOW_THREADS
    if (!sound) {
        Py_CLEAR(found);
        fail("a row is not there, or an amount is not small and whole");
    }
done:
    free(desk);
    RELEASE(&ends, &rows, &amounts, &data);
    return found;
}

PyObject *kernel_products(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer rows, places = {0}, numbers, products;
    PyObject *chosen, *found = NULL;
    if (!PyArg_ParseTuple(arguments, "y*Oy*w*", &rows, &chosen, &numbers, &products)) {
        return NULL;
    }
    int picked = chosen != Py_None, sound;
    if (picked && PyObject_GetBuffer(chosen, &places, PyBUF_SIMPLE) < 0) {
        picked = 0;
        goto done;
    }
    Py_ssize_t dims = items_of(&numbers, 4, "the direction"), count = items_of(&products, 8, "the products");
    Py_ssize_t asked = picked ? items_of(&places, 8, "the places") : 0;
    int32_t *whole = NULL;
    int16_t *shorts = NULL;
    if (dims < 0 || count < 0 || asked < 0) {
        goto done;
    }
    size_t height = dims ? (size_t)(rows.len / dims) : 0;
    if (dims == 0 || rows.len % dims || (size_t)count != (picked ? (size_t)asked : height)) {
        fail("the rows do not fit");
        goto done;
    }
    whole = malloc((size_t)dims * sizeof *whole);
    shorts = malloc((size_t)dims * sizeof *shorts);
    if (whole == NULL || shorts == NULL) {
        free(whole);
        free(shorts);
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    int fit = whole_numbers(numbers.buf, (size_t)dims, whole, shorts);
    sound = fit >= 0 && (!picked || within(places.buf, (size_t)count, height));
    if (sound) {
        products_of((Products){rows.buf, (size_t)dims, (size_t)count, picked ? places.buf : NULL, whole, fit ? shorts : NULL,
                               products.buf});
    }
    Py_END_ALLOW_THREADS
    free(whole);
    free(shorts);
    if (!sound) {
        fail("a row is not there, or a number is not small and whole");
        goto done;
    }
    found = Py_NewRef(Py_None);
done:
    if (picked) {
        PyBuffer_Release(&places);
    }
    RELEASE(&rows, &numbers, &products);
    return found;
}
