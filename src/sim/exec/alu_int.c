/* Integer instructions: results from operands, bit for bit (PTX ISA, Integer Arithmetic
 * Instructions; Logic and Shift Instructions). */
#include "sim/exec/alu.h"
#include "sim/parse/table.h"

#include <math.h>

static unsigned width(const Insn *insn) {
    return type_info[insn->type[0]].bits;
}
static bool is_signed(const Insn *insn) {
    return type_info[insn->type[0]].kind == KIND_SINT;
}
static uint64_t cut(const Insn *insn, uint64_t value) {
    return low_bits(value, width(insn));
}
static int64_t sx(const Insn *insn, uint64_t value) {
    return sign_extend(value, width(insn));
}

/* Two 16-bit halves on their own. */
#define HALVES(insn, x, y, expression)                                                             \
    do {                                                                                           \
        uint64_t result_ = 0;                                                                      \
        for (unsigned shift_ = 0; shift_ < 32; shift_ += 16) {                                     \
            bool s_ = (insn)->type[0] == TYPE_s16x2;                                               \
            int64_t a = s_ ? (int16_t)((x) >> shift_) : (int64_t)(uint16_t)((x) >> shift_);        \
            int64_t b = s_ ? (int16_t)((y) >> shift_) : (int64_t)(uint16_t)((y) >> shift_);        \
            result_ |= (uint64_t)(uint16_t)(expression) << shift_;                                 \
        }                                                                                          \
        return result_;                                                                            \
    } while (0)

