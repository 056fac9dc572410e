/* Expressions, by recursive descent; binary operators by precedence climbing. The grammar is
 * Python 3.12's (the production stands above each function). Trees are bounded: nesting by
 * `parse_enter`, chains such as a + b + ... and a.b.c by the height that `parse_finish` computes.
 */
#include "frontend/ast_parts.h"
#include "frontend/parser.h"

Expr *parse_new_expr(Parser *p, ExprKind kind, uint32_t lo) {
    Expr *expr = ARENA_NEW(p->arena, Expr);
    expr->kind = kind;
    expr->span = (Span){p->lexer->file, lo, lo};
    return expr;
}

static void note_height(void *user, const Expr *part, AstRole role) {
    uint32_t *height = user;
    *height = part->height > *height ? part->height : *height;
}

/* Height of the tallest child. */
static uint32_t children_height(const Expr *expr) {
    uint32_t height = 0;
    ast_expr_parts(expr, AST_VALUE, note_height, &height);
    return height;
}

Expr *parse_finish(Parser *p, Expr *expr) {
    expr->span = parse_span_from(p, expr->span.lo);
    expr->height = children_height(expr) + 1;
    if (expr->height > AST_MAX_HEIGHT) {
        parse_error(p, expr->span, parse_too_deep, (int)AST_MAX_HEIGHT);
        parse_hint(p, "split the expression into several statements");
        parse_abandon(p);
    }
    return expr;
}

ExprList parse_list(const ExprVec *items) {
    return (ExprList){items->data, (uint32_t)items->len};
}

Expr *parse_starred(Parser *p) {
    parse_enter(p);
    Expr *expr = parse_new_expr(p, EXPR_starred, parse_take(p).lo);
    expr->u.bind.value = parse_binary(p, 1);
    parse_leave(p);
    return parse_finish(p, expr);
}

/* star_named_expression: '*' bitwise_or | named_expression */
Expr *parse_star_named(Parser *p) {
    return parse_at(p, OP_star) ? parse_starred(p) : parse_named(p);
}

static void check_new_keyword(Parser *p, const Keyword *keywords, size_t count, Str name,
                              Span span) {
    for (size_t i = 0; i < count; i++)
        if (name.len && str_eq(keywords[i].name, name)) {
            parse_error(p, span, parse_repeated_keyword, STR_ARG(name));
            parse_note(p, keywords[i].span, "given first here");
            parse_abandon(p);
        }
}

static void check_keyword_name(Parser *p, const Expr *name) {
    if (!parse_at(p, OP_assign))
        return;
    parse_error(p, name->span, parse_keyword_name);
    parse_hint(p, "write `==` to compare");
    parse_abandon(p);
}

/* The value of a star in a call is any expression, unlike elsewhere. */
static Expr *parse_argument(Parser *p) {
    if (!parse_at(p, OP_star))
        return parse_named(p);
    Expr *expr = parse_new_expr(p, EXPR_starred, parse_take(p).lo);
    expr->u.bind.value = parse_test(p);
    return parse_finish(p, expr);
}

/* args: (NAME '=' expression | '**' expression | '*' expression | named_expression [for_clause+])
 *       separated by ',' */
static void parse_arguments(Parser *p, Token open, Expr *call) {
    ExprVec args = {0};
    VEC(Keyword) keywords = {0};
    bool comma = true;
    while (!parse_at(p, OP_rparen)) {
        if (!comma)
            parse_fail_in_brackets(p, open, "`,` or `)`");
        Token token = parse_peek(p);
        if (token.kind == OP_starstar ||
            (token.kind == TOK_name && parse_peek_second(p).kind == OP_assign)) {
            Keyword keyword = {0};
            parse_take(p);
            if (token.kind == TOK_name) {
                keyword.name = parse_intern(p, token);
                check_new_keyword(p, keywords.data, keywords.len, keyword.name,
                                  lex_span(p->lexer, token));
                parse_take(p);
            }
            keyword.value = parse_test(p);
            keyword.span = parse_span_from(p, token.lo);
            vec_push(p->arena, &keywords, keyword);
        } else {
            Expr *arg = parse_argument(p);
            if (parse_at_comprehension(p) && arg->kind != EXPR_starred)
                arg = parse_finish(p,
                                   parse_comprehension(p, COMP_generator, arg->span.lo, arg, NULL));
            check_keyword_name(p, arg);
            if (keywords.len && arg->kind != EXPR_starred) {
                parse_error(p, arg->span, parse_positional_after_keyword);
                parse_hint(p, "give it a name, or move it before the named arguments");
                parse_abandon(p);
            }
            vec_push(p->arena, &args, arg);
        }
        comma = parse_accept(p, OP_comma);
    }
    call->u.call.args = parse_list(&args);
    call->u.call.keywords = keywords.data;
    call->u.call.keyword_count = (uint32_t)keywords.len;
}

