/* What a language's query found, on its way to definitions and comments, as languages/definitions.py has it. */

#ifndef LURCHER_EXTRACT_H
#define LURCHER_EXTRACT_H

#include "chunk/definition.h"

/* A language's rules. All are borrowed from the caller's tuple. */
typedef struct {
    PyObject *comment, *wrap, *attribute, *scope, *open_scope; /* kinds that are marks */
    PyObject *refine, *exported, *qualify;                     /* refine and qualify may be None */
    PyObject *methods_in, *constructors, *contains_nothing;
    int signature_at_wrapper, constructor_is_class, merge_equations;
    const char *annotations;
    Py_ssize_t annotation_count;
    PyObject *found, *definition;              /* types */
    PyObject *signature, *after_annotations;   /* the reference, for what is not ASCII and for annotations */
} Rules;

typedef struct {
    int64_t rank; /* the lower is preferred */
    PyObject *kind, *captures; /* ours */
} Captured;

typedef struct {
    int64_t rank;
    size_t number;
    Found *found; /* ours */
} Ranked;

typedef struct {
    size_t start, end;
    PyObject *qualified, *kind; /* ours */
} Open;

typedef struct {
    PyObject *name, *kind, *container, *signature, *exported; /* ours */
    size_t start, end, line, last, number;
} Placed;

typedef struct {
    const Rules *rules;
    Ruler *ruler;
    Names names;
    Bytes commented;  /* Range each */
    Bytes attributes; /* Range each */
    PyObject *wrappers; /* where the wrapped begins → (start, end) of what wraps it; NULL without any */
    Bytes captured;   /* Captured each */
    Bytes ranked;     /* Ranked each */
    Bytes open;       /* Open each: the definitions around the current one */
    Bytes placed;     /* Placed each */
    PyObject *seen;   /* names of definitions with the current one's place */
    size_t seen_start, seen_end;
    PyObject *equation; /* distinguishes the previous definition's further equations from other definitions */
} Work;

/* Whether what a rule of Python's left is still of this text: 0, or -1 with an exception. */
int check_found(const Work *work, const Found *found);

/* Every definition with its container by nesting, in `placed`: 0, or -1 with an exception. */
int place_all(Work *work);
/* Those, as Python has them: a tuple. */
PyObject *definitions_of(Work *work);
void placement_free(Work *work);

/* The text of [start, end) on one line, without the comments in it, on request at most to its first brace. */
PyObject *signature_of(const Work *work, size_t start, size_t end, int ends_at_brace);

#endif
