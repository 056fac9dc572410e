/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libtilec: compiles kernels written in the language of Triton's @triton.jit functions and launches
 * them through the CUDA driver.
 *
 *     tile_context      configuration: cache, assembler, driver
 *     tile_kernel       a compiled kernel: PTX, cubin, facts. Immutable
 *     tile_device       a GPU with its primary context
 *     tile_executable   a kernel loaded on a device. Immutable
 *     tile_cancellation ends compilations from another thread
 *     tile_function     a kernel that is compiled when it is called, for the types and values of
 * the call
 *
 * Conventions
 *   - Functions that can fail return a tile_status. Outputs are written on success only, but
 * diagnostics: where a function has a `diagnostics` parameter (NULL is allowed), it receives a list
 * whenever there is something to say, be it errors, warnings or remarks, and NULL otherwise; the
 * caller destroys it.
 *   - Texts are pointer and length, need no terminating zero, and are copied when the library keeps
 * them. Texts that the library returns are zero-terminated, too, and live as long as the object
 * they come from.
 *   - Option structs begin with their size: set it to sizeof of the struct, and what is not needed
 * to zero. A library that is newer or older than the header takes what both know.
 *   - Objects are destroyed by their owner, after everything that was made from them: executables
 * before their device, all before the context. NULL is allowed in every destroy function.
 *   - The library keeps no global state, never exits or aborts, and prints nothing.
 *
 * Threads: unless a function says otherwise, any thread may call it at any time, also on the same
 * objects; only destroying an object must not overlap with its use. */
#ifndef TILEC_H
#define TILEC_H
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
    X(TILE_ERROR_NOT_COMPILED, 19, "the kernel is not compiled, and the context compiles nothing")

typedef enum tile_status {
#define TILE_STATUS_ENUM(name, value, text) name = value,
    TILE_STATUSES(TILE_STATUS_ENUM)
#undef TILE_STATUS_ENUM
} tile_status;

/* What a status means; static text. */
TILE_API const char *tile_status_text(tile_status status);
/* "0.1.0": of the library that is loaded. */
TILE_API const char *tile_version(void);

typedef struct tile_text {
    const char *data;
    size_t size;
} tile_text;

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
};

TILE_API size_t tile_diagnostics_count(const tile_diagnostics *diagnostics);
/* `diagnostic->size` must be set. */
TILE_API tile_status tile_diagnostics_get(const tile_diagnostics *diagnostics, size_t index,
                                          tile_diagnostic *diagnostic);
/* All of them, as text and as a JSON array. */
TILE_API tile_text tile_diagnostics_text(const tile_diagnostics *diagnostics);
TILE_API tile_text tile_diagnostics_json(const tile_diagnostics *diagnostics);
TILE_API void tile_diagnostics_destroy(tile_diagnostics *diagnostics);

/* Compilation */

typedef struct tile_named {
    tile_text name, value;
} tile_named;

/* What a compilation can give besides PTX and cubin. */
typedef enum tile_output {
    TILE_OUTPUT_AST,       /* syntax tree */
    TILE_OUTPUT_TIR,       /* Tile IR as elaborated */
    TILE_OUTPUT_TIR_FINAL, /* Tile IR after all passes */
    TILE_OUTPUT_LL_BEFORE, /* LLVM IR as generated */
    TILE_OUTPUT_LL,        /* LLVM IR after LLVM's passes */
    TILE_OUTPUT_PTX,
    TILE_OUTPUT_CUBIN,
    TILE_OUTPUT_SASS, /* needs nvdisasm or cuobjdump */
    TILE_OUTPUT_META, /* the facts as JSON */
} tile_output;

#define TILE_WANT(output) (1u << (output))

/* Cancellations: a request to give up, for every compilation whose options name it.
 *
 * A request stays: what names the object and runs then or begins later ends with
 * TILE_ERROR_CANCELLED and the diagnostic `cancelled`, unless it was done already. Whoever wants to
 * compile on names another one, or none. It is followed within milliseconds: between allocations of
 * the compiler, between LLVM's runs and between the passes of its back end, by ptxas and a
 * disassembler, which are killed, and by the process of an isolated compilation. Only one run of
 * LLVM's passes, one pass of its back end and the driver's assembler are waited for. What LLVM held
 * between passes of its back end stays allocated, as with `memory_limit`; `isolated` frees that,
 * too. A cancelled compilation leaves no file but those already in `dump_folder`, and concerns
 * nobody else: other threads that wait for the same kernel compile it themselves.
 *
 * It belongs to no context, and must outlive the compilations, and functions, that name it. */
