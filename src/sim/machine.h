/* The state of a launch, as executors see it. */
#ifndef TILEC_SIM_MACHINE_H
#define TILEC_SIM_MACHINE_H
#include "sim/parse/module.h"
#include "sim/report/counters.h"
#include "sim/sim.h"

enum {
    LANES = 32,
    MAX_WARPS = 32,
    MAX_CLUSTER = 16, /* programs of a cluster */
    BARRIERS = 16,
    MAX_SPLITS = 80,
    MAX_CALL_DEPTH = 256,
    SPIN_LIMIT = 1000 /* instructions of a warp that polls before threads go on alone */
};
#define ALL_LANES UINT32_MAX

/* A register of a warp: for each lane its bits, zero-extended, and which of them are defined; those
 * behind its width are, unless it was never written. */
typedef struct Reg {
    uint64_t v[LANES], def[LANES];
} Reg;
#define DEFINED UINT64_MAX
/* Memory has a byte of such bits for each byte. */
enum { BYTE_DEFINED = 0xff };

typedef struct Machine Machine;
typedef struct Cta Cta;
typedef struct Cluster Cluster;
typedef struct Flag Flag;

/* A function that runs: its registers, and where it goes on. */
typedef struct Frame {
    const Func *func;
    Reg *regs;
    struct Frame *caller;
    const Insn *call;
    uint32_t return_pc, depth;
    uint64_t local_base;      /* of its local variables, in each thread's local memory */
    struct MatrixReg *matrix; /* by register, when the function has wgmma */
    uint32_t *stack_begin;    /* by lane: of what alloca gave it; NULL: nothing */
} Frame;

/* What alloca gives the threads of a warp, lane by lane. */
typedef struct Stack {
    uint8_t *data, *defined;
    uint64_t size; /* of a lane's part */
    uint32_t used[LANES];
} Stack;

/* What is known of an actor's accesses: all up to epoch `all`, and up to epoch `some` those of
 * `lanes`. */
typedef struct ClockEntry {
    uint32_t all, some, lanes;
} ClockEntry;

/* A vector clock, by actor: see clock.c; for other programs see races_global.c. */
typedef struct Clock {
    ClockEntry *seen, *fenced, *exported;
    uint64_t found, acquired; /* the latest times of what strong reads found and fences acquired */
} Clock;

typedef enum WaitKind {
    WAIT_NONE,
    WAIT_CHILDREN,
    WAIT_BARRIER,
    WAIT_CLUSTER,   /* at the barrier of the cluster */
    WAIT_REGISTERS, /* setmaxnreg.inc, for the program's pool */
    WAIT_LANES,
    WAIT_WARPGROUP, /* for the other warps that execute a wgmma */
    WAIT_MBARRIER,
} WaitKind;

typedef struct Mbarrier Mbarrier;

/* Threads of a warp that share a program counter. */
typedef struct Split {
    uint32_t pc, mask;
    uint32_t rpc; /* where it ends and its parent goes on; NO_PC for the root */
    Frame *frame, *rframe;
    struct Split *parent;
    unsigned children;
    WaitKind wait;
    uint32_t wait_mask;   /* WAIT_LANES: who is here; otherwise who waits */
    uint32_t wait_member; /* WAIT_LANES: who must come */
    uint32_t barrier;
    Mbarrier *mbarrier;      /* waited at, until the wait has run again */
    uint32_t mbarrier_phase; /* that is to end */
    bool timed_out;          /* its wait gives false now */
    bool used;
} Split;

/* One cp.async of one thread, or several of a warp. */
typedef struct Copy {
    struct Copy *next;
    const Insn *insn;
    uint32_t lane;
    uint32_t group;  /* UINT32_MAX: not committed */
    uint32_t number; /* of the warp's copies */
    uint64_t dst;    /* address in shared memory */
    uint64_t src;    /* generic address */
    uint32_t size, source_size;
} Copy;

