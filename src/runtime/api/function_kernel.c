/* Public API: kernels of instances, for whoever reads what they were compiled to. */
#include "runtime/api/function_compile.h"

tile_status function_kernel(Call *call, const Asked *asked, unsigned forms, uint32_t want,
                            tile_kernel **kernel) {
    const CompiledFunction *function = (const CompiledFunction *)asked->function;
    Compiled *compiled = ARENA_NEW(&call->ctx->arena, Compiled);
    CompileRequest request;
    if (!function_request(call, function, asked, &function->derivation, &request))
        return TILE_OK;
    request_forms(&request, forms);
    if (asked->device->host_calls) { /* which assembles nothing */
        request.device = NULL;
        request.want = OUTPUT_BIT(ptx);
    }
    request.want |= want & ((1u << OUTPUT_COUNT) - 1);
    return call_compile(call, &request, compiled)
               ? kernel_of_compiled(asked->function->context, compiled, kernel)
               : TILE_OK;
}
