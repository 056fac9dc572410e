/* Functions of units: what is kept of them, tuned, run on devices that are this machine. */
#include "unit_testing.h"

/* A function keeps the units, and specialises on what they allow. */
static void functions_keep_units(void **state) {
    Fixture *f = *state;
    char text_copy[sizeof add_text], name[] = "relu";
    strcpy(text_copy, add_text);
    tile_text fixed = text("n");
    tile_binding kernel[] = {language("T", "triton.language"), function_of(name, 1)};
    tile_binding helper[] = {literal("LEAST", "0.5"), language("max", "triton.language.maximum")};
    tile_unit units[] = {unit_of("net.py", 10, text_copy, BINDINGS(kernel)),
                         unit_of("act.py", 30, relu_text, BINDINGS(helper))};
    units[0].do_not_specialize = &fixed;
    units[0].do_not_specialize_count = 1;
    const tile_compile_options options = {
        .size = sizeof options, .units = units, .unit_count = 2, .grid = text("cdiv(n, BLOCK)")};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    memset(text_copy, 'x', sizeof text_copy - 1);
    memset(name, 'x', sizeof name - 1);
    memset(units, 0, sizeof units);
    tile_device *device = open_device(f);
    tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(1),
                                 tile_constexpr_int(256)};
    const tile_executable *one = NULL, *many = NULL;
    assert_int_equal(tile_function_instance(function, device, arguments, 3, &one, NULL), TILE_OK);
    arguments[1] = tile_int(4096);
    assert_int_equal(tile_function_instance(function, device, arguments, 3, &many, NULL), TILE_OK);
    assert_ptr_equal(one, many);
    assert_int_equal(tile_function_launch(function, device, NULL, NULL, arguments, 3, NULL),
                     TILE_OK);
    tile_function_destroy(function);
    tile_device_close(device);
    const tile_text wrong = text("m");
    tile_unit unit = unit_of("net.py", 1, "def k(x):\n    pass\n", NULL, 0);
    unit.do_not_specialize = &wrong;
    unit.do_not_specialize_count = 1;
    assert_string_equal(compile(f, &unit, 1, "*i32").id, "elab_param_unknown");
}

/* Configurations of the options are measured, and kept for what the units say. */
static void functions_of_units_are_tuned(void **state) {
    Fixture *f = *state;
    static const unsigned char bytes[] = {8, 4, 0};
    const tile_named tune = {text("BLOCK"), text("[64, 128]")};
    tile_binding kernel[] = {language("T", "triton.language"), literal("relu", "abs")};
    const tile_unit unit = unit_of("net.py", 10, add_text, BINDINGS(kernel));
    const tile_compile_options options = {.size = sizeof options,
                                          .units = &unit,
                                          .unit_count = 1,
                                          .grid = text("cdiv(n, BLOCK)"),
                                          .tune = &tune,
                                          .tune_count = 1};
    tile_device *device = open_device(f);
    const tile_argument arguments[] = {tile_buffer(0x1000, TILE_FP32, 4096), tile_int(1000)};
    memcpy(f->cuda->param_bytes, bytes, sizeof bytes);
    unsigned launches[3];
    for (int i = 0; i < 3; i++) {
        tile_function *function = NULL;
        tile_diagnostics *said = NULL;
        kernel[1] = language("relu", i < 2 ? "triton.language.abs" : "triton.language.exp");
        assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
        const unsigned before = f->cuda->launches;
        const tile_status status =
            tile_function_launch(function, device, NULL, NULL, arguments, 2, &said);
        if (status != TILE_OK)
            print_error("%s", tile_diagnostics_text(said).data);
        assert_int_equal(status, TILE_OK);
        launches[i] = f->cuda->launches - before;
        tile_diagnostics_destroy(said);
        tile_function_destroy(function);
    }
    assert_true(launches[0] > 1);
    assert_int_equal(launches[1], 1); /* what was measured is kept */
    assert_true(launches[2] > 1);     /* of these units */
    tile_device_close(device);
}

/* Findings are at the lines of the unit that they are in, of several of one file. */
static void findings_are_at_the_lines_of_units(void **state) {
    Fixture *f = *state;
    const tile_binding kernel[] = {language("tl", "triton.language"), function_of("act", 1)};
    const tile_binding helper[] = {language("tl", "triton.language")};
    tile_unit units[] = {unit_of("m.py", 50,
                                 "def k(x, N: tl.constexpr):\n"
                                 "    i = tl.arange(0, N)\n"
                                 "    tl.store(x + i, act(x + i))\n",
                                 BINDINGS(kernel)),
                         unit_of("m.py", 200,
                                 "def act(p):\n"
                                 "    return tl.load(p + 4) + 1.0\n",
                                 BINDINGS(helper))};
    units[1].first_column = 9;
    const tile_compile_options options = {.size = sizeof options, .units = units, .unit_count = 2};
    tile_function *function = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &function, NULL), TILE_OK);
    for (int kind = 0; kind < 2; kind++) {
        const tile_host_options host = {.size = sizeof host, .kind = (tile_host_kind)kind};
        static const uint32_t grid[3] = {1, 1, 1};
        float x[16] = {0};
        tile_device *device = NULL;
        tile_diagnostics *said = NULL;
        assert_int_equal(tile_device_open_host(f->context, &host, &device, NULL), TILE_OK);
        const tile_argument arguments[] = {tile_buffer((uintptr_t)x, TILE_FP32, sizeof x),
                                           tile_constexpr_int(16)};
        const tile_status status =
            tile_function_launch(function, device, grid, NULL, arguments, 2, &said);
        tile_diagnostic first = {.size = sizeof first};
        assert_int_equal(status, TILE_ERROR_KERNEL);
        assert_int_equal(tile_diagnostics_get(said, 0, &first), TILE_OK);
        assert_string_equal(first.path.data, "m.py");
        assert_int_equal(first.line, 201);
        assert_non_null(strstr(first.rendered.data, "  201 |     return tl.load(p + 4) + 1.0\n"));
        tile_diagnostics_destroy(said);
        tile_device_close(device);
    }
    tile_function_destroy(function);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(functions_keep_units),
        TEST(functions_of_units_are_tuned),
        TEST(findings_are_at_the_lines_of_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
