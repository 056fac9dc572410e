/* What a program is told when a device, a driver or a kernel fails. */
#include "api_testing.h"

#include "runtime/driver/faults.h"

#include <sys/wait.h>

typedef struct Log {
    unsigned count;
    char id[64], rendered[1024];
} Log;

static void keep(void *user, const tile_diagnostic *diagnostic) {
    Log *log = user;
    log->count++;
    snprintf(log->id, sizeof log->id, "%s", diagnostic->id.data);
    snprintf(log->rendered, sizeof log->rendered, "%s", diagnostic->rendered.data);
}

static tile_context *logging_context(Fixture *f, Log *log) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .log = keep,
                                          .log_user = log};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    return context;
}

typedef struct Loaded {
    tile_context *context;
    tile_device *device;
    tile_executable *executable;
} Loaded;

static Loaded load(Fixture *f, Log *log) {
    Loaded l = {.context = logging_context(f, log)};
    assert_int_equal(tile_device_open(l.context, 0, &l.device, NULL), TILE_OK);
    tile_compile_options options = scale_options();
    options.device = l.device;
    tile_kernel *kernel = NULL;
    assert_int_equal(tile_compile(l.context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_load(kernel, l.device, &l.executable, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    return l;
}

static void unload(Loaded *l) {
    tile_executable_destroy(l->executable);
    tile_device_close(l->device);
    tile_context_destroy(l->context);
}

static tile_status launch(Loaded *l) {
    uint64_t x = 0x1000;
    int32_t n = 3;
    float factor = 2;
    void *params[] = {&x, &n, &factor};
    static const uint32_t grid[3] = {1, 1, 1};
    return tile_launch(l->executable, grid, NULL, params, 3);
}

static void fail_with(Fixture *f, const char *symbol, CUresult result) {
    f->cuda->fail = symbol;
    f->cuda->fail_result = result;
}

static void expect(const char *found, const char *wanted) {
    if (!strstr(found, wanted))
        fail_msg("'%s' is not in '%s'", wanted, found);
}

/* A kernel's failure shows when it is waited for: it is named, and what it means for the context.
 */
static void a_failed_kernel_is_named(void **state) {
    Fixture *f = *state;
    static const CUresult results[] = {CUDA_ILLEGAL_ADDRESS,     CUDA_HARDWARE_STACK,
                                       CUDA_ILLEGAL_INSTRUCTION, CUDA_MISALIGNED_ADDRESS,
                                       CUDA_INVALID_PC,          CUDA_LAUNCH_FAILED};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        Log log = {0};
        Loaded l = load(f, &log);
        tile_diagnostics *diagnostics = NULL;
        assert_int_equal(launch(&l), TILE_OK);
        fail_with(f, "cuStreamSynchronize", results[i]);
        assert_int_equal(tile_stream_synchronize(l.device, NULL, &diagnostics), TILE_ERROR_KERNEL);
        const char *said = tile_diagnostics_text(diagnostics).data;
        expect(said, "a kernel failed: ");
        expect(said, "'scale' is the one that this library launched last");
        expect(said, "every later call in this context fails");
        expect(said, "hint: ");
        assert_string_equal(log.id, "kernel_fault");
        tile_diagnostics_destroy(diagnostics);
        f->cuda->fail = NULL;
        unload(&l);
    }
}

/* Nothing of ours ran: it is another's; and a kernel that is gone is not named. */
static void another_ones_failure_is_told_apart(void **state) {
    Fixture *f = *state;
    Log log = {0};
    Loaded l = load(f, &log);
    fail_with(f, "cuLaunchKernel", CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(launch(&l), TILE_ERROR_KERNEL);
    assert_int_equal(log.count, 1);
    expect(log.rendered, "this library has launched nothing on GPU 0: the kernel is another's");
    f->cuda->fail = NULL;
    assert_int_equal(launch(&l), TILE_OK);
    fail_with(f, "cuLaunchKernel", CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(launch(&l), TILE_ERROR_KERNEL);
    expect(log.rendered, "'scale' is the one");
    f->cuda->fail = NULL;
    tile_executable_destroy(l.executable);
    l.executable = NULL;
    fail_with(f, "cuStreamSynchronize", CUDA_LAUNCH_FAILED);
    assert_int_equal(tile_stream_synchronize(l.device, NULL, NULL), TILE_ERROR_KERNEL);
    expect(log.rendered, "'a kernel that is unloaded by now' is the one");
    f->cuda->fail = NULL;
    unload(&l);
}

/* What a launch takes, and what there is. */
static void limits_are_stated(void **state) {
    Fixture *f = *state;
    Log log = {0};
    Loaded l = load(f, &log);
    fail_with(f, "cuLaunchKernel", CUDA_LAUNCH_RESOURCES);
    assert_int_equal(launch(&l), TILE_ERROR_DRIVER);
    assert_string_equal(log.id, "launch_resources");
    expect(log.rendered, "a launch of 'scale' takes 128 threads of 40 registers and ");
    expect(log.rendered, "GPU 0 has 1024 registers, 1024 threads and 232448 bytes for one");
    f->cuda->fail = NULL;
    unload(&l);
}

static void shared_memory_is_compared_before_loading(void **state) {
    Fixture *f = *state;
    static const char kernel_text[] =
        "import triton\nimport triton.language as tl\n@triton.jit\n"
        "def product(a, b, c, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    at = i[:, None] * BLOCK + i[None, :]\n"
        "    total = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
        "    for k in range(0, 8):\n"
        "        total = tl.dot(tl.load(a + at + k), tl.load(b + at + k), total)\n"
        "    tl.store(c + at, total)\n";
    Log log = {0};
    tile_context *context = logging_context(f, &log);
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("product.tile"),
                                          .source = text(kernel_text),
                                          .signature = text("*fp16:16, *fp16:16, *fp32:16, 128"),
                                          .device = device,
                                          .num_stages = 3,
                                          .want = TILE_WANT(TILE_OUTPUT_PTX)};
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
    tile_device_close(device);
    f->cuda->shared_per_block = 50000;
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
    const unsigned loads = f->cuda->loads;
    assert_int_equal(tile_load(kernel, device, &executable, NULL), TILE_ERROR_NO_DEVICE);
    assert_string_equal(log.id, "load_shared");
    expect(log.rendered, "GPU 0 has 50000 for one");
    assert_int_equal(f->cuda->loads, loads);
    f->cuda->shared_per_block = initial.shared_per_block;
    tile_kernel_destroy(kernel);
    tile_device_close(device);
    tile_context_destroy(context);
}

/* Machine code that the driver cannot take, by what it says of it. */
static void refused_code_has_a_remedy(void **state) {
    Fixture *f = *state;
    static const struct {
        CUresult result;
        tile_status status;
        const char *hint;
    } cases[] = {
        {CUDA_NO_BINARY_FOR_GPU, TILE_ERROR_DRIVER, "compile for the target of this one"},
        {CUDA_UNSUPPORTED_PTX, TILE_ERROR_DRIVER, "or a newer driver"},
        {CUDA_INVALID_IMAGE, TILE_ERROR_DRIVER, "older than the ptxas"},
        {CUDA_ILLEGAL_ADDRESS, TILE_ERROR_KERNEL, "--device sim"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Log log = {0};
        tile_context *context = logging_context(f, &log);
        tile_device *device = NULL;
        assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
        tile_compile_options options = scale_options();
        options.device = device;
        tile_kernel *kernel = NULL;
        tile_executable *executable = NULL;
        assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
        fail_with(f, "cuModuleLoadDataEx", cases[c].result);
        assert_int_equal(tile_load(kernel, device, &executable, NULL), cases[c].status);
        expect(log.rendered, cases[c].hint);
        f->cuda->fail = NULL;
        tile_kernel_destroy(kernel);
        tile_device_close(device);
        tile_context_destroy(context);
    }
}

/* The child of a process that uses the driver is told so; the parent goes on. */
static void forked_children_are_told(void **state) {
    Fixture *f = *state;
    Log log = {0};
    Loaded l = load(f, &log);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(launch(&l) == TILE_ERROR_DRIVER && !strcmp(log.id, "driver_forked") ? 0 : 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(launch(&l), TILE_OK);
    assert_int_equal(log.count, 0);
    unload(&l);
}

/* Calls without diagnostics tell the log, and give the status of what went wrong. */
static void calls_without_diagnostics_tell_the_log(void **state) {
    Fixture *f = *state;
    Log log = {0};
    Loaded l = load(f, &log);
    uint64_t address = 0;
    char byte = 1;
    assert_int_equal(tile_memory_allocate(l.device, 64, &address, NULL), TILE_OK);
    fail_with(f, "cuMemcpyHtoDAsync_v2", CUDA_ECC_UNCORRECTABLE);
    assert_int_equal(tile_memory_write(l.device, address, &byte, 1, NULL), TILE_ERROR_DEVICE_LOST);
    assert_string_equal(log.id, "driver_call");
    expect(log.rendered, "cuMemcpyHtoDAsync_v2 failed");
    expect(log.rendered, "nvidia-smi -q -d ECC");
    f->cuda->fail = NULL;
    assert_int_equal(tile_memory_free(l.device, address), TILE_OK);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_failed_kernel_is_named),
        TEST(another_ones_failure_is_told_apart),
        TEST(limits_are_stated),
        TEST(shared_memory_is_compared_before_loading),
        TEST(refused_code_has_a_remedy),
        TEST(forked_children_are_told),
        TEST(calls_without_diagnostics_tell_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
