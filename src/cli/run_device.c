/* `tilec run` on a GPU. */
#include "cli/run.h"
#include "runtime/driver/faults.h"

#include <stdlib.h>

/* One run: what was made on the device, undone in the end. */
typedef struct DeviceRun {
    Ctx *ctx;
    const Device *device;
    RunArg **args;
    uint32_t count;
    Executable executable;
    void **params;
    uint64_t *scalars;
    unsigned other_form;
} DeviceRun;

static bool copy_in(DeviceRun *run) {
    const Driver *driver = run->device->driver;
    for (uint32_t i = 0; i < run->count; i++) {
        RunArg *arg = run->args[i];
        run->params[i] = &run->scalars[i];
        if (!arg->is_array) {
            run->scalars[i] = run_scalar_bits(arg);
            continue;
        }
        if (!arg->device) {
            if (!device_allocate(run->device, &run->ctx->diags, arg->array.bytes, &arg->device))
                return false;
            if (arg->array.bytes &&
                !DRIVER_TRY(driver, &run->ctx->diags, copy_to_device, arg->device, arg->array.data,
                            arg->array.bytes, NULL))
                return false;
        }
        run->scalars[i] = arg->device;
    }
    return true;
}

bool run_fill_array(const Device *device, Diags *diags, const RunArg *arg) {
    const Driver *driver = device->driver;
    const size_t bytes = arg->array.bytes;
    size_t done = arg->part.bytes < bytes ? arg->part.bytes : bytes;
    if (done && !fault_check(device, diags, DRIVER_copy_to_device,
                             driver->copy_to_device(arg->device, arg->part.data, done, NULL)))
        return false;
    while (done && done < bytes) {
        const size_t more = done < bytes - done ? done : bytes - done;
        if (!fault_check(device, diags, DRIVER_copy_on_device,
                         driver->copy_on_device(arg->device + done, arg->device, more, NULL)))
            return false;
        done += more;
    }
    return true;
}

static bool launch(DeviceRun *run, const uint32_t grid[3]) {
    Ctx *ctx = run->ctx;
    TensorMapProblem problem;
    uint32_t blocks[3];
    if (!launch_shape_blocks(&run->executable.shape, grid, blocks))
        return ctx_diag(ctx, (Span){0}, launch_too_many_programs, STR_ARG(run->executable.name),
                        LAUNCH_MAX_PERSISTENT);
    CUresult result =
        executable_launch(&run->executable, &(Launch){.grid = grid}, run->params, &problem);
    run->other_form = launch_needs_form(result);
    if (!run->other_form)
        return driver_check(run->device->driver, &ctx->diags, DRIVER_launch, result);
    const char *why =
        executable_explain(&run->executable, &ctx->arena, run->params, run->other_form, &problem);
    if (run->other_form == FORM_IN_PLACE)
        ctx_diag(ctx, (Span){0}, in_place_other_form, STR_ARG(run->executable.name), why);
    else
        ctx_diag(ctx, (Span){0}, tensor_map_other_form, STR_ARG(run->executable.name), why);
    return false;
}

static bool copy_out(DeviceRun *run) {
    const Driver *driver = run->device->driver;
    for (uint32_t i = 0; i < run->count; i++) {
        RunArg *arg = run->args[i];
        if (arg->is_array && arg->array.bytes &&
            !DRIVER_TRY(driver, &run->ctx->diags, copy_from_device, arg->array.data, arg->device,
                        arg->array.bytes, NULL))
            return false;
    }
    return DRIVER_TRY(driver, &run->ctx->diags, stream_wait, NULL);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Each launch between two events of its own. */
static bool time_launches(DeviceRun *run, const uint32_t grid[3], uint32_t repeat,
                          RunTimes *times) {
    const Driver *driver = run->device->driver;
    Diags *diags = &run->ctx->diags;
    double *samples = ARENA_ARRAY(&run->ctx->arena, double, repeat);
    CUevent begin, end;
    if (!DRIVER_TRY(driver, diags, event_create, &begin, CUDA_EVENT_DEFAULT))
        return false;
    bool ok = DRIVER_TRY(driver, diags, event_create, &end, CUDA_EVENT_DEFAULT);
    if (!ok) {
        driver->event_destroy(begin);
        return false;
    }
    for (uint32_t i = 0; ok && i < repeat; i++) {
        float ms = 0;
        ok = DRIVER_TRY(driver, diags, event_record, begin, NULL) && launch(run, grid) &&
             DRIVER_TRY(driver, diags, event_record, end, NULL) &&
             DRIVER_TRY(driver, diags, event_wait, end) &&
             DRIVER_TRY(driver, diags, event_elapsed, &ms, begin, end);
        samples[i] = ms;
    }
    driver->event_destroy(end);
    driver->event_destroy(begin);
    qsort(samples, repeat, sizeof *samples, by_value);
    *times = (RunTimes){repeat, samples[repeat / 2], samples[0]};
    return ok;
}

static bool run_loaded(DeviceRun *run, const uint32_t grid[3], uint32_t repeat, RunTimes *times) {
    const Driver *driver = run->device->driver;
    bool ok = copy_in(run) && launch(run, grid) &&
              DRIVER_TRY(driver, &run->ctx->diags, context_wait) && copy_out(run) &&
              (!repeat || time_launches(run, grid, repeat, times));
    for (uint32_t i = 0; i < run->count; i++) {
        if (run->args[i]->device)
            driver->memory_free(run->args[i]->device);
        run->args[i]->device = 0;
    }
    return ok;
}

bool run_on_device(Ctx *ctx, const Device *device, const Compiled *compiled, RunArg **args,
                   uint32_t count, const uint32_t grid[3], uint32_t repeat, RunTimes *times,
                   unsigned *other_form) {
    DeviceRun run = {.ctx = ctx, .device = device, .args = args, .count = count};
    run.params = ARENA_ARRAY(&ctx->arena, void *, count + 1);
    run.scalars = ARENA_ARRAY(&ctx->arena, uint64_t, count + 1);
    const KernelImage image = compiled_image(&ctx->arena, compiled, device->driver);
    bool pushed;
    *times = (RunTimes){0};
    if (!driver_check(device->driver, &ctx->diags, DRIVER_context_push,
                      device_enter(device, &pushed)))
        return false;
    bool ok = executable_load(&run.executable, &ctx->arena, &ctx->diags, device, &image);
    if (ok) {
        ok = run_loaded(&run, grid, repeat, times);
        executable_unload(&run.executable);
    }
    *other_form = run.other_form;
    device_leave(device, pushed);
    return ok;
}