static uint64_t saturate32(int64_t value) {
    return (uint32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

static bool is_packed(const Insn *insn) {
    return insn->type[0] == TYPE_u16x2 || insn->type[0] == TYPE_s16x2;
}

uint64_t alu_add(const Insn *insn, const uint64_t *x) {
    if (insn_has(insn, WORD_sat))
        return saturate32((int64_t)(int32_t)x[0] + (int32_t)x[1]);
    if (is_packed(insn))
        HALVES(insn, x[0], x[1], a + b);
    return cut(insn, x[0] + x[1]);
}

uint64_t alu_sub(const Insn *insn, const uint64_t *x) {
    if (insn_has(insn, WORD_sat))
        return saturate32((int64_t)(int32_t)x[0] - (int32_t)x[1]);
    if (is_packed(insn))
        HALVES(insn, x[0], x[1], a - b);
    return cut(insn, x[0] - x[1]);
}

/* The product's low or high half, or all of it for .wide. */
static uint64_t product(const Insn *insn, uint64_t a, uint64_t b) {
    unsigned bits = width(insn);
    Word part = (Word)insn->field[FIELD_COMPARE];
    if (part == WORD_lo)
        return cut(insn, a * b);
    if (bits == 64) {
        if (is_signed(insn))
            return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> 64);
        return (uint64_t)(((unsigned __int128)a * b) >> 64);
    }
    uint64_t whole = is_signed(insn) ? (uint64_t)(sx(insn, a) * sx(insn, b)) : a * b;
    return part == WORD_wide ? low_bits(whole, 2 * bits) : cut(insn, whole >> bits);
}

uint64_t alu_mul(const Insn *insn, const uint64_t *x) {
    return product(insn, x[0], x[1]);
}

uint64_t alu_mad(const Insn *insn, const uint64_t *x) {
    uint64_t part = product(insn, x[0], x[1]);
    if (insn_has(insn, WORD_sat))
        return saturate32((int64_t)(int32_t)part + (int32_t)x[2]);
    if (insn->field[FIELD_COMPARE] == WORD_wide)
        return low_bits(part + x[2], 2 * width(insn));
    return cut(insn, part + x[2]);
}

/* mul24: bits 0..31 or 16..47 of the product of the low 24 bits; mad24 adds x[2]. */
uint64_t alu_mul24(const Insn *insn, const uint64_t *x) {
    int64_t a = is_signed(insn) ? sign_extend(x[0], 24) : (int64_t)low_bits(x[0], 24);
    int64_t b = is_signed(insn) ? sign_extend(x[1], 24) : (int64_t)low_bits(x[1], 24);
    uint64_t whole = (uint64_t)(a * b);
    uint64_t part = insn_has(insn, WORD_hi) ? whole >> 16 : whole;
    return low_bits(part + (insn->operand_count == 4 ? x[2] : 0), 32);
}

uint64_t alu_sad(const Insn *insn, const uint64_t *x) {
    bool less = is_signed(insn) ? sx(insn, x[0]) < sx(insn, x[1]) : x[0] < x[1];
    return cut(insn, x[2] + (less ? x[1] - x[0] : x[0] - x[1]));
}

/* The distances of the halves or bytes of a and b, cut or saturated to the result's; or their sum
 * and c. */
uint64_t alu_vabsdiff(const Insn *insn, const uint64_t *x) {
    unsigned bits = insn->row->name[8] == '2' ? 16 : 8;
    uint64_t sum = x[2], packed = 0, most = low_bits(UINT64_MAX, bits);
    if (insn_has(insn, WORD_sat) && insn->type[0] == TYPE_s32)
        most >>= 1;
    for (unsigned at = 0; at < 32; at += bits) {
        int64_t a = (int64_t)low_bits(x[0] >> at, bits), b = (int64_t)low_bits(x[1] >> at, bits);
        a = insn->type[1] == TYPE_s32 ? sign_extend((uint64_t)a, bits) : a;
        b = insn->type[2] == TYPE_s32 ? sign_extend((uint64_t)b, bits) : b;
        uint64_t distance = (uint64_t)(a < b ? b - a : a - b);
        sum += distance;
        if (insn_has(insn, WORD_sat) && distance > most)
            distance = most;
        packed |= low_bits(distance, bits) << at;
    }
    return insn_has(insn, WORD_add) ? low_bits(sum, 32) : packed;
}

/* A division by zero gives all ones, quotient and remainder, as the hardware's sequence does. */
uint64_t alu_div(const Insn *insn, const uint64_t *x) {
    if (x[1] == 0)
        return cut(insn, UINT64_MAX);
    if (!is_signed(insn))
        return x[0] / x[1];
    int64_t a = sx(insn, x[0]), b = sx(insn, x[1]);
    return cut(insn, b == -1 ? -(uint64_t)a : (uint64_t)(a / b));
}

uint64_t alu_rem(const Insn *insn, const uint64_t *x) {
    if (x[1] == 0)
        return cut(insn, UINT64_MAX);
    if (!is_signed(insn))
        return x[0] % x[1];
    int64_t a = sx(insn, x[0]), b = sx(insn, x[1]);
    return cut(insn, b == -1 ? 0 : (uint64_t)(a % b));
}

uint64_t alu_abs(const Insn *insn, const uint64_t *x) {
    return cut(insn, sx(insn, x[0]) < 0 ? -x[0] : x[0]);
}

uint64_t alu_neg(const Insn *insn, const uint64_t *x) {
    return cut(insn, -x[0]);
}

static int64_t least(const Insn *insn, int64_t a, int64_t b) {
    bool take_min = !strcmp(insn->row->name, "min");
    int64_t result = (a < b) == take_min ? a : b;
    return insn_has(insn, WORD_relu) && result < 0 ? 0 : result;
}

uint64_t alu_minmax(const Insn *insn, const uint64_t *x) {
    if (is_packed(insn))
        HALVES(insn, x[0], x[1], least(insn, a, b));
    if (is_signed(insn))
        return cut(insn, (uint64_t)least(insn, sx(insn, x[0]), sx(insn, x[1])));
    bool take_min = insn->row->name[1] == 'i';
    return (x[0] < x[1]) == take_min ? x[0] : x[1];
}

uint64_t alu_popc(const Insn *insn, const uint64_t *x) {
    return (uint64_t)__builtin_popcountll(x[0]);
}

uint64_t alu_clz(const Insn *insn, const uint64_t *x) {
    return x[0] ? (uint64_t)__builtin_clzll(x[0]) - (64 - width(insn)) : width(insn);
}

uint64_t alu_bfind(const Insn *insn, const uint64_t *x) {
    uint64_t value = is_signed(insn) && sx(insn, x[0]) < 0 ? cut(insn, ~x[0]) : x[0];
    if (!value)
        return UINT32_MAX;
    unsigned top = 63 - (unsigned)__builtin_clzll(value);
    return insn_has(insn, WORD_shiftamt) ? width(insn) - 1 - top : top;
}

/* The position of the n-th set bit from a base, upwards or downwards. */
uint64_t alu_fns(const Insn *insn, const uint64_t *x) {
    uint32_t mask = (uint32_t)x[0], base = (uint32_t)x[1];
    int32_t offset = (int32_t)x[2];
    if (offset == INT32_MIN) /* cannot be negated: the hardware's search ends at bit 0 */
        return 0;
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return (uint64_t)at;
    return UINT32_MAX;
}

uint64_t alu_brev(const Insn *insn, const uint64_t *x) {
    uint64_t result = 0;
    for (unsigned i = 0; i < width(insn); i++)
        result |= (x[0] >> i & 1) << (width(insn) - 1 - i);
    return result;
}

/* PTX ISA, bfe: positions and lengths are cut to 8 bits; beyond the top the sign is read. */
uint64_t alu_bfe(const Insn *insn, const uint64_t *x) {
    unsigned bits = width(insn), position = x[1] & 0xff, length = x[2] & 0xff;
    if (length == 0)
        return 0;
    unsigned sign_at = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
    uint64_t sign = is_signed(insn) ? x[0] >> sign_at & 1 : 0;
    uint64_t field = position < bits ? low_bits(x[0] >> position, length) : 0;
    unsigned have = position >= bits ? 0 : bits - position < length ? bits - position : length;
    if (sign)
        field |= ~low_bits(UINT64_MAX, have);
    return cut(insn, have == 0 && !sign ? 0 : field);
}

uint64_t alu_bfi(const Insn *insn, const uint64_t *x) {
    unsigned position = x[2] & 0xff, length = x[3] & 0xff;
    if (position >= width(insn) || length == 0)
        return x[1];
    uint64_t mask = cut(insn, low_bits(UINT64_MAX, length) << position);
    return (x[1] & ~mask) | (x[0] << position & mask);
}

uint64_t alu_szext(const Insn *insn, const uint64_t *x) {
    unsigned count = insn_has(insn, WORD_wrap) ? x[1] & 31 : x[1] > 32 ? 32 : (unsigned)x[1];
    if (count == 0)
        return 0;
    uint64_t low = low_bits(x[0], count);
    return cut(insn, is_signed(insn) ? (uint64_t)sign_extend(low, count) : low);
}

uint64_t alu_bmsk(const Insn *insn, const uint64_t *x) {
    bool wrap = insn_has(insn, WORD_wrap);
    uint64_t from = wrap        ? x[0] & 31
                    : x[0] > 32 ? 32
                                : x[0],
             count = wrap        ? x[1] & 31
                     : x[1] > 32 ? 32
                                 : x[1];
    return (uint32_t)(low_bits(UINT64_MAX, (unsigned)count) << from);
}

static int64_t element(uint64_t word, unsigned index, unsigned bits, bool with_sign) {
    uint64_t raw = low_bits(word >> (index * bits), bits);
    return with_sign ? sign_extend(raw, bits) : (int64_t)raw;
}

uint64_t alu_dp4a(const Insn *insn, const uint64_t *x) {
    int64_t sum = (int32_t)x[2];
    for (unsigned i = 0; i < 4; i++)
        sum += element(x[0], i, 8, insn->type[0] == TYPE_s32) *
               element(x[1], i, 8, insn->type[1] == TYPE_s32);
    return (uint32_t)sum;
}

uint64_t alu_dp2a(const Insn *insn, const uint64_t *x) {
    int64_t sum = (int32_t)x[2];
    unsigned first = insn_has(insn, WORD_hi) ? 2 : 0;
    for (unsigned i = 0; i < 2; i++)
        sum += element(x[0], i, 16, insn->type[0] == TYPE_s32) *
               element(x[1], first + i, 8, insn->type[1] == TYPE_s32);
    return (uint32_t)sum;
}

uint64_t alu_shift(const Insn *insn, const uint64_t *x) {
    unsigned bits = width(insn), count = (uint32_t)x[1] > bits ? bits : (unsigned)x[1];
    if (insn->row->name[2] == 'l')
        return count >= 64 ? 0 : cut(insn, x[0] << count);
    if (is_signed(insn))
        return cut(insn, (uint64_t)(sx(insn, x[0]) >> (count >= bits ? bits - 1 : count)));
    return count >= 64 ? 0 : x[0] >> count;
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

uint64_t alu_prmt(const Insn *insn, const uint64_t *x) {
    uint64_t pair = x[1] << 32 | (uint32_t)x[0], result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned selector = prmt_selector((Word)insn->field[FIELD_OPERATION], x[2], i);
        uint64_t byte = pair >> (8 * (selector & 7)) & 0xff;
        if (selector & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

uint64_t alu_cnot(const Insn *insn, const uint64_t *x) {
    return x[0] == 0;
}

uint64_t alu_lop3(const Insn *insn, const uint64_t *x) {
    uint32_t a = (uint32_t)x[0], b = (uint32_t)x[1], c = (uint32_t)x[2], result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (x[3] >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

/* Funnel shift: x[0] is the low word, x[1] the high one. */
uint64_t alu_shf(const Insn *insn, const uint64_t *x) {
    unsigned count = insn_has(insn, WORD_wrap) ? x[2] & 31 : x[2] > 32 ? 32 : (unsigned)x[2];
    uint64_t pair = x[1] << 32 | (uint32_t)x[0];
    return insn_has(insn, WORD_l) ? (uint32_t)((pair << count) >> 32) : (uint32_t)(pair >> count);
}

/* A cache policy is opaque; it has no effect on results. */
uint64_t alu_policy(const Insn *insn, const uint64_t *x) {
    return UINT64_C(0x1000000000000000) | insn->field[FIELD_L2];
}

static bool windowed(SpaceKind space, uint64_t *base) {
    switch (space) {
    case SPACE_shared:
        *base = SIM_SHARED_BASE;
        return true;
    case SPACE_local:
        *base = SIM_LOCAL_BASE;
        return true;
    case SPACE_param:
        *base = SIM_PARAM_BASE;
        return true;
    case SPACE_generic:
    case SPACE_global:
    case SPACE_const:
        break;
    }
    *base = 0;
    return false;
}

static SpaceKind named_space(const Insn *insn) {
    switch ((Word)insn->field[FIELD_SPACE]) {
    case WORD_shared:
    case WORD_shared_cta:
    case WORD_shared_cluster:
        return SPACE_shared;
    case WORD_local:
        return SPACE_local;
    case WORD_param:
    case WORD_param_entry:
        return SPACE_param;
    case WORD_const:
        return SPACE_const;
    default:
        return SPACE_global;
    }
}

uint64_t alu_cvta(const Insn *insn, const uint64_t *x) {
    uint64_t base;
    if (!windowed(named_space(insn), &base))
        return x[0];
    return cut(insn, insn_has(insn, WORD_to) ? x[0] - base : x[0] + base);
}

static uint64_t atomic_float(Word operation, Type type, uint64_t old, uint64_t value) {
    FloatFormat format = float_format(type);
    double a = float_decode(format, old), b = float_decode(format, value);
    if (operation == WORD_add) {
        if (format.bits == 64)
            return f64_result(a + b);
        return float_encode(format, add_to_odd(a, b), ROUND_NEAREST, false);
    }
    if (a != a || b != b)
        return a == a ? old : b == b ? value : float_canonical_nan(format);
    bool less = a < b || (a == b && old >> (format.bits - 1));
    return less == (operation == WORD_min) ? old : value;
}

uint64_t alu_atomic(Word operation, Type type, uint64_t old, uint64_t value) {
    unsigned bits = type_info[type].bits;
    uint64_t low;
    bool with_sign = type_info[type].kind == KIND_SINT;
    if (operation == WORD_exch)
        return value;
    if (type_info[type].kind == KIND_PACKED) {
        low = atomic_float(operation, type, old & 0xffff, value & 0xffff);
        return low | atomic_float(operation, type, old >> 16, value >> 16) << 16;
    }
    /* The adders of memory pass a NaN on as it is. */
    if (type == TYPE_f64 && (isnan(f64_from(old)) || isnan(f64_from(value))))
        return isnan(f64_from(value)) ? value : old;
    if (type_info[type].kind == KIND_FLOAT)
        return atomic_float(operation, type, old, value);
    bool less = with_sign ? sign_extend(old, bits) < sign_extend(value, bits) : old < value;
    switch (operation) {
    case WORD_and:
        return old & value;
    case WORD_or:
        return old | value;
    case WORD_xor:
        return old ^ value;
    case WORD_add:
        return low_bits(old + value, bits);
    case WORD_inc:
        return old >= value ? 0 : old + 1;
    case WORD_dec:
        return old == 0 || old > value ? value : old - 1;
    case WORD_min:
        return less ? old : value;
    case WORD_max:
        return less ? value : old;
    default:
        return old;
    }
}

uint64_t alu_atomic_ftz(Word operation, uint64_t old, uint64_t value) {
    uint64_t a = f32_bits(flush(f32_from(old))), b = f32_bits(flush(f32_from(value)));
    return f32_bits(flush(f32_from(alu_atomic(operation, TYPE_f32, a, b))));
}
