/* What is known of a place of a document: the analyses that have it, the newest first, however the
 * text was edited since. */
#ifndef TILEC_LSP_LOOKUP_H
#define TILEC_LSP_LOOKUP_H
#include "lsp/session.h"

/* Goes through the kernels whose text has the place. */
typedef struct Lookup {
    const Document *document;
    uint32_t offset;              /* in the document */
    const KernelAnalysis *kernel; /* NULL: before the first */
    bool is_good;                 /* among those of before */
    uint32_t at;                  /* the offset in the kernel's text */
} Lookup;

static inline Lookup lookup_at(const Document *document, uint32_t offset) {
    return (Lookup){.document = document, .offset = offset};
}
bool lookup_next(Lookup *lookup);
/* Of the document's span, where a span of that kernel's text is. False: it was edited. */
bool lookup_span(const Lookup *lookup, Span span, uint32_t *lo, uint32_t *hi);

/* What was last seen of a variable that is in scope there: the nearest assignment before the place
 * in the function around it, else any in it. NULL: nothing. */
const Seen *lookup_variable(const Document *document, uint32_t offset, Str name);
#endif
