/* Programs of libtilec on the simulator's driver: what they compute, and what they are told of
 * kernels that are wrong. */
#include "runtime/process_testing.h"
#include "tilec.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COUNT = 1000, THREADS = 8, LAUNCHES = 5 };

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit(do_not_specialize=['n'])\n"
    "def scale(x, n, factor, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(x + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)\n"
    "\n"
    "@triton.jit\n"
    "def race(x, BLOCK: tl.constexpr):\n"
    "    tl.store(x + tl.arange(0, BLOCK), tl.program_id(0).to(tl.float32))\n"
    "\n"
    "@triton.jit\n"
    "def meet(count, seen, programs, BLOCK: tl.constexpr):\n"
    "    tl.atomic_add(count, 1)\n"
    "    while tl.atomic_add(count, 0) < programs:\n"
    "        pass\n"
    "    tl.store(seen + tl.program_id(0), tl.atomic_add(count, 0))\n"
    "\n"
    "@triton.jit\n"
    "def refuse(x, BLOCK: tl.constexpr):\n"
    "    tl.device_assert(tl.load(x) < 0, 'never')\n"
    "\n"
    "@triton.jit\n"
    "def choose(x, y, BLOCK: tl.constexpr):\n"
    "    if tl.load(x) > 0:\n"
    "        tl.store(y, 1.0)\n";

typedef struct Fixture {
    tile_context *context;
    tile_device *device;
    char said[64]; /* the file that stands in for standard error */
    int real_stderr;
} Fixture;

static tile_context *make_context(const char *ptxas) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text("none"),
                                          .ptxas = text(ptxas),
                                          .cuda_library = text(TILEC_SIM_DRIVER)};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    return context;
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    strcpy(f->said, "/tmp/tilec-test-XXXXXX");
    const int file = mkstemp(f->said);
    assert_true(file >= 0);
    f->real_stderr = dup(2);
    dup2(file, 2);
    close(file);
    f->context = make_context(HAS_PROCESSES ? TILEC_FAKE_PTXAS : "none");
    assert_int_equal(tile_device_open(f->context, 0, &f->device, NULL), TILE_OK);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    tile_device_close(f->device);
    tile_context_destroy(f->context);
    dup2(f->real_stderr, 2);
    close(f->real_stderr);
    unlink(f->said);
    free(f);
    return 0;
}

static void expect_said(const Fixture *f, const char *wanted) {
    char said[8192];
    fflush(stderr);
    FILE *file = fopen(f->said, "r");
    assert_non_null(file);
    said[fread(said, 1, sizeof said - 1, file)] = 0;
    fclose(file);
    if (!strstr(said, wanted))
        fail_msg("'%s' is not in '%s'", wanted, said);
}

static tile_function *make_function(const Fixture *f, const char *kernel) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(source),
                                          .kernel = text(kernel),
                                          .debug = true};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    return function;
}

static uint64_t allocate(const Fixture *f, size_t bytes) {
    uint64_t address = 0;
    assert_int_equal(tile_memory_allocate(f->device, bytes, &address, NULL), TILE_OK);
    return address;
}

/* Memory of COUNT floats: 0, 1, 2, .. */
static uint64_t allocate_numbers(const Fixture *f) {
    float numbers[COUNT];
    const uint64_t address = allocate(f, sizeof numbers);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    assert_int_equal(tile_memory_write(f->device, address, numbers, sizeof numbers, NULL), TILE_OK);
    return address;
}

static tile_status scale(const Fixture *f, tile_function *function, uint64_t x, int n,
                         tile_stream stream) {
    const uint32_t grid[3] = {4, 1, 1};
    const tile_argument arguments[] = {tile_pointer(x, TILE_FP32), tile_int(n), tile_float(2),
                                       tile_constexpr_int(256)};
    return tile_function_launch(function, f->device, grid, stream, arguments, 4, NULL);
}

