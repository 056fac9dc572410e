/* tl.inline_asm_elementwise: its operands brought to one shape, its registers counted. */
#include "frontend/builtins.h"
#include "ir/inline_asm.h"

enum { MAX_ASM_OPERANDS = 32 };

static Val fail(Call *call, int param, const char *what) {
    return elab_fail(call->e, call->spans[param], elab_asm, what);
}

/* Tiles of one shape. */
static bool operands(Call *call, Val *v, uint32_t *count) {
    Elab *e = call->e;
    Val list = call->args[2];
    if (list.kind != VAL_TUPLE || list.tuple.count > MAX_ASM_OPERANDS)
        return fail(call, 2, "args is a list of at most 32 values"), false;
    *count = list.tuple.count;
    for (uint32_t i = 0; i < *count; i++) {
        v[i] = op_to_tensor(e, call->spans[2], list.tuple.items[i]);
        if (val_failed(v[i]))
            return false;
        if (!val_is_tile(v[i]))
            return fail(call, 2, "args are tiles and numbers"), false;
    }
    for (uint32_t i = 0; i < 2 * *count; i++)
        if (!op_broadcast(e, call->spans[2], &v[0], &v[i % *count]))
            return false;
    return true;
}

/* The element types of the results; `text` names them as Tile IR does. */
static bool results(Call *call, ScalarType *types, uint32_t *count, StrBuf *text) {
    Val list = call->args[3];
    const Val *items = list.kind == VAL_TUPLE ? list.tuple.items : &call->args[3];
    *count = list.kind == VAL_TUPLE ? list.tuple.count : 1;
    if (*count == 0 || *count > ASM_MAX_RESULTS)
        return fail(call, 3, "dtype is a type or a tuple of 1 to 16 types"), false;
    for (uint32_t i = 0; i < *count; i++) {
        if (items[i].kind != VAL_TYPE || items[i].type.scalar.pointer)
            return fail(call, 3, "dtype is a type of numbers or a tuple of such"), false;
        types[i] = items[i].type.scalar;
        strbuf_printf(text, "%s%s", i ? ", " : "", dtype_info[elem_info[types[i].elem].ir].text);
    }
    return true;
}

static uint32_t bits_of(ScalarType type) {
    return type.pointer ? 64 : elem_bits(type.elem);
}

/* As many registers as the constraints name, and no $n beyond them. */
static bool check_registers(Call *call, const Val *v, uint32_t nargs, const ScalarType *types,
                            uint32_t nresults, uint32_t pack, Str text, Str constraints) {
    Arena *arena = call->e->arena;
    AsmRegisters registers;
    if (!asm_registers(constraints, &registers))
        return fail(call, 1,
                    "constraints are a list such as '=r,r,r': results, operands, clobbers; "
                    "registers are r, l, h, f, d"),
               false;
    uint32_t outputs = 0, inputs = 0, elements;
    for (uint32_t i = 0; i < nresults; i++)
        outputs += asm_registers_of(bits_of(types[i]), pack, &elements);
    for (uint32_t i = 0; i < nargs; i++)
        inputs += asm_registers_of(bits_of(v[i].tile.scalar), pack, &elements);
    if (outputs != registers.outputs || inputs != registers.count - registers.outputs)
        return fail(call, 1,
                    str_format(arena,
                               "the results take %u registers and the operands %u, the "
                               "constraints have %u and %u",
                               outputs, inputs, registers.outputs,
                               registers.count - registers.outputs)),
               false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '$')
            continue;
        uint32_t number = 0;
        size_t at = i + 1;
        for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && number < 1000; at++)
            number = 10 * number + (uint32_t)(text.ptr[at] - '0');
        if (at == i + 1 || number >= registers.count)
            return fail(call, 0,
                        str_format(arena, "the text has '$%.*s', the constraints have %u registers",
                                   (int)(at > i + 1 ? at - i - 1 : i + 1 < text.len),
                                   text.ptr + i + 1, registers.count)),
                   false;
    }
    return true;
}

Val builtin_inline_asm(Call *call) {
    Elab *e = call->e;
    Str text, constraints;
    Val v[MAX_ASM_OPERANDS], out[ASM_MAX_RESULTS];
    ScalarType types[ASM_MAX_RESULTS];
    uint32_t nargs, nresults;
    bool is_pure;
    int64_t pack;
    StrBuf names = strbuf(e->arena);
    if (!call_string(call, 0, &text) || !call_string(call, 1, &constraints) ||
        !call_flag(call, 4, &is_pure) || !call_int(call, 5, &pack) ||
        elab_no_builder(e, call->span, "inline_asm_elementwise") || !operands(call, v, &nargs) ||
        !results(call, types, &nresults, &names))
        return val_error();
    if (pack < 1 || pack > ASM_MAX_PACK)
        return fail(call, 5, "pack is 1 to 64");
    if (!is_pure && nresults > 1)
        return fail(call, 4, "a piece with effects has one result");
    if (!check_registers(call, v, nargs, types, nresults, (uint32_t)pack, text, constraints))
        return val_error();
    Value **in = ARENA_ARRAY(e->arena, Value *, (size_t)nargs + 1);
    for (uint32_t i = 0; i < nargs; i++)
        in[i] = v[i].tile.ir;
    for (uint32_t i = 0; i < nresults; i++) {
        DType dtype = elem_info[types[i].elem].ir;
        const Type *type = nargs ? type_with_element(e->ctx, in[0]->type, TYPE_NUMBER, dtype)
                                 : type_get(e->ctx, TYPE_NUMBER, dtype, 0, NULL, NULL);
        Builder *b = &e->builder;
        Value *ir = is_pure ? build_inline_asm(b, nargs, in, text, constraints, strbuf_str(&names),
                                               pack, i, type)
                            : build_effect_asm(b, nargs, in, text, constraints, strbuf_str(&names),
                                               pack, i, type);
        out[i] = val_tile(ir, types[i]);
    }
    if (nresults == 1 && call->args[3].kind != VAL_TUPLE)
        return out[0];
    Val *items = ARENA_ARRAY(e->arena, Val, nresults);
    memcpy(items, out, nresults * sizeof *items);
    return val_tuple(items, nresults);
}
