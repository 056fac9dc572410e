/* The state of a launch. Its warps: warp.h; its programs and clusters: program.h. */
#ifndef TILEC_SIM_STATE_MACHINE_H
#define TILEC_SIM_STATE_MACHINE_H
#include "sim/parse/module.h"
#include "sim/sim.h"
#include "sim/state/access.h"
#include "sim/state/reg.h"

/* Who accessed global memory last, and what orders it (check/global.h). */
typedef struct GlobalOrder GlobalOrder;
typedef struct Team Team;
/* The clock of the programs that run (time/timing.h). */
typedef struct Timing Timing;

typedef struct Machine {
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
    VEC(uint64_t) reported;     /* pc and id of findings so far */
    struct Frame **free_frames; /* by function */
    const Allocation *last;     /* the last one found */
    struct Copy *free_copies;
    uint32_t bulk_count;
    VEC(const struct TensorMap *) tensor_maps; /* that copies have used */
    uint64_t program_count;
    GlobalOrder *order;
    Team *team;       /* machines that run the launch with it; NULL: none */
    bool holds_order; /* has locked `order` */
    void *held_cells; /* the lock of a part of its cells; NULL: none */
    Timing *timing;   /* NULL: nobody asks for the time */
} Machine;
#endif
