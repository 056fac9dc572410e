/* Recipes of tensor maps as C. What an operation means is the text of its row in RECIPE_OPS, so
 * that the generated code computes what the library does. */
#include "runtime/ahead/emit.h"

#include <inttypes.h>

typedef struct Operand {
    uint32_t number; /* of the variable */
    DType type;
} Operand;

static int bits_of(DType type) {
    return dtype_info[type].bits;
}

/* "    if (!recipe_addi(32, v0, v1, &v2)) return false;" and so on; the last one is the result. */
static void emit_steps(StrBuf *out, const RecipeExpr *expr) {
    Operand stack[RECIPE_MAX_STEPS];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        const int bits = bits_of(step->type);
        Operand made = {i, step->type};
        switch (step->op) {
        case RECIPE_param:
            strbuf_printf(out, "    v%u = recipe_param(params[%" PRId64 "], %d);\n", i, step->value,
                          bits);
            break;
        case RECIPE_constant_int:
            strbuf_printf(out, "    v%u = UINT64_C(%" PRIu64 ") & recipe_mask(%d);\n", i,
                          (uint64_t)step->value, bits);
            break;
        case RECIPE_addptr:
            depth -= 2;
            strbuf_printf(out,
                          "    if (!recipe_addptr(%d, v%u, v%u, %" PRId64 ", &v%u))\n"
                          "        return false;\n",
                          bits_of(stack[depth + 1].type), stack[depth].number,
                          stack[depth + 1].number, step->value, i);
            break;
#define NONE(op)
#define BINARY(op, ...)                                                                            \
    case RECIPE_##op:                                                                              \
        depth -= 2;                                                                                \
        strbuf_printf(out,                                                                         \
                      "    if (!recipe_" #op "(%d, v%u, v%u, &v%u))\n        return false;\n",     \
                      bits, stack[depth].number, stack[depth + 1].number, i);                      \
        break;
#define RESIZE(op, ...)                                                                            \
    case RECIPE_##op:                                                                              \
        depth--;                                                                                   \
        strbuf_printf(out, "    v%u = recipe_" #op "(%d, v%u) & recipe_mask(%d);\n", i,            \
                      bits_of(stack[depth].type), stack[depth].number, bits);                      \
        break;
            RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
#undef RESIZE
#undef BINARY
#undef NONE
        case RECIPE_OP_COUNT:
            break;
        }
        stack[depth++] = made;
    }
}

static void emit_expr(StrBuf *out, const char *target, const RecipeExpr *expr) {
    emit_steps(out, expr);
    strbuf_printf(out, "    %s = v%u;\n", target, expr->count - 1);
}

static uint32_t most_steps(const TensorMapRecipe *recipe) {
    uint32_t most = recipe->base.count;
    for (int32_t i = 0; i < recipe->rank; i++) {
        most = recipe->extents[i].count > most ? recipe->extents[i].count : most;
        if (i && recipe->strides[i].count > most)
            most = recipe->strides[i].count;
    }
    return most;
}

void emit_c_recipe(StrBuf *out, const char *name, const TensorMapRecipe *recipe) {
    strbuf_printf(
        out,
        "static bool %s(const void *const *params, uint64_t *address, uint64_t *extents,\n"
        "    uint64_t *strides) {\n    uint64_t ",
        name);
    for (uint32_t i = 0; i < most_steps(recipe); i++)
        strbuf_printf(out, "%sv%u", i ? ", " : "", i);
    strbuf_puts(out, ";\n    (void)strides;\n");
    emit_expr(out, "*address", &recipe->base);
    for (int32_t i = 0; i < recipe->rank; i++) {
        emit_expr(out, str_format(out->arena, "extents[%d]", i), &recipe->extents[i]);
        if (i)
            emit_expr(out, str_format(out->arena, "strides[%d]", i), &recipe->strides[i]);
    }
    strbuf_puts(out, "    return true;\n}\n\n");
}

static void note_ops(const RecipeExpr *expr, uint64_t *used) {
    for (uint32_t i = 0; i < expr->count; i++)
        *used |= UINT64_C(1) << expr->steps[i].op;
}

static uint64_t ops_used(const Variant *variants, uint32_t count) {
    uint64_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        vec_for_each (recipe, &variants[i].facts.meta.tensor_maps) {
            note_ops(&recipe->base, &used);
            for (int32_t d = 0; d < recipe->rank; d++) {
                note_ops(&recipe->extents[d], &used);
                if (d)
                    note_ops(&recipe->strides[d], &used);
            }
        }
    return used;
}

static void emit_binary(StrBuf *out, const char *op, const char *valid, const char *meaning) {
    strbuf_printf(
        out,
        "static bool recipe_%s(unsigned bits, uint64_t a, uint64_t b, uint64_t *result) {\n"
        "    const int64_t sa = recipe_extend(bits, a), sb = recipe_extend(bits, b),\n"
        "                  lowest = recipe_extend(bits, UINT64_C(1) << (bits - 1));\n"
        "    (void)sa, (void)sb, (void)lowest;\n"
        "    if (!(%s))\n        return false;\n"
        "    *result = (uint64_t)(%s) & recipe_mask(bits);\n    return true;\n}\n\n",
        op, valid, meaning);
}

static void emit_resize(StrBuf *out, const char *op, const char *meaning) {
    strbuf_printf(out,
                  "static uint64_t recipe_%s(unsigned bits, uint64_t a) {\n"
                  "    const int64_t sa = recipe_extend(bits, a);\n    (void)sa;\n"
                  "    return (uint64_t)(%s);\n}\n\n",
                  op, meaning);
}

void emit_c_ops(StrBuf *out, const Variant *variants, uint32_t count) {
    const uint64_t used = ops_used(variants, count);
#define NONE(op)
#define BINARY(op, valid, meaning)                                                                 \
    if (used >> RECIPE_##op & 1)                                                                   \
        emit_binary(out, #op, #valid, #meaning);
#define RESIZE(op, meaning)                                                                        \
    if (used >> RECIPE_##op & 1)                                                                   \
        emit_resize(out, #op, #meaning);
    RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
#undef RESIZE
#undef BINARY
#undef NONE
}
