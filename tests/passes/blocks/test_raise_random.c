/* Random products through pointers on the interpreter, before and after raise-pointers.
 *
 * Indices, wraps, masks, steps, batches, what becomes of the product and what guards its store are
 * drawn from lists in which much is nearly right: bounds of other sizes, rows that may be negative,
 * masks that are missing. In three of four N is promised to be a multiple of 16, without which no
 * store is raised. Parameters point into the middle of their arrays, so that what lies in
 * front of a tensor is memory too, which pointers read and blocks must not make zeros of. What is
 * stored must be the same to the bit. */
#include "../../ir/ir_testing.h"
#include "../../ir/splitmix.h"
#include "types/float_bits.h"

#include "frontend/frontend.h"
#include "interp/interp.h"
#include "passes/passes.h"

enum {
    PRODUCTS = 400 / TILEC_TEST_PART,
    LAUNCHES = 3,
    ELEMENTS = 1 << 15,
    ARRAYS = 4,
    PARAMETERS = 14
};

typedef struct Draw {
    uint64_t state;
    StrBuf text;
} Draw;

static uint32_t below(Draw *d, uint32_t limit) {
    return (uint32_t)(splitmix64(&d->state) >> 33) % limit;
}

/* Mostly the first, which fits. */
#define PICK(d, list) ((list)[below((d), 5) < 3 ? 0 : below((d), sizeof(list) / sizeof *(list))])

/* The text */

static const char *const row_firsts[] = {
    "pid * 16",           "pid * 16 - 8",        "(pid - 1) * 16",           "pid * 16 + shift",
    "tl.load(index_ptr)", "pid * 16 + pid2 * 8", "max(pid * 16 - shift, 0)",
};
static const char *const row_uses[] = {" % M", "", " % limit", " % 1", " + shift", " + 8"};
static const char *const row_masks[] = {
    "(rows < M)", "(rows < limit)", "(rows <= M)", "(used_rows < M)", "(used_rows < M - shift)",
};
static const char *const row_lows[] = {"", " & (rows >= 0)", " & (used_rows >= 0)",
                                       " & (rows >= 8)", " & (rows < limit)"};
static const char *const results[] = {
    "acc",
    "acc * 2.0 + rows.to(tl.float32)[:, None]",
    "acc - tl.max(acc, 1)[:, None]",
    "acc + tl.sum(acc, 0)[None, :]",
    "tl.where((rows < M)[:, None], acc, 0.0)",
    "acc + tl.where((rows < M)[:, None], acc, 0.0).sum(axis=0)[None, :]",
    "acc + tl.trans(acc)",
    "tl.trans(tl.trans(acc))",
    "tl.dot(acc.to(tl.float16), tl.trans(b))",
};
static const char *const store_masks[] = {
    "(rows < M)", "(rows < limit)", "(rows < M - 1)", "(rows >= 0)", "(rows < M + 1)",
};

/* Index, use and mask of the rows of A or the columns of B. */
static void draw_lines(Draw *d, const char *name, const char *pid) {
    strbuf_printf(&d->text, "    pid = %s\n    rows = %s + tl.arange(0, 16)\n", pid,
                  PICK(d, row_firsts));
    strbuf_printf(&d->text, "    used_rows = rows%s\n", PICK(d, row_uses));
    if (below(d, 2))
        strbuf_printf(&d->text, "    %s_mask = %s%s\n", name, PICK(d, row_masks),
                      PICK(d, row_lows));
    else
        strbuf_printf(&d->text, "    %s_mask = tl.arange(0, 16) < 16\n", name);
    strbuf_printf(&d->text, "    %s_index = used_rows\n    %s_rows = rows\n", name, name);
}

static const char *const extras[] = {"",      " + pid2 * stride_x",        " + pid2 * 64",
                                     " + 64", " + pid2 * pid2 * stride_x", " + limit * stride_a"};
static const char *const depth_masks[] = {"depth < K - k", "depth + k < K", "k + depth < limit",
                                          "depth < 16"};
static const char *const loops[] = {"range(0, K, 16)", "range(16, K, 16)",
                                    "range(16 * pid2, K, 16)", "range(shift, K, 16)",
                                    "range(0, min(K, limit), 16)"};
