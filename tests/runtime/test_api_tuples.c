/* Arguments that are tuples, and numbers of 16 bits: what is compiled for them, what a launch
 * passes, and what is wrong with them. */
#include "api_testing.h"

static const char kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def total(items):\n"
    "    sum = 0\n"
    "    for i in tl.static_range(len(items)):\n"
    "        if items[i] is not None:\n"
    "            sum += items[i]\n"
    "    return sum\n"
    "\n"
    "\n"
    "@triton.jit(do_not_specialize=[\"x\"])\n"
    "def k(x, out, scale, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    n = x[1]\n"
    "    v = tl.load(x[0] + i, mask=i < n, other=0.0)\n"
    "    tl.store(out + i, v * scale + total(x[2]), mask=i < n)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def shaped(shape: tl.constexpr, out):\n"
    "    i = tl.arange(0, shape[0] * shape[1])\n"
    "    tl.store(out + i, i * 1.0)\n"
    "\n"
    "\n"
    "@triton.autotune(configs=[triton.Config({\"BLOCK\": 16})], key=[\"n\"])\n"
    "@triton.jit\n"
    "def tuned(x, n, BLOCK: tl.constexpr):\n"
    "    tl.store(x[0], BLOCK * 1.0)\n";

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))
#define BUFFER(array) tile_buffer(AT(array), TILE_FP32, sizeof(array))
#define TUPLE(items) tile_tuple(items, COUNT(items))

static tile_argument typed(tile_argument argument, tile_dtype type) {
    argument.type = type;
    return argument;
}

static tile_function *make_function(Fixture *f, const char *kernel) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(kernels),
                                          .kernel = text(kernel)};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_create(f->context, &options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return function;
}

static tile_device *open_host(Fixture *f, tile_host_kind kind) {
    const tile_host_options options = {.size = sizeof options, .kind = kind};
    tile_device *device = NULL;
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
    return device;
}

