/* Kernels on the interpreter before and after raise-pointers: what they store must be the same to
 * the bit, for random sizes that are no multiples of tiles, no rows and no depth included. Arrays
 * are exactly as long as the kernel may reach, so that a block that reads more is found. How many
 * accesses are raised is checked too: stores only where lines are promised to be of whole 16
 * elements, and then with extents that are no multiples of tiles either. */
#include "../ir/ir_testing.h"

#include "frontend/frontend.h"
#include "ir/interp.h"
#include "passes/passes.h"
#include "support/file.h"
#include "support/vec.h"

enum { MAX_ARGS = 32, ROUNDS = 12, MIB = 1 << 20 };

typedef struct Trial {
    Ctx *ctx;
    Func *func;
    uint64_t state;
    InterpArg args[MAX_ARGS];
    uint32_t nargs, narrays;
    InterpArray arrays[MAX_ARGS];
    uint32_t grid[3];
    bool whole; /* lines that are stored have whole 16 elements, as the signature promises */
} Trial;

static int64_t below(Trial *t, int64_t limit) {
    uint64_t z = t->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (int64_t)((z ^ z >> 31) >> 33) % limit;
}

/* From 1 on; often small, rarely a multiple of a tile. */
static int64_t size(Trial *t, int64_t limit) {
    return below(t, 5) == 0 ? 1 : 1 + below(t, limit);
}

/* Of a line that is stored. */
static int64_t line_size(Trial *t, int64_t limit) {
    int64_t any = size(t, limit);
    return t->whole ? (any + 15) / 16 * 16 : any;
}

/* A stride of whole 16 elements and some room. */
static int64_t stride(int64_t length) {
    return (length + 15) / 16 * 16 + 16;
}

static int64_t cdiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Elements of a matrix of `lines` lines, without the room behind the last. */
static int64_t extent(int64_t lines, int64_t line, int64_t along) {
    return lines && line ? (lines - 1) * along + line : 0;
}

static void number(Trial *t, int64_t value) {
    t->args[t->nargs++] = (InterpArg){.i = value};
}

static void scale(Trial *t, double value) {
    t->args[t->nargs++] = (InterpArg){.f = value};
}

static void *array(Trial *t, DType dtype, int64_t elements) {
    size_t bytes = (size_t)elements * (size_t)dtype_bytes(dtype);
    char *data = arena_alloc(&t->ctx->arena, bytes + 1);
    for (int64_t i = 0; i < elements; i++) {
        int64_t value = below(t, 33) - 16;
        uint64_t bits =
            dtype_is_float(dtype) ? float_to_bits(dtype, (double)value / 8) : (uint64_t)value;
        memcpy(data + i * dtype_bytes(dtype), &bits, (size_t)dtype_bytes(dtype));
    }
    t->args[t->nargs++] = (InterpArg){.is_array = true, .array = t->narrays};
    t->arrays[t->narrays++] = (InterpArray){.name = STR("array"), .data = data, .bytes = bytes};
    return data;
}

/* Kernels: sizes, arrays, arguments in the order of the parameters */

static int64_t elements(bool by_columns, int64_t rows, int64_t columns) {
    return by_columns ? extent(columns, rows, stride(rows))
                      : extent(rows, columns, stride(columns));
}

static void strides(Trial *t, bool by_columns, int64_t rows, int64_t columns) {
    number(t, by_columns ? 1 : stride(columns));
    number(t, by_columns ? stride(rows) : 1);
}

