/* Languages, trees and nodes for Python. */

#include "treesitter/tree.h"

#include <stdlib.h>

PyTypeObject *language_type, *tree_type, *node_type;

/* Languages. */

static PyObject *language_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *capsule;
    if (!PyArg_ParseTuple(arguments, "O:Language", &capsule)) {
        return NULL;
    }
    const TSLanguage *grammar = PyCapsule_GetPointer(capsule, "tree_sitter.Language");
    if (grammar == NULL) {
        return NULL;
    }
    const char *problem = language_problem(grammar);
    if (problem != NULL) {
        return fail_null(problem);
    }
    Language *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    self->grammar = grammar;
    Py_INCREF(capsule);
    self->capsule = capsule;
    self->names = PyList_New(0);
    self->fields = PyDict_New();
    int failed = self->names == NULL || self->fields == NULL;
    for (uint32_t i = 0; !failed && i < grammar->symbol_count + grammar->alias_count; i++) {
        PyObject *name = PyUnicode_InternFromString(grammar->symbol_names[i]);
        failed = name == NULL || PyList_Append(self->names, name) < 0;
        Py_XDECREF(name);
    }
    for (uint32_t i = 1; !failed && i <= grammar->field_count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(i);
        failed = number == NULL || PyDict_SetItemString(self->fields, grammar->field_names[i], number) < 0;
        Py_XDECREF(number);
    }
    if (failed) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void language_free(PyObject *object) {
    Language *self = (Language *)(void *)object;
    if (self->idle != NULL) {
        parser_free(self->idle);
    }
    Py_XDECREF(self->names);
    Py_XDECREF(self->fields);
    Py_XDECREF(self->capsule);
    object_free(object);
}

/* The number of a field, 0 where the language has none of that name, or UINT32_MAX with an exception. */
static uint32_t field_number(const Language *language, PyObject *name) {
    PyObject *number = PyDict_GetItemWithError(language->fields, name);
    if (number == NULL) {
        return PyErr_Occurred() ? UINT32_MAX : 0;
    }
    return (uint32_t)PyLong_AsUnsignedLong(number);
}

/* Keeps buffers for the next text, whatever its language: most processes parse one text at a time. */
static Parser *spare;

/* Keeps a parser for the next text, unless the language has one. */
static void release_parser(Language *language, Parser *parser) {
    parser_reset(parser);
    if (spare == NULL) {
        spare = parser_new(NULL);
    }
    if (spare != NULL) {
        parser_move_buffers(parser, spare);
    }
    if (language->idle == NULL) {
        language->idle = parser;
    } else {
        parser_free(parser);
    }
}

static PyObject *language_parse(PyObject *object, PyObject *text) {
    Language *self = (Language *)(void *)object;
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(text, &data, &size) < 0) {
        return NULL;
    }
    Parser *parser = self->idle != NULL ? self->idle : parser_new(self->grammar);
    self->idle = NULL; /* another thread makes its own */
    if (parser == NULL) {
        return PyErr_NoMemory();
    }
    if (spare != NULL) {
        parser_move_buffers(spare, parser);
    }
    bool is_read;
    Py_BEGIN_ALLOW_THREADS
    is_read = parser_parse(parser, data, (size_t)size) && parser_flatten(parser) != NONE;
    Py_END_ALLOW_THREADS
    Tree *tree = is_read ? object_new(tree_type) : NULL;
    if (tree == NULL) {
        release_parser(self, parser);
        if (is_read) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    Py_INCREF((PyObject *)self);
    tree->language = self;
    Py_INCREF(text);
    tree->text = text;
    tree->parser = parser;
    tree->nodes = parser->flat_nodes;
    PyObject *root = node_new(tree, 0);
    Py_DECREF((PyObject *)tree);
    return root;
}

static PyObject *language_symbol(PyObject *object, PyObject *arguments) {
    const Language *self = (const Language *)(const void *)object;
    const char *name;
    int named;
    if (!PyArg_ParseTuple(arguments, "sp:symbols", &name, &named)) {
        return NULL;
    }
    const TSLanguage *grammar = self->grammar;
    for (uint32_t i = 0; i < grammar->symbol_count + grammar->alias_count; i++) {
        TSSymbolMetadata kind = grammar->symbol_metadata[i];
        if (kind.named == (named != 0) && (kind.visible || kind.supertype) && strcmp(grammar->symbol_names[i], name) == 0) {
            if (kind.supertype) {
                break; /* supertypes are never nodes */
            }
            return PyLong_FromUnsignedLong(grammar->public_symbol_map[i]);
        }
    }
    PyErr_Format(PyExc_ValueError, "no node is called %s", name);
    return NULL;
}

static PyObject *language_field(PyObject *object, PyObject *name) {
    uint32_t number = field_number((const Language *)(const void *)object, name);
    if (number == 0) {
        PyErr_Format(PyExc_ValueError, "no field is called %S", name);
    }
    return number == 0 || number == UINT32_MAX ? NULL : PyLong_FromUnsignedLong(number);
}

