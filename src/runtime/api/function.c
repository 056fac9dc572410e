/* Public API: functions, which choose what to launch by the arguments of a call.
 *
 * An instance is found by a key: for each argument its kind, type and specialisation, for
 * constexprs their value. Instances hang in a table that is read without a lock, and written under
 * the function's. Where an instance that is missing comes from, a compilation or a bundle, is the
 * function's own concern (FindImage).
 *
 * An instance with tensor copies gets another form beside it, without, when arguments come that no
 * tensor map can hold. */
#include "runtime/api/function.h"

typedef struct Instance {
    KeyEntry entry;
    Arena arena;
    tile_executable *executable; /* in the arena unless it shares another instance's */
    bool shares;
    const void *origin;               /* of what was loaded; see InstanceImage */
    _Atomic(struct Instance *) plain; /* NULL: not needed so far, or this is it */
} Instance;

static Instance *find_entry(tile_function *function, uint64_t hash, const Packed *packed) {
    return (Instance *)key_table_find(&function->table, hash, packed->key, packed->key_len);
}

/* Making an instance */

/* Under the lock: who has loaded the same on the same device; NULL: nobody. */
static Instance *find_loaded(const KeyTable *table, const tile_device *device, const void *origin) {
    for (size_t i = 0; i < key_table_slots(table); i++) {
        Instance *entry = (Instance *)key_table_at(table, i);
        for (; entry; entry = atomic_load_explicit(&entry->plain, memory_order_relaxed))
            if (entry->origin == origin && entry->executable->executable.device == &device->device)
                return entry;
    }
    return NULL;
}

/* Finds the image and loads it; NULL after a report. */
static Instance *instance_create(Call *call, const Asked *asked, bool no_tensor_copies) {
    const tile_function *function = asked->function;
    const Packed *packed = asked->packed;
    InstanceImage found;
    if (!function->find(call, asked, no_tensor_copies, &found))
        return NULL;
    Instance *instance = ARENA_NEW(&call->object, Instance);
    unsigned char *key = arena_alloc(&call->object, packed->key_len);
    memcpy(key, packed->key, packed->key_len);
    instance->entry = (KeyEntry){asked->hash, key, packed->key_len};
    instance->origin = found.origin;
    atomic_init(&instance->plain, NULL);
    const Instance *other =
        found.origin ? find_loaded(atomic_load(&function->table), asked->device, found.origin)
                     : NULL;
    instance->shares = other != NULL;
    if (other) {
        instance->executable = other->executable;
    } else {
        instance->executable = ARENA_NEW(&call->object, tile_executable);
        instance->executable->context = function->context;
        if (!executable_load(&instance->executable->executable, &call->object, &call->ctx->diags,
                             &asked->device->device, &found.image))
            return NULL;
    }
    call_keep(call, &instance->arena);
    return instance;
}

/* Under the lock: the instance, made unless another thread did meanwhile. */
static Instance *first_form(Call *call, const Asked *asked) {
    tile_function *function = asked->function;
    Instance *found = find_entry(function, asked->hash, asked->packed);
    if (found)
        return found;
    KeyTable *table = key_table_reserve(&function->table, &call->ctx->arena);
    found = instance_create(call, asked, false);
    if (found)
        key_table_place(table, &found->entry);
    return found;
}

/* Under the lock: its form without tensor copies; the remark comes when it is made. */
static Instance *plain_form(Call *call, const Asked *asked, Instance *instance,
                            const TensorMapProblem *problem) {
    Instance *plain = atomic_load_explicit(&instance->plain, memory_order_relaxed);
    if (plain)
        return plain;
    const Executable *executable = &instance->executable->executable;
    ctx_diag(call->ctx, (Span){0}, tensor_map_other_form, STR_ARG(executable->name),
             executable_explain(executable, &call->ctx->arena, asked->packed->params, problem));
    plain = instance_create(call, asked, true);
    atomic_store_explicit(&instance->plain, plain, memory_order_release);
    return plain;
}

/* The slow way: one thread makes it, the others that want the same find it when they get the lock.
 * `instance` is NULL for the first form; else its other form is made, because of `problem`. Ends
 * the call. */
static tile_status make_in(Call *call, const Asked *asked, Instance *instance,
                           const TensorMapProblem *problem, Instance **made) {
    tile_function *function = asked->function;
    pthread_mutex_lock(&function->lock);
    if (setjmp(call->ctx->oom)) {
        pthread_mutex_unlock(&function->lock);
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    }
    *made = instance ? plain_form(call, asked, instance, problem) : first_form(call, asked);
    pthread_mutex_unlock(&function->lock);
    return call_end(call, TILE_OK);
}

