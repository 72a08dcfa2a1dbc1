/* Whether the rows of a table lead to what exists, for storage/segment.py: each limit is about a number, or the sum of two, of a
   row. Rows are gone through in blocks, so that each is read from memory once. */

#include "support/kernel.h"

enum { MOST_LIMITS = 16, BLOCK = 512 };

typedef struct {
    Py_ssize_t place, other; /* `other` is negative where it is about one number */
    int size, other_size;    /* in bytes; negative for numbers below zero */
    int64_t low, high;
} Limit;

/* Numbers beyond 2^62 are as good as that: every limit is below. */
#define FAR (INT64_C(1) << 62)

static inline int64_t number_at(const char *at, int size) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    int32_t whole;
    uint64_t eight;
    switch (size) {
    case 1:
        memcpy(&one, at, 1);
        return one;
    case 2:
        memcpy(&two, at, 2);
        return two;
    case 4:
        memcpy(&four, at, 4);
        return four;
    case -4:
        memcpy(&whole, at, 4);
        return whole;
    default:
        memcpy(&eight, at, 8);
        return eight > (uint64_t)FAR ? FAR : (int64_t)eight;
    }
}

/* The compiler makes a loop of its own of it for each size. */
static inline int all_within(const char *at, Py_ssize_t count, Py_ssize_t width, int size, int64_t low, int64_t high) {
    int beyond = 0;
    for (Py_ssize_t i = 0; i < count; i++, at += width) {
        int64_t number = number_at(at, size);
        beyond |= (number < low) | (number > high);
    }
    return !beyond;
}

static int block_within(const char *rows, Py_ssize_t count, Py_ssize_t width, const Limit *limit) {
    const char *at = rows + limit->place;
    if (limit->other < 0) {
        switch (limit->size) {
        case 1:
            return all_within(at, count, width, 1, limit->low, limit->high);
        case 2:
            return all_within(at, count, width, 2, limit->low, limit->high);
        case 4:
            return all_within(at, count, width, 4, limit->low, limit->high);
        case -4:
            return all_within(at, count, width, -4, limit->low, limit->high);
        default:
            return all_within(at, count, width, 8, limit->low, limit->high);
        }
    }
    int beyond = 0;
    for (Py_ssize_t i = 0; i < count; i++, at += width) {
        int64_t number = number_at(at, limit->size), other = number_at(rows + i * width + limit->other, limit->other_size);
        number = number == FAR ? FAR : number + other;
        beyond |= (number < limit->low) | (number > limit->high);
    }
    return !beyond;
}

static int read_limit(PyObject *given, Py_ssize_t width, Limit *limit) {
    long long low, high;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a limit is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(
            given, "niniLL", &limit->place, &limit->size, &limit->other, &limit->other_size, &low, &high
        )) {
        return -1;
    }
    limit->low = low;
    limit->high = high;
    const int sizes[] = {limit->size, limit->other >= 0 ? limit->other_size : limit->size};
    const Py_ssize_t places[] = {limit->place, limit->other >= 0 ? limit->other : limit->place};
    for (int i = 0; i < 2; i++) {
        int size = sizes[i];
        if (size != 1 && size != 2 && size != 4 && size != -4 && size != 8) {
            return fail("there are no such numbers");
        }
        if (places[i] < 0 || places[i] > width - (size < 0 ? -size : size)) {
            return fail("a row has no such place");
        }
    }
    return 0;
}

PyObject *kernel_within(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer rows;
    Py_ssize_t width;
    PyObject *given;
    if (!PyArg_ParseTuple(arguments, "y*nO!", &rows, &width, &PyTuple_Type, &given)) {
        return NULL;
    }
    PyObject *found = NULL;
    Limit limits[MOST_LIMITS];
    Py_ssize_t several = PyTuple_Size(given);
    if (width <= 0 || rows.len % width != 0 || several > MOST_LIMITS) {
        fail("the buffer has no such rows");
        goto done;
    }
    for (Py_ssize_t i = 0; i < several; i++) {
        if (read_limit(PyTuple_GetItem(given, i), width, &limits[i]) < 0) {
            goto done;
        }
    }
    int within = 1;
    Py_ssize_t count = rows.len / width;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t start = 0; start < count && within; start += BLOCK) {
        Py_ssize_t part = count - start < BLOCK ? count - start : BLOCK;
        for (Py_ssize_t i = 0; i < several; i++) {
            within &= block_within((const char *)rows.buf + start * width, part, width, &limits[i]);
        }
    }
    Py_END_ALLOW_THREADS
    found = PyBool_FromLong(within);
done:
    PyBuffer_Release(&rows);
    return found;
}
