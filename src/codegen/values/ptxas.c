#include "codegen/values/ptxas.h"
#include "codegen/values/builder.h"
#include "codegen/values/shuffle.h"

void cg_keep_order(Cg *cg) {
    cg_asm(cg, cg->t_void, "pmevent 0;", "", NULL, 0, ASM_EFFECTS);
}

Lv cg_opaque_zero(Cg *cg) {
    return cg_asm(cg, cg->t_i32,
                  "{ .reg .b32 mask; mov.u32 mask, %lanemask_lt; "
                  "mov.u32 $0, %lanemask_eq; and.b32 $0, $0, mask; }",
                  "=r", NULL, 0, ASM_EFFECTS);
}

void cg_meet_at(Cg *cg, Lv number, unsigned count, unsigned first, int32_t threads) {
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv *is_own = ARENA_ARRAY(cg->arena, Lv, count);
    for (unsigned i = 0; i < count; i++) {
        is_own[i] = LLVMBuildICmp(cg->b, LLVMIntEQ, number, cg_i32(cg, i), "");
        strbuf_printf(&text, "%s@$%u bar.sync %u, %d;", i ? "\n\t" : "", i, first + i,
                      (int)threads);
        strbuf_puts(&constraints, "b,");
    }
    strbuf_puts(&constraints, "~{memory}");
    cg_asm(cg, cg->t_void, strbuf_str(&text).ptr, strbuf_str(&constraints).ptr, is_own, count,
           ASM_CONVERGENT);
}

Lv cg_elect(Cg *cg) {
    Lv all = cg_i32(cg, -1);
    return cg_asm(cg, cg->t_i1, "elect.sync _|$0, $1;", "=b,n", &all, 1, ASM_CONVERGENT);
}

Lv cg_uniform(Cg *cg, Lv number) {
    return cg_shuffle(cg, "idx", number, cg_i32(cg, 0));
}
