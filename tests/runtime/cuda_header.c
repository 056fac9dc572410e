/* What cuda.h says, in the order of test_cuda_types.c. Our header is included for its table alone:
 * its types are renamed away. */
#include <cuda.h>
#define CUresult OurCUresult
#define CUdevice OurCUdevice
#define CUcontext OurCUcontext
#define CUmodule OurCUmodule
#define CUfunction OurCUfunction
#define CUstream OurCUstream
#define CUevent OurCUevent
#define CUlinkState OurCUlinkState
#define CUdeviceptr OurCUdeviceptr
#define CUgraph OurCUgraph
#define CUgraphNode OurCUgraphNode
#define CUgraphExec OurCUgraphExec
#include "cuda_extra.h"
#undef CUdevice
#undef CUdeviceptr

extern const int cuda_header_constants[];
extern const size_t cuda_header_layout[];
extern const size_t cuda_header_tensor_map_alignment;

const int cuda_header_constants[] = {
#define X(name, theirs, value) theirs,
    CUDA_CONSTANTS(X) CUDA_EXTRA_CONSTANTS(X)
#undef X
#define FAULT(name, theirs, value, lost, status, hint) theirs,
#include "runtime/driver/faults.def"
};

const size_t cuda_header_layout[] = {
    sizeof(CUlaunchConfig),
    offsetof(CUlaunchConfig, gridDimX),
    offsetof(CUlaunchConfig, blockDimX),
    offsetof(CUlaunchConfig, sharedMemBytes),
    offsetof(CUlaunchConfig, hStream),
    offsetof(CUlaunchConfig, attrs),
    offsetof(CUlaunchConfig, numAttrs),
    sizeof(CUlaunchAttribute),
    offsetof(CUlaunchAttribute, value),
    sizeof(CUdeviceptr),
    sizeof(CUdevice),
    sizeof(CUtensorMap),
    sizeof(CUDA_KERNEL_NODE_PARAMS_v2),
    offsetof(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX),
    offsetof(CUDA_KERNEL_NODE_PARAMS_v2, blockDimX),
    offsetof(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes),
    offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams),
    offsetof(CUDA_KERNEL_NODE_PARAMS_v2, extra),
};

const size_t cuda_header_tensor_map_alignment = _Alignof(CUtensorMap);
