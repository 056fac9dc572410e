/* Recipes of tensor maps: what a launcher needs to make the maps of a kernel's tensor copies.
 *
 * A map describes a tensor in global memory and the box that one copy takes of it. Its box, element
 * and swizzle are fixed when the kernel is compiled; its address, extents and strides are what the
 * kernel's arguments make them, and stand here as expressions of the parameters, in postfix:
 *
 *     f16 swizzle 128 box 64 128 base param=0:i64 extent param=5:i32 extsi:i64
 *         extent param=3:i32 extsi:i64 stride param=6:i32 extsi:i64
 *
 * Dimension 0 is the one whose elements are adjacent, as for cuTensorMapEncodeTiled; of load_block
 * it is mostly the last. Extents and strides are in elements, as the operands of load_block are;
 * recipe_resolve makes bytes of strides. Dimension 0 has no stride: it is one element.
 *
 * Expressions compute what the ops of their names compute, wrapping in the width of their type. An
 * expression of more than RECIPE_MAX_STEPS steps does not become a recipe. */
#ifndef TILEC_TARGET_TENSOR_MAP_H
#define TILEC_TARGET_TENSOR_MAP_H
#include "support/vec.h"
#include "types/type.h"

// clang-format off
/* What an expression may consist of, besides param:
 *
 *   LEAF(op)                    pushes `value`
 *   BINARY(op, valid, meaning)  two operands of one type; a, b are zero-extended, sa, sb sign-extended,
 *                               `lowest` is the smallest signed value; the result is cut to the width.
 *                               Without `valid` the op has no result
 *   RESIZE(op, meaning)         one operand, to another type
 *   POINTER(op)                 an address plus an index times `value` bytes, which may not overflow
 */
#define RECIPE_OPS(LEAF, BINARY, RESIZE, POINTER)                                                  \
    LEAF(constant_int)                                                                             \
    BINARY(addi,  true, a + b)                                                                     \
    BINARY(subi,  true, a - b)                                                                     \
    BINARY(muli,  true, a * b)                                                                     \
    BINARY(divsi, b != 0 && !(sb == -1 && sa == lowest), sa / sb)                                  \
    BINARY(divui, b != 0, a / b)                                                                   \
    BINARY(remsi, b != 0, sb == -1 ? 0 : sa % sb)                                                  \
    BINARY(remui, b != 0, a % b)                                                                   \
    BINARY(andi,  true, a & b)                                                                     \
    BINARY(ori,   true, a | b)                                                                     \
    BINARY(xori,  true, a ^ b)                                                                     \
    BINARY(shli,  b < bits, a << b)                                                                \
    BINARY(shrsi, b < bits, sa >> b)                                                               \
    BINARY(shrui, b < bits, a >> b)                                                                \
    BINARY(minsi, true, sa < sb ? sa : sb)                                                         \
    BINARY(maxsi, true, sa > sb ? sa : sb)                                                         \
    BINARY(minui, true, a < b ? a : b)                                                             \
    BINARY(maxui, true, a > b ? a : b)                                                             \
    RESIZE(extsi, sa)                                                                              \
    RESIZE(extui, a)                                                                               \
    RESIZE(trunci, a)                                                                              \
    POINTER(addptr)
// clang-format on

typedef enum RecipeOp {
    RECIPE_param, /* `value` is its number among those passed at launch; pointers are i64 */
#define ROW(op, ...) RECIPE_##op,
    RECIPE_OPS(ROW, ROW, ROW, ROW)
#undef ROW
        RECIPE_OP_COUNT
} RecipeOp;

enum {
    RECIPE_MAX_STEPS = 64,
    RECIPE_MAX_RANK = 5,
    RECIPE_MAX_BOX = 256,
    RECIPE_MAX_MAPS = 16, /* of a kernel: half of the 4 KiB that parameters may take everywhere */
};

/* Elements of a dimension: coordinates are numbers of 32 bits with a sign. */
#define RECIPE_MAX_EXTENT (UINT64_C(1) << 31)

typedef struct RecipeStep {
    RecipeOp op;
    DType type;    /* of the result: an integer; addresses are i64 */
    int64_t value; /* constant, sign-extended; number of a parameter; bytes of an element; else 0 */
} RecipeStep;

typedef struct RecipeExpr {
    const RecipeStep *steps;
    uint32_t count;
} RecipeExpr;

typedef struct TensorMapRecipe {
    DType dtype;
    int32_t rank;
    int32_t swizzle; /* span in bytes: 0, 32, 64 or 128 */
    int32_t box[RECIPE_MAX_RANK];
    RecipeExpr base;
    RecipeExpr extents[RECIPE_MAX_RANK];
    RecipeExpr strides[RECIPE_MAX_RANK]; /* from 1 on */
} TensorMapRecipe;