static void matmul(Trial *t, int order, DType in, DType out) {
    bool by_columns = order & 4;
    int64_t m = by_columns ? line_size(t, 70) : size(t, 70);
    int64_t n = by_columns ? size(t, 70) : line_size(t, 70), k = below(t, 5) ? size(t, 70) : 0;
    array(t, in, elements(order & 1, m, k));
    array(t, in, elements(order & 2, k, n));
    array(t, out, elements(by_columns, m, n));
    number(t, m), number(t, n), number(t, k);
    strides(t, order & 1, m, k);
    strides(t, order & 2, k, n);
    strides(t, by_columns, m, n);
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

static void matmul_nn(Trial *t) {
    matmul(t, 0, DT_F16, DT_F16);
}
static void matmul_tn(Trial *t) {
    matmul(t, 1, DT_F16, DT_F16);
}
static void matmul_nt(Trial *t) {
    matmul(t, 2, DT_F16, DT_F16);
}
static void matmul_tt(Trial *t) {
    matmul(t, 7, DT_F16, DT_F16);
}
static void matmul_f32(Trial *t) {
    matmul(t, 2, DT_F32, DT_F32);
}
static void matmul_i8(Trial *t) {
    matmul(t, 2, DT_I8, DT_I32);
}

/* M is specialised to 1. */
static void matmul_one_row(Trial *t) {
    int64_t n = line_size(t, 70), k = size(t, 70);
    array(t, DT_F16, k);
    array(t, DT_F16, elements(false, k, n));
    array(t, DT_F16, n);
    number(t, 1), number(t, n), number(t, k);
    strides(t, false, 1, k);
    strides(t, false, k, n);
    strides(t, false, 1, n);
    t->grid[0] = (uint32_t)cdiv(n, 32) * 2;
}

static void matmul_wide(Trial *t) {
    matmul(t, 2, DT_F16, DT_F16);
    int64_t m = t->args[3].i, n = t->args[4].i;
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 48));
}

static void microscaled(Trial *t, int per_byte) {
    int64_t m = size(t, 70), n = 16 * size(t, 5), k = 64 * below(t, 4);
    array(t, DT_I8, extent(m, k, stride(k)));
    array(t, DT_I8, m * (k / 32));
    array(t, DT_I8, extent(n, k / per_byte, stride(k / per_byte)));
    array(t, DT_I8, n * (k / 32));
    array(t, DT_F32, m * n);
    number(t, m), number(t, n), number(t, k), number(t, stride(k));
    number(t, stride(k / per_byte));
    t->grid[0] = (uint32_t)cdiv(m, 32);
    t->grid[1] = (uint32_t)cdiv(n, 32);
}

static void microscaled_8(Trial *t) {
    microscaled(t, 1);
}
static void microscaled_4(Trial *t) {
    microscaled(t, 2);
}

