/* A context manager that does nothing, as a type in C: what the interpreter itself takes for a `with` statement.
 *
 * It has what any context manager has that is not written in Python, and nothing more: an object without fields, which
 * takes one argument that it ignores, and two methods in the calling conventions that are quickest. */

#define Py_LIMITED_API 0x030A0000
#include <Python.h>

static PyObject *enter(PyObject *self, PyObject *unused) {
    Py_INCREF(self);
    return self;
}

static PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"nothing.Nothing", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "nothing", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_nothing(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    PyObject *type = PyType_FromSpec(&spec);
    if (type == NULL || PyModule_AddObject(module, "Nothing", type) < 0) {
        Py_XDECREF(type);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
