/* Instructions against independent references: bit tricks for integers, binary128 with a search
 * among neighbours for rounding, tables of special cases, libm within the documented error for
 * approximations. */
#include "../ir/splitmix.h"
#include "sim_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 512 };

/* %a %b %c: 32 bits, %la %lb %lc: 64, %ha %hb %hc: 16; the result goes to %d, %ld or %hd. */
static const char frame[] = PTX_HEADER
    ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n"
    ".reg .b64 %%rd<10>, %%la, %%lb, %%lc, %%ld; .reg .b32 %%i, %%a, %%b, %%c, %%d, %%e;\n"
    ".reg .b16 %%ha, %%hb, %%hc, %%hd; .reg .pred %%p, %%q;\n"
    "ld.param.u64 %%rd1, [pa]; ld.param.u64 %%rd2, [pb]; ld.param.u64 %%rd3, [pc]; ld.param.u64 "
    "%%rd4, [pd];\n"
    "mov.u32 %%i, %%tid.x; mul.wide.u32 %%rd5, %%i, 8;\n"
    "add.s64 %%rd1, %%rd1, %%rd5; add.s64 %%rd2, %%rd2, %%rd5; add.s64 %%rd3, %%rd3, %%rd5;\n"
    "add.s64 %%rd4, %%rd4, %%rd5;\n"
    "ld.global.u64 %%la, [%%rd1]; ld.global.u64 %%lb, [%%rd2]; ld.global.u64 %%lc, [%%rd3];\n"
    "cvt.u32.u64 %%a, %%la; cvt.u32.u64 %%b, %%lb; cvt.u32.u64 %%c, %%lc;\n"
    "cvt.u16.u64 %%ha, %%la; cvt.u16.u64 %%hb, %%lb; cvt.u16.u64 %%hc, %%lc;\n"
    "mov.u64 %%ld, 0; mov.u32 %%d, 0; mov.u16 %%hd, 0;\n"
    "%s\n"
    "%s st.global.u64 [%%rd4], %%ld; ret; }\n";

/* Runs an instruction on COUNT operands; `bits` is where the result is. */
static void run(const char *text, unsigned bits, const uint64_t *a, const uint64_t *b,
                const uint64_t *c, uint64_t *d) {
    static char ptx[4096];
    const char *widen = bits == 64   ? ""
                        : bits == 32 ? "cvt.u64.u32 %ld, %d;"
                                     : "cvt.u64.u16 %ld, %hd;";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(ptx, sizeof ptx, frame, text, widen);
#pragma GCC diagnostic pop
    SimTest test = sim_test_begin();
    SimArrayArg arrays[] = {{"a", (void *)(uintptr_t)a, 8 * COUNT, NULL},
                            {"b", (void *)(uintptr_t)b, 8 * COUNT, NULL},
                            {"c", (void *)(uintptr_t)c, 8 * COUNT, NULL},
                            {"d", d, 8 * COUNT, NULL}};
    if (!sim_test_parse(&test, ptx) ||
        !sim_test_run(&test, (SimLaunch){.block = {COUNT}}, arrays, 4))
        fail_msg("%s: %s", text, sim_test_messages(&test));
    sim_test_end(&test);
}

static uint64_t seed = 1;
static uint64_t random_bits(void) {
    return splitmix64(&seed);
}

/* Integers: random, small, and near the limits of every width. */
static uint64_t random_int(void) {
    static const uint64_t special[] = {0,
                                       1,
                                       2,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX};
    uint64_t pick = random_bits();
    if (pick % 3 == 0)
        return special[pick / 3 % (sizeof special / sizeof *special)];
    return pick % 3 == 1 ? random_bits() : random_bits() >> (random_bits() % 64);
}

static uint64_t A[COUNT], B[COUNT], C[COUNT], D[COUNT];

typedef uint64_t Reference(uint64_t a, uint64_t b, uint64_t c);
typedef struct IntCase {
    const char *text;
    unsigned bits;
    Reference *reference;
} IntCase;

#define REF(name, expression)                                                                      \
    static uint64_t name(uint64_t la, uint64_t lb, uint64_t lc) {                                  \
        uint32_t a = (uint32_t)la, b = (uint32_t)lb, c = (uint32_t)lc;                             \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expression);                                                             \
    }
