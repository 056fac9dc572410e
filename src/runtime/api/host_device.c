/* Public API: devices that are this machine, their memory and their clock. */
#include "runtime/api/host_device.h"
#include "runtime/driver/choose_target.h"

#include <stdio.h>

/* HOST_PROCESSORS: as %nsmid of the simulator. */
enum { ALLOCATION_ALIGNMENT = 256, DEFINED = 0xff, HOST_PROCESSORS = 132 };

static const Allocator *allocator_of(const tile_device *device) {
    return device->context->arena.allocator;
}

/* Memory */

/* Under the lock: the allocation that holds the bytes; NULL: none does. */
static HostAllocation *find_allocation(HostDevice *host, uint64_t address, size_t bytes) {
    for (size_t i = 0; i < host->count; i++) {
        HostAllocation *a = &host->allocations[i];
        const uint64_t offset = address - (uint64_t)(uintptr_t)a->data;
        if (offset <= a->bytes && bytes <= a->bytes - offset && (bytes || offset < a->bytes))
            return a;
    }
    return NULL;
}

/* Under the lock: room for one more. */
static bool reserve(HostDevice *host, const Allocator *allocator) {
    if (host->count < host->capacity)
        return true;
    const size_t size = sizeof *host->allocations, more = host->capacity ? 2 * host->capacity : 16;
    HostAllocation *larger =
        host->allocations
            ? allocator_resize(allocator, host->allocations, host->capacity * size, more * size)
            : allocator_take(allocator, more * size);
    if (!larger)
        return false;
    host->allocations = larger;
    host->capacity = more;
    return true;
}

static bool allocate(tile_device *device, size_t bytes, uint64_t *address) {
    HostDevice *host = device->host;
    const Allocator *allocator = allocator_of(device);
    size_t block_bytes;
    if (__builtin_mul_overflow(bytes, (size_t)2, &block_bytes) ||
        __builtin_add_overflow(block_bytes, (size_t)ALLOCATION_ALIGNMENT, &block_bytes))
        return false;
    pthread_mutex_lock(&host->lock);
    uint8_t *block = reserve(host, allocator) ? allocator_take(allocator, block_bytes) : NULL;
    if (block) {
        const size_t low = (uintptr_t)block % ALLOCATION_ALIGNMENT;
        uint8_t *data = block + (low ? ALLOCATION_ALIGNMENT - low : 0);
        host->allocations[host->count++] =
            (HostAllocation){data, data + bytes, bytes, block, block_bytes};
        memset(data + bytes, 0, bytes);
        *address = (uint64_t)(uintptr_t)data;
    }
    pthread_mutex_unlock(&host->lock);
    return block != NULL;
}

static tile_status host_allocate(tile_device *device, size_t bytes, uint64_t *address,
                                 tile_diagnostics **diagnostics) {
    Call *call = call_begin(device->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    /* As of a driver, none of which is there for nothing. */
    if (!bytes)
        return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
    if (!allocate(device, bytes, address))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, TILE_OK);
}

static tile_status host_free(tile_device *device, uint64_t address) {
    HostDevice *host = device->host;
    HostAllocation found = {0};
    pthread_mutex_lock(&host->lock);
    for (size_t i = 0; i < host->count && !found.block; i++)
        if ((uint64_t)(uintptr_t)host->allocations[i].data == address) {
            found = host->allocations[i];
            host->allocations[i] = host->allocations[--host->count];
        }
    pthread_mutex_unlock(&host->lock);
    if (!found.block)
        return address ? TILE_ERROR_INVALID_ARGUMENT : TILE_OK;
    allocator_give(allocator_of(device), found.block, found.block_bytes);
    return TILE_OK;
}

/* Memory that is not the device's own is the program's, which knows its ends. */
static bool touch(tile_device *device, uint64_t address, size_t bytes, bool defines) {
    HostDevice *host = device->host;
    pthread_mutex_lock(&host->lock);
    HostAllocation *a = find_allocation(host, address, bytes);
    const bool is_beyond = !a && bytes && find_allocation(host, address, 1);
    if (a && defines)
        memset(a->defined + (address - (uint64_t)(uintptr_t)a->data), DEFINED, bytes);
    pthread_mutex_unlock(&host->lock);
    return !is_beyond;
}

