/* What the files of the public API share: the objects behind the handles.
 *
 * An object lies in an arena that it owns, so that making it needs one place for running out of
 * memory and destroying it is one call. Arenas have no jump target once their object is made:
 * nothing allocates in them afterwards. */
#ifndef TILEC_RUNTIME_API_API_H
#define TILEC_RUNTIME_API_API_H
#include "runtime/compile/compile.h"
#include "runtime/launch/launch.h"
#include "tilec.h"
#include <pthread.h>

struct tile_context {
    Arena arena;
    Cache cache;
    const char *ptxas, *cuda_library; /* NULL: found */
    size_t memory_limit;
    uint32_t time_limit_ms;
    const char *worker;   /* NULL: found */
    pthread_mutex_t lock; /* of `driver` until `has_driver` */
    atomic_bool has_driver;
    Driver driver;
};

struct tile_cancellation {
    Cancel cancel;
};

struct tile_kernel {
    Arena arena;
    Compiled compiled; /* outputs, params and meta only; nothing points into a Ctx */
};

struct tile_device {
    Arena arena;
    tile_context *context;
    Device device;
};

struct tile_executable {
    Arena arena;
    tile_context *context;
    Executable executable;
};

/* A call that may report: a compiler context of its own, whose diagnostics become the caller's, and
 * the arena of the object that the call makes, which is freed unless call_keep gives it away. */
typedef struct Call {
    Ctx *ctx;
    tile_diagnostics **diagnostics; /* may be NULL */
    Arena object;
} Call;

/* Begins a call; NULL: out of memory. Use as
 *
 *     Call *call = call_begin(context, diagnostics);
 *     if (!call || setjmp(call->ctx->oom))
 *         return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
 *
 * A call that is cancelled takes this way, too: call_end knows which it was. */
Call *call_begin(const tile_context *context, tile_diagnostics **diagnostics);
/* TILE_ERROR_INVALID_ARGUMENT of a call that does not begin: there are no diagnostics. */
tile_status invalid_argument(tile_diagnostics **diagnostics);
/* The object's arena goes to its owner, which frees it. */
void call_keep(Call *call, Arena *owner);
/* Hands the diagnostics over and frees the rest. `status` TILE_OK becomes what the diagnostics say,
 * TILE_ERROR_OUT_OF_MEMORY of a call that was cancelled TILE_ERROR_CANCELLED. */
tile_status call_end(Call *call, tile_status status);

/* The status of a driver call that reported nothing. */
tile_status status_of_result(CUresult result);
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

/* Fills a request from options, whose cancellation is the call's from here on; texts are copied
 * into the call's arena. False for arguments that are not valid. */
bool request_from_options(Call *call, tile_context *context, const tile_compile_options *options,
                          CompileRequest *request);
/* A kernel holding copies of what `compiled` points at. TILE_OK or TILE_ERROR_OUT_OF_MEMORY. */
tile_status kernel_create(const Compiled *compiled, tile_kernel **kernel);
/* The number of the kernel's device differs from what it was compiled for. */
bool check_target(Diags *diags, const Compiled *compiled, const Device *device);
#endif
