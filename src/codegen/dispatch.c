/* The table of lowerings, made from ops.def, and elementwise ops register by register. */
#include "codegen/dispatch.h"
#include "codegen/lowerings.h"
#include "codegen/products/mma.h"
#include "codegen/tile/convert.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"

typedef struct Lowering {
    Lv (*emit)(Cg *cg, const Op *op, const Lv *in); /* elementwise ops */
    void (*lower)(Cg *cg, const Op *op);            /* the others */
} Lowering;

static const Lowering lowering[OP_COUNT] = {
#define OP(name, ...) [OP_##name] = {.lower = lower_##name},
#define OP_E(name, ...) [OP_##name] = {.emit = emit_##name},
#define OP_R(name, ...) [OP_##name] = {.lower = lower_##name},
#include "ir/ops.def"
};

/* The other half of a 32-bit product, if it stands in the same block: random numbers take both, and
 * mul.wide gives them by one instruction, which LLVM need not find by reasoning about 64-bit
 * products. */
static const Op *other_half(const Op *op) {
    OpCode wanted = op->code == OP_muli ? OP_mulhui : OP_muli;
    if ((op->code != OP_muli && op->code != OP_mulhui) || op->out[0].type->dtype != DT_I32)
        return NULL;
    /* It uses both operands: one of them may have very many uses. */
    const Use *a = op_in(op, 0)->uses, *b = op_in(op, 1)->uses;
    for (; a && b; a = a->next, b = b->next)
        for (int i = 0; i < 2; i++) {
            const Op *user = i ? b->user : a->user;
            if (user->code == wanted && user->block == op->block &&
                ((op_in(user, 0) == op_in(op, 0) && op_in(user, 1) == op_in(op, 1)) ||
                 (op_in(user, 0) == op_in(op, 1) && op_in(user, 1) == op_in(op, 0))))
                return user;
        }
    return NULL;
}

/* Both results at the first of the two ops. */
static void lower_wide_product(Cg *cg, const Op *op, const Op *other) {
    if (cg->regs[other->out[0].id])
        return;
    const Value *low = op->code == OP_muli ? &op->out[0] : &other->out[0];
    const Value *high = op->code == OP_muli ? &other->out[0] : &op->out[0];
    const Plan *plan = type_is_tile(low->type) ? cg_plan(cg, low->type->layout) : NULL;
    Lv *a = cg_in(cg, op, 0), *b = cg_in(cg, op, 1);
    Lv *lows = cg_new(cg, low), *highs = cg_new(cg, high);
    LLVMTypeRef pair =
        LLVMStructTypeInContext(cg->llvm, (LLVMTypeRef[]){cg->t_i32, cg->t_i32}, 2, false);
    for (uint32_t reg = 0; reg < cg_count(low->type); reg++) {
        if (plan && plan->rep[reg] != reg) {
            lows[reg] = lows[plan->rep[reg]];
            highs[reg] = highs[plan->rep[reg]];
            continue;
        }
        Lv product = cg_asm(cg, pair,
                            "{ .reg .b64 product; mul.wide.u32 product, $2, $3; "
                            "mov.b64 {$0, $1}, product; }",
                            "=r,=r,r,r", (Lv[]){a[reg], b[reg]}, 2, ASM_PURE);
        lows[reg] = LLVMBuildExtractValue(cg->b, product, 0, "");
        highs[reg] = LLVMBuildExtractValue(cg->b, product, 1, "");
    }
}

/* Two registers of a tile at a time, as they follow each other; copies are left out. */
static void lower_by_pairs(Cg *cg, const Op *op) {
    const Value *out = &op->out[0];
    const Plan *plan = cg_plan(cg, out->type->layout);
    Lv *regs = cg_new(cg, out), *in = cg_in(cg, op, 0);
    uint32_t first = UINT32_MAX;
    for (uint32_t reg = 0; reg < cg_count(out->type); reg++) {
        if (plan->rep[reg] != reg)
            continue;
        if (first == UINT32_MAX) {
            first = reg;
            continue;
        }
        Lv pair[2];
        cg_convert_pair(cg, op, (Lv[]){in[first], in[reg]}, pair);
        regs[first] = pair[0];
        regs[reg] = pair[1];
        first = UINT32_MAX;
    }
    if (first != UINT32_MAX)
        regs[first] = lowering[op->code].emit(cg, op, &in[first]);
    for (uint32_t reg = 0; reg < cg_count(out->type); reg++)
        regs[reg] = regs[plan->rep[reg]];
}

/* Operands of one shape and layout, or scalars (the condition of select), register by register. */
static void lower_elementwise(Cg *cg, const Op *op) {
    const Value *out = &op->out[0];
    const Op *other = other_half(op);
    if (other && other_half(other) == op) {
        lower_wide_product(cg, op, other);
        return;
    }
    if (type_is_tile(out->type) && cg_converts_pairs(cg, op)) {
        lower_by_pairs(cg, op);
        return;
    }
    const Plan *plan = type_is_tile(out->type) ? cg_plan(cg, out->type->layout) : NULL;
    Lv *regs = cg_new(cg, out), *in[OP_MAX_FIXED], element[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = cg_in(cg, op, i);
    for (uint32_t reg = 0; reg < cg_count(out->type); reg++) {
        if (plan && plan->rep[reg] != reg) {
            regs[reg] = regs[plan->rep[reg]];
            continue;
        }
        for (uint32_t i = 0; i < op->nin; i++)
            element[i] = in[i][type_is_tile(op_in(op, i)->type) ? reg : 0];
        regs[reg] = lowering[op->code].emit(cg, op, element);
    }
}

static bool fits_registers(Cg *cg, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++) {
        const Type *type = op->out[i].type;
        if (cg_count(type) > MAX_REGISTERS_OF_TILE) {
            cg->failed = true;
            return ctx_diag(cg->ctx, op->span, codegen_registers, (long long)type_numel(type),
                            cg_count(type), (unsigned)MAX_REGISTERS_OF_TILE);
        }
    }
    return true;
}

static void lower_alone(Cg *cg, const Op *op) {
    if (!fits_registers(cg, op))
        for (uint32_t i = 0; i < op->nout; i++)
            cg_new(cg, &op->out[i]);
    else if (lowering[op->code].emit)
        lower_elementwise(cg, op);
    else
        lowering[op->code].lower(cg, op);
}

const Op *dispatch_op(Cg *cg, const Op *op) {
    const Op *last = cg_lower_products(cg, op, lower_alone);
    if (!last)
        lower_alone(cg, op);
    return last ? last : op;
}