/* slice: [expression] ':' [expression] [':' [expression]] | star_named_expression */
static Expr *parse_slice(Parser *p) {
    uint32_t lo = parse_peek(p).lo;
    Expr *start = parse_at(p, OP_colon) ? NULL : parse_star_named(p);
    if (!parse_at(p, OP_colon))
        return start;
    Expr *slice = parse_new_expr(p, EXPR_slice, lo);
    parse_take(p);
    slice->u.slice.start = start;
    if (parse_begins_expression(parse_peek(p).kind))
        slice->u.slice.stop = parse_test(p);
    if (parse_accept(p, OP_colon) && parse_begins_expression(parse_peek(p).kind))
        slice->u.slice.step = parse_test(p);
    return parse_finish(p, slice);
}

/* slices: slice !',' | slice (',' slice)* [','] */
static Expr *parse_slices(Parser *p, Token open) {
    if (parse_at(p, OP_rbracket)) {
        parse_error(p, lex_span(p->lexer, parse_peek(p)), parse_empty_subscript);
        parse_abandon(p);
    }
    Expr *tuple = parse_new_expr(p, EXPR_tuple, parse_peek(p).lo);
    ExprVec items = {0};
    bool comma = true;
    while (!parse_at(p, OP_rbracket)) {
        if (!comma)
            parse_fail_in_brackets(p, open, "`,` or `]`");
        vec_push(p->arena, &items, parse_slice(p));
        comma = parse_accept(p, OP_comma);
    }
    if (items.len == 1 && !comma && items.data[0]->kind != EXPR_starred)
        return items.data[0];
    tuple->u.list = parse_list(&items);
    return parse_finish(p, tuple);
}

/* primary: atom ('.' NAME | '(' [args] ')' | '[' slices ']')* */
static Expr *parse_primary(Parser *p) {
    Expr *base = parse_atom(p);
    uint32_t lo = base->span.lo;
    for (;;) {
        Token token = parse_peek(p);
        Expr *expr;
        if (token.kind == OP_dot) {
            expr = parse_new_expr(p, EXPR_attribute, lo);
            parse_take(p);
            Token name = parse_expect(p, TOK_name, "a name after `.`");
            expr->u.attribute.base = base;
            expr->u.attribute.name = parse_intern(p, name);
            expr->u.attribute.name_span = lex_span(p->lexer, name);
        } else if (token.kind == OP_lparen) {
            expr = parse_new_expr(p, EXPR_call, lo);
            parse_take(p);
            expr->u.call.callee = base;
            parse_arguments(p, token, expr);
            parse_close(p, token, OP_rparen);
        } else if (token.kind == OP_lbracket) {
            expr = parse_new_expr(p, EXPR_subscript, lo);
            parse_take(p);
            expr->u.subscript.base = base;
            expr->u.subscript.index = parse_slices(p, token);
            parse_close(p, token, OP_rbracket);
        } else {
            return base;
        }
        base = parse_finish(p, expr);
    }
}

static Expr *parse_unary(Parser *p);

/* power: ['await'] primary ['**' factor] */
static Expr *parse_power(Parser *p) {
    Expr *base;
    if (parse_at(p, KW_await)) {
        uint32_t lo = parse_take(p).lo;
        parse_primary(p);
        base = parse_new_unsupported(p, CONSTRUCT_await, lo);
    } else {
        base = parse_primary(p);
    }
    if (!parse_at(p, OP_starstar))
        return base;
    Expr *expr = parse_new_expr(p, EXPR_binary, base->span.lo);
    parse_take(p);
    expr->u.binary.op = ASTOP_pow;
    expr->u.binary.left = base;
    parse_enter(p);
    expr->u.binary.right = parse_unary(p);
    parse_leave(p);
    return parse_finish(p, expr);
}

