/* split-loops on loops with many bounds: what a loop computes keeps its bits, in its parts every
 * iteration without masks is one in which they are true, and where no arithmetic wraps all of these
 * run without masks. Bounds near both ends of the integers are among them, empty loops, windows
 * wider than what there is. */
#include "../../ir/ir_testing.h"

#include "interp/interp.h"
#include "passes/passes.h"

#include <math.h>

enum { SIDE = 4, RUNS = 400, MAX_TRIPS = 16, MAX_STEPS = 100000 };

/* The parameters after the arrays. */
typedef struct Numbers {
    int32_t lo, hi, x, y, z, r;
    float c; /* factor of the scores: of its products the maximum is taken */
} Numbers;

/* Comparisons are of sums that a program computes in 32 bits: `wraps` is set where they leave them.
 */
typedef struct Sums {
    bool wraps;
} Sums;

static int64_t in_32(Sums *sums, int64_t exact) {
    int32_t wrapped = (int32_t)(uint32_t)(uint64_t)exact;
    sums->wraps |= wrapped != exact;
    return wrapped;
}

/* One kind of mask: the IR that makes %seen of the index %i, the range %r0, and %column (1x4), %row
 * (4x1) of it; and the same in C for iteration `t` with index `i`, row and column. */
typedef struct Kind {
    const char *name, *index, *step, *text;
    int64_t step_value;
    bool masked_if_seen; /* %seen is where scores are dropped */
    bool (*seen)(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column);
    const char *bounds; /* what makes %lo and %hi; NULL: the parameters, in the index's type */
} Kind;

#define SPLAT_I(type)                                                                              \
    "%is = splat %i : tile<1x4x" type ">\n"                                                        \
    "%n = addi %is, %column : tile<1x4xi32>\n"
#define BELOW_X                                                                                    \
    "%xs = splat %x : tile<1x4xi32>\n"                                                             \
    "%below1 = cmpi %n, %xs {pred = slt} : tile<1x4xi1>\n"                                         \
    "%below = broadcast %below1 : tile<4x4xi1>\n"
#define DISTANCE                                                                                   \
    "%rs = splat %r : tile<4x1xi32>\n"                                                             \
    "%rows = addi %rs, %row : tile<4x1xi32>\n"                                                     \
    "%ys = splat %y : tile<4x1xi32>\n"                                                             \
    "%shifted = addi %rows, %ys : tile<4x1xi32>\n"                                                 \
    "%wide = broadcast %shifted : tile<4x4xi32>\n"                                                 \
    "%nn = broadcast %n : tile<4x4xi32>\n"                                                         \
    "%d = subi %wide, %nn : tile<4x4xi32>\n"                                                       \
    "%none = constant_int {value = 0} : tile<4x4xi32>\n"                                           \
    "%past = cmpi %d, %none {pred = sge} : tile<4x4xi1>\n"

static bool keys(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    return in_32(s, i + column) < n->x;
}

static bool causal(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    int64_t d = in_32(s, n->r + row + n->y - (i + column));
    return keys(s, n, t, i, row, column) && d >= 0;
}

static bool window(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    int64_t d = in_32(s, n->r + row + n->y - (i + column));
    return causal(s, n, t, i, row, column) && d < n->z;
}

/* n >= x | n > r + row */
static bool dropped(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    int64_t at = in_32(s, i + column), limit = in_32(s, n->r + row);
    return at >= n->x || at > limit;
}

static bool product(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    return in_32(s, 4 * i + column) < n->x;
}

static bool counter(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    return in_32(s, n->y + 8 * t + column) < n->x;
}

static bool wide(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    return i + column <= (int64_t)n->x + n->y;
}

static bool rows_too(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    int64_t at = in_32(s, n->r + row);
    return keys(s, n, t, i, row, column) && at < n->z;
}

static bool from(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    int64_t a = in_32(s, i + column + n->y), b = in_32(s, n->r + row);
    return a >= b;
}

static bool extended(Sums *s, const Numbers *n, int64_t t, int64_t i, int64_t row, int64_t column) {
    return in_32(s, i + column) - row > (int64_t)n->x + n->z;
}

