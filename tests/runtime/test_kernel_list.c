/* Kernels of files and folders: what is listed of them, and which file a name stands for. */
#include "api_testing.h"

#include <sys/stat.h>

static const char two[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def twice(v):\n"
    "    return v + v\n"
    "\n"
    "@triton.heuristics({\"EVEN\": lambda args: args[\"n\"] % 2 == 0})\n"
    "@triton.jit\n"
    "def put(x, n: tl.int32, EVEN: tl.constexpr, SIZE: tl.constexpr = 4 * 16):\n"
    "    tl.store(x, twice(n) + SIZE)\n"
    "\n"
    "def scaled(n):  # of the host\n"
    "    return put[(1,)](n)\n";
static const char broken[] = "import triton\n@triton.jit\ndef lost(x:\n    pass\n";

static void write_file(const Fixture *f, const char *name, const char *data) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(data, file) >= 0 && fclose(file) == 0);
}

static int setup_folder(void **state) {
    static const char *const folders[] = {"src", "src/b", "src/.hidden", "src/__pycache__"};
    setup(state);
    Fixture *f = *state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", f->folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_file(f, "src/scale.tile", source);
    write_file(f, "src/b/two.py", two);
    write_file(f, "src/b/notes.txt", source);
    write_file(f, "src/.hidden/scale.tile", source);
    write_file(f, "src/__pycache__/scale.tile", source);
    return 0;
}

static tile_compile_options folder_options(const Fixture *f, char path[160], const char *kernel) {
    snprintf(path, 160, "%s/src", f->folder);
    return (tile_compile_options){.size = sizeof(tile_compile_options),
                                  .path = text(path),
                                  .kernel = text(kernel),
                                  .want = TILE_WANT(TILE_OUTPUT_PTX)};
}

static void expect_kernel(const tile_kernel_list *list, size_t index, const char *name,
                          const char *path, uint32_t line, bool is_helper) {
    tile_listed_kernel kernel = {.size = sizeof kernel};
    assert_int_equal(tile_kernel_list_get(list, index, &kernel), TILE_OK);
    assert_string_equal(kernel.name.data, name);
    assert_non_null(strstr(kernel.path.data, path));
    assert_int_equal(kernel.line, line);
    assert_int_equal(kernel.column, 5);
    assert_int_equal(kernel.is_helper, is_helper);
}

static void lists_a_folder(void **state) {
    Fixture *f = *state;
    char path[160];
    tile_kernel_list *list = NULL;
    tile_diagnostics *said = NULL;
    tile_compile_options options = folder_options(f, path, "");
    write_file(f, "src/a.tile", broken);
    assert_int_equal(tile_kernel_list_create(f->context, &options, &list, &said), TILE_OK);
    assert_int_equal(tile_diagnostics_count(said), 1);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "src/a.tile:3:"));
    assert_non_null(strstr(tile_diagnostics_text(said).data, "src/a.tile' are not listed: "));
    tile_diagnostics_destroy(said);
    assert_int_equal(tile_kernel_list_count(list), 3);
    expect_kernel(list, 0, "put", "src/b/two.py", 10, false);
    expect_kernel(list, 1, "twice", "src/b/two.py", 5, true);
    expect_kernel(list, 2, "scale", "src/scale.tile", 5, false);
    const struct {
        const char *name, *annotation, *value;
        bool is_constexpr, is_derived;
    } params[] = {{"x", "", "", false, false},
                  {"n", "tl.int32", "", false, false},
                  {"EVEN", "tl.constexpr", "", true, true},
                  {"SIZE", "tl.constexpr", "4 * 16", true, false}};
    for (size_t i = 0; i < 4; i++) {
        tile_listed_param param = {.size = sizeof param};
        assert_int_equal(tile_kernel_list_get_param(list, 0, i, &param), TILE_OK);
        assert_string_equal(param.name.data, params[i].name);
        assert_string_equal(param.annotation.data, params[i].annotation);
        assert_string_equal(param.default_value.data, params[i].value);
        assert_int_equal(param.is_constexpr, params[i].is_constexpr);
        assert_int_equal(param.is_derived, params[i].is_derived);
    }
    tile_listed_param none = {.size = sizeof none};
    tile_listed_kernel no_kernel = {.size = sizeof no_kernel};
    assert_int_equal(tile_kernel_list_get_param(list, 0, 4, &none), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_kernel_list_get(list, 3, &no_kernel), TILE_ERROR_INVALID_ARGUMENT);
    tile_kernel_list_destroy(list);

    options.kernel = text("scale");
    assert_int_equal(tile_kernel_list_create(f->context, &options, &list, NULL), TILE_OK);
    assert_int_equal(tile_kernel_list_count(list), 1);
    tile_kernel_list_destroy(list);

    /* One source: its errors are errors. */
    const tile_compile_options one = {
        .size = sizeof one, .path = text("some.tile"), .source = text(two)};
    assert_int_equal(tile_kernel_list_create(f->context, &one, &list, NULL), TILE_OK);
    assert_int_equal(tile_kernel_list_count(list), 2);
    tile_kernel_list_destroy(list);
    const tile_compile_options bad = {
        .size = sizeof bad, .path = text("some.tile"), .source = text(broken)};
    list = NULL;
    assert_int_equal(tile_kernel_list_create(f->context, &bad, &list, NULL), TILE_ERROR_SOURCE);
    assert_null(list);
}

