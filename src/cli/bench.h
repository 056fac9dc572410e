/* What the files of `tilec bench` share. */
#ifndef TILEC_CLI_BENCH_H
#define TILEC_CLI_BENCH_H
#include "cli/progress.h"
#include "cli/run.h"
#include "frontend/autotune.h"
#include "runtime/bench/report.h"
#include "runtime/tune/tune.h"

typedef struct BenchOptions {
    KernelOptions kernel;
    const char *grid, *shapes, *csv, *svg, *page;
    TextList vary;
    int64_t runs, gpu, limit_ms;
    bool json;
} BenchOptions;

/* How a case is run. */
typedef struct BenchPlan {
    uint32_t build; /* of Bench.plan: equal requests are compiled once */
    uint32_t grid[3];
} BenchPlan;

/* What a shape's arguments begin with, once made, by the text in front of their extents. */
typedef struct BenchPart {
    Str head;
    uint32_t stream;
    HostArray part;
} BenchPart;

typedef struct Bench {
    Ctx *ctx;
    BenchOptions options;
    Driver driver;
    Device device;
    bool has_device;
    Cache cache;
    CompileRequest request; /* what all cases have in common */
    ShapesFile problem;
    Shape *shapes; /* its shapes, whose bytes are counted where it says none */
    const AstFile *syntax;
    uint32_t source; /* number of the kernel's file */
    const FuncDef *def;
    Heuristics heuristics;
    Autotune autotune; /* of the source or of --vary; without configurations the compiler chooses */
    BenchCase *cases;
    BenchPlan *plans; /* of each case */
    Plan plan;
    Built *built;
    uint32_t ceiling[CEILING_COUNT]; /* of Bench.plan; UINT32_MAX: it is not */
    Elem ceiling_elem;               /* of products */
    VEC(BenchPart) parts;
    BenchReport report;
    Progress progress;
    bool is_lost;  /* the device's context: nothing more runs */
    bool is_stuck; /* a kernel does not end: the device is left as it is */
} Bench;

/* The shapes: of --shapes, or the one that -a, -g and -D say. STATUS_OK, or an exit status. */
int bench_read_problem(Bench *bench);
/* Reads the kernel, and makes of shapes and configurations the cases and what is compiled for them.
 * STATUS_OK, or an exit status. */
int bench_plan(Bench *bench, const char *path);
/* The arguments of a shape as far as types go, or with `most` elements of their arrays. False after
 * a report. */
bool bench_args(Bench *bench, const Shape *shape, size_t most, RunArgs *args);
/* Measures what the device reaches, then every case; prints rows as they come. */
void bench_measure(Bench *bench);

/* The page of the fastest configuration of the last shape that ran, with pictures of what was
 * measured. False after a report. */
bool bench_write_page(Bench *bench);

/* The text that stands before the rows, and the rows of a shape. */
void bench_print_header(const Bench *bench);
void bench_print_shape(const Bench *bench, uint32_t shape);
#endif
