/* The library in awkward hosts: threads with small stacks, little memory, SIGCHLD not as the
 * library would have it. */
#include "ir/parse.h"
#include "passes/passes.h"
#include "tilec.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A sanitizer's own memory does not fit into a small address space, and its operator new does not
 * come through malloc, where the library counts. */
#ifdef TILEC_SANITIZED
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

typedef struct Job {
    tile_context *context;
    char *source;
    tile_status status;
    tile_diagnostics *diagnostics;
} Job;

static void *compile_job(void *user) {
    Job *job = user;
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("deep.tile"),
                                          .source = text(job->source),
                                          .signature = text("*i32, i32"),
                                          .want = TILE_WANT(TILE_OUTPUT_PTX)};
    tile_kernel *kernel = NULL;
    job->status = tile_compile(job->context, &options, &kernel, &job->diagnostics);
    tile_kernel_destroy(kernel);
    return NULL;
}

/* Compiles on a thread with that much stack. */
static void compile_with_stack(Job *job, size_t stack) {
    const tile_context_options options = {.size = sizeof options, .cache_folder = text("none")};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(tile_context_create(&options, &job->context), TILE_OK);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, stack), 0);
    assert_int_equal(pthread_create(&thread, &attributes, compile_job, job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    tile_context_destroy(job->context);
}

static const char head[] = "import triton\n"
                           "import triton.language as tl\n"
                           "@triton.jit\n"
                           "def f(x, n):\n";

/* head, `before`, then `part` so many times, then `after`. */
static char *repeated(const char *before, const char *part, size_t count, const char *after) {
    const size_t len = strlen(part);
    char *source = malloc(sizeof head + strlen(before) + len * count + strlen(after));
    assert_non_null(source);
    char *end = stpcpy(stpcpy(source, head), before);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, part);
    strcpy(end, after);
    return source;
}

enum { SMALL_STACK = 64 << 10, LARGE_STACK = 1 << 20 };

static void long_chains_compile_on_small_stacks(void **state) {
    static const size_t stacks[] = {SMALL_STACK, LARGE_STACK};
    for (size_t i = 0; i < 2; i++) {
        Job job = {.source =
                       repeated("    p = x\n", "    p = p + n\n", 12000, "    tl.store(p, 1)\n")};
        compile_with_stack(&job, stacks[i]);
        assert_int_equal(job.status, TILE_OK);
        assert_null(job.diagnostics);
        free(job.source);
    }
}

/* As deep as the parser lets them be. */
static void deep_expressions_compile_on_small_stacks(void **state) {
    static const struct {
        const char *before, *part, *after;
        size_t count;
    } shapes[] = {
        {"    tl.store(x, n", " + n", ")\n", 480},
        {"    v = ", "(", "n", 190},
        {"    tl.store(x, ", "-", "n)\n", 190},
        {"    v = ", "n if n else ", "n\n    tl.store(x, v)\n", 190},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char closing[256] = "";
        strcpy(closing, shapes[i].after);
        if (*shapes[i].part == '(')
            memset(closing + 1, ')', shapes[i].count);
        Job job = {.source = repeated(shapes[i].before, shapes[i].part, shapes[i].count, closing)};
        compile_with_stack(&job, SMALL_STACK);
        assert_int_equal(job.status, TILE_OK);
        tile_diagnostics_destroy(job.diagnostics);
        free(job.source);
    }
}

/* What is deeper has a place. */
static void deeper_expressions_have_a_place(void **state) {
    static const char *const parts[] = {" + n", " if n else n", "[None]", ".a", " ** n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Job job = {.source = repeated("    tl.store(x, n", parts[i], 200000, ")\n")};
        compile_with_stack(&job, SMALL_STACK);
        assert_int_equal(job.status, TILE_ERROR_SOURCE);
        tile_diagnostic first = {.size = sizeof first};
        assert_int_equal(tile_diagnostics_get(job.diagnostics, 0, &first), TILE_OK);
        assert_int_equal(first.line, 5);
        tile_diagnostics_destroy(job.diagnostics);
        free(job.source);
    }
}

/* Chains of values, straight and through the results of regions, up to what the stack has room
 * for. */
static void chains_of_values_are_bounded(void **state) {
    enum { LIMIT = 100 };
    for (int count = LIMIT - 10; count <= LIMIT + 1; count += 11) {
        Ctx *ctx = ctx_create();
        assert_non_null(ctx);
        ctx->arena.oom = NULL; /* out of memory aborts the test */
        ctx->max_depth = LIMIT;
        StrBuf ir = strbuf(&ctx->arena);
        strbuf_puts(&ir, "func @f(%p: ptr<i32>, %v0: i32) {\n");
        for (int i = 0; i < count; i++)
            strbuf_printf(&ir, "  %%v%d = addi %%v%d, %%v%d : i32\n", i + 1, i, i);
        strbuf_printf(&ir, "  store %%p, %%v%d\n  return\n}\n", count);
        const uint32_t file = source_add(&ctx->sources, STR("chain.tir"), strbuf_str(&ir));
        Module *module = module_parse(ctx, file);
        assert_non_null(module);
        const PassId passes[] = {PASS_licm};
        assert_int_equal(pipeline_run_passes(module->funcs, passes, 1, NULL), count < LIMIT);
        if (count >= LIMIT) {
            assert_int_equal(ctx->diags.first->id, DIAG_ir_depth);
            const Source *source = source_get(&ctx->sources, file);
            assert_int_equal(source_locate(source, ctx->diags.first->span.lo).line, LIMIT + 2);
        }
        ctx_destroy(ctx);
    }
}

