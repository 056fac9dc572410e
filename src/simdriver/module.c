/* Modules: PTX is the machine code of this device. */
#include "simdriver/module.h"

#include <stdlib.h>

enum { MAX_TEXT = 1 << 28, PLAIN_SHARED = 48 << 10, FATBIN_MAGIC = 0xBA55ED50 };

/* Where a caller wants to have what is wrong with code; else it goes to stderr. */
typedef struct ErrorLog {
    char *text;
    size_t size;
} ErrorLog;

static ErrorLog find_log(unsigned count, const int *options, void *const *values) {
    ErrorLog log = {NULL, 0};
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CUDA_JIT_ERROR_LOG)
            log.text = values[i];
        else if (options[i] == CUDA_JIT_ERROR_LOG_SIZE)
            log.size = (size_t)(uintptr_t)values[i];
    }
    return log;
}

static void report(Ctx *ctx, const ErrorLog *log) {
    if (!log->text || !log->size) {
        state_print(ctx);
        return;
    }
    StrBuf text = strbuf(&ctx->scratch);
    diag_print_all(&ctx->diags, &text);
    const size_t length = text.len < log->size - 1 ? text.len : log->size - 1;
    memcpy(log->text, text.ptr, length);
    log->text[length] = 0;
}

static bool is_machine_code(const void *image) {
    const uint32_t fatbin = FATBIN_MAGIC;
    return !strncmp(image, "\177ELF", 4) || !memcmp(image, &fatbin, sizeof fatbin);
}

/* Code for one capability alone runs on no other, and none on an older one. */
static bool runs_on(const Target *device, const SimModule *module) {
    const int capability = (int)sim_capability(module);
    return sim_is_specific(module) ? capability == device->capability
                                   : capability <= device->capability;
}

static CUresult parse(const SimDriver *driver, CUmodule module, const char *text,
                      const ErrorLog *log) {
    Ctx *ctx = module->ctx;
    const size_t length = strnlen(text, MAX_TEXT);
    if (length == MAX_TEXT)
        return CUDA_INVALID_PTX;
    const uint32_t file = source_add(&ctx->sources, STR("kernel.ptx"), (Str){text, length});
    module->module = sim_parse_at(ctx, file, module->slot);
    if (!module->module) {
        report(ctx, log);
        return CUDA_INVALID_PTX;
    }
    if (runs_on(driver->settings.target, module->module))
        return CUDA_OK;
    state_complain("code for sm_%u does not run on %s: TILEC_SIM_TARGET says what is simulated",
                   sim_capability(module->module), driver->settings.target->name);
    return CUDA_NO_BINARY_FOR_GPU;
}

/* Reads PTX in a context that the caller frees whatever comes of it. */
static CUresult read_ptx(const SimDriver *driver, CUmodule module, const char *text,
                         const ErrorLog *log) {
    return setjmp(module->ctx->oom) ? CUDA_OUT_OF_MEMORY : parse(driver, module, text, log);
}

static void free_module(CUmodule module) {
    for (CUfunction function = module->functions; function;) {
        CUfunction next = function->next;
        free(function);
        function = next;
    }
    ctx_destroy(module->ctx);
    free(module);
}

/* 0: none is left. */
static uint32_t free_slot(const Primary *primary) {
    for (uint32_t slot = 1; slot < SIM_SLOTS; slot++)
        if (!primary->slots[slot])
            return slot;
    return 0;
}

static CUresult map_variables(const Primary *primary, CUmodule module) {
    if (setjmp(primary->ctx->oom) || setjmp(module->ctx->oom)) {
        sim_unmap_variables(module->module, primary->memory);
        return CUDA_OUT_OF_MEMORY;
    }
    sim_map_variables(module->module, primary->memory);
    return CUDA_OK;
}

