/* Configurations that no decorator lists: all combinations of values that a caller wants tried, and
 * launches besides the one that the compiler chooses. */
#ifndef TILEC_FRONTEND_AUTOTUNE_SPACE_H
#define TILEC_FRONTEND_AUTOTUNE_SPACE_H
#include "frontend/autotune.h"

/* What a function of `def` may be tuned over at most. */
enum { AUTOTUNE_MOST_CONFIGS = 4096 };

/* Writes all combinations of `lists`, of each a name (a parameter, num_warps, num_stages, num_ctas,
 * maxnreg) and its values as Python has them ("[64, 128]", or one value), in the place of the
 * source's configurations; the last list varies fastest. Calls share a configuration by the
 * source's key; without any by all parameters that are left, integers up to the next power of two.
 * `given`, of each name and maxnreg: the caller sets it otherwise. `origin`: what lists are called
 * in messages. In `arena`, pointing at nothing of the context. False after errors. */
bool autotune_combine(Ctx *ctx, Arena *arena, const FuncDef *def, const char *origin,
                      const NamedText *lists, uint32_t count, const bool *given,
                      Autotune *autotune);
/* Adds launches to each configuration, or to the compiler's choice where there is none: those that
 * may be near the one that the compiler chooses for a call (TuneConfig.variant_of), of warps and
 * stages, where nobody else sets these. Keys as above. False after an error: they are too many. */
bool autotune_generate(Ctx *ctx, Arena *arena, const FuncDef *def, const Heuristics *heuristics,
                       const bool *given, Autotune *autotune);
#endif
