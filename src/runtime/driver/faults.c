#include "runtime/driver/faults.h"

#include <unistd.h>

#define FAULT_IN_KERNEL                                                                            \
    "`tilec run --device sim` runs the kernel with checks and names the line; `compute-sanitizer`" \
    " does the same on the GPU"

#define FAULT_IN_CAPTURE                                                                           \
    "a stream is being captured, which nothing may wait or load code beside: load kernels, and "   \
    "launch functions once for each form of a call, before the capture begins"

static const struct Fault {
    CUresult result;
    bool loses_context;
    tile_status status;
    const char *hint;
} faults[] = {
#define FAULT(ours, theirs, value, lost, status, hint) {value, lost, status, hint},
#include "runtime/driver/faults.def"
};

static const struct Fault *find_fault(CUresult result) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].result == result)
            return &faults[i];
    return NULL;
}

bool fault_loses_context(CUresult result) {
    const struct Fault *fault = find_fault(result);
    return fault && fault->loses_context;
}

tile_status fault_status(CUresult result) {
    switch (result) {
    case CUDA_OK:
        return TILE_OK;
    case CUDA_INVALID_VALUE:
        return TILE_ERROR_INVALID_ARGUMENT;
    case CUDA_OUT_OF_MEMORY:
        return TILE_ERROR_DEVICE_MEMORY;
    case CUDA_NO_DEVICE:
    case CUDA_INVALID_DEVICE:
        return TILE_ERROR_NO_DEVICE;
    }
    const struct Fault *fault = find_fault(result);
    return fault ? fault->status : TILE_ERROR_DRIVER;
}

/* The driver works in the process that began it, and not in its children. */
static bool report_fork(const Driver *driver, Diags *diags, CUresult result) {
    if (result != CUDA_NOT_INITIALIZED || driver->process == getpid())
        return false;
    diag(diags, (Span){0}, driver_forked);
    diag_hint(diags, "fork before the device is opened, or let the child begin anew with exec");
    return true;
}

/* Whose kernel it was. */
static void note_kernel(const Device *device, Diags *diags) {
    const char *latest = atomic_load_explicit(device_latest(device), memory_order_acquire);
    if (latest)
        diag_note(diags, (Span){0},
                  "kernels end after their launch: '%s' is the one that this library launched last",
                  latest);
    else
        diag_note(diags, (Span){0},
                  "this library has launched nothing on GPU %d: the kernel is another's",
                  device->ordinal);
    diag_note(diags, (Span){0}, "every later call in this context fails with it, too");
}

bool fault_check(const Device *device, Diags *diags, DriverFunction function, CUresult result) {
    const Driver *driver = device->driver;
    if (result == CUDA_OK)
        return true;
    const struct Fault *fault = find_fault(result);
    if (report_fork(driver, diags, result))
        return false;
    if (!fault || fault->status != TILE_ERROR_KERNEL)
        driver_check(driver, diags, function, result);
    else
        diag(diags, (Span){0}, kernel_fault, driver_error_text(driver, diags->arena, result));
    if (fault && fault->loses_context)
        note_kernel(device, diags);
    if (fault && fault->status == TILE_ERROR_KERNEL && driver_runs_ptx(driver))
        diag_hint(diags, "the simulator has said on standard error what it found");
    else if (fault && fault->hint)
        diag_hint(diags, "%s", fault->hint);
    return false;
}

bool device_allocate(const Device *device, Diags *diags, size_t bytes, CUdeviceptr *pointer) {
    const Driver *driver = device->driver;
    CUresult result = driver->memory_allocate(pointer, bytes ? bytes : 1);
    if (result != CUDA_OUT_OF_MEMORY)
        return fault_check(device, diags, DRIVER_memory_allocate, result);
    size_t free_bytes = 0, total = 0;
    driver->memory_info(&free_bytes, &total);
    diag(diags, (Span){0}, device_memory, bytes, free_bytes, total);
    diag_resource(diags, bytes, free_bytes);
    return false;
}
