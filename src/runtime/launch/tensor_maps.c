/* Tensor maps of a launch.
 *
 * A map is found by the values of the parameters that its recipe reads, so that a map that is known
 * is neither computed nor checked again. A slot is a version, these values and the map. Its version
 * is odd while it is written and 0 before it ever was. A reader takes what it read only if the
 * version was the same before and after; a writer that finds a slot taken leaves it alone, and
 * launches with the map it made. All words are atomic: acquire on the reader's side and release on
 * the writer's make a reader that saw a new word see the new version, too. */
#include "runtime/launch/tensor_maps.h"

#include <stdatomic.h>

/* Expressions of a recipe, each of which may read as many parameters as it has steps. */
enum { MAX_KEY = RECIPE_MAX_STEPS * 2 * RECIPE_MAX_RANK };
enum { SLOTS = 32, WAYS = 4, MAP_WORDS = 16 };

_Static_assert(sizeof(CudaTensorMap) == 8 * MAP_WORDS, "a tensor map has 128 bytes");

typedef _Atomic uint64_t Word;

typedef struct RecipeTable {
    TensorMapRecipe recipe;
    RecipeParams key;   /* what a map is found by */
    atomic_uint writes; /* chooses the slot that goes */
    size_t slot_words;  /* version, key, map */
    Word *slots;
} RecipeTable;

struct TensorMaps {
    uint32_t count, param_count;
    const Str *param_names;
    RecipeTable *tables;
};

TensorMaps *tensor_maps_create(Arena *arena, const TensorMapRecipes *recipes,
                               const Str *param_names, uint32_t param_count) {
    if (!recipes->len)
        return NULL;
    TensorMaps *maps = ARENA_NEW(arena, TensorMaps);
    Str *names = ARENA_ARRAY(arena, Str, param_count + 1);
    for (uint32_t i = 0; i < param_count; i++)
        names[i] = (Str){str_dup(arena, param_names[i]), param_names[i].len};
    *maps = (TensorMaps){.count = (uint32_t)recipes->len,
                         .param_count = param_count,
                         .param_names = names,
                         .tables = ARENA_ARRAY(arena, RecipeTable, recipes->len)};
    for (uint32_t i = 0; i < maps->count; i++) {
        RecipeTable *table = &maps->tables[i];
        table->recipe = recipe_copy(arena, &recipes->data[i]);
        table->key = recipe_params(arena, &table->recipe);
        table->slot_words = 1 + table->key.len + MAP_WORDS;
        table->slots = ARENA_ARRAY(arena, Word, SLOTS * table->slot_words);
    }
    return maps;
}

uint32_t tensor_maps_count(const TensorMaps *maps) {
    return maps ? maps->count : 0;
}

/* The table of maps made before */

static uint64_t load_word(const void *value, uint32_t bytes) {
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    switch (bytes) {
    case 8:
        memcpy(&wide, value, sizeof wide);
        return wide;
    case 4:
        memcpy(&word, value, sizeof word);
        return word;
    case 2:
        memcpy(&half, value, sizeof half);
        return half;
    default:
        return *(const unsigned char *)value;
    }
}

