/* Recipes of tensor maps: comparing, checking and evaluating them.
 *
 * Values on the evaluator's stack are zero-extended from the width of their type. */
#include "target/tensor_map.h"

#include <inttypes.h>

static uint64_t mask_of(DType type) {
    return dtype_info[type].bits == 64 ? UINT64_MAX : (UINT64_C(1) << dtype_info[type].bits) - 1;
}

/* Making */

RecipeExpr recipe_expr_keep(Arena *arena, const RecipeStep *steps, uint32_t count) {
    RecipeStep *kept = ARENA_ARRAY(arena, RecipeStep, count + 1);
    if (count)
        memcpy(kept, steps, count * sizeof *kept);
    return (RecipeExpr){kept, count};
}

RecipeExpr recipe_expr_constant(Arena *arena, int64_t value) {
    const RecipeStep step = {RECIPE_constant_int, DT_I64, value};
    return recipe_expr_keep(arena, &step, 1);
}

static bool expr_equal(const RecipeExpr *a, const RecipeExpr *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const RecipeStep *x = &a->steps[i], *y = &b->steps[i];
        if (x->op != y->op || x->type != y->type || x->value != y->value)
            return false;
    }
    return true;
}

bool recipe_equal(const TensorMapRecipe *a, const TensorMapRecipe *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->swizzle != b->swizzle ||
        !expr_equal(&a->base, &b->base))
        return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->box[i] != b->box[i] || !expr_equal(&a->extents[i], &b->extents[i]) ||
            (i && !expr_equal(&a->strides[i], &b->strides[i])))
            return false;
    return true;
}

TensorMapRecipe recipe_copy(Arena *arena, const TensorMapRecipe *recipe) {
    TensorMapRecipe copy = *recipe;
    copy.base = recipe_expr_keep(arena, recipe->base.steps, recipe->base.count);
    for (int32_t i = 0; i < recipe->rank; i++) {
        copy.extents[i] =
            recipe_expr_keep(arena, recipe->extents[i].steps, recipe->extents[i].count);
        if (i)
            copy.strides[i] =
                recipe_expr_keep(arena, recipe->strides[i].steps, recipe->strides[i].count);
    }
    return copy;
}

TensorMapRecipes recipes_copy(Arena *arena, const TensorMapRecipes *recipes) {
    TensorMapRecipes copy = {0};
    vec_for_each (recipe, recipes)
        vec_push(arena, &copy, recipe_copy(arena, recipe));
    return copy;
}

/* Validity */

/* Plus one, so that what is not listed has none. */
static const int8_t element_numbers[DT_COUNT] = {
    [DT_I8] = 1,     [DT_I16] = 2, [DT_I32] = 3, [DT_I64] = 5, [DT_F8E4M3] = 1,
    [DT_F8E5M2] = 1, [DT_F16] = 7, [DT_F32] = 8, [DT_F64] = 9, [DT_BF16] = 10,
};

bool recipe_dtype(DType dtype) {
    return element_numbers[dtype] != 0;
}

int recipe_element(DType dtype) {
    return element_numbers[dtype] - 1;
}

int recipe_swizzle(const TensorMapRecipe *recipe) {
    return recipe->swizzle == 0 ? 0 : recipe->swizzle == 32 ? 1 : recipe->swizzle == 64 ? 2 : 3;
}

typedef struct TypeStack {
    DType types[RECIPE_MAX_STEPS];
    uint32_t depth;
} TypeStack;

static bool check_binary(TypeStack *stack, DType type) {
    if (stack->depth < 2)
        return false;
    stack->depth--;
    return stack->types[stack->depth] == type && stack->types[stack->depth - 1] == type;
}

static bool check_resize(const TypeStack *stack, const RecipeStep *step) {
    if (!stack->depth)
        return false;
    int from = dtype_info[stack->types[stack->depth - 1]].bits, to = dtype_info[step->type].bits;
    return step->op == RECIPE_trunci ? to < from : to > from;
}

static bool check_pointer(TypeStack *stack, const RecipeStep *step) {
    if (stack->depth < 2 || step->type != DT_I64 || step->value < 1 || step->value > 8)
        return false;
    DType index = stack->types[--stack->depth];
    return (index == DT_I64 || index == DT_I32) && stack->types[stack->depth - 1] == DT_I64;
}

