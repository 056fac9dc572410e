/* A launch: checks it, prepares the machine, and starts its programs. */
#include "sim/check/global.h"
#include "sim/machine.h"

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
    if (machine->grid[1] > 65535 || machine->grid[2] > 65535 || machine->grid[0] > INT32_MAX)
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

/* Programs. */

static void set_special(Warp *warp, Special special, uint32_t lane, uint64_t value) {
    warp->special[special].v[lane] = value;
}

static void fill_specials(Warp *warp) {
    const Machine *machine = warp->machine;
    const Cluster *cluster = warp->cta->cluster;
    const uint32_t *block = machine->block, *grid = machine->grid, *id = warp->cta->id;
    const uint32_t *shape = machine->cluster;
    uint64_t shared = sim_aligned_shared(machine->module, machine->kernel) + machine->shared_bytes;
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        memset(warp->special[i].v, 0, sizeof warp->special[i].v);
        memset(warp->special[i].def, BYTE_DEFINED, sizeof warp->special[i].def);
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t thread = warp->index * LANES + lane, bit = 1u << lane;
        const uint64_t values[] = {thread % block[0], thread / block[0] % block[1],
                                   thread / block[0] / block[1]};
        for (int i = 0; i < 3; i++) {
            set_special(warp, SPECIAL_tid_x + i, lane, values[i]);
            set_special(warp, SPECIAL_ntid_x + i, lane, block[i]);
            set_special(warp, SPECIAL_ctaid_x + i, lane, id[i]);
            set_special(warp, SPECIAL_nctaid_x + i, lane, grid[i]);
            set_special(warp, SPECIAL_clusterid_x + i, lane, cluster->id[i]);
            set_special(warp, SPECIAL_nclusterid_x + i, lane, grid[i] / shape[i]);
            set_special(warp, SPECIAL_cluster_ctaid_x + i, lane, id[i] % shape[i]);
            set_special(warp, SPECIAL_cluster_nctaid_x + i, lane, shape[i]);
        }
        set_special(warp, SPECIAL_laneid, lane, lane);
        set_special(warp, SPECIAL_warpid, lane, warp->index);
        set_special(warp, SPECIAL_nwarpid, lane, 64);
        set_special(warp, SPECIAL_nsmid, lane, 132);
        set_special(warp, SPECIAL_smid, lane, warp->cta->number % 132);
        set_special(warp, SPECIAL_lanemask_eq, lane, bit);
        set_special(warp, SPECIAL_lanemask_le, lane, bit | (bit - 1));
        set_special(warp, SPECIAL_lanemask_lt, lane, bit - 1);
        set_special(warp, SPECIAL_lanemask_ge, lane, ~(bit - 1));
        set_special(warp, SPECIAL_lanemask_gt, lane, ~(bit | (bit - 1)));
        set_special(warp, SPECIAL_reserved_end, lane, SIM_SHARED_START);
        set_special(warp, SPECIAL_reserved_cap, lane, SIM_SHARED_START);
        set_special(warp, SPECIAL_dynamic_smem_size, lane, machine->shared_bytes);
        set_special(warp, SPECIAL_total_smem_size, lane, shared);
        set_special(warp, SPECIAL_aggr_smem_size, lane, shared + SIM_SHARED_START);
        set_special(warp, SPECIAL_reserved_smem_offset_end, lane, SIM_SHARED_START);
        set_special(warp, SPECIAL_reserved_smem_offset_cap, lane, SIM_SHARED_START);
        set_special(warp, SPECIAL_cluster_ctarank, lane, warp->cta->rank);
        set_special(warp, SPECIAL_cluster_nctarank, lane, cluster->size);
        set_special(warp, SPECIAL_is_explicit_cluster, lane, machine->is_explicit_cluster);
    }
}

