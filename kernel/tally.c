/* Adding up postings, and BM25 over what they add up to, as index/tally.py and lanes/lexical.py have it.

   Owners come from files that anybody may have written: each is checked before it is used as a place. */

#include "kernel.h"

#include <stdlib.h>

/* Where sums are made: one number and one mark per owner, and one mark per 64 marks, all zero between calls. Who has few owners
   among very many finds them by the marks of marks. */
typedef struct {
    double *sums;
    uint64_t *marks, *groups;
    size_t total;
} Desk;

#define MARKS(total) ((total) / 64 + 1)
#define GROUPS(total) (MARKS(total) / 64 + 1)

static void clear(Desk *desk) {
    memset(desk->sums, 0, desk->total * sizeof *desk->sums);
    memset(desk->marks, 0, MARKS(desk->total) * sizeof *desk->marks);
    memset(desk->groups, 0, GROUPS(desk->total) * sizeof *desk->groups);
}

/* The marks of one word of them, gathered while owners stay in it. */
typedef struct {
    size_t word;
    uint64_t bits;
} Mark;

static inline void put_marks(Desk *desk, const Mark *mark) {
    if (mark->bits) {
        desk->marks[mark->word] |= mark->bits;
        desk->groups[mark->word / 64] |= UINT64_C(1) << mark->word % 64;
    }
}

static inline void add_one(Desk *desk, Mark *mark, size_t owner, double amount) {
    desk->sums[owner] += amount;
    if (owner / 64 != mark->word) {
        put_marks(desk, mark);
        mark->word = owner / 64;
        mark->bits = 0;
    }
    mark->bits |= UINT64_C(1) << owner % 64;
}

/* Adds value · factor to each owner: 0, or -1 where one is not there. */
static int add_part(Desk *desk, const int64_t *owners, const void *values, int wide, size_t count, double factor) {
    const unsigned char *counts = values;
    const double *amounts = values;
    Mark mark = {0, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t owner = (uint64_t)owners[i];
        if (owner >= desk->total) {
            put_marks(desk, &mark);
            return -1;
        }
        add_one(desk, &mark, (size_t)owner, (wide ? amounts[i] : (double)counts[i]) * factor);
    }
    put_marks(desk, &mark);
    return 0;
}

/* The same for a list as index/postings.py lays it out, whose owners are below `limit` and follow `first` on the desk. */
#define ADD_LIST(TYPE) \
    for (size_t i = 0; i < rows; i++) { \
        TYPE step; \
        memcpy(&step, steps + i * sizeof step, sizeof step); \
        owner += step; \
        if (owner >= limit) { \
            put_marks(desk, &mark); \
            return -1; \
        } \
        add_one(desk, &mark, first + (size_t)owner, (double)counts[i] * factor); \
    } \
    put_marks(desk, &mark); \
    return 0;

static int add_list(Desk *desk, const unsigned char *steps, size_t rows, size_t width, uint64_t limit, size_t first, double factor) {
    const unsigned char *counts = steps + rows * width;
    uint64_t owner = 0;
    Mark mark = {0, 0};
    if (width == 1) {
        ADD_LIST(uint8_t)
    }
    if (width == 2) {
        ADD_LIST(uint16_t)
    }
    ADD_LIST(uint32_t)
}

#if defined(__GNUC__)
#define LOWEST(bits) ((size_t)__builtin_ctzll(bits))
#else
static size_t LOWEST(uint64_t bits) {
    size_t place = 0;
    for (; !(bits & 1); bits >>= 1) {
        place++;
    }
    return place;
}
#endif

static size_t marked(const Desk *desk) {
    size_t found = 0;
    for (size_t group = 0; group < GROUPS(desk->total); group++) {
        for (uint64_t words = desk->groups[group]; words; words &= words - 1) {
            for (uint64_t left = desk->marks[group * 64 + LOWEST(words)]; left; left &= left - 1) {
                found++;
            }
        }
    }
    return found;
}

/* Those that have anything, in order, at most so many; the desk is empty after that. */
static size_t take(Desk *desk, int64_t *owners, double *sums, size_t most) {
    size_t found = 0;
    for (size_t group = 0; group < GROUPS(desk->total); group++) {
        uint64_t words = desk->groups[group];
        desk->groups[group] = 0;
        for (; words; words &= words - 1) {
            size_t word = group * 64 + LOWEST(words);
            uint64_t left = desk->marks[word];
            desk->marks[word] = 0;
            for (; left; left &= left - 1) {
                size_t owner = word * 64 + LOWEST(left);
                if (desk->sums[owner] != 0 && found < most) {
                    owners[found] = (int64_t)owner;
                    sums[found++] = desk->sums[owner];
                }
                desk->sums[owner] = 0;
            }
        }
    }
    return found;
}

/* A part that is a list: (list, its rows, one more than its largest owner may be, where its first owner is, factor). 0, or 1 where
   it is broken, or -1 with an exception. */
static int add_given_list(Desk *desk, PyObject *part) {
    Py_buffer list;
    Py_ssize_t rows, limit, first;
    double factor;
    if (!PyArg_ParseTuple(part, "y*nnnd", &list, &rows, &limit, &first, &factor)) {
        return -1;
    }
    int failed;
    if (first < 0 || limit < 0 || (size_t)first > desk->total || (size_t)limit > desk->total - (size_t)first) {
        PyErr_SetString(PyExc_ValueError, "the desk is too small");
        failed = -1;
    } else if (rows <= 0 || rows > list.len || list.len % rows || (uint64_t)rows > UINT32_MAX ||
               (list.len / rows != 2 && list.len / rows != 3 && list.len / rows != 5)) {
        failed = 1;
    } else {
        Py_BEGIN_ALLOW_THREADS
        failed = add_list(desk, list.buf, (size_t)rows, (size_t)(list.len / rows - 1), (uint64_t)limit, (size_t)first, factor) < 0;
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&list);
    return failed;
}

