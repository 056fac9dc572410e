/* Tensor copies in tile mode: which bytes of a box lie where.
 *
 * The box lies in shared memory with its innermost dimension contiguous; a swizzle exchanges
 * 16-byte chunks by bits of their absolute address. Elements outside the tensor are filled when
 * loaded and left out when stored. */
#include "sim/exec/exec_tensor.h"

#include "sim/check/findings.h"
#include "sim/exec/bulk.h"
#include "sim/exec/memory.h"
#include "sim/parse/table.h"
#include "sim/state/host_memory.h"
#include "sim/state/warp.h"

/* Operands. */

/* The 128 bytes of a map; false after a finding. */
static bool read_map(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                     TensorMap *map) {
    Target target;
    uint64_t own = address;
    SpaceKind space = memory_resolve(&own);
    if (address % 64 || (space != SPACE_global && space != SPACE_param)) {
        report(warp, insn, lane, sim_tensor_address, address);
        return false;
    }
    bool found = space == SPACE_global
                     ? memory_find_global(warp, insn, lane, address, 128, ACCESS_READ, &target)
                     : memory_find_param(warp, insn, lane, own, 128, ACCESS_READ, &target);
    if (!found)
        return false;
    uint8_t bytes[128];
    host_load(warp->machine, target.data, bytes, sizeof bytes);
    if (!tensor_map_decode(bytes, map)) {
        report(warp, insn, lane, sim_tensor_none, address);
        return false;
    }
    const char *problem = tensor_map_problem(warp->machine->arena, map);
    if (problem)
        report(warp, insn, lane, sim_tensor_bad, address, problem);
    return !problem;
}

/* The same map is mostly read again. */
static const TensorMap *keep_map(Machine *machine, const TensorMap *map) {
    vec_for_each (at, &machine->tensor_maps)
        if (!memcmp(*at, map, sizeof *map))
            return *at;
    TensorMap *kept = ARENA_NEW(machine->arena, TensorMap);
    memcpy(kept, map, sizeof *map);
    vec_push(machine->arena, &machine->tensor_maps, kept);
    return kept;
}

bool tensor_operand(BulkCopy *bulk, const Operand *operand) {
    Warp *warp = bulk->warp;
    const Insn *insn = bulk->insn;
    TensorMap map;
    memset(&map, 0, sizeof map);
    if (!read_map(warp, insn, bulk->lane, memory_address(warp, insn, operand, bulk->lane), &map))
        return false;
    if (operand->count != map.rank) {
        report(warp, insn, bulk->lane, sim_tensor_rank, operand->count, map.rank);
        return false;
    }
    if (map.interleave != SIM_INTERLEAVE_NONE) {
        report(warp, insn, bulk->lane, sim_tensor_interleave);
        return false;
    }
    for (uint32_t i = 0; i < map.rank; i++) {
        const Reg *reg = reg_of(warp, operand->regs[i]);
        if (reg->def[bulk->lane] != DEFINED)
            report(warp, insn, bulk->lane, sim_undefined, "a coordinate");
        bulk->coordinates[i] = (int32_t)(uint32_t)reg->v[bulk->lane];
    }
    int64_t first = (int64_t)bulk->coordinates[0] * tensor_type_bytes(map.type);
    if (first % BULK_UNIT) {
        report(warp, insn, bulk->lane, sim_tensor_coordinate, bulk->coordinates[0], first);
        return false;
    }
    for (uint32_t i = 0; i < map.rank && bulk->kind == BULK_STORE; i++)
        if (bulk->coordinates[i] < 0) {
            report(warp, insn, bulk->lane, sim_tensor_negative, i, bulk->coordinates[i]);
            return false;
        }
    bulk->size = tensor_box_bytes(&map);
    bulk->map = keep_map(warp->machine, &map);
    return true;
}

/* Walking a box. */

static uint64_t swizzled(SimTensorSwizzle swizzle, uint64_t address) {
    static const uint64_t bits[] = {0, 0x10, 0x30, 0x70};
    return address ^ (address >> 3 & bits[swizzle]);
}

uint32_t tensor_row_pitch(const TensorMap *map) {
    return map->swizzle == SIM_SWIZZLE_NONE ? map->box[0] * tensor_type_bytes(map->type)
                                            : (uint32_t)BULK_UNIT << map->swizzle;
}