static uint32_t slow_reverse(uint32_t x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++, x >>= 1)
        r = r << 1 | (x & 1);
    return r;
}
/* One bit at a time, as the definition reads. */
static uint32_t slow_bfe(uint32_t a, uint32_t b, uint32_t c, bool with_sign) {
    uint32_t pos = b & 255, len = c & 255, r = 0;
    uint32_t top = pos + len - 1 < 31 ? pos + len - 1 : 31;
    uint32_t sign = with_sign && len ? a >> top & 1 : 0;
    for (uint32_t i = 0; i < 32; i++)
        r |= (i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign) << i;
    return r;
}
static uint32_t slow_bfi(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t pos = c & 255, r = b;
    for (uint32_t i = 0; i < 7 && pos + i <= 31; i++)
        r = (r & ~(1u << (pos + i))) | ((a >> i & 1) << (pos + i));
    return r;
}
static uint32_t slow_prmt(uint32_t a, uint32_t b, uint32_t c) {
    uint8_t bytes[8], r[4];
    memcpy(bytes, &a, 4);
    memcpy(bytes + 4, &b, 4);
    for (int i = 0; i < 4; i++) {
        uint8_t byte = bytes[c >> (4 * i) & 7];
        r[i] = c >> (4 * i) & 8 ? (uint8_t)((int8_t)byte >> 7) : byte;
    }
    uint32_t out;
    memcpy(&out, r, 4);
    return out;
}
static uint32_t slow_lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
    return r;
}
static int32_t clamp32(int64_t x) {
    return (int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
static uint32_t slow_dp4a(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 4; i++)
        c += (uint32_t)((int8_t)(a >> 8 * i) * (int)(uint8_t)(b >> 8 * i));
    return c;
}
static uint32_t high_bit(uint32_t x) {
    uint32_t at = UINT32_MAX;
    for (uint32_t i = 0; i < 32; i++)
        at = x >> i & 1 ? i : at;
    return at;
}
// clang-format off
REF(r_add, a + b)
REF(r_sub64, la - lb)
REF(r_addsat, (uint32_t)clamp32((int64_t)(int32_t)a + (int32_t)b))
REF(r_mullo, a *b)
REF(r_mulhi, ((uint64_t)a * b) >> 32)
REF(r_mulhis, (uint32_t)(((int64_t)(int32_t)a * (int32_t)b) >> 32))
REF(r_wide, (int64_t)(int32_t)a *(int32_t)b)
REF(r_madwide, (uint64_t)a *b + lc)
REF( r_mad, a *b + c)
REF(r_mulhi64, ((unsigned __int128)la * lb) >> 64)
REF(r_div, b ? a / b : UINT32_MAX)
REF(r_rem, b ? a % b : UINT32_MAX)
REF(r_divs, b == 0 ? UINT32_MAX : b == UINT32_MAX ? 0u - a : (uint32_t)((int32_t)a / (int32_t)b))
REF(r_min, (int32_t)a < (int32_t)b ? a : b)
REF(r_maxu, la > lb ? la : lb)
REF(r_abs, (int32_t)a < 0 ? 0u - a : a)
REF( r_sad, c + (uint32_t)((int64_t)(int32_t)a < (int32_t)b ? (int64_t)(int32_t)b - (int32_t)a : (int64_t)(int32_t)a - (int32_t)b))
REF(r_popc, __builtin_popcountll(la))
REF(r_clz, a ? 31 - high_bit(a) : 32)
REF(r_brev, slow_reverse(a))
REF( r_bfind, high_bit(a))
REF(r_bfinds, high_bit((int32_t)a < 0 ? ~a : a))
REF(r_bfe, slow_bfe(a, b, c, false))
REF(r_bfes, slow_bfe(a, b, c, true))
REF( r_bfi, slow_bfi(a, b, c))
REF(r_prmt, slow_prmt(a, b, c))
REF(r_lop3, slow_lop3(a, b, c, 0x6a))
REF(r_dp4a, slow_dp4a(a, b, c))
REF( r_shl, b > 31 ? 0 : a << b)
REF(r_shr, b > 31 ? 0 : a >> b)
REF(r_sar, (uint32_t)((int32_t)a >> (b > 31 ? 31 : b)))
REF( r_shfl, ( uint32_t)((((uint64_t)b << 32 | a) << (c > 32 ? 32 : c)) >> 32))
REF(r_shfr, ( uint32_t)(((uint64_t)b << 32 | a) >> (c & 31)))
REF(r_sub16, (uint16_t)(a - b))
REF(r_mul16, (uint32_t)((int16_t)a *(int16_t)b))
REF( r_sat8, (uint32_t)(uint8_t)((int32_t)a > 127 ? 127 : (int32_t)a < -128 ? -128 : (int8_t) a))
REF(r_sx, (int64_t)(int8_t)la)
REF(r_cvtsat, (int32_t)a < 0 ? 0 : a)
REF( r_carry, (uint32_t)(((uint64_t)a + b) >> 32) + c)
REF(r_mul24, (uint32_t)((a & 0xffffff) * (b & 0xffffff)))
REF(r_bmsk, (a > 31 || b == 0 ? 0u : (b > 31 ? UINT32_MAX : (1u << b) - 1) << a))
REF(r_selp, (int32_t)a < (int32_t)b ? a : c)
REF(r_and3, a < b && a != c)
REF(r_xor2, (a < b) != (b < c))
REF( r_vmin, (uint32_t)((uint16_t)((int16_t)a < (int16_t)b ? a : b) | (uint32_t)(uint16_t)((int16_t)(a >> 16) < (int16_t)(b >> 16) ? a >> 16 : b >> 16) << 16))
// clang-format on

static const IntCase int_cases[] = {
    {"add.s32 %d, %a, %b;", 32, r_add},
    {"sub.s64 %ld, %la, %lb;", 64, r_sub64},
    {"add.sat.s32 %d, %a, %b;", 32, r_addsat},
    {"mul.lo.s32 %d, %a, %b;", 32, r_mullo},
    {"mul.hi.u32 %d, %a, %b;", 32, r_mulhi},
    {"mul.hi.s32 %d, %a, %b;", 32, r_mulhis},
    {"mul.wide.s32 %ld, %a, %b;", 64, r_wide},
    {"mad.wide.u32 %ld, %a, %b, %lc;", 64, r_madwide},
    {"mad.lo.u32 %d, %a, %b, %c;", 32, r_mad},
    {"mul.hi.u64 %ld, %la, %lb;", 64, r_mulhi64},
    {"div.u32 %d, %a, %b;", 32, r_div},
    {"rem.u32 %d, %a, %b;", 32, r_rem},
    {"div.s32 %d, %a, %b;", 32, r_divs},
    {"min.s32 %d, %a, %b;", 32, r_min},
    {"max.u64 %ld, %la, %lb;", 64, r_maxu},
    {"abs.s32 %d, %a;", 32, r_abs},
    {"sad.s32 %d, %a, %b, %c;", 32, r_sad},
    {"popc.b64 %d, %la;", 32, r_popc},
    {"clz.b32 %d, %a;", 32, r_clz},
    {"brev.b32 %d, %a;", 32, r_brev},
    {"bfind.u32 %d, %a;", 32, r_bfind},
    {"bfind.s32 %d, %a;", 32, r_bfinds},
    {"bfe.u32 %d, %a, %b, %c;", 32, r_bfe},
    {"bfe.s32 %d, %a, %b, %c;", 32, r_bfes},
    {"bfi.b32 %d, %a, %b, %c, 7;", 32, r_bfi},
    {"prmt.b32 %d, %a, %b, %c;", 32, r_prmt},
    {"lop3.b32 %d, %a, %b, %c, 0x6a;", 32, r_lop3},
    {"dp4a.s32.u32 %d, %a, %b, %c;", 32, r_dp4a},
    {"shl.b32 %d, %a, %b;", 32, r_shl},
    {"shr.u32 %d, %a, %b;", 32, r_shr},
    {"shr.s32 %d, %a, %b;", 32, r_sar},
    {"shf.l.clamp.b32 %d, %a, %b, %c;", 32, r_shfl},
    {"shf.r.wrap.b32 %d, %a, %b, %c;", 32, r_shfr},
    {"sub.u16 %hd, %ha, %hb;", 16, r_sub16},
    {"mul.wide.s16 %d, %ha, %hb;", 32, r_mul16},
    {"cvt.sat.s8.s32 %d, %a; and.b32 %d, %d, 255;", 32, r_sat8},
    {"cvt.s64.s8 %ld, %a;", 64, r_sx},
    {"cvt.sat.u32.s32 %d, %a;", 32, r_cvtsat},
    {"add.cc.u32 %d, %a, %b; addc.u32 %d, %c, 0;", 32, r_carry},
    {"mul24.lo.u32 %d, %a, %b;", 32, r_mul24},
    {"bmsk.clamp.b32 %d, %a, %b;", 32, r_bmsk},
    {"setp.lt.s32 %p, %a, %b; selp.b32 %d, %a, %c, %p;", 32, r_selp},
    {"setp.ne.u32 %q, %a, %c; setp.lt.and.u32 %p, %a, %b, %q; selp.u32 %d, 1, 0, %p;", 32, r_and3},
    {"setp.lt.u32 %q, %b, %c; setp.lt.u32 %p, %a, %b; xor.pred %p, %p, %q; selp.u32 %d, 1, 0, "
     "%p;",
     32, r_xor2},
    {"min.s16x2 %d, %a, %b;", 32, r_vmin},
};

static void test_integers(void **state) {
    for (size_t i = 0; i < sizeof int_cases / sizeof *int_cases; i++) {
        const IntCase *one = &int_cases[i];
        for (unsigned t = 0; t < COUNT; t++) {
            A[t] = random_int();
            B[t] = random_int();
            C[t] = random_int();
        }
        run(one->text, one->bits, A, B, C, D);
        for (unsigned t = 0; t < COUNT; t++) {
            uint64_t want = one->reference(A[t], B[t], C[t]);
            if (D[t] != want)
                fail_msg("%s of %#lx, %#lx, %#lx: %#lx, wanted %#lx", one->text, A[t], B[t], C[t],
                         D[t], want);
        }
    }
}

/* Floats. */

static float f32(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, 4);
    return x;
}
static uint32_t f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