/* A kernel of a folder is that of its file, to the key of the cache. */
static void compiles_from_a_folder(void **state) {
    Fixture *f = *state;
    char path[160], file[176];
    tile_kernel *kernel = NULL;
    tile_kernel_info info = {.size = sizeof info};
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    tile_compile_options options = folder_options(f, path, "scale");
    options.signature = text("*fp32:16, i32, fp32, 256");
    for (int from_file = 0; from_file < 2; from_file++) {
        if (tile_compile(f->context, &options, &kernel, &said) != TILE_OK)
            fail_msg("%s", tile_diagnostics_text(said).data);
        assert_int_equal(tile_kernel_get_info(kernel, &info), TILE_OK);
        assert_int_equal(info.from_cache, from_file);
        assert_non_null(
            strstr(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data, "scale.tile\""));
        tile_kernel_destroy(kernel);
        snprintf(file, sizeof file, "%s/scale.tile", path);
        options.path = text(file);
    }
    options = folder_options(f, path, "scale");
    assert_int_equal(tile_function_create(f->context, &options, &function, &said), TILE_OK);
    tile_function_destroy(function);
}

static void says_which_file_is_meant(void **state) {
    Fixture *f = *state;
    char path[160];
    tile_kernel *kernel = NULL;
    tile_function *function = NULL;
    write_file(f, "src/c.py", "def put(x):\n    return x\n"); /* of the host: none is meant */
    write_file(f, "src/d.tile", source);
    const struct {
        const char *kernel, *said[3];
    } cases[] = {
        {"scale",
         {"src/d.tile:5:5: error: several files in the folder '", "have a kernel 'scale'",
          "src/scale.tile:5:5: note: and here"}},
        {"skale",
         {"error: no file in the folder '", "has a kernel 'skale'", "did you mean 'scale'?"}},
        {"scaled", {"has a kernel 'scaled'", "", ""}}, /* which is none of a GPU */
        {"", {"/src' is a folder: wanted the name of a kernel, too", "", ""}},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        tile_diagnostics *said = NULL;
        const tile_compile_options options = folder_options(f, path, cases[i / 2].kernel);
        assert_int_equal(i % 2 ? tile_compile(f->context, &options, &kernel, &said)
                               : tile_function_create(f->context, &options, &function, &said),
                         TILE_ERROR_SOURCE);
        for (int k = 0; k < 3; k++)
            if (!strstr(tile_diagnostics_text(said).data, cases[i / 2].said[k]))
                fail_msg("%s", tile_diagnostics_text(said).data);
        tile_diagnostics_destroy(said);
    }
    const tile_compile_options put = folder_options(f, path, "put");
    assert_int_equal(tile_function_create(f->context, &put, &function, NULL), TILE_OK);
    tile_function_destroy(function);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, setup_folder, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(lists_a_folder),
        FOLDER_TEST(compiles_from_a_folder),
        FOLDER_TEST(says_which_file_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
