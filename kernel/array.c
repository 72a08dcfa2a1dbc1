/* The small array itself: how it is made, what it holds, and how parts of it are read and written. See array.h. */

#include "array.h"

#include <stdlib.h>

PyTypeObject *array_type = NULL;

#define SIZE_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = sizeof(TYPE),
const unsigned char kind_size[KIND_COUNT] = {ALL_KINDS(SIZE_OF)};
#define LETTER_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = LETTER,
static const char *const letters[KIND_COUNT] = {ALL_KINDS(LETTER_OF)};
#define CALL_OF(NAME, TYPE, WRAP, LETTER, CALLED) [NAME] = CALLED,
static const char *const called[KIND_COUNT] = {ALL_KINDS(CALL_OF)};

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
        PyErr_SetString(PyExc_ValueError, "an array cannot be that long");
        return NULL;
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
static Array *part_of(Array *whole, Py_ssize_t first, Py_ssize_t count) {
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
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
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
        if (strcmp(name, letters[kind]) == 0 || strcmp(name, called[kind]) == 0) {
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
    PyErr_Format(PyExc_OverflowError, "%lld does not fit into %s", number, called[array->kind]);
    return -1;
}

/* Whole numbers out of real ones: what does not fit becomes the nearest that does, what is no number zero. */
#define FROM_REAL(TYPE, LOW, HIGH) \
    for (Py_ssize_t i = 0; i < count; i++) { \
        double number = reals ? reals[i] : (double)singles[i]; \
        ((TYPE *)to)[i] = number != number ? 0 : number <= (double)(LOW) ? (LOW) : number >= (double)(HIGH) ? (HIGH) : (TYPE)number; \
    } \
    break;

static void whole_from_real(const double *reals, const float *singles, Kind kind, void *to, Py_ssize_t count) {
    switch (kind) {
    case I8:
        FROM_REAL(int8_t, INT8_MIN, INT8_MAX)
    case U8:
        FROM_REAL(uint8_t, 0, UINT8_MAX)
    case U16:
        FROM_REAL(uint16_t, 0, UINT16_MAX)
    case I32:
        FROM_REAL(int32_t, INT32_MIN, INT32_MAX)
    case U32:
        FROM_REAL(uint32_t, 0, UINT32_MAX)
    case I64:
        FROM_REAL(int64_t, INT64_MIN, INT64_MAX)
    default:
        FROM_REAL(uint64_t, 0, UINT64_MAX)
    }
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
            whole_from_real(NAME == F64 ? from : NULL, NAME == F32 ? from : NULL, kind, to, count); \
        } \
        break; \
    }

