/* Programs and clusters of them: room for one, and the state in which one starts. */
#include "sim/programs.h"

#include "sim/check/clock.h"
#include "sim/check/flags.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/registers.h"
#include "sim/exec/shared_accesses.h"
#include "sim/exec/splits.h"
#include "sim/exec/wgmma.h"
#include "sim/state/program.h"
#include "sim/time/timing.h"

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
    forget_readers(cta);
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
    if (machine->timing)
        timing_start(machine->timing, cluster->size, cluster->warp_count);
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
