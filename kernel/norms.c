/* What the lengths of units make of their counts, for lanes/lexical.py: fields of units and of their files, weighed and added up,
   straight from the tables. Sums of whole numbers are exact, and each unit's number is worked out as the reference does. Units of
   a file follow each other, so what its fields come to is worked out once for all of them. */

#include "kernel.h"
#include "wide.h"

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

/* Puts the length of each unit into `room` and adds up the fields of those that count; 0, or -1 with an exception. */
static int measure(const Lengths *lengths, double *room, uint64_t *sums, uint64_t *live) {
    const char *unit = lengths->units.buf;
    const char *marks = lengths->has_live ? lengths->live.buf : NULL;
    uint64_t values[MOST_FIELDS] = {0};
    double weighed[MOST_FIELDS] = {0};
    uint32_t last = UINT32_MAX;
    for (Py_ssize_t i = 0; i < lengths->count; i++, unit += lengths->unit_width) {
        uint32_t number;
        memcpy(&number, unit + lengths->file_place, 4);
        if (number != last || i == 0) {
            const char *file = file_of(lengths, unit, &number);
            if (file == NULL) {
                return -1;
            }
            for (Py_ssize_t f = 0; f < lengths->several; f++) {
                const Field *field = &lengths->fields[f];
                if (field->of_file) {
                    values[f] = field_at(file + field->place, field->size);
                    weighed[f] = field->weight * (double)values[f];
                }
            }
            last = number;
        }
        double length = 0;
        for (Py_ssize_t f = 0; f < lengths->several; f++) {
            const Field *field = &lengths->fields[f];
            if (!field->of_file) {
                values[f] = field_at(unit + field->place, field->size);
                weighed[f] = field->weight * (double)values[f];
            }
            length += weighed[f];
        }
        room[i] = length;
        if (marks == NULL || marks[number]) {
            *live += 1;
            for (Py_ssize_t f = 0; f < lengths->several; f++) {
                sums[f] += values[f];
            }
        }
    }
    return 0;
}

PyObject *kernel_lengths(PyObject *module, PyObject *arguments) {
    (void)module;
    Lengths lengths = {0};
    PyObject *marks, *fields, *found = NULL;
    Py_buffer room;
    Py_ssize_t first;
    if (!PyArg_ParseTuple(
            arguments, "y*ny*nnOO!w*n", &lengths.units, &lengths.unit_width, &lengths.files, &lengths.file_width,
            &lengths.file_place, &marks, &PyTuple_Type, &fields, &room, &first
        )) {
        return NULL;
    }
    if (marks != Py_None) {
        if (PyObject_GetBuffer(marks, &lengths.live, PyBUF_SIMPLE) < 0) {
            goto done;
        }
        lengths.has_live = 1;
    }
    if (check(&lengths, fields) < 0) {
        goto done;
    }
    Py_ssize_t space = items_of(&room, sizeof(double), "lengths");
    if (space < 0 || first < 0 || first > space || lengths.count > space - first) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "there is no room for so many");
        }
        goto done;
    }
    uint64_t sums[MOST_FIELDS] = {0}, live = 0;
    if (measure(&lengths, (double *)room.buf + first, sums, &live) < 0) {
        goto done;
    }
    found = PyTuple_New(lengths.several + 1);
    for (Py_ssize_t f = 0; found != NULL && f <= lengths.several; f++) {
        PyObject *sum = PyLong_FromUnsignedLongLong(f < lengths.several ? sums[f] : live);
        if (sum == NULL || PyTuple_SetItem(found, f, sum) < 0) {
            Py_CLEAR(found);
        }
    }
done:
    PyBuffer_Release(&room);
    release(&lengths);
    return found;
}

INLINED void normed(double *room, Py_ssize_t count, double mean, double k1, double b) {
    for (Py_ssize_t i = 0; i < count; i++) {
        double norm = k1 * ((1 - b) + b * (room[i] / mean));
        room[i] = norm >= 1e-9 ? norm : 1e-9;
    }
}

static void normed_plain(double *room, Py_ssize_t count, double mean, double k1, double b) {
    normed(room, count, mean, k1, b);
}

WIDE static void normed_wide(double *room, Py_ssize_t count, double mean, double k1, double b) {
    normed(room, count, mean, k1, b);
}

PyObject *kernel_normed(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer room;
    double mean, k1, b;
    if (!PyArg_ParseTuple(arguments, "w*ddd", &room, &mean, &k1, &b)) {
        return NULL;
    }
    Py_ssize_t count = items_of(&room, sizeof(double), "lengths");
    if (count >= 0) {
        (HAS_WIDE ? normed_wide : normed_plain)(room.buf, count, mean != 0 ? mean : 1, k1, b);
    }
    PyBuffer_Release(&room);
    return count < 0 ? NULL : Py_NewRef(Py_None);
}
