/* Thread numbers, the program's place in the CTA, and the end of programs past the grid and of
 * threads that have nothing to do. */
#include "codegen/values/threads.h"
#include "codegen/values/builder.h"
#include "codegen/values/programs.h"
#include "codegen/values/ptxas.h"
#include "target/wgmma.h"

/* The threads of which `runs` is false end here; the others go on in `body`. */
static void end_others(Cg *cg, LLVMBuilderRef b, Lv runs, LLVMBasicBlockRef body) {
    LLVMBasicBlockRef idle = cg_block(cg, "idle");
    LLVMBuildCondBr(b, runs, body, idle);
    LLVMPositionBuilderAtEnd(b, idle);
    LLVMBuildRetVoid(b);
}

/* Before anything else, which they would compute for nothing. */
static void end_idle_warps(Cg *cg, Lv tid) {
    LLVMBasicBlockRef working = cg_block(cg, "working");
    Lv limit = cg_i32(cg, TARGET_WARP_SIZE * cg->func->num_warps);
    end_others(cg, cg->b, LLVMBuildICmp(cg->b, LLVMIntULT, tid, limit, ""), working);
    cg_position(cg, working);
}

void cg_begin_threads(Cg *cg) {
    const KernelMeta *meta = &cg->meta;
    int32_t threads = 32 * cg->func->num_warps, programs = meta->programs_per_cta;
    Lv tid = cg_intrinsic(cg, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, 0, NULL, 0);
    if (cg->func->launched_warps && !cg->func->one_thread)
        end_idle_warps(cg, tid);
    bool is_part = programs > 1 || meta->teams > 1;
    cg->cta_thread = tid;
    cg->thread = is_part ? LLVMBuildAnd(cg->b, tid, cg_i32(cg, threads - 1), "") : tid;
    cg->lane = threads > 32 || is_part ? LLVMBuildAnd(cg->b, tid, cg_i32(cg, 31), "") : tid;
    cg->warp = threads > 32 ? LLVMBuildLShr(cg->b, cg->thread, cg_i32(cg, 5), "") : cg_i32(cg, 0);
    cg_order_programs(cg);
    if (programs == 1)
        return;
    cg->slot = LLVMBuildLShr(cg->b, tid, cg_i32(cg, __builtin_ctz((unsigned)threads)), "");
    Lv cta = cg_cta_id(cg, 0);
    cg->program_ids[0] =
        LLVMBuildAdd(cg->b, LLVMBuildMul(cg->b, cta, cg_i32(cg, programs), ""), cg->slot, "");
}

void cg_end_entry(Cg *cg, LLVMBasicBlockRef body) {
    Lv runs = NULL;
    if (cg->func->one_thread)
        runs = LLVMBuildICmp(cg->entry, LLVMIntEQ, cg->thread, cg_i32(cg, 0), "");
    if (cg->slot) {
        Lv grid_x = LLVMGetParam(cg->fn, cg->func->body->nargs);
        Lv inside = LLVMBuildICmp(cg->entry, LLVMIntULT, cg->program_ids[0], grid_x, "");
        runs = runs ? LLVMBuildAnd(cg->entry, runs, inside, "") : inside;
    }
    if (!runs) {
        LLVMBuildBr(cg->entry, body);
        return;
    }
    end_others(cg, cg->entry, runs, body);
}

Lv cg_team(Cg *cg) {
    return cg->team ? cg->team : cg_i32(cg, 0);
}

Lv cg_warpgroup(Cg *cg) {
    return LLVMBuildLShr(cg->b, cg_uniform(cg, cg->warp), cg_i32(cg, __builtin_ctz(WGMMA_WARPS)),
                         "");
}
