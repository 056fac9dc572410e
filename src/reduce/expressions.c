/* See edits.h: an expression becomes one of its operands or a constant, calls and tuples lose what
 * is between their commas, numbers become smaller, parentheses go. */
#include "reduce/edits.h"
#include "reduce/walk.h"

/* ---- lists ---- */

static void add_item(Finder *finder, Place *place, Span span) {
    syntax_outer(finder->syntax, span, &span);
    vec_push(finder->arena, &place->items, span);
}

static void add_list(Finder *finder, const ExprList *list, const char *empty) {
    if (!list->count || (list->count == 1 && !empty))
        return;
    Place *place = edits_add_place(finder);
    place->empty = empty;
    for (uint32_t i = 0; i < list->count; i++)
        add_item(finder, place, list->items[i]->span);
    place->end = edits_list_end(finder->syntax, place->items.data[list->count - 1].hi);
}

static void add_call_list(Finder *finder, const Expr *call) {
    const uint32_t count = call->u.call.args.count + call->u.call.keyword_count;
    if (!count)
        return;
    Place *place = edits_add_place(finder);
    place->empty = "";
    for (uint32_t i = 0; i < call->u.call.args.count; i++)
        add_item(finder, place, call->u.call.args.items[i]->span);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        vec_push(finder->arena, &place->items, call->u.call.keywords[i].span);
    place->end = edits_list_end(finder->syntax, place->items.data[count - 1].hi);
}

static void find_list(void *user, const Expr *expr, AstRole role) {
    Finder *finder = user;
    switch (expr->kind) {
    case EXPR_call:
        add_call_list(finder, expr);
        break;
    case EXPR_tuple:
        add_list(finder, &expr->u.list, NULL);
        break;
    case EXPR_list:
    case EXPR_set:
        add_list(finder, &expr->u.list, "");
        break;
    case EXPR_boolop:
        add_list(finder, &expr->u.boolop.operands, NULL);
        break;
    default:
        break;
    }
}

static void find_imports(void *user, const Stmt *stmt) {
    Finder *finder = user;
    if (stmt->kind != STMT_import || stmt->u.import.name_count < 2)
        return;
    Place *place = edits_add_place(finder);
    for (uint32_t i = 0; i < stmt->u.import.name_count; i++)
        vec_push(finder->arena, &place->items, stmt->u.import.names[i].span);
}

/* ---- values ---- */

typedef struct Choice {
    Finder *finder;
    Place *place;
    Span inner, outer; /* of what is replaced, without and with its parentheses */
} Choice;

static void instead(const Choice *choice, const Expr *operand) {
    Span span;
    if (operand && syntax_outer(choice->finder->syntax, operand->span, &span))
        edits_add_choice(choice->finder, choice->place, choice->inner,
                         syntax_text(choice->finder->syntax, span));
}

static void constant(const Choice *choice, const char *text) {
    edits_add_choice(choice->finder, choice->place, choice->outer, str_from(text));
}

static void instead_each(const Choice *choice, const ExprList *list) {
    for (uint32_t i = 0; i < list->count; i++)
        instead(choice, list->items[i]);
}

