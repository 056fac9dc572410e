/* Runs the programs of a launch, on one thread or on several.
 *
 * On one thread clusters run in their order, in slots that are used again; one that does not end
 * within its quantum (it may wait for another) stays resident, and takes turns with those started
 * after it. Other schedules start some before any runs, and mix their turns: random ones, or the
 * latest first.
 *
 * On several threads each has a machine of its own, which takes the next cluster whenever it has
 * room. What machines share are the arrays of global memory, which they access atomically, and who
 * accessed them last. They report nothing: at the first finding all stop, the arrays get back what
 * they held before, and one thread runs the launch again. So the findings are those of one thread,
 * whatever the number of threads; and so are the results, unless programs depend on each other's
 * order. */
#include "sim/run.h"

#include "sim/check/global.h"
#include "sim/programs.h"
#include "sim/report/counters.h"
#include "sim/schedule.h"
#include "sim/state/program.h"
#include "sim/state/team.h"
#include "support/c_locale.h"

#include <pthread.h>
#include <unistd.h>

enum {
    QUANTUM = 200000,
    MAX_RESIDENT = 64,
    MIXED = 8, /* clusters that schedules other than round robin start before any runs */
    MIXED_QUANTUM = 500,
    MAX_THREADS_USED = 64,
    LOOP_WEIGHT = 32,    /* how often a loop is taken to run */
    LEAST_WORK = 20000,  /* warp instructions for which threads are worth starting */
    WORK_OF_BYTES = 512, /* bytes that are saved in the time of a warp instruction */
    HOST_ALIGNMENT = 16,
};

/* One machine of a team, with memory of its own. */
typedef struct Worker {
    Machine machine;
    Arena arena;
    jmp_buf oom;
    pthread_t thread;
    bool started;
} Worker;

/* Programs. */

static uint64_t take_cluster(Machine *machine, uint64_t *next) {
    if (machine->team)
        return __atomic_fetch_add(&machine->team->next, 1, __ATOMIC_RELAXED);
    return (*next)++;
}

/* Whose turn it is after the one at `turn`: to an adversary that of the one started before it. */
static unsigned next_turn(Machine *machine, unsigned turn, unsigned count, uint64_t *random) {
    switch (machine->launch->schedule) {
    case SIM_RANDOM:
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)((*random >> 33) % count);
    case SIM_ADVERSARIAL:
        return (turn + count - 1) % count;
    case SIM_ROUND_ROBIN:
        break;
    }
    return (turn + 1) % count;
}

static void run_clusters(Machine *machine) {
    Cluster *resident[MAX_RESIDENT], *free_slots[MAX_RESIDENT];
    uint32_t size = machine->cluster[0] * machine->cluster[1] * machine->cluster[2];
    bool mixed = machine->launch->schedule != SIM_ROUND_ROBIN;
    unsigned count = 0, free_count = 0, turn = 0, waiting = 0, room = MAX_RESIDENT / size;
    unsigned most = mixed && room > MIXED ? MIXED : room;
    uint64_t next = 0, clusters = machine->program_count / size, number = 0;
    uint64_t random = machine->launch->seed;
    if (machine->timing) {
        next = machine->launch->timed_cluster;
        clusters = next + 1;
    }
    while ((number < clusters || count) && !machine->stop) {
        Cluster *cluster;
        arena_check(machine->arena); /* programs may wait for ever */
        if (count < most && number < clusters &&
            (number = take_cluster(machine, &next)) < clusters) {
            cluster = free_count ? free_slots[--free_count] : cluster_create(machine);
            cluster_start(cluster, number);
            turn = count;
            resident[count++] = cluster;
            if (mixed) {
                turn = 0;
                continue;
            }
        } else if (count) {
            turn = next_turn(machine, turn, count, &random);
            cluster = resident[turn];
        } else {
            break;
        }
        if (!cluster_run(cluster, mixed ? MIXED_QUANTUM : QUANTUM) && !cluster->done) {
            /* They may wait for one that has not begun. */
            most += ++waiting % (8 * most) == 0 && most < room;
            continue;
        }
        waiting = 0;
        free_slots[free_count++] = cluster;
        memmove(&resident[turn], &resident[turn + 1], (--count - turn) * sizeof *resident);
    }
}

static void reset_order(Machine *machine) {
    *machine->order = (GlobalOrder){
        .cells = ARENA_ARRAY(machine->arena, GlobalCell *, machine->memory->allocations.len + 1)};
}

/* On several threads. */

static void worker_begin(Worker *worker, const Machine *machine, Team *team) {
    Machine *own = &worker->machine;
    *own = *machine;
    worker->arena = (Arena){.oom = &worker->oom,
                            .limit = machine->ctx->scratch.limit,
                            .allocator = machine->ctx->scratch.allocator,
                            .cancel = machine->ctx->scratch.cancel};
    own->arena = &worker->arena;
    own->team = team;
}

static void run_own(Worker *worker) {
    Machine *machine = &worker->machine;
    if (setjmp(worker->oom)) {
        if (machine->holds_order)
            team_unlock_order(machine);
        team_abandon(machine);
        return;
    }
    machine->free_frames = ARENA_ARRAY(machine->arena, Frame *, machine->module->funcs.len + 1);
    machine->counts = counts_create(machine->arena, machine->arena, machine->counts->insn_count,
                                    machine->counts->touched_count);
    run_clusters(machine);
}

