/* Which units of the best files are shown, in what order: as ranking/places.py has it, to the last bit. */

#include "query/name_shares.h"
#include "query/topk.h"

#include <math.h>
#include <stdlib.h>

#define REALS(array) ((const double *)(const void *)(array)->data)
#define NUMBERS(array) ((const int64_t *)(const void *)(array)->data)

/* What all files have in common. */
typedef struct {
    Question question;
    Columns at;
    Py_buffer marks;
    Array *scores, *compared, *cosines, *roles; /* the last three may be NULL */
    double highest, least, inline_tests; /* the last one: the logarithm of their factor */
    double bm25, cosine, enclosing, best, further;
    int naming; /* whether a name that begins in a unit counts for the first place */
    TopK top;
} Order;

/* A unit over all files, and −log v; and where it is placed: −S, and the rank of its file. */
typedef struct {
    double value;
    int64_t rank, unit;
} Placing;

typedef struct {
    NamedFile names;
    Py_ssize_t first, count, lead;
    int defining, inline_tests;
    long long rank;
    double value;
    Placing *row;
    Py_ssize_t placed;
} RankedFile;

static int by_value(const void *left, const void *right) {
    const Placing *a = left, *b = right;
    if (a->value != b->value) {
        return a->value < b->value ? -1 : 1;
    }
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : (a->unit > b->unit) - (a->unit < b->unit);
}

static Py_ssize_t place_of(const Array *ascending, int64_t number) {
    Py_ssize_t low = 0;
    for (Py_ssize_t high = ascending->count; low < high;) {
        Py_ssize_t half = (low + high) / 2;
        if (NUMBERS(ascending)[half] < number) {
            low = half + 1;
        } else {
            high = half;
        }
    }
    return low;
}

/* The units of a file that are placed, numbered within it, and their scores: the best, and the one that has a place in any case. */
static Py_ssize_t choose_units(Order *order, const RankedFile *file, int64_t *units, double *scores) {
    const double *all = REALS(order->scores) + file->first;
    Py_ssize_t lead = file->lead < 0 ? -1 : file->lead - file->first, count, held = -1;
    topk_of_run(&order->top, all, file->count);
    for (count = 0; count < order->top.held; count++) {
        units[count] = order->top.heap[count].place;
        scores[count] = order->top.heap[count].value;
        held = units[count] == lead ? count : held;
    }
    if (lead >= 0 && held < 0) {
        count -= count == order->top.most;
        units[count] = lead;
        scores[count++] = all[lead];
    }
    return count;
}

/* log v of each unit, without what names have: 0, or -1 where cosines or roles are not there. */
static int value_units(const Order *order, const RankedFile *file, const int64_t *units, Py_ssize_t count, double *values) {
    Py_ssize_t begin = order->compared == NULL ? 0 : place_of(order->compared, file->first);
    int near = order->compared != NULL && begin < order->compared->count && NUMBERS(order->compared)[begin] == file->first;
    for (Py_ssize_t i = 0; i < count; i++) {
        double score = values[i] > order->least ? values[i] : order->least;
        values[i] = order->bm25 * log(score / order->highest);
        if (near) {
            if (units[i] >= order->cosines->count - begin) {
                return -1;
            }
            values[i] += order->cosine * REALS(order->cosines)[begin + units[i]];
        }
        if (file->inline_tests && order->roles != NULL) {
            if (file->first + units[i] >= order->roles->count) {
                return -1;
            }
            values[i] += order->roles->data[file->first + units[i]] ? order->inline_tests : 0;
        }
    }
    return 0;
}

