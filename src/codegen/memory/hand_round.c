/* See hand_round.h. */
#include "codegen/memory/hand_round.h"
#include "codegen/memory/access.h"
#include "codegen/memory/barrier.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/shuffle.h"
#include "codegen/values/values.h"
#include "ir/scratch.h"

/* Gives every copy in the warp the owner's value. */
static void share_in_warp(Cg *cg, const Layout *layout, Lv *out) {
    const Plan *plan = cg_plan(cg, layout);
    uint32_t free = layout_free_bits(layout) >> layout->bits[LAYOUT_REG];
    free |= ~((1u << layout_thread_bits(layout)) - 1);
    Lv owner = LLVMBuildAnd(cg->b, cg->lane, cg_i32(cg, ~free), "");
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] == reg)
            out[reg] = cg_shuffle(cg, "idx", out[reg], owner);
}

/* The same for copies that other warps have, through shared memory. The second barrier lets the
 * next op have it. */
static void share_in_program(Cg *cg, const Type *type, const Layout *layout, Lv *out) {
    const Plan *plan = cg_plan(cg, layout);
    Lv base = cg_scratch(cg), owner = cg_owner(cg, type->layout);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t reg = 0; reg < plan->count; reg++) {
            if (plan->rep[reg] != reg)
                continue;
            Lv index = cg_plan_at(cg, plan, reg);
            Access access = {
                .space = SPACE_SHARED,
                .dtype = type->dtype,
                .width = 1,
                .pointer =
                    LLVMBuildGEP2(cg->b, cg_memory_type(cg, type->dtype), base, &index, 1, ""),
                .predicate = pass == 0 ? owner : NULL,
            };
            if (pass == 0)
                cg_store(cg, &access, &out[reg]);
            else
                cg_load(cg, &access, NULL, &out[reg]);
        }
        cg_barrier(cg);
    }
}

void cg_hand_round(Cg *cg, const Op *op, Lv *out) {
    static const Layout scalar_layout = {0};
    const Type *type = op->out[0].type;
    const Layout *layout = type_is_tile(type) ? type->layout : &scalar_layout;
    if (op_scratch_bytes(op, cg->func->num_warps))
        share_in_program(cg, type, layout, out);
    else if (cg_owner(cg, type->layout))
        share_in_warp(cg, layout, out);
    if (!type_is_tile(type))
        return;
    const Plan *plan = cg_plan(cg, type->layout);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        out[reg] = out[plan->rep[reg]];
}
