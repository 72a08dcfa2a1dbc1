/* What a language's query found made into definitions and comments, as chunking/definitions/extract.py has it. Nothing but byte
   positions is taken from the tree; what only some languages say is left to their own rules in Python. */

#include "found.h"

#include <stdlib.h>

enum { LONGEST_NAME = 200, LONGEST_SIGNATURE = 200, READ = 4 * LONGEST_SIGNATURE, NEAR = 400 };
#define MOST_READ (INT64_C(1) << 32)

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
    PyObject *equation; /* what tells the previous definition's further equations from other definitions */
} Work;

static int no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

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
    Py_XINCREF(node); /* whatever is asked of it, it stays */
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
        PyErr_SetString(PyExc_ValueError, "a node that ends before it begins");
        return -1;
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
    Found *found = found_new((PyTypeObject *)work->rules->found);
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

/* Whether what a rule left is still of this text: 0, or -1 with an exception. */
static int check_found(const Work *work, const Found *found) {
    Py_ssize_t size = (Py_ssize_t)work->ruler->size;
    const Py_ssize_t places[] = {found->start,      found->end,      found->signature_start, found->signature_end,
                                 found->name_start, found->name_end, found->value_start};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] < 0 || places[i] > size) {
            PyErr_SetString(PyExc_ValueError, "a definition outside of its text");
            return -1;
        }
    }
    if (found->kind == NULL || found->name == NULL || found->owner == NULL || !PyUnicode_Check(found->kind) ||
        !PyUnicode_Check(found->name) || !PyUnicode_Check(found->owner)) {
        PyErr_SetString(PyExc_TypeError, "kind, name and owner of a definition are texts");
        return -1;
    }
    return 0;
}

/* The language's last look at one: 1, or 0 where it is dropped, or -1 with an exception. */
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

static int by_rank(const void *left, const void *right) {
    const Ranked *a = left, *b = right;
    if (a->found->start != b->found->start) {
        return a->found->start < b->found->start ? -1 : 1;
    }
    if (a->found->end != b->found->end) {
        return a->found->end > b->found->end ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->found->name_start != b->found->name_start) {
        return a->found->name_start < b->found->name_start ? -1 : 1;
    }
    return a->number < b->number ? -1 : a->number > b->number;
}

static int says(PyObject *kind, const char *word) { return PyUnicode_CompareWithASCIIString(kind, word) == 0; }

/* Whether a name is one plain word, which no qualifier separates. */
static int is_plain(const char *data, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
            return 0;
        }
    }
    return 1;
}

/* `a::Foo::bar` is bar of a.Foo. */
static int qualify(Work *work, Found *found) {
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(found->name, &size);
    if (data == NULL) {
        return -1;
    }
    if (PyUnicode_GetLength(found->owner) == 0 && is_plain(data, size)) {
        return 0;
    }
    PyObject *done = PyObject_CallFunctionObjArgs(work->rules->qualify, (PyObject *)found, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : check_found(work, found);
}

/* Whether all letters are capitals, and there is one. */
static int is_upper(PyObject *name) {
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(name, &size);
    if (data == NULL) {
        return -1;
    }
    int upper = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c >= 128) {
            PyObject *answer = PyObject_CallMethod(name, "isupper", NULL);
            int found = answer == NULL ? -1 : PyObject_IsTrue(answer);
            Py_XDECREF(answer);
            return found;
        }
        if (c >= 'a' && c <= 'z') {
            return 0;
        }
        upper |= c >= 'A' && c <= 'Z';
    }
    return upper;
}

/* Whether a name is the last part of a container. */
static int is_last_part(PyObject *name, PyObject *container) {
    Py_ssize_t size, whole;
    const char *data = PyUnicode_AsUTF8AndSize(name, &size), *all = data ? PyUnicode_AsUTF8AndSize(container, &whole) : NULL;
    if (all == NULL) {
        return -1;
    }
    Py_ssize_t start = whole;
    while (start > 0 && all[start - 1] != '.') {
        start--;
    }
    return whole - start == size && memcmp(all + start, data, (size_t)size) == 0;
}