static bool check_step(TypeStack *stack, const RecipeStep *step) {
    if (step->type >= DT_COUNT || !dtype_is_int(step->type))
        return false;
    switch (step->op) {
    case RECIPE_param:
        stack->depth++;
        return step->value >= 0;
    case RECIPE_constant_int:
        stack->depth++;
        return dtype_sign_extend(step->type, (uint64_t)step->value) == step->value;
    case RECIPE_addptr:
        return check_pointer(stack, step);
#define NONE(op)
#define BINARY(op, ...)                                                                            \
    case RECIPE_##op:                                                                              \
        return check_binary(stack, step->type);
#define RESIZE(op, ...)                                                                            \
    case RECIPE_##op:                                                                              \
        return check_resize(stack, step);
        RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
#undef RESIZE
#undef BINARY
#undef NONE
    case RECIPE_OP_COUNT:
        break;
    }
    return false;
}

static bool expr_valid(const RecipeExpr *expr) {
    TypeStack stack = {.depth = 0};
    if (expr->count > RECIPE_MAX_STEPS)
        return false;
    for (uint32_t i = 0; i < expr->count; i++) {
        if (!check_step(&stack, &expr->steps[i]))
            return false;
        stack.types[stack.depth - 1] = expr->steps[i].type;
    }
    return stack.depth == 1 && stack.types[0] == DT_I64;
}

static bool box_valid(const TensorMapRecipe *recipe) {
    for (int32_t i = 0; i < recipe->rank; i++)
        if (recipe->box[i] < 1 || recipe->box[i] > RECIPE_MAX_BOX)
            return false;
    int32_t inner = recipe->box[0] * dtype_bytes(recipe->dtype), span = recipe->swizzle;
    bool known = span == 0 || span == 32 || span == 64 || span == 128;
    return known && inner % 16 == 0 && (!span || inner <= span);
}

bool recipe_valid(const TensorMapRecipe *recipe) {
    if (recipe->rank < 1 || recipe->rank > RECIPE_MAX_RANK || recipe->dtype >= DT_COUNT ||
        !recipe_dtype(recipe->dtype) || !box_valid(recipe) || !expr_valid(&recipe->base))
        return false;
    for (int32_t i = 0; i < recipe->rank; i++)
        if (!expr_valid(&recipe->extents[i]) || (i && !expr_valid(&recipe->strides[i])))
            return false;
    return true;
}

static bool expr_fits(const RecipeExpr *expr, const DType *params, uint32_t count) {
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        if (step->op == RECIPE_param &&
            ((uint64_t)step->value >= count || params[step->value] != step->type))
            return false;
    }
    return true;
}

bool recipe_fits(const TensorMapRecipe *recipe, const DType *params, uint32_t count) {
    bool fits = expr_fits(&recipe->base, params, count);
    for (int32_t i = 0; i < recipe->rank; i++)
        fits = fits && expr_fits(&recipe->extents[i], params, count) &&
               (i == 0 || expr_fits(&recipe->strides[i], params, count));
    return fits;
}

/* At launch */

static void add_params(Arena *arena, RecipeParams *params, const RecipeExpr *expr) {
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        size_t known = 0;
        if (step->op != RECIPE_param)
            continue;
        while (known < params->len && params->data[known].number != step->value)
            known++;
        if (known == params->len)
            vec_push(arena, params,
                     ((RecipeParam){(uint32_t)step->value, (uint32_t)dtype_bytes(step->type)}));
    }
}

RecipeParams recipe_params(Arena *arena, const TensorMapRecipe *recipe) {
    RecipeParams params = {0};
    add_params(arena, &params, &recipe->base);
    for (int32_t i = 0; i < recipe->rank; i++) {
        add_params(arena, &params, &recipe->extents[i]);
        if (i)
            add_params(arena, &params, &recipe->strides[i]);
    }
    return params;
}

typedef struct Cell {
    uint64_t value;
    DType type;
} Cell;

static uint64_t load_param(const void *param, DType type) {
    uint64_t value = 0; /* little-endian, as every host of a CUDA driver is */
    memcpy(&value, param, (size_t)dtype_bytes(type));
    return value & mask_of(type);
}

static RecipeFault add_bytes(Cell *pointer, const Cell *index, int64_t element) {
    int64_t bytes;
    if (__builtin_mul_overflow(dtype_sign_extend(index->type, index->value), element, &bytes))
        return RECIPE_OVERFLOW;
    uint64_t sum = pointer->value + (uint64_t)bytes;
    if (bytes < 0 ? sum > pointer->value : sum < pointer->value)
        return RECIPE_OVERFLOW;
    pointer->value = sum;
    return RECIPE_FINE;
}

