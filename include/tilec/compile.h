/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiling kernels: options, cancellations, lists of kernels, manifests, and what a
 * kernel says of itself. */
#ifndef TILEC_COMPILE_H
#define TILEC_COMPILE_H
#include "base.h"
#include "units.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    bool tune_generated;    /* of a function without configurations, or with `tune`: launches of
                               other warps and stages than the compiler's are configurations, too */
    const tile_named
        *tune; /* of a function: configurations in the place of the source's. Parameters
                  or num_warps, num_stages, num_ctas, maxnreg, and the values to try,
                  {"BLOCK", "[64, 128]"}: all combinations; docs/tuning.md */
    size_t tune_count;
    const tile_unit *units; /* instead of path, source, files, read_file and search_paths: the
                               kernel is the first, and what it calls is in the list. Values of
                               constexprs are literals of units, see tile_binding. A list that is
                               wrong is TILE_ERROR_INVALID_ARGUMENT, with a diagnostic */
    size_t unit_count;
    tile_evaluate evaluate; /* for bindings that want it; not with `isolated`. NULL: none */
    void *evaluate_user;
    bool no_fp_fusion;      /* round each product before something is added to it: a*b + c is two
                               roundings, as on this machine, where it is one instruction otherwise */
    bool sanitize_overflow; /* assert that +, - and * of integers of less than 64 bits do not
                               overflow, whatever `debug` is */
    bool no_ftz;            /* exponentials of fp32 keep subnormal arguments and results */
    tile_text entry_name;   /* what the kernel is called in its code and its facts: letters, digits
                               and underscores, no digit first; empty: as its function */
    bool deterministic;     /* results are the same bits with any number of warps and stages, and on
                               all targets of one family; what cannot keep that is an error at its
                               line: docs/deterministic.md. The environment can ask for it, too:
                               TILEC_DETERMINISTIC=1 */
    int32_t language; /* the version of Triton whose meaning constructs have that changed, 36 for
                         3.6, from 32 to 39; what came later is an error. 0: what the environment
                         asks for, TILEC_LANGUAGE=3.6, else as docs/language.md says,
                         "Versions". Another one is TILE_ERROR_INVALID_ARGUMENT */
    bool in_place;    /* two arguments may be one array: the form that keeps the order of what goes
                         through them, which functions make of themselves where a call needs it; see
                         tile_launch */
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
    tile_text manifest; /* the whole request, as tile_prewarm takes it; of units empty */
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
    size_t param_count;      /* of the source, constexprs included; see tile_param_info */
    size_t tensor_map_count; /* of 128 bytes each, after all other parameters; docs/runtime.md */
    bool is_persistent; /* three i32, the logical grid, follow the parameters; docs/runtime.md */
    bool plain_abi;     /* compiled as tile_compile_options.plain_abi says */
    size_t apart_count; /* pairs of pointers that are taken to be apart: "apart" of
                           TILE_OUTPUT_META; see tile_launch */
} tile_kernel_info;

/* Of a tuple each item, "x.0", and of a descriptor each part, "x.ptr", "x.shape.1", "x.strides.1",
 * "x.block", "x.padding", is a parameter by itself; an empty tuple is the constexpr (). */
typedef struct tile_param_info {
    size_t size;
    tile_text name;
    tile_text type;    /* "*fp32", "i32"; of a constexpr its value as a Python literal */
    bool is_constexpr; /* not passed at launch */
    bool is_fixed;     /* compiled for the value `fixed`, which the launch must pass */
    int64_t divisible; /* the launch promises a multiple of this */
    int64_t fixed;
    bool is_written; /* a pointer through which the kernel may write: by a store or an atomic
                        operation on it, or on pointers that may come from anywhere */
} tile_param_info;

/* `info->size` must be set. */
TILE_API tile_status tile_kernel_get_info(const tile_kernel *kernel, tile_kernel_info *info);
TILE_API tile_status tile_kernel_get_param(const tile_kernel *kernel, size_t index,
                                           tile_param_info *info);
/* Empty when it was not wanted. */
TILE_API tile_text tile_kernel_get_output(const tile_kernel *kernel, tile_output output);

/* A kernel as bytes, for other processes and later: what is known of it and its outputs,
 * compressed, with a checksum. `*size` is the room at `bytes`, and then what the kernel takes;
 * TILE_ERROR_INVALID_ARGUMENT where that is more, and nothing was written. `bytes` NULL asks for
 * the size. */
TILE_API tile_status tile_kernel_pack(const tile_kernel *kernel, void *bytes, size_t *size);
/* The kernel again, which keeps nothing of the bytes. TILE_ERROR_INVALID_ARGUMENT, with a
 * diagnostic: they are damaged, or no such. A checksum is no signature: whoever made the bytes has
 * made code that this process loads. */
TILE_API tile_status tile_kernel_unpack(tile_context *context, const void *bytes, size_t size,
                                        tile_kernel **kernel, tile_diagnostics **diagnostics);

#ifdef __cplusplus
}
#endif
#endif
