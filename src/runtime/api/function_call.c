/* Public API: calls of functions, from their arguments to a launch.
 *
 * A call whose instance is there takes no lock and allocates nothing. What is
 * missing is made only where the steps of the call say so. */
#include "runtime/api/function.h"

/* The way of a launch is one function: whoever has a call in parts need not write it down, and what
 * is not there costs no frames. */
#define INLINE inline __attribute__((always_inline))

enum { ALL_STEPS = TILE_CALL_FIND | TILE_CALL_PREPARE | TILE_CALL_LAUNCH };

/* What is wrong with a call whose arguments were not packed: their number, or
 * one that alone, with those before it, is refused. */
static void explain_arguments(Call *call, const Asked *asked, Packed *packed, size_t count) {
    const tile_function *function = asked->function;
    Str name = function->name;
    if (count < function->required_count || count > function->param_count) {
        ctx_diag(call->ctx, (Span){0}, call_argument_count, STR_ARG(name), function->required_count,
                 function->param_count, count);
        return;
    }
    if (packed->is_underived) {
        function->report_underived(call, asked, count);
        return;
    }
    size_t good = 0;
    while (good < count && arguments_pack(packed, &function->specialisation, asked->device->number,
                                          asked->arguments, good + 1))
        good++;
    if (good < count)
        ctx_diag(call->ctx, (Span){0}, call_argument, good + 1, STR_ARG(function->params[good]),
                 STR_ARG(name), argument_explain(&call->ctx->arena, &asked->arguments[good]));
}

/* Where an instance for them is looked up, if they can be packed as they are.
 */
static INLINE bool pack(Asked *asked, Packed *packed, size_t count) {
    const tile_function *function = asked->function;
    packed->is_underived = packed->is_untuned = false;
    if (count < function->required_count || count > function->param_count ||
        !arguments_pack(packed, &function->specialisation, asked->device->number, asked->arguments,
                        count))
        return false;
    asked->packed = packed;
    asked->hash = key_hash(packed->key, packed->key_len);
    return true;
}

