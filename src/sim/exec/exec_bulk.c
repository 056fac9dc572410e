/* Bulk copies: cp.async.bulk between global and shared memory and between programs of a cluster,
 * with an mbarrier that counts their bytes or in groups of a thread, and reductions.
 *
 * Both ends are checked when a copy starts. Its data moves at the wait that covers it, or with the
 * option `early` at once. */
#include "sim/exec/bulk.h"

#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/check/proxy.h"
#include "sim/check/races_global.h"
#include "sim/exec/alu.h"
#include "sim/exec/cluster.h"
#include "sim/exec/exec_tensor.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/memory.h"
#include "sim/parse/table.h"
#include "sim/report/counters.h"
#include "sim/state/host_memory.h"
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"

/* Visits the chunks of a copy in order. */
static void bulk_walk(BulkCopy *bulk, ChunkVisitor *visit) {
    if (bulk->map) {
        tensor_walk(bulk, visit);
        return;
    }
    for (uint32_t at = 0; at < bulk->size; at += BULK_UNIT) {
        BulkChunk chunk = {.shared = bulk->shared + at,
                           .global = bulk->global + at,
                           .size = BULK_UNIT,
                           .hi = BULK_UNIT,
                           .index = at / BULK_UNIT};
        visit(bulk, &chunk);
    }
}

/* Operands. */

static bool read_size(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand,
                      uint32_t *size) {
    const Reg *reg = reg_of(warp, operand->reg);
    *size = (uint32_t)reg->v[lane];
    if (reg->def[lane] != DEFINED)
        report(warp, insn, lane, sim_undefined, "the size of a copy");
    else if (!*size || *size % BULK_UNIT)
        report(warp, insn, lane, sim_bulk_size, *size);
    else
        return true;
    return false;
}

static bool is_aligned(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                       uint32_t align) {
    if (address % align == 0)
        return true;
    report(warp, insn, lane, sim_bulk_align, address, align);
    return false;
}

/* Where an operand leads in shared memory, a multiple of `align`; false after a finding. */
static bool bulk_shared(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand,
                        uint32_t size, uint32_t align, AccessKind kind, Cta **owner,
                        uint64_t *own) {
    Target target;
    uint64_t address = memory_address(warp, insn, operand, lane);
    if (address >= SIM_SHARED_BASE && address - SIM_SHARED_BASE < SIM_WINDOW)
        address -= SIM_SHARED_BASE;
    *owner = cluster_owner(warp->cta, address, own);
    if (!*owner) {
        report(warp, insn, lane, sim_bulk_shared, address);
        return false;
    }
    return is_aligned(warp, insn, lane, address, align) &&
           memory_find_shared(warp, insn, lane, *owner, *own, size, kind, &target);
}

/* The same of the mbarrier that a copy completes at. */
static bool bulk_mbarrier(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand,
                          Cta **owner, uint64_t *own) {
    return bulk_shared(warp, insn, lane, operand, 8, 8, ACCESS_ATOMIC, owner, own);
}

/* The programs a copy goes to; false after a finding. */
static bool bulk_multicast(Warp *warp, const Insn *insn, uint32_t lane, unsigned operand,
                           uint32_t *ranks) {
    const Cluster *cluster = warp->cta->cluster;
    if (!insn_has(insn, WORD_multicast)) {
        *ranks = 0;
        return true;
    }
    const Reg *reg = reg_of(warp, insn->operand[operand].reg);
    *ranks = (uint32_t)reg->v[lane] & 0xffff;
    if (reg->def[lane] != DEFINED) {
        report(warp, insn, lane, sim_undefined, "the mask of a multicast");
        return false;
    }
    if (*ranks && !(*ranks >> cluster->size))
        return true;
    report(warp, insn, lane, sim_bulk_multicast, *ranks, cluster->size);
    return false;
}

/* Global memory of a chunk; false after a finding, or where nothing of it lies inside. */
static bool find_inside(const BulkCopy *bulk, const BulkChunk *chunk, AccessKind kind,
                        Target *target) {
    return chunk->hi > chunk->lo &&
           memory_find_global(bulk->warp, bulk->insn, bulk->lane, chunk->global,
                              chunk->hi - chunk->lo, kind, target);
}

