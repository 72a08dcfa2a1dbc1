/* What a language's query found made into definitions and comments, as languages/definitions.py has it. Nothing but byte
   positions is taken from the tree; what only some languages say is left to their own rules in Python. */

#include "chunk/extract.h"

#include <stdlib.h>

enum { LONGEST_NAME = 200, NEAR = 400 };
#define MOST_READ (INT64_C(1) << 32)

/* The first node of a capture, ours; NULL without an exception where there is none. */
static PyObject *captured_node(PyObject *captures, PyObject *name) {
    PyObject *list = PyDict_GetItemWithError(captures, name);
    if (list == NULL) {
        return NULL;
    }
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "captures are lists");
        return NULL;
    }
    PyObject *node = PyList_Size(list) ? PyList_GetItem(list, 0) : NULL;
    Py_XINCREF(node); /* the list may change while it is in use */
    return node;
}

static PyObject *needed_node(PyObject *captures, PyObject *name) {
    PyObject *node = captured_node(captures, name);
    if (node == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, name);
    }
    return node;
}

static int range_of(const Work *work, PyObject *node, Range *range) {
    if (size_attribute(node, work->names.start_byte, work->ruler->size, &range->start) < 0 ||
        size_attribute(node, work->names.end_byte, work->ruler->size, &range->end) < 0) {
        return -1;
    }
    if (range->start > range->end) {
        return fail("a node that ends before it begins");
    }
    return 0;
}

static int keep_range(Work *work, Bytes *ranges, PyObject *captures) {
    PyObject *node = needed_node(captures, work->names.def);
    Range range;
    int failed = node == NULL || range_of(work, node, &range) < 0;
    Py_XDECREF(node);
    if (failed) {
        return -1;
    }
    return bytes_append(ranges, &range, sizeof range) < 0 ? no_memory() : 0;
}

static int keep_wrapper(Work *work, PyObject *captures) {
    PyObject *inner = needed_node(captures, work->names.inner), *outer = inner ? needed_node(captures, work->names.def) : NULL;
    Range range, wrapped;
    int failed = outer == NULL || range_of(work, inner, &wrapped) < 0 || range_of(work, outer, &range) < 0;
    Py_XDECREF(inner);
    Py_XDECREF(outer);
    if (failed) {
        return -1;
    }
    if (work->wrappers == NULL && (work->wrappers = PyDict_New()) == NULL) {
        return -1;
    }
    PyObject *key = PyLong_FromSize_t(wrapped.start), *value = Py_BuildValue("(nn)", (Py_ssize_t)range.start, (Py_ssize_t)range.end);
    failed = key == NULL || value == NULL || PyDict_SetItem(work->wrappers, key, value) < 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static int keep_captured(Work *work, int64_t rank, PyObject *kind, PyObject *captures) {
    if (!PyUnicode_Check(kind) || !PyDict_Check(captures)) {
        PyErr_SetString(PyExc_TypeError, "a kind and its captures");
        return -1;
    }
    Captured captured = {rank, kind, captures};
    if (bytes_append(&work->captured, &captured, sizeof captured) < 0) {
        return no_memory();
    }
    Py_INCREF(kind);
    Py_INCREF(captures);
    return 0;
}

/* What a reader makes of a match. */
static int read_match(Work *work, int64_t index, PyObject *reader, PyObject *captures) {
    PyObject *made = PyObject_CallFunctionObjArgs(reader, captures, NULL), *iterator = made ? PyObject_GetIter(made) : NULL;
    Py_XDECREF(made);
    if (iterator == NULL) {
        return -1;
    }
    int64_t rank = index * MOST_READ;
    int failed = 0;
    PyObject *item;
    while (!failed && (item = PyIter_Next(iterator)) != NULL) {
        if (!PyTuple_Check(item) || PyTuple_Size(item) != 2) {
            PyErr_SetString(PyExc_TypeError, "a reader makes pairs");
            failed = 1;
        } else if (PyTuple_GetItem(item, 0) == work->rules->comment && PyDict_Check(PyTuple_GetItem(item, 1))) {
            failed = keep_range(work, &work->commented, PyTuple_GetItem(item, 1)) < 0;
        } else {
            failed = keep_captured(work, rank, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1)) < 0;
        }
        rank++;
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    return failed || PyErr_Occurred() ? -1 : 0;
}

static int read_matches(Work *work, PyObject *matches, PyObject *heads) {
    for (Py_ssize_t i = 0; i < PyList_Size(matches); i++) {
        PyObject *match = PyList_GetItem(matches, i);
        if (!PyTuple_Check(match) || PyTuple_Size(match) != 2 || !PyDict_Check(PyTuple_GetItem(match, 1))) {
            PyErr_SetString(PyExc_TypeError, "a match is a number and its captures");
            return -1;
        }
        Py_ssize_t index = PyLong_AsSsize_t(PyTuple_GetItem(match, 0));
        PyObject *captures = PyTuple_GetItem(match, 1);
        if (index < 0 || index >= PyTuple_Size(heads) || index >= INT32_MAX) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_IndexError, "no such pattern");
            }
            return -1;
        }
        PyObject *head = PyTuple_GetItem(heads, index);
        const Rules *rules = work->rules;
        Py_INCREF(match); /* a reader runs code of Python's */
        int failed = !PyUnicode_Check(head)       ? read_match(work, index, head, captures)
                     : head == rules->comment     ? keep_range(work, &work->commented, captures)
                     : head == rules->wrap        ? keep_wrapper(work, captures)
                     : head == rules->attribute   ? keep_range(work, &work->attributes, captures)
                                                  : keep_captured(work, index * MOST_READ, head, captures);
        Py_DECREF(match);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

