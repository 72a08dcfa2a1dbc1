/* Texts → owner × term counts, as terms/count.py has it: identifiers are numbered as they come, split once each, and counted
   by sorting in linear time. */

#include "index/count.h"
#include "index/split.h"

#include <stdlib.h>

enum { MAX_FIELDS = 32 };

typedef struct {
    Bytes tokens; /* uint32_t each: numbers of identifiers, one addition after the other */
    Bytes owners; /* uint32_t per addition */
    Bytes ends;   /* uint64_t per addition: where its tokens end */
} Field;

typedef struct {
    PyObject_HEAD
    Texts identifiers;
    Field fields[MAX_FIELDS];
    int busy; /* counting without the interpreter's lock: nobody may add meanwhile */
} Counter;

/* What identifiers are made of, and in which order terms stand. */
typedef struct {
    Texts terms;
    Bytes flat;      /* uint32_t each: numbers of terms, one identifier after the other */
    Bytes flat_ends; /* uint64_t per identifier */
    Bytes dropped;   /* a byte per identifier: too long to have a term */
    Bytes required;  /* uint32_t each: numbers of the terms that were required */
    uint32_t *rank;  /* of each term among all, sorted */
    uint32_t *sorted;
} Split;

/* A field's rows, sorted by term and owner. */
typedef struct {
    uint32_t *terms, *owners;
    unsigned char *counts;
    size_t rows;
    uint32_t *incomplete;
    size_t incomplete_count;
} Rows;

typedef struct {
    uint64_t head;
    uint32_t number;
} Key;

static int usable(Counter *self) {
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "the counter is counting");
        return 0;
    }
    return 1;
}

static Field *field_of(Counter *self, unsigned int number) {
    if (number >= MAX_FIELDS) {
        return fail_null("no such field");
    }
    return &self->fields[number];
}

/* The addition is complete: as if it had not begun when there is no memory for that. */
static PyObject *added(Field *field, unsigned int owner, size_t before, int failed) {
    uint64_t end = field->tokens.used / sizeof(uint32_t);
    uint32_t number = owner;
    if (!failed && bytes_reserve(&field->owners, sizeof number) == 0 && bytes_append(&field->ends, &end, sizeof end) == 0 &&
        bytes_append(&field->owners, &number, sizeof number) == 0) {
        Py_RETURN_NONE;
    }
    field->tokens.used = before;
    return PyErr_NoMemory();
}

static int add_token(Counter *self, Field *field, const char *data, size_t size) {
    uint32_t number = texts_number(&self->identifiers, data, size);
    return number == UINT32_MAX ? -1 : bytes_append_number(&field->tokens, number);
}

/* Every identifier of a piece of ASCII: 0, or -1 without memory. */
static int add_piece(Counter *self, Field *field, const char *data, size_t size) {
    for (size_t at = 0;;) {
        while (at < size && CLASS[(unsigned char)data[at]] == BETWEEN) {
            at++;
        }
        if (at == size) {
            return 0;
        }
        size_t start = at;
        while (at < size && CLASS[(unsigned char)data[at]] != BETWEEN) {
            at++;
        }
        if (add_token(self, field, data + start, at - start) < 0) {
            return -1;
        }
    }
}

static PyObject *counter_add(PyObject *object, PyObject *arguments) {
    Counter *self = (Counter *)object;
    unsigned int number, owner;
    PyObject *text;
    if (!PyArg_ParseTuple(arguments, "IIU:add", &number, &owner, &text) || !usable(self)) {
        return NULL;
    }
    Field *field = field_of(self, number);
    Py_ssize_t length = 0;
    const char *data = field == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &length);
    if (data == NULL) {
        return NULL;
    }
    if (length != PyUnicode_GetLength(text)) {
        return fail_null("the text is not ASCII");
    }
    size_t before = field->tokens.used;
    return added(field, owner, before, add_piece(self, field, data, (size_t)length) < 0);
}

static PyObject *counter_add_words(PyObject *object, PyObject *arguments) {
    Counter *self = (Counter *)object;
    unsigned int number, owner;
    PyObject *words;
    if (!PyArg_ParseTuple(arguments, "IIO!:add_words", &number, &owner, &PyList_Type, &words) || !usable(self)) {
        return NULL;
    }
    Field *field = field_of(self, number);
    if (field == NULL) {
        return NULL;
    }
    size_t before = field->tokens.used;
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(words); i++) {
        Py_ssize_t length;
        const char *data = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, i), &length);
        if (data == NULL) {
            field->tokens.used = before;
            return NULL;
        }
        failed = add_token(self, field, data, (size_t)length) < 0;
    }
    return added(field, owner, before, failed);
}

