/* persist: a kernel written one tile per program becomes one whose CTAs go through many.
 *
 * The body moves into a loop over programs, numbered as the hardware issues them, x fastest, so
 * that the order in which the source visits its tiles holds. A CTA begins with the program of its
 * own number and goes on by the number of CTAs: any number of them is right, and with as many as
 * there are programs each loop runs once. The launcher starts as many as the device holds.
 *
 *     %x = program_id {axis = 0}                  %cta = cta_id
 *     %y = program_id {axis = 1}                  %step = cta_count
 *     ..                                          %nx = num_programs {axis = 0}
 *     for %k = 0, %K, 64 (..) {                   %n = muli %nx, num_programs {axis = 1}
 *         .. dot ..                       =>      for %program = %cta, %n, %step {
 *     }                                               %x = remui %program, %nx
 *     store ..                                        %y = divui %program, %nx
 *     return                                          ..
 *                                                 }
 *                                                 return
 *
 * Axes that nobody asks for are not gone through: programs that differ there alone do the same, and
 * store the same, so that one of them will do; with atomics all count. Scalars that are the same
 * for all programs stay in front of the loop, and with them what is assumed of those: facts of a
 * value hold where it is made. Tiles do not, which would wait in registers for the next program.
 *
 * It is done where a static order loses nothing: see why_not. Needs the units of dots, no layouts,
 * and blocks for what tensor copies take. Sets is_persistent. */
#include "passes/analysis/pointer_origin.h"
#include "passes/blocks/tensor_maps.h"
#include "passes/layout/layout_rules.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "target/target.h"

enum { AXES = 3 };

typedef struct Programs {
    Func *func;
    int axes;            /* that the function asks for, from x on */
    bool multiplies;     /* by warpgroups */
    bool adds_to_memory; /* by atomics */
    PtrSet invariant;    /* scalars that are the same for all programs */
    PtrSet written;      /* arguments that the function stores through */
    PtrSet loops;        /* those with dots */
    const char *why_not; /* the first condition that fails */
} Programs;

static bool fails(Programs *p, const char *why_not) {
    if (!p->why_not)
        p->why_not = why_not;
    return false;
}

/* Values that are the same for all programs */

static bool is_invariant(const Programs *p, const Value *value) {
    return (!value->def && !value->owner->parent) || ptr_set_has(&p->invariant, value);
}

/* What computes a scalar from arguments and the grid, in any block. */
static void note_invariant(Programs *p, const Op *op) {
    bool computes = op_is_pure(op) && !op->nregions && op->code != OP_program_id;
    for (uint32_t i = 0; i < op->nin && computes; i++)
        computes = is_invariant(p, op_in(op, i));
    if (computes && op->nout == 1 && !op_out(op)->type->rank)
        ptr_set_add(&p->invariant, op_out(op));
}

/* min(share, size - part * share), as of a sum that programs have parts of: all but the last ones
 * have the whole share. */
static bool is_share(const Programs *p, const Value *bound) {
    const Op *least = value_def(bound, OP_minsi);
    for (uint32_t i = 0; least && i < 2; i++) {
        const Value *share = op_in(least, i);
        const Op *rest = value_def(op_in(least, 1 - i), OP_subi);
        const Op *before = rest ? value_def(op_in(rest, 1), OP_muli) : NULL;
        if (before && (op_in(before, 0) == share || op_in(before, 1) == share) &&
            is_invariant(p, share) && is_invariant(p, op_in(rest, 0)))
            return true;
    }
    return false;
}

/* The loop has as many iterations in every program. */
static bool is_even(const Programs *p, const Op *loop) {
    const Value *bound = op_in(loop, 1);
    return is_invariant(p, op_in(loop, 0)) && is_invariant(p, op_in(loop, 2)) &&
           (is_invariant(p, bound) || is_share(p, bound));
}

/* Conditions on single ops */

static bool may_be_written(const Programs *p, const Value *pointer) {
    const Value *origin = pointer_origin(pointer);
    return !origin || ptr_set_has(&p->written, origin);
}

static bool note_effects(Op *op, void *user) {
    Programs *p = user;
    note_invariant(p, op);
    p->adds_to_memory |= op_has(op, ATOMIC);
    p->multiplies |= op->code == OP_dot && dot_attrs(op)->unit == UNIT_WGMMA;
    if (op->code == OP_program_id && program_id_attrs(op)->axis >= p->axes)
        p->axes = (int)program_id_attrs(op)->axis + 1;
    if (op_has(op, STORE | ATOMIC)) {
        const Value *origin = pointer_origin(op_in(op, 0));
        ptr_set_add(&p->written, origin ? origin : op_in(op, 0));
    }
    return true;
}

/* A program that waits for another must not stand in line before it. */
static bool check_op(Op *op, void *user) {
    Programs *p = user;
    if (op->code == OP_print)
        return fails(p, "it prints, and what is printed names the program");
    if (op->code == OP_while)
        return fails(p, "a loop runs until a condition holds, which other programs may decide");
    if (op->code == OP_for && !is_even(p, op))
        return fails(p, "its programs differ in the iterations of a loop");
    if (op_has(op, ATOMIC) && op->nout && !value_unused(op_out(op)))
        return fails(p, "it uses what an atomic operation returns, and so may wait for others");
    if (op_is_unseen(op))
        return fails(p, "it has PTX with effects, and so may wait for others");
    if (op_is_volatile(op))
        return fails(p, "it has a volatile load, and so may wait for others");
    if (op->code == OP_load && op_loop_around(op) && may_be_written(p, op_in(op, 0)))
        return fails(p,
                     "a loop loads what the kernel may have written, and so may wait for others");
    return true;
}

