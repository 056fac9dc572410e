/* Any bytes as what stands behind a bundle's header, with checksums that fit: the first two are the
 * length of the index. Beyond not crashing: what is refused has a message, what is accepted lies
 * inside of the bytes, and is written as a bundle that reads as the same. */
#include "fuzz.h"
#include "runtime/launch/bundle.h"
#include "support/ctx.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEADER = 128, FIRST = 2 };

static void put(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* The bytes as a bundle of one variant. */
static Str sign(Ctx *ctx, const uint8_t *data, size_t size) {
    const size_t content = size - FIRST, index = (size_t)(data[0] << 8 | data[1]) % (content + 1);
    unsigned char *room = arena_alloc(&ctx->arena, HEADER + content + BUNDLE_ALIGNMENT);
    unsigned char *bytes = room + -(uintptr_t)room % BUNDLE_ALIGNMENT;
    memcpy(bytes, "TILEBNDL", 8);
    memcpy(bytes + HEADER, data + FIRST, content);
    put(bytes + 8, BUNDLE_VERSION, 4);
    put(bytes + 12, 1, 4);
    put(bytes + 16, HEADER + content, 8);
    put(bytes + 24, index, 8);
    XXH128_canonicalFromHash((XXH128_canonical_t *)(bytes + 32),
                             XXH3_128bits(bytes + HEADER, content));
    put(bytes + 120, XXH3_64bits(bytes, 120), 8);
    return (Str){(const char *)bytes, HEADER + content};
}

static bool inside(Str bytes, Str code) {
    return !code.len || (code.ptr >= bytes.ptr && code.len <= bytes.len &&
                         (size_t)(code.ptr - bytes.ptr) <= bytes.len - code.len);
}

static void check(Ctx *ctx, const uint8_t *data, size_t size) {
    const Str bytes = sign(ctx, data, size);
    Bundle bundle, again;
    if (!bundle_read(&ctx->arena, &ctx->diags, "fuzz", bytes, &bundle)) {
        FUZZ_CHECK(ctx->diags.errors > 0);
        return;
    }
    FUZZ_CHECK(bundle.count == 1 && inside(bytes, bundle.variants->cubin) &&
               inside(bytes, bundle.variants->ptx));
    StrBuf written = strbuf(&ctx->arena), second = strbuf(&ctx->arena);
    bundle_write(bundle.variants, bundle.count, &written);
    FUZZ_CHECK(bundle_read(&ctx->arena, &ctx->diags, "again", strbuf_str(&written), &again));
    FUZZ_CHECK(str_eq(again.variants->cubin, bundle.variants->cubin) &&
               str_eq(again.variants->ptx, bundle.variants->ptx));
    bundle_write(again.variants, again.count, &second);
    FUZZ_CHECK(str_eq(strbuf_str(&written), strbuf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < FIRST)
        return 0;
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    check(ctx, data, size);
    ctx_destroy(ctx);
    return 0;
}
