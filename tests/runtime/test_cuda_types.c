/* Our declarations of the driver's ABI against NVIDIA's header. */
#include "cuda_extra.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* cuda.h declares the same names: values are taken from it in a second file. */
extern const int cuda_header_constants[];
extern const size_t cuda_header_layout[];
extern const size_t cuda_header_tensor_map_alignment;

static void constants(void **state) {
    static const int ours[] = {
#define X(name, theirs, value) name,
        CUDA_CONSTANTS(X) CUDA_EXTRA_CONSTANTS(X)
#undef X
#define FAULT(name, theirs, value, lost, status, hint) value,
#include "runtime/driver/faults.def"
    };
    static const char *const names[] = {
#define X(name, theirs, value) #theirs,
        CUDA_CONSTANTS(X) CUDA_EXTRA_CONSTANTS(X)
#undef X
#define FAULT(name, theirs, value, lost, status, hint) #theirs,
#include "runtime/driver/faults.def"
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (ours[i] != cuda_header_constants[i])
            fail_msg("%s is %d, not %d", names[i], cuda_header_constants[i], ours[i]);
}

static void layout(void **state) {
    const size_t ours[] = {
        sizeof(CudaLaunchConfig),
        offsetof(CudaLaunchConfig, grid_x),
        offsetof(CudaLaunchConfig, block_x),
        offsetof(CudaLaunchConfig, shared_bytes),
        offsetof(CudaLaunchConfig, stream),
        offsetof(CudaLaunchConfig, attributes),
        offsetof(CudaLaunchConfig, attribute_count),
        sizeof(CudaLaunchAttribute),
        offsetof(CudaLaunchAttribute, value),
        sizeof(CUdeviceptr),
        sizeof(CUdevice),
        sizeof(CudaTensorMap),
        sizeof(CudaKernelNode),
        offsetof(CudaKernelNode, grid_x),
        offsetof(CudaKernelNode, block_x),
        offsetof(CudaKernelNode, shared_bytes),
        offsetof(CudaKernelNode, params),
        offsetof(CudaKernelNode, extra),
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_int_equal(ours[i], cuda_header_layout[i]);
    assert_true(_Alignof(CudaTensorMap) >= cuda_header_tensor_map_alignment);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants), cmocka_unit_test(layout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
