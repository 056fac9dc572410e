/* What the interpreter finds wrong, with the exact message and place; and what it must let pass. */
#include "interp_text_testing.h"

#define COPY_KERNEL(MASK)                                                                          \
    "func @k(%x: ptr<f32>, %y: ptr<f32>) {\n"                                                      \
    "  %i = range {start = 0} : tile<8xi32>\n"                                                     \
    "  %n = constant_int {value = 6} : tile<8xi32>\n"                                              \
    "  %m = cmpi %i, %n {pred = slt} : tile<8xi1>\n"                                               \
    "  %xs = splat %x : tile<8xptr<f32>>\n"                                                        \
    "  %xp = addptr %xs, %i : tile<8xptr<f32>>\n"                                                  \
    "  %v = load %xp" MASK " : tile<8xf32>\n"                                                      \
    "  %ys = splat %y : tile<8xptr<f32>>\n"                                                        \
    "  %yp = addptr %ys, %i : tile<8xptr<f32>>\n"                                                  \
    "  store %yp, %v" MASK "\n"                                                                    \
    "  return\n"                                                                                   \
    "}\n"

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

/* Undefined values */

#define UNDEF_KERNEL(BETWEEN, LAST)                                                                \
    "func @k(%x: ptr<i32>, %y: ptr<i32>) {\n"                                                      \
    "  %i = range {start = 0} : tile<4xi32>\n"                                                     \
    "  %n = constant_int {value = 3} : tile<4xi32>\n"                                              \
    "  %m = cmpi %i, %n {pred = slt} : tile<4xi1>\n"                                               \
    "  %xs = splat %x : tile<4xptr<i32>>\n"                                                        \
    "  %xp = addptr %xs, %i : tile<4xptr<i32>>\n"                                                  \
    "  %v = load %xp, %m : tile<4xi32>\n"                                                          \
    "  %ys = splat %y : tile<4xptr<i32>>\n"                                                        \
    "  %yp = addptr %ys, %i : tile<4xptr<i32>>\n" BETWEEN LAST "  return\n"                        \
    "}\n"

#define FROM_LOAD                                                                                  \
    "k.tir:7:8: note: the mask of this load was off and it has no `other`\n"                       \
    "    7 |   %v = load %xp, %m : tile<4xi32>\n"                                                  \
    "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~\n"                                                  \
    "      = hint: give the load a value for these elements: other=0\n"

static void run_undefined(const char *kernel, const char *messages) {
    int32_t x[4] = {0, 1, 2, 3}, y[4];
    TextRun t = text_begin(kernel);
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    if (messages)
        text_run_reports(&t, messages);
    else
        text_run_clean(&t);
    text_end(&t);
}

static void test_undefined_values_that_are_stored(void **state) {
    run_undefined(
        UNDEF_KERNEL("  %w = addi %v, %i : tile<4xi32>\n", "  store %yp, %w\n"),
        "k.tir:11:3: error: the stored value is undefined; program (0, 0, 0), element (3)\n"
        "   11 |   store %yp, %w\n"
        "      |   ^~~~~~~~~~~~~\n" FROM_LOAD);
}

static void test_undefined_values_that_are_not_used(void **state) {
    run_undefined(UNDEF_KERNEL("", "  store %yp, %v, %m\n"), NULL);
    run_undefined(UNDEF_KERNEL("  %z = constant_int {value = 0} : tile<4xi32>\n"
                               "  %w = select %m, %v, %z : tile<4xi32>\n",
                               "  store %yp, %w\n"),
                  NULL);
    /* Undefined in a lane, and in the mask's complement only. */
    run_undefined(UNDEF_KERNEL("  %z = constant_int {value = 0} : tile<4xi32>\n"
                               "  %d = divsi %i, %z : tile<4xi32>\n"
                               "  %no = constant_int {value = 0} : tile<4xi1>\n",
                               "  store %yp, %d, %no\n"),
                  NULL);
}

