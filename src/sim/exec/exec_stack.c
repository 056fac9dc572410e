/* The stack that alloca grows: a region of each thread's local memory above all frames. What a
 * function allocates is gone when it returns; stacksave and stackrestore give it back before. */
#include "sim/exec/exec_stack.h"

#include "sim/check/findings.h"
#include "sim/parse/table.h"
#include "sim/state/warp.h"

enum { STACK_LIMIT = 1 << 17, STACK_ALIGN = 8 };

/* Room for `bytes` of every lane. */
static void grow(Warp *warp, uint64_t bytes) {
    Stack *stack = &warp->stack;
    Arena *arena = warp->machine->arena;
    uint64_t size = stack->size ? stack->size : 1024;
    if (bytes <= stack->size)
        return;
    while (size < bytes)
        size *= 2;
    uint8_t *data = arena_alloc(arena, size * LANES), *defined = arena_alloc(arena, size * LANES);
    for (uint32_t lane = 0; lane < LANES && stack->size; lane++) {
        memcpy(data + lane * size, stack->data + lane * stack->size, stack->size);
        memcpy(defined + lane * size, stack->defined + lane * stack->size, stack->size);
    }
    stack->data = data;
    stack->defined = defined;
    stack->size = size;
}

/* Where the lane's stack was when the frame first allocated of it. */
static void note_begin(Warp *warp, Frame *frame, uint32_t lane) {
    if (!frame->stack_begin) {
        frame->stack_begin = ARENA_ARRAY(warp->machine->arena, uint32_t, LANES);
        for (uint32_t i = 0; i < LANES; i++)
            frame->stack_begin[i] = UINT32_MAX;
    }
    if (frame->stack_begin[lane] == UINT32_MAX)
        frame->stack_begin[lane] = warp->stack.used[lane];
}

ExecResult exec_alloca(Warp *warp, const Insn *insn, uint32_t mask) {
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    const Reg *size = reg_of(warp, insn->operand[1].reg);
    int64_t asked = insn->operand[2].kind == OPERAND_NUMBER ? insn->operand[2].offset : STACK_ALIGN;
    uint64_t align = asked < STACK_ALIGN ? STACK_ALIGN : (uint64_t)asked;
    if (!reg_require(warp, insn, size, mask, "the size of an allocation"))
        return EXEC_NEXT;
    FOR_LANES(lane, mask) {
        uint64_t bytes = size->v[lane],
                 begin = (warp->stack.used[lane] + align - 1) / align * align;
        if (bytes > STACK_LIMIT || begin + bytes > STACK_LIMIT) {
            report(warp, insn, lane, sim_stack, bytes, warp->stack.used[lane], (int)STACK_LIMIT);
            continue;
        }
        note_begin(warp, warp->current->frame, lane);
        grow(warp, begin + bytes);
        if (bytes)
            memset(warp->stack.defined + lane * warp->stack.size + begin, 0, bytes);
        warp->stack.used[lane] = (uint32_t)(begin + bytes);
        dest->v[lane] = SIM_STACK_START + begin;
        dest->def[lane] = DEFINED;
    }
    return EXEC_NEXT;
}

ExecResult exec_stacksave(Warp *warp, const Insn *insn, uint32_t mask) {
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = SIM_STACK_START + warp->stack.used[lane];
        dest->def[lane] = DEFINED;
    }
    return EXEC_NEXT;
}

ExecResult exec_stackrestore(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *saved = reg_of(warp, insn->operand[0].reg);
    if (!reg_require(warp, insn, saved, mask, "the stack to restore"))
        return EXEC_NEXT;
    FOR_LANES(lane, mask) {
        uint64_t used = saved->v[lane] - SIM_STACK_START;
        if (saved->v[lane] < SIM_STACK_START || used > warp->stack.used[lane])
            report(warp, insn, lane, sim_stack_restore, saved->v[lane]);
        else
            warp->stack.used[lane] = (uint32_t)used;
    }
    return EXEC_NEXT;
}

void stack_leave(Warp *warp, const Frame *frame, uint32_t mask) {
    if (frame->stack_begin)
        FOR_LANES(lane, mask)
    if (frame->stack_begin[lane] != UINT32_MAX)
        warp->stack.used[lane] = frame->stack_begin[lane];
}
