/* The syntax tree of jit functions: what the parser makes and the elaborator reads.
 *
 * A file yields its top-level definitions that matter: functions (jit or not), `NAME = expr`
 * assignments, imports. Everything else at top level is passed over by indentation. Nodes live in
 * the context's arena and are immutable once parsed; every node has its span. Trees are shared
 * between instantiations of a function. */
#ifndef TILEC_FRONTEND_AST_H
#define TILEC_FRONTEND_AST_H
#include "support/source.h"

/* EXPR_KIND(name): Python's names in lower case where it has one. */
/* clang-format off */
#define AST_EXPR_KINDS(X)                                                                          \
    X(name) X(int) X(float) X(string) X(bool) X(none) X(ellipsis) X(tuple) X(list) X(unary)        \
    X(binary) X(boolop) X(compare) X(ternary) X(call) X(subscript) X(slice) X(attribute)           \
    X(lambda) X(fstring) X(starred) X(walrus) X(dict) X(set) X(comprehension) X(formatted)         \
    X(unsupported)
/* clang-format on */

/* clang-format off */
#define AST_STMT_KINDS(X)                                                                          \
    X(expr) X(assign) X(augassign) X(annassign) X(if) X(for) X(while) X(return) X(pass)            \
    X(break) X(continue) X(assert) X(raise) X(del) X(with) X(import) X(def) X(class) X(unsupported)
/* clang-format on */

/* AST_OPERATORS(name, text): binary, unary, boolean and comparison operators. */
/* clang-format off */
#define AST_OPERATORS(X)                                                                           \
    X(add, "+") X(sub, "-") X(mul, "*") X(div, "/") X(floordiv, "//") X(mod, "%") X(pow, "**")     \
    X(matmul, "@") X(lshift, "<<") X(rshift, ">>") X(bitand, "&") X(bitor, "|") X(bitxor, "^")     \
    X(neg, "-") X(pos, "+") X(invert, "~") X(not, "not") X(and, "and") X(or, "or") X(eq, "==")     \
    X(ne, "!=") X(lt, "<") X(le, "<=") X(gt, ">") X(ge, ">=") X(is, "is") X(isnot, "is not")       \
    X(in, "in") X(notin, "not in")
/* clang-format on */

/* AST_CONSTRUCTS(id, text, remedy): Python that parses but that no kernel can execute. The parser
 * keeps the place (STMT_unsupported, EXPR_unsupported, or the node kind itself) so that code in a
 * branch that is never taken does no harm; who reaches it reports `text` and `remedy`. */
#define AST_CONSTRUCTS(X)                                                                          \
    X(try, "`try`", "test the condition with `if` before the operation")                           \
    X(class, "a class definition", "move the class out of the kernel")                             \
    X(del, "`del`", "remove the statement; names end with the function")                           \
    X(global, "`global`", "pass the value as a parameter or return it")                            \
    X(nonlocal, "`nonlocal`", "pass the value as a parameter or return it")                        \
    X(async, "`async`", "kernels run to completion; remove `async`")                               \
    X(await, "`await`", "kernels run to completion; remove `await`")                               \
    X(yield, "`yield`", "store results with `tl.store` or return a tuple")                         \
    X(match, "`match`", "use `if` and `elif`")                                                     \
    X(type, "a type alias", "remove it")                                                           \
    X(bytes, "a bytes literal", "use an ordinary string")

/* Deepest tree of expressions, and of statements: recursive walks over a tree are safe. */
enum { AST_MAX_HEIGHT = 500 };

typedef enum AstConstruct {
#define X(id, text, remedy) CONSTRUCT_##id,
    AST_CONSTRUCTS(X)
#undef X
        CONSTRUCT_COUNT
} AstConstruct;

typedef enum ExprKind {
#define X(name) EXPR_##name,
    AST_EXPR_KINDS(X)
#undef X
        EXPR_COUNT
} ExprKind;

typedef enum StmtKind {
#define X(name) STMT_##name,
    AST_STMT_KINDS(X)
#undef X
        STMT_COUNT
} StmtKind;

typedef enum AstOperator {
#define X(name, text) ASTOP_##name,
    AST_OPERATORS(X)
#undef X
        ASTOP_COUNT
} AstOperator;

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct FuncDef FuncDef;
typedef struct ClassDef ClassDef;

typedef struct ExprList {
    Expr **items;
    uint32_t count;
} ExprList;

typedef struct StmtList {
    Stmt **items;
    uint32_t count;
} StmtList;

/* for target in iterable if condition if condition */
typedef struct ForClause {
    Expr *target, *iterable;
    ExprList conditions;
} ForClause;

typedef enum ComprehensionForm { COMP_generator, COMP_list, COMP_set, COMP_dict } ComprehensionForm;

typedef struct Keyword {
    Str name; /* empty: **value */
    Expr *value;
    Span span;
} Keyword;

typedef struct Param {
    Str name;
    Expr *annotation;    /* NULL: none */
    Expr *default_value; /* NULL: none */
    Span span;
    uint8_t star; /* 1: *args, 2: **kwargs */
    bool keyword_only;
    bool positional_only;
    bool no_value, no_alignment; /* of a unit: is not specialised on so */
} Param;

