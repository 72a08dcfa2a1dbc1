/* Vectors of owners out of term counts, as vectors/static.py has them: what belongs to each owner is put together, made whole,
   summed and shortened, one owner after the other, so that nothing but the counts themselves is ever held in full. */

#include "support/kernel.h"
#include "index/sums.h"

#include <stdlib.h>

enum { TOTAL = 1 << 17 }; /* as in vectors/static.py */

/* One field: which owner has which term, how often, and what that weighs. */
typedef struct {
    Py_buffer owners, terms, counts;
    size_t rows;
    double roots[256];
} Part;

/* What an owner has: a row, and how much of it. */
typedef struct {
    double amount;
    uint32_t row;
} Share;

typedef struct {
    Part *parts;
    size_t part_count, total, term_count;
    const int32_t *given;
    int32_t *places; /* the same, without rows of zeros */
    const double *weights;
    Stored stored;
    uint64_t *ends;
    Share *shares;
    float *desk; /* two rows as they are stored, and one sum */
    int64_t *rows;
    double *amounts;
    signed char *numbers;
    float *scales;
} Desk;

static int take_part(PyObject *given, Part *part) {
    double weight;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a field is a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "y*y*y*d", &part->owners, &part->terms, &part->counts, &weight)) {
        return -1;
    }
    Py_ssize_t owners = items_of(&part->owners, 4, "the owners"), terms = items_of(&part->terms, 4, "the terms");
    if (owners >= 0 && terms >= 0 && (owners != terms || owners != part->counts.len)) {
        fail("a field's columns differ in length");
        owners = -1;
    }
    if (owners < 0 || terms < 0) {
        RELEASE(&part->owners, &part->terms, &part->counts);
        return -1;
    }
    part->rows = (size_t)owners;
    for (int i = 0; i < 256; i++) {
        part->roots[i] = weight * sqrt((double)i);
    }
    return 0;
}

/* A row of zeros says nothing, and must not take a share of what an owner's rows have together. */
static int is_nothing(const Stored *stored, size_t number) {
    const unsigned char *row = stored->data + number * stored->width;
    for (size_t i = 0; i < stored->dims; i++) {
        if (stored->bits == 8 ? row[i] : (row[i / 2] >> (i % 2 ? 4 : 0) & 15) != 8) {
            return 0;
        }
    }
    return 1;
}

/* Whether everything leads somewhere; counts what each owner has. */
static int counted(Desk *desk) {
    for (size_t term = 0; term < desk->term_count; term++) {
        int32_t place = desk->given[term];
        if (place >= 0 && ((size_t)place >= desk->stored.height || !isfinite(desk->weights[term]))) {
            return 0;
        }
        desk->places[term] = place < 0 || is_nothing(&desk->stored, (size_t)place) ? -1 : place;
    }
    for (size_t i = 0; i < desk->part_count; i++) {
        const Part *part = &desk->parts[i];
        const uint32_t *owners = part->owners.buf, *terms = part->terms.buf;
        for (size_t row = 0; row < part->rows; row++) {
            if (owners[row] >= desk->total || terms[row] >= desk->term_count) {
                return 0;
            }
            desk->ends[owners[row]] += desk->places[terms[row]] >= 0;
        }
    }
    return 1;
}

/* Each owner's shares next to each other, in the order of the fields and of their rows; ends are where they begin now, and
   where they end afterwards. */
static void put_together(Desk *desk) {
    for (size_t i = 0; i < desk->part_count; i++) {
        const Part *part = &desk->parts[i];
        const uint32_t *owners = part->owners.buf, *terms = part->terms.buf;
        const unsigned char *counts = part->counts.buf;
        for (size_t row = 0; row < part->rows; row++) {
            int32_t place = desk->places[terms[row]];
            if (place >= 0) {
                Share *share = &desk->shares[desk->ends[owners[row]]++];
                share->amount = part->roots[counts[row]] * desk->weights[terms[row]];
                share->row = (uint32_t)place;
            }
        }
    }
}

/* Whether all amounts are small enough for exact sums. */
INLINED int all_owners(Desk *desk) {
    const Stored *stored = &desk->stored;
    float *sums = desk->desk + 2 * stored->width;
    for (size_t owner = 0; owner < desk->total; owner++) {
        size_t start = owner ? (size_t)desk->ends[owner - 1] : 0, count = (size_t)desk->ends[owner] - start;
        const Share *shares = desk->shares + start;
        double together = 0;
        for (size_t i = 0; i < count; i++) {
            together += fabs(shares[i].amount);
        }
        double factor = (together > 0 ? together : 1.0) / TOTAL, whole = 0;
        for (size_t i = 0; i < count; i++) {
            desk->rows[i] = (int64_t)shares[i].row;
            desk->amounts[i] = trunc(shares[i].amount / factor);
            whole += fabs(desk->amounts[i]);
        }
        if (!(whole <= TOTAL + 64)) {
            return 0;
        }
        sum_of(stored, desk->rows, desk->amounts, count, desk->desk, sums);
        desk->scales[owner] = shortened(sums, stored->dims, desk->numbers + owner * stored->dims);
    }
    return 1;
}

