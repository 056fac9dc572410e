/* The arguments of a call by value: as values to launch with, and as a key of the instance that
 * they need. */
#ifndef TILEC_RUNTIME_LAUNCH_ARGUMENTS_H
#define TILEC_RUNTIME_LAUNCH_ARGUMENTS_H
#include "runtime/launch/specialise.h"
#include "tilec.h"

enum { ARGUMENTS_KEY_SIZE = 4096, ARGUMENTS_MAX_DEPTH = 64, DESCRIPTOR_MAX_RANK = 5 };

typedef struct Packed Packed;

/* What a function computes from its arguments before they are packed: adds it to the key
 * (packed_add), and integers that are constexprs to `derived`. False, with `is_underived` or
 * `is_untuned` set: it cannot. */
typedef bool Derive(const void *derivation, const tile_argument *arguments, size_t count,
                    Packed *packed);

/* In which values of arguments the instances of a function differ. */
typedef struct Specialisation {
    FixedValues constants;    /* integer constexprs that hold for every call */
    const FixedValues *fixed; /* of each parameter of a call, what instances are there for; NULL: an
                                 instance can be made for any value */
    const SpecialLimit *limits; /* of each parameter of a call; NULL: none has one */
    Derive *derive;             /* NULL: nothing */
    const void *derivation;
} Specialisation;

struct Packed {
    _Alignas(8) unsigned char key[ARGUMENTS_KEY_SIZE];
    size_t key_len;
    void
        *params[TILE_MAX_ARGUMENTS]; /* into the call's arguments, what they point at, and floats */
    uint32_t count;                  /* of params */
    uint64_t floats[TILE_MAX_ARGUMENTS];
    uint32_t given; /* arguments of the call */
    int64_t derived[TILE_MAX_ARGUMENTS];
    uint32_t derived_count;
    bool is_underived;
    bool is_untuned; /* nobody has chosen among the function's configurations for such a call */
    bool wants_grid; /* said by whoever packs: the function is to compute it if it derives more */
    bool has_grid;   /* it did */
    uint32_t grid[3];
};

/* A key that grows. */
typedef struct KeyBuffer {
    unsigned char *bytes;
    size_t *size;
    size_t room;
} KeyBuffer;

/* Appends; false: it is full. */
bool key_add(KeyBuffer key, const void *data, size_t size);
/* The same to the key of a call. */
bool packed_add(Packed *packed, const void *data, size_t size);

/* The key is of the arguments' kinds, types and specialisations, of the constexprs' values, and of
 * `device`, a number. False: one of them is refused. */
bool arguments_pack(Packed *packed, const Specialisation *specialisation, uint64_t device,
                    const tile_argument *arguments, size_t count);
/* Its name as signatures spell it; NULL: there is no such type. */
const char *dtype_name(tile_dtype type);
uint32_t dtype_size(tile_dtype type);
/* Why one is refused, which alone, with those before it, is. */
const char *argument_explain(Arena *arena, const tile_argument *argument);

/* The entry of a signature that argument i of the call that was packed is compiled for: "*fp32:16",
 * "(i32:1, =4)". For values that are passed. */
const char *argument_entry(Arena *arena, const Specialisation *specialisation,
                           const tile_argument *arguments, const Packed *packed, size_t i);

/* What is not made of others (argument_text.c). */

/* "*fp32", "i32": the type that a parameter has for it; of a tuple or descriptor what it is; empty
 * for constexprs. */
const char *argument_type(Arena *arena, const tile_argument *argument);
/* Whether a parameter of this type takes it: a number that is i32 for want of a stated type may be
 * i64 as well. */
bool argument_fits(const tile_argument *argument, Str type);
/* A constexpr's value as a Python literal; false for another argument. */
bool argument_constexpr(Arena *arena, const tile_argument *argument, Str *literal);
/* "tensordesc<fp16[16, 64]>" */
const char *descriptor_type(Arena *arena, const tile_descriptor *descriptor);
/* Why a descriptor is refused; NULL: it is not. */
const char *descriptor_explain(Arena *arena, const tile_descriptor *descriptor);

/* A value or constexpr of a call, by itself or as a part of a tuple or descriptor. */
typedef struct ArgumentLeaf {
    Str name; /* "x", "x.0", "x.shape.1" */
    tile_argument argument;
} ArgumentLeaf;

/* Those of a call that was packed, as the parameters of kernels have them. `names`: of the
 * arguments. */
const ArgumentLeaf *argument_leaves(Arena *arena, const Str *names, const tile_argument *arguments,
                                    size_t count, uint32_t *leaf_count);

/* Bits of the types that numbers are passed as. */
enum {
    ARGUMENT_TYPES = TILE_FP8E5B16 + 1,
    ARGUMENT_INTEGERS = 1u << TILE_I1 | 1u << TILE_I8 | 1u << TILE_I16 | 1u << TILE_I32 |
                        1u << TILE_I64 | 1u << TILE_U8 | 1u << TILE_U16 | 1u << TILE_U32 |
                        1u << TILE_U64,
    ARGUMENT_FLOATS = 1u << TILE_FP16 | 1u << TILE_BF16 | 1u << TILE_FP32 | 1u << TILE_FP64
};
static inline bool argument_is_int_type(tile_dtype type) {
    return (unsigned)type < ARGUMENT_TYPES && ARGUMENT_INTEGERS >> type & 1;
}
static inline bool argument_is_float_type(tile_dtype type) {
    return (unsigned)type < ARGUMENT_TYPES && ARGUMENT_FLOATS >> type & 1;
}
static inline tile_dtype argument_integer_type(const tile_argument *argument) {
    const int64_t v = argument->value.integer;
    const tile_dtype least = v >= INT32_MIN && v <= INT32_MAX ? TILE_I32 : TILE_I64;
    return argument->type == TILE_DTYPE_AUTO ? least : argument->type;
}
static inline tile_dtype argument_float_type(const tile_argument *argument) {
    return argument->type == TILE_DTYPE_AUTO ? TILE_FP32 : argument->type;
}
#endif