TILE_API tile_status tile_cancellation_create(tile_cancellation **cancellation);
/* Any thread, and a signal handler; returns at once. Again: nothing more. */
TILE_API void tile_cancellation_request(tile_cancellation *cancellation);
TILE_API bool tile_cancellation_is_requested(const tile_cancellation *cancellation);
TILE_API void tile_cancellation_destroy(tile_cancellation *cancellation);

/* Reads a file for a compilation: true, with its text, when there is one under that path; false: it
 * is looked for on disk. Called by the thread that compiles, or one of the library's in its stead,
 * before the call returns; the text must stay until then. */
typedef bool (*tile_read_file)(void *user, tile_text path, tile_text *source);

typedef struct tile_compile_options {
    size_t size;
    tile_text path; /* of the source; with `source` given, only its name in messages and imports. A
                       folder: of the .tile and .py files in it and below the one that has `kernel`
                     */
    tile_text source;        /* data NULL: `path` is read */
    tile_text kernel;        /* empty: the file's only kernel */
    tile_text signature;     /* "*fp32:16, i32, 1024": types and constexprs by position, or empty */
    const tile_named *types; /* by name: {"x_ptr", "*fp32:16"}; these win over the signature */
    size_t type_count;
    const tile_named
        *constexprs; /* by name, values as Python literals: {"BLOCK", "1024"}; these win too */
    size_t constexpr_count;
    const tile_text *search_paths; /* for imported files, after the source's own folder */
    size_t search_path_count;
    tile_text target;    /* "sm_90a"; "native": what `device` is, else GPU 0 of this machine; empty:
                            what `device` is, else sm_90a */
    tile_device *device; /* may be NULL; assembles when there is no ptxas */
    int32_t num_warps, num_stages, num_ctas; /* 0: chosen by the compiler */
    int32_t max_registers;                   /* of a thread, 24 to 255; 0: no limit */
    uint32_t want;         /* TILE_WANT(...) | ...; 0: PTX and cubin. PTX is always there */
    tile_text dump_folder; /* every stage is written there; empty: none */
    bool no_line_info;     /* leave source lines out of PTX and cubin */
    bool no_cache;         /* neither read nor write the cache */
    bool debug;            /* keep tl.device_assert and assert: a false one stops the kernel */
    bool no_tensor_copies; /* use no tensor maps; see tile_launch */
    bool no_persistence;   /* every program has a block of its own, or shares one from the start */
    int32_t max_shared;    /* bytes of shared memory of a block; 0: as many as the target has */
    bool isolated;         /* compile in a process of its own; see tile_compile */
    const tile_text *warnings; /* the id of a warning shows it, "no-ID" hides it, "error=ID" makes
                                  it an error; the last that names it counts */
    size_t warning_count;
    tile_cancellation *cancellation; /* ends the compilation when it is requested; NULL: none */
    bool plain_abi;          /* for launchers of others: docs/ahead-of-time.md, "The plain form" */
    const tile_named *files; /* in memory, path and text: imports, and a `path` without source, find
                                them before those on disk */
    size_t file_count;
    tile_read_file read_file; /* asked behind `files`; not with `isolated`. NULL: none */
    void *read_user;
    bool full_paths;   /* name sources in line tables and assertions by their paths as given, which
                          ties the code to this machine; else those that begin at the root by their
                          part below the folder where they are looked for */
    tile_text grid;    /* of a function, for calls that say none: one to three Python expressions of
                          its parameters and of what decorators set, "cdiv(n, BLOCK), heads" */
    bool tune_nearest; /* of a function with configurations: a call of a key that was not measured
                          measures nothing, but takes what is the best for the nearest key that was,
                          if there is one; docs/tuning.md */
    uint32_t tune_limit_ms; /* that a launch may take when configurations are measured; one that
                               takes longer is struck out, and its call is TILE_ERROR_TIME_LIMIT.
                               0: ten seconds */
} tile_compile_options;

