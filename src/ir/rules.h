/* Result rules, named in ops.def, and what their files share. Private to src/ir. */
#ifndef TILEC_IR_RULES_H
#define TILEC_IR_RULES_H
#include "ir/ir.h"

#define RULE_OUT0(rule) rule_##rule
#define RULE_OUT1(rule) rule_##rule
#define RULE_OUTT(rule) rule_##rule
#define RULE_OUTV(rule) rule_##rule

#define OP(name, in, at, out, traits, summary) OpRule RULE_##out;
#define OP_E OP
#define OP_R(name, in, at, out, traits, regions, summary) OpRule RULE_##out;
#include "ir/ops.def"

/* Operands before the extents: of copy_block, and of those that store. */
enum { COPY_FIXED_OPERANDS = 4, STORE_FIXED_OPERANDS = 2 };

static inline const Type *rule_in(const Op *op, uint32_t index) {
    return op->in[index].value->type;
}

/* The type as text, for messages; "no type" for NULL. */
const char *rule_type_text(Ctx *ctx, const Type *type);
/* The operand's name in ops.def, `xs[2]` for variadic ones. */
const char *rule_operand_name(Ctx *ctx, const Op *op, uint32_t index);

/* Reports; all return false. */
bool rule_bad_operand(Ctx *ctx, const Op *op, uint32_t index, const char *wanted);
bool rule_bad_pair(Ctx *ctx, const Op *op, uint32_t a, uint32_t b, const char *wanted);
/* Is `part` elements of `whole` from number `at` on, at a multiple of its own shape? */
bool rule_is_part(const Type *part, const Type *whole, int64_t at);
bool rule_bad_result(Ctx *ctx, const Op *op, const Type *stated, const char *wanted);
bool rule_bad_attr(Ctx *ctx, const Op *op, AttrName name, const char *wanted);

/* Both report what fails. */
bool rule_want_equal(Ctx *ctx, const Op *op, uint32_t a, uint32_t b);
bool rule_want_same_shape(Ctx *ctx, const Op *op, uint32_t a, uint32_t b);
/* Operand `index` is an i1 of the shape and layout of operand `like`. */
bool rule_want_mask(Ctx *ctx, const Op *op, uint32_t index, uint32_t like);
/* Operand `index` is an mbarrier, or a view of one. */
bool rule_want_mbarrier(Ctx *ctx, const Op *op, uint32_t index);
/* PTX red and atom have the operation for this element type. */
bool rule_atomic_takes(AtomicOp kind, DType dtype);
/* The type of what a (tile of) pointer points at. */
const Type *rule_pointee(Ctx *ctx, const Type *pointer);
#endif
