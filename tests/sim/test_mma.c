/* mma.sync in every shape and type: fragments as the PTX ISA lists them, and sums bit for bit as
 * docs/simulator.md describes them, computed here in integers.
 *
 * A case runs with small integers, for which every order of summation gives the exact result, then
 * with numbers of many magnitudes and with any bits at all. */
#include "matrix_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const Number f64_ = {"f64", 64, 11, 52, true};

typedef struct Case {
    unsigned m, n, k;
    const Number *a, *b, *d;
    unsigned sm;
    int fraction, kept; /* of the sums; kept: fraction bits of an f32 result */
    unsigned step;
    bool in_f16; /* fp8 as two products of f16, to which c is added */
} Case;

static const Case cases[] = {
    {16, 8, 8, &f16_, &f16_, &f32_, 80, 24, 23, 8, false},
    {16, 8, 8, &f16_, &f16_, &f16_, 90, 25, 23, 8, false},
    {16, 8, 16, &f16_, &f16_, &f32_, 80, 24, 23, 8, false},
    {16, 8, 16, &f16_, &f16_, &f32_, 90, 25, 23, 16, false},
    {16, 8, 16, &f16_, &f16_, &f16_, 86, 24, 23, 8, false},
    {16, 8, 16, &f16_, &f16_, &f16_, 90, 25, 23, 16, false},
    {16, 8, 8, &bf16_, &bf16_, &f32_, 80, 24, 23, 8, false},
    {16, 8, 16, &bf16_, &bf16_, &f32_, 80, 24, 23, 8, false},
    {16, 8, 16, &bf16_, &bf16_, &f32_, 90, 25, 23, 16, false},
    {16, 8, 4, &tf32_, &tf32_, &f32_, 80, 24, 23, 4, false},
    {16, 8, 8, &tf32_, &tf32_, &f32_, 80, 24, 23, 4, false},
    {16, 8, 8, &tf32_, &tf32_, &f32_, 90, 25, 23, 8, false},
    {16, 8, 16, &e4m3_, &e5m2_, &f32_, 89, 13, 13, 16, false},
    {16, 8, 32, &e4m3_, &e4m3_, &f32_, 89, 13, 13, 16, false},
    {16, 8, 32, &e5m2_, &e4m3_, &f16_, 89, 13, 13, 16, false},
    {16, 8, 32, &e5m2_, &e5m2_, &f32_, 90, 25, 23, 16, true},
    {16, 8, 32, &e4m3_, &e4m3_, &f32_, 100, 25, 23, 16, true},
    {16, 8, 16, &e4m3_, &e5m2_, &f32_, 90, 25, 23, 8, true},
    {16, 8, 32, &e4m3_, &e5m2_, &f16_, 90, 25, 23, 16, true},
    {16, 8, 32, &e4m3_, &e5m2_, &f32_, 120, 25, 23, 32, false},
    {8, 8, 16, &s8_, &s8_, &s32_, 80, 0, 0, 0, false},
    {16, 8, 16, &u8_, &s8_, &s32_, 80, 0, 0, 0, false},
    {16, 8, 32, &s8_, &u8_, &s32_, 90, 0, 0, 0, false},
    {16, 8, 32, &u8_, &u8_, &s32_, 90, 0, 0, 0, false},
    {8, 8, 4, &f64_, &f64_, &f64_, 80, 0, 0, 0, false},
    {16, 8, 4, &f64_, &f64_, &f64_, 90, 0, 0, 0, false},
    {16, 8, 8, &f64_, &f64_, &f64_, 90, 0, 0, 0, false},
    {16, 8, 16, &f64_, &f64_, &f64_, 90, 0, 0, 0, false},
};

/* Bits of every element, [row][k], [k][column], [row][column]. */
static uint64_t A[16][32], B[32][8], C[16][8], D[16][8];
/* Registers by lane, of 32 or 64 bits. */
static uint64_t words_a[32 * 8], words_b[32 * 8], words_c[32 * 8], words_d[32 * 8];

