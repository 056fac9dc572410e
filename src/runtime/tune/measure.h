/* How long kernels take on a device, for choosing among them.
 *
 * Each run is timed between two events, behind a write over more than the L2 holds, which also
 * gives the host time to queue what follows, so that the GPU does not wait for it in between. Runs
 * of several candidates take turns: what changes with time, clocks above all, weighs on all alike.
 * Of the times the lower quartile counts: what disturbs a run makes it slower, never faster.
 *
 * A run that does not end within its time is given up: it stays on the device, and whatever waits
 * for the device would wait with it, so that nothing is freed there from then on. */
#ifndef TILEC_RUNTIME_TUNE_MEASURE_H
#define TILEC_RUNTIME_TUNE_MEASURE_H
#include "runtime/launch/launch.h"

enum { MEASURE_MAX_RUNS = 64 };

/* Memory that a run changes, and what stands there before each run. */
typedef struct MeasureBuffer {
    CUdeviceptr address;
    size_t bytes;
    bool restores;     /* what was there at first; else zeros */
    CUdeviceptr saved; /* the measurer's own */
} MeasureBuffer;

/* What measure_runs returns besides what executable_launch does: a run did not end in its time. */
enum { MEASURE_ENDLESS = -16 };

/* Something that may be launched. */
typedef struct MeasureRun {
    const Executable *executable;
    uint32_t grid[3];
    void *const *params; /* as executable_launch takes them */
    float ms[MEASURE_MAX_RUNS];
    uint32_t count;  /* of times */
    uint32_t queued; /* the same with those under way: measure_runs' own */
} MeasureRun;

typedef struct Measurer {
    const Device *device;
    CUstream stream;
    const tile_launch_options *options; /* of launches; NULL: none */
    MeasureBuffer *buffers;
    uint32_t buffer_count;
    CUdeviceptr flush;
    size_t flush_bytes;
    CUevent events[2 * MEASURE_MAX_RUNS];
    uint32_t event_count;
    bool has_run;  /* something, so that buffers are not what they were */
    bool is_stuck; /* a run does not end */
    /* Set by the caller behind measure_open: */
    double limit_ms; /* that one run may take */
    /* Is told of each run before it is launched, and again before it is waited for; NULL, with
     * nothing under way: no more. May be NULL. */
    void (*watch)(void *user, const MeasureRun *run);
    void *user;
} Measurer;

/* The device's context is current from here on, as device_enter made it, until measure_close.
 * `buffers` stay the caller's. Waits for what the stream has to do. False after a report; nothing
 * is held then. */
bool measure_open(Measurer *measurer, Diags *diags, const Device *device, CUstream stream,
                  const tile_launch_options *options, MeasureBuffer *buffers,
                  uint32_t buffer_count);
/* What runs changed of the buffers is as before a run: put back, or zero; of a device that is stuck
 * nothing is given back. */
void measure_close(Measurer *measurer);
/* Adds `times` times of each run to it, in turns, and waits for them; runs of which `wanted` is
 * false are left out. CUDA_OK, LAUNCH_NO_TENSOR_MAP, MEASURE_ENDLESS or the driver's error, with
 * the run that gave it, as far as that is known, in `failed`. */
CUresult measure_runs(Measurer *measurer, MeasureRun *runs, const bool *wanted, uint32_t count,
                      uint32_t times, uint32_t *failed);
/* Of the times there are; infinite if there are none. */
double measure_quartile_ms(const MeasureRun *run);
double measure_least_ms(const MeasureRun *run);
#endif
