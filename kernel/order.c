/* What rankings ask of all units at once, as ranking/evidence/content.py and index/order.py have it. */

#include "array.h"

#include <stdlib.h>

#define RUN 16

/* Some numbers, largest first, from one place to another. */
static void place_run(const int64_t *values, size_t count, int64_t *placed) {
    for (size_t i = 0; i < count; i++) {
        int64_t moved = values[i];
        size_t place = i;
        for (; place > 0 && placed[place - 1] < moved; place--) {
            placed[place] = placed[place - 1];
        }
        placed[place] = moved;
    }
}

/* Two runs as one, without a branch that depends on the numbers. */
static void merge(const int64_t *left, size_t left_count, const int64_t *right, size_t right_count, int64_t *out) {
    const int64_t *left_end = left + left_count, *right_end = right + right_count;
    while (left < left_end && right < right_end) {
        int64_t first = *left, second = *right;
        size_t from_right = second > first;
        *out++ = from_right ? second : first;
        right += from_right;
        left += 1 - from_right;
    }
    memcpy(out, left, (size_t)(left_end - left) * sizeof *out);
    out += left_end - left;
    memcpy(out, right, (size_t)(right_end - right) * sizeof *out);
}

/* Largest first; where they end up: in one of the two rooms. Numbers above zero have the order of their bits as whole numbers. */
static const int64_t *sort_down(int64_t *values, int64_t *room, size_t count) {
    for (size_t start = 0; start < count; start += RUN) {
        place_run(values + start, count - start < RUN ? count - start : RUN, room + start);
    }
    int64_t *from = room, *to = values;
    for (size_t size = RUN; size < count; size *= 2) {
        for (size_t start = 0; start < count; start += 2 * size) {
            size_t left = count - start < size ? count - start : size, rest = count - start - left;
            merge(from + start, left, from + start + left, rest < size ? rest : size, to + start);
        }
        int64_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

/* Of each file that may answer and has a score, the sum of its units' scores, largest first, each divided by what its place has: 0,
   or -1. */
static int harmonic(const double *scores, size_t units, const double *best, const int64_t *first, const int64_t *counts,
                    const unsigned char *allowed, size_t files, const double *divisors, size_t most, double *sums, int64_t *desk) {
    for (size_t file = 0; file < files; file++) {
        sums[file] = 0;
        if (!allowed[file] || !(best[file] > 0)) {
            continue;
        }
        if (counts[file] < 0 || first[file] < 0 || (uint64_t)counts[file] > most || (uint64_t)first[file] > units ||
            (uint64_t)counts[file] > units - (uint64_t)first[file]) {
            return -1;
        }
        size_t found = 0;
        for (int64_t unit = first[file]; unit < first[file] + counts[file]; unit++) {
            memcpy(&desk[found], &scores[unit], sizeof *desk);  /* no branch: whether a unit has a score is anybody's guess */
            found += scores[unit] > 0;
        }
        const int64_t *sorted = sort_down(desk, desk + most + 1, found);
        double sum = 0;
        for (size_t i = 0; i < found; i++) {
            double score;
            memcpy(&score, &sorted[i], sizeof score);
            sum += score / divisors[i];
        }
        sums[file] = sum;
    }
    return 0;
}

PyObject *kernel_harmonic(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer scores, best, first, counts, allowed, divisors, sums;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*w*", &scores, &best, &first, &counts, &allowed, &divisors, &sums)) {
        return NULL;
    }
    PyObject *found = NULL;
    Py_ssize_t units = items_of(&scores, 8, "the scores"), files = items_of(&first, 8, "the first units");
    Py_ssize_t most = items_of(&divisors, 8, "the divisors");
    int64_t *desk = NULL;
    int failed = 1;
    if (units < 0 || files < 0 || most < 0 || items_of(&best, 8, "the best scores") < 0 || items_of(&counts, 8, "the counts") < 0 ||
        items_of(&sums, 8, "the sums") < 0) {
        goto done;
    }
    if (best.len != first.len || counts.len != first.len || sums.len != first.len || allowed.len != files) {
        PyErr_SetString(PyExc_ValueError, "the arrays are not of one length");
        goto done;
    }
    desk = malloc(2 * ((size_t)most + 1) * sizeof *desk);
    if (desk == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    failed = harmonic(scores.buf, (size_t)units, best.buf, first.buf, counts.buf, allowed.buf, (size_t)files, divisors.buf,
                      (size_t)most, sums.buf, desk);
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_SetString(PyExc_ValueError, "a file's units are not there");
        goto done;
    }
    found = Py_NewRef(Py_None);
done:
    free(desk);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&best);
    PyBuffer_Release(&first);
    PyBuffer_Release(&counts);
    PyBuffer_Release(&allowed);
    PyBuffer_Release(&divisors);
    PyBuffer_Release(&sums);
    return found;
}

/* Scores of units, first unit and number of units of each file: each file's best score, the first unit that has it, -1 where no
   score is above zero, and how many are. */
PyObject *kernel_best_units(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[3], *found = NULL;
    if (!PyArg_ParseTuple(arguments, "OOO", &given[0], &given[1], &given[2])) {
        return NULL;
    }
    Array *scores = array_from_as(given[0], F64), *first = scores == NULL ? NULL : array_from_as(given[1], I64);
    Array *counts = first == NULL ? NULL : array_from_as(given[2], I64);
    Array *values = NULL, *units = NULL, *scored = NULL;
    if (counts == NULL) {
        goto done;
    }
    if (counts->count != first->count) {
        PyErr_SetString(PyExc_ValueError, "the arrays are not of one length");
        goto done;
    }
    values = array_new(F64, first->count);
    units = values == NULL ? NULL : array_new(I64, first->count);
    scored = units == NULL ? NULL : array_new(I64, first->count);
    if (scored == NULL) {
        goto done;
    }
    const double *score = (const double *)(const void *)scores->data;
    for (Py_ssize_t file = 0; file < first->count; file++) {
        int64_t unit = ((const int64_t *)(const void *)first->data)[file], left = ((const int64_t *)(const void *)counts->data)[file];
        if (left < 0 || unit < 0 || unit > scores->count || left > scores->count - unit) {
            PyErr_SetString(PyExc_ValueError, "a file's units are not there");
            goto done;
        }
        double best = 0;
        int64_t place = -1, above = 0;
        for (; left > 0; left--, unit++) {
            above += score[unit] > 0;
            if (score[unit] > best) {
                best = score[unit];
                place = unit;
            }
        }
        ((double *)(void *)values->data)[file] = best;
        ((int64_t *)(void *)units->data)[file] = place;
        ((int64_t *)(void *)scored->data)[file] = above;
    }
    found = PyTuple_Pack(3, (PyObject *)values, (PyObject *)units, (PyObject *)scored);
done:
    drop(scores);
    drop(first);
    drop(counts);
    drop(values);
    drop(units);
    drop(scored);
    return found;
}
