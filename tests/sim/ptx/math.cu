extern "C" __global__ void math(const float *x, float *y, const double *p, double *q, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = expf(-v * v) * logf(fabsf(v) + 1) + tanhf(v) + rsqrtf(fabsf(v) + .5f) + atan2f(v, 2.f) + __fdividef(v, 3.f) + rintf(v) + floorf(v) + truncf(v) + fmaf(v, v, 2.f) + v / 7.f + sqrtf(fabsf(v));
    double d = p[i];
    q[i] = exp(-d * d) + log(fabs(d) + 1) + sqrt(fabs(d)) + d / 3.0 + __drcp_rn(d + 10) + rint(d);
}
