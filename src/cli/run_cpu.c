/* `tilec run` on the CPU's interpreter: the function as elaborated or after all passes, or after
 * each pass. */
#include "cli/run.h"
#include "interp/interp.h"

CheckTolerance run_tolerance(Elem elem, double atol, double rtol) {
    CheckTolerance tolerance = check_default_tolerance(elem);
    if (atol >= 0)
        tolerance.atol = atol;
    if (rtol >= 0)
        tolerance.rtol = rtol;
    return tolerance;
}

/* The first argument that is the same array; `i` if there is none. */
static uint32_t first_of(const CpuRun *run, uint32_t i) {
    uint32_t first = 0;
    while (run->args[first] != run->args[i])
        first++;
    return first;
}

/* `data`: what arrays hold, one for each argument; NULL: their own. */
static bool interpret(Ctx *ctx, const CpuRun *run, Func *func, void *const *data, StrBuf *output) {
    InterpArray *arrays = ARENA_ARRAY(&ctx->arena, InterpArray, run->arg_count + 1);
    InterpArg *values = ARENA_ARRAY(&ctx->arena, InterpArg, run->arg_count + 1);
    uint32_t array_count = 0;
    for (uint32_t i = 0; i < run->arg_count; i++) {
        const RunArg *arg = run->args[i];
        const uint32_t first = first_of(run, i);
        if (first < i) {
            values[i] = values[first];
        } else if (arg->is_array) {
            values[i] = (InterpArg){.is_array = true, .array = array_count};
            arrays[array_count++] = (InterpArray){.name = arg->name,
                                                  .data = data ? data[i] : arg->array.data,
                                                  .bytes = arg->array.bytes};
        } else {
            values[i] = (InterpArg){.i = arg->integer, .f = arg->number};
        }
    }
    InterpOptions options = {.grid = {run->grid[0], run->grid[1], run->grid[2]},
                             .ctas = run->ctas,
                             .max_steps = run->max_steps,
                             .output = output};
    return interp_run(func, values, arrays, array_count, &options);
}

bool run_on_cpu(Ctx *ctx, const CpuRun *run, Func *func, RunTimes *times) {
    StrBuf output = strbuf(&ctx->arena);
    double start = clock_ms();
    bool ok = interpret(ctx, run, func, NULL, &output);
    double taken = clock_ms() - start;
    *times = (RunTimes){1, taken, taken};
    cli_write(strbuf_str(&output));
    return ok;
}

/* What a pass left, as text: the next pass changes the function itself. */
typedef struct Stage {
    PassId pass;
    unsigned position; /* in the pipeline */
    Str text;
} Stage;

typedef struct Stages {
    Ctx *ctx;
    VEC(Stage) list;
} Stages;

static void keep_stage(void *user, const Func *func, PassId pass, unsigned position, bool changed,
                       double milliseconds) {
    Stages *stages = user;
    Arena *arena = &stages->ctx->arena;
    if (!changed)
        return;
    StrBuf text = strbuf(arena);
    module_print(func->module, &(PrintOptions){0}, &text);
    vec_push(arena, &stages->list, (Stage){pass, position, strbuf_str(&text)});
}

static void *copy_array(Ctx *ctx, const HostArray *array, const void *data) {
    return memcpy(arena_alloc(&ctx->arena, array->bytes + 1), data, array->bytes);
}

static bool compare_arrays(Ctx *ctx, const CpuRun *run, const Stage *stage, void *const *data,
                           double atol, double rtol) {
    for (uint32_t i = 0; i < run->arg_count; i++) {
        const RunArg *arg = run->args[i];
        if (!arg->is_array)
            continue;
        HostArray found = arg->array;
        found.data = data[i];
        const char *what = str_format(&ctx->arena, "%.*s after pass %u, %s", STR_ARG(arg->name),
                                      stage->position, pass_info[stage->pass].name);
        const char *wanted = str_format(&ctx->arena, "%.*s as elaborated", STR_ARG(arg->name));
        if (!check_arrays(ctx, what, &found, wanted, &arg->array,
                          run_tolerance(arg->array.elem, atol, rtol), NULL))
            return false;
    }
    return true;
}

/* Places of findings are in the text of the stage, whose context goes. */
static bool interpret_stage(Ctx *ctx, Ctx *sandbox, const CpuRun *run, const Stage *stage,
                            Func *origin, void *const *data) {
    const char *file = str_format(&sandbox->arena, "%s.tir", pass_info[stage->pass].name);
    Module *module =
        module_parse(sandbox, source_add(&sandbox->sources, str_from(file), stage->text));
    Func *func = module ? module->funcs : NULL;
    while (func && !str_eq(func->name, origin->name))
        func = func->next;
    if (func && interpret(sandbox, run, func, data, NULL))
        return true;
    const Diagnostic *first = sandbox->diags.first;
    const char *why = first ? str_format(&ctx->arena, "%s", first->text) : "it is gone";
    return ctx_diag(ctx, origin->span, run_after_pass, stage->position, pass_info[stage->pass].name,
                    why);
}

static bool run_stage(Ctx *ctx, const CpuRun *run, const Stage *stage, Func *origin,
                      void *const *data) {
    Ctx *sandbox = ctx_create();
    if (!sandbox)
        longjmp(ctx->oom, 1);
    if (setjmp(sandbox->oom)) {
        ctx_destroy(sandbox);
        longjmp(ctx->oom, 1);
    }
    bool ok = interpret_stage(ctx, sandbox, run, stage, origin, data);
    ctx_destroy(sandbox);
    return ok;
}

static bool rerun_stage(Ctx *ctx, const CpuRun *run, const Stage *stage, Func *origin,
                        void *const *before, double atol, double rtol) {
    ArenaMark mark = arena_mark(&ctx->arena);
    void **data = ARENA_ARRAY(&ctx->arena, void *, run->arg_count + 1);
    for (uint32_t i = 0; i < run->arg_count; i++)
        if (first_of(run, i) < i)
            data[i] = data[first_of(run, i)];
        else if (run->args[i]->is_array)
            data[i] = copy_array(ctx, &run->args[i]->array, before[i]);
    bool ok = run_stage(ctx, run, stage, origin, data) &&
              compare_arrays(ctx, run, stage, data, atol, rtol);
    if (ok)
        arena_rewind(&ctx->arena, mark);
    return ok;
}

bool run_every_pass(Ctx *ctx, const CpuRun *run, Func *func, bool check, double atol, double rtol,
                    RunTimes *times) {
    Stages stages = {.ctx = ctx};
    void **before = ARENA_ARRAY(&ctx->arena, void *, run->arg_count + 1);
    for (uint32_t i = 0; i < run->arg_count; i++)
        if (run->args[i]->is_array)
            before[i] = copy_array(ctx, &run->args[i]->array, run->args[i]->array.data);
    if (!run_on_cpu(ctx, run, func, times) ||
        !pipeline_run(func, &(PipelineOptions){check, keep_stage, &stages, NULL}))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < stages.list.len; i++)
        ok = rerun_stage(ctx, run, &stages.list.data[i], func, before, atol, rtol);
    return ok;
}
