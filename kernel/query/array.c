/* The small array itself: its kinds, how it is made out of other objects, and its type. See array.h. */

#include "query/array.h"

#include <stdlib.h>

PyTypeObject *array_type = NULL;

#define SIZE_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = sizeof(TYPE),
const unsigned char kind_size[KIND_COUNT] = {ALL_KINDS(SIZE_OF)};
#define LETTER_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = LETTER,
static const char *const letters[KIND_COUNT] = {ALL_KINDS(LETTER_OF)};
#define CALL_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = CALLED,
const char *const kind_names[KIND_COUNT] = {ALL_KINDS(CALL_OF)};

/* -- making ------------------------------------------------------------------------------------------------------------ */

static Array *bare(Kind kind, Py_ssize_t count) {
    Array *array = (Array *)PyType_GenericAlloc(array_type, 0);
    if (array != NULL) {
        array->kind = kind;
        array->count = count;
    }
    return array;
}

static Array *with_memory(Kind kind, Py_ssize_t count, int cleared) {
    if (count < 0 || count > PY_SSIZE_T_MAX / 16) {
        return fail_null("an array cannot be that long");
    }
    Array *array = bare(kind, count);
    if (array == NULL) {
        return NULL;
    }
    size_t bytes = count ? (size_t)count * kind_size[kind] : 1;
    array->data = cleared ? calloc(bytes, 1) : malloc(bytes);
    if (array->data == NULL) {
        Py_DECREF(array);
        PyErr_NoMemory();
        return NULL;
    }
    return array;
}

Array *array_new(Kind kind, Py_ssize_t count) { return with_memory(kind, count, 0); }

Array *array_zeros(Kind kind, Py_ssize_t count) { return with_memory(kind, count, 1); }

/* Some of an array's numbers, which stay where they are. */
Array *array_part(Array *whole, Py_ssize_t first, Py_ssize_t count) {
    Array *array = bare(whole->kind, count);
    if (array != NULL) {
        array->data = whole->data + first * kind_size[whole->kind];
        array->fixed = whole->fixed;
        /* Whose memory it is, not the part it was taken from: parts of parts of parts would be freed one inside the other. */
        array->base = Py_NewRef(whole->base != NULL ? whole->base : (PyObject *)whole);
    }
    return array;
}

static void array_free(PyObject *self) {
    Array *array = as_array(self);
    if (array->view != NULL) {
        PyBuffer_Release(array->view);
        free(array->view);
    } else if (array->base == NULL) {
        free(array->data);
    }
    Py_XDECREF(array->base);
    object_free(self);
}

void drop_arrays(void *const *arrays, size_t count) {
    for (size_t i = 0; i < count; i++) {
        drop(arrays[i]);
    }
}

/* -- kinds ------------------------------------------------------------------------------------------------------------- */

static int kind_by(char letter, Py_ssize_t size) {
    switch (letter) {
    case '?':
        return size == 1 ? BOOL : -1;
    case 'b': case 'h': case 'i': case 'l': case 'q': case 'n':
        return size == 1 ? I8 : size == 4 ? I32 : size == 8 ? I64 : -1;
    case 'B': case 'c': case 'H': case 'I': case 'L': case 'Q': case 'N':
        return size == 1 ? U8 : size == 2 ? U16 : size == 4 ? U32 : size == 8 ? U64 : -1;
    case 'f': case 'd':
        return size == 4 ? F32 : size == 8 ? F64 : -1;
    default:
        return -1;
    }
}

static int kind_named(const char *name) {
    name += *name == '<' || *name == '=' || *name == '|';
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (strcmp(name, letters[kind]) == 0 || strcmp(name, kind_names[kind]) == 0) {
            return kind;
        }
    }
    static const struct {
        const char *name;
        Kind kind;
    } others[] = {{"bool_", BOOL}, {"b1", BOOL}, {"i1", I8}, {"u1", U8}, {"u2", U16}, {"i4", I32}, {"u4", U32},
                  {"i8", I64}, {"u8", U64}, {"f4", F32}, {"f8", F64}, {"int", I64}, {"float", F64}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i].name) == 0) {
            return others[i].kind;
        }
    }
    return -1;
}

