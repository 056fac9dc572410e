/* Functions and classes at the top level of a file. */
#include "frontend/parse_top.h"

/* Reads with `read(p)`, silently; NULL if that is not what stands there. */
Stmt *read_silently(Parser *p, Stmt *(*read)(Parser *)) {
    jmp_buf here;
    jmp_buf *outer = p->recover;
    const bool silent = p->silent;
    Stmt *volatile stmt = NULL;
    p->silent = true;
    p->nesting = 0;
    p->recover = &here;
    if (setjmp(here) == 0)
        stmt = read(p);
    p->recover = outer;
    p->silent = silent;
    p->nesting = 0;
    if (p->lexer != &p->file_lexer) {
        p->lexer = &p->file_lexer;
        p->next = p->file_next;
    }
    return stmt;
}

/* Passing over host code */

/* An error that hides the rest of the file is reported even in host code. */
static void report_swallowed(Parser *p) {
    for (size_t i = p->next; i < p->lexer->tokens.len; i++) {
        Token token = p->lexer->tokens.data[i];
        bool swallows =
            token.kind == TOK_error && p->lexer->cursor >= p->lexer->limit &&
            (token.error == LEX_unterminated_triple || token.error == LEX_unclosed_bracket);
        if (swallows)
            lex_report(p->lexer, p->diags, token);
    }
}

void top_skip_line(Parser *p) {
    parse_peek(p);
    report_swallowed(p);
    while (!parse_at(p, TOK_end) && !parse_accept(p, TOK_newline))
        parse_take(p);
}

/* A mistake in the indentation of a line stands before its DEDENTs, which are not to be passed over
 * with it. */
bool top_accept_line_error(Parser *p) {
    Token token = parse_peek(p);
    if (!lex_is_line_error(token))
        return false;
    parse_take(p);
    return true;
}

void top_skip_statement(Parser *p) {
    if (!parse_at(p, TOK_indent))
        top_skip_line(p);
    size_t depth = 0;
    for (;;) {
        if (top_accept_line_error(p))
            continue;
        if (!parse_at(p, TOK_indent) && !depth)
            return;
        if (parse_accept(p, TOK_indent))
            depth++;
        else if (parse_accept(p, TOK_dedent))
            depth--;
        else if (parse_at(p, TOK_end))
            return;
        else
            top_skip_line(p);
    }
}

/* Modules whose `jit` is another compiler's. */
static bool is_foreign_module(Str module) {
    static const char *const foreign[] = {"numba", "jax", "torch", "cupy", "cupyx", "taichi"};
    size_t length = 0;
    while (length < module.len && module.ptr[length] != '.')
        length++;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (str_is((Str){module.ptr, length}, foreign[i]))
            return true;
    return false;
}

/* Whether the name stands for something of a foreign module, by the imports read so far. */
static bool is_foreign(TopLevel *top, Str name) {
    for (size_t i = top->body.len; i-- > 0 && top->searched < MAX_SEARCHED; top->searched++) {
        const Stmt *stmt = top->body.data[i];
        if (stmt->kind != STMT_import)
            continue;
        for (uint32_t n = 0; n < stmt->u.import.name_count; n++) {
            const ImportName *import = &stmt->u.import.names[n];
            if (str_eq(import->alias, name))
                return is_foreign_module(stmt->u.import.is_from ? stmt->u.import.module
                                                                : import->name);
        }
    }
    return is_foreign_module(name);
}

/* What a decorator line says, from its tokens alone: @a.b.jit or @a.b.jit(...). */
static bool decorator_names_kernel(TopLevel *top) {
    Parser *p = top->p;
    const Lexer *lexer = p->lexer;
    size_t i = p->next + 1;
    Str first = {0}, last = {0};
    for (; i < lexer->tokens.len && lexer->tokens.data[i].kind == TOK_name; i++) {
        last = lex_text(lexer, lexer->tokens.data[i]);
        if (!first.len)
            first = last;
        if (i + 1 < lexer->tokens.len && lexer->tokens.data[i + 1].kind == OP_dot)
            i++;
        else
            break;
    }
    return (str_is(last, "jit") && !is_foreign(top, first)) || str_is(last, "constexpr_function") ||
           str_is(last, "constexpr");
}

typedef struct Decorated {
    bool kernel; /* a jit function or a constexpr function */
    bool parsed; /* all decorators */
    ExprList list;
} Decorated;

static Stmt *read_decorator(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_expr, parse_peek(p).lo);
    parse_take(p);
    stmt->u.expr = parse_named(p);
    parse_expect(p, TOK_newline, "the end of the line after a decorator");
    return stmt;
}

/* The decorators at hand. One that does not parse is passed over here; if it turns out that they
 * are those of a kernel, they are read again with messages. */
static Decorated top_decorators(TopLevel *top) {
    Parser *p = top->p;
    Decorated decorated = {.parsed = true};
    ExprVec list = {0};
    while (parse_at(p, OP_at)) {
        decorated.kernel |= decorator_names_kernel(top);
        Stmt *stmt = read_silently(p, read_decorator);
        if (stmt) {
            vec_push(p->arena, &list, stmt->u.expr);
        } else {
            decorated.parsed = false;
            top_skip_line(p);
        }
    }
    decorated.list = parse_list(&list);
    return decorated;
}

/* Parses the decorators (again, if `decorated` is NULL) and the function at hand with messages. */
static FuncDef *read_kernel(Parser *p, const Decorated *decorated) {
    jmp_buf here;
    jmp_buf *outer = p->recover;
    FuncDef *volatile def = NULL;
    StmtVec dropped = {0};
    p->nesting = p->blocks = p->branches = 0;
    p->recover = &here;
    if (setjmp(here) == 0) {
        ExprList decorators = decorated ? decorated->list : parse_decorators(p);
        if (!parse_at(p, KW_def))
            parse_fail_expected(p, "`def` after the decorators");
        def = parse_function(p, decorators, true);
    } else {
        p->nesting = p->blocks = p->branches = 0;
        parse_recover(p);
        p->recover = &here;
        if (setjmp(here) == 0 && parse_accept(p, TOK_indent))
            parse_block_statements(p, &dropped);
    }
    p->recover = outer;
    return def;
}

