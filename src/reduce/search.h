/* The least source, and command, that still fails as the first one did.
 *
 * Kinds of edits (edits.def) are tried in turn until none of them changes anything. Of a list ever
 * smaller parts are left out, from its end (delta debugging): all of it, halves, quarters, ..
 * single items. A candidate is run only if it has no more mistakes of syntax than what it was made
 * of, is smaller, and was not run before; so the search ends, and finds nothing in its own result.
 */
#ifndef TILEC_REDUCE_SEARCH_H
#define TILEC_REDUCE_SEARCH_H
#include "reduce/probe.h"

typedef struct ReduceSize {
    size_t lines, bytes;
} ReduceSize;

/* What is known when something became smaller, or a kind of edits has been tried. */
typedef struct ReduceStep {
    const char *kind; /* of edits, in words */
    Str text;         /* the least source so far */
    const Words *words;
    ReduceSize first, now;
    size_t runs;
    bool improved; /* false: the kind is through */
} ReduceStep;

typedef struct ReduceRequest {
    const char *path; /* of the source; read from there */
    const Words *command;
    const char *match; /* extended regular expression that output has to have; NULL: none */
    double timeout_ms; /* of a run */
    bool arguments;    /* the words of the command, too */
    /* Called with the source itself once it has failed, and then at every step; false after a
     * report: the search ends. */
    bool (*step)(void *user, const ReduceStep *step);
    void *user;
} ReduceRequest;

/* False after a report. What works in the context can be cancelled: then it leaves by the arena's
 * jump, and the last step has what was found. */
bool reduce_search(Ctx *ctx, const ReduceRequest *request);
#endif
