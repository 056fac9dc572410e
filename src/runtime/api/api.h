/* What the files of the public API share: the objects behind the handles.
 *
 * An object lies in an arena that it owns, so that making it needs one place for running out of
 * memory and destroying it is one call. Arenas have no jump target once their object is made:
 * nothing allocates in them afterwards. */
#ifndef TILEC_RUNTIME_API_API_H
#define TILEC_RUNTIME_API_API_H
#include "runtime/cache/cache.h"
#include "runtime/launch/facts.h"
#include "support/c_locale.h"
#include "support/ctx.h"
#include "tilec.h"
#include <pthread.h>

struct tile_context {
    Arena arena;
    Allocator allocator; /* of all memory, if the arena has one */
    CacheConfig cache_config;
    const char *ptxas, *cuda_library; /* NULL: found */
    size_t memory_limit;
    uint32_t time_limit_ms, compile_limit_ms;
    const char *worker; /* NULL: found */
    tile_log log;       /* NULL: none */
    void *log_user;
    bool check_launches, strict;
    tile_watch watch; /* NULL: none */
    void *watch_user;
    _Atomic uint64_t counts[TILE_FAILED + 1];
    struct Recording *recording;        /* NULL: nothing was recorded yet */
    const char *record;                 /* NULL: the environment's */
    const struct TuneWatch *tune_watch; /* of tune/tune.h; NULL: none */
    void (*end_recording)(struct Recording *recording);
    pthread_mutex_t lock; /* of what is made when it is first needed: see context_once */
    atomic_bool has_driver, has_cache;
    _Atomic uint64_t devices; /* opened so far */
    Driver driver;
    Cache cache;
    void (*close_cache)(Cache *cache); /* NULL: not opened; launchers are linked without it */
};

struct tile_cancellation {
    Cancel cancel;
};

enum { API_OUTPUT_COUNT = TILE_OUTPUT_META + 1 };

struct tile_kernel {
    Arena arena;
    KernelFacts facts;
    Str outputs[API_OUTPUT_COUNT];
    bool from_cache;
    double compile_ms;
};

/* What a device that is this machine does where others ask a driver. */
typedef struct HostCalls {
    tile_status (*allocate)(tile_device *device, size_t bytes, uint64_t *address,
                            tile_diagnostics **diagnostics);
    tile_status (*free)(tile_device *device, uint64_t address);
    tile_status (*write)(tile_device *device, uint64_t to, const void *from, size_t bytes);
    tile_status (*read)(tile_device *device, void *to, uint64_t from, size_t bytes);
    tile_status (*set)(tile_device *device, uint64_t to, uint8_t value, size_t bytes);
    tile_status (*memory_info)(tile_device *device, uint64_t address, tile_memory_info *info);
    tile_status (*event_create)(tile_device *device, tile_event *event);
    tile_status (*event_destroy)(tile_device *device, tile_event event);
    tile_status (*event_record)(tile_device *device, tile_event event);
    tile_status (*event_elapsed)(tile_event begin, tile_event end, float *milliseconds);
    void (*close)(tile_device *device); /* before the arena is freed */
} HostCalls;

struct tile_device {
    Arena arena;
    uint64_t number;          /* no other device of the context has it, or had it */
    _Atomic uint32_t holders; /* whoever opened it, and what is loaded on it */
    tile_context *context;
    Device device;               /* of a host: name and target alone */
    const HostCalls *host_calls; /* NULL: a GPU */
    struct HostDevice *host;     /* of host_device.h */
};

/* Until whoever holds it drops it. */
void device_hold(tile_device *device);
void device_drop(tile_device *device);

struct tile_executable {
    Arena arena;
    tile_context *context;
    tile_device *device; /* that it holds */
    Executable executable;
};

/* A request for a kernel that is not in memory. */
typedef struct Requested {
    struct Requested *next;
    tile_outcome outcome;
    tile_request *told; /* NULL: nobody watches */
} Requested;

