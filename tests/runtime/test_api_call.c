/* tile_function_call: its steps, instances that are forgotten, kernels of calls. */
#include "api_call_testing.h"

#include <pthread.h>

static void steps_are_taken_one_by_one(void **state) {
    Fixture *f = *state;
    Scale s;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source);
    assert_null(step(function, scale(&s, device, 64, TILE_CALL_FIND)));
    assert_null(step(function, scale(&s, device, 64, TILE_CALL_LAUNCH)));
    assert_null(step(function, scale(&s, device, 64, TILE_CALL_FIND | TILE_CALL_LAUNCH)));
    assert_int_equal(f->cuda->loads, 0);
    /* A grid is asked for by launches alone. */
    s.call.steps = TILE_CALL_PREPARE;
    s.call.grid = NULL;
    const tile_executable *used = step(function, &s.call);
    assert_int_equal(f->cuda->loads, 1);
    assert_int_equal(f->cuda->launches, 0);
    assert_ptr_equal(used, step(function, scale(&s, device, 64, TILE_CALL_FIND)));
    assert_int_equal(f->cuda->launches, 0);
    assert_ptr_equal(used, step(function, scale(&s, device, 64, TILE_CALL_LAUNCH)));
    assert_int_equal(f->cuda->launches, 1);
    assert_ptr_equal(used, step(function, scale(&s, device, 64, 0)));
    assert_int_equal(f->cuda->launches, 2);
    assert_int_equal(f->cuda->loads, 1);
    /* All of them, of another instance. */
    assert_ptr_not_equal(used, step(function, scale(&s, device, 128, 0)));
    assert_int_equal(f->cuda->launches, 3);
    assert_int_equal(f->cuda->loads, 2);
    /* Nobody has to want to know. */
    assert_int_equal(tile_function_call(function, &s.call, NULL, NULL), TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void expect_refused(tile_function *function, const tile_call *call, const char *id) {
    const tile_executable *used = (const void *)call;
    tile_diagnostics *said = NULL;
    tile_diagnostic item = {.size = sizeof item};
    assert_int_equal(tile_function_call(function, call, &used, &said), TILE_ERROR_INVALID_ARGUMENT);
    assert_null(used);
    assert_int_equal(tile_diagnostics_count(said), id != NULL);
    if (id) {
        assert_int_equal(tile_diagnostics_get(said, 0, &item), TILE_OK);
        assert_string_equal(item.id.data, id);
    }
    tile_diagnostics_destroy(said);
}

static void wrong_calls_are_refused_at_any_step(void **state) {
    static const uint32_t steps[] = {TILE_CALL_FIND, TILE_CALL_PREPARE, TILE_CALL_LAUNCH, 0};
    Fixture *f = *state;
    Scale s;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        scale(&s, device, 64, steps[i])->argument_count = 3;
        expect_refused(function, &s.call, "call_argument_count");
        scale(&s, device, 64, steps[i]);
        s.arguments[1] = (tile_argument){.kind = (tile_argument_kind)77};
        expect_refused(function, &s.call, "call_argument");
        scale(&s, device, 64, steps[i])->arguments = NULL;
        expect_refused(function, &s.call, NULL);
        scale(&s, NULL, 64, steps[i]);
        expect_refused(function, &s.call, NULL);
        expect_refused(NULL, scale(&s, device, 64, steps[i]), NULL);
    }
    expect_refused(function, scale(&s, device, 64, 8), NULL);
    expect_refused(function, NULL, NULL);
    scale(&s, device, 64, 0)->grid = NULL;
    expect_refused(function, &s.call, NULL);
    scale(&s, device, 64, 0)->size = 4;
    expect_refused(function, &s.call, NULL);
    assert_int_equal(f->cuda->loads, 0);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A program that was built when calls had no steps. */
static void shorter_calls_do_everything(void **state) {
    Fixture *f = *state;
    Scale s;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source);
    scale(&s, device, 64, TILE_CALL_FIND)->size = offsetof(tile_call, steps);
    assert_non_null(step(function, &s.call));
    assert_int_equal(f->cuda->launches, 1);
    tile_function_destroy(function);
    tile_device_close(device);
}

