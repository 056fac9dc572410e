/* Public API: what a call asks of the compiler, and the grid that it leaves to the function. */
#include "runtime/api/function_compile.h"

/* The error of an expression of the function's source, or of its grid. */
static bool report_error(Call *call, const CompiledFunction *function, const HostError *error) {
    const tile_compile_options *o = &function->options;
    source_add(&call->ctx->sources, text_str(o->unit_count ? o->units->path : o->path),
               text_str(o->unit_count ? o->units->source : o->source));
    source_add(&call->ctx->sources, STR("<grid>"), text_str(function->options.grid));
    return host_report(call->ctx, error);
}

/* What configurations and heuristics say of the call. */
static bool derived_values(Call *call, const CompiledFunction *function,
                           const Derivation *derivation, const Asked *asked, size_t count,
                           const TuneConfig **config, HostValue values[DERIVE_MAX_NAMES]) {
    HostError error;
    derive_given(derivation, asked->arguments, count, values);
    *config = derive_config(derivation, asked->device->number, asked->arguments, count, values);
    return derive_values(derivation, asked->arguments, count, *config, values, &error) ||
           report_error(call, function, &error);
}

/* Adds it to a request. */
static bool add_derived(Call *call, const CompiledFunction *function, const Derivation *derivation,
                        const Asked *asked, CompileRequest *request) {
    HostValue values[DERIVE_MAX_NAMES];
    const TuneConfig *config;
    Arena *arena = &call->ctx->arena;
    if (!derived_values(call, function, derivation, asked, asked->packed->given, &config, values))
        return false;
    if (config) {
        autotune_request(&derivation->autotune, config, &derivation->heuristics, arena,
                         &request->kernel);
        if (config->max_registers)
            request->max_registers = config->max_registers;
    }
    heuristics_request(&derivation->heuristics, values, arena, &request->kernel);
    return true;
}

void function_report_underived(Call *call, const Asked *asked, size_t count) {
    const CompiledFunction *function = (const CompiledFunction *)asked->function;
    HostValue values[DERIVE_MAX_NAMES];
    const TuneConfig *config;
    derived_values(call, function, &function->derivation, asked, count, &config, values);
}

tile_status function_grid(const Asked *asked, size_t count, uint32_t grid[3],
                          tile_diagnostics **diagnostics) {
    const CompiledFunction *function = (const CompiledFunction *)asked->function;
    const Derivation *derivation = &function->derivation;
    HostValue values[DERIVE_MAX_NAMES];
    HostError error;
    derive_given(derivation, asked->arguments, count, values);
    const TuneConfig *config =
        derive_config(derivation, asked->device->number, asked->arguments, count, values);
    if (derive_values(derivation, asked->arguments, count, config, values, &error) &&
        grid_run(&function->grid, values, grid, &error))
        return TILE_OK;
    Call *call = call_continue(asked->function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    report_error(call, function, &error);
    return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
}

bool function_request(Call *call, const CompiledFunction *function, const Asked *asked,
                      const Derivation *derivation, CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    const uint32_t count = asked->packed->given;
    tile_compile_options options = function->options;
    options.device = asked->device;
    if (asked->cancellation)
        options.cancellation = asked->cancellation;
    if (asked->entry_name.len)
        options.entry_name = text_of(asked->entry_name);
    if (!request_from_options(call, function->function.context, &options, request))
        return false;
    ElaborateRequest *kernel = &request->kernel;
    request->text_of_path = function->has_file;
    if (!add_derived(call, function, derivation, asked, request))
        return false;
    NamedText *types = ARENA_ARRAY(arena, NamedText, count + 1);
    NamedText *defines = ARENA_ARRAY(arena, NamedText, kernel->define_count + count + 1);
    if (kernel->define_count)
        memcpy(defines, kernel->defines, kernel->define_count * sizeof *defines);
    for (uint32_t i = 0; i < count; i++) {
        const tile_argument *argument = &asked->arguments[i];
        NamedText named = {.name = function->function.params[i]};
        if (argument_constexpr(arena, argument, &named.text)) {
            defines[kernel->define_count++] = named;
            continue;
        }
        named.text = str_from(argument_entry(arena, &function->function.specialisation,
                                             asked->arguments, asked->packed, i));
        types[kernel->type_count++] = named;
    }
    kernel->types = types;
    kernel->defines = defines;
    return request->target != NULL;
}
