/* From shapes and configurations to cases of `tilec bench`, and what is compiled for them. */
#include "cli/bench.h"
#include "frontend/autotune_space.h"
#include "runtime/status.h"

/* The problem */

int bench_read_problem(Bench *bench) {
    BenchOptions *options = &bench->options;
    if (!options->shapes)
        return run_one_shape(bench->ctx, &options->kernel.arguments, options->grid,
                             &bench->problem);
    if (options->kernel.arguments.len || options->grid)
        return cli_usage_error("--shapes says arguments and grid: leave out %s",
                               options->grid ? "--grid" : "--arg");
    if (!shapes_read(bench->ctx, options->shapes, &bench->problem))
        return STATUS_INPUT;
    if (!bench->problem.grid_expr) {
        ctx_diag(bench->ctx, (Span){0}, json_missing, "grid");
        diag_hint(&bench->ctx->diags, "%s says no grid", options->shapes);
        return STATUS_INPUT;
    }
    return STATUS_OK;
}

static const ShapeArg *find_arg(const Shape *shape, Str name) {
    for (uint32_t i = 0; i < shape->arg_count; i++)
        if (str_eq(shape->args[i].name, name))
            return &shape->args[i];
    return NULL;
}

/* The size of that name as a literal; empty: there is none. */
static Str size_text(Bench *bench, const Shape *shape, Str name) {
    StrBuf text = strbuf(&bench->ctx->arena);
    for (uint32_t i = 0; i < shape->size_count; i++)
        if (str_eq(shape->names[i], name)) {
            host_print(shape->values[i], &text);
            break;
        }
    return strbuf_str(&text);
}

/* Parts that are as long as they may be are the same for all shapes. */
static bool take_part(Bench *bench, Str head, uint32_t stream, size_t most, RunArg *arg) {
    if (arg->array.count < most)
        return false;
    vec_for_each (known, &bench->parts)
        if (known->stream == stream && str_eq(known->head, head) && known->part.count == most) {
            arg->part = known->part;
            return true;
        }
    return false;
}

static bool read_arg(Bench *bench, const ShapeArg *given, uint32_t stream, size_t most,
                     RunArg *arg) {
    const NamedText named = {given->name, given->text};
    const char *bracket = memchr(given->text.ptr, '[', given->text.len);
    const Str head = {given->text.ptr, bracket ? (size_t)(bracket - given->text.ptr) : 0};
    *arg = (RunArg){.name = given->name, .is_array = true, .array = given->array};
    if (given->is_made && (!most || take_part(bench, head, stream, most, arg)))
        return true;
    if (!run_read_part(bench->ctx, &named, given->span, stream, most, arg))
        return false;
    if (given->is_made && arg->part.count == most)
        vec_push(&bench->ctx->arena, &bench->parts, (BenchPart){head, stream, arg->part});
    return true;
}

bool bench_args(Bench *bench, const Shape *shape, size_t most, RunArgs *args) {
    Arena *arena = &bench->ctx->arena;
    *args = (RunArgs){0};
    for (uint32_t i = 0; i < shape->arg_count; i++) {
        RunArg arg;
        if (!read_arg(bench, &shape->args[i], i, most, &arg))
            return false;
        vec_push(arena, args, arg);
    }
    for (uint32_t i = 0; i < bench->def->param_count; i++) {
        const Param *param = &bench->def->params[i];
        const NamedText size = {param->name, size_text(bench, shape, param->name)};
        RunArg arg;
        if (!size.text.len || find_arg(shape, param->name) || ast_is_constexpr(param->annotation))
            continue;
        if (!run_read_part(bench->ctx, &size, (Span){0}, 0, most, &arg))
            return false;
        vec_push(arena, args, arg);
    }
    return true;
}

/* Configurations */

static bool is_defined(const ElaborateRequest *kernel, Str name) {
    for (uint32_t i = 0; i < kernel->define_count; i++)
        if (str_eq(kernel->defines[i].name, name))
            return true;
    return false;
}

/* What of the kernel's names no configuration sets, maxnreg last: what options say and, unless
 * `of_options` is asked for, the shapes. */
