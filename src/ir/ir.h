/* Tile IR: SSA over scalars and tiles with structured control flow.
 *
 * Everything lives in the context's arena; ops are never freed singly. Blocks hold ops in a doubly
 * linked list and end in a terminator; an op owns its regions, each a single block with arguments.
 * Uses are threaded through the operand arrays, so that replacing a value is O(uses). Field `span`
 * of an op is always set when it comes from source. One function is one kernel: helpers were
 * inlined.
 *
 * The op table is ops.def; build_<op>() below are generated from it. */
#ifndef TILEC_IR_IR_H
#define TILEC_IR_IR_H
#include "ir/attrs.h"
#include "types/type.h"
#include <assert.h>

typedef struct Value Value;
typedef struct Use Use;
typedef struct Op Op;
typedef struct Block Block;
typedef struct Func Func;
typedef struct Module Module;

typedef enum Trait {
    PURE = 1,
    COMMUTES = 2,
    CHEAP = 4,
    READS = 8,
    WRITES = 16,
    LREADS = 32,
    LWRITES = 64,
    SYNC = 128,
    TERMINATOR = 256,
    ELEMENTWISE = 512, /* set by OP_E */
    CONSTANT = 1 << 10,
    MOVES = 1 << 11,
    HINT = 1 << 12,
    CONVERTS = 1 << 13,
    EXTREMUM = 1 << 14,
    QUOTIENT = 1 << 15,
    TRANSCENDENTAL = 1 << 16,
    MAY_TRAP = 1 << 17,
    COST_FMA = 1 << 18,
    COST_SPECIAL = 1 << 19,
    STORE = 1 << 20,
    ATOMIC = 1 << 21,
    BLOCK = 1 << 22,
    TENSOR_COPY = 1 << 23,
    ALLOCATES = 1 << 24,
    SAYS = 1 << 25,
    LOOP = 1 << 26,
    COMBINES = 1 << 27,
    ACCUMULATES = 1 << 28,
    ONE_WARP = 1 << 29,
    BY_ELEMENT = 1 << 30
} Trait;

typedef enum OpCode {
#define OP(name, ...) OP_##name,
#define OP_E(name, ...) OP_##name,
#define OP_R(name, ...) OP_##name,
#include "ir/ops.def"
    OP_COUNT
} OpCode;

enum { OP_MAX_FIXED = 4 };

typedef enum ResultKind { RESULT_NONE, RESULT_INFERRED, RESULT_STATED, RESULT_VARIADIC } ResultKind;

/* Checks operands, attributes and regions of `op`, and `stated` (RESULT_STATED) or the types in
 * op->out (RESULT_VARIADIC), reports what is wrong, and gives the result type. The single
 * definition of what an op accepts: builders assert it, the IR parser and the verifier report it.
 */
typedef bool OpRule(Ctx *ctx, const Op *op, const Type *stated, const Type **result);

typedef struct OpInfo {
    const char *name, *summary;
    int8_t min_operands, max_operands; /* max -1: variadic */
    const char *operand_names[OP_MAX_FIXED];
    int8_t attr_count;
    AttrInfo attr[OP_MAX_ATTRS];
    uint16_t attr_bytes; /* of its attributes, struct <name>_attrs */
    ResultKind results;
    uint8_t regions;
    uint32_t traits;
} OpInfo;
extern const OpInfo op_info[OP_COUNT];
/* Apart from op_info, which rules look things up in. */
extern OpRule *const op_rule[OP_COUNT];

/* Objects */

struct Use {
    Value *value;
    Op *user;
    Use *next, **link; /* list of all uses of `value`; *link points at this use */
};

struct Value {
    const Type *type;
    Op *def;        /* NULL for a block argument */
    Block *owner;   /* NULL for an op result */
    uint32_t index; /* among the results or arguments */
    uint32_t id;    /* number given by func_number(), for side tables */
    Use *uses;
    Str name; /* the source's name, a hint for the printer; may be empty */
};

struct Op {
    OpCode code;
    uint32_t nin, nout, nregions;
    Op *prev, *next;
    Block *block;
    Use *in;
    Value *out;
    Block **regions;
    void *attrs; /* struct <name>_attrs, which <name>_attrs() gives */
    Span span;
};

struct Block {
    Op *first, *last;
    Op *parent; /* the op whose region this is; NULL for a function's body */
    Func *func;
    Value *args;
    uint32_t nargs;
};

/* What the launch promises about an argument, besides its type (the body's block arguments carry
 * that). An argument specialised to 1 is a constant in the body and stays a parameter. */
