/* Public API: compilation. */
#include "runtime/api/api_compile.h"
#include "runtime/compile/build_info.h"
#include "runtime/driver/choose_target.h"

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

const char *tile_build_id(void) {
    return build_id;
}

static const NamedText *copy_named(Arena *arena, const tile_named *named, size_t count) {
    NamedText *copy = ARENA_ARRAY(arena, NamedText, count + 1);
    for (size_t i = 0; i < count; i++) {
        Str name = text_str(named[i].name), value = text_str(named[i].value);
        copy[i] = (NamedText){{str_dup(arena, name), name.len}, {str_dup(arena, value), value.len}};
    }
    return copy;
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

static bool open_cache(tile_context *context, Diags *diags) {
    cache_open(&context->cache, &context->arena, &context->cache_config);
    context->close_cache = cache_close;
    return true;
}

typedef struct FileReader {
    tile_read_file read;
    void *user;
} FileReader;

static bool read_by_callback(void *user, Str path, Str *text) {
    const FileReader *reader = user;
    tile_text source = {0};
    if (!reader->read(reader->user, text_of(path), &source))
        return false;
    *text = text_str(source);
    return true;
}

bool request_from_options(Call *call, tile_context *context, const tile_compile_options *options,
                          CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    ctx_cancel_with(call->ctx, options->cancellation ? &options->cancellation->cancel : NULL);
    context_once(context, &call->ctx->diags, &context->has_cache, open_cache);
    GivenUnits units;
    if (!units_from_options(call->ctx, options, &units))
        return false;
    const Str unit_path = units.count ? units.list[0].path : STR("");
    const char *path = text_dup(arena, units.count ? text_of(unit_path) : options->path);
    if ((!path && !options->source.data) || !is_list(options->types, options->type_count) ||
        !is_list(options->constexprs, options->constexpr_count) ||
        !is_list(options->search_paths, options->search_path_count) ||
        !is_list(options->warnings, options->warning_count) ||
        !is_list(options->files, options->file_count))
        return false;
    FileReader *reader = ARENA_NEW(arena, FileReader);
    *reader = (FileReader){options->read_file, options->read_user};
    *request = (CompileRequest){
        .path = path ? path : "<source>",
        .text =
            units.count ? units.list[0].text : (Str){options->source.data, options->source.size},
        .kernel = {.kernel = text_str(options->kernel),
                   .entry_name = text_str(options->entry_name),
                   .signature = text_str(options->signature),
                   .types = copy_named(arena, options->types, options->type_count),
                   .type_count = (uint32_t)options->type_count,
                   .defines = copy_named(arena, options->constexprs, options->constexpr_count),
                   .define_count = (uint32_t)options->constexpr_count,
                   .units = units,
                   .evaluator = evaluator_from_options(arena, options),
                   .search_paths =
                       copy_texts(arena, options->search_paths, options->search_path_count),
                   .search_path_count = (uint32_t)options->search_path_count,
                   .num_warps = options->num_warps,
                   .num_stages = options->num_stages,
                   .num_ctas = options->num_ctas,
                   .debug = options->debug,
                   .sanitize_overflow = options->sanitize_overflow,
                   .language = compile_asks_language(options->language)},
        .files = copy_named(arena, options->files, options->file_count),
        .file_count = (uint32_t)options->file_count,
        .reader = {options->read_file ? read_by_callback : NULL, reader},
        .warnings = copy_texts(arena, options->warnings, options->warning_count),
        .warning_count = (uint32_t)options->warning_count,
        .max_registers = options->max_registers,
        .max_shared = options->max_shared,
        .want = OUTPUT_BIT(ptx) |
                (options->want ? options->want & ((1u << OUTPUT_COUNT) - 1) : OUTPUT_BIT(cubin)),
        .dump_folder = text_dup(arena, options->dump_folder),
        .line_info = !options->no_line_info,
        .full_paths = options->full_paths,
        .no_tensor_copies = options->no_tensor_copies,
        .no_persistence = options->no_persistence,
        .in_place = options->in_place,
        .plain_abi = options->plain_abi,
        .no_fp_fusion = options->no_fp_fusion,
        .no_ftz = options->no_ftz,
        .deterministic = compile_asks_deterministic(options->deterministic),
        .time_limit_ms = context->time_limit_ms,
        .compile_limit_ms = context->compile_limit_ms,
        .memory_limit = context->memory_limit,
        .isolated = options->isolated && !context->strict,
        .is_strict = context->strict,
        .explains = call->diagnostics || context->log,
        .worker = context->worker,
        .ptxas = context->ptxas,
        .cuda_library = context->cuda_library,
        .device = options->device && !options->device->host_calls ? &options->device->device : NULL,
        .cache = options->no_cache ? NULL : &context->cache,
        .target =
            choose_target(&call->ctx->diags, text_str(options->target),
                          options->device ? &options->device->device : NULL, context->cuda_library),
    };
#ifdef TILEC_CHECKED
    request->check_passes = true;
#endif
    return true;
}

tile_status kernel_of_compiled(const tile_context *context, const Compiled *compiled,
                               tile_kernel **kernel) {
    tile_kernel found = {.facts = compiled->facts,
                         .from_cache = compiled->from_cache,
                         .compile_ms = compiled->total_ms};
    for (int i = 0; i < API_OUTPUT_COUNT; i++)
        found.outputs[i] = compiled->outputs[i];
    return kernel_create(context, &found, kernel);
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
    if (request.target && call_compile(call, &request, &compiled))
        status = kernel_of_compiled(context, &compiled, kernel);
    return call_end(call, status);
}
