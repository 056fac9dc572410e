// CUDA C++ kernels of the operations in kernels.py, compiled to PTX by nvcc -ptx.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

extern "C" __global__ void vector_add(const float *x, const float *y, float *o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = x[i] + y[i];
}

__device__ float block_reduce(float value, bool maximum) {
    __shared__ float parts[32];
    for (int step = 16; step; step /= 2) {
        float other = __shfl_xor_sync(~0u, value, step);
        value = maximum ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int i = 1; i < blockDim.x / 32; i++)
        value = maximum ? fmaxf(value, parts[i]) : value + parts[i];
    return value;
}

extern "C" __global__ void softmax(const float *x, float *o, int cols) {
    const float *row = x + (size_t)blockIdx.x * cols;
    float largest = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        largest = fmaxf(largest, row[c]);
    largest = block_reduce(largest, true);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(row[c] - largest);
    sum = block_reduce(sum, false);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        o[(size_t)blockIdx.x * cols + c] = expf(row[c] - largest) / sum;
}

extern "C" __global__ void layernorm(const float *x, const float *w, const float *b, float *o, int cols) {
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += row[c];
    float mean = block_reduce(sum, false) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares += (row[c] - mean) * (row[c] - mean);
    float scale = rsqrtf(block_reduce(squares, false) / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        o[(size_t)blockIdx.x * cols + c] = (row[c] - mean) * scale * w[c] + b[c];
}

extern "C" __global__ void row_sum(const float *x, float *o, int cols) {
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += x[(size_t)blockIdx.x * cols + c];
    sum = block_reduce(sum, false);
    if (threadIdx.x == 0)
        o[blockIdx.x] = sum;
}

extern "C" __global__ void histogram(const int *x, int *o, int n) {
    __shared__ int bins[64];
    if (threadIdx.x < 64)
        bins[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[x[i] & 63], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&o[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void transpose(const float *x, float *o, int rows, int cols) {
    __shared__ float tile[32][33];
    int r = blockIdx.x * 32, c = blockIdx.y * 32;
    for (int i = threadIdx.x / 32; i < 32; i += blockDim.x / 32)
        if (r + i < rows && c + threadIdx.x % 32 < cols)
            tile[i][threadIdx.x % 32] = x[(size_t)(r + i) * cols + c + threadIdx.x % 32];
    __syncthreads();
    for (int i = threadIdx.x / 32; i < 32; i += blockDim.x / 32)
        if (c + i < cols && r + threadIdx.x % 32 < rows)
            o[(size_t)(c + i) * rows + r + threadIdx.x % 32] = tile[threadIdx.x % 32][i];
}

// Integers and doubles of the standard library, with loops and tables of the compiler's making.
extern "C" __global__ void scalar_mix(const int64_t *x, int64_t *o, double *f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int64_t v = x[i];
    uint64_t h = (uint64_t)v * 0x9e3779b97f4a7c15u, a = v < 0 ? -v : v, b = h >> 40 | 1;
    int steps = 0;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
        steps++;
    }
    o[i] = (int64_t)(a ^ (h / 1000003)) + __popcll(h) - __clzll(v) + (v >> (h & 63)) + steps;
    double d = (double)v / 1048576.0, s = sqrt(fabs(d)), whole = trunc(d);
    f[i] = d * d + s / (1.0 + whole * whole) + fma(d, s, -whole) + (double)(float)d;
}

// a (M x K) times b (K x N), both f16 by rows; a tile of 64 x 64 for each block of four warps: cp.async, ldmatrix, mma.sync.
extern "C" __global__ void matmul(const half *a, const half *b, float *c, int M, int N, int K) {
    __shared__ __align__(16) half left[2][64][40], right[2][32][72];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, m0 = blockIdx.x * 64, n0 = blockIdx.y * 64;
    float sums[8][4] = {};
    auto copy = [&](int stage, int k0) {
        for (int i = threadIdx.x; i < 256; i += 128) {
            int r = i / 4, k = i % 4 * 8, row = i / 8, n = i % 8 * 8;
            int size = m0 + r < M && k0 + k < K ? 16 : 0, size_b = k0 + row < K && n0 + n < N ? 16 : 0;
            const half *from = size ? a + (size_t)(m0 + r) * K + k0 + k : a, *from_b = size_b ? b + (size_t)(k0 + row) * N + n0 + n : b;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(&left[stage][r][k])),
                         "l"(from), "r"(size));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(&right[stage][row][n])),
                         "l"(from_b), "r"(size_b));
        }
        asm volatile("cp.async.commit_group;");
    };
    copy(0, 0);
    for (int k0 = 0, stage = 0; k0 < K; k0 += 32, stage ^= 1) {
        if (k0 + 32 < K)
            copy(stage ^ 1, k0 + 32);
        else
            asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 32; k += 16) {
            unsigned x[4], y[2];
            unsigned at = (unsigned)__cvta_generic_to_shared(&left[stage][warp * 16 + lane % 16][k + lane / 16 * 8]);
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(at)
                         : "memory");
            for (int n = 0; n < 8; n++) {
                at = (unsigned)__cvta_generic_to_shared(&right[stage][k + lane % 16][n * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(at) : "memory");
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                             : "+f"(sums[n][0]), "+f"(sums[n][1]), "+f"(sums[n][2]), "+f"(sums[n][3])
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
            }
        }
        __syncthreads();
    }
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < 4; i++) {
            int row = m0 + warp * 16 + lane / 4 + i / 2 * 8, col = n0 + n * 8 + lane % 4 * 2 + i % 2;
            if (row < M && col < N)
                c[(size_t)row * N + col] = sums[n][i];
        }
}
