/* Options that say which kernel, for which types and values: shared by the commands that compile.
 */
#ifndef TILEC_CLI_KERNEL_OPTIONS_H
#define TILEC_CLI_KERNEL_OPTIONS_H
#include "cli/cli.h"
#include "runtime/compile/compile.h"

typedef struct KernelOptions {
    const char *kernel, *signature, *target, *cache, *ptxas;
    TextList arguments; /* -a NAME=TYPE, for `run` NAME=DATA */
    TextList defines, include, warnings;
    int64_t num_warps, num_stages, num_ctas, max_registers, max_shared, llvm_level, time_limit,
        memory_limit;
    bool no_line_info, no_tensor_copies, no_persistence, plain_abi, debug, check_passes, isolated;
} KernelOptions;

/* Rows for a command whose struct has a member `kernel` of this type; `types` describes -a. */
#define KERNEL_OPTIONS(Struct, a_value, a_help)                                                    \
    {'k',                                                                                          \
     "kernel",                                                                                     \
     OPTION_TEXT,                                                                                  \
     "NAME",                                                                                       \
     "the kernel; not needed when the file has only one",                                          \
     offsetof(Struct, kernel.kernel),                                                              \
     0,                                                                                            \
     0},                                                                                           \
        {'s',                                                                                      \
         "signature",                                                                              \
         OPTION_TEXT,                                                                              \
         "TYPES",                                                                                  \
         "types by position, as Triton's ahead-of-time compiler takes them: '*fp32:16, i32, "      \
         "1024'; ':16' promises a multiple of 16, ':8' of 8, ':1' a value of 1, a literal sets a " \
         "constexpr",                                                                              \
         offsetof(Struct, kernel.signature),                                                       \
         0,                                                                                        \
         0},                                                                                       \
        {'a', "arg", OPTION_LIST, a_value, a_help, offsetof(Struct, kernel.arguments), 0, 0},      \
        {'D',                                                                                      \
         "define",                                                                                 \
         OPTION_LIST,                                                                              \
         "NAME=LITERAL",                                                                           \
         "a constexpr: 64, 1e-6, True, None, 'silu', tl.float16",                                  \
         offsetof(Struct, kernel.defines),                                                         \
         0,                                                                                        \
         0},                                                                                       \
        {'I',                                                                                      \
         "include",                                                                                \
         OPTION_LIST,                                                                              \
         "FOLDER",                                                                                 \
         "where imported files are looked for, after the file's own folder",                       \
         offsetof(Struct, kernel.include),                                                         \
         0,                                                                                        \
         0},                                                                                       \
        {'t',                                                                                      \
         "target",                                                                                 \
         OPTION_TEXT,                                                                              \
         "SM",                                                                                     \
         "compute capability to compile for; default: the GPU that runs it, else sm_90a",          \
         offsetof(Struct, kernel.target),                                                          \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "num-warps",                                                                              \
         OPTION_INT,                                                                               \
         "N",                                                                                      \
         "warps of a program; default: the compiler chooses",                                      \
         offsetof(Struct, kernel.num_warps),                                                       \
         1,                                                                                        \
         32},                                                                                      \
        {0,                                                                                        \
         "num-stages",                                                                             \
         OPTION_INT,                                                                               \
         "N",                                                                                      \
         "stages of software pipelines",                                                           \
         offsetof(Struct, kernel.num_stages),                                                      \
         1,                                                                                        \
         16},                                                                                      \
        {0, "num-ctas", OPTION_INT, "N", "blocks of a cluster", offsetof(Struct, kernel.num_ctas), \
         1, 16},                                                                                   \
        {0,                                                                                        \
         "max-registers",                                                                          \
         OPTION_INT,                                                                               \
         "N",                                                                                      \
         "most registers a thread may use",                                                        \
         offsetof(Struct, kernel.max_registers),                                                   \
         TARGET_MIN_REGISTERS,                                                                     \
         TARGET_MAX_REGISTERS},                                                                    \
        {0,                                                                                        \
         "max-shared",                                                                             \
         OPTION_INT,                                                                               \
         "BYTES",                                                                                  \
         "most shared memory a block may take; default: what the target has",                      \
         offsetof(Struct, kernel.max_shared),                                                      \
         1,                                                                                        \
         1 << 20},                                                                                 \
        {'O',                                                                                      \
         "llvm-level",                                                                             \
         OPTION_INT,                                                                               \
         "N",                                                                                      \
         "run LLVM's own pipeline of this level instead of "                                       \
         "the measured one",                                                                       \
         offsetof(Struct, kernel.llvm_level),                                                      \
         1,                                                                                        \
         3},                                                                                       \
        {0,                                                                                        \
         "no-line-info",                                                                           \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "leave source lines out of PTX and cubin",                                                \
         offsetof(Struct, kernel.no_line_info),                                                    \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "no-tensor-copies",                                                                       \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "use no tensor maps: the form of the kernel for arguments that they cannot hold",         \
         offsetof(Struct, kernel.no_tensor_copies),                                                \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "no-persistence",                                                                         \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "give every program a CTA of its own, or a share of one",                                 \
         offsetof(Struct, kernel.no_persistence),                                                  \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "plain-abi",                                                                              \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "the source's parameters and no others, a CTA for each program: for launchers of others", \
         offsetof(Struct, kernel.plain_abi),                                                       \
         0,                                                                                        \
         0},                                                                                       \
        {'W',                                                                                      \
         "warning",                                                                                \
         OPTION_LIST,                                                                              \
         "NAME",                                                                                   \
         "show the warning, with no-NAME hide it, with error=NAME make it an error",               \
         offsetof(Struct, kernel.warnings),                                                        \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "debug",                                                                                  \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "keep tl.device_assert and assert, which running on the CPU always does",                 \
         offsetof(Struct, kernel.debug),                                                           \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "check-passes",                                                                           \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "hold every pass to its contract while compiling",                                        \
         offsetof(Struct, kernel.check_passes),                                                    \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "cache-dir",                                                                              \
         OPTION_TEXT,                                                                              \
         "FOLDER",                                                                                 \
         "the cache, or 'none'; default: TILEC_CACHE_DIR, "                                        \
         "XDG_CACHE_HOME/tilec, ~/.cache/tilec",                                                   \
         offsetof(Struct, kernel.cache),                                                           \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "isolated",                                                                               \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "compile in a process of its own",                                                        \
         offsetof(Struct, kernel.isolated),                                                        \
         0,                                                                                        \
         0},                                                                                       \
        {0,                                                                                        \
         "memory-limit",                                                                           \
         OPTION_INT,                                                                               \
         "MIB",                                                                                    \
         "what a compilation may take; default: no limit",                                         \
         offsetof(Struct, kernel.memory_limit),                                                    \
         1,                                                                                        \
         1 << 20},                                                                                 \
        {0,                                                                                        \
         "time-limit",                                                                             \
         OPTION_INT,                                                                               \
         "SECONDS",                                                                                \
         "what ptxas, or an isolated compilation, may take before it is stopped; default: 600",    \
         offsetof(Struct, kernel.time_limit),                                                      \
         1,                                                                                        \
         1000000},                                                                                 \
    {                                                                                              \
        0, "ptxas", OPTION_TEXT, "PATH", "the assembler; default: TILEC_PTXAS, CUDA_HOME, PATH",   \
            offsetof(Struct, kernel.ptxas), 0, 0                                                   \
    }

enum { KERNEL_DEFAULT_CAPABILITY = 90 };

/* Splits NAME=TEXT; reports a usage error naming the option otherwise. */
bool cli_split_named(const char *text, const char *option, NamedText *named);

/* Fills a request but for `want`. `capability` is used without --target: 0 stands for
 * KERNEL_DEFAULT_CAPABILITY. STATUS_OK, or the exit status after a message. */
int cli_kernel_request(Ctx *ctx, const KernelOptions *options, const char *path, int capability,
                       Cache *cache, CompileRequest *request);

/* The exit status that stands for the diagnostics' first error. */
int cli_status(const Ctx *ctx);
#endif
