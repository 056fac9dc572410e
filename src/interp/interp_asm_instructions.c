/* What instructions of pieces of PTX compute. */
#include "interp/interp_asm.h"
#include "types/float_bits.h"

#include <math.h>

bool asm_number_type(Str word, NumberType *type) {
    static const struct {
        const char *text;
        NumberType type;
    } types[] = {{"pred", {KIND_PREDICATE, 1, 0}},    {"b8", {KIND_BITS, 8, 0}},
                 {"b16", {KIND_BITS, 16, 0}},         {"b32", {KIND_BITS, 32, 0}},
                 {"b64", {KIND_BITS, 64, 0}},         {"u8", {KIND_UNSIGNED, 8, 0}},
                 {"u16", {KIND_UNSIGNED, 16, 0}},     {"u32", {KIND_UNSIGNED, 32, 0}},
                 {"u64", {KIND_UNSIGNED, 64, 0}},     {"s8", {KIND_SIGNED, 8, 0}},
                 {"s16", {KIND_SIGNED, 16, 0}},       {"s32", {KIND_SIGNED, 32, 0}},
                 {"s64", {KIND_SIGNED, 64, 0}},       {"f16", {KIND_FLOAT, 16, DT_F16}},
                 {"bf16", {KIND_FLOAT, 16, DT_BF16}}, {"f32", {KIND_FLOAT, 32, DT_F32}},
                 {"f64", {KIND_FLOAT, 64, DT_F64}}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (str_is(word, types[i].text)) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

uint64_t asm_wrap(uint64_t value, uint32_t bits) {
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static int64_t sign_extend(uint64_t value, uint32_t bits) {
    const uint32_t unused = 64 - bits;
    return (int64_t)(value << unused) >> unused;
}

/* A value of type 0 as an integer that a comparison or a conversion means. */
static int64_t as_int(const NumberType *type, uint64_t value) {
    return type->kind == KIND_SIGNED ? sign_extend(value, type->bits)
                                     : (int64_t)asm_wrap(value, type->bits);
}

static double flushed(const Instruction *it, double x) {
    return it->ftz && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

static double as_float(const Instruction *it, uint64_t value) {
    const NumberType *type = &it->types[0];
    return flushed(it, float_from_bits(type->dtype, asm_wrap(value, type->bits)));
}

static uint64_t from_float(const Instruction *it, double x) {
    return float_to_bits(it->types[0].dtype, flushed(it, x));
}

static bool is_float(const Instruction *it) {
    return it->types[0].kind == KIND_FLOAT;
}

bool asm_has_word(const Instruction *it, const char *word) {
    for (uint32_t i = 1; i < it->nwords; i++)
        if (str_is(it->words[i], word))
            return true;
    return false;
}

/* Instructions. Sums, products and quotients of f32 and narrower types are exact enough in double
 * to be rounded twice; f64 is double. */

#define FLOAT_OR(float_expression, int_expression)                                                 \
    if (is_float(it)) {                                                                            \
        const double a = as_float(it, v[0]), b = as_float(it, v[1]);                               \
        (void)b;                                                                                   \
        return from_float(it, float_expression);                                                   \
    }                                                                                              \
    const NumberType *t = &it->types[0];                                                           \
    const int64_t a = as_int(t, v[0]), b = as_int(t, v[1]);                                        \
    (void)b;                                                                                       \
    return asm_wrap((uint64_t)(int_expression), t->bits)

static uint64_t asm_add(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(a + b, (uint64_t)a + (uint64_t)b);
}

static uint64_t asm_sub(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(a - b, (uint64_t)a - (uint64_t)b);
}

static uint64_t high_product(const NumberType *t, int64_t a, int64_t b) {
    if (t->kind == KIND_SIGNED)
        return (uint64_t)(((__int128)a * b) >> t->bits);
    return (uint64_t)(((unsigned __int128)(uint64_t)a * (uint64_t)b) >> t->bits);
}

static uint64_t asm_mul(const Instruction *it, const uint64_t *v) {
    if (asm_has_word(it, "wide")) {
        const NumberType *t = &it->types[0];
        return asm_wrap((uint64_t)as_int(t, v[0]) * (uint64_t)as_int(t, v[1]), 2 * t->bits);
    }
    FLOAT_OR(a * b, asm_has_word(it, "hi") ? high_product(t, a, b) : (uint64_t)a * (uint64_t)b);
}

static uint64_t asm_mad(const Instruction *it, const uint64_t *v) {
    const NumberType *t = &it->types[0];
    const uint32_t bits = asm_has_word(it, "wide") ? 2 * t->bits : t->bits;
    return asm_wrap(asm_mul(it, v) + v[2], bits);
}

static uint64_t asm_fma(const Instruction *it, const uint64_t *v) {
    if (it->types[0].dtype == DT_F32) {
        const float a = (float)as_float(it, v[0]), b = (float)as_float(it, v[1]);
        return from_float(it, fmaf(a, b, (float)as_float(it, v[2])));
    }
    return from_float(it, fma(as_float(it, v[0]), as_float(it, v[1]), as_float(it, v[2])));
}

/* By 0 anything is meant; all ones, and of a remainder the dividend, is what hardware gives. */
static uint64_t quotient(const NumberType *t, int64_t a, int64_t b) {
    if (b == 0)
        return UINT64_MAX;
    if (t->kind != KIND_SIGNED)
        return (uint64_t)a / (uint64_t)b;
    return b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
}

static uint64_t asm_div(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(a / b, quotient(t, a, b));
}

static uint64_t asm_rem(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(fmod(a, b), b == 0 ? (uint64_t)a : (uint64_t)a - quotient(t, a, b) * (uint64_t)b);
}

static bool below(const NumberType *t, int64_t a, int64_t b) {
    return t->kind == KIND_SIGNED ? a < b : (uint64_t)a < (uint64_t)b;
}

/* NaN loses, unless it is to win; -0 is below 0. */
static double float_extremum(const Instruction *it, double a, double b, bool least) {
    if (a != a || b != b)
        return asm_has_word(it, "NaN") ? NAN : a != a ? b : a;
    if (a == b)
        return signbit(a) == least ? a : b;
    return (a < b) == least ? a : b;
}

static uint64_t asm_min(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(float_extremum(it, a, b, true), below(t, a, b) ? a : b);
}

static uint64_t asm_max(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(float_extremum(it, a, b, false), below(t, a, b) ? b : a);
}

static uint64_t asm_neg(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(-a, -(uint64_t)a);
}

static uint64_t asm_abs(const Instruction *it, const uint64_t *v) {
    FLOAT_OR(fabs(a), a < 0 ? -(uint64_t)a : (uint64_t)a);
}

static uint64_t asm_and(const Instruction *it, const uint64_t *v) {
    return asm_wrap(v[0] & v[1], it->types[0].bits);
}

static uint64_t asm_or(const Instruction *it, const uint64_t *v) {
    return asm_wrap(v[0] | v[1], it->types[0].bits);
}

static uint64_t asm_xor(const Instruction *it, const uint64_t *v) {
    return asm_wrap(v[0] ^ v[1], it->types[0].bits);
}

static uint64_t asm_not(const Instruction *it, const uint64_t *v) {
    return asm_wrap(~v[0], it->types[0].bits);
}

static uint64_t asm_shl(const Instruction *it, const uint64_t *v) {
    const uint32_t bits = it->types[0].bits, by = (uint32_t)v[1];
    return by >= bits ? 0 : asm_wrap(v[0] << by, bits);
}

static uint64_t asm_shr(const Instruction *it, const uint64_t *v) {
    const NumberType *t = &it->types[0];
    uint32_t by = (uint32_t)v[1];
    if (t->kind == KIND_SIGNED)
        return asm_wrap(
            (uint64_t)(sign_extend(v[0], t->bits) >> (by >= t->bits ? t->bits - 1 : by)), t->bits);
    return by >= t->bits ? 0 : asm_wrap(v[0], t->bits) >> by;
}

/* Of the 64 bits b:a, those that move into or stay in the upper (l) or lower (r) half. */
static uint64_t asm_shf(const Instruction *it, const uint64_t *v) {
    const uint64_t both = asm_wrap(v[1], 32) << 32 | asm_wrap(v[0], 32);
    uint32_t by = (uint32_t)v[2];
    by = asm_has_word(it, "wrap") ? by & 31 : by > 32 ? 32 : by;
    return asm_has_word(it, "l") ? asm_wrap(both >> (32 - by), 32) : asm_wrap(both >> by, 32);
}

static uint64_t asm_prmt(const Instruction *it, const uint64_t *v) {
    const uint64_t both = asm_wrap(v[1], 32) << 32 | asm_wrap(v[0], 32);
    uint64_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t choice = (uint32_t)(v[2] >> (4 * i));
        uint64_t byte = both >> (8 * (choice & 7)) & 0xff;
        if (choice & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

static uint64_t asm_popc(const Instruction *it, const uint64_t *v) {
    return (uint64_t)__builtin_popcountll(asm_wrap(v[0], it->types[0].bits));
}

static uint64_t asm_clz(const Instruction *it, const uint64_t *v) {
    const uint64_t x = asm_wrap(v[0], it->types[0].bits);
    return x ? (uint64_t)__builtin_clzll(x) - (64 - it->types[0].bits) : it->types[0].bits;
}

static uint64_t asm_lop3(const Instruction *it, const uint64_t *v) {
    uint64_t result = 0;
    for (int i = 0; i < 32; i++) {
        const uint64_t at = (v[0] >> i & 1) << 2 | (v[1] >> i & 1) << 1 | (v[2] >> i & 1);
        result |= (v[3] >> at & 1) << i;
    }
    return result;
}

static uint64_t asm_copysign(const Instruction *it, const uint64_t *v) {
    return from_float(it, copysign(as_float(it, v[1]), as_float(it, v[0])));
}

#define FLOAT_UNARY(name, expression)                                                              \
    static uint64_t asm_##name(const Instruction *it, const uint64_t *v) {                         \
        const double a = as_float(it, v[0]);                                                       \
        return from_float(it, expression);                                                         \
    }
FLOAT_UNARY(rcp, 1 / a)
FLOAT_UNARY(sqrt, sqrt(a))
FLOAT_UNARY(rsqrt, 1 / sqrt(a))
FLOAT_UNARY(ex2, exp2(a))
FLOAT_UNARY(lg2, log2(a))
FLOAT_UNARY(sin, sin(a))
FLOAT_UNARY(cos, cos(a))
FLOAT_UNARY(tanh, tanh(a))

static bool holds(const Instruction *it, int order, bool unordered) {
    static const struct {
        const char *word;
        uint8_t orders; /* below, equal, above, unordered */
    } comparisons[] = {{"eq", 2},  {"ne", 5},   {"lt", 1},   {"le", 3},   {"gt", 4},   {"ge", 6},
                       {"lo", 1},  {"ls", 3},   {"hi", 4},   {"hs", 6},   {"equ", 10}, {"neu", 13},
                       {"ltu", 9}, {"leu", 11}, {"gtu", 12}, {"geu", 14}, {"num", 7},  {"nan", 8}};
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (str_is(it->words[1], comparisons[i].word))
            return comparisons[i].orders >> (unordered ? 3 : order + 1) & 1;
    return false;
}

static uint64_t asm_setp(const Instruction *it, const uint64_t *v) {
    if (is_float(it)) {
        const double a = as_float(it, v[0]), b = as_float(it, v[1]);
        return holds(it, (a > b) - (a < b), a != a || b != b);
    }
    const NumberType *t = &it->types[0];
    const int64_t a = as_int(t, v[0]), b = as_int(t, v[1]);
    return holds(it, below(t, a, b) ? -1 : a != b, false);
}

static uint64_t asm_selp(const Instruction *it, const uint64_t *v) {
    return asm_wrap(v[2] & 1 ? v[0] : v[1], it->types[0].bits);
}

static double rounded_to_integer(const Instruction *it, double x) {
    if (asm_has_word(it, "rzi") || asm_has_word(it, "rz"))
        return trunc(x);
    if (asm_has_word(it, "rmi") || asm_has_word(it, "rm"))
        return floor(x);
    return asm_has_word(it, "rpi") || asm_has_word(it, "rp") ? ceil(x) : nearbyint(x);
}

/* What does not fit is the nearest that does; NaN is the top bit alone where either side has 64
 * bits, else 0 (PTX ISA, cvt). */
static uint64_t float_to_int(const NumberType *to, const NumberType *from, double x) {
    const bool is_signed = to->kind == KIND_SIGNED;
    const double most = ldexp(1, (int)to->bits - is_signed), least = is_signed ? -most : 0;
    const uint64_t top = UINT64_C(1) << (to->bits - 1);
    if (x != x)
        return to->bits == 64 || from->bits == 64 ? top : 0;
    if (x >= most)
        return asm_wrap(is_signed ? top - 1 : UINT64_MAX, to->bits);
    if (x <= least)
        return is_signed ? top : 0;
    return asm_wrap(is_signed ? (uint64_t)(int64_t)x : (uint64_t)x, to->bits);
}

static uint64_t asm_cvt(const Instruction *it, const uint64_t *v) {
    const NumberType *to = &it->types[0], *from = &it->types[1];
    if (from->kind == KIND_FLOAT) {
        double x = flushed(it, float_from_bits(from->dtype, asm_wrap(v[0], from->bits)));
        if (to->kind != KIND_FLOAT)
            return float_to_int(to, from, rounded_to_integer(it, x));
        if (asm_has_word(it, "sat"))
            x = x != x || x <= 0 ? 0 : x > 1 ? 1 : x;
        if (to->bits == from->bits && it->nwords > 1 && asm_has_word(it, "rni"))
            x = rounded_to_integer(it, x);
        else if (to->bits == from->bits &&
                 (asm_has_word(it, "rzi") || asm_has_word(it, "rmi") || asm_has_word(it, "rpi")))
            x = rounded_to_integer(it, x);
        return asm_has_word(it, "rz") ? float_to_bits_to_zero(to->dtype, x)
                                      : float_to_bits(to->dtype, x);
    }
    const int64_t x = as_int(from, v[0]);
    if (to->kind == KIND_FLOAT) {
        const bool is_signed = from->kind == KIND_SIGNED;
        if (to->dtype == DT_F32)
            return float_to_bits(DT_F32, is_signed ? (float)x : (float)(uint64_t)x);
        return float_to_bits(to->dtype, is_signed ? (double)x : (double)(uint64_t)x);
    }
    return asm_wrap((uint64_t)x, to->bits);
}

static const KnownInstruction instructions[] = {
    {"mov", 1, NULL},      {"add", 2, asm_add},   {"sub", 2, asm_sub},
    {"mul", 2, asm_mul},   {"mad", 3, asm_mad},   {"fma", 3, asm_fma},
    {"div", 2, asm_div},   {"rem", 2, asm_rem},   {"min", 2, asm_min},
    {"max", 2, asm_max},   {"neg", 1, asm_neg},   {"abs", 1, asm_abs},
    {"and", 2, asm_and},   {"or", 2, asm_or},     {"xor", 2, asm_xor},
    {"not", 1, asm_not},   {"shl", 2, asm_shl},   {"shr", 2, asm_shr},
    {"shf", 3, asm_shf},   {"prmt", 3, asm_prmt}, {"popc", 1, asm_popc},
    {"clz", 1, asm_clz},   {"lop3", 4, asm_lop3}, {"copysign", 2, asm_copysign},
    {"rcp", 1, asm_rcp},   {"sqrt", 1, asm_sqrt}, {"rsqrt", 1, asm_rsqrt},
    {"ex2", 1, asm_ex2},   {"lg2", 1, asm_lg2},   {"sin", 1, asm_sin},
    {"cos", 1, asm_cos},   {"tanh", 1, asm_tanh}, {"setp", 2, asm_setp},
    {"selp", 3, asm_selp}, {"cvt", 1, asm_cvt}};

const KnownInstruction *asm_instruction(Str name) {
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++)
        if (str_is(name, instructions[i].name))
            return &instructions[i];
    return NULL;
}

bool asm_converts(const KnownInstruction *known) {
    return known->run == asm_cvt;
}

bool asm_modifier_known(Str word) {
    static const char *const words[] = {
        "rn", "rz", "rm",   "rp",   "rni",   "rzi", "rmi", "rpi", "ftz", "sat", "approx", "full",
        "lo", "hi", "wide", "wrap", "clamp", "l",   "r",   "NaN", "eq",  "ne",  "lt",     "le",
        "gt", "ge", "ls",   "hs",   "equ",   "neu", "ltu", "leu", "gtu", "geu", "num",    "nan"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}
