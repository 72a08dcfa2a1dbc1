/* A small array: one dimension, ten kinds of numbers, and what a query does with them as numpy does it.

   Loading numpy takes several times as long as answering, so the query path works on these where the kernel is there. They are
   buffers like any other: numpy takes them as they are wherever it is in use. */

#ifndef LURCHER_ARRAY_H
#define LURCHER_ARRAY_H

#include "support/kernel.h"

typedef enum { BOOL, I8, U8, U16, I32, U32, I64, U64, F32, F64, KIND_COUNT } Kind;

/* name, type in C, type in which whole numbers wrap around, letter, numpy's name */
#define WHOLE_KINDS(X) \
    X(I8, int8_t, uint8_t, "b", "int8") \
    X(U8, uint8_t, uint8_t, "B", "uint8") \
    X(U16, uint16_t, uint32_t, "H", "uint16") \
    X(I32, int32_t, uint32_t, "i", "int32") \
    X(U32, uint32_t, uint32_t, "I", "uint32") \
    X(I64, int64_t, uint64_t, "q", "int64") \
    X(U64, uint64_t, uint64_t, "Q", "uint64")
#define REAL_KINDS(X) \
    X(F32, float, float, "f", "float32") \
    X(F64, double, double, "d", "float64")
#define NUMBER_KINDS(X) WHOLE_KINDS(X) REAL_KINDS(X)
#define ALL_KINDS(X) X(BOOL, uint8_t, uint8_t, "?", "bool") NUMBER_KINDS(X)

typedef struct {
    PyObject_HEAD
    char *data;
    Py_ssize_t count;
    Kind kind;
    int fixed;        /* must not be written to */
    PyObject *base;   /* whose memory it is, or NULL */
    Py_buffer *view;  /* the same for a buffer that is not an array's */
} Array;

extern const unsigned char kind_size[KIND_COUNT];
extern const char *const kind_names[KIND_COUNT];
extern PyType_Spec array_spec;
extern PyTypeObject *array_type;
extern PyMethodDef array_functions[];

/* Gives an array back, where there is one; and several. */
#define drop(array) Py_XDECREF((PyObject *)(array))
void drop_arrays(void *const *arrays, size_t count);
#define DROP(...) drop_arrays((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
#define is_array(object) (Py_TYPE(object) == array_type)
#define as_array(object) ((Array *)(object))
#define is_real(kind) ((kind) >= F32)

/* A new array with whatever is in its memory; NULL with an exception. */
Array *array_new(Kind kind, Py_ssize_t count);
Array *array_zeros(Kind kind, Py_ssize_t count);
/* Some of an array's numbers, which stay where they are. */
Array *array_part(Array *whole, Py_ssize_t first, Py_ssize_t count);
PyObject *array_copy(PyObject *self, PyObject *unused);
/* The same numbers as another kind: the array itself (with a new reference) where it is of that kind already. */
Array *array_cast(Array *array, Kind kind);
/* An array out of anything that is one, has a buffer of numbers, or is a sequence of numbers; a new reference. */
Array *array_from(PyObject *object);
Array *array_from_as(PyObject *object, Kind kind);
/* An array over a buffer, NULL without an exception where it is none; and one of a sequence. A kind below zero: as it comes. */
Array *array_of_buffer(PyObject *object, int asked);
Array *array_of_numbers(PyObject *sequence, int kind);
/* The kind that an argument names: a letter, numpy's name for it, a type; -1 with an exception. */
int kind_of(PyObject *named);
/* The kind in which two kinds are added up; -1 where there is none. */
int promoted(Kind left, Kind right);
PyObject *item_at(const Array *array, Py_ssize_t place);
/* One number written to a place: 0, or -1 with an exception. */
int put_item(Array *array, Py_ssize_t place, PyObject *value);
/* The value of a keyword argument, or NULL; of those that stand before them, `given`. */
PyObject *keyword(PyObject *const *arguments, Py_ssize_t given, PyObject *names, const char *name);
/* Whether there are so many arguments, and no keywords but these (with a space before and behind each); 0 with an exception. */
int takes(Py_ssize_t given, Py_ssize_t least, Py_ssize_t most, PyObject *names, const char *known);
/* An array of places or numbers of times, in I64; NULL with an exception where they are not whole. */
Array *array_whole(PyObject *object);
/* Whether an argument is one whole number, and no array of one. */
int is_index(PyObject *object);