Array *array_cast(Array *array, Kind kind) {
    if (array->kind == kind) {
        return as_array(Py_NewRef((PyObject *)array));
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
static Array *of_buffer(PyObject *object, int asked) {
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

static Array *of_numbers(PyObject *sequence, int kind) {
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
    Array *array = PyObject_CheckBuffer(object) ? of_buffer(object, -1) : NULL;
    return array != NULL || PyErr_Occurred() ? array : of_numbers(object, -1);
}

Array *array_from_as(PyObject *object, Kind kind) {
    if (!is_array(object) && !PyObject_CheckBuffer(object)) {
        return of_numbers(object, kind);
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

/* -- reading and writing parts --------------------------------------------------------------------------------------------- */

/* Places as given, counted from the end where they are below zero; NULL with an exception where one is not there. */
static Array *places_in(PyObject *key, Py_ssize_t count) {
    Array *given = array_from(key), *places;
    if (given == NULL) {
        return NULL;
    }
    if (given->kind == BOOL) {
        if (given->count != count) {
            Py_DECREF(given);
            PyErr_SetString(PyExc_IndexError, "the mask is of another length");
            return NULL;
        }
        const uint8_t *mask = (const uint8_t *)given->data;
        Py_ssize_t found = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            found += mask[i] != 0;
        }
        places = array_new(I64, found);
        if (places != NULL) {
            int64_t *to = (int64_t *)(void *)places->data;
            Py_ssize_t next = 0;
            for (Py_ssize_t i = 0; next < found && i < count; i++) {
                to[next] = i;
                next += mask[i] != 0;
            }
            places->count = next; /* fewer where somebody wrote to shared memory meanwhile */
        }
        Py_DECREF(given);
        return places;
    }
    if (is_real(given->kind) && given->count) {
        Py_DECREF(given);
        PyErr_SetString(PyExc_IndexError, "places are whole numbers");
        return NULL;
    }
    places = array_cast(given, I64);
    Py_DECREF(given);
    if (places == NULL) {
        return NULL;
    }
    const int64_t *each = (const int64_t *)(const void *)places->data;
    int below = 0, outside = 0;
    for (Py_ssize_t i = 0; i < places->count; i++) {
        below |= each[i] < 0;
        outside |= each[i] >= count || each[i] < -count;
    }
    if (outside) {
        Py_DECREF(places);
        PyErr_SetString(PyExc_IndexError, "a place is not in the array");
        return NULL;
    }
    if (below) {
        Array *moved = array_new(I64, places->count);
        for (Py_ssize_t i = 0; moved != NULL && i < places->count; i++) {
            ((int64_t *)(void *)moved->data)[i] = each[i] < 0 ? each[i] + count : each[i];
        }
        Py_DECREF(places);
        return moved;
    }
    return places;
}

#define TAKE(SIZE, TYPE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < places->count; i++) { \
            ((TYPE *)(void *)found->data)[i] = ((const TYPE *)(const void *)array->data)[at[i]]; \
        } \
        break;

static Array *taken(const Array *array, const Array *places) {
    Array *found = array_new(array->kind, places->count);
    const int64_t *at = (const int64_t *)(const void *)places->data;
    if (found != NULL) {
        switch (kind_size[array->kind]) {
            TAKE(1, uint8_t)
            TAKE(2, uint16_t)
            TAKE(4, uint32_t)
            TAKE(8, uint64_t)
        default:
            break;
        }
    }
    return found;
}

/* A key that is one whole number: 1 and its place, 0 where it is something else, -1 with an exception. */
static int one_place(const Array *array, PyObject *key, Py_ssize_t *place) {
    if (!PyLong_Check(key) && (!PyIndex_Check(key) || PySequence_Check(key))) {
        return 0;
    }
    *place = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (*place == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (*place < -array->count || *place >= array->count) {
        PyErr_SetString(PyExc_IndexError, "the place is not in the array");
        return -1;
    }
    *place += *place < 0 ? array->count : 0;
    return 1;
}

PyObject *array_item(PyObject *self, PyObject *key) {
    Array *array = as_array(self);
    Py_ssize_t place;
    int one = one_place(array, key, &place);
    if (one) {
        return one < 0 ? NULL : item_at(array, place);
    }
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
            return NULL;
        }
        Py_ssize_t count = PySlice_AdjustIndices(array->count, &start, &stop, step);
        if (step == 1) {
            return (PyObject *)part_of(array, count ? start : 0, count);
        }
        Array *found = array_new(array->kind, count);
        size_t size = kind_size[array->kind];
        for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
            memcpy(found->data + (size_t)i * size, array->data + (size_t)(start + i * step) * size, size);
        }
        return (PyObject *)found;
    }
    Array *places = places_in(key, array->count);
    if (places == NULL) {
        return NULL;
    }
    Array *found = taken(array, places);
    Py_DECREF(places);
    return (PyObject *)found;
}

static PyObject *method_copy(PyObject *self, PyObject *unused);

#define PUT(SIZE, TYPE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < count; i++) { \
            ((TYPE *)(void *)array->data)[at ? at[i] : start + i * step] = ((const TYPE *)(const void *)values->data)[many ? i : 0]; \
        } \
        break;

/* What is written, in the array's kind: several numbers, or one (and `many` is 0); NULL with an exception. */
static Array *values_for(const Array *array, PyObject *value, int *many) {
    *many = is_array(value) || (!PyFloat_Check(value) && !PyLong_Check(value) && PySequence_Check(value));
    if (*many) {
        Array *values = array_from_as(value, array->kind);
        if (values == NULL || (values->base == NULL && values->view == NULL && (PyObject *)values != value)) {
            return values;
        }
        /* It may be memory of the array itself, which is written to while it is read. */
        PyObject *copy = method_copy((PyObject *)values, NULL);
        Py_DECREF(values);
        return as_array(copy);
    }
    Array *values = array_new(array->kind, 1);
    if (values != NULL && put_item(values, 0, value) < 0) {
        Py_CLEAR(values);
    }
    return values;
}

/* Values to places, or from a start on in steps: each its own, or one for all. Nothing of Python runs in here: places that were
   found to be in the array still are. */
