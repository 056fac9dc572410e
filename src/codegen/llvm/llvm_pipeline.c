/* Which way a kernel goes through LLVM: a pipeline of passes and the level of the back end, by what
 * its code is. docs/codegen.md has the table. */
#include "codegen/llvm/llvm_pipeline.h"
#include "codegen/llvm/anchor_sums.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/respell.h"
#include "codegen/llvm/schedule.h"
#include "codegen/llvm/short_quotients.h"
#include "codegen/llvm/split_blocks.h"
#include "codegen/llvm/stream.h"
#include "target/target.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

/* What default<O3> does beyond this costs several times as much and changed no instruction count of
 * the kernels measured: the IR arrives without allocas, calls or nested address expressions. A
 * second instcombine at the end would narrow accumulators that end in f16 to 16-bit copies of
 * themselves in front of the loop. Remainders whose quotient is there, too, become products and
 * differences: ptxas divides for each. Afterwards NVPTX strength-reduces and rewrites the induction
 * variables of loops. */
static const char pipeline[] =
    "function(early-cse,simplifycfg,instcombine<no-verify-fixpoint>,reassociate,loop-mssa(licm),"
    "separate-const-offset-from-gep,early-cse<memssa>,simplifycfg,div-rem-pairs,adce),globaldce";

/* Without loops ptxas finds all but two things itself: reassociation, which keeps what a row shares
 * out of registers of every element, and immediate offsets of accesses. This and selection without
 * combining take half of the time, for the same number of instructions and registers. */
static const char straight_pipeline[] =
    "function(early-cse,simplifycfg,reassociate,instsimplify,early-cse<memssa>,"
    "separate-const-offset-from-gep,early-cse,div-rem-pairs,adce),globaldce";

/* Where tensor copies and descriptors have taken the place of addresses, what is left for LLVM is
 * to share constants and numbers of threads between ops and to move them out of loops: a sixth of
 * the time of the passes above and of the back end that goes with them. ptxas combines and
 * schedules the same arithmetic in the same number of instructions. */
static const char plain_pipeline[] =
    "function(early-cse,simplifycfg,loop-mssa(licm),"
    "separate-const-offset-from-gep,simplifycfg,div-rem-pairs,adce),globaldce";

/* Instructions from which on a function counts as large. With loops that is where strength
 * reduction, which compares the addresses and indices of a loop with each other, takes longer than
 * all else; as it does where a loop carries more values than a thread's registers hold, of 16 bits
 * even. */
enum { LARGE_STRAIGHT_CODE = 600, LARGE_CODE_WITH_LOOPS = 8192, MANY_CARRIED = 512 };

/* Of a function behind LLVM's passes, from which on the proofs about them, which grow with the
 * square of their number, take longest. Products of warps have more of them than those of
 * warpgroups, beside which fewer frozen sums leave ptxas more room. */
enum { MANY_ADDRESSES = 256, MANY_ADDRESSES_OF_WARPS = 160 };

static unsigned many_addresses(const Cg *cg) {
    bool has_warpgroups = target_has(cg->func->capability, FEATURE_WGMMA);
    return has_warpgroups ? MANY_ADDRESSES : MANY_ADDRESSES_OF_WARPS;
}

static bool is_loop(Op *op, void *user) {
    return !op_has(op, LOOP);
}

typedef struct CodeSize {
    unsigned instructions, addresses;
    unsigned carried; /* into one block, most */
} CodeSize;

static CodeSize size_of_code(const Cg *cg) {
    CodeSize size = {0};
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block)) {
        unsigned phis = 0;
        for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst)) {
            phis += LLVMGetInstructionOpcode(inst) == LLVMPHI;
            size.addresses += LLVMGetInstructionOpcode(inst) == LLVMGetElementPtr;
            size.instructions++;
        }
        size.carried = phis > size.carried ? phis : size.carried;
    }
    return size;
}

/* What the lowerings built, checked where assertions are: that takes a thirtieth of a
 * compilation. */
static bool verify(Cg *cg) {
#ifndef NDEBUG
    char *text = NULL;
    if (LLVMVerifyModule(cg->module, LLVMReturnStatusAction, &text))
        return machine_report(cg, text);
    LLVMDisposeMessage(text);
#endif
    return true;
}

/* How a function goes through LLVM, and the level of the back end. */
typedef struct Route {
    const char *passes;
    LLVMCodeGenOptLevel back_end;
} Route;

static Route route_of(Cg *cg, char *level, size_t size) {
    if (cg->options->llvm_level) {
        snprintf(level, size, "default<O%d>", cg->options->llvm_level);
        return (Route){level, LLVMCodeGenLevelDefault};
    }
    if (cg->traits.products_are_fed)
        return (Route){cg->traits.has_few_pointers ? plain_pipeline : pipeline,
                       LLVMCodeGenLevelNone};
    bool straight = func_walk(cg->func, is_loop, NULL);
    CodeSize code = size_of_code(cg);
    if (straight && code.instructions >= LARGE_STRAIGHT_CODE)
        return (Route){straight_pipeline, LLVMCodeGenLevelNone};
    bool large = code.instructions >= LARGE_CODE_WITH_LOOPS || code.carried > MANY_CARRIED;
    return (Route){pipeline, large ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault};
}

/* The one place where LLVM's passes run. They need the NVPTX machine: only it tells them that
 * threads of a warp may branch apart, without which jump threading and its like take what is to be
 * executed together apart. */
static bool run_passes(Cg *cg, LLVMTargetMachineRef machine, const char *passes) {
    if (!machine)
        return ctx_diag(cg->ctx, cg->func->span, llvm_error, "passes without a target machine");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(cg->module, passes, machine, options);
    LLVMDisposePassBuilderOptions(options);
    machine_leave_if_due(cg);
    if (!error)
        return true;
    char *message = LLVMGetErrorMessage(error), copy[512];
    snprintf(copy, sizeof copy, "%s", message);
    LLVMDisposeErrorMessage(message);
    return ctx_diag(cg->ctx, cg->func->span, llvm_error, copy);
}

bool llvm_pipeline_run(Cg *cg) {
    machine_leave_if_due(cg);
    if (!verify(cg))
        return false;
    char level[16];
    Route route = route_of(cg, level, sizeof level);
    if (route.back_end != LLVMCodeGenLevelDefault && !machine_set_level(cg, route.back_end))
        return false;
    if (!run_passes(cg, cg->machine, route.passes))
        return false;
    schedule_function(cg);
    stream_function(cg);
    if (route.back_end == LLVMCodeGenLevelDefault)
        anchor_sums(cg, size_of_code(cg).addresses >= many_addresses(cg));
    short_quotients(cg);
    respell(cg);
    split_blocks(cg);
    return true;
}
