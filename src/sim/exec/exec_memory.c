/* ld, ldu, st: each thread's bytes, then what the warp's access costs and what it races with. */
#include "sim/check/findings.h"
#include "sim/check/flags.h"
#include "sim/check/publish.h"
#include "sim/check/races.h"
#include "sim/check/races_global.h"
#include "sim/exec/alu.h"
#include "sim/exec/memory.h"
#include "sim/exec/shared_accesses.h"
#include "sim/parse/table.h"
#include "sim/state/host_memory.h"
#include "sim/state/program.h"

static const Operand *address_operand(const Insn *insn) {
    return insn->operand[0].kind == OPERAND_ADDRESS ? &insn->operand[0] : &insn->operand[1];
}

static const Operand *data_operand(const Insn *insn) {
    return insn->operand[0].kind == OPERAND_ADDRESS ? &insn->operand[1] : &insn->operand[0];
}

static unsigned vector_length(const Insn *insn) {
    switch ((Word)insn->field[FIELD_VECTOR]) {
    case WORD_v2:
        return 2;
    case WORD_v4:
        return 4;
    case WORD_v8:
        return 8;
    default:
        return 1;
    }
}

const char *check_memory(const Insn *insn) {
    unsigned bytes = vector_length(insn) * type_bytes((Type)insn->type[0]);
    const Operand *data = data_operand(insn);
    if (bytes > 32)
        return "an access has at most 32 bytes";
    if (vector_length(insn) == 8 && type_bytes((Type)insn->type[0]) != 4)
        return ".v8 takes a type of 32 bits";
    if (insn->type[0] == TYPE_b128 && (data->kind == OPERAND_VECTOR || data->bits != 128))
        return "an access of .b128 takes one register of 128 bits";
    bool writes = insn->operand[0].kind == OPERAND_ADDRESS;
    SpaceKind space = insn_space(insn);
    if (bytes > 16 && space != SPACE_global && space != SPACE_generic)
        return "an access of 256 bits is to .global memory";
    if (writes &&
        (space == SPACE_const || (space == SPACE_param && !address_operand(insn)->in_frame)))
        return "this state space cannot be written";
    return NULL;
}

/* The space an access names; parameters of device functions and calls lie in the frame's local
 * memory. */
static SpaceKind access_space(const Insn *insn) {
    SpaceKind space = insn_space(insn);
    return space == SPACE_param && address_operand(insn)->in_frame ? SPACE_local : space;
}

static RegRef element_reg(const Operand *data, unsigned index) {
    return data->kind == OPERAND_VECTOR ? data->regs[index] : data->reg + index;
}

static void load_element(const Insn *insn, Reg *reg, uint32_t lane, const uint8_t *bytes,
                         const uint8_t *defined, uint32_t size, unsigned reg_bits) {
    uint64_t value = 0;
    memcpy(&value, bytes, size);
    uint64_t known = DEFINED;
    if (defined)
        memcpy(&known, defined, size);
    bool with_sign = type_info[insn->type[0]].kind == KIND_SINT;
    if (with_sign) {
        if (!(known >> (size * 8 - 1) & 1))
            known &= bits_mask(size * 8);
        value = (uint64_t)sign_extend(value, size * 8) & bits_mask(reg_bits);
    }
    reg->v[lane] = value;
    reg->def[lane] = known;
}

static bool is_strong(const Insn *insn) {
    switch ((Word)insn->field[FIELD_SEMANTICS]) {
    case WORD_none:
    case WORD_weak:
        return false;
    default:
        return true;
    }
}

/* Counts the access under the space it went to. */
static void count_access(Warp *warp, const Insn *insn, SpaceKind space, const uint64_t *addresses,
                         uint32_t mask, uint32_t size, SharedUse use) {
    InsnCounts *counts = &warp->machine->counts->insns[insn_pc(warp, insn)];
    if (!mask)
        return;
    if (space == SPACE_global)
        count_global(counts, addresses, mask, size);
    else if (space == SPACE_shared)
        count_shared_of(warp, insn, addresses, mask, size, use);
}

/* What the threads of one access found, for counting by space. */
typedef struct Touched {
    uint64_t addresses[LANES];
    uint32_t global, shared;
} Touched;

static void touch(Touched *touched, const Target *target, uint32_t lane) {
    bool global = target->space == SPACE_global;
    touched->addresses[lane] = global ? target->allocation->base + target->offset : target->offset;
    touched->global |= (uint32_t)global << lane;
    touched->shared |= (uint32_t)(target->space == SPACE_shared) << lane;
}

static void count_touched(Warp *warp, const Insn *insn, const Touched *touched, uint32_t size,
                          SharedUse use) {
    count_access(warp, insn, SPACE_global, touched->addresses, touched->global, size, use);
    count_access(warp, insn, SPACE_shared, touched->addresses, touched->shared, size, use);
}

static void check_race(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t size, AccessKind kind, const uint8_t *value) {
    /* Strong accesses of shared memory are how threads signal each other: they race with nothing
     * that is strong. */
    if (target->space == SPACE_shared && !(is_strong(insn) && kind == ACCESS_READ))
        race_shared(warp, insn, lane, target->cta, target->offset, size,
                    is_strong(insn) ? ACCESS_ATOMIC : kind, value);
    if (target->space == SPACE_shared && is_strong(insn))
        (kind == ACCESS_READ ? flag_read : flag_write)(warp, insn, lane, target);
    else if (target->space == SPACE_global)
        race_global(warp, insn, lane, target, size, kind, is_strong(insn), value);
}

