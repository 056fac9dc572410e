/* Layouts of dots by the unit that computes them; see layout_rules.h. */
#include "passes/layout/layout_rules.h"
#include "target/mma.h"
#include "target/wgmma.h"

enum { CHAIN_BUDGET = 256 /* ops looked at */, ANY_CAPABILITY = 1 << 20, MATRIX_ROW_BYTES = 16 };

/* Chains: softmax(a * b) * c. Where the rows of one product are those of the next, warps that split
 * rows alone keep them in place. Rows are followed by their dimension, which a transpose changes:
 * what was turned has to change hands anyway. */

enum { ANY_DIM = -1 /* not followed further: may be any */ };

static int rows_dim(const Type *type) {
    return type->rank - 2;
}

/* Dimension `dim` of one side of the op on the other: of its first operand in its result, or of its
 * result in its operands (`backward`). */
static int dim_across(const Op *op, const Type *from, const Type *to, int dim, bool backward) {
    if (dim == ANY_DIM || !type_is_tile(to) || to->rank != from->rank)
        return ANY_DIM;
    if (op->code != OP_transpose)
        return op->code == OP_reshape ? ANY_DIM : dim;
    const int64_t *order = transpose_attrs(op)->order.ptr;
    for (int i = 0; i < to->rank && !backward; i++)
        if (order[i] == dim)
            return i;
    return (int)order[dim];
}

static bool reaches_dot(const Value *value, int dim, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (user->code == OP_dot && use == &user->in[0] &&
            (dim == ANY_DIM || dim == rows_dim(value->type)))
            return true;
        if (*budget == 0 || user->nregions || !op_is_pure(user) || user->code == OP_dot)
            continue;
        --*budget;
        for (uint32_t i = 0; i < user->nout; i++) {
            int there = dim_across(user, value->type, user->out[i].type, dim, false);
            if (reaches_dot(&user->out[i], there, budget))
                return true;
        }
    }
    return false;
}

static bool comes_from_dot(const Value *value, int dim, unsigned *budget) {
    const Op *op = value->def;
    if (!op || *budget == 0 || op->nregions || !op_is_pure(op))
        return false;
    --*budget;
    if (op->code == OP_dot)
        return dim == ANY_DIM || dim == rows_dim(value->type);
    for (uint32_t i = 0; i < op->nin; i++) {
        int there = dim_across(op, value->type, op_in(op, i)->type, dim, true);
        if (comes_from_dot(op_in(op, i), there, budget))
            return true;
    }
    return false;
}

bool value_comes_from_dot(const Value *value) {
    unsigned budget = CHAIN_BUDGET;
    return comes_from_dot(value, ANY_DIM, &budget);
}

static bool is_chained_by(const Op *dot, bool rows) {
    unsigned forward = CHAIN_BUDGET, backward = CHAIN_BUDGET;
    const Value *a = op_in(dot, 0);
    return reaches_dot(&dot->out[0], rows ? rows_dim(dot->out[0].type) : ANY_DIM, &forward) ||
           comes_from_dot(a, rows ? rows_dim(a->type) : ANY_DIM, &backward);
}

bool dot_is_chained(const Op *dot) {
    return is_chained_by(dot, false);
}

bool dot_keeps_rows(const Op *dot) {
    return is_chained_by(dot, true);
}

static const Mma *mma_of(const Op *dot) {
    return mma_find(op_in(dot, 0)->type->dtype, op_in(dot, 1)->type->dtype, dot->out[0].type->dtype,
                    ANY_CAPABILITY);
}

static int64_t fragments(int64_t size, int64_t fragment, int64_t warps) {
    return size > fragment * warps ? size / (fragment * warps) : 1;
}

/* Loads of an operand's fragments for each that a matrix load would be: its buffer lies as memory
 * does, along M or N, and only elements of 16 bits are turned on the way to the registers. */
static int64_t loads_for_matrix(const Facts *facts, const Op *dot, int index) {
    const Value *operand = op_in(dot, (uint32_t)index);
    int bytes = type_element_bytes(operand->type);
    int rank = operand->type->rank, k = index == 0 ? rank - 1 : rank - 2;
    const Op *op = operand->def;
    for (; op && op->code == OP_transpose; op = op_in(op, 0)->def)
        k = (int)transpose_attrs(op)->order.ptr[k];
    if (!op || op->code != OP_load || bytes == 2 || bytes > 4)
        return 1;
    const Value *ptr = op_in(op, 0), *mask = op->nin > 1 ? op_in(op, 1) : NULL;
    int fastest = facts_fastest_dim(facts, ptr);
    bool lies_across = fastest != k && facts_access_width(facts, ptr, mask, fastest) > 1;
    return lies_across ? MATRIX_ROW_BYTES / bytes : 1;
}

