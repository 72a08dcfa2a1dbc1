/* How much of a question the names of definitions have: as ranking/places.py and storage/snapshot.py have it, to the last bit.

   Rows and strings come from files that anybody may have written: what does not fit together is left to Python, which says so. */

#include "index/split.h"
#include "query/array.h"

#include <stdlib.h>

#define MOST_GROUPS 64

typedef struct {
    const char *data; /* NULL: free */
    size_t size;
    uint64_t bit;
} Slot;

/* The terms of a question, each with the bit of its group, and what a group is worth. */
typedef struct {
    Slot *slots;
    size_t mask; /* their number, a power of two, less one */
    uint64_t sizes[256]; /* by the first byte of terms, a bit for each of their sizes: most names have no such terms */
    double worths[MOST_GROUPS], total;
} Question;

static size_t hash_of(const char *data, size_t size) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    }
    return (size_t)(hash ^ hash >> 32);
}

/* The slot of a term, or the free one where it would be. */
static Slot *slot_of(const Question *question, const char *data, size_t size) {
    size_t at = hash_of(data, size) & question->mask;
    while (question->slots[at].data != NULL &&
           (question->slots[at].size != size || memcmp(question->slots[at].data, data, size) != 0)) {
        at = (at + 1) & question->mask;
    }
    return &question->slots[at];
}

/* Terms, the group of each, what groups are worth: 0, or -1 with an exception. The terms have to stay. */
static int question_read(Question *question, PyObject *terms, const Py_buffer *groups, PyObject *worths) {
    Py_ssize_t count = PyList_Check(terms) ? PyList_Size(terms) : -1, many = PyList_Check(worths) ? PyList_Size(worths) : -1;
    if (count < 0 || count != groups->len || many < 0 || many > MOST_GROUPS) {
        return fail("the terms are not those of so many groups");
    }
    for (Py_ssize_t i = 0; i < many; i++) {
        question->worths[i] = PyFloat_AsDouble(PyList_GetItem(worths, i));
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    size_t room = 16;
    while (room < 2 * (size_t)count) {
        room *= 2;
    }
    question->slots = calloc(room, sizeof *question->slots);
    question->mask = room - 1;
    if (question->slots == NULL) {
        return no_memory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        unsigned char group = ((const unsigned char *)groups->buf)[i];
        PyObject *term = PyList_GetItem(terms, i);
        Py_ssize_t size = 0;
        const char *data = PyUnicode_Check(term) ? PyUnicode_AsUTF8AndSize(term, &size) : NULL;
        if (data == NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) { /* no name is spelled like it */
            PyErr_Clear();
            continue;
        }
        if (data == NULL || group >= many) {
            return PyErr_Occurred() ? -1 : fail("a term is no text, or of no group");
        }
        Slot *slot = slot_of(question, data, (size_t)size);
        if (slot->data == NULL) {
            *slot = (Slot){data, (size_t)size, UINT64_C(1) << group};
            question->sizes[(unsigned char)*data] |= UINT64_C(1) << ((size_t)size & 63);
        }
    }
    return 0;
}

static double share_of(const Question *question, uint64_t groups) {
    double sum = 0;
    for (int group = 0; groups; group++, groups >>= 1) {
        sum += groups & 1 ? question->worths[group] : 0;
    }
    return sum / question->total;
}

/* Adds the groups that a name has terms of: 0, or -1 where that takes more than this to tell. */
static int add_groups(const Question *question, const char *strings, size_t size, size_t offset, uint64_t *groups) {
    const char *end = offset < size ? memchr(strings + offset, 0, size - offset) : NULL;
    if (end == NULL || !is_ascii(strings + offset, (size_t)(end - strings) - offset)) {
        return -1;
    }
    for (const char *word = strings + offset; word < end;) {
        const char *stop = word;
        while (stop < end && CLASS[(unsigned char)*stop] != BETWEEN) {
            stop++;
        }
        if (stop == word) {
            word++;
            continue;
        }
        Terms terms;
        split_ascii(word, (size_t)(stop - word), &terms);
        for (size_t i = 0; i < terms.count; i++) {
            const char *term = terms.text + terms.parts[i].start;
            size_t length = terms.parts[i].size;
            if (question->sizes[(unsigned char)*term] >> (length & 63) & 1) {
                *groups |= slot_of(question, term, length)->bit;
            }
        }
        word = stop;
    }
    return 0;
}

/* Where numbers are in the rows of units and definitions. */
typedef struct {
    Py_ssize_t unit_width, unit_start, unit_end, width, unit, start, end, name, container, kind;
} Columns;

static int fits_row(Py_ssize_t column, Py_ssize_t size, Py_ssize_t width) {
    return column >= 0 && width >= size && column <= width - size;
}

static int columns_sound(const Columns *at) {
    int sound = fits_row(at->unit_start, 4, at->unit_width) && fits_row(at->unit_end, 4, at->unit_width);
    const Py_ssize_t numbers[] = {at->unit, at->start, at->end, at->name, at->container};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sound &= fits_row(numbers[i], 4, at->width);
    }
    return sound && fits_row(at->kind, 1, at->width);
}

