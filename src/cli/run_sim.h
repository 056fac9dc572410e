/* Running on the PTX simulator, for `tilec run --device sim` and `tilec sim`. */
#ifndef TILEC_CLI_RUN_SIM_H
#define TILEC_CLI_RUN_SIM_H
#include "cli/run.h"
#include "sim/sim.h"

/* Launches a kernel on arguments; `hidden` is the value of one more parameter, or NULL. Fills in
 * the launch's parameters and prints what the kernel prints. False after findings. */
bool sim_run_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                  uint32_t count, const void *hidden, SimCounts **counts);

/* Runs the PTX of a compiled kernel; with `report` prints what it counted. False after findings. */
bool run_on_sim(Ctx *ctx, const Compiled *compiled, RunArg *const *args, uint32_t count,
                const uint32_t grid[3], uint64_t max_steps, bool report, RunTimes *times);
#endif
