extern "C" __global__ void warps(const int *x, int *y) {
    int i = threadIdx.x, v = x[i];
    unsigned m = __ballot_sync(~0u, v & 1);
    int s = __shfl_xor_sync(~0u, v, 5) + __shfl_up_sync(~0u, v, 3) + __shfl_down_sync(~0u, v, 2, 8) + __shfl_sync(~0u, v, i * 3);
    s += __any_sync(~0u, v > 100) + __all_sync(~0u, v >= 0) * 2 + __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_xor_sync(~0u, (unsigned)v);
    s += __match_any_sync(~0u, v & 3); int pred; s += __match_all_sync(~0u, v, &pred) + pred;
    if (v & 2) s += __activemask() & 0xff;
    __syncwarp(); s += __syncthreads_count(v & 1) + __syncthreads_or(v) + __syncthreads_and(v);
    y[i] = s + (int)m;
}
