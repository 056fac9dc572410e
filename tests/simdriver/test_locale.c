/* A program whose decimal point is a comma: what it compiles and launches, and what it is told, is
 * what others compile, launch and are told; and its locale stays. */
#include "tilec.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static tile_text text(const char *data) {
    return (tile_text){data, strlen(data)};
}

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.heuristics({'LARGE': lambda args: args['BY'] < 0.75})\n"
                             "@triton.jit\n"
                             "def scale(x, n, BY: tl.constexpr, LARGE: tl.constexpr):\n"
                             "    i = tl.arange(0, 16)\n"
                             "    by = BY * float('1.5') if LARGE else 0.0\n"
                             "    tl.store(x + i, tl.load(x + i, mask=i < n) * by, mask=i < n)\n";

static bool has_comma(void) {
    char half[8];
    snprintf(half, sizeof half, "%.1f", 0.5);
    return !strcmp(half, "0,5");
}

/* Such a locale, of the C library's own tool. */
static int begin(void **state) {
    static char folder[] = "/tmp/tilec-locale-XXXXXX";
    char command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\ngrouping "
             "-1\\nEND LC_NUMERIC\\n' >comma.src; localedef -c -i comma.src ./comma >log 2>&1",
             folder);
    if (system(command) == -1)
        return -1;
    setenv("LOCPATH", folder, 1);
    *state = folder;
    return setlocale(LC_NUMERIC, "comma") && has_comma() ? 0 : -1;
}

static int end(void **state) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", (const char *)*state);
    return system(command);
}

static void note_watch(void *user, const tile_request *request) {
    int *told = user;
    assert_true(has_comma());
    assert_non_null(strstr(request->manifest.data, "\"0.5\""));
    ++*told;
}

static void computes_and_tells_the_same(void **state) {
    int told = 0;
    const tile_context_options options = {.size = sizeof options,
                                          .cache_folder = text("none"),
                                          .ptxas = text("none"),
                                          .cuda_library = text(TILEC_SIM_DRIVER),
                                          .watch = note_watch,
                                          .watch_user = &told};
    const tile_compile_options kernel = {
        .size = sizeof kernel, .path = text("scale.tile"), .source = text(source)};
    tile_context *context = NULL;
    tile_device *device = NULL;
    tile_function *function = NULL;
    tile_diagnostics *said = NULL;
    uint64_t x = 0;
    float values[4] = {1, 2, 3, 4};
    assert_int_equal(tile_context_create(&options, &context), TILE_OK);
    assert_int_equal(tile_device_open(context, 0, &device, NULL), TILE_OK);
    assert_int_equal(tile_function_create(context, &kernel, &function, NULL), TILE_OK);
    assert_int_equal(tile_memory_allocate(device, sizeof values, &x, NULL), TILE_OK);
    assert_int_equal(tile_memory_write(device, x, values, sizeof values, NULL), TILE_OK);
    const tile_argument arguments[] = {tile_pointer(x, TILE_FP32), tile_int(4),
                                       tile_constexpr(text("0.5"))};
    if (tile_function_launch(function, device, (uint32_t[]){1, 1, 1}, NULL, arguments, 3, &said) !=
        TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    assert_int_equal(told, 1);
    assert_int_equal(tile_memory_read(device, values, x, sizeof values, NULL), TILE_OK);
    for (int i = 0; i < 4; i++)
        assert_true(values[i] == 0.75f * (float)(i + 1));
    assert_true(has_comma());
    tile_diagnostics_destroy(said);
    tile_memory_free(device, x);
    tile_function_destroy(function);
    tile_device_close(device);
    tile_context_destroy(context);
}

static void facts_are_the_same(void **state) {
    const tile_named by = {text("BY"), text("0.5")}, large = {text("LARGE"), text("True")};
    const tile_compile_options options = {.size = sizeof options,
                                          .path = text("scale.tile"),
                                          .source = text(source),
                                          .signature = text("*fp32, i32"),
                                          .constexprs = (tile_named[]){by, large},
                                          .constexpr_count = 2,
                                          .want = TILE_WANT(TILE_OUTPUT_PTX)};
    tile_context *context = NULL;
    tile_kernel *kernel = NULL;
    tile_diagnostics *said = NULL;
    tile_param_info param = {.size = sizeof param};
    assert_int_equal(
        tile_context_create(&(tile_context_options){.size = sizeof(tile_context_options),
                                                    .cache_folder = text("none")},
                            &context),
        TILE_OK);
    if (tile_compile(context, &options, &kernel, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    assert_int_equal(tile_kernel_get_param(kernel, 2, &param), TILE_OK);
    assert_string_equal(param.type.data, "0.5");
    tile_diagnostics_destroy(said);
    tile_kernel_destroy(kernel);
    tile_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_and_tells_the_same),
        cmocka_unit_test(facts_are_the_same),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
