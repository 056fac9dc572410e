/* Control flow, shape ops, reductions, scans, products and arguments, against plain loops. */
#include "interp_text_testing.h"
#include "types/float_bits.h"

/* Control flow */

static void test_loops_carry_values(void **state) {
    /* Fibonacci: the loop swaps its carried values. */
    int32_t out[2];
    TextRun t = text_begin(
        "func @k(%y: ptr<i32>, %n: i32) {\n"
        "  %zero = constant_int {value = 0} : i32\n"
        "  %one = constant_int {value = 1} : i32\n"
        "  %f, %g = for %zero, %n, %one, %zero, %one : i32, i32 (%i: i32, %a: i32, %b: i32) {\n"
        "    %c = addi %a, %b : i32\n"
        "    yield %b, %c\n"
        "  }\n"
        "  %p = addptr %y, %one : ptr<i32>\n"
        "  store %y, %f\n"
        "  store %p, %g\n"
        "  return\n"
        "}\n");
    text_array(&t, out, sizeof out);
    text_int(&t, 20);
    text_run_clean(&t);
    assert_int_equal(out[0], 6765);
    assert_int_equal(out[1], 10946);
    text_end(&t);
}

static void test_loop_bounds(void **state) {
    static const char kernel[] = "func @k(%y: ptr<i64>, %lo: i64, %hi: i64, %step: i64) {\n"
                                 "  %zero = constant_int {value = 0} : i64\n"
                                 "  %s = for %lo, %hi, %step, %zero : i64 (%i: i64, %a: i64) {\n"
                                 "    %ten = constant_int {value = 10} : i64\n"
                                 "    %b = muli %a, %ten : i64\n"
                                 "    %c = addi %b, %i : i64\n"
                                 "    yield %c\n"
                                 "  }\n"
                                 "  store %y, %s\n"
                                 "  return\n"
                                 "}\n";
    static const struct {
        int64_t lo, hi, step, digits;
    } cases[] = {
        {1, 6, 1, 12345},
        {1, 6, 2, 135},
        {5, 0, -1, 54321},
        {5, 0, -2, 531},
        {3, 3, 1, 0},
        {3, 0, 1, 0},
        {0, 3, -1, 0},
        {INT64_MAX - 1, INT64_MAX, 5, INT64_MAX - 1},
        {INT64_MIN + 1, INT64_MIN, -5, INT64_MIN + 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t out;
        TextRun t = text_begin(kernel);
        text_array(&t, &out, sizeof out);
        text_int(&t, cases[i].lo);
        text_int(&t, cases[i].hi);
        text_int(&t, cases[i].step);
        text_run_clean(&t);
        assert_true(out == cases[i].digits);
        text_end(&t);
    }
}

static void test_nested_control_flow(void **state) {
    /* Collatz steps of 1 .. n added up: for { while { if } }. */
    int32_t out;
    TextRun t = text_begin("func @k(%y: ptr<i32>, %n: i32) {\n"
                           "  %zero = constant_int {value = 0} : i32\n"
                           "  %one = constant_int {value = 1} : i32\n"
                           "  %two = constant_int {value = 2} : i32\n"
                           "  %three = constant_int {value = 3} : i32\n"
                           "  %total = for %one, %n, %one, %zero : i32 (%i: i32, %sum: i32) {\n"
                           "    %last, %steps = while %i, %sum : i32, i32 (%x: i32, %s: i32) {\n"
                           "      %more = cmpi %x, %one {pred = ne} : i1\n"
                           "      condition %more, %x, %s\n"
                           "    } (%x: i32, %s: i32) {\n"
                           "      %odd = remsi %x, %two : i32\n"
                           "      %is_odd = cmpi %odd, %one {pred = eq} : i1\n"
                           "      %next = if %is_odd : i32 {\n"
                           "        %triple = muli %x, %three : i32\n"
                           "        %up = addi %triple, %one : i32\n"
                           "        yield %up\n"
                           "      } {\n"
                           "        %half = divsi %x, %two : i32\n"
                           "        yield %half\n"
                           "      }\n"
                           "      %s1 = addi %s, %one : i32\n"
                           "      yield %next, %s1\n"
                           "    }\n"
                           "    yield %steps\n"
                           "  }\n"
                           "  store %y, %total\n"
                           "  return\n"
                           "}\n");
    text_array(&t, &out, sizeof out);
    text_int(&t, 31);
    text_run_clean(&t);
    int expected = 0;
    for (int i = 1; i < 31; i++)
        for (int x = i; x != 1; x = x % 2 ? 3 * x + 1 : x / 2)
            expected++;
    assert_int_equal(out, expected);
    text_end(&t);
}

static void test_every_program_runs(void **state) {
    int32_t out[2 * 3 * 4];
    TextRun t = text_begin("func @k(%y: ptr<i32>) {\n"
                           "  %x = program_id {axis = 0} : i32\n"
                           "  %py = program_id {axis = 1} : i32\n"
                           "  %z = program_id {axis = 2} : i32\n"
                           "  %nx = num_programs {axis = 0} : i32\n"
                           "  %ny = num_programs {axis = 1} : i32\n"
                           "  %a = muli %z, %ny : i32\n"
                           "  %b = addi %a, %py : i32\n"
                           "  %c = muli %b, %nx : i32\n"
                           "  %d = addi %c, %x : i32\n"
                           "  %p = addptr %y, %d : ptr<i32>\n"
                           "  store %p, %d\n"
                           "  return\n"
                           "}\n");
    memset(out, 0xff, sizeof out);
    text_array(&t, out, sizeof out);
    memcpy(t.options.grid, (uint32_t[]){2, 3, 4}, sizeof t.options.grid);
    text_run_clean(&t);
    for (int i = 0; i < 24; i++)
        assert_int_equal(out[i], i);
    text_end(&t);
}

static void test_values_live_as_long_as_loops_need_them(void **state) {
    /* %w is used in the loop alone, and by every iteration. */
    int32_t out;
    TextRun t = text_begin("func @k(%y: ptr<i32>, %n: i32) {\n"
                           "  %zero = constant_int {value = 0} : i32\n"
                           "  %one = constant_int {value = 1} : i32\n"
                           "  %w = addi %n, %one : i32\n"
                           "  %s = for %zero, %n, %one, %zero : i32 (%i: i32, %a: i32) {\n"
                           "    %junk = muli %i, %i : i32\n"
                           "    %b = addi %a, %w : i32\n"
                           "    yield %b\n"
                           "  }\n"
                           "  store %y, %s\n"
                           "  return\n"
                           "}\n");
    text_array(&t, &out, sizeof out);
    text_int(&t, 9);
    text_run_clean(&t);
    assert_int_equal(out, 90);
    text_end(&t);
}

/* Shapes: kernels from iota to an array of n elements */

#define STORE_FLAT(n)                                                                              \
    "  %flat = reshape %r : tile<" #n "xi32>\n"                                                    \
    "  %idx = range {start = 0} : tile<" #n "xi32>\n"                                              \
    "  %ys = splat %y : tile<" #n "xptr<i32>>\n"                                                   \
    "  %p = addptr %ys, %idx : tile<" #n "xptr<i32>>\n"                                            \
    "  store %p, %flat\n"                                                                          \
    "  return\n"                                                                                   \
    "}\n"

static void run_shape(const char *kernel, int32_t *out, size_t n) {
    TextRun t = text_begin(kernel);
    text_array(&t, out, n * sizeof *out);
    text_run_clean(&t);
    text_end(&t);
}

static void test_transpose(void **state) {
    int32_t out[64];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %i = range {start = 0} : tile<64xi32>\n"
              "  %t = reshape %i : tile<2x4x8xi32>\n"
              "  %r = transpose %t {order = [2, 0, 1]} : tile<8x2x4xi32>\n" STORE_FLAT(64),
              out, 64);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 2; b++)
            for (int c = 0; c < 4; c++)
                assert_int_equal(out[(a * 2 + b) * 4 + c], (b * 4 + c) * 8 + a);
}