/* What operators and methods of the type do, by the files they are in. */
PyObject *array_item(PyObject *self, PyObject *key);
int array_put(PyObject *self, PyObject *key, PyObject *value);
/* What is to be written, in the array's kind: one for each place (`many`) or one for all. */
Array *array_values_for(const Array *array, PyObject *value, int *many);
int array_put_values(Array *array, const int64_t *at, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count, const Array *values, int many);
PyObject *math_add(PyObject *left, PyObject *right);
PyObject *math_subtract(PyObject *left, PyObject *right);
PyObject *math_multiply(PyObject *left, PyObject *right);
PyObject *math_divide(PyObject *left, PyObject *right);
PyObject *math_and(PyObject *left, PyObject *right);
PyObject *math_or(PyObject *left, PyObject *right);
PyObject *math_add_to(PyObject *self, PyObject *other);
PyObject *math_subtract_from(PyObject *self, PyObject *other);
PyObject *math_multiply_by(PyObject *self, PyObject *other);
PyObject *math_divide_by(PyObject *self, PyObject *other);
PyObject *math_and_with(PyObject *self, PyObject *other);
PyObject *math_or_with(PyObject *self, PyObject *other);
PyObject *math_negative(PyObject *self);
PyObject *math_invert(PyObject *self);
int math_truth(PyObject *self);
PyObject *math_compare(PyObject *left, PyObject *right, int operation);
#define MATH_SLOTS \
    {Py_nb_add, math_add}, {Py_nb_subtract, math_subtract}, {Py_nb_multiply, math_multiply}, \
    {Py_nb_true_divide, math_divide}, {Py_nb_and, math_and}, {Py_nb_or, math_or}, \
    {Py_nb_inplace_add, math_add_to}, {Py_nb_inplace_subtract, math_subtract_from}, \
    {Py_nb_inplace_multiply, math_multiply_by}, {Py_nb_inplace_true_divide, math_divide_by}, \
    {Py_nb_inplace_and, math_and_with}, {Py_nb_inplace_or, math_or_with}, \
    {Py_nb_negative, math_negative}, {Py_nb_invert, math_invert}, {Py_nb_bool, math_truth}, \
    {Py_tp_richcompare, math_compare}

PyObject *no_such(const char *what);
PyObject *method_sum(PyObject *self, PyObject *unused);
PyObject *method_mean(PyObject *self, PyObject *unused);
PyObject *method_max(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names);
PyObject *method_min(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names);
PyObject *method_any(PyObject *self, PyObject *unused);
PyObject *method_all(PyObject *self, PyObject *unused);
PyObject *method_searchsorted(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names);

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function)), METH_FASTCALL | METH_KEYWORDS
#define FAST(name) PyObject *name(PyObject *module, PyObject *const *arguments, Py_ssize_t given, PyObject *names)
FAST(array_maximum);
FAST(array_minimum);
FAST(array_where);
FAST(array_flatnonzero);
FAST(array_count_nonzero);
FAST(array_bincount);
FAST(array_repeat);
FAST(array_cumsum);
FAST(array_diff);
FAST(array_concatenate);
FAST(array_argsort);
FAST(array_lexsort);
FAST(array_unique);
FAST(array_isin);
FAST(array_absolute);
FAST(array_trunc);
FAST(array_rint);
FAST(array_postings);
FAST(array_isfinite);
#endif
