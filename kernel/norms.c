/* What the lengths of units make of their counts, for lanes/lexical.py: fields of units and of their files, weighed and added up,
   straight from the tables. Sums of whole numbers are exact, and each unit's number is worked out as the reference does. */

#include "kernel.h"

enum { MOST_FIELDS = 16 };

typedef struct {
    int of_file, size;
    Py_ssize_t place;
    double weight;
} Field;

typedef struct {
    Py_buffer units, files, live;
    int has_live;
    Py_ssize_t unit_width, file_width, file_place, count, file_count;
    Field fields[MOST_FIELDS];
    Py_ssize_t several;
} Lengths;

static uint64_t field_at(const char *at, int size) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    if (size == 1) {
        memcpy(&one, at, 1);
        return one;
    }
    if (size == 2) {
        memcpy(&two, at, 2);
        return two;
    }
    memcpy(&four, at, 4);
    return four;
}

static void release(Lengths *lengths) {
    PyBuffer_Release(&lengths->units);
    PyBuffer_Release(&lengths->files);
    if (lengths->has_live) {
        PyBuffer_Release(&lengths->live);
    }
}

static int fits(Py_ssize_t place, int size, Py_ssize_t width) {
    return (size == 1 || size == 2 || size == 4) && place >= 0 && place <= width - size;
}

/* 0, or -1 with an exception. */
static int read_fields(Lengths *lengths, PyObject *given) {
    lengths->several = PyTuple_Size(given);
    if (lengths->several > MOST_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "there are too many fields");
        return -1;
    }
    for (Py_ssize_t i = 0; i < lengths->several; i++) {
        Field *field = &lengths->fields[i];
        if (!PyArg_ParseTuple(
                PyTuple_GetItem(given, i), "pnid", &field->of_file, &field->place, &field->size, &field->weight
            )) {
            return -1;
        }
        if (!fits(field->place, field->size, field->of_file ? lengths->file_width : lengths->unit_width)) {
            PyErr_SetString(PyExc_ValueError, "a row has no such field");
            return -1;
        }
    }
    return 0;
}

/* 0, or -1 with an exception; what was read is released by whoever asked. */
static int check(Lengths *lengths, PyObject *fields) {
    if (lengths->unit_width <= 0 || lengths->file_width <= 0 || lengths->units.len % lengths->unit_width != 0 ||
        lengths->files.len % lengths->file_width != 0 || !fits(lengths->file_place, 4, lengths->unit_width)) {
        PyErr_SetString(PyExc_ValueError, "the buffers have no such rows");
        return -1;
    }
    lengths->count = lengths->units.len / lengths->unit_width;
    lengths->file_count = lengths->files.len / lengths->file_width;
    if (lengths->has_live && lengths->live.len != lengths->file_count) {
        PyErr_SetString(PyExc_ValueError, "there are not as many marks as files");
        return -1;
    }
    return read_fields(lengths, fields);
}

/* The row of a unit's file; NULL with an exception where it has none. */
static const char *file_of(const Lengths *lengths, const char *unit, uint32_t *file) {
    memcpy(file, unit + lengths->file_place, 4);
    if (*file >= (uint64_t)lengths->file_count) {
        PyErr_SetString(PyExc_IndexError, "a unit is in no file");
        return NULL;
    }
    return (const char *)lengths->files.buf + *file * lengths->file_width;
}

PyObject *kernel_length_sums(PyObject *module, PyObject *arguments) {
    (void)module;
    Lengths lengths = {0};
    PyObject *marks, *fields;
    if (!PyArg_ParseTuple(
            arguments, "y*ny*nnOO!", &lengths.units, &lengths.unit_width, &lengths.files, &lengths.file_width,
            &lengths.file_place, &marks, &PyTuple_Type, &fields
        )) {
        return NULL;
    }
    PyObject *found = NULL;
    if (marks != Py_None) {
        if (PyObject_GetBuffer(marks, &lengths.live, PyBUF_SIMPLE) < 0) {
            goto done;
        }
        lengths.has_live = 1;
    }
    if (check(&lengths, fields) < 0) {
        goto done;
    }
    uint64_t sums[MOST_FIELDS] = {0}, live = 0;
    const char *unit = lengths.units.buf;
    for (Py_ssize_t i = 0; i < lengths.count; i++, unit += lengths.unit_width) {
        uint32_t number;
        const char *file = file_of(&lengths, unit, &number);
        if (file == NULL) {
            goto done;
        }
        if (lengths.has_live && !((const char *)lengths.live.buf)[number]) {
            continue;
        }
        live++;
        for (Py_ssize_t f = 0; f < lengths.several; f++) {
            const Field *field = &lengths.fields[f];
            sums[f] += field_at((field->of_file ? file : unit) + field->place, field->size);
        }
    }
    found = PyTuple_New(lengths.several + 1);
    for (Py_ssize_t f = 0; found != NULL && f <= lengths.several; f++) {
        PyObject *sum = PyLong_FromUnsignedLongLong(f < lengths.several ? sums[f] : live);
        if (sum == NULL || PyTuple_SetItem(found, f, sum) < 0) {
            Py_CLEAR(found);
        }
    }
done:
    release(&lengths);
    return found;
}

PyObject *kernel_length_norms(PyObject *module, PyObject *arguments) {
    (void)module;
    Lengths lengths = {0};
    PyObject *fields, *found = NULL;
    Py_buffer room;
    Py_ssize_t first;
    double mean, k1, b;
    if (!PyArg_ParseTuple(
            arguments, "y*ny*nnO!dddw*n", &lengths.units, &lengths.unit_width, &lengths.files, &lengths.file_width,
            &lengths.file_place, &PyTuple_Type, &fields, &mean, &k1, &b, &room, &first
        )) {
        return NULL;
    }
    if (check(&lengths, fields) < 0) {
        goto done;
    }
    Py_ssize_t space = items_of(&room, sizeof(double), "norms");
    if (space < 0 || first < 0 || first > space || lengths.count > space - first) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "there is no room for so many");
        }
        goto done;
    }
    double *norms = (double *)room.buf + first;
    const char *unit = lengths.units.buf;
    for (Py_ssize_t i = 0; i < lengths.count; i++, unit += lengths.unit_width) {
        uint32_t number;
        const char *file = file_of(&lengths, unit, &number);
        if (file == NULL) {
            goto done;
        }
        double length = 0;
        for (Py_ssize_t f = 0; f < lengths.several; f++) {
            const Field *field = &lengths.fields[f];
            length += field->weight * (double)field_at((field->of_file ? file : unit) + field->place, field->size);
        }
        double norm = k1 * ((1 - b) + b * (mean != 0 ? length / mean : length));
        norms[i] = norm >= 1e-9 ? norm : 1e-9;
    }
    found = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&room);
    release(&lengths);
    return found;
}
