/* Paths with zeros between, for storage/manifest.py and sources/signature.py: how many there are, and whether one leads elsewhere. */

#include "support/kernel.h"

/* Whether a path is absolute or has a step up. */
static int leads_out(const char *path, const char *end) {
    if (path < end && *path == '/') {
        return 1;
    }
    for (const char *dot = path; dot < end; dot++) {
        dot = memchr(dot, '.', (size_t)(end - dot));
        if (dot == NULL) {
            return 0;
        }
        if (end - dot >= 2 && dot[1] == '.' && (dot == path || dot[-1] == '/') && (end - dot == 2 || dot[2] == '/')) {
            return 1;
        }
    }
    return 0;
}

/* 0, or -1 with an exception where a path is no text. */
static int check_text(const char *path, const char *end) {
    if (is_ascii(path, (size_t)(end - path))) {
        return 0;
    }
    PyObject *text = PyUnicode_DecodeUTF8(path, (Py_ssize_t)(end - path), "strict");
    Py_XDECREF(text);
    return text == NULL ? -1 : 0;
}

PyObject *kernel_paths(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer view;
    int strict;
    if (!PyArg_ParseTuple(arguments, "y*p", &view, &strict)) {
        return NULL;
    }
    const char *path = view.buf, *last = path + view.len;
    Py_ssize_t count = view.len > 0;
    int out = 0, failed = 0;
    for (;;) {
        const char *end = path < last ? memchr(path, 0, (size_t)(last - path)) : NULL;
        const char *stop = end != NULL ? end : last;
        out |= leads_out(path, stop);
        failed = strict && check_text(path, stop) < 0;
        if (end == NULL || failed) {
            break;
        }
        count++;
        path = end + 1;
    }
    PyBuffer_Release(&view);
    return failed ? NULL : Py_BuildValue("nO", count, out ? Py_True : Py_False);
}
