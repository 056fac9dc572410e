/* Result rules of memory accesses, products, reductions, control flow and shared buffers. */
#include "ir/build.h"
#include "ir/inline_asm.h"
#include "ir/rules.h"
#include "target/target.h"
#include "target/wgmma.h"

/* Arguments of regions and values passed on */

static const char *types_text(Ctx *ctx, uint32_t count, const Type *const *types) {
    StrBuf text = strbuf(&ctx->scratch);
    strbuf_puts(&text, "");
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(&text, i ? ", " : "");
        strbuf_puts(&text, rule_type_text(ctx, types[i]));
    }
    return text.ptr ? text.ptr : "";
}

static bool want_region_args(Ctx *ctx, const Op *op, uint32_t region, uint32_t count,
                             const Type *const *types) {
    const Block *block = op->regions[region];
    bool ok = block->nargs == count;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = block->args[i].type == types[i];
    if (ok)
        return true;
    const Type **found = ARENA_ARRAY(&ctx->scratch, const Type *, block->nargs);
    for (uint32_t i = 0; i < block->nargs; i++)
        found[i] = block->args[i].type;
    return ctx_diag(ctx, op->span, ir_region_args, op_info[op->code].name, region,
                    types_text(ctx, block->nargs, found), types_text(ctx, count, types));
}

/* Operands from `first` on have these types. */
static bool want_passed_on(Ctx *ctx, const Op *op, uint32_t first, uint32_t count,
                           const Type *const *types) {
    bool ok = op->nin == first + count;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = rule_in(op, first + i) == types[i];
    if (ok)
        return true;
    uint32_t nfound = op->nin > first ? op->nin - first : 0;
    const Type **found = ARENA_ARRAY(&ctx->scratch, const Type *, nfound);
    for (uint32_t i = 0; i < nfound; i++)
        found[i] = rule_in(op, first + i);
    return ctx_diag(ctx, op->span, ir_passed_on, op_info[op->code].name,
                    types_text(ctx, nfound, found), op_info[op->block->parent->code].name,
                    types_text(ctx, count, types));
}

/* The types of operands (first..) as an array. */
static const Type **operand_types(Ctx *ctx, const Op *op, uint32_t first) {
    const Type **types = ARENA_ARRAY(&ctx->scratch, const Type *, op->nin - first + 1);
    for (uint32_t i = first; i < op->nin; i++)
        types[i - first] = rule_in(op, i);
    return types;
}

/* Results are as many as `types` and have them. */
static bool want_results(Ctx *ctx, const Op *op, uint32_t count, const Type *const *types) {
    if (op->nout != count)
        return ctx_diag(ctx, op->span, ir_result_count, op_info[op->code].name, op->nout, count);
    for (uint32_t i = 0; i < count; i++)
        if (op->out[i].type != types[i])
            return ctx_diag(ctx, op->span, ir_result_type, op_info[op->code].name,
                            rule_type_text(ctx, op->out[i].type), rule_type_text(ctx, types[i]));
    return true;
}

/* Conditions, anything, nothing */

bool rule_none(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return true;
}

static bool takes_values(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (rule_in(op, i)->kind == TYPE_BUFFER)
            return rule_bad_operand(ctx, op, i, "a scalar or a tile");
    return true;
}

/* Operands of one shape, which is the result's; without operands any scalar. */
bool rule_inline_asm(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!takes_values(ctx, op, stated, result))
        return false;
    if (op_pack(op) < 1 || op_pack(op) > ASM_MAX_PACK)
        return rule_bad_attr(ctx, op, ATTR_NAME_pack, "1 to 64");
    if (op_result(op) < 0 || !asm_result_dtype(op, (uint32_t)op_result(op), NULL))
        return rule_bad_attr(ctx, op, ATTR_NAME_result, "the number of one of the results");
    const Type *shape = op->nin ? rule_in(op, 0) : stated;
    for (uint32_t i = 1; i < op->nin; i++)
        if (!type_same_shape(rule_in(op, i), shape) || rule_in(op, i)->layout != shape->layout)
            return rule_bad_operand(ctx, op, i, "as many elements as the others have");
    DType dtype;
    asm_result_dtype(op, (uint32_t)op_result(op), &dtype);
    *result = type_with_element(ctx, shape, TYPE_NUMBER, dtype);
    if (stated && stated != *result)
        return rule_bad_attr(ctx, op, ATTR_NAME_results, "the type of the result");
    return true;
}

