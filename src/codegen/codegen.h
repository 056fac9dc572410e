/* Tile IR with layouts to LLVM IR to PTX.
 *
 * Each tile value becomes one LLVM value per register of its layout; ops.def's elementwise ops are
 * lowered for one element and repeated. A program's threads are `num_warps` warps; with
 * programs_per_cta > 1 a CTA holds that many programs side by side, and program ids come from a
 * hidden last parameter (see KernelMeta). */
#ifndef TILEC_CODEGEN_CODEGEN_H
#define TILEC_CODEGEN_CODEGEN_H
#include "ir/ir.h"
#include "target/kernel_meta.h"

typedef struct CodegenOptions {
    bool line_info;     /* .loc directives; source paths come from the spans */
    bool keep_llvm;     /* fill llvm_before and llvm_after */
    bool no_fp_fusion;  /* a*b + c is two roundings */
    bool no_ftz;        /* exponentials keep subnormals */
    int32_t llvm_level; /* 0: default pipeline of this project; else LLVM's default<On> */
} CodegenOptions;

typedef struct CodegenResult {
    KernelMeta meta;
    Str ptx;                     /* terminated, in ctx->arena */
    Str llvm_before, llvm_after; /* empty unless asked for */
    double build_ms, optimise_ms, emit_ms;
} CodegenResult;

/* False after errors were reported. Thread-safe across contexts: each call has its own LLVM
 * context. */
bool codegen_ptx(Func *func, const CodegenOptions *options, CodegenResult *result);
#endif
