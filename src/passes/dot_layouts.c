/* Layouts of dots by the unit that computes them; see layout_rules.h. */
#include "ir/mma.h"
#include "passes/layout_rules.h"

enum { CHAIN_BUDGET = 256 /* ops looked at */, ANY_CAPABILITY = 1 << 20 };

/* Chains: softmax(a * b) * c. Where the rows of one product are those of the next, warps that split
 * rows alone keep them in place. */

static bool reaches_dot(const Value *value, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use == &user->in[0])
            return true;
        if (*budget == 0 || user->nregions || !op_is_pure(user) || user->code == OP_dot)
            continue;
        --*budget;
        for (uint32_t i = 0; i < user->nout; i++)
            if (reaches_dot(&user->out[i], budget))
                return true;
    }
    return false;
}

static bool comes_from_dot(const Value *value, unsigned *budget) {
    const Op *op = value->def;
    if (!op || *budget == 0 || op->nregions || !op_is_pure(op))
        return false;
    --*budget;
    if (op->code == OP_dot)
        return true;
    for (uint32_t i = 0; i < op->nin; i++)
        if (comes_from_dot(op_in(op, i), budget))
            return true;
    return false;
}

static bool is_chained(const Op *dot) {
    unsigned forward = CHAIN_BUDGET, backward = CHAIN_BUDGET;
    return reaches_dot(&dot->out[0], &forward) || comes_from_dot(op_in(dot, 0), &backward);
}

static const Mma *mma_of(const Op *dot) {
    return mma_find(op_in(dot, 0)->type->dtype, op_in(dot, 1)->type->dtype, dot->out[0].type->dtype,
                    ANY_CAPABILITY);
}

static int64_t fragments(int64_t size, int64_t fragment, int64_t warps) {
    return size > fragment * warps ? size / (fragment * warps) : 1;
}

/* Warps go where more of the tile is left for each, M if in doubt; the batch comes last. */
static void arrange_warps(const Op *dot, const Mma *mma, int num_warps, int64_t warps[MAX_RANK]) {
    const Type *acc = dot->out[0].type;
    int m = acc->rank - 2, n = acc->rank - 1;
    bool rows_alone = is_chained(dot);
    for (int d = 0; d < acc->rank; d++)
        warps[d] = 1;
    for (int left = num_warps; left > 1; left /= 2) {
        int64_t rows = fragments(acc->shape[m], mma->m, warps[m]);
        int64_t columns = fragments(acc->shape[n], mma->n, warps[n]);
        int chosen = -1;
        if (rows > 1 && (rows_alone || rows * 2 >= columns || columns == 1))
            chosen = m;
        else if (columns > 1)
            chosen = n;
        for (int d = 0; d < m && chosen < 0; d++)
            chosen = warps[d] < acc->shape[d] ? d : -1;
        if (chosen < 0)
            return;
        warps[chosen] *= 2;
    }
}

const Layout *layout_of_accumulator(Ctx *ctx, const Op *dot, int num_warps) {
    const Type *acc = dot->out[0].type;
    if (dot->attrs[2].i == UNIT_FMA)
        return layout_dot_accumulator(ctx, acc, num_warps);
    const Mma *mma = mma_of(dot);
    int64_t warps[MAX_RANK];
    arrange_warps(dot, mma, num_warps, warps);
    return layout_mma_accumulator(ctx, mma, acc, warps, __builtin_ctz((unsigned)num_warps));
}

const Layout *layout_of_dot_operand(Ctx *ctx, const Op *dot, const Layout *acc_layout, int index) {
    const Type *acc = dot->out[0].type, *operand = op_in(dot, (uint32_t)index)->type;
    if (dot->attrs[2].i == UNIT_FMA)
        return layout_dot_operand(ctx, acc_layout, acc, operand, index);
    return layout_mma_operand(ctx, mma_of(dot), acc, acc_layout, operand, index);
}