static tile_status host_write(tile_device *device, uint64_t to, const void *from, size_t bytes) {
    if (!touch(device, to, bytes, true))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (bytes)
        memmove((void *)(uintptr_t)to, from, bytes);
    return TILE_OK;
}

static tile_status host_read(tile_device *device, void *to, uint64_t from, size_t bytes) {
    if (!touch(device, from, bytes, false))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (bytes)
        memmove(to, (const void *)(uintptr_t)from, bytes);
    return TILE_OK;
}

static tile_status host_set(tile_device *device, uint64_t to, uint8_t value, size_t bytes) {
    if (!touch(device, to, bytes, true))
        return TILE_ERROR_INVALID_ARGUMENT;
    if (bytes)
        memset((void *)(uintptr_t)to, value, bytes);
    return TILE_OK;
}

/* The program's memory is its own to know. */
static tile_status host_memory_info(tile_device *device, uint64_t address, tile_memory_info *info) {
    HostDevice *host = device->host;
    pthread_mutex_lock(&host->lock);
    const HostAllocation *a = find_allocation(host, address, 0);
    if (a)
        *info = (tile_memory_info){.kind = TILE_MEMORY_DEVICE,
                                   .ordinal = device->device.ordinal,
                                   .device_address = address,
                                   .begin = (uint64_t)(uintptr_t)a->data,
                                   .bytes = a->bytes};
    pthread_mutex_unlock(&host->lock);
    return TILE_OK;
}

void host_device_memory(HostDevice *device, Arena *arena, HostMemory *memory) {
    pthread_mutex_lock(&device->lock);
    const size_t count = device->count;
    pthread_mutex_unlock(&device->lock);
    /* Room is made without the lock, which a jump would leave taken. */
    HostAllocation *copies = ARENA_ARRAY(arena, HostAllocation, count + 1);
    pthread_mutex_lock(&device->lock);
    const size_t copied = device->count < count ? device->count : count;
    if (copied)
        memcpy(copies, device->allocations, copied * sizeof *copies);
    pthread_mutex_unlock(&device->lock);
    for (size_t i = 0; i < copied; i++)
        host_memory_add(arena, memory,
                        (InterpArray){.data = copies[i].data,
                                      .bytes = copies[i].bytes,
                                      .defined = copies[i].defined},
                        false);
}

/* Events: moments, since nothing is ever under way */

static tile_status host_event_create(tile_device *device, tile_event *event) {
    double *moment = allocator_take(allocator_of(device), sizeof *moment);
    if (!moment)
        return TILE_ERROR_OUT_OF_MEMORY;
    *moment = 0;
    *event = moment;
    return TILE_OK;
}

static tile_status host_event_destroy(tile_device *device, tile_event event) {
    allocator_give(allocator_of(device), event, sizeof(double));
    return TILE_OK;
}

static tile_status host_event_record(tile_device *device, tile_event event) {
    (void)device;
    if (!event)
        return TILE_ERROR_INVALID_ARGUMENT;
    *(double *)event = clock_ms();
    return TILE_OK;
}

static tile_status host_event_elapsed(tile_event begin, tile_event end, float *milliseconds) {
    if (!begin || !end)
        return TILE_ERROR_INVALID_ARGUMENT;
    *milliseconds = (float)(*(const double *)end - *(const double *)begin);
    return TILE_OK;
}

void host_device_tell(const HostDevice *device, Str printed, Str counts) {
    if (printed.len && device->print)
        device->print(device->user, text_of(printed));
    else if (printed.len)
        fwrite(printed.ptr, 1, printed.len, stdout);
    if (counts.len && device->counts)
        device->counts(device->user, text_of(counts));
}

/* Opening and closing */