int kind_of(PyObject *named) {
    PyObject *name = PyUnicode_Check(named) ? Py_NewRef(named) : PyObject_GetAttrString(named, PyType_Check(named) ? "__name__" : "name");
    int kind = -1;
    if (name != NULL && PyUnicode_Check(name)) {
        const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
        kind = text == NULL ? -1 : kind_named(text);
    }
    Py_XDECREF(name);
    if (kind < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%R is no kind of number", named);
    }
    return kind;
}

int promoted(Kind left, Kind right) {
    if (left == right || right == BOOL) {
        return left;
    }
    if (left == BOOL) {
        return right;
    }
    if (is_real(left) || is_real(right)) {
        Kind real = is_real(left) ? left : right, other = is_real(left) ? right : left;
        return real == F32 && !is_real(other) && kind_size[other] <= 2 ? F32 : F64;
    }
    int signed_left = left == I8 || left == I32 || left == I64, signed_right = right == I8 || right == I32 || right == I64;
    if (signed_left == signed_right) {
        return kind_size[left] > kind_size[right] ? left : right;
    }
    Kind with = signed_left ? left : right, without = signed_left ? right : left;
    if (kind_size[with] > kind_size[without]) {
        return with;
    }
    return without == U64 ? F64 : without == U32 ? I64 : without == U16 ? I32 : -1;
}

/* -- numbers ----------------------------------------------------------------------------------------------------------- */

PyObject *item_at(const Array *array, Py_ssize_t place) {
    const char *at = array->data + place * kind_size[array->kind];
    switch (array->kind) {
    case BOOL:
        return PyBool_FromLong(*at != 0);
    case I8:
        return PyLong_FromLong(*(const int8_t *)at);
    case U8:
        return PyLong_FromLong(*(const uint8_t *)at);
    case U16:
        return PyLong_FromLong(*(const uint16_t *)(const void *)at);
    case I32:
        return PyLong_FromLong(*(const int32_t *)(const void *)at);
    case U32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)(const void *)at);
    case I64:
        return PyLong_FromLongLong(*(const int64_t *)(const void *)at);
    case U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)at);
    case F32:
        return PyFloat_FromDouble((double)*(const float *)(const void *)at);
    default:
        return PyFloat_FromDouble(*(const double *)(const void *)at);
    }
}

int put_item(Array *array, Py_ssize_t place, PyObject *value) {
    char *at = array->data + place * kind_size[array->kind];
    if (array->kind == BOOL) {
        int truth = PyObject_IsTrue(value);
        if (truth >= 0) {
            *(uint8_t *)at = (uint8_t)truth;
        }
        return truth < 0 ? -1 : 0;
    }
    if (is_real(array->kind)) {
        double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) {
            return -1;
        }
        if (array->kind == F32) {
            *(float *)(void *)at = (float)number;
        } else {
            *(double *)(void *)at = number;
        }
        return 0;
    }
    PyObject *whole = PyFloat_Check(value) ? PyNumber_Long(value) : PyNumber_Index(value);
    if (array->kind == U64) {
        uint64_t number = whole == NULL ? 0 : PyLong_AsUnsignedLongLong(whole);
        Py_XDECREF(whole);
        if (PyErr_Occurred()) {
            return -1;
        }
        *(uint64_t *)(void *)at = number;
        return 0;
    }
    long long number = whole == NULL ? -1 : PyLong_AsLongLong(whole);
    Py_XDECREF(whole);
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
#define STORE(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: \
        if ((long long)(TYPE)number != number) { \
            break; \
        } \
        *(TYPE *)(void *)at = (TYPE)number; \
        return 0;
    switch (array->kind) {
        WHOLE_KINDS(STORE)
    default:
        break;
    }
    PyErr_Format(PyExc_OverflowError, "%lld does not fit into %s", number, kind_names[array->kind]);
    return -1;
}

