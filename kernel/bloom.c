/* What a text is made of, for the filter over a segment, as index/bloom.py has it: words, and threes of bytes that are not all
   of one word. */

#include "kernel.h"
#include "split.h"

#include <stdlib.h>

enum { PIECE = 1 << 16, BEYOND = 127, THREES = 1 << 21 };
#define PRIME UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static int inside(unsigned char byte) { return CLASS[byte] != BETWEEN; }

static size_t plain(unsigned char byte) { return byte < BEYOND ? byte : BEYOND; }

/* Hashes, each once. Where one is kept depends on a seed too: texts cannot be chosen so that they collide. */
typedef struct {
    uint64_t *slots; /* zero: free */
    size_t slot_count, used; /* a power of two, or none */
    int zero;        /* whether zero itself is among them */
    uint64_t seed;
} Set;

static size_t slot_of(const Set *set, uint64_t hash, size_t slot_count) {
    return (size_t)mixed(hash ^ set->seed) & (slot_count - 1);
}

static int set_grow(Set *set) {
    size_t slot_count = set->slot_count ? set->slot_count * 2 : 4096;
    uint64_t *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL) {
        return -1;
    }
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[i]) {
            size_t slot = slot_of(set, set->slots[i], slot_count);
            while (slots[slot]) {
                slot = (slot + 1) & (slot_count - 1);
            }
            slots[slot] = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slot_count;
    return 0;
}

static int set_put(Set *set, uint64_t hash) {
    if (hash == 0) {
        set->zero = 1;
        return 0;
    }
    if (set->used * 4 >= set->slot_count * 3 && set_grow(set) < 0) {
        return -1;
    }
    size_t slot = slot_of(set, hash, set->slot_count);
    while (set->slots[slot] && set->slots[slot] != hash) {
        slot = (slot + 1) & (set->slot_count - 1);
    }
    if (set->slots[slot] == 0) {
        set->slots[slot] = hash;
        set->used++;
    }
    return 0;
}

/* The words of one piece: 0, or -1 without memory. */
static int words_in(const unsigned char *text, size_t start, size_t end, Set *set) {
    for (size_t at = start; at < end;) {
        if (!inside(text[at])) {
            at++;
            continue;
        }
        size_t first = at;
        uint64_t digits = 0, power = 1;
        for (; at < end && inside(text[at]); at++) {
            digits += text[at] * power;
            power *= PRIME;
        }
        if (set_put(set, mixed(digits + (uint64_t)(at - first) * PRIME)) < 0) {
            return -1;
        }
    }
    return 0;
}

static void threes_in(const unsigned char *text, size_t start, size_t end, unsigned char *threes) {
    for (size_t at = start; at + 2 < end; at++) {
        if (!(inside(text[at]) && inside(text[at + 1]) && inside(text[at + 2]))) {
            threes[plain(text[at]) << 14 | plain(text[at + 1]) << 7 | plain(text[at + 2])] = 1;
        }
    }
}

/* Piece by piece; a piece ends between words, and threes reach over the border. */
static int entries_of(const unsigned char *text, size_t size, Set *set, unsigned char *threes) {
    size_t start = 0;
    while (start < size) {
        size_t end = size - start > PIECE ? start + PIECE : size;
        if (end < size) {
            size_t last = end;
            while (last > start && inside(text[last - 1])) {
                last--;
            }
            end = last > start ? last : end;
        }
        if (words_in(text, start, end, set) < 0) {
            return -1;
        }
        threes_in(text, start < 2 ? 0 : start - 2, end, threes);
        start = end;
    }
    return 0;
}

typedef struct {
    PyObject_HEAD
    Set set;
    int busy;
} Entries;

static PyObject *entries_add(PyObject *object, PyObject *arguments) {
    Entries *self = (Entries *)object;
    Py_buffer text, threes;
    if (!PyArg_ParseTuple(arguments, "y*w*:add", &text, &threes)) {
        return NULL;
    }
    int failed = 1;
    if (threes.len != THREES) {
        PyErr_SetString(PyExc_ValueError, "there is no room for all threes");
    } else if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another text is being read");
    } else {
        self->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        failed = entries_of(text.buf, (size_t)text.len, &self->set, threes.buf);
        Py_END_ALLOW_THREADS
        self->busy = 0;
        if (failed) {
            PyErr_NoMemory();
        }
    }
    PyBuffer_Release(&text);
    PyBuffer_Release(&threes);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int is_busy(const Entries *self) {
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "a text is being read");
    }
    return self->busy;
}