static const Op *dot_behind(const Value *value, const Op *other, unsigned *budget) {
    const Op *op = value->def;
    if (!op || op == other || *budget == 0)
        return NULL;
    --*budget;
    if (op->code == OP_dot)
        return op;
    const Op *found = NULL;
    for (uint32_t i = 0; op_has(op, ELEMENTWISE) && i < op->nin && !found; i++)
        found = dot_behind(op_in(op, i), other, budget);
    return found;
}

/* A product whose result is added up with that of `dot`, element by element; NULL: none is. */
static const Op *joined_dot(const Value *value, const Op *dot, unsigned *budget) {
    value_for_each_use (use, value) {
        const Op *user = use->user, *found = NULL;
        if (*budget == 0 || !op_has(user, ELEMENTWISE) || user->nout != 1)
            continue;
        --*budget;
        for (uint32_t i = 0; i < user->nin && !found; i++)
            if (&user->in[i] != use)
                found = dot_behind(op_in(user, i), dot, budget);
        if (!found)
            found = joined_dot(op_out(user), dot, budget);
        if (found)
            return found;
    }
    return NULL;
}

/* Of two products that are added up, and whose operands would have warps go different ways, one
 * result would change hands in each iteration: shapes alone decide then, which are the same. */
static bool joins_another_way(const Facts *facts, const Op *dot) {
    unsigned budget = CHAIN_BUDGET;
    const Op *other = joined_dot(op_out(dot), dot, &budget);
    for (int i = 0; other && i < 2; i++)
        if (loads_for_matrix(facts, dot, i) != loads_for_matrix(facts, other, i))
            return true;
    return false;
}

