/* Plain accesses to buffers: which registers of a tile go together. */
#ifndef TILEC_CODEGEN_MEMORY_SHARED_ACCESS_H
#define TILEC_CODEGEN_MEMORY_SHARED_ACCESS_H
#include "codegen/values/plans.h"

/* How the registers of a distributed tile meet a buffer: per register the offset of its element, in
 * elements, and which registers form one access. */
typedef struct SharedAccess {
    const Plan *plan; /* of the map from (register, thread) to offsets */
    uint32_t width;
    const uint32_t
        *order;     /* registers by groups of `width` with consecutive offsets; one per element */
    uint32_t count; /* entries of `order` */
} SharedAccess;

/* The width is as many low offset bits as registers alone decide, up to 16 bytes; `first` is added
 * to all offsets. */
SharedAccess cg_shared_access(Cg *cg, const Layout *dist, const Layout *buffer, int bytes,
                              uint32_t first);

/* A local_load by plain accesses of whole words, whose elements are neighbours in the registers. */
typedef struct WordLoad {
    SharedAccess access;
    uint32_t first;    /* offset of the part that is loaded */
    uint32_t per_word; /* elements */
} WordLoad;
/* False if the layouts do not allow it. */
bool cg_find_word_load(Cg *cg, const Op *op, WordLoad *load);
/* Of element `i` of the access's order, in the buffer. */
uint32_t cg_word_load_image(const WordLoad *load, uint32_t i);
#endif
