/* The part of the CUDA driver's ABI that the runtime uses, so that no CUDA header is needed to
 * build. Values are those of cuda.h; tests/runtime/test_cuda_types.c compares them where that
 * header is installed. */
#ifndef TILEC_RUNTIME_DRIVER_CUDA_TYPES_H
#define TILEC_RUNTIME_DRIVER_CUDA_TYPES_H
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUlinkState_st *CUlinkState;
typedef unsigned long long CUdeviceptr;

/* CUDA_CONSTANTS(X): X(our name, name in cuda.h, value). */
#define CUDA_CONSTANTS(X)                                                                          \
    X(CUDA_OK, CUDA_SUCCESS, 0)                                                                    \
    X(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                             \
    X(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                             \
    X(CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY, 34)                                              \
    X(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                                   \
    X(CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE, 101)                                         \
    X(CUDA_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                   \
    X(CUDA_ATTRIBUTE_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                        \
    X(CUDA_ATTRIBUTE_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                 \
    X(CUDA_ATTRIBUTE_REGISTERS, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12)                   \
    X(CUDA_ATTRIBUTE_CLOCK, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                    \
    X(CUDA_ATTRIBUTE_SM_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                       \
    X(CUDA_ATTRIBUTE_MEMORY_CLOCK, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                      \
    X(CUDA_ATTRIBUTE_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                    \
    X(CUDA_ATTRIBUTE_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                              \
    X(CUDA_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                      \
    X(CUDA_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                      \
    X(CUDA_ATTRIBUTE_SM_REGISTERS, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)       \
    X(CUDA_ATTRIBUTE_COOPERATIVE, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95)                      \
    X(CUDA_ATTRIBUTE_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)      \
    X(CUDA_POINTER_MEMORY, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                                    \
    X(CUDA_POINTER_DEVICE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3)                                 \
    X(CUDA_POINTER_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                                    \
    X(CUDA_POINTER_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                                \
    X(CUDA_POINTER_BEGIN, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11)                               \
    X(CUDA_POINTER_BYTES, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12)                                     \
    X(CUDA_MEMORY_HOST, CU_MEMORYTYPE_HOST, 1)                                                     \
    X(CUDA_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE, 2)                                                 \
    X(CUDA_FUNCTION_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)                           \
    X(CUDA_FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                \
    X(CUDA_FUNCTION_LOCAL, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                                  \
    X(CUDA_FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                      \
    X(CUDA_FUNCTION_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)        \
    X(CUDA_JIT_INFO_LOG, CU_JIT_INFO_LOG_BUFFER, 3)                                                \
    X(CUDA_JIT_INFO_LOG_SIZE, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4)                                \
    X(CUDA_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER, 5)                                              \
    X(CUDA_JIT_ERROR_LOG_SIZE, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)                              \
    X(CUDA_JIT_LINE_INFO, CU_JIT_GENERATE_LINE_INFO, 13)                                           \
    X(CUDA_JIT_VERBOSE, CU_JIT_LOG_VERBOSE, 12)                                                    \
    X(CUDA_JIT_INPUT_PTX, CU_JIT_INPUT_PTX, 1)                                                     \
    X(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                         \
    X(CUDA_EVENT_DEFAULT, CU_EVENT_DEFAULT, 0)                                                     \
    X(CUDA_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2)                                 \
    X(CUDA_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                               \
    X(CUDA_LAUNCH_PROGRAMMATIC, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)          \
    X(CUDA_TENSOR_U8, CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                            \
    X(CUDA_TENSOR_U16, CU_TENSOR_MAP_DATA_TYPE_UINT16, 1)                                          \
    X(CUDA_TENSOR_U32, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2)                                          \
    X(CUDA_TENSOR_U64, CU_TENSOR_MAP_DATA_TYPE_UINT64, 4)                                          \
    X(CUDA_TENSOR_F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6)                                         \
    X(CUDA_TENSOR_F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7)                                         \
    X(CUDA_TENSOR_F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8)                                         \
    X(CUDA_TENSOR_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9)                                       \
    X(CUDA_TENSOR_INTERLEAVE_NONE, CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                               \
    X(CUDA_TENSOR_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                     \
    X(CUDA_TENSOR_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_32B, 1)                                       \
    X(CUDA_TENSOR_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_64B, 2)                                       \
    X(CUDA_TENSOR_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_128B, 3)                                     \
    X(CUDA_TENSOR_L2_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, 2)                                  \
    X(CUDA_TENSOR_FILL_ZERO, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)

enum {
#define X(ours, theirs, value) ours = value,
    CUDA_CONSTANTS(X)
#undef X
};

/* CUtensorMap, aligned as from CUDA 13 on; before, 64 was enough. */
typedef struct CudaTensorMap {
    _Alignas(128) uint64_t words[16];
} CudaTensorMap;

/* CUlaunchAttribute and CUlaunchConfig. */
typedef struct CudaLaunchAttribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster;
        int is_on; /* of CUDA_LAUNCH_COOPERATIVE and CUDA_LAUNCH_PROGRAMMATIC */
    } value;
} CudaLaunchAttribute;

typedef struct CudaLaunchConfig {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream stream;
    CudaLaunchAttribute *attributes;
    unsigned attribute_count;
} CudaLaunchConfig;
#endif
