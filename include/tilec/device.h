/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Devices, their memory and streams, and launches of kernels that are loaded there. */
#ifndef TILEC_DEVICE_H
#define TILEC_DEVICE_H
#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Devices. The first use of a device in a process makes its primary context, which takes time. */

TILE_API tile_status tile_device_count(tile_context *context, int *count,
                                       tile_diagnostics **diagnostics);
TILE_API tile_status tile_device_open(tile_context *context, int ordinal, tile_device **device,
                                      tile_diagnostics **diagnostics);
/* What is loaded on it, by tile_load and by functions, can go later: its context stays until then.
 */
TILE_API void tile_device_close(tile_device *device);

typedef struct tile_device_info {
    size_t size;
    tile_text name;
    tile_text target; /* empty: no target of this compiler runs there */
    int32_t ordinal, major, minor, sm_count;
    int32_t l2_bytes, shared_per_block; /* with the opt-in, which kernels make that need it */
    uint64_t memory_bytes;
    int32_t driver_version; /* 13000: CUDA 13.0 */
    int32_t registers_per_block, registers_per_sm, warp_size;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits; /* the clocks at most */
} tile_device_info;

TILE_API tile_status tile_device_get_info(const tile_device *device, tile_device_info *info);

/* A CUstream; NULL is the default stream. */
typedef void *tile_stream;
/* A CUevent. */
typedef void *tile_event;

/* Device memory, streams and events, for programs that do not use CUDA otherwise. Addresses are
 * CUdeviceptr, or of this process where the device is this machine. Copies are ordered by the
 * stream; host memory must stay until it is synchronised. */
TILE_API tile_status tile_memory_allocate(tile_device *device, size_t bytes, uint64_t *address,
                                          tile_diagnostics **diagnostics);
TILE_API tile_status tile_memory_free(tile_device *device, uint64_t address);
TILE_API tile_status tile_memory_write(tile_device *device, uint64_t to, const void *from,
                                       size_t bytes, tile_stream stream);
TILE_API tile_status tile_memory_read(tile_device *device, void *to, uint64_t from, size_t bytes,
                                      tile_stream stream);
TILE_API tile_status tile_memory_set(tile_device *device, uint64_t to, uint8_t value, size_t bytes,
                                     tile_stream stream);

typedef enum tile_memory_kind {
    TILE_MEMORY_UNKNOWN, /* the driver knows nothing of it, such as a program's plain memory */
    TILE_MEMORY_DEVICE,
    TILE_MEMORY_MANAGED,
    TILE_MEMORY_PINNED, /* the host's, which devices reach */
} tile_memory_kind;

typedef struct tile_memory_info {
    size_t size;
    tile_memory_kind kind;
    int32_t ordinal;         /* of the device that it belongs to; -1: not known */
    uint64_t device_address; /* by which kernels of `device` reach it; 0: they do not */
    uint64_t begin, bytes;   /* of the allocation that it lies in; 0: not known */
} tile_memory_info;

/* What an address leads to. Any thread. */
TILE_API tile_status tile_memory_get_info(tile_device *device, uint64_t address,
                                          tile_memory_info *info);

TILE_API tile_status tile_stream_create(tile_device *device, tile_stream *stream);
TILE_API tile_status tile_stream_destroy(tile_device *device, tile_stream stream);
/* Waits; an error of a kernel that ran shows here. */
TILE_API tile_status tile_stream_synchronize(tile_device *device, tile_stream stream,
                                             tile_diagnostics **diagnostics);
TILE_API tile_status tile_event_create(tile_device *device, tile_event *event);
TILE_API tile_status tile_event_destroy(tile_device *device, tile_event event);
TILE_API tile_status tile_event_record(tile_device *device, tile_event event, tile_stream stream);
/* Waits for `end`. */
TILE_API tile_status tile_event_elapsed(tile_device *device, tile_event begin, tile_event end,
                                        float *milliseconds);

/* Loading and launching */

TILE_API tile_status tile_load(const tile_kernel *kernel, tile_device *device,
                               tile_executable **executable, tile_diagnostics **diagnostics);