static void test_expand_and_broadcast(void **state) {
    int32_t out[64];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %i = range {start = 0} : tile<8xi32>\n"
              "  %a = expand_dims %i {axis = 0} : tile<1x8xi32>\n"
              "  %b = expand_dims %a {axis = 0} : tile<1x1x8xi32>\n"
              "  %c = transpose %b {order = [0, 2, 1]} : tile<1x8x1xi32>\n"
              "  %r = broadcast %c : tile<2x8x4xi32>\n" STORE_FLAT(64),
              out, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[i], i / 4 % 8);
}

static void test_join_and_split(void **state) {
    int32_t out[8];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %a = range {start = 0} : tile<4xi32>\n"
              "  %b = range {start = 10} : tile<4xi32>\n"
              "  %j = join %a, %b : tile<4x2xi32>\n"
              "  %lo, %hi = split %j : tile<4xi32>, tile<4xi32>\n"
              "  %r = join %hi, %lo : tile<4x2xi32>\n" STORE_FLAT(8),
              out, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], i % 2 ? i / 2 : 10 + i / 2);
}

/* Along each axis, with indices narrower than the tile and in any order; what no element has is
 * undefined, which a select may leave out. */
static void test_gather(void **state) {
    int32_t out[8];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %a = range {start = 0} : tile<8xi32>\n"
              "  %x = reshape %a : tile<4x2xi32>\n"
              "  %s = constant_int {value = 6} : tile<8xi32>\n"
              "  %j = subi %s, %a : tile<8xi32>\n"
              "  %k = reshape %j : tile<4x2xi32>\n"
              "  %g = gather %x, %k {axis = 0} : tile<4x2xi32>\n"
              "  %z = constant_int {value = 0} : tile<4x2xi32>\n"
              "  %f = constant_int {value = 4} : tile<4x2xi32>\n"
              "  %lo = cmpi %k, %z {pred = sge} : tile<4x2xi1>\n"
              "  %hi = cmpi %k, %f {pred = slt} : tile<4x2xi1>\n"
              "  %in = andi %lo, %hi : tile<4x2xi1>\n"
              "  %r = select %in, %g, %z : tile<4x2xi32>\n" STORE_FLAT(8),
              out, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], 6 - i >= 0 && 6 - i < 4 ? 2 * (6 - i) + i % 2 : 0);
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %a = range {start = 0} : tile<8xi32>\n"
              "  %x = reshape %a : tile<1x4x2xi32>\n"
              "  %o = constant_int {value = 1} : tile<1x8x2xi8>\n"
              "  %g = gather %x, %o {axis = 1} : tile<1x8x2xi32>\n"
              "  %r, %s = split %g : tile<1x8xi32>, tile<1x8xi32>\n" STORE_FLAT(8),
              out, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], 2);
}

