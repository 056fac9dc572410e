#include <cstdio>
#include <cassert>
struct S { int a; double b; short c[5]; float4 v; };
struct Big { int x[20]; };
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ S make(S s, int k) { s.a += k; s.b *= 2; s.c[k & 3] = k; s.v.y = s.v.x + 1; return s; }
__device__ __noinline__ int sum(Big b) { int t = 0; for (int i = 0; i < 20; i++) t += b.x[i]; return t; }
__constant__ int table[8] = {1, 2, 3, 5, 7, 11, 13, 17};
__device__ int counter = 5;
__device__ double dtab[3] = {1.5, -2.25, 1e300};
__device__ const char *names[2] = {"one", "two"};
typedef int (*Op)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ Op ops[2] = {add, mul};
extern "C" __global__ void lang(int *out, S s, Big b, int n) {
    int t = threadIdx.x;
    int local[16];
    for (int i = 0; i < 16; i++) local[i] = i * t;
    int idx = (t * 7 + n) & 15;
    S r = make(s, t & 7);
    int v = fib(t % 10) + local[idx] + r.a + (int)r.b + r.c[t & 3] + (int)r.v.y + sum(b) + table[t & 7] + (int)dtab[t % 2] + names[t & 1][1];
    v += ops[t & 1](t, 3);
    switch (t % 11) { case 0: v += 100; break; case 1: v ^= 5; break; case 2: v -= 7; break; case 3: v *= 3; break; case 4: v /= 3; break; case 5: v %= 5; break; case 6: v <<= 2; break; case 7: v >>= 1; break; case 8: v = ~v; break; default: v++; }
    out[t] = v;
}
extern "C" __global__ void prints(int n) {
    if (threadIdx.x < 2) printf("t %d %s %f %c %llu %x\n", threadIdx.x, names[threadIdx.x], 1.5 * n, 'x', 1ull << 40, 255u);
    assert(n > 0);
}
