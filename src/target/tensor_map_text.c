/* Text of recipes: words with one space between them; a step is name[=value][:type]. */
#include "target/tensor_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Which of the fields the text of a step has. */
typedef struct StepText {
    const char *name;
    bool value, type;
} StepText;

static const StepText step_text[RECIPE_OP_COUNT] = {[RECIPE_param] = {"param", true, true},
#define LEAF(op) [RECIPE_##op] = {#op, true, true},
#define BINARY(op, ...) [RECIPE_##op] = {#op, false, true},
#define POINTER(op) [RECIPE_##op] = {#op, true, false},
                                                    RECIPE_OPS(LEAF, BINARY, BINARY, POINTER)
#undef POINTER
#undef BINARY
#undef LEAF
};

static void print_expr(const char *what, const RecipeExpr *expr, StrBuf *out) {
    strbuf_printf(out, " %s", what);
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        const StepText *text = &step_text[step->op];
        strbuf_printf(out, " %s", text->name);
        if (text->value)
            strbuf_printf(out, "=%" PRId64, step->value);
        if (text->type)
            strbuf_printf(out, ":%s", dtype_info[step->type].text);
    }
}

void recipe_print(const TensorMapRecipe *recipe, StrBuf *out) {
    strbuf_printf(out, "%s swizzle %d box", dtype_info[recipe->dtype].text, recipe->swizzle);
    for (int32_t i = 0; i < recipe->rank; i++)
        strbuf_printf(out, " %d", recipe->box[i]);
    print_expr("base", &recipe->base, out);
    for (int32_t i = 0; i < recipe->rank; i++)
        print_expr("extent", &recipe->extents[i], out);
    for (int32_t i = 1; i < recipe->rank; i++)
        print_expr("stride", &recipe->strides[i], out);
}

/* For people */

/* A part of the expression; one that is not `whole` takes parentheses as an operand. */
typedef struct Part {
    const char *text;
    bool whole;
} Part;

static const char *symbol_of(RecipeOp op) {
    static const struct {
        RecipeOp op;
        const char *symbol;
    } symbols[] = {{RECIPE_addi, "+"},  {RECIPE_subi, "-"},  {RECIPE_muli, "*"},
                   {RECIPE_divsi, "/"}, {RECIPE_remsi, "%"}, {RECIPE_andi, "&"},
                   {RECIPE_ori, "|"},   {RECIPE_xori, "^"},  {RECIPE_shli, "<<"},
                   {RECIPE_shrsi, ">>"}};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (symbols[i].op == op)
            return symbols[i].symbol;
    return NULL;
}

static const char *operand_text(Arena *arena, const Part *part) {
    return part->whole ? part->text : str_format(arena, "(%s)", part->text);
}

static Part join_parts(Arena *arena, const RecipeStep *step, const Part *a, const Part *b) {
    const char *x = operand_text(arena, a), *y = operand_text(arena, b);
    if (step->op == RECIPE_addptr)
        return (Part){str_format(arena, "%s + %" PRId64 " * %s", x, step->value, y), false};
    const char *symbol = symbol_of(step->op);
    if (symbol)
        return (Part){str_format(arena, "%s %s %s", x, symbol, y), false};
    return (Part){str_format(arena, "%s(%s, %s)", step_text[step->op].name, a->text, b->text),
                  true};
}

void recipe_expr_print(const RecipeExpr *expr, const Str *names, StrBuf *out) {
    Part stack[RECIPE_MAX_STEPS] = {{"", true}};
    Part *top = stack;
    for (uint32_t i = 0; i < expr->count; i++) {
        const RecipeStep *step = &expr->steps[i];
        switch (step->op) {
        case RECIPE_param:
            *top++ = (Part){str_dup(out->arena, names[step->value]), true};
            break;
        case RECIPE_constant_int:
            *top++ = (Part){str_format(out->arena, "%" PRId64, step->value), step->value >= 0};
            break;
#define NONE(op)
#define RESIZE(op, ...) case RECIPE_##op:
#define BINARY(op, ...)
            RECIPE_OPS(NONE, BINARY, RESIZE, NONE)
            if (step->op != RECIPE_extsi)
                top[-1] = (Part){str_format(out->arena, "%s(%s, %s)", step_text[step->op].name,
                                            top[-1].text, dtype_info[step->type].text),
                                 true};
            break;
#undef BINARY
#undef RESIZE
#define RESIZE(op, ...)
#define POINTER(op, ...) case RECIPE_##op:
            RECIPE_OPS(NONE, POINTER, RESIZE, POINTER)
            top--;
            top[-1] = join_parts(out->arena, step, &top[-1], top);
            break;
#undef POINTER
#undef RESIZE
#undef NONE
        case RECIPE_OP_COUNT:
            break;
        }
    }
    strbuf_puts(out, stack[0].text);
}

