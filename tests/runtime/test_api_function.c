/* Functions of the public API, which make an instance for the arguments of each call. */
#include "api_testing.h"

#include <pthread.h>

static tile_function *function_of(Fixture *f, const char *kernel) {
    const tile_compile_options options = {
        .size = sizeof options, .path = text("scale.tile"), .source = text(kernel)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

static tile_function *make_function(Fixture *f) {
    return function_of(f, source);
}

static const tile_executable *instance(tile_function *function, tile_device *device,
                                       uint64_t address, int64_t n, int64_t block) {
    const tile_argument arguments[] = {tile_pointer(address, TILE_FP32), tile_int(n),
                                       tile_float(2.0), tile_constexpr_int(block)};
    const tile_executable *executable = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_status status =
        tile_function_instance(function, device, arguments, 4, &executable, &diagnostics);
    if (status != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    return executable;
}

/* The instances are Triton's: multiples of 16, ones, widths of integers, types, constexprs; and
 * integers equal to a constexpr, multiples of 8. */
static void function_specialises(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_executable *base = instance(function, device, 1 << 12, 1004, 1024);
    assert_ptr_equal(base, instance(function, device, 1 << 16, 1002, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1000, 1024));
    assert_ptr_not_equal(base, instance(function, device, 4100, 1004, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1008, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, (int64_t)1 << 40, 1024));
    assert_ptr_not_equal(base, instance(function, device, 1 << 12, 1004, 512));
    assert_int_equal(f->cuda->loads, 7);
    assert_ptr_equal(base, instance(function, device, 1 << 12, 1004, 1024));
    assert_int_equal(f->cuda->loads, 7);
    /* Multiples of 8 that are none of 16 are of one kind. */
    const tile_executable *eights = instance(function, device, 1 << 12, 1000, 1024);
    assert_ptr_equal(eights, instance(function, device, 1 << 12, 1016, 1024));
    assert_ptr_not_equal(eights, instance(function, device, 1 << 12, 1008, 1024));
    assert_int_equal(f->cuda->loads, 7);
    /* An integer equal to a constexpr is one of its own, and of that value only. */
    const tile_executable *multiple = instance(function, device, 1 << 12, 1008, 1024);
    const tile_executable *equal = instance(function, device, 1 << 12, 1024, 1024);
    assert_ptr_not_equal(equal, multiple);
    assert_ptr_equal(multiple, instance(function, device, 1 << 12, 512, 1024));
    assert_ptr_not_equal(equal, instance(function, device, 1 << 12, 512, 512));
    assert_ptr_equal(equal, instance(function, device, 1 << 16, 1024, 1024));
    assert_int_equal(f->cuda->loads, 9);
    tile_function_destroy(function);
    tile_device_close(device);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
}

/* Constexprs of the options count as those of the call do. */
static void function_specialises_on_options(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_compile_options options = scale_options();
    const tile_named block = {text("BLOCK"), text("1024")};
    options.signature = (tile_text){0};
    options.constexprs = &block;
    options.constexpr_count = 1;
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    const tile_executable *made[3];
    static const int64_t sizes[] = {1008, 1024, 2048};
    for (int i = 0; i < 3; i++) {
        const tile_argument arguments[] = {tile_pointer(1 << 12, TILE_FP32), tile_int(sizes[i]),
                                           tile_float(2.0)};
        assert_int_equal(tile_function_instance(function, device, arguments, 3, &made[i], NULL),
                         TILE_OK);
    }
    assert_ptr_equal(made[0], made[2]);
    assert_ptr_not_equal(made[0], made[1]);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_launches(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(-3),
                                       tile_float(0.5), tile_constexpr(text("1024"))};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4}, 3);
    const uint32_t grid[3] = {8, 1, 1};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, NULL),
                     TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    assert_true(f->cuda->values[0] == 0x1000);
    assert_int_equal((int32_t)f->cuda->values[1], -3);
    float half = 0.5f;
    assert_memory_equal(&f->cuda->values[2], &half, 4);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 3, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Parameters with a default may be left out from the end; those without one are owed. */
static void function_takes_defaults(void **state) {
    Fixture *f = *state;
    static const char with_defaults[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef shift(x, n, BLOCK: tl.constexpr = 64, BY: tl.constexpr = 1):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, i + BY, mask=i < n)\n";
    tile_function *function = function_of(f, with_defaults);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(50),
                                       tile_constexpr_int(64), tile_constexpr_int(3)};
    const uint32_t grid[3] = {1, 1, 1};
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4}, 2);
    for (size_t count = 2; count <= 4; count++)
        assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, count, NULL),
                         TILE_OK);
    assert_int_equal(f->cuda->launches, 3);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 1, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 5, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_reports_what_the_call_makes_wrong(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(3),
                                       tile_float(0.5), tile_constexpr_int(1000)};
    const uint32_t grid[3] = {8, 1, 1};
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, &diagnostics),
                     TILE_ERROR_SOURCE);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    tile_diagnostics_destroy(diagnostics);
    tile_compile_options options = scale_options();
    options.signature = (tile_text){0};
    options.kernel = text("scales");
    tile_function *other = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &other, &diagnostics),
                     TILE_ERROR_SOURCE);
    assert_non_null(strstr(tile_diagnostics_text(diagnostics).data, "scale"));
    tile_diagnostics_destroy(diagnostics);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A call that is refused says what of it is wrong. */