static void expect_numbers(const Fixture *f, uint64_t x, float factor) {
    float numbers[COUNT];
    assert_int_equal(tile_memory_read(f->device, numbers, x, sizeof numbers, NULL), TILE_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true(numbers[i] == factor * (float)i);
}

/* What a launch comes to when it is waited for. */
static tile_status wait(const Fixture *f, const char *wanted) {
    tile_diagnostics *said = NULL;
    const tile_status status = tile_stream_synchronize(f->device, NULL, &said);
    if (wanted && (!said || !strstr(tile_diagnostics_text(said).data, wanted)))
        fail_msg("'%s' is not in '%s'", wanted, said ? tile_diagnostics_text(said).data : "");
    tile_diagnostics_destroy(said);
    return status;
}

static void a_function_computes(void **state) {
    const Fixture *f = *state;
    tile_function *function = make_function(f, "scale");
    const uint64_t x = allocate_numbers(f);
    assert_int_equal(scale(f, function, x, COUNT, NULL), TILE_OK);
    assert_int_equal(wait(f, NULL), TILE_OK);
    expect_numbers(f, x, 2);
    assert_int_equal(tile_memory_free(f->device, x), TILE_OK);
    tile_function_destroy(function);
}

/* A kernel compiled for any device has a cubin of an assembler; its PTX is what runs. */
static void a_kernel_with_a_cubin_runs(void **state) {
    const Fixture *f = *state;
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(source),
                                          .kernel = text("scale"),
                                          .signature = text("*fp32, i32, fp32, 256")};
    const uint32_t grid[3] = {4, 1, 1};
    uint64_t x = allocate_numbers(f);
    int32_t n = COUNT;
    float factor = 3;
    void *params[] = {&x, &n, &factor};
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_true(tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN).size > 0);
    assert_int_equal(tile_load(kernel, f->device, &executable, NULL), TILE_OK);
    tile_executable_info info = {.size = sizeof info};
    assert_int_equal(tile_executable_get_info(executable, &info), TILE_OK);
    assert_in_range(info.registers, 1, 255);
    assert_int_equal(tile_launch(executable, grid, NULL, params, 3), TILE_OK);
    expect_numbers(f, x, 3);
    tile_memory_free(f->device, x);
    tile_executable_destroy(executable);
    tile_kernel_destroy(kernel);
}

/* The launch succeeds, all that follows fails, and a device that is opened anew works. */
static void expect_lost(Fixture *f, const char *error, const char *finding) {
    uint64_t address;
    assert_int_equal(wait(f, error), TILE_ERROR_KERNEL);
    expect_said(f, finding);
    expect_said(f, "kernels.tile:");
    assert_int_equal(tile_memory_allocate(f->device, 4, &address, NULL), TILE_ERROR_KERNEL);
    tile_device_close(f->device);
    f->device = NULL;
    assert_int_equal(tile_device_open(f->context, 0, &f->device, NULL), TILE_OK);
    tile_memory_free(f->device, allocate(f, 4));
    assert_int_equal(wait(f, NULL), TILE_OK);
}

static void an_access_out_of_bounds_is_a_fault(void **state) {
    Fixture *f = *state;
    tile_function *function = make_function(f, "scale");
    const uint64_t x = allocate_numbers(f);
    assert_int_equal(scale(f, function, x, COUNT + 1, NULL), TILE_OK);
    tile_function_destroy(function);
    expect_lost(f, "CUDA_ERROR_ILLEGAL_ADDRESS", "load of 4 bytes at");
}

static void freed_memory_is_none(void **state) {
    Fixture *f = *state;
    tile_function *function = make_function(f, "scale");
    const uint64_t x = allocate_numbers(f);
    assert_int_equal(tile_memory_free(f->device, x), TILE_OK);
    tile_memory_free(f->device, x); /* says that nothing begins there */
    expect_said(f, "cuMemFree: no allocation begins at 0x");
    assert_int_equal(scale(f, function, x, COUNT, NULL), TILE_OK);
    tile_function_destroy(function);
    expect_lost(f, "CUDA_ERROR_ILLEGAL_ADDRESS", "where no memory is");
}

static void launch_block(Fixture *f, const char *kernel, uint64_t x, uint64_t y,
                         uint32_t programs) {
    tile_function *function = make_function(f, kernel);
    const uint32_t grid[3] = {programs, 1, 1};
    const tile_argument both[] = {tile_pointer(x, TILE_FP32), tile_pointer(y, TILE_FP32),
                                  tile_constexpr_int(128)};
    const tile_argument one[] = {both[0], both[2]};
    assert_int_equal(
        tile_function_launch(function, f->device, grid, NULL, y ? both : one, y ? 3 : 2, NULL),
        TILE_OK);
    tile_function_destroy(function);
}

static void a_race_is_a_fault(void **state) {
    Fixture *f = *state;
    launch_block(f, "race", allocate_numbers(f), 0, 2);
    expect_lost(f, "CUDA_ERROR_LAUNCH_FAILED", "races with");
}

static void a_false_assertion_is_a_fault(void **state) {
    Fixture *f = *state;
    launch_block(f, "refuse", allocate_numbers(f), 0, 1);
    expect_lost(f, "CUDA_ERROR_ASSERT", "assertion failed: never");
}

