/* Which terms hold some bytes, and which owners have one of them: as lanes/literal.py and storage/snapshot.py have it.

   Terms and lists come from files that anybody may have written: whatever leads nowhere is an error. */

#include "query/array.h"
#include "support/parallel.h"
#include "support/wide.h"

#include <stdlib.h>

/* The arguments' buffers of whole numbers of four bytes. */
typedef struct {
    Py_buffer view;
    const uint32_t *each;
    Py_ssize_t count;
} Numbers;

static int numbers_of(PyObject *object, Numbers *numbers, const char *what) {
    if (PyObject_GetBuffer(object, &numbers->view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    numbers->count = items_of(&numbers->view, 4, what);
    numbers->each = numbers->view.buf;
    if (numbers->count < 0) {
        PyBuffer_Release(&numbers->view);
        return -1;
    }
    return 0;
}

/* Letters by how often they are in terms, the commonest first; what is not among them is rarer still. */
static const char COMMON[] = "etarisnolcdpumgfhbyvkwxjzq";

/* How rare a byte is, the larger the rarer. */
static Py_ssize_t rarity(char byte) {
    const char *known = byte ? strchr(COMMON, byte) : NULL;
    return known == NULL ? (Py_ssize_t)sizeof COMMON : known - COMMON;
}

/* The bytes to find, and the places in them of the two rarest: searching these first leaves the fewest places to compare.
   Of one byte both are the same. */
typedef struct {
    const char *bytes;
    Py_ssize_t length, anchor, other;
} Piece;

static Piece piece_of(const char *bytes, Py_ssize_t length) {
    Piece piece = {bytes, length, 0, 0};
    for (Py_ssize_t i = 1; i < length; i++) {
        if (rarity(bytes[i]) > rarity(bytes[piece.anchor])) {
            piece.anchor = i;
        }
    }
    for (Py_ssize_t i = 0, best = -1; i < length; i++) {
        if (i != piece.anchor && rarity(bytes[i]) > best) {
            best = rarity(bytes[i]);
            piece.other = i;
        }
    }
    return piece;
}

/* The first place from `from` on where a piece stands, or -1. */
static Py_ssize_t find_plain(const char *data, Py_ssize_t size, const Piece *piece, Py_ssize_t from) {
    while (from <= size - piece->length) {
        const char *found = memchr(data + from + piece->anchor, piece->bytes[piece->anchor], (size_t)(size - piece->length - from) + 1);
        if (found == NULL) {
            return -1;
        }
        from = found - data - piece->anchor;
        if (memcmp(data + from, piece->bytes, (size_t)piece->length) == 0) {
            return from;
        }
        from++;
    }
    return -1;
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

/* The same, 32 places at a time. */
__attribute__((target("avx2"))) static Py_ssize_t find_wide(const char *data, Py_ssize_t size, const Piece *piece, Py_ssize_t from) {
    const __m256i one = _mm256_set1_epi8(piece->bytes[piece->anchor]), two = _mm256_set1_epi8(piece->bytes[piece->other]);
    for (; from <= size - piece->length - 31; from += 32) {
        __m256i here = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(data + from + piece->anchor)), one);
        __m256i there = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(data + from + piece->other)), two);
        unsigned left = (unsigned)_mm256_movemask_epi8(_mm256_and_si256(here, there));
        for (; left; left &= left - 1) {
            Py_ssize_t place = from + __builtin_ctz(left);
            if (memcmp(data + place, piece->bytes, (size_t)piece->length) == 0) {
                return place;
            }
        }
    }
    return find_plain(data, size, piece, from);
}

static Py_ssize_t find(const char *data, Py_ssize_t size, const Piece *piece, Py_ssize_t from) {
    return (HAS_WIDE ? find_wide : find_plain)(data, size, piece, from);
}
#else
#define find find_plain
#endif

