/* Every name that a version of Triton defines in a module of its language is either one of this
 * language or refused by name, as Inputs/triton_names.txt says: never unknown, never another
 * function. */
#include "elaborate_testing.h"
#include "support/file.h"

static Str next_word(Str *line) {
    while (line->len && *line->ptr == ' ')
        *line = (Str){line->ptr + 1, line->len - 1};
    size_t n = 0;
    while (n < line->len && line->ptr[n] != ' ')
        n++;
    Str word = {line->ptr, n};
    *line = (Str){line->ptr + n, line->len - n};
    return word;
}

/* `f = module.name`, elaborated by itself. */
static void expect_name(Str module, Str name, bool covered) {
    Ctx *ctx = ctx_create();
    assert_non_null(ctx);
    ctx->arena.oom = NULL; /* out of memory aborts the test */
    const char *text = str_format(&ctx->arena,
                                  "import triton\nimport triton.language as tl\n@triton.jit\n"
                                  "def k(p):\n    f = %.*s.%.*s\n",
                                  STR_ARG(module), STR_ARG(name));
    uint32_t file = source_add(&ctx->sources, STR("k.tile"), str_from(text));
    ElaborateRequest request = {.file = file, .kernel = STR("k"), .signature = STR("*fp32")};
    Elaborated result;
    AstFile *syntax = parse_file(&ctx->diags, file);
    bool ok = frontend_elaborate(ctx, syntax, &request, &result);
    const Diagnostic *said = ctx->diags.first;
    bool refused = !ok && said && said->id == DIAG_elab_not_covered && !said->next;
    if (covered ? !ok : !refused) {
        StrBuf all = strbuf(&ctx->arena);
        diag_print_all(&ctx->diags, &all);
        fail_msg("%s\n%s", text, all.ptr ? all.ptr : "no message");
    }
    ctx_destroy(ctx);
}

static void test_names(void **state) {
    Arena *arena = &(Arena){0};
    Str text;
    assert_int_equal(file_read(arena, TESTING_FOLDER "Inputs/triton_names.txt", 1 << 20, &text), 0);
    uint32_t names = 0;
    for (size_t at = 0; at < text.len;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] != '\n')
            end++;
        Str line = {text.ptr + at, end - at};
        at = end + 1;
        if (!line.len || line.ptr[0] == '#')
            continue;
        Str module = next_word(&line), covered = next_word(&line);
        for (Str name = next_word(&line); name.len; name = next_word(&line)) {
            expect_name(module, name, str_is(covered, "+"));
            names++;
        }
    }
    assert_true(names > 1000);
    arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
