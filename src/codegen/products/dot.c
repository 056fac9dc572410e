/* dot: by tensor cores in matrix.c, without them by fused multiply-adds from registers.
 *
 * Contract with the layouts without tensor cores: where a thread holds acc[.., m, n] it holds a[..,
 * m, k] and b[.., k, n] for every k in its registers. That is, the lane and warp bases of a are
 * those of acc without the bits of n and with zero bits for k, those of b likewise without the bits
 * of m, and all bits of k are register bits.
 *
 * f16, bf16 and f8 operands are widened and summed in f32, i8 in i32; the sum is rounded once to
 * the accumulator. */
#include "codegen/lowerings.h"
#include "codegen/tile/convert.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "support/bits.h"

/* Index bits of the last two dimensions; batch dimensions lie above. */
typedef struct DotShape {
    int m, n, k;
} DotShape;

/* The element of a (row m, column 0) and of b (row 0, column n) that goes with an element of acc.
 */
static uint32_t index_in_a(const DotShape *s, uint32_t acc) {
    uint32_t m = acc >> s->n & ((1u << s->m) - 1), batch = acc >> (s->n + s->m);
    return batch << (s->m + s->k) | m << s->k;
}

static uint32_t index_in_b(const DotShape *s, uint32_t acc) {
    uint32_t n = acc & ((1u << s->n) - 1), batch = acc >> (s->n + s->m);
    return batch << (s->n + s->k) | n;
}

static bool threads_agree(const DotShape *s, const Layout *operand, const Layout *acc,
                          uint32_t (*project)(const DotShape *, uint32_t)) {
    if (layout_thread_bits(operand) != layout_thread_bits(acc))
        return false;
    for (int bit = 0; bit < layout_thread_bits(acc); bit++)
        if (layout_thread_basis(operand, bit) != project(s, layout_thread_basis(acc, bit)))
            return false;
    return true;
}

/* Operands as they are multiplied. */
static Lv *widen_operand(Cg *cg, const Op *op, uint32_t index) {
    const Type *type = op_in(op, index)->type;
    Lv *in = cg_in(cg, op, index), *out = ARENA_ARRAY(cg->arena, Lv, cg_count(type));
    const Plan *plan = cg_plan(cg, type->layout);
    for (uint32_t reg = 0; reg < cg_count(type); reg++) {
        if (plan->rep[reg] != reg)
            out[reg] = out[plan->rep[reg]];
        else if (type->dtype == DT_F64)
            out[reg] = in[reg];
        else if (type_is_int(type))
            out[reg] = LLVMBuildSExt(cg->b, in[reg], cg->t_i32, "");
        else
            out[reg] = cg_to_f32(cg, type->dtype, in[reg]);
    }
    return out;
}

static Lv multiply_add(Cg *cg, Lv a, Lv b, Lv sum) {
    LLVMTypeRef type = LLVMTypeOf(sum);
    if (type == cg->t_i32)
        return LLVMBuildAdd(cg->b, LLVMBuildMul(cg->b, a, b, ""), sum, "");
    return cg_intrinsic(cg, "llvm.fma", &type, 1, (Lv[]){a, b, sum}, 3);
}

static void lower_multiply_adds(Cg *cg, const Op *op) {
    const Type *a = op_in(op, 0)->type, *b = op_in(op, 1)->type, *acc = op_in(op, 2)->type;
    const Layout *la = a->layout, *lb = b->layout, *lacc = acc->layout;
    int rank = acc->rank;
    DotShape s = {log2_exact(acc->shape[rank - 2]), log2_exact(acc->shape[rank - 1]),
                  log2_exact(a->shape[rank - 1])};
    Lv *out = cg_new(cg, &op->out[0]), *sum = cg_in(cg, op, 2);
    const uint32_t *find_a = cg_registers_by_image(cg, la), *find_b = cg_registers_by_image(cg, lb);
    bool ok = threads_agree(&s, la, lacc, index_in_a) && threads_agree(&s, lb, lacc, index_in_b);
    uint32_t ks = 1u << s.k;
    for (uint32_t reg = 0; ok && reg < cg_count(acc); reg++)
        for (uint32_t k = 0; ok && k < ks; k++) {
            uint32_t at = layout_reg_image(lacc, reg);
            ok = find_a[index_in_a(&s, at) | k] && find_b[index_in_b(&s, at) | k << s.n];
        }
    if (!ok) {
        cg->failed = true;
        ctx_diag(cg->ctx, op->span, codegen_dot_layout);
        return;
    }
    Lv *wide_a = widen_operand(cg, op, 0), *wide_b = widen_operand(cg, op, 1);
    const Plan *plan = cg_plan(cg, lacc);
    bool narrow = acc->dtype == DT_F16;
    for (uint32_t reg = 0; reg < plan->count; reg++)
        out[reg] = narrow ? cg_to_f32(cg, DT_F16, sum[reg]) : sum[reg];
    /* k outermost: consecutive operations are independent. */
    for (uint32_t k = 0; k < ks; k++)
        for (uint32_t reg = 0; reg < plan->count; reg++) {
            uint32_t at = layout_reg_image(lacc, reg);
            if (plan->rep[reg] == reg)
                out[reg] =
                    multiply_add(cg, wide_a[find_a[index_in_a(&s, at) | k] - 1],
                                 wide_b[find_b[index_in_b(&s, at) | k << s.n] - 1], out[reg]);
        }
    for (uint32_t reg = 0; reg < plan->count; reg++) {
        if (plan->rep[reg] != reg)
            out[reg] = out[plan->rep[reg]];
        else if (narrow)
            out[reg] = cg_from_f32(cg, DT_F16, out[reg]);
    }
}

void lower_dot(Cg *cg, const Op *op) {
    switch (dot_attrs(op)->unit) {
    case UNIT_MMA:   /* mma.c takes all that it can */
    case UNIT_WGMMA: /* feed-wgmma leaves none */
        cg_unsupported_layout(cg, op);
        return;
    case UNIT_FMA:
    case UNIT_COUNT:
        break;
    }
    lower_multiply_adds(cg, op);
}
