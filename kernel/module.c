/* lurcher._kernel: the loops that cost most, in C. Every function has a reference in Python or numpy, and equals it. */

#include "kernel.h"

static int fill(PyObject *module) {
    PyObject *counter = PyType_FromSpec(&counter_spec);
    if (counter == NULL) {
        return -1;
    }
    if (PyModule_AddObject(module, "Counter", counter) < 0) {
        Py_DECREF(counter);
        return -1;
    }
    return PyModule_AddIntConstant(module, "VERSION", KERNEL_VERSION);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "lurcher._kernel", "The loops that cost most, in C.", 0, NULL, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void);

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&definition); }
