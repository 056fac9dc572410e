/* Kinds of attention on the interpreter before and after raise-pointers, for random numbers of
 * queries, keys and heads: what they store must be the same to the bit. */
#include "raise_testing.h"

/* Batch, head and row of a tensor of heads. */
static void head_strides(Trial *t, int64_t heads, int64_t rows, int64_t dim) {
    trial_number(t, heads * rows * stride(dim));
    trial_number(t, rows * stride(dim));
    trial_number(t, stride(dim));
}

static int64_t of_heads(int64_t batches, int64_t heads, int64_t rows, int64_t dim) {
    return extent(batches * heads * rows, dim, stride(dim));
}

static void attention(Trial *t, int group) {
    enum { DIM = 32 };
    int64_t batches = trial_size(t, 3), heads = group * trial_size(t, 2);
    int64_t queries = trial_size(t, 60), keys = trial_size(t, 60);
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads / group, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads / group, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F32, batches * heads * queries);
    trial_array(t, DT_I32, 1), trial_array(t, DT_I32, 1), trial_array(t, DT_F32, heads);
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads / group, keys, DIM);
    head_strides(t, heads / group, keys, DIM);
    head_strides(t, heads, queries, DIM);
    trial_number(t, queries), trial_number(t, keys), trial_scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(queries, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

static void block_heads(Trial *t, int variant) {
    enum { DIM = 32 };
    int64_t batches = trial_size(t, 3), heads = trial_size(t, 3), rows = trial_size(t, 60);
    for (int i = 0; i < 3; i++)
        trial_array(t, DT_F16, of_heads(batches, heads, rows, DIM));
    head_strides(t, heads, rows, DIM);
    trial_number(t, heads), trial_number(t, rows);
    t->grid[0] = (uint32_t)cdiv(rows, 32);
    t->grid[1] = (uint32_t)(batches * heads);
}

static void relative(Trial *t, int variant) {
    enum { DIM = 32 };
    int64_t batches = trial_size(t, 3), heads = trial_size(t, 3), queries = trial_size(t, 60),
            keys = trial_size(t, 60);
    int64_t reach = trial_size(t, 20);
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F32, heads * (2 * reach + 1));
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads, keys, DIM);
    head_strides(t, heads, queries, DIM);
    trial_number(t, queries), trial_number(t, keys), trial_number(t, reach), trial_scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(queries, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

/* Of keys and values, or of queries. */
enum { OF_QUERIES = 0, OF_KEYS = 1 };

static void backward(Trial *t, int of_keys) {
    enum { DIM = 32, GROUP = 2 };
    int64_t batches = trial_size(t, 2), heads = GROUP * trial_size(t, 2);
    int64_t queries = trial_size(t, 60), keys = trial_size(t, 60);
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads / GROUP, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads / GROUP, keys, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    trial_array(t, DT_F32, batches * heads * queries);
    trial_array(t, DT_F32, batches * heads * queries);
    for (int i = 0; i < 1 + of_keys; i++)
        trial_array(t, DT_F16,
                    of_keys ? of_heads(batches, heads / GROUP, keys, DIM)
                            : of_heads(batches, heads, queries, DIM));
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads / GROUP, keys, DIM);
    trial_number(t, queries), trial_number(t, keys), trial_scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(of_keys ? keys : queries, 32);
    t->grid[1] = (uint32_t)(of_keys ? heads / GROUP : heads);
    t->grid[2] = (uint32_t)batches;
}

