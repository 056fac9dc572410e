/* Tensor maps: how they are encoded, what the driver would refuse, and changing them in a kernel.
 *
 * The format of the hardware is not public. This one holds the arguments of the encoding function
 * as they are, behind a mark, with a sum over all bytes, so that a map of another origin or one
 * that was written to is found out. */
#include "sim/exec/tensor_map.h"

/* 128 bytes: the mark, the sum, then fields at fixed places. */
enum {
    AT_MARK = 0,
    AT_SUM = 4,
    AT_TYPE = 8,
    AT_RANK = 9,
    AT_INTERLEAVE = 10,
    AT_SWIZZLE = 11,
    AT_PROMOTION = 12,
    AT_FILL = 13,
    AT_ADDRESS = 16,
    AT_DIMS = 24,    /* less one, 32 bits each */
    AT_STRIDES = 48, /* 64 bits each, of dimensions 1 to 4 */
    AT_BOX = 80,     /* less one, 8 bits each */
    AT_STEPS = 88,   /* element strides, 8 bits each */
    MAP_BYTES = 128,
    MAP_MARK = 0x50414d54
};

static const struct {
    uint8_t bytes;
    Type number;
    bool fraction;
} tensor_types[SIM_TENSOR_TYPES] = {
    [SIM_TENSOR_U8] = {1, TYPE_u8, false},       [SIM_TENSOR_U16] = {2, TYPE_u16, false},
    [SIM_TENSOR_U32] = {4, TYPE_u32, false},     [SIM_TENSOR_S32] = {4, TYPE_s32, false},
    [SIM_TENSOR_U64] = {8, TYPE_u64, false},     [SIM_TENSOR_S64] = {8, TYPE_s64, false},
    [SIM_TENSOR_F16] = {2, TYPE_f16, true},      [SIM_TENSOR_F32] = {4, TYPE_f32, true},
    [SIM_TENSOR_F64] = {8, TYPE_f64, true},      [SIM_TENSOR_BF16] = {2, TYPE_bf16, true},
    [SIM_TENSOR_F32_FTZ] = {4, TYPE_f32, true},  [SIM_TENSOR_TF32] = {4, TYPE_f32, true},
    [SIM_TENSOR_TF32_FTZ] = {4, TYPE_f32, true},
};

uint32_t tensor_type_bytes(SimTensorType type) {
    return tensor_types[type].bytes;
}

Type tensor_type_number(SimTensorType type) {
    return tensor_types[type].number;
}

bool tensor_flushes(SimTensorType type) {
    return type == SIM_TENSOR_F32_FTZ || type == SIM_TENSOR_TF32_FTZ;
}

uint32_t tensor_box_bytes(const TensorMap *map) {
    enum { MAX_BOX = 1 << 30 }; /* more than any shared memory */
    uint64_t bytes = tensor_type_bytes(map->type);
    for (uint32_t i = 0; i < map->rank; i++)
        bytes *= tensor_box_elements(map, i);
    return bytes < MAX_BOX ? (uint32_t)bytes : MAX_BOX;
}

/* Encoding. */