/* What is no bin is not counted. */
static void test_histogram(void **state) {
    int32_t out[4];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %a = range {start = 0} : tile<32xi32>\n"
              "  %n = constant_int {value = 5} : tile<32xi32>\n"
              "  %o = constant_int {value = 1} : tile<32xi32>\n"
              "  %m = remsi %a, %n : tile<32xi32>\n"
              "  %x = subi %m, %o : tile<32xi32>\n"
              "  %r = histogram %x : tile<4xi32>\n" STORE_FLAT(4),
              out, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], i == 0 ? 7 : 6);
}

/* Reductions and scans over every axis of 4x8x2, with a region that is not commutative in what it
 * returns for equal values: argmax with the lowest index. */

static void test_argmax_over_every_axis(void **state) {
    static const char *const shapes[] = {"8x2", "4x2", "4x8"};
    static const int dims[3] = {4, 8, 2};
    int32_t in[64];
    for (int i = 0; i < 64; i++)
        in[i] = i * 37 % 11;
    for (int axis = 0; axis < 3; axis++) {
        int32_t values[64], indices[64];
        char text[2048];
        int n = 64 / dims[axis];
        snprintf(
            text, sizeof text,
            "func @k(%%x: ptr<i32>, %%v: ptr<i32>, %%w: ptr<i32>) {\n"
            "  %%i = range {start = 0} : tile<64xi32>\n"
            "  %%xs = splat %%x : tile<64xptr<i32>>\n"
            "  %%xp = addptr %%xs, %%i : tile<64xptr<i32>>\n"
            "  %%l = load %%xp : tile<64xi32>\n"
            "  %%t = reshape %%l : tile<4x8x2xi32>\n"
            "  %%u = reshape %%i : tile<4x8x2xi32>\n"
            "  %%m, %%a = reduce %%t, %%u {axis = %d} : tile<%sxi32>, tile<%sxi32> (%%p: i32, %%q: "
            "i32, %%s: i32, %%d: i32) {\n"
            "    %%more = cmpi %%p, %%s {pred = sgt} : i1\n"
            "    %%same = cmpi %%p, %%s {pred = eq} : i1\n"
            "    %%first = cmpi %%q, %%d {pred = slt} : i1\n"
            "    %%tie = andi %%same, %%first : i1\n"
            "    %%left = ori %%more, %%tie : i1\n"
            "    %%e = select %%left, %%p, %%s : i32\n"
            "    %%f = select %%left, %%q, %%d : i32\n"
            "    yield %%e, %%f\n"
            "  }\n"
            "  %%fm = reshape %%m : tile<%dxi32>\n"
            "  %%fa = reshape %%a : tile<%dxi32>\n"
            "  %%o = range {start = 0} : tile<%dxi32>\n"
            "  %%vs = splat %%v : tile<%dxptr<i32>>\n"
            "  %%vp = addptr %%vs, %%o : tile<%dxptr<i32>>\n"
            "  %%ws = splat %%w : tile<%dxptr<i32>>\n"
            "  %%wp = addptr %%ws, %%o : tile<%dxptr<i32>>\n"
            "  store %%vp, %%fm\n"
            "  store %%wp, %%fa\n"
            "  return\n"
            "}\n",
            axis, shapes[axis], shapes[axis], n, n, n, n, n, n, n);
        TextRun t = text_begin(text);
        text_array(&t, in, sizeof in);
        text_array(&t, values, sizeof values);
        text_array(&t, indices, sizeof indices);
        text_run_clean(&t);
        int stride = axis == 0 ? 16 : axis == 1 ? 2 : 1;
        for (int o = 0; o < n; o++) {
            int first = o / stride * stride * dims[axis] + o % stride, best = first;
            for (int k = 1; k < dims[axis]; k++)
                if (in[first + k * stride] > in[best])
                    best = first + k * stride;
            assert_int_equal(values[o], in[best]);
            assert_int_equal(indices[o], best);
        }
        text_end(&t);
    }
}