static void memory_never_written_is_undefined(void **state) {
    Fixture *f = *state;
    launch_block(f, "choose", allocate(f, 4), allocate(f, 4), 1);
    expect_lost(f, "CUDA_ERROR_LAUNCH_FAILED", "is undefined");
}

static void memory_that_was_set_is_defined(void **state) {
    Fixture *f = *state;
    const uint64_t x = allocate(f, 4), y = allocate(f, 4);
    assert_int_equal(tile_memory_set(f->device, x, 0, 4, NULL), TILE_OK);
    launch_block(f, "choose", x, y, 1);
    assert_int_equal(wait(f, NULL), TILE_OK);
    tile_memory_free(f->device, x);
    tile_memory_free(f->device, y);
}

/* TILEC_SIM_MEMORY is 1 MiB. */
static void device_memory_is_limited(void **state) {
    const Fixture *f = *state;
    uint64_t address;
    const uint64_t most = allocate(f, 1 << 20);
    assert_int_equal(tile_memory_allocate(f->device, 1, &address, NULL), TILE_ERROR_DEVICE_MEMORY);
    assert_int_equal(tile_memory_free(f->device, most), TILE_OK);
    tile_memory_free(f->device, allocate(f, 1 << 20));
}

static void copies_stay_within_allocations(void **state) {
    const Fixture *f = *state;
    char bytes[32] = "";
    const uint64_t x = allocate(f, 16);
    assert_int_equal(tile_memory_write(f->device, x, bytes, 17, NULL), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_memory_read(f->device, bytes, x + 16, 1, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_memory_write(f->device, x + 8, bytes, 8, NULL), TILE_OK);
    expect_said(f, "cuMemcpyHtoD: no allocation has 17 bytes at 0x");
    assert_int_equal(tile_memory_free(f->device, x), TILE_OK);
}

typedef struct Worker {
    const Fixture *fixture;
    tile_function *function;
    pthread_t thread;
    int failures;
} Worker;

/* Memory and a stream of its own. */
static void *work(void *user) {
    Worker *worker = user;
    const Fixture *f = worker->fixture;
    float numbers[COUNT];
    tile_stream stream = NULL;
    uint64_t x = 0;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    worker->failures += tile_stream_create(f->device, &stream) != TILE_OK ||
                        tile_memory_allocate(f->device, sizeof numbers, &x, NULL) != TILE_OK ||
                        tile_memory_write(f->device, x, numbers, sizeof numbers, stream) != TILE_OK;
    for (int i = 0; i < LAUNCHES; i++)
        worker->failures += scale(f, worker->function, x, COUNT, stream) != TILE_OK;
    worker->failures +=
        tile_memory_read(f->device, numbers, x, sizeof numbers, stream) != TILE_OK ||
        tile_stream_synchronize(f->device, stream, NULL) != TILE_OK;
    for (int i = 0; i < COUNT; i++)
        worker->failures += numbers[i] != (float)(1 << LAUNCHES) * (float)i;
    tile_memory_free(f->device, x);
    tile_stream_destroy(f->device, stream);
    return NULL;
}

static void many_threads_launch(void **state) {
    const Fixture *f = *state;
    tile_function *function = make_function(f, "scale");
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){.fixture = f, .function = function};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    tile_function_destroy(function);
}

static tile_status meet(const Fixture *f, uint64_t count, uint64_t seen, uint32_t programs) {
    const tile_launch_options options = {
        .size = sizeof options, .cooperative = true, .programmatic = true};
    tile_function *function = make_function(f, "meet");
    const uint32_t grid[3] = {programs, 1, 1};
    const tile_argument arguments[] = {tile_pointer(count, TILE_I32), tile_pointer(seen, TILE_I32),
                                       tile_int(programs), tile_constexpr_int(128)};
    const tile_status status =
        tile_function_launch_with(function, f->device, grid, NULL, arguments, 4, &options, NULL);
    tile_function_destroy(function);
    return status;
}

