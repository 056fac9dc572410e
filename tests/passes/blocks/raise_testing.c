/* See raise_testing.h. */
#include "raise_testing.h"
#include "types/float_bits.h"

#include "../../ir/splitmix.h"
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "support/file.h"

enum { ROUNDS = 12, MIB = 1 << 20 };

/* Drawing */

int64_t trial_below(Trial *t, int64_t limit) {
    return (int64_t)(splitmix64(&t->state) >> 33) % limit;
}

int64_t trial_size(Trial *t, int64_t limit) {
    return trial_below(t, 5) == 0 ? 1 : 1 + trial_below(t, limit);
}

int64_t trial_line_size(Trial *t, int64_t limit) {
    int64_t any = trial_size(t, limit);
    return t->whole ? (any + 15) / 16 * 16 : any;
}

void trial_number(Trial *t, int64_t value) {
    t->args[t->nargs++] = (InterpArg){.i = value};
}

void trial_scale(Trial *t, double value) {
    t->args[t->nargs++] = (InterpArg){.f = value};
}

void *trial_array(Trial *t, DType dtype, int64_t elements) {
    size_t bytes = (size_t)elements * (size_t)dtype_bytes(dtype);
    char *data = arena_alloc(&t->ctx->arena, bytes + 1);
    for (int64_t i = 0; i < elements; i++) {
        int64_t value = trial_below(t, 33) - 16;
        uint64_t bits =
            dtype_is_float(dtype) ? float_to_bits(dtype, (double)value / 8) : (uint64_t)value;
        memcpy(data + i * dtype_bytes(dtype), &bits, (size_t)dtype_bytes(dtype));
    }
    t->args[t->nargs++] = (InterpArg){.is_array = true, .array = t->narrays};
    t->arrays[t->narrays++] = (InterpArray){.name = STR("array"), .data = data, .bytes = bytes};
    return data;
}

/* Running */

static void fail_with(Ctx *ctx, const char *what, const Subject *subject) {
    fail_msg("%s: %s\n%s", subject->kernel, what, testing_messages(ctx));
}

/* With the promise, or without. */
static Str signature_of(Ctx *ctx, const Subject *subject, bool whole) {
    StrBuf text = strbuf(&ctx->arena);
    for (const char *c = subject->signature; *c; c++)
        if (*c != *PROMISE)
            strbuf_printf(&text, "%c", *c);
        else if (whole)
            strbuf_puts(&text, ":16");
    return str_from(text.ptr);
}

static Func *elaborate(Ctx *ctx, const Subject *subject, bool whole) {
    NamedText defines[6];
    uint32_t count = 0;
    for (; count < 6 && subject->defines[count][0]; count++)
        defines[count] =
            (NamedText){str_from(subject->defines[count][0]), str_from(subject->defines[count][1])};
    const char *path =
        str_format(&ctx->arena, "%s/kernels/%s.tile", TILEC_SOURCE_DIR, subject->file);
    Str text;
    assert_int_equal(file_read(&ctx->arena, path, MIB, &text), 0);
    ElaborateRequest request = {.file = source_add(&ctx->sources, str_from(path), text),
                                .kernel = str_from(subject->kernel),
                                .signature = signature_of(ctx, subject, whole),
                                .defines = defines,
                                .define_count = count,
                                .capability = 90};
    Elaborated result;
    if (!frontend_elaborate(ctx, parse_file(&ctx->diags, request.file), &request, &result))
        fail_with(ctx, "does not compile", subject);
    return result.func;
}

static void copy_arrays(const Trial *t, InterpArray *copies) {
    for (uint32_t i = 0; i < t->narrays; i++) {
        copies[i] = t->arrays[i];
        copies[i].data = arena_alloc(&t->ctx->arena, t->arrays[i].bytes + 1);
        memcpy(copies[i].data, t->arrays[i].data, t->arrays[i].bytes);
    }
}

static void run(Trial *t, InterpArray *arrays, const Subject *subject, const char *when) {
    InterpOptions options = {.grid = {t->grid[0], t->grid[1], t->grid[2]}};
    assert_int_equal(t->nargs, t->func->body->nargs);
    if (!interp_run(t->func, t->args, arrays, t->narrays, &options))
        fail_with(t->ctx, when, subject);
}

static void prepare(Trial *t, const Subject *subject, uint64_t seed) {
    *t = (Trial){
        .ctx = t->ctx, .func = t->func, .state = seed, .grid = {1, 1, 1}, .whole = t->whole};
    subject->setup(t, subject->variant);
}

typedef struct Count {
    int loads, stores;
} Count;

static bool count_blocks(Op *op, void *user) {
    Count *count = user;
    count->loads += op->code == OP_load_block;
    count->stores += op->code == OP_store_block;
    return true;
}

/* Results of all rounds from the simplified function, which may compute what it rounds otherwise
 * than the source says, then those of the raised one. */
static void check_subject(const Subject *subject, bool whole, uint64_t seed) {
    Ctx *ctx = testing_ctx();
    Trial t = {.ctx = ctx, .func = elaborate(ctx, subject, whole), .whole = whole};
    static const PassId simplify[] = {PASS_simplify};
    static const PassId raise[] = {PASS_raise_pointers, PASS_simplify};
    const PipelineOptions checked = {.check = true};
    assert_true(pipeline_run_passes(t.func, simplify, 1, &checked));
    InterpArray(*before)[TRIAL_MAX_ARGS] =
        arena_alloc(&ctx->arena, sizeof(InterpArray[ROUNDS][TRIAL_MAX_ARGS]));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        prepare(&t, subject, seed + round);
        copy_arrays(&t, before[round]);
        run(&t, before[round], subject, "fails before it is raised");
    }
    assert_true(pipeline_run_passes(t.func, raise, 2, &checked));
    Count count = {0};
    int stores = whole || !strstr(subject->signature, PROMISE) ? subject->stores : 0;
    func_walk(t.func, count_blocks, &count);
    if (count.loads != subject->loads || count.stores != stores)
        fail_msg("%s: %d loads and %d stores were raised\n%s", subject->kernel, count.loads,
                 count.stores, testing_messages(ctx));
    for (uint64_t round = 0; round < ROUNDS; round++) {
        prepare(&t, subject, seed + round);
        run(&t, t.arrays, subject, "fails once it is raised");
        for (uint32_t i = 0; i < t.narrays; i++)
            if (t.arrays[i].bytes &&
                memcmp(t.arrays[i].data, before[round][i].data, t.arrays[i].bytes) != 0)
                fail_msg("%s: array %u differs in round %d", subject->kernel, i, (int)round);
    }
    ctx_destroy(ctx);
}

void check_subjects(const Subject *subjects, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (int whole = strstr(subjects[i].signature, PROMISE) != NULL; whole >= 0; whole--)
            check_subject(&subjects[i], whole, 1000 * i);
}