struct Warp {
    Cta *cta;
    Machine *machine;
    uint32_t index;       /* in its program */
    uint32_t clock_index; /* in its cluster: the warp as an actor of vector clocks */
    uint32_t threads;     /* lanes that exist */
    uint32_t alive;       /* lanes that have not exited */
    Split splits[MAX_SPLITS];
    Split *current;
    unsigned turn;
    Reg special[SPECIAL_COUNT];
    uint8_t *local, *local_def; /* lane by lane */
    uint64_t local_bytes;       /* of a lane */
    Stack stack;
    uint32_t epoch; /* of its accesses now; the first is 1 */
    Clock clock;    /* what all lanes know */
    Clock extra;    /* what `extra_lanes` know besides */
    uint32_t extra_lanes;
    Clock fence_clock; /* what `fence_lanes` knew at their last fence that releases */
    uint32_t fence_lanes;
    Clock flag_clock; /* what `flag_lanes` found at flags since their last fence */
    uint32_t flag_lanes;
    uint32_t cluster_arrived; /* lanes that arrived at the barrier of the cluster */
    uint32_t cluster_passed;  /* lanes for which it is complete and that have not waited yet */
    uint32_t registers, registers_wanted; /* of a thread (setmaxnreg); 0: not known */
    uint32_t register_changes;            /* setmaxnreg instructions executed */
    uint32_t register_epoch;              /* of the last one */
    const Insn *register_insn;
    uint64_t executed;
    uint64_t last_meeting;       /* `executed` when threads last met */
    bool polled;                 /* an atomic or strong load since then */
    bool released;               /* threads went on without those they should have met */
    uint32_t spin_pc;            /* the last atomic or strong load */
    uint64_t spin_events;        /* the cluster's events then */
    uint32_t spins;              /* how often in a row it was that, or nothing had happened since */
    uint32_t polls;              /* all of them since others had their turn */
    Copy *copies;                /* newest first */
    uint32_t copy_count;         /* issued so far */
    uint32_t groups[LANES];      /* committed groups of a lane */
    struct WgmmaState *wgmma;    /* NULL until it executes a wgmma instruction */
    struct BulkCopy *bulks;      /* stores, newest first */
    uint32_t bulk_groups[LANES]; /* committed groups of a lane */
    uint32_t poll_pc;            /* of the last mbarrier.test_wait that gave false */
    uint64_t poll_events;        /* the cluster's events then */
};

/* The last read of a byte by a warp, or its last write. */
typedef struct SharedCell {
    uint32_t epoch; /* of the warp; 0: never */
    uint32_t pc;
    uint16_t
        actor; /* the clock_index of its warp; of a wgmma its reader, the epoch is its number */
    uint8_t lane;
    bool several : 1;  /* lanes of that epoch */
    unsigned kind : 7; /* CellKind */
} SharedCell;

typedef enum CellKind {
    CELL_PLAIN,
    CELL_ATOMIC,
    CELL_COPYING, /* an asynchronous copy that no wait has covered yet */
    CELL_READING, /* read by a bulk copy, the number in `epoch`, that no wait has covered yet */
} CellKind;

typedef struct Barrier {
    uint32_t expected; /* threads; 0: nobody is here */
    bool whole;        /* expects all threads of the program */
    uint32_t arrived;
    Clock clock;
    uint32_t count; /* of predicates that hold, for bar.red */
    uint32_t arrived_threads;
    const Insn *insn;
    uint32_t went_on;             /* warps that waited until the phase before was complete, */
    SharedCell passed[MAX_WARPS]; /* and where they were then */
} Barrier;

/* The last access of a warp to the shared memory of another program. */
typedef struct RemoteAccess {
    uint32_t epoch; /* 0: none */
    uint32_t pc;
    uint32_t lane;
    bool several; /* lanes */
} RemoteAccess;

