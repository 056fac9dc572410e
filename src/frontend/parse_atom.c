/* Atoms: names, literals, brackets, and the displays and comprehensions within them. */
#include "frontend/parser.h"

Expr *parse_new_unsupported(Parser *p, AstConstruct construct, uint32_t lo) {
    Expr *expr = parse_new_expr(p, EXPR_unsupported, lo);
    expr->u.construct = construct;
    return parse_finish(p, expr);
}

/* Whether the token can begin an expression; what it decides is which message is given. */
bool parse_begins_expression(TokenKind kind) {
    switch (kind) {
    case TOK_name:
    case TOK_int:
    case TOK_float:
    case TOK_string:
    case TOK_fstring:
    case KW_None:
    case KW_True:
    case KW_False:
    case KW_not:
    case KW_lambda:
    case KW_await:
    case KW_yield:
    case OP_lparen:
    case OP_lbracket:
    case OP_lbrace:
    case OP_minus:
    case OP_plus:
    case OP_tilde:
    case OP_ellipsis:
    case OP_star:
        return true;
    default:
        return false;
    }
}

/* for_clause: ['async'] 'for' star_targets 'in' disjunction ('if' disjunction)* */
static ForClause parse_for_clause(Parser *p) {
    ForClause clause = {0};
    parse_enter(p);
    parse_accept(p, KW_async);
    parse_expect(p, KW_for, "`for`");
    clause.target = parse_targets(p);
    parse_expect(p, KW_in, "`in`");
    clause.iterable = parse_disjunction(p);
    ExprVec conditions = {0};
    while (parse_accept(p, KW_if))
        vec_push(p->arena, &conditions, parse_disjunction(p));
    clause.conditions = parse_list(&conditions);
    parse_leave(p);
    return clause;
}

/* The clauses behind the element of a comprehension. */
Expr *parse_comprehension(Parser *p, ComprehensionForm form, uint32_t lo, Expr *element,
                          Expr *value) {
    Expr *expr = parse_new_expr(p, EXPR_comprehension, lo);
    VEC(ForClause) clauses = {0};
    while (parse_at(p, KW_for) || parse_at(p, KW_async)) {
        ForClause clause = parse_for_clause(p);
        vec_push(p->arena, &clauses, clause);
    }
    expr->u.comprehension.form = form;
    expr->u.comprehension.element = element;
    expr->u.comprehension.value = value;
    expr->u.comprehension.clauses = clauses.data;
    expr->u.comprehension.clause_count = (uint32_t)clauses.len;
    return expr;
}

bool parse_at_comprehension(Parser *p) {
    return parse_at(p, KW_for) || (parse_at(p, KW_async) && parse_peek_second(p).kind == KW_for);
}

/* yield_expr: 'yield' ['from' expression | star_expressions] */
Expr *parse_yield(Parser *p) {
    parse_enter(p);
    uint32_t lo = parse_take(p).lo;
    if (parse_accept(p, KW_from))
        parse_test(p);
    else if (parse_begins_expression(parse_peek(p).kind))
        parse_star_expressions(p);
    parse_leave(p);
    return parse_new_unsupported(p, CONSTRUCT_yield, lo);
}

/* group: '(' (yield_expr | named_expression) ')'
 * tuple: '(' [star_named_expression ',' [star_named_expression (',' star_named_expression)* [',']]]
 * ')' genexp: '(' named_expression for_clause+ ')' */
static Expr *parse_parenthesised(Parser *p) {
    Token open = parse_take(p);
    Expr *tuple = parse_new_expr(p, EXPR_tuple, open.lo);
    ExprVec items = {0};
    bool comma = false;
    if (parse_at(p, KW_yield)) {
        Expr *yield = parse_yield(p);
        parse_close(p, open, OP_rparen);
        return yield;
    }
    while (!parse_at(p, OP_rparen)) {
        if (items.len && !comma)
            parse_fail_in_brackets(p, open, "`,` or `)`");
        vec_push(p->arena, &items, parse_star_named(p));
        if (items.len == 1 && parse_at_comprehension(p)) {
            Expr *expr = parse_comprehension(p, COMP_generator, open.lo, items.data[0], NULL);
            parse_close(p, open, OP_rparen);
            return parse_finish(p, expr);
        }
        comma = parse_accept(p, OP_comma);
    }
    parse_close(p, open, OP_rparen);
    if (items.len == 1 && !comma) {
        if (items.data[0]->kind == EXPR_starred) {
            parse_error(p, items.data[0]->span, parse_lone_star);
            parse_hint(p, "write `(*value,)` for a tuple");
            parse_abandon(p);
        }
        return items.data[0];
    }
    tuple->u.list = parse_list(&items);
    return parse_finish(p, tuple);
}

