/* A launch: checks it, prepares the machine, and runs its programs. */
#include "sim/check/global.h"
#include "sim/exec/memory.h"
#include "sim/report/counters.h"
#include "sim/run.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"
#include "target/grid_limits.h"

enum { MAX_SHARED = 232448, MAX_THREADS = 1024, DEFAULT_REPORTS = 10 };

static const Func *find_entry(const SimModule *module, Str name) {
    const Func *only = NULL;
    unsigned count = 0;
    vec_for_each (at, &module->funcs) {
        if (!(*at)->is_entry || !(*at)->has_body)
            continue;
        if (str_eq((*at)->name, name))
            return *at;
        only = *at;
        count++;
    }
    return name.len == 0 && count == 1 ? only : NULL;
}

static SimKernel describe(const SimModule *module, const Func *func) {
    SimKernel kernel = {.name = func->name,
                        .param_count = (uint32_t)func->params.len,
                        .static_shared = sim_static_shared(module, func)};
    kernel.blocks_are_clusters = func->blocks_are_clusters;
    memcpy(kernel.reqntid, func->reqntid, sizeof kernel.reqntid);
    memcpy(kernel.maxntid, func->maxntid, sizeof kernel.maxntid);
    memcpy(kernel.cluster, func->cluster, sizeof kernel.cluster);
    return kernel;
}

uint32_t sim_kernel_count(const SimModule *module) {
    uint32_t count = 0;
    vec_for_each (at, &module->funcs)
        count += (*at)->is_entry && (*at)->has_body;
    return count;
}

SimKernel sim_kernel(const SimModule *module, uint32_t index) {
    vec_for_each (at, &module->funcs)
        if ((*at)->is_entry && (*at)->has_body && index-- == 0)
            return describe(module, *at);
    return (SimKernel){.param_count = 0};
}

bool sim_find_kernel(const SimModule *module, Str name, SimKernel *kernel) {
    const Func *func = find_entry(module, name);
    if (func)
        *kernel = describe(module, func);
    return func != NULL;
}

uint64_t sim_param_bytes(const SimModule *module, Str kernel, uint32_t index) {
    const Func *func = find_entry(module, kernel);
    return func && index < func->params.len ? func->params.data[index]->size : 0;
}

/* Is the launch valid? */

static bool check_block(Ctx *ctx, const Func *func, const uint32_t block[3], Span span) {
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!block[i] || block[i] > MAX_THREADS)
            return ctx_diag(ctx, span, sim_block_size, block[0], block[1], block[2],
                            (int)MAX_THREADS);
        threads *= block[i];
        if (func->reqntid[0] && func->reqntid[i] != block[i])
            return ctx_diag(ctx, span, sim_block_required, STR_ARG(func->name), func->reqntid[0],
                            func->reqntid[1], func->reqntid[2], block[0], block[1], block[2]);
    }
    uint64_t most = func->maxntid[0]
                        ? (uint64_t)func->maxntid[0] * func->maxntid[1] * func->maxntid[2]
                        : MAX_THREADS;
    if (threads > most)
        return ctx_diag(ctx, span, sim_block_size, block[0], block[1], block[2], (int)most);
    return true;
}

/* The shape of clusters, which the kernel or the launch gives, and the grid in whole ones. */
static bool check_cluster(Machine *machine, const SimLaunch *launch, Span span) {
    Ctx *ctx = machine->ctx;
    const Func *func = machine->kernel;
    uint32_t *shape = machine->cluster;
    uint64_t size = 1, most = func->max_cluster_rank ? func->max_cluster_rank : MAX_CLUSTER;
    machine->is_explicit_cluster = launch->cluster[0] || func->cluster[0];
    if (func->explicit_cluster && !machine->is_explicit_cluster)
        return ctx_diag(ctx, span, sim_cluster_wanted, STR_ARG(func->name));
    for (int i = 0; i < 3; i++) {
        shape[i] = launch->cluster[0] ? launch->cluster[i]
                   : func->cluster[0] ? func->cluster[i]
                                      : 1;
        if (func->cluster[0] && func->cluster[i] != shape[i])
            return ctx_diag(ctx, span, sim_cluster_required, STR_ARG(func->name), func->cluster[0],
                            func->cluster[1], func->cluster[2], launch->cluster[0],
                            launch->cluster[1], launch->cluster[2]);
    }
    for (int i = 0; i < 3 && size && size <= MAX_CLUSTER; i++)
        size *= shape[i];
    most = most < MAX_CLUSTER ? most : MAX_CLUSTER;
    if (!size || size > most)
        return ctx_diag(ctx, span, sim_cluster_size, shape[0], shape[1], shape[2], (int)most);
    if (size > 1 && machine->module->sm < 90)
        return ctx_diag(ctx, span, sim_cluster_target, machine->module->sm);
    for (int i = 0; i < 3; i++) {
        uint64_t programs = (uint64_t)launch->grid[i] * (func->blocks_are_clusters ? shape[i] : 1);
        if (programs % shape[i])
            return ctx_diag(ctx, span, sim_cluster_grid, launch->grid[0], launch->grid[1],
                            launch->grid[2], shape[0], shape[1], shape[2]);
        machine->grid[i] = programs > UINT32_MAX ? UINT32_MAX : (uint32_t)programs;
    }
    return true;
}

