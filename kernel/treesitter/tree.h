/* Trees and their nodes, as Python sees them: what tree-sitter's own nodes offer, as far as it is used. */

#ifndef LURCHER_TREE_H
#define LURCHER_TREE_H

#include "treesitter/parser.h"

typedef struct {
    PyObject_HEAD
    const TSLanguage *grammar;
    PyObject *capsule; /* keeps the grammar */
    PyObject *names; /* list: str of each symbol */
    PyObject *fields; /* dict: number of each field */
    Parser *idle; /* one that waits for the next text */
} Language;

typedef struct {
    PyObject_HEAD
    Language *language;
    PyObject *text; /* bytes */
    Parser *parser; /* ours until the tree is gone */
    const FlatNode *nodes;
    uint32_t row, row_at, line; /* a place whose row is known, and where that begins */
} Tree;

typedef struct {
    PyObject_HEAD
    Tree *tree;
    uint32_t number;
} Node;

extern PyType_Spec language_spec, tree_spec, node_spec, patterns_spec, occurrence_rules_spec;
extern PyTypeObject *language_type, *tree_type, *node_type;

PyObject *node_new(Tree *tree, uint32_t number);

/* A node of ours, or NULL with an exception. */
Node *node_of(PyObject *object);

#endif
