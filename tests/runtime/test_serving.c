/* Serving: strict contexts, which compile nothing; the watch, counters and the record of what is
 * asked for; prewarming, by the library and by the command, whose entries are what calls look up.
 */
#include "../support/llvm_leaks.h"
#include "api_testing.h"
#include "process_testing.h"
#include "runtime/cache/lease.h"
#include "support/ctx.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { MAX_TOLD = 16 };

/* What a watch was told. */
typedef struct Told {
    int count;
    tile_outcome outcomes[MAX_TOLD];
    char kernels[MAX_TOLD][32], manifests[MAX_TOLD][2048];
    bool may_call; /* the context, in which nothing is locked */
    tile_context *context;
} Told;

static void watch(void *user, const tile_request *request) {
    Told *told = user;
    assert_in_range(told->count, 0, MAX_TOLD - 1);
    assert_string_equal(request->target.data, "sm_90a");
    assert_true(request->milliseconds >= 0);
    told->outcomes[told->count] = request->outcome;
    snprintf(told->kernels[told->count], 32, "%s", request->kernel.data);
    snprintf(told->manifests[told->count++], 2048, "%s", request->manifest.data);
    tile_context_counts counts = {.size = sizeof counts};
    if (told->context)
        assert_int_equal(tile_context_get_counts(told->context, &counts), TILE_OK);
}

/* On the fixture's cache, with an assembler that counts, or none. */
static tile_context *open_context(const Fixture *f, bool strict, const char *ptxas, Told *told) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .ptxas = text(ptxas),
                                          .strict = strict,
                                          .watch = told ? watch : NULL,
                                          .watch_user = told};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    if (told)
        told->context = context;
    return context;
}

static tile_context_counts counts_of(const tile_context *context) {
    tile_context_counts counts = {.size = sizeof counts};
    assert_int_equal(tile_context_get_counts(context, &counts), TILE_OK);
    return counts;
}

__attribute__((format(printf, 3, 4))) static void write_file(const Fixture *f, const char *name,
                                                             const char *format, ...) {
    char path[128];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    assert_int_equal(fclose(file), 0);
}

__attribute__((format(printf, 2, 3))) static void run_tilec(const Fixture *f, const char *format,
                                                            ...) {
    char command[1024];
    int used = snprintf(command, sizeof command, "%s ", TILEC_PROGRAM);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(command + used, sizeof command - (size_t)used, format, arguments);
    va_end(arguments);
    snprintf(command + used, sizeof command - (size_t)used,
             " --cache-dir %s --ptxas %s >%s/said 2>&1 || { cat %s/said >&2; false; }", f->folder,
             TILEC_FAKE_PTXAS, f->folder, f->folder);
    assert_int_equal(system(command), 0);
}

/* Runs of the assembler until now. */
static int assembled(const Fixture *f) {
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/log", f->folder);
    return stat(path, &info) ? 0 : (int)(info.st_size / 26);
}

static int setup_counting(void **state) {
    setup(state);
    Fixture *f = *state;
    char path[128];
    write_file(f, "scale.tile", "%s", source);
    write_file(f, "log", "%s", "");
    snprintf(path, sizeof path, "%s/log", f->folder);
    setenv("FAKE_PTXAS_LOG", path, 1);
    unsetenv("TILEC_RECORD");
    return 0;
}

static tile_function *scale_function(const Fixture *f, tile_context *context) {
    char path[128];
    snprintf(path, sizeof path, "%s/scale.tile", f->folder);
    const tile_compile_options options = {.size = sizeof options, .path = text(path)};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(context, &options, &function, NULL), TILE_OK);
    return function;
}

static tile_status call_scale(Fixture *f, tile_function *function, tile_device *device,
                              uint64_t address, int64_t n, tile_diagnostics **said) {
    static const uint32_t grid[3] = {3, 1, 1};
    static const unsigned char bytes[] = {8, 4, 4, 4, 0};
    const tile_argument arguments[] = {tile_pointer(address, TILE_FP32), tile_int(n),
                                       tile_float(2.0), tile_constexpr_int(256)};
    memcpy(f->cuda->param_bytes, bytes, sizeof bytes);
    return tile_function_launch(function, device, grid, NULL, arguments, 4, said);
}