/* A call that may report: a compiler context of its own, whose diagnostics become the caller's, and
 * the arena of the object that the call makes, which is freed unless call_keep gives it away. */
typedef struct Call {
    Ctx *ctx;
    tile_context *context;
    tile_diagnostics **diagnostics; /* may be NULL */
    tile_diagnostics *earlier;      /* what the call has said before, there too */
    Requested *requested;           /* which the watch is told of at the end; the last one first */
    Arena object;
    locale_t locale; /* the thread's own, which it has again when callbacks are told */
} Call;

/* Begins a call; NULL: out of memory. Use as
 *
 *     Call *call = call_begin(context, diagnostics);
 *     if (!call || setjmp(call->ctx->oom))
 *         return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
 *
 * A call that is cancelled takes this way, too: call_end knows which it was. */
Call *call_begin(tile_context *context, tile_diagnostics **diagnostics);
/* Begins a part of a call of which others may have said something: it stands there already, or NULL
 * does, and what this part says comes behind it. Both go to call_end. */
Call *call_continue(tile_context *context, tile_diagnostics **diagnostics);
/* TILE_ERROR_INVALID_ARGUMENT of a call that does not begin: there are no diagnostics. */
tile_status invalid_argument(tile_diagnostics **diagnostics);
/* The object's arena goes to its owner, which frees it. */
void call_keep(Call *call, Arena *owner);
/* Hands the diagnostics over and frees the rest. `status` TILE_OK becomes what the diagnostics say,
 * TILE_ERROR_OUT_OF_MEMORY of a call that was cancelled TILE_ERROR_CANCELLED. */
tile_status call_end(Call *call, tile_status status);
/* Ends a call that is a part of another one: requests are told, and its context is the caller's,
 * who destroys it, with what was said. */
Ctx *call_leave(Call *call);

/* Of a context with check_launches, before a launch. */
tile_status launch_check(const tile_executable *executable, const uint32_t grid[3],
                         void *const *params, tile_diagnostics **diagnostics);

/* Of a launch that was refused, by the driver or before, or that found an earlier fault. */
tile_status launch_failed(const tile_executable *executable, const Launch *launch, CUresult result,
                          tile_diagnostics **diagnostics);
/* A launch with options, of which `whole` becomes a copy; they may be NULL. False: their size is
 * wrong. */
bool launch_make(const uint32_t grid[3], tile_stream stream, const tile_launch_options *options,
                 tile_launch_options *whole, Launch *launch);
/* The status of a driver call that reported nothing. */
tile_status status_of_result(CUresult result);
/* Runs `make` unless an earlier call has; false: it failed now, after a report. It runs alone and
 * may allocate in the context's arena. */
bool context_once(tile_context *context, Diags *diags, atomic_bool *done,
                  bool (*make)(tile_context *context, Diags *diags));
/* The context's driver, opened by the first caller. NULL after a report. */
const Driver *context_driver(tile_context *context, Diags *diags);

/* A terminated copy; NULL for an empty text. */
const char *text_dup(Arena *arena, tile_text text);
Str text_str(tile_text text);
tile_text text_of(Str text);

/* Copies an option struct that may be shorter or longer than the library's; false when its size is
 * wrong. */
bool options_copy(void *to, size_t to_size, const void *from, size_t minimum);
/* Writes a result struct of `*size` bytes, the first field, from one of the library's. */
bool info_copy(void *to, const void *from, size_t from_size);

/* A kernel of the context, holding copies of what `found` points at. TILE_OK or
 * TILE_ERROR_OUT_OF_MEMORY. */
tile_status kernel_create(const tile_context *context, const tile_kernel *found,
                          tile_kernel **kernel);
/* What a device of the driver loads of it. */
KernelImage kernel_image(Arena *arena, const tile_kernel *kernel, const Driver *driver);
#endif
