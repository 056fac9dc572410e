/* wgmma against exact sums: shapes, types, operands in shared memory with every layout and in
 * registers.
 *
 * Two warpgroups multiply a 128 x K by a K x N matrix, K of 128 bytes or 64 elements, in steps of
 * 32 bytes. The host lays the operands out as TMA would (the bytes of a row follow each other
 * within the span of the swizzle, pieces of 16 bytes exchanged by the row's number), the kernel
 * copies them to shared memory. All values are small integers, so that every model of accumulation
 * gives the exact result. */
#include "matrix_test.h"

#include <stdio.h>
#include <string.h>

typedef struct Types {
    const Number *a, *b, *d;
} Types;

typedef struct Layout {
    unsigned span; /* 16: no swizzle */
    bool k_major;
} Layout;

typedef struct Case {
    Types types;
    unsigned n;
    Layout a, b;
    bool a_in_registers;
    int scale_a, scale_b;
    bool accumulates; /* the first step too: registers begin with 1 */
    bool early;
} Case;

enum { ROWS = 128, MAX_N = 256, MAX_K = 128, MAX_BYTES = (ROWS + MAX_N) * 128 };

/* Matrices as [row or column][k]. */
static uint32_t A[ROWS][MAX_K], B[MAX_N][MAX_K];
static uint8_t image[MAX_BYTES];
static uint32_t a_registers[4][256][4]; /* by step, thread, register */
static uint32_t d_registers[256][MAX_N / 2];

static unsigned depth_of(const Case *c) {
    unsigned bytes = c->types.a->bits / 8;
    return c->a.k_major && c->b.k_major ? 128 / bytes : 64;
}

/* The place of element (row, k) of a matrix of `rows` rows. */
static unsigned place(const Case *c, Layout layout, unsigned rows, unsigned row, unsigned k) {
    unsigned bytes = c->types.a->bits / 8, span = layout.span;
    unsigned lines = layout.k_major ? rows : depth_of(c);
    unsigned line = layout.k_major ? row : k, along = (layout.k_major ? k : row) * bytes;
    unsigned shift = span == 128  ? line % 8
                     : span == 64 ? line / 2 % 4
                     : span == 32 ? line / 4 % 2
                                  : 0;
    unsigned piece = along % span / 16 ^ shift;
    return along / span * lines * span + line * span + piece * 16 + along % 16;
}

static uint64_t descriptor(const Case *c, Layout layout, unsigned rows) {
    unsigned lines = layout.k_major ? rows : depth_of(c), span = layout.span;
    uint64_t leading = lines * span, stride = 8 * span, code = span == 128 ? 1 : span == 64 ? 2 : 3;
    if (span == 16) {
        code = 0;
        /* Between core matrices along k, and along rows. */
        leading = layout.k_major ? lines * 16 : 128;
        stride = layout.k_major ? 128 : lines * 16;
    }
    return code << 62 | stride >> 4 << 32 | leading >> 4 << 16;
}

static void fill(const Case *c, uint32_t *state) {
    unsigned bytes = c->types.a->bits / 8, k_count = depth_of(c), b_base = ROWS * k_count * bytes;
    int limit = c->types.a == &e5m2_ || c->types.b == &e5m2_ ? 2 : 3;
    memset(image, 0, sizeof image);
    for (unsigned k = 0; k < k_count; k++) {
        for (unsigned m = 0; m < ROWS; m++) {
            int value = small_integer(state, limit);
            A[m][k] = number_bits(c->types.a, c->types.a->is_signed ? value : value & 3);
            memcpy(image + place(c, c->a, ROWS, m, k), &A[m][k], bytes);
        }
        for (unsigned n = 0; n < c->n; n++) {
            int value = small_integer(state, limit);
            B[n][k] = number_bits(c->types.b, c->types.b->is_signed ? value : value & 3);
            memcpy(image + b_base + place(c, c->b, c->n, n, k), &B[n][k], bytes);
        }
    }
    /* Four registers a thread: rows g and g + 8, then the same rows 16 bytes further. */
    unsigned per = 4 / bytes;
    for (unsigned t = 0; t < 256; t++)
        for (unsigned r = 0; r < 4; r++)
            for (unsigned step = 0; step * 32 / bytes < k_count && step < 4; step++) {
                unsigned row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8;
                unsigned k = step * 32 / bytes + t % 4 * per + r / 2 * 4 * per;
                uint32_t word = 0;
                for (unsigned i = 0; i < per; i++)
                    word |= A[row][k + i] << (i * 8 * bytes);
                a_registers[step][t][r] = word;
            }
}