/* What a definition is called here: a new reference. */
static PyObject *kind_of(const Work *work, PyObject *kind, PyObject *name, PyObject *container, PyObject *parent_kind) {
    const Rules *rules = work->rules;
    int method = says(kind, "method");
    if (says(kind, "function")) {
        method = PySet_Contains(rules->methods_in, parent_kind);
        if (method < 0) {
            return NULL;
        }
    }
    if (method) {
        int constructs = PySet_Contains(rules->constructors, name);
        if (constructs == 0 && rules->constructor_is_class) {
            constructs = is_last_part(name, container);
        }
        return constructs < 0 ? NULL : PyUnicode_InternFromString(constructs ? "constructor" : "method");
    }
    if (says(kind, "variable") && PyUnicode_GetLength(name) > 1) {
        int upper = is_upper(name);
        if (upper) {
            return upper < 0 ? NULL : PyUnicode_InternFromString("constant");
        }
    }
    Py_INCREF(kind);
    return kind;
}

static int is_callable(PyObject *kind) {
    return says(kind, "function") || says(kind, "method") || says(kind, "constructor") || says(kind, "macro");
}

/* One line of a signature as it grows: single spaces, cut at its length, and without what ends it. */
typedef struct {
    char text[LONGEST_SIGNATURE];
    size_t length;   /* of the whole line */
    size_t kept;     /* of the line without spaces, braces and marks at its end */
    int gap;         /* white space, of which one is written before the next word */
} Line;

static void put_byte(Line *line, unsigned char byte) {
    if (line->length < LONGEST_SIGNATURE) {
        line->text[line->length] = (char)byte;
    }
    line->length++;
    if (byte != ' ' && byte != '{' && byte != ':' && byte != '=' && byte != ';' && byte != ',') {
        line->kept = line->length;
    }
}

enum { MORE, BRACE, WIDE };

static int put_piece(Line *line, const Ruler *ruler, size_t start, size_t end, int ends_at_brace) {
    for (size_t at = start; at < end; at++) {
        unsigned char byte = ruler->data[at];
        if (byte >= 128) {
            return WIDE;
        }
        if (byte == '{' && ends_at_brace) {
            return BRACE;
        }
        if (is_space(byte) || (byte >= 28 && byte <= 31)) {
            line->gap = line->length > 0;
            continue;
        }
        if (line->gap) {
            put_byte(line, ' ');
            line->gap = 0;
        }
        put_byte(line, byte);
    }
    line->gap = line->length > 0; /* pieces stand apart */
    return MORE;
}

