/* Products on the interpreter before and after raise-pointers, for random sizes that are no
 * multiples of tiles, no rows and no depth included: what they store must be the same to the bit.
 */
#include "raise_testing.h"

/* Setups */

static int64_t elements(bool by_columns, int64_t rows, int64_t columns) {
    return by_columns ? extent(columns, rows, stride(rows))
                      : extent(rows, columns, stride(columns));
}

static void strides(Trial *t, bool by_columns, int64_t rows, int64_t columns) {
    trial_number(t, by_columns ? 1 : stride(columns));
    trial_number(t, by_columns ? stride(rows) : 1);
}

/* Which of a product's matrices lie by columns, and the types of its elements if not f16. */
enum { NN = 0, A_BY_COLUMNS = 1, B_BY_COLUMNS = 2, C_BY_COLUMNS = 4, OF_F32 = 8, OF_I8 = 16 };

static void matmul(Trial *t, int variant) {
    DType in = variant & OF_F32 ? DT_F32 : variant & OF_I8 ? DT_I8 : DT_F16;
    DType out = variant & OF_I8 ? DT_I32 : in;
    bool by_columns = variant & C_BY_COLUMNS;
    int64_t m = by_columns ? trial_line_size(t, 70) : trial_size(t, 70);
    int64_t n = by_columns ? trial_size(t, 70) : trial_line_size(t, 70),
            k = trial_below(t, 5) ? trial_size(t, 70) : 0;
    trial_array(t, in, elements(variant & A_BY_COLUMNS, m, k));
    trial_array(t, in, elements(variant & B_BY_COLUMNS, k, n));
    trial_array(t, out, elements(by_columns, m, n));
    trial_number(t, m), trial_number(t, n), trial_number(t, k);
    strides(t, variant & A_BY_COLUMNS, m, k);
    strides(t, variant & B_BY_COLUMNS, k, n);
    strides(t, by_columns, m, n);
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

/* M is specialised to 1. */
static void matmul_one_row(Trial *t, int variant) {
    int64_t n = trial_line_size(t, 70), k = trial_size(t, 70);
    trial_array(t, DT_F16, k);
    trial_array(t, DT_F16, elements(false, k, n));
    trial_array(t, DT_F16, n);
    trial_number(t, 1), trial_number(t, n), trial_number(t, k);
    strides(t, false, 1, k);
    strides(t, false, k, n);
    strides(t, false, 1, n);
    t->grid[0] = (uint32_t)cdiv(n, 32) * 2;
}

static void matmul_wide(Trial *t, int variant) {
    matmul(t, B_BY_COLUMNS);
    int64_t m = t->args[3].i, n = t->args[4].i;
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 48));
}

static void microscaled(Trial *t, int per_byte) {
    int64_t m = trial_size(t, 70), n = 16 * trial_size(t, 5), k = 64 * trial_below(t, 4);
    trial_array(t, DT_I8, extent(m, k, stride(k)));
    trial_array(t, DT_I8, m * (k / 32));
    trial_array(t, DT_I8, extent(n, k / per_byte, stride(k / per_byte)));
    trial_array(t, DT_I8, n * (k / 32));
    trial_array(t, DT_F32, m * n);
    trial_number(t, m), trial_number(t, n), trial_number(t, k), trial_number(t, stride(k));
    trial_number(t, stride(k / per_byte));
    t->grid[0] = (uint32_t)cdiv(m, 32);
    t->grid[1] = (uint32_t)cdiv(n, 32);
}

