/* How much of a question the names of definitions have: as ranking/places.py and storage/snapshot.py have it, to the last bit.

   Rows and strings come from files that anybody may have written: what does not fit together is left to Python, which says so. */

#include "query/name_shares.h"
#include "index/split.h"

#include <stdlib.h>

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

int question_read(Question *question, PyObject *terms, const Py_buffer *groups, PyObject *worths) {
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
    question->count = many;
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

static int fits_row(Py_ssize_t column, Py_ssize_t size, Py_ssize_t width) {
    return column >= 0 && width >= size && column <= width - size;
}

int columns_sound(const Columns *at) {
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

/* A unit that is placed: where it was given, its middle, the innermost definition around that. */
typedef struct {
    Py_ssize_t given;
    uint64_t middle, length;
    const unsigned char *around;
} Placed;

/* What is being found out about the names of one file. */
typedef struct {
    const NamedFile *rows;
    uint32_t container; /* the one that was read last, and what it has */
    uint64_t container_groups;
    int container_known;
    double *known; /* the share in the name of each definition, or -1 */
} Names;

static int groups_at(const Question *question, const NamedFile *file, uint32_t offset, uint64_t *groups) {
    long long place = (long long)offset - file->base;
    *groups = 0;
    return place < 0 ? -1 : add_groups(question, file->strings.buf, (size_t)file->strings.len, (size_t)place, groups);
}

/* The share in the name of a definition, or -1 where that takes more than this to tell. */
static double name_share(const Question *question, const Columns *at, Names *names, const unsigned char *row) {
    const NamedFile *file = names->rows;
    double *known = &names->known[(row - (const unsigned char *)file->definitions.buf) / at->width - file->first];
    if (*known >= 0) {
        return *known;
    }
    uint64_t groups;
    uint32_t container = number_at(row, at->container);
    if (!names->container_known || container != names->container) { /* neighbours have the same */
        if (groups_at(question, file, container, &names->container_groups) < 0) {
            return -1;
        }
        names->container = container;
        names->container_known = 1;
    }
    if (groups_at(question, file, number_at(row, at->name), &groups) < 0) {
        return -1;
    }
    return *known = share_of(question, groups | names->container_groups);
}

static int by_middle(const void *left, const void *right) {
    const Placed *a = left, *b = right;
    return a->middle < b->middle ? -1 : a->middle > b->middle;
}

/* The units that are placed, by their middles, which are read, and the slot of each: 0, or -1 where one is not there. */
static int placed_read(const Columns *at, const NamedFile *file, const int64_t *units, Py_ssize_t many, Placed *placed) {
    Py_ssize_t rows = file->units.len / at->unit_width;
    for (Py_ssize_t i = 0; i < many; i++) {
        if (units[i] < 0 || file->first_unit < 0 || file->first_unit > rows || units[i] >= rows - file->first_unit) {
            return -1;
        }
        const unsigned char *row = (const unsigned char *)file->units.buf + (file->first_unit + units[i]) * at->unit_width;
        uint64_t middle = ((uint64_t)number_at(row, at->unit_start) + number_at(row, at->unit_end)) / 2;
        placed[i] = (Placed){i, middle, 0, NULL};
    }
    qsort(placed, (size_t)many, sizeof *placed, by_middle);
    return 0;
}

/* The same as `name_shares`, with room for the share in the name of each definition. */
static int shares_find(const Question *question, const Columns *at, const Py_buffer *marks, Names *names, const int64_t *units,
                       Py_ssize_t many, double *around, double *largest) {
    const NamedFile *file = names->rows;
    Placed placed[MOST_NAMED];
    if (placed_read(at, file, units, many, placed) < 0) {
        return -1;
    }
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
        int64_t unit = (int64_t)number_at(row, at->unit) - file->first_unit;
        for (Py_ssize_t given = 0; given < many; given++) {
            if (units[given] == unit) {
                double share = name_share(question, at, names, row);
                if (share < 0) {
                    return -1;
                }
                largest[given] = share > largest[given] ? share : largest[given];
            }
        }
    }
    for (Py_ssize_t i = 0; i < many; i++) {
        Py_ssize_t given = placed[i].given;
        around[given] = placed[i].around == NULL ? 0 : name_share(question, at, names, placed[i].around);
        if (around[given] < 0) {
            return -1;
        }
        largest[given] = around[given] > largest[given] ? around[given] : largest[given];
    }
    return 0;
}

int name_shares(const Question *question, const Columns *at, const Py_buffer *marks, const NamedFile *file, const int64_t *units,
                Py_ssize_t many, double *around, double *largest) {
    memset(around, 0, (size_t)many * sizeof *around);
    memset(largest, 0, (size_t)many * sizeof *largest);
    Py_ssize_t rows = file->definitions.len / at->width;
    if (question->count == 0) {
        return 0;
    }
    if (file->first < 0 || file->count < 0 || file->first > rows || file->count > rows - file->first || many > MOST_NAMED) {
        return -1;
    }
    Names names = {file, 0, 0, 0, malloc(((size_t)file->count + 1) * sizeof *names.known)};
    for (Py_ssize_t i = 0; names.known != NULL && i < file->count; i++) {
        names.known[i] = -1;
    }
    int left = names.known == NULL ? -1 : shares_find(question, at, marks, &names, units, many, around, largest);
    free(names.known);
    return left;
}