static int put_values(
    Array *array, const int64_t *at, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count, const Array *values, int many
) {
    if (many && values->count != count) {
        many = 0;
        if (values->count != 1) {
            PyErr_SetString(PyExc_ValueError, "there are not as many values as places");
            return -1;
        }
    }
    switch (kind_size[array->kind]) {
        PUT(1, uint8_t)
        PUT(2, uint16_t)
        PUT(4, uint32_t)
        PUT(8, uint64_t)
    default:
        break;
    }
    return 0;
}

int array_put(PyObject *self, PyObject *key, PyObject *value) {
    Array *array = as_array(self);
    Py_ssize_t place;
    if (array->fixed || value == NULL) {
        PyErr_SetString(PyExc_ValueError, "the array must not be written to");
        return -1;
    }
    int one = one_place(array, key, &place), many, failed = -1;
    if (one) {
        return one < 0 ? -1 : put_item(array, place, value);
    }
    Array *values = values_for(array, value, &many);
    if (values == NULL) {
        return -1;
    }
    if (PySlice_Check(key)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(key, &start, &stop, &step) == 0) {
            Py_ssize_t count = PySlice_AdjustIndices(array->count, &start, &stop, step);
            failed = put_values(array, NULL, start, step, count, values, many);
        }
    } else {
        Array *places = places_in(key, array->count);
        if (places != NULL) {
            const int64_t *at = (const int64_t *)(const void *)places->data;
            failed = put_values(array, at, 0, 1, places->count, values, many);
        }
        drop(places);
    }
    Py_DECREF(values);
    return failed;
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
    PyObject *text = numbers == NULL ? NULL : PyUnicode_FromFormat("array(%R, %s)", numbers, called[as_array(self)->kind]);
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
    if (array->kind == (Kind)kind && copied) {
        Array *made = array_new(array->kind, array->count);
        if (made != NULL) {
            memcpy(made->data, array->data, (size_t)array->count * kind_size[array->kind]);
        }
        return (PyObject *)made;
    }
    return (PyObject *)array_cast(array, (Kind)kind);
}

static PyObject *method_copy(PyObject *self, PyObject *unused) {
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
    return PyUnicode_FromString(called[as_array(self)->kind]);
}

static PyObject *get_size(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSsize_t(as_array(self)->count);
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return Py_BuildValue("(n)", as_array(self)->count);
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function)), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"tolist", method_tolist, METH_NOARGS, "The numbers as those of Python."},
    {"astype", WITH_KEYWORDS(method_astype), "The same numbers as another kind."},
    {"copy", method_copy, METH_NOARGS, "The same numbers elsewhere."},
    {"tobytes", method_tobytes, METH_NOARGS, "The numbers as they lie in memory."},
    {"nonzero", method_nonzero, METH_NOARGS, "The places of all that are not zero, as a tuple of one."},
    {"sum", method_sum, METH_NOARGS, "All of them added up."},
    {"max", WITH_KEYWORDS(method_max), "The largest."},
    {"min", WITH_KEYWORDS(method_min), "The smallest."},
    {"argmax", method_argmax, METH_NOARGS, "The place of the largest, the first of equals."},
    {"mean", method_mean, METH_NOARGS, "The sum over how many there are."},
    {"any", method_any, METH_NOARGS, "Whether one is not zero."},
    {"all", method_all, METH_NOARGS, "Whether none is zero."},
    {"searchsorted", WITH_KEYWORDS(method_searchsorted), "Where numbers would have to stand among these, which ascend."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"dtype", get_dtype, NULL, "The name of its kind.", NULL},
    {"size", get_size, NULL, "How many there are.", NULL},
    {"shape", get_shape, NULL, "The same as a tuple of one.", NULL},
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

/* -- what makes arrays ------------------------------------------------------------------------------------------------------ */

/* The kind that is asked for, F64 where none is; -1 with an exception. */
static int kind_or_real(PyObject *const *arguments, Py_ssize_t given, PyObject *names, Py_ssize_t place) {
    PyObject *named = given > place ? arguments[place] : keyword(arguments, given, names, "dtype");
    return named == NULL || named == Py_None ? F64 : kind_of(named);
}

static int count_of(PyObject *const *arguments, Py_ssize_t *count) {
    *count = PyNumber_AsSsize_t(arguments[0], PyExc_OverflowError);
    return *count == -1 && PyErr_Occurred() ? -1 : 0;
}

static FAST(make_zeros) {
    (void)module;
    Py_ssize_t count;
    if (!takes(given, 1, 2, names, " dtype ") || count_of(arguments, &count) < 0) {
        return NULL;
    }
    int kind = kind_or_real(arguments, given, names, 1);
    return kind < 0 ? NULL : (PyObject *)array_zeros((Kind)kind, count);
}

