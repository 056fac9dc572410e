/* The driver table, devices and launches against the driver of fake_cuda.c. */
#include "fake_cuda.h"
#include "runtime/driver/faults.h"
#include "runtime/launch/launch.h"
#include "runtime/status.h"
#include "support/ctx.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static FakeCuda initial;

static FakeCuda *fake(void) {
    void *library = dlopen(TILEC_FAKE_CUDA, RTLD_NOW);
    assert_non_null(library);
    FakeCudaState *find = NULL;
    *(void **)&find = dlsym(library, "fake_cuda_state");
    assert_non_null(find);
    return find();
}

static int setup(void **state) {
    FakeCuda *cuda = fake();
    if (!initial.device_count)
        initial = *cuda;
    *cuda = initial;
    *state = ctx_create();
    return 0;
}

static int teardown(void **state) {
    ctx_destroy(*state);
    return 0;
}

static void assert_only_error(Ctx *ctx, DiagId id, const char *part) {
    assert_int_equal(ctx->diags.errors, 1);
    assert_int_equal(ctx->diags.first->id, id);
    if (!strstr(ctx->diags.first->text, part))
        fail_msg("'%s' is not in: %s", part, ctx->diags.first->text);
}

static void open_fake(Ctx *ctx, Driver *driver, Device *device) {
    assert_true(driver_open(driver, &ctx->diags, TILEC_FAKE_CUDA));
    assert_true(device_open(driver, &ctx->diags, 0, device));
}

static void absent_driver(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    assert_false(driver_open(&driver, &ctx->diags, "/nonexistent/libcuda.so.1"));
    assert_only_error(ctx, DIAG_driver_missing, "/nonexistent/libcuda.so.1");
    assert_int_equal(status_of(&ctx->diags), TILE_ERROR_NO_DRIVER);
}

static void library_without_symbols(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    assert_false(driver_open(&driver, &ctx->diags, "libm.so.6"));
    assert_only_error(ctx, DIAG_driver_symbol, "cuInit");
}

static void library_from_environment(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    setenv("TILEC_CUDA_LIBRARY", TILEC_FAKE_CUDA, 1);
    assert_true(driver_open(&driver, &ctx->diags, NULL));
    unsetenv("TILEC_CUDA_LIBRARY");
    assert_int_equal(driver.version, 13000);
    driver_close(&driver);
}

static void no_device(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    fake()->init_result = CUDA_NO_DEVICE;
    assert_false(driver_open(&driver, &ctx->diags, TILEC_FAKE_CUDA));
    assert_int_equal(status_of(&ctx->diags), TILE_ERROR_NO_DEVICE);
}

static void stub_library(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    fake()->init_result = CUDA_STUB_LIBRARY;
    assert_false(driver_open(&driver, &ctx->diags, TILEC_FAKE_CUDA));
    assert_only_error(ctx, DIAG_driver_missing, "stub");
}

static void device_number_out_of_range(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    assert_true(driver_open(&driver, &ctx->diags, TILEC_FAKE_CUDA));
    assert_false(device_open(&driver, &ctx->diags, 1, &device));
    assert_only_error(ctx, DIAG_device_missing, "there is no GPU 1: the driver lists 1");
    driver_close(&driver);
}

static void device_facts(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    open_fake(ctx, &driver, &device);
    assert_string_equal(device.name, "Fake 70");
    assert_int_equal(device.sm_count, 132);
    assert_string_equal(device.target->name, "sm_90a");
    device_close(&device);
    assert_int_equal(fake()->retains, 1);
    assert_int_equal(fake()->releases, 1);
    driver_close(&driver);
}

static void failing_call_names_function_and_error(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    fake()->fail = "cuDevicePrimaryCtxRetain";
    fake()->fail_result = 999;
    assert_true(driver_open(&driver, &ctx->diags, TILEC_FAKE_CUDA));
    assert_false(device_open(&driver, &ctx->diags, 0, &device));
    assert_only_error(ctx, DIAG_driver_call, "cuDevicePrimaryCtxRetain failed: error 999");
    driver_close(&driver);
}

