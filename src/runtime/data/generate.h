/* Arrays made from a description, for kernels that need some data:
 *
 *     generator = name [ "(" [ value { "," value } ] [ [","] "seed" "=" integer ] ")" ] ":" type
 * "[" sizes "]" randn:fp32[4096, 1024]    full(3.5):fp16[2, 2]    randint(0, 100, seed=7):i32[1000]
 * arange:i32[10]
 *
 * generators.def has the names, frontend/elems.def the types. Random values come from the Philox
 * 4x32-10 generator: element i depends on the seed (0 if not given), the caller's stream and i
 * alone, so that arrays are the same on every machine, up to the last place of the C library's
 * logarithm and cosine for randn. */
#ifndef TILEC_RUNTIME_DATA_GENERATE_H
#define TILEC_RUNTIME_DATA_GENERATE_H
#include "runtime/data/host_array.h"

/* Whether a text is meant as a generator rather than a path: a generator's name, then ':' or '('.
 */
bool generate_is_generator(Str text);

/* Makes the array in the context's arena. `text` is the part of source `file` at `offset`, for
 * errors. The stream keeps the random arrays of one command apart: the argument's number, say.
 * False after a report. */
bool generate_array(Ctx *ctx, uint32_t file, uint32_t offset, Str text, uint32_t stream,
                    HostArray *array);

/* The same of an array that may be larger than what the host is to hold: `array` has type and shape
 * and no data, `part` is one-dimensional and what the array's memory begins with: all of it, or
 * `most` elements, by whose repetition benchmarks fill the rest; 0: none. Where the place of an
 * element is what matters (arange), it is always all. */
bool generate_part(Ctx *ctx, uint32_t file, uint32_t offset, Str text, uint32_t stream, size_t most,
                   HostArray *array, HostArray *part);

/* Four random words for a 128-bit counter and a 64-bit key: Philox 4x32-10 of Salmon et al.,
 * "Parallel Random Numbers: As Easy as 1, 2, 3". */
void philox_4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
#endif
