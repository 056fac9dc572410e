/* Statements. The grammar is Python 3.12's; compound statements that no kernel can execute
 * (`try`, `class`, `match`, ...) are kept as one STMT_unsupported and their text is passed over.
 *
 * Errors: each statement is a recovery point. After an error the rest of its logical line is
 * dropped; the block that a broken header introduces is still read for its own errors. */
#include "frontend/parser.h"

Stmt *parse_new_stmt(Parser *p, StmtKind kind, uint32_t lo) {
    Stmt *stmt = ARENA_NEW(p->arena, Stmt);
    stmt->kind = kind;
    stmt->span = (Span){p->lexer->file, lo, lo};
    return stmt;
}

static Stmt *finish_stmt(Parser *p, Stmt *stmt) {
    stmt->span = parse_span_from(p, stmt->span.lo);
    return stmt;
}

StmtList parse_stmt_list(const StmtVec *items) {
    return (StmtList){items->data, (uint32_t)items->len};
}

/* ---- passing over ---- */

void parse_skip_line(Parser *p) {
    for (;;) {
        Token token = parse_peek(p);
        if (token.kind == TOK_end)
            return;
        parse_take(p);
        if (token.kind == TOK_newline)
            return;
    }
}

void parse_skip_block(Parser *p) {
    if (!parse_at(p, TOK_indent))
        return;
    size_t depth = 0;
    do {
        if (parse_at(p, TOK_end))
            return;
        TokenKind kind = parse_take(p).kind;
        depth += kind == TOK_indent;
        depth -= kind == TOK_dedent;
    } while (depth);
}

/* To the end of a simple statement: a `;` or newline outside brackets. */
static void skip_simple(Parser *p) {
    size_t depth = 0;
    for (;;) {
        switch (parse_peek(p).kind) {
        case TOK_end:
        case TOK_newline:
            return;
        case OP_semicolon:
            if (depth == 0)
                return;
            break;
        case OP_lparen:
        case OP_lbracket:
        case OP_lbrace:
            depth++;
            break;
        case OP_rparen:
        case OP_rbracket:
        case OP_rbrace:
            depth -= depth > 0;
            break;
        case TOK_error:
            parse_fail_expected(p, "a statement");
        default:
            break;
        }
        parse_take(p);
    }
}

/* Errors of the indentation of a line do not spoil its statement. */
static void report_line_errors(Parser *p) {
    while (lex_is_line_error(parse_peek(p))) {
        Token token = parse_take(p);
        bool told = token.error == LEX_mixed_tabs && p->told_of_tabs;
        if (!p->silent && !told)
            lex_report(p->lexer, p->diags, token);
        p->told_of_tabs |= token.error == LEX_mixed_tabs && !p->silent;
    }
}

/* A bracket that is never closed joins all lines up to the next statement keyword; reading goes on
 * at the first of them that is not indented deeper than the statement. What stands in front of that
 * may be layout alone, in the place of its first token. */
static bool restart_in_line(Parser *p) {
    Lexer *lexer = p->lexer;
    size_t count = lexer->tokens.len;
    bool unclosed = count >= 2 && lexer->tokens.data[count - 2].kind == TOK_error &&
                    lexer->tokens.data[count - 2].error == LEX_unclosed_bracket;
    if (!unclosed)
        return false;
    for (size_t i = p->next; i < count; i++) {
        Token token = lexer->tokens.data[i];
        bool closer =
            token.kind == OP_rparen || token.kind == OP_rbracket || token.kind == OP_rbrace;
        if (token.lo > lexer->tokens.data[0].lo && token.starts_line && !closer &&
            token.column <= lexer->line_indent) {
            lex_restart(lexer, token.lo, lexer->indents.len);
            p->next = 0;
            return true;
        }
    }
    return false;
}

void parse_recover(Parser *p) {
    if (p->lexer != &p->file_lexer) {
        p->lexer = &p->file_lexer;
        p->next = p->file_next;
    }
    if (restart_in_line(p))
        return;
    while (p->next < p->lexer->tokens.len) {
        Token token = p->lexer->tokens.data[p->next];
        if (token.kind == TOK_indent || token.kind == TOK_dedent || token.kind == TOK_end)
            return;
        p->next++;
        if (token.kind == TOK_newline)
            return;
    }
}

/* ---- blocks ---- */

