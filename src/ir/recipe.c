/* Expressions of tensor maps, from SSA values. */
#include "ir/recipe.h"

typedef struct ExprBuilder {
    RecipeStep steps[RECIPE_MAX_STEPS];
    uint32_t count;
} ExprBuilder;

static bool add_step(ExprBuilder *b, RecipeOp op, DType type, int64_t value) {
    if (b->count == RECIPE_MAX_STEPS)
        return false;
    b->steps[b->count++] = (RecipeStep){op, type, value};
    return true;
}

static bool add_value(ExprBuilder *b, const Value *value, uint32_t depth);

static bool add_operands(ExprBuilder *b, const Op *op, uint32_t depth) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (!add_value(b, op_in(op, i), depth + 1))
            return false;
    return true;
}

/* Ops that change neither value nor width. */
static bool is_identity(const Op *op) {
    bool renames = op->code == OP_bitcast && !type_is_float(op_in(op, 0)->type);
    return renames || op_has(op, HINT) || op->code == OP_ptrtoint || op->code == OP_inttoptr;
}

static bool add_op(ExprBuilder *b, const Op *op, DType type, uint32_t depth) {
    if (is_identity(op))
        return add_value(b, op_in(op, 0), depth + 1);
    switch ((int)op->code) {
    case OP_constant_int:
        return add_step(b, RECIPE_constant_int, type,
                        dtype_sign_extend(type, (uint64_t)constant_int_attrs(op)->value));
    case OP_addptr:
        return add_operands(b, op, depth) &&
               add_step(b, RECIPE_addptr, type, dtype_bytes(op_out(op)->type->dtype));
#define NONE(op)
#define CASE(name, ...)                                                                            \
    case OP_##name:                                                                                \
        return add_operands(b, op, depth) && add_step(b, RECIPE_##name, type, 0);
        RECIPE_OPS(NONE, CASE, CASE, NONE)
#undef CASE
#undef NONE
    default:
        return false;
    }
}

/* `depth` bounds the recursion where ops in a row add no step. */
static bool add_value(ExprBuilder *b, const Value *value, uint32_t depth) {
    const Type *type = value->type;
    if (depth > RECIPE_MAX_STEPS || type->rank || !(type_is_pointer(type) || type_is_int(type)))
        return false;
    DType dtype = type_is_pointer(type) ? DT_I64 : type->dtype;
    if (value->def)
        return add_op(b, value->def, dtype, depth);
    return !value->owner->parent && add_step(b, RECIPE_param, dtype, value->index);
}

bool recipe_expr_build(Arena *arena, const Value *value, RecipeExpr *expr) {
    ExprBuilder b = {.count = 0};
    if (!add_value(&b, value, 0))
        return false;
    *expr = recipe_expr_keep(arena, b.steps, b.count);
    return true;
}

bool launch_invariant(const Value *value) {
    ExprBuilder b = {.count = 0};
    return add_value(&b, value, 0);
}