static RecipeFault binary(const RecipeStep *step, Cell *left, const Cell *right) {
    const uint64_t a = left->value, b = right->value, bits = dtype_info[step->type].bits;
    const int64_t sa = dtype_sign_extend(step->type, a), sb = dtype_sign_extend(step->type, b),
                  lowest = dtype_sign_extend(step->type, UINT64_C(1) << (bits - 1));
    switch ((int)step->op) {
#define NONE(...)
#define BINARY(op, valid, meaning)                                                                 \
    case RECIPE_##op:                                                                              \
        if (!(valid))                                                                              \
            return RECIPE_UNDEFINED;                                                               \
        left->value = (uint64_t)(meaning);                                                         \
        break;
        RECIPE_OPS(NONE, BINARY, NONE, NONE)
#undef BINARY
#undef NONE
    default:
        return RECIPE_UNDEFINED;
    }
    left->value &= mask_of(step->type);
    return RECIPE_FINE;
}

static void resize(const RecipeStep *step, Cell *cell) {
    const uint64_t a = cell->value;
    const int64_t sa = dtype_sign_extend(cell->type, a);
    switch ((int)step->op) {
#define NONE(...)
#define RESIZE(op, meaning)                                                                        \
    case RECIPE_##op:                                                                              \
        *cell = (Cell){(uint64_t)(meaning)&mask_of(step->type), step->type};                       \
        break;
        RECIPE_OPS(NONE, NONE, RESIZE, NONE)
#undef RESIZE
#undef NONE
    default:
        break;
    }
}

RecipeFault recipe_expr_value(const RecipeExpr *expr, const void *const *params, uint64_t *value) {
    Cell stack[RECIPE_MAX_STEPS];
    Cell *top = stack; /* one past the last */
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        RecipeFault fault = RECIPE_FINE;
        switch (step->op) {
        case RECIPE_param:
            *top++ = (Cell){load_param(params[step->value], step->type), step->type};
            break;
        case RECIPE_constant_int:
            *top++ = (Cell){(uint64_t)step->value & mask_of(step->type), step->type};
            break;
        case RECIPE_addptr:
            top--;
            fault = add_bytes(&top[-1], top, step->value);
            break;
#define NONE(op)
#define BINARY(op, ...) case RECIPE_##op:
#define RESIZE(op, ...)
            RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
            top--;
            fault = binary(step, &top[-1], top);
            break;
#undef BINARY
#undef RESIZE
#define BINARY(op, ...)
#define RESIZE(op, ...) case RECIPE_##op:
            RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
            resize(step, &top[-1]);
            break;
#undef RESIZE
#undef BINARY
#undef NONE
        case RECIPE_OP_COUNT:
            return RECIPE_UNDEFINED;
        }
        if (fault != RECIPE_FINE)
            return fault;
    }
    *value = stack[0].value;
    return RECIPE_FINE;
}

static bool fail(RecipeProblem *problem, RecipeFault fault, RecipePart part, int32_t dimension,
                 uint64_t value) {
    *problem = (RecipeProblem){fault, part, dimension, (int64_t)value};
    return false;
}

static bool resolve_base(const TensorMapRecipe *recipe, const void *const *params,
                         TensorMapShape *shape, RecipeProblem *problem) {
    RecipeFault fault = recipe_expr_value(&recipe->base, params, &shape->address);
    if (fault == RECIPE_FINE && shape->address % 16)
        fault = RECIPE_REFUSED;
    return fault == RECIPE_FINE || fail(problem, fault, RECIPE_BASE, 0, shape->address);
}

static bool resolve_extent(const TensorMapRecipe *recipe, int32_t d, const void *const *params,
                           TensorMapShape *shape, RecipeProblem *problem) {
    uint64_t *extent = &shape->extents[d];
    RecipeFault fault = recipe_expr_value(&recipe->extents[d], params, extent);
    if (fault == RECIPE_FINE && (!*extent || *extent > RECIPE_MAX_EXTENT))
        fault = RECIPE_REFUSED;
    return fault == RECIPE_FINE || fail(problem, fault, RECIPE_EXTENT, d, *extent);
}

