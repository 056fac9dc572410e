/* The cache and imported files: they count whole, at the place where an import finds them now.
 * Every answer is compared with a compilation that knows no cache. */
#include "same_code_testing.h"

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

#define CALL(body) "@triton.jit\ndef call(x):\n    return " body "\n"
#define HELPER(value) "import triton\n" CALL("x + " value)

static char *calling(const char *module) {
    static const char form[] = "import triton\n"
                               "import triton.language as tl\n"
                               "from %s import call\n"
                               "@triton.jit\n"
                               "def kernel(x, n):\n"
                               "    tl.device_assert(n > 0, 'n')\n"
                               "    tl.store(x, call(tl.load(x)))\n";
    char *source = calloc(1, sizeof form + strlen(module));
    sprintf(source, form, module);
    return source;
}

/* The same source in two places, where its imports find two files. Without lines in the code its
 * path is not in the key. */
static const char taking_a_value[] = "import triton\n"
                                     "import triton.language as tl\n"
                                     "from %s import VALUE\n"
                                     "@triton.jit\n"
                                     "def kernel(x, n):\n"
                                     "    tl.store(x, VALUE)\n";

static char *value_of(const char *module) {
    char *source = calloc(1, sizeof taking_a_value + strlen(module));
    sprintf(source, taking_a_value, module);
    return source;
}

static void make_folders(const Fixture *f, const char *const *names) {
    for (; *names; names++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", f->folder, *names);
        assert_int_equal(mkdir(path, 0755), 0);
    }
}

static void other_place(void **state) {
    static const char *const folders[] = {"a",     "a/pkg",     "a/pkg/sub", "b",
                                          "b/pkg", "b/pkg/sub", NULL};
    static const char *const modules[] = {"..helper", "pkg.helper", "helper", ".helper"};
    Fixture *f = *state;
    char helper[] = "VALUE = 0\n", paths[2][160];
    make_folders(f, folders);
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s/pkg/sub/main.tile", f->folder, i ? "b" : "a");
        helper[8]++;
        write_file(f, i ? "b/pkg/helper.tile" : "a/pkg/helper.tile", helper);
        helper[8]++;
        write_file(f, i ? "b/pkg/sub/helper.tile" : "a/pkg/sub/helper.tile", helper);
    }
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++) {
        char *source = value_of(modules[m]);
        for (int i = 0; i < 2; i++) {
            tile_compile_options options = plain;
            options.no_line_info = true;
            options.path = text(paths[i]);
            assert_false(compile_checked(f, &options, source));
            assert_true(compile_checked(f, &options, source));
        }
        free(source);
    }
}

/* A copy of the whole in another folder finds what the first one made, with lines in the code: no
 * folder is in it, neither the source's nor those of imports, in packages and on search paths. */
static void copied_tree(void **state) {
    static const char *const folders[] = {"a",     "a/pkg",     "a/pkg/sub",     "a/lib",
                                          "other", "other/pkg", "other/pkg/sub", "other/lib",
                                          NULL};
    static const char *const modules[] = {"..helper", "pkg.helper", ".helper", "inlib"};
    Fixture *f = *state;
    char paths[2][160], libs[2][160];
    make_folders(f, folders);
    for (int i = 0; i < 2; i++) {
        const char *tree = i ? "other" : "a";
        char name[64];
        snprintf(paths[i], sizeof paths[i], "%s/%s/pkg/sub/main.tile", f->folder, tree);
        snprintf(libs[i], sizeof libs[i], "%s/%s/lib", f->folder, tree);
        snprintf(name, sizeof name, "%s/pkg/helper.tile", tree);
        write_file(f, name, HELPER("1"));
        snprintf(name, sizeof name, "%s/pkg/sub/helper.tile", tree);
        write_file(f, name, HELPER("2"));
        snprintf(name, sizeof name, "%s/lib/inlib.py", tree);
        write_file(f, name, "import triton\nfrom below import call as c\n" CALL("c(x) + 3"));
        snprintf(name, sizeof name, "%s/lib/below.tile", tree);
        write_file(f, name, HELPER("4"));
    }
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++) {
        char *source = calling(modules[m]);
        for (int debug = 0; debug < 2; debug++) {
            for (int i = 0; i < 2; i++) {
                tile_text lib = text(libs[i]);
                tile_compile_options options = plain;
                options.debug = debug;
                options.path = text(paths[i]);
                options.search_paths = &lib;
                options.search_path_count = 1;
                assert_int_equal(compile_checked(f, &options, source), i);
                options.full_paths = true;
                assert_int_equal(compile_checked(f, &options, source), false);
                assert_int_equal(compile_checked(f, &options, source), true);
                Outcome outcome = compile(f, &options, source, false);
                assert_non_null(strstr(outcome.ptx, paths[i]));
                outcome_free(&outcome);
            }
        }
        free(source);
    }
}