static void linear_gelu(Trial *t) {
    int64_t m = size(t, 70), n = line_size(t, 70), k = size(t, 70);
    array(t, DT_F16, extent(m, k, stride(k)));
    array(t, DT_F16, extent(n, k, stride(k)));
    array(t, DT_F16, n);
    array(t, DT_F16, extent(m, n, stride(n)));
    number(t, m), number(t, n), number(t, k);
    number(t, stride(k)), number(t, stride(k)), number(t, stride(n));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

static void batched(Trial *t) {
    int64_t batches = size(t, 4), m = size(t, 50), n = line_size(t, 50), k = size(t, 50);
    int64_t of_a = m * stride(k), of_b = k * stride(n), of_c = m * stride(n);
    array(t, DT_F16, (batches - 1) * of_a + extent(m, k, stride(k)));
    array(t, DT_F16, (batches - 1) * of_b + extent(k, n, stride(n)));
    array(t, DT_F16, (batches - 1) * of_c + extent(m, n, stride(n)));
    number(t, m), number(t, n), number(t, k);
    number(t, of_a), number(t, stride(k)), number(t, 1);
    number(t, of_b), number(t, stride(n)), number(t, 1);
    number(t, of_c), number(t, stride(n)), number(t, 1);
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
    t->grid[1] = (uint32_t)batches;
}

static void batched_small(Trial *t) {
    int64_t batches = size(t, 5), m = size(t, 16), n = line_size(t, 32), k = size(t, 16);
    int64_t of_a = m * stride(k), of_b = k * stride(n), of_c = m * stride(n);
    array(t, DT_F16, (batches - 1) * of_a + extent(m, k, stride(k)));
    array(t, DT_F16, (batches - 1) * of_b + extent(k, n, stride(n)));
    array(t, DT_F16, (batches - 1) * of_c + extent(m, n, stride(n)));
    number(t, batches), number(t, m), number(t, n), number(t, k);
    number(t, of_a), number(t, stride(k)), number(t, 1);
    number(t, of_b), number(t, stride(n)), number(t, 1);
    number(t, of_c), number(t, stride(n)), number(t, 1);
    t->grid[0] = (uint32_t)cdiv(batches, 2);
}

static void grouped(Trial *t) {
    enum { GROUPS = 3 };
    int64_t n = size(t, 60), k = size(t, 60), of_b = k * stride(n);
    int32_t starts[GROUPS + 1] = {0};
    for (int g = 0; g < GROUPS; g++)
        starts[g + 1] = starts[g] + (int32_t)below(t, 40);
    int64_t m = starts[GROUPS];
    array(t, DT_F16, extent(m, k, stride(k)));
    array(t, DT_F16, (GROUPS - 1) * of_b + extent(k, n, stride(n)));
    array(t, DT_F16, extent(m, n, stride(n)));
    memcpy(array(t, DT_I32, GROUPS + 1), starts, sizeof starts);
    number(t, GROUPS), number(t, n), number(t, k);
    number(t, stride(k)), number(t, of_b), number(t, stride(n)), number(t, stride(n));
    t->grid[0] = (uint32_t)size(t, 5);
}

static void split_k(Trial *t) {
    int64_t m = size(t, 50), n = (size(t, 50) + 15) / 16 * 16, k = size(t, 200);
    int64_t splits = size(t, 4);
    array(t, DT_F16, extent(m, k, stride(k)));
    array(t, DT_F16, extent(n, k, stride(k)));
    array(t, DT_F32, splits * m * n);
    number(t, m), number(t, n), number(t, k);
    number(t, stride(k)), number(t, 1), number(t, 1), number(t, stride(k));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
    t->grid[1] = (uint32_t)splits;
}

static void dequant(Trial *t, int bits) {
    int64_t m = size(t, 50), n = line_size(t, 50), k = 2 * size(t, 60), per_byte = 8 / bits;
    array(t, DT_F16, extent(m, k, stride(k)));
    array(t, DT_I8, extent(k / per_byte, n, stride(n)));
    array(t, DT_F16, extent(cdiv(k, 64), n, stride(n)));
    array(t, DT_F16, extent(cdiv(k, 64), n, stride(n)));
    array(t, DT_F16, extent(m, n, stride(n)));
    number(t, m), number(t, n), number(t, k);
    number(t, stride(k)), number(t, stride(n)), number(t, stride(n)), number(t, stride(n));
    t->grid[0] = (uint32_t)(cdiv(m, 32) * cdiv(n, 32));
}

static void dequant_4(Trial *t) {
    dequant(t, 4);
}
static void dequant_8(Trial *t) {
    dequant(t, 8);
}

/* Batch, head and row of a tensor of heads. */
static void head_strides(Trial *t, int64_t heads, int64_t rows, int64_t dim) {
    number(t, heads * rows * stride(dim));
    number(t, rows * stride(dim));
    number(t, stride(dim));
}

static int64_t of_heads(int64_t batches, int64_t heads, int64_t rows, int64_t dim) {
    return extent(batches * heads * rows, dim, stride(dim));
}

static void attention(Trial *t, int64_t group) {
    enum { DIM = 32 };
    int64_t batches = size(t, 3), heads = group * size(t, 2);
    int64_t queries = size(t, 60), keys = size(t, 60);
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F16, of_heads(batches, heads / group, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads / group, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F32, batches * heads * queries);
    array(t, DT_I32, 1), array(t, DT_I32, 1), array(t, DT_F32, heads);
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads / group, keys, DIM);
    head_strides(t, heads / group, keys, DIM);
    head_strides(t, heads, queries, DIM);
    number(t, queries), number(t, keys), scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(queries, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

static void attention_plain(Trial *t) {
    attention(t, 1);
}
static void attention_shared(Trial *t) {
    attention(t, 2);
}

static void block_heads(Trial *t) {
    enum { DIM = 32 };
    int64_t batches = size(t, 3), heads = size(t, 3), rows = size(t, 60);
    for (int i = 0; i < 3; i++)
        array(t, DT_F16, of_heads(batches, heads, rows, DIM));
    head_strides(t, heads, rows, DIM);
    number(t, heads), number(t, rows);
    t->grid[0] = (uint32_t)cdiv(rows, 32);
    t->grid[1] = (uint32_t)(batches * heads);
}

static void relative(Trial *t) {
    enum { DIM = 32 };
    int64_t batches = size(t, 3), heads = size(t, 3), queries = size(t, 60), keys = size(t, 60);
    int64_t reach = size(t, 20);
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F16, of_heads(batches, heads, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F32, heads * (2 * reach + 1));
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads, keys, DIM);
    head_strides(t, heads, queries, DIM);
    number(t, queries), number(t, keys), number(t, reach), scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(queries, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

static void backward(Trial *t, bool of_keys) {
    enum { DIM = 32, GROUP = 2 };
    int64_t batches = size(t, 2), heads = GROUP * size(t, 2);
    int64_t queries = size(t, 60), keys = size(t, 60);
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F16, of_heads(batches, heads / GROUP, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads / GROUP, keys, DIM));
    array(t, DT_F16, of_heads(batches, heads, queries, DIM));
    array(t, DT_F32, batches * heads * queries);
    array(t, DT_F32, batches * heads * queries);
    for (int i = 0; i < 1 + of_keys; i++)
        array(t, DT_F16,
              of_keys ? of_heads(batches, heads / GROUP, keys, DIM)
                      : of_heads(batches, heads, queries, DIM));
    head_strides(t, heads, queries, DIM);
    head_strides(t, heads / GROUP, keys, DIM);
    number(t, queries), number(t, keys), scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(of_keys ? keys : queries, 32);
    t->grid[1] = (uint32_t)(of_keys ? heads / GROUP : heads);
    t->grid[2] = (uint32_t)batches;
}

static void backward_keys(Trial *t) {
    backward(t, true);
}
static void backward_queries(Trial *t) {
    backward(t, false);
}

static void paged(Trial *t) {
    enum { DIM = 32, GROUP = 4, PAGE = 16, PAGES = 5, WIDTH = 4 };
    int64_t sequences = size(t, 3), heads = size(t, 3), splits = size(t, 3);
    array(t, DT_F16, sequences * heads * GROUP * DIM);
    array(t, DT_F16, PAGES * PAGE * heads * DIM);
    array(t, DT_F16, PAGES * PAGE * heads * DIM);
    int32_t *table = array(t, DT_I32, sequences * WIDTH);
    for (int64_t i = 0; i < sequences * WIDTH; i++)
        table[i] = (int32_t)below(t, PAGES);
    int32_t *lengths = array(t, DT_I32, sequences);
    for (int64_t i = 0; i < sequences; i++)
        lengths[i] = (int32_t)size(t, WIDTH * PAGE);
    array(t, DT_F32, sequences * heads * GROUP * splits * DIM);
    array(t, DT_F32, sequences * heads * GROUP * splits);
    number(t, WIDTH), scale(t, 0.25);
    t->grid[0] = (uint32_t)sequences;
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)splits;
}

static void linear_attention(Trial *t) {
    enum { DIM = 32 };
    int64_t batches = size(t, 2), heads = size(t, 2), length = size(t, 70);
    int64_t dim_v = line_size(t, 50);
    array(t, DT_F16, of_heads(batches, heads, length, DIM));
    array(t, DT_F16, of_heads(batches, heads, length, DIM));
    array(t, DT_F16, of_heads(batches, heads, length, dim_v));
    array(t, DT_F16, of_heads(batches, heads, length, dim_v));
    array(t, DT_F32, heads);
    array(t, DT_F32, batches * heads * DIM * dim_v);
    head_strides(t, heads, length, DIM);
    head_strides(t, heads, length, dim_v);
    number(t, length), number(t, dim_v), scale(t, 0.25);
    t->grid[0] = (uint32_t)cdiv(dim_v, 32);
    t->grid[1] = (uint32_t)heads;
    t->grid[2] = (uint32_t)batches;
}

/* The table */

typedef struct Subject {
    const char *file, *kernel;
    const char *signature; /* PROMISE: behind the extent of lines that are stored */
    const char *defines[6][2];
    void (*setup)(Trial *);
    int loads, stores; /* that become block accesses; stores where the promise is given */
} Subject;

#define PROMISE "?"
#define F16_3 "*fp16:16, *fp16:16, *fp16:16, "
#define I4 "i32:16, i32:16, i32:16, i32:16"
#define TILE32 ", 32, 32, 32"
#define ATTENTION                                                                                  \
    "*fp16:16, " F16_3 "*fp32:16, *i32:16, *i32:16, *fp32:16, " I4 ", " I4 ", " I4                 \
    ", i32, i32, fp32, 32, 32, 32"
#define BACKWARD_IN "*fp16:16, " F16_3 "*fp32:16, *fp32:16, "
#define BACKWARD_SIZES ", i32:16, i32:16, " I4 ", i32, i32, fp32, 32, 32, 32"

static const Subject subjects[] = {
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul_nn,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:1, i32:16, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul_tn,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1" TILE32,
     {{0}},
     matmul_nt,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32" PROMISE ", i32, i32, i32:1, i32:16, i32:1, i32:16, i32:1, i32:16" TILE32,
     {{"ACTIVATION", "\"silu\""}},
     matmul_tt,
     2,
     1},
    {"matmul",
     "matmul",
     "*fp32:16, *fp32:16, *fp32:16, i32, i32" PROMISE
     ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, "
     "i32:1" TILE32,
     {{0}},
     matmul_f32,
     2,
     1},
    {"matmul",
     "matmul",
     "*i8:16, *i8:16, *i32:16, i32, i32" PROMISE
     ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1" TILE32,
     {{"ACC", "tl.int32"}},
     matmul_i8,
     2,
     1},
    {"matmul",
     "matmul",
     F16_3 "i32:1, i32" PROMISE ", i32, i32:16, i32:1, i32:16, i32:1, i32:16, i32:1" TILE32,
     {{0}},
     matmul_one_row,
     2,
     1},
    {"matmul",
     "matmul_wide",
     F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:1, i32:1, i32:16, i32:16, i32:1, 32, 32, 16, 32",
     {{0}},
     matmul_wide,
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
     microscaled_8,
     2,
     1},
    {"matmul_mxfp",
     "matmul_mxfp",
     "*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, i32:16, i32:16",
     {{"A_FORMAT", "\"e4m3\""},
      {"B_FORMAT", "\"e2m1\""},
      {"BLOCK_M", "32"},
      {"BLOCK_N", "32"},
      {"BLOCK_K", "64"}},
     microscaled_4,
     1,
     1},
    {"attention_paged",
     "attention_paged",
     F16_3 "*i32:16, *i32:16, *fp32:16, *fp32:16, i32, fp32, 32, 16, 4, 16, 32",
     {{0}},
     paged,
     1,
     0},
    {"linear_gelu",
     "linear_gelu",
     "*fp16:16, " F16_3 "i32, i32" PROMISE ", i32, i32:16, i32:16, i32:16" TILE32,
     {{0}},
     linear_gelu,
     2,
     1},
    {"matmul_batched",
     "matmul_batched",
     F16_3 "i32, i32" PROMISE
           ", i32, i32:16, i32:16, i32:1, i32:16, i32:16, i32:1, i32:16, i32:16, "
           "i32:1" TILE32,
     {{0}},
     batched,
     2,
     1},
    {"matmul_batched",
     "matmul_batched_small",
     F16_3 "i32, i32, i32" PROMISE
           ", i32, i32:16, i32:16, i32:1, i32:16, i32:16, i32:1, i32:16, i32:16, "
           "i32:1, 2, 16, 32, 16",
     {{0}},
     batched_small,
     2,
     1},
    {"matmul_grouped",
     "matmul_grouped",
     F16_3 "*i32:16, i32, i32, i32, " I4 TILE32,
     {{0}},
     grouped,
     1,
     0},
    {"matmul_split_k",
     "matmul_split_k",
     "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32, i32:16, i32:1, i32:1, i32:16" TILE32,
     {{0}},
     split_k,
     2,
     1},
    {"matmul_split_k",
     "matmul_split_k",
     "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32, i32:16, i32:1, i32:1, i32:16" TILE32,
     {{"ATOMIC", "True"}},
     split_k,
     2,
     0},
    {"matmul_dequant",
     "matmul_dequant",
     "*fp16:16, *u8:16, *fp16:16, *fp16:16, *fp16:16, i32, i32" PROMISE ", i32, " I4
     ", 4, 64" TILE32,
     {{0}},
     dequant_4,
     1,
     1},
    {"matmul_dequant",
     "matmul_dequant",
     "*fp16:16, *u8:16, *fp16:16, *fp16:16, *fp16:16, i32, i32" PROMISE ", i32, " I4
     ", 8, 64" TILE32,
     {{0}},
     dequant_8,
     1,
     1},
    {"attention", "attention_forward", ATTENTION, {{0}}, attention_plain, 3, 1},
    {"attention",
     "attention_forward",
     ATTENTION,
     {{"GROUP", "2"}, {"CAUSAL", "True"}, {"WINDOW", "20"}, {"ALIBI", "True"}},
     attention_shared,
     3,
     1},
    {"../tests/passes/Inputs/raise_blocks",
     "heads",
     F16_3 "i32:16, i32:16, i32:16, i32, i32, 32",
     {{0}},
     block_heads,
     2,
     1},
    {"attention_relative",
     "attention_relative",
     "*fp16:16, " F16_3 "*fp32:16, " I4 ", " I4 ", i32:16, i32, i32, i32, fp32, 32, 32, 32",
     {{0}},
     relative,
     3,
     1},
    {"attention_backward",
     "attention_backward_dkdv",
     BACKWARD_IN "*fp16:16, *fp16:16" BACKWARD_SIZES,
     {{"GROUP", "2"}, {"CAUSAL", "True"}},
     backward_keys,
     4,
     2},
    {"attention_backward",
     "attention_backward_dq",
     BACKWARD_IN "*fp16:16" BACKWARD_SIZES,
     {{"GROUP", "2"}},
     backward_queries,
     4,
     1},
    {"linear_attention",
     "linear_attention",
     "*fp16:16, " F16_3 "*fp32:16, *fp32:16, " I4 ", i32:16, i32:16, i32, i32" PROMISE
     ", fp32, 32, 32, 32",
     {{0}},
     linear_attention,
     0,
     2},
};

