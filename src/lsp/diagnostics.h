/* What is wrong with a document, as the client shows it. */
#ifndef TILEC_LSP_DIAGNOSTICS_H
#define TILEC_LSP_DIAGNOSTICS_H
#include "lsp/session.h"

/* A message with where it is shown: those about other files at the place of the document that leads
 * there. */
typedef struct Shown {
    const Diagnostic *diagnostic;
    const Ctx *ctx; /* whose sources its places are of */
    Span span;      /* in the document */
} Shown;

typedef VEC(Shown) ShownList;

/* Those of the syntax, or, if there are none, of the kernels, each once, in the order of places. */
ShownList diagnostics_list(Arena *arena, const Analysis *analysis);
/* One as the protocol has it. */
void put_diagnostic(StrBuf *out, const Analysis *analysis, Str uri, const Shown *shown);
/* Tells the client of all of the document; `ctx` is for what is said. */
void diagnostics_publish(Session *session, Document *document, Ctx *ctx);
/* The client is to forget them. */
void diagnostics_withdraw(Session *session, Str uri, Ctx *ctx);
#endif
