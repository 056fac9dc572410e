/* Loads, stores and atomics. Pointers to int1 are bytes in memory: they load as int8, nonzero is
 * true. */
#include "frontend/builtins.h"
#include "frontend/language.h"

/* The pointer argument, as a pointer to what memory holds. */
static bool call_pointer(Call *call, Val *out) {
    Elab *e = call->e;
    if (!call_tile(call, 0, out))
        return false;
    if (!out->tile.scalar.pointer) {
        elab_fail(e, call->spans[0], elab_argument, call->builtin->name, call_param_name(call, 0),
                  "a pointer or a tile of pointers", elab_type_text(e, *out));
        elab_hint(
            e, "give the kernel parameter a pointer type in the signature, such as *fp32, and add "
               "offsets to it");
        return false;
    }
    return true;
}

static Val as_bytes(Elab *e, Span span, Val pointer) {
    if (pointer.tile.scalar.elem != ELEM_I1)
        return pointer;
    ScalarType bytes = {ELEM_I8, true, pointer.tile.scalar.is_const};
    return op_cast(e, span, pointer, bytes, ROUND_RTNE);
}

/* The mask: boolean, of the pointer's shape or broadcast to it together with the pointer. */
static bool call_mask(Call *call, int param, Val *pointer, Val *mask, bool may_grow) {
    Elab *e = call->e;
    *mask = val_of(VAL_ABSENT);
    if (val_missing(call->args[param]))
        return true;
    if (!call_tile(call, param, mask))
        return false;
    if (!scalar_is_bool(mask->tile.scalar)) {
        elab_fail(e, call->spans[param], elab_mask, call->builtin->name, elab_type_text(e, *mask));
        elab_hint(e, "compare: mask != 0");
        return false;
    }
    if (val_has_shape(*mask) && !val_has_shape(*pointer)) {
        elab_fail(e, call->spans[param], elab_mask_shape, elab_type_text(e, *mask),
                  elab_type_text(e, *pointer));
        elab_hint(e, "make the pointer a tile: ptr + tl.arange(0, N)");
        return false;
    }
    if (may_grow)
        return op_broadcast(e, call->spans[param], pointer, mask);
    const Type *type = val_ir_type(*pointer);
    Val grown = *pointer;
    if (!op_broadcast(e, call->spans[param], &grown, mask))
        return false;
    if (val_ir_type(grown) != type) {
        elab_fail(e, call->spans[param], elab_mask_shape, elab_type_text(e, *mask),
                  elab_type_text(e, *pointer));
        return false;
    }
    return true;
}

/* A value of the pointer's shape and element type. */
static bool call_value(Call *call, int param, Val pointer, ScalarType type, Val *value) {
    Elab *e = call->e;
    if (!call_tile(call, param, value))
        return false;
    if (val_has_shape(*value) && !val_has_shape(pointer)) {
        elab_fail(e, call->spans[param], elab_value_shape, elab_type_text(e, *value),
                  elab_type_text(e, pointer));
        elab_hint(e, "make the pointer a tile: ptr + tl.arange(0, N)");
        return false;
    }
    const Type *shape = val_ir_type(pointer);
    *value = op_cast(e, call->spans[param], *value, type, ROUND_RTNE);
    Val grown = pointer;
    if (val_failed(*value) || !op_broadcast(e, call->spans[param], &grown, value))
        return false;
    if (val_ir_type(grown) == shape)
        return true;
    elab_fail(e, call->spans[param], elab_value_shape, elab_type_text(e, *value),
              elab_type_text(e, pointer));
    return false;
}

static bool no_boundary_check(Call *call, int check, int padding) {
    Elab *e = call->e;
    Val v = call->args[check];
    bool checks = !val_missing(v) && !(v.kind == VAL_TUPLE && v.tuple.count == 0);
    Str text = STR("");
    if (padding >= 0 && !call_string(call, padding, &text))
        return false;
    if (!checks && text.len == 0)
        return true;
    elab_fail(e, call->spans[checks ? check : padding], elab_boundary_check, call->builtin->name,
              call_param_name(call, checks ? check : padding));
    elab_hint(e, "bound plain pointers with mask=");
    return false;
}