typedef struct FuncParam {
    Str name;
    Span span;
    int64_t
        divisible; /* multiple of: pointers in bytes, integers in units; 0 and 1: nothing known */
} FuncParam;

struct Func {
    Module *module;
    Func *next;
    Str name;
    Span span;
    Block *body; /* its arguments are the parameters */
    FuncParam *params;
    /* Launch shape. 0: the compiler chooses (pass choose-warps). */
    int32_t num_warps; /* per program: power of two up to 32 */
    /* Warps that each program is launched with, if they are more: those beyond num_warps end at
     * once. See passes/launch/choose_warps.c. */
    int32_t launched_warps;
    int32_t num_stages;
    int32_t num_ctas;
    /* Registers of a thread: ir/registers.h. 0: nobody said. */
    int32_t register_request; /* that it may have at most: the caller's */
    int32_t register_goal; /* that it is to have at most: passes', so that an SM holds more CTAs */
    int32_t max_registers; /* what comes of it: the limit that the code is assembled for */
    bool all_registers;    /* no limit, since that would cost spills: the runtime's */
    int32_t max_shared;    /* bytes that a block may take; 0: as many as its target has */
    int32_t programs_per_cta; /* programs that share a CTA, each with num_warps warps of its own */
    int32_t shared_bytes;     /* per program, once allocated */
    int32_t capability;       /* 80, 86, 89, 90, 100, 120; 0: no target chosen */
    bool has_layouts;         /* every tile type has a layout */
    /* No access may become a tensor copy: the form that a kernel has beside its own, for arguments
     * that no tensor map can hold (docs/tma.md). */
    bool no_tensor_copies;
    bool no_persistence; /* pass persist leaves the function alone */
    /* Arguments that are pointers may lead to one array: the form that a kernel has beside its own
     * for launches in place. Else passes may take two arguments to lead to memory apart. */
    bool in_place;
    /* Of which arguments they did, where exchanging accesses shows: numbers of parameters in pairs,
     * one that is loaded through and one that is stored through, ascending. A launch that gives
     * both one pointer needs the other form. See func_take_apart. */
    Ints apart;
    /* Results are the same bits however many warps and stages there are and whatever target of one
     * family it is compiled for: ir/order.h, docs/deterministic.md. */
    bool deterministic;
    /* The launch is the source's own: its parameters and nothing behind them, a CTA, or num_ctas of
     * them, for each program. Says no_tensor_copies and no_persistence, too; see func_plain_abi.
     * Who launches it looks at no facts, so that it has none of `apart`. */
    bool plain_abi;
    /* The launch is of CTAs, any number of them, each of which goes through programs by a loop of
     * its own: cta_id and cta_count say which, num_programs counts programs, and there is no
     * program_id. See passes/launch/persist.c. */
    bool is_persistent;
    /* Axes, as bits, along which the launch starts the last program first. Of time alone:
     * program_id says which program it is. Not with is_persistent, nor with several programs in a
     * CTA. */
    int32_t last_first;
    /* Programs of one x start together, for a section of neighbours along the other axes: see
     * codegen/values/programs.c. On the same conditions. */
    bool in_sections;
    /* The first thread of each program runs all of it, the others end at once: there is no tile.
     * See passes/shared/own_loads.c. */
    bool one_thread;
    /* Above 1: beside the producer, as many teams of num_warps warps share the programs of a CTA,
     * each of which runs what stands behind the producer: team_id and team_count say which programs
     * are its own. The function means the same with any number of teams. 0: one. See
     * passes/schedule/specialise_teams.c. */
    int32_t teams;
};

struct Module {
    Ctx *ctx;
    Func *funcs;
};

/* Attributes */

/* load_attrs(op) and so on: the attributes of an op, which must be of that code. As with operands,
 * who may change them is up to the owner of the op: they are not const through a const Op. */
