/* Calls of functions on devices that are this machine: what is refused, which instances they use,
 * how they end, many at once. */
#include "host_testing.h"

#include <pthread.h>

static void test_what_hosts_do_not_do(void **state) {
    Fixture *f = *state;
    FOR_BOTH(which) {
        tile_device *device = open_kind(f, which->kind);
        tile_function *function = make_function(f, "one");
        float x[1] = {0};
        const tile_argument arguments[] = {BUFFER(x), BUFFER(x), tile_int(0), tile_int(0)};
        const uint32_t grid[3] = {2, 1, 1};
        const tile_executable *instance = NULL;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_instance(function, device, arguments, 4, &instance, &said),
                         TILE_ERROR_NO_DEVICE);
        assert_non_null(strstr(tile_diagnostics_text(said).data, which->name));
        tile_diagnostics_destroy(said);
        tile_launch_options launch = {.size = sizeof launch, .cluster = {2, 1, 1}};
        assert_int_equal(
            tile_function_launch_with(function, device, grid, NULL, arguments, 4, &launch, NULL),
            TILE_ERROR_NO_DEVICE);
        launch =
            (tile_launch_options){.size = sizeof launch, .programmatic = true, .cooperative = true};
        assert_int_equal(tile_function_launch_with(function, device, (uint32_t[]){1, 1, 1}, NULL,
                                                   arguments, 4, &launch, NULL),
                         TILE_OK);
        tile_compile_options options = scale_options();
        tile_kernel *kernel = NULL;
        tile_executable *executable = NULL;
        options.device = device; /* whose target it is compiled for */
        assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
        assert_int_equal(tile_load(kernel, device, &executable, &said), TILE_ERROR_NO_DEVICE);
        assert_non_null(strstr(tile_diagnostics_text(said).data, "loads no kernels"));
        tile_diagnostics_destroy(said);
        tile_kernel_destroy(kernel);
        tile_function_destroy(function);
        tile_device_close(device);
    }
    assert_int_equal(f->cuda->launches, 0);
}

static void test_devices_that_are_none(void **state) {
    Fixture *f = *state;
    tile_device *device = NULL;
    tile_diagnostics *said = NULL;
    tile_host_options options = {.size = sizeof options, .kind = (tile_host_kind)2};
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    options = (tile_host_options){.size = sizeof options, .target = text("sm_91")};
    assert_int_equal(tile_device_open_host(f->context, &options, &device, &said),
                     TILE_ERROR_SOURCE);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "sm_91"));
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_device_open_host(f->context, NULL, &device, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_null(device);
}

static void test_what_a_device_says_of_itself(void **state) {
    tile_device *device = open_host(
        *state, (tile_host_options){.kind = TILE_HOST_SIMULATOR, .target = text("sm_80")});
    tile_device_info info = {.size = sizeof info};
    assert_int_equal(tile_device_get_info(device, &info), TILE_OK);
    assert_string_equal(info.name.data, "simulator");
    assert_string_equal(info.target.data, "sm_80");
    assert_int_equal(info.major, 8);
    assert_int_equal(info.driver_version, 0);
    assert_int_equal(info.warp_size, 32);
    assert_int_equal(info.shared_per_block, 166912);
    tile_device_close(device);
}

static void test_whose_an_address_is(void **state) {
    tile_device *device = open_host(*state, (tile_host_options){.kind = TILE_HOST_INTERPRETER});
    tile_memory_info info = {.size = sizeof info};
    uint64_t x = 0;
    assert_int_equal(tile_memory_allocate(device, 100, &x, NULL), TILE_OK);
    assert_int_equal(tile_memory_get_info(device, x + 99, &info), TILE_OK);
    assert_int_equal(info.kind, TILE_MEMORY_DEVICE);
    assert_int_equal(info.begin, x);
    assert_int_equal(info.bytes, 100);
    assert_int_equal(info.device_address, x + 99);
    assert_int_equal(tile_memory_get_info(device, x + 100, &info), TILE_OK);
    assert_int_equal(info.kind, TILE_MEMORY_UNKNOWN);
    assert_int_equal(info.ordinal, -1);
    assert_int_equal(tile_memory_free(device, x), TILE_OK);
    tile_device_close(device);
}

