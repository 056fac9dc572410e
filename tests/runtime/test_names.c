/* What texts say of functions: which lines they take, which names they have from elsewhere. */
#include "api_testing.h"

static tile_extent extent_of(const char *body, uint32_t line) {
    tile_extent extent = {.size = sizeof extent};
    const tile_status status = tile_source_extent(text(body), line, &extent);
    assert_true(status == TILE_OK || status == TILE_ERROR_SOURCE);
    return status == TILE_OK ? extent : (tile_extent){0};
}

/* The last line of the function that begins at `line`; 0: none does. */
static uint32_t ends(const char *body, uint32_t line) {
    return extent_of(body, line).end_line;
}

static void extents(void **state) {
    const char body[] = "import x\n"                        /* 1 */
                        "\n"                                /* 2 */
                        "@jit(a=(1,\n"                      /* 3 */
                        "        2))\n"                     /* 4 */
                        "# between\n"                       /* 5 */
                        "\n"                                /* 6 */
                        "@other\n"                          /* 7 */
                        "def f(a,\n"                        /* 8 */
                        "b):\n"                             /* 9 */
                        "    '''text\n"                     /* 10 */
                        "def g(): \"'''\n"                  /* 11 */
                        "    if a:\n"                       /* 12 */
                        "        b = (1 + # )\n"            /* 13 */
                        "2)\n"                              /* 14 */
                        "# a comment at the beginning\n"    /* 15 */
                        "    c = \\\n"                      /* 16 */
                        "1\n"                               /* 17 */
                        "    return '\\'(', \"\\\n"         /* 18 */
                        "\", [\n"                           /* 19 */
                        "], {'a': 1}\n"                     /* 20 */
                        "    # its own comment\n"           /* 21 */
                        "\n"                                /* 22 */
                        "class C:\n"                        /* 23 */
                        "\t@jit\n"                          /* 24 */
                        "\tasync def m(self): return (1)\n" /* 25 */
                        "        # eight columns\n"         /* 26 */
                        "\tdef n(self):\n"                  /* 27 */
                        "\t\tpass";                         /* 28 */
    const tile_extent f = extent_of(body, 3);
    assert_int_equal(f.first_line, 3);
    assert_int_equal(f.def_line, 8);
    assert_int_equal(f.end_line, 20);
    assert_int_equal(f.column, 1);
    assert_int_equal(ends(body, 8), 20);
    const tile_extent m = extent_of(body, 24);
    assert_int_equal(m.def_line, 25);
    assert_int_equal(m.end_line, 25);
    assert_int_equal(m.column, 2);
    assert_int_equal(ends(body, 27), 28);
    assert_int_equal(ends(body, 23), 28);
    for (uint32_t line = 1; line < 40; line++)
        if (line != 3 && line != 7 && line != 8 && line != 11 && line < 23)
            assert_int_equal(ends(body, line), 0);
    assert_int_equal(ends(body, 29), 0);
    assert_int_equal(ends(body, UINT32_MAX), 0);
}

/* Strings with fields, and ends of lines of all kinds. */
static void extents_of_strings(void **state) {
    assert_int_equal(ends("def f():\n  a = f\"{x[\"a\"]}{{(\"\n  b = 1\nc = 1\n", 1), 3);
    assert_int_equal(
        ends("def f():\n  a = f\"{x:'>{n}}(\" + rf'{\n1 + (2)\n}'\n  b = 1\nc = 1\n", 1), 5);
    assert_int_equal(ends("def f():\n  a = f'''{x!r:\n}(\n'''\n  b = 1\nc = 1\n", 1), 5);
    assert_int_equal(ends("def f():\n  a = f\"{f'{f\"{1}\"}'}\"\n  b = 1\nc = 1\n", 1), 3);
    assert_int_equal(ends("def f():\r\n  a = b'\\\r\n'\r\n\r\nc = 1\r\n", 1), 3);
    assert_int_equal(ends("def f():\r  a = 1\r  b = 2\rc = 1\r", 1), 3);
    assert_int_equal(ends("def f(): a = '''\n\n'''; b = (\n)\n  \n", 1), 4);
    /* What does not end ends with the text. */
    assert_int_equal(ends("def f():\n  a = (\nb\n", 1), 3);
    assert_int_equal(ends("def f():\n  a = '''\nb\n", 1), 3);
    assert_int_equal(ends("def f():\n  a = 'x\n  b = 1\nc\n", 1), 3);
    assert_int_equal(ends("def f", 1), 1);
    assert_int_equal(ends("def", 1), 0);
    assert_int_equal(ends("define = 1\n", 1), 0);
    assert_int_equal(ends("@jit\n  def f(): pass\n", 1), 0);
    assert_int_equal(ends("@jit\n", 1), 0);
    assert_int_equal(ends("", 1), 0);
}

/* Never beyond the text, whatever it is: each is in a block of its own size. */
static void extents_of_anything(void **state) {
    static const char seed[] =
        "@a(\n)\ndef f(x=f'{y:{z}}', *, b=\"\"\"\n\"\"\"):\n  '\\\n' # c\n\tg\n";
    static const char bytes[] = "\n\r\\'\"{}()[]#@f \t\f\0d";
    uint32_t random = 1;
    for (int round = 0; round < 4000; round++) {
        random = random * 1664525 + 1013904223;
        const size_t size = (random >> 8) % sizeof seed;
        char *copy = malloc(size ? size : 1);
        memcpy(copy, seed, size);
        for (int i = 0; i < 4 && size; i++) {
            random = random * 1664525 + 1013904223;
            copy[(random >> 16) % size] = bytes[(random >> 4) % sizeof bytes];
        }
        for (uint32_t line = 1; line < 6; line++) {
            tile_extent extent = {.size = sizeof extent};
            const tile_text given = {copy, size};
            if (tile_source_extent(given, line, &extent) == TILE_OK) {
                assert_true(extent.first_line == line && extent.def_line >= line);
                assert_true(extent.end_line >= extent.def_line && extent.column > 0);
            }
        }
        free(copy);
    }
    tile_extent extent = {.size = sizeof extent};
    const tile_text none = {NULL, 3};
    assert_int_equal(tile_source_extent(none, 1, &extent), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_source_extent(text("def f(): 1"), 0, &extent),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_source_extent(text("def f(): 1"), 1, NULL), TILE_ERROR_INVALID_ARGUMENT);
    extent.size = 0;
    assert_int_equal(tile_source_extent(text("def f(): 1"), 1, &extent),
                     TILE_ERROR_INVALID_ARGUMENT);
}

