/* Trees and messages as text, compared with the files in Inputs. TILEC_BLESS=1 writes the files
 * anew; the differences are then for the reviewer of the commit.
 *
 *   Inputs/NAME.py with NAME.ast         whole files, which parse without a message
 *   Inputs/trees.golden, errors.golden   many small cases, each
 *                                            ==== title
 *                                            source
 *                                            ----
 *                                            the tree, or the messages and a summary of what is
 * left */
#include "frontend/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define INPUTS TILEC_SOURCE_DIR "/tests/frontend/parse/Inputs/"

static Str read_whole(Arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot read %s", path);
    StrBuf text = strbuf(arena);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        strbuf_add(&text, block, n);
    fclose(file);
    return strbuf_str(&text);
}

static void write_whole(const char *path, Str text) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(text.ptr, 1, text.len, file) != text.len || fclose(file) != 0)
        fail_msg("cannot write %s", path);
}

static bool blessing(void) {
    return getenv("TILEC_BLESS") != NULL;
}

static void check_text(const char *path, Str want, Str got) {
    if (str_eq(want, got))
        return;
    if (blessing()) {
        write_whole(path, got);
        return;
    }
    size_t at = 0, line = 1;
    while (at < want.len && at < got.len && want.ptr[at] == got.ptr[at])
        line += want.ptr[at++] == '\n';
    fail_msg("%s:%zu: the result differs; got instead, from there:\n%.400s", path, line,
             got.ptr + at);
}

/* What is left of a file with errors: its functions and the number of their statements. */
static void add_summary(const AstFile *ast, StrBuf *out) {
    strbuf_puts(out, "left:");
    for (uint32_t i = 0; i < ast->body.count; i++)
        if (ast->body.items[i]->kind == STMT_def) {
            const FuncDef *def = ast->body.items[i]->u.def;
            strbuf_printf(out, " %.*s/%u", STR_ARG(def->name), def->body.count);
        }
    strbuf_putc(out, '\n');
}

/* The tree as text, or the messages; the source is called `t.py`. */
static Str parse_text(Arena *arena, Str source, unsigned *errors) {
    SourceMap sources = {.arena = arena};
    Diags diags = {.arena = arena, .sources = &sources};
    const AstFile *ast = parse_file(&diags, source_add(&sources, STR("t.py"), source));
    StrBuf out = strbuf(arena);
    for (const Diagnostic *d = diags.first; d; d = d->next) {
        strbuf_printf(&out, "[%s] ", diag_name(d->id));
        diag_print(&diags, d, &out);
    }
    if (diags.errors)
        add_summary(ast, &out);
    else
        ast_print_file(ast, &out);
    *errors = diags.errors;
    return strbuf_str(&out);
}

/* The rest of `*text` up to a line that begins with `marker`; `*text` is then at that line. */
static Str take_until(Str *text, const char *marker) {
    size_t end = 0;
    while (end < text->len && strncmp(text->ptr + end, marker, strlen(marker)) != 0) {
        const char *newline = memchr(text->ptr + end, '\n', text->len - end);
        end = newline ? (size_t)(newline - text->ptr) + 1 : text->len;
    }
    Str taken = {text->ptr, end};
    *text = (Str){text->ptr + end, text->len - end};
    return taken;
}

/* Runs every case of a file; `wants_errors`: each must give one, else none may. Returns their
 * number. */
static size_t check_cases(const char *path, bool wants_errors) {
    Arena arena = {0};
    Str text = read_whole(&arena, path), rest = text;
    StrBuf out = strbuf(&arena);
    size_t count = 0;
    Str head = take_until(&rest, "==== ");
    strbuf_add(&out, head.ptr, head.len);
    while (rest.len) {
        const char *newline = memchr(rest.ptr, '\n', rest.len);
        assert_non_null(newline);
        Str title = {rest.ptr, (size_t)(newline - rest.ptr) + 1};
        rest = (Str){newline + 1, rest.len - title.len};
        Str source = take_until(&rest, "----");
        take_until(&rest, "==== ");
        unsigned errors = 0;
        Str result = parse_text(&arena, source, &errors);
        if ((errors > 0) != wants_errors)
            fail_msg("%.*s has %u errors:\n%.*s", STR_ARG(title), errors, STR_ARG(result));
        strbuf_printf(&out, "%.*s%.*s----\n%.*s", STR_ARG(title), STR_ARG(source), STR_ARG(result));
        count++;
    }
    check_text(path, text, strbuf_str(&out));
    arena_free(&arena);
    return count;
}

static void test_trees(void **state) {
    assert_true(check_cases(INPUTS "trees.golden", false) >= 40);
}

static void test_errors(void **state) {
    assert_true(check_cases(INPUTS "errors.golden", true) >= 60);
}

static void test_files(void **state) {
    static const char *const names[] = {"attention", "layernorm", "matmul", "mixed_host",
                                        "optional"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Arena arena = {0};
        unsigned errors = 0;
        Str source = read_whole(&arena, str_format(&arena, INPUTS "%s.py", names[i]));
        Str got = parse_text(&arena, source, &errors);
        if (errors)
            fail_msg("%s.py: %.*s", names[i], STR_ARG(got));
        const char *path = str_format(&arena, INPUTS "%s.ast", names[i]);
        FILE *exists = fopen(path, "rb");
        if (exists)
            fclose(exists);
        check_text(path, exists || !blessing() ? read_whole(&arena, path) : STR(""), got);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
