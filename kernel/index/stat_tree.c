/* Which files and folders have changed, for indexing/freshness.py and sources/signature.py: one stat of each, with the
   interpreter free for other threads meanwhile. */

#include "support/kernel.h"

#ifdef _WIN32

PyObject *kernel_unlike(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    PyErr_SetString(PyExc_NotImplementedError, "files cannot be checked like this on this system");
    return NULL;
}

PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments) { return kernel_unlike(module, arguments); }
PyObject *kernel_begin_check(PyObject *module, PyObject *arguments) { return kernel_unlike(module, arguments); }
PyObject *kernel_end_check(PyObject *module, PyObject *capsule) { return kernel_unlike(module, capsule); }

#else

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define MODIFIED(status) (status).st_mtimespec
#define CHANGED(status) (status).st_ctimespec
#else
#define MODIFIED(status) (status).st_mtim
#define CHANGED(status) (status).st_ctim
#endif

enum { SIZE, MTIME, CTIME, INODE, NUMBERS };
enum { MOST_THREADS = 4, WORTH_A_THREAD = 1000, AT_A_TIME = 500 };

typedef struct {
    const char *path;  /* NULL: cannot be checked here */
    int64_t numbers[NUMBERS];
    int unlike;
} Known;

/* Goes around where 64 bits end, in the year 2262: anybody can give a file such a time. */
static int64_t nanoseconds(struct timespec time) {
    return (int64_t)((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);
}

/* `path` is what it is called as seen from `folder`. */
static int differs(const Known *known, int folder, const char *path, int64_t young, int folders) {
    struct stat status;
    const int64_t *was = known->numbers;
    if (fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0) {
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

#ifdef O_PATH
enum { OPENED = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
#else
enum { OPENED = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
#endif

/* How much of a path is its folder, with the stroke behind it. */
static size_t folder_of(const char *path) {
    const char *stroke = strrchr(path, '/');
    return stroke == NULL ? 0 : (size_t)(stroke - path) + 1;
}

/* A folder that several files in a row are in, opened: from there the system has less of a way to each. */
typedef struct {
    const char *path;
    size_t length;
    int folder; /* -1: not opened */
} Opened;

static void leave(Opened *opened) {
    if (opened->folder >= 0) {
        close(opened->folder);
        opened->folder = -1;
    }
}

/* Opens the folder of a path from another, if the next one is in there too. */
static void enter(Opened *opened, int from, const char *path, size_t length, const char *next) {
    char name[1024];
    leave(opened);
    opened->path = path;
    opened->length = length;
    if (length > 0 && length <= sizeof name && next != NULL && strncmp(next, path, length) == 0 &&
        strchr(next + length, '/') == NULL) {
        memcpy(name, path, length);
        name[length - 1] = 0;
        opened->folder = openat(from, name, OPENED);
    }
}

static void check_range(const Part *part, size_t first, size_t end) {
    Opened opened = {.folder = -1};
    for (size_t i = first; i < end; i++) {
        Known *known = &part->known[i];
        if (known->path == NULL) {
            known->unlike = 1;
            continue;
        }
        size_t length = part->folders ? 0 : folder_of(known->path);
        if (opened.path == NULL || length != opened.length || strncmp(known->path, opened.path, length) != 0) {
            enter(&opened, part->folder, known->path, length, i + 1 < end ? part->known[i + 1].path : NULL);
        }
        int inside = opened.folder >= 0;
        known->unlike = differs(
            known, inside ? opened.folder : part->folder, known->path + (inside ? length : 0), part->young, part->folders
        );
    }
    leave(&opened);
}

/* Rows that whoever has time takes a few of. */
typedef struct {
    Part part;
    size_t next;
} Shared;

static void *take(void *argument) {
    Shared *shared = argument;
    size_t first;
    while ((first = __atomic_fetch_add(&shared->next, AT_A_TIME, __ATOMIC_RELAXED)) < shared->part.count) {
        size_t left = shared->part.count - first;
        check_range(&shared->part, first, first + (left < AT_A_TIME ? left : AT_A_TIME));
    }
    return NULL;
}

/* Nearly all of it is waiting for the system, which reads several files at a time; with so many cores in use otherwise. */
static void check_all(Shared *all, long busy) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN) - busy;
    size_t most = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (size_t)cores;
    size_t parts = all->part.count / WORTH_A_THREAD < most ? all->part.count / WORTH_A_THREAD : most;
    pthread_t thread[MOST_THREADS];
    size_t started = 0;
    while (started + 1 < parts && pthread_create(&thread[started], NULL, take, all) == 0) {
        started++;
    }
    take(all);
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
    if (!PyTuple_Check(row) || first < 0 || first > PyTuple_Size(row) - NUMBERS) {
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
    check_all(&(Shared){{known, (size_t)count, folder, folders, young}, 0}, 0);
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

/* What rows are like: in order, or what is wrong with them. */
enum { FAILED = -3, NO_MEMORY = -2, NO_ROWS = -1, ELSEWHERE = 0, READ = 1 };

/* Rows with numbers among them, and the path of each, with zeros between. */
typedef struct {
    Py_buffer paths, rows;
    size_t width, first;
    char *text; /* the paths, each ended by a zero */
} Table;

/* A check of the rows of a manifest, which are in folders that are all known. The folders are checked first, if need be, since
   nothing behind a folder that has become something else may be read. */
typedef struct {
    Shared files, around;
    Table rows, folders;
    pthread_t thread;
    int running, ended, moved;
    int far;
} TreeCheck;

enum { FOLDERS, FILES }; /* how far it has come */

/* Waits for a check to end, and helps with it. */
static void end_check(TreeCheck *check) {
    if (check->running) {
        check->running = 0;
        Py_BEGIN_ALLOW_THREADS
        while (__atomic_load_n(&check->far, __ATOMIC_ACQUIRE) == FOLDERS) {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        }
        take(&check->files);
        pthread_join(check->thread, NULL);
        Py_END_ALLOW_THREADS
    }
}

static void free_table(Table *table) {
    RELEASE(&table->paths, &table->rows);
    free(table->text);
}

static void free_check(TreeCheck *check) {
    end_check(check);
    if (check->files.part.folder >= 0) {
        close(check->files.part.folder);
    }
    free(check->files.part.known);
    free(check->around.part.known);
    free_table(&check->rows);
    free_table(&check->folders);
    free(check);
}

/* Whose folders are known: by a dictionary, or by texts of which the first `count` are those. */
typedef struct {
    PyObject *folders;
    Texts *texts;
    uint32_t count;
    const char *before; /* paths are in order, so that most are in the folder of the one before them */
    size_t length;
} Around;

/* READ where the folder of a path is among them. */
static int is_around(Around *around, const char *path, size_t size) {
    size_t end = size;
    while (end > 0 && path[end - 1] != '/') {
        end--;
    }
    size_t folder = end > 0 ? end - 1 : 0;
    if (around->before != NULL && around->length == folder && memcmp(around->before, path, folder) == 0) {
        return READ;
    }
    around->before = path;
    around->length = folder;
    if (around->texts != NULL) {
        uint32_t number = texts_number(around->texts, path, folder);
        return number == UINT32_MAX ? NO_MEMORY : number < around->count ? READ : ELSEWHERE;
    }
    PyObject *name = PyUnicode_DecodeUTF8(path, (Py_ssize_t)folder, NULL);
    if (name == NULL) {
        return FAILED;
    }
    int found = PyDict_Contains(around->folders, name);
    Py_DECREF(name);
    return found < 0 ? FAILED : found ? READ : ELSEWHERE;
}

/* Takes the rows of a table; without the interpreter, unless `around` has a dictionary. */
static int read_rows(Part *part, Table *table, Around *around) {
    size_t bytes = (size_t)table->rows.len, size = (size_t)table->paths.len, start = 0;
    if (bytes % table->width != 0 || (bytes == 0 && size != 0)) {
        return NO_ROWS;
    }
    size_t count = part->count = bytes / table->width;
    part->known = calloc(count > 0 ? count : 1, sizeof *part->known);
    char *text = table->text = malloc(size + 1);
    if (part->known == NULL || text == NULL) {
        return NO_MEMORY;
    }
    memcpy(text, table->paths.buf, size);
    text[size] = 0;
    for (size_t i = 0; i < count; i++) {
        const char *zero = start < size ? memchr(text + start, 0, size - start) : NULL;
        size_t end = zero != NULL ? (size_t)(zero - text) : size;
        if (start > size || (end == size) != (i == count - 1)) {
            return NO_ROWS;
        }
        int there = around != NULL ? is_around(around, text + start, end - start) : READ;
        if (there != READ) {
            return there;
        }
        Known *known = &part->known[i];
        known->path = end == start ? "." : text + start;
        memcpy(known->numbers, (const char *)table->rows.buf + i * table->width + table->first, sizeof known->numbers);
        start = end + 1;
    }
    return READ;
}

/* A check from an open folder; NULL with an exception. */
static TreeCheck *check_from(int folder, int64_t young) {
    TreeCheck *check = calloc(1, sizeof *check);
    if (check == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    Part *part = &check->files.part;
    part->young = young;
    part->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0); /* its own: whoever opened the folder may close it meanwhile */
    if (part->folder < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        free_check(check);
        return NULL;
    }
    return check;
}

/* 0, or -1 with an exception where rows have no room for numbers there. */
static int place_numbers(Table *table, Py_ssize_t width, Py_ssize_t first) {
    if (first < 0 || width < first || (size_t)(width - first) < NUMBERS * sizeof(int64_t)) {
        return fail("rows are not so wide");
    }
    table->width = (size_t)width;
    table->first = (size_t)first;
    return 0;
}

static PyObject *changed_rows(const TreeCheck *check) {
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found != NULL && i < check->files.part.count; i++) {
        if (check->files.part.known[i].unlike && append_size(found, i) < 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

PyObject *kernel_unlike_rows(PyObject *module, PyObject *arguments) {
    (void)module;
    Table files = {0};
    Py_ssize_t width, first;
    int folder;
    long long young;
    Around around = {0};
    if (!PyArg_ParseTuple(
            arguments, "y*y*nniLO!", &files.paths, &files.rows, &width, &first, &folder, &young, &PyDict_Type, &around.folders
        )) {
        return NULL;
    }
    PyObject *found = NULL;
    TreeCheck *check = place_numbers(&files, width, first) < 0 ? NULL : check_from(folder, young);
    if (check == NULL) {
        free_table(&files);
        return NULL;
    }
    check->rows = files;
    int read = read_rows(&check->files.part, &check->rows, &around);
    if (read == READ) {
        Py_BEGIN_ALLOW_THREADS
        check_all(&check->files, 0);
        Py_END_ALLOW_THREADS
        found = changed_rows(check);
    } else if (read == ELSEWHERE) {
        found = Py_NewRef(Py_None);
    } else if (read == NO_ROWS) {
        fail("there are not as many rows as paths");
    } else if (read == NO_MEMORY) {
        PyErr_NoMemory();
    }
    free_check(check);
    return found;
}

#define CAPSULE "lurcher._kernel.check"

/* Folders with their marks, each in a folder that is among them too. */
static int read_folders(Part *part, Table *table, Around *around) {
    int read = read_rows(part, table, NULL);
    for (size_t i = 0; read == READ && i < part->count; i++) {
        const char *path = part->known[i].path;
        if (texts_number(around->texts, path, strcmp(path, ".") == 0 ? 0 : strlen(path)) == UINT32_MAX) {
            read = NO_MEMORY;
        }
    }
    around->count = around->texts->count;
    for (size_t i = 0; read == READ && i < part->count; i++) {
        read = is_around(around, part->known[i].path, strlen(part->known[i].path));
    }
    around->before = NULL;
    return read;
}

/* Whether files are to be checked. What is wrong with the rows is no different from a folder that is gone. */
static int folders_hold(TreeCheck *check) {
    Texts texts = {.seed = (uint64_t)(uintptr_t)check * UINT64_C(0x9E3779B97F4A7C15)};
    Around around = {.texts = &texts};
    Part *folders = &check->around.part;
    folders->folder = check->files.part.folder;
    folders->folders = 1;
    int hold = read_folders(folders, &check->folders, &around) == READ &&
               read_rows(&check->files.part, &check->rows, &around) == READ;
    texts_free(&texts);
    if (hold) {
        check_all(&check->around, 1);
    }
    for (size_t i = 0; hold && i < folders->count; i++) {
        hold = !folders->known[i].unlike;
    }
    return hold;
}

/* The whole check, in a thread beside the interpreter. */
static void *run_check(void *argument) {
    TreeCheck *check = argument;
    check->moved = !folders_hold(check);
    if (check->moved) {
        check->files.part.count = 0; /* nobody lends a hand then */
    }
    __atomic_store_n(&check->far, FILES, __ATOMIC_RELEASE);
    check_all(&check->files, 1);
    return NULL;
}

static void drop_check(PyObject *capsule) { free_check(PyCapsule_GetPointer(capsule, CAPSULE)); }

PyObject *kernel_begin_check(PyObject *module, PyObject *arguments) {
    (void)module;
    Table files = {0}, folders = {0};
    Py_ssize_t width, first;
    int folder;
    long long young;
    if (!PyArg_ParseTuple(
            arguments, "y*y*nniLy*y*", &files.paths, &files.rows, &width, &first, &folder, &young, &folders.paths, &folders.rows
        )) {
        return NULL;
    }
    TreeCheck *check = NULL;
    if (place_numbers(&files, width, first) == 0 && place_numbers(&folders, NUMBERS * sizeof(int64_t), 0) == 0) {
        check = check_from(folder, young);
    }
    if (check == NULL) {
        free_table(&files);
        free_table(&folders);
        return NULL;
    }
    check->rows = files;
    check->folders = folders;
    check->running = pthread_create(&check->thread, NULL, run_check, check) == 0;
    if (!check->running) {
        run_check(check);
    }
    PyObject *capsule = PyCapsule_New(check, CAPSULE, drop_check);
    if (capsule == NULL) {
        free_check(check);
    }
    return capsule;
}

PyObject *kernel_end_check(PyObject *module, PyObject *capsule) {
    (void)module;
    TreeCheck *check = PyCapsule_GetPointer(capsule, CAPSULE);
    if (check == NULL) {
        return NULL;
    }
    if (check->ended) {
        return fail_null("this check has ended");
    }
    check->ended = 1;
    end_check(check);
    return check->moved ? Py_NewRef(Py_None) : changed_rows(check);
}

#endif
