/* The cache finds a kernel whose file changed elsewhere, and never one whose code, lines or
 * messages would be others: every answer is compared with a compilation that knows no cache. */
#include "same_code_testing.h"

#include <dirent.h>

static const char base[] = "import triton\n"
                           "import triton.language as tl  # the language\n"
                           "\n"
                           "SCALE = 3\n"
                           "LIMIT: tl.constexpr = 100\n"
                           "UNUSED = 7\n"
                           "if True:\n"
                           "    BIAS = 1\n"
                           "else:\n"
                           "    BIAS = 2\n"
                           "\n"
                           "def on_the_host(x):\n"
                           "    # nothing of the kernel's\n"
                           "    return x + 1\n"
                           "\n"
                           "@triton.constexpr_function\n"
                           "def twice(n):\n"
                           "    return n * 2\n"
                           "\n"
                           "@triton.jit\n"
                           "def inner(v, by=LIMIT):\n"
                           "    return v * by + SCALE\n"
                           "\n"
                           "# between\n"
                           "\n"
                           "@triton.jit\n"
                           "def outer(v):\n"
                           "    return inner(v) + BIAS\n"
                           "\n"
                           "@triton.jit\n"
                           "def kernel(x, n, BLOCK: tl.constexpr = 64):\n"
                           "    \"\"\"What it does.\"\"\"\n"
                           "    i = tl.arange(0, BLOCK)\n"
                           "    v = tl.load(x + i,\n"
                           "                mask=i < n)\n"
                           "\n"
                           "    # a comment of its own\n"
                           "    v = outer(v) + twice(4)\n"
                           "    tl.static_print(f'{UNUSED + BLOCK} elements')\n"
                           "    v = min(v, 1000)\n"
                           "    tl.store(x + i, v)\n"
                           "\n"
                           "@triton.jit\n"
                           "def other(x):\n"
                           "    tl.store(x, SCALE)\n";

/* Files below the cache whose names end so. */
static int count_files(const char *path, const char *suffix) {
    int count = 0;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char inner[512];
        if (entry->d_name[0] == '.')
            continue;
        const char *end = strstr(entry->d_name, suffix);
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        count += end && !strcmp(end, suffix) ? 1 : count_files(inner, suffix);
    }
    if (dir)
        closedir(dir);
    return count;
}

typedef struct Edit {
    const char *from, *to;
} Edit;

static const Edit harmless[] = {
    {"    tl.store(x, SCALE)\n", "    # said below\n    tl.store(x, SCALE)  # and here\n"},
    {"    v = outer(v) + twice(4)\n", "    v = outer(v) + twice(4)  # at the end of a line\n"},
    {"    tl.store(x, SCALE)\n", "    tl.store(x, SCALE)\n\n\n# the end\n"},
    {"    tl.store(x, SCALE)\n", "    tl.store(x, SCALE + 1)\n"},
    {"    # a comment of its own\n", "    # another comment\n"},
    {"    # a comment of its own\n", "\n"},
    {"# between\n", "# between the functions, and longer\n"},
    {"# the language", "# longer, so that all offsets change: \xc3\xa4"},
    {"    # nothing of the kernel's\n", "    x = x * 2\n"},
    {"def on_the_host(x):", "def on_the_host(y, z):"},
    {"                mask=i < n)\n\n", "                mask=i < n)   \n  \n"},
    {"def other(x):", "def another(x):"},
    {"@triton.jit\ndef other(x):\n    tl.store(x, SCALE)\n", "class Host:\n    kept = 1\n"},
};

