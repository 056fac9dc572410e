/* What a launch needs is worked out when the kernel is loaded; the launch itself fills in the grid
 * and the tensor maps. */
#include "runtime/driver/faults.h"
#include "runtime/launch/launch_options.h"
#include "target/grid_limits.h"

enum { SHARED_WITHOUT_OPT_IN = 48 * 1024 };

/* How many CTAs of a persistent kernel the device holds at once. */
static bool count_resident(Executable *e, Diags *diags) {
    int blocks = 0;
    if (!DRIVER_TRY(e->device->driver, diags, occupancy, &blocks, e->function, (int)e->threads,
                    e->shared_bytes))
        return false;
    /* Where not even one fits the launch itself says so. */
    uint32_t processors = (uint32_t)(e->device->sm_count > 0 ? e->device->sm_count : 1);
    e->shape.resident_ctas = processors * (uint32_t)(blocks > 0 ? blocks : 1);
    return true;
}

static bool load_function(Executable *e, Diags *diags, const KernelMeta *meta) {
    const Driver *driver = e->device->driver;
    const char *name = str_dup(diags->arena, meta->name);
    if (!DRIVER_TRY(driver, diags, module_function, &e->function, e->module, name) ||
        !DRIVER_TRY(driver, diags, function_get, &e->registers, CUDA_FUNCTION_REGISTERS,
                    e->function) ||
        !DRIVER_TRY(driver, diags, function_get, &e->local_bytes, CUDA_FUNCTION_LOCAL,
                    e->function) ||
        !DRIVER_TRY(driver, diags, function_get, &e->max_threads, CUDA_FUNCTION_THREADS,
                    e->function))
        return false;
    if (meta->shared_bytes > SHARED_WITHOUT_OPT_IN &&
        !DRIVER_TRY(driver, diags, function_set, e->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED,
                    meta->shared_bytes))
        return false;
    return !meta->is_persistent || count_resident(e, diags);
}

bool executable_load(Executable *executable, Arena *arena, Diags *diags, const Device *device,
                     const KernelImage *image) {
    const KernelMeta *meta = image->meta;
    *executable = (Executable){
        .device = device,
        .context = device->context,
        .context_current = device->driver->context_current,
        .launch = device->driver->launch,
        .threads = (uint32_t)meta->threads,
        .shared_bytes = (uint32_t)meta->shared_bytes,
        .shape = launch_shape(meta),
        .num_ctas = meta->num_ctas > 1 ? (uint32_t)meta->num_ctas : 1,
        .param_count = image->param_count,
        .name = {str_dup(arena, meta->name), meta->name.len},
        .grid_parameters = (uint32_t)meta_grid_parameters(meta),
        .maps =
            tensor_maps_create(arena, &meta->tensor_maps, image->param_names, image->param_count),
        .promises = promises_create(arena, image->params, image->source_count),
        .apart = apart_create(arena, &meta->apart),
    };
    if (image->param_count > LAUNCH_MAX_PARAMS)
        return diag(diags, (Span){0}, too_many_params, STR_ARG(meta->name), image->param_count,
                    LAUNCH_MAX_PARAMS);
    if (meta->tensor_maps.len > RECIPE_MAX_MAPS)
        return diag(diags, (Span){0}, too_many_tensor_maps, STR_ARG(meta->name),
                    meta->tensor_maps.len, RECIPE_MAX_MAPS);
    if (meta->shared_bytes > device->shared_per_block &&
        meta->shared_bytes > SHARED_WITHOUT_OPT_IN) {
        diag(diags, (Span){0}, load_shared, STR_ARG(meta->name), meta->shared_bytes,
             device->ordinal, device->shared_per_block);
        diag_resource(diags, (uint64_t)meta->shared_bytes, (uint64_t)device->shared_per_block);
        return false;
    }
    const Driver *driver = device->driver;
    bool pushed;
    if (!fault_check(device, diags, DRIVER_context_push, device_enter(device, &pushed)))
        return false;
    CUresult loaded = driver->module_load(&executable->module, image->code.ptr, 0, NULL, NULL);
    bool ok = loaded == CUDA_OUT_OF_MEMORY
                  ? diag(diags, (Span){0}, device_memory_code, STR_ARG(meta->name))
                  : fault_check(device, diags, DRIVER_module_load, loaded);
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
    static const char unloaded[] = "a kernel that is unloaded by now";
    const char *name = executable->name.ptr;
    if (!executable->module)
        return;
    atomic_compare_exchange_strong(device_latest(executable->device), &name, unloaded);
    bool pushed;
    if (device_enter(executable->device, &pushed) == CUDA_OK) {
        executable->device->driver->module_unload(executable->module);
        device_leave(executable->device, pushed);
    }
    executable->module = NULL;
}

