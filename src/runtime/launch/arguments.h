/* The arguments of a call by value: as values to launch with, and as a key of the instance that
 * they need. */
#ifndef TILEC_RUNTIME_LAUNCH_ARGUMENTS_H
#define TILEC_RUNTIME_LAUNCH_ARGUMENTS_H
#include "runtime/launch/specialise.h"
#include "tilec.h"

enum { ARGUMENTS_KEY_SIZE = 4096 };

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
    void *
        params[TILE_MAX_ARGUMENTS]; /* into the call's arguments, which are only read, and floats */
    uint32_t count;                 /* of params */
    uint64_t floats[TILE_MAX_ARGUMENTS];
    uint32_t given; /* arguments of the call */
    int64_t derived[TILE_MAX_ARGUMENTS];
    uint32_t derived_count;
    bool is_underived;
    bool is_untuned; /* nobody has chosen among the function's configurations for such a call */
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
 * `device`. False: one of them is refused. */
bool arguments_pack(Packed *packed, const Specialisation *specialisation, const void *device,
                    const tile_argument *arguments, size_t count);
/* Its name as signatures spell it; NULL: there is no such type. */
const char *dtype_name(tile_dtype type);
/* Why one is refused, which alone, with those before it, is. */
const char *argument_explain(Arena *arena, const tile_argument *argument);

/* What the call that was packed promises of argument i. */
Special argument_special(const Specialisation *specialisation, const tile_argument *arguments,
                         const Packed *packed, size_t i);
/* "*fp32", "i32": the type that a parameter has for it; empty for constexprs. */
const char *argument_type(Arena *arena, const tile_argument *argument);
/* Whether a parameter of this type takes it: a number that is i32 for want of a stated type may be
 * i64 as well. */
bool argument_fits(const tile_argument *argument, Str type);
/* A constexpr's value as a Python literal; false for a value that is passed. */
bool argument_constexpr(Arena *arena, const tile_argument *argument, Str *literal);
#endif
