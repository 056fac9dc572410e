/* What the table and the JSON of a report share: sums over the instructions of a launch. */
#ifndef TILEC_SIM_REPORT_REPORT_H
#define TILEC_SIM_REPORT_REPORT_H
#include "sim/report/counters.h"
#include "target/target.h"

/* Bytes between global memory and the SMs, in one direction. */
typedef struct Traffic {
    uint64_t moved;    /* in whole sectors */
    uint64_t used;     /* that threads asked for, each once a request */
    uint64_t distinct; /* each once in the launch */
} Traffic;

typedef struct Totals {
    InsnCounts sum;
    uint64_t classes[CLASS_COUNT]; /* threads */
    Traffic read, written;
    uint64_t multiply_adds;
    uint32_t registers;
    bool registers_estimated;
    const Target *target; /* NULL: limits of the module's target are not known */
    Occupancy occupancy;  /* with a target */
} Totals;

/* Counts of all instructions of one line: of the source, or of the PTX when it names no source. */
typedef struct LineCounts {
    uint32_t file; /* of the context's sources, 0: its text is not there */
    Str path;
    uint32_t line;
    Str text;
    InsnCounts sum;
} LineCounts;

typedef struct ReportLines {
    LineCounts *data;
    size_t len, cap;
} ReportLines;

extern const char *const sim_class_name[CLASS_COUNT];
/* The class of a load or store is the space that it names. */
InsnClass sim_insn_class(const Insn *insn);

/* NULL: there is none of that name. */
const Func *report_kernel(const SimModule *module, Str name);
Totals report_totals(const SimModule *module, const SimCounts *counts);
/* Executed lines by path and number; those of no known line come first. */
ReportLines report_lines(const SimModule *module, const SimCounts *counts);
#endif