static void enter_block(Parser *p, Span span) {
    p->branches++;
    if (++p->blocks > PARSE_MAX_BLOCKS || p->branches > AST_MAX_HEIGHT) {
        parse_error(p, span, parse_blocks_too_deep,
                    p->blocks > PARSE_MAX_BLOCKS ? (int)PARSE_MAX_BLOCKS : (int)AST_MAX_HEIGHT);
        parse_abandon(p);
    }
}

static void leave_block(Parser *p) {
    p->branches--;
    p->blocks--;
}

/* The statements of a block that should not be there, or whose header was broken. */
static void parse_stray_block(Parser *p, bool reported) {
    parse_take(p);
    Span span = lex_span(p->lexer, parse_peek(p));
    if (!reported) {
        parse_error(p, span, parse_unexpected_indent);
        parse_hint(p, "align the line with the one above, or add the header of a block before it");
    }
    if (p->blocks + 1 > PARSE_MAX_BLOCKS) {
        p->next--; /* an INDENT is never the last token of a line */
        parse_skip_block(p);
        return;
    }
    enter_block(p, span);
    StmtVec dropped = {0};
    parse_block_statements(p, &dropped);
    leave_block(p);
}

void parse_block_statements(Parser *p, StmtVec *out) {
    bool broken = false;
    for (;;) {
        report_line_errors(p);
        if (diag_full(p->diags) || parse_at(p, TOK_end) || parse_accept(p, TOK_dedent))
            return;
        unsigned errors = p->diags->errors;
        bool clause = parse_at(p, KW_elif) || parse_at(p, KW_else) || parse_at(p, KW_except) ||
                      parse_at(p, KW_finally);
        if (parse_at(p, TOK_indent)) {
            parse_stray_block(p, broken);
            continue;
        }
        if (broken && clause) {
            parse_skip_line(p);
            continue;
        }
        parse_statement(p, out);
        broken = p->diags->errors != errors;
    }
}

static void parse_simple_statements(Parser *p, StmtVec *out);

/* block: NEWLINE INDENT statements DEDENT | simple_stmts ; with the ':' before it */
StmtList parse_block(Parser *p, Token header, const char *what) {
    StmtVec body = {0};
    if (parse_at(p, OP_assign)) {
        parse_error(p, lex_span(p->lexer, parse_peek(p)), parse_assign_in_condition);
        parse_hint(p, "write `==` to compare");
        parse_abandon(p);
    }
    if (!parse_accept(p, OP_colon))
        parse_fail_expected(p, str_format(p->arena, "`:` after %s", what));
    enter_block(p, lex_span(p->lexer, header));
    if (!parse_at(p, TOK_newline)) {
        parse_simple_statements(p, &body);
        leave_block(p);
        return parse_stmt_list(&body);
    }
    parse_take(p);
    report_line_errors(p);
    if (parse_accept(p, TOK_indent)) {
        parse_block_statements(p, &body);
    } else {
        parse_error(p, lex_span(p->lexer, parse_peek(p)), parse_missing_block,
                    lex_kind_text[header.kind]);
        parse_note(p, lex_span(p->lexer, header), "the block of this `%s`",
                   lex_kind_text[header.kind]);
        parse_hint(p, "indent the lines of the block; `pass` is an empty one");
    }
    leave_block(p);
    return parse_stmt_list(&body);
}

/* ---- compound statements ---- */

/* else_block: 'else' block */
static StmtList parse_else(Parser *p) {
    if (!parse_at(p, KW_else))
        return (StmtList){0};
    Token header = parse_take(p);
    return parse_block(p, header, "`else`");
}

static StmtList single(Parser *p, Stmt *stmt) {
    StmtVec list = {0};
    vec_push(p->arena, &list, stmt);
    return parse_stmt_list(&list);
}

/* if_stmt: 'if' named_expression block ('elif' named_expression block)* [else_block] */
static Stmt *parse_if(Parser *p) {
    Stmt *first = NULL, *last = NULL;
    uint32_t branches = p->branches;
    do {
        Token header = parse_take(p);
        Stmt *stmt = parse_new_stmt(p, STMT_if, header.lo);
        stmt->u.branch.condition = parse_named(p);
        finish_stmt(p, stmt);
        stmt->u.branch.body = parse_block(p, header, "the condition");
        if (last)
            last->u.branch.orelse = single(p, stmt);
        else
            first = stmt;
        last = stmt;
        p->branches++;
    } while (parse_at(p, KW_elif));
    last->u.branch.orelse = parse_else(p);
    p->branches = branches;
    return first;
}