static const Edit telling[] = {
    {"by + SCALE", "by - SCALE"}, /* a helper's body, two calls away */
    {"SCALE = 3", "SCALE = 4"},   /* a constant of the file */
    {"LIMIT: tl.constexpr = 100", "LIMIT: tl.constexpr = 101"},
    {"by=LIMIT", "by=5"}, /* a default argument */
    {"BLOCK: tl.constexpr = 64", "BLOCK: tl.constexpr = 128"},
    {"return n * 2", "return n * 3"}, /* a constexpr function */
    {"UNUSED = 7", "UNUSED = 8"},     /* named in a string */
    {"if True", "if False"},          /* which definition is kept */
    {"\nSCALE = 3", "\n\nSCALE = 3"}, /* lines are in the code */
    {"# between\n", "# between\n\n"},
    {"    v = outer(v)", "\n    v = outer(v)"},
    {"    v = outer(v)", "    v =  outer(v)"}, /* and columns in messages */
    {"@triton.jit\ndef inner", "@triton.jit(noinline=True)\ndef inner"},
    {"@triton.jit\ndef outer", "def outer"},
    {"def on_the_host(x):", "def min(x, y):"}, /* shadows a builtin */
    {"def on_the_host(x):", "def outer(x):"},
    {"    tl.store(x, SCALE)\n", "    tl.store(x, SCALE)\nSCALE = 5\n"}, /* the last one counts */
    {"    tl.store(x, SCALE)\n",
     "    tl.store(x, SCALE)\n\n@triton.jit\ndef min(a, b):\n    return a\n"},
    {"def other(x):", "def inner(v, by=1):"},
    {"i < n", "i <= n"},
    {"What it does.", "What it did."},
};

static void expect_edits(void **state, const tile_compile_options *options, const Edit *edits,
                         size_t count, bool found) {
    Fixture *f = *state;
    for (size_t i = 0; i < count; i++) {
        remove_all(f->cache, "");
        char *changed = edited(base, edits[i].from, edits[i].to);
        assert_false(compile_checked(f, options, base));
        if (compile_checked(f, options, changed) != found)
            fail_msg("%s for the change to: %s", found ? "compiled" : "found", edits[i].to);
        if (found) {
            /* From now on the new text is an entry of its own. */
            assert_int_equal(count_files(f->cache, ".kernel"), 2);
            remove_all(f->cache, "/v1/*/*.same");
            assert_true(compile_checked(f, options, changed));
        }
        assert_true(compile_checked(f, options, base));
        free(changed);
    }
}

static void harmless_edits_are_found(void **state) {
    expect_edits(state, &plain, harmless, sizeof harmless / sizeof *harmless, true);
}

static void telling_edits_are_not(void **state) {
    expect_edits(state, &plain, telling, sizeof telling / sizeof *telling, false);
}

static void isolated_is_found_too(void **state) {
    tile_compile_options options = plain;
    options.isolated = true;
    expect_edits(state, &options, harmless, 2, true);
    expect_edits(state, &options, telling, 2, false);
}

/* Without a kernel's name it is the only one that nobody calls; another one makes that unclear. */
static void the_only_kernel(void **state) {
    Fixture *f = *state;
    tile_compile_options options = plain;
    options.kernel = text("");
    char *alone = edited(base, "@triton.jit\ndef other(x):\n    tl.store(x, SCALE)\n", "");
    char *commented = edited(alone, "# between", "# in between");
    assert_false(compile_checked(f, &options, alone));
    assert_true(compile_checked(f, &options, commented));
    assert_false(compile_checked(f, &options, base)); /* an error */
    free(alone);
    free(commented);
}

/* The file's name is in lines and assertions, its folder is not; with full paths it is. */
static void paths(void **state) {
    static const struct {
        const char *path;
        bool no_line_info, debug, full_paths, found;
    } cases[] = {{"/somewhere/else.tile", false, false, false, false},
                 {"/somewhere/else.tile", false, true, false, false},
                 {"/somewhere/else.tile", true, false, false, true},
                 {"/somewhere/else.tile", true, true, false, false},
                 {"/somewhere/main.tile", false, false, false, true},
                 {"/somewhere/main.tile", false, true, false, true},
                 {"/somewhere/main.tile", true, false, true, true},
                 {"/somewhere/main.tile", false, false, true, false},
                 {"/somewhere/main.tile", true, true, true, false},
                 {"main.tile", false, false, false, true},
                 {"below/main.tile", false, false, false, false}};
    Fixture *f = *state;
    char *source = edited(base, "    v = min(v, 1000)\n", "    tl.device_assert(v > 0, 'v')\n");
    char *commented = edited(source, "# between", "# in between");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_compile_options here = plain, there = plain;
        remove_all(f->cache, "");
        here.no_line_info = there.no_line_info = cases[i].no_line_info;
        here.debug = there.debug = cases[i].debug;
        here.full_paths = there.full_paths = cases[i].full_paths;
        there.path = text(cases[i].path);
        assert_false(compile_checked(f, &here, source));
        assert_int_equal(compile_checked(f, &there, source), cases[i].found);
        assert_true(compile_checked(f, &here, commented));
        assert_true(compile_checked(f, &there, commented));
    }
    free(source);
    free(commented);
}

