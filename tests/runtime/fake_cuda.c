#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static FakeCuda state = {.device_count = 1, .major = 9, .memory_limit = 1 << 30};

FakeCuda *fake_cuda_state(void);
EXPORT FakeCuda *fake_cuda_state(void) {
    return &state;
}

static CUresult result_of(const char *symbol) {
    return state.fail && !strcmp(state.fail, symbol) ? state.fail_result : CUDA_OK;
}

/* The functions are declared by the same table that the runtime looks them up with. */
#define DRIVER(field, symbol, parameters) CUresult fake_##field parameters __asm__(symbol);
#include "runtime/driver.def"

#define FAKE(field, ...) EXPORT CUresult fake_##field(__VA_ARGS__)
#define RETURN_IF_FAILING(symbol)                                                                  \
    do {                                                                                           \
        CUresult injected = result_of(symbol);                                                     \
        if (injected != CUDA_OK)                                                                   \
            return injected;                                                                       \
    } while (0)

/* For tests of whole programs: what the environment says the machine has. */
static void read_environment(void) {
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *memory = getenv("FAKE_CUDA_MEMORY");
    if (devices)
        state.device_count = atoi(devices);
    if (memory)
        state.memory_limit = (size_t)atoll(memory);
    if (getenv("FAKE_CUDA_MAJOR"))
        state.major = atoi(getenv("FAKE_CUDA_MAJOR"));
    if (getenv("FAKE_CUDA_FAIL")) {
        state.fail = getenv("FAKE_CUDA_FAIL");
        state.fail_result = 719;
    }
}

FAKE(init, unsigned flags) {
    read_environment();
    return state.init_result;
}

FAKE(driver_version, int *version) {
    *version = 13000;
    return CUDA_OK;
}

FAKE(error_name, CUresult error, const char **text) {
    if (error > 900)
        return CUDA_INVALID_VALUE;
    *text = error == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
    return CUDA_OK;
}

FAKE(error_string, CUresult error, const char **text) {
    *text = "a failure made for a test";
    return CUDA_OK;
}

FAKE(device_count, int *count) {
    *count = state.device_count;
    return result_of("cuDeviceGetCount");
}

FAKE(device_get, CUdevice *device, int ordinal) {
    *device = 70 + ordinal;
    return CUDA_OK;
}

FAKE(device_name, char *name, int size, CUdevice device) {
    snprintf(name, (size_t)size, "Fake %d", device);
    return CUDA_OK;
}

FAKE(device_memory, size_t *bytes, CUdevice device) {
    *bytes = state.memory_limit;
    return CUDA_OK;
}

FAKE(device_attribute, int *value, int attribute, CUdevice device) {
    *value = attribute == CUDA_ATTRIBUTE_MAJOR      ? state.major
             : attribute == CUDA_ATTRIBUTE_MINOR    ? state.minor
             : attribute == CUDA_ATTRIBUTE_SM_COUNT ? 132
                                                    : 1024;
    return CUDA_OK;
}

FAKE(primary_retain, CUcontext *context, CUdevice device) {
    RETURN_IF_FAILING("cuDevicePrimaryCtxRetain");
    state.retains++;
    *context = (CUcontext)(uintptr_t)(0x1000 + device);
    return CUDA_OK;
}

FAKE(primary_release, CUdevice device) {
    state.releases++;
    return CUDA_OK;
}

FAKE(context_current, CUcontext *context) {
    *context = state.current;
    return CUDA_OK;
}

FAKE(context_push, CUcontext context) {
    RETURN_IF_FAILING("cuCtxPushCurrent_v2");
    state.pushes++;
    state.current = context;
    return CUDA_OK;
}

FAKE(context_pop, CUcontext *context) {
    state.pops++;
    *context = state.current;
    state.current = NULL;
    return CUDA_OK;
}

FAKE(context_wait, void) {
    return result_of("cuCtxSynchronize");
}

FAKE(module_load, CUmodule *module, const void *image, unsigned count, int *options,
     void **values) {
    RETURN_IF_FAILING("cuModuleLoadDataEx");
    state.loads++;
    *module = (CUmodule)(uintptr_t)0x2000;
    return CUDA_OK;
}

FAKE(module_unload, CUmodule module) {
    state.unloads++;
    return CUDA_OK;
}

FAKE(module_function, CUfunction *function, CUmodule module, const char *name) {
    RETURN_IF_FAILING("cuModuleGetFunction");
    snprintf(state.function, sizeof state.function, "%s", name);
    *function = (CUfunction)(uintptr_t)0x3000;
    return CUDA_OK;
}

FAKE(function_get, int *value, int attribute, CUfunction function) {
    *value = attribute == CUDA_FUNCTION_REGISTERS ? 40 : 0;
    return CUDA_OK;
}

