#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halfk(const __half2 *a, const __half2 *b, __half2 *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 x = a[i], y = b[i];
    __half2 z = __hfma2(x, y, __hadd2(x, __float2half2_rn(1.5f)));
    z = __hmax2(z, __hneg2(y)); z = __hmul2_sat(z, x); z = __hadd2(z, h2exp2(__hmul2(x, __float2half2_rn(.25f))));
    if (__hblt2(x, y)) z = h2rcp(z);
    __half l = __low2half(z), h = __high2half(z);
    if (__hisnan(l)) l = __float2half(0.f);
    c[i] = __halves2half2(h, __hsub(l, hsqrt(__habs(h))));
}
extern "C" __global__ void bf16k(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 x = a[i], y = b[i];
    __nv_bfloat162 z = __hfma2(x, y, __hadd2(x, __float2bfloat162_rn(1.5f)));
    z = __hmin2_nan(z, __habs2(y));
    float2 f = __bfloat1622float2(z);
    c[i] = __floats2bfloat162_rn(f.x + __bfloat162float(y.x), f.y * 2 + (float)__bfloat162int_rz(y.y));
}
