/* Where the chunks of a parsed text begin, as chunking/code.py has it. */

#include "chunk/line_index.h"

#include <stdlib.h>

enum { WIDE_GAP = 64 };

typedef struct {
    PyObject *node; /* ours */
    size_t start, end;
    char in_header, first;
} Step;

typedef struct {
    size_t place;
    int weak;
} Border;

typedef struct {
    Bytes steps;   /* Step each: what is still to be read, the next one last */
    Bytes borders; /* Border each */
    Bytes cuts;    /* size_t each */
    Names names;
} Tiling;

static int put_border(Tiling *tiling, size_t place, int weak) {
    Border border = {place, weak};
    if (bytes_append(&tiling->borders, &border, sizeof border) < 0) {
        return no_memory();
    }
    return 0;
}

static size_t last_border(const Tiling *tiling) {
    return ((const Border *)(const void *)(tiling->borders.data + tiling->borders.used))[-1].place;
}

static int put_cut(Tiling *tiling, size_t cut) {
    if (bytes_append(&tiling->cuts, &cut, sizeof cut) < 0) {
        return no_memory();
    }
    return 0;
}

static size_t last_cut(const Tiling *tiling) {
    return ((const size_t *)(const void *)(tiling->cuts.data + tiling->cuts.used))[-1];
}

/* Takes the reference. */
static int push(Tiling *tiling, PyObject *node, const Ruler *ruler, int in_header, int first) {
    Step step = {node, 0, 0, (char)in_header, (char)first};
    if (size_attribute(node, tiling->names.start_byte, ruler->size, &step.start) < 0 ||
        size_attribute(node, tiling->names.end_byte, ruler->size, &step.end) < 0) {
        Py_DECREF(node);
        return -1;
    }
    if (step.start > step.end) {
        fail("a node that ends before it begins");
        Py_DECREF(node);
        return -1;
    }
    if (bytes_append(&tiling->steps, &step, sizeof step) < 0) {
        Py_DECREF(node);
        return no_memory();
    }
    return 0;
}

static int is_large(const Ruler *ruler, size_t start, size_t end, size_t target) {
    return end - start > target && ruler_size(ruler, start, end) > target;
}

/* A node's children instead of it: 1, or 0 where it has none, or -1 with an exception. */
static int divide(Tiling *tiling, const Step *step, const Ruler *ruler, size_t target, int is_root) {
    PyObject *children = PyObject_GetAttr(step->node, tiling->names.children);
    if (children == NULL) {
        return -1;
    }
    Py_ssize_t count = PyList_Check(children) ? PyList_Size(children) : -1;
    int failed = count < 0;
    if (failed && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "children are a list");
    }
    size_t base = tiling->steps.used / sizeof(Step);
    for (Py_ssize_t i = count - 1; !failed && i >= 0; i--) {
        PyObject *node = PyList_GetItem(children, i);
        Py_INCREF(node);
        failed = push(tiling, node, ruler, 0, 0) < 0;
    }
    Py_DECREF(children);
    if (failed || count == 0) {
        return failed ? -1 : 0;
    }
    Step *steps = (Step *)(void *)tiling->steps.data;
    Py_ssize_t header = 0;
    for (Py_ssize_t i = 0; !is_root && i < count; i++) {
        const Step *child = &steps[base + (size_t)(count - 1 - i)];
        if (is_large(ruler, child->start, child->end, target)) {
            /* What introduces the first child that must be divided, unless that is too large for a header. */
            int fits = child->start >= step->start && 2 * ruler_size(ruler, step->start, child->start) <= target;
            header = fits ? i : 0;
            break;
        }
    }
    for (Py_ssize_t i = 1; i < count; i++) {
        steps[base + (size_t)(count - 1 - i)].in_header = i <= header;
    }
    steps[base + (size_t)count - 1].in_header = step->in_header || header > 0;
    steps[base + (size_t)count - 1].first = 1;
    return 1;
}

static int is_in(PyObject *set, PyObject *node, const Names *names) {
    PyObject *type = PyObject_GetAttr(node, names->type);
    int found = type == NULL ? -1 : PySet_Contains(set, type);
    Py_XDECREF(type);
    return found;
}

static int is_true(PyObject *node, PyObject *name) {
    PyObject *value = PyObject_GetAttr(node, name);
    int found = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return found;
}