static PyMethodDef language_methods[] = {
    {"parse", language_parse, METH_O, "The root of a text's tree; None for one that takes too many steps or too much memory."},
    {"symbol", language_symbol, METH_VARARGS, "The number of a node's type, by its name and whether it is a named one."},
    {"field", language_field, METH_O, "The number of a field."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot language_slots[] = {
    {Py_tp_doc, "A grammar of tree-sitter's, by the capsule that its package gives."},
    {Py_tp_new, language_new},
    {Py_tp_dealloc, language_free},
    {Py_tp_methods, language_methods},
    {0, NULL},
};

PyType_Spec language_spec = {"lurcher._kernel.Language", sizeof(Language), 0, Py_TPFLAGS_DEFAULT, language_slots};

/* Trees. */

static void tree_free(PyObject *object) {
    Tree *self = (Tree *)(void *)object;
    release_parser(self->language, self->parser);
    Py_XDECREF(self->text);
    Py_XDECREF((PyObject *)self->language);
    object_free(object);
}

static PyType_Slot tree_slots[] = {{Py_tp_dealloc, tree_free}, {0, NULL}};

PyType_Spec tree_spec = {
    "lurcher._kernel.Tree", sizeof(Tree), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tree_slots};

/* Nodes. */

PyObject *node_new(Tree *tree, uint32_t number) {
    Node *node = object_new(node_type);
    if (node != NULL) {
        Py_INCREF((PyObject *)tree);
        node->tree = tree;
        node->number = number;
    }
    return (PyObject *)node;
}

Node *node_of(PyObject *object) {
    if (Py_TYPE(object) != node_type) {
        PyErr_SetString(PyExc_TypeError, "a node of the kernel's is needed");
        return NULL;
    }
    return (Node *)(void *)object;
}

static void node_free(PyObject *object) {
    Py_XDECREF((PyObject *)((Node *)(void *)object)->tree);
    object_free(object);
}

static const FlatNode *seen(const PyObject *object) {
    const Node *node = (const Node *)(const void *)object;
    return &node->tree->nodes[node->number];
}

static PyObject *node_type_name(PyObject *self, void *unused) {
    (void)unused;
    if (seen(self)->symbol == SYMBOL_ERROR) {
        return PyUnicode_InternFromString("ERROR");
    }
    PyObject *name = PyList_GetItem(((Node *)(void *)self)->tree->language->names, seen(self)->symbol);
    Py_XINCREF(name);
    return name;
}

static PyObject *node_start(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(seen(self)->start);
}

static PyObject *node_end(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(seen(self)->end);
}

static PyObject *node_range(PyObject *self, void *unused) {
    (void)unused;
    return Py_BuildValue("(II)", seen(self)->start, seen(self)->end);
}

static PyObject *node_text(PyObject *self, void *unused) {
    (void)unused;
    const char *text = PyBytes_AsString(((Node *)(void *)self)->tree->text);
    return text == NULL ? NULL : PyBytes_FromStringAndSize(text + seen(self)->start, seen(self)->end - seen(self)->start);
}

static PyObject *node_start_point(PyObject *self, void *unused) {
    (void)unused;
    Tree *tree = ((Node *)(void *)self)->tree;
    const char *text = PyBytes_AsString(tree->text);
    uint32_t start = seen(self)->start, at = tree->row_at, row = tree->row, line = tree->line;
    if (text == NULL) {
        return NULL;
    }
    if (start < at) {
        at = row = line = 0;
    }
    for (; at < start; at++) {
        if (text[at] == '\n') {
            row++;
            line = at + 1;
        }
    }
    tree->row = row;
    tree->row_at = start;
    tree->line = line;
    return Py_BuildValue("(II)", row, start - line);
}

static PyObject *node_is_named(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(seen(self)->flags & NODE_NAMED);
}

static PyObject *node_is_error(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(seen(self)->symbol == SYMBOL_ERROR);
}

static PyObject *node_has_error(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(seen(self)->flags & NODE_HAS_ERROR);
}

static PyObject *node_is_missing(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(seen(self)->flags & NODE_MISSING);
}

static PyObject *node_parent(PyObject *self, void *unused) {
    (void)unused;
    if (seen(self)->parent == NONE) {
        Py_RETURN_NONE;
    }
    return node_new(((Node *)(void *)self)->tree, seen(self)->parent);
}

/* Named children or all, with a field if one is given. */
static PyObject *children_of(PyObject *self, bool named, uint32_t field) {
    Node *node = (Node *)(void *)self;
    const FlatNode *nodes = node->tree->nodes;
    PyObject *list = PyList_New(0);
    for (uint32_t i = node->number + 1; list != NULL && i < nodes[node->number].after; i = nodes[i].after) {
        if ((named && !(nodes[i].flags & NODE_NAMED)) || (field && nodes[i].field != field)) {
            continue;
        }
        PyObject *child = node_new(node->tree, i);
        if (child == NULL || PyList_Append(list, child) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(child);
    }
    return list;
}

static PyObject *node_children(PyObject *self, void *unused) {
    (void)unused;
    return children_of(self, false, 0);
}

static PyObject *node_named_children(PyObject *self, void *unused) {
    (void)unused;
    return children_of(self, true, 0);
}

static uint32_t count_children(const PyObject *self, bool named) {
    const Node *node = (const Node *)(const void *)self;
    const FlatNode *nodes = node->tree->nodes;
    uint32_t count = 0;
    for (uint32_t i = node->number + 1; i < nodes[node->number].after; i = nodes[i].after) {
        count += !named || nodes[i].flags & NODE_NAMED;
    }
    return count;
}

static PyObject *node_child_count(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(count_children(self, false));
}

static PyObject *node_named_child_count(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(count_children(self, true));
}

static PyObject *node_prev_named_sibling(PyObject *self, void *unused) {
    (void)unused;
    Node *node = (Node *)(void *)self;
    const FlatNode *nodes = node->tree->nodes;
    uint32_t parent = nodes[node->number].parent, found = NONE;
    /* The node before in the array is the last descendant of the previous sibling, or that itself. */
    for (uint32_t i = node->number; parent != NONE && found == NONE && i - 1 != parent;) {
        for (i--; nodes[i].parent != parent;) {
            i = nodes[i].parent;
        }
        found = nodes[i].flags & NODE_NAMED ? i : NONE;
    }
    if (found == NONE) {
        Py_RETURN_NONE;
    }
    return node_new(node->tree, found);
}

static PyObject *node_named_child(PyObject *self, PyObject *index) {
    Node *node = (Node *)(void *)self;
    const FlatNode *nodes = node->tree->nodes;
    long wanted = PyLong_AsLong(index);
    if (wanted == -1 && PyErr_Occurred()) {
        return NULL;
    }
    for (uint32_t i = node->number + 1; wanted >= 0 && i < nodes[node->number].after; i = nodes[i].after) {
        if (nodes[i].flags & NODE_NAMED && wanted-- == 0) {
            return node_new(node->tree, i);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *node_child_by_field(PyObject *self, PyObject *name) {
    Node *node = (Node *)(void *)self;
    uint32_t field = field_number(node->tree->language, name);
    if (field == UINT32_MAX) {
        return NULL;
    }
    uint32_t found = parser_child_by_field(node->tree->parser, node->number, (uint16_t)field);
    if (found == NONE) {
        Py_RETURN_NONE;
    }
    return node_new(node->tree, found);
}

static PyObject *node_children_by_field(PyObject *self, PyObject *name) {
    uint32_t field = field_number(((Node *)(void *)self)->tree->language, name);
    if (field == UINT32_MAX) {
        return NULL;
    }
    return field ? children_of(self, false, field) : PyList_New(0);
}

static PyGetSetDef node_attributes[] = {
    {"type", node_type_name, NULL, "The name of its type.", NULL},
    {"start_byte", node_start, NULL, "Where it begins.", NULL},
    {"end_byte", node_end, NULL, "Where it ends.", NULL},
    {"byte_range", node_range, NULL, "Where it begins and ends.", NULL},
    {"start_point", node_start_point, NULL, "The row it begins in, and where in that, from 0.", NULL},
    {"text", node_text, NULL, "Its part of the text.", NULL},
    {"is_named", node_is_named, NULL, "Whether its type has a name of its own in the grammar.", NULL},
    {"is_error", node_is_error, NULL, "Whether it is what the grammar could make nothing of.", NULL},
    {"has_error", node_has_error, NULL, "Whether there is a syntax error in it.", NULL},
    {"is_missing", node_is_missing, NULL, "Whether recovery inserted it.", NULL},
    {"parent", node_parent, NULL, "The node around it.", NULL},
    {"children", node_children, NULL, "The nodes in it.", NULL},
    {"named_children", node_named_children, NULL, "The named nodes in it.", NULL},
    {"child_count", node_child_count, NULL, "How many nodes are in it.", NULL},
    {"named_child_count", node_named_child_count, NULL, "How many named nodes are in it.", NULL},
    {"prev_named_sibling", node_prev_named_sibling, NULL, "The named node before it.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef node_methods[] = {
    {"named_child", node_named_child, METH_O, "One of the named nodes in it, passed_count from 0; None where there are fewer."},
    {"child_by_field_name", node_child_by_field, METH_O, "Its first child with a field."},
    {"children_by_field_name", node_children_by_field, METH_O, "Its children with a field."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot node_slots[] = {
    {Py_tp_doc, "A node of a syntax tree."},
    {Py_tp_dealloc, node_free},
    {Py_tp_getset, node_attributes},
    {Py_tp_methods, node_methods},
    {0, NULL},
};

PyType_Spec node_spec = {
    "lurcher._kernel.Node", sizeof(Node), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};
