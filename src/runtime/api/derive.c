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
    case TILE_ARGUMENT_TUPLE: /* expressions of hosts have no such values */
    case TILE_ARGUMENT_DESCRIPTOR:
        break;
    }
    return (HostValue){.kind = HOST_UNKNOWN};
}

void derive_given(const Derivation *derivation, const tile_argument *arguments, size_t count,
                  HostValue values[DERIVE_MAX_NAMES]) {
    memcpy(values, derivation->known, derivation->heuristics.name_count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[derivation->params[i]] = value_of_argument(&arguments[i]);
}

static bool add_value(KeyBuffer key, const HostValue *value) {
    const unsigned char kind = (unsigned char)value->kind;
    const bool has_text =
        value->kind == HOST_TEXT || value->kind == HOST_POINTER || value->kind == HOST_PATH;
    if (!key_add(key, &kind, sizeof kind))
        return false;
    if (!has_text)
        return key_add(key, &value->i, sizeof value->i);
    return key_add(key, &value->text.len, sizeof value->text.len) &&
           key_add(key, value->text.ptr, value->text.len);
}

/* Of what an argument points at, and of what points at something in it. */
static bool add_types(KeyBuffer key, const tile_argument *argument, unsigned depth) {
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return key_add(key, &argument->type, sizeof argument->type);
    if (argument->kind == TILE_ARGUMENT_DESCRIPTOR && argument->value.descriptor)
        return key_add(key, &argument->value.descriptor->type,
                       sizeof argument->value.descriptor->type);
    if (argument->kind != TILE_ARGUMENT_TUPLE || !argument->value.tuple.items)
        return true;
    bool ok = depth < ARGUMENTS_MAX_DEPTH &&
              key_add(key, &argument->value.tuple.count, sizeof argument->value.tuple.count);
    for (uint32_t i = 0; ok && i < argument->value.tuple.count; i++)
        ok = add_types(key, &argument->value.tuple.items[i], depth + 1);
    return ok;
}

bool derive_choice_key(const Derivation *derivation, uint64_t device,
                       const tile_argument *arguments, size_t count, const HostValue *values,
                       ChoiceKey *key) {
    const Autotune *a = &derivation->autotune;
    const KeyBuffer buffer = {key->bytes, &key->size, sizeof key->bytes};
    key->size = 0;
    bool ok = key_add(buffer, &device, sizeof device);
    for (size_t i = 0; ok && i < count; i++)
        ok = add_types(buffer, &arguments[i], 0);
    for (uint32_t i = 0; ok && i < a->key_count; i++) {
        HostValue value = {.kind = HOST_UNKNOWN};
        autotune_key_value(a, i, values, &value);
        ok = add_value(buffer, &value);
    }
    return ok;
}

const TuneConfig *derive_config(const Derivation *derivation, uint64_t device,
                                const tile_argument *arguments, size_t count,
                                const HostValue *values) {
    ChoiceKey key;
    if (derivation->forced || !derivation->autotune.count)
        return derivation->forced;
    if (!derive_choice_key(derivation, device, arguments, count, values, &key))
        return NULL;
    const Choice *choice = (const Choice *)key_table_find(
        derivation->choices, key_hash(key.bytes, key.size), key.bytes, key.size);
    return choice ? choice->config : NULL;
}

bool derive_values(const Derivation *derivation, const tile_argument *arguments, size_t count,
                   const TuneConfig *config, HostValue values[DERIVE_MAX_NAMES], HostError *error) {
    derive_given(derivation, arguments, count, values);
    if (config)
        autotune_apply(&derivation->autotune, config, values);
    return heuristics_apply(&derivation->heuristics, values, error);
}

/* A derived value in the key, and among the constexprs that integers may equal. */
static bool add_derived(Packed *packed, const HostValue *value, bool is_param) {
    const KeyBuffer key = {packed->key, &packed->key_len, sizeof packed->key};
    if (!add_value(key, value))
        return false;
    if (value->kind == HOST_INT && is_param && packed->derived_count < TILE_MAX_ARGUMENTS)
        packed->derived[packed->derived_count++] = value->i;
    return true;
}

bool derive_key(const void *user, const tile_argument *arguments, size_t count, Packed *packed) {
    const Derivation *derivation = user;
    const Heuristics *h = &derivation->heuristics;
    const TuneConfig *config = NULL;
    HostValue values[DERIVE_MAX_NAMES];
    HostError error;
    if (derivation->autotune.count) {
        uint64_t device;
        memcpy(&device, packed->key, sizeof device);
        derive_given(derivation, arguments, count, values);
        config = derive_config(derivation, device, arguments, count, values);
        packed->is_untuned = !config;
        if (!config)
            return false;
    }
    packed->is_underived = !derive_values(derivation, arguments, count, config, values, &error);
    if (packed->is_underived)
        return false;
    if (packed->wants_grid && derivation->grid) /* what is wrong with it the launch says */
        packed->has_grid = grid_run(derivation->grid, values, packed->grid, &error);
    for (uint32_t i = 0; config && i < h->name_count; i++)
        if (derivation->autotune.sets[i] && !add_derived(packed, &values[i], i < h->param_count))
            return false;
    if (config && !packed_add(packed, &config->max_registers, sizeof config->max_registers))
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        const uint32_t name = h->items[i].name;
        if (!add_derived(packed, &values[name], name < h->param_count))
            return false;
    }
    return true;
}