static PyObject *counter_beyond(PyObject *object, PyObject *unused) {
    (void)unused;
    Counter *self = (Counter *)object;
    PyObject *found = usable(self) ? PyList_New(0) : NULL;
    for (uint32_t i = 0; found != NULL && i < self->identifiers.count; i++) {
        size_t size;
        const char *data = texts_at(&self->identifiers, i, &size);
        if (is_ascii(data, size)) {
            continue;
        }
        PyObject *word = PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "strict");
        if (word == NULL || PyList_Append(found, word) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(word);
    }
    return found;
}

static void split_free(Split *split) {
    texts_free(&split->terms);
    bytes_free(&split->flat);
    bytes_free(&split->flat_ends);
    bytes_free(&split->dropped);
    bytes_free(&split->required);
    free(split->rank);
    free(split->sorted);
}

static int take_term(Split *split, const char *data, size_t size) {
    uint32_t number = texts_number(&split->terms, data, size);
    return number == UINT32_MAX ? -1 : bytes_append_number(&split->flat, number);
}

/* The terms of one identifier: 0, or -1 without memory. */
static int split_one(Split *split, const char *data, size_t size) {
    Terms terms;
    split_ascii(data, size, &terms);
    for (size_t i = 0; i < terms.count; i++) {
        if (take_term(split, terms.text + terms.parts[i].start, terms.parts[i].size) < 0) {
            return -1;
        }
    }
    char dropped = 0;
    for (size_t i = 0; terms.count == 0 && !dropped && i < size; i++) {
        int class = CLASS[(unsigned char)data[i]];
        dropped = class != DIGIT && class != LINE;
    }
    return bytes_append(&split->dropped, &dropped, 1);
}

/* The terms of an identifier that Python split: 0, or -1 with an exception. */
static int split_given(Split *split, PyObject *given) {
    int dropped;
    PyObject *parts;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "O!p", &PyTuple_Type, &parts, &dropped)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "the parts of an identifier are a tuple");
        }
        return -1;
    }
    char mark = (char)dropped;
    for (Py_ssize_t i = 0; i < PyTuple_Size(parts); i++) {
        Py_ssize_t length;
        const char *data = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(parts, i), &length);
        if (data == NULL) {
            return -1;
        }
        if (take_term(split, data, (size_t)length) < 0) {
            return no_memory();
        }
    }
    if (bytes_append(&split->dropped, &mark, 1) < 0) {
        return no_memory();
    }
    return 0;
}

static int split_all(const Texts *identifiers, PyObject *beyond, PyObject *extra, Split *split) {
    Py_ssize_t next = 0;
    for (uint32_t i = 0; i < identifiers->count; i++) {
        size_t size;
        const char *data = texts_at(identifiers, i, &size);
        if (is_ascii(data, size)) {
            if (split_one(split, data, size) < 0) {
                return no_memory();
            }
        } else if (next >= PyList_Size(beyond)) {
            return fail("an identifier was not split");
        } else if (split_given(split, PyList_GetItem(beyond, next++)) < 0) {
            return -1;
        }
        uint64_t end = split->flat.used / sizeof(uint32_t);
        if (bytes_append(&split->flat_ends, &end, sizeof end) < 0) {
            return no_memory();
        }
    }
    for (Py_ssize_t i = 0; i < PyList_Size(extra); i++) {
        Py_ssize_t length;
        const char *data = PyUnicode_AsUTF8AndSize(PyList_GetItem(extra, i), &length);
        if (data == NULL) {
            return -1;
        }
        uint32_t number = texts_number(&split->terms, data, (size_t)length);
        if (number == UINT32_MAX || bytes_append(&split->required, &number, sizeof number) < 0) {
            return no_memory();
        }
    }
    return 0;
}

