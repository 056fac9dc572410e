/* Where a name of a document stands for the same thing. */
#ifndef TILEC_LSP_REFERENCES_H
#define TILEC_LSP_REFERENCES_H
#include "lsp/scope.h"

typedef struct Reference {
    Span span;
    bool is_write; /* it is assigned, a parameter, or defined there */
} Reference;

typedef struct References {
    Meaning meaning;
    VEC(Reference) list; /* in the order of the text, of scope.home */
    bool is_clouded;     /* a comprehension or a lambda has a variable of that name, too */
} References;

/* Of the name at an offset of the scope's file; false: there is none that is bound there. */
bool references_find(Scope *scope, uint32_t offset, References *out);
/* The meaning of what stands at an offset: a name, an attribute, an argument's keyword. */
Meaning reference_meaning(Scope *scope, uint32_t offset);
/* Where a span of the scope's file is in the document now; false: it was edited. */
bool reference_range(const Scope *scope, const Document *document, Span span, uint32_t *lo,
                     uint32_t *hi);
#endif
