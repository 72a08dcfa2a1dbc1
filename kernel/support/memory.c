/* Objects, errors, buffers, growing memory, and texts numbered in order of appearance. */

#include "support/kernel.h"

#include <stdlib.h>

void *object_new(PyTypeObject *type) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void object_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

void release_buffers(Py_buffer *const *views, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PyBuffer_Release(views[i]);
    }
}

int append_size(PyObject *list, size_t number) {
    PyObject *item = PyLong_FromSize_t(number);
    int failed = item == NULL || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

PyObject *list_of_sizes(const size_t *numbers, size_t count) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        if (append_size(list, numbers[i]) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

int is_ascii(const char *data, size_t size) {
    unsigned char all = 0;
    for (size_t i = 0; i < size; i++) {
        all |= (unsigned char)data[i];
    }
    return all < 128;
}

int size_attribute(PyObject *object, PyObject *name, size_t most, size_t *value) {
    PyObject *number = PyObject_GetAttr(object, name);
    Py_ssize_t found = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    if (found < 0 || (size_t)found > most) {
        return PyErr_Occurred() ? -1 : fail("a place outside of the text");
    }
    *value = (size_t)found;
    return 0;
}

int bytes_reserve(Bytes *bytes, size_t more) {
    if (more <= bytes->room - bytes->used) {
        return 0;
    }
    if (more > SIZE_MAX / 4 || bytes->used > SIZE_MAX / 4) {
        return -1;
    }
    size_t room = bytes->room ? bytes->room : 1024;
    while (room - bytes->used < more) {
        room *= 2;
    }
    char *data = realloc(bytes->data, room);
    if (data == NULL) {
        return -1;
    }
    bytes->data = data;
    bytes->room = room;
    return 0;
}

int bytes_append(Bytes *bytes, const void *data, size_t size) {
    if (bytes_reserve(bytes, size) < 0) {
        return -1;
    }
    if (size) {
        memcpy(bytes->data + bytes->used, data, size);
    }
    bytes->used += size;
    return 0;
}

void bytes_free(Bytes *bytes) {
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

static inline uint64_t eight_at(const char *data) {
    uint64_t piece;
    memcpy(&piece, data, sizeof piece);
    return piece;
}

static inline uint32_t four_at(const char *data) {
    uint32_t piece;
    memcpy(&piece, data, sizeof piece);
    return piece;
}

/* Up to seven bytes as one number: texts are short, and what copies any number of bytes takes longer than all the rest. */
static inline uint64_t few_at(const char *data, size_t size) {
    if (size >= 4) {
        return four_at(data) | (uint64_t)four_at(data + size - 4) << 32;
    }
    const unsigned char *bytes = (const unsigned char *)data;
    return size ? bytes[0] | (uint64_t)bytes[size / 2] << 8 | (uint64_t)bytes[size - 1] << 16 : 0;
}

static inline int same(const char *a, const char *b, size_t size) {
    if (size < 8) {
        return few_at(a, size) == few_at(b, size);
    }
    return eight_at(a) == eight_at(b) && eight_at(a + size - 8) == eight_at(b + size - 8) &&
           (size <= 16 || memcmp(a + 8, b + 8, size - 16) == 0);
}

/* Eight bytes at a time, each mixed with everything before it. */
static inline uint64_t hash_of(uint64_t seed, const char *data, size_t size) {
    uint64_t hash = seed ^ (uint64_t)size * UINT64_C(0x9E3779B97F4A7C15);
    for (; size >= 8; data += 8, size -= 8) {
        hash = (hash ^ eight_at(data)) * UINT64_C(0xBF58476D1CE4E5B9);
        hash ^= hash >> 29;
    }
    hash = (hash ^ few_at(data, size)) * UINT64_C(0xBF58476D1CE4E5B9);
    hash ^= hash >> 29;
    hash *= UINT64_C(0x94D049BB133111EB);
    return hash ^ hash >> 32;
}

static int grow(Texts *texts) {
    size_t slot_count = texts->slot_count ? texts->slot_count * 2 : 1024;
    uint32_t *slots = malloc(slot_count * sizeof *slots);
    if (slots == NULL) {
        return -1;
    }
    memset(slots, 0xFF, slot_count * sizeof *slots);
    for (uint32_t number = 0; number < texts->count; number++) {
        size_t size;
        const char *data = texts_at(texts, number, &size);
        size_t slot = (size_t)hash_of(texts->seed, data, size) & (slot_count - 1);
        while (slots[slot] != UINT32_MAX) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = number;
    }
    free(texts->slots);
    texts->slots = slots;
    texts->slot_count = slot_count;
    return 0;
}

uint32_t texts_number(Texts *texts, const char *data, size_t size) {
    if ((size_t)texts->count * 2 >= texts->slot_count && grow(texts) < 0) {
        return UINT32_MAX;
    }
    size_t slot = (size_t)hash_of(texts->seed, data, size) & (texts->slot_count - 1);
    while (texts->slots[slot] != UINT32_MAX) {
        size_t known_size;
        const char *known = texts_at(texts, texts->slots[slot], &known_size);
        if (known_size == size && same(known, data, size)) {
            return texts->slots[slot];
        }
        slot = (slot + 1) & (texts->slot_count - 1);
    }
    if (texts->count >= UINT32_MAX - 1 || bytes_append(&texts->text, data, size) < 0) {
        return UINT32_MAX;
    }
    uint64_t end = texts->text.used;
    if (bytes_append(&texts->ends, &end, sizeof end) < 0) {
        texts->text.used -= size;
        return UINT32_MAX;
    }
    texts->slots[slot] = texts->count;
    return texts->count++;
}

void texts_free(Texts *texts) {
    bytes_free(&texts->text);
    bytes_free(&texts->ends);
    free(texts->slots);
    texts->slots = NULL;
    texts->slot_count = 0;
    texts->count = 0;
}

Py_ssize_t items_of(const Py_buffer *view, size_t size, const char *what) {
    if (view->len % (Py_ssize_t)size != 0 || ((uintptr_t)view->buf % size != 0 && view->len)) {
        PyErr_Format(PyExc_ValueError, "%s is no array of items of %zu bytes", what, size);
        return -1;
    }
    return view->len / (Py_ssize_t)size;
}
