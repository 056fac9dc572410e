#include <cuda/atomic>
#include <cuda_fp16.h>
extern "C" __global__ void atomics(unsigned *u, int *s, unsigned long long *l, float *f, double *d, __half2 *h) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    __shared__ unsigned sh[4];
    if (threadIdx.x < 4) sh[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&sh[t & 3], t); atomicMax(&sh[1], t);
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(u + 8 + threadIdx.x, sh[threadIdx.x]);
    atomicAdd(u, 1u); atomicSub(u + 1, 2u); atomicInc(u + 2, 10); atomicDec(u + 3, 100); atomicAnd(u + 4, ~(1u << (t & 31)));
    atomicOr(u + 5, 1u << (t & 31)); atomicXor(u + 6, t); atomicExch(u + 7, 77u);
    atomicMin(s, -t); atomicMax(s + 1, t); atomicCAS(s + 2, 0, 5);
    atomicAdd(l, 1ull << 33); atomicMax(l + 1, (unsigned long long)t << 30); atomicCAS(l + 2, 0ull, 9ull);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(h, __float2half2_rn(1.0f)); atomicAdd_block(u + 16 + blockIdx.x, 1u); atomicAdd_system(u + 13, 1u);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> r(u[14]);
    r.fetch_add(3, cuda::memory_order_relaxed); r.fetch_add(1, cuda::memory_order_acq_rel);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> q(u[15]);
    unsigned e = q.load(cuda::memory_order_acquire);
    while (!q.compare_exchange_weak(e, e * 2 + 1 > 1000 ? e : e + 2, cuda::memory_order_seq_cst)) {}
}
extern "C" __global__ void flag(volatile int *f, int *data, int *out) {
    if (blockIdx.x == 0) { data[threadIdx.x] = threadIdx.x * 3; __threadfence(); __syncthreads(); if (threadIdx.x == 0) *f = 1; }
    else { if (threadIdx.x == 0) while (*f == 0) __nanosleep(20); __syncthreads(); __threadfence(); out[threadIdx.x] = ((volatile int *)data)[threadIdx.x]; }
}
