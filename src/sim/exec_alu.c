/* Executors of arithmetic: the scalar meaning of each thread, and definedness.
 *
 * A result is defined when all sources are. Moves, logic, shifts by whole bytes and byte
 * permutations keep definedness byte by byte, so that a half that is never used may be undefined.
 */
#include "sim/alu.h"
#include "sim/machine.h"

ExecResult exec_scalar(Warp *warp, const Insn *insn, uint32_t mask) {
    const Reg *sources[MAX_OPERANDS];
    unsigned count = 0;
    for (unsigned i = 1; i < insn->operand_count; i++)
        if (insn->operand[i].kind == OPERAND_REG)
            sources[count++] = reg_of(warp, insn->operand[i].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    Scalar *scalar = insn->row->scalar;
    FOR_LANES(lane, mask) {
        uint64_t x[MAX_OPERANDS] = {0};
        uint8_t defined = DEFINED;
        for (unsigned i = 0; i < count; i++) {
            x[i] = sources[i]->v[lane];
            defined &= sources[i]->def[lane];
        }
        dest->v[lane] = scalar(insn, x);
        dest->def[lane] = defined == DEFINED ? DEFINED : 0;
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
        uint64_t x[3] = {0};
        uint8_t defined = takes ? carry->def[lane] : DEFINED;
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

/* The bytes of a value that are 0. */
static uint8_t zero_bytes(uint64_t value) {
    uint8_t zero = 0;
    for (unsigned i = 0; i < 8; i++)
        zero |= (uint8_t)((value >> (8 * i) & 0xff) == 0) << i;
    return zero;
}

/* A byte with a defined operand byte of 0 under `and` is 0 whatever the other one is; under `or`
 * all ones. */
static uint8_t logic_defined(char op, uint64_t a, uint8_t da, uint64_t b, uint8_t db) {
    if ((da & db) == DEFINED || op == 'x')
        return da & db;
    uint64_t ka = op == 'o' ? ~a : a, kb = op == 'o' ? ~b : b;
    return (uint8_t)((da & db) | (da & zero_bytes(ka)) | (db & zero_bytes(kb)));
}

ExecResult exec_logic(Warp *warp, const Insn *insn, uint32_t mask) {
    unsigned bits = type_info[insn->type[0]].bits;
    char op = insn->row->name[0];
    const Operand *oa = &insn->operand[1], *ob = &insn->operand[insn->operand_count - 1];
    const Reg *a = reg_of(warp, oa->reg), *b = reg_of(warp, ob->reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    uint64_t flip_a = oa->negated, flip_b = ob->negated;
    FOR_LANES(lane, mask) {
        uint64_t x = a->v[lane] ^ flip_a, y = b->v[lane] ^ flip_b, result;
        uint8_t defined =
            op == 'n' ? a->def[lane] : logic_defined(op, x, a->def[lane], y, b->def[lane]);
        if (bits == 1)
            defined = defined & 1 ? DEFINED : 0;
        result = op == 'a' ? x & y : op == 'o' ? x | y : op == 'x' ? x ^ y : ~x;
        dest->v[lane] = low_bits(result, bits);
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

/* Definedness bytes moved with the bits; a byte that takes bits of two needs both. */
static uint8_t shift_defined(uint8_t defined, unsigned bits, unsigned count, bool left, bool sign) {
    if (defined == DEFINED)
        return DEFINED;
    unsigned bytes = bits / 8;
    uint8_t result = (uint8_t)(0xff << bytes);
    for (unsigned i = 0; i < bytes; i++) {
        bool known = true;
        for (unsigned bit = 8 * i; bit < 8 * i + 8; bit++) {
            int from = left ? (int)bit - (int)count : (int)(bit + count);
            if (from >= (int)bits && sign)
                from = (int)bits - 1;
            if (from >= 0 && from < (int)bits)
                known &= defined >> (from / 8) & 1;
        }
        result |= (uint8_t)(known << i);
    }
    return result;
}

ExecResult exec_shift(Warp *warp, const Insn *insn, uint32_t mask) {
    unsigned bits = type_info[insn->type[0]].bits;
    bool sign = type_info[insn->type[0]].kind == KIND_SINT, left = insn->row->name[2] == 'l';
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        unsigned count = (uint32_t)b->v[lane] > bits ? bits : (unsigned)b->v[lane];
        uint64_t x = a->v[lane], result;
        uint8_t defined =
            b->def[lane] == DEFINED ? shift_defined(a->def[lane], bits, count, left, sign) : 0;
        if (left)
            result = count >= 64 ? 0 : x << count;
        else if (sign)
            result = (uint64_t)(sign_extend(x, bits) >> (count >= bits ? bits - 1 : count));
        else
            result = count >= 64 ? 0 : x >> count;
        dest->v[lane] = low_bits(result, bits);
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

/* Which byte of {b, a} each byte of the result is; bit 3: its sign instead. PTX ISA, prmt. */
static unsigned prmt_selector(Word mode, uint64_t control, unsigned i) {
    unsigned c = control & 3;
    switch (mode) {
    case WORD_f4e:
        return (c + i) & 7;
    case WORD_b4e:
        return (c - i) & 7;
    case WORD_rc8:
        return c;
    case WORD_ecl:
        return i > c ? i : c;
    case WORD_ecr:
        return i < c ? i : c;
    case WORD_rc16:
        return (c & 1) * 2 + (i & 1);
    default:
        return (unsigned)(control >> (4 * i)) & 15;
    }
}

ExecResult exec_prmt(Warp *warp, const Insn *insn, uint32_t mask) {
    Word mode = (Word)insn->field[FIELD_OPERATION];
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    const Reg *control = reg_of(warp, insn->operand[3].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t pair = b->v[lane] << 32 | (uint32_t)a->v[lane], result = 0;
        uint8_t pair_defined = (uint8_t)((a->def[lane] & 15) | (b->def[lane] << 4)), defined = 0xf0;
        for (unsigned i = 0; i < 4; i++) {
            unsigned selector = prmt_selector(mode, control->v[lane], i);
            uint64_t byte = pair >> (8 * (selector & 7)) & 0xff;
            if (selector & 8)
                byte = byte & 0x80 ? 0xff : 0;
            result |= byte << (8 * i);
            defined |= (uint8_t)((pair_defined >> (selector & 7) & 1) << i);
        }
        dest->v[lane] = result;
        dest->def[lane] = control->def[lane] == DEFINED ? defined : 0;
    }
    return EXEC_NEXT;
}

static bool combine(Word operation, bool result, bool with) {
    switch (operation) {
    case WORD_and:
        return result && with;
    case WORD_or:
        return result || with;
    case WORD_xor:
        return result != with;
    default:
        return result;
    }
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
        bool result = alu_compare(compare, type, ftz, a->v[lane], b->v[lane]);
        bool other = with && predicate(third, with, lane);
        uint8_t defined = a->def[lane] & b->def[lane] & (with ? with->def[lane] : DEFINED);
        defined = defined == DEFINED ? DEFINED : 0;
        /* A defined operand that decides alone. */
        if (with && with->def[lane] == DEFINED &&
            ((operation == WORD_and && !other) || (operation == WORD_or && other)))
            defined = DEFINED;
        dest->v[lane] = combine(operation, result, other);
        dest->def[lane] = defined;
        if (second) {
            second->v[lane] = combine(operation, !result, other);
            second->def[lane] = defined;
        }
    }
    return EXEC_NEXT;
}

/* setp.f16x2: one predicate for each half. */
ExecResult exec_setp_pair(Warp *warp, const Insn *insn, uint32_t mask) {
    Word compare = (Word)insn->field[FIELD_COMPARE];
    bool ftz = insn_has(insn, WORD_ftz);
    const Reg *a = reg_of(warp, insn->operand[1].reg), *b = reg_of(warp, insn->operand[2].reg);
    FOR_LANES(lane, mask) {
        uint8_t both = a->def[lane] & b->def[lane];
        for (unsigned half = 0; half < 2; half++) {
            RegRef ref = half ? insn->operand[0].second : insn->operand[0].reg;
            if (ref == NO_REG)
                continue;
            Reg *dest = reg_of(warp, ref);
            dest->v[lane] =
                alu_compare(compare, (Type)insn->type[0], ftz, a->v[lane] >> (16 * half) & 0xffff,
                            b->v[lane] >> (16 * half) & 0xffff);
            dest->def[lane] = (both >> (2 * half) & 3) == 3 ? DEFINED : 0;
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
        uint8_t defined = p->def[lane] == DEFINED ? from->def[lane] : 0;
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
        for (unsigned b = 0; b < from_bits / 8; b++) {
            bytes[i * from_bits / 8 + b] = (uint8_t)(reg->v[lane] >> (8 * b));
            defined[i * from_bits / 8 + b] = reg->def[lane] >> b & 1;
        }
    }
    for (unsigned i = 0; i < to_count; i++) {
        uint64_t value = 0;
        uint8_t known = (uint8_t)(to_bits == 64 ? 0 : 0xff << (to_bits / 8));
        for (unsigned b = 0; b < to_bits / 8; b++) {
            value |= (uint64_t)bytes[i * to_bits / 8 + b] << (8 * b);
            known |= (uint8_t)(defined[i * to_bits / 8 + b] << b);
        }
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

/* cvt between integers: bytes that are kept keep their definedness. */
ExecResult exec_cvt_int(Warp *warp, const Insn *insn, uint32_t mask) {
    Type to = (Type)insn->type[0], from = (Type)insn->type[1];
    unsigned to_bits = type_info[to].bits, from_bits = type_info[from].bits;
    bool from_signed = type_info[from].kind == KIND_SINT,
         to_signed = type_info[to].kind == KIND_SINT;
    unsigned dest_bits = insn->operand[0].bits;
    const Reg *source = reg_of(warp, insn->operand[1].reg);
    Reg *dest = reg_of(warp, insn->operand[0].reg);
    FOR_LANES(lane, mask) {
        uint64_t x = low_bits(source->v[lane], from_bits);
        uint64_t value = from_signed ? (uint64_t)sign_extend(x, from_bits) : x;
        uint8_t defined = source->def[lane];
        if (insn_has(insn, WORD_sat)) {
            __int128 wide = from_signed ? (__int128)(int64_t)value : (__int128)value;
            __int128 low = to_signed ? -((__int128)1 << (to_bits - 1)) : 0;
            __int128 high = ((__int128)1 << (to_bits - to_signed)) - 1;
            value = (uint64_t)(wide < low ? low : wide > high ? high : wide);
            defined = (uint8_t) ~(~defined & bits_mask(from_bits / 8)) == DEFINED ? DEFINED : 0;
        } else {
            unsigned have = from_bits / 8;
            bool top = defined >> (have - 1) & 1;
            defined = (uint8_t)((defined & bits_mask(have)) |
                                (from_signed && !top ? 0 : ~bits_mask(have) & 0xff));
        }
        /* A destination wider than the type takes the extended value. */
        value = to_signed ? (uint64_t)sign_extend(low_bits(value, to_bits), to_bits)
                          : low_bits(value, to_bits);
        dest->v[lane] = low_bits(value, dest_bits ? dest_bits : to_bits);
        dest->def[lane] = defined;
    }
    return EXEC_NEXT;
}

ExecResult exec_nothing(Warp *warp, const Insn *insn, uint32_t mask) {
    return EXEC_NEXT;
}
