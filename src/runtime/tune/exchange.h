/* What was measured as a file, for other machines and for people:
 *
 *     {"tunings": [
 *     {"kernel": "matmul", "device": "NVIDIA H200", "driver": "13000", .., "key": "M=4096, ..",
 *      "configuration": "BLOCK_M=128, .., num_warps=8", "ms": 0.4123},
 *     {.., "configuration": .., "struck_out": "it does not end within 10 s"}
 *     ]}
 *
 * One line for each configuration, in the order of its members: the same measurements are the same
 * text, and what changed is seen line by line. Entries say themselves of which device, driver and
 * compiler they are, and are found by calls of these alone. */
#ifndef TILEC_RUNTIME_TUNE_EXCHANGE_H
#define TILEC_RUNTIME_TUNE_EXCHANGE_H
#include "runtime/tune/store.h"
#include "support/ctx.h"

/* All that the cache's folders have; with `kernel`, unless it is empty, of kernels of that name. */
Str exchange_export(Ctx *ctx, Cache *cache, Str kernel, uint32_t *count);
/* The text of entries, in their order. */
Str exchange_write(Arena *arena, const TuneEntry *entries, uint32_t count);
/* The entries that source `file` says, in the context's arena. False after a report. */
bool exchange_read(Ctx *ctx, uint32_t file, TuneEntry **entries, uint32_t *count);
/* Puts what source `file` says into the cache, or, where something is wrong with it, nothing. False
 * after a report. */
bool exchange_import(Ctx *ctx, Cache *cache, uint32_t file, uint32_t *count);
#endif
