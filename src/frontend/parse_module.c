/* What is parsed beside a file's kernels: all of its statements, an expression that stands alone.
 */
#include "frontend/parser.h"

void parse_begin(Parser *p, Diags *diags, uint32_t file) {
    *p = (Parser){.diags = diags, .arena = diags->arena};
    lex_init(&p->file_lexer, diags->arena, source_get(diags->sources, file), file);
    p->lexer = &p->file_lexer;
}

ModuleStmt *parse_module(Diags *diags, uint32_t file, uint32_t *count) {
    Parser p;
    VEC(ModuleStmt) body = {0};
    parse_begin(&p, diags, file);
    p.silent = true;
    while (!parse_at(&p, TOK_end)) {
        if (parse_accept(&p, TOK_dedent))
            continue;
        StmtVec parsed = {0};
        const Span start = lex_span(p.lexer, parse_peek(&p));
        const uint32_t mistakes = p.abandoned;
        if (parse_at(&p, TOK_indent))
            parse_skip_block(&p);
        else if (parse_at(&p, TOK_error))
            parse_skip_line(&p);
        else
            parse_statement(&p, &parsed);
        const uint32_t end = lex_span(p.lexer, parse_peek(&p)).lo;
        vec_push(p.arena, &body,
                 (ModuleStmt){parse_stmt_list(&parsed),
                              {file, start.lo, end},
                              p.abandoned - mistakes + !parsed.len});
    }
    *count = (uint32_t)body.len;
    return body.data;
}

/* There is a function, and nothing behind it; else after a report. */
static bool is_function(Parser *p, const StmtVec *parsed) {
    const Span span = lex_span(p->lexer, parse_peek(p));
    if (!parsed->len || parsed->data[0]->kind != STMT_def)
        return parse_error(p, parsed->len ? parsed->data[0]->span : span, parse_unit_begin);
    return parse_at(p, TOK_end) || parse_error(p, span, parse_unit_end);
}

AstFile *parse_unit(Diags *diags, uint32_t file) {
    Parser p;
    StmtVec parsed = {0};
    AstFile *ast = ARENA_NEW(diags->arena, AstFile);
    const unsigned errors = diags->errors;
    parse_begin(&p, diags, file);
    lex_init_block(&p.file_lexer, diags->arena, source_get(diags->sources, file), file);
    if (!parse_at(&p, TOK_end))
        parse_statement(&p, &parsed);
    while (parse_accept(&p, TOK_dedent))
        continue;
    *ast = (AstFile){.file = file};
    if (diags->errors != errors || !is_function(&p, &parsed))
        return ast;
    FuncDef *def = parsed.data[0]->u.def;
    def->is_jit = true;
    def->is_constexpr_function = false;
    ast->body = parse_stmt_list(&parsed);
    return ast;
}

static Expr *whole_expression(Parser *p) {
    jmp_buf here;
    p->recover = &here;
    if (setjmp(here))
        return NULL;
    Expr *expr = parse_star_expressions(p);
    parse_accept(p, TOK_newline);
    if (!parse_at(p, TOK_end))
        parse_fail_expected(p, "the end of the expression");
    return expr;
}

Expr *parse_expression(Diags *diags, uint32_t file) {
    Parser p;
    parse_begin(&p, diags, file);
    return whole_expression(&p);
}

Expr *parse_literal_value(Diags *diags, uint32_t file) {
    Parser p;
    parse_begin(&p, diags, file);
    p.is_literal = true;
    return whole_expression(&p);
}

Expr *parse_expression_at(Diags *diags, Span part) {
    Parser p = {.diags = diags, .arena = diags->arena};
    lex_init_part(&p.file_lexer, diags->arena, source_get(diags->sources, part.file), part);
    p.lexer = &p.file_lexer;
    return whole_expression(&p);
}