/* Where chunks may begin, in order: 0, or -1 with an exception. */
static int find_borders(Tiling *tiling, PyObject *root, const Ruler *ruler, size_t target, PyObject *leads, PyObject *divided) {
    size_t line = 0, line_end = 0, following = 0, reached = 0;
    int header_open = 0, after_lead = 0, long_line = 0, any_divided = PySet_Size(divided) > 0;
    Py_INCREF(root);
    if (put_border(tiling, 0, 0) < 0) {
        Py_DECREF(root);
        return -1;
    }
    if (push(tiling, root, ruler, 0, 1) < 0) {
        return -1;
    }
    int failed = 0;
    while (!failed && tiling->steps.used) {
        tiling->steps.used -= sizeof(Step);
        Step step = *(const Step *)(const void *)(tiling->steps.data + tiling->steps.used);
        int divides = is_large(ruler, step.start, step.end, target);
        if (!divides && any_divided) {
            divides = is_in(divided, step.node, &tiling->names);
        }
        if (divides > 0) {
            divides = divide(tiling, &step, ruler, target, step.node == root);
        }
        if (divides) {
            failed = divides < 0;
            Py_DECREF(step.node);
            continue;
        }
        if (step.start >= line_end && following < ruler->lines) {
            while (following < ruler->lines && ruler->starts[following] <= step.start) {
                following++;
            }
            line = ruler->starts[following - 1];
            line_end = following < ruler->lines ? ruler->starts[following] : ruler->size;
            long_line = is_large(ruler, line, line_end, target);
        }
        int begins_line = reached <= line;
        if (begins_line || long_line) {
            size_t place = begins_line ? line : step.start;
            if (place > last_border(tiling) && place < ruler->size) { /* a token that is missing may be at the very end */
                if (line > reached && line - reached > WIDE_GAP) {
                    size_t gap = ruler_next_line(ruler, reached);
                    if (last_border(tiling) < gap && gap < line) {
                        failed |= put_border(tiling, gap, 1) < 0;
                    }
                }
                int weak = header_open || after_lead;
                if (!weak && !step.first) {
                    int named = is_true(step.node, tiling->names.is_named);
                    failed |= named < 0;
                    weak = !named;
                }
                failed |= put_border(tiling, place, weak) < 0;
                header_open = 0;
            }
            after_lead = failed ? 0 : is_in(leads, step.node, &tiling->names);
            failed |= after_lead < 0;
        } else {
            after_lead = 0;
        }
        Py_DECREF(step.node);
        header_open = header_open || step.in_header;
        if (!failed && step.end > reached) {
            reached = step.end;
            if (is_blank(ruler->data[step.end - 1])) {
                reached = ruler_trim(ruler, step.start, step.end);
                size_t first = ruler_comment(ruler, reached), last = ruler_comment(ruler, step.end);
                if (first < last) {
                    size_t place = ruler_line_start(ruler, ruler->comments[first].start);
                    if (place > last_border(tiling)) {
                        failed |= put_border(tiling, place, 0) < 0;
                        after_lead = 1;
                        reached = ruler->comments[last - 1].end;
                    }
                }
            }
        }
    }
    return failed ? -1 : 0;
}

/* Only the borders that do not lie within a definition that fits: one may consist of several nodes. */
static int drop_inside(Tiling *tiling, const Ruler *ruler, size_t target, PyObject *definitions) {
    Border *borders = (Border *)(void *)tiling->borders.data;
    size_t count = tiling->borders.used / sizeof *borders, kept = 0, reached = 0, start = 0, end = 0;
    Py_ssize_t index = 0, total = PyTuple_Size(definitions);
    int read = 0;
    for (size_t i = 0; i < count; i++) {
        while (index < total) {
            PyObject *definition = PyTuple_GetItem(definitions, index);
            if (!read && (size_attribute(definition, tiling->names.start_byte, ruler->size, &start) < 0 ||
                          size_attribute(definition, tiling->names.end_byte, ruler->size, &end) < 0)) {
                return -1;
            }
            read = 1;
            if (start >= borders[i].place) {
                break;
            }
            if (end > reached && end >= start && ruler_size(ruler, start, end) <= target) {
                reached = end;
            }
            index++;
            read = 0;
        }
        if (borders[i].place >= reached) {
            borders[kept++] = borders[i];
        }
    }
    tiling->borders.used = kept * sizeof *borders;
    return 0;
}

/* Cuts [begin, end) by lines, as Python does it. */
static int cut_by_lines(Tiling *tiling, PyObject *cut_lines, const Ruler *ruler, size_t begin, size_t end, size_t target) {
    PyObject *found =
        PyObject_CallFunction(cut_lines, "Onnn", ruler, (Py_ssize_t)begin, (Py_ssize_t)end, (Py_ssize_t)target);
    PyObject *iterator = found == NULL ? NULL : PyObject_GetIter(found);
    Py_XDECREF(found);
    if (iterator == NULL) {
        return -1;
    }
    PyObject *item;
    int failed = 0;
    while (!failed && (item = PyIter_Next(iterator)) != NULL) {
        Py_ssize_t cut = PyLong_AsSsize_t(item);
        Py_DECREF(item);
        failed = cut == -1 && PyErr_Occurred();
        if (!failed && (cut < (Py_ssize_t)begin || cut >= (Py_ssize_t)end)) {
            fail("a cut outside of what is cut");
            failed = 1;
        }
        failed = failed || put_cut(tiling, (size_t)cut) < 0;
    }
    Py_DECREF(iterator);
    return failed || PyErr_Occurred() ? -1 : 0;
}

