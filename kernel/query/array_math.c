/* Arithmetic, comparisons and sums of small arrays, each number by number and in order, as numpy has them. */

#include "query/array.h"

#include <math.h>

/* -- operands ----------------------------------------------------------------------------------------------------------- */

/* The two sides of an operation in one kind. A single number stands for as many as the other side has. */
typedef struct {
    Array *left, *right;
    Py_ssize_t count;
    Kind kind;
    int one_left, one_right;  /* whether that side is one number */
} Pair;

static void release(Pair *pair) {
    drop(pair->left);
    drop(pair->right);
}

/* The kind in which a number of Python joins an array: -1 where it is no number. */
static int kind_with(Kind kind, PyObject *number) {
    if (PyBool_Check(number)) {
        return kind;
    }
    if (PyLong_Check(number)) {
        return kind == BOOL ? I64 : kind;
    }
    /* One of numpy's is a float too, and brings its precision along. */
    return !PyFloat_Check(number) ? -1 : kind == F32 && PyFloat_CheckExact(number) ? F32 : F64;
}

static Array *one_number(PyObject *number, Kind kind) {
    Array *array = array_new(kind, 1);
    if (array != NULL && put_item(array, 0, number) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* 1, 0 where the other side is none of ours, -1 with an exception. */
static int paired(PyObject *left, PyObject *right, int reals, Pair *pair) {
    memset(pair, 0, sizeof *pair);
    int kind;
    if (is_array(left) && is_array(right)) {
        kind = promoted(as_array(left)->kind, as_array(right)->kind);
    } else {
        PyObject *array = is_array(left) ? left : right, *other = is_array(left) ? right : left;
        kind = is_array(array) ? kind_with(as_array(array)->kind, other) : -1;
        if (kind < 0) {
            return 0;
        }
    }
    kind = reals && !is_real(kind) ? F64 : kind;
    if (kind < 0) {
        PyErr_SetString(PyExc_TypeError, "these kinds of numbers do not go together");
        return -1;
    }
    pair->kind = (Kind)kind;
    pair->left = is_array(left) ? array_cast(as_array(left), (Kind)kind) : one_number(left, (Kind)kind);
    pair->right = is_array(right) ? array_cast(as_array(right), (Kind)kind) : one_number(right, (Kind)kind);
    if (pair->left == NULL || pair->right == NULL) {
        release(pair);
        return -1;
    }
    pair->one_left = !is_array(left) || (pair->left->count == 1 && pair->right->count != 1);
    pair->one_right = !is_array(right) || (pair->right->count == 1 && pair->left->count != 1);
    pair->count = pair->one_left ? pair->right->count : pair->left->count;
    if (!pair->one_left && !pair->one_right && pair->left->count != pair->right->count) {
        fail("the arrays are not of one length");
        release(pair);
        return -1;
    }
    return 1;
}

/* Runs a loop over two sides of TYPE as `a` and `b`, either of which may be one number for all. */
#define OVER(TYPE, RESULT, EXPRESSION) \
    do { \
        const TYPE *l = (const TYPE *)(const void *)pair.left->data, *r = (const TYPE *)(const void *)pair.right->data; \
        RESULT *to = (RESULT *)(void *)found->data; \
        if (pair.one_right) { \
            const TYPE b = r[0]; \
            for (Py_ssize_t i = 0; i < pair.count; i++) { \
                const TYPE a = l[i]; \
                to[i] = (RESULT)(EXPRESSION); \
            } \
        } else if (pair.one_left) { \
            const TYPE a = l[0]; \
            for (Py_ssize_t i = 0; i < pair.count; i++) { \
                const TYPE b = r[i]; \
                to[i] = (RESULT)(EXPRESSION); \
            } \
        } else { \
            for (Py_ssize_t i = 0; i < pair.count; i++) { \
                const TYPE a = l[i], b = r[i]; \
                to[i] = (RESULT)(EXPRESSION); \
            } \
        } \
    } while (0)

static PyObject *other_side(void) { return Py_NewRef(Py_NotImplemented); }

PyObject *no_such(const char *what) { return PyErr_Format(PyExc_TypeError, "%s is not for this kind of numbers", what); }

/* -- arithmetic ---------------------------------------------------------------------------------------------------------- */

#define SUM_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, (WRAP)a + (WRAP)b); break;
#define DIFFERENCE_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, (WRAP)a - (WRAP)b); break;
#define PRODUCT_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, (WRAP)a * (WRAP)b); break;
#define LARGER_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a > b ? a : b); break;
#define SMALLER_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a < b ? a : b); break;
/* What is no number stays none, whichever side it is on. */
#define LARGER_REAL(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a != a || a > b ? a : b); break;
#define SMALLER_REAL(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a != a || a < b ? a : b); break;

#define ARITHMETIC(FUNCTION, LOOPS, ON_MASKS) \
    PyObject *FUNCTION(PyObject *left, PyObject *right) { \
        Pair pair; \
        int ours = paired(left, right, 0, &pair); \
        if (ours <= 0) { \
            return ours < 0 ? NULL : other_side(); \
        } \
        Array *found = array_new(pair.kind, pair.count); \
        if (found != NULL) { \
            switch (pair.kind) { \
                LOOPS \
            default: \
                ON_MASKS; \
            } \
        } \
        release(&pair); \
        return (PyObject *)found; \
    }

ARITHMETIC(math_add, NUMBER_KINDS(SUM_LOOP), OVER(uint8_t, uint8_t, a | b))
ARITHMETIC(math_subtract, NUMBER_KINDS(DIFFERENCE_LOOP), Py_CLEAR(found); no_such("-"))
ARITHMETIC(math_multiply, NUMBER_KINDS(PRODUCT_LOOP), OVER(uint8_t, uint8_t, a & b))
static ARITHMETIC(larger, WHOLE_KINDS(LARGER_LOOP) REAL_KINDS(LARGER_REAL), OVER(uint8_t, uint8_t, a | b))
static ARITHMETIC(smaller, WHOLE_KINDS(SMALLER_LOOP) REAL_KINDS(SMALLER_REAL), OVER(uint8_t, uint8_t, a & b))

PyObject *math_divide(PyObject *left, PyObject *right) {
    Pair pair;
    int ours = paired(left, right, 1, &pair);
    if (ours <= 0) {
        return ours < 0 ? NULL : other_side();
    }
    Array *found = array_new(pair.kind, pair.count);
    if (found != NULL && pair.kind == F64) {
        OVER(double, double, a / b);
    } else if (found != NULL) {
        OVER(float, float, a / b);
    }
    release(&pair);
    return (PyObject *)found;
}

#define AND_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a & b); break;
#define OR_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: OVER(TYPE, TYPE, a | b); break;
#define NO_REALS(OPERATION) \
    case F32: \
    case F64: \
        Py_CLEAR(found); \
        no_such(OPERATION); \
        break;

ARITHMETIC(math_and, WHOLE_KINDS(AND_LOOP) NO_REALS("&"), OVER(uint8_t, uint8_t, a & b))
ARITHMETIC(math_or, WHOLE_KINDS(OR_LOOP) NO_REALS("|"), OVER(uint8_t, uint8_t, a | b))

/* Whether numbers of a kind may be written over those of another: as numpy has it, not real over whole nor signed over unsigned. */
static int goes_over(Kind from, Kind to) {
    static const unsigned char rank[KIND_COUNT] = {
        [BOOL] = 0, [U8] = 1, [U16] = 1, [U32] = 1, [U64] = 1, [I8] = 2, [I32] = 2, [I64] = 2, [F32] = 3, [F64] = 3};
    return rank[from] <= rank[to];
}

/* In place: worked out apart, then written over, where the kind can hold it. */
static PyObject *into(PyObject *self, PyObject *result) {
    if (result == NULL || result == Py_NotImplemented) {
        return result;
    }
    Array *array = as_array(self), *made = as_array(result);
    if (array->fixed || made->count != array->count || !goes_over(made->kind, array->kind)) {
        Py_DECREF(result);
        return PyErr_Format(array->fixed ? PyExc_ValueError : PyExc_TypeError, "the array cannot take the result");
    }
    Array *fitting = array_cast(made, array->kind);
    Py_DECREF(result);
    if (fitting == NULL) {
        return NULL;
    }
    memcpy(array->data, fitting->data, (size_t)array->count * kind_size[array->kind]);
    Py_DECREF(fitting);
    return Py_NewRef(self);
}

/* Whether two of one length share memory without being the same, so that one changes while it is read. */
static int shifted(const Array *array, const Array *other) {
    uintptr_t a = (uintptr_t)array->data, b = (uintptr_t)other->data;
    return a != b && (a < b ? b - a : a - b) < (uintptr_t)array->count * kind_size[array->kind];
}

/* The usual case without a second array: numbers in double precision on both sides. */
#define IN_PLACE(FUNCTION, APART, OPERATOR) \
    PyObject *FUNCTION(PyObject *self, PyObject *other) { \
        Array *array = as_array(self); \
        if (array->kind == F64 && !array->fixed && is_array(other) && as_array(other)->kind == F64 && \
            as_array(other)->count == array->count && !shifted(array, as_array(other))) { \
            double *to = (double *)(void *)array->data; \
            const double *from = (const double *)(const void *)as_array(other)->data; \
            for (Py_ssize_t i = 0; i < array->count; i++) { \
                to[i] = to[i] OPERATOR from[i]; \
            } \
            return Py_NewRef(self); \
        } \
        return into(self, APART(self, other)); \
    }

IN_PLACE(math_add_to, math_add, +)
IN_PLACE(math_subtract_from, math_subtract, -)
IN_PLACE(math_multiply_by, math_multiply, *)
IN_PLACE(math_divide_by, math_divide, /)
PyObject *math_and_with(PyObject *self, PyObject *other) { return into(self, math_and(self, other)); }
PyObject *math_or_with(PyObject *self, PyObject *other) { return into(self, math_or(self, other)); }

#define EACH(TYPE, RESULT, EXPRESSION) \
    for (Py_ssize_t i = 0; i < found->count; i++) { \
        const TYPE a = ((const TYPE *)(const void *)array->data)[i]; \
        ((RESULT *)(void *)found->data)[i] = (RESULT)(EXPRESSION); \
    }
#define NEGATIVE_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: EACH(TYPE, TYPE, (WRAP)0 - (WRAP)a) break;
#define INVERTED_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) case NAME: EACH(TYPE, TYPE, ~a) break;

PyObject *math_negative(PyObject *self) {
    Array *array = as_array(self), *found = array_new(array->kind, array->count);
    if (found == NULL) {
        return NULL;
    }
    switch (array->kind) {
        WHOLE_KINDS(NEGATIVE_LOOP)
    case F32:
        EACH(float, float, -a)
        break;
    case F64:
        EACH(double, double, -a)
        break;
    default:
        Py_CLEAR(found);
        no_such("-");
    }
    return (PyObject *)found;
}

PyObject *math_invert(PyObject *self) {
    Array *array = as_array(self), *found = array_new(array->kind, array->count);
    if (found == NULL) {
        return NULL;
    }
    switch (array->kind) {
        WHOLE_KINDS(INVERTED_LOOP)
    case BOOL:
        EACH(uint8_t, uint8_t, !a)
        break;
    default:
        Py_CLEAR(found);
        no_such("~");
    }
    return (PyObject *)found;
}

int math_truth(PyObject *self) {
    if (as_array(self)->count != 1) {
        return fail("whether an array is true says nothing; use any() or all()");
    }
    PyObject *item = item_at(as_array(self), 0);
    int truth = item == NULL ? -1 : PyObject_IsTrue(item);
    Py_XDECREF(item);
    return truth;
}

#define COMPARE_LOOP(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: \
        switch (operation) { \
        case Py_LT: OVER(TYPE, uint8_t, a < b); break; \
        case Py_LE: OVER(TYPE, uint8_t, a <= b); break; \
        case Py_EQ: OVER(TYPE, uint8_t, a == b); break; \
        case Py_NE: OVER(TYPE, uint8_t, a != b); break; \
        case Py_GT: OVER(TYPE, uint8_t, a > b); break; \
        default: OVER(TYPE, uint8_t, a >= b); break; \
        } \
        break;

#define ORDERED(ORDER) \
    (operation == Py_LT ? (ORDER) < 0 : operation == Py_LE ? (ORDER) <= 0 : operation == Py_EQ ? (ORDER) == 0 : \
     operation == Py_NE ? (ORDER) != 0 : operation == Py_GT ? (ORDER) > 0 : (ORDER) >= 0)

/* A whole number that is below or above all that the array's kind can hold. */
static PyObject *compare_beyond(const Array *array, PyObject *number, int operation) {
    PyErr_Clear();
    PyObject *zero = PyLong_FromLong(0);
    int below = zero == NULL ? -1 : PyObject_RichCompareBool(number, zero, Py_LT);
    Py_XDECREF(zero);
    Array *found = below < 0 ? NULL : array_new(BOOL, array->count);
    int order = below ? 1 : -1;
    if (found != NULL) {
        memset(found->data, ORDERED(order), (size_t)found->count);
    }
    return (PyObject *)found;
}

static int has_sign(PyObject *array) { return as_array(array)->kind == I8 || as_array(array)->kind == I32 || as_array(array)->kind == I64; }

PyObject *math_compare(PyObject *left, PyObject *right, int operation) {
    /* Numbers with a sign and numbers of U64 have no kind in common that holds both. */
    if (is_array(right) && ((has_sign(left) && as_array(right)->kind == U64) || (has_sign(right) && as_array(left)->kind == U64))) {
        return no_such("a comparison");
    }
    Pair pair;
    int ours = paired(left, right, 0, &pair);
    if (ours < 0 && PyLong_Check(right) && !is_real(as_array(left)->kind) && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        return compare_beyond(as_array(left), right, operation);
    }
    if (ours <= 0) {
        return ours < 0 ? NULL : other_side();
    }
    Array *found = array_new(BOOL, pair.count);
    if (found != NULL) {
        switch (pair.kind) {
            ALL_KINDS(COMPARE_LOOP)
        default:
            break;
        }
    }
    release(&pair);
    return (PyObject *)found;
}

/* -- all numbers of an array ------------------------------------------------------------------------------------------------ */

/* In the order in which numpy adds up: halves, and in the smallest of them eight sums side by side. */
static double pairwise(const double *values, Py_ssize_t count) {
    if (count < 8) {
        double sum = 0;
        for (Py_ssize_t i = 0; i < count; i++) {
            sum += values[i];
        }
        return sum;
    }
    if (count <= 128) {
        double sums[8];
        Py_ssize_t i = 8;
        memcpy(sums, values, sizeof sums);
        for (; i < count - count % 8; i += 8) {
            for (int k = 0; k < 8; k++) {
                sums[k] += values[i + k];
            }
        }
        double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        for (; i < count; i++) {
            sum += values[i];
        }
        return sum;
    }
    Py_ssize_t half = count / 2;
    half -= half % 8;
    return pairwise(values, half) + pairwise(values + half, count - half);
}

PyObject *method_sum(PyObject *self, PyObject *unused) {
    (void)unused;
    Array *array = as_array(self);
    if (array->kind == F64) {
        return PyFloat_FromDouble(0.0 + pairwise((const double *)(const void *)array->data, array->count));
    }
    if (array->kind == F32) {
        return no_such("sum");
    }
    uint64_t sum = 0;
#define SUM_UP(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: \
        for (Py_ssize_t i = 0; i < array->count; i++) { \
            sum += (uint64_t)((const TYPE *)(const void *)array->data)[i]; \
        } \
        break;
    switch (array->kind) {
        WHOLE_KINDS(SUM_UP)
        SUM_UP(BOOL, uint8_t, uint8_t, "?", "bool")
    default:
        break;
    }
    int natural = array->kind == U8 || array->kind == U16 || array->kind == U32 || array->kind == U64;
    return natural ? PyLong_FromUnsignedLongLong(sum) : PyLong_FromLongLong((long long)sum);
}

/* The place of the largest (or smallest) number, -1 where there is none; what is no number wins. */
static Py_ssize_t extreme(const Array *array, int largest) {
    Py_ssize_t best = array->count ? 0 : -1;
#define EXTREME(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: { \
        const TYPE *each = (const TYPE *)(const void *)array->data; \
        for (Py_ssize_t i = 1; i < array->count; i++) { \
            if (!(each[best] != each[best]) && (each[i] != each[i] || (largest ? each[i] > each[best] : each[i] < each[best]))) { \
                best = i; \
            } \
        } \
        break; \
    }
    switch (array->kind) {
        ALL_KINDS(EXTREME)
    default:
        break;
    }
    return best;
}

static PyObject *extreme_of(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names, int largest) {
    if (!takes(given, 0, 0, names, " initial ")) {
        return NULL;
    }
    PyObject *initial = keyword(arguments, given, names, "initial");
    Py_ssize_t place = extreme(as_array(self), largest);
    if (place < 0) {
        return initial != NULL ? Py_NewRef(initial) : PyErr_Format(PyExc_ValueError, "an empty array has no largest number");
    }
    PyObject *found = item_at(as_array(self), place);
    if (found == NULL || initial == NULL) {
        return found;
    }
    int further = PyObject_RichCompareBool(initial, found, largest ? Py_GT : Py_LT);
    if (further) {
        Py_DECREF(found);
        return further < 0 ? NULL : Py_NewRef(initial);
    }
    return found;
}

PyObject *method_mean(PyObject *self, PyObject *unused) {
    if (as_array(self)->count == 0) {
        return PyErr_Format(PyExc_ValueError, "an empty array has no mean");
    }
    PyObject *sum = method_sum(self, unused);
    double total = sum == NULL ? -1.0 : PyFloat_AsDouble(sum);
    Py_XDECREF(sum);
    return total == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(total / (double)as_array(self)->count);
}

PyObject *method_max(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names) {
    return extreme_of(self, arguments, given, names, 1);
}

PyObject *method_min(PyObject *self, PyObject *const *arguments, Py_ssize_t given, PyObject *names) {
    return extreme_of(self, arguments, given, names, 0);
}

static Py_ssize_t nonzero_count(const Array *array) {
    Py_ssize_t found = 0;
#define COUNT_UP(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: \
        for (Py_ssize_t i = 0; i < array->count; i++) { \
            found += ((const TYPE *)(const void *)array->data)[i] != 0; \
        } \
        break;
    switch (array->kind) {
        ALL_KINDS(COUNT_UP)
    default:
        break;
    }
    return found;
}

PyObject *method_any(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(nonzero_count(as_array(self)) > 0);
}

PyObject *method_all(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(nonzero_count(as_array(self)) == as_array(self)->count);
}

/* -- functions ------------------------------------------------------------------------------------------------------------- */

/* The first argument as an array, a new reference; NULL with an exception. */
static Array *first_of(PyObject *const *arguments, Py_ssize_t given, PyObject *names) {
    return takes(given, 1, 1, names, "") ? array_from(arguments[0]) : NULL;
}

static PyObject *number_or_array(PyObject *object) {
    return PyLong_Check(object) || PyFloat_Check(object) ? Py_NewRef(object) : (PyObject *)array_from(object);
}

static PyObject *of_two(
    PyObject *const *arguments, Py_ssize_t given, PyObject *names, PyObject *(*operation)(PyObject *, PyObject *)
) {
    if (!takes(given, 2, 2, names, "")) {
        return NULL;
    }
    PyObject *left = number_or_array(arguments[0]), *right = left == NULL ? NULL : number_or_array(arguments[1]);
    PyObject *found = right == NULL ? NULL : operation(left, right);
    Py_XDECREF(left);
    Py_XDECREF(right);
    if (found == Py_NotImplemented) {
        Py_DECREF(found);
        return PyErr_Format(PyExc_TypeError, "two arrays are needed");
    }
    return found;
}

FAST(array_maximum) {
    (void)module;
    return of_two(arguments, given, names, larger);
}

FAST(array_minimum) {
    (void)module;
    return of_two(arguments, given, names, smaller);
}

FAST(array_where) {
    (void)module;
    if (!takes(given, 3, 3, names, "")) {
        return NULL;
    }
    Array *mask = array_from_as(arguments[0], BOOL);
    PyObject *left = mask == NULL ? NULL : number_or_array(arguments[1]), *right = left == NULL ? NULL : number_or_array(arguments[2]);
    Array *found = NULL;
    Pair pair = {0};
    if (right != NULL && !is_array(left) && !is_array(right)) {  /* two numbers: as one that is repeated, and another */
        Kind kind = PyFloat_Check(left) || PyFloat_Check(right) ? F64 : PyBool_Check(left) && PyBool_Check(right) ? BOOL : I64;
        PyObject *numbers[2] = {left, right};
        left = (PyObject *)one_number(numbers[0], kind);
        right = left == NULL ? NULL : (PyObject *)one_number(numbers[1], kind);
        drop(numbers[0]);
        drop(numbers[1]);
    }
    if (right != NULL && left != NULL && paired(left, right, 0, &pair) > 0) {
        pair.one_left |= pair.left->count == 1;
        pair.one_right |= pair.right->count == 1;
        if ((!pair.one_left && pair.left->count != mask->count) || (!pair.one_right && pair.right->count != mask->count)) {
            fail("the arrays are not of one length");
        } else {
            found = array_new(pair.kind, mask->count);
        }
#define CHOOSE(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: { \
        const TYPE *l = (const TYPE *)(const void *)pair.left->data, *r = (const TYPE *)(const void *)pair.right->data; \
        for (Py_ssize_t i = 0; i < mask->count; i++) { \
            ((TYPE *)(void *)found->data)[i] = mask->data[i] ? l[pair.one_left ? 0 : i] : r[pair.one_right ? 0 : i]; \
        } \
        break; \
    }
        if (found != NULL) {
            switch (pair.kind) {
                ALL_KINDS(CHOOSE)
            default:
                break;
            }
        }
        release(&pair);
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "where takes a mask and two arrays");
    }
    drop(mask);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return (PyObject *)found;
}

