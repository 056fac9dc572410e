/* @triton.heuristics({"NAME": lambda args: ..}): constexprs and options that a launch computes from
 * its arguments.
 *
 * As in Triton the outermost decorator comes first, its entries in their order, and each sees what
 * those before it gave. */
#ifndef TILEC_FRONTEND_HEURISTICS_H
#define TILEC_FRONTEND_HEURISTICS_H
#include "frontend/frontend.h"
#include "frontend/host_expr.h"

/* What a heuristic may set besides constexprs: X(name). They are names behind the parameters. */
#define HEURISTIC_OPTIONS(X) X(num_warps) X(num_stages) X(num_ctas)

enum {
#define HEURISTIC_OPTION(name) HEURISTIC_##name,
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
        HEURISTIC_OPTION_COUNT
};

typedef struct Heuristic {
    uint32_t name; /* of Heuristics.names */
    const HostExpr *value;
} Heuristic;

typedef struct Heuristics {
    const Str *names; /* the parameters, then the options */
    uint32_t name_count, param_count;
    const Heuristic *items;
    uint32_t count;
} Heuristics;

/* The names that heuristics and configurations may set: the parameters, then the options. */
const Str *heuristics_names(Arena *arena, const FuncDef *def, uint32_t *count);
/* Those of a kernel, in `arena`; they point at nothing of the context. An entry that no expression
 * of host_expr.h says is a warning, and what it names is left to the caller; a name that the kernel
 * has not is an error, after which this is false. `given` (NULL: none) tells of parameters that the
 * caller sets whatever a heuristic says. */
bool heuristics_read(Ctx *ctx, Arena *arena, const AstFile *file, const FuncDef *def,
                     const bool *given, Heuristics *heuristics);
/* Evaluates all: `values` has one for each name; what heuristics set is written there. False:
 * `error` says why. Any thread; allocates nothing. */
bool heuristics_apply(const Heuristics *heuristics, HostValue *values, HostError *error);
/* A value for each name, of what is known before a call: defaults, what the request defines, its
 * options. HOST_UNKNOWN for the others. */
HostValue *heuristics_known(Ctx *ctx, Arena *arena, const Heuristics *heuristics,
                            const FuncDef *def, const ElaborateRequest *request);
/* A copy of a request's defines with room for `count` more. */
NamedText *heuristics_room(Arena *arena, const ElaborateRequest *request, uint32_t count);
/* Adds the value of a name, `index` of heuristics_names, to a request whose defines have room. */
void heuristics_set_name(Arena *arena, uint32_t param_count, const Str *names, uint32_t index,
                         HostValue value, ElaborateRequest *request, NamedText *defines);
/* Adds what heuristics have set among `values` to a request. */
void heuristics_request(const Heuristics *heuristics, const HostValue *values, Arena *arena,
                        ElaborateRequest *request);
/* Does a heuristic set the name? */
bool heuristics_set(const Heuristics *heuristics, uint32_t name);
#endif
