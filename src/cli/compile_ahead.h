/* `tilec compile` of many variants: to a bundle, or to C. */
#ifndef TILEC_CLI_COMPILE_AHEAD_H
#define TILEC_CLI_COMPILE_AHEAD_H
#include "cli/kernel_options.h"

/* Behind the kinds of outputs.def. */
typedef enum AheadKind { AHEAD_BUNDLE = OUTPUT_COUNT, AHEAD_C, AHEAD_TVM_FFI } AheadKind;

typedef struct AheadOptions {
    const KernelOptions *kernel;
    const char *input, *output; /* a manifest or a source; NULL: standard output */
    AheadKind kind;
    int64_t jobs;
    bool json;
} AheadOptions;

/* Whether the file is a manifest, by its name. */
bool ahead_is_manifest(const char *path);
/* The exit status. */
int ahead_compile(Ctx *ctx, const AheadOptions *options);
#endif
