/* What the interpreter finds wrong, with the exact message and place; and what it must let pass. */
#include "interp_text_testing.h"

/* A load that may be delayed: element 2 of what it loads is written before its block ends. */
#define DELAY_KERNEL(BEFORE, AFTER)                                                                \
    "func @k(%x: ptr<f32>, %y: ptr<f32>) {\n"                                                      \
    "  %i = range {start = 0} : tile<4xi32>\n"                                                     \
    "  %xs = splat %x : tile<4xptr<f32>>\n"                                                        \
    "  %xp = addptr %xs, %i : tile<4xptr<f32>>\n"                                                  \
    "  %two = constant_int {value = 2} : i32\n"                                                    \
    "  %xt = addptr %x, %two : ptr<f32>\n"                                                         \
    "  %seven = constant_float {value = 7.0} : f32\n" BEFORE                                       \
    "  %v = load %xp {may_delay = true} : tile<4xf32>\n" AFTER                                     \
    "  %ys = splat %y : tile<4xptr<f32>>\n"                                                        \
    "  %yp = addptr %ys, %i : tile<4xptr<f32>>\n"                                                  \
    "  store %yp, %v\n"                                                                            \
    "  return\n"                                                                                   \
    "}\n"

static void test_delayed_load_of_what_is_written(void **state) {
    float x[4] = {1, 2, 3, 4}, y[4];
    TextRun t = text_begin(DELAY_KERNEL("", "  store %xt, %seven\n"));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_reports(&t, "k.tir:8:8: error: internal error: this load may be delayed to the end of "
                         "its block, but what it loads is written before; program (0, 0, 0), "
                         "element (2)\n"
                         "    8 |   %v = load %xp {may_delay = true} : tile<4xf32>\n"
                         "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    text_end(&t);
}

static void test_delayed_load_of_what_was_written(void **state) {
    float x[4] = {1, 2, 3, 4}, y[4], expected[4] = {1, 2, 7, 4};
    TextRun t = text_begin(DELAY_KERNEL("  store %xt, %seven\n", ""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_clean(&t);
    assert_memory_equal(y, expected, sizeof y);
    text_end(&t);
}

static void test_masked_lanes_touch_nothing(void **state) {
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    TextRun t = text_begin(COPY_KERNEL(", %m"));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_clean(&t);
    assert_memory_equal(x, y, sizeof x);
    text_end(&t);
}

static void test_load_past_the_end(void **state) {
    float x[6] = {0}, y[8];
    TextRun t = text_begin(COPY_KERNEL(""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_reports(&t, "k.tir:7:8: error: load outside 'x': element 6 of 6 (byte 24 of 24); "
                         "program (0, 0, 0), element (6)\n"
                         "    7 |   %v = load %xp : tile<8xf32>\n"
                         "      |        ^~~~~~~~~~~~~~~~~~~~~~\n"
                         "      = hint: give the load a mask that is off outside the array\n");
    text_end(&t);
}

static void test_store_past_the_end(void **state) {
    float x[8] = {0}, y[6];
    TextRun t = text_begin(COPY_KERNEL(""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_reports(&t, "k.tir:10:3: error: store outside 'y': element 6 of 6 (byte 24 of 24); "
                         "program (0, 0, 0), element (6)\n"
                         "   10 |   store %yp, %v\n"
                         "      |   ^~~~~~~~~~~~~\n"
                         "      = hint: give the store a mask that is off outside the array\n");
    text_end(&t);
}

static void test_one_report_an_op_then_the_next_op(void **state) {
    float x[6] = {0}, y[6];
    TextRun t = text_begin(COPY_KERNEL(""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    t.options.max_reports = 10;
    assert_false(text_run(&t));
    assert_int_equal(t.ctx->diags.errors, 2);
    text_end(&t);
}

/* An array that ends within an element, and one before the first element. */
static void test_partial_and_negative_elements(void **state) {
    static const char kernel[] = "func @k(%x: ptr<f32>, %y: ptr<f32>, %i: i32) {\n"
                                 "  %p = addptr %x, %i : ptr<f32>\n"
                                 "  %v = load %p : f32\n"
                                 "  store %y, %v\n"
                                 "  return\n"
                                 "}\n";
    static const struct {
        int64_t index;
        const char *found;
    } cases[] = {
        {1, "element 1 of 1 (byte 4 of 7)"},
        {-1, "element -1 of 1 (byte -4 of 7)"},
        {INT32_MIN, "element -2147483648 of 1 (byte -8589934592 of 7)"},
        {INT32_MAX, "element 2147483647 of 1 (byte 8589934588 of 7)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x[2] = {0}, y;
        TextRun t = text_begin(kernel);
        text_array(&t, x, 7);
        text_array(&t, &y, sizeof y);
        text_int(&t, cases[i].index);
        assert_false(text_run(&t));
        if (!strstr(text_messages(&t), cases[i].found))
            fail_msg("%s", text_messages(&t));
        text_end(&t);
    }
}

/* A stride that wrapped to a power of two leads to no other array. */
static void test_far_away(void **state) {
    for (int bit = 36; bit < 61; bit++) {
        float x[64] = {0}, z[64] = {0}, y;
        TextRun t = text_begin("func @k(%x: ptr<f32>, %z: ptr<f32>, %y: ptr<f32>, %i: i64) {\n"
                               "  %p = addptr %x, %i : ptr<f32>\n"
                               "  %v = load %p : f32\n"
                               "  store %y, %v\n"
                               "  return\n"
                               "}\n");
        text_array(&t, x, sizeof x);
        text_array(&t, z, sizeof z);
        text_array(&t, &y, sizeof y);
        text_int(&t, INT64_C(1) << bit);
        assert_false(text_run(&t));
        text_end(&t);
    }
}

static void test_addresses_of_no_array(void **state) {
    int32_t y;
    TextRun t = text_begin("func @k(%y: ptr<i32>) {\n"
                           "  %a = constant_int {value = 4660} : i64\n"
                           "  %p = inttoptr %a : ptr<i32>\n"
                           "  %v = load %p : i32\n"
                           "  store %y, %v\n"
                           "  return\n"
                           "}\n");
    text_array(&t, &y, sizeof y);
    text_run_reports(&t, "k.tir:4:8: error: load at address 0x1234, which is in none of the "
                         "arguments' arrays; program (0, 0, 0)\n"
                         "    4 |   %v = load %p : i32\n"
                         "      |        ^~~~~~~~~~~~~\n");
    text_end(&t);
}

static void test_misaligned_access(void **state) {
    int32_t x[2] = {0}, y;
    TextRun t = text_begin("func @k(%x: ptr<i32>, %y: ptr<i32>) {\n"
                           "  %b = bitcast %x : ptr<i8>\n"
                           "  %two = constant_int {value = 2} : i32\n"
                           "  %c = addptr %b, %two : ptr<i8>\n"
                           "  %p = bitcast %c : ptr<i32>\n"
                           "  %v = load %p : i32\n"
                           "  store %y, %v\n"
                           "  return\n"
                           "}\n");
    text_array(&t, x, sizeof x);
    text_array(&t, &y, sizeof y);
    text_run_reports(&t, "k.tir:6:8: error: misaligned load of 4 bytes in 'x' at byte 2; "
                         "program (0, 0, 0)\n"
                         "    6 |   %v = load %p : i32\n"
                         "      |        ^~~~~~~~~~~~~\n");
    text_end(&t);
}

static void test_read_only_arrays(void **state) {
    float x[8] = {0}, y[8];
    TextRun t = text_begin(COPY_KERNEL(""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    t.arrays[0].read_only = t.arrays[1].read_only = true;
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t),
                           "store to 'y', which is read-only; program (0, 0, 0), "
                           "element (0)"));
    text_end(&t);
}

/* Assertions, assumptions, hints, promises */

static void test_assertions(void **state) {
    float x = 0;
    TextRun t = text_begin("func @k(%x: ptr<f32>) {\n"
                           "  %i = range {start = 0} : tile<8xi32>\n"
                           "  %q = reshape %i : tile<2x4xi32>\n"
                           "  %n = constant_int {value = 6} : tile<2x4xi32>\n"
                           "  %c = cmpi %q, %n {pred = ne} : tile<2x4xi1>\n"
                           "  assert %c {message = \"no sixes\"}\n"
                           "  return\n"
                           "}\n");
    text_array(&t, &x, sizeof x);
    t.options.grid[1] = 2;
    text_run_reports(&t,
                     "k.tir:6:3: error: device-side assertion failed: no sixes; program (0, 0, 0), "
                     "element (1, 2)\n"
                     "    6 |   assert %c {message = \"no sixes\"}\n"
                     "      |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    text_end(&t);
}

static void test_assumptions(void **state) {
    static const char kernel[] = "func @k(%n: i32) {\n"
                                 "  %two = constant_int {value = 2} : i32\n"
                                 "  %c = cmpi %n, %two {pred = sgt} : i1\n"
                                 "  assume %c\n"
                                 "  return\n"
                                 "}\n";
    TextRun t = text_begin(kernel);
    text_int(&t, 3);
    text_run_clean(&t);
    text_end(&t);
    t = text_begin(kernel);
    text_int(&t, 2);
    text_run_reports(&t, "k.tir:4:3: error: the assumed condition is false; program (0, 0, 0)\n"
                         "    4 |   assume %c\n"
                         "      |   ^~~~~~~~~\n");
    text_end(&t);
}

static bool hint_passes(const char *hint, int64_t start, const char **messages) {
    static char text[512];
    snprintf(text, sizeof text,
             "func @k(%%n: i32) {\n"
             "  %%i = range {start = 0} : tile<8xi32>\n"
             "  %%ns = splat %%n : tile<8xi32>\n"
             "  %%j = addi %%i, %%ns : tile<8xi32>\n"
             "  %%h = %s : tile<8xi32>\n"
             "  return\n"
             "}\n",
             hint);
    TextRun t = text_begin(text);
    text_int(&t, start);
    assert_true(text_run(&t)); /* whatever is said */
    static char copy[512];
    snprintf(copy, sizeof copy, "%s", text_messages(&t));
    if (messages)
        *messages = copy;
    text_end(&t);
    t = text_begin(text);
    text_int(&t, start);
    t.options.warnings_fail = true;
    assert_int_equal(text_run(&t), !copy[0]);
    text_end(&t);
    return !copy[0];
}

static void test_hints_are_checked(void **state) {
    const char *messages;
    assert_true(hint_passes("hint_divisible %j {values = [16]}", 32, NULL));
    assert_false(hint_passes("hint_divisible %j {values = [16]}", 20, &messages));
    assert_string_equal(messages,
                        "k.tir:5:8: warning: the hint promises runs that begin with a "
                        "multiple of 16, but a value is 20; program (0, 0, 0), element (0) "
                        "[-Winterp_hint]\n"
                        "    5 |   %h = hint_divisible %j {values = [16]} : tile<8xi32>\n"
                        "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    assert_true(hint_passes("hint_contiguous %j {values = [8]}", 3, NULL));
    assert_false(hint_passes("hint_constant %j {values = [2]}", 0, &messages));
    assert_non_null(strstr(messages, "equal values in runs of 2, but a value is 1; program "
                                     "(0, 0, 0), element (1)"));
}

static void test_specialisation_is_checked(void **state) {
    static const char kernel[] =
        "func @k(%x: ptr<f32> {divisible = 16}, %n: i32 {divisible = 16}) {\n"
        "  return\n"
        "}\n";
    float x[8];
    for (int broken = 0; broken < 3; broken++) {
        TextRun t = text_begin(kernel);
        text_array(&t, x, sizeof x);
        text_int(&t, broken == 1 ? 24 : 32);
        t.args[0].byte_offset = broken == 2 ? 4 : 16;
        assert_int_equal(text_run(&t), broken == 0);
        if (broken == 1)
            assert_non_null(strstr(text_messages(&t), "argument 'n' has value 24, not a multiple "
                                                      "of 16 as its specialisation says"));
        if (broken == 2)
            assert_non_null(strstr(text_messages(&t), "argument 'x' has byte offset 4, not a "
                                                      "multiple of 16"));
        text_end(&t);
    }
}

static const char *width_message(int64_t offset, int64_t n, const char *pointers) {
    char text[2048];
    snprintf(text, sizeof text,
             "layout #A = {reg = [1, 2], lane = [4, 0, 0, 0, 0]}\n"
             "func @k(%%x: ptr<f32>, %%n: i32) {num_warps = 1, has_layouts = true} {\n"
             "  %%i = range {start = 0} : tile<8xi32, #A>\n"
             "  %%two = constant_int {value = 2} : tile<8xi32, #A>\n"
             "  %%j = muli %%i, %%two : tile<8xi32, #A>\n"
             "  %%ns = splat %%n : tile<8xi32, #A>\n"
             "  %%m = cmpi %%i, %%ns {pred = slt} : tile<8xi1, #A>\n"
             "  %%xs = splat %%x : tile<8xptr<f32>, #A>\n"
             "  %%p = addptr %%xs, %s : tile<8xptr<f32>, #A>\n"
             "  %%v = load %%p, %%m {width = 4} : tile<8xf32, #A>\n"
             "  return\n"
             "}\n",
             pointers);
    static char copy[512];
    float x[32] = {0};
    TextRun t = text_begin(text);
    text_array(&t, x, sizeof x);
    t.args[0].byte_offset = offset;
    text_int(&t, n);
    bool passed = text_run(&t);
    snprintf(copy, sizeof copy, "%s", text_messages(&t));
    text_end(&t);
    return passed ? NULL : copy;
}

/* The passes claim that four elements may be loaded at once. */
static void test_wide_accesses_are_checked(void **state) {
    assert_null(width_message(16, 8, "%i"));
    assert_null(width_message(0, 4, "%i"));
    assert_non_null(strstr(width_message(0, 5, "%i"),
                           "this load claims to access 4 elements at once, but the mask is not "
                           "uniform; program (0, 0, 0), element (5)"));
    assert_non_null(strstr(width_message(4, 8, "%i"), "the address is not aligned to it"));
    assert_non_null(strstr(width_message(0, 8, "%j"), "the addresses are not consecutive"));
}

static void test_endless_loops_end(void **state) {
    TextRun t = text_begin("func @k(%n: i32) {\n"
                           "  %c = constant_int {value = 1} : i1\n"
                           "  while {\n"
                           "    condition %c\n"
                           "  } {\n"
                           "    yield\n"
                           "  }\n"
                           "  return\n"
                           "}\n");
    text_int(&t, 0);
    t.options.max_steps = 1000;
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "error: still running after 1000 operations; program "
                                              "(0, 0, 0)"));
    text_end(&t);
}

static void test_steps_of_zero(void **state) {
    TextRun t = text_begin("func @k(%n: i32) {\n"
                           "  for %n, %n, %n (%i: i32) {\n"
                           "    yield\n"
                           "  }\n"
                           "  return\n"
                           "}\n");
    text_int(&t, 0);
    text_run_reports(&t, "k.tir:2:3: error: the loop's step is 0; program (0, 0, 0)\n"
                         "    2 |   for %n, %n, %n (%i: i32) {\n"
                         "      |   ^~~~~~~~~~~~~~\n");
    text_end(&t);
}

static void test_prints(void **state) {
    float x[2] = {1.5f, NAN};
    TextRun t = text_begin("func @k(%x: ptr<f32>, %n: i32) {\n"
                           "  %i = range {start = -1} : tile<2xi32>\n"
                           "  %xs = splat %x : tile<2xptr<f32>>\n"
                           "  %z = range {start = 0} : tile<2xi32>\n"
                           "  %p = addptr %xs, %z : tile<2xptr<f32>>\n"
                           "  %v = load %p : tile<2xf32>\n"
                           "  print %v {prefix = \"v\"}\n"
                           "  print %i, %n {prefix = \" both: \", hex = true}\n"
                           "  print {prefix = \"here\"}\n"
                           "  return\n"
                           "}\n");
    text_array(&t, x, sizeof x);
    text_int(&t, 17);
    text_run_clean(&t);
    assert_string_equal(t.output.ptr, "pid (0, 0, 0) idx (0) v: 1.500000\n"
                                      "pid (0, 0, 0) idx (1) v: nan\n"
                                      "pid (0, 0, 0) idx (0) both: (operand 0) 0xffffffff\n"
                                      "pid (0, 0, 0) idx (1) both: (operand 0) 0x00000000\n"
                                      "pid (0, 0, 0) idx () both: (operand 1) 0x00000011\n"
                                      "pid (0, 0, 0) here\n");
    text_end(&t);
}

/* Printing fills the context's arena up to its limit: the run's own memory is released on the way
 * out, which the leak checker sees. */
static void test_running_out_of_memory(void **state) {
    TextRun t = text_begin("func @k(%n: i32) {\n"
                           "  %i = range {start = 0} : tile<4096xi32>\n"
                           "  print %i {prefix = \"a long prefix that fills the memory soon\"}\n"
                           "  return\n"
                           "}\n");
    text_int(&t, 0);
    t.options.grid[0] = 1000;
    t.ctx->arena.oom = &t.ctx->oom;
    t.ctx->arena.limit = t.ctx->arena.reserved + (1 << 20);
    Ctx *volatile ctx = t.ctx;
    if (setjmp(ctx->oom) == 0) {
        text_run(&t);
        fail_msg("the run should have run out of memory");
    }
    assert_ptr_equal(ctx->arena.oom, &ctx->oom);
    ctx_destroy(ctx);
}

/* y[0..2) = where x is, as a number, and whether a pointer made of what list[0] holds is x; y[2] =
 * what that pointer leads to at element `i`. */
#define ADDRESS_KERNEL                                                                             \
    "func @k(%x: ptr<i64>, %list: ptr<i64>, %y: ptr<i64>, %i: i32) {\n"                            \
    "  %at = ptrtoint %x : i64\n"                                                                  \
    "  %found = load %list : i64\n"                                                                \
    "  %p = inttoptr %found : ptr<i64>\n"                                                          \
    "  %same = cmpi %x, %p {pred = eq} : i1\n"                                                     \
    "  %is = extui %same : i64\n"                                                                  \
    "  %pi = addptr %p, %i : ptr<i64>\n"                                                           \
    "  %v = load %pi : i64\n"                                                                      \
    "  %one = constant_int {value = 1} : i32\n"                                                    \
    "  %two = constant_int {value = 2} : i32\n"                                                    \
    "  %y1 = addptr %y, %one : ptr<i64>\n"                                                         \
    "  %y2 = addptr %y, %two : ptr<i64>\n"                                                         \
    "  store %y, %at\n"                                                                            \
    "  store %y1, %is\n"                                                                           \
    "  store %y2, %v\n"                                                                            \
    "  return\n"                                                                                   \
    "}\n"

enum { X_ADDRESS = 0x10000, LIST_ADDRESS = X_ADDRESS + 16 };

/* The list lies right behind x. */
static TextRun address_run(int64_t x[2], int64_t list[1], int64_t y[3], int64_t i) {
    TextRun t = text_begin(ADDRESS_KERNEL);
    text_array(&t, x, 2 * sizeof *x);
    text_array(&t, list, sizeof *list);
    text_array(&t, y, 3 * sizeof *y);
    text_int(&t, i);
    t.arrays[0].address = X_ADDRESS;
    t.arrays[1].address = LIST_ADDRESS;
    return t;
}

static void test_addresses_that_were_given(void **state) {
    int64_t x[2] = {5, 6}, list[1] = {X_ADDRESS}, y[3] = {0};
    const int64_t expected[3] = {X_ADDRESS, 1, 6};
    TextRun t = address_run(x, list, y, 1);
    text_run_clean(&t);
    assert_memory_equal(y, expected, sizeof y);
    text_end(&t);
}

static void test_no_overrun_reaches_a_neighbour(void **state) {
    float x[6] = {0}, y[8] = {0};
    TextRun t = text_begin(COPY_KERNEL(""));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    t.arrays[0].address = X_ADDRESS;
    t.arrays[1].address = X_ADDRESS + sizeof x;
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "load outside 'x': element 6 of 6 (byte 24 of 24)"));
    text_end(&t);
}

static void test_addresses_in_memory_lead_to_arrays_alone(void **state) {
    int64_t x[2] = {5, 6}, list[1] = {X_ADDRESS - 8}, y[3] = {0};
    TextRun t = address_run(x, list, y, 0);
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "load at address 0xfff8, which is in none"));
    text_end(&t);
}

/* Arrays that have addresses: what is no address of theirs is the same behind a pointer. */
static void test_integers_pass_through_pointers(void **state) {
    enum { COUNT = 1 << 16 };
    static uint64_t x[COUNT], y[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        x[i] = ((uint64_t)i << 48) + i;
    TextRun t = text_begin("func @k(%x: ptr<i64>, %y: ptr<i64>) {\n"
                           "  %i = range {start = 0} : tile<65536xi32>\n"
                           "  %xs = splat %x : tile<65536xptr<i64>>\n"
                           "  %ys = splat %y : tile<65536xptr<i64>>\n"
                           "  %px = addptr %xs, %i : tile<65536xptr<i64>>\n"
                           "  %py = addptr %ys, %i : tile<65536xptr<i64>>\n"
                           "  %v = load %px : tile<65536xi64>\n"
                           "  %p = inttoptr %v : tile<65536xptr<i32>>\n"
                           "  %w = ptrtoint %p : tile<65536xi64>\n"
                           "  store %py, %w\n"
                           "  return\n"
                           "}\n");
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    t.arrays[0].address = X_ADDRESS;
    t.arrays[1].address = X_ADDRESS + sizeof x;
    text_run_clean(&t);
    assert_memory_equal(x, y, sizeof x);
    text_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delayed_load_of_what_is_written),
        cmocka_unit_test(test_delayed_load_of_what_was_written),
        cmocka_unit_test(test_masked_lanes_touch_nothing),
        cmocka_unit_test(test_load_past_the_end),
        cmocka_unit_test(test_store_past_the_end),
        cmocka_unit_test(test_one_report_an_op_then_the_next_op),
        cmocka_unit_test(test_partial_and_negative_elements),
        cmocka_unit_test(test_far_away),
        cmocka_unit_test(test_addresses_of_no_array),
        cmocka_unit_test(test_addresses_that_were_given),
        cmocka_unit_test(test_no_overrun_reaches_a_neighbour),
        cmocka_unit_test(test_addresses_in_memory_lead_to_arrays_alone),
        cmocka_unit_test(test_integers_pass_through_pointers),
        cmocka_unit_test(test_misaligned_access),
        cmocka_unit_test(test_read_only_arrays),
        cmocka_unit_test(test_assertions),
        cmocka_unit_test(test_assumptions),
        cmocka_unit_test(test_hints_are_checked),
        cmocka_unit_test(test_specialisation_is_checked),
        cmocka_unit_test(test_wide_accesses_are_checked),
        cmocka_unit_test(test_endless_loops_end),
        cmocka_unit_test(test_steps_of_zero),
        cmocka_unit_test(test_prints),
        cmocka_unit_test(test_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