WIDE static int all_owners_wide(Desk *desk) { return all_owners(desk); }

static int all_owners_plain(Desk *desk) { return all_owners(desk); }

/* 1, or 0 where something leads nowhere, or -1 when there is no memory. */
static int work_through(Desk *desk) {
    if (!counted(desk)) {
        return 0;
    }
    uint64_t before = 0, most = 0;
    for (size_t owner = 0; owner < desk->total; owner++) {
        uint64_t count = desk->ends[owner];
        most = count > most ? count : most;
        desk->ends[owner] = before;
        before += count;
    }
    desk->shares = malloc((size_t)(before + 1) * sizeof *desk->shares);
    desk->rows = malloc((size_t)(most + 1) * sizeof *desk->rows);
    desk->amounts = malloc((size_t)(most + 1) * sizeof *desk->amounts);
    if (desk->shares == NULL || desk->rows == NULL || desk->amounts == NULL) {
        return -1;
    }
    put_together(desk);
    return (HAS_WIDE ? all_owners_wide : all_owners_plain)(desk);
}

static PyObject *owner_sums(Desk *desk) {
    const Stored *stored = &desk->stored;
    PyObject *found = NULL;
    PyObject *numbers = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(desk->total * stored->dims));
    PyObject *scales = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(desk->total * sizeof(float)));
    desk->places = malloc((desk->term_count + 1) * sizeof *desk->places);
    desk->ends = calloc(desk->total + 1, sizeof *desk->ends);
    desk->desk = malloc((2 * stored->width + stored->dims) * sizeof *desk->desk);
    if (numbers == NULL || scales == NULL || desk->places == NULL || desk->ends == NULL || desk->desk == NULL) {
        PyErr_NoMemory();
    } else {
        int sound;
        desk->numbers = (signed char *)PyByteArray_AsString(numbers);
        desk->scales = (float *)(void *)PyByteArray_AsString(scales);
        Py_BEGIN_ALLOW_THREADS
        sound = work_through(desk);
        Py_END_ALLOW_THREADS
        if (sound < 0) {
            PyErr_NoMemory();
        } else if (!sound) {
            fail("a row, a term or an owner is not there, or a weight is not small");
        } else {
            found = Py_BuildValue("(OO)", numbers, scales);
        }
    }
    free(desk->places);
    free(desk->ends);
    free(desk->desk);
    free(desk->shares);
    free(desk->rows);
    free(desk->amounts);
    Py_XDECREF(numbers);
    Py_XDECREF(scales);
    return found;
}

PyObject *kernel_owner_sums(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given, *found = NULL;
    Py_ssize_t total, dims;
    int bits;
    Py_buffer places, weights, data;
    if (!PyArg_ParseTuple(
            arguments, "O!ny*y*y*in", &PyList_Type, &given, &total, &places, &weights, &data, &bits, &dims)) {
        return NULL;
    }
    Desk desk;
    memset(&desk, 0, sizeof desk);
    Py_ssize_t terms = items_of(&places, 4, "the places"), weighed = items_of(&weights, 8, "the weights");
    size_t wanted = (size_t)PyList_Size(given);
    if (terms < 0 || weighed < 0) {
        goto done;
    }
    if (terms != weighed || dims < 1 || dims > 1 << 16 || (bits != 8 && bits != 4) || total < 0 ||
        total > PY_SSIZE_T_MAX / 16 / dims) {
        fail("the rows do not fit");
        goto done;
    }
    desk.total = (size_t)total;
    desk.term_count = (size_t)terms;
    desk.given = places.buf;
    desk.weights = weights.buf;
    desk.stored.data = data.buf;
    desk.stored.dims = (size_t)dims;
    desk.stored.bits = bits;
    desk.stored.width = bits == 8 ? (size_t)dims : ((size_t)dims + 1) / 2;
    desk.stored.height = (size_t)data.len / desk.stored.width;
    desk.parts = calloc(wanted + 1, sizeof *desk.parts);
    if (desk.parts == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    while (desk.part_count < wanted && take_part(PyList_GetItem(given, (Py_ssize_t)desk.part_count), &desk.parts[desk.part_count]) == 0) {
        desk.part_count++;
    }
    if (desk.part_count == wanted) {
        found = owner_sums(&desk);
    }
done:
    for (size_t i = 0; i < desk.part_count; i++) {
        RELEASE(&desk.parts[i].owners, &desk.parts[i].terms, &desk.parts[i].counts);
    }
    free(desk.parts);
    RELEASE(&places, &weights, &data);
    return found;
}