static void test_reduce_keeps_index_bits(void **state) {
    /* Bits 1 and 3 of the axis stay, in order. */
    int32_t out[8];
    run_shape("func @k(%y: ptr<i32>) {\n"
              "  %i = range {start = 0} : tile<32xi32>\n"
              "  %t = reshape %i : tile<16x2xi32>\n"
              "  %r = reduce %t {axis = 0, keep = 10} : tile<4x2xi32> (%a: i32, %b: i32) {\n"
              "    %c = addi %a, %b : i32\n"
              "    yield %c\n"
              "  }\n" STORE_FLAT(8),
              out, 8);
    int32_t expected[8] = {0};
    for (int i = 0; i < 32; i++) {
        int k = i / 2, kept = (k >> 1 & 1) | (k >> 3 & 1) << 1;
        expected[kept * 2 + i % 2] += i;
    }
    assert_memory_equal(out, expected, sizeof out);
}

static void test_regions_with_control_flow(void **state) {
    /* gcd by Euclid's loop, which runs a different number of times for each pair. */
    int32_t in[8] = {84, 126, 210, 42 * 17, 420, 42, 882, 2310}, out;
    TextRun t = text_begin("func @k(%x: ptr<i32>, %y: ptr<i32>) {\n"
                           "  %i = range {start = 0} : tile<8xi32>\n"
                           "  %xs = splat %x : tile<8xptr<i32>>\n"
                           "  %xp = addptr %xs, %i : tile<8xptr<i32>>\n"
                           "  %l = load %xp : tile<8xi32>\n"
                           "  %zero = constant_int {value = 0} : i32\n"
                           "  %g = reduce %l {axis = 0} : i32 (%a: i32, %b: i32) {\n"
                           "    %u, %v = while %a, %b : i32, i32 (%p: i32, %q: i32) {\n"
                           "      %more = cmpi %q, %zero {pred = ne} : i1\n"
                           "      condition %more, %p, %q\n"
                           "    } (%p: i32, %q: i32) {\n"
                           "      %r = remsi %p, %q : i32\n"
                           "      yield %q, %r\n"
                           "    }\n"
                           "    yield %u\n"
                           "  }\n"
                           "  store %y, %g\n"
                           "  return\n"
                           "}\n");
    text_array(&t, in, sizeof in);
    text_array(&t, &out, sizeof out);
    text_run_clean(&t);
    assert_int_equal(out, 42);
    text_end(&t);
}