ExecResult exec_ld(Warp *warp, const Insn *insn, uint32_t mask) {
    const Operand *data = data_operand(insn), *address = address_operand(insn);
    uint32_t element = type_bytes((Type)insn->type[0]), size = element * vector_length(insn);
    SpaceKind space = access_space(insn);
    Touched touched = {.global = 0};
    bool wide = element == 16;
    uint32_t piece = wide ? 8 : element;
    FOR_LANES(lane, mask) {
        Target target;
        uint64_t at = memory_address(warp, insn, address, lane);
        static const uint8_t zeros[32];
        const uint8_t *bytes = zeros, *defined = NULL;
        uint8_t own_bytes[32], own_defined[32];
        if (memory_find(warp, insn, lane, space, at, size, ACCESS_READ, &target)) {
            bytes = target.data;
            defined = target.defined;
            if (warp->machine->team && target.space == SPACE_global) {
                host_load(warp->machine, target.data, own_bytes, size);
                bytes = own_bytes;
            }
            if (bytes == own_bytes && target.defined) {
                host_load(warp->machine, target.defined, own_defined, size);
                defined = own_defined;
            }
            touch(&touched, &target, lane);
            check_race(warp, insn, lane, &target, size, ACCESS_READ, NULL);
        }
        for (unsigned i = 0; i < size / piece; i++)
            load_element(insn, reg_of(warp, element_reg(data, i)), lane, bytes + i * piece,
                         defined ? defined + i * piece : NULL, piece,
                         data->bits > 64 ? 64 : data->bits);
    }
    count_touched(warp, insn, &touched, size, SHARED_READ);
    if (is_strong(insn))
        warp_polls(warp, insn);
    if (insn_has(insn, WORD_acquire))
        race_acquire(warp, insn, mask);
    return EXEC_NEXT;
}

/* The bytes a thread stores and which of their bits are defined; true when all are. */
static bool store_bytes(Warp *warp, const Insn *insn, const Operand *data, uint32_t lane,
                        uint32_t size, uint8_t *bytes, uint8_t *defined) {
    uint32_t element = type_bytes((Type)insn->type[0]), piece = element == 16 ? 8 : element;
    bool all = true;
    for (unsigned i = 0; i < size / piece; i++) {
        const Reg *reg = reg_of(warp, element_reg(data, i));
        memcpy(bytes + i * piece, &reg->v[lane], piece);
        memcpy(defined + i * piece, &reg->def[lane], piece);
        all &= !(~reg->def[lane] & bits_mask(piece * 8));
    }
    return all;
}

ExecResult exec_st(Warp *warp, const Insn *insn, uint32_t mask) {
    const Operand *data = data_operand(insn), *address = address_operand(insn);
    uint32_t size = type_bytes((Type)insn->type[0]) * vector_length(insn);
    SpaceKind space = access_space(insn);
    Touched touched = {.global = 0};
    warp->cta->cluster->events++;
    if (insn_has(insn, WORD_release))
        race_release(warp, insn, mask);
    FOR_LANES(lane, mask) {
        Target target;
        uint8_t bytes[32], defined[32];
        uint64_t at = memory_address(warp, insn, address, lane);
        if (!memory_find(warp, insn, lane, space, at, size, ACCESS_WRITE, &target))
            continue;
        bool all = store_bytes(warp, insn, data, lane, size, bytes, defined);
        if (!all && target.space == SPACE_global)
            report(warp, insn, lane, sim_undefined, "the stored value");
        touch(&touched, &target, lane);
        check_race(warp, insn, lane, &target, size, ACCESS_WRITE, bytes);
        host_store(warp->machine, target.data, bytes, size);
        if (target.defined)
            host_store(warp->machine, target.defined, defined, size);
    }
    count_touched(warp, insn, &touched, size, SHARED_WRITE);
    return EXEC_NEXT;
}

static bool in_window(uint64_t address, uint64_t base) {
    return address >= base && address - base < SIM_WINDOW;
}

/* PTX ISA, isspacep: the window of a kernel's parameters lies in that of global memory; a .const
 * variable's does not. */
static bool in_space(Machine *machine, Word space, uint64_t address) {
    switch (space) {
    case WORD_local:
        return in_window(address, SIM_LOCAL_BASE);
    case WORD_param:
    case WORD_param_entry:
        return in_window(address, SIM_PARAM_BASE);
    case WORD_const:
        return memory_is_const(machine, address);
    default:
        return !in_window(address, SIM_LOCAL_BASE) && !in_window(address, SIM_SHARED_BASE) &&
               !memory_is_const(machine, address);
    }
}

ExecResult exec_isspacep(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = in_space(warp->machine, (Word)insn->field[FIELD_SPACE], source->v[lane]);
        dest->def[lane] = source->def[lane] == DEFINED ? DEFINED : 0;
    }
    return EXEC_NEXT;
}