/* The number of the first end that is above a place. */
static Py_ssize_t ending_after(const Numbers *ends, Py_ssize_t low, Py_ssize_t place) {
    Py_ssize_t high = ends->count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if ((Py_ssize_t)ends->each[middle] > place) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Some of all terms, and the numbers of those that hold a piece. */
typedef struct {
    const char *terms;
    Py_ssize_t from, size, term, most;
    const Numbers *ends;
    const Piece *piece;
    Bytes numbers;
    Py_ssize_t many;
    int failed;
} Holding;

/* Searches until there are more than requested. */
static void find_holding(void *argument) {
    Holding *part = argument;
    Py_ssize_t at = find(part->terms, part->size, part->piece, part->from);
    while (at >= 0) {
        part->term = ending_after(part->ends, part->term, at);
        if (part->term >= part->ends->count) {
            return;
        }
        Py_ssize_t end = (Py_ssize_t)part->ends->each[part->term];
        int inside = at + part->piece->length <= end;
        if (inside) {
            int64_t number = part->term;
            if (++part->many > part->most) {
                return;
            }
            if (bytes_append(&part->numbers, &number, sizeof number) < 0) {
                part->failed = 1;
                return;
            }
        }
        at = find(part->terms, part->size, part->piece, inside ? end : at + 1);
    }
}

#define WORTH_A_THREAD 8000000 /* bytes */

/* Terms one after the other, where each ends, some bytes, how many terms at most: the numbers of those that hold the bytes. */
PyObject *kernel_terms_with(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer terms, piece;
    PyObject *given_ends, *found = NULL;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "y*Oy*n", &terms, &given_ends, &piece, &most)) {
        return NULL;
    }
    Numbers ends;
    if (numbers_of(given_ends, &ends, "the ends") < 0) {
        goto released;
    }
    if (piece.len < 1) {
        fail("there is nothing to search for");
        goto done;
    }
    const Piece wanted = piece_of(piece.buf, piece.len);
    Holding all = {terms.buf, 0, terms.len, 0, most, &ends, &wanted, {0}, 0, 0}, rest = all;
    Py_BEGIN_ALLOW_THREADS
    Py_ssize_t half = ends.count / 2, border = half ? (Py_ssize_t)ends.each[half - 1] : 0;
    if (terms.len < WORTH_A_THREAD || border <= 0 || border >= terms.len) {
        find_holding(&all);
    } else {
        all.size = rest.from = border; /* what reaches over it is in no term */
        rest.term = half;
        in_two(find_holding, &all, &rest);
    }
    Py_END_ALLOW_THREADS
    Py_ssize_t many = all.many > most || rest.many > most - all.many ? -1 : all.many + rest.many;
    if (all.failed || rest.failed) {
        PyErr_NoMemory();
    } else if (many < 0) {
        found = Py_NewRef(Py_None);
    } else {
        Array *array = array_new(I64, many);
        if (array != NULL && many) {
            if (all.many) {
                memcpy(array->data, all.numbers.data, all.numbers.used);
            }
            if (rest.many) {
                memcpy(array->data + all.numbers.used, rest.numbers.data, rest.numbers.used);
            }
        }
        found = (PyObject *)array;
    }
    bytes_free(&all.numbers);
    bytes_free(&rest.numbers);
done:
    PyBuffer_Release(&ends.view);
released:
    RELEASE(&terms, &piece);
    return found;
}

/* Numbers of terms, ascending, and a family's terms, rows and ends: where the lists of those that it has begin and end, and how
   many rows they have; None where a list is broken. */
