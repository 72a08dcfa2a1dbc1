/* What the lengths of units make of their counts, for lanes/lexical.py: fields of units and of their files, weighed and added up,
   straight from the tables. Sums of whole numbers are exact, and each unit's number is worked out as the reference does. Units of
   a file follow each other, so what its fields come to is worked out once for all of them. */

#include "support/kernel.h"
#include "support/wide.h"

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
    RELEASE(&lengths->units, &lengths->files);
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
        return fail("there are too many fields");
    }
    for (Py_ssize_t i = 0; i < lengths->several; i++) {
        Field *field = &lengths->fields[i];
        PyObject *entry = PyTuple_GetItem(given, i);
        if (!PyTuple_Check(entry)) {
            PyErr_SetString(PyExc_TypeError, "a field is a tuple");
            return -1;
        }
        if (!PyArg_ParseTuple(entry, "pnid", &field->of_file, &field->place, &field->size, &field->weight)) {
            return -1;
        }
        if (!fits(field->place, field->size, field->of_file ? lengths->file_width : lengths->unit_width)) {
            return fail("a row has no such field");
        }
    }
    return 0;
}

/* 0, or -1 with an exception; what was read is released by the caller. */
static int check(Lengths *lengths, PyObject *fields) {
    if (lengths->unit_width <= 0 || lengths->file_width <= 0 || lengths->units.len % lengths->unit_width != 0 ||
        lengths->files.len % lengths->file_width != 0 || !fits(lengths->file_place, 4, lengths->unit_width)) {
        return fail("the buffers have no such rows");
    }
    lengths->count = lengths->units.len / lengths->unit_width;
    lengths->file_count = lengths->files.len / lengths->file_width;
    if (lengths->has_live && lengths->live.len != lengths->file_count) {
        return fail("there are not as many marks as files");
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

/* The units of one file, which follow each other: `own` fields of four bytes, then those of the file, weighed already. Puts the
   length of each into `room` and adds up their fields; returns how many they are. */
INLINED Py_ssize_t of_one_file(
    const Lengths *lengths, Py_ssize_t first, uint32_t number, double *room, uint64_t *sums, const double *weighed, int own, int theirs
) {
    const char *unit = (const char *)lengths->units.buf + first * lengths->unit_width;
    Py_ssize_t i = first;
    do {
        double length = 0;
        for (int f = 0; f < own; f++) {
            uint32_t value;
            memcpy(&value, unit + lengths->fields[f].place, 4);
            sums[f] += value;
            length += lengths->fields[f].weight * (double)value;
        }
        for (int f = own; f < own + theirs; f++) {
            length += weighed[f];
        }
        room[i++] = length;
        unit += lengths->unit_width;
    } while (i < lengths->count && memcmp(unit + lengths->file_place, &number, 4) == 0);
    return i - first;
}

static Py_ssize_t of_any_file(
    const Lengths *lengths, Py_ssize_t first, uint32_t number, double *room, uint64_t *sums, const double *weighed
) {
    const char *unit = (const char *)lengths->units.buf + first * lengths->unit_width;
    Py_ssize_t i = first;
    do {
        double length = 0;
        for (Py_ssize_t f = 0; f < lengths->several; f++) {
            const Field *field = &lengths->fields[f];
            uint64_t value = field->of_file ? 0 : field_at(unit + field->place, field->size);
            sums[f] += value;
            length += field->of_file ? weighed[f] : field->weight * (double)value;
        }
        room[i++] = length;
        unit += lengths->unit_width;
    } while (i < lengths->count && memcmp(unit + lengths->file_place, &number, 4) == 0);
    return i - first;
}

/* Whether there are three fields of units and then three of files, as a question about code has them. */
static int are_usual(const Lengths *lengths) {
    int usual = lengths->several == 6;
    for (int f = 0; usual && f < 6; f++) {
        usual = lengths->fields[f].of_file == (f >= 3) && (f >= 3 || lengths->fields[f].size == 4);
    }
    return usual;
}

/* Puts the length of each unit into `room` and adds up the fields of those that count; 0, or -1 with an exception. */
static int measure(const Lengths *lengths, double *room, uint64_t *sums, uint64_t *live) {
    const int usual = are_usual(lengths);
    for (Py_ssize_t i = 0; i < lengths->count;) {
        uint32_t number;
        const char *file = file_of(lengths, (const char *)lengths->units.buf + i * lengths->unit_width, &number);
        if (file == NULL) {
            return -1;
        }
        uint64_t values[MOST_FIELDS] = {0}, own[MOST_FIELDS] = {0};
        double weighed[MOST_FIELDS] = {0};
        for (Py_ssize_t f = 0; f < lengths->several; f++) {
            const Field *field = &lengths->fields[f];
            if (field->of_file) {
                values[f] = field_at(file + field->place, field->size);
                weighed[f] = field->weight * (double)values[f];
            }
        }
        Py_ssize_t units = usual ? of_one_file(lengths, i, number, room, own, weighed, 3, 3)
                                 : of_any_file(lengths, i, number, room, own, weighed);
        i += units;
        if (lengths->has_live && !((const char *)lengths->live.buf)[number]) {
            continue;
        }
        *live += (uint64_t)units;
        for (Py_ssize_t f = 0; f < lengths->several; f++) {
            sums[f] += own[f] + values[f] * (uint64_t)units;
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
            fail("there is no room for so many");
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
