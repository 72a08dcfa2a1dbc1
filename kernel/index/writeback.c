/* Starts writing a file to the disk before anything waits for it. */

#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#endif

#include "support/kernel.h"

/* A file, where a part of it begins, and its size. Errors are reported by the flush that has to follow in any case. */
PyObject *kernel_write_out(PyObject *module, PyObject *arguments) {
    (void)module;
    int descriptor;
    long long start, size;
    if (!PyArg_ParseTuple(arguments, "iLL:write_out", &descriptor, &start, &size)) {
        return NULL;
    }
#if defined(__linux__)
    Py_BEGIN_ALLOW_THREADS
    (void)sync_file_range(descriptor, start, size, SYNC_FILE_RANGE_WRITE);
    Py_END_ALLOW_THREADS
#endif
    Py_RETURN_NONE;
}