/* Two trees whose imports differ do not take turns: each keeps its entry. */
static void two_trees(void **state) {
    static const char *const folders[] = {"a", "b", NULL};
    Fixture *f = *state;
    char paths[2][160];
    char *source = value_of("helper");
    make_folders(f, folders);
    write_file(f, "a/helper.tile", "VALUE = 1\n");
    write_file(f, "b/helper.tile", "VALUE = 2\n");
    for (int i = 0; i < 6; i++) {
        tile_compile_options options = plain;
        snprintf(paths[i % 2], sizeof *paths, "%s/%s/main.tile", f->folder, i % 2 ? "b" : "a");
        options.path = text(paths[i % 2]);
        assert_int_equal(compile_checked(f, &options, source), i > 1);
    }
    free(source);
}

/* Search paths lead from the working folder, and so does a source's own relative path. */
static void other_working_folder(void **state) {
    static const char *const folders[] = {"a", "a/lib", "b", "b/lib", NULL};
    static const char *const modules[] = {"helper", "..above"};
    Fixture *f = *state;
    char before[512];
    assert_non_null(getcwd(before, sizeof before));
    make_folders(f, folders);
    write_file(f, "a/lib/helper.tile", "VALUE = 1\n");
    write_file(f, "b/lib/helper.tile", "VALUE = 2\n");
    write_file(f, "above.tile", "VALUE = 3\n");
    const tile_text search_path = text("lib");
    tile_compile_options options = plain;
    options.no_line_info = true;
    options.search_paths = &search_path;
    options.search_path_count = 1;
    for (size_t m = 0; m < 2; m++) {
        char *source = value_of(modules[m]);
        const char *const paths[] = {"main.tile", "../b/main.tile"};
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(chdir(f->folder), 0);
            assert_int_equal(chdir(i ? "b" : "a"), 0);
            for (size_t p = 0; p < 2; p++) {
                options.path = text(paths[p]);
                compile_checked(f, &options, source);
                Outcome outcome = compile(f, &options, source, false);
                assert_int_equal(outcome.status, TILE_OK);
                assert_true(outcome.from_cache);
                outcome_free(&outcome);
            }
        }
        free(source);
    }
    assert_int_equal(chdir(before), 0);
}

/* A folder, or what cannot be read, where a file is looked for is no file, now as before. */
static void folder_in_the_way(void **state) {
    static const char *const folders[] = {"helper.tile", NULL};
    Fixture *f = *state;
    char *source = value_of("helper");
    make_folders(f, folders);
    write_file(f, "helper.py", "VALUE = 1\n");
    assert_false(compile_checked(f, &plain, source));
    assert_true(compile_checked(f, &plain, source));
    remove_all(f->folder, "/helper.tile");
    assert_true(compile_checked(f, &plain, source));
    write_file(f, "helper.tile", "VALUE = 2\n");
    assert_false(compile_checked(f, &plain, source));
    free(source);
}

/* A file that is written while the kernel is compiled, here by its assembler, is not what the code
 * was made of; a process of its own is asked again. */
static void changed_meanwhile(void **state) {
    Fixture *f = *state;
    char ptxas[160];
    snprintf(ptxas, sizeof ptxas, "%s/ptxas", f->folder);
    char script[512];
    snprintf(script, sizeof script,
             "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ $1 = -o ] && echo cubin >$2; shift; done\n"
             "echo VALUE = 2 >%s/helper.tile\n",
             f->folder);
    write_file(f, "ptxas", script);
    assert_int_equal(chmod(ptxas, 0755), 0);
    const tile_context_options with_ptxas = {
        .size = sizeof with_ptxas, .cache_folder = text(f->cache), .ptxas = text(ptxas)};
    tile_context_destroy(f->context);
    assert_int_equal(tile_context_create(&with_ptxas, &f->context), TILE_OK);
    char *source = value_of("helper");
    tile_compile_options options = plain;
    options.want |= TILE_WANT(TILE_OUTPUT_CUBIN);
    for (int isolated = 0; isolated < 2; isolated++) {
        options.isolated = isolated;
        remove_all(f->cache, "");
        write_file(f, "helper.tile", "VALUE = 1\n");
        Outcome first = compile(f, &options, source, false);
        assert_int_equal(first.status, TILE_OK);
        assert_false(first.from_cache);
        outcome_free(&first);
        assert_int_equal(compile_checked(f, &options, source), isolated);
    }
    free(source);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    setenv("TILEC_PTXAS", "none", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(imported_files, setup, teardown),
        cmocka_unit_test_setup_teardown(imports_found_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(other_place, setup, teardown),
        cmocka_unit_test_setup_teardown(copied_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(two_trees, setup, teardown),
        cmocka_unit_test_setup_teardown(other_working_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(folder_in_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(changed_meanwhile, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
