/* From options to a request: names and values apart, the target found. */
#include "cli/kernel_options.h"

#include "runtime/compile/stack.h"
#include "runtime/driver/choose_target.h"
#include "runtime/status.h"
#include "support/file.h"

#include <stdio.h>

bool cli_split_named(const char *text, const char *option, NamedText *named) {
    size_t len = strcspn(text, "=");
    if (len == 0 || text[len] != '=') {
        cli_usage_error("%s takes NAME=VALUE, not '%s'", option, text);
        return false;
    }
    while (len && text[len - 1] == ' ')
        len--;
    const char *value = strchr(text, '=') + 1;
    value += strspn(value, " ");
    *named = (NamedText){{text, len}, str_from(value)};
    return true;
}

static bool split_all(Ctx *ctx, const TextList *texts, const char *option, const NamedText **out) {
    NamedText *named = ARENA_ARRAY(&ctx->arena, NamedText, texts->len + 1);
    for (size_t i = 0; i < texts->len; i++)
        if (!cli_split_named(texts->data[i], option, &named[i]))
            return false;
    *out = named;
    return true;
}

/* A source of "-". Other files are read when they are compiled. */
static bool read_standard_input(Ctx *ctx, CompileRequest *request) {
    enum { SOURCE_LIMIT = 64 << 20 };
    if (strcmp(request->path, "-"))
        return true;
    request->path = "<stdin>";
    int error = file_read(&ctx->arena, cli_input("-"), SOURCE_LIMIT, &request->text);
    return !error || report_unreadable(&ctx->diags, request->path, error);
}

int cli_kernel_request(Ctx *ctx, const KernelOptions *options, const char *path,
                       const Device *device, Cache *cache, CompileRequest *request) {
    *request = (CompileRequest){
        .path = path,
        .max_registers = (int32_t)options->max_registers,
        .max_shared = (int32_t)options->max_shared,
        .line_info = !options->no_line_info,
        .full_paths = options->full_paths,
        .no_tensor_copies = options->no_tensor_copies,
        .no_persistence = options->no_persistence,
        .in_place = options->in_place,
        .plain_abi = options->plain_abi,
        .no_fp_fusion = options->no_fp_fusion,
        .no_ftz = options->no_ftz,
        .deterministic = compile_asks_deterministic(options->deterministic),
        .check_passes = options->check_passes,
        .llvm_level = (int32_t)options->llvm_level,
        .memory_limit = (size_t)options->memory_limit << 20,
        .isolated = options->isolated,
        .compile_limit_ms = 1000.0 * (double)options->compile_limit,
        .time_limit_ms = 1000.0 * (double)options->time_limit,
        .ptxas = options->ptxas,
        .cache = options->check_passes ? NULL : cache,
    };
#ifdef TILEC_CHECKED
    request->check_passes = true;
#endif
    stack_limit_memory(ctx, request->isolated ? 0 : request->memory_limit);
    if (!read_standard_input(ctx, request))
        return STATUS_INPUT;
    ElaborateRequest *kernel = &request->kernel;
    kernel->kernel = str_from(options->kernel ? options->kernel : "");
    kernel->entry_name = str_from(options->entry_name ? options->entry_name : "");
    kernel->signature = str_from(options->signature ? options->signature : "");
    kernel->num_warps = (int32_t)options->num_warps;
    kernel->num_stages = (int32_t)options->num_stages;
    kernel->num_ctas = (int32_t)options->num_ctas;
    kernel->debug = options->debug;
    const int32_t language = options->language ? frontend_language(str_from(options->language)) : 0;
    if (options->language && !language)
        return cli_usage_error("--language takes a version of Triton from 3.2 to 3.9, not '%s'",
                               options->language);
    kernel->language = compile_asks_language(language);
    if (kernel->language < 0)
        return cli_usage_error("TILEC_LANGUAGE takes a version of Triton from 3.2 to 3.9");
    kernel->sanitize_overflow = options->sanitize_overflow;
    if (kernel->num_warps & (kernel->num_warps - 1))
        return cli_usage_error("--num-warps takes a power of two, not %d", kernel->num_warps);
    if (!split_all(ctx, &options->arguments, "--arg", &kernel->types) ||
        !split_all(ctx, &options->defines, "--define", &kernel->defines))
        return STATUS_USAGE;
    kernel->type_count = (uint32_t)options->arguments.len;
    kernel->define_count = (uint32_t)options->defines.len;
    Str *folders = ARENA_ARRAY(&ctx->arena, Str, options->include.len + 1);
    for (size_t i = 0; i < options->include.len; i++)
        folders[i] = str_from(options->include.data[i]);
    kernel->search_paths = folders;
    kernel->search_path_count = (uint32_t)options->include.len;
    Str *warnings = ARENA_ARRAY(&ctx->arena, Str, options->warnings.len + 1);
    for (size_t i = 0; i < options->warnings.len; i++)
        warnings[i] = str_from(options->warnings.data[i]);
    request->warnings = warnings;
    request->warning_count = (uint32_t)options->warnings.len;
    const CacheConfig config = {.folder = options->cache,
                                .trusted = options->trusted_caches,
                                .remote = options->remote_cache};
    cache_open(cache, &ctx->arena, &config);
    request->target =
        choose_target(&ctx->diags, str_from(options->target ? options->target : ""), device, NULL);
    return request->target ? STATUS_OK : STATUS_INPUT;
}

int cli_exit_status(tile_status status) {
    switch (status) {
    case TILE_OK:
        return STATUS_OK;
    case TILE_ERROR_INVALID_ARGUMENT:
    case TILE_ERROR_SOURCE:
    case TILE_ERROR_FILE:
    case TILE_ERROR_INTERNAL:
    case TILE_ERROR_TENSOR_MAP:
    case TILE_ERROR_IN_PLACE:
    case TILE_ERROR_BUNDLE:
    case TILE_ERROR_NO_VARIANT:
    case TILE_ERROR_NOT_COMPILED:
        return STATUS_INPUT;
    case TILE_ERROR_DISK_FULL:
    case TILE_ERROR_OUT_OF_MEMORY:
    case TILE_ERROR_TOOL:
    case TILE_ERROR_NO_DRIVER:
    case TILE_ERROR_NO_DEVICE:
    case TILE_ERROR_DEVICE_MEMORY:
    case TILE_ERROR_DRIVER:
    case TILE_ERROR_TIME_LIMIT:
    case TILE_ERROR_CANCELLED:
    case TILE_ERROR_KERNEL:
    case TILE_ERROR_DEVICE_LOST:
        break;
    }
    return STATUS_MACHINE;
}

int cli_status(const Ctx *ctx) {
    return cli_exit_status(status_of(&ctx->diags));
}

int cli_status_of_id(DiagId id) {
    return cli_exit_status(status_of_id(id));
}
