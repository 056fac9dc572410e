/* Barriers: of a program, a team, a warpgroup. */
#include "codegen/memory/barrier.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/threads.h"
#include "target/wgmma.h"

/* Barriers 2 and 3 are those of turns. */
static void barrier_of_team(Cg *cg) {
    Lv args[] = {LLVMBuildICmp(cg->b, LLVMIntEQ, cg_team(cg), cg_i32(cg, 0), ""),
                 cg_i32(cg, TARGET_WARP_SIZE * cg->func->num_warps)};
    cg_asm(cg, cg->t_void, "@$0 bar.sync 1, $1;\n\t@!$0 bar.sync 4, $1;", "b,n,~{memory}", args, 2,
           ASM_CONVERGENT);
}

void cg_barrier(Cg *cg) {
    if (cg->func->one_thread)
        return;
    if (cg->meta.teams > 1) {
        barrier_of_team(cg);
    } else if (cg->has_producer) {
        Lv threads = cg_i32(cg, TARGET_WARP_SIZE * cg->func->num_warps);
        cg_asm(cg, cg->t_void, "bar.sync 1, $0;", "n,~{memory}", &threads, 1, ASM_CONVERGENT);
    } else if (cg->func->num_warps == 1) {
        Lv all = cg_i32(cg, -1);
        cg_asm(cg, cg->t_void, "bar.warp.sync $0;", "r,~{memory}", &all, 1, ASM_CONVERGENT);
    } else if (cg->meta.programs_per_cta == 1) {
        cg_asm(cg, cg->t_void, "bar.sync 0;", "~{memory}", NULL, 0, ASM_CONVERGENT);
    } else {
        cg_meet_at(cg, cg->slot, (unsigned)cg->meta.programs_per_cta, 1,
                   TARGET_WARP_SIZE * cg->func->num_warps);
    }
}

/* A barrier for each; those before are taken otherwise. */
static void barrier_of_warpgroups(Cg *cg) {
    enum { FIRST = 8 };
    unsigned count = (unsigned)(cg->func->num_warps / WGMMA_WARPS);
    cg_meet_at(cg, cg_warpgroup(cg), count, FIRST, TARGET_WARP_SIZE * WGMMA_WARPS);
}

/* What threads did to shared memory, asynchronous copies that landed included, reaches wgmma and
 * tensor copies through another proxy: each thread orders that before others go on. */
void lower_barrier(Cg *cg, const Op *op) {
    if (barrier_attrs(op)->proxy)
        cg_asm(cg, cg->t_void, "fence.proxy.async.shared::cta;", "~{memory}", NULL, 0, ASM_EFFECTS);
    if (barrier_attrs(op)->warpgroups)
        barrier_of_warpgroups(cg);
    else
        cg_barrier(cg);
}

/* By each thread: the one that starts the copies may be any, and is not the one that acquired. A
 * target without tensor copies has none to fence. */
void lower_fence_copies(Cg *cg, const Op *op) {
    if (target_has(cg->func->capability, FEATURE_TENSOR_COPIES))
        cg_asm(cg, cg->t_void, "fence.proxy.async.global;", "~{memory}", NULL, 0, ASM_EFFECTS);
}

/* Where no launch begins before another has ended there is nothing to wait for and nobody to tell.
 * LLVM's intrinsics touch no memory by their declaration, so that loads would cross them. */
static void control_grids(Cg *cg, const char *instruction) {
    if (target_has(cg->func->capability, FEATURE_GRID_DEPENDENCY))
        cg_asm(cg, cg->t_void, instruction, "~{memory}", NULL, 0, ASM_EFFECTS);
}

void lower_grid_wait(Cg *cg, const Op *op) {
    control_grids(cg, "griddepcontrol.wait;");
}

void lower_grid_launch_dependents(Cg *cg, const Op *op) {
    control_grids(cg, "griddepcontrol.launch_dependents;");
}
