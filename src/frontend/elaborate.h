/* Private to the elaborator: its state and what its files share.
 *
 * The elaborator walks the tree of a function with an environment of values (value.h). Compile-time
 * parts are computed on the spot; what is left is appended to the Tile IR through `builder`. Calls
 * of jit functions open a frame and are thereby inlined. Control flow on run-time conditions
 * snapshots the variables, elaborates each region and joins what differs.
 *
 * Functions that return Val report what is wrong and return VAL_ERROR; a statement that fails
 * leaves the names it would have assigned as errors, and elaboration goes on with the next
 * statement. */
#ifndef TILEC_FRONTEND_ELABORATE_H
#define TILEC_FRONTEND_ELABORATE_H
#include "frontend/frontend.h"
#include "frontend/library.h"
#include "frontend/value.h"

enum {
    MAX_PARAMS = 16,
    MAX_CALL_DEPTH = 100,
    MAX_EXPRESSION_DEPTH = 1000,
    MAX_STATIC_ITERATIONS = 65536,
    MAX_TUPLE_DEPTH = 64,
    MAX_INT_BITS = 1 << 16,
    LIMBS_A_STEP = 64, /* products of limbs, of ints beyond Wide, that are one step of work */
    MAX_ELABORATION_STEPS = 1 << 20, /* expressions, statements and elements evaluated */
    MAX_ELABORATION_MIB = 256
};

typedef struct Call Call;

typedef struct Var {
    Str name;
    Val val;
} Var;

/* Names in the order of their first assignment. All zero: none. */
typedef struct Vars {
    Var *data;
    size_t len, cap;
    uint32_t *slots;   /* hash table: places in `data` plus one, 0: free */
    size_t slot_count; /* a power of two, or 0 while the names are few */
} Vars;

/* A source file whose definitions can be named: the kernel's, an imported one, std.tile; or one
 * function that came with what its names stand for. */
struct Unit {
    Unit *next;
    Str path;
    const AstFile *syntax;
    Vars globals;              /* those looked up so far */
    bool is_std;               /* the compiler's own library: spans are those of its callers */
    bool is_literal;           /* where literals of bindings are evaluated */
    const GivenUnit *given;    /* names are bound by it, not by a file; NULL: it is a file */
    const ClassDef *class_def; /* of a class of the file `home`; else NULL */
    Unit *home, *base;         /* base: the class that it inherits from; NULL: none */
    uint32_t number;           /* of that unit */
    uint32_t busy; /* statements being evaluated, to catch definitions that refer to themselves */
};

/* A function being elaborated. */
typedef struct Frame {
    struct Frame *caller;
    const FuncDef *def; /* NULL while a file's globals or defaults are evaluated */
    Unit *unit;
    Span call_span;
    Vars vars;
    Val result; /* once returned */
    bool returned;
    bool host;         /* Python semantics: assignments keep compile-time values */
    struct Loop *loop; /* the innermost run-time loop around the current statement, in this frame */
    uint32_t host_loops;
} Frame;

typedef struct Elab {
    Ctx *ctx;
    Arena *arena; /* the context's */
    const ElaborateRequest *request;
    const Observer *observer; /* NULL: nobody listens */
    Builder builder;          /* block NULL: nothing may be built (compile-time evaluation) */
    Frame *frame;
    uint32_t depth, splits;
    uint64_t steps;      /* spent; see elab_spend */
    size_t bytes_before; /* what the arena held at the start */
    bool unrolls;        /* a loop was run at compile time */
    uint32_t told;       /* of the language's changes, a bit each: a remark said so */
    bool exhausted;      /* the limits were passed, and that was reported */
    Unit *units, *libraries[LIBRARY_COUNT];
    Unit *literals;        /* where literals of bindings are evaluated; NULL: none was */
    Unit **given;          /* of request->units those reached so far, by number; NULL: none */
    ImportsMade imports;   /* in the order of their making */
    const Expr *bare_bits; /* x & y that a comparison has as an operand without parentheses */
    const Expr *argument;  /* the innermost expression that is an argument of a call */
    const Expr *unused; /* the innermost expression that is a statement, whose value nobody takes */
    Span user_span;     /* of the innermost expression outside std.tile */
    Func *func;
    struct {
        const FuncDef **data;
        size_t len, cap;
    } failed; /* helpers that gave errors: not elaborated again */
} Elab;