tile_status function_pack(Call *call, Asked *asked, Packed *packed, size_t count,
                          const CallPlace *place) {
    if (pack(asked, packed, count))
        return TILE_OK;
    if (!packed->is_untuned) {
        explain_arguments(call, asked, packed, count);
        return TILE_ERROR_INVALID_ARGUMENT;
    }
    if (!place->prepares)
        return TILE_ERROR_NOT_COMPILED;
    if (!asked->function->choose(call, asked, count, place))
        return TILE_OK;
    return pack(asked, packed, count) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

/* Of arguments that cannot be packed as they are: chooses a configuration and
 * makes its instance, in one call, whose messages are of both; or refuses them.
 */
static tile_status pack_and_make(Asked *asked, Packed *packed, size_t count, const CallPlace *place,
                                 tile_diagnostics **diagnostics, Instance **instance) {
    Call *call = call_begin(asked->function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    const tile_status status = function_pack(call, asked, packed, count, place);
    if (status != TILE_OK || !asked->packed)
        return call_end(call, status);
    return function_make(call, asked, NULL, instance);
}

static tile_status make_form(const Asked *asked, const OtherForm *other,
                             tile_diagnostics **diagnostics, Instance **made) {
    Call *call = call_continue(asked->function->context, diagnostics);
    return call ? function_make(call, asked, other, made) : TILE_ERROR_OUT_OF_MEMORY;
}

/* Packs the arguments, and finds or makes their instance, NULL where nothing is
 * to be launched; `asked` keeps what they point at. */
static INLINE tile_status find_instance(Asked *asked, Packed *packed, size_t count,
                                        const CallPlace *place, tile_diagnostics **diagnostics,
                                        Instance **instance) {
    tile_status status = TILE_OK;
    if (pack(asked, packed, count)) {
        *instance = function_find(asked);
        if (!*instance)
            status = place->prepares ? make_form(asked, NULL, diagnostics, instance)
                                     : TILE_ERROR_NOT_COMPILED;
    } else if (packed->is_untuned && !place->prepares) {
        return TILE_ERROR_NOT_COMPILED;
    } else {
        status = pack_and_make(asked, packed, count, place, diagnostics, instance);
    }
    if (status != TILE_OK || !*instance)
        return status;
    return (*instance)->executable->executable.param_count == packed->count ? TILE_OK
                                                                            : TILE_ERROR_INTERNAL;
}

/* The other form, which is made if that is asked for. */
static tile_status find_other(const Asked *asked, const OtherForm *other, bool prepares,
                              tile_diagnostics **diagnostics, Instance **found) {
    *found =
        atomic_load_explicit(instance_other(other->instance, other->form), memory_order_acquire);
    if (*found)
        return TILE_OK;
    return prepares ? make_form(asked, other, diagnostics, found) : TILE_ERROR_NOT_COMPILED;
}

/* The form that a launch with these arguments would take: `instance`, or NULL with a status, and
 * `forms` that it is, or has to be. */
static tile_status find_form(const Asked *asked, bool prepares, tile_diagnostics **diagnostics,
                             Instance **instance, unsigned *forms) {
    tile_status status = TILE_OK;
    OtherForm other = {.instance = *instance};
    unsigned form;
    *forms = other.instance->forms;
    while (other.instance &&
           (form = executable_needs_form(&other.instance->executable->executable,
                                         asked->packed->params, &other.problem))) {
        other.form = (KernelForm)form;
        *forms |= form;
        status = find_other(asked, &other, prepares, diagnostics, instance);
        other.instance = *instance;
    }
    return status;
}

/* In a call of its own: what runs on GPUs alone. */
static tile_status refuse_host(const tile_function *function, const tile_device *device,
                               bool wants_executable, tile_diagnostics **diagnostics) {
    Call *call = call_begin(function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    if (wants_executable)
        ctx_diag(call->ctx, (Span){0}, host_executable, device->device.name);
    else
        ctx_diag(call->ctx, (Span){0}, host_bundle, STR_ARG(function->name), device->device.name);
    return call_end(call, TILE_OK);
}

/* A launch of an instance, or of its other form, which `instance` becomes. */
static INLINE tile_status launch(const Asked *asked, Launch *launch, bool prepares,
                                 tile_diagnostics **diagnostics, Instance **instance) {
    const Packed *packed = asked->packed;
    OtherForm other;
    if (asked->function->context->check_launches) {
        const tile_status status =
            launch_check((*instance)->executable, launch->grid, packed->params, diagnostics);
        if (status != TILE_OK)
            return status;
    }
    CUresult result = executable_launch(&(*instance)->executable->executable, launch,
                                        packed->params, &other.problem);
    while (launch_needs_form(result)) {
        other.instance = *instance;
        other.form = (KernelForm)launch_needs_form(result);
        const tile_status status = find_other(asked, &other, prepares, diagnostics, instance);
        if (status != TILE_OK || !*instance)
            return status;
        result = executable_launch(&(*instance)->executable->executable, launch, packed->params,
                                   &other.problem);
    }
    return result == CUDA_OK ? TILE_OK
                             : launch_failed((*instance)->executable, launch, result, diagnostics);
}

static tile_status call_host(tile_function *function, const tile_call *call,
                             const tile_executable **used, tile_diagnostics **diagnostics) {
    return function->call_on_host ? function->call_on_host(function, call, used, diagnostics)
                                  : refuse_host(function, call->device, false, diagnostics);
}

/* The grid that the function's options say. */
static tile_status find_grid(const Asked *asked, size_t count, uint32_t grid[3],
                             tile_diagnostics **diagnostics) {
    if (!asked->packed->has_grid)
        return asked->function->grid_of_call(asked, count, grid, diagnostics);
    memcpy(grid, asked->packed->grid, sizeof asked->packed->grid);
    return TILE_OK;
}

/* A call of which the whole struct is there. `used`, too, may be NULL. Inline,
 * so that those who have a call in parts need not write it down. */
static inline __attribute__((always_inline)) tile_status
make_call(tile_function *function, const tile_call *given, uint32_t steps,
          const tile_executable **used, tile_diagnostics **diagnostics) {
    const bool prepares = steps & TILE_CALL_PREPARE, launches = steps & TILE_CALL_LAUNCH;
    Launch launched = {.grid = given->grid, .stream = (CUstream)given->stream};
    tile_launch_options whole;
    if (diagnostics)
        *diagnostics = NULL;
    if (!function || !given->device || (given->argument_count && !given->arguments) ||
        (given->array_count && !given->arrays) || (steps & ~(uint32_t)ALL_STEPS) ||
        (launches && !given->grid && !function->grid_of_call) ||
        (given->launch &&
         !launch_make(given->grid, given->stream, given->launch, &whole, &launched)))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (given->device->host_calls) {
        tile_call call = *given;
        call.steps = steps;
        call.launch = launched.options;
        return call_host(function, &call, used, diagnostics);
    }
    Asked asked = {.function = function,
                   .device = given->device,
                   .arguments = given->arguments,
                   .cancellation = given->cancellation,
                   .entry_name = text_str(given->entry_name)};
    const CallPlace place = {given->grid, given->stream, launched.options, prepares, launches};
    Packed packed;
    Instance *instance = NULL;
    unsigned forms;
    uint32_t computed[3];
    packed.wants_grid = launches && !given->grid;
    tile_status status =
        find_instance(&asked, &packed, given->argument_count, &place, diagnostics, &instance);
    if (status != TILE_OK || !instance)
        return status;
    if (packed.wants_grid) {
        status = find_grid(&asked, given->argument_count, computed, diagnostics);
        launched.grid = computed;
    }
    if (status == TILE_OK)
        status = launches ? launch(&asked, &launched, prepares, diagnostics, &instance)
                          : find_form(&asked, prepares, diagnostics, &instance, &forms);
    if (status == TILE_OK && used && instance)
        *used = instance->executable;
    return status;
}

tile_status tile_function_call(tile_function *function, const tile_call *given,
                               const tile_executable **used, tile_diagnostics **diagnostics) {
    tile_call copy;
    if (used)
        *used = NULL;
    if (!given)
        return invalid_argument(diagnostics);
    if (given->size != sizeof copy) {
        if (!options_copy(&copy, sizeof copy, given, sizeof copy.size))
            return invalid_argument(diagnostics);
        given = &copy;
    }
    return make_call(function, given, given->steps ? given->steps : ALL_STEPS, used, diagnostics);
}

tile_status tile_function_launch_with(tile_function *function, tile_device *device,
                                      const uint32_t grid[3], tile_stream stream,
                                      const tile_argument *arguments, size_t argument_count,
                                      const tile_launch_options *options,
                                      tile_diagnostics **diagnostics) {
    const tile_call call = {.device = device,
                            .grid = grid,
                            .stream = stream,
                            .arguments = arguments,
                            .argument_count = argument_count,
                            .launch = options};
    return make_call(function, &call, ALL_STEPS, NULL, diagnostics);
}

tile_status tile_function_launch(tile_function *function, tile_device *device,
                                 const uint32_t grid[3], tile_stream stream,
                                 const tile_argument *arguments, size_t argument_count,
                                 tile_diagnostics **diagnostics) {
    return tile_function_launch_with(function, device, grid, stream, arguments, argument_count,
                                     NULL, diagnostics);
}

tile_status tile_function_instance(tile_function *function, tile_device *device,
                                   const tile_argument *arguments, size_t argument_count,
                                   const tile_executable **executable,
                                   tile_diagnostics **diagnostics) {
    const tile_call call = {.size = sizeof call,
                            .device = device,
                            .arguments = arguments,
                            .argument_count = argument_count,
                            .steps = TILE_CALL_PREPARE};
    if (!executable)
        return invalid_argument(diagnostics);
    if (function && device && device->host_calls)
        return refuse_host(function, device, true, diagnostics);
    const tile_executable *used = NULL;
    const tile_status status = tile_function_call(function, &call, &used, diagnostics);
    if (status == TILE_OK)
        *executable = used;
    return status;
}

/* The instance, if there is one, has shown which form takes these arguments. */
static unsigned forms_of_call(const Asked *asked) {
    Instance *instance = asked->device->host_calls ? NULL : function_find(asked);
    unsigned forms = 0;
    if (instance)
        find_form(asked, false, NULL, &instance, &forms);
    return forms;
}

static tile_status find_kernel(Call *call, const tile_call *given, Asked *asked, Packed *packed,
                               uint32_t want, tile_kernel **kernel) {
    const CallPlace place = {given->grid, given->stream, given->launch, true, false};
    packed->wants_grid = false;
    const tile_status status = function_pack(call, asked, packed, given->argument_count, &place);
    if (status != TILE_OK || !asked->packed)
        return status;
    return asked->function->find_kernel(call, asked, forms_of_call(asked), want, kernel);
}

tile_status tile_function_kernel(tile_function *function, const tile_call *given, uint32_t want,
                                 tile_kernel **kernel, tile_diagnostics **diagnostics) {
    tile_call copy;
    if (!function || !kernel || !given ||
        !options_copy(&copy, sizeof copy, given, sizeof copy.size) || !copy.device ||
        (copy.argument_count && !copy.arguments))
        return invalid_argument(diagnostics);
    Asked asked = {.function = function,
                   .device = copy.device,
                   .arguments = copy.arguments,
                   .cancellation = copy.cancellation,
                   .entry_name = text_str(copy.entry_name)};
    Packed packed;
    Call *call = call_begin(function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, find_kernel(call, &copy, &asked, &packed, want, kernel));
}