static void start_warp(Cta *cta, uint32_t index) {
    Warp *warp = &cta->warps[index];
    uint8_t *local = warp->local, *local_def = warp->local_def;
    uint64_t local_bytes = warp->local_bytes;
    memset(warp->splits, 0, sizeof warp->splits);
    memset(warp->stack.used, 0, sizeof warp->stack.used);
    clock_reset(cta->cluster, &warp->clock);
    memset(warp->groups, 0, sizeof warp->groups);
    if (local_bytes)
        memset(local_def, 0, local_bytes * LANES);
    uint32_t threads = cta->thread_count - index * LANES;
    warp->cta = cta;
    warp->machine = cta->machine;
    warp->index = index;
    warp->clock_index = cta->rank * cta->warp_count + index;
    warp->threads = threads >= LANES ? ALL_LANES : (1u << threads) - 1;
    warp->alive = warp->threads;
    warp->turn = 0;
    warp->executed = warp->last_meeting = 0;
    warp->polled = warp->released = false;
    warp->spins = warp->polls = 0;
    warp->spin_pc = NO_PC;
    warp->spin_events = 0;
    warp->copies = NULL;
    warp->copy_count = 0;
    warp->bulks = NULL;
    memset(warp->bulk_groups, 0, sizeof warp->bulk_groups);
    warp->poll_pc = NO_PC;
    warp->epoch = 1;
    warp->extra_lanes = 0;
    warp->fence_lanes = warp->flag_lanes = 0;
    if (warp->flag_clock.seen)
        clock_reset(cta->cluster, &warp->flag_clock);
    if (warp->fence_clock.seen)
        clock_reset(cta->cluster, &warp->fence_clock);
    warp->cluster_arrived = warp->cluster_passed = 0;
    warp->registers = registers_at_entry(cta->machine);
    warp->register_changes = 0;
    wgmma_start_warp(warp);
    warp->local = local;
    fill_specials(warp);
    Frame *frame = frame_open(warp, cta->machine->kernel, NULL, NULL);
    warp->splits[0] = (Split){.pc = cta->machine->kernel->begin,
                              .mask = warp->threads,
                              .rpc = NO_PC,
                              .frame = frame,
                              .rframe = frame,
                              .used = true};
    warp->current = &warp->splits[0];
}

static void new_program(Cluster *cluster, uint32_t rank) {
    Machine *machine = cluster->machine;
    Cta *cta = &cluster->ctas[rank];
    cta->machine = machine;
    cta->cluster = cluster;
    cta->rank = rank;
    cta->thread_count = machine->block[0] * machine->block[1] * machine->block[2];
    cta->warp_count = cluster->warp_count / cluster->size;
    cta->warps = cluster->warps + (size_t)rank * cta->warp_count;
    for (uint32_t w = 0; w < cta->warp_count; w++) {
        cta->warps[w].clock = clock_create(machine, cluster);
        cta->warps[w].extra = clock_create(machine, cluster);
    }
    for (unsigned i = 0; i < BARRIERS; i++)
        cta->barriers[i].clock = clock_create(machine, cluster);
    cta->published = ARENA_ARRAY(machine->arena, ClockEntry, cta->warp_count);
    cta->shared_end = machine->module->dynamic_shared + machine->shared_bytes;
    cta->shared = arena_alloc(machine->arena, cta->shared_end);
    cta->shared_def = arena_alloc(machine->arena, cta->shared_end);
    cta->writes = ARENA_ARRAY(machine->arena, SharedCell, cta->shared_end);
    cta->reads = ARENA_ARRAY(machine->arena, SharedCell *, cluster->reader_count);
    if (cluster->size == 1)
        return;
    cta->remote = ARENA_ARRAY(machine->arena, RemoteAccess, cluster->warp_count);
    cta->exit_clock = clock_create(machine, cluster);
}

