/* licm: moves what a loop computes anew with the same result in front of it.
 *
 * Loops from the inside out, so that an op leaves as many as it can. A pure op with operands from
 * outside moves always, except a division whose divisor may be zero: that one moves only from a
 * loop that surely runs. A load moves if the loop surely runs, nothing in the loop writes, and no
 * branch guards it. A loop with LOOP_NO_LICM (tl.range and tl.condition with disable_licm) keeps
 * what it has.
 *
 * Of an address whose index is a sum, what does not change is added to the pointer in front of the
 * loop. In the sum of 32 bits it would stay in the loop: LLVM knows of no sum that it does not
 * wrap, and so cannot have one address of 64 bits that steps on, of which others are constants
 * away. That indices do not wrap is assumed (simplify_memory.c).
 *
 * Needs nothing; leaves no pure op with invariant operands directly in another loop.
 *
 *     for %i = %lo, %hi, %one {                         %s = splat %n : tile<64xi32>
 *         %s = splat %n : tile<64xi32>           =>     for %i = %lo, %hi, %one {
 *         ..                                                ..
 */
#include "ir/build.h"
#include "passes/analysis/facts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

enum { MAX_INDEX_DEPTH = 8 };

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

/* Addresses */

static bool is_sum(const Value *value) {
    return value->def && value->def->code == OP_addi && type_is_index(value->type);
}

static bool has_fixed_part(const Value *index, const Op *loop, int depth) {
    if (depth == 0)
        return false;
    if (value_is_outside(index, loop))
        return !(index->def && op_has(index->def, CONSTANT));
    if (is_sum(index))
        return has_fixed_part(op_in(index->def, 0), loop, depth - 1) ||
               has_fixed_part(op_in(index->def, 1), loop, depth - 1);
    return index->def && index->def->code == OP_extsi &&
           has_fixed_part(op_in(index->def, 0), loop, depth - 1);
}

/* The pointer and what the index has of fixed parts, or of the others: each added by itself, since
 * a sum of some of them may wrap where that of all does not. */
static Value *add_parts(Builder *b, Value *pointer, Value *index, const Op *loop, int depth,
                        bool fixed) {
    const bool has_fixed = has_fixed_part(index, loop, depth);
    if (!has_fixed || value_is_outside(index, loop))
        return has_fixed == fixed ? build_addptr(b, pointer, index) : pointer;
    for (uint32_t i = 0; i < index->def->nin; i++)
        pointer = add_parts(b, pointer, op_in(index->def, i), loop, depth - 1, fixed);
    return pointer;
}

/* A sum that is needed as well stays in the loop, and no op is saved. */
static bool is_index_alone(const Value *index) {
    value_for_each_use (use, index)
        if (use->user->code != OP_addptr)
            return false;
    return true;
}

/* addptr(P, fixed + rest) of the loop: addptr(Q, rest), and in front of it Q = addptr(P, fixed).
 * Constants are with the rest, where they become part of an access. */
static bool split_address(Op *op, Op *loop) {
    Value *index = op->code == OP_addptr ? op_in(op, 1) : NULL;
    if (!index || index->type->rank || !value_is_outside(op_in(op, 0), loop) ||
        value_is_outside(index, loop) || !is_index_alone(index) ||
        !has_fixed_part(index, loop, MAX_INDEX_DEPTH))
        return false;
    Builder before = builder_before(loop), within = builder_before(op);
    Value *base = add_parts(&before, op_in(op, 0), index, loop, MAX_INDEX_DEPTH, true);
    return rewrite_replace(op, add_parts(&within, base, index, loop, MAX_INDEX_DEPTH, false));
}

static void visit_block(Licm *licm, Block *block);

static void hoist(Licm *licm, Op *loop) {
    bool writes = (op_effects(loop) & (WRITES | SYNC)) != 0;
    for (uint32_t r = 0; r < loop->nregions; r++) {
        /* The first region of a while always runs, its body may not. */
        bool runs = loop->code == OP_for ? surely_runs(licm, loop) : r == 0;
        block_for_each_safe (op, loop->regions[r]) {
            bool moves = can_move(licm, op, loop, runs, writes);
            if (moves)
                op_move_before(op, loop);
            licm->changed |= moves || split_address(op, loop);
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
