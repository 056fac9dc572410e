/* Tensor maps of a launch.
 *
 * A slot's version is odd while it is written and 0 before it ever was. A reader takes what it read
 * only if the version was the same before and after; a writer that finds a slot taken leaves it
 * alone, and launches with the map it made. All words are atomic: acquire on the reader's side and
 * release on the writer's make a reader that saw a new word see the new version, too. */
#include "runtime/launch/tensor_maps.h"

#include <stdatomic.h>

enum { SLOTS = 32, WAYS = 4, MAP_WORDS = 16, SHAPE_WORDS = sizeof(TensorMapShape) / 8 };

_Static_assert(sizeof(CudaTensorMap) == 8 * MAP_WORDS, "a tensor map has 128 bytes");
_Static_assert(sizeof(TensorMapShape) % 8 == 0, "shapes are compared as words");

typedef struct Slot {
    _Atomic uint64_t version;
    _Atomic uint64_t shape[SHAPE_WORDS];
    _Atomic uint64_t map[MAP_WORDS];
} Slot;

typedef struct RecipeTable {
    TensorMapRecipe recipe;
    atomic_uint writes; /* chooses the slot that goes */
    Slot slots[SLOTS];
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
    for (uint32_t i = 0; i < maps->count; i++)
        maps->tables[i].recipe = recipe_copy(arena, &recipes->data[i]);
    return maps;
}

uint32_t tensor_maps_count(const TensorMaps *maps) {
    return maps ? maps->count : 0;
}

/* The table of maps made before */

static uint64_t hash_words(const uint64_t *words) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < SHAPE_WORDS; i++)
        hash = (hash ^ words[i] ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static bool slot_read(const Slot *slot, const uint64_t *shape, uint64_t *map) {
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    if (!version || version % 2)
        return false;
    for (unsigned i = 0; i < SHAPE_WORDS; i++)
        if (atomic_load_explicit(&slot->shape[i], memory_order_acquire) != shape[i])
            return false;
    for (unsigned i = 0; i < MAP_WORDS; i++)
        map[i] = atomic_load_explicit(&slot->map[i], memory_order_acquire);
    return atomic_load_explicit(&slot->version, memory_order_relaxed) == version;
}

static void slot_write(Slot *slot, const uint64_t *shape, const uint64_t *map) {
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    if (version % 2 ||
        !atomic_compare_exchange_strong_explicit(&slot->version, &version, version + 1,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    for (unsigned i = 0; i < SHAPE_WORDS; i++)
        atomic_store_explicit(&slot->shape[i], shape[i], memory_order_release);
    for (unsigned i = 0; i < MAP_WORDS; i++)
        atomic_store_explicit(&slot->map[i], map[i], memory_order_release);
    atomic_store_explicit(&slot->version, version + 2, memory_order_release);
}

static bool table_find(const RecipeTable *table, uint64_t hash, const uint64_t *shape,
                       uint64_t *map) {
    for (unsigned i = 0; i < WAYS; i++)
        if (slot_read(&table->slots[(hash + i) % SLOTS], shape, map))
            return true;
    return false;
}

static void table_keep(RecipeTable *table, uint64_t hash, const uint64_t *shape,
                       const uint64_t *map) {
    for (unsigned i = 0; i < WAYS; i++) {
        Slot *slot = &table->slots[(hash + i) % SLOTS];
        if (!atomic_load_explicit(&slot->version, memory_order_relaxed)) {
            slot_write(slot, shape, map);
            return;
        }
    }
    unsigned turn = atomic_fetch_add_explicit(&table->writes, 1, memory_order_relaxed);
    slot_write(&table->slots[(hash + turn % WAYS) % SLOTS], shape, map);
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

static bool encode(const TensorMapRecipe *recipe, const Driver *driver, const TensorMapShape *shape,
                   CudaTensorMap *map, TensorMapProblem *problem) {
    uint32_t box[RECIPE_MAX_RANK], steps[RECIPE_MAX_RANK];
    for (int32_t i = 0; i < recipe->rank; i++) {
        box[i] = (uint32_t)recipe->box[i];
        steps[i] = 1;
    }
    problem->no_encoder = !driver->tensor_map_encode;
    if (problem->no_encoder)
        return false;
    problem->encoder = driver->tensor_map_encode(
        map, recipe_element(recipe->dtype), (uint32_t)recipe->rank,
        (void *)(uintptr_t)shape->address, shape->extents, shape->strides + 1, box, steps,
        CUDA_TENSOR_INTERLEAVE_NONE, recipe_swizzle(recipe), CUDA_TENSOR_L2_128B,
        CUDA_TENSOR_FILL_ZERO);
    if (problem->encoder != CUDA_OK)
        return false;
    clear_small_tensor_bit(driver, recipe, shape, map);
    return true;
}

bool tensor_maps_encode(TensorMaps *maps, const Driver *driver, const void *const *params,
                        CudaTensorMap *encoded, TensorMapProblem *problem) {
    for (uint32_t i = 0; i < maps->count; i++) {
        RecipeTable *table = &maps->tables[i];
        TensorMapShape shape;
        uint64_t words[SHAPE_WORDS];
        *problem = (TensorMapProblem){.map = i};
        if (!recipe_resolve(&table->recipe, params, &shape, &problem->recipe))
            return false;
        memcpy(words, &shape, sizeof words);
        uint64_t hash = hash_words(words);
        if (table_find(table, hash, words, encoded[i].words))
            continue;
        if (!encode(&table->recipe, driver, &shape, &encoded[i], problem))
            return false;
        table_keep(table, hash, words, encoded[i].words);
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
