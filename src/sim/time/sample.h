/* What programs of a launch take, from those of a few of its clusters. */
#ifndef TILEC_SIM_TIME_SAMPLE_H
#define TILEC_SIM_TIME_SAMPLE_H
#include "sim/time/cost.h"
#include "sim/time/waits.h"

/* Means are over the launch's clusters. */
typedef struct GridSample {
    uint64_t clusters;          /* of the launch */
    uint32_t ctas;              /* of a cluster */
    uint32_t threads;           /* of a program */
    uint64_t shared_bytes;      /* of a program */
    double clocks, most_clocks; /* from a cluster's start to its end: the mean, the longest */
    double units[TIME_UNITS];   /* mean clocks of an SM's units */
    double loaded;              /* of TIME_L2, what loads through L1 took */
    double common;              /* the part of what a program touches that distant ones do too */
    double footprint;           /* bytes */
    double lines;               /* of 128 bytes in it */
    double fetched;             /* instructions of machine code */
    uint32_t samples;
    /* By program counter, where asked for: means of a cluster's warps together. */
    SimSpent *spent;
    SimUnits *units_of;
    TimeWaits waits;      /* likewise, pairs of them */
    const SimTurn *turns; /* of the first sample */
    uint32_t turn_count;
    const char *crowded; /* the unit that a program keeps busy behind its end; NULL: none */
} GridSample;

/* False after a report. `cold`: data come from DRAM. `spent`: fill sample->spent. */
bool grid_sample(SimModule *module, SimMemory *memory, const SimLaunch *launch, const Costs *costs,
                 uint64_t budget, bool cold, bool spent, GridSample *sample);
#endif
