/* Block pointers and tensor descriptors: a pointer, extents, strides, and the shape of a block.
 *
 * Both are values of the elaborator alone. Their run-time parts are ordinary scalars, which loops
 * carry one by one (of an advancing block pointer only its offsets change), and come together in
 * the ops load_block, store_block and atomic_block. Those keep the block whole, so that passes may
 * give it to hardware that copies rectangles; `order` is a hint that they do not need. */
#include "frontend/builtins.h"
#include "frontend/language.h"

enum { MAX_DESCRIPTOR_RANK = 5, MIN_DESCRIPTOR_BYTES = 16, MIN_ROWS = 8, MIN_ROW_BYTES = 32 };

/* A tuple, or one value that stands for a tuple of it. */
static bool call_list(Call *call, int param, const Val **items, uint32_t *count) {
    const Val *v = &call->args[param];
    if (v->kind == VAL_TUPLE) {
        *items = v->tuple.items;
        *count = v->tuple.count;
        return true;
    }
    *items = v;
    *count = 1;
    return true;
}

static bool same_length(Call *call, int a, uint32_t na, int b, uint32_t nb) {
    if (na == nb)
        return true;
    elab_fail(call->e, call->spans[b], elab_block_lengths, call->builtin->name,
              call_param_name(call, a), na, call_param_name(call, b), nb);
    return false;
}

/* An integer scalar or number as run-time value of this type. */
static Val index_value(Call *call, int param, Val v, Elem elem) {
    Elab *e = call->e;
    Wide known;
    if (val_is_number(v) && val_known_int(v, &known)) {
        if (known >= elem_min(elem) && known <= elem_max(elem))
            return op_constant(e, v, elem);
        return elab_fail(e, call->spans[param], elab_int_too_big, val_text(e->arena, v),
                         elem_info[elem].text);
    }
    bool scalar = val_is_tile(v) && scalar_is_int(v.tile.scalar) &&
                  (!val_has_shape(v) || type_numel(val_ir_type(v)) == 1);
    if (!scalar)
        return elab_fail(e, call->spans[param], elab_argument, call->builtin->name,
                         call_param_name(call, param), "integer scalars", elab_type_text(e, v));
    return op_cast(e, call->spans[param], op_unsplat(e, v), scalar_number(elem), ROUND_RTNE);
}

/* Where a block begins: at most 32 bits, unless they are known. */
static Val offset_value(Call *call, int param, Val v, Elem elem) {
    Elab *e = call->e;
    bool wide =
        val_is_tile(v) && scalar_is_int(v.tile.scalar) && elem_bits(v.tile.scalar.elem) > 32;
    if (wide) {
        elab_fail(e, call->spans[param], elab_block_offset, call->builtin->name,
                  call_param_name(call, param), elab_type_text(e, v));
        elab_hint(e, "add .to(tl.int32), or move the base pointer by what needs 64 bits");
        return val_error();
    }
    Wide known;
    bool far =
        val_is_number(v) && val_known_int(v, &known) && (known < INT32_MIN || known > INT32_MAX);
    if (elem == ELEM_I32 || (val_is_number(v) && !far))
        return index_value(call, param, v, elem);
    v = index_value(call, param, v, ELEM_I32);
    return val_failed(v) ? v : op_cast(e, call->spans[param], v, scalar_number(elem), ROUND_RTNE);
}

typedef Val IndexFn(Call *call, int param, Val v, Elem elem);

static bool index_values(Call *call, int param, uint32_t rank, IndexFn *convert, Elem elem,
                         Val *out) {
    const Val *items;
    uint32_t count;
    if (!call_list(call, param, &items, &count))
        return false;
    for (uint32_t i = 0; i < count && i < rank; i++) {
        out[i] = convert(call, param, items[i], elem);
        if (val_failed(out[i]))
            return false;
    }
    return true;
}

static uint32_t list_length(Call *call, int param) {
    const Val *items;
    uint32_t count;
    call_list(call, param, &items, &count);
    return count;
}

static bool base_pointer(Call *call, Val *base) {
    Elab *e = call->e;
    *base = call->args[0];
    bool ok = val_is_tile(*base) && base->tile.scalar.pointer && !val_has_shape(*base);
    if (!ok) {
        elab_fail(e, call->spans[0], elab_argument, call->builtin->name, "base", "a pointer",
                  elab_type_text(e, *base));
        return false;
    }
    if (base->tile.scalar.elem == ELEM_I1) {
        ScalarType bytes = {ELEM_I8, true, base->tile.scalar.is_const};
        *base = op_cast(e, call->spans[0], *base, bytes, ROUND_RTNE);
    }
    return true;
}

