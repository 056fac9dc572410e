/* Launches that are asked for more than a grid: what goes with the device and the kernel, and the
 * attributes that cuLaunchKernelEx gets for it. */
#ifndef TILEC_RUNTIME_LAUNCH_LAUNCH_OPTIONS_H
#define TILEC_RUNTIME_LAUNCH_LAUNCH_OPTIONS_H
#include "runtime/launch/launch.h"

enum { LAUNCH_MAX_ATTRIBUTES = 3 };

/* Why a launch cannot be as its options say. */
typedef enum LaunchRefusal {
    LAUNCH_ALLOWED,
    LAUNCH_NO_PROGRAMMATIC,
    LAUNCH_NO_COOPERATIVE,
    LAUNCH_NO_CLUSTERS,
    LAUNCH_OTHER_CLUSTERS, /* than those that the kernel was compiled for */
    LAUNCH_CLUSTER_SIZE,
    LAUNCH_CLUSTER_GRID, /* is no multiple of the cluster */
} LaunchRefusal;

/* Makes whole clusters of the blocks where the kernel lets more blocks, or fewer, run the same
 * programs. */
LaunchRefusal launch_options_apply(const Executable *executable, const tile_launch_options *options,
                                   uint32_t blocks[3]);
/* How many attributes the launch has. `options` may be NULL. */
unsigned launch_options_attributes(const Executable *executable, const tile_launch_options *options,
                                   CudaLaunchAttribute attributes[LAUNCH_MAX_ATTRIBUTES]);
/* Reports why launch_options_apply refuses these blocks. */
void launch_options_report(const Executable *executable, const tile_launch_options *options,
                           const uint32_t blocks[3], Diags *diags);
/* Reports that the device does not hold the blocks of a cooperative launch at once. */
void launch_report_cooperative(const Executable *executable, const tile_launch_options *options,
                               const uint32_t blocks[3], Diags *diags);
#endif