static PyObject *comments_in(const Ruler *ruler, size_t first, size_t last) {
    PyObject *list = PyList_New(0);
    for (size_t i = first; list != NULL && i < last; i++) {
        PyObject *pair = Py_BuildValue("(nn)", (Py_ssize_t)ruler->comments[i].start, (Py_ssize_t)ruler->comments[i].end);
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}

/* The text of [start, end) on one line, without the comments in it, at most to its first brace if so asked. */
static PyObject *signature_of(const Work *work, size_t start, size_t end, int ends_at_brace) {
    const Ruler *ruler = work->ruler;
    size_t first = ruler_comment(ruler, start), last = end > start ? ruler_comment(ruler, end) : first;
    size_t position = start, stop = end < start + READ ? end : start + READ;
    Line line;
    memset(&line, 0, sizeof line);
    int state = MORE, whole = 1;
    for (size_t i = first; state == MORE && whole && i < last; i++) {
        state = put_piece(&line, ruler, position, ruler->comments[i].start, ends_at_brace);
        position = ruler->comments[i].end;
        whole = position - start <= READ;
    }
    if (state == MORE && whole) {
        state = put_piece(&line, ruler, position, stop, ends_at_brace);
    }
    if (state == WIDE) {
        PyObject *comments = comments_in(ruler, first, last);
        PyObject *made = comments == NULL ? NULL
                                          : PyObject_CallFunction(
                                                work->rules->signature, "OnnOO", ruler->text, (Py_ssize_t)start, (Py_ssize_t)end,
                                                comments, ends_at_brace ? Py_True : Py_False);
        Py_XDECREF(comments);
        if (made != NULL && !PyUnicode_Check(made)) {
            PyErr_SetString(PyExc_TypeError, "a signature is a text");
            Py_CLEAR(made);
        }
        return made;
    }
    size_t length = line.kept < LONGEST_SIGNATURE ? line.kept : LONGEST_SIGNATURE;
    while (length && line.text[length - 1] == ' ') {
        length--;
    }
    return PyUnicode_FromStringAndSize(line.text, (Py_ssize_t)length);
}

static void placed_free(Placed *placed) {
    Py_CLEAR(placed->name);
    Py_CLEAR(placed->kind);
    Py_CLEAR(placed->container);
    Py_CLEAR(placed->signature);
    Py_CLEAR(placed->exported);
}

static void pop_open(Work *work) {
    work->open.used -= sizeof(Open);
    Open *open = (Open *)(void *)(work->open.data + work->open.used);
    Py_DECREF(open->qualified);
    Py_DECREF(open->kind);
}

static int push_open(Work *work, size_t start, size_t end, PyObject *qualified, PyObject *kind) {
    Open open = {start, end, qualified, kind};
    if (bytes_append(&work->open, &open, sizeof open) < 0) {
        return no_memory();
    }
    Py_INCREF(qualified);
    Py_INCREF(kind);
    return 0;
}

/* Whether this name was found at this place before: definitions come by place. */
static int is_seen(Work *work, size_t start, size_t end, PyObject *name) {
    if (work->seen == NULL || work->seen_start != start || work->seen_end != end) {
        Py_XDECREF(work->seen);
        work->seen = PySet_New(NULL);
        work->seen_start = start;
        work->seen_end = end;
        if (work->seen == NULL) {
            return -1;
        }
    }
    int seen = PySet_Contains(work->seen, name);
    return seen ? seen : PySet_Add(work->seen, name) < 0 ? -1 : 0;
}

static PyObject *joined(PyObject *container, PyObject *name) {
    if (PyUnicode_GetLength(container) == 0) {
        Py_INCREF(name);
        return name;
    }
    return PyUnicode_FromFormat("%U.%U", container, name);
}

/* Whether a definition goes on with the equations of the one before it: 1, 0, or -1 with an exception. */
static int goes_on(Work *work, Py_ssize_t scope, PyObject *name, PyObject *container, PyObject *kind, size_t end) {
    PyObject *equation = Py_BuildValue("(nOOO)", scope, name, container, kind);
    if (equation == NULL) {
        return -1;
    }
    int same = work->equation != NULL && is_callable(kind) ? PyObject_RichCompareBool(equation, work->equation, Py_EQ) : 0;
    if (same > 0 && work->placed.used) {
        Placed *last = (Placed *)(void *)(work->placed.data + work->placed.used - sizeof(Placed));
        size_t line = ruler_line(work->ruler, end - 1);
        last->end = end > last->end ? end : last->end;
        last->last = line > last->last ? line : last->last;
    } else if (same == 0) {
        Py_XDECREF(work->equation);
        work->equation = equation;
        return 0;
    }
    Py_DECREF(equation);
    return same;
}

/* The definition itself, when its place among the others is known. */
static int put_placed(Work *work, Found *found, PyObject *container, PyObject *parent_kind) {
    const Rules *rules = work->rules;
    const Ruler *ruler = work->ruler;
    size_t start = (size_t)found->start, end = (size_t)found->end, begin = (size_t)found->signature_start;
    if (rules->annotation_count && begin < ruler->size && memchr(rules->annotations, ruler->data[begin], (size_t)rules->annotation_count)) {
        PyObject *after = PyObject_CallFunction(rules->after_annotations, "Onn", ruler->text, (Py_ssize_t)begin, found->name_start);
        Py_ssize_t place = after == NULL ? -1 : PyLong_AsSsize_t(after);
        Py_XDECREF(after);
        if (place < 0 || (size_t)place > ruler->size) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "annotations that end outside of the text");
            }
            return -1;
        }
        begin = (size_t)place;
    }
    Placed placed;
    memset(&placed, 0, sizeof placed);
    size_t stop = (size_t)(found->signature_end < found->end ? found->signature_end : found->end);
    placed.signature = signature_of(work, begin, stop, stop >= end && !is_callable(found->kind));
    size_t name_start = (size_t)found->name_start;
    PyObject *modifiers = placed.signature == NULL ? NULL
                                                   : PyBytes_FromStringAndSize(
                                                         (const char *)ruler->data + begin,
                                                         name_start > begin ? (Py_ssize_t)(name_start - begin) : 0);
    PyObject *exported = modifiers == NULL ? NULL : PyObject_CallFunctionObjArgs(rules->exported, (PyObject *)found, modifiers, parent_kind, NULL);
    Py_XDECREF(modifiers);
    if (exported == NULL) {
        placed_free(&placed);
        return -1;
    }
    placed.exported = exported;
    placed.name = found->name;
    placed.kind = found->kind;
    placed.container = container;
    Py_INCREF(placed.name);
    Py_INCREF(placed.kind);
    Py_INCREF(placed.container);
    placed.start = start;
    placed.end = end;
    placed.line = ruler_line(ruler, start);
    placed.last = ruler_line(ruler, end > start + 1 ? end - 1 : start);
    placed.number = work->placed.used / sizeof placed;
    if (bytes_append(&work->placed, &placed, sizeof placed) < 0) {
        placed_free(&placed);
        return no_memory();
    }
    return 0;
}

