/* What a segment holds of the chunks and definitions of its files, gathered file by file, as index/build.py has it: rows of
   tables, the strings they lead to, and what is counted of them. */

#include "count.h"
#include "split.h"

#include <stdlib.h>

enum { MAX_PARTS = 64, MANY_SLOTS = 4096, CARD_NAMES = 40 };

enum { START_BYTE, END_BYTE, START_LINE, END_LINE, NAME, KIND, CONTAINER, SIGNATURE, EXPORTED, ATTRIBUTES };
static const char *const ATTRIBUTE_NAMES[] = {
    "start_byte", "end_byte", "start_line", "end_line", "name", "kind", "container", "signature", "exported"};

typedef struct {
    size_t start, end, line, last;
} Chunk;

typedef struct {
    size_t start, end, line, last, owner;
    PyObject *name, *kind, *container, *signature; /* ours */
    int exported, rank; /* of two that name a chunk, the one of higher rank does, then the longer */
} Entry;

typedef struct {
    size_t start, end;
} Range;

typedef struct {
    uint32_t file, start, end, line, last;
    uint32_t unit_or_definition[5];
} UnitRow;

typedef struct {
    uint32_t file, unit, start, end, line, last, name, container, signature;
    uint8_t kind, flags;
    uint16_t parts;
} DefinitionRow;

typedef struct {
    PyObject_HEAD
    PyObject *counter;
    unsigned int body, comments, symbols, types, named; /* fields of the counter */
    PyObject *kinds, *type_kinds, *function_kinds, *heading, *headings, *spelled;
    Bytes units;       /* UnitRow each */
    Bytes definitions; /* DefinitionRow each */
    Bytes strings;     /* zero-terminated, each once per file */
    Texts known;       /* of this file */
    Bytes offsets;     /* uint32_t per known one */
    Bytes key;
    PyObject *names[ATTRIBUTES];
    PyObject *keys; /* list: the term under which each definition is filed */
} Shelf;

/* One file's parts while they are put on. */
typedef struct {
    Bytes chunks;   /* Chunk each */
    Bytes entries;  /* Entry each */
    Bytes comments; /* Range each */
} Parts;

static int no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

static int size_of(PyObject *object, PyObject *name, size_t most, size_t *value) {
    PyObject *number = PyObject_GetAttr(object, name);
    Py_ssize_t found = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    if (found < 0 || (size_t)found > most) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "a place outside of the text");
        }
        return -1;
    }
    *value = (size_t)found;
    return 0;
}

static int read_chunks(const Shelf *self, Parts *parts, PyObject *chunks, size_t size) {
    size_t reached = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(chunks); i++) {
        PyObject *item = PyTuple_GetItem(chunks, i);
        Chunk chunk;
        if (size_of(item, self->names[START_BYTE], size, &chunk.start) < 0 || size_of(item, self->names[END_BYTE], size, &chunk.end) < 0 ||
            size_of(item, self->names[START_LINE], UINT32_MAX, &chunk.line) < 0 || size_of(item, self->names[END_LINE], UINT32_MAX, &chunk.last) < 0) {
            return -1;
        }
        if (chunk.start < reached || chunk.end < chunk.start) {
            PyErr_SetString(PyExc_ValueError, "chunks are out of order");
            return -1;
        }
        reached = chunk.end;
        if (bytes_append(&parts->chunks, &chunk, sizeof chunk) < 0) {
            return no_memory();
        }
    }
    return 0;
}

static int read_comments(Parts *parts, PyObject *comments, size_t size) {
    size_t reached = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(comments); i++) {
        Py_ssize_t start, end;
        PyObject *pair = PyTuple_GetItem(comments, i);
        if (!PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "a comment is a pair");
            return -1;
        }
        if (!PyArg_ParseTuple(pair, "nn:comment", &start, &end)) {
            return -1;
        }
        if (start < (Py_ssize_t)reached || end < start || (size_t)end > size) {
            PyErr_SetString(PyExc_ValueError, "comments are out of order");
            return -1;
        }
        reached = (size_t)end;
        Range range = {(size_t)start, (size_t)end};
        if (bytes_append(&parts->comments, &range, sizeof range) < 0) {
            return no_memory();
        }
    }
    return 0;
}

