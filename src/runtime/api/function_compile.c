/* Public API: functions that are compiled when they are called. */
#include "runtime/api/function_compile.h"
#include "frontend/autotune_space.h"
#include "runtime/compile/folder.h"
#include "runtime/compile/stack.h"

static bool find_by_compiling(Call *call, const Asked *asked, unsigned forms,
                              InstanceImage *found) {
    CompileRequest request;
    Compiled *compiled = ARENA_NEW(&call->ctx->arena, Compiled);
    const CompiledFunction *function = (const CompiledFunction *)asked->function;
    if (!function_request(call, function, asked, &function->derivation, &request))
        return false;
    request_forms(&request, forms);
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
    function->has_file = !options->source.data && !options->unit_count;
    if (options->unit_count) {
        function->options.units = units_keep(arena, &request->kernel.units);
    } else {
        function->options.path = keep_text(arena, str_from(request->path));
        function->options.source = keep_text(arena, source);
    }
    function->options.kernel = keep_text(arena, kernel);
    function->options.entry_name = keep_text(arena, text_str(options->entry_name));
    function->options.grid = keep_text(arena, text_str(options->grid));
    function->options.dump_folder = keep_text(arena, text_str(options->dump_folder));
    function->options.search_paths =
        keep_texts(arena, options->search_paths, options->search_path_count);
    function->options.warnings = keep_texts(arena, options->warnings, options->warning_count);
    function->options.files = keep_named(arena, options->files, options->file_count);
    function->options.constexprs = keep_named(arena, options->constexprs, options->constexpr_count);
    function->options.tune = NULL; /* read once */
    function->options.tune_count = 0;
    function->function.specialisation.constants =
        function_constants(arena, function->options.constexprs, options->constexpr_count);
}

static bool is_set(const tile_compile_options *options, Str name) {
    for (size_t i = 0; i < options->constexpr_count; i++)
        if (str_eq(text_str(options->constexprs[i].name), name))
            return true;
    return false;
}

static void destroy_choices(CompiledFunction *compiled) {
    KeyTable *table = atomic_load(&compiled->choices);
    for (size_t i = 0; table && i < key_table_slots(table); i++) {
        Choice *choice = (Choice *)key_table_at(table, i);
        Arena arena = choice ? choice->arena : (Arena){0};
        arena_free(&arena);
    }
    if (table)
        key_table_free(table);
    pthread_mutex_destroy(&compiled->tuning_lock);
}