static int by_place(const void *left, const void *right) {
    const Range *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->end != b->end ? (a->end > b->end ? -1 : 1) : 0;
}

static int by_start_and_end(const void *left, const void *right) {
    const Range *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : a->end != b->end ? (a->end < b->end ? -1 : 1) : 0;
}

/* The comments in order; one that begins inside another is dropped. */
static int settle_comments(Work *work) {
    Range *ranges = (Range *)(void *)work->commented.data;
    size_t count = work->commented.used / sizeof *ranges, kept = 0, reached = 0;
    if (count) {
        qsort(ranges, count, sizeof *ranges, by_place);
    }
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].start >= reached && ranges[i].end > ranges[i].start) {
            reached = ranges[i].end;
            ranges[kept++] = ranges[i];
        }
    }
    free(work->ruler->comments);
    work->ruler->comments = ranges;
    work->ruler->comment_count = kept;
    memset(&work->commented, 0, sizeof work->commented);
    return 0;
}

static PyObject *text_of(const Work *work, size_t start, size_t end) {
    return PyUnicode_DecodeUTF8((const char *)work->ruler->data + start, (Py_ssize_t)(end - start), "replace");
}

/* A node's child by field, ours; NULL without an exception where there is none. */
static PyObject *field_of(const Work *work, PyObject *node, PyObject *field) {
    PyObject *child = PyObject_CallMethodObjArgs(node, work->names.child_by_field_name, field, NULL);
    if (child == Py_None) {
        Py_CLEAR(child);
    }
    return child;
}

/* A capture's node, or else a field of another node; ours. */
static PyObject *node_or_field(const Work *work, PyObject *captures, PyObject *name, PyObject *node) {
    PyObject *found = captured_node(captures, name);
    return found != NULL || PyErr_Occurred() ? found : field_of(work, node, name);
}