/* Compiles, or answers from the cache.
 *
 * Memory: TILE_ERROR_OUT_OF_MEMORY, with a diagnostic, when there is no more or `memory_limit`
 * bytes are exceeded. What this library allocates itself never exceeds the limit. What LLVM
 * allocates is counted as well and looked at between its runs and between the passes of its back
 * end, so that it may exceed the limit for the length of one, and what LLVM held when it was left
 * there stays allocated. Should malloc fail and go on failing within one such pass, LLVM is lost to
 * the process: this call says TILE_ERROR_OUT_OF_MEMORY, later compilations TILE_ERROR_INTERNAL,
 * unless isolated; other threads that compile at that moment may wait for ever.
 *
 * `isolated` has none of these bounds: the compilation runs in a process of its own, which costs
 * its start (some 10 ms) and ends with this one. There the kernel holds all that can be written to
 * at `memory_limit`, 8 MiB of which are a reserve, and a crash is the worker's own:
 * TILE_ERROR_INTERNAL here. Without ptxas it assembles with device 0. */
TILE_API tile_status tile_compile(tile_context *context, const tile_compile_options *options,
                                  tile_kernel **kernel, tile_diagnostics **diagnostics);
TILE_API void tile_kernel_destroy(tile_kernel *kernel);

typedef enum tile_outcome {
    TILE_FOUND,
    TILE_COMPILED,
    TILE_REFUSED, /* the context is strict */
    TILE_FAILED
} tile_outcome;

/* What a watch is told; texts and lists live as long as its call. */
struct tile_request {
    size_t size;
    tile_outcome outcome;
    double milliseconds;
    tile_text path, kernel, target; /* kernel empty: the file's only one */
    tile_text signature;
    const tile_named *types, *constexprs; /* in functions all that the call says is here, by name */
    size_t type_count, constexpr_count;
    int32_t num_warps, num_stages, num_ctas;
    tile_text manifest; /* the whole request, as tile_prewarm takes it */
};

/* Kernels of sources, without compiling them. */

typedef struct tile_kernel_list tile_kernel_list;

typedef struct tile_listed_kernel {
    size_t size;
    tile_text name, path;
    uint32_t line, column; /* of the name */
    bool is_helper;        /* another jit function of the file calls it */
    size_t param_count;
} tile_listed_kernel;

typedef struct tile_listed_param {
    size_t size;
    tile_text name;
    tile_text annotation, default_value; /* in the words of the source; empty: none */
    bool is_constexpr;                   /* by its annotation */
    bool is_derived;                     /* @triton.heuristics sets it, unless the options do */
} tile_listed_param;

/* Lists the jit functions of a source, or of all .tile and .py files in a folder and below, in the
 * order of their paths, in a file those first that are no helpers. Of `options` the source counts,
 * as for tile_compile, and `kernel`: only those of that name. Of a folder a file that has errors is
 * left out, with a warning that says the first one. */
TILE_API tile_status tile_kernel_list_create(tile_context *context,
                                             const tile_compile_options *options,
                                             tile_kernel_list **list,
                                             tile_diagnostics **diagnostics);
TILE_API void tile_kernel_list_destroy(tile_kernel_list *list);
TILE_API size_t tile_kernel_list_count(const tile_kernel_list *list);
/* `size` of what is filled must be set. */
TILE_API tile_status tile_kernel_list_get(const tile_kernel_list *list, size_t index,
                                          tile_listed_kernel *kernel);
TILE_API tile_status tile_kernel_list_get_param(const tile_kernel_list *list, size_t index,
                                                size_t param, tile_listed_param *info);

/* Compiling what a manifest lists, into the caches: docs/serving.md. */

/* Is told after each of `total` kernels, by one thread at a time, not always the caller's. */
typedef void (*tile_prewarm_progress)(void *user, size_t done, size_t total);

