/* Two teams take the tiles of a CTA in turn.
 *
 * Between the last product of a tile and the first of the next one tensor cores have nothing to do:
 * bias, activation and store, and where the next tile lies. A CTA of one warpgroup, whose buffers
 * leave an SM no room for another CTA, has registers for a second one. Both are fed by the one
 * producer through the one ring, each has the products of every second tile to itself, and finishes
 * its tile while the other multiplies:
 *
 *     for %tile = %first, %n, %step (%at = 0) {     turn_pass off, %first < %n
 *         for %k .. (%acc, %slot, %parity) {        for %tile = %first + %step * team_id, %n,
 *             mbarrier_wait %full                           %step * team_count (%at = %skip) {
 *             %r = wgmma ..                   =>        turn_wait
 *         }                                             for %k .. (%acc, %slot, %parity) { .. }
 *         %c = wgmma_wait %r                            turn_pass %more, %more
 *         .. local_store %c, %buffer                    %c = wgmma_wait %r
 *         yield %next                                   .. local_store %c, %buffer[team_id]
 *     }                                                 yield %next + %skip
 *                                                   }
 *
 * The producer goes through all tiles. The slots that the other team reads are passed over: a tile
 * has as many blocks as any other, so that %skip, their number modulo all slots and parities, is
 * one for all. A team waits for its first block only once the other has waited for its last: a
 * phase is so waited for at most one ahead, which its parity tells apart. The turn goes on behind
 * the start of the last product and before the wait for it, so that nothing is lost between two
 * tiles.
 *
 * Accumulators of a whole tile take more registers than a thread of so many warps has when the
 * kernel begins: the producer gives what it does not need to the teams.
 *
 * Buffers other than the ring there are twice, for as long as the kernel runs. With one team, as
 * the interpreter has it, all is as before.
 *
 * Programs of a launch may run in any order, which makes this right for persistent kernels. */
#include "ir/registers.h"
#include "ir/scratch.h"
#include "passes/analysis/pressure.h"
#include "passes/schedule/specialise.h"
#include "passes/shared/allocate_shared.h"
#include "target/target.h"
#include "target/wgmma.h"

typedef struct Teams {
    Specialise *s;
    Func *func;
    const Ring *ring;
    Op *tiles;           /* the loop over them */
    VEC(Op *) buffers;   /* other than the ring's */
    const char *why_not; /* the first condition that fails */
} Teams;

static bool fails(Teams *t, const char *why_not) {
    if (!t->why_not)
        t->why_not = why_not;
    return false;
}

bool specialise_wants_teams(const Func *func) {
    return func->is_persistent && func->num_warps == WGMMA_WARPS && !func->teams;
}

bool specialise_is_alone(int64_t bytes, int64_t room) {
    return bytes * SPECIALISE_TEAMS > room;
}

/* Conditions */

static bool is_of_ring(const Teams *t, const Op *alloc) {
    vec_for_each (buffer, &t->ring->buffers)
        if (*buffer == alloc)
            return true;
    return alloc == t->ring->full || op_out(alloc) == t->ring->empty;
}

/* What decides whether the loop runs at all for a tile; NULL: nothing does. */
static Op *skipped_begin(const Op *loop) {
    Op *begin = value_def(op_in(loop, 0), OP_select);
    bool skips = (op_flags(loop) & LOOP_SKIPS) && begin && op_in(begin, 1) == op_in(loop, 1);
    return skips ? begin : NULL;
}

/* A bound of the loop, as it is for tiles that somebody sees. */
static const Value *whole_bound(const Op *loop, uint32_t i) {
    const Op *begin = i == 0 ? skipped_begin(loop) : NULL;
    return begin ? op_in(begin, 2) : op_in(loop, i);
}

/* Tiles that nobody sees (skip-unseen) take as long as others: a tile that is passed over would be
 * one whose blocks the other team must not count. */
static void run_whole(Op *loop) {
    Op *begin = skipped_begin(loop);
    for_attrs(loop)->flags &= ~(int64_t)LOOP_SKIPS;
    if (begin)
        value_replace(op_out(begin), op_in(begin, 2));
}

