/* Accesses to memory. */
#ifndef TILEC_CODEGEN_MEMORY_ACCESS_H
#define TILEC_CODEGEN_MEMORY_ACCESS_H
#include "codegen/cg.h"

/* One access of up to 16 bytes of consecutive elements, in a state space, under a predicate (NULL:
 * always). */
typedef struct Access {
    unsigned space;
    DType dtype;    /* of the elements; pointers travel as I64 */
    uint32_t width; /* elements */
    Lv pointer;     /* to the first */
    Lv predicate;
    CacheModifier cache;
    EvictionPolicy evict;
    bool is_volatile;
    bool may_delay;    /* of a load: see schedule.c */
    int64_t under_way; /* of a load: see stream.c; 0: it stays */
} Access;
void cg_load(Cg *cg, const Access *access, const Lv *other, Lv *out);
void cg_store(Cg *cg, const Access *access, const Lv *values);
/* An L2 cache policy for operand `cache-policy`; `evict` is not EVICT_NORMAL. */
Lv cg_l2_policy(Cg *cg, EvictionPolicy evict);
#endif
