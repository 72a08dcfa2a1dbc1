/* What a text is made of, for the filter over a segment, as storage/bloom.py has it: words, and threes of bytes that are not all
   of one word. */

#include "support/kernel.h"
#include "index/split.h"

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

enum { KNOWN_POWERS = 32 };

typedef struct {
    uint64_t powers[KNOWN_POWERS]; /* of the prime: to multiply by it again and again would be waited for, byte after byte */
    unsigned char plain[256];
} Digits;

static void digits_fill(Digits *digits) {
    uint64_t power = 1;
    for (int i = 0; i < KNOWN_POWERS; i++, power *= PRIME) {
        digits->powers[i] = power;
    }
    for (int byte = 0; byte < 256; byte++) {
        digits->plain[byte] = (unsigned char)plain((unsigned char)byte);
    }
}

/* A word, which ends before `end` or there: where it ends. */
static size_t word_at(const Digits *digits, const unsigned char *text, size_t start, size_t end, uint64_t *hash) {
    uint64_t sum = 0;
    size_t at = start, few = end - start < KNOWN_POWERS ? end : start + KNOWN_POWERS;
    for (; at < few && inside(text[at]); at++) {
        sum += text[at] * digits->powers[at - start];
    }
    if (at == few && at < end) {
        uint64_t power = digits->powers[KNOWN_POWERS - 1] * PRIME;
        for (; at < end && inside(text[at]); at++, power *= PRIME) {
            sum += text[at] * power;
        }
    }
    *hash = mixed(sum + (uint64_t)(at - start) * PRIME);
    return at;
}

/* The words of one piece, and the threes that end in it: 0, or -1 without memory. Of those that end in a word only the first two
   are not all of that word, so no more of its bytes are read. */
static int words_in(
    const Digits *digits, const unsigned char *text, size_t start, size_t end, Set *set, unsigned char *threes) {
    const unsigned char *plainly = digits->plain;
    size_t at = start;
    /* The two bytes before, as far as there are any. */
    size_t before = at ? plainly[text[at - 1]] : 0;
    before |= at > 1 ? (size_t)plainly[text[at - 2]] << 7 : 0;
    while (at < end) {
        if (!inside(text[at])) {
            before = before << 7 | plainly[text[at]];
            if (at >= 2) {
                threes[before & (THREES - 1)] = 1;
            }
            at++;
            continue;
        }
        uint64_t hash;
        size_t last = word_at(digits, text, at, end, &hash);
        if (set_put(set, hash) < 0) {
            return -1;
        }
        for (size_t i = at; i < last && i < at + 2; i++) {
            before = before << 7 | plainly[text[i]];
            int within = i >= 2 && inside(text[i - 1]) && inside(text[i - 2]); /* of a word longer than a piece */
            if (i >= 2 && !within) {
                threes[before & (THREES - 1)] = 1;
            }
        }
        if (last - at > 2) {
            before = (size_t)plainly[text[last - 2]] << 7 | plainly[text[last - 1]];
        }
        at = last;
    }
    return 0;
}

/* Piece by piece; a piece ends between words, and threes reach over the border. */
static int entries_of(const unsigned char *text, size_t size, Set *set, unsigned char *threes) {
    size_t start = 0;
    Digits digits;
    digits_fill(&digits);
    while (start < size) {
        size_t end = size - start > PIECE ? start + PIECE : size;
        if (end < size) {
            size_t last = end;
            while (last > start && inside(text[last - 1])) {
                last--;
            }
            end = last > start ? last : end;
        }
        if (words_in(&digits, text, start, end, set, threes) < 0) {
            return -1;
        }
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
        fail("there is no room for all threes");
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
    RELEASE(&text, &threes);
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

/* Hashes that other threads collected. */
static PyObject *entries_take(PyObject *object, PyObject *arguments) {
    Entries *self = (Entries *)object;
    Py_buffer hashes;
    if (!PyArg_ParseTuple(arguments, "y*:take", &hashes)) {
        return NULL;
    }
    Py_ssize_t count = is_busy(self) ? -1 : items_of(&hashes, sizeof(uint64_t), "the hashes");
    int failed = 0;
    if (count > 0) {
        self->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; !failed && i < count; i++) {
            failed = set_put(&self->set, ((const uint64_t *)hashes.buf)[i]) < 0;
        }
        Py_END_ALLOW_THREADS
        self->busy = 0;
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
        fail("there is no room for all threes");
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
    Entries *self = object_new(type);
    if (self != NULL) {
        self->set.seed = seed;
    }
    return (PyObject *)self;
}

static void entries_dealloc(PyObject *object) {
    free(((Entries *)object)->set.slots);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"add", entries_add, METH_VARARGS, "A text, and 2^21 marks for its threes."},
    {"take", entries_take, METH_VARARGS, "Hashes that other threads collected."},
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
        fail("no size for a filter");
    } else if (count >= 0) {
        found = PyByteArray_FromStringAndSize(NULL, size);
    }
    unsigned char *bytes = found == NULL ? NULL : (unsigned char *)PyByteArray_AsString(found);
    if (bytes != NULL) {
        const uint64_t *hash = hashes.buf;
        uint64_t bits = (uint64_t)size * 8;
        Py_BEGIN_ALLOW_THREADS
        memset(bytes, 0, (size_t)size);
        for (Py_ssize_t i = 0; i < count; i++) {
            uint64_t place = hash[i] & UINT32_MAX, step = hash[i] >> 32 | 1;
            for (int n = 0; n < HASHES; n++, place += step) {
                bytes[place % bits >> 3] |= (unsigned char)(1 << (place % bits & 7));
            }
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&hashes);
    return found;
}
