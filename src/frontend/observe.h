/* What an elaboration tells about the source while it goes through it: for who wants to say what an
 * expression is, such as an editor.
 *
 * An expression is told about whenever it was evaluated: those of helpers at each call, those of
 * loops that are unrolled in each iteration. Nothing is told about the language's own files. The
 * values belong to the elaboration's context, in whose thread the functions are called. */
#ifndef TILEC_FRONTEND_OBSERVE_H
#define TILEC_FRONTEND_OBSERVE_H
#include "frontend/value.h"

struct Observer {
    void (*expression)(void *user, const Expr *expr, const Val *value);
    /* The variable has this value from here on. `at` is the name where it is assigned, or a
     * parameter, or a loop that gives it a new value. */
    void (*variable)(void *user, Span at, Str name, const Val *value);
    void *user;
};
#endif