/* Running */

static void fail_with(Ctx *ctx, const char *what, const Subject *subject) {
    fail_msg("%s: %s\n%s", subject->kernel, what, testing_messages(ctx));
}

/* With the promise, or without. */
static Str signature_of(Ctx *ctx, const Subject *subject, bool whole) {
    StrBuf text = strbuf(&ctx->arena);
    for (const char *c = subject->signature; *c; c++)
        if (*c != *PROMISE)
            strbuf_printf(&text, "%c", *c);
        else if (whole)
            strbuf_puts(&text, ":16");
    return str_from(text.ptr);
}

static Func *elaborate(Ctx *ctx, const Subject *subject, bool whole) {
    NamedText defines[6];
    uint32_t count = 0;
    for (; count < 6 && subject->defines[count][0]; count++)
        defines[count] =
            (NamedText){str_from(subject->defines[count][0]), str_from(subject->defines[count][1])};
    const char *path =
        str_format(&ctx->arena, "%s/kernels/%s.tile", TILEC_SOURCE_DIR, subject->file);
    Str text;
    assert_int_equal(file_read(&ctx->arena, path, MIB, &text), 0);
    ElaborateRequest request = {.file = source_add(&ctx->sources, str_from(path), text),
                                .kernel = str_from(subject->kernel),
                                .signature = signature_of(ctx, subject, whole),
                                .defines = defines,
                                .define_count = count,
                                .capability = 90};
    Elaborated result;
    if (!frontend_elaborate(ctx, parse_file(&ctx->diags, request.file), &request, &result))
        fail_with(ctx, "does not compile", subject);
    return result.func;
}

