/* What reads and writes memory beside plain loads and stores: blocks of tensors, atomics, shared
 * memory and asynchronous copies, against plain loops. */
#include "interp_text_testing.h"

/* Blocks of tensors */

/* A 4 x 4 block of a 3 x 5 tensor of rows of 6, which begins at (-1, 3). */
static void test_blocks(void **state) {
    float x[18], y[18], sums[18], copy[16];
    for (int i = 0; i < 18; i++) {
        x[i] = (float)i + 1;
        y[i] = -1;
        sums[i] = 100;
    }
    TextRun t = text_begin(
        "func @k(%x: ptr<f32>, %y: ptr<f32>, %sums: ptr<f32>, %copy: ptr<f32>) {\n"
        "  %m = constant_int {value = 3} : i64\n"
        "  %n = constant_int {value = 5} : i64\n"
        "  %row = constant_int {value = 6} : i64\n"
        "  %one = constant_int {value = 1} : i64\n"
        "  %four = constant_int {value = 4} : i64\n"
        "  %none = constant_int {value = 0} : i64\n"
        "  %i = constant_int {value = -1} : i32\n"
        "  %j = constant_int {value = 3} : i32\n"
        "  %t = load_block %x, %m, %n, %row, %one, %i, %j {checked = 3, padding = nan}"
        " : tile<4x4xf32>\n"
        "  store_block %copy, %t, %four, %four, %four, %one, %none, %none {checked = 0}\n"
        "  %u = load_block %x, %m, %n, %row, %one, %i, %j {checked = 3} : tile<4x4xf32>\n"
        "  store_block %y, %u, %m, %n, %row, %one, %i, %j {checked = 3}\n"
        "  atomic_block %sums, %u, %m, %n, %row, %one, %i, %j {checked = 3, kind = fadd}\n"
        "  return\n"
        "}\n");
    text_array(&t, x, sizeof x);
    text_array(&t, y, sizeof y);
    text_array(&t, sums, sizeof sums);
    text_array(&t, copy, sizeof copy);
    text_run_clean(&t);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            bool inside = i >= 1 && i <= 3 && j <= 1;
            float got = copy[4 * i + j];
            assert_true(inside ? got == x[(i - 1) * 6 + j + 3] : isnan(got));
        }
    for (int i = 0; i < 18; i++) {
        bool inside = i % 6 == 3 || i % 6 == 4;
        assert_true(y[i] == (inside ? x[i] : -1));
        assert_true(sums[i] == (inside ? 100 + x[i] : 100));
    }
    text_end(&t);
}

/* A dimension that is not checked is read as the source says. */
static void test_block_outside(void **state) {
    float x[8] = {0};
    TextRun t = text_begin("func @k(%x: ptr<f32>, %y: ptr<f32>) {\n"
                           "  %n = constant_int {value = 8} : i64\n"
                           "  %one = constant_int {value = 1} : i64\n"
                           "  %i = constant_int {value = 6} : i64\n"
                           "  %t = load_block %x, %n, %one, %i {checked = 0} : tile<4xf32>\n"
                           "  return\n"
                           "}\n");
    text_array(&t, x, sizeof x);
    text_array(&t, x, sizeof x);
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "element 8"));
    text_end(&t);
}

/* Atomics */

static void test_atomics_on_one_element(void **state) {
    static const struct {
        const char *kind, *type;
        int64_t before, operand, after;
    } cases[] = {
        {"add", "i32", 5, 7, 33},
        {"smax", "i32", -5, -7, -5},
        {"smin", "i32", -5, -7, -7},
        {"umax", "i32", -5, 7, -5},
        {"umin", "i32", -5, 7, 7},
        {"and", "i32", 0xff, 0x3c, 0x3c},
        {"or", "i32", 1, 6, 7},
        {"xor", "i32", 0xf0, 0xff, 0xf0},
        {"xchg", "i32", 1, 2, 2},
        {"smax", "i64", -5000000000, 4, 4},
        {"add", "i64", 5000000000, 1, 5000000004},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "func @k(%%x: ptr<%s>, %%n: %s) {\n"
            "  %%xs = splat %%x : tile<4xptr<%s>>\n"
            "  %%v = splat %%n : tile<4x%s>\n"
            "  %%o = atomic_rmw %%xs, %%v {kind = %s, sem = relaxed, scope = gpu} : tile<4x%s>\n"
            "  return\n"
            "}\n",
            cases[c].type, cases[c].type, cases[c].type, cases[c].type, cases[c].kind,
            cases[c].type);
        int64_t x = cases[c].before;
        TextRun t = text_begin(text);
        text_array(&t, &x, sizeof x);
        text_int(&t, cases[c].operand);
        text_run_clean(&t);
        bool narrow = strcmp(cases[c].type, "i32") == 0;
        assert_true((narrow ? (int64_t)(int32_t)x : x) == cases[c].after);
        text_end(&t);
    }
}

