/* Putting small arrays in order, finding numbers in them, and adding them up by what they belong to. */

#include "query/array.h"

#include <stdlib.h>

/* A number as one that compares as a whole number, and where it came from. */
typedef struct {
    uint64_t key;
    int64_t place;
} Keyed;

/* Reals in their order, zero of either sign alike, what is no number last. */
static uint64_t real_key(double number) {
    uint64_t bits;
    number += 0.0;
    if (number != number) {
        return UINT64_MAX;
    }
    memcpy(&bits, &number, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static uint64_t key_at(const Array *array, Py_ssize_t i) {
    switch (array->kind) {
#define UNSIGNED_KEY(NAME, TYPE) case NAME: return ((const TYPE *)(const void *)array->data)[i];
#define SIGNED_KEY(NAME, TYPE) case NAME: return (uint64_t)(int64_t)((const TYPE *)(const void *)array->data)[i] ^ UINT64_C(1) << 63;
        UNSIGNED_KEY(BOOL, uint8_t)
        UNSIGNED_KEY(U8, uint8_t)
        UNSIGNED_KEY(U16, uint16_t)
        UNSIGNED_KEY(U32, uint32_t)
        UNSIGNED_KEY(U64, uint64_t)
        SIGNED_KEY(I8, int8_t)
        SIGNED_KEY(I32, int32_t)
        SIGNED_KEY(I64, int64_t)
    case F32:
        return real_key((double)((const float *)(const void *)array->data)[i]);
    default:
        return real_key(((const double *)(const void *)array->data)[i]);
    }
}

#define RUN 16

/* Stable and ascending: short runs by insertion, then runs merged two by two. The result is in the first of the two. */
static void sort_keyed(Keyed *items, Keyed *other, size_t count) {
    for (size_t first = 0; first < count; first += RUN) {
        size_t last = first + RUN < count ? first + RUN : count;
        for (size_t i = first + 1; i < last; i++) {
            Keyed moved = items[i];
            size_t place = i;
            for (; place > first && items[place - 1].key > moved.key; place--) {
                items[place] = items[place - 1];
            }
            items[place] = moved;
        }
    }
    Keyed *from = items, *to = other;
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = first + width < count ? first + width : count, last = middle + width < count ? middle + width : count;
            size_t a = first, b = middle, next = first;
            if (middle == last || from[middle - 1].key <= from[middle].key) {
                memcpy(to + first, from + first, (last - first) * sizeof *to);
                continue;
            }
            while (a < middle && b < last) {
                to[next++] = from[b].key < from[a].key ? from[b++] : from[a++];
            }
            memcpy(to + next, from + a, (middle - a) * sizeof *to);
            memcpy(to + next + (middle - a), from + b, (last - b) * sizeof *to);
        }
        Keyed *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != items) {
        memcpy(items, from, count * sizeof *items);
    }
}

/* Room for items and as many again; NULL with an exception. */
static Keyed *desk_for(Py_ssize_t count) {
    Keyed *desk = count > PY_SSIZE_T_MAX / 64 ? NULL : malloc((size_t)(count ? count : 1) * 2 * sizeof *desk);
    if (desk == NULL) {
        PyErr_NoMemory();
    }
    return desk;
}

/* All numbers of an array in order, or NULL with an exception. */
static Keyed *ordered(const Array *array) {
    Keyed *desk = desk_for(array->count);
    for (Py_ssize_t i = 0; desk != NULL && i < array->count; i++) {
        desk[i] = (Keyed){key_at(array, i), i};
    }
    if (desk != NULL) {
        sort_keyed(desk, desk + array->count, (size_t)array->count);
    }
    return desk;
}

static Array *only_array(PyObject *const *arguments, Py_ssize_t given, PyObject *names, const char *known) {
    return takes(given, 1, 1, names, known) ? array_from(arguments[0]) : NULL;
}

static Array *places_of(const Keyed *items, Py_ssize_t count) {
    Array *found = array_new(I64, count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        ((int64_t *)(void *)found->data)[i] = items[i].place;
    }
    return found;
}

