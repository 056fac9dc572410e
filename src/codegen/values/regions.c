/* Blocks op by op. The table of lowerings stands above those that own regions, and reaches them
 * through cg->lower. */
#include "codegen/values/regions.h"
#include "codegen/values/debug_info.h"
#include "codegen/values/values.h"

const Op *cg_lower_block(Cg *cg, const Block *block) {
    block_for_each (op, block) {
        if (op_has(op, TERMINATOR))
            return op;
        cg_debug_op(cg, op->span);
        op = (Op *)cg->lower(cg, op);
        if (cg->failed)
            break;
    }
    return block->last;
}

/* Nothing of it is computed yet, whatever it was the last time. */
static void forget_block(Cg *cg, const Block *block) {
    block_for_each (op, block) {
        for (uint32_t i = 0; i < op->nout; i++)
            cg_set(cg, &op->out[i], NULL);
        for (uint32_t i = 0; i < op->nregions; i++)
            forget_block(cg, op->regions[i]);
    }
}

void cg_inline_region(Cg *cg, const Block *block, const Lv *args, uint32_t nargs, Lv *out,
                      uint32_t nout) {
    for (uint32_t i = 0; i < nargs; i++)
        cg_new(cg, &block->args[i])[0] = args[i];
    forget_block(cg, block);
    const Op *yield = cg_lower_block(cg, block);
    for (uint32_t i = 0; i < nout && !cg->failed; i++)
        out[i] = cg_scalar(cg, op_in(yield, i));
}