static tile_status prewarm_text(tile_context *context, const char *manifest,
                                tile_prewarm_result *result, tile_diagnostics **said) {
    const tile_prewarm_options options = {
        .size = sizeof options, .manifest = text(manifest), .threads = 2};
    if (result)
        *result = (tile_prewarm_result){.size = sizeof *result};
    return tile_prewarm(context, &options, result, said);
}

/* Another process, without a device, compiles for calls however the manifest spells them. */
static void finds_what_the_command_built(void **state) {
    Fixture *f = *state;
    if (!HAS_PROCESSES)
        skip();
    write_file(f, "k.json",
               "{\"targets\": \"sm_90a\", \"kernels\": [{\"file\": \"scale.tile\", \"signatures\": "
               "[\"*fp32:16,i32 : 16 , float, 256\", \"*float32, i32:=1, fp32, 256\"]}]}\n"
               "{\"kernels\": [{\"file\": \"scale.tile\", \"kernel\": \"scale\", \"types\": "
               "{\"factor\": \"fp32\", \"x\": \"*f32:16\", \"n\": \"int:=256\"}, "
               "\"constexprs\": {\"BLOCK\": 256}}]}\n");
    run_tilec(f, "prewarm %s/k.json", f->folder);
    const int made = assembled(f);
    assert_int_equal(made, 3); /* each code once, in whatever forms it is looked up */
    const char *const assemblers[] = {TILEC_FAKE_PTXAS, "none"};
    for (int i = 0; i < 2; i++) {
        tile_context *context = open_context(f, true, assemblers[i], NULL);
        tile_device *device = NULL;
        assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
        tile_function *function = scale_function(f, context);
        const unsigned before = f->cuda->launches;
        tile_diagnostics *said = NULL;
        if (call_scale(f, function, device, 0x1000, 512, &said) != TILE_OK)
            fail_msg("%s", tile_diagnostics_text(said).data);
        assert_int_equal(call_scale(f, function, device, 0x1004, 1, NULL), TILE_OK);
        assert_int_equal(call_scale(f, function, device, 0x1000, 256, NULL), TILE_OK);
        assert_int_equal(call_scale(f, function, device, 0x1000, 528, NULL), TILE_OK);
        assert_int_equal(f->cuda->launches, before + 4);
        const tile_context_counts counts = counts_of(context);
        assert_int_equal(counts.found, 3);
        assert_int_equal(counts.compiled + counts.refused + counts.failed, 0);
        tile_function_destroy(function);
        tile_device_close(device);
        tile_context_destroy(context);
    }
    assert_int_equal(assembled(f), made);
}

/* What is missing is an error that says so; a background thread may compile it meanwhile. */
static void refuses_what_is_missing(void **state) {
    Fixture *f = *state;
    if (!HAS_PROCESSES)
        skip();
    Told told = {0};
    tile_context *context = open_context(f, true, TILEC_FAKE_PTXAS, &told);
    tile_device *device = NULL;
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
    tile_function *function = scale_function(f, context);
    tile_diagnostics *said = NULL;
    const unsigned loads = f->cuda->loads;
    assert_int_equal(call_scale(f, function, device, 0x1000, 1000, &said), TILE_ERROR_NOT_COMPILED);
    assert_non_null(strstr(tile_diagnostics_text(said).data,
                           "error: 'scale' is not compiled, and this context compiles nothing: the "
                           "caches' folders have nothing of it"));
    tile_diagnostics_destroy(said);
    assert_int_equal(call_scale(f, function, device, 0x1000, 1000, NULL), TILE_ERROR_NOT_COMPILED);
    assert_int_equal(f->cuda->launches, 0);
    assert_int_equal(f->cuda->loads, loads);
    assert_int_equal(assembled(f), 0);
    assert_int_equal(counts_of(context).refused, 2);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.outcomes[0], TILE_REFUSED);
    assert_string_equal(told.kernels[0], "scale");

    tile_prewarm_result result;
    assert_int_equal(prewarm_text(context, told.manifests[0], &result, &said), TILE_OK);
    assert_null(said);
    assert_int_equal(result.compiled, 1);
    assert_int_equal(assembled(f), 1);
    assert_int_equal(call_scale(f, function, device, 0x1000, 1000, &said), TILE_OK);
    assert_int_equal(told.outcomes[2], TILE_FOUND);
    assert_int_equal(f->cuda->launches, 1);

    assert_int_equal(call_scale(f, function, device, 0x1000, 1008, &said), TILE_ERROR_NOT_COMPILED);
    assert_non_null(strstr(tile_diagnostics_text(said).data, ": 'n' is i32:16, wanted i32:8\n"));
    assert_non_null(strstr(tile_diagnostics_text(said).data, "scale.tile:5:5: error: "));
    tile_diagnostics_destroy(said);
    assert_int_equal(prewarm_text(context, told.manifests[3], &result, &said), TILE_OK);
    assert_int_equal(call_scale(f, function, device, 0x1004, 1016, &said), TILE_ERROR_NOT_COMPILED);
    assert_non_null(strstr(tile_diagnostics_text(said).data, ": 'x' is *fp32, wanted *fp32:16\n"));
    tile_diagnostics_destroy(said);
    assert_int_equal(call_scale(f, function, device, 0x1000, 1001, &said), TILE_ERROR_NOT_COMPILED);
    const char *n = strstr(tile_diagnostics_text(said).data, ": 'n' is i32, wanted i32:");
    assert_true(n && strstr(n, "i32:16") && strstr(n, "i32:8")); /* all that are as near */
    tile_diagnostics_destroy(said);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_context_destroy(context);
}