/* Parsing */

typedef struct RecipeParser {
    Arena *arena;
    Str rest, word; /* word: the next one; empty at the end */
} RecipeParser;

static void next_word(RecipeParser *p) {
    const char *end = p->rest.len ? memchr(p->rest.ptr, ' ', p->rest.len) : NULL;
    size_t len = end ? (size_t)(end - p->rest.ptr) : p->rest.len, skip = end ? len + 1 : len;
    p->word = (Str){p->rest.ptr, len};
    p->rest = (Str){p->rest.ptr + skip, p->rest.len - skip};
}

static bool take_word(RecipeParser *p, const char *word) {
    if (!str_is(p->word, word))
        return false;
    next_word(p);
    return true;
}

static bool parse_int(Str text, int64_t *value) {
    char digits[24], *end;
    if (!text.len || text.len >= sizeof digits || memchr(" +", text.ptr[0], 2))
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !errno && end == digits + text.len;
}

static bool find_dtype(Str text, DType *type) {
    for (int i = 0; i < DT_COUNT; i++) {
        if (!str_is(text, dtype_info[i].text))
            continue;
        *type = (DType)i;
        return true;
    }
    return false;
}

/* The part of the text before `end`, or all of it; `rest` is what follows. */
static Str before(Str text, char end, Str *rest) {
    const char *at = text.len ? memchr(text.ptr, end, text.len) : NULL;
    size_t len = at ? (size_t)(at - text.ptr) : text.len;
    *rest = at ? (Str){at + 1, text.len - len - 1} : (Str){"", 0};
    return (Str){text.ptr, len};
}

static bool parse_step(Str word, RecipeStep *step) {
    Str type, value, name = before(before(word, ':', &type), '=', &value);
    for (int i = 0; i < RECIPE_OP_COUNT; i++) {
        if (!str_is(name, step_text[i].name))
            continue;
        *step = (RecipeStep){.op = (RecipeOp)i, .type = DT_I64};
        return (step_text[i].value ? parse_int(value, &step->value) : !value.len) &&
               (step_text[i].type ? find_dtype(type, &step->type) : !type.len);
    }
    return false;
}

static bool parse_expr(RecipeParser *p, const char *what, RecipeExpr *expr) {
    RecipeStep steps[RECIPE_MAX_STEPS];
    uint32_t count = 0;
    if (!take_word(p, what))
        return false;
    for (; p->word.len && !str_is(p->word, "extent") && !str_is(p->word, "stride"); next_word(p))
        if (count == RECIPE_MAX_STEPS || !parse_step(p->word, &steps[count++]))
            return false;
    RecipeStep *kept = ARENA_ARRAY(p->arena, RecipeStep, count + 1);
    if (count)
        memcpy(kept, steps, count * sizeof *kept);
    *expr = (RecipeExpr){kept, count};
    return true;
}

/* "f16 swizzle 128 box 64 128" */
static bool parse_box(RecipeParser *p, TensorMapRecipe *recipe) {
    int64_t number;
    if (!find_dtype(p->word, &recipe->dtype))
        return false;
    next_word(p);
    if (!take_word(p, "swizzle") || !parse_int(p->word, &number) || number < 0 || number > 128)
        return false;
    recipe->swizzle = (int32_t)number;
    next_word(p);
    if (!take_word(p, "box"))
        return false;
    for (; parse_int(p->word, &number); next_word(p)) {
        if (recipe->rank == RECIPE_MAX_RANK || number < 1 || number > RECIPE_MAX_BOX)
            return false;
        recipe->box[recipe->rank++] = (int32_t)number;
    }
    return true;
}

bool recipe_parse(Arena *arena, Str text, TensorMapRecipe *recipe) {
    RecipeParser p = {.arena = arena, .rest = text};
    *recipe = (TensorMapRecipe){0};
    if (text.len && text.ptr[text.len - 1] == ' ')
        return false;
    next_word(&p);
    if (!parse_box(&p, recipe) || !parse_expr(&p, "base", &recipe->base))
        return false;
    for (int32_t i = 0; i < recipe->rank; i++)
        if (!parse_expr(&p, "extent", &recipe->extents[i]))
            return false;
    for (int32_t i = 1; i < recipe->rank; i++)
        if (!parse_expr(&p, "stride", &recipe->strides[i]))
            return false;
    return !p.word.len && !p.rest.len && recipe_valid(recipe);
}
