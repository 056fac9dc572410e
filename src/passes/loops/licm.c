/* licm: moves what a loop computes anew with the same result in front of it.
 *
 * Loops from the inside out, so that an op leaves as many as it can. A pure op with operands from
 * outside moves always, except a division whose divisor may be zero: that one moves only from a
 * loop that surely runs. A load moves if the loop surely runs, nothing in the loop writes, and no
 * branch guards it. A loop with LOOP_NO_LICM (tl.range and tl.condition with disable_licm) keeps
 * what it has.
 *
 * Needs nothing; leaves no pure op with invariant operands directly in another loop.
 *
 *     for %i = %lo, %hi, %one {                         %s = splat %n : tile<64xi32>
 *         %s = splat %n : tile<64xi32>           =>     for %i = %lo, %hi, %one {
 *         ..                                                ..
 */
#include "passes/analysis/facts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

typedef struct Licm {
    const Facts *facts; /* values keep their facts when their ops move */
    bool changed;
} Licm;

static bool operands_outside(const Op *op, const Op *loop) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (!value_is_outside(op_in(op, i), loop))
            return false;
    return true;
}

/* LLVM may assume that a division it meets is defined. */
static bool may_be_undefined(const Licm *licm, const Op *op) {
    if (!op_has(op, MAY_TRAP))
        return false;
    const ValueFacts *divisor = facts_of(licm->facts, op_in(op, 1));
    bool is_zero = divisor->lo <= 0 && divisor->hi >= 0;
    return is_zero || (divisor->lo <= -1 && divisor->hi >= -1);
}

static bool surely_runs(const Licm *licm, const Op *loop) {
    if (loop_trip_count(loop) > 0)
        return true;
    const ValueFacts *lo = facts_of(licm->facts, op_in(loop, 0));
    const ValueFacts *hi = facts_of(licm->facts, op_in(loop, 1));
    const ValueFacts *step = facts_of(licm->facts, op_in(loop, 2));
    return (step->lo > 0 && lo->hi < hi->lo) || (step->hi < 0 && lo->lo > hi->hi);
}

static bool can_move(const Licm *licm, const Op *op, const Op *loop, bool runs, bool writes) {
    if (!operands_outside(op, loop))
        return false;
    if (op_is_load(op))
        return runs && !writes && !op_is_volatile(op);
    return op_is_pure(op) && !op_has(op, TERMINATOR) && (runs || !may_be_undefined(licm, op));
}

static void visit_block(Licm *licm, Block *block);

static void hoist(Licm *licm, Op *loop) {
    bool writes = (op_effects(loop) & (WRITES | SYNC)) != 0;
    for (uint32_t r = 0; r < loop->nregions; r++) {
        /* The first region of a while always runs, its body may not. */
        bool runs = loop->code == OP_for ? surely_runs(licm, loop) : r == 0;
        block_for_each_safe (op, loop->regions[r]) {
            if (!can_move(licm, op, loop, runs, writes))
                continue;
            op_move_before(op, loop);
            licm->changed = true;
        }
    }
}

static void visit_block(Licm *licm, Block *block) {
    block_for_each (op, block) {
        for (uint32_t r = 0; r < op->nregions; r++)
            visit_block(licm, op->regions[r]);
        bool is_loop = op_has(op, LOOP);
        if (is_loop && !(op_flags(op) & LOOP_NO_LICM))
            hoist(licm, op);
    }
}

bool pass_licm(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Licm licm = {.facts = facts_compute(func, arena)};
    visit_block(&licm, func->body);
    arena_rewind(arena, mark);
    return licm.changed;
}