static void copy_arrays(const Trial *t, InterpArray *copies) {
    for (uint32_t i = 0; i < t->narrays; i++) {
        copies[i] = t->arrays[i];
        copies[i].data = arena_alloc(&t->ctx->arena, t->arrays[i].bytes + 1);
        memcpy(copies[i].data, t->arrays[i].data, t->arrays[i].bytes);
    }
}

static void run(Trial *t, InterpArray *arrays, const Subject *subject, const char *when) {
    InterpOptions options = {.grid = {t->grid[0], t->grid[1], t->grid[2]}};
    assert_int_equal(t->nargs, t->func->body->nargs);
    if (!interp_run(t->func, t->args, arrays, t->narrays, &options))
        fail_with(t->ctx, when, subject);
}

static void prepare(Trial *t, const Subject *subject, uint64_t seed) {
    *t = (Trial){
        .ctx = t->ctx, .func = t->func, .state = seed, .grid = {1, 1, 1}, .whole = t->whole};
    subject->setup(t);
}

typedef struct Count {
    int loads, stores;
} Count;

static bool count_blocks(Op *op, void *user) {
    Count *count = user;
    count->loads += op->code == OP_load_block;
    count->stores += op->code == OP_store_block;
    return true;
}

/* Results of all rounds from the function as it comes from the source, then those of the raised
 * one.
 */