/* A function that outlives devices takes none for another one, wherever that lies. */
static void test_devices_in_turn(void **state) {
    tile_function *function = make_function(*state, "race");
    float x[1] = {0};
    const tile_argument arguments[] = {BUFFER(x)};
    for (int round = 0; round < 6; round++) {
        tile_device *device = open_kind(*state, both[round % 2].kind);
        if (both[round % 2].kind == TILE_HOST_INTERPRETER)
            call_well(function, device, 2, arguments, 1, NULL, 0);
        else
            call_badly(function, device, 2, arguments, 1, NULL, 0, TILE_ERROR_KERNEL,
                       line_of("tl.store(x, tl.program_id(0)"), "races with");
        tile_device_close(device);
    }
    tile_function_destroy(function);
}

static void test_grids(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "race");
        float x[1] = {7};
        const tile_argument arguments[] = {BUFFER(x)};
        call_well(function, device, 0, arguments, 1, NULL, 0);
        assert_true(x[0] == 7);
        const uint32_t wide[3] = {1, 70000, 1};
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_function_launch(function, device, wide, NULL, arguments, 1, &said),
                         TILE_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(tile_diagnostics_text(said).data, "y = 70000"));
        tile_diagnostics_destroy(said);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void test_wrong_kernels_and_calls(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *wrong = make_function(*state, "wrong"), *one = make_function(*state, "one");
        float x[1] = {0};
        const tile_argument arguments[] = {BUFFER(x)};
        for (int round = 0; round < 2; round++)
            call_badly(wrong, device, 1, arguments, 1, NULL, 0, TILE_ERROR_SOURCE,
                       line_of("tl.store(x, nowhere)"), "nowhere");
        call_badly(one, device, 1, arguments, 1, NULL, 0, TILE_ERROR_INVALID_ARGUMENT, 0,
                   "takes 4 to 4 arguments, and 1 were given");
        tile_function_destroy(wrong);
        tile_function_destroy(one);
        tile_device_close(device);
    }
}

static void test_first_configurations(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "tuned");
        float x[1] = {0};
        const tile_argument arguments[] = {BUFFER(x), tile_int(3)};
        tile_diagnostics *said = NULL;
        assert_int_equal(call(function, device, 1, arguments, 2, NULL, 0, &said), TILE_OK);
        assert_non_null(strstr(tile_diagnostics_text(said).data, "measures nothing"));
        tile_diagnostics_destroy(said);
        assert_true(x[0] == 16);
        /* Once for each key. */
        assert_int_equal(call(function, device, 1, arguments, 2, NULL, 0, &said), TILE_OK);
        assert_null(said);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void *request_soon(void *cancellation) {
    usleep(50000);
    tile_cancellation_request(cancellation);
    return NULL;
}

