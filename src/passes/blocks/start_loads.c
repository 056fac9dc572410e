/* stage-blocks: copies of blocks start before others are waited for.
 *
 *     %a = load_block ..                         %a = load_block ..
 *     %c = dot %a, ..                    =>      %b = load_block ..
 *     %b = load_block ..                         %c = dot %a, ..
 *     %d = dot %b, .., %c                        %d = dot %b, .., %c
 *
 * A program of a few blocks, or a loop of a few iterations that was unrolled, otherwise waits for
 * each of them in turn, a microsecond for what several take together. The load moves up before the
 * first op that waits for what was loaded, with the scalars it is made from, but past no other
 * load_block and nothing that writes, meets other threads, loops or branches.
 *
 * Its buffer so lives longer. It may where the buffers that live at once take no more than before
 * at the most, or than lets as many CTAs share an SM as registers do. */
#include "passes/blocks/start_loads.h"
#include "ir/registers.h"
#include "passes/analysis/pressure.h"
#include "passes/blocks/block_buffers.h"
#include "passes/layout/layout_rules.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"
#include "support/vec.h"
#include "target/target.h"

/* A buffer of the block: between which of its ops it lives, by number. */
typedef struct Lived {
    const Op *op;
    uintptr_t first, last;
    int64_t bytes;
} Lived;

typedef struct Starts {
    Arena *arena;
    PtrMap numbers; /* of the ops of the block as it was */
    uintptr_t count;
    VEC(Lived) lived;
    int64_t room; /* bytes */
} Starts;

static uintptr_t number_of(const Starts *starts, const Op *op) {
    return (uintptr_t)ptrmap_get(&starts->numbers, op);
}

/* Liveness */

static void live(Starts *starts, const Op *op, uintptr_t last, int64_t bytes) {
    vec_push(starts->arena, &starts->lived, ((Lived){op, number_of(starts, op), last, bytes}));
}

/* What moves a loaded block around reads its buffer, as whoever takes it from there does. */
static uintptr_t last_use(const Starts *starts, const Block *block, const Value *value) {
    uintptr_t last = 0;
    value_for_each_use (use, value) {
        Op *user = op_ancestor_in(use->user, block);
        uintptr_t at = user ? number_of(starts, user) : 0;
        uintptr_t further =
            op_rearranges(use->user) ? last_use(starts, block, op_out(use->user)) : 0;
        at = at > further ? at : further;
        last = last > at ? last : at;
    }
    return last;
}

static bool comes_from_block(const Value *value) {
    while (value->def && op_rearranges(value->def))
        value = op_in(value->def, 0);
    return value_def(value, OP_load_block) != NULL;
}

static int64_t operands_exchanged(const Op *dot) {
    int64_t bytes = 0;
    for (int i = 0; i < 2 && dot_attrs(dot)->unit != UNIT_FMA; i++) {
        bool transposed;
        const Op *source = dot_operand_source(dot, i, &transposed);
        if (dot_operand_is_exchanged(dot, source) && !comes_from_block(op_out(source)))
            bytes += type_bytes(op_out(source)->type);
    }
    return bytes;
}

/* What the op takes in shared memory, but for what loads do. */
static void note_buffer(Starts *starts, Ctx *ctx, const Block *block, const Op *op) {
    const Type *exchanged = NULL;
    if (op->code == OP_convert_layout && !comes_from_block(op_in(op, 0)))
        exchanged = convert_exchanged(ctx, op);
    if (exchanged)
        live(starts, op, number_of(starts, op), type_bytes(exchanged));
    else if (op->code == OP_store_block)
        live(starts, op, starts->count, block_buffer_bytes(block_buffer_type(ctx, op)));
    else if (op->code == OP_dot)
        live(starts, op, number_of(starts, op), operands_exchanged(op));
    else if (op->code == OP_load_block)
        live(starts, op, last_use(starts, block, op_out(op)),
             block_buffer_bytes(block_buffer_type(ctx, op)));
}

static int64_t bytes_at(const Starts *starts, uintptr_t at) {
    int64_t bytes = 0;
    vec_for_each (lived, &starts->lived)
        if (lived->first <= at && at <= lived->last)
            bytes += lived->bytes;
    return bytes;
}

static int64_t most_bytes(const Starts *starts, uintptr_t first, uintptr_t last) {
    int64_t most = 0;
    for (uintptr_t at = first; at <= last; at++) {
        int64_t bytes = bytes_at(starts, at);
        most = most > bytes ? most : bytes;
    }
    return most;
}

/* Moves */

/* The load passes no such op. */
static bool stops(const Op *op) {
    return op->code == OP_load_block || (op_effects(op) & ~(uint32_t)(READS | LREADS | LWRITES)) ||
           (op->nregions && !op_is_pure(op));
}