FAKE(function_set, CUfunction function, int attribute, int value) {
    RETURN_IF_FAILING("cuFuncSetAttribute");
    if (attribute == CUDA_FUNCTION_MAX_DYNAMIC_SHARED)
        state.max_dynamic_shared = value;
    return CUDA_OK;
}

static CUresult record(CUfunction function, const CudaLaunchConfig *config, void **params) {
    if (!state.current)
        return 201; /* CUDA_ERROR_INVALID_CONTEXT */
    state.launches++;
    memcpy(state.grid, &config->grid_x, sizeof state.grid);
    memcpy(state.block, &config->block_x, sizeof state.block);
    state.shared_bytes = config->shared_bytes;
    state.stream = config->stream;
    state.cluster_x = config->attribute_count ? config->attributes[0].value.cluster.x : 0;
    for (unsigned i = 0; i < FAKE_MAX_VALUES && state.param_bytes[i]; i++)
        memcpy(&state.values[i], params[i], state.param_bytes[i]);
    return CUDA_OK;
}

FAKE(launch, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
     void **params, void **extra) {
    RETURN_IF_FAILING("cuLaunchKernel");
    const CudaLaunchConfig config = {.grid_x = grid_x,
                                     .grid_y = grid_y,
                                     .grid_z = grid_z,
                                     .block_x = block_x,
                                     .block_y = block_y,
                                     .block_z = block_z,
                                     .shared_bytes = shared_bytes,
                                     .stream = stream};
    return record(function, &config, params);
}

FAKE(launch_ex, const CudaLaunchConfig *config, CUfunction function, void **params, void **extra) {
    RETURN_IF_FAILING("cuLaunchKernelEx");
    return record(function, config, params);
}

/* The size stands in front of each block. */
FAKE(memory_allocate, CUdeviceptr *pointer, size_t bytes) {
    RETURN_IF_FAILING("cuMemAlloc_v2");
    if (bytes > state.memory_limit - state.allocated)
        return CUDA_OUT_OF_MEMORY;
    size_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!block)
        return CUDA_OUT_OF_MEMORY;
    *block = bytes;
    state.allocated += bytes;
    state.allocations++;
    *pointer = (uintptr_t)block + 256;
    return CUDA_OK;
}

FAKE(memory_free, CUdeviceptr pointer) {
    size_t *block = (size_t *)(uintptr_t)(pointer - 256);
    state.allocated -= *block;
    state.frees++;
    free(block);
    return CUDA_OK;
}

FAKE(memory_info, size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = state.memory_limit - state.allocated;
    *total_bytes = state.memory_limit;
    return CUDA_OK;
}

FAKE(copy_to_device, CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_OK;
}

FAKE(copy_from_device, void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return CUDA_OK;
}

FAKE(copy_on_device, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_OK;
}

FAKE(set_bytes, CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    memset((void *)(uintptr_t)to, value, bytes);
    return CUDA_OK;
}

FAKE(stream_create, CUstream *stream, unsigned flags) {
    *stream = (CUstream)(uintptr_t)0x4000;
    return CUDA_OK;
}

FAKE(stream_destroy, CUstream stream) {
    return CUDA_OK;
}

FAKE(stream_wait, CUstream stream) {
    return result_of("cuStreamSynchronize");
}

FAKE(event_create, CUevent *event, unsigned flags) {
    *event = (CUevent)(uintptr_t)0x5000;
    return CUDA_OK;
}

FAKE(event_destroy, CUevent event) {
    return CUDA_OK;
}

FAKE(event_record, CUevent event, CUstream stream) {
    return CUDA_OK;
}

FAKE(event_wait, CUevent event) {
    return CUDA_OK;
}

FAKE(event_elapsed, float *milliseconds, CUevent begin, CUevent end) {
    *milliseconds = 1.5f;
    return CUDA_OK;
}

/* The assembler's options: where its texts go. */
static char *info_log, *error_log;

FAKE(link_create, unsigned count, int *options, void **values, CUlinkState *link) {
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CUDA_JIT_INFO_LOG)
            info_log = values[i];
        if (options[i] == CUDA_JIT_ERROR_LOG)
            error_log = values[i];
    }
    *link = (CUlinkState)(uintptr_t)0x6000;
    return CUDA_OK;
}

FAKE(link_add, CUlinkState link, int type, void *data, size_t size, const char *name,
     unsigned count, int *options, void **values) {
    if (result_of("cuLinkAddData_v2") != CUDA_OK) {
        strcpy(error_log, "ptxas application ptx input, line 4; error   : no such instruction\n");
        return state.fail_result;
    }
    return ((char *)data)[size - 1] == 0 ? CUDA_OK : CUDA_INVALID_VALUE;
}

FAKE(link_complete, CUlinkState link, void **cubin, size_t *size) {
    static char image[] = "\177ELF fake";
    *cubin = image;
    *size = sizeof image;
    if (state.log)
        strcpy(info_log, state.log);
    return CUDA_OK;
}

FAKE(link_destroy, CUlinkState link) {
    return CUDA_OK;
}
