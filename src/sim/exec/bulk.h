/* Bulk copies by the asynchronous proxy. */
#ifndef TILEC_SIM_EXEC_BULK_H
#define TILEC_SIM_EXEC_BULK_H
#include "sim/exec/tensor_map.h"
#include "sim/report/counters.h"
#include "sim/state/program.h"

enum { BULK_UNIT = 16, TENSOR_ALIGN = 128 };

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
    double time;     /* by the clock: when its bytes have come */
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

/* A queued copy is carried out and counted at its mbarrier. */
void bulk_complete(BulkCopy *bulk);
/* All threads of the warp have exited: nothing may be under way. */
void bulk_warp_exit(Warp *warp);
#endif
