/* Devices that are this machine, through the public API: kernels run in the program's own memory,
 * and what is wrong with them is found at their lines. Most tests are of both kinds. */
#include "api_testing.h"

#include <pthread.h>

static const char kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def copy(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i) + 1)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def masked(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i, mask=i < n, other=0.0) + 1, mask=i < n)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def one(x, y, i, j):\n"
    "    tl.store(y + j, tl.load(x + i))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def gather(list, y, n, BLOCK: tl.constexpr):\n"
    "    x = tl.load(list + tl.program_id(0)).to(tl.pointer_type(tl.float32))\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def where(x, y):\n"
    "    tl.store(y, x.to(tl.int64))\n"
    "    tl.store(y + 1, (y + 1).to(tl.int64))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def say(n):\n"
    "    tl.device_print(\"n\", n)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def race(x):\n"
    "    tl.store(x, tl.program_id(0).to(tl.float32))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def hole(x, y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    tl.store(y + i, tl.load(x + i, mask=i < n))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def endless(x):\n"
    "    while tl.load(x) == 0:\n"
    "        tl.debug_barrier()\n"
    "\n"
    "\n"
    "@triton.autotune(configs=[triton.Config({\"BLOCK\": 16}), triton.Config({\"BLOCK\": 32})],\n"
    "                 key=[\"n\"])\n"
    "@triton.jit\n"
    "def tuned(x, n, BLOCK: tl.constexpr):\n"
    "    tl.store(x, BLOCK * 1.0)\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def boxes(x, y, m, n, stride, BLOCK: tl.constexpr):\n"
    "    a = tl.make_tensor_descriptor(x, [m, n], [stride, 1], [BLOCK, BLOCK])\n"
    "    b = tl.make_tensor_descriptor(y, [m, n], [stride, 1], [BLOCK, BLOCK])\n"
    "    i = tl.program_id(0) * BLOCK\n"
    "    b.store([i, 0], a.load([i, 0]))\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def wrong(x):\n"
    "    tl.store(x, nowhere)\n";

typedef struct Both {
    tile_host_kind kind;
    const char *name;
} Both;
static const Both both[] = {{TILE_HOST_INTERPRETER, "interpreter"},
                            {TILE_HOST_SIMULATOR, "simulator"}};
#define FOR_BOTH(which) for (const Both *which = both; which < both + 2; which++)

static tile_device *open_host(Fixture *f, tile_host_options options) {
    tile_device *device = NULL;
    options.size = sizeof options;
    assert_int_equal(tile_device_open_host(f->context, &options, &device, NULL), TILE_OK);
    return device;
}

static tile_device *open_kind(Fixture *f, tile_host_kind kind) {
    return open_host(f, (tile_host_options){.kind = kind});
}

static tile_function *make_function(Fixture *f, const char *kernel) {
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("kernels.tile"),
                                          .source = text(kernels),
                                          .kernel = text(kernel),
                                          .cancellation = NULL};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    if (tile_function_create(f->context, &options, &function, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    return function;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))
#define BUFFER(array) tile_buffer(AT(array), TILE_FP32, sizeof(array))

/* A call of `grid` programs; the text is what was said, which the caller frees. */
static tile_status call(tile_function *function, tile_device *device, uint32_t grid,
                        const tile_argument *arguments, size_t count, const tile_host_array *arrays,
                        size_t array_count, tile_diagnostics **said) {
    const uint32_t programs[3] = {grid, 1, 1};
    const tile_call made = {.size = sizeof made,
                            .device = device,
                            .grid = programs,
                            .arguments = arguments,
                            .argument_count = count,
                            .arrays = arrays,
                            .array_count = array_count};
    return tile_function_call(function, &made, said);
}

static void call_well(tile_function *function, tile_device *device, uint32_t grid,
                      const tile_argument *arguments, size_t count, const tile_host_array *arrays,
                      size_t array_count) {
    tile_diagnostics *said = NULL;
    if (call(function, device, grid, arguments, count, arrays, array_count, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

/* The call fails, and says `words` at a line of the kernel's text (0: at no place). */
static void call_badly(tile_function *function, tile_device *device, uint32_t grid,
                       const tile_argument *arguments, size_t count, const tile_host_array *arrays,
                       size_t array_count, tile_status status, uint32_t line, const char *words) {
    tile_diagnostics *said = NULL;
    tile_diagnostic item = {.size = sizeof item};
    const tile_status found =
        call(function, device, grid, arguments, count, arrays, array_count, &said);
    if (found != status)
        fail_msg("%s: %s", tile_status_text(found), tile_diagnostics_text(said).data);
    bool is_found = false;
    for (size_t i = 0; tile_diagnostics_get(said, i, &item) == TILE_OK && !is_found; i++)
        is_found = item.severity == TILE_ERROR && strstr(item.rendered.data, words) &&
                   item.line == line && (!line || !strcmp(item.path.data, "kernels.tile"));
    if (!is_found)
        fail_msg("no \"%s\" at line %u: %s", words, line, tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
}

static uint32_t line_of(const char *words) {
    uint32_t line = 1;
    for (const char *at = strstr(kernels, words); at > kernels; at--)
        line += at[-1] == '\n';
    return line;
}

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
            (tile_host_options){.kind = which->kind, .print = keep_printed, .print_user = printed});
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
        /* Nobody has written it. */
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
        tile_launch_options launches[] = {{.cooperative = true}, {.cluster = {2, 1, 1}}};
        for (size_t i = 0; i < COUNT(launches); i++) {
            launches[i].size = sizeof *launches;
            assert_int_equal(tile_function_launch_with(function, device, grid, NULL, arguments, 4,
                                                       &launches[i], NULL),
                             TILE_ERROR_NO_DEVICE);
        }
        const tile_launch_options programmatic = {.size = sizeof programmatic,
                                                  .programmatic = true};
        const uint32_t single[3] = {1, 1, 1};
        assert_int_equal(tile_function_launch_with(function, device, single, NULL, arguments, 4,
                                                   &programmatic, NULL),
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
        assert_int_equal(tile_function_call(function, &endless, NULL), TILE_ERROR_CANCELLED);
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
        TEST(test_kernels_run_in_place),
        TEST(test_a_missing_mask_is_found),
        TEST(test_bounds_are_those_of_the_storage),
        TEST(test_overlapping_views_are_one_array),
        TEST(test_no_overrun_into_a_neighbour),
        TEST(test_addresses_are_the_hosts),
        TEST(test_pointers_in_memory),
        TEST(test_what_is_printed),
        TEST(test_races),
        TEST(test_undefined_values),
        TEST(test_memory_of_the_device),
        TEST(test_arrays_that_may_not_be_written),
        TEST(test_arrays_that_are_none),
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
