/* Devices: their properties, memory, streams and events, for hosts that have no other library for
 * these. */
#include "module.h"

#include <string.h>

typedef struct DeviceObject {
    PyObject_HEAD tile_device *device;
} DeviceObject;

static ModuleState *state_of_device(PyObject *self) {
    return state_of_type(Py_TYPE(self));
}

tile_device *device_of(PyObject *object) {
    return ((DeviceObject *)object)->device;
}

static bool done(PyObject *self, tile_status status, tile_diagnostics *said) {
    return check_status(state_of_device(self), status, said);
}

PyObject *device_count(PyObject *module, PyObject *Py_UNUSED(unused)) {
    ModuleState *state = state_of(module);
    tile_context *context = module_context(state);
    tile_diagnostics *said = NULL;
    int count = 0;
    if (!context)
        return NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_device_count(context, &count, &said);
    Py_END_ALLOW_THREADS;
    if (status == TILE_ERROR_NO_DRIVER || status == TILE_ERROR_NO_DEVICE) {
        tile_diagnostics_destroy(said);
        return PyLong_FromLong(0);
    }
    return check_status(state, status, said) ? PyLong_FromLong(count) : NULL;
}

/* Device(ordinal) */
static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"ordinal", NULL};
    ModuleState *state = state_of_type(type);
    int ordinal;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i:Device", names, &ordinal))
        return NULL;
    tile_context *context = module_context(state);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    DeviceObject *self = context ? (DeviceObject *)allocate(type, 0) : NULL;
    if (!self)
        return NULL;
    tile_diagnostics *said = NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_device_open(context, ordinal, &self->device, &said);
    Py_END_ALLOW_THREADS;
    if (check_status(state, status, said))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static bool read_schedule(const char *name, tile_host_schedule *schedule) {
    static const char *const names[] = {[TILE_HOST_ROUND_ROBIN] = "round-robin",
                                        [TILE_HOST_RANDOM] = "random",
                                        [TILE_HOST_ADVERSARIAL] = "adversarial"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            *schedule = (tile_host_schedule)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError,
                 "a schedule is \"round-robin\", \"random\" or \"adversarial\", not %s", name);
    return false;
}

PyObject *host_device(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"kind", "target", "schedule", "seed", NULL};
    ModuleState *state = state_of(module);
    const char *kind, *target = "", *schedule = "round-robin";
    unsigned long long seed = 0;
    tile_host_options options = {.size = sizeof options};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|ssK:HostDevice", names, &kind, &target,
                                     &schedule, &seed) ||
        !read_schedule(schedule, &options.schedule))
        return NULL;
    options.kind = !strcmp(kind, "simulator") ? TILE_HOST_SIMULATOR : TILE_HOST_INTERPRETER;
    if (options.kind == TILE_HOST_INTERPRETER && strcmp(kind, "interpreter") != 0) {
        PyErr_Format(PyExc_ValueError, "a host device is \"interpreter\" or \"simulator\", not %s",
                     kind);
        return NULL;
    }
    options.target = (tile_text){target, strlen(target)};
    options.seed = seed;
    tile_context *context = module_context(state);
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->device, Py_tp_alloc);
    DeviceObject *self = context ? (DeviceObject *)allocate(state->device, 0) : NULL;
    tile_diagnostics *said = NULL;
    if (!self)
        return NULL;
    const tile_status status = tile_device_open_host(context, &options, &self->device, &said);
    if (check_status(state, status, said))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void device_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    tile_device_close(device_of(self));
    release(self);
    Py_DECREF(type);
}

static PyObject *device_properties(PyObject *self, PyObject *Py_UNUSED(unused)) {
    tile_device_info info = {.size = sizeof info};
    if (!done(self, tile_device_get_info(device_of(self), &info), NULL))
        return NULL;
    return Py_BuildValue(
        "{sN sN si s(ii) si si si sK si si si si si si si}", "name", str_of_text(info.name),
        "target", str_of_text(info.target), "ordinal", info.ordinal, "capability", info.major,
        info.minor, "sm_count", info.sm_count, "l2_bytes", info.l2_bytes, "shared_per_block",
        info.shared_per_block, "memory_bytes", (unsigned long long)info.memory_bytes,
        "driver_version", info.driver_version, "registers_per_block", info.registers_per_block,
        "registers_per_sm", info.registers_per_sm, "warp_size", info.warp_size, "clock_khz",
        info.clock_khz, "memory_clock_khz", info.memory_clock_khz, "memory_bus_bits",
        info.memory_bus_bits);
}

/* allocate(bytes) -> address */
static PyObject *device_allocate(PyObject *self, PyObject *args) {
    unsigned long long bytes;
    uint64_t address = 0;
    tile_diagnostics *said = NULL;
    if (!PyArg_ParseTuple(args, "K:allocate", &bytes))
        return NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_memory_allocate(device_of(self), (size_t)bytes, &address, &said);
    Py_END_ALLOW_THREADS;
    return done(self, status, said) ? PyLong_FromUnsignedLongLong(address) : NULL;
}

