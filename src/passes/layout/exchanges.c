/* What layouts take through shared memory: see layout_rules.h. */
#include "ir/build.h"
#include "passes/layout/layout_rules.h"

const Type *convert_exchanged(Ctx *ctx, const Op *op) {
    if (!convert_crosses_warps(op))
        return NULL;
    const Type *type = op_in(op, 0)->type;
    return type_is_pointer(type) ? type_with_element(ctx, type, TYPE_NUMBER, DT_I64) : type;
}

const Type *reduce_exchanged(Ctx *ctx, const Op *op, uint32_t index) {
    if (!reduce_crossing_bits(op))
        return NULL;
    return reduce_result_type(ctx, op_in(op, index)->type, (int)reduce_attrs(op)->axis,
                              reduce_kept_by_warps(op));
}

Op *dot_operand_source(const Op *dot, int index, bool *transposed) {
    Op *op = op_in(dot, (uint32_t)index)->def;
    *transposed = false;
    for (; op && op->code == OP_transpose; op = op_in(op, 0)->def)
        *transposed = !*transposed;
    return op;
}

bool dot_operand_is_exchanged(const Op *dot, const Op *source) {
    LayoutConversion least = dot_attrs(dot)->unit == UNIT_WGMMA ? CONVERT_SHUFFLES : CONVERT_SHARED;
    return source && source->code == OP_convert_layout &&
           layout_classify(op_out(source)->type->layout, op_in(source, 0)->type->layout) >= least;
}
