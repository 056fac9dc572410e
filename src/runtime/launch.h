/* A kernel on a device: loading and launching. */
#ifndef TILEC_RUNTIME_LAUNCH_H
#define TILEC_RUNTIME_LAUNCH_H
#include "codegen/codegen.h"
#include "runtime/driver.h"

enum { LAUNCH_MAX_PARAMS = 512 };

typedef struct Executable {
    const Device *device;
    CUmodule module;
    CUfunction function;
    uint32_t threads, shared_bytes, programs_per_cta, num_ctas;
    uint32_t param_count; /* without the hidden one */
    bool has_grid_parameter;
    int registers, local_bytes; /* of a thread, as loaded */
} Executable;

/* Loads `image` (cubin, or PTX terminated by a zero) and readies the kernel for launches. False
 * after an error was reported; nothing stays loaded then. */
bool executable_load(Executable *executable, Diags *diags, const Device *device, Str image,
                     const KernelMeta *meta, uint32_t param_count);
void executable_unload(Executable *executable);

/* Launches `grid` programs; see tile_launch. No allocation, no lock. */
CUresult executable_launch(const Executable *executable, const uint32_t grid[3], CUstream stream,
                           void *const *params);
#endif
