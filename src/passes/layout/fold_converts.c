/* fold-converts: removes layout conversions, and moves the others to where they cost least.
 *
 *     convert(x) in x's layout                         ->  x
 *     convert(convert(x))                              ->  convert(x)
 *     two conversions of one value to one layout       ->  the first
 *     convert(chain of cheap ops)                      ->  the chain in the other layout
 *     convert(f(convert(x), cheap)) back to x's layout ->  f(x, cheap)
 *     convert(extf(x))                                 ->  extf(convert(x)): fewer bytes move
 *     dot(convert(transpose(x)))                       ->  dot(transpose(convert(x)))
 *     truncf(convert(x))                               ->  convert(truncf(x))
 *     for .. (c = x) { f(convert(c)); yield convert(y) }  ->  the loop carries the converted layout
 *
 * Each rule removes a conversion, makes one narrower or moves it up, so that repeating them ends.
 * Needs and leaves layouts; unused pure ops that the rules leave behind are removed. */
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

/* Removes the op if nothing uses it, then what it alone used. */
static void remove_dead(Op *op) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (!value_unused(&op->out[i]))
            return;
    if (!op_is_pure(op))
        return;
    Op *defs[OP_MAX_FIXED];
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->nin && count < OP_MAX_FIXED; i++) {
        Op *def = op_in(op, i)->def;
        bool seen = !def;
        for (uint32_t j = 0; j < count; j++)
            seen |= defs[j] == def;
        if (!seen)
            defs[count++] = def;
    }
    op_remove(op);
    for (uint32_t i = 0; i < count; i++)
        remove_dead(defs[i]);
}

/* Replaces the conversion and removes what it leaves unused. */
static bool replace(Op *convert, Value *by) {
    Op *def = op_in(convert, 0)->def;
    rewrite_replace(convert, by);
    if (def)
        remove_dead(def);
    return true;
}

static Op *conversion_of(const Value *value) {
    return value_def(value, OP_convert_layout);
}

static bool merge_chain(Op *convert) {
    Op *inner = conversion_of(op_in(convert, 0));
    if (!inner)
        return false;
    op_set_operand(convert, 0, op_in(inner, 0));
    remove_dead(inner);
    return true;
}

static bool share_earlier(Op *convert) {
    value_for_each_use (use, op_in(convert, 0)) {
        Op *other = use->user;
        if (other == convert || other->code != OP_convert_layout ||
            other->block != convert->block || op_out(other)->type != op_out(convert)->type)
            continue;
        for (Op *op = convert->prev; op; op = op->prev)
            if (op == other)
                return replace(convert, op_out(other));
    }
    return false;
}

static bool recompute(Op *convert) {
    Value *value = value_recompute(op_in(convert, 0), op_out(convert)->type->layout, CHEAP_OPS);
    return value && replace(convert, value);
}

/* Could `value` be had in `layout` without converting? */
static bool comes_in(const Value *value, const Layout *layout) {
    const Op *convert = conversion_of(value);
    return value_is_uniform(value) || (convert && op_in(convert, 0)->type->layout == layout);
}

/* convert(f(convert(x), ..)) where the conversions undo each other. */
static bool cancel_through(Op *convert) {
    Op *op = op_in(convert, 0)->def;
    const Layout *layout = op_out(convert)->type->layout;
    if (!op || !op_has(op, ELEMENTWISE) || op->nout != 1 || op->nin > OP_MAX_FIXED ||
        !value_has_one_use(op_out(op)))
        return false;
    bool cancels = false;
    for (uint32_t i = 0; i < op->nin; i++) {
        if (!comes_in(op_in(op, i), layout))
            return false;
        cancels |= conversion_of(op_in(op, i)) != NULL;
    }
    if (!cancels)
        return false;
    Builder builder = builder_before(op);
    Value *in[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++) {
        Op *inner = conversion_of(op_in(op, i));
        in[i] = inner ? op_in(inner, 0) : value_recompute(op_in(op, i), layout, CHEAP_OPS);
    }
    Value *result = rewrite_like(&builder, op, op->nin, in, op_out(convert)->type);
    return replace(convert, result);
}

static int element_bits(const Value *value) {
    return dtype_info[value->type->dtype].bits;
}

static bool moves_data(const Op *convert) {
    return layout_classify(op_out(convert)->type->layout, op_in(convert, 0)->type->layout) >=
           CONVERT_SHUFFLES;
}

/* One operand, elementwise, other width: the conversion goes to the narrower side. */
static bool is_cast(const Op *op) {
    return op && op_has(op, ELEMENTWISE) && op->nin == 1 && op_is_pure(op) &&
           type_is_tile(op_in(op, 0)->type) && op_in(op, 0)->type->kind == TYPE_NUMBER &&
           op_out(op)->type->kind == TYPE_NUMBER;
}

static bool convert_before_widening(Op *convert) {
    Op *cast = op_in(convert, 0)->def;
    if (!is_cast(cast) || !value_has_one_use(op_out(cast)) || !moves_data(convert) ||
        element_bits(op_in(cast, 0)) >= element_bits(op_out(cast)))
        return false;
    const Type *type = op_out(convert)->type;
    Builder builder = builder_before(convert);
    Value *narrow = op_in(cast, 0);
    Value *moved = build_convert_layout(&builder, narrow,
                                        type_with_layout(builder.ctx, narrow->type, type->layout));
    return replace(convert, rewrite_like(&builder, cast, 1, &moved, type));
}