static void test_kernels_that_never_end(void **state) {
    Fixture *f = *state;
    FOR_BOTH(which) {
        float x[1] = {0};
        const tile_argument arguments[] = {BUFFER(x)};
        tile_device *limited =
            open_host(f, (tile_host_options){.kind = which->kind, .max_steps = 1000});
        tile_function *function = make_function(f, "endless");
        call_badly(function, limited, 1, arguments, 1, NULL, 0, TILE_ERROR_KERNEL,
                   line_of("while tl.load(x) == 0"), "1000");
        tile_function_destroy(function);
        tile_device_close(limited);
    }
    for (int i = 0; i < 4; i++) {
        const Both *which = &both[i / 2];
        const bool of_call = i % 2;
        float x[1] = {0};
        const tile_argument arguments[] = {BUFFER(x)};
        const uint32_t grid[3] = {1, 1, 1};
        tile_cancellation *cancellation = NULL;
        assert_int_equal(tile_cancellation_create(&cancellation), TILE_OK);
        const tile_compile_options options = {.size = sizeof options,
                                              .path = text("kernels.tile"),
                                              .source = text(kernels),
                                              .kernel = text("endless"),
                                              .cancellation = of_call ? NULL : cancellation};
        tile_device *device = open_kind(f, which->kind);
        tile_function *function = NULL;
        assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
        /* Compiled before the request. */
        x[0] = 1;
        call_well(function, device, 1, arguments, 1, NULL, 0);
        x[0] = 0;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, request_soon, cancellation), 0);
        const tile_call endless = {.size = sizeof endless,
                                   .device = device,
                                   .grid = grid,
                                   .arguments = arguments,
                                   .argument_count = 1,
                                   .cancellation = of_call ? cancellation : NULL};
        assert_int_equal(tile_function_call(function, &endless, NULL, NULL), TILE_ERROR_CANCELLED);
        pthread_join(thread, NULL);
        /* Another call is not ended. */
        x[0] = 1;
        if (of_call)
            call_well(function, device, 1, arguments, 1, NULL, 0);
        tile_function_destroy(function);
        tile_device_close(device);
        tile_cancellation_destroy(cancellation);
    }
}

/* Findings are where the function stands in its file, of which the library has seen no more. */
static void test_places_of_units(void **state) {
    static const char unit[] = "def over(x):\n    tl.store(x + 4, 1.0)\n";
    const tile_binding tl = {
        .name = text("tl"), .kind = TILE_BIND_LANGUAGE, .text = text("triton.language")};
    const tile_unit units[] = {{.size = sizeof(tile_unit),
                                .path = text("host.py"),
                                .source = text(unit),
                                .first_line = 41,
                                .first_column = 5,
                                .bindings = &tl,
                                .binding_count = 1}};
    FOR_BOTH(which) {
        Fixture *f = *state;
        tile_device *device = open_kind(f, which->kind);
        const tile_compile_options options = {
            .size = sizeof options, .units = units, .unit_count = 1};
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        tile_diagnostic item = {.size = sizeof item};
        float x[4] = {0};
        const tile_argument arguments[] = {BUFFER(x)};
        /* The second time the cache has the code. */
        for (int round = 0; round < 2; round++) {
            assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
            assert_int_equal(call(function, device, 1, arguments, 1, NULL, 0, &said),
                             TILE_ERROR_KERNEL);
            assert_int_equal(tile_diagnostics_get(said, 0, &item), TILE_OK);
            assert_string_equal(item.path.data, "host.py");
            assert_int_equal(item.line, 42);
            assert_int_equal(item.column, 9);
            assert_non_null(strstr(item.rendered.data, "tl.store(x + 4, 1.0)"));
            tile_diagnostics_destroy(said);
            tile_function_destroy(function);
        }
        tile_device_close(device);
    }
}

/* What tensor maps cannot hold is run by a form without tensor copies, which is made once. */
static void test_forms_without_tensor_copies(void **state) {
    enum { SIDE = 32 };
    static float x[SIDE * SIDE], y[SIDE * SIDE];
    tile_device *device = open_kind(*state, TILE_HOST_SIMULATOR);
    tile_function *function = make_function(*state, "boxes");
    static const int columns[] = {SIDE, 0, 0, 10};
    for (int i = 0; i < SIDE * SIDE; i++)
        x[i] = (float)i;
    for (size_t round = 0; round < COUNT(columns); round++) {
        const tile_argument arguments[] = {BUFFER(x),      BUFFER(y),
                                           tile_int(SIDE), tile_int(columns[round]),
                                           tile_int(SIDE), tile_constexpr_int(16)};
        tile_diagnostics *said = NULL;
        memset(y, 0, sizeof y);
        assert_int_equal(call(function, device, 2, arguments, COUNT(arguments), NULL, 0, &said),
                         TILE_OK);
        const char *words = "runs without tensor copies here";
        assert_int_equal(strstr(tile_diagnostics_text(said).data, words) != NULL, round == 1);
        tile_diagnostics_destroy(said);
        for (int i = 0; i < SIDE * SIDE; i++)
            assert_true(y[i] == (i % SIDE < 16 && i % SIDE < columns[round] ? x[i] : 0));
    }
    tile_function_destroy(function);
    tile_device_close(device);
}

