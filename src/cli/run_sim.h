/* Running on the PTX simulator, for `tilec run --device sim` and `tilec sim`. */
#ifndef TILEC_CLI_RUN_SIM_H
#define TILEC_CLI_RUN_SIM_H
#include "cli/run.h"
#include "runtime/host/host.h"
#include "runtime/host/simulate.h"

enum { SIM_TENSOR_DIMS = 5 };

/* In which of the orders that the hardware may take things happen, as options say it. */
typedef struct SimOrder {
    int schedule; /* a SimSchedule */
    int64_t seed;
    bool early;
} SimOrder;

/* A tensor map given as an argument: boxes of an array, or what a recipe makes of the arguments
 * before it. */
typedef struct SimMapArg {
    const TensorMapRecipe *recipe; /* NULL: of an array */
    RunArg *array;
    uint32_t rank, box[SIM_TENSOR_DIMS]; /* in the array's order */
    SimTensorSwizzle swizzle;
    SimTensorFill fill;
    SimTensorPromotion promotion;
    SimTensorMap encoded; /* once arrays have addresses */
} SimMapArg;

/* Whether the text behind NAME= is a tensor map. */
bool sim_is_map(Str text);
/* Reads map:ARRAY[BOX]:OPTION.. or recipe:RECIPE; NULL after a report. */
SimMapArg *sim_read_map(Ctx *ctx, const RunArgs *args, Str name, Str text);
/* Encodes the map of its array at an address; false after a report. */
bool sim_encode_map(Ctx *ctx, SimMapArg *map, uint64_t address);

/* Launches a kernel of unknown origin on arguments. Fills in the launch's parameters and prints
 * what the kernel prints. False after findings. */
bool sim_run_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                  uint32_t count, SimCounts **counts);

/* The same launch's time, as sim_predict finds it. */
bool sim_time_args(Ctx *ctx, SimModule *module, SimLaunch *launch, RunArg *const *args,
                   uint32_t count, const SimTimeOptions *options, SimTime *time);

/* What an assembler says that the kernel takes; zeros where it says nothing. */
Resources sim_ask_resources(Ctx *ctx, const SimModule *module, Str kernel, const char *ptxas,
                            Str ptx);
/* Asks an assembler how many registers a thread of the kernel takes, for the report. What goes
 * wrong there is no matter of the run: the report has an estimate then. `ptxas` as in ptxas_find;
 * `kernel` empty: the only one. */
void sim_ask_registers(Ctx *ctx, const SimModule *module, Str kernel, const char *ptxas, Str ptx,
                       SimCounts *counts);

/* A compiled kernel on the simulator. */
typedef struct SimRun {
    const Compiled *compiled;
    RunArg *const *args;
    uint32_t arg_count;
    const uint32_t *grid;
    uint32_t ctas; /* that share the programs of a persistent kernel, at most */
    uint64_t max_steps;
    SimOrder order;
    const char *ptxas;
    bool report; /* assemble the kernel for its registers */
    bool clock;  /* predict the time of the launch as well, and what each instruction takes */
    uint32_t registers; /* of a thread, for the clock; 0: an estimate */
    uint32_t spilled;   /* see SimTimeOptions */
    SimModule *module;  /* of its PTX; NULL: it is read, and this is NULL where it could not be */
    /* What the run leaves. */
    unsigned other_form; /* see run_on_device */
    RunTimes times;
    SimCounts *counts; /* NULL: nothing was launched */
    SimTime *time;     /* NULL: there is no prediction */
} SimRun;

/* Runs the PTX of a compiled kernel. False after findings. */
bool run_on_sim(Ctx *ctx, SimRun *run);
#endif
