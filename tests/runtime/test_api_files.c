/* Sources that are on no disk: lists of files, and callbacks. A helper's value is told from the
 * outside by the kernel's static_assert. */
#include "api_testing.h"

static const char main_text[] = "import triton\n"
                                "import triton.language as tl\n"
                                "from lib.helper import VALUE, act\n"
                                "@triton.jit\n"
                                "def k(x, WANTED: tl.constexpr):\n"
                                "    tl.static_assert(VALUE == WANTED)\n"
                                "    tl.store(x, act(VALUE))\n";

#define HELPER(value)                                                                              \
    "import triton\nVALUE = " value "\n@triton.jit\ndef act(v):\n    return v + 1\n"

static const tile_named helper_1 = {{"lib/helper.py", 13}, {HELPER("1"), sizeof HELPER("1") - 1}};
static const tile_named helper_2 = {{"./lib/helper.py", 15}, {HELPER("2"), sizeof HELPER("2") - 1}};

typedef struct Outcome {
    tile_status status;
    bool from_cache;
    char id[64];
} Outcome;

static Outcome compile(Fixture *f, tile_compile_options *options, const char *wanted) {
    const tile_named constexpr_value = {text("WANTED"), text(wanted)};
    Outcome outcome = {0};
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    options->size = sizeof *options;
    options->signature = text("*i32");
    options->constexprs = &constexpr_value;
    options->constexpr_count = 1;
    options->want = TILE_WANT(TILE_OUTPUT_PTX);
    outcome.status = tile_compile(f->context, options, &kernel, &diagnostics);
    tile_diagnostic said = {.size = sizeof said};
    if (tile_diagnostics_get(diagnostics, 0, &said) == TILE_OK)
        snprintf(outcome.id, sizeof outcome.id, "%s", said.id.data);
    tile_kernel_info info = {.size = sizeof info};
    if (outcome.status == TILE_OK)
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
    outcome.from_cache = info.from_cache;
    tile_kernel_destroy(kernel);
    tile_diagnostics_destroy(diagnostics);
    return outcome;
}

static void files_are_imported(void **state) {
    Fixture *f = *state;
    tile_compile_options options = {.path = text("k.tile"), .source = text(main_text)};
    assert_string_equal(compile(f, &options, "1").id, "elab_import_file");
    options.files = &helper_1;
    options.file_count = 1;
    Outcome made = compile(f, &options, "1");
    assert_int_equal(made.status, TILE_OK);
    assert_false(made.from_cache);
    assert_true(compile(f, &options, "1").from_cache);
    /* Another text under the same name is no answer of the cache. */
    options.files = &helper_2;
    assert_int_equal(compile(f, &options, "1").status, TILE_ERROR_SOURCE);
    made = compile(f, &options, "2");
    assert_int_equal(made.status, TILE_OK);
    assert_false(made.from_cache);
    options.files = NULL;
    options.file_count = 0;
    assert_int_equal(compile(f, &options, "2").status, TILE_ERROR_SOURCE);
}

/* The source itself, by its path; and messages name the file of the list that they are about. */
static void the_source_is_a_file(void **state) {
    Fixture *f = *state;
    const tile_named files[] = {{text("app/k.tile"), text(main_text)},
                                {text("app/lib/helper.py"), text(HELPER("7"))}};
    tile_compile_options options = {.path = text("app/k.tile"), .files = files, .file_count = 2};
    assert_int_equal(compile(f, &options, "7").status, TILE_OK);
    options.file_count = 0;
    assert_int_equal(compile(f, &options, "7").status, TILE_ERROR_FILE);
    const tile_named broken[] = {{text("app/k.tile"), text(main_text)},
                                 {text("app/lib/helper.py"), text("VALUE = 1 +\nact = 2\n"
                                                                  "@triton.jit\ndef f(:\n")}};
    options.files = broken;
    options.file_count = 2;
    options.size = sizeof options;
    options.signature = text("*i32, 1");
    options.constexpr_count = 0;
    tile_kernel *kernel = NULL;
    tile_diagnostics *diagnostics = NULL;
    assert_int_equal(tile_compile(f->context, &options, &kernel, &diagnostics), TILE_ERROR_SOURCE);
    tile_diagnostic said = {.size = sizeof said};
    assert_int_equal(tile_diagnostics_get(diagnostics, 0, &said), TILE_OK);
    assert_string_equal(said.path.data, "app/lib/helper.py");
    assert_int_equal(said.line, 4);
    tile_diagnostics_destroy(diagnostics);
}

