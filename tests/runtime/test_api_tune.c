/* Functions with configurations: the fastest is found once for each key, by a driver that says how
 * long launches take. */
#include "cuda_extra.h"
#include "process_testing.h"
#include "tune_testing.h"

#include <math.h>
#include <pthread.h>

static unsigned best_threads(int64_t n) {
    double best = INFINITY;
    unsigned threads = 0;
    for (unsigned w = 1; w <= 8; w *= 2) {
        const double ms = (double)((n + 64 * w - 1) / (64 * w)) + w;
        if (ms < best) {
            best = ms;
            threads = 32 * w;
        }
    }
    return threads;
}

static void the_fastest_is_used(void **state) {
    Fixture *f = *state;
    static const int64_t sizes[] = {1, 64, 100, 300, 1000, 5000, 100000};
    tile_device *device = open_device(f);
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    tile_function *function =
        function_of(f->context, HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i];
        Said said = call(function, device, n, 1);
        if (said.status != TILE_OK)
            fail_msg("%s", said.text);
        assert_int_equal(f->cuda->block[0], best_threads(n));
        assert_int_equal(f->cuda->grid[0], (n + 2 * best_threads(n) - 1) / (2 * best_threads(n)));
        assert_non_null(strstr(said.text, "remark: 'k' runs with BLOCK="));
        /* Known from here on: one launch, whatever is no part of the key. */
        const unsigned before = f->cuda->launches;
        said = call(function, device, n, 3);
        assert_int_equal(said.status, TILE_OK);
        assert_int_equal(f->cuda->launches, before + 1);
        assert_int_equal(f->cuda->grid[1], 3);
    }
    tile_function_destroy(function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    assert_int_equal(f->cuda->allocated, 0);
    tile_device_close(device);
}

/* The command names them beside the kernels, and finds nothing wrong with them. */
static void lists_times(const char *folder) {
    char command[1024];
    snprintf(command, sizeof command,
             "%s cache ls --cache-dir %s | grep -q '(time) .* k ' && "
             "%s cache verify --cache-dir %s >/dev/null",
             TILEC_PROGRAM, folder, TILEC_PROGRAM, folder);
    if (HAS_PROCESSES)
        assert_int_equal(system(command), 0);
}

/* Another process, or context, finds what was measured; one more configuration is measured alone.
 */
static void times_are_kept(void **state) {
    Fixture *f = *state;
    static const char more[] =
        HEAD "@triton.autotune(" CONFIGS " + [triton.Config({'BLOCK': 1024})], key=['n'])\n" BODY;
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    unsigned launches[4];
    const char *const said[] = {"0 known", "4 known", "4 known", "5 known"};
    for (int i = 0; i < 4; i++) {
        tile_context *context = make_context(f->folder);
        tile_device *device = NULL;
        assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
        tile_function *function = function_of(
            context, i < 2 ? HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY : more);
        const unsigned before = f->cuda->launches;
        const Said heard = call(function, device, 4096, 1);
        assert_int_equal(heard.status, TILE_OK);
        if (!strstr(heard.text, said[i]))
            fail_msg("%s", heard.text);
        launches[i] = f->cuda->launches - before;
        tile_function_destroy(function);
        tile_device_close(device);
        tile_context_destroy(context);
    }
    lists_times(f->folder);
    assert_true(launches[0] > 8);
    assert_int_equal(launches[1], 1);
    assert_true(launches[2] > 1 && launches[2] < launches[0]);
    assert_int_equal(launches[3], 1);
}

/* A strict context measures nothing, and uses what was measured. */
static void strict_contexts_measure_nothing(void **state) {
    Fixture *f = *state;
    const char *kernel = HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY;
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .strict = true};
    tile_context *strict = NULL;
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    assert_int_equal(tile_context_create(&options, &strict), TILE_OK);
    for (int is_strict = 1; is_strict >= 0; is_strict--) {
        tile_context *context = is_strict ? strict : f->context;
        tile_device *device = NULL;
        assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
        tile_function *function = function_of(context, kernel);
        Said said = call(function, device, 4096, 1);
        assert_int_equal(said.status, is_strict ? TILE_ERROR_NOT_COMPILED : TILE_OK);
        if (is_strict)
            assert_non_null(strstr(said.text, "no configuration of 'k' was measured for n=4096"));
        assert_int_equal(f->cuda->launches > 0, !is_strict);
        tile_function_destroy(function);
        tile_device_close(device);
    }
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(strict, 0, &device, NULL), TILE_OK);
    tile_function *function = function_of(strict, kernel);
    const unsigned launches = f->cuda->launches, threads = f->cuda->block[0];
    assert_int_equal(call(function, device, 4096, 1).status, TILE_OK);
    assert_int_equal(f->cuda->launches, launches + 1);
    assert_int_equal(f->cuda->block[0], threads);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_context_destroy(strict);
}

