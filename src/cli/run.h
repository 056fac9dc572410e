/* What the files of `tilec run` share. */
#ifndef TILEC_CLI_RUN_H
#define TILEC_CLI_RUN_H
#include "cli/kernel_options.h"
#include "frontend/heuristics.h"
#include "runtime/data/check.h"
#include "runtime/data/grid.h"
#include "runtime/data/shapes.h"
#include "runtime/launch/launch.h"

/* The value of one parameter, from -a NAME=...: an array, a scalar or None. */
typedef struct RunArg {
    Str name;
    Str owner; /* of an array: the argument that it was given as before, in place; empty: itself */
    bool is_array, is_none;
    HostArray array;
    HostArray part;  /* of run_read_part: what the array's memory begins with */
    Elem elem;       /* of a scalar */
    int64_t integer; /* u64: its bits */
    double number;
    CUdeviceptr device;    /* of the array, once copied there */
    struct SimMapArg *map; /* NULL, or of the simulator: a tensor map of another argument */
} RunArg;

typedef struct RunArgs {
    RunArg *data;
    size_t len, cap;
} RunArgs;

/* Reads `texts` (NAME=GENERATOR, NAME=@[TYPE:]FILE, NAME=FILE.npy, NAME=NUMBER[:TYPE],
 * NAME=None, NAME=NAME of an array before it). False after a report. */
bool run_read_args(Ctx *ctx, const TextList *texts, RunArgs *args);
/* The same of one, for data that goes to a device at once: `array` of a generator has no data, and
 * `part` is at most `most` elements of it where any may be repeated (generate_part). `place`: of
 * the text in a file; file 0: it is no part of one. */
bool run_read_part(Ctx *ctx, const NamedText *named, Span place, uint32_t stream, size_t most,
                   RunArg *arg);
/* What is read of an array for benchmarks and tuning. */
enum { RUN_PART_ELEMENTS = 1 << 20 };
/* Fills an array's memory on the device, whose context is current, with its part, and then with
 * what is there already behind itself. False after a report. */
bool run_fill_array(const Device *device, Diags *diags, const RunArg *arg);
/* -a and -g as a file of one shape, whose sizes are the integers among the arguments. STATUS_OK, or
 * the status after a message. */
int run_one_shape(Ctx *ctx, const TextList *arguments, const char *grid, ShapesFile *file);
RunArg *run_find_arg(const RunArgs *args, Str name);
/* The argument whose array this one is: an array given as two arguments is one. */
RunArg *run_owner(const RunArgs *args, RunArg *arg);
/* The types of the arguments as the elaborator takes them, specialised as a launch would. */
const NamedText *run_types(Ctx *ctx, const RunArgs *args, const ElaborateRequest *kernel);
/* What host code sees of the arguments: a value for each name of `heuristics`, of those that are
 * known. */
HostValue *run_host_values(Ctx *ctx, const RunArgs *args, const Heuristics *heuristics,
                           const FuncDef *def, const ElaborateRequest *kernel);
/* Adds to the request what the kernel's heuristics derive from the arguments; defines win. False
 * after a report. */
bool run_heuristics(Ctx *ctx, const RunArgs *args, CompileRequest *request);
/* Names for grid expressions: integer arguments, and defines that are integers. */
const GridName *run_grid_names(Ctx *ctx, const RunArgs *args, const ElaborateRequest *kernel,
                               uint32_t *count);
/* The arguments of the kernel's run-time parameters, in order. False after a report: a parameter
 * without data, or data of the wrong kind. */
bool run_order_args(Ctx *ctx, const RunArgs *args, const KernelFacts *facts, RunArg ***ordered,
                    uint32_t *count);

/* A scalar's bits as the kernel takes them: the low bytes of 8. */
uint64_t run_scalar_bits(const RunArg *arg);

/* Milliseconds of launches. */
typedef struct RunTimes {
    uint32_t count;
    double median, least;
} RunTimes;

/* What --check and --every-pass allow; negative `atol`, `rtol`: by type. */
CheckTolerance run_tolerance(Elem elem, double atol, double rtol);

/* A launch on the CPU. */
typedef struct CpuRun {
    const uint32_t *grid;
    uint32_t ctas; /* that share the programs of a persistent kernel */
    uint64_t max_steps;
    RunArg *const *args;
    uint32_t arg_count;
} CpuRun;

/* Runs the function on the interpreter: writes to the arrays in place. Output of device_print goes
 * to standard output. False after a report. */
bool run_on_cpu(Ctx *ctx, const CpuRun *run, Func *func, RunTimes *times);
/* The same of a function as elaborated; then sends it through the passes, held to their contract if
 * `check`, runs what each of them left on the arguments as they were, and compares what arrays hold
 * with what the function itself left there. False after a report, which names the pass. */
bool run_every_pass(Ctx *ctx, const CpuRun *run, Func *func, bool check, double atol, double rtol,
                    RunTimes *times);
/* Runs it on the device and copies the arrays back; then `repeat` more launches are timed. False
 * with `other_form` set (KernelForm): the arguments need that form, as a remark says. */
bool run_on_device(Ctx *ctx, const Device *device, const Compiled *compiled, RunArg **args,
                   uint32_t count, const uint32_t grid[3], uint32_t repeat, RunTimes *times,
                   unsigned *other_form);
#endif
