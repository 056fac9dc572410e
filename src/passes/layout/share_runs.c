/* share-runs: what is the same in several registers of a thread is computed once.
 *
 *     %q = divsi %i, %n : tile<1024xi32, #L>       %q = divsi %i, %n
 *     .. %q ..                               =>    %r = hint_constant %q {values = [4]}
 *                                                  .. %r ..
 *
 *     with %i consecutive, %n a multiple of 16, #L = {reg = [1, 2, ..], ..}
 *
 * Indices differ from register to register, and what is computed from them often does not: the
 * quotient by a size that 16 divides, the comparison with one, the remainder of that quotient. The
 * facts know runs of equal elements; where such a run lies in registers of one thread, and not all
 * operands have it, the result is said to be constant there, and codegen takes the first register
 * of each run for all of it. Nothing asks for the others then, and LLVM drops them: a division is
 * some twenty instructions. What is computed from shared registers alone LLVM finds to be equal by
 * itself, so that operands that have the run need nothing.
 *
 * A run that the source promised (max_constancy, max_contiguous) is one, too: as with the width of
 * accesses, what happens where the promise does not hold is up to whoever gave it.
 *
 * Comparisons stay in loops with products by warpgroups: what they mask is the scores, of which a
 * thread's registers are full, and its seven predicates do not keep those of eight runs meanwhile.
 *
 * Stands last, since the passes before it look for ops by what they are made of, and copy them into
 * other layouts. */
#include "passes/analysis/facts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/vec.h"

typedef struct ShareRuns {
    Func *func;
    Arena *arena;
    const Facts *facts; /* NULL: not needed so far */
    VEC(Op *) shared;
} ShareRuns;

/* Integers, of which each thread holds several. */
static bool may_share(const Op *op) {
    const Type *type = op->nout == 1 ? op->out[0].type : NULL;
    return type && op_has(op, ELEMENTWISE) && op_is_pure(op) && !op_has(op, CONSTANT) &&
           type_is_tile(type) && type_is_int(type) && type->layout->bits[LAYOUT_REG] > 0 &&
           !value_unused(op_out(op));
}

/* Bits of the register number that lead to an equal element; of a scalar all do. */
static uint32_t equal_registers(const ShareRuns *share, const Value *value) {
    const Type *type = value->type;
    if (!type_is_tile(type))
        return UINT32_MAX;
    return layout_registers_in_part(type->layout, type->rank,
                                    facts_of(share->facts, value)->constant, type->shape);
}

static uint32_t equal_operands(const ShareRuns *share, const Op *op) {
    uint32_t equal = UINT32_MAX;
    for (uint32_t i = 0; i < op->nin; i++)
        equal &= equal_registers(share, op_in(op, i));
    return equal;
}

static void say_constant(const ShareRuns *share, Op *op) {
    const Type *type = op->out[0].type;
    Builder b = builder_after(op);
    b.span = op->span;
    int64_t *runs = ARENA_ARRAY(&func_ctx(share->func)->arena, int64_t, (size_t)type->rank);
    for (int d = 0; d < type->rank; d++)
        runs[d] = facts_of(share->facts, op_out(op))->constant[d];
    Value *said = build_hint_constant(&b, op_out(op), (Ints){runs, (uint32_t)type->rank});
    value_replace(op_out(op), said);
    op_set_operand(said->def, 0, op_out(op));
}

/* Masks what warpgroups multiply. */
static bool masks_scores(const Op *op) {
    if (op->code != OP_cmpi || !op_loop_around(op))
        return false;
    block_for_each (other, op->block)
        if (op_is_wgmma(other))
            return true;
    return false;
}

static bool visit(Op *op, void *user) {
    ShareRuns *share = user;
    if (!may_share(op) || masks_scores(op))
        return true;
    if (!share->facts)
        share->facts = facts_compute(share->func, share->arena);
    if (equal_registers(share, op_out(op)) & ~equal_operands(share, op))
        vec_push(share->arena, &share->shared, op);
    return true;
}

bool pass_share_runs(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    ShareRuns share = {.func = func, .arena = arena};
    func_walk(func, visit, &share);
    vec_for_each (op, &share.shared)
        say_constant(&share, *op);
    bool changed = share.shared.len > 0;
    arena_rewind(arena, mark);
    return changed;
}
