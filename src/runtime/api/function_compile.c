/* Public API: functions that are compiled when they are called. */
#include "runtime/api/api_compile.h"
#include "runtime/api/derive.h"
#include "runtime/api/function.h"

typedef struct CompiledFunction {
    tile_function function;       /* first: what the API hands out */
    tile_compile_options options; /* texts in the arena */
    Derivation derivation;
    bool has_file; /* the source was read from its path */
} CompiledFunction;

/* Adds what heuristics say of the call. */
static bool add_derived(Call *call, const CompiledFunction *function, const Asked *asked,
                        uint32_t count, ElaborateRequest *kernel) {
    HostValue values[DERIVE_MAX_NAMES];
    HostError error;
    const Derivation *derivation = &function->derivation;
    if (!derive_values(derivation, asked->arguments, count, values, &error)) {
        source_add(&call->ctx->sources, text_str(function->options.path),
                   text_str(function->options.source));
        return host_report(call->ctx, &error);
    }
    heuristics_request(&derivation->heuristics, values, &call->ctx->arena, kernel);
    return true;
}

static void report_underived(Call *call, const Asked *asked, size_t count) {
    ElaborateRequest none = {0};
    add_derived(call, (const CompiledFunction *)asked->function, asked, (uint32_t)count, &none);
}

/* The function's request with this call's types and constexprs added by name. */
static bool instance_request(Call *call, const Asked *asked, CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    const CompiledFunction *function = (const CompiledFunction *)asked->function;
    const uint32_t count = asked->packed->given;
    tile_compile_options options = function->options;
    options.device = asked->device;
    if (!request_from_options(call, function->function.context, &options, request))
        return false;
    ElaborateRequest *kernel = &request->kernel;
    if (!add_derived(call, function, asked, count, kernel))
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
        Special special = argument_special(&function->function.specialisation, asked->arguments,
                                           asked->packed, i);
        named.text = str_from(str_format(arena, "%s%s", argument_type(arena, argument),
                                         special_hint(arena, special)));
        types[kernel->type_count++] = named;
    }
    kernel->types = types;
    kernel->defines = defines;
    return request->target != NULL;
}

static bool find_by_compiling(Call *call, const Asked *asked, bool no_tensor_copies,
                              InstanceImage *found) {
    CompileRequest request;
    Compiled *compiled = ARENA_NEW(&call->ctx->arena, Compiled);
    if (!instance_request(call, asked, &request))
        return false;
    request.no_tensor_copies |= no_tensor_copies;
    request.text_of_path = ((const CompiledFunction *)asked->function)->has_file;
    if (!call_compile(call, &request, compiled))
        return false;
    *found = (InstanceImage){
        .image = compiled_image(&call->ctx->arena, compiled, asked->device->device.driver)};
    return true;
}

static tile_text keep_text(Arena *arena, Str text) {
    return text_of((Str){str_dup(arena, text), text.len});
}

static const tile_text *keep_texts(Arena *arena, const tile_text *texts, size_t count) {
    tile_text *kept = ARENA_ARRAY(arena, tile_text, count + 1);
    for (size_t i = 0; i < count; i++)
        kept[i] = keep_text(arena, text_str(texts[i]));
    return kept;
}

static const tile_named *keep_named(Arena *arena, const tile_named *named, size_t count) {
    tile_named *kept = ARENA_ARRAY(arena, tile_named, count + 1);
    for (size_t i = 0; i < count; i++) {
        kept[i].name = keep_text(arena, text_str(named[i].name));
        kept[i].value = keep_text(arena, text_str(named[i].value));
    }
    return kept;
}

static void keep_options(Arena *arena, CompiledFunction *function, const CompileRequest *request,
                         const tile_compile_options *options, Str source, Str kernel) {
    function->options = *options;
    function->has_file = !options->source.data;
    function->options.path = keep_text(arena, str_from(request->path));
    function->options.source = keep_text(arena, source);
    function->options.kernel = keep_text(arena, kernel);
    function->options.dump_folder = keep_text(arena, text_str(options->dump_folder));
    function->options.search_paths =
        keep_texts(arena, options->search_paths, options->search_path_count);
    function->options.warnings = keep_texts(arena, options->warnings, options->warning_count);
    function->options.files = keep_named(arena, options->files, options->file_count);
    function->options.constexprs = keep_named(arena, options->constexprs, options->constexpr_count);
    function->function.specialisation.constants =
        function_constants(arena, function->options.constexprs, options->constexpr_count);
}

