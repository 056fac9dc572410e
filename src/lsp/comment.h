/* Comments in front of a kernel that say what it is compiled for:
 *
 *     # tilec: -s "*fp32, *fp32, i32, i32, i32, 1024" -t sm_90a
 *     @triton.jit
 *     def softmax(...):
 */
#ifndef TILEC_LSP_COMMENT_H
#define TILEC_LSP_COMMENT_H
#include "frontend/frontend.h"

typedef struct KernelComment {
    Span span; /* of the first; file 0: there is none */
    Str signature, target, language;
    VEC(NamedText) types, defines;
    int32_t num_warps, num_stages, num_ctas; /* 0: they do not say */
} KernelComment;

/* Those of a kernel: the lines of comments right above its decorators, and those among them. False
 * after a report. */
bool comment_read(Ctx *ctx, uint32_t file, const FuncDef *def, KernelComment *comment);
#endif
