/* What the code of a kernel depends on in its file. */
#ifndef TILEC_FRONTEND_REACH_H
#define TILEC_FRONTEND_REACH_H
#include "frontend/ast.h"
#include "support/ctx.h"
#include "support/ptrmap.h"
#include "support/vec.h"

typedef struct ReachPlace {
    uint32_t lo, hi; /* of a token */
} ReachPlace;

typedef struct Reach {
    uint32_t file;
    /* Equal for two files of one path: whatever is made of the kernel with equal arguments and
     * equal imported files is equal, places in lines and columns included, as long as no other name
     * of the file is asked for (reach_has_name) and no other place is said (reach_has_span). */
    Str text;
    PtrMap names; /* interned */
    VEC(ReachPlace) places;
} Reach;

/* Of a file that was parsed without a message, and a kernel of it. False, without a message, if
 * the file cannot be divided. */
bool frontend_reach(Ctx *ctx, const AstFile *syntax, const FuncDef *kernel, Reach *reach);
/* A text that is equal where the kernel means the same, wherever it stands, whatever
 * @triton.autotune says of it. False, without a message, as above. */
bool frontend_meaning(Ctx *ctx, const AstFile *syntax, const FuncDef *kernel, Str *text);
bool reach_has_name(Ctx *ctx, const Reach *reach, Str name);
/* A span of another file, or from the beginning of a token of what is reached to the end of one. */
bool reach_has_span(const Reach *reach, Span span);
#endif
