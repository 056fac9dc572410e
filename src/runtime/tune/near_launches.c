/* See near_launches.h. */
#include "runtime/tune/near_launches.h"

#include <math.h>

enum {
    /* What a thread has besides its share of tiles: addresses, indices, the grid. */
    FIXED_REGISTERS = 40,
};

/* Half the warps have twice the tiles in each thread. */
static bool fits_half(const KernelFacts *own) {
    const Resources *r = &own->resources;
    if (!r->known)
        return true;
    return !r->spill_stores && !r->spill_loads &&
           2 * (r->registers - FIXED_REGISTERS) + FIXED_REGISTERS <= TARGET_MAX_REGISTERS;
}

bool launch_is_near(const KernelFacts *own, TriedLaunch launch) {
    const KernelMeta *meta = &own->meta;
    const int32_t warps = launch.num_warps;
    if (launch.num_stages && !meta->shared_bytes && !own->resources.static_shared)
        return false; /* there is nowhere to load ahead to */
    if (!warps)
        return true;
    if (meta->programs_per_cta > 1 && warps >= meta->num_warps &&
        warps * TARGET_WARP_SIZE <= meta->threads)
        return true; /* a CTA for each program, of up to as many warps */
    if (2 * warps == meta->num_warps)
        return fits_half(own);
    return warps == 2 * meta->num_warps && warps <= TARGET_MAX_WARPS;
}

/* Whether something depends on how candidate `own` comes out. */
static bool has_variants(const TuneCandidate *candidates, uint32_t count, uint32_t own) {
    if (candidates[own].is_known && !isfinite(candidates[own].record.ms))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (candidates[i].variant_of == own + 1 && !candidates[i].is_known)
            return true;
    return false;
}

typedef struct Choosing {
    TuneCandidate *candidates;
    uint32_t count;
    uint32_t *owns; /* the candidates that are compiled, as many as the plan has */
    Plan plan;
    Built *built;
    Ctx *ctx;
    unsigned jobs;
} Choosing;

static void choose(void *user) {
    Choosing *c = user;
    build_plan(c->ctx, &c->plan, &(BuildOptions){.jobs = c->jobs, .one_form = true}, c->built);
    for (size_t k = 0; k < c->plan.len; k++)
        for (uint32_t i = 0; i < c->count; i++) {
            TuneCandidate *candidate = &c->candidates[i];
            if (candidate->variant_of == c->owns[k] + 1 && c->built[k].count)
                candidate->is_left_out =
                    !launch_is_near(&c->built[k].variants[0].facts, candidate->launch);
        }
}

static void release(void *user) {
    Choosing *c = user;
    build_release(c->built, c->plan.len);
}

void near_launches_choose(Ctx *ctx, unsigned jobs, TuneCandidate *candidates, uint32_t count) {
    Choosing c = {.ctx = ctx, .candidates = candidates, .count = count, .jobs = jobs};
    c.owns = ARENA_ARRAY(&ctx->arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        candidates[i].is_left_out = candidates[i].variant_of != 0;
        if (candidates[i].variant_of || !has_variants(candidates, count, i))
            continue;
        c.owns[c.plan.len] = i;
        vec_push(&ctx->arena, &c.plan, candidates[i].planned);
    }
    if (!c.plan.len)
        return;
    c.built = ARENA_ARRAY(&ctx->arena, Built, c.plan.len);
    ctx_finally(ctx, choose, release, &c);
}