typedef struct tile_prewarm_options {
    size_t size;
    tile_text path;           /* of a manifest; with `manifest` given, only its name and folder */
    tile_text manifest;       /* its text; data NULL: `path` is read */
    const tile_text *targets; /* instead of those that the manifest names */
    size_t target_count;
    uint32_t threads;               /* that compile; 0: one for each processor */
    bool isolated;                  /* compile in processes of their own; see tile_compile */
    tile_prewarm_progress progress; /* NULL: none */
    void *user;
    tile_cancellation *cancellation; /* what is stored by its request stays; NULL: none */
} tile_prewarm_options;

typedef struct tile_prewarm_result {
    size_t size;
    size_t kernels; /* that the manifest lists, each with all forms that a call may look up */
    size_t compiled, found, failed;
} tile_prewarm_result;

/* Compiles what the context's caches lack of a manifest, also for a strict context. The own folder
 * and the remote get it; TILE_ERROR_INVALID_ARGUMENT: there is neither. Whatever fails, the others
 * are compiled, and the status is that of the first failure, each of which is a diagnostic at its
 * place in the manifest. `result` (may be NULL) is written once the manifest was read, whatever the
 * status. */
TILE_API tile_status tile_prewarm(tile_context *context, const tile_prewarm_options *options,
                                  tile_prewarm_result *result, tile_diagnostics **diagnostics);

typedef struct tile_kernel_info {
    size_t size;
    tile_text name; /* of the entry in PTX and cubin */
    tile_text target;
    int32_t num_warps;        /* of a program */
    int32_t programs_per_cta; /* see docs/runtime.md, "Several programs in a block" */
    int32_t num_ctas;         /* blocks of a cluster */
    int32_t threads;          /* of a block */
    int32_t shared_bytes;     /* dynamic shared memory of a block */
    bool has_grid_parameter;  /* one i32, the logical grid's x, follows the parameters */
    bool assembled;           /* the facts from here to `occupancy` are known */
    int32_t registers, stack_bytes, spill_store_bytes, spill_load_bytes; /* of a thread */
    int32_t static_shared_bytes;                                         /* of a block */
    int32_t blocks_per_sm;
    double occupancy; /* resident warps by what an SM holds */
    bool from_cache;
    double compile_ms;       /* what tile_compile took */
    size_t param_count;      /* of the source, constexprs included */
    size_t tensor_map_count; /* of 128 bytes each, after all other parameters; docs/runtime.md */
    bool is_persistent; /* three i32, the logical grid, follow the parameters; docs/runtime.md */
    bool plain_abi;     /* compiled as tile_compile_options.plain_abi says */
} tile_kernel_info;

typedef struct tile_param_info {
    size_t size;
    tile_text name;
    tile_text type;    /* "*fp32", "i32"; of a constexpr its value as a Python literal */
    bool is_constexpr; /* not passed at launch */
    bool is_fixed;     /* compiled for the value `fixed`, which the launch must pass */
    int64_t divisible; /* the launch promises a multiple of this */
    int64_t fixed;
} tile_param_info;

/* `info->size` must be set. */
TILE_API tile_status tile_kernel_get_info(const tile_kernel *kernel, tile_kernel_info *info);
TILE_API tile_status tile_kernel_get_param(const tile_kernel *kernel, size_t index,
                                           tile_param_info *info);
/* Empty when it was not wanted. */
TILE_API tile_text tile_kernel_get_output(const tile_kernel *kernel, tile_output output);

/* Devices. The first use of a device in a process makes its primary context, which takes time. */

TILE_API tile_status tile_device_count(tile_context *context, int *count,
                                       tile_diagnostics **diagnostics);
TILE_API tile_status tile_device_open(tile_context *context, int ordinal, tile_device **device,
                                      tile_diagnostics **diagnostics);
TILE_API void tile_device_close(tile_device *device);

typedef struct tile_device_info {
    size_t size;
    tile_text name;
    tile_text target; /* empty: no target of this compiler runs there */
    int32_t ordinal, major, minor, sm_count;
    int32_t l2_bytes, shared_per_block;
    uint64_t memory_bytes;
    int32_t driver_version; /* 13000: CUDA 13.0 */
} tile_device_info;