static void destroy_made(tile_function *function) {
    CompiledFunction *compiled = (CompiledFunction *)function;
    if (compiled->derivation.choices)
        destroy_choices(compiled);
    function_host_destroy(compiled);
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
        const bool is_tuned = made->derivation.autotune.count && made->derivation.autotune.sets[i];
        if (given[i] || is_tuned || heuristics_set(&made->derivation.heuristics, i))
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

/* What the options say of parameters and of what configurations may set besides, maxnreg last. */
static bool *given_names(Call *call, const CompiledFunction *made, const FuncDef *def) {
    bool *given =
        ARENA_ARRAY(&call->ctx->arena, bool, (size_t)def->param_count + HEURISTIC_OPTION_COUNT + 1);
    for (uint32_t i = 0; i < def->param_count; i++)
        given[i] = is_set(&made->options, def->params[i].name);
#define HEURISTIC_OPTION(name) given[def->param_count + HEURISTIC_##name] = made->options.name != 0;
    HEURISTIC_OPTIONS(HEURISTIC_OPTION)
#undef HEURISTIC_OPTION
    given[def->param_count + HEURISTIC_OPTION_COUNT] = made->options.max_registers != 0;
    return given;
}

/* Reading recurses as parsing does. */
typedef struct Reading {
    Call *call;
    CompiledFunction *made;
    uint32_t file;
    const FuncDef *def;
    int32_t capability; /* of the options' device; 0: there is none */
    const NamedText *lists;
    uint32_t list_count;
    const bool *given;
    bool ok;
} Reading;

static void read_on_stack(void *user) {
    Reading *r = user;
    Arena *arena = &r->call->object;
    arena->oom = r->call->ctx->arena.oom; /* of this thread */
    Ctx *ctx = r->call->ctx;
    Derivation *derivation = &r->made->derivation;
    Autotune *autotune = &derivation->autotune;
    r->ok = autotune_read(ctx, arena, r->file, r->def, r->capability, autotune) &&
            (!r->list_count || autotune_combine(ctx, arena, r->def, "tune", r->lists, r->list_count,
                                                r->given, autotune));
    if (!r->ok)
        return;
    autotune_give(autotune, arena, r->given);
    if (r->made->options.tune_generated && (r->list_count || !autotune->count))
        r->ok = autotune_generate(ctx, arena, r->def, &derivation->heuristics, r->given, autotune);
}

/* The configurations, of @triton.autotune or of the options, which are chosen among when the
 * function is called. */
static bool read_configurations(Call *call, CompiledFunction *made, uint32_t file,
                                const FuncDef *def, const tile_compile_options *options,
                                const bool *given) {
    const tile_device *device = made->options.device;
    const Target *target = device ? device->device.target : NULL;
    NamedText *lists = ARENA_ARRAY(&call->ctx->arena, NamedText, options->tune_count + 1);
    for (size_t i = 0; i < options->tune_count; i++)
        lists[i] = (NamedText){text_str(options->tune[i].name), text_str(options->tune[i].value)};
    Reading reading = {.call = call,
                       .made = made,
                       .file = file,
                       .def = def,
                       .capability = target ? target->capability : 0,
                       .lists = lists,
                       .list_count = (uint32_t)options->tune_count,
                       .given = given};
    const bool ran = stack_run(call->ctx, read_on_stack, &reading);
    call->object.oom = call->ctx->arena.oom;
    if (!ran || !reading.ok)
        return false;
    if (made->derivation.autotune.count)
        made->function.choose = function_tune;
    return true;
}

/* What the call derives from its arguments. False after a report. */
static bool keep_derivation(Call *call, CompiledFunction *made, const AstFile *syntax,
                            const FuncDef *def, const CompileRequest *request,
                            const tile_compile_options *options) {
    Derivation *derivation = &made->derivation;
    bool *given = given_names(call, made, def);
    if (!heuristics_read(call->ctx, &call->object, syntax, def, given, &derivation->heuristics) ||
        !read_configurations(call, made, syntax->file, def, options, given))
        return false;
    keep_params(&call->object, made, def, given);
    derivation->known =
        heuristics_known(call->ctx, &call->object, &derivation->heuristics, def, &request->kernel);
    if (derivation->heuristics.count || derivation->autotune.count) {
        made->function.specialisation.derive = derive_key;
        made->function.specialisation.derivation = derivation;
        made->function.report_underived = function_report_underived;
    }
    return true;
}

/* False after a report. */
static bool keep_grid(Call *call, CompiledFunction *made) {
    const Heuristics *h = &made->derivation.heuristics;
    const Str text = text_str(made->options.grid);
    if (!text.len)
        return true;
    made->function.grid_of_call = function_grid;
    made->derivation.grid = &made->grid;
    return grid_compile(call->ctx, &call->object, text, h->names, h->name_count, &made->grid);
}

typedef struct Opening {
    Call *call;
    CompiledFunction *made;
    tile_function **function;
    tile_status status;
} Opening;

/* What is no part of the object's arena. */
static void open_made(void *user) {
    Opening *opening = user;
    CompiledFunction *made = opening->made;
    opening->call->object.oom = opening->call->ctx->arena.oom;
    if (made->derivation.autotune.count) {
        if (pthread_mutex_init(&made->tuning_lock, NULL))
            return;
        made->derivation.choices = &made->choices;
        atomic_init(&made->choices, NULL);
        atomic_store(&made->choices, key_table_create(&opening->call->ctx->arena));
    }
    atomic_init(&made->hosts, NULL);
    made->function.call_on_host = function_call_host;
    made->function.forget_on_host = function_forget_host;
    made->function.destroy = destroy_made;
    opening->status = function_open(opening->call, &made->function, opening->function);
}

static void close_unless_open(void *user) {
    Opening *opening = user;
    tile_function *made = &opening->made->function;
    opening->call->object.oom = opening->call->ctx->arena.oom;
    if (opening->status != TILE_OK && made->destroy)
        made->destroy(made);
}

static tile_status build_function(Call *call, tile_context *context,
                                  const tile_compile_options *options, tile_function **function) {
    CompileRequest request;
    if (options->signature.size || options->type_count || options->target.size ||
        !request_from_options(call, context, options, &request))
        return TILE_ERROR_INVALID_ARGUMENT;
    uint32_t file;
    compile_use_files(call->ctx, &request);
    const CompileRequest *resolved = folder_resolve(call->ctx, &request);
    if (!resolved)
        return TILE_OK;
    request = *resolved;
    const AstFile *syntax = compile_parse_request(call->ctx, &request, &file);
    if (!syntax)
        return TILE_OK;
    const FuncDef *def = frontend_find_kernel(call->ctx, syntax, request.kernel.kernel);
    if (!def)
        return TILE_OK;
    Arena *arena = &call->object;
    CompiledFunction *made = ARENA_NEW(arena, CompiledFunction);
    made->function.context = context;
    made->function.find = find_by_compiling;
    made->function.find_kernel = function_kernel;
    made->function.cancellation = options->cancellation;
    made->function.in_turn = options->dump_folder.size != 0;
    made->function.name = str_keep(arena, def->name);
    keep_options(arena, made, &request, options, source_get(&call->ctx->sources, file)->text,
                 def->name);
    if (def->param_count > TILE_MAX_ARGUMENTS)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (!keep_derivation(call, made, syntax, def, &request, options) || !keep_grid(call, made))
        return TILE_OK;
    Opening opening = {call, made, function, TILE_ERROR_OUT_OF_MEMORY};
    ctx_finally(call->ctx, open_made, close_unless_open, &opening);
    return opening.status;
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