/* Runs a kernel that changes %x and keeps in %y what four lanes found there. */
static void run_atomic(const char *text, void *x, size_t x_bytes, void *old, size_t old_bytes) {
    TextRun t = text_begin(text);
    text_array(&t, x, x_bytes);
    text_array(&t, old, old_bytes);
    text_run_clean(&t);
    text_end(&t);
}

static void test_float_atomics_and_old_values(void **state) {
    float x = 0.5f, old[4];
    static const char text[] =
        "func @k(%x: ptr<f32>, %y: ptr<f32>) {\n"
        "  %xs = splat %x : tile<4xptr<f32>>\n"
        "  %v = constant_float {value = 0x1p+0} : tile<4xf32>\n"
        "  %i = range {start = 0} : tile<4xi32>\n"
        "  %two = constant_int {value = 2} : tile<4xi32>\n"
        "  %m = cmpi %i, %two {pred = ne} : tile<4xi1>\n"
        "  %o = atomic_rmw %xs, %v, %m {kind = fadd, sem = relaxed, scope = gpu} : tile<4xf32>\n"
        "  %ys = splat %y : tile<4xptr<f32>>\n"
        "  %yp = addptr %ys, %i : tile<4xptr<f32>>\n"
        "  store %yp, %o, %m\n"
        "  return\n"
        "}\n";
    run_atomic(text, &x, sizeof x, old, sizeof old);
    assert_true(x == 3.5f && old[0] == 0.5f && old[1] == 1.5f && old[3] == 2.5f);
}

static void test_compare_and_swap(void **state) {
    int32_t x = 3, old[4];
    static const char text[] =
        "func @k(%x: ptr<i32>, %y: ptr<i32>) {\n"
        "  %xs = splat %x : tile<4xptr<i32>>\n"
        "  %i = range {start = 2} : tile<4xi32>\n"
        "  %j = range {start = 3} : tile<4xi32>\n"
        "  %o = atomic_cas %xs, %i, %j {sem = acq_rel, scope = gpu} : tile<4xi32>\n"
        "  %k = range {start = 0} : tile<4xi32>\n"
        "  %ys = splat %y : tile<4xptr<i32>>\n"
        "  %yp = addptr %ys, %k : tile<4xptr<i32>>\n"
        "  store %yp, %o\n"
        "  return\n"
        "}\n";
    run_atomic(text, &x, sizeof x, old, sizeof old);
    /* 2 -> 3 fails, then 3 -> 4, 4 -> 5, 5 -> 6 succeed. */
    static const int32_t expected[4] = {3, 3, 4, 5};
    assert_int_equal(x, 6);
    assert_memory_equal(old, expected, sizeof old);
}

/* Layouts and shared memory change no values */

static void test_shared_memory_copies(void **state) {
    int32_t out[4];
    TextRun t = text_begin("layout #A = {reg = [1, 2], lane = [0, 0, 0, 0, 0]}\n"
                           "layout #B = {reg = [], lane = [1, 2, 0, 0, 0]}\n"
                           "func @k(%y: ptr<i32>) {num_warps = 1, has_layouts = true} {\n"
                           "  %s = local_alloc {offset = -1} : buffer<4xi32, {reg = [2, 1]}>\n"
                           "  %i = range {start = 5} : tile<4xi32, #A>\n"
                           "  local_store %i, %s\n"
                           "  barrier\n"
                           "  %l = local_load %s : tile<4xi32, #B>\n"
                           "  %c = convert_layout %l : tile<4xi32, #A>\n"
                           "  %z = range {start = 9} : tile<4xi32, #A>\n"
                           "  local_store %z, %s\n"
                           "  %r = range {start = 0} : tile<4xi32, #A>\n"
                           "  %ys = splat %y : tile<4xptr<i32>, #A>\n"
                           "  %p = addptr %ys, %r : tile<4xptr<i32>, #A>\n"
                           "  store %p, %c\n"
                           "  return\n"
                           "}\n");
    text_array(&t, out, sizeof out);
    text_run_clean(&t);
    for (int i = 0; i < 4; i++)
        assert_int_equal(out[i], 5 + i);
    text_end(&t);
}