/* Affine maps under composition: associative, not commutative, so that the order of sides shows. */
static void test_scans_in_both_directions(void **state) {
    for (int axis = 0; axis < 2; axis++)
        for (int reverse = 0; reverse < 2; reverse++) {
            int32_t scale[32], shift[32];
            char text[2048];
            snprintf(text, sizeof text,
                     "func @k(%%v: ptr<i32>, %%w: ptr<i32>) {\n"
                     "  %%i = range {start = 0} : tile<32xi32>\n"
                     "  %%one = constant_int {value = 3} : tile<32xi32>\n"
                     "  %%m = remsi %%i, %%one : tile<32xi32>\n"
                     "  %%m2 = addi %%m, %%one : tile<32xi32>\n"
                     "  %%t = reshape %%m2 : tile<4x8xi32>\n"
                     "  %%u = reshape %%i : tile<4x8xi32>\n"
                     "  %%k = constant_int {value = 1} : i32\n"
                     "  %%s, %%d = scan %%t, %%u {axis = %d, reverse = %s} : tile<4x8xi32>, "
                     "tile<4x8xi32> "
                     "(%%a: i32, %%b: i32, %%c: i32, %%e: i32) {\n"
                     "    %%ac = muli %%a, %%c : i32\n"
                     "    %%ak = muli %%ac, %%k : i32\n"
                     "    %%bc = muli %%b, %%c : i32\n"
                     "    %%bce = addi %%bc, %%e : i32\n"
                     "    yield %%ak, %%bce\n"
                     "  }\n"
                     "  %%fs = reshape %%s : tile<32xi32>\n"
                     "  %%fd = reshape %%d : tile<32xi32>\n"
                     "  %%vs = splat %%v : tile<32xptr<i32>>\n"
                     "  %%vp = addptr %%vs, %%i : tile<32xptr<i32>>\n"
                     "  %%ws = splat %%w : tile<32xptr<i32>>\n"
                     "  %%wp = addptr %%ws, %%i : tile<32xptr<i32>>\n"
                     "  store %%vp, %%fs\n"
                     "  store %%wp, %%fd\n"
                     "  return\n"
                     "}\n",
                     axis, reverse ? "true" : "false");
            TextRun t = text_begin(text);
            text_array(&t, scale, sizeof scale);
            text_array(&t, shift, sizeof shift);
            text_run_clean(&t);
            int length = axis ? 8 : 4, stride = axis ? 1 : 8;
            for (int line = 0; line < 32 / length; line++) {
                int first = axis ? line * 8 : line;
                uint32_t a = 1, b = 0;
                for (int k = 0; k < length; k++) {
                    int i = first + (reverse ? length - 1 - k : k) * stride;
                    uint32_t c = (uint32_t)(i % 3 + 3);
                    a *= c;
                    b = b * c + (uint32_t)i;
                    assert_int_equal((uint32_t)scale[i], a);
                    assert_int_equal((uint32_t)shift[i], b);
                }
            }
            text_end(&t);
        }
}

/* Products */

