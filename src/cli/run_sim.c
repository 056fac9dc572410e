/* `tilec run` on the PTX simulator, and launching simulated kernels on arguments of the command
 * line. */
#include "cli/run_sim.h"
#include "runtime/tools/ptxas.h"

/* An array given for two parameters is one array. */
static uint64_t map_array(SimMemory *memory, RunArg *arg) {
    if (!arg->device)
        arg->device = sim_map(memory, arg->name, arg->array.data, arg->array.bytes, NULL, false);
    return arg->device;
}

/* The parameters of a launch, so far. */
typedef struct SimParams {
    Ctx *ctx;
    SimMemory *memory;
    const void **values;
    const Str *names;
    DType *types; /* what recipes may read them as; DT_COUNT: nothing */
    uint32_t count;
} SimParams;

static DType type_of_size(uint64_t size) {
    return size == 1   ? DT_I8
           : size == 2 ? DT_I16
           : size == 4 ? DT_I32
           : size == 8 ? DT_I64
                       : DT_COUNT;
}

static bool encode_by_recipe(const SimParams *params, SimMapArg *map) {
    Ctx *ctx = params->ctx;
    RecipeProblem problem;
    if (!recipe_fits(map->recipe, params->types, params->count))
        return ctx_diag(ctx, (Span){0}, sim_tensor_map,
                        "its recipe reads what is no parameter before it, or one of another size");
    if (simulate_map(ctx, map->recipe, params->values, &map->encoded, &problem))
        return true;
    return problem.fault != RECIPE_FINE &&
           ctx_diag(
               ctx, (Span){0}, sim_tensor_map,
               recipe_explain(&ctx->arena, map->recipe, &problem, params->names, params->values));
}

/* The bytes of the next parameter, of that size; NULL after a report. A structure is given as an
 * array of as many bytes. */
static const void *parameter(const SimParams *params, RunArg *arg, uint64_t size, uint64_t *value) {
    Ctx *ctx = params->ctx;
    SimMapArg *map = arg->map;
    if (map) {
        bool encoded = map->recipe
                           ? encode_by_recipe(params, map)
                           : sim_encode_map(ctx, map, map_array(params->memory, map->array));
        if (!encoded)
            return NULL;
        if (size == sizeof map->encoded.bytes)
            return map->encoded.bytes;
    } else {
        *value = arg->is_array ? map_array(params->memory, arg) : run_scalar_bits(arg);
        if (size <= sizeof *value)
            return value;
        if (arg->is_array && arg->array.bytes == size)
            return arg->array.data;
    }
    ctx_diag(ctx, (Span){0}, sim_param_size, params->count, STR_ARG(arg->name), size);
    return NULL;
}

/* The next run has a memory of its own. */
static void forget_addresses(RunArg *const *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        args[i]->device = 0;
        if (args[i]->map && args[i]->map->array)
            args[i]->map->array->device = 0;
    }
}

/* The values of the parameters. False after a report. */
static bool fill_params(SimParams *params, const SimModule *module, Str kernel, RunArg *const *args,
                        uint32_t count) {
    Arena *arena = &params->ctx->arena;
    uint64_t *values = ARENA_ARRAY(arena, uint64_t, count + 1);
    Str *names = ARENA_ARRAY(arena, Str, count + 1);
    params->names = names;
    params->values = ARENA_ARRAY(arena, const void *, count + 1);
    params->types = ARENA_ARRAY(arena, DType, count + 1);
    for (uint32_t i = 0; i < count; i++, params->count++) {
        uint64_t size = sim_param_bytes(module, kernel, i);
        names[i] = args[i]->name;
        params->types[i] = type_of_size(size);
        params->values[i] = parameter(params, args[i], size, &values[i]);
        if (!params->values[i])
            return false;
    }
    return true;
}

/* Whether the launch's parameters could be filled in, as far as the module has them: of what it has
 * not a launch says more. */
static bool fill_launch(SimParams *params, SimModule *module, SimLaunch *launch,
                        RunArg *const *args, uint32_t count) {
    SimKernel kernel;
    launch->param_count = count;
    if (!sim_find_kernel(module, launch->kernel, &kernel) || kernel.param_count < count)
        return true;
    if (!fill_params(params, module, launch->kernel, args, count))
        return false;
    launch->params = params->values;
    return true;
}

