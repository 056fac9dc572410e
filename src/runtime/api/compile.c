/* Public API: compilation and what is known of a kernel. */
#include "runtime/api/api.h"

#include <stdlib.h>

#define OUTPUT_PAIR(ours, theirs)                                                                  \
    _Static_assert((int)OUTPUT_##ours == (int)TILE_OUTPUT_##theirs, "the API lists outputs.def")
OUTPUT_PAIR(ast, AST);
OUTPUT_PAIR(tir, TIR);
OUTPUT_PAIR(tir_final, TIR_FINAL);
OUTPUT_PAIR(ll_before, LL_BEFORE);
OUTPUT_PAIR(ll, LL);
OUTPUT_PAIR(ptx, PTX);
OUTPUT_PAIR(cubin, CUBIN);
OUTPUT_PAIR(sass, SASS);
OUTPUT_PAIR(meta, META);
_Static_assert(OUTPUT_COUNT == TILE_OUTPUT_META + 1, "the API lists outputs.def");

enum { DEFAULT_CAPABILITY = 90 };

static const NamedText *copy_named(Arena *arena, const tile_named *named, size_t count) {
    NamedText *copy = ARENA_ARRAY(arena, NamedText, count + 1);
    for (size_t i = 0; i < count; i++) {
        Str name = text_str(named[i].name), value = text_str(named[i].value);
        copy[i] = (NamedText){{str_dup(arena, name), name.len}, {str_dup(arena, value), value.len}};
    }
    return copy;
}

static const Target *choose_target(Call *call, const tile_compile_options *options) {
    Str name = text_str(options->target);
    if (!name.len)
        return options->device && options->device->device.target
                   ? options->device->device.target
                   : target_by_capability(DEFAULT_CAPABILITY);
    const Target *target = target_by_name(name);
    if (target)
        return target;
    StrBuf known = strbuf(&call->ctx->arena);
    for (int i = 0; i < target_count; i++)
        strbuf_printf(&known, "%s%s", i ? ", " : "", target_table[i].name);
    ctx_diag(call->ctx, (Span){0}, target_unknown, STR_ARG(name), known.ptr);
    return NULL;
}

static bool is_list(const void *items, size_t count) {
    return count <= UINT32_MAX && (items || !count);
}

static const Str *copy_texts(Arena *arena, const tile_text *texts, size_t count) {
    Str *copies = ARENA_ARRAY(arena, Str, count + 1);
    for (size_t i = 0; i < count; i++)
        copies[i] = text_str(texts[i]);
    return copies;
}

tile_status tile_cancellation_create(tile_cancellation **cancellation) {
    if (!cancellation)
        return TILE_ERROR_INVALID_ARGUMENT;
    tile_cancellation *made = malloc(sizeof *made);
    if (!made)
        return TILE_ERROR_OUT_OF_MEMORY;
    cancel_open(&made->cancel);
    *cancellation = made;
    return TILE_OK;
}

void tile_cancellation_request(tile_cancellation *cancellation) {
    if (cancellation)
        cancel_request(&cancellation->cancel);
}

bool tile_cancellation_is_requested(const tile_cancellation *cancellation) {
    return cancellation && cancel_is_requested(&cancellation->cancel);
}

void tile_cancellation_destroy(tile_cancellation *cancellation) {
    if (!cancellation)
        return;
    cancel_close(&cancellation->cancel);
    free(cancellation);
}

bool request_from_options(Call *call, tile_context *context, const tile_compile_options *options,
                          CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    ctx_cancel_with(call->ctx, options->cancellation ? &options->cancellation->cancel : NULL);
    const char *path = text_dup(arena, options->path);
    if ((!path && !options->source.data) || !is_list(options->types, options->type_count) ||
        !is_list(options->constexprs, options->constexpr_count) ||
        !is_list(options->search_paths, options->search_path_count) ||
        !is_list(options->warnings, options->warning_count))
        return false;
    *request = (CompileRequest){
        .path = path ? path : "<source>",
        .text = {options->source.data, options->source.size},
        .kernel = {.kernel = text_str(options->kernel),
                   .signature = text_str(options->signature),
                   .types = copy_named(arena, options->types, options->type_count),
                   .type_count = (uint32_t)options->type_count,
                   .defines = copy_named(arena, options->constexprs, options->constexpr_count),
                   .define_count = (uint32_t)options->constexpr_count,
                   .search_paths =
                       copy_texts(arena, options->search_paths, options->search_path_count),
                   .search_path_count = (uint32_t)options->search_path_count,
                   .num_warps = options->num_warps,
                   .num_stages = options->num_stages,
                   .num_ctas = options->num_ctas,
                   .debug = options->debug},
        .warnings = copy_texts(arena, options->warnings, options->warning_count),
        .warning_count = (uint32_t)options->warning_count,
        .max_registers = options->max_registers,
        .max_shared = options->max_shared,
        .want = OUTPUT_BIT(ptx) |
                (options->want ? options->want & ((1u << OUTPUT_COUNT) - 1) : OUTPUT_BIT(cubin)),
        .dump_folder = text_dup(arena, options->dump_folder),
        .line_info = !options->no_line_info,
        .no_tensor_copies = options->no_tensor_copies,
        .no_persistence = options->no_persistence,
        .plain_abi = options->plain_abi,
        .time_limit_ms = context->time_limit_ms,
        .memory_limit = context->memory_limit,
        .isolated = options->isolated,
        .worker = context->worker,
        .ptxas = context->ptxas,
        .cuda_library = context->cuda_library,
        .device = options->device ? &options->device->device : NULL,
        .cache = options->no_cache ? NULL : &context->cache,
        .target = choose_target(call, options),
    };
#ifdef TILEC_CHECKED
    request->check_passes = true;
#endif
    return true;
}

static Str str_copy(Arena *arena, Str text) {
    return text.len ? (Str){str_dup(arena, text), text.len} : STR("");
}

tile_status kernel_create(const Compiled *compiled, tile_kernel **kernel) {
    jmp_buf oom;
    Arena arena = {.oom = &oom};
    if (setjmp(oom)) {
        arena_free(&arena);
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    tile_kernel *made = ARENA_NEW(&arena, tile_kernel);
    made->compiled = (Compiled){.param_count = compiled->param_count,
                                .meta = compiled->meta,
                                .resources = compiled->resources,
                                .from_cache = compiled->from_cache,
                                .total_ms = compiled->total_ms};
    made->compiled.meta.name = str_copy(&arena, compiled->meta.name);
    made->compiled.meta.tensor_maps = recipes_copy(&arena, &compiled->meta.tensor_maps);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        made->compiled.outputs[i] = str_copy(&arena, compiled->outputs[i]);
    made->compiled.params = ARENA_ARRAY(&arena, KernelParam, compiled->param_count + 1);
    for (uint32_t i = 0; i < compiled->param_count; i++) {
        made->compiled.params[i] = compiled->params[i];
        made->compiled.params[i].name = str_copy(&arena, compiled->params[i].name);
        made->compiled.params[i].text = str_copy(&arena, compiled->params[i].text);
    }
    made->arena = arena;
    made->arena.oom = NULL;
    *kernel = made;
    return TILE_OK;
}

tile_status tile_compile(tile_context *context, const tile_compile_options *given,
                         tile_kernel **kernel, tile_diagnostics **diagnostics) {
    tile_compile_options options;
    if (!context || !kernel || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    CompileRequest request;
    Compiled compiled;
    if (!request_from_options(call, context, &options, &request))
        return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
    tile_status status = TILE_OK;
    if (request.target && compile_kernel(call->ctx, &request, &compiled))
        status = kernel_create(&compiled, kernel);
    return call_end(call, status);
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
    const Compiled *c = &kernel->compiled;
    const tile_kernel_info known = {
        .name = text_of(c->meta.name),
        .target = text_of(str_from(c->meta.target->name)),
        .num_warps = c->meta.num_warps,
        .programs_per_cta = c->meta.programs_per_cta,
        .num_ctas = c->meta.num_ctas,
        .threads = c->meta.threads,
        .shared_bytes = c->meta.shared_bytes,
        .has_grid_parameter = c->meta.has_grid_parameter,
        .assembled = c->resources.known,
        .registers = c->resources.registers,
        .stack_bytes = c->resources.stack_bytes,
        .spill_store_bytes = c->resources.spill_stores,
        .spill_load_bytes = c->resources.spill_loads,
        .static_shared_bytes = c->resources.static_shared,
        .blocks_per_sm = c->resources.blocks_per_sm,
        .occupancy = c->resources.occupancy,
        .from_cache = c->from_cache,
        .compile_ms = c->total_ms,
        .param_count = c->param_count,
        .tensor_map_count = c->meta.tensor_maps.len,
        .is_persistent = c->meta.is_persistent,
        .plain_abi = c->meta.plain_abi,
    };
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status tile_kernel_get_param(const tile_kernel *kernel, size_t index, tile_param_info *info) {
    if (!kernel || !info || index >= kernel->compiled.param_count)
        return TILE_ERROR_INVALID_ARGUMENT;
    const KernelParam *param = &kernel->compiled.params[index];
    const tile_param_info known = {.name = text_of(param->name),
                                   .type = text_of(param->text),
                                   .is_constexpr = param->is_constexpr,
                                   .is_fixed = param->is_fixed,
                                   .fixed = param->fixed,
                                   .divisible = param->divisible};
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_text tile_kernel_get_output(const tile_kernel *kernel, tile_output output) {
    if (!kernel || (unsigned)output >= OUTPUT_COUNT)
        return text_of(STR(""));
    return text_of(kernel->compiled.outputs[output]);
}

bool check_target(Diags *diags, const Compiled *compiled, const Device *device) {
    if (device->target == compiled->meta.target)
        return true;
    return diag(diags, (Span){0}, device_other_target, STR_ARG(compiled->meta.name),
                compiled->meta.target->name, device->name, device->major, device->minor);
}
