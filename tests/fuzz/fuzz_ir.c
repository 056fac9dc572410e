/* Any bytes as textual Tile IR. Beyond not crashing: what is refused has a message inside the text,
 * what is accepted verifies, prints, and parses back to the same text. The bytes also choose a
 * random function and changes to its text, which get further than random bytes do. */
#include "fuzz.h"
#include "ir/ir.h"
#include "random_ir.h"

static Str print(const Module *module) {
    StrBuf out = strbuf(&module->ctx->arena);
    module_print(module, NULL, &out);
    return strbuf_str(&out);
}

static void check(Ctx *ctx, Str text) {
    uint32_t file = source_add(&ctx->sources, STR("fuzz.tir"), text);
    Module *module = module_parse(ctx, file);
    if (!module) {
        FUZZ_CHECK(ctx->diags.errors > 0);
        for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
            FUZZ_CHECK(d->span.file == file && d->span.lo <= d->span.hi && d->span.hi <= text.len);
        return;
    }
    Str printed = print(module);
    Module *again = module_parse(ctx, source_add(&ctx->sources, STR("printed.tir"), printed));
    FUZZ_CHECK(again && str_eq(print(again), printed));
}

/* The first bytes are the seed, the others places and values of changes to the text. */
static void check_damaged(Ctx *ctx, const uint8_t *data, size_t size) {
    uint64_t seed = 0;
    for (size_t i = 0; i < size && i < 4; i++)
        seed = seed << 8 | data[i];
    Module *module = module_create(ctx);
    random_ir(module, seed, 12);
    FUZZ_CHECK(module_verify(module));
    Str text = print(module);
    char *changed = str_dup(&ctx->arena, text);
    for (size_t i = 4; i + 2 < size; i += 3)
        changed[(size_t)(data[i] << 8 | data[i + 1]) * 7 % text.len] = (char)data[i + 2];
    check(ctx, (Str){changed, text.len});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int damage = 0; damage < 2; damage++) {
        Ctx *ctx = ctx_create();
        FUZZ_CHECK(ctx);
        ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
        if (damage)
            check_damaged(ctx, data, size);
        else
            check(ctx, (Str){(const char *)data, size});
        ctx_destroy(ctx);
    }
    return 0;
}