/* Whatever decides the code is named where it differs from what is there. */
static void names_every_difference(void **state) {
    Fixture *f = *state;
    char changed[sizeof source + 16];
    tile_compile_options options = scale_options();
    tile_kernel *kernel = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    tile_context *context = open_context(f, true, "none", NULL);
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    /* The same in other words. */
    options.signature = text(" *fp32:16, int,float , 256");
    options.kernel = text("scale");
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_OK);
    tile_kernel_destroy(kernel);
    snprintf(changed, sizeof changed, "%s+ n\n", source);
    changed[sizeof source - 2] = ' ';
    const struct {
        tile_compile_options options;
        const char *said;
    } cases[] = {
        {{.target = text("sm_80")}, ": target is sm_80, wanted sm_90a\n"},
        {{.num_warps = 8}, ": num_warps is 8, wanted 0\n"},
        {{.signature = text("*fp32:16, i32, fp32, 512")},
         ": 'BLOCK' is the constexpr 512, wanted the constexpr 256\n"},
        {{.signature = text("*fp16:16, i32:=7, fp32, 256"), .num_stages = 2},
         ": 'x' is *fp16:16, wanted *fp32:16; 'n' is i32:=7, wanted i32; num_stages is 2, wanted "
         "0\n"},
        {{.path = text("other.tile")}, ": the source's name is other.tile, wanted scale.tile\n"},
        {{.source = text(changed)}, ": the source's text (bytes, hash) is "},
        {{.no_line_info = true}, ": line info is 0, wanted 1; the source's name is none"},
        {{.want = TILE_WANT(TILE_OUTPUT_TIR)},
         ": the cache has PTX, cubins and facts, and nothing else that is wanted\n"},
        {{.no_cache = true}, ": there is no cache\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tile_compile_options *differs = &cases[i].options;
        tile_diagnostics *said = NULL;
        options = scale_options();
        options.target = differs->target;
        options.num_warps = differs->num_warps;
        options.num_stages = differs->num_stages;
        options.no_line_info = differs->no_line_info;
        options.no_cache = differs->no_cache;
        options.isolated = i % 2; /* which starts nothing */
        options.want |= differs->want;
        if (differs->signature.size)
            options.signature = differs->signature;
        if (differs->path.size)
            options.path = differs->path;
        if (differs->source.size)
            options.source = differs->source;
        assert_int_equal(tile_compile(context, &options, &kernel, &said), TILE_ERROR_NOT_COMPILED);
        if (!strstr(tile_diagnostics_text(said).data, cases[i].said))
            fail_msg("%zu: %s", i, tile_diagnostics_text(said).data);
        tile_diagnostics_destroy(said);
    }
    assert_int_equal(counts_of(context).found, 2);
    assert_int_equal(counts_of(context).compiled, 0);
    tile_context_destroy(context);
}

