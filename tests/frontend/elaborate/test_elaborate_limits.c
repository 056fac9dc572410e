/* Kernels that are small to write and endless to evaluate end with an error that says where, after
 * little memory; compile-time ints and sequences keep to their bounds. */
#include "frontend/frontend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MEMORY_LIMIT = 512 << 20 };

typedef struct Row {
    const char *what, *helpers, *body;
    DiagId wanted; /* DIAG_COUNT: none */
} Row;

#define LINE(text) "    " text "\n"
#define JIT "@triton.jit\n"
#define HOST "@triton.constexpr_function\n"

/* A function that gives `result` of two lists that hold themselves twice, sixty deep. */
#define TWICE(result)                                                                              \
    HOST "def twice():\n"                                                                          \
         "    a = [1]\n"                                                                           \
         "    b = [1]\n"                                                                           \
         "    for i in range(60):\n"                                                               \
         "        a = [a, a]\n"                                                                    \
         "        b = [b, b]\n"                                                                    \
         "    return " result "\n"

static const Row rows[] = {
    {"many iterations", "", LINE("for i in tl.static_range(10**9):") LINE("    tl.store(p, i)"),
     DIAG_elab_too_many_items},
    {"range wider than ints", "",
     LINE("for i in tl.static_range(-(2**126) - 5, 2**126 + 5):") LINE("    tl.store(p, i)"),
     DIAG_elab_too_many_items},
    {"largest steps", "",
     LINE("for i in tl.static_range(0, 2**126, 2**126 - 1):") LINE("    n += 1"), DIAG_COUNT},
    {"nested loops", "",
     LINE("for i in tl.static_range(60000):") LINE("    for j in tl.static_range(60000):")
         LINE("        n += 1"),
     DIAG_elab_too_much},
    {"calls that double",
     JIT "def a(x):\n    return x + x\n" JIT "def b(x):\n    return a(a(a(a(x))))\n" JIT
         "def c(x):\n    return b(b(b(b(x)))) + b(b(b(b(x))))\n" JIT
         "def d(x):\n    return c(c(c(c(x)))) + c(c(c(c(x))))\n" JIT
         "def e(x):\n    return d(d(d(d(x)))) + d(d(d(d(x))))\n" JIT
         "def f(x):\n    return e(e(e(e(x)))) + e(e(e(e(x))))\n" JIT
         "def g(x):\n    return f(f(f(f(x)))) + f(f(f(f(x))))\n" JIT
         "def h(x):\n    return g(g(g(g(x)))) + g(g(g(g(x))))\n",
     LINE("tl.store(p, h(n))"), DIAG_elab_too_much},
    {"compile-time recursion",
     "@triton.constexpr_function\ndef fib(n):\n    if n < 2:\n        return n\n"
     "    return fib(n - 1) + fib(n - 2)\n",
     LINE("tl.store(p, fib(40))"), DIAG_elab_too_much},
    {"tuples that double", "",
     LINE("t = (1, 1)") LINE("for i in tl.static_range(60):") LINE("    t = (t, t)"),
     DIAG_elab_too_many_items},
    {"tuples nested deeply", "",
     LINE("t = (1,)") LINE("for i in tl.static_range(60000):") LINE("    t = (t,)"),
     DIAG_elab_too_deep},
    {"strings that double", "",
     LINE("s = 'ab'") LINE("for i in tl.static_range(60):") LINE("    s = s + s"),
     DIAG_elab_too_many_items},
    {"repetition", "", LINE("t = (1, 2) * 2**126"), DIAG_elab_too_many_items},
    {"largest int", "",
     LINE("a: tl.constexpr = 2**126 - 1 + 2**126") LINE("tl.static_assert(-(-a) == a)"),
     DIAG_COUNT},
    {"literal of 127 bits", "",
     LINE("tl.static_assert(170141183460469231731687303715884105727 == 2**126 - 1 + 2**126)"),
     DIAG_COUNT},
    {"int beyond 127 bits", "",
     LINE("a: tl.constexpr = -(2**126) - 2**126")
         LINE("tl.static_assert(a == ~(2**126 - 1 + 2**126))"),
     DIAG_COUNT},
    {"int of 65536 bits", "", LINE("a: tl.constexpr = (1 << 65535) % 3"), DIAG_COUNT},
    {"shift too far", "", LINE("a: tl.constexpr = 1 << 65536"), DIAG_elab_constexpr_overflow},
    {"shift by what is no count", "", LINE("a: tl.constexpr = 1 << 2**200"),
     DIAG_elab_constexpr_overflow},
    {"power too large", "", LINE("a: tl.constexpr = 3 ** 2**60"), DIAG_elab_constexpr_overflow},
    {"product too large", "", LINE("a: tl.constexpr = 2**40000 * 2**40000"),
     DIAG_elab_constexpr_overflow},
    {"int that is no float", "", LINE("a: tl.constexpr = 2**2000 * 1.0"), DIAG_elab_int_too_big},
    {"quotient that is no float", "", LINE("a: tl.constexpr = 2**2000 / 3"), DIAG_elab_int_too_big},
    {"int that is no tensor", "", LINE("a = 2**200"), DIAG_elab_int_too_big},
    {"list that grows under its loop",
     HOST "def grow():\n"
          "    xs = [1]\n"
          "    for x in xs:\n"
          "        xs.append(x)\n",
     LINE("grow()"), DIAG_elab_too_many_items},
    {"lists of the same list", TWICE("a == b"), LINE("twice()"), DIAG_elab_too_many_items},
    {"lists of the same list in tuples", TWICE("(a,) is (b,)"), LINE("twice()"),
     DIAG_elab_too_many_items},
    {"lists of the same list as an argument", TWICE("abs(a)"), LINE("twice()"),
     DIAG_elab_too_many_items},
    {"lists of the same list that are not found", TWICE("[].index(a)"), LINE("twice()"),
     DIAG_elab_too_many_items},
    {"lists that nest downwards",
     HOST "def down():\n"
          "    at = []\n"
          "    for i in range(5000):\n"
          "        new = []\n"
          "        at.append(new)\n"
          "        at = new\n",
     LINE("down()"), DIAG_elab_too_deep},
    {"iterators that nest",
     HOST "def zips():\n"
          "    z = [1]\n"
          "    for i in range(5000):\n"
          "        z = zip(z)\n",
     LINE("zips()"), DIAG_elab_too_deep},
    {"keys by the thousand",
     HOST "def keys():\n"
          "    d = {}\n"
          "    for i in range(60000):\n"
          "        d[i] = i\n",
     LINE("keys()"), DIAG_elab_too_much},
    {"product of unsigned constants", "",
     LINE("a = tl.full([], 2**64 - 1, tl.uint64)") LINE("b: tl.constexpr = a * a")
         LINE("tl.static_assert(b == 1)"),
     DIAG_COUNT},
};