static void count_chunk(BulkCopy *bulk, const BulkChunk *chunk) {
    InsnCounts *counts = &bulk->warp->machine->counts->insns[insn_pc(bulk->warp, bulk->insn)];
    if (chunk->hi > chunk->lo)
        count_stream(counts, &bulk->counted, chunk->global, chunk->hi - chunk->lo);
}

/* Loads: into shared memory, counted by an mbarrier. */

static void begin_load(BulkCopy *bulk, const BulkChunk *chunk) {
    Target from;
    if (bulk->invalid)
        return;
    if (bulk->kind == BULK_PEER) {
        bulk->invalid = !proxy_read_begin(bulk->warp, bulk->insn, bulk->lane, bulk->source,
                                          bulk->from + (chunk->shared - bulk->shared), chunk->size,
                                          bulk->number);
    } else if (chunk->hi > chunk->lo) {
        bulk->invalid = !find_inside(bulk, chunk, ACCESS_READ, &from);
        if (!bulk->invalid)
            race_global_async(bulk->warp, bulk->insn, bulk->lane, &from, chunk->hi - chunk->lo,
                              ACCESS_READ);
        count_chunk(bulk, chunk);
    }
    bulk->invalid = bulk->invalid || !proxy_write_begin(bulk->warp, bulk->insn, bulk->lane,
                                                        bulk->owner, chunk->shared, chunk->size);
    bulk->begun += !bulk->invalid;
}

static void read_chunk(const BulkCopy *bulk, const BulkChunk *chunk, uint8_t *bytes,
                       uint8_t *defined) {
    Target from;
    memset(defined, BYTE_DEFINED, chunk->size);
    memset(bytes, 0, chunk->size);
    if (bulk->kind == BULK_PEER) {
        uint64_t at = bulk->from + (chunk->shared - bulk->shared);
        memcpy(bytes, bulk->source->shared + at, chunk->size);
        memcpy(defined, bulk->source->shared_def + at, chunk->size);
        return;
    }
    if (bulk->map && chunk->hi - chunk->lo < chunk->size)
        tensor_fill(bulk->map, bytes, chunk->size);
    if (!find_inside(bulk, chunk, ACCESS_READ, &from))
        return; /* fill is not converted */
    const Machine *machine = bulk->warp->machine;
    host_load(machine, from.data, bytes + chunk->lo, chunk->hi - chunk->lo);
    if (from.defined)
        host_load(machine, from.defined, defined + chunk->lo, chunk->hi - chunk->lo);
    if (bulk->map)
        tensor_convert(bulk->map, bytes + chunk->lo, chunk->hi - chunk->lo);
}

static bool all_defined(const Machine *machine, const uint8_t *defined, uint32_t size) {
    uint8_t flags[8];
    if (!defined)
        return true;
    host_load(machine, defined, flags, size);
    for (uint32_t b = 0; b < size; b++)
        if (flags[b] != BYTE_DEFINED)
            return false;
    return true;
}

/* Tensors with .ftz flush what is added, and the sum. */
static uint64_t reduced(const BulkCopy *bulk, uint64_t old, uint64_t value) {
    return bulk->map && tensor_flushes(bulk->map->type)
               ? alu_atomic_ftz(bulk->reduction, old, value)
               : alu_atomic(bulk->reduction, bulk->type, old, value);
}

/* One element after another; memory that is read for a reduction must be defined. */
static void reduce_into(const BulkCopy *bulk, uint8_t *to, uint8_t *to_defined,
                        const uint8_t *bytes, const uint8_t *defined, uint32_t size) {
    const Machine *machine = bulk->warp->machine;
    uint32_t element = type_bytes(bulk->type);
    for (uint32_t at = 0; at < size; at += element) {
        uint64_t old = 0, value = 0, result;
        if ((to_defined && !all_defined(machine, to_defined + at, element)) ||
            !all_defined(machine, defined + at, element))
            report(bulk->warp, bulk->insn, bulk->lane, sim_undefined, "memory that a copy reduces");
        host_load(machine, to + at, &old, element);
        memcpy(&value, bytes + at, element);
        do
            result = reduced(bulk, old, value);
        while (!host_swap(machine, to + at, &old, result, element));
    }
    if (to_defined)
        host_fill(machine, to_defined, BYTE_DEFINED, size);
}

