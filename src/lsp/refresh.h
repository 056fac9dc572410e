/* Analyses of documents for who answers a request, and for the server when it is idle. */
#ifndef TILEC_LSP_REFRESH_H
#define TILEC_LSP_REFRESH_H
#include "lsp/session.h"

/* Analyses the document if it changed, unless further changes wait already: then what is known stays
 * that of an earlier text (`is_stale`), as it does where a change arrives meanwhile. False: nothing
 * is known at all, for want of memory. */
bool document_refresh(Session *session, Document *document);
#endif
