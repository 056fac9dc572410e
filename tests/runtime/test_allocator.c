/* Allocators of hosts: all memory of a context is theirs, and given back; whichever allocation
 * fails, the call says so and nothing stays. */
#include "api_testing.h"

#include <pthread.h>
#include <stdatomic.h>

/* Blocks with their sizes in front, which must be those that come back. */
typedef struct Counting {
    _Atomic long live, bytes, calls, resizes;
    long fails_at;  /* the call that gives nothing, from 1; 0: none */
    bool and_after; /* so do those behind it */
} Counting;

enum { HEAD = 16 };

static bool may(Counting *c) {
    const long call = atomic_fetch_add(&c->calls, 1) + 1;
    return !c->fails_at || (call != c->fails_at && (call < c->fails_at || !c->and_after));
}

static void *count_allocate(void *user, size_t size) {
    Counting *c = user;
    char *block = may(c) ? aligned_alloc(HEAD, (size + HEAD + 15) & ~(size_t)15) : NULL;
    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + HEAD, 0xa5, size); /* nobody may count on zeros */
    atomic_fetch_add(&c->live, 1);
    atomic_fetch_add(&c->bytes, (long)size);
    return block + HEAD;
}

static void count_release(void *user, void *data, size_t size) {
    Counting *c = user;
    size_t was;
    memcpy(&was, (char *)data - HEAD, sizeof was);
    assert_int_equal(was, size);
    atomic_fetch_sub(&c->live, 1);
    atomic_fetch_sub(&c->bytes, (long)size);
    free((char *)data - HEAD);
}

static void *count_reallocate(void *user, void *data, size_t old_size, size_t size) {
    Counting *c = user;
    void *larger = count_allocate(user, size);
    if (!larger)
        return NULL;
    atomic_fetch_add(&c->resizes, 1);
    memcpy(larger, data, old_size < size ? old_size : size);
    count_release(user, data, old_size);
    return larger;
}

/* What a context is used for. */
typedef enum Purpose { COMPILES, LAUNCHES, TUNES, RUNS_ON_HOST, UNITS } Purpose;

typedef struct Use {
    Fixture *fixture;
    const char *cache;
    Purpose purpose;
} Use;

/* Two configurations, and memory that is zeroed between runs. */
static const char tuned_source[] =
    "import triton\nimport triton.language as tl\n"
    "@triton.autotune([triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 128})], key=['n'],\n"
    "                 reset_to_zero=['x'])\n"
    "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})\n"
    "@triton.jit\n"
    "def k(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(x + i, 1.0, mask=(i < n) | EVEN)\n";

/* A key that no call had before, so that its configurations are measured. */
static tile_status use_tuned(const Use *use, tile_context *context) {
    static int64_t n = 1024;
    static const unsigned char bytes[] = {8, 4, 4, 0};
    const tile_compile_options file = {.size = sizeof file,
                                       .path = text("k.tile"),
                                       .source = text(tuned_source),
                                       .grid = text("cdiv(n, BLOCK)")};
    tile_device *device = NULL;
    tile_function *function = NULL;
    uint64_t x = 0;
    memcpy(use->fixture->cuda->param_bytes, bytes, sizeof bytes);
    tile_status status = tile_device_open(context, 0, &device, NULL);
    if (status == TILE_OK)
        status = tile_memory_allocate(device, 4096, &x, NULL);
    if (status == TILE_OK)
        status = tile_function_create(context, &file, &function, NULL);
    n += 1024;
    for (int i = 0; i < 2 && status == TILE_OK; i++) {
        const tile_argument arguments[] = {tile_buffer(x, TILE_FP32, 4096), tile_int(n)};
        status = tile_function_launch(function, device, NULL, NULL, arguments, 2, NULL);
    }
    if (x)
        tile_memory_free(device, x);
    tile_function_destroy(function);
    tile_device_close(device);
    return status;
}

