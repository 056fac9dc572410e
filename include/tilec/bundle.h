/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bundles: kernels compiled ahead of time, all in one file; docs/ahead-of-time.md.
 *
 * What is declared here can be done without a compiler: libtilec-run has the functions of
 * tilec.h but those that compile, make functions of sources, list what is in sources, cancel,
 * and pack kernels, and links nothing but the C library; of a context's options it uses
 * cuda_library and memory_limit. */
#ifndef TILEC_BUNDLE_H
#define TILEC_BUNDLE_H
#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_bundle_options {
    size_t size;
    tile_text path;   /* the file; with `data` given, only its name in messages */
    const void *data; /* NULL: `path` is read */
    size_t data_size; /* `data` must stay, unchanged, until the bundle is closed; it is copied
                         unless it begins at a multiple of 64 */
    tile_text sha256; /* 64 hexadecimal digits of the content that is wanted; empty: any */
} tile_bundle_options;

typedef struct tile_bundle_info {
    size_t size;
    size_t variant_count;
    tile_text sha256; /* of the content, as its writer signed it */
} tile_bundle_info;

/* One way in which a kernel was compiled. */
typedef struct tile_variant_info {
    size_t size;
    tile_text path;                          /* of the source, as it was named */
    int32_t num_warps, num_stages, num_ctas; /* asked for; 0: chosen by the compiler */
    bool is_other_form; /* without tensor copies, for arguments that tensor maps cannot hold */
    bool is_in_place;   /* for calls that give one array as two arguments */
} tile_variant_info;

/* Opens and checks a bundle: TILE_ERROR_FILE if it cannot be read, TILE_ERROR_BUNDLE with a
 * diagnostic if it is damaged, of another version, or not the one with this SHA-256. Nothing is
 * loaded on a device. */
TILE_API tile_status tile_bundle_open(tile_context *context, const tile_bundle_options *options,
                                      tile_bundle **bundle, tile_diagnostics **diagnostics);
/* After the functions that were made from it, and before its context. */
TILE_API void tile_bundle_close(tile_bundle *bundle);
TILE_API tile_status tile_bundle_get_info(const tile_bundle *bundle, tile_bundle_info *info);
/* Variant `index`, from 0, in the order of the bundle: its kernel, which belongs to the bundle and
 * which tile_kernel_get_info, _get_param, _get_output and tile_load take as one that was compiled;
 * `info` may be NULL. */
TILE_API tile_status tile_bundle_get_variant(const tile_bundle *bundle, size_t index,
                                             const tile_kernel **kernel, tile_variant_info *info);

/* A function as tile_function_create makes it, whose instances are variants of the bundle: nothing
 * is ever compiled, and tile_function_launch gives TILE_ERROR_NO_VARIANT, with a diagnostic that
 * names the argument and what is there, where none fits the call.
 *
 * Of `options` the kernel counts (empty: the bundle's only one), the path, as the source was named
 * (empty: any), the constexprs, which hold for every call, num_warps, num_stages and num_ctas (0:
 * any), plain_abi, no_tensor_copies and in_place, which want variants that are so; with anything
 * else set it is TILE_ERROR_INVALID_ARGUMENT.
 *
 * A variant fits that runs on the device, has the call's types and constexprs, and promises nothing
 * that the arguments do not keep; of several the device's own code counts, before code of an
 * earlier chip and PTX, then what promises most (an integer's value most, then multiples of 16,
 * then of 8), then the first in the bundle. Arguments that tensor maps cannot hold get a variant
 * without tensor copies. */
TILE_API tile_status tile_bundle_function(tile_bundle *bundle, const tile_compile_options *options,
                                          tile_function **function, tile_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif
#endif