static const char *const steps[] = {"16", "shift", "k"};

static const char *draw_kernel(Draw *d, Arena *arena) {
    d->text = strbuf(arena);
    bool carried = below(d, 2), by_columns = below(d, 3) == 0;
    strbuf_puts(&d->text,
                "@triton.jit\n"
                "def product(a_ptr, b_ptr, c_ptr, index_ptr, M, N, K, limit, shift, stride_a, "
                "stride_b, stride_c, stride_x, spare):\n"
                "    pid2 = tl.program_id(2)\n"
                "    depth = tl.arange(0, 16)\n");
    draw_lines(d, "b", "tl.program_id(1)");
    draw_lines(d, "a", "tl.program_id(0)");
    strbuf_printf(&d->text,
                  "    a_ptrs = a_ptr + (a_index[:, None] * stride_a + depth[None, :])%s\n"
                  "    b_ptrs = b_ptr + (%s)%s\n",
                  PICK(d, extras),
                  by_columns ? "b_index[None, :] * stride_b + depth[:, None]"
                             : "depth[:, None] * stride_b + b_index[None, :]",
                  PICK(d, extras));
    strbuf_printf(&d->text,
                  "    acc = tl.zeros((16, 16), tl.float32)\n"
                  "    b = tl.zeros((16, 16), tl.float16)\n"
                  "    for k in %s:\n"
                  "        inside = %s\n",
                  PICK(d, loops), PICK(d, depth_masks));
    const char *along = by_columns ? "1" : "stride_b";
    const char *a_at = carried ? "" : " + k";
    const char *b_at = carried ? "" : str_format(arena, " + k * %s", along);
    strbuf_printf(
        &d->text,
        "        a = tl.load(a_ptrs%s, mask=a_mask[:, None] & inside[None, :], other=0.0)\n"
        "        b = tl.load(b_ptrs%s, mask=b_mask[None, :] & inside[:, None], other=0.0)\n"
        "        acc = tl.dot(a, b, acc)\n",
        a_at, b_at);
    if (carried)
        strbuf_printf(&d->text, "        a_ptrs += %s\n        b_ptrs += %s * %s\n", PICK(d, steps),
                      PICK(d, steps), along);
    strbuf_printf(&d->text,
                  "    c = %s\n"
                  "    mask = %s[:, None] & (b_rows < N)[None, :]\n"
                  "    c_ptrs = c_ptr + a_rows[:, None] * stride_c + b_rows[None, :]\n"
                  "    tl.store(c_ptrs, c.to(tl.float16), mask=mask)\n",
                  PICK(d, results), PICK(d, store_masks));
    return d->text.ptr;
}

/* Running */

typedef struct Launch {
    InterpArg args[PARAMETERS];
    InterpArray arrays[ARRAYS];
    InterpOptions options;
} Launch;

static void draw_launch(Draw *d, Arena *arena, bool whole, Launch *launch) {
    static const int64_t stride[] = {48, 64, 80};
    *launch = (Launch){.options = {.grid = {1 + below(d, 3), 1 + below(d, 2), 1 + below(d, 2)}}};
    for (uint32_t i = 0; i < ARRAYS; i++) {
        bool indices = i == ARRAYS - 1;
        size_t bytes = ELEMENTS * (indices ? sizeof(int32_t) : sizeof(uint16_t));
        char *data = arena_alloc(arena, bytes);
        for (size_t e = 0; e < ELEMENTS; e++) {
            int32_t value = (int32_t)below(d, 25) - 12;
            uint64_t bits = indices ? (uint64_t)value : float_to_bits(DT_F16, value / 4.0);
            memcpy(data + e * (bytes / ELEMENTS), &bits, bytes / ELEMENTS);
        }
        launch->arrays[i] = (InterpArray){.name = STR("array"), .data = data, .bytes = bytes};
        launch->args[i] =
            (InterpArg){.is_array = true, .array = i, .byte_offset = (int64_t)bytes / 2};
    }
    for (uint32_t i = ARRAYS; i < PARAMETERS; i++)
        launch->args[i].i = i < ARRAYS + 4    ? 1 + below(d, 60)          /* M, N, K, limit */
                            : i == ARRAYS + 4 ? (int64_t)below(d, 17) - 8 /* shift */
                                              : PICK(d, stride);
    if (whole)
        launch->args[ARRAYS + 1].i = 16 * (1 + below(d, 4));
}

