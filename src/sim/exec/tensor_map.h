/* Tensor maps: what one holds, and its encoding. */
#ifndef TILEC_SIM_EXEC_TENSOR_MAP_H
#define TILEC_SIM_EXEC_TENSOR_MAP_H
#include "sim/parse/module.h"
#include "sim/sim.h"

enum { MAX_DIMS = 5 };

/* A tensor map, decoded: see sim_tensor_map_encode. */
typedef struct TensorMap {
    SimTensorType type;
    uint32_t rank;
    uint64_t address;
    uint64_t dims[MAX_DIMS];
    uint64_t strides[MAX_DIMS]; /* bytes; that of dimension 0 is the element's size */
    uint32_t box[MAX_DIMS], element_strides[MAX_DIMS];
    SimTensorInterleave interleave;
    SimTensorSwizzle swizzle;
    SimTensorPromotion promotion;
    SimTensorFill fill;
} TensorMap;

uint32_t tensor_type_bytes(SimTensorType type);
/* What kind of number an element is for reductions. */
Type tensor_type_number(SimTensorType type);
/* Reads an encoded map; false when the bytes are none. */
bool tensor_map_decode(const uint8_t bytes[128], TensorMap *map);
/* What is wrong with a map; NULL when nothing is. */
const char *tensor_map_problem(Arena *arena, const TensorMap *map);
/* Elements along a dimension of the box that are copied. */
static inline uint32_t tensor_box_elements(const TensorMap *map, uint32_t dim) {
    uint32_t step = dim ? map->element_strides[dim] : 1;
    return (map->box[dim] + step - 1) / step;
}
uint32_t tensor_box_bytes(const TensorMap *map);
/* Bytes from one row of a box to the next in shared memory: a box narrower than its swizzle has
 * gaps. */
uint32_t tensor_row_pitch(const TensorMap *map);
/* Do reductions of the tensor flush subnormal numbers? */
bool tensor_flushes(SimTensorType type);
#endif
