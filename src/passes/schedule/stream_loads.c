/* stream-loads: loads that do not fit a thread's registers together come as they are taken.
 *
 *     %x = load %p                            %x = load %p {under_way = 63}
 *     %y = load %q                     =>     %y = load %q {under_way = 63}
 *     %m = mulf %x, %y                        %m = mulf %x, %y
 *     %s = reduce %m, addf                    %s = reduce %m, addf
 *
 * The lowering has all registers of a tile loaded, then all of the next. What elementwise ops and
 * sums take need never be there as a whole; ptxas knows that too, but of hundreds of loads in a row
 * it spills what it should load later. Where a stretch of ops without effects loads more than a
 * thread has registers beside what a loop carries, each of its loads says how many registers of
 * such loads are to be under way, and codegen orders the stretch by what is taken first
 * (codegen/llvm/stream.c). Results, and their bits, are the same.
 *
 * Tiles that something behind the stretch needs are there as a whole all the same: where these
 * leave no room for loads under way, nothing is gained. Loads that a batch ends with fit, and those
 * that may be delayed go elsewhere.
 *
 * Needs layouts. It stands at the end: what is loaded where is settled then. */
#include "ir/registers.h"
#include "ir/scratch.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

/* Of the registers of a thread, those that loads under way take: with all warps of an SM that have
 * so many, as much as memory delivers in the time of an access. */
enum { PART_UNDER_WAY = 4 };

static bool ends_stretch(const Op *op) {
    return op_has(op, ACCUMULATES | TERMINATOR) || (op->nregions && op->code != OP_reduce) ||
           (op_effects(op) & (WRITES | LREADS | LWRITES | SYNC)) || op_is_volatile(op) ||
           (op->code == OP_load && load_attrs(op)->ends_batch);
}

static bool is_streamed(const Func *func, const Op *op) {
    return op->code == OP_load && type_is_tile(op->out[0].type) && !op_may_delay(op) &&
           !op_scratch_bytes(op, func->num_warps);
}

static bool is_taken_within(const Value *value, const PtrSet *stretch) {
    value_for_each_use (use, value)
        if (!ptr_set_has(stretch, use->user))
            return false;
    return true;
}

static uint64_t carried_registers(const Block *block) {
    uint64_t registers = 0;
    for (uint32_t i = 0; i < block->nargs; i++)
        registers += pressure_in_thread(block->args[i].type);
    return registers;
}

static bool stream_stretch(const Func *func, Op *first, const Op *end) {
    uint64_t loaded = carried_registers(first->block) + RESERVE_SCALARS, held = loaded;
    uint32_t loads = 0;
    PtrSet stretch = {.arena = &func_ctx(func)->scratch};
    for (const Op *op = first; op != end; op = op->next)
        ptr_set_add(&stretch, op);
    for (const Op *op = first; op != end; op = op->next)
        for (uint32_t i = 0; i < op->nout; i++) {
            uint64_t registers = pressure_in_thread(op->out[i].type);
            if (!is_taken_within(&op->out[i], &stretch))
                held += op_has(op, CHEAP) ? 0 : registers;
            else if (is_streamed(func, op) && ++loads)
                loaded += registers;
        }
    uint64_t room = (uint64_t)func_register_room(func, func->num_warps);
    uint64_t under_way = room / PART_UNDER_WAY;
    if (loads < 2 || loaded <= room || held + under_way > room)
        return false;
    bool changed = false;
    for (Op *op = first; op != end; op = op->next)
        if (is_streamed(func, op) && load_attrs(op)->under_way != (int64_t)under_way) {
            load_attrs(op)->under_way = (int64_t)under_way;
            changed = true;
        }
    return changed;
}

static bool stream_block(const Func *func, Block *block) {
    bool changed = false;
    Op *first = block->first;
    block_for_each (op, block) {
        if (!ends_stretch(op))
            continue;
        changed |= stream_stretch(func, first, op);
        for (uint32_t r = 0; r < op->nregions; r++)
            changed |= stream_block(func, op->regions[r]);
        first = op->next;
    }
    return changed;
}

bool pass_stream_loads(Func *func) {
    Ctx *ctx = func_ctx(func);
    ArenaMark mark = arena_mark(&ctx->scratch);
    bool changed = stream_block(func, func->body);
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
