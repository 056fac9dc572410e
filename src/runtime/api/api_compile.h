/* What the files of the public API share that compile. */
#ifndef TILEC_RUNTIME_API_API_COMPILE_H
#define TILEC_RUNTIME_API_API_COMPILE_H
#include "runtime/api/api.h"
#include "runtime/compile/compile.h"

/* Fills a request from options, whose cancellation is the call's from here on; texts are copied
 * into the call's arena. False for arguments that are not valid. */
bool request_from_options(Call *call, tile_context *context, const tile_compile_options *options,
                          CompileRequest *request);
/* The units of options, copied; none where they name a source. False after a report. */
bool units_from_options(Ctx *ctx, const tile_compile_options *options, GivenUnits *units);
/* Who evaluates for them. */
Evaluator evaluator_from_options(Arena *arena, const tile_compile_options *options);
/* The reverse of units, copied again. */
const tile_unit *units_keep(Arena *arena, const GivenUnits *units);
/* What was compiled as a kernel of the context, with copies. TILE_OK or TILE_ERROR_OUT_OF_MEMORY.
 */
tile_status kernel_of_compiled(const tile_context *context, const Compiled *compiled,
                               tile_kernel **kernel);
/* compile_kernel, counted, told to the context's watch at the end of the call, and recorded. */
bool call_compile(Call *call, const CompileRequest *request, Compiled *compiled);
#endif
