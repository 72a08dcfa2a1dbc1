/* Terms looked up among sorted ones, as vectors/table.py has it; and memory given back to the system. */

#include "support/kernel.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

typedef struct {
    const char *text;
    const uint32_t *ends;
    size_t count;
} Sorted;

/* Whether the term of that number comes before (-1), is (0) or comes after (1) a key. */
static int compared(const Sorted *terms, size_t number, const char *key, size_t size) {
    size_t start = number ? terms->ends[number - 1] : 0, length = terms->ends[number] - start, both = length < size ? length : size;
    int order = both ? memcmp(terms->text + start, key, both) : 0;
    return order ? (order < 0 ? -1 : 1) : length < size ? -1 : length > size;
}

static int64_t place_of(const Sorted *terms, const char *key, size_t size) {
    size_t low = 0, high = terms->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compared(terms, middle, key, size) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < terms->count && compared(terms, low, key, size) == 0 ? (int64_t)low : -1;
}

static int look_up(const Sorted *terms, PyObject *term, int64_t *place) {
    Py_ssize_t size;
    const char *key = PyUnicode_Check(term) ? PyUnicode_AsUTF8AndSize(term, &size) : NULL;
    if (key != NULL) {
        *place = place_of(terms, key, (size_t)size);
        return 0;
    }
    if (!PyUnicode_Check(term)) {
        PyErr_SetString(PyExc_TypeError, "terms are texts");
        return -1;
    }
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(term, "utf-8", "surrogatepass");
    char *data;
    if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &data, &size) < 0) {
        Py_XDECREF(bytes);
        return -1;
    }
    *place = place_of(terms, data, (size_t)size);
    Py_DECREF(bytes);
    return 0;
}

PyObject *kernel_places(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer text, ends;
    PyObject *wanted;
    if (!PyArg_ParseTuple(arguments, "y*y*O!:places", &text, &ends, &PyList_Type, &wanted)) {
        return NULL;
    }
    Py_ssize_t count = items_of(&ends, sizeof(uint32_t), "the ends of terms"), total = PyList_Size(wanted);
    Sorted terms = {text.buf, ends.buf, count < 0 ? 0 : (size_t)count};
    int failed = count < 0;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        if (terms.ends[i] > (size_t)text.len || (i && terms.ends[i] < terms.ends[i - 1])) {
            fail("terms do not end where they should");
            failed = 1;
        }
    }
    PyObject *found = failed ? NULL : PyByteArray_FromStringAndSize(NULL, total * (Py_ssize_t)sizeof(int64_t));
    char *places = found == NULL ? NULL : PyByteArray_AsString(found);
    for (Py_ssize_t i = 0; found != NULL && i < total; i++) {
        int64_t place;
        if (look_up(&terms, PyList_GetItem(wanted, i), &place) < 0) {
            Py_CLEAR(found);
        } else {
            memcpy(places + i * (Py_ssize_t)sizeof place, &place, sizeof place);
        }
    }
    RELEASE(&text, &ends);
    return found;
}

PyObject *kernel_give_back(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
    Py_RETURN_NONE;
}