/* factor: ('+' | '-' | '~') factor | power */
static Expr *parse_unary(Parser *p) {
    Token token = parse_peek(p);
    AstOperator op;
    if (token.kind == OP_minus)
        op = ASTOP_neg;
    else if (token.kind == OP_plus)
        op = ASTOP_pos;
    else if (token.kind == OP_tilde)
        op = ASTOP_invert;
    else
        return parse_power(p);
    parse_enter(p);
    Expr *expr = parse_new_expr(p, EXPR_unary, parse_take(p).lo);
    expr->u.unary.op = op;
    expr->u.unary.operand = parse_unary(p);
    parse_leave(p);
    return parse_finish(p, expr);
}

typedef struct BinaryOperator {
    unsigned precedence; /* 0: not a binary operator */
    AstOperator op;
} BinaryOperator;

static BinaryOperator binary_operator(TokenKind kind) {
    switch (kind) {
    case OP_pipe:
        return (BinaryOperator){1, ASTOP_bitor};
    case OP_caret:
        return (BinaryOperator){2, ASTOP_bitxor};
    case OP_amp:
        return (BinaryOperator){3, ASTOP_bitand};
    case OP_lshift:
        return (BinaryOperator){4, ASTOP_lshift};
    case OP_rshift:
        return (BinaryOperator){4, ASTOP_rshift};
    case OP_plus:
        return (BinaryOperator){5, ASTOP_add};
    case OP_minus:
        return (BinaryOperator){5, ASTOP_sub};
    case OP_star:
        return (BinaryOperator){6, ASTOP_mul};
    case OP_slash:
        return (BinaryOperator){6, ASTOP_div};
    case OP_slashslash:
        return (BinaryOperator){6, ASTOP_floordiv};
    case OP_percent:
        return (BinaryOperator){6, ASTOP_mod};
    case OP_at:
        return (BinaryOperator){6, ASTOP_matmul};
    default:
        return (BinaryOperator){0, ASTOP_add};
    }
}

/* `&&` and `||` are two operators in a row to Python; the message should name what was meant. */
static void check_doubled(Parser *p, Token operator_token) {
    Token next = parse_peek(p);
    bool touching = next.kind == operator_token.kind && next.lo == operator_token.hi;
    if (!touching || (next.kind != OP_amp && next.kind != OP_pipe))
        return;
    bool is_and = next.kind == OP_amp;
    Span span = {p->lexer->file, operator_token.lo, next.hi};
    parse_error(p, span, parse_doubled_operator, is_and ? "&&" : "||");
    parse_hint(p, "write `%s` for conditions, `%s` for masks", is_and ? "and" : "or",
               is_and ? "&" : "|");
    parse_abandon(p);
}

/* bitwise_or: bitwise_or '|' bitwise_xor | bitwise_xor
 * bitwise_xor: bitwise_xor '^' bitwise_and | bitwise_and
 * bitwise_and: bitwise_and '&' shift_expr | shift_expr
 * shift_expr: shift_expr ('<<' | '>>') sum | sum
 * sum: sum ('+' | '-') term | term
 * term: term ('*' | '/' | '//' | '%' | '@') factor | factor
 * with operators of precedence `lowest` and above. */
Expr *parse_binary(Parser *p, unsigned lowest) {
    Expr *left = parse_unary(p);
    for (;;) {
        BinaryOperator binary = binary_operator(parse_peek(p).kind);
        if (binary.precedence == 0 || binary.precedence < lowest)
            return left;
        Expr *expr = parse_new_expr(p, EXPR_binary, left->span.lo);
        check_doubled(p, parse_take(p));
        expr->u.binary.op = binary.op;
        expr->u.binary.left = left;
        expr->u.binary.right = parse_binary(p, binary.precedence + 1);
        left = parse_finish(p, expr);
    }
}

