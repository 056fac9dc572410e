/* What decorators say is honoured by functions: each kernel holds what reached it to what the call
 * says it should be, by static_assert. */
#include "api_testing.h"

#define HEAD                                                                                       \
    "import triton\nimport torch\nimport triton.language as tl\n"                                  \
    "LARGE = 100\nHALF = LARGE // 2\n"

static tile_status create(Fixture *f, const char *kernel, tile_function **function,
                          tile_diagnostics **diagnostics) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text("k.tile"), .source = text(kernel)};
    return tile_function_create(f->context, &options, function, diagnostics);
}

static tile_function *function_of(Fixture *f, const char *kernel) {
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    if (create(f, kernel, &function, &diagnostics) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return function;
}

static tile_status call(Fixture *f, tile_function *function, tile_device *device,
                        const tile_argument *arguments, size_t count) {
    static const uint32_t grid[3] = {1, 1, 1};
    tile_diagnostics *diagnostics = NULL;
    tile_status status =
        tile_function_launch(function, device, grid, NULL, arguments, count, &diagnostics);
    if (status != TILE_OK)
        print_message("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return status;
}

/* The lambdas of public kernels, in their forms; the expected values are Python's. */
static void heuristics_are_evaluated(void **state) {
    Fixture *f = *state;
    static const char kernel[] = HEAD
        "@triton.heuristics({\n"
        "    'BLOCK': lambda args: triton.next_power_of_2(args['n']),\n"
        "    'EVEN': lambda args: args['n'] % args['BLOCK'] == 0 and args['n'] > HALF,\n"
        "    'HAS_BIAS': lambda args: args['bias'] is not None,\n"
        "    'HALF_TYPE': lambda nargs: nargs['x'].dtype in [torch.float16, torch.bfloat16],\n"
        "    'RATIO': lambda args: args['n'] / 4 if not args['EVEN'] else -1.5,\n"
        "    'KIND': lambda args: 'long' if LARGE < args['n'] <= 4096 else 'short',\n"
        "    'num_warps': lambda args: max(1, min(8, args['BLOCK'] // 128)),\n"
        "})\n"
        "@triton.jit\n"
        "def k(x, bias, n, W_BLOCK: tl.constexpr, W_EVEN: tl.constexpr, W_BIAS: tl.constexpr,\n"
        "      W_HALF: tl.constexpr, W_RATIO: tl.constexpr, W_KIND: tl.constexpr,\n"
        "      BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr,\n"
        "      HALF_TYPE: tl.constexpr, RATIO: tl.constexpr, KIND: tl.constexpr):\n"
        "    tl.static_assert(BLOCK == W_BLOCK)\n"
        "    tl.static_assert(EVEN == W_EVEN)\n"
        "    tl.static_assert(HAS_BIAS == W_BIAS)\n"
        "    tl.static_assert(HALF_TYPE == W_HALF)\n"
        "    tl.static_assert(RATIO == W_RATIO)\n"
        "    tl.static_assert(KIND == W_KIND)\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    tl.store(x + i, 1.0, mask=i < n)\n";
    static const struct {
        tile_dtype type;
        const char *bias, *wanted[6];
        int64_t n;
        unsigned threads;
    } cases[] = {
        {TILE_FP16, "None", {"1024", "False", "False", "True", "250.0", "'long'"}, 1000, 256},
        {TILE_FP32, "None", {"1024", "True", "False", "False", "-1.5", "'long'"}, 1024, 256},
        {TILE_BF16, NULL, {"64", "True", "True", "True", "-1.5", "'short'"}, 64, 32},
        {TILE_FP32, NULL, {"32", "False", "True", "False", "8.0", "'short'"}, 32, 32},
        {TILE_FP32, NULL, {"8192", "False", "True", "False", "2000.0", "'short'"}, 8000, 256},
    };
    tile_function *function = function_of(f, kernel);
    tile_device *device = open_device(f);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tile_argument arguments[9] = {tile_pointer(0x1000, cases[c].type),
                                      cases[c].bias ? tile_constexpr(text(cases[c].bias))
                                                    : tile_pointer(0x2000, TILE_FP32),
                                      tile_int(cases[c].n)};
        memcpy(f->cuda->param_bytes, cases[c].bias ? "\10\4" : "\10\10\4", cases[c].bias ? 3 : 4);
        for (int i = 0; i < 6; i++)
            arguments[3 + i] = tile_constexpr(text(cases[c].wanted[i]));
        assert_int_equal(call(f, function, device, arguments, 9), TILE_OK);
        assert_int_equal(f->cuda->block[0], cases[c].threads);
        /* The test can fail: another expectation is refused by the kernel. */
        arguments[4] = tile_constexpr(text("None"));
        assert_int_equal(call(f, function, device, arguments, 9), TILE_ERROR_SOURCE);
    }
    assert_int_equal(f->cuda->loads, sizeof cases / sizeof *cases);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* The outer decorator comes first, and those inside see what it gave. */
static void heuristics_see_each_other(void **state) {
    Fixture *f = *state;
    static const char kernel[] = HEAD
        "@triton.heuristics({'A': lambda args: args['n'] + 1})\n"
        "@triton.heuristics(values={'B': lambda args: args['A'] * 2, 'C': lambda a: a['B'] - 1})\n"
        "@triton.jit\n"
        "def k(x, n, W: tl.constexpr, C: tl.constexpr, B: tl.constexpr, A: tl.constexpr):\n"
        "    tl.static_assert(A + B + C == W)\n"
        "    tl.store(x, n)\n";
    tile_function *function = function_of(f, kernel);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(4),
                                       tile_constexpr_int(5 + 10 + 9)};
    memcpy(f->cuda->param_bytes, "\10\4", 3);
    assert_int_equal(call(f, function, device, arguments, 3), TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What the options say of a parameter wins, and its heuristic is not even read. */
static void options_win(void **state) {
    Fixture *f = *state;
    static const char kernel[] = HEAD
        "@triton.heuristics({'A': lambda args: args['n'].shape[0], 'B': lambda args: args['A']})\n"
        "@triton.jit\n"
        "def k(x, n, A: tl.constexpr, B: tl.constexpr):\n"
        "    tl.static_assert(A == 3 and B == 3)\n"
        "    tl.store(x, n)\n";
    const tile_named a = {text("A"), text("3")};
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("k.tile"),
                                          .source = text(kernel),
                                          .constexprs = &a,
                                          .constexpr_count = 1};
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, &diagnostics), TILE_OK);
    assert_null(diagnostics);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(4)};
    memcpy(f->cuda->param_bytes, "\10\4", 3);
    assert_int_equal(call(f, function, device, arguments, 2), TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What cannot be evaluated is said, at its place, and left to the call. */
static void unread_heuristics_are_the_callers(void **state) {
    Fixture *f = *state;
    static const char kernel[] = HEAD "def choose(args):\n    return 3\n"
                                      "@triton.heuristics({'A': choose, 'B': lambda args: 2})\n"
                                      "@triton.jit\n"
                                      "def k(x, A: tl.constexpr, B: tl.constexpr):\n"
                                      "    tl.static_assert(A == 7 and B == 2)\n"
                                      "    tl.store(x, 1)\n";
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(create(f, kernel, &function, &diagnostics), TILE_OK);
    tile_diagnostic said = {.size = sizeof said};
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    assert_int_equal(tile_diagnostics_get(diagnostics, 0, &said), TILE_OK);
    assert_string_equal(said.id.data, "heuristic_not_read");
    assert_int_equal(said.severity, TILE_WARNING);
    assert_int_equal(said.line, 8);
    tile_diagnostics_destroy(diagnostics);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_constexpr_int(7)};
    memcpy(f->cuda->param_bytes, "\10", 2);
    assert_int_equal(call(f, function, device, arguments, 2), TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void failing_heuristics_are_located(void **state) {
    Fixture *f = *state;
    static const struct {
        const char *lambda, *id;
    } cases[] = {
        {"args['n'] // (args['n'] - 4)", "host_zero_division"},
        {"args['n'] << 62", "host_overflow"},
        {"args['x'] + 1", "host_types"},
        {"args['x']", "host_types"},
    };
    tile_device *device = open_device(f);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char kernel[512];
        snprintf(kernel, sizeof kernel,
                 HEAD "@triton.heuristics({'A': lambda args: %s})\n@triton.jit\n"
                      "def k(x, n, A: tl.constexpr):\n    tl.store(x, n)\n",
                 cases[c].lambda);
        tile_function *function = function_of(f, kernel);
        const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(4)};
        static const uint32_t grid[3] = {1, 1, 1};
        tile_diagnostics *diagnostics = NULL;
        assert_int_equal(
            tile_function_launch(function, device, grid, NULL, arguments, 2, &diagnostics),
            TILE_ERROR_INVALID_ARGUMENT);
        tile_diagnostic said = {.size = sizeof said};
        assert_int_equal(tile_diagnostics_get(diagnostics, 0, &said), TILE_OK);
        assert_string_equal(said.id.data, cases[c].id);
        assert_int_equal(said.line, 6);
        assert_string_equal(said.path.data, "k.tile");
        tile_diagnostics_destroy(diagnostics);
        tile_function_destroy(function);
    }
    tile_function *function = NULL;
    assert_int_equal(create(f,
                            HEAD "@triton.heuristics({'C': lambda args: 1})\n@triton.jit\n"
                                 "def k(x, A):\n    tl.store(x, A)\n",
                            &function, NULL),
                     TILE_ERROR_SOURCE);
    tile_device_close(device);
}