static void test_dot_of_every_type(void **state) {
    static const struct {
        const char *in, *acc;
        DType dtype, acc_dtype;
    } cases[] = {
        {"f16", "f32", DT_F16, DT_F32},       {"f16", "f16", DT_F16, DT_F16},
        {"bf16", "f32", DT_BF16, DT_F32},     {"f32", "f32", DT_F32, DT_F32},
        {"f64", "f64", DT_F64, DT_F64},       {"i8", "i32", DT_I8, DT_I32},
        {"f8e4m3", "f32", DT_F8E4M3, DT_F32}, {"f8e5m2", "f16", DT_F8E5M2, DT_F16},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint8_t a[256], b[512], acc[2 * 4 * 4 * 8] = {0}, out[2 * 4 * 4 * 8];
        double da[32], db[64];
        bool ints = cases[c].dtype == DT_I8;
        int bytes = dtype_bytes(cases[c].dtype), acc_bytes = dtype_bytes(cases[c].acc_dtype);
        for (int i = 0; i < 32; i++) {
            da[i] = i % 7 - 3;
            uint64_t bits = ints ? (uint64_t)(i % 7 - 3) : float_to_bits(cases[c].dtype, da[i]);
            memcpy(a + i * bytes, &bits, (size_t)bytes);
        }
        for (int i = 0; i < 32; i++) {
            db[i] = i % 5 - 2;
            uint64_t bits = ints ? (uint64_t)(i % 5 - 2) : float_to_bits(cases[c].dtype, db[i]);
            memcpy(b + i * bytes, &bits, (size_t)bytes);
        }
        for (int i = 0; i < 32; i++) {
            uint64_t bits = ints ? (uint64_t)i : float_to_bits(cases[c].acc_dtype, i);
            memcpy(acc + i * acc_bytes, &bits, (size_t)acc_bytes);
        }
        char text[2048];
        snprintf(text, sizeof text,
                 "func @k(%%x: ptr<%s>, %%z: ptr<%s>, %%c: ptr<%s>, %%y: ptr<%s>) {\n"
                 "  %%i = range {start = 0} : tile<32xi32>\n"
                 "  %%xs = splat %%x : tile<32xptr<%s>>\n"
                 "  %%xp = addptr %%xs, %%i : tile<32xptr<%s>>\n"
                 "  %%xl = load %%xp : tile<32x%s>\n"
                 "  %%a = reshape %%xl : tile<2x4x4x%s>\n"
                 "  %%zs = splat %%z : tile<32xptr<%s>>\n"
                 "  %%zp = addptr %%zs, %%i : tile<32xptr<%s>>\n"
                 "  %%zl = load %%zp : tile<32x%s>\n"
                 "  %%b = reshape %%zl : tile<2x4x4x%s>\n"
                 "  %%cs = splat %%c : tile<32xptr<%s>>\n"
                 "  %%cp = addptr %%cs, %%i : tile<32xptr<%s>>\n"
                 "  %%cl = load %%cp : tile<32x%s>\n"
                 "  %%acc = reshape %%cl : tile<2x4x4x%s>\n"
                 "  %%d = dot %%a, %%b, %%acc {precision = ieee} : tile<2x4x4x%s>\n"
                 "  %%f = reshape %%d : tile<32x%s>\n"
                 "  %%ys = splat %%y : tile<32xptr<%s>>\n"
                 "  %%yp = addptr %%ys, %%i : tile<32xptr<%s>>\n"
                 "  store %%yp, %%f\n"
                 "  return\n"
                 "}\n",
                 cases[c].in, cases[c].in, cases[c].acc, cases[c].acc, cases[c].in, cases[c].in,
                 cases[c].in, cases[c].in, cases[c].in, cases[c].in, cases[c].in, cases[c].in,
                 cases[c].acc, cases[c].acc, cases[c].acc, cases[c].acc, cases[c].acc, cases[c].acc,
                 cases[c].acc, cases[c].acc);
        TextRun t = text_begin(text);
        text_array(&t, a, 32 * (size_t)bytes);
        text_array(&t, b, 32 * (size_t)bytes);
        text_array(&t, acc, 32 * (size_t)acc_bytes);
        text_array(&t, out, 32 * (size_t)acc_bytes);
        text_run_clean(&t);
        for (int i = 0; i < 32; i++) {
            int batch = i / 16, row = i / 4 % 4, column = i % 4;
            double expected = i;
            for (int k = 0; k < 4; k++)
                expected += da[(batch * 4 + row) * 4 + k] * db[(batch * 4 + k) * 4 + column];
            uint64_t bits = 0;
            memcpy(&bits, out + i * acc_bytes, (size_t)acc_bytes);
            double found = ints ? (int32_t)bits : float_from_bits(cases[c].acc_dtype, bits);
            assert_true(found == expected);
        }
        text_end(&t);
    }
}