static bool load_cache(Call *call, int param, CacheModifier *cache) {
    int64_t value;
    if (!call_enum(call, param, ATTR_CACHE, ".", &value))
        return false;
    *cache = (CacheModifier)value;
    if (*cache == CACHE_CS && !elab_has_feature(call->e, call->spans[param], LANGUAGE_HAS_load_cs))
        return false;
    if (*cache != CACHE_WB && *cache != CACHE_WT)
        return true;
    elab_fail(call->e, call->spans[param], elab_option, "load", "cache_modifier",
              STR_ARG(call->args[param].s));
    elab_hint(call->e, "one of '.ca', '.cg', '.cs', '.cv'");
    return false;
}

static bool store_cache(Call *call, int param, CacheModifier *cache) {
    int64_t value;
    if (!call_enum(call, param, ATTR_CACHE, ".", &value))
        return false;
    *cache = (CacheModifier)value;
    if (*cache != CACHE_CA && *cache != CACHE_CV)
        return true;
    elab_fail(call->e, call->spans[param], elab_option, "store", "cache_modifier",
              STR_ARG(call->args[param].s));
    elab_hint(call->e, "one of '.wb', '.cg', '.cs', '.wt'");
    return false;
}

static Val zeros(Elab *e, ScalarType type, Val shape) {
    Val zero = op_constant(e, scalar_is_float(type) ? val_float(0) : val_int(0), type.elem);
    return val_has_shape(shape) ? op_splat(e, zero, val_ir_type(shape)) : zero;
}

Val builtin_load(Call *call) {
    Elab *e = call->e;
    Val pointer, mask, other = val_of(VAL_ABSENT);
    CacheModifier cache;
    int64_t evict;
    bool is_volatile;
    if (!load_cache(call, 5, &cache) || !call_enum(call, 6, ATTR_EVICT, "", &evict) ||
        !call_flag(call, 7, &is_volatile))
        return val_error();
    /* What is fetched again each time is what others may have written; of both, volatile says so.
     */
    if (is_volatile && cache == CACHE_CV)
        cache = CACHE_NONE;
    is_volatile |= cache == CACHE_CV;
    if (call->args[0].kind == VAL_BLOCK)
        return block_load(call, cache, (EvictionPolicy)evict, is_volatile);
    if (!call_pointer(call, &pointer) || !call_mask(call, 1, &pointer, &mask, true) ||
        !no_boundary_check(call, 3, 4))
        return val_error();
    bool is_bool = pointer.tile.scalar.elem == ELEM_I1;
    pointer = as_bytes(e, call->span, pointer);
    ScalarType type = scalar_number(pointer.tile.scalar.elem);
    if (!val_missing(call->args[2])) {
        if (val_missing(mask)) {
            elab_fail(e, call->spans[2], elab_other_without_mask);
            elab_hint(e, "add mask=, or drop other=");
            return val_error();
        }
        Val shape = pointer;
        if (!call_value(call, 2, shape, type, &other))
            return val_error();
    }
    /* What is computed of elements that are left out is checked, too. */
    if (e->request->sanitize_overflow && !val_missing(mask) && val_missing(other))
        other = zeros(e, type, pointer);
    Value *ir = build_load(&e->builder, pointer.tile.ir, val_missing(mask) ? NULL : mask.tile.ir,
                           val_missing(other) ? NULL : other.tile.ir, cache, (EvictionPolicy)evict,
                           is_volatile, 0, false, false, false, 0);
    Val loaded = val_tile(ir, type);
    return is_bool ? op_to_bool(e, call->span, loaded) : loaded;
}

static bool writable(Call *call, Val pointer) {
    if (!pointer.tile.scalar.is_const)
        return true;
    elab_fail(call->e, call->spans[0], elab_const_pointer, call->builtin->name,
              elab_type_text(call->e, pointer));
    elab_hint(call->e, "drop the `k` of the parameter's type in the signature");
    return false;
}

Val builtin_store(Call *call) {
    Elab *e = call->e;
    Val pointer, mask, value;
    CacheModifier cache;
    int64_t evict;
    if (!store_cache(call, 4, &cache) || !call_enum(call, 5, ATTR_EVICT, "", &evict))
        return val_error();
    if (call->args[0].kind == VAL_BLOCK)
        return block_store(call, cache, (EvictionPolicy)evict);
    if (!call_pointer(call, &pointer) || !writable(call, pointer) ||
        !call_mask(call, 2, &pointer, &mask, false) || !no_boundary_check(call, 3, -1))
        return val_error();
    pointer = as_bytes(e, call->span, pointer);
    if (!call_value(call, 1, pointer, scalar_number(pointer.tile.scalar.elem), &value))
        return val_error();
    build_store(&e->builder, pointer.tile.ir, value.tile.ir,
                val_missing(mask) ? NULL : mask.tile.ir, cache, (EvictionPolicy)evict, 0);
    return val_none();
}

