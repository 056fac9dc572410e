/* atom and red: threads one after another in the order of lanes. */
#include "sim/check/findings.h"
#include "sim/check/flags.h"
#include "sim/check/publish.h"
#include "sim/check/races.h"
#include "sim/check/races_global.h"
#include "sim/exec/alu.h"
#include "sim/exec/known.h"
#include "sim/exec/memory.h"
#include "sim/exec/shared_accesses.h"
#include "sim/parse/table.h"
#include "sim/state/host_memory.h"
#include "sim/state/program.h"
#include "sim/state/team.h"

#include <math.h>

enum { MOST_ELEMENTS = 8 };

static bool has_result(const Insn *insn) {
    return insn->row->name[0] == 'a';
}

/* What each type may do, beyond what rows say. */
const char *check_atomic(const Insn *insn) {
    Type type = (Type)insn->type[0];
    Word operation = (Word)insn->field[FIELD_OPERATION];
    bool bits = type_info[type].kind == KIND_BITS,
         fraction = !bits && type_info[type].kind >= KIND_FLOAT;
    bool logic = operation == WORD_and || operation == WORD_or || operation == WORD_xor ||
                 operation == WORD_exch;
    if (operation == WORD_cas)
        return NULL;
    if (logic)
        return bits || operation == WORD_exch ? NULL : "and, or and xor take .b32 or .b64";
    if (bits)
        return "arithmetic takes a type of numbers";
    if ((operation == WORD_inc || operation == WORD_dec) && type != TYPE_u32)
        return "inc and dec take .u32";
    Word vector = (Word)insn->field[FIELD_VECTOR];
    if (fraction && operation != WORD_add && !vector)
        return "floating-point atomics add";
    if (vector == WORD_v8 && type_info[type].bits != 16)
        return ".v8 takes .f16 or .bf16";
    return NULL;
}

/* On global memory single-precision adds flush subnormal numbers (PTX ISA, atom). Shared memory has
 * no adder for f64: the add of threads makes a NaN quiet. */
static uint64_t combine(const Insn *insn, const Target *target, uint64_t old, uint64_t value) {
    Type type = (Type)insn->type[0];
    Word operation = (Word)insn->field[FIELD_OPERATION];
    bool adds = operation == WORD_add;
    if (adds && type == TYPE_f32 && target->space == SPACE_global)
        return alu_atomic_ftz(operation, old, value);
    uint64_t result = alu_atomic(operation, type, old, value);
    bool by_threads = adds && type == TYPE_f64 && target->space == SPACE_shared;
    return by_threads && isnan(f64_from(result)) ? result | F64_QUIET : result;
}

/* Which bits of memory, and all behind them, are defined. */
static uint64_t known_bits(const Machine *machine, const uint8_t *defined, uint32_t size) {
    uint64_t known = DEFINED;
    host_load(machine, defined, &known, size);
    return known;
}

/* One element of one thread. */
static void update(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                   unsigned index, Bits value, const Reg *swap, Reg *dest) {
    uint32_t size = type_bytes((Type)insn->type[0]);
    uint8_t *bytes = target->data + index * size;
    uint64_t old = 0, result;
    uint64_t known = DEFINED;
    host_load(warp->machine, bytes, &old, size);
    if (value.known != DEFINED || (swap && swap->def[lane] != DEFINED))
        report(warp, insn, lane, sim_undefined, "an operand of the atomic operation");
    if (target->defined)
        known = known_bits(warp->machine, target->defined + index * size, size);
    if (known != DEFINED && !insn_has(insn, WORD_exch))
        report(warp, insn, lane, sim_undefined, "the memory the atomic operation changes");
    do {
        if (swap)
            result = old == value.value ? swap->v[lane] : old;
        else
            result = combine(insn, target, old, value.value);
    } while (!host_swap(warp->machine, bytes, &old, result, size));
    if (target->defined)
        host_fill(warp->machine, target->defined + index * size, BYTE_DEFINED, size);
    if (dest) {
        dest->v[lane] = old;
        dest->def[lane] = known;
    }
}

static RegRef piece(const Operand *operand, unsigned index) {
    return operand->kind == OPERAND_VECTOR ? operand->regs[index] : operand->reg;
}

static void count(Warp *warp, const Insn *insn, const Target *target, uint64_t *addresses,
                  uint32_t mask, uint32_t size) {
    InsnCounts *counts = &warp->machine->counts->insns[insn_pc(warp, insn)];
    if (!mask)
        return;
    if (target->space == SPACE_global)
        count_global(counts, addresses, mask, size);
    else
        count_shared_of(warp, insn, addresses, mask, size, SHARED_WRITE);
}

/* Finds what a thread changes, and checks what it races with. */
static bool find_changed(Warp *warp, const Insn *insn, const Operand *address, uint32_t lane,
                         uint32_t size, Target *target) {
    uint64_t at = memory_address(warp, insn, address, lane);
    if (!memory_find(warp, insn, lane, insn_space(insn), at, size, ACCESS_ATOMIC, target))
        return false;
    if (target->space == SPACE_shared) {
        race_shared(warp, insn, lane, target->cta, target->offset, size, ACCESS_ATOMIC, NULL);
        flag_read(warp, insn, lane, target);
        flag_write(warp, insn, lane, target);
    } else if (target->space == SPACE_global)
        race_global(warp, insn, lane, target, size, ACCESS_ATOMIC, true, NULL);
    return true;
}