/* IEEE's binary128. */
#if __LDBL_MANT_DIG__ == 113
typedef long double Quad;
#else
typedef __float128 Quad;
#endif
typedef Quad Exact(double a, double b, double c);
static Quad e_add(double a, double b, double c) {
    return (Quad)a + b;
}
static Quad e_sub(double a, double b, double c) {
    return (Quad)a - b;
}
static Quad e_mul(double a, double b, double c) {
    return (Quad)a * b;
}
static Quad e_fma(double a, double b, double c) {
    return (Quad)a * b + c;
}
static Quad e_div(double a, double b, double c) {
    return (Quad)a / b;
}
static Quad e_first(double a, double b, double c) {
    return a;
}

/* A format's numbers in order: decoded by hand, as a step from one to its neighbours. */
typedef struct Format {
    unsigned bits, exponent, mantissa;
} Format;

static Quad value_of(Format f, uint64_t bits) {
    unsigned e = (unsigned)(bits >> f.mantissa) & ((1u << f.exponent) - 1);
    uint64_t m = bits & ((UINT64_C(1) << f.mantissa) - 1);
    int bias = (1 << (f.exponent - 1)) - 1, power = (int)(e ? e : 1) - bias - (int)f.mantissa;
    Quad x = e ? m | UINT64_C(1) << f.mantissa : m;
    for (; power > 0; power--)
        x *= 2;
    for (; power < 0; power++)
        x /= 2;
    return bits >> (f.bits - 1) ? -x : x;
}

