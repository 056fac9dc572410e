#include "runtime/api/derive.h"

#include "runtime/api/api.h"

static HostValue value_of_argument(const tile_argument *argument) {
    const int64_t integer = argument->value.integer;
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        if (!dtype_name(argument->type))
            break;
        return (HostValue){.kind = HOST_POINTER, .text = str_from(dtype_name(argument->type))};
    case TILE_ARGUMENT_INT:
        if (argument->type == TILE_I1)
            return host_bool(integer != 0);
        if (argument->type == TILE_U64 && integer < 0)
            break; /* beyond 64 bits with a sign */
        return host_int(integer);
    case TILE_ARGUMENT_FLOAT:
        return host_float(argument->value.number);
    case TILE_ARGUMENT_CONSTEXPR:
        return host_read(text_str(argument->value.text));
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return host_int(integer);
    }
    return (HostValue){.kind = HOST_UNKNOWN};
}

bool derive_values(const Derivation *derivation, const tile_argument *arguments, size_t count,
                   HostValue values[DERIVE_MAX_NAMES], HostError *error) {
    const Heuristics *h = &derivation->heuristics;
    memcpy(values, derivation->known, h->name_count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[derivation->params[i]] = value_of_argument(&arguments[i]);
    return heuristics_apply(h, values, error);
}

static bool add_value(Packed *packed, const HostValue *value) {
    const unsigned char kind = (unsigned char)value->kind;
    if (!packed_add(packed, &kind, sizeof kind))
        return false;
    if (value->kind != HOST_TEXT)
        return packed_add(packed, &value->i, sizeof value->i);
    return packed_add(packed, &value->text.len, sizeof value->text.len) &&
           packed_add(packed, value->text.ptr, value->text.len);
}

bool derive_key(const void *user, const tile_argument *arguments, size_t count, Packed *packed) {
    const Derivation *derivation = user;
    const Heuristics *h = &derivation->heuristics;
    HostValue values[DERIVE_MAX_NAMES];
    HostError error;
    packed->is_underived = !derive_values(derivation, arguments, count, values, &error);
    if (packed->is_underived)
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        const HostValue *value = &values[h->items[i].name];
        if (!add_value(packed, value))
            return false;
        if (value->kind == HOST_INT && h->items[i].name < h->param_count &&
            packed->derived_count < TILE_MAX_ARGUMENTS)
            packed->derived[packed->derived_count++] = value->i;
    }
    return true;
}
