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
PyObject *kernel_begin_look(PyObject *module, PyObject *arguments) { return kernel_unlike(module, arguments); }
PyObject *kernel_end_look(PyObject *module, PyObject *capsule) { return kernel_unlike(module, capsule); }

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

/* A look at the rows of a manifest, which are in folders that are all known: at those first, if need be, since nothing behind
   a folder that has become something else is to be looked at. */
typedef struct {
    Part part, around;
    PyObject *paths, *names; /* hold the text of the paths, and of those of folders */
    pthread_t thread;
    int running, told, moved;
} Look;

static void end_look(Look *look) {
    if (look->running) {
        look->running = 0;
        Py_BEGIN_ALLOW_THREADS
        pthread_join(look->thread, NULL);
        Py_END_ALLOW_THREADS
    }
}

static void free_look(Look *look) {
    end_look(look);
    if (look->part.folder >= 0) {
        close(look->part.folder);
    }
    free(look->part.known);
    free(look->around.known);
    Py_XDECREF(look->paths);
    Py_XDECREF(look->names);
    free(look);
}

/* 1, 0 where a file is in none of the folders, or -1 with an exception. */
static int read_rows(Look *look, const char *rows, size_t width, size_t first, PyObject *folders) {
    const char *paths = PyBytes_AsString(look->paths), *before = NULL;
    size_t size = (size_t)PyBytes_Size(look->paths), count = look->part.count, length = 0, start = 0;
    for (size_t i = 0; i < count; i++) {
        const char *zero = start < size ? memchr(paths + start, 0, size - start) : NULL;
        size_t end = zero != NULL ? (size_t)(zero - paths) : size;
        if (start > size || (end == size) != (i == count - 1)) {
            PyErr_SetString(PyExc_ValueError, "there are not as many rows as paths");
            return -1;
        }
        int there = is_known_folder(folders, paths + start, end - start, &before, &length);
        if (there <= 0) {
            return there;
        }
        Known *known = &look->part.known[i];
        known->path = end == start ? "." : paths + start; /* ended by a zero, the last by that of the bytes */
        memcpy(known->numbers, rows + i * width + first, sizeof known->numbers);
        start = end + 1;
    }
    return 1;
}

/* NULL with an exception, or without one where a file is in none of the folders. */
static Look *look_for(PyObject *arguments) {
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
    size_t count = (size_t)(bytes / width);
    Look *look = calloc(1, sizeof *look);
    Known *known = calloc(count > 0 ? count : 1, sizeof *known);
    if (look == NULL || known == NULL) {
        free(look);
        free(known);
        PyErr_NoMemory();
        return NULL;
    }
    look->paths = Py_NewRef(paths);
    /* Its own, since a look may go on when whoever opened the folder has closed it. */
    look->part = (Part){known, count, fcntl(folder, F_DUPFD_CLOEXEC, 0), 0, young};
    int read = read_rows(look, PyBytes_AsString(rows), (size_t)width, (size_t)first, folders);
    if (read == 1 && look->part.folder < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        read = -1;
    }
    if (read < 1) {
        free_look(look);
        return NULL;
    }
    return look;
}

static PyObject *unlike_of(const Look *look) {
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found != NULL && i < look->part.count; i++) {
        if (look->part.known[i].unlike) {
            PyObject *number = PyLong_FromSize_t(i);
            if (number == NULL || PyList_Append(found, number) < 0) {
                Py_CLEAR(found);
            }
            Py_XDECREF(number);
        }
    }
    return found;
}

static PyObject *none_unless_failed(void) { return PyErr_Occurred() ? NULL : Py_NewRef(Py_None); }

PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments) {
    (void)module;
    Look *look = look_for(arguments);
    if (look == NULL) {
        return none_unless_failed();
    }
    Py_BEGIN_ALLOW_THREADS
    look_at_all(look->part);
    Py_END_ALLOW_THREADS
    PyObject *found = unlike_of(look);
    free_look(look);
    return found;
}

#define LOOK "lurcher._kernel.look"

/* 0, or -1 with an exception. */
static int read_folders(Look *look, PyObject *folders) {
    look->names = PyDict_Keys(folders); /* holds them while others may run */
    Py_ssize_t count = look->names != NULL ? PyList_Size(look->names) : -1;
    if (count < 0) {
        return -1;
    }
    Known *known = calloc(count > 0 ? (size_t)count : 1, sizeof *known);
    if (known == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    look->around = (Part){known, (size_t)count, look->part.folder, 1, 0};
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyList_GetItem(look->names, i), *row = PyDict_GetItemWithError(folders, name);
        if (row == NULL || read_known(name, row, 0, &known[i]) < 0) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_RuntimeError, "the table changed");
            }
            return -1;
        }
    }
    return 0;
}

static void *look_behind(void *argument) {
    Look *look = argument;
    look_at_all(look->around);
    for (size_t i = 0; i < look->around.count; i++) {
        look->moved |= look->around.known[i].unlike;
    }
    if (!look->moved) {
        look_at_all(look->part);
    }
    return NULL;
}

static void drop_look(PyObject *capsule) { free_look(PyCapsule_GetPointer(capsule, LOOK)); }

PyObject *kernel_begin_look(PyObject *module, PyObject *arguments) {
    (void)module;
    Look *look = look_for(arguments);
    if (look == NULL) {
        return none_unless_failed();
    }
    if (read_folders(look, PyTuple_GetItem(arguments, PyTuple_Size(arguments) - 1)) < 0) {
        free_look(look);
        return NULL;
    }
    look->running = pthread_create(&look->thread, NULL, look_behind, look) == 0;
    if (!look->running) {
        look_behind(look);
    }
    PyObject *capsule = PyCapsule_New(look, LOOK, drop_look);
    if (capsule == NULL) {
        free_look(look);
    }
    return capsule;
}

PyObject *kernel_end_look(PyObject *module, PyObject *capsule) {
    (void)module;
    Look *look = PyCapsule_GetPointer(capsule, LOOK);
    if (look == NULL) {
        return NULL;
    }
    if (look->told) {
        PyErr_SetString(PyExc_ValueError, "this look has ended");
        return NULL;
    }
    look->told = 1;
    end_look(look);
    return look->moved ? Py_NewRef(Py_None) : unlike_of(look);
}

#endif
