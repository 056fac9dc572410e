/* What a strict compilation says of what the cache does not have: the kernel, and every difference
 * from what comes nearest in the folders. */
#ifndef TILEC_RUNTIME_COMPILE_MISSING_H
#define TILEC_RUNTIME_COMPILE_MISSING_H
#include "runtime/compile/compile.h"

typedef struct Missing {
    const AstFile *syntax;
    Str key; /* that was looked for, as recall_key makes it */
} Missing;

/* Reports; false. Without request->explains the folders are not read, and the message says less. */
bool missing_report(Ctx *ctx, const CompileRequest *request, const Missing *missing);
/* The same of a request that no cache answers. */
bool missing_report_uncached(Ctx *ctx, const CompileRequest *request);
#endif
