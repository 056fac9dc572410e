/* The cache finds a kernel whose file changed elsewhere, and never one whose code, lines or
 * messages would be others: every answer is compared with a compilation that knows no cache. */
#include "tilec.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

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

typedef struct Fixture {
    char folder[64], cache[96], path[96];
    tile_context *context;
} Fixture;

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static void remove_all(const char *path, const char *below) {
    char command[256];
    snprintf(command, sizeof command, "/bin/rm -rf %s%s", path, below);
    assert_int_equal(system(command), 0);
}

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/tilec-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->cache, sizeof f->cache, "%s/cache", f->folder);
    snprintf(f->path, sizeof f->path, "%s/main.tile", f->folder);
    const tile_context_options options = {.size = sizeof options, .cache_folder = text(f->cache)};
    assert_int_equal(tile_context_create(&options, &f->context), TILE_OK);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    tile_context_destroy(f->context);
    remove_all(f->folder, "");
    free(f);
    return 0;
}

static void write_file(const Fixture *f, const char *name, const char *content) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

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

/* What a caller gets. */
typedef struct Outcome {
    tile_status status;
    bool from_cache;
    char *ptx, *meta, *said;
} Outcome;

static char *copy(tile_text from) {
    char *to = calloc(1, from.size + 1);
    if (from.size)
        memcpy(to, from.data, from.size);
    return to;
}

static void outcome_free(Outcome *outcome) {
    free(outcome->ptx);
    free(outcome->meta);
    free(outcome->said);
}

static const tile_compile_options plain = {.size = sizeof plain,
                                           .kernel = {"kernel", 6},
                                           .signature = {"*i32:16, i32", 12},
                                           .target = {"sm_80", 5},
                                           .want = TILE_WANT(TILE_OUTPUT_PTX) |
                                                   TILE_WANT(TILE_OUTPUT_META)};

static Outcome compile(const Fixture *f, const tile_compile_options *with, const char *source,
                       bool no_cache) {
    tile_compile_options options = *with;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    options.no_cache = no_cache;
    if (!options.path.size)
        options.path = text(f->path);
    options.source = text(source);
    Outcome outcome = {.status = tile_compile(f->context, &options, &kernel, &said)};
    tile_kernel_info info = {.size = sizeof info};
    if (kernel)
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    outcome.from_cache = info.from_cache;
    outcome.ptx = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX));
    outcome.meta = copy(tile_kernel_get_output(kernel, TILE_OUTPUT_META));
    outcome.said = copy(tile_diagnostics_text(said));
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    return outcome;
}

/* Compiles with the cache and without; true if the cache answered, and then all must be the same.
 */
static bool compile_checked(const Fixture *f, const tile_compile_options *options,
                            const char *source) {
    Outcome cached = compile(f, options, source, false);
    Outcome fresh = compile(f, options, source, true);
    if (cached.status != fresh.status || strcmp(cached.ptx, fresh.ptx) ||
        strcmp(cached.meta, fresh.meta) || strcmp(cached.said, fresh.said)) {
        fprintf(stderr, "%s\n--- cached (%d)\n%s\n--- fresh (%d)\n%s\n", source, cached.status,
                cached.said, fresh.status, fresh.said);
        fail_msg("the cache's answer differs");
    }
    outcome_free(&fresh);
    outcome_free(&cached);
    return cached.from_cache;
}

/* The first `from` of the source replaced. */
static char *edited(const char *source, const char *from, const char *to) {
    const char *at = strstr(source, from);
    if (!at)
        fail_msg("nothing to replace: %s", from);
    char *result = calloc(1, strlen(source) + strlen(to) + 1);
    memcpy(result, source, (size_t)(at - source));
    strcat(strcat(result, to), at + strlen(from));
    return result;
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

/* What the file's path is in. */
static void paths(void **state) {
    static const struct {
        bool no_line_info, debug, found;
    } cases[] = {
        {false, false, false}, {false, true, false}, {true, false, true}, {true, true, false}};
    Fixture *f = *state;
    char *source = edited(base, "    v = min(v, 1000)\n", "    tl.device_assert(v > 0, 'v')\n");
    char *commented = edited(source, "# between", "# in between");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_compile_options here = plain, there = plain;
        remove_all(f->cache, "");
        here.no_line_info = there.no_line_info = cases[i].no_line_info;
        here.debug = there.debug = cases[i].debug;
        there.path = text("/somewhere/else.tile");
        assert_false(compile_checked(f, &here, source));
        assert_int_equal(compile_checked(f, &there, source), cases[i].found);
        assert_true(compile_checked(f, &here, commented));
        assert_true(compile_checked(f, &there, commented));
    }
    free(source);
    free(commented);
}

