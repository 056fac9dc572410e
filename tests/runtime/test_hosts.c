/* The library in awkward hosts: threads with small stacks, little memory, SIGCHLD not as the
 * library would have it. */
#include "ir/parse.h"
#include "passes/passes.h"
#include "tilec.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains_compile_on_small_stacks),
        cmocka_unit_test(deep_expressions_compile_on_small_stacks),
        cmocka_unit_test(deeper_expressions_have_a_place),
        cmocka_unit_test(chains_of_values_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