static const Kind kinds[] = {
    {"keys", "i32", "4", SPLAT_I("i32") BELOW_X "%seen = andi %below, %below : tile<4x4xi1>\n", 4,
     false, keys, NULL},
    {"causal", "i32", "4",
     SPLAT_I("i32") BELOW_X DISTANCE "%seen = andi %below, %past : tile<4x4xi1>\n", 4, false,
     causal, NULL},
    {"window", "i32", "4",
     SPLAT_I("i32") BELOW_X DISTANCE "%zs = splat %z : tile<4x4xi32>\n"
                                     "%near = cmpi %d, %zs {pred = slt} : tile<4x4xi1>\n"
                                     "%both = andi %below, %past : tile<4x4xi1>\n"
                                     "%seen = andi %both, %near : tile<4x4xi1>\n",
     4, false, window, NULL},
    {"dropped", "i32", "3",
     SPLAT_I("i32") "%xs = splat %x : tile<1x4xi32>\n"
                    "%above1 = cmpi %n, %xs {pred = sge} : tile<1x4xi1>\n"
                    "%above = broadcast %above1 : tile<4x4xi1>\n"
                    "%rs = splat %r : tile<4x1xi32>\n"
                    "%rows = addi %rs, %row : tile<4x1xi32>\n"
                    "%rr = broadcast %rows : tile<4x4xi32>\n"
                    "%nn = broadcast %n : tile<4x4xi32>\n"
                    "%after = cmpi %nn, %rr {pred = sgt} : tile<4x4xi1>\n"
                    "%seen = ori %above, %after : tile<4x4xi1>\n",
     3, true, dropped, NULL},
    {"product", "i32", "1",
     "%four = constant_int {value = 4} : i32\n"
     "%at = muli %i, %four : i32\n"
     "%is = splat %at : tile<1x4xi32>\n"
     "%n = addi %is, %column : tile<1x4xi32>\n" BELOW_X
     "%seen = andi %below, %below : tile<4x4xi1>\n",
     1, false, product, NULL},
    {"counter", "i32", "4",
     "%is = splat %count : tile<1x4xi32>\n"
     "%n = addi %is, %column : tile<1x4xi32>\n" BELOW_X
     "%seen = andi %below, %below : tile<4x4xi1>\n",
     4, false, counter, NULL},
    {"wide", "i64", "4",
     "%is = splat %i : tile<1x4xi64>\n"
     "%c64 = extsi %column : tile<1x4xi64>\n"
     "%n = addi %is, %c64 : tile<1x4xi64>\n"
     "%x64 = extsi %x : i64\n"
     "%y64 = extsi %y : i64\n"
     "%xy = addi %x64, %y64 : i64\n"
     "%xs = splat %xy : tile<1x4xi64>\n"
     "%below1 = cmpi %n, %xs {pred = sle} : tile<1x4xi1>\n"
     "%seen = broadcast %below1 : tile<4x4xi1>\n",
     4, false, wide, NULL},
    {"rows_too", "i32", "4",
     SPLAT_I("i32") BELOW_X "%rs = splat %r : tile<4x1xi32>\n"
                            "%rows = addi %rs, %row : tile<4x1xi32>\n"
                            "%zs = splat %z : tile<4x1xi32>\n"
                            "%inside1 = cmpi %rows, %zs {pred = slt} : tile<4x1xi1>\n"
                            "%inside = broadcast %inside1 : tile<4x4xi1>\n"
                            "%seen = andi %below, %inside : tile<4x4xi1>\n",
     4, false, rows_too, NULL},
    {"from", "i32", "4",
     SPLAT_I("i32") "%ys = splat %y : tile<1x4xi32>\n"
                    "%m = addi %n, %ys : tile<1x4xi32>\n"
                    "%mm = broadcast %m : tile<4x4xi32>\n"
                    "%rs = splat %r : tile<4x1xi32>\n"
                    "%rows = addi %rs, %row : tile<4x1xi32>\n"
                    "%rr = broadcast %rows : tile<4x4xi32>\n"
                    "%seen = cmpi %mm, %rr {pred = sge} : tile<4x4xi1>\n",
     4, false, from, NULL},
    {"extended", "i32", "4",
     SPLAT_I("i32") "%n64 = extsi %n : tile<1x4xi64>\n"
                    "%r64 = extsi %row : tile<4x1xi64>\n"
                    "%nn = broadcast %n64 : tile<4x4xi64>\n"
                    "%rr = broadcast %r64 : tile<4x4xi64>\n"
                    "%d = subi %nn, %rr : tile<4x4xi64>\n"
                    "%x64 = extsi %x : i64\n"
                    "%z64 = extsi %z : i64\n"
                    "%xz = addi %x64, %z64 : i64\n"
                    "%xs = splat %xz : tile<4x4xi64>\n"
                    "%seen = cmpi %d, %xs {pred = sgt} : tile<4x4xi1>\n",
     4, false, extended, NULL},
};