static Val new_block(Call *call, Val base, bool is_descriptor, int rank, const int64_t *block,
                     Padding padding, const Val *parts) {
    Elab *e = call->e;
    BlockInfo *info = ARENA_NEW(e->arena, BlockInfo);
    DType dtype = elem_info[base.tile.scalar.elem].ir;
    *info = (BlockInfo){.is_descriptor = is_descriptor,
                        .padding = padding,
                        .scalar = base.tile.scalar,
                        .tile = type_get(e->ctx, TYPE_NUMBER, dtype, rank, block, NULL)};
    info->scalar.pointer = false;
    return (Val){.kind = VAL_BLOCK, .block = {info, parts}};
}

/* order: a permutation of the dimensions. */
static bool order_is_valid(Call *call, uint32_t rank) {
    const Val *items;
    uint32_t count, seen = 0;
    Wide known;
    call_list(call, 5, &items, &count);
    for (uint32_t i = 0; i < count; i++)
        if (val_known_int(items[i], &known) && known >= 0 && known < (Wide)rank)
            seen |= 1u << (uint32_t)known;
    if (count == rank && seen == (1u << rank) - 1)
        return true;
    elab_fail(call->e, call->spans[5], elab_block_order, (int)rank);
    return false;
}

Val builtin_make_block_ptr(Call *call) {
    Val base;
    int rank;
    int64_t block[MAX_RANK];
    elab_warn_ended(call->e, call->span, LANGUAGE_ENDED_block_pointers);
    if (!base_pointer(call, &base) || !call_shape(call, 4, &rank, block))
        return val_error();
    uint32_t n = (uint32_t)rank;
    for (int param = 1; param < 6; param++)
        if (!same_length(call, 4, n, param, list_length(call, param)))
            return val_error();
    if (n == 0)
        return elab_fail(call->e, call->spans[4], elab_argument, "make_block_ptr", "block_shape",
                         "at least one dimension", "none");
    Val *parts = ARENA_ARRAY(call->e->arena, Val, 1 + 3 * n);
    parts[0] = base;
    if (!index_values(call, 1, n, index_value, ELEM_I64, parts + 1) ||
        !index_values(call, 2, n, index_value, ELEM_I64, parts + 1 + n) ||
        !index_values(call, 3, n, offset_value, ELEM_I64, parts + 1 + 2 * n) ||
        !order_is_valid(call, n))
        return val_error();
    return new_block(call, base, false, rank, block, PADDING_ZERO, parts);
}

static bool want_block(Call *call, bool is_descriptor, const BlockInfo **info) {
    Elab *e = call->e;
    Val v = call->args[0];
    if (v.kind == VAL_BLOCK && v.block.info->is_descriptor == is_descriptor) {
        *info = v.block.info;
        return true;
    }
    elab_fail(e, call->spans[0], elab_argument, call->builtin->name, call_param_name(call, 0),
              is_descriptor ? "a tensor descriptor" : "a block pointer", elab_type_text(e, v));
    if (v.kind == VAL_BLOCK)
        elab_hint(e, is_descriptor ? "block pointers are for tl.load and tl.store"
                                   : "descriptors are read by desc.load(offsets) and written by "
                                     "desc.store(offsets, value)");
    return false;
}

Val builtin_advance(Call *call) {
    Elab *e = call->e;
    const BlockInfo *info;
    if (!want_block(call, false, &info))
        return val_error();
    uint32_t n = (uint32_t)info->tile->rank, count = val_block_parts(call->args[0]);
    Val by[MAX_RANK];
    if (!same_length(call, 0, n, 1, list_length(call, 1)) ||
        !index_values(call, 1, n, offset_value, ELEM_I64, by))
        return val_error();
    Val *parts = ARENA_ARRAY(e->arena, Val, count), moved = call->args[0];
    memcpy(parts, moved.block.parts, count * sizeof *parts);
    for (uint32_t d = 0; d < n; d++) {
        Val *at = &parts[1 + 2 * n + d];
        int64_t step;
        if (!value_int_constant(by[d].tile.ir, &step) || step != 0)
            *at = op_like(build_addi(&e->builder, at->tile.ir, by[d].tile.ir), *at);
    }
    moved.block.parts = parts;
    return moved;
}

/* Accesses */