static void host_close(tile_device *device) {
    HostDevice *host = device->host;
    const Allocator *allocator = allocator_of(device);
    for (size_t i = 0; i < host->count; i++)
        allocator_give(allocator, host->allocations[i].block, host->allocations[i].block_bytes);
    if (host->allocations)
        allocator_give(allocator, host->allocations, host->capacity * sizeof *host->allocations);
    pthread_mutex_destroy(&host->turn);
    pthread_mutex_destroy(&host->lock);
}

static const HostCalls host_calls = {.allocate = host_allocate,
                                     .free = host_free,
                                     .write = host_write,
                                     .read = host_read,
                                     .set = host_set,
                                     .memory_info = host_memory_info,
                                     .event_create = host_event_create,
                                     .event_destroy = host_event_destroy,
                                     .event_record = host_event_record,
                                     .event_elapsed = host_event_elapsed,
                                     .close = host_close};

_Static_assert((int)TILE_HOST_INTERPRETER == (int)HOST_INTERPRETER, "the API's kinds are these");
_Static_assert((int)TILE_HOST_SIMULATOR == (int)HOST_SIMULATOR, "the API's kinds are these");
_Static_assert((int)TILE_HOST_ROUND_ROBIN == (int)SIM_ROUND_ROBIN, "the API's orders are these");
_Static_assert((int)TILE_HOST_RANDOM == (int)SIM_RANDOM, "the API's orders are these");
_Static_assert((int)TILE_HOST_ADVERSARIAL == (int)SIM_ADVERSARIAL, "the API's orders are these");

static bool are_known(const tile_host_options *options) {
    return (unsigned)options->kind <= TILE_HOST_SIMULATOR &&
           (unsigned)options->schedule <= TILE_HOST_ADVERSARIAL;
}

static void describe(Device *device, HostMachine machine, const Target *target) {
    device->target = target;
    device->major = target->capability / 10;
    device->minor = target->capability % 10;
    device->sm_count = HOST_PROCESSORS;
    device->shared_per_block = target->shared_per_block;
    device->shared_per_block = target->shared_per_block;
    device->block_registers = device->sm_registers = TARGET_REGISTERS_PER_SM;
    device->warp_size = TARGET_WARP_SIZE;
    snprintf(device->name, sizeof device->name, "%s",
             machine == HOST_INTERPRETER ? "interpreter" : "simulator");
}

/* TILE_OK, also after a report. */
static tile_status open_host(Call *call, const tile_host_options *options, tile_device **device) {
    tile_device *made = ARENA_NEW(&call->object, tile_device);
    HostDevice *host = ARENA_NEW(&call->object, HostDevice);
    const Target *target = choose_target(&call->ctx->diags, text_str(options->target), NULL,
                                         call->context->cuda_library);
    if (!target)
        return TILE_OK;
    host->settings = (HostSettings){.machine = (HostMachine)options->kind,
                                    .schedule = (SimSchedule)options->schedule,
                                    .seed = options->seed,
                                    .early = options->early,
                                    .ctas = options->ctas,
                                    .threads = options->threads,
                                    .max_reports = options->max_reports,
                                    .max_steps = options->max_steps};
    host->print = options->print;
    host->counts = options->counts;
    host->user = options->user;
    describe(&made->device, host->settings.machine, target);
    made->context = call->context;
    made->host_calls = &host_calls;
    made->host = host;
    made->number = atomic_fetch_add(&call->context->devices, 1);
    atomic_init(&made->holders, 1);
    if (pthread_mutex_init(&host->lock, NULL))
        return TILE_ERROR_OUT_OF_MEMORY;
    if (pthread_mutex_init(&host->turn, NULL)) {
        pthread_mutex_destroy(&host->lock);
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    call_keep(call, &made->arena);
    *device = made;
    return TILE_OK;
}

tile_status tile_device_open_host(tile_context *context, const tile_host_options *given,
                                  tile_device **device, tile_diagnostics **diagnostics) {
    tile_host_options options;
    if (!context || !device || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size) || !are_known(&options))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, open_host(call, &options, device));
}
