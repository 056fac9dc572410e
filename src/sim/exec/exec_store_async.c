/* st.async and red.async: stores into shared memory of the cluster that an mbarrier counts.
 *
 * The store is carried out and its bytes counted at once, which the rules allow; who has not waited
 * at the mbarrier does not know of it, so that its access races. */
#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/check/races.h"
#include "sim/exec/alu.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/memory.h"
#include "sim/parse/table.h"
#include "sim/state/mbarrier_object.h"
#include "sim/state/program.h"

enum { MAX_VECTOR = 4 };

const char *check_red_async(const Insn *insn) {
    Type type = (Type)insn->type[0];
    switch ((Word)insn->field[FIELD_OPERATION]) {
    case WORD_inc:
    case WORD_dec:
        return type == TYPE_u32 ? NULL : "inc and dec take .u32";
    case WORD_min:
    case WORD_max:
        return type == TYPE_u32 || type == TYPE_s32 ? NULL : "min and max take .u32 or .s32";
    case WORD_add:
        return type != TYPE_b32 ? NULL : "arithmetic takes a type of numbers";
    default:
        return type == TYPE_b32 ? NULL : "and, or and xor take .b32";
    }
}

/* The mbarrier that counts a store, which lies in the program that is stored to. */
static Mbarrier *find_counter(Warp *warp, const Insn *insn, uint32_t lane, const Target *target) {
    uint64_t address = memory_address(warp, insn, &insn->operand[2], lane);
    Mbarrier *mbarrier = mbarrier_find(warp, insn, lane, SPACE_shared, address);
    if (!mbarrier || mbarrier->cta == target->cta)
        return mbarrier;
    report(warp, insn, lane, sim_store_mbarrier, target->cta->rank, mbarrier->cta->rank);
    return NULL;
}

static void write_element(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                          const Reg *value, uint32_t offset, uint32_t size) {
    Word operation = (Word)insn->field[FIELD_OPERATION];
    uint8_t *at = target->data + offset, *defined = target->defined + offset;
    uint64_t result = value->v[lane];
    for (uint32_t b = 0; operation && b < size; b++)
        if (defined[b] != BYTE_DEFINED)
            report(warp, insn, lane, sim_undefined, "the memory the atomic operation changes");
    if (operation) {
        uint64_t old = 0;
        memcpy(&old, at, size);
        result = alu_atomic(operation, (Type)insn->type[0], old, result);
    }
    memcpy(at, &result, size);
    for (uint32_t b = 0; b < size; b++)
        defined[b] = operation ? BYTE_DEFINED : (uint8_t)(value->def[lane] >> (8 * b));
}

static void store(Warp *warp, const Insn *insn, uint32_t lane) {
    const Operand *data = &insn->operand[1];
    uint32_t count = data->kind == OPERAND_VECTOR ? data->count : 1;
    uint32_t element = type_bytes((Type)insn->type[0]), size = element * count;
    bool reduces = insn->field[FIELD_OPERATION] != WORD_none;
    uint8_t bytes[MAX_VECTOR * 8];
    Target target;
    uint64_t address = memory_address(warp, insn, &insn->operand[0], lane);
    if (!memory_find(warp, insn, lane, SPACE_shared, address, size,
                     reduces ? ACCESS_ATOMIC : ACCESS_WRITE, &target))
        return;
    Mbarrier *mbarrier = find_counter(warp, insn, lane, &target);
    if (!mbarrier)
        return;
    for (uint32_t i = 0; i < count; i++) {
        RegRef ref = data->kind == OPERAND_VECTOR ? data->regs[i] : data->reg;
        memcpy(bytes + i * element, &reg_of(warp, ref)->v[lane], element);
    }
    race_shared(warp, insn, lane, target.cta, target.offset, size,
                reduces ? ACCESS_ATOMIC : ACCESS_WRITE, reduces ? NULL : bytes);
    for (uint32_t i = 0; i < count; i++) {
        RegRef ref = data->kind == OPERAND_VECTOR ? data->regs[i] : data->reg;
        write_element(warp, insn, lane, &target, reg_of(warp, ref), i * element, element);
    }
    clock_release(warp, 1u << lane, &mbarrier->arriving);
    mbarrier_complete_tx(mbarrier, warp, insn, lane, size);
}

ExecResult exec_store_async(Warp *warp, const Insn *insn, uint32_t mask) {
    FOR_LANES(lane, mask)
    store(warp, insn, lane);
    return EXEC_NEXT;
}