/* All programs of a cooperative launch are there at once; too many are refused. */
static void programs_wait_for_each_other(void **state) {
    const Fixture *f = *state;
    enum { PROGRAMS = 8, TOO_MANY = 100000 };
    int32_t found[PROGRAMS];
    const uint64_t count = allocate(f, 4), seen = allocate(f, sizeof found);
    assert_int_equal(tile_memory_set(f->device, count, 0, 4, NULL), TILE_OK);
    assert_int_equal(meet(f, count, seen, TOO_MANY), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(meet(f, count, seen, PROGRAMS), TILE_OK);
    assert_int_equal(tile_memory_read(f->device, found, seen, sizeof found, NULL), TILE_OK);
    for (int i = 0; i < PROGRAMS; i++)
        assert_int_equal(found[i], PROGRAMS);
    tile_memory_free(f->device, count);
    tile_memory_free(f->device, seen);
}

enum { M = 256, N = 384, K = 128 };

static float element(int row, int column) {
    return (float)((row * 7 + column * 3) % 5 - 2);
}

/* A product of whole numbers, by tensor cores and tensor copies, whose blocks each go through
 * several programs: 6 on the 4 processors. */
static void a_persistent_kernel_with_tensor_maps_runs(void **state) {
    const Fixture *f = *state;
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text(TILEC_SOURCE_DIR "/kernels/matmul.tile"),
                                          .kernel = text("matmul"),
                                          .signature = text("*bf16:16, *bf16:16, *fp32:16, i32:16, "
                                                            "i32:16, i32:16, i32:16, 1, i32:16, 1, "
                                                            "i32:16, 1, 128, 128, 64"),
                                          .device = f->device};
    static uint16_t a[M * K], b[K * N];
    static float c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (uint16_t)((union {
                              float f;
                              uint32_t u;
                          }){element(i / K, i % K)}
                              .u >>
                          16);
    for (int i = 0; i < K * N; i++)
        b[i] = (uint16_t)((union {
                              float f;
                              uint32_t u;
                          }){element(i / N, i % N)}
                              .u >>
                          16);
    tile_kernel *kernel = NULL;
    tile_executable *executable = NULL;
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_true(info.is_persistent && info.tensor_map_count >= 2);
    assert_int_equal(tile_load(kernel, f->device, &executable, NULL), TILE_OK);
    uint64_t at_a = allocate(f, sizeof a), at_b = allocate(f, sizeof b),
             at_c = allocate(f, sizeof c);
    int32_t m = M, n = N, k = K;
    void *params[] = {&at_a, &at_b, &at_c, &m, &n, &k, &k, &n, &n};
    const uint32_t grid[3] = {M / 128 * (N / 128), 1, 1};
    assert_int_equal(tile_memory_write(f->device, at_a, a, sizeof a, NULL), TILE_OK);
    assert_int_equal(tile_memory_write(f->device, at_b, b, sizeof b, NULL), TILE_OK);
    assert_int_equal(tile_launch(executable, grid, NULL, params, 9), TILE_OK);
    assert_int_equal(tile_memory_read(f->device, c, at_c, sizeof c, NULL), TILE_OK);
    assert_int_equal(wait(f, NULL), TILE_OK);
    for (int i = 0; i < M * N; i++) {
        float wanted = 0;
        for (int j = 0; j < K; j++)
            wanted += element(i / N, j) * element(j, i % N);
        assert_true(c[i] == wanted);
    }
    tile_executable_destroy(executable);
    tile_kernel_destroy(kernel);
}

static void events_take_time(void **state) {
    const Fixture *f = *state;
    tile_event begin, end;
    float ms = -1;
    assert_int_equal(tile_event_create(f->device, &begin), TILE_OK);
    assert_int_equal(tile_event_create(f->device, &end), TILE_OK);
    assert_int_not_equal(tile_event_elapsed(f->device, begin, end, &ms), TILE_OK);
    assert_int_equal(tile_event_record(f->device, begin, NULL), TILE_OK);
    assert_int_equal(tile_event_record(f->device, end, NULL), TILE_OK);
    assert_int_equal(tile_event_elapsed(f->device, begin, end, &ms), TILE_OK);
    assert_true(ms >= 0);
    tile_event_destroy(f->device, begin);
    tile_event_destroy(f->device, end);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    setenv("TILEC_SIM_MEMORY", "1048576", 1);
    const struct CMUnitTest tests[] = {TEST(a_function_computes),
                                       TEST(a_kernel_with_a_cubin_runs),
                                       TEST(an_access_out_of_bounds_is_a_fault),
                                       TEST(freed_memory_is_none),
                                       TEST(a_race_is_a_fault),
                                       TEST(a_false_assertion_is_a_fault),
                                       TEST(memory_never_written_is_undefined),
                                       TEST(memory_that_was_set_is_defined),
                                       TEST(device_memory_is_limited),
                                       TEST(copies_stay_within_allocations),
                                       TEST(many_threads_launch),
                                       TEST(programs_wait_for_each_other),
                                       TEST(a_persistent_kernel_with_tensor_maps_runs),
                                       TEST(events_take_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