/* Clusters of a kernel's own are part of the launch, not of its grid arithmetic: num_ctas blocks
 * work on one program, and the grid counts blocks. */
static CUresult launch_with_attributes(const Executable *e, const Launch *launch,
                                       const uint32_t blocks[3], void **params) {
    CudaLaunchAttribute attributes[LAUNCH_MAX_ATTRIBUTES];
    if (blocks[0] > INT32_MAX / e->num_ctas)
        return CUDA_INVALID_VALUE; /* as the driver would say if it could be told */
    const CudaLaunchConfig config = {.grid_x = blocks[0] * e->num_ctas,
                                     .grid_y = blocks[1],
                                     .grid_z = blocks[2],
                                     .block_x = e->threads,
                                     .block_y = 1,
                                     .block_z = 1,
                                     .shared_bytes = e->shared_bytes,
                                     .stream = launch->stream,
                                     .attributes = attributes,
                                     .attribute_count =
                                         launch_options_attributes(e, launch->options, attributes)};
    return e->device->driver->launch_ex(&config, e->function, params, NULL);
}

/* Whether cuLaunchKernel does not do. */
static bool has_attributes(const Executable *e, const Launch *launch) {
    return e->num_ctas > 1 || launch->options;
}

static CUresult launch_blocks(const Executable *e, const Launch *launch, const uint32_t blocks[3],
                              void **params) {
    return has_attributes(e, launch)
               ? launch_with_attributes(e, launch, blocks, params)
               : e->launch(e->function, blocks[0], blocks[1], blocks[2], e->threads, 1, 1,
                           e->shared_bytes, launch->stream, params, NULL);
}

typedef struct HiddenParams {
    void *all[LAUNCH_MAX_PARAMS + 3 + RECIPE_MAX_MAPS];
    CudaTensorMap maps[RECIPE_MAX_MAPS];
    uint32_t grid[3];
} HiddenParams;

/* The kernel's own parameters, then those that only the launcher knows of. */
static CUresult launch_with_hidden(const Executable *e, const Launch *launch,
                                   const uint32_t blocks[3], void *const *params,
                                   TensorMapProblem *problem) {
    HiddenParams hidden;
    uint32_t count = e->param_count;
    if (count)
        memcpy(hidden.all, params, count * sizeof *hidden.all);
    memcpy(hidden.grid, launch->grid, sizeof hidden.grid);
    for (uint32_t axis = 0; axis < e->grid_parameters; axis++)
        hidden.all[count++] = &hidden.grid[axis];
    if (e->maps && !tensor_maps_encode(e->maps, e->device->driver, (const void *const *)params,
                                       hidden.maps, problem))
        return LAUNCH_NO_TENSOR_MAP;
    for (uint32_t i = 0; i < tensor_maps_count(e->maps); i++)
        hidden.all[count++] = &hidden.maps[i];
    return launch_blocks(e, launch, blocks, hidden.all);
}

/* Which of a block's limits is exceeded only the driver knows. */
static void report_resources(const Executable *e, Diags *diags) {
    const Device *device = e->device;
    int registers = 0, threads = 0;
    device->driver->device_attribute(&registers, CUDA_ATTRIBUTE_REGISTERS, device->handle);
    device->driver->device_attribute(&threads, CUDA_ATTRIBUTE_THREADS, device->handle);
    diag(diags, (Span){0}, launch_resources, STR_ARG(e->name), e->threads, e->registers,
         e->shared_bytes, device->ordinal, registers, threads, device->shared_per_block);
    diag_hint(diags, "compile with max_registers, fewer warps or max_shared");
}