static const char product[] =
    "import triton\nimport triton.language as tl\n"
    "@triton.jit\n"
    "def product(a, b, c, K, stride):\n"
    "    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)\n"
    "    acc = tl.zeros((64, 64), dtype=tl.float32)\n"
    "    for i in range(0, K, 32):\n"
    "        inside = k[None, :] < K - i\n"
    "        x = tl.load(a + m[:, None] * stride + i + k[None, :], mask=inside, other=0)\n"
    "        y = tl.load(b + n[:, None] * stride + i + k[None, :], mask=inside, other=0)\n"
    "        acc = tl.dot(x, y.T, acc)\n"
    "    tl.store(c + m[:, None] * stride + n[None, :], acc.to(tl.float16))\n";

/* Arguments that no tensor map holds have the other form, at each step. */
static void steps_know_the_other_form(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, product);
    tile_argument arguments[] = {tile_pointer(0x10000, TILE_FP16), tile_pointer(0x20000, TILE_FP16),
                                 tile_pointer(0x30000, TILE_FP16), tile_int(1024), tile_int(1024)};
    tile_call call = {.size = sizeof call,
                      .device = device,
                      .grid = grid,
                      .arguments = arguments,
                      .argument_count = 5};
    const tile_executable *first = NULL, *plain = NULL;
    assert_int_equal(tile_function_call(function, &call, &first, NULL), TILE_OK);
    assert_int_equal(f->cuda->launches, 1);
    assert_true(f->cuda->encodings > 0);
    arguments[3] = tile_int(-1024);
    call.steps = TILE_CALL_FIND;
    assert_null(step(function, &call));
    call.steps = TILE_CALL_LAUNCH;
    assert_null(step(function, &call));
    assert_int_equal(f->cuda->launches, 1);
    call.steps = TILE_CALL_PREPARE;
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_function_call(function, &call, &plain, &said), TILE_OK);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "runs without tensor copies here"));
    tile_diagnostics_destroy(said);
    assert_ptr_not_equal(first, plain);
    assert_int_equal(f->cuda->launches, 1);
    for (uint32_t steps = 0; steps < 8; steps++) {
        call.steps = steps;
        assert_ptr_equal(step(function, &call), plain);
    }
    assert_int_equal(f->cuda->loads, 2);
    arguments[3] = tile_int(1024);
    assert_ptr_equal(step(function, &call), first);
    /* Either one makes the function forget both. */
    assert_int_equal(tile_function_forget(function, plain), TILE_OK);
    call.steps = TILE_CALL_FIND;
    assert_null(step(function, &call));
    tile_function_destroy(function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(device);
}

/* Nothing is measured, by launches, unless it is asked for. */
static void steps_know_what_is_tuned(void **state) {
    Fixture *f = *state;
    static const char tuned[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})],\n"
        "                 key=['n'])\n"
        "@triton.jit\ndef fill(x, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(x + i, 1.0, mask=i < n)\n";
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("fill.tile"),
                                          .source = text(tuned),
                                          .grid = text("cdiv(n, BLOCK)")};
    tile_device *device = open_device(f);
    tile_function *function = create(f, &options);
    const tile_argument arguments[] = {tile_pointer(1 << 12, TILE_FP32), tile_int(1000)};
    tile_call call = {.size = sizeof call,
                      .device = device,
                      .arguments = arguments,
                      .argument_count = 2,
                      .steps = TILE_CALL_FIND};
    const tile_executable *used = NULL;
    tile_diagnostics *said = NULL;
    assert_null(step(function, &call));
    call.steps = TILE_CALL_LAUNCH;
    assert_null(step(function, &call));
    assert_int_equal(f->cuda->launches, 0);
    call.steps = TILE_CALL_PREPARE;
    assert_int_equal(tile_function_call(function, &call, &used, &said), TILE_OK);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "BLOCK="));
    tile_diagnostics_destroy(said);
    const unsigned measured = f->cuda->launches;
    assert_true(measured > 0);
    call.steps = TILE_CALL_LAUNCH;
    assert_ptr_equal(step(function, &call), used);
    assert_int_equal(f->cuda->launches, measured + 1);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* A function may live longer than a device that it was called on, and another one may lie where
 * that did. */
