/* Definitions: their rows, the strings that these lead to, and what is counted of their names. */

#include "index/rows_build.h"
#include "index/split.h"

enum { MAX_PARTS = 64, MANY_SLOTS = 4096, CARD_NAMES = 40 };

/* A text with spaces for its zeros: a new reference. */
static PyObject *without_zeros(PyObject *text) {
    Py_ssize_t found = PyUnicode_FindChar(text, 0, 0, PyUnicode_GetLength(text), 1);
    if (found == -2) {
        return NULL;
    }
    if (found < 0) {
        Py_INCREF(text);
        return text;
    }
    PyObject *zero = PyUnicode_FromStringAndSize("\0", 1), *space = PyUnicode_FromString(" ");
    PyObject *plain = zero == NULL || space == NULL ? NULL : PyUnicode_Replace(text, zero, space, -1);
    Py_XDECREF(zero);
    Py_XDECREF(space);
    return plain;
}

/* Where the bytes of a string are, which `key` identifies: 0, or -1 without memory. */
static int put_bytes(RowBuilder *self, const char *key, size_t key_size, const char *data, size_t size, uint32_t *offset) {
    uint32_t before = self->known.count, number = texts_number(&self->known, key, key_size), place = (uint32_t)self->strings.used;
    char zero = 0;
    if (number == UINT32_MAX) {
        return -1;
    }
    if (number == before &&
        (size > UINT32_MAX - 1 || self->strings.used > UINT32_MAX - 1 - size || bytes_append(&self->offsets, &place, sizeof place) < 0 ||
         bytes_append(&self->strings, data, size) < 0 || bytes_append(&self->strings, &zero, 1) < 0)) {
        return -1;
    }
    *offset = ((const uint32_t *)(const void *)self->offsets.data)[number];
    return 0;
}

/* Where a string of this file is, put there if it is new: 0, or -1 with an exception. */
static int put_string(RowBuilder *self, PyObject *given, uint32_t *offset) {
    PyObject *text = without_zeros(given);
    if (text == NULL) {
        return -1;
    }
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    int failed = -1;
    if (data != NULL) {
        failed = put_bytes(self, data, (size_t)size, data, (size_t)size, offset) < 0 ? no_memory() : 0;
    } else { /* half a character: stored as a question mark, identified by its own bytes */
        PyErr_Clear();
        PyObject *stored = PyUnicode_AsEncodedString(text, "utf-8", "replace");
        PyObject *own = stored ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass") : NULL;
        char *bytes, *key;
        Py_ssize_t key_size;
        if (own != NULL && PyBytes_AsStringAndSize(stored, &bytes, &size) == 0 && PyBytes_AsStringAndSize(own, &key, &key_size) == 0) {
            failed = put_bytes(self, key, (size_t)key_size, bytes, (size_t)size, offset) < 0 ? no_memory() : 0;
        }
        Py_XDECREF(stored);
        Py_XDECREF(own);
    }
    Py_DECREF(text);
    return failed;
}

static int keep_key(RowBuilder *self, PyObject *key) {
    int failed = key == NULL || PyList_Append(self->keys, key) < 0;
    Py_XDECREF(key);
    return failed ? -1 : 0;
}

/* A name's place: its unit, its number among all definitions, and its file where it goes onto the file's card, else -1. */
typedef struct {
    uint32_t unit, number;
    int64_t card;
    int type;
} Place;

/* A name in ASCII: counted, filed under its letters and digits alone, and its parts counted where it is that of a type. */
static int count_ascii(RowBuilder *self, PyObject *name, const char *data, size_t size, const Place *place, uint16_t *parts) {
    if (counter_piece(self->counter, self->symbols, data, size) < 0 || counter_close(self->counter, self->symbols, place->unit) < 0) {
        return no_memory();
    }
    if (place->card >= 0 && (counter_piece(self->counter, self->named, data, size) < 0 ||
                             counter_close(self->counter, self->named, (uint32_t)place->card) < 0)) {
        return no_memory();
    }
    self->key.used = 0;
    uint16_t count = 0;
    for (size_t at = 0; at < size;) {
        if (CLASS[(unsigned char)data[at]] == BETWEEN) {
            at++;
            continue;
        }
        size_t start = at;
        for (; at < size && CLASS[(unsigned char)data[at]] != BETWEEN; at++) {
            char byte = data[at];
            byte = byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
            if (byte != '_' && bytes_append(&self->key, &byte, 1) < 0) {
                return no_memory();
            }
        }
        if (place->type) {
            Terms terms;
            split_ascii(data + start, at - start, &terms);
            for (size_t i = terms.count > 1 ? 1 : 0; i < terms.count && count < MAX_PARTS; i++, count++) {
                if (counter_piece(self->counter, self->types, terms.text + terms.parts[i].start, terms.parts[i].size) < 0) {
                    return no_memory();
                }
            }
        }
    }
    if (count && counter_close(self->counter, self->types, place->number) < 0) {
        return no_memory();
    }
    *parts = count;
    if (self->key.used) {
        return keep_key(self, PyUnicode_FromStringAndSize(self->key.data, (Py_ssize_t)self->key.used));
    }
    Py_INCREF(name);
    return keep_key(self, name);
}

