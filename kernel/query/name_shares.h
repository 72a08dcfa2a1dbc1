/* How much of a question the names of definitions have. */

#ifndef LURCHER_NAME_SHARES_H
#define LURCHER_NAME_SHARES_H

#include "query/array.h"

#define MOST_GROUPS 64
#define MOST_NAMED 64 /* units of one file */

typedef struct {
    const char *data; /* NULL: free */
    size_t size;
    uint64_t bit;
} Slot;

/* The terms of a question, each with the bit of its group, and what a group is worth. */
typedef struct {
    Slot *slots;
    size_t mask; /* their number, a power of two, less one */
    uint64_t sizes[256]; /* by the first byte of terms, a bit for each of their sizes: most names have no such terms */
    Py_ssize_t count; /* of groups */
    double worths[MOST_GROUPS], total;
} Question;

/* Where numbers are in the rows of units and definitions. */
typedef struct {
    Py_ssize_t unit_width, unit_start, unit_end, width, unit, start, end, name, container, kind;
} Columns;

/* The rows of units and the first of the file, the rows of definitions with the first of the file and their number, its strings and
   where those begin. */
typedef struct {
    Py_buffer units, definitions, strings;
    Py_ssize_t first_unit, first, count;
    long long base;
} NamedFile;

/* Terms, the group of each, what groups are worth: 0, or -1 with an exception. The terms have to stay, and the slots to be freed. */
int question_read(Question *question, PyObject *terms, const Py_buffer *groups, PyObject *worths);
int columns_sound(const Columns *at);

/* For some units, numbered within their file, the share in the name of the innermost definition around the middle of each, and the
   largest share in that and in the names that begin in it: 0, or -1 where that takes more than this to tell. */
int name_shares(const Question *question, const Columns *at, const Py_buffer *marks, const NamedFile *file, const int64_t *units,
                Py_ssize_t many, double *around, double *largest);
#endif