/* Instances of a parameter that jit is told not to specialise. */
static unsigned instances(Fixture *f, const char *options, bool pointer) {
    char kernel[512];
    snprintf(kernel, sizeof kernel, HEAD "@triton.jit(%s)\ndef k(x, n):\n    tl.store(x + n, n)\n",
             options);
    tile_function *function = function_of(f, kernel);
    tile_device *device = open_device(f);
    static const int64_t values[] = {1, 3, 16, 32, 24};
    const unsigned before = f->cuda->loads;
    memcpy(f->cuda->param_bytes, "\10\4", 3);
    for (int i = 0; i < 5; i++) {
        const tile_argument arguments[] = {
            tile_pointer(0x1000 + (pointer ? 4 * (uint64_t)values[i] : 0), TILE_I32),
            tile_int(pointer ? 3 : values[i])};
        assert_int_equal(call(f, function, device, arguments, 2), TILE_OK);
    }
    tile_function_destroy(function);
    tile_device_close(device);
    return f->cuda->loads - before;
}

static void jit_options_limit_specialisation(void **state) {
    Fixture *f = *state;
    assert_int_equal(instances(f, "", false), 4); /* 1; 3; 16 and 32; 24 */
    assert_int_equal(instances(f, "do_not_specialize=['n']", false), 1);
    assert_int_equal(instances(f, "do_not_specialize=[1]", false), 1);
    assert_int_equal(instances(f, "do_not_specialize_on_alignment=['n']", false), 2); /* 1 */
    assert_int_equal(instances(f, "", true), 2);
    assert_int_equal(instances(f, "do_not_specialize_on_alignment=('x',)", true), 1);
    assert_int_equal(instances(f, "do_not_specialize=['x']", true), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(heuristics_are_evaluated),
        TEST(heuristics_see_each_other),
        TEST(options_win),
        TEST(unread_heuristics_are_the_callers),
        TEST(failing_heuristics_are_located),
        TEST(jit_options_limit_specialisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