void executable_report(const Executable *executable, const Launch *launch, Diags *diags,
                       CUresult result) {
    uint32_t blocks[3];
    launch_shape_blocks(&executable->shape, launch->grid, blocks);
    if (result == LAUNCH_REFUSED)
        launch_options_report(executable, launch->options, blocks, diags);
    else if (result == CUDA_LAUNCH_RESOURCES)
        report_resources(executable, diags);
    else if (result == CUDA_COOPERATIVE_LARGE)
        launch_report_cooperative(executable, launch->options, blocks, diags);
    else
        fault_check(executable->device, diags,
                    has_attributes(executable, launch) ? DRIVER_launch_ex : DRIVER_launch, result);
}

/* As device_enter, by what the executable has. */
static CUresult enter(const Executable *e, bool *pushed) {
    CUcontext current = NULL;
    const CUresult result = e->context_current(&current);
    *pushed = false;
    return result != CUDA_OK || current == e->context ? result : device_enter(e->device, pushed);
}

CUresult executable_launch(const Executable *executable, const Launch *launch, void *const *params,
                           TensorMapProblem *problem) {
    const Executable *e = executable;
    const uint32_t *grid = launch->grid;
    uint32_t blocks[3];
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return CUDA_OK;
    if (!launch_shape_blocks(&e->shape, grid, blocks))
        return CUDA_INVALID_VALUE;
    if (apart_find(e->apart, (const void *const *)params))
        return LAUNCH_IN_PLACE;
    if (launch->options && launch_options_apply(e, launch->options, blocks) != LAUNCH_ALLOWED)
        return LAUNCH_REFUSED;
    bool pushed;
    CUresult result = enter(e, &pushed);
    if (result != CUDA_OK)
        return result;
    result = e->grid_parameters || e->maps
                 ? launch_with_hidden(e, launch, blocks, params, problem)
                 : launch_blocks(e, launch, blocks, (void **)(uintptr_t)params);
    if (result == CUDA_OK)
        atomic_store_explicit(device_latest(e->device), e->name.ptr, memory_order_relaxed);
    if (pushed)
        device_leave(e->device, pushed);
    return result;
}

/* What the driver takes, and what a persistent kernel counts to. */
static bool check_grid(const Executable *e, Diags *diags, const uint32_t grid[3]) {
    uint32_t blocks[3];
    bool kept = true;
    if (!launch_shape_blocks(&e->shape, grid, blocks))
        return diag(diags, (Span){0}, launch_programs, STR_ARG(e->name), grid[0], grid[1], grid[2],
                    LAUNCH_MAX_PERSISTENT);
    for (uint32_t axis = 0; axis < 3; axis++)
        if (blocks[axis] > target_max_grid(axis))
            kept = diag(diags, (Span){0}, launch_grid, STR_ARG(e->name), "xyz"[axis], grid[axis],
                        target_max_grid(axis));
    return kept;
}

bool executable_check(const Executable *executable, Diags *diags, const uint32_t grid[3],
                      void *const *params) {
    const bool in_bounds = check_grid(executable, diags, grid);
    return promises_check(executable->promises, executable->param_count, diags, executable->name,
                          params) &&
           in_bounds;
}

unsigned executable_needs_form(const Executable *e, void *const *params,
                               TensorMapProblem *problem) {
    CudaTensorMap maps[RECIPE_MAX_MAPS];
    const void *const *values = (const void *const *)params;
    if (apart_find(e->apart, values))
        return FORM_IN_PLACE;
    return e->maps && !tensor_maps_encode(e->maps, e->device->driver, values, maps, problem)
               ? FORM_PLAIN
               : 0;
}

static const char *explain_in_place(const Executable *e, Arena *arena, void *const *params) {
    Str *names = ARENA_ARRAY(arena, Str, e->param_count + 1);
    for (uint32_t i = 0; i < e->param_count; i++)
        names[i] = e->promises[i].name;
    const ApartParams *pair = apart_find(e->apart, (const void *const *)params);
    return pair ? apart_explain(arena, names, pair) : "arguments are one array";
}

const char *executable_explain(const Executable *executable, Arena *arena, void *const *params,
                               unsigned form, const TensorMapProblem *problem) {
    if (form == FORM_IN_PLACE)
        return explain_in_place(executable, arena, params);
    return tensor_maps_explain(executable->maps, executable->device->driver, arena,
                               (const void *const *)params, problem);
}