static bool run(Func *func, const Launch *launch, Arena *arena, InterpArray *arrays) {
    for (uint32_t i = 0; i < ARRAYS; i++) {
        arrays[i] = launch->arrays[i];
        arrays[i].data = arena_alloc(arena, arrays[i].bytes);
        memcpy(arrays[i].data, launch->arrays[i].data, arrays[i].bytes);
    }
    return interp_run(func, launch->args, arrays, ARRAYS, &launch->options);
}

typedef struct Tally {
    int loads, stores, runs;
} Tally;

static bool count_blocks(Op *op, void *user) {
    Tally *tally = user;
    tally->loads += op->code == OP_load_block;
    tally->stores += op->code == OP_store_block;
    return true;
}

/* `whole`: N, the length of the lines that are stored, is promised to be a multiple of 16. */
static Func *compile(Ctx *ctx, const char *text, bool whole) {
    const char *signature =
        str_format(&ctx->arena,
                   "*fp16:16, *fp16:16, *fp16:16, *i32:16, i32, i32%s, i32, i32, i32, "
                   "i32:16, i32:16, i32:16, i32:16, i32:16",
                   whole ? ":16" : "");
    ElaborateRequest request = {.file =
                                    source_add(&ctx->sources, STR("random.tile"), str_from(text)),
                                .signature = str_from(signature),
                                .capability = 90};
    Elaborated result;
    if (!frontend_elaborate(ctx, parse_file(&ctx->diags, request.file), &request, &result))
        fail_msg("does not compile:\n%s\n%s", text, testing_messages(ctx));
    return result.func;
}

static void check_product(uint64_t seed, Tally *tally) {
    static const PassId passes[] = {PASS_simplify, PASS_raise_pointers, PASS_simplify};
    Ctx *ctx = testing_ctx();
    Arena *arena = &ctx->arena;
    Draw d = {.state = seed};
    const char *text = draw_kernel(&d, arena);
    bool whole = below(&d, 4) != 0;
    Func *func = compile(ctx, text, whole);
    Launch launches[LAUNCHES];
    InterpArray before[LAUNCHES][ARRAYS], after[ARRAYS];
    bool runs[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++) {
        draw_launch(&d, arena, whole, &launches[i]);
        runs[i] = run(func, &launches[i], arena, before[i]);
    }
    assert_true(pipeline_run_passes(func, passes, 3, NULL));
    func_walk(func, count_blocks, tally);
    for (int i = 0; i < LAUNCHES; i++) {
        if (!runs[i]) /* beyond the arrays, or a remainder by zero */
            continue;
        tally->runs++;
        if (!run(func, &launches[i], arena, after))
            fail_msg("seed %d: fails once raised:\n%s\n%s", (int)seed, text, testing_messages(ctx));
        for (uint32_t a = 0; a < ARRAYS; a++)
            if (memcmp(after[a].data, before[i][a].data, after[a].bytes) != 0)
                fail_msg("seed %d: array %u differs in launch %d:\n%s\n%s", (int)seed, a, i, text,
                         testing_print(func->module));
    }
    ctx_destroy(ctx);
}

/* Enough of them are raised, and enough are not, for this to test something. */
static void test_products(void **state) {
    Tally tally = {0};
    for (uint64_t seed = 0; seed < PRODUCTS; seed++)
        check_product(seed, &tally);
    print_message("%d runs, %d loads and %d stores raised\n", tally.runs, tally.loads,
                  tally.stores);
    assert_in_range(tally.loads, PRODUCTS / 4, 2 * PRODUCTS * 9 / 10);
    assert_in_range(tally.stores, PRODUCTS / 8, PRODUCTS);
    assert_true(tally.runs > PRODUCTS * LAUNCHES / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