/* Somebody else compiles it: a strict call does not wait, which would take a minute. */
static void waits_for_nobody(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Cache cache;
    cache_open(&cache, &ctx->arena, &(CacheConfig){.folder = f->folder});
    CacheLease leases[16];
    tile_context *context = open_context(f, true, "none", NULL);
    const tile_compile_options options = scale_options();
    tile_kernel *kernel = NULL;
    /* The own folder with whatever lease: none can be taken in a folder that is gone. */
    cache_lease_open(&leases[0], &cache, STR("any"));
    assert_true(!cache_lease_wait(&leases[0], NULL) || leases[0].own);
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_ERROR_NOT_COMPILED);
    uint64_t held = 0;
    assert_int_equal(cache_count_leases(&cache, &ctx->arena, &held), 0);
    assert_int_equal(held, 1); /* that one, and no other */
    cache_lease_close(&leases[0]);
    tile_context_destroy(context);
    cache_close(&cache);
    ctx_destroy(ctx);
}

static bool give_helper(void *user, tile_text path, tile_text *given) {
    (void)user;
    if (path.size < 11 || strcmp(path.data + path.size - 11, "helper.tile") != 0)
        return false;
    *given = text("import triton\nimport triton.language as tl\n@triton.jit\ndef twice(v):\n"
                  "    return v + v\n");
    return true;
}

static const char importing[] =
    "import triton\n"
    "import triton.language as tl\n"
    "from helper import twice\n"
    "from other import once\n"
    "@triton.heuristics({\"EVEN\": lambda args: args[\"n\"] % 2 == 0})\n"
    "@triton.jit\n"
    "def put(x, n, EVEN: tl.constexpr):\n"
    "    tl.store(x, twice(once(n)) + EVEN)\n";

/* All ways to ask: functions of files and of texts, compilations by signature and by name. */
static tile_status ask_for_all(Fixture *f, tile_context *context, tile_device *device) {
    const tile_named other = {text("other.tile"),
                              text("import triton\n@triton.jit\ndef once(v):\n    return v\n")};
    const tile_compile_options put = {.size = sizeof put,
                                      .path = text("put.tile"),
                                      .source = text(importing),
                                      .files = &other,
                                      .file_count = 1,
                                      .read_file = give_helper,
                                      .num_warps = 2};
    const tile_named types[] = {{text("n"), text("i32")}, {text("x"), text("*fp32")}},
                     block = {text("BLOCK"), text("64")};
    tile_compile_options named = scale_options();
    tile_function *functions[2] = {scale_function(f, context), NULL};
    tile_kernel *kernel = NULL;
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(6)};
    const tile_executable *executable;
    tile_status status = tile_function_create(context, &put, &functions[1], NULL);
    if (status == TILE_OK)
        status = call_scale(f, functions[0], device, 0x1000, 1000, NULL);
    if (status == TILE_OK)
        status = tile_function_instance(functions[1], device, arguments, 2, &executable, NULL);
    named.signature = text("*fp32, i32, fp32");
    named.types = types;
    named.type_count = 2;
    named.constexprs = &block;
    named.constexpr_count = 1;
    named.debug = named.no_line_info = true;
    if (status == TILE_OK)
        status = tile_compile(context, &named, &kernel, NULL);
    tile_kernel_destroy(kernel);
    tile_function_destroy(functions[0]);
    tile_function_destroy(functions[1]);
    return status;
}

static void print_errors(void *user, const tile_diagnostic *said) {
    (void)user;
    if (said->severity == TILE_ERROR)
        print_message("%s", said->rendered.data);
}

static tile_status ask_in(Fixture *f, bool strict, const char *record,
                          tile_context_counts *counts) {
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text(f->folder),
                                          .cuda_library = text(TILEC_FAKE_CUDA),
                                          .ptxas = text(TILEC_FAKE_PTXAS),
                                          .log = print_errors,
                                          .strict = strict,
                                          .record = text(record)};
    tile_context *context = NULL;
    tile_device *device = NULL;
    tile_status status = tile_context_create(&options, &context);
    assert_int_equal(status, TILE_OK);
    status = tile_device_open(context, 0, &device, NULL);
    for (int i = 0; i < 2 && status == TILE_OK; i++) /* the second time says nothing new */
        status = ask_for_all(f, context, device);
    *counts = counts_of(context);
    tile_device_close(device);
    tile_context_destroy(context);
    return status;
}

