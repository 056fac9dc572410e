/* See simulate.h. */
#include "runtime/host/simulate.h"

bool simulate_map(Ctx *ctx, const TensorMapRecipe *recipe, const void *const *params,
                  SimTensorMap *map, RecipeProblem *problem) {
    TensorMapShape shape;
    uint32_t box[RECIPE_MAX_RANK], steps[RECIPE_MAX_RANK];
    *problem = (RecipeProblem){0};
    if (!recipe_resolve(recipe, params, &shape, problem))
        return false;
    for (int32_t i = 0; i < recipe->rank; i++) {
        box[i] = (uint32_t)recipe->box[i];
        steps[i] = 1;
    }
    return sim_tensor_map_encode(
        ctx, map, (SimTensorType)recipe_element(recipe->dtype), (uint32_t)recipe->rank,
        shape.address, shape.extents, shape.strides + 1, box, steps, SIM_INTERLEAVE_NONE,
        (SimTensorSwizzle)recipe_swizzle(recipe), SIM_PROMOTION_128B, SIM_FILL_ZERO);
}

/* False after a remark. */
static bool are_apart(Ctx *ctx, Simulation *s) {
    const ApartList *apart = &s->facts->meta.apart;
    const ApartParams *pair = apart_find_equal(apart->data, apart->len, s->params);
    if (!pair)
        return true;
    const KernelImage image = facts_image(&ctx->arena, s->facts, STR(""));
    s->other_form = FORM_IN_PLACE;
    ctx_diag(ctx, (Span){0}, in_place_other_form, STR_ARG(s->facts->meta.name),
             apart_explain(&ctx->arena, image.param_names, pair));
    return false;
}

/* Appends what the launcher adds to the kernel's own parameters. */
static bool add_hidden(Ctx *ctx, Simulation *s, SimTensorMap *maps, const void **params) {
    const KernelMeta *meta = &s->facts->meta;
    const KernelImage image = facts_image(&ctx->arena, s->facts, STR(""));
    uint32_t *count = &s->launch.param_count;
    for (int axis = 0; axis < meta_grid_parameters(meta); axis++)
        params[(*count)++] = &s->grid[axis];
    for (uint32_t i = 0; i < meta->tensor_maps.len; i++) {
        const TensorMapRecipe *recipe = &meta->tensor_maps.data[i];
        RecipeProblem problem;
        if (!simulate_map(ctx, recipe, params, &maps[i], &problem)) {
            s->other_form = problem.fault != RECIPE_FINE ? FORM_PLAIN : 0;
            if (s->other_form)
                ctx_diag(ctx, (Span){0}, tensor_map_other_form, STR_ARG(meta->name),
                         recipe_explain(&ctx->arena, recipe, &problem, image.param_names, params));
            return false;
        }
        params[(*count)++] = maps[i].bytes;
    }
    return true;
}

/* Fills in the launch. False after a report, or with `other_form` set. */
static bool prepare(Ctx *ctx, Simulation *s, SimTensorMap *maps) {
    const KernelMeta *meta = &s->facts->meta;
    LaunchShape shape = launch_shape(meta);
    shape.resident_ctas = s->ctas;
    s->other_form = 0;
    if (!launch_shape_blocks(&shape, s->grid, s->launch.grid))
        return ctx_diag(ctx, (Span){0}, launch_too_many_programs, STR_ARG(meta->name),
                        LAUNCH_MAX_PERSISTENT);
    const void **params =
        ARENA_ARRAY(&ctx->arena, const void *, (size_t)s->param_count + 3 + RECIPE_MAX_MAPS);
    for (uint32_t i = 0; i < s->param_count; i++)
        params[i] = s->params[i];
    s->launch.kernel = meta->name;
    s->launch.block[0] = (uint32_t)meta->threads;
    s->launch.block[1] = s->launch.block[2] = 1;
    s->launch.dynamic_shared = (uint64_t)meta->shared_bytes;
    s->launch.params = params;
    s->launch.param_count = s->param_count;
    return are_apart(ctx, s) && add_hidden(ctx, s, maps, params);
}

bool simulate(Ctx *ctx, Simulation *s) {
    SimTensorMap maps[RECIPE_MAX_MAPS];
    s->counts = NULL;
    return prepare(ctx, s, maps) && sim_launch(s->module, s->memory, &s->launch, &s->counts);
}

bool simulate_time(Ctx *ctx, Simulation *s, const SimTimeOptions *options, SimTime *time) {
    SimTensorMap maps[RECIPE_MAX_MAPS];
    return prepare(ctx, s, maps) && sim_predict(s->module, s->memory, &s->launch, options, time);
}
