/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices that are this machine: they run functions without a GPU, in the program's own memory, and
 * check what they run. */
#ifndef TILEC_HOST_H
#define TILEC_HOST_H
#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tile_host_kind {
    TILE_HOST_INTERPRETER, /* runs the kernel as it was written: quick to begin, exact in its
                              messages; programs one after another */
    TILE_HOST_SIMULATOR,   /* runs the PTX that a GPU would get, warp by warp: races, barriers,
                              asynchronous copies, tensor cores */
} tile_host_kind;

/* In which of the orders that the hardware may take the simulator has things happen. */
typedef enum tile_host_schedule {
    TILE_HOST_ROUND_ROBIN, /* warps take turns of a few instructions */
    TILE_HOST_RANDOM,      /* turns and their lengths from the seed */
    TILE_HOST_ADVERSARIAL, /* the warp that is furthest goes on until it must wait */
} tile_host_schedule;

/* Is told something of a run: by the calling thread, which holds no lock and may call the library,
 * before the call returns, whether or not the run went well. The text stays until it returns. */
typedef void (*tile_host_tell)(void *user, tile_text text);

typedef struct tile_host_options {
    size_t size;
    tile_host_kind kind;
    tile_text target; /* what kernels see as their GPU, and whose PTX is simulated: "sm_90a"; empty:
                         sm_90a */
    tile_host_schedule schedule; /* of the simulator, as are the two below */
    uint64_t seed;
    bool early;           /* asynchronous copies take effect at once, not at the wait for them */
    uint32_t threads;     /* of the simulator, for one run; 0: the machine's cores, where it pays */
    uint32_t ctas;        /* that share the programs of a persistent kernel; 0: one for three */
    uint32_t max_reports; /* findings before a run ends; 0: 1 of the interpreter, 10 of the
                             simulator */
    uint64_t max_steps;   /* of a run, before it is given up: operations of the interpreter, warp
                             instructions of the simulator; 0: no limit */
    /* They, and what is behind `user`, stay as long as the device. */
    tile_host_tell print;  /* what programs print; NULL: to standard output */
    tile_host_tell counts; /* what the simulator counted: a JSON object, as `counts` of `tilec run
                              --report --json` (docs/simulator.md). NULL: nobody asks */
    void *user;
} tile_host_options;

/* A device of this machine, for tile_function_call and its like. No driver is asked for. What the
 * interpreter runs is made in milliseconds, also by a context that is `strict`, and kept by no
 * cache; the simulator's PTX is compiled and kept as any other.
 *
 * Addresses are those of the process: a kernel reads and writes the program's own memory, in place,
 * and what it finds in memory as a pointer is one. What it may touch are the device's own
 * allocations (tile_memory_allocate), the arrays of the call (tile_call.arrays), and what pointer
 * arguments of a known size (tile_buffer) lead to; arrays that overlap are one. Whatever else it
 * does is found:
 *   - an access outside of these. The interpreter knows which array a pointer came from, and finds
 * an access past its ends also where another array lies there; the simulator does not
 *   - a value that nobody wrote where it reaches a store, a mask, a branch or an address: memory of
 * the device or an array that was never written, and for the interpreter also what a mask left out
 *   - races, wrong barriers, copies that nobody waited for: by the simulator
 * That is TILE_ERROR_KERNEL, with diagnostics at the kernel's lines; memory then holds what was
 * written up to there.
 *
 * A call returns when the kernel has ended. Streams and events are there, and streams are in order
 * by themselves. Nothing is measured: functions that are tuned use their first configuration that
 * pruning leaves, and a remark says so. A cancellation of the function or the call ends a run,
 * too. tile_load and what takes an executable are refused, as are functions of bundles, and
 * launches in clusters: TILE_ERROR_NO_DEVICE. Cooperative launches are as others: programs that
 * wait for each other end by max_steps at most.
 *
 * Several threads may call: runs of one instance of a function take turns, and so do those of a
 * simulator that has given out memory. */
TILE_API tile_status tile_device_open_host(tile_context *context, const tile_host_options *options,
                                           tile_device **device, tile_diagnostics **diagnostics);

/* Memory of the program that kernels of a call may touch: of a storage, whichever parts of it the
 * arguments point at. */
typedef struct tile_host_array {
    tile_text name; /* for messages; empty: that of the first parameter that points into it */
    void *data;
    uint64_t bytes;
    uint8_t *defined; /* a byte for each byte of data, whose set bits are those that are
                         initialised; updated. NULL: all are */
    bool read_only;   /* stores are findings */
} tile_host_array;

#ifdef __cplusplus
}
#endif
#endif