/* The status of compiling the source, in a process of its own: its exit status, with 64 added where
 * an error came without a diagnostic, or minus the signal that ended it. `address_space` is what
 * may be mapped beyond what is already. */
static int status_in_process(const tile_context_options *options, char *source,
                             size_t address_space) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        Job job = {.source = source};
        if (address_space) {
            FILE *file = fopen("/proc/self/statm", "r");
            unsigned long pages = 0;
            if (!file || fscanf(file, "%lu", &pages) != 1)
                _exit(63);
            fclose(file);
            const rlim_t most = pages * (size_t)sysconf(_SC_PAGESIZE) + address_space;
            setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
        }
        if (tile_context_create(options, &job.context))
            _exit(TILE_ERROR_OUT_OF_MEMORY);
        compile_job(&job);
        _exit((int)job.status + (job.status && !tile_diagnostics_count(job.diagnostics) ? 64 : 0));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const tile_context_options plain_options = {.size = sizeof plain_options,
                                                   .cache_folder = {"none", 4}};

/* Wherever malloc fails first, in this code or in LLVM, there is a status and a diagnostic. */
static void little_address_space_is_a_status(void **state) {
    if (IS_SANITIZED)
        skip();
    enum { LEAST = 1 << 20, MOST = 96 << 20, STEP = 512 << 10 };
    char *source = repeated("    p = x\n", "    p = p + n\n", 2000, "    tl.store(p, 1)\n");
    bool failed = false;
    int status = -1;
    for (size_t space = LEAST; space < MOST && status != TILE_OK; space += STEP) {
        status = status_in_process(&plain_options, source, space);
        if (status != TILE_OK && status != TILE_ERROR_OUT_OF_MEMORY)
            fail_msg("%d at %zu bytes", status, space);
        failed |= status == TILE_ERROR_OUT_OF_MEMORY;
    }
    assert_true(failed);
    assert_int_equal(status, TILE_OK);
    free(source);
}

/* The limit holds for what LLVM takes, too. */
static void memory_limit_covers_llvm(void **state) {
    if (IS_SANITIZED)
        skip();
    char *source = repeated("    i = tl.arange(0, 16384)\n    v = i\n",
                            "    v = tl.cumsum(v * n + tl.load(x + i * 3), 0)\n"
                            "    tl.store(x + i, v)\n",
                            80, "");
    tile_context_options options = plain_options;
    assert_int_equal(status_in_process(&options, source, 0), TILE_OK);
    options.memory_limit = (size_t)16 << 20;
    assert_int_equal(status_in_process(&options, source, 0), TILE_ERROR_OUT_OF_MEMORY);
    free(source);
}

/* A compilation that was given up leaves the library as it was. */
static void compiles_after_running_out(void **state) {
    char *source = repeated("    p = x\n", "    p = p + n\n", 3000, "    tl.store(p, 1)\n");
    bool failed = false, done = false;
    for (size_t limit = (size_t)1 << 20; !done; limit += (size_t)1 << 20) {
        tile_context_options options = plain_options;
        Job job = {.source = source};
        options.memory_limit = limit;
        assert_int_equal(tile_context_create(&options, &job.context), TILE_OK);
        compile_job(&job);
        done = job.status == TILE_OK;
        failed |= !done;
        if (!done) {
            tile_diagnostic only = {.size = sizeof only};
            assert_int_equal(job.status, TILE_ERROR_OUT_OF_MEMORY);
            assert_int_equal(tile_diagnostics_get(job.diagnostics, 0, &only), TILE_OK);
            assert_string_equal(only.id.data, "memory_limit");
        }
        tile_diagnostics_destroy(job.diagnostics);
        tile_context_destroy(job.context);
    }
    assert_true(failed);
    free(source);
}

/* In a process of its own */

typedef struct Outcome {
    tile_status status;
    char id[64]; /* of the first diagnostic; "": none */
    uint32_t line;
    char *ptx;
} Outcome;