static CUresult load(const SimDriver *driver, const void *image, const ErrorLog *log,
                     CUmodule *loaded) {
    if (is_machine_code(image)) {
        state_complain("this is code of an assembler, and the simulator runs PTX: TILEC_PTXAS=none "
                       "has tilec leave it so");
        return CUDA_NO_BINARY_FOR_GPU;
    }
    CUmodule module = calloc(1, sizeof *module);
    *loaded = module;
    if (!module)
        return CUDA_OUT_OF_MEMORY;
    module->slot = free_slot(&driver->primary);
    module->ctx = ctx_create();
    if (!module->ctx || !module->slot)
        return CUDA_OUT_OF_MEMORY;
    const CUresult result = read_ptx(driver, module, image, log);
    return result == CUDA_OK ? map_variables(&driver->primary, module) : result;
}

CUresult simulated_module_load(CUmodule *module, const void *image, unsigned count, int *options,
                               void **values) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    const ErrorLog log = find_log(count, options, values);
    CUmodule loaded = NULL;
    if (!module || !image)
        return state_leave(CUDA_INVALID_VALUE);
    result = load(driver, image, &log, &loaded);
    if (result != CUDA_OK) {
        if (loaded)
            free_module(loaded);
        return state_leave(result);
    }
    driver->primary.slots[loaded->slot] = 1;
    loaded->next = driver->primary.modules;
    driver->primary.modules = loaded;
    *module = loaded;
    return state_leave(CUDA_OK);
}

CUresult simulated_module_load_plain(CUmodule *module, const void *image) {
    return simulated_module_load(module, image, 0, NULL, NULL);
}

static CUmodule *find_module(Primary *primary, CUmodule module) {
    CUmodule *at = &primary->modules;
    while (*at && *at != module)
        at = &(*at)->next;
    return at;
}

/* Also where the context is lost: the memory is the host's. */
CUresult simulated_module_unload(CUmodule module) {
    SimDriver *driver = state_lock();
    if (!driver)
        return CUDA_NOT_INITIALIZED;
    Primary *primary = &driver->primary;
    CUmodule *at = find_module(primary, module);
    if (!module || !*at)
        return state_leave(CUDA_INVALID_HANDLE);
    *at = module->next;
    sim_unmap_variables(module->module, primary->memory);
    primary->slots[module->slot] = 0;
    free_module(module);
    return state_leave(primary->fault);
}

void modules_destroy(Primary *primary) {
    while (primary->modules) {
        CUmodule next = primary->modules->next;
        free_module(primary->modules);
        primary->modules = next;
    }
}

/* A kernel has one handle, however often it is asked for. */
static CUresult make_function(CUmodule module, const SimKernel *kernel, CUfunction *function) {
    for (CUfunction at = module->functions; at; at = at->next) {
        if (!str_eq(at->kernel.name, kernel->name))
            continue;
        *function = at;
        return CUDA_OK;
    }
    Ctx *ctx = module->ctx;
    if (setjmp(ctx->oom))
        return CUDA_OUT_OF_MEMORY;
    const uint32_t registers = sim_estimate_registers(module->module, kernel->name);
    CUfunction made = malloc(sizeof *made);
    if (!made)
        return CUDA_OUT_OF_MEMORY;
    *made = (struct CUfunc_st){.next = module->functions,
                               .module = module,
                               .kernel = *kernel,
                               .registers = registers,
                               .max_dynamic_shared = PLAIN_SHARED - (int)kernel->static_shared};
    *function = module->functions = made;
    return CUDA_OK;
}

CUresult simulated_module_function(CUfunction *function, CUmodule module, const char *name) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    SimKernel kernel;
    if (!module || !*find_module(&driver->primary, module))
        return state_leave(CUDA_INVALID_HANDLE);
    if (!name || !*name || !sim_find_kernel(module->module, str_from(name), &kernel))
        return state_leave(CUDA_NOT_FOUND);
    return state_leave(make_function(module, &kernel, function));
}