static void what_fails_is_struck_out(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    f->cuda->launch_ms = by_blocks;
    f->cuda->fail_threads = 256;
    f->cuda->fail_result = 701; /* too many resources asked for: of that launch alone */
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    tile_function *function = function_of(
        f->context, HEAD "@triton.autotune(" CONFIGS
                         " + [triton.Config({'BLOCK': 100}, num_warps=1)], key=['n'])\n" BODY);
    const Said said = call(function, device, 4096, 1);
    if (said.status != TILE_OK)
        fail_msg("%s", said.text);
    assert_int_equal(f->cuda->block[0], 128);
    assert_non_null(strstr(said.text, "'k' with BLOCK=512, num_warps=8 is struck out"));
    assert_non_null(strstr(said.text, "'k' with BLOCK=100, num_warps=1 is struck out"));
    assert_non_null(strstr(said.text, "power of 2"));
    tile_function_destroy(function);
    tile_device_close(device);
}

static void nothing_is_left(void **state) {
    Fixture *f = *state;
    static const struct {
        const char *decorator, *said;
        int64_t n;
    } cases[] = {
        {"[triton.Config({'BLOCK': 100})], key=[]", "must be a power of 2", 8},
        {"[triton.Config({'BLOCK': 100}), triton.Config({'BLOCK': 3})], key=['n']",
         "no configuration of 'k' runs (2 were tried)", 8},
        {CONFIGS ", key=['n'], prune_configs_by={'early_config_prune': lambda c, a, **k: []}",
         "leaves no configuration of 'k'", 8},
        {CONFIGS ", key=['n']", "a grid's sides are integers from 0", -8},
    };
    tile_device *device = open_device(f);
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char kernel[1024];
        snprintf(kernel, sizeof kernel, HEAD "@triton.autotune(%s)\n" BODY, cases[i].decorator);
        tile_function *function = function_of(f->context, kernel);
        const Said said = call(function, device, cases[i].n * 64, 1);
        assert_true(said.status != TILE_OK);
        if (!strstr(said.text, cases[i].said))
            fail_msg("case %zu: %s", i, said.text);
        assert_int_equal(f->cuda->launches, 0);
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

/* A kernel that adds 1 to x[0]. */
static double adds_one(const FakeCuda *cuda) {
    ++*(float *)(uintptr_t)cuda->values[0];
    return by_blocks(cuda);
}

/* x is zeroed, or put back, before each run: the launch itself finds it as the call gave it, or
 * zero. */
static void memory_is_reset(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    uint64_t x;
    float values[64];
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    assert_int_equal(tile_memory_allocate(device, sizeof values, &x, NULL), TILE_OK);
    for (int way = 0; way < 2; way++) {
        tile_function *function =
            function_of(f->context, way ? HEAD "@triton.autotune(" CONFIGS
                                               ", key=['n'], restore_value=['x'])\n" BODY
                                        : HEAD "@triton.autotune(" CONFIGS
                                               ", key=['n'], reset_to_zero=['x'])\n" BODY);
        for (int i = 0; i < 64; i++)
            ((float *)(uintptr_t)x)[i] = i ? (float)i : 7;
        f->cuda->launch_ms = adds_one;
        const int64_t n = 64 - way;               /* nothing is known of it */
        Said said = call(function, device, n, 1); /* whose size is not known */
        assert_int_equal(said.status, TILE_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(said.text, "make it with tile_buffer"));
        const tile_argument arguments[] = {tile_buffer(x, TILE_FP32, sizeof values), tile_int(n),
                                           tile_int(1)};
        assert_int_equal(tile_function_launch(function, device, NULL, NULL, arguments, 3, NULL),
                         TILE_OK);
        memcpy(values, (void *)(uintptr_t)x, sizeof values);
        assert_true(values[63] == (way ? 63 : 0));
        assert_true(values[0] == (way ? 8 : 1));
        tile_function_destroy(function);
    }
    tile_memory_free(device, x);
    assert_int_equal(f->cuda->allocated, 0);
    tile_device_close(device);
}

static void captured_streams_measure_nothing(void **state) {
    Fixture *f = *state;
    CUresult (*begin)(CUstream, int), (*end)(CUstream, CUgraph *), (*destroy)(CUgraph);
    void *library = dlopen(TILEC_FAKE_CUDA, RTLD_NOW);
    *(void **)&begin = dlsym(library, "cuStreamBeginCapture_v2");
    *(void **)&end = dlsym(library, "cuStreamEndCapture");
    *(void **)&destroy = dlsym(library, "cuGraphDestroy");
    tile_device *device = open_device(f);
    tile_stream stream;
    CUgraph graph;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    f->cuda->launch_ms = by_blocks;
    tile_function *function =
        function_of(f->context, HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY);
    assert_int_equal(tile_stream_create(device, &stream), TILE_OK);
    assert_int_equal(begin(stream, CUDA_CAPTURE_THREAD_LOCAL), CUDA_OK);
    Said said = call_on(function, device, stream, 512, 1);
    assert_int_equal(said.status, TILE_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(said.text, "launch it once before"));
    assert_int_equal(end(stream, &graph), CUDA_OK);
    destroy(graph);
    assert_int_equal(call_on(function, device, stream, 512, 1).status, TILE_OK);
    const unsigned launches = f->cuda->launches;
    assert_int_equal(begin(stream, CUDA_CAPTURE_THREAD_LOCAL), CUDA_OK);
    assert_int_equal(call_on(function, device, stream, 512, 1).status, TILE_OK);
    assert_int_equal(f->cuda->launches, launches);
    assert_int_equal(end(stream, &graph), CUDA_OK);
    destroy(graph);
    tile_stream_destroy(device, stream);
    tile_function_destroy(function);
    tile_device_close(device);
}

typedef struct Caller {
    tile_function *function;
    tile_device *device;
    int64_t n;
    tile_status status;
} Caller;

static void *call_often(void *user) {
    Caller *caller = user;
    for (int i = 0; i < 20 && caller->status == TILE_OK; i++)
        caller->status = call(caller->function, caller->device, caller->n + i % 2, 1).status;
    return NULL;
}

/* Threads that ask at once: each key is measured once. */
static void threads_choose_once(void **state) {
    enum { THREADS = 4 };
    Fixture *f = *state;
    Caller callers[THREADS];
    pthread_t threads[THREADS];
    tile_device *device = open_device(f);
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    tile_function *function =
        function_of(f->context, HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (Caller){function, device, 4096, TILE_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].status, TILE_OK);
    }
    assert_true(f->cuda->launches < THREADS * 20 + 2 * 4 * 64);
    tile_function_destroy(function);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    tile_device_close(device);
}

