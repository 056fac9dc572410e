/* What is known of a compiled kernel besides its code, as text for cache entries and as JSON for
 * users. */
#ifndef TILEC_RUNTIME_COMPILE_META_H
#define TILEC_RUNTIME_COMPILE_META_H
#include "runtime/compile/compile.h"

/* One fact a line: "num_warps 4", "param 16 0 0 x_ptr *fp32", "tensor_map f16 swizzle 128 ..". */
void meta_write(const Compiled *compiled, StrBuf *out);
/* Reads what meta_write wrote; false when the text is not that. */
bool meta_read(Arena *arena, Str text, Compiled *compiled);
/* Members of a JSON object: kernel, target, num_warps, .., resources: {..} or null, params: [..],
 * tensor_maps: [..].
 */
void meta_json(const Compiled *compiled, StrBuf *out);
#endif
