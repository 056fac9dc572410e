/* Textual Tile IR, run. The bytes choose a random function, whose text they damage. What still
 * parses runs on small arrays, past many findings: no run crashes, writes outside its arrays, or
 * fails without a message; an undamaged function runs clean. */
#include "fuzz.h"
#include "interp/interp.h"
#include "random_ir.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

/* Arrays between guards. */
typedef struct Arrays {
    uint8_t *memory[RANDOM_IR_PARAMS];
    InterpArray arrays[RANDOM_IR_PARAMS];
    InterpArg args[RANDOM_IR_PARAMS];
    uint32_t count;
} Arrays;

static Arrays make_arrays(Ctx *ctx, const Func *func, size_t bytes, bool track) {
    Arrays a = {.count = 0};
    for (uint32_t i = 0; i < func->body->nargs; i++) {
        a.args[i] = (InterpArg){.i = 5, .f = 1.25};
        if (!type_is_pointer(func->body->args[i].type))
            continue;
        uint8_t *memory = arena_alloc(&ctx->arena, bytes + 2 * (size_t)GUARD);
        memset(memory, GUARD_BYTE, bytes + 2 * (size_t)GUARD);
        memset(memory + GUARD, (int)i, bytes);
        uint8_t *defined = arena_alloc(&ctx->arena, bytes);
        memset(defined, 0xff, bytes / 2);
        a.memory[a.count] = memory;
        a.arrays[a.count] = (InterpArray){.name = func->params[i].name,
                                          .data = memory + GUARD,
                                          .bytes = bytes,
                                          .defined = track ? defined : NULL};
        a.args[i] = (InterpArg){.is_array = true, .array = a.count++};
    }
    return a;
}

static void check_guards(const Arrays *a) {
    for (uint32_t i = 0; i < a->count; i++)
        for (size_t b = 0; b < GUARD; b++)
            FUZZ_CHECK(a->memory[i][b] == GUARD_BYTE &&
                       a->memory[i][GUARD + a->arrays[i].bytes + b] == GUARD_BYTE);
}

static void run(Ctx *ctx, Func *func, size_t bytes, bool must_pass) {
    if (func->body->nargs > RANDOM_IR_PARAMS)
        return;
    Arrays a = make_arrays(ctx, func, bytes, !must_pass);
    StrBuf output = strbuf(&ctx->arena);
    InterpOptions options = {.grid = {must_pass ? 1 : 2, 1, 1},
                             .max_reports = 100,
                             .max_steps = must_pass ? 0 : 20000,
                             .output = &output};
    unsigned errors = ctx->diags.errors;
    bool clean = interp_run(func, a.args, a.arrays, a.count, &options);
    FUZZ_CHECK(clean == (ctx->diags.errors == errors));
    FUZZ_CHECK(clean || !must_pass);
    check_guards(&a);
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    uint64_t seed = 0;
    for (size_t i = 0; i < size && i < 4; i++)
        seed = seed << 8 | data[i];
    Module *module = module_create(ctx);
    Func *func = random_ir(module, seed, 12);
    StrBuf printed = strbuf(&ctx->arena);
    module_print(module, NULL, &printed);
    run(ctx, func, RANDOM_IR_ELEMENTS * 4, true);
    char *text = str_dup(&ctx->arena, strbuf_str(&printed));
    for (size_t i = 4; i + 2 < size; i += 3)
        text[(size_t)(data[i] << 8 | data[i + 1]) * 7 % printed.len] = (char)data[i + 2];
    uint32_t file = source_add(&ctx->sources, STR("damaged.tir"), (Str){text, printed.len});
    Module *damaged = module_parse(ctx, file);
    ctx->diags.errors = 0;
    for (Func *f = damaged ? damaged->funcs : NULL; f; f = f->next)
        run(ctx, f, 100, false);
    ctx_destroy(ctx);
    return 0;
}
