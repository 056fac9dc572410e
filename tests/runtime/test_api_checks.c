/* Contexts that hold launches to what the code takes for granted, and what they tell their log. */
#include "api_testing.h"

typedef struct Log {
    unsigned count;
    char id[64], message[256];
} Log;

static void keep(void *user, const tile_diagnostic *diagnostic) {
    Log *log = user;
    log->count++;
    snprintf(log->id, sizeof log->id, "%s", diagnostic->id.data);
    snprintf(log->message, sizeof log->message, "%s", diagnostic->message.data);
}

static tile_context *checking_context(Fixture *f, Log *log) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .log = keep,
                                          .log_user = log,
                                          .check_launches = true};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    return context;
}

static tile_executable *load(tile_context *context, tile_device *device, const char *signature,
                             bool no_persistence) {
    tile_compile_options options = scale_options();
    options.signature = text(signature);
    options.device = device;
    options.no_persistence = no_persistence;
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    return executable;
}

static void broken_promises_are_named(void **state) {
    Fixture *f = *state;
    static const struct {
        const char *signature, *id, *message; /* id NULL: the launch is good */
        uint64_t x;
        int64_t n;
        uint32_t grid[3];
    } cases[] = {
        {"*fp32:16, i32:16, fp32, 1024", NULL, "", 0x1000, 16, {1, 1, 1}},
        {"*fp32:16, i32:16, fp32, 1024", NULL, "", 0x1010, -32, {1, 1, 1}},
        {"*fp32:16, i32:16, fp32, 1024",
         "promise_aligned",
         "argument 'x' of 'scale' (*fp32) is 0x1004, and the code is for multiples of 16",
         0x1004,
         16,
         {1, 1, 1}},
        {"*fp32:16, i32:16, fp32, 1024",
         "promise_multiple",
         "argument 'n' of 'scale' is -8, and the code is for multiples of 16",
         0x1000,
         -8,
         {1, 1, 1}},
        {"*fp32, i32:8, fp32, 1024",
         "promise_multiple",
         "argument 'n' of 'scale' is 12, and the code is for multiples of 8",
         0x1004,
         12,
         {1, 1, 1}},
        {"*fp32, i32:=100, fp32, 1024",
         "promise_fixed",
         "argument 'n' of 'scale' is 99, and the code is for 100 alone",
         0x1004,
         99,
         {1, 1, 1}},
        {"*fp32, i32:=100, fp32, 1024", NULL, "", 0x1004, 100, {1, 1, 1}},
        /* Elements lie at multiples of their size, whatever the signature says. */
        {"*fp32, i32, fp32, 1024",
         "promise_aligned",
         "argument 'x' of 'scale' (*fp32) is 0x1002, and the code is for multiples of 4",
         0x1002,
         3,
         {1, 1, 1}},
        {"*fp16, i64, fp32, 1024", NULL, "", 0x1002, 3, {1, 1, 1}},
        {"*fp32, u8, fp32, 1024", NULL, "", 0x1000, 255, {1, 1, 1}},
        {"*fp32, i32, fp32, 1024",
         "launch_grid",
         "the grid of 'scale' has y = 65536, and the driver takes 65535 at most",
         0x1000,
         3,
         {1, 65536, 1}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Log log = {0};
        tile_context *context = checking_context(f, &log);
        tile_device *device = NULL;
        assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
        tile_executable *executable = load(context, device, cases[c].signature, false);
        uint64_t x = cases[c].x;
        int64_t n = cases[c].n; /* little-endian: its low bytes are the value in any width */
        float factor = 2;
        void *params[] = {&x, &n, &factor};
        const unsigned before = f->cuda->launches, said = log.count;
        const tile_status status = tile_launch(executable, cases[c].grid, NULL, params, 3);
        if (cases[c].id) {
            assert_int_equal(status, TILE_ERROR_INVALID_ARGUMENT);
            assert_int_equal(f->cuda->launches, before);
            assert_int_equal(log.count, said + 1);
            assert_string_equal(log.id, cases[c].id);
            assert_string_equal(log.message, cases[c].message);
        } else {
            assert_int_equal(status, TILE_OK);
            assert_int_equal(f->cuda->launches, before + 1);
            assert_int_equal(log.count, said);
        }
        tile_executable_destroy(executable);
        tile_device_close(device);
        tile_context_destroy(context);
    }
}

/* A function's instance is made for the call's values: what remains is how elements are aligned,
 * which the caller is told, as the log is. */
static void functions_are_checked(void **state) {
    Fixture *f = *state;
    Log log = {0};
    tile_context *context = checking_context(f, &log);
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
    const tile_compile_options options = {
        .size = sizeof options, .path = text("scale.tile"), .source = text(source)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(context, &options, &function, NULL), TILE_OK);
    static const uint32_t grid[3] = {1, 1, 1};
    tile_argument arguments[] = {tile_pointer(0x1004, TILE_FP32), tile_int(7), tile_float(2.0),
                                 tile_constexpr_int(1024)};
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, NULL),
                     TILE_OK);
    arguments[0] = tile_pointer(0x1006, TILE_FP32);
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_function_launch(function, device, grid, NULL, arguments, 4, &diagnostics),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    assert_string_equal(log.id, "promise_aligned");
    assert_int_equal(f->cuda->launches, 1);
    tile_diagnostics_destroy(diagnostics);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_context_destroy(context);
}

/* The log hears what nobody else does, and the same items as who asks. */
static void the_log_hears_everything(void **state) {
    Fixture *f = *state;
    Log log = {0};
    tile_context *context = checking_context(f, &log);
    tile_compile_options options = scale_options();
    options.signature = text("*fp32, i32, fp32");
    tile_kernel *kernel = NULL;
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_ERROR_SOURCE);
    assert_int_equal(log.count, 1);
    assert_string_equal(log.id, "elab_param_missing");
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_compile(context, &options, &kernel, &diagnostics), TILE_ERROR_SOURCE);
    assert_int_equal(log.count, 2);
    assert_int_equal(tile_diagnostics_count(diagnostics), 1);
    tile_diagnostics_destroy(diagnostics);
    options = scale_options();
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(log.count, 2);
    tile_kernel_destroy(kernel);
    tile_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(broken_promises_are_named),
        TEST(functions_are_checked),
        TEST(the_log_hears_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