static tile_status make_form(const Asked *asked, Instance *instance,
                             const TensorMapProblem *problem, tile_diagnostics **diagnostics,
                             Instance **made) {
    Call *call = call_begin(asked->function->context, diagnostics);
    return call ? make_in(call, asked, instance, problem, made) : TILE_ERROR_OUT_OF_MEMORY;
}

static tile_status launch_plain(const Asked *asked, Instance *instance, const Launch *launch,
                                TensorMapProblem *problem, tile_diagnostics **diagnostics) {
    Instance *plain = atomic_load_explicit(&instance->plain, memory_order_acquire);
    if (!plain) {
        tile_status status = make_form(asked, instance, problem, diagnostics, &plain);
        if (status != TILE_OK)
            return status;
    }
    const CUresult result =
        executable_launch(&plain->executable->executable, launch, asked->packed->params, problem);
    return result == CUDA_OK ? TILE_OK
                             : launch_failed(plain->executable, launch, result, diagnostics);
}

/* What is wrong with a call whose arguments were not packed: their number, or one that alone, with
 * those before it, is refused. */
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
    while (good < count && arguments_pack(packed, &function->specialisation, asked->device,
                                          asked->arguments, good + 1))
        good++;
    if (good < count)
        ctx_diag(call->ctx, (Span){0}, call_argument, good + 1, STR_ARG(function->params[good]),
                 STR_ARG(name), argument_explain(&call->ctx->arena, &asked->arguments[good]));
}