/* Whole numbers out of real ones, without their fraction: what does not fit becomes the nearest that does, what is no number zero. */
static Array *whole_from_real(const Array *array) {
    Array *made = array_new(I64, array->count);
    for (Py_ssize_t i = 0; made != NULL && i < array->count; i++) {
        double number = array->kind == F64 ? ((const double *)(const void *)array->data)[i] : (double)((const float *)(const void *)array->data)[i];
        ((int64_t *)(void *)made->data)[i] = number != number               ? 0
                                             : number <= (double)INT64_MIN ? INT64_MIN
                                             : number >= (double)INT64_MAX ? INT64_MAX
                                                                            : (int64_t)number;
    }
    return made;
}

/* Written out: a list of kinds cannot be gone through inside of itself. */
#define COPY_TO(NAME, TYPE) \
    case NAME: \
        for (Py_ssize_t i = 0; i < count; i++) { \
            ((TYPE *)to)[i] = (TYPE)source[i]; \
        } \
        break;
#define COPY_TO_REALS \
    COPY_TO(F32, float) \
    COPY_TO(F64, double) \
    case BOOL: \
        for (Py_ssize_t i = 0; i < count; i++) { \
            ((uint8_t *)to)[i] = source[i] != 0; \
        } \
        break;
#define COPY_WHOLE(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: { \
        const TYPE *source = from; \
        switch (kind) { \
            COPY_TO(I8, int8_t) \
            COPY_TO(U8, uint8_t) \
            COPY_TO(U16, uint16_t) \
            COPY_TO(I32, int32_t) \
            COPY_TO(U32, uint32_t) \
            COPY_TO(I64, int64_t) \
            COPY_TO(U64, uint64_t) \
            COPY_TO_REALS \
        default: \
            break; \
        } \
        break; \
    }
#define COPY_REAL(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: { \
        const TYPE *source = from; \
        switch (kind) { \
            COPY_TO_REALS \
        default: \
            break; \
        } \
        break; \
    }

Array *array_cast(Array *array, Kind kind) {
    if (array->kind == kind) {
        return as_array(Py_NewRef((PyObject *)array));
    }
    if (is_real(array->kind) && !is_real(kind) && kind != BOOL) {
        Array *whole = whole_from_real(array), *narrow = whole == NULL ? NULL : array_cast(whole, kind);
        drop(whole);
        return narrow;
    }
    Array *made = array_new(kind, array->count);
    if (made == NULL) {
        return NULL;
    }
    const void *from = array->data;
    void *to = made->data;
    Py_ssize_t count = array->count;
    switch (array->kind) {
        WHOLE_KINDS(COPY_WHOLE)
        COPY_WHOLE(BOOL, uint8_t, uint8_t, "?", "bool")
        REAL_KINDS(COPY_REAL)
    default:
        break;
    }
    return made;
}

/* -- out of other objects ------------------------------------------------------------------------------------------------ */

/* An array over a buffer of one dimension, a copy where its numbers do not lie side by side or not where the processor wants
   them; NULL without an exception where it is no such buffer. `asked` says what its bytes are, -1: the buffer itself does. */
Array *array_of_buffer(PyObject *object, int asked) {
    Py_buffer *view = malloc(sizeof *view);
    if (view == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (PyObject_GetBuffer(object, view, PyBUF_RECORDS_RO) < 0) {
        PyErr_Clear();
        free(view);
        return NULL;
    }
    const char *format = view->format == NULL ? "B" : view->format;
    format += *format == '<' || *format == '=' || *format == '@' || *format == '|';
    int kind = asked >= 0 ? asked : strlen(format) == 1 ? kind_by(*format, view->itemsize) : -1;
    int whole = view->ndim == 1 && (view->strides == NULL || view->strides[0] == view->itemsize || view->len <= view->itemsize);
    if (kind < 0 || view->ndim != 1 || (asked >= 0 && (!whole || view->len % kind_size[kind]))) {
        PyBuffer_Release(view);
        free(view);
        return NULL;
    }
    Py_ssize_t count = view->len / kind_size[kind];
    if (whole && (uintptr_t)view->buf % kind_size[kind] == 0) {
        Array *array = bare((Kind)kind, count);
        if (array == NULL) {
            PyBuffer_Release(view);
            free(view);
            return NULL;
        }
        static char nothing[8];
        array->data = view->buf != NULL ? view->buf : nothing;
        array->fixed = view->readonly;
        array->view = view;
        return array;
    }
    Array *array = array_new((Kind)kind, count);
    if (array != NULL) {
        if (whole) {
            memcpy(array->data, view->buf, (size_t)view->len);
        } else {
            for (Py_ssize_t i = 0; i < count; i++) {
                memcpy(array->data + i * view->itemsize, (const char *)view->buf + i * view->strides[0], (size_t)view->itemsize);
            }
        }
    }
    PyBuffer_Release(view);
    free(view);
    return array;
}

Array *array_of_numbers(PyObject *sequence, int kind) {
    PyObject *items = PySequence_List(sequence);
    if (items == NULL) {
        return NULL;
    }
    Py_ssize_t count = PyList_Size(items);
    if (kind < 0) {
        kind = count ? BOOL : F64;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *item = PyList_GetItem(items, i);
            Kind wanted = PyBool_Check(item) ? BOOL : PyFloat_Check(item) ? F64 : I64;
            kind = wanted > (Kind)kind ? (int)wanted : kind;
        }
    }
    Array *array = array_new((Kind)kind, count);
    for (Py_ssize_t i = 0; array != NULL && i < count; i++) {
        if (put_item(array, i, PyList_GetItem(items, i)) < 0) {
            Py_CLEAR(array);
        }
    }
    Py_DECREF(items);
    return array;
}

