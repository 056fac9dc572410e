#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool get_size(const Json *config, const char *key, int64_t otherwise, int64_t *size) {
    const Json *found = json_find(config, key);
    const bool given = found && found->kind == JSON_NUMBER;
    *size = given ? (int64_t)found->number : otherwise;
    if (*size > 0 && *size < INT32_MAX && (!given || found->number == (double)*size))
        return true;
    fprintf(stderr, "llm: config.json: %s is missing, or no size\n", key);
    return false;
}

static double get_number(const Json *config, const char *key, double otherwise) {
    const Json *found = json_find(config, key);
    return found && found->kind == JSON_NUMBER ? found->number : otherwise;
}

/* Other models give the same tensors another meaning. */
static bool is_known(const Json *config) {
    const Json *type = json_find(config, "model_type"), *act = json_find(config, "hidden_act");
    const Json *scaling = json_find(config, "rope_scaling");
    const Json *rope = json_find(json_find(config, "rope_parameters"), "rope_type");
    const Json *window = json_find(config, "sliding_window");
    const char *problem = type && !json_is(type, "llama") && !json_is(type, "mistral")
                              ? "model_type is not llama"
                          : act && !json_is(act, "silu")          ? "hidden_act is not silu"
                          : scaling && scaling->kind != JSON_NULL ? "rope_scaling is not null"
                          : rope && !json_is(rope, "default")     ? "rope_type is not default"
                          : window && window->kind != JSON_NULL   ? "sliding_window is not null"
                                                                  : NULL;
    if (problem)
        fprintf(stderr, "llm: config.json: %s, which this program has no kernels for\n", problem);
    return !problem;
}

static bool read_config(const Json *json, Config *config) {
    if (!is_known(json) || !get_size(json, "vocab_size", 0, &config->vocabulary) ||
        !get_size(json, "hidden_size", 0, &config->width) ||
        !get_size(json, "intermediate_size", 0, &config->hidden) ||
        !get_size(json, "num_hidden_layers", 0, &config->layers) ||
        !get_size(json, "num_attention_heads", 0, &config->heads) ||
        !get_size(json, "num_key_value_heads", config->heads, &config->heads_k) ||
        !get_size(json, "head_dim", config->width / config->heads, &config->head_dim) ||
        !get_size(json, "max_position_embeddings", 2048, &config->positions))
        return false;
    config->eps = get_number(json, "rms_norm_eps", 1e-6);
    config->theta = get_number(json_find(json, "rope_parameters"), "rope_theta",
                               get_number(json, "rope_theta", 10000));
    const Json *tied = json_find(json, "tie_word_embeddings");
    config->tied = tied && tied->kind == JSON_BOOL && tied->number != 0;
    if (config->heads % config->heads_k == 0 && config->head_dim % 2 == 0 &&
        config->head_dim <= 256)
        return true;
    fputs("llm: config.json: heads of Q are shared by no whole number of heads of K, or a head is "
          "odd "
          "or larger than 256\n",
          stderr);
    return false;
}

static bool open_config(const char *folder, Config *config) {
    size_t size = 0;
    char *text = read_file(folder, "config.json", &size);
    Json *json = text ? json_parse(text, size) : NULL;
    if (text && !json)
        fputs("llm: config.json is no JSON\n", stderr);
    const bool ok = json && read_config(json, config);
    json_free(json);
    free(text);
    return ok;
}

/* Room on the device; 0 after a message. */
static uint64_t room(Model *model, Gpu *gpu, size_t bytes) {
    uint64_t *grown = realloc(model->memory, (model->memory_count + 1) * sizeof *grown);
    if (!grown) {
        fputs("llm: out of memory\n", stderr);
        return 0;
    }
    model->memory = grown;
    const uint64_t address = gpu_allocate(gpu, bytes ? bytes : 1);
    if (address)
        model->memory[model->memory_count++] = address;
    return address;
}

typedef struct Upload {
    Model *model;
    Gpu *gpu;
    Tensors *tensors;
} Upload;

/* One tensor of a weight: rows x columns of the weight's; rows 0: a vector. */
typedef struct Part {
    const char *name;
    int64_t rows;
} Part;

static bool has_shape(const Tensor *tensor, int64_t rows, int64_t columns) {
    return rows ? tensor->rank == 2 && tensor->shape[0] == rows && tensor->shape[1] == columns
                : tensor->rank == 1 && tensor->shape[0] == columns;
}

