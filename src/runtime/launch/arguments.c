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
    uint64_t marks; /* of the values that an instance may be for: these, the function's, 1 */
} Constexprs;

/* A bit for a value; different ones may share it. */
static inline uint64_t mark_of(int64_t value) {
    return UINT64_C(1) << ((uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

enum {
    INTEGERS = 1u << TILE_I1 | 1u << TILE_I8 | 1u << TILE_I16 | 1u << TILE_I32 | 1u << TILE_I64 |
               1u << TILE_U8 | 1u << TILE_U16 | 1u << TILE_U32 | 1u << TILE_U64
};

static bool dtype_is_integer(tile_dtype type) {
    return (unsigned)type < DTYPE_COUNT && INTEGERS >> type & 1;
}

static inline tile_dtype integer_type(const tile_argument *argument) {
    const int64_t v = argument->value.integer;
    const tile_dtype least = v >= INT32_MIN && v <= INT32_MAX ? TILE_I32 : TILE_I64;
    return argument->type == TILE_DTYPE_AUTO ? least : argument->type;
}

static Str text_of_constexpr(const tile_argument *argument) {
    tile_text text = argument->value.text;
    return (Str){text.data ? text.data : "", text.data ? text.size : 0};
}

static void add_constexpr(Constexprs *constexprs, int64_t value) {
    constexprs->values[constexprs->count++] = value;
    constexprs->marks |= mark_of(value);
}

/* Those of the arguments and those derived from them; marks are of the function's as well. */
static void find_constexprs(const Specialisation *specialisation, const tile_argument *arguments,
                            const Packed *packed, Constexprs *found) {
    int64_t value;
    found->count = 0;
    found->marks = mark_of(1);
    for (size_t i = 0; i < specialisation->constants.count; i++)
        found->marks |= mark_of(specialisation->constants.values[i]);
    for (uint32_t i = 0; i < packed->derived_count; i++)
        add_constexpr(found, packed->derived[i]);
    for (size_t i = 0; i < packed->given; i++) {
        const tile_argument *argument = &arguments[i];
        if (argument->kind < TILE_ARGUMENT_CONSTEXPR)
            continue;
        if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
            add_constexpr(found, argument->value.integer);
        else if (argument->kind == TILE_ARGUMENT_CONSTEXPR &&
                 special_constexpr(text_of_constexpr(argument), &value))
            add_constexpr(found, value);
    }
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
enum { HEAD_SIZE = 2, REFUSED = 0 /* no head: a pointer has a type, and others are no pointers */ };

static inline uint16_t head_of(tile_argument_kind kind, tile_dtype type, SpecialKind special) {
    return (uint16_t)(kind | (unsigned)special << 4 | type << 8);
}

/* Where the next of the values goes. */
typedef struct KeyValues {
    unsigned char *end;
    size_t room; /* for texts: values of 8 bytes have theirs */
} KeyValues;

static void add_value(KeyValues *values, const void *data, size_t size) {
    memcpy(values->end, data, size);
    values->end += size;
}

static bool add_text(KeyValues *values, tile_text text) {
    const uint64_t size = text.size;
    if (size > values->room)
        return false;
    values->room -= size;
    add_value(values, &size, sizeof size);
    if (size)
        add_value(values, text.data, size);
    return true;
}

/* Triton passes fp32 and fp64 only; narrower scalars arrive as fp32. */
static tile_dtype float_type(const tile_argument *argument) {
    return argument->type == TILE_DTYPE_AUTO ? TILE_FP32 : argument->type;
}

static uint16_t add_constexpr_argument(KeyValues *values, const tile_argument *argument) {
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
        add_value(values, &argument->value.integer, sizeof argument->value.integer);
    else if (argument->kind != TILE_ARGUMENT_CONSTEXPR || !add_text(values, argument->value.text))
        return REFUSED;
    return head_of(argument->kind, TILE_DTYPE_AUTO, SPECIAL_NONE);
}

/* An argument of any kind: its head, and its value if that belongs to the key. */
static uint16_t add_argument(KeyValues *values, const Specialisation *specialisation,
                             const tile_argument *argument, size_t i,
                             const Constexprs *constexprs) {
    tile_dtype type = argument->type;
    Special special = {0};
    if (argument->kind >= TILE_ARGUMENT_CONSTEXPR)
        return add_constexpr_argument(values, argument);
    if (argument->kind == TILE_ARGUMENT_POINTER) {
        if (type == TILE_DTYPE_AUTO || (unsigned)type >= DTYPE_COUNT)
            return REFUSED;
        special = special_of_address(specialisation, i, argument->value.address);
    } else if (argument->kind == TILE_ARGUMENT_INT) {
        type = integer_type(argument);
        if (!dtype_is_integer(type))
            return REFUSED;
        special = special_of_value(specialisation, i, argument->value.integer, type, constexprs);
    } else {
        type = float_type(argument);
        if (type != TILE_FP32 && type != TILE_FP64)
            return REFUSED;
    }
    if (special.kind == SPECIAL_FIXED)
        add_value(values, &special.value, sizeof special.value);
    return head_of(argument->kind, type, special.kind);
}

/* Whether an argument is what most of a launch's are: a pointer, or an integer that no instance is
 * for. Their heads are made in registers: behind a driver's call every branch and every store costs
 * more than it seems. */
static inline bool is_plain(const tile_argument *argument, uint64_t marks) {
    enum { ALL = (1u << DTYPE_COUNT) - 1, AUTO = 1u << TILE_DTYPE_AUTO };
    static const uint32_t types[] = {
        [TILE_ARGUMENT_POINTER] = ALL & ~AUTO,
        [TILE_ARGUMENT_INT] = (INTEGERS & ~(1u << TILE_I1)) | AUTO,
    };
    return (unsigned)argument->kind <= TILE_ARGUMENT_INT &&
           (unsigned)argument->type < DTYPE_COUNT && types[argument->kind] >> argument->type & 1 &&
           !(marks & mark_of(argument->value.integer));
}

static inline uint16_t plain_head(const tile_argument *argument) {
    const bool is_integer = argument->kind == TILE_ARGUMENT_INT;
    return head_of(argument->kind, is_integer ? integer_type(argument) : argument->type,
                   special_multiple(argument->value.address, is_integer));
}

/* Where the driver finds the bits of an argument, which is where the caller has them, low bytes
 * first; floats in their type. */
static void *bits_of(const tile_argument *argument, uint64_t *room) {
    if (argument->kind != TILE_ARGUMENT_FLOAT)
        return (void *)(uintptr_t)&argument->value;
    const double number = argument->value.number;
    const float narrow = (float)number;
    if (float_type(argument) == TILE_FP64)
        memcpy(room, &number, sizeof number);
    else
        memcpy(room, &narrow, sizeof narrow);
    return room;
}

/* The key from `heads` on. What is read again and again has copies here, which the bytes of the key
 * cannot alias. */
static bool pack_all(Packed *packed, unsigned char *heads, KeyValues values,
                     Specialisation specialisation, const tile_argument *arguments, size_t count,
                     const Constexprs *constexprs) {
    const bool is_limited = specialisation.fixed || specialisation.limits;
    const uint64_t marks = is_limited ? UINT64_MAX : constexprs->marks;
    uint32_t passed = 0;
    for (size_t i = 0; i < count; i++) {
        const tile_argument *argument = &arguments[i];
        uint16_t head;
        if (is_plain(argument, marks)) {
            head = plain_head(argument);
            packed->params[passed++] = (void *)(uintptr_t)&argument->value;
        } else {
            KeyValues next = values;
            head = add_argument(&next, &specialisation, argument, i, constexprs);
            if (head == REFUSED)
                return false;
            values = next;
            packed->params[passed] = bits_of(argument, &packed->floats[passed]);
            passed += argument->kind < TILE_ARGUMENT_CONSTEXPR;
        }
        memcpy(heads + HEAD_SIZE * i, &head, HEAD_SIZE);
    }
    packed->count = passed;
    packed->key_len = (size_t)(values.end - packed->key);
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
    find_constexprs(specialisation, arguments, packed, &constexprs);
    unsigned char *const heads = packed->key + packed->key_len;
    const KeyValues values = {heads + HEAD_SIZE * count, room - needed};
    return pack_all(packed, heads, values, *specialisation, arguments, count, &constexprs);
}

Special argument_special(const Specialisation *specialisation, const tile_argument *arguments,
                         const Packed *packed, size_t i) {
    const tile_argument *argument = &arguments[i];
    Constexprs constexprs;
    find_constexprs(specialisation, arguments, packed, &constexprs);
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
