#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
extern "C" __global__ void cubarrier(const int *x, int *y) {
    __shared__ alignas(16) int buf[256];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(buf + threadIdx.x, x + blockIdx.x * blockDim.x + threadIdx.x, sizeof(int), bar);
    bar.arrive_and_wait();
    int other = buf[(threadIdx.x + 33) % blockDim.x];
    auto token = bar.arrive();
    bar.wait(std::move(token));
    y[blockIdx.x * blockDim.x + threadIdx.x] = other * 2 + buf[threadIdx.x];
}
extern "C" __global__ void cupipe(const int4 *x, int4 *y, int n) {
    __shared__ int4 stage[2][64];
    auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline();
    int tid = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[0][tid], x + tid, sizeof(int4), pipe);
    pipe.producer_commit();
    for (int i = 0; i < n; i++) {
        if (i + 1 < n) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[(i + 1) & 1][tid], x + (i + 1) * 64 + tid, cuda::aligned_size_t<16>(sizeof(int4)), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else cuda::pipeline_consumer_wait_prior<0>(pipe);
        __syncthreads();
        int4 v = stage[i & 1][63 - tid];
        v.x += i; v.w -= i;
        y[i * 64 + tid] = v;
        __syncthreads();
        pipe.consumer_release();
    }
}
extern "C" __global__ void cgcopy(const float *x, float *y, int n) {
    extern __shared__ float sm[];
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, sm, x, n * sizeof(float));
    cooperative_groups::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = sm[n - 1 - i];
}