static void out_of_device_memory(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    CUdeviceptr pointer;
    fake()->memory_limit = 1000;
    open_fake(ctx, &driver, &device);
    assert_true(device_allocate(&device, &ctx->diags, 600, &pointer));
    CUdeviceptr second;
    assert_false(device_allocate(&device, &ctx->diags, 600, &second));
    assert_only_error(ctx, DIAG_device_memory, "600 bytes wanted, 400 of 1000 free");
    assert_int_equal(status_of(&ctx->diags), TILE_ERROR_DEVICE_MEMORY);
    driver.memory_free(pointer);
    device_close(&device);
    driver_close(&driver);
}

static KernelMeta meta_of(int programs_per_cta, int shared_bytes) {
    return (KernelMeta){.name = STR("kernel_name"),
                        .target = target_by_capability(90),
                        .num_warps = 2,
                        .programs_per_cta = programs_per_cta,
                        .num_ctas = 1,
                        .threads = 64 * programs_per_cta,
                        .shared_bytes = shared_bytes,
                        .has_grid_parameter = programs_per_cta > 1};
}

static bool load(Ctx *ctx, Executable *executable, const Device *device, const KernelMeta *meta,
                 uint32_t param_count) {
    static const Str names[] = {STR("first"), STR("second")};
    const KernelImage image = {
        .code = STR("image"), .meta = meta, .param_names = names, .param_count = param_count};
    return executable_load(executable, &ctx->arena, &ctx->diags, device, &image);
}

static CUresult launch(const Executable *executable, const uint32_t grid[3], CUstream stream,
                       void *const *params) {
    TensorMapProblem problem;
    const Launch launch = {.grid = grid, .stream = stream};
    return executable_launch(executable, &launch, params, &problem);
}

static void launch_passes_grid_and_parameters(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(1, 1024);
    assert_true(load(ctx, &executable, &device, &meta, 2));
    assert_string_equal(fake()->function, "kernel_name");
    assert_int_equal(executable.registers, 40);
    assert_int_equal(fake()->max_dynamic_shared, 0);

    uint64_t pointer = 0x123456789abcdef0;
    int32_t n = -5;
    void *params[] = {&pointer, &n};
    memcpy(fake()->param_bytes, (unsigned char[]){8, 4}, 2);
    CUstream stream = (CUstream)(uintptr_t)0x77;
    assert_int_equal(launch(&executable, (uint32_t[]){7, 5, 3}, stream, params), 0);
    assert_memory_equal(fake()->grid, ((unsigned[]){7, 5, 3}), sizeof fake()->grid);
    assert_memory_equal(fake()->block, ((unsigned[]){64, 1, 1}), sizeof fake()->block);
    assert_int_equal(fake()->shared_bytes, 1024);
    assert_ptr_equal(fake()->stream, stream);
    assert_true(fake()->values[0] == pointer);
    assert_int_equal((int32_t)fake()->values[1], -5);
    assert_int_equal(fake()->pushes, fake()->pops);
    executable_unload(&executable);
    assert_int_equal(fake()->unloads, 1);
    device_close(&device);
    driver_close(&driver);
}

/* 4 programs a block: 9 programs need 3 blocks, and the logical 9 follows the kernel's parameters.
 */
static void launch_shares_blocks(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(4, 0);
    assert_true(load(ctx, &executable, &device, &meta, 1));
    uint64_t pointer = 42;
    void *params[] = {&pointer};
    memcpy(fake()->param_bytes, (unsigned char[]){8, 4}, 2);
    assert_int_equal(launch(&executable, (uint32_t[]){9, 2, 1}, NULL, params), 0);
    assert_memory_equal(fake()->grid, ((unsigned[]){3, 2, 1}), sizeof fake()->grid);
    assert_int_equal(fake()->block[0], 256);
    assert_true(fake()->values[0] == 42);
    assert_int_equal((uint32_t)fake()->values[1], 9);
    assert_int_equal(launch(&executable, (uint32_t[]){UINT32_MAX, 1, 1}, NULL, params), 0);
    assert_int_equal(fake()->grid[0], 1u << 30);
    executable_unload(&executable);
    device_close(&device);
    driver_close(&driver);
}