/* Atomics */

typedef struct AtomicArgs {
    Val pointer, value, mask;
    int64_t sem, scope;
} AtomicArgs;

static bool atomic_type(Call *call, Elem elem) {
    BuiltinId id = call_id(call);
    bool half = elem == ELEM_F16 || elem == ELEM_BF16;
    bool ok = elem_bits(elem) >= 32 || (half && id == BUILTIN_atomic_add);
    if (ok && elem == ELEM_BF16)
        return elab_has_feature(call->e, call->span, LANGUAGE_HAS_atomic_bf16);
    if (ok)
        return true;
    elab_fail(call->e, call->span, elab_atomic_type, call->builtin->name, elem_info[elem].text);
    elab_hint(call->e,
              "integers and floats of 32 or 64 bits work; atomic_add takes fp16 and bf16 too");
    return false;
}

static bool atomic_args(Call *call, AtomicArgs *args) {
    if (!call_pointer(call, &args->pointer) || !writable(call, args->pointer) ||
        !atomic_type(call, args->pointer.tile.scalar.elem) ||
        !call_mask(call, 2, &args->pointer, &args->mask, false) ||
        !call_enum(call, 3, ATTR_SEM, "", &args->sem) ||
        !call_enum(call, 4, ATTR_SCOPE, "", &args->scope))
        return false;
    return call_value(call, 1, args->pointer, scalar_number(args->pointer.tile.scalar.elem),
                      &args->value);
}

static Value *atomic(Elab *e, const AtomicArgs *args, AtomicOp op) {
    Value *mask = val_missing(args->mask) ? NULL : args->mask.tile.ir;
    return build_atomic_rmw(&e->builder, args->pointer.tile.ir, args->value.tile.ir, mask, op,
                            (MemorySemantic)args->sem, (MemoryScope)args->scope, 0);
}

/* The same atomic on the bits, where `on` holds (absent: everywhere), with elements read as `elem`.
 */
static Val atomic_bits(Elab *e, Span span, const AtomicArgs *args, Elem elem, Val on, AtomicOp op) {
    AtomicArgs bits = *args;
    bits.pointer =
        op_cast(e, span, args->pointer, (ScalarType){.elem = elem, .pointer = true}, ROUND_RTNE);
    bits.value = op_bitcast(e, span, args->value, scalar_number(elem));
    if (val_missing(args->mask))
        bits.mask = on;
    else if (!val_missing(on))
        bits.mask = op_like(build_andi(&e->builder, args->mask.tile.ir, on.tile.ir), on);
    return val_tile(atomic(e, &bits, op), scalar_number(elem));
}

/* Floats order like their bits: as signed integers from zero up, reversed as unsigned ones below
 * it. */
static Val atomic_float_order(Call *call, const AtomicArgs *args, bool is_max) {
    Elab *e = call->e;
    Span span = call->span;
    Elem elem = args->value.tile.scalar.elem;
    int bits = elem_bits(elem);
    Val as_int = op_bitcast(e, span, args->value, scalar_number(elem_int(bits, true)));
    Val positive = elab_compare(e, span, ASTOP_ge, as_int, val_int(0));
    Val negative = elab_unary(e, span, ASTOP_not, positive);
    Val up =
        atomic_bits(e, span, args, elem_int(bits, true), positive, is_max ? RMW_SMAX : RMW_SMIN);
    Val down =
        atomic_bits(e, span, args, elem_int(bits, false), negative, is_max ? RMW_UMIN : RMW_UMAX);
    if (val_failed(up) || val_failed(down))
        return val_error();
    Value *ir = build_select(&e->builder, positive.tile.ir, up.tile.ir, down.tile.ir);
    return op_bitcast(e, span, op_like(ir, up), scalar_number(elem));
}

/* and, or, xor of floats are those of their bits; the value is a float first, as in Triton. */
static Val atomic_float_bits(Call *call, const AtomicArgs *args, AtomicOp op) {
    Elem elem = args->value.tile.scalar.elem, bits = elem_int(elem_bits(elem), true);
    Val old = atomic_bits(call->e, call->span, args, bits, val_of(VAL_ABSENT), op);
    return op_bitcast(call->e, call->span, old, scalar_number(elem));
}