/* "tl.load@2:5 C!1:10": names with their places; ! of annotations, = of defaults, @@ of decorators.
 */
static const char *names_of(Fixture *f, const char *body) {
    static char all[2048];
    tile_name_list *list = NULL;
    tile_diagnostics *diagnostics = NULL;
    all[0] = 0;
    const tile_status status = tile_names_create(f->context, text(body), &list, &diagnostics);
    if (status != TILE_OK) {
        tile_diagnostic said = {.size = sizeof said};
        assert_int_equal(tile_diagnostics_get(diagnostics, 0, &said), TILE_OK);
        snprintf(all, sizeof all, "%s", said.id.data);
    }
    for (size_t i = 0; i < tile_names_count(list); i++) {
        tile_free_name name = {.size = sizeof name};
        assert_int_equal(tile_names_get(list, i, &name), TILE_OK);
        const char *where = name.in_default      ? "="
                            : name.in_annotation ? "!"
                            : name.in_decorator  ? "@@"
                                                 : "@";
        const size_t len = strlen(all);
        snprintf(all + len, sizeof all - len, "%s%s%s%u:%u", len ? " " : "", name.name.data, where,
                 name.line, name.column);
    }
    tile_free_name name = {.size = sizeof name};
    assert_int_equal(tile_names_get(list, tile_names_count(list), &name),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_names_destroy(list);
    tile_diagnostics_destroy(diagnostics);
    return all;
}

static void free_names_of_functions(void **state) {
    Fixture *f = *state;
    assert_string_equal(names_of(f, "@triton.jit(a=B)\n"
                                    "def k(x, N: tl.constexpr = SIZE, D=tl.float32) -> None:\n"
                                    "    i = tl.arange(0, N) + x\n"
                                    "    tl.store(i, helpers.act(i.to(D)).T + tl.load(SIZE))\n"),
                        "triton.jit@@1:2 B@@1:15 SIZE=2:28 tl.constexpr!2:13 tl.float32=2:36 "
                        "tl.arange@3:9 tl.store@4:5 helpers.act@4:17 tl.load@4:42 SIZE@4:50");
    /* Variables, and names before they are some. */
    assert_string_equal(names_of(f, "  def k(x):\n"
                                    "    B = B\n"
                                    "    B.c, (y, *z), x[W], q.r = V\n"
                                    "    for i in range(y): z += i\n"
                                    "    u += 1\n"
                                    "    k(i, u, B, q)\n"),
                        "B@2:9 V@3:31 W@3:21 q.r@3:25 range@4:14 u@5:5 k@6:5 q@6:16");
    assert_string_equal(names_of(f, "def k(x):\n"
                                    "    if x:\n"
                                    "        a = 1\n"
                                    "    elif a:\n"
                                    "        b: T = 1\n"
                                    "    else:\n"
                                    "        b, (c := 2)\n"
                                    "    a + b + c\n"
                                    "    while d: e = 1\n"
                                    "    with w(e) as v: v\n"
                                    "    assert v, m\n"),
                        "a@4:10 T!5:12 b@7:9 d@9:11 w@10:10 m@11:15");
    /* Scopes within it. */
    assert_string_equal(
        names_of(f, "def k(x):\n"
                    "    y = [a + i + o for i in i for o in i if (w := c)]\n"
                    "    i, w\n"
                    "    z = lambda a, b=b: a + b + g\n"
                    "    {h: 1, **j}; {l, 1}; f'{n!r:>{p}}'; x[r:s:t]\n"
                    "    def inner(q=aa) -> bb: return q + cc + z\n"
                    "    inner\n"),
        "i@2:29 c@2:51 a@2:10 b=4:21 g@4:32 h@5:6 j@5:14 l@5:19 n@5:29 p@5:35 r@5:43 "
        "s@5:45 t@5:47 aa=6:17 bb!6:24 cc@6:39");
}

static void names_of_texts_that_are_none(void **state) {
    Fixture *f = *state;
    assert_string_equal(names_of(f, "x = 1\n"), "parse_unit_begin");
    assert_string_equal(names_of(f, "def f():\n    pass\nx = 1\n"), "parse_unit_end");
    assert_string_equal(names_of(f, "def f(:\n    pass\n"), "parse_expected");
    assert_string_equal(names_of(f, ""), "parse_unit_begin");
    tile_name_list *list = NULL;
    const tile_text none = {NULL, 3};
    assert_int_equal(tile_names_create(f->context, none, &list, NULL), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_names_create(NULL, text("def f(): 1"), &list, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_names_create(f->context, text("def f(): 1"), NULL, NULL),
                     TILE_ERROR_INVALID_ARGUMENT);
    tile_names_destroy(NULL);
    assert_int_equal(tile_names_count(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents),
        cmocka_unit_test(extents_of_strings),
        cmocka_unit_test(extents_of_anything),
        TEST(free_names_of_functions),
        TEST(names_of_texts_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
