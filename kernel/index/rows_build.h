/* One file's chunks, definitions and comments on their way into the tables of a segment, as storage/segment_writer.py has it. */

#ifndef LURCHER_ROWS_BUILD_H
#define LURCHER_ROWS_BUILD_H

#include "index/count.h"

enum { START_BYTE, END_BYTE, START_LINE, END_LINE, NAME, KIND, CONTAINER, SIGNATURE, EXPORTED, ATTRIBUTES };

typedef struct {
    size_t start, end, line, last;
} Chunk;

typedef struct {
    size_t start, end, line, last, owner;
    PyObject *name, *kind, *container, *signature; /* ours */
    int exported, rank; /* of two that name a chunk, the one of higher rank does, then the longer */
} Entry;

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
} RowBuilder;

/* One file's parts while they are put on. */
typedef struct {
    Bytes chunks;   /* Chunk each */
    Bytes entries;  /* Entry each */
    Bytes comments; /* Range each */
} Parts;

/* What Python has of a file, checked against the size of its text: 0, or -1 with an exception. */
int read_parts(const RowBuilder *self, Parts *parts, PyObject *chunks, PyObject *comments, PyObject *definitions, size_t size);
void parts_free(Parts *parts);
/* For each chunk the definition that names it: the largest that starts in it, else the innermost that encloses it; -1: none.
   NULL without memory; the caller's. */
int32_t *shown_in(const Parts *parts);

/* The strings of the next file begin. */
void next_file(RowBuilder *self);
/* A row, what is counted of the name, and its key; `names` counts the types and functions of the file: 0, or -1 with an exception. */
int put_definition(RowBuilder *self, const Entry *entry, uint32_t file, uint32_t first_unit, size_t *names);

#endif