/* What is added on both sides cancels in the difference, but not where one of the sums wraps in 64
 * bits: in one of 16 the scalar is 8 below where that begins. */
static const Kind cancelled = {.name = "cancelled",
                               .index = "i64",
                               .step = "4",
                               .text = "%x64 = extsi %x : i64\n"
                                       "%sixty = constant_int {value = 60} : i64\n"
                                       "%eight64 = constant_int {value = 8} : i64\n"
                                       "%high = shli %x64, %sixty : i64\n"
                                       "%big = subi %high, %eight64 : i64\n"
                                       "%bigs = splat %big : tile<1x4xi64>\n"
                                       "%is = splat %i : tile<1x4xi64>\n"
                                       "%c64 = extsi %column : tile<1x4xi64>\n"
                                       "%ic = addi %is, %c64 : tile<1x4xi64>\n"
                                       "%n = addi %ic, %bigs : tile<1x4xi64>\n"
                                       "%r64 = extsi %row : tile<4x1xi64>\n"
                                       "%four64 = constant_int {value = 4} : tile<4x1xi64>\n"
                                       "%bigr = splat %big : tile<4x1xi64>\n"
                                       "%rows = muli %r64, %four64 : tile<4x1xi64>\n"
                                       "%until = addi %rows, %bigr : tile<4x1xi64>\n"
                                       "%nn = broadcast %n : tile<4x4xi64>\n"
                                       "%uu = broadcast %until : tile<4x4xi64>\n"
                                       "%seen = cmpi %nn, %uu {pred = slt} : tile<4x4xi1>\n",
                               .step_value = 4};

/* A loop that begins near the end of 64 bits, beyond where it ends, and only from below is masked:
 * what lies between its begin and the mask's does not fit in 64 bits. */
static const Kind far = {.name = "far",
                         .index = "i64",
                         .step = "4",
                         .bounds = "%z64 = extsi %z : i64\n"
                                   "%sixty = constant_int {value = 60} : i64\n"
                                   "%eight64 = constant_int {value = 8} : i64\n"
                                   "%high = shli %z64, %sixty : i64\n"
                                   "%begin = subi %high, %eight64 : i64\n"
                                   "%first = constant_int {value = 0} : i64\n"
                                   "%lo = maxsi %begin, %first : i64\n"
                                   "%most = constant_int {value = 63} : i32\n"
                                   "%end32 = andi %hi32, %most : i32\n"
                                   "%hi = extsi %end32 : i64\n",
                         .text = "%is = splat %i : tile<1x4xi64>\n"
                                 "%c64 = extsi %column : tile<1x4xi64>\n"
                                 "%n = addi %is, %c64 : tile<1x4xi64>\n"
                                 "%r64 = extsi %r : i64\n"
                                 "%rs = splat %r64 : tile<1x4xi64>\n"
                                 "%after = cmpi %n, %rs {pred = sge} : tile<1x4xi1>\n"
                                 "%seen = broadcast %after : tile<4x4xi1>\n",
                         .step_value = 4};

