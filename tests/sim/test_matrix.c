/* ldmatrix, stmatrix, movmatrix: every count and both orders, rows in any order. */
#include "matrix_test.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 32, ELEMENTS = 8 };

/* Where a lane's half of register m lies: the table of the PTX ISA. */
static void place(bool trans, unsigned lane, unsigned half, unsigned *row, unsigned *column) {
    *row = trans ? lane % 4 * 2 + half : lane / 4;
    *column = trans ? lane / 4 : lane % 4 * 2 + half;
}

/* x: 32 rows of 16 bytes; rows: by lane the row its address names; y: 4 registers a lane, or the
 * rows. */
static void run(const char *body, uint16_t x[ROWS][ELEMENTS], uint32_t rows[32], void *y) {
    SimTest test = sim_test_begin();
    const char *text = str_format(
        &test.ctx->arena,
        PTX_HEADER ".visible .entry k(.param .u64 x, .param .u64 rows, .param .u64 y) {\n"
                   ".reg .b32 %%t, %%s, %%a, %%v<4>; .reg .b64 %%x, %%rows, %%y, %%o;\n"
                   ".shared .align 16 .b8 buf[512];\n"
                   "mov.u32 %%t, %%tid.x; mov.u32 %%s, buf; mul.wide.u32 %%o, %%t, 4;\n"
                   "ld.param.u64 %%rows, [rows]; add.u64 %%rows, %%rows, %%o;\n"
                   "ld.global.b32 %%a, [%%rows]; mad.lo.u32 %%a, %%a, 16, %%s;\n"
                   "ld.param.u64 %%x, [x]; ld.param.u64 %%y, [y]; mul.wide.u32 %%o, %%t, 16;\n"
                   "add.u64 %%x, %%x, %%o; add.u64 %%y, %%y, %%o; mad.lo.u32 %%s, %%t, 16, %%s;\n"
                   "ld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%x];\n%s\n"
                   "st.global.v4.b32 [%%y], {%%v0, %%v1, %%v2, %%v3};\nret;\n}\n",
        body);
    const SimArrayArg arrays[] = {
        {"x", x, ROWS * ELEMENTS * 2, NULL}, {"rows", rows, 32 * 4, NULL}, {"y", y, 512, NULL}};
    if (!sim_test_parse(&test, text) || !sim_test_run(&test, (SimLaunch){.block = {32}}, arrays, 3))
        fail_msg("%s\n%s", body, sim_test_messages(&test));
    sim_test_end(&test);
}

static void draw(uint16_t x[ROWS][ELEMENTS], uint32_t rows[32], uint32_t *state) {
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < ELEMENTS; j++)
            x[i][j] = (uint16_t)random_word(state);
        unsigned other = random_word(state) % (i + 1);
        rows[i] = rows[other];
        rows[other] = i;
    }
}

static const char *registers(unsigned count) {
    return count == 1 ? "{%v0}" : count == 2 ? "{%v0, %v1}" : "{%v0, %v1, %v2, %v3}";
}

static void test_load(void **unused) {
    uint32_t state = 1, rows[32] = {0}, y[32][4];
    uint16_t x[ROWS][ELEMENTS];
    for (unsigned count = 1; count <= 4; count *= 2)
        for (unsigned trans = 0; trans < 2; trans++) {
            char body[300];
            draw(x, rows, &state);
            snprintf(body, sizeof body,
                     "st.shared.v4.b32 [%%s], {%%v0, %%v1, %%v2, %%v3}; bar.warp.sync -1;\n"
                     "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %s, [%%a];",
                     count, trans ? ".trans" : "", registers(count));
            run(body, x, rows, y);
            for (unsigned i = 0; i < 32 * count * 2; i++) {
                unsigned lane = i % 32, m = i / 32 % count, half = i / 32 / count, row, column;
                place(trans, lane, half, &row, &column);
                assert_int_equal(y[lane][m] >> (16 * half) & 0xffff, x[rows[8 * m + row]][column]);
            }
        }
}

static void test_store(void **unused) {
    uint32_t state = 2, rows[32] = {0};
    uint16_t x[ROWS][ELEMENTS], y[ROWS][ELEMENTS];
    for (unsigned count = 1; count <= 4; count *= 2)
        for (unsigned trans = 0; trans < 2; trans++) {
            char body[400];
            draw(x, rows, &state);
            snprintf(body, sizeof body,
                     "st.shared.v4.b32 [%%s], {0, 0, 0, 0}; bar.warp.sync -1;\n"
                     "stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%a], %s; bar.warp.sync -1;\n"
                     "ld.shared.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%s];",
                     count, trans ? ".trans" : "", registers(count));
            run(body, x, rows, y);
            for (unsigned i = 0; i < 32 * count * 2; i++) {
                unsigned lane = i % 32, m = i / 32 % count, half = i / 32 / count, row, column;
                place(trans, lane, half, &row, &column);
                assert_int_equal(y[rows[8 * m + row]][column], x[lane][2 * m + half]);
            }
        }
}

static void test_move(void **unused) {
    uint32_t state = 3, rows[32] = {0}, y[32][4];
    uint16_t x[ROWS][ELEMENTS];
    draw(x, rows, &state);
    run("movmatrix.sync.aligned.m8n8.trans.b16 %v1, %v0;", x, rows, y);
    for (unsigned row = 0; row < 8; row++)
        for (unsigned column = 0; column < 8; column++)
            assert_int_equal(y[row * 4 + column / 2][1] >> (16 * (column % 2)) & 0xffff,
                             x[column * 4 + row / 2][row % 2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load), cmocka_unit_test(test_store),
                                       cmocka_unit_test(test_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
