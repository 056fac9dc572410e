/* Tensor copies in tile mode: which bytes of a box lie where. */
#ifndef TILEC_SIM_EXEC_EXEC_TENSOR_H
#define TILEC_SIM_EXEC_EXEC_TENSOR_H
#include "sim/exec/bulk.h"

/* Visits the chunks of a copy in order. */
void tensor_walk(BulkCopy *bulk, ChunkVisitor *visit);
/* Reads a tensor map and the coordinates; false after a finding. */
bool tensor_operand(BulkCopy *bulk, const Operand *operand);
/* Converts what a load brings, by the map's type. */
void tensor_convert(const TensorMap *map, uint8_t *bytes, uint32_t size);
/* What the map says that lies outside the tensor, over zeros. */
void tensor_fill(const TensorMap *map, uint8_t *bytes, uint32_t size);
#endif