/* The dimensions of boundary_check as a mask. */
static bool checked_dimensions(Call *call, int param, int rank, int64_t *checked) {
    int count;
    int64_t dims[MAX_RANK];
    *checked = 0;
    if (val_missing(call->args[param]))
        return true;
    const Val *items;
    uint32_t n;
    call_list(call, param, &items, &n);
    bool ok = n <= (uint32_t)rank && call_ints(call, param, &count, dims, MAX_RANK);
    for (int i = 0; ok && i < count; i++) {
        ok = dims[i] >= 0 && dims[i] < rank && !(*checked >> dims[i] & 1);
        *checked |= ok ? (int64_t)1 << dims[i] : 0;
    }
    if (!ok)
        elab_fail(call->e, call->spans[param], elab_block_dimension, call->builtin->name, rank - 1);
    return ok;
}

static bool call_padding(Call *call, int param, const BlockInfo *info, Padding *padding) {
    int64_t value;
    if (!call_enum(call, param, ATTR_PADDING, "", &value))
        return false;
    *padding = (Padding)value;
    if (*padding != PADDING_NAN ||
        (elem_is_float(info->scalar.elem) && !elem_is_held_as_bits(info->scalar.elem)))
        return true;
    elab_fail(call->e, call->spans[param], elab_block_padding, call->builtin->name);
    return false;
}

/* The access of a block pointer, or of a descriptor at `offsets`. */
static Op *build_access(Elab *e, OpCode code, Val block, const Val *offsets, Value *value,
                        int64_t checked) {
    const Type *tile = block.block.info->tile;
    uint32_t n = (uint32_t)tile->rank;
    Value *groups[3][MAX_RANK];
    for (uint32_t d = 0; d < n; d++) {
        Val extent = block.block.parts[1 + d];
        groups[0][d] =
            op_cast(e, e->builder.span, extent, scalar_number(ELEM_I64), ROUND_RTNE).tile.ir;
        groups[1][d] = block.block.parts[1 + n + d].tile.ir;
        groups[2][d] = offsets[d].tile.ir;
    }
    return build_block_access(&e->builder, code, block.block.parts[0].tile.ir, value, groups[0],
                              groups[1], groups[2], checked, tile);
}

static bool no_masks(Call *call, int first, int last) {
    for (int param = first; param <= last; param++) {
        if (val_missing(call->args[param]))
            continue;
        elab_fail(call->e, call->spans[param], elab_block_mask, call->builtin->name,
                  call_param_name(call, param));
        elab_hint(call->e, "use boundary_check= and padding_option=");
        return false;
    }
    return true;
}

Val block_load(Call *call, CacheModifier cache, EvictionPolicy evict, bool is_volatile) {
    const BlockInfo *info;
    int64_t checked;
    Padding padding;
    if (!want_block(call, false, &info) || !no_masks(call, 1, 2) ||
        !checked_dimensions(call, 3, info->tile->rank, &checked) ||
        !call_padding(call, 4, info, &padding))
        return val_error();
    Val block = call->args[0];
    const Val *offsets = block.block.parts + 1 + 2 * info->tile->rank;
    Op *op = build_access(call->e, OP_load_block, block, offsets, NULL, checked);
    *load_block_attrs(op) = (struct load_block_attrs){.checked = checked,
                                                      .padding = padding,
                                                      .cache = cache,
                                                      .evict = evict,
                                                      .is_volatile = is_volatile};
    return val_tile(op_out(op), info->scalar);
}

static bool block_writable(Call *call, const BlockInfo *info) {
    if (!info->scalar.is_const)
        return true;
    elab_fail(call->e, call->spans[0], elab_const_pointer, call->builtin->name,
              elab_type_text(call->e, call->args[0]));
    elab_hint(call->e, "drop the `k` of the parameter's type in the signature");
    return false;
}

/* The value to write, as elements of the block; a scalar fills it where `may_fill`. */
static bool block_value(Call *call, int param, const BlockInfo *info, bool may_fill, Val *value) {
    Elab *e = call->e;
    if (!call_tile(call, param, value))
        return false;
    ScalarType type = scalar_number(info->scalar.elem);
    *value = op_cast(e, call->spans[param], *value, type, ROUND_RTNE);
    if (val_failed(*value))
        return false;
    if (may_fill && !val_has_shape(*value))
        *value = op_splat(e, *value, info->tile);
    if (val_ir_type(*value) == info->tile)
        return true;
    StrBuf wanted = strbuf(e->arena);
    val_print(val_type(type, info->tile), false, &wanted);
    elab_fail(e, call->spans[param], elab_block_value, call->builtin->name,
              elab_type_text(e, *value), wanted.ptr);
    return false;
}

