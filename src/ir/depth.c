/* How long chains of values may be: the depth that recursion over operands can reach. */
#include "ir/ir.h"

/* Values passed into a region are taken to hang on all operands of the op that holds it, and the
 * op's results on what its regions pass on, so that a walk through either is covered. */
typedef struct Depths {
    uint32_t *of; /* by Value.id: values in a row up to this one */
    uint32_t limit;
    const Op *deepest; /* the first op beyond the limit; NULL: none */
} Depths;

static uint32_t depth_in(const Depths *depths, const Op *op) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < op->nin; i++) {
        uint32_t in = depths->of[op_in(op, i)->id];
        depth = in > depth ? in : depth;
    }
    return depth;
}

static void measure(Depths *depths, const Block *block) {
    block_for_each (op, block) {
        uint32_t depth = depth_in(depths, op);
        for (uint32_t r = 0; r < op->nregions; r++) {
            Block *region = op->regions[r];
            for (uint32_t i = 0; i < region->nargs; i++)
                depths->of[region->args[i].id] = depth;
            measure(depths, region);
            uint32_t passed = region->last ? depth_in(depths, region->last) : 0;
            depth = passed > depth ? passed : depth;
        }
        for (uint32_t i = 0; i < op->nout; i++)
            depths->of[op->out[i].id] = depth + 1;
        if (depth >= depths->limit && !depths->deepest)
            depths->deepest = op;
    }
}

bool func_check_depth(Func *func) {
    Ctx *ctx = func_ctx(func);
    uint32_t count = func_number(func);
    if (count <= ctx->max_depth)
        return true;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Depths depths = {.of = ARENA_ARRAY(&ctx->scratch, uint32_t, count), .limit = ctx->max_depth};
    measure(&depths, func->body);
    arena_rewind(&ctx->scratch, mark);
    if (!depths.deepest)
        return true;
    ctx_diag(ctx, depths.deepest->span, ir_depth, ctx->max_depth);
    diag_hint(&ctx->diags, "make a loop of it: `range` runs on the GPU");
    return false;
}
