/* Patterns over trees, matched in one pass over the nodes. Supported is what the languages' patterns use: types, fields, captures,
   negated fields, and anchors for the first and the last child; anything else is left to tree-sitter's queries. */

#include "treesitter/tree.h"

#include <stdlib.h>

enum { MOST_STEPS = 12, MOST_MISSING = 4 };
enum { IS_FIRST = 1, IS_LAST = 2 };
enum { ANY_NAMED = UINT16_MAX }; /* but for errors */

/* One node of a pattern. Steps come before those of the nodes in them. */
typedef struct {
    TSSymbol symbol;
    uint16_t field;
    int8_t parent, before; /* the step around it, and the one next to it that comes first; below zero: none */
    uint8_t place;
    uint8_t missing_count;
    uint16_t missing[MOST_MISSING];
    int capture; /* the number of its name, below zero without */
} Step;

typedef struct {
    uint32_t number; /* reported with a match; several patterns may share one */
    uint32_t next; /* the next pattern whose first step has the same type */
    int count, last_capture;
    Step steps[MOST_STEPS];
} Pattern;

typedef struct {
    PyObject_HEAD
    Language *language;
    PyObject *names; /* tuple: str of each capture */
    Pattern *patterns;
    uint32_t count;
    uint32_t *first; /* of each type: its first pattern */
} Patterns;

typedef struct {
    const Patterns *patterns;
    const Pattern *pattern;
    Tree *tree;
    PyObject *found; /* list of (number, {name: [node]}) */
    uint32_t nodes[MOST_STEPS];
    bool failed;
} Search;

static bool fits(const Tree *tree, uint32_t node, const Step *step) {
    const FlatNode *nodes = tree->nodes;
    if (step->symbol == ANY_NAMED ? !(nodes[node].flags & NODE_NAMED) || nodes[node].symbol == SYMBOL_ERROR
                                  : nodes[node].symbol != step->symbol) {
        return false;
    }
    if (step->field && nodes[node].field != step->field) {
        return false;
    }
    for (uint32_t i = 0; i < step->missing_count; i++) {
        if (parser_child_by_field(tree->parser, node, step->missing[i]) != NONE) {
            return false;
        }
    }
    return true;
}

static bool has_named_after(const FlatNode *nodes, uint32_t node, uint32_t end) {
    for (uint32_t i = nodes[node].after; i < end; i = nodes[i].after) {
        if (nodes[i].flags & NODE_NAMED) {
            return true;
        }
    }
    return false;
}

static void report_match(Search *search) {
    const Pattern *pattern = search->pattern;
    PyObject *captures = PyDict_New();
    bool failed = captures == NULL;
    for (int i = 0; !failed && i < pattern->count; i++) {
        if (pattern->steps[i].capture < 0) {
            continue;
        }
        PyObject *name = PyTuple_GetItem(search->patterns->names, pattern->steps[i].capture);
        PyObject *node = node_new(search->tree, search->nodes[i]), *list = PyList_New(1);
        failed = name == NULL || node == NULL || list == NULL;
        if (failed) {
            Py_XDECREF(node);
        } else {
            PyList_SetItem(list, 0, node);
            failed = PyDict_SetItem(captures, name, list) < 0;
        }
        Py_XDECREF(list);
    }
    PyObject *match = failed ? NULL : Py_BuildValue("(IO)", pattern->number, captures);
    Py_XDECREF(captures);
    search->failed = match == NULL || PyList_Append(search->found, match) < 0;
    Py_XDECREF(match);
}

/* Matches this step and those after it; whether that succeeded. Reports every match that differs in its captures. */
static bool follow(Search *search, int number) {
    if (number == search->pattern->count) {
        report_match(search);
        return true;
    }
    const FlatNode *nodes = search->tree->nodes;
    const Step *step = &search->pattern->steps[number];
    uint32_t parent = search->nodes[step->parent], end = nodes[parent].after;
    uint32_t i = step->before < 0 ? parent + 1 : nodes[search->nodes[step->before]].after;
    bool any = false;
    for (; i < end && !search->failed; i = nodes[i].after) {
        if (fits(search->tree, i, step) && !(step->place & IS_LAST && has_named_after(nodes, i, end))) {
            search->nodes[number] = i;
            if (follow(search, number + 1)) {
                any = true;
                if (number > search->pattern->last_capture) {
                    break;
                }
            }
        }
        if (step->place & IS_FIRST && nodes[i].flags & NODE_NAMED) {
            break;
        }
    }
    return any;
}

