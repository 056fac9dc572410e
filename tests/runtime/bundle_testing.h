/* Bundles of kernels that are compiled here, for tests. */
#ifndef TILEC_TESTS_BUNDLE_TESTING_H
#define TILEC_TESTS_BUNDLE_TESTING_H
#include "api_testing.h"
#include "runtime/api/api.h"
#include "runtime/launch/variants.h"

enum { MAX_VARIANTS = 8 };

/* Kernels that are compiled here, and the bundle of them. */
typedef struct Making {
    tile_kernel *kernels[MAX_VARIANTS];
    Variant variants[MAX_VARIANTS];
    uint32_t count;
} Making;

static inline void compile_variant(Fixture *f, Making *making,
                                   const tile_compile_options *options) {
    tile_diagnostics *said = NULL;
    tile_kernel **kernel = &making->kernels[making->count];
    if (tile_compile(f->context, options, kernel, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    tile_diagnostics_destroy(said);
    making->variants[making->count++] =
        (Variant){.facts = (*kernel)->facts,
                  .path = text_str(options->path),
                  .ptx = (*kernel)->outputs[TILE_OUTPUT_PTX],
                  .num_warps = options->num_warps,
                  .forms = (options->no_tensor_copies ? FORM_PLAIN : 0u) |
                           (options->in_place ? FORM_IN_PLACE : 0u)};
}

static inline void add_scale(Fixture *f, Making *making, const char *signature, const char *target,
                             int num_warps) {
    tile_compile_options options = scale_options();
    options.signature = text(signature);
    options.target = text(target);
    options.num_warps = num_warps;
    compile_variant(f, making, &options);
}

/* The bytes, in an arena of their own; the kernels are gone. */
static inline Str finish(Ctx *ctx, Making *making) {
    StrBuf out = strbuf(&ctx->arena);
    bundle_write(making->variants, making->count, &out);
    for (uint32_t i = 0; i < making->count; i++)
        tile_kernel_destroy(making->kernels[i]);
    return strbuf_str(&out);
}

static inline Str scale_bundle(Fixture *f, Ctx *ctx) {
    Making making = {0};
    add_scale(f, &making, "*fp32, i32, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32:16, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32:=256, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32:1, fp32, 256", "sm_90a", 0);
    add_scale(f, &making, "*fp32:16, i32:16, fp32, 512", "sm_90a", 8);
    add_scale(f, &making, "*fp32:16, i32:16, fp32, 256", "sm_80", 0);
    return finish(ctx, &making);
}

static inline tile_status open_bytes(Fixture *f, Str bytes, tile_bundle **bundle,
                                     tile_diagnostics **said) {
    const tile_bundle_options options = {.size = sizeof options,
                                         .path = text("scale.bundle"),
                                         .data = bytes.ptr,
                                         .data_size = bytes.len};
    return tile_bundle_open(f->context, &options, bundle, said);
}

static inline tile_bundle *open_good(Fixture *f, Str bytes) {
    tile_bundle *bundle = NULL;
    tile_diagnostics *said = NULL;
    if (open_bytes(f, bytes, &bundle, &said) != TILE_OK)
        fail_msg("%s", tile_diagnostics_text(said).data);
    return bundle;
}
#endif