/* Warps go where more is left for each to read, M if in doubt; the batch comes last. */
static void arrange_warps(const Facts *facts, const Op *dot, const Mma *mma, int num_warps,
                          int64_t warps[MAX_RANK]) {
    const Type *acc = dot->out[0].type;
    int m = acc->rank - 2, n = acc->rank - 1;
    const bool alike = joins_another_way(facts, dot);
    int64_t row_cost = mma->m * (alike ? 1 : loads_for_matrix(facts, dot, 0));
    int64_t column_cost = mma->n * (alike ? 1 : loads_for_matrix(facts, dot, 1));
    bool rows_alone = dot_is_chained(dot);
    for (int d = 0; d < acc->rank; d++)
        warps[d] = 1;
    for (int left = num_warps; left > 1; left /= 2) {
        int64_t rows = fragments(acc->shape[m], mma->m, warps[m]);
        int64_t columns = fragments(acc->shape[n], mma->n, warps[n]);
        int chosen = -1;
        if (rows > 1 && (rows_alone || rows * row_cost >= columns * column_cost || columns == 1))
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

/* Warpgroups go along M while each has 64 rows left, then along N; the others repeat the tile. */
static const Layout *warpgroup_accumulator(Ctx *ctx, const Type *acc, int num_warps) {
    int64_t groups[2] = {1, 1};
    for (int left = num_warps / WGMMA_WARPS; left > 1; left /= 2) {
        if (acc->shape[0] / groups[0] > WGMMA_M)
            groups[0] *= 2;
        else if (acc->shape[1] / groups[1] > WGMMA_GROUP_N)
            groups[1] *= 2;
    }
    return layout_wgmma_accumulator(ctx, acc, groups, __builtin_ctz((unsigned)num_warps));
}

const Layout *layout_of_accumulator(Ctx *ctx, const Facts *facts, const Op *dot, int num_warps) {
    const Type *acc = dot->out[0].type;
    if (dot_attrs(dot)->unit == UNIT_FMA)
        return layout_dot_accumulator(ctx, acc, num_warps);
    if (dot_attrs(dot)->unit == UNIT_WGMMA)
        return warpgroup_accumulator(ctx, acc, num_warps);
    const Mma *mma = mma_of(dot);
    int64_t warps[MAX_RANK];
    arrange_warps(facts, dot, mma, num_warps, warps);
    return layout_mma_accumulator(ctx, mma, acc, warps, __builtin_ctz((unsigned)num_warps));
}

const Layout *layout_of_dot_operand(Ctx *ctx, const Op *dot, const Layout *acc_layout, int index) {
    const Type *acc = dot->out[0].type, *operand = op_in(dot, (uint32_t)index)->type;
    if (dot_attrs(dot)->unit == UNIT_FMA)
        return layout_dot_operand(ctx, acc_layout, acc, operand, index);
    return layout_mma_operand(ctx, mma_of(dot), acc, acc_layout, operand, index);
}

/* Operands of warpgroups */

bool op_adds_or_drops_ones(const Op *op) {
    if (op->code != OP_reshape)
        return false;
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    int i = 0, k = 0;
    while (i < from->rank || k < to->rank) {
        if (i < from->rank && from->shape[i] == 1)
            i++;
        else if (k < to->rank && to->shape[k] == 1)
            k++;
        else if (i == from->rank || k == to->rank || from->shape[i++] != to->shape[k++])
            return false;
    }
    return true;
}

bool dot_operand_use(const Use *use, DotOperand *out) {
    const Op *user = use->user;
    if (user->code == OP_transpose || op_adds_or_drops_ones(user)) {
        value_for_each_use (inner, &user->out[0])
            if (!dot_operand_use(inner, out))
                return false;
        out->transposed ^= user->code == OP_transpose;
        return !value_unused(&user->out[0]);
    }
    if (user->code != OP_dot || dot_attrs(user)->unit != UNIT_WGMMA || use == &user->in[2])
        return false;
    *out = (DotOperand){user, use == &user->in[1], false};
    return true;
}

/* Elements along M or N that one instruction takes. */
static int64_t instruction_extent(Ctx *ctx, const DotOperand *operand) {
    const Type *acc = operand->dot->out[0].type;
    int64_t groups[2];
    if (!wgmma_grouping(ctx, acc, groups))
        return 0;
    int64_t columns = acc->shape[1] / groups[1];
    return operand->index == 0 ? WGMMA_M : columns < WGMMA_MAX_N ? columns : WGMMA_MAX_N;
}

static int k_dim(const DotOperand *operand) {
    return operand->index == 0 ? !operand->transposed : operand->transposed;
}

const Layout *layout_of_operand_buffer(Ctx *ctx, const DotOperand *operand, const Type *tile,
                                       int width) {
    int64_t extent = instruction_extent(ctx, operand);
    return extent ? layout_wgmma_operand(ctx, tile, tile->layout, k_dim(operand), extent, width)
                  : NULL;
}

bool dot_takes_buffer(Ctx *ctx, const DotOperand *operand, const Type *buffer) {
    Panels lies;
    return wgmma_takes_buffer(ctx, buffer, &lies) &&
           (lies.line == k_dim(operand) ||
            (wgmma_takes_mn_major(buffer) &&
             lies.span <= instruction_extent(ctx, operand) * type_element_bytes(buffer)));
}

/* Is acc carried by a loop that does nothing but add to it? */
static bool dot_carries_sum(const Op *dot) {
    const Value *acc = op_in(dot, 2), *result = &dot->out[0];
    const Block *body = dot->block;
    const Op *end = body->last;
    return body->parent && body->parent->code == OP_for && acc->owner == body && acc->index > 0 &&
           value_has_one_use(acc) && value_has_one_use(result) &&
           result->uses == &end->in[acc->index - 1];
}

/* Read from memory, and moved or turned at most. */
static bool is_fetched(const Value *value) {
    const Op *op = value->def;
    while (op &&
           (op->code == OP_transpose || op->code == OP_convert_layout || op_adds_or_drops_ones(op)))
        op = op_in(op, 0)->def;
    return op && (op_is_load(op) || op->code == OP_local_load);
}

bool dot_may_stay_in_flight(const Op *dot) {
    return dot_carries_sum(dot) && is_fetched(op_in(dot, 0)) && is_fetched(op_in(dot, 1));
}

int64_t dot_most_warpgroups(const Op *dot) {
    const Type *acc = dot->out[0].type;
    return dot_keeps_rows(dot) ? acc->shape[0] / WGMMA_M : wgmma_most_groups(acc);
}