static void *worker_run(void *argument) {
    const locale_t before = c_locale_enter();
    run_own(argument);
    c_locale_leave(before);
    return NULL;
}

/* What kernels may change, as it was. */
typedef struct Saved {
    uint8_t *data, *defined;
} Saved;

static Saved *save_memory(const Machine *machine) {
    const SimMemory *memory = machine->memory;
    Saved *saved = ARENA_ARRAY(machine->arena, Saved, memory->allocations.len + 1);
    for (size_t i = 0; i < memory->allocations.len; i++) {
        const Allocation *allocation = &memory->allocations.data[i];
        if (allocation->read_only || !allocation->size)
            continue;
        saved[i].data =
            arena_grow(machine->arena, allocation->data, allocation->size, allocation->size);
        if (allocation->defined)
            saved[i].defined =
                arena_grow(machine->arena, allocation->defined, allocation->size, allocation->size);
    }
    return saved;
}

static void restore_memory(const Machine *machine, const Saved *saved) {
    const SimMemory *memory = machine->memory;
    for (size_t i = 0; i < memory->allocations.len; i++) {
        const Allocation *allocation = &memory->allocations.data[i];
        if (saved[i].data)
            memcpy(allocation->data, saved[i].data, allocation->size);
        if (saved[i].defined)
            memcpy(allocation->defined, saved[i].defined, allocation->size);
    }
}

/* False: there was a finding or something failed, and memory is as before. */
static bool run_on(Machine *machine, unsigned threads) {
    Saved *saved = save_memory(machine);
    Team *team = ARENA_NEW(machine->arena, Team);
    Worker *workers = ARENA_ARRAY(machine->arena, Worker, threads);
    uint64_t steps = 0, limit = machine->launch->max_steps;
    for (unsigned i = 0; i < threads; i++)
        worker_begin(&workers[i], machine, team);
    team_begin(team);
    /* The calling thread is the first one; fewer than wanted do as well. */
    for (unsigned i = 1; i < threads; i++)
        workers[i].started = !pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
    worker_run(&workers[0]);
    for (unsigned i = 1; i < threads; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < threads; i++)
        steps += workers[i].machine.steps;
    bool ok = !team->abandoned && (!limit || steps < limit);
    for (unsigned i = 0; i < threads && ok; i++)
        if (!i || workers[i].started)
            counts_add(machine->counts, workers[i].machine.counts);
    team_end(team);
    for (unsigned i = 0; i < threads; i++)
        arena_free(&workers[i].arena);
    if (!ok)
        restore_memory(machine, saved);
    return ok;
}

/* A guess of the warp instructions of a program, from the text of the kernel. */
static uint64_t guess_work(const Machine *machine, uint64_t warps) {
    const SimModule *module = machine->module;
    uint64_t insns = 0, loops = 0;
    vec_for_each (at, &module->funcs)
        for (uint32_t pc = (*at)->begin; (*at)->has_body && pc < (*at)->end; pc++) {
            const Insn *insn = &module->insns.data[pc];
            insns++;
            if (insn->is_branch && insn->target < pc)
                loops += pc - insn->target;
        }
    return (insns + loops * LOOP_WEIGHT) * warps;
}

static bool prints(const SimModule *module) {
    vec_for_each (insn, &module->insns)
        if (insn->call && insn->call->kind == CALL_VPRINTF)
            return true;
    return false;
}

/* How many threads the launch is worth. */
static unsigned choose_threads(const Machine *machine) {
    const SimMemory *memory = machine->memory;
    uint32_t size = machine->cluster[0] * machine->cluster[1] * machine->cluster[2];
    uint64_t threads = machine->launch->threads, clusters = machine->program_count / size;
    uint64_t warps =
        ((uint64_t)machine->block[0] * machine->block[1] * machine->block[2] + LANES - 1) / LANES *
        machine->program_count;
    uint64_t bytes = 0;
    bool forced = threads > 0;
    if (!threads) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores > 0 ? (uint64_t)cores : 1;
    }
    threads = threads < clusters ? threads : clusters;
    threads = threads < MAX_THREADS_USED ? threads : MAX_THREADS_USED;
    if (threads < 2 || (machine->launch->output && prints(machine->module)))
        return 1;
    for (size_t i = 0; i < memory->allocations.len; i++) {
        const Allocation *allocation = &memory->allocations.data[i];
        if ((uintptr_t)allocation->data % HOST_ALIGNMENT)
            return 1;
        bytes += allocation->read_only ? 0 : allocation->size;
    }
    uint64_t work = guess_work(machine, warps);
    if (!forced && (work < LEAST_WORK || work * WORK_OF_BYTES < bytes))
        return 1;
    return (unsigned)threads;
}

void programs_run(Machine *machine) {
    unsigned threads = machine->timing ? 1 : choose_threads(machine);
    reset_order(machine);
    if (threads > 1 && run_on(machine, threads))
        return;
    reset_order(machine);
    run_clusters(machine);
}
