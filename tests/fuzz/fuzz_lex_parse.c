/* Any bytes as a source file, as an expression, a literal and a unit. Beyond not crashing: tokens
 * lie in the source and go forward, errors have their place in it, a failed expression has a
 * message, trees are bounded, and reading the same text twice gives the same tree. */
#include "frontend/extent.h"
#include "frontend/free_names.h"
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
            bool is_before = token->kind == TOK_error && (token->error == LEX_unclosed_bracket ||
                                                          token->error == LEX_lone_indent);
            FUZZ_CHECK(is_before || token->lo >= last);
            if (!is_before)
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

static uint32_t count_lines(Str text) {
    uint32_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n' || text.ptr[i] == '\r';
    return lines;
}

/* As a unit that begins somewhere in a file: a function with names, or a message; places go there
 * and back. Its extent lies in the text. */
static void parse_as_unit(Arena *arena, Str text) {
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    const LineColumn begin = {1000, 9};
    uint32_t file = source_add_part(&sources, STR("unit.py"), text, begin, false);
    const Source *source = source_get(&sources, file);
    const AstFile *ast = parse_unit(&diags, file);
    FUZZ_CHECK((ast->body.count == 1) == (diags.errors == 0));
    StrBuf out = strbuf(arena);
    check_messages(&diags, source, &out);
    FreeNames names = {0};
    if (ast->body.count)
        free_names(arena, ast->body.items[0]->u.def, &names);
    vec_for_each (name, &names) {
        FUZZ_CHECK(name->name.len && name->span.hi <= text.len);
        const LineColumn at = source_locate(source, name->span.lo);
        FUZZ_CHECK(at.line >= begin.line && at.column >= begin.column);
        FUZZ_CHECK(source_offset(source, at) == name->span.lo);
    }
    Diags literal_diags = {.arena = arena, .sources = &sources};
    FUZZ_CHECK((parse_literal_value(&literal_diags, file) == NULL) == (literal_diags.errors > 0));
    Extent extent;
    const uint32_t lines = count_lines(text);
    for (uint32_t line = 0; line < 4; line++)
        if (extent_find(text, line, &extent))
            FUZZ_CHECK(extent.first_line == line && extent.def_line >= line &&
                       extent.end_line >= extent.def_line && extent.end_line <= lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    jmp_buf oom;
    Arena arena = {.oom = &oom, .limit = (size_t)1 << 30};
    if (setjmp(oom) == 0) {
        Str text = {(const char *)data, size};
        Str first = parse_and_print(&arena, text, false);
        Str second = parse_and_print(&arena, text, true);
        parse_as_unit(&arena, text);
        FUZZ_CHECK(second.len >= first.len && memcmp(first.ptr, second.ptr, first.len) == 0);
    }
    arena_free(&arena);
    return 0;
}