static int widen(const Work *work, Found *found) {
    while (work->wrappers != NULL) {
        PyObject *key = PyLong_FromSsize_t(found->start), *outer = key ? PyDict_GetItemWithError(work->wrappers, key) : NULL;
        Py_XDECREF(key);
        if (outer == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        Py_ssize_t start = PyLong_AsSsize_t(PyTuple_GetItem(outer, 0)), end = PyLong_AsSsize_t(PyTuple_GetItem(outer, 1));
        found->end = found->end > end ? found->end : end;
        if (start >= found->start) { /* never after it, for what wraps begins first */
            return 0;
        }
        found->start = start;
        if (work->rules->signature_at_wrapper) {
            found->signature_start = start;
        }
    }
    return 0;
}

/* Where the nodes of a match are. */
typedef struct {
    Range whole, name, owner, value, body;
    int has_owner, has_value, has_body;
} Spots;

/* Where a node is, if there is one; takes the reference. 1, 0, or -1 with an exception. */
static int spot_of(const Work *work, PyObject *node, Range *range) {
    int found = node == NULL ? (PyErr_Occurred() ? -1 : 0) : range_of(work, node, range) < 0 ? -1 : 1;
    Py_XDECREF(node);
    return found;
}

/* 1, or 0 where the match has no name, or -1 with an exception. */
static int spots_of(const Work *work, PyObject *captures, Spots *spots) {
    PyObject *node = needed_node(captures, work->names.def), *value = NULL;
    int named = node == NULL || range_of(work, node, &spots->whole) < 0
                    ? -1
                    : spot_of(work, node_or_field(work, captures, work->names.name, node), &spots->name);
    if (named > 0) {
        spots->has_owner = spot_of(work, captured_node(captures, work->names.owner), &spots->owner);
        value = spots->has_owner < 0 ? NULL : captured_node(captures, work->names.value);
        Py_XINCREF(value);
        spots->has_value = spots->has_owner < 0 ? -1 : spot_of(work, value, &spots->value);
        spots->has_body = spots->has_value < 0 ? -1
                                               : spot_of(
                                                     work, node_or_field(work, captures, work->names.body, value ? value : node),
                                                     &spots->body);
        named = spots->has_body < 0 ? -1 : 1;
    }
    Py_XDECREF(value);
    Py_XDECREF(node);
    return named;
}

/* One match as a definition: 1, or 0 where it has no name, or -1 with an exception. */
static int find_one(Work *work, const Captured *captured, Found **result) {
    Spots spots;
    memset(&spots, 0, sizeof spots);
    int named = spots_of(work, captured->captures, &spots);
    if (named <= 0) {
        return named;
    }
    Found *found = object_new((PyTypeObject *)work->rules->found);
    if (found == NULL) {
        return -1;
    }
    Py_INCREF(captured->kind);
    found->kind = captured->kind;
    found->name = text_of(work, spots.name.start, spots.name.end);
    found->owner = spots.has_owner ? text_of(work, spots.owner.start, spots.owner.end) : PyUnicode_FromStringAndSize("", 0);
    found->start = found->signature_start = (Py_ssize_t)spots.whole.start;
    found->end = (Py_ssize_t)spots.whole.end;
    found->signature_end = (Py_ssize_t)(spots.has_body ? spots.body.start : spots.whole.end);
    found->name_start = (Py_ssize_t)spots.name.start;
    found->name_end = (Py_ssize_t)spots.name.end;
    found->value_start = (Py_ssize_t)(spots.has_value ? spots.value.start : spots.name.end);
    if (found->name == NULL || found->owner == NULL || widen(work, found) < 0) {
        Py_DECREF(found);
        return -1;
    }
    *result = found;
    return 1;
}

int check_found(const Work *work, const Found *found) {
    Py_ssize_t size = (Py_ssize_t)work->ruler->size;
    const Py_ssize_t places[] = {found->start,      found->end,      found->signature_start, found->signature_end,
                                 found->name_start, found->name_end, found->value_start};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] < 0 || places[i] > size) {
            return fail("a definition outside of its text");
        }
    }
    if (found->kind == NULL || found->name == NULL || found->owner == NULL || !PyUnicode_Check(found->kind) ||
        !PyUnicode_Check(found->name) || !PyUnicode_Check(found->owner)) {
        PyErr_SetString(PyExc_TypeError, "kind, name and owner of a definition are texts");
        return -1;
    }
    return 0;
}

/* The language's final check of one: 1, or 0 where it is dropped, or -1 with an exception. */
static int refine(Work *work, Found **found) {
    if (work->rules->refine == Py_None) {
        return 1;
    }
    PyObject *made = PyObject_CallFunctionObjArgs(work->rules->refine, (PyObject *)*found, work->ruler->text, NULL);
    if (made == NULL) {
        return -1;
    }
    if (made != Py_None && !is_found(made)) {
        PyErr_SetString(PyExc_TypeError, "a definition is refined to itself");
        Py_DECREF(made);
        return -1;
    }
    Py_DECREF(*found);
    *found = (Found *)made;
    return made != Py_None;
}

static int find_all(Work *work) {
    const Captured *captured = (const Captured *)(const void *)work->captured.data;
    for (size_t i = 0; i < work->captured.used / sizeof *captured; i++) {
        Found *found = NULL;
        int kept = find_one(work, &captured[i], &found);
        if (kept > 0) {
            kept = refine(work, &found);
            if (kept > 0) {
                kept = check_found(work, found) < 0 ? -1 : 1;
            }
        }
        if (kept > 0) {
            Py_ssize_t length = PyUnicode_GetLength(found->name);
            kept = 0 < length && length <= LONGEST_NAME && PyUnicode_GetLength(found->owner) <= LONGEST_NAME;
        }
        if (kept > 0) {
            found->end = (Py_ssize_t)ruler_trim(work->ruler, (size_t)found->name_end, (size_t)found->end);
            Ranked ranked = {captured[i].rank, i, found};
            if (bytes_append(&work->ranked, &ranked, sizeof ranked) == 0) {
                continue;
            }
            kept = no_memory();
        }
        Py_XDECREF((PyObject *)found);
        if (kept < 0) {
            return -1;
        }
    }
    return 0;
}

/* The range that ends before `position` with nothing but white space between; NULL where there is none. */
static const Range *range_before(const Ruler *ruler, const Range *ranges, size_t count, size_t position) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    size_t end = ranges[low - 1].end;
    if (end > position || position - end > NEAR) {
        return NULL;
    }
    for (size_t at = end; at < position; at++) {
        if (!is_space(ruler->data[at])) {
            return NULL;
        }
    }
    return &ranges[low - 1];
}

