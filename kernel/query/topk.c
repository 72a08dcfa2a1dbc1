#include "query/topk.h"

#include <stdlib.h>

static int is_worse(const Candidate *a, const Candidate *b) {
    return a->value != b->value ? a->value < b->value : a->rank != b->rank ? a->rank > b->rank : a->place > b->place;
}

static void sink(Candidate *heap, Py_ssize_t count, Py_ssize_t at) {
    Candidate moved = heap[at];
    for (Py_ssize_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_worse(&heap[child + 1], &heap[child]);
        if (!is_worse(&heap[child], &moved)) {
            break;
        }
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static int by_place(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    return a->place < b->place ? -1 : a->place > b->place;
}

int topk_begin(TopK *top, Py_ssize_t most) {
    top->held = 0;
    top->most = most;
    top->heap = NULL;
    if (most < 1) {
        return fail("at least one has to be requested");
    }
    if ((size_t)most <= SIZE_MAX / sizeof *top->heap) {
        top->heap = malloc((size_t)most * sizeof *top->heap);
    }
    if (top->heap == NULL) {
        return no_memory();
    }
    return 0;
}

void topk_offer(TopK *top, double value, int64_t rank, Py_ssize_t place) {
    Candidate candidate = {value, rank, place};
    if (top->held < top->most) {
        top->heap[top->held++] = candidate;
        for (Py_ssize_t at = top->held / 2 - 1; top->held == top->most && at >= 0; at--) {
            sink(top->heap, top->held, at);
        }
    } else if (is_worse(&top->heap[0], &candidate)) {
        top->heap[0] = candidate;
        sink(top->heap, top->held, 0);
    }
}

static int by_value(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    return is_worse(a, b) - is_worse(b, a);
}

void topk_end(TopK *top) { qsort(top->heap, (size_t)top->held, sizeof *top->heap, by_place); }

/* Values, the file of each, a rank per file, how many: the places of the largest values, in order; of equals the first by rank. */
PyObject *kernel_largest(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[3];
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "OOOn", &given[0], &given[1], &given[2], &most)) {
        return NULL;
    }
    Array *values = array_from_as(given[0], F64), *files = values == NULL ? NULL : array_from_as(given[1], I64);
    Array *ranks = files == NULL ? NULL : array_from_as(given[2], I64), *found = NULL;
    TopK top = {NULL, 0, 0};
    if (ranks == NULL) {
        goto done;
    }
    Py_ssize_t total = values->count;
    if (files->count != total || most < 1) {
        fail("the arrays are not of one length");
        goto done;
    }
    if (topk_begin(&top, most < total ? most : total ? total : 1) < 0) {
        goto done;
    }
    for (Py_ssize_t place = 0; place < total; place++) {
        double value = ((const double *)(const void *)values->data)[place];
        int64_t file = ((const int64_t *)(const void *)files->data)[place];
        if (file < 0 || file >= ranks->count) {
            fail("a file is not there");
            goto done;
        }
        if (topk_want(&top, value)) {
            topk_offer(&top, value, ((const int64_t *)(const void *)ranks->data)[file], place);
        }
    }
    topk_end(&top);
    found = array_new(I64, top.held);
    for (Py_ssize_t i = 0; found != NULL && i < top.held; i++) {
        ((int64_t *)(void *)found->data)[i] = top.heap[i].place;
    }
done:
    free(top.heap);
    DROP(values, files, ranks);
    return (PyObject *)found;
}

void topk_of_run(TopK *top, const double *values, Py_ssize_t count) {
    top->held = 0;
    for (Py_ssize_t place = 0; place < count; place++) {
        if (values[place] > 0 && topk_want(top, values[place])) {
            topk_offer(top, values[place], place, place);
        }
    }
    qsort(top->heap, (size_t)top->held, sizeof *top->heap, by_value);
}