/* Any other name, as Python spells it: its words, the term it is filed under, the words of its parts and how many those are. */
static int count_spelled(RowBuilder *self, PyObject *name, const Place *place, uint16_t *parts) {
    PyObject *spelled = PyObject_CallFunctionObjArgs(self->spelled, name, place->type ? Py_True : Py_False, NULL);
    if (spelled == NULL) {
        return -1;
    }
    PyObject *words, *key, *named;
    unsigned short count;
    int failed = 1;
    if (!PyTuple_Check(spelled)) {
        PyErr_SetString(PyExc_TypeError, "a name is spelled as words, a key, words of its parts and their number");
    } else if (PyArg_ParseTuple(spelled, "O!UO!H", &PyList_Type, &words, &key, &PyList_Type, &named, &count)) {
        *parts = count;
        Py_INCREF(key);
        failed = keep_key(self, key) < 0 || counter_words(self->counter, self->symbols, place->unit, words) < 0 ||
                 (place->card >= 0 && counter_words(self->counter, self->named, (uint32_t)place->card, words) < 0) ||
                 (count && counter_words(self->counter, self->types, place->number, named) < 0);
    }
    Py_DECREF(spelled);
    return failed ? -1 : 0;
}

int put_definition(RowBuilder *self, const Entry *entry, uint32_t file, uint32_t first_unit, size_t *names) {
    uint32_t number = (uint32_t)(self->definitions.used / sizeof(DefinitionRow)), unit = first_unit + (uint32_t)entry->owner;
    /* The first types and functions of a file name it. */
    int naming = (entry->rank & 3) == 2, on_card = naming && *names < CARD_NAMES;
    *names += (size_t)naming;
    Place place = {unit, number, on_card ? (int64_t)file : -1, entry->rank & 4};
    DefinitionRow row = {file, unit, (uint32_t)entry->start, (uint32_t)entry->end, (uint32_t)entry->line, (uint32_t)entry->last,
                         0, 0, 0, 0, entry->exported ? 1 : 0, 0};
    if (PyUnicode_Compare(entry->kind, self->heading) == 0) {
        /* A heading is no name of code: it has a family of its own. */
        Py_INCREF(self->headings);
        if (keep_key(self, self->headings) < 0) {
            return -1;
        }
    } else {
        Py_ssize_t size;
        const char *data = PyUnicode_AsUTF8AndSize(entry->name, &size);
        if (data == NULL) {
            PyErr_Clear();
        }
        int ascii = data != NULL && size == PyUnicode_GetLength(entry->name);
        if ((ascii ? count_ascii(self, entry->name, data, (size_t)size, &place, &row.parts)
                   : count_spelled(self, entry->name, &place, &row.parts)) < 0) {
            return -1;
        }
    }
    PyObject *kind = PyDict_GetItemWithError(self->kinds, entry->kind);
    unsigned long code = kind == NULL ? 0 : PyLong_AsUnsignedLong(kind);
    if (PyErr_Occurred()) {
        return -1;
    }
    row.kind = (uint8_t)(code < 256 ? code : 0);
    if (put_string(self, entry->name, &row.name) < 0 || put_string(self, entry->container, &row.container) < 0 ||
        put_string(self, entry->signature, &row.signature) < 0) {
        return -1;
    }
    return bytes_append(&self->definitions, &row, sizeof row) < 0 ? no_memory() : 0;
}

void next_file(RowBuilder *self) {
    if (self->known.slot_count > MANY_SLOTS) {
        texts_free(&self->known);
    } else if (self->known.count) {
        memset(self->known.slots, 0xFF, self->known.slot_count * sizeof *self->known.slots);
        self->known.count = 0;
        self->known.text.used = self->known.ends.used = 0;
    }
    self->offsets.used = 0;
}
