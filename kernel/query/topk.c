#include "query/topk.h"

#include <stdlib.h>

static int is_worse(const Rival *a, const Rival *b) {
    return a->value != b->value ? a->value < b->value : a->rank != b->rank ? a->rank > b->rank : a->place > b->place;
}

static void sink(Rival *heap, Py_ssize_t count, Py_ssize_t at) {
    Rival moved = heap[at];
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
    const Rival *a = left, *b = right;
    return a->place < b->place ? -1 : a->place > b->place;
}

int rivals_begin(Rivals *rivals, Py_ssize_t most) {
    rivals->held = 0;
    rivals->most = most;
    rivals->heap = NULL;
    if (most < 1) {
        return fail("at least one is asked for");
    }
    if ((size_t)most <= SIZE_MAX / sizeof *rivals->heap) {
        rivals->heap = malloc((size_t)most * sizeof *rivals->heap);
    }
    if (rivals->heap == NULL) {
        return no_memory();
    }
    return 0;
}

void rivals_offer(Rivals *rivals, double value, int64_t rank, Py_ssize_t place) {
    Rival rival = {value, rank, place};
    if (rivals->held < rivals->most) {
        rivals->heap[rivals->held++] = rival;
        for (Py_ssize_t at = rivals->held / 2 - 1; rivals->held == rivals->most && at >= 0; at--) {
            sink(rivals->heap, rivals->held, at);
        }
    } else if (is_worse(&rivals->heap[0], &rival)) {
        rivals->heap[0] = rival;
        sink(rivals->heap, rivals->held, 0);
    }
}

void rivals_end(Rivals *rivals) { qsort(rivals->heap, (size_t)rivals->held, sizeof *rivals->heap, by_place); }

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
    Rivals rivals = {NULL, 0, 0};
    if (ranks == NULL) {
        goto done;
    }
    Py_ssize_t total = values->count;
    if (files->count != total || most < 1) {
        fail("the arrays are not of one length");
        goto done;
    }
    if (rivals_begin(&rivals, most < total ? most : total ? total : 1) < 0) {
        goto done;
    }
    for (Py_ssize_t place = 0; place < total; place++) {
        double value = ((const double *)(const void *)values->data)[place];
        int64_t file = ((const int64_t *)(const void *)files->data)[place];
        if (file < 0 || file >= ranks->count) {
            fail("a file is not there");
            goto done;
        }
        if (rivals_want(&rivals, value)) {
            rivals_offer(&rivals, value, ((const int64_t *)(const void *)ranks->data)[file], place);
        }
    }
    rivals_end(&rivals);
    found = array_new(I64, rivals.held);
    for (Py_ssize_t i = 0; found != NULL && i < rivals.held; i++) {
        ((int64_t *)(void *)found->data)[i] = rivals.heap[i].place;
    }
done:
    free(rivals.heap);
    DROP(values, files, ranks);
    return (PyObject *)found;
}
