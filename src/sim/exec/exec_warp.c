/* Threads of a warp among themselves: shfl, vote, match, redux, activemask, elect, bar.warp. */
#include "sim/check/clock.h"
#include "sim/check/findings.h"
#include "sim/exec/alu.h"
#include "sim/exec/known.h"
#include "sim/exec/splits.h"
#include "sim/parse/table.h"
#include "sim/state/warp.h"

/* What the threads of a .sync instruction that name the same members do together. */
typedef void Meeting(Warp *warp, const Insn *insn, uint32_t together);

/* All whom the threads name; false after a finding. */
static bool named_members(Warp *warp, const Insn *insn, uint32_t mask, const Reg *reg,
                          uint32_t *members) {
    *members = 0;
    if (!reg_require(warp, insn, reg, mask, "the member mask"))
        return false;
    FOR_LANES(lane, mask) {
        uint32_t own = (uint32_t)reg->v[lane];
        *members |= own;
        if (own >> lane & 1)
            continue;
        report(warp, insn, lane, sim_not_member, own);
        return false;
    }
    return true;
}

/* Waits for the members. Threads that execute the instruction together may name different ones, as
 * halves of a warp that keep to themselves do: each set meets alone. */
static ExecResult meet(Warp *warp, const Insn *insn, uint32_t mask, unsigned operand,
                       Meeting *meeting) {
    const Reg *reg = reg_of(warp, insn->operand[operand].reg);
    uint32_t members, together;
    if (!named_members(warp, insn, mask, reg, &members)) {
        meeting(warp, insn, mask);
        return EXEC_NEXT;
    }
    if (!split_gather(warp, insn, mask, members, &together))
        return EXEC_WAIT;
    for (uint32_t rest = together; rest;) {
        uint64_t first = reg->v[__builtin_ctz(rest)];
        uint32_t set = 0;
        FOR_LANES(lane, rest)
        set |= (uint32_t)(reg->v[lane] == first) << lane;
        rest &= ~set;
        meeting(warp, insn, set);
    }
    return EXEC_NEXT;
}

/* PTX ISA, shfl.sync: the lane read and whether it is within the segment. */
static bool source_lane(Word mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t *from) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31, bound = b & 31;
    uint32_t limit = (lane & segment) | (clamp & ~segment);
    uint32_t lowest = lane & segment;
    int32_t at;
    bool inside;
    switch (mode) {
    case WORD_up:
        at = (int32_t)lane - (int32_t)bound;
        inside = at >= (int32_t)limit;
        break;
    case WORD_down:
        at = (int32_t)(lane + bound);
        inside = at <= (int32_t)limit;
        break;
    case WORD_bfly:
        at = (int32_t)(lane ^ bound);
        inside = at <= (int32_t)limit;
        break;
    default:
        at = (int32_t)(lowest | (bound & ~segment));
        inside = at <= (int32_t)limit;
        break;
    }
    *from = inside ? (uint32_t)at : lane;
    return inside;
}

static void shfl(Warp *warp, const Insn *insn, uint32_t together) {
    const Reg source = *reg_of(warp, insn->operand[1].reg);
    const Reg *b = reg_of(warp, insn->operand[2].reg), *c = reg_of(warp, insn->operand[3].reg);
    uint64_t bv[LANES], cv[LANES];
    memcpy(bv, b->v, sizeof bv);
    memcpy(cv, c->v, sizeof cv);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Reg *flag = insn->operand[0].second == NO_REG ? NULL : reg_of(warp, insn->operand[0].second);
    Word mode = (Word)insn->field[FIELD_OPERATION];
    FOR_LANES(lane, together) {
        uint32_t from;
        bool inside = source_lane(mode, lane, (uint32_t)bv[lane], (uint32_t)cv[lane], &from);
        /* The value of a thread that does not execute the instruction is undefined. */
        dest->v[lane] = source.v[from];
        dest->def[lane] = together >> from & 1 ? source.def[from] : 0;
        if (flag) {
            flag->v[lane] = inside;
            flag->def[lane] = DEFINED;
        }
    }
}

ExecResult exec_shfl(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 4, shfl);
}