Array *array_from(PyObject *object) {
    if (is_array(object)) {
        return as_array(Py_NewRef(object));
    }
    Array *array = PyObject_CheckBuffer(object) ? array_of_buffer(object, -1) : NULL;
    return array != NULL || PyErr_Occurred() ? array : array_of_numbers(object, -1);
}

Array *array_from_as(PyObject *object, Kind kind) {
    if (!is_array(object) && !PyObject_CheckBuffer(object)) {
        return array_of_numbers(object, kind);
    }
    Array *array = array_from(object), *made = array == NULL ? NULL : array_cast(array, kind);
    drop(array);
    return made;
}

Array *array_whole(PyObject *object) {
    Array *array = array_from(object);
    if (array != NULL && array->count && (is_real(array->kind) || array->kind == U64)) {
        Py_CLEAR(array);
        PyErr_SetString(PyExc_TypeError, "these have to be whole numbers");
    }
    Array *made = array == NULL ? NULL : array_cast(array, I64);
    drop(array);
    return made;
}

int is_index(PyObject *object) { return PyLong_Check(object) || (PyIndex_Check(object) && !PySequence_Check(object)); }

int takes(Py_ssize_t given, Py_ssize_t least, Py_ssize_t most, PyObject *names, const char *known) {
    if (given < least || given > most) {
        PyErr_Format(PyExc_TypeError, "there are %zd arguments where there should be %zd to %zd", given, least, most);
        return 0;
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
        Py_ssize_t size;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), &size);
        const char *at = name == NULL || size == 0 || strlen(name) != (size_t)size ? NULL : strstr(known, name);
        while (at != NULL && (at == known || at[-1] != ' ' || at[size] != ' ')) {
            at = strstr(at + 1, name);
        }
        if (at == NULL) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_TypeError, "'%s' is no argument of this", name);
            }
            return 0;
        }
    }
    return 1;
}

PyObject *keyword(PyObject *const *arguments, Py_ssize_t given, PyObject *names, const char *name) {
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), name) == 0) {
            return arguments[given + i];
        }
    }
    return NULL;
}

/* -- the type ------------------------------------------------------------------------------------------------------------ */

static Py_ssize_t array_length(PyObject *self) { return as_array(self)->count; }

static PyObject *array_sequence_item(PyObject *self, Py_ssize_t place) {
    if (place < 0 || place >= as_array(self)->count) {
        PyErr_SetString(PyExc_IndexError, "the place is not in the array");
        return NULL;
    }
    return item_at(as_array(self), place);
}

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    Array *array = as_array(self);
    if ((flags & PyBUF_WRITABLE) && array->fixed) {
        PyErr_SetString(PyExc_BufferError, "the array must not be written to");
        view->obj = NULL;
        return -1;
    }
    static Py_ssize_t steps[KIND_COUNT];
    steps[array->kind] = kind_size[array->kind];
    memset(view, 0, sizeof *view);
    view->buf = array->data;
    view->obj = Py_NewRef(self);
    view->len = array->count * kind_size[array->kind];
    view->itemsize = kind_size[array->kind];
    view->readonly = array->fixed;
    view->ndim = 1;
    view->format = (flags & PyBUF_FORMAT) ? (char *)letters[array->kind] : NULL;
    view->shape = (flags & PyBUF_ND) ? &array->count : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &steps[array->kind] : NULL;
    return 0;
}

