/* Occurrences of names in a syntax tree, as languages/occurrences.py has them: written as one byte for most of them, and read again. */

#include "treesitter/tree.h"

#include <stdlib.h>

/* Kinds, as in OCCURRENCE_KINDS; MEMBER is added where a receiver stands before the name. */
enum { READ, WRITE, CALL, TYPE, INHERITANCE, IMPORT, DECORATOR, DEFINITION, MEMBER, LABEL = DEFINITION | MEMBER };
/* What a place in a node says of a name in it: nothing, a kind plus one, or to ask the node around. */
enum { NOTHING = 0, LAST_KIND = LABEL + 1, PASS = 32, PASS_MEMBER, PASS_VALUE, PASS_ARGUMENT, PASS_TYPED };
enum { SHORT_GAP = 15, MOST_LEVELS = 24 };

typedef struct {
    PyObject_HEAD
    Language *language;
    uint32_t types, fields;
    uint8_t *names; /* of each type: a kind plus one where it is a name */
    uint8_t *actions; /* of each type and field */
} OccurrenceRules;

static inline bool is_word(unsigned char byte) {
    return byte >= 128 || byte == '_' || byte == '$' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z');
}

static inline uint8_t action_at(const OccurrenceRules *rules, const FlatNode *nodes, uint32_t node) {
    uint32_t parent = nodes[node].parent;
    if (parent == NONE || nodes[parent].symbol == SYMBOL_ERROR) {
        return NOTHING;
    }
    return rules->actions[(size_t)nodes[parent].symbol * rules->fields + nodes[node].field];
}

static uint8_t kind_of(const OccurrenceRules *rules, const FlatNode *nodes, uint32_t node) {
    int kind = rules->names[nodes[node].symbol] - 1;
    bool member = false, value = false, argument = false, typed = false;
    for (int level = 0; level < MOST_LEVELS; level++) {
        uint8_t action = action_at(rules, nodes, node);
        if (action < PASS) {
            if (action != NOTHING) {
                kind = action - 1;
            }
            break;
        }
        member = member || action == PASS_MEMBER;
        value = value || action == PASS_VALUE;
        argument = argument || action == PASS_ARGUMENT;
        typed = typed || action == PASS_TYPED;
        node = nodes[node].parent;
    }
    if (value && kind != TYPE && kind != INHERITANCE) {
        kind = READ;
    }
    if (argument) {
        kind = kind == INHERITANCE || kind == TYPE ? TYPE : kind == IMPORT ? IMPORT : READ;
    }
    if (typed && kind != INHERITANCE && kind != IMPORT && kind != DECORATOR) {
        kind = TYPE;
    }
    if (kind == CALL && nodes[node].parent != NONE && action_at(rules, nodes, nodes[node].parent) == DECORATOR + 1) {
        kind = DECORATOR;
    }
    return (uint8_t)(member && (kind & ~MEMBER) != DEFINITION ? kind | MEMBER : kind);
}

static int put(Bytes *out, int kind, size_t gap) {
    unsigned char code[12];
    size_t used = 1;
    code[0] = (unsigned char)(kind << 4 | (gap < SHORT_GAP ? (int)gap : SHORT_GAP));
    if (gap >= SHORT_GAP) {
        for (gap -= SHORT_GAP; gap >= 128; gap >>= 7) {
            code[used++] = (unsigned char)(gap | 128);
        }
        code[used++] = (unsigned char)gap;
    }
    return bytes_append(out, code, used);
}

static PyObject *rules_encode(PyObject *object, PyObject *arguments) {
    const OccurrenceRules *self = (const OccurrenceRules *)(const void *)object;
    PyObject *root, *text;
    if (!PyArg_ParseTuple(arguments, "OO!:encode", &root, &PyBytes_Type, &text)) {
        return NULL;
    }
    const Node *node = node_of(root);
    char *data;
    Py_ssize_t size;
    if (node == NULL || PyBytes_AsStringAndSize(text, &data, &size) < 0) {
        return NULL;
    }
    if (node->tree->language != self->language || size != PyBytes_Size(node->tree->text)) {
        return fail_null("a tree of another language, or of another text");
    }
    const FlatNode *nodes = node->tree->nodes;
    Bytes out = {0};
    size_t reached = 0;
    for (uint32_t i = node->number; i < nodes[node->number].after; i++) {
        if (nodes[i].symbol == SYMBOL_ERROR || !self->names[nodes[i].symbol] || nodes[i].after != i + 1) {
            continue;
        }
        size_t start = nodes[i].start, end = nodes[i].end;
        while (start < end && !is_word((unsigned char)data[start])) {
            start++;
        }
        if (start >= end || start < reached) {
            continue;
        }
        if (put(&out, kind_of(self, nodes, i), start - reached) < 0) {
            bytes_free(&out);
            return PyErr_NoMemory();
        }
        for (reached = start; reached < (size_t)size && is_word((unsigned char)data[reached]); reached++) {
        }
    }
    PyObject *found = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.used);
    bytes_free(&out);
    return found;
}

