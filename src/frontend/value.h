/* Values the elaborator computes with.
 *
 * A compile-time value is what Python would have: int, float, bool, str, None, tuple, dtype,
 * function, module. A run-time value (VAL_TILE, scalars included) is a value of the Tile IR and its
 * element type, which unlike the IR's has a sign. Compile-time numbers are weak in promotion,
 * run-time ones are not.
 *
 * VAL_ERROR stands for something already reported: operations on it yield it again in silence, so
 * one mistake gives one message. Values are passed by value; what they point at lives in the
 * context's arena and does not change, but for the objects of Python (objects.h). */
#ifndef TILEC_FRONTEND_VALUE_H
#define TILEC_FRONTEND_VALUE_H
#include "frontend/ast.h"
#include "frontend/bigint.h"
#include "ir/ir.h"

/* A compile-time int of a magnitude below 2**127, so that every one has a negative; those beyond
 * are of VAL_BIGINT. */
typedef __int128 Wide;
#define WIDE_MAX ((Wide)(~(unsigned __int128)0 >> 1))

typedef enum Elem {
#define ELEM(id, ...) ELEM_##id,
#include "frontend/elems.def"
    ELEM_COUNT
} Elem;

typedef enum ElemClass { ELEM_BOOL, ELEM_INT, ELEM_FLOAT } ElemClass;

typedef struct ElemInfo {
    const char *name, *text;
    DType ir;
    ElemClass class;
    bool is_signed;
    uint8_t mantissa;
} ElemInfo;
extern const ElemInfo elem_info[ELEM_COUNT];

/* A scalar type: an element type or a pointer to one. */
typedef struct ScalarType {
    Elem elem;
    bool pointer;
    bool is_const; /* pointee may not be written */
} ScalarType;

typedef enum ValKind {
    VAL_ERROR,
    VAL_ABSENT,    /* an optional argument that was not given */
    VAL_UNDEFINED, /* a variable without a usable value here; `undefined` says why */
    VAL_NONE,
    VAL_BOOL,
    VAL_INT,
    VAL_BIGINT, /* an int that Wide does not hold */
    VAL_FLOAT,
    VAL_STRING,
    VAL_TUPLE, /* in kernels lists too */
    VAL_LIST,  /* of a function evaluated at compile time */
    VAL_DICT,
    VAL_VIEW,     /* d.keys(), d.values(), d.items() */
    VAL_ITERATOR, /* zip(..), enumerate(..), reversed(..) */
    VAL_TYPE,
    VAL_CONSTEXPR_TYPE, /* of what is known at compile time: two are equal if the values are */
    VAL_RECORD,         /* a class of named tuples, an aggregate */
    VAL_FUNCTION,
    VAL_BUILTIN,
    VAL_FOREIGN, /* a function of the program that asked for the compilation */
    VAL_METHOD,
    VAL_MODULE,
    VAL_SLICE,
    VAL_ELLIPSIS,
    VAL_BLOCK, /* a block pointer or a tensor descriptor */
    VAL_TILE
} ValKind;

typedef struct Val Val;
typedef struct Builtin Builtin;
typedef struct Unit Unit;

/* What is fixed of a block pointer or descriptor: the type of the block, without a layout, and what
 * pads it. A descriptor checks every dimension and has no place; a block pointer is told by each
 * access what to check. */
typedef struct BlockInfo {
    bool is_descriptor;
    Padding padding; /* descriptors */
    ScalarType scalar;
    const Type *tile;
} BlockInfo;

typedef struct LastIndex LastIndex;
typedef struct Object Object;

typedef struct Undefined {
    const char *why;
    Span span;             /* file 0: none */
    const LastIndex *last; /* of the index of a loop: how its last value is had; else NULL */
    bool mismatched;       /* it has several types, by the way that led here */
} Undefined;

