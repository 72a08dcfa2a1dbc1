/* Which terms hold some bytes, and which owners have one of them: as lanes/literal.py and index/reader.py have it.

   Terms and lists come from files that anybody may have written: whatever leads nowhere is told apart from what was found. */

#include "array.h"

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

/* Which byte of a piece is rarest: looking for that one first leaves the fewest places for a closer look. */
static Py_ssize_t rarest(const char *piece, Py_ssize_t length) {
    Py_ssize_t best = 0, rarity = -1;
    for (Py_ssize_t i = 0; i < length; i++) {
        const char *known = piece[i] ? strchr(COMMON, piece[i]) : NULL;
        Py_ssize_t here = known == NULL ? (Py_ssize_t)sizeof COMMON : known - COMMON;
        if (here > rarity) {
            best = i;
            rarity = here;
        }
    }
    return best;
}

/* The first place from `from` on where some bytes stand, or -1; `anchor` is the place in them of the byte to look for first. */
static Py_ssize_t find(const char *data, Py_ssize_t size, const char *piece, Py_ssize_t length, Py_ssize_t anchor, Py_ssize_t from) {
    while (from <= size - length) {
        const char *found = memchr(data + from + anchor, piece[anchor], (size_t)(size - length - from) + 1);
        if (found == NULL) {
            return -1;
        }
        from = found - data - anchor;
        if (memcmp(data + from, piece, (size_t)length) == 0) {
            return from;
        }
        from++;
    }
    return -1;
}

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
    Bytes numbers = {0};
    if (numbers_of(given_ends, &ends, "the ends") < 0) {
        goto released;
    }
    if (piece.len < 1) {
        PyErr_SetString(PyExc_ValueError, "there is nothing to look for");
        goto done;
    }
    Py_ssize_t anchor = rarest(piece.buf, piece.len), term = 0, many = 0;
    Py_ssize_t at = find(terms.buf, terms.len, piece.buf, piece.len, anchor, 0);
    while (at >= 0) {
        term = ending_after(&ends, term, at);
        if (term >= ends.count) {
            break;
        }
        Py_ssize_t end = (Py_ssize_t)ends.each[term];
        int inside = at + piece.len <= end;
        if (inside) {
            int64_t number = term;
            if (++many > most) {
                found = Py_NewRef(Py_None);
                goto done;
            }
            if (bytes_append(&numbers, &number, sizeof number) < 0) {
                PyErr_NoMemory();
                goto done;
            }
        }
        at = find(terms.buf, terms.len, piece.buf, piece.len, anchor, inside ? end : at + 1);
    }
    Array *array = array_new(I64, many);
    if (array != NULL && many) {
        memcpy(array->data, numbers.data, (size_t)many * sizeof(int64_t));
    }
    found = (PyObject *)array;
done:
    bytes_free(&numbers);
    PyBuffer_Release(&ends.view);
released:
    PyBuffer_Release(&terms);
    PyBuffer_Release(&piece);
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
        PyErr_SetString(PyExc_ValueError, "the lists are not of one length");
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
            PyErr_SetString(PyExc_ValueError, "the terms do not ascend");
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
    drop(wanted);
    drop(starts);
    drop(stops);
    drop(rows);
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
        PyErr_SetString(PyExc_ValueError, "the arrays do not go together");
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
    drop(starts);
    drop(stops);
    drop(rows);
    PyBuffer_Release(&data);
    return found;
}