static void test_undefined_addresses(void **state) {
    run_undefined(UNDEF_KERNEL("  %q = addptr %ys, %v : tile<4xptr<i32>>\n", "  store %q, %i\n"),
                  "k.tir:11:3: error: the address is undefined; program (0, 0, 0), element (3)\n"
                  "   11 |   store %q, %i\n"
                  "      |   ^~~~~~~~~~~~\n" FROM_LOAD);
}

static void test_undefined_masks(void **state) {
    run_undefined(
        UNDEF_KERNEL("  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n", "  store %yp, %i, %q\n"),
        "k.tir:11:3: error: the mask is undefined; program (0, 0, 0), element (3)\n"
        "   11 |   store %yp, %i, %q\n"
        "      |   ^~~~~~~~~~~~~~~~~\n" FROM_LOAD);
}

/* %v is undefined in the last element, %i and %m are 3 and off there; the others are 0, 1, 2. What
 * an operation makes of it is stored whole: `decided` by its defined operand, or not. */
#define INT(value) "  %c = constant_int {value = " #value "} : tile<4xi32>\n"
#define STORED "  store %yp, %w\n"
#define BINARY(op) "  %w = " op " : tile<4xi32>\n"
#define CHOICE(cond)                                                                               \
    "  %k = addi %i, %i : tile<4xi32>\n"                                                           \
    "  %w = select " cond ", %i, %k : tile<4xi32>\n"
#define COMPARED(op, pred) "  %q = cmpi " op " {pred = " pred "} : tile<4xi1>\n" CHOICE("%q")
#define FLOATS(value, op, type)                                                                    \
    "  %f = bitcast %v : tile<4xf32>\n"                                                            \
    "  %c = constant_float {value = " value "} : tile<4xf32>\n"                                    \
    "  %x1 = " op " : tile<4x" type ">\n"
#define AS_INT "  %w = bitcast %x1 : tile<4xi32>\n"
#define AS_CHOICE CHOICE("%x1")

#define UNDEFINED(between, decided)                                                                \
    { UNDEF_KERNEL(between, STORED), decided }

