/* Bulk copies: what exec_bulk.c, exec_tensor.c and tensor_map.c share. */
#ifndef TILEC_SIM_BULK_H
#define TILEC_SIM_BULK_H
#include "sim/machine.h"

enum { BULK_UNIT = 16, TENSOR_ALIGN = 128, MAX_DIMS = 5 };

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
void tensor_map_store(const TensorMap *map, uint8_t bytes[128]);
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

typedef enum BulkKind { BULK_LOAD, BULK_STORE, BULK_PEER } BulkKind;

/* A copy by the asynchronous proxy, for one thread and one destination. */
typedef struct BulkCopy {
    struct BulkCopy *next; /* of the warp's stores, newest first */
    Warp *warp;
    const Insn *insn;
    uint32_t lane;
    BulkKind kind;
    Word reduction; /* WORD_none: a copy */
    Type type;      /* of reductions */
    Cta *owner;     /* of the shared memory written, or read by a store */
    uint64_t shared;
    Cta *source; /* BULK_PEER: of the shared memory read */
    uint64_t from;
    uint64_t global;
    uint32_t size;
    const TensorMap *map; /* NULL: `size` bytes in a row */
    int32_t coordinates[MAX_DIMS];
    Mbarrier *mbarrier;
    uint32_t number; /* of the launch: tells its reads from those of others */
    uint32_t group;  /* UINT32_MAX: not committed */
    bool has_read;   /* a store: `bytes` were read */
    bool invalid;    /* a finding: nothing is copied */
    uint32_t begun;  /* chunks of a load whose shared memory it owns */
    uint8_t *bytes;
    StreamCount counted;
} BulkCopy;

/* At most 16 bytes of a copy, which lie together in shared memory: the bytes from `lo` to `hi` of
 * them lie at `global`, the others outside the tensor. */
typedef struct BulkChunk {
    uint64_t shared, global;
    uint32_t size, lo, hi;
    uint32_t index; /* of the chunk in the copy */
} BulkChunk;
typedef void ChunkVisitor(BulkCopy *bulk, const BulkChunk *chunk);

/* Visits the chunks of a copy in order. */
void bulk_walk(BulkCopy *bulk, ChunkVisitor *visit);
void tensor_walk(BulkCopy *bulk, ChunkVisitor *visit);
/* Reads a tensor map and the coordinates; false after a finding. */
bool tensor_operand(BulkCopy *bulk, const Operand *operand);
/* Do reductions of the tensor flush subnormal numbers? */
bool tensor_flushes(SimTensorType type);
/* What is wrong with a reduction of that type; NULL when nothing is. The hardware ends a launch
 * that combines the bits of .s64. */
const char *bulk_reduction(Word operation, Type type);
/* Starts a copy that an mbarrier counts, or one of the thread's groups. */
void bulk_start_load(const BulkCopy *bulk);
void bulk_start_store(const BulkCopy *bulk);
/* The programs a copy goes to; false after a finding. */
bool bulk_multicast(Warp *warp, const Insn *insn, uint32_t lane, unsigned operand, uint32_t *ranks);
/* Where an operand leads in shared memory, a multiple of `align`; false after a finding. */
bool bulk_shared(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand, uint32_t size,
                 uint32_t align, AccessKind kind, Cta **owner, uint64_t *own);
bool bulk_mbarrier(Warp *warp, const Insn *insn, uint32_t lane, const Operand *operand, Cta **owner,
                   uint64_t *own);
/* Converts what a load brings, by the map's type. */
void tensor_convert(const TensorMap *map, uint8_t *bytes, uint32_t size);
/* What the map says that lies outside the tensor, over zeros. */
void tensor_fill(const TensorMap *map, uint8_t *bytes, uint32_t size);
#endif
