/* From source text to Tile IR: parse, find the kernel, evaluate it with compile-time values. */
#ifndef TILEC_FRONTEND_FRONTEND_H
#define TILEC_FRONTEND_FRONTEND_H
#include "frontend/parse.h"
#include "frontend/units.h"
#include "ir/ir.h"
#include "target/kernel_meta.h"

typedef struct Observer Observer;

/* A value or type given by name: `-a x_ptr=*fp32:16`, `-D BLOCK=1024`. */
typedef struct NamedText {
    Str name, text;
} NamedText;

typedef struct ElaborateRequest {
    uint32_t file;          /* in ctx->sources */
    Str kernel;             /* empty: the only kernel of the file, else an error listing them */
    Str signature;          /* Triton's ahead-of-time form, by position; may be empty */
    const NamedText *types; /* by name; these win over the signature */
    uint32_t type_count;
    const NamedText *defines; /* constexprs by name, Python literals; these win too */
    uint32_t define_count;
    GivenUnits units; /* instead of a file: `file` is the source of the first, the kernel, and
                         those of the others are behind it */
    Evaluator evaluator;
    const Str *search_paths; /* for imports of other files, after the file's own folder */
    uint32_t search_path_count;
    int32_t num_warps, num_stages, num_ctas; /* 0: chosen by the compiler */
    int32_t capability;
    int32_t language;       /* 36: the meaning of Triton 3.6; 0: see docs/language.md, "Versions" */
    Str entry_name;         /* what the kernel is called in its code; empty: as its function */
    bool debug;             /* keep tl.device_assert and assert statements */
    bool sanitize_overflow; /* assert that +, - and * of integers of less than 64 bits are exact */
    bool heuristics_done;   /* what @triton.heuristics says is among the defines */
    bool autotune_done;     /* what a configuration of @triton.autotune says, likewise */
    const Observer *observer; /* see observe.h; NULL: nobody listens */
} ElaborateRequest;

/* Versions of the language, those of Triton: 36 is 3.6 (docs/language.md, "Versions"). */
enum { LANGUAGE_OLDEST = 32, LANGUAGE_NEWEST = 39 };
/* 36 of `3.6`. 0: no version that this compiler knows. */
int32_t frontend_language(Str version);

enum { FRONTEND_SOURCE_LIMIT = 64 << 20 }; /* bytes of a file */

/* A file that another one imported. */
typedef struct ImportMade {
    uint32_t from, found; /* in ctx->sources; 0: there is none of that name */
    Str module;           /* as written */
} ImportMade;

typedef VEC(ImportMade) ImportsMade;

typedef struct Elaborated {
    Module *module; /* verified; one function */
    Func *func;
    KernelParam *params; /* of the source, in order; of tuples and descriptors the parts */
    uint32_t param_count;
    const FuncDef *def;
    Str asked; /* names of the file's top level that were looked up, there or not: one a line */
    ImportsMade imports; /* each once, in the order of their making */
} Elaborated;

/* What the options of @triton.jit keep from being specialised on. */
typedef struct ParamHints {
    bool no_value;     /* do_not_specialize: neither values nor multiples */
    bool no_alignment; /* do_not_specialize_on_alignment: no multiples */
} ParamHints;
ParamHints frontend_param_hints(const FuncDef *def, uint32_t index);

/* The same request in one form, whatever it was spelled in: the kernel by its name, each parameter
 * that the request says something of by its name, in their order, types in one spelling without
 * what decorators keep from being specialised on. False, without a message: the signature has more
 * entries than there are parameters, or a name is none of theirs. */
bool frontend_by_name(Ctx *ctx, const FuncDef *def, const ElaborateRequest *request,
                      ElaborateRequest *by_name);

/* False after errors were reported. `syntax` is the file's tree. */
bool frontend_elaborate(Ctx *ctx, const AstFile *syntax, const ElaborateRequest *request,
                        Elaborated *result);

/* The jit functions of a file, in `ctx`; those that no other jit function of it calls, `entries` of
 * them, come first. */
uint32_t frontend_kernels(Ctx *ctx, const AstFile *syntax, const FuncDef ***out, uint32_t *entries);

/* The kernel of that name; with an empty name the only kernel of the file. NULL if there is none,
 * or several might be meant. */
const FuncDef *frontend_choose_kernel(Ctx *ctx, const AstFile *syntax, Str name);
/* The same; NULL after a report. */
const FuncDef *frontend_find_kernel(Ctx *ctx, const AstFile *syntax, Str name);
#endif