static uint32_t sum_of(const uint8_t *bytes) {
    uint32_t sum = 2166136261u;
    for (unsigned i = 0; i < MAP_BYTES; i++)
        if (i < AT_SUM || i >= AT_SUM + 4)
            sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void store_map(const TensorMap *map, uint8_t bytes[128]) {
    const uint32_t mark = MAP_MARK;
    memset(bytes, 0, MAP_BYTES);
    memcpy(bytes + AT_MARK, &mark, 4);
    bytes[AT_TYPE] = (uint8_t)map->type;
    bytes[AT_RANK] = (uint8_t)map->rank;
    bytes[AT_INTERLEAVE] = (uint8_t)map->interleave;
    bytes[AT_SWIZZLE] = (uint8_t)map->swizzle;
    bytes[AT_PROMOTION] = (uint8_t)map->promotion;
    bytes[AT_FILL] = (uint8_t)map->fill;
    memcpy(bytes + AT_ADDRESS, &map->address, 8);
    for (unsigned i = 0; i < MAX_DIMS; i++) {
        uint32_t dim = (uint32_t)(map->dims[i] - 1);
        memcpy(bytes + AT_DIMS + 4 * i, &dim, 4);
        if (i)
            memcpy(bytes + AT_STRIDES + 8 * (i - 1), &map->strides[i], 8);
        bytes[AT_BOX + i] = (uint8_t)(map->box[i] - 1);
        bytes[AT_STEPS + i] = (uint8_t)map->element_strides[i];
    }
    uint32_t sum = sum_of(bytes);
    memcpy(bytes + AT_SUM, &sum, 4);
}

static void read_fields(const uint8_t *bytes, TensorMap *map) {
    *map = (TensorMap){.type = (SimTensorType)bytes[AT_TYPE],
                       .rank = bytes[AT_RANK],
                       .interleave = (SimTensorInterleave)bytes[AT_INTERLEAVE],
                       .swizzle = (SimTensorSwizzle)bytes[AT_SWIZZLE],
                       .promotion = (SimTensorPromotion)bytes[AT_PROMOTION],
                       .fill = (SimTensorFill)bytes[AT_FILL]};
    memcpy(&map->address, bytes + AT_ADDRESS, 8);
    for (unsigned i = 0; i < MAX_DIMS; i++) {
        uint32_t dim;
        memcpy(&dim, bytes + AT_DIMS + 4 * i, 4);
        map->dims[i] = (uint64_t)dim + 1;
        if (i)
            memcpy(&map->strides[i], bytes + AT_STRIDES + 8 * (i - 1), 8);
        map->box[i] = bytes[AT_BOX + i] + 1u;
        map->element_strides[i] = bytes[AT_STEPS + i];
    }
    map->strides[0] = map->type < SIM_TENSOR_TYPES ? tensor_type_bytes(map->type) : 0;
}

bool tensor_map_decode(const uint8_t bytes[128], TensorMap *map) {
    uint32_t mark, sum;
    memcpy(&mark, bytes + AT_MARK, 4);
    memcpy(&sum, bytes + AT_SUM, 4);
    read_fields(bytes, map);
    return mark == MAP_MARK && sum == sum_of(bytes);
}

/* Constraints. */

static const char *box_problem(Arena *arena, const TensorMap *map) {
    static const uint32_t spans[] = {UINT32_MAX, 32, 64, 128};
    uint32_t inner = map->box[0] * tensor_type_bytes(map->type);
    for (uint32_t i = 0; i < map->rank; i++) {
        if (!map->box[i] || map->box[i] > 256)
            return str_format(arena, "box[%u] is %u: wanted 1 to 256", i, map->box[i]);
        if (!map->element_strides[i] || map->element_strides[i] > 8)
            return str_format(arena, "element stride %u is %u: wanted 1 to 8", i,
                              map->element_strides[i]);
    }
    if (map->interleave == SIM_INTERLEAVE_NONE && inner % 16)
        return str_format(arena, "the box is %u bytes wide: wanted a multiple of 16", inner);
    if (map->interleave == SIM_INTERLEAVE_NONE && inner > spans[map->swizzle])
        return str_format(arena, "the box is %u bytes wide: at most the %u of the swizzle", inner,
                          spans[map->swizzle]);
    return NULL;
}

static const char *extent_problem(Arena *arena, const TensorMap *map) {
    uint64_t unit = map->interleave == SIM_INTERLEAVE_32B ? 32 : 16;
    if (map->address % unit)
        return str_format(arena, "the address 0x%" PRIx64 " is not a multiple of %" PRIu64,
                          map->address, unit);
    for (uint32_t i = 0; i < map->rank; i++) {
        if (!map->dims[i] || map->dims[i] > UINT64_C(1) << 32)
            return str_format(arena, "dimension %u has %" PRIu64 " elements: wanted 1 to 2^32", i,
                              map->dims[i]);
        if (i && (map->strides[i] % unit || map->strides[i] >= UINT64_C(1) << 40))
            return str_format(arena,
                              "the stride of dimension %u is %" PRIu64
                              " bytes: wanted a multiple of %" PRIu64 " below 2^40",
                              i, map->strides[i], unit);
    }
    return NULL;
}

const char *tensor_map_problem(Arena *arena, const TensorMap *map) {
    if ((unsigned)map->type >= SIM_TENSOR_TYPES)
        return str_format(arena, "there is no element type %u", (unsigned)map->type);
    if (!map->rank || map->rank > MAX_DIMS)
        return str_format(arena, "the rank is %u: wanted 1 to 5", map->rank);
    if ((unsigned)map->interleave > SIM_INTERLEAVE_32B)
        return str_format(arena, "there is no interleaving %u", (unsigned)map->interleave);
    if ((unsigned)map->swizzle > SIM_SWIZZLE_128B)
        return str_format(arena, "swizzle %u is none of sm_90: none, 32B, 64B, 128B",
                          (unsigned)map->swizzle);
    if ((unsigned)map->promotion > SIM_PROMOTION_256B)
        return str_format(arena, "there is no L2 promotion %u", (unsigned)map->promotion);
    if ((unsigned)map->fill > SIM_FILL_NAN)
        return str_format(arena, "there is no fill %u", (unsigned)map->fill);
    if (map->fill == SIM_FILL_NAN && !tensor_types[map->type].fraction)
        return "a tensor of integers cannot be filled with NaN";
    if (map->interleave != SIM_INTERLEAVE_NONE && map->rank < 3)
        return "an interleaved tensor has at least 3 dimensions";
    if (map->interleave == SIM_INTERLEAVE_32B && map->swizzle != SIM_SWIZZLE_32B)
        return "a tensor interleaved by 32 bytes has the 32B swizzle";
    const char *problem = extent_problem(arena, map);
    return problem ? problem : box_problem(arena, map);
}

bool sim_tensor_map_encode(Ctx *ctx, SimTensorMap *map, SimTensorType type, uint32_t rank,
                           uint64_t address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *element_strides,
                           SimTensorInterleave interleave, SimTensorSwizzle swizzle,
                           SimTensorPromotion promotion, SimTensorFill fill) {
    TensorMap decoded = {.type = type,
                         .rank = rank,
                         .address = address,
                         .interleave = interleave,
                         .swizzle = swizzle,
                         .promotion = promotion,
                         .fill = fill};
    for (uint32_t i = 0; i < MAX_DIMS; i++) {
        bool exists = i < rank;
        decoded.dims[i] = exists ? dims[i] : 1;
        decoded.strides[i] = exists && i ? strides[i - 1] : 0;
        decoded.box[i] = exists ? box[i] : 1;
        decoded.element_strides[i] = exists ? element_strides[i] : 1;
    }
    const char *problem = tensor_map_problem(&ctx->arena, &decoded);
    if (problem)
        return ctx_diag(ctx, (Span){0}, sim_tensor_map, problem);
    store_map(&decoded, map->bytes);
    return true;
}