/* The right half of a tile of two rows goes through a buffer of its own, into the tile beside. */
static void test_shared_memory_parts(void **state) {
    int32_t out[8];
    TextRun t = text_begin("layout #A = {reg = [1, 2, 4], lane = [0, 0, 0, 0, 0]}\n"
                           "layout #B = {reg = [1], lane = [2, 4, 0, 0, 0]}\n"
                           "func @k(%y: ptr<i32>) {num_warps = 1, has_layouts = true} {\n"
                           "  %s = local_alloc {offset = -1} : buffer<2x2xi32, {reg = [2, 1]}>\n"
                           "  %i = range {start = 5} : tile<8xi32, #A>\n"
                           "  %x = reshape %i : tile<2x4xi32, #A>\n"
                           "  local_store %x, %s {at = 2}\n"
                           "  barrier\n"
                           "  %j = range {start = 90} : tile<8xi32, #B>\n"
                           "  %o = reshape %j : tile<2x4xi32, #B>\n"
                           "  %l = local_load %s, %o {at = 2} : tile<2x4xi32, #B>\n"
                           "  %f = reshape %l : tile<8xi32, #B>\n"
                           "  %r = range {start = 0} : tile<8xi32, #B>\n"
                           "  %ys = splat %y : tile<8xptr<i32>, #B>\n"
                           "  %p = addptr %ys, %r : tile<8xptr<i32>, #B>\n"
                           "  store %p, %f\n"
                           "  return\n"
                           "}\n");
    text_array(&t, out, sizeof out);
    text_run_clean(&t);
    static const int32_t expected[8] = {90, 91, 7, 8, 94, 95, 11, 12};
    assert_memory_equal(out, expected, sizeof expected);
    text_end(&t);
}

/* Two groups into a ring of two: %m elements are copied, the rest is zero; copy 1 of the ring is
 * stored once at most `pending` groups are under way. */
static TextRun async_begin(const char *pending) {
    static char text[2048];
    snprintf(
        text, sizeof text,
        "layout #A = {reg = [1, 2], lane = [0, 0, 0, 0, 0]}\n"
        "func @k(%%x: ptr<i32>, %%y: ptr<i32>, %%m: i32) {num_warps = 1, has_layouts = true} {\n"
        "  %%s = local_alloc {offset = -1, copies = 2} : buffer<4xi32, {reg = [2, 1]}>\n"
        "  %%one = constant_int {value = 1} : i32\n"
        "  %%r = range {start = 0} : tile<4xi32, #A>\n"
        "  %%xs = splat %%x : tile<4xptr<i32>, #A>\n"
        "  %%px = addptr %%xs, %%r : tile<4xptr<i32>, #A>\n"
        "  %%ms = splat %%m : tile<4xi32, #A>\n"
        "  %%mask = cmpi %%r, %%ms {pred = slt} : tile<4xi1, #A>\n"
        "  %%a = local_view %%s, %%one {ahead = 1} : buffer<4xi32, {reg = [2, 1]}>\n"
        "  %%b = local_view %%s, %%one : buffer<4xi32, {reg = [2, 1]}>\n"
        "  async_copy %%px, %%a\n"
        "  async_commit\n"
        "  async_copy %%px, %%b, %%mask\n"
        "  async_commit\n"
        "  async_wait {pending = %s}\n"
        "  barrier\n"
        "  %%l = local_load %%b : tile<4xi32, #A>\n"
        "  %%ys = splat %%y : tile<4xptr<i32>, #A>\n"
        "  %%p = addptr %%ys, %%r : tile<4xptr<i32>, #A>\n"
        "  store %%p, %%l\n"
        "  return\n"
        "}\n",
        pending);
    return text_begin(text);
}

