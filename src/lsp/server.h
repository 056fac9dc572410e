/* A language server, LSP 3.17: `tilec lsp`. */
#ifndef TILEC_LSP_SERVER_H
#define TILEC_LSP_SERVER_H
#include "support/ctx.h"

/* Speaks with the client that writes to `in` and reads from `out` until it sends "exit", or its end
 * closes. True: it had sent "shutdown" before, or nothing at all. `ctx` is for what lives as long
 * as the server. */
bool lsp_serve(Ctx *ctx, int in, int out);
#endif
