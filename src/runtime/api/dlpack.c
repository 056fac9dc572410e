/* Public API: tensors of other libraries as arguments, by DLPack's structures. */
#include "runtime/api/api.h"

/* DLTensor of dlpack.h, whose layout is the same in all versions of DLPack. */
typedef struct Tensor {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t type_code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides; /* in elements; strides NULL: rows follow each other */
    uint64_t byte_offset;
} Tensor;

_Static_assert(sizeof(Tensor) == 48 && offsetof(Tensor, shape) == 24, "as DLPack lays it out");

enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_CUDA_HOST = 3, DEVICE_CUDA_MANAGED = 13 };

static bool find_type(const Tensor *tensor, tile_dtype *type) {
    static const struct {
        tile_dtype type;
        uint8_t code, bits;
    } types[] = {
#define DLPACK_TYPE(type, code, bits, name) {type, code, bits},
#include "runtime/launch/dlpack.def"
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == tensor->type_code && types[i].bits == tensor->bits &&
            tensor->lanes == 1) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* What the device reads there: its own memory, managed memory, pinned memory of the host, and a
 * host all of its own. */
static bool is_reachable(const Tensor *tensor, const tile_device *device) {
    switch (tensor->device_type) {
    case DEVICE_CPU:
        return device->host_calls != NULL;
    case DEVICE_CUDA:
        return !device->host_calls && tensor->device_id == device->device.ordinal;
    case DEVICE_CUDA_HOST:
    case DEVICE_CUDA_MANAGED:
        return true;
    }
    return false;
}

static bool count_elements(const Tensor *tensor, uint64_t *count) {
    bool is_empty = false;
    *count = 1;
    if (tensor->rank < 0 || (tensor->rank && !tensor->shape))
        return false;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0)
            return false;
        is_empty |= !tensor->shape[i];
    }
    for (int32_t i = 0; !is_empty && i < tensor->rank; i++)
        if (__builtin_mul_overflow(*count, (uint64_t)tensor->shape[i], count))
            return false;
    *count = is_empty ? 0 : *count;
    return true;
}

/* Whether the elements, of which there are some, fill one stretch of memory that begins with the
 * first, in any order of the dimensions: then each stride is the product of the extents that are
 * inside it. */
static bool is_dense(const Tensor *tensor) {
    int64_t stride = 1;
    int32_t left = 0;
    if (!tensor->strides)
        return true;
    for (int32_t i = 0; i < tensor->rank; i++)
        left += tensor->shape[i] != 1;
    for (; left; left--) {
        int32_t i = 0;
        while (i < tensor->rank && (tensor->shape[i] == 1 || tensor->strides[i] != stride))
            i++;
        if (i == tensor->rank)
            return false;
        stride *= tensor->shape[i]; /* a part of the number of elements: it fits */
    }
    return true;
}

static const char *device_text(Arena *arena, int32_t type, int32_t id) {
    switch (type) {
    case DEVICE_CPU:
        return "cpu";
    case DEVICE_CUDA:
        return str_format(arena, "cuda:%d", id);
    }
    return str_format(arena, "device %d of DLPack's type %d", id, type);
}

/* In a call of its own: arguments that are right cost none. */
static tile_status refuse(tile_device *device, const Tensor *tensor,
                          tile_diagnostics **diagnostics) {
    tile_dtype type;
    uint64_t count;
    Call *call = call_begin(device->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    if (!find_type(tensor, &type))
        ctx_diag(call->ctx, (Span){0}, dlpack_type, tensor->type_code, tensor->bits, tensor->lanes);
    if (!is_reachable(tensor, device))
        ctx_diag(call->ctx, (Span){0}, dlpack_device,
                 device_text(&call->ctx->arena, tensor->device_type, tensor->device_id),
                 device->host_calls
                     ? "in memory of the host"
                     : str_format(&call->ctx->arena, "on cuda:%d, or in managed or pinned memory",
                                  device->device.ordinal));
    if (!count_elements(tensor, &count))
        ctx_diag(call->ctx, (Span){0}, dlpack_shape);
    else if (!tensor->data && count)
        ctx_diag(call->ctx, (Span){0}, dlpack_data);
    return call_end(call, TILE_ERROR_INVALID_ARGUMENT);
}

tile_status tile_argument_from_dlpack(tile_device *device, const void *tensor,
                                      tile_argument *argument, tile_diagnostics **diagnostics) {
    const Tensor *t = tensor;
    tile_dtype type;
    uint64_t count, bytes;
    if (!device || !tensor || !argument)
        return invalid_argument(diagnostics);
    if (diagnostics)
        *diagnostics = NULL;
    if (!find_type(t, &type) || !is_reachable(t, device) || !count_elements(t, &count) ||
        (!t->data && count))
        return refuse(device, t, diagnostics);
    if (!count || !is_dense(t) || __builtin_mul_overflow(count, t->bits / 8u, &bytes))
        bytes = 0;
    *argument = tile_buffer((uint64_t)(uintptr_t)t->data + t->byte_offset, type, bytes);
    return TILE_OK;
}
