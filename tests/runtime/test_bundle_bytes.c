/* Bundles as bytes: where they are read from, damage of any of them, forgery. */
#include "bundle_testing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEADER = 128 };

/* The same bytes twice; from a file and from memory at any address. */
static void reads_from_anywhere(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    const Str bytes = scale_bundle(f, ctx), again = scale_bundle(f, ctx);
    assert_int_equal(bytes.len, again.len);
    assert_memory_equal(bytes.ptr, again.ptr, bytes.len);
    char *moved = malloc(bytes.len + 3), path[96];
    memcpy(moved + 3, bytes.ptr, bytes.len);
    tile_bundle_close(open_good(f, (Str){moved + 3, bytes.len}));
    free(moved);
    snprintf(path, sizeof path, "%s/scale.bundle", f->folder);
    const tile_bundle_options options = {.size = sizeof options, .path = text(path)};
    tile_bundle *bundle = NULL;
    assert_int_equal(tile_bundle_open(f->context, &options, &bundle, NULL), TILE_ERROR_FILE);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
    fclose(file);
    assert_int_equal(tile_bundle_open(f->context, &options, &bundle, NULL), TILE_OK);
    tile_bundle_close(bundle);
    ctx_destroy(ctx);
}

static void refused(Fixture *f, Str bytes, const char *why) {
    tile_bundle *bundle = NULL;
    tile_diagnostics *said = NULL;
    assert_int_equal(open_bytes(f, bytes, &bundle, &said), TILE_ERROR_BUNDLE);
    if (!strstr(tile_diagnostics_text(said).data, why))
        fail_msg("%s, not %s", tile_diagnostics_text(said).data, why);
    tile_diagnostics_destroy(said);
}

static void finds_damage_anywhere(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    add_scale(f, &making, "*fp32, i32, fp32, 256", "sm_90a", 0);
    const Str bytes = finish(ctx, &making);
    char *copy = aligned_alloc(BUNDLE_ALIGNMENT, (bytes.len + 127) / 64 * 64);
    memcpy(copy, bytes.ptr, bytes.len);
    copy[bytes.len] = 0;
    for (size_t i = 0; i < bytes.len; i += i < HEADER + 600 ? 1 : 97) {
        copy[i] ^= 0x10;
        refused(f, (Str){copy, bytes.len},
                i < 8        ? "does not begin"
                : i < 12     ? "of version"
                : i < HEADER ? "header is damaged"
                             : "content is damaged");
        copy[i] ^= 0x10;
    }
    for (size_t len = 0; len < bytes.len; len += len < HEADER + 10 ? 1 : 311)
        refused(f, (Str){copy, len}, len < HEADER ? "does not begin" : "bytes, and says");
    refused(f, (Str){copy, bytes.len + 1}, "bytes, and says");
    free(copy);
    ctx_destroy(ctx);
}

/* Checksums as they must be, whatever was changed. */
static void sign(char *bytes, size_t len) {
    XXH128_canonicalFromHash((XXH128_canonical_t *)(bytes + 32),
                             XXH3_128bits(bytes + HEADER, len - HEADER));
    const uint64_t hash = XXH3_64bits(bytes, 120);
    for (int i = 0; i < 8; i++)
        bytes[120 + i] = (char)(hash >> 8 * i);
}

/* Somebody else's bundle, whose checksums fit: it may be refused or not, but nothing is read that
 * lies outside of it. */
static void survives_forgery(void **state) {
    Fixture *f = *state;
    Ctx *ctx = ctx_create();
    Making making = {0};
    add_scale(f, &making, "*fp32, i32, fp32, 256", "sm_90a", 0);
    const Str bytes = finish(ctx, &making);
    char *copy = aligned_alloc(BUNDLE_ALIGNMENT, (bytes.len + 63) / 64 * 64);
    memcpy(copy, bytes.ptr, bytes.len);
    static const char others[] = "0 9\n-~";
    unsigned was_refused = 0;
    for (size_t i = 8; i < HEADER + 500; i += i < HEADER ? 1 : 2) {
        if (i >= 32 && i < HEADER)
            continue;
        for (size_t j = 0; j < sizeof others; j++) {
            const char kept = copy[i];
            copy[i] = others[j];
            sign(copy, bytes.len);
            tile_bundle *bundle = NULL;
            was_refused += open_bytes(f, (Str){copy, bytes.len}, &bundle, NULL) != TILE_OK;
            for (size_t k = 0; bundle && k < 2; k++) {
                const tile_kernel *kernel;
                if (tile_bundle_get_variant(bundle, k, &kernel, NULL) == TILE_OK)
                    assert_true(strlen(tile_kernel_get_output(kernel, TILE_OUTPUT_PTX).data) <=
                                bytes.len);
            }
            tile_bundle_close(bundle);
            copy[i] = kept;
        }
    }
    assert_true(was_refused > 250);
    free(copy);
    ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(reads_from_anywhere),
        TEST(finds_damage_anywhere),
        TEST(survives_forgery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
