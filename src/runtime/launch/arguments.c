/* See arguments.h. */
#include "runtime/launch/arguments.h"

#include <inttypes.h>

static const char *const dtype_names[] = {[TILE_DTYPE_AUTO] = "",
#define NAME(id, text, bytes) [id] = text,
                                          TILE_DTYPES(NAME)
#undef NAME
};

enum { DTYPE_COUNT = sizeof dtype_names / sizeof *dtype_names };

const char *dtype_name(tile_dtype type) {
    return (unsigned)type < DTYPE_COUNT ? dtype_names[type] : NULL;
}

/* The integer constexprs of a call, by which its integers are specialised. */
typedef struct Constexprs {
    int64_t values[2 * TILE_MAX_ARGUMENTS];
    size_t count;
} Constexprs;

static bool dtype_is_integer(tile_dtype type) {
    enum {
        INTEGERS = 1u << TILE_I1 | 1u << TILE_I8 | 1u << TILE_I16 | 1u << TILE_I32 |
                   1u << TILE_I64 | 1u << TILE_U8 | 1u << TILE_U16 | 1u << TILE_U32 | 1u << TILE_U64
    };
    return (unsigned)type < DTYPE_COUNT && INTEGERS >> type & 1;
}

static tile_dtype integer_type(const tile_argument *argument) {
    if (argument->type != TILE_DTYPE_AUTO)
        return argument->type;
    int64_t v = argument->value.integer;
    return v >= INT32_MIN && v <= INT32_MAX ? TILE_I32 : TILE_I64;
}

static Str text_of_constexpr(const tile_argument *argument) {
    tile_text text = argument->value.text;
    return (Str){text.data ? text.data : "", text.data ? text.size : 0};
}

/* Those of the arguments and those derived from them. */
static void find_constexprs(const tile_argument *arguments, const Packed *packed,
                            Constexprs *found) {
    size_t count = packed->derived_count;
    memcpy(found->values, packed->derived, count * sizeof *found->values);
    for (size_t i = 0; i < packed->given; i++) {
        const tile_argument *argument = &arguments[i];
        if (argument->kind < TILE_ARGUMENT_CONSTEXPR)
            continue;
        if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
            found->values[count++] = argument->value.integer;
        else if (argument->kind == TILE_ARGUMENT_CONSTEXPR)
            count += special_constexpr(text_of_constexpr(argument), &found->values[count]);
    }
    found->count = count;
}

static Special limited(const Specialisation *specialisation, size_t i, Special special) {
    return specialisation->limits ? special_limited(special, specialisation->limits[i]) : special;
}

static inline Special special_of_address(const Specialisation *specialisation, size_t i,
                                         uint64_t address) {
    if (specialisation->fixed)
        return special_among((int64_t)address, specialisation->fixed[i]);
    return limited(specialisation, i, special_of_pointer(address));
}

static inline Special special_of_value(const Specialisation *specialisation, size_t i,
                                       int64_t value, tile_dtype type,
                                       const Constexprs *constexprs) {
    if (specialisation->fixed)
        return special_among(value, specialisation->fixed[i]);
    if (type == TILE_I1)
        return (Special){0};
    const FixedValues of_call = {constexprs->values, constexprs->count};
    return limited(specialisation, i,
                   special_may_be_fixed(value) && special_fixes(value, of_call)
                       ? (Special){SPECIAL_FIXED, value}
                       : special_of_integer(value, specialisation->constants));
}

bool key_add(KeyBuffer key, const void *data, size_t size) {
    if (size > key.room - *key.size)
        return false;
    memcpy(key.bytes + *key.size, data, size);
    *key.size += size;
    return true;
}

bool packed_add(Packed *packed, const void *data, size_t size) {
    return key_add((KeyBuffer){packed->key, &packed->key_len, sizeof packed->key}, data, size);
}

/* The end of a key: a head for each argument, its kind, type and specialisation, and behind them
 * all, in order, the values that an instance is for. */
typedef struct KeyTail {
    unsigned char *heads, *values;
    size_t room; /* for texts: values of 8 bytes have theirs */
} KeyTail;

enum { HEAD_SIZE = 2 };

static void tail_add(KeyTail *tail, const void *data, size_t size) {
    memcpy(tail->values, data, size);
    tail->values += size;
}

static void tail_add_head(KeyTail *tail, unsigned kind, unsigned type, Special special) {
    const uint16_t head = (uint16_t)(kind | (unsigned)special.kind << 4 | type << 8);
    memcpy(tail->heads, &head, HEAD_SIZE);
    tail->heads += HEAD_SIZE;
    if (special.kind == SPECIAL_FIXED)
        tail_add(tail, &special.value, sizeof special.value);
}

static bool tail_add_text(KeyTail *tail, tile_text text) {
    const uint64_t size = text.size;
    if (size > tail->room)
        return false;
    tail->room -= size;
    tail_add(tail, &size, sizeof size);
    if (size)
        tail_add(tail, text.data, size);
    return true;
}

/* The bits of a float argument in its type: Triton passes fp32 and fp64 only; narrower scalars
 * arrive as fp32. False: it has another. */
static bool float_bits(double number, tile_dtype type, uint64_t *bits) {
    const float narrow = (float)number;
    *bits = 0;
    if (type == TILE_FP64)
        memcpy(bits, &number, sizeof number);
    else if (type == TILE_FP32)
        memcpy(bits, &narrow, sizeof narrow);
    return type == TILE_FP64 || type == TILE_FP32;
}

static bool pack_constexpr(KeyTail *tail, const tile_argument *argument) {
    tail_add_head(tail, argument->kind, TILE_DTYPE_AUTO, (Special){0});
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR)
        return tail_add_text(tail, argument->value.text);
    tail_add(tail, &argument->value.integer, sizeof argument->value.integer);
    return argument->kind == TILE_ARGUMENT_CONSTEXPR_INT;
}

