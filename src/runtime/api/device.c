/* Public API: devices, their memory, streams and events; loading and launching. */
#include "runtime/api/api.h"
#include "runtime/driver/faults.h"

tile_status tile_device_count(tile_context *context, int *count, tile_diagnostics **diagnostics) {
    if (!context || !count)
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    const Driver *driver = context_driver(context, &call->ctx->diags);
    int found = driver ? driver_device_count(driver, &call->ctx->diags) : 0;
    if (found)
        *count = found;
    return call_end(call, TILE_OK);
}

tile_status tile_device_open(tile_context *context, int ordinal, tile_device **device,
                             tile_diagnostics **diagnostics) {
    if (!context || !device)
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    tile_device *made = ARENA_NEW(&call->object, tile_device);
    made->context = context;
    made->number = atomic_fetch_add(&context->devices, 1);
    atomic_init(&made->holders, 1);
    const Driver *driver = context_driver(context, &call->ctx->diags);
    if (driver && device_open(driver, &call->ctx->diags, ordinal, &made->device)) {
        call_keep(call, &made->arena);
        *device = made;
    }
    return call_end(call, TILE_OK);
}

void device_hold(tile_device *device) {
    atomic_fetch_add_explicit(&device->holders, 1, memory_order_relaxed);
}

void device_drop(tile_device *device) {
    if (atomic_fetch_sub(&device->holders, 1) != 1)
        return;
    if (device->host_calls)
        device->host_calls->close(device);
    else
        device_close(&device->device);
    Arena arena = device->arena;
    arena_free(&arena);
}

void tile_device_close(tile_device *device) {
    if (device)
        device_drop(device);
}