/* Element i of a lane's part of A: the tables of the PTX ISA for each width of an element. */
static void place_a(const Case *c, unsigned lane, unsigned i, unsigned *row, unsigned *k) {
    unsigned g = lane / 4, q = lane % 4;
    switch (c->a->bits) {
    case 8: /* a0..a3, a8..a11 in row g; from a8 on 16 further (m16n8k32) */
        *row = g + (c->m == 16 && (i & 4) ? 8 : 0);
        *k = q * 4 + (i & 3) + (i >= 8 ? 16 : 0);
        break;
    case 16: /* a0, a1, a4, a5 in row g; from a4 on 8 further */
        *row = g + (i & 2 ? 8 : 0);
        *k = q * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        break;
    case 32: /* a0, a2 in row g; a2, a3 4 further */
        *row = g + (i & 1 ? 8 : 0);
        *k = q + (i >= 2 ? 4 : 0);
        break;
    default: /* f64: rows alternate, then 4 further */
        *row = c->m == 8 ? g : g + (i & 1 ? 8 : 0);
        *k = c->m == 8 ? q : q + i / 2 * 4;
        break;
    }
}

static void place_b(const Case *c, unsigned lane, unsigned i, unsigned *k, unsigned *column) {
    unsigned per = c->b->bits >= 32 ? 1 : 32 / c->b->bits, q = lane % 4;
    *column = lane / 4;
    *k = q * per + i % per + i / per * 4 * per;
}

static void place_c(unsigned lane, unsigned i, unsigned *row, unsigned *column) {
    *row = lane / 4 + (i >= 2 ? 8 : 0);
    *column = lane % 4 * 2 + (i & 1);
}

static unsigned width(const Number *type) {
    return type->bits == 64 ? 64 : 32;
}

static void put(uint64_t *words, const Number *type, unsigned lane, unsigned i, unsigned per_lane,
                uint64_t bits) {
    unsigned bit = i * type->bits, word = bit / width(type);
    unsigned count = per_lane * type->bits / width(type);
    words[lane * count + word] |= bits << bit % width(type);
}

static void spread(const Case *c) {
    unsigned row, k, column;
    memset(words_a, 0, sizeof words_a);
    memset(words_b, 0, sizeof words_b);
    memset(words_c, 0, sizeof words_c);
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned i = 0; i < c->m * c->k / 32; i++) {
            place_a(c, lane, i, &row, &k);
            put(words_a, c->a, lane, i, c->m * c->k / 32, A[row][k]);
        }
        for (unsigned i = 0; i < c->n * c->k / 32; i++) {
            place_b(c, lane, i, &k, &column);
            put(words_b, c->b, lane, i, c->n * c->k / 32, B[k][column]);
        }
        for (unsigned i = 0; i < c->m * c->n / 32; i++) {
            place_c(lane, i, &row, &column);
            put(words_c, c->d, lane, i, c->m * c->n / 32, C[row][column]);
        }
    }
}

static void gather(const Case *c) {
    unsigned row, column, count = c->m * c->n / 32;
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < count; i++) {
            place_c(lane, i, &row, &column);
            unsigned bit = i * c->d->bits, words = count * c->d->bits / width(c->d);
            uint64_t word = words_d[lane * words + bit / width(c->d)] >> bit % width(c->d);
            D[row][column] = c->d->bits == 64 ? word : word & ((UINT64_C(1) << c->d->bits) - 1);
        }
}

static void put_vector(StrBuf *out, char name, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(out, "%s%%%c%u", i ? ", " : "{", name, i);
    strbuf_puts(out, "}");
}

