/* Terms and postings of several segments made into those of one, as storage/postings.py has it. */

#include "support/kernel.h"
#include "support/wide.h"

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
            RELEASE(&words[i].text, &words[i].ends);
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
    int together;       /* whether owners are all moved by as much */
    int held;
} Lists;

typedef struct {
    uint32_t owner, order;
    unsigned char count;
} Row;

typedef struct {
    Bytes terms, rows, sizes, data; /* uint32_t, int64_t and int64_t per list; bytes */
    Bytes owners, counts;           /* uint32_t and a byte per row: of the list that is being made */
} Merged;

enum { FINE, BROKEN, FULL };

static uint32_t step_at(const unsigned char *steps, size_t width, size_t i) {
    uint32_t step = 0;
    for (size_t byte = 0; byte < width; byte++) {
        step |= (uint32_t)steps[i * width + byte] << (8 * byte);
    }
    return step;
}

/* Owners of a list where all of them are moved by as much: the last one, before it is moved. */
INLINED uint64_t shifted(const unsigned char *steps, size_t width, size_t rows, uint32_t shift, uint32_t *owners) {
    uint64_t owner = 0;
    for (size_t i = 0; i < rows; i++) {
        owner += step_at(steps, width, i);
        owners[i] = (uint32_t)owner + shift;
    }
    return owner;
}

/* The rows that are kept, or -1 where an owner is not there. */
INLINED int64_t moved(const Lists *lists, const unsigned char *steps, size_t width, size_t rows, uint32_t *owners, unsigned char *counts) {
    const unsigned char *given = steps + width * rows;
    uint64_t owner = 0;
    size_t kept = 0;
    for (size_t i = 0; i < rows; i++) {
        owner += step_at(steps, width, i);
        if (owner >= lists->owners || lists->target[owner] > UINT32_MAX) {
            return -1;
        }
        if (lists->target[owner] >= 0) {
            owners[kept] = (uint32_t)lists->target[owner];
            counts[kept++] = given[i];
        }
    }
    return (int64_t)kept;
}

/* The same for a width that the compiler knows. */
static int64_t kept_rows(const Lists *lists, const unsigned char *steps, size_t width, size_t rows, uint32_t *owners, unsigned char *counts) {
    if (!lists->together) {
        return width == 1   ? moved(lists, steps, 1, rows, owners, counts)
               : width == 2 ? moved(lists, steps, 2, rows, owners, counts)
                            : moved(lists, steps, 4, rows, owners, counts);
    }
    uint32_t shift = (uint32_t)lists->target[0];
    uint64_t last = width == 1   ? shifted(steps, 1, rows, shift, owners)
                    : width == 2 ? shifted(steps, 2, rows, shift, owners)
                                 : shifted(steps, 4, rows, shift, owners);
    memcpy(counts, steps + width * rows, rows);
    return last < lists->owners ? (int64_t)rows : -1;
}

/* The live rows of a part's next list. */
static int take_list(Lists *lists, Merged *merged) {
    uint32_t row_end = lists->row_end[lists->at], byte_end = lists->byte_end[lists->at];
    if (row_end <= lists->row || byte_end < lists->byte || byte_end - lists->first_byte > (size_t)lists->data.len) {
        return BROKEN;
    }
    size_t rows = row_end - lists->row, bytes = byte_end - lists->byte, width = bytes / rows - (bytes >= rows);
    if ((width != 1 && width != 2 && width != 4) || (width + 1) * rows != bytes) {
        return BROKEN;
    }
    if (bytes_reserve(&merged->owners, rows * sizeof(uint32_t)) < 0 || bytes_reserve(&merged->counts, rows) < 0) {
        return FULL;
    }
    const unsigned char *steps = (const unsigned char *)lists->data.buf + (lists->byte - lists->first_byte);
    uint32_t *owners = (uint32_t *)(void *)(merged->owners.data + merged->owners.used);
    int64_t kept = kept_rows(lists, steps, width, rows, owners, (unsigned char *)merged->counts.data + merged->counts.used);
    if (kept < 0) {
        return BROKEN;
    }
    merged->owners.used += (size_t)kept * sizeof *owners;
    merged->counts.used += (size_t)kept;
    lists->row = row_end;
    lists->byte = byte_end;
    lists->at++;
    return lists->at < lists->count && lists->number[lists->at] <= lists->number[lists->at - 1] ? BROKEN : FINE;
}

static int by_owner(const void *left, const void *right) {
    const Row *a = left, *b = right;
    return a->owner != b->owner ? (a->owner < b->owner ? -1 : 1) : a->order < b->order ? -1 : 1;
}

/* Puts rows in order, of which equal ones stay as they are: 0, or -1 without memory. */
static int sort_rows(uint32_t *owners, unsigned char *counts, size_t count) {
    size_t sorted = 1;
    while (sorted < count && owners[sorted - 1] <= owners[sorted]) {
        sorted++;
    }
    if (sorted >= count) {
        return 0;
    }
    Row *rows = malloc(count * sizeof *rows);
    if (rows == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = (Row){owners[i], (uint32_t)i, counts[i]};
    }
    qsort(rows, count, sizeof *rows, by_owner);
    for (size_t i = 0; i < count; i++) {
        owners[i] = rows[i].owner;
        counts[i] = rows[i].count;
    }
    free(rows);
    return 0;
}