static int count_lines(const char *path) {
    int lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

/* What one run asked for is what a fresh cache has after a prewarming, to the last key. */
static void replays_a_record(void **state) {
    enum { PROCESSES = 4, REQUESTS = 3 };
    Fixture *f = *state;
    if (!HAS_PROCESSES)
        skip();
    char record[128];
    tile_context_counts counts;
    snprintf(record, sizeof record, "%s/record.json", f->folder);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0)
            _exit(ask_in(f, false, record, &counts) == TILE_OK ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_lines(record), PROCESSES * REQUESTS);
    char command[256];
    snprintf(command, sizeof command, "/bin/rm -rf %s/v1", f->folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(ask_in(f, true, "none", &counts), TILE_ERROR_NOT_COMPILED);
    run_tilec(f, "prewarm %s -j 2", record);
    const int made = assembled(f);
    if (ask_in(f, true, "none", &counts) != TILE_OK) {
        snprintf(command, sizeof command, "cat %s >&2", record);
        assert_int_equal(system(command), 0);
        fail_msg("not all is there");
    }
    assert_int_equal(counts.found, 2 * REQUESTS);
    assert_int_equal(counts.compiled + counts.refused + counts.failed, 0);
    assert_int_equal(assembled(f), made);
}

/* Requests that are not answered are told, too, and a record that cannot be written is said once.
 */
static void tells_of_failures(void **state) {
    Fixture *f = *state;
    Told told = {0};
    char record[128];
    tile_compile_options options = scale_options();
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    tile_cancellation *cancellation = NULL;
    snprintf(record, sizeof record, "%s/none/record.json", f->folder);
    setenv("TILEC_RECORD", record, 1);
    tile_context *context = open_context(f, false, "none", &told);
    assert_int_equal(tile_compile(context, &options, &kernel, &said), TILE_OK);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "[-Wrecord_unwritable]"));
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    assert_int_equal(tile_compile(context, &options, &kernel, &said), TILE_OK);
    assert_null(said);
    tile_kernel_destroy(kernel);
    options.signature = text("*fp32");
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_ERROR_SOURCE);
    assert_int_equal(tile_cancellation_create(&cancellation), TILE_OK);
    tile_cancellation_request(cancellation);
    options = scale_options();
    options.cancellation = cancellation;
    options.num_warps = 2;
    assert_int_equal(tile_compile(context, &options, &kernel, NULL), TILE_ERROR_CANCELLED);
    assert_int_equal(told.count, 3); /* what is cancelled before it begins asks for nothing */
    assert_int_equal(told.outcomes[0], TILE_COMPILED);
    assert_int_equal(told.outcomes[1], TILE_FOUND);
    assert_int_equal(told.outcomes[2], TILE_FAILED);
    assert_int_equal(counts_of(context).failed, 1);
    unsetenv("TILEC_RECORD");
    tile_cancellation_destroy(cancellation);
    tile_context_destroy(context);
}

typedef struct Progress {
    size_t calls, done, total;
    tile_cancellation *cancellation; /* requested by the first call; NULL: none */
} Progress;

static void count_progress(void *user, size_t done, size_t total) {
    Progress *progress = user;
    progress->calls++;
    assert_int_equal(done, progress->calls);
    progress->done = done;
    progress->total = total;
    tile_cancellation_request(progress->cancellation);
}

static const char many[] =
    "{\"code\": \"ptx\", \"kernels\": [{\"file\": \"scale.tile\", \"signatures\": "
    "\"*fp32, i32, fp32\", \"constexprs\": {\"BLOCK\": [16, 32, 64, 128, 256, 512, 1024, 2048]}, "
    "\"num_warps\": [1, 2, 4]}]}";

static tile_prewarm_options many_options(Fixture *f, char path[128], Progress *progress) {
    snprintf(path, 128, "%s/many.json", f->folder);
    return (tile_prewarm_options){.size = sizeof(tile_prewarm_options),
                                  .path = text(path),
                                  .manifest = text(many),
                                  .threads = 2,
                                  .progress = count_progress,
                                  .user = progress,
                                  .cancellation = progress->cancellation};
}