static tile_status use_device(const Use *use, tile_context *context) {
    static const uint32_t grid[3] = {3, 1, 1};
    static const unsigned char bytes[] = {8, 4, 4, 4, 0};
    const tile_compile_options file = {
        .size = sizeof file, .path = text("scale.tile"), .source = text(source)};
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(1000),
                                       tile_float(2.0), tile_constexpr_int(1024)};
    tile_device *device = NULL;
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    memcpy(use->fixture->cuda->param_bytes, bytes, sizeof bytes);
    tile_status status = tile_device_open(context, 0, &device, NULL);
    if (status == TILE_OK)
        status = tile_function_create(context, &file, &function, &said);
    tile_diagnostics_destroy(said);
    said = NULL;
    for (int i = 0; i < 2 && status == TILE_OK; i++)
        status = tile_function_launch(function, device, grid, NULL, arguments, 4, &said);
    tile_diagnostics_destroy(said);
    tile_function_destroy(function);
    tile_device_close(device);
    return status;
}

/* On the interpreter and the simulator, one call with a finding and one without. */
static tile_status use_host(tile_context *context) {
    static const uint32_t grid[3] = {3, 1, 1};
    const tile_compile_options file = {
        .size = sizeof file, .path = text("scale.tile"), .source = text(source)};
    tile_status status = TILE_OK;
    for (int kind = 0; kind < 2 && status == TILE_OK; kind++) {
        const tile_host_options options = {
            .size = sizeof options, .kind = (tile_host_kind)kind, .threads = 2};
        float x[40] = {0};
        tile_device *device = NULL;
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        uint64_t memory = 0;
        status = tile_device_open_host(context, &options, &device, NULL);
        if (status == TILE_OK)
            status = tile_memory_allocate(device, 100, &memory, NULL);
        if (status == TILE_OK)
            status = tile_function_create(context, &file, &function, NULL);
        for (int n = 48; n >= 40 && status == TILE_OK; n -= 8) {
            const tile_argument arguments[] = {
                tile_buffer((uint64_t)(uintptr_t)x, TILE_FP32, sizeof x), tile_int(n),
                tile_float(2.0), tile_constexpr_int(16)};
            status = tile_function_launch(function, device, grid, NULL, arguments, 4, &said);
            if (n > 40 && status == TILE_ERROR_KERNEL) {
                assert_true(tile_diagnostics_count(said) > 0);
                status = TILE_OK;
            }
            tile_diagnostics_destroy(said);
        }
        tile_function_destroy(function);
        tile_device_close(device); /* with its memory */
    }
    return status;
}

static tile_status give_seven(void *user, const tile_evaluation *what, tile_evaluated *result) {
    (void)user;
    result->text = text(what->argument_count == 2 ? "(7, tl.float32)" : "1 +");
    return TILE_OK;
}

/* From a text to the code of two units, of which one is the program's own to evaluate. */
static tile_status use_units(const Use *use, tile_context *context) {
    static const char kernel[] = "def k(x, N: T.constexpr):\n    T.store(x, act(N, x) + 1.0)\n";
    const tile_binding names[] = {
        {.name = text("T"), .kind = TILE_BIND_LANGUAGE, .text = text("triton.language")},
        {.name = text("act"), .kind = TILE_BIND_UNIT, .unit = 1}};
    const tile_binding act[] = {
        {.name = text("m.host"), .kind = TILE_BIND_EVALUATE, .text = text("key")}};
    const tile_unit units[] = {{.size = sizeof *units,
                                .path = text("a.py"),
                                .source = text(kernel),
                                .bindings = names,
                                .binding_count = 2},
                               {.size = sizeof *units,
                                .path = text("b.py"),
                                .source = text("def act(n, x):\n    return m.host(n, x)[0]\n"),
                                .bindings = act,
                                .binding_count = 1}};
    const tile_compile_options options = {
        .size = sizeof options, .units = units, .unit_count = 2, .evaluate = give_seven};
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_constexpr_int(3)};
    const tile_executable *executable;
    tile_name_list *list = NULL;
    tile_function *function = NULL;
    tile_device *device = NULL;
    tile_status status = tile_names_create(context, text(kernel), &list, NULL);
    tile_names_destroy(list);
    if (status == TILE_OK)
        status = tile_device_open(context, 0, &device, NULL);
    if (status == TILE_OK)
        status = tile_function_create(context, &options, &function, NULL);
    if (status == TILE_OK)
        status = tile_function_instance(function, device, arguments, 2, &executable, NULL);
    tile_function_destroy(function);
    tile_device_close(device);
    return status;
}

