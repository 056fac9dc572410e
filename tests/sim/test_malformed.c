/* Every way to spoil one token of a PTX file: what is refused has an error at a place of the file,
 * and what is not refused is a module without errors. Nothing crashes; the sanitizer builds run
 * this too. */
#include "sim_test.h"

#include "sim/parse/lex.h"
#include "support/file.h"

#include <dirent.h>
#include <string.h>

/* One of each kind of token, and what closes or opens something. */
static const char *const others[] = {
    "name",
    ".word",
    "7",
    "0f3F800000",
    "\"text\"",
    ";",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "@",
    "|",
    "-",
    "<",
    "!",
    "#",
    "\"",
    "/*",
    ".entry",
    ".func",
    "18446744073709551616",
    "-9223372036854775808",
    "%r1",
    ".b128",
};
enum { OTHERS = sizeof others / sizeof *others, MAX_TOKENS = 16, MAX_TEXT = 1 << 20 };

static void check_text(const char *text, size_t length, const char *what) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    uint32_t file = source_add(&ctx->sources, STR("spoilt.ptx"), (Str){text, length});
    const SimModule *module = sim_parse(ctx, file);
    if ((module == NULL) != (ctx->diags.errors > 0))
        fail_msg("%s: %u errors, %s module", what, ctx->diags.errors, module ? "a" : "no");
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
        const Source *source = source_get(&ctx->sources, d->span.file);
        if (d->span.file != file || d->span.lo > d->span.hi || d->span.hi > source->text.len ||
            !d->text[0])
            fail_msg("%s: '%s' lies at %u..%u of file %u", what, d->text, d->span.lo, d->span.hi,
                     d->span.file);
    }
    ctx_destroy(ctx);
}

/* The text with the bytes lo..hi replaced. */
static void check_replaced(Arena *arena, Str text, PtxToken token, const char *with,
                           const char *name) {
    size_t length = strlen(with), size = text.len - (token.hi - token.lo) + length + 2;
    char *spoilt = arena_alloc(arena, size + 1);
    memcpy(spoilt, text.ptr, token.lo);
    spoilt[token.lo] = ' ';
    memcpy(spoilt + token.lo + 1, with, length);
    spoilt[token.lo + 1 + length] = ' ';
    memcpy(spoilt + token.lo + 2 + length, text.ptr + token.hi, text.len - token.hi);
    check_text(spoilt, size,
               str_format(arena, "%s, byte %u: %.*s -> %s", name, token.lo,
                          (int)(token.hi - token.lo), text.ptr + token.lo, with));
}

/* At most MAX_TOKENS tokens of a file, evenly spread; other files have the others. */
static void spoil_tokens(Arena *arena, Str text, const char *name) {
    unsigned count = 0, index = 0;
    for (PtxToken at = ptx_lex(text.ptr, (uint32_t)text.len, 0); at.kind != PTX_END;
         at = ptx_lex(text.ptr, (uint32_t)text.len, at.hi))
        count++;
    unsigned step = count / MAX_TOKENS + 1;
    for (PtxToken at = ptx_lex(text.ptr, (uint32_t)text.len, 0); at.kind != PTX_END;
         at = ptx_lex(text.ptr, (uint32_t)text.len, at.hi), index++) {
        if (index % step)
            continue;
        ArenaMark mark = arena_mark(arena);
        Str own = {text.ptr + at.lo, at.hi - at.lo};
        check_replaced(arena, text, at, "", name);
        check_replaced(arena, text, at, str_format(arena, "%.*s %.*s", STR_ARG(own), STR_ARG(own)),
                       name);
        for (unsigned i = 0; i < OTHERS; i++)
            check_replaced(arena, text, at, others[i], name);
        /* The file ends there. */
        check_text(text.ptr, at.lo, str_format(arena, "%s, cut at byte %u", name, at.lo));
        arena_rewind(arena, mark);
    }
}

static void test_spoilt(void **state) {
    const char *folder = TILEC_SOURCE_DIR "/tests/sim/ptx";
    struct dirent *entry;
    DIR *dir = opendir(folder);
    Ctx *ctx = ctx_create();
    unsigned files = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        const char *end = strrchr(entry->d_name, '.');
        Str text;
        if (!end || strcmp(end, ".ptx"))
            continue;
        const char *path = str_format(&ctx->arena, "%s/%s", folder, entry->d_name);
        assert_int_equal(file_read(&ctx->arena, path, MAX_TEXT, &text), 0);
        text.ptr = str_dup(&ctx->arena, text);
        check_text(text.ptr, text.len, path);
        spoil_tokens(&ctx->arena, text, entry->d_name);
        files++;
    }
    closedir(dir);
    ctx_destroy(ctx);
    assert_true(files >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spoilt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
