/* See build.h. */
#include "runtime/ahead/build.h"
#include "runtime/compile/folder.h"
#include "runtime/compile/recall.h"
#include "runtime/status.h"
#include "runtime/tools/ptxas.h"
#include "support/c_locale.h"

#include <pthread.h>
#include <unistd.h>

typedef struct Build {
    const Plan *plan;
    const BuildOptions *options;
    const Cancel *cancel;
    const Allocator *allocator;
    Built *built;
    bool is_check;        /* looks for what was compiled, and compiles nothing */
    pthread_mutex_t lock; /* of `next`, `done` and the progress */
    size_t next, done;
} Build;

/* Into the arena of what was built, which has no jump of its own. */
static void keep_variant(Built *built, const Planned *planned, const Compiled *compiled,
                         unsigned forms) {
    const CompileRequest *request = &planned->request;
    Arena *arena = &built->arena;
    Variant *variant = &built->variants[built->count];
    *variant = (Variant){.facts = facts_copy(arena, &compiled->facts),
                         .path = str_keep(arena, planned->path),
                         .num_warps = request->kernel.num_warps,
                         .num_stages = request->kernel.num_stages,
                         .num_ctas = request->kernel.num_ctas,
                         .forms = forms,
                         .grid = str_keep(arena, planned->grid)};
    if (request->want & OUTPUT_BIT(cubin))
        variant->cubin = str_keep(arena, compiled->outputs[OUTPUT_cubin]);
    if (request->want & OUTPUT_BIT(ptx))
        variant->ptx = str_keep(arena, compiled->outputs[OUTPUT_ptx]);
    built->count++;
}

/* What was compiled goes to the cache, or there was no use in it. */
static bool is_stored(Ctx *ctx, const CompileRequest *request, const Compiled *compiled) {
    return !compiled->store_error ||
           report_unwritable(&ctx->diags, request->cache->folder, compiled->store_error);
}

static bool compile_form(Ctx *ctx, const Build *build, const Planned *planned,
                         const CompileRequest *listed, unsigned forms, Built *built,
                         Compiled *compiled) {
    CompileRequest form = *listed;
    const CompileRequest *request = &form;
    request_forms(&form, forms);
    if (!compile_kernel(ctx, request, compiled))
        return false;
    built->compiled |= !compiled->from_cache;
    if (build->options->into_cache)
        return is_stored(ctx, request, compiled);
    keep_variant(built, planned, compiled, forms);
    return true;
}

/* Do the launches give one array as two arguments that the code takes to be apart? */
static bool gives_one_array(const Build *build, const Compiled *compiled) {
    const ApartList *apart = &compiled->facts.meta.apart;
    return build->options->params &&
           apart_find_equal(apart->data, apart->len, build->options->params);
}

/* The listed one, then the others that launches may ask for: of each form that was compiled those
 * that its facts say it does not do for. */
static bool compile_forms(Ctx *ctx, const Build *build, const Planned *planned,
                          CompileRequest *request, Built *built) {
    Compiled *compiled = ARENA_NEW(&ctx->arena, Compiled);
    bool wanted[FORM_SETS] = {true};
    request->is_strict = build->is_check;
    for (unsigned forms = 0; forms < FORM_SETS; forms++) {
        if (!wanted[forms])
            continue;
        if (!compile_form(ctx, build, planned, request, forms, built, compiled))
            return false;
        if (build->options->one_form) {
            if (!gives_one_array(build, compiled))
                return true;
            built->count = 0;
            return compile_form(ctx, build, planned, request, FORM_IN_PLACE, built, compiled);
        }
        wanted[forms | FORM_PLAIN] |= compiled->facts.meta.tensor_maps.len > 0;
        wanted[forms | FORM_IN_PLACE] |= compiled->facts.meta.apart.len > 0;
    }
    return true;
}

/* As a call of a function asks for it. False: nothing does, for the source is wrong. */
static bool ask_as_call(Ctx *ctx, CompileRequest *request) {
    const ElaborateRequest listed = request->kernel;
    uint32_t file;
    compile_use_files(ctx, request);
    const CompileRequest *resolved = folder_resolve(ctx, request);
    if (!resolved)
        return false;
    *request = *resolved;
    const AstFile *syntax = compile_parse(ctx, request->path, request->text, &file);
    const FuncDef *kernel = syntax ? frontend_choose_kernel(ctx, syntax, listed.kernel) : NULL;
    if (!kernel || !frontend_by_name(ctx, kernel, &listed, &request->kernel))
        return false;
    request->kernel.heuristics_done = true;
    return true;
}

static void keep_messages(Ctx *ctx, Built *built) {
    StrBuf text = strbuf(&ctx->arena), json = strbuf(&ctx->arena);
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
        if (d->severity != SEV_REMARK)
            diag_print(&ctx->diags, d, &text);
    diag_json(&ctx->diags, &json);
    built->said = str_keep(&built->arena, strbuf_str(&text));
    built->said_json = str_keep(&built->arena, strbuf_str(&json));
    for (const Diagnostic *d = ctx->diags.first; d && built->failed == DIAG_COUNT; d = d->next) {
        const Source *source = source_get(&ctx->sources, d->span.file);
        if (d->severity != SEV_ERROR)
            continue;
        built->failed = d->id;
        const LineColumn at = source ? source_locate(source, d->span.lo) : (LineColumn){0};
        built->error =
            str_keep(&built->arena, str_from(source ? str_format(&ctx->arena, "%.*s:%u:%u: %s",
                                                                 STR_ARG(source->path), at.line,
                                                                 at.column, d->text)
                                                    : d->text));
    }
}