/* A context's whole life; the status of the first call that failed. */
static tile_status use_all(const Use *use, Counting *counting) {
    char record[128];
    snprintf(record, sizeof record, "%s/record.json", use->fixture->folder);
    const tile_allocator allocator = {.size = sizeof allocator,
                                      .allocate = count_allocate,
                                      .reallocate = count_reallocate,
                                      .release = count_release,
                                      .user = counting};
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(use->cache),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .ptxas = text("none"),
                                          .record = text(record),
                                          .allocator = &allocator};
    const tile_compile_options scale = scale_options();
    tile_context *context = NULL;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    tile_status status = tile_context_create(&options, &context);
    if (status == TILE_OK)
        status = tile_compile(context, &scale, &kernel, &said);
    if (status == TILE_ERROR_OUT_OF_MEMORY && context)
        assert_non_null(strstr(tile_diagnostics_text(said).data, "out of memory"));
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    if (status == TILE_OK && use->purpose == LAUNCHES)
        status = use_device(use, context);
    if (status == TILE_OK && use->purpose == TUNES)
        status = use_tuned(use, context);
    if (status == TILE_OK && use->purpose == RUNS_ON_HOST)
        status = use_host(context);
    if (status == TILE_OK && use->purpose == UNITS)
        status = use_units(use, context);
    tile_context_destroy(context);
    assert_int_equal(counting->live, 0);
    assert_int_equal(counting->bytes, 0);
    return status;
}

static void gives_everything_back(void **state) {
    Counting counting = {0};
    Fixture *f = *state;
    const Use use = {f, f->folder, LAUNCHES};
    assert_int_equal(use_all(&use, &counting), TILE_OK);
    assert_true(counting.calls > 20);
    const Counting before = counting;
    assert_int_equal(use_all(&use, &counting), TILE_OK); /* from the cache */
    assert_true(counting.calls < 2 * before.calls);
}

/* Each allocation in turn, alone and with all behind it. What is optional, such as remembering what
 * was recorded, may fail unseen. */
static void fail_each(Use use, long step) {
    Counting counting = {0};
    assert_int_equal(use_all(&use, &counting), TILE_OK); /* which fills the cache */
    counting = (Counting){0};
    assert_int_equal(use_all(&use, &counting), TILE_OK);
    const long calls = counting.calls;
    int failed = 0;
    for (int and_after = 0; and_after < 2; and_after++)
        for (long i = 1; i <= calls; i += step) {
            counting = (Counting){.fails_at = i, .and_after = and_after};
            const tile_status status = use_all(&use, &counting);
            if (status != TILE_ERROR_OUT_OF_MEMORY && (and_after || status != TILE_OK))
                fail_msg("allocation %ld of %ld: status %d", i, calls, (int)status);
            failed += status != TILE_OK;
        }
    assert_true(failed > calls / step);
}

static void survives_every_failure(void **state) {
    Fixture *f = *state;
    const Use warm = {f, f->folder, LAUNCHES};
    fail_each(warm, 1);
}

static void survives_failures_of_a_compilation(void **state) {
    const Use cold = {*state, "none", COMPILES};
    fail_each(cold, 1);
}

/* Measuring among them: no allocation that fails leaves a configuration half chosen. */
static void survives_failures_of_tuning(void **state) {
    Fixture *f = *state;
    const Use tuned = {f, f->folder, TUNES};
    fail_each(tuned, 1);
    assert_int_equal(f->cuda->allocated, 0);
}

static void survives_failures_of_runs_on_hosts(void **state) {
    Fixture *f = *state;
    const Use host = {f, f->folder, RUNS_ON_HOST};
    fail_each(host, 1);
}

