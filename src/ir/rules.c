/* Result rules of constants, shape changes and elementwise ops, and the reports all rules share.
 *
 * A rule sees types with layouts or without: before layouts are chosen every layout is NULL, and
 * comparing layouts compares NULL with NULL. Whatever a rule allocates for a message or a
 * comparison is in the scratch arena; op_check releases it. */
#include "ir/rules.h"

#include <inttypes.h>
#include <stdio.h>

const char *rule_type_text(Ctx *ctx, const Type *type) {
    if (!type)
        return "no type";
    StrBuf text = strbuf(&ctx->scratch);
    type_print(type, &text);
    return text.ptr;
}

const char *rule_operand_name(Ctx *ctx, const Op *op, uint32_t index) {
    const OpInfo *info = &op_info[op->code];
    if (info->max_operands < 0)
        return str_format(&ctx->scratch, "%s[%u]", info->operand_names[0], index);
    return info->operand_names[index];
}

bool rule_bad_operand(Ctx *ctx, const Op *op, uint32_t index, const char *wanted) {
    return ctx_diag(ctx, op->span, ir_operand_type, op_info[op->code].name,
                    rule_operand_name(ctx, op, index), rule_type_text(ctx, rule_in(op, index)),
                    wanted);
}

bool rule_bad_pair(Ctx *ctx, const Op *op, uint32_t a, uint32_t b, const char *wanted) {
    return ctx_diag(ctx, op->span, ir_operand_pair, op_info[op->code].name,
                    rule_operand_name(ctx, op, a), rule_operand_name(ctx, op, b),
                    rule_type_text(ctx, rule_in(op, a)), rule_type_text(ctx, rule_in(op, b)),
                    wanted);
}

bool rule_bad_result(Ctx *ctx, const Op *op, const Type *stated, const char *wanted) {
    const char *name = op_info[op->code].name, *result = rule_type_text(ctx, stated);
    if (op->nin == 0)
        return ctx_diag(ctx, op->span, ir_result_type, name, result, wanted);
    return ctx_diag(ctx, op->span, ir_result_from, name, result,
                    rule_type_text(ctx, rule_in(op, 0)), wanted);
}

static const char *attr_text(Ctx *ctx, AttrKind kind, Attr attr) {
    StrBuf text = strbuf(&ctx->scratch);
    if (kind == ATTR_F64) {
        strbuf_printf(&text, "%g", attr.f);
    } else if (kind == ATTR_STR) {
        strbuf_printf(&text, "\"%.*s\"", STR_ARG(attr.s));
    } else if (kind == ATTR_INTS) {
        strbuf_putc(&text, '[');
        for (uint32_t i = 0; i < attr.ints.len; i++)
            strbuf_printf(&text, "%s%" PRId64, i ? ", " : "", attr.ints.ptr[i]);
        strbuf_putc(&text, ']');
    } else {
        const char *value = attr_enum_text(kind, attr.i);
        if (value)
            strbuf_puts(&text, value);
        else
            strbuf_printf(&text, "%" PRId64, attr.i);
    }
    return text.ptr;
}

bool rule_bad_attr(Ctx *ctx, const Op *op, AttrName name, const char *wanted) {
    const OpInfo *info = &op_info[op->code];
    uint32_t index = 0;
    while (info->attr[index].name != name)
        index++;
    return ctx_diag(ctx, op->span, ir_attribute, info->name, attr_name_text(name),
                    attr_text(ctx, info->attr[index].kind, op_attr(op, index)), wanted);
}

bool rule_want_equal(Ctx *ctx, const Op *op, uint32_t a, uint32_t b) {
    return rule_in(op, a) == rule_in(op, b) || rule_bad_pair(ctx, op, a, b, "equal types");
}

bool rule_want_same_shape(Ctx *ctx, const Op *op, uint32_t a, uint32_t b) {
    return type_same_shape(rule_in(op, a), rule_in(op, b)) ||
           rule_bad_pair(ctx, op, a, b, "one shape and layout");
}

bool rule_want_mask(Ctx *ctx, const Op *op, uint32_t index, uint32_t like) {
    if (!type_is_bool(rule_in(op, index)))
        return rule_bad_operand(ctx, op, index, "i1 elements");
    return rule_want_same_shape(ctx, op, index, like);
}

const Type *rule_pointee(Ctx *ctx, const Type *pointer) {
    return type_with_element(ctx, pointer, TYPE_NUMBER, pointer->dtype);
}

static bool is_number(const Type *type) {
    return type->kind == TYPE_NUMBER;
}

