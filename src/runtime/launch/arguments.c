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

static bool dtype_is_number(tile_dtype type) {
    return type == TILE_FP8E4NV || type == TILE_FP8E5 || type == TILE_FP16 || type == TILE_BF16 ||
           type == TILE_FP32 || type == TILE_FP64;
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
    found->count = packed->derived_count;
    memcpy(found->values, packed->derived, found->count * sizeof *found->values);
    for (size_t i = 0; i < packed->given; i++) {
        int64_t *value = &found->values[found->count];
        if (arguments[i].kind == TILE_ARGUMENT_CONSTEXPR_INT)
            *value = arguments[i].value.integer;
        else if (arguments[i].kind != TILE_ARGUMENT_CONSTEXPR ||
                 !special_constexpr(text_of_constexpr(&arguments[i]), value))
            continue;
        found->count++;
    }
}

static Special unlimited_special(const Specialisation *specialisation,
                                 const tile_argument *argument, size_t i,
                                 const Constexprs *constexprs) {
    const bool is_pointer = argument->kind == TILE_ARGUMENT_POINTER;
    if (!is_pointer && argument->kind != TILE_ARGUMENT_INT)
        return (Special){0};
    if (specialisation->fixed)
        return special_among(argument->value.integer, specialisation->fixed[i]);
    if (is_pointer)
        return special_of_pointer(argument->value.address);
    if (integer_type(argument) == TILE_I1)
        return (Special){0};
    int64_t value = argument->value.integer;
    Special special =
        special_of_integer(value, (FixedValues){constexprs->values, constexprs->count});
    return special.kind == SPECIAL_FIXED ? special
                                         : special_of_integer(value, specialisation->constants);
}

static Special special_of(const Specialisation *specialisation, const tile_argument *argument,
                          size_t i, const Constexprs *constexprs) {
    const Special special = unlimited_special(specialisation, argument, i, constexprs);
    return specialisation->limits ? special_limited(special, specialisation->limits[i]) : special;
}

bool packed_add(Packed *packed, const void *data, size_t size) {
    if (size > ARGUMENTS_KEY_SIZE - packed->key_len)
        return false;
    memcpy(packed->key + packed->key_len, data, size);
    packed->key_len += size;
    return true;
}

static bool key_head(Packed *packed, unsigned kind, unsigned type, Special special) {
    const unsigned char head[3] = {(unsigned char)kind, (unsigned char)type,
                                   (unsigned char)special.kind};
    return packed_add(packed, head, sizeof head) &&
           (special.kind != SPECIAL_FIXED ||
            packed_add(packed, &special.value, sizeof special.value));
}

static void pass_value(Packed *packed, const void *value, size_t size) {
    uint64_t *slot = &packed->values[packed->count];
    *slot = 0;
    memcpy(slot, value, size);
    packed->params[packed->count++] = slot;
}

/* The bits of a float argument in its type: Triton passes fp32 and fp64 only; narrower scalars
 * arrive as fp32. */
static bool pass_float(Packed *packed, double number, tile_dtype type) {
    float narrow = (float)number;
    if (type == TILE_FP64)
        pass_value(packed, &number, sizeof number);
    else if (type == TILE_FP32)
        pass_value(packed, &narrow, sizeof narrow);
    else
        return false;
    return true;
}

static bool pack_argument(Packed *packed, const tile_argument *argument, Special special) {
    if ((unsigned)argument->type >= DTYPE_COUNT)
        return false;
    switch (argument->kind) {
    case TILE_ARGUMENT_POINTER:
        if (argument->type == TILE_DTYPE_AUTO ||
            !key_head(packed, argument->kind, argument->type, special))
            return false;
        pass_value(packed, &argument->value.address, sizeof argument->value.address);
        return true;
    case TILE_ARGUMENT_INT: {
        tile_dtype type = integer_type(argument);
        uint64_t bits = (uint64_t)argument->value.integer;
        if (dtype_is_number(type) || !key_head(packed, argument->kind, type, special))
            return false;
        pass_value(packed, &bits, sizeof bits);
        return true;
    }
    case TILE_ARGUMENT_FLOAT: {
        tile_dtype type = argument->type == TILE_DTYPE_AUTO ? TILE_FP32 : argument->type;
        return key_head(packed, argument->kind, type, special) &&
               pass_float(packed, argument->value.number, type);
    }
    case TILE_ARGUMENT_CONSTEXPR: {
        uint32_t size = (uint32_t)argument->value.text.size;
        return argument->value.text.size <= ARGUMENTS_KEY_SIZE &&
               key_head(packed, argument->kind, 0, special) &&
               packed_add(packed, &size, sizeof size) &&
               packed_add(packed, argument->value.text.data, size);
    }
    case TILE_ARGUMENT_CONSTEXPR_INT:
        return key_head(packed, argument->kind, 0, special) &&
               packed_add(packed, &argument->value.integer, sizeof argument->value.integer);
    }
    return false;
}

bool arguments_pack(Packed *packed, const Specialisation *specialisation, const void *device,
                    const tile_argument *arguments, size_t count) {
    packed->key_len = 0;
    packed->count = 0;
    packed->given = (uint32_t)count;
    packed->derived_count = 0;
    packed->is_underived = false;
    if (!packed_add(packed, &device, sizeof device) ||
        (specialisation->derive &&
         !specialisation->derive(specialisation->derivation, arguments, count, packed)))
        return false;
    Constexprs constexprs;
    find_constexprs(arguments, packed, &constexprs);
    for (size_t i = 0; i < count; i++)
        if (!pack_argument(packed, &arguments[i],
                           special_of(specialisation, &arguments[i], i, &constexprs)))
            return false;
    return true;
}

Special argument_special(const Specialisation *specialisation, const tile_argument *arguments,
                         const Packed *packed, size_t i) {
    Constexprs constexprs;
    find_constexprs(arguments, packed, &constexprs);
    return special_of(specialisation, &arguments[i], i, &constexprs);
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