tile_status tile_device_get_info(const tile_device *device, tile_device_info *info) {
    if (!device || !info)
        return TILE_ERROR_INVALID_ARGUMENT;
    const Device *d = &device->device;
    const tile_device_info known = {
        .name = text_of(str_from(d->name)),
        .target = text_of(str_from(d->target ? d->target->name : "")),
        .ordinal = d->ordinal,
        .major = d->major,
        .minor = d->minor,
        .sm_count = d->sm_count,
        .l2_bytes = d->l2_bytes,
        .shared_per_block = d->shared_per_block,
        .memory_bytes = d->memory,
        .driver_version = d->driver ? d->driver->version : 0,
        .registers_per_block = d->block_registers,
        .registers_per_sm = d->sm_registers,
        .warp_size = d->warp_size,
        .clock_khz = d->clock_khz,
        .memory_clock_khz = d->memory_clock_khz,
        .memory_bus_bits = d->bus_bits,
    };
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

/* A call that has no diagnostics failed: the log is told. */
static tile_status failed(const tile_device *device, DriverFunction function, CUresult result) {
    tile_context *context = device->context;
    if (result == CUDA_OK || !context->log)
        return status_of_result(result);
    Call *call = call_begin(context, NULL);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    fault_check(&device->device, &call->ctx->diags, function, result);
    return call_end(call, status_of_result(result));
}

/* Driver calls with the device's context current, whose `expression` may use `driver`, or what a
 * host does. */
#define WITH_DEVICE(device_, function, expression, on_host)                                        \
    do {                                                                                           \
        if (!(device_))                                                                            \
            return TILE_ERROR_INVALID_ARGUMENT;                                                    \
        if ((device_)->host_calls)                                                                 \
            return (on_host);                                                                      \
        const Driver *driver = (device_)->device.driver;                                           \
        bool pushed_;                                                                              \
        CUresult result_ = device_enter(&(device_)->device, &pushed_);                             \
        if (result_ == CUDA_OK) {                                                                  \
            result_ = (expression);                                                                \
            device_leave(&(device_)->device, pushed_);                                             \
        }                                                                                          \
        return failed((device_), DRIVER_##function, result_);                                      \
    } while (0)

tile_status tile_memory_allocate(tile_device *device, size_t bytes, uint64_t *address,
                                 tile_diagnostics **diagnostics) {
    if (!device || !address)
        return invalid_argument(diagnostics);
    if (device->host_calls)
        return device->host_calls->allocate(device, bytes, address, diagnostics);
    Call *call = call_begin(device->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    bool pushed;
    CUdeviceptr pointer;
    if (fault_check(&device->device, &call->ctx->diags, DRIVER_context_push,
                    device_enter(&device->device, &pushed))) {
        if (device_allocate(&device->device, &call->ctx->diags, bytes, &pointer))
            *address = pointer;
        device_leave(&device->device, pushed);
    }
    return call_end(call, TILE_OK);
}

tile_status tile_memory_free(tile_device *device, uint64_t address) {
    WITH_DEVICE(device, memory_free, driver->memory_free(address),
                device->host_calls->free(device, address));
}

tile_status tile_memory_write(tile_device *device, uint64_t to, const void *from, size_t bytes,
                              tile_stream stream) {
    WITH_DEVICE(device, copy_to_device, driver->copy_to_device(to, from, bytes, (CUstream)stream),
                device->host_calls->write(device, to, from, bytes));
}

tile_status tile_memory_read(tile_device *device, void *to, uint64_t from, size_t bytes,
                             tile_stream stream) {
    WITH_DEVICE(device, copy_from_device,
                driver->copy_from_device(to, from, bytes, (CUstream)stream),
                device->host_calls->read(device, to, from, bytes));
}

tile_status tile_memory_set(tile_device *device, uint64_t to, uint8_t value, size_t bytes,
                            tile_stream stream) {
    WITH_DEVICE(device, set_bytes, driver->set_bytes(to, value, bytes, (CUstream)stream),
                device->host_calls->set(device, to, value, bytes));
}

/* All is done when a call returns: a stream is a name. */
static tile_status host_stream(tile_device *device, tile_stream *stream) {
    *stream = device;
    return TILE_OK;
}

/* What a driver says of an address; zeros of one that it does not know. */
typedef struct PointerFacts {
    uint64_t memory, device, managed, ordinal, begin, bytes;
} PointerFacts;

static CUresult find_facts(const Driver *driver, uint64_t address, PointerFacts *facts) {
    int attributes[] = {CUDA_POINTER_MEMORY,  CUDA_POINTER_DEVICE, CUDA_POINTER_MANAGED,
                        CUDA_POINTER_ORDINAL, CUDA_POINTER_BEGIN,  CUDA_POINTER_BYTES};
    void *values[] = {&facts->memory,  &facts->device, &facts->managed,
                      &facts->ordinal, &facts->begin,  &facts->bytes};
    const CUresult result =
        driver->pointer_facts(sizeof values / sizeof *values, attributes, values, address);
    if (result != CUDA_INVALID_VALUE)
        return result;
    *facts = (PointerFacts){0};
    return CUDA_OK;
}

static tile_memory_kind kind_of(const PointerFacts *facts) {
    if (facts->managed)
        return TILE_MEMORY_MANAGED;
    return facts->memory == CUDA_MEMORY_DEVICE ? TILE_MEMORY_DEVICE
           : facts->memory == CUDA_MEMORY_HOST ? TILE_MEMORY_PINNED
                                               : TILE_MEMORY_UNKNOWN;
}

static CUresult find_memory(const Driver *driver, uint64_t address, tile_memory_info *info) {
    PointerFacts facts = {0};
    const CUresult result = find_facts(driver, address, &facts);
    info->kind = kind_of(&facts);
    if (result != CUDA_OK || info->kind == TILE_MEMORY_UNKNOWN)
        return result;
    info->ordinal = (int32_t)facts.ordinal;
    info->device_address = facts.device;
    info->begin = facts.begin;
    info->bytes = facts.bytes;
    return CUDA_OK;
}

static tile_status query_memory(tile_device *device, uint64_t address, tile_memory_info *info) {
    WITH_DEVICE(device, pointer_facts, find_memory(driver, address, info),
                device->host_calls->memory_info(device, address, info));
}

tile_status tile_memory_get_info(tile_device *device, uint64_t address, tile_memory_info *info) {
    tile_memory_info known = {.ordinal = -1};
    if (!info)
        return TILE_ERROR_INVALID_ARGUMENT;
    const tile_status status = query_memory(device, address, &known);
    if (status != TILE_OK)
        return status;
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status tile_stream_create(tile_device *device, tile_stream *stream) {
    if (!stream)
        return TILE_ERROR_INVALID_ARGUMENT;
    WITH_DEVICE(device, stream_create,
                driver->stream_create((CUstream *)stream, CUDA_STREAM_NON_BLOCKING),
                host_stream(device, stream));
}

tile_status tile_stream_destroy(tile_device *device, tile_stream stream) {
    WITH_DEVICE(device, stream_destroy, driver->stream_destroy((CUstream)stream), TILE_OK);
}

tile_status tile_stream_synchronize(tile_device *device, tile_stream stream,
                                    tile_diagnostics **diagnostics) {
    if (!device)
        return invalid_argument(diagnostics);
    if (diagnostics)
        *diagnostics = NULL;
    if (device->host_calls)
        return TILE_OK;
    Call *call = call_begin(device->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    const Device *d = &device->device;
    bool pushed;
    CUresult result = device_enter(d, &pushed);
    if (fault_check(d, &call->ctx->diags, DRIVER_context_push, result)) {
        result = d->driver->stream_wait((CUstream)stream);
        fault_check(d, &call->ctx->diags, DRIVER_stream_wait, result);
        device_leave(d, pushed);
    }
    return call_end(call, status_of_result(result));
}

tile_status tile_event_create(tile_device *device, tile_event *event) {
    if (!event)
        return TILE_ERROR_INVALID_ARGUMENT;
    WITH_DEVICE(device, event_create, driver->event_create((CUevent *)event, CUDA_EVENT_DEFAULT),
                device->host_calls->event_create(device, event));
}

tile_status tile_event_destroy(tile_device *device, tile_event event) {
    WITH_DEVICE(device, event_destroy, driver->event_destroy((CUevent)event),
                device->host_calls->event_destroy(device, event));
}

tile_status tile_event_record(tile_device *device, tile_event event, tile_stream stream) {
    WITH_DEVICE(device, event_record, driver->event_record((CUevent)event, (CUstream)stream),
                device->host_calls->event_record(device, event));
}

static CUresult elapsed(const Driver *driver, CUevent begin, CUevent end, float *milliseconds) {
    CUresult result = driver->event_wait(end);
    return result == CUDA_OK ? driver->event_elapsed(milliseconds, begin, end) : result;
}

tile_status tile_event_elapsed(tile_device *device, tile_event begin, tile_event end,
                               float *milliseconds) {
    if (!milliseconds)
        return TILE_ERROR_INVALID_ARGUMENT;
    WITH_DEVICE(device, event_elapsed, elapsed(driver, (CUevent)begin, (CUevent)end, milliseconds),
                device->host_calls->event_elapsed(begin, end, milliseconds));
}

/* The kernel was compiled for what the device is. */
static bool check_target(Diags *diags, const KernelFacts *facts, const Device *device) {
    if (device->target == facts->meta.target)
        return true;
    return diag(diags, (Span){0}, device_other_target, STR_ARG(facts->meta.name),
                facts->meta.target->name, device->name, device->major, device->minor);
}

tile_status tile_load(const tile_kernel *kernel, tile_device *device, tile_executable **executable,
                      tile_diagnostics **diagnostics) {
    if (!kernel || !device || !executable)
        return invalid_argument(diagnostics);
    Call *call = call_begin(device->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    if (device->host_calls) {
        ctx_diag(call->ctx, (Span){0}, host_executable, device->device.name);
        return call_end(call, TILE_OK);
    }
    tile_executable *made = ARENA_NEW(&call->object, tile_executable);
    made->context = device->context;
    Diags *diags = &call->ctx->diags;
    const KernelImage image = kernel_image(&call->ctx->arena, kernel, device->device.driver);
    if (check_target(diags, &kernel->facts, &device->device) &&
        executable_load(&made->executable, &call->object, diags, &device->device, &image)) {
        device_hold(device);
        made->device = device;
        call_keep(call, &made->arena);
        *executable = made;
    }
    return call_end(call, TILE_OK);
}

void tile_executable_destroy(tile_executable *executable) {
    if (!executable)
        return;
    executable_unload(&executable->executable);
    device_drop(executable->device);
    Arena arena = executable->arena;
    arena_free(&arena);
}

tile_status tile_executable_get_info(const tile_executable *executable,
                                     tile_executable_info *info) {
    if (!executable || !info)
        return TILE_ERROR_INVALID_ARGUMENT;
    const Executable *e = &executable->executable;
    const tile_executable_info known = {.registers = e->registers,
                                        .local_bytes = e->local_bytes,
                                        .param_count = e->device ? e->param_count : 0,
                                        .max_threads = e->max_threads,
                                        .module = e->module,
                                        .function = e->function};
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status launch_check(const tile_executable *executable, const uint32_t grid[3],
                         void *const *params, tile_diagnostics **diagnostics) {
    Call *call = call_continue(executable->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    executable_check(&executable->executable, &call->ctx->diags, grid, params);
    return call_end(call, TILE_OK);
}

bool launch_make(const uint32_t grid[3], tile_stream stream, const tile_launch_options *options,
                 tile_launch_options *whole, Launch *launch) {
    *launch = (Launch){.grid = grid, .stream = (CUstream)stream};
    if (!options)
        return true;
    launch->options = whole;
    return options_copy(whole, sizeof *whole, options, sizeof options->size);
}

tile_status launch_failed(const tile_executable *executable, const Launch *launch, CUresult result,
                          tile_diagnostics **diagnostics) {
    const bool is_refused = result == LAUNCH_REFUSED;
    if (!is_refused && !diagnostics && !executable->context->log)
        return status_of_result(result);
    Call *call = call_continue(executable->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    executable_report(&executable->executable, launch, &call->ctx->diags, result);
    return call_end(call, is_refused ? TILE_OK : status_of_result(result));
}

/* Arguments that another form of the kernel would take. */
static void explain_form(Call *call, const Executable *executable, void *const *params,
                         unsigned form, const TensorMapProblem *problem) {
    const char *why = executable_explain(executable, &call->ctx->arena, params, form, problem);
    if (form == FORM_IN_PLACE)
        ctx_diag(call->ctx, (Span){0}, in_place_refused, STR_ARG(executable->name), why);
    else
        ctx_diag(call->ctx, (Span){0}, tensor_map_refused, STR_ARG(executable->name), why);
    diag_hint(&call->ctx->diags, "compile with %s for a form that takes them",
              form == FORM_IN_PLACE ? "in_place" : "no_tensor_copies");
}

static tile_status form_failed(const tile_executable *executable, void *const *params,
                               CUresult result, const TensorMapProblem *problem,
                               tile_diagnostics **diagnostics) {
    if (!diagnostics && !executable->context->log)
        return status_of_result(result);
    Call *call = call_continue(executable->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    explain_form(call, &executable->executable, params, launch_needs_form(result), problem);
    return call_end(call, TILE_OK);
}

tile_status tile_launch_with(const tile_executable *executable, const uint32_t grid[3],
                             tile_stream stream, void *const *params, size_t param_count,
                             const tile_launch_options *options, tile_diagnostics **diagnostics) {
    Launch launch;
    tile_launch_options whole;
    TensorMapProblem problem;
    if (!executable || !grid || param_count != executable->executable.param_count ||
        (param_count && !params) || !launch_make(grid, stream, options, &whole, &launch))
        return invalid_argument(diagnostics);
    if (diagnostics)
        *diagnostics = NULL;
    if (executable->context->check_launches) {
        tile_status status = launch_check(executable, grid, params, diagnostics);
        if (status != TILE_OK)
            return status;
    }
    const CUresult result = executable_launch(&executable->executable, &launch, params, &problem);
    return result == CUDA_OK ? TILE_OK
           : launch_needs_form(result)
               ? form_failed(executable, params, result, &problem, diagnostics)
               : launch_failed(executable, &launch, result, diagnostics);
}

tile_status tile_launch(const tile_executable *executable, const uint32_t grid[3],
                        tile_stream stream, void *const *params, size_t param_count) {
    return tile_launch_with(executable, grid, stream, params, param_count, NULL, NULL);
}

static void check_form(Call *call, const Executable *executable, void *const *params) {
    TensorMapProblem problem;
    const unsigned form = executable_needs_form(executable, params, &problem);
    if (form)
        explain_form(call, executable, params, form, &problem);
}

tile_status tile_executable_check(const tile_executable *executable, void *const *params,
                                  size_t param_count, tile_diagnostics **diagnostics) {
    if (!executable || param_count != executable->executable.param_count ||
        (param_count && !params))
        return invalid_argument(diagnostics);
    Call *call = call_begin(executable->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    check_form(call, &executable->executable, params);
    return call_end(call, TILE_OK);
}