static void entry_free(Entry *entry) {
    Py_XDECREF(entry->name);
    Py_XDECREF(entry->kind);
    Py_XDECREF(entry->container);
    Py_XDECREF(entry->signature);
}

static PyObject *text_attribute(PyObject *object, PyObject *name) {
    PyObject *text = PyObject_GetAttr(object, name);
    if (text != NULL && !PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "names of a definition are texts");
        Py_CLEAR(text);
    }
    return text;
}

/* The chunk that a place lies in, by where chunks begin. */
static size_t owner_of(const Parts *parts, size_t place) {
    const Chunk *chunks = (const Chunk *)(const void *)parts->chunks.data;
    size_t low = 0, high = parts->chunks.used / sizeof *chunks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chunks[middle].start <= place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low; /* one more than its number */
}

static int read_entry(const Shelf *self, const Parts *parts, PyObject *item, size_t size, Entry *entry) {
    memset(entry, 0, sizeof *entry);
    if (size_of(item, self->names[START_BYTE], size, &entry->start) < 0 || size_of(item, self->names[END_BYTE], size, &entry->end) < 0 ||
        size_of(item, self->names[START_LINE], UINT32_MAX, &entry->line) < 0 || size_of(item, self->names[END_LINE], UINT32_MAX, &entry->last) < 0 ||
        (entry->name = text_attribute(item, self->names[NAME])) == NULL || (entry->kind = text_attribute(item, self->names[KIND])) == NULL ||
        (entry->container = text_attribute(item, self->names[CONTAINER])) == NULL ||
        (entry->signature = text_attribute(item, self->names[SIGNATURE])) == NULL) {
        return -1;
    }
    PyObject *exported = PyObject_GetAttr(item, self->names[EXPORTED]);
    entry->exported = exported == NULL ? -1 : PyObject_IsTrue(exported);
    Py_XDECREF(exported);
    int type = entry->exported < 0 ? -1 : PySet_Contains(self->type_kinds, entry->kind);
    int naming = type ? type : PySet_Contains(self->function_kinds, entry->kind);
    if (naming < 0) {
        return -1;
    }
    entry->rank = (naming ? 2 : 1) | (type ? 4 : 0);
    entry->owner = owner_of(parts, entry->start);
    if (entry->owner == 0 || entry->end < entry->start) {
        PyErr_SetString(PyExc_ValueError, "a definition outside of all chunks");
        return -1;
    }
    entry->owner--;
    return 0;
}

static int read_entries(const Shelf *self, Parts *parts, PyObject *definitions, size_t size) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(definitions); i++) {
        Entry entry;
        if (read_entry(self, parts, PyTuple_GetItem(definitions, i), size, &entry) < 0) {
            entry_free(&entry);
            return -1;
        }
        if (bytes_append(&parts->entries, &entry, sizeof entry) < 0) {
            entry_free(&entry);
            return no_memory();
        }
    }
    return 0;
}

/* For each chunk the definition that names it: the largest that starts in it, else the innermost that encloses it; -1: none. */
static int32_t *shown_in(const Parts *parts) {
    const Chunk *chunks = (const Chunk *)(const void *)parts->chunks.data;
    const Entry *entries = (const Entry *)(const void *)parts->entries.data;
    size_t count = parts->chunks.used / sizeof *chunks, total = parts->entries.used / sizeof *entries, following = 0;
    int32_t *shown = malloc((count ? count : 1) * sizeof *shown);
    size_t *around = malloc((total ? total : 1) * sizeof *around), depth = 0;
    if (shown == NULL || around == NULL) {
        free(shown);
        free(around);
        return NULL;
    }
    memset(shown, 0xFF, count * sizeof *shown);
    for (size_t i = 0; i < total; i++) {
        int32_t *mine = &shown[entries[i].owner];
        const Entry *best = *mine < 0 ? NULL : &entries[*mine];
        int rank = entries[i].rank & 3, best_rank = best ? best->rank & 3 : -1;
        size_t size = entries[i].end - entries[i].start;
        if (rank > best_rank || (rank == best_rank && size > best->end - best->start)) {
            *mine = (int32_t)i;
        }
    }
    for (size_t number = 0; number < count; number++) {
        for (; following < total && entries[following].start < chunks[number].start; following++) {
            around[depth++] = following;
        }
        size_t kept = 0;
        for (size_t i = 0; i < depth; i++) {
            if (entries[around[i]].end > chunks[number].start) {
                around[kept++] = around[i];
            }
        }
        depth = kept;
        if (shown[number] < 0 && depth) {
            shown[number] = (int32_t)around[depth - 1];
        }
    }
    free(around);
    return shown;
}

