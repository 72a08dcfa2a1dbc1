/* Parts of small arrays: how they are read and written, by places, masks and slices. */

#include "query/array.h"

/* Places as given, counted from the end where they are below zero; NULL with an exception where one is not there. */
static Array *places_in(PyObject *key, Py_ssize_t count) {
    Array *given = array_from(key), *places;
    if (given == NULL) {
        return NULL;
    }
    if (given->kind == BOOL) {
        if (given->count != count) {
            Py_DECREF(given);
            PyErr_SetString(PyExc_IndexError, "the mask is of another length");
            return NULL;
        }
        const uint8_t *mask = (const uint8_t *)given->data;
        Py_ssize_t found = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            found += mask[i] != 0;
        }
        places = array_new(I64, found);
        if (places != NULL) {
            int64_t *to = (int64_t *)(void *)places->data;
            Py_ssize_t next = 0;
            for (Py_ssize_t i = 0; next < found && i < count; i++) {
                to[next] = i;
                next += mask[i] != 0;
            }
            places->count = next; /* fewer where somebody wrote to shared memory meanwhile */
        }
        Py_DECREF(given);
        return places;
    }
    if (is_real(given->kind) && given->count) {
        Py_DECREF(given);
        PyErr_SetString(PyExc_IndexError, "places are whole numbers");
        return NULL;
    }
    places = array_cast(given, I64);
    Py_DECREF(given);
    if (places == NULL) {
        return NULL;
    }
    const int64_t *each = (const int64_t *)(const void *)places->data;
    int below = 0, outside = 0;
    for (Py_ssize_t i = 0; i < places->count; i++) {
        below |= each[i] < 0;
        outside |= each[i] >= count || each[i] < -count;
    }
    if (outside) {
        Py_DECREF(places);
        PyErr_SetString(PyExc_IndexError, "a place is not in the array");
        return NULL;
    }
    if (below) {
        Array *moved = array_new(I64, places->count);
        for (Py_ssize_t i = 0; moved != NULL && i < places->count; i++) {
            ((int64_t *)(void *)moved->data)[i] = each[i] < 0 ? each[i] + count : each[i];
        }
        Py_DECREF(places);
        return moved;
    }
    return places;
}

#define TAKE(SIZE, TYPE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < places->count; i++) { \
            ((TYPE *)(void *)found->data)[i] = ((const TYPE *)(const void *)array->data)[at[i]]; \
        } \
        break;

static Array *taken(const Array *array, const Array *places) {
    Array *found = array_new(array->kind, places->count);
    const int64_t *at = (const int64_t *)(const void *)places->data;
    if (found != NULL) {
        switch (kind_size[array->kind]) {
            TAKE(1, uint8_t)
            TAKE(2, uint16_t)
            TAKE(4, uint32_t)
            TAKE(8, uint64_t)
        default:
            break;
        }
    }
    return found;
}

/* A key that is one whole number: 1 and its place, 0 where it is something else, -1 with an exception. */
static int one_place(const Array *array, PyObject *key, Py_ssize_t *place) {
    if (!PyLong_Check(key) && (!PyIndex_Check(key) || PySequence_Check(key))) {
        return 0;
    }
    *place = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (*place == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (*place < -array->count || *place >= array->count) {
        PyErr_SetString(PyExc_IndexError, "the place is not in the array");
        return -1;
    }
    *place += *place < 0 ? array->count : 0;
    return 1;
}

PyObject *array_item(PyObject *self, PyObject *key) {
    Array *array = as_array(self);
    Py_ssize_t place;
    int one = one_place(array, key, &place);
    if (one) {
        return one < 0 ? NULL : item_at(array, place);
    }
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
            return NULL;
        }
        Py_ssize_t count = PySlice_AdjustIndices(array->count, &start, &stop, step);
        if (step == 1) {
            return (PyObject *)array_part(array, count ? start : 0, count);
        }
        Array *found = array_new(array->kind, count);
        size_t size = kind_size[array->kind];
        for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
            memcpy(found->data + (size_t)i * size, array->data + (size_t)(start + i * step) * size, size);
        }
        return (PyObject *)found;
    }
    Array *places = places_in(key, array->count);
    if (places == NULL) {
        return NULL;
    }
    Array *found = taken(array, places);
    Py_DECREF(places);
    return (PyObject *)found;
}

#define PUT(SIZE, TYPE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < count; i++) { \
            ((TYPE *)(void *)array->data)[at ? at[i] : start + i * step] = ((const TYPE *)(const void *)values->data)[many ? i : 0]; \
        } \
        break;

/* What is written, in the array's kind: several numbers, or one (and `many` is 0); NULL with an exception. */
Array *array_values_for(const Array *array, PyObject *value, int *many) {
    *many = is_array(value) || (!PyFloat_Check(value) && !PyLong_Check(value) && PySequence_Check(value));
    if (*many) {
        Array *values = array_from_as(value, array->kind);
        if (values == NULL || (values->base == NULL && values->view == NULL && (PyObject *)values != value)) {
            return values;
        }
        /* It may be memory of the array itself, which is written to while it is read. */
        PyObject *copy = array_copy((PyObject *)values, NULL);
        Py_DECREF(values);
        return as_array(copy);
    }
    Array *values = array_new(array->kind, 1);
    if (values != NULL && put_item(values, 0, value) < 0) {
        Py_CLEAR(values);
    }
    return values;
}

/* Values to places, or from a start on in steps: each its own, or one for all. Nothing of Python runs in here: places that were
   found to be in the array still are. */
int array_put_values(
    Array *array, const int64_t *at, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count, const Array *values, int many
) {
    if (many && values->count != count) {
        many = 0;
        if (values->count != 1) {
            return fail("there are not as many values as places");
        }
    }
    switch (kind_size[array->kind]) {
        PUT(1, uint8_t)
        PUT(2, uint16_t)
        PUT(4, uint32_t)
        PUT(8, uint64_t)
    default:
        break;
    }
    return 0;
}

int array_put(PyObject *self, PyObject *key, PyObject *value) {
    Array *array = as_array(self);
    Py_ssize_t place;
    if (array->fixed || value == NULL) {
        return fail("the array must not be written to");
    }
    int one = one_place(array, key, &place), many, failed = -1;
    if (one) {
        return one < 0 ? -1 : put_item(array, place, value);
    }
    Array *values = array_values_for(array, value, &many);
    if (values == NULL) {
        return -1;
    }
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) == 0) {
            Py_ssize_t count = PySlice_AdjustIndices(array->count, &start, &stop, step);
            failed = array_put_values(array, NULL, start, step, count, values, many);
        }
    } else {
        Array *places = places_in(key, array->count);
        if (places != NULL) {
            const int64_t *at = (const int64_t *)(const void *)places->data;
            failed = array_put_values(array, at, 0, 1, places->count, values, many);
        }
        drop(places);
    }
    Py_DECREF(values);
    return failed;
}