static void refused_arguments_are_named(void **state) {
    Fixture *f = *state;
    const tile_argument good[] = {tile_pointer(0x1000, TILE_FP32), tile_int(3), tile_float(0.5),
                                  tile_constexpr_int(1024), tile_int(1)};
    const struct {
        size_t count, at;
        tile_argument argument;
        const char *id, *says;
    } cases[] = {
        {3, 0, good[0], "call_argument_count", "takes 4 to 4 arguments, and 3 were given"},
        {5, 0, good[0], "call_argument_count", "and 5 were given"},
        {4, 1, {.kind = (tile_argument_kind)77}, "call_argument", "argument 2 ('n') of 'scale'"},
        {4, 0, tile_pointer(0, TILE_DTYPE_AUTO), "call_argument", "argument 1 ('x')"},
        {4, 0, tile_pointer(0, (tile_dtype)99), "call_argument", "no type 99"},
        {4, 1, {.kind = TILE_ARGUMENT_INT, .type = TILE_FP16}, "call_argument", "as fp16"},
        {4, 2, {.kind = TILE_ARGUMENT_FLOAT, .type = TILE_I32}, "call_argument", "not as i32"},
        {4, 3, tile_constexpr((tile_text){"1", 100000}), "call_argument", "too long"},
    };
    const uint32_t grid[3] = {1, 1, 1};
    tile_function *function = make_function(f);
    tile_device *device = open_device(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_argument arguments[5];
        memcpy(arguments, good, sizeof arguments);
        arguments[cases[i].at] = cases[i].argument;
        for (int k = 0; k < 2; k++) {
            tile_diagnostics *said = NULL;
            const tile_executable *executable;
            tile_status status = k ? tile_function_instance(function, device, arguments,
                                                            cases[i].count, &executable, &said)
                                   : tile_function_launch(function, device, grid, NULL, arguments,
                                                          cases[i].count, &said);
            tile_diagnostic only = {.size = sizeof only};
            assert_int_equal(status, TILE_ERROR_INVALID_ARGUMENT);
            assert_int_equal(tile_diagnostics_get(said, 0, &only), TILE_OK);
            assert_string_equal(only.id.data, cases[i].id);
            assert_non_null(strstr(only.message.data, cases[i].says));
            tile_diagnostics_destroy(said);
        }
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What is given for a parameter fits or is an error of the caller, the second time as the first. */
static void function_takes_or_refuses_every_kind(void **state) {
    Fixture *f = *state;
    static const char mixed[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef mixed(x, n, factor, BLOCK: tl.constexpr, by=1):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    tl.store(x + i, tl.load(x + i, mask=i < n) * factor + by, mask=i < n)\n";
    const tile_argument good[] = {tile_pointer(0x1000, TILE_FP32), tile_int(50), tile_float(2),
                                  tile_constexpr_int(64), tile_int(3)};
    const tile_argument unknown = {.kind = (tile_argument_kind)77};
    const tile_argument kinds[] = {unknown,
                                   tile_pointer(0, TILE_FP16),
                                   tile_pointer(0x1001, TILE_I1),
                                   tile_int(1),
                                   tile_int(INT64_MIN),
                                   tile_float(0.5),
                                   tile_constexpr_int(32),
                                   tile_constexpr_int(-1),
                                   tile_constexpr(text("None")),
                                   tile_constexpr(text("")),
                                   tile_constexpr((tile_text){NULL, 10}),
                                   tile_constexpr(text("x[0]"))};
    tile_function *function = function_of(f, mixed);
    tile_device *device = open_device(f);
    unsigned taken = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t at = 0; at < 5; at++) {
            tile_argument arguments[5];
            memcpy(arguments, good, sizeof arguments);
            arguments[at] = kinds[i];
            const uint32_t grid[3] = {1, 1, 1};
            tile_status status[2];
            for (int k = 0; k < 2; k++)
                status[k] = tile_function_launch(function, device, grid, NULL, arguments, 5, NULL);
            assert_int_equal(status[0], status[1]);
            assert_true(status[0] == TILE_OK || status[0] == TILE_ERROR_SOURCE ||
                        status[0] == TILE_ERROR_INVALID_ARGUMENT);
            taken += status[0] == TILE_OK;
        }
    assert_int_equal(f->cuda->launches, 2 * taken);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void function_without_a_name(void **state) {
    Fixture *f = *state;
    static const char with_helper[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef twice(x):\n    return x * 2\n"
        "@triton.jit\ndef double(x, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(x + i, twice(tl.load(x + i)))\n";
    tile_function *function = function_of(f, with_helper);
    assert_non_null(function);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_constexpr_int(64)};
    const uint32_t grid[3] = {1, 1, 1};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 2, NULL),
                     TILE_OK);
    assert_string_equal(f->cuda->function, "double");
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Many instances, so that the table grows, from several threads at once. */
typedef struct Worker {
    tile_function *function;
    tile_device *device;
    const tile_executable *instances[8];
    pthread_t thread;
} Worker;

static void *use_function(void *argument) {
    Worker *worker = argument;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 8; i++)
            worker->instances[i] =
                instance(worker->function, worker->device, 0x1000, 1000, (int64_t)16 << i);
    return NULL;
}

static void threads_share_instances(void **state) {
    enum { THREADS = 4 };
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make_function(f);
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){.function = function, .device = device};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, use_function, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(workers[0].instances, workers[i].instances,
                            sizeof workers[0].instances);
    assert_int_equal(f->cuda->loads, 8);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(function_specialises),
        TEST(function_specialises_on_options),
        TEST(function_launches),
        TEST(function_takes_defaults),
        TEST(function_reports_what_the_call_makes_wrong),
        TEST(refused_arguments_are_named),
        TEST(function_takes_or_refuses_every_kind),
        TEST(function_without_a_name),
        TEST(threads_share_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
