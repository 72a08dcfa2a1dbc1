/* What a segment holds of the chunks and definitions of its files, collected file by file, as storage/segment_writer.py has it: rows of
   tables, the strings they lead to, and what is counted of them. */

#include "index/rows_build.h"

#include <stdlib.h>

static const char *const ATTRIBUTE_NAMES[] = {
    "start_byte", "end_byte", "start_line", "end_line", "name", "kind", "container", "signature", "exported"};

/* A chunk's comments counted separately from its code, each byte once: 1, or 0 where it is not ASCII, or -1 without memory. */
static int count_chunk(
    RowBuilder *self, const Parts *parts, const char *text, const Chunk *chunk, uint32_t unit, size_t *comment
) {
    if (!is_ascii(text + chunk->start, chunk->end - chunk->start)) {
        return 0;
    }
    const Range *comments = (const Range *)(const void *)parts->comments.data;
    size_t count = parts->comments.used / sizeof *comments, position = chunk->start, i = *comment;
    while (i < count && comments[i].end <= position) {
        i++;
    }
    *comment = i; /* the next chunk may share the last one */
    for (; i < count && comments[i].start < chunk->end; i++) {
        size_t start = comments[i].start > position ? comments[i].start : position;
        size_t end = comments[i].end < chunk->end ? comments[i].end : chunk->end;
        if (counter_piece(self->counter, self->body, text + position, start - position) < 0 ||
            counter_piece(self->counter, self->comments, text + start, end - start) < 0 ||
            counter_close(self->counter, self->comments, unit) < 0) {
            return -1;
        }
        position = end;
    }
    if (counter_piece(self->counter, self->body, text + position, chunk->end - position) < 0 ||
        counter_close(self->counter, self->body, unit) < 0) {
        return -1;
    }
    return 1;
}

static int put_units(
    RowBuilder *self, const Parts *parts, const char *text, uint32_t file, uint32_t first_definition, PyObject *left
) {
    const Chunk *chunks = (const Chunk *)(const void *)parts->chunks.data;
    int32_t *shown = shown_in(parts);
    int failed = shown == NULL ? no_memory() : 0;
    size_t comment = 0;
    for (size_t i = 0; !failed && i < parts->chunks.used / sizeof *chunks; i++) {
        uint32_t unit = (uint32_t)(self->units.used / sizeof(UnitRow));
        int counted = count_chunk(self, parts, text, &chunks[i], unit, &comment);
        if (counted == 0) {
            failed = append_size(left, i);
        }
        UnitRow row = {file, (uint32_t)chunks[i].start, (uint32_t)chunks[i].end, (uint32_t)chunks[i].line, (uint32_t)chunks[i].last,
                       {shown[i] < 0 ? UINT32_MAX : first_definition + (uint32_t)shown[i], 0, 0, 0, 0}};
        if (!failed && (counted < 0 || bytes_append(&self->units, &row, sizeof row) < 0)) {
            failed = no_memory();
        }
    }
    free(shown);
    return failed ? -1 : 0;
}

static PyObject *row_builder_put(PyObject *object, PyObject *arguments) {
    RowBuilder *self = (RowBuilder *)object;
    unsigned int file;
    PyObject *text, *chunks, *definitions, *comments;
    if (!PyArg_ParseTuple(
            arguments, "ISO!O!O!:put", &file, &text, &PyTuple_Type, &chunks, &PyTuple_Type, &definitions, &PyTuple_Type, &comments)) {
        return NULL;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(text, &data, &size) < 0 || !counter_takes(self->counter, self->body)) {
        return NULL;
    }
    if ((size_t)size > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the text is too long");
        return NULL;
    }
    Parts parts;
    memset(&parts, 0, sizeof parts);
    uint32_t first_unit = (uint32_t)(self->units.used / sizeof(UnitRow));
    uint32_t first_definition = (uint32_t)(self->definitions.used / sizeof(DefinitionRow));
    PyObject *left = PyList_New(0);
    next_file(self);
    int failed = left == NULL || read_parts(self, &parts, chunks, comments, definitions, (size_t)size) < 0 ||
                 put_units(self, &parts, data, file, first_definition, left) < 0;
    const Entry *entries = (const Entry *)(const void *)parts.entries.data;
    size_t names = 0;
    for (size_t i = 0; !failed && i < parts.entries.used / sizeof *entries; i++) {
        failed = put_definition(self, &entries[i], file, first_unit, &names) < 0;
    }
    parts_free(&parts);
    if (failed) {
        Py_CLEAR(left);
    }
    return left;
}

