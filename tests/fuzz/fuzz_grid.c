/* Any bytes as a launch grid and as the description of an array. Beyond not crashing: what is
 * refused has a message inside the text; a grid is within the driver's limits and, evaluated again
 * as the numbers that came out, the same; an array is as large as its type and shape say, and the
 * same when made again. */
#include "fuzz.h"
#include "runtime/data/generate.h"
#include "runtime/data/grid.h"

enum { ARRAY_BYTES = 1 << 20 };

static void check_messages(Ctx *ctx, uint32_t file, size_t len) {
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
        FUZZ_CHECK(d->span.lo <= d->span.hi && (d->span.file != file || d->span.hi <= len + 3));
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
    ctx->diags = (Diags){.arena = &ctx->arena, .sources = &ctx->sources};
}

static void check_grid(Ctx *ctx, Str text) {
    const GridName names[] = {{STR("n"), 1000},
                              {STR("BLOCK"), 128},
                              {STR("zero"), 0},
                              {STR("low"), INT64_MIN},
                              {STR("high"), INT64_MAX}};
    uint32_t count = sizeof names / sizeof *names, grid[3], again[3];
    bool ok = grid_evaluate(ctx, text, names, count, grid);
    FUZZ_CHECK(ok == (ctx->diags.errors == 0));
    check_messages(ctx, (uint32_t)ctx->sources.sources.len, text.len);
    if (!ok)
        return;
    FUZZ_CHECK(grid[0] <= INT32_MAX && grid[1] <= 65535 && grid[2] <= 65535);
    const char *numbers = str_format(&ctx->arena, "[%u, (%u), 0 + %u]", grid[0], grid[1], grid[2]);
    FUZZ_CHECK(grid_evaluate(ctx, str_from(numbers), NULL, 0, again));
    FUZZ_CHECK(memcmp(grid, again, sizeof grid) == 0);
}

static void check_generator(Ctx *ctx, Str text) {
    uint32_t file = source_add(&ctx->sources, STR("<array>"), text);
    HostArray array, again;
    generate_is_generator(text);
    bool ok = generate_array(ctx, file, 0, text, 1, &array);
    FUZZ_CHECK(ok == (ctx->diags.errors == 0));
    check_messages(ctx, file, text.len);
    if (!ok)
        return;
    size_t count = 1;
    for (int32_t d = 0; d < array.rank; d++)
        count *= (size_t)array.shape[d];
    FUZZ_CHECK(array.count == count && array.bytes == count * host_elem_bytes(array.elem));
    FUZZ_CHECK(generate_array(ctx, file, 0, text, 1, &again) && again.bytes == array.bytes);
    FUZZ_CHECK(array.bytes == 0 || memcmp(array.data, again.data, array.bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    if (setjmp(ctx->oom) == 0) {
        Str text = {(const char *)data, size};
        check_grid(ctx, text);
        ctx->arena.limit = ctx->arena.reserved + ARRAY_BYTES; /* arrays may be too large */
        check_generator(ctx, text);
    }
    ctx_destroy(ctx);
    return 0;
}