static void run(const Case *c, bool saturates) {
    SimTest test = sim_test_begin();
    StrBuf out = strbuf(&test.ctx->arena);
    const unsigned counts[4] = {
        c->m * c->k / 32 * c->a->bits / width(c->a), c->n * c->k / 32 * c->b->bits / width(c->b),
        c->m * c->n / 32 * c->d->bits / width(c->d), c->m * c->n / 32 * c->d->bits / width(c->d)};
    const Number *types[4] = {c->a, c->b, c->d, c->d};
    strbuf_printf(&out, ".version 8.6\n.target sm_%u\n.address_size 64\n", c->sm);
    strbuf_puts(&out,
                ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
                ".reg .b32 %t; .reg .b64 %p, %o; mov.u32 %t, %tid.x;\n");
    for (unsigned i = 0; i < 4; i++) {
        strbuf_printf(&out, ".reg .b%u %%%c<8>;\n", width(types[i]), "abcd"[i]);
        for (unsigned r = 0; i < 3 && r < counts[i]; r++)
            strbuf_printf(
                &out,
                "ld.param.u64 %%p, [%c]; mul.wide.u32 %%o, %%t, %u; add.u64 %%p, %%p, %%o; "
                "ld.global.b%u %%%c%u, [%%p+%u];\n",
                "abcd"[i], counts[i] * 8, width(types[i]), "abcd"[i], r, r * 8);
    }
    strbuf_printf(&out, "mma.sync.aligned.m%un%uk%u.row.col%s.%s.%s.%s.%s ", c->m, c->n, c->k,
                  saturates ? ".satfinite" : "", c->d->name, c->a->name, c->b->name, c->d->name);
    for (unsigned i = 0; i < 4; i++) {
        unsigned which = i ? i - 1 : 3;
        strbuf_puts(&out, i ? ", " : "");
        put_vector(&out, "abcd"[which], counts[which]);
    }
    strbuf_puts(&out, ";\nld.param.u64 %p, [d];\n");
    strbuf_printf(&out, "mul.wide.u32 %%o, %%t, %u; add.u64 %%p, %%p, %%o;\n", counts[3] * 8);
    for (unsigned r = 0; r < counts[3]; r++)
        strbuf_printf(&out, "st.global.b%u [%%p+%u], %%d%u;\n", width(c->d), r * 8, r);
    strbuf_puts(&out, "ret;\n}\n");
    spread(c);
    memset(words_d, 0, sizeof words_d);
    const SimArrayArg arrays[] = {{"a", words_a, sizeof words_a, NULL},
                                  {"b", words_b, sizeof words_b, NULL},
                                  {"c", words_c, sizeof words_c, NULL},
                                  {"d", words_d, sizeof words_d, NULL}};
    if (!sim_test_parse(&test, out.ptr) || !sim_test_run(&test, (SimLaunch){.seed = 0}, arrays, 4))
        fail_msg("%s\n%s", sim_test_messages(&test), out.ptr);
    gather(c);
    sim_test_end(&test);
}

/* A number as sign, whole significand and the weight of its last bit. */
typedef struct Parts {
    bool negative, infinite, nan;
    uint64_t significand;
    int weight, exponent; /* exponent: of the first bit of a normal number */
} Parts;

static Parts parts_of(const Number *type, uint64_t bits) {
    unsigned mantissa = type->mantissa;
    if (type == &tf32_) { /* the low 13 bits are not read */
        bits >>= 13;
        mantissa = 10;
    }
    uint64_t all = (UINT64_C(1) << type->exponent) - 1, field = bits >> mantissa & all;
    Parts parts = {.negative = bits >> (mantissa + type->exponent) & 1,
                   .significand = bits & ((UINT64_C(1) << mantissa) - 1)};
    bool special = field == all && type != &e4m3_;
    parts.nan =
        special ? parts.significand != 0 : type == &e4m3_ && field == all && parts.significand == 7;
    parts.infinite = special && !parts.nan;
    parts.exponent = (int)(field ? field : 1) - (int)(all >> 1);
    parts.significand |= field ? UINT64_C(1) << mantissa : 0;
    parts.weight = parts.exponent - (int)mantissa;
    return parts;
}

static Parts product(Parts a, Parts b) {
    bool zero = (!a.significand && !a.infinite) || (!b.significand && !b.infinite);
    return (Parts){.negative = a.negative != b.negative,
                   .infinite = a.infinite || b.infinite,
                   .nan = a.nan || b.nan || ((a.infinite || b.infinite) && zero),
                   .significand = a.significand * b.significand,
                   .weight = a.weight + b.weight,
                   .exponent = a.exponent + b.exponent};
}

