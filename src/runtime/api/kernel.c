/* Public API: what is known of a kernel. */
#include "runtime/api/api.h"

tile_status kernel_create(const tile_context *context, const tile_kernel *found,
                          tile_kernel **kernel) {
    jmp_buf oom;
    Arena arena = {.oom = &oom, .allocator = context->arena.allocator};
    if (setjmp(oom)) {
        arena_free(&arena);
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    tile_kernel *made = ARENA_NEW(&arena, tile_kernel);
    *made = *found;
    made->facts = facts_copy(&arena, &found->facts);
    for (int i = 0; i < API_OUTPUT_COUNT; i++)
        made->outputs[i] = str_keep(&arena, found->outputs[i]);
    made->arena = arena;
    made->arena.oom = NULL;
    *kernel = made;
    return TILE_OK;
}

KernelImage kernel_image(Arena *arena, const tile_kernel *kernel, const Driver *driver) {
    return facts_image(
        arena, &kernel->facts,
        facts_code(driver, kernel->outputs[TILE_OUTPUT_CUBIN], kernel->outputs[TILE_OUTPUT_PTX]));
}

void tile_kernel_destroy(tile_kernel *kernel) {
    if (!kernel)
        return;
    Arena arena = kernel->arena;
    arena_free(&arena);
}

tile_status tile_kernel_get_info(const tile_kernel *kernel, tile_kernel_info *info) {
    if (!kernel || !info)
        return TILE_ERROR_INVALID_ARGUMENT;
    const KernelFacts *facts = &kernel->facts;
    const tile_kernel_info known = {
        .name = text_of(facts->meta.name),
        .target = text_of(str_from(facts->meta.target->name)),
        .num_warps = facts->meta.num_warps,
        .programs_per_cta = facts->meta.programs_per_cta,
        .num_ctas = facts->meta.num_ctas,
        .threads = facts->meta.threads,
        .shared_bytes = facts->meta.shared_bytes,
        .has_grid_parameter = facts->meta.has_grid_parameter,
        .assembled = facts->resources.known,
        .registers = facts->resources.registers,
        .stack_bytes = facts->resources.stack_bytes,
        .spill_store_bytes = facts->resources.spill_stores,
        .spill_load_bytes = facts->resources.spill_loads,
        .static_shared_bytes = facts->resources.static_shared,
        .blocks_per_sm = facts->resources.blocks_per_sm,
        .occupancy = facts->resources.occupancy,
        .from_cache = kernel->from_cache,
        .compile_ms = kernel->compile_ms,
        .param_count = facts->param_count,
        .tensor_map_count = facts->meta.tensor_maps.len,
        .is_persistent = facts->meta.is_persistent,
        .plain_abi = facts->meta.plain_abi,
        .apart_count = facts->meta.apart.len,
    };
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status tile_kernel_get_param(const tile_kernel *kernel, size_t index, tile_param_info *info) {
    if (!kernel || !info || index >= kernel->facts.param_count)
        return TILE_ERROR_INVALID_ARGUMENT;
    const KernelParam *param = &kernel->facts.params[index];
    const tile_param_info known = {.name = text_of(param->name),
                                   .type = text_of(param->text),
                                   .is_constexpr = param->is_constexpr,
                                   .is_fixed = param->is_fixed,
                                   .fixed = param->fixed,
                                   .divisible = param->divisible,
                                   .is_written = !param->is_constexpr && param->text.len &&
                                                 param->text.ptr[0] == '*' && !param->is_only_read};
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_text tile_kernel_get_output(const tile_kernel *kernel, tile_output output) {
    if (!kernel || (unsigned)output >= API_OUTPUT_COUNT)
        return text_of(STR(""));
    return text_of(kernel->outputs[output]);
}
