/* Transfer functions of shape ops, hints and reductions: see facts_internal.h. */
#include "passes/analysis/facts_internal.h"

static void copy_values(const ValueFacts *in, ValueFacts *out) {
    out->lo = in->lo;
    out->hi = in->hi;
    out->sign = in->sign;
}

static void copy_dim(const ValueFacts *in, int from, ValueFacts *out, int to) {
    out->contiguous[to] = in->contiguous[from];
    out->divisible[to] = in->divisible[from];
    out->constant[to] = in->constant[from];
}

/* A dimension of size 1: its runs are single elements. */
static void single_dim(const ValueFacts *in, const Type *type, ValueFacts *out, int to) {
    out->contiguous[to] = out->constant[to] = 1;
    out->divisible[to] = facts_divisible_each(in, type);
}

void facts_splat(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    const Type *type = op->out[0].type;
    for (int i = 0; i < type->rank; i++) {
        out->contiguous[i] = 1;
        out->constant[i] = type->shape[i];
        out->divisible[i] = in->divisible[0];
    }
    copy_values(in, out);
}

void facts_expand_dims(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    int axis = (int)expand_dims_attrs(op)->axis;
    for (int to = 0, from = 0; to < op->out[0].type->rank; to++) {
        if (to == axis)
            single_dim(in, op_in(op, 0)->type, out, to);
        else
            copy_dim(in, from++, out, to);
    }
    copy_values(in, out);
}

void facts_broadcast(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    for (int i = 0; i < to->rank; i++) {
        copy_dim(in, i, out, i);
        if (from->shape[i] != to->shape[i])
            out->constant[i] = to->shape[i];
    }
    copy_values(in, out);
}

/* Dimensions of one shape found in another that differs by dimensions of size 1; false: it differs
 * more. */
static bool match_dims(const Type *from, const Type *to, int *source) {
    int at = 0;
    for (int i = 0; i < to->rank; i++) {
        source[i] = -1;
        if (to->shape[i] == 1)
            continue;
        while (at < from->rank && from->shape[at] == 1)
            at++;
        if (at == from->rank || from->shape[at] != to->shape[i])
            return false;
        source[i] = at++;
    }
    return true;
}

static bool is_constant_tile(const ValueFacts *in, const Type *type) {
    for (int i = 0; i < type->rank; i++)
        if (in->constant[i] != type->shape[i])
            return false;
    return true;
}

/* Where dimensions are split or joined, what is known along the last one holds for runs that fit.
 */
void facts_reshape(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    int source[MAX_RANK], last = to->rank - 1, from_last = from->rank - 1;
    bool constant = is_constant_tile(in, from), matched = match_dims(from, to, source);
    for (int i = 0; i < to->rank; i++) {
        single_dim(in, from, out, i);
        if (matched && source[i] >= 0)
            copy_dim(in, source[i], out, i);
        if (constant)
            out->constant[i] = to->shape[i];
    }
    if (!matched && !constant) {
        out->contiguous[last] = min_i64(in->contiguous[from_last], to->shape[last]);
        out->constant[last] = min_i64(in->constant[from_last], to->shape[last]);
        out->divisible[last] = facts_divisible_at(in, from, from_last, out->contiguous[last]);
    }
    copy_values(in, out);
}

void facts_transpose(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    for (int i = 0; i < op->out[0].type->rank; i++)
        copy_dim(in, (int)transpose_attrs(op)->order.ptr[i], out, i);
    copy_values(in, out);
}

/* Elements of a and b alternate along the new dimension. */
void facts_join(const Facts *facts, const Op *op, ValueFacts *out) {
    const Type *type = op_in(op, 0)->type;
    ValueFacts both = facts_both(type, facts_in(facts, op, 0), facts_in(facts, op, 1));
    for (int i = 0; i < type->rank; i++)
        copy_dim(&both, i, out, i);
    single_dim(&both, type, out, type->rank);
    copy_values(&both, out);
}

void facts_split(const Facts *facts, const Op *op, ValueFacts *out) {
    const ValueFacts *in = facts_in(facts, op, 0);
    const Type *type = op->out[0].type;
    for (int i = 0; i < type->rank; i++)
        copy_dim(in, i, out, i);
    if (type->rank == 0)
        single_dim(in, op_in(op, 0)->type, out, 0);
    copy_values(in, out);
}

void facts_convert_layout(const Facts *facts, const Op *op, ValueFacts *out) {
    *out = *facts_in(facts, op, 0);
}

/* Hints add to what is known. Counts that are no powers of two hold for the largest one that
 * divides. */

void facts_hint_divisible(const Facts *facts, const Op *op, ValueFacts *out) {
    *out = *facts_in(facts, op, 0);
    for (int i = 0; i < facts_dims(op->out[0].type); i++)
        out->divisible[i] =
            max_i64(out->divisible[i], low_bit(hint_divisible_attrs(op)->values.ptr[i]));
}

static int64_t hinted_run(const Op *op, int dim) {
    const Type *type = op->out[0].type;
    return type->rank ? min_i64(low_bit(op_values(op).ptr[dim]), type->shape[dim]) : 1;
}

void facts_hint_contiguous(const Facts *facts, const Op *op, ValueFacts *out) {
    *out = *facts_in(facts, op, 0);
    for (int i = 0; i < facts_dims(op->out[0].type); i++)
        out->contiguous[i] = max_i64(out->contiguous[i], hinted_run(op, i));
}

void facts_hint_constant(const Facts *facts, const Op *op, ValueFacts *out) {
    *out = *facts_in(facts, op, 0);
    for (int i = 0; i < facts_dims(op->out[0].type); i++)
        out->constant[i] = max_i64(out->constant[i], hinted_run(op, i));
}

/* Equal slices have equal reductions. */
void facts_reduce(const Facts *facts, const Op *op, ValueFacts *out) {
    const Type *type = op_in(op, 0)->type;
    int axis = (int)reduce_attrs(op)->axis;
    bool keeps = reduce_attrs(op)->keep != 0;
    for (int from = 0, to = 0; from < type->rank; from++) {
        if (from == axis) {
            to += keeps;
            continue;
        }
        int64_t run = type->shape[from];
        for (uint32_t i = 0; i < op->nin; i++)
            run = min_i64(run, facts_in(facts, op, i)->constant[from]);
        if (op->out[0].type->rank)
            out->constant[to] = run;
        to++;
    }
}