/* One definition with its container by nesting, unless an earlier pattern has found it. */
static int place_within(Work *work, Found *found, PyObject *container, PyObject *parent_kind, Py_ssize_t scope, int innermost) {
    const Rules *rules = work->rules;
    size_t start = (size_t)found->start, end = (size_t)found->end;
    PyObject *qualified = joined(container, found->name);
    if (qualified == NULL) {
        return -1;
    }
    if (found->kind == rules->scope || found->kind == rules->open_scope) {
        int failed = push_open(work, start, end, qualified, found->kind);
        Py_DECREF(qualified);
        return failed;
    }
    int seen = is_seen(work, start, end, found->name);
    PyObject *kind = seen == 0 ? kind_of(work, found->kind, found->name, container, parent_kind) : NULL;
    int failed = seen < 0 || (seen == 0 && kind == NULL);
    if (kind != NULL) {
        Py_DECREF(found->kind);
        found->kind = kind;
        int contains = innermost ? PySet_Contains(rules->contains_nothing, kind) : 1;
        failed = contains < 0 || (contains == 0 && push_open(work, start, end, qualified, kind) < 0);
        int going = failed || !rules->merge_equations ? 0 : goes_on(work, scope, found->name, container, kind, end);
        failed = failed || going < 0 || (going == 0 && put_placed(work, found, container, parent_kind) < 0);
    }
    Py_DECREF(qualified);
    return failed ? -1 : 0;
}

static int place_one(Work *work, Found *found) {
    size_t start = (size_t)found->start, end = (size_t)found->end;
    for (; work->open.used; pop_open(work)) {
        const Open *last = (const Open *)(const void *)(work->open.data + work->open.used - sizeof(Open));
        if (!(last->end < end || last->end <= start)) {
            break;
        }
    }
    const Open *open = (const Open *)(const void *)work->open.data;
    size_t count = work->open.used / sizeof *open, outer = count;
    while (outer && open[outer - 1].start == start && open[outer - 1].end == end) {
        outer--;
    }
    PyObject *nothing = PyUnicode_FromStringAndSize("", 0);
    if (nothing == NULL) {
        return -1;
    }
    PyObject *container = outer ? open[outer - 1].qualified : nothing, *parent_kind = outer ? open[outer - 1].kind : nothing;
    Py_ssize_t scope = outer ? (Py_ssize_t)open[outer - 1].start : -1;
    Py_INCREF(container);
    Py_INCREF(parent_kind);
    int failed = work->rules->qualify != Py_None && qualify(work, found) < 0;
    if (!failed && PyUnicode_GetLength(found->owner)) {
        PyObject *owned = joined(container, found->owner);
        Py_DECREF(container);
        container = owned;
        failed = container == NULL;
        if (says(found->kind, "function")) {
            Py_DECREF(parent_kind);
            parent_kind = work->rules->scope;
            Py_INCREF(parent_kind);
        }
    }
    failed = failed || place_within(work, found, container, parent_kind, scope, outer == count) < 0;
    Py_XDECREF(container);
    Py_DECREF(parent_kind);
    Py_DECREF(nothing);
    return failed ? -1 : 0;
}