/* Of the options, where the call says none. */
static void test_grids_of_functions(void **state) {
    Fixture *f = *state;
    FOR_BOTH(which) {
        tile_device *device = open_kind(f, which->kind);
        const tile_compile_options options = {.size = sizeof options,
                                              .path = text("kernels.tile"),
                                              .source = text(kernels),
                                              .kernel = text("masked"),
                                              .grid = text("(n // BLOCK, 1 // (n - 64))")};
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        float x[65] = {0}, y[65] = {0};
        tile_argument arguments[] = {BUFFER(x), BUFFER(y), tile_int(65), tile_constexpr_int(13)};
        assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
        assert_int_equal(tile_function_launch(function, device, NULL, NULL, arguments, 4, NULL),
                         TILE_ERROR_SOURCE); /* 13 is no length of a block */
        arguments[3] = tile_constexpr_int(16);
        assert_int_equal(tile_function_launch(function, device, NULL, NULL, arguments, 4, NULL),
                         TILE_OK);
        assert_true(y[63] == 1 && y[64] == 0);
        arguments[2] = tile_int(64);
        assert_int_equal(tile_function_launch(function, device, NULL, NULL, arguments, 4, &said),
                         TILE_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(tile_diagnostics_text(said).data, "<grid>"));
        tile_diagnostics_destroy(said);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

enum { THREADS = 8, ROUNDS = 5 };

typedef struct Caller {
    tile_function *const *functions;
    tile_device *const *devices;
    int block;
    bool ok;
} Caller;

static void *call_often(void *user) {
    Caller *caller = user;
    caller->ok = true;
    for (int round = 0; round < ROUNDS; round++)
        FOR_BOTH(which) {
            float x[100], y[100] = {0};
            for (int i = 0; i < 100; i++)
                x[i] = (float)(i * caller->block + round);
            const tile_argument arguments[] = {BUFFER(x), BUFFER(y), tile_int(100 - round),
                                               tile_constexpr_int(caller->block)};
            const uint32_t grid[3] = {100 / (uint32_t)caller->block + 1, 1, 1};
            caller->ok &=
                tile_function_launch(caller->functions[which - both], caller->devices[which - both],
                                     grid, NULL, arguments, 4, NULL) == TILE_OK;
            for (int i = 0; i < 100; i++)
                caller->ok &= y[i] == (i < 100 - round ? x[i] + 1 : 0);
        }
    return NULL;
}

static void test_many_threads(void **state) {
    tile_device *devices[] = {open_kind(*state, both[0].kind), open_kind(*state, both[1].kind)};
    tile_function *functions[] = {make_function(*state, "masked"), make_function(*state, "masked")};
    pthread_t threads[THREADS];
    Caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (Caller){functions, devices, i % 2 ? 16 : 32, false};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].ok);
    }
    for (int i = 0; i < 2; i++) {
        tile_function_destroy(functions[i]);
        tile_device_close(devices[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_hosts_do_not_do),
        TEST(test_devices_that_are_none),
        TEST(test_what_a_device_says_of_itself),
        TEST(test_whose_an_address_is),
        TEST(test_devices_in_turn),
        TEST(test_grids),
        TEST(test_wrong_kernels_and_calls),
        TEST(test_first_configurations),
        TEST(test_kernels_that_never_end),
        TEST(test_places_of_units),
        TEST(test_forms_without_tensor_copies),
        TEST(test_grids_of_functions),
        TEST(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