static int element_bits(const Type *type) {
    return dtype_info[type->dtype].bits;
}

/* Constants and indices */

bool rule_int_constant(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return (stated && type_is_int(stated)) ||
           rule_bad_result(ctx, op, stated, "an integer or a tile of integers");
}

bool rule_undef(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return (stated && stated->kind != TYPE_BUFFER) ||
           rule_bad_result(ctx, op, stated, "a scalar or a tile");
}

bool rule_float_constant(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return (stated && type_is_float(stated)) ||
           rule_bad_result(ctx, op, stated, "a float or a tile of floats");
}

bool rule_grid_axis(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = type_scalar(ctx, DT_I32);
    if (op->code == OP_program_id && op->block->func->is_persistent)
        return ctx_diag(ctx, op->span, ir_place, "program_id", "a function with is_persistent",
                        "the number that its loop over programs has");
    return (op_axis(op) >= 0 && op_axis(op) <= 2) ||
           rule_bad_attr(ctx, op, ATTR_NAME_axis, "0, 1 or 2");
}

bool rule_cta_number(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = type_scalar(ctx, DT_I32);
    return op->block->func->is_persistent ||
           ctx_diag(ctx, op->span, ir_place, op_info[op->code].name,
                    "a function in which a CTA has no program but its own",
                    "one with is_persistent");
}

bool rule_team_number(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = type_scalar(ctx, DT_I32);
    return op->block->func->teams > 1 ||
           ctx_diag(ctx, op->span, ir_place, op_info[op->code].name,
                    "a function whose programs have all warps of their CTA", "one with teams = 2");
}

bool rule_range(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    if (!stated || !is_number(stated) || stated->rank != 1 || stated->dtype != DT_I32)
        return rule_bad_result(ctx, op, stated, "a rank-1 tile of i32");
    int64_t start = range_attrs(op)->start;
    return (start >= INT32_MIN && start <= INT32_MAX - stated->shape[0] + 1) ||
           rule_bad_attr(ctx, op, ATTR_NAME_start, "a start that keeps every element in i32");
}

/* Shapes */

bool rule_splat(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    const Type *x = rule_in(op, 0);
    if (x->rank != 0 || x->kind == TYPE_BUFFER)
        return rule_bad_operand(ctx, op, 0, "a scalar");
    return (stated && type_is_tile(stated) && stated->kind == x->kind &&
            stated->dtype == x->dtype) ||
           rule_bad_result(ctx, op, stated, "a tile of the operand's type");
}

bool rule_expand_dims(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    if (!type_is_tile(x) || x->rank == MAX_RANK)
        return rule_bad_operand(ctx, op, 0, "a tile of rank 1 to 7");
    int64_t axis = expand_dims_attrs(op)->axis, shape[MAX_RANK];
    if (axis < 0 || axis > x->rank)
        return rule_bad_attr(ctx, op, ATTR_NAME_axis, "at least 0 and at most the operand's rank");
    for (int i = 0, from = 0; i <= x->rank; i++)
        shape[i] = i == axis ? 1 : x->shape[from++];
    *result = type_with_shape(ctx, x, x->rank + 1, shape);
    return true;
}

bool rule_broadcast(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    const Type *x = rule_in(op, 0);
    if (!type_is_tile(x))
        return rule_bad_operand(ctx, op, 0, "a tile");
    if (!stated || stated->kind != x->kind || stated->dtype != x->dtype || stated->rank != x->rank)
        return rule_bad_result(ctx, op, stated, "the operand's element type and rank");
    uint32_t repeated = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->shape[i] == stated->shape[i])
            continue;
        if (x->shape[i] != 1)
            return rule_bad_result(ctx, op, stated, "dimensions to differ only where it has 1");
        repeated |= layout_dim_mask(stated->rank, stated->shape, i);
    }
    const Layout *wanted = stated->layout ? layout_drop_bits(ctx, stated->layout, repeated) : NULL;
    return x->layout == wanted ||
           rule_bad_result(ctx, op, stated,
                           "the operand's layout to be the result's without the repeated bits");
}

bool rule_reshape(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    const Type *x = rule_in(op, 0);
    if (!type_is_tile(x))
        return rule_bad_operand(ctx, op, 0, "a tile");
    if (!stated || !type_is_tile(stated) || stated->kind != x->kind || stated->dtype != x->dtype ||
        stated->log2_numel != x->log2_numel)
        return rule_bad_result(ctx, op, stated, "a tile of as many elements of the same type");
    return stated->layout == x->layout || rule_bad_result(ctx, op, stated, "an unchanged layout");
}