bool rule_print(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const int64_t named = print_attrs(op)->unsigned_operands;
    if (!takes_values(ctx, op, stated, result))
        return false;
    if (op->nin > PRINT_MAX_OPERANDS)
        return rule_bad_operand(ctx, op, PRINT_MAX_OPERANDS, "nothing");
    for (uint32_t i = 0; i < PRINT_MAX_OPERANDS; i++)
        if (named >> i & 1 && (i >= op->nin || !type_is_int(rule_in(op, i))))
            return rule_bad_attr(ctx, op, ATTR_NAME_unsigned_operands, "bits of integer operands");
    return true;
}

static bool is_condition(const Type *type) {
    return type_is_bool(type) && type->rank == 0;
}

bool rule_bool_scalar(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return is_condition(rule_in(op, 0)) || rule_bad_operand(ctx, op, 0, "a scalar i1");
}

bool rule_cache_policy(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = type_scalar(ctx, DT_I64);
    return rule_bool_scalar(ctx, op, stated, result);
}

bool rule_bool_any(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return type_is_bool(rule_in(op, 0)) || rule_bad_operand(ctx, op, 0, "i1 or a tile of i1");
}

/* Global memory */

/* Attribute `width`: see ops.def. */
static bool want_width(Ctx *ctx, const Op *op, const Type *value) {
    int64_t width = op_width(op);
    if (width == 0 || width == 1)
        return true;
    if (width < 0 || (width & (width - 1)) || width * type_element_bytes(value) > 16 || width > 16)
        return rule_bad_attr(ctx, op, ATTR_NAME_width, "a power of two of at most 16 bytes");
    /* Along whichever dimension the lowest register enumerates. */
    const Layout *layout = value->layout;
    int first = layout && layout->basis[0] ? __builtin_ctz(layout->basis[0]) : 0;
    return (layout && layout_run(layout, first, (int)width) >= width) ||
           rule_bad_attr(ctx, op, ATTR_NAME_width,
                         "at most the consecutive elements that the layout holds");
}

bool rule_load(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0);
    if (!type_is_pointer(ptr))
        return rule_bad_operand(ctx, op, 0, "pointers");
    *result = rule_pointee(ctx, ptr);
    if (op->nin > 1 && !rule_want_mask(ctx, op, 1, 0))
        return false;
    if (op->nin > 2 && rule_in(op, 2) != *result)
        return rule_bad_pair(ctx, op, 0, 2, "pointers and what they point at");
    return want_width(ctx, op, *result);
}

bool rule_store(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0);
    if (!type_is_pointer(ptr))
        return rule_bad_operand(ctx, op, 0, "pointers");
    if (rule_in(op, 1) != rule_pointee(ctx, ptr))
        return rule_bad_pair(ctx, op, 0, 1, "pointers and what they point at");
    if (op->nin > 2 && !rule_want_mask(ctx, op, 2, 0))
        return false;
    return want_width(ctx, op, rule_in(op, 1));
}

bool rule_atomic_takes(AtomicOp kind, DType dtype) {
    int bits = dtype_info[dtype].bits;
    switch (kind) {
    case RMW_FADD:
        return dtype_is_float(dtype) && bits >= 16;
    case RMW_XCHG:
        return bits >= 32;
    case RMW_ADD:
    case RMW_SMAX:
    case RMW_UMAX:
    case RMW_SMIN:
    case RMW_UMIN:
    case RMW_AND:
    case RMW_OR:
    case RMW_XOR:
        return dtype_is_int(dtype) && bits >= 32;
    case RMW_COUNT:
        break;
    }
    return false;
}

