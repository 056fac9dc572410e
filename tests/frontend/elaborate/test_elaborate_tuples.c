/* Parameters that are tuples or descriptors: what kernels do with them, on the interpreter. */
#include "elaborate_testing.h"

#define HEADER "import triton\nimport triton.language as tl\n"

/* Indices, len, loops over items, calls with them and with *items, items within items. */
static void test_uses(void **state) {
    static const char source[] =
        HEADER "@triton.jit\n"
               "def sum_of(items):\n"
               "    total = 0\n"
               "    for i in tl.static_range(len(items)):\n"
               "        total += items[i]\n"
               "    return total\n"
               "@triton.jit\n"
               "def three(a, b, c):\n"
               "    return a * 100 + b * 10 + c\n"
               "@triton.jit\n"
               "def k(x, out):\n"
               "    tl.static_assert(len(x) == 4 and len(x[1]) == 3)\n"
               "    tl.static_assert(x[2] == 7)\n"
               "    tl.static_assert(x[1][2] is None)\n"
               "    tl.static_assert(x[-1][0].type == tl.int32)\n"
               "    i = tl.arange(0, x[1][1])\n"
               "    v = tl.load(x[0] + i)\n"
               "    a, b, c = x[3]\n"
               "    p, inner, seven, rest = x\n"
               "    tl.store(out + i, v * 1000 + three(*x[3]) + sum_of((a, b, c, inner[0])))\n"
               "    tl.store(out + 4, sum_of(rest) + seven)\n"
               "    tl.store(p, sum_of(x[3][1:]))\n";
    static const double values[] = {1, 2, 3, 4}, first[] = {11, 2, 3, 4};
    static const double wanted[] = {1509, 2509, 3509, 4509, 21};
    KernelRun *run = &(KernelRun){0};
    run_begin(run, source, "(*i32:16, (i64:16, =4, =None), =7, (i32, i32:8, i64)), *i64");
    TestArray *p = run_array(run, ELEM_I32, 4, values);
    run_int(run, 112);
    run_int(run, 3);
    run_int(run, 8);
    run_int(run, 3);
    TestArray *out = run_array(run, ELEM_I64, 5, NULL);
    run_kernel(run);
    expect_elements("out", out, wanted);
    expect_elements("p", p, first);
    run_end(run);
}

/* A 1 is a number of Python's, another fixed value one of its type; both are passed. */
static void test_fixed(void **state) {
    static const char source[] = HEADER "@triton.jit\n"
                                        "def k(x, out):\n"
                                        "    tl.static_assert(x[0] == 1)\n"
                                        "    tl.static_assert(x[1].type == tl.int64)\n"
                                        "    tl.store(out, x[0] + x[1] + x[2])\n";
    KernelRun *run = &(KernelRun){0};
    run_begin(run, source, "(i32:1, i64:=64, u8), *i64");
    run_int(run, 1);
    run_int(run, 64);
    run_int(run, 200);
    TestArray *out = run_array(run, ELEM_I64, 1, NULL);
    run_kernel(run);
    expect_elements("out", out, (double[]){265});
    run_end(run);
}

/* Loops carry what comes of items, and a tuple of constexprs is one. */
static void test_loops(void **state) {
    static const char source[] = HEADER "@triton.jit\n"
                                        "def k(x, shape: tl.constexpr, n, out):\n"
                                        "    a = x\n"
                                        "    for i in range(n):\n"
                                        "        a = (a[0] + 1, a[1] * 2)\n"
                                        "    i = tl.arange(0, shape[0] * shape[1])\n"
                                        "    tl.store(out + i, a[0] * 100 + a[1] + i)\n";
    KernelRun *run = &(KernelRun){0};
    run_begin(run, source, "(i32, i32), (=2, =2), i32, *i32");
    run_int(run, 5);
    run_int(run, 3);
    run_int(run, 3);
    TestArray *out = run_array(run, ELEM_I32, 4, NULL);
    run_kernel(run);
    expect_elements("out", out, (double[]){824, 825, 826, 827});
    run_end(run);
}

/* A block beyond the tensor's end is padded; what is stored there is left out. */
static void test_descriptors(void **state) {
    static const char source[] = HEADER
        "@triton.jit\n"
        "def row(d, i):\n"
        "    return d.load([i, 0])\n"
        "@triton.jit\n"
        "def k(pair, out):\n"
        "    d = pair[0]\n"
        "    tl.static_assert(d.dtype == tl.float32)\n"
        "    tl.static_assert(d.block_shape[0] == 1 and d.block_shape[1] == 4)\n"
        "    tl.static_assert(d.shape[1].type == tl.int32 and d.strides[0].type == tl.int64)\n"
        "    i = tl.arange(0, 4)\n"
        "    v = tl.reshape(row(d, pair[1]), [4])\n"
        "    tl.store(out + i, tl.where(v == v, v, -1) * d.shape[0])\n"
        "    d.store([0, 2], tl.full([1, 4], 9, tl.float32))\n";
    static const double values[] = {1, 2, 3, 0, 5, 6, 7, 0}, after[] = {1, 2, 9, 0, 5, 6, 7, 0};
    KernelRun *run = &(KernelRun){0};
    run_begin(run, source, "(tensordesc<fp32[1, 4], nan>, i32), *fp32");
    TestArray *tensor = run_array(run, ELEM_F32, 8, values);
    run_int(run, 2); /* two rows of three elements, four apart */
    run_int(run, 3);
    run_int(run, 4);
    run_int(run, 1);
    run_int(run, 1);
    TestArray *out = run_array(run, ELEM_F32, 4, NULL);
    run_kernel(run);
    expect_elements("out", out, (double[]){10, 12, 14, -2});
    expect_elements("tensor", tensor, after);
    run_end(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_uses), cmocka_unit_test(test_fixed),
                                       cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
