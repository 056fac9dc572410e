/* Which bits of a result are known when some bits of its operands are undefined: those that are the
 * same whatever the undefined bits are. Bits are taken to be independent of each other. Rows of
 * instructions.def name one of these functions; without one a result is known when all operands
 * are.
 */
#include "sim/exec/known.h"

#include "sim/exec/alu.h"
#include "sim/parse/table.h"

#include <math.h>

static const uint64_t ALL = UINT64_MAX;

static unsigned width(const Insn *insn) {
    return type_info[insn->type[0]].bits;
}
static bool is_signed(const Insn *insn) {
    return type_info[insn->type[0]].kind == KIND_SINT;
}
static bool is_packed(const Insn *insn) {
    return type_info[insn->type[0]].kind == KIND_PACKED;
}
/* Bits behind the type's are zero. */
static Bits cut(Bits x, unsigned bits) {
    return (Bits){low_bits(x.value, bits), x.known | ~low_bits(ALL, bits)};
}
/* Those that are not known as zeros, and as ones. */
static uint64_t least(Bits x) {
    return x.value & x.known;
}
static uint64_t greatest(Bits x) {
    return x.value | ~x.known;
}
static bool is_zero(Bits x) {
    return x.known == ALL && x.value == 0;
}

uint64_t known_logic(char op, Bits a, Bits b) {
    switch (op) {
    case 'a':
        return (a.known & b.known) | (a.known & ~a.value) | (b.known & ~b.value);
    case 'o':
        return (a.known & b.known) | least(a) | least(b);
    case 'x':
        return a.known & b.known;
    default:
        return a.known;
    }
}

/* Each half of packed types, each half of whose result is made of those of the operands. */
uint64_t known_halves(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    unsigned bits = width(insn) / 2;
    uint64_t all = known[0], half = low_bits(ALL, bits), result = ~low_bits(ALL, 2 * bits);
    if (!is_packed(insn))
        return 0;
    for (unsigned i = 1; i + 1 < insn->operand_count; i++)
        all &= known[i];
    for (unsigned at = 0; at < 2 * bits; at += bits)
        if ((all >> at & half) == half)
            result |= half << at;
    return result;
}

/* Each half of a pair is made of an operand, or of that half of the only one. */
uint64_t known_cvt_pair(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    unsigned to = width(insn) / 2, from = type_info[insn->type[1]].bits;
    bool is_low, is_high;
    if (insn->operand_count == 3) {
        is_high = !(~known[0] & low_bits(ALL, from));
        is_low = !(~known[1] & low_bits(ALL, from));
    } else {
        is_high = !(~known[0] >> from / 2 & low_bits(ALL, from / 2));
        is_low = !(~known[0] & low_bits(ALL, from / 2));
    }
    return ~low_bits(ALL, 2 * to) | (is_low ? low_bits(ALL, to) : 0) |
           (is_high ? low_bits(ALL, to) << to : 0);
}

/* A bit of a sum is known when those of the operands and its carry are; a carry is when it is the
 * same in the least and in the greatest sum. */
static uint64_t known_sum(Bits a, Bits b, uint64_t carry) {
    uint64_t high = greatest(a) + greatest(b) + carry, low = least(a) + least(b) + carry;
    uint64_t no_carry = ~(high ^ greatest(a) ^ greatest(b)), is_carry = low ^ least(a) ^ least(b);
    return a.known & b.known & (no_carry | is_carry);
}

static uint64_t known_difference(Bits a, Bits b, unsigned bits) {
    Bits inverse = cut((Bits){~b.value, b.known}, bits);
    return known_sum(a, inverse, 1) | ~low_bits(ALL, bits);
}

static Bits operand(const Insn *insn, const uint64_t *x, const uint64_t *known, unsigned i) {
    return cut((Bits){x[i], known[i]}, width(insn));
}

uint64_t known_add(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    if (is_packed(insn))
        return known_halves(insn, x, known);
    if (insn_has(insn, WORD_sat))
        return 0;
    return known_sum(operand(insn, x, known, 0), operand(insn, x, known, 1), 0) |
           ~low_bits(ALL, width(insn));
}

uint64_t known_sub(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    if (is_packed(insn))
        return known_halves(insn, x, known);
    if (insn_has(insn, WORD_sat))
        return 0;
    return known_difference(operand(insn, x, known, 0), operand(insn, x, known, 1), width(insn));
}

uint64_t known_neg(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    return known_difference((Bits){0, ALL}, operand(insn, x, known, 0), width(insn));
}

static unsigned trailing(uint64_t ones) {
    return ~ones ? (unsigned)__builtin_ctzll(~ones) : 64;
}

/* Below the lowest bit that is not known, moved up by the zeros at the end of the other factor. */
uint64_t known_mul(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    Bits a = operand(insn, x, known, 0), b = operand(insn, x, known, 1);
    if (is_zero(a) || is_zero(b))
        return ALL;
    if (insn->field[FIELD_COMPARE] == WORD_hi)
        return 0;
    unsigned bits = insn->field[FIELD_COMPARE] == WORD_wide ? 2 * width(insn) : width(insn);
    unsigned from_a = trailing(a.known) + trailing(b.known & ~b.value),
             from_b = trailing(b.known) + trailing(a.known & ~a.value);
    unsigned count = from_a < from_b ? from_a : from_b;
    return count >= bits ? ALL : low_bits(ALL, count) | ~low_bits(ALL, bits);
}