Val block_store(Call *call, CacheModifier cache, EvictionPolicy evict) {
    const BlockInfo *info;
    int64_t checked;
    Val value;
    if (!want_block(call, false, &info) || !block_writable(call, info) || !no_masks(call, 2, 2) ||
        !checked_dimensions(call, 3, info->tile->rank, &checked) ||
        !block_value(call, 1, info, true, &value))
        return val_error();
    Val block = call->args[0];
    const Val *offsets = block.block.parts + 1 + 2 * info->tile->rank;
    Op *op = build_access(call->e, OP_store_block, block, offsets, value.tile.ir, checked);
    *store_block_attrs(op) =
        (struct store_block_attrs){.checked = checked, .cache = cache, .evict = evict};
    return val_none();
}

/* Descriptors */

static bool descriptor_shape(Call *call, int rank, const int64_t *block, Val base) {
    Elab *e = call->e;
    if (rank < 1 || rank > MAX_DESCRIPTOR_RANK) {
        elab_fail(e, call->spans[3], elab_block_rank, (unsigned)rank);
        return false;
    }
    if (!same_length(call, 3, (uint32_t)rank, 1, list_length(call, 1)) ||
        !same_length(call, 3, (uint32_t)rank, 2, list_length(call, 2)))
        return false;
    int64_t bytes = block[rank - 1] * dtype_bytes(elem_info[base.tile.scalar.elem].ir);
    if (bytes < MIN_DESCRIPTOR_BYTES) {
        elab_fail(e, call->spans[3], elab_block_bytes, (long long)bytes);
        return false;
    }
    const Val *strides;
    uint32_t count;
    Wide last;
    call_list(call, 2, &strides, &count);
    if (val_known_int(strides[count - 1], &last) && last == 1)
        return true;
    elab_fail(e, call->spans[2], elab_block_stride,
              val_is_number(strides[count - 1]) ? val_text(e->arena, strides[count - 1])
                                                : elab_type_text(e, strides[count - 1]));
    elab_hint(e, "write 1, or transpose after loading");
    return false;
}

Val builtin_make_tensor_descriptor(Call *call) {
    Elab *e = call->e;
    Val base;
    int rank;
    int64_t block[MAX_RANK];
    Padding padding;
    if (!base_pointer(call, &base) || !call_shape(call, 3, &rank, block) ||
        !descriptor_shape(call, rank, block, base))
        return val_error();
    uint32_t n = (uint32_t)rank;
    BlockInfo elements = {.scalar = scalar_number(base.tile.scalar.elem)};
    Val *parts = ARENA_ARRAY(e->arena, Val, 1 + 2 * n);
    parts[0] = base;
    if (!call_padding(call, 4, &elements, &padding) ||
        !index_values(call, 1, n, index_value, ELEM_I32, parts + 1) ||
        !index_values(call, 2, n, index_value, ELEM_I64, parts + 1 + n))
        return val_error();
    return new_block(call, base, true, rank, block, padding, parts);
}

static int64_t all_dimensions(const BlockInfo *info) {
    return ((int64_t)1 << info->tile->rank) - 1;
}

/* The descriptor and the place of the access. */
static bool descriptor_access(Call *call, const BlockInfo **info, Val *offsets) {
    return want_block(call, true, info) &&
           same_length(call, 0, (uint32_t)(*info)->tile->rank, 1, list_length(call, 1)) &&
           index_values(call, 1, (uint32_t)(*info)->tile->rank, offset_value, ELEM_I32, offsets);
}

Val builtin_descriptor_load(Call *call) {
    const BlockInfo *info;
    Val offsets[MAX_RANK];
    if (!descriptor_access(call, &info, offsets))
        return val_error();
    Op *op =
        build_access(call->e, OP_load_block, call->args[0], offsets, NULL, all_dimensions(info));
    load_block_attrs(op)->padding = info->padding;
    load_block_attrs(op)->described = true;
    return val_tile(op_out(op), scalar_number(info->scalar.elem));
}

Val builtin_descriptor_store(Call *call) {
    const BlockInfo *info;
    Val offsets[MAX_RANK], value;
    if (!descriptor_access(call, &info, offsets) || !block_writable(call, info) ||
        !block_value(call, 2, info, false, &value))
        return val_error();
    build_access(call->e, OP_store_block, call->args[0], offsets, value.tile.ir,
                 all_dimensions(info));
    return val_none();
}