/* The first pattern that begins with a type. */
static inline uint32_t first_for(const Patterns *patterns, TSSymbol symbol) {
    return symbol == SYMBOL_ERROR ? NONE : patterns->first[symbol];
}

static void find_at(Search *search, uint32_t node) {
    const Patterns *patterns = search->patterns;
    const FlatNode *nodes = search->tree->nodes;
    for (uint32_t i = first_for(patterns, nodes[node].symbol); i != NONE && !search->failed; i = patterns->patterns[i].next) {
        search->pattern = &patterns->patterns[i];
        if (fits(search->tree, node, &search->pattern->steps[0])) {
            search->nodes[0] = node;
            follow(search, 1);
        }
    }
}

/* The node to search, or NULL with an exception. */
static Node *begin(Search *search, const Patterns *patterns, PyObject *root) {
    Node *node = node_of(root);
    if (node != NULL && node->tree->language != patterns->language) {
        return fail_null("a tree of another language");
    }
    PyObject *found = node == NULL ? NULL : PyList_New(0);
    if (found == NULL) {
        return NULL;
    }
    *search = (Search){patterns, NULL, node->tree, found, {0}, false};
    return node;
}

/* What was found, or NULL with an exception. */
static PyObject *end(Search *search) {
    if (search->failed) {
        Py_CLEAR(search->found);
    }
    return search->found;
}

static PyObject *patterns_matches(PyObject *object, PyObject *root) {
    const Patterns *self = (const Patterns *)(const void *)object;
    Search search;
    Node *node = begin(&search, self, root);
    if (node == NULL) {
        return NULL;
    }
    const FlatNode *nodes = node->tree->nodes;
    for (uint32_t i = node->number; i < nodes[node->number].after && !search.failed; i++) {
        if (first_for(self, nodes[i].symbol) != NONE) {
            find_at(&search, i);
        }
    }
    return end(&search);
}

/* The same, only of nodes that overlap one of the ranges, which are in order. */
static PyObject *patterns_within(PyObject *object, PyObject *arguments) {
    const Patterns *self = (const Patterns *)(const void *)object;
    PyObject *root, *ranges;
    if (!PyArg_ParseTuple(arguments, "OO!:within", &root, &PyList_Type, &ranges)) {
        return NULL;
    }
    Search search;
    Node *node = begin(&search, self, root);
    if (node == NULL) {
        return NULL;
    }
    const FlatNode *nodes = node->tree->nodes;
    uint32_t after = nodes[node->number].after, at = node->number;
    for (Py_ssize_t i = 0; !search.failed && i < PyList_Size(ranges); i++) {
        unsigned int from, to;
        PyObject *range = PyList_GetItem(ranges, i);
        if (!PyTuple_Check(range)) {
            PyErr_SetString(PyExc_TypeError, "ranges are pairs of numbers");
            search.failed = true;
            break;
        }
        Py_INCREF(range); /* converting a number may run code that changes the list */
        bool parsed = PyArg_ParseTuple(range, "II:range", &from, &to);
        Py_DECREF(range);
        if (!parsed) {
            search.failed = true;
            break;
        }
        /* From the top again: what is around an earlier range may be around this one too. */
        for (at = node->number; at < after && nodes[at].start < to && !search.failed;) {
            if (nodes[at].end <= from) {
                at = nodes[at].after;
                continue;
            }
            find_at(&search, at++);
        }
    }
    return end(&search);
}

static bool is_tuple(PyObject *object) {
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "patterns and their steps are tuples");
        return false;
    }
    return true;
}