/* The units of a file in order: 0, or -1 where that takes more than this to tell. */
static int file_place(Order *order, RankedFile *file) {
    int64_t units[MOST_NAMED];
    double values[MOST_NAMED], around[MOST_NAMED], largest[MOST_NAMED];
    Py_ssize_t count = file->placed = choose_units(order, file, units, values);
    if (count == 0 || value_units(order, file, units, count, values) < 0 ||
        name_shares(&order->question, &order->at, &order->marks, &file->names, units, count, around, largest) < 0) {
        return -1;
    }
    Placing first = {INFINITY, 0, 0};
    int more = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t unit = file->first + units[i];
        Placing named = {-values[i] - order->enclosing * largest[i], 0, unit};
        file->row[i] = (Placing){-values[i] - order->enclosing * around[i], 0, unit};
        first = i == 0 || by_value(&named, &first) < 0 ? named : first;
        more |= largest[i] != around[i];
    }
    qsort(file->row, (size_t)count, sizeof *file->row, by_value);
    if (file->defining) {
        for (Py_ssize_t i = 0; i < count; i++) {
            if (file->row[i].unit == file->lead) {
                file->row[i].value = file->row[0].value - 0.001;
            }
        }
        qsort(file->row, (size_t)count, sizeof *file->row, by_value);
    }
    if (order->naming && more && first.unit != file->row[0].unit) {
        Py_ssize_t at = 0;
        while (file->row[at].unit != first.unit) {
            at++;
        }
        first.value = file->row[0].value;
        memmove(file->row + 1, file->row, (size_t)at * sizeof *file->row);
        file->row[0] = first;
    }
    return 0;
}

/* The units of all files in one order: a pair of lists, None where a file's take more than this to tell, NULL with an exception. */
static PyObject *files_place(Order *order, RankedFile *files, Py_ssize_t count) {
    double best = INFINITY;
    Py_ssize_t placed = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (file_place(order, &files[i]) < 0) {
            return Py_NewRef(Py_None);
        }
        best = files[i].row[0].value < best ? files[i].row[0].value : best;
        placed += files[i].placed;
    }
    Placing *all = malloc(((size_t)placed + 1) * sizeof *all);
    if (all == NULL) {
        return PyErr_NoMemory();
    }
    placed = 0;
    for (RankedFile *file = files; file < files + count; file++) {
        double base = order->best * best + (1 - order->best) * file->row[0].value, value = file->value;
        for (Py_ssize_t i = 0; i < file->placed; i++, value *= order->further) {
            all[placed++] = (Placing){-value * exp(base - file->row[i].value), file->rank, file->row[i].unit};
        }
    }
    qsort(all, (size_t)placed, sizeof *all, by_value);
    PyObject *units = PyList_New(placed), *scores = units == NULL ? NULL : PyList_New(placed), *found = NULL;
    for (Py_ssize_t i = 0; scores != NULL && i < placed; i++) {
        PyObject *unit = PyLong_FromLongLong(all[i].unit), *score = PyFloat_FromDouble(-all[i].value);
        if (unit == NULL || score == NULL) {
            Py_XDECREF(unit);
            Py_XDECREF(score);
            Py_CLEAR(scores);
            break;
        }
        PyList_SetItem(units, i, unit);
        PyList_SetItem(scores, i, score);
    }
    found = scores == NULL ? NULL : PyTuple_Pack(2, units, scores);
    Py_XDECREF(units);
    Py_XDECREF(scores);
    free(all);
    return found;
}

/* One file of a list: 0, or -1 with an exception. */
static int file_read(RankedFile *file, PyObject *given, const Order *order) {
    NamedFile *names = &file->names;
    if (!PyTuple_Check(given)) {
        return fail("a file is a tuple");
    }
    if (!PyArg_ParseTuple(given, "(y*ny*nny*L)nnnppLd", &names->units, &names->first_unit, &names->definitions, &names->first,
                          &names->count, &names->strings, &names->base, &file->first, &file->count, &file->lead, &file->defining,
                          &file->inline_tests, &file->rank, &file->value)) {
        memset(names, 0, sizeof *names);
        return -1;
    }
    Py_ssize_t units = order->scores->count;
    if (file->first < 0 || file->count < 0 || file->first > units || file->count > units - file->first) {
        return fail("a file's units are not there");
    }
    if (file->lead < file->first || file->lead - file->first >= file->count) {
        file->lead = -1;
    }
    return 0;
}

