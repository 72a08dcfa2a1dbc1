/* Where lines begin, how many characters lie between two bytes, and where comments are. */

#include "chunk/line_index.h"

#include <stdlib.h>
#include <structmember.h>

enum { STEP = 64 };

static int is_inner(unsigned char byte) { return (byte & 0xC0) == 0x80; }

static size_t inner_before(const Ruler *ruler, size_t byte) {
    size_t block = byte / STEP, count = ruler->inner[block];
    for (size_t at = block * STEP; at < byte; at++) {
        count += is_inner(ruler->data[at]);
    }
    return count;
}

size_t ruler_size(const Ruler *ruler, size_t start, size_t end) {
    if (ruler->inner == NULL) {
        return end - start;
    }
    return end - start - (inner_before(ruler, end) - inner_before(ruler, start));
}

/* How many lines begin at or before `byte`. */
size_t ruler_line(const Ruler *ruler, size_t byte) {
    size_t low = 0, high = ruler->lines;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ruler->starts[middle] <= byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t ruler_line_start(const Ruler *ruler, size_t byte) { return ruler->starts[ruler_line(ruler, byte) - 1]; }

size_t ruler_next_line(const Ruler *ruler, size_t byte) {
    size_t before = byte ? ruler_line(ruler, byte - 1) : 0;
    return before < ruler->lines ? ruler->starts[before] : ruler->size;
}

size_t ruler_comment(const Ruler *ruler, size_t byte) {
    size_t low = 0, high = ruler->comment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ruler->comments[middle].start < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t ruler_trim(const Ruler *ruler, size_t start, size_t end) {
    if (end == 0 || !is_blank(ruler->data[end - 1])) {
        return end;
    }
    for (;;) {
        while (end > start && is_blank(ruler->data[end - 1])) {
            end--;
        }
        size_t index = ruler_comment(ruler, end);
        if (index == 0) {
            return end;
        }
        const Range *comment = &ruler->comments[index - 1];
        if (comment->end != end || comment->start <= start) {
            return end;
        }
        for (size_t at = comment->start; at > start && ruler->data[at - 1] != '\n'; at--) {
            if (!is_space(ruler->data[at - 1])) {
                return end;
            }
        }
        end = comment->start;
    }
}

static int measure(Ruler *self) {
    size_t lines = 1, wide = 0;
    for (const unsigned char *at = self->data, *end = at + self->size; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
        lines++;
    }
    self->starts = malloc(lines * sizeof *self->starts);
    if (self->starts == NULL) {
        return -1;
    }
    self->starts[self->lines++] = 0;
    for (size_t at = 0; self->lines < lines; at++) {
        const unsigned char *found = memchr(self->data + at, '\n', self->size - at);
        at = (size_t)(found - self->data);
        self->starts[self->lines++] = at + 1;
    }
    if (lines > 1 && self->starts[lines - 1] == self->size) {
        self->lines--;
    }
    for (size_t at = 0; at < self->size; at++) {
        wide |= self->data[at];
    }
    if (wide < 128) {
        return 0;
    }
    self->inner = malloc((self->size / STEP + 1) * sizeof *self->inner);
    if (self->inner == NULL) {
        return -1;
    }
    uint32_t count = 0;
    for (size_t at = 0; at < self->size; at++) {
        if (at % STEP == 0) {
            self->inner[at / STEP] = count;
        }
        count += (uint32_t)is_inner(self->data[at]);
    }
    if (self->size % STEP == 0) {
        self->inner[self->size / STEP] = count;
    }
    return 0;
}

static PyObject *ruler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *text;
    if (!PyArg_ParseTuple(arguments, "S:Ruler", &text)) {
        return NULL;
    }
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(text, &data, &size) < 0) {
        return NULL;
    }
    if ((size_t)size > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "the text is too long");
        return NULL;
    }
    Ruler *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(text);
    self->text = text;
    self->data = (const unsigned char *)data;
    self->size = (size_t)size;
    if (measure(self) < 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void ruler_dealloc(PyObject *object) {
    Ruler *self = (Ruler *)object;
    Py_CLEAR(self->text);
    Py_CLEAR(self->line_starts);
    free(self->starts);
    free(self->inner);
    free(self->comments);
    object_free(object);
}

static PyObject *method_size(PyObject *object, PyObject *arguments) {
    Ruler *self = (Ruler *)object;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(arguments, "nn:size", &start, &end)) {
        return NULL;
    }
    if (start < 0 || start > end || (size_t)end > self->size) {
        return fail_null("no such part of the text");
    }
    return PyLong_FromSize_t(ruler_size(self, (size_t)start, (size_t)end));
}