TILE_API tile_status tile_device_get_info(const tile_device *device, tile_device_info *info);

/* A CUstream; NULL is the default stream. */
typedef void *tile_stream;
/* A CUevent. */
typedef void *tile_event;

/* Device memory, streams and events, for programs that do not use CUDA otherwise. Addresses are
 * CUdeviceptr. Copies are ordered by the stream; host memory must stay until it is synchronised. */
TILE_API tile_status tile_memory_allocate(tile_device *device, size_t bytes, uint64_t *address,
                                          tile_diagnostics **diagnostics);
TILE_API tile_status tile_memory_free(tile_device *device, uint64_t address);
TILE_API tile_status tile_memory_write(tile_device *device, uint64_t to, const void *from,
                                       size_t bytes, tile_stream stream);
TILE_API tile_status tile_memory_read(tile_device *device, void *to, uint64_t from, size_t bytes,
                                      tile_stream stream);
TILE_API tile_status tile_memory_set(tile_device *device, uint64_t to, uint8_t value, size_t bytes,
                                     tile_stream stream);
TILE_API tile_status tile_stream_create(tile_device *device, tile_stream *stream);
TILE_API tile_status tile_stream_destroy(tile_device *device, tile_stream stream);
/* Waits; an error of a kernel that ran shows here. */
TILE_API tile_status tile_stream_synchronize(tile_device *device, tile_stream stream,
                                             tile_diagnostics **diagnostics);
TILE_API tile_status tile_event_create(tile_device *device, tile_event *event);
TILE_API tile_status tile_event_destroy(tile_device *device, tile_event event);
TILE_API tile_status tile_event_record(tile_device *device, tile_event event, tile_stream stream);
/* Waits for `end`. */
TILE_API tile_status tile_event_elapsed(tile_device *device, tile_event begin, tile_event end,
                                        float *milliseconds);

/* Loading and launching */

TILE_API tile_status tile_load(const tile_kernel *kernel, tile_device *device,
                               tile_executable **executable, tile_diagnostics **diagnostics);
TILE_API void tile_executable_destroy(tile_executable *executable);

typedef struct tile_executable_info {
    size_t size;
    int32_t registers, local_bytes; /* of a thread, as the driver loaded it */
    size_t param_count;             /* values that tile_launch takes */
} tile_executable_info;

TILE_API tile_status tile_executable_get_info(const tile_executable *executable,
                                              tile_executable_info *info);

/* Launches `grid` programs. params[i] points at the value of the i-th parameter that is no
 * constexpr, as for cuLaunchKernel; the values are read before the call returns. A grid with a zero
 * launches nothing. The device's context need not be current in the calling thread; when it is, the
 * call costs what the driver's costs: nothing is allocated and no lock is taken. The promises of
 * the signature (multiples of 16, values of 1) are the caller's to keep.
 * TILE_ERROR_INVALID_ARGUMENT: `param_count` is not the executable's, or the grid is larger than
 * the driver takes: 2^31 - 1 blocks in x, 65535 in y and in z.
 *
 * A kernel with tensor copies (tile_kernel_info.tensor_map_count) has tensor maps made of its
 * arguments; those of the last launches are kept. TILE_ERROR_TENSOR_MAP: they hold no such base,
 * extent or stride, or the driver is older than CUDA 12.0 and makes none, and nothing was launched;
 * tile_executable_check says more, and a kernel compiled with no_tensor_copies takes any.
 *
 * A persistent kernel (tile_kernel_info.is_persistent) runs at most 2^30 programs in a launch:
 * TILE_ERROR_INVALID_ARGUMENT with more. */
TILE_API tile_status tile_launch(const tile_executable *executable, const uint32_t grid[3],
                                 tile_stream stream, void *const *params, size_t param_count);

