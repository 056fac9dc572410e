/* Device memory: arrays of the host, at addresses that lead there for kernels alone. */
#include "simdriver/memory.h"

#include <stdlib.h>

static void free_block(Block *block) {
    free(block->data);
    free(block->defined);
    free(block);
}

/* NULL: there is no more. Fresh memory is undefined to kernels; where untouched it costs none. */
static Block *make_block(size_t bytes) {
    Block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->bytes = bytes;
    block->data = calloc(1, bytes);
    block->defined = calloc(1, bytes);
    if (block->data && block->defined)
        return block;
    free_block(block);
    return NULL;
}

/* False: out of memory. */
static bool map_block(Primary *primary, Block *block) {
    Ctx *ctx = primary->ctx;
    if (setjmp(ctx->oom))
        return false;
    const char *name = str_format(&ctx->arena, "allocation %u", ++primary->named);
    block->address =
        sim_map(primary->memory, str_from(name), block->data, block->bytes, block->defined, false);
    block->next = primary->blocks;
    primary->blocks = block;
    primary->used += block->bytes;
    return true;
}

CUresult simulated_memory_allocate(CUdeviceptr *pointer, size_t bytes) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    if (!bytes || !pointer)
        return state_leave(CUDA_INVALID_VALUE);
    if (bytes > (size_t)driver->settings.memory_bytes - driver->primary.used)
        return state_leave(CUDA_OUT_OF_MEMORY);
    Block *block = make_block(bytes);
    if (!block || !map_block(&driver->primary, block)) {
        if (block)
            free_block(block);
        return state_leave(CUDA_OUT_OF_MEMORY);
    }
    *pointer = block->address;
    return state_leave(CUDA_OK);
}

CUresult simulated_memory_free(CUdeviceptr pointer) {
    CUresult result;
    SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    Primary *primary = &driver->primary;
    if (!pointer)
        return state_leave(CUDA_OK);
    for (Block **at = &primary->blocks; *at; at = &(*at)->next) {
        Block *block = *at;
        if (block->address != pointer)
            continue;
        sim_unmap(primary->memory, pointer);
        primary->used -= block->bytes;
        *at = block->next;
        free_block(block);
        return state_leave(CUDA_OK);
    }
    state_complain("cuMemFree: no allocation begins at 0x%llx", pointer);
    return state_leave(CUDA_INVALID_VALUE);
}

void blocks_destroy(Primary *primary) {
    while (primary->blocks) {
        Block *next = primary->blocks->next;
        free_block(primary->blocks);
        primary->blocks = next;
    }
}

CUresult simulated_memory_info(size_t *free_bytes, size_t *total_bytes) {
    CUresult result;
    const SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    *total_bytes = (size_t)driver->settings.memory_bytes;
    *free_bytes = *total_bytes - driver->primary.used;
    return state_leave(CUDA_OK);
}

static uint64_t pointer_fact(const SimArray *array, CUdeviceptr pointer, int attribute) {
    switch (attribute) {
    case CUDA_POINTER_MEMORY:
        return CUDA_MEMORY_DEVICE;
    case CUDA_POINTER_DEVICE:
        return pointer;
    case CUDA_POINTER_BEGIN:
        return array->address;
    case CUDA_POINTER_BYTES:
        return array->bytes;
    }
    return 0;
}

/* Of 8 bytes are the addresses alone; zeros of what is no device memory. */
CUresult simulated_pointer_facts(unsigned count, int *attributes, void **values,
                                 CUdeviceptr pointer) {
    CUresult result;
    SimArray array = {0};
    const SimDriver *driver = state_enter(&result);
    if (!driver)
        return result;
    const bool found = sim_find_array(driver->primary.memory, pointer, &array);
    for (unsigned i = 0; i < count; i++) {
        const uint64_t value = found ? pointer_fact(&array, pointer, attributes[i]) : 0;
        const bool is_wide = attributes[i] == CUDA_POINTER_DEVICE ||
                             attributes[i] == CUDA_POINTER_BEGIN ||
                             attributes[i] == CUDA_POINTER_BYTES;
        memcpy(values[i], &value, is_wide ? sizeof value : sizeof(uint32_t));
    }
    return state_leave(CUDA_OK);
}

/* A range of device memory on the host; false after a complaint. */
static bool find_range(const SimDriver *driver, const char *call, CUdeviceptr address, size_t bytes,
                       SimArray *range) {
    SimArray array;
    const bool found = sim_find_array(driver->primary.memory, address, &array);
    const uint64_t offset = found ? address - array.address : 0;
    if (!found || bytes > array.bytes - offset) {
        state_complain("%s: no allocation has %zu bytes at 0x%llx", call, bytes, address);
        return false;
    }
    *range = (SimArray){.address = address,
                        .bytes = bytes,
                        .data = array.data + offset,
                        .defined = array.defined ? array.defined + offset : NULL};
    return true;
}

static void define(const SimArray *range, int bits) {
    if (range->defined)
        memset(range->defined, bits, range->bytes);
}

CUresult simulated_write(CUdeviceptr to, const void *from, size_t bytes) {
    CUresult result;
    SimArray range;
    const SimDriver *driver = state_enter(&result);
    if (!driver || !bytes)
        return driver ? state_leave(CUDA_OK) : result;
    if (!find_range(driver, "cuMemcpyHtoD", to, bytes, &range))
        return state_leave(CUDA_INVALID_VALUE);
    memcpy(range.data, from, bytes);
    define(&range, 0xff);
    return state_leave(CUDA_OK);
}

CUresult simulated_read(void *to, CUdeviceptr from, size_t bytes) {
    CUresult result;
    SimArray range;
    const SimDriver *driver = state_enter(&result);
    if (!driver || !bytes)
        return driver ? state_leave(CUDA_OK) : result;
    if (!find_range(driver, "cuMemcpyDtoH", from, bytes, &range))
        return state_leave(CUDA_INVALID_VALUE);
    memcpy(to, range.data, bytes);
    return state_leave(CUDA_OK);
}

CUresult simulated_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    CUresult result;
    SimArray target, source;
    const SimDriver *driver = state_enter(&result);
    if (!driver || !bytes)
        return driver ? state_leave(CUDA_OK) : result;
    if (!find_range(driver, "cuMemcpyDtoD", to, bytes, &target) ||
        !find_range(driver, "cuMemcpyDtoD", from, bytes, &source))
        return state_leave(CUDA_INVALID_VALUE);
    memmove(target.data, source.data, bytes);
    if (target.defined && source.defined)
        memmove(target.defined, source.defined, bytes);
    else
        define(&target, 0xff);
    return state_leave(CUDA_OK);
}

CUresult simulated_set(CUdeviceptr to, unsigned char value, size_t bytes) {
    CUresult result;
    SimArray range;
    const SimDriver *driver = state_enter(&result);
    if (!driver || !bytes)
        return driver ? state_leave(CUDA_OK) : result;
    if (!find_range(driver, "cuMemsetD8", to, bytes, &range))
        return state_leave(CUDA_INVALID_VALUE);
    memset(range.data, value, bytes);
    define(&range, 0xff);
    return state_leave(CUDA_OK);
}

/* In a stream: what stands before them in it has happened already. */
CUresult simulated_copy_to_device(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    return simulated_write(to, from, bytes);
}

CUresult simulated_copy_from_device(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return simulated_read(to, from, bytes);
}

CUresult simulated_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return simulated_copy(to, from, bytes);
}

CUresult simulated_set_bytes(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    return simulated_set(to, value, bytes);
}
