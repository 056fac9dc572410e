/* Loads and stores of global memory: each element by the threads that hold it, or by the first of
 * them on behalf of the others. */
#include "codegen/llvm/schedule.h"
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/hand_round.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/values.h"
#include "ir/scratch.h"

void lower_load(Cg *cg, const Op *op) {
    const struct load_attrs *attrs = load_attrs(op);
    const Type *type = op->out[0].type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    uint32_t count = cg_count(type), width = op_access_width(op);
    Lv *ptr = cg_in(cg, op, 0), *mask = cg_in(cg, op, 1), *given = cg_in(cg, op, 2);
    Lv *out = cg_new(cg, &op->out[0]);
    /* Undefined elements are zero, as sums over masked rows expect them to be in practice. */
    Lv zero = cg_zero(cg_type(cg, type)), other[16];
    bool handed = op_scratch_bytes(op, cg->func->num_warps) > 0;
    Lv owner = attrs->by_owner || handed ? cg_owner(cg, type->layout) : NULL;
    for (uint32_t reg = 0; reg < count; reg += width) {
        if (plan && plan->rep[reg] != reg) {
            for (uint32_t i = 0; i < width; i++)
                out[reg + i] = out[plan->rep[reg + i]];
            continue;
        }
        for (uint32_t i = 0; i < width; i++)
            other[i] = given ? given[reg + i] : zero;
        cg_load(cg,
                &(Access){.space = SPACE_GLOBAL,
                          .dtype = type->dtype,
                          .width = width,
                          .pointer = ptr[reg],
                          .predicate = cg_and(cg, mask ? mask[reg] : NULL, owner),
                          .cache = attrs->cache,
                          .evict = attrs->evict,
                          .is_volatile = attrs->is_volatile,
                          .may_delay = attrs->may_delay,
                          .under_way = attrs->under_way},
                other, out + reg);
    }
    if (handed)
        cg_hand_round(cg, op, out);
    if (attrs->ends_batch)
        cg_keep_order(cg);
}

void lower_store(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 1)->type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    uint32_t count = cg_count(type), width = op_access_width(op);
    Lv *ptr = cg_in(cg, op, 0), *values = cg_in(cg, op, 1), *mask = cg_in(cg, op, 2);
    Lv owner = cg_owner(cg, type->layout);
    for (uint32_t reg = 0; reg < count; reg += width) {
        if (plan && plan->rep[reg] != reg)
            continue;
        cg_store(cg,
                 &(Access){.space = SPACE_GLOBAL,
                           .dtype = type->dtype,
                           .width = width,
                           .pointer = ptr[reg],
                           .predicate = cg_and(cg, mask ? mask[reg] : NULL, owner),
                           .cache = store_attrs(op)->cache,
                           .evict = store_attrs(op)->evict},
                 values + reg);
    }
}

/* Passes have made others of these. */

static void is_left(Cg *cg, const Op *op) {
    cg->failed = true;
    ctx_diag(cg->ctx, op->span, codegen_op_left, op_info[op->code].name);
}

void lower_load_block(Cg *cg, const Op *op) {
    is_left(cg, op);
}

void lower_store_block(Cg *cg, const Op *op) {
    is_left(cg, op);
}

void lower_atomic_block(Cg *cg, const Op *op) {
    is_left(cg, op);
}

void lower_gather(Cg *cg, const Op *op) {
    is_left(cg, op);
}

void lower_histogram(Cg *cg, const Op *op) {
    is_left(cg, op);
}