CUresult simulated_function_get(int *value, int attribute, CUfunction function) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!function)
        return state_leave(CUDA_INVALID_HANDLE);
    switch (attribute) {
    case CUDA_FUNCTION_THREADS:
        *value = MAX_THREADS;
        return state_leave(CUDA_OK);
    case CUDA_FUNCTION_SHARED:
        *value = (int)function->kernel.static_shared;
        return state_leave(CUDA_OK);
    case CUDA_FUNCTION_LOCAL:
        *value = 0;
        return state_leave(CUDA_OK);
    case CUDA_FUNCTION_REGISTERS:
        *value = (int)function->registers;
        return state_leave(CUDA_OK);
    case CUDA_FUNCTION_MAX_DYNAMIC_SHARED:
        *value = function->max_dynamic_shared;
        return state_leave(CUDA_OK);
    }
    return state_leave(CUDA_INVALID_VALUE);
}

/* Other attributes are hints that change no result. */
CUresult simulated_function_set(CUfunction function, int attribute, int value) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!function)
        return state_leave(CUDA_INVALID_HANDLE);
    if (attribute != CUDA_FUNCTION_MAX_DYNAMIC_SHARED)
        return state_leave(CUDA_OK);
    const int most =
        driver->settings.target->shared_per_block - (int)function->kernel.static_shared;
    if (value < 0 || value > most)
        return state_leave(CUDA_INVALID_VALUE);
    function->max_dynamic_shared = value;
    return state_leave(CUDA_OK);
}

CUresult simulated_occupancy(int *blocks, CUfunction function, int threads, size_t shared_bytes) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!function || threads < 1)
        return state_leave(function ? CUDA_INVALID_VALUE : CUDA_INVALID_HANDLE);
    *blocks = target_occupancy(driver->settings.target, (int32_t)function->registers, threads,
                               (int32_t)(function->kernel.static_shared + shared_bytes))
                  .ctas;
    return state_leave(CUDA_OK);
}

/* The linker: what comes out is the PTX that went in, once it was read. */
struct CUlinkState_st {
    ErrorLog log;
    char *text;
    size_t size;
};

CUresult simulated_link_create(unsigned count, int *options, void **values, CUlinkState *link) {
    CUresult result;
    if (!state_enter(&result))
        return result;
    *link = calloc(1, sizeof **link);
    if (!*link)
        return state_leave(CUDA_OUT_OF_MEMORY);
    (*link)->log = find_log(count, options, values);
    return state_leave(CUDA_OK);
}

CUresult simulated_link_add(CUlinkState link, int type, void *data, size_t size, const char *name,
                            unsigned count, int *options, void **values) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!link || !data || !size || ((char *)data)[size - 1])
        return state_leave(CUDA_INVALID_VALUE);
    if (type != CUDA_JIT_INPUT_PTX || link->text)
        return state_leave(CUDA_NOT_SUPPORTED); /* one PTX is what is read */
    CUmodule loaded = NULL;
    result = load(driver, data, &link->log, &loaded);
    if (result == CUDA_OK)
        sim_unmap_variables(loaded->module, driver->primary.memory);
    if (loaded)
        free_module(loaded);
    link->text = result == CUDA_OK ? malloc(size) : NULL;
    if (!link->text)
        return state_leave(result == CUDA_OK ? CUDA_OUT_OF_MEMORY : result);
    link->size = size;
    memcpy(link->text, data, size);
    return state_leave(CUDA_OK);
}

CUresult simulated_link_complete(CUlinkState link, void **image, size_t *size) {
    if (!link || !link->text)
        return CUDA_INVALID_VALUE;
    *image = link->text;
    *size = link->size;
    return CUDA_OK;
}

CUresult simulated_link_destroy(CUlinkState link) {
    if (!link)
        return CUDA_INVALID_HANDLE;
    free(link->text);
    free(link);
    return CUDA_OK;
}