/* NULL after a message. */
static const Tensor *find_part(const Upload *upload, const Part *part, int64_t columns,
                               tile_dtype dtype) {
    const Tensor *tensor = tensors_find(upload->tensors, part->name);
    const char *problem = !tensor                                   ? "is missing"
                          : !has_shape(tensor, part->rows, columns) ? "has another shape than "
                                                                      "config.json says"
                          : dtype != TILE_DTYPE_AUTO && tensor->dtype != dtype
                              ? "is of another type than what it goes together with"
                              : NULL;
    if (problem)
        fprintf(stderr, "llm: tensor %s %s\n", part->name, problem);
    return problem ? NULL : tensor;
}

/* Tensors that become one weight, one behind another, in memory of their own. */
static bool put(Upload *upload, Weight *weight, int64_t columns, const Part *parts, int count) {
    const Tensor *tensors[3] = {NULL};
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        tensors[i] = find_part(upload, &parts[i], columns, i ? tensors[0]->dtype : TILE_DTYPE_AUTO);
        if (!tensors[i])
            return false;
        bytes += tensors[i]->bytes;
    }
    weight->dtype = tensors[0]->dtype;
    uint64_t next = weight->address = room(upload->model, upload->gpu, bytes);
    for (int i = 0; i < count && next; next += tensors[i++]->bytes)
        if (!gpu_ok(tile_memory_write(upload->gpu->device, next, tensors[i]->data,
                                      tensors[i]->bytes, upload->gpu->stream),
                    NULL))
            return false;
    return next != 0;
}

static bool put_one(Upload *upload, Weight *weight, int64_t rows, int64_t columns,
                    const char *name) {
    return put(upload, weight, columns, &(Part){name, rows}, 1);
}

/* Parts by their names in the layer. */
static bool put_of_layer(Upload *upload, int64_t layer, Weight *weight, int64_t columns,
                         const Part *parts, int count) {
    char names[3][160];
    Part full[3];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "model.layers.%lld.%s.weight", (long long)layer,
                 parts[i].name);
        full[i] = (Part){names[i], parts[i].rows};
    }
    return put(upload, weight, columns, full, count);
}

/* Matrices that are applied to the same rows are one. */
static bool put_layer(Upload *upload, const Config *c, Layer *layer, int64_t index) {
    const int64_t q = c->heads * c->head_dim, k = c->heads_k * c->head_dim;
    const struct {
        Weight *weight;
        int64_t columns;
        int count;
        Part parts[3];
    } weights[] = {
        {&layer->norm, c->width, 1, {{"input_layernorm", 0}}},
        {&layer->qkv,
         c->width,
         3,
         {{"self_attn.q_proj", q}, {"self_attn.k_proj", k}, {"self_attn.v_proj", k}}},
        {&layer->output, q, 1, {{"self_attn.o_proj", c->width}}},
        {&layer->mlp_norm, c->width, 1, {{"post_attention_layernorm", 0}}},
        {&layer->gate_up, c->width, 2, {{"mlp.gate_proj", c->hidden}, {"mlp.up_proj", c->hidden}}},
        {&layer->down, c->hidden, 1, {{"mlp.down_proj", c->width}}},
    };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (!put_of_layer(upload, index, weights[i].weight, weights[i].columns, weights[i].parts,
                          weights[i].count))
            return false;
    return true;
}

/* A tensor that nobody asked for would change what the model computes. */
static bool all_used(const Tensors *tensors) {
    for (size_t i = 0; i < tensors->count; i++) {
        if (tensors->list[i].used || strstr(tensors->list[i].name, "rotary_emb.inv_freq"))
            continue;
        fprintf(stderr, "llm: this program does not know what %s is for\n", tensors->list[i].name);
        return false;
    }
    return true;
}

static bool put_weights(Model *model, Upload *upload) {
    const Config *c = &model->config;
    if (!put_one(upload, &model->table, c->vocabulary, c->width, "model.embed_tokens.weight") ||
        !put_one(upload, &model->norm, 0, c->width, "model.norm.weight"))
        return false;
    for (int64_t i = 0; i < c->layers; i++)
        if (!put_layer(upload, c, &model->layers[i], i))
            return false;
    const bool has_head = tensors_find(upload->tensors, "lm_head.weight") != NULL;
    model->head = model->table;
    if (has_head) {
        if (!put_one(upload, &model->head, c->vocabulary, c->width, "lm_head.weight"))
            return false;
    } else if (!c->tied) {
        fputs("llm: there is no lm_head.weight, and tie_word_embeddings is not set\n", stderr);
        return false;
    }
    model->dtype = model->layers[0].qkv.dtype;
    model->element_bytes = model->dtype == TILE_FP32 ? 4 : 2;
    return all_used(upload->tensors);
}

