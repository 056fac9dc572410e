/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the other parts of tilec.h begin with: statuses, texts, contexts, diagnostics. */
#ifndef TILEC_BASE_H
#define TILEC_BASE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TILE_API __attribute__((visibility("default")))
#else
#define TILE_API
#endif

#define TILE_VERSION_MAJOR 0
#define TILE_VERSION_MINOR 1
#define TILE_VERSION_PATCH 0

/* Status: X(name, value, text). */
#define TILE_STATUSES(X)                                                                           \
    X(TILE_OK, 0, "success")                                                                       \
    X(TILE_ERROR_INVALID_ARGUMENT, 1, "an argument of the call is not valid")                      \
    X(TILE_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                \
    X(TILE_ERROR_SOURCE, 3, "the kernel's source or its arguments are wrong")                      \
    X(TILE_ERROR_FILE, 4, "a file cannot be read or written")                                      \
    X(TILE_ERROR_TOOL, 5, "a tool is missing or cannot be run")                                    \
    X(TILE_ERROR_NO_DRIVER, 6, "there is no usable CUDA driver")                                   \
    X(TILE_ERROR_NO_DEVICE, 7, "there is no such GPU, or none that runs this kernel")              \
    X(TILE_ERROR_DEVICE_MEMORY, 8, "out of device memory")                                         \
    X(TILE_ERROR_DRIVER, 9, "a call of the CUDA driver failed")                                    \
    X(TILE_ERROR_DISK_FULL, 10, "the disk is full")                                                \
    X(TILE_ERROR_INTERNAL, 11, "an error of the compiler")                                         \
    X(TILE_ERROR_TENSOR_MAP, 12, "the kernel's tensor maps cannot hold the arguments")             \
    X(TILE_ERROR_TIME_LIMIT, 13, "the time limit was reached")                                     \
    X(TILE_ERROR_CANCELLED, 14, "the compilation was cancelled")                                   \
    X(TILE_ERROR_BUNDLE, 15, "the bundle is damaged, or another one")                              \
    X(TILE_ERROR_NO_VARIANT, 16, "the bundle has no variant of the kernel for the call")           \
    X(TILE_ERROR_KERNEL, 17, "a kernel failed on the device")                                      \
    X(TILE_ERROR_DEVICE_LOST, 18, "the device, or its context, is lost")                           \
    X(TILE_ERROR_NOT_COMPILED, 19, "the kernel is not compiled, and the context compiles nothing") \
    X(TILE_ERROR_IN_PLACE, 20, "arguments are one array that the kernel's code takes to be apart")

typedef enum tile_status {
#define TILE_STATUS_ENUM(name, value, text) name = value,
    TILE_STATUSES(TILE_STATUS_ENUM)
#undef TILE_STATUS_ENUM
} tile_status;

/* What a status means; static text. */
TILE_API const char *tile_status_text(tile_status status);
/* "0.1.0": of the library that is loaded. */
TILE_API const char *tile_version(void);
/* Changes whenever the compiler does: a part of the key of each cached kernel. Static text. */
TILE_API const char *tile_build_id(void);

typedef struct tile_text {
    const char *data;
    size_t size;
} tile_text;

typedef struct tile_named {
    tile_text name, value;
} tile_named;

typedef struct tile_context tile_context;
typedef struct tile_diagnostics tile_diagnostics;
typedef struct tile_cancellation tile_cancellation;
typedef struct tile_kernel tile_kernel;
typedef struct tile_device tile_device;
typedef struct tile_executable tile_executable;
typedef struct tile_function tile_function;
typedef struct tile_bundle tile_bundle;

/* Contexts. They share nothing but the cache's folder, where they name the same. */

typedef struct tile_diagnostic tile_diagnostic;
/* Is told what a call has to say, item by item, before it returns, whether or not the caller asked
 * for diagnostics; by the calling thread, which holds no lock and may call the library. */
typedef void (*tile_log)(void *user, const tile_diagnostic *diagnostic);

/* Memory of the host for a context, all its objects and all its calls: blocks aligned to 16, any
 * size; `reallocate` may move a block, and leaves it where it gives NULL. NULL: there is none,
 * which is TILE_ERROR_OUT_OF_MEMORY. Any thread calls it, also from within the library's own.
 *
 * Not through it go LLVM and the C++ library, zstd, hiredis, OpenSSL, the CUDA driver, what the C
 * library takes for threads, folders and lookups of names, stacks, which are mapped, and
 * cancellations, which are of no context. `memory_limit` then holds for what comes from here and,
 * by itself, for what LLVM takes. */
typedef void *(*tile_allocate)(void *user, size_t size);
typedef void *(*tile_reallocate)(void *user, void *block, size_t old_size, size_t size);
typedef void (*tile_release)(void *user, void *block, size_t size);

typedef struct tile_allocator {
    size_t size;
    tile_allocate allocate;
    tile_reallocate reallocate;
    tile_release release;
    void *user;
} tile_allocator;

typedef struct tile_request tile_request;
/* Is told of each request for a kernel that is not in memory, before the call that made it returns;
 * by the calling thread, which holds no lock and may call the library. */
typedef void (*tile_watch)(void *user, const tile_request *request);

typedef struct tile_context_options {
    size_t size;
    tile_text cache_folder; /* empty: TILEC_CACHE_DIR, XDG_CACHE_HOME/tilec, ~/.cache/tilec; "none":
                               no cache */
    uint64_t cache_max_bytes; /* 0: TILEC_CACHE_SIZE, 2 GiB */
    tile_text ptxas;          /* empty: TILEC_PTXAS, CUDA_HOME, PATH; else the driver assembles */
    tile_text cuda_library;   /* empty: TILEC_CUDA_LIBRARY, libcuda.so.1 */
    size_t memory_limit;    /* bytes that one compilation may take; 0: no limit. See tile_compile */
    uint32_t time_limit_ms; /* that a tool (ptxas, a disassembler) or an isolated compilation may
                               take before it is stopped: TILE_ERROR_TIME_LIMIT; 0: ten minutes */
    tile_text worker; /* the program of isolated compilations, a tilec of the same build; empty:
                         TILEC_WORKER, `tilec` beside the library or in ../bin, PATH */
    tile_text trusted_caches; /* folders, separated by colons, that are read after cache_folder,
                                 whoever owns them, and never written; empty: TILEC_CACHE_TRUSTED.
                                 Whoever can write to them runs code in this process's name */
    uint32_t cache_wait_ms; /* how long a compilation waits for another one of the same, of a thread
                               or a process, before it goes on itself; 0: TILEC_CACHE_WAIT, a
                               minute */
    tile_text remote_cache; /* redis://user:password@host:port/prefix or rediss://..: a cache
                               that machines share, asked after folders; empty:
                               TILEC_REMOTE_CACHE. See docs/caches.md */
    tile_text remote_cache_key; /* signs what is put there, and is asked of what is found; empty:
                                   TILEC_REMOTE_CACHE_KEY, the file TILEC_REMOTE_CACHE_KEY_FILE,
                                   none */
    tile_log log;               /* NULL: none. It and `log_user` stay as long as the context */
    void *log_user;
    bool check_launches; /* launches are held to what the code takes for granted: pointers aligned
                            as promised, and to their elements, integers that are multiples or
                            values as promised, a grid that the driver takes. What is not kept is
                            TILE_ERROR_INVALID_ARGUMENT and a diagnostic that names the parameter:
                            of tile_launch, which has none, to `log`. Nothing is launched then */
    bool strict; /* tile_compile, tile_function_launch and tile_function_instance compile nothing,
                    and wait for nobody who does: what no cache has is TILE_ERROR_NOT_COMPILED, with
                    a diagnostic that says how it differs from what comes nearest, which is
                    only looked for where there is a `log` or the call asks for diagnostics.
                    docs/serving.md */
    tile_watch watch; /* NULL: none. It and `watch_user` stay as long as the context */
    void *watch_user;
    tile_text record; /* a file to which each kernel that is asked for is added, once, as a line of
                         a manifest for tile_prewarm; empty: TILEC_RECORD; "none": none */
    uint32_t compile_limit_ms; /* that one compilation may take in all, waiting for others of the
                                  same included: TILE_ERROR_TIME_LIMIT; it is noticed where a
                                  cancellation is, see there. 0: no limit */
    const tile_allocator *allocator; /* NULL: malloc and its like. It is copied; its functions and
                                        `user` stay as long as the context and all its objects */
} tile_context_options;

/* `options` may be NULL. Nothing is read or loaded yet: the driver is found when first needed. */
TILE_API tile_status tile_context_create(const tile_context_options *options,
                                         tile_context **context);
TILE_API void tile_context_destroy(tile_context *context);

/* Requests for kernels that were not in memory, by what became of them. */
typedef struct tile_context_counts {
    size_t size;
    uint64_t found; /* in a cache */
    uint64_t compiled;
    uint64_t refused; /* TILE_ERROR_NOT_COMPILED */
    uint64_t failed;  /* in any other way, cancellations included */
} tile_context_counts;

/* `counts->size` must be set. */
TILE_API tile_status tile_context_get_counts(const tile_context *context,
                                             tile_context_counts *counts);

/* Diagnostics: messages of the compiler, ptxas and the driver. */

typedef enum tile_severity { TILE_REMARK, TILE_WARNING, TILE_ERROR } tile_severity;

struct tile_diagnostic {
    size_t size;
    tile_severity severity;
    tile_text id;                                /* stable name of the message */
    tile_text message;                           /* one line */
    tile_text path;                              /* empty: concerns no place in a source */
    uint32_t line, column, end_line, end_column; /* from 1; columns count bytes */
    tile_text
        rendered; /* as the command line prints it: place, source line, caret, notes and hints */
    uint64_t required, limit; /* of what did not suffice, in its unit: bytes of shared or device
                                 memory, blocks of a cooperative launch; zeros: it is about none */
    bool has_program;         /* it is a finding of a device that is this machine */
    uint32_t program[3];      /* in which program; of the simulator, in which block */
    const tile_diagnostic *const *notes; /* the other side of a conflict, what to write instead: the
                                            id is "note" or "hint"; message, and a place if there
                                            is one. They are in `rendered`, too */
    size_t note_count;
};

TILE_API size_t tile_diagnostics_count(const tile_diagnostics *diagnostics);
/* `diagnostic->size` must be set. */
TILE_API tile_status tile_diagnostics_get(const tile_diagnostics *diagnostics, size_t index,
                                          tile_diagnostic *diagnostic);
/* All of them, as text and as a JSON array. */
TILE_API tile_text tile_diagnostics_text(const tile_diagnostics *diagnostics);
TILE_API tile_text tile_diagnostics_json(const tile_diagnostics *diagnostics);
TILE_API void tile_diagnostics_destroy(tile_diagnostics *diagnostics);

#ifdef __cplusplus
}
#endif
#endif