static void launch(tile_function *function, tile_device *device, const tile_argument *arguments,
                   size_t count) {
    const uint32_t grid[3] = {1, 1, 1};
    tile_diagnostics *said = NULL;
    if (tile_function_launch(function, device, grid, NULL, arguments, count, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

/* The call is refused, in such words. */
static void refused(tile_function *function, tile_device *device, const tile_argument *arguments,
                    size_t count, tile_status status, const char *words) {
    const uint32_t grid[3] = {1, 1, 1};
    tile_diagnostics *said = NULL;
    const tile_status found =
        tile_function_launch(function, device, grid, NULL, arguments, count, &said);
    if (found != status || !strstr(tile_diagnostics_text(said).data, words))
        fail_msg("%s: wanted \"%s\", got %s", tile_status_text(found), words,
                 tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

/* Items reach the kernel in their places, on both kinds of hosts. */
static void tuples_run(void **state) {
    for (int kind = TILE_HOST_INTERPRETER; kind <= TILE_HOST_SIMULATOR; kind++) {
        tile_device *device = open_host(*state, (tile_host_kind)kind);
        tile_function *function = make_function(*state, "k");
        float x[64], out[64];
        for (int n = 1; n <= 64; n += 21) { /* 1, 22, 43, 64: among them a constant, a multiple */
            for (int i = 0; i < 64; i++) {
                x[i] = (float)i;
                out[i] = -1;
            }
            const tile_argument nested[] = {tile_int(1), tile_constexpr(text("None")),
                                            typed(tile_int(INT64_C(1) << 33), TILE_I64),
                                            tile_constexpr_int(5), tile_float(0.25)};
            const tile_argument items[] = {BUFFER(x), tile_int(n), TUPLE(nested)};
            const tile_argument arguments[] = {TUPLE(items), BUFFER(out), tile_float(2),
                                               tile_constexpr_int(64)};
            launch(function, device, arguments, COUNT(arguments));
            for (int i = 0; i < 64; i++) {
                const float wanted = i < n ? (float)i * 2 + (0x1p33f + 6) + 0.25f : -1;
                if (out[i] != wanted)
                    fail_msg("%d of %d is %g, wanted %g", i, n, (double)out[i], (double)wanted);
            }
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* A tuple for a constexpr is one of constexprs; an empty one is a value, too. */
static void tuples_of_constexprs(void **state) {
    tile_device *device = open_host(*state, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(*state, "shaped"), *k = make_function(*state, "k");
    float out[8] = {0}, x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    tile_argument items[] = {tile_constexpr_int(2), tile_constexpr(text("4"))};
    const tile_argument arguments[] = {TUPLE(items), BUFFER(out)};
    launch(function, device, arguments, COUNT(arguments));
    assert_true(out[7] == 7);
    const tile_argument empty[] = {BUFFER(x), tile_int(8), tile_tuple(NULL, 0)};
    const tile_argument call[] = {TUPLE(empty), BUFFER(out), tile_float(3), tile_constexpr_int(8)};
    launch(k, device, call, COUNT(call));
    assert_true(out[7] == 24);
    items[1] = tile_int(4);
    refused(function, device, arguments, COUNT(arguments), TILE_ERROR_SOURCE,
            "parameter `shape.1` is a constexpr and gets the type `i32`");
    tile_function_destroy(function);
    tile_function_destroy(k);
    tile_device_close(device);
}

static const tile_executable *instance(tile_function *function, tile_device *device,
                                       tile_argument tuple) {
    const tile_argument arguments[] = {tuple, tile_pointer(0x1000, TILE_FP32), tile_float(2),
                                       tile_constexpr_int(64)};
    const tile_executable *executable = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_instance(function, device, arguments, COUNT(arguments), &executable, &said) !=
        TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return executable;
}

/* x = (pointer, n, (last,)) */
static const tile_executable *instance_of(tile_function *function, tile_device *device,
                                          uint64_t address, int64_t n, tile_argument last) {
    const tile_argument inner[] = {last};
    const tile_argument items[] = {tile_pointer(address, TILE_FP32), tile_int(n), TUPLE(inner)};
    return instance(function, device, TUPLE(items));
}

/* Items are specialised as arguments are, also where jit is told not to specialise the parameter;
 * what tuples are made of tells instances apart. */
static void items_are_specialised(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f, "k");
    const tile_argument none = tile_constexpr(text("None")), last = tile_int(3);
    const tile_executable *made[] = {
        instance_of(function, device, 0x1000, 22, last),
        instance_of(function, device, 0x1004, 22, last),
        instance_of(function, device, 0x1000, 8, last),
        instance_of(function, device, 0x1000, 16, last),
        instance_of(function, device, 0x1000, 1, last),
        instance_of(function, device, 0x1000, 64, last), /* the constexpr of the call */
        instance_of(function, device, 0x1000, INT64_C(1) << 40, last),
        instance_of(function, device, 0x1000, 22, none),
        instance_of(function, device, 0x1000, 22, tile_constexpr_int(3)),
        instance_of(function, device, 0x1000, 22, tile_float(3)),
        instance_of(function, device, 0x1000, 22, typed(tile_float(3), TILE_FP64)),
    };
    for (size_t i = 0; i < COUNT(made); i++)
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(made[i], made[k]);
    assert_ptr_equal(made[0], instance_of(function, device, 0x2010, 1002, tile_int(5)));
    assert_ptr_equal(made[2], instance_of(function, device, 0x1000, 24, last));
    assert_ptr_equal(made[4], instance_of(function, device, 0x1000, 1, tile_int(7)));
    assert_int_equal(f->cuda->loads, COUNT(made));
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Where one tuple ends and the next begins is part of what a call is. */
static void shapes_tell_tuples_apart(void **state) {
    static const char nest[] = "import triton\n"
                               "import triton.language as tl\n"
                               "@triton.jit\n"
                               "def k(x, out, scale, BLOCK: tl.constexpr):\n"
                               "    tl.store(out, len(x) * 1.0)\n";
    Fixture *f = *state;
    tile_device *device = open_device(f);
    const tile_compile_options options = {
        .size = sizeof options, .path = text("nest.tile"), .source = text(nest)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    const tile_argument two[] = {tile_int(3), tile_int(3)}, one[] = {tile_int(3)};
    const tile_argument a[] = {TUPLE(two), tile_int(3)}, b[] = {tile_int(3), TUPLE(two)};
    const tile_argument c[] = {tile_int(3), tile_int(3), tile_int(3)};
    const tile_argument d[] = {TUPLE(one), TUPLE(two)}, e[] = {TUPLE(two), TUPLE(one)};
    const tile_argument tuples[] = {TUPLE(a), TUPLE(b), TUPLE(c),
                                    TUPLE(d), TUPLE(e), tile_tuple(c, 2)};
    for (size_t i = 0; i < COUNT(tuples); i++) {
        instance(function, device, tuples[i]);
        assert_int_equal(f->cuda->loads, i + 1);
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Values go to the driver in the order of their items; constexprs are none. */
static void items_are_passed(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f, "k");
    const tile_argument nested[] = {typed(tile_float(0.5), TILE_FP64), tile_constexpr_int(9),
                                    tile_int(-7)};
    const tile_argument items[] = {tile_pointer(0x4000, TILE_FP32), tile_int(33), TUPLE(nested)};
    const tile_argument arguments[] = {TUPLE(items), tile_pointer(0x8000, TILE_FP32), tile_float(2),
                                       tile_constexpr_int(64)};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 8, 4, 8, 4}, 6);
    launch(function, device, arguments, COUNT(arguments));
    const double half = 0.5;
    const float two = 2;
    assert_int_equal(f->cuda->launches, 1);
    assert_true(f->cuda->values[0] == 0x4000);
    assert_int_equal((int32_t)f->cuda->values[1], 33);
    assert_memory_equal(&f->cuda->values[2], &half, 8);
    assert_int_equal((int32_t)f->cuda->values[3], -7);
    assert_true(f->cuda->values[4] == 0x8000);
    assert_memory_equal(&f->cuda->values[5], &two, 4);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What is wrong with an item is said, and nothing is launched. */
static void wrong_items_are_refused(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f, "k");
    tile_argument deep[70], self[2], many[257], inner[] = {tile_int(1), tile_int(2)};
    tile_argument items[] = {tile_pointer(0x1000, TILE_FP32), tile_int(3), TUPLE(inner)};
    const tile_argument good = TUPLE(items);
    tile_argument arguments[] = {good, tile_pointer(0x8000, TILE_FP32), tile_float(2),
                                 tile_constexpr_int(64)};
#define REFUSED(words)                                                                             \
    refused(function, device, arguments, 4, TILE_ERROR_INVALID_ARGUMENT,                           \
            "argument 1 ('x') of 'k': " words)
    inner[1] = typed(tile_int(2), TILE_FP32);
    REFUSED("item 2: item 1: an integer cannot be passed as fp32");
    inner[1] = typed(tile_float(2), TILE_FP8E5);
    REFUSED("item 2: item 1: a number is passed as fp32, fp64, fp16 or bf16, not as fp8e5");
    inner[1] = tile_pointer(16, TILE_DTYPE_AUTO);
    REFUSED("item 2: item 1: a pointer needs the type");
    inner[1].kind = (tile_argument_kind)99;
    REFUSED("item 2: item 1: there is no kind 99");
    inner[1] = tile_tuple(NULL, 2);
    REFUSED("item 2: item 1: a tuple has no items");
    deep[69] = tile_int(1);
    for (int i = 68; i >= 0; i--)
        deep[i] = tile_tuple(&deep[i + 1], 1);
    arguments[0] = deep[0];
    REFUSED("tuples are more than 64 deep");
    self[0] = self[1] = TUPLE(self);
    arguments[0] = TUPLE(self);
    REFUSED("tuples are more than 64 deep");
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = tile_int(3);
    arguments[0] = TUPLE(many);
    REFUSED("this call's constexprs, tuples and descriptors are too long, or pass more than 256");
    arguments[0] = tile_tuple(many, 255); /* which leaves room for one other */
    refused(function, device, arguments, 4, TILE_ERROR_INVALID_ARGUMENT,
            "argument 3 ('scale') of 'k': this call's constexprs, tuples and descriptors are too");
#undef REFUSED
    assert_int_equal(f->cuda->launches, 0);
    assert_int_equal(f->cuda->loads, 0);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* 254 items and two more values are as many as there may be. */
static void as_many_as_there_may_be(void **state) {
    static const char all[] = "import triton\n"
                              "import triton.language as tl\n"
                              "@triton.jit\n"
                              "def k(x, out, scale, BLOCK: tl.constexpr):\n"
                              "    sum = 0\n"
                              "    for i in tl.static_range(len(x)):\n"
                              "        sum += x[i] * (i + 1)\n"
                              "    tl.store(out, sum * scale)\n";
    Fixture *f = *state;
    const tile_compile_options options = {
        .size = sizeof options, .path = text("all.tile"), .source = text(all)};
    tile_device *device = open_host(f, TILE_HOST_INTERPRETER);
    tile_function *function = NULL;
    tile_argument many[254];
    float out[1];
    long wanted = 0;
    for (int i = 0; i < 254; i++) {
        many[i] = tile_int(i);
        wanted += (long)i * (i + 1);
    }
    const tile_argument arguments[] = {TUPLE(many), BUFFER(out), tile_float(1),
                                       tile_constexpr_int(64)};
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    launch(function, device, arguments, COUNT(arguments));
    assert_true(out[0] == (float)wanted);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A kernel that takes no tuple says so at its line. */
static void misused_tuples_are_located(void **state) {
    static const char misuse[] = "import triton\n"
                                 "import triton.language as tl\n"
                                 "@triton.jit\n"
                                 "def k(x, out):\n"
                                 "    tl.store(out, x[2])\n";
    Fixture *f = *state;
    tile_device *device = open_host(f, TILE_HOST_INTERPRETER);
    const tile_compile_options options = {
        .size = sizeof options, .path = text("misuse.tile"), .source = text(misuse)};
    tile_function *function = NULL;
    float out[1];
    const tile_argument items[] = {tile_int(4), tile_int(5)};
    const tile_argument arguments[] = {TUPLE(items), BUFFER(out)};
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    refused(function, device, arguments, 2, TILE_ERROR_SOURCE, "misuse.tile:5:");
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Parameters of a kernel are the parts of its tuples, by name, and whether they are written. */
static void parameters_are_described(void **state) {
    static const struct {
        const char *name, *type;
        bool is_constexpr;
    } wanted[] = {{"x.0", "*fp32", false}, {"x.1", "i32", false},   {"x.2.0", "i32", false},
                  {"x.2.1", "None", true}, {"out", "*fp32", false}, {"scale", "fp16", false},
                  {"BLOCK", "64", true}};
    Fixture *f = *state;
    const tile_compile_options options = {
        .size = sizeof options,
        .path = text("kernels.tile"),
        .source = text(kernels),
        .kernel = text("k"),
        .signature = text("(*fp32:16, i32:8, (i32:1, =None)), *fp32, fp16, 64"),
        .want = TILE_WANT(TILE_OUTPUT_PTX)};
    for (int round = 0; round < 2; round++) { /* compiled, and from the cache */
        tile_kernel *kernel = NULL;
        tile_kernel_info info = {.size = sizeof info};
        assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        assert_int_equal(info.param_count, COUNT(wanted));
        assert_int_equal(info.from_cache, round);
        for (size_t i = 0; i < COUNT(wanted); i++) {
            tile_param_info param = {.size = sizeof param};
            assert_int_equal(tile_kernel_get_param(kernel, i, &param), TILE_OK);
            assert_string_equal(param.name.data, wanted[i].name);
            assert_string_equal(param.type.data, wanted[i].type);
            assert_int_equal(param.is_constexpr, wanted[i].is_constexpr);
            assert_int_equal(param.is_fixed, i == 2);
            assert_int_equal(param.divisible, i == 0 ? 16 : i == 1 ? 8 : 1);
            assert_int_equal(param.is_written, !strcmp(wanted[i].name, "out"));
        }
        tile_kernel_destroy(kernel);
    }
}

/* Where configurations are chosen, tuples are among the arguments. */
static void tuned_functions_take_tuples(void **state) {
    tile_device *device = open_host(*state, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(*state, "tuned");
    float x[1] = {0};
    const tile_argument items[] = {BUFFER(x)};
    const tile_argument arguments[] = {TUPLE(items), tile_int(5)};
    launch(function, device, arguments, COUNT(arguments));
    assert_true(x[0] == 16);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Numbers of 16 bits are rounded to nearest, even among equals. */
static void numbers_of_16_bits(void **state) {
    static const char copy[] = "import triton\n"
                               "import triton.language as tl\n"
                               "@triton.jit\n"
                               "def k(a, b, out):\n"
                               "    tl.static_assert(a.dtype == tl.float16)\n"
                               "    tl.static_assert(b[0].dtype == tl.bfloat16)\n"
                               "    tl.store(out, a.to(tl.float32))\n"
                               "    tl.store(out + 1, b[0].to(tl.float32))\n";
    static const struct {
        double number;
        float half, bf16;
    } rows[] = {
        {0x1.004p0, 0x1.004p0f, 1},
        {0x1.002p0, 1, 1},
        {0x1.006p0, 0x1.008p0f, 1},
        {0x1.01p0, 0x1.01p0f, 1},
        {0x1.03p0, 0x1.03p0f, 0x1.04p0f},
        {0x1.0100000000001p0, 0x1.01p0f, 0x1.02p0f}, /* which by way of fp32 would be 1 */
        {-1e30, -__builtin_inff(), -0x1.94p99f},
    };
    Fixture *f = *state;
    const tile_compile_options options = {
        .size = sizeof options, .path = text("copy.tile"), .source = text(copy)};
    for (int kind = TILE_HOST_INTERPRETER; kind <= TILE_HOST_SIMULATOR; kind++) {
        tile_device *device = open_host(f, (tile_host_kind)kind);
        tile_function *function = NULL;
        assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
        for (size_t i = 0; i < COUNT(rows); i++) {
            float out[2] = {0};
            const tile_argument b[] = {typed(tile_float(rows[i].number), TILE_BF16)};
            const tile_argument arguments[] = {typed(tile_float(rows[i].number), TILE_FP16),
                                               TUPLE(b), BUFFER(out)};
            launch(function, device, arguments, COUNT(arguments));
            if (out[0] != rows[i].half || out[1] != rows[i].bf16)
                fail_msg("%a: %a %a", rows[i].number, (double)out[0], (double)out[1]);
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(tuples_run),
        TEST(tuples_of_constexprs),
        TEST(items_are_specialised),
        TEST(shapes_tell_tuples_apart),
        TEST(items_are_passed),
        TEST(wrong_items_are_refused),
        TEST(as_many_as_there_may_be),
        TEST(misused_tuples_are_located),
        TEST(parameters_are_described),
        TEST(tuned_functions_take_tuples),
        TEST(numbers_of_16_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