PyObject *kernel_spans(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *asked, *given[3], *found = NULL;
    Numbers lists[3];
    int opened = 0;
    if (!PyArg_ParseTuple(arguments, "OOOO", &asked, &given[0], &given[1], &given[2])) {
        return NULL;
    }
    Array *wanted = array_from_as(asked, I64), *starts = NULL, *stops = NULL, *rows = NULL;
    static const char *const names[] = {"the terms", "the rows", "the ends"};
    while (wanted != NULL && opened < 3 && numbers_of(given[opened], &lists[opened], names[opened]) == 0) {
        opened++;
    }
    if (wanted == NULL || opened < 3) {
        goto done;
    }
    if (lists[0].count != lists[1].count || lists[0].count != lists[2].count) {
        fail("the lists are not of one length");
        goto done;
    }
    starts = array_new(I64, wanted->count);
    stops = array_new(I64, wanted->count);
    rows = array_new(I64, wanted->count);
    if (starts == NULL || stops == NULL || rows == NULL) {
        goto done;
    }
    const int64_t *terms = (const int64_t *)(const void *)wanted->data;
    Py_ssize_t many = 0, place = 0;
    for (Py_ssize_t i = 0; i < wanted->count; i++) {
        if (terms[i] < 0 || (i && terms[i] <= terms[i - 1])) {
            fail("the terms do not ascend");
            goto done;
        }
        place = ending_after(&lists[0], place, (Py_ssize_t)terms[i] - 1);
        if (place >= lists[0].count || (int64_t)lists[0].each[place] != terms[i]) {
            continue;
        }
        int64_t first = place ? lists[1].each[place - 1] : 0, start = place ? lists[2].each[place - 1] : 0;
        int64_t count = (int64_t)lists[1].each[place] - first, size = (int64_t)lists[2].each[place] - start;
        if (count <= 0 || (size != 2 * count && size != 3 * count && size != 5 * count)) {
            found = Py_NewRef(Py_None);
            goto done;
        }
        ((int64_t *)(void *)starts->data)[many] = start;
        ((int64_t *)(void *)stops->data)[many] = start + size;
        ((int64_t *)(void *)rows->data)[many++] = count;
    }
    starts->count = stops->count = rows->count = many;
    found = PyTuple_Pack(3, (PyObject *)starts, (PyObject *)stops, (PyObject *)rows);
done:
    DROP(wanted, starts, stops, rows);
    while (opened > 0) {
        PyBuffer_Release(&lists[--opened].view);
    }
    return found;
}

/* Marks every owner of one list: 0, or -1 where one is not there. */
#define MARK(TYPE) \
    for (int64_t i = 0; i < rows; i++) { \
        TYPE step; \
        memcpy(&step, list + (size_t)i * sizeof step, sizeof step); \
        owner += step; \
        if (owner >= total) { \
            return -1; \
        } \
        mask[owner] = 1; \
    } \
    return 0;

static int mark_list(const char *list, int64_t rows, int64_t width, uint8_t *mask, uint64_t total) {
    uint64_t owner = 0;
    if (width == 1) {
        MARK(uint8_t)
    }
    if (width == 2) {
        MARK(uint16_t)
    }
    MARK(uint32_t)
}

/* A family's data, where lists begin and end in it, how many rows each has, a mask of all owners: marks those of the lists;
   whether all of them are there. */
PyObject *kernel_mark(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer data;
    PyObject *given[3], *target, *found = NULL;
    if (!PyArg_ParseTuple(arguments, "y*OOOO", &data, &given[0], &given[1], &given[2], &target)) {
        return NULL;
    }
    Array *starts = array_from_as(given[0], I64), *stops = starts == NULL ? NULL : array_from_as(given[1], I64);
    Array *rows = stops == NULL ? NULL : array_from_as(given[2], I64);
    if (rows == NULL) {
        goto done;
    }
    if (!is_array(target) || as_array(target)->kind != BOOL || as_array(target)->fixed || starts->count != stops->count ||
        starts->count != rows->count) {
        fail("the arrays do not go together");
        goto done;
    }
    Array *mask = as_array(target);
    int whole = 1;
    for (Py_ssize_t i = 0; whole && i < starts->count; i++) {
        int64_t start = ((const int64_t *)(const void *)starts->data)[i], stop = ((const int64_t *)(const void *)stops->data)[i];
        int64_t count = ((const int64_t *)(const void *)rows->data)[i];
        whole = start >= 0 && stop > start && stop <= data.len && count > 0 && (stop - start) % count == 0;
        int64_t width = whole ? (stop - start) / count - 1 : 0;
        whole = whole && (width == 1 || width == 2 || width == 4) &&
                mark_list((const char *)data.buf + start, count, width, (uint8_t *)mask->data, (uint64_t)mask->count) == 0;
    }
    found = PyBool_FromLong(whole);
done:
    DROP(starts, stops, rows);
    PyBuffer_Release(&data);
    return found;
}