/* Whether `a` comes after `b`: by head, then by the rest of the text, if there are texts. */
static int after(const Texts *texts, const Key *a, const Key *b) {
    if (a->head != b->head || texts == NULL) {
        return a->head > b->head;
    }
    size_t a_size, b_size;
    const char *a_data = texts_at(texts, a->number, &a_size), *b_data = texts_at(texts, b->number, &b_size);
    size_t both = a_size < b_size ? a_size : b_size;
    int order = both ? memcmp(a_data, b_data, both) : 0;
    return order ? order > 0 : a_size > b_size;
}

/* Stable, and never worse than n log n: 0, or -1 without memory. */
static int merge_sort(const Texts *texts, Key *keys, size_t count) {
    Key *other = malloc((count ? count : 1) * sizeof *other), *from = keys, *to = other;
    if (other == NULL) {
        return -1;
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = middle + width < count ? middle + width : count;
            size_t left = start, right = middle;
            for (size_t place = start; place < end; place++) {
                int take_right = left == middle || (right < end && after(texts, &from[left], &from[right]));
                to[place] = take_right ? from[right++] : from[left++];
            }
        }
        Key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys && count) {
        memcpy(keys, from, count * sizeof *keys);
    }
    free(other);
    return 0;
}

/* Numbers the terms in the order of their bytes, which is that of their letters. */
static int rank_terms(Split *split) {
    size_t count = split->terms.count;
    Key *keys = malloc((count ? count : 1) * sizeof *keys);
    split->rank = malloc((count ? count : 1) * sizeof *split->rank);
    split->sorted = malloc((count ? count : 1) * sizeof *split->sorted);
    if (keys == NULL || split->rank == NULL || split->sorted == NULL) {
        free(keys);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *data = texts_at(&split->terms, i, &size);
        keys[i].head = 0;
        keys[i].number = i;
        for (size_t byte = 0; byte < 8; byte++) {
            keys[i].head = keys[i].head << 8 | (byte < size ? (unsigned char)data[byte] : 0);
        }
    }
    int failed = merge_sort(&split->terms, keys, count);
    for (uint32_t i = 0; !failed && i < count; i++) {
        split->sorted[i] = keys[i].number;
        split->rank[keys[i].number] = i;
    }
    free(keys);
    if (failed) {
        return -1;
    }
    uint32_t *flat = (uint32_t *)split->flat.data;
    for (size_t i = 0; i < split->flat.used / sizeof *flat; i++) {
        flat[i] = split->rank[flat[i]];
    }
    uint32_t *required = (uint32_t *)split->required.data;
    for (size_t i = 0; i < split->required.used / sizeof *required; i++) {
        required[i] = split->rank[required[i]];
    }
    return 0;
}

/* A field's additions, in the order of their owners. */
static Key *additions_of(const Field *field, size_t count) {
    const uint32_t *owners = (const uint32_t *)field->owners.data;
    Key *keys = malloc((count ? count : 1) * sizeof *keys);
    int sorted = 1;
    for (size_t i = 0; keys != NULL && i < count; i++) {
        keys[i].head = owners[i];
        keys[i].number = (uint32_t)i;
        sorted = sorted && (i == 0 || owners[i - 1] <= owners[i]);
    }
    if (keys != NULL && !sorted && merge_sort(NULL, keys, count) < 0) {
        free(keys);
        return NULL;
    }
    return keys;
}

static void rows_free(Rows *rows) {
    free(rows->terms);
    free(rows->owners);
    free(rows->counts);
    free(rows->incomplete);
}