static int place_all(Work *work) {
    Ranked *ranked = (Ranked *)(void *)work->ranked.data;
    size_t count = work->ranked.used / sizeof *ranked;
    if (count) {
        qsort(ranked, count, sizeof *ranked, by_rank);
    }
    for (size_t i = 0; i < count; i++) {
        if (place_one(work, ranked[i].found) < 0) {
            return -1;
        }
    }
    return 0;
}

static int by_placement(const void *left, const void *right) {
    const Placed *a = left, *b = right;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->end != b->end) {
        return a->end > b->end ? -1 : 1;
    }
    int order = PyUnicode_Compare(a->name, b->name);
    return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* One of Python's definitions. It is frozen for everybody but us. */
static PyObject *definition_of(const Placed *placed, PyObject *type, PyObject *const *fields) {
    PyObject *values[] = {
        placed->name, placed->kind, placed->container, placed->signature, PyLong_FromSize_t(placed->start),
        PyLong_FromSize_t(placed->end), PyLong_FromSize_t(placed->line), PyLong_FromSize_t(placed->last), placed->exported,
    };
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    PyObject *made = allocate((PyTypeObject *)type, 0);
    for (int i = 0; made != NULL && i < 9; i++) {
        if (values[i] == NULL || PyObject_GenericSetAttr(made, fields[i], values[i]) < 0) {
            Py_CLEAR(made);
        }
    }
    for (int i = 4; i < 8; i++) {
        Py_XDECREF(values[i]);
    }
    return made;
}

static PyObject *definitions_of(Work *work) {
    static const char *const names[] = {"name", "kind", "container", "signature", "start_byte", "end_byte", "start_line", "end_line", "exported"};
    PyObject *fields[9] = {NULL};
    Placed *placed = (Placed *)(void *)work->placed.data;
    size_t count = work->placed.used / sizeof *placed;
    if (count) {
        qsort(placed, count, sizeof *placed, by_placement);
    }
    PyObject *definitions = PyErr_Occurred() ? NULL : PyTuple_New((Py_ssize_t)count);
    for (int i = 0; definitions != NULL && i < 9; i++) {
        fields[i] = PyUnicode_InternFromString(names[i]);
        if (fields[i] == NULL) {
            Py_CLEAR(definitions);
        }
    }
    for (size_t i = 0; definitions != NULL && i < count; i++) {
        PyObject *made = definition_of(&placed[i], work->rules->definition, fields);
        if (made == NULL) {
            Py_CLEAR(definitions);
        } else {
            PyTuple_SetItem(definitions, (Py_ssize_t)i, made);
        }
    }
    for (int i = 0; i < 9; i++) {
        Py_XDECREF(fields[i]);
    }
    return definitions;
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
    while (work->open.used) {
        pop_open(work);
    }
    Placed *placed = (Placed *)(void *)work->placed.data;
    for (size_t i = 0; i < work->placed.used / sizeof *placed; i++) {
        placed_free(&placed[i]);
    }
    bytes_free(&work->commented);
    bytes_free(&work->attributes);
    bytes_free(&work->captured);
    bytes_free(&work->ranked);
    bytes_free(&work->open);
    bytes_free(&work->placed);
    Py_CLEAR(work->wrappers);
    Py_CLEAR(work->seen);
    Py_CLEAR(work->equation);
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
