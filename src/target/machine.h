/* What an SM does in how many clocks, and devices: the rows of machine.def. */
#ifndef TILEC_TARGET_MACHINE_H
#define TILEC_TARGET_MACHINE_H
#include "target/target.h"

typedef enum Figure {
#define COMMON(...)
#define FIGURE(id, ...) FIGURE_##id,
#define DEVICE(...)
#include "target/machine.def"
    FIGURE_COUNT
} Figure;

typedef struct FigureInfo {
    const char *name;    /* LATENCY_ALU */
    const char *sources; /* a letter each, as machine.def says */
    const char *what;
} FigureInfo;

extern const FigureInfo figure_info[FIGURE_COUNT];

/* The figure of a row of target_table. */
int32_t target_figure(const Target *target, Figure figure);

/* A device: what compute capabilities leave open. */
typedef struct TargetDevice {
    const char *name;
    int32_t capability;
    int32_t sms, mhz;
    int64_t l2_bytes;
    int32_t l2_bytes_clock; /* between L2 and all SMs */
    int32_t dram_gbs;       /* that a copy reaches */
    int32_t launch_ns;      /* of a launch that does nothing, one of many in a graph */
    const char *what;
} TargetDevice;

/* Stands for devices of the target's capability: the first of them in the table. */
const TargetDevice *target_device(const Target *target);
/* By name ("H200"); NULL: unknown. */
const TargetDevice *target_device_by_name(Str name);
#endif
