/* choose-layouts: gives every tile a layout and makes conversions explicit.
 *
 * Accesses to memory anchor the layouts (choose_accesses.c), from there they flow to all values
 * (choose_tile_layouts.c), then the IR is rewritten (choose_materialise.c). Indices, pointers and
 * masks are recomputed where they are needed in a second layout; only values that are costly to
 * make again are converted.
 *
 *     %p = addptr %x, %i : tile<256xptr<f32>>       %p = addptr %x, %i : tile<256xptr<f32>, L>
 *     %v = load %p : tile<256xf32>            ->    %v = load %p {width = 2} : tile<256xf32, L>
 *     %s = reduce %v {axis = 0} : f32               %s = reduce %v {axis = 0} : f32
 *
 *     with L = {reg = [1], lane = [2, 4, 8, 16, 32], warp = [64, 128]}
 *
 * Needs: func->num_warps; no layouts. Leaves: a layout in every tile type, attribute `width` of
 * loads and stores set, scans within warps. A reduce may cross warps (split-reduces), a
 * convert_layout too (stage-shared). */
#include "passes/layout/choose_layouts.h"
#include "passes/passes.h"

bool pass_choose_layouts(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (func->num_ctas > 1) {
        ctx_diag(ctx, func->span, codegen_launch, STR_ARG(func->name), "num_ctas",
                 (int)func->num_ctas, "1: clusters are not generated");
        diag_hint(&ctx->diags, "leave num_ctas out");
        return false;
    }
    ArenaMark mark = arena_mark(&ctx->scratch);
    Choice choice = {.ctx = ctx, .func = func, .arena = &ctx->scratch};
    choice.num_warps = func->num_warps;
    choice.facts = facts_compute(func, choice.arena);
    choice.nvalues = func_number(func);
    choice.access_of.arena = choice.arena;
    choice.values = ARENA_ARRAY(choice.arena, Value *, choice.nvalues);
    choice.origin = ARENA_ARRAY(choice.arena, Origin, choice.nvalues);
    choice.remade = ARENA_ARRAY(choice.arena, uint8_t, choice.nvalues);
    choice.enters = ARENA_ARRAY(choice.arena, bool, choice.nvalues);
    choice.home = ARENA_ARRAY(choice.arena, const Layout *, choice.nvalues);
    choice.asked = ARENA_ARRAY(choice.arena, const Layout *, choice.nvalues);
    choice.demand = ARENA_ARRAY(choice.arena, const Layout *, choice.nvalues);
    choose_accesses(&choice);
    choose_tile_layouts(&choice);
    choose_materialise(&choice);
    func->has_layouts = true;
    arena_rewind(&ctx->scratch, mark);
    return true;
}
