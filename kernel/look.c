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

#include <errno.h>
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

/* A look at the rows of a manifest, which are in folders that are all known: at those first, if need be, since nothing behind
   a folder that has become something else is to be looked at. */
typedef struct {
    Part part, around;
    PyObject *paths, *names; /* hold the text of the paths of files, and of folders */
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

/* Whose folders are known: by a dictionary, or by texts of which the first `count` are those. */
typedef struct {
    PyObject *folders;
    Texts *texts;
    uint32_t count;
    const char *before; /* paths are in order, so that most are in the folder of the one before them */
    size_t length;
} Around;

/* Whether the folder of a path is among them; -1 with an exception. */
static int is_around(Around *around, const char *path, size_t size) {
    size_t end = size;
    while (end > 0 && path[end - 1] != '/') {
        end--;
    }
    size_t folder = end > 0 ? end - 1 : 0;
    if (around->before != NULL && around->length == folder && memcmp(around->before, path, folder) == 0) {
        return 1;
    }
    around->before = path;
    around->length = folder;
    if (around->texts != NULL) {
        uint32_t number = texts_number(around->texts, path, folder);
        if (number == UINT32_MAX) {
            PyErr_NoMemory();
            return -1;
        }
        return number < around->count;
    }
    PyObject *name = PyUnicode_DecodeUTF8(path, (Py_ssize_t)folder, NULL);
    if (name == NULL) {
        return -1;
    }
    int found = PyDict_Contains(around->folders, name);
    Py_DECREF(name);
    return found;
}

/* Rows with their paths, which have zeros between. 1, 0 where one is in none of the folders, or -1 with an exception. */
static int read_rows(Part *part, PyObject *paths, const char *rows, size_t width, size_t first, Around *around) {
    const char *text = PyBytes_AsString(paths);
    size_t size = (size_t)PyBytes_Size(paths), count = part->count, start = 0;
    for (size_t i = 0; i < count; i++) {
        const char *zero = start < size ? memchr(text + start, 0, size - start) : NULL;
        size_t end = zero != NULL ? (size_t)(zero - text) : size;
        if (start > size || (end == size) != (i == count - 1)) {
            PyErr_SetString(PyExc_ValueError, "there are not as many rows as paths");
            return -1;
        }
        int there = around != NULL ? is_around(around, text + start, end - start) : 1;
        if (there <= 0) {
            return there;
        }
        Known *known = &part->known[i];
        known->path = end == start ? "." : text + start; /* ended by a zero, the last by that of the bytes */
        memcpy(known->numbers, rows + i * width + first, sizeof known->numbers);
        start = end + 1;
    }
    return 1;
}

/* Room for so many; -1 with an exception. */
static int make_room(Part *part, PyObject *rows, size_t width, PyObject *paths) {
    size_t bytes = (size_t)PyBytes_Size(rows);
    if (bytes % width != 0 || (bytes == 0 && PyBytes_Size(paths) != 0)) {
        PyErr_SetString(PyExc_ValueError, "there are not as many rows as paths");
        return -1;
    }
    part->count = bytes / width;
    part->known = calloc(part->count > 0 ? part->count : 1, sizeof *part->known);
    if (part->known == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* A look at rows, which are yet to be read; NULL with an exception. */
static Look *look_from(PyObject *paths, PyObject *rows, Py_ssize_t width, Py_ssize_t first, int folder, int64_t young) {
    if (first < 0 || width < first || (size_t)(width - first) < NUMBERS * sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "rows are not so wide");
        return NULL;
    }
    Look *look = calloc(1, sizeof *look);
    if (look == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    look->paths = Py_NewRef(paths);
    look->part.young = young;
    look->part.folder = fcntl(folder, F_DUPFD_CLOEXEC, 0); /* its own: whoever opened the folder may close it meanwhile */
    if (make_room(&look->part, rows, (size_t)width, paths) == 0) {
        return look;
    }
    free_look(look);
    return NULL;
}

/* The look itself where everything was read; NULL otherwise. */
static Look *look_if(Look *look, int read) {
    if (read == 1 && look->part.folder < 0) {
        errno = EBADF;
        PyErr_SetFromErrno(PyExc_OSError);
        read = -1;
    }
    if (read == 1) {
        return look;
    }
    free_look(look);
    return NULL;
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
    PyObject *paths, *rows;
    Py_ssize_t width, first;
    int folder;
    long long young;
    Around around = {0};
    if (!PyArg_ParseTuple(
            arguments, "SSnniLO!", &paths, &rows, &width, &first, &folder, &young, &PyDict_Type, &around.folders
        )) {
        return NULL;
    }
    Look *look = look_from(paths, rows, width, first, folder, young);
    if (look != NULL) {
        look = look_if(look, read_rows(&look->part, paths, PyBytes_AsString(rows), (size_t)width, (size_t)first, &around));
    }
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

/* Folders with their marks, each in a folder that is among them too. 1, 0 where one is not, or -1 with an exception. */
static int read_folders(Look *look, PyObject *names, PyObject *marks, Around *around) {
    look->names = Py_NewRef(names);
    look->around.folder = look->part.folder;
    look->around.folders = 1;
    if (make_room(&look->around, marks, NUMBERS * sizeof(int64_t), names) < 0) {
        return -1;
    }
    int read = read_rows(&look->around, names, PyBytes_AsString(marks), NUMBERS * sizeof(int64_t), 0, NULL);
    for (size_t i = 0; read == 1 && i < look->around.count; i++) {
        const char *path = look->around.known[i].path;
        if (texts_number(around->texts, path, strcmp(path, ".") == 0 ? 0 : strlen(path)) == UINT32_MAX) {
            PyErr_NoMemory();
            read = -1;
        }
    }
    around->count = around->texts->count;
    for (size_t i = 0; read == 1 && i < look->around.count; i++) {
        read = is_around(around, look->around.known[i].path, strlen(look->around.known[i].path));
    }
    around->before = NULL;
    return read;
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
    PyObject *paths, *rows, *names, *marks;
    Py_ssize_t width, first;
    int folder;
    long long young;
    if (!PyArg_ParseTuple(arguments, "SSnniLSS", &paths, &rows, &width, &first, &folder, &young, &names, &marks)) {
        return NULL;
    }
    Look *look = look_from(paths, rows, width, first, folder, young);
    if (look != NULL) {
        Texts texts = {.seed = (uint64_t)(uintptr_t)look * UINT64_C(0x9E3779B97F4A7C15)};
        Around around = {.texts = &texts};
        int read = read_folders(look, names, marks, &around);
        if (read == 1) {
            read = read_rows(&look->part, paths, PyBytes_AsString(rows), (size_t)width, (size_t)first, &around);
        }
        texts_free(&texts);
        look = look_if(look, read);
    }
    if (look == NULL) {
        return none_unless_failed();
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