static PyObject *row_builder_sizes(PyObject *object, PyObject *unused) {
    (void)unused;
    RowBuilder *self = (RowBuilder *)object;
    return Py_BuildValue(
        "(nnn)", (Py_ssize_t)(self->units.used / sizeof(UnitRow)), (Py_ssize_t)(self->definitions.used / sizeof(DefinitionRow)),
        (Py_ssize_t)self->strings.used);
}

/* Tables are taken down once: what they took is free then. */
static PyObject *row_builder_take(PyObject *object, PyObject *unused) {
    (void)unused;
    RowBuilder *self = (RowBuilder *)object;
    PyObject *units = PyByteArray_FromStringAndSize(self->units.data, (Py_ssize_t)self->units.used);
    PyObject *definitions = PyByteArray_FromStringAndSize(self->definitions.data, (Py_ssize_t)self->definitions.used);
    PyObject *strings = PyBytes_FromStringAndSize(self->strings.data, (Py_ssize_t)self->strings.used);
    if (units == NULL || definitions == NULL || strings == NULL) {
        Py_XDECREF(units);
        Py_XDECREF(definitions);
        Py_XDECREF(strings);
        return NULL;
    }
    bytes_free(&self->units);
    bytes_free(&self->definitions);
    bytes_free(&self->strings);
    PyObject *keys = self->keys;
    self->keys = PyList_New(0);
    return Py_BuildValue("(NNNN)", units, definitions, strings, keys);
}

static PyObject *row_builder_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    unsigned int fields[5];
    PyObject *counter, *kinds, *types, *functions, *heading, *headings, *spelled;
    unsigned long long seed;
    if (!PyArg_ParseTuple(
            arguments, "KO(IIIII)O!OOUUO:RowBuilder", &seed, &counter, &fields[0], &fields[1], &fields[2], &fields[3], &fields[4],
            &PyDict_Type, &kinds, &types, &functions, &heading, &headings, &spelled)) {
        return NULL;
    }
    for (int i = 0; i < 5; i++) {
        if (!counter_takes(counter, fields[i])) {
            return NULL;
        }
    }
    if (!PyAnySet_Check(types) || !PyAnySet_Check(functions)) {
        PyErr_SetString(PyExc_TypeError, "kinds are in sets");
        return NULL;
    }
    RowBuilder *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    self->known.seed = seed;
    self->body = fields[0];
    self->comments = fields[1];
    self->symbols = fields[2];
    self->types = fields[3];
    self->named = fields[4];
    PyObject *const given[] = {counter, kinds, types, functions, heading, headings, spelled};
    PyObject **const places[] = {&self->counter,  &self->kinds,    &self->type_kinds, &self->function_kinds,
                                 &self->heading,  &self->headings, &self->spelled};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        Py_INCREF(given[i]);
        *places[i] = given[i];
    }
    int failed = (self->keys = PyList_New(0)) == NULL;
    for (int i = 0; i < ATTRIBUTES; i++) {
        failed |= (self->names[i] = PyUnicode_InternFromString(ATTRIBUTE_NAMES[i])) == NULL;
    }
    if (failed) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void row_builder_dealloc(PyObject *object) {
    RowBuilder *self = (RowBuilder *)object;
    Py_CLEAR(self->counter);
    Py_CLEAR(self->kinds);
    Py_CLEAR(self->type_kinds);
    Py_CLEAR(self->function_kinds);
    Py_CLEAR(self->heading);
    Py_CLEAR(self->headings);
    Py_CLEAR(self->spelled);
    Py_CLEAR(self->keys);
    for (int i = 0; i < ATTRIBUTES; i++) {
        Py_CLEAR(self->names[i]);
    }
    bytes_free(&self->units);
    bytes_free(&self->definitions);
    bytes_free(&self->strings);
    bytes_free(&self->offsets);
    bytes_free(&self->key);
    texts_free(&self->known);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"put", row_builder_put, METH_VARARGS,
     "A file's number, text, chunks, definitions and comments: the numbers of those chunks that Python counts, not being ASCII."},
    {"sizes", row_builder_sizes, METH_NOARGS, "How many units, definitions, and bytes of strings there are."},
    {"take", row_builder_take, METH_NOARGS,
     "The table of units, that of definitions, the strings, and the term each definition is filed under."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_new, (void *)row_builder_new},
    {Py_tp_dealloc, (void *)row_builder_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Gathers what a segment holds of the chunks and definitions of its files."},
    {0, NULL},
};

PyType_Spec row_builder_spec = {"lurcher._kernel.RowBuilder", sizeof(RowBuilder), 0, Py_TPFLAGS_DEFAULT, type_slots};