static PyObject *array_repr(PyObject *self) {
    PyObject *numbers = PyObject_CallMethod(self, "tolist", NULL);
    PyObject *text = numbers == NULL ? NULL : PyUnicode_FromFormat("array(%R, %s)", numbers, kind_names[as_array(self)->kind]);
    drop(numbers);
    return text;
}

static PyObject *method_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    Array *array = as_array(self);
    PyObject *list = PyList_New(array->count);
    for (Py_ssize_t i = 0; list != NULL && i < array->count; i++) {
        PyObject *item = item_at(array, i);
        if (item == NULL || PyList_SetItem(list, i, item) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *method_astype(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names) {
    if (!takes(given, 1, 1, names, " copy ")) {
        return NULL;
    }
    PyObject *copy = keyword(arguments, given, names, "copy");
    int kind = kind_of(arguments[0]), copied = kind < 0 ? -1 : copy == NULL ? 1 : PyObject_IsTrue(copy);
    if (copied < 0) {
        return NULL;
    }
    Array *array = as_array(self);
    return array->kind == (Kind)kind && copied ? array_copy(self, NULL) : (PyObject *)array_cast(array, (Kind)kind);
}

PyObject *array_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    Array *array = as_array(self), *made = array_new(array->kind, array->count);
    if (made != NULL) {
        memcpy(made->data, array->data, (size_t)array->count * kind_size[array->kind]);
    }
    return (PyObject *)made;
}

static PyObject *method_tobytes(PyObject *self, PyObject *unused) {
    (void)unused;
    Array *array = as_array(self);
    return PyBytes_FromStringAndSize(array->data, array->count * kind_size[array->kind]);
}

static PyObject *method_nonzero(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *found = array_flatnonzero(NULL, &self, 1, NULL);
    return found == NULL ? NULL : Py_BuildValue("(N)", found);
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(kind_names[as_array(self)->kind]);
}

static PyObject *get_size(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSsize_t(as_array(self)->count);
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return Py_BuildValue("(n)", as_array(self)->count);
}

static PyMethodDef methods[] = {
    {"tolist", method_tolist, METH_NOARGS, "The numbers as those of Python."},
    {"astype", WITH_KEYWORDS(method_astype), "The same numbers as another kind."},
    {"copy", array_copy, METH_NOARGS, "The same numbers elsewhere."},
    {"tobytes", method_tobytes, METH_NOARGS, "The numbers as they lie in memory."},
    {"nonzero", method_nonzero, METH_NOARGS, "The places of all that are not zero, as a tuple of one."},
    {"sum", method_sum, METH_NOARGS, "All of them added up."},
    {"max", WITH_KEYWORDS(method_max), "The largest."},
    {"min", WITH_KEYWORDS(method_min), "The smallest."},
    {"mean", method_mean, METH_NOARGS, "The sum over how many there are."},
    {"any", method_any, METH_NOARGS, "Whether one is not zero."},
    {"all", method_all, METH_NOARGS, "Whether none is zero."},
    {"searchsorted", WITH_KEYWORDS(method_searchsorted), "Where numbers would have to stand among these, which ascend."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"dtype", get_dtype, NULL, "The name of its kind.", NULL},
    {"size", get_size, NULL, "How many there are.", NULL},
    {"shape", get_shape, NULL, "How many there are, as a tuple of one.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, array_free},
    {Py_tp_repr, array_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc, "Numbers of one kind, side by side."},
    {Py_sq_length, array_length},
    {Py_sq_item, array_sequence_item},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_item},
    {Py_mp_ass_subscript, array_put},
    {Py_bf_getbuffer, array_getbuffer},
    MATH_SLOTS,
    {0, NULL},
};

PyType_Spec array_spec = {"lurcher._kernel.Array", sizeof(Array), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
