/* The parameters of what is called at a place. */
#ifndef TILEC_LSP_CALLEE_H
#define TILEC_LSP_CALLEE_H
#include "lsp/cursor.h"
#include "lsp/scope.h"

typedef struct CalleeParam {
    Str text, name; /* "mask=None", "mask" */
    uint8_t star;
} CalleeParam;

typedef struct Callee {
    Str label; /* name(parameters) */
    VEC(CalleeParam) params;
    const Builtin *builtin; /* NULL: it is `def` */
    const FuncDef *def;
    bool is_method; /* the first parameter stands in front of the point */
} Callee;

/* What `dotted` calls there; the document's values say which methods a variable has. False: nothing
 * that is known. */
bool callee_find(Scope *scope, const Document *document, uint32_t offset, Str dotted, Callee *out);
#endif
