/* defer-sums: a sum over a tile that a loop adds up is joined across threads behind the loop.
 *
 * Each iteration reduces a tile to a row's sum, and adds that to what the loop carries. The part of
 * it that lies in one thread is needed in the loop; that lanes and warps exchange theirs can wait,
 * since sums may be taken in any order. So does a factor that the sum so far is multiplied by, as
 * it is one for all parts of a row (the softmax of attention).
 *
 *     for .. (%total = 0) {                      for .. (%parts = 0 : tile<128x4xf32>) {
 *         %s = reduce %p {axis = 1}, addf            %s = reduce %p {axis = 1, keep = 6}, addf
 *         %t = mulf %total, %decay                   %d = broadcast (expand_dims %decay {axis = 1})
 *         %n = addf %t, %s                =>         %n = addf (mulf %parts, %d), %s
 *         yield %n                                   yield %n
 *     }                                          }
 *                                                %total = reduce %parts {axis = 1}, addf
 *
 * The parts are added up in front of a product that takes the tile narrowed (P of attention), which
 * needs the registers for its operands.
 *
 * `keep` are the index bits of the axis that lanes and warps hold: each thread carries as many
 * registers as before. A following loop that begins with such a sum goes on with the parts. Without
 * a factor the sum may begin with any value, which is added behind the loop.
 *
 * Needs layouts. Sums that the loop looks at itself stay. So do, in loops with products, those
 * across warps: with the barrier of that exchange ptxas reads operands of the second product behind
 * it, without it beside the scores, which takes registers that there are not (head of 128, sm_86).
 * And all of loops with products by several warpgroups: these take turns, so that one exchanges its
 * sums while the other multiplies; without (128 x 128, head of 128) they are 3 to 4 % slower. */
#include "ir/build.h"
#include "ir/order.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/simplify/simplify.h"
#include "target/wgmma.h"

typedef struct Sum {
    Op *loop;
    uint32_t index; /* of the argument that carries it */
    Op *add;        /* what is carried on */
    Op *reduce;
    Value *factor; /* of the sum so far; NULL: none */
    int64_t keep;
} Sum;

static bool is_sum(const Op *op) {
    return op->code == OP_addf || op->code == OP_addi;
}

/* Sums its only operand along an axis, by the op of `add`. */
static bool sums_axis(const Op *reduce, const Op *add) {
    if (reduce->code != OP_reduce || reduce->nin != 1 || reduce_attrs(reduce)->keep)
        return false;
    const Op *combine = combine_only_op(reduce);
    return combine && combine->code == add->code;
}

/* What the sum so far is multiplied by; false: something else becomes of it. */
static bool find_factor(Sum *sum, const Value *so_far) {
    const Value *arg = &sum->loop->regions[0]->args[sum->index];
    sum->factor = NULL;
    if (!value_has_one_use(arg))
        return false;
    if (so_far == arg)
        return true;
    const Op *scale = value_def(so_far, OP_mulf);
    for (uint32_t i = 0; scale && i < 2; i++)
        if (op_in(scale, i) == arg && value_has_one_use(so_far) &&
            scale->block == sum->loop->regions[0]) {
            sum->factor = op_in(scale, 1 - i);
            return true;
        }
    return false;
}

/* What the sum costs in the loop is hidden, or what it keeps apart must stay so. */
static bool had_better_stay(const Op *loop, const Op *reduce) {
    bool has_turns = loop->block->func->num_warps > WGMMA_WARPS;
    block_for_each (op, loop->regions[0])
        if (op->code == OP_dot &&
            (reduce_crossing_bits(reduce) || (has_turns && dot_attrs(op)->unit == UNIT_WGMMA)))
            return true;
    return false;
}

static bool find_sum(Op *loop, uint32_t index, Sum *sum) {
    const Block *body = loop->regions[0];
    Op *add = op_in(body->last, index - 1)->def;
    *sum = (Sum){.loop = loop, .index = index, .add = add};
    if (!add || add->block != body || !is_sum(add) || !value_has_one_use(op_out(add)))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        Op *reduce = op_in(add, i)->def;
        if (!reduce || reduce->block != body || !value_has_one_use(op_in(add, i)) ||
            !sums_axis(reduce, add) || !find_factor(sum, op_in(add, 1 - i)))
            continue;
        sum->reduce = reduce;
        sum->keep = reduce_bits_of_threads(reduce);
        return sum->keep && !had_better_stay(loop, reduce);
    }
    return false;
}

/* The parts of a sum that a loop before left; NULL: it is none. */
static Value *parts_before(const Sum *sum, const Type *parts, const Value *init) {
    const Op *before = value_def(init, OP_reduce);
    bool fits = before && before->nin == 1 && op_in(before, 0)->type == parts &&
                reduce_attrs(before)->axis == reduce_attrs(sum->reduce)->axis &&
                sums_axis(before, sum->add);
    return fits ? op_in(before, 0) : NULL;
}

