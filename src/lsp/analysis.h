/* What is known of a document: its syntax, and of each kernel whose types are known what its
 * elaboration saw, with all that was found wrong.
 *
 * The types of a kernel are known from a `# tilec:` comment, the settings, annotations and
 * defaults, and the first configuration of @triton.autotune. Each kernel is elaborated in a context
 * of its own, so that one that cannot be analysed, or takes too long, does the others no harm, and
 * the last good state of each can be kept. */
#ifndef TILEC_LSP_ANALYSIS_H
#define TILEC_LSP_ANALYSIS_H
#include "frontend/observe.h"
#include "lsp/settings.h"
#include "lsp/text.h"
#include "lsp/transport.h"
#include "support/ptrmap.h"

/* Different values that are kept of one place: of a helper for each of its calls. */
enum { SEEN_VALUES = 4 };

/* What an expression or a variable was seen to be. */
typedef struct Seen {
    struct Seen *next; /* of variables in the order in which they were first seen */
    Span span;
    Str name; /* of a variable; empty: it is an expression */
    Val values[SEEN_VALUES];
    uint32_t count;
    bool has_more;
} Seen;

typedef struct KernelAnalysis {
    struct KernelAnalysis *next;
    Ctx *ctx;
    Str path;
    Text text; /* that was analysed */
    uint32_t file;
    const AstFile *syntax;
    const FuncDef *def;
    Str name;
    DiagMark parsed; /* what was said before the kernel was looked at */
    bool is_typed;   /* its types are known: it was elaborated */
    bool is_untyped; /* nothing says what they are */
    bool ok;         /* without an error */
    const Target *target;
    ElaborateRequest request;
    PtrMap exprs; /* Seen by Expr */
    PtrMap names; /* the first Seen of a variable, by 1 + the offset where it is assigned */
    Seen *variables, *last_variable;
    struct Layouts *layouts; /* see layouts.h; NULL: nobody asked for them yet */
    Ctx *layouts_ctx;        /* that they lie in */
} KernelAnalysis;

typedef struct Analysis {
    Ctx *ctx;
    Str path;
    Text text;
    uint32_t file;
    const AstFile *syntax;
    bool parses; /* without an error */
    KernelAnalysis *kernels;
} Analysis;

typedef struct AnalysisInput {
    Str path, text;
    bool utf8;
    const Settings *settings;
    SourceFiles files; /* what is asked for imports before the disk */
    const Cancel *cancel;
} AnalysisInput;

/* NULL: there is no memory for it, or it was cancelled. */
Analysis *analysis_make(const AnalysisInput *input);
/* Of the syntax alone: no kernel is elaborated. */
Analysis *analysis_parse(const AnalysisInput *input);
void analysis_destroy(Analysis *analysis);
void kernel_analysis_destroy(KernelAnalysis *kernel);

/* What was seen of an expression of the kernel's syntax; NULL: nothing. */
const Seen *kernel_seen(const KernelAnalysis *kernel, const Expr *expr);
/* Of a variable that is assigned at `offset`. */
const Seen *kernel_seen_variable(const KernelAnalysis *kernel, uint32_t offset);
#endif
