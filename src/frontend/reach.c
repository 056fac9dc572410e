/* What the code of a kernel depends on in its file: the function, and every definition that it can
 * reach by name.
 *
 * Names are taken from tokens, not from the tree: every word in the text of a definition that
 * counts, be it a variable, an attribute, a keyword or a word in a string, makes every definition
 * of that name count. Imports always count. That is more than the elaborator asks for, and
 * reach_has_name tells whether it is all of it.
 *
 * Definitions count with their lines, whole, and tokens with their kind, place and text. Comments,
 * blank lines and white space at the end of a line are no tokens, and what lies before a token
 * shows in its place. */
#include "frontend/reach.h"

#include "frontend/lex.h"

typedef struct TokenList {
    Token *data;
    size_t len, cap;
} TokenList;

typedef struct Range {
    size_t first, last; /* tokens, the last exclusive */
} Range;

typedef struct Collector {
    Ctx *ctx;
    const AstFile *syntax;
    Lexer lexer;
    TokenList tokens; /* of the file */
    bool *counts;     /* of the statements */
    Reach *reach;
    bool no_places; /* only what tokens say counts, not where */
    Span without;   /* what stands there does not count */
} Collector;

/* False where the file has a mistake in a token: the parser may have gone on elsewhere. */
static bool read_tokens(Collector *c) {
    const Source *source = source_get(&c->ctx->sources, c->syntax->file);
    lex_init(&c->lexer, &c->ctx->arena, source, c->syntax->file);
    for (;;) {
        lex_line(&c->lexer);
        vec_for_each (token, &c->lexer.tokens) {
            if (token->kind == TOK_error)
                return false;
            vec_push(&c->ctx->arena, &c->tokens, *token);
            if (token->kind == TOK_end)
                return true;
        }
    }
}

/* Ends, and begins, a logical line. */
static bool is_boundary(const Token *token) {
    return token->kind == TOK_newline || token->kind == TOK_indent || token->kind == TOK_dedent ||
           token->kind == TOK_end;
}

/* The first token that is text at or behind an offset. */
static size_t token_at(const Collector *c, uint32_t offset) {
    size_t lo = 0, hi = c->tokens.len - 1;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->tokens.data[mid].lo < offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (is_boundary(&c->tokens.data[lo]) && lo + 1 < c->tokens.len)
        lo++;
    return lo;
}

static size_t line_begin(const Collector *c, size_t at) {
    while (at && !is_boundary(&c->tokens.data[at - 1]))
        at--;
    return at;
}

/* Behind the NEWLINE. */
static size_t line_end(const Collector *c, size_t at) {
    while (c->tokens.data[at].kind != TOK_newline && c->tokens.data[at].kind != TOK_end)
        at++;
    return at + (c->tokens.data[at].kind == TOK_newline);
}

/* Behind the block that begins there; `at` itself if none does. */
static size_t block_end(const Collector *c, size_t at) {
    size_t depth = 0;
    do {
        depth += c->tokens.data[at].kind == TOK_indent;
        depth -= depth && c->tokens.data[at].kind == TOK_dedent;
        if (depth)
            at++;
    } while (depth && c->tokens.data[at].kind != TOK_end);
    return at;
}

