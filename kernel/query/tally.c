/* Adding up postings, and BM25 over what they add up to, as storage/postings.py and lanes/lexical.py have it.

   Owners come from files that anybody may have written: each is checked before it is used as a place. */

#include "support/kernel.h"

#include <stdlib.h>

/* One part of a sum: owners with counts or amounts, or a list as storage/postings.py lays it out, whose owners are below `limit` and
   follow `first`; and how far it has been added. */
typedef struct {
    Py_buffer held[2];
    int opened;
    const int64_t *owners;      /* NULL: a list */
    const unsigned char *steps;
    const unsigned char *counts;
    const double *amounts;      /* NULL: counts */
    size_t rows, width, place;
    uint64_t limit, first, owner;
    double factor;
} Part;

/* Reads a list's part, a tuple (list, its rows, one more than its largest owner may be, where its first owner is, factor): 0, or 1
   where it is broken, or -1 with an exception. */
static int open_list(Part *part, PyObject *given, size_t total) {
    Py_ssize_t rows, limit, first;
    if (!PyArg_ParseTuple(given, "y*nnnd", &part->held[0], &rows, &limit, &first, &part->factor)) {
        return -1;
    }
    part->opened = 1;
    Py_ssize_t size = part->held[0].len;
    if (first < 0 || limit < 0 || (size_t)first > total || (size_t)limit > total - (size_t)first) {
        return fail("there are not so many owners");
    }
    if (rows <= 0 || rows > size || size % rows || (uint64_t)rows > UINT32_MAX || /* so that no sum of steps wraps around */
        (size / rows != 2 && size / rows != 3 && size / rows != 5)) {
        return 1;
    }
    part->rows = (size_t)rows;
    part->width = (size_t)(size / rows - 1);
    part->steps = part->held[0].buf;
    part->counts = part->steps + part->rows * part->width;
    part->limit = (uint64_t)limit;
    part->first = (uint64_t)first;
    return 0;
}

/* The same for a tuple (owners, counts in bytes or amounts in double precision, factor). */
static int open_arrays(Part *part, PyObject *given) {
    if (!PyArg_ParseTuple(given, "y*y*d", &part->held[0], &part->held[1], &part->factor)) {
        return -1;
    }
    part->opened = 2;
    Py_ssize_t count = items_of(&part->held[0], 8, "the owners");
    if (count < 0) {
        return -1;
    }
    if (part->held[1].len == count) {
        part->counts = part->held[1].buf;
    } else if (items_of(&part->held[1], 8, "the amounts") == count) {
        part->amounts = part->held[1].buf;
    } else {
        if (!PyErr_Occurred()) {
            fail("not every owner has an amount");
        }
        return -1;
    }
    part->owners = part->held[0].buf;
    part->rows = (size_t)count;
    return 0;
}

static void close_parts(Part *parts, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        while (parts[i].opened > 0) {
            PyBuffer_Release(&parts[i].held[--parts[i].opened]);
        }
    }
    free(parts);
}

/* Whether the owners of all arrays are there (0; -1 if not) and none comes before another that is larger (1; lists never do). */
static int in_order(const Part *parts, Py_ssize_t count, size_t total) {
    int ordered = 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        const int64_t *owners = parts[i].owners;
        for (size_t place = 0; owners != NULL && place < parts[i].rows; place++) {
            if ((uint64_t)owners[place] >= total) {
                return -1;
            }
            ordered &= place == 0 || owners[place - 1] <= owners[place];
        }
    }
    return ordered;
}

#define WINDOW 4096 /* owners whose sums stay near the processor while every part adds its own to them */

typedef struct {
    double sums[WINDOW];
    uint64_t marks[WINDOW / 64];
} Window;

static inline void put(Window *window, uint64_t at, double amount) {
    window->sums[at] += amount;
    window->marks[at / 64] |= UINT64_C(1) << at % 64;
}

/* Adds a list's rows before the end of the window: 0, or 1 where it is broken. What is read is read once: files may change. */
#define ADD_STEPS(TYPE) \
    for (; part->place < part->rows; part->place++) { \
        TYPE step; \
        memcpy(&step, part->steps + part->place * sizeof step, sizeof step); \
        uint64_t owner = part->owner + step; \
        if (owner >= part->limit) { \
            return 1; \
        } \
        uint64_t at = part->first + owner - start; \
        if (at >= WINDOW) { \
            return part->first + owner < start; \
        } \
        part->owner = owner; \
        put(window, at, (double)part->counts[part->place] * part->factor); \
    } \
    return 0;

static int add_rows(Part *part, Window *window, uint64_t start) {
    if (part->owners == NULL) {
        switch (part->width) {
        case 1:
            ADD_STEPS(uint8_t)
        case 2:
            ADD_STEPS(uint16_t)
        default:
            ADD_STEPS(uint32_t)
        }
    }
    for (; part->place < part->rows; part->place++) {
        uint64_t at = (uint64_t)part->owners[part->place] - start;
        if (at >= WINDOW) {
            return (uint64_t)part->owners[part->place] < start;
        }
        put(window, at, (part->amounts == NULL ? (double)part->counts[part->place] : part->amounts[part->place]) * part->factor);
    }
    return 0;
}