static bool *given_names(Bench *bench, bool of_options) {
    const Heuristics *h = &bench->heuristics;
    const ElaborateRequest *kernel = &bench->request.kernel;
    const Shape *shape = &bench->problem.shapes[0];
    bool *given = ARENA_ARRAY(&bench->ctx->arena, bool, (size_t)h->name_count + 1);
    for (uint32_t i = 0; i < h->param_count; i++) {
        for (uint32_t d = 0; d < kernel->define_count; d++)
            given[i] |= str_eq(h->names[i], kernel->defines[d].name);
        for (uint32_t d = 0; d < shape->constexpr_count && !of_options; d++)
            given[i] |= str_eq(h->names[i], shape->constexprs[d].name);
        given[i] |= !of_options && size_text(bench, shape, h->names[i]).len != 0;
    }
    given[h->param_count + HEURISTIC_num_warps] = kernel->num_warps != 0;
    given[h->param_count + HEURISTIC_num_stages] = kernel->num_stages != 0;
    given[h->param_count + HEURISTIC_num_ctas] = kernel->num_ctas != 0;
    given[h->name_count] = bench->request.max_registers != 0;
    return given;
}

static void name_configs(Bench *bench) {
    Arena *arena = &bench->ctx->arena;
    const Autotune *autotune = &bench->autotune;
    const uint32_t count = autotune->count ? autotune->count : 1;
    const char **texts = (const char **)arena_array(arena, count, sizeof *texts);
    texts[0] = "the compiler's choice";
    for (uint32_t i = 0; i < autotune->count; i++)
        texts[i] = autotune_text(arena, autotune, &autotune->configs[i]);
    bench->report.configs = texts;
    bench->report.config_count = count;
}

/* Those of --vary, or of the source; without any the compiler chooses. */
static bool read_configs(Bench *bench) {
    Ctx *ctx = bench->ctx;
    Autotune *autotune = &bench->autotune;
    const TextList *vary = &bench->options.vary;
    NamedText *lists = ARENA_ARRAY(&ctx->arena, NamedText, vary->len + 1);
    if (!autotune_read(ctx, &ctx->arena, bench->source, bench->def,
                       bench->request.target->capability, autotune))
        return false;
    for (size_t i = 0; i < vary->len; i++)
        if (!cli_split_named(vary->data[i], "--vary", &lists[i]))
            return false;
    if (vary->len && !autotune_combine(ctx, &ctx->arena, bench->def, "--vary", lists,
                                       (uint32_t)vary->len, given_names(bench, true), autotune))
        return false;
    if (!vary->len)
        autotune_give(autotune, &ctx->arena, given_names(bench, false));
    name_configs(bench);
    return true;
}

/* A configuration; NULL: the compiler chooses. */
static const TuneConfig *config_at(const Bench *bench, uint32_t index) {
    return bench->autotune.count ? &bench->autotune.configs[index] : NULL;
}

static bool read_kernel(Bench *bench) {
    Ctx *ctx = bench->ctx;
    const CompileRequest *request = &bench->request;
    bench->syntax = compile_parse(ctx, request->path, request->text, &bench->source);
    bench->def = bench->syntax && !ctx->diags.errors
                     ? frontend_find_kernel(ctx, bench->syntax, request->kernel.kernel)
                     : NULL;
    return bench->def &&
           heuristics_read(ctx, &ctx->arena, bench->syntax, bench->def, NULL, &bench->heuristics);
}

/* Cases */

typedef VEC(Str) Keys;

/* Everything that decides the code of a request of this command. */
static Str request_key(Bench *bench, const CompileRequest *request) {
    const ElaborateRequest *kernel = &request->kernel;
    StrBuf key = strbuf(&bench->ctx->arena);
    strbuf_printf(&key, "%d %d %d %d", kernel->num_warps, kernel->num_stages, kernel->num_ctas,
                  request->max_registers);
    for (uint32_t i = 0; i < kernel->type_count; i++)
        strbuf_printf(&key, "\n%.*s:%.*s", STR_ARG(kernel->types[i].name),
                      STR_ARG(kernel->types[i].text));
    for (uint32_t i = 0; i < kernel->define_count; i++)
        strbuf_printf(&key, "\n%.*s=%.*s", STR_ARG(kernel->defines[i].name),
                      STR_ARG(kernel->defines[i].text));
    return strbuf_str(&key);
}