/* What a launch is asked for besides its grid; zeros ask for nothing. */
typedef struct tile_launch_options {
    size_t size;
    bool programmatic; /* the launch may begin when each block of the one before it in the stream
                          has called gdc_launch_dependents or ended, not when that launch has ended:
                          programmatic stream serialization. What the kernel reads of launches
                          before it, and whatever they read that it writes, stands behind its
                          gdc_wait (docs/language.md); a kernel without gdc_wait is ordered by
                          nothing. Capability 9.0 */
    bool cooperative;  /* all blocks run at once, or the launch fails: blocks may wait for others */
    uint32_t cluster[3]; /* blocks along each axis that run at once, near each other, 8 at most;
                            0: 1. The grid's blocks have to be a multiple, but those of kernels that
                            are persistent or share blocks, whose number is the launcher's own.
                            Kernels that were compiled with num_ctas have theirs. Capability 9.0 */
} tile_launch_options;

/* As tile_launch, with options, which may be NULL, and diagnostics. TILE_ERROR_NO_DEVICE: the
 * device cannot do what is asked; TILE_ERROR_INVALID_ARGUMENT: the kernel or the grid cannot, such
 * as a cooperative launch of more blocks than the device holds: the diagnostic says how many that
 * are. Nothing was launched then. */
TILE_API tile_status tile_launch_with(const tile_executable *executable, const uint32_t grid[3],
                                      tile_stream stream, void *const *params, size_t param_count,
                                      const tile_launch_options *options,
                                      tile_diagnostics **diagnostics);
/* Whether tensor maps hold these values, which are given as to tile_launch: TILE_OK, or
 * TILE_ERROR_TENSOR_MAP with a diagnostic that names what was found, what was wanted, and the
 * parameters it comes from. TILE_ERROR_INVALID_ARGUMENT: as tile_launch. Nothing is launched. */
TILE_API tile_status tile_executable_check(const tile_executable *executable, void *const *params,
                                           size_t param_count, tile_diagnostics **diagnostics);

/* Functions: compiled when called */

/* Element types: X(name, Triton's name, bytes). */
#define TILE_DTYPES(X)                                                                             \
    X(TILE_I1, "i1", 1)                                                                            \
    X(TILE_I8, "i8", 1)                                                                            \
    X(TILE_I16, "i16", 2)                                                                          \
    X(TILE_I32, "i32", 4)                                                                          \
    X(TILE_I64, "i64", 8)                                                                          \
    X(TILE_U8, "u8", 1)                                                                            \
    X(TILE_U16, "u16", 2)                                                                          \
    X(TILE_U32, "u32", 4)                                                                          \
    X(TILE_U64, "u64", 8)                                                                          \
    X(TILE_FP8E4NV, "fp8e4nv", 1)                                                                  \
    X(TILE_FP8E5, "fp8e5", 1)                                                                      \
    X(TILE_FP16, "fp16", 2)                                                                        \
    X(TILE_BF16, "bf16", 2)                                                                        \
    X(TILE_FP32, "fp32", 4)                                                                        \
    X(TILE_FP64, "fp64", 8)

typedef enum tile_dtype {
    TILE_DTYPE_AUTO, /* of numbers: i32, else i64, else u64 by value; fp32; i1 */
#define TILE_DTYPE_ENUM(name, text, bytes) name,
    TILE_DTYPES(TILE_DTYPE_ENUM)
#undef TILE_DTYPE_ENUM
} tile_dtype;

typedef enum tile_argument_kind {
    TILE_ARGUMENT_POINTER,       /* address, with the type of what it points at */
    TILE_ARGUMENT_INT,           /* integer */
    TILE_ARGUMENT_FLOAT,         /* number */
    TILE_ARGUMENT_CONSTEXPR,     /* text: a Python literal */
    TILE_ARGUMENT_CONSTEXPR_INT, /* integer, without the way through text */
} tile_argument_kind;

typedef struct tile_argument {
    tile_argument_kind kind;
    tile_dtype type;
    union {
        uint64_t address;
        struct {
            uint64_t address;
            uint64_t bytes; /* from there on; 0: not known */
        } memory;           /* of pointers */
        int64_t integer;    /* u64: its bits */
        double number;
        tile_text text;
    } value;
} tile_argument;

static inline tile_argument tile_pointer(uint64_t address, tile_dtype element) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_POINTER;
    argument.type = element;
    argument.value.memory.address = address;
    argument.value.memory.bytes = 0;
    return argument;
}
/* A pointer to memory of a known size, which functions that are tuned need to know of what they
 * reset or put back between runs. */