bool rule_atomic_rmw(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0);
    if (!type_is_pointer(ptr))
        return rule_bad_operand(ctx, op, 0, "pointers");
    *result = rule_pointee(ctx, ptr);
    if (rule_in(op, 1) != *result)
        return rule_bad_pair(ctx, op, 0, 1, "pointers and what they point at");
    if (!rule_atomic_takes(atomic_rmw_attrs(op)->kind, ptr->dtype))
        return rule_bad_operand(ctx, op, 1,
                                "i32 or i64 (fadd: f16, bf16, f32 or f64; xchg: 32 or 64 bits)");
    if (op->nin > 2 && !rule_want_mask(ctx, op, 2, 0))
        return false;
    if (op_access_width(op) > 1 && !atomic_takes_vectors(op))
        return rule_bad_attr(ctx, op, ATTR_NAME_width, "1, but for sums of f16, bf16 and f32");
    return want_width(ctx, op, *result);
}

bool rule_atomic_cas(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *ptr = rule_in(op, 0);
    if (!type_is_pointer(ptr) || dtype_info[ptr->dtype].bits < 16)
        return rule_bad_operand(ctx, op, 0, "pointers to 16, 32 or 64 bits");
    *result = rule_pointee(ctx, ptr);
    for (uint32_t i = 1; i < 3; i++)
        if (rule_in(op, i) != *result)
            return rule_bad_pair(ctx, op, 0, i, "pointers and what they point at");
    return true;
}

/* Reductions and products */

/* Equal shapes and an axis. */
static bool want_tiles_and_axis(Ctx *ctx, const Op *op) {
    if (op->nin == 0)
        return ctx_diag(ctx, op->span, ir_operand_count, op_info[op->code].name, 0u,
                        "at least one");
    for (uint32_t i = 0; i < op->nin; i++) {
        if (!type_is_tile(rule_in(op, i)))
            return rule_bad_operand(ctx, op, i, "a tile");
        if (!rule_want_same_shape(ctx, op, 0, i))
            return false;
    }
    return (op_axis(op) >= 0 && op_axis(op) < rule_in(op, 0)->rank) ||
           rule_bad_attr(ctx, op, ATTR_NAME_axis, "a dimension of the operands");
}

static const Type *element_scalar(Ctx *ctx, const Type *tile) {
    return type_get(ctx, tile->kind, tile->dtype, 0, NULL, NULL);
}

/* The combining region takes a_1..a_n, b_1..b_n. */
static bool want_combiner(Ctx *ctx, const Op *op) {
    const Type **types = ARENA_ARRAY(&ctx->scratch, const Type *, 2 * (size_t)op->nin);
    for (uint32_t i = 0; i < op->nin; i++)
        types[i] = types[op->nin + i] = element_scalar(ctx, rule_in(op, i));
    return want_region_args(ctx, op, 0, 2 * op->nin, types);
}

bool rule_reduce(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!want_tiles_and_axis(ctx, op))
        return false;
    int axis = (int)reduce_attrs(op)->axis;
    int64_t keep = reduce_attrs(op)->keep;
    if (keep < 0 || keep >= rule_in(op, 0)->shape[axis])
        return rule_bad_attr(ctx, op, ATTR_NAME_keep, "a mask of index bits of the axis");
    const Type **types = operand_types(ctx, op, 0);
    for (uint32_t i = 0; i < op->nin; i++)
        types[i] = reduce_result_type(ctx, types[i], axis, keep);
    return want_results(ctx, op, op->nin, types) && want_combiner(ctx, op);
}

bool rule_scan(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    return want_tiles_and_axis(ctx, op) &&
           want_results(ctx, op, op->nin, operand_types(ctx, op, 0)) && want_combiner(ctx, op);
}

bool rule_map(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (op->nin == 0)
        return ctx_diag(ctx, op->span, ir_operand_count, "map", 0u, "at least one");
    const Type **types = operand_types(ctx, op, 0);
    for (uint32_t i = 0; i < op->nin; i++) {
        if (!type_is_tile(types[i]))
            return rule_bad_operand(ctx, op, i, "a tile");
        if (!rule_want_same_shape(ctx, op, 0, i))
            return false;
    }
    for (uint32_t i = 0; i < op->nout; i++)
        if (!op->out[i].type || op->out[i].type->kind == TYPE_BUFFER ||
            !type_same_shape(op->out[i].type, types[0]))
            return rule_bad_result(ctx, op, op->out[i].type,
                                   "tiles of the operands' shape and layout");
    for (uint32_t i = 0; i < op->nin; i++)
        types[i] = element_scalar(ctx, types[i]);
    return want_region_args(ctx, op, 0, op->nin, types);
}