Cluster *cluster_create(Machine *machine) {
    Cluster *cluster = ARENA_NEW(machine->arena, Cluster);
    uint32_t threads = machine->block[0] * machine->block[1] * machine->block[2];
    cluster->machine = machine;
    cluster->size = machine->cluster[0] * machine->cluster[1] * machine->cluster[2];
    cluster->warp_count = cluster->size * ((threads + LANES - 1) / LANES);
    cluster->warps = ARENA_ARRAY(machine->arena, Warp, cluster->warp_count);
    cluster->ctas = ARENA_ARRAY(machine->arena, Cta, cluster->size);
    cluster->reader_count = cluster->warp_count + wgmma_groups(machine, cluster);
    cluster->max_actors = clock_max_actors(machine, cluster);
    cluster->scratch = clock_create(machine, cluster);
    cluster->arrived_clock = clock_create(machine, cluster);
    cluster->passed_clock = clock_create(machine, cluster);
    for (uint32_t rank = 0; rank < cluster->size; rank++)
        new_program(cluster, rank);
    return cluster;
}

static void start_program(Cta *cta) {
    const Machine *machine = cta->machine;
    const uint32_t *grid = machine->grid, *shape = machine->cluster;
    const uint32_t within[3] = {cta->rank % shape[0], cta->rank / shape[0] % shape[1],
                                cta->rank / shape[0] / shape[1]};
    for (int i = 0; i < 3; i++)
        cta->id[i] = cta->cluster->id[i] * shape[i] + within[i];
    cta->number = (cta->id[2] * grid[1] + cta->id[1]) * grid[0] + cta->id[0];
    memset(cta->published, 0, cta->warp_count * sizeof *cta->published);
    cta->exited = false;
    cta->register_pool = 0;
    if (cta->remote) {
        memset(cta->remote, 0, cta->cluster->warp_count * sizeof *cta->remote);
        clock_reset(cta->cluster, &cta->exit_clock);
    }
    for (unsigned i = 0; i < BARRIERS; i++) {
        Clock clock = cta->barriers[i].clock;
        clock_reset(cta->cluster, &clock);
        cta->barriers[i] = (Barrier){.clock = clock};
    }
    /* What a GPU leaves there is anything; a pattern shows in results. */
    memset(cta->shared, 0xa5, cta->shared_end);
    memset(cta->shared_def, 0, cta->shared_end);
    memset(cta->writes, 0, cta->shared_end * sizeof *cta->writes);
    for (uint32_t w = 0; w < cta->cluster->reader_count; w++)
        if (cta->reads[w])
            memset(cta->reads[w], 0, cta->shared_end * sizeof **cta->reads);
    wgmma_start_program(cta);
    mbarrier_reset(cta);
    for (uint32_t w = 0; w < cta->warp_count; w++)
        start_warp(cta, w);
}

void cluster_start(Cluster *cluster, uint64_t number) {
    const Machine *machine = cluster->machine;
    uint64_t x = machine->grid[0] / machine->cluster[0], y = machine->grid[1] / machine->cluster[1];
    cluster->id[0] = (uint32_t)(number % x);
    cluster->id[1] = (uint32_t)(number / x % y);
    cluster->id[2] = (uint32_t)(number / x / y);
    cluster->done = false;
    /* The same whatever ran before, and on which thread. */
    cluster->random = machine->launch->seed + number * UINT64_C(0x9E3779B97F4A7C15);
    cluster->steps = 0;
    cluster->next_warp = 0;
    cluster->events = cluster->timeout_events = 0;
    cluster->timeouts = 0;
    /* Clocks are cleared for all actors there could be, and begin with the warps. */
    cluster->actor_count = cluster->max_actors;
    clock_reset(cluster, &cluster->scratch);
    flags_reset(cluster);
    clock_reset(cluster, &cluster->arrived_clock);
    clock_reset(cluster, &cluster->passed_clock);
    cluster->barrier_used = false;
    for (uint32_t rank = 0; rank < cluster->size; rank++)
        start_program(&cluster->ctas[rank]);
    cluster->actor_count = cluster->reader_count;
}

static void prepare(Machine *machine, const SimLaunch *launch) {
    const SimModule *module = machine->module;
    Arena *arena = machine->arena;
    machine->shared_bytes = launch->dynamic_shared;
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
    memory_map_image(machine);
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
        if (counts)
            *counts = machine->counts;
        ok = machine->findings == 0;
    }
    arena_rewind(&ctx->scratch, mark);
    return ok;
}