static void test_asynchronous_copies(void **state) {
    int32_t in[4] = {7, 8, 9, 10}, out[4] = {1, 1, 1, 1}, expected[4] = {7, 8, 9, 0};
    TextRun t = async_begin("0");
    text_array(&t, in, sizeof in);
    text_array(&t, out, sizeof out);
    text_int(&t, 3);
    text_run_clean(&t);
    assert_memory_equal(out, expected, sizeof out);
    text_end(&t);
    /* The wait leaves the group under way that is read. */
    t = async_begin("1");
    text_array(&t, in, sizeof in);
    text_array(&t, out, sizeof out);
    text_int(&t, 3);
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "was not waited for"));
    text_end(&t);
}

/* A block of 4 of the %m elements from %o on comes to a buffer, and goes from there to where %y is;
 * `before` and `after` stand around the wait for the copy. */
static TextRun tensor_begin(const char *before, const char *wait, const char *after) {
    static char text[2048];
    snprintf(text, sizeof text,
             "layout #A = {reg = [1, 2], lane = [0, 0, 0, 0, 0]}\n"
             "func @k(%%x: ptr<i32>, %%y: ptr<i32>, %%m: i32, %%o: i32) "
             "{num_warps = 1, has_layouts = true} {\n"
             "  %%s = local_alloc {offset = -1} : buffer<4xi32, {reg = [2, 1]}>\n"
             "  %%b = mbarrier_alloc {offset = -1} : buffer<1xi64, {}>\n"
             "  %%on = constant_int {value = 1} : i1\n"
             "  %%zero = constant_int {value = 0} : i32\n"
             "  %%one = constant_int {value = 1} : i32\n"
             "  %%first = constant_int {value = 0} : i64\n"
             "  %%stride = constant_int {value = 1} : i64\n"
             "  %%n = extsi %%m : i64\n"
             "  mbarrier_expect %%b, %%on {bytes = 16}\n"
             "  copy_block %%x, %%s, %%b, %%on, %%n, %%stride, %%o {checked = 1}\n"
             "%s%s"
             "  barrier\n"
             "  store_block_from %%y, %%s, %%n, %%stride, %%first {checked = 1}\n"
             "%s"
             "  return\n"
             "}\n",
             before, wait, after);
    return text_begin(text);
}

#define WAIT "  mbarrier_wait %b, %zero\n"
#define WAIT_STORE "  store_wait {pending = 0, read = true}\n"

static void test_tensor_copies(void **state) {
    int32_t in[3] = {7, 8, 9}, out[4] = {1, 1, 1, 1}, expected[4] = {8, 9, 0, 1};
    TextRun t = tensor_begin("", WAIT, WAIT_STORE);
    text_array(&t, in, sizeof in);
    text_array(&t, out, sizeof out);
    text_int(&t, 3);
    text_int(&t, 1);
    text_run_clean(&t);
    assert_memory_equal(out, expected, sizeof out);
    text_end(&t);
}

static void test_tensor_copies_misused(void **state) {
    static const struct {
        const char *before, *wait, *after, *message;
    } cases[] = {
        {"", "", WAIT_STORE, "was not waited for"},
        {"", WAIT, "", "was not waited for when the program ended"},
        {"", WAIT WAIT, WAIT_STORE, "parity 1"},
        {"", "  mbarrier_wait %b, %one\n", WAIT_STORE, "parity 0"},
        {"", WAIT "  mbarrier_wait %b, %one\n", WAIT_STORE, "no thread arrived"},
        {"  mbarrier_expect %b, %on {bytes = 16}\n", WAIT, WAIT_STORE, "already"},
        {"  copy_block %x, %s, %b, %on, %n, %stride, %o {checked = 1}\n", WAIT, WAIT_STORE,
         "expects 16 bytes and its copies bring 32"},
        /* The copy brings %s what it does not hold yet, while it is stored. */
        {"", WAIT,
         "  mbarrier_expect %b, %on {bytes = 16}\n"
         "  copy_block %x, %s, %b, %on, %n, %stride, %o {checked = 1}\n" WAIT_STORE
         "  store_wait {pending = 0}\n  mbarrier_wait %b, %one\n",
         "the stored value is undefined"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t in[4] = {7, 8, 9, 10}, out[4] = {1, 1, 1, 1};
        TextRun t = tensor_begin(cases[i].before, cases[i].wait, cases[i].after);
        text_array(&t, in, sizeof in);
        text_array(&t, out, sizeof out);
        text_int(&t, 4);
        text_int(&t, 0);
        assert_false(text_run(&t));
        if (!strstr(text_messages(&t), cases[i].message))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].message, text_messages(&t));
        text_end(&t);
    }
}