/* acc = acc / 2 + (what of (i + column) * 4 is seen): the order of iterations is in the bits. */
#define PROGRAM                                                                                    \
    "func @f(%%out: ptr<f32>, %%parts: ptr<i32>, %%lo32: i32, %%hi32: i32, %%x: i32, %%y: i32,"    \
    " %%z: i32, %%r: i32, %%c: f32) {\n"                                                           \
    "%%eight = constant_int {value = 8} : i32\n"                                                   \
    "%%r0 = range {start = 0} : tile<4xi32>\n"                                                     \
    "%%column = expand_dims %%r0 {axis = 0} : tile<1x4xi32>\n"                                     \
    "%%row = expand_dims %%r0 {axis = 1} : tile<4x1xi32>\n"                                        \
    "%%one = constant_float {value = 1.0} : tile<4x4xf32>\n"                                       \
    "%%half = constant_float {value = 0.5} : tile<4x4xf32>\n"                                      \
    "%%zero = constant_float {value = 0.0} : tile<4x4xf32>\n"                                      \
    "%%step = constant_int {value = %s} : %s\n"                                                    \
    "%s"                                                                                           \
    "%%sum, %%end = for %%lo, %%hi, %%step, %%zero, %%y : tile<4x4xf32>, i32"                      \
    " (%%i: %s, %%acc: tile<4x4xf32>, %%count: i32) {\n"                                           \
    "%%fi = sitof %%i : f32\n"                                                                     \
    "%%fis = splat %%fi : tile<1x4xf32>\n"                                                         \
    "%%fc = sitof %%column : tile<1x4xf32>\n"                                                      \
    "%%fic = addf %%fis, %%fc : tile<1x4xf32>\n"                                                   \
    "%%b = broadcast %%fic : tile<4x4xf32>\n"                                                      \
    "%%dots = dot %%one, %%b, %%one : tile<4x4xf32>\n"                                             \
    "%%cs = splat %%c : tile<4x4xf32>\n"                                                           \
    "%%s = mulf %%dots, %%cs : tile<4x4xf32>\n"                                                    \
    "%s"                                                                                           \
    "%%t = select %%seen, %s : tile<4x4xf32>\n"                                                    \
    "%%old = mulf %%acc, %%half : tile<4x4xf32>\n"                                                 \
    "%%sum1 = addf %%old, %%t : tile<4x4xf32>\n"                                                   \
    "%%top = reduce %%t {axis = 1} : tile<4xf32> (%%p: f32, %%q: f32) {\n"                         \
    "%%pq = maxf %%p, %%q : f32\n"                                                                 \
    "yield %%pq\n"                                                                                 \
    "}\n"                                                                                          \
    "%%top1 = expand_dims %%top {axis = 1} : tile<4x1xf32>\n"                                      \
    "%%top2 = broadcast %%top1 : tile<4x4xf32>\n"                                                  \
    "%%new = addf %%sum1, %%top2 : tile<4x4xf32>\n"                                                \
    "%%next = addi %%count, %%eight : i32\n"                                                       \
    "yield %%new, %%next\n"                                                                        \
    "}\n"                                                                                          \
    "%%cols = constant_int {value = 4} : tile<4x1xi32>\n"                                          \
    "%%base = muli %%row, %%cols : tile<4x1xi32>\n"                                                \
    "%%b1 = broadcast %%base : tile<4x4xi32>\n"                                                    \
    "%%b2 = broadcast %%column : tile<4x4xi32>\n"                                                  \
    "%%place = addi %%b1, %%b2 : tile<4x4xi32>\n"                                                  \
    "%%ptrs = splat %%out : tile<4x4xptr<f32>>\n"                                                  \
    "%%to = addptr %%ptrs, %%place : tile<4x4xptr<f32>>\n"                                         \
    "store %%to, %%sum\n"                                                                          \
    "return\n"                                                                                     \
    "}\n"

