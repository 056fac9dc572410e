#include "fake_graphs.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static pid_t process; /* that initialised it */
static FakeCuda state = {.device_count = 1,
                         .major = 9,
                         .blocks_per_sm = 2,
                         .shared_per_block = 232448,
                         .memory_type = CUDA_MEMORY_DEVICE,
                         .memory_limit = 1 << 30};

FakeCuda *fake_cuda_state(void);
EXPORT FakeCuda *fake_cuda_state(void) {
    return &state;
}

/* Of what several threads change at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count(unsigned *counter) {
    pthread_mutex_lock(&lock);
    ++*counter;
    pthread_mutex_unlock(&lock);
}

static CUresult result_of(const char *symbol) {
    return state.fail && !strcmp(state.fail, symbol) ? state.fail_result : CUDA_OK;
}

/* Of what must not be called while a stream is captured. */
static CUresult result_outside_capture(const char *symbol) {
    const CUresult result = result_of(symbol);
    return result != CUDA_OK ? result : fake_capture_refuses(symbol);
}

/* The functions are declared by the same table that the runtime looks them up with. */
#define DRIVER(field, symbol, parameters) CUresult fake_##field parameters __asm__(symbol);
#include "runtime/driver/driver.def"

#define FAKE(field, ...) EXPORT CUresult fake_##field(__VA_ARGS__)
#define RETURN_UNLESS_OK(result)                                                                   \
    do {                                                                                           \
        const CUresult injected = (result);                                                        \
        if (injected != CUDA_OK)                                                                   \
            return injected;                                                                       \
    } while (0)
#define RETURN_IF_FAILING(symbol) RETURN_UNLESS_OK(result_of(symbol))

/* For tests of whole programs: what the environment says the machine has. */
static void read_environment(void) {
    const char *devices = getenv("FAKE_CUDA_DEVICES"), *memory = getenv("FAKE_CUDA_MEMORY");
    if (devices)
        state.device_count = atoi(devices);
    if (memory)
        state.memory_limit = (size_t)atoll(memory);
    if (getenv("FAKE_CUDA_MAJOR"))
        state.major = atoi(getenv("FAKE_CUDA_MAJOR"));
    if (getenv("FAKE_CUDA_MINOR"))
        state.minor = atoi(getenv("FAKE_CUDA_MINOR"));
    if (getenv("FAKE_CUDA_ENDLESS"))
        state.endless_threads = (unsigned)atoi(getenv("FAKE_CUDA_ENDLESS"));
    if (getenv("FAKE_CUDA_DEADLY"))
        state.deadly_threads = (unsigned)atoi(getenv("FAKE_CUDA_DEADLY"));
    if (getenv("FAKE_CUDA_FAIL")) {
        state.fail = getenv("FAKE_CUDA_FAIL");
        state.fail_result = 719;
    }
}

