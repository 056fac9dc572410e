/* Barriers: of a program, a team, a warpgroup. */
#include "codegen/memory/barrier.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/threads.h"
#include "target/wgmma.h"

/* Barrier 1 + slot, chosen by predicates: with a number in a register ptxas would reserve all
 * sixteen barriers. */
static void named_barrier(Cg *cg) {
    int programs = cg->meta.programs_per_cta;
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv *is_slot = ARENA_ARRAY(cg->arena, Lv, (size_t)programs);
    for (int i = 0; i < programs; i++) {
        is_slot[i] = LLVMBuildICmp(cg->b, LLVMIntEQ, cg->slot, cg_i32(cg, i), "");
        strbuf_printf(&text, "%s@$%d bar.sync %d, %d;", i ? "\n\t" : "", i, i + 1,
                      32 * cg->meta.num_warps);
        strbuf_puts(&constraints, "b,");
    }
    strbuf_puts(&constraints, "~{memory}");
    cg_asm(cg, cg->t_void, text.ptr, constraints.ptr, is_slot, (unsigned)programs, ASM_CONVERGENT);
}

/* Barriers 2 and 3 are those of turns. */
static void barrier_of_team(Cg *cg) {
    Lv args[] = {LLVMBuildICmp(cg->b, LLVMIntEQ, cg_team(cg), cg_i32(cg, 0), ""),
                 cg_i32(cg, TARGET_WARP_SIZE * cg->meta.num_warps)};
    cg_asm(cg, cg->t_void, "@$0 bar.sync 1, $1;\n\t@!$0 bar.sync 4, $1;", "b,n,~{memory}", args, 2,
           ASM_CONVERGENT);
}

void cg_barrier(Cg *cg) {
    if (cg->meta.teams > 1) {
        barrier_of_team(cg);
    } else if (func_producer(cg->func)) {
        Lv threads = cg_i32(cg, TARGET_WARP_SIZE * cg->meta.num_warps);
        cg_asm(cg, cg->t_void, "bar.sync 1, $0;", "n,~{memory}", &threads, 1, ASM_CONVERGENT);
    } else if (cg->meta.num_warps == 1) {
        Lv all = cg_i32(cg, -1);
        cg_asm(cg, cg->t_void, "bar.warp.sync $0;", "r,~{memory}", &all, 1, ASM_CONVERGENT);
    } else if (cg->meta.programs_per_cta == 1) {
        cg_asm(cg, cg->t_void, "bar.sync 0;", "~{memory}", NULL, 0, ASM_CONVERGENT);
    } else {
        named_barrier(cg);
    }
}

/* A barrier for each, chosen by predicates; those before are taken otherwise. */
static void barrier_of_warpgroups(Cg *cg) {
    enum { FIRST = 8 };
    unsigned count = (unsigned)(cg->meta.num_warps / WGMMA_WARPS);
    Lv warpgroup = cg_warpgroup(cg), *is_own = ARENA_ARRAY(cg->arena, Lv, count);
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    for (unsigned i = 0; i < count; i++) {
        is_own[i] = LLVMBuildICmp(cg->b, LLVMIntEQ, warpgroup, cg_i32(cg, i), "");
        strbuf_printf(&text, "%s@$%u bar.sync %u, %d;", i ? "\n\t" : "", i, FIRST + i,
                      TARGET_WARP_SIZE * WGMMA_WARPS);
        strbuf_puts(&constraints, "b,");
    }
    strbuf_puts(&constraints, "~{memory}");
    cg_asm(cg, cg->t_void, strbuf_str(&text).ptr, strbuf_str(&constraints).ptr, is_own, count,
           ASM_CONVERGENT);
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