/* A loop over tiles that carries the place in the ring alone. */
static bool check_tiles(Teams *t) {
    const Op *tiles = t->tiles, *loop = t->ring->loop;
    if (t->s->rings.len != 1)
        return fails(t, "it has several loops over K");
    if (!tiles || tiles->code != OP_for || tiles->block != t->func->body)
        return fails(t, "its products stand in other loops or branches");
    for (uint32_t i = 0; i < FOR_FIXED_OPERANDS; i++)
        if (!value_is_outside(whole_bound(loop, i), tiles))
            return fails(t, "its tiles differ in the length of the loop over K");
    if (tiles->nout != 1 || tiles->out[0].type != type_scalar(t->s->ctx, DT_I32) ||
        !value_is_int(op_in(tiles, FOR_FIXED_OPERANDS), 0))
        return fails(t, "a tile takes something from the one before");
    block_for_each (op, t->func->body) {
        bool known = op == tiles || op->code == OP_producer || op->code == OP_store_wait ||
                     op_has(op, ALLOCATES);
        known |= op->code == OP_grid_wait; /* for launches before, as any thread may */
        if (!known && !op_is_pure(op) && !op_has(op, TERMINATOR))
            return fails(t, "it does more than go through tiles");
    }
    return true;
}

static bool find_buffer(Op *op, void *user) {
    Teams *t = user;
    if (op->code == OP_mbarrier_alloc && !is_of_ring(t, op))
        return fails(t, "other blocks are waited for");
    if (op->code != OP_local_alloc || is_of_ring(t, op))
        return true;
    if (local_copies(op_out(op)) > 1)
        return fails(t, "it has several rings of buffers");
    vec_push(t->s->arena, &t->buffers, op);
    return true;
}

static void set_copies(const Teams *t, int64_t copies) {
    vec_for_each (alloc, &t->buffers)
        op_set_copies(*alloc, copies);
}

/* Does an SM hold no second CTA anyway, and has this one room for all buffers twice? */
static bool check_room(Teams *t) {
    int64_t room = func_shared_room(t->func);
    if (func_scratch_bytes(t->func))
        return fails(t, "atomics exchange results in shared memory");
    if (!specialise_is_alone(shared_bytes_apart(t->func), room))
        return fails(t, "an SM holds several of its CTAs");
    set_copies(t, SPECIALISE_TEAMS);
    int64_t bytes = shared_bytes_apart(t->func);
    set_copies(t, 0);
    return bytes <= room || fails(t, "shared memory has no room for what both store");
}

int64_t specialise_team_spare(Func *func) {
    int64_t taken = (int64_t)pressure_streamed_in_thread(func) + RESERVE_CHAINS;
    return func_asked_registers(func) ? -1 : TEAM_REGISTERS - taken;
}

/* The loop over tiles */

/* Blocks of a tile modulo all slots and parities, i32. */
static Value *blocks_of_tile(const Teams *t, Builder *b) {
    const Op *loop = t->ring->loop;
    Value *lo = op_in(loop, 0), *hi = op_in(loop, 1);
    Value *one = rewrite_int(b, lo->type, 1);
    Value *last = build_divui(b, build_subi(b, build_subi(b, hi, lo), one), op_in(loop, 2));
    Value *round = rewrite_int(b, lo->type, 2 * local_copies(op_out(t->ring->full)));
    Value *blocks = build_remui(b, build_addi(b, last, one), round);
    Value *none = rewrite_int(b, lo->type, 0);
    blocks = build_select(b, build_cmpi(b, lo, hi, IPRED_SLT), blocks, none);
    const Type *i32 = type_scalar(b->ctx, DT_I32);
    return lo->type == i32 ? blocks : build_trunci(b, blocks, i32);
}

/* Each team goes through every second tile, and begins behind the blocks of the tiles before. */
static void share_tiles(const Teams *t, Value *team, Value *count) {
    Op *tiles = t->tiles;
    Builder b = builder_before(tiles);
    b.span = tiles->span;
    const Type *i32 = type_scalar(b.ctx, DT_I32);
    Value *first = op_in(tiles, 0), *step = op_in(tiles, 2);
    Value *blocks = blocks_of_tile(t, &b);
    Value *others = build_subi(&b, count, rewrite_int(&b, i32, 1));
    Value *skip = build_muli(&b, blocks, others);
    op_set_operand(tiles, 0, build_addi(&b, first, build_muli(&b, step, team)));
    op_set_operand(tiles, 2, build_muli(&b, step, count));
    op_set_operand(tiles, FOR_FIXED_OPERANDS, build_muli(&b, blocks, team));

    Op *yield = tiles->regions[0]->last;
    Builder in = builder_before(yield);
    in.span = tiles->span;
    Value *round = rewrite_int(&in, i32, 2 * local_copies(op_out(t->ring->full)));
    Value *next = build_addi(&in, op_in(yield, 0), skip);
    Value *around = build_cmpi(&in, next, round, IPRED_SGE);
    op_set_operand(yield, 0, build_select(&in, around, build_subi(&in, next, round), next));
}