/* Where a message about `span` belongs: the caller's expression for code of std.tile. */
Span elab_span(const Elab *e, Span span);
/* Adds "in call from here" for every frame up to the kernel to the last message. */
void elab_note_calls(Elab *e);
/* Reports and is VAL_ERROR. */
#define elab_fail(e, span, ...)                                                                    \
    (ctx_diag((e)->ctx, elab_span((e), (span)), __VA_ARGS__), elab_note_calls(e), val_error())
#define elab_hint(e, ...) diag_hint(&(e)->ctx->diags, __VA_ARGS__)
/* "did you mean" for the candidate nearest to `word`, if one is near. */
void elab_suggest(Elab *e, Str word, const Str *candidates, size_t count);
/* What to write instead of a name that is known from elsewhere (instead.def). False: it is not. */
bool elab_instead(Elab *e, Str name);
/* Counts the work done. False when the kernel takes too much of it, in steps or memory; reported
 * the first time, after which nothing is evaluated any more. Every loop at compile time, every
 * inlined call and every expansion of a tuple comes by here, which is what ends elaboration. */
bool elab_spend(Elab *e, Span span, uint64_t steps);
/* Shorthand: text for messages. */
const char *elab_type_text(const Elab *e, Val v);

/* Expressions (elaborate_expr.c) */
Val elab_eval(Elab *e, const Expr *expr);
/* `base.name`; NULL-free: reports unknown attributes. */
Val elab_attribute(Elab *e, Span span, Val base, Str name);
Val elab_type_attribute(Elab *e, Span span, Val type, Str name);
/* A condition as a scalar i1 (VAL_TILE) or a compile-time VAL_BOOL. */
Val elab_condition(Elab *e, Span span, Val v, const char *construct);
/* Subscripts of tuples, strings, objects and tiles (elaborate_subscript.c). */
Val elab_subscript(Elab *e, const Expr *expr, Val base, Val index);
typedef struct SlicePlaces {
    int64_t first, step;
    uint32_t count;
} SlicePlaces;
/* The places that a VAL_SLICE's three parts, or an index, name of `n`; false after a report. */
bool elab_slice_places(Elab *e, Span span, const Val *slice, uint32_t n, SlicePlaces *out);
bool elab_index_place(Elab *e, Span span, Val index, uint32_t n, uint32_t *out);
/* Elements of a tuple or an object, and in functions evaluated at compile time of a string, as an
 * array. */
bool elab_items(Elab *e, Span span, Val v, const Val **items, uint32_t *count);

/* Statements (elaborate_stmt.c) and control flow (elaborate_flow.c) */

/* What is left to do after a statement: the rest of a list, then `next`; or, with `loop`, the
 * iterations of an unrolled loop from `index` on. Needed when both arms of a run-time `if` have to
 * go on on their own because one returns. */
typedef struct Rest {
    const struct Rest *next;
    const StmtList *list;
    uint32_t index;
    const Stmt *loop;
    const Val *items;
    uint32_t item_count;
} Rest;

typedef enum Flow {
    FLOW_NEXT,   /* fell off the end of the list */
    FLOW_RETURN, /* the function has returned on every path; frame->result holds its value */
    FLOW_BREAK,  /* the innermost loop ends: in functions evaluated at compile time only */
    FLOW_CONTINUE,
} Flow;

Flow elab_stmts(Elab *e, const StmtList *list, uint32_t index, const Rest *rest);
/* Runs everything in `rest`. */
Flow elab_rest(Elab *e, const Rest *rest);
Flow elab_if(Elab *e, const Stmt *stmt, const Rest *rest);
Flow elab_for(Elab *e, const Stmt *stmt, const Rest *rest);
Flow elab_while(Elab *e, const Stmt *stmt, const Rest *rest);
/* Makes loads volatile that decide whether a finished `while` goes on (elaborate_wait.c). */
void elab_mark_waits(Elab *e, Op *loop);
/* In functions evaluated at compile time (elaborate_host.c). */
Flow elab_host_for(Elab *e, const Stmt *stmt, const Rest *rest);
Flow elab_host_while(Elab *e, const Stmt *stmt, const Rest *rest);
void elab_host_del(Elab *e, const Stmt *stmt);
void elab_host_augassign(Elab *e, const Stmt *stmt);
Val elab_host_comprehension(Elab *e, const Expr *expr);
Val elab_host_dict(Elab *e, const Expr *expr);
/* The integers of a range(..) that is evaluated at compile time (elaborate_loop.c). */
bool elab_range_items(Elab *e, Span span, Call *call, const Val **items, uint32_t *count);
Flow elab_unrolled(Elab *e, const Stmt *loop, const Val *items, uint32_t count, uint32_t index,
                   const Rest *rest);