/* The bytes of a row of the box that lie inside the tensor: from *lo to *hi, and where its first
 * byte would lie. A store ends at units of 16 bytes: it writes the whole of that in which the
 * tensor's row ends. */
static uint64_t row_place(const BulkCopy *bulk, const uint32_t *at, uint32_t *lo, uint32_t *hi) {
    const TensorMap *map = bulk->map;
    uint32_t element = tensor_type_bytes(map->type), width = map->box[0] * element;
    int64_t first = bulk->coordinates[0], extent = (int64_t)map->dims[0];
    int64_t begin = first < 0 ? -first : 0, end = extent - first;
    uint64_t address = map->address + (uint64_t)first * element;
    *lo = begin * element > width ? width : (uint32_t)(begin * element);
    *hi = end <= 0 ? 0 : end * element > width ? width : (uint32_t)(end * element);
    if (bulk->kind == BULK_STORE)
        *hi = (*hi + BULK_UNIT - 1) / BULK_UNIT * BULK_UNIT;
    for (uint32_t i = 1; i < map->rank; i++) {
        int64_t index = (int64_t)bulk->coordinates[i] + (int64_t)at[i] * map->element_strides[i];
        if (index < 0 || index >= (int64_t)map->dims[i])
            *hi = 0;
        address += (uint64_t)index * map->strides[i];
    }
    if (*hi < *lo)
        *hi = *lo;
    return address;
}

static uint32_t within(uint32_t value, uint32_t begin) {
    return value <= begin ? 0 : value - begin < BULK_UNIT ? value - begin : BULK_UNIT;
}

void tensor_walk(BulkCopy *bulk, ChunkVisitor *visit) {
    const TensorMap *map = bulk->map;
    uint32_t at[MAX_DIMS] = {0}, row = 0;
    uint32_t width = map->box[0] * tensor_type_bytes(map->type), pitch = tensor_row_pitch(map);
    uint32_t rows = bulk->size / width;
    for (; row < rows; row++) {
        uint32_t lo, hi;
        uint64_t address = row_place(bulk, at, &lo, &hi);
        for (uint32_t x = 0; x < width; x += BULK_UNIT) {
            BulkChunk chunk = {.shared =
                                   swizzled(map->swizzle, bulk->shared + (uint64_t)row * pitch + x),
                               .size = BULK_UNIT,
                               .lo = within(lo, x),
                               .hi = within(hi, x),
                               .index = (row * width + x) / BULK_UNIT};
            chunk.global = address + x + chunk.lo;
            visit(bulk, &chunk);
        }
        for (uint32_t i = 1; i < map->rank && ++at[i] == tensor_box_elements(map, i); i++)
            at[i] = 0;
    }
}

/* Values. */

void tensor_fill(const TensorMap *map, uint8_t *bytes, uint32_t size) {
    /* Every 16 bits, of wider types too. */
    const uint16_t nan = 0x7ff7;
    for (uint32_t at = 0; at < size && map->fill == SIM_FILL_NAN; at += 2)
        memcpy(bytes + at, &nan, 2);
}

/* tf32 is rounded to 10 bits of fraction, ties to even. The types with .ftz load subnormal
 * numbers as they are. */
void tensor_convert(const TensorMap *map, uint8_t *bytes, uint32_t size) {
    if (map->type != SIM_TENSOR_TF32 && map->type != SIM_TENSOR_TF32_FTZ)
        return;
    for (uint32_t at = 0; at < size; at += 4) {
        uint32_t value;
        memcpy(&value, bytes + at, 4);
        if ((value & 0x7fffffff) > 0x7f800000)
            value = 0x7fffe000;
        else if ((value & 0x7f800000) != 0x7f800000)
            value = (value + 0xfff + (value >> 13 & 1)) & ~UINT32_C(0x1fff);
        memcpy(bytes + at, &value, 4);
    }
}

/* Prefetches touch nothing, but their operands must be right. */

ExecResult exec_tensor_prefetch(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        BulkCopy bulk = {.warp = warp, .insn = insn, .lane = lane};
        tensor_operand(&bulk, &insn->operand[0]);
    }
    return EXEC_NEXT;
}

ExecResult exec_map_prefetch(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask) {
        TensorMap map;
        uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
        if (insn_has(insn, WORD_param) && address < SIM_WINDOW)
            address += SIM_PARAM_BASE;
        read_map(warp, insn, lane, address, &map);
    }
    return EXEC_NEXT;
}
