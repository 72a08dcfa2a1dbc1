/* Terms and postings of several segments made into those of one, as index/families.py has it. */

#include "kernel.h"

#include <stdlib.h>

/* What says which of several parts comes next: a heap of part numbers, the least on top. */
typedef int (*Before)(const void *context, uint32_t left, uint32_t right);

static void sift(uint32_t *heap, size_t count, size_t at, Before before, const void *context) {
    for (;;) {
        size_t least = at, left = 2 * at + 1, right = left + 1;
        if (left < count && before(context, heap[left], heap[least])) {
            least = left;
        }
        if (right < count && before(context, heap[right], heap[least])) {
            least = right;
        }
        if (least == at) {
            return;
        }
        uint32_t swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

static void build_heap(uint32_t *heap, size_t count, Before before, const void *context) {
    for (size_t at = count / 2; at-- > 0;) {
        sift(heap, count, at, before, context);
    }
}

static PyObject *bytes_of(const Bytes *bytes) { return PyByteArray_FromStringAndSize(bytes->data, (Py_ssize_t)bytes->used); }

/* An exception that names the part which is not as it should be. */
static void complain(size_t part) {
    PyObject *number = PyLong_FromSize_t(part);
    if (number != NULL) {
        PyErr_SetObject(PyExc_ValueError, number);
        Py_DECREF(number);
    }
}

/* -- terms ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
    Py_buffer text, ends;
    const uint32_t *end;
    size_t count, at; /* terms, and the one that comes next */
    size_t start;     /* of that one */
    Bytes numbers;    /* int64_t per term: its number among all */
    int held;
} Vocabulary;

static const char *term_of(const Vocabulary *words, size_t *size) {
    *size = words->end[words->at] - words->start;
    return (const char *)words->text.buf + words->start;
}

static int compare(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t both = a_size < b_size ? a_size : b_size;
    int order = both ? memcmp(a, b, both) : 0;
    return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

static int term_before(const void *context, uint32_t left, uint32_t right) {
    const Vocabulary *words = context;
    size_t a_size, b_size;
    const char *a = term_of(&words[left], &a_size), *b = term_of(&words[right], &b_size);
    int order = compare(a, a_size, b, b_size);
    return order ? order < 0 : left < right;
}

/* On to a part's next term: 1, 0 at its end, or -1 where its terms are out of order. */
static int next_term(Vocabulary *words) {
    size_t size, following;
    const char *term = term_of(words, &size);
    words->start = words->end[words->at++];
    if (words->at == words->count) {
        return 0;
    }
    if (words->end[words->at] < words->start || words->end[words->at] > (size_t)words->text.len) {
        return -1;
    }
    const char *next = term_of(words, &following);
    return compare(term, size, next, following) < 0 ? 1 : -1;
}

/* All terms in order, each once: 0, -1 without memory, or one more than the number of a broken part. */
static size_t unite(Vocabulary *words, size_t parts, uint32_t *heap, Bytes *text, Bytes *ends, int *no_memory) {
    size_t count = 0;
    for (size_t i = 0; i < parts; i++) {
        if (words[i].count) {
            if (words[i].end[0] > (size_t)words[i].text.len) {
                return i + 1;
            }
            heap[count++] = (uint32_t)i;
        }
    }
    build_heap(heap, count, term_before, words);
    int64_t number = -1;
    size_t last = 0;
    while (count) {
        Vocabulary *least = &words[heap[0]];
        size_t size;
        const char *term = term_of(least, &size);
        if (number < 0 || compare(text->data + last, text->used - last, term, size) != 0) {
            last = text->used;
            uint32_t end = (uint32_t)(last + size);
            if (last + size > UINT32_MAX || bytes_append(text, term, size) < 0 || bytes_append(ends, &end, sizeof end) < 0) {
                *no_memory = 1;
                return 0;
            }
            number++;
        }
        if (bytes_append(&least->numbers, &number, sizeof number) < 0) {
            *no_memory = 1;
            return 0;
        }
        int more = next_term(least);
        if (more < 0) {
            return (size_t)heap[0] + 1;
        }
        if (!more) {
            heap[0] = heap[--count];
        }
        sift(heap, count, 0, term_before, words);
    }
    return 0;
}

static int take_vocabulary(PyObject *part, Vocabulary *words) {
    if (!PyTuple_Check(part)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(part, "y*y*", &words->text, &words->ends)) {
        return -1;
    }
    words->held = 1;
    Py_ssize_t count = items_of(&words->ends, sizeof(uint32_t), "the ends of terms");
    words->end = words->ends.buf;
    words->count = count < 0 ? 0 : (size_t)count;
    return count < 0 ? -1 : 0;
}

PyObject *kernel_united_terms(PyObject *module, PyObject *list) {
    (void)module;
    if (!PyList_Check(list) || PyList_Size(list) > (Py_ssize_t)UINT32_MAX / 2) {
        PyErr_SetString(PyExc_TypeError, "parts are in a list");
        return NULL;
    }
    size_t parts = (size_t)PyList_Size(list), broken = 0;
    Vocabulary *words = calloc(parts ? parts : 1, sizeof *words);
    uint32_t *heap = malloc((parts ? parts : 1) * sizeof *heap);
    Bytes text = {0}, ends = {0};
    PyObject *found = NULL, *maps = NULL;
    int failed = 0, no_memory = words == NULL || heap == NULL;
    for (size_t i = 0; !no_memory && !failed && i < parts; i++) {
        failed = take_vocabulary(PyList_GetItem(list, (Py_ssize_t)i), &words[i]) < 0;
    }
    if (!failed && !no_memory) {
        Py_BEGIN_ALLOW_THREADS
        broken = unite(words, parts, heap, &text, &ends, &no_memory);
        Py_END_ALLOW_THREADS
    }
    if (no_memory) {
        PyErr_NoMemory();
    } else if (broken) {
        complain(broken - 1);
    } else if (!failed) {
        maps = PyList_New(0);
        for (size_t i = 0; maps != NULL && i < parts; i++) {
            PyObject *numbers = bytes_of(&words[i].numbers);
            if (numbers == NULL || PyList_Append(maps, numbers) < 0) {
                Py_CLEAR(maps);
            }
            Py_XDECREF(numbers);
        }
        if (maps != NULL) {
            found = Py_BuildValue("(NNN)", bytes_of(&text), bytes_of(&ends), maps);
        }
    }
    for (size_t i = 0; words != NULL && i < parts; i++) {
        if (words[i].held) {
            PyBuffer_Release(&words[i].text);
            PyBuffer_Release(&words[i].ends);
        }
        bytes_free(&words[i].numbers);
    }
    free(words);
    free(heap);
    bytes_free(&text);
    bytes_free(&ends);
    return found;
}

/* -- postings --------------------------------------------------------------------------------------------------------------- */

/* Some of a part's lists: which terms they are of, where each ends, their bytes, and where owners go. */
typedef struct {
    Py_buffer numbers, rows, ends, data, targets;
    const int64_t *number, *target;
    const uint32_t *row_end, *byte_end;
    size_t count, at, owners;
    uint32_t row, byte; /* where the next list begins */
    size_t first_byte;  /* of the data */
    int held;
} Lists;

typedef struct {
    uint32_t owner, order;
    unsigned char count;
} Row;

typedef struct {
    Bytes terms, rows, sizes, data; /* uint32_t, int64_t and int64_t per list; bytes */
    Bytes waiting;                  /* Row each: of the list that is being made */
} Merged;

static int list_before(const void *context, uint32_t left, uint32_t right) {
    const Lists *lists = context;
    int64_t a = lists[left].number[lists[left].at], b = lists[right].number[lists[right].at];
    return a != b ? a < b : left < right;
}

enum { FINE, BROKEN, FULL };

/* The live rows of a part's next list. */
static int take_list(Lists *lists, Bytes *waiting) {
    uint32_t row_end = lists->row_end[lists->at], byte_end = lists->byte_end[lists->at];
    if (row_end <= lists->row || byte_end < lists->byte || byte_end - lists->first_byte > (size_t)lists->data.len) {
        return BROKEN;
    }
    size_t rows = row_end - lists->row, bytes = byte_end - lists->byte, width = bytes / rows - (bytes >= rows);
    if ((width != 1 && width != 2 && width != 4) || (width + 1) * rows != bytes) {
        return BROKEN;
    }
    const unsigned char *steps = (const unsigned char *)lists->data.buf + (lists->byte - lists->first_byte);
    const unsigned char *counts = steps + width * rows;
    uint64_t owner = 0;
    if (bytes_reserve(waiting, rows * sizeof(Row)) < 0) {
        return FULL;
    }
    for (size_t i = 0; i < rows; i++) {
        uint32_t step = 0;
        for (size_t byte = 0; byte < width; byte++) {
            step |= (uint32_t)steps[i * width + byte] << (8 * byte);
        }
        owner += step;
        if (owner >= lists->owners) {
            return BROKEN;
        }
        int64_t target = lists->target[owner];
        if (target > UINT32_MAX) {
            return BROKEN;
        }
        if (target >= 0) {
            Row row = {(uint32_t)target, (uint32_t)(waiting->used / sizeof(Row)), counts[i]};
            memcpy(waiting->data + waiting->used, &row, sizeof row);
            waiting->used += sizeof row;
        }
    }
    lists->row = row_end;
    lists->byte = byte_end;
    lists->at++;
    return lists->at < lists->count && lists->number[lists->at] <= lists->number[lists->at - 1] ? BROKEN : FINE;
}

static int by_owner(const void *left, const void *right) {
    const Row *a = left, *b = right;
    return a->owner != b->owner ? (a->owner < b->owner ? -1 : 1) : a->order < b->order ? -1 : 1;
}

/* The list that waits, as it is stored. */
static int put_list(Merged *merged, int64_t number) {
    Row *rows = (Row *)(void *)merged->waiting.data;
    size_t count = merged->waiting.used / sizeof *rows;
    if (count == 0) {
        return FINE;
    }
    uint32_t largest = rows[0].owner;
    int sorted = 1;
    for (size_t i = 1; sorted && i < count; i++) {
        sorted = rows[i - 1].owner <= rows[i].owner;
    }
    if (!sorted) {
        qsort(rows, count, sizeof *rows, by_owner);
        largest = rows[0].owner;
    }
    for (size_t i = 1; i < count; i++) {
        uint32_t step = rows[i].owner - rows[i - 1].owner;
        largest = step > largest ? step : largest;
    }
    size_t width = largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : 4;
    uint32_t term = (uint32_t)number;
    int64_t total = (int64_t)count, size = (int64_t)((width + 1) * count);
    if (number < 0 || number > UINT32_MAX) {
        return BROKEN;
    }
    if (bytes_append(&merged->terms, &term, sizeof term) < 0 || bytes_append(&merged->rows, &total, sizeof total) < 0 ||
        bytes_append(&merged->sizes, &size, sizeof size) < 0 || bytes_reserve(&merged->data, (size_t)size) < 0) {
        return FULL;
    }
    unsigned char *out = (unsigned char *)merged->data.data + merged->data.used;
    for (size_t i = 0; i < count; i++) {
        uint32_t step = i ? rows[i].owner - rows[i - 1].owner : rows[0].owner;
        for (size_t byte = 0; byte < width; byte++) {
            out[i * width + byte] = (unsigned char)(step >> (8 * byte));
        }
        out[width * count + i] = rows[i].count;
    }
    merged->data.used += (size_t)size;
    merged->waiting.used = 0;
    return FINE;
}

/* All lists in order of their terms. What is not fine is the fault of the part in `broken`. */
static int merge_lists(Lists *lists, size_t parts, uint32_t *heap, Merged *merged, size_t *broken) {
    size_t count = 0;
    for (size_t i = 0; i < parts; i++) {
        if (lists[i].count) {
            heap[count++] = (uint32_t)i;
        }
    }
    build_heap(heap, count, list_before, lists);
    while (count) {
        int64_t number = lists[heap[0]].number[lists[heap[0]].at];
        while (count && lists[heap[0]].number[lists[heap[0]].at] == number) {
            *broken = heap[0];
            int state = take_list(&lists[heap[0]], &merged->waiting);
            if (state != FINE) {
                return state;
            }
            if (lists[heap[0]].at == lists[heap[0]].count) {
                heap[0] = heap[--count];
            }
            sift(heap, count, 0, list_before, lists);
        }
        int state = put_list(merged, number);
        if (state != FINE) {
            return state;
        }
    }
    return FINE;
}

static int take_lists(PyObject *part, Lists *lists) {
    unsigned int row, byte;
    if (!PyTuple_Check(part)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(
            part, "y*y*y*Iy*Iy*", &lists->numbers, &lists->rows, &lists->ends, &row, &lists->data, &byte, &lists->targets)) {
        return -1;
    }
    lists->held = 1;
    Py_ssize_t count = items_of(&lists->numbers, sizeof(int64_t), "the numbers of terms");
    Py_ssize_t rows = items_of(&lists->rows, sizeof(uint32_t), "the ends of rows");
    Py_ssize_t ends = items_of(&lists->ends, sizeof(uint32_t), "the ends of lists");
    Py_ssize_t owners = items_of(&lists->targets, sizeof(int64_t), "the targets of owners");
    if (count < 0 || rows < 0 || ends < 0 || owners < 0) {
        return -1;
    }
    if (count != rows || count != ends) {
        PyErr_SetString(PyExc_TypeError, "every list has a term and two ends");
        return -1;
    }
    lists->number = lists->numbers.buf;
    lists->row_end = lists->rows.buf;
    lists->byte_end = lists->ends.buf;
    lists->target = lists->targets.buf;
    lists->count = (size_t)count;
    lists->owners = (size_t)owners;
    lists->row = row;
    lists->byte = byte;
    lists->first_byte = byte;
    return 0;
}

/* Rows by term and owner as lists: 0, or -1 without memory. */
static int pack_rows(const uint32_t *terms, const uint32_t *owners, const unsigned char *counts, size_t rows, Merged *merged) {
    for (size_t at = 0; at < rows;) {
        size_t start = at, width;
        uint32_t term = terms[at], largest = owners[at];
        for (at++; at < rows && terms[at] == term; at++) {
            uint32_t step = owners[at] - owners[at - 1];
            largest = step > largest ? step : largest;
        }
        width = largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : 4;
        int64_t total = (int64_t)(at - start), size = (int64_t)((width + 1) * (at - start));
        if (bytes_append(&merged->terms, &term, sizeof term) < 0 || bytes_append(&merged->rows, &total, sizeof total) < 0 ||
            bytes_append(&merged->sizes, &size, sizeof size) < 0 || bytes_reserve(&merged->data, (size_t)size) < 0) {
            return -1;
        }
        unsigned char *out = (unsigned char *)merged->data.data + merged->data.used;
        for (size_t i = start; i < at; i++) {
            uint32_t step = i > start ? owners[i] - owners[i - 1] : owners[i];
            for (size_t byte = 0; byte < width; byte++) {
                *out++ = (unsigned char)(step >> (8 * byte));
            }
        }
        memcpy(out, counts + start, at - start);
        merged->data.used += (size_t)size;
    }
    return 0;
}

static void merged_free(Merged *merged) {
    bytes_free(&merged->terms);
    bytes_free(&merged->rows);
    bytes_free(&merged->sizes);
    bytes_free(&merged->data);
    bytes_free(&merged->waiting);
}

static PyObject *merged_tuple(const Merged *merged) {
    return Py_BuildValue(
        "(NNNN)", bytes_of(&merged->terms), bytes_of(&merged->rows), bytes_of(&merged->sizes), bytes_of(&merged->data));
}

PyObject *kernel_packed_postings(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer terms, owners, counts;
    if (!PyArg_ParseTuple(arguments, "y*y*y*:packed_postings", &terms, &owners, &counts)) {
        return NULL;
    }
    Py_ssize_t rows = items_of(&terms, sizeof(uint32_t), "the terms"), others = items_of(&owners, sizeof(uint32_t), "the owners");
    PyObject *found = NULL;
    if (rows >= 0 && others >= 0 && (rows != others || rows != counts.len)) {
        PyErr_SetString(PyExc_ValueError, "every row has a term, an owner and a count");
    } else if (rows >= 0 && others >= 0) {
        Merged merged;
        memset(&merged, 0, sizeof merged);
        int failed;
        Py_BEGIN_ALLOW_THREADS
        failed = pack_rows(terms.buf, owners.buf, counts.buf, (size_t)rows, &merged);
        Py_END_ALLOW_THREADS
        found = failed ? PyErr_NoMemory() : merged_tuple(&merged);
        merged_free(&merged);
    }
    PyBuffer_Release(&terms);
    PyBuffer_Release(&owners);
    PyBuffer_Release(&counts);
    return found;
}

PyObject *kernel_merged_postings(PyObject *module, PyObject *list) {
    (void)module;
    if (!PyList_Check(list) || PyList_Size(list) > (Py_ssize_t)UINT32_MAX / 2) {
        PyErr_SetString(PyExc_TypeError, "parts are in a list");
        return NULL;
    }
    size_t parts = (size_t)PyList_Size(list), broken = 0;
    Lists *lists = calloc(parts ? parts : 1, sizeof *lists);
    uint32_t *heap = malloc((parts ? parts : 1) * sizeof *heap);
    Merged merged;
    memset(&merged, 0, sizeof merged);
    int failed = 0, state = lists == NULL || heap == NULL ? FULL : FINE;
    PyObject *found = NULL;
    for (size_t i = 0; state == FINE && !failed && i < parts; i++) {
        failed = take_lists(PyList_GetItem(list, (Py_ssize_t)i), &lists[i]) < 0;
    }
    if (!failed && state == FINE) {
        Py_BEGIN_ALLOW_THREADS
        state = merge_lists(lists, parts, heap, &merged, &broken);
        Py_END_ALLOW_THREADS
    }
    if (state == FULL) {
        PyErr_NoMemory();
    } else if (state == BROKEN) {
        complain(broken);
    } else if (!failed) {
        found = merged_tuple(&merged);
    }
    for (size_t i = 0; lists != NULL && i < parts; i++) {
        if (lists[i].held) {
            PyBuffer_Release(&lists[i].numbers);
            PyBuffer_Release(&lists[i].rows);
            PyBuffer_Release(&lists[i].ends);
            PyBuffer_Release(&lists[i].data);
            PyBuffer_Release(&lists[i].targets);
        }
    }
    free(lists);
    free(heap);
    merged_free(&merged);
    return found;
}
