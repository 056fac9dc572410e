/* A model of Llama's form on the GPU: its sizes, its weights, and room for what a step computes. */
#ifndef EXAMPLES_LLM_MODEL_H
#define EXAMPLES_LLM_MODEL_H
#include "gpu.h"
#include "tensors.h"

/* Of config.json. */
typedef struct Config {
    int64_t vocabulary, width, hidden, layers, heads, heads_k, head_dim, positions;
    double eps, theta;
    bool tied; /* the head is the table of tokens */
} Config;

/* On the device. */
typedef struct Weight {
    uint64_t address;
    tile_dtype dtype;
} Weight;

typedef struct Layer {
    Weight norm, qkv, output, mlp_norm, gate_up, down;
} Layer;

typedef struct Model {
    Config config;
    tile_dtype dtype; /* of weights and activations */
    size_t element_bytes;
    Weight table, norm, head;
    Layer *layers;
    int64_t capacity; /* tokens that the cache holds */
    int64_t rows;     /* the most that one step takes */
    /* What a step computes; see kernels.tile. */
    uint64_t tokens, x, normed, qkv, q, mixed, gate_up, gated, logits, parts, lse, cosines, sines;
    uint64_t keys, values; /* the caches of all layers, one after another */
    uint64_t *memory;      /* all allocations */
    size_t memory_count;
} Model;

enum { MAX_PARTS = 16 };

/* Reads a folder and puts the model on the device, with a cache of `capacity` tokens. False after a
 * message. */
bool model_open(Model *model, Gpu *gpu, const char *folder, int64_t capacity, int64_t rows);
void model_close(Model *model, Gpu *gpu);
/* The bytes of one layer's cache of keys, or of values. */
size_t model_cache_bytes(const Model *model);
#endif
