/* A compiled kernel on the PTX simulator, launched as a launcher would: with the grid, the hidden
 * parameters and the tensor maps that its facts ask for. */
#ifndef TILEC_RUNTIME_HOST_SIMULATE_H
#define TILEC_RUNTIME_HOST_SIMULATE_H
#include "runtime/launch/facts.h"
#include "sim/sim.h"

typedef struct Simulation {
    const KernelFacts *facts;
    SimModule *module; /* of its PTX */
    SimMemory *memory; /* where what pointers lead to is mapped */
    const void *const
        *params; /* a value for each run-time parameter, as cuLaunchKernel takes them */
    uint32_t param_count;
    const uint32_t *grid; /* of programs */
    uint32_t ctas;        /* that share the programs of a persistent kernel, at most */
    SimLaunch launch; /* schedule, seed, early, threads, limits, output; the rest is filled in */
    /* What the run leaves. */
    unsigned other_form; /* KernelForm that the arguments need, and that is to run; 0: this one did
                          */
    SimCounts *counts;   /* NULL: nothing was launched */
} Simulation;

/* False after a report: findings, or why nothing was launched; with `other_form` set a remark. */
bool simulate(Ctx *ctx, Simulation *simulation);

/* The time of the same launch, as sim_predict finds it; without a run before it, or behind one.
 * False likewise; `counts` stays. */
bool simulate_time(Ctx *ctx, Simulation *simulation, const SimTimeOptions *options, SimTime *time);

/* Encodes the map of a recipe, as a launcher would; params[i] points at argument i. False: by
 * `problem`, or, when that is RECIPE_FINE, after a report. */
bool simulate_map(Ctx *ctx, const TensorMapRecipe *recipe, const void *const *params,
                  SimTensorMap *map, RecipeProblem *problem);
#endif
