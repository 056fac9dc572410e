/* Compiles a plan: every variant, on several threads, each of which has a context of its own.
 *
 * For a bundle what is kept are variants. For a server what counts is that the cache has all that
 * calls look up (BuildOptions.into_cache): each kernel as it is listed, and by the names of its
 * parameters, as a function's call asks for it. When all is done it is looked for as a strict
 * compilation would, so that a cache that is too small is an error and not a surprise. */
#ifndef TILEC_RUNTIME_AHEAD_BUILD_H
#define TILEC_RUNTIME_AHEAD_BUILD_H
#include "runtime/ahead/manifest.h"
#include "runtime/launch/bundle.h"

/* What became of one compilation. */
typedef struct Built {
    Arena arena;                 /* of what follows */
    Variant variants[FORM_SETS]; /* the kernel, and the forms that stand beside it */
    uint32_t count;              /* 0: it failed */
    bool compiled;               /* it was not all in the cache */
    DiagId failed; /* the first error, if it did; DIAG_COUNT: memory ran out, or cancelled */
    Str error;     /* that first error, with its place */
    Str said;      /* errors and warnings, rendered */
    Str said_json; /* these and remarks: a JSON array */
} Built;

typedef struct BuildOptions {
    unsigned jobs;             /* threads; 0: one for each processor */
    bool into_cache;           /* see above; variants are not kept, `count` is 1 */
    bool one_form;             /* not those that stand beside a kernel */
    const void *const *params; /* with one_form: of the launches to be, which say whether that is
                                  the form for launches in place; NULL: it is not */
    /* Called after each compilation by one thread at a time; NULL: nobody. */
    void (*progress)(void *user, const Planned *planned, size_t done, size_t total);
    void *user;
} BuildOptions;

/* built[i] is of plan->data[i]; release it with build_release, whatever came of it. What cancels
 * `ctx` cancels the compilations. False if one failed; all are tried unless cancelled. */
bool build_plan(Ctx *ctx, const Plan *plan, const BuildOptions *options, Built *built);

typedef struct BuildSums {
    size_t compiled, found, failed;
} BuildSums;
/* Counts, and reports each failure at its place in the manifest. */
BuildSums build_report(Ctx *ctx, const Plan *plan, const Built *built);
void build_release(Built *built, size_t count);
#endif