static void check_subject(const Subject *subject, bool whole, uint64_t seed) {
    Ctx *ctx = testing_ctx();
    Trial t = {.ctx = ctx, .func = elaborate(ctx, subject, whole), .whole = whole};
    InterpArray(*before)[MAX_ARGS] =
        arena_alloc(&ctx->arena, sizeof(InterpArray[ROUNDS][MAX_ARGS]));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        prepare(&t, subject, seed + round);
        copy_arrays(&t, before[round]);
        run(&t, before[round], subject, "fails before it is raised");
    }
    static const PassId passes[] = {PASS_simplify, PASS_raise_pointers, PASS_simplify};
    assert_true(pipeline_run_passes(t.func, passes, 3, &(PipelineOptions){.check = true}));
    Count count = {0};
    int stores = whole || !strstr(subject->signature, PROMISE) ? subject->stores : 0;
    func_walk(t.func, count_blocks, &count);
    if (count.loads != subject->loads || count.stores != stores)
        fail_msg("%s: %d loads and %d stores were raised\n%s", subject->kernel, count.loads,
                 count.stores, testing_messages(ctx));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        prepare(&t, subject, seed + round);
        run(&t, t.arrays, subject, "fails once it is raised");
        for (uint32_t i = 0; i < t.narrays; i++)
            if (t.arrays[i].bytes &&
                memcmp(t.arrays[i].data, before[round][i].data, t.arrays[i].bytes) != 0)
                fail_msg("%s: array %u differs in round %d", subject->kernel, i, (int)round);
    }
    ctx_destroy(ctx);
}

static void test_kernels(void **state) {
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        for (int whole = strstr(subjects[i].signature, PROMISE) != NULL; whole >= 0; whole--)
            check_subject(&subjects[i], whole, 1000 * i);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