TILE_API void tile_executable_destroy(tile_executable *executable);

typedef struct tile_executable_info {
    size_t size;
    int32_t registers, local_bytes; /* of a thread, as the driver loaded it */
    size_t param_count;             /* values that tile_launch takes */
    int32_t max_threads;            /* of a block, by what it takes of the device's registers */
    void *module, *function;        /* CUmodule and CUfunction; they stay the executable's */
} tile_executable_info;

TILE_API tile_status tile_executable_get_info(const tile_executable *executable,
                                              tile_executable_info *info);

/* Launches `grid` programs. params[i] points at the value of the i-th parameter that is no
 * constexpr, as for cuLaunchKernel; the values are read before the call returns. A grid with a zero
 * launches nothing. The device's context need not be current in the calling thread; when it is, the
 * call costs what the driver's costs: nothing is allocated and no lock is taken. The promises of
 * the signature (multiples of 16, values of 1) are the caller's to keep.
 * TILE_ERROR_INVALID_ARGUMENT: `param_count` is not the executable's, or the grid is larger than
 * the driver takes: 2^31 - 1 blocks in x, 65535 in y and in z.
 *
 * A kernel with tensor copies (tile_kernel_info.tensor_map_count) has tensor maps made of its
 * arguments; those of the last launches are kept. TILE_ERROR_TENSOR_MAP: they hold no such base,
 * extent or stride, or the driver is older than CUDA 12.0 and makes none, and nothing was launched;
 * tile_executable_check says more, and a kernel compiled with no_tensor_copies takes any.
 *
 * A kernel whose code takes arguments to be apart (tile_kernel_info.apart_count) is not launched
 * with one pointer for both of such a pair: TILE_ERROR_IN_PLACE. One compiled with in_place is.
 *
 * A persistent kernel (tile_kernel_info.is_persistent) runs at most 2^30 programs in a launch:
 * TILE_ERROR_INVALID_ARGUMENT with more. */
TILE_API tile_status tile_launch(const tile_executable *executable, const uint32_t grid[3],
                                 tile_stream stream, void *const *params, size_t param_count);

/* What a launch is asked for besides its grid; zeros ask for nothing. */
typedef struct tile_launch_options {
    size_t size;
    bool programmatic; /* the launch may begin when each block of the one before it in the stream
                          has called gdc_launch_dependents or ended, not when that launch has ended:
                          programmatic stream serialization. What the kernel reads of launches
                          before it, and whatever they read that it writes, stands behind its
                          gdc_wait (docs/language.md); a kernel without gdc_wait is ordered by
                          nothing. Capability 9.0 */
    bool cooperative;  /* all blocks run at once, or the launch fails: blocks may wait for others */
    uint32_t cluster[3]; /* blocks along each axis that run at once, near each other, 8 at most;
                            0: 1. The grid's blocks have to be a multiple, but those of kernels that
                            are persistent or share blocks, whose number is the launcher's own.
                            Kernels that were compiled with num_ctas have theirs. Capability 9.0 */
} tile_launch_options;

/* As tile_launch, with options, which may be NULL, and diagnostics. TILE_ERROR_NO_DEVICE: the
 * device cannot do what is asked; TILE_ERROR_INVALID_ARGUMENT: the kernel or the grid cannot, such
 * as a cooperative launch of more blocks than the device holds: the diagnostic says how many that
 * are. Nothing was launched then. */
TILE_API tile_status tile_launch_with(const tile_executable *executable, const uint32_t grid[3],
                                      tile_stream stream, void *const *params, size_t param_count,
                                      const tile_launch_options *options,
                                      tile_diagnostics **diagnostics);
/* Whether tensor maps hold these values, which are given as to tile_launch: TILE_OK, or
 * TILE_ERROR_TENSOR_MAP with a diagnostic that names what was found, what was wanted, and the
 * parameters it comes from. TILE_ERROR_INVALID_ARGUMENT: as tile_launch. Nothing is launched. */
TILE_API tile_status tile_executable_check(const tile_executable *executable, void *const *params,
                                           size_t param_count, tile_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif
#endif