/* Two products of twos, both under way; `wait` makes %w of them, which is stored. */
static TextRun products_begin(const char *wait) {
    static char text[2048];
    snprintf(
        text, sizeof text,
        "layout #A = {reg = [1, 2], lane = [0, 0, 0, 0, 0]}\n"
        "func @k(%%y: ptr<f32>, %%n: i32) {num_warps = 1, has_layouts = true} {\n"
        "  %%a = local_alloc {offset = -1} : buffer<2x2xf16, {reg = [1, 2]}>\n"
        "  %%one = constant_float {value = 1} : tile<2x2xf16, #A>\n"
        "  local_store %%one, %%a\n"
        "  %%c = constant_float {value = 0} : tile<2x2xf32, #A>\n"
        "  %%zero = constant_int {value = 0} : i32\n"
        "  %%on = cmpi %%zero, %%n {pred = slt} : i1\n"
        "  barrier\n"
        "  %%s = wgmma %%a, %%a, %%c, %%on {in_flight = true, beside = true} : tile<2x2xf32, #A>\n"
        "  %%t = wgmma %%a, %%a, %%c {in_flight = true, beside = true} : tile<2x2xf32, #A>\n"
        "%s"
        "  %%r = range {start = 0} : tile<4xi32, #A>\n"
        "  %%i = reshape %%r : tile<2x2xi32, #A>\n"
        "  %%ys = splat %%y : tile<2x2xptr<f32>, #A>\n"
        "  %%p = addptr %%ys, %%i : tile<2x2xptr<f32>, #A>\n"
        "  store %%p, %%w\n"
        "  return\n"
        "}\n",
        wait);
    return text_begin(text);
}

#define OF(product, attrs) "  %w = wgmma_wait " product " " attrs ": tile<2x2xf32, #A>\n"