static Quad magnitude(Quad x) {
    return x < 0 ? -x : x;
}

/* Whether `bits` is the exact value rounded as `mode` says: 'n', 'z', 'm' (down), 'p' (up). */
static bool is_rounded(Format f, uint64_t bits, Quad exact, char mode) {
    uint64_t sign = UINT64_C(1) << (f.bits - 1), all = ((UINT64_C(1) << f.exponent) - 1)
                                                       << f.mantissa;
    uint64_t m = bits & ~sign;
    if (m > all)
        return false;
    Quad x = value_of(f, bits), ulp = value_of(f, m + 1) - value_of(f, m);
    Quad below = m ? value_of(f, m) - value_of(f, m - 1) : ulp,
         error = magnitude(x) - magnitude(exact);
    if (x != 0 && exact != 0 && (x < 0) != (exact < 0))
        return false;
    bool outward = (mode == 'p' && exact > 0) || (mode == 'm' && exact < 0);
    if (m == all) /* infinity: beyond what the largest number rounds to */
        return mode == 'n' ? magnitude(exact) >= magnitude(x) - below / 2
                           : outward && error < 2 * below;
    /* Towards zero nothing is beyond the largest number. */
    if (mode != 'n' && m == all - 1 && !outward && error <= 0)
        return true;
    if (mode == 'n') {
        if (error > 0 ? 2 * error == below : -2 * error == ulp)
            return (m & 1) == 0;
        return error > 0 ? 2 * error < below : -2 * error < ulp;
    }
    return outward ? error >= 0 && error < below : error <= 0 && -error < ulp;
}

typedef struct FloatCase {
    const char *text; /* with %s for the rounding */
    Format in, out;
    Exact *exact;
    unsigned bits;
    const char *modes;
} FloatCase;

static const FloatCase float_cases[] = {
    {"add.r%c.f32 %%d, %%a, %%b;", {32, 8, 23}, {32, 8, 23}, e_add, 32, "nzmp"},
    {"sub.r%c.f32 %%d, %%a, %%b;", {32, 8, 23}, {32, 8, 23}, e_sub, 32, "nzmp"},
    {"mul.r%c.f32 %%d, %%a, %%b;", {32, 8, 23}, {32, 8, 23}, e_mul, 32, "nzmp"},
    {"fma.r%c.f32 %%d, %%a, %%b, %%c;", {32, 8, 23}, {32, 8, 23}, e_fma, 32, "nzmp"},
    {"div.r%c.f32 %%d, %%a, %%b;", {32, 8, 23}, {32, 8, 23}, e_div, 32, "nzmp"},
    {"add.r%c.f16 %%hd, %%ha, %%hb;", {16, 5, 10}, {16, 5, 10}, e_add, 16, "n"},
    {"mul.r%c.f16 %%hd, %%ha, %%hb;", {16, 5, 10}, {16, 5, 10}, e_mul, 16, "n"},
    {"fma.r%c.f16 %%hd, %%ha, %%hb, %%hc;", {16, 5, 10}, {16, 5, 10}, e_fma, 16, "n"},
    {"fma.r%c.bf16 %%hd, %%ha, %%hb, %%hc;", {16, 8, 7}, {16, 8, 7}, e_fma, 16, "n"},
    {"cvt.r%c.f16.f32 %%hd, %%a;", {32, 8, 23}, {16, 5, 10}, e_first, 16, "nz"},
    {"cvt.r%c.bf16.f32 %%hd, %%a;", {32, 8, 23}, {16, 8, 7}, e_first, 16, "nz"},
    {"mov.u32 %%e, 0; cvt.r%c.f16x2.f32 %%d, %%e, %%a;",
     {32, 8, 23},
     {16, 5, 10},
     e_first,
     32,
     "nz"},
    {"cvt.f32.f16 %%d, %%ha; mov.b32 %%e, 0; //%c", {16, 5, 10}, {32, 8, 23}, e_first, 32, "n"},
};

/* A finite number whose exponent is in the middle third, so that exact results fit 113 bits;
 * sometimes subnormal. */
