/* Chunks, definitions and comments of a file, read out of what Python has of it and held against its text. */

#include "index/rows_build.h"

#include <stdlib.h>

static int read_chunks(const RowBuilder *self, Parts *parts, PyObject *chunks, size_t size) {
    size_t reached = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(chunks); i++) {
        PyObject *item = PyTuple_GetItem(chunks, i);
        Chunk chunk;
        if (size_attribute(item, self->names[START_BYTE], size, &chunk.start) < 0 ||
            size_attribute(item, self->names[END_BYTE], size, &chunk.end) < 0 ||
            size_attribute(item, self->names[START_LINE], UINT32_MAX, &chunk.line) < 0 ||
            size_attribute(item, self->names[END_LINE], UINT32_MAX, &chunk.last) < 0) {
            return -1;
        }
        if (chunk.start < reached || chunk.end < chunk.start) {
            return fail("chunks are out of order");
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
            return fail("comments are out of order");
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

static int read_entry(const RowBuilder *self, const Parts *parts, PyObject *item, size_t size, Entry *entry) {
    memset(entry, 0, sizeof *entry);
    if (size_attribute(item, self->names[START_BYTE], size, &entry->start) < 0 ||
        size_attribute(item, self->names[END_BYTE], size, &entry->end) < 0 ||
        size_attribute(item, self->names[START_LINE], UINT32_MAX, &entry->line) < 0 ||
        size_attribute(item, self->names[END_LINE], UINT32_MAX, &entry->last) < 0 ||
        (entry->name = text_attribute(item, self->names[NAME])) == NULL ||
        (entry->kind = text_attribute(item, self->names[KIND])) == NULL ||
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
        return fail("a definition outside of all chunks");
    }
    entry->owner--;
    return 0;
}

static int read_entries(const RowBuilder *self, Parts *parts, PyObject *definitions, size_t size) {
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

int read_parts(const RowBuilder *self, Parts *parts, PyObject *chunks, PyObject *comments, PyObject *definitions, size_t size) {
    return read_chunks(self, parts, chunks, size) < 0 || read_comments(parts, comments, size) < 0
               ? -1
               : read_entries(self, parts, definitions, size);
}

void parts_free(Parts *parts) {
    Entry *entries = (Entry *)(void *)parts->entries.data;
    for (size_t i = 0; i < parts->entries.used / sizeof *entries; i++) {
        entry_free(&entries[i]);
    }
    bytes_free(&parts->chunks);
    bytes_free(&parts->entries);
    bytes_free(&parts->comments);
}

int32_t *shown_in(const Parts *parts) {
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
