/* What all lowerings of a kernel share.
 *
 * A value of the Tile IR is an array of LLVM values, one per register of its layout (one for
 * scalars). Registers that a layout makes copies of each other hold the same LLVM value. Everything
 * is allocated in the context's arena; LLVM objects die with their context at the end of
 * codegen_ptx. What one lowering alone remembers is in a cache of its own (values/cache.h). */
#ifndef TILEC_CODEGEN_CG_H
#define TILEC_CODEGEN_CG_H
#include "codegen/codegen.h"
#include "codegen/traits.h"
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONST = 4 };

typedef LLVMValueRef Lv;

typedef struct Cg {
    Ctx *ctx;
    Arena *arena;
    Func *func;
    const CodegenOptions *options;
    KernelMeta meta;
    bool has_producer; /* beside the warps that compute */
    KernelTraits traits;
    bool failed;                                     /* an error was reported */
    const Op *(*lower)(struct Cg *cg, const Op *op); /* dispatch_op, for ops that own regions */
    struct Cache *caches;                            /* values/cache.c */

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    struct Guard *guard;  /* llvm/machine.c */
    LLVMDIBuilderRef di;  /* NULL: no source lines are wanted */
    LLVMBuilderRef b;     /* where code goes */
    LLVMBuilderRef entry; /* the end of the entry block, for what every block may use */
    Lv fn;
    LLVMTypeRef t_void, t_i1, t_i8, t_i16, t_i32, t_i64, t_f16, t_bf16, t_f32, t_f64;
    LLVMTypeRef t_global, t_shared, t_generic; /* pointers */

    Lv **regs;             /* by value id */
    struct Plan *plans;    /* of the layouts so far */
    Lv thread, lane, warp; /* i32, within the program; warp is 0 when it has only one */
    Lv slot;               /* i32, which program of the CTA; NULL with one program a CTA */
    Lv cta_thread;         /* i32, within the CTA */
    Lv team;               /* i32, of this warp, behind the producer; NULL with one team */
    Lv program_ids[3];     /* i32; NULL: the CTA's own place in the launch, see programs.c */
} Cg;
#endif