static const struct {
    const char *kernel;
    bool decided;
} undefined_operands[] = {
    UNDEFINED(INT(0) BINARY("andi %v, %c"), true),
    UNDEFINED(INT(0) BINARY("andi %c, %v"), true),
    UNDEFINED(INT(1) BINARY("andi %v, %c"), false),
    UNDEFINED(INT(0) BINARY("andi %v, %v"), false),
    UNDEFINED(INT(-1) BINARY("ori %v, %c"), true),
    UNDEFINED(INT(1) BINARY("ori %v, %c"), false),
    UNDEFINED(INT(0) BINARY("xori %v, %c"), false),
    UNDEFINED(INT(0) BINARY("muli %v, %c"), true),
    UNDEFINED(INT(2) BINARY("muli %v, %c"), false),
    UNDEFINED(INT(0) BINARY("mulhui %c, %v"), true),
    UNDEFINED(INT(-2147483648) BINARY("minsi %v, %c"), true),
    UNDEFINED(INT(2147483647) BINARY("minsi %v, %c"), false),
    UNDEFINED(INT(2147483647) BINARY("maxsi %c, %v"), true),
    UNDEFINED(INT(0) BINARY("minui %v, %c"), true),
    UNDEFINED(INT(-1) BINARY("maxui %v, %c"), true),
    UNDEFINED(INT(-1) BINARY("minui %v, %c"), false),
    UNDEFINED(INT(1) BINARY("remui %v, %c"), true),
    UNDEFINED(INT(1) BINARY("remui %c, %v"), false),
    UNDEFINED(INT(0) BINARY("divui %c, %v"), false),
    UNDEFINED(INT(0) COMPARED("%v, %c", "ult"), true),
    UNDEFINED(INT(0) COMPARED("%v, %c", "uge"), true),
    UNDEFINED(INT(0) COMPARED("%v, %c", "ugt"), false),
    UNDEFINED(INT(0) COMPARED("%c, %v", "ugt"), true),
    UNDEFINED(INT(0) COMPARED("%c, %v", "ule"), true),
    UNDEFINED(INT(-1) COMPARED("%v, %c", "ugt"), true),
    UNDEFINED(INT(-1) COMPARED("%v, %c", "ule"), true),
    UNDEFINED(INT(-1) COMPARED("%c, %v", "ult"), true),
    UNDEFINED(INT(-1) COMPARED("%v, %c", "slt"), false),
    UNDEFINED(INT(-2147483648) COMPARED("%v, %c", "slt"), true),
    UNDEFINED(INT(-2147483648) COMPARED("%v, %c", "sge"), true),
    UNDEFINED(INT(2147483647) COMPARED("%v, %c", "sgt"), true),
    UNDEFINED(INT(2147483647) COMPARED("%c, %v", "sge"), true),
    UNDEFINED(INT(2147483647) COMPARED("%c, %v", "sgt"), false),
    UNDEFINED(INT(0) COMPARED("%v, %c", "eq"), false),
    UNDEFINED(FLOATS("inf", "maxf %f, %c", "f32") AS_INT, true),
    UNDEFINED(FLOATS("inf", "maxf_nan %f, %c", "f32") AS_INT, false),
    UNDEFINED(FLOATS("nan", "maxf_nan %f, %c", "f32") AS_INT, true),
    UNDEFINED(FLOATS("-inf", "minf %c, %f", "f32") AS_INT, true),
    UNDEFINED(FLOATS("-inf", "maxf %f, %c", "f32") AS_INT, false),
    UNDEFINED(FLOATS("0.0", "mulf %f, %c", "f32") AS_INT, false),
    UNDEFINED(FLOATS("nan", "cmpf %f, %c {pred = ogt}", "i1") AS_CHOICE, true),
    UNDEFINED(FLOATS("nan", "cmpf %f, %c {pred = une}", "i1") AS_CHOICE, true),
    UNDEFINED(FLOATS("inf", "cmpf %f, %c {pred = ogt}", "i1") AS_CHOICE, true),
    UNDEFINED(FLOATS("inf", "cmpf %f, %c {pred = ole}", "i1") AS_CHOICE, false),
    UNDEFINED(FLOATS("-inf", "cmpf %c, %f {pred = ogt}", "i1") AS_CHOICE, true),
    UNDEFINED(FLOATS("inf", "cmpf %c, %f {pred = ogt}", "i1") AS_CHOICE, false),
    /* A condition that is not known, between equal values and between others. */
    UNDEFINED(INT(3) "  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n" BINARY("select %q, %i, %c"),
              true),
    UNDEFINED(INT(3) "  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n" BINARY("select %q, %v, %c"),
              false),
    UNDEFINED(INT(4) "  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n" BINARY("select %q, %i, %c"),
              false),
    /* What no value stands for: nothing is divided by zero; shifts give something. */
    UNDEFINED(INT(0) "  %d = divsi %i, %c : tile<4xi32>\n" BINARY("andi %d, %c"), false),
    UNDEFINED(INT(32) "  %d = shli %i, %c : tile<4xi32>\n"
                      "  %z = constant_int {value = 0} : tile<4xi32>\n" BINARY("andi %d, %z"),
              true),
    /* Masks: what is off stays off. */
    UNDEFINED("  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n"
              "  %p = andi %q, %m : tile<4xi1>\n" BINARY("select %p, %v, %i"),
              true),
    UNDEFINED("  %q = cmpi %v, %n {pred = eq} : tile<4xi1>\n"
              "  %p = ori %q, %m : tile<4xi1>\n" BINARY("select %p, %i, %v"),
              false),
};