static void paged(Trial *t, int variant) {
    enum { DIM = 32, GROUP = 4, PAGE = 16, PAGES = 5, WIDTH = 4 };
    int64_t sequences = trial_size(t, 3), heads = trial_size(t, 3), splits = trial_size(t, 3);
    trial_array(t, DT_F16, sequences * heads * GROUP * DIM);
    trial_array(t, DT_F16, PAGES * PAGE * heads * DIM);
    trial_array(t, DT_F16, PAGES * PAGE * heads * DIM);
    int32_t *table = trial_array(t, DT_I32, sequences * WIDTH);
    for (int64_t i = 0; i < sequences * WIDTH; i++)
        table[i] = (int32_t)trial_below(t, PAGES);
    int32_t *lengths = trial_array(t, DT_I32, sequences);
    for (int64_t i = 0; i < sequences; i++)
        lengths[i] = (int32_t)trial_size(t, WIDTH * PAGE);
    trial_array(t, DT_F32, sequences * heads * GROUP * splits * DIM);
    trial_array(t, DT_F32, sequences * heads * GROUP * splits);
    trial_number(t, WIDTH), trial_scale(t, 0.25);
    t->grid[0] = (uint32_t)heads;
    t->grid[1] = (uint32_t)sequences;
    t->grid[2] = (uint32_t)splits;
}

static void linear_attention(Trial *t, int variant) {
    enum { DIM = 32 };
    int64_t batches = trial_size(t, 2), heads = trial_size(t, 2), length = trial_size(t, 70);
    int64_t dim_v = trial_line_size(t, 50);
    trial_array(t, DT_F16, of_heads(batches, heads, length, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, length, DIM));
    trial_array(t, DT_F16, of_heads(batches, heads, length, dim_v));
    trial_array(t, DT_F16, of_heads(batches, heads, length, dim_v));
    trial_array(t, DT_F32, heads);
    trial_array(t, DT_F32, batches * heads * DIM * dim_v);
    head_strides(t, heads, length, DIM);
    head_strides(t, heads, length, dim_v);
    trial_number(t, length), trial_number(t, dim_v), trial_scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(dim_v, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

/* The table */

#define ATTENTION                                                                                  \
    "*fp16:16, " F16_3 "*fp32:16, *i32:16, *i32:16, *fp32:16, " I4 ", " I4 ", " I4                 \
    ", i32, i32, fp32, 32, 32, 32"
#define BACKWARD_IN "*fp16:16, " F16_3 "*fp32:16, *fp32:16, "
#define BACKWARD_SIZES ", i32:16, i32:16, " I4 ", i32, i32, fp32, 32, 32, 32"

static const Subject subjects[] = {
    {"attention_paged",
     "attention_paged",
     F16_3 "*i32:16, *i32:16, *fp32:16, *fp32:16, i32, fp32, 32, 16, 4, 16, 32",
     {{0}},
     paged,
     0,
     1,
     0},
    {"attention", "attention_forward", ATTENTION, {{0}}, attention, 1, 3, 1},
    {"attention",
     "attention_forward",
     ATTENTION,
     {{"GROUP", "2"}, {"CAUSAL", "True"}, {"WINDOW", "20"}, {"ALIBI", "True"}},
     attention,
     2,
     3,
     1},
    {"../tests/passes/blocks/Inputs/raise_blocks",
     "heads",
     F16_3 "i32:16, i32:16, i32:16, i32, i32, 32",
     {{0}},
     block_heads,
     0,
     2,
     1},
    {"attention_relative",
     "attention_relative",
     "*fp16:16, " F16_3 "*fp32:16, " I4 ", " I4 ", i32:16, i32, i32, i32, fp32, 32, 32, 32",
     {{0}},
     relative,
     0,
     3,
     1},
    {"attention_backward",
     "attention_backward_dkdv",
     BACKWARD_IN "*fp16:16, *fp16:16" BACKWARD_SIZES,
     {{"GROUP", "2"}, {"CAUSAL", "True"}},
     backward,
     OF_KEYS,
     4,
     2},
    {"attention_backward",
     "attention_backward_dq",
     BACKWARD_IN "*fp16:16" BACKWARD_SIZES,
     {{"GROUP", "2"}},
     backward,
     OF_QUERIES,
     4,
     1},
    {"linear_attention",
     "linear_attention",
     "*fp16:16, " F16_3 "*fp32:16, *fp32:16, " I4 ", i32:16, i32:16, i32, i32" PROMISE
     ", fp32, 32, 32, 32",
     {{0}},
     linear_attention,
     0,
     0,
     2}};

static void test_kernels(void **state) {
    check_subjects(subjects, sizeof subjects / sizeof *subjects);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