/* The comparison operator at hand, or ASTOP_COUNT. Takes its tokens. */
static AstOperator take_comparison(Parser *p) {
    Token token = parse_peek(p);
    AstOperator op;
    switch (token.kind) {
    case OP_eqeq:
        op = ASTOP_eq;
        break;
    case OP_ne:
        op = ASTOP_ne;
        break;
    case OP_lt:
        op = ASTOP_lt;
        break;
    case OP_le:
        op = ASTOP_le;
        break;
    case OP_gt:
        op = ASTOP_gt;
        break;
    case OP_ge:
        op = ASTOP_ge;
        break;
    case KW_in:
        op = ASTOP_in;
        break;
    case KW_is:
        parse_take(p);
        return parse_accept(p, KW_not) ? ASTOP_isnot : ASTOP_is;
    case KW_not:
        if (parse_peek_second(p).kind != KW_in)
            return ASTOP_COUNT;
        parse_take(p);
        op = ASTOP_notin;
        break;
    default:
        return ASTOP_COUNT;
    }
    parse_take(p);
    if (op == ASTOP_lt && parse_at(p, OP_gt)) {
        Span span = {p->lexer->file, token.lo, parse_peek(p).hi};
        parse_error(p, span, parse_old_not_equal);
        parse_hint(p, "write `!=`");
        parse_abandon(p);
    }
    return op;
}

/* comparison: bitwise_or (('==' | '!=' | '<=' | '<' | '>=' | '>' | ['not'] 'in' | 'is' ['not'])
 *             bitwise_or)* */
static Expr *parse_comparison(Parser *p) {
    Expr *first = parse_binary(p, 1);
    AstOperator op = take_comparison(p);
    if (op == ASTOP_COUNT)
        return first;
    Expr *expr = parse_new_expr(p, EXPR_compare, first->span.lo);
    ExprVec operands = {0};
    VEC(AstOperator) ops = {0};
    vec_push(p->arena, &operands, first);
    for (; op != ASTOP_COUNT; op = take_comparison(p)) {
        vec_push(p->arena, &ops, op);
        vec_push(p->arena, &operands, parse_binary(p, 1));
    }
    expr->u.compare.operands = parse_list(&operands);
    expr->u.compare.ops = ops.data;
    return parse_finish(p, expr);
}

/* inversion: 'not' inversion | comparison */
static Expr *parse_inversion(Parser *p) {
    if (!parse_at(p, KW_not))
        return parse_comparison(p);
    parse_enter(p);
    Expr *expr = parse_new_expr(p, EXPR_unary, parse_take(p).lo);
    expr->u.unary.op = ASTOP_not;
    expr->u.unary.operand = parse_inversion(p);
    parse_leave(p);
    return parse_finish(p, expr);
}

/* conjunction: inversion ('and' inversion)*
 * disjunction: conjunction ('or' conjunction)* */
static Expr *parse_boolop(Parser *p, TokenKind keyword) {
    Expr *first = keyword == KW_or ? parse_boolop(p, KW_and) : parse_inversion(p);
    if (!parse_at(p, keyword))
        return first;
    Expr *expr = parse_new_expr(p, EXPR_boolop, first->span.lo);
    ExprVec operands = {0};
    vec_push(p->arena, &operands, first);
    while (parse_accept(p, keyword))
        vec_push(p->arena, &operands,
                 keyword == KW_or ? parse_boolop(p, KW_and) : parse_inversion(p));
    expr->u.boolop.op = keyword == KW_or ? ASTOP_or : ASTOP_and;
    expr->u.boolop.operands = parse_list(&operands);
    return parse_finish(p, expr);
}

Expr *parse_disjunction(Parser *p) {
    return parse_boolop(p, KW_or);
}

/* lambdef: 'lambda' [params] ':' expression */
static Expr *parse_lambda(Parser *p) {
    Expr *expr = parse_new_expr(p, EXPR_lambda, parse_take(p).lo);
    parse_params(p, OP_colon, false, &expr->u.lambda.params, &expr->u.lambda.param_count);
    parse_expect(p, OP_colon, "a `:` after the parameters of `lambda`");
    expr->u.lambda.body = parse_test(p);
    return parse_finish(p, expr);
}

/* expression: disjunction 'if' disjunction 'else' expression | disjunction | lambdef */
Expr *parse_test(Parser *p) {
    parse_enter(p);
    Expr *expr;
    if (parse_at(p, KW_lambda)) {
        expr = parse_lambda(p);
    } else {
        expr = parse_disjunction(p);
        if (parse_at(p, KW_if)) {
            Expr *ternary = parse_new_expr(p, EXPR_ternary, expr->span.lo);
            parse_take(p);
            ternary->u.ternary.then_value = expr;
            ternary->u.ternary.condition = parse_disjunction(p);
            parse_expect(p, KW_else, "`else` and the other value");
            ternary->u.ternary.else_value = parse_test(p);
            expr = parse_finish(p, ternary);
        }
    }
    parse_leave(p);
    return expr;
}