static void linear_gelu(Trial *t, int variant) {
    int64_t m = trial_size(t, 70), n = trial_line_size(t, 70), k = trial_size(t, 70);
    trial_array(t, DT_F16, extent(m, k, stride(k)));
    trial_array(t, DT_F16, extent(n, k, stride(k)));
    trial_array(t, DT_F16, n);
    trial_array(t, DT_F16, extent(m, n, stride(n)));
    trial_number(t, m), trial_number(t, n), trial_number(t, k);
    trial_number(t, stride(k)), trial_number(t, stride(k)), trial_number(t, stride(n));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

static void array_of_batches(Trial *t, int64_t batches, int64_t lines, int64_t line) {
    int64_t last = (batches - 1) * lines * stride(line);
    trial_array(t, DT_F16, last + extent(lines, line, stride(line)));
}

typedef struct Batch {
    int64_t batches, m, n, k;
} Batch;

static void batch_arrays(Trial *t, const Batch *b) {
    array_of_batches(t, b->batches, b->m, b->k);
    array_of_batches(t, b->batches, b->k, b->n);
    array_of_batches(t, b->batches, b->m, b->n);
}

/* Of batch, line and element. */
static void batch_strides(Trial *t, int64_t lines, int64_t line) {
    trial_number(t, lines * stride(line)), trial_number(t, stride(line)), trial_number(t, 1);
}

static void batch_sizes(Trial *t, const Batch *b) {
    trial_number(t, b->m), trial_number(t, b->n), trial_number(t, b->k);
    batch_strides(t, b->m, b->k);
    batch_strides(t, b->k, b->n);
    batch_strides(t, b->m, b->n);
}

static void batched(Trial *t, int variant) {
    int64_t batches = trial_size(t, 4), m = trial_size(t, 50);
    int64_t n = trial_line_size(t, 50), k = trial_size(t, 50);
    const Batch batch = {batches, m, n, k};
    batch_arrays(t, &batch);
    batch_sizes(t, &batch);
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
    t->grid[1] = (uint32_t)batches;
}

static void batched_small(Trial *t, int variant) {
    int64_t batches = trial_size(t, 5), m = trial_size(t, 16);
    int64_t n = trial_line_size(t, 32), k = trial_size(t, 16);
    const Batch batch = {batches, m, n, k};
    batch_arrays(t, &batch);
    trial_number(t, batches);
    batch_sizes(t, &batch);
    t->grid[0] = (uint32_t)cdiv(batches, 2);
}

static void grouped(Trial *t, int variant) {
    enum { GROUPS = 3 };
    int64_t n = trial_size(t, 60), k = trial_size(t, 60), of_b = k * stride(n);
    int32_t starts[GROUPS + 1] = {0};
    for (int g = 0; g < GROUPS; g++)
        starts[g + 1] = starts[g] + (int32_t)trial_below(t, 40);
    int64_t m = starts[GROUPS];
    trial_array(t, DT_F16, extent(m, k, stride(k)));
    trial_array(t, DT_F16, (GROUPS - 1) * of_b + extent(k, n, stride(n)));
    trial_array(t, DT_F16, extent(m, n, stride(n)));
    memcpy(trial_array(t, DT_I32, GROUPS + 1), starts, sizeof starts);
    trial_number(t, GROUPS), trial_number(t, n), trial_number(t, k);
    trial_number(t, stride(k)), trial_number(t, of_b), trial_number(t, stride(n)),
        trial_number(t, stride(n));
    t->grid[0] = (uint32_t)trial_size(t, 5);
}

static void split_k(Trial *t, int variant) {
    int64_t m = trial_size(t, 50), n = (trial_size(t, 50) + 15) / 16 * 16, k = trial_size(t, 200);
    int64_t splits = trial_size(t, 4);
    trial_array(t, DT_F16, extent(m, k, stride(k)));
    trial_array(t, DT_F16, extent(n, k, stride(k)));
    trial_array(t, DT_F32, splits * m * n);
    trial_number(t, m), trial_number(t, n), trial_number(t, k);
    trial_number(t, stride(k)), trial_number(t, 1), trial_number(t, 1), trial_number(t, stride(k));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
    t->grid[1] = (uint32_t)splits;
}

/* Few programs with tiles of their own and shared ones, or more than there are blocks. */
static void stream_k(Trial *t, int variant) {
    enum { MATRICES = 3, NUMBERS = 9 };
    matmul(t, variant);
    int64_t programs = trial_size(t, 9);
    InterpArg numbers[NUMBERS];
    memcpy(numbers, t->args + MATRICES, sizeof numbers);
    t->nargs = MATRICES;
    trial_array(t, DT_F32, programs * 32 * 32);
    memset(trial_array(t, DT_I32, programs), 0, (size_t)programs * 4);
    memcpy(t->args + t->nargs, numbers, sizeof numbers);
    t->nargs += NUMBERS;
    t->grid[0] = (uint32_t)programs;
}

static void dequant(Trial *t, int bits) {
    int64_t m = trial_size(t, 50), n = trial_line_size(t, 50), k = 2 * trial_size(t, 60),
            per_byte = 8 / bits;
    trial_array(t, DT_F16, extent(m, k, stride(k)));
    trial_array(t, DT_I8, extent(k / per_byte, n, stride(n)));
    trial_array(t, DT_F16, extent(cdiv(k, 64), n, stride(n)));
    trial_array(t, DT_F16, extent(cdiv(k, 64), n, stride(n)));
    trial_array(t, DT_F16, extent(m, n, stride(n)));
    trial_number(t, m), trial_number(t, n), trial_number(t, k);
    trial_number(t, stride(k)), trial_number(t, stride(n)), trial_number(t, stride(n)),
        trial_number(t, stride(n));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

/* The table */

static const Subject subjects[] = {
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul,
     NN,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:1, i32:16, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul,
     A_BY_COLUMNS,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1" TILE32,
     {{0}},
     matmul,
     B_BY_COLUMNS,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32" PROMISE ", i32, i32, i32:1, i32:16, i32:1, i32:16, i32:1, i32:16" TILE32,
     {{"ACTIVATION", "\"silu\""}},
     matmul,
     A_BY_COLUMNS | B_BY_COLUMNS | C_BY_COLUMNS,
     2,
     1},
    {"matmul",
     "matmul",
     "*fp32:16, *fp32:16, *fp32:16, i32, i32" PROMISE
     ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, "
     "i32:1" TILE32,
     {{0}},
     matmul,
     B_BY_COLUMNS | OF_F32,
     2,
     1},
    {"matmul",
     "matmul",
     "*i8:16, *i8:16, *i32:16, i32, i32" PROMISE
     ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1" TILE32,
     {{"ACC", "tl.int32"}},
     matmul,
     B_BY_COLUMNS | OF_I8,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32:1, i32" PROMISE ", i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul_one_row,
     0,
     2,
     1},
    {"matmul",
     "matmul_wide",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1, 32, 32, 16, 32",
     {{0}},
     matmul_wide,
     0,
     3,
     2},
    {"matmul_mxfp",
     "matmul_mxfp",
     "*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, i32:16, i32:16",
     {{"A_FORMAT", "\"e4m3\""},
      {"B_FORMAT", "\"e4m3\""},
      {"BLOCK_M", "32"},
      {"BLOCK_N", "32"},
      {"BLOCK_K", "64"}},
     microscaled,
     1,
     0, /* threads scale all that is multiplied */
     1},
    {"matmul_mxfp",
     "matmul_mxfp",
     "*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, i32:16, i32:16",
     {{"A_FORMAT", "\"e4m3\""},
      {"B_FORMAT", "\"e2m1\""},
      {"BLOCK_M", "32"},
      {"BLOCK_N", "32"},
      {"BLOCK_K", "64"}},
     microscaled,
     2,
     0,
     1},
    {"linear_gelu",
     "linear_gelu",
     "*fp16:16, " F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:16, i32:16" TILE32,
     {{0}},
     linear_gelu,
     0,
     2,
     1},
    {"matmul_batched",
     "matmul_batched",
     F16_3 "i32, i32" PROMISE
           ", i32, i32:16, i32:16, i32:1, i32:16, i32:16, i32:1, i32:16, i32:16, "
           "i32:1" TILE32,
     {{0}},
     batched,
     0,
     2,
     1},
    {"matmul_batched",
     "matmul_batched_small",
     F16_3 "i32, i32, i32" PROMISE
           ", i32, i32:16, i32:16, i32:1, i32:16, i32:16, i32:1, i32:16, i32:16, "
           "i32:1, 2, 16, 32, 16",
     {{0}},
     batched_small,
     0,
     2,
     1},
    {"matmul_grouped",
     "matmul_grouped",
     F16_3 "*i32:16, i32, i32, i32, " I4 TILE32,
     {{0}},
     grouped,
     0,
     1,
     0},
    {"matmul_split_k",
     "matmul_split_k",
     "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32, i32:16, i32:1, i32:1, i32:16" TILE32,
     {{0}},
     split_k,
     0,
     2,
     1},
    {"matmul_split_k",
     "matmul_split_k",
     "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32, i32:16, i32:1, i32:1, i32:16" TILE32,
     {{"ATOMIC", "True"}},
     split_k,
     0,
     2,
     0},
    {"matmul_stream_k",
     "matmul_stream_k",
     F16_3 "*fp32:16, *i32:16, i32, i32" PROMISE
           ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1" TILE32,
     {{0}},
     stream_k,
     B_BY_COLUMNS,
     2,
     0}, /* it is small, and behind it is a barrier */
    {"matmul_dequant",
     "matmul_dequant",
     "*fp16:16, *u8:16, *fp16:16, *fp16:16, *fp16:16, i32, i32" PROMISE ", i32, " I4
     ", 4, 64" TILE32,
     {{0}},
     dequant,
     4,
     1,
     1},
    {"matmul_dequant",
     "matmul_dequant",
     "*fp16:16, *u8:16, *fp16:16, *fp16:16, *fp16:16, i32, i32" PROMISE ", i32, " I4
     ", 8, 64" TILE32,
     {{0}},
     dequant,
     8,
     1,
     1}};

static void test_kernels(void **state) {
    check_subjects(subjects, sizeof subjects / sizeof *subjects);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
