/* Attributes of types: x.dtype.is_fp16(), x.type.element_ty, .primitive_bitwidth, .shape.
 * Predicates are functions without arguments in the language; they come as methods bound to the
 * type. */
#include "frontend/elaborate.h"

/* Predicates: PREDICATE(name, condition on `t` (ScalarType), `block`). */
#define TYPE_PREDICATES(X)                                                                         \
    X(is_fp8, !t.pointer && elem_is_fp8(t.elem))                                                   \
    X(is_fp8e4nv, is(t, ELEM_F8E4NV))                                                              \
    X(is_fp8e5, is(t, ELEM_F8E5))                                                                  \
    X(is_fp8e4b8, is(t, ELEM_F8E4B8))                                                              \
    X(is_fp8e4b15, is(t, ELEM_F8E4B15))                                                            \
    X(is_fp8e5b16, is(t, ELEM_F8E5B16))                                                            \
    X(is_fp16, is(t, ELEM_F16))                                                                    \
    X(is_bf16, is(t, ELEM_BF16))                                                                   \
    X(is_fp32, is(t, ELEM_F32))                                                                    \
    X(is_fp64, is(t, ELEM_F64))                                                                    \
    X(is_int1, is(t, ELEM_I1))                                                                     \
    X(is_bool, is(t, ELEM_I1))                                                                     \
    X(is_int8, is(t, ELEM_I8))                                                                     \
    X(is_int16, is(t, ELEM_I16))                                                                   \
    X(is_int32, is(t, ELEM_I32))                                                                   \
    X(is_int64, is(t, ELEM_I64))                                                                   \
    X(is_uint8, is(t, ELEM_U8))                                                                    \
    X(is_uint16, is(t, ELEM_U16))                                                                  \
    X(is_uint32, is(t, ELEM_U32))                                                                  \
    X(is_uint64, is(t, ELEM_U64))                                                                  \
    X(is_floating, scalar_is_float(t))                                                             \
    X(is_standard_floating, scalar_is_float(t) && !elem_is_fp8(t.elem))                            \
    X(is_int, scalar_is_int(t))                                                                    \
    X(is_int_signed, scalar_is_int(t) && elem_info[t.elem].is_signed)                              \
    X(is_int_unsigned, scalar_is_int(t) && !elem_info[t.elem].is_signed)                           \
    X(is_ptr, t.pointer)                                                                           \
    X(is_const, t.pointer &&t.is_const)                                                            \
    X(is_block, block)

static bool is(ScalarType type, Elem elem) {
    return !type.pointer && type.elem == elem;
}

static bool predicate(Val type, Str name, bool *result) {
    ScalarType t = type.type.scalar;
    bool block = type.type.block != NULL;
#define X(id, condition)                                                                           \
    if (str_is(name, #id)) {                                                                       \
        *result = condition;                                                                       \
        return true;                                                                               \
    }
    TYPE_PREDICATES(X)
#undef X
    return false;
}

static Val bound(Elab *e, BuiltinId id, Val self) {
    Val *parts = ARENA_ARRAY(e->arena, Val, 2);
    parts[0] = self;
    parts[1] = (Val){.kind = VAL_BUILTIN, .builtin = &builtins[id]};
    return (Val){.kind = VAL_METHOD, .method = {&parts[0], &parts[1]}};
}

static Val bits_attribute(Elab *e, Span span, Val type, Str name) {
    ScalarType t = type.type.scalar;
    if (t.pointer)
        return str_is(name, "primitive_bitwidth")
                   ? val_int(64)
                   : elab_fail(e, span, elab_no_attribute, scalar_text(e->arena, t), STR_ARG(name));
    if (str_is(name, "itemsize"))
        return val_int(dtype_bytes(elem_info[t.elem].ir));
    bool wants_int = str_is(name, "int_bitwidth") || str_is(name, "int_signedness");
    if (wants_int && !elem_is_int(t.elem))
        return elab_fail(e, span, elab_no_attribute, scalar_text(e->arena, t), STR_ARG(name));
    if (str_is(name, "int_signedness"))
        return val_int(elem_info[t.elem].is_signed ? 0 : 1);
    return val_int(elem_bits(t.elem));
}

static bool one_of(Str name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool elab_type_has_attribute(Val type, Str name) {
    static const char *const
        always[] = {"value", "scalar", "dtype", "name", "primitive_bitwidth"},
        *const of_numbers[] = {"itemsize"}, *const of_ints[] = {"int_bitwidth", "int_signedness"},
        *const of_blocks[] = {"shape", "numel", "get_block_shapes", "element_ty"};
    const ScalarType t = type.type.scalar;
    bool truth;
    return predicate(type, name, &truth) || one_of(name, always, sizeof always / sizeof *always) ||
           (!t.pointer && one_of(name, of_numbers, 1)) ||
           (!t.pointer && elem_is_int(t.elem) && one_of(name, of_ints, 2)) ||
           (type.type.block && one_of(name, of_blocks, 4)) ||
           (t.pointer && str_is(name, "element_ty"));
}

Val elab_type_attribute(Elab *e, Span span, Val type, Str name) {
    static const char *const bits[] = {"primitive_bitwidth", "int_bitwidth", "itemsize",
                                       "int_signedness"};
    ScalarType t = type.type.scalar;
    const Type *block = type.type.block;
    bool truth;
    if (predicate(type, name, &truth))
        return bound(e, BUILTIN_type_predicate, val_bool(truth));
    if (str_is(name, "value"))
        return type;
    if (str_is(name, "scalar") || str_is(name, "dtype"))
        return val_type(t, NULL);
    if (str_is(name, "element_ty")) {
        if (block)
            return val_type(t, NULL);
        if (t.pointer)
            return val_type(scalar_number(t.elem), NULL);
    }
    if (str_is(name, "name"))
        return val_string(str_from(scalar_text(e->arena, t)));
    if (one_of(name, bits, sizeof bits / sizeof *bits))
        return bits_attribute(e, span, type, name);
    if (block && (str_is(name, "shape") || str_is(name, "numel"))) {
        if (str_is(name, "numel"))
            return val_int(type_numel(block));
        Val *dims = ARENA_ARRAY(e->arena, Val, MAX_RANK);
        for (int i = 0; i < block->rank; i++)
            dims[i] = val_int(block->shape[i]);
        return val_tuple(dims, (uint32_t)block->rank);
    }
    if (str_is(name, "get_block_shapes") && block)
        return bound(e, BUILTIN_type_predicate, elab_type_attribute(e, span, type, STR("shape")));
    elab_fail(e, span, elab_no_attribute, scalar_text(e->arena, t), STR_ARG(name));
    if (str_is(name, "element_ty"))
        elab_hint(e, "only pointers and tiles have an element type; this is the type of a scalar");
#define X(id, condition) STR(#id),
    static const Str names[] = {TYPE_PREDICATES(X) STR("element_ty"), STR("scalar"), STR("shape"),
                                STR("primitive_bitwidth"), STR("int_bitwidth")};
#undef X
    elab_suggest(e, name, names, sizeof names / sizeof *names);
    return val_error();
}