/* named_expression: NAME ':=' expression | expression */
Expr *parse_named(Parser *p) {
    Token name = parse_peek(p);
    if (name.kind != TOK_name || parse_peek_second(p).kind != OP_walrus)
        return parse_test(p);
    Expr *expr = parse_new_expr(p, EXPR_walrus, parse_take(p).lo);
    parse_take(p);
    expr->u.bind.name = parse_intern(p, name);
    expr->u.bind.value = parse_test(p);
    return parse_finish(p, expr);
}

/* star_expressions: star_expression (',' star_expression)* [',']; one without a comma stands for
 * itself */
Expr *parse_star_expressions(Parser *p) {
    if (parse_at(p, KW_yield))
        return parse_yield(p);
    Expr *first = parse_star_named(p);
    if (!parse_at(p, OP_comma)) {
        if (first->kind == EXPR_starred && !parse_at(p, OP_assign)) {
            parse_error(p, first->span, parse_lone_star);
            parse_hint(p, "write `*value,` for a tuple");
            parse_abandon(p);
        }
        return first;
    }
    Expr *tuple = parse_new_expr(p, EXPR_tuple, first->span.lo);
    ExprVec items = {0};
    vec_push(p->arena, &items, first);
    while (parse_accept(p, OP_comma) && parse_begins_expression(parse_peek(p).kind))
        vec_push(p->arena, &items, parse_star_named(p));
    tuple->u.list = parse_list(&items);
    return parse_finish(p, tuple);
}

/* star_targets: star_target !',' | star_target (',' star_target)* [',']; an operand of `in` is none
 */
Expr *parse_targets(Parser *p) {
    uint32_t lo = parse_peek(p).lo;
    ExprVec items = {0};
    bool comma = false;
    do {
        vec_push(p->arena, &items, parse_at(p, OP_star) ? parse_starred(p) : parse_binary(p, 1));
        comma = parse_accept(p, OP_comma);
    } while (comma && !parse_at(p, KW_in));
    Expr *target = items.data[0];
    if (items.len > 1 || comma) {
        target = parse_new_expr(p, EXPR_tuple, lo);
        target->u.list = parse_list(&items);
        parse_finish(p, target);
    }
    parse_check_target(p, target, true);
    return target;
}

static const char *target_description(const Expr *target) {
    switch (target->kind) {
    case EXPR_call:
        return "a call";
    case EXPR_binary:
    case EXPR_unary:
    case EXPR_boolop:
        return "the result of an operator";
    case EXPR_compare:
        return "a comparison";
    case EXPR_int:
    case EXPR_float:
    case EXPR_string:
    case EXPR_fstring:
    case EXPR_bool:
    case EXPR_none:
    case EXPR_ellipsis:
        return "a constant";
    case EXPR_ternary:
        return "a conditional expression";
    case EXPR_lambda:
        return "a lambda";
    case EXPR_tuple:
    case EXPR_list:
        return "a tuple";
    case EXPR_dict:
    case EXPR_set:
    case EXPR_comprehension:
        return "a display";
    case EXPR_starred:
        return "a starred value";
    case EXPR_walrus:
        return "a named expression";
    case EXPR_name:
    case EXPR_subscript:
    case EXPR_attribute:
    case EXPR_slice:
    case EXPR_formatted:
    case EXPR_unsupported:
    case EXPR_COUNT:
        break;
    }
    return "this";
}

void parse_check_target(Parser *p, const Expr *target, bool with_tuples) {
    switch (target->kind) {
    case EXPR_name:
    case EXPR_subscript:
    case EXPR_attribute:
        return;
    case EXPR_tuple:
    case EXPR_list:
        if (!with_tuples)
            break;
        for (uint32_t i = 0; i < target->u.list.count; i++)
            parse_check_target(p, target->u.list.items[i], true);
        return;
    case EXPR_starred:
        if (!with_tuples)
            break;
        parse_check_target(p, target->u.bind.value, true);
        return;
    default:
        break;
    }
    parse_error(p, target->span, parse_bad_target, target_description(target));
    if (target->kind == EXPR_compare)
        parse_hint(p, "write `==` to compare");
    else if (target->kind == EXPR_call)
        parse_hint(p, "memory is written with `tl.store(pointer, value, mask=mask)`");
    parse_abandon(p);
}
