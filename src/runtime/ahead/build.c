/* See build.h. */
#include "runtime/ahead/build.h"

#include <pthread.h>
#include <unistd.h>

typedef struct Build {
    const Plan *plan;
    const BuildOptions *options;
    const Cancel *cancel;
    Built *built;
    pthread_mutex_t lock; /* of `next`, `done` and the progress */
    size_t next, done;
} Build;

/* Into the arena of what was built, which has no jump of its own. */
static void keep_variant(Built *built, const Planned *planned, const Compiled *compiled,
                         bool is_other_form) {
    const CompileRequest *request = &planned->request;
    Arena *arena = &built->arena;
    Variant *variant = &built->variants[built->count];
    *variant = (Variant){.facts = facts_copy(arena, &compiled->facts),
                         .path = str_keep(arena, planned->path),
                         .num_warps = request->kernel.num_warps,
                         .num_stages = request->kernel.num_stages,
                         .num_ctas = request->kernel.num_ctas,
                         .is_other_form = is_other_form};
    if (request->want & OUTPUT_BIT(cubin))
        variant->cubin = str_keep(arena, compiled->outputs[OUTPUT_cubin]);
    if (request->want & OUTPUT_BIT(ptx))
        variant->ptx = str_keep(arena, compiled->outputs[OUTPUT_ptx]);
    built->count++;
}

static bool compile_forms(Ctx *ctx, const Planned *planned, Built *built) {
    Compiled *compiled = ARENA_NEW(&ctx->arena, Compiled);
    CompileRequest request = planned->request;
    if (!compile_kernel(ctx, &request, compiled))
        return false;
    keep_variant(built, planned, compiled, false);
    if (!compiled->facts.meta.tensor_maps.len)
        return true;
    request.no_tensor_copies = true;
    if (!compile_kernel(ctx, &request, compiled))
        return false;
    keep_variant(built, planned, compiled, true);
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
    for (const Diagnostic *d = ctx->diags.first; d && built->failed == DIAG_COUNT; d = d->next)
        if (d->severity == SEV_ERROR)
            built->failed = d->id;
}

static void build_one(const Build *build, const Planned *planned, Built *built) {
    *built = (Built){.failed = DIAG_COUNT};
    Ctx *ctx = ctx_create();
    if (!ctx)
        return;
    built->arena.oom = &ctx->oom;
    if (setjmp(ctx->oom)) {
        built->count = 0;
        built->arena.oom = NULL;
        ctx_destroy(ctx);
        return;
    }
    ctx->arena.limit = planned->request.memory_limit;
    ctx_cancel_with(ctx, build->cancel);
    const bool ok = compile_forms(ctx, planned, built);
    keep_messages(ctx, built);
    if (!ok)
        built->count = 0;
    built->arena.oom = NULL;
    ctx_destroy(ctx);
}

static void *work(void *user) {
    Build *build = user;
    for (;;) {
        pthread_mutex_lock(&build->lock);
        const size_t i = build->next++;
        pthread_mutex_unlock(&build->lock);
        if (i >= build->plan->len)
            return NULL;
        const Planned *planned = &build->plan->data[i];
        build->built[i] = (Built){.failed = DIAG_COUNT};
        if (!build->cancel || !cancel_is_requested(build->cancel))
            build_one(build, planned, &build->built[i]);
        pthread_mutex_lock(&build->lock);
        build->done++;
        if (build->options->progress)
            build->options->progress(build->options->user, planned, build->done, build->plan->len);
        pthread_mutex_unlock(&build->lock);
    }
}

bool build_plan(Ctx *ctx, const Plan *plan, const BuildOptions *options, Built *built) {
    enum { MAX_JOBS = 64 };
    Build build = {.plan = plan,
                   .options = options,
                   .cancel = ctx->arena.cancel,
                   .built = built,
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t jobs = options->jobs ? options->jobs : processors > 0 ? (size_t)processors : 1;
    jobs = jobs > plan->len ? plan->len : jobs;
    jobs = jobs > MAX_JOBS ? MAX_JOBS : jobs;
    pthread_t threads[MAX_JOBS];
    size_t started = 0;
    while (started + 1 < jobs && !pthread_create(&threads[started], NULL, work, &build))
        started++;
    work(&build);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&build.lock);
    bool ok = true;
    for (size_t i = 0; i < plan->len; i++)
        ok &= built[i].count > 0;
    return ok;
}

void build_release(Built *built, size_t count) {
    for (size_t i = 0; i < count; i++)
        arena_free(&built[i].arena);
}
