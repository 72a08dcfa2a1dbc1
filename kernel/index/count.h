/* A counter's texts, for what adds to it besides Python. */

#ifndef LURCHER_COUNT_H
#define LURCHER_COUNT_H

#include "support/kernel.h"

/* Whether an object is a counter that may be added to now, in this field; without, an exception says why not. */
int counter_takes(PyObject *counter, unsigned int field);

/* Identifiers of a piece of ASCII, for the addition that counter_close completes: 0, or -1 without memory. */
int counter_piece(PyObject *counter, unsigned int field, const char *data, size_t size);

/* One addition is complete: 0, or -1 without memory, and then as if it had not begun. */
int counter_close(PyObject *counter, unsigned int field, uint32_t owner);

/* Given identifiers, as one addition: 0, or -1 with an exception. */
int counter_words(PyObject *counter, unsigned int field, uint32_t owner, PyObject *words);

#endif