static bool is_f8(DType dtype) {
    return dtype == DT_F8E4M3 || dtype == DT_F8E5M2;
}

/* Products of these element types may be summed in `acc`. */
static bool dot_takes(DType a, DType b, DType acc) {
    if (a != b && !(is_f8(a) && is_f8(b)))
        return false;
    switch (a) {
    case DT_I8:
        return acc == DT_I32;
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
        return acc == DT_F16 || acc == DT_F32;
    case DT_BF16:
    case DT_F32:
        return acc == DT_F32;
    case DT_F64:
        return acc == DT_F64;
    case DT_I1:
    case DT_I16:
    case DT_I32:
    case DT_I64:
    case DT_COUNT:
        break;
    }
    return false;
}

bool rule_dot(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *a = rule_in(op, 0), *b = rule_in(op, 1), *acc = rule_in(op, 2);
    *result = acc;
    for (uint32_t i = 0; i < 3; i++)
        if (rule_in(op, i)->kind != TYPE_NUMBER || rule_in(op, i)->rank < 2)
            return rule_bad_operand(ctx, op, i, "a tile of numbers of rank 2 or more");
    int m = a->rank - 2, n = a->rank - 1;
    if (a->rank != b->rank || a->shape[n] != b->shape[m])
        return rule_bad_pair(ctx, op, 0, 1, "shapes [.., M, K] and [.., K, N]");
    bool fits =
        acc->rank == a->rank && acc->shape[m] == a->shape[m] && acc->shape[n] == b->shape[n];
    for (int i = 0; fits && i < m; i++)
        fits = a->shape[i] == b->shape[i] && a->shape[i] == acc->shape[i];
    if (!fits)
        return rule_bad_pair(ctx, op, 1, 2, "shapes [.., K, N] and [.., M, N]");
    if (!a->layout != !b->layout || !a->layout != !acc->layout)
        return rule_bad_pair(ctx, op, 0, 2, "layouts in all operands or in none");
    if (!dot_takes(a->dtype, b->dtype, DT_I32) && !dot_takes(a->dtype, b->dtype, DT_F32) &&
        !dot_takes(a->dtype, b->dtype, DT_F64))
        return rule_bad_pair(ctx, op, 0, 1, "equal i8, f16, bf16, f32 or f64, or any f8");
    if (!dot_takes(a->dtype, b->dtype, acc->dtype))
        return rule_bad_pair(ctx, op, 0, 2,
                             "an accumulator of i32 for i8, f64 for f64, else f32 "
                             "(f16 and f8: f16 too)");
    return dot_attrs(op)->max_imprecise >= 0 ||
           rule_bad_attr(ctx, op, ATTR_NAME_max_imprecise, "0 or more");
}

static bool want_wgmma_operand(Ctx *ctx, const Op *op, uint32_t index) {
    const Type *type = rule_in(op, index);
    bool turned = op_transposed(op) & 1;
    if (type->kind == TYPE_BUFFER && type->rank == 2)
        return true;
    if (index > 0)
        return rule_bad_operand(ctx, op, index, "a buffer of rank 2");
    return (type->kind == TYPE_NUMBER && type->rank == 2 && type->layout && !turned) ||
           rule_bad_operand(ctx, op, index, "a buffer of rank 2, or such a tile, not transposed");
}

/* One product: of operands 0 and `second`, added to operand `sum`. */
static bool want_wgmma(Ctx *ctx, const Op *op, uint32_t second, uint32_t sum) {
    const Type *a = rule_in(op, 0), *b = rule_in(op, second), *acc = rule_in(op, sum);
    int64_t turned = op_transposed(op);
    if (!want_wgmma_operand(ctx, op, 0) || !want_wgmma_operand(ctx, op, second))
        return false;
    if (acc->kind != TYPE_NUMBER || acc->rank != 2 || !acc->layout)
        return rule_bad_operand(ctx, op, sum, "a tile of numbers of rank 2 with a layout");
    if (turned < 0 || turned > 3)
        return rule_bad_attr(ctx, op, ATTR_NAME_transposed, "0 to 3");
    int ak = turned & 1 ? 0 : 1, bk = turned & 2 ? 1 : 0;
    if (a->shape[ak] != b->shape[bk])
        return rule_bad_pair(ctx, op, 0, second, "shapes [M, K] and [K, N]");
    if (acc->shape[0] != a->shape[1 - ak] || acc->shape[1] != b->shape[1 - bk])
        return rule_bad_pair(ctx, op, second, sum, "shapes [K, N] and [M, N]");
    return dot_takes(a->dtype, b->dtype, acc->dtype) ||
           rule_bad_pair(ctx, op, 0, sum, "numbers that a dot takes");
}