typedef VEC(TensorMapRecipe) TensorMapRecipes;

/* Making */

/* Copies the steps into the arena; ir/recipe.h makes them from values. */
RecipeExpr recipe_expr_keep(Arena *arena, const RecipeStep *steps, uint32_t count);
RecipeExpr recipe_expr_constant(Arena *arena, int64_t value);
bool recipe_equal(const TensorMapRecipe *a, const TensorMapRecipe *b);
/* A copy that shares nothing with the original. */
TensorMapRecipe recipe_copy(Arena *arena, const TensorMapRecipe *recipe);
TensorMapRecipes recipes_copy(Arena *arena, const TensorMapRecipes *recipes);
/* True when tensor maps have elements of this type: all but i1. */
bool recipe_dtype(DType dtype);
/* Rank, box, swizzle and element are what the hardware takes, and the expressions are whole: each
 * leaves one i64. Recipes that were made elsewhere are checked by it. */
bool recipe_valid(const TensorMapRecipe *recipe);
/* Every parameter that is read is one of these, and as wide. */
bool recipe_fits(const TensorMapRecipe *recipe, const DType *params, uint32_t count);

/* Text, on one line; the head of this file has an example. */
void recipe_print(const TensorMapRecipe *recipe, StrBuf *out);
/* For people: "a_ptr + 2 * (row * k)". Sign extension is not shown; names[i] is parameter i. */
void recipe_expr_print(const RecipeExpr *expr, const Str *names, StrBuf *out);
/* False when the text is not that of a valid recipe. */
bool recipe_parse(Arena *arena, Str text, TensorMapRecipe *recipe);

/* At launch */

/* What an encoder is given. */
typedef struct TensorMapShape {
    uint64_t address;
    uint64_t extents[RECIPE_MAX_RANK]; /* elements; 1 beyond the rank */
    uint64_t strides[RECIPE_MAX_RANK]; /* bytes; of dimension 0 an element's; 0 beyond the rank */
} TensorMapShape;

typedef enum RecipeFault {
    RECIPE_FINE,
    RECIPE_UNDEFINED, /* an op had no result */
    RECIPE_OVERFLOW,  /* an address or a stride in bytes does not fit in 64 bits */
    RECIPE_REFUSED,   /* the value is outside what a tensor map can hold */
} RecipeFault;

typedef enum RecipePart { RECIPE_BASE, RECIPE_EXTENT, RECIPE_STRIDE } RecipePart;

/* Why there is no map, and by which of the expressions. */
typedef struct RecipeProblem {
    RecipeFault fault;
    RecipePart part;
    int32_t dimension;
    int64_t value; /* with RECIPE_REFUSED: address, elements or bytes */
} RecipeProblem;

/* Numbers of cuTensorMapEncodeTiled: of the element type (8-bit floats are bytes), and the swizzle.
 */
int recipe_element(DType dtype);
int recipe_swizzle(const TensorMapRecipe *recipe);
/* A parameter that a recipe reads: a map follows from their values alone. */
typedef struct RecipeParam {
    uint32_t number, bytes;
} RecipeParam;

typedef VEC(RecipeParam) RecipeParams;

/* Each once, in the order in which they are first read. */
RecipeParams recipe_params(Arena *arena, const TensorMapRecipe *recipe);
/* params[i] points at argument i, in its own size, as for cuLaunchKernel. */
RecipeFault recipe_expr_value(const RecipeExpr *expr, const void *const *params, uint64_t *value);
/* Evaluates a valid recipe and checks what the hardware wants: an address and strides that are
 * multiples of 16 bytes, strides from 16 to 2^40 - 16 bytes, extents from 1 to 2^31. Allocates
 * nothing. False: see `problem`. */
bool recipe_resolve(const TensorMapRecipe *recipe, const void *const *params, TensorMapShape *shape,
                    RecipeProblem *problem);
const RecipeExpr *recipe_part(const TensorMapRecipe *recipe, const RecipeProblem *problem);
/* "the stride of dimension 1 is 1026 bytes: wanted a multiple of 16 from 16 to 2^40 - 16" */
const char *recipe_problem_text(Arena *arena, const RecipeProblem *problem);
/* The same with the parameters that led to it: ".. (stride_am = 513)". */
const char *recipe_explain(Arena *arena, const TensorMapRecipe *recipe,
                           const RecipeProblem *problem, const Str *names,
                           const void *const *params);
#endif
