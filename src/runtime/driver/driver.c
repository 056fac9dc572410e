/* Loading the driver, devices, and the driver's assembler. Every call's failure becomes a
 * diagnostic that names the call and the driver's own words for it. */
#include "runtime/driver/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOG_SIZE = 64 * 1024 };

static const char *const driver_symbols[DRIVER_COUNT] = {
#define DRIVER(field, symbol, parameters) symbol,
#include "runtime/driver/driver.def"
};

static const size_t driver_offsets[DRIVER_COUNT] = {
#define DRIVER(field, symbol, parameters) offsetof(Driver, field),
#include "runtime/driver/driver.def"
};

static const bool driver_optional[DRIVER_COUNT] = {
#define DRIVER(field, symbol, parameters) false,
#define DRIVER_OPTIONAL(field, symbol, parameters) true,
#include "runtime/driver/driver.def"
};

static bool find_symbols(Driver *driver, Diags *diags, const char *library) {
    for (int i = 0; i < DRIVER_COUNT; i++) {
        void *symbol = dlsym(driver->library, driver_symbols[i]);
        if (!symbol && !driver_optional[i])
            return diag(diags, (Span){0}, driver_symbol, library, driver_symbols[i]);
        memcpy((char *)driver + driver_offsets[i], &symbol, sizeof symbol);
    }
    return true;
}

static bool initialise(Driver *driver, Diags *diags) {
    CUresult result = driver->init(0);
    if (result == CUDA_NO_DEVICE)
        return diag(diags, (Span){0}, device_none, driver_error_text(driver, diags->arena, result));
    if (result == CUDA_STUB_LIBRARY)
        return diag(diags, (Span){0}, driver_missing,
                    "the library found is the toolkit's stub, which only serves linking");
    return driver_check(driver, diags, DRIVER_init, result);
}

bool driver_load(Driver *driver, Diags *diags, const char *library) {
    *driver = (Driver){0};
    if (!library || !*library)
        library = getenv("TILEC_CUDA_LIBRARY");
    if (!library || !*library)
        library = "libcuda.so.1";
    /* NODELETE: the driver has threads and exit handlers of its own once it ran. */
    driver->library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!driver->library)
        return diag(diags, (Span){0}, driver_missing, dlerror());
    if (find_symbols(driver, diags, library) &&
        DRIVER_TRY(driver, diags, driver_version, &driver->version))
        return true;
    driver_close(driver);
    return false;
}

bool driver_open(Driver *driver, Diags *diags, const char *library) {
    if (!driver_load(driver, diags, library))
        return false;
    driver->process = getpid();
    if (initialise(driver, diags))
        return true;
    driver_close(driver);
    return false;
}

void driver_close(Driver *driver) {
    if (driver->library)
        dlclose(driver->library);
    *driver = (Driver){0};
}

const char *driver_error_text(const Driver *driver, Arena *arena, CUresult result) {
    const char *name = NULL, *text = NULL;
    if (driver->error_name(result, &name) != CUDA_OK || !name)
        return str_format(arena, "error %d", result);
    driver->error_string(result, &text);
    return str_format(arena, "%s: %s", name, text ? text : "");
}

bool driver_check(const Driver *driver, Diags *diags, DriverFunction function, CUresult result) {
    if (result == CUDA_OK)
        return true;
    return diag(diags, (Span){0}, driver_call, driver_symbols[function],
                driver_error_text(driver, diags->arena, result));
}

int driver_device_count(const Driver *driver, Diags *diags) {
    int count = 0;
    if (!DRIVER_TRY(driver, diags, device_count, &count))
        return 0;
    if (count == 0)
        diag(diags, (Span){0}, device_none, "the driver lists none");
    return count;
}

