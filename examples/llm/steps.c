#include "steps.h"

#include <math.h>

/* Blocks: powers of two that fit what a program does at once. */
enum {
    FEW_ROWS = 16,      /* of tokens in a product, where there are no more */
    MANY_ROWS = 64,     /* else */
    BLOCK_OUTPUTS = 64, /* of outputs in a product */
    BLOCK_INPUTS = 64,  /* of its sum */
    ROW_OUTPUTS = 8,    /* of outputs where there is one row */
    ROW_INPUTS = 512,   /* of its sum, at most */
    BLOCK_KEYS = 64,    /* that attention looks at at once */
    BLOCK_ACTIVATIONS = 1024,
    BLOCK_LOGITS = 1024,
    LEAST_KEYS = 128 /* that are worth a part of their own */
};

static int64_t power_of_two(int64_t least) {
    int64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

static int64_t at_most(int64_t value, int64_t most) {
    return value < most ? value : most;
}

static int64_t blocks(int64_t count, int64_t block) {
    return (count + block - 1) / block;
}

static int64_t row_block(int64_t rows) {
    return rows <= FEW_ROWS ? FEW_ROWS : MANY_ROWS;
}

#define LAUNCH(gpu, kernel, x, y, ...)                                                             \
    do {                                                                                           \
        const tile_argument arguments[] = {__VA_ARGS__};                                           \
        gpu_launch((gpu), KERNEL_##kernel, (uint32_t)(x), (uint32_t)(y), arguments,                \
                   sizeof arguments / sizeof *arguments);                                          \
    } while (0)

/* y = x weight^T, or added to y. */
static void linear(Gpu *gpu, tile_argument x, const Weight *weight, tile_argument y, int64_t rows,
                   int64_t outputs, int64_t inputs, bool add) {
    const tile_argument w = tile_pointer(weight->address, weight->dtype);
    const int64_t block = at_most(power_of_two(inputs), ROW_INPUTS);
    if (rows == 1)
        LAUNCH(gpu, linear_row, blocks(outputs, ROW_OUTPUTS), 1, x, w, y, tile_int(outputs),
               tile_int(inputs), tile_constexpr_int(add), tile_constexpr_int(ROW_OUTPUTS),
               tile_constexpr_int(block));
    else
        LAUNCH(gpu, linear, blocks(rows, row_block(rows)), blocks(outputs, BLOCK_OUTPUTS), x, w, y,
               tile_int(rows), tile_int(outputs), tile_int(inputs), tile_constexpr_int(add),
               tile_constexpr_int(row_block(rows)), tile_constexpr_int(BLOCK_OUTPUTS),
               tile_constexpr_int(BLOCK_INPUTS));
}

static void normalise(Gpu *gpu, const Model *model, uint64_t x, const Weight *weight,
                      int64_t rows) {
    const int64_t width = model->config.width;
    LAUNCH(gpu, rmsnorm, rows, 1, tile_pointer(x, TILE_FP32),
           tile_pointer(weight->address, weight->dtype), tile_pointer(model->normed, model->dtype),
           tile_int(width), tile_float(model->config.eps), tile_constexpr_int(power_of_two(width)));
}

/* One row sees all keys: they are looked at in parts, which are joined. */
static void attend_row(Gpu *gpu, const Model *model, uint64_t keys, uint64_t values,
                       int64_t position) {
    const Config *c = &model->config;
    const int64_t count = position + 1;
    const int64_t wanted = at_most(blocks(count, LEAST_KEYS), MAX_PARTS);
    const int64_t share = blocks(blocks(count, wanted), BLOCK_KEYS) * BLOCK_KEYS;
    const int64_t parts = blocks(count, share);
    const tile_argument block = tile_constexpr_int(power_of_two(c->head_dim));
    LAUNCH(gpu, attention_row, c->heads, parts, tile_pointer(model->q, model->dtype),
           tile_pointer(keys, model->dtype), tile_pointer(values, model->dtype),
           tile_pointer(model->parts, TILE_FP32), tile_pointer(model->lse, TILE_FP32),
           tile_int(count), tile_int(share), tile_int(c->head_dim), tile_int(model->capacity),
           tile_float(1 / sqrt((double)c->head_dim)), tile_constexpr_int(c->heads / c->heads_k),
           tile_constexpr_int(BLOCK_KEYS), block);
    LAUNCH(gpu, attention_join, c->heads, 1, tile_pointer(model->parts, TILE_FP32),
           tile_pointer(model->lse, TILE_FP32), tile_pointer(model->mixed, model->dtype),
           tile_int(parts), tile_int(c->head_dim), tile_constexpr_int(MAX_PARTS), block);
}

static void attend(Gpu *gpu, const Model *model, uint64_t keys, uint64_t values, int64_t position,
                   int64_t rows) {
    const Config *c = &model->config;
    const int64_t block = power_of_two(c->head_dim);
    LAUNCH(gpu, attention, blocks(rows, row_block(rows)), c->heads,
           tile_pointer(model->q, model->dtype), tile_pointer(keys, model->dtype),
           tile_pointer(values, model->dtype), tile_pointer(model->mixed, model->dtype),
           tile_int(rows), tile_int(position), tile_int(c->heads), tile_int(c->head_dim),
           tile_int(model->capacity), tile_float(1 / sqrt((double)c->head_dim)),
           tile_constexpr_int(c->heads / c->heads_k), tile_constexpr_int(row_block(rows)),
           tile_constexpr_int(BLOCK_KEYS), tile_constexpr_int(block < 16 ? 16 : block));
}

static void run_layer(Gpu *gpu, const Model *model, int64_t index, int64_t position, int64_t rows) {
    const Config *c = &model->config;
    const Layer *layer = &model->layers[index];
    const uint64_t cache = (uint64_t)index * model_cache_bytes(model);
    const uint64_t keys = model->keys + cache, values = model->values + cache;
    const int64_t q = c->heads * c->head_dim, k = c->heads_k * c->head_dim;
    const tile_argument x = tile_pointer(model->x, TILE_FP32),
                        normed = tile_pointer(model->normed, model->dtype),
                        qkv = tile_pointer(model->qkv, model->dtype),
                        mixed = tile_pointer(model->mixed, model->dtype),
                        gate_up = tile_pointer(model->gate_up, model->dtype),
                        gated = tile_pointer(model->gated, model->dtype);
    normalise(gpu, model, model->x, &layer->norm, rows);
    linear(gpu, normed, &layer->qkv, qkv, rows, q + 2 * k, c->width, false);
    LAUNCH(gpu, rope, rows, c->heads + 2 * c->heads_k, qkv, tile_pointer(model->cosines, TILE_FP32),
           tile_pointer(model->sines, TILE_FP32), tile_pointer(model->q, model->dtype),
           tile_pointer(keys, model->dtype), tile_pointer(values, model->dtype), tile_int(position),
           tile_int(c->heads), tile_int(c->heads_k), tile_int(c->head_dim),
           tile_int(model->capacity), tile_constexpr_int(power_of_two(c->head_dim / 2)));
    if (rows == 1)
        attend_row(gpu, model, keys, values, position);
    else
        attend(gpu, model, keys, values, position, rows);
    linear(gpu, mixed, &layer->output, x, rows, c->width, q, true);
    normalise(gpu, model, model->x, &layer->mlp_norm, rows);
    linear(gpu, normed, &layer->gate_up, gate_up, rows, 2 * c->hidden, c->width, false);
    LAUNCH(gpu, silu_mul, rows, blocks(c->hidden, BLOCK_ACTIVATIONS), gate_up, gated,
           tile_int(c->hidden), tile_constexpr_int(BLOCK_ACTIVATIONS));
    linear(gpu, gated, &layer->down, x, rows, c->width, c->hidden, true);
}

void step(Gpu *gpu, const Model *model, int64_t position, int64_t rows, const Choice *choice) {
    const Config *c = &model->config;
    const uint64_t tokens = model->tokens + (uint64_t)position * sizeof(int32_t);
    const uint64_t last = model->x + (uint64_t)((rows - 1) * c->width) * sizeof(float);
    LAUNCH(gpu, embed, rows, 1, tile_pointer(tokens, TILE_I32),
           tile_pointer(model->table.address, model->table.dtype),
           tile_pointer(model->x, TILE_FP32), tile_int(c->width),
           tile_constexpr_int(power_of_two(c->width)));
    for (int64_t i = 0; i < c->layers; i++)
        run_layer(gpu, model, i, position, rows);
    normalise(gpu, model, last, &model->norm, 1);
    linear(gpu, tile_pointer(model->normed, model->dtype), &model->head,
           tile_pointer(model->logits, TILE_FP32), 1, c->vocabulary, c->width, false);
    LAUNCH(gpu, sample, 1, 1, tile_pointer(model->logits, TILE_FP32),
           tile_pointer(tokens + (uint64_t)rows * sizeof(int32_t), TILE_I32),
           tile_int(c->vocabulary), tile_int(choice->top_k),
           tile_float(choice->greedy ? 1 : 1 / choice->temperature), tile_int(choice->seed),
           tile_int(position + rows), tile_constexpr_int(choice->greedy),
           tile_constexpr_int(BLOCK_LOGITS));
}