/* The copy no longer owns what it writes and reads in shared memory. */
static void release_shared(BulkCopy *bulk, const BulkChunk *chunk) {
    if (chunk->index < bulk->begun)
        proxy_write_end(bulk->warp, bulk->insn, bulk->owner, chunk->shared, chunk->size,
                        bulk->mbarrier);
    if (bulk->kind == BULK_PEER)
        proxy_read_end(bulk->warp, bulk->lane, bulk->source,
                       bulk->from + (chunk->shared - bulk->shared), chunk->size, bulk->number,
                       bulk->mbarrier);
}

/* Of a load that a finding stopped: what reads its bytes is not to be found, too. */
static void leave_load(BulkCopy *bulk, const BulkChunk *chunk) {
    memset(bulk->owner->shared_def + chunk->shared, BYTE_DEFINED, chunk->size);
    release_shared(bulk, chunk);
}

static void end_load(BulkCopy *bulk, const BulkChunk *chunk) {
    uint8_t bytes[BULK_UNIT], defined[BULK_UNIT];
    uint8_t *to = bulk->owner->shared + chunk->shared;
    uint8_t *to_defined = bulk->owner->shared_def + chunk->shared;
    read_chunk(bulk, chunk, bytes, defined);
    if (bulk->reduction) {
        reduce_into(bulk, to, to_defined, bytes, defined, chunk->size);
    } else {
        memcpy(to, bytes, chunk->size);
        memcpy(to_defined, defined, chunk->size);
    }
    release_shared(bulk, chunk);
}

void bulk_complete(BulkCopy *bulk) {
    bulk_walk(bulk, bulk->invalid ? leave_load : end_load);
    mbarrier_comes(bulk->mbarrier, bulk->time, insn_pc(bulk->warp, bulk->insn));
    mbarrier_complete_tx(bulk->mbarrier, bulk->warp, bulk->insn, bulk->lane, bulk->size);
}

/* Starts a copy that an mbarrier counts. */
static void bulk_start_load(const BulkCopy *bulk) {
    Warp *warp = bulk->warp;
    Mbarrier *mbarrier = bulk->mbarrier;
    BulkCopy *kept = ARENA_NEW(warp->machine->arena, BulkCopy);
    *kept = *bulk;
    kept->number = ++warp->machine->bulk_count;
    kept->time = timing_bulk(warp, bulk->size);
    if (!mbarrier->init_fenced && !clock_has_fenced(warp, bulk->lane, &mbarrier->init))
        report(warp, bulk->insn, bulk->lane, sim_mbarrier_unfenced, mbarrier->address);
    bulk_walk(kept, begin_load);
    mbarrier_queue(
        mbarrier, (Completion){.warp = warp, .insn = bulk->insn, .lane = bulk->lane, .bulk = kept});
}

/* The same copy into the program's own memory, or that of several. */
static void start_multicast(BulkCopy *bulk, uint32_t ranks, Cta *at, uint64_t mbarrier) {
    if (!ranks) {
        bulk->mbarrier = mbarrier_in(bulk->warp, bulk->insn, bulk->lane, at, mbarrier);
        if (bulk->mbarrier)
            bulk_start_load(bulk);
        return;
    }
    FOR_LANES(rank, ranks) {
        bulk->owner = cluster_peer(bulk->warp->cta, rank);
        bulk->mbarrier = mbarrier_in(bulk->warp, bulk->insn, bulk->lane, bulk->owner, mbarrier);
        if (bulk->mbarrier)
            bulk_start_load(bulk);
    }
}

static BulkCopy new_copy(Warp *warp, const Insn *insn, uint32_t lane, BulkKind kind) {
    bool reduces = insn_has(insn, WORD_reduce);
    return (BulkCopy){.warp = warp,
                      .insn = insn,
                      .lane = lane,
                      .kind = kind,
                      .reduction = reduces ? (Word)insn->field[FIELD_OPERATION] : WORD_none,
                      .type = (Type)insn->type[0],
                      .group = UINT32_MAX};
}

/* A generic address of global memory. */
static bool global_end(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand,
                       uint64_t *address) {
    *address = memory_address(warp, insn, operand, lane);
    return is_aligned(warp, insn, lane, *address, BULK_UNIT);
}