/* free(address) */
static PyObject *device_free(PyObject *self, PyObject *args) {
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "K:free", &address))
        return NULL;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_memory_free(device_of(self), address);
    Py_END_ALLOW_THREADS;
    if (!done(self, status, NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* write(address, bytes, stream=0): waits, so that the host's memory may go. */
static PyObject *device_write(PyObject *self, PyObject *args) {
    unsigned long long address, stream = 0;
    const char *bytes;
    Py_ssize_t size;
    tile_diagnostics *said = NULL;
    if (!PyArg_ParseTuple(args, "Ky#|K:write", &address, &bytes, &size, &stream))
        return NULL;
    tile_device *device = device_of(self);
    tile_stream on = (tile_stream)(uintptr_t)stream;
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_memory_write(device, address, bytes, (size_t)size, on);
    if (status == TILE_OK)
        status = tile_stream_synchronize(device, on, &said);
    Py_END_ALLOW_THREADS;
    if (!done(self, status, said))
        return NULL;
    Py_RETURN_NONE;
}

/* set(address, value, bytes, stream=0): each byte is `value`. Ordered by the stream; waits for
 * nothing. */
static PyObject *device_set(PyObject *self, PyObject *args) {
    unsigned long long address, bytes, stream = 0;
    unsigned char value;
    if (!PyArg_ParseTuple(args, "KbK|K:set", &address, &value, &bytes, &stream))
        return NULL;
    tile_device *device = device_of(self);
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_memory_set(device, address, value, (size_t)bytes, (tile_stream)(uintptr_t)stream);
    Py_END_ALLOW_THREADS;
    if (!done(self, status, NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* read(address, size, stream=0) -> bytes */
static PyObject *device_read(PyObject *self, PyObject *args) {
    unsigned long long address, stream = 0;
    Py_ssize_t size;
    tile_diagnostics *said = NULL;
    if (!PyArg_ParseTuple(args, "Kn|K:read", &address, &size, &stream))
        return NULL;
    tile_device *device = device_of(self);
    tile_stream on = (tile_stream)(uintptr_t)stream;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (!bytes)
        return NULL;
    char *to = PyBytes_AsString(bytes);
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_memory_read(device, to, address, (size_t)size, on);
    if (status == TILE_OK)
        status = tile_stream_synchronize(device, on, &said);
    Py_END_ALLOW_THREADS;
    if (done(self, status, said))
        return bytes;
    Py_DECREF(bytes);
    return NULL;
}

/* synchronize(stream=0) */
static PyObject *device_synchronize(PyObject *self, PyObject *args) {
    unsigned long long stream = 0;
    tile_diagnostics *said = NULL;
    if (!PyArg_ParseTuple(args, "|K:synchronize", &stream))
        return NULL;
    tile_device *device = device_of(self);
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_stream_synchronize(device, (tile_stream)(uintptr_t)stream, &said);
    Py_END_ALLOW_THREADS;
    if (!done(self, status, said))
        return NULL;
    Py_RETURN_NONE;
}

/* event() -> a CUevent, as a number */
static PyObject *device_event(PyObject *self, PyObject *Py_UNUSED(unused)) {
    tile_event event = NULL;
    if (!done(self, tile_event_create(device_of(self), &event), NULL))
        return NULL;
    return PyLong_FromVoidPtr(event);
}

/* event_destroy(event) */
static PyObject *device_event_destroy(PyObject *self, PyObject *args) {
    unsigned long long event;
    if (!PyArg_ParseTuple(args, "K:event_destroy", &event) ||
        !done(self, tile_event_destroy(device_of(self), (tile_event)(uintptr_t)event), NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* event_record(event, stream=0) */
static PyObject *device_event_record(PyObject *self, PyObject *args) {
    unsigned long long event, stream = 0;
    if (!PyArg_ParseTuple(args, "K|K:event_record", &event, &stream) ||
        !done(self,
              tile_event_record(device_of(self), (tile_event)(uintptr_t)event,
                                (tile_stream)(uintptr_t)stream),
              NULL))
        return NULL;
    Py_RETURN_NONE;
}

/* event_elapsed(begin, end) -> milliseconds; waits for `end` */
static PyObject *device_event_elapsed(PyObject *self, PyObject *args) {
    unsigned long long begin, end;
    float milliseconds = 0;
    if (!PyArg_ParseTuple(args, "KK:event_elapsed", &begin, &end))
        return NULL;
    tile_device *device = device_of(self);
    tile_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = tile_event_elapsed(device, (tile_event)(uintptr_t)begin, (tile_event)(uintptr_t)end,
                                &milliseconds);
    Py_END_ALLOW_THREADS;
    return done(self, status, NULL) ? PyFloat_FromDouble(milliseconds) : NULL;
}

static PyMethodDef methods[] = {
    {"properties", device_properties, METH_NOARGS, "Properties as a dict."},
    {"allocate", device_allocate, METH_VARARGS, "allocate(bytes) -> address"},
    {"free", device_free, METH_VARARGS, "free(address)"},
    {"write", device_write, METH_VARARGS, "write(address, bytes, stream=0); waits"},
    {"set", device_set, METH_VARARGS, "set(address, value, bytes, stream=0)"},
    {"read", device_read, METH_VARARGS, "read(address, size, stream=0) -> bytes; waits"},
    {"synchronize", device_synchronize, METH_VARARGS, "synchronize(stream=0)"},
    {"event", device_event, METH_NOARGS, "event() -> a CUevent"},
    {"event_destroy", device_event_destroy, METH_VARARGS, "event_destroy(event)"},
    {"event_record", device_event_record, METH_VARARGS, "event_record(event, stream=0)"},
    {"event_elapsed", device_event_elapsed, METH_VARARGS,
     "event_elapsed(begin, end) -> milliseconds; waits for end"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Device(ordinal): a GPU, its memory, streams and events."},
    {Py_tp_new, (void *)device_new},
    {Py_tp_dealloc, (void *)device_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {.name = "tilec._tilec.Device",
                           .basicsize = sizeof(DeviceObject),
                           .flags = Py_TPFLAGS_DEFAULT,
                           .slots = slots};

int add_device_type(PyObject *module) {
    ModuleState *state = state_of(module);
    state->device = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->device ? PyModule_AddType(module, state->device) : -1;
}
