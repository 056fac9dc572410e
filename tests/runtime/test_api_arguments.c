/* Arguments of the public API that are not valid: each call says so, and nothing else happens. What
 * a caller made wrong is no reason for diagnostics: it finds NULL where they would be. What is
 * given to a kernel is another matter: test_api.c. */
#include "tilec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static int setup(void **state) {
    const tile_context_options options = {.size = sizeof options, .cache_folder = text("none")};
    return tile_context_create(&options, (tile_context **)state);
}

static int teardown(void **state) {
    tile_context_destroy(*state);
    return 0;
}

#define CHECK(call)                                                                                \
    (said = (tile_diagnostics *)context, assert_int_equal(call, TILE_ERROR_INVALID_ARGUMENT),      \
     assert_null(said))

static void missing_objects(void **state) {
    tile_context *context = *state;
    tile_diagnostics *said;
    const tile_compile_options nothing = {.size = sizeof nothing};
    int count;
    uint64_t address;
    tile_kernel *kernel;
    tile_device *device;
    tile_executable *executable;
    const tile_executable *instance;
    tile_function *function;
    CHECK(tile_compile(NULL, &nothing, &kernel, &said));
    CHECK(tile_compile(context, &nothing, &kernel, &said));
    CHECK(tile_compile(context, NULL, &kernel, &said));
    CHECK(tile_compile(context, &nothing, NULL, &said));
    CHECK(tile_device_count(NULL, &count, &said));
    CHECK(tile_device_count(context, NULL, &said));
    CHECK(tile_device_open(NULL, 0, &device, &said));
    CHECK(tile_memory_allocate(NULL, 1, &address, &said));
    CHECK(tile_stream_synchronize(NULL, NULL, &said));
    CHECK(tile_load(NULL, NULL, &executable, &said));
    CHECK(tile_executable_check(NULL, NULL, 0, &said));
    CHECK(tile_function_create(context, NULL, &function, &said));
    CHECK(tile_function_create(context, &nothing, &function, &said));
    CHECK(tile_function_launch(NULL, NULL, NULL, NULL, NULL, 0, &said));
    CHECK(tile_function_instance(NULL, NULL, NULL, 0, &instance, &said));
    CHECK(tile_function_call(NULL, NULL, &instance, &said));
    CHECK(tile_kernel_unpack(context, NULL, 1, &kernel, &said));
    CHECK(tile_function_kernel(NULL, NULL, 0, &kernel, &said));
    CHECK(tile_kernel_unpack(NULL, "", 0, &kernel, &said));
}

/* A list is not there, though it has a length, or has one that no list has. */
static void missing_lists(void **state) {
    tile_context *context = *state;
    tile_diagnostics *said;
    tile_kernel *kernel;
    tile_function *function;
    const tile_named named = {text("x"), text("*fp32")};
    for (int list = 0; list < 3; list++) {
        tile_compile_options options = {.size = sizeof options, .source = text("import triton\n")};
        size_t *counts[] = {&options.type_count, &options.constexpr_count,
                            &options.search_path_count};
        *counts[list] = 1;
        CHECK(tile_compile(context, &options, &kernel, &said));
        CHECK(tile_function_create(context, &options, &function, &said));
        options.types = options.constexprs = &named;
        options.search_paths = &named.name;
        *counts[list] = SIZE_MAX;
        CHECK(tile_compile(context, &options, &kernel, &said));
        CHECK(tile_function_create(context, &options, &function, &said));
    }
}

static void objects_of_no_size(void **state) {
    tile_context *context = *state, *other;
    tile_diagnostics *said;
    tile_kernel *kernel;
    const tile_compile_options options = {.source = text("import triton\n")};
    const tile_context_options settings = {0};
    CHECK(tile_compile(context, &options, &kernel, &said));
    assert_int_equal(tile_context_create(&settings, &other), TILE_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tile_context_create(NULL, NULL), TILE_ERROR_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_of_no_size, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
