/* Control flow and calls: each row is a kernel of two integers that stores integers, and what
 * Python would store. */
#include "elaborate_testing.h"

typedef struct Row {
    const char *what, *helpers, *body;
    int64_t n, m;
    double wanted[4]; /* out[0..3], zero at first */
} Row;

#define LINE(text) "    " text "\n"

static const Row rows[] = {
    {"if joins",
     "",
     LINE("a = 1") LINE("if n > m:") LINE("    a = n") LINE("else:") LINE("    a = m * 2")
         LINE("tl.store(out, a)"),
     3,
     5,
     {10}},
    {"elif chain",
     "",
     LINE("if n == 0:") LINE("    r = 10") LINE("elif n == 1:") LINE("    r = 20") LINE("else:")
         LINE("    r = 30") LINE("tl.store(out, r)"),
     1,
     0,
     {20}},
    {"if keeps what it does not touch",
     "",
     LINE("a = n") LINE("b = m") LINE("if n > 0:") LINE("    a = 7") LINE("tl.store(out, a)")
         LINE("tl.store(out + 1, b)"),
     -1,
     4,
     {-1, 4}},
    {"swap",
     "",
     LINE("a, b = n, m") LINE("a, b = b, a") LINE("tl.store(out, a)") LINE("tl.store(out + 1, b)"),
     3,
     5,
     {5, 3}},
    {"early return",
     "",
     LINE("tl.store(out, 1)") LINE("if n > 0:") LINE("    return") LINE("tl.store(out, 2)"),
     1,
     0,
     {1}},
    {"no early return",
     "",
     LINE("tl.store(out, 1)") LINE("if n > 0:") LINE("    return") LINE("tl.store(out, 2)"),
     0,
     0,
     {2}},
    {"nested returns, inner taken",
     "",
     LINE("if n > 0:") LINE("    if m > 0:") LINE("        return") LINE("    tl.store(out, 1)")
         LINE("tl.store(out + 1, 2)"),
     1,
     1,
     {0, 0}},
    {"nested returns, inner passed",
     "",
     LINE("if n > 0:") LINE("    if m > 0:") LINE("        return") LINE("    tl.store(out, 1)")
         LINE("tl.store(out + 1, 2)"),
     1,
     0,
     {1, 2}},
    {"nested returns, outer passed",
     "",
     LINE("if n > 0:") LINE("    if m > 0:") LINE("        return") LINE("    tl.store(out, 1)")
         LINE("tl.store(out + 1, 2)"),
     0,
     1,
     {0, 2}},
    {"return in an unrolled loop",
     "",
     LINE("for i in tl.static_range(4):") LINE("    if n == i:") LINE("        return")
         LINE("    tl.store(out + i, 5)"),
     2,
     0,
     {5, 5, 0, 0}},
    {"recursion that a compile-time condition ends",
     "@triton.jit\n"
     "def twice(x, levels: tl.constexpr):\n"
     "    if levels == 0:\n"
     "        return x\n"
     "    else:\n"
     "        return twice(x * 2, levels - 1)\n",
     LINE("tl.store(out, twice(n, 5))"),
     3,
     0,
     {96}},
    {"break and continue at compile time",
     "@triton.constexpr_function\n"
     "def odd_sum(limit):\n"
     "    total = 0\n"
     "    for i in range(100):\n"
     "        if i > limit:\n"
     "            break\n"
     "        if i % 2 == 0:\n"
     "            continue\n"
     "        total += i\n"
     "    while True:\n"
     "        total += 100\n"
     "        break\n"
     "    return total\n",
     LINE("tl.store(out, odd_sum(7))"),
     0,
     0,
     {116}},
    {"for sums",
     "",
     LINE("s = 0") LINE("for i in range(n):") LINE("    s += i") LINE("tl.store(out, s)"),
     5,
     0,
     {10}},
    {"for with start and step",
     "",
     LINE("s = 0") LINE("for i in range(1, n, 3):") LINE("    s = s * 10 + i")
         LINE("tl.store(out, s)"),
     10,
     0,
     {147}},
    {"for downwards",
     "",
     LINE("s = 0") LINE("for i in range(n, 0, -2):") LINE("    s = s * 10 + i")
         LINE("tl.store(out, s)"),
     5,
     0,
     {531}},
    {"for never entered",
     "",
     LINE("s = 9") LINE("for i in range(n, m):") LINE("    s = i") LINE("tl.store(out, s)"),
     5,
     5,
     {9}},
    {"loop swaps carried values",
     "",
     LINE("a = 0") LINE("b = 1") LINE("for i in range(n):") LINE("    a, b = b, a + b")
         LINE("tl.store(out, a)") LINE("tl.store(out + 1, b)"),
     7,
     0,
     {13, 21}},
    {"if inside a loop",
     "",
     LINE("s = 0") LINE("for i in range(n):") LINE("    if i % 2 == 0:") LINE("        s += i")
         LINE("    else:") LINE("        s -= 1") LINE("tl.store(out, s)"),
     5,
     0,
     {4}},
    {"nested loops",
     "",
     LINE("s = 0") LINE("for i in range(n):") LINE("    for j in range(i):")
         LINE("        s += j * m") LINE("tl.store(out, s)"),
     4,
     10,
     {40}},
    {"while",
     "",
     LINE("i = n") LINE("steps = 0") LINE("while i != 1:")
         LINE("    i = i // 2 if i % 2 == 0 else 3 * i + 1") LINE("    steps += 1")
             LINE("tl.store(out, steps)"),
     6,
     0,
     {8}},
    {"while not entered",
     "",
     LINE("i = n") LINE("while i < 0:") LINE("    i += 1") LINE("tl.store(out, i)"),
     3,
     0,
     {3}},
    {"carried tuple",
     "",
     LINE("t = (n, m)") LINE("for i in range(3):") LINE("    t = (t[1], t[0] + t[1])")
         LINE("tl.store(out, t[0])") LINE("tl.store(out + 1, t[1])"),
     1,
     1,
     {3, 5}},
    {"pointers advance",
     "",
     LINE("for i in range(n):") LINE("    tl.store(out, i * i)") LINE("    out += 1"),
     4,
     0,
     {0, 1, 4, 9}},
    {"short circuit at compile time",
     "",
     LINE("X: tl.constexpr = None") LINE("if X is not None and X > 0:") LINE("    tl.store(out, 1)")
         LINE("else:") LINE("    tl.store(out, 2)"),
     0,
     0,
     {2}},
    {"unrolled tuple",
     "",
     LINE("s = 0") LINE("for v in (1, 10, 100):") LINE("    s += v * n") LINE("tl.store(out, s)"),
     3,
     0,
     {333}},
    {"comprehension",
     "",
     LINE("t = [i * i for i in (1, 2, 3) if i != 2]") LINE("tl.store(out, t[0] + t[1])"),
     0,
     0,
     {10}},
    {"helper returns by branch",
     "@triton.jit\ndef clip(x, lo, hi):\n    if x < lo:\n        return lo\n    if x > hi:\n       "
     " return hi\n    return x\n",
     LINE("tl.store(out, clip(n, 0, 10))") LINE("tl.store(out + 1, clip(m, lo=0, hi=10))")
         LINE("tl.store(out + 2, clip(5, 0, 10))"),
     -3,
     30,
     {0, 10, 5}},
    {"helper in a loop returns early",
     "@triton.jit\ndef half(x):\n    if x % 2 == 0:\n        return x // 2\n    return x\n",
     LINE("s = 0") LINE("for i in range(n):") LINE("    s += half(i)") LINE("tl.store(out, s)"),
     5,
     0,
     {7}},
    {"defaults and tuples",
     "@triton.jit\ndef pair(x, y=4):\n    return x + y, x * y\n",
     LINE("a, b = pair(n)") LINE("c, d = pair(n, y=m)") LINE("tl.store(out, a + b)")
         LINE("tl.store(out + 1, c + d)"),
     2,
     3,
     {14, 11}},
    {"functions as values",
     "@triton.jit\ndef twice(f, x):\n    return f(f(x))\n\n@triton.jit\ndef inc(x):\n    return x "
     "+ 1\n",
     LINE("tl.store(out, twice(inc, n))"),
     5,
     0,
     {7}},
    {"own combine function",
     "@triton.jit\ndef both(a, i, b, j):\n "
     "   return a + b, i * j\n",
     LINE("x = tl.arange(1, 5)") LINE("s, p = tl.reduce((x, x), 0, both)") LINE("tl.store(out, s)")
         LINE("tl.store(out + 1, p)"),
     0,
     0,
     {10, 24}},
    {"combine function that looks at a dtype",
     "@triton.jit\ndef promote(x):\n    return x + tl.zeros((1,), tl.int1)\n\n@triton.jit\n"
     "def add(a, b):\n    if promote(a).dtype.is_floating():\n        return a\n    return a + b\n",
     LINE("tl.store(out, tl.reduce(tl.arange(1, 5), 0, add))"),
     0,
     0,
     {10}},
    {"constexpr function",
     "@triton.constexpr_function\ndef bits(x):\n    n = 0\n    while x > 0:\n        x >>= 1\n     "
     "   n += 1\n    return n\n",
     LINE("tl.store(out + tl.arange(0, bits(2)), bits(1000))"),
     0,
     0,
     {10, 10}},
    {"module constants",
     "A = tl.constexpr(6)\nB: tl.constexpr = A * 7\nA = tl.constexpr(5)\n",
     LINE("tl.store(out, A)") LINE("tl.store(out + 1, B)"),
     0,
     0,
     {5, 35}},
    {"imported names",
     "from Inputs.lib import triple, shifted as moved\n",
     LINE("tl.store(out, triple(n))") LINE("tl.store(out + 1, moved(n))"),
     5,
     0,
     {15, 57}},
    {"imported modules",
     "from Inputs import lib\nimport Inputs.lib as again\nimport Inputs.pkg\n",
     LINE("tl.store(out, lib.triple(n) + again.FACTOR)")
         LINE("tl.store(out + 1, Inputs.pkg.OFFSET)"),
     5,
     0,
     {18, 42}},
    {"star and circular imports",
     "from Inputs.cycle import *\n",
     LINE("tl.store(out, around(n))"),
     5,
     0,
     {58}},
    {"programs",
     "",
     LINE("pid = tl.program_id(0)") LINE("if pid < 3:")
         LINE("    tl.store(out + pid, pid + tl.num_programs(0))"),
     0,
     0,
     {4, 5, 6, 0}},
    {"swizzle2d",
     "",
     LINE("i, j = tl.swizzle2d(n, m, 4, 4, 2)") LINE("tl.store(out, i)")
         LINE("tl.store(out + 1, j)"),
     0,
     1,
     {1, 0}},
    {"types of tiles",
     "",
     LINE("a = tl.arange(0, 4).to(tl.float16)")
         LINE("tl.static_assert(a.type == tl.block_type(tl.float16, [4]))")
             LINE("tl.static_assert(a.type != tl.block_type(tl.float16, [8]))")
                 LINE("tl.static_assert(a.type != tl.block_type(tl.float32, (4,)))")
                     LINE("tl.store(out, tl.block_type(tl.int8, [2, 8]).numel)"),
     0,
     0,
     {16}},
    {"atomic minimum and maximum of floats",
     "",
     LINE("f = (out + 2).to(tl.pointer_type(tl.float32))") LINE("tl.store(f, -2.5)")
         LINE("old = tl.atomic_max(f, -7.0)") LINE("tl.atomic_max(f, 3.5)")
             LINE("tl.store(out, (tl.load(f) * 2).to(tl.int32))") LINE("tl.atomic_min(f, -1.5)")
                 LINE("tl.store(out + 1, (tl.load(f) * 2).to(tl.int32))")
                     LINE("tl.store(out + 2, (old * 2).to(tl.int32))"),
     0,
     0,
     {7, -3, -5}},
};

static void run_row(const Row *row) {
    char source[2048];
    snprintf(source, sizeof source,
             "import triton\nimport triton.language as tl\n%s\n@triton.jit\ndef k(out, n, m):\n%s",
             row->helpers, row->body);
    KernelRun *run = &(KernelRun){0};
    run_begin(run, source, "*i32, i32, i32");
    if (strcmp(row->what, "programs") == 0)
        run->options.grid[0] = 4;
    TestArray *out = run_array(run, ELEM_I32, 4, NULL);
    run_int(run, row->n);
    run_int(run, row->m);
    run_kernel(run);
    expect_elements(row->what, out, row->wanted);
    run_end(run);
}

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_row(&rows[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
