/* Postings as storage/postings.py lays them out, taken apart to arrays. Lists come from files that anybody may have written. */

#include "query/array.h"

/* Differences added up to owners, each below the total; 0, or -1 where one is not. */
#define ADD_UP(TYPE, SIZE) \
    for (Py_ssize_t i = 0; i < rows; i++) { \
        TYPE step; \
        memcpy(&step, data + i * (SIZE), SIZE); \
        owner += step; \
        to[i] = (int64_t)owner; \
    } \
    break;

static int add_up(const char *data, Py_ssize_t rows, Py_ssize_t width, uint64_t total, int64_t *to) {
    uint64_t owner = 0;
    switch (width) {
    case 1:
        ADD_UP(uint8_t, 1)
    case 2:
        ADD_UP(uint16_t, 2)
    default:
        ADD_UP(uint32_t, 4)
    }
    return owner < total ? 0 : -1; /* the last one is the largest */
}

FAST(array_postings) {
    (void)module;
    if (!takes(given, 3, 3, names, "")) {
        return NULL;
    }
    Py_ssize_t rows = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    Py_ssize_t total = PyErr_Occurred() ? -1 : PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(arguments[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    PyObject *found = NULL;
    Array *owners = NULL, *counts = NULL;
    Py_ssize_t width = rows > 0 && view.len % rows == 0 ? view.len / rows - 1 : 0;
    if (rows <= 0 || total <= 0 || rows > total || (uint64_t)rows > UINT32_MAX || /* so that no sum of steps wraps around */
        (width != 1 && width != 2 && width != 4)) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    owners = array_new(I64, rows);
    counts = owners == NULL ? NULL : array_new(U8, rows);
    if (counts == NULL) {
        goto done;
    }
    if (add_up(view.buf, rows, width, (uint64_t)total, (int64_t *)(void *)owners->data) < 0) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    memcpy(counts->data, (const char *)view.buf + rows * width, (size_t)rows);
    found = PyTuple_Pack(2, (PyObject *)owners, (PyObject *)counts);
done:
    DROP(owners, counts);
    PyBuffer_Release(&view);
    return found;
}