ExecResult exec_bulk_load(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = new_copy(warp, insn, lane, BULK_LOAD);
        Cta *at;
        uint64_t mbarrier;
        uint32_t ranks;
        if (read_size(warp, insn, lane, &insn->operand[2], &bulk.size) &&
            bulk_shared(warp, insn, lane, &insn->operand[0], bulk.size, BULK_UNIT, ACCESS_WRITE,
                        &bulk.owner, &bulk.shared) &&
            global_end(warp, insn, lane, &insn->operand[1], &bulk.global) &&
            bulk_mbarrier(warp, insn, lane, &insn->operand[3], &at, &mbarrier) &&
            bulk_multicast(warp, insn, lane, 4, &ranks))
            start_multicast(&bulk, ranks, at, mbarrier);
    }
    return EXEC_NEXT;
}

ExecResult exec_bulk_peer(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = new_copy(warp, insn, lane, BULK_PEER);
        Cta *at;
        uint64_t mbarrier;
        if (read_size(warp, insn, lane, &insn->operand[2], &bulk.size) &&
            bulk_shared(warp, insn, lane, &insn->operand[0], bulk.size, BULK_UNIT, ACCESS_WRITE,
                        &bulk.owner, &bulk.shared) &&
            bulk_shared(warp, insn, lane, &insn->operand[1], bulk.size, BULK_UNIT, ACCESS_READ,
                        &bulk.source, &bulk.from) &&
            bulk_mbarrier(warp, insn, lane, &insn->operand[3], &at, &mbarrier))
            start_multicast(&bulk, 0, at, mbarrier);
    }
    return EXEC_NEXT;
}

/* The bytes of shared memory that a box may touch: a swizzle moves chunks within its spans, each
 * a row of the box. */
static uint32_t tensor_span(const BulkCopy *bulk) {
    const TensorMap *map = bulk->map;
    uint32_t width = map->box[0] * tensor_type_bytes(map->type);
    uint64_t span = (uint64_t)bulk->size / width * tensor_row_pitch(map);
    return span < UINT32_MAX ? (uint32_t)span : UINT32_MAX;
}

ExecResult exec_tensor_load(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = new_copy(warp, insn, lane, BULK_LOAD);
        Cta *at;
        uint64_t mbarrier;
        uint32_t ranks;
        if (tensor_operand(&bulk, &insn->operand[1]) &&
            bulk_shared(warp, insn, lane, &insn->operand[0], tensor_span(&bulk), TENSOR_ALIGN,
                        ACCESS_WRITE, &bulk.owner, &bulk.shared) &&
            bulk_mbarrier(warp, insn, lane, &insn->operand[2], &at, &mbarrier) &&
            bulk_multicast(warp, insn, lane, 3, &ranks))
            start_multicast(&bulk, ranks, at, mbarrier);
    }
    return EXEC_NEXT;
}

/* Stores: from shared memory, in groups of the thread. */

static void begin_store(BulkCopy *bulk, const BulkChunk *chunk) {
    Target to;
    AccessKind kind = bulk->reduction ? ACCESS_ATOMIC : ACCESS_WRITE;
    if (bulk->invalid)
        return;
    bulk->invalid = !proxy_read_begin(bulk->warp, bulk->insn, bulk->lane, bulk->owner,
                                      chunk->shared, chunk->size, bulk->number);
    if (chunk->hi == chunk->lo)
        return;
    bulk->invalid |= !find_inside(bulk, chunk, kind, &to);
    if (!bulk->invalid)
        race_global_async(bulk->warp, bulk->insn, bulk->lane, &to, chunk->hi - chunk->lo, kind);
    count_chunk(bulk, chunk);
}

static void end_read(BulkCopy *bulk, const BulkChunk *chunk) {
    proxy_read_end(bulk->warp, bulk->lane, bulk->owner, chunk->shared, chunk->size, bulk->number,
                   NULL);
}