/* Owners of each term, one after the other, then those that are there twice counted: 0, or -1 without memory. */
static int count_field(const Field *field, const Split *split, Rows *rows) {
    size_t additions = field->owners.used / sizeof(uint32_t), term_count = split->terms.count, kept = 0, row = 0;
    const uint32_t *tokens = (const uint32_t *)field->tokens.data, *flat = (const uint32_t *)split->flat.data;
    const uint64_t *ends = (const uint64_t *)field->ends.data, *flat_ends = (const uint64_t *)split->flat_ends.data;
    if (additions > UINT32_MAX) {
        return -1;
    }
    Key *keys = additions_of(field, additions);
    uint64_t *heads = calloc(term_count + 1, sizeof *heads);
    rows->incomplete = malloc((additions ? additions : 1) * sizeof *rows->incomplete);
    uint32_t *places = NULL;
    int failed = keys == NULL || heads == NULL || rows->incomplete == NULL;
    for (size_t i = 0; !failed && i < field->tokens.used / sizeof *tokens; i++) {
        for (uint64_t j = tokens[i] ? flat_ends[tokens[i] - 1] : 0; j < flat_ends[tokens[i]]; j++) {
            heads[flat[j] + 1]++;
        }
    }
    for (size_t i = 0; !failed && i < term_count; i++) {
        heads[i + 1] += heads[i];
    }
    size_t total = failed ? 0 : (size_t)heads[term_count];
    if (!failed) {
        places = malloc((total ? total : 1) * sizeof *places);
        failed = places == NULL;
    }
    for (size_t i = 0; !failed && i < additions; i++) {
        size_t number = keys[i].number;
        uint32_t owner = (uint32_t)keys[i].head;
        int incomplete = 0;
        for (uint64_t t = number ? ends[number - 1] : 0; t < ends[number]; t++) {
            uint32_t token = tokens[t];
            incomplete |= split->dropped.data[token];
            for (uint64_t j = token ? flat_ends[token - 1] : 0; j < flat_ends[token]; j++) {
                places[heads[flat[j]]++] = owner;
            }
        }
        if (incomplete && (kept == 0 || rows->incomplete[kept - 1] != owner)) {
            rows->incomplete[kept++] = owner;
        }
    }
    rows->incomplete_count = kept;
    /* A head has moved to where the next one was: rows are counted, then written. */
    for (size_t term = 0, at = 0; !failed && term < term_count; term++) {
        for (size_t start = at; at < heads[term]; at++) {
            row += at == start || places[at] != places[at - 1];
        }
    }
    rows->rows = row;
    if (!failed) {
        rows->terms = malloc((row ? row : 1) * sizeof *rows->terms);
        rows->owners = malloc((row ? row : 1) * sizeof *rows->owners);
        rows->counts = malloc(row ? row : 1);
        failed = rows->terms == NULL || rows->owners == NULL || rows->counts == NULL;
    }
    row = 0;
    for (size_t term = 0, at = 0; !failed && term < term_count; term++) {
        for (size_t start = at; at < heads[term]; at++) {
            if (at == start || places[at] != places[at - 1]) {
                rows->terms[row] = (uint32_t)term;
                rows->owners[row] = places[at];
                rows->counts[row++] = 1;
            } else if (rows->counts[row - 1] < 255) {
                rows->counts[row - 1]++;
            }
        }
    }
    free(keys);
    free(heads);
    free(places);
    return failed ? -1 : 0;
}

static PyObject *terms_of(const Split *split) {
    PyObject *terms = PyList_New(split->terms.count);
    for (uint32_t i = 0; terms != NULL && i < split->terms.count; i++) {
        size_t size;
        const char *data = texts_at(&split->terms, split->sorted[i], &size);
        PyObject *term = PyUnicode_DecodeUTF8(data, (Py_ssize_t)size, "strict");
        if (term == NULL) {
            Py_CLEAR(terms);
        } else {
            PyList_SetItem(terms, i, term);
        }
    }
    return terms;
}

static PyObject *bytes_from(const void *data, size_t size) {
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)size);
}

static PyObject *tuple_of(const Rows *rows) {
    return Py_BuildValue(
        "(NNNN)", bytes_from(rows->terms, rows->rows * sizeof *rows->terms),
        bytes_from(rows->owners, rows->rows * sizeof *rows->owners), bytes_from(rows->counts, rows->rows),
        bytes_from(rows->incomplete, rows->incomplete_count * sizeof *rows->incomplete));
}