/* Imported files count whole, and so do names that they take from the file that imports them. */
static void imported_files(void **state) {
    static const char main_file[] = "import triton\n"
                                    "import triton.language as tl\n"
                                    "from helper import f\n"
                                    "HIDDEN = 1\n"
                                    "@triton.jit\n"
                                    "def kernel(x, n):\n"
                                    "    tl.store(x, f(n))\n"
                                    "# the end\n";
    static const char helper[] = "import triton\n"
                                 "OWN = 4\n"
                                 "@triton.jit\n"
                                 "def f(n):\n"
                                 "    return n + OWN\n";
    static const char circular[] = "import triton\n"
                                   "from main import HIDDEN as OWN\n"
                                   "@triton.jit\n"
                                   "def f(n):\n"
                                   "    return n + OWN\n";
    Fixture *f = *state;
    char *commented = edited(main_file, "# the end", "# it ends");
    char *changed = edited(main_file, "HIDDEN = 1", "HIDDEN = 2");
    char *own = edited(helper, "OWN = 4", "OWN = 5");
    write_file(f, "main.tile", main_file);
    write_file(f, "helper.tile", helper);
    assert_false(compile_checked(f, &plain, main_file));
    assert_true(compile_checked(f, &plain, commented));
    assert_true(compile_checked(f, &plain, changed));
    write_file(f, "helper.tile", own);
    assert_false(compile_checked(f, &plain, main_file));
    assert_true(compile_checked(f, &plain, commented));
    write_file(f, "helper.tile", circular);
    assert_false(compile_checked(f, &plain, main_file));
    assert_false(compile_checked(f, &plain, changed));
    assert_false(compile_checked(f, &plain, commented));
    free(commented);
    free(changed);
    free(own);
}

/* A file that comes to be where an import is looked for earlier takes the place of the one found.
 */
static void imports_found_elsewhere(void **state) {
    static const char main_file[] = "import triton\n"
                                    "import triton.language as tl\n"
                                    "from helper import VALUE\n"
                                    "@triton.jit\n"
                                    "def kernel(x, n):\n"
                                    "    tl.store(x, VALUE)\n"
                                    "# the end\n";
    static const char *const places[] = {"found/helper.py",   "found/helper.tile",
                                         "earlier/helper.py", "helper/__init__.py",
                                         "helper.py",         "helper.tile"};
    Fixture *f = *state;
    char folders[2][160];
    tile_compile_options options = plain;
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "%s/%s", f->folder, i ? "found" : "earlier");
        assert_int_equal(mkdir(folders[i], 0755), 0);
    }
    char package[160];
    snprintf(package, sizeof package, "%s/helper", f->folder);
    assert_int_equal(mkdir(package, 0755), 0);
    const tile_text search_paths[] = {text(folders[0]), text(folders[1])};
    options.search_paths = search_paths;
    options.search_path_count = 2;
    char *commented = edited(main_file, "# the end", "# it ends");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char value[32];
        snprintf(value, sizeof value, "VALUE = %zu\n", i);
        write_file(f, places[i], value);
        assert_false(compile_checked(f, &options, main_file));
        assert_true(compile_checked(f, &options, main_file));
        assert_true(compile_checked(f, &options, commented));
    }
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
        cmocka_unit_test_setup_teardown(imported_files, setup, teardown),
        cmocka_unit_test_setup_teardown(imports_found_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(random_edits, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