FAKE(init, unsigned flags) {
    read_environment();
    process = getpid();
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
    *value = attribute == CUDA_ATTRIBUTE_MAJOR          ? state.major
             : attribute == CUDA_ATTRIBUTE_MINOR        ? state.minor
             : attribute == CUDA_ATTRIBUTE_SM_COUNT     ? 132
             : attribute == CUDA_ATTRIBUTE_SHARED_OPTIN ? state.shared_per_block
             : attribute == CUDA_ATTRIBUTE_WARP_SIZE    ? 32
             : attribute == CUDA_ATTRIBUTE_BUS_BITS     ? 5120
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

/* The stack of contexts, which each thread has, is one deep here, above what a test says. */
static _Thread_local CUcontext pushed;

FAKE(context_current, CUcontext *context) {
    RETURN_IF_FAILING("cuCtxGetCurrent");
    if (process && process != getpid())
        return 3; /* CUDA_ERROR_NOT_INITIALIZED, as in the child of a process that uses CUDA */
    *context = pushed ? pushed : state.current;
    return CUDA_OK;
}

/* What the runtime does not call, but tests, benchmarks and libraries of CUDA do. */
#define X(field, symbol, parameters) CUresult fake_##field parameters __asm__(symbol);
CUDA_EXTRA_FUNCTIONS(X)
#undef X

FAKE(context_set, CUcontext context) {
    pushed = context;
    return CUDA_OK;
}

FAKE(function_param, CUfunction function, size_t index, size_t *offset, size_t *size) {
    if (index >= FAKE_MAX_VALUES || !state.param_bytes[index])
        return CUDA_INVALID_VALUE;
    *offset = 0;
    for (size_t i = 0; i < index; i++)
        *offset += state.param_bytes[i];
    *size = state.param_bytes[index];
    return CUDA_OK;
}

int cuCtxGetDevice(CUdevice *device);
EXPORT int cuCtxGetDevice(CUdevice *device) {
    const CUcontext context = pushed ? pushed : state.current;
    const int made_of = (int)((uintptr_t)context - 0x1000);
    *device = made_of >= 70 && made_of < 70 + state.device_count ? made_of : 70;
    return context ? CUDA_OK : 201; /* CUDA_ERROR_INVALID_CONTEXT */
}

FAKE(context_push, CUcontext context) {
    RETURN_IF_FAILING("cuCtxPushCurrent_v2");
    count(&state.pushes);
    pushed = context;
    return CUDA_OK;
}

FAKE(context_pop, CUcontext *context) {
    count(&state.pops);
    *context = pushed;
    pushed = NULL;
    return CUDA_OK;
}

FAKE(context_wait, void) {
    return result_outside_capture("cuCtxSynchronize");
}

static int registers_of(const char *code) {
    const char *limit = strstr(code, ".maxnreg ");
    return limit ? atoi(limit + strlen(".maxnreg ")) : 0;
}

FAKE(module_load, CUmodule *module, const void *image, unsigned count, int *options,
     void **values) {
    RETURN_UNLESS_OK(result_outside_capture("cuModuleLoadDataEx"));
    state.max_registers = registers_of(image); /* PTX and what link_complete makes are strings */
    state.loads++;
    *module = (CUmodule)(uintptr_t)0x2000;
    return CUDA_OK;
}

FAKE(module_unload, CUmodule module) {
    RETURN_UNLESS_OK(result_outside_capture("cuModuleUnload"));
    state.endless_waits += state.runs_endlessly;
    while (atomic_load(&state.kernel_runs)) {
        atomic_store(&state.unload_waits, true);
        sched_yield();
    }
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
    *value = attribute == CUDA_FUNCTION_REGISTERS ? 40
             : attribute == CUDA_FUNCTION_THREADS ? 512
                                                  : 0;
    return CUDA_OK;
}

FAKE(function_set, CUfunction function, int attribute, int value) {
    RETURN_IF_FAILING("cuFuncSetAttribute");
    if (attribute == CUDA_FUNCTION_MAX_DYNAMIC_SHARED)
        state.max_dynamic_shared = value;
    return CUDA_OK;
}

FAKE(occupancy, int *blocks, CUfunction function, int threads, size_t shared_bytes) {
    RETURN_IF_FAILING("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    state.occupancy_threads = threads;
    state.occupancy_shared = shared_bytes;
    *blocks = state.blocks_per_sm;
    return CUDA_OK;
}

static CUresult launch(CUfunction function, const CudaLaunchConfig *config, void **params) {
    CUresult captured;
    if (state.fail_threads && state.fail_threads == config->block_x)
        return state.fail_result;
    if (state.deadly_threads && state.deadly_threads == config->block_x)
        kill(getpid(), SIGKILL);
    if (!pushed && !state.current)
        return 201; /* CUDA_ERROR_INVALID_CONTEXT */
    if (fake_capture_launch(&state, function, config, params, &captured))
        return captured;
    fake_run(function, config, params);
    return CUDA_OK;
}

static void record_attribute(const CudaLaunchAttribute *attribute) {
    if (attribute->id == CUDA_LAUNCH_CLUSTER)
        memcpy(state.cluster, &attribute->value.cluster, sizeof state.cluster);
    else if (attribute->id == CUDA_LAUNCH_PROGRAMMATIC)
        state.programmatic = attribute->value.is_on;
    else if (attribute->id == CUDA_LAUNCH_COOPERATIVE)
        state.cooperative = attribute->value.is_on;
}

void fake_run(CUfunction function, const CudaLaunchConfig *config, void **params) {
    pthread_mutex_lock(&lock);
    state.launches++;
    state.launch_context = pushed ? pushed : state.current;
    memcpy(state.grid, &config->grid_x, sizeof state.grid);
    memcpy(state.block, &config->block_x, sizeof state.block);
    state.shared_bytes = config->shared_bytes;
    state.stream = config->stream;
    memset(state.cluster, 0, sizeof state.cluster);
    state.programmatic = state.cooperative = 0;
    for (unsigned i = 0; i < config->attribute_count; i++)
        record_attribute(&config->attributes[i]);
    for (unsigned i = 0, maps = 0; i < FAKE_MAX_VALUES && state.param_bytes[i]; i++) {
        if (state.param_bytes[i] == sizeof(CudaTensorMap))
            memcpy(&state.maps[maps++], params[i], sizeof(CudaTensorMap));
        else
            memcpy(&state.values[i], params[i], state.param_bytes[i]);
    }
    state.runs_endlessly |= state.endless_threads && state.endless_threads == config->block_x;
    state.clock_ms += state.launch_ms ? state.launch_ms(&state) : 1.5;
    pthread_mutex_unlock(&lock);
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
    return launch(function, &config, params);
}

/* Of a cooperative launch the device holds all blocks at once. */
static bool is_held(const CudaLaunchConfig *config) {
    const uint64_t blocks = (uint64_t)config->grid_x * config->grid_y * config->grid_z;
    for (unsigned i = 0; i < config->attribute_count; i++)
        if (config->attributes[i].id == CUDA_LAUNCH_COOPERATIVE)
            return blocks <= 132u * (unsigned)state.blocks_per_sm;
    return true;
}

FAKE(launch_ex, const CudaLaunchConfig *config, CUfunction function, void **params, void **extra) {
    RETURN_IF_FAILING("cuLaunchKernelEx");
    if (!is_held(config))
        return 720; /* CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE */
    return launch(function, config, params);
}

/* What stands in front of each block. All blocks hang together, so that those which a stuck device
 * keeps are no leaks of the host's. */
typedef struct Block {
    size_t bytes;
    struct Block *next, **back;
} Block;

static Block *blocks;

FAKE(memory_allocate, CUdeviceptr *pointer, size_t bytes) {
    RETURN_UNLESS_OK(result_outside_capture("cuMemAlloc_v2"));
    if (bytes > state.memory_limit - state.allocated)
        return CUDA_OUT_OF_MEMORY;
    Block *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!block)
        return CUDA_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *block = (Block){bytes, blocks, &blocks};
    if (blocks)
        blocks->back = &block->next;
    blocks = block;
    state.allocated += bytes;
    state.allocations++;
    pthread_mutex_unlock(&lock);
    *pointer = (uintptr_t)block + 256;
    return CUDA_OK;
}

FAKE(memory_free, CUdeviceptr pointer) {
    Block *block = (Block *)(uintptr_t)(pointer - 256);
    pthread_mutex_lock(&lock);
    *block->back = block->next;
    if (block->next)
        block->next->back = block->back;
    state.endless_waits += state.runs_endlessly;
    state.allocated -= block->bytes;
    state.frees++;
    pthread_mutex_unlock(&lock);
    free(block);
    return CUDA_OK;
}

/* Of 8 bytes are the addresses alone; zeros of what is no device memory, but for the ordinal. */
FAKE(pointer_facts, unsigned count, int *attributes, void **values, CUdeviceptr pointer) {
    RETURN_IF_FAILING("cuPointerGetAttributes");
    pthread_mutex_lock(&lock);
    const Block *block = blocks;
    while (block && pointer - ((uintptr_t)block + 256) >= block->bytes)
        block = block->next;
    pthread_mutex_unlock(&lock);
    const uint64_t begin = block ? (uintptr_t)block + 256 : 0;
    for (unsigned i = 0; i < count; i++) {
        const bool is_wide = attributes[i] == CUDA_POINTER_DEVICE ||
                             attributes[i] == CUDA_POINTER_BEGIN ||
                             attributes[i] == CUDA_POINTER_BYTES;
        const uint64_t value = attributes[i] == CUDA_POINTER_ORDINAL  ? (block ? 0 : (uint64_t)-2)
                               : !block                               ? 0
                               : attributes[i] == CUDA_POINTER_MEMORY ? state.memory_type
                               : attributes[i] == CUDA_POINTER_DEVICE ? pointer
                               : attributes[i] == CUDA_POINTER_BEGIN  ? begin
                               : attributes[i] == CUDA_POINTER_BYTES  ? block->bytes
                                                                      : state.is_managed;
        memcpy(values[i], &value, is_wide ? sizeof value : sizeof(uint32_t));
    }
    return CUDA_OK;
}

FAKE(memory_info, size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = state.memory_limit - state.allocated;
    *total_bytes = state.memory_limit;
    return CUDA_OK;
}

FAKE(copy_to_device, CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    RETURN_IF_FAILING("cuMemcpyHtoDAsync_v2");
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

/* What is as large is there to empty caches, which there are none of: nobody reads it. */
enum { LARGE_SET = 32 << 20, LARGE_SET_WRITES = 4096 };

FAKE(set_bytes, CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    memset((void *)(uintptr_t)to, value, bytes < LARGE_SET ? bytes : LARGE_SET_WRITES);
    return CUDA_OK;
}

FAKE(stream_wait, CUstream stream) {
    state.endless_waits += state.runs_endlessly;
    return result_outside_capture("cuStreamSynchronize");
}

/* An event is when it was recorded. */
FAKE(event_create, CUevent *event, unsigned flags) {
    *event = calloc(1, sizeof(double));
    return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

FAKE(event_destroy, CUevent event) {
    free(event);
    return CUDA_OK;
}

FAKE(event_record, CUevent event, CUstream stream) {
    pthread_mutex_lock(&lock);
    *(double *)event = state.runs_endlessly ? INFINITY : state.clock_ms;
    pthread_mutex_unlock(&lock);
    return CUDA_OK;
}

FAKE(event_query, CUevent event) {
    RETURN_UNLESS_OK(result_outside_capture("cuEventQuery"));
    return isinf(*(const double *)event) ? CUDA_NOT_READY : CUDA_OK;
}

FAKE(event_wait, CUevent event) {
    state.endless_waits += isinf(*(const double *)event) != 0;
    return result_outside_capture("cuEventSynchronize");
}

FAKE(event_elapsed, float *milliseconds, CUevent begin, CUevent end) {
    *milliseconds = (float)(*(const double *)end - *(const double *)begin);
    return CUDA_OK;
}

/* The assembler's options: where its texts go. */
static _Thread_local char *info_log, *error_log; /* of the link that this thread makes */

/* What is made of PTX: other code of other PTX. */
struct CUlinkState_st {
    char image[64];
    int size;
};

FAKE(link_create, unsigned count, int *options, void **values, CUlinkState *link) {
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CUDA_JIT_INFO_LOG)
            info_log = values[i];
        if (options[i] == CUDA_JIT_ERROR_LOG)
            error_log = values[i];
    }
    *link = calloc(1, sizeof **link);
    return CUDA_OK;
}

FAKE(link_add, CUlinkState link, int type, void *data, size_t size, const char *name,
     unsigned count, int *options, void **values) {
    if (result_of("cuLinkAddData_v2") != CUDA_OK) {
        strcpy(error_log, "ptxas application ptx input, line 4; error   : no such instruction\n");
        return state.fail_result;
    }
    if (((char *)data)[size - 1] != 0)
        return CUDA_INVALID_VALUE;
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((unsigned char *)data)[i]) * 0x100000001b3;
    link->size = 1 + snprintf(link->image, sizeof link->image, "\177ELF fake %016llx .maxnreg %d",
                              (unsigned long long)hash, registers_of(data));
    return CUDA_OK;
}