static PyObject *rules_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *language, *names, *actions;
    if (!PyArg_ParseTuple(arguments, "OO!O!:OccurrenceRules", &language, &PyTuple_Type, &names, &PyTuple_Type, &actions)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(language, language_type)) {
        PyErr_SetString(PyExc_TypeError, "a language is needed");
        return NULL;
    }
    OccurrenceRules *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(language);
    self->language = (Language *)(void *)language;
    const TSLanguage *grammar = self->language->grammar;
    self->types = grammar->symbol_count + grammar->alias_count;
    self->fields = grammar->field_count + 1;
    self->names = calloc(self->types, 1);
    self->actions = calloc((size_t)self->types * self->fields, 1);
    bool failed = self->names == NULL || self->actions == NULL;
    if (failed) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(names); i++) {
        unsigned int symbol, kind;
        PyObject *entry = PyTuple_GetItem(names, i);
        failed = !PyTuple_Check(entry) || !PyArg_ParseTuple(entry, "II:name", &symbol, &kind);
        if (!failed && (symbol >= self->types || kind >= LAST_KIND)) {
            failed = fail("a name that cannot be") < 0;
        }
        if (!failed) {
            self->names[symbol] = (uint8_t)(kind + 1);
        }
    }
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(actions); i++) {
        unsigned int symbol, action;
        int field; /* below zero: any that has no action yet */
        PyObject *entry = PyTuple_GetItem(actions, i);
        failed = !PyTuple_Check(entry) || !PyArg_ParseTuple(entry, "IiI:action", &symbol, &field, &action);
        if (!failed && (symbol >= self->types || field >= (int)self->fields || action > PASS_TYPED ||
                        (action > LAST_KIND && action < PASS))) {
            failed = fail("an action that cannot be") < 0;
        }
        for (uint32_t j = 0; !failed && j < self->fields; j++) {
            uint8_t *place = &self->actions[(size_t)symbol * self->fields + j];
            if (field < 0 ? !*place : j == (uint32_t)field) {
                *place = (uint8_t)action;
            }
        }
    }
    if (failed) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "rules are tuples of numbers");
        }
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void rules_free(PyObject *object) {
    OccurrenceRules *self = (OccurrenceRules *)(void *)object;
    free(self->names);
    free(self->actions);
    Py_XDECREF((PyObject *)self->language);
    object_free(object);
}

static PyMethodDef rules_methods[] = {
    {"encode", rules_encode, METH_VARARGS, "The root of a tree, and its text: the occurrences of names, encoded."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot rules_slots[] = {
    {Py_tp_doc, "A language's rules of occurrences: (type, kind) of names, (type, field, action) of what is around them."},
    {Py_tp_new, rules_new},
    {Py_tp_dealloc, rules_free},
    {Py_tp_methods, rules_methods},
    {0, NULL},
};

PyType_Spec occurrence_rules_spec = {
    "lurcher._kernel.OccurrenceRules", sizeof(OccurrenceRules), 0, Py_TPFLAGS_DEFAULT, rules_slots};

/* The next occurrence of an encoded text. */
typedef struct {
    const unsigned char *next, *end;
    const unsigned char *text;
    size_t size, start, reached;
    int kind;
} Reader;

/* Whether there is one more; -1 for data that does not fit the text. */
static int read_next(Reader *reader) {
    if (reader->next == reader->end) {
        return 0;
    }
    unsigned char code = *reader->next++;
    size_t gap = code & 15;
    if (gap == SHORT_GAP) {
        unsigned char byte = 128;
        for (int shift = 0; byte & 128; shift += 7) {
            if (reader->next == reader->end || shift > 35) {
                return -1;
            }
            byte = *reader->next++;
            gap += (size_t)(byte & 127) << shift;
        }
    }
    if (gap >= reader->size - reader->reached) {
        return -1;
    }
    reader->kind = code >> 4;
    reader->start = reader->reached + gap;
    size_t at = reader->start;
    while (at < reader->size && is_word(reader->text[at])) {
        at++;
    }
    if (at == reader->start) {
        return -1;
    }
    reader->reached = at;
    return 1;
}

/* (start, end, kind) of the occurrences that begin in [first, last), of one name if one is given. */
PyObject *kernel_occurrences(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer encoded = {0}, text = {0};
    const char *name;
    Py_ssize_t length, first, last;
    if (!PyArg_ParseTuple(arguments, "y*y*z#nn:occurrences", &encoded, &text, &name, &length, &first, &last)) {
        RELEASE(&encoded, &text);
        return NULL;
    }
    Reader reader = {
        encoded.buf, (const unsigned char *)encoded.buf + encoded.len, text.buf, (size_t)text.len, 0, 0, 0};
    PyObject *found = PyList_New(0);
    int more = 0;
    while (found != NULL && (more = read_next(&reader)) > 0 && (Py_ssize_t)reader.start < last) {
        if ((Py_ssize_t)reader.start < first ||
            (name != NULL && (reader.reached - reader.start != (size_t)length || memcmp(reader.text + reader.start, name, (size_t)length)))) {
            continue;
        }
        PyObject *item = Py_BuildValue("(nni)", (Py_ssize_t)reader.start, (Py_ssize_t)reader.reached, reader.kind);
        if (item == NULL || PyList_Append(found, item) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(item);
    }
    RELEASE(&encoded, &text);
    if (more < 0) {
        Py_CLEAR(found);
        return fail_null("occurrences that do not fit the text");
    }
    return found;
}