static uint64_t random_float(Format f, bool any) {
    uint64_t bits = random_bits() & ((UINT64_C(1) << f.bits) - 1);
    unsigned exponents = 1u << f.exponent;
    unsigned span = any ? exponents - 1 : f.exponent > 5 ? 40 : exponents - 1;
    unsigned e =
        (unsigned)(random_bits() % span) + (any || f.exponent == 5 ? 0 : exponents / 2 - 20);
    bits &= ~((uint64_t)(exponents - 1) << f.mantissa);
    return bits | (uint64_t)e << f.mantissa;
}

static void test_rounding(void **state) {
    for (size_t i = 0; i < sizeof float_cases / sizeof *float_cases; i++) {
        const FloatCase *one = &float_cases[i];
        for (const char *mode = one->modes; *mode; mode++) {
            char text[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(text, sizeof text, one->text, *mode);
#pragma GCC diagnostic pop
            bool any = one->exact == e_first || one->exact == e_mul || one->exact == e_div;
            for (unsigned t = 0; t < COUNT; t++) {
                A[t] = random_float(one->in, any);
                B[t] = random_float(one->in, any);
                C[t] = random_float(one->in, false);
                if (one->exact == e_div && (B[t] << (64 - one->in.bits + 1)) == 0)
                    B[t] |= 1;
            }
            run(text, one->bits, A, B, C, D);
            for (unsigned t = 0; t < COUNT; t++) {
                Quad exact =
                    one->exact((double)value_of(one->in, A[t]), (double)value_of(one->in, B[t]),
                               (double)value_of(one->in, C[t]));
                if (!is_rounded(one->out, D[t], exact, *mode))
                    fail_msg("%s of %#lx, %#lx, %#lx: %#lx", text, A[t], B[t], C[t], D[t]);
            }
        }
    }
}

typedef struct Special {
    const char *text;
    unsigned bits;
    uint64_t a, b, want;
} Special;

static const Special specials[] = {
    {"add.f32 %d, %a, %b;", 32, 0x7f800000, 0xff800000, 0x7fffffff},
    {"add.ftz.f32 %d, %a, %b;", 32, 0x00000001, 0x80000000, 0},
    {"mul.ftz.f32 %d, %a, %b;", 32, 0x80800000, 0x3f000000, 0x80000000},
    {"add.sat.f32 %d, %a, %b;", 32, 0x3f800000, 0x3f800000, 0x3f800000},
    {"add.sat.f32 %d, %a, %b;", 32, 0x7fc00000, 0, 0},
    {"min.f32 %d, %a, %b;", 32, 0x7fc00000, 0x3f800000, 0x3f800000},
    {"min.NaN.f32 %d, %a, %b;", 32, 0x7fc00000, 0x3f800000, 0x7fffffff},
    {"min.f32 %d, %a, %b;", 32, 0, 0x80000000, 0x80000000},
    {"max.f32 %d, %a, %b;", 32, 0x80000000, 0, 0},
    {"max.xorsign.abs.f32 %d, %a, %b;", 32, 0xc0000000, 0x3f800000, 0xc0000000},
    {"max.bf16x2 %d, %a, %b;", 32, 0x3f804000, 0x40003f80, 0x40004000},
    {"neg.ftz.f32 %d, %a;", 32, 1, 0, 0x80000000},
    {"abs.f16x2 %d, %a;", 32, 0x8000bc00, 0, 0x00003c00},
    {"cvt.bf16.f16 %hd, %ha;", 16, 0x3c0c, 0, 0x3f82}, /* to nearest, ties to even */
    {"cvt.f16.bf16 %hd, %ha;", 16, 0x3380, 0, 0x0001},
    {"cvt.rni.s32.f32 %d, %a;", 32, 0x40200000, 0, 2},          /* 2.5 */
    {"cvt.rzi.s32.f32 %d, %a;", 32, 0xbfc00000, 0, 0xffffffff}, /* -1.5 */
    {"cvt.rmi.s32.f32 %d, %a;", 32, 0xbfc00000, 0, 0xfffffffe},
    {"cvt.rpi.s32.f32 %d, %a;", 32, 0xbfc00000, 0, 0xffffffff},
    {"cvt.rzi.s32.f32 %d, %a;", 32, 0x7f800000, 0, 0x7fffffff},
    {"cvt.rzi.u32.f32 %d, %a;", 32, 0xbf800000, 0, 0},
    {"cvt.rzi.s32.f32 %d, %a;", 32, 0x7fc00000, 0, 0},
    {"cvt.rzi.s64.f32 %ld, %a;", 64, 0x7fc00000, 0, UINT64_C(0x8000000000000000)},
    {"cvt.rn.f32.s32 %d, %a;", 32, 0x7fffffff, 0, 0x4f000000},
    {"cvt.rz.f32.u64 %d, %la;", 32, UINT64_MAX, 0, 0x5f7fffff},
    {"cvt.rn.f32.u64 %d, %la;", 32, UINT64_C(0x8000008000000001), 0, 0x5f000001},
    {"cvt.rni.f32.f32 %d, %a;", 32, 0xbe800000, 0, 0x80000000}, /* -0.25: the sign stays */
    {"cvt.sat.f32.f32 %d, %a;", 32, 0x40000000, 0, 0x3f800000},
    {"cvt.rn.relu.bf16.f32 %hd, %a;", 16, 0xbf800000, 0, 0},
    {"cvt.rna.tf32.f32 %d, %a;", 32, 0x3f801000, 0, 0x3f802000},
    {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", 16, 0x44000000, 0xc4000000,
     0x7efe}, /* 512 and -512: 448 */
    {"cvt.rn.satfinite.e5m2x2.f32 %hd, %a, %b;", 16, 0x7f800000, 0x3f800000, 0x7b3c},
    {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;", 16, 0x7fc00000, 0x3b000000,
     0x7f01}, /* NaN; the least number */
    {"cvt.rn.f16x2.e4m3x2 %d, %ha;", 32, 0x7e38, 0, 0x5f003c00},
    {"cvt.rn.bf16x2.f32 %d, %a, %b;", 32, 0x40000000, 0x3f800000,
     0x40003f80}, /* the first becomes the upper half */
    /* The values of an H200. */
    {"mul.ftz.f32 %d, %a, %b;", 32, 0x00800000, 0x3f7fffff, 0},
    {"mul.rm.ftz.f32 %d, %a, %b;", 32, 0x1fffffff, 0x9fffffff, 0x80000000},
    {"div.rn.ftz.f32 %d, %a, %b;", 32, 0x3f7fffff, 0x7e800000, 0},
    {"div.full.ftz.f32 %d, %a, %b;", 32, 0x3f7fffff, 0x7e800000, 0},
    {"rcp.rp.ftz.f32 %d, %a;", 32, 0x7e800001, 0, 0},
    {"mul.ftz.f16 %hd, %ha, %hb;", 16, 0x8400, 0x3bff, 0x8000},
    {"mul.rn.ftz.sat.f16x2 %d, %a, %b;", 32, 0x59ffa000, 0xda019fff, 0},
    {"fma.rn.ftz.f16x2 %d, %a, %b, 0x8400fdce;", 32, 0x8678f800, 0x86788002, 0x84007fff},
    {"fma.rn.ftz.f16x2 %d, %a, %b, 0xc6912bff;", 32, 0xc5ff37ff, 0x051fb001, 0xc6918000},
    {"mov.b16 %hc, 0x8200; fma.rn.ftz.relu.f16 %hd, %ha, %hb, %hc;", 16, 0x5c01, 0x8001, 0},
    {"abs.f32 %d, %a;", 32, 0xffa00000, 0, 0x7fffffff},
    {"neg.f32 %d, %a;", 32, 0x7f800001, 0, 0x7fffffff},
    {"abs.ftz.f16x2 %d, %a;", 32, 0xff8380c4, 0, 0x7fff0000},
    {"neg.bf16x2 %d, %a;", 32, 0x7fa50019, 0, 0x7fff8019},
    {"abs.f64 %ld, %la;", 64, UINT64_C(0xfff4000000000000), 0, UINT64_C(0xfffc000000000000)},
    {"neg.f64 %ld, %la;", 64, UINT64_C(0x7fff30075fbc86fc), 0, UINT64_C(0x7fff30075fbc86fc)},
    {"add.f64 %ld, %la, %lb;", 64, UINT64_C(0x7fffffffffffffff), UINT64_C(0xc0e0000000000001),
     UINT64_C(0x7fffffffffffffff)},
    {"sub.f64 %ld, %la, %lb;", 64, UINT64_C(0x8000000000000000), UINT64_C(0xfffffffffffffffd),
     UINT64_C(0xfffffffffffffffd)},
    {"fma.rn.f64 %ld, %la, %lb, %lc;", 64, UINT64_C(0x4160000000000000),
     UINT64_C(0xfff0000000000001), UINT64_C(0xfff8000000000001)},
    {"fma.rn.f64 %ld, %lb, %la, %la;", 64, UINT64_C(0xfff0000000000001), 0,
     UINT64_C(0xfff8000000000001)},
    /* Of several NaNs fma takes b, then c, then a; a division the dividend. */
    {"mov.b64 %lc, 0x7ff8000000000015; fma.rn.f64 %ld, %la, %lb, %lc;", 64,
     UINT64_C(0x3e68200000000001), UINT64_C(0xfff8000000000015), UINT64_C(0xfff8000000000015)},
    {"mov.b64 %lc, 0xfffc000000000001; fma.rn.f64 %ld, %la, %lb, %lc;", 64,
     UINT64_C(0x3f6853f65f66bae9), UINT64_C(0x7ff4000000000000), UINT64_C(0x7ffc000000000000)},
    {"mov.b64 %lc, 0xfff8000000000002; fma.rz.f64 %ld, %la, %lb, %lc;", 64,
     UINT64_C(0x7ff8000000000001), UINT64_C(0x3ff0000000000000), UINT64_C(0xfff8000000000002)},
    {"mul.f64 %ld, %la, %lb;", 64, UINT64_C(0x7ff8000000000001), UINT64_C(0xfff8000000000002),
     UINT64_C(0xfff8000000000002)},
    {"div.rn.f64 %ld, %la, %lb;", 64, UINT64_C(0x7ff4000000000000), UINT64_C(0x7ff4000000100000),
     UINT64_C(0x7ffc000000000000)},
    {"div.rz.f64 %ld, %la, %lb;", 64, UINT64_C(0x7ff0000000000001), UINT64_C(0xfff0000000000001),
     UINT64_C(0x7ff8000000000001)},
    {"rcp.rn.f64 %ld, %la;", 64, UINT64_C(0x7ff0000000000001), 0, UINT64_C(0x7ff8000000000001)},
    {"min.f64 %ld, %la, %lb;", 64, UINT64_C(0x7ff4000000000000), UINT64_C(0x7ff4000000100000),
     UINT64_C(0x7ffc000000100000)},
    {"rsqrt.approx.ftz.f64 %ld, %la;", 64, UINT64_C(0x7ff0000000000001), 0, 0},
    {"testp.normal.f64 %p, %la; selp.b32 %d, 1, 0, %p;", 32, UINT64_C(0x8000000000000000), 0, 1},
    {"testp.normal.f32 %p, %a; selp.b32 %d, 1, 0, %p;", 32, 1, 0, 0},
    {"rem.u16 %hd, %ha, %hb;", 16, 0xafff, 0, 0xffff},
    {"rem.s64 %ld, %la, %lb;", 64, UINT64_C(0xc000000000000000), 0, UINT64_MAX},
    {"cvt.rn.sat.f16.s8 %hd, %a;", 16, 0x80, 0, 0},
    {"cvt.rp.sat.f32.s64 %d, %la;", 32, UINT64_C(0xfffffffffffffee0), 0, 0},
    {"cvt.rn.sat.f64.u8 %ld, %a;", 64, 0xff, 0, UINT64_C(0x3ff0000000000000)},
    {"cvt.rz.sat.f64.s64 %ld, %la;", 64, UINT64_C(0xb000000000000000), 0, 0},
    {"cvt.rni.u8.f64 %d, %la;", 32, UINT64_C(0x7ff0000000000001), 0, 0x80},
    {"cvt.rzi.s32.f64 %d, %la;", 32, UINT64_C(0xfff0000000000001), 0, 0x80000000},
    {"cvt.rni.s8.f64 %d, %la;", 32, UINT64_C(0x7ff0000000000001), 0, 0xffffff80},
    {"cvt.rzi.s8.f32 %d, %a;", 32, 0xc0be66d2, 0, 0xfffffffb},
    {"cvt.rni.s8.f16 %d, %ha;", 32, 0xda00, 0, 0xffffff80},
    {"cvt.f32.f32 %d, %a;", 32, 0x7f800001, 0, 0x7f800001},
    {"cvt.f64.f64 %ld, %la;", 64, UINT64_C(0x7ff0000000000001), 0, UINT64_C(0x7ff0000000000001)},
    {"cvt.rni.f64.f64 %ld, %la;", 64, UINT64_C(0x7ff0000000000001), 0,
     UINT64_C(0x7ff8000000000001)},
    {"cvt.f64.f16 %ld, %ha;", 64, 0x7c01, 0, UINT64_C(0x7ff8040000000000)},
    {"cvt.f64.f32 %ld, %a;", 64, 0xffa00000, 0, UINT64_C(0xfffc000000000000)},
    {"cvt.ftz.f64.f32 %ld, %a;", 64, 0xffa00000, 0, UINT64_C(0x7fffffffe0000000)},
    {"cvt.f64.bf16 %ld, %ha;", 64, 0x7f81, 0, UINT64_C(0x7ff8200000000000)},
    {"cvt.f32.bf16 %d, %ha;", 32, 0xffff, 0, 0xffff0000},
    {"cvt.ftz.f32.bf16 %d, %ha;", 32, 0xffff, 0, 0x7fffffff},
    {"cvt.rn.f16.f64 %hd, %la;", 16, UINT64_C(0x7fff30075fbc86fc), 0, 0x7fcc},
    {"cvt.rn.f32.f64 %d, %la;", 32, UINT64_C(0x7fff30075fbc86fc), 0, 0x7ff9803a},
    {"cvt.rz.bf16.f64 %hd, %la;", 16, UINT64_C(0xfff0000000000001), 0, 0xffc0},
    {"cvt.rm.ftz.f16.f32 %hd, %a;", 16, 0x80000001, 0, 0x8001},
    {"cvt.rna.tf32.f32 %d, %a;", 32, 0x7f800001, 0, 0x7f800000},
    {"cvt.rna.tf32.f32 %d, %a;", 32, 0x7fe26a5d, 0, 0x7fe26000},
    {"cvt.rna.satfinite.tf32.f32 %d, %a;", 32, 0x7f800001, 0, 0x7f7fe000},
    {"cvt.rna.satfinite.tf32.f32 %d, %a;", 32, 0x7fe26a5d, 0, 0x7fe24000},
    {"cvt.rn.tf32.f32 %d, %a;", 32, 0x7f800001, 0, 0x7fffe000},
    {"div.full.f32 %d, %a, %b;", 32, 0x40400000, 0x40000000, 0x3fc00000},
    {"div.approx.f32 %d, %a, %b;", 32, 0x40000000, 0x7f000000, 0},
    {"rcp.approx.ftz.f32 %d, %a;", 32, 0x80000001, 0, 0xff800000},
    {"rsqrt.approx.f32 %d, %a;", 32, 0xbf800000, 0, 0x7fffffff},
    {"ex2.approx.ftz.f32 %d, %a;", 32, 0xff800000, 0, 0},
    {"lg2.approx.f32 %d, %a;", 32, 0, 0, 0xff800000},
    {"set.lt.u32.f32 %d, %a, %b;", 32, 0x3f800000, 0x40000000, 0xffffffff},
    {"setp.ltu.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", 32, 0x7fc00000, 0, 1},
    {"setp.lt.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", 32, 0x7fc00000, 0, 0},
    {"setp.num.f32 %p|%q, %a, %b; selp.b32 %d, 1, 0, %q;", 32, 0x7fc00000, 0, 1},
    {"testp.subnormal.f32 %p, %a; selp.b32 %d, 1, 0, %p;", 32, 1, 0, 1},
    {"copysign.f32 %d, %a, %b;", 32, 0x80000000, 0x3f800000, 0xbf800000},
    {"add.rn.f32.bf16 %d, %ha, %b;", 32, 0x3f80, 0x40000000, 0x40400000},
    {"fma.rn.relu.f16x2 %d, %a, %b, 0;", 32, 0xbc003c00, 0x3c003c00, 0x00003c00},
    {"slct.u32.s32 %d, 5, 6, %a;", 32, 0xffffffff, 0, 6},
    {"fns.b32 %d, %a, 0, %b;", 32, 0xf0, 3, 6},
    {"fns.b32 %d, %a, 0x1d, %b;", 32, 0xcc000001, 0x80000000, 0},
    {"fns.b32 %d, %a, 0x12, %b;", 32, 3, 0x80000001, 0xffffffff},
    {"mov.b64 {%d, %e}, %la; add.s32 %d, %d, %e;", 32, UINT64_C(0x0000000500000007), 0, 12},
    {"mov.b64 %ld, {%a, %b};", 64, 1, 2, UINT64_C(0x0000000200000001)},
    {"ld.global.v2.s16 {%lb, %ld}, [%rd1];", 64, 0x8001fff0, 0, UINT64_C(0xffffffffffff8001)},
    {"ld.global.v4.s8 {%e, %e, %d, %e}, [%rd1];", 32, 0x00850000, 0, 0xffffff85},
    {"ld.global.v2.u16 {%lb, %ld}, [%rd1];", 64, 0x8001fff0, 0, 0x8001},
    {".shared .b64 s; st.shared.u64 [s], %la; bar.sync 0; setp.eq.u32 %p, %i, 0;\n"
     "@%p atom.shared.add.f64 %lc, [s], %lb; @%p ld.shared.u64 %ld, [s];",
     64, UINT64_C(0xfff0000000000001), UINT64_C(0xbfd0000000000000), UINT64_C(0xfff8000000000001)},
    {"atom.global.add.f64 %lc, [%rd2], %la; ld.global.u64 %ld, [%rd2];", 64,
     UINT64_C(0xfff0000000000001), UINT64_C(0xbfd0000000000000), UINT64_C(0xfff0000000000001)},
};

static void test_special_cases(void **state) {
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        for (unsigned t = 0; t < COUNT; t++) {
            A[t] = specials[i].a;
            B[t] = specials[i].b;
            C[t] = 0;
        }
        run(specials[i].text, specials[i].bits, A, B, C, D);
        if (D[0] != specials[i].want)
            fail_msg("%s of %#lx, %#lx: %#lx, wanted %#lx", specials[i].text, A[0], B[0], D[0],
                     specials[i].want);
    }
}