/* The operand that says where the op does anything, if it is there. */
static bool want_on(Ctx *ctx, const Op *op, uint32_t index) {
    return op->nin <= index || rule_in(op, index) == type_scalar(ctx, DT_I1) ||
           rule_bad_operand(ctx, op, index, "a scalar i1");
}

bool rule_wgmma(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = rule_in(op, 2);
    return want_wgmma(ctx, op, 1, 2) && want_on(ctx, op, 3);
}

bool rule_wgmma_joint(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (op->nin < 5 || op->nin % 2 == 0 || op->nin > 1 + 2 * MAX_JOINT_PRODUCTS)
        return ctx_diag(ctx, op->span, ir_operand_count, "wgmma_joint", op->nin,
                        "a, two to four b, and a sum for each");
    uint32_t count = (op->nin - 1) / 2;
    if (!want_results(ctx, op, count, operand_types(ctx, op, 1 + count)))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!want_wgmma(ctx, op, 1 + i, wgmma_sum_operand(op, i)))
            return false;
    return true;
}

bool rule_wgmma_wait(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *acc = *result = rule_in(op, 0);
    if (acc->kind != TYPE_NUMBER || acc->rank != 2)
        return rule_bad_operand(ctx, op, 0, "a tile of numbers of rank 2");
    return wgmma_wait_attrs(op)->pending >= 0 ||
           rule_bad_attr(ctx, op, ATTR_NAME_pending, "0 or more");
}

/* Control flow */

bool rule_for(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (op->nin < FOR_FIXED_OPERANDS)
        return ctx_diag(ctx, op->span, ir_operand_count, "for", op->nin, "lo, hi and step");
    const Type *index = rule_in(op, 0);
    if (index != type_scalar(ctx, DT_I32) && index != type_scalar(ctx, DT_I64))
        return rule_bad_operand(ctx, op, 0, "i32 or i64");
    if (!rule_want_equal(ctx, op, 0, 1) || !rule_want_equal(ctx, op, 0, 2) ||
        !takes_values(ctx, op, NULL, result))
        return false;
    const struct for_attrs *attrs = for_attrs(op);
    if (attrs->num_stages < 0 || attrs->num_stages > INT32_MAX)
        return rule_bad_attr(ctx, op, ATTR_NAME_num_stages, "0 or more");
    if (attrs->unroll < 0 || attrs->unroll > INT32_MAX)
        return rule_bad_attr(ctx, op, ATTR_NAME_unroll, "0 or more");
    if (attrs->flags < 0 || attrs->flags > LOOP_FLAGS)
        return rule_bad_attr(ctx, op, ATTR_NAME_flags, "a sum of 1, 2, 4, 8, 16, 32 and 64");
    /* Carried values start one place after the step: that place is the index's. */
    const Type **types = operand_types(ctx, op, FOR_FIXED_OPERANDS - 1);
    types[0] = index;
    uint32_t carried = op->nin - FOR_FIXED_OPERANDS;
    return want_results(ctx, op, carried, types + 1) &&
           want_region_args(ctx, op, 0, carried + 1, types);
}

bool rule_while(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!takes_values(ctx, op, NULL, result))
        return false;
    if (while_attrs(op)->flags & ~(int64_t)LOOP_NO_LICM)
        return rule_bad_attr(ctx, op, ATTR_NAME_flags, "0 or 8");
    const Type **types = operand_types(ctx, op, 0);
    return want_results(ctx, op, op->nin, types) && want_region_args(ctx, op, 0, op->nin, types) &&
           want_region_args(ctx, op, 1, op->nin, types);
}