static bool is_set(const tile_compile_options *options, Str name) {
    for (size_t i = 0; i < options->constexpr_count; i++)
        if (str_eq(text_str(options->constexprs[i].name), name))
            return true;
    return false;
}

static SpecialLimit limit_of(const FuncDef *def, uint32_t index) {
    const ParamHints hints = frontend_param_hints(def, index);
    return hints.no_value       ? SPECIAL_NOTHING
           : hints.no_alignment ? SPECIAL_NO_MULTIPLES
                                : SPECIAL_ANY;
}

/* The arguments of a call: parameters that neither the options nor a heuristic set. */
static void keep_params(Arena *arena, CompiledFunction *made, const FuncDef *def,
                        const bool *given) {
    tile_function *function = &made->function;
    SpecialLimit *limits = ARENA_ARRAY(arena, SpecialLimit, def->param_count + 1);
    uint32_t *params = ARENA_ARRAY(arena, uint32_t, def->param_count + 1);
    bool is_limited = false;
    function->params = ARENA_ARRAY(arena, Str, def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (given[i] || heuristics_set(&made->derivation.heuristics, i))
            continue;
        const uint32_t slot = function->param_count++;
        function->params[slot] = str_keep(arena, def->params[i].name);
        limits[slot] = limit_of(def, i);
        is_limited |= limits[slot] != SPECIAL_ANY;
        params[slot] = i;
        if (!def->params[i].default_value)
            function->required_count = function->param_count;
    }
    function->specialisation.limits = is_limited ? limits : NULL;
    made->derivation.params = params;
}

/* What the call derives from its arguments. False after a report. */
static bool keep_derivation(Call *call, CompiledFunction *made, const AstFile *syntax,
                            const FuncDef *def, const CompileRequest *request) {
    Derivation *derivation = &made->derivation;
    bool *given = ARENA_ARRAY(&call->ctx->arena, bool, def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++)
        given[i] = is_set(&made->options, def->params[i].name);
    if (!heuristics_read(call->ctx, &call->object, syntax, def, given, &derivation->heuristics))
        return false;
    keep_params(&call->object, made, def, given);
    derivation->known =
        heuristics_known(call->ctx, &call->object, &derivation->heuristics, def, &request->kernel);
    if (derivation->heuristics.count) {
        made->function.specialisation.derive = derive_key;
        made->function.specialisation.derivation = derivation;
        made->function.report_underived = report_underived;
    }
    return true;
}

static tile_status build_function(Call *call, tile_context *context,
                                  const tile_compile_options *options, tile_function **function) {
    CompileRequest request;
    if (options->signature.size || options->type_count || options->target.size ||
        !request_from_options(call, context, options, &request))
        return TILE_ERROR_INVALID_ARGUMENT;
    uint32_t file;
    compile_use_files(call->ctx, &request);
    const AstFile *syntax = compile_parse(call->ctx, request.path, request.text, &file);
    if (!syntax)
        return TILE_OK;
    const FuncDef *def = frontend_find_kernel(call->ctx, syntax, request.kernel.kernel);
    if (!def)
        return TILE_OK;
    Arena *arena = &call->object;
    CompiledFunction *made = ARENA_NEW(arena, CompiledFunction);
    made->function.context = context;
    made->function.find = find_by_compiling;
    made->function.name = str_keep(arena, def->name);
    keep_options(arena, made, &request, options, source_get(&call->ctx->sources, file)->text,
                 def->name);
    if (def->param_count > TILE_MAX_ARGUMENTS)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (!keep_derivation(call, made, syntax, def, &request))
        return TILE_OK;
    return function_open(call, &made->function, function);
}

tile_status tile_function_create(tile_context *context, const tile_compile_options *given,
                                 tile_function **function, tile_diagnostics **diagnostics) {
    tile_compile_options options;
    if (!context || !function || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, build_function(call, context, &options, function));
}
