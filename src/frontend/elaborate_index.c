/* The index of a loop behind the loop: as in Python its last value. What it is computed from is
 * kept beside the variable, and the code for it is made where the variable is used. */
#include "frontend/elaborate.h"

struct LastIndex {
    Val lo, hi, step; /* scalars of one type */
    Val before; /* what it is where the loop does not run; of another type: that is undefined */
};

Val elab_index_behind(Elab *e, Span span, Val lo, Val hi, Val step, const Val *before) {
    LastIndex *last = ARENA_NEW(e->arena, LastIndex);
    *last = (LastIndex){lo, hi, step, before ? *before : val_none()};
    Undefined *undefined = ARENA_NEW(e->arena, Undefined);
    *undefined = (Undefined){
        .why = "is the index of a loop, which has ended", .span = elab_span(e, span), .last = last};
    return (Val){.kind = VAL_UNDEFINED, .undefined = undefined};
}

static Val choose(Elab *e, Val condition, Val yes, Val no) {
    return op_like(build_select(&e->builder, condition.tile.ir, yes.tile.ir, no.tile.ir), yes);
}

Val elab_last_index(Elab *e, Span span, const LastIndex *last) {
    if (elab_no_builder(e, span, "the index of a loop"))
        return val_error();
    const ScalarType type = last->lo.tile.scalar;
    const ScalarType bits = scalar_number(elem_int(elem_bits(type.elem), false));
    Val zero = op_constant(e, val_int(0), type.elem), one = op_constant(e, val_int(1), bits.elem);
    Val up = elab_compare(e, span, ASTOP_gt, last->step, zero);
    Val runs = choose(e, up, elab_compare(e, span, ASTOP_lt, last->lo, last->hi),
                      elab_compare(e, span, ASTOP_gt, last->lo, last->hi));
    /* Without a sign: the distance between two bounds need not fit their type. */
    Val from = choose(e, up, last->lo, last->hi), to = choose(e, up, last->hi, last->lo);
    Val distance = op_cast(e, span, elab_wrapping(e, span, ASTOP_sub, to, from), bits, ROUND_RTNE);
    Val stride = choose(e, up, last->step, elab_wrapping(e, span, ASTOP_sub, zero, last->step));
    stride = op_cast(e, span, stride, bits, ROUND_RTNE);
    Val count = elab_binary(e, span, ASTOP_floordiv,
                            elab_wrapping(e, span, ASTOP_sub, distance, one), stride);
    Val moved =
        elab_wrapping(e, span, ASTOP_mul, op_cast(e, span, count, type, ROUND_RTNE), last->step);
    Val value = elab_wrapping(e, span, ASTOP_add, last->lo, moved);
    if (val_failed(value))
        return value;
    Val before = last->before;
    if (val_is_number(before))
        before = op_to_tensor(e, span, before);
    if (!val_same_shape(before, value))
        before = op_like(build_undef(&e->builder, val_ir_type(value)), value);
    return choose(e, runs, value, before);
}

void elab_settle(Elab *e, const Names *names, Names *settled) {
    Vars *vars = &e->frame->vars;
    for (size_t i = 0; i < vars->len; i++) {
        Val v = vars->data[i].val;
        if (v.kind != VAL_UNDEFINED || !v.undefined->last)
            continue;
        for (size_t n = 0; n < names->len; n++) {
            if (!str_eq(names->data[n], vars->data[i].name))
                continue;
            elab_set(e, v.undefined->span, vars->data[i].name,
                     elab_last_index(e, v.undefined->span, v.undefined->last));
            vec_push(e->arena, settled, names->data[n]);
        }
    }
}
