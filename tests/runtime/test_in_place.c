/* Launches that give one array as two arguments which the code takes to be apart: functions take
 * another form, of their own or of a bundle, executables refuse. On the driver of fake_cuda.c, and
 * on the hosts. */
#include "bundle_testing.h"

/* Row i + 1 of y is what rows 0 to i of x come to. */
static const char smooth[] = "import triton\n"
                             "import triton.language as tl\n"
                             "@triton.jit\n"
                             "def smooth(x, y, rows):\n"
                             "    i = tl.arange(0, 32)\n"
                             "    state = tl.zeros((32, 32), tl.float32)\n"
                             "    for row in range(rows):\n"
                             "        line = tl.load(x + row * 32 + i)\n"
                             "        state = state * 0.5 + line[:, None]\n"
                             "        tl.store(y + (row + 1) * 32 + i, tl.sum(state, 0) / 32)\n";
static const uint32_t grid[] = {1, 1, 1};

static tile_compile_options smooth_options(void) {
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text("smooth.tile"),
                                  .source = text(smooth),
                                  .num_stages = 3};
}

static tile_function *make(Fixture *f) {
    const tile_compile_options options = smooth_options();
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

static tile_status launch(tile_function *function, tile_device *device, uint64_t x, uint64_t y,
                          tile_diagnostics **said) {
    const tile_argument arguments[] = {tile_pointer(x, TILE_FP32), tile_pointer(y, TILE_FP32),
                                       tile_int(16)};
    return tile_function_launch(function, device, grid, NULL, arguments, 3, said);
}

static void functions_take_another_form(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make(f);
    tile_diagnostics *said = NULL;
    assert_int_equal(launch(function, device, 0x10000, 0x20000, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(f->cuda->loads, 1);
    const unsigned apart = f->cuda->shared_bytes;
    assert_int_equal(launch(function, device, 0x10000, 0x10000, &said), TILE_OK);
    assert_string_equal(tile_diagnostics_text(said).data,
                        "tilec: remark: kernel 'smooth' keeps the order of its loads and stores "
                        "here: 'x' and 'y' are one array\n");
    tile_diagnostics_destroy(said);
    assert_int_equal(f->cuda->loads, 2);
    assert_int_equal(f->cuda->launches, 2);
    /* Nothing waits in rings. */
    assert_true(f->cuda->shared_bytes < apart);
    /* Made and said once; the first form stays in use. */
    assert_int_equal(launch(function, device, 0x30000, 0x30000, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(launch(function, device, 0x10000, 0x30000, &said), TILE_OK);
    assert_int_equal(f->cuda->shared_bytes, apart);
    /* Pointers to nowhere are no array. */
    assert_int_equal(launch(function, device, 0, 0, &said), TILE_OK);
    assert_int_equal(f->cuda->shared_bytes, apart);
    assert_int_equal(f->cuda->loads, 2);
    assert_int_equal(f->cuda->launches, 5);
    tile_function_destroy(function);
    assert_int_equal(f->cuda->unloads, 2);
    tile_device_close(device);
}

/* Both forms are found in the cache by whoever comes later. */
static void forms_are_cached(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    for (int round = 0; round < 2; round++) {
        tile_function *function = make(f);
        const tile_executable *used = NULL;
        tile_kernel *kernel = NULL;
        tile_kernel_info info = {.size = sizeof info};
        const tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32),
                                           tile_pointer(0x10000, TILE_FP32), tile_int(16)};
        tile_call call = {.size = sizeof call,
                          .device = device,
                          .grid = grid,
                          .arguments = arguments,
                          .argument_count = 3};
        assert_int_equal(tile_function_call(function, &call, &used, NULL), TILE_OK);
        assert_non_null(used);
        assert_int_equal(tile_function_kernel(function, &call, 0, &kernel, NULL), TILE_OK);
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        assert_int_equal(info.apart_count, 0);
        assert_true(info.from_cache);
        tile_kernel_destroy(kernel);
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

/* Without preparing nothing is made, and either form makes the function forget both. */
static void steps_know_the_form(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = make(f);
    tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP32), tile_pointer(0x20000, TILE_FP32),
                                 tile_int(16)};
    tile_call call = {.size = sizeof call,
                      .device = device,
                      .grid = grid,
                      .arguments = arguments,
                      .argument_count = 3};
    const tile_executable *first = NULL, *other = NULL;
    assert_int_equal(tile_function_call(function, &call, &first, NULL), TILE_OK);
    arguments[1] = arguments[0];
    call.steps = TILE_CALL_FIND;
    assert_int_equal(tile_function_call(function, &call, &other, NULL), TILE_ERROR_NOT_COMPILED);
    call.steps = TILE_CALL_LAUNCH;
    assert_int_equal(tile_function_call(function, &call, &other, NULL), TILE_ERROR_NOT_COMPILED);
    assert_int_equal(f->cuda->launches, 1);
    call.steps = TILE_CALL_PREPARE;
    assert_int_equal(tile_function_call(function, &call, &other, NULL), TILE_OK);
    assert_ptr_not_equal(first, other);
    assert_int_equal(f->cuda->launches, 1);
    assert_int_equal(tile_function_forget(function, other), TILE_OK);
    call.steps = TILE_CALL_FIND;
    assert_int_equal(tile_function_call(function, &call, &first, NULL), TILE_ERROR_NOT_COMPILED);
    tile_function_destroy(function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(device);
}

/* Configurations are measured in the form that the call needs: none is struck out. */
static void configurations_are_measured(void **state) {
    Fixture *f = *state;
    const tile_named tried[] = {{text("num_warps"), text("[1, 2]")}};
    tile_compile_options options = smooth_options();
    tile_device *device = open_device(f);
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    options.tune = tried;
    options.tune_count = 1;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    assert_int_equal(launch(function, device, 0x10000, 0x10000, &said), TILE_OK);
    /* All parts of the call are heard: the tuner, which said so first, and the other form. */
    tile_diagnostic tuned = {.size = sizeof tuned}, formed = {.size = sizeof formed};
    assert_int_equal(tile_diagnostics_count(said), 2);
    assert_int_equal(tile_diagnostics_get(said, 0, &tuned), TILE_OK);
    assert_int_equal(tile_diagnostics_get(said, 1, &formed), TILE_OK);
    assert_non_null(strstr(tuned.message.data, "the best of 2 configurations (0 struck out"));
    assert_non_null(strstr(formed.message.data, "'x' and 'y' are one array"));
    const char *whole = tile_diagnostics_text(said).data;
    assert_memory_equal(whole, tuned.rendered.data, tuned.rendered.size);
    assert_string_equal(whole + tuned.rendered.size, formed.rendered.data);
    const char *json = tile_diagnostics_json(said).data;
    assert_non_null(strstr(json, "\"notes\": []}, {\"severity\": \"remark\""));
    assert_true(json[0] == '[' && json[strlen(json) - 1] == ']');
    tile_diagnostics_destroy(said);
    assert_true(f->cuda->launches > 2);
    tile_function_destroy(function);
    tile_device_close(device);
}

static tile_executable *load(Fixture *f, tile_device *device, bool in_place, size_t apart) {
    tile_compile_options options = smooth_options();
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    tile_kernel_info info = {.size = sizeof info};
    options.signature = text("*fp32:16, *fp32:16, i32:16");
    options.device = device;
    options.in_place = in_place;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_int_equal(info.apart_count, apart);
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    return executable;
}

/* As each pair by itself says it, whatever pointers share a bit. */
static void pairs_are_found(void **state) {
    enum { PARAMS = 12, PAIRS = 20 };
    (void)state;
    Ctx *ctx = ctx_create();
    uint64_t seed = 1;
    unsigned found = 0;
    assert_null(apart_create(&ctx->arena, &(ApartList){0}));
    for (int round = 0; round < 2000; round++) {
        ApartList list = {0};
        uint64_t values[PARAMS];
        const void *params[PARAMS];
        for (int i = 0; i < PARAMS; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            values[i] = (seed >> 40) % 50 * 512;
            params[i] = &values[i];
        }
        for (int i = 0; i < PAIRS; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            const ApartParams pair = {(uint32_t)(seed >> 33) % 6, 5 + (uint32_t)(seed >> 48) % 6};
            if (pair.loaded != pair.stored)
                vec_push(&ctx->arena, &list, pair);
        }
        const Apart *apart = apart_create(&ctx->arena, &list);
        const ApartParams *wanted = NULL;
        for (size_t i = 0; i < list.len && !wanted; i++)
            if (values[list.data[i].loaded] == values[list.data[i].stored] &&
                values[list.data[i].loaded])
                wanted = &list.data[i];
        const ApartParams *pair = apart_find(apart, params);
        assert_int_equal(pair != NULL, wanted != NULL);
        if (pair) {
            assert_int_equal(pair->loaded, wanted->loaded);
            assert_int_equal(pair->stored, wanted->stored);
        }
        found += pair != NULL;
    }
    assert_in_range(found, 100, 1900);
    ctx_destroy(ctx);
}

/* Without its source an executable has one form. */
static void executables_refuse(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    uint64_t x = 0x10000, y = 0x20000;
    int32_t rows = 16;
    void *params[] = {&x, &y, &rows};
    tile_executable *apart = load(f, device, false, 1), *in_place = load(f, device, true, 0);
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_launch(apart, grid, NULL, params, 3), TILE_OK);
    assert_int_equal(tile_executable_check(apart, params, 3, &said), TILE_OK);
    y = x;
    assert_int_equal(tile_launch(apart, grid, NULL, params, 3), TILE_ERROR_IN_PLACE);
    assert_int_equal(f->cuda->launches, 1);
    assert_int_equal(tile_launch_with(apart, grid, NULL, params, 3, NULL, &said),
                     TILE_ERROR_IN_PLACE);
    assert_non_null(strstr(tile_diagnostics_text(said).data,
                           "kernel 'smooth' loads through one of two arguments ahead of what it "
                           "stores through the other, and here 'x' and 'y' are one array"));
    assert_non_null(strstr(tile_diagnostics_text(said).data, "compile with in_place"));
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_executable_check(apart, params, 3, &said), TILE_ERROR_IN_PLACE);
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_launch(in_place, grid, NULL, params, 3), TILE_OK);
    assert_int_equal(f->cuda->launches, 2);
    tile_executable_destroy(apart);
    tile_executable_destroy(in_place);
    tile_device_close(device);
}

/* What a bundle has not is not launched. */
static void bundles_have_forms(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    for (int has_form = 0; has_form < 2; has_form++) {
        Making making = {0};
        tile_compile_options options = smooth_options();
        tile_diagnostics *said = NULL;
        options.signature = text("*fp32:16, *fp32:16, i32:16");
        options.target = text("sm_90a");
        options.want = TILE_WANT(TILE_OUTPUT_PTX);
        compile_variant(f, &making, &options);
        assert_int_equal(making.variants[0].facts.meta.apart.len, 1);
        options.in_place = true;
        if (has_form)
            compile_variant(f, &making, &options);
        tile_bundle *bundle = open_good(f, finish(ctx, &making));
        tile_device *device = open_device(f);
        tile_function *function = NULL;
        const tile_kernel *kernel = NULL;
        tile_variant_info info = {.size = sizeof info};
        const tile_compile_options choose = {.size = sizeof choose};
        assert_int_equal(tile_bundle_function(bundle, &choose, &function, NULL), TILE_OK);
        const unsigned before = f->cuda->launches;
        assert_int_equal(launch(function, device, 0x10000, 0x20000, NULL), TILE_OK);
        assert_int_equal(launch(function, device, 0x10000, 0x10000, &said),
                         has_form ? TILE_OK : TILE_ERROR_NO_VARIANT);
        assert_int_equal(f->cuda->launches, before + 1 + (unsigned)has_form);
        assert_int_equal(!strstr(tile_diagnostics_text(said).data,
                                 "there is none for one array as two arguments"),
                         has_form);
        tile_diagnostics_destroy(said);
        assert_int_equal(tile_bundle_get_variant(bundle, (size_t)has_form, &kernel, &info),
                         TILE_OK);
        assert_int_equal(info.is_in_place, has_form);
        assert_false(info.is_other_form);
        tile_function_destroy(function);
        tile_device_close(device);
        tile_bundle_close(bundle);
    }
    ctx_destroy(ctx);
}

/* As the source says it, in numbers that floats hold. */
static void expect(float *x, int rows) {
    float state[32] = {0};
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < 32; i++) {
            float sum = 0;
            state[i] = state[i] * 0.5f + x[row * 32 + i];
            if (i < 31)
                continue;
            for (int k = 0; k < 32; k++)
                sum += state[k];
            for (int k = 0; k < 32; k++)
                x[(row + 1) * 32 + k] = sum / 32;
        }
}

