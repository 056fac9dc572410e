#include "runtime/data/host_array.h"
#include "types/float_bits.h"

#include <inttypes.h>
#include <math.h>

size_t host_elem_bytes(Elem elem) {
    return (size_t)dtype_bytes(elem_info[elem].ir);
}

bool host_array_measure(HostArray *array) {
    size_t count = 1;
    bool empty = false;
    for (int32_t d = 0; d < array->rank; d++)
        empty = empty || array->shape[d] == 0;
    for (int32_t d = 0; d < array->rank && !empty; d++)
        if (__builtin_mul_overflow(count, (uint64_t)array->shape[d], &count))
            return false;
    array->count = empty ? 0 : count;
    return !__builtin_mul_overflow(array->count, host_elem_bytes(array->elem), &array->bytes) &&
           array->bytes <= PTRDIFF_MAX;
}

void host_array_alloc(Arena *arena, HostArray *array) {
    array->data = arena_alloc(arena, array->bytes);
}

static uint64_t element_bits(const HostArray *array, size_t i) {
    size_t size = host_elem_bytes(array->elem);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)array->data + i * size, size);
    return bits;
}

static void set_element_bits(HostArray *array, size_t i, uint64_t bits) {
    size_t size = host_elem_bytes(array->elem);
    memcpy((char *)array->data + i * size, &bits, size);
}

double host_array_float(const HostArray *array, size_t i) {
    return float_from_bits(elem_info[array->elem].ir, element_bits(array, i));
}

void host_array_set_float(HostArray *array, size_t i, double value) {
    set_element_bits(array, i, float_to_bits(elem_info[array->elem].ir, value));
}

__int128 host_array_int(const HostArray *array, size_t i) {
    uint64_t bits = element_bits(array, i);
    unsigned unused = 64 - 8 * (unsigned)host_elem_bytes(array->elem);
    if (elem_info[array->elem].is_signed)
        return (int64_t)(bits << unused) >> unused;
    return bits;
}

void host_array_set_int(HostArray *array, size_t i, __int128 value) {
    set_element_bits(array, i, (uint64_t)value);
}

void host_elem_range(Elem elem, __int128 *min, __int128 *max) {
    int bits = dtype_info[elem_info[elem].ir].bits;
    __int128 one = 1;
    *min = elem_info[elem].is_signed ? -(one << (bits - 1)) : 0;
    *max = (one << (elem_info[elem].is_signed ? bits - 1 : bits)) - 1;
}

void host_array_print_type(const HostArray *array, StrBuf *out) {
    strbuf_printf(out, "%s[", elem_info[array->elem].text);
    for (int32_t d = 0; d < array->rank; d++)
        strbuf_printf(out, "%s%" PRId64, d ? ", " : "", array->shape[d]);
    strbuf_putc(out, ']');
}

void host_array_print_index(const HostArray *array, size_t i, StrBuf *out) {
    size_t below = array->count;
    strbuf_putc(out, '[');
    for (int32_t d = 0; d < array->rank; d++) {
        below /= (size_t)array->shape[d];
        strbuf_printf(out, "%s%zu", d ? ", " : "", i / below);
        i %= below;
    }
    strbuf_putc(out, ']');
}

void host_array_print_element(const HostArray *array, size_t i, StrBuf *out) {
    if (!elem_is_float(array->elem)) {
        __int128 value = host_array_int(array, i);
        if (value < 0)
            strbuf_printf(out, "%" PRId64, (int64_t)value);
        else
            strbuf_printf(out, "%" PRIu64, (uint64_t)value);
        return;
    }
    double value = host_array_float(array, i);
    /* The sign of a NaN says nothing. */
    if (isnan(value))
        strbuf_puts(out, "nan");
    else
        strbuf_printf(out, "%.*g", array->elem == ELEM_F64 ? 17 : 9, value);
}
