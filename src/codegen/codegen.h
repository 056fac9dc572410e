/* Tile IR with layouts to LLVM IR to PTX.
 *
 * Each tile value becomes one LLVM value per register of its layout; ops.def's elementwise ops are
 * lowered for one element and repeated. A program's threads are `num_warps` warps; with
 * programs_per_cta > 1 a CTA holds that many programs side by side, and program ids come from a
 * hidden last parameter (see KernelMeta). */
#ifndef TILEC_CODEGEN_CODEGEN_H
#define TILEC_CODEGEN_CODEGEN_H
#include "ir/ir.h"
#include "target/target.h"
#include "target/tensor_map.h"

/* What a launcher must know; see docs/runtime.md. */
typedef struct KernelMeta {
    Str name; /* entry symbol */
    const Target *target;
    int32_t num_warps; /* per program */
    int32_t programs_per_cta;
    int32_t teams;    /* of num_warps warps each, which share the programs of a CTA */
    int32_t num_ctas; /* per cluster */
    /* Of a CTA: 32 * num_warps * programs_per_cta * teams, 32 of a producer, beside teams 128. */
    int32_t threads;
    int32_t shared_bytes; /* dynamic shared memory of a CTA */
    /* With programs_per_cta > 1 the launch grid's x is ceil(grid_x / programs_per_cta) and one i32
     * parameter, the logical grid_x, follows the kernel's own. */
    bool has_grid_parameter;
    /* The launch is of CTAs along x, any number of them, which share the programs; three i32
     * parameters, the logical grid's x, y and z, follow the kernel's own. */
    bool is_persistent;
    /* Tensor maps: each is a parameter of 128 bytes, aligned to 64, by value, in this order after
     * all others. */
    TensorMapRecipes tensor_maps;
} KernelMeta;

/* Parameters that hold the logical grid, from x on. */
static inline int meta_grid_parameters(const KernelMeta *meta) {
    return meta->is_persistent ? 3 : meta->has_grid_parameter;
}

typedef struct CodegenOptions {
    bool line_info;     /* .loc directives; source paths come from the spans */
    bool keep_llvm;     /* fill llvm_before and llvm_after */
    int32_t llvm_level; /* 0: default pipeline of this project; else LLVM's default<On> */
    /* Blocks that an SM is to hold at least (.minnctapersm). 0: ptxas weighs registers against
     * occupancy, and may spill a few bytes for it; 1 lets it use all registers: the remedy for such
     * spills. */
    int32_t min_blocks_per_sm;
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