static PyObject *counter_finish(PyObject *object, PyObject *arguments) {
    Counter *self = (Counter *)object;
    unsigned int fields;
    PyObject *beyond, *extra;
    if (!PyArg_ParseTuple(arguments, "IO!O!:finish", &fields, &PyList_Type, &beyond, &PyList_Type, &extra) || !usable(self)) {
        return NULL;
    }
    if (fields > MAX_FIELDS) {
        return fail_null("too many fields");
    }
    Split split;
    Rows rows[MAX_FIELDS];
    memset(&split, 0, sizeof split);
    memset(rows, 0, sizeof rows);
    split.terms.seed = self->identifiers.seed;
    int failed = 0;
    PyObject *terms = NULL, *found = NULL;
    self->busy = 1; /* splitting runs code of Python's */
    if (split_all(&self->identifiers, beyond, extra, &split) == 0) {
        Py_BEGIN_ALLOW_THREADS
        failed = rank_terms(&split);
        for (unsigned int i = 0; !failed && i < fields; i++) {
            failed = count_field(&self->fields[i], &split, &rows[i]);
        }
        Py_END_ALLOW_THREADS
        if (failed) {
            PyErr_NoMemory();
        } else {
            terms = terms_of(&split);
            found = terms == NULL ? NULL : PyList_New(fields);
        }
    }
    self->busy = 0;
    for (unsigned int i = 0; found != NULL && i < fields; i++) {
        PyObject *item = tuple_of(&rows[i]);
        if (item == NULL) {
            Py_CLEAR(found);
        } else {
            PyList_SetItem(found, i, item);
        }
    }
    for (unsigned int i = 0; i < fields; i++) {
        rows_free(&rows[i]);
    }
    PyObject *required = found == NULL ? NULL : bytes_from(split.required.data, split.required.used);
    split_free(&split);
    if (required == NULL) {
        Py_XDECREF(terms);
        Py_XDECREF(found);
        return NULL;
    }
    return Py_BuildValue("(NNN)", terms, found, required);
}

static PyObject *counter_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    unsigned long long seed;
    if (!PyArg_ParseTuple(arguments, "K:Counter", &seed)) {
        return NULL;
    }
    Counter *self = object_new(type);
    if (self != NULL) {
        self->identifiers.seed = seed;
    }
    return (PyObject *)self;
}

static void counter_dealloc(PyObject *object) {
    Counter *self = (Counter *)object;
    texts_free(&self->identifiers);
    for (int i = 0; i < MAX_FIELDS; i++) {
        bytes_free(&self->fields[i].tokens);
        bytes_free(&self->fields[i].owners);
        bytes_free(&self->fields[i].ends);
    }
    object_free(object);
}

static PyMethodDef methods[] = {
    {"add", counter_add, METH_VARARGS, "Count every identifier of a text in ASCII: field, owner, text."},
    {"add_words", counter_add_words, METH_VARARGS, "Count given identifiers: field, owner, list of words."},
    {"beyond", counter_beyond, METH_NOARGS, "The identifiers that are not ASCII, which Python splits."},
    {"finish", counter_finish, METH_VARARGS,
     "Number of fields, (parts, whether too long) of each identifier beyond ASCII, further terms: the sorted terms, of each field "
     "terms, owners, counts, and owners that hold what was too long, and the numbers of the further terms."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_new, (void *)counter_new},
    {Py_tp_dealloc, (void *)counter_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Collects the identifiers of many texts, then counts their terms."},
    {0, NULL},
};

int counter_takes(PyObject *counter, unsigned int field) {
    if ((destructor)PyType_GetSlot(Py_TYPE(counter), Py_tp_dealloc) != counter_dealloc) {
        PyErr_SetString(PyExc_TypeError, "no counter of the kernel's");
        return 0;
    }
    return usable((Counter *)counter) && field_of((Counter *)counter, field) != NULL;
}

int counter_piece(PyObject *counter, unsigned int field, const char *data, size_t size) {
    Counter *self = (Counter *)counter;
    return add_piece(self, &self->fields[field], data, size);
}

int counter_close(PyObject *counter, unsigned int field, uint32_t owner) {
    Field *into = &((Counter *)counter)->fields[field];
    uint64_t end = into->tokens.used / sizeof(uint32_t);
    if (bytes_reserve(&into->owners, sizeof owner) == 0 && bytes_append(&into->ends, &end, sizeof end) == 0 &&
        bytes_append(&into->owners, &owner, sizeof owner) == 0) {
        return 0;
    }
    size_t additions = into->ends.used / sizeof end;
    const uint64_t *ends = (const uint64_t *)(const void *)into->ends.data;
    into->tokens.used = additions ? (size_t)ends[additions - 1] * sizeof(uint32_t) : 0;
    return -1;
}

int counter_words(PyObject *counter, unsigned int field, uint32_t owner, PyObject *words) {
    PyObject *arguments = Py_BuildValue("(IIO)", field, (unsigned int)owner, words);
    PyObject *done = arguments == NULL ? NULL : counter_add_words(counter, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

PyType_Spec counter_spec = {"lurcher._kernel.Counter", sizeof(Counter), 0, Py_TPFLAGS_DEFAULT, type_slots};