struct Val {
    ValKind kind;
    union {
        Wide i; /* VAL_INT, VAL_BOOL */
        double f;
        const BigInt *big;
        Str s;
        const Undefined *undefined;
        struct {
            const Val *items;
            uint32_t count;
            uint32_t size;  /* elements of all tuples inside, characters of strings */
            uint32_t depth; /* of nesting: 1 for a tuple of no tuples */
            Unit *record;   /* of a named tuple or an aggregate its class; else NULL */
        } tuple;
        Object *object;      /* VAL_LIST, VAL_DICT, VAL_VIEW, VAL_ITERATOR */
        const Val *constant; /* VAL_CONSTEXPR_TYPE */
        Unit *record;
        struct { /* block: shape of a tile type, NULL for scalars */
            ScalarType scalar;
            const Type *block;
        } type;
        struct {
            const FuncDef *def;
            Unit *unit;
        } function;
        const Builtin *builtin;
        struct {
            const struct Binding *binding;
            Unit *unit; /* that has it */
        } foreign;
        struct { /* x.sum: callee and the x it is called on */
            const Val *self, *callee;
        } method;
        struct {
            Str path; /* dotted, of a language module; empty for a file's */
            Unit *unit;
        } module;
        const Val *slice; /* start, stop, step */
        struct { /* parts: the pointer to element 0, then extents (i32 of descriptors, else i64),
                    strides (i64) and, of block pointers, offsets (i64): run-time values */
            const BlockInfo *info;
            const Val *parts;
        } block;
        struct {
            Value *ir;
            ScalarType scalar;
        } tile;
    };
};

/* Element types */

static inline bool elem_is_float(Elem elem) {
    return elem_info[elem].class == ELEM_FLOAT;
}
static inline bool elem_is_int(Elem elem) {
    return elem_info[elem].class != ELEM_FLOAT; /* int1 is an integer, as in Triton */
}
/* A float that the IR has not: it is held as bits, and std.tile converts it. */
static inline bool elem_is_held_as_bits(Elem elem) {
    return elem == ELEM_F8E4B15 || elem == ELEM_F8E4B8 || elem == ELEM_F8E5B16;
}
static inline bool elem_is_fp8(Elem elem) {
    return elem == ELEM_F8E4NV || elem == ELEM_F8E5 || elem_is_held_as_bits(elem);
}
static inline int elem_bits(Elem elem) {
    return dtype_info[elem_info[elem].ir].bits;
}
Wide elem_min(Elem elem); /* integers only */
Wide elem_max(Elem elem);
Elem elem_int(int bits, bool is_signed); /* 1, 8, 16, 32, 64 */

static inline ScalarType scalar_number(Elem elem) {
    return (ScalarType){.elem = elem};
}
static inline bool scalar_equal(ScalarType a, ScalarType b) {
    return a.elem == b.elem && a.pointer == b.pointer && a.is_const == b.is_const;
}
static inline bool scalar_is_float(ScalarType type) {
    return !type.pointer && elem_is_float(type.elem);
}
static inline bool scalar_is_held_as_bits(ScalarType type) {
    return !type.pointer && elem_is_held_as_bits(type.elem);
}
static inline bool scalar_is_int(ScalarType type) {
    return !type.pointer && elem_is_int(type.elem);
}
static inline bool scalar_is_bool(ScalarType type) {
    return !type.pointer && type.elem == ELEM_I1;
}
/* A type as signatures and annotations spell it: i32, fp16, *fp32, *kbf16, tl.int64. */
bool scalar_parse(Str text, ScalarType *type);
/* Every spelling of an element type, for suggestions. */
uint32_t scalar_spellings(Str *out, uint32_t capacity);
const char *scalar_text(Arena *arena, ScalarType type);
/* The IR type of such a scalar, or with the shape of `like` if that is a tile. */
const Type *scalar_ir(Ctx *ctx, ScalarType type, const Type *like);

/* Values */