bool rule_transpose(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    if (!type_is_tile(x))
        return rule_bad_operand(ctx, op, 0, "a tile");
    Ints order = transpose_attrs(op)->order;
    int permutation[MAX_RANK];
    int64_t shape[MAX_RANK];
    unsigned seen = 0;
    bool ok = order.len == (uint32_t)x->rank;
    for (int i = 0; ok && i < x->rank; i++) {
        ok = order.ptr[i] >= 0 && order.ptr[i] < x->rank && !(seen >> order.ptr[i] & 1);
        if (!ok)
            break;
        seen |= 1u << order.ptr[i];
        permutation[i] = (int)order.ptr[i];
        shape[i] = x->shape[order.ptr[i]];
    }
    if (!ok)
        return rule_bad_attr(ctx, op, ATTR_NAME_order, "a permutation of the operand's dimensions");
    const Layout *layout =
        x->layout ? layout_transpose(ctx, x->layout, x->rank, x->shape, permutation) : NULL;
    *result = type_get(ctx, x->kind, x->dtype, x->rank, shape, layout);
    return true;
}

bool rule_join(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *a = rule_in(op, 0);
    if (!type_is_tile(a) || a->rank == MAX_RANK || a->log2_numel == MAX_TILE_BITS)
        return rule_bad_operand(ctx, op, 0, "a tile of rank 1 to 7 with room for twice the size");
    if (!rule_want_equal(ctx, op, 0, 1))
        return false;
    int64_t shape[MAX_RANK];
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank] = 2;
    const Layout *layout = a->layout ? layout_join(ctx, a->layout) : NULL;
    *result = type_get(ctx, a->kind, a->dtype, a->rank + 1, shape, layout);
    return true;
}

bool rule_split(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    if (!type_is_tile(x) || x->shape[x->rank - 1] != 2)
        return rule_bad_operand(ctx, op, 0, "a tile whose last dimension is 2");
    if (op->nout != 2)
        return ctx_diag(ctx, op->span, ir_result_count, "split", op->nout, 2u);
    for (uint32_t i = 0; i < 2; i++) {
        const Type *half = op->out[i].type;
        bool ok =
            half && half->kind == x->kind && half->dtype == x->dtype && half->rank == x->rank - 1;
        for (int dim = 0; ok && dim < half->rank; dim++)
            ok = half->shape[dim] == x->shape[dim];
        if (!ok)
            return rule_bad_result(ctx, op, half, "the operand's type without the last dimension");
        /* A scalar is in every thread, as if it had a replicated layout. */
        const Layout *layout = half->layout;
        if (x->layout && half->rank == 0)
            layout = layout_replicated(ctx, 0, x->layout->bits[LAYOUT_WARP]);
        if ((layout ? layout_join(ctx, layout) : NULL) != x->layout)
            return rule_bad_result(ctx, op, half, "a layout whose join is the operand's");
    }
    return true;
}

bool rule_is_part(const Type *part, const Type *whole, int64_t at) {
    bool ok = part && part->dtype == whole->dtype && part->rank == whole->rank && part->rank > 0;
    if (!ok || at < 0 || at >= type_numel(whole))
        return false;
    for (int d = whole->rank; ok && d-- > 0; at /= whole->shape[d])
        ok = part->shape[d] <= whole->shape[d] && at % whole->shape[d] % part->shape[d] == 0;
    return ok;
}

bool rule_slice(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    if (!type_is_tile(x))
        return rule_bad_operand(ctx, op, 0, "a tile");
    return (rule_is_part(stated, x, slice_attrs(op)->at) && stated->kind == x->kind &&
            !stated->layout == !x->layout) ||
           rule_bad_result(ctx, op, stated, "a part of the operand that begins at `at`");
}

bool rule_optimization_barrier(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = rule_in(op, 0);
    return type_fills_words(*result) || rule_bad_operand(ctx, op, 0, "numbers of 8, 16 or 32 bits");
}

/* Elementwise */

static bool want_all_equal(Ctx *ctx, const Op *op) {
    for (uint32_t i = 1; i < op->nin; i++)
        if (!rule_want_equal(ctx, op, 0, i))
            return false;
    return true;
}

bool rule_same_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = rule_in(op, 0);
    if (!type_is_int(*result))
        return rule_bad_operand(ctx, op, 0, "integers");
    return want_all_equal(ctx, op);
}

bool rule_same_float(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = rule_in(op, 0);
    if (!type_is_float(*result))
        return rule_bad_operand(ctx, op, 0, "floats");
    return want_all_equal(ctx, op);
}

