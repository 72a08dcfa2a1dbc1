/* The functions that make small arrays, and the list of all functions on them. */

#include "query/array.h"

/* The requested kind, F64 where none is; -1 with an exception. */
static int kind_or_real(PyObject *const *arguments, Py_ssize_t given, PyObject *names, Py_ssize_t place) {
    PyObject *named = given > place ? arguments[place] : keyword(arguments, given, names, "dtype");
    return named == NULL || named == Py_None ? F64 : kind_of(named);
}

static int count_of(PyObject *const *arguments, Py_ssize_t *count) {
    *count = PyNumber_AsSsize_t(arguments[0], PyExc_OverflowError);
    return *count == -1 && PyErr_Occurred() ? -1 : 0;
}

static FAST(make_zeros) {
    (void)module;
    Py_ssize_t count;
    if (!takes(given, 1, 2, names, " dtype ") || count_of(arguments, &count) < 0) {
        return NULL;
    }
    int kind = kind_or_real(arguments, given, names, 1);
    return kind < 0 ? NULL : (PyObject *)array_zeros((Kind)kind, count);
}

static FAST(make_full) {
    (void)module;
    Py_ssize_t count;
    if (!takes(given, 2, 3, names, " dtype ") || count_of(arguments, &count) < 0) {
        return NULL;
    }
    PyObject *named = given > 2 ? arguments[2] : keyword(arguments, given, names, "dtype");
    int kind = named != NULL ? kind_of(named) : PyBool_Check(arguments[1]) ? BOOL : PyLong_Check(arguments[1]) ? I64 : F64, many;
    Array *array = kind < 0 ? NULL : array_new((Kind)kind, count), *values = array == NULL ? NULL : array_values_for(array, arguments[1], &many);
    if (array != NULL && (values == NULL || array_put_values(array, NULL, 0, 1, count, values, many) < 0)) {
        Py_CLEAR(array);
    }
    drop(values);
    return (PyObject *)array;
}

static FAST(make_arange) {
    (void)module;
    if (!takes(given, 1, 2, names, "")) {
        return NULL;
    }
    int64_t bounds[2] = {0, 0};
    for (Py_ssize_t i = 0; i < given; i++) {
        bounds[given == 1 ? 1 : i] = PyNumber_AsSsize_t(arguments[i], PyExc_OverflowError);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    if (bounds[1] > PY_SSIZE_T_MAX / 2 || bounds[0] < -PY_SSIZE_T_MAX / 2) {
        return PyErr_Format(PyExc_ValueError, "an array cannot be that long");
    }
    Array *array = array_new(I64, bounds[1] > bounds[0] ? (Py_ssize_t)(bounds[1] - bounds[0]) : 0);
    for (Py_ssize_t i = 0; array != NULL && i < array->count; i++) {
        ((int64_t *)(void *)array->data)[i] = bounds[0] + i;
    }
    return (PyObject *)array;
}

/* array, asarray: the second shares memory with what is of the kind already. */
static PyObject *made_of(PyObject *const *arguments, Py_ssize_t given, PyObject *names, int apart) {
    if (!takes(given, 1, 2, names, " dtype ")) {
        return NULL;
    }
    PyObject *named = given > 1 ? arguments[1] : keyword(arguments, given, names, "dtype");
    int kind = named == NULL || named == Py_None ? -1 : kind_of(named);
    if (kind < 0 && PyErr_Occurred()) {
        return NULL;
    }
    Array *array = kind < 0 ? array_from(arguments[0]) : array_from_as(arguments[0], (Kind)kind);
    if (array == NULL || !apart || (array->base == NULL && array->view == NULL && (PyObject *)array != arguments[0])) {
        return (PyObject *)array;
    }
    PyObject *copy = array_copy((PyObject *)array, NULL);
    Py_DECREF(array);
    return copy;
}

static FAST(make_array) {
    (void)module;
    return made_of(arguments, given, names, 1);
}

static FAST(make_asarray) {
    (void)module;
    return made_of(arguments, given, names, 0);
}

static FAST(make_fromiter) {
    (void)module;
    int kind = takes(given, 1, 3, names, " dtype count ") ? kind_or_real(arguments, given, names, 1) : -1;
    PyObject *many = kind < 0 ? NULL : given > 2 ? arguments[2] : keyword(arguments, given, names, "count");
    Py_ssize_t count = many == NULL ? -1 : PyNumber_AsSsize_t(many, PyExc_OverflowError);
    if (kind < 0 || PyErr_Occurred()) {
        return NULL;
    }
    Array *array = array_of_numbers(arguments[0], kind);
    if (array != NULL && count > array->count) {
        Py_CLEAR(array);
        fail("there are not that many numbers");
    } else if (array != NULL && count >= 0) {
        array->count = count;
    }
    return (PyObject *)array;
}

static FAST(make_frombuffer) {
    (void)module;
    int kind = takes(given, 1, 2, names, " dtype ") ? kind_or_real(arguments, given, names, 1) : -1;
    if (kind < 0) {
        return NULL;
    }
    Array *array = array_of_buffer(arguments[0], kind);
    if (array == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "the buffer is no array of %s", kind_names[kind]);
    }
    return (PyObject *)array;
}

