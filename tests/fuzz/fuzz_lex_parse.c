/* Any bytes as a source file and as an expression. Beyond not crashing: tokens lie in the source
 * and go forward, errors have their place in it, a failed expression has a message, trees are
 * bounded, and reading the same text twice gives the same tree. */
#include "frontend/lex.h"
#include "frontend/parse.h"
#include "fuzz.h"

static void check_tokens(const Source *source, Arena *arena) {
    Lexer lexer;
    lex_init(&lexer, arena, source, 1);
    uint32_t last = 0;
    size_t depth = 0;
    for (size_t lines = 0;; lines++) {
        FUZZ_CHECK(lines <= source->text.len + 2);
        lex_line(&lexer);
        FUZZ_CHECK(lexer.tokens.len > 0);
        vec_for_each (token, &lexer.tokens) {
            FUZZ_CHECK(token->lo <= token->hi && token->hi <= source->text.len);
            bool at_opener = token->kind == TOK_error && token->error == LEX_unclosed_bracket;
            FUZZ_CHECK(at_opener || token->lo >= last);
            if (!at_opener)
                last = token->hi;
            depth += token->kind == TOK_indent;
            FUZZ_CHECK(token->kind != TOK_dedent || depth > 0);
            depth -= token->kind == TOK_dedent;
        }
        if (lexer.tokens.data[lexer.tokens.len - 1].kind == TOK_end)
            break;
    }
    FUZZ_CHECK(depth == 0);
}

static void check_messages(const Diags *diags, const Source *source, StrBuf *out) {
    for (const Diagnostic *d = diags->first; d; d = d->next) {
        FUZZ_CHECK(d->span.file == 1 && d->span.lo <= d->span.hi);
        FUZZ_CHECK(d->span.hi <= source->text.len + 3);
    }
    diag_print_all(diags, out);
    diag_json(diags, out);
}

static Str parse_and_print(Arena *arena, Str text, bool check) {
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    uint32_t file = source_add(&sources, STR("input.py"), text);
    const AstFile *ast = parse_file(&diags, file);
    StrBuf out = strbuf(arena);
    ast_print_file(ast, &out);
    check_messages(&diags, source_get(&sources, file), &out);
    if (!check)
        return strbuf_str(&out);
    check_tokens(source_get(&sources, file), arena);
    Diags expression_diags = {.arena = arena, .sources = &sources};
    const Expr *expr = parse_expression(&expression_diags, file);
    FUZZ_CHECK((expr == NULL) == (expression_diags.errors > 0));
    FUZZ_CHECK(!expr || expr->height <= AST_MAX_HEIGHT);
    check_messages(&expression_diags, source_get(&sources, file), &out);
    return strbuf_str(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    jmp_buf oom;
    Arena arena = {.oom = &oom, .limit = (size_t)1 << 30};
    if (setjmp(oom) == 0) {
        Str text = {(const char *)data, size};
        Str first = parse_and_print(&arena, text, false);
        Str second = parse_and_print(&arena, text, true);
        FUZZ_CHECK(second.len >= first.len && memcmp(first.ptr, second.ptr, first.len) == 0);
    }
    arena_free(&arena);
    return 0;
}
