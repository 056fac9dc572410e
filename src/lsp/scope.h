/* What names stand for, as the syntax says it: of code that is not elaborated, too. Files that are
 * imported are read as the compiler finds them, open documents before those on disk. */
#ifndef TILEC_LSP_SCOPE_H
#define TILEC_LSP_SCOPE_H
#include "lsp/session.h"

typedef struct ScopeFile {
    struct ScopeFile *next;
    Str path;
    Str text;
    const AstFile *syntax;
} ScopeFile;

typedef struct Scope {
    Ctx *ctx; /* of the request: files that are read lie in it */
    Session *session;
    const ScopeFile *home;
    ScopeFile *files;     /* that were read */
    const FuncDef *def;   /* around the place; NULL: none */
    const ScopeFile *own; /* that it is in: the document, or as it was when the function parsed */
} Scope;

typedef enum MeaningKind {
    MEANS_NOTHING,
    MEANS_PARAMETER,
    MEANS_VARIABLE,
    MEANS_GLOBAL,  /* `stmt` of `file` binds it: a function, a class, an assignment */
    MEANS_FILE,    /* a module that is the file */
    MEANS_MODULE,  /* a module of the language, `path` */
    MEANS_BUILTIN, /* of the language */
    MEANS_TYPE     /* an element type */
} MeaningKind;

typedef struct Meaning {
    MeaningKind kind;
    const ScopeFile *file;
    const Stmt *stmt;
    Str name;  /* that is bound, or of the type */
    Span span; /* where, in `file` */
    Str path;
    const Builtin *builtin;
} Meaning;

/* The scope of an offset in a document, of what is known of it; `offset` is then where it lies in
 * the text that was parsed, where that was edited since near it. False: nothing is. */
bool scope_open(Scope *scope, Session *session, const Document *document, Ctx *ctx,
                uint32_t *offset);
/* What a name means there, or a dotted one from its first name on. */
Meaning scope_find(Scope *scope, Str dotted);
/* The name `name` of a meaning that is a module or a file. */
Meaning scope_member(Scope *scope, const Meaning *of, Str name);
/* A module as a file imports it: "a.b", "..c". */
Meaning scope_module(Scope *scope, const ScopeFile *from, Str path);
/* A name that a file binds at its top level. */
Meaning scope_global(Scope *scope, const ScopeFile *file, Str name);
/* The function that is meant; NULL: it is none. */
const FuncDef *meaning_function(const Meaning *meaning);

/* `a.b.c` of an expression that is names and attributes; empty: it is not. */
Str scope_dotted(Arena *arena, const Expr *expr);
/* What is in a module of the language, as ModuleSet. False: there is no such module. */
bool language_module(Str path, uint32_t *contents);
/* Where a local name is assigned: calls `each` for every place, of the function's own code. */
typedef void ScopeBinding(void *user, Str name, Span span);
void scope_bindings(const FuncDef *def, ScopeBinding *each, void *user);
#endif
