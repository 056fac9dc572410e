/* `tilec run` on the PTX simulator, and launching simulated kernels on arguments of the command
 * line. */
#include "cli/run_sim.h"
#include "runtime/ptxas.h"

/* An array given for two parameters is one array. */
static uint64_t map_array(SimMemory *memory, RunArg *arg) {
    if (!arg->device)
        arg->device = sim_map(memory, arg->name, arg->array.data, arg->array.bytes, NULL, false);
    return arg->device;
}

/* The bytes of a parameter of that size; NULL after a report. A structure is given as an array of
 * as many bytes. */
static const void *parameter(Ctx *ctx, SimMemory *memory, RunArg *arg, uint32_t index,
                             uint64_t size, uint64_t *value) {
    if (arg->map) {
        if (!sim_encode_map(ctx, arg->map, map_array(memory, arg->map->array)))
            return NULL;
        if (size == sizeof arg->map->encoded.bytes)
            return arg->map->encoded.bytes;
        return ctx_diag(ctx, (Span){0}, sim_param_size, index, STR_ARG(arg->name), size), NULL;
    }
    *value = arg->is_array ? map_array(memory, arg) : run_scalar_bits(arg);
    if (size <= sizeof *value)
        return value;
    if (!arg->is_array || arg->array.bytes != size)
        return ctx_diag(ctx, (Span){0}, sim_param_size, index, STR_ARG(arg->name), size), NULL;
    return arg->array.data;
}

/* Appends what the launcher adds; the values of the kernel's own parameters are known by now. */
static bool add_hidden(Ctx *ctx, SimHidden *hidden, const void **params, uint32_t *count) {
    const KernelMeta *meta = &hidden->compiled->meta;
    const KernelImage image = kernel_image(&ctx->arena, hidden->compiled);
    if (meta->has_grid_parameter)
        params[(*count)++] = &hidden->logical_x;
    for (uint32_t i = 0; i < meta->tensor_maps.len; i++) {
        const TensorMapRecipe *recipe = &meta->tensor_maps.data[i];
        RecipeProblem problem;
        if (!sim_encode_recipe(ctx, recipe, params, &hidden->maps[i], &problem)) {
            hidden->other_form = problem.fault != RECIPE_FINE;
            if (hidden->other_form)
                ctx_diag(ctx, (Span){0}, tensor_map_other_form, STR_ARG(meta->name),
                         recipe_explain(&ctx->arena, recipe, &problem, image.param_names, params));
            return false;
        }
        params[(*count)++] = hidden->maps[i].bytes;
    }
    return true;
}

/* The next run has a memory of its own. */
static void forget_addresses(RunArg *const *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        args[i]->device = 0;
        if (args[i]->map)
            args[i]->map->array->device = 0;
    }
}

bool sim_run_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                  uint32_t count, SimHidden *hidden, SimCounts **counts) {
    SimMemory *memory = sim_memory_create(ctx);
    uint64_t *values = ARENA_ARRAY(&ctx->arena, uint64_t, count + 1);
    const void **params = ARENA_ARRAY(&ctx->arena, const void *, count + 1 + RECIPE_MAX_MAPS);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = sim_param_bytes(module, launch->kernel, i);
        params[i] = parameter(ctx, memory, args[i], i, size, &values[i]);
        if (!params[i])
            return false;
    }
    launch->params = params;
    launch->param_count = count;
    StrBuf output = strbuf(&ctx->arena);
    launch->output = &output;
    bool ok = (!hidden || add_hidden(ctx, hidden, params, &launch->param_count)) &&
              sim_launch(module, memory, launch, counts);
    forget_addresses(args, count);
    cli_write(strbuf_str(&output));
    return ok;
}

/* In a context of its own, whose messages nobody reads. */
static void assemble_quietly(Ctx *quiet, const char *wanted, Str ptx, Str kernel,
                             const Target *target, SimCounts *counts) {
    const char *ptxas = ptxas_find(&quiet->arena, wanted);
    AssembleRequest request = {.ptx = ptx, .kernel = kernel, .target = target};
    Resources resources = {0};
    Str cubin;
    if (ptxas && ptxas_assemble(quiet, ptxas, &request, &cubin, &resources))
        sim_set_registers(counts, (uint32_t)resources.registers);
}

void sim_ask_registers(Ctx *ctx, const SimModule *module, Str kernel, const char *ptxas, Str ptx,
                       SimCounts *counts) {
    SimKernel info;
    const Target *target =
        target_by_name(str_from(str_format(&ctx->arena, "sm_%u", sim_capability(module))));
    Ctx *quiet = target && sim_find_kernel(module, kernel, &info) ? ctx_create() : NULL;
    if (quiet && setjmp(quiet->oom) == 0)
        assemble_quietly(quiet, ptxas, ptx, info.name, target, counts);
    ctx_destroy(quiet);
}

bool run_on_sim(Ctx *ctx, SimRun *run) {
    const KernelMeta *meta = &run->compiled->meta;
    Str ptx = run->compiled->outputs[OUTPUT_ptx];
    uint32_t file = source_add(&ctx->sources, STR("kernel.ptx"), ptx);
    run->module = sim_parse(ctx, file);
    if (!run->module)
        return false;
    uint32_t per_cta = meta->programs_per_cta > 1 ? (uint32_t)meta->programs_per_cta : 1;
    const uint32_t *grid = run->grid;
    SimHidden hidden = {.compiled = run->compiled, .logical_x = (int32_t)grid[0]};
    SimLaunch launch = {
        .kernel = meta->name,
        .grid = {(uint32_t)(((uint64_t)grid[0] + per_cta - 1) / per_cta), grid[1], grid[2]},
        .block = {(uint32_t)meta->threads, 1, 1},
        .dynamic_shared = (uint64_t)meta->shared_bytes,
        .max_steps = run->max_steps};
    double start = clock_ms();
    bool ok =
        sim_run_args(ctx, run->module, &launch, run->args, run->arg_count, &hidden, &run->counts);
    run->other_form = hidden.other_form;
    run->times = (RunTimes){1, clock_ms() - start, clock_ms() - start};
    if (run->report && run->counts)
        sim_ask_registers(ctx, run->module, meta->name, run->ptxas, ptx, run->counts);
    return ok;
}