Val elab_ternary(Elab *e, const Expr *expr, Val condition);
void elab_assign(Elab *e, const Expr *target, Val v);
/* The names a failed statement would have assigned hold errors from here on. */
void elab_spoil(Elab *e, const Stmt *stmt);
/* A variable's value from here on: using it is an error that says why. */
Val elab_undefined(Elab *e, Span span, const char *why);
/* The index of a loop behind it, whose bounds are scalars of one type; `before`, which may be NULL,
 * is what the variable was in front of the loop (elaborate_index.c). */
Val elab_index_behind(Elab *e, Span span, Val lo, Val hi, Val step, const Val *before);
/* Makes the code for it. */
Val elab_last_index(Elab *e, Span span, const LastIndex *last);
/* What a plain assignment stores: numbers become run-time scalars, as in Triton. */
Val elab_decay(Elab *e, Span span, Val v);

/* Variables */
Val *vars_find(const Vars *vars, Str name);
void vars_set(Elab *e, Vars *vars, Str name, Val v);
/* As vars_set, for a name that is not there. */
void vars_add(Elab *e, Vars *vars, Str name, Val v);
Vars vars_copy(Elab *e, const Vars *vars);
/* A variable of the frame; `at`: the assignment. */
void elab_set(Elab *e, Span at, Str name, Val v);
/* Tells who listens. */
void elab_tell_variable(Elab *e, Span at, Str name, const Val *v);
/* For what is said of a variable that the loops around carry: where it becomes something else
 * (elaborate_loop.c). */
void elab_note_assignment(Elab *e, Span at, Str name, Val v);
/* The names a statement list may assign, each once, in order. */
typedef struct Names {
    Str *data;
    size_t len, cap;
} Names;
void names_assigned(Arena *arena, const StmtList *list, Names *names);
/* Makes values of those among the names that are indices of loops that ended; which, to `settled`.
 */
void elab_settle(Elab *e, const Names *names, Names *settled);
bool stmts_return(const StmtList *list);

/* Names, imports, modules (names.c) */
Val elab_name(Elab *e, Span span, Str name);
Val elab_module_attribute(Elab *e, Span span, Val module, Str name);
/* Does the module define the name? */
/* Whether elab_attribute would find it. */
bool elab_has_attribute(Elab *e, Val base, Str name);
bool elab_type_has_attribute(Val type, Str name);
bool elab_module_has(Elab *e, Val module, Str name);
/* An expression of a file outside any function: defaults, globals. */
Val elab_eval_in(Elab *e, Unit *unit, const Expr *expr);
/* A function of std.tile by name; VAL_ERROR without a report if there is none. */
Val elab_std(Elab *e, Str name);
/* The dotted name of the first module that contains the builtin; NULL: none, it is Python's. */
const char *elab_module_of(const Builtin *row);
/* The dotted name of the language's module number `index`, and what it contains; NULL: there are no
 * more. */
const char *elab_language_module(uint32_t index, uint32_t *contents);
Unit *unit_create(Elab *e, Str path, const AstFile *syntax);

/* Names of units (bindings.c) */
/* The unit of that number, with what was parsed of it. */
Unit *units_take(Elab *e, uint32_t number, const AstFile *syntax);
/* A name of the unit's bindings; false: it has none. */
bool units_lookup(Elab *e, Unit *unit, Str name, Val *out);
/* a.b.c where that is bound as a whole; false: it is not. */
bool units_attribute(Elab *e, const Expr *expr, Val *out);
/* Of a namespace, a VAL_MODULE of a unit that was given. */
Val units_namespace_attribute(Elab *e, Span span, Val namespace, Str name);
bool units_namespace_has(Elab *e, Val namespace, Str name);
/* The value of a literal, that of `name` for messages. */
Val units_literal(Elab *e, Str name, Str text);
/* @3, in a literal; false: it is no such name. */
bool units_numbered(Elab *e, Span span, Str name, Val *out);
/* What the language has under a dotted name, "triton.language.load" (names.c). */
Val elab_language(Elab *e, Span span, Str path);