Val builtin_atomic(Call *call) {
    AtomicArgs args;
    if (!atomic_args(call, &args))
        return val_error();
    Elem elem = args.value.tile.scalar.elem;
    bool is_float = elem_is_float(elem), is_signed = elem_info[elem].is_signed;
    AtomicOp op = RMW_XCHG;
    switch ((int)call_id(call)) {
    case BUILTIN_atomic_add:
        op = is_float ? RMW_FADD : RMW_ADD;
        break;
    case BUILTIN_atomic_max:
        if (is_float)
            return atomic_float_order(call, &args, true);
        op = is_signed ? RMW_SMAX : RMW_UMAX;
        break;
    case BUILTIN_atomic_min:
        if (is_float)
            return atomic_float_order(call, &args, false);
        op = is_signed ? RMW_SMIN : RMW_UMIN;
        break;
    case BUILTIN_atomic_and:
        op = RMW_AND;
        break;
    case BUILTIN_atomic_or:
        op = RMW_OR;
        break;
    case BUILTIN_atomic_xor:
        op = RMW_XOR;
        break;
    }
    bool on_bits = is_float && (op == RMW_AND || op == RMW_OR || op == RMW_XOR);
    Val old = on_bits ? atomic_float_bits(call, &args, op)
                      : op_like(atomic(call->e, &args, op), args.value);
    if (!call->e->request->sanitize_overflow || val_missing(args.mask))
        return old;
    Val none = zeros(call->e, old.tile.scalar, old);
    Builder *builder = &call->e->builder;
    return op_like(build_select(builder, args.mask.tile.ir, old.tile.ir, none.tile.ir), old);
}

/* Whether a value has the element type: a run-time one but for its sign, a number its kind. */
static bool is_of_elem(Elab *e, Span span, Val v, Elem wanted) {
    if (!val_is_tile(v)) {
        Elem own;
        return op_number_elem(e, span, v, &own) && elem_is_float(own) == elem_is_float(wanted);
    }
    ScalarType type = v.tile.scalar;
    if (type.pointer || elem_is_float(type.elem) || elem_is_float(wanted))
        return !type.pointer && type.elem == wanted;
    return elem_bits(type.elem) == elem_bits(wanted);
}

static bool number_fits(Val v, Elem elem) {
    if (v.kind != VAL_INT || !elem_is_int(elem))
        return true;
    int bits = elem_bits(elem);
    return v.i >= elem_min(elem_int(bits, true)) && v.i <= elem_max(elem_int(bits, false));
}

/* What is compared and stored is not converted: that would be to look for another value. */
static bool cas_value(Call *call, int param, Val pointer, Val *value) {
    Elab *e = call->e;
    const Val v = call->args[param];
    Span span = call->spans[param];
    Elem elem = pointer.tile.scalar.elem;
    if (!call_number(call, param))
        return false;
    if (!is_of_elem(e, span, v, elem)) {
        elab_fail(e, span, elab_argument, "atomic_cas", call_param_name(call, param),
                  str_format(e->arena, "%s, as the pointer has", elem_info[elem].text),
                  elab_type_text(e, v));
        if (val_is_tile(v))
            elab_hint(e, "convert it, as in x.to(tl.%s)", elem_info[elem].name);
        else
            elab_hint(e, "write it as %s", elem_is_float(elem) ? "a float: 1.0" : "an integer: 1");
        return false;
    }
    if (!number_fits(v, elem)) {
        elab_fail(e, span, elab_int_too_big, val_text(e->arena, v), elem_info[elem].text);
        return false;
    }
    return call_value(call, param, pointer, scalar_number(elem), value);
}

Val builtin_atomic_cas(Call *call) {
    Elab *e = call->e;
    Val pointer, expected, desired;
    int64_t sem, scope;
    if (!call_pointer(call, &pointer) || !writable(call, pointer))
        return val_error();
    Elem elem = pointer.tile.scalar.elem;
    if (elem_bits(elem) < 16)
        return elab_fail(e, call->span, elab_atomic_type, "atomic_cas", elem_info[elem].text);
    if (!cas_value(call, 1, pointer, &expected) || !cas_value(call, 2, pointer, &desired) ||
        !call_enum(call, 3, ATTR_SEM, "", &sem) || !call_enum(call, 4, ATTR_SCOPE, "", &scope))
        return val_error();
    Value *ir = build_atomic_cas(&e->builder, pointer.tile.ir, expected.tile.ir, desired.tile.ir,
                                 (MemorySemantic)sem, (MemoryScope)scope);
    return op_like(ir, expected);
}