static void keep_function(TopLevel *top, FuncDef *def) {
    Stmt *stmt = parse_new_stmt(top->p, STMT_def, def->span.lo);
    stmt->span = def->span;
    stmt->u.def = def;
    vec_push(top->p->arena, &top->body, stmt);
}

static Stmt *read_header(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_def, parse_peek(p).lo);
    stmt->u.def = parse_function(p, (ExprList){0}, false);
    stmt->span = stmt->u.def->span;
    return stmt;
}

static Stmt *read_whole(Parser *p) {
    Stmt *stmt = parse_new_stmt(p, STMT_def, parse_peek(p).lo);
    stmt->u.def = parse_function(p, (ExprList){0}, true);
    stmt->span = stmt->u.def->span;
    return stmt;
}

/* A function of the host: whole, which functions evaluated at compile time may call, or if there is
 * something in it that does not parse its header. */
static Stmt *plain_function(TopLevel *top, size_t indents) {
    Parser *p = top->p;
    const uint32_t start = parse_peek(p).lo, abandoned = p->abandoned;
    Stmt *whole = read_silently(p, read_whole);
    p->blocks = p->branches = 0;
    if (whole && p->abandoned == abandoned)
        return whole;
    lex_restart(p->lexer, start, indents);
    p->next = 0;
    Stmt *header = read_silently(p, read_header);
    if (!parse_at(p, TOK_dedent) && !parse_at(p, TOK_indent))
        top_skip_statement(p);
    return header;
}

/* Classes */

static ExprList parse_bases(Parser *p) {
    ExprVec bases = {0};
    if (!parse_at(p, OP_lparen))
        return (ExprList){0};
    const Token open = parse_take(p);
    while (!parse_at(p, OP_rparen)) {
        vec_push(p->arena, &bases, parse_test(p));
        if (!parse_accept(p, OP_comma))
            break;
    }
    parse_close(p, open, OP_rparen);
    return parse_list(&bases);
}

static Stmt *read_class(Parser *p) {
    const Token header = parse_expect(p, KW_class, "`class`");
    Stmt *stmt = parse_new_stmt(p, STMT_class, header.lo);
    ClassDef *def = stmt->u.class_def = ARENA_NEW(p->arena, ClassDef);
    def->name = parse_intern(p, parse_expect(p, TOK_name, "the name of the class"));
    def->bases = parse_bases(p);
    stmt->span = def->span = parse_span_from(p, header.lo);
    def->body = parse_block(p, header, "the bases");
    return stmt;
}

static bool has_last_name(const ExprList *list, const char *name) {
    for (uint32_t i = 0; i < list->count; i++)
        if (str_is(ast_decorator_name(list->items[i]), name))
            return true;
    return false;
}

/* A class: kept where its values may be in kernels, an aggregate with messages. */
static void top_class(TopLevel *top, const Decorated *decorated, size_t indents) {
    Parser *p = top->p;
    const uint32_t start = parse_peek(p).lo, abandoned = p->abandoned;
    const bool is_aggregate = has_last_name(&decorated->list, "aggregate") ||
                              has_last_name(&decorated->list, "_aggregate");
    jmp_buf here;
    jmp_buf *outer = p->recover;
    Stmt *volatile stmt = NULL;
    p->recover = &here;
    if (!is_aggregate)
        stmt = read_silently(p, read_class);
    else if (setjmp(here) == 0)
        stmt = read_class(p);
    p->recover = outer;
    p->nesting = p->blocks = p->branches = 0;
    const bool is_kept = stmt && p->abandoned == abandoned &&
                         (is_aggregate || has_last_name(&stmt->u.class_def->bases, "NamedTuple"));
    if (stmt && is_kept) {
        stmt->u.class_def->decorators = decorated->list;
        stmt->u.class_def->is_aggregate = is_aggregate;
        vec_push(p->arena, &top->body, stmt);
    }
    if (stmt && p->abandoned == abandoned)
        return;
    lex_restart(p->lexer, start, indents);
    p->next = 0;
    top_skip_statement(p);
}

static void read_definition(TopLevel *top) {
    Parser *p = top->p;
    uint32_t start = parse_peek(p).lo;
    size_t indents = p->lexer->indents.len;
    Decorated decorated = top_decorators(top);
    bool is_function = parse_at(p, KW_def);
    if (parse_at(p, KW_class)) {
        top_class(top, &decorated, indents);
        return;
    }
    if (decorated.kernel && !parse_at(p, KW_async)) {
        if (!decorated.parsed) {
            lex_restart(p->lexer, start, indents);
            p->next = 0;
        }
        FuncDef *def = read_kernel(p, decorated.parsed ? &decorated : NULL);
        if (def)
            keep_function(top, def);
        return;
    }
    if (is_function) {
        Stmt *plain = plain_function(top, indents);
        if (!plain)
            return;
        plain->u.def->decorators = decorated.list;
        vec_push(p->arena, &top->body, plain);
        return;
    }
    if (!parse_at(p, TOK_dedent) && !parse_at(p, TOK_indent))
        top_skip_statement(p);
}

void top_definition(TopLevel *top) {
    Parser *p = top->p;
    const uint32_t blocks = p->blocks,
                   branches = p->branches; /* around it, which its body does not count */
    read_definition(top);
    p->blocks = blocks;
    p->branches = branches;
}
