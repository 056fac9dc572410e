#include "runtime/launch/promises.h"

#include "tilec.h"

#include <inttypes.h>

/* Bytes of the type of that name, as the table of the public API has them. */
static uint32_t bytes_of(Str type) {
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {
#define TYPE(id, name, bytes) {name, bytes},
        TILE_DTYPES(TYPE)
#undef TYPE
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(type, types[i].name))
            return types[i].bytes;
    return 1;
}

static Promise promise_of(Arena *arena, const KernelParam *param) {
    const bool is_pointer = param->text.len && param->text.ptr[0] == '*';
    Str element = {param->text.ptr + is_pointer, param->text.len - is_pointer};
    const bool is_const = is_pointer && element.len > 1 && element.ptr[0] == 'k';
    element = (Str){element.ptr + is_const, element.len - is_const};
    const int64_t natural = is_pointer ? bytes_of(element) : 1;
    return (Promise){.name = {str_dup(arena, param->name), param->name.len},
                     .type = {str_dup(arena, param->text), param->text.len},
                     .bytes = is_pointer ? 8 : bytes_of(element),
                     .is_pointer = is_pointer,
                     .is_unsigned = element.len && element.ptr[0] == 'u',
                     .divisible = param->divisible > natural ? param->divisible : natural,
                     .is_fixed = param->is_fixed,
                     .fixed = param->fixed};
}

const Promise *promises_create(Arena *arena, const KernelParam *params, uint32_t count) {
    Promise *promises = ARENA_ARRAY(arena, Promise, count + 1);
    for (uint32_t i = 0, passed = 0; i < count; i++)
        if (!params[i].is_constexpr)
            promises[passed++] = promise_of(arena, &params[i]);
    return promises;
}

static uint32_t add_number(uint32_t *numbers, uint32_t from, uint32_t count, uint32_t number) {
    for (uint32_t i = from; i < count; i++)
        if (numbers[i] == number)
            return count;
    numbers[count] = number;
    return count + 1;
}

const Apart *apart_create(Arena *arena, const ApartList *pairs) {
    if (!pairs->len)
        return NULL;
    Apart *apart = ARENA_NEW(arena, Apart);
    ApartParams *kept = ARENA_ARRAY(arena, ApartParams, pairs->len);
    uint32_t *numbers = ARENA_ARRAY(arena, uint32_t, 2 * pairs->len), count = 0;
    for (size_t i = 0; i < pairs->len; i++) {
        kept[i] = pairs->data[i];
        count = add_number(numbers, 0, count, kept[i].stored);
    }
    const uint32_t stored = count;
    for (size_t i = 0; i < pairs->len; i++)
        count = add_number(numbers, stored, count, kept[i].loaded);
    *apart = (Apart){kept, pairs->len, numbers, stored, count};
    return apart;
}

const char *apart_explain(Arena *arena, const Str *names, const ApartParams *pair) {
    return str_format(arena, "'%.*s' and '%.*s' are one array", STR_ARG(names[pair->loaded]),
                      STR_ARG(names[pair->stored]));
}

/* The value, extended to 64 bits. */
static int64_t value_of(const Promise *promise, const void *at) {
    uint64_t bits = 0;
    memcpy(&bits, at, promise->bytes);
    const unsigned unused = 64 - 8 * promise->bytes;
    return promise->is_pointer || promise->is_unsigned ? (int64_t)bits
                                                       : (int64_t)(bits << unused) >> unused;
}

static bool check_value(const Promise *promise, Diags *diags, Str kernel, const void *at) {
    const int64_t value = value_of(promise, at);
    if (promise->is_fixed && value != promise->fixed)
        return diag(diags, (Span){0}, promise_fixed, STR_ARG(promise->name), STR_ARG(kernel), value,
                    promise->fixed);
    if (promise->divisible <= 1 || (uint64_t)value % (uint64_t)promise->divisible == 0)
        return true;
    if (promise->is_pointer)
        return diag(diags, (Span){0}, promise_aligned, STR_ARG(promise->name), STR_ARG(kernel),
                    STR_ARG(promise->type), (uint64_t)value, promise->divisible);
    return diag(diags, (Span){0}, promise_multiple, STR_ARG(promise->name), STR_ARG(kernel), value,
                promise->divisible);
}

bool promises_check(const Promise *promises, uint32_t count, Diags *diags, Str kernel,
                    void *const *params) {
    bool kept = true;
    for (uint32_t i = 0; i < count; i++)
        kept &= check_value(&promises[i], diags, kernel, params[i]);
    return kept;
}
