/* What of a function is known when it is launched, as expressions of its parameters. */
#ifndef TILEC_IR_RECIPE_H
#define TILEC_IR_RECIPE_H
#include "ir/ir.h"
#include "target/tensor_map.h"

/* The value, a scalar integer or pointer, as an expression in the arena. False: it depends on more
 * than parameters and constants, or by ops that are not in the table, or is too long. */
bool recipe_expr_build(Arena *arena, const Value *value, RecipeExpr *expr);
/* True when recipe_expr_build succeeds. */
bool launch_invariant(const Value *value);
#endif
