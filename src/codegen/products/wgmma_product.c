/* Which products wgmma takes, and by which instruction. */
#include "codegen/products/wgmma_product.h"

static bool operand_of(Cg *cg, const Op *op, uint32_t index, WgmmaOperand *out) {
    bool turned = op_transposed(op) >> (index > 0) & 1;
    out->type = op_in(op, index)->type;
    out->k = (index == 0) ^ turned;
    out->in_registers = out->type->kind != TYPE_BUFFER;
    if (out->in_registers)
        return out->type->layout == wgmma_operand_in_registers(cg->ctx, op->out[0].type, out->type);
    out->offsets = layout_invert(cg->ctx, out->type->layout);
    return wgmma_takes_buffer(cg->ctx, out->type, &out->lies);
}

bool cg_wgmma_operand(Cg *cg, const Op *op, uint32_t index, Panels *out) {
    WgmmaOperand operand = {0};
    bool found = operand_of(cg, op, index, &operand) && !operand.in_registers;
    *out = operand.lies;
    return found;
}

/* Copies of rings with one number, each ring's behind the other's. */
static bool lies_behind(const Value *first, const Value *second) {
    const Op *before = local_alloc_of(first), *after = local_alloc_of(second);
    const Op *view = first->def, *other = second->def;
    bool ring = view->code == OP_local_view;
    bool alike = ring ? other->code == OP_local_view && op_in(view, 1) == op_in(other, 1) &&
                            local_view_attrs(view)->ahead == local_view_attrs(other)->ahead &&
                            local_stride(first) == local_stride(second)
                      : other->code == OP_local_alloc;
    return alike && op_offset(after) == op_offset(before) + local_bytes(first);
}

static bool are_adjacent(Cg *cg, const Op *op, const WgmmaProduct *p) {
    const Type *types[MAX_JOINT_PRODUCTS];
    for (uint32_t i = 0; i < p->count; i++) {
        types[i] = p->b[i].type;
        if (i && !lies_behind(op_in(op, i), op_in(op, 1 + i)))
            return false;
    }
    return wgmma_joins(cg->ctx, p->count, types, p->acc, p->b[0].k);
}

bool wgmma_product_of(Cg *cg, const Op *op, WgmmaProduct *out) {
    *out = (WgmmaProduct){.count = wgmma_products(op)};
    out->adjacent = op_adjacent(op);
    if (!operand_of(cg, op, 0, &out->a))
        return false;
    const Type *a = out->a.type;
    for (uint32_t i = 0; i < out->count; i++) {
        int64_t groups[2];
        const Type *acc = out->acc[i] = op->out[i].type;
        if (!wgmma_grouping(cg->ctx, acc, groups) || !operand_of(cg, op, 1 + i, &out->b[i]) ||
            (i && acc->shape[0] / groups[0] != out->rows) ||
            !wgmma_takes(a->dtype, out->b[i].type->dtype, acc->dtype, cg->func->capability))
            return false;
        out->rows = acc->shape[0] / groups[0];
        out->columns[i] = acc->shape[1] / groups[1];
        out->all_columns += out->columns[i];
    }
    out->depth = a->shape[out->a.k];
    out->k = WGMMA_K_BYTES / type_element_bytes(a);
    return out->depth >= out->k && (!out->adjacent || are_adjacent(cg, op, out));
}

int64_t wgmma_columns_at_once(const WgmmaProduct *p, uint32_t index) {
    int64_t columns = p->adjacent ? p->all_columns : p->columns[index];
    return columns < WGMMA_MAX_N ? columns : WGMMA_MAX_N;
}

void wgmma_put_name(StrBuf *text, const WgmmaProduct *p, uint32_t index) {
    strbuf_printf(text, "m64n%lldk%lld.%s.%s.%s", (long long)wgmma_columns_at_once(p, index),
                  (long long)p->k, type_is_int(p->acc[index]) ? "s32" : "f32",
                  wgmma_type_name(p->a.type->dtype), wgmma_type_name(p->b[index].type->dtype));
}

const char *cg_wgmma_name(Cg *cg, const Op *op, uint32_t product) {
    WgmmaProduct p;
    StrBuf text = strbuf(cg->arena);
    strbuf_puts(&text, "wgmma.");
    if (wgmma_product_of(cg, op, &p))
        wgmma_put_name(&text, &p, product);
    return strbuf_str(&text).ptr;
}