typedef struct Library {
    const char *helper; /* NULL: it has none */
    unsigned asked;
    char last[64];
} Library;

static bool read_library(void *user, tile_text path, tile_text *found) {
    Library *library = user;
    library->asked++;
    snprintf(library->last, sizeof library->last, "%.*s", (int)path.size, path.data);
    if (!library->helper || strcmp(library->last, "lib/helper.tile") != 0)
        return false;
    *found = text(library->helper);
    return true;
}

static void a_callback_gives_files(void **state) {
    Fixture *f = *state;
    Library library = {.helper = HELPER("5")};
    tile_compile_options options = {.path = text("k.tile"),
                                    .source = text(main_text),
                                    .read_file = read_library,
                                    .read_user = &library};
    assert_int_equal(compile(f, &options, "5").status, TILE_OK);
    assert_true(library.asked > 0);
    assert_string_equal(library.last, "lib/helper.tile");
    assert_true(compile(f, &options, "5").from_cache);
    library.helper = HELPER("6");
    assert_int_equal(compile(f, &options, "5").status, TILE_ERROR_SOURCE);
    /* The list comes first. */
    const tile_named listed = {text("lib/helper.tile"), text(HELPER("8"))};
    options.files = &listed;
    options.file_count = 1;
    assert_int_equal(compile(f, &options, "8").status, TILE_OK);
    library.helper = NULL;
    options.file_count = 0;
    assert_string_equal(compile(f, &options, "5").id, "elab_import_file");
}

/* A process of its own has the list, and cannot have the callback. */
static void isolated_compilations_have_the_list(void **state) {
    Fixture *f = *state;
    Library library = {.helper = HELPER("5")};
    tile_compile_options options = {.path = text("k.tile"),
                                    .source = text(main_text),
                                    .files = &helper_1,
                                    .file_count = 1,
                                    .isolated = true,
                                    .no_cache = true};
    assert_int_equal(compile(f, &options, "1").status, TILE_OK);
    assert_int_equal(compile(f, &options, "2").status, TILE_ERROR_SOURCE);
    options.read_file = read_library;
    options.read_user = &library;
    assert_string_equal(compile(f, &options, "1").id, "reader_isolated");
    assert_int_equal(library.asked, 0);
}

/* A function keeps the texts of the list. */
static void functions_keep_files(void **state) {
    Fixture *f = *state;
    char name[] = "lib/helper.py", helper[] = HELPER("3");
    const tile_named file = {text(name), text(helper)};
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("k.tile"),
                                          .source = text(main_text),
                                          .files = &file,
                                          .file_count = 1};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    memset(name, 'x', sizeof name - 1);
    memset(helper, 'x', sizeof helper - 1);
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_I32), tile_constexpr_int(3)};
    const tile_executable *executable = NULL;
    assert_int_equal(tile_function_instance(function, device, arguments, 2, &executable, NULL),
                     TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
}

int main(void) {
    setenv("TILEC_WORKER", TILEC_PROGRAM, 1);
    const struct CMUnitTest tests[] = {
        TEST(files_are_imported),     TEST(the_source_is_a_file),
        TEST(a_callback_gives_files), TEST(isolated_compilations_have_the_list),
        TEST(functions_keep_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