bool sim_run_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                  uint32_t count, SimCounts **counts) {
    SimParams params = {.ctx = ctx, .memory = sim_memory_create(ctx)};
    StrBuf output = strbuf(&ctx->arena);
    if (!fill_launch(&params, module, launch, args, count))
        return false;
    launch->output = &output;
    bool ok = sim_launch(module, params.memory, launch, counts);
    cli_write(strbuf_str(&output));
    return ok;
}

bool sim_time_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                   uint32_t count, const SimTimeOptions *options, SimTime *time) {
    SimParams params = {.ctx = ctx, .memory = sim_memory_create(ctx)};
    return fill_launch(&params, module, launch, args, count) &&
           sim_predict(module, params.memory, launch, options, time);
}

/* In a context of its own, whose messages nobody reads. */
static void assemble_quietly(Ctx *quiet, const char *wanted, Str ptx, Str kernel,
                             const Target *target, Resources *resources) {
    const char *ptxas = ptxas_find(&quiet->arena, wanted);
    AssembleRequest request = {.ptx = ptx, .kernel = kernel, .target = target};
    Resources found = {0};
    Str cubin;
    if (ptxas && ptxas_assemble(quiet, ptxas, &request, &cubin, &found))
        *resources = found;
}

Resources sim_ask_resources(Ctx *ctx, const SimModule *module, Str kernel, const char *ptxas,
                            Str ptx) {
    SimKernel info;
    Resources resources = {0};
    const Target *target =
        target_by_name(str_from(str_format(&ctx->arena, "sm_%u", sim_capability(module))));
    Ctx *quiet = target && sim_find_kernel(module, kernel, &info) ? ctx_create() : NULL;
    if (quiet && setjmp(quiet->oom) == 0)
        assemble_quietly(quiet, ptxas, ptx, info.name, target, &resources);
    ctx_destroy(quiet);
    return resources;
}

void sim_ask_registers(Ctx *ctx, const SimModule *module, Str kernel, const char *ptxas, Str ptx,
                       SimCounts *counts) {
    sim_set_registers(counts,
                      (uint32_t)sim_ask_resources(ctx, module, kernel, ptxas, ptx).registers);
}

/* What the clock says of the launch that has been. Findings were reported there. */
static void clock_args(Ctx *ctx, SimRun *run, Simulation *simulation) {
    const SimTimeOptions options = {
        .registers = run->registers, .spilled = run->spilled, .spent = true};
    const DiagMark before = diag_mark(&ctx->diags);
    SimTime *time = ARENA_NEW(&ctx->arena, SimTime);
    simulation->launch.output = NULL;
    if (simulate_time(ctx, simulation, &options, time))
        run->time = time;
    diag_rewind(&ctx->diags, before);
}

/* False: nothing was launched, or findings. */
static bool simulate_args(Ctx *ctx, SimRun *run, Simulation *simulation) {
    SimParams params = {.ctx = ctx, .memory = simulation->memory};
    StrBuf output = strbuf(&ctx->arena);
    if (!fill_params(&params, run->module, run->compiled->facts.meta.name, run->args,
                     run->arg_count))
        return false;
    simulation->params = params.values;
    simulation->launch.output = &output;
    bool ok = simulate(ctx, simulation);
    if (ok && run->clock)
        clock_args(ctx, run, simulation);
    forget_addresses(run->args, run->arg_count);
    cli_write(strbuf_str(&output));
    return ok;
}

static bool read_ptx(Ctx *ctx, SimRun *run) {
    HostKernel kernel;
    if (!run->module && host_kernel_open(ctx, HOST_SIMULATOR, run->compiled, &kernel))
        run->module = kernel.module;
    return run->module != NULL;
}

bool run_on_sim(Ctx *ctx, SimRun *run) {
    if (!read_ptx(ctx, run))
        return false;
    Simulation simulation = {.facts = &run->compiled->facts,
                             .module = run->module,
                             .memory = sim_memory_create(ctx),
                             .param_count = run->arg_count,
                             .grid = run->grid,
                             .ctas = run->ctas,
                             .launch = {.schedule = (SimSchedule)run->order.schedule,
                                        .seed = (uint64_t)run->order.seed,
                                        .early = run->order.early,
                                        .max_steps = run->max_steps}};
    double start = clock_ms();
    bool ok = simulate_args(ctx, run, &simulation);
    double taken = clock_ms() - start;
    run->other_form = simulation.other_form;
    run->counts = simulation.counts;
    run->times = (RunTimes){1, taken, taken};
    if (run->report && run->counts)
        sim_ask_registers(ctx, run->module, run->compiled->facts.meta.name, run->ptxas,
                          run->compiled->outputs[OUTPUT_ptx], run->counts);
    return ok;
}