static uint32_t number_at(const unsigned char *row, Py_ssize_t at) {
    uint32_t number;
    memcpy(&number, row + at, sizeof number);
    return number;
}

/* A unit that is placed: where it was given, its number in the file, its middle, the innermost definition around that. */
typedef struct {
    Py_ssize_t given;
    uint32_t number;
    uint64_t middle, length;
    const unsigned char *around;
} Placed;

typedef struct {
    Py_buffer units, definitions, strings;
    Py_ssize_t first_unit, first, count;
    long long base;
    PyObject *chosen;
    uint32_t container; /* the one that was read last, and what it has */
    uint64_t container_groups;
    int container_known;
    double *known; /* the share in the name of each definition, or -1 */
} File;

static int groups_at(const Question *question, const File *file, uint32_t offset, uint64_t *groups) {
    long long place = (long long)offset - file->base;
    *groups = 0;
    return place < 0 ? -1 : add_groups(question, file->strings.buf, (size_t)file->strings.len, (size_t)place, groups);
}

/* The share in the name of a definition, or -1 where that takes more than this to tell. */
static double name_share(const Question *question, const Columns *at, File *file, const unsigned char *row) {
    double *known = &file->known[(row - (const unsigned char *)file->definitions.buf) / at->width - file->first];
    if (*known >= 0) {
        return *known;
    }
    uint64_t groups;
    uint32_t container = number_at(row, at->container);
    if (!file->container_known || container != file->container) { /* neighbours have the same */
        if (groups_at(question, file, container, &file->container_groups) < 0) {
            return -1;
        }
        file->container = container;
        file->container_known = 1;
    }
    if (groups_at(question, file, number_at(row, at->name), &groups) < 0) {
        return -1;
    }
    return *known = share_of(question, groups | file->container_groups);
}

static int by_middle(const void *left, const void *right) {
    const Placed *a = left, *b = right;
    return a->middle < b->middle ? -1 : a->middle > b->middle;
}

/* The units that are placed, by their middles, and the largest of their numbers: 0, or -1, which is no exception. */
static int placed_read(const Columns *at, const File *file, Placed *placed, Py_ssize_t many, uint32_t *most) {
    Py_ssize_t rows = file->units.len / at->unit_width;
    for (Py_ssize_t i = 0; i < many; i++) {
        Py_ssize_t unit = PyLong_AsSsize_t(PyList_GetItem(file->chosen, i));
        if (unit < 0 || unit > rows || file->first_unit < 0 || file->first_unit > rows || unit >= rows - file->first_unit ||
            unit >= UINT32_MAX) {
            PyErr_Clear();
            return -1;
        }
        const unsigned char *row = (const unsigned char *)file->units.buf + (file->first_unit + unit) * at->unit_width;
        uint64_t middle = ((uint64_t)number_at(row, at->unit_start) + number_at(row, at->unit_end)) / 2;
        placed[i] = (Placed){i, (uint32_t)unit, middle, 0, NULL};
        *most = (uint32_t)unit > *most ? (uint32_t)unit : *most;
    }
    qsort(placed, (size_t)many, sizeof *placed, by_middle);
    return 0;
}

/* Of a file's units the share around each, and the largest, which are zero before: 0, or -1 where that takes more than this to tell.
   `slots` has for each unit up to the last that is placed where it was given, or -1. */
static int shares_find(const Question *question, const Columns *at, File *file, const Py_buffer *marks, Placed *placed,
                       Py_ssize_t many, const int32_t *slots, uint32_t most, double *around, double *largest) {
    const unsigned char *row = (const unsigned char *)file->definitions.buf + file->first * at->width;
    for (Py_ssize_t i = 0; i < file->count; i++, row += at->width) {
        if (row[at->kind] >= marks->len || !((const char *)marks->buf)[row[at->kind]]) {
            continue;
        }
        uint64_t start = number_at(row, at->start), end = number_at(row, at->end);
        Py_ssize_t low = 0;
        for (Py_ssize_t high = many; low < high;) {
            Py_ssize_t half = (low + high) / 2;
            if (placed[half].middle < start) {
                low = half + 1;
            } else {
                high = half;
            }
        }
        for (; low < many && placed[low].middle < end; low++) {
            if (placed[low].around == NULL || end - start < placed[low].length) {
                placed[low].around = row;
                placed[low].length = end - start;
            }
        }
        long long unit = (long long)number_at(row, at->unit) - file->first_unit;
        if (unit >= 0 && unit <= most && slots[unit] >= 0) {
            double share = name_share(question, at, file, row);
            if (share < 0) {
                return -1;
            }
            largest[slots[unit]] = share > largest[slots[unit]] ? share : largest[slots[unit]];
        }
    }
    for (Py_ssize_t i = 0; i < many; i++) {
        Py_ssize_t given = placed[i].given;
        around[given] = placed[i].around == NULL ? 0 : name_share(question, at, file, placed[i].around);
        if (around[given] < 0) {
            return -1;
        }
        largest[given] = around[given] > largest[given] ? around[given] : largest[given];
    }
    return 0;
}

