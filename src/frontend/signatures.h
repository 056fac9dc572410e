/* Parameters of builtins as text, for lists of the language: its page in docs/, its names in
 * Python. */
#ifndef TILEC_FRONTEND_SIGNATURES_H
#define TILEC_FRONTEND_SIGNATURES_H
#include "frontend/elaborate.h"

typedef struct SignatureFile {
    Str text;
    const AstFile *syntax;
} SignatureFile;

typedef struct Signatures {
    SignatureFile files[LIBRARY_COUNT];
} Signatures;

Signatures signatures_read(Ctx *ctx);
/* As Python writes them: of the language's own files as they are written there. */
void signatures_print(const Signatures *signatures, const Builtin *builtin, StrBuf *out);
#endif
