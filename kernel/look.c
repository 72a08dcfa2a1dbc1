/* Which files and folders do not look as they did, for index/freshness.py and sources/standing.py: one look at each, with the
   interpreter free for other threads meanwhile. */

#include "kernel.h"

#ifdef _WIN32

PyObject *kernel_unlike(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    PyErr_SetString(PyExc_NotImplementedError, "there is no such look on this system");
    return NULL;
}

PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments) { return kernel_unlike(module, arguments); }

#else

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define MODIFIED(status) (status).st_mtimespec
#define CHANGED(status) (status).st_ctimespec
#else
#define MODIFIED(status) (status).st_mtim
#define CHANGED(status) (status).st_ctim
#endif

enum { SIZE, MTIME, CTIME, INODE, NUMBERS };
enum { MOST_THREADS = 4, WORTH_A_THREAD = 1000 };

typedef struct {
    const char *path;  /* NULL: cannot be looked at here */
    int64_t numbers[NUMBERS];
    int unlike;
} Known;

static int64_t nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

static int differs(const Known *known, int folder, int64_t young, int folders) {
    struct stat status;
    const int64_t *was = known->numbers;
    if (known->path == NULL || fstatat(folder, known->path, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 1;
    }
    if (nanoseconds(MODIFIED(status)) != was[MTIME] || nanoseconds(CHANGED(status)) != was[CTIME] ||
        (int64_t)status.st_ino != was[INODE]) {
        return 1;
    }
    if (folders) {
        return !S_ISDIR(status.st_mode);
    }
    return (int64_t)status.st_size != was[SIZE] || was[MTIME] >= young || was[CTIME] >= young;
}

typedef struct {
    Known *known;
    size_t count;
    int folder, folders;
    int64_t young;
} Part;

static void *look_at(void *argument) {
    const Part *part = argument;
    for (size_t i = 0; i < part->count; i++) {
        part->known[i].unlike = differs(&part->known[i], part->folder, part->young, part->folders);
    }
    return NULL;
}

/* Nearly all of it is waiting for the system, which looks at several files at a time. */
static void look_at_all(Part all) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (size_t)cores;
    size_t parts = all.count / WORTH_A_THREAD < most ? all.count / WORTH_A_THREAD : most;
    Part part[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    size_t started = 0, done = 0;
    for (; started + 1 < parts; started++) {
        part[started] = all;
        part[started].known += done;
        part[started].count = all.count / parts;
        if (pthread_create(&thread[started], NULL, look_at, &part[started]) != 0) {
            break;
        }
        done += part[started].count;
    }
    all.known += done;
    all.count -= done;
    look_at(&all);
    while (started > 0) {
        pthread_join(thread[--started], NULL);
    }
}

/* 0, or -1 with an exception. Text that no file system has as it stands is left to the reference. */
static int read_known(PyObject *path, PyObject *row, Py_ssize_t first, Known *known) {
    Py_ssize_t size = 0;
    known->path = PyUnicode_AsUTF8AndSize(path, &size);
    if (known->path == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
            return -1;
        }
        PyErr_Clear();
    } else if (strlen(known->path) != (size_t)size) {
        known->path = NULL;
    } else if (size == 0) {
        known->path = ".";
    }
    if (!PyTuple_Check(row) || first < 0 || PyTuple_Size(row) < first + NUMBERS) {
        PyErr_SetString(PyExc_TypeError, "a row has too few numbers");
        return -1;
    }
    for (int i = 0; i < NUMBERS; i++) {
        known->numbers[i] = (int64_t)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(row, first + i));
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

static PyObject *unlike_in(PyObject *table, PyObject *paths, Py_ssize_t first, int folder, long long young, int folders) {
    Py_ssize_t count = PyList_Size(paths);
    Known *known = calloc(count > 0 ? (size_t)count : 1, sizeof *known);
    if (known == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path = PyList_GetItem(paths, i);
        PyObject *row = PyDict_GetItemWithError(table, path);
        if (row == NULL) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_RuntimeError, "the table changed");
            }
            goto done;
        }
        if (read_known(path, row, first, &known[i]) < 0) {
            goto done;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    look_at_all((Part){known, (size_t)count, folder, folders, young});
    Py_END_ALLOW_THREADS
    found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++) {
        if (known[i].unlike && PyList_Append(found, PyList_GetItem(paths, i)) < 0) {
            Py_CLEAR(found);
        }
    }