static bool read_step(Step *step, PyObject *object) {
    int symbol, field, parent, before, place, capture;
    PyObject *missing;
    if (!is_tuple(object) || !PyArg_ParseTuple(
            object, "iiiiiiO!:step", &symbol, &field, &parent, &before, &place, &capture, &PyTuple_Type, &missing)) {
        return false;
    }
    Py_ssize_t count = PyTuple_Size(missing);
    if (symbol < -1 || symbol >= ANY_NAMED || field < 0 || field > UINT16_MAX || parent < -1 || parent >= MOST_STEPS ||
        before < -1 || before >= MOST_STEPS || count > MOST_MISSING) {
        fail("a step that cannot be");
        return false;
    }
    *step = (Step){
        symbol < 0 ? ANY_NAMED : (TSSymbol)symbol, (uint16_t)field, (int8_t)parent, (int8_t)before, (uint8_t)place, (uint8_t)count,
        {0}, capture};
    for (Py_ssize_t i = 0; i < count; i++) {
        step->missing[i] = (uint16_t)PyLong_AsLong(PyTuple_GetItem(missing, i));
    }
    return !PyErr_Occurred();
}

static bool read_pattern(Pattern *pattern, PyObject *object, Py_ssize_t names) {
    PyObject *steps;
    unsigned int number;
    if (!is_tuple(object) || !PyArg_ParseTuple(object, "IO!:pattern", &number, &PyTuple_Type, &steps)) {
        return false;
    }
    Py_ssize_t count = PyTuple_Size(steps);
    if (count < 1 || count > MOST_STEPS) {
        fail("a pattern of too many steps");
        return false;
    }
    pattern->number = number;
    pattern->next = NONE;
    pattern->count = (int)count;
    pattern->last_capture = -1;
    for (int i = 0; i < (int)count; i++) {
        Step *step = &pattern->steps[i];
        if (!read_step(step, PyTuple_GetItem(steps, i))) {
            return false;
        }
        if ((i == 0) != (step->parent < 0) || step->parent >= i || step->before >= i || step->capture >= names) {
            fail("steps that do not follow from each other");
            return false;
        }
        pattern->last_capture = step->capture < 0 ? pattern->last_capture : i;
    }
    return true;
}

static PyObject *patterns_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *language, *names, *list;
    if (!PyArg_ParseTuple(arguments, "OO!O!:Patterns", &language, &PyTuple_Type, &names, &PyTuple_Type, &list)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(language, language_type)) {
        PyErr_SetString(PyExc_TypeError, "a language is needed");
        return NULL;
    }
    Patterns *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(language);
    self->language = (Language *)(void *)language;
    Py_INCREF(names);
    self->names = names;
    const TSLanguage *grammar = self->language->grammar;
    size_t types = (size_t)grammar->symbol_count + grammar->alias_count;
    self->count = (uint32_t)PyTuple_Size(list);
    self->patterns = calloc(self->count ? self->count : 1, sizeof *self->patterns);
    self->first = malloc(types * sizeof *self->first);
    if (self->patterns == NULL || self->first == NULL) {
        PyErr_NoMemory();
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    memset(self->first, 0xFF, types * sizeof *self->first);
    for (uint32_t i = self->count; i-- > 0;) {
        Pattern *pattern = &self->patterns[i];
        if (!read_pattern(pattern, PyTuple_GetItem(list, i), PyTuple_Size(names))) {
            Py_DECREF((PyObject *)self);
            return NULL;
        }
        TSSymbol symbol = pattern->steps[0].symbol;
        if (symbol >= types) {
            fail("a pattern begins with a type");
            Py_DECREF((PyObject *)self);
            return NULL;
        }
        pattern->next = self->first[symbol];
        self->first[symbol] = i;
    }
    return (PyObject *)self;
}

static void patterns_free(PyObject *object) {
    Patterns *self = (Patterns *)(void *)object;
    free(self->patterns);
    free(self->first);
    Py_XDECREF(self->names);
    Py_XDECREF((PyObject *)self->language);
    object_free(object);
}

static PyMethodDef patterns_methods[] = {
    {"matches", patterns_matches, METH_O, "What the patterns match in a node: the number of each, and what it captures."},
    {"within", patterns_within, METH_VARARGS, "The same of nodes with a part in one of some ranges of bytes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot patterns_slots[] = {
    {Py_tp_doc, "Patterns of a language's nodes: names of captures, and (number, steps) of each; languages/grammar.py makes them."},
    {Py_tp_new, patterns_new},
    {Py_tp_dealloc, patterns_free},
    {Py_tp_methods, patterns_methods},
    {0, NULL},
};

PyType_Spec patterns_spec = {"lurcher._kernel.Patterns", sizeof(Patterns), 0, Py_TPFLAGS_DEFAULT, patterns_slots};