/* A program. */
struct Cta {
    Machine *machine;
    Cluster *cluster;
    uint32_t rank;          /* in its cluster */
    uint32_t id[3], number; /* in the grid */
    uint32_t warp_count;
    uint32_t thread_count;
    Warp *warps;
    Barrier barriers[BARRIERS];
    uint8_t *shared, *shared_def;
    uint64_t shared_end;    /* the address behind its last byte */
    SharedCell *writes;     /* by byte */
    SharedCell **reads;     /* by clock_index, then byte; NULL until the warp reads */
    uint32_t register_pool; /* free registers, as so many of each thread of one warp */
    RemoteAccess *remote;   /* to its shared memory, by clock_index; NULL in a cluster of one */
    Clock exit_clock;       /* what its threads knew when they exited */
    bool exited;            /* all its threads */
    ClockEntry *published;  /* what it has made known to other programs, by warp */
    struct Warpgroup *warpgroups[MAX_WARPS / 4]; /* NULL until one executes wgmma */
    VEC(Mbarrier *) mbarriers; /* those initialised so far, and behind them ones to use again */
    uint32_t mbarrier_count;
    uint16_t *mbarrier_at; /* by address / 8: number + 1; NULL until the first one */
    uint32_t proxy_fences; /* of global memory, so far */
};

/* Programs that run at the same time and reach each other's shared memory; a launch without
 * clusters has clusters of one program. */
struct Cluster {
    Machine *machine;
    uint32_t id[3];
    uint32_t size; /* programs */
    Cta *ctas;     /* by rank */
    Warp *warps;   /* of all programs, by clock_index */
    uint32_t warp_count;
    uint32_t reader_count; /* actors that read shared memory: warps, and the wgmma of warpgroups */
    uint32_t actor_count, max_actors; /* of vector clocks: warps, and mbarriers so far */
    Clock scratch;
    Clock arrived_clock, passed_clock; /* of its barrier: of this phase and the last one */
    bool barrier_used;                 /* somebody arrived in this phase */
    Flag *flags;                       /* of shared memory; NULL until the first one */
    uint32_t flag_count;
    unsigned next_warp;
    uint64_t random; /* of the random schedule */
    uint64_t steps;  /* warp instructions so far */
    uint64_t events; /* what may end a wait: arrivals, stores, barriers */
    uint64_t timeout_events;
    unsigned timeouts; /* rounds of time-outs since then */
    bool done;
};

typedef struct Allocation {
    uint64_t base, size;
    uint8_t *data, *defined; /* bits of bytes; defined NULL: all are */
    bool read_only;
    Str name;
} Allocation;

struct SimMemory {
    Ctx *ctx;
    VEC(Allocation) allocations; /* ascending by base */
    uint64_t next;
};

/* Who accessed global memory last, and what orders it (global.h). */
typedef struct GlobalOrder GlobalOrder;
typedef struct Team Team;

struct Machine {
    Ctx *ctx;
    Arena *arena; /* of this launch */
    SimModule *module;
    SimMemory *memory;
    const SimLaunch *launch;
    const Func *kernel;
    uint8_t *params;
    Reg *constants;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* programs of a cluster */
    bool is_explicit_cluster;
    uint64_t shared_bytes; /* of dynamic shared memory */
    uint16_t *shared_map;  /* by address: the variable it belongs to + 1; 0: none */
    SimCounts *counts;
    uint64_t steps;
    unsigned findings, max_findings;
    bool stop;
    VEC(uint64_t) reported; /* pc and id of findings so far */
    Frame **free_frames;    /* by function */
    const Allocation *last; /* the last one found */
    Copy *free_copies;
    uint32_t bulk_count;
    VEC(const struct TensorMap *) tensor_maps; /* that copies have used */
    uint64_t program_count;
    GlobalOrder *order;
    Team *team;       /* machines that run the launch with it; NULL: none */
    bool holds_order; /* has locked `order` */
    void *held_cells; /* the lock of a part of its cells; NULL: none */
};

/* Registers. */
static inline Reg *reg_of(Warp *warp, RegRef ref) {
    switch (ref >> BANK_SHIFT) {
    case BANK_FRAME:
        return &warp->current->frame->regs[ref];
    case BANK_CONST:
        return &warp->machine->constants[ref & ((1u << BANK_SHIFT) - 1)];
    default:
        return &warp->special[ref & ((1u << BANK_SHIFT) - 1)];
    }
}

