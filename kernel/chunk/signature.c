/* The signature of a definition on one line, as languages/definitions.py has it. */

#include "chunk/extract.h"

enum { LONGEST_SIGNATURE = 200, READ = 4 * LONGEST_SIGNATURE };

/* One line of a signature as it grows: single spaces, cut at its length, and without what ends it. */
typedef struct {
    char text[LONGEST_SIGNATURE];
    size_t length;   /* of the whole line */
    size_t kept;     /* of the line without spaces, braces and marks at its end */
    int gap;         /* white space, of which one is written before the next word */
} Line;

static void put_byte(Line *line, unsigned char byte) {
    if (line->length < LONGEST_SIGNATURE) {
        line->text[line->length] = (char)byte;
    }
    line->length++;
    if (byte != ' ' && byte != '{' && byte != ':' && byte != '=' && byte != ';' && byte != ',') {
        line->kept = line->length;
    }
}

enum { MORE, BRACE, WIDE };

static int put_piece(Line *line, const Ruler *ruler, size_t start, size_t end, int ends_at_brace) {
    for (size_t at = start; at < end; at++) {
        unsigned char byte = ruler->data[at];
        if (byte >= 128) {
            return WIDE;
        }
        if (byte == '{' && ends_at_brace) {
            return BRACE;
        }
        if (is_space(byte) || (byte >= 28 && byte <= 31)) {
            line->gap = line->length > 0;
            continue;
        }
        if (line->gap) {
            put_byte(line, ' ');
            line->gap = 0;
        }
        put_byte(line, byte);
    }
    line->gap = line->length > 0; /* pieces stand apart */
    return MORE;
}

static PyObject *comments_in(const Ruler *ruler, size_t first, size_t last) {
    PyObject *list = PyList_New(0);
    for (size_t i = first; list != NULL && i < last; i++) {
        PyObject *pair = Py_BuildValue("(nn)", (Py_ssize_t)ruler->comments[i].start, (Py_ssize_t)ruler->comments[i].end);
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(pair);
    }
    return list;
}

PyObject *signature_of(const Work *work, size_t start, size_t end, int ends_at_brace) {
    const Ruler *ruler = work->ruler;
    size_t first = ruler_comment(ruler, start), last = end > start ? ruler_comment(ruler, end) : first;
    size_t position = start, stop = end < start + READ ? end : start + READ;
    Line line;
    memset(&line, 0, sizeof line);
    int state = MORE, whole = 1;
    for (size_t i = first; state == MORE && whole && i < last; i++) {
        state = put_piece(&line, ruler, position, ruler->comments[i].start, ends_at_brace);
        position = ruler->comments[i].end;
        whole = position - start <= READ;
    }
    if (state == MORE && whole) {
        state = put_piece(&line, ruler, position, stop, ends_at_brace);
    }
    if (state == WIDE) {
        PyObject *comments = comments_in(ruler, first, last);
        PyObject *made = comments == NULL ? NULL
                                          : PyObject_CallFunction(
                                                work->rules->signature, "OnnOO", ruler->text, (Py_ssize_t)start, (Py_ssize_t)end,
                                                comments, ends_at_brace ? Py_True : Py_False);
        Py_XDECREF(comments);
        if (made != NULL && !PyUnicode_Check(made)) {
            PyErr_SetString(PyExc_TypeError, "a signature is a text");
            Py_CLEAR(made);
        }
        return made;
    }
    size_t length = line.kept < LONGEST_SIGNATURE ? line.kept : LONGEST_SIGNATURE;
    while (length && line.text[length - 1] == ' ') {
        length--;
    }
    return PyUnicode_FromStringAndSize(line.text, (Py_ssize_t)length);
}