/* while_stmt: 'while' named_expression block [else_block] */
static Stmt *parse_while(Parser *p) {
    Token header = parse_take(p);
    Stmt *stmt = parse_new_stmt(p, STMT_while, header.lo);
    stmt->u.branch.condition = parse_named(p);
    finish_stmt(p, stmt);
    stmt->u.branch.body = parse_block(p, header, "the condition");
    stmt->u.branch.orelse = parse_else(p);
    return stmt;
}

/* for_stmt: 'for' star_targets 'in' star_expressions block [else_block] */
static Stmt *parse_for(Parser *p) {
    Token header = parse_take(p);
    Stmt *stmt = parse_new_stmt(p, STMT_for, header.lo);
    stmt->u.loop.target = parse_targets(p);
    parse_expect(p, KW_in, "`in` and what to loop over");
    stmt->u.loop.iterable = parse_star_expressions(p);
    finish_stmt(p, stmt);
    stmt->u.loop.body = parse_block(p, header, "the range");
    stmt->u.loop.orelse = parse_else(p);
    return stmt;
}

/* True at a `(` that encloses all items of a `with`: its `)` is followed by the colon. */
static bool with_is_parenthesised(Parser *p) {
    const Lexer *lexer = p->lexer;
    size_t depth = 0;
    if (!parse_at(p, OP_lparen))
        return false;
    for (size_t i = p->next; i < lexer->tokens.len; i++) {
        TokenKind kind = lexer->tokens.data[i].kind;
        depth += kind == OP_lparen || kind == OP_lbracket || kind == OP_lbrace;
        depth -= kind == OP_rparen || kind == OP_rbracket || kind == OP_rbrace;
        if (depth == 0)
            return i + 1 < lexer->tokens.len && lexer->tokens.data[i + 1].kind == OP_colon;
    }
    return false;
}

/* with_stmt: 'with' '(' with_item (',' with_item)* [','] ')' block | 'with' with_item (','
 * with_item)* block with_item: expression ['as' star_target] */
static Stmt *parse_with(Parser *p) {
    Token header = parse_take(p), open = parse_peek(p);
    Stmt *stmt = parse_new_stmt(p, STMT_with, header.lo);
    ExprVec items = {0}, targets = {0};
    bool parenthesised = with_is_parenthesised(p);
    if (parenthesised)
        parse_take(p);
    do {
        if (parenthesised && items.len && parse_at(p, OP_rparen))
            break;
        vec_push(p->arena, &items, parse_test(p));
        Expr *target = NULL;
        if (parse_accept(p, KW_as)) {
            target = parse_test(p);
            parse_check_target(p, target, true);
        }
        vec_push(p->arena, &targets, target);
    } while (parse_accept(p, OP_comma));
    if (parenthesised)
        parse_close(p, open, OP_rparen);
    stmt->u.with.items = parse_list(&items);
    stmt->u.with.targets = parse_list(&targets);
    finish_stmt(p, stmt);
    stmt->u.with.body = parse_block(p, header, "the items of `with`");
    return stmt;
}

/* Passes over a compound statement and the clauses that belong to it. */
static Stmt *parse_unsupported(Parser *p, AstConstruct construct) {
    Stmt *stmt = parse_new_stmt(p, STMT_unsupported, parse_peek(p).lo);
    stmt->u.construct = construct;
    parse_take(p);
    finish_stmt(p, stmt);
    for (;;) {
        parse_skip_line(p);
        parse_skip_block(p);
        bool clause = parse_at(p, KW_except) || parse_at(p, KW_finally) || parse_at(p, KW_else);
        if (!clause)
            return stmt;
    }
}

static Stmt *parse_def_statement(Parser *p) {
    uint32_t lo = parse_peek(p).lo;
    ExprList decorators = parse_decorators(p);
    if (parse_at(p, KW_class))
        return parse_unsupported(p, CONSTRUCT_class);
    if (parse_at(p, KW_async))
        return parse_unsupported(p, CONSTRUCT_async);
    if (!parse_at(p, KW_def))
        parse_fail_expected(p, "`def` after the decorators");
    Stmt *stmt = parse_new_stmt(p, STMT_def, lo);
    stmt->u.def = parse_function(p, decorators, true);
    stmt->span = stmt->u.def->span;
    return stmt;
}

