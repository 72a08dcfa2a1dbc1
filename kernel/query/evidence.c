/* Which types' names a question explains, added up over all definitions in one pass: as ranking/evidence.py has it, to the last bit.

   Owners come from files that anybody may have written: each is checked before it is used as a place. */

#include "query/array.h"

#include <stdlib.h>

/* One term: who has it, how often each, and what it counts. */
typedef struct {
    Array *owners, *counts;
    double weight, second;
} Part;

static void part_free(Part *part) {
    drop(part->owners);
    drop(part->counts);
    part->owners = part->counts = NULL;
}

#define OWNERS(part) ((const int64_t *)(const void *)(part)->owners->data)
#define COUNTS(part) ((const uint8_t *)(const void *)(part)->counts->data)
#define REALS(array) ((double *)(void *)(array)->data)

/* A tuple (owners, counts, a weight, another), all owners below `total`: 0, or -1 with an exception. */
static int part_read(Part *part, PyObject *given, Py_ssize_t total) {
    PyObject *owners, *counts;
    memset(part, 0, sizeof *part);
    if (!PyTuple_Check(given)) {
        return fail("a part is a tuple");
    }
    if (!PyArg_ParseTuple(given, "OOdd", &owners, &counts, &part->weight, &part->second)) {
        return -1;
    }
    part->owners = array_from_as(owners, I64);
    part->counts = part->owners == NULL ? NULL : array_from_as(counts, U8);
    if (part->counts == NULL) {
        part_free(part);
        return -1;
    }
    int sound = part->counts->count == part->owners->count;
    for (Py_ssize_t i = 0; sound && i < part->owners->count; i++) {
        sound = (uint64_t)OWNERS(part)[i] < (uint64_t)total;
    }
    if (!sound) {
        part_free(part);
        return fail("an owner is not there");
    }
    return 0;
}

/* All parts of a list: how many, or -1 with an exception. */
static Py_ssize_t parts_read(PyObject *list, Py_ssize_t total, Part **parts) {
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : fail("parts are a list");
    *parts = count < 0 ? NULL : calloc((size_t)count + 1, sizeof **parts);
    if (*parts == NULL) {
        if (count >= 0) {
            PyErr_NoMemory();
        }
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = Py_NewRef(PyList_GetItem(list, i));
        int failed = part_read(&(*parts)[i], item, total);
        Py_DECREF(item);
        if (failed) {
            return -1;
        }
    }
    return count;
}

/* What is left of a list of parts; those that were not read are empty. */
static void parts_free(Part *parts) {
    for (Part *part = parts; part != NULL && part->owners != NULL; part++) {
        part_free(part);
    }
    free(parts);
}

/* Rows of definitions as they lie in a segment, and the numbers of its first file. */
typedef struct {
    Py_buffer rows;
    Py_ssize_t width, file_at, parts_at, count, first_file;
} Table;

/* Tables in a list, each a tuple (rows, width, where in them file and number of parts are, first file): how many definitions they
   have together, or -1 with an exception. */
static Py_ssize_t tables_read(PyObject *list, Table **tables) {
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : fail("tables are a list"), total = 0;
    *tables = count < 0 ? NULL : calloc((size_t)count + 1, sizeof **tables);
    if (*tables == NULL) {
        if (count >= 0) {
            PyErr_NoMemory();
        }
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Table *table = &(*tables)[i];
        PyObject *item = Py_NewRef(PyList_GetItem(list, i));
        int failed = !PyTuple_Check(item)
                         ? fail("a table is a tuple")
                         : !PyArg_ParseTuple(item, "y*nnnn", &table->rows, &table->width, &table->file_at, &table->parts_at,
                                             &table->first_file);
        Py_DECREF(item);
        if (failed) {
            memset(table, 0, sizeof *table);
            return -1;
        }
        if (table->width < 4 || table->file_at < 0 || table->file_at > table->width - 4 || table->parts_at < 0 ||
            table->parts_at > table->width - 2) {
            return fail("a row is not so wide");
        }
        if (table->first_file < 0 || table->first_file > PY_SSIZE_T_MAX - (Py_ssize_t)UINT32_MAX) { /* a row's number is added */
            return fail("there is no such first file");
        }
        table->count = table->rows.len / table->width;
        total += table->count;
    }
    return total;
}

static void tables_free(Table *tables) {
    for (Table *table = tables; table != NULL && table->rows.obj != NULL; table++) {
        PyBuffer_Release(&table->rows);
    }
    free(tables);
}

/* The file of a definition, and how many parts its name has. */
static int64_t file_of(const Table *table, int64_t number, unsigned *parts) {
    for (; number >= table->count; table++) {
        number -= table->count;
    }
    const unsigned char *row = (const unsigned char *)table->rows.buf + number * table->width;
    const unsigned char *file = row + table->file_at, *size = row + table->parts_at;
    *parts = (unsigned)(size[0] | size[1] << 8);
    return table->first_file + (int64_t)((uint32_t)file[0] | (uint32_t)file[1] << 8 | (uint32_t)file[2] << 16 | (uint32_t)file[3] << 24);
}

/* Parts (owners, counts, quality, what it covers) of words of types' names, tables of definitions, what all of the question is, how
   many files there are, a desk of zeros: each file's best share of a name times what that covers. */
PyObject *kernel_covered(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *given[2];
    Py_buffer room;
    double total;
    Py_ssize_t files, count = -1;
    if (!PyArg_ParseTuple(arguments, "OOdnw*", &given[0], &given[1], &total, &files, &room)) {
        return NULL;
    }
    Array *found = NULL;
    Part *parts = NULL;
    Table *tables = NULL;
    Py_ssize_t words = items_of(&room, 8, "the desk"), definitions = words < 0 ? -1 : tables_read(given[1], &tables);
    if (definitions < 0) {
        goto done;
    }
    if (files < 0 || !(total > 0) || words / 2 < definitions) {
        fail("the arrays do not fit");
        goto done;
    }
    count = parts_read(given[0], definitions, &parts);
    found = count < 0 ? NULL : array_zeros(F64, files);
    if (found == NULL) {
        goto done;
    }
    double *explained = room.buf, *covered = explained + definitions;
    for (const Part *part = parts; part < parts + count; part++) {
        for (Py_ssize_t i = 0; i < part->owners->count; i++) {
            explained[OWNERS(part)[i]] += COUNTS(part)[i] * part->weight;
            covered[OWNERS(part)[i]] += (COUNTS(part)[i] > 0) * part->second;
        }
    }
    int sound = 1;
    for (const Part *part = parts; part < parts + count; part++) {
        for (Py_ssize_t i = 0; i < part->owners->count; i++) {
            unsigned size;
            int64_t number = OWNERS(part)[i], file = file_of(tables, number, &size);
            double share = explained[number] / (size > 1 ? size : 1), cover = covered[number] / total;
            double value = (share < 1 ? share : 1) * (cover < 1 ? cover : 1);
            int there = file < files;
            sound &= there;
            if (there && covered[number] != 0 && value > REALS(found)[file]) {
                REALS(found)[file] = value;
            }
            explained[number] = covered[number] = 0;
        }
    }
    if (!sound) {
        drop(found);
        found = NULL;
        fail("a file is not there");
    }
done:
    parts_free(parts);
    tables_free(tables);
    PyBuffer_Release(&room);
    return (PyObject *)found;
}
