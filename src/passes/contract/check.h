/* Holding a pass to its contract. Private to src/passes. */
#ifndef TILEC_PASSES_CONTRACT_CHECK_H
#define TILEC_PASSES_CONTRACT_CHECK_H
#include "passes/contract/equivalence.h"
#include "passes/passes.h"

/* Runs of the function with this text, from when a pass made it; the next pass is compared with
 * them. The text lives in the context's arena. */
typedef struct KeptRuns {
    Str text;
    KnownRuns runs;
} KeptRuns;

/* The module as it is before a pass; texts live in the context's arena, until it goes. */
typedef struct PassCheck {
    Str before;
    PropertySet had; /* what the function is known to have */
    KeptRuns *kept;  /* from check to check; NULL: nothing is */
} PassCheck;

/* Has the function what the pass requires? What is not in `has`, of which it is known, is looked up
 * in the IR, and added; an error says what is missing, and which pass gives it. */
bool check_requirements(Func *func, PassId pass, PropertySet *has);

PassCheck check_begin(Func *func, PropertySet had, KeptRuns *kept);
/* After the pass answered `changed`: reports every broken promise as an internal error that names
 * the pass, and is false then. Counts what could be compared in `contract`. */
bool check_end(const PassCheck *check, Func *func, PassId pass, bool changed,
               PassContract *contract);
#endif