/* x of x.sum(), but not tl of tl.sum(): what kernels take methods of are values. */
static const Expr *receiver(const Expr *call) {
    const Expr *callee = call->u.call.callee;
    if (callee->kind != EXPR_attribute)
        return NULL;
    const Expr *base = callee->u.attribute.base;
    const Expr *root = base;
    while (root->kind == EXPR_attribute)
        root = root->u.attribute.base;
    static const char *const modules[] = {"tl", "triton", "torch", "np", "numpy", "math"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (root->kind == EXPR_name && str_is(root->u.name, modules[i]))
            return NULL;
    return base;
}

/* Powers of two stay such; others become one first, and then what is half as large. */
static void smaller_int(const Choice *choice, const Expr *expr) {
    const uint64_t value = expr->u.integer.hi ? UINT64_MAX : expr->u.integer.lo;
    uint64_t power = 1;
    Arena *arena = choice->finder->arena;
    while (power <= value / 2)
        power *= 2;
    if (value == power)
        power /= 2;
    if (value > 0)
        constant(choice, "0");
    if (value > 1)
        constant(choice, "1");
    if (power > 1)
        constant(choice, str_format(arena, "%" PRIu64, power));
    if (value / 2 > 1 && value / 2 != power)
        constant(choice, str_format(arena, "%" PRIu64, value / 2));
    if (!expr->u.integer.hi)
        constant(choice, str_format(arena, "%" PRIu64, value)); /* 0x10 in decimal */
}

/* Whether constants are tried too. */
static bool add_operands(const Choice *choice, const Expr *expr) {
    switch (expr->kind) {
    case EXPR_unary:
        instead(choice, expr->u.unary.operand);
        break;
    case EXPR_binary:
        instead(choice, expr->u.binary.left);
        instead(choice, expr->u.binary.right);
        break;
    case EXPR_boolop:
        instead_each(choice, &expr->u.boolop.operands);
        break;
    case EXPR_compare:
        instead_each(choice, &expr->u.compare.operands);
        break;
    case EXPR_ternary:
        instead(choice, expr->u.ternary.then_value);
        instead(choice, expr->u.ternary.else_value);
        instead(choice, expr->u.ternary.condition);
        break;
    case EXPR_call:
        for (uint32_t i = 0; i < expr->u.call.args.count && i < 3; i++)
            instead(choice, expr->u.call.args.items[i]);
        instead(choice, receiver(expr));
        break;
    case EXPR_subscript:
        instead(choice, expr->u.subscript.base);
        break;
    case EXPR_starred:
    case EXPR_walrus:
        instead(choice, expr->u.bind.value);
        return false;
    case EXPR_int:
        smaller_int(choice, expr);
        return false;
    case EXPR_float:
        constant(choice, "0.0");
        constant(choice, "1.0");
        break;
    case EXPR_lambda:
        instead(choice, expr->u.lambda.body);
        return false;
    case EXPR_name:
    case EXPR_attribute:
    case EXPR_comprehension:
    case EXPR_dict:
    case EXPR_set:
        break;
    case EXPR_tuple: /* their items go */
    case EXPR_list:
    case EXPR_slice:
    case EXPR_bool:
    case EXPR_none:
    case EXPR_ellipsis:
    case EXPR_string:
    case EXPR_fstring:
    case EXPR_formatted:
    case EXPR_unsupported:
    case EXPR_COUNT:
        return false;
    }
    return true;
}

static void find_value(void *user, const Expr *expr, AstRole role) {
    Finder *finder = user;
    Choice choice = {.finder = finder};
    if (role == AST_TARGET || role == AST_CALLEE || role == AST_ANNOTATION ||
        !syntax_balanced(finder->syntax, expr->span, &choice.inner) ||
        !syntax_outer(finder->syntax, expr->span, &choice.outer))
        return;
    choice.place = edits_add_place(finder);
    if (role == AST_DECORATOR && expr->kind == EXPR_call && !expr->u.call.args.count &&
        !expr->u.call.keyword_count)
        instead(&choice, expr->u.call.callee);
    const bool constants = add_operands(&choice, expr);
    if (constants && role != AST_DECORATOR) {
        constant(&choice, "0");
        constant(&choice, "1");
        constant(&choice, "0.0");
    }
    if (!choice.place->choices.len)
        finder->places->len--;
}

/* ---- parentheses ---- */

static void find_parens(void *user, const Expr *expr, AstRole role) {
    Finder *finder = user;
    Span inner, outer;
    if (syntax_balanced(finder->syntax, expr->span, &inner) &&
        syntax_outer(finder->syntax, expr->span, &outer) && outer.lo < inner.lo)
        edits_add_choice(finder, edits_add_place(finder), outer,
                         syntax_text(finder->syntax, inner));
}

/* Commas in front of what closes a bracket. */
static void find_last_commas(Finder *finder) {
    const Syntax *syntax = finder->syntax;
    for (size_t i = 0; i + 1 < syntax->tokens.len; i++) {
        const Token *token = &syntax->tokens.data[i];
        const uint8_t next = token[1].kind;
        if (token->kind == OP_comma &&
            (next == OP_rparen || next == OP_rbracket || next == OP_rbrace))
            edits_add_choice(finder, edits_add_place(finder), (Span){0, token->lo, token->hi},
                             STR(""));
    }
}

/* `x` of `return x` and the like: what a statement does without. */
static void find_parts(void *user, const Stmt *stmt) {
    Finder *finder = user;
    const Syntax *syntax = finder->syntax;
    Span span, other;
    if (stmt->kind == STMT_assign && syntax_outer(syntax, stmt->u.assign.value->span, &span))
        edits_add_choice(finder, edits_add_place(finder), (Span){0, stmt->span.lo, span.lo},
                         STR(""));
    if (stmt->kind == STMT_return && stmt->u.expr &&
        syntax_outer(syntax, stmt->u.expr->span, &span))
        edits_add_choice(finder, edits_add_place(finder),
                         (Span){0, syntax_end_before(syntax, span.lo), span.hi}, STR(""));
    if (stmt->kind == STMT_annassign && stmt->u.annassign.value &&
        syntax_outer(syntax, stmt->u.annassign.annotation->span, &span) &&
        syntax_outer(syntax, stmt->u.annassign.target->span, &other))
        edits_add_choice(finder, edits_add_place(finder), (Span){0, other.hi, span.hi}, STR(""));
    if (stmt->kind == STMT_assert && stmt->u.assertion.message &&
        syntax_outer(syntax, stmt->u.assertion.condition->span, &other) &&
        syntax_outer(syntax, stmt->u.assertion.message->span, &span))
        edits_add_choice(finder, edits_add_place(finder), (Span){0, other.hi, span.hi}, STR(""));
}

void edits_expressions(Finder *finder) {
    const Syntax *syntax = finder->syntax;
    AstPart *find = finder->kind == EDITS_ARGUMENTS ? find_list
                    : finder->kind == EDITS_VALUES  ? find_value
                                                    : find_parens;
    if (finder->kind == EDITS_ARGUMENTS)
        walk_statements(syntax->module, syntax->module_count, find_imports, finder);
    if (finder->kind == EDITS_VALUES)
        walk_statements(syntax->module, syntax->module_count, find_parts, finder);
    walk_module(syntax->module, syntax->module_count, find, finder);
    if (finder->kind == EDITS_PARENS)
        find_last_commas(finder);
}