static void prewarms_all_or_what_there_is_time_for(void **state) {
    Fixture *f = *state;
    char path[128];
    Progress progress = {0};
    tile_prewarm_result result = {.size = sizeof result};
    tile_diagnostics *said = NULL;
    assert_int_equal(tile_cancellation_create(&progress.cancellation), TILE_OK);
    tile_prewarm_options options = many_options(f, path, &progress);
    assert_int_equal(tile_prewarm(f->context, &options, &result, &said), TILE_ERROR_CANCELLED);
    tile_diagnostics_destroy(said);
    assert_int_equal(result.kernels, 24);
    assert_in_range(result.compiled, 1, 2); /* one a thread */
    assert_int_equal(result.compiled + result.failed, 24);
    tile_cancellation_destroy(progress.cancellation);
    const size_t before = result.compiled;
    progress = (Progress){0};
    options = many_options(f, path, &progress);
    const tile_status status = tile_prewarm(f->context, &options, &result, &said);
    if (status != TILE_OK)
        fail_msg("%d %s", (int)status, tile_diagnostics_text(said).data);
    assert_int_equal(progress.calls, 24);
    assert_int_equal(progress.total, 24);
    assert_in_range(result.found, before, 2); /* or what was stored, and then cancelled */
    assert_int_equal(result.compiled, 24 - result.found);
    assert_int_equal(result.failed, 0);
}

static void says_what_cannot_be_prewarmed(void **state) {
    Fixture *f = *state;
    char path[128];
    tile_prewarm_result result;
    tile_diagnostics *said = NULL;
    Progress progress = {0};
    const struct {
        const char *manifest, *said;
        tile_status status;
    } wrong[] = {
        {"{\"kernels\": [\n{\"file\": \"none.tile\"}]}",
         "<manifest>:2:1: error: none.tile for sm_90a: cannot read 'none.tile': ", TILE_ERROR_FILE},
        {"{\"kernels\": [{\"file\": \"a.tile\", \"source\": \"import triton\\n@triton.jit\\ndef "
         "f(x):\\n    y = z\\n\", \"signatures\": \"i32\"}]}",
         "<manifest>:1:14: error: a.tile for sm_90a: a.tile:4:9: ", TILE_ERROR_SOURCE},
        {"{\"kernels\": []}", "<manifest>:1:13: error: found a list, wanted a list with ",
         TILE_ERROR_SOURCE},
        {"{\"kernels\": [{\"file\": \"a.tile\", \"files\": {\"b\": 1}}]}",
         "<manifest>:1:48: error: found a number, wanted a string", TILE_ERROR_SOURCE},
        {"", "<manifest>:1:1: error: wanted a value", TILE_ERROR_SOURCE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(prewarm_text(f->context, wrong[i].manifest, &result, &said),
                         wrong[i].status);
        if (!strstr(tile_diagnostics_text(said).data, wrong[i].said))
            fail_msg("%s", tile_diagnostics_text(said).data);
        tile_diagnostics_destroy(said);
    }
    /* A cache that is too small for all of it is no success. */
    const tile_context_options small = {.size = sizeof small,
                                        .cache_folder = text(f->folder),
                                        .cache_max_bytes = 1,
                                        .ptxas = text("none")};
    tile_context *context = NULL;
    assert_int_equal(tile_context_create(&small, &context), TILE_OK);
    const tile_prewarm_options options = many_options(f, path, &progress);
    result = (tile_prewarm_result){.size = sizeof result};
    assert_int_not_equal(tile_prewarm(context, &options, &result, &said), TILE_OK);
    assert_true(result.failed >= 8);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "does not have what was put there"));
    tile_diagnostics_destroy(said);
    tile_context_destroy(context);
    /* And one that is not there is none to compile into. */
    const tile_context_options none = {.size = sizeof none, .cache_folder = text("none")};
    assert_int_equal(tile_context_create(&none, &context), TILE_OK);
    assert_int_equal(tile_prewarm(context, &options, &result, NULL), TILE_ERROR_INVALID_ARGUMENT);
    tile_context_destroy(context);
}

#define COUNTING_TEST(name) cmocka_unit_test_setup_teardown(name, setup_counting, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        COUNTING_TEST(finds_what_the_command_built),
        COUNTING_TEST(refuses_what_is_missing),
        COUNTING_TEST(names_every_difference),
        COUNTING_TEST(waits_for_nobody),
        COUNTING_TEST(replays_a_record),
        COUNTING_TEST(tells_of_failures),
        COUNTING_TEST(prewarms_all_or_what_there_is_time_for),
        COUNTING_TEST(says_what_cannot_be_prewarmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