static inline tile_argument tile_buffer(uint64_t address, tile_dtype element, uint64_t bytes) {
    tile_argument argument = tile_pointer(address, element);
    argument.value.memory.bytes = bytes;
    return argument;
}
static inline tile_argument tile_int(int64_t value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_INT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.integer = value;
    return argument;
}
static inline tile_argument tile_float(double value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_FLOAT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.number = value;
    return argument;
}
static inline tile_argument tile_constexpr(tile_text literal) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_CONSTEXPR;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.text = literal;
    return argument;
}
static inline tile_argument tile_constexpr_int(int64_t value) {
    tile_argument argument;
    argument.kind = TILE_ARGUMENT_CONSTEXPR_INT;
    argument.type = TILE_DTYPE_AUTO;
    argument.value.integer = value;
    return argument;
}

/* A pointer to what a DLPack tensor holds, as torch, JAX, NumPy and others hand them out: address
 * (data and byte_offset), element type, and the size where its elements fill one stretch of memory,
 * in whatever order of the dimensions; of others, such as slices, it is not known. `tensor` is a
 * `const DLTensor *` of dlpack.h, of any version: include that yourself, its structures have no
 * tags that could be declared here. It is read during the call, and nothing is kept of it; its
 * memory must stay, and belong to it, until launches with the argument have run: who has a
 * DLManagedTensor calls its deleter behind them. Order with other streams is the caller's.
 *
 * TILE_ERROR_INVALID_ARGUMENT, with a diagnostic: elements that no kernel has (complex numbers,
 * several lanes, less than a byte), memory that is neither this device's (kDLCUDA) nor managed nor
 * pinned (kDLCUDAManaged, kDLCUDAHost), a shape that is none, elements without memory. Any thread;
 * where nothing is wrong the call takes no memory and no lock. */
TILE_API tile_status tile_argument_from_dlpack(tile_device *device, const void *tensor,
                                               tile_argument *argument,
                                               tile_diagnostics **diagnostics);

enum { TILE_MAX_ARGUMENTS = 256 };

/* Reads and parses the source. `options` as for tile_compile; signature, types and target stay
 * empty, constexprs given here hold for every call, and so does the cancellation: from its request
 * on, calls that would have to compile end with TILE_ERROR_CANCELLED. The context must outlive the
 * function. */
TILE_API tile_status tile_function_create(tile_context *context,
                                          const tile_compile_options *options,
                                          tile_function **function, tile_diagnostics **diagnostics);
TILE_API void tile_function_destroy(tile_function *function);

/* Calls the function: one argument for each parameter that the options did not set, in order; those
 * behind the last one without a default may be left out. The instance for these types and values is
 * looked up without a lock; when it is missing it is taken from the cache or compiled, and other
 * threads that need the same one meanwhile wait. It is specialised as Triton does, on pointers and
 * integers that are multiples of 16 and integers equal to 1, and on integers equal to an integer
 * constexpr, of the call or of the options, that is at least 16: where a row's length is BLOCK, its
 * masks go away. What @triton.jit is told not to specialise on is not.
 *
 * Parameters that @triton.heuristics set are no arguments of the call, and neither are those that
 * the options' constexprs set, which win; docs/language.md says which lambdas are evaluated.
 * Nor are those that @triton.autotune sets: the first call of each key measures its configurations,
 * by many launches with these arguments on this stream, and waits for them; docs/tuning.md.
 *
 * `grid` may be NULL where the options say one.
 *
 * Arguments that the tensor maps of an instance cannot hold, such as a stride of 0, are launched by
 * its other form, without tensor copies, which is made when it is first needed (a remark says why)
 * and kept.
 *
 * TILE_ERROR_INVALID_ARGUMENT, with a diagnostic: too few or too many arguments, or one whose kind
 * or type does not go together. */
TILE_API tile_status tile_function_launch(tile_function *function, tile_device *device,
                                          const uint32_t grid[3], tile_stream stream,
                                          const tile_argument *arguments, size_t argument_count,
                                          tile_diagnostics **diagnostics);