static PyObject *order_files(Order *order, PyObject *given) {
    Py_ssize_t count = PyList_Size(given), most = order->top.most;
    PyObject *found = NULL;
    RankedFile *files = calloc((size_t)count + 1, sizeof *files);
    Placing *rows = malloc(((size_t)count * (size_t)most + 1) * sizeof *rows);
    if (files == NULL || rows == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        files[i].row = rows + i * most;
        if (file_read(&files[i], PyList_GetItem(given, i), order) < 0) {
            goto done;
        }
    }
    found = files_place(order, files, count);
done:
    for (Py_ssize_t i = 0; files != NULL && i < count; i++) {
        RELEASE(&files[i].names.units, &files[i].names.definitions, &files[i].names.strings);
    }
    free(files);
    free(rows);
    return found;
}

static int array_or_none(PyObject *given, Kind kind, Array **array) {
    *array = given == Py_None ? NULL : array_from_as(given, kind);
    return given != Py_None && *array == NULL ? -1 : 0;
}

/* (Terms of a question, the group of each, what each group is worth, what all are), (where numbers are in the rows of units, and of
   definitions), a mark per kind; scores of units; units that were compared and their cosines, or None twice; a role per unit, or
   None, and the logarithm of what a unit with one counts; (the weights β, γ, ε, b, δ, the least share of the best score), how many
   units a file places, whether names that begin in a unit count for its first place; files, each (rows, as the snapshot has them),
   its first unit, how many, the one that has a place in any case, whether that defines the name, whether units have roles, its rank
   by path, its score: the units in order, and S of each; None where that takes more than this to tell. */
PyObject *kernel_order_places(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *terms, *worths, *scores, *compared, *cosines, *roles, *files, *found = NULL;
    Py_buffer groups;
    Py_ssize_t most;
    Order order;
    memset(&order, 0, sizeof order);
    Columns *at = &order.at;
    if (!PyArg_ParseTuple(arguments, "(O!y*O!d)((nnn)(nnnnnnn))y*OOOOd(dddddd)npO!", &PyList_Type, &terms, &groups, &PyList_Type,
                          &worths, &order.question.total, &at->unit_width, &at->unit_start, &at->unit_end, &at->width, &at->unit,
                          &at->start, &at->end, &at->name, &at->container, &at->kind, &order.marks, &scores, &compared, &cosines,
                          &roles, &order.inline_tests, &order.bm25, &order.cosine, &order.enclosing, &order.best, &order.further,
                          &order.least, &most, &order.naming, &PyList_Type, &files)) {
        return NULL;
    }
    if (!columns_sound(at) || most < 1 || most > MOST_NAMED) {
        fail("the rows are not so wide, or a file has no such number of places");
        goto done;
    }
    order.scores = array_from_as(scores, F64);
    if (order.scores == NULL || array_or_none(compared, I64, &order.compared) < 0 ||
        array_or_none(cosines, F64, &order.cosines) < 0 || array_or_none(roles, U8, &order.roles) < 0 ||
        question_read(&order.question, terms, &groups, worths) < 0 || topk_begin(&order.top, most) < 0) {
        goto done;
    }
    if ((order.compared == NULL) != (order.cosines == NULL)) {
        fail("there are cosines, or units that have them, and not both");
        goto done;
    }
    for (Py_ssize_t unit = 0; unit < order.scores->count; unit++) {
        order.highest = REALS(order.scores)[unit] > order.highest ? REALS(order.scores)[unit] : order.highest;
    }
    order.highest = order.highest > 0 ? order.highest : 1;
    order.least *= order.highest;
    found = order_files(&order, files);
done:
    free(order.top.heap);
    free(order.question.slots);
    DROP(order.scores, order.compared, order.cosines, order.roles);
    RELEASE(&groups, &order.marks);
    return found;
}