#define FOR_LANES(lane, mask)                                                                      \
    for (uint32_t lane##_left = (mask), lane = 0;                                                  \
         lane##_left && (lane = (uint32_t)__builtin_ctz(lane##_left), true);                       \
         lane##_left &= lane##_left - 1)

static inline uint64_t bits_mask(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* A predicate operand, with its negation. */
static inline bool predicate(const Operand *operand, const Reg *reg, uint32_t lane) {
    return (reg->v[lane] != 0) != operand->negated;
}

static inline uint32_t insn_pc(const Warp *warp, const Insn *insn) {
    return (uint32_t)(insn - warp->machine->module->insns.data);
}
/* The warp executes an atomic or strong load: it may wait for others. */
static inline void warp_polls(Warp *warp, const Insn *insn) {
    uint32_t pc = insn_pc(warp, insn);
    uint64_t events = warp->cta->cluster->events;
    bool again = warp->spin_pc == pc || warp->spin_events == events;
    warp->spins = again ? warp->spins + 1 : 0;
    warp->spin_pc = pc;
    warp->spin_events = events;
    warp->polls++;
    warp->polled = true;
}

/* Memory (memory.c). */
typedef enum AccessKind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } AccessKind;

/* Where an address leads. */
typedef struct Target {
    SpaceKind space; /* never generic */
    uint8_t *data, *defined;
    const Allocation *allocation; /* of global memory */
    Cta *cta;                     /* of shared memory: whose */
    uint64_t offset; /* in the allocation, or the address in the shared memory of `cta` */
} Target;

/* Finds the bytes an access touches; false after a finding (out of bounds, misaligned, no write).
 */
bool memory_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space, uint64_t address,
                 uint32_t size, AccessKind kind, Target *target);
/* The same in the shared memory of a program of the warp's cluster, at that program's own address;
 * alignment is the caller's. */
bool memory_find_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t own,
                        uint32_t size, AccessKind kind, Target *target);
/* The same in global memory, for any size and alignment. */
bool memory_find_global(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address,
                        uint32_t size, AccessKind kind, Target *target);
/* The same among the kernel's parameters. */
bool memory_find_param(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       AccessKind kind, Target *target);
/* Turns a generic address into one of the space that it gives. */
SpaceKind memory_resolve(uint64_t *address);
/* The space a modifier names; generic when there is none. */
SpaceKind insn_space(const Insn *insn);
/* Lane's address of an operand; reports an undefined one. */
uint64_t memory_address(Warp *warp, const Insn *insn, const Operand *operand, uint32_t lane);
void memory_map_image(Machine *machine);
/* Whether a generic address is that of a .const variable. */
bool memory_is_const(Machine *machine, uint64_t address);
/* The threads of `mask` leave the function: what it allocated is gone (exec_stack.c). */
void stack_leave(Warp *warp, const Frame *frame, uint32_t mask);
/* Which variable each byte of shared memory belongs to. */
void memory_map_shared(Machine *machine);
bool memory_grow_local(Warp *warp, uint64_t bytes);

/* Clusters (cluster.c). */
/* The program of that rank in the warp's cluster; NULL when the cluster has fewer. Its shared
 * memory is `shared` and `shared_def`, indexed by addresses of shared::cta, below `shared_end`. */
Cta *cluster_peer(const Cta *cta, uint32_t rank);
/* Splits an address of shared::cluster into the program it lies in and that program's own address;
 * NULL when the cluster has no such program. Addresses of shared::cta are the own program's. */
Cta *cluster_owner(Cta *cta, uint64_t address, uint64_t *own);
/* The address in shared::cluster of an address of the program's own shared memory. */
uint64_t cluster_address(const Cta *cta, uint64_t own);
/* An access to the shared memory of another program of the cluster: it must have begun, and must
 * not end before. */
void cluster_note_access(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner);
/* Notes what a warp that waits at the barrier of the cluster waits for. */
void cluster_describe_wait(Warp *warp, const Insn *insn);
/* Threads have exited. */
void cluster_recheck(Cluster *cluster);
void cluster_exit(Warp *warp);