/* Definitions extended back over the attributes before them, across comments between attributes. */
static void include_attributes(Work *work) {
    Range *attributes = (Range *)(void *)work->attributes.data;
    size_t count = work->attributes.used / sizeof *attributes;
    if (count == 0) {
        return;
    }
    qsort(attributes, count, sizeof *attributes, by_start_and_end);
    Ranked *ranked = (Ranked *)(void *)work->ranked.data;
    for (size_t i = 0; i < work->ranked.used / sizeof *ranked; i++) {
        size_t position = (size_t)ranked[i].found->start;
        for (;;) {
            const Range *before = range_before(work->ruler, attributes, count, position);
            if (before != NULL) {
                position = before->start;
                ranked[i].found->start = (Py_ssize_t)position;
                continue;
            }
            before = range_before(work->ruler, work->ruler->comments, work->ruler->comment_count, position);
            if (before == NULL) {
                break;
            }
            position = before->start;
        }
    }
}

static PyObject *comments_of(const Ruler *ruler) {
    PyObject *comments = PyTuple_New((Py_ssize_t)ruler->comment_count);
    for (size_t i = 0; comments != NULL && i < ruler->comment_count; i++) {
        PyObject *pair = Py_BuildValue("(nn)", (Py_ssize_t)ruler->comments[i].start, (Py_ssize_t)ruler->comments[i].end);
        if (pair == NULL) {
            Py_CLEAR(comments);
        } else {
            PyTuple_SetItem(comments, (Py_ssize_t)i, pair);
        }
    }
    return comments;
}

static void work_free(Work *work) {
    Captured *captured = (Captured *)(void *)work->captured.data;
    for (size_t i = 0; i < work->captured.used / sizeof *captured; i++) {
        Py_DECREF(captured[i].kind);
        Py_DECREF(captured[i].captures);
    }
    Ranked *ranked = (Ranked *)(void *)work->ranked.data;
    for (size_t i = 0; i < work->ranked.used / sizeof *ranked; i++) {
        Py_DECREF(ranked[i].found);
    }
    placement_free(work);
    bytes_free(&work->commented);
    bytes_free(&work->attributes);
    bytes_free(&work->captured);
    bytes_free(&work->ranked);
    Py_CLEAR(work->wrappers);
    names_free(&work->names);
}

static int rules_of(PyObject *tuple, Rules *rules) {
    memset(rules, 0, sizeof *rules);
    PyObject *annotations;
    if (!PyArg_ParseTuple(
            tuple, "UUUUUOOOOOOpppSOOOO:rules", &rules->comment, &rules->wrap, &rules->attribute, &rules->scope,
            &rules->open_scope, &rules->refine, &rules->exported, &rules->qualify, &rules->methods_in, &rules->constructors,
            &rules->contains_nothing, &rules->signature_at_wrapper, &rules->constructor_is_class, &rules->merge_equations,
            &annotations, &rules->found, &rules->definition, &rules->signature, &rules->after_annotations)) {
        return -1;
    }
    char *bytes;
    if (PyBytes_AsStringAndSize(annotations, &bytes, &rules->annotation_count) < 0) {
        return -1;
    }
    rules->annotations = bytes;
    if (!PyAnySet_Check(rules->methods_in) || !PyAnySet_Check(rules->constructors) || !PyAnySet_Check(rules->contains_nothing)) {
        PyErr_SetString(PyExc_TypeError, "kinds and names are in sets");
        return -1;
    }
    if (!is_found_type(rules->found) || !PyType_Check(rules->definition) ||
        (PyType_GetFlags((PyTypeObject *)rules->definition) & Py_TPFLAGS_HEAPTYPE) == 0) {
        PyErr_SetString(PyExc_TypeError, "what is found and what is defined are types");
        return -1;
    }
    return 0;
}

PyObject *kernel_extract(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *matches, *heads, *object, *tuple;
    Rules rules;
    if (!PyArg_ParseTuple(
            arguments, "O!O!OO!:extract", &PyList_Type, &matches, &PyTuple_Type, &heads, &object, &PyTuple_Type, &tuple)) {
        return NULL;
    }
    Work work;
    memset(&work, 0, sizeof work);
    work.rules = &rules;
    work.ruler = ruler_of(object);
    if (work.ruler == NULL || rules_of(tuple, &rules) < 0 || names_make(&work.names) < 0) {
        return NULL;
    }
    PyObject *definitions = NULL, *comments = NULL;
    if (read_matches(&work, matches, heads) == 0 && settle_comments(&work) == 0 && find_all(&work) == 0) {
        include_attributes(&work);
        if (place_all(&work) == 0) {
            definitions = definitions_of(&work);
            comments = definitions == NULL ? NULL : comments_of(work.ruler);
        }
    }
    work_free(&work);
    if (comments == NULL) {
        Py_XDECREF(definitions);
        return NULL;
    }
    return Py_BuildValue("(NN)", definitions, comments);
}