/* The numbers that stand at places, in that order. */
static Array *numbers_at(const Array *array, const Keyed *items, Py_ssize_t count) {
    Array *found = array_new(array->kind, count);
    size_t size = kind_size[array->kind];
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        memcpy(found->data + (size_t)i * size, array->data + (size_t)items[i].place * size, size);
    }
    return found;
}

FAST(array_argsort) {
    (void)module;
    Array *array = only_array(arguments, given, names, " kind ");
    Keyed *items = array == NULL ? NULL : ordered(array);
    Array *found = items == NULL ? NULL : places_of(items, array->count);
    free(items);
    drop(array);
    return (PyObject *)found;
}

FAST(array_lexsort) {
    (void)module;
    PyObject *keys = takes(given, 1, 1, names, "") ? PySequence_List(arguments[0]) : NULL;
    Py_ssize_t depth = keys == NULL ? 0 : PyList_Size(keys);
    Array *found = NULL, *first = depth ? array_from(PyList_GetItem(keys, depth - 1)) : NULL;
    Keyed *items = first == NULL ? NULL : ordered(first);
    Py_ssize_t count = first == NULL ? 0 : first->count;
    /* Each further key puts those in order that are alike so far: runs of one key, each sorted by the next. */
    unsigned char *border = items == NULL ? NULL : malloc((size_t)count + 1);
    if (items != NULL && border == NULL) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; border != NULL && i <= count; i++) {
        border[i] = i == 0 || i == count || items[i].key != items[i - 1].key;
    }
    for (Py_ssize_t level = depth - 2; border != NULL && level >= 0; level--) {
        Array *next = array_from(PyList_GetItem(keys, level));
        if (next == NULL || next->count != count) {
            if (next != NULL) {
                fail("the arrays are not of one length");
            }
            drop(next);
            free(border);
            border = NULL;
            break;
        }
        for (Py_ssize_t start = 0, stop; start < count; start = stop) {
            for (stop = start + 1; !border[stop]; stop++) {
            }
            if (stop - start > 1) {
                for (Py_ssize_t i = start; i < stop; i++) {
                    items[i].key = key_at(next, items[i].place);
                }
                sort_keyed(items + start, items + count, (size_t)(stop - start));
                for (Py_ssize_t i = start + 1; i < stop; i++) {
                    border[i] = items[i].key != items[i - 1].key;
                }
            }
        }
        Py_DECREF(next);
    }
    if (border != NULL) {
        found = places_of(items, count);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "lexsort takes the keys, the last of which counts most");
    }
    free(border);
    free(items);
    drop(first);
    Py_XDECREF(keys);
    return (PyObject *)found;
}

FAST(array_unique) {
    (void)module;
    Array *array = only_array(arguments, given, names, " return_index return_counts ");
    Keyed *items = array == NULL ? NULL : ordered(array);
    PyObject *index = keyword(arguments, given, names, "return_index"), *counts = keyword(arguments, given, names, "return_counts");
    int with_index = index == NULL ? 0 : PyObject_IsTrue(index), with_counts = counts == NULL ? 0 : PyObject_IsTrue(counts);
    PyObject *found = NULL;
    Array *many = NULL;
    Py_ssize_t distinct = 0;
    if (items == NULL || with_index < 0 || with_counts < 0) {
        goto done;
    }
    many = array_new(I64, array->count);
    if (many == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < array->count; i++) {
        if (i && items[i].key == items[i - 1].key) {
            ((int64_t *)(void *)many->data)[distinct - 1]++;
            items[i].key = items[i - 1].key;
        } else {
            ((int64_t *)(void *)many->data)[distinct++] = 1;
        }
    }
    /* Only now the first of each is moved forward, when nobody looks back any more. */
    for (Py_ssize_t i = 0, next = 0; next < distinct; next++) {
        Keyed first = items[i];
        i += ((const int64_t *)(const void *)many->data)[next];
        items[next] = first;
    }
    many->count = distinct;
    Array *numbers = numbers_at(array, items, distinct), *places = with_index ? places_of(items, distinct) : NULL;
    if (numbers == NULL || (with_index && places == NULL)) {
        DROP(numbers, places);
        goto done;
    }
    if (!with_index && !with_counts) {
        found = (PyObject *)numbers;
    } else if (with_index && with_counts) {
        found = Py_BuildValue("(NNO)", numbers, places, many);
    } else {
        found = with_index ? Py_BuildValue("(NN)", numbers, places) : Py_BuildValue("(NO)", numbers, many);
    }
done:
    free(items);
    DROP(array, many);
    return found;
}

