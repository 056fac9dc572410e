/* Which program a CTA runs: the place that the launch gives it, or with last_first and in_sections
 * another one.
 *
 * A launch starts CTAs x first, then y, then z. Where programs are the longer the higher their x
 * (causal attention: blocks of queries), those with the highest x start first, and in a section of
 * neighbours along y and z those of all neighbours, so that the launch ends with short ones. A
 * section has 512 programs of 8 warps, a few for each processor: its end is what the whole launch
 * ends with, and what neighbours load (keys and values of a head) does not pass through the L2
 * cache once for each x.
 *
 *     neighbour = cy + ny * cz                    G = 2^k: the most with G * nx <= 512
 *     first = neighbour & -G                      of the section,
 *     count = min(G, ny * nz - first)             which has so many
 *     at = cx + nx * (neighbour - first)          the CTA's number in the section
 *     x = nx - 1 - at / count         (at / count where the lowest x has the longest programs)
 *     y + ny * z = first + at % count
 *
 * A permutation of the grid, whatever its size. Along y and z the last program is just the first to
 * start. */
#include "codegen/values/programs.h"
#include "codegen/values/builder.h"
#include <stdio.h>

enum { SECTION_WARPS = 12 }; /* log2 */

static Lv special_register(Cg *cg, const char *name, int64_t axis) {
    char text[64];
    snprintf(text, sizeof text, "llvm.nvvm.read.ptx.sreg.%s.%c", name, "xyz"[axis]);
    return cg_intrinsic(cg, text, NULL, 0, NULL, 0);
}

Lv cg_cta_id(Cg *cg, int64_t axis) {
    return special_register(cg, "ctaid", axis);
}

Lv cg_cta_count(Cg *cg, int64_t axis) {
    return special_register(cg, "nctaid", axis);
}

static Lv from_last(Cg *cg, int64_t axis, Lv at) {
    return LLVMBuildSub(cg->b, LLVMBuildSub(cg->b, cg_cta_count(cg, axis), cg_i32(cg, 1), ""), at,
                        "");
}

static bool note_axis(Op *op, void *user) {
    int *axes = user;
    if (op->code == OP_program_id && program_id_attrs(op)->axis >= *axes)
        *axes = (int)program_id_attrs(op)->axis + 1;
    return true;
}

/* log2 of the neighbours in a section: of 2^budget programs, `tall` of each of them. */
static Lv log_neighbours(Cg *cg, Lv tall, int budget) {
    LLVMBuilderRef b = cg->b;
    Lv args[] = {LLVMBuildSub(b, tall, cg_i32(cg, 1), ""), cg_i1(cg, false)};
    Lv zeros = cg_intrinsic(cg, "llvm.ctlz", &cg->t_i32, 1, args, 2);
    Lv spare = LLVMBuildSub(b, zeros, cg_i32(cg, 32 - budget), "");
    return cg_intrinsic2(cg, "llvm.smax", spare, cg_i32(cg, 0));
}

/* at / count, both less than 2^16. */
static Lv short_quotient(Cg *cg, Lv at, Lv count) {
    Lv short_at = LLVMBuildTrunc(cg->b, at, cg->t_i16, "");
    Lv short_count = LLVMBuildTrunc(cg->b, count, cg->t_i16, "");
    return LLVMBuildZExt(cg->b, LLVMBuildUDiv(cg->b, short_at, short_count, ""), cg->t_i32, "");
}

/* Sections of neighbours along the axes from y on that the function asks for. */
static void order_in_sections(Cg *cg, int axes, Lv *ids) {
    LLVMBuilderRef b = cg->b;
    int budget = SECTION_WARPS - __builtin_ctz((unsigned)cg->func->num_warps);
    Lv tall = cg_cta_count(cg, 0), wide = cg_cta_count(cg, 1);
    Lv neighbour = ids[1], neighbours = wide;
    if (axes > 2) {
        neighbour = LLVMBuildAdd(b, neighbour, LLVMBuildMul(b, ids[2], wide, ""), "");
        neighbours = LLVMBuildMul(b, wide, cg_cta_count(cg, 2), "");
    }
    Lv log = log_neighbours(cg, tall, budget), most = LLVMBuildShl(b, cg_i32(cg, 1), log, "");
    Lv first = LLVMBuildAnd(b, neighbour, LLVMBuildNeg(b, most, ""), "");
    Lv count = cg_intrinsic2(cg, "llvm.umin", most, LLVMBuildSub(b, neighbours, first, ""));
    Lv before = LLVMBuildMul(b, tall, LLVMBuildSub(b, neighbour, first, ""), "");
    Lv at = LLVMBuildAdd(b, ids[0], before, "");
    Lv alone = LLVMBuildICmp(b, LLVMIntEQ, log, cg_i32(cg, 0), "");
    Lv round = LLVMBuildSelect(b, alone, at, short_quotient(cg, at, count), "");
    Lv gone = LLVMBuildMul(b, round, count, "");
    Lv chosen = LLVMBuildSub(b, LLVMBuildAdd(b, first, at, ""), gone, "");
    ids[0] = cg->func->last_first & 1 ? from_last(cg, 0, round) : round;
    ids[1] = chosen;
    if (axes > 2) {
        ids[2] = LLVMBuildUDiv(b, chosen, wide, "");
        ids[1] = LLVMBuildSub(b, chosen, LLVMBuildMul(b, ids[2], wide, ""), "");
    }
}

void cg_order_programs(Cg *cg) {
    const Func *func = cg->func;
    int axes = 1;
    if (!func->last_first && !func->in_sections)
        return;
    func_walk(cg->func, note_axis, &axes);
    for (int axis = 0; axis < 3; axis++)
        cg->program_ids[axis] = cg_cta_id(cg, axis);
    bool in_sections = func->in_sections && axes > 1;
    if (in_sections)
        order_in_sections(cg, axes, cg->program_ids);
    for (int axis = in_sections; axis < 3; axis++)
        if (func->last_first >> axis & 1)
            cg->program_ids[axis] = from_last(cg, axis, cg->program_ids[axis]);
}

Lv cg_program_id(Cg *cg, int64_t axis) {
    return cg->program_ids[axis] ? cg->program_ids[axis] : cg_cta_id(cg, axis);
}
