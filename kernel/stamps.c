/* Whether files look as they did, as index/freshness.py has it: one look at each, without the interpreter's lock. */

#include "kernel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#ifdef __APPLE__
#define CHANGED(status) (status).st_ctimespec
#define MODIFIED(status) (status).st_mtimespec
#else
#define CHANGED(status) (status).st_ctim
#define MODIFIED(status) (status).st_mtim
#endif

/* Places of what is compared in a row of the manifest. */
enum { SIZE = 1, MTIME, CTIME, INODE, ROW = 5 };

typedef struct {
    PyObject *key;
    PyObject *path; /* its bytes; none: to be looked at by Python */
    const char *name; /* those of the path */
    long long size, mtime, ctime;
    unsigned long long inode;
    int alike;
} File;

/* 1 where the time is that many nanoseconds. */
static int is_time(struct timespec time, long long wanted) {
    const long long most = INT64_C(9000000000);
    return time.tv_sec < most && time.tv_sec > -most && (long long)time.tv_sec * 1000000000 + time.tv_nsec == wanted;
}

static int looks_alike(int folder, const File *file) {
    struct stat status;
    return fstatat(folder, file->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (long long)status.st_size == file->size && (unsigned long long)status.st_ino == file->inode &&
           is_time(MODIFIED(status), file->mtime) && is_time(CHANGED(status), file->ctime);
}

/* What a row says of a file; without a path where it says nothing that could be compared. */
static void read_row(File *file, PyObject *key, PyObject *row, long long old) {
    memset(file, 0, sizeof *file);
    file->key = key;
    if (!PyUnicode_Check(key) || !PyTuple_Check(row) || PyTuple_Size(row) < ROW) {
        return;
    }
    file->size = PyLong_AsLongLong(PyTuple_GetItem(row, SIZE));
    file->mtime = PyErr_Occurred() ? 0 : PyLong_AsLongLong(PyTuple_GetItem(row, MTIME));
    file->ctime = PyErr_Occurred() ? 0 : PyLong_AsLongLong(PyTuple_GetItem(row, CTIME));
    file->inode = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(PyTuple_GetItem(row, INODE));
    if (!PyErr_Occurred() && file->mtime < old && file->ctime < old) {
        file->path = PyUnicode_EncodeFSDefault(key);
        file->name = file->path == NULL ? NULL : PyBytes_AsString(file->path);
        if (file->name != NULL && strlen(file->name) != (size_t)PyBytes_Size(file->path)) {
            Py_CLEAR(file->path); /* no file has such a name */
        }
    }
    PyErr_Clear();
}

PyObject *kernel_unlike(PyObject *module, PyObject *arguments) {
    (void)module;
    int folder;
    PyObject *rows, *key, *row;
    long long old;
    if (!PyArg_ParseTuple(arguments, "iO!L", &folder, &PyDict_Type, &rows, &old)) {
        return NULL;
    }
    Py_ssize_t room = PyDict_Size(rows), count = 0, position = 0;
    File *files = malloc((size_t)(room ? room : 1) * sizeof *files);
    if (files == NULL) {
        return PyErr_NoMemory();
    }
    while (count < room && PyDict_Next(rows, &position, &key, &row)) {
        read_row(&files[count], key, row, old);
        Py_INCREF(key);
        count++;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) {
        files[i].alike = files[i].path != NULL && looks_alike(folder, &files[i]);
    }
    Py_END_ALLOW_THREADS
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (found != NULL && !files[i].alike && PyList_Append(found, files[i].key) < 0) {
            Py_CLEAR(found);
        }
        Py_DECREF(files[i].key);
        Py_XDECREF(files[i].path);
    }
    free(files);
    return found;
}