/* Vector clocks (clock.c). */
/* A clock that knows nothing, of as many actors as the cluster can have. */
Clock clock_create(Machine *machine, const Cluster *cluster);
uint32_t clock_max_actors(const Machine *machine, const Cluster *cluster);
void clock_reset(const Cluster *cluster, Clock *clock);
/* `to` knows what `from` knows. */
void clock_join(const Cluster *cluster, Clock *to, const Clock *from);
/* The lanes of `mask` arrive: `to` knows what they did and know. Their later accesses are of a new
 * epoch. */
void clock_release(Warp *warp, uint32_t mask, Clock *to);
/* The lanes of `mask` go on behind what `from` knows. */
void clock_acquire(Warp *warp, uint32_t mask, const Clock *from);
/* Whether what is known has the access of a lane in that epoch. */
bool clock_entry_knows(const ClockEntry *entry, uint32_t lane, uint32_t epoch);
/* The lanes of `mask` meet: each knows what the others did. */
void clock_meet(Warp *warp, uint32_t mask);
/* fence.proxy.async: what the lanes know may be touched by the asynchronous proxy. */
void clock_proxy_fence(Warp *warp, uint32_t mask);
/* Whether the access is before what the lane does now; and whether such a fence lies between. */
bool clock_has_seen(const Warp *warp, uint32_t lane, const SharedCell *cell);
bool clock_has_fenced(const Warp *warp, uint32_t lane, const SharedCell *cell);
/* A fence of the lanes of `mask` that releases: what came before is ordered before relaxed arrivals
 * behind it. */
void clock_fence(Warp *warp, uint32_t mask);
/* A fence that other programs see. */
void clock_program_fence(Warp *warp, uint32_t mask);
/* Adds what the lane may export of the warps of its program, by number. */
void clock_export(const Warp *warp, uint32_t lane, ClockEntry *to);
/* The lane has found that time at a word. */
void clock_find(Warp *warp, uint32_t lane, uint64_t time);

/* Programs (launch.c, run.c). */
Cluster *cluster_create(Machine *machine);
void cluster_start(Cluster *cluster, uint64_t number);
/* Runs all programs of the launch. */
void programs_run(Machine *machine);

/* Machines that run programs of one launch on several threads (run.c). They report nothing: at the
 * first finding they stop, and the launch runs again on one thread. */
void team_abandon(Machine *machine);
bool team_abandoned(const Machine *machine);
void team_lock_order(Machine *machine);
void team_unlock_order(Machine *machine);
/* Locks the part the cell belongs to, instead of the one held so far. */
void team_hold_cell(Machine *machine, const void *cell);
void team_release_cell(Machine *machine);

/* Global memory that the machines of a team access at the same time (host_memory.c). Addresses are
 * of the host, multiples of the size or of 8. */
void host_load(const Machine *machine, const uint8_t *from, void *to, uint64_t size);
void host_store(const Machine *machine, uint8_t *to, const void *from, uint64_t size);
void host_fill(const Machine *machine, uint8_t *to, uint8_t value, uint64_t size);
bool host_equal(const Machine *machine, const uint8_t *at, const void *value, uint64_t size);
/* Puts `desired` there if `*expected` still is, else that is what is there now. */
bool host_swap(const Machine *machine, uint8_t *at, uint64_t *expected, uint64_t desired,
               uint32_t size);

/* Flags in shared memory (flags.c). */
/* A strong access of the lane writes or reads what may be a flag. */
void flag_write(Warp *warp, const Insn *insn, uint32_t lane, const Target *target);
void flag_read(Warp *warp, const Insn *insn, uint32_t lane, const Target *target);
/* A fence of the lanes of `mask` that acquires. */
void flags_acquire(Warp *warp, uint32_t mask);
/* The cluster begins. */
void flags_reset(Cluster *cluster);

/* Registers (registers.c). */
/* Registers of a thread when a kernel begins, as its directives make known; 0: they do not. */
uint32_t registers_at_entry(const Machine *machine);
/* All threads of the warp have exited. */
void registers_exit(Warp *warp);
void registers_describe_wait(Warp *warp, const Insn *insn);