/* The bytes and, behind them, which are defined. */
static void read_store(BulkCopy *bulk, const BulkChunk *chunk) {
    uint8_t *bytes = bulk->bytes + (uint64_t)chunk->index * BULK_UNIT;
    memcpy(bytes, bulk->owner->shared + chunk->shared, chunk->size);
    memcpy(bytes + bulk->size, bulk->owner->shared_def + chunk->shared, chunk->size);
    for (uint32_t b = chunk->lo; b < chunk->hi; b++)
        if (bytes[bulk->size + b] != BYTE_DEFINED) {
            report(bulk->warp, bulk->insn, bulk->lane, sim_undefined, "the stored value");
            break;
        }
    end_read(bulk, chunk);
}

static void write_store(BulkCopy *bulk, const BulkChunk *chunk) {
    Target to;
    const uint8_t *bytes = bulk->bytes + (uint64_t)chunk->index * BULK_UNIT + chunk->lo;
    const uint8_t *defined = bytes + bulk->size;
    uint32_t size = chunk->hi - chunk->lo;
    if (!find_inside(bulk, chunk, ACCESS_WRITE, &to))
        return;
    if (bulk->reduction) {
        reduce_into(bulk, to.data, to.defined, bytes, defined, size);
    } else {
        const Machine *machine = bulk->warp->machine;
        host_store(machine, to.data, bytes, size);
        if (to.defined)
            host_store(machine, to.defined, defined, size);
    }
}

static void mark_written(BulkCopy *bulk, const BulkChunk *chunk) {
    Target to;
    if (find_inside(bulk, chunk, ACCESS_WRITE, &to))
        race_global_written(bulk->warp, &to, chunk->hi - chunk->lo);
}

static void store_read(BulkCopy *bulk) {
    if (bulk->has_read)
        return;
    bulk->has_read = true;
    if (bulk->invalid) {
        bulk_walk(bulk, end_read);
        return;
    }
    bulk->bytes = arena_alloc(bulk->warp->machine->arena, 2 * (size_t)bulk->size);
    bulk_walk(bulk, read_store);
    if (bulk->warp->machine->launch->early)
        bulk_walk(bulk, write_store);
}

static void store_write(BulkCopy *bulk) {
    store_read(bulk);
    if (bulk->invalid)
        return;
    if (!bulk->warp->machine->launch->early)
        bulk_walk(bulk, write_store);
    bulk_walk(bulk, mark_written);
}

/* Starts a copy that is counted in one of the thread's groups. */
static void bulk_start_store(const BulkCopy *bulk) {
    Warp *warp = bulk->warp;
    BulkCopy *kept = ARENA_NEW(warp->machine->arena, BulkCopy);
    *kept = *bulk;
    kept->number = ++warp->machine->bulk_count;
    bulk_walk(kept, begin_store);
    kept->next = warp->bulks;
    warp->bulks = kept;
}

ExecResult exec_bulk_store(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = new_copy(warp, insn, lane, BULK_STORE);
        if (read_size(warp, insn, lane, &insn->operand[2], &bulk.size) &&
            bulk_shared(warp, insn, lane, &insn->operand[1], bulk.size, BULK_UNIT, ACCESS_READ,
                        &bulk.owner, &bulk.shared) &&
            global_end(warp, insn, lane, &insn->operand[0], &bulk.global))
            bulk_start_store(&bulk);
    }
    return EXEC_NEXT;
}

/* What is wrong with a reduction of that type; NULL when nothing is. The hardware ends a launch
 * that combines the bits of .s64. */
static const char *bulk_reduction(Word operation, Type type) {
    bool bits = type_info[type].kind == KIND_BITS, fraction = type_info[type].kind == KIND_FLOAT;
    if (!fraction && type_info[type].bits < 32)
        return "integers have 32 or 64 bits";
    switch (operation) {
    case WORD_and:
    case WORD_or:
    case WORD_xor:
        return fraction || type == TYPE_s64 ? "and, or and xor take integers, but not .s64" : NULL;
    case WORD_inc:
    case WORD_dec:
        return type == TYPE_u32 ? NULL : "inc and dec take .u32";
    case WORD_min:
    case WORD_max:
        return bits || type == TYPE_f32 || type == TYPE_f64
                   ? "min and max take integers, .f16 and .bf16"
                   : NULL;
    default:
        return bits ? "add takes a type of numbers" : NULL;
    }
}

