/* What the files of the interpreter of host code share; host_code.h is the interface. */
#ifndef TILEC_FRONTEND_HOST_RUN_H
#define TILEC_FRONTEND_HOST_RUN_H
#include "frontend/host_arith.h"
#include "frontend/host_code.h"
#include "frontend/parse.h"

typedef struct HostBinding {
    Str name;
    HostValue value; /* HOST_UNKNOWN: nobody knows */
} HostBinding;

/* The names of the file, of a call, or of a comprehension. */
typedef struct HostFrame HostFrame;
struct HostFrame {
    VEC(HostBinding) bindings;
    HostFrame *outer;
};

struct HostCallable {
    const FuncDef *def;        /* a function of the file, */
    const Expr *lambda;        /* or a lambda, */
    HostFrame *frame;          /* and where it was made */
    const HostValue *defaults; /* of each parameter; HOST_UNKNOWN: none */
    Str method;                /* or a method */
    HostValue self;
};

struct HostCode {
    Ctx *ctx;
    Arena *arena;
    const ModuleStmt *body;
    uint32_t count, next;    /* statements of the body: all, those that were run */
    HostFrame *file, *frame; /* of the file; at work */
    int32_t capability;
    uint32_t stop_at; /* the function's name: UINT32_MAX: none */
    uint32_t depth;   /* of evaluations within each other */
    uint64_t steps;   /* what was done, in expressions, items and the like: see HOST_MAX_STEPS */
};

/* More than that is not done of a file, so that no source takes long. */
enum { HOST_MAX_STEPS = 4000000 };

/* How statements end. */
typedef enum HostFlow {
    HOST_FAILS,
    HOST_GOES_ON,
    HOST_BREAKS,
    HOST_CONTINUES,
    HOST_RETURNS,
    HOST_STOPS, /* at the function that is waited for */
} HostFlow;

/* Reports that `what` cannot be used; false. */
bool host_cannot(HostCode *code, Span span, const char *what);
/* The result of arithmetic, as host_evaluate reports it. */
bool host_checked(HostCode *code, Span span, HostProblem problem);

bool host_eval(HostCode *code, const Expr *expr, HostValue *value);
/* Python's truth. False after an error: of what stands in a module that is not known nobody knows.
 */
bool host_is_true(HostCode *code, HostValue value, Span span, bool *is_true);
/* The value can be told from others: it is no such thing. False after an error. */
bool host_is_known(HostCode *code, HostValue value, Span span);
HostFlow host_exec(HostCode *code, const StmtList *body, HostValue *result);
bool host_assign(HostCode *code, const Expr *target, HostValue value);
bool host_call(HostCode *code, HostValue callee, const HostArguments *arguments, Span span,
               HostValue *value);

/* Names */
HostValue *host_find(HostFrame *frame, Str name);
void host_bind(HostCode *code, HostFrame *frame, Str name, HostValue value);

/* Objects, in the code's arena */
HostValue host_new_list(HostCode *code, HostKind kind);
HostValue host_new_dict(HostCode *code);
void host_append(HostCode *code, HostValue list, HostValue item);
void host_put(HostCode *code, HostDict *dict, HostValue key, HostValue value);
/* What a `for` over the value goes through; in `items`, a list of its own. */
bool host_items(HostCode *code, HostValue value, Span span, HostValue *items);

/* Of lists, and bytes of a text: more is an error. */
enum { HOST_MAX_ITEMS = 1 << 20 };

/* What is called by a method's or a builtin's name. */
bool host_has_method(HostValue self, Str name);
bool host_call_method(HostCode *code, HostValue self, Str name, const HostArguments *arguments,
                      Span span, HostValue *value);
bool host_is_builtin(Str name);
bool host_call_builtin(HostCode *code, Str name, const HostArguments *arguments, Span span,
                       HostValue *value);
/* What a dotted path means: `value` stays a path where it leads further. */
bool host_path_value(HostCode *code, Str path, Span span, HostValue *value);
bool host_call_path(HostCode *code, Str path, const HostArguments *arguments, Span span,
                    HostValue *value);
#endif
