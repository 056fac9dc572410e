/* Bundles: kernels compiled ahead of time, in one file that describes itself.
 *
 *     header     128 bytes: magic, version, number of variants, size of the file and of the index,
 * XXH3-128 and SHA-256 of all that follows, XXH3-64 of the header itself index      text. Of each
 * variant a line variant FACTS CUBIN SIZE PTX SIZE WARPS STAGES CTAS FORM PATH and as many bytes of
 * facts (facts.h) as its first number says. The others: where its code lies and how long it is, 0 0
 * for none; what was asked for of warps, stages and CTAs of a cluster, 0 for the compiler's choice;
 * the number of the forms (KernelForm) that stand beside one that is none of them, 0 for that one;
 * the source, as it was named payloads   cubins, and PTX with a zero behind it, each at a multiple
 * of 64 from the start; equal ones once
 *
 * Numbers of the header are little-endian. The same variants give the same bytes. */
#ifndef TILEC_RUNTIME_LAUNCH_BUNDLE_H
#define TILEC_RUNTIME_LAUNCH_BUNDLE_H
#include "runtime/launch/facts.h"
#include "support/sha256.h"

enum { BUNDLE_ALIGNMENT = 64, BUNDLE_VERSION = 1, BUNDLE_MAX_VARIANTS = 1 << 16 };

/* One way in which a kernel was compiled. */
typedef struct Variant {
    KernelFacts facts;
    Str path;                                /* of the source, as it was named */
    Str cubin, ptx;                          /* at least one; PTX has a zero behind it */
    int32_t num_warps, num_stages, num_ctas; /* asked for; 0: the compiler's choice */
    unsigned forms; /* KernelForm: what it is in the place of one beside it */
    Str grid;       /* the expression that a manifest says of it; bundles do not hold it */
} Variant;

typedef struct Bundle {
    const Variant *variants;
    uint32_t count;
    char sha256[SHA256_TEXT_SIZE];
} Bundle;

/* Reads what bundle_write wrote. Code stays in `data`, which begins at a multiple of
 * BUNDLE_ALIGNMENT; the rest is copied into the arena. False after a report that calls it `name`.
 */
bool bundle_read(Arena *arena, Diags *diags, const char *name, Str data, Bundle *bundle);
/* Its bytes are those that were signed, and `sha256` is their signature: 64 hexadecimal digits. */
bool bundle_is_signed(const Bundle *bundle, Str data, Str sha256);
void bundle_write(const Variant *variants, uint32_t count, StrBuf *out);
#endif