static FAST(make_full) {
    (void)module;
    Py_ssize_t count;
    if (!takes(given, 2, 3, names, " dtype ") || count_of(arguments, &count) < 0) {
        return NULL;
    }
    PyObject *named = given > 2 ? arguments[2] : keyword(arguments, given, names, "dtype");
    int kind = named != NULL ? kind_of(named) : PyBool_Check(arguments[1]) ? BOOL : PyLong_Check(arguments[1]) ? I64 : F64, many;
    Array *array = kind < 0 ? NULL : array_new((Kind)kind, count), *values = array == NULL ? NULL : values_for(array, arguments[1], &many);
    if (array != NULL && (values == NULL || put_values(array, NULL, 0, 1, count, values, many) < 0)) {
        Py_CLEAR(array);
    }
    drop(values);
    return (PyObject *)array;
}

static FAST(make_arange) {
    (void)module;
    if (!takes(given, 1, 2, names, "")) {
        return NULL;
    }
    int64_t bounds[2] = {0, 0};
    for (Py_ssize_t i = 0; i < given; i++) {
        bounds[given == 1 ? 1 : i] = PyNumber_AsSsize_t(arguments[i], PyExc_OverflowError);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    if (bounds[1] > PY_SSIZE_T_MAX / 2 || bounds[0] < -PY_SSIZE_T_MAX / 2) {
        return PyErr_Format(PyExc_ValueError, "an array cannot be that long");
    }
    Array *array = array_new(I64, bounds[1] > bounds[0] ? (Py_ssize_t)(bounds[1] - bounds[0]) : 0);
    for (Py_ssize_t i = 0; array != NULL && i < array->count; i++) {
        ((int64_t *)(void *)array->data)[i] = bounds[0] + i;
    }
    return (PyObject *)array;
}

/* array, asarray: the second shares memory with what is of the kind already. */
static PyObject *made_of(PyObject *const *arguments, Py_ssize_t given, PyObject *names, int apart) {
    if (!takes(given, 1, 2, names, " dtype ")) {
        return NULL;
    }
    PyObject *named = given > 1 ? arguments[1] : keyword(arguments, given, names, "dtype");
    int kind = named == NULL || named == Py_None ? -1 : kind_of(named);
    if (kind < 0 && PyErr_Occurred()) {
        return NULL;
    }
    Array *array = kind < 0 ? array_from(arguments[0]) : array_from_as(arguments[0], (Kind)kind);
    if (array == NULL || !apart || (array->base == NULL && array->view == NULL && (PyObject *)array != arguments[0])) {
        return (PyObject *)array;
    }
    PyObject *copy = method_copy((PyObject *)array, NULL);
    Py_DECREF(array);
    return copy;
}

static FAST(make_array) {
    (void)module;
    return made_of(arguments, given, names, 1);
}

static FAST(make_asarray) {
    (void)module;
    return made_of(arguments, given, names, 0);
}

static FAST(make_fromiter) {
    (void)module;
    int kind = takes(given, 1, 3, names, " dtype count ") ? kind_or_real(arguments, given, names, 1) : -1;
    PyObject *many = kind < 0 ? NULL : given > 2 ? arguments[2] : keyword(arguments, given, names, "count");
    Py_ssize_t count = many == NULL ? -1 : PyNumber_AsSsize_t(many, PyExc_OverflowError);
    if (kind < 0 || PyErr_Occurred()) {
        return NULL;
    }
    Array *array = of_numbers(arguments[0], kind);
    if (array != NULL && count > array->count) {
        Py_CLEAR(array);
        PyErr_SetString(PyExc_ValueError, "there are not that many numbers");
    } else if (array != NULL && count >= 0) {
        array->count = count;
    }
    return (PyObject *)array;
}

static FAST(make_frombuffer) {
    (void)module;
    int kind = takes(given, 1, 2, names, " dtype ") ? kind_or_real(arguments, given, names, 1) : -1;
    if (kind < 0) {
        return NULL;
    }
    Array *array = of_buffer(arguments[0], kind);
    if (array == NULL && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "the buffer is no array of %s", called[kind]);
    }
    return (PyObject *)array;
}

