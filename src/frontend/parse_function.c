/* Functions: decorators, parameters, header and body. */
#include "frontend/parser.h"

static void check_param(Parser *p, const Param *params, size_t count, const Param *param) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(params[i].name, param->name)) {
            parse_error(p, param->span, parse_repeated_param, STR_ARG(param->name));
            parse_note(p, params[i].span, "the first of the two");
            parse_abandon(p);
        }
    bool after_default = count && params[count - 1].default_value && !params[count - 1].star;
    if (after_default && !param->default_value && !param->star && !param->keyword_only) {
        parse_error(p, param->span, parse_default_order, STR_ARG(param->name));
        parse_hint(p, "give it a default value, or move it before the parameters that have one");
        parse_abandon(p);
    }
    if (count && params[count - 1].star == 2) {
        parse_error(p, param->span, parse_after_double_star);
        parse_abandon(p);
    }
}

/* param: NAME [':' expression] ['=' expression] ; '*' NAME may have the annotation '*' bitwise_or
 */
static Param parse_param(Parser *p, uint8_t star, bool annotations, uint32_t lo) {
    Param param = {.star = star};
    Token name = parse_expect(p, TOK_name, "the name of a parameter");
    param.name = parse_intern(p, name);
    param.span = parse_span_from(p, lo);
    if (annotations && parse_accept(p, OP_colon))
        param.annotation = star == 1 && parse_at(p, OP_star) ? parse_starred(p) : parse_test(p);
    if (!star && parse_accept(p, OP_assign))
        param.default_value = parse_test(p);
    return param;
}

/* params: param (',' param)* with at most one '/', one '*' or '*' NAME, and '**' NAME at the end */
void parse_params(Parser *p, TokenKind end, bool annotations, Param **params, uint32_t *count) {
    VEC(Param) list = {0};
    bool keyword_only = false, bare_star = false;
    while (!parse_at(p, end)) {
        Token token = parse_peek(p);
        if (token.kind == OP_slash && list.len && !keyword_only && !list.data[0].positional_only) {
            parse_take(p);
            vec_for_each (param, &list)
                param->positional_only = true;
        } else if (token.kind == OP_star && !keyword_only &&
                   parse_peek_second(p).kind != TOK_name) {
            parse_take(p);
            keyword_only = bare_star = true;
        } else {
            bool starred = token.kind == OP_star && !keyword_only;
            uint8_t star = starred ? 1 : token.kind == OP_starstar ? 2 : 0;
            if (star)
                parse_take(p);
            Param param = parse_param(p, star, annotations, token.lo);
            param.keyword_only = keyword_only && !star;
            check_param(p, list.data, list.len, &param);
            vec_push(p->arena, &list, param);
            keyword_only |= star == 1;
            bare_star = false;
        }
        if (!parse_accept(p, OP_comma))
            break;
    }
    if (bare_star) {
        parse_error(p, lex_span(p->lexer, parse_peek(p)), parse_bare_star);
        parse_abandon(p);
    }
    *params = list.data;
    *count = (uint32_t)list.len;
}

/* A name, whatever it is an attribute of; both may stand in a string. */
static bool names(const Expr *annotation, const char *word) {
    if (!annotation)
        return false;
    if (annotation->kind == EXPR_attribute)
        return str_is(annotation->u.attribute.name, word);
    if (annotation->kind != EXPR_string)
        return annotation->kind == EXPR_name && str_is(annotation->u.name, word);
    Str text = annotation->u.string;
    for (size_t at = text.len; at-- > 0;)
        if (text.ptr[at] == '.')
            return str_is((Str){text.ptr + at + 1, text.len - at - 1}, word);
    return str_is(text, word);
}

bool ast_is_const(const Expr *annotation) {
    return names(annotation, "const");
}

bool ast_is_constexpr(const Expr *annotation) {
    return names(annotation, "constexpr");
}

Str ast_decorator_name(const Expr *decorator) {
    if (decorator->kind == EXPR_call)
        decorator = decorator->u.call.callee;
    if (decorator->kind == EXPR_name)
        return decorator->u.name;
    return decorator->kind == EXPR_attribute ? decorator->u.attribute.name : STR("");
}

ExprList parse_decorators(Parser *p) {
    ExprVec decorators = {0};
    while (parse_accept(p, OP_at)) {
        vec_push(p->arena, &decorators, parse_named(p));
        parse_expect(p, TOK_newline, "the end of the line after a decorator");
    }
    return parse_list(&decorators);
}

static Str docstring(StmtList body) {
    bool has = body.count && body.items[0]->kind == STMT_expr &&
               body.items[0]->u.expr->kind == EXPR_string;
    return has ? body.items[0]->u.expr->u.string : STR("");
}

/* type_params: '[' ... ']' ; of no meaning to kernels */
static void skip_type_params(Parser *p) {
    if (!parse_at(p, OP_lbracket))
        return;
    Token open = parse_take(p);
    for (size_t depth = 1; depth;) {
        Token token = parse_peek(p);
        if (token.kind == TOK_newline || token.kind == TOK_error || token.kind == TOK_end)
            parse_fail_in_brackets(p, open, "`]`");
        parse_take(p);
        depth += token.kind == OP_lbracket;
        depth -= token.kind == OP_rbracket;
    }
}

/* @must_use_result, @must_use_result("why") */
static void read_must_use(const Expr *decorator, FuncDef *def) {
    if (!str_is(ast_decorator_name(decorator), "must_use_result"))
        return;
    def->must_use = true;
    if (decorator->kind == EXPR_call && decorator->u.call.args.count &&
        decorator->u.call.args.items[0]->kind == EXPR_string)
        def->must_use_words = decorator->u.call.args.items[0]->u.string;
}

/* function_def: 'def' NAME [type_params] '(' [params] ')' ['->' expression] block */
FuncDef *parse_function(Parser *p, ExprList decorators, bool with_body) {
    FuncDef *def = ARENA_NEW(p->arena, FuncDef);
    Token header = parse_expect(p, KW_def, "`def`");
    Token name = parse_expect(p, TOK_name, "the name of the function");
    def->name = parse_intern(p, name);
    def->name_span = lex_span(p->lexer, name);
    def->decorators = decorators;
    for (uint32_t i = 0; i < decorators.count; i++) {
        Str last = ast_decorator_name(decorators.items[i]);
        def->is_jit |= str_is(last, "jit");
        def->is_static |= str_is(last, "staticmethod");
        read_must_use(decorators.items[i], def);
        def->is_constexpr_function |=
            str_is(last, "constexpr_function") || str_is(last, "constexpr");
    }
    skip_type_params(p);
    Token open = parse_expect(p, OP_lparen, "`(` and the parameters");
    parse_params(p, OP_rparen, true, &def->params, &def->param_count);
    if (!parse_at(p, OP_rparen))
        parse_fail_in_brackets(p, open, "`,` or `)`");
    parse_take(p);
    if (parse_accept(p, OP_arrow))
        def->returns = parse_test(p);
    def->span = parse_span_from(p, header.lo);
    if (!with_body)
        return def;
    def->body = parse_block(p, header, "the parameters");
    def->docstring = docstring(def->body);
    return def;
}