/* list: '[' [star_named_expressions] ']' | '[' named_expression for_clause+ ']' */
static Expr *parse_list_display(Parser *p) {
    Token open = parse_take(p);
    Expr *list = parse_new_expr(p, EXPR_list, open.lo);
    ExprVec items = {0};
    bool comma = true;
    while (!parse_at(p, OP_rbracket)) {
        if (!comma)
            parse_fail_in_brackets(p, open, "`,` or `]`");
        vec_push(p->arena, &items, parse_star_named(p));
        if (items.len == 1 && parse_at_comprehension(p)) {
            list = parse_comprehension(p, COMP_list, open.lo, items.data[0], NULL);
            break;
        }
        comma = parse_accept(p, OP_comma);
    }
    parse_close(p, open, OP_rbracket);
    if (list->kind == EXPR_list)
        list->u.list = parse_list(&items);
    return parse_finish(p, list);
}

/* set: '{' star_named_expressions '}' | '{' named_expression for_clause+ '}' ; the first item was
 * read */
static Expr *parse_set(Parser *p, Token open, Expr *first) {
    ExprVec items = {0};
    vec_push(p->arena, &items, first);
    Expr *set = parse_new_expr(p, EXPR_set, open.lo);
    if (parse_at_comprehension(p)) {
        set = parse_comprehension(p, COMP_set, open.lo, first, NULL);
    } else {
        while (parse_accept(p, OP_comma) && !parse_at(p, OP_rbrace))
            vec_push(p->arena, &items, parse_star_named(p));
        set->u.list = parse_list(&items);
    }
    parse_close(p, open, OP_rbrace);
    return parse_finish(p, set);
}

/* dict: '{' [double_starred_kvpair (',' double_starred_kvpair)* [',']] '}'
 *     | '{' expression ':' expression for_clause+ '}'
 * double_starred_kvpair: '**' bitwise_or | expression ':' expression */
static Expr *parse_dict_or_set(Parser *p) {
    Token open = parse_take(p);
    Expr *dict = parse_new_expr(p, EXPR_dict, open.lo);
    ExprVec keys = {0}, values = {0};
    bool comma = true;
    while (!parse_at(p, OP_rbrace)) {
        if (!comma)
            parse_fail_in_brackets(p, open, "`,` or `}`");
        Expr *key = NULL, *value;
        if (parse_accept(p, OP_starstar)) {
            parse_enter(p);
            value = parse_binary(p, 1);
            parse_leave(p);
        } else {
            key = parse_star_named(p);
            if (keys.len == 0 && !parse_at(p, OP_colon))
                return parse_set(p, open, key);
            if (!parse_accept(p, OP_colon))
                parse_fail_in_brackets(p, open, "`:` and a value");
            value = parse_test(p);
            if (keys.len == 0 && parse_at_comprehension(p)) {
                dict = parse_comprehension(p, COMP_dict, open.lo, key, value);
                break;
            }
        }
        vec_push(p->arena, &keys, key);
        vec_push(p->arena, &values, value);
        comma = parse_accept(p, OP_comma);
    }
    parse_close(p, open, OP_rbrace);
    if (dict->kind == EXPR_dict) {
        dict->u.dict.keys = keys.data;
        dict->u.dict.values = values.data;
        dict->u.dict.count = (uint32_t)keys.len;
    }
    return parse_finish(p, dict);
}

/* '@' NUMBER: the text is the name. */
static Expr *parse_numbered(Parser *p) {
    Expr *expr = parse_new_expr(p, EXPR_name, parse_take(p).lo);
    parse_expect(p, TOK_int, "the number of a unit");
    expr = parse_finish(p, expr);
    expr->u.name = (Str){p->lexer->base + expr->span.lo, expr->span.hi - expr->span.lo};
    return expr;
}

/* atom: NAME | 'True' | 'False' | 'None' | strings | NUMBER | tuple | group | genexp | list | dict
 * | set | '...' */
Expr *parse_atom(Parser *p) {
    Token token = parse_peek(p);
    Expr *expr = NULL;
    switch (token.kind) {
    case TOK_name:
        expr = parse_new_expr(p, EXPR_name, parse_take(p).lo);
        expr->u.name = parse_intern(p, token);
        return parse_finish(p, expr);
    case TOK_int:
    case TOK_float:
    case TOK_string:
    case TOK_fstring:
        return parse_atom_literal(p);
    case KW_True:
    case KW_False:
        expr = parse_new_expr(p, EXPR_bool, parse_take(p).lo);
        expr->u.boolean = token.kind == KW_True;
        return parse_finish(p, expr);
    case KW_None:
        return parse_finish(p, parse_new_expr(p, EXPR_none, parse_take(p).lo));
    case OP_ellipsis:
        return parse_finish(p, parse_new_expr(p, EXPR_ellipsis, parse_take(p).lo));
    case OP_lparen:
    case OP_lbracket:
    case OP_lbrace:
        return token.kind == OP_lparen     ? parse_parenthesised(p)
               : token.kind == OP_lbracket ? parse_list_display(p)
                                           : parse_dict_or_set(p);
    case OP_at:
        if (p->is_literal)
            return parse_numbered(p);
        parse_fail_expected(p, "an expression");
    default:
        parse_fail_expected(p, "an expression");
    }
}