static bool resolve_stride(const TensorMapRecipe *recipe, int32_t d, const void *const *params,
                           TensorMapShape *shape, RecipeProblem *problem) {
    uint64_t elements = 0;
    int64_t bytes = 0;
    RecipeFault fault = recipe_expr_value(&recipe->strides[d], params, &elements);
    if (fault == RECIPE_FINE &&
        __builtin_mul_overflow((int64_t)elements, dtype_bytes(recipe->dtype), &bytes))
        fault = RECIPE_OVERFLOW;
    else if (fault == RECIPE_FINE && (bytes <= 0 || bytes % 16 || bytes >= INT64_C(1) << 40))
        fault = RECIPE_REFUSED;
    shape->strides[d] = (uint64_t)bytes;
    return fault == RECIPE_FINE || fail(problem, fault, RECIPE_STRIDE, d, (uint64_t)bytes);
}

bool recipe_resolve(const TensorMapRecipe *recipe, const void *const *params, TensorMapShape *shape,
                    RecipeProblem *problem) {
    *shape = (TensorMapShape){.strides = {(uint64_t)dtype_bytes(recipe->dtype)}};
    for (int32_t i = recipe->rank; i < RECIPE_MAX_RANK; i++)
        shape->extents[i] = 1;
    if (!resolve_base(recipe, params, shape, problem))
        return false;
    for (int32_t i = 0; i < recipe->rank; i++)
        if (!resolve_extent(recipe, i, params, shape, problem) ||
            (i && !resolve_stride(recipe, i, params, shape, problem)))
            return false;
    return true;
}

const RecipeExpr *recipe_part(const TensorMapRecipe *recipe, const RecipeProblem *problem) {
    switch (problem->part) {
    case RECIPE_BASE:
        break;
    case RECIPE_EXTENT:
        return &recipe->extents[problem->dimension];
    case RECIPE_STRIDE:
        return &recipe->strides[problem->dimension];
    }
    return &recipe->base;
}

static const char *refused_text(Arena *arena, const RecipeProblem *problem, const char *part) {
    switch (problem->part) {
    case RECIPE_BASE:
        break;
    case RECIPE_EXTENT:
        return str_format(arena, "%s is %" PRId64 ": wanted 1 to 2^31", part, problem->value);
    case RECIPE_STRIDE:
        return str_format(arena,
                          "%s is %" PRId64 " bytes: wanted a multiple of 16 from 16 to 2^40 - 16",
                          part, problem->value);
    }
    return str_format(arena, "%s is 0x%" PRIx64 ": wanted a multiple of 16", part,
                      (uint64_t)problem->value);
}

const char *recipe_problem_text(Arena *arena, const RecipeProblem *problem) {
    static const char *const parts[] = {"the address", "the extent", "the stride"};
    const char *part = parts[problem->part];
    if (problem->part != RECIPE_BASE)
        part = str_format(arena, "%s of dimension %d", part, problem->dimension);
    switch (problem->fault) {
    case RECIPE_FINE:
        return "";
    case RECIPE_UNDEFINED:
        return str_format(arena, "%s divides by zero, or shifts by more than its width", part);
    case RECIPE_OVERFLOW:
        return str_format(arena, "%s does not fit in 64 bits", part);
    case RECIPE_REFUSED:
        break;
    }
    return refused_text(arena, problem, part);
}

static bool read_before(const RecipeExpr *expr, uint32_t at) {
    for (uint32_t i = 0; i < at; i++)
        if (expr->steps[i].op == RECIPE_param && expr->steps[i].value == expr->steps[at].value)
            return true;
    return false;
}

const char *recipe_explain(Arena *arena, const TensorMapRecipe *recipe,
                           const RecipeProblem *problem, const Str *names,
                           const void *const *params) {
    const RecipeExpr *expr = recipe_part(recipe, problem);
    StrBuf out = strbuf(arena);
    strbuf_puts(&out, recipe_problem_text(arena, problem));
    const char *separator = " (";
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        if (step->op != RECIPE_param || read_before(expr, i))
            continue;
        uint64_t value = load_param(params[step->value], step->type);
        strbuf_printf(&out, "%s%.*s = ", separator, STR_ARG(names[step->value]));
        if (problem->part == RECIPE_BASE && step->type == DT_I64)
            strbuf_printf(&out, "0x%" PRIx64, value);
        else
            strbuf_printf(&out, "%" PRId64, dtype_sign_extend(step->type, value));
        separator = ", ";
    }
    if (*separator == ',')
        strbuf_putc(&out, ')');
    return out.ptr;
}
