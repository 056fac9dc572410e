/* Devices that are this machine, through the public API: kernels run in the program's own memory,
 * and what is wrong with them is found at their lines. Most tests are of both kinds. */
#include "host_testing.h"

static void test_kernels_run_in_place(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "masked");
        float x[100], y[100] = {0};
        for (int i = 0; i < 100; i++)
            x[i] = (float)i;
        const tile_argument arguments[] = {BUFFER(x), BUFFER(y), tile_int(100),
                                           tile_constexpr_int(64)};
        /* A second call runs what the first one made. */
        for (int round = 0; round < 2; round++) {
            memset(y, 0, sizeof y);
            call_well(function, device, 2, arguments, COUNT(arguments), NULL, 0);
            for (int i = 0; i < 100; i++)
                assert_true(y[i] == x[i] + 1);
        }
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void test_a_missing_mask_is_found(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "copy");
        /* With something between them, which is all that the simulator goes by. */
        float memory[300] = {0}, *x = memory, *y = memory + 150;
        const tile_argument arguments[] = {tile_buffer(AT(x), TILE_FP32, 400),
                                           tile_buffer(AT(y), TILE_FP32, 512), tile_int(100),
                                           tile_constexpr_int(64)};
        const bool is_exact = which->kind == TILE_HOST_INTERPRETER;
        call_badly(function, device, 2, arguments, COUNT(arguments), NULL, 0, TILE_ERROR_KERNEL,
                   line_of("tl.store(y + i, tl.load(x + i) + 1)"),
                   is_exact ? "load outside 'x': element 100 of 100" : "'x' (400 bytes");
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* x begins in the middle of its storage, and reaches both ends of it and no farther. */
static void test_bounds_are_those_of_the_storage(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "one");
        float storage[64], y[1] = {0};
        for (int i = 0; i < 64; i++)
            storage[i] = (float)i;
        const tile_host_array arrays[] = {{.data = storage, .bytes = sizeof storage}};
        static const int reached[] = {-16, 0, 47};
        tile_argument arguments[] = {tile_pointer(AT(storage + 16), TILE_FP32), BUFFER(y),
                                     tile_int(0), tile_int(0)};
        for (size_t i = 0; i < COUNT(reached); i++) {
            arguments[2] = tile_int(reached[i]);
            call_well(function, device, 1, arguments, 4, arrays, 1);
            assert_true(y[0] == (float)(16 + reached[i]));
        }
        const uint32_t line = line_of("tl.store(y + j, tl.load(x + i))");
        const bool is_exact = which->kind == TILE_HOST_INTERPRETER;
        arguments[2] = tile_int(48);
        call_badly(function, device, 1, arguments, 4, arrays, 1, TILE_ERROR_KERNEL, line,
                   is_exact ? "'x': element 64 of 64" : "behind the end of 'x' (256 bytes");
        arguments[2] = tile_int(-17);
        call_badly(function, device, 1, arguments, 4, arrays, 1, TILE_ERROR_KERNEL, line,
                   is_exact ? "'x': element -1 of 64" : "before the beginning of 'x' (256 bytes");
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* Two arguments that overlap are one storage, whatever ends they say. */
static void test_overlapping_views_are_one_array(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "one");
        float storage[32] = {0};
        storage[0] = 5;
        const tile_argument arguments[] = {tile_buffer(AT(storage), TILE_FP32, 20 * sizeof(float)),
                                           tile_buffer(AT(storage + 16), TILE_FP32, 64),
                                           tile_int(0), tile_int(15)};
        call_well(function, device, 1, arguments, 4, NULL, 0);
        assert_true(storage[31] == 5);
        tile_argument through[] = {arguments[0], arguments[1], tile_int(31), tile_int(-15)};
        call_well(function, device, 1, through, 4, NULL, 0);
        assert_true(storage[1] == 5);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

