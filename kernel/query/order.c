/* What rankings ask of all units at once, as ranking/evidence.py and lanes/__init__.py have it. */

#include "query/array.h"
#include "support/parallel.h"

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

/* What sums of files are made of, and which files: each sum has its own place, and each part its own desk. */
typedef struct {
    const double *scores, *best, *divisors;
    const int64_t *first, *counts;
    const unsigned char *allowed;
    size_t units, most, from, to;
    double *sums;
    int64_t *desk;
    int failed;
} Harmonic;

/* Of each file that may answer and has a score, the sum of its units' scores, largest first, each divided by what its place has. */
static void harmonic(void *argument) {
    Harmonic *part = argument;
    const int64_t *first = part->first, *counts = part->counts;
    int64_t *desk = part->desk;
    for (size_t file = part->from; file < part->to; file++) {
        part->sums[file] = 0;
        if (!part->allowed[file] || !(part->best[file] > 0)) {
            continue;
        }
        if (counts[file] < 0 || first[file] < 0 || (uint64_t)counts[file] > part->most || (uint64_t)first[file] > part->units ||
            (uint64_t)counts[file] > part->units - (uint64_t)first[file]) {
            part->failed = 1;
            return;
        }
        size_t found = 0;
        for (int64_t unit = first[file]; unit < first[file] + counts[file]; unit++) {
            memcpy(&desk[found], &part->scores[unit], sizeof *desk);  /* no branch: whether a unit has a score is anybody's guess */
            found += part->scores[unit] > 0;
        }
        const int64_t *sorted = sort_down(desk, desk + part->most + 1, found);
        double sum = 0;
        for (size_t i = 0; i < found; i++) {
            double score;
            memcpy(&score, &sorted[i], sizeof score);
            sum += score / part->divisors[i];
        }
        part->sums[file] = sum;
    }
}

#define WORTH_A_THREAD 200000 /* units */

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
        fail("the arrays are not of one length");
        goto done;
    }
    desk = malloc(4 * ((size_t)most + 1) * sizeof *desk);
    if (desk == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    Harmonic all = {scores.buf, best.buf, divisors.buf, first.buf, counts.buf, allowed.buf, (size_t)units, (size_t)most,
                    0, (size_t)files, sums.buf, desk, 0};
    if (units < WORTH_A_THREAD) {
        harmonic(&all);
    } else {
        Harmonic rest = all;
        all.to = rest.from = (size_t)files / 2;
        rest.desk += 2 * ((size_t)most + 1);
        in_two(harmonic, &all, &rest);
        all.failed |= rest.failed;
    }
    failed = all.failed;
    Py_END_ALLOW_THREADS
    if (failed) {
        fail("a file's units are not there");
        goto done;
    }
    found = Py_NewRef(Py_None);
done:
    free(desk);
    RELEASE(&scores, &best, &first, &counts, &allowed, &divisors, &sums);
    return found;
}

/* What is to be known of some files. */
typedef struct {
    const double *scores;
    const int64_t *first, *counts;
    Py_ssize_t total, from, to;
    double *values;
    int64_t *units, *scored;
    int failed;
} Best;

static void best_of(void *argument) {
    Best *part = argument;
    for (Py_ssize_t file = part->from; file < part->to; file++) {
        int64_t unit = part->first[file], left = part->counts[file], place = -1, above = 0;
        if (left < 0 || unit < 0 || unit > part->total || left > part->total - unit) {
            part->failed = 1;
            return;
        }
        double best = 0;
        for (; left > 0; left--, unit++) {
            above += part->scores[unit] > 0;
            if (part->scores[unit] > best) {
                best = part->scores[unit];
                place = unit;
            }
        }
        part->values[file] = best;
        part->units[file] = place;
        part->scored[file] = above;
    }
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
        fail("the arrays are not of one length");
        goto done;
    }
    values = array_new(F64, first->count);
    units = values == NULL ? NULL : array_new(I64, first->count);
    scored = units == NULL ? NULL : array_new(I64, first->count);
    if (scored == NULL) {
        goto done;
    }
    Best all = {(const double *)(const void *)scores->data, (const int64_t *)(const void *)first->data,
                (const int64_t *)(const void *)counts->data, scores->count, 0, first->count, (double *)(void *)values->data,
                (int64_t *)(void *)units->data, (int64_t *)(void *)scored->data, 0};
    Py_BEGIN_ALLOW_THREADS
    if (scores->count < WORTH_A_THREAD) {
        best_of(&all);
    } else {
        Best rest = all;
        all.to = rest.from = first->count / 2;
        in_two(best_of, &all, &rest);
        all.failed |= rest.failed;
    }
    Py_END_ALLOW_THREADS
    if (all.failed) {
        fail("a file's units are not there");
        goto done;
    }
    found = PyTuple_Pack(3, (PyObject *)values, (PyObject *)units, (PyObject *)scored);
done:
    DROP(scores, first, counts, values, units, scored);
    return found;
}