static KernelMeta persistent_meta(int shared_bytes) {
    KernelMeta meta = meta_of(1, shared_bytes);
    meta.is_persistent = true;
    return meta;
}

/* 132 processors hold two CTAs each: 264 go through any larger grid, which follows the kernel's
 * parameters. */
static void launch_of_ctas_that_stay(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = persistent_meta(100 * 1024);
    assert_true(load(ctx, &executable, &device, &meta, 1));
    assert_int_equal(fake()->occupancy_threads, 64);
    assert_int_equal(fake()->occupancy_shared, 100 * 1024);
    uint64_t pointer = 42;
    void *params[] = {&pointer};
    memcpy(fake()->param_bytes, (unsigned char[]){8, 4, 4, 4}, 4);
    const struct {
        uint32_t grid[3];
        unsigned ctas;
    } cases[] = {
        {{1, 1, 1}, 1},   {{263, 1, 1}, 263},  {{264, 1, 1}, 264},           {{265, 1, 1}, 264},
        {{7, 5, 3}, 105}, {{100, 10, 2}, 264}, {{1, 1 << 10, 1 << 10}, 264}, {{1 << 30, 1, 1}, 264},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(launch(&executable, cases[i].grid, NULL, params), 0);
        assert_memory_equal(fake()->grid, ((unsigned[]){cases[i].ctas, 1, 1}), sizeof fake()->grid);
        assert_true(fake()->values[0] == 42);
        for (int axis = 0; axis < 3; axis++)
            assert_int_equal((uint32_t)fake()->values[1 + axis], cases[i].grid[axis]);
    }
    executable_unload(&executable);
    device_close(&device);
    driver_close(&driver);
}