static void test_products_in_flight(void **state) {
    static const struct {
        const char *wait;
        int32_t on;
        float result; /* 0: none, but `message` */
        const char *message;
    } cases[] = {
        {OF("%s", "{pending = 1}"), 1, 2, NULL},
        {OF("%t", ""), 1, 2, NULL},
        /* Another one adds to it, and waits for both. */
        {"  %w = wgmma %a, %a, %t : tile<2x2xf32, #A>\n", 1, 4, NULL},
        {OF("%t", "{pending = 1}"), 1, 0, "was not waited for"},
        {OF("%s", "{pending = 2}"), 1, 0, "was not waited for"},
        {"  %w = addf %t, %c : tile<2x2xf32, #A>\n", 1, 0, "was not waited for"},
        {OF("%s", ""), 0, 0, "no product"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float out[4] = {1, 1, 1, 1};
        TextRun t = products_begin(cases[i].wait);
        text_array(&t, out, sizeof out);
        text_int(&t, cases[i].on);
        if (cases[i].message) {
            assert_false(text_run(&t));
            if (!strstr(text_messages(&t), cases[i].message))
                fail_msg("case %zu: no '%s' in: %s", i, cases[i].message, text_messages(&t));
        } else {
            text_run_clean(&t);
            for (int k = 0; k < 4; k++)
                assert_true(out[k] == cases[i].result);
        }
        text_end(&t);
    }
}

/* Blocks of 4 of the 12 elements at %x go through a ring of two buffers to %y: `wait` is how the
 * producer waits for a free one, `read` and `release` stand around the read of the others. */
static TextRun producer_begin(const char *wait, const char *read, const char *release) {
    static char text[4096];
    snprintf(text, sizeof text,
             "layout #A = {reg = [1, 2], lane = [0, 0, 0, 0, 0]}\n"
             "func @k(%%x: ptr<i32>, %%y: ptr<i32>, %%blocks: i32, %%made: i32) "
             "{num_warps = 1, has_layouts = true} {\n"
             "  %%ring = local_alloc {offset = -1, copies = 2} : buffer<4xi32, {reg = [1, 2]}>\n"
             "  %%full = mbarrier_alloc {offset = -1, copies = 2} : buffer<1xi64, {}>\n"
             "  %%empty = mbarrier_alloc {offset = -1, copies = 2, arrivals = 1} : "
             "buffer<1xi64, {}>\n"
             "  %%on = constant_int {value = 1} : i1\n"
             "  %%zero = constant_int {value = 0} : i32\n"
             "  %%one = constant_int {value = 1} : i32\n"
             "  %%four = constant_int {value = 4} : i32\n"
             "  %%n = constant_int {value = 12} : i64\n"
             "  %%stride = constant_int {value = 1} : i64\n"
             "  producer {\n"
             "    for %%zero, %%made, %%one (%%i: i32) {\n"
             "      %%slot = andi %%i, %%one : i32\n"
             "      %%round = shrui %%i, %%one : i32\n"
             "      %%parity = andi %%round, %%one : i32\n"
             "      %%before = xori %%parity, %%one : i32\n"
             "      %%e = local_view %%empty, %%slot : buffer<1xi64, {}>\n"
             "%s"
             "      %%f = local_view %%full, %%slot : buffer<1xi64, {}>\n"
             "      %%b = local_view %%ring, %%slot : buffer<4xi32, {reg = [1, 2]}>\n"
             "      %%at = muli %%i, %%four : i32\n"
             "      mbarrier_expect %%f, %%on {bytes = 16}\n"
             "      copy_block %%x, %%b, %%f, %%on, %%n, %%stride, %%at {checked = 1}\n"
             "      yield\n"
             "    }\n"
             "    yield\n"
             "  }\n"
             "  %%r = range {start = 0} : tile<4xi32, #A>\n"
             "  for %%zero, %%blocks, %%one (%%i: i32) {\n"
             "    %%slot = andi %%i, %%one : i32\n"
             "    %%round = shrui %%i, %%one : i32\n"
             "    %%parity = andi %%round, %%one : i32\n"
             "    %%f = local_view %%full, %%slot : buffer<1xi64, {}>\n"
             "    %%e = local_view %%empty, %%slot : buffer<1xi64, {}>\n"
             "    %%b = local_view %%ring, %%slot : buffer<4xi32, {reg = [1, 2]}>\n"
             "    %%at = muli %%i, %%four : i32\n"
             "    %%q = addptr %%y, %%at : ptr<i32>\n"
             "    %%qs = splat %%q : tile<4xptr<i32>, #A>\n"
             "    %%p = addptr %%qs, %%r : tile<4xptr<i32>, #A>\n"
             "%s"
             "    %%v = local_load %%b : tile<4xi32, #A>\n"
             "    store %%p, %%v\n"
             "%s"
             "    yield\n"
             "  }\n"
             "  return\n"
             "}\n",
             wait, read, release);
    return text_begin(text);
}

#define WAIT_EMPTY "      mbarrier_wait %e, %before\n"
#define WAIT_FULL "    mbarrier_wait %f, %parity\n"
#define ARRIVE "    mbarrier_arrive %e, %on\n"

static void test_producers(void **state) {
    for (int blocks = 0; blocks <= 3; blocks++) {
        int32_t in[12], out[12] = {0}, expected[12] = {0};
        for (int i = 0; i < 12; i++)
            in[i] = i + 1;
        memcpy(expected, in, (size_t)blocks * 4 * sizeof *in);
        TextRun t = producer_begin(WAIT_EMPTY, WAIT_FULL, ARRIVE);
        text_array(&t, in, sizeof in);
        text_array(&t, out, sizeof out);
        text_int(&t, blocks);
        text_int(&t, blocks);
        text_run_clean(&t);
        assert_memory_equal(out, expected, sizeof out);
        text_end(&t);
    }
}

static void test_producers_misused(void **state) {
    static const struct {
        const char *wait, *read, *release, *message;
    } cases[] = {
        /* Slot 0 is taken again while it is to be read. */
        {"", WAIT_FULL, ARRIVE, "has an arrival in this phase already"},
        {WAIT_EMPTY, "", ARRIVE, "was not waited for"},
        {WAIT_EMPTY, WAIT_FULL, "", "that no thread arrived for"},
        {"      mbarrier_wait %e, %parity\n", WAIT_FULL, ARRIVE, "that no thread arrived for"},
        {WAIT_EMPTY, "    mbarrier_wait %f, %one\n", ARRIVE, "not the one that is waited for"},
        {WAIT_EMPTY, WAIT_FULL, ARRIVE ARRIVE, "arrivals already that nobody waited for"},
        {WAIT_EMPTY, ARRIVE WAIT_FULL, "", "already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t in[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, out[12] = {0};
        TextRun t = producer_begin(cases[i].wait, cases[i].read, cases[i].release);
        text_array(&t, in, sizeof in);
        text_array(&t, out, sizeof out);
        text_int(&t, 3);
        text_int(&t, 3);
        assert_false(text_run(&t));
        if (!strstr(text_messages(&t), cases[i].message))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].message, text_messages(&t));
        text_end(&t);
    }
}

