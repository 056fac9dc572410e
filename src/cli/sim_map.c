/* Tensor maps on the simulator: of arrays, for `tilec sim -a NAME=map:ARRAY[BOX]...`, and by
 * recipes, those of a compiled kernel and `-a NAME=recipe:..`. */
#include "cli/run_sim.h"

#include <stdlib.h>

static bool wrong(Ctx *ctx, Span span, const char *problem) {
    ctx_diag(ctx, span, sim_map_argument, problem);
    diag_hint(&ctx->diags, "write map:ARRAY[ROWS,COLUMNS]:swizzle=128B:fill=nan; the box has the "
                           "array's dimensions, the last is contiguous");
    return false;
}

static bool has_prefix(Str text, const char *prefix) {
    size_t len = strlen(prefix);
    return text.len >= len && !memcmp(text.ptr, prefix, len);
}

bool sim_is_map(Str text) {
    return has_prefix(text, "map:") || has_prefix(text, "recipe:");
}

static Str take_until(Str *text, char end) {
    const char *at = text->len ? memchr(text->ptr, end, text->len) : NULL;
    Str part = {text->ptr, at ? (size_t)(at - text->ptr) : text->len};
    size_t skip = part.len + (at ? 1 : 0);
    *text = (Str){text->ptr + skip, text->len - skip};
    return part;
}

/* "64,32]"; what follows is left. */
static bool read_box(Str *rest, SimMapArg *map) {
    bool closed = rest->len && memchr(rest->ptr, ']', rest->len);
    Str text = take_until(rest, ']');
    map->rank = 0;
    if (!closed || !text.len || text.ptr[text.len - 1] == ',')
        return false;
    while (text.len) {
        Str number = take_until(&text, ',');
        uint32_t value = 0;
        for (size_t i = 0; i < number.len; i++) {
            if (number.ptr[i] < '0' || number.ptr[i] > '9' || value > 100000)
                return false;
            value = value * 10 + (uint32_t)(number.ptr[i] - '0');
        }
        if (!number.len || map->rank == SIM_TENSOR_DIMS)
            return false;
        map->box[map->rank++] = value;
    }
    return true;
}

static bool read_option(Str option, SimMapArg *map) {
    static const struct {
        const char *text;
        int swizzle, fill, promotion;
    } options[] = {
        {"swizzle=none", SIM_SWIZZLE_NONE, -1, -1}, {"swizzle=32B", SIM_SWIZZLE_32B, -1, -1},
        {"swizzle=64B", SIM_SWIZZLE_64B, -1, -1},   {"swizzle=128B", SIM_SWIZZLE_128B, -1, -1},
        {"fill=zero", -1, SIM_FILL_ZERO, -1},       {"fill=nan", -1, SIM_FILL_NAN, -1},
        {"l2=64B", -1, -1, SIM_PROMOTION_64B},      {"l2=128B", -1, -1, SIM_PROMOTION_128B},
        {"l2=256B", -1, -1, SIM_PROMOTION_256B}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!str_is(option, options[i].text))
            continue;
        if (options[i].swizzle >= 0)
            map->swizzle = (SimTensorSwizzle)options[i].swizzle;
        if (options[i].fill >= 0)
            map->fill = (SimTensorFill)options[i].fill;
        if (options[i].promotion >= 0)
            map->promotion = (SimTensorPromotion)options[i].promotion;
        return true;
    }
    return false;
}

static SimMapArg *read_recipe(Ctx *ctx, SimMapArg *map, Span span, Str text) {
    TensorMapRecipe *recipe = ARENA_NEW(&ctx->arena, TensorMapRecipe);
    map->recipe = recipe;
    if (recipe_parse(&ctx->arena, text, recipe))
        return map;
    ctx_diag(ctx, span, sim_map_argument, "its recipe is not valid");
    diag_hint(&ctx->diags, "`tilec compile --emit meta` shows the recipes of a kernel");
    return NULL;
}