bool rule_if(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!is_condition(rule_in(op, 0)))
        return rule_bad_operand(ctx, op, 0, "a scalar i1");
    for (uint32_t i = 0; i < op->nout; i++)
        if (!op->out[i].type || op->out[i].type->kind == TYPE_BUFFER)
            return rule_bad_result(ctx, op, op->out[i].type, "scalars or tiles");
    return want_region_args(ctx, op, 0, 0, NULL) && want_region_args(ctx, op, 1, 0, NULL);
}

bool rule_yield(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Op *parent = op->block->parent;
    if (!parent || (parent->code == OP_while && op->block == parent->regions[0]))
        return ctx_diag(ctx, op->span, ir_place, "yield",
                        parent ? "the first region of a 'while'" : "the body of the function",
                        "in a region that passes values on");
    bool by_element = op_has(parent, BY_ELEMENT);
    const Type **types = ARENA_ARRAY(&ctx->scratch, const Type *, parent->nout);
    for (uint32_t i = 0; i < parent->nout; i++)
        types[i] = by_element ? element_scalar(ctx, parent->out[i].type) : parent->out[i].type;
    return want_passed_on(ctx, op, 0, parent->nout, types);
}

bool rule_condition(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Op *parent = op->block->parent;
    if (!parent || parent->code != OP_while || op->block != parent->regions[0])
        return ctx_diag(ctx, op->span, ir_place, "condition",
                        parent ? op_info[parent->code].name : "the body of the function",
                        "the first region of a 'while'");
    if (op->nin == 0)
        return ctx_diag(ctx, op->span, ir_operand_count, "condition", 0u, "at least the i1");
    if (!is_condition(rule_in(op, 0)))
        return rule_bad_operand(ctx, op, 0, "a scalar i1");
    const Type **types = ARENA_ARRAY(&ctx->scratch, const Type *, parent->nout);
    for (uint32_t i = 0; i < parent->nout; i++)
        types[i] = parent->out[i].type;
    return want_passed_on(ctx, op, 1, parent->nout, types);
}

/* Layouts and shared memory */

bool rule_convert_layout(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Type *x = rule_in(op, 0);
    *result = stated;
    if (!type_is_tile(x) || !x->layout)
        return rule_bad_operand(ctx, op, 0, "a tile with a layout");
    return (stated && stated->layout && type_with_layout(ctx, stated, x->layout) == x &&
            stated->layout->out_bits == x->layout->out_bits) ||
           rule_bad_result(ctx, op, stated, "the operand's type with another layout");
}

static bool rule_buffer(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = stated;
    if (!stated || stated->kind != TYPE_BUFFER || stated->rank == 0)
        return rule_bad_result(ctx, op, stated, "a buffer of rank 1 or more");
    if (op_offset(op) < -1 || op_offset(op) > INT32_MAX)
        return rule_bad_attr(ctx, op, ATTR_NAME_offset, "-1 or an offset in bytes");
    return (op_copies(op) >= 0 && op_copies(op) <= MAX_BUFFER_COPIES) ||
           rule_bad_attr(ctx, op, ATTR_NAME_copies, "0 to 64");
}

bool rule_local_alloc(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!rule_buffer(ctx, op, stated, result))
        return false;
    int64_t stride = local_alloc_attrs(op)->stride,
            bytes = type_numel(stated) * type_element_bytes(stated);
    return stride == 0 ||
           (stride >= bytes && stride <= INT32_MAX && stride % BUFFER_ALIGNMENT == 0) ||
           rule_bad_attr(ctx, op, ATTR_NAME_stride,
                         "0, or a multiple of 16 of no less than the buffer's bytes");
}

bool rule_local_view(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    const Value *buffer = op_in(op, 0);
    *result = buffer->type;
    if (buffer->type->kind != TYPE_BUFFER || !buffer->def || !op_has(buffer->def, ALLOCATES))
        return rule_bad_operand(ctx, op, 0, "the result of a local_alloc or mbarrier_alloc");
    if (rule_in(op, 1) != type_scalar(ctx, DT_I32))
        return rule_bad_operand(ctx, op, 1, "i32");
    int64_t ahead = local_view_attrs(op)->ahead;
    return (ahead >= 0 && ahead < local_copies(buffer)) ||
           rule_bad_attr(ctx, op, ATTR_NAME_ahead, "less than the buffer's copies");
}