static Value *no_parts(const Sum *sum, const Type *parts) {
    Builder b = builder_before(sum->loop);
    b.span = sum->add->span;
    return type_is_int(parts) ? rewrite_int(&b, parts, 0) : rewrite_float(&b, parts, 0.0);
}

/* The factor of each row for all parts of it. */
static Value *factor_of_parts(Builder *b, const Sum *sum, const Type *parts) {
    if (!sum->factor->type->rank)
        return build_splat(b, sum->factor, parts);
    return build_broadcast(b, build_expand_dims(b, sum->factor, reduce_attrs(sum->reduce)->axis),
                           parts);
}

/* Does the op multiply, by mma.sync, elements narrower than those of the tile? What warpgroups
 * multiply is in flight while sums are taken. */
static bool multiplies_narrowed(const Op *op, const Value *tile) {
    return op->code == OP_dot && dot_attrs(op)->unit == UNIT_MMA &&
           type_element_bytes(op_in(op, 0)->type) < type_element_bytes(tile->type);
}

/* Where a thread adds up what it has: in front of the product behind which nothing else needs the
 * tile, so that registers hold it no longer than its narrowed copy is made. */
static Op *place_of_parts(const Sum *sum) {
    const Value *tile = op_in(sum->reduce, 0);
    uint32_t others = 0, seen = 0;
    value_for_each_use (use, tile)
        others += use->user != sum->reduce;
    Op *first = tile->def && tile->def->block == sum->reduce->block ? tile->def->next : NULL;
    for (Op *op = first; op && op != sum->reduce; op = op->next) {
        if (seen == others && multiplies_narrowed(op, tile))
            return op;
        for (uint32_t i = 0; i < op->nin; i++)
            seen += op_in(op, i) == tile;
    }
    return sum->add;
}

static void carry_parts(const Sum *sum, const Type *parts) {
    Builder b = builder_before(place_of_parts(sum));
    b.span = sum->reduce->span;
    Value *part =
        op_out(rewrite_reduce(&b, sum->reduce, (Value *[]){op_in(sum->reduce, 0)}, sum->keep));
    b = builder_before(sum->add);
    b.span = sum->add->span;
    /* Arguments, of which the factor may be one, move when one is added. */
    Value *factor = sum->factor ? factor_of_parts(&b, sum, parts) : NULL;
    Value *so_far = block_add_arg(sum->loop->regions[0], parts);
    if (factor)
        so_far = build_mulf(&b, so_far, factor);
    Value *next = rewrite_like(&b, sum->add, 2, (Value *[]){so_far, part}, parts);
    op_add_operand(sum->loop->regions[0]->last, next);
}

static bool defer(const Sum *sum) {
    Op *loop = sum->loop;
    Ctx *ctx = func_ctx(loop->block->func);
    const Type *parts = reduce_result_type(ctx, op_in(sum->reduce, 0)->type,
                                           (int)reduce_attrs(sum->reduce)->axis, sum->keep);
    Value *init = op_in(loop, FOR_FIXED_OPERANDS + sum->index - 1);
    Value *before = parts_before(sum, parts, init);
    bool is_whole = before || value_is_positive_zero(init);
    if (sum->factor && !is_whole)
        return false;
    op_add_operand(loop, before ? before : no_parts(sum, parts));
    op_add_result(loop, parts);
    carry_parts(sum, parts);
    Builder b = builder_after(loop);
    b.span = sum->add->span;
    Value *total =
        op_out(rewrite_reduce(&b, sum->reduce, (Value *[]){&loop->out[loop->nout - 1]}, 0));
    if (!is_whole)
        total = rewrite_like(&b, sum->add, 2, (Value *[]){init, total}, total->type);
    /* The old sum goes round unused, and goes with what is dead. */
    Value *old = &loop->out[sum->index - 1];
    total->name = old->name;
    value_replace(old, total);
    return true;
}

static bool visit_loop(Op *loop, void *user) {
    bool changed = false;
    uint32_t carried = loop->nout;
    for (uint32_t index = 1; index <= carried; index++) {
        Sum sum;
        changed |= find_sum(loop, index, &sum) && defer(&sum);
    }
    return changed;
}

bool pass_defer_sums(Func *func) {
    /* The parts are what threads have, which is a matter of layouts: ir/order.h. */
    if (func->deterministic)
        return false;
    bool changed = loops_inside_out(func->body, visit_loop, NULL);
    if (changed)
        eliminate_dead(func);
    return changed;
}