/* Whether configurations set it. */
static bool is_tuned(const Bench *bench, Str name) {
    const Autotune *a = &bench->autotune;
    const uint32_t slot = autotune_find_name(a, name);
    return a->count && slot < a->name_count && a->sets[slot];
}

/* What -D says goes before what configurations set, that before what the shape says, and that
 * before a size of that name. */
static void add_defines(Bench *bench, const Shape *shape, ElaborateRequest *kernel) {
    NamedText *defines = heuristics_room(&bench->ctx->arena, kernel,
                                         shape->constexpr_count + bench->def->param_count);
    kernel->defines = defines;
    for (uint32_t i = 0; i < shape->constexpr_count; i++)
        if (!is_defined(kernel, shape->constexprs[i].name) &&
            !is_tuned(bench, shape->constexprs[i].name))
            defines[kernel->define_count++] = shape->constexprs[i];
    for (uint32_t i = 0; i < bench->def->param_count; i++) {
        const Param *param = &bench->def->params[i];
        const Str size = size_text(bench, shape, param->name);
        if (size.len && ast_is_constexpr(param->annotation) && !is_defined(kernel, param->name) &&
            !is_tuned(bench, param->name))
            defines[kernel->define_count++] = (NamedText){param->name, size};
    }
}

/* Types, constexprs and shape of one case. False after a report. */
static bool make_request(Bench *bench, const Shape *shape, const TuneConfig *config,
                         const RunArgs *args, CompileRequest *request) {
    *request = bench->request;
    ElaborateRequest *kernel = &request->kernel;
    add_defines(bench, shape, kernel);
    if (config) {
        autotune_request(&bench->autotune, config, &bench->heuristics, &bench->ctx->arena, kernel);
        if (config->max_registers)
            request->max_registers = config->max_registers;
    }
    kernel->autotune_done = true; /* what it would set is the configuration's to say */
    if (!run_heuristics(bench->ctx, args, request))
        return false;
    kernel->types = run_types(bench->ctx, args, kernel);
    kernel->type_count = (uint32_t)args->len;
    return true;
}

static bool make_grid(Bench *bench, const Shape *shape, const CompileRequest *request,
                      uint32_t grid[3]) {
    const ElaborateRequest *kernel = &request->kernel;
    Str *names = ARENA_ARRAY(&bench->ctx->arena, Str, (size_t)kernel->define_count + 1);
    HostValue *values =
        ARENA_ARRAY(&bench->ctx->arena, HostValue, (size_t)kernel->define_count + 1);
    for (uint32_t i = 0; i < kernel->define_count; i++) {
        names[i] = kernel->defines[i].name;
        values[i] = host_read(kernel->defines[i].text);
    }
    return shapes_grid(bench->ctx, &bench->problem, shape, names, values, kernel->define_count,
                       grid);
}

static uint32_t add_plan(Bench *bench, const CompileRequest *request, Keys *keys) {
    const Str key = request_key(bench, request);
    for (size_t i = 0; i < keys->len; i++)
        if (str_eq(keys->data[i], key))
            return (uint32_t)i;
    vec_push(&bench->ctx->arena, keys, key);
    vec_push(&bench->ctx->arena, &bench->plan,
             (Planned){.request = *request, .path = str_from(request->path)});
    return (uint32_t)bench->plan.len - 1;
}

/* Which of the source's configurations are for these arguments. */
static bool *kept_configs(Bench *bench, const RunArgs *args) {
    bool *kept = ARENA_ARRAY(&bench->ctx->arena, bool, (size_t)bench->report.config_count + 1);
    memset(kept, true, bench->report.config_count);
    if (bench->autotune.count)
        autotune_prune(bench->ctx, bench->source, bench->def, bench->request.target->capability,
                       &bench->autotune,
                       run_host_values(bench->ctx, args, &bench->heuristics, bench->def,
                                       &bench->request.kernel),
                       kept);
    return kept;
}