/* One that it is made from moves with it. */
static bool follows(const Op *op) {
    return op_is_pure(op) && op->nout == 1 && !op->nregions && !type_is_tile(op->out[0].type);
}

/* Takes what was loaded, or multiplies. */
static bool waits(const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++) {
        const Op *def = op_in(op, i)->def;
        if (def && (def->code == OP_load_block || def->code == OP_load))
            return true;
    }
    return op->code == OP_dot;
}

typedef struct MoveUp {
    Op *place;         /* the first op that waits, of those it may pass; NULL: there is none */
    VEC(Op *) carried; /* what moves along, the last one first */
} MoveUp;

static void need_operands(PtrSet *needed, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_in(op, i)->def)
            ptr_set_add(needed, op_in(op, i)->def);
}

static MoveUp find_place(Arena *arena, const Op *load) {
    MoveUp move = {0};
    PtrSet needed = {.arena = arena};
    size_t passed = 0;
    need_operands(&needed, load);
    for (Op *above = load->prev; above; above = above->prev) {
        bool is_needed = ptr_set_has(&needed, above);
        if (stops(above) || (is_needed && !follows(above)))
            break;
        if (is_needed) {
            vec_push(arena, &move.carried, above);
            need_operands(&needed, above);
        } else if (waits(above)) {
            move.place = above;
            passed = move.carried.len;
        }
    }
    move.carried.len = passed;
    return move;
}

static Lived *lived_of(Starts *starts, const Op *load) {
    vec_for_each (lived, &starts->lived)
        if (lived->op == load)
            return lived;
    return NULL;
}

static bool start_load(Starts *starts, Op *load) {
    MoveUp move = find_place(starts->arena, load);
    Lived *lived = lived_of(starts, load);
    if (!move.place)
        return false;
    uintptr_t was = lived->first;
    lived->first = number_of(starts, move.place);
    if (most_bytes(starts, lived->first, was) > starts->room) {
        lived->first = was;
        return false;
    }
    for (size_t i = move.carried.len; i > 0; i--)
        op_move_before(move.carried.data[i - 1], move.place);
    op_move_before(load, move.place);
    return true;
}

/* Blocks */

static bool add_ring(Op *op, void *user) {
    if (op->code == OP_local_alloc)
        *(int64_t *)user += local_extent(op_out(op));
    return true;
}

/* What is left to each of the CTAs of an SM that registers allow, beside the rings of loops. */
static int64_t room_of_cta(Func *func) {
    const Target *target = target_by_capability(func->capability);
    int64_t rings = 0, need = (int64_t)pressure_most_in_thread(func) + RESERVE_COPIES;
    need = need < TARGET_MAX_REGISTERS ? need : TARGET_MAX_REGISTERS;
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t threads = func->num_warps * programs * TARGET_WARP_SIZE;
    int32_t ctas = target ? target_occupancy(target, (int32_t)need, threads, 0).ctas : 0;
    if (ctas < 1)
        return 0;
    int64_t reserved = target->shared_per_sm - target->shared_per_block;
    func_walk(func, add_ring, &rings);
    return (target->shared_per_sm / ctas - reserved) / programs - rings;
}

static bool start_in_block(Starts *starts, Block *block, int64_t room) {
    Ctx *ctx = func_ctx(block->func);
    VEC(Op *) loads = {0};
    bool changed = false;
    starts->numbers = (PtrMap){.arena = starts->arena};
    starts->count = 0;
    starts->lived.len = 0;
    block_for_each (op, block) {
        ptrmap_set(&starts->numbers, op, (void *)++starts->count); /* NOLINT */
        if (op->code == OP_load_block && !load_block_attrs(op)->is_volatile)
            vec_push(starts->arena, &loads, op);
    }
    if (!loads.len)
        return false;
    block_for_each (op, block)
        note_buffer(starts, ctx, block, op);
    int64_t most = most_bytes(starts, 1, starts->count);
    starts->room = most > room ? most : room;
    vec_for_each (load, &loads)
        changed |= start_load(starts, *load);
    return changed;
}

static bool start_below(Starts *starts, Block *block, int64_t room) {
    bool changed = start_in_block(starts, block, room);
    block_for_each (op, block)
        for (uint32_t i = 0; i < op->nregions; i++)
            changed |= start_below(starts, op->regions[i], room);
    return changed;
}

bool start_loads(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    ArenaMark mark = arena_mark(arena);
    Starts starts = {.arena = arena};
    bool changed = start_below(&starts, func->body, room_of_cta(func));
    arena_rewind(arena, mark);
    return changed;
}