static PyObject *list_of_reals(const double *values, Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *number = PyFloat_FromDouble(values[i]);
        if (number == NULL || PyList_SetItem(list, i, number) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* The pair of lists for units of a file, None where that takes more than this to tell, NULL with an exception. */
static PyObject *shares_make(const Question *question, const Columns *at, const Py_buffer *marks, File *file) {
    Py_ssize_t many = PyList_Size(file->chosen), rows = file->definitions.len / at->width;
    if (file->first < 0 || file->count < 0 || file->first > rows || file->count > rows - file->first || many > INT32_MAX) {
        return Py_NewRef(Py_None);
    }
    PyObject *found = NULL, *first = NULL, *second = NULL;
    uint32_t most = 0;
    int32_t *slots = NULL;
    Placed *placed = malloc(((size_t)many + 1) * sizeof *placed);
    double *shares = calloc(2 * (size_t)many + 1, sizeof *shares);
    file->known = malloc(((size_t)file->count + 1) * sizeof *file->known);
    if (placed == NULL || shares == NULL || file->known == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < file->count; i++) {
        file->known[i] = -1;
    }
    if (placed_read(at, file, placed, many, &most) < 0) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    slots = malloc(((size_t)most + 1) * sizeof *slots);
    if (slots == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    memset(slots, 0xff, ((size_t)most + 1) * sizeof *slots);
    for (Py_ssize_t i = 0; i < many; i++) {
        slots[placed[i].number] = (int32_t)placed[i].given;
    }
    if (shares_find(question, at, file, marks, placed, many, slots, most, shares, shares + many) < 0) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    first = list_of_reals(shares, many);
    second = first == NULL ? NULL : list_of_reals(shares + many, many);
    found = second == NULL ? NULL : PyTuple_Pack(2, first, second);
done:
    Py_XDECREF(first);
    Py_XDECREF(second);
    free(slots);
    free(placed);
    free(shares);
    free(file->known);
    return found;
}

static PyObject *shares_of_file(const Question *question, const Columns *at, const Py_buffer *marks, PyObject *given) {
    File file;
    memset(&file, 0, sizeof file);
    PyObject *rows = NULL;
    if (!PyTuple_Check(given) || PyTuple_Size(given) != 2) {
        return fail_null("a file is a pair");
    }
    rows = PyTuple_GetItem(given, 0);
    file.chosen = PyTuple_GetItem(given, 1);
    if (!PyTuple_Check(rows) || !PyList_Check(file.chosen)) {
        return fail_null("a file has rows, and a list of units");
    }
    if (!PyArg_ParseTuple(rows, "y*ny*nny*L", &file.units, &file.first_unit, &file.definitions, &file.first, &file.count,
                          &file.strings, &file.base)) {
        return NULL;
    }
    PyObject *found = shares_make(question, at, marks, &file);
    RELEASE(&file.units, &file.definitions, &file.strings);
    return found;
}

/* Terms of a question, the group of each, what each group is worth, what all are; where numbers are in the rows of units and of
   definitions, a mark per kind; of each file (rows of units, its first, rows of definitions, its first and how many, strings, and
   where those begin) and some of its units: for each of these the share in the name around its middle, and the largest share in that
   and in the names that begin in it; None for a file where that takes more than this to tell. */
PyObject *kernel_name_shares(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *terms, *worths, *files, *found = NULL;
    Py_buffer groups, marks;
    Question question;
    memset(&question, 0, sizeof question);
    Columns at;
    if (!PyArg_ParseTuple(arguments, "O!y*O!d(nnn)(nnnnnnn)y*O!", &PyList_Type, &terms, &groups, &PyList_Type, &worths,
                          &question.total, &at.unit_width, &at.unit_start, &at.unit_end, &at.width, &at.unit, &at.start, &at.end,
                          &at.name, &at.container, &at.kind, &marks, &PyList_Type, &files)) {
        return NULL;
    }
    if (!columns_sound(&at)) {
        fail("the rows are not so wide");
    } else if (question_read(&question, terms, &groups, worths) == 0) {
        found = PyList_New(0);
    }
    for (Py_ssize_t i = 0; found != NULL && i < PyList_Size(files); i++) {
        PyObject *shares = shares_of_file(&question, &at, &marks, PyList_GetItem(files, i));
        if (shares == NULL || PyList_Append(found, shares) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(shares);
    }
    free(question.slots);
    RELEASE(&groups, &marks);
    return found;
}
