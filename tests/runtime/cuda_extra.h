/* What tests and benchmarks use of the driver beyond the runtime: contexts, facts of functions,
 * CUDA graphs. Values are those of cuda.h; test_cuda_types.c compares them. */
#ifndef TILEC_TESTS_CUDA_EXTRA_H
#define TILEC_TESTS_CUDA_EXTRA_H
#include "runtime/driver/cuda_types.h"

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

/* X(our name, name in cuda.h, value). */
#define CUDA_EXTRA_CONSTANTS(X)                                                                    \
    X(CUDA_CAPTURE_GLOBAL, CU_STREAM_CAPTURE_MODE_GLOBAL, 0)                                       \
    X(CUDA_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)

enum {
#define X(ours, theirs, value) ours = value,
    CUDA_EXTRA_CONSTANTS(X)
#undef X
};

/* CUDA_KERNEL_NODE_PARAMS_v2. */
typedef struct CudaKernelNode {
    CUfunction function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params; /* as given to the launch, the values copied; the graph's */
    void **extra;
    void *kernel;
    CUcontext context;
} CudaKernelNode;

/* X(field, symbol, parameters), all of which return CUresult. */
#define CUDA_EXTRA_FUNCTIONS(X)                                                                    \
    X(context_set, "cuCtxSetCurrent", (CUcontext context))                                         \
    X(function_param, "cuFuncGetParamInfo",                                                        \
      (CUfunction function, size_t index, size_t * offset, size_t * size))                         \
    X(capture_begin, "cuStreamBeginCapture_v2", (CUstream stream, int mode))                       \
    X(capture_end, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))                       \
    X(graph_nodes, "cuGraphGetNodes", (CUgraph graph, CUgraphNode * nodes, size_t * count))        \
    X(kernel_node, "cuGraphKernelNodeGetParams_v2", (CUgraphNode node, CudaKernelNode * params))   \
    X(graph_destroy, "cuGraphDestroy", (CUgraph graph))                                            \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (CUgraphExec * made, CUgraph graph, unsigned long long flags))                               \
    X(graph_launch, "cuGraphLaunch", (CUgraphExec graph, CUstream stream))                         \
    X(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec graph))
#endif