static Outcome compile_isolated(const tile_context_options *options, const char *source,
                                bool isolated) {
    tile_context *context = NULL;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    tile_diagnostic first = {.size = sizeof first};
    Outcome outcome = {0};
    const tile_named types[] = {{text("x"), text("*i32:16")}, {text("n"), text("i32")}};
    const tile_compile_options wanted = {.size = sizeof wanted,
                                         .path = text("some.tile"),
                                         .source = text(source),
                                         .types = types,
                                         .type_count = 2,
                                         .target = text("sm_80"),
                                         .isolated = isolated,
                                         .want = TILE_WANT(TILE_OUTPUT_PTX) |
                                                 TILE_WANT(TILE_OUTPUT_TIR_FINAL)};
    assert_int_equal(tile_context_create(options, &context), TILE_OK);
    outcome.status = tile_compile(context, &wanted, &kernel, &said);
    if (tile_diagnostics_get(said, 0, &first) == TILE_OK) {
        snprintf(outcome.id, sizeof outcome.id, "%s", first.id.data);
        outcome.line = first.line;
    }
    if (kernel) {
        tile_param_info param = {.size = sizeof param};
        assert_int_equal(tile_kernel_get_param(kernel, 0, &param), TILE_OK);
        assert_string_equal(param.type.data, "*i32");
        assert_int_equal(param.divisible, 16);
        assert_true(tile_kernel_get_output(kernel, TILE_OUTPUT_TIR_FINAL).size);
        outcome.ptx = strdup(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data);
    }
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    tile_context_destroy(context);
    return outcome;
}

static const char *const isolated_sources[] = {
    "    tl.store(x + tl.arange(0, 64), n)\n",
    "    y = 1\n    tl.store(x, z)\n",
    "    tl.static_assert(False, 'no')\n",
};

static void isolated_is_the_same(void **state) {
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGCHLD, &ignored, &before);
    for (size_t i = 0; i < sizeof isolated_sources / sizeof *isolated_sources; i++) {
        char *source = repeated(isolated_sources[i], "", 0, "");
        Outcome here = compile_isolated(&plain_options, source, false);
        Outcome there = compile_isolated(&plain_options, source, true);
        assert_int_equal(there.status, here.status);
        assert_string_equal(there.id, here.id);
        assert_int_equal(there.line, here.line);
        assert_int_equal(here.ptx != NULL, i == 0);
        if (here.ptx)
            assert_string_equal(there.ptx, here.ptx);
        free(here.ptx);
        free(there.ptx);
        free(source);
    }
    sigaction(SIGCHLD, &before, NULL);
}

/* Whatever the worker does, there is a status and a diagnostic. */
static void isolated_failures_are_statuses(void **state) {
    static const struct {
        const char *script; /* NULL: the real one */
        size_t memory;
        uint32_t time_ms;
        tile_status status;
        const char *id;
    } cases[] = {
        {NULL, (size_t)12 << 20, 0, TILE_ERROR_OUT_OF_MEMORY, "memory_limit"},
        {NULL, 0, 1, TILE_ERROR_TIME_LIMIT, "worker_timeout"},
        {"sleep 100", 0, 200, TILE_ERROR_TIME_LIMIT, "worker_timeout"},
        {"kill -SEGV $$", 0, 0, TILE_ERROR_INTERNAL, "worker_failed"},
        {"echo what; exit 1", 0, 0, TILE_ERROR_INTERNAL, "worker_failed"},
        {"echo 'no answer'", 0, 0, TILE_ERROR_INTERNAL, "worker_failed"},
        {"exit 65", 0, 0, TILE_ERROR_TOOL, "worker_other_build"},
        {"", 0, 0, TILE_ERROR_INTERNAL, "worker_failed"},
    };
    char *source = repeated("    i = tl.arange(0, 16384)\n    v = i\n",
                            "    v = tl.cumsum(v * n + tl.load(x + i * 3), 0)\n"
                            "    tl.store(x + i, v)\n",
                            24, "");
    for (size_t i = IS_SANITIZED; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/tilec-worker-XXXXXX";
        tile_context_options options = plain_options;
        options.memory_limit = cases[i].memory;
        options.time_limit_ms = cases[i].time_ms;
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        if (cases[i].script) {
            dprintf(fd, "#!/bin/sh\n%s\n", cases[i].script);
            fchmod(fd, 0755);
            options.worker = text(path);
        }
        close(fd);
        Outcome outcome = compile_isolated(&options, source, true);
        unlink(path);
        assert_int_equal(outcome.status, cases[i].status);
        assert_string_equal(outcome.id, cases[i].id);
        assert_null(outcome.ptx);
    }
    setenv("TILEC_WORKER", "/nonexistent/tilec", 1);
    assert_int_equal(compile_isolated(&plain_options, source, true).status, TILE_ERROR_TOOL);
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    free(source);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    setenv("TILEC_PTXAS", "none", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains_compile_on_small_stacks),
        cmocka_unit_test(deep_expressions_compile_on_small_stacks),
        cmocka_unit_test(deeper_expressions_have_a_place),
        cmocka_unit_test(chains_of_values_are_bounded),
        cmocka_unit_test(little_address_space_is_a_status),
        cmocka_unit_test(memory_limit_covers_llvm),
        cmocka_unit_test(compiles_after_running_out),
        cmocka_unit_test(isolated_is_the_same),
        cmocka_unit_test(isolated_failures_are_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
