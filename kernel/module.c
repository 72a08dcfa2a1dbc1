/* lurcher._kernel: the loops that cost most, in C. Every function has a reference in Python or numpy, and equals it. */

#include "array.h"
#include "found.h"

static int add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL || PyModule_AddObject(module, name, type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

static int fill(PyObject *module) {
    if (add_type(module, "Counter", &counter_spec) < 0 || add_type(module, "Ruler", &ruler_spec) < 0 ||
        add_type(module, "Found", &found_spec) < 0 || add_type(module, "Shelf", &shelf_spec) < 0 ||
        add_type(module, "Entries", &entries_spec) < 0) {
        return -1;
    }
    if (array_type == NULL) {
        array_type = (PyTypeObject *)PyType_FromSpec(&array_spec);
    }
    if (array_type == NULL || PyModule_AddObjectRef(module, "Array", (PyObject *)array_type) < 0 ||
        PyModule_AddFunctions(module, array_functions) < 0) {
        return -1;
    }
    if (PyModule_AddIntConstant(module, "FAST_CRC32", checksum_is_fast()) < 0) {
        return -1;
    }
    return PyModule_AddIntConstant(module, "VERSION", KERNEL_VERSION);
}

static PyMethodDef functions[] = {
    {"row_sums", kernel_row_sums, METH_VARARGS,
     "Ends of each owner's part, rows, whole amounts, stored rows, bits, dims: each owner's sum, in single precision."},
    {"owner_sums", kernel_owner_sums, METH_VARARGS,
     "Fields (owners, terms, counts, weight), number of owners, each term's row (-1: none) and its weight, stored rows, bits, dims: "
     "each owner's sum as bytes, and the scales that make them one long."},
    {"products", kernel_products, METH_VARARGS,
     "Rows of bytes, places among them or None, whole numbers in single precision, where the products go in double precision."},
    {"unlike", kernel_unlike, METH_VARARGS,
     "Rows by path, where in them size and times and inode are, a folder, since when times are young, whether they are folders."},
    {"unlike_rows", kernel_unlike_rows, METH_VARARGS,
     "Paths with zeros between, packed rows, their width, where in them size and times and inode are, a folder, since when times "
     "are young, folders that are known: the numbers of rows, or None where a path is in no such folder."},
    {"tally", kernel_tally, METH_VARARGS,
     "Parts (owners, amounts, factor), number of owners, a desk of zeros: the owners that have anything, and their sums."},
    {"bm25", kernel_bm25, METH_VARARGS, "Units, frequencies, lengths, times, scores: what each unit gains, added to its score."},
    {"harmonic", kernel_harmonic, METH_VARARGS,
     "Scores of units, first unit and number of units of each file, which files may answer, a divisor per place, where the sums "
     "go."},
    {"best_units", kernel_best_units, METH_VARARGS,
     "Scores of units, first unit and number of units of each file: each file's best score and the unit that has it, or -1."},
    {"standing", kernel_standing, METH_VARARGS, "Scores and a value: how many are above it, and how many equal it."},
    {"extract", kernel_extract, METH_VARARGS,
     "Matches of a query, a kind or reader per pattern, a ruler, a language's rules: definitions, and ranges of comments."},
    {"cuts", kernel_cuts, METH_VARARGS,
     "The root of a tree, a ruler, a target, types that lead, types that are divided, definitions, how lines are cut: where chunks "
     "begin."},
    {"filter", kernel_filter, METH_VARARGS, "Hashes, and how many bytes a filter over them has: its bytes."},
    {"united_terms", kernel_united_terms, METH_O,
     "(terms, ends) of each part: all terms in order, their ends, and for each part the numbers of its own."},
    {"packed_postings", kernel_packed_postings, METH_VARARGS,
     "Terms, owners and counts of rows in order: terms, rows and sizes of lists, and their bytes."},
    {"merged_postings", kernel_merged_postings, METH_O,
     "(numbers of terms, ends of rows, ends of lists, first row, bytes, first byte, targets of owners) of each part: terms, rows and "
     "sizes of lists, and their bytes."},
    {"terms_with", kernel_terms_with, METH_VARARGS,
     "Terms, their ends, some bytes, how many at most: the numbers of the terms that hold the bytes; None: too many."},
    {"spans", kernel_spans, METH_VARARGS, "Terms and a family's lists: where theirs begin and end, and how many rows they have."},
    {"mark", kernel_mark, METH_VARARGS, "A family's data, spans of lists and a mask: marks the owners; whether all are there."},
    {"places", kernel_places, METH_VARARGS, "Sorted terms, their ends, a list of terms: the number of each, -1 where it is none of them."},
    {"give_back", kernel_give_back, METH_NOARGS, "Give memory that nobody uses back to the system, where it lets us."},
    {"crc32", kernel_crc32, METH_O, "The CRC-32 of some bytes, as zlib has it."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "lurcher._kernel", "The loops that cost most, in C.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void);

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&definition); }