/* One run cut at its weak borders, filling chunks from the end so that headers stay with what they introduce. The first cut is
   there already. */
static int divide_run(
    Tiling *tiling, PyObject *cut_lines, const Ruler *ruler, size_t target, size_t first, size_t after, size_t stop) {
    const Border *borders = (const Border *)(const void *)tiling->borders.data;
    size_t limit = target + target / 4, end = stop, begin = stop, base = tiling->cuts.used / sizeof(size_t);
    Bytes runs = {0}; /* Range each, the last one first */
    int failed = 0;
    for (size_t i = after; !failed && i-- > first;) {
        if (begin < end && ruler_size(ruler, borders[i].place, end) > target) {
            Range run = {begin, end};
            failed = bytes_append(&runs, &run, sizeof run) < 0;
            end = begin;
        }
        begin = borders[i].place;
    }
    Range rest = {begin, end};
    failed = failed || bytes_append(&runs, &rest, sizeof rest) < 0;
    if (failed) {
        PyErr_NoMemory();
    }
    for (size_t i = runs.used / sizeof(Range); !failed && i-- > 0;) {
        Range run = ((const Range *)(const void *)runs.data)[i];
        if (ruler_size(ruler, run.start, run.end) <= limit) {
            failed = put_cut(tiling, run.start) < 0;
            continue;
        }
        /* Cutting by lines never cuts in the first half of a chunk, so a short header before them is safe with them. */
        if (tiling->cuts.used / sizeof(size_t) > base && 2 * ruler_size(ruler, last_cut(tiling), run.start) <= target) {
            run.start = last_cut(tiling);
            tiling->cuts.used -= sizeof(size_t);
        }
        failed = cut_by_lines(tiling, cut_lines, ruler, run.start, run.end, target) < 0;
    }
    bytes_free(&runs);
    if (failed) {
        return -1;
    }
    size_t *cuts = (size_t *)(void *)tiling->cuts.data, count = tiling->cuts.used / sizeof *cuts;
    if (count > base) {
        memmove(cuts + base, cuts + base + 1, (count - base - 1) * sizeof *cuts);
        tiling->cuts.used -= sizeof *cuts;
    }
    return 0;
}

/* Where chunks begin. A run may exceed the target by a quarter rather than lose its header or its end. */
static int pack(Tiling *tiling, PyObject *cut_lines, const Ruler *ruler, size_t target) {
    const Border *borders = (const Border *)(const void *)tiling->borders.data;
    size_t count = tiling->borders.used / sizeof *borders, limit = target + target / 4;
    if (put_cut(tiling, 0) < 0) {
        return -1;
    }
    for (size_t index = 0, after; index < count; index = after) {
        for (after = index + 1; after < count && borders[after].weak; after++) {
        }
        size_t begin = borders[index].place, end = after < count ? borders[after].place : ruler->size;
        if (ruler_size(ruler, last_cut(tiling), end) <= target) {
            continue;
        }
        if (begin > last_cut(tiling) && put_cut(tiling, begin) < 0) {
            return -1;
        }
        if (ruler_size(ruler, begin, end) > limit && divide_run(tiling, cut_lines, ruler, target, index, after, end) < 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *kernel_cuts(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *root, *object, *leads, *divided, *definitions, *cut_lines;
    Py_ssize_t target;
    if (!PyArg_ParseTuple(
            arguments, "OOnOOO!O:cuts", &root, &object, &target, &leads, &divided, &PyTuple_Type, &definitions, &cut_lines)) {
        return NULL;
    }
    Ruler *ruler = ruler_of(object);
    if (ruler == NULL) {
        return NULL;
    }
    if (target < 1 || target > PY_SSIZE_T_MAX / 4 || !PyAnySet_Check(leads) || !PyAnySet_Check(divided)) {
        return fail_null("a target above zero, and two sets");
    }
    Tiling tiling;
    memset(&tiling, 0, sizeof tiling);
    PyObject *found = NULL;
    if (names_make(&tiling.names) < 0) {
        return NULL;
    }
    if (find_borders(&tiling, root, ruler, (size_t)target, leads, divided) == 0 &&
        drop_inside(&tiling, ruler, (size_t)target, definitions) == 0 && pack(&tiling, cut_lines, ruler, (size_t)target) == 0) {
        found = list_of_sizes((const size_t *)(const void *)tiling.cuts.data, tiling.cuts.used / sizeof(size_t));
    }
    while (tiling.steps.used) {
        tiling.steps.used -= sizeof(Step);
        Py_DECREF(((const Step *)(const void *)(tiling.steps.data + tiling.steps.used))->node);
    }
    names_free(&tiling.names);
    bytes_free(&tiling.steps);
    bytes_free(&tiling.borders);
    bytes_free(&tiling.cuts);
    return found;
}