static inline Val val_of(ValKind kind) {
    return (Val){.kind = kind};
}
static inline Val val_error(void) {
    return val_of(VAL_ERROR);
}
static inline Val val_none(void) {
    return val_of(VAL_NONE);
}
static inline Val val_int(Wide i) {
    return (Val){.kind = VAL_INT, .i = i};
}
static inline Val val_bool(bool b) {
    return (Val){.kind = VAL_BOOL, .i = b};
}
static inline Val val_float(double f) {
    return (Val){.kind = VAL_FLOAT, .f = f};
}
static inline Val val_string(Str s) {
    return (Val){.kind = VAL_STRING, .s = s};
}
Val val_tuple(const Val *items, uint32_t count);
/* A named tuple; `record` may be NULL. */
Val val_tuple_of(Unit *record, const Val *items, uint32_t count);
static inline Val val_type(ScalarType scalar, const Type *block) {
    return (Val){.kind = VAL_TYPE, .type = {scalar, block}};
}
static inline Val val_tile(Value *ir, ScalarType scalar) {
    return (Val){.kind = VAL_TILE, .tile = {ir, scalar}};
}
static inline bool val_failed(Val v) {
    return v.kind == VAL_ERROR;
}
static inline bool val_is_number(Val v) {
    return v.kind == VAL_INT || v.kind == VAL_BOOL || v.kind == VAL_FLOAT;
}
/* A list, a dictionary, or what goes through them. */
static inline bool val_is_object(Val v) {
    return v.kind >= VAL_LIST && v.kind <= VAL_ITERATOR;
}
static inline bool val_is_tile(Val v) {
    return v.kind == VAL_TILE;
}
/* Absent or None. */
static inline bool val_missing(Val v) {
    return v.kind == VAL_ABSENT || v.kind == VAL_NONE;
}
/* Ints of any size, bools too. */
static inline bool val_is_int(Val v) {
    return v.kind == VAL_INT || v.kind == VAL_BOOL || v.kind == VAL_BIGINT;
}
BigInt val_as_big(Arena *arena, Val v);
/* VAL_INT where Wide holds it. */
Val val_of_big(Arena *arena, BigInt big);
/* -1, 0, 1, or 2 with a NaN: exact, also of an int and a float. */
int val_compare_numbers(Val a, Val b);
static inline double val_as_double(Val v) {
    return v.kind == VAL_FLOAT ? v.f : (double)v.i;
}
static inline const Type *val_ir_type(Val v) {
    return v.tile.ir->type;
}
static inline bool val_has_shape(Val v) {
    return v.kind == VAL_TILE && v.tile.ir->type->rank > 0;
}

/* What walking over a value costs: elements of nested tuples, characters of strings; at least 1.
 * UINT32_MAX stands for all that is more. */
uint32_t val_size(Val v);

/* Parts of a block. */
static inline uint32_t val_block_parts(Val v) {
    return 1 + (v.block.info->is_descriptor ? 2 : 3) * (uint32_t)v.block.info->tile->rank;
}

/* Same value: what `is` and `==` mean for everything but run-time values, which are the same only
 * as the same IR value. 1 == 1.0 == True. */
bool val_equal(Val a, Val b);
/* Python's truth; run-time values, functions and so on count as true. */
bool val_truth(Val v);
/* int, float, str, ... or the type of a run-time value: for messages. */
const char *val_type_text(Arena *arena, Val v);
/* Python's str() and, for strings inside tuples and literals, repr(). */
void val_print(Val v, bool repr, StrBuf *out);
/* tl.constexpr_type(v) */
Val val_constexpr_type(Arena *arena, Val v);
const char *val_text(Arena *arena, Val v);
/* A float as Python's repr: the shortest decimal that reads back as the same double. */
void print_double(double f, StrBuf *out);
void print_wide(Wide i, StrBuf *out);
/* A value of an aggregate: no sequence, though it is held as a tuple. */
bool val_is_aggregate(Val v);
/* The place of a named tuple's field; UINT32_MAX: it has none of that name. */
uint32_t record_field(const Unit *record, Str name);
/* The IR values inside, tuples included, in order. */
uint32_t val_flatten(Val v, Value **out, uint32_t capacity);
/* `v` with its IR values replaced in order from *next on, which advances. */
Val val_rebuild(Arena *arena, Val v, Value *const **next);
/* Same structure, kinds, types and compile-time parts: such values can join in one variable. */
bool val_same_shape(Val a, Val b);
#endif
