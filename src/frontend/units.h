/* Units: the functions of a kernel one by one, each with what its names stand for; docs/python.md.
 */
#ifndef TILEC_FRONTEND_UNITS_H
#define TILEC_FRONTEND_UNITS_H
#include "frontend/ast.h"
#include "support/ctx.h"

/* As TILE_BINDING_KINDS. */
typedef enum BindingKind {
    BINDING_LITERAL,
    BINDING_UNIT,
    BINDING_LANGUAGE,
    BINDING_NAMESPACE,
    BINDING_UNUSABLE,
    BINDING_EVALUATE,
    BINDING_COUNT
} BindingKind;

typedef struct Binding {
    Str name;
    BindingKind kind;
    Str text;
    uint32_t unit;
} Binding;

/* Of a class of named tuples. */
typedef struct Field {
    Str name, fallback; /* a literal, or empty */
} Field;

/* See tile_unit. */
typedef struct GivenUnit {
    bool is_record;
    bool is_aggregate; /* a record whose bindings are its methods */
    bool is_constexpr; /* a function that is evaluated at compile time */
    Str name; /* of a record, which has fields in the place of what is below, but bindings */
    const Field *fields;
    uint32_t field_count;
    Str path, text;
    LineColumn begin; /* of the text in `path` */
    bool noinline;
    bool must_use; /* what it returns */
    Str must_use_words;
    const Binding *bindings;
    uint32_t binding_count;
    const Str *no_value, *no_alignment; /* parameters that are not specialised on so */
    uint32_t no_value_count, no_alignment_count;
} GivenUnit;

/* All that kernels are made of; count 0: of a file. */
typedef struct GivenUnits {
    const GivenUnit *list;
    uint32_t count;
} GivenUnits;

/* A call of a function that is bound to be evaluated; see tile_evaluation. */
typedef struct EvaluationArgument {
    Str name; /* empty: by position */
    bool is_run_time;
    Str text;
} EvaluationArgument;

typedef struct Evaluation {
    uint32_t unit;
    Str name, key;
    const EvaluationArgument *arguments;
    uint32_t argument_count;
    int32_t capability;
} Evaluation;

typedef struct Evaluated {
    Str text;          /* a literal, or why there is none; copied */
    uint32_t argument; /* which is the value; UINT32_MAX: none, it is the literal */
} Evaluated;

typedef struct Evaluator {
    bool (*call)(void *user, const Evaluation *what, Evaluated *result); /* NULL: there is none */
    void *user;
} Evaluator;

/* The texts become sources, one behind the other; the number of the first. */
uint32_t units_add_sources(SourceMap *map, const GivenUnits *units);
/* The function of a unit, as a file that has it alone; empty after errors were reported. */
AstFile *units_parse(Diags *diags, uint32_t file, const GivenUnit *unit);
/* All that code depends on, for keys. `file` is the number of the first source, whose names count
 * if they are `named`. */
void units_write(const SourceMap *map, uint32_t file, const GivenUnits *units, bool named,
                 StrBuf *out);
/* What an annotation means: as the language spells the type that it is bound to, `None` where that
 * is none; itself if it is not bound, or `unit` is NULL. */
Expr *units_annotation(Arena *arena, const GivenUnit *unit, Expr *annotation);
/* The binding of that very name; NULL: none. */
const Binding *units_find(const GivenUnit *unit, Str name);
/* Is there one of a name "prefix.."? */
bool units_has_behind(const GivenUnit *unit, Str prefix);
/* Of the bindings that a name, with attributes behind it, begins with the longest; NULL: none, or
 * the expression is no such thing. `attributes`: how many of its names are behind that. */
const Binding *units_find_dotted(const GivenUnit *unit, const Expr *expr, uint32_t *attributes);
#endif
