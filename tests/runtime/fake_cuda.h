/* A CUDA driver for tests: device memory is host memory, launches are recorded. Loaded by path like
 * the real one; a test finds the same instance with dlopen and fake_cuda_state. */
#ifndef TILEC_TESTS_FAKE_CUDA_H
#define TILEC_TESTS_FAKE_CUDA_H
#include "runtime/driver/cuda_types.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { FAKE_MAX_VALUES = 32, FAKE_MAX_RANK = 5 };

/* Arguments of cuTensorMapEncodeTiled. */
typedef struct FakeEncoding {
    int type, swizzle, l2_promotion;
    unsigned rank;
    uint64_t address, extents[FAKE_MAX_RANK], strides[FAKE_MAX_RANK];
    uint32_t box[FAKE_MAX_RANK], steps[FAKE_MAX_RANK];
} FakeEncoding;

typedef struct FakeCuda {
    /* What the driver is to be. */
    int device_count, major, minor, init_result, blocks_per_sm, shared_per_block;
    unsigned memory_type, is_managed; /* of all memory */
    size_t memory_limit;
    const char *fail; /* symbol that fails with fail_result; NULL: none */
    CUresult fail_result;
    unsigned char
        param_bytes[FAKE_MAX_VALUES]; /* sizes of a launch's parameters, up to the first 0 */
    const char *log;                  /* what the assembler says */
    /* What a launch, of which grid and block are known by then, takes; NULL: 1.5 ms for all. Events
     * tell the time that launches took. */
    double (*launch_ms)(const struct FakeCuda *cuda);
    /* The number of threads of a block for which launches fail with fail_result; 0: none. */
    unsigned fail_threads;
    /* The number of threads of a block for which launches never end; 0: none. */
    unsigned endless_threads;
    /* The same for which the process is killed; 0: none. */
    unsigned deadly_threads;

    /* What happened. */
    unsigned launches, pushes, pops, loads, unloads, retains, releases, allocations, frees;
    unsigned grid[3], block[3], shared_bytes;
    unsigned cluster[3]; /* zeros: the launch said none */
    int programmatic, cooperative;
    CUcontext launch_context; /* current at the latest launch */
    atomic_bool kernel_runs;  /* what is to be: unloading waits for its end */
    atomic_bool unload_waits;
    int occupancy_threads;   /* as cuOccupancyMaxActiveBlocksPerMultiprocessor was asked */
    size_t occupancy_shared; /* ... */
    int max_dynamic_shared;  /* as set by cuFuncSetAttribute */
    CUstream stream;
    uint64_t values[FAKE_MAX_VALUES];
    CudaTensorMap maps[FAKE_MAX_VALUES]; /* parameters of 128 bytes, in order */
    FakeEncoding encoding;               /* the latest */
    unsigned encodings;
    char function[64];
    int max_registers; /* that the code loaded last says; 0: none */
    double clock_ms;
    bool runs_endlessly;
    unsigned endless_waits; /* calls that would never have come back */
    CUcontext current;
    size_t allocated;
} FakeCuda;

typedef FakeCuda *FakeCudaState(void);
#endif
