/* Any bytes as a manifest. Beyond not crashing: what is refused has a message inside of the text,
 * and what is accepted is no more than a plan may be. */
#include "fuzz.h"
#include "runtime/ahead/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    const uint32_t file =
        source_add(&ctx->sources, STR("folder/fuzz.json"), (Str){(const char *)data, size});
    const PlanDefaults defaults = {0};
    Plan plan = {0};
    if (manifest_parse(ctx, file, &defaults, &plan)) {
        FUZZ_CHECK(!ctx->diags.errors && plan.len && plan.len <= PLAN_MAX_VARIANTS);
        vec_for_each (planned, &plan)
            FUZZ_CHECK(planned->request.target && planned->request.want);
    } else {
        FUZZ_CHECK(ctx->diags.errors > 0);
        for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
            FUZZ_CHECK(!d->span.file ||
                       (d->span.lo <= d->span.hi && d->span.lo <= size && d->span.hi <= size + 1));
    }
    ctx_destroy(ctx);
    return 0;
}