SimMapArg *sim_read_map(Ctx *ctx, const RunArgs *args, Str name, Str text) {
    /* Arenas do not align to the 64 bytes of a tensor map. */
    uintptr_t room =
        (uintptr_t)arena_alloc(&ctx->arena, sizeof(SimMapArg) + _Alignof(SimMapArg) - 1);
    SimMapArg *map = (SimMapArg *)((room + _Alignof(SimMapArg) - 1) & -_Alignof(SimMapArg));
    *map = (SimMapArg){0};
    Str label = str_from(str_format(&ctx->arena, "<argument %.*s>", STR_ARG(name)));
    uint32_t file = source_add(&ctx->sources, label, text);
    Span span = {file, 0, (uint32_t)text.len};
    if (has_prefix(text, "recipe:"))
        return read_recipe(ctx, map, span, (Str){text.ptr + 7, text.len - 7});
    Str rest = {text.ptr + 4, text.len - 4};
    Str array = take_until(&rest, '[');
    map->array = run_find_arg(args, array);
    if (!map->array || !map->array->is_array || map->array->map)
        return wrong(ctx, span, "no array of that name is given"), NULL;
    if (!read_box(&rest, map))
        return wrong(ctx, span, "the box is a list of 1 to 5 sizes in brackets"), NULL;
    if (map->array->array.rank != (int32_t)map->rank)
        return wrong(ctx, span, "the box has not as many dimensions as the array"), NULL;
    if (rest.len && rest.ptr[0] != ':')
        return wrong(ctx, span, "the box is followed by something else than :"), NULL;
    take_until(&rest, ':');
    while (rest.len)
        if (!read_option(take_until(&rest, ':'), map))
            return wrong(ctx, span, "an option is none of swizzle=, fill= and l2="), NULL;
    return map;
}

/* False where no element of a tensor map has the type. */
static bool tensor_type(Elem elem, SimTensorType *type) {
    static const struct {
        Elem elem;
        SimTensorType type;
    } types[] = {{ELEM_F16, SIM_TENSOR_F16}, {ELEM_BF16, SIM_TENSOR_BF16},
                 {ELEM_F32, SIM_TENSOR_F32}, {ELEM_F64, SIM_TENSOR_F64},
                 {ELEM_I16, SIM_TENSOR_U16}, {ELEM_U16, SIM_TENSOR_U16},
                 {ELEM_I32, SIM_TENSOR_S32}, {ELEM_U32, SIM_TENSOR_U32},
                 {ELEM_I64, SIM_TENSOR_S64}, {ELEM_U64, SIM_TENSOR_U64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].elem != elem)
            continue;
        *type = types[i].type;
        return true;
    }
    *type = SIM_TENSOR_U8;
    return host_elem_bytes(elem) == 1;
}

bool sim_encode_map(Ctx *ctx, SimMapArg *map, uint64_t address) {
    const HostArray *array = &map->array->array;
    uint64_t dims[SIM_TENSOR_DIMS], strides[SIM_TENSOR_DIMS] = {0};
    uint32_t box[SIM_TENSOR_DIMS], steps[SIM_TENSOR_DIMS];
    uint64_t stride = host_elem_bytes(array->elem);
    SimTensorType type;
    if (!tensor_type(array->elem, &type))
        return wrong(ctx, (Span){0}, "tensors have no elements of the array's type");
    /* Tensor maps begin with the contiguous dimension. */
    for (uint32_t i = 0; i < map->rank; i++) {
        uint32_t from = map->rank - 1 - i;
        dims[i] = (uint64_t)array->shape[from];
        box[i] = map->box[from];
        steps[i] = 1;
        stride *= dims[i];
        strides[i] = stride;
    }
    return sim_tensor_map_encode(ctx, &map->encoded, type, map->rank, address, dims, strides, box,
                                 steps, SIM_INTERLEAVE_NONE, map->swizzle, map->promotion,
                                 map->fill);
}
