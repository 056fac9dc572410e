/* Kernels that run on this machine: their Tile IR, as elaborated, on the interpreter, or their PTX
 * on the simulator. */
#ifndef TILEC_RUNTIME_HOST_HOST_H
#define TILEC_RUNTIME_HOST_HOST_H
#include "interp/interp.h"
#include "runtime/compile/compile.h"
#include "sim/sim.h"

typedef enum HostMachine { HOST_INTERPRETER, HOST_SIMULATOR } HostMachine;

/* How a device runs kernels. */
typedef struct HostSettings {
    HostMachine machine;
    SimSchedule schedule;
    uint64_t seed;
    bool early;           /* see SimLaunch */
    uint32_t ctas;        /* see host_ctas */
    uint32_t threads;     /* of the simulator; 0: as many as pay */
    uint32_t max_reports; /* findings of a run; 0: 1 of the interpreter, 10 of the simulator */
    uint64_t max_steps;   /* 0: no limit */
} HostSettings;

/* What of a compilation such a run needs: nothing else is made. */
void host_request(HostMachine machine, CompileRequest *request);

/* CTAs that share the programs of a persistent kernel, `asked` unless that is 0, since no device
 * says how many it holds: few, so that each has several programs. */
uint32_t host_ctas(const uint32_t grid[3], uint32_t asked);

/* A kernel that is ready to run. It lies in the context that it was compiled in, which is used by
 * one thread at a time, and which keeps what it says. */
typedef struct HostKernel {
    Ctx *ctx;
    KernelFacts facts;
    Func *func;        /* of the interpreter */
    SimModule *module; /* of the simulator */
} HostKernel;

/* Of a compilation by host_request's request. False after a report. */
bool host_kernel_open(Ctx *ctx, HostMachine machine, const Compiled *compiled, HostKernel *kernel);

/* A run on memory of this process, in place. */
typedef struct HostRun {
    Arena *arena; /* of this run alone; jumps where the kernel's context does */
    const HostSettings *settings;
    const uint32_t *grid;
    const InterpArray *arrays; /* all with addresses, which ascend; none overlap. What programs may
                                  touch */
    uint32_t array_count;
    const void *const
        *params; /* a value for each run-time parameter, as cuLaunchKernel takes them */
    uint32_t param_count;
    StrBuf *output; /* what programs print; NULL: discarded */
    StrBuf *counts; /* of the simulator: what it counted, as JSON; NULL: nobody asks */
} HostRun;

/* False after a report: findings, or why nothing ran; with `other_form` set a remark (see
 * Simulation). Running out of memory leaves by the jump of the kernel's context. */
bool host_kernel_run(HostKernel *kernel, const HostRun *run, unsigned *other_form);
#endif