/* An empty grid launches nothing; one with more programs than the loop can count is refused. */
static void limits_of_ctas_that_stay(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = persistent_meta(0);
    assert_true(load(ctx, &executable, &device, &meta, 0));
    const uint32_t empty[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(launch(&executable, empty[i], NULL, NULL), 0);
    const uint32_t huge[][3] = {{(1 << 30) + 1, 1, 1},
                                {1 << 15, 1 << 15, 2},
                                {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                                {1u << 31, 2, 1u << 31}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(launch(&executable, huge[i], NULL, NULL), CUDA_INVALID_VALUE);
        const DiagMark before = diag_mark(&ctx->diags);
        assert_false(executable_check(&executable, &ctx->diags, huge[i], NULL));
        assert_int_equal(ctx->diags.last->id, DIAG_launch_programs);
        diag_rewind(&ctx->diags, before);
    }
    assert_true(executable_check(&executable, &ctx->diags, (uint32_t[]){1 << 30, 1, 1}, NULL));
    assert_int_equal(fake()->launches, 0);
    executable_unload(&executable);

    /* Where none fits the launch is what fails; where the driver does not say the load is. */
    fake()->blocks_per_sm = 0;
    assert_true(load(ctx, &executable, &device, &meta, 0));
    assert_int_equal(launch(&executable, (uint32_t[]){500, 1, 1}, NULL, NULL), 0);
    assert_int_equal(fake()->grid[0], 132);
    executable_unload(&executable);
    fake()->fail = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
    fake()->fail_result = CUDA_INVALID_VALUE;
    unsigned unloads = fake()->unloads;
    assert_false(load(ctx, &executable, &device, &meta, 0));
    assert_only_error(ctx, DIAG_driver_call, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    assert_int_equal(fake()->unloads, unloads + 1);
    device_close(&device);
    driver_close(&driver);
}

static void launch_of_clusters(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(1, 0);
    meta.num_ctas = 2;
    assert_true(load(ctx, &executable, &device, &meta, 0));
    assert_int_equal(launch(&executable, (uint32_t[]){6, 1, 1}, NULL, NULL), 0);
    assert_int_equal(fake()->cluster[0], 2);
    assert_int_equal(fake()->grid[0], 12);
    /* More blocks than the driver can be told of. */
    assert_int_equal(launch(&executable, (uint32_t[]){0x80000001, 1, 1}, NULL, NULL),
                     CUDA_INVALID_VALUE);
    assert_int_equal(fake()->launches, 1);
    assert_int_equal(fake()->pushes, fake()->pops);
    executable_unload(&executable);
    device_close(&device);
    driver_close(&driver);
}

static void empty_grid_launches_nothing(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(1, 0);
    assert_true(load(ctx, &executable, &device, &meta, 0));
    assert_int_equal(launch(&executable, (uint32_t[]){4, 0, 1}, NULL, NULL), 0);
    assert_int_equal(fake()->launches, 0);
    executable_unload(&executable);
    device_close(&device);
    driver_close(&driver);
}

static void launch_with_current_context_pushes_nothing(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(1, 0);
    fake()->current = device.context;
    assert_true(load(ctx, &executable, &device, &meta, 0));
    assert_int_equal(launch(&executable, (uint32_t[]){4, 1, 1}, NULL, NULL), 0);
    assert_int_equal(fake()->pushes, 0);
    assert_int_equal(fake()->launches, 1);
    executable_unload(&executable);
    device_close(&device);
    driver_close(&driver);
}

static void large_shared_memory_is_opted_into(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Executable executable;
    open_fake(ctx, &driver, &device);
    KernelMeta meta = meta_of(1, 100 * 1024);
    assert_true(load(ctx, &executable, &device, &meta, 0));
    assert_int_equal(fake()->max_dynamic_shared, 100 * 1024);
    executable_unload(&executable);
    fake()->fail = "cuFuncSetAttribute";
    fake()->fail_result = CUDA_INVALID_VALUE;
    unsigned unloads = fake()->unloads;
    assert_false(load(ctx, &executable, &device, &meta, 0));
    assert_only_error(ctx, DIAG_driver_call, "cuFuncSetAttribute");
    assert_int_equal(fake()->unloads, unloads + 1);
    device_close(&device);
    driver_close(&driver);
}

static void driver_assembles(void **state) {
    Ctx *ctx = *state;
    Driver driver;
    Device device;
    Str cubin, log;
    open_fake(ctx, &driver, &device);
    fake()->log = "info    : Function properties for k\n";
    const Str ptx = STR(".version 8.2");
    assert_true(driver_assemble(&device, &ctx->diags, ptx, true, &cubin, &log));
    assert_memory_equal(cubin.ptr, "\177ELF", 4);
    assert_string_equal(log.ptr, "info    : Function properties for k\n");
    fake()->fail = "cuLinkAddData_v2";
    fake()->fail_result = 218;
    assert_false(driver_assemble(&device, &ctx->diags, ptx, true, &cubin, &log));
    assert_only_error(ctx, DIAG_ptxas_error, "no such instruction");
    device_close(&device);
    driver_close(&driver);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(absent_driver),
        TEST(library_without_symbols),
        TEST(library_from_environment),
        TEST(no_device),
        TEST(stub_library),
        TEST(device_number_out_of_range),
        TEST(device_facts),
        TEST(failing_call_names_function_and_error),
        TEST(out_of_device_memory),
        TEST(launch_passes_grid_and_parameters),
        TEST(launch_shares_blocks),
        TEST(launch_of_ctas_that_stay),
        TEST(limits_of_ctas_that_stay),
        TEST(launch_of_clusters),
        TEST(empty_grid_launches_nothing),
        TEST(launch_with_current_context_pushes_nothing),
        TEST(large_shared_memory_is_opted_into),
        TEST(driver_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
