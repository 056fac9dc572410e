/* What is known of a compiled kernel besides its code: for launchers, as text for files that they
 * read, and as JSON for users. */
#ifndef TILEC_RUNTIME_LAUNCH_FACTS_H
#define TILEC_RUNTIME_LAUNCH_FACTS_H
#include "runtime/launch/launch.h"
#include "runtime/tools/resources.h"

typedef struct KernelFacts {
    KernelMeta meta;
    KernelParam *params; /* every parameter of the source, in order */
    uint32_t param_count;
    Resources resources;
} KernelFacts;

/* One fact a line: "num_warps 4", "param 16 0 0 x_ptr *fp32", "tensor_map f16 swizzle 128 ..". */
void facts_write(const KernelFacts *facts, StrBuf *out);
/* Reads what facts_write wrote; false when the text is not that. */
bool facts_read(Arena *arena, Str text, KernelFacts *facts);
/* Members of a JSON object: kernel, target, num_warps, .., resources: {..} or null, params: [..],
 * tensor_maps: [..], apart: [[loaded, stored], ..]. */
void facts_json(const KernelFacts *facts, StrBuf *out);
/* The parameter whose value is the `number`th that is passed. */
const KernelParam *facts_passed(const KernelFacts *facts, uint32_t number);
/* A copy that shares nothing with the original. */
KernelFacts facts_copy(Arena *arena, const KernelFacts *facts);
/* Which code a device of the driver loads (NULL: of any): the cubin where there is one, but PTX
 * where that is what it runs. */
Str facts_code(const Driver *driver, Str cubin, Str ptx);
/* What a device loads, with `code` for it; the list of names is the arena's. */
KernelImage facts_image(Arena *arena, const KernelFacts *facts, Str code);
#endif
