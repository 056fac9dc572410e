/* What a lowering remembers from op to op of a kernel.
 *
 * A file that does so declares the struct and, as a static constant, its kind; nobody else sees
 * either:
 *
 *     static const CacheKind turned_pointers_kind = {sizeof(TurnedPointers)};
 *     TurnedPointers *cache = cg_cache(cg, &turned_pointers_kind);
 */
#ifndef TILEC_CODEGEN_VALUES_CACHE_H
#define TILEC_CODEGEN_VALUES_CACHE_H
#include "codegen/cg.h"

typedef struct CacheKind {
    size_t size;
} CacheKind;

/* The cache of that kind, told by its address: zeros when it is first asked for. In cg->arena. */
void *cg_cache(Cg *cg, const CacheKind *kind);
#endif