ExecResult exec_tensor_store(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = new_copy(warp, insn, lane, BULK_STORE);
        if (!tensor_operand(&bulk, &insn->operand[0]) ||
            !bulk_shared(warp, insn, lane, &insn->operand[1], tensor_span(&bulk), TENSOR_ALIGN,
                         ACCESS_READ, &bulk.owner, &bulk.shared))
            continue;
        bulk.type = tensor_type_number(bulk.map->type);
        const char *problem = bulk.reduction ? bulk_reduction(bulk.reduction, bulk.type) : NULL;
        if (problem)
            report(warp, insn, lane, sim_tensor_reduction, problem);
        else
            bulk_start_store(&bulk);
    }
    return EXEC_NEXT;
}

const char *check_bulk_reduction(const Insn *insn) {
    return bulk_reduction((Word)insn->field[FIELD_OPERATION], (Type)insn->type[0]);
}

/* Groups. */

ExecResult exec_bulk_commit(Warp *warp, const Insn *insn, uint32_t mask) {
    for (BulkCopy *bulk = warp->bulks; bulk; bulk = bulk->next)
        if (mask >> bulk->lane & 1 && bulk->group == UINT32_MAX)
            bulk->group = warp->bulk_groups[bulk->lane];
    FOR_LANES(lane, mask)
    warp->bulk_groups[lane]++;
    return EXEC_NEXT;
}

static bool is_covered(const Warp *warp, const BulkCopy *bulk, uint32_t mask, uint32_t keep) {
    return mask >> bulk->lane & 1 && bulk->group != UINT32_MAX &&
           warp->bulk_groups[bulk->lane] - bulk->group > keep;
}

/* The list is newest first: the oldest one is dealt with first. */
static BulkCopy *oldest_covered(Warp *warp, uint32_t mask, uint32_t keep, bool unread) {
    BulkCopy *found = NULL;
    for (BulkCopy *bulk = warp->bulks; bulk; bulk = bulk->next)
        if (is_covered(warp, bulk, mask, keep) && !(unread && bulk->has_read))
            found = bulk;
    return found;
}

static void unlink_store(Warp *warp, const BulkCopy *bulk) {
    BulkCopy **at = &warp->bulks;
    while (*at != bulk)
        at = &(*at)->next;
    *at = bulk->next;
}

ExecResult exec_bulk_wait(Warp *warp, const Insn *insn, uint32_t mask) {
    uint32_t keep = (uint32_t)insn->operand[0].offset;
    bool reads = insn_has(insn, WORD_read);
    BulkCopy *bulk;
    while ((bulk = oldest_covered(warp, mask, keep, reads)) && !warp->machine->stop) {
        if (reads) {
            store_read(bulk);
            continue;
        }
        store_write(bulk);
        unlink_store(warp, bulk);
    }
    return EXEC_NEXT;
}

ExecResult exec_bulk_prefetch(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        uint64_t address;
        uint32_t size;
        Target target;
        if (read_size(warp, insn, lane, &insn->operand[1], &size) &&
            global_end(warp, insn, lane, &insn->operand[0], &address))
            memory_find_global(warp, insn, lane, address, size, ACCESS_READ, &target);
    }
    return EXEC_NEXT;
}

/* What is under way when threads are gone. */

static void check_loads(const Cta *cta) {
    for (uint32_t i = 0; i < cta->mbarrier_count; i++) {
        const Mbarrier *mbarrier = cta->mbarriers.data[i];
        for (const Completion *one = mbarrier->first; one && mbarrier->live; one = one->next)
            if (one->bulk)
                report(one->warp, one->insn, one->lane, sim_bulk_exit, "writes");
    }
}

void bulk_warp_exit(Warp *warp) {
    const Cta *cta = warp->cta;
    bool any = false;
    while (warp->bulks && !warp->machine->stop) {
        BulkCopy *bulk = warp->bulks;
        while (bulk->next)
            bulk = bulk->next;
        if (!bulk->has_read)
            report(warp, bulk->insn, bulk->lane, sim_bulk_exit, "reads");
        store_write(bulk);
        unlink_store(warp, bulk);
    }
    for (uint32_t w = 0; w < cta->warp_count; w++)
        any |= cta->warps[w].alive != 0;
    if (!any)
        check_loads(cta);
}
