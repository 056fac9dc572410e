/* Any bytes as an export of tunings. Beyond not crashing: what is refused has a message inside of a
 * text; what is accepted is the same when it is written and read again, and once more from the
 * cache. */
#include "fuzz_folder.h"
#include "runtime/tune/exchange.h"

enum { MOST_KEPT = 4, CACHE_BYTES = 1 << 20 };

static bool same_entry(const TuneEntry *a, const TuneEntry *b) {
    for (int i = 0; i < TUNE_FIELD_COUNT; i++)
        if (!str_eq(a->fields[i], b->fields[i]))
            return false;
    return a->record.ms == b->record.ms && str_eq(a->record.reason, b->record.reason);
}

static void check_kept(Ctx *ctx, const TuneEntry *entries, uint32_t count) {
    const CacheConfig config = {.folder = fuzz_folder(), .max_bytes = CACHE_BYTES, .trusted = ""};
    Cache cache;
    cache_open(&cache, &ctx->arena, &config);
    for (uint32_t i = 0; i < count && i < MOST_KEPT; i++) {
        TuneEntry found = entries[i];
        found.record = (TuneRecord){.ms = 0};
        if (!tune_remember(&cache, &ctx->arena, &entries[i]))
            FUZZ_CHECK(tune_recall(&cache, &ctx->arena, &found) && same_entry(&found, &entries[i]));
    }
    cache_close(&cache);
}

static void check_accepted(Ctx *ctx, const TuneEntry *entries, uint32_t count) {
    const Str text = exchange_write(&ctx->arena, entries, count);
    TuneEntry *again;
    uint32_t again_count;
    FUZZ_CHECK(exchange_read(ctx, source_add(&ctx->sources, STR("again.json"), text), &again,
                             &again_count));
    FUZZ_CHECK(again_count == count);
    for (uint32_t i = 0; i < count; i++)
        FUZZ_CHECK(same_entry(&entries[i], &again[i]));
    check_kept(ctx, entries, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    const uint32_t file =
        source_add(&ctx->sources, STR("folder/fuzz.json"), (Str){(const char *)data, size});
    TuneEntry *entries;
    uint32_t count;
    if (exchange_read(ctx, file, &entries, &count)) {
        FUZZ_CHECK(!ctx->diags.errors);
        check_accepted(ctx, entries, count);
    } else {
        FUZZ_CHECK(ctx->diags.errors > 0);
        for (const Diagnostic *d = ctx->diags.first; d; d = d->next)
            FUZZ_CHECK(d->span.file && d->span.lo <= d->span.hi && d->span.hi <= size + 1);
    }
    ctx_destroy(ctx);
    return 0;
}