/* ---- simple statements ---- */

/* dotted_name: NAME ('.' NAME)* */
static Str parse_dotted(Parser *p, StrBuf *name) {
    do {
        Token part = parse_expect(p, TOK_name, "the name of a module");
        Str text = lex_text(p->lexer, part);
        strbuf_add(name, text.ptr, text.len);
        if (parse_at(p, OP_dot))
            strbuf_putc(name, '.');
    } while (parse_accept(p, OP_dot));
    return strbuf_str(name);
}

static Str parse_alias(Parser *p, Str name) {
    if (!parse_accept(p, KW_as))
        return name;
    return parse_intern(p, parse_expect(p, TOK_name, "a name after `as`"));
}

/* import_from: 'from' ('.' | '...')* [dotted_name] 'import' ('*' | '(' names [','] ')' | names)
 * names: NAME ['as' NAME] (',' NAME ['as' NAME])* */
static Stmt *parse_import_from(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_import, parse_take(p).lo);
    VEC(ImportName) names = {0};
    StrBuf module = strbuf(p->arena);
    stmt->u.import.is_from = true;
    for (; parse_at(p, OP_dot) || parse_at(p, OP_ellipsis); parse_take(p))
        strbuf_puts(&module, parse_at(p, OP_dot) ? "." : "...");
    if (!parse_at(p, KW_import) || module.len == 0)
        parse_dotted(p, &module);
    stmt->u.import.module = strbuf_str(&module);
    parse_expect(p, KW_import, "`import`");
    Token open = parse_peek(p);
    bool parenthesised = parse_accept(p, OP_lparen);
    do {
        if (parenthesised && names.len && parse_at(p, OP_rparen))
            break;
        ImportName import = {0};
        Token name = parse_peek(p);
        if (!parenthesised && !names.len && parse_accept(p, OP_star)) {
            import.name = import.alias = STR("*");
        } else {
            import.name = parse_intern(p, parse_expect(p, TOK_name, "a name to import"));
            import.alias = parse_alias(p, import.name);
        }
        import.span = parse_span_from(p, name.lo);
        vec_push(p->arena, &names, import);
    } while (parse_accept(p, OP_comma));
    if (parenthesised)
        parse_close(p, open, OP_rparen);
    stmt->u.import.names = names.data;
    stmt->u.import.name_count = (uint32_t)names.len;
    return finish_stmt(p, stmt);
}

/* import_name: 'import' dotted_name ['as' NAME] (',' dotted_name ['as' NAME])* */
Stmt *parse_import(Parser *p) {
    if (parse_at(p, KW_from))
        return parse_import_from(p);
    Stmt *stmt = parse_new_stmt(p, STMT_import, parse_take(p).lo);
    VEC(ImportName) names = {0};
    do {
        ImportName import = {0};
        uint32_t lo = parse_peek(p).lo;
        StrBuf name = strbuf(p->arena);
        import.name = parse_dotted(p, &name);
        import.alias = parse_alias(p, import.name);
        import.span = parse_span_from(p, lo);
        vec_push(p->arena, &names, import);
    } while (parse_accept(p, OP_comma));
    stmt->u.import.names = names.data;
    stmt->u.import.name_count = (uint32_t)names.len;
    return finish_stmt(p, stmt);
}

static AstOperator augmented_operator(TokenKind kind) {
    switch (kind) {
    case OP_plus_assign:
        return ASTOP_add;
    case OP_minus_assign:
        return ASTOP_sub;
    case OP_star_assign:
        return ASTOP_mul;
    case OP_slash_assign:
        return ASTOP_div;
    case OP_slashslash_assign:
        return ASTOP_floordiv;
    case OP_percent_assign:
        return ASTOP_mod;
    case OP_at_assign:
        return ASTOP_matmul;
    case OP_amp_assign:
        return ASTOP_bitand;
    case OP_pipe_assign:
        return ASTOP_bitor;
    case OP_caret_assign:
        return ASTOP_bitxor;
    case OP_lshift_assign:
        return ASTOP_lshift;
    case OP_rshift_assign:
        return ASTOP_rshift;
    case OP_starstar_assign:
        return ASTOP_pow;
    default:
        return ASTOP_COUNT;
    }
}