static void vote(Warp *warp, const Insn *insn, uint32_t together) {
    uint32_t yes = 0, known = 0;
    const Reg *p = reg_of(warp, insn->operand[1].reg);
    FOR_LANES(lane, together) {
        yes |= (uint32_t)predicate(&insn->operand[1], p, lane) << lane;
        known |= (uint32_t)(p->def[lane] == DEFINED) << lane;
    }
    bool all_known = known == together;
    Bits value = {yes, ~(uint64_t)(together & ~known)};
    switch ((Word)insn->field[FIELD_OPERATION]) {
    case WORD_all:
        value = (Bits){yes == together, all_known || (known & ~yes) ? DEFINED : 0};
        break;
    case WORD_any:
        value = (Bits){yes != 0, all_known || (known & yes) ? DEFINED : 0};
        break;
    case WORD_uni:
        value = (Bits){yes == 0 || yes == together,
                       all_known || ((known & yes) && (known & ~yes)) ? DEFINED : 0};
        break;
    default:
        break;
    }
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, together) {
        dest->v[lane] = value.value;
        dest->def[lane] = value.known;
    }
}

ExecResult exec_vote(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 2, vote);
}

static void match(Warp *warp, const Insn *insn, uint32_t together) {
    const Reg source = *reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Reg *flag = insn->operand[0].second == NO_REG ? NULL : reg_of(warp, insn->operand[0].second);
    bool all = insn_has(insn, WORD_all);
    FOR_LANES(lane, together) {
        uint32_t same = 0;
        uint64_t defined = DEFINED;
        FOR_LANES(other, together) {
            same |= (uint32_t)(source.v[other] == source.v[lane]) << other;
            defined &= source.def[other];
        }
        dest->v[lane] = all && same != together ? 0 : same;
        dest->def[lane] = defined == DEFINED ? DEFINED : 0;
        if (flag) {
            flag->v[lane] = same == together;
            flag->def[lane] = dest->def[lane];
        }
    }
}

ExecResult exec_match(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 2, match);
}

/* redux.f32: |a| with .abs; NaN loses unless .NaN. */
static uint64_t reduce_float(const Insn *insn, uint64_t a, uint64_t b) {
    if (insn_has(insn, WORD_NaN) && (f32_from(a) != f32_from(a) || f32_from(b) != f32_from(b)))
        return F32_NAN;
    return alu_atomic((Word)insn->field[FIELD_OPERATION], TYPE_f32, a, b);
}

static void redux(Warp *warp, const Insn *insn, uint32_t together) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    bool is_float = insn->type[0] == TYPE_f32, first = true;
    uint64_t value = 0, defined = DEFINED;
    FOR_LANES(lane, together) {
        uint64_t own = source->v[lane];
        if (is_float && insn_has(insn, WORD_abs))
            own &= 0x7fffffff;
        if (first)
            value = own;
        else if (is_float)
            value = reduce_float(insn, value, own);
        else
            value = alu_atomic((Word)insn->field[FIELD_OPERATION], (Type)insn->type[0], value, own);
        first = false;
        defined &= source->def[lane];
    }
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, together) {
        dest->v[lane] = value;
        dest->def[lane] = defined == DEFINED ? DEFINED : 0;
    }
}

ExecResult exec_redux(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 2, redux);
}

ExecResult exec_activemask(Warp *warp, const Insn *insn, uint32_t mask) {
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        dest->v[lane] = mask;
        dest->def[lane] = DEFINED;
    }
    return EXEC_NEXT;
}

/* The lowest thread of the mask leads. */
static void elect(Warp *warp, const Insn *insn, uint32_t together) {
    uint32_t leader = (uint32_t)__builtin_ctz(together);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Reg *flag = insn->operand[0].second == NO_REG ? NULL : reg_of(warp, insn->operand[0].second);
    FOR_LANES(lane, together) {
        dest->v[lane] = leader;
        dest->def[lane] = DEFINED;
        if (flag) {
            flag->v[lane] = lane == leader;
            flag->def[lane] = DEFINED;
        }
    }
}

ExecResult exec_elect(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 1, elect);
}

static void warp_barrier(Warp *warp, const Insn *insn, uint32_t together) {
    clock_meet(warp, together);
}

ExecResult exec_warp_barrier(Warp *warp, const Insn *insn, uint32_t mask) {
    return meet(warp, insn, mask, 0, warp_barrier);
}
