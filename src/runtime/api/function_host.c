/* Public API: functions on devices that are this machine.
 *
 * An instance has a lock of its own: it is compiled and run by one thread at a time, since both are
 * done in one compiler context, which stays. Different instances go on in parallel. What a call
 * says is said in the call's own context, with copies of the texts that it points at. */
#include "runtime/api/function_compile.h"
#include "runtime/api/host_device.h"
#include "runtime/compile/stack.h"
#include "runtime/status.h"
#include "target/grid_limits.h"

typedef struct HostInstance {
    KeyEntry entry;
    Arena arena;
    tile_executable handle;      /* what callers know it by; no launch takes it */
    struct HostInstance *next;   /* of those that are forgotten */
    atomic_bool is_made;         /* the first form */
    pthread_mutex_t lock;        /* of what follows */
    HostKernel forms[FORM_SETS]; /* by KernelForm, the first one made for each call, the others when
                                    arguments need them; without a context: not made so far */
} HostInstance;

/* A call of an instance. */
typedef struct HostCall {
    Call *call;
    CompiledFunction *function;
    const tile_call *given;
    Asked asked;
    Packed packed;
    uint32_t grid[3];
    const ArgumentLeaf *leaves;
    uint32_t leaf_count;
    HostInstance *instance;
    InterpArray *arrays;
    uint32_t array_count;
    HostKernel *running;
    Arena scratch; /* of the run */
    Str printed, counts;
    bool has_own_memory; /* the device has */
    bool ran, has_findings;
    unsigned other_form;
    bool was_left; /* memory ran out, or it was cancelled */
} HostCall;

/* Instances */

/* Under the function's lock: the call's instance, which may not be compiled so far. */
static void find_or_add(void *user) {
    HostCall *h = user;
    CompiledFunction *function = h->function;
    Call *call = h->call;
    const Packed *packed = &h->packed;
    call->object.oom = call->ctx->arena.oom;
    if (!atomic_load(&function->hosts))
        atomic_store(&function->hosts, key_table_create(&call->ctx->arena));
    h->instance = (HostInstance *)key_table_find(&function->hosts, h->asked.hash, packed->key,
                                                 packed->key_len);
    if (h->instance)
        return;
    KeyTable *table = key_table_reserve(&function->hosts, &call->ctx->arena);
    HostInstance *made = ARENA_NEW(&call->object, HostInstance);
    unsigned char *key = arena_alloc(&call->object, packed->key_len);
    memcpy(key, packed->key, packed->key_len);
    made->entry = (KeyEntry){h->asked.hash, key, packed->key_len};
    made->handle.context = call->context;
    made->handle.executable.param_count = UINT32_MAX;
    atomic_init(&made->is_made, false);
    if (pthread_mutex_init(&made->lock, NULL))
        longjmp(*call->ctx->arena.oom, 1);
    call_keep(call, &made->arena);
    key_table_place(table, &made->entry);
    h->instance = made;
}

static void unlock_function(void *user) {
    HostCall *h = user;
    h->call->object.oom = h->call->ctx->arena.oom;
    pthread_mutex_unlock(&h->function->function.lock);
}

static void instance_destroy(HostInstance *instance) {
    for (unsigned form = 0; form < FORM_SETS; form++)
        ctx_destroy(instance->forms[form].ctx);
    pthread_mutex_destroy(&instance->lock);
    Arena arena = instance->arena;
    arena_free(&arena);
}

void function_host_destroy(CompiledFunction *function) {
    KeyTable *table = atomic_load(&function->hosts);
    for (size_t i = 0; table && i < key_table_slots(table); i++)
        if (key_table_at(table, i))
            instance_destroy((HostInstance *)key_table_at(table, i));
    for (HostInstance *next, *i = function->forgotten_hosts; i; i = next) {
        next = i->next;
        instance_destroy(i);
    }
    if (table)
        key_table_free(table);
}

bool function_forget_host(tile_function *function, const tile_executable *executable) {
    CompiledFunction *compiled = (CompiledFunction *)function;
    const KeyTable *table = atomic_load(&compiled->hosts);
    for (const HostInstance *i = compiled->forgotten_hosts; i; i = i->next)
        if (&i->handle == executable)
            return true;
    for (size_t i = 0; table && i < key_table_slots(table); i++) {
        HostInstance *instance = (HostInstance *)key_table_at(table, i);
        if (!instance || &instance->handle != executable)
            continue;
        key_table_remove(&compiled->hosts, i);
        instance->next = compiled->forgotten_hosts;
        compiled->forgotten_hosts = instance;
        return true;
    }
    return false;
}

