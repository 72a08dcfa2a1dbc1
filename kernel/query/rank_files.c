/* Files against each other: their evidence added up, which of them are compared closely, and which are left in the end. As
   ranking/default.py and ranking/evidence/dense.py have it, to the last bit. */

#include "query/topk.h"

#include <stdlib.h>

#define REALS(array) ((double *)(void *)(array)->data)
#define NUMBERS(array) ((int64_t *)(void *)(array)->data)
#define MARKS(array) ((const uint8_t *)(const void *)(array)->data)

static int fits(const Array *array, Py_ssize_t files) {
    if (array->count != files) {
        fail("the arrays are not of one length");
        return 0;
    }
    return 1;
}

/* Arrays of one length, of given kinds: 0, or -1 with an exception. */
static int arrays_read(PyObject *const *given, const Kind *kinds, int count, Array **arrays) {
    for (int i = 0; i < count; i++) {
        arrays[i] = array_from_as(given[i], kinds[i]);
        if (arrays[i] == NULL || !fits(arrays[i], arrays[0]->count)) {
            return -1;
        }
    }
    return 0;
}

static void arrays_drop(Array **arrays, int count) {
    for (int i = 0; i < count; i++) {
        drop(arrays[i]);
    }
}

/* The places of two lists, each in order, as one. */
static Array *united(const TopK *left, const TopK *right) {
    Array *found = array_new(I64, left->held + right->held);
    Py_ssize_t i = 0, j = 0, count = 0;
    while (found != NULL && (i < left->held || j < right->held)) {
        Py_ssize_t first = i < left->held ? left->heap[i].place : PY_SSIZE_T_MAX;
        Py_ssize_t second = j < right->held ? right->heap[j].place : PY_SSIZE_T_MAX;
        i += first <= second;
        j += second <= first;
        NUMBERS(found)[count++] = first < second ? first : second;
    }
    if (found != NULL) {
        found->count = count;
    }
    return found;
}

/* Of each file the cosine of its card, other evidence, whether it may answer and its rank by path; what a card counts, how the scale
   begins, how steep it is, from which cosine on a card stands for itself, how many files are taken from each side: what each file
   gains by its card, and the files that are compared by their units. None where no file may answer. */
PyObject *kernel_contenders(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[4], *found = NULL;
    double card, offset, steepness, alone;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "OOOOddddn", &given[0], &given[1], &given[2], &given[3], &card, &offset, &steepness, &alone,
                          &most)) {
        return NULL;
    }
    static const Kind kinds[] = {F64, F64, BOOL, I64};
    Array *arrays[4] = {NULL}, *gained = NULL, *pool = NULL;
    TopK found_ones = {NULL, 0, 0}, near_ones = {NULL, 0, 0};
    if (arrays_read(given, kinds, 4, arrays) < 0) {
        goto done;
    }
    most = most < arrays[0]->count ? most : arrays[0]->count + 1;
    if (topk_begin(&found_ones, most) < 0 || topk_begin(&near_ones, most) < 0) {
        goto done;
    }
    const double *cards = REALS(arrays[0]), *others = REALS(arrays[1]);
    const uint8_t *usable = MARKS(arrays[2]);
    const int64_t *ranks = NUMBERS(arrays[3]);
    Py_ssize_t files = arrays[0]->count, first = 0;
    while (first < files && !usable[first]) {
        first++;
    }
    if (first == files) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    double top = cards[first];
    for (Py_ssize_t file = first; file < files; file++) {
        top = usable[file] && cards[file] > top ? cards[file] : top;
    }
    gained = array_new(F64, files);
    if (gained == NULL) {
        goto done;
    }
    for (Py_ssize_t file = 0; file < files; file++) {
        REALS(gained)[file] = card * (offset + steepness * (cards[file] - top));
    }
    for (Py_ssize_t file = first; file < files; file++) {
        if (!usable[file]) {
            continue;
        }
        double value = others[file] + REALS(gained)[file];
        if (others[file] > 0 && topk_want(&found_ones, value)) {
            topk_offer(&found_ones, value, ranks[file], file);
        }
        if (cards[file] >= alone && topk_want(&near_ones, cards[file])) {
            topk_offer(&near_ones, cards[file], ranks[file], file);
        }
    }
    topk_end(&found_ones);
    topk_end(&near_ones);
    pool = united(&found_ones, &near_ones);
    found = pool == NULL ? NULL : PyTuple_Pack(2, (PyObject *)gained, (PyObject *)pool);
done:
    arrays_drop(arrays, 4);
    free(found_ones.heap);
    free(near_ones.heap);
    DROP(gained, pool);
    return found;
}

/* What files gain by their cards, other evidence, whether each may answer; files that were compared, and how near their units are;
   what those count, how the scale begins, how steep it is, the most that a file may lose: what each file gains in all. */
PyObject *kernel_gained(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[3], *chosen[2];
    double units, offset, steepness, lowest;
    if (!PyArg_ParseTuple(arguments, "OOOOOdddd", &given[0], &given[1], &given[2], &chosen[0], &chosen[1], &units, &offset,
                          &steepness, &lowest)) {
        return NULL;
    }
    static const Kind kinds[] = {F64, F64, BOOL}, chosen_kinds[] = {I64, F64};
    Array *arrays[3] = {NULL}, *pool[2] = {NULL}, *found = NULL;
    if (arrays_read(given, kinds, 3, arrays) < 0 || arrays_read(chosen, chosen_kinds, 2, pool) < 0) {
        goto done;
    }
    Py_ssize_t files = arrays[0]->count, compared = pool[0]->count;
    int sound = compared > 0;
    for (Py_ssize_t i = 0; i < compared; i++) {
        sound &= (uint64_t)NUMBERS(pool[0])[i] < (uint64_t)files;
    }
    if (!sound) {
        fail("a file is not there");
        goto done;
    }
    found = array_new(F64, files);
    if (found == NULL) {
        goto done;
    }
    const double *cards = REALS(arrays[0]), *others = REALS(arrays[1]), *chunks = REALS(pool[1]);
    const uint8_t *usable = MARKS(arrays[2]);
    double smallest = chunks[0], largest = chunks[0];
    for (Py_ssize_t i = 1; i < compared; i++) {
        smallest = chunks[i] < smallest ? chunks[i] : smallest;
        largest = chunks[i] > largest ? chunks[i] : largest;
    }
    double farthest = units * (offset + steepness * (smallest - largest));
    for (Py_ssize_t file = 0; file < files; file++) {
        double gain = cards[file] + farthest, least = -lowest * others[file];
        REALS(found)[file] = !(usable[file] && others[file] > 0) ? 0 : gain > least ? gain : least;
    }
    for (Py_ssize_t i = 0; i < compared; i++) {
        int64_t file = NUMBERS(pool[0])[i];
        double gain = cards[file] + units * (offset + steepness * (chunks[i] - largest));
        double least = usable[file] && others[file] > 0 ? -lowest * others[file] : 0;
        REALS(found)[file] = gain > least ? gain : least;
    }
done:
    arrays_drop(arrays, 3);
    arrays_drop(pool, 2);
    return (PyObject *)found;
}