bool rule_compare_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *a = rule_in(op, 0);
    if (!type_is_int(a) && !type_is_pointer(a))
        return rule_bad_operand(ctx, op, 0, "integers or pointers");
    *result = type_with_element(ctx, a, TYPE_NUMBER, DT_I1);
    return rule_want_equal(ctx, op, 0, 1);
}

bool rule_compare_float(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *a = rule_in(op, 0);
    if (!type_is_float(a))
        return rule_bad_operand(ctx, op, 0, "floats");
    *result = type_with_element(ctx, a, TYPE_NUMBER, DT_I1);
    return rule_want_equal(ctx, op, 0, 1);
}

bool rule_select(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *cond = rule_in(op, 0), *a = rule_in(op, 1);
    *result = a;
    if (a->kind == TYPE_BUFFER)
        return rule_bad_operand(ctx, op, 1, "scalars or tiles");
    if (!rule_want_equal(ctx, op, 1, 2))
        return false;
    if (type_is_bool(cond) && cond->rank == 0)
        return true;
    return rule_want_mask(ctx, op, 0, 1);
}

/* `stated` has the shape and layout of the operand, which has elements as described by the flags.
 */
static bool converts(Ctx *ctx, const Op *op, const Type *stated, bool operand_ok,
                     const char *operand_wanted, bool result_ok, const char *result_wanted) {
    if (!operand_ok)
        return rule_bad_operand(ctx, op, 0, operand_wanted);
    if (!result_ok)
        return rule_bad_result(ctx, op, stated, result_wanted);
    return type_same_shape(rule_in(op, 0), stated) ||
           rule_bad_result(ctx, op, stated, "the operand's shape and layout");
}

bool rule_narrow_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    return converts(ctx, op, stated, type_is_int(x), "integers",
                    stated && type_is_int(stated) && element_bits(stated) < element_bits(x),
                    "narrower integers");
}

bool rule_widen_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    return converts(ctx, op, stated, type_is_int(x), "integers",
                    stated && type_is_int(stated) && element_bits(stated) > element_bits(x),
                    "wider integers");
}

bool rule_narrow_float(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    return converts(ctx, op, stated, type_is_float(x), "floats",
                    stated && type_is_float(stated) && stated->dtype != x->dtype &&
                        element_bits(stated) <= element_bits(x),
                    "narrower floats or others of equal width");
}

bool rule_widen_float(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    return converts(ctx, op, stated, type_is_float(x), "floats",
                    stated && type_is_float(stated) && element_bits(stated) > element_bits(x),
                    "wider floats");
}

bool rule_float_to_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return converts(ctx, op, stated, type_is_float(rule_in(op, 0)), "floats",
                    stated && type_is_int(stated), "integers");
}

bool rule_int_to_float(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return converts(ctx, op, stated, type_is_int(rule_in(op, 0)), "integers",
                    stated && type_is_float(stated), "floats");
}

bool rule_bitcast(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    bool fits = stated && stated->kind == x->kind &&
                (x->kind == TYPE_POINTER || element_bits(stated) == element_bits(x));
    return converts(ctx, op, stated, x->kind != TYPE_BUFFER, "numbers or pointers", fits,
                    "numbers of equal width, or pointers from pointers");
}

bool rule_ptr_to_int(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    return converts(ctx, op, stated, type_is_pointer(rule_in(op, 0)), "pointers",
                    stated && is_number(stated) && stated->dtype == DT_I64, "i64");
}

bool rule_int_to_ptr(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    return converts(ctx, op, stated, is_number(x) && x->dtype == DT_I64, "i64",
                    stated && type_is_pointer(stated), "pointers");
}

bool rule_addptr(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0), *index = rule_in(op, 1);
    *result = ptr;
    if (!type_is_pointer(ptr))
        return rule_bad_operand(ctx, op, 0, "pointers");
    if (!is_number(index) || (index->dtype != DT_I32 && index->dtype != DT_I64))
        return rule_bad_operand(ctx, op, 1, "i32 or i64");
    return rule_want_same_shape(ctx, op, 0, 1);
}

bool rule_hint(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = x;
    if (!type_is_int(x) && !type_is_pointer(x))
        return rule_bad_operand(ctx, op, 0, "integers or pointers");
    Ints values = op_values(op);
    bool ok = values.len == (uint32_t)(x->rank ? x->rank : 1);
    for (uint32_t i = 0; ok && i < values.len; i++)
        ok = values.ptr[i] > 0;
    return ok || rule_bad_attr(ctx, op, ATTR_NAME_values,
                               "one positive value per dimension (scalars: one)");
}
