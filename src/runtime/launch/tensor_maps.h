/* Tensor maps of a launch: evaluated by their recipes (target/tensor_map.h), encoded by the driver,
 * and kept by the values of the parameters that they follow from.
 *
 * Encoding costs about a microsecond, and a program that launches in a loop asks for the same few
 * maps: each recipe has a table of those it gave last. Its slots are written under a version of
 * their own, so that neither a hit nor a miss waits for another thread or allocates anything. Any
 * thread may encode at any time. */
#ifndef TILEC_RUNTIME_LAUNCH_TENSOR_MAPS_H
#define TILEC_RUNTIME_LAUNCH_TENSOR_MAPS_H
#include "runtime/driver/driver.h"
#include "target/tensor_map.h"

typedef struct TensorMaps TensorMaps;

/* Why a launch has no maps. */
typedef struct TensorMapProblem {
    uint32_t map;         /* the first that there is not */
    RecipeProblem recipe; /* RECIPE_FINE: the encoder did not take it */
    bool no_encoder;      /* the driver is too old to have one */
    CUresult encoder;     /* what it answered */
} TensorMapProblem;

/* For a kernel with these recipes, copied into the arena, in which everything lies; NULL when there
 * are none. param_names[i] is what messages call parameter i. */
TensorMaps *tensor_maps_create(Arena *arena, const TensorMapRecipes *recipes,
                               const Str *param_names, uint32_t param_count);
uint32_t tensor_maps_count(const TensorMaps *maps);

/* Fills in one map for each recipe. params[i] points at the value of parameter i. False: `problem`
 * says why, and nothing may be launched with these. */
bool tensor_maps_encode(TensorMaps *maps, const Driver *driver, const void *const *params,
                        CudaTensorMap *encoded, TensorMapProblem *problem);

/* The problem in words, with the parameters that led to it: "the stride of dimension 1 is 1026
 * bytes: wanted .. (stride_am = 513)". */
const char *tensor_maps_explain(const TensorMaps *maps, const Driver *driver, Arena *arena,
                                const void *const *params, const TensorMapProblem *problem);
#endif