/* An argument as a place in the text; -1 with an exception. */
static int place_of(const Ruler *self, PyObject *number, size_t *place) {
    Py_ssize_t value = PyLong_AsSsize_t(number);
    if (value == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (value < 0 || (size_t)value > self->size) {
        return fail("no such place in the text");
    }
    *place = (size_t)value;
    return 0;
}

/* One of Python's spans, which is frozen for everybody but us; NULL with an exception. */
static PyObject *span_of(PyTypeObject *type, PyObject *const *fields, const size_t *values) {
    PyObject *span = object_new(type);
    for (int i = 0; span != NULL && i < 4; i++) {
        PyObject *number = PyLong_FromSize_t(values[i]);
        if (number == NULL || PyObject_GenericSetAttr(span, fields[i], number) < 0) {
            Py_CLEAR(span);
        }
        Py_XDECREF(number);
    }
    return span;
}

static PyObject *method_spans(PyObject *object, PyObject *arguments) {
    static const char *const names[] = {"start_byte", "end_byte", "start_line", "end_line"};
    Ruler *self = (Ruler *)object;
    PyObject *cuts, *type, *fields[4] = {NULL};
    if (!PyArg_ParseTuple(arguments, "O!O!:spans", &PyList_Type, &cuts, &PyType_Type, &type)) {
        return NULL;
    }
    Py_ssize_t count = PyList_Size(cuts);
    PyObject *spans = PyTuple_New(count);
    for (int i = 0; spans != NULL && i < 4; i++) {
        fields[i] = PyUnicode_InternFromString(names[i]);
        if (fields[i] == NULL) {
            Py_CLEAR(spans);
        }
    }
    for (Py_ssize_t i = 0; spans != NULL && i < count; i++) {
        size_t start, end = self->size;
        PyObject *span = NULL;
        if (place_of(self, PyList_GetItem(cuts, i), &start) == 0 &&
            (i + 1 == count || place_of(self, PyList_GetItem(cuts, i + 1), &end) == 0)) {
            if (start < end) {
                const size_t values[] = {start, end, ruler_line(self, start), ruler_line(self, end - 1)};
                span = span_of((PyTypeObject *)type, fields, values);
            } else {
                fail("cuts are out of order");
            }
        }
        if (span == NULL) {
            Py_CLEAR(spans);
        } else {
            PyTuple_SetItem(spans, i, span);
        }
    }
    for (int i = 0; i < 4; i++) {
        Py_XDECREF(fields[i]);
    }
    return spans;
}

static PyObject *get_line_starts(PyObject *object, void *unused) {
    (void)unused;
    Ruler *self = (Ruler *)object;
    if (self->line_starts == NULL) {
        self->line_starts = list_of_sizes(self->starts, self->lines);
    }
    Py_XINCREF(self->line_starts);
    return self->line_starts;
}

static PyMethodDef methods[] = {
    {"size", method_size, METH_VARARGS, "Characters in text[start:end]."},
    {"spans", method_spans, METH_VARARGS, "Where chunks begin, and a type: spans of it from one cut to the next."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"text", T_OBJECT_EX, offsetof(Ruler, text), READONLY, "The text."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"line_starts", get_line_starts, NULL, "Bytes at which lines begin; a final newline ends its line and begins none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_new, (void *)ruler_new},
    {Py_tp_dealloc, (void *)ruler_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {Py_tp_doc, "Measures one text."},
    {0, NULL},
};

PyType_Spec ruler_spec = {"lurcher._kernel.Ruler", sizeof(Ruler), 0, Py_TPFLAGS_DEFAULT, type_slots};

Ruler *ruler_of(PyObject *object) {
    /* The type is made when the module is: one whose objects are released by this function's neighbour is ours. */
    if ((destructor)PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == ruler_dealloc) {
        return (Ruler *)object;
    }
    PyErr_SetString(PyExc_TypeError, "no ruler of the kernel's");
    return NULL;
}

int names_make(Names *names) {
    memset(names, 0, sizeof *names);
    int failed = 0;
#define MAKE(name_) failed |= (names->name_ = PyUnicode_InternFromString(#name_)) == NULL;
    NAMES(MAKE)
#undef MAKE
    failed |= (names->def = PyUnicode_InternFromString("def")) == NULL;
    if (failed) {
        names_free(names);
        return -1;
    }
    return 0;
}

void names_free(Names *names) {
#define FREE(name_) Py_CLEAR(names->name_);
    NAMES(FREE)
#undef FREE
    Py_CLEAR(names->def);
}
