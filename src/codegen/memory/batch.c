/* Keeps together the loads that a program begins with.
 *
 * A program that loads a row and its weights wants them all under way before it waits for the
 * first. ptxas would rather use the row as soon as it is there, which needs fewer registers for a
 * while, and starts the last loads between the shuffles of the first reduction: in the first wave
 * of CTAs their latency, that of DRAM, then comes on top of the row's. So behind the
 * last of these loads stands what it moves none past (cg_keep_order).
 *
 * That is done where all tiles are loaded before the first reduction, one at least feeds it and one
 * waits, and all of them fit a thread's registers. Loads that may be delayed do not count. */
#include "codegen/memory/batch.h"
#include "codegen/values/cache.h"
#include "codegen/values/ptxas.h"
#include "ir/registers.h"
#include "support/ptrmap.h"

typedef struct Batch {
    const Op *last; /* of the loads; NULL: none are kept together */
} Batch;

static const CacheKind batch_kind = {sizeof(Batch)};

static void add_operands(PtrMap *needed, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_in(op, i)->def)
            ptrmap_set(needed, op_in(op, i)->def, needed);
}

/* The ops before `end` in its block that it depends on. */
static PtrMap needed_by(Cg *cg, const Op *end) {
    PtrMap needed = {.arena = &cg->ctx->scratch};
    add_operands(&needed, end);
    for (const Op *op = end->prev; op; op = op->prev)
        if (ptrmap_get(&needed, op))
            add_operands(&needed, op);
    return needed;
}

static bool is_tile_load(const Op *op) {
    return op->code == OP_load && type_is_tile(op->out[0].type);
}

static bool count_load(Op *op, void *user) {
    *(uint32_t *)user += is_tile_load(op);
    return true;
}

static uint64_t registers_of(const Type *type) {
    return (((uint64_t)type_element_bytes(type) << type->layout->bits[LAYOUT_REG]) + 3) / 4;
}

static uint64_t register_room(const Func *func) {
    int32_t programs = func->programs_per_cta > 0 ? func->programs_per_cta : 1;
    return (uint64_t)func_register_room(func, func->num_warps * programs);
}

/* The first reduction of the body, if nothing before it writes, meets or branches. */
static const Op *first_reduce(const Func *func) {
    block_for_each (op, func->body) {
        if (op->code == OP_reduce)
            return op;
        if (op->nregions || (op_effects(op) & (WRITES | SYNC)))
            return NULL;
    }
    return NULL;
}

void cg_find_batch(Cg *cg) {
    const Op *reduce = first_reduce(cg->func);
    if (!reduce)
        return;
    ArenaMark mark = arena_mark(&cg->ctx->scratch);
    PtrMap needed = needed_by(cg, reduce);
    uint32_t loads = 0, feeding = 0, waiting = 0, all = 0;
    uint64_t registers = RESERVE_SCALARS;
    const Op *last = NULL;
    for (const Op *op = cg->func->body->first; op != reduce; op = op->next) {
        if (!is_tile_load(op))
            continue;
        bool feeds = ptrmap_get(&needed, op) != NULL;
        loads++;
        feeding += feeds;
        waiting += !feeds && !op_may_delay(op);
        registers += registers_of(op->out[0].type);
        last = op;
    }
    arena_rewind(&cg->ctx->scratch, mark);
    func_walk(cg->func, count_load, &all);
    if (feeding && waiting && loads == all && registers <= register_room(cg->func))
        ((Batch *)cg_cache(cg, &batch_kind))->last = last;
}

void cg_end_batch(Cg *cg, const Op *load) {
    const Batch *batch = cg_cache(cg, &batch_kind);
    if (load == batch->last)
        cg_keep_order(cg);
}