/* A buffer of rows, where in each a number stands, how long a row is, its kind: that column. */
static FAST(make_column) {
    (void)module;
    if (!takes(given, 4, 4, names, "")) {
        return NULL;
    }
    Py_ssize_t place = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    Py_ssize_t width = PyErr_Occurred() ? -1 : PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    int kind = PyErr_Occurred() ? -1 : kind_of(arguments[3]);
    Py_buffer view;
    if (kind < 0 || PyObject_GetBuffer(arguments[0], &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    Array *array = NULL;
    if (place < 0 || width <= 0 || place > width - kind_size[kind] || view.len % width) {
        PyErr_SetString(PyExc_ValueError, "the buffer has no such rows");
    } else {
        array = array_new((Kind)kind, view.len / width);
    }
#define PICK(SIZE) \
    case SIZE: \
        for (Py_ssize_t i = 0; i < array->count; i++) { \
            memcpy(array->data + i * (SIZE), (const char *)view.buf + i * width + place, SIZE); \
        } \
        break;
    if (array != NULL) {
        switch (kind_size[kind]) {
            PICK(1)
            PICK(2)
            PICK(4)
            PICK(8)
        default:
            break;
        }
    }
    PyBuffer_Release(&view);
    return (PyObject *)array;
}

PyMethodDef array_functions[] = {
    {"zeros", WITH_KEYWORDS(make_zeros), "So many zeros."},
    {"full", WITH_KEYWORDS(make_full), "So many of one number."},
    {"arange", WITH_KEYWORDS(make_arange), "The whole numbers from one to before another."},
    {"array", WITH_KEYWORDS(make_array), "An array of its own out of numbers, a buffer or another array."},
    {"asarray", WITH_KEYWORDS(make_asarray), "The same, sharing memory where it can."},
    {"fromiter", WITH_KEYWORDS(make_fromiter), "An array of what can be gone through."},
    {"frombuffer", WITH_KEYWORDS(make_frombuffer), "An array over a buffer's bytes."},
    {"column", WITH_KEYWORDS(make_column), "One column of a buffer of rows: buffer, place in a row, width of a row, kind."},
    {"maximum", WITH_KEYWORDS(array_maximum), "The larger ones of two."},
    {"minimum", WITH_KEYWORDS(array_minimum), "The smaller ones of two."},
    {"maximum_at", WITH_KEYWORDS(array_maximum_at), "Raise what stands at places to values, in place."},
    {"maximum_reduceat", WITH_KEYWORDS(array_maximum_reduceat), "The largest of each run, given where runs begin."},
    {"minimum_accumulate", WITH_KEYWORDS(array_minimum_accumulate), "The smallest so far."},
    {"where", WITH_KEYWORDS(array_where), "Of two what a mask says."},
    {"flatnonzero", WITH_KEYWORDS(array_flatnonzero), "The places of all that are not zero."},
    {"count_nonzero", WITH_KEYWORDS(array_count_nonzero), "How many are not zero."},
    {"bincount", WITH_KEYWORDS(array_bincount), "How often each number occurs, or the sum of the weights it occurs with."},
    {"repeat", WITH_KEYWORDS(array_repeat), "Each as often as is said."},
    {"cumsum", WITH_KEYWORDS(array_cumsum), "Sums so far."},
    {"diff", WITH_KEYWORDS(array_diff), "From each to the next."},
    {"concatenate", WITH_KEYWORDS(array_concatenate), "One after the other."},
    {"argsort", WITH_KEYWORDS(array_argsort), "Places in ascending order, stable."},
    {"sort", WITH_KEYWORDS(array_sort), "In ascending order."},
    {"lexsort", WITH_KEYWORDS(array_lexsort), "Places in the order of the last key, then of the one before it."},
    {"unique", WITH_KEYWORDS(array_unique), "Each once, ascending; on demand where it first stands, and how often it does."},
    {"isin", WITH_KEYWORDS(array_isin), "Which are among others."},
    {"partition", WITH_KEYWORDS(array_partition), "In an order in which the k-th is where it would be if all were sorted."},
    {"abs", WITH_KEYWORDS(array_absolute), "Without their sign."},
    {"sqrt", WITH_KEYWORDS(array_sqrt), "Square roots."},
    {"trunc", WITH_KEYWORDS(array_trunc), "Without their fraction."},
    {"rint", WITH_KEYWORDS(array_rint), "The nearest whole numbers, halves to the even side."},
    {"postings", WITH_KEYWORDS(array_postings),
     "A list's bytes, its rows, and how many owners there are: the owners and their counts; None where the list is broken."},
    {"isfinite", WITH_KEYWORDS(array_isfinite), "Which are numbers, and not without end."},
    {NULL, NULL, 0, NULL},
};