/* Remarks once for a place that `option` has no effect there. */
void elab_no_effect(Elab *e, Span span, const char *option, const char *why);

/* Calls (elaborate_call.c) */
typedef struct Arg {
    Str name; /* empty: positional */
    Val val;
    Span span;
} Arg;

Val elab_call_expr(Elab *e, const Expr *expr);
Val elab_call(Elab *e, Span span, Val callee, const Arg *args, uint32_t count);
/* The same of a VAL_FUNCTION that is an `__init__`: what its first argument is at its end. */
Val elab_call_init(Elab *e, Span span, Val callee, const Arg *args, uint32_t count);

/* Classes (elaborate_record.c) */
typedef struct RecordMethod {
    Val function;
    bool is_static;
} RecordMethod;
/* False: it has no method of that name. */
bool elab_method(Elab *e, Unit *record, Str name, RecordMethod *out);
/* A value of a VAL_RECORD. */
Val elab_make_record(Elab *e, Span span, Unit *record, const Arg *args, uint32_t count);
/* self.x = v in `__init__`; false: that is not what it is. */
bool elab_set_field(Elab *e, const Expr *target, Val v);
/* aggregate_replace(instance, x=..) */
Val elab_replace_fields(Elab *e, Span span, const Arg *args, uint32_t count);
/* The class that is defined in a file. */
Unit *elab_class(Elab *e, Unit *home, const ClassDef *def);
/* A class with the fields given; `def` may be NULL. */
Unit *elab_record_unit(Elab *e, Unit *home, const GivenUnit *given, const ClassDef *def);
/* The same of a VAL_FOREIGN (evaluate.c). */
Val elab_evaluate(Elab *e, Span span, Val callee, const Arg *args, uint32_t count);
/* Evaluates the arguments of call `expr` and binds them to a builtin's parameters. */
bool elab_bind_call(Elab *e, const Expr *expr, Val callee, Call *call);
/* Calls a combine function of a reduction on `n` values. */
Val elab_call_values(Elab *e, Span span, Val callee, const Val *args, uint32_t n);
/* True after an error when run-time code cannot be built here. */
bool elab_no_builder(Elab *e, Span span, const char *what);

/* Builtins (builtins.def, builtins*.c) */
struct Call {
    Elab *e;
    Span span;
    const Builtin *builtin;
    Val args[MAX_PARAMS]; /* by parameter; VAL_ABSENT: not given and no default */
    Span spans[MAX_PARAMS];
    const Val *rest; /* of *args */
    uint32_t rest_count;
    bool is_method;
};

typedef Val BuiltinHandler(Call *call);

typedef enum BuiltinFlags {
    BUILTIN_METHOD = 1,  /* also x.name(...) on run-time values */
    BUILTIN_STATIC = 2,  /* may be called where nothing can be built */
    BUILTIN_SPECIAL = 4, /* a marker the elaborator treats itself (range, constexpr, ..) */
    BUILTIN_STD = 8,     /* defined in std.tile */
    BUILTIN_OF_BLOCK_POINTER = 16, /* p.name(...) */
    BUILTIN_OF_DESCRIPTOR = 32,    /* desc.name(...) */
    BUILTIN_OF_TEXT = 128,         /* s.name(...) of strings */
    BUILTIN_OF_INT = 1024,         /* i.name(...) of compile-time integers */
    BUILTIN_HOST = 512,    /* a row of objects.def: of functions evaluated at compile time */
    BUILTIN_OBJECTS = 256, /* takes lists and dictionaries as they are; others get tuples */
    BUILTIN_MUST_USE = 64, /* a call whose result is thrown away is an error */
} BuiltinFlags;