static int is_ascii(const char *data, size_t start, size_t end) {
    unsigned char all = 0;
    for (size_t i = start; i < end; i++) {
        all |= (unsigned char)data[i];
    }
    return all < 128;
}

/* A chunk's comments counted apart from its code, each byte once: 1, or 0 where it is not ASCII, or -1 without memory. */
static int count_chunk(Shelf *self, const Parts *parts, const char *text, const Chunk *chunk, uint32_t unit, size_t *comment) {
    if (!is_ascii(text, chunk->start, chunk->end)) {
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

static int put_units(Shelf *self, const Parts *parts, const char *text, uint32_t file, uint32_t first_definition, PyObject *left) {
    const Chunk *chunks = (const Chunk *)(const void *)parts->chunks.data;
    int32_t *shown = shown_in(parts);
    int failed = shown == NULL ? no_memory() : 0;
    size_t comment = 0;
    for (size_t i = 0; !failed && i < parts->chunks.used / sizeof *chunks; i++) {
        uint32_t unit = (uint32_t)(self->units.used / sizeof(UnitRow));
        int counted = count_chunk(self, parts, text, &chunks[i], unit, &comment);
        if (counted == 0) {
            PyObject *number = PyLong_FromSize_t(i);
            failed = number == NULL || PyList_Append(left, number) < 0;
            Py_XDECREF(number);
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

/* Where the bytes of a string are, which `key` tells from those of others: 0, or -1 without memory. */
static int put_bytes(Shelf *self, const char *key, size_t key_size, const char *data, size_t size, uint32_t *offset) {
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
static int put_string(Shelf *self, PyObject *given, uint32_t *offset) {
    PyObject *text = without_zeros(given);
    if (text == NULL) {
        return -1;
    }
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    int failed = -1;
    if (data != NULL) {
        failed = put_bytes(self, data, (size_t)size, data, (size_t)size, offset) < 0 ? no_memory() : 0;
    } else { /* half a character: kept as a question mark, told apart as what it is */
        PyErr_Clear();
        PyObject *stored = PyUnicode_AsEncodedString(text, "utf-8", "replace");
        PyObject *told = stored ? PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass") : NULL;
        char *bytes, *key;
        Py_ssize_t key_size;
        if (told != NULL && PyBytes_AsStringAndSize(stored, &bytes, &size) == 0 && PyBytes_AsStringAndSize(told, &key, &key_size) == 0) {
            failed = put_bytes(self, key, (size_t)key_size, bytes, (size_t)size, offset) < 0 ? no_memory() : 0;
        }
        Py_XDECREF(stored);
        Py_XDECREF(told);
    }
    Py_DECREF(text);
    return failed;
}

static int keep_key(Shelf *self, PyObject *key) {
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
static int count_ascii(Shelf *self, PyObject *name, const char *data, size_t size, const Place *place, uint16_t *parts) {
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
static int count_spelled(Shelf *self, PyObject *name, const Place *place, uint16_t *parts) {
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

static int put_definition(Shelf *self, const Entry *entry, uint32_t file, uint32_t first_unit, size_t *names) {
    uint32_t number = (uint32_t)(self->definitions.used / sizeof(DefinitionRow)), unit = first_unit + (uint32_t)entry->owner;
    /* The first types and functions of a file name it. */
    int naming = (entry->rank & 3) == 2, on_card = naming && *names < CARD_NAMES;
    *names += (size_t)naming;
    Place place = {unit, number, on_card ? (int64_t)file : -1, entry->rank & 4};
    DefinitionRow row = {file, unit, (uint32_t)entry->start, (uint32_t)entry->end, (uint32_t)entry->line, (uint32_t)entry->last,
                         0, 0, 0, 0, entry->exported ? 1 : 0, 0};
    if (PyUnicode_Compare(entry->kind, self->heading) == 0) {
        /* A heading is no name that code would ask for: it is filed apart. */
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

/* The strings of the next file begin. */
static void next_file(Shelf *self) {
    if (self->known.slot_count > MANY_SLOTS) {
        texts_free(&self->known);
    } else if (self->known.count) {
        memset(self->known.slots, 0xFF, self->known.slot_count * sizeof *self->known.slots);
        self->known.count = 0;
        self->known.text.used = self->known.ends.used = 0;
    }
    self->offsets.used = 0;
}

static PyObject *shelf_put(PyObject *object, PyObject *arguments) {
    Shelf *self = (Shelf *)object;
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
    int failed = left == NULL || read_chunks(self, &parts, chunks, (size_t)size) < 0 || read_comments(&parts, comments, (size_t)size) < 0 ||
                 read_entries(self, &parts, definitions, (size_t)size) < 0 ||
                 put_units(self, &parts, data, file, first_definition, left) < 0;
    Entry *entries = (Entry *)(void *)parts.entries.data;
    size_t names = 0;
    for (size_t i = 0; i < parts.entries.used / sizeof *entries; i++) {
        failed = failed || put_definition(self, &entries[i], file, first_unit, &names) < 0;
        entry_free(&entries[i]);
    }
    bytes_free(&parts.chunks);
    bytes_free(&parts.entries);
    bytes_free(&parts.comments);
    if (failed) {
        Py_CLEAR(left);
    }
    return left;
}

static PyObject *shelf_sizes(PyObject *object, PyObject *unused) {
    (void)unused;
    Shelf *self = (Shelf *)object;
    return Py_BuildValue(
        "(nnn)", (Py_ssize_t)(self->units.used / sizeof(UnitRow)), (Py_ssize_t)(self->definitions.used / sizeof(DefinitionRow)),
        (Py_ssize_t)self->strings.used);
}

/* Tables are taken down once: what they took is free then. */
static PyObject *shelf_take(PyObject *object, PyObject *unused) {
    (void)unused;
    Shelf *self = (Shelf *)object;
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

static PyObject *shelf_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    unsigned int fields[5];
    PyObject *counter, *kinds, *types, *functions, *heading, *headings, *spelled;
    unsigned long long seed;
    if (!PyArg_ParseTuple(
            arguments, "KO(IIIII)O!OOUUO:Shelf", &seed, &counter, &fields[0], &fields[1], &fields[2], &fields[3], &fields[4],
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
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Shelf *self = (Shelf *)allocate(type, 0); /* all zero */
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

static void shelf_dealloc(PyObject *object) {
    Shelf *self = (Shelf *)object;
    PyTypeObject *type = Py_TYPE(object);
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
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"put", shelf_put, METH_VARARGS,
     "A file's number, text, chunks, definitions and comments: the numbers of those chunks that Python counts, not being ASCII."},
    {"sizes", shelf_sizes, METH_NOARGS, "How many units, definitions, and bytes of strings there are."},
    {"take", shelf_take, METH_NOARGS, "The table of units, that of definitions, the strings, and the term each definition is filed under."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_new, (void *)shelf_new},
    {Py_tp_dealloc, (void *)shelf_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Gathers what a segment holds of the chunks and definitions of its files."},
    {0, NULL},
};

PyType_Spec shelf_spec = {"lurcher._kernel.Shelf", sizeof(Shelf), 0, Py_TPFLAGS_DEFAULT, type_slots};
