/* Passes over Tile IR and the pipeline made of them.
 *
 * A pass is `bool pass_<name>(Func *)`: true if and only if it changed something. One that cannot
 * go on reports a diagnostic; the pipeline stops at the first error. Each file's head says what the
 * pass requires and ensures, with IR before and after. */
#ifndef TILEC_PASSES_PASSES_H
#define TILEC_PASSES_PASSES_H
#include "ir/ir.h"
#include "passes/equivalence.h"
#include "target/target.h"

typedef bool Pass(Func *func);

typedef enum PassId {
#define PASS(id, text, summary) PASS_##id,
#include "passes/passes.def"
    PASS_COUNT
} PassId;

#define PASS(id, text, summary) Pass pass_##id;
#include "passes/passes.def"

typedef struct PassInfo {
    const char *name, *summary;
    Pass *run;
} PassInfo;
extern const PassInfo pass_info[PASS_COUNT];

/* PASS_COUNT: unknown. */
PassId pass_find(Str name);

/* Called after each pass with what it did; used for dumps and timing. */
typedef void PassObserver(void *user, const Func *func, PassId pass, unsigned position,
                          bool changed, double milliseconds);

/* How often a pass was held to its contract, and how far the functions before and after it could be
 * compared. */
typedef struct PassContract {
    unsigned runs, changed; /* changed = the sum of verdicts, but for text that was found wrong */
    unsigned verdicts[EQUIVALENCE_COUNT];
    unsigned lists;  /* of arguments on which both functions ran */
    uint64_t values; /* elements that were compared on them */
} PassContract;

typedef struct PipelineOptions {
    bool check; /* hold every pass to its contract; see pipeline.c */
    PassObserver *observe;
    void *user;
    PassContract *contracts; /* NULL, or PASS_COUNT of them, which checks add to */
} PipelineOptions;

/* A line for each pass that was held to its contract; the same as a JSON array. */
void contracts_print(const PassContract *contracts, StrBuf *out);
void contracts_json(const PassContract *contracts, StrBuf *out);

/* The passes from the elaborator's output to what codegen accepts, in the pipeline's order. False
 * after an error. func->capability must be set. */
bool pipeline_run(Func *func, const PipelineOptions *options);
/* Named passes only (`tilec opt`). */
bool pipeline_run_passes(Func *func, const PassId *passes, unsigned count,
                         const PipelineOptions *options);
#endif