/* Mbarriers (mbarrier.c). */
/* What ends later and then counts at an mbarrier. */
typedef struct Completion {
    struct Completion *next;
    Warp *warp;
    const Insn *insn;
    uint32_t lane;
    uint32_t number;       /* of an arrival: copies of the lane below it are to end first */
    struct BulkCopy *bulk; /* NULL: an arrival */
} Completion;

/* An mbarrier object: the memory holds an image of it, which must not change. */
struct Mbarrier {
    Cta *cta;
    uint64_t address;
    bool live;
    uint32_t phase, expected, pending; /* arrivals */
    int64_t tx;                        /* bytes */
    uint32_t actor;                    /* of vector clocks; NO_ACTOR: not followed */
    Clock arriving, done;              /* of the phase now; of those that have ended */
    SharedCell init;                   /* who initialised it */
    bool init_fenced;                  /* for the asynchronous proxy */
    uint32_t last_pc;                  /* of the last arrival or copy */
    Completion *first, **end;          /* oldest first */
    uint32_t late_arrivals;            /* among them */
    uint32_t waiting;                  /* warps, by index, that wait or have not gone on yet */
};
#define NO_ACTOR UINT32_MAX

/* Finds the mbarrier at an address for an operation of the lane; NULL after a finding. */
Mbarrier *mbarrier_find(Warp *warp, const Insn *insn, uint32_t lane, SpaceKind space,
                        uint64_t address);
/* The same at an own address of a program of the cluster. */
Mbarrier *mbarrier_in(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t own);
/* Bytes have come, or fewer are expected. */
void mbarrier_complete_tx(Mbarrier *mbarrier, Warp *warp, const Insn *insn, uint32_t lane,
                          int64_t bytes);
/* Something to be carried out when the mbarrier is waited at; owned by the launch's arena. */
void mbarrier_queue(Mbarrier *mbarrier, Completion completion);
/* Nothing can run: waits that may time out do. False when they have done so for long enough. */
bool mbarrier_time_out(Cluster *cluster);
/* fence.mbarrier_init by the lanes of `mask`. */
void mbarrier_fence_init(Warp *warp, uint32_t mask);
void mbarrier_describe_wait(Warp *warp, const Split *split);
void mbarrier_reset(Cta *cta);

/* The asynchronous proxy (proxy.c). */
/* A copy that the lane starts is about to write to, or to read, shared memory of the owner, at its
 * own address; false after a finding. `number` tells the reads of one copy from those of others. */
bool proxy_write_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                       uint32_t size);
bool proxy_read_begin(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                      uint32_t size, uint32_t number);
/* It has: to be known with the phase of an mbarrier; without one to the lane. */
void proxy_write_end(Warp *warp, const Insn *insn, Cta *owner, uint64_t address, uint32_t size,
                     const Mbarrier *mbarrier);
void proxy_read_end(Warp *warp, uint32_t lane, Cta *owner, uint64_t address, uint32_t size,
                    uint32_t number, const Mbarrier *mbarrier);

/* Bulk copies (exec_bulk.c). */
/* A queued copy is carried out and counted at its mbarrier. */
void bulk_complete(struct BulkCopy *bulk);
/* All threads of the warp have exited: nothing may be under way. */
void bulk_warp_exit(Warp *warp);

/* Races (races.c). */
/* Accesses to global memory by the asynchronous proxy, for a lane: at their start, and at the wait
 * that covers a write. */
void race_global_async(Warp *warp, const Insn *insn, uint32_t lane, const Target *target,
                       uint32_t size, AccessKind kind);
void race_global_written(Warp *warp, const Target *target, uint32_t size);
/* An access to the shared memory of `owner`, a program of the warp's cluster, at its own address.
 */
void race_shared(Warp *warp, const Insn *insn, uint32_t lane, Cta *owner, uint64_t address,
                 uint32_t size, AccessKind kind, const uint8_t *value);
void race_shared_async(Warp *warp, const Insn *insn, uint32_t lane, uint64_t address, uint32_t size,
                       bool done);
/* wgmma of the warp is about to read bytes of its program's shared memory through the asynchronous
 * proxy. */
void race_matrix_read(Warp *warp, const Insn *insn, uint64_t address, uint32_t size);
/* Notes that a reader, the warpgroup as an actor of vector clocks, reads bytes with its operation
 * `op`. */
