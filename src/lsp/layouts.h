/* Who holds which element of the values of a kernel, and what of them lies in shared memory: what
 * passes made of it, for hover. */
#ifndef TILEC_LSP_LAYOUTS_H
#define TILEC_LSP_LAYOUTS_H
#include "lsp/session.h"

/* Adds what is known of the value of the source at `span`, or of the variable `name` that is
 * assigned there, if the settings ask for layouts. The kernel is compiled as far as that takes the
 * first time. */
void put_layout(StrBuf *out, const Session *session, const KernelAnalysis *kernel, Span span,
                Str name);
#endif