/* One part, such a list or a tuple (owners, counts in bytes or amounts in double precision, factor): 0, or 1 where a list is
   broken, or -1 with an exception. */
static int add_given(Desk *desk, PyObject *part) {
    Py_buffer owners, values;
    double factor;
    if (!PyTuple_Check(part)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        return -1;
    }
    if (PyTuple_Size(part) == 5) {
        return add_given_list(desk, part);
    }
    if (!PyArg_ParseTuple(part, "y*y*d", &owners, &values, &factor)) {
        return -1;
    }
    Py_ssize_t count = items_of(&owners, 8, "the owners");
    int wide = values.len != count, failed = count < 0;
    if (!failed && wide && items_of(&values, 8, "the amounts") != count) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "not every owner has an amount");
        }
        failed = 1;
    }
    if (!failed) {
        Py_BEGIN_ALLOW_THREADS
        failed = add_part(desk, owners.buf, values.buf, wide, (size_t)count, factor);
        Py_END_ALLOW_THREADS
        if (failed) {
            PyErr_SetString(PyExc_ValueError, "an owner is not there");
        }
    }
    PyBuffer_Release(&owners);
    PyBuffer_Release(&values);
    return failed ? -1 : 0;
}

/* Parts, how many owners there are, a desk: the owners that have anything, in order, and their sums; or the number of the first
   part that is a broken list. */
PyObject *kernel_tally(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *parts, *owners = NULL, *sums = NULL, *found = NULL;
    Py_buffer room;
    Py_ssize_t total;
    if (!PyArg_ParseTuple(arguments, "O!nw*", &PyList_Type, &parts, &total, &room)) {
        return NULL;
    }
    Py_ssize_t words = items_of(&room, 8, "the desk");
    if (words < 0) {
        goto done;
    }
    if (total < 0 || total > words || (size_t)(words - total) < MARKS((size_t)total) + GROUPS((size_t)total)) {
        PyErr_SetString(PyExc_ValueError, "the desk is too small");
        goto done;
    }
    uint64_t *marks = (uint64_t *)room.buf + total;
    Desk desk = {room.buf, marks, marks + MARKS((size_t)total), (size_t)total};
    int failed = 0;
    Py_ssize_t place = 0;
    for (; !failed && place < PyList_Size(parts); place++) {
        PyObject *part = Py_NewRef(PyList_GetItem(parts, place));
        failed = add_given(&desk, part);
        Py_DECREF(part);
    }
    if (failed > 0) {
        clear(&desk);
        found = PyLong_FromSsize_t(place - 1);
        goto done;
    }
    size_t count = failed ? 0 : marked(&desk);
    if (!failed) {
        owners = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int64_t)));
        sums = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(double)));
    }
    if (owners == NULL || sums == NULL) {
        clear(&desk);
        goto done;
    }
    size_t kept = take(
        &desk, (int64_t *)(void *)PyByteArray_AsString(owners), (double *)(void *)PyByteArray_AsString(sums), count);
    if (kept < count && (PyByteArray_Resize(owners, (Py_ssize_t)(kept * sizeof(int64_t))) < 0 ||
                         PyByteArray_Resize(sums, (Py_ssize_t)(kept * sizeof(double))) < 0)) {
        goto done;
    }
    found = Py_BuildValue("(OO)", owners, sums);
done:
    Py_XDECREF(owners);
    Py_XDECREF(sums);
    PyBuffer_Release(&room);
    return found;
}

/* What each unit gains: times · tf / (tf + norm), added to its score too: 0, or -1 where a unit is not there. */
static int add_gains(const int64_t *units, const double *tf, size_t count, const double *norm, double times, double *scores,
                     size_t total, double *gains) {
    for (size_t i = 0; i < count; i++) {
        if ((uint64_t)units[i] >= total) {
            return -1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        gains[i] = times * tf[i] / (tf[i] + norm[units[i]]);
        scores[units[i]] += gains[i];
    }
    return 0;
}

PyObject *kernel_bm25(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer units, tf, norm, scores;
    double times;
    if (!PyArg_ParseTuple(arguments, "y*y*y*dw*", &units, &tf, &norm, &times, &scores)) {
        return NULL;
    }
    PyObject *gains = NULL;
    Py_ssize_t count = items_of(&units, 8, "the units"), total = items_of(&scores, 8, "the scores");
    if (count < 0 || total < 0 || items_of(&tf, 8, "the frequencies") < 0 || items_of(&norm, 8, "the lengths") < 0) {
        goto done;
    }
    if (tf.len != units.len || norm.len != scores.len) {
        PyErr_SetString(PyExc_ValueError, "the arrays are not of one length");
        goto done;
    }
    gains = PyByteArray_FromStringAndSize(NULL, tf.len);
    if (gains != NULL) {
        double *room = (double *)(void *)PyByteArray_AsString(gains);
        int failed;
        Py_BEGIN_ALLOW_THREADS
        failed = add_gains(units.buf, tf.buf, (size_t)count, norm.buf, times, scores.buf, (size_t)total, room);
        Py_END_ALLOW_THREADS
        if (failed) {
            PyErr_SetString(PyExc_ValueError, "a unit is not there");
            Py_CLEAR(gains);
        }
    }
done:
    PyBuffer_Release(&units);
    PyBuffer_Release(&tf);
    PyBuffer_Release(&norm);
    PyBuffer_Release(&scores);
    return gains;
}
