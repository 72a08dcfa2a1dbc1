/* A text with its lines, the width of its characters, and its comments, as chunking/lines.py and languages/definitions.py have it. */

#ifndef LURCHER_RULER_H
#define LURCHER_RULER_H

#include "support/kernel.h"

typedef struct {
    PyObject_HEAD
    PyObject *text; /* bytes */
    const unsigned char *data;
    size_t size;
    size_t *starts; /* of lines; there is always one */
    size_t lines;
    uint32_t *inner; /* how many bytes begin no character before each 64th; NULL where every byte is one */
    Range *comments; /* in order, disjoint */
    size_t comment_count;
    PyObject *line_starts; /* the list, once it was requested */
} Ruler;

extern PyType_Spec ruler_spec;

/* The ruler that an argument is, or NULL with an exception. */
Ruler *ruler_of(PyObject *object);

size_t ruler_size(const Ruler *ruler, size_t start, size_t end); /* characters in [start, end), where start <= end <= size */
size_t ruler_line(const Ruler *ruler, size_t byte);              /* the 1-based line of a byte */
size_t ruler_line_start(const Ruler *ruler, size_t byte);
size_t ruler_next_line(const Ruler *ruler, size_t byte);

/* The first comment that begins at or after a byte: its number, or how many there are. */
size_t ruler_comment(const Ruler *ruler, size_t byte);
/* The end of [start, end) without trailing white space and, if there is any, the comments around it. */
size_t ruler_trim(const Ruler *ruler, size_t start, size_t end);

static inline int is_blank(unsigned char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }

/* What bytes.strip takes away. */
static inline int is_space(unsigned char byte) { return byte == ' ' || (byte >= 9 && byte <= 13); }

/* Names of attributes and keys, made once for one call. */
#define NAMES(X)                                                                                                             \
    X(start_byte) X(end_byte) X(type) X(children) X(child_count) X(is_named) X(child_by_field_name) X(name) X(owner) X(value)  \
    X(body) X(inner)
typedef struct {
#define FIELD(name_) PyObject *name_;
    NAMES(FIELD)
#undef FIELD
    PyObject *def;
} Names;
int names_make(Names *names);
void names_free(Names *names);

#endif