bool rule_mbarrier(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (!rule_buffer(ctx, op, stated, result))
        return false;
    int64_t arrivals = mbarrier_alloc_attrs(op)->arrivals;
    if (arrivals < 0 || arrivals > TARGET_MAX_WARPS || (arrivals & (arrivals - 1)))
        return rule_bad_attr(ctx, op, ATTR_NAME_arrivals, "0 or a power of two up to 32");
    return (stated->dtype == DT_I64 && type_numel(stated) == 1) ||
           rule_bad_result(ctx, op, stated, "a buffer of one i64");
}

bool rule_want_mbarrier(Ctx *ctx, const Op *op, uint32_t index) {
    const Value *barrier = op_in(op, index);
    return (barrier->type->kind == TYPE_BUFFER && barrier->def &&
            local_alloc_of(barrier)->code == OP_mbarrier_alloc) ||
           rule_bad_operand(ctx, op, index, "an mbarrier, or a view of one");
}

/* An mbarrier whose phases mbarrier_arrive ends, or copies, and a condition. */
static bool want_arrival(Ctx *ctx, const Op *op, bool by_threads) {
    if (!rule_want_mbarrier(ctx, op, 0))
        return false;
    if ((mbarrier_arrivals(op_in(op, 0)) > 0) != by_threads)
        return rule_bad_operand(ctx, op, 0,
                                by_threads ? "an mbarrier with arrivals"
                                           : "an mbarrier without arrivals but by copies");
    return rule_in(op, 1) == type_scalar(ctx, DT_I1) || rule_bad_operand(ctx, op, 1, "a scalar i1");
}

bool rule_mbarrier_arrive(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    return want_arrival(ctx, op, true);
}

bool rule_mbarrier_expect(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    if (!want_arrival(ctx, op, false))
        return false;
    int64_t bytes = mbarrier_expect_attrs(op)->bytes;
    return (bytes > 0 && bytes <= MAX_EXPECTED_BYTES) ||
           rule_bad_attr(ctx, op, ATTR_NAME_bytes, "1 to 1048575");
}

bool rule_mbarrier_wait(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    return rule_want_mbarrier(ctx, op, 0) &&
           (rule_in(op, 1) == type_scalar(ctx, DT_I32) || rule_bad_operand(ctx, op, 1, "i32")) &&
           want_on(ctx, op, 2);
}

/* Of two warpgroups, which are one program or two teams. */
static bool want_turns(Ctx *ctx, const Op *op) {
    const Func *func = op->block->func;
    bool one_program = func->num_warps == 2 * WGMMA_WARPS && func->programs_per_cta <= 1;
    return one_program || func->teams > 1 ||
           ctx_diag(ctx, op->span, ir_place, op_info[op->code].name, "another function",
                    "one with num_warps = 8, whose programs have CTAs of their own");
}

bool rule_turn_wait(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    return want_turns(ctx, op);
}

bool rule_turn_pass(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    *result = NULL;
    return want_on(ctx, op, 0) && want_on(ctx, op, 1) && want_turns(ctx, op);
}

static const Op *not_for_producer(const Block *block) {
    block_for_each (op, block) {
        bool tiles = false;
        for (uint32_t i = 0; i < op->nout; i++)
            tiles |= op->out[i].type && type_is_tile(op->out[i].type);
        if (tiles || !op_suits_one_warp(op))
            return op;
        for (uint32_t i = 0; i < op->nregions; i++) {
            const Op *inner = not_for_producer(op->regions[i]);
            if (inner)
                return inner;
        }
    }
    return NULL;
}

bool rule_producer(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    if (op->block->parent)
        return ctx_diag(ctx, op->span, ir_place, "producer", op_info[op->block->parent->code].name,
                        "the body of the function");
    if (func_producer(op->block->func) != op)
        return ctx_diag(ctx, op->span, ir_place, "producer", "a function that has one already",
                        "a function once");
    const Op *other = not_for_producer(op->regions[0]);
    if (other)
        return ctx_diag(ctx, other->span, ir_place, op_info[other->code].name, "a 'producer'",
                        "where the program's warps run");
    return want_region_args(ctx, op, 0, 0, NULL);
}
