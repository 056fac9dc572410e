/* Holding a pass to its contract. Private to src/passes. */
#ifndef TILEC_PASSES_CHECK_H
#define TILEC_PASSES_CHECK_H
#include "passes/passes.h"

/* The module as it is before a pass; texts live in the context's arena, until it goes. */
typedef struct PassCheck {
    Str before;
} PassCheck;

PassCheck check_begin(Func *func);
/* After the pass answered `changed`: reports every broken promise as an internal error that names
 * the pass, and is false then. Counts what could be compared in `contract`. */
bool check_end(const PassCheck *check, Func *func, PassId pass, bool changed,
               PassContract *contract);
#endif