uint64_t known_mad(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    unsigned bits = insn->field[FIELD_COMPARE] == WORD_wide ? 2 * width(insn) : width(insn);
    if (insn_has(insn, WORD_sat))
        return 0;
    Bits part = {alu_mul(insn, x), known_mul(insn, x, known)};
    return known_sum(part, cut((Bits){x[2], known[2]}, bits), 0) | ~low_bits(ALL, bits);
}

/* Their order as unsigned numbers is that of the type. */
static Bits ordered_bits(Bits x, unsigned bits, bool with_sign) {
    x = cut(x, bits);
    x.value ^= with_sign ? UINT64_C(1) << (bits - 1) : 0;
    return x;
}

uint64_t known_minmax(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    if (is_packed(insn))
        return known_halves(insn, x, known);
    if (insn_has(insn, WORD_relu))
        return 0;
    bool takes_min = insn->row->name[1] == 'i';
    Bits a = ordered_bits((Bits){x[0], known[0]}, width(insn), is_signed(insn));
    Bits b = ordered_bits((Bits){x[1], known[1]}, width(insn), is_signed(insn));
    if (greatest(a) <= least(b))
        return takes_min ? a.known : b.known;
    if (greatest(b) <= least(a))
        return takes_min ? b.known : a.known;
    return known_either(a, b);
}

/* An infinity that nothing passes, or a NaN that wins. */
uint64_t known_fminmax(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    if (is_packed(insn))
        return known_halves(insn, x, known);
    if (insn_has(insn, WORD_xorsign) || insn_has(insn, WORD_abs))
        return 0;
    FloatFormat format = float_format((Type)insn->type[0]);
    double extreme = insn->row->name[1] == 'i' ? -INFINITY : INFINITY;
    for (unsigned i = 0; i < 2; i++) {
        double value = float_decode(format, low_bits(x[i], width(insn)));
        if (known[i] == ALL && (insn_has(insn, WORD_NaN) ? isnan(value) : value == extreme))
            return ALL;
    }
    return 0;
}

/* Bits of the first `count` operands go unchanged to places that the others say: what is known is
 * what is the same with all others zeros and with all of them ones. */
static uint64_t known_moved(const Insn *insn, const uint64_t *x, const uint64_t *known,
                            unsigned count) {
    uint64_t zeros[MAX_OPERANDS], ones[MAX_OPERANDS];
    for (unsigned i = 0; i + 1 < insn->operand_count; i++) {
        Bits one = operand(insn, x, known, i);
        if (i >= count && known[i] != ALL)
            return 0;
        zeros[i] = i < count ? least(one) : x[i];
        ones[i] = i < count ? greatest(one) : x[i];
    }
    return ~(insn->row->scalar(insn, zeros) ^ insn->row->scalar(insn, ones));
}

uint64_t known_moved_one(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    return known_moved(insn, x, known, 1);
}

uint64_t known_moved_two(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    return known_moved(insn, x, known, 2);
}

uint64_t known_lop3(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    uint64_t zero = 0, one = 0;
    for (unsigned row = 0; row < 8; row++) {
        uint64_t may_be = low_bits(ALL, 32);
        for (unsigned i = 0; i < 3; i++)
            may_be &= row >> (2 - i) & 1 ? x[i] | ~known[i] : ~x[i] | ~known[i];
        if (x[3] >> row & 1)
            one |= may_be;
        else
            zero |= may_be;
    }
    return known[3] == ALL ? ~(zero & one) : 0;
}

uint64_t known_slct(const Insn *insn, const uint64_t *x, const uint64_t *known) {
    Bits a = {x[0], known[0]}, b = {x[1], known[1]};
    if (known[2] != ALL)
        return known_either(a, b);
    uint64_t which[] = {0, 1, x[2]};
    return alu_slct(insn, which) ? b.known : a.known;
}

static bool is_float(Type type) {
    return type_info[type].kind == KIND_FLOAT || type_info[type].kind == KIND_PACKED;
}

/* With a NaN, or between anything and an infinity on one side of it. */
static bool known_float_compare(Word compare, Type type, bool ftz, Bits a, Bits b) {
    FloatFormat format = float_format(type);
    const double extremes[] = {-INFINITY, INFINITY, NAN};
    if (a.known != ALL && b.known != ALL)
        return false;
    uint64_t fixed = a.known == ALL ? a.value : b.value, results = 0;
    bool is_nan = isnan(float_decode(format, fixed));
    bool is_equality =
        compare == WORD_eq || compare == WORD_ne || compare == WORD_equ || compare == WORD_neu;
    if (is_equality && !is_nan)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t other = float_encode(format, extremes[i], ROUND_NEAREST, false);
        results |= UINT64_C(1) << (a.known == ALL ? alu_compare(compare, type, ftz, fixed, other)
                                                  : alu_compare(compare, type, ftz, other, fixed));
    }
    return results != 3;
}

bool known_compare(Word compare, Type type, bool ftz, Bits a, Bits b) {
    unsigned bits = type_info[type].bits;
    bool with_sign = type_info[type].kind == KIND_SINT;
    a = cut(a, bits);
    b = cut(b, bits);
    if ((a.known & b.known) == ALL)
        return true;
    if (is_float(type))
        return known_float_compare(compare, type, ftz, a, b);
    if (compare == WORD_eq || compare == WORD_ne)
        return (a.value ^ b.value) & a.known & b.known;
    uint64_t sign = with_sign ? UINT64_C(1) << (bits - 1) : 0;
    a = ordered_bits(a, bits, with_sign);
    b = ordered_bits(b, bits, with_sign);
    return alu_compare(compare, type, ftz, least(a) ^ sign, greatest(b) ^ sign) ==
           alu_compare(compare, type, ftz, greatest(a) ^ sign, least(b) ^ sign);
}