/* Conditions on the loops with dots */

static bool check_body(Programs *p, const Block *body) {
    block_for_each (op, body) {
        if (op->code == OP_for)
            return fails(p, "a loop stands in the loop of its dot");
        if (op->code == OP_dot && dot_is_chained(op))
            return fails(p, "a dot takes what another one gives");
        if (op->code == OP_load && value_may_reach_dot(op_out(op)))
            return fails(p, "not all operands come by tensor copies");
        for (uint32_t i = 0; i < op->nregions; i++)
            if (!check_body(p, op->regions[i]))
                return false;
    }
    return true;
}

static bool check_loop(Programs *p, Op *loop) {
    if (!loop || loop->code != OP_for)
        return fails(p, "a dot stands outside of loops");
    if (loop->block != p->func->body)
        return fails(p, op_loop_around(loop) ? "it loops over tiles itself"
                                             : "the loop of its dot runs under a condition");
    if (!ptr_set_add(&p->loops, loop))
        return true;
    return check_body(p, loop->regions[0]);
}

static bool check_dot(Op *op, void *user) {
    return op->code != OP_dot || check_loop(user, op_loop_around(op));
}

/* Does a static order of the programs in CTAs that stay pay, and mean the same? It pays where all
 * programs take the same time: copies of the next one need not wait for a launch of a CTA. */
static const char *why_not(Programs *p) {
    const Func *func = p->func;
    if (func->num_ctas > 1)
        return "a program has several CTAs";
    if (func->programs_per_cta > 1)
        return "a CTA has several programs";
    if (!target_has(func->capability, FEATURE_TENSOR_COPIES) || func->no_tensor_copies)
        return "not all operands come by tensor copies";
    if (func_walk(p->func, check_dot, p))
        func_walk(p->func, check_op, p);
    return p->why_not;
}

/* The loop */

/* The programs along the axes in question. */
static Value *count_programs(Builder *b, int axes, Value *sizes[AXES]) {
    Value *count = NULL;
    for (int axis = 0; axis < axes; axis++) {
        sizes[axis] = build_num_programs(b, axis);
        count = count ? build_muli(b, count, sizes[axis]) : sizes[axis];
    }
    return count;
}

typedef struct Place {
    Value *ids[AXES];
} Place;

/* What `program` is along each axis, from its number. */
static Place place_of(Builder *b, Value *program, int axes, Value *const sizes[AXES]) {
    Place place;
    for (int axis = 0; axis < axes; axis++) {
        bool is_last = axis == axes - 1;
        place.ids[axis] = is_last ? program : build_remui(b, program, sizes[axis]);
        if (!is_last)
            program = build_divui(b, program, sizes[axis]);
    }
    return place;
}

static void replace_ids(Block *block, const Place *place) {
    for (Op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t i = 0; i < op->nregions; i++)
            replace_ids(op->regions[i], place);
        if (op->code == OP_program_id)
            rewrite_replace(op, place->ids[program_id_attrs(op)->axis]);
    }
}

/* Scalars that stay are computed by every program, and so may be by every CTA. Who has waited for
 * the launches before has done so for all its programs. */
static bool stays_in_front(const Programs *p, const Op *op) {
    if (op->code == OP_grid_wait)
        return true;
    return op->code == OP_assume ? is_invariant(p, op_in(op, 0))
                                 : op->nout == 1 && is_invariant(p, op_out(op));
}

static void wrap(Programs *p) {
    Block *body = p->func->body;
    int axes = p->adds_to_memory ? AXES : p->axes;
    Value *sizes[AXES];
    p->func->is_persistent = true;
    Builder b = builder_before(body->last);
    b.span = p->func->span;
    Value *cta = build_cta_id(&b), *step = build_cta_count(&b);
    Op *first_new = cta->def;
    Value *count = count_programs(&b, axes, sizes);
    Op *loop = build_for(&b, cta, count, step, 0, NULL);
    Builder in = builder_at_end(loop->regions[0]);
    in.span = p->func->span;
    Value *program = &loop->regions[0]->args[0];
    program->name = STR("program");
    Place place = place_of(&in, program, axes, sizes);
    Op *yield = build_yield(&in, 0, NULL);
    for (Op *op = body->first, *next; op != first_new; op = next) {
        next = op->next;
        if (!stays_in_front(p, op))
            op_move_before(op, yield);
    }
    replace_ids(loop->regions[0], &place);
}

bool pass_persist(Func *func) {
    Ctx *ctx = func_ctx(func);
    if (func->is_persistent || func->no_persistence)
        return false;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Programs p = {.func = func, .axes = 1};
    p.invariant.arena = p.written.arena = p.loops.arena = &ctx->scratch;
    func_walk(func, note_effects, &p);
    const char *refused = p.multiplies ? why_not(&p) : NULL;
    bool wraps = p.multiplies && !refused;
    if (wraps)
        wrap(&p);
    if (wraps)
        ctx_diag(ctx, func->span, kernel_persistent);
    else if (refused)
        ctx_diag(ctx, func->span, kernel_not_persistent, refused);
    arena_rewind(&ctx->scratch, mark);
    return wraps;
}