/* The same with options, as tile_launch_with; they may be NULL. */
TILE_API tile_status tile_function_launch_with(tile_function *function, tile_device *device,
                                               const uint32_t grid[3], tile_stream stream,
                                               const tile_argument *arguments,
                                               size_t argument_count,
                                               const tile_launch_options *options,
                                               tile_diagnostics **diagnostics);
/* The instance that such a call would use, compiled if needed; it belongs to the function. It is
 * the form with tensor copies, if there are two. */
TILE_API tile_status tile_function_instance(tile_function *function, tile_device *device,
                                            const tile_argument *arguments, size_t argument_count,
                                            const tile_executable **executable,
                                            tile_diagnostics **diagnostics);

/* Bundles: kernels compiled ahead of time, all in one file; docs/ahead-of-time.md.
 *
 * What is declared here can be done without a compiler: libtilec-run has the functions of this
 * header but tile_compile, tile_prewarm, tile_function_create and those of cancellations and kernel
 * lists, and links nothing but the C library; of a context's options it uses cuda_library and
 * memory_limit. */

typedef struct tile_bundle_options {
    size_t size;
    tile_text path;   /* the file; with `data` given, only its name in messages */
    const void *data; /* NULL: `path` is read */
    size_t data_size; /* `data` must stay, unchanged, until the bundle is closed; it is copied
                         unless it begins at a multiple of 64 */
    tile_text sha256; /* 64 hexadecimal digits of the content that is wanted; empty: any */
} tile_bundle_options;

typedef struct tile_bundle_info {
    size_t size;
    size_t variant_count;
    tile_text sha256; /* of the content, as its writer signed it */
} tile_bundle_info;

/* One way in which a kernel was compiled. */
typedef struct tile_variant_info {
    size_t size;
    tile_text path;                          /* of the source, as it was named */
    int32_t num_warps, num_stages, num_ctas; /* asked for; 0: chosen by the compiler */
    bool is_other_form; /* without tensor copies, for arguments that tensor maps cannot hold */
} tile_variant_info;

/* Opens and checks a bundle: TILE_ERROR_FILE if it cannot be read, TILE_ERROR_BUNDLE with a
 * diagnostic if it is damaged, of another version, or not the one with this SHA-256. Nothing is
 * loaded on a device. */
TILE_API tile_status tile_bundle_open(tile_context *context, const tile_bundle_options *options,
                                      tile_bundle **bundle, tile_diagnostics **diagnostics);
/* After the functions that were made from it, and before its context. */
TILE_API void tile_bundle_close(tile_bundle *bundle);
TILE_API tile_status tile_bundle_get_info(const tile_bundle *bundle, tile_bundle_info *info);
/* Variant `index`, from 0, in the order of the bundle: its kernel, which belongs to the bundle and
 * which tile_kernel_get_info, _get_param, _get_output and tile_load take as one that was compiled;
 * `info` may be NULL. */
TILE_API tile_status tile_bundle_get_variant(const tile_bundle *bundle, size_t index,
                                             const tile_kernel **kernel, tile_variant_info *info);

/* A function as tile_function_create makes it, whose instances are variants of the bundle: nothing
 * is ever compiled, and tile_function_launch gives TILE_ERROR_NO_VARIANT, with a diagnostic that
 * names the argument and what is there, where none fits the call.
 *
 * Of `options` the kernel counts (empty: the bundle's only one), the path, as the source was named
 * (empty: any), the constexprs, which hold for every call, num_warps, num_stages and num_ctas (0:
 * any), plain_abi and no_tensor_copies, which want variants compiled so; with anything else set it
 * is TILE_ERROR_INVALID_ARGUMENT.
 *
 * A variant fits that runs on the device, has the call's types and constexprs, and promises nothing
 * that the arguments do not keep; of several the device's own code counts, before code of an
 * earlier chip and PTX, then what promises most (an integer's value most, then multiples of 16,
 * then of 8), then the first in the bundle. Arguments that tensor maps cannot hold get a variant
 * without tensor copies. */
TILE_API tile_status tile_bundle_function(tile_bundle *bundle, const tile_compile_options *options,
                                          tile_function **function, tile_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif
#endif