/* A buffer of rows, where in each a number stands, how long a row is, its kind: that column. */
static FAST(make_column) {
    (void)module;
    if (!takes(given, 4, 4, names, "")) {
        return NULL;
    }
    Py_ssize_t place = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    Py_ssize_t width = PyErr_Occurred() ? -1 : PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    int kind = PyErr_Occurred() ? -1 : kind_of(arguments[3]);
    Py_buffer view;
    if (kind < 0 || PyObject_GetBuffer(arguments[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Array *array = NULL;
    if (place < 0 || width <= 0 || place > width - kind_size[kind] || view.len % width) {
        fail("the buffer has no such rows");
    } else {
        array = array_new((Kind)kind, view.len / width);
    }
#define PICK(SIZE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < array->count; i++) { \
            memcpy(array->data + i * (SIZE), (const char *)view.buf + i * width + place, SIZE); \
        } \
        break;
    if (array != NULL) {
        switch (kind_size[kind]) {
            PICK(1)
            PICK(2)
            PICK(4)
            PICK(8)
        default:
            break;
        }
    }
    PyBuffer_Release(&view);
    return (PyObject *)array;
}

/* The same as whole numbers of eight bytes, with something added to each. */
static FAST(make_numbers) {
    (void)module;
    if (!takes(given, 5, 5, names, "")) {
        return NULL;
    }
    Py_ssize_t place = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    Py_ssize_t width = PyErr_Occurred() ? -1 : PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    int kind = PyErr_Occurred() ? -1 : kind_of(arguments[3]);
    int64_t more = kind < 0 ? 0 : (int64_t)PyNumber_AsSsize_t(arguments[4], PyExc_OverflowError);
    Py_buffer view;
    if (kind < 0 || PyErr_Occurred() || PyObject_GetBuffer(arguments[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Array *array = NULL;
    if (place < 0 || width <= 0 || place > width - kind_size[kind] || view.len % width) {
        fail("the buffer has no such rows");
    } else if (kind != U8 && kind != U16 && kind != U32 && kind != I32) {
        fail("such numbers may not fit");
    } else {
        array = array_new(I64, view.len / width);
    }
    int64_t *numbers = array != NULL ? (int64_t *)array->data : NULL;
    const char *at = (const char *)view.buf + place;
#define WIDEN(KIND, TYPE) \
    case KIND: \
        for (Py_ssize_t i = 0; i < array->count; i++, at += width) { \
            TYPE number; \
            memcpy(&number, at, sizeof number); \
            numbers[i] = (int64_t)((uint64_t)(int64_t)number + (uint64_t)more); \
        } \
        break;
    if (array != NULL) {
        switch (kind) {
            WIDEN(U8, uint8_t)
            WIDEN(U16, uint16_t)
            WIDEN(U32, uint32_t)
            WIDEN(I32, int32_t)
        default:
            break;
        }
    }
    PyBuffer_Release(&view);
    return (PyObject *)array;
}

PyMethodDef array_functions[] = {
    {"zeros", WITH_KEYWORDS(make_zeros), "So many zeros."},
    {"full", WITH_KEYWORDS(make_full), "So many of one number."},
    {"arange", WITH_KEYWORDS(make_arange), "The whole numbers from one to before another."},
    {"array", WITH_KEYWORDS(make_array), "An array of its own out of numbers, a buffer or another array."},
    {"asarray", WITH_KEYWORDS(make_asarray), "The same, sharing memory where it can."},
    {"fromiter", WITH_KEYWORDS(make_fromiter), "An array of what can be gone through."},
    {"frombuffer", WITH_KEYWORDS(make_frombuffer), "An array over a buffer's bytes."},
    {"column", WITH_KEYWORDS(make_column), "One column of a buffer of rows: buffer, place in a row, width of a row, kind."},
    {"numbers", WITH_KEYWORDS(make_numbers), "The same as int64, each with a number added: buffer, place, width, kind, number."},
    {"maximum", WITH_KEYWORDS(array_maximum), "The larger ones of two."},
    {"minimum", WITH_KEYWORDS(array_minimum), "The smaller ones of two."},
    {"where", WITH_KEYWORDS(array_where), "Of two what a mask says."},
    {"flatnonzero", WITH_KEYWORDS(array_flatnonzero), "The places of all that are not zero."},
    {"count_nonzero", WITH_KEYWORDS(array_count_nonzero), "How many are not zero."},
    {"bincount", WITH_KEYWORDS(array_bincount), "How often each number occurs, or the sum of the weights it occurs with."},
    {"repeat", WITH_KEYWORDS(array_repeat), "Each as often as is said."},
    {"cumsum", WITH_KEYWORDS(array_cumsum), "Sums so far."},
    {"diff", WITH_KEYWORDS(array_diff), "From each to the next."},
    {"concatenate", WITH_KEYWORDS(array_concatenate), "One after the other."},
    {"argsort", WITH_KEYWORDS(array_argsort), "Places in ascending order, stable."},
    {"lexsort", WITH_KEYWORDS(array_lexsort), "Places in the order of the last key, then of the one before it."},
    {"unique", WITH_KEYWORDS(array_unique), "Each once, ascending; on demand where it first stands, and how often it does."},
    {"isin", WITH_KEYWORDS(array_isin), "Which are among others."},
    {"abs", WITH_KEYWORDS(array_absolute), "Without their sign."},
    {"trunc", WITH_KEYWORDS(array_trunc), "Without their fraction."},
    {"rint", WITH_KEYWORDS(array_rint), "The nearest whole numbers, halves to the even side."},
    {"postings", WITH_KEYWORDS(array_postings),
     "A list's bytes, its rows, and how many owners there are: the owners and their counts; None where the list is broken."},
    {"isfinite", WITH_KEYWORDS(array_isfinite), "Which are numbers, and not without end."},
    {NULL, NULL, 0, NULL},
};
