/* Messages: every kernel of errors.tile is elaborated by itself, and what is said compared with
 * errors.expected. A case that elaborates without an error fails. `--bless` writes the file anew.
 */
#include "frontend/frontend.h"
#include "support/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define FOLDER TILEC_SOURCE_DIR "/tests/frontend/elaborate/Inputs/"

static Str read_whole(Arena *arena, const char *path) {
    Str text = STR("");
    int error = file_read(arena, path, 1 << 24, &text);
    if (error)
        print_message("%s: %s\n", path, file_error_text(arena, error));
    return text;
}

/* One kernel: its messages, or its IR, appended to `out`. */
static void elaborate_case(const char *path, bool fails, Str text, Str name, Str signature,
                           StrBuf *out) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    uint32_t file = source_add(&ctx->sources, str_from(path), text);
    AstFile *syntax = parse_file(&ctx->diags, file);
    ElaborateRequest request = {
        .file = file, .kernel = name, .signature = signature, .debug = true};
    Elaborated result;
    bool ok = ctx->diags.errors == 0 && frontend_elaborate(ctx, syntax, &request, &result);
    strbuf_printf(out, "== %.*s\n", STR_ARG(name));
    StrBuf said = strbuf(&ctx->arena);
    if (ok)
        module_print(result.module, &(PrintOptions){0}, &said);
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
        strbuf_printf(&said, "[%s] ", diag_name(d->id));
        diag_print(&ctx->diags, d, &said);
    }
    strbuf_add(out, strbuf_str(&said).ptr, said.len);
    if (ok == fails)
        fail_msg("%.*s: %.*s", STR_ARG(name), STR_ARG(strbuf_str(&said)));
    ctx_destroy(ctx);
}

static Str line_at(Str text, size_t start) {
    size_t end = start;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    return (Str){text.ptr + start, end - start};
}

/* Every `#: signature` is followed by its kernel. */
static uint32_t run_cases(const char *path, bool fails, Str text, StrBuf *out) {
    uint32_t cases = 0;
    Str signature = {0};
    for (size_t at = 0; at < text.len;) {
        Str line = line_at(text, at);
        at += line.len + 1;
        if (line.len > 3 && memcmp(line.ptr, "#: ", 3) == 0) {
            signature = (Str){line.ptr + 3, line.len - 3};
        } else if (signature.len && line.len > 4 && memcmp(line.ptr, "def ", 4) == 0) {
            const char *open = memchr(line.ptr, '(', line.len);
            assert_non_null(open);
            Str name = {line.ptr + 4, (size_t)(open - line.ptr) - 4};
            elaborate_case(path, fails, text, name, signature, out);
            signature = (Str){0};
            cases++;
        }
    }
    return cases;
}

typedef struct Golden {
    const char *input, *expected;
    bool fails;
    uint32_t least; /* cases there must be */
} Golden;

static const Golden goldens[] = {
    {"errors.tile", "errors.expected", true, 80},
    {"errors_values.tile", "errors_values.expected", true, 40},
    {"kernels.tile", "kernels.expected", false, 10},
};

static void run_golden(Arena *arena, const Golden *golden, StrBuf *said) {
    Str text = read_whole(arena, str_format(arena, FOLDER "%s", golden->input));
    assert_true(run_cases(golden->input, golden->fails, text, said) >= golden->least);
}

static void compare(const Golden *golden, Str said, Str expected) {
    size_t at = 0;
    for (size_t line = 1; at < said.len || at < expected.len; line++) {
        Str got = line_at(said, at < said.len ? at : said.len);
        Str want = line_at(expected, at < expected.len ? at : expected.len);
        if (!str_eq(got, want))
            fail_msg("%s:%zu:\n    got  %.*s\n  wanted %.*s", golden->expected, line, STR_ARG(got),
                     STR_ARG(want));
        at += got.len + 1;
    }
}

static void test_golden(void **state) {
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        Arena arena = {0};
        StrBuf said = strbuf(&arena);
        run_golden(&arena, &goldens[i], &said);
        Str expected = read_whole(&arena, str_format(&arena, FOLDER "%s", goldens[i].expected));
        compare(&goldens[i], strbuf_str(&said), expected);
        arena_free(&arena);
    }
}

static int bless(void) {
    int error = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens && !error; i++) {
        Arena arena = {0};
        StrBuf said = strbuf(&arena);
        run_golden(&arena, &goldens[i], &said);
        const char *path = str_format(&arena, FOLDER "%s", goldens[i].expected);
        error = file_write(&arena, path, strbuf_str(&said), false);
        arena_free(&arena);
    }
    return error;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bless") == 0)
        return bless() != 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