/* The products of one tile after the other. Before share_tiles: `first` is the CTA's. */
static void order_products(const Teams *t) {
    Op *tiles = t->tiles, *loop = t->ring->loop;
    Builder b = builder_before(tiles);
    b.span = loop->span;
    Value *off = rewrite_int(&b, type_scalar(b.ctx, DT_I1), 0);
    build_turn_pass(&b, off, build_cmpi(&b, op_in(tiles, 0), op_in(tiles, 1), IPRED_SLT));
    Value *before_last = build_subi(&b, op_in(tiles, 1), op_in(tiles, 2));
    Builder wait = builder_before(loop);
    wait.span = loop->span;
    build_turn_wait(&wait);
    Builder pass = builder_after(loop);
    pass.span = loop->span;
    Value *more = build_cmpi(&pass, &tiles->regions[0]->args[0], before_last, IPRED_SLT);
    build_turn_pass(&pass, more, more);
}

/* Each team has a buffer of its own where there was one. */
static void share_buffers(const Teams *t, Value *team, Builder *b) {
    set_copies(t, SPECIALISE_TEAMS);
    vec_for_each (alloc, &t->buffers) {
        op_move_before(*alloc, t->s->producer);
        Value *buffer = op_out(*alloc), *own = build_local_view(b, buffer, team, 0);
        value_replace(buffer, own);
        op_set_operand(own->def, 0, buffer);
    }
}

/* Tiles that nobody needs before the products are done would wait for that in registers. */
static void compute_late(const Op *loop) {
    for (Op *op = loop->prev, *before; op; op = before) {
        before = op->prev;
        if (!op_is_pure(op) || op->nregions || op->nout != 1 || !type_is_tile(op_out(op)->type))
            continue;
        Op *first = NULL;
        for (Op *user = loop->next; user && !first; user = user->next)
            for (uint32_t i = 0; i < user->nin; i++)
                first = op_in(user, i) == op_out(op) ? user : first;
        bool is_behind = first;
        value_for_each_use (use, op_out(op))
            is_behind &= use->user->block == loop->block && !op_comes_before(use->user, first);
        if (is_behind)
            op_move_before(op, first);
    }
}

void specialise_teams(Specialise *s) {
    Teams t = {.s = s, .func = s->func, .ring = s->rings.data[0]};
    if (!specialise_wants_teams(s->func))
        return;
    t.tiles = t.ring->loop->block->parent;
    bool can = check_tiles(&t) && func_walk(s->func, find_buffer, &t) && check_room(&t) &&
               (specialise_team_spare(s->func) >= 0 ||
                fails(&t, "its threads need the registers that a second warpgroup would take"));
    if (!can) {
        ctx_diag(s->ctx, t.ring->loop->span, no_teams, t.why_not);
        return;
    }
    s->func->teams = SPECIALISE_TEAMS;
    run_whole(t.ring->loop);
    run_whole(t.ring->loop_of_producer);
    Builder b = builder_before(s->producer->next);
    b.span = s->func->span;
    Value *team = build_team_id(&b), *count = build_team_count(&b);
    order_products(&t);
    share_tiles(&t, team, count);
    share_buffers(&t, team, &b);
    compute_late(t.ring->loop);
    ctx_diag(s->ctx, t.ring->loop->span, takes_turns_by_tiles);
}

int64_t specialise_spare_registers(Func *func) {
    if (specialise_wants_teams(func) && specialise_team_spare(func) >= 0)
        return specialise_team_spare(func);
    int64_t taken = (int64_t)pressure_streamed_in_thread(func) + RESERVE_COPIES;
    return func_register_room(func, func->num_warps + 1) - taken;
}