bool device_query(const Driver *driver, Diags *diags, int ordinal, Device *device) {
    *device = (Device){.driver = driver, .ordinal = ordinal};
    int count = driver_device_count(driver, diags);
    if (count == 0)
        return false;
    if (ordinal < 0 || ordinal >= count)
        return diag(diags, (Span){0}, device_missing, ordinal, count);
    const struct {
        int attribute;
        int *value;
    } attributes[] = {
        {CUDA_ATTRIBUTE_MAJOR, &device->major},
        {CUDA_ATTRIBUTE_MINOR, &device->minor},
        {CUDA_ATTRIBUTE_SM_COUNT, &device->sm_count},
        {CUDA_ATTRIBUTE_L2_BYTES, &device->l2_bytes},
        {CUDA_ATTRIBUTE_SHARED_OPTIN, &device->shared_per_block},
        {CUDA_ATTRIBUTE_COOPERATIVE, &device->cooperative},
        {CUDA_ATTRIBUTE_REGISTERS, &device->block_registers},
        {CUDA_ATTRIBUTE_SM_REGISTERS, &device->sm_registers},
        {CUDA_ATTRIBUTE_WARP_SIZE, &device->warp_size},
        {CUDA_ATTRIBUTE_CLOCK, &device->clock_khz},
        {CUDA_ATTRIBUTE_MEMORY_CLOCK, &device->memory_clock_khz},
        {CUDA_ATTRIBUTE_BUS_BITS, &device->bus_bits},
    };
    if (!DRIVER_TRY(driver, diags, device_get, &device->handle, ordinal) ||
        !DRIVER_TRY(driver, diags, device_name, device->name, sizeof device->name - 1,
                    device->handle) ||
        !DRIVER_TRY(driver, diags, device_memory, &device->memory, device->handle))
        return false;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (!DRIVER_TRY(driver, diags, device_attribute, attributes[i].value,
                        attributes[i].attribute, device->handle))
            return false;
    device->target = target_by_capability(10 * device->major + device->minor);
    return true;
}

bool device_open(const Driver *driver, Diags *diags, int ordinal, Device *device) {
    return device_query(driver, diags, ordinal, device) &&
           DRIVER_TRY(driver, diags, primary_retain, &device->context, device->handle);
}

void device_close(Device *device) {
    if (device->context)
        device->driver->primary_release(device->handle);
    device->context = NULL;
}

CUresult device_enter(const Device *device, bool *pushed) {
    CUcontext current = NULL;
    CUresult result = device->driver->context_current(&current);
    *pushed = false;
    if (result != CUDA_OK || current == device->context)
        return result;
    result = device->driver->context_push(device->context);
    *pushed = result == CUDA_OK;
    return result;
}

void device_leave(const Device *device, bool pushed) {
    CUcontext popped;
    if (pushed)
        device->driver->context_pop(&popped);
}

/* Options of the driver's assembler come as two parallel arrays, numbers cast to pointers. */
typedef struct JitOptions {
    int keys[6];
    void *values[6];
    unsigned count;
} JitOptions;

static void jit_option(JitOptions *options, int key, uintptr_t value) {
    options->keys[options->count] = key;
    options->values[options->count++] = (void *)value;
}

static bool report_rejected(Diags *diags, const char *errors) {
    Str text = str_from(errors);
    while (text.len && text.ptr[text.len - 1] == '\n')
        text.len--;
    return diag(diags, (Span){0}, ptxas_error, STR_ARG(text));
}

bool driver_assemble(const Device *device, Diags *diags, Str ptx, bool line_info, Str *cubin,
                     Str *log) {
    const Driver *driver = device->driver;
    char *info = arena_alloc(diags->arena, LOG_SIZE), *errors = arena_alloc(diags->arena, LOG_SIZE);
    JitOptions options = {0};
    jit_option(&options, CUDA_JIT_INFO_LOG, (uintptr_t)info);
    jit_option(&options, CUDA_JIT_INFO_LOG_SIZE, LOG_SIZE - 1);
    jit_option(&options, CUDA_JIT_ERROR_LOG, (uintptr_t)errors);
    jit_option(&options, CUDA_JIT_ERROR_LOG_SIZE, LOG_SIZE - 1);
    jit_option(&options, CUDA_JIT_VERBOSE, 1);
    jit_option(&options, CUDA_JIT_LINE_INFO, line_info);
    CUlinkState state;
    if (!DRIVER_TRY(driver, diags, link_create, options.count, options.keys, options.values,
                    &state))
        return false;
    void *image = NULL;
    size_t size = 0;
    /* The size of PTX text includes its terminating zero. */
    CUresult result = driver->link_add(state, CUDA_JIT_INPUT_PTX, (void *)(uintptr_t)ptx.ptr,
                                       ptx.len + 1, "kernel.ptx", 0, NULL, NULL);
    DriverFunction failed = DRIVER_link_add;
    if (result == CUDA_OK) {
        failed = DRIVER_link_complete;
        result = driver->link_complete(state, &image, &size);
    }
    bool ok = result == CUDA_OK;
    if (ok)
        *cubin = (Str){str_dup(diags->arena, (Str){image, size}), size};
    driver->link_destroy(state);
    *log = str_from(info);
    if (ok)
        return true;
    return *errors ? report_rejected(diags, errors) : driver_check(driver, diags, failed, result);
}