/* What is done of one request, in a context of its own. */
typedef enum BuildStep {
    BUILD_LISTED, /* as it is listed; what is said is kept */
    BUILD_CALL,   /* as a call asks for it, which says the same again */
} BuildStep;

static void build_step(const Build *build, const Planned *planned, BuildStep step, Built *built) {
    Ctx *ctx = ctx_create_with(build->allocator);
    if (!ctx) {
        built->count = 0;
        return;
    }
    built->arena.oom = &ctx->oom;
    built->arena.allocator = build->allocator;
    if (setjmp(ctx->oom)) {
        built->count = 0;
        built->arena.oom = NULL;
        ctx_destroy(ctx);
        return;
    }
    CompileRequest request = planned->request;
    ctx->arena.limit = request.memory_limit;
    ctx_cancel_with(ctx, build->cancel);
    const bool ok = (step == BUILD_LISTED || ask_as_call(ctx, &request)) &&
                    compile_forms(ctx, build, planned, &request, built);
    if (!build->is_check && (!ok || step == BUILD_LISTED))
        keep_messages(ctx, built);
    built->count = !ok ? 0 : build->options->into_cache ? 1 : built->count;
    built->arena.oom = NULL;
    ctx_destroy(ctx);
}

static void build_one(const Build *build, const Planned *planned, Built *built) {
    build_step(build, planned, BUILD_LISTED, built);
    if (built->count && build->options->into_cache)
        build_step(build, planned, BUILD_CALL, built);
    if (!build->is_check || built->count)
        return;
    built->failed = DIAG_prewarm_lost;
    built->error = str_from(DIAG_FORMAT_prewarm_lost);
}

/* Checks concern what was compiled; nobody is told of them. */
static void *work(void *user) {
    Build *build = user;
    const BuildOptions *options = build->options;
    const locale_t before = c_locale_enter();
    for (;;) {
        pthread_mutex_lock(&build->lock);
        const size_t i = build->next++;
        pthread_mutex_unlock(&build->lock);
        if (i >= build->plan->len)
            break;
        const Planned *planned = &build->plan->data[i];
        Built *built = &build->built[i];
        if (!build->is_check)
            *built = (Built){.failed = DIAG_COUNT};
        if ((!build->is_check || (built->count && built->compiled)) &&
            !cancel_is_requested(build->cancel))
            build_one(build, planned, built);
        pthread_mutex_lock(&build->lock);
        build->done++;
        if (options->progress && !build->is_check)
            options->progress(options->user, planned, build->done, build->plan->len);
        pthread_mutex_unlock(&build->lock);
    }
    c_locale_leave(before);
    return NULL;
}

/* Goes through the plan, this thread among others. */
static void run(Build *build) {
    enum { MAX_JOBS = 64 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = build->options->jobs ? build->options->jobs
                  : processors > 0     ? (size_t)processors
                                       : 1;
    jobs = jobs > build->plan->len ? build->plan->len : jobs;
    jobs = jobs > MAX_JOBS ? MAX_JOBS : jobs;
    pthread_t threads[MAX_JOBS];
    size_t started = 0;
    build->next = build->done = 0;
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, work, build))
        started++;
    work(build);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* Readers without an assembler are told whose code there is. */
static void say_assembler(Ctx *ctx, const Plan *plan) {
    for (size_t i = 0; i < plan->len; i++) {
        const CompileRequest *request = &plan->data[i].request;
        const char *ptxas =
            request->want & OUTPUT_BIT(cubin) ? ptxas_find(&ctx->arena, request->ptxas) : NULL;
        if (!ptxas)
            continue;
        recall_say_assembler(ctx, request->cache, ptxas); /* what cannot be written was said */
        return;
    }
}

bool build_plan(Ctx *ctx, const Plan *plan, const BuildOptions *options, Built *built) {
    Build build = {.plan = plan,
                   .options = options,
                   .cancel = ctx->arena.cancel,
                   .allocator = ctx->arena.allocator,
                   .built = built,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    run(&build);
    if (options->into_cache) {
        say_assembler(ctx, plan);
        build.is_check = true;
        run(&build);
    }
    pthread_mutex_destroy(&build.lock);
    bool ok = true;
    for (size_t i = 0; i < plan->len; i++)
        ok &= built[i].count > 0;
    return ok;
}

BuildSums build_report(Ctx *ctx, const Plan *plan, const Built *built) {
    BuildSums sums = {0};
    ctx->diags.max_errors = (unsigned)plan->len + ctx->diags.errors;
    for (size_t i = 0; i < plan->len; i++) {
        const Planned *planned = &plan->data[i];
        sums.failed += !built[i].count;
        sums.compiled += built[i].count && built[i].compiled;
        sums.found += built[i].count && !built[i].compiled;
        if (built[i].count || cancel_is_requested(ctx->arena.cancel))
            continue;
        const bool is_known = built[i].failed != DIAG_COUNT;
        const Str name = planned->request.kernel.kernel;
        diag_emit(&ctx->diags, planned->span, is_known ? built[i].failed : DIAG_out_of_memory,
                  "%.*s%s%.*s for %s: %.*s", STR_ARG(name), name.len ? " of " : "",
                  STR_ARG(planned->path), planned->request.target->name,
                  STR_ARG(is_known ? built[i].error : STR("out of memory")));
    }
    return sums;
}

void build_release(Built *built, size_t count) {
    for (size_t i = 0; i < count; i++)
        arena_free(&built[i].arena);
}