void race_matrix_note(Cta *cta, const Insn *insn, uint32_t reader, uint64_t address, uint32_t size,
                      uint32_t op);
/* An access of a thread to global memory; `strong`: to those of its program at least, and by the
 * instruction's scope to others. `value`: what is written; NULL: not known. */
void race_global(Warp *warp, const Insn *insn, uint32_t lane, const Target *target, uint32_t size,
                 AccessKind kind, bool strong, const uint8_t *value);
/* Whether an access of that instruction, where strong, or its release or acquire is one for other
 * programs as well: by its scope. */
bool race_reaches_programs(const Warp *warp, const Insn *insn);
/* A fence of the threads: of releases before their access, of acquires behind it. */
void race_release(Warp *warp, const Insn *insn, uint32_t mask);
void race_acquire(Warp *warp, const Insn *insn, uint32_t mask);

/* Scheduling (schedule.c). */
bool cluster_run(Cluster *cluster, uint64_t quantum);
void split_end(Warp *warp, Split *split);
void warp_exit(Warp *warp, Split *split, uint32_t mask);
void split_branch(Warp *warp, uint32_t taken, uint32_t mask, uint32_t target, uint32_t reconverge);
/* Waits until the threads of `member` are at the instruction: false while some are missing.
 * `together`: those to execute now, who may be of several splits. */
bool split_gather(Warp *warp, const Insn *insn, uint32_t mask, uint32_t member, uint32_t *together);
/* All threads of the warp that have not exited must be in `mask`; reports if not. */
bool warp_converged(Warp *warp, const Insn *insn, uint32_t mask);
Frame *frame_open(Warp *warp, const Func *func, Frame *caller, const Insn *call);
void frame_close(Warp *warp, Frame *frame);
void barrier_recheck(Cta *cta);
void cluster_deadlock(Cluster *cluster);
void copies_finish(Warp *warp, uint32_t lane, uint32_t keep);
/* Carries out the lane's copies with numbers below `number`. */
void copies_finish_before(Warp *warp, uint32_t lane, uint32_t number);

/* wgmma (exec_wgmma.c, warpgroup.c, wgmma_registers.c). */
/* How many warpgroups of a cluster may execute wgmma. */
uint32_t wgmma_groups(const Machine *machine, const Cluster *cluster);
/* Forget what an earlier program left in the slot. */
void wgmma_start_program(Cta *cta);
void wgmma_start_warp(Warp *warp);
/* All threads of the warp have exited: nobody waits for it. */
void wgmma_warp_exits(Warp *warp);
/* Whether the cell is a read of a wgmma that no warp has waited for. */
bool wgmma_in_flight(const Cta *cta, const SharedCell *cell);
/* Another instruction than wgmma accesses registers that wgmma uses. */
void wgmma_touch(Warp *warp, const Insn *insn);
/* The function returns: its registers are gone. */
void wgmma_leave(Warp *warp, const Insn *insn, const Frame *frame);

/* Findings (findings.c). */
bool finding_new(Machine *machine, const Insn *insn, DiagId id);
const char *finding_where(Warp *warp, uint32_t lane);
Span finding_span(const Machine *machine, const Insn *insn);
void finding_note_source(Machine *machine, const Insn *insn);
/* Notes the other side of a conflict. */
void finding_other(Warp *warp, uint32_t pc, const char *who, const char *did);

/* Reports once for each instruction and id. The format's first argument, %s, says where: kernel,
 * program, thread. */
#define report(warp, insn, lane, id, ...)                                                          \
    (finding_new((warp)->machine, (insn), DIAG_##id)                                               \
         ? (ctx_diag((warp)->machine->ctx, finding_span((warp)->machine, (insn)), id,              \
                     finding_where((warp), (lane)) __VA_OPT__(, ) __VA_ARGS__),                    \
            finding_note_source((warp)->machine, (insn)), true)                                    \
         : false)

/* An undefined value that must be defined; true when it is. */
bool reg_require(Warp *warp, const Insn *insn, const Reg *reg, uint32_t mask, const char *what);
#endif