INLINED void put_steps(const uint32_t *owners, size_t count, size_t width, unsigned char *out) {
    for (size_t i = 0; i < count; i++) {
        uint32_t step = i ? owners[i] - owners[i - 1] : owners[0];
        for (size_t byte = 0; byte < width; byte++) {
            out[i * width + byte] = (unsigned char)(step >> (8 * byte));
        }
    }
}

/* Rows of one term, in order, as they are stored. */
static int put_rows(Merged *merged, uint32_t term, const uint32_t *owners, const unsigned char *counts, size_t count) {
    uint32_t largest = owners[0];
    for (size_t i = 1; i < count; i++) {
        uint32_t step = owners[i] - owners[i - 1];
        largest = step > largest ? step : largest;
    }
    size_t width = largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : 4;
    int64_t total = (int64_t)count, size = (int64_t)((width + 1) * count);
    if (bytes_append(&merged->terms, &term, sizeof term) < 0 || bytes_append(&merged->rows, &total, sizeof total) < 0 ||
        bytes_append(&merged->sizes, &size, sizeof size) < 0 || bytes_reserve(&merged->data, (size_t)size) < 0) {
        return FULL;
    }
    unsigned char *out = (unsigned char *)merged->data.data + merged->data.used;
    if (width == 1) {
        put_steps(owners, count, 1, out);
    } else if (width == 2) {
        put_steps(owners, count, 2, out);
    } else {
        put_steps(owners, count, 4, out);
    }
    memcpy(out + width * count, counts, count);
    merged->data.used += (size_t)size;
    return FINE;
}

/* The list that waits, as it is stored. */
static int put_list(Merged *merged, uint32_t term) {
    uint32_t *owners = (uint32_t *)(void *)merged->owners.data;
    unsigned char *counts = (unsigned char *)merged->counts.data;
    size_t count = merged->counts.used;
    if (count == 0) {
        return FINE;
    }
    if (sort_rows(owners, counts, count) < 0) {
        return FULL;
    }
    merged->owners.used = merged->counts.used = 0;
    return put_rows(merged, term, owners, counts, count);
}

/* Which part's list comes next, and of which term: as one number, since these are compared most of the time. */
static uint64_t turn_of(const Lists *lists, size_t part) { return (uint64_t)lists[part].number[lists[part].at] << 32 | part; }

static void sift_turns(uint64_t *heap, size_t count, size_t at) {
    uint64_t moving = heap[at];
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        below += below + 1 < count && heap[below + 1] < heap[below];
        if (heap[below] >= moving) {
            break;
        }
        heap[at] = heap[below];
    }
    heap[at] = moving;
}

/* All lists in order of their terms. What is not fine is the fault of the part in `broken`. */
static int merge_lists(Lists *lists, size_t parts, uint64_t *heap, Merged *merged, size_t *broken) {
    size_t count = 0;
    for (size_t i = 0; i < parts; i++) {
        *broken = i;
        if (lists[i].count) {
            if (lists[i].number[0] < 0 || lists[i].number[lists[i].count - 1] > UINT32_MAX) {
                return BROKEN;
            }
            heap[count++] = turn_of(lists, i);
        }
    }
    for (size_t at = count / 2; at-- > 0;) {
        sift_turns(heap, count, at);
    }
    while (count) {
        uint32_t number = (uint32_t)(heap[0] >> 32);
        while (count && heap[0] >> 32 == number) {
            size_t part = (size_t)(heap[0] & UINT32_MAX);
            *broken = part;
            int state = take_list(&lists[part], merged);
            if (state != FINE) {
                return state;
            }
            heap[0] = lists[part].at < lists[part].count ? turn_of(lists, part) : heap[--count];
            sift_turns(heap, count, 0);
        }
        int state = put_list(merged, number);
        if (state != FINE) {
            return state;
        }
    }
    return FINE;
}

/* Whether a part's owners stay next to each other. */
static int stay_together(const int64_t *targets, size_t count) {
    size_t i = 1;
    if (count == 0 || targets[0] < 0 || targets[0] > (int64_t)UINT32_MAX - (int64_t)count) {
        return 0;
    }
    while (i < count && targets[i] == targets[i - 1] + 1) {
        i++;
    }
    return i == count;
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
    lists->together = stay_together(lists->target, lists->owners);
    return 0;
}

/* Rows by term and owner as lists: 0, or -1 without memory. */
static int pack_rows(const uint32_t *terms, const uint32_t *owners, const unsigned char *counts, size_t rows, Merged *merged) {
    for (size_t at = 0; at < rows;) {
        size_t start = at;
        while (at < rows && terms[at] == terms[start]) {
            at++;
        }
        if (put_rows(merged, terms[start], owners + start, counts + start, at - start) != FINE) {
            return -1;
        }
    }
    return 0;
}

static void merged_free(Merged *merged) {
    bytes_free(&merged->terms);
    bytes_free(&merged->rows);
    bytes_free(&merged->sizes);
    bytes_free(&merged->data);
    bytes_free(&merged->owners);
    bytes_free(&merged->counts);
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
        fail("every row has a term, an owner and a count");
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
    RELEASE(&terms, &owners, &counts);
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
    uint64_t *heap = malloc((parts ? parts : 1) * sizeof *heap);
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
            RELEASE(&lists[i].numbers, &lists[i].rows, &lists[i].ends, &lists[i].data, &lists[i].targets);
        }
    }
    free(lists);
    free(heap);
    merged_free(&merged);
    return found;
}