/* Compiling */

static bool compile_form(const HostCall *h, Call *inner, unsigned forms, HostKernel *kernel) {
    const HostMachine machine = h->given->device->host->settings.machine;
    Compiled *compiled = ARENA_NEW(&inner->ctx->arena, Compiled);
    CompileRequest request;
    if (!function_request(inner, h->function, &h->asked, &h->function->derivation, &request))
        return false;
    request_forms(&request, forms);
    host_request(machine, &request);
    return call_compile(inner, &request, compiled) &&
           host_kernel_open(inner->ctx, machine, compiled, kernel);
}

/* Under the instance's lock, in a context that becomes the kernel's. False after a report, or with
 * `was_left` set. */
static bool make_form(HostCall *h, unsigned form) {
    HostKernel *kernel = ARENA_NEW(&h->call->ctx->arena, HostKernel);
    Call *inner = call_begin(h->call->context, NULL);
    if (!inner || setjmp(inner->ctx->oom)) {
        ctx_destroy(inner ? call_leave(inner) : NULL);
        h->was_left = true;
        return false;
    }
    inner->diagnostics = h->call->diagnostics; /* for how much is worth saying */
    const bool ok = compile_form(h, inner, form, kernel);
    Ctx *ctx = call_leave(inner);
    if (ok)
        h->instance->forms[form] = *kernel;
    else
        diag_append(&h->call->ctx->diags, &ctx->diags);
    if (!ok)
        ctx_destroy(ctx);
    return ok;
}

/* Running */

/* What ends the call. */
static const Cancel *cancel_of(const HostCall *h) {
    const tile_cancellation *cancellation =
        h->given->cancellation ? h->given->cancellation : h->function->options.cancellation;
    return cancellation ? &cancellation->cancel : NULL;
}

static void run_on_stack(void *user) {
    HostCall *h = user;
    h->scratch.oom = h->running->ctx->arena.oom; /* of this thread */
    StrBuf output = strbuf(&h->scratch), counts = strbuf(&h->scratch);
    const HostRun run = {.arena = &h->scratch,
                         .settings = &h->given->device->host->settings,
                         .grid = h->grid,
                         .arrays = h->arrays,
                         .array_count = h->array_count,
                         .params = (const void *const *)h->packed.params,
                         .param_count = h->packed.count,
                         .output = &output,
                         .counts = h->given->device->host->counts ? &counts : NULL};
    h->has_findings = !host_kernel_run(h->running, &run, &h->other_form);
    h->printed = strbuf_str(&output);
    h->counts = strbuf_str(&counts);
}

/* Until it ends or jumps. */
static void run_kernel(HostCall *h) {
    Ctx *ctx = h->running->ctx;
    const ArenaMark mark = arena_mark(&ctx->scratch);
    const Cancel *cancel = cancel_of(h);
    h->scratch =
        (Arena){.limit = ctx->arena.limit, .allocator = ctx->arena.allocator, .cancel = cancel};
    ctx_cancel_with(ctx, cancel);
    if (setjmp(ctx->oom))
        h->was_left = true;
    else
        h->ran = stack_run(ctx, run_on_stack, h);
    ctx_cancel_with(ctx, NULL);
    arena_rewind(&ctx->scratch, mark);
}

static void end_run(void *user) {
    HostCall *h = user;
    arena_free(&h->scratch);
}

/* What was said in the kernel's context, which compiled it maybe just now, is the call's from here
 * on. */
static void take_messages(void *user) {
    HostCall *h = user;
    Ctx *ctx = h->running->ctx;
    h->printed = h->was_left ? STR("") : str_keep(&h->call->ctx->arena, h->printed);
    h->counts = h->was_left ? STR("") : str_keep(&h->call->ctx->arena, h->counts);
    diag_append(&h->call->ctx->diags, &ctx->diags);
    diag_rewind(&ctx->diags, (DiagMark){.last = NULL});
}