/* The owner that a part goes on with; UINT64_MAX where it is done. */
static uint64_t following(const Part *part) {
    if (part->place >= part->rows) {
        return UINT64_MAX;
    }
    if (part->owners != NULL) {
        return (uint64_t)part->owners[part->place];
    }
    uint32_t step = 0;
    for (size_t byte = 0; byte < part->width; byte++) { /* as they are stored, whatever the machine */
        step |= (uint32_t)part->steps[part->place * part->width + byte] << 8 * byte;
    }
    return part->first + part->owner + step;
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

/* All sums that are not zero, at most so many, window by window: how many, or -1 - the number of a part that is a broken list. */
static Py_ssize_t add_up(Part *parts, Py_ssize_t count, size_t total, int64_t *owners, double *sums, Py_ssize_t most) {
    Window desk = {{0}, {0}}, *window = &desk;
    Py_ssize_t found = 0;
    for (;;) {
        uint64_t start = UINT64_MAX;
        Py_ssize_t whose = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            uint64_t next = following(&parts[i]);
            whose = next < start ? i : whose;
            start = next < start ? next : start;
        }
        if (start == UINT64_MAX) {
            return found;
        }
        if (start >= total) {
            return -1 - whose;
        }
        start = start / 64 * 64;
        for (Py_ssize_t i = 0; i < count; i++) {
            if (add_rows(&parts[i], window, start)) {
                return -1 - i;
            }
        }
        for (size_t word = 0; word < WINDOW / 64; word++) {
            for (uint64_t left = desk.marks[word]; left; left &= left - 1) {
                size_t at = word * 64 + LOWEST(left);
                if (desk.sums[at] != 0 && found < most) {
                    owners[found] = (int64_t)(start + at);
                    sums[found++] = desk.sums[at];
                }
                desk.sums[at] = 0;
            }
            desk.marks[word] = 0;
        }
    }
}

/* The same where owners come in any order: every owner has its place on a desk of its own. */
static Py_ssize_t add_up_anyhow(Part *parts, Py_ssize_t count, size_t total, int64_t *owners, double *sums, Py_ssize_t most) {
    double *desk = calloc(total ? total : 1, sizeof *desk);
    if (desk == NULL) {
        return PY_SSIZE_T_MIN;
    }
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Part *part = &parts[i];
        for (; part->place < part->rows; part->place++) {
            uint64_t owner = following(part);
            if (owner >= total || (part->owners == NULL && owner - part->first >= part->limit)) {
                free(desk);
                return -1 - i;
            }
            part->owner = owner - part->first;
            desk[owner] += (part->amounts == NULL ? (double)part->counts[part->place] : part->amounts[part->place]) * part->factor;
        }
    }
    for (size_t owner = 0; owner < total; owner++) {
        if (desk[owner] != 0 && found < most) {
            owners[found] = (int64_t)owner;
            sums[found++] = desk[owner];
        }
    }
    free(desk);
    return found;
}

/* Parts, and how many owners there are: the owners that have anything, in order, and their sums; or the number of a part that is a
   broken list. */
PyObject *kernel_tally(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *owners = NULL, *sums = NULL, *found = NULL;
    Py_ssize_t total;
    if (!PyArg_ParseTuple(arguments, "O!n", &PyList_Type, &given, &total)) {
        return NULL;
    }
    Py_ssize_t count = PyList_Size(given), broken = -1, many = 0;
    size_t rows = 0;
    Part *parts = calloc((size_t)(count ? count : 1), sizeof *parts);
    if (parts == NULL) {
        return PyErr_NoMemory();
    }
    if (total < 0) {
        fail("there are not so many owners");
        goto done;
    }
    for (Py_ssize_t i = 0; i < count && broken < 0; i++) {
        PyObject *part = i < PyList_Size(given) ? Py_NewRef(PyList_GetItem(given, i)) : NULL;
        int failed = -1;
        if (part == NULL || !PyTuple_Check(part)) {
            PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        } else {
            failed = PyTuple_Size(part) == 5 ? open_list(&parts[i], part, (size_t)total) : open_arrays(&parts[i], part);
        }
        Py_XDECREF(part);
        if (failed < 0) {
            goto done;
        }
        broken = failed ? i : -1;
        rows += parts[i].rows; /* each has its bytes in memory: no such sum wraps around */
    }
    rows = rows < (size_t)total ? rows : (size_t)total;
    if (broken < 0) {
        owners = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * sizeof(int64_t)));
        sums = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(rows * sizeof(double)));
        if (owners == NULL || sums == NULL) {
            goto done;
        }
        int64_t *places = (int64_t *)(void *)PyByteArray_AsString(owners);
        double *each = (double *)(void *)PyByteArray_AsString(sums);
        int ordered;
        Py_BEGIN_ALLOW_THREADS
        ordered = in_order(parts, count, (size_t)total);
        if (ordered >= 0) {
            many = (ordered ? add_up : add_up_anyhow)(parts, count, (size_t)total, places, each, (Py_ssize_t)rows);
        }
        Py_END_ALLOW_THREADS
        if (ordered < 0) {
            fail("an owner is not there");
            goto done;
        }
        if (many == PY_SSIZE_T_MIN) {
            PyErr_NoMemory();
            goto done;
        }
        broken = many < 0 ? -1 - many : -1;
    }
    if (broken >= 0) {
        found = PyLong_FromSsize_t(broken);
        goto done;
    }
    if ((size_t)many < rows && (PyByteArray_Resize(owners, many * (Py_ssize_t)sizeof(int64_t)) < 0 ||
                                PyByteArray_Resize(sums, many * (Py_ssize_t)sizeof(double)) < 0)) {
        goto done;
    }
    found = Py_BuildValue("(OO)", owners, sums);
done:
    close_parts(parts, count);
    Py_XDECREF(owners);
    Py_XDECREF(sums);
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
        fail("the arrays are not of one length");
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
            fail("a unit is not there");
            Py_CLEAR(gains);
        }
    }
done:
    RELEASE(&units, &tf, &norm, &scores);
    return gains;
}
