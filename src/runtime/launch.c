/* What a launch needs is worked out when the kernel is loaded; the launch itself only fills in the
 * grid. */
#include "runtime/launch.h"

enum { SHARED_WITHOUT_OPT_IN = 48 * 1024 };

static bool load_function(Executable *e, Diags *diags, const KernelMeta *meta) {
    const Driver *driver = e->device->driver;
    const char *name = str_dup(diags->arena, meta->name);
    if (!DRIVER_TRY(driver, diags, module_function, &e->function, e->module, name) ||
        !DRIVER_TRY(driver, diags, function_get, &e->registers, CUDA_FUNCTION_REGISTERS,
                    e->function) ||
        !DRIVER_TRY(driver, diags, function_get, &e->local_bytes, CUDA_FUNCTION_LOCAL, e->function))
        return false;
    return meta->shared_bytes <= SHARED_WITHOUT_OPT_IN ||
           DRIVER_TRY(driver, diags, function_set, e->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED,
                      meta->shared_bytes);
}

bool executable_load(Executable *executable, Diags *diags, const Device *device, Str image,
                     const KernelMeta *meta, uint32_t param_count) {
    *executable = (Executable){
        .device = device,
        .threads = (uint32_t)meta->threads,
        .shared_bytes = (uint32_t)meta->shared_bytes,
        .programs_per_cta = meta->programs_per_cta > 1 ? (uint32_t)meta->programs_per_cta : 1,
        .num_ctas = meta->num_ctas > 1 ? (uint32_t)meta->num_ctas : 1,
        .param_count = param_count,
        .has_grid_parameter = meta->has_grid_parameter,
    };
    if (param_count > LAUNCH_MAX_PARAMS)
        return diag(diags, (Span){0}, too_many_params, STR_ARG(meta->name), param_count,
                    LAUNCH_MAX_PARAMS);
    const Driver *driver = device->driver;
    bool pushed;
    if (!driver_check(driver, diags, DRIVER_context_push, device_enter(device, &pushed)))
        return false;
    CUresult loaded = driver->module_load(&executable->module, image.ptr, 0, NULL, NULL);
    bool ok = loaded == CUDA_OUT_OF_MEMORY
                  ? diag(diags, (Span){0}, device_memory_code, STR_ARG(meta->name))
                  : driver_check(driver, diags, DRIVER_module_load, loaded);
    if (ok && !load_function(executable, diags, meta)) {
        driver->module_unload(executable->module);
        ok = false;
    }
    device_leave(device, pushed);
    if (!ok)
        executable->module = NULL;
    return ok;
}

void executable_unload(Executable *executable) {
    if (!executable->module)
        return;
    bool pushed;
    if (device_enter(executable->device, &pushed) == CUDA_OK) {
        executable->device->driver->module_unload(executable->module);
        device_leave(executable->device, pushed);
    }
    executable->module = NULL;
}

/* Clusters are part of the launch, not of the kernel's own grid arithmetic: num_ctas blocks work on
 * one program, and the grid counts blocks. */
static CUresult launch_clusters(const Executable *e, uint32_t grid_x, const uint32_t grid[3],
                                CUstream stream, void **params) {
    CudaLaunchAttribute cluster = {.id = CUDA_LAUNCH_CLUSTER, .value.cluster = {e->num_ctas, 1, 1}};
    const CudaLaunchConfig config = {.grid_x = grid_x * e->num_ctas,
                                     .grid_y = grid[1],
                                     .grid_z = grid[2],
                                     .block_x = e->threads,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .shared_bytes = e->shared_bytes,
                                     .stream = stream,
                                     .attributes = &cluster,
                                     .attribute_count = 1};
    return e->device->driver->launch_ex(&config, e->function, params, NULL);
}

CUresult executable_launch(const Executable *executable, const uint32_t grid[3], CUstream stream,
                           void *const *params) {
    const Executable *e = executable;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return CUDA_OK;
    void *all[LAUNCH_MAX_PARAMS + 1];
    void **passed = (void **)(uintptr_t)params;
    int32_t logical_x = (int32_t)grid[0];
    if (e->has_grid_parameter) {
        if (e->param_count)
            memcpy(all, params, e->param_count * sizeof *all);
        all[e->param_count] = &logical_x;
        passed = all;
    }
    uint32_t grid_x =
        (uint32_t)(((uint64_t)grid[0] + e->programs_per_cta - 1) / e->programs_per_cta);
    bool pushed;
    CUresult result = device_enter(e->device, &pushed);
    if (result != CUDA_OK)
        return result;
    result = e->num_ctas > 1
                 ? launch_clusters(e, grid_x, grid, stream, passed)
                 : e->device->driver->launch(e->function, grid_x, grid[1], grid[2], e->threads, 1,
                                             1, e->shared_bytes, stream, passed, NULL);
    device_leave(e->device, pushed);
    return result;
}