static void run_form(HostCall *h, unsigned form) {
    HostDevice *host = h->given->device->host;
    h->running = &h->instance->forms[form];
    Ctx *ctx = h->running->ctx;
    const bool simulates = h->running->module != NULL;
    const ArenaMark mark = arena_mark(&ctx->arena);
    const bool said_before = ctx->diags.first != NULL;
    const size_t sources = ctx->sources.sources.len;
    /* Several threads of the simulator undo what they did, all over its memory, where they find
     * something: no other run may work on that. */
    const bool takes_turns = simulates && h->has_own_memory;
    if (takes_turns)
        pthread_mutex_lock(&host->turn);
    run_kernel(h);
    if (takes_turns)
        pthread_mutex_unlock(&host->turn);
    /* Sources that were read stay, and so do types that the interpreter interned. */
    const bool keeps = !simulates || said_before || ctx->diags.first || h->was_left ||
                       ctx->sources.sources.len != sources;
    ctx_finally(h->call->ctx, take_messages, end_run, h);
    if (!keeps)
        arena_rewind(&ctx->arena, mark);
}

/* Under the instance's lock. */
static void prepare_instance(void *user) {
    HostCall *h = user;
    HostInstance *instance = h->instance;
    h->call->object.oom = h->call->ctx->arena.oom;
    if (!instance->forms[0].ctx && make_form(h, 0))
        atomic_store_explicit(&instance->is_made, true, memory_order_release);
}

/* Under the instance's lock. */
static void run_instance(void *user) {
    HostCall *h = user;
    HostInstance *instance = h->instance;
    prepare_instance(h);
    if (!instance->forms[0].ctx)
        return;
    Diags *diags = &h->call->ctx->diags;
    unsigned form = 0;
    DiagMark before = diag_mark(diags);
    run_form(h, form);
    while (h->other_form && !h->was_left) {
        /* Of a form that does not run, the reason counts alone, and is said when the other one is
         * made. */
        const DiagReason why = diag_take(diags, before, (Span){0});
        form |= h->other_form;
        const bool is_new = !instance->forms[form].ctx;
        if (is_new && !make_form(h, form))
            return;
        h->ran = false;
        before = diag_mark(diags);
        run_form(h, form);
        if (is_new && !h->was_left && !h->other_form)
            diag_emit(diags, (Span){0}, why.id, "%s", why.text);
    }
}

static void unlock_instance(void *user) {
    HostCall *h = user;
    h->call->object.oom = h->call->ctx->arena.oom;
    pthread_mutex_unlock(&h->instance->lock);
}

/* The call */

/* What programs may touch. False after a report. */
static bool find_memory(HostCall *h) {
    Ctx *ctx = h->call->ctx;
    const tile_call *given = h->given;
    HostMemory memory = {0};
    host_device_memory(given->device->host, &ctx->arena, &memory);
    h->has_own_memory = memory.stated.len > 0;
    for (size_t i = 0; i < given->array_count; i++) {
        const tile_host_array *array = &given->arrays[i];
        host_memory_add(&ctx->arena, &memory,
                        (InterpArray){.name = text_str(array->name),
                                      .data = array->data,
                                      .bytes = array->bytes,
                                      .defined = array->defined,
                                      .read_only = array->read_only},
                        false);
    }
    for (uint32_t i = 0; i < h->leaf_count; i++) {
        const tile_argument *argument = &h->leaves[i].argument;
        if (argument->kind == TILE_ARGUMENT_POINTER && argument->value.memory.bytes)
            host_memory_add(&ctx->arena, &memory,
                            (InterpArray){.name = h->leaves[i].name,
                                          .data = (void *)(uintptr_t)argument->value.address,
                                          .bytes = argument->value.memory.bytes},
                            true);
    }
    return host_memory_join(ctx, &memory, &h->arrays, &h->array_count);
}

/* By the first parameter that points into them. */
static void name_memory(HostCall *h) {
    for (uint32_t i = 0; i < h->leaf_count; i++) {
        const tile_argument *argument = &h->leaves[i].argument;
        if (argument->kind != TILE_ARGUMENT_POINTER)
            continue;
        const uint32_t at = host_memory_find(h->arrays, h->array_count, argument->value.address);
        if (at != UINT32_MAX && !h->arrays[at].name.len)
            h->arrays[at].name = h->leaves[i].name;
    }
    for (uint32_t i = 0; i < h->array_count; i++)
        if (!h->arrays[i].name.len)
            h->arrays[i].name = STR("memory of the device");
}

/* What a host does not do. */
static bool check_options(const HostCall *h) {
    const tile_launch_options *launch = h->given->launch;
    const uint32_t *cluster = launch ? launch->cluster : NULL;
    const char *name = h->given->device->device.name;
    Ctx *ctx = h->call->ctx;
    if (cluster && (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1))
        return ctx_diag(ctx, (Span){0}, host_launch, name, "in clusters");
    return true;
}

