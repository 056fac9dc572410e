/* The table of builtins and what their handlers share: arguments checked and converted. */
#include "frontend/builtins.h"

const Builtin builtins[BUILTIN_COUNT] = {
#define BUILTIN(id, name, modules, flags, params, handler)                                         \
    [BUILTIN_##id] = {name, modules, params, builtin_##handler, flags},
#include "frontend/builtins.def"
};

const Builtin *builtin_find(Str name, uint32_t modules) {
    for (int i = 0; i < BUILTIN_COUNT; i++) {
        bool method = (builtins[i].flags & BUILTIN_METHOD) && builtins[i].modules == 0;
        if (((builtins[i].modules & modules) || (method && (modules & IN_TL))) &&
            str_is(name, builtins[i].name))
            return &builtins[i];
    }
    return NULL;
}

const Builtin *builtin_find_method(Str name, BuiltinFlags of) {
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if ((builtins[i].flags & (uint32_t)of) && str_is(name, builtins[i].name))
            return &builtins[i];
    return NULL;
}

uint32_t builtin_names(uint32_t modules, Str *out, uint32_t capacity) {
    uint32_t n = 0;
    for (int i = 0; i < BUILTIN_COUNT && n < capacity; i++)
        if (builtins[i].modules & modules)
            out[n++] = str_from(builtins[i].name);
    return n;
}

bool val_known_int(Val v, Wide *out) {
    if (v.kind == VAL_INT || v.kind == VAL_BOOL) {
        *out = v.i;
        return true;
    }
    int64_t known;
    if (v.kind != VAL_TILE || val_has_shape(v) || !scalar_is_int(v.tile.scalar) ||
        !value_int_constant(v.tile.ir, &known))
        return false;
    bool wraps = !elem_info[v.tile.scalar.elem].is_signed;
    *out = wraps ? (Wide)known & elem_max(v.tile.scalar.elem) : known;
    return true;
}

static bool want(Call *call, int param, const char *wanted) {
    Val v = call->args[param];
    Elab *e = call->e;
    elab_fail(e, call->spans[param], elab_argument, call->builtin->name,
              call_param_name(call, param), wanted, elab_type_text(e, v));
    if (v.kind == VAL_TILE && strstr(wanted, "constexpr"))
        elab_hint(e, "annotate the variable `: tl.constexpr`, or pass the value as a constexpr "
                     "parameter");
    return false;
}

bool call_int(Call *call, int param, int64_t *out) {
    Wide i;
    if (!val_known_int(call->args[param], &i))
        return want(call, param, "a constexpr int");
    if (i < INT64_MIN || i > INT64_MAX)
        return want(call, param, "an int of 64 bits");
    *out = (int64_t)i;
    return true;
}

bool call_flag(Call *call, int param, bool *out) {
    Val v = call->args[param];
    Wide known;
    if (v.kind == VAL_TILE && !val_known_int(v, &known))
        return want(call, param, "a constexpr bool");
    *out = v.kind == VAL_TILE ? known != 0 : val_truth(v);
    return true;
}

bool call_string(Call *call, int param, Str *out) {
    Val v = call->args[param];
    *out = STR("");
    if (val_missing(v))
        return true;
    if (v.kind != VAL_STRING)
        return want(call, param, "a string");
    *out = v.s;
    return true;
}

bool call_number(Call *call, int param) {
    Val v = call->args[param];
    return val_is_tile(v) || val_is_number(v) || want(call, param, "a tile or a number");
}

bool call_tile(Call *call, int param, Val *out) {
    if (!call_number(call, param))
        return false;
    *out = op_to_tensor(call->e, call->spans[param], call->args[param]);
    return !val_failed(*out);
}

bool call_type(Call *call, int param, ScalarType *out) {
    Val v = call->args[param];
    if (v.kind != VAL_TYPE)
        return want(call, param, "a dtype such as tl.float32");
    *out = v.type.scalar;
    return true;
}

bool call_ints(Call *call, int param, int *count, int64_t *out, int capacity) {
    const Val *items = call->rest;
    uint32_t n = call->rest_count;
    Val given = call->args[param];
    if (given.kind == VAL_TUPLE || (n == 1 && items[0].kind == VAL_TUPLE)) {
        Val tuple = given.kind == VAL_TUPLE ? given : items[0];
        items = tuple.tuple.items;
        n = tuple.tuple.count;
    } else if (given.kind != VAL_ABSENT) {
        items = &call->args[param];
        n = 1;
    }
    if (n > (uint32_t)capacity) {
        elab_fail(call->e, call->spans[param], elab_rank, capacity);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        Wide value;
        if (!val_known_int(items[i], &value) || value < INT64_MIN || value > INT64_MAX) {
            elab_fail(call->e, call->spans[param], elab_argument, call->builtin->name,
                      call_param_name(call, param), "constexpr ints",
                      elab_type_text(call->e, items[i]));
            if (items[i].kind == VAL_TILE)
                elab_hint(call->e, "shapes are fixed at compile time: declare the parameter or "
                                   "variable `: tl.constexpr`");
            return false;
        }
        out[i] = (int64_t)value;
    }
    *count = (int)n;
    return true;
}

static int64_t next_power(int64_t n) {
    int64_t p = 1;
    while (p < n && p < (int64_t)1 << 62)
        p *= 2;
    return p;
}

void hint_power_of_two(Elab *e, int64_t size) {
    if (size > 0)
        elab_hint(e, "it is %lld: round up to %lld (triton.next_power_of_2) and mask the rest",
                  (long long)size, (long long)next_power(size));
    else
        elab_hint(e, "it is %lld", (long long)size);
}

bool shape_check(Elab *e, Span span, int rank, const int64_t *shape) {
    int bits = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] <= 0 || (shape[i] & (shape[i] - 1)) != 0) {
            elab_fail(e, span, elab_power_of_two, i);
            hint_power_of_two(e, shape[i]);
            return false;
        }
        bits += 63 - __builtin_clzll((unsigned long long)shape[i]);
    }
    if (bits <= MAX_TILE_BITS)
        return true;
    elab_fail(e, span, elab_tile_size, 1 << MAX_TILE_BITS);
    elab_hint(e, "split the work into smaller blocks and loop over them");
    return false;
}

bool call_shape(Call *call, int param, int *rank, int64_t *shape) {
    return call_ints(call, param, rank, shape, MAX_RANK) &&
           shape_check(call->e, call->spans[param], *rank, shape);
}

bool call_enum(Call *call, int param, AttrKind kind, const char *prefix, int64_t *out) {
    Str text;
    *out = 0;
    if (!call_string(call, param, &text))
        return false;
    if (text.len == 0)
        return true;
    Str bare = text;
    size_t skip = strlen(prefix);
    if (skip && bare.len > skip && memcmp(bare.ptr, prefix, skip) == 0)
        bare = (Str){bare.ptr + skip, bare.len - skip};
    StrBuf all = strbuf(call->e->arena);
    for (int64_t i = 0; attr_enum_text(kind, i); i++) {
        if (str_is(bare, attr_enum_text(kind, i))) {
            *out = i;
            return true;
        }
        strbuf_printf(&all, "%s'%s%s'", i ? ", " : "", prefix, attr_enum_text(kind, i));
    }
    elab_fail(call->e, call->spans[param], elab_option, call->builtin->name,
              call_param_name(call, param), STR_ARG(text));
    elab_hint(call->e, "one of %s", all.ptr ? all.ptr : "");
    return false;
}

Val builtin_not_covered(Call *call) {
    return elab_fail(call->e, call->span, elab_not_covered, call->builtin->name);
}
