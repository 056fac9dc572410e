/* `tilec run` on the PTX simulator, and launching simulated kernels on arguments of the command
 * line. */
#include "cli/run_sim.h"

bool sim_run_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                  uint32_t count, const void *hidden, SimCounts **counts) {
    SimMemory *memory = sim_memory_create(ctx);
    uint64_t *values = ARENA_ARRAY(&ctx->arena, uint64_t, count + 1);
    const void **params = ARENA_ARRAY(&ctx->arena, const void *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        RunArg *arg = args[i];
        params[i] = &values[i];
        /* An array given for two parameters is one array. */
        if (arg->is_array && !arg->device)
            arg->device =
                sim_map(memory, arg->name, arg->array.data, arg->array.bytes, NULL, false);
        values[i] = arg->is_array ? arg->device : run_scalar_bits(arg);
        /* A structure is given as an array of as many bytes. */
        uint64_t size = sim_param_bytes(module, launch->kernel, i);
        if (size <= sizeof values[i])
            continue;
        if (!arg->is_array || arg->array.bytes != size)
            return ctx_diag(ctx, (Span){0}, sim_param_size, i, STR_ARG(arg->name), size);
        params[i] = arg->array.data;
    }
    params[count] = hidden;
    launch->params = params;
    launch->param_count = count + (hidden ? 1 : 0);
    StrBuf output = strbuf(&ctx->arena);
    launch->output = &output;
    bool ok = sim_launch(module, memory, launch, counts);
    for (uint32_t i = 0; i < count; i++)
        args[i]->device = 0;
    cli_write(strbuf_str(&output));
    return ok;
}

bool run_on_sim(Ctx *ctx, const Compiled *compiled, RunArg *const *args, uint32_t count,
                const uint32_t grid[3], uint64_t max_steps, bool report, RunTimes *times) {
    const KernelMeta *meta = &compiled->meta;
    Str ptx = compiled->outputs[OUTPUT_ptx];
    uint32_t file = source_add(&ctx->sources, STR("kernel.ptx"), ptx);
    SimModule *module = sim_parse(ctx, file);
    if (!module)
        return false;
    uint32_t per_cta = meta->programs_per_cta > 1 ? (uint32_t)meta->programs_per_cta : 1;
    int32_t logical_x = (int32_t)grid[0];
    SimLaunch launch = {
        .kernel = meta->name,
        .grid = {(uint32_t)(((uint64_t)grid[0] + per_cta - 1) / per_cta), grid[1], grid[2]},
        .block = {(uint32_t)meta->threads, 1, 1},
        .dynamic_shared = (uint64_t)meta->shared_bytes,
        .max_steps = max_steps};
    SimCounts *counts = NULL;
    double start = clock_ms();
    bool ok = sim_run_args(ctx, module, &launch, args, count,
                           meta->has_grid_parameter ? &logical_x : NULL, &counts);
    *times = (RunTimes){1, clock_ms() - start, clock_ms() - start};
    if (report && counts) {
        StrBuf text = strbuf(&ctx->arena);
        sim_print_counts(module, counts, &text);
        cli_write(strbuf_str(&text));
    }
    return ok;
}