/* The bits of sum * 2^weight, cut to `kept` bits behind the first, or rounded to f16. */
static uint64_t round_sum(const Case *c, int64_t sum, int weight) {
    bool half = c->d == &f16_;
    uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum), sign = (uint64_t)(sum < 0);
    if (!magnitude)
        return 0;
    int mantissa = half ? 10 : 23, least = half ? -14 : -126, kept = half ? 10 : c->kept;
    int top = 63 - __builtin_clzll(magnitude) + weight;
    int last = (top < least ? least : top) - kept; /* weight of the last bit that stays */
    uint64_t steps = magnitude;
    if (last > weight) {
        int drop = last - weight;
        uint64_t rest = drop > 63 ? magnitude : magnitude & ((UINT64_C(1) << drop) - 1);
        steps = drop > 63 ? 0 : magnitude >> drop;
        uint64_t middle = drop > 63 ? 0 : UINT64_C(1) << (drop - 1);
        if (half && middle && (rest > middle || (rest == middle && steps & 1)))
            steps++;
    } else {
        steps <<= weight - last;
    }
    steps <<= mantissa - kept;
    last -= mantissa - kept;
    if (!steps)
        return 0;
    /* `steps` has the first bit unless the number is subnormal: a carry moves into the exponent. */
    uint64_t bits = ((uint64_t)(last + mantissa - least) << mantissa) + steps;
    uint64_t infinity = half ? 0x7c00 : 0x7f800000;
    return sign << (half ? 15 : 31) | (bits > infinity ? infinity : bits);
}

/* An element as f16, which has smaller normal numbers than e4m3. */
static Parts factor(const Case *c, const Number *type, uint64_t bits) {
    Parts parts = parts_of(type, bits);
    while (c->in_f16 && parts.significand && parts.exponent > -14 &&
           !(parts.significand >> type->mantissa)) {
        parts.significand *= 2;
        parts.weight--;
        parts.exponent--;
    }
    return parts;
}

static uint64_t sum_step(const Case *c, uint64_t acc, unsigned row, unsigned column,
                         unsigned number) {
    Parts terms[33] = {parts_of(c->d, acc)};
    unsigned count = 1, plus = 0, minus = 0, nans = 0;
    for (unsigned k = 0; k < c->k; k++)
        if (number == (c->in_f16 ? k % 4 / 2 : k / c->step))
            terms[count++] = product(factor(c, c->a, A[row][k]), factor(c, c->b, B[k][column]));
    /* The least that the largest exponent can be. */
    int top = -108 - c->fraction;
    for (unsigned i = 0; i < count; i++) {
        nans += terms[i].nan;
        plus += terms[i].infinite && !terms[i].negative;
        minus += terms[i].infinite && terms[i].negative;
        if (terms[i].significand && terms[i].exponent > top)
            top = terms[i].exponent;
    }
    bool half = c->d == &f16_;
    if (nans || (plus && minus))
        return half ? 0x7fff : 0x7fffffff;
    if (plus || minus)
        return (half ? 0x7c00u : 0x7f800000u) | (uint32_t)(minus != 0) << (half ? 15 : 31);
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        int shift = terms[i].weight - (top - c->fraction);
        uint64_t term = !terms[i].significand ? 0
                        : shift >= 0          ? terms[i].significand << shift
                        : shift < -63         ? 0
                                              : terms[i].significand >> -shift;
        sum += terms[i].negative ? -(int64_t)term : (int64_t)term;
    }
    return round_sum(c, sum, top - c->fraction);
}

static uint64_t add_nearest(const Case *c, uint64_t x, uint64_t y) {
    if (c->d == &f16_) {
        Parts a = parts_of(c->d, x), b = parts_of(c->d, y);
        if (a.nan || b.nan || (a.infinite && b.infinite && a.negative != b.negative))
            return 0x7fff;
        if (a.infinite || b.infinite)
            return a.infinite ? x : y;
        /* Both are multiples of 2^-24. */
        int64_t sum = 0, one = (int64_t)(a.significand << (a.weight + 24)),
                two = (int64_t)(b.significand << (b.weight + 24));
        sum = (a.negative ? -one : one) + (b.negative ? -two : two);
        return round_sum(c, sum, -24);
    }
    uint32_t bits[2] = {(uint32_t)x, (uint32_t)y}, result;
    float a, b;
    memcpy(&a, &bits[0], 4);
    memcpy(&b, &bits[1], 4);
    float sum = a + b;
    memcpy(&result, &sum, 4);
    return sum == sum ? result : 0x7fffffff;
}