struct Expr {
    ExprKind kind;
    uint32_t height; /* of the tree below, at most AST_MAX_HEIGHT; a leaf has 1 */
    Span span;
    union {
        Str name;
        struct {
            uint64_t lo, hi; /* the magnitude; all ones: it has more than 128 bits, see the text */
            Str text;        /* as it is written */
        } integer;
        double number;
        Str string; /* escapes resolved, adjacent literals joined; EXPR_string */
        bool boolean;
        ExprList list; /* tuple, list, set; fstring: parts, which are EXPR_string for literal text,
                          EXPR_formatted for fields with a conversion or format, else expressions */
        struct {
            AstOperator op;
            Expr *operand;
        } unary;
        struct {
            AstOperator op;
            Expr *left, *right;
        } binary;
        struct {
            AstOperator op; /* ASTOP_and, ASTOP_or */
            ExprList operands;
        } boolop;
        struct { /* a < b < c: operands a b c, ops < < */
            ExprList operands;
            AstOperator *ops;
        } compare;
        struct {
            Expr *condition, *then_value, *else_value;
        } ternary;
        struct {
            Expr *callee;
            ExprList args;
            Keyword *keywords;
            uint32_t keyword_count;
        } call;
        struct {
            Expr *base, *index; /* x[a, b]: index is a tuple */
        } subscript;
        struct {
            Expr *start, *stop, *step; /* each may be NULL */
        } slice;
        struct {
            Expr *base;
            Str name;
            Span name_span;
        } attribute;
        struct {
            Param *params;
            uint32_t param_count;
            Expr *body;
        } lambda;
        struct { /* starred: *value; walrus: name := value */
            Expr *value;
            Str name;
        } bind;
        struct {
            Expr **keys; /* a NULL key: **value */
            Expr **values;
            uint32_t count;
        } dict;
        struct {
            ComprehensionForm form;
            Expr *element, *value; /* value: of a dict comprehension, else NULL */
            ForClause *clauses;
            uint32_t clause_count;
        } comprehension;
        struct { /* {value!r:spec} in an f-string */
            Expr *value;
            Expr *spec;      /* EXPR_fstring or NULL */
            char conversion; /* 'r', 's', 'a' or 0 */
        } formatted;
        AstConstruct construct; /* unsupported */
    } u;
};

typedef struct ImportName {
    Str name, alias; /* alias is never empty; `from x import *` has name "*". `import a.b` has the
                        alias "a.b" and binds `a` */
    Span span;
} ImportName;

struct Stmt {
    StmtKind kind;
    Span span;
    union {
        Expr *expr; /* expr, del, return (may be NULL), raise (may be NULL) */
        struct {    /* a = b = value */
            ExprList targets;
            Expr *value;
        } assign;
        struct {
            Expr *target;
            AstOperator op;
            Expr *value;
        } augassign;
        struct {
            Expr *target, *annotation, *value; /* value may be NULL */
        } annassign;
        struct { /* if and while; elif is an if alone in orelse */
            Expr *condition;
            StmtList body, orelse;
        } branch;
        struct {
            Expr *target, *iterable;
            StmtList body, orelse;
        } loop;
        struct {
            Expr *condition, *message; /* message may be NULL */
        } assertion;
        struct {
            ExprList items;
            ExprList targets; /* as many as items; NULL where there is no `as` */
            StmtList body;
        } with;
        struct {        /* import a.b as c: names {a.b, c}, module empty, is_from false */
            Str module; /* with its leading dots */
            bool is_from;
            ImportName *names;
            uint32_t name_count;
        } import;
        FuncDef *def;
        ClassDef *class_def;
        AstConstruct construct; /* unsupported; its body was skipped */
    } u;
};

/* A class at top level whose values kernels may have: of named tuples, or an aggregate. */
struct ClassDef {
    Str name;
    Span span;
    ExprList decorators, bases;
    StmtList body;
    bool is_aggregate; /* a decorator's last name component is `aggregate` or `_aggregate` */
};

struct FuncDef {
    Str name;
    Span span, name_span;
    ExprList decorators;
    Param *params;
    uint32_t param_count;
    Expr *returns; /* NULL: none */
    Str docstring; /* also present in body as an expression statement */
    StmtList
        body; /* none: there is something in a plain function that does not parse; see parse.h */
    bool must_use; /* @must_use_result, which says: */
    Str must_use_words;
    bool is_jit;                /* a decorator's last name component is `jit` */
    bool is_constexpr_function; /* ... is `constexpr_function` */
    bool is_static;             /* ... is `staticmethod` */
};

/* One source file. */
typedef struct AstFile {
    uint32_t file; /* number in the SourceMap */
    StmtList body; /* def, import, assign and annassign statements, in order; those nested in
                      top-level `if` and `try` are lifted out (see parse.h) */
} AstFile;

extern const char *const ast_construct_text[CONSTRUCT_COUNT];
extern const char *const ast_construct_remedy[CONSTRUCT_COUNT];
extern const char *const ast_expr_kind_name[EXPR_COUNT];
extern const char *const ast_stmt_kind_name[STMT_COUNT];
extern const char *const ast_operator_text[ASTOP_COUNT];

/* Is the annotation tl.constexpr, or tl.const? NULL, no annotation, is neither. */
bool ast_is_const(const Expr *annotation);
bool ast_is_constexpr(const Expr *annotation);

/* The last name of a decorator: `jit` of @triton.jit(..); empty: it has none. */
Str ast_decorator_name(const Expr *decorator);

/* The name number `index` that a statement of AstFile binds; empty behind the last. */
Str ast_bound_name(const Stmt *stmt, uint32_t index);

/* The tree as indented s-expressions, for `--emit ast` and tests. */
void ast_print_file(const AstFile *file, StrBuf *out);
/* The same, with the place of the statement or expression that each line begins or is a part of; in
 * out's arena. NULL: nobody asks. */
void ast_print_file_lines(const AstFile *file, StrBuf *out, SpanList *lines);
void ast_print_function(const FuncDef *function, StrBuf *out);
#endif