/* assignment: NAME-like ':' expression ['=' star_expressions] */
static Stmt *parse_annotated(Parser *p, Expr *target) {
    parse_check_target(p, target, false);
    Stmt *stmt = parse_new_stmt(p, STMT_annassign, target->span.lo);
    parse_take(p);
    stmt->u.annassign.target = target;
    stmt->u.annassign.annotation = parse_test(p);
    if (parse_accept(p, OP_assign))
        stmt->u.annassign.value = parse_star_expressions(p);
    return finish_stmt(p, stmt);
}

/* assignment: (star_targets '=')+ star_expressions | target augassign star_expressions | annotated
 * star_expressions alone */
Stmt *parse_simple_expression(Parser *p) {
    Expr *first = parse_star_expressions(p);
    Token token = parse_peek(p);
    if (token.kind == OP_colon)
        return parse_annotated(p, first);
    AstOperator op = augmented_operator(token.kind);
    if (op != ASTOP_COUNT) {
        parse_check_target(p, first, false);
        Stmt *stmt = parse_new_stmt(p, STMT_augassign, first->span.lo);
        parse_take(p);
        stmt->u.augassign.target = first;
        stmt->u.augassign.op = op;
        stmt->u.augassign.value = parse_star_expressions(p);
        return finish_stmt(p, stmt);
    }
    if (token.kind != OP_assign) {
        Stmt *stmt = parse_new_stmt(p, STMT_expr, first->span.lo);
        stmt->u.expr = first;
        return finish_stmt(p, stmt);
    }
    ExprVec targets = {0};
    Stmt *stmt = parse_new_stmt(p, STMT_assign, first->span.lo);
    Expr *value = first;
    while (parse_accept(p, OP_assign)) {
        parse_check_target(p, value, true);
        vec_push(p->arena, &targets, value);
        value = parse_star_expressions(p);
    }
    stmt->u.assign.targets = parse_list(&targets);
    stmt->u.assign.value = value;
    return finish_stmt(p, stmt);
}

static bool at_statement_end(Parser *p) {
    return parse_at(p, TOK_newline) || parse_at(p, OP_semicolon) || parse_at(p, TOK_end);
}

static Stmt *parse_keyword_alone(Parser *p, StmtKind kind) {
    return finish_stmt(p, parse_new_stmt(p, kind, parse_take(p).lo));
}

static Stmt *parse_dropped(Parser *p, AstConstruct construct) {
    Stmt *stmt = parse_new_stmt(p, STMT_unsupported, parse_take(p).lo);
    stmt->u.construct = construct;
    skip_simple(p);
    return finish_stmt(p, stmt);
}

/* return_stmt: 'return' [star_expressions]
 * raise_stmt: 'raise' [expression ['from' expression]] */
static Stmt *parse_return_or_raise(Parser *p, StmtKind kind) {
    Stmt *stmt = parse_new_stmt(p, kind, parse_take(p).lo);
    if (!at_statement_end(p))
        stmt->u.expr = parse_star_expressions(p);
    if (kind == STMT_raise && stmt->u.expr && parse_accept(p, KW_from))
        parse_test(p);
    return finish_stmt(p, stmt);
}

/* assert_stmt: 'assert' expression [',' expression] */
static Stmt *parse_assert(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_assert, parse_take(p).lo);
    stmt->u.assertion.condition = parse_named(p);
    if (parse_accept(p, OP_comma))
        stmt->u.assertion.message = parse_test(p);
    return finish_stmt(p, stmt);
}

/* del_stmt: 'del' del_targets */
static Stmt *parse_del(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_del, parse_take(p).lo);
    stmt->u.expr = parse_star_expressions(p);
    parse_check_target(p, stmt->u.expr, true);
    return finish_stmt(p, stmt);
}

/* simple_stmt: assignment | star_expressions | return | import | raise | pass | del | yield |
 * assert | break | continue | global | nonlocal */
