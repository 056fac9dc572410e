/* Types of Tile IR values, interned in the context: compare pointers.
 *
 *     f32   ptr<f32>                        scalars
 *     tile<64x32xf32>  tile<64xptr<f16>>    tiles; with `, {reg = ..}` once layouts are chosen
 *     buffer<64x32xf32, {reg = ..}>         shared memory: a map from element offsets to indices
 */
#ifndef TILEC_TYPES_TYPE_H
#define TILEC_TYPES_TYPE_H
#include "support/ctx.h"
#include "types/layout.h"

typedef enum DType {
#define DTYPE(id, text, bits, class) DT_##id,
#include "types/dtypes.def"
    DT_COUNT
} DType;

typedef enum DTypeClass { DTYPE_INT, DTYPE_FLOAT } DTypeClass;

typedef struct DTypeInfo {
    const char *text;
    uint8_t bits;
    DTypeClass class;
} DTypeInfo;
extern const DTypeInfo dtype_info[DT_COUNT];

static inline bool dtype_is_int(DType t) {
    return dtype_info[t].class == DTYPE_INT;
}
static inline bool dtype_is_float(DType t) {
    return dtype_info[t].class == DTYPE_FLOAT;
}
/* Bytes in memory: at least one. */
static inline int dtype_bytes(DType t) {
    return dtype_info[t].bits <= 8 ? 1 : dtype_info[t].bits / 8;
}

/* The number that the low bits of an integer of this type mean with a sign. */
static inline int64_t dtype_sign_extend(DType t, uint64_t value) {
    const int unused = 64 - dtype_info[t].bits;
    return (int64_t)(value << unused) >> unused;
}

typedef enum TypeKind { TYPE_NUMBER, TYPE_POINTER, TYPE_BUFFER } TypeKind;

enum { MAX_RANK = 16, MAX_TILE_BITS = 20 };

typedef struct Type {
    TypeKind kind;
    DType dtype;  /* of the element; of the pointee for pointers */
    int32_t rank; /* 0: scalar */
    int32_t log2_numel;
    int64_t shape[MAX_RANK]; /* powers of two; zero beyond rank */
    const Layout *layout;    /* NULL: not chosen yet, and for scalars */
} Type;

/* `shape` may be NULL when rank is 0. Asserts powers of two and at most 2^MAX_TILE_BITS elements:
 * callers with user-given shapes check first. */
const Type *type_get(Ctx *ctx, TypeKind kind, DType dtype, int rank, const int64_t *shape,
                     const Layout *layout);
const Type *type_scalar(Ctx *ctx, DType dtype);
const Type *type_pointer(Ctx *ctx, DType pointee);
/* Same type with another element kind, shape or layout. */
const Type *type_with_element(Ctx *ctx, const Type *type, TypeKind kind, DType dtype);
const Type *type_with_dtype(Ctx *ctx, const Type *type, DType dtype);
const Type *type_with_layout(Ctx *ctx, const Type *type, const Layout *layout);
const Type *type_with_shape(Ctx *ctx, const Type *type, int rank, const int64_t *shape);

static inline bool type_is_tile(const Type *t) {
    return t->rank > 0 && t->kind != TYPE_BUFFER;
}
static inline int64_t type_numel(const Type *t) {
    return (int64_t)1 << t->log2_numel;
}
static inline bool type_is_int(const Type *t) {
    return t->kind == TYPE_NUMBER && dtype_is_int(t->dtype);
}
static inline bool type_is_float(const Type *t) {
    return t->kind == TYPE_NUMBER && dtype_is_float(t->dtype);
}
static inline bool type_is_bool(const Type *t) {
    return t->kind == TYPE_NUMBER && t->dtype == DT_I1;
}
static inline bool type_is_pointer(const Type *t) {
    return t->kind == TYPE_POINTER;
}
/* Bytes of one element in a register or in shared memory: pointers 8. */
static inline int type_element_bytes(const Type *t) {
    return t->kind == TYPE_POINTER ? 8 : dtype_bytes(t->dtype);
}
/* Of a whole tile, or of what a buffer holds in one copy. */
static inline int64_t type_bytes(const Type *t) {
    return type_numel(t) * type_element_bytes(t);
}
/* 32-bit registers that a tile with a layout takes of each thread, its elements packed. */
static inline int64_t type_registers(const Type *t) {
    return (((int64_t)type_element_bytes(t) << t->layout->bits[LAYOUT_REG]) + 3) / 4;
}
/* Numbers that fill 32-bit registers, alone or together: what op optimization_barrier takes. */
static inline bool type_fills_words(const Type *t) {
    return t->kind == TYPE_NUMBER && t->dtype != DT_I1 && dtype_bytes(t->dtype) <= 4;
}
/* Same shape and layout, whatever the elements. */
bool type_same_shape(const Type *a, const Type *b);

void type_print(const Type *type, StrBuf *out);
#endif
