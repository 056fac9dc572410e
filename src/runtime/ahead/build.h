/* Compiles a plan: every variant, on several threads, each of which has a context of its own. */
#ifndef TILEC_RUNTIME_AHEAD_BUILD_H
#define TILEC_RUNTIME_AHEAD_BUILD_H
#include "runtime/ahead/manifest.h"
#include "runtime/launch/bundle.h"

/* What became of one compilation. */
typedef struct Built {
    Arena arena;         /* of what follows */
    Variant variants[2]; /* the kernel, and beside a form with tensor copies the other one */
    uint32_t count;      /* 0: it failed */
    DiagId failed;       /* the first error, if it did; DIAG_COUNT: memory ran out, or cancelled */
    Str said;            /* errors and warnings, rendered */
    Str said_json;       /* these and remarks: a JSON array */
} Built;

typedef struct BuildOptions {
    unsigned jobs; /* threads; 0: one for each processor */
    /* Called after each compilation by one thread at a time; NULL: nobody. */
    void (*progress)(void *user, const Planned *planned, size_t done, size_t total);
    void *user;
} BuildOptions;

/* built[i] is of plan->data[i]; release it with build_release, whatever came of it. What cancels
 * `ctx` cancels the compilations. False if one failed; all are tried unless cancelled. */
bool build_plan(Ctx *ctx, const Plan *plan, const BuildOptions *options, Built *built);
void build_release(Built *built, size_t count);
#endif