/* What others gathered. */
static PyObject *entries_take(PyObject *object, PyObject *arguments) {
    Entries *self = (Entries *)object;
    Py_buffer hashes;
    if (!PyArg_ParseTuple(arguments, "y*:take", &hashes)) {
        return NULL;
    }
    Py_ssize_t count = is_busy(self) ? -1 : items_of(&hashes, sizeof(uint64_t), "the hashes");
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        failed = set_put(&self->set, ((const uint64_t *)hashes.buf)[i]) < 0;
    }
    PyBuffer_Release(&hashes);
    if (failed) {
        return PyErr_NoMemory();
    }
    if (count < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The threes that are marked are hashed like words. */
static PyObject *entries_mark(PyObject *object, PyObject *arguments) {
    Entries *self = (Entries *)object;
    Py_buffer threes;
    if (!PyArg_ParseTuple(arguments, "y*:mark", &threes)) {
        return NULL;
    }
    int failed = is_busy(self);
    if (!failed && threes.len != THREES) {
        PyErr_SetString(PyExc_ValueError, "there is no room for all threes");
        failed = 1;
    }
    for (uint64_t i = 0; !failed && i < THREES; i++) {
        if (((const unsigned char *)threes.buf)[i] && set_put(&self->set, mixed(i)) < 0) {
            PyErr_NoMemory();
            failed = 1;
        }
    }
    PyBuffer_Release(&threes);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *entries_hashes(PyObject *object, PyObject *unused) {
    (void)unused;
    Entries *self = (Entries *)object;
    if (is_busy(self)) {
        return NULL;
    }
    size_t count = self->set.used + (size_t)self->set.zero, place = 0;
    PyObject *found = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(uint64_t)));
    char *data = found == NULL ? NULL : PyByteArray_AsString(found);
    if (data != NULL && self->set.zero) {
        memset(data, 0, sizeof(uint64_t));
        place++;
    }
    for (size_t i = 0; data != NULL && i < self->set.slot_count; i++) {
        if (self->set.slots[i]) {
            memcpy(data + place++ * sizeof(uint64_t), &self->set.slots[i], sizeof(uint64_t));
        }
    }
    return found;
}

static PyObject *entries_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "K:Entries", &seed)) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Entries *self = (Entries *)allocate(type, 0); /* all zero */
    if (self != NULL) {
        self->set.seed = seed;
    }
    return (PyObject *)self;
}

static void entries_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    free(((Entries *)object)->set.slots);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"add", entries_add, METH_VARARGS, "A text, and 2^21 marks for its threes."},
    {"take", entries_take, METH_VARARGS, "Hashes that others gathered."},
    {"mark", entries_mark, METH_VARARGS, "The marks of threes, which are hashed like words."},
    {"hashes", entries_hashes, METH_NOARGS, "All hashes, each once, in no order."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_new, (void *)entries_new},
    {Py_tp_dealloc, (void *)entries_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Gathers the words of texts."},
    {0, NULL},
};

PyType_Spec entries_spec = {"lurcher._kernel.Entries", sizeof(Entries), 0, Py_TPFLAGS_DEFAULT, type_slots};

enum { HASHES = 7 };

/* Hashes, how many bytes the filter has: its bytes. */
PyObject *kernel_filter(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer hashes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "y*n:filter", &hashes, &size)) {
        return NULL;
    }
    PyObject *found = NULL;
    Py_ssize_t count = items_of(&hashes, sizeof(uint64_t), "the hashes");
    if (count >= 0 && (size < 0 || size > PY_SSIZE_T_MAX / 8 || (size == 0 && count))) {
        PyErr_SetString(PyExc_ValueError, "no size for a filter");
    } else if (count >= 0) {
        found = PyByteArray_FromStringAndSize(NULL, size);
    }
    unsigned char *bytes = found == NULL ? NULL : (unsigned char *)PyByteArray_AsString(found);
    if (bytes != NULL) {
        const uint64_t *hash = hashes.buf;
        uint64_t bits = (uint64_t)size * 8;
        memset(bytes, 0, (size_t)size);
        for (Py_ssize_t i = 0; i < count; i++) {
            uint64_t place = hash[i] & UINT32_MAX, step = hash[i] >> 32 | 1;
            for (int n = 0; n < HASHES; n++, place += step) {
                bytes[place % bits >> 3] |= (unsigned char)(1 << (place % bits & 7));
            }
        }
    }
    PyBuffer_Release(&hashes);
    return found;
}
