/* Public API: compiling what a manifest lists into the caches. */
#include "runtime/ahead/build.h"
#include "runtime/api/api_compile.h"
#include "runtime/status.h"
#include "support/file.h"

typedef struct Prewarming {
    Call *call;
    const tile_prewarm_options *options;
    const Plan *plan;
    Built *built;
    BuildSums sums;
} Prewarming;

static void tell_progress(void *user, const Planned *planned, size_t done, size_t total) {
    const tile_prewarm_options *options = user;
    (void)planned;
    options->progress(options->user, done, total);
}

static void prewarm(void *user) {
    Prewarming *p = user;
    const BuildOptions how = {.jobs = p->options->threads,
                              .into_cache = true,
                              .progress = p->options->progress ? tell_progress : NULL,
                              .user = (void *)(uintptr_t)p->options};
    build_plan(p->call->ctx, p->plan, &how, p->built);
    p->sums = build_report(p->call->ctx, p->plan, p->built);
}

static void release(void *user) {
    Prewarming *p = user;
    build_release(p->built, p->plan->len);
}

static bool read_plan(Call *call, const tile_prewarm_options *options, Plan *plan) {
    Ctx *ctx = call->ctx;
    PlanDefaults defaults = {0};
    const tile_compile_options compile = {.size = sizeof compile,
                                          .path = {"<manifest>", 10},
                                          .target = {"sm_90a", 6}, /* until a manifest says one */
                                          .cancellation = options->cancellation};
    const char *path = text_dup(&ctx->arena, options->path);
    Str *targets = ARENA_ARRAY(&ctx->arena, Str, options->target_count + 1);
    if (!request_from_options(call, call->context, &compile, &defaults.request))
        return false;
    defaults.request.is_strict = false;
    defaults.request.isolated = options->isolated;
    for (size_t i = 0; i < options->target_count; i++)
        targets[i] = text_str(options->targets[i]);
    defaults.targets = targets;
    defaults.target_count = (uint32_t)options->target_count;
    defaults.request.want = 0;
    if (!options->manifest.data)
        return manifest_read(ctx, path, &defaults, plan);
    const uint32_t file = source_add(&ctx->sources, str_from(path ? path : "<manifest>"),
                                     text_str(options->manifest));
    return manifest_parse(ctx, file, &defaults, plan);
}

static tile_status run(Call *call, const tile_prewarm_options *options,
                       tile_prewarm_result *result) {
    Plan plan = {0};
    if (!read_plan(call, options, &plan))
        return TILE_OK; /* which becomes what was said */
    const Cache *cache = &call->context->cache;
    if (!cache->folder && !cache->remote)
        return TILE_ERROR_INVALID_ARGUMENT;
    Prewarming p = {call, options, &plan, ARENA_ARRAY(&call->ctx->arena, Built, plan.len + 1), {0}};
    ctx_finally(call->ctx, prewarm, release, &p);
    const tile_prewarm_result known = {.kernels = plan.len,
                                       .compiled = p.sums.compiled,
                                       .found = p.sums.found,
                                       .failed = p.sums.failed};
    if (result)
        info_copy(result, &known, sizeof known);
    return p.sums.failed && cancel_is_requested(call->ctx->arena.cancel) ? TILE_ERROR_CANCELLED
                                                                         : TILE_OK;
}

tile_status tile_prewarm(tile_context *context, const tile_prewarm_options *given,
                         tile_prewarm_result *result, tile_diagnostics **diagnostics) {
    tile_prewarm_options options;
    if (!context || !given || (result && result->size <= sizeof result->size) ||
        !options_copy(&options, sizeof options, given, sizeof options.size) ||
        (!options.path.size && !options.manifest.data) || options.target_count > UINT32_MAX ||
        (!options.targets && options.target_count))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, run(call, &options, result));
}
