/* Which files and folders do not look as they did, for index/freshness.py and sources/standing.py: one look at each, with the
   interpreter free for other threads meanwhile. */

#include "kernel.h"

#ifdef _WIN32

PyObject *kernel_unlike(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    PyErr_SetString(PyExc_NotImplementedError, "there is no such look on this system");
    return NULL;
}

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

#endif