typedef enum ModuleSet {
    IN_PYTHON = 1,         /* no module: a builtin of Python */
    IN_TL = 2,             /* triton.language, .core, .standard */
    IN_MATH = 4,           /* triton.language.math */
    IN_LIBDEVICE = 8,      /* triton.language.extra.libdevice and its aliases */
    IN_TRITON = 16,        /* triton */
    IN_RANDOM = 32,        /* triton.language.random */
    IN_CUDA = 64,          /* triton.language.extra.cuda */
    IN_PYMATH = 128,       /* Python's math */
    IN_COLLECTIONS = 1024, /* Python's collections */
    IN_TARGET = 512,       /* triton.language.target_info */
    IN_STD = 256,          /* no module: for std.tile and libdevice.tile alone */
} ModuleSet;

struct Builtin {
    const char *name;
    uint32_t modules; /* ModuleSet */
    const char *params;
    BuiltinHandler *handler;
    uint32_t flags;
};

typedef enum BuiltinId {
#define BUILTIN(id, ...) BUILTIN_##id,
#include "frontend/builtins.def"
    BUILTIN_COUNT
} BuiltinId;
extern const Builtin builtins[BUILTIN_COUNT];

/* Where a row with BUILTIN_STD is written. */
static inline LibraryFile builtin_library(const Builtin *row) {
    return row->modules & IN_LIBDEVICE ? LIBRARY_LIBDEVICE : LIBRARY_STD;
}

static inline bool builtin_is(Val v, BuiltinId id) {
    return v.kind == VAL_BUILTIN && v.builtin == &builtins[id];
}
/* The row named so in one of the modules; NULL: none. */
const Builtin *builtin_find(Str name, uint32_t modules);
/* The method of block pointers or descriptors named so; NULL: none. */
const Builtin *builtin_find_method(Str name, BuiltinFlags of);
uint32_t builtin_names(uint32_t modules, Str *out, uint32_t capacity);

/* Arguments of builtins: each reports what it wanted and is false. */
bool call_int(Call *call, int param, int64_t *out); /* compile-time integer */
bool call_flag(Call *call, int param, bool *out);   /* compile-time truth; absent: false */
bool call_string(Call *call, int param, Str *out);  /* absent or None: empty */
bool call_number(Call *call, int param); /* whether it is one or a run-time value; else an error */
bool call_tile(Call *call, int param, Val *out); /* number or run-time value, as the latter */
bool call_type(Call *call, int param, ScalarType *out);
bool call_shape(Call *call, int param, int *rank, int64_t *shape); /* checked powers of two */
/* The ints of a tuple, or of *args when there are some: shape, dims. */
bool call_ints(Call *call, int param, int *count, int64_t *out, int capacity);
bool call_enum(Call *call, int param, AttrKind kind, const char *prefix, int64_t *out);
const char *call_param_name(const Call *call, int param);
/* Is this a compile-time integer, or a run-time scalar whose constant is known? */
bool val_known_int(Val v, Wide *out);
bool shape_check(Elab *e, Span span, int rank, const int64_t *shape);
/* What to write in the place of a size that is none. */
void hint_power_of_two(Elab *e, int64_t size);

/* Operators on compile-time values, as Python has them (constexpr.c) */
Val static_binary(Elab *e, Span span, AstOperator op, Val a, Val b);
/* Of ints, bools too (constexpr_int.c). */
Val static_int_binary(Elab *e, Span span, AstOperator op, Val a, Val b);
Val static_int_unary(Elab *e, Span span, AstOperator op, Val a);
/* Of a number; false after a report: an int is too large for a float. */
bool elab_as_double(Elab *e, Span span, Val v, double *out);
Val static_compare(Elab *e, Span span, AstOperator op, Val a, Val b);
Val static_unary(Elab *e, Span span, AstOperator op, Val a);
/* True after an error where a run-time integer is divided by what is written as 0. A constexpr that
 * comes out as 0 is none: code that computes with it may be guarded. */
bool elab_divides_by_zero(Elab *e, Span span, AstOperator op, Val a, const Expr *divisor);
/* Both for every mix of compile-time and run-time operands. */
Val elab_binary(Elab *e, Span span, AstOperator op, Val a, Val b);
/* + - *, never checked for overflow. */
Val elab_wrapping(Elab *e, Span span, AstOperator op, Val a, Val b);
Val elab_compare(Elab *e, Span span, AstOperator op, Val a, Val b);
Val elab_unary(Elab *e, Span span, AstOperator op, Val a);
Val elab_logical(Elab *e, Span span, AstOperator op, Val a, Val b); /* and, or on run-time values */