static void instances_are_of_their_device(void **state) {
    enum { ROUNDS = 8 };
    Fixture *f = *state;
    Scale s;
    tile_function *function = function_of(f, source);
    tile_device *device = NULL;
    const tile_executable *used[ROUNDS];
    const unsigned retained = f->cuda->retains, released = f->cuda->releases;
    for (unsigned i = 0; i < ROUNDS; i++) {
        device = open_device(f);
        assert_null(step(function, scale(&s, device, 64, TILE_CALL_FIND)));
        used[i] = step(function, scale(&s, device, 64, TILE_CALL_PREPARE));
        assert_ptr_equal(used[i], step(function, scale(&s, device, 64, TILE_CALL_LAUNCH)));
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(used[k], used[i]);
        tile_device_close(device);
    }
    assert_int_equal(f->cuda->loads, ROUNDS);
    assert_int_equal(f->cuda->retains, retained + ROUNDS);
    assert_int_equal(f->cuda->releases, released); /* what is loaded needs its context */
    tile_function_destroy(function);
    assert_int_equal(f->cuda->unloads, ROUNDS);
    assert_int_equal(f->cuda->releases, released + ROUNDS);
}

static void choices_are_of_their_device(void **state) {
    Fixture *f = *state;
    static const char tuned[] =
        "import triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})],\n"
        "                 key=['n'])\n"
        "@triton.jit\ndef fill(x, n, BLOCK: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, BLOCK), 1.0, mask=tl.arange(0, BLOCK) < n)\n";
    tile_function *function = function_of(f, tuned);
    const tile_argument arguments[] = {tile_pointer(1 << 12, TILE_FP32), tile_int(1000)};
    for (unsigned i = 0; i < 3; i++) {
        tile_device *device = open_device(f);
        tile_call call = {.size = sizeof call,
                          .device = device,
                          .grid = grid,
                          .arguments = arguments,
                          .argument_count = 2,
                          .steps = TILE_CALL_LAUNCH};
        assert_null(step(function, &call));
        call.steps = TILE_CALL_PREPARE;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_call(function, &call, NULL, &said), TILE_OK);
        tile_diagnostics_destroy(said);
        call.steps = TILE_CALL_LAUNCH;
        assert_non_null(step(function, &call));
        tile_device_close(device);
    }
    tile_function_destroy(function);
}

/* Forgetting */

static void forgotten_instances_are_made_anew(void **state) {
    enum { ROUNDS = 40 };
    Fixture *f = *state;
    Scale s;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source), *other = function_of(f, source);
    const tile_executable *kept = step(function, scale(&s, device, 32, TILE_CALL_PREPARE));
    const tile_executable *used = step(function, scale(&s, device, 64, TILE_CALL_PREPARE)), *first;
    first = used;
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(tile_function_forget(function, used), TILE_OK);
        assert_null(step(function, scale(&s, device, 64, TILE_CALL_FIND)));
        assert_ptr_equal(kept, step(function, scale(&s, device, 32, TILE_CALL_FIND)));
        const tile_executable *made = step(function, scale(&s, device, 64, TILE_CALL_PREPARE));
        assert_ptr_not_equal(made, used);
        assert_ptr_equal(made, step(function, scale(&s, device, 64, TILE_CALL_FIND)));
        used = made;
        assert_int_equal(f->cuda->loads, i + 3);
    }
    assert_int_equal(f->cuda->unloads, 0);
    /* The old one is still there, and known to be forgotten. */
    uint64_t x = 1 << 12;
    int32_t n = 1004;
    float factor = 2;
    void *params[] = {&x, &n, &factor};
    assert_int_equal(tile_launch(first, grid, NULL, params, 3), TILE_OK);
    assert_int_equal(tile_function_forget(function, first), TILE_OK);
    assert_ptr_equal(used, step(function, scale(&s, device, 64, TILE_CALL_FIND)));
    assert_int_equal(tile_function_forget(other, first), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_function_forget(function, NULL), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_function_forget(NULL, first), TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_function_destroy(other);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(device);
}

