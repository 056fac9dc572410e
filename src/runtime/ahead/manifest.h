/* Manifests: which kernels are to be compiled, and for what. The form is in docs/ahead-of-time.md.
 */
#ifndef TILEC_RUNTIME_AHEAD_MANIFEST_H
#define TILEC_RUNTIME_AHEAD_MANIFEST_H
#include "runtime/compile/compile.h"

/* One compilation. */
typedef struct Planned {
    CompileRequest request; /* wants PTX, cubin or both */
    Str path;               /* of the source, as the manifest names it */
    Str grid;               /* as an expression, for C code; empty: calls say it */
    Span span;              /* of what lists it there; file 0: no manifest does */
} Planned;

typedef VEC(Planned) Plan;

enum { PLAN_MAX_VARIANTS = 1 << 16 };

/* What a manifest leaves open. */
typedef struct PlanDefaults {
    CompileRequest request; /* everything but source, kernel, types, constexprs, target and shape */
    const Str *targets;     /* instead of the manifest's; none: its own, else the default target */
    uint32_t target_count;
} PlanDefaults;

/* Reads a file of one manifest or several, one after another, and adds what they list, in their
 * order. False after errors. */
bool manifest_read(Ctx *ctx, const char *path, const PlanDefaults *defaults, Plan *plan);
/* The same of source `file`, whose path says where the manifest lies. */
bool manifest_parse(Ctx *ctx, uint32_t file, const PlanDefaults *defaults, Plan *plan);
#endif