FAST(array_flatnonzero) {
    (void)module;
    Array *array = first_of(arguments, given, names), *found = array == NULL ? NULL : array_new(I64, nonzero_count(array));
    if (found != NULL) {
        int64_t *to = (int64_t *)(void *)found->data;
        Py_ssize_t next = 0;
#define PLACES(NAME, TYPE, WRAP, LETTER, CALLED) \
    case NAME: \
        for (Py_ssize_t i = 0; next < found->count && i < array->count; i++) { \
            to[next] = i; \
            next += ((const TYPE *)(const void *)array->data)[i] != 0; \
        } \
        break;
        switch (array->kind) {
            ALL_KINDS(PLACES)
        default:
            break;
        }
        found->count = next; /* fewer where somebody wrote to shared memory meanwhile */
    }
    drop(array);
    return (PyObject *)found;
}

FAST(array_count_nonzero) {
    (void)module;
    Array *array = first_of(arguments, given, names);
    PyObject *found = array == NULL ? NULL : PyLong_FromSsize_t(nonzero_count(array));
    drop(array);
    return found;
}

/* One function of each number, of double or single precision. Whole numbers become double, where numpy makes that of them: of
   those of a kind that has at least so many bytes. */
#define ON_REALS(FUNCTION, WIDTH, RESULT_KIND, RESULT, DOUBLE, SINGLE) \
    FAST(FUNCTION) { \
        (void)module; \
        Array *first = first_of(arguments, given, names); \
        if (first != NULL && !is_real(first->kind) && kind_size[first->kind] < (WIDTH)) { \
            Py_CLEAR(first); \
            no_such("a function of real numbers"); \
        } \
        Array *array = first == NULL ? NULL : array_cast(first, is_real(first->kind) ? first->kind : F64); \
        Array *found = array == NULL ? NULL : array_new(RESULT_KIND, array->count); \
        if (found != NULL && array->kind == F64) { \
            EACH(double, RESULT(double), DOUBLE) \
        } else if (found != NULL) { \
            EACH(float, RESULT(float), SINGLE) \
        } \
        drop(first); \
        drop(array); \
        return (PyObject *)found; \
    }
#define SAME(TYPE) TYPE
#define MASK(TYPE) uint8_t

ON_REALS(array_absolute, 16, array->kind, SAME, fabs(a), fabsf(a))
ON_REALS(array_trunc, 16, array->kind, SAME, trunc(a), truncf(a))
ON_REALS(array_rint, 4, array->kind, SAME, rint(a), rintf(a))
ON_REALS(array_isfinite, 0, BOOL, MASK, isfinite(a) != 0, isfinite(a) != 0)