static void test_approximations(void **state) {
    static const struct {
        const char *text;
        double (*function)(double);
        double relative, absolute, from, to;
    } all[] = {
        {"ex2.approx.f32 %d, %a;", exp2, 0x1p-22, 0, -20, 20},
        {"lg2.approx.f32 %d, %a;", log2, 0x1p-22, 0x1p-22, 0.01, 100},
        {"sqrt.approx.f32 %d, %a;", sqrt, 0x1p-23, 0, 0, 1e6},
        {"sin.approx.f32 %d, %a;", sin, 0, 0x1p-20, -3.14, 3.14},
        {"cos.approx.f32 %d, %a;", cos, 0, 0x1p-20, -3.14, 3.14},
        {"tanh.approx.f32 %d, %a;", tanh, 0x1p-11, 0, -5, 5},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (unsigned t = 0; t < COUNT; t++)
            A[t] = f32_bits((float)(all[i].from + (all[i].to - all[i].from) * t / (COUNT - 1)));
        run(all[i].text, 32, A, B, C, D);
        for (unsigned t = 0; t < COUNT; t++) {
            double want = all[i].function((double)f32(A[t])), got = (double)f32(D[t]);
            if (fabs(got - want) > all[i].absolute + all[i].relative * fabs(want))
                fail_msg("%s of %g: %g, wanted %g", all[i].text, (double)f32(A[t]), got, want);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_special_cases),
        cmocka_unit_test(test_approximations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