static bool check_grid(const HostCall *h) {
    const Str name = h->function->function.name;
    for (uint32_t axis = 0; axis < 3; axis++)
        if (h->grid[axis] > target_max_grid(axis))
            return ctx_diag(h->call->ctx, (Span){0}, launch_grid, STR_ARG(name), "xyz"[axis],
                            h -> grid[axis], target_max_grid(axis));
    return true;
}

/* What the call says, else what the function's options do. */
static tile_status find_grid(HostCall *h) {
    const tile_call *given = h->given;
    if (given->grid) {
        memcpy(h->grid, given->grid, sizeof h->grid);
        return TILE_OK;
    }
    if (h->packed.has_grid) {
        memcpy(h->grid, h->packed.grid, sizeof h->grid);
        return TILE_OK;
    }
    tile_diagnostics *said = NULL;
    const tile_status status = h->function->function.grid_of_call(
        &h->asked, given->argument_count, h->grid, h->call->diagnostics ? &said : NULL);
    if (status == TILE_OK || !h->call->diagnostics)
        return status;
    *h->call->diagnostics = h->call->earlier = said;
    return status;
}

/* False: it is not made, and is not to be. */
static bool find_instance(HostCall *h, bool prepares) {
    CompiledFunction *function = h->function;
    if (prepares) {
        pthread_mutex_lock(&function->function.lock);
        ctx_finally(h->call->ctx, find_or_add, unlock_function, h);
        return true;
    }
    if (atomic_load(&function->hosts))
        h->instance = (HostInstance *)key_table_find(&function->hosts, h->asked.hash, h->packed.key,
                                                     h->packed.key_len);
    return h->instance && atomic_load_explicit(&h->instance->is_made, memory_order_acquire);
}

/* TILE_OK, also after a report that says otherwise. */
static tile_status run_call(HostCall *h) {
    Call *call = h->call;
    const bool launches = h->given->steps & TILE_CALL_LAUNCH;
    const CallPlace place = {h->given->grid, h->given->stream, h->given->launch,
                             h->given->steps & TILE_CALL_PREPARE, launches};
    if (launches && !check_options(h))
        return TILE_OK;
    h->packed.wants_grid = launches && !h->given->grid;
    tile_status status =
        function_pack(call, &h->asked, &h->packed, h->given->argument_count, &place);
    if (status != TILE_OK || !h->asked.packed)
        return status;
    h->leaves = argument_leaves(&call->ctx->arena, h->function->function.params,
                                h->given->arguments, h->given->argument_count, &h->leaf_count);
    if (launches) {
        status = find_grid(h);
        if (status != TILE_OK || !check_grid(h) || !find_memory(h) || !h->grid[0] || !h->grid[1] ||
            !h->grid[2])
            return status;
        name_memory(h);
    }
    if (!find_instance(h, place.prepares))
        return TILE_ERROR_NOT_COMPILED;
    if (launches || !atomic_load_explicit(&h->instance->is_made, memory_order_acquire)) {
        pthread_mutex_lock(&h->instance->lock);
        ctx_finally(call->ctx, launches ? run_instance : prepare_instance, unlock_instance, h);
    }
    if (h->was_left)
        return TILE_ERROR_OUT_OF_MEMORY;
    status = status_of(&call->ctx->diags);
    return status == TILE_ERROR_SOURCE && h->ran && h->has_findings ? TILE_ERROR_KERNEL : TILE_OK;
}

tile_status function_call_host(tile_function *function, const tile_call *given,
                               const tile_executable **used, tile_diagnostics **diagnostics) {
    Call *call = call_begin(function->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    HostCall *h = ARENA_NEW(&call->ctx->arena, HostCall);
    h->call = call;
    h->function = (CompiledFunction *)function;
    h->given = given;
    h->asked = (Asked){.function = function,
                       .device = given->device,
                       .arguments = given->arguments,
                       .cancellation = given->cancellation,
                       .entry_name = text_str(given->entry_name)};
    ctx_cancel_with(call->ctx, cancel_of(h));
    const tile_status status = run_call(h);
    host_device_tell(given->device->host, h->printed, h->counts);
    const tile_executable *handle = h->instance ? &h->instance->handle : NULL;
    const tile_status ended = call_end(call, status);
    if (ended == TILE_OK && used)
        *used = handle;
    return ended;
}
