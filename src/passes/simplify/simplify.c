/* simplify: fold constants, apply identities, remove duplicate and dead ops.
 *
 * Rounds over the function until one changes nothing. A round first folds what facts prove (ranges:
 * `range < 1024` over range 0..1023 is true), then visits every op in order, applying to it:
 * folding of constants, constants to the right of commutative ops, elementwise ops of splats (one
 * scalar op and a splat), the algebraic rules (rules.def) and the op's own rule (`own_rules`);
 * then removes common and dead ops. Operands are simplified before their users, so nearly
 * everything happens in the first round. New ops are visited at once.
 *
 * Needs nothing, leaves the IR valid with or without layouts. Running it again changes nothing.
 *
 *     %c = constant_int {value = 1024} : i32             %c = constant_int {value = 1024} : i32
 *     %p = program_id {axis = 0} : i32                    %p = program_id {axis = 0} : i32
 *     %o = muli %p, %c : i32                              %o = muli %p, %c : i32
 *     %s = splat %o : tile<1024xi32>                =>    %r = range {start = 0} : tile<1024xi32>
 *     %r = range {start = 0} : tile<1024xi32>             %q = addptr %x, %o : ptr<f32>
 *     %i = addi %s, %r : tile<1024xi32>                   %b = splat %q : tile<1024xptr<f32>>
 *     %b = splat %x : tile<1024xptr<f32>>                 %a = addptr %b, %r : tile<1024xptr<f32>>
 *     %a = addptr %b, %i : tile<1024xptr<f32>>
 */
#include "passes/simplify/simplify.h"
#include "passes/analysis/fold.h"
#include "passes/passes.h"
#include "passes/simplify/rule.h"

static SimplifyOp *const own_rules[OP_COUNT] = {
#define X(name) [OP_##name] = simplify_##name,
    SIMPLIFY_OPS(X)
#undef X
};

/* A correct set of rules shrinks or orders what it touches; this many changes of one function in
 * one round mean that two rules undo each other, and the round ends so that the compiler does not
 * hang. */
enum { MAX_CHANGES_PER_OP = 64, MAX_ROUNDS = 64 };

static bool fold_constants(Op *op, const Glance *glance) {
    Scalar in[RULE_MAX_OPERANDS], result;
    if (!op_has(op, ELEMENTWISE))
        return false;
    for (uint32_t i = 0; i < op->nin; i++)
        if (!glance->constant[i])
            return false;
    for (uint32_t i = 0; i < op->nin; i++)
        scalar_of_value(op_in(op, i), &in[i]);
    if (!fold_elementwise(op, in, &result))
        return false;
    Builder b = builder_before(op);
    const Type *type = op->out[0].type;
    return rewrite_replace(op, type_is_int(type) ? rewrite_int(&b, type, result.i)
                                                 : rewrite_float(&b, type, result.f));
}

static bool order_operands(Op *op, const Glance *glance) {
    if (!op_has(op, COMMUTES) || !glance->constant[0] || glance->constant[1])
        return false;
    Value *constant = op_in(op, 0);
    op_set_operand(op, 0, op_in(op, 1));
    op_set_operand(op, 1, constant);
    return true;
}

/* An op of uniform tiles is a scalar op. Constants alone stay: no op folds them, or they would be
 * folded. */
static bool scalarise(Op *op) {
    Value *in[RULE_MAX_OPERANDS];
    bool has_splat = false;
    if (!(op_has(op, ELEMENTWISE) || op->code == OP_load) || op->nin > RULE_MAX_OPERANDS ||
        op->out[0].type->rank == 0)
        return false;
    for (uint32_t i = 0; i < op->nin; i++) {
        if (!value_is_uniform(op_in(op, i)))
            return false;
        has_splat |= value_def(op_in(op, i), OP_splat) != NULL;
    }
    if (!has_splat)
        return false;
    Builder b = builder_before(op);
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = value_uniform_scalar(&b, op_in(op, i));
    const Type *type = op->out[0].type;
    Value *scalar = rewrite_like(&b, op, op->nin, in, type_element(b.ctx, type));
    return rewrite_replace(op, build_splat(&b, scalar, type));
}

/* What is folded, ordered and has rules, by kind of op: those that compute elements. */
static bool simplify_elements(Op *op) {
    Glance glance = glance_at(op);
    return fold_constants(op, &glance) || order_operands(op, &glance) || scalarise(op) ||
           rules_apply(op, &glance);
}

static bool simplify_op(Op *op) {
    bool has_rules = op_has(op, ELEMENTWISE | COMMUTES) || rule_groups[op->code].count;
    return (has_rules && op->nin <= RULE_MAX_OPERANDS ? simplify_elements(op) : scalarise(op)) ||
           (own_rules[op->code] && own_rules[op->code](op));
}

static bool simplify_block(Block *block, uint64_t *fuel) {
    bool changed = false;
    for (Op *op = block->first; op;) {
        Op *before = op->prev;
        if (*fuel && simplify_op(op)) {
            changed = true;
            (*fuel)--;
            op = before ? before->next : block->first;
            continue;
        }
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= simplify_block(op->regions[i], fuel);
        op = op->next;
    }
    return changed;
}

static bool count_op(Op *op, void *user) {
    (void)op;
    ++*(uint64_t *)user;
    return true;
}

bool pass_simplify(Func *func) {
    bool changed = false;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        uint64_t fuel = 0;
        func_walk(func, count_op, &fuel);
        fuel *= MAX_CHANGES_PER_OP;
        bool again = fold_by_facts(func);
        again |= count_up(func);
        again |= simplify_block(func->body, &fuel);
        again |= eliminate_common(func);
        again |= eliminate_dead(func);
        if (!again)
            break;
        changed = true;
    }
    return changed;
}
