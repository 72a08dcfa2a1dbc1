/* lurcher._kernel: the loops that cost most, in C. Every function has a reference in Python or numpy, and equals it. */

#include "query/array.h"
#include "chunk/definition.h"
#include "support/wide.h"
#include "treesitter/tree.h"

static int add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL || PyModule_AddObject(module, name, type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    return 0;
}

/* A type that other files of the kernel make objects of. */
static int keep_type(PyTypeObject **type, PyType_Spec *spec) {
    if (*type == NULL) {
        *type = (PyTypeObject *)PyType_FromSpec(spec);
    }
    return *type == NULL ? -1 : 0;
}

static int fill(PyObject *module) {
    if (add_type(module, "Counter", &counter_spec) < 0 || add_type(module, "Ruler", &ruler_spec) < 0 ||
        add_type(module, "Found", &found_spec) < 0 || add_type(module, "RowBuilder", &row_builder_spec) < 0 ||
        add_type(module, "Entries", &entries_spec) < 0) {
        return -1;
    }
    if (keep_type(&array_type, &array_spec) < 0 || PyModule_AddObjectRef(module, "Array", (PyObject *)array_type) < 0 ||
        PyModule_AddFunctions(module, array_functions) < 0) {
        return -1;
    }
    if (keep_type(&language_type, &language_spec) < 0 || keep_type(&tree_type, &tree_spec) < 0 ||
        keep_type(&node_type, &node_spec) < 0 || add_type(module, "Patterns", &patterns_spec) < 0 ||
        add_type(module, "OccurrenceRules", &occurrence_rules_spec) < 0 ||
        PyModule_AddObjectRef(module, "Language", (PyObject *)language_type) < 0 ||
        PyModule_AddObjectRef(module, "Node", (PyObject *)node_type) < 0) {
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
    {"lengths", kernel_lengths, METH_VARARGS,
     "Rows of units, their width, rows of files, their width, where a unit names its file, marks of live files or None, fields (of "
     "a file or not, place, size, weight), an array of numbers, where in it the length of each unit goes: the sum of each field over "
     "live units, and how many those are."},
    {"normed", kernel_normed, METH_VARARGS,
     "Lengths, their mean, k1, b: each length becomes what it makes of its unit's counts."},
    {"unpack", kernel_unpack, METH_VARARGS, "A block of LZ4, and how many bytes it gives: these, or None where it does not."},
    {"within", kernel_within, METH_VARARGS,
     "Rows, their width, limits (place and size of a number, place and size of one that is added or a place below zero, least, "
     "most): whether all rows keep to all limits."},
    {"unlike", kernel_unlike, METH_VARARGS,
     "Rows by path, where in them size and times and inode are, a folder, since when times are young, whether they are folders."},
    {"unlike_rows", kernel_unlike_rows, METH_VARARGS,
     "Paths with zeros between, packed rows, their width, where in them size and times and inode are, a folder, since when times "
     "are young, folders that are known: the numbers of rows, or None where a path is in no such folder."},
    {"begin_check", kernel_begin_check, METH_VARARGS,
     "The same in the background, with the paths and marks of the folders, which are checked first. Gives what `end_check` takes."},
    {"end_check", kernel_end_check, METH_O,
     "Waits for a check: the changed rows; None where a folder has changed or is not known, or rows do not fit."},
    {"paths", kernel_paths, METH_VARARGS,
     "Paths with zeros between, whether they must be text: how many there are, and whether one is absolute or has a step up."},
    {"tally", kernel_tally, METH_VARARGS,
     "Parts (owners, amounts, factor), number of owners, a desk of zeros: the owners that have anything, and their sums."},
    {"bm25", kernel_bm25, METH_VARARGS, "Units, frequencies, lengths, times, scores: what each unit gains, added to its score."},
    {"harmonic", kernel_harmonic, METH_VARARGS,
     "Scores of units; of each file the best of them, its first unit and number of units, and whether it may answer; a divisor per "
     "place, where the sums go."},
    {"best_units", kernel_best_units, METH_VARARGS,
     "Scores of units, first unit and number of units of each file: each file's best score, the unit that has it, or -1, and how "
     "many have any."},
    {"count_above_and_equal", kernel_count_above_and_equal, METH_VARARGS,
     "Scores and values: for each value how many scores are above it, and how many equal it."},
    {"covered", kernel_covered, METH_VARARGS,
     "Parts (owners, counts, quality, cover) of words of types' names, (rows, width, place of file, place of size, first file) of each "
     "table of definitions, the cover of all, the number of files, a desk of zeros: each file's best share of a name times what that "
     "covers."},
    {"nearest", kernel_nearest, METH_VARARGS,
     "Numbers in runs, the length of each, how many of them count: the mean of its largest, and where the largest is."},
    {"innermost", kernel_innermost, METH_VARARGS,
     "Packed rows, their width, where in them start and end and kind are, the first and how many, a byte, a mark per kind: which of "
     "them is the shortest around the byte, or -1."},
    {"best_line", kernel_best_line, METH_VARARGS,
     "A text, the same in small letters, some terms: at which byte the text of the first line begins that has the most different ones; "
     "-1: that is not so easy."},
    {"largest", kernel_largest, METH_VARARGS,
     "Values, the file of each, a rank per file, how many: the places of the largest, in order; of equals the first by rank."},
    {"order_places", kernel_order_places, METH_VARARGS,
     "A question with columns and marks, scores, cosines and roles of units, weights, files: the units of these that are placed, in "
     "order, and the score of each; None: that is not so easy."},
    {"unchecked", kernel_unchecked, METH_VARARGS,
     "Where parts begin and end, sizes of a block and of all, a mark per block: the blocks without one; None: a part is not there."},
    {"extract", kernel_extract, METH_VARARGS,
     "Matches of a query, a kind or reader per pattern, a ruler, a language's rules: definitions, and ranges of comments."},
    {"cuts", kernel_cuts, METH_VARARGS,
     "The root of a tree, a ruler, a target, types that lead, types that are divided, definitions, how lines are cut: where chunks "
     "begin."},
    {"occurrences", kernel_occurrences, METH_VARARGS,
     "Encoded occurrences, their text, a name or None, where to begin and end: start, end and kind of each."},
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
    {"write_out", kernel_write_out, METH_VARARGS, "Have a part of a file written to the disk, without waiting, where the system can."},
    {"crc32", kernel_crc32, METH_VARARGS, "The CRC-32 of some bytes, as zlib has it."},
    {"count_tokens", kernel_count_tokens, METH_VARARGS, "A table of tokens and a text: how many tokens the text has."},
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

PyMODINIT_FUNC PyInit__kernel(void) {
    ask_processor();
    return PyModuleDef_Init(&definition);
}