/* Adds an argument to the key, and gives the bits that are passed for it. */
static inline bool pack_value(KeyTail *tail, const Specialisation *specialisation,
                              const tile_argument *argument, size_t i, const Constexprs *constexprs,
                              uint64_t *bits) {
    tile_dtype type = argument->type;
    Special special = {0};
    *bits = argument->value.address; /* and the integer's */
    if (argument->kind == TILE_ARGUMENT_POINTER) {
        if (type == TILE_DTYPE_AUTO || (unsigned)type >= DTYPE_COUNT)
            return false;
        special = special_of_address(specialisation, i, *bits);
    } else if (argument->kind == TILE_ARGUMENT_INT) {
        type = integer_type(argument);
        if (!dtype_is_integer(type))
            return false;
        special = special_of_value(specialisation, i, argument->value.integer, type, constexprs);
    } else {
        type = type == TILE_DTYPE_AUTO ? TILE_FP32 : type;
        if (!float_bits(argument->value.number, type, bits))
            return false;
    }
    tail_add_head(tail, argument->kind, type, special);
    return true;
}

/* Every launch of a function comes here: what it reads again and again it has copies of, which the
 * bytes of the key cannot alias. */
static bool pack_all(Packed *packed, KeyTail tail, Specialisation specialisation,
                     const tile_argument *arguments, size_t count, const Constexprs *constexprs) {
    uint32_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        const tile_argument *argument = &arguments[i];
        if (argument->kind >= TILE_ARGUMENT_CONSTEXPR) {
            if (!pack_constexpr(&tail, argument))
                return false;
            continue;
        }
        if (!pack_value(&tail, &specialisation, argument, i, constexprs, &packed->values[passed]))
            return false;
        packed->params[passed] = &packed->values[passed];
        passed++;
    }
    packed->count = passed;
    packed->key_len = (size_t)(tail.values - packed->key);
    return true;
}

bool arguments_pack(Packed *packed, const Specialisation *specialisation, const void *device,
                    const tile_argument *arguments, size_t count) {
    packed->key_len = 0;
    packed->given = (uint32_t)count;
    packed->derived_count = 0;
    packed->is_underived = packed->is_untuned = false;
    if (!packed_add(packed, &device, sizeof device) ||
        (specialisation->derive &&
         !specialisation->derive(specialisation->derivation, arguments, count, packed)))
        return false;
    const size_t needed = count * (HEAD_SIZE + sizeof(int64_t)),
                 room = ARGUMENTS_KEY_SIZE - packed->key_len;
    if (needed > room)
        return false;
    Constexprs constexprs;
    find_constexprs(arguments, packed, &constexprs);
    unsigned char *const heads = packed->key + packed->key_len;
    const KeyTail tail = {
        .heads = heads, .values = heads + HEAD_SIZE * count, .room = room - needed};
    return pack_all(packed, tail, *specialisation, arguments, count, &constexprs);
}

Special argument_special(const Specialisation *specialisation, const tile_argument *arguments,
                         const Packed *packed, size_t i) {
    const tile_argument *argument = &arguments[i];
    Constexprs constexprs;
    find_constexprs(arguments, packed, &constexprs);
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return special_of_address(specialisation, i, argument->value.address);
    case TILE_ARGUMENT_INT:
        return special_of_value(specialisation, i, argument->value.integer, integer_type(argument),
                                &constexprs);
    default:
        return (Special){0};
    }
}

const char *argument_type(Arena *arena, const tile_argument *argument) {
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return str_format(arena, "*%s", dtype_names[argument->type]);
    case TILE_ARGUMENT_INT:
        return dtype_names[integer_type(argument)];
    case TILE_ARGUMENT_FLOAT:
        return argument->type == TILE_FP64 ? "fp64" : "fp32";
    case TILE_ARGUMENT_CONSTEXPR:
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return "";
    }
    return "";
}

bool argument_fits(const tile_argument *argument, Str type) {
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        return type.len && type.ptr[0] == '*' &&
               str_is((Str){type.ptr + 1, type.len - 1}, dtype_names[argument->type]);
    case TILE_ARGUMENT_INT:
        return str_is(type, dtype_names[integer_type(argument)]) ||
               (argument->type == TILE_DTYPE_AUTO && str_is(type, dtype_names[TILE_I64]));
    case TILE_ARGUMENT_FLOAT:
        return str_is(type, argument->type == TILE_FP64 ? "fp64" : "fp32");
    case TILE_ARGUMENT_CONSTEXPR:
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return false;
    }
    return false;
}

bool argument_constexpr(Arena *arena, const tile_argument *argument, Str *literal) {
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR)
        *literal = text_of_constexpr(argument);
    else if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
        *literal = str_from(str_format(arena, "%" PRId64, argument->value.integer));
    else
        return false;
    return true;
}

const char *argument_explain(Arena *arena, const tile_argument *argument) {
    if ((unsigned)argument->kind > TILE_ARGUMENT_CONSTEXPR_INT)
        return str_format(arena, "there is no kind %d", (int)argument->kind);
    if ((unsigned)argument->type >= DTYPE_COUNT)
        return str_format(arena, "there is no type %d", (int)argument->type);
    const char *type = dtype_names[argument->type];
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return "a pointer needs the type of what it points at";
    if (argument->kind == TILE_ARGUMENT_INT)
        return str_format(arena, "an integer cannot be passed as %s", type);
    if (argument->kind == TILE_ARGUMENT_FLOAT)
        return str_format(arena, "a number is passed as fp32 or fp64, not as %s", type);
    return "this call's constexprs are too long";
}