FAST(array_isin) {
    (void)module;
    if (!takes(given, 2, 2, names, "")) {
        return NULL;
    }
    Array *left = array_from(arguments[0]), *right = left == NULL ? NULL : array_from(arguments[1]);
    int kind = right == NULL ? -1 : promoted(left->kind, right->kind);
    if (right != NULL && kind < 0) {
        PyErr_SetString(PyExc_TypeError, "these kinds of numbers do not go together");
    }
    Array *array = kind < 0 ? NULL : array_cast(left, (Kind)kind), *among = array == NULL ? NULL : array_cast(right, (Kind)kind);
    DROP(left, right);
    Keyed *items = among == NULL ? NULL : ordered(among);
    Array *found = items == NULL ? NULL : array_new(BOOL, array->count);
    for (Py_ssize_t i = 0; found != NULL && i < array->count; i++) {
        uint64_t wanted = key_at(array, i);
        Py_ssize_t low = 0, high = among->count;
        while (low < high) {
            Py_ssize_t middle = low + (high - low) / 2;
            if (items[middle].key < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        /* What is no number equals nothing, itself included. */
        found->data[i] = low < among->count && items[low].key == wanted && !(is_real(kind) && wanted == UINT64_MAX);
    }
    free(items);
    DROP(array, among);
    return (PyObject *)found;
}

/* The place of the first number that is not below (or, from the right, above) a key, in an array that ascends. */
static Py_ssize_t place_in(const Array *array, uint64_t wanted, int right) {
    Py_ssize_t low = 0, high = array->count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        uint64_t key = key_at(array, middle);
        if (key < wanted || (right && key == wanted)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

PyObject *method_searchsorted(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names) {
    Array *array = as_array(self), *wider = NULL, *found = NULL, *asked;
    if (!takes(given, 1, 2, names, " side ")) {
        return NULL;
    }
    PyObject *side = given > 1 ? arguments[1] : keyword(arguments, given, names, "side");
    int right = side != NULL && PyUnicode_Check(side) && PyUnicode_CompareWithASCIIString(side, "right") == 0;
    if (side != NULL && !right && !(PyUnicode_Check(side) && PyUnicode_CompareWithASCIIString(side, "left") == 0)) {
        return PyErr_Format(PyExc_ValueError, "a side is 'left' or 'right', not %R", side);
    }
    int one = is_index(arguments[0]) || PyFloat_Check(arguments[0]);
    if (one && !PyFloat_Check(arguments[0]) && !is_real(array->kind)) {  /* the usual case, in which nothing is converted */
        asked = array_new(I64, 1);
        if (asked == NULL || put_item(asked, 0, arguments[0]) < 0) {
            drop(asked);
            return NULL;
        }
        int64_t number = *(int64_t *)(void *)asked->data;
        Py_DECREF(asked);
        int natural = array->kind == BOOL || array->kind == U8 || array->kind == U16 || array->kind == U32 || array->kind == U64;
        if (natural && number < 0) {
            return PyLong_FromLong(0);
        }
        return PyLong_FromSsize_t(place_in(array, natural ? (uint64_t)number : (uint64_t)number ^ UINT64_C(1) << 63, right));
    }
    PyObject *several = one ? PyTuple_Pack(1, arguments[0]) : Py_NewRef(arguments[0]);
    asked = several == NULL ? NULL : array_from(several);
    Py_XDECREF(several);
    int kind = asked == NULL ? -1 : promoted(array->kind, asked->kind);
    if (kind >= 0) {
        Array *given_kind = asked;
        asked = array_cast(given_kind, (Kind)kind);
        drop(given_kind);
        wider = asked == NULL ? NULL : array_cast(array, (Kind)kind);
    } else if (asked != NULL) {
        PyErr_SetString(PyExc_TypeError, "these kinds of numbers do not go together");
    }
    found = wider == NULL ? NULL : array_new(I64, asked->count);
    for (Py_ssize_t i = 0; found != NULL && i < asked->count; i++) {
        ((int64_t *)(void *)found->data)[i] = place_in(wider, key_at(asked, i), right);
    }
    DROP(asked, wider);
    if (one && found != NULL) {
        PyObject *place = item_at(found, 0);
        Py_DECREF(found);
        return place;
    }
    return (PyObject *)found;
}

/* -- by what numbers belong to ---------------------------------------------------------------------------------------------- */

FAST(array_bincount) {
    (void)module;
    if (!takes(given, 1, 3, names, " weights minlength ")) {
        return NULL;
    }
    PyObject *weighed = given > 1 ? arguments[1] : keyword(arguments, given, names, "weights");
    PyObject *least = given > 2 ? arguments[2] : keyword(arguments, given, names, "minlength");
    Py_ssize_t total = least == NULL ? 0 : PyNumber_AsSsize_t(least, PyExc_OverflowError);
    if (total < 0) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "an array cannot be that long");
    }
    weighed = weighed == Py_None ? NULL : weighed;
    Array *owners = array_whole(arguments[0]), *weights = NULL, *found = NULL;
    if (owners != NULL && weighed != NULL) {
        weights = array_from_as(weighed, F64);
    }
    if (owners == NULL || (weighed != NULL && weights == NULL)) {
        goto done;
    }
    if (weights != NULL && weights->count != owners->count) {
        fail("the arrays are not of one length");
        goto done;
    }
    const int64_t *owner = (const int64_t *)(const void *)owners->data;
    for (Py_ssize_t i = 0; i < owners->count; i++) {
        if (owner[i] < 0 || owner[i] >= PY_SSIZE_T_MAX / 32) {
            fail("an owner is not there");
            goto done;
        }
        total = owner[i] >= total ? (Py_ssize_t)owner[i] + 1 : total;
    }
    /* As with numpy, nothing weighs nothing in whole numbers. */
    found = array_zeros(weights == NULL || owners->count == 0 ? I64 : F64, total);
    for (Py_ssize_t i = 0; found != NULL && i < owners->count; i++) {
        if (weights == NULL) {
            ((int64_t *)(void *)found->data)[owner[i]]++;
        } else {
            ((double *)(void *)found->data)[owner[i]] += ((const double *)(const void *)weights->data)[i];
        }
    }
done:
    DROP(owners, weights);
    return (PyObject *)found;
}

FAST(array_repeat) {
    (void)module;
    if (!takes(given, 2, 2, names, "")) {
        return NULL;
    }
    Array *array = array_from(arguments[0]), *counts = NULL, *found = NULL;
    if (array == NULL) {
        return NULL;
    }
    int one = is_index(arguments[1]);
    PyObject *many = one ? PyTuple_Pack(1, arguments[1]) : Py_NewRef(arguments[1]);
    counts = many == NULL ? NULL : array_whole(many);
    drop(many);
    if (counts == NULL) {
        goto done;
    }
    one = one || counts->count == 1;
    if (!one && counts->count != array->count) {
        fail("the arrays are not of one length");
        goto done;
    }
    const int64_t *often = (const int64_t *)(const void *)counts->data;
    Py_ssize_t total = 0;
    for (Py_ssize_t i = 0; i < array->count; i++) {
        int64_t times = often[one ? 0 : i];
        if (times < 0 || times > PY_SSIZE_T_MAX / 32 - total) {
            fail("nothing can be repeated that often");
            goto done;
        }
        total += (Py_ssize_t)times;
    }
    found = array_new(array->kind, total);
    size_t size = kind_size[array->kind];
    char *to = found == NULL ? NULL : found->data;
    for (Py_ssize_t i = 0; found != NULL && i < array->count; i++) {
        for (int64_t times = often[one ? 0 : i]; times > 0; times--, to += size) {
            memcpy(to, array->data + (size_t)i * size, size);
        }
    }
done:
    DROP(array, counts);
    return (PyObject *)found;
}

/* Sums in the kind in which numpy adds up: reals in their own, whole numbers in the widest with or without a sign. */
FAST(array_cumsum) {
    (void)module;
    Array *first = only_array(arguments, given, names, "");
    int natural = first != NULL && (first->kind == U8 || first->kind == U16 || first->kind == U32 || first->kind == U64);
    Array *array = first == NULL ? NULL : array_cast(first, is_real(first->kind) ? first->kind : natural ? U64 : I64);
    Array *found = array == NULL ? NULL : array_new(array->kind, array->count);
#define SUMS_SO_FAR(TYPE) \
    do { \
        TYPE sum = 0; \
        for (Py_ssize_t i = 0; i < array->count; i++) { \
            const TYPE each = ((const TYPE *)(const void *)array->data)[i]; \
            sum = i ? sum + each : each; \
            ((TYPE *)(void *)found->data)[i] = sum; \
        } \
    } while (0)
    if (found != NULL && array->kind == F64) {
        SUMS_SO_FAR(double);
    } else if (found != NULL && array->kind == F32) {
        SUMS_SO_FAR(float);
    } else if (found != NULL) {
        SUMS_SO_FAR(uint64_t);
    }
    DROP(first, array);
    return (PyObject *)found;
}

#define DIFFERENCES(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: { \
        const TYPE *each = (const TYPE *)(const void *)array->data; \
        TYPE *to = (TYPE *)(void *)found->data; \
        for (Py_ssize_t i = 0; i < found->count; i++) { \
            const TYPE last = i + skipped ? each[i + skipped - 1] : *(const TYPE *)(const void *)start->data; \
            to[i] = (TYPE)((WRAP)each[i + skipped] - (WRAP)last); \
        } \
        break; \
    }

FAST(array_diff) {
    (void)module;
    Array *first = only_array(arguments, given, names, " prepend "), *before = NULL, *array = NULL, *start = NULL, *found = NULL;
    PyObject *one = first == NULL ? NULL : keyword(arguments, given, names, "prepend");
    int kind = first == NULL ? -1 : (int)first->kind;
    if (one != NULL) {
        PyObject *several = PyTuple_Pack(1, one);
        before = several == NULL ? NULL : array_from(several);
        Py_XDECREF(several);
        kind = before == NULL ? -1 : promoted(first->kind, before->kind);
    }
    if (kind == BOOL) {
        no_such("diff");
        kind = -1;
    }
    array = kind < 0 ? NULL : array_cast(first, (Kind)kind);
    start = array == NULL || before == NULL ? NULL : array_cast(before, (Kind)kind);
    if (array != NULL && (start != NULL || before == NULL)) {
        Py_ssize_t skipped = before == NULL;
        found = array_new(array->kind, array->count > skipped ? array->count - skipped : 0);
        if (found != NULL) {
            switch (array->kind) {
                NUMBER_KINDS(DIFFERENCES)
            default:
                break;
            }
        }
    }
    DROP(first, before, array, start);
    return (PyObject *)found;
}

FAST(array_concatenate) {
    (void)module;
    PyObject *parts = takes(given, 1, 1, names, "") ? PySequence_List(arguments[0]) : NULL;
    Py_ssize_t count = parts == NULL ? 0 : PyList_Size(parts), total = 0;
    Array *found = NULL;
    int kind = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Array *part = array_from(PyList_GetItem(parts, i));
        if (part == NULL || PyList_SetItem(parts, i, (PyObject *)part) < 0) {
            goto done;
        }
        kind = i ? promoted((Kind)kind, part->kind) : (int)part->kind;
        if (kind < 0 || total > PY_SSIZE_T_MAX / 32 - part->count) {
            PyErr_SetString(PyExc_TypeError, "these arrays do not go together");
            goto done;
        }
        total += part->count;
    }
    if (count == 0) {
        if (!PyErr_Occurred()) {
            fail("there are no arrays to put together");
        }
        goto done;
    }
    found = array_new((Kind)kind, total);
    char *to = found == NULL ? NULL : found->data;
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        Array *part = array_cast(as_array(PyList_GetItem(parts, i)), (Kind)kind);
        if (part == NULL) {
            Py_CLEAR(found);
            break;
        }
        memcpy(to, part->data, (size_t)part->count * kind_size[kind]);
        to += part->count * kind_size[kind];
        Py_DECREF(part);
    }
done:
    Py_XDECREF(parts);
    return (PyObject *)found;
}