static bool convert_after_narrowing(Op *convert) {
    if (!value_has_one_use(op_out(convert)) || !moves_data(convert))
        return false;
    Op *cast = op_out(convert)->uses->user;
    if (!is_cast(cast) || element_bits(op_out(cast)) >= element_bits(op_out(convert)))
        return false;
    Value *wide = op_in(convert, 0);
    Builder builder = builder_before(cast);
    const Type *type = type_with_layout(builder.ctx, op_out(cast)->type, wide->type->layout);
    Value *narrow = rewrite_like(&builder, cast, 1, &wide, type);
    Value *moved = build_convert_layout(&builder, narrow, op_out(cast)->type);
    rewrite_replace(cast, moved);
    op_remove(convert);
    return true;
}

static bool only_feeds_dots(const Value *value) {
    value_for_each_use (use, value)
        if (use->user->code != OP_dot)
            return false;
    return true;
}

/* The operand of a dot is converted where it was loaded, so that the buffer between can be filled
 * ahead; turning it costs nothing on either side. */
static bool convert_before_turning(Op *convert) {
    Op *turn = op_in(convert, 0)->def;
    if (!turn || (turn->code != OP_transpose && turn->code != OP_reshape) ||
        !value_has_one_use(op_out(turn)) || !only_feeds_dots(op_out(convert)))
        return false;
    const Type *type = op_out(convert)->type;
    Builder builder = builder_before(convert);
    Value *x = op_in(turn, 0);
    const Layout *layout = layout_of_operand(builder.ctx, turn, 0, type->layout);
    Value *moved =
        build_convert_layout(&builder, x, type_with_layout(builder.ctx, x->type, layout));
    return replace(convert, rewrite_like(&builder, turn, 1, &moved, type));
}

static bool fold_conversion(Op *convert) {
    if (value_unused(op_out(convert))) {
        remove_dead(convert);
        return true;
    }
    if (op_out(convert)->type == op_in(convert, 0)->type)
        return replace(convert, op_in(convert, 0));
    return merge_chain(convert) || share_earlier(convert) || recompute(convert) ||
           cancel_through(convert) || convert_before_widening(convert) ||
           convert_before_turning(convert) || convert_after_narrowing(convert);
}

/* The one type to which every use of the argument converts it; NULL: there are other uses. */
static const Type *only_converted_to(const Value *value) {
    const Type *type = NULL;
    value_for_each_use (use, value) {
        if (use->user->code != OP_convert_layout || (type && op_out(use->user)->type != type))
            return NULL;
        type = op_out(use->user)->type;
    }
    return type;
}

/* Carried value `i` of the loop in the layout its body computes in. */
static bool carry_converted(Op *loop, uint32_t i) {
    Value *arg = &loop->regions[0]->args[i + 1], *result = &loop->out[i];
    const Type *old = arg->type, *type = only_converted_to(arg);
    Op *end = loop->regions[0]->last, *back = conversion_of(op_in(end, i));
    if (!type || !back || op_in(back, 0)->type != type)
        return false;
    Builder before = builder_before(loop), after = builder_after(loop);
    after.span = loop->span;
    uint32_t init = FOR_FIXED_OPERANDS + i;
    op_set_operand(loop, init, build_convert_layout(&before, op_in(loop, init), type));
    arg->type = type;
    /* All uses are conversions to one type: the second and further ones become that of the first.
     */
    Op *convert = arg->uses->user;
    while (arg->uses->next) {
        Op *other = arg->uses->user == convert ? arg->uses->next->user : arg->uses->user;
        rewrite_replace(other, op_out(convert));
    }
    rewrite_replace(convert, arg);
    op_set_operand(end, i, op_in(back, 0));
    remove_dead(back);
    bool used = !value_unused(result);
    result->type = type;
    if (used) {
        Value *copy = build_convert_layout(&after, result, old);
        value_replace(result, copy);
        op_set_operand(copy->def, 0, result);
    }
    return true;
}

static bool fold_block(Block *block);

static bool fold_op(Op *op) {
    bool changed = false;
    for (uint32_t i = 0; i < op->nregions; i++)
        changed |= fold_block(op->regions[i]);
    if (op->code == OP_for)
        for (uint32_t i = 0; i < op->nout; i++)
            changed |= type_is_tile(op->out[i].type) && carry_converted(op, i);
    return changed;
}

/* A rule may remove ops around the conversion it is given: the walk starts anew from the block's
 * first op then. */
static bool fold_block(Block *block) {
    bool changed = false;
    for (Op *op = block->first; op;) {
        if (op->code == OP_convert_layout && fold_conversion(op)) {
            changed = true;
            op = block->first;
            continue;
        }
        changed |= op->nregions && fold_op(op);
        op = op->next;
    }
    return changed;
}

bool pass_fold_converts(Func *func) {
    bool changed = false;
    while (fold_block(func->body))
        changed = true;
    return changed;
}
