/* Options that say which kernel, for which types and values: shared by the commands that compile.
 */
#ifndef TILEC_CLI_KERNEL_OPTIONS_H
#define TILEC_CLI_KERNEL_OPTIONS_H
#include "cli/cli.h"
#include "runtime/compile/compile.h"

typedef struct KernelOptions {
    const char *kernel, *entry_name, *signature, *target, *language, *cache, *trusted_caches,
        *remote_cache, *ptxas;
    TextList arguments; /* -a NAME=TYPE, for `run` NAME=DATA */
    TextList defines, include, warnings;
    int64_t num_warps, num_stages, num_ctas, max_registers, max_shared, llvm_level, time_limit,
        compile_limit, memory_limit;
    bool no_line_info, no_fp_fusion, full_paths, no_tensor_copies, no_persistence, in_place,
        plain_abi, debug, sanitize_overflow, no_ftz, deterministic, check_passes, isolated;
} KernelOptions;

/* Notes for the help: what -s, -a, -D and -t take. */
#define KERNEL_TYPES_NOTE                                                                          \
    {                                                                                              \
        "Types",                                                                                   \
            "-s names them by position, as Triton's ahead-of-time compiler takes them: pointers "  \
            "(*fp32), scalars (i32, fp32), and literals, which set constexprs. ':16' promises a "  \
            "multiple of 16, ':8' of 8, ':1' a value of 1. -a and -D name parameters and win "     \
            "over -s; "                                                                            \
            "an annotation in the source or a default value serve where neither says anything."    \
    }
#define TARGETS_NOTE                                                                               \
    {                                                                                              \
        "Targets", "'tilec version' lists them. One with suffix a runs on GPUs of that very "      \
                   "compute capability "                                                           \
                   "(sm_90a: 9.0), others also on those of a later minor number. native is what "  \
                   "runs on the "                                                                  \
                   "GPU of this machine."                                                          \
    }
/* And what `run` and `sim` take for arguments. */
#define DATA_NOTE                                                                                  \
    {                                                                                              \
        "Data", "A scalar is a number, with its type where that is not i32 or fp32 (1e-5:fp64). "  \
                "An array is "                                                                     \
                "made as GENERATOR:TYPE[SIZES]: rand, randn, randint(LOW, HIGH), arange, zeros, "  \
                "ones or "                                                                         \
                "full(VALUE); or it is read: x.npy, @x.npy, or @bf16:x.npy for elements that "     \
                "NumPy has no "                                                                    \
                "type of."                                                                         \
    }

/* Splits NAME=TEXT; reports a usage error naming the option otherwise. */
bool cli_split_named(const char *text, const char *option, NamedText *named);

/* Fills a request but for `want`. `device`: that will run it, or NULL; see
 * choose_target. STATUS_OK, or the exit status after a message. */
int cli_kernel_request(Ctx *ctx, const KernelOptions *options, const char *path,
                       const Device *device, Cache *cache, CompileRequest *request);

/* The exit status that stands for the diagnostics' first error. */
int cli_status(const Ctx *ctx);
/* That stands for the status of a call. */
int cli_exit_status(tile_status status);
/* That stands for an error. */
int cli_status_of_id(DiagId id);
#endif