/* What each precision keeps of a * 1, or of a * b. */
static void test_dot_precisions(void **state) {
    static const struct {
        const char *precision, *a, *b;
        double expected;
    } cases[] = {
        {"ieee", "0x1.00002p0", "1.0", 0x1.00002p0},
        {"ieee", "0x1.002p0", "0x1.002p0", 0x1.004004p0},
        {"tf32", "0x1.003ffep0", "1.0", 1}, /* cut, not rounded */
        {"tf32", "-0x1.003ffep0", "1.0", -1},
        {"tf32", "0x1.004p0", "1.0", 0x1.004p0},
        {"tf32", "1.0", "0x1.007p0", 0x1.004p0},
        {"tf32x3", "0x1.002004p0", "1.0", 0x1.002004p0},
        {"tf32x3", "0x1.003ffep0", "1.0", 0x1.003ffep0}, /* to 0x1.004p0 and a tail of one bit */
        {"tf32x3", "0x1.001ffep0", "1.0", 0x1.001ffcp0}, /* the last bit of the tail is cut */
        {"tf32x3", "0x1.002p0", "0x1.002p0", 0x1.004p0}, /* without the product of the tails */
        {"bf16x3", "0x1.00808p0", "1.0", 0x1.008p0},     /* without the third part */
        {"bf16x6", "0x1.00808p0", "1.0", 0x1.00808p0},
        {"tf32x3", "inf", "1.0", INFINITY}, /* inf - inf does not spoil it */
        {"bf16x3", "inf", "-1.0", -INFINITY},
        {"bf16x6", "nan", "1.0", NAN},
        {"tf32", "inf", "0.0", NAN},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float out = 7;
        char text[1024];
        snprintf(text, sizeof text,
                 "func @k(%%y: ptr<f32>) {\n"
                 "  %%a = constant_float {value = %s} : tile<1x1xf32>\n"
                 "  %%b = constant_float {value = %s} : tile<1x1xf32>\n"
                 "  %%acc = constant_float {value = 0.0} : tile<1x1xf32>\n"
                 "  %%d = dot %%a, %%b, %%acc {precision = %s} : tile<1x1xf32>\n"
                 "  %%ys = splat %%y : tile<1x1xptr<f32>>\n"
                 "  store %%ys, %%d\n"
                 "  return\n"
                 "}\n",
                 cases[c].a, cases[c].b, cases[c].precision);
        TextRun t = text_begin(text);
        text_array(&t, &out, sizeof out);
        text_run_clean(&t);
        bool same = isnan(cases[c].expected) ? isnan(out) != 0 : (double)out == cases[c].expected;
        if (!same)
            fail_msg("%s of %s * %s: %a", cases[c].precision, cases[c].a, cases[c].b, (double)out);
        text_end(&t);
    }
}

/* Arguments of every type arrive, an array's offset included. */
static void test_arguments(void **state) {
    double out[3];
    float in[2] = {1, 2};
    TextRun t = text_begin("func @k(%x: ptr<f32>, %y: ptr<f64>, %h: f16, %b: i1) {\n"
                           "  %v = load %x : f32\n"
                           "  %w = extf %v : f64\n"
                           "  %g = extf %h : f64\n"
                           "  %s = addf %w, %g : f64\n"
                           "  %t = uitof %b : f64\n"
                           "  %u = addf %s, %t : f64\n"
                           "  store %y, %u\n"
                           "  return\n"
                           "}\n");
    text_array(&t, in, sizeof in);
    t.args[0].byte_offset = 4;
    text_array(&t, out, sizeof out);
    t.args[t.nargs++] = (InterpArg){.f = 0.1};
    text_int(&t, 1);
    text_run_clean(&t);
    assert_true(out[0] == 3 + float_from_bits(DT_F16, float_to_bits(DT_F16, 0.1)));
    text_end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_carry_values),
        cmocka_unit_test(test_loop_bounds),
        cmocka_unit_test(test_nested_control_flow),
        cmocka_unit_test(test_every_program_runs),
        cmocka_unit_test(test_values_live_as_long_as_loops_need_them),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_expand_and_broadcast),
        cmocka_unit_test(test_join_and_split),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_argmax_over_every_axis),
        cmocka_unit_test(test_reduce_keeps_index_bits),
        cmocka_unit_test(test_regions_with_control_flow),
        cmocka_unit_test(test_scans_in_both_directions),
        cmocka_unit_test(test_dot_of_every_type),
        cmocka_unit_test(test_dot_precisions),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
