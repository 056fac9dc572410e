/* Hints to the analysis, barriers, prints and assertions. */
#include "frontend/builtins.h"

Val builtin_hint(Call *call) {
    Elab *e = call->e;
    Val x;
    int count;
    int64_t values[MAX_RANK];
    if (!call_tile(call, 0, &x) || !call_ints(call, 1, &count, values, MAX_RANK))
        return val_error();
    const Type *type = val_ir_type(x);
    int wanted = type->rank ? type->rank : 1;
    if (count != wanted)
        return elab_fail(e, call->spans[1], elab_hint_count, call->builtin->name, wanted, count);
    for (int i = 0; i < count; i++)
        if (values[i] <= 0)
            return elab_fail(e, call->spans[1], elab_hint_value, call->builtin->name,
                             (long long)values[i]);
    if (!type_is_int(type) && !type_is_pointer(type))
        return elab_fail(e, call->spans[0], elab_argument, call->builtin->name, "input",
                         "integers or pointers", elab_type_text(e, x));
    int64_t *kept = ARENA_ARRAY(e->arena, int64_t, (size_t)count);
    memcpy(kept, values, (size_t)count * sizeof *kept);
    Ints ints = {kept, (uint32_t)count};
    Builder *b = &e->builder;
    Value *ir = call_id(call) == BUILTIN_multiple_of ? build_hint_divisible(b, x.tile.ir, ints)
                : call_id(call) == BUILTIN_max_contiguous
                    ? build_hint_contiguous(b, x.tile.ir, ints)
                    : build_hint_constant(b, x.tile.ir, ints);
    return op_like(ir, x);
}

Val builtin_assume(Call *call) {
    Elab *e = call->e;
    Val v = call->args[0];
    if (val_is_tile(v) ? !scalar_is_bool(v.tile.scalar) : v.kind != VAL_BOOL) {
        elab_fail(e, call->spans[0], elab_argument, "assume", "cond", "a condition (int1)",
                  elab_type_text(e, v));
        elab_hint(e, "compare: x != 0");
        return val_error();
    }
    if (!val_is_tile(v))
        v = op_to_tensor(e, call->span, val_bool(val_truth(v)));
    v = elab_condition(e, call->spans[0], v, "tl.assume");
    if (val_failed(v))
        return v;
    build_assume(&e->builder, v.tile.ir);
    return val_none();
}

Val builtin_debug_barrier(Call *call) {
    build_barrier(&call->e->builder, false, false);
    return val_none();
}

Val builtin_gdc_wait(Call *call) {
    build_grid_wait(&call->e->builder);
    return val_none();
}

Val builtin_gdc_launch_dependents(Call *call) {
    build_grid_launch_dependents(&call->e->builder);
    return val_none();
}

/* The IR's integers have no sign of their own. */
static bool is_unsigned(ScalarType type) {
    return !type.pointer && elem_is_int(type.elem) && type.elem != ELEM_I1 &&
           !elem_info[type.elem].is_signed;
}

Val builtin_device_print(Call *call) {
    Elab *e = call->e;
    Str prefix;
    bool hex;
    if (!call_string(call, 0, &prefix) || !call_flag(call, 2, &hex))
        return val_error();
    for (size_t i = 0; i < prefix.len; i++) {
        unsigned char c = (unsigned char)prefix.ptr[i];
        if (c >= 0x7f || (c < 0x20 && c != '\n' && c != '\t'))
            return elab_fail(e, call->spans[0], elab_print_ascii);
    }
    if (call->rest_count > PRINT_MAX_OPERANDS)
        return elab_fail(e, call->span, elab_print_many, PRINT_MAX_OPERANDS);
    int64_t unsigned_operands = 0;
    Value **values = ARENA_ARRAY(e->arena, Value *, (size_t)call->rest_count + 1);
    for (uint32_t i = 0; i < call->rest_count; i++) {
        Val v = op_to_tensor(e, call->span, call->rest[i]);
        if (val_failed(v))
            return v;
        v = op_promote_bits(e, call->span, v);
        values[i] = v.tile.ir;
        unsigned_operands |= (int64_t)is_unsigned(v.tile.scalar) << i;
    }
    build_print(&e->builder, call->rest_count, values, ctx_intern(e->ctx, prefix), hex,
                unsigned_operands);
    return val_none();
}

Val builtin_device_assert(Call *call) {
    Elab *e = call->e;
    Str message;
    Val condition = call->args[0], mask = call->args[2];
    if (!call_number(call, 0) || !call_string(call, 1, &message))
        return val_error();
    if (!e->request->debug)
        return val_none();
    if (!val_is_tile(condition))
        condition = call->args[0] = val_bool(val_truth(condition));
    if (!call_tile(call, 0, &condition))
        return val_error();
    condition = op_to_bool(e, call->spans[0], condition);
    if (!val_missing(mask)) {
        if (!call_tile(call, 2, &mask))
            return val_error();
        Val off = elab_unary(e, call->spans[2], ASTOP_not, mask);
        condition = elab_logical(e, call->span, ASTOP_or, condition, off);
        if (val_failed(condition))
            return condition;
    }
    build_assert(&e->builder, condition.tile.ir, ctx_intern(e->ctx, message));
    return val_none();
}
