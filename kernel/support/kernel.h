/* What the files of the kernel share. Python's stable ABI has buffers from 3.11 on; before, the kernel is built for one version. */

#ifndef LURCHER_KERNEL_H
#define LURCHER_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* As in src/lurcher/runtime/kernel.py: raised with every change that one side cannot do without the other. */
#define KERNEL_VERSION 23

/* An object of a type that a spec of ours made, all zero, or NULL with an exception; and the end of its tp_dealloc. */
void *object_new(PyTypeObject *type);
void object_free(PyObject *object);

/* Raise ValueError, or MemoryError, and return what the caller returns on failure. */
static inline int fail(const char *reason) {
    PyErr_SetString(PyExc_ValueError, reason);
    return -1;
}

static inline void *fail_null(const char *reason) {
    PyErr_SetString(PyExc_ValueError, reason);
    return NULL;
}

static inline int no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

/* RELEASE(&a, &b, …) releases buffers; one that was never filled, all zero, is left alone. */
void release_buffers(Py_buffer *const *views, size_t count);
#define RELEASE(...) \
    release_buffers((Py_buffer *const[]){__VA_ARGS__}, sizeof((Py_buffer *const[]){__VA_ARGS__}) / sizeof(Py_buffer *))

/* Adds a whole number to a list: 0, or -1 with an exception; and a list of such numbers. */
int append_size(PyObject *list, size_t number);
PyObject *list_of_sizes(const size_t *numbers, size_t count);

int is_ascii(const char *data, size_t size);

/* The whole number that an attribute is, at most `most`: 0, or -1 with an exception. */
int size_attribute(PyObject *object, PyObject *name, size_t most, size_t *value);

/* A part of a text, in bytes. */
typedef struct {
    size_t start, end;
} Range;

/* Memory that grows. */
typedef struct {
    char *data;
    size_t used, room;
} Bytes;

/* 0, or -1 when there is no memory; room for `more` bytes beyond those in use. */
int bytes_reserve(Bytes *bytes, size_t more);
int bytes_append(Bytes *bytes, const void *data, size_t size);

/* One number more: the same, for loops that do little else. */
static inline int bytes_append_number(Bytes *bytes, uint32_t number) {
    if (bytes->room - bytes->used < sizeof number && bytes_reserve(bytes, sizeof number) < 0) {
        return -1;
    }
    memcpy(bytes->data + bytes->used, &number, sizeof number);
    bytes->used += sizeof number;
    return 0;
}
void bytes_free(Bytes *bytes);

/* Texts numbered in order of appearance. Look-ups are seeded: texts cannot be chosen so that they collide. */
typedef struct {
    Bytes text;
    Bytes ends;  /* uint64_t each */
    uint32_t *slots;
    size_t slot_count;  /* a power of two, or none */
    uint32_t count;
    uint64_t seed;
} Texts;

/* The number of a text, or UINT32_MAX when there is no memory (or there are too many). */
uint32_t texts_number(Texts *texts, const char *data, size_t size);
void texts_free(Texts *texts);

static inline const char *texts_at(const Texts *texts, uint32_t number, size_t *size) {
    const uint64_t *ends = (const uint64_t *)texts->ends.data;
    uint64_t start = number ? ends[number - 1] : 0;
    *size = (size_t)(ends[number] - start);
    return texts->text.data + start;
}

/* An array of whole items out of a buffer: how many, or -1 with an exception. Checks size and alignment. */
Py_ssize_t items_of(const Py_buffer *view, size_t size, const char *what);

extern PyType_Spec counter_spec;
extern PyType_Spec row_builder_spec;
extern PyType_Spec entries_spec;

PyObject *kernel_row_sums(PyObject *module, PyObject *arguments);
PyObject *kernel_owner_sums(PyObject *module, PyObject *arguments);
PyObject *kernel_products(PyObject *module, PyObject *arguments);
PyObject *kernel_tally(PyObject *module, PyObject *arguments);
PyObject *kernel_bm25(PyObject *module, PyObject *arguments);
PyObject *kernel_harmonic(PyObject *module, PyObject *arguments);
PyObject *kernel_best_units(PyObject *module, PyObject *arguments);
PyObject *kernel_lengths(PyObject *module, PyObject *arguments);
PyObject *kernel_normed(PyObject *module, PyObject *arguments);
PyObject *kernel_unpack(PyObject *module, PyObject *arguments);
PyObject *kernel_within(PyObject *module, PyObject *arguments);
PyObject *kernel_unlike(PyObject *module, PyObject *arguments);
PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments);
PyObject *kernel_paths(PyObject *module, PyObject *arguments);
PyObject *kernel_begin_check(PyObject *module, PyObject *arguments);
PyObject *kernel_end_check(PyObject *module, PyObject *capsule);
PyObject *kernel_terms_with(PyObject *module, PyObject *arguments);
PyObject *kernel_spans(PyObject *module, PyObject *arguments);
PyObject *kernel_mark(PyObject *module, PyObject *arguments);
int checksum_is_fast(void);
PyObject *kernel_crc32(PyObject *module, PyObject *arguments);
PyObject *kernel_filter(PyObject *module, PyObject *arguments);
PyObject *kernel_united_terms(PyObject *module, PyObject *parts);
PyObject *kernel_merged_postings(PyObject *module, PyObject *parts);
PyObject *kernel_packed_postings(PyObject *module, PyObject *arguments);
PyObject *kernel_places(PyObject *module, PyObject *arguments);
PyObject *kernel_give_back(PyObject *module, PyObject *unused);
PyObject *kernel_write_out(PyObject *module, PyObject *arguments);
PyObject *kernel_extract(PyObject *module, PyObject *arguments);
PyObject *kernel_covered(PyObject *module, PyObject *arguments);
PyObject *kernel_nearest(PyObject *module, PyObject *arguments);
PyObject *kernel_count_above_and_equal(PyObject *module, PyObject *arguments);
PyObject *kernel_innermost(PyObject *module, PyObject *arguments);
PyObject *kernel_best_line(PyObject *module, PyObject *arguments);
PyObject *kernel_largest(PyObject *module, PyObject *arguments);
PyObject *kernel_order_places(PyObject *module, PyObject *arguments);
PyObject *kernel_unchecked(PyObject *module, PyObject *arguments);
PyObject *kernel_cuts(PyObject *module, PyObject *arguments);
PyObject *kernel_occurrences(PyObject *module, PyObject *arguments);
PyObject *kernel_count_tokens(PyObject *module, PyObject *arguments);

#endif