static void test_producers_that_make_too_much(void **state) {
    int32_t in[12] = {0}, out[12] = {0};
    TextRun t = producer_begin(WAIT_EMPTY, WAIT_FULL, "");
    text_array(&t, in, sizeof in);
    text_array(&t, out, sizeof out);
    text_int(&t, 2);
    text_int(&t, 3);
    assert_false(text_run(&t));
    assert_non_null(strstr(text_messages(&t), "still waited for by the producer at the end"));
    text_end(&t);
}

/* Rounds of two warpgroups, after `begin`, of `body`, twice. */
static TextRun turns_begin(const char *begin, const char *body) {
    static char text[2048];
    snprintf(text, sizeof text,
             "func @f(%%n: i32) {num_warps = 8} {\n"
             "  %%zero = constant_int {value = 0} : i32\n"
             "  %%one = constant_int {value = 1} : i32\n"
             "  %%two = constant_int {value = 2} : i32\n"
             "  %%off = constant_int {value = 0} : i1\n"
             "  %%on = constant_int {value = 1} : i1\n"
             "  %%runs = cmpi %%zero, %%n {pred = slt} : i1\n"
             "  for %%zero, %%two, %%one (%%again: i32) {\n"
             "    %s\n"
             "    for %%zero, %%n, %%one (%%i: i32) {\n"
             "      %%left = subi %%n, %%i : i32\n"
             "      %%more = cmpi %%left, %%one {pred = ugt} : i1\n"
             "      %s\n"
             "      yield\n"
             "    }\n"
             "    yield\n"
             "  }\n"
             "  return\n"
             "}\n",
             begin, body);
    return text_begin(text);
}

#define FIRST "turn_pass %off, %runs"
#define ROUND "turn_wait\nturn_pass %on, %more"

static void test_turns(void **state) {
    for (int rounds = 0; rounds <= 3; rounds++) {
        TextRun t = turns_begin(FIRST, ROUND);
        text_int(&t, rounds);
        text_run_clean(&t);
        text_end(&t);
    }
}

static void test_turns_misused(void **state) {
    static const struct {
        const char *begin, *body, *message;
    } cases[] = {
        {"", ROUND, "the turn of the first warpgroup does not come"},
        {FIRST, "turn_wait\nturn_pass %on, %off", "the turn of the first warpgroup does not come"},
        {FIRST, "turn_wait\nturn_pass %off, %more",
         "the turn of the second warpgroup does not come"},
        /* What the last round passes on is there when the loop comes again. */
        {FIRST, "turn_wait\nturn_pass %on, %on", "the turn of the first warpgroup comes before"},
        {FIRST, "turn_wait\n" ROUND, "does not come"},
        {FIRST, ROUND "\nturn_pass %on, %off", "the turn of the second warpgroup comes before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TextRun t = turns_begin(cases[i].begin, cases[i].body);
        text_int(&t, 2);
        assert_false(text_run(&t));
        if (!strstr(text_messages(&t), cases[i].message))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].message, text_messages(&t));
        text_end(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_turns_misused),
        cmocka_unit_test(test_tensor_copies),
        cmocka_unit_test(test_tensor_copies_misused),
        cmocka_unit_test(test_producers),
        cmocka_unit_test(test_producers_misused),
        cmocka_unit_test(test_producers_that_make_too_much),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_block_outside),
        cmocka_unit_test(test_atomics_on_one_element),
        cmocka_unit_test(test_float_atomics_and_old_values),
        cmocka_unit_test(test_compare_and_swap),
        cmocka_unit_test(test_shared_memory_copies),
        cmocka_unit_test(test_shared_memory_parts),
        cmocka_unit_test(test_asynchronous_copies),
        cmocka_unit_test(test_products_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