/* Run-time values (promote.c, convert.c): types after Triton's rules */
typedef enum PromoteFlags {
    PROMOTE_POINTER_A = 1,
    PROMOTE_POINTER_B = 2,
    PROMOTE_DIVIDE = 4,
    PROMOTE_STRONG = 8,     /* Python numbers have their own type: comparisons */
    PROMOTE_ANY_FLOAT = 16, /* fp8 too: nothing is computed */
} PromoteFlags;

/* The common type of two integers, as in C but without the promotion to int. */
Elem elem_promote_ints(Elem a, Elem b);
/* Brings both to one element type and shape. */
bool op_promote(Elab *e, Span span, const char *what, uint32_t flags, Val *a, Val *b);
bool op_broadcast(Elab *e, Span span, Val *a, Val *b);
Val op_broadcast_to(Elab *e, Span span, Val v, int rank, const int64_t *shape);
Val op_splat(Elab *e, Val v, const Type *shape);
Val op_expand_dims(Elab *e, Val v, int axis);
Val op_reshape(Elab *e, Val v, int rank, const int64_t *shape);
Val op_transpose(Elab *e, Val v); /* of the last two of 2 and more dimensions */
/* The one element of a tile of one element; anything else as it is. */
Val op_unsplat(Elab *e, Val v);
/* A number as a run-time scalar: int32 (uint32, int64, uint64 when it does not fit), fp32, int1. */
Val op_to_tensor(Elab *e, Span span, Val v);
/* That type. False after a report. */
bool op_number_elem(Elab *e, Span span, Val v, Elem *elem);
/* The same, without a report. */
bool op_number_own_elem(Val v, Elem *elem);
/* Whether a number beside run-time values would give another type than theirs if it counted as one.
 */
bool op_number_widens(Val number, Val values);
/* A compile-time number as a scalar of this element type. */
Val op_constant(Elab *e, Val number, Elem elem);
Val op_cast(Elab *e, Span span, Val v, ScalarType to, Rounding rounding);
Val op_bitcast(Elab *e, Span span, Val v, ScalarType to);
Val op_to_bool(Elab *e, Span span, Val v); /* != 0 */
static inline Val op_like(Value *ir, Val like) {
    return val_tile(ir, like.tile.scalar);
}
/* Floats computed in at least fp32 where Triton does: bf16 becomes fp32. */
Val op_promote_bf16(Elab *e, Span span, Val v);
/* -x, else |x|, of a float that is held as bits. */
Val op_sign_of_bits(Elab *e, Span span, Val v, bool negates);
/* Floats that are held as bits become fp32. */
Val op_promote_bits(Elab *e, Span span, Val v);

/* Signatures (signature.c, signature_entry.c) */
typedef struct Specialized {
    Str name; /* of the parameter; of an item behind it, "x.0", "x.shape.1" */
    ScalarType type;
    bool is_constexpr; /* value holds it */
    bool is_default;   /* which is the parameter's default */
    bool is_fixed;     /* compiled for the value `fixed`, which is still passed */
    bool is_annotated; /* with a type */
    int64_t fixed;
    int64_t divisible; /* 1 to 16 */
    Val value;
    const struct Specialized *items; /* of a tuple, or the parts of a descriptor, each by itself */
    uint32_t count;                  /* 0: it is neither */
    const BlockInfo *block;          /* of a descriptor; the last items say the same */
    Unit *record;                    /* of a named tuple its class */
} Specialized;

/* What each parameter of `def` is, from signature, names, annotations and defaults. */
bool signature_apply(Elab *e, const FuncDef *def, Unit *unit, Specialized *out);

/* Parameters (parameters.c): of a tuple or a descriptor each part that is passed is one of the
 * kernel's. */
Func *parameters_func(Elab *e, const FuncDef *def, const Specialized *params);
/* Their values in the frame's variables. */
void parameters_bind(Elab *e, const FuncDef *def, const Specialized *params);
/* Those of the source in order, tuples and descriptors by their parts. */
KernelParam *parameters_describe(Elab *e, const FuncDef *def, const Specialized *params,
                                 uint32_t *count);
#endif
