/* Functions of the simulator's driver, called as a launcher of somebody else's does. */
#include "runtime/driver/faults.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_SUPPORTED = 801 };

typedef struct Fixture {
    void *library;
    Driver driver;
    CUcontext context;
} Fixture;

/* out[i] = in[i] + counter, a variable of the module. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".global .u32 counter = 5;\n"
                          ".visible .entry add(.param .u64 p_in, .param .u64 p_out)\n"
                          ".maxntid 32, 1, 1\n"
                          "{\n"
                          ".reg .b32 %r<4>;\n.reg .b64 %rd<6>;\n"
                          "ld.param.u64 %rd1, [p_in];\n"
                          "ld.param.u64 %rd2, [p_out];\n"
                          "mov.u32 %r1, %tid.x;\n"
                          "mul.wide.u32 %rd3, %r1, 4;\n"
                          "add.s64 %rd4, %rd1, %rd3;\n"
                          "ld.global.u32 %r2, [%rd4];\n"
                          "ld.global.u32 %r3, [counter];\n"
                          "add.s32 %r2, %r2, %r3;\n"
                          "add.s64 %rd5, %rd2, %rd3;\n"
                          "st.global.u32 [%rd5], %r2;\n"
                          "ret;\n"
                          "}\n";

static const char endless[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry forever()\n{\n$L: bra $L;\n}\n";

/* out[ctaid] = programs of the cluster. */
static const char clusters[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry count(.param .u64 p_out)\n"
                               "{\n"
                               ".reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n"
                               "ld.param.u64 %rd1, [p_out];\n"
                               "mov.u32 %r1, %ctaid.x;\n"
                               "mul.wide.u32 %rd2, %r1, 4;\n"
                               "add.s64 %rd3, %rd1, %rd2;\n"
                               "mov.u32 %r2, %cluster_nctaid.x;\n"
                               "st.global.u32 [%rd3], %r2;\n"
                               "ret;\n"
                               "}\n";

/* In a process of its own, which has not begun: the settings are read once. */
static void expect_begun(const char *variable, const char *value, CUresult wanted, int major) {
    const pid_t child = fork();
    if (!child) {
        CUresult (*init)(unsigned), (*attribute)(int *, int, int);
        void *library = dlopen(TILEC_SIM_DRIVER, RTLD_NOW);
        int found = 0;
        *(void **)&init = dlsym(library, "cuInit");
        *(void **)&attribute = dlsym(library, "cuDeviceGetAttribute");
        setenv(variable, value, 1);
        const CUresult result = init(0);
        _exit(result != wanted ||
              (result == CUDA_OK &&
               (attribute(&found, CUDA_ATTRIBUTE_MAJOR, 0) != CUDA_OK || found != major)) ||
              (result != CUDA_OK && attribute(&found, CUDA_ATTRIBUTE_MAJOR, 0) == CUDA_OK));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("%s=%s", variable, value);
}

static void the_environment_says_what_is_there(void **state) {
    expect_begun("TILEC_SIM_TARGET", "", CUDA_OK, 9);
    expect_begun("TILEC_SIM_TARGET", "sm_80", CUDA_OK, 8);
    expect_begun("TILEC_SIM_TARGET", "sm_100a", CUDA_OK, 10);
    expect_begun("TILEC_SIM_TARGET", "sm_1", CUDA_INVALID_VALUE, 0);
    expect_begun("TILEC_SIM_SCHEDULE", "adversarial", CUDA_OK, 9);
    expect_begun("TILEC_SIM_SCHEDULE", "fair", CUDA_INVALID_VALUE, 0);
    expect_begun("TILEC_SIM_MEMORY", "4096", CUDA_OK, 9);
    expect_begun("TILEC_SIM_MEMORY", "0", CUDA_INVALID_VALUE, 0);
    expect_begun("TILEC_SIM_PROCESSORS", "many", CUDA_INVALID_VALUE, 0);
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    Arena arena = {0};
    Diags diags = {.arena = &arena};
    assert_true(driver_open(&f->driver, &diags, TILEC_SIM_DRIVER));
    f->library = dlopen(TILEC_SIM_DRIVER, RTLD_NOW);
    assert_int_equal(f->driver.primary_retain(&f->context, 0), CUDA_OK);
    assert_int_equal(f->driver.context_push(f->context), CUDA_OK);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    CUcontext popped;
    assert_int_equal(f->driver.context_pop(&popped), CUDA_OK);
    assert_ptr_equal(popped, f->context);
    assert_int_equal(f->driver.primary_release(0), CUDA_OK);
    driver_close(&f->driver);
    dlclose(f->library);
    free(f);
    return 0;
}

static CUfunction load(const Fixture *f, const char *text, const char *name, CUmodule *module) {
    CUfunction function = NULL;
    assert_int_equal(f->driver.module_load(module, text, 0, NULL, NULL), CUDA_OK);
    assert_int_equal(f->driver.module_function(&function, *module, name), CUDA_OK);
    return function;
}

static CUresult launch(const Fixture *f, CUfunction function, unsigned threads, unsigned shared,
                       void **params) {
    return f->driver.launch(function, 1, 1, 1, threads, 1, 1, shared, NULL, params, NULL);
}

/* Two modules have variables of the same name, each its own; unloading one leaves the other. */
static void modules_have_their_own_variables(void **state) {
    const Fixture *f = *state;
    CUmodule first, second;
    CUfunction function = load(f, ptx, "add", &first), other = load(f, ptx, "add", &second), again;
    uint32_t numbers[32] = {1, 2, 3}, sums[32];
    CUdeviceptr in, out;
    assert_int_equal(f->driver.module_function(&again, first, "add"), CUDA_OK);
    assert_ptr_equal(again, function);
    assert_int_equal(f->driver.module_function(&again, first, "sub"), NOT_FOUND);
    assert_int_equal(f->driver.memory_allocate(&in, sizeof numbers), CUDA_OK);
    assert_int_equal(f->driver.memory_allocate(&out, sizeof sums), CUDA_OK);
    assert_int_equal(in % 256, 0);
    assert_int_equal(f->driver.copy_to_device(in, numbers, sizeof numbers, NULL), CUDA_OK);
    void *params[] = {&in, &out};
    assert_int_equal(launch(f, function, 32, 0, params), CUDA_OK);
    assert_int_equal(f->driver.module_unload(first), CUDA_OK);
    assert_int_equal(f->driver.module_unload(first), INVALID_HANDLE);
    void *from_out[] = {&out, &out};
    assert_int_equal(launch(f, other, 32, 0, from_out), CUDA_OK);
    assert_int_equal(f->driver.copy_from_device(sums, out, sizeof sums, NULL), CUDA_OK);
    assert_int_equal(sums[0], 11);
    assert_int_equal(sums[2], 13);
    assert_int_equal(sums[31], 10);
    f->driver.module_unload(second);
    f->driver.memory_free(in);
    f->driver.memory_free(out);
}

static void launches_that_no_device_takes(void **state) {
    const Fixture *f = *state;
    CUmodule module;
    CUfunction function = load(f, ptx, "add", &module);
    CUdeviceptr x = 0;
    void *params[] = {&x, &x};
    assert_int_equal(launch(f, function, 64, 0, params), CUDA_INVALID_VALUE); /* .maxntid */
    assert_int_equal(launch(f, function, 0, 0, params), CUDA_INVALID_VALUE);
    assert_int_equal(launch(f, function, 32, 0, NULL), CUDA_INVALID_VALUE);
    assert_int_equal(launch(f, function, 32, 64 << 10, params), CUDA_INVALID_VALUE);
    assert_int_equal(f->driver.function_set(function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, 1 << 20),
                     CUDA_INVALID_VALUE);
    assert_int_equal(launch(f, NULL, 32, 0, params), INVALID_HANDLE);
    CudaLaunchAttribute priority = {.id = 8};
    const CudaLaunchConfig config = {1, 1, 1, 32, 1, 1, 0, NULL, &priority, 1};
    assert_int_equal(f->driver.launch_ex(&config, function, params, NULL), NOT_SUPPORTED);
    /* None of them has harmed the context. */
    assert_int_equal(f->driver.context_wait(), CUDA_OK);
    f->driver.module_unload(module);
}

static void clusters_are_launched(void **state) {
    const Fixture *f = *state;
    CUmodule module;
    CUfunction function = load(f, clusters, "count", &module);
    uint32_t sizes[4] = {0};
    CUdeviceptr out;
    CudaLaunchAttribute cluster = {.id = CUDA_LAUNCH_CLUSTER, .value.cluster = {2, 1, 1}};
    CudaLaunchConfig config = {4, 1, 1, 1, 1, 1, 0, NULL, &cluster, 1};
    assert_int_equal(f->driver.memory_allocate(&out, sizeof sizes), CUDA_OK);
    void *params[] = {&out};
    assert_int_equal(f->driver.launch_ex(&config, function, params, NULL), CUDA_OK);
    assert_int_equal(f->driver.copy_from_device(sizes, out, sizeof sizes, NULL), CUDA_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sizes[i], 2);
    config.grid_x = 3;
    assert_int_equal(f->driver.launch_ex(&config, function, params, NULL), CUDA_INVALID_VALUE);
    f->driver.memory_free(out);
    f->driver.module_unload(module);
}

static void code_that_does_not_run_here(void **state) {
    const Fixture *f = *state;
    CUmodule module;
    char errors[256] = "";
    int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
    void *values[] = {errors, (void *)(uintptr_t)sizeof errors};
    assert_int_equal(f->driver.module_load(&module, "\177ELF..", 0, NULL, NULL),
                     CUDA_NO_BINARY_FOR_GPU);
    assert_int_equal(f->driver.module_load(&module, ".version 8.0\n.target sm_90\nnonsense;\n", 2,
                                           options, values),
                     CUDA_INVALID_PTX);
    assert_non_null(strstr(errors, "nonsense"));
    assert_int_equal(f->driver.module_load(&module,
                                           ".version 8.6\n.target sm_100\n.address_size 64\n", 0,
                                           NULL, NULL),
                     CUDA_NO_BINARY_FOR_GPU);
    assert_int_equal(f->driver.module_load(
                         &module, ".version 8.0\n.target sm_80\n.address_size 64\n", 0, NULL, NULL),
                     CUDA_OK);
    f->driver.module_unload(module);
}

/* What the linker gives is what it was given. */
static void the_linker_leaves_ptx(void **state) {
    const Fixture *f = *state;
    CUlinkState link;
    CUmodule module;
    void *image;
    size_t size;
    assert_int_equal(f->driver.link_create(0, NULL, NULL, &link), CUDA_OK);
    assert_int_equal(f->driver.link_complete(link, &image, &size), CUDA_INVALID_VALUE);
    assert_int_equal(f->driver.link_add(link, CUDA_JIT_INPUT_PTX, (void *)(uintptr_t)ptx,
                                        sizeof ptx, "add.ptx", 0, NULL, NULL),
                     CUDA_OK);
    assert_int_equal(f->driver.link_complete(link, &image, &size), CUDA_OK);
    assert_int_equal(size, sizeof ptx);
    assert_memory_equal(image, ptx, sizeof ptx);
    load(f, image, "add", &module);
    f->driver.module_unload(module);
    assert_int_equal(f->driver.link_destroy(link), CUDA_OK);
}

/* A fault stays until the context was given back; then nothing of it is left. TILEC_SIM_MAX_STEPS
 * is 10000. */
static void a_lost_context_comes_back_new(void **state) {
    Fixture *f = *state;
    CUmodule module;
    CUfunction function = load(f, endless, "forever", &module);
    CUdeviceptr x;
    assert_int_equal(f->driver.memory_allocate(&x, 16), CUDA_OK);
    assert_int_equal(launch(f, function, 32, 0, NULL), CUDA_OK);
    assert_int_equal(f->driver.context_wait(), CUDA_LAUNCH_TIMEOUT);
    assert_int_equal(launch(f, function, 32, 0, NULL), CUDA_LAUNCH_TIMEOUT);
    assert_int_equal(f->driver.stream_wait(NULL), CUDA_LAUNCH_TIMEOUT);
    assert_int_equal(f->driver.memory_free(x), CUDA_LAUNCH_TIMEOUT);
    assert_int_equal(f->driver.primary_release(0), CUDA_OK);
    assert_int_equal(f->driver.context_wait(), CUDA_CONTEXT_DESTROYED);
    assert_int_equal(f->driver.primary_retain(&f->context, 0), CUDA_OK);
    assert_int_equal(f->driver.context_wait(), CUDA_OK);
    assert_int_equal(f->driver.memory_free(x), CUDA_INVALID_VALUE);
    assert_int_equal(f->driver.module_unload(module), INVALID_HANDLE);
    load(f, ptx, "add", &module);
    f->driver.module_unload(module);
}

static void contexts_are_a_stack_of_the_thread(void **state) {
    const Fixture *f = *state;
    CUcontext found;
    CUdeviceptr x;
    assert_int_equal(f->driver.context_pop(&found), CUDA_OK);
    assert_int_equal(f->driver.context_current(&found), CUDA_OK);
    assert_null(found);
    assert_int_equal(f->driver.memory_allocate(&x, 16), INVALID_CONTEXT);
    assert_int_equal(f->driver.context_pop(&found), INVALID_CONTEXT);
    assert_int_equal(f->driver.context_push(f->context), CUDA_OK);
}

static void functions_are_found_by_name(void **state) {
    const Fixture *f = *state;
    typedef CUresult Find(const char *, void **, int, uint64_t, int *);
    Find *find = NULL;
    void *function = NULL;
    int status = -1;
    *(void **)&find = dlsym(f->library, "cuGetProcAddress_v2");
    assert_non_null(find);
    assert_int_equal(find("cuMemAlloc", &function, 13000, 0, &status), CUDA_OK);
    assert_ptr_equal(function, dlsym(f->library, "cuMemAlloc_v2"));
    assert_int_equal(find("cuMem", &function, 13000, 0, NULL), NOT_FOUND);
    /* What is inside is nobody else's. */
    assert_null(dlsym(f->library, "sim_launch"));
}

static void a_child_has_no_driver(void **state) {
    const Fixture *f = *state;
    const pid_t child = fork();
    if (!child) {
        CUcontext found;
        _exit(f->driver.init(0) != CUDA_NOT_INITIALIZED ||
              f->driver.context_current(&found) != CUDA_NOT_INITIALIZED ||
              f->driver.context_wait() != CUDA_NOT_INITIALIZED);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    setenv("TILEC_SIM_MAX_STEPS", "10000", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_environment_says_what_is_there),
                                       TEST(modules_have_their_own_variables),
                                       TEST(launches_that_no_device_takes),
                                       TEST(clusters_are_launched),
                                       TEST(code_that_does_not_run_here),
                                       TEST(the_linker_leaves_ptx),
                                       TEST(a_lost_context_comes_back_new),
                                       TEST(contexts_are_a_stack_of_the_thread),
                                       TEST(functions_are_found_by_name),
                                       TEST(a_child_has_no_driver)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
