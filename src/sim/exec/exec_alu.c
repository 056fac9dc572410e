/* Executors of arithmetic: the scalar meaning of each thread, and definedness.
 *
 * A bit of a result is defined when it is the same whatever the undefined bits of the sources are,
 * as far as that is easily told (known.c).
 */
#include "sim/exec/alu.h"
#include "sim/exec/known.h"
#include "sim/parse/table.h"
#include "sim/state/warp.h"

/* The definedness of a result of which not all sources are defined. */
static uint64_t known_result(const Insn *insn, const uint64_t *x, const Reg *const *sources,
                             unsigned count, uint32_t lane) {
    uint64_t known[MAX_OPERANDS] = {0};
    if (!insn->row->known)
        return 0;
    for (unsigned i = 0; i < count; i++)
        known[i] = sources[i]->def[lane];
    return insn->row->known(insn, x, known);
}

ExecResult exec_scalar(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *sources[MAX_OPERANDS];
    unsigned count = 0;
    for (unsigned i = 1; i < insn->operand_count; i++)
        if (insn->operand[i].kind == OPERAND_REG)
            sources[count++] = reg_of(warp, insn->operand[i].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Scalar *scalar = insn->row->scalar;
    FOR_LANES(lane, mask) {
        uint64_t x[MAX_OPERANDS] = {0}, defined = DEFINED;
        for (unsigned i = 0; i < count; i++) {
            x[i] = sources[i]->v[lane];
            defined &= sources[i]->def[lane];
        }
        uint64_t result = scalar(insn, x);
        dest->def[lane] =
            defined == DEFINED ? DEFINED : known_result(insn, x, sources, count, lane);
        dest->v[lane] = result;
    }
    return EXEC_NEXT;
}

/* add.cc, addc, sub.cc, subc, mad.cc, madc: the carry is a register of the frame. */
static uint64_t with_carry(const Insn *insn, const uint64_t *x, uint64_t *carry) {
    unsigned bits = type_info[insn->type[0]].bits;
    const char *name = insn->row->name;
    bool takes = name[3] == 'c', subtracts = name[0] == 's', multiplies = name[0] == 'm';
    unsigned __int128 a = x[0], b = x[1], in = takes ? *carry : 0;
    if (multiplies) {
        a = alu_mul(insn, x);
        b = x[2];
    }
    unsigned __int128 sum = subtracts ? a - b - in : a + b + in;
    if (insn_has(insn, WORD_cc))
        *carry = (uint64_t)(sum >> bits) & 1;
    return low_bits((uint64_t)sum, bits);
}

ExecResult exec_carry(Warp *warp, const Insn *insn, uint32_t mask) {
    Reg *carry = reg_of(warp, REG_CARRY), *dest = reg_of(warp, insn->operand[0].reg);
    bool takes = insn->row->name[3] == 'c', gives = insn_has(insn, WORD_cc);
    FOR_LANES(lane, mask) {
        uint64_t x[3] = {0}, defined = takes ? carry->def[lane] : DEFINED;
        for (unsigned i = 1; i < insn->operand_count; i++) {
            const Reg *source = reg_of(warp, insn->operand[i].reg);
            x[i - 1] = source->v[lane];
            defined &= source->def[lane];
        }
        defined = defined == DEFINED ? DEFINED : 0;
        dest->v[lane] = with_carry(insn, x, &carry->v[lane]);
        dest->def[lane] = defined;
        if (gives)
            carry->def[lane] = defined;
    }
    return EXEC_NEXT;
}

ExecResult exec_logic(Warp *warp, const Insn *insn, uint32_t mask) {
    unsigned bits = type_info[insn->type[0]].bits;
    char op = insn->row->name[0];
    const Operand *oa = &insn->operand[1], *ob = &insn->operand[insn->operand_count - 1];
    const Reg *a = reg_of(warp, oa->reg), *b = reg_of(warp, ob->reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    uint64_t flip_a = oa->negated, flip_b = ob->negated;
    FOR_LANES(lane, mask) {
        Bits x = bits_of(a, lane), y = bits_of(b, lane);
        x.value ^= flip_a;
        y.value ^= flip_b;
        uint64_t defined = known_logic(op, x, y) | ~bits_mask(bits);
        uint64_t result = op == 'a'   ? x.value & y.value
                          : op == 'o' ? x.value | y.value
                          : op == 'x' ? x.value ^ y.value
                                      : ~x.value;
        dest->v[lane] = low_bits(result, bits);
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

/* The result of a comparison and what it is combined with: predicates as bits, all of which are
 * known or none. */
static Bits combine(Word operation, Bits result, Bits with) {
    switch (operation) {
    case WORD_and:
        return (Bits){result.value & with.value, known_logic('a', result, with)};
    case WORD_or:
        return (Bits){result.value | with.value, known_logic('o', result, with)};
    case WORD_xor:
        return (Bits){result.value ^ with.value, known_logic('x', result, with)};
    default:
        return result;
    }
}

static void set_predicate(Reg *reg, uint32_t lane, Bits bits) {
    reg->v[lane] = bits.value & 1;
    reg->def[lane] = bits.known & 1 ? DEFINED : 0;
}

ExecResult exec_setp(Warp *warp, const Insn *insn, uint32_t mask) {
    Word compare = (Word)insn->field[FIELD_COMPARE], operation = (Word)insn->field[FIELD_OPERATION];
    Type type = (Type)insn->type[0];
    bool ftz = insn_has(insn, WORD_ftz);
    const Operand *third = &insn->operand[3];
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    const Reg *with = operation ? reg_of(warp, third->reg) : NULL;
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Reg *second = insn->operand[0].second == NO_REG ? NULL : reg_of(warp, insn->operand[0].second);
    FOR_LANES(lane, mask) {
        Bits x = bits_of(a, lane), y = bits_of(b, lane), other = {0, DEFINED};
        Bits result = {alu_compare(compare, type, ftz, x.value, y.value), DEFINED};
        if ((x.known & y.known) != DEFINED && !known_compare(compare, type, ftz, x, y))
            result.known = 0;
        if (with)
            other = (Bits){predicate(third, with, lane), with->def[lane]};
        set_predicate(dest, lane, combine(operation, result, other));
        result.value ^= 1;
        if (second)
            set_predicate(second, lane, combine(operation, result, other));
    }
    return EXEC_NEXT;
}

/* setp.f16x2: one predicate for each half. */
ExecResult exec_setp_pair(Warp *warp, const Insn *insn, uint32_t mask) {
    Word compare = (Word)insn->field[FIELD_COMPARE];
    bool ftz = insn_has(insn, WORD_ftz);
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    FOR_LANES(lane, mask) {
        uint64_t both = a->def[lane] & b->def[lane];
        for (unsigned half = 0; half < 2; half++) {
            RegRef ref = half ? insn->operand[0].second : insn->operand[0].reg;
            if (ref == NO_REG)
                continue;
            Reg *dest = reg_of(warp, ref);
            dest->v[lane] =
                alu_compare(compare, (Type)insn->type[0], ftz, a->v[lane] >> (16 * half) & 0xffff,
                            b->v[lane] >> (16 * half) & 0xffff);
            dest->def[lane] = ~both >> (16 * half) & 0xffff ? 0 : DEFINED;
        }
    }
    return EXEC_NEXT;
}

ExecResult exec_selp(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    const Reg *p = reg_of(warp, insn->operand[3].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        const Reg *from = predicate(&insn->operand[3], p, lane) ? a : b;
        uint64_t defined = p->def[lane] == DEFINED
                               ? from->def[lane]
                               : known_either(bits_of(a, lane), bits_of(b, lane));
        dest->v[lane] = from->v[lane];
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

/* mov. */

static unsigned operand_bits(const Insn *insn, const Operand *operand) {
    return operand->kind == OPERAND_VECTOR
               ? operand->count * operand->bits
               : (operand->bits ? operand->bits : type_info[insn->type[0]].bits);
}

const char *check_mov(const Insn *insn) {
    unsigned bits = type_info[insn->type[0]].bits;
    if (insn->operand[0].kind == OPERAND_VECTOR && insn->operand[1].kind == OPERAND_VECTOR)
        return "mov takes a vector on one side only";
    bool vector =
        insn->operand[0].kind == OPERAND_VECTOR || insn->operand[1].kind == OPERAND_VECTOR;
    if (bits == 128 && !vector && insn->operand[1].bits != 128)
        return "a 128-bit mov takes registers of 128 bits, or a vector";
    if (vector && (operand_bits(insn, &insn->operand[0]) != bits ||
                   operand_bits(insn, &insn->operand[1]) != bits))
        return "the elements of the vector do not add up to the type of mov";
    return NULL;
}

/* The registers that hold an operand of up to 128 bits: two for a 128-bit one. */
static unsigned pieces_of(const Operand *operand, RegRef *refs, unsigned *bits) {
    if (operand->kind == OPERAND_VECTOR) {
        for (unsigned i = 0; i < operand->count; i++)
            refs[i] = operand->regs[i];
        *bits = operand->bits;
        return operand->count;
    }
    refs[0] = operand->reg;
    refs[1] = operand->reg + 1;
    *bits = operand->bits == 128 ? 64 : operand->bits;
    return operand->bits == 128 ? 2 : 1;
}

static void move_pieces(Warp *warp, const Insn *insn, uint32_t lane) {
    RegRef from[16], to[16];
    unsigned from_bits, to_bits;
    unsigned from_count = pieces_of(&insn->operand[1], from, &from_bits);
    unsigned to_count = pieces_of(&insn->operand[0], to, &to_bits);
    if (!from_bits)
        from_bits = type_info[insn->type[0]].bits;
    uint8_t bytes[16], defined[16];
    for (unsigned i = 0; i < from_count; i++) {
        const Reg *reg = reg_of(warp, from[i]);
        memcpy(bytes + i * from_bits / 8, &reg->v[lane], from_bits / 8);
        memcpy(defined + i * from_bits / 8, &reg->def[lane], from_bits / 8);
    }
    for (unsigned i = 0; i < to_count; i++) {
        uint64_t value = 0, known = DEFINED;
        memcpy(&value, bytes + i * to_bits / 8, to_bits / 8);
        memcpy(&known, defined + i * to_bits / 8, to_bits / 8);
        Reg *reg = reg_of(warp, to[i]);
        reg->v[lane] = value;
        reg->def[lane] = known;
    }
}

ExecResult exec_mov(Warp *warp, const Insn *insn, uint32_t mask) {
    const Operand *dest = &insn->operand[0], *source = &insn->operand[1];
    if (dest->kind == OPERAND_VECTOR || source->kind == OPERAND_VECTOR || dest->bits == 128) {
        FOR_LANES(lane, mask)
        move_pieces(warp, insn, lane);
        return EXEC_NEXT;
    }
    const Reg *from = reg_of(warp, source->reg);
    Reg *to = reg_of(warp, dest->reg);
    uint64_t flip = source->negated, keep = bits_mask(type_info[insn->type[0]].bits);
    FOR_LANES(lane, mask) {
        to->v[lane] = (from->v[lane] ^ flip) & keep;
        to->def[lane] = from->def[lane];
    }
    return EXEC_NEXT;
}

/* cvt between integers. A destination wider than the type takes the extended value. */
static uint64_t convert_int(const Insn *insn, uint64_t x) {
    Type to = (Type)insn->type[0], from = (Type)insn->type[1];
    unsigned to_bits = type_info[to].bits, from_bits = type_info[from].bits;
    unsigned dest_bits = insn->operand[0].bits ? insn->operand[0].bits : to_bits;
    bool from_signed = type_info[from].kind == KIND_SINT,
         to_signed = type_info[to].kind == KIND_SINT;
    uint64_t value = low_bits(x, from_bits);
    value = from_signed ? (uint64_t)sign_extend(value, from_bits) : value;
    if (insn_has(insn, WORD_sat)) {
        __int128 wide = from_signed ? (__int128)(int64_t)value : (__int128)value;
        __int128 low = to_signed ? -((__int128)1 << (to_bits - 1)) : 0;
        __int128 high = ((__int128)1 << (to_bits - to_signed)) - 1;
        value = (uint64_t)(wide < low ? low : wide > high ? high : wide);
    }
    value = to_signed ? (uint64_t)sign_extend(low_bits(value, to_bits), to_bits)
                      : low_bits(value, to_bits);
    return low_bits(value, dest_bits);
}

/* Without .sat each bit goes to one place or several: what is known is what is the same with all
 * undefined ones zeros and with all of them ones. */
static uint64_t known_converted(const Insn *insn, Bits x) {
    if (insn_has(insn, WORD_sat))
        return ~x.known & bits_mask(type_info[insn->type[1]].bits) ? 0 : DEFINED;
    return ~(convert_int(insn, x.value & x.known) ^ convert_int(insn, x.value | ~x.known));
}

ExecResult exec_cvt_int(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        Bits x = bits_of(source, lane);
        dest->v[lane] = convert_int(insn, x.value);
        dest->def[lane] = x.known == DEFINED ? DEFINED : known_converted(insn, x);
    }
    return EXEC_NEXT;
}

ExecResult exec_nothing(Warp *warp, const Insn *insn, uint32_t mask) {
    return EXEC_NEXT;
}