done:
    free(known);
    return found;
}

PyObject *kernel_unlike(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *table;
    Py_ssize_t first;
    int folder, folders;
    long long young;
    if (!PyArg_ParseTuple(arguments, "O!niLp", &PyDict_Type, &table, &first, &folder, &young, &folders)) {
        return NULL;
    }
    PyObject *paths = PyDict_Keys(table); /* holds them while others may run */
    if (paths == NULL) {
        return NULL;
    }
    PyObject *found = unlike_in(table, paths, first, folder, young, folders);
    Py_DECREF(paths);
    return found;
}

/* Whether the folder of a path is among those that are known; -1 with an exception. Paths are in order, so that most are in
   the folder of the one before them. */
static int is_known_folder(PyObject *folders, const char *path, size_t size, const char **before, size_t *length) {
    size_t end = size;
    while (end > 0 && path[end - 1] != '/') {
        end--;
    }
    size_t folder = end > 0 ? end - 1 : 0;
    if (*before != NULL && *length == folder && memcmp(*before, path, folder) == 0) {
        return 1;
    }
    *before = path;
    *length = folder;
    PyObject *name = PyUnicode_DecodeUTF8(path, (Py_ssize_t)folder, NULL);
    if (name == NULL) {
        return -1;
    }
    int found = PyDict_Contains(folders, name);
    Py_DECREF(name);
    return found;
}

static PyObject *unlike_packed(
    const char *paths, size_t size, const char *rows, size_t count, size_t width, size_t first, Part part, PyObject *folders
) {
    Known *known = calloc(count > 0 ? count : 1, sizeof *known);
    if (known == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *found = NULL;
    const char *before = NULL;
    size_t length = 0, start = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = start;
        while (end < size && paths[end] != 0) {
            end++;
        }
        if (start > size || (end == size) != (i == count - 1)) {
            PyErr_SetString(PyExc_ValueError, "there are not as many rows as paths");
            goto done;
        }
        int there = is_known_folder(folders, paths + start, end - start, &before, &length);
        if (there <= 0) {
            found = there == 0 ? Py_NewRef(Py_None) : NULL;
            goto done;
        }
        known[i].path = end == start ? "." : paths + start; /* ended by a zero, the last by that of the bytes */
        memcpy(known[i].numbers, rows + i * width + first, sizeof known[i].numbers);
        start = end + 1;
    }
    part.known = known;
    part.count = count;
    Py_BEGIN_ALLOW_THREADS
    look_at_all(part);
    Py_END_ALLOW_THREADS
    found = PyList_New(0);
    for (size_t i = 0; found != NULL && i < count; i++) {
        if (known[i].unlike) {
            PyObject *number = PyLong_FromSize_t(i);
            if (number == NULL || PyList_Append(found, number) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(number);
        }
    }
done:
    free(known);
    return found;
}

PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *paths, *rows, *folders;
    Py_ssize_t width, first;
    int folder;
    long long young;
    if (!PyArg_ParseTuple(
            arguments, "SSnniLO!", &paths, &rows, &width, &first, &folder, &young, &PyDict_Type, &folders
        )) {
        return NULL;
    }
    Py_ssize_t bytes = PyBytes_Size(rows);
    if (first < 0 || width < first || (size_t)(width - first) < NUMBERS * sizeof(int64_t) || bytes % width != 0) {
        PyErr_SetString(PyExc_ValueError, "rows are not so wide");
        return NULL;
    }
    if (bytes == 0 && PyBytes_Size(paths) != 0) {
        PyErr_SetString(PyExc_ValueError, "there are not as many rows as paths");
        return NULL;
    }
    return unlike_packed(
        PyBytes_AsString(paths), (size_t)PyBytes_Size(paths), PyBytes_AsString(rows), (size_t)(bytes / width), (size_t)width,
        (size_t)first, (Part){NULL, 0, folder, 0, young}, folders
    );
}

#endif