/* The lines of a statement; of a function that no kernel can call, those of its header. */
static Range range_of(const Collector *c, const Stmt *stmt) {
    const size_t begin = token_at(c, stmt->span.lo);
    size_t last = begin;
    while (last + 1 < c->tokens.len && c->tokens.data[last + 1].lo < stmt->span.hi)
        last++;
    Range range = {line_begin(c, begin), line_end(c, last)};
    const ExprList none = {0}, *decorators = stmt->kind == STMT_def ? &stmt->u.def->decorators
                                             : stmt->kind == STMT_class
                                                 ? &stmt->u.class_def->decorators
                                                 : &none;
    if (decorators->count) {
        size_t decorator = token_at(c, decorators->items[0]->span.lo);
        range.first = line_begin(c, decorator < begin ? decorator : begin);
    }
    if (stmt->kind == STMT_class || (stmt->kind == STMT_def && stmt->u.def->body.count))
        range.last = block_end(c, range.last);
    return range;
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static void add_name(Collector *c, Str name) {
    const char *interned = ctx_intern(c->ctx, name).ptr;
    ptrmap_set(&c->reach->names, interned, (void *)(uintptr_t)interned);
}

static void add_words(Collector *c, Str text) {
    for (size_t i = 0; i < text.len;) {
        size_t begin = i;
        while (i < text.len && is_word_byte(text.ptr[i]))
            i++;
        if (i > begin)
            add_name(c, (Str){text.ptr + begin, i - begin});
        else
            i++;
    }
}

bool reach_has_name(Ctx *ctx, const Reach *reach, Str name) {
    return ptrmap_get(&reach->names, ctx_intern(ctx, name).ptr) != NULL;
}

static bool is_left_out(const Collector *c, const Token *token) {
    return token->lo >= c->without.lo && token->lo < c->without.hi;
}

static bool is_reached(const Collector *c, const Stmt *stmt) {
    if (stmt->kind == STMT_import)
        return true;
    for (uint32_t i = 0; ast_bound_name(stmt, i).len; i++)
        if (reach_has_name(c->ctx, c->reach, ast_bound_name(stmt, i)))
            return true;
    return false;
}

/* Until nothing new counts. Definitions mostly stand before what uses them: one round for all of
 * them, and one to see it. False where that takes unusually many. */
static bool follow_names(Collector *c) {
    enum { MOST_ROUNDS = 64 };
    bool more = true;
    for (int round = 0; more && round < MOST_ROUNDS; round++) {
        more = false;
        for (uint32_t i = c->syntax->body.count; i-- > 0;) {
            const Stmt *stmt = c->syntax->body.items[i];
            if (c->counts[i] || !is_reached(c, stmt))
                continue;
            c->counts[i] = more = true;
            Range range = range_of(c, stmt);
            for (size_t t = range.first; t < range.last; t++)
                if (!is_boundary(&c->tokens.data[t]) && !is_left_out(c, &c->tokens.data[t]))
                    add_words(c, lex_text(&c->lexer, c->tokens.data[t]));
        }
    }
    return !more;
}

/* What the parser made of the statement, which other lines may have a say in: conditions and
 * imports around it. */
static void describe(const Stmt *stmt, StrBuf *out) {
    strbuf_printf(out, "statement %d", (int)stmt->kind);
    if (stmt->kind == STMT_def)
        strbuf_printf(out, " %d %d %u", stmt->u.def->is_jit, stmt->u.def->is_constexpr_function,
                      stmt->u.def->body.count);
    for (uint32_t i = 0; ast_bound_name(stmt, i).len; i++)
        strbuf_printf(out, " %.*s", STR_ARG(ast_bound_name(stmt, i)));
    strbuf_putc(out, '\n');
}

static void put_tokens(Collector *c, Range range, StrBuf *out) {
    const Source *source = source_get(&c->ctx->sources, c->syntax->file);
    for (size_t t = range.first; t < range.last; t++) {
        const Token token = c->tokens.data[t];
        if (is_boundary(&token)) {
            strbuf_printf(out, "%d\n", token.kind);
            continue;
        }
        if (is_left_out(c, &token))
            continue;
        const LineColumn at = c->no_places ? (LineColumn){0} : source_locate(source, token.lo);
        Str text = lex_text(&c->lexer, token);
        strbuf_printf(out, "%d %u %u %zu ", token.kind, at.line, at.column, text.len);
        strbuf_add(out, text.ptr, text.len);
        strbuf_putc(out, '\n');
        vec_push(&c->ctx->arena, &c->reach->places, ((ReachPlace){token.lo, token.hi}));
    }
}

static bool collect(Collector *c, const FuncDef *kernel) {
    const AstFile *syntax = c->syntax;
    Ctx *ctx = c->ctx;
    *c->reach = (Reach){.file = syntax->file, .names = {.arena = &ctx->arena}};
    if (!read_tokens(c))
        return false;
    c->counts = ARENA_ARRAY(&ctx->arena, bool, (size_t)syntax->body.count + 1);
    add_name(c, kernel->name);
    if (!follow_names(c))
        return false;
    StrBuf text = strbuf(&ctx->arena);
    strbuf_printf(&text, "kernel %.*s\n", STR_ARG(kernel->name));
    for (uint32_t i = 0; i < syntax->body.count; i++) {
        if (!c->counts[i])
            continue;
        describe(syntax->body.items[i], &text);
        put_tokens(c, range_of(c, syntax->body.items[i]), &text);
    }
    c->reach->text = strbuf_str(&text);
    return true;
}

bool frontend_reach(Ctx *ctx, const AstFile *syntax, const FuncDef *kernel, Reach *reach) {
    Collector c = {.ctx = ctx, .syntax = syntax, .reach = reach};
    return collect(&c, kernel);
}

bool frontend_meaning(Ctx *ctx, const AstFile *syntax, const FuncDef *kernel, Str *text) {
    Reach reach;
    Collector c = {.ctx = ctx, .syntax = syntax, .reach = &reach, .no_places = true};
    for (uint32_t i = 0; i < kernel->decorators.count; i++)
        if (str_is(ast_decorator_name(kernel->decorators.items[i]), "autotune"))
            c.without = kernel->decorators.items[i]->span;
    const bool ok = collect(&c, kernel);
    *text = reach.text;
    return ok;
}

bool reach_has_span(const Reach *reach, Span span) {
    if (span.file != reach->file)
        return true;
    bool begins = false, ends = false;
    vec_for_each (place, &reach->places) {
        begins |= place->lo == span.lo;
        ends |= place->hi == span.hi;
    }
    return begins && ends;
}