static void test_undefined_operands(void **state) {
    for (size_t i = 0; i < sizeof undefined_operands / sizeof *undefined_operands; i++) {
        int32_t x[4] = {0, 1, 2, 3}, y[4];
        const char *kernel = undefined_operands[i].kernel;
        TextRun t = text_begin(kernel);
        text_array(&t, x, sizeof x);
        text_array(&t, y, sizeof y);
        bool clean = text_run(&t);
        if (clean != undefined_operands[i].decided)
            fail_msg("%s: %s", kernel, clean ? "no finding" : text_messages(&t));
        if (!clean)
            assert_non_null(strstr(text_messages(&t), "the stored value is undefined"));
        text_end(&t);
    }
}

/* An offset is narrower than the pointer it is added to. The tile is so large that reading the one
 * as the other ends behind all that is mapped. */
#define LARGE "tile<1048576x"
static void test_undefined_pointers(void **state) {
    int32_t x[4] = {0, 1, 2, 3}, y[8] = {0};
    TextRun t = text_begin("func @k(%x: ptr<i32>, %y: ptr<i32>) {\n"
                           "  %i = range {start = 0} : " LARGE "i32>\n"
                           "  %n = constant_int {value = 3} : " LARGE "i32>\n"
                           "  %m = cmpi %i, %n {pred = slt} : " LARGE "i1>\n"
                           "  %xs = splat %x : " LARGE "ptr<i32>>\n"
                           "  %xp = addptr %xs, %i : " LARGE "ptr<i32>>\n"
                           "  %v = load %xp, %m : " LARGE "i32>\n"
                           "  %ys = splat %y : " LARGE "ptr<i32>>\n"
                           "  %p = addptr %ys, %v : " LARGE "ptr<i32>>\n"
                           "  %q = addptr %p, %i : " LARGE "ptr<i32>>\n"
                           "  store %q, %n, %m\n"
                           "  return\n"
                           "}\n");
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_run_clean(&t);
    for (int i = 0; i < 8; i++)
        assert_int_equal(y[i], i <= 4 && i % 2 == 0 ? 3 : 0);
    text_end(&t);
}

static void test_undefined_conditions(void **state) {
    run_undefined(UNDEF_KERNEL("  %s = reduce %v {axis = 0} : i32 (%a: i32, %b: i32) {\n"
                               "    %r = addi %a, %b : i32\n"
                               "    yield %r\n"
                               "  }\n"
                               "  %zero = constant_int {value = 0} : i32\n"
                               "  %c = cmpi %s, %zero {pred = eq} : i1\n",
                               "  if %c {\n"
                               "    yield\n"
                               "  } {\n"
                               "    yield\n"
                               "  }\n"),
                  "k.tir:16:3: error: the condition is undefined; program (0, 0, 0)\n"
                  "   16 |   if %c {\n"
                  "      |   ^~~~~\n" FROM_LOAD);
}

static void test_undefined_loop_bounds_stop_the_run(void **state) {
    float x = 0;
    TextRun t = text_begin("func @k(%x: ptr<f32>) {\n"
                           "  %zero = constant_int {value = 0} : i32\n"
                           "  %one = constant_int {value = 1} : i32\n"
                           "  %n = divsi %one, %zero : i32\n"
                           "  for %zero, %n, %one (%i: i32) {\n"
                           "    yield\n"
                           "  }\n"
                           "  return\n"
                           "}\n");
    text_array(&t, &x, sizeof x);
    t.options.max_reports = 100;
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "k.tir:5:3: error: the loop's end is undefined; "));
    assert_non_null(strstr(text_messages(&t), "k.tir:4:8: note: this divided by zero, or the "
                                              "minimum by -1\n"));
    text_end(&t);
}