static bool is_nan(uint64_t bits) {
    return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

/* A chain over k. Of its NaNs a step takes that of b, else the sum's, else that of a. */
static uint64_t wanted_f64(const Case *c, unsigned row, unsigned column) {
    uint64_t sum = C[row][column];
    for (unsigned k = 0; k < c->k; k++) {
        uint64_t chosen[] = {B[k][column], sum, A[row][k]};
        double a, b, s;
        memcpy(&a, &A[row][k], 8);
        memcpy(&b, &B[k][column], 8);
        memcpy(&s, &sum, 8);
        s = fma(a, b, s);
        memcpy(&sum, &s, 8);
        if (s != s)
            sum = UINT64_C(0xfff8000000000000);
        for (unsigned i = 3; i-- > 0;)
            if (is_nan(chosen[i]))
                sum = chosen[i] | UINT64_C(1) << 51;
    }
    return sum;
}

static uint64_t wanted(const Case *c, unsigned row, unsigned column, bool saturates) {
    if (c->d == &f64_)
        return wanted_f64(c, row, column);
    if (c->d == &s32_) {
        int64_t sum = (int32_t)C[row][column];
        for (unsigned k = 0; k < c->k; k++)
            sum += (int64_t)number_value(c->a, (uint32_t)A[row][k]) *
                   (int64_t)number_value(c->b, (uint32_t)B[k][column]);
        if (saturates)
            sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        return (uint32_t)sum;
    }
    uint64_t acc = c->in_f16 ? 0 : C[row][column];
    for (unsigned i = 0; i < c->k / c->step; i++)
        acc = sum_step(c, acc, row, column, i);
    return c->in_f16 ? add_nearest(c, C[row][column], acc) : acc;
}

typedef enum Numbers { WHOLE, SPREAD, TINY, ANY_BITS } Numbers;

/* An element: a small integer; one of middling exponent; one of the least; any bits. */
static uint64_t draw(const Number *type, Numbers numbers, uint32_t *state) {
    uint64_t bits = random_word(state) | (uint64_t)random_word(state) << 32;
    uint64_t keep = type->bits == 64 ? UINT64_MAX : (UINT64_C(1) << type->bits) - 1;
    /* Random bits of f64 are hardly ever NaN: some are made so. */
    if (numbers == ANY_BITS && type == &f64_ && random_word(state) % 16 == 0)
        bits |= UINT64_C(0x7ff0000000000000);
    if (numbers == ANY_BITS || (numbers != WHOLE && !type->exponent))
        return bits & keep;
    if (numbers == WHOLE) {
        double value = small_integer(state, 3);
        if (type == &f64_)
            memcpy(&bits, &value, 8);
        else
            bits = number_bits(type, type->is_signed ? value : fabs(value));
        return bits;
    }
    uint64_t all = (UINT64_C(1) << type->exponent) - 1, span = all < 32 ? all - 1 : 24;
    uint64_t exponent = (bits >> 40) % span + (all < 32 ? 0 : all / 2 - span / 2);
    if (numbers == TINY)
        exponent = (bits >> 40) % 3;
    bits = (uint64_t)random_word(state) | (uint64_t)random_word(state) << 32;
    bits &= keep & ~(all << type->mantissa);
    return bits | exponent << type->mantissa;
}

static void check(const Case *c, Numbers numbers, bool saturates) {
    static uint32_t state = 7;
    for (unsigned row = 0; row < c->m; row++) {
        for (unsigned k = 0; k < c->k; k++)
            A[row][k] = draw(c->a, numbers, &state);
        for (unsigned column = 0; column < c->n; column++)
            C[row][column] = draw(c->d, numbers, &state);
    }
    for (unsigned k = 0; k < c->k; k++)
        for (unsigned column = 0; column < c->n; column++)
            B[k][column] = draw(c->b, numbers, &state);
    run(c, saturates);
    for (unsigned row = 0; row < c->m; row++)
        for (unsigned column = 0; column < c->n; column++) {
            uint64_t want = wanted(c, row, column, saturates);
            if (D[row][column] != want)
                fail_msg("m%un%uk%u %s.%s.%s sm_%u, numbers %d: row %u, column %u is %#llx, wanted "
                         "%#llx",
                         c->m, c->n, c->k, c->d->name, c->a->name, c->b->name, c->sm, (int)numbers,
                         row, column, (unsigned long long)D[row][column], (unsigned long long)want);
        }
}

static void test_whole(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], WHOLE, false);
}