static bool check_launch(Machine *machine, const SimLaunch *launch) {
    Ctx *ctx = machine->ctx;
    const SimModule *module = machine->module;
    const Func *func = find_entry(module, launch->kernel);
    Span module_span = {module->file, 0, 0};
    if (!func)
        return ctx_diag(ctx, module_span, sim_no_kernel, STR_ARG(launch->kernel),
                        sim_kernel_count(module));
    machine->kernel = func;
    Span span = {module->file, func->lo, func->hi};
    if (launch->param_count != func->params.len)
        return ctx_diag(ctx, span, sim_param_count, STR_ARG(func->name), (unsigned)func->params.len,
                        launch->param_count);
    memcpy(machine->block, launch->block[0] ? launch->block : func->reqntid, sizeof machine->block);
    if (!check_block(ctx, func, machine->block, span) || !check_cluster(machine, launch, span))
        return false;
    for (uint32_t axis = 0; axis < 3; axis++)
        if (machine->grid[axis] > target_max_grid(axis))
            return ctx_diag(ctx, span, sim_grid_size, machine->grid[0], machine->grid[1],
                            machine->grid[2]);
    machine->program_count = (uint64_t)machine->grid[0] * machine->grid[1] * machine->grid[2];
    if (machine->program_count > UINT32_MAX - 2)
        return ctx_diag(ctx, span, sim_grid_size, machine->grid[0], machine->grid[1],
                        machine->grid[2]);
    uint64_t shared = sim_aligned_shared(module, func) + launch->dynamic_shared;
    if (shared > MAX_SHARED)
        return ctx_diag(ctx, span, sim_shared_size, STR_ARG(func->name), shared, (int)MAX_SHARED);
    return true;
}

static void prepare(Machine *machine, const SimLaunch *launch) {
    const SimModule *module = machine->module;
    Arena *arena = machine->arena;
    machine->shared_bytes = launch->dynamic_shared;
    machine->timing = launch->timing;
    machine->max_findings = launch->max_reports ? launch->max_reports : DEFAULT_REPORTS;
    machine->params = arena_alloc(arena, machine->kernel->param_bytes + 16);
    for (uint32_t i = 0; i < launch->param_count; i++) {
        const Variable *param = machine->kernel->params.data[i];
        memcpy(machine->params + param->address, launch->params[i], param->size);
    }
    machine->constants = ARENA_ARRAY(arena, Reg, module->constants.len + 1);
    for (size_t i = 0; i < module->constants.len; i++) {
        memset(machine->constants[i].def, BYTE_DEFINED, sizeof machine->constants[i].def);
        for (uint32_t lane = 0; lane < LANES; lane++)
            machine->constants[i].v[lane] = module->constants.data[i];
    }
    machine->free_frames = ARENA_ARRAY(arena, Frame *, module->funcs.len + 1);
    sim_map_variables(machine->module, machine->memory);
    memory_map_shared(machine);
    machine->order = ARENA_NEW(arena, GlobalOrder);
}

static void start_counts(Machine *machine) {
    Arena *arena = &machine->ctx->arena;
    SimCounts *counts = counts_create(arena, machine->arena, (uint32_t)machine->module->insns.len,
                                      (uint32_t)machine->memory->allocations.len);
    counts->kernel = str_dup(arena, machine->kernel->name);
    counts->programs = (uint32_t)machine->program_count;
    counts->threads = machine->block[0] * machine->block[1] * machine->block[2];
    counts->static_shared = sim_static_shared(machine->module, machine->kernel);
    counts->dynamic_shared = machine->launch->dynamic_shared;
    machine->counts = counts;
}

bool sim_launch(SimModule *module, SimMemory *memory, const SimLaunch *launch, SimCounts **counts) {
    Ctx *ctx = module->ctx;
    ArenaMark mark = arena_mark(&ctx->scratch);
    Machine *machine = ARENA_NEW(&ctx->scratch, Machine);
    *machine = (Machine){
        .ctx = ctx, .arena = &ctx->scratch, .module = module, .memory = memory, .launch = launch};
    bool ok = check_launch(machine, launch);
    if (ok) {
        prepare(machine, launch);
        start_counts(machine);
        programs_run(machine);
        counts_finish(machine->counts);
        if (machine->timing)
            machine->timing->complete = !machine->stop;
        if (counts)
            *counts = machine->counts;
        ok = machine->findings == 0;
    }
    arena_rewind(&ctx->scratch, mark);
    return ok;
}