FAKE(link_complete, CUlinkState link, void **cubin, size_t *size) {
    *cubin = link->image;
    *size = (size_t)link->size;
    if (state.log)
        strcpy(info_log, state.log);
    return CUDA_OK;
}

/* What the real one refuses, as far as callers of this project can ask for it. */
static bool encodable(int type, unsigned rank, uintptr_t address, const uint64_t *extents,
                      const uint64_t *strides, const uint32_t *box, int swizzle) {
    static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    static const unsigned spans[] = {UINT32_MAX, 32, 64, 128};
    if (type < 0 || type > 12 || rank < 1 || rank > FAKE_MAX_RANK || address % 16 || swizzle < 0 ||
        swizzle > 3)
        return false;
    for (unsigned i = 0; i < rank; i++)
        if (!extents[i] || extents[i] > (uint64_t)1 << 32 || !box[i] || box[i] > 256 ||
            (i && (strides[i - 1] % 16 || strides[i - 1] >= (uint64_t)1 << 40)))
            return false;
    return box[0] * bytes[type] % 16 == 0 && box[0] * bytes[type] <= spans[swizzle];
}

/* The map's first words tell it apart; its second has all bits set. */
FAKE(tensor_map_encode, CudaTensorMap *map, int type, unsigned rank, void *address,
     const uint64_t *extents, const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
     int interleave, int swizzle, int l2_promotion, int fill) {
    RETURN_IF_FAILING("cuTensorMapEncodeTiled");
    if ((uintptr_t)map % 64 || interleave || fill ||
        !encodable(type, rank, (uintptr_t)address, extents, strides, box, swizzle))
        return CUDA_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    FakeEncoding *encoding = &state.encoding;
    *encoding = (FakeEncoding){.type = type,
                               .rank = rank,
                               .address = (uintptr_t)address,
                               .swizzle = swizzle,
                               .l2_promotion = l2_promotion};
    for (unsigned i = 0; i < rank; i++) {
        encoding->extents[i] = extents[i];
        encoding->strides[i] = i ? strides[i - 1] : 0;
        encoding->box[i] = box[i];
        encoding->steps[i] = steps[i];
    }
    state.encodings++;
    pthread_mutex_unlock(&lock);
    *map = (CudaTensorMap){
        .words = {(uintptr_t)address, UINT64_MAX, extents[0], rank > 1 ? strides[0] : 0}};
    return CUDA_OK;
}

FAKE(link_destroy, CUlinkState link) {
    free(link);
    return CUDA_OK;
}