static bool add_cases(Bench *bench, uint32_t index, Keys *keys) {
    Shape *shape = &bench->shapes[index];
    BenchReport *report = &bench->report;
    RunArgs args;
    if (!bench_args(bench, shape, 0, &args))
        return false;
    double bytes = 0;
    vec_for_each (arg, &args)
        bytes += arg->is_array ? (double)arg->array.bytes : 0;
    report->counts_arrays |= shape->bytes < 0;
    shape->bytes = shape->bytes < 0 ? bytes : shape->bytes;
    const bool *kept = kept_configs(bench, &args);
    for (uint32_t c = 0; c < report->config_count; c++) {
        CompileRequest request;
        BenchPlan plan;
        if (!kept[c])
            continue;
        if (!make_request(bench, shape, config_at(bench, c), &args, &request) ||
            !make_grid(bench, shape, &request, plan.grid))
            return false;
        plan.build = add_plan(bench, &request, keys);
        bench->plans[report->case_count] = plan;
        bench->cases[report->case_count++] = (BenchCase){.shape = index, .config = c};
    }
    return true;
}

/* What tensor cores would multiply: the first array of floats, else of bytes. */
static void plan_ceilings(Bench *bench) {
    Ctx *ctx = bench->ctx;
    bool wanted = false;
    RunArgs args;
    for (uint32_t i = 0; i < bench->problem.count; i++)
        wanted |= bench->shapes[i].flops >= 0;
    bench->ceiling_elem = ELEM_COUNT;
    if (!bench_args(bench, &bench->shapes[0], 0, &args))
        return;
    vec_for_each (arg, &args) {
        const bool is_float = arg->is_array && elem_is_float(arg->array.elem),
                   was_float =
                       bench->ceiling_elem != ELEM_COUNT && elem_is_float(bench->ceiling_elem);
        if ((is_float || (arg->is_array && arg->array.elem == ELEM_I8)) && !was_float)
            bench->ceiling_elem = arg->array.elem;
    }
    for (CeilingKind kind = 0; kind < CEILING_COUNT; kind++) {
        Planned planned;
        bench->ceiling[kind] = UINT32_MAX;
        if (!wanted || !ceilings_plan(ctx, &bench->request, kind, bench->ceiling_elem, &planned))
            continue;
        bench->ceiling[kind] = (uint32_t)bench->plan.len;
        vec_push(&ctx->arena, &bench->plan, planned);
    }
}

int bench_plan(Bench *bench, const char *path) {
    Ctx *ctx = bench->ctx;
    KernelOptions kernel = bench->options.kernel;
    kernel.arguments = (TextList){0};
    if (!kernel.kernel && bench->problem.kernel.len)
        kernel.kernel = str_dup(&ctx->arena, bench->problem.kernel);
    const int status =
        cli_kernel_request(ctx, &kernel, path, &bench->device, &bench->cache, &bench->request);
    if (status != STATUS_OK)
        return status;
    bench->request.device = &bench->device;
    bench->request.want = OUTPUT_BIT(cubin) | OUTPUT_BIT(ptx);
    if (!read_kernel(bench))
        return STATUS_INPUT;
    if (!read_configs(bench))
        return ctx->diags.errors ? STATUS_INPUT : STATUS_USAGE;
    const size_t most = (size_t)bench->problem.count * bench->report.config_count;
    bench->cases = ARENA_ARRAY(&ctx->arena, BenchCase, most);
    bench->plans = ARENA_ARRAY(&ctx->arena, BenchPlan, most);
    bench->shapes = ARENA_ARRAY(&ctx->arena, Shape, bench->problem.count);
    memcpy(bench->shapes, bench->problem.shapes, bench->problem.count * sizeof *bench->shapes);
    Keys keys = {0};
    for (uint32_t i = 0; i < bench->problem.count; i++)
        if (!add_cases(bench, i, &keys))
            return cli_status(ctx);
    plan_ceilings(bench);
    return STATUS_OK;
}