static Func *parse_kind(Ctx *ctx, const Kind *kind) {
    bool is_wide = strcmp(kind->index, "i64") == 0;
    const char *bounds = kind->bounds ? kind->bounds
                         : is_wide    ? "%lo = extsi %lo32 : i64\n%hi = extsi %hi32 : i64\n"
                                      : "";
    StrBuf text = strbuf(&ctx->arena);
    strbuf_printf(&text, PROGRAM, kind->step, kind->index, bounds, kind->index, kind->text,
                  kind->masked_if_seen ? "%zero, %s" : "%s, %zero");
    if (is_wide)
        return testing_parse_good(ctx, text.ptr)->funcs;
    /* The index has the type of the bounds as they are given. */
    StrBuf narrow = strbuf(&ctx->arena);
    for (const char *at = text.ptr; *at;) {
        bool bound = strncmp(at, "%lo32", 5) == 0 || strncmp(at, "%hi32", 5) == 0;
        strbuf_add(&narrow, at, bound ? 3 : 1);
        at += bound ? 5 : 1;
    }
    strbuf_putc(&narrow, '\0');
    return testing_parse_good(ctx, narrow.ptr)->funcs;
}

static void run(Func *func, const Numbers *n, float out[SIDE * SIDE], int32_t parts[2]) {
    InterpArray memory[] = {{.name = STR("out"), .data = out, .bytes = SIDE * SIDE * sizeof *out},
                            {.name = STR("parts"), .data = parts, .bytes = 2 * sizeof *parts}};
    InterpArg args[] = {{.is_array = true}, {.is_array = true, .array = 1},
                        {.i = n->lo},       {.i = n->hi},
                        {.i = n->x},        {.i = n->y},
                        {.i = n->z},        {.i = n->r},
                        {.f = n->c}};
    InterpOptions options = {.grid = {1, 1, 1}, .max_steps = MAX_STEPS};
    if (!interp_run(func, args, memory, 2, &options))
        fail_msg("%s", testing_messages(func_ctx(func)));
}

static bool compares(const Op *loop) {
    block_for_each (op, loop->regions[0])
        if (op->code == OP_cmpi)
            return true;
    return false;
}

/* The maximum is one of %dots, not of their products. */
static void check_maximum(const Op *loop) {
    block_for_each (op, loop->regions[0])
        if (op->code == OP_reduce)
            assert_int_equal(op_in(op, 0)->def->code, OP_dot);
}

/* The loop without masks; it writes its bounds to `parts`. */
static Op *unmasked_loop(Func *func) {
    Op *found = NULL;
    block_for_each (op, func->body) {
        if (op->code != OP_for || compares(op))
            continue;
        assert_null(found);
        found = op;
    }
    assert_non_null(found);
    Builder b = builder_before(found);
    const Type *i32 = type_scalar(b.ctx, DT_I32);
    for (uint32_t i = 0; i < 2; i++) {
        Value *bound = op_in(found, i);
        Value *index = build_constant_int(&b, i, i32);
        Value *at = build_addptr(&b, &func->body->args[1], index);
        build_store(&b, at, bound->type == i32 ? bound : build_trunci(&b, bound, i32), NULL, 0, 0,
                    0);
    }
    return found;
}

static uint64_t random_state;

static int32_t below(int32_t n) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int32_t)((random_state >> 33) % (uint64_t)n);
}

/* Small, or near one of the ends. */
static int32_t number(int32_t spread) {
    int32_t near = below(spread);
    switch (below(6)) {
    case 0:
        return INT32_MAX - near;
    case 1:
        return INT32_MIN + near;
    default:
        return near - spread / 4;
    }
}