/* The values that the map follows from; their hash. */
static uint64_t make_key(const RecipeTable *table, const void *const *params, uint64_t *key) {
    uint64_t hash = 0;
    for (size_t i = 0; i < table->key.len; i++) {
        const RecipeParam *param = &table->key.data[i];
        key[i] = load_word(params[param->number], param->bytes);
        hash = (hash ^ key[i] ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash ^ hash >> 32;
}

static Word *slot_at(const RecipeTable *table, uint64_t index) {
    return table->slots + index % SLOTS * table->slot_words;
}

static bool slot_read(const Word *slot, const uint64_t *key, size_t key_words, uint64_t *map) {
    const uint64_t version = atomic_load_explicit(slot, memory_order_acquire);
    const Word *keys = slot + 1, *maps = keys + key_words;
    if (!version || version % 2)
        return false;
    for (size_t i = 0; i < key_words; i++)
        if (atomic_load_explicit(&keys[i], memory_order_acquire) != key[i])
            return false;
    for (size_t i = 0; i < MAP_WORDS; i++)
        map[i] = atomic_load_explicit(&maps[i], memory_order_acquire);
    return atomic_load_explicit(slot, memory_order_relaxed) == version;
}

static void slot_write(Word *slot, const uint64_t *key, size_t key_words, const uint64_t *map) {
    uint64_t version = atomic_load_explicit(slot, memory_order_relaxed);
    Word *keys = slot + 1, *maps = keys + key_words;
    if (version % 2 || !atomic_compare_exchange_strong_explicit(
                           slot, &version, version + 1, memory_order_acq_rel, memory_order_relaxed))
        return;
    for (size_t i = 0; i < key_words; i++)
        atomic_store_explicit(&keys[i], key[i], memory_order_release);
    for (size_t i = 0; i < MAP_WORDS; i++)
        atomic_store_explicit(&maps[i], map[i], memory_order_release);
    atomic_store_explicit(slot, version + 2, memory_order_release);
}

static bool table_find(const RecipeTable *table, uint64_t hash, const uint64_t *key,
                       uint64_t *map) {
    for (unsigned i = 0; i < WAYS; i++)
        if (slot_read(slot_at(table, hash + i), key, table->key.len, map))
            return true;
    return false;
}

static void table_keep(RecipeTable *table, uint64_t hash, const uint64_t *key,
                       const uint64_t *map) {
    for (unsigned i = 0; i < WAYS; i++) {
        Word *slot = slot_at(table, hash + i);
        if (!atomic_load_explicit(slot, memory_order_relaxed)) {
            slot_write(slot, key, table->key.len, map);
            return;
        }
    }
    unsigned turn = atomic_fetch_add_explicit(&table->writes, 1, memory_order_relaxed);
    slot_write(slot_at(table, hash + turn % WAYS), key, table->key.len, map);
}

/* Encoding */

/* Encoders up to CUDA 13.1 set a bit of maps of tensors below 128 KiB that must be clear; CUTLASS
 * and Triton clear it, too. */
static void clear_small_tensor_bit(const Driver *driver, const TensorMapRecipe *recipe,
                                   const TensorMapShape *shape, CudaTensorMap *map) {
    enum { LAST_VERSION = 13010, SMALL = 128 << 10 };
    unsigned __int128 bytes = shape->strides[0];
    for (int32_t i = 0; i < recipe->rank; i++)
        bytes += (unsigned __int128)(shape->extents[i] - 1) * shape->strides[i];
    if (driver->version <= LAST_VERSION && bytes < SMALL)
        map->words[1] &= ~(UINT64_C(1) << 21);
}

static bool encode(const TensorMapRecipe *recipe, const Driver *driver, const void *const *params,
                   CudaTensorMap *map, TensorMapProblem *problem) {
    TensorMapShape shape;
    uint32_t box[RECIPE_MAX_RANK], steps[RECIPE_MAX_RANK];
    if (!recipe_resolve(recipe, params, &shape, &problem->recipe))
        return false;
    for (int32_t i = 0; i < recipe->rank; i++) {
        box[i] = (uint32_t)recipe->box[i];
        steps[i] = 1;
    }
    problem->no_encoder = !driver->tensor_map_encode;
    if (problem->no_encoder)
        return false;
    problem->encoder = driver->tensor_map_encode(
        map, recipe_element(recipe->dtype), (uint32_t)recipe->rank,
        (void *)(uintptr_t)shape.address, shape.extents, shape.strides + 1, box, steps,
        CUDA_TENSOR_INTERLEAVE_NONE, recipe_swizzle(recipe), CUDA_TENSOR_L2_128B,
        CUDA_TENSOR_FILL_ZERO);
    if (problem->encoder != CUDA_OK)
        return false;
    clear_small_tensor_bit(driver, recipe, &shape, map);
    return true;
}

bool tensor_maps_encode(TensorMaps *maps, const Driver *driver, const void *const *params,
                        CudaTensorMap *encoded, TensorMapProblem *problem) {
    for (uint32_t i = 0; i < maps->count; i++) {
        RecipeTable *table = &maps->tables[i];
        uint64_t key[MAX_KEY];
        const uint64_t hash = make_key(table, params, key);
        if (table_find(table, hash, key, encoded[i].words))
            continue;
        *problem = (TensorMapProblem){.map = i};
        if (!encode(&table->recipe, driver, params, &encoded[i], problem))
            return false;
        table_keep(table, hash, key, encoded[i].words);
    }
    return true;
}

const char *tensor_maps_explain(const TensorMaps *maps, const Driver *driver, Arena *arena,
                                const void *const *params, const TensorMapProblem *problem) {
    if (problem->no_encoder)
        return "the driver is too old to encode tensor maps: wanted CUDA 12.0 or newer";
    if (problem->recipe.fault == RECIPE_FINE)
        return str_format(arena, "cuTensorMapEncodeTiled failed: %s",
                          driver_error_text(driver, arena, problem->encoder));
    return recipe_explain(arena, &maps->tables[problem->map].recipe, &problem->recipe,
                          maps->param_names, params);
}
