/* Definitions, which arrive in order of position, get their containers by nesting, and become what Python calls definitions. */

#include "chunk/extract.h"

#include <stdlib.h>

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
    if (rules->annotation_count && begin < ruler->size &&
        memchr(rules->annotations, ruler->data[begin], (size_t)rules->annotation_count) != NULL) {
        PyObject *after =
            PyObject_CallFunction(rules->after_annotations, "Onn", ruler->text, (Py_ssize_t)begin, found->name_start);
        Py_ssize_t place = after == NULL ? -1 : PyLong_AsSsize_t(after);
        Py_XDECREF(after);
        if (place < 0 || (size_t)place > ruler->size) {
            if (!PyErr_Occurred()) {
                fail("annotations that end outside of the text");
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
    PyObject *exported = NULL;
    if (modifiers != NULL) {
        exported = PyObject_CallFunctionObjArgs(rules->exported, (PyObject *)found, modifiers, parent_kind, NULL);
    }
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
    if (outer && says(found->kind, "field") && says(open[outer - 1].kind, "constructor")) {
        outer--; /* what a constructor declares is a field of its type */
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

int place_all(Work *work) {
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
    PyObject *made = object_new((PyTypeObject *)type);
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

PyObject *definitions_of(Work *work) {
    static const char *const names[] = {"name",     "kind",       "container", "signature", "start_byte",
                                        "end_byte", "start_line", "end_line",  "exported"};
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

void placement_free(Work *work) {
    while (work->open.used) {
        pop_open(work);
    }
    Placed *placed = (Placed *)(void *)work->placed.data;
    for (size_t i = 0; i < work->placed.used / sizeof *placed; i++) {
        placed_free(&placed[i]);
    }
    bytes_free(&work->open);
    bytes_free(&work->placed);
    Py_CLEAR(work->seen);
    Py_CLEAR(work->equation);
}