/* Random edits of lines, one upon the other, with one cache for all of them: whatever is found is
 * what a compilation gives. Several texts of one code meet, and come back to earlier ones. */
enum { MOST_LINES = 128, RANDOM_STEPS = 250 };

typedef struct Lines {
    char *text[MOST_LINES];
    size_t count;
} Lines;

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static Lines split(const char *source) {
    Lines lines = {0};
    while (*source) {
        size_t len = strcspn(source, "\n");
        lines.text[lines.count++] = strndup(source, len);
        source += len + (source[len] == '\n');
    }
    return lines;
}

static void lines_free(Lines *lines) {
    for (size_t i = 0; i < lines->count; i++)
        free(lines->text[i]);
}

static char *join(const Lines *lines) {
    size_t size = 1;
    for (size_t i = 0; i < lines->count; i++)
        size += strlen(lines->text[i]) + 1;
    char *source = calloc(1, size), *end = source;
    for (size_t i = 0; i < lines->count; i++)
        end = stpcpy(stpcpy(end, lines->text[i]), "\n");
    return source;
}

static void insert_line(Lines *lines, size_t at, const char *line) {
    if (lines->count == MOST_LINES)
        return;
    memmove(&lines->text[at + 1], &lines->text[at], (lines->count - at) * sizeof *lines->text);
    lines->text[at] = strdup(line);
    lines->count++;
}

static void remove_line(Lines *lines, size_t at) {
    free(lines->text[at]);
    lines->count--;
    memmove(&lines->text[at], &lines->text[at + 1], (lines->count - at) * sizeof *lines->text);
}

static void append(Lines *lines, size_t at, const char *end) {
    char *longer = calloc(1, strlen(lines->text[at]) + strlen(end) + 1);
    strcat(strcpy(longer, lines->text[at]), end);
    free(lines->text[at]);
    lines->text[at] = longer;
}

/* A digit becomes another one. */
static void change_number(Lines *lines, size_t at, uint32_t random) {
    char *digit = strpbrk(lines->text[at], "123456789");
    if (digit)
        *digit = (char)('1' + random % 9);
}

static void mutate(Lines *lines, uint32_t *seed) {
    static const char *const added[] = {"",
                                        "# a line",
                                        "    # deeper",
                                        "SCALE = 6",
                                        "BIAS = SCALE",
                                        "def min(a, b): return a",
                                        "OTHER = 1",
                                        "@triton.jit\ndef twice(n):\n    return n",
                                        "from math import *",
                                        "import math as outer"};
    const size_t at = next_random(seed) % lines->count;
    switch (next_random(seed) % 8) {
    case 0:
    case 1:
        append(lines, at, "  # said");
        break;
    case 2:
        insert_line(lines, at, added[next_random(seed) % (sizeof added / sizeof *added)]);
        break;
    case 3:
        change_number(lines, at, next_random(seed));
        break;
    case 4:
        if (strchr(lines->text[at], '#'))
            *strchr(lines->text[at], '#') = 0;
        break;
    case 5:
        if (!*lines->text[at] || next_random(seed) % 8 == 0)
            remove_line(lines, at);
        break;
    case 6: /* moves what is below, unless a line goes as well */
        insert_line(lines, at, "");
        break;
    case 7:
        insert_line(lines, lines->count, added[next_random(seed) % 7]);
        break;
    }
}

static void random_edits(void **state) {
    Fixture *f = *state;
    uint32_t seed = 1;
    int found = 0, compiled = 0;
    Lines lines = split(base);
    for (int step = 0; step < RANDOM_STEPS; step++) {
        if (step % 8 == 0) {
            lines_free(&lines);
            lines = split(base);
        }
        mutate(&lines, &seed);
        char *source = join(&lines);
        if (compile_checked(f, &plain, source))
            found++;
        else
            compiled++;
        free(source);
    }
    lines_free(&lines);
    assert_true(found > RANDOM_STEPS / 8);
    assert_true(compiled > RANDOM_STEPS / 8);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    setenv("TILEC_PTXAS", "none", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(harmless_edits_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(telling_edits_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(isolated_is_found_too, setup, teardown),
        cmocka_unit_test_setup_teardown(the_only_kernel, setup, teardown),
        cmocka_unit_test_setup_teardown(paths, setup, teardown),
        cmocka_unit_test_setup_teardown(random_edits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
