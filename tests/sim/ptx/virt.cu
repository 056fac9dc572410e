struct A { int k; __device__ virtual int f(int x) { return x + k; } };
struct B : A { __device__ int f(int x) override { return x * k; } };
struct C : A { __device__ int f(int x) override { return x - k; } };
extern "C" __global__ void virt(int *out) {
    B b; C c; A a; a.k = 1; b.k = 2; c.k = 3;
    A *p[3] = {&a, &b, &c};
    out[threadIdx.x] = p[threadIdx.x % 3]->f(threadIdx.x);
}
