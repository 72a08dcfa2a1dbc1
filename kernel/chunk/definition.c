/* The object that Python's rules of a language read and change. */

#include "chunk/definition.h"

#include <structmember.h>

static void found_dealloc(PyObject *object) {
    Found *self = (Found *)object;
    Py_CLEAR(self->kind);
    Py_CLEAR(self->name);
    Py_CLEAR(self->owner);
    object_free(object);
}

static PyMemberDef members[] = {
    {"kind", T_OBJECT_EX, offsetof(Found, kind), 0, NULL},
    {"name", T_OBJECT_EX, offsetof(Found, name), 0, NULL},
    {"owner", T_OBJECT_EX, offsetof(Found, owner), 0, NULL},
    {"start", T_PYSSIZET, offsetof(Found, start), 0, NULL},
    {"end", T_PYSSIZET, offsetof(Found, end), 0, NULL},
    {"signature_start", T_PYSSIZET, offsetof(Found, signature_start), 0, NULL},
    {"signature_end", T_PYSSIZET, offsetof(Found, signature_end), 0, NULL},
    {"name_start", T_PYSSIZET, offsetof(Found, name_start), 0, NULL},
    {"name_end", T_PYSSIZET, offsetof(Found, name_end), 0, NULL},
    {"value_start", T_PYSSIZET, offsetof(Found, value_start), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_dealloc, (void *)found_dealloc},
    {Py_tp_members, members},
    {Py_tp_doc, "A definition while it is being built."},
    {0, NULL},
};

PyType_Spec found_spec = {"lurcher._kernel.Found", sizeof(Found), 0, Py_TPFLAGS_DEFAULT, type_slots};

static int is_ours(PyTypeObject *type) { return (destructor)PyType_GetSlot(type, Py_tp_dealloc) == found_dealloc; }

int is_found(PyObject *object) { return is_ours(Py_TYPE(object)); }

int is_found_type(PyObject *type) { return PyType_Check(type) && is_ours((PyTypeObject *)type); }
