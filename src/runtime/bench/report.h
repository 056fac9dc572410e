/* What a benchmark found: times of a kernel by shape and configuration, beside what the device
 * reaches; as CSV, as JSON, and for pictures. */
#ifndef TILEC_RUNTIME_BENCH_REPORT_H
#define TILEC_RUNTIME_BENCH_REPORT_H
#include "runtime/bench/ceilings.h"
#include "runtime/data/shapes.h"
#include "runtime/tune/measure.h"

/* Microseconds of the runs of one case. */
typedef struct BenchTimes {
    uint32_t runs; /* 0: it was not measured */
    double median, least, quarter, three_quarters;
} BenchTimes;

/* A configuration for a shape. */
typedef struct BenchCase {
    uint32_t shape, config;
    BenchTimes times;
    const char *failed; /* why there are no times; NULL: they were not come to */
} BenchCase;

typedef struct BenchReport {
    const char *kernel, *device, *target;
    int driver; /* version: 13000 is 13.0 */
    Ceilings ceilings;
    const Shape *shapes; /* of which text, sizes, flops and bytes are looked at */
    uint32_t shape_count;
    bool counts_arrays;         /* the bytes are those of a call's arrays, each once */
    const char *const *configs; /* "BLOCK=128, num_warps=8" */
    uint32_t config_count;
    const BenchCase *cases; /* by shape, then by configuration */
    uint32_t case_count;
    bool is_whole; /* all cases were come to */
} BenchReport;

/* Of the run's times. */
BenchTimes bench_times(const MeasureRun *run);
/* 10^9 bytes and 10^12 operations a second; negative: the shape does not say how many. */
double bench_gbs(const BenchReport *report, const BenchCase *of);
double bench_tflops(const BenchReport *report, const BenchCase *of);
/* The fastest case of a shape; NULL: none was measured. */
const BenchCase *bench_fastest(const BenchReport *report, uint32_t shape);

/* A line of names, and one for each case; a column for each size, then times and rates. What is not
 * known is empty. */
void bench_csv(const BenchReport *report, StrBuf *out);
/* Members of a JSON object: "kernel": .., "device": .., "ceilings": {..}, "cases": [..]. */
void bench_json(const BenchReport *report, StrBuf *out);
#endif
