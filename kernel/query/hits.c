/* What is computed for each hit, and for the files that compete for a place: as ranking/evidence.py, lanes/__init__.py,
   storage/snapshot.py, storage/container.py and answer/hits.py have it. */

#include "query/array.h"
#include "support/wide.h"

#include <stdlib.h>

#define NUMBERS(array) ((const int64_t *)(const void *)(array)->data)
#define REALS(array) ((const double *)(const void *)(array)->data)

/* The mean of the largest numbers of one run, added up from the largest on, and where the first of the largest is. */
static double mean_of_largest(const double *values, int64_t count, int most, int64_t *place) {
    double largest[8];
    int held = 0;
    *place = 0;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] > values[*place]) {
            *place = i;
        }
        if (held == most && !(values[i] > largest[held - 1])) {
            continue;
        }
        int at = held < most ? held++ : held - 1;
        for (; at > 0 && largest[at - 1] < values[i]; at--) {
            largest[at] = largest[at - 1];
        }
        largest[at] = values[i];
    }
    double sum = 0;
    for (int i = 0; i < held; i++) {
        sum += largest[i];
    }
    return sum / held;
}

/* Numbers in runs, how long each run is, how many of them count: the mean of the largest of each, and where its largest is. */
PyObject *kernel_nearest(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[2], *found = NULL;
    int most;
    if (!PyArg_ParseTuple(arguments, "OOi", &given[0], &given[1], &most)) {
        return NULL;
    }
    Array *values = array_from_as(given[0], F64), *counts = values == NULL ? NULL : array_from_as(given[1], I64);
    Array *means = counts == NULL ? NULL : array_new(F64, counts->count);
    Array *places = means == NULL ? NULL : array_new(I64, counts->count);
    if (places == NULL) {
        goto done;
    }
    if (most < 1 || most > 8) {
        fail("so many cannot be compared");
        goto done;
    }
    int64_t start = 0;
    for (Py_ssize_t run = 0; run < counts->count; run++) {
        int64_t count = NUMBERS(counts)[run], place;
        if (count < 1 || count > values->count - start) {
            fail("a run is not there");
            goto done;
        }
        ((double *)(void *)means->data)[run] = mean_of_largest(REALS(values) + start, count, most, &place);
        ((int64_t *)(void *)places->data)[run] = start + place;
        start += count;
    }
    found = start == values->count ? PyTuple_Pack(2, (PyObject *)means, (PyObject *)places) : fail_null("a number is in no run");
done:
    DROP(values, counts, means, places);
    return found;
}

#define BLOCK 2048

/* Adds for each value how many of some scores are above it, and how many equal it: pairs. */
INLINED void count_each(const double *scores, Py_ssize_t count, const double *values, Py_ssize_t many, int64_t *counted) {
    for (Py_ssize_t i = 0; i < many; i++) {
        int64_t above = 0, equal = 0;
        for (Py_ssize_t j = 0; j < count; j++) {
            above += scores[j] > values[i];
            equal += scores[j] == values[i];
        }
        counted[2 * i] += above;
        counted[2 * i + 1] += equal;
    }
}

static void count_plain(const double *scores, Py_ssize_t count, const double *values, Py_ssize_t many, int64_t *counted) {
    count_each(scores, count, values, many, counted);
}

WIDE static void count_wide(const double *scores, Py_ssize_t count, const double *values, Py_ssize_t many, int64_t *counted) {
    count_each(scores, count, values, many, counted);
}

/* Scores and some values: for each value how many scores are above it, and how many equal it. */
PyObject *kernel_count_above_and_equal(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[2], *found = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &given[0], &given[1])) {
        return NULL;
    }
    Array *scores = array_from_as(given[0], F64), *values = scores == NULL ? NULL : array_from_as(given[1], F64);
    int64_t *counted = values == NULL ? NULL : calloc((size_t)values->count + 1, 2 * sizeof *counted);
    if (counted == NULL) {
        if (values != NULL) {
            PyErr_NoMemory();
        }
        goto done;
    }
    int wide = HAS_WIDE;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t start = 0; start < scores->count; start += BLOCK) {  /* few enough to stay near the processor */
        Py_ssize_t count = scores->count - start < BLOCK ? scores->count - start : BLOCK;
        (wide ? count_wide : count_plain)(REALS(scores) + start, count, REALS(values), values->count, counted);
    }
    Py_END_ALLOW_THREADS
    found = PyList_New(values->count);
    for (Py_ssize_t i = 0; found != NULL && i < values->count; i++) {
        PyObject *standing = Py_BuildValue("(LL)", (long long)counted[2 * i], (long long)counted[2 * i + 1]);
        if (standing == NULL || PyList_SetItem(found, i, standing) < 0) {
            Py_CLEAR(found);
        }
    }
done:
    free(counted);
    DROP(scores, values);
    return found;
}

static uint32_t number_at(const unsigned char *place) {
    return (uint32_t)place[0] | (uint32_t)place[1] << 8 | (uint32_t)place[2] << 16 | (uint32_t)place[3] << 24;
}