typedef struct Forgetter {
    pthread_t thread;
    tile_function *function;
    tile_device *device;
} Forgetter;

static void *forget_often(void *user) {
    Forgetter *forgetter = user;
    for (int i = 0; i < 20; i++) {
        Scale s;
        const tile_executable *used =
            step(forgetter->function, scale(&s, forgetter->device, 64 << i % 2, 0));
        assert_int_equal(tile_function_forget(forgetter->function, used), TILE_OK);
    }
    return NULL;
}

static void threads_forget_what_others_use(void **state) {
    enum { THREADS = 3 };
    Fixture *f = *state;
    Forgetter forgetters[THREADS];
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source);
    for (int i = 0; i < THREADS; i++) {
        forgetters[i] = (Forgetter){.function = function, .device = device};
        assert_int_equal(pthread_create(&forgetters[i].thread, NULL, forget_often, &forgetters[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(forgetters[i].thread, NULL), 0);
    tile_function_destroy(function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(device);
}

/* Kernels of calls */

static tile_kernel *kernel_of(tile_function *function, const tile_call *call, uint32_t want) {
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_kernel(function, call, want, &kernel, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return kernel;
}

static bool has(const tile_kernel *kernel, tile_output output, const char *words) {
    const tile_text found = tile_kernel_get_output(kernel, output);
    return found.size && strstr(found.data, words);
}

static void kernels_of_calls_can_be_read(void **state) {
    Fixture *f = *state;
    Scale s;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, source);
    scale(&s, device, 64, TILE_CALL_LAUNCH);
    s.arguments[1] = tile_int(1);
    s.call.grid = NULL;
    tile_kernel *kernel = kernel_of(function, &s.call, TILE_WANT(TILE_OUTPUT_TIR));
    tile_kernel_info info = {.size = sizeof info};
    tile_param_info n = {.size = sizeof n}, block = {.size = sizeof block};
    assert_true(has(kernel, TILE_OUTPUT_PTX, ".entry scale"));
    assert_true(has(kernel, TILE_OUTPUT_TIR, "scale"));
    assert_int_equal(tile_kernel_get_output(kernel, TILE_OUTPUT_LL).size, 0);
    assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    assert_int_equal(tile_kernel_get_param(kernel, 1, &n), TILE_OK);
    assert_true(n.is_fixed && n.fixed == 1);
    assert_int_equal(tile_kernel_get_param(kernel, 3, &block), TILE_OK);
    assert_string_equal(block.type.data, "64");
    assert_int_equal(f->cuda->launches + f->cuda->loads, 0);
    tile_kernel_destroy(kernel);
    /* It is what the call has. */
    s.call.steps = 0;
    s.call.grid = grid;
    assert_non_null(step(function, &s.call));
    assert_int_equal(f->cuda->block[0], info.threads);

    tile_diagnostics *said = NULL;
    s.call.argument_count = 2;
    assert_int_equal(tile_function_kernel(function, &s.call, 0, &kernel, &said),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_diagnostics_count(said), 1);
    tile_diagnostics_destroy(said);
    s.call.argument_count = 4;
    s.call.device = NULL;
    assert_int_equal(tile_function_kernel(function, &s.call, 0, &kernel, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

static void kernels_have_the_form_of_the_call(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    tile_function *function = function_of(f, product);
    const tile_argument arguments[] = {
        tile_pointer(0x10000, TILE_FP16), tile_pointer(0x20000, TILE_FP16),
        tile_pointer(0x30000, TILE_FP16), tile_int(-1024), tile_int(1024)};
    const tile_call call = {.size = sizeof call,
                            .device = device,
                            .grid = grid,
                            .arguments = arguments,
                            .argument_count = 5};
    for (int round = 0; round < 2; round++) {
        tile_kernel *kernel = kernel_of(function, &call, 0);
        tile_kernel_info info = {.size = sizeof info};
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        assert_int_equal(info.tensor_map_count > 0, round == 0);
        tile_kernel_destroy(kernel);
        assert_int_equal(tile_function_call(function, &call, NULL, NULL), TILE_OK);
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Devices that are this machine */

static void hosts_take_the_same_steps(void **state) {
    Fixture *f = *state;
    for (int kind = TILE_HOST_INTERPRETER; kind <= TILE_HOST_SIMULATOR; kind++) {
        const tile_host_options host = {.size = sizeof host, .kind = (tile_host_kind)kind};
        tile_device *device = NULL;
        float x[64];
        Scale s;
        assert_int_equal(tile_device_open_host(f->context, &host, &device, NULL), TILE_OK);
        tile_function *function = function_of(f, source);
        for (int i = 0; i < 64; i++)
            x[i] = (float)i;
        scale(&s, device, 64, TILE_CALL_FIND);
        s.arguments[0] = tile_buffer((uint64_t)(uintptr_t)x, TILE_FP32, sizeof x);
        s.arguments[1] = tile_int(60);
        assert_null(step(function, &s.call));
        s.call.steps = TILE_CALL_LAUNCH;
        assert_null(step(function, &s.call));
        s.call.steps = TILE_CALL_PREPARE;
        s.call.grid = NULL;
        const tile_executable *used = step(function, &s.call);
        assert_true(x[10] == 10);
        s.call.grid = grid;
        s.call.steps = TILE_CALL_FIND;
        assert_ptr_equal(step(function, &s.call), used);
        assert_true(x[10] == 10);
        s.call.steps = TILE_CALL_LAUNCH;
        assert_ptr_equal(step(function, &s.call), used);
        assert_true(x[10] == 20);
        /* A handle is nothing to launch. */
        tile_executable_info info = {.size = sizeof info};
        assert_int_equal(tile_executable_get_info(used, &info), TILE_OK);
        assert_int_equal(info.param_count, 0);
        assert_int_equal(tile_launch(used, grid, NULL, NULL, 0), TILE_ERROR_INVALID_ARGUMENT);
        assert_int_equal(tile_executable_check(used, NULL, 0, NULL), TILE_ERROR_INVALID_ARGUMENT);
        assert_int_equal(tile_function_forget(function, used), TILE_OK);
        assert_null(step(function, &s.call));
        assert_int_equal(tile_function_forget(function, used), TILE_OK);
        s.call.steps = 0;
        assert_ptr_not_equal(step(function, &s.call), used);
        assert_true(x[10] == 40);
        tile_kernel *kernel = kernel_of(function, &s.call, TILE_WANT(TILE_OUTPUT_TIR_FINAL));
        assert_true(has(kernel, TILE_OUTPUT_PTX, ".entry scale"));
        assert_true(has(kernel, TILE_OUTPUT_TIR_FINAL, "scale"));
        assert_int_equal(tile_kernel_get_output(kernel, TILE_OUTPUT_CUBIN).size, 0);
        tile_kernel_destroy(kernel);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(steps_are_taken_one_by_one),        TEST(wrong_calls_are_refused_at_any_step),
        TEST(shorter_calls_do_everything),       TEST(steps_know_the_other_form),
        TEST(steps_know_what_is_tuned),          TEST(instances_are_of_their_device),
        TEST(choices_are_of_their_device),       TEST(forgotten_instances_are_made_anew),
        TEST(threads_forget_what_others_use),    TEST(kernels_of_calls_can_be_read),
        TEST(kernels_have_the_form_of_the_call), TEST(hosts_take_the_same_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
