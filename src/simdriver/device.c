/* The one device: what it has, and its primary context. */
#include "simdriver/memory.h"
#include "simdriver/module.h"
#include "simdriver/state.h"
#include "target/grid_limits.h"

#include <stdio.h>
#include <unistd.h>

enum { PLAIN_SHARED = 48 << 10, L2_BYTES = 50 << 20, CLOCK_KHZ = 1000000, BUS_BITS = 4096 };

CUresult simulated_init(unsigned flags) {
    return state_begin();
}

/* For functions that need no context. */
static CUresult begun(Settings *settings) {
    const SimDriver *driver = state_lock();
    if (!driver)
        return CUDA_NOT_INITIALIZED;
    *settings = driver->settings;
    return state_leave(CUDA_OK);
}

CUresult simulated_device_count(int *count) {
    Settings settings;
    *count = 1;
    return begun(&settings);
}

CUresult simulated_device_get(CUdevice *device, int ordinal) {
    Settings settings;
    *device = 0;
    return ordinal ? CUDA_INVALID_DEVICE : begun(&settings);
}

CUresult simulated_device_name(char *name, int size, CUdevice device) {
    Settings settings;
    const CUresult result = begun(&settings);
    if (result == CUDA_OK && size > 0)
        snprintf(name, (size_t)size, "tilec simulator of %s", settings.target->name);
    return result;
}

CUresult simulated_device_memory(size_t *bytes, CUdevice device) {
    Settings settings;
    const CUresult result = begun(&settings);
    if (result == CUDA_OK)
        *bytes = (size_t)settings.memory_bytes;
    return result;
}

/* Of CUdevice_attribute. */
static bool find_attribute(const Settings *settings, int attribute, int64_t *value) {
    const Target *target = settings->target;
    const struct {
        int attribute;
        int64_t value;
    } known[] = {
        {CUDA_ATTRIBUTE_THREADS, MAX_THREADS},
        {2, MAX_THREADS}, /* of a block in x, y, z */
        {3, MAX_THREADS},
        {4, 64},
        {5, TARGET_MAX_GRID_X}, /* of a grid in x, y, z */
        {6, TARGET_MAX_GRID_YZ},
        {7, TARGET_MAX_GRID_YZ},
        {8, PLAIN_SHARED}, /* shared memory of a block without opt-in */
        {CUDA_ATTRIBUTE_WARP_SIZE, TARGET_WARP_SIZE},
        {CUDA_ATTRIBUTE_REGISTERS, TARGET_REGISTERS_PER_SM},
        {CUDA_ATTRIBUTE_CLOCK, CLOCK_KHZ},
        {CUDA_ATTRIBUTE_SM_COUNT, settings->processors},
        {CUDA_ATTRIBUTE_MEMORY_CLOCK, CLOCK_KHZ},
        {CUDA_ATTRIBUTE_BUS_BITS, BUS_BITS},
        {CUDA_ATTRIBUTE_L2_BYTES, L2_BYTES},
        {39, target->threads_per_sm},
        {41, 1}, /* unified addressing */
        {CUDA_ATTRIBUTE_MAJOR, target->capability / 10},
        {CUDA_ATTRIBUTE_MINOR, target->capability % 10},
        {81, target->shared_per_sm},
        {CUDA_ATTRIBUTE_SM_REGISTERS, TARGET_REGISTERS_PER_SM},
        {CUDA_ATTRIBUTE_COOPERATIVE, 1},
        {CUDA_ATTRIBUTE_SHARED_OPTIN, target->shared_per_block},
        {106, target->blocks_per_sm},
        {120, target->capability >= 90}, /* clusters */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute)
            continue;
        *value = known[i].value;
        return true;
    }
    return false;
}

CUresult simulated_device_attribute(int *value, int attribute, CUdevice device) {
    Settings settings;
    int64_t found = 0;
    const CUresult result = begun(&settings);
    if (result != CUDA_OK)
        return result;
    if (device != 0)
        return CUDA_INVALID_DEVICE;
    if (!find_attribute(&settings, attribute, &found))
        return CUDA_INVALID_VALUE;
    *value = (int)found;
    return CUDA_OK;
}

/* False: out of memory. */
static bool primary_create(SimDriver *driver) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return false;
    }
    driver->primary =
        (Primary){.id = driver->primary.id + 1, .ctx = ctx, .memory = sim_memory_create(ctx)};
    return true;
}

static void primary_destroy(SimDriver *driver) {
    Primary *primary = &driver->primary;
    modules_destroy(primary);
    blocks_destroy(primary);
    ctx_destroy(primary->ctx);
    *primary = (Primary){.id = primary->id};
}

CUresult simulated_primary_retain(CUcontext *context, CUdevice device) {
    SimDriver *driver = state_lock();
    if (!driver)
        return CUDA_NOT_INITIALIZED;
    if (device != 0)
        return state_leave(CUDA_INVALID_DEVICE);
    if (!driver->primary.retains && !primary_create(driver))
        return state_leave(CUDA_OUT_OF_MEMORY);
    driver->primary.retains++;
    *context = state_context();
    return state_leave(CUDA_OK);
}

CUresult simulated_primary_release(CUdevice device) {
    SimDriver *driver = state_lock();
    if (!driver)
        return CUDA_NOT_INITIALIZED;
    if (!driver->primary.retains)
        return state_leave(CUDA_INVALID_CONTEXT);
    if (!--driver->primary.retains)
        primary_destroy(driver);
    return state_leave(CUDA_OK);
}