static uint64_t counted_address(const Target *target) {
    return target->allocation ? target->allocation->base + target->offset : target->offset;
}

static void begin_order(Warp *warp, const Insn *insn, uint32_t mask) {
    warp_polls(warp, insn);
    warp->cta->cluster->events++;
    if (insn_has(insn, WORD_release) || insn_has(insn, WORD_acq_rel))
        race_release(warp, insn, mask);
}

static void end_order(Warp *warp, const Insn *insn, uint32_t mask) {
    if (insn_has(insn, WORD_acquire) || insn_has(insn, WORD_acq_rel))
        race_acquire(warp, insn, mask);
}

ExecResult exec_atom(Warp *warp, const Insn *insn, uint32_t mask) {
    unsigned first = has_result(insn) ? 1 : 0;
    const Operand *address = &insn->operand[first], *value = &insn->operand[first + 1];
    const Operand *swap = insn_has(insn, WORD_cas) ? &insn->operand[first + 2] : NULL;
    unsigned elements = value->kind == OPERAND_VECTOR ? value->count : 1;
    uint32_t size = type_bytes((Type)insn->type[0]) * elements, found = 0;
    uint64_t addresses[LANES] = {0};
    Target target = {0};
    Bits values[MOST_ELEMENTS];
    begin_order(warp, insn, mask);
    FOR_LANES(lane, mask) {
        if (!find_changed(warp, insn, address, lane, size, &target))
            continue;
        addresses[lane] = counted_address(&target);
        found |= 1u << lane;
        /* All before the first result, which may go where the second value comes from. */
        for (unsigned i = 0; i < elements; i++)
            values[i] = bits_of(reg_of(warp, piece(value, i)), lane);
        for (unsigned i = 0; i < elements; i++)
            update(warp, insn, lane, &target, i, values[i], swap ? reg_of(warp, swap->reg) : NULL,
                   first ? reg_of(warp, piece(&insn->operand[0], i)) : NULL);
    }
    count(warp, insn, &target, addresses, found, size);
    end_order(warp, insn, mask);
    return EXEC_NEXT;
}

const char *check_atom_wide(const Insn *insn) {
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (i != 1 && insn->operand[i].bits != 128)
            return "an atomic operation of .b128 takes registers of 128 bits";
    return NULL;
}

/* The two registers that hold 128 bits of a lane. */
static bool read_wide(Warp *warp, const Insn *insn, const Operand *operand, uint32_t lane,
                      uint64_t value[2]) {
    bool defined = true;
    for (unsigned i = 0; i < 2; i++) {
        const Reg *reg = reg_of(warp, operand->reg + i);
        value[i] = reg->v[lane];
        defined &= reg->def[lane] == DEFINED;
    }
    if (!defined)
        report(warp, insn, lane, sim_undefined, "an operand of the atomic operation");
    return defined;
}

static void update_wide(Warp *warp, const Insn *insn, uint32_t lane, const Target *target) {
    uint64_t old[2], value[2], swap[2];
    uint64_t known[2] = {DEFINED, DEFINED};
    bool compares = insn_has(insn, WORD_cas);
    host_load(warp->machine, target->data, old, sizeof old);
    for (unsigned i = 0; i < 2 && target->defined; i++)
        known[i] = known_bits(warp->machine, target->defined + 8 * i, 8);
    if (compares && (known[0] & known[1]) != DEFINED)
        report(warp, insn, lane, sim_undefined, "the memory the atomic operation changes");
    read_wide(warp, insn, &insn->operand[2], lane, value);
    if (compares && !memcmp(old, value, sizeof old))
        read_wide(warp, insn, &insn->operand[3], lane, swap);
    else
        memcpy(swap, compares ? old : value, sizeof swap);
    host_store(warp->machine, target->data, swap, sizeof swap);
    if (target->defined)
        host_fill(warp->machine, target->defined, BYTE_DEFINED, sizeof swap);
    for (unsigned i = 0; i < 2; i++) {
        Reg *dest = reg_of(warp, insn->operand[0].reg + i);
        dest->v[lane] = old[i];
        dest->def[lane] = known[i];
    }
}

ExecResult exec_atom_wide(Warp *warp, const Insn *insn, uint32_t mask) {
    uint32_t size = type_bytes(TYPE_b128), found = 0;
    uint64_t addresses[LANES] = {0};
    Target target = {0};
    begin_order(warp, insn, mask);
    FOR_LANES(lane, mask) {
        if (!find_changed(warp, insn, &insn->operand[1], lane, size, &target))
            continue;
        addresses[lane] = counted_address(&target);
        found |= 1u << lane;
        /* No host has this: those of 128 bits exclude each other. */
        if (warp->machine->team)
            team_lock_order(warp->machine);
        update_wide(warp, insn, lane, &target);
        if (warp->machine->team)
            team_unlock_order(warp->machine);
    }
    count(warp, insn, &target, addresses, found, size);
    end_order(warp, insn, mask);
    return EXEC_NEXT;
}