static void survives_failures_of_units(void **state) {
    Fixture *f = *state;
    const Use units = {f, f->folder, UNITS};
    fail_each(units, 1);
}

/* Several threads, each with objects of its own, on one allocator. */
typedef struct Thread {
    tile_context *context;
    tile_status status;
} Thread;

static void *compile_in_thread(void *user) {
    Thread *thread = user;
    const tile_compile_options scale = scale_options();
    tile_kernel *kernel = NULL;
    thread->status = tile_compile(thread->context, &scale, &kernel, NULL);
    tile_kernel_destroy(kernel);
    return NULL;
}

static void serves_threads(void **state) {
    enum { THREADS = 4 };
    Fixture *f = *state;
    Counting counting = {0};
    const tile_allocator allocator = {.size = sizeof allocator,
                                      .allocate = count_allocate,
                                      .reallocate = count_reallocate,
                                      .release = count_release,
                                      .user = &counting};
    const tile_context_options options = {
        .size = sizeof options, .cache_folder = text(f->folder), .allocator = &allocator};
    tile_context *context = NULL;
    pthread_t threads[THREADS];
    Thread jobs[THREADS];
    tile_prewarm_result result = {.size = sizeof result};
    const tile_prewarm_options prewarm = {
        .size = sizeof prewarm,
        .manifest =
            text("{\"code\": \"ptx\", \"kernels\": [{\"file\": \"a.tile\", \"source\": \"import "
                 "triton\\n@triton.jit\\ndef f(x, B: triton.language.constexpr):\\n    "
                 "triton.language.store(x, B)\\n\", \"signatures\": \"*i32\", "
                 "\"constexprs\": {\"B\": [1, 2, 3]}}]}"),
        .threads = 3};
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    for (int i = 0; i < THREADS; i++) {
        jobs[i].context = context;
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(jobs[i].status, TILE_OK);
    }
    tile_prewarm(context, &prewarm, &result, NULL);
    assert_int_equal(result.kernels, 3);
    tile_context_destroy(context);
    assert_int_equal(counting.live, 0);
    assert_int_equal(counting.bytes, 0);
}

/* What grows is moved: a record of many requests, here of a strict context. */
static void resizes_its_blocks(void **state) {
    enum { REQUESTS = 70 };
    Fixture *f = *state;
    char record[128], signature[64];
    Counting counting = {0};
    const tile_allocator allocator = {.size = sizeof allocator,
                                      .allocate = count_allocate,
                                      .reallocate = count_reallocate,
                                      .release = count_release,
                                      .user = &counting};
    tile_context *context = NULL;
    tile_kernel *kernel = NULL;
    snprintf(record, sizeof record, "%s/record.json", f->folder);
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .record = text(record),
                                          .strict = true,
                                          .allocator = &allocator};
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < REQUESTS; i++) {
            tile_compile_options scale = scale_options();
            snprintf(signature, sizeof signature, "*fp32, i32, fp32, %d", i);
            scale.signature = text(signature);
            assert_int_equal(tile_compile(context, &scale, &kernel, NULL), TILE_ERROR_NOT_COMPILED);
        }
    assert_true(counting.resizes > 0);
    tile_context_destroy(context);
    assert_int_equal(counting.live, 0);
    int lines = 0;
    FILE *file = fopen(record, "r");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    assert_int_equal(lines, REQUESTS); /* each once */
}

static void refuses_half_an_allocator(void **state) {
    (void)state;
    tile_context *context = NULL;
    const tile_allocator half = {.size = sizeof half, .allocate = count_allocate};
    const tile_context_options options = {.size = sizeof options, .allocator = &half};
    assert_int_equal(tile_context_create(&options, &context), TILE_ERROR_INVALID_ARGUMENT);
    assert_null(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(gives_everything_back),
        TEST(survives_every_failure),
        TEST(survives_failures_of_a_compilation),
        TEST(survives_failures_of_tuning),
        TEST(survives_failures_of_runs_on_hosts),
        TEST(survives_failures_of_units),
        TEST(serves_threads),
        TEST(resizes_its_blocks),
        TEST(refuses_half_an_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