/* Where an instance for them is looked up, if they can be packed as they are. */
static bool pack(Asked *asked, Packed *packed, size_t count) {
    const tile_function *function = asked->function;
    packed->is_underived = packed->is_untuned = false;
    if (count < function->required_count || count > function->param_count ||
        !arguments_pack(packed, &function->specialisation, asked->device, asked->arguments, count))
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
    if (!asked->function->choose(call, asked, count, place))
        return TILE_OK;
    return pack(asked, packed, count) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

/* Of arguments that cannot be packed as they are: chooses a configuration and makes its instance,
 * in one call, whose messages are of both; or refuses them. */
static tile_status pack_and_make(Asked *asked, Packed *packed, size_t count, const CallPlace *place,
                                 tile_diagnostics **diagnostics, Instance **instance) {
    Call *call = call_begin(asked->function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    const tile_status status = function_pack(call, asked, packed, count, place);
    if (status != TILE_OK || !asked->packed)
        return call_end(call, status);
    return make_in(call, asked, NULL, NULL, instance);
}

/* Packs the arguments, and finds or makes their instance, NULL where nothing is to be launched;
 * `asked` keeps what they point at. */
static tile_status find_instance(Asked *asked, Packed *packed, size_t count, const CallPlace *place,
                                 tile_diagnostics **diagnostics, Instance **instance) {
    tile_function *function = asked->function;
    tile_status status = TILE_OK;
    if (!function || !asked->device || (count && !asked->arguments))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (pack(asked, packed, count)) {
        *instance = find_entry(function, asked->hash, packed);
        if (!*instance)
            status = make_form(asked, NULL, NULL, diagnostics, instance);
    } else {
        status = pack_and_make(asked, packed, count, place, diagnostics, instance);
    }
    if (status != TILE_OK || !*instance)
        return status;
    return (*instance)->executable->executable.param_count == packed->count ? TILE_OK
                                                                            : TILE_ERROR_INTERNAL;
}

/* In a call of its own: what runs on GPUs alone. */
static tile_status refuse_host(const tile_function *function, const tile_device *device,
                               tile_diagnostics **diagnostics, bool wants_executable) {
    Call *call = call_begin(function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    if (wants_executable)
        ctx_diag(call->ctx, (Span){0}, host_executable, device->device.name);
    else
        ctx_diag(call->ctx, (Span){0}, host_bundle, STR_ARG(function->name), device->device.name);
    return call_end(call, TILE_OK);
}

static tile_status launch_call(tile_function *function, const tile_call *given,
                               const Launch *options, tile_diagnostics **diagnostics) {
    Asked asked = {.function = function,
                   .device = given->device,
                   .arguments = given->arguments,
                   .cancellation = given->cancellation};
    Packed packed;
    Instance *instance = NULL;
    Launch launch = *options;
    const CallPlace place = {given->grid, given->stream, launch.options, true};
    uint32_t computed[3];
    tile_status status =
        find_instance(&asked, &packed, given->argument_count, &place, diagnostics, &instance);
    if (status == TILE_OK && !instance)
        return TILE_OK;
    if (status == TILE_OK && !given->grid) {
        status = function->grid_of_call(&asked, given->argument_count, computed, diagnostics);
        launch.grid = computed;
    }
    if (status != TILE_OK)
        return status;
    if (function->context->check_launches) {
        status = launch_check(instance->executable, launch.grid, packed.params, diagnostics);
        if (status != TILE_OK)
            return status;
    }
    TensorMapProblem problem;
    CUresult result =
        executable_launch(&instance->executable->executable, &launch, packed.params, &problem);
    if (result == LAUNCH_NO_TENSOR_MAP)
        return launch_plain(&asked, instance, &launch, &problem, diagnostics);
    return result == CUDA_OK ? TILE_OK
                             : launch_failed(instance->executable, &launch, result, diagnostics);
}

/* A call of which the whole struct is there. */
static tile_status make_call(tile_function *function, tile_call *call,
                             tile_diagnostics **diagnostics) {
    Launch launch;
    tile_launch_options whole;
    if (diagnostics)
        *diagnostics = NULL;
    if (!function || !call->device || (call->argument_count && !call->arguments) ||
        (call->array_count && !call->arrays) || (!call->grid && !function->grid_of_call) ||
        !launch_make(call->grid, call->stream, call->launch, &whole, &launch))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (!call->device->host_calls)
        return launch_call(function, call, &launch, diagnostics);
    call->launch = launch.options;
    return function->call_on_host ? function->call_on_host(function, call, diagnostics)
                                  : refuse_host(function, call->device, diagnostics, false);
}

tile_status tile_function_call(tile_function *function, const tile_call *given,
                               tile_diagnostics **diagnostics) {
    tile_call call;
    if (!given || !options_copy(&call, sizeof call, given, sizeof call.size))
        return invalid_argument(diagnostics);
    return make_call(function, &call, diagnostics);
}

tile_status tile_function_launch_with(tile_function *function, tile_device *device,
                                      const uint32_t grid[3], tile_stream stream,
                                      const tile_argument *arguments, size_t argument_count,
                                      const tile_launch_options *options,
                                      tile_diagnostics **diagnostics) {
    tile_call call = {.size = sizeof call,
                      .device = device,
                      .grid = grid,
                      .stream = stream,
                      .arguments = arguments,
                      .argument_count = argument_count,
                      .launch = options};
    return make_call(function, &call, diagnostics);
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
    Asked asked = {.function = function, .device = device, .arguments = arguments};
    Packed packed;
    Instance *instance = NULL;
    if (diagnostics)
        *diagnostics = NULL;
    if (!executable)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (function && device && device->host_calls)
        return refuse_host(function, device, diagnostics, true);
    tile_status status =
        find_instance(&asked, &packed, argument_count, &(CallPlace){0}, diagnostics, &instance);
    if (status == TILE_OK)
        *executable = instance->executable;
    return status;
}

/* Making and destroying functions */

FixedValues function_constants(Arena *arena, const tile_named *constexprs, size_t count) {
    int64_t *values = ARENA_ARRAY(arena, int64_t, count + 1);
    FixedValues constants = {.values = values};
    for (size_t i = 0; i < count; i++)
        constants.count +=
            special_constexpr(text_str(constexprs[i].value), &values[constants.count]);
    return constants;
}

tile_status function_open(Call *call, tile_function *made, tile_function **function) {
    if (made->param_count > TILE_MAX_ARGUMENTS)
        return TILE_ERROR_INVALID_ARGUMENT;
    if (pthread_mutex_init(&made->lock, NULL))
        return TILE_ERROR_OUT_OF_MEMORY;
    atomic_init(&made->table, key_table_create(&call->ctx->arena));
    call_keep(call, &made->arena);
    *function = made;
    return TILE_OK;
}

static void instance_destroy(Instance *instance) {
    if (!instance)
        return;
    if (!instance->shares)
        executable_unload(&instance->executable->executable);
    Arena arena = instance->arena;
    arena_free(&arena);
}

void tile_function_destroy(tile_function *function) {
    if (!function)
        return;
    KeyTable *table = atomic_load(&function->table);
    for (size_t i = 0; i < key_table_slots(table); i++) {
        Instance *instance = (Instance *)key_table_at(table, i);
        if (!instance)
            continue;
        instance_destroy(atomic_load(&instance->plain));
        instance_destroy(instance);
    }
    key_table_free(table);
    if (function->destroy)
        function->destroy(function);
    pthread_mutex_destroy(&function->lock);
    Arena arena = function->arena;
    arena_free(&arena);
}