/* Packed rows, their width, where in them start and end and kind are, the first row and how many, a byte, a mark per kind: which of
   the rows is the shortest around the byte, the first of equals; -1 where none is. */
PyObject *kernel_innermost(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer rows, kinds;
    Py_ssize_t width, start_at, end_at, kind_at, first, count;
    long long byte, place = -1;
    if (!PyArg_ParseTuple(arguments, "y*nnnnnnLy*", &rows, &width, &start_at, &end_at, &kind_at, &first, &count, &byte, &kinds)) {
        return NULL;
    }
    PyObject *found = NULL;
    if (width < 1 || start_at < 0 || start_at > width - 4 || end_at < 0 || end_at > width - 4 || kind_at < 0 || kind_at >= width ||
        first < 0 || count < 0 || first > rows.len / width || count > rows.len / width - first) {
        fail("the rows are not there");
        goto done;
    }
    long long smallest = 0;
    const unsigned char *row = (const unsigned char *)rows.buf + first * width;
    for (Py_ssize_t i = 0; i < count; i++, row += width) {
        long long start = number_at(row + start_at), end = number_at(row + end_at);
        if (start > byte || end <= byte || row[kind_at] >= kinds.len || !((const char *)kinds.buf)[row[kind_at]]) {
            continue;
        }
        if (place < 0 || end - start < smallest) {
            place = i;
            smallest = end - start;
        }
    }
    found = PyLong_FromLongLong(place);
done:
    RELEASE(&rows, &kinds);
    return found;
}

#define AT_ONCE 64

/* Up to 64 terms that are searched in one pass: a bit for each in the entries of its first and of its second byte, as a small letter
   and as a large one. */
typedef struct {
    const char *data[AT_ONCE];
    size_t sizes[AT_ONCE];
    int count;
    uint64_t first[256], second[256];
} Wanted;

static unsigned char lower(char c) { return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c); }

static void mark(uint64_t *table, char letter, uint64_t bit) {
    unsigned char byte = (unsigned char)letter;
    if (lower(letter) == byte) { /* no text has large letters here */
        table[byte] |= bit;
        table[byte >= 'a' && byte <= 'z' ? byte - 32 : byte] |= bit;
    }
}

static void want(Wanted *wanted, const char *data, size_t size) {
    uint64_t bit = UINT64_C(1) << wanted->count;
    wanted->data[wanted->count] = data;
    wanted->sizes[wanted->count++] = size;
    mark(wanted->first, data[0], bit);
    if (size > 1) {
        mark(wanted->second, data[1], bit);
    }
    for (int c = 0; size == 1 && c < 256; c++) {
        wanted->second[c] |= bit;
    }
}

/* Whether a term stands at a place of a text, whose letters count as small ones. */
static int stands(const char *text, size_t left, const char *term, size_t size) {
    if (size > left) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if (lower(text[i]) != (unsigned char)term[i]) {
            return 0;
        }
    }
    return 1;
}

/* The terms, of some that may, which stand at a place of a text. */
static uint64_t find_terms(const Wanted *wanted, uint64_t maybe, const char *text, size_t left) {
    uint64_t found = 0;
    for (int term = 0; maybe; term++, maybe >>= 1) {
        if (maybe & 1 && stands(text, left, wanted->data[term], wanted->sizes[term])) {
            found |= UINT64_C(1) << term;
        }
    }
    return found;
}

/* Adds to each line how many of the terms begin in it. */
static void count_terms(const Wanted *wanted, const char *text, size_t size, uint32_t *lines) {
    uint64_t here = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        uint64_t second = i + 1 < size ? wanted->second[(unsigned char)text[i + 1]] : UINT64_MAX;
        uint64_t maybe = wanted->first[byte] & second & ~here; /* no branch on the first letter: it is too often right */
        if (maybe) {
            here |= find_terms(wanted, maybe, text + i, size - i);
        }
        if (byte == '\n' || i + 1 == size) {
            for (; here; here &= here - 1) {
                ++*lines;
            }
            lines++;
        }
    }
}

/* Reads the next terms of an iterator, keeping them in a list: 1 where there are any, 0, or -1 with an exception. */
static int next_terms(Wanted *wanted, PyObject *each, PyObject *kept) {
    memset(wanted, 0, sizeof *wanted);
    PyObject *term;
    while (wanted->count < AT_ONCE && (term = PyIter_Next(each)) != NULL) {
        Py_ssize_t size = 0;
        const char *data = PyUnicode_Check(term) ? PyUnicode_AsUTF8AndSize(term, &size) : NULL;
        if (data == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {  /* what UTF-8 cannot spell is not in the text */
            PyErr_Clear();
            Py_DECREF(term);
            continue;
        }
        int failed = data == NULL || size == 0 || PyList_Append(kept, term) < 0;
        if (failed && !PyErr_Occurred()) {
            fail("a term is no text");
        }
        Py_DECREF(term);
        if (failed) {
            return -1;
        }
        want(wanted, data, (size_t)size);
    }
    return PyErr_Occurred() ? -1 : wanted->count > 0;
}

static int is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }

/* Where the text of the first line begins that has the most terms, or of the first of all. */
static size_t best_place(const char *text, size_t size, const uint32_t *lines) {
    size_t line = 0, best = 0, place = 0;
    for (size_t start = 0; start < size; line++) {
        if (lines[line] > lines[best]) {
            best = line;
            place = start;
        }
        const char *end = memchr(text + start, '\n', size - start);
        start = end == NULL ? size : (size_t)(end - text) + 1;
    }
    while (place < size && is_blank(text[place])) {
        place++;
    }
    return place;
}

/* A text, the same in small letters (or as it is, if it is ASCII), some terms, which are small letters of one line: at which byte the
   text of the first line begins that has the most different ones; -1 where that takes more than this to tell. */
PyObject *kernel_best_line(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[2], *terms, *found = NULL;
    if (!PyArg_ParseTuple(arguments, "UUO", &given[0], &given[1], &terms)) {
        return NULL;
    }
    Py_ssize_t size, plain_size;
    const char *text = PyUnicode_AsUTF8AndSize(given[0], &size), *plain = text ? PyUnicode_AsUTF8AndSize(given[1], &plain_size) : NULL;
    if (plain == NULL) {
        PyErr_Clear();
        return PyLong_FromLong(-1);
    }
    size_t count = 1, others = 1;
    for (Py_ssize_t i = 0; i < size; i++) {
        count += text[i] == '\n';
    }
    for (Py_ssize_t i = 0; i < plain_size; i++) {
        others += plain[i] == '\n';
    }
    if (count != others) {
        return fail_null("the lines are not the same");
    }
    uint32_t *lines = calloc(count, sizeof *lines);
    PyObject *each = PyObject_GetIter(terms), *kept = PyList_New(0);
    Wanted wanted;
    int more = each == NULL || kept == NULL ? -1 : 0;
    if (lines == NULL) {
        PyErr_NoMemory();
        more = -1;
    }
    while (more >= 0 && (more = next_terms(&wanted, each, kept)) > 0) {
        count_terms(&wanted, plain, (size_t)plain_size, lines);
    }
    if (more == 0) {
        size_t place = best_place(text, (size_t)size, lines);
        /* There are blanks beyond ASCII. */
        found = place < (size_t)size && (unsigned char)text[place] >= 0x80 ? PyLong_FromLong(-1) : PyLong_FromSize_t(place);
    }
    free(lines);
    Py_XDECREF(each);
    Py_XDECREF(kept);
    return found;
}

/* Where parts begin and end, how large a block is, how large all of it, a mark per block that was checked or None: the blocks of the
   parts that were not, in order; None where a part is not there. */
PyObject *kernel_unchecked(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[3], *found = NULL;
    long long size, length;
    if (!PyArg_ParseTuple(arguments, "OOLLO", &given[0], &given[1], &size, &length, &given[2])) {
        return NULL;
    }
    Array *starts = array_from_as(given[0], I64), *ends = starts == NULL ? NULL : array_from_as(given[1], I64);
    Py_buffer checked = {0};
    unsigned char *wanted = NULL;
    int marks = ends != NULL && given[2] != Py_None;
    if (ends == NULL || (marks && PyObject_GetBuffer(given[2], &checked, PyBUF_SIMPLE) < 0)) {
        marks = 0;
        goto done;
    }
    if (size < 1 || length < 0 || starts->count != ends->count) {
        fail("there are no such blocks");
        goto done;
    }
    int64_t blocks = length / size + (length % size != 0);
    if (marks && checked.len != blocks) {
        fail("there is not a mark for each block");
        goto done;
    }
    wanted = calloc((size_t)blocks + 1, 1);
    int64_t known = 0, upto = 0;  /* blocks of the part before, where the next is likely to be */
    found = wanted == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < starts->count; i++) {
        int64_t start = NUMBERS(starts)[i], end = NUMBERS(ends)[i];
        if (start < 0 || end > length || start >= end) {
            Py_DECREF(found);
            found = Py_NewRef(Py_None);
            goto done;
        }
        if (start >= known && end <= upto) {
            continue;
        }
        int64_t block = start / size, last = (end - 1) / size;
        known = block * size;
        upto = last < blocks - 1 ? (last + 1) * size : length; /* the last one may reach further than a number does */
        for (; block <= last; block++) {
            wanted[block] = 1;
        }
    }
    for (int64_t block = 0; found != NULL && block < blocks; block++) {
        if (wanted[block] && (!marks || !((const char *)checked.buf)[block]) && append_size(found, (size_t)block) < 0) {
            Py_CLEAR(found);
        }
    }
done:
    if (marks) {
        PyBuffer_Release(&checked);
    }
    free(wanted);
    DROP(starts, ends);
    return found;
}