/* The interpreter knows which array a pointer came from, though another one begins at its end. */
static void test_no_overrun_into_a_neighbour(void **state) {
    tile_device *device = open_kind(*state, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(*state, "one");
    float storage[32] = {0};
    const tile_argument arguments[] = {tile_buffer(AT(storage), TILE_FP32, 64),
                                       tile_buffer(AT(storage + 16), TILE_FP32, 64), tile_int(16),
                                       tile_int(0)};
    call_badly(function, device, 1, arguments, 4, NULL, 0, TILE_ERROR_KERNEL,
               line_of("tl.store(y + j, tl.load(x + i))"), "load outside 'x': element 16 of 16");
    tile_function_destroy(function);
    tile_device_close(device);
}

static void test_addresses_are_the_hosts(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "where");
        float x[4];
        int64_t y[2];
        const tile_argument arguments[] = {BUFFER(x), tile_buffer(AT(y), TILE_I64, sizeof y)};
        call_well(function, device, 1, arguments, 2, NULL, 0);
        assert_int_equal(y[0], AT(x));
        assert_int_equal(y[1], AT(y + 1));
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void test_pointers_in_memory(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "gather");
        float a[16], b[16], y[2] = {0};
        int64_t list[] = {(int64_t)AT(a), (int64_t)AT(b)};
        for (int i = 0; i < 16; i++) {
            a[i] = (float)i;
            b[i] = 2 * (float)i;
        }
        const tile_host_array arrays[] = {{.name = text("a"), .data = a, .bytes = sizeof a},
                                          {.name = text("b"), .data = b, .bytes = sizeof b}};
        const tile_argument arguments[] = {tile_buffer(AT(list), TILE_I64, sizeof list), BUFFER(y),
                                           tile_int(16), tile_constexpr_int(16)};
        call_well(function, device, 2, arguments, 4, arrays, 2);
        assert_true(y[0] == 120 && y[1] == 240);
        call_badly(function, device, 2, arguments, 4, arrays, 1, TILE_ERROR_KERNEL,
                   line_of("tl.store(y + tl.program_id(0), tl.sum("),
                   which->kind == TILE_HOST_INTERPRETER ? "which is in none of" : "load of");
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void keep_printed(void *user, tile_text printed) {
    char *kept = user;
    assert_true(strlen(kept) + printed.size < 200);
    strncat(kept, printed.data, printed.size);
}

static void test_what_is_printed(void **state) {
    FOR_BOTH(which) {
        char printed[200] = "";
        tile_device *device = open_host(
            *state,
            (tile_host_options){.kind = which->kind, .print = keep_printed, .user = printed});
        tile_function *function = make_function(*state, "say");
        const tile_argument arguments[] = {tile_int(42)};
        call_well(function, device, 2, arguments, 1, NULL, 0);
        assert_non_null(strstr(printed, "pid (0, 0, 0)"));
        assert_non_null(strstr(printed, "pid (1, 0, 0)"));
        assert_non_null(strstr(printed, "n: 42\n"));
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

typedef struct Counted {
    unsigned times;
    char begin[100];
} Counted;

static void keep_counts(void *user, tile_text counts) {
    Counted *counted = user;
    counted->times++;
    snprintf(counted->begin, sizeof counted->begin, "%s", counts.data);
    assert_string_equal(counts.data + counts.size - 2, "}\n");
}

static void test_what_is_counted(void **state) {
    FOR_BOTH(which) {
        Counted counted = {0};
        const tile_host_options options = {
            .kind = which->kind, .counts = keep_counts, .user = &counted};
        tile_device *device = open_host(*state, options);
        tile_function *function = make_function(*state, "masked");
        float x[100] = {0}, y[100];
        const tile_argument arguments[] = {BUFFER(x), BUFFER(y), tile_int(100),
                                           tile_constexpr_int(64)};
        for (int round = 0; round < 2; round++)
            call_well(function, device, 2, arguments, 4, NULL, 0);
        assert_int_equal(counted.times, which->kind == TILE_HOST_SIMULATOR ? 2 : 0);
        if (which->kind == TILE_HOST_SIMULATOR)
            assert_non_null(strstr(counted.begin, "{\"kernel\": \"masked\""));
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void test_races(void **state) {
    tile_device *device = open_kind(*state, TILE_HOST_SIMULATOR);
    tile_function *function = make_function(*state, "race");
    float x[1] = {0};
    const tile_argument arguments[] = {BUFFER(x)};
    call_well(function, device, 1, arguments, 1, NULL, 0);
    call_badly(function, device, 2, arguments, 1, NULL, 0, TILE_ERROR_KERNEL,
               line_of("tl.store(x, tl.program_id(0)"), "races with");
    tile_function_destroy(function);
    tile_device_close(device);
}

static void test_undefined_values(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *hole = make_function(*state, "hole"), *copy = make_function(*state, "copy");
        float x[16] = {0}, y[16];
        tile_argument arguments[] = {BUFFER(x), BUFFER(y), tile_int(10), tile_constexpr_int(16)};
        /* In PTX such elements are 0, of which the compiler warns. */
        if (which->kind == TILE_HOST_INTERPRETER)
            call_badly(hole, device, 1, arguments, 4, NULL, 0, TILE_ERROR_KERNEL,
                       line_of("tl.store(y + i, tl.load(x + i, mask=i < n))"), "undefined");
        /* Memory that the call says to be written in part. */
        uint8_t defined[sizeof x];
        memset(defined, 0xff, sizeof defined);
        const tile_host_array part = {.data = x, .bytes = sizeof x, .defined = defined};
        call_well(copy, device, 1, arguments, 4, &part, 1);
        memset(defined + 20, 0, 4);
        call_badly(copy, device, 1, arguments, 4, &part, 1, TILE_ERROR_KERNEL,
                   line_of("tl.store(y + i, tl.load(x + i) + 1)"), "undefined");
        tile_function_destroy(hole);
        tile_function_destroy(copy);
        tile_device_close(device);
    }
}

static void test_memory_of_the_device(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "copy");
        uint64_t x = 0, y = 0;
        float from[16], to[16];
        tile_stream stream;
        tile_event begin, end;
        float milliseconds = -1;
        assert_int_equal(tile_memory_allocate(device, sizeof from, &x, NULL), TILE_OK);
        assert_int_equal(tile_memory_allocate(device, sizeof to, &y, NULL), TILE_OK);
        assert_int_equal(tile_stream_create(device, &stream), TILE_OK);
        assert_int_equal(tile_event_create(device, &begin), TILE_OK);
        assert_int_equal(tile_event_create(device, &end), TILE_OK);
        const tile_argument arguments[] = {tile_pointer(x, TILE_FP32), tile_pointer(y, TILE_FP32),
                                           tile_int(16), tile_constexpr_int(16)};
        const uint32_t line = line_of("tl.store(y + i, tl.load(x + i) + 1)");
        /* Nobody has written it, whatever it is called. */
        const tile_host_array named[] = {
            {.name = text("x"), .data = (void *)(uintptr_t)x, .bytes = 64},
            {.name = text("y"), .data = (void *)(uintptr_t)y, .bytes = 32}};
        call_badly(function, device, 1, arguments, 4, named, 2, TILE_ERROR_KERNEL, line,
                   "undefined");
        call_badly(function, device, 1, arguments, 4, NULL, 0, TILE_ERROR_KERNEL, line,
                   "undefined");
        for (int i = 0; i < 16; i++)
            from[i] = (float)i;
        assert_int_equal(tile_memory_write(device, x, from, sizeof from, stream), TILE_OK);
        assert_int_equal(tile_event_record(device, begin, stream), TILE_OK);
        call_well(function, device, 1, arguments, 4, NULL, 0);
        assert_int_equal(tile_event_record(device, end, stream), TILE_OK);
        assert_int_equal(tile_stream_synchronize(device, stream, NULL), TILE_OK);
        assert_int_equal(tile_event_elapsed(device, begin, end, &milliseconds), TILE_OK);
        assert_true(milliseconds >= 0);
        assert_int_equal(tile_memory_read(device, to, y, sizeof to, stream), TILE_OK);
        for (int i = 0; i < 16; i++)
            assert_true(to[i] == from[i] + 1);
        assert_int_equal(tile_memory_set(device, x, 0, sizeof from, stream), TILE_OK);
        assert_int_equal(tile_memory_read(device, to, x, sizeof to, stream), TILE_OK);
        assert_true(to[15] == 0);
        /* It ends somewhere, for the program, too, and is nobody's once it was freed. */
        assert_int_equal(tile_memory_read(device, to, x + 4, sizeof to, stream),
                         TILE_ERROR_INVALID_ARGUMENT);
        assert_int_equal(tile_memory_free(device, y), TILE_OK);
        assert_int_equal(tile_memory_free(device, y), TILE_ERROR_INVALID_ARGUMENT);
        call_badly(function, device, 1, arguments, 4, NULL, 0, TILE_ERROR_KERNEL, line,
                   which->kind == TILE_HOST_INTERPRETER ? "which is in none of" : "store of");
        assert_int_equal(tile_event_destroy(device, begin), TILE_OK);
        assert_int_equal(tile_event_destroy(device, end), TILE_OK);
        assert_int_equal(tile_stream_destroy(device, stream), TILE_OK);
        tile_function_destroy(function);
        tile_device_close(device); /* x with it */
    }
}

static void test_arrays_that_may_not_be_written(void **state) {
    FOR_BOTH(which) {
        tile_device *device = open_kind(*state, which->kind);
        tile_function *function = make_function(*state, "one");
        float x[4] = {1, 2, 3, 4}, y[4] = {0};
        const tile_host_array arrays[] = {{.data = x, .bytes = sizeof x, .read_only = true}};
        const tile_argument good[] = {BUFFER(x), BUFFER(y), tile_int(1), tile_int(0)},
                            bad[] = {BUFFER(y), BUFFER(x), tile_int(1), tile_int(0)};
        call_well(function, device, 1, good, 4, arrays, 1);
        call_badly(function, device, 1, bad, 4, arrays, 1, TILE_ERROR_KERNEL,
                   line_of("tl.store(y + j, tl.load(x + i))"), "read-only");
        assert_true(x[0] == 1);
        tile_function_destroy(function);
        tile_device_close(device);
    }
}

static void test_arrays_that_are_none(void **state) {
    tile_device *device = open_kind(*state, TILE_HOST_INTERPRETER);
    tile_function *function = make_function(*state, "one");
    float x[4] = {0};
    uint8_t defined[2][sizeof x] = {{0}};
    const tile_argument arguments[] = {BUFFER(x), BUFFER(x), tile_int(1), tile_int(0)};
    const tile_host_array
        nowhere[] = {{.name = text("n"), .data = NULL, .bytes = 4}},
        wide[] = {{.name = text("w"), .data = x, .bytes = UINT64_MAX}},
        twice[] = {{.name = text("a"), .data = x, .bytes = sizeof x, .defined = defined[0]},
                   {.name = text("b"), .data = x, .bytes = sizeof x, .defined = defined[1]}},
        empty[] = {{.name = text("e"), .data = NULL, .bytes = 0}};
    call_badly(function, device, 1, arguments, 4, nowhere, 1, TILE_ERROR_INVALID_ARGUMENT, 0,
               "array 'n' of 4 bytes at 0x0");
    call_badly(function, device, 1, arguments, 4, wide, 1, TILE_ERROR_INVALID_ARGUMENT, 0,
               "array 'w'");
    call_badly(function, device, 1, arguments, 4, twice, 2, TILE_ERROR_INVALID_ARGUMENT, 0,
               "disagree about which of their bytes");
    call_well(function, device, 1, arguments, 4, empty, 1);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kernels_run_in_place),
        TEST(test_a_missing_mask_is_found),
        TEST(test_bounds_are_those_of_the_storage),
        TEST(test_overlapping_views_are_one_array),
        TEST(test_no_overrun_into_a_neighbour),
        TEST(test_addresses_are_the_hosts),
        TEST(test_pointers_in_memory),
        TEST(test_what_is_printed),
        TEST(test_what_is_counted),
        TEST(test_races),
        TEST(test_undefined_values),
        TEST(test_memory_of_the_device),
        TEST(test_arrays_that_may_not_be_written),
        TEST(test_arrays_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