#define OP(name, ...)                                                                              \
    static inline struct name##_attrs *name##_attrs(const Op *op) {                                \
        assert(op->code == OP_##name);                                                             \
        return (struct name##_attrs *)op->attrs;                                                   \
    }
#define OP_E OP
#define OP_R OP
#include "ir/ops.def"

/* Accesses of a load that may be delayed which a thread has under way at once: what the next store
 * needs and what the one behind it does. Codegen loads so far ahead (codegen/llvm/schedule.c), and
 * who counts registers counts so many. */
enum { DELAYED_ACCESSES = 2 };

/* Where the op has the attribute; NULL: it has none of that name. */
void *op_attr_place(const Op *op, AttrName name);

static inline bool op_has_attr(const Op *op, AttrName name) {
    return op_attr_place(op, name) != NULL;
}

/* op_width(op), op_set_width(op, width) and so on: see attr_names.def. */
#define FAMILY(kind, name)                                                                         \
    static inline CTYPE_##kind op_##name(const Op *op) {                                           \
        const CTYPE_##kind *place = (CTYPE_##kind *)op_attr_place(op, ATTR_NAME_##name);           \
        assert(place || MAY_OMIT_##kind);                                                          \
        return place ? *place : (CTYPE_##kind){0};                                                 \
    }                                                                                              \
    static inline void op_set_##name(Op *op, CTYPE_##kind value) {                                 \
        CTYPE_##kind *place = (CTYPE_##kind *)op_attr_place(op, ATTR_NAME_##name);                 \
        assert(place);                                                                             \
        *place = value;                                                                            \
    }
#define NAME(name)
#include "ir/attr_names.def"

/* Attribute `index` of those in op_info[op->code].attr. */
Attr op_attr(const Op *op, uint32_t index);
/* Strings must be interned; arrays are not copied. */
void op_set_attr(Op *op, uint32_t index, Attr value);
/* Every attribute that both have takes the value that it has in `from`. */
void op_copy_attrs(Op *to, const Op *from);

/* Construction */

typedef struct Builder {
    Ctx *ctx;
    Block *block;
    Op *before; /* insert before this op of `block`; NULL: at its end */
    Span span;
} Builder;

Module *module_create(Ctx *ctx);
/* A function with an empty body; params[i] has type types[i]. Arrays are copied. */
Func *func_create(Module *module, Str name, uint32_t nparams, const FuncParam *params,
                  const Type *const *types);
static inline Ctx *func_ctx(const Func *func) {
    return func->module->ctx;
}
Builder builder_at_end(Block *block);
Builder builder_before(Op *op);
Builder builder_after(Op *op);

/* A new op at the builder's place; result types must be set (or inferred by op_infer) by the
 * caller, regions start empty with no arguments. */
Op *op_create(Builder *builder, OpCode code, uint32_t nin, Value *const *in, uint32_t nout,
              const Type *const *out_types);
/* Runs the op's rule; sets the type of an inferred or stated result. False after a report. */
bool op_infer(Ctx *ctx, Op *op, const Type *stated);
/* A region's block gets arguments of these types. */
void block_set_args(Block *block, uint32_t nargs, const Type *const *types);
Value *block_add_arg(Block *block, const Type *type);
/* A copy at the builder's place with operands looked up by `map` (values absent from it stay),
 * regions included; map receives the copied results and arguments. */
typedef struct ValueMap ValueMap;
ValueMap *value_map_create(Arena *arena);
void value_map_set(ValueMap *map, const Value *from, Value *to);
Value *value_map_get(const ValueMap *map, const Value *from); /* NULL: absent */
Op *op_clone(Builder *builder, const Op *op, ValueMap *map);
/* A copy of the function that is none of its module's: to try passes on. */
Func *func_clone(const Func *func);

/* Change */
void op_set_operand(Op *op, uint32_t index, Value *value);
/* Operands, results and region arguments grow or shrink: pointers to op->in or ->out elements
 * change, and uses are moved along. */
void op_add_operand(Op *op, Value *value);
void op_remove_operand(Op *op, uint32_t index);
Value *op_add_result(Op *op, const Type *type);
void op_remove_result(Op *op, uint32_t index);       /* must be unused */
void block_remove_arg(Block *block, uint32_t index); /* must be unused */
void value_replace(Value *from, Value *to);          /* all uses */
/* Unlinks the op, with its regions, and drops its uses; its results must be unused. */
void op_remove(Op *op);
void op_move_before(Op *op, Op *place);

/* Queries */
/* Bytes of shared memory that a block of the function may take: max_shared, but no more than its
 * target has. Without a target there is no other limit. */
int32_t func_shared_room(const Func *func);
static inline bool op_has(const Op *op, uint32_t traits) {
    return (op_info[op->code].traits & traits) != 0;
}
static inline Value *op_in(const Op *op, uint32_t index) {
    return op->in[index].value;
}
static inline Value *op_out(const Op *op) {
    return &op->out[0];
}
static inline bool value_unused(const Value *value) {
    return value->uses == NULL;
}
static inline bool value_has_one_use(const Value *value) {
    return value->uses && !value->uses->next;
}
static inline Block *value_block(const Value *value) {
    return value->def ? value->def->block : value->owner;
}
/* The constant behind a value: through ops that only move elements. */
bool value_int_constant(const Value *value, int64_t *constant);
bool value_float_constant(const Value *value, double *constant);
/* Numbers all values of the function from 0 in order of definition; returns how many there are. */
uint32_t func_number(Func *func);
/* False after a report at the op where a chain of values that each need the one before exceeds
 * ctx->max_depth: walks over operands recurse that deep, here and in LLVM. Numbers the values. */
bool func_check_depth(Func *func);
/* The op itself or the ancestor of it that stands directly in `block`; NULL if it is elsewhere. */
Op *op_ancestor_in(Op *op, const Block *block);
/* Effects of the op including those of its regions: union of READS, WRITES, LREADS, LWRITES, SYNC.
 * A volatile load, which may see what others have written, has SYNC: what is loaded behind it may
 * be what these wrote before. */
uint32_t op_effects(const Op *op);
/* Elements of one access by the attribute `width`, 1 where it is not set or there is none. */
uint32_t op_access_width(const Op *op);
/* Most elements of one access by an atomic. */
enum { ATOMIC_MOST_WIDTH = 8 };
/* Whether the atomic is of those that instructions do for neighbours together: sums of f32, f16 and
 * bf16, where nobody wants the old values. */
bool atomic_takes_vectors(const Op *op);
/* The innermost for or while loop around the op; NULL: there is none. */
Op *op_loop_around(const Op *op);
/* The index of a for loop in its first iteration, if it has one: of a begin that is a select
 * between the loop's own end and another value, that value. */
Value *loop_first_index(const Op *loop);
/* So is what its region does, if it has one. */
static inline bool op_is_pure(const Op *op) {
    return op_has(op, PURE) && !(op->nregions && op_effects(op));
}
/* Its own effects are just these. */
static inline bool op_has_only(const Op *op, uint32_t effects) {
    return (op_info[op->code].traits & (READS | WRITES | LREADS | LWRITES | SYNC)) == effects;
}
/* Gives what global memory holds, and does nothing else: load, load_block. */
static inline bool op_is_load(const Op *op) {
    return op_has_only(op, READS);
}
/* Changes what lies in global memory where its first operand points, and tells the program nothing
 * of it: a store, or an atomic whose old value nobody uses. */
bool op_only_writes(const Op *op);
/* Loads, stores or changes what a tile of pointers, its first operand, points to. */
static inline bool op_is_pointer_access(const Op *op) {
    return !op_has(op, BLOCK) && (op_is_load(op) || op_has(op, STORE | ATOMIC));
}
/* PTX of the source with effects: it may access any memory, wait for others and tell others. */
static inline bool op_is_unseen(const Op *op) {
    return op->code == OP_effect_asm;
}
/* May the program know behind it that other programs have written, and have what they wrote?
 * Atomics that acquire, of which somebody uses what they give; volatile loads; what is unseen. */
bool op_acquires(const Op *op);
/* May others learn by it what the program has done? */
static inline bool op_releases(const Op *op) {
    return op_has(op, ATOMIC | SYNC) || op_is_unseen(op);
}
/* What the op's operand `mask` is; NULL: it has none. */
Value *op_mask(const Op *op);
/* Fills a buffer, at once or some time, from a tile or from global memory. */
static inline bool op_fills_buffer(const Op *op) {
    return op_has(op, LWRITES) && !op_has(op, LREADS);
}
/* Decides whether or how often its regions run, which pass values on. */
static inline bool op_is_control(const Op *op) {
    return op_has(op, LOOP) || op->code == OP_if;
}
/* May one warp run it by itself, without tiles, memory or meeting others? */
static inline bool op_suits_one_warp(const Op *op) {
    return op_has(op, ONE_WARP) || op_is_control(op) ||
           (op_has(op, PURE | TERMINATOR) && !op->nregions);
}
/* Gives each element of its operand once, in another order or shape or to other threads. */
bool op_rearranges(const Op *op);
/* Addresses of a tile in a LOOP_NESTED: those of a line, to which another line is added. */
bool op_is_nested_address(const Op *op);

#define block_for_each(op, block_) for (Op *op = (block_)->first; op; op = op->next)
/* The op may be removed, or moved, in the body. */
#define block_for_each_safe(op, block_)                                                            \
    for (Op *op = (block_)->first, *op##_next = op ? op->next : NULL; op;                          \
         op = op##_next, op##_next = op ? op->next : NULL)
#define value_for_each_use(use, value_) for (Use *use = (value_)->uses; use; use = use->next)
/* Pre-order over all ops of a function, regions included; return false to stop. */
typedef bool OpVisitor(Op *op, void *user);
bool func_walk(Func *func, OpVisitor *visit, void *user);

/* Text: module_parse(module_print(m)) is m; the grammar is in ir/grammar.def and docs/ir.md. `out`
 * must not be in the scratch arena. */
typedef struct PrintedOp {
    const Op *op;
    uint32_t line; /* of the text, from 0 on, where it begins */
} PrintedOp;

typedef struct PrintedValue {
    const Value *value;
    const char *name; /* without its % */
} PrintedValue;

/* What stands where in a text, all in the order of the text; in `arena`. */
typedef struct PrintNotes {
    Arena *arena;
    SpanList lines; /* of the op, or of the function whose head it is; nowhere for other lines */
    VEC(PrintedOp) ops;
    VEC(PrintedValue) values;    /* in order of definition */
    VEC(const Layout *) layouts; /* #L0, #L1, .. */
} PrintNotes;

typedef struct PrintOptions {
    bool spans; /* ` loc("file":line:column to line:column)` after each op; parsed back if the
                   context has the file, else spans are those of the IR text */
    PrintNotes *notes; /* NULL: none are wanted */
} PrintOptions;
void module_print(const Module *module, const PrintOptions *options, StrBuf *out);
void op_print(const Op *op, StrBuf *out); /* for messages and the debugger */
/* Source `file` of ctx->sources; NULL after errors were reported. The result is verified. */
Module *module_parse(Ctx *ctx, uint32_t file);

/* Every rule, dominance, use lists, terminators, layouts all or none. Reports every violation. */
bool module_verify(Module *module);

/* One builder per row of ops.def without regions: build_addi(b, x, y) and so on; an absent optional
 * operand is NULL. A call that breaks the op's rule is a bug of the caller: it is reported as an
 * internal error diagnostic and aborts debug builds. */
#define PAR_IN0()
#define PAR_IN1(a) , Value *a
#define PAR_IN2(a, b) , Value *a, Value *b
#define PAR_IN3(a, b, c) , Value *a, Value *b, Value *c
#define PAR_INO2(min, a, b) , Value *a, Value *b
#define PAR_INO(min, a, b, c) , Value *a, Value *b, Value *c
#define PAR_INO4(min, a, b, c, d) , Value *a, Value *b, Value *c, Value *d
#define PAR_INV(xs) , uint32_t n_##xs, Value *const *xs
#define ATTR_PARAMETER(op, index, kind, name) , CTYPE_##kind name
#define PAR_OUT0(rule)
#define PAR_OUT1(rule)
#define PAR_OUTT(rule) , const Type *type
#define PAR_OUTV(rule) , uint32_t ntypes, const Type *const *types
#define RET_OUT0(rule) Op *
#define RET_OUT1(rule) Value *
#define RET_OUTT(rule) Value *
#define RET_OUTV(rule) Op *
#define OP(name, in, at, out, traits, summary)                                                     \
    RET_##out build_##name(Builder *builder PAR_##in EACH_ATTR(ATTR_PARAMETER, name, at) PAR_##out);
#define OP_E OP
#define OP_R(...)
#include "ir/ops.def"

/* Builders of the ops with regions, made by hand. The regions get their block arguments and stay
 * empty; the caller fills them and ends them with yield (condition). */
Op *build_for(Builder *builder, Value *lo, Value *hi, Value *step, uint32_t ninits,
              Value *const *inits);
Op *build_while(Builder *builder, uint32_t ninits, Value *const *inits);
Op *build_if(Builder *builder, Value *cond, uint32_t ntypes, const Type *const *types);
Op *build_producer(Builder *builder);
/* Result types follow from the operands, axis and keep. */
/* Without results, which come with what the region yields: op_add_result. */
Op *build_map(Builder *builder, uint32_t nxs, Value *const *xs);
Op *build_reduce(Builder *builder, uint32_t nxs, Value *const *xs, int64_t axis, int64_t keep);
Op *build_scan(Builder *builder, uint32_t nxs, Value *const *xs, int64_t axis, bool reverse,
               bool exclusive);

/* The `producer` of the function; NULL: it has none. */
Op *func_producer(const Func *func);
/* Makes the launch the source's own from here on: plain_abi and what goes with it. Before
 * choose-warps. */
void func_plain_abi(Func *func);

/* Copies of a buffer: those of the local_alloc or mbarrier_alloc that `buffer` is, or is a view of.
 */
enum {
    MAX_BUFFER_COPIES = 64,
    BUFFER_ALIGNMENT = 16, /* of every buffer, in bytes */
    MBARRIER_BYTES = 8,
    MAX_JOINT_PRODUCTS = 4,
    MAX_EXPECTED_BYTES = (1 << 20) - 1 /* of a phase */
};
const Op *local_alloc_of(const Value *buffer);
int64_t local_copies(const Value *buffer);
/* Bytes of one copy, from one to the next, and of all with what lies between. */
int64_t local_bytes(const Value *buffer);
int64_t local_stride(const Value *buffer);
int64_t local_extent(const Value *buffer);
/* Attribute `arrivals` of the mbarrier_alloc that `barrier` is, or is a view of. */
int64_t mbarrier_arrivals(const Value *barrier);

/* Products of warpgroups from shared memory: wgmma, and wgmma_joint, which has several operands b
 * and as many sums and results. */
static inline bool op_is_wgmma(const Op *op) {
    return op->code == OP_wgmma || op->code == OP_wgmma_joint;
}
static inline uint32_t wgmma_products(const Op *op) {
    return op->nout;
}
static inline uint32_t wgmma_sum_operand(const Op *op, uint32_t product) {
    return 1 + op->nout + product;
}

/* Operands and attributes of load_block, store_block and atomic_block, and of copy_block and
 * store_block_from; see ops.def. */
typedef struct BlockAccess {
    const Type *tile; /* what is moved, no pointers: a tile, or of the latter two a buffer, with the
                         leading dimensions of one element that it lacks */
    uint32_t shape;   /* index of the first extent among the operands */
    uint32_t strides, offsets;
    int rank;
    int64_t checked;
} BlockAccess;
static inline bool op_is_block_access(const Op *op) { /* of a tile: one of the first three */
    return op_has(op, BLOCK);
}
BlockAccess block_access(const Op *op); /* of a verified op */
/* Of a block, the dimension of stride 1; -1: there is none. Of several the longest, then the last.
 */
int tensor_copy_inner_dim(const Op *op);
static inline bool block_checks(const BlockAccess *access, int dim) {
    return (access->checked >> dim & 1) != 0;
}
/* The cache_policy of a load_block or copy_block, its last operand; NULL: it has none. */
Value *block_access_policy(const Op *op);
/* Builds one of them: extents, strides and offsets have `tile->rank` elements each. `value` is NULL
 * for loads; attributes beside `checked` are set by the caller. Gives the op. */
Op *build_block_access(Builder *builder, OpCode code, Value *ptr, Value *value, Value *const *shape,
                       Value *const *strides, Value *const *offsets, int64_t checked,
                       const Type *tile);
/* A copy_block (barrier and on given) or store_block_from (both NULL) of the block that `access`, a
 * load_block or store_block, says, its operands looked up by `map` (NULL, and those absent from it:
 * as they are). The buffer may lack leading dimensions of one element. */
Op *build_block_copy(Builder *builder, const Op *access, const ValueMap *map, Value *buffer,
                     Value *barrier, Value *on);

#define FOR_FIXED_OPERANDS 3 /* lo, hi, step precede the initial values */

/* Bits of attribute `flags` of `for` and (LOOP_NO_LICM alone) of `while`: what the source asked of
 * the loop. */
enum {
    LOOP_FLATTEN = 1,
    LOOP_WARP_SPECIALIZE = 2,
    LOOP_SINGLE_BUFFER_ACC = 4,
    LOOP_NO_LICM = 8,
    /* Found by the passes: */
    LOOP_FEW = 16,     /* it is expected to run a few times at most */
    LOOP_GOES_ON = 32, /* where the loop before it, with a copy of its body, ends: its indices
                          follow on those of that one, or it does not run */
    LOOP_SKIPS = 64,   /* its begin is a select: its own end where nobody sees what it gives, or
                          else its begin. It may as well always run from that */
    LOOP_NESTED = 128, /* its addresses are summed up dimension by dimension */
    LOOP_FLAGS = 255
};

enum { PRINT_MAX_OPERANDS = 63 }; /* bits of attribute `unsigned_operands` */
static inline bool print_is_unsigned(const Op *op, uint32_t operand) {
    return print_attrs(op)->unsigned_operands >> operand & 1;
}
#endif
