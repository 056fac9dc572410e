/* Types: interning, derived types and their text. */
#include "types/type.h"

#include <assert.h>
#include <inttypes.h>

const DTypeInfo dtype_info[DT_COUNT] = {
#define DTYPE(id, text, bits, class) [DT_##id] = {text, bits, DTYPE_##class},
#include "types/dtypes.def"
};

const Type *type_get(Ctx *ctx, TypeKind kind, DType dtype, int rank, const int64_t *shape,
                     const Layout *layout) {
    assert(rank >= 0 && rank <= MAX_RANK);
    Type key;
    memset(&key, 0, sizeof key);
    key.kind = kind;
    key.dtype = dtype;
    key.rank = rank;
    key.layout = layout;
    for (int i = 0; i < rank; i++) {
        assert(shape[i] > 0 && (shape[i] & (shape[i] - 1)) == 0);
        key.shape[i] = shape[i];
        key.log2_numel += __builtin_ctzll((uint64_t)shape[i]);
    }
    assert(key.log2_numel <= MAX_TILE_BITS);
    return intern(ctx, ctx->types, &key, sizeof key);
}

const Type *type_scalar(Ctx *ctx, DType dtype) {
    return type_get(ctx, TYPE_NUMBER, dtype, 0, NULL, NULL);
}

const Type *type_pointer(Ctx *ctx, DType pointee) {
    return type_get(ctx, TYPE_POINTER, pointee, 0, NULL, NULL);
}

const Type *type_with_element(Ctx *ctx, const Type *type, TypeKind kind, DType dtype) {
    return type_get(ctx, kind, dtype, type->rank, type->shape, type->layout);
}

const Type *type_with_dtype(Ctx *ctx, const Type *type, DType dtype) {
    return type_with_element(ctx, type, type->kind, dtype);
}

const Type *type_with_layout(Ctx *ctx, const Type *type, const Layout *layout) {
    return type_get(ctx, type->kind, type->dtype, type->rank, type->shape, layout);
}

const Type *type_with_shape(Ctx *ctx, const Type *type, int rank, const int64_t *shape) {
    return type_get(ctx, type->kind, type->dtype, rank, shape, type->layout);
}

bool type_same_shape(const Type *a, const Type *b) {
    return a->rank == b->rank && a->layout == b->layout &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

void type_print(const Type *type, StrBuf *out) {
    bool shaped = type->rank > 0 || type->kind == TYPE_BUFFER;
    if (shaped)
        strbuf_puts(out, type->kind == TYPE_BUFFER ? "buffer<" : "tile<");
    for (int i = 0; i < type->rank; i++)
        strbuf_printf(out, "%" PRId64 "x", type->shape[i]);
    const char *element = dtype_info[type->dtype].text;
    strbuf_printf(out, type->kind == TYPE_POINTER ? "ptr<%s>" : "%s", element);
    if (type->layout) {
        strbuf_puts(out, ", ");
        layout_print(type->layout, out);
    }
    if (shaped)
        strbuf_putc(out, '>');
}