static void test_bytes_never_written(void **state) {
    float x[8] = {0}, y[8];
    uint8_t x_defined[sizeof x], y_defined[sizeof y] = {0};
    memset(x_defined, 1, sizeof x_defined);
    x_defined[22] = 0; /* a byte of element 5 */
    TextRun t = text_begin(COPY_KERNEL(", %m"));
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    t.arrays[0].defined = x_defined;
    t.arrays[1].defined = y_defined;
    text_run_reports(&t, "k.tir:10:3: error: the stored value is undefined; program (0, 0, 0), "
                         "element (5)\n"
                         "   10 |   store %yp, %v, %m\n"
                         "      |   ^~~~~~~~~~~~~~~~~\n"
                         "k.tir:7:8: note: this load read memory that was never written\n"
                         "    7 |   %v = load %xp, %m : tile<8xf32>\n"
                         "      |        ^~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    for (size_t i = 0; i < sizeof y; i++)
        assert_int_equal(y_defined[i], i < 20);
    text_end(&t);
}

static void test_shared_memory_never_written(void **state) {
    float y[4];
    TextRun t = text_begin(
        "func @k(%y: ptr<f32>) {num_warps = 1, has_layouts = true} {\n"
        "  %s = local_alloc {offset = -1} : buffer<4xf32, {reg = [1, 2]}>\n"
        "  %v = local_load %s : tile<4xf32, {reg = [1, 2], lane = [0, 0, 0, 0, 0]}>\n"
        "  %i = range {start = 0} : tile<4xi32, {reg = [1, 2], lane = [0, 0, 0, 0, 0]}>\n"
        "  %ys = splat %y : tile<4xptr<f32>, {reg = [1, 2], lane = [0, 0, 0, 0, 0]}>\n"
        "  %p = addptr %ys, %i : tile<4xptr<f32>, {reg = [1, 2], lane = [0, 0, 0, 0, 0]}>\n"
        "  store %p, %v\n"
        "  return\n"
        "}\n");
    text_array(&t, y, sizeof y);
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "the stored value is undefined"));
    assert_non_null(
        strstr(text_messages(&t), "k.tir:2:8: note: this shared memory was never written"));
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
    text_run_reports(&t, "k.tir:6:3: error: assertion failed: no sixes; program (0, 0, 0), "
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
    bool passed = text_run(&t);
    static char copy[512];
    snprintf(copy, sizeof copy, "%s", text_messages(&t));
    if (messages)
        *messages = copy;
    text_end(&t);
    return passed;
}

static void test_hints_are_checked(void **state) {
    const char *messages;
    assert_true(hint_passes("hint_divisible %j {values = [16]}", 32, NULL));
    assert_false(hint_passes("hint_divisible %j {values = [16]}", 20, &messages));
    assert_string_equal(messages,
                        "k.tir:5:8: error: the hint promises runs that begin with a "
                        "multiple of 16, but a value is 20; program (0, 0, 0), element (0)\n"
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delayed_load_of_what_is_written),
        cmocka_unit_test(test_delayed_load_of_what_was_written),
        cmocka_unit_test(test_masked_lanes_touch_nothing),
        cmocka_unit_test(test_load_past_the_end),
        cmocka_unit_test(test_store_past_the_end),
        cmocka_unit_test(test_one_report_an_op_then_the_next_op),
        cmocka_unit_test(test_partial_and_negative_elements),
        cmocka_unit_test(test_addresses_of_no_array),
        cmocka_unit_test(test_misaligned_access),
        cmocka_unit_test(test_read_only_arrays),
        cmocka_unit_test(test_undefined_values_that_are_stored),
        cmocka_unit_test(test_undefined_values_that_are_not_used),
        cmocka_unit_test(test_undefined_addresses),
        cmocka_unit_test(test_undefined_masks),
        cmocka_unit_test(test_undefined_operands),
        cmocka_unit_test(test_undefined_pointers),
        cmocka_unit_test(test_undefined_conditions),
        cmocka_unit_test(test_undefined_loop_bounds_stop_the_run),
        cmocka_unit_test(test_bytes_never_written),
        cmocka_unit_test(test_shared_memory_never_written),
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