/* Where the options set all that configurations would there is nothing to measure. */
static void options_leave_nothing_to_choose(void **state) {
    Fixture *f = *state;
    const tile_named block = {text("BLOCK"), text("64")};
    tile_device *device = open_device(f);
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    for (int warps = 0; warps < 2; warps++) {
        const tile_compile_options options = {
            .size = sizeof options,
            .path = text("k.tile"),
            .source = text(HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY),
            .constexprs = &block,
            .constexpr_count = 1,
            .num_warps = warps ? 1 : 0,
            .grid = text("n")};
        tile_function *function = NULL;
        assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
        const unsigned before = f->cuda->launches;
        assert_int_equal(call(function, device, 64, 1).status, TILE_OK);
        assert_int_equal(f->cuda->launches == before + 1, warps);
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

/* What the options say no configuration sets; heuristics see what configurations set. */
static void decorators_go_together(void **state) {
    Fixture *f = *state;
    static const char kernel[] =
        HEAD "@triton.autotune(configs=[triton.Config({'A': 1, 'B': 5}, num_warps=2),\n"
             "                          triton.Config({'A': 2, 'B': 6}, num_warps=4)], key=['n'])\n"
             "@triton.heuristics({'C': lambda args: args['A'] * 10 + args['n'] * 0})\n"
             "@triton.jit\n"
             "def k(x, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):\n"
             "    tl.static_assert(C == A * 10 and B == 7)\n"
             "    tl.store(x, n)\n";
    const tile_named b = {text("B"), text("7")};
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("k.tile"),
                                          .source = text(kernel),
                                          .constexprs = &b,
                                          .constexpr_count = 1};
    tile_function *function = NULL;
    tile_diagnostics *diagnostics = NULL;
    tile_device *device = open_device(f);
    memcpy(f->cuda->param_bytes, "\10\4", 3);
    assert_int_equal(tile_function_create(f->context, &options, &function, &diagnostics), TILE_OK);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_int(4)};
    const uint32_t grid[3] = {1, 1, 1};
    if (tile_function_launch(function, device, grid, NULL, arguments, 2, &diagnostics) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(diagnostics).data);
    tile_diagnostics_destroy(diagnostics);
    /* Without a grid nothing can be measured. */
    const tile_argument others[] = {tile_pointer(0x1000, TILE_I32), tile_int(5)};
    const tile_executable *executable;
    assert_int_equal(tile_function_instance(function, device, others, 2, &executable, &diagnostics),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_non_null(
        strstr(tile_diagnostics_text(diagnostics).data, "no grid to measure them with"));
    tile_diagnostics_destroy(diagnostics);
    assert_int_equal(tile_function_launch(function, device, NULL, NULL, others, 2, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_function_destroy(function);
    tile_device_close(device);
}

static double at_once(const FakeCuda *cuda) {
    return 0;
}

/* Nothing is launched for an empty grid, and nothing learned of the key; one configuration that
 * launches nothing where others do is not the fastest of them. */
static void empty_grids_are_not_measured(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    const char *kernel = HEAD "@triton.autotune(" CONFIGS ", key=['m'])\n" BODY;
    tile_function *function = function_of(f->context, kernel);
    Said said = call(function, device, 0, 2);
    if (said.status != TILE_OK)
        fail_msg("%s", said.text);
    assert_int_equal(f->cuda->launches, 0);
    /* The key is measured by the first call that launches something. */
    said = call(function, device, 4096, 2);
    assert_int_equal(said.status, TILE_OK);
    assert_non_null(strstr(said.text, "the best of 4 configurations"));
    tile_function_destroy(function);
    assert_int_equal(create(f->context, kernel, "n // BLOCK", &function, NULL), TILE_OK);
    said = call(function, device, 256, 1);
    assert_int_equal(said.status, TILE_OK);
    assert_non_null(strstr(said.text, "'k' with BLOCK=512, num_warps=8 is struck out: its grid is "
                                      "empty, and others' are not"));
    assert_non_null(strstr(said.text, "(1 struck out, 0 known before)"));
    assert_int_equal(f->cuda->grid[0] * f->cuda->block[0], 128);
    tile_function_destroy(function);
    tile_device_close(device);
}

/* What is shorter than events resolve is a time, too. */
static void no_time_is_too_short(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    f->cuda->launch_ms = at_once;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    for (int i = 0; i < 2; i++) {
        tile_function *function =
            function_of(f->context, HEAD "@triton.autotune(" CONFIGS ", key=['n'])\n" BODY);
        const Said said = call(function, device, 64, 1);
        if (said.status != TILE_OK)
            fail_msg("%s", said.text);
        assert_non_null(strstr(said.text, i ? "4 known before" : "0 known before"));
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

/* One of them is loaded and run, and its time is that of all. */
static void equal_code_is_measured_once(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    f->cuda->launch_ms = by_blocks;
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    for (int i = 0; i < 2; i++) {
        const unsigned loads = f->cuda->loads, launches = f->cuda->launches;
        tile_function *function = function_of(
            f->context, HEAD "@triton.autotune([triton.Config({'BLOCK': 64}, num_warps=1, "
                             "num_stages=s) for s in range(1, 9)], key=['n'])\n" BODY);
        const Said said = call(function, device, 4096, 1);
        assert_int_equal(said.status, TILE_OK);
        assert_non_null(strstr(said.text, i ? "(0 struck out, 8 known" : "(0 struck out, 0 known"));
        assert_int_equal(f->cuda->loads, loads + (i ? 1 : 2)); /* the call's own, too */
        assert_true(f->cuda->launches < launches + 2 * 8);
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

static void registers_are_the_configurations(void **state) {
    Fixture *f = *state;
    tile_device *device = open_device(f);
    memcpy(f->cuda->param_bytes, "\10\4\4", 4);
    for (int i = 0; i < 2; i++) { /* the latter is faster */
        tile_function *function = function_of(
            f->context,
            i ? HEAD "@triton.autotune([triton.Config({'BLOCK': 64}, num_warps=4), "
                     "triton.Config({'BLOCK': 64}, num_warps=1, maxnreg=48)], key=['n'])\n" BODY
              : HEAD "@triton.autotune([triton.Config({'BLOCK': 64}, num_warps=1), "
                     "triton.Config({'BLOCK': 64}, num_warps=4, maxnreg=48)], key=['n'])\n" BODY);
        f->cuda->launch_ms = by_blocks;
        const Said said = call(function, device, 4096, 1);
        if (said.status != TILE_OK || f->cuda->block[0] != 32)
            fail_msg("%s", said.text);
        assert_int_equal(f->cuda->max_registers, i ? 48 : 0);
        tile_function_destroy(function);
    }
    tile_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_fastest_is_used),
        TEST(times_are_kept),
        TEST(strict_contexts_measure_nothing),
        TEST(what_fails_is_struck_out),
        TEST(nothing_is_left),
        TEST(memory_is_reset),
        TEST(captured_streams_measure_nothing),
        TEST(threads_choose_once),
        TEST(options_leave_nothing_to_choose),
        TEST(decorators_go_together),
        TEST(empty_grids_are_not_measured),
        TEST(no_time_is_too_short),
        TEST(equal_code_is_measured_once),
        TEST(registers_are_the_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
