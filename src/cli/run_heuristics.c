/* What @triton.heuristics say of the arguments of `tilec run`. */
#include "cli/run.h"

static HostValue value_of(Ctx *ctx, const RunArg *arg) {
    if (arg->is_none)
        return (HostValue){.kind = HOST_NONE};
    if (arg->is_array)
        return (HostValue){.kind = HOST_POINTER, .text = str_from(elem_info[arg->array.elem].text)};
    if (elem_is_float(arg->elem))
        return host_float(arg->number);
    if (arg->elem == ELEM_I1)
        return host_bool(arg->integer != 0);
    return arg->elem == ELEM_U64 && arg->integer < 0 ? (HostValue){.kind = HOST_UNKNOWN}
                                                     : host_int(arg->integer);
}

static bool is_defined(const ElaborateRequest *kernel, Str name) {
    for (uint32_t i = 0; i < kernel->define_count; i++)
        if (str_eq(kernel->defines[i].name, name))
            return true;
    return false;
}

HostValue *run_host_values(Ctx *ctx, const RunArgs *args, const Heuristics *heuristics,
                           const FuncDef *def, const ElaborateRequest *kernel) {
    HostValue *values = heuristics_known(ctx, &ctx->arena, heuristics, def, kernel);
    for (size_t i = 0; i < args->len; i++)
        for (uint32_t p = 0; p < heuristics->param_count; p++)
            if (str_eq(heuristics->names[p], args->data[i].name))
                values[p] = value_of(ctx, &args->data[i]);
    return values;
}

bool run_heuristics(Ctx *ctx, const RunArgs *args, CompileRequest *request) {
    ElaborateRequest *kernel = &request->kernel;
    Arena *arena = &ctx->arena;
    uint32_t file;
    /* What is wrong with the source the compilation says. */
    const DiagMark before = diag_mark(&ctx->diags);
    const AstFile *syntax = compile_parse(ctx, request->path, request->text, &file);
    const FuncDef *def = syntax ? frontend_find_kernel(ctx, syntax, kernel->kernel) : NULL;
    diag_rewind(&ctx->diags, before);
    if (!def)
        return true;
    bool *given = ARENA_ARRAY(arena, bool, (size_t)def->param_count + 1);
    for (uint32_t i = 0; i < def->param_count; i++)
        given[i] = is_defined(kernel, def->params[i].name);
    Heuristics heuristics;
    if (!heuristics_read(ctx, arena, syntax, def, given, &heuristics))
        return false;
    HostValue *values = run_host_values(ctx, args, &heuristics, def, kernel);
    HostError error;
    if (!heuristics_apply(&heuristics, values, &error))
        return host_report(ctx, &error);
    heuristics_request(&heuristics, values, arena, kernel);
    return true;
}