/* The host's memory is the files': it stays until the copies are done. */
static bool upload_weights(Model *model, Gpu *gpu, Tensors *tensors) {
    Upload upload = {.model = model, .gpu = gpu, .tensors = tensors};
    return put_weights(model, &upload) && gpu_wait(gpu);
}

/* Cosines and sines of the angles place / theta^(2 i / head_dim), in double precision: at far
 * places an angle in fp32 is off by more than fp16 shows. */
static bool upload_angles(Model *model, Gpu *gpu) {
    const int64_t half = model->config.head_dim / 2, count = model->capacity * half;
    const size_t bytes = (size_t)count * sizeof(float);
    float *cosines = malloc(bytes), *sines = malloc(bytes);
    for (int64_t i = 0; cosines && sines && i < count; i++) {
        const double power = (double)(2 * (i % half)) / (double)model->config.head_dim;
        const double angle = (double)(i / half) / pow(model->config.theta, power);
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    model->cosines = room(model, gpu, bytes);
    model->sines = room(model, gpu, bytes);
    const bool ok =
        cosines && sines && model->cosines && model->sines &&
        gpu_ok(tile_memory_write(gpu->device, model->cosines, cosines, bytes, gpu->stream), NULL) &&
        gpu_ok(tile_memory_write(gpu->device, model->sines, sines, bytes, gpu->stream), NULL) &&
        gpu_wait(gpu);
    free(cosines);
    free(sines);
    return ok;
}

size_t model_cache_bytes(const Model *model) {
    const Config *c = &model->config;
    return (size_t)(c->heads_k * model->capacity * c->head_dim) * model->element_bytes;
}

static bool make_room(Model *model, Gpu *gpu) {
    const Config *c = &model->config;
    const size_t rows = (size_t)model->rows, bytes = model->element_bytes;
    const size_t q = (size_t)(c->heads * c->head_dim), k = (size_t)(c->heads_k * c->head_dim);
    const struct {
        uint64_t *address;
        size_t bytes;
    } wanted[] = {
        {&model->tokens, (size_t)(model->capacity + 1) * sizeof(int32_t)},
        {&model->x, rows * (size_t)c->width * sizeof(float)},
        {&model->normed, rows * (size_t)c->width * bytes},
        {&model->qkv, rows * (q + 2 * k) * bytes},
        {&model->q, rows * q * bytes},
        {&model->mixed, rows * q * bytes},
        {&model->gate_up, rows * 2 * (size_t)c->hidden * bytes},
        {&model->gated, rows * (size_t)c->hidden * bytes},
        {&model->logits, (size_t)c->vocabulary * sizeof(float)},
        {&model->parts, MAX_PARTS * q * sizeof(float)},
        {&model->lse, MAX_PARTS * (size_t)c->heads * sizeof(float)},
        {&model->keys, (size_t)c->layers * model_cache_bytes(model)},
        {&model->values, (size_t)c->layers * model_cache_bytes(model)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*wanted[i].address = room(model, gpu, wanted[i].bytes)))
            return false;
    return true;
}

bool model_open(Model *model, Gpu *gpu, const char *folder, int64_t capacity, int64_t rows) {
    *model = (Model){.capacity = capacity, .rows = rows};
    if (!open_config(folder, &model->config))
        return false;
    if (capacity > model->config.positions) {
        fprintf(stderr, "llm: %lld tokens are more than max_position_embeddings, %lld\n",
                (long long)capacity, (long long)model->config.positions);
        return false;
    }
    Tensors tensors;
    model->layers = calloc((size_t)model->config.layers, sizeof *model->layers);
    const bool ok = tensors_open(&tensors, folder) && model->layers &&
                    upload_weights(model, gpu, &tensors) && upload_angles(model, gpu) &&
                    make_room(model, gpu);
    tensors_close(&tensors);
    return ok;
}

void model_close(Model *model, Gpu *gpu) {
    for (size_t i = 0; i < model->memory_count; i++)
        tile_memory_free(gpu->device, model->memory[i]);
    free(model->memory);
    free(model->layers);
}