static int32_t add_within(int32_t a, int32_t b) {
    int64_t sum = (int64_t)a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

/* Bounds of a loop of few iterations, the other numbers mostly near its index. */
static Numbers some_numbers(const Kind *kind) {
    Numbers n = {.lo = number(40)};
    n.hi = add_within(n.lo, below((int32_t)kind->step_value * MAX_TRIPS) - 4);
    n.x = below(4) ? add_within(n.lo, below(60) - 8) : number(60);
    n.y = below(4) ? below(24) - 12 : number(24);
    n.z = below(4) ? below(60) : number(60);
    n.r = below(4) ? add_within(n.lo, below(60) - 8) : number(60);
    static const float factors[] = {0.3f, 0, -0.3f, INFINITY, NAN, 1e-38f, -INFINITY};
    n.c = below(2) ? 0.7f : factors[below(sizeof factors / sizeof *factors)];
    if (kind->seen == product)
        n.x = below(4) ? (int32_t)((uint32_t)n.lo * 4 + (uint32_t)below(80)) : n.x;
    if (kind->seen == counter)
        n.y = n.lo;
    return n;
}

/* The iterations that run unmasked are ones in which the mask is idle; all such ones do if nothing
 * wraps, not even for an index within the last step. */
static void check_parts(const Kind *kind, const Numbers *n, const int32_t parts[2]) {
    Sums sums = {false};
    int64_t idle_iterations = 0, unmasked = 0;
    for (int64_t i = n->lo, t = 0; i < n->hi; i += kind->step_value, t++) {
        bool idle = true;
        for (int64_t at = 0; at < SIDE * SIDE; at++)
            idle &= kind->seen(&sums, n, t, i, at / SIDE, at % SIDE) != kind->masked_if_seen;
        idle_iterations += idle;
        kind->seen(&sums, n, t, i + kind->step_value - 1, SIDE - 1, SIDE - 1);
        if (i >= parts[0] && i < parts[1]) {
            unmasked++;
            if (!idle)
                fail_msg("%s: index %lld is not masked in %d, %d, x = %d, y = %d, z = %d, r = %d",
                         kind->name, (long long)i, n->lo, n->hi, n->x, n->y, n->z, n->r);
        }
    }
    /* A factor that is not above zero, or not finite, keeps the maxima, and with them the masks. */
    bool scales = n->c > 0 && n->c < INFINITY;
    if (!sums.wraps && scales && unmasked != idle_iterations)
        fail_msg("%s: %lld of %lld are unmasked in %d, %d, x = %d, y = %d, z = %d, r = %d",
                 kind->name, (long long)unmasked, (long long)idle_iterations, n->lo, n->hi, n->x,
                 n->y, n->z, n->r);
}

static bool same_bits(const float *a, const float *b) {
    for (int i = 0; i < SIDE * SIDE; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static void split_func(Func *func) {
    static const PassId prepare[] = {PASS_simplify, PASS_licm, PASS_simplify};
    static const PassId passes[] = {PASS_split_loops, PASS_licm, PASS_simplify};
    assert_true(pipeline_run_passes(func, prepare, 3, NULL));
    assert_true(pipeline_run_passes(func, passes, 3, NULL));
    assert_true(module_verify(func->module));
}

/* The bits are those of before; `parts` is what unmasked_loop had noted. */
static void check_results(const Kind *kind, Func *before, Func *after, const Numbers *n,
                          int32_t parts[2]) {
    float expected[SIDE * SIDE] = {0}, found[SIDE * SIDE] = {0};
    run(before, n, expected, parts);
    run(after, n, found, parts);
    if (!same_bits(expected, found))
        fail_msg("%s: other results with %d, %d, x = %d, y = %d, z = %d, r = %d, c = %g",
                 kind->name, n->lo, n->hi, n->x, n->y, n->z, n->r, (double)n->c);
}

static void test_kind(const Kind *kind) {
    Ctx *ctx = testing_ctx();
    Func *before = parse_kind(ctx, kind), *after = parse_kind(ctx, kind);
    split_func(after);
    check_maximum(unmasked_loop(after));
    for (int i = 0; i < RUNS; i++) {
        Numbers n = some_numbers(kind);
        int32_t parts[2] = {0, 0};
        check_results(kind, before, after, &n, parts);
        check_parts(kind, &n, parts);
    }
    ctx_destroy(ctx);
}

/* The loop is split or not: the results are all that counts. */
static void test_results(const Kind *kind) {
    Ctx *ctx = testing_ctx();
    Func *before = parse_kind(ctx, kind), *after = parse_kind(ctx, kind);
    split_func(after);
    for (int i = 0; i < RUNS; i++) {
        Numbers n = some_numbers(kind);
        int32_t parts[2];
        check_results(kind, before, after, &n, parts);
    }
    ctx_destroy(ctx);
}

static void test_ends_of_64_bits(void **state) {
    test_results(&cancelled);
    test_results(&far);
}

static void test_split_loops(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        test_kind(&kinds[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_split_loops),
                                       cmocka_unit_test(test_ends_of_64_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
