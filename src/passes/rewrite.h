/* What the rewriting passes share: replacing ops, constants, uniform tiles. Private to src/passes.
 */
#ifndef TILEC_PASSES_REWRITE_H
#define TILEC_PASSES_REWRITE_H
#include "ir/ir.h"

/* The value of an integer constant as its type stores it: sign-extended; i1 is 0 or 1. */
int64_t int_wrap(DType dtype, int64_t value);
/* The same value without its sign. */
uint64_t int_unsigned(DType dtype, int64_t value);
/* The smallest and largest signed value; i1 counts as 0 and 1. */
int64_t int_lowest(DType dtype);
int64_t int_highest(DType dtype);

/* Scalar type of the elements. */
const Type *type_element(Ctx *ctx, const Type *type);

/* All uses of the op's only result go to `to`, which takes over its name if it has none; the op
 * goes. Returns true, so that a rule can end with it. */
bool rewrite_replace(Op *op, Value *to);
/* The same for an op with several results: `to` has one value for each. */
bool rewrite_replace_all(Op *op, Value *const *to);

/* A constant of any integer or float type, tiles included. */
Value *rewrite_int(Builder *builder, const Type *type, int64_t value);
Value *rewrite_float(Builder *builder, const Type *type, double value);

/* A copy of `op`, attributes included, with other operands and result type; ops without regions. */
Value *rewrite_like(Builder *builder, const Op *op, uint32_t nin, Value *const *in,
                    const Type *type);

/* The reduction of other operands by the region of `reduce`, along its axis; `keep` as in ops.def.
 */
Op *rewrite_reduce(Builder *builder, const Op *reduce, Value *const *in, int64_t keep);

/* The same of a scan. */
Op *rewrite_scan(Builder *builder, const Op *scan, Value *const *in, int64_t axis, bool reverse,
                 bool exclusive);

/* True for scalars, splats and constant tiles. */
bool value_is_uniform(const Value *value);
/* 0, or 0.0 with no sign, in every element. */
bool value_is_positive_zero(const Value *value);
/* The scalar that all elements of a uniform value equal; may build a constant. */
Value *value_uniform_scalar(Builder *builder, Value *value);

/* The op that defines the value if it has this code, else NULL. */
static inline Op *value_def(const Value *value, OpCode code) {
    return value->def && value->def->code == code ? value->def : NULL;
}
static inline bool value_is_int(const Value *value, int64_t wanted) {
    int64_t constant;
    return value_int_constant(value, &constant) && int_wrap(value->type->dtype, constant) == wanted;
}

/* A set of pointers in an arena; rewinding the arena empties it. */
typedef struct PtrSet {
    Arena *arena;
    const void **slots;
    size_t len, cap;
} PtrSet;
bool ptr_set_add(PtrSet *set, const void *pointer); /* false: was there */
bool ptr_set_has(const PtrSet *set, const void *pointer);

/* One code, the same attributes, as many operands, results of the same types. */
bool op_is_alike(const Op *a, const Op *b);
/* The same, but for the types. */
bool op_attributes_alike(const Op *a, const Op *b);
/* Of as many regions, without regions in them: do they make the same of their arguments? */
bool op_regions_alike(const Op *a, const Op *b);

/* The value is defined outside the regions of `op`, so that it can be used before it. */
bool value_is_outside(const Value *value, const Op *op);
/* Whether a test holds of the op or of one in its regions, of the ops of a block or in theirs; it
 * is asked in the order of the text until it does. */
typedef bool OpTest(const Op *op, const void *user);
bool op_any(const Op *op, OpTest *test, const void *user);
bool block_any(const Block *block, OpTest *test, const void *user);
/* Does `op` stand in front of `other`, in one block? Walks from one to the other. */
bool op_comes_before(const Op *op, const Op *other);
/* Has one of these traits, itself or an op in its regions. */
bool op_contains(const Op *op, uint32_t traits);
/* A product stands in the block or in regions of its ops. */
bool block_multiplies(const Block *block);
/* The outermost loop that the op stands in; NULL: there is none. */
Op *op_outermost_loop(const Op *op);
/* A for or while loop stands in the block or in regions of its ops. */
bool block_has_loop(const Block *block);
/* Visits every for loop in the block and in regions of its ops, those inside a loop before it; what
 * a visit puts behind its loop is not visited. True if some visit answered true. */
typedef bool LoopVisitor(Op *loop, void *user);
bool loops_inside_out(Block *block, LoopVisitor *visit, void *user);
/* The loop of a persistent function over its programs, which are not ordered among each other;
 * NULL: there is none. */
Op *loop_over_programs(const Func *func);
/* Trip count of a for loop with constant bounds; -1: not constant, or a step of zero. */
int64_t loop_trip_count(const Op *loop);
#endif
