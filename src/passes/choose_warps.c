/* choose-warps: the launch shape from the work of one program, where the source and the options
 * leave it open.
 *
 * A program gets as many warps as keep, in each thread, the largest tile it loads or stores and
 * everything alive at once within the figures of the table below. So a thread has 2 to 8
 * independent 16-byte accesses in flight, and short rows stay within one warp, whose reductions
 * need no barrier. Programs of less than four warps share a CTA, since an SM holds few CTAs, and
 * launching one costs as much as a small program.
 *
 * Needs: layouts not chosen yet. Leaves num_warps, num_stages, num_ctas and programs_per_cta set. A
 * given num_warps stands, with one program in a CTA: the launch is then what the source says.
 *
 *     func @softmax(..)                        func @softmax(..) {num_warps = 1, programs_per_cta =
 * 4, ..} %x = load .. : tile<1024xf32>   =>       %x = load .. : tile<1024xf32>
 */
#include "passes/passes.h"
#include "passes/rewrite.h"

/* Figures measured for row kernels on Hopper; registers are 32-bit ones. */
enum {
    ACCESS_REGISTERS =
        32, /* of one thread for the largest tile accessed: 8 accesses of f32, 4 of bf16 */
    LIVE_REGISTERS = 128, /* for all tiles alive at once: leaves half of the file for the rest */
    DOT_REGISTERS = 128,  /* for an accumulator */
    DOT_WARPS_MIN = 4,    /* a warpgroup */
    DOT_WARPS_MAX = 8,    /* two of them share a tile of 128 x 256 */
    DEFAULT_STAGES = 3,
};

/* Programs that share a CTA by log2 of their warps: four warps, one per scheduler of an SM. */
static const int8_t programs_by_log2_warps[] = {4, 2, 1, 1, 1, 1};

typedef struct Work {
    uint64_t access; /* registers of the largest tile loaded or stored, of all threads together */
    uint64_t live;   /* of all tiles alive at once */
    uint64_t dot;    /* of the largest accumulator */
} Work;

/* Narrow elements are computed with in 32 bits. */
static uint64_t registers(const Type *type) {
    if (!type_is_tile(type))
        return 0;
    int bytes = type_element_bytes(type);
    return (uint64_t)type_numel(type) * (uint64_t)(bytes > 4 ? bytes / 4 : 1);
}

static bool add_work(Op *op, void *user) {
    Work *work = user;
    uint64_t access = 0;
    if (op->code == OP_load || op->code == OP_atomic_rmw || op->code == OP_atomic_cas)
        access = registers(op->out[0].type);
    if (op->code == OP_store)
        access = registers(op_in(op, 1)->type);
    if (access > work->access)
        work->access = access;
    if (op->code == OP_dot && registers(op->out[0].type) > work->dot)
        work->dot = registers(op->out[0].type);
    return true;
}

/* Liveness: ops are numbered in order of appearance, before those in their regions. */

typedef struct Liveness {
    uint32_t *last_use; /* by Value.id: number of the last op of its block that needs it */
    uint64_t *ends;     /* by op number: registers that are free after it */
    uint32_t next;
    uint64_t now, most;
} Liveness;

/* The op that is visited in each block on the way in. */
typedef struct Frame {
    const Block *block;
    uint32_t op;
    const struct Frame *outer;
} Frame;

/* What is cheap is computed again where it is needed, or is the same in all threads. */
static uint64_t held_registers(const Value *value) {
    bool cheap = value->def && op_has(value->def, CHEAP);
    return cheap ? 0 : registers(value->type);
}

static void note_use(Liveness *live, const Frame *frame, const Value *value) {
    const Block *home = value_block(value);
    while (frame->block != home)
        frame = frame->outer;
    live->last_use[value->id] = frame->op;
}

/* A value from outside a loop is needed until the loop ends. */
static void note_uses(Liveness *live, const Block *block, const Frame *outer) {
    Frame frame = {block, 0, outer};
    block_for_each (op, block) {
        frame.op = ++live->next;
        for (uint32_t i = 0; i < op->nout; i++)
            live->last_use[op->out[i].id] = frame.op;
        for (uint32_t i = 0; i < op->nin; i++)
            note_use(live, &frame, op_in(op, i));
        for (uint32_t r = 0; r < op->nregions; r++) {
            const Block *region = op->regions[r];
            for (uint32_t i = 0; i < region->nargs; i++)
                live->last_use[region->args[i].id] = frame.op;
            note_uses(live, region, &frame);
        }
    }
}

static void add_value(Liveness *live, const Value *value) {
    uint64_t held = held_registers(value);
    live->now += held;
    live->ends[live->last_use[value->id]] += held;
    if (live->now > live->most)
        live->most = live->now;
}

static void sweep_block(Liveness *live, const Block *block) {
    for (uint32_t i = 0; i < block->nargs; i++)
        add_value(live, &block->args[i]);
    block_for_each (op, block) {
        uint32_t number = ++live->next;
        for (uint32_t r = 0; r < op->nregions; r++)
            sweep_block(live, op->regions[r]);
        for (uint32_t i = 0; i < op->nout; i++)
            add_value(live, &op->out[i]);
        live->now -= live->ends[number];
    }
}

static uint64_t most_alive(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Liveness live = {.last_use = ARENA_ARRAY(arena, uint32_t, func_number(func))};
    note_uses(&live, func->body, NULL);
    live.ends = ARENA_ARRAY(arena, uint64_t, (size_t)live.next + 1);
    live.next = 0;
    sweep_block(&live, func->body);
    arena_rewind(arena, mark);
    return live.most;
}

/* Warps */

static int32_t warps_for(uint64_t registers_of_all, uint64_t per_thread) {
    uint64_t threads = (registers_of_all + per_thread - 1) / per_thread;
    int32_t warps = 1;
    while (warps < TARGET_MAX_WARPS && (uint64_t)warps * TARGET_WARP_SIZE < threads)
        warps *= 2;
    return warps;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

static int32_t choose_num_warps(Func *func) {
    Work work = {.live = most_alive(func)};
    func_walk(func, add_work, &work);
    int32_t warps =
        larger(warps_for(work.access, ACCESS_REGISTERS), warps_for(work.live, LIVE_REGISTERS));
    if (!work.dot)
        return warps;
    warps = larger(larger(warps, DOT_WARPS_MIN), warps_for(work.dot, DOT_REGISTERS));
    return warps < DOT_WARPS_MAX ? warps : DOT_WARPS_MAX;
}

static bool set_if_open(int32_t *field, int32_t value) {
    if (*field)
        return false;
    *field = value;
    return true;
}

bool pass_choose_warps(Func *func) {
    bool given = func->num_warps != 0, changed = false;
    if (!given)
        changed |= set_if_open(&func->num_warps, choose_num_warps(func));
    changed |= set_if_open(&func->num_stages, DEFAULT_STAGES);
    changed |= set_if_open(&func->num_ctas, 1);
    int32_t programs = 1;
    if (!given && func->num_ctas == 1)
        programs = programs_by_log2_warps[__builtin_ctz((unsigned)func->num_warps)];
    changed |= set_if_open(&func->programs_per_cta, programs);
    return changed;
}