static void hosts_agree(void **state) {
    enum { ROWS = 8, COUNT = (ROWS + 1) * 32 };
    Fixture *f = *state;
    static const tile_host_kind kinds[] = {TILE_HOST_INTERPRETER, TILE_HOST_SIMULATOR};
    for (int k = 0; k < 2; k++) {
        const tile_host_options options = {.size = sizeof options, .kind = kinds[k], .early = true};
        tile_device *device = NULL;
        tile_function *function = make(f);
        _Alignas(16) float x[COUNT], wanted[COUNT];
        assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < COUNT; i++)
                x[i] = wanted[i] = (float)(i % 4);
            expect(wanted, ROWS);
            const tile_argument array = tile_buffer((uint64_t)(uintptr_t)x, TILE_FP32, sizeof x);
            const tile_argument arguments[] = {array, array, tile_int(ROWS)};
            tile_diagnostics *said = NULL;
            if (tile_function_launch(function, device, grid, NULL, arguments, 3, &said) != TILE_OK)
                fail_msg("%s", tile_diagnostics_text(said).data);
            assert_int_equal(said != NULL, k == 1 && round == 0);
            tile_diagnostics_destroy(said);
            for (int i = 0; i < COUNT; i++)
                assert_true(x[i] == wanted[i]);
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(functions_take_another_form), TEST(forms_are_cached),
        TEST(steps_know_the_form),         TEST(configurations_are_measured),
        cmocka_unit_test(pairs_are_found), TEST(executables_refuse),
        TEST(bundles_have_forms),          TEST(hosts_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
