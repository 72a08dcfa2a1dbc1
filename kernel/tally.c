/* Adding up postings, and BM25 over what they add up to, as index/tally.py and lanes/lexical.py have it.

   Owners come from files that anybody may have written: each is checked before it is used as a place. */

#include "kernel.h"

#include <stdlib.h>

/* Where sums are made: one number and one mark per owner, all zero between calls. */
typedef struct {
    double *sums;
    uint64_t *marks;
    size_t total;
} Desk;

static void clear(Desk *desk) {
    memset(desk->sums, 0, desk->total * sizeof *desk->sums);
    memset(desk->marks, 0, (desk->total / 64 + 1) * sizeof *desk->marks);
}

/* Adds value · factor to each owner: 0, or -1 where one is not there. */
static int add_part(Desk *desk, const int64_t *owners, const void *values, int wide, size_t count, double factor) {
    const unsigned char *counts = values;
    const double *amounts = values;
    for (size_t i = 0; i < count; i++) {
        uint64_t owner = (uint64_t)owners[i];
        if (owner >= desk->total) {
            return -1;
        }
        desk->sums[owner] += (wide ? amounts[i] : (double)counts[i]) * factor;
        desk->marks[owner / 64] |= UINT64_C(1) << owner % 64;
    }
    return 0;
}

static size_t marked(const Desk *desk) {
    size_t found = 0;
    for (size_t owner = 0; owner < desk->total; owner += 64) {
        for (uint64_t left = desk->marks[owner / 64]; left; left &= left - 1) {
            found++;
        }
    }
    return found;
}

/* Those that have anything, in order, at most so many; the desk is empty after that. */
static size_t take(Desk *desk, int64_t *owners, double *sums, size_t most) {
    size_t found = 0;
    for (size_t word = 0; word < desk->total / 64 + 1; word++) {
        uint64_t left = desk->marks[word];
        desk->marks[word] = 0;
        for (size_t owner = word * 64; left && owner < desk->total; owner++, left >>= 1) {
            if (left & 1) {
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

/* One part, a tuple (owners, counts in bytes or amounts in double precision, factor): 0, or -1 with an exception. */
static int add_given(Desk *desk, PyObject *part) {
    Py_buffer owners, values;
    double factor;
    if (!PyTuple_Check(part)) {
        PyErr_SetString(PyExc_TypeError, "a part is a tuple");
        return -1;
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
    if (total < 0 || total > words || words - total < total / 64 + 1) {
        PyErr_SetString(PyExc_ValueError, "the desk is too small");
        goto done;
    }
    Desk desk = {room.buf, (uint64_t *)room.buf + total, (size_t)total};
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(parts); i++) {
        PyObject *part = Py_NewRef(PyList_GetItem(parts, i));
        failed = add_given(&desk, part);
        Py_DECREF(part);
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
