/* A definition while it is being built: what languages/base.py calls Found, with the same names for Python. */

#ifndef LURCHER_FOUND_H
#define LURCHER_FOUND_H

#include "chunk/line_index.h"

typedef struct {
    PyObject_HEAD
    PyObject *kind, *name, *owner; /* str */
    Py_ssize_t start, end, signature_start, signature_end, name_start, name_end, value_start;
} Found;

extern PyType_Spec found_spec;

int is_found(PyObject *object);
int is_found_type(PyObject *type);

#endif