static Stmt *parse_simple(Parser *p) {
    switch (parse_peek(p).kind) {
    case KW_return:
        return parse_return_or_raise(p, STMT_return);
    case KW_raise:
        return parse_return_or_raise(p, STMT_raise);
    case KW_pass:
        return parse_keyword_alone(p, STMT_pass);
    case KW_break:
        return parse_keyword_alone(p, STMT_break);
    case KW_continue:
        return parse_keyword_alone(p, STMT_continue);
    case KW_assert:
        return parse_assert(p);
    case KW_import:
    case KW_from:
        return parse_import(p);
    case KW_del:
        return parse_del(p);
    case KW_global:
        return parse_dropped(p, CONSTRUCT_global);
    case KW_nonlocal:
        return parse_dropped(p, CONSTRUCT_nonlocal);
    case KW_if:
    case KW_for:
    case KW_while:
    case KW_with:
    case KW_def:
    case KW_class:
    case KW_try:
        parse_fail_expected(p, "a simple statement on the line of the `:`");
    default:
        break;
    }
    if (parse_at_name(p, "type") && parse_peek_second(p).kind == TOK_name)
        return parse_dropped(p, CONSTRUCT_type);
    return parse_simple_expression(p);
}

/* What is left of a line behind a complete statement. */
static _Noreturn void fail_line_end(Parser *p) {
    Token token = parse_peek(p);
    Str previous = lex_text(p->lexer, p->previous);
    bool command =
        p->previous.kind == TOK_name && (str_is(previous, "print") || str_is(previous, "exec"));
    if (!command || token.kind == TOK_error)
        parse_fail_expected(p, "the end of the statement (a new line or `;`)");
    parse_error(p, lex_span(p->lexer, token), parse_print_statement, STR_ARG(previous));
    parse_hint(p, "write `tl.device_print(\"text\", value)` in a kernel");
    parse_abandon(p);
}

/* simple_stmts: simple_stmt (';' simple_stmt)* [';'] NEWLINE */
static void parse_simple_statements(Parser *p, StmtVec *out) {
    do {
        if (parse_at(p, TOK_newline))
            break;
        Stmt *stmt = parse_simple(p);
        if (!at_statement_end(p))
            fail_line_end(p);
        vec_push(p->arena, out, stmt);
    } while (parse_accept(p, OP_semicolon));
    if (!parse_accept(p, TOK_newline) && !parse_at(p, TOK_end))
        parse_fail_expected(p, "the end of the statement");
}

/* `match` is a keyword only as the first word of a line that ends with a colon. */
static bool at_match(Parser *p) {
    const Lexer *lexer = p->lexer;
    size_t count = lexer->tokens.len;
    if (!parse_at_name(p, "match"))
        return false;
    TokenKind second = parse_peek_second(p).kind;
    return count >= 2 && lexer->tokens.data[count - 2].kind == OP_colon && second != OP_colon &&
           second != OP_assign && second != OP_dot;
}

/* statement: compound_stmt | simple_stmts */
static void parse_any_statement(Parser *p, StmtVec *out) {
    Stmt *stmt;
    Token token = parse_peek(p);
    switch (token.kind) {
    case KW_if:
        stmt = parse_if(p);
        break;
    case KW_for:
        stmt = parse_for(p);
        break;
    case KW_while:
        stmt = parse_while(p);
        break;
    case KW_with:
        stmt = parse_with(p);
        break;
    case KW_def:
    case OP_at:
        stmt = parse_def_statement(p);
        break;
    case KW_try:
        stmt = parse_unsupported(p, CONSTRUCT_try);
        break;
    case KW_class:
        stmt = parse_unsupported(p, CONSTRUCT_class);
        break;
    case KW_async:
        stmt = parse_unsupported(p, CONSTRUCT_async);
        break;
    case KW_elif:
    case KW_else:
    case KW_except:
    case KW_finally:
        parse_error(p, lex_span(p->lexer, token), parse_stray_clause, lex_kind_text[token.kind]);
        parse_hint(p, "align it with the statement that it belongs to");
        parse_abandon(p);
    default:
        if (!at_match(p)) {
            parse_simple_statements(p, out);
            return;
        }
        stmt = parse_unsupported(p, CONSTRUCT_match);
        break;
    }
    vec_push(p->arena, out, stmt);
}

void parse_statement(Parser *p, StmtVec *out) {
    jmp_buf here;
    jmp_buf *outer = p->recover;
    const uint32_t nesting = p->nesting, blocks = p->blocks, branches = p->branches;
    p->recover = &here;
    if (setjmp(here) == 0) {
        parse_any_statement(p, out);
    } else {
        p->nesting = nesting;
        p->blocks = blocks;
        p->branches = branches;
        parse_recover(p);
    }
    p->recover = outer;
}