static void test_spread(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int times = 0; times < 20; times++)
            check(&cases[i], SPREAD, cases[i].d == &s32_ && times % 2);
}

static void test_tiny(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int times = 0; times < 10; times++)
            check(&cases[i], TINY, false);
}

static void test_any_bits(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int times = 0; times < 20; times++)
            check(&cases[i], ANY_BITS, cases[i].d == &s32_ && times % 2);
}

/* 2^-150, 2^-151 and so on to 2^-159, and that once more, are 2^-149, the least number of f32; but
 * bits below 2^-158 do not count. */
static void test_floor(void **state) {
    const Case bf16 = {16, 8, 16, &bf16_, &bf16_, &f32_, 90, 25, 23, 16, false};
    for (unsigned last = 158; last <= 159; last++) {
        memset(A, 0, sizeof A);
        memset(B, 0, sizeof B);
        memset(C, 0, sizeof C);
        for (unsigned k = 0; k <= last - 150 + 1; k++) {
            unsigned power = 150 + k < last ? 150 + k : last;
            A[0][k] = number_bits(&bf16_, ldexp(1, -75));
            B[k][0] = number_bits(&bf16_, ldexp(1, 75 - (int)power));
        }
        run(&bf16, false);
        assert_int_equal(D[0][0], last == 158);
    }
}

/* Targets that lack a form; ptxas refuses the same ones. */
static void test_targets(void **state) {
    static const struct {
        unsigned sm;
        bool fits;
        const char *insn;
    } all[] = {
        {75, true,
         "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
         "{%r6}, {%r0,%r1,%r2,%r3}"},
        {75, false,
         "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r0,%r1,%r2,%r3}, "
         "{%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3}"},
        {75, false,
         "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
         "{%r6}, {%r0,%r1,%r2,%r3}"},
        {80, false,
         "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%r0,%r1,%r2,%r3}, "
         "{%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3}"},
        {89, true,
         "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%r0,%r1,%r2,%r3}, "
         "{%r4,%r5}, {%r6}, {%r0,%r1,%r2,%r3}"},
        {89, false,
         "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, "
         "{%d4,%d5}, {%d6}, {%d0,%d1,%d2,%d3}"},
        {90, true,
         "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, {%d4,%d5}, "
         "{%d6}, {%d0,%d1,%d2,%d3}"},
        {90, false,
         "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%r0,%r1}, "
         "{%r2,%r3,%r4,%r5}, {%r6,%r7}, {%r0,%r1,%r2,%r3}"},
        {90, false, "wgmma.fence.sync.aligned"},
        {80, true, "cvt.rna.tf32.f32 %r0, %r1"},
        {80, false, "cvt.rn.tf32.f32 %r0, %r1"},
        {80, false, "cvt.rn.satfinite.e4m3x2.f32 %h, %r0, %r1"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SimTest test = sim_test_begin();
        const char *text =
            str_format(&test.ctx->arena,
                       ".version 8.6\n.target sm_%u\n.address_size 64\n.visible .entry k() {\n"
                       ".reg .b16 %%h; .reg .b32 %%r<9>; .reg .b64 %%d<9>;\n%s;\nret;\n}\n",
                       all[i].sm, all[i].insn);
        if ((sim_test_parse(&test, text) != NULL) != all[i].fits)
            fail_msg("sm_%u: %s: %s", all[i].sm, all[i].insn, sim_test_messages(&test));
        sim_test_end(&test);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole), cmocka_unit_test(test_spread),
        cmocka_unit_test(test_tiny),  cmocka_unit_test(test_any_bits),
        cmocka_unit_test(test_floor), cmocka_unit_test(test_targets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