static void put_registers(StrBuf *out, const char *name, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(out, "%s%%%s%u", i ? ", " : "{", name, i);
    strbuf_puts(out, "}");
}

static unsigned d_count(const Case *c) {
    return c->n / 2 * c->types.d->bits / 32;
}

/* One step: descriptors are those of the whole matrix with the start moved. */
static void put_step(const Case *c, StrBuf *out, unsigned step) {
    unsigned bytes = c->types.a->bits / 8, k = step * 32 / bytes;
    unsigned a_at = place(c, c->a, ROWS, 0, k), b_at = place(c, c->b, c->n, 0, k);
    unsigned steps = 32 / bytes;
    const char *d = c->types.d->name, *a = c->types.a->name, *b = c->types.b->name;
    if (c->a_in_registers)
        strbuf_printf(
            out,
            "ld.global.v4.b32 {%%a0, %%a1, %%a2, %%a3}, [%%in_a+%u]; wgmma.fence.sync.aligned;\n",
            step * 256 * 16);
    strbuf_printf(out, "add.u64 %%da, %%base_a, %u; add.u64 %%db, %%base_b, %u;\n", a_at / 16,
                  b_at / 16);
    strbuf_printf(out, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s ", c->n, steps, d, a, b);
    put_registers(out, "d", d_count(c));
    if (c->a_in_registers)
        strbuf_puts(out, ", {%a0, %a1, %a2, %a3}, %db");
    else
        strbuf_puts(out, ", %da, %db");
    strbuf_printf(out, ", %s", step || c->accumulates ? "%yes" : "%no");
    if (c->types.a->exponent)
        strbuf_printf(out, ", %d, %d", c->scale_a, c->scale_b);
    if (bytes == 2 && !c->a_in_registers)
        strbuf_printf(out, ", %d", !c->a.k_major);
    if (bytes == 2)
        strbuf_printf(out, ", %d", !c->b.k_major);
    strbuf_puts(out, ";\n");
    if (c->a_in_registers)
        strbuf_puts(out, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
}

static const char *kernel(const Case *c, Arena *arena) {
    StrBuf out = strbuf(arena);
    unsigned bytes = c->types.a->bits / 8, size = (ROWS + c->n) * depth_of(c) * bytes;
    /* A of the second warpgroup begins 64 rows further. */
    unsigned half = place(c, c->a, ROWS, 64, 0);
    strbuf_puts(&out,
                PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 a, .param .u64 y) {\n"
                           ".reg .pred %p, %yes, %no; .reg .b32 %r<9>, %v<4>, %a<4>, %d<128>;\n"
                           ".reg .b64 %x, %y, %in_a, %o, %h, %base_a, %base_b, %da, %db;\n");
    strbuf_printf(&out, ".shared .align 1024 .b8 buf[%u];\n", size);
    strbuf_printf(&out,
                  "ld.param.u64 %%x, [x]; ld.param.u64 %%in_a, [a]; ld.param.u64 %%y, [y];\n"
                  "mov.u32 %%r0, %%tid.x; shl.b32 %%r1, %%r0, 4; mov.u32 %%r2, buf;\n"
                  "cvt.u64.u32 %%o, %%r1; add.u64 %%in_a, %%in_a, %%o; mov.u32 %%r3, %%r1;\n"
                  "copy: setp.ge.u32 %%p, %%r3, %u; @%%p bra done;\n"
                  "cvt.u64.u32 %%o, %%r3; add.u64 %%o, %%x, %%o; add.u32 %%r4, %%r2, %%r3;\n"
                  "ld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%o];\n"
                  "st.shared.v4.b32 [%%r4], {%%v0, %%v1, %%v2, %%v3};\n"
                  "add.u32 %%r3, %%r3, 4096; bra copy;\n"
                  "done: fence.proxy.async.shared::cta; bar.sync 0;\n"
                  "setp.eq.u32 %%yes, 0, 0; setp.ne.u32 %%no, 0, 0;\n",
                  size);
    strbuf_printf(
        &out,
        "shr.u32 %%r5, %%r0, 7; mad.lo.u32 %%r5, %%r5, %u, %%r2; shr.u32 %%r5, %%r5, 4;\n"
        "cvt.u64.u32 %%base_a, %%r5; mov.b64 %%h, %llu; or.b64 %%base_a, %%base_a, %%h;\n"
        "add.u32 %%r6, %%r2, %u; shr.u32 %%r6, %%r6, 4;\n"
        "cvt.u64.u32 %%base_b, %%r6; mov.b64 %%h, %llu; or.b64 %%base_b, %%base_b, %%h;\n",
        half, (unsigned long long)descriptor(c, c->a, ROWS), ROWS * depth_of(c) * bytes,
        (unsigned long long)descriptor(c, c->b, c->n));
    for (unsigned i = 0; c->accumulates && i < d_count(c); i++)
        strbuf_printf(&out, "mov.b32 %%d%u, 0x%x;\n", i,
                      number_bits(c->types.d, 1) * (c->types.d->bits == 16 ? 0x10001u : 1u));
    strbuf_puts(&out, "wgmma.fence.sync.aligned;\n");
    for (unsigned step = 0; step * 32 / bytes < depth_of(c); step++)
        put_step(c, &out, step);
    strbuf_puts(&out, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
    strbuf_printf(&out, "mul.wide.u32 %%o, %%r0, %u; add.u64 %%y, %%y, %%o;\n",
                  (unsigned)sizeof d_registers[0]);
    for (unsigned i = 0; i < d_count(c); i++)
        strbuf_printf(&out, "st.global.b32 [%%y+%u], %%d%u;\n", 4 * i, i);
    strbuf_puts(&out, "ret;\n}\n");
    return out.ptr;
}

/* The value of a lane's i-th accumulator, and where it lies. */
static double result(const Case *c, unsigned t, unsigned i, unsigned *row, unsigned *column) {
    *row = t / 32 * 16 + t % 32 / 4 + (i / 2 % 2) * 8;
    *column = i / 4 * 8 + t % 4 * 2 + i % 2;
    unsigned per = 32 / c->types.d->bits;
    uint32_t word = d_registers[t][i / per] >> (i % per * c->types.d->bits);
    return number_value(c->types.d, per == 2 ? word & 0xffff : word);
}

static void run(const Case *c) {
    static uint32_t state = 1;
    fill(c, &state);
    SimTest test = sim_test_begin();
    const char *text = kernel(c, &test.ctx->arena);
    char name[200];
    snprintf(name, sizeof name, "n%u %s.%s.%s A %u%s%s B %u%s", c->n, c->types.d->name,
             c->types.a->name, c->types.b->name, c->a.span, c->a.k_major ? "" : " transposed",
             c->a_in_registers ? " in registers" : "", c->b.span,
             c->b.k_major ? "" : " transposed");
    if (!sim_test_parse(&test, text))
        fail_msg("%s: %s", name, sim_test_messages(&test));
    const SimArrayArg arrays[] = {{"x", image, sizeof image, NULL},
                                  {"a", a_registers, sizeof a_registers, NULL},
                                  {"y", d_registers, sizeof d_registers, NULL}};
    if (!sim_test_run(&test, (SimLaunch){.block = {256}, .early = c->early}, arrays, 3))
        fail_msg("%s: %s", name, sim_test_messages(&test));
    for (unsigned t = 0; t < 256; t++)
        for (unsigned i = 0; i < c->n / 2; i++) {
            unsigned m, n;
            double got = result(c, t, i, &m, &n), want = 0;
            for (unsigned k = 0; k < depth_of(c); k++)
                want += number_value(c->types.a, A[m][k]) * number_value(c->types.b, B[n][k]);
            want = want * c->scale_a * c->scale_b + c->accumulates;
            if (got != want)
                fail_msg("%s: row %u, column %u is %g, wanted %g", name, m, n, got, want);
        }
    sim_test_end(&test);
}

static const Types all_types[] = {
    {&f16_, &f16_, &f32_},   {&f16_, &f16_, &f16_},   {&bf16_, &bf16_, &f32_},
    {&tf32_, &tf32_, &f32_}, {&e4m3_, &e4m3_, &f32_}, {&e4m3_, &e5m2_, &f32_},
    {&e5m2_, &e4m3_, &f16_}, {&e5m2_, &e5m2_, &f32_}, {&s8_, &s8_, &s32_},
    {&s8_, &u8_, &s32_},     {&u8_, &s8_, &s32_},     {&u8_, &u8_, &s32_},
};
enum { TYPES = sizeof all_types / sizeof *all_types };
static const unsigned spans[] = {16, 32, 64, 128};

static void test_types(void **state) {
    for (unsigned i = 0; i < TYPES; i++)
        for (unsigned a = 0; a < 4; a++)
            run(&(Case){.types = all_types[i],
                        .n = 24,
                        .a = {spans[a], true},
                        .b = {spans[(a + i) % 4], true},
                        .scale_a = 1,
                        .scale_b = 1,
                        .early = i % 2});
}

static void test_columns(void **state) {
    for (unsigned n = 8; n <= 256; n += 8) {
        run(&(Case){.types = all_types[n / 8 % 8],
                    .n = n,
                    .a = {128, true},
                    .b = {128, true},
                    .scale_a = 1,
                    .scale_b = 1,
                    .accumulates = n % 16 == 0});
        if (n <= 32 || n % 16 == 0)
            run(&(Case){.types = all_types[8],
                        .n = n,
                        .a = {128, true},
                        .b = {64, true},
                        .scale_a = 1,
                        .scale_b = 1});
    }
}

/* Every pair of layouts of A and B for 16-bit types; columns beyond one span of the swizzle. */
static void test_transposes(void **state) {
    for (unsigned i = 0; i < 64; i++)
        run(&(Case){.types = all_types[i % 3],
                    .n = i % 2    ? 128
                         : i & 32 ? 72
                                  : 64,
                    .a = {spans[i % 4], i & 16},
                    .b = {spans[i / 4 % 4], i & 32},
                    .scale_a = 1,
                    .scale_b = 1});
}

static void test_registers(void **state) {
    for (unsigned i = 0; i < TYPES; i++)
        for (unsigned transposed = 0; transposed < (all_types[i].a->bits == 16 ? 2 : 1);
             transposed++)
            run(&(Case){.types = all_types[i],
                        .n = transposed ? 64 : 40 - 8 * (all_types[i].d == &s32_),
                        .a = {128, true},
                        .b = {spans[(i + 1) % 4], !transposed},
                        .a_in_registers = true,
                        .scale_a = i % 3 || !all_types[i].a->exponent ? 1 : -1,
                        .scale_b = 1,
                        .accumulates = i % 2,
                        .early = i % 2 == 0});
}

static void test_signs(void **state) {
    for (unsigned i = 0; i < 8; i++)
        run(&(Case){.types = all_types[i],
                    .n = 16,
                    .a = {128, true},
                    .b = {128, true},
                    .scale_a = i % 2 ? -1 : 1,
                    .scale_b = i % 4 / 2 ? -1 : 1,
                    .accumulates = true});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),      cmocka_unit_test(test_columns),
        cmocka_unit_test(test_transposes), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