static AtomicOp descriptor_operation(Call *call, Elem elem) {
    bool is_signed = elem_info[elem].is_signed;
    switch ((int)call_id(call)) {
    case BUILTIN_descriptor_max:
        return is_signed ? RMW_SMAX : RMW_UMAX;
    case BUILTIN_descriptor_min:
        return is_signed ? RMW_SMIN : RMW_UMIN;
    case BUILTIN_descriptor_and:
        return RMW_AND;
    case BUILTIN_descriptor_or:
        return RMW_OR;
    case BUILTIN_descriptor_xor:
        return RMW_XOR;
    default:
        return elem_is_float(elem) ? RMW_FADD : RMW_ADD;
    }
}

Val builtin_descriptor_atomic(Call *call) {
    Elab *e = call->e;
    const BlockInfo *info;
    Val offsets[MAX_RANK], value;
    if (!descriptor_access(call, &info, offsets) || !block_writable(call, info) ||
        !block_value(call, 2, info, false, &value))
        return val_error();
    Elem elem = info->scalar.elem;
    bool adds = call_id(call) == BUILTIN_descriptor_add;
    bool ok = elem_is_float(elem) ? adds && elem_bits(elem) >= 16 : elem_bits(elem) >= 32;
    if (!ok) {
        elab_fail(e, call->span, elab_atomic_type, call->builtin->name, elem_info[elem].text);
        elab_hint(e, "integers of 32 or 64 bits work; atomic_add takes fp16, bf16, fp32 and fp64 "
                     "too");
        return val_error();
    }
    Op *op = build_access(e, OP_atomic_block, call->args[0], offsets, value.tile.ir,
                          all_dimensions(info));
    atomic_block_attrs(op)->kind = descriptor_operation(call, elem);
    return val_none();
}

/* Rows named one by one */

/* x_offsets: the rows, a tile of integers; gathered blocks have one row each. */
static bool row_access(Call *call, const BlockInfo **info, int x_param, Val *x, Val *y) {
    Elab *e = call->e;
    if (!want_block(call, true, info) || !call_tile(call, x_param, x))
        return false;
    *y = offset_value(call, x_param + 1, call->args[x_param + 1], ELEM_I32);
    if (val_failed(*y))
        return false;
    const Type *tile = (*info)->tile, *rows = val_ir_type(*x);
    bool ok = tile->rank == 2 && tile->shape[0] == 1 &&
              tile->shape[1] * type_element_bytes(tile) >= MIN_ROW_BYTES && rows->rank == 1 &&
              rows->shape[0] >= MIN_ROWS && scalar_is_int(x->tile.scalar);
    if (ok)
        return true;
    elab_fail(e, call->span, elab_descriptor_rows, call->builtin->name,
              elab_type_text(e, call->args[0]), elab_type_text(e, *x));
    return false;
}

/* Arguments of the helpers in std.tile up to the column. */
static uint32_t row_arguments(Val desc, Val x, Val y, Val *out) {
    const Val *parts = desc.block.parts;
    out[0] = parts[0];
    out[1] = parts[1];
    out[2] = parts[2];
    out[3] = parts[3];
    out[4] = x;
    out[5] = y;
    return 6;
}

Val builtin_descriptor_gather(Call *call) {
    const BlockInfo *info;
    Val x, y, args[8];
    if (!row_access(call, &info, 1, &x, &y))
        return val_error();
    uint32_t n = row_arguments(call->args[0], x, y, args);
    args[n++] = val_int(info->tile->shape[1]);
    args[n++] = info->padding == PADDING_NAN ? val_float(__builtin_nan("")) : val_int(0);
    return elab_call_values(call->e, call->span, elab_std(call->e, STR("_gather_rows")), args, n);
}

Val builtin_descriptor_scatter(Call *call) {
    Elab *e = call->e;
    const BlockInfo *info;
    Val x, y, args[8];
    if (!row_access(call, &info, 2, &x, &y) || !block_writable(call, info))
        return val_error();
    int64_t shape[2] = {val_ir_type(x)->shape[0], info->tile->shape[1]};
    BlockInfo rows = *info;
    rows.tile = type_with_shape(e->ctx, info->tile, 2, shape);
    Val value;
    if (!block_value(call, 1, &rows, false, &value))
        return val_error();
    uint32_t n = row_arguments(call->args[0], x, y, args);
    args[n++] = value;
    args[n++] = val_int(info->tile->shape[1]);
    return elab_call_values(e, call->span, elab_std(e, STR("_scatter_rows")), args, n);
}