static void elaborate_row(Ctx *ctx, const Row *row) {
    char source[4096];
    snprintf(source, sizeof source,
             "import triton\nimport triton.language as tl\n%s" JIT "def k(p, n):\n%s", row->helpers,
             row->body);
    uint32_t file = source_add(&ctx->sources, STR("k.tile"), str_from(source));
    AstFile *syntax = parse_file(&ctx->diags, file);
    ElaborateRequest request = {
        .file = file, .kernel = STR("k"), .signature = STR("*i32, i32"), .capability = 90};
    Elaborated kernel;
    bool ok = ctx->diags.errors == 0 && frontend_elaborate(ctx, syntax, &request, &kernel);
    const Diagnostic *first = ctx->diags.first;
    if (ok != (row->wanted == DIAG_COUNT) || (!ok && first->id != row->wanted))
        fail_msg("%s: %s", row->what, first ? first->text : "no error");
    if (ok)
        return;
    assert_int_equal(first->span.file, file);
    /* Fewer iterations are the remedy only where something iterates. */
    bool hinted = false;
    for (const DiagNote *note = first->notes; note; note = note->next)
        hinted |= note->is_hint && strstr(note->text, "fewer iterations");
    if (row->wanted == DIAG_elab_too_much)
        assert_int_equal(hinted, strstr(row->body, "static_range") != NULL);
}

static void run_row(const Row *row) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    if (setjmp(ctx->oom))
        fail_msg("%s: more than %d bytes", row->what, MEMORY_LIMIT);
    ctx->arena.limit = MEMORY_LIMIT;
    elaborate_row(ctx, row);
    ctx_destroy(ctx);
}

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_row(&rows[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
