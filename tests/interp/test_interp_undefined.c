/* Values nobody may rely on: where the interpreter lets them pass, and where it reports them, with
 * the exact message and place of both the use and the origin. */
#include "interp_text_testing.h"

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
    memset(x_defined, 0xff, sizeof x_defined);
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
        assert_int_equal(y_defined[i], i < 20 ? 0xff : 0);
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

/* One element of a batch of products is stored: where what is undefined of it comes from. */
static void check_product_element(int element, const char *origin) {
    static const char format[] =
        "func @k(%%x: ptr<f32>, %%y: ptr<f32>) {\n"
        "  %%i = range {start = 0} : tile<8xi32>\n"
        "  %%xs = splat %%x : tile<8xptr<f32>>\n"
        "  %%xp = addptr %%xs, %%i : tile<8xptr<f32>>\n"
        "  %%n3 = constant_int {value = 3} : tile<8xi32>\n"
        "  %%n1 = constant_int {value = 1} : tile<8xi32>\n"
        "  %%n2 = constant_int {value = 2} : tile<8xi32>\n"
        "  %%n6 = constant_int {value = 6} : tile<8xi32>\n"
        "  %%am = cmpi %%i, %%n3 {pred = ne} : tile<8xi1>\n"
        "  %%b1 = cmpi %%i, %%n1 {pred = ne} : tile<8xi1>\n"
        "  %%b2 = cmpi %%i, %%n2 {pred = ne} : tile<8xi1>\n"
        "  %%b6 = cmpi %%i, %%n6 {pred = ne} : tile<8xi1>\n"
        "  %%b12 = andi %%b1, %%b2 : tile<8xi1>\n"
        "  %%bm = andi %%b12, %%b6 : tile<8xi1>\n"
        "  %%av = load %%xp, %%am : tile<8xf32>\n"
        "  %%bv = load %%xp, %%bm : tile<8xf32>\n"
        "  %%a = reshape %%av : tile<2x2x2xf32>\n"
        "  %%b = reshape %%bv : tile<2x2x2xf32>\n"
        "  %%zero = constant_float {value = 0} : tile<2x2x2xf32>\n"
        "  %%d = dot %%a, %%b, %%zero {precision = ieee} : tile<2x2x2xf32>\n"
        "  %%f = reshape %%d : tile<8xf32>\n"
        "  %%e = constant_int {value = %d} : tile<8xi32>\n"
        "  %%m = cmpi %%i, %%e {pred = eq} : tile<8xi1>\n"
        "  %%ys = splat %%y : tile<8xptr<f32>>\n"
        "  %%yp = addptr %%ys, %%i : tile<8xptr<f32>>\n"
        "  store %%yp, %%f, %%m\n"
        "  return\n"
        "}\n";
    char text[sizeof format + 16];
    snprintf(text, sizeof text, format, element);
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[8];
    TextRun t = text_begin(text);
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    assert_int_equal(text_run(&t), !origin);
    if (origin && !strstr(text_messages(&t), origin))
        fail_msg("element %d: wanted '%s', got %s", element, origin, text_messages(&t));
    text_end(&t);
}

/* Of a product an element is undefined where its row of a or its column of b is. It has the origin
 * of the first along K, a's in front of b's. Here a[0, 1, 1] is, b[0, 0, 1], b[0, 1, 0] and
 * b[1, 1, 0]. */
static void test_undefined_products(void **state) {
    static const char a[] = "k.tir:15:9: note: the mask of this load was off";
    static const char b[] = "k.tir:16:9: note: the mask of this load was off";
    static const char *const origins[8] = {b, b, a, b, b, NULL, b, NULL};
    for (int element = 0; element < 8; element++)
        check_product_element(element, origins[element]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(test_undefined_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
