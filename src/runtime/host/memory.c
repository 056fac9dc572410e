/* See memory.h. */
#include "runtime/host/memory.h"

#include <stdlib.h>

/* No host gives a process addresses beyond, and the interpreter and the simulator have other uses
 * for those. */
#define ADDRESS_END (UINT64_C(1) << 48)

typedef struct Arrays {
    InterpArray *data;
    size_t len;
} Arrays;

void host_memory_add(Arena *arena, HostMemory *memory, InterpArray array, bool is_implied) {
    array.address = (uint64_t)(uintptr_t)array.data;
    if (!array.data && !array.bytes)
        return;
    if (is_implied)
        vec_push(arena, &memory->implied, array);
    else
        vec_push(arena, &memory->stated, array);
}

static uint64_t end_of(const InterpArray *array) {
    return array->address + array->bytes;
}

static bool overlap(const InterpArray *a, const InterpArray *b) {
    return a->address == b->address || (a->address < end_of(b) && b->address < end_of(a));
}

/* Of two at one address the longer one first. */
static int by_address(const void *x, const void *y) {
    const InterpArray *a = x, *b = y;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* `to` begins first, and ends last where both begin. A part of an array, or another name for it,
 * may leave it to the array which bytes are defined. */
static bool join_into(Ctx *ctx, InterpArray *to, const InterpArray *array) {
    const ptrdiff_t offset = (ptrdiff_t)(array->address - to->address);
    const bool is_part = end_of(array) <= end_of(to);
    if (is_part && !offset && array->bytes == to->bytes && !to->defined)
        to->defined = array->defined;
    if (array->defined ? !to->defined || array->defined - to->defined != offset || !is_part
                       : to->defined && !is_part)
        return ctx_diag(ctx, (Span){0}, host_arrays, STR_ARG(to->name), STR_ARG(array->name));
    if (!is_part)
        to->bytes = (size_t)(end_of(array) - to->address);
    if (!to->name.len)
        to->name = array->name;
    to->read_only &= array->read_only;
    return true;
}

static bool join(Ctx *ctx, Arrays *arrays) {
    size_t kept = 0;
    if (arrays->len)
        qsort(arrays->data, arrays->len, sizeof *arrays->data, by_address);
    for (size_t i = 0; i < arrays->len; i++) {
        const InterpArray array = arrays->data[i];
        if (end_of(&array) < array.address || end_of(&array) > ADDRESS_END || !array.address)
            return ctx_diag(ctx, (Span){0}, host_array, STR_ARG(array.name), array.bytes,
                            array.address);
        if (!kept || !overlap(&arrays->data[kept - 1], &array))
            arrays->data[kept++] = array;
        else if (!join_into(ctx, &arrays->data[kept - 1], &array))
            return false;
    }
    arrays->len = kept;
    return true;
}

static bool is_covered(const Arrays *stated, const InterpArray *array) {
    for (size_t i = 0; i < stated->len; i++)
        if (overlap(&stated->data[i], array))
            return true;
    return false;
}

bool host_memory_join(Ctx *ctx, HostMemory *memory, InterpArray **arrays, uint32_t *count) {
    Arrays stated = {memory->stated.data, memory->stated.len};
    Arrays implied = {memory->implied.data, 0};
    if (!join(ctx, &stated))
        return false;
    for (size_t i = 0; i < memory->implied.len; i++)
        if (!is_covered(&stated, &memory->implied.data[i]))
            implied.data[implied.len++] = memory->implied.data[i];
    if (!join(ctx, &implied))
        return false;
    const size_t total = stated.len + implied.len;
    InterpArray *all = ARENA_ARRAY(&ctx->arena, InterpArray, total + 1);
    for (size_t i = 0; i < stated.len; i++)
        all[i] = stated.data[i];
    for (size_t i = 0; i < implied.len; i++)
        all[stated.len + i] = implied.data[i];
    qsort(all, total, sizeof *all, by_address);
    *arrays = all;
    *count = (uint32_t)total;
    return true;
}

uint32_t host_memory_find(const InterpArray *arrays, uint32_t count, uint64_t address) {
    uint32_t lo = 0, hi = count;
    while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (arrays[middle].address <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && address - arrays[lo - 1].address <= arrays[lo - 1].bytes ? lo - 1 : UINT32_MAX;
}
