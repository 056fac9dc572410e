/* See arguments.h. */
#include "runtime/launch/arguments.h"

#include "types/float_bits.h"

/* What every launch goes through is one function, whoever else calls its parts, and what few have
 * is beside it: calls and saved registers show here. */
#define INLINE inline __attribute__((always_inline))
#define RARE __attribute__((noinline, cold))

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

/* A text without data is empty, as for argument_constexpr. */
static bool add_text(KeyValues *values, tile_text text) {
    const uint64_t size = text.data ? text.size : 0;
    if (size > values->room)
        return false;
    values->room -= size;
    add_value(values, &size, sizeof size);
    if (size)
        add_value(values, text.data, size);
    return true;
}

static inline bool is_nested(const tile_argument *argument) {
    return argument->kind == TILE_ARGUMENT_TUPLE || argument->kind == TILE_ARGUMENT_DESCRIPTOR;
}

static INLINE uint16_t add_constexpr_argument(KeyValues *values, const tile_argument *argument) {
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT)
        add_value(values, &argument->value.integer, sizeof argument->value.integer);
    else if (argument->kind != TILE_ARGUMENT_CONSTEXPR || !add_text(values, argument->value.text))
        return REFUSED;
    return head_of(argument->kind, TILE_DTYPE_AUTO, SPECIAL_NONE);
}

/* An argument of any kind: its head, and its value if that belongs to the key. */
static INLINE uint16_t add_argument(KeyValues *values, const Specialisation *specialisation,
                                    const tile_argument *argument, size_t i,
                                    const Constexprs *constexprs) {
    tile_dtype type = argument->type;
    Special special = {0};
    if (argument->kind >= TILE_ARGUMENT_CONSTEXPR)
        return add_constexpr_argument(values, argument);
    if (argument->kind == TILE_ARGUMENT_POINTER) {
        if (type == TILE_DTYPE_AUTO || (unsigned)type >= ARGUMENT_TYPES)
            return REFUSED;
        special = special_of_address(specialisation, i, argument->value.address);
    } else if (argument->kind == TILE_ARGUMENT_INT) {
        type = argument_integer_type(argument);
        if (!argument_is_int_type(type))
            return REFUSED;
        special = special_of_value(specialisation, i, argument->value.integer, type, constexprs);
    } else {
        type = argument_float_type(argument);
        if (!argument_is_float_type(type))
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
    enum { ALL = (1u << ARGUMENT_TYPES) - 1, AUTO = 1u << TILE_DTYPE_AUTO };
    static const uint32_t types[] = {
        [TILE_ARGUMENT_POINTER] = ALL & ~AUTO,
        [TILE_ARGUMENT_INT] = (ARGUMENT_INTEGERS & ~(1u << TILE_I1)) | AUTO,
    };
    return (unsigned)argument->kind <= TILE_ARGUMENT_INT &&
           (unsigned)argument->type < ARGUMENT_TYPES &&
           types[argument->kind] >> argument->type & 1 &&
           !(marks & mark_of(argument->value.integer));
}

static inline uint16_t plain_head(const tile_argument *argument) {
    const bool is_integer = argument->kind == TILE_ARGUMENT_INT;
    return head_of(argument->kind, is_integer ? argument_integer_type(argument) : argument->type,
                   special_multiple(argument->value.address, is_integer));
}

/* Numbers of 16 bits are rare: they must not cost others registers. */
static RARE void narrow_to_16(tile_dtype type, double number, uint64_t *room) {
    *room = float_to_bits(type == TILE_FP16 ? DT_F16 : DT_BF16, number);
}

/* Where the driver finds the bits of an argument, which is where the caller has them, low bytes
 * first; floats in their type. */
static INLINE void *bits_of(const tile_argument *argument, uint64_t *room) {
    if (argument->kind != TILE_ARGUMENT_FLOAT)
        return (void *)(uintptr_t)&argument->value;
    const double number = argument->value.number;
    const float narrow = (float)number;
    const tile_dtype type = argument_float_type(argument);
    if (type == TILE_FP64)
        memcpy(room, &number, sizeof number);
    else if (type == TILE_FP32)
        memcpy(room, &narrow, sizeof narrow);
    else
        narrow_to_16(type, number, room);
    return room;
}

/* Tuples and descriptors. What is in them is passed as arguments are, and stands among the values
 * of the key, each item's head before its value. */
typedef struct Nesting {
    Packed *packed;
    KeyValues values;
    const Specialisation *specialisation; /* without limits, which items have none of */
    const Constexprs *constexprs;
    size_t index;  /* of the argument */
    uint32_t room; /* for values that are passed */
} Nesting;

static bool add_bytes(KeyValues *values, const void *data, size_t size) {
    if (size > values->room)
        return false;
    values->room -= size;
    add_value(values, data, size);
    return true;
}

static bool pass(Nesting *n, const void *bits) {
    if (n->packed->count == n->room)
        return false;
    n->packed->params[n->packed->count++] = (void *)(uintptr_t)bits;
    return true;
}

static bool pack_descriptor(Nesting *n, const tile_argument *argument) {
    const tile_descriptor *descriptor = argument->value.descriptor;
    if (descriptor_explain(NULL, descriptor))
        return false;
    const size_t rank = (size_t)descriptor->rank;
    const struct {
        uint8_t type, rank, pads_with_nan, last_extent;
    } kind = {(uint8_t)descriptor->type, (uint8_t)rank, descriptor->pads_with_nan,
              (uint8_t)special_multiple((uint64_t)descriptor->shape[rank - 1], true)};
    if (!add_bytes(&n->values, &kind, sizeof kind) ||
        !add_bytes(&n->values, descriptor->block, rank * sizeof *descriptor->block) ||
        !pass(n, &descriptor->address))
        return false;
    for (size_t d = 0; d < rank; d++) /* low bytes of which are an i32 */
        if (!pass(n, &descriptor->shape[d]))
            return false;
    for (size_t d = 0; d < rank; d++)
        if (!pass(n, &descriptor->strides[d]))
            return false;
    return true;
}

static bool pack_item(Nesting *n, const tile_argument *item, unsigned depth);

/* The room of the key bounds how much there is of tuples that hold themselves. */
static bool pack_tuple(Nesting *n, const tile_argument *argument, unsigned depth) {
    const tile_argument *items = argument->value.tuple.items;
    const uint32_t count = argument->value.tuple.count, record = argument->value.tuple.record;
    if (depth > ARGUMENTS_MAX_DEPTH || (count && !items) ||
        !add_bytes(&n->values, &count, sizeof count) ||
        !add_bytes(&n->values, &record, sizeof record))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!pack_item(n, &items[i], depth))
            return false;
    return true;
}

static bool pack_item(Nesting *n, const tile_argument *item, unsigned depth) {
    enum { VALUE_SIZE = sizeof(int64_t) }; /* that arguments have besides texts */
    unsigned char *const at = n->values.end;
    uint16_t head = head_of(item->kind, TILE_DTYPE_AUTO, SPECIAL_NONE);
    if (!add_bytes(&n->values, &head, HEAD_SIZE))
        return false;
    if (item->kind == TILE_ARGUMENT_TUPLE)
        return pack_tuple(n, item, depth + 1);
    if (item->kind == TILE_ARGUMENT_DESCRIPTOR)
        return pack_descriptor(n, item);
    if (n->values.room < VALUE_SIZE)
        return false;
    n->values.room -= VALUE_SIZE;
    head = add_argument(&n->values, n->specialisation, item, n->index, n->constexprs);
    memcpy(at, &head, HEAD_SIZE);
    if (head == REFUSED || item->kind >= TILE_ARGUMENT_CONSTEXPR)
        return head != REFUSED;
    return n->packed->count < n->room &&
           pass(n, bits_of(item, &n->packed->floats[n->packed->count]));
}

/* `room`: for what it passes. `passed` and `values` go on behind it. */
static RARE uint16_t pack_nested(Packed *packed, KeyValues *values,
                                 const Specialisation *specialisation,
                                 const tile_argument *argument, size_t index,
                                 const Constexprs *constexprs, uint32_t room, uint32_t *passed) {
    Specialisation unlimited = *specialisation;
    unlimited.limits = NULL;
    Nesting n = {packed, *values, &unlimited, constexprs, index, room};
    packed->count = *passed;
    const bool ok = argument->kind == TILE_ARGUMENT_TUPLE ? pack_tuple(&n, argument, 1)
                                                          : pack_descriptor(&n, argument);
    *values = n.values;
    *passed = packed->count;
    return ok ? head_of(argument->kind, TILE_DTYPE_AUTO, SPECIAL_NONE) : REFUSED;
}

/* By arguments from `first` on that are none of these, which there must be room for. */
static RARE uint32_t count_passed(const tile_argument *arguments, size_t first, size_t count) {
    uint32_t passed = 0;
    for (size_t i = first; i < count; i++)
        passed += arguments[i].kind < TILE_ARGUMENT_CONSTEXPR;
    return passed;
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
            if (is_nested(argument)) {
                const uint32_t room = TILE_MAX_ARGUMENTS - count_passed(arguments, i + 1, count);
                uint32_t end = passed;
                head = pack_nested(packed, &next, &specialisation, argument, i, constexprs, room,
                                   &end);
                passed = end;
            } else {
                head = add_argument(&next, &specialisation, argument, i, constexprs);
                if (argument->kind < TILE_ARGUMENT_CONSTEXPR) {
                    packed->params[passed] = bits_of(argument, &packed->floats[passed]);
                    passed++;
                }
            }
            if (head == REFUSED)
                return false;
            values = next;
        }
        memcpy(heads + HEAD_SIZE * i, &head, HEAD_SIZE);
    }
    packed->count = passed;
    packed->key_len = (size_t)(values.end - packed->key);
    return true;
}

bool arguments_pack(Packed *packed, const Specialisation *specialisation, uint64_t device,
                    const tile_argument *arguments, size_t count) {
    packed->key_len = 0;
    packed->given = (uint32_t)count;
    packed->derived_count = 0;
    packed->is_underived = packed->is_untuned = packed->has_grid = false;
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

static void add_scalar_entry(StrBuf *out, const Specialisation *specialisation,
                             const tile_argument *argument, size_t i,
                             const Constexprs *constexprs) {
    Special special = {0};
    if (argument->kind == TILE_ARGUMENT_POINTER)
        special = special_of_address(specialisation, i, argument->value.address);
    else if (argument->kind == TILE_ARGUMENT_INT)
        special = special_of_value(specialisation, i, argument->value.integer,
                                   argument_integer_type(argument), constexprs);
    strbuf_printf(out, "%s%s", argument_type(out->arena, argument),
                  special_hint(out->arena, special));
}

static void add_item_entry(StrBuf *out, const Specialisation *specialisation,
                           const tile_argument *argument, size_t i, const Constexprs *constexprs) {
    Str literal;
    if (argument_constexpr(out->arena, argument, &literal)) {
        strbuf_printf(out, "=%.*s", STR_ARG(literal));
    } else if (argument->kind == TILE_ARGUMENT_DESCRIPTOR) {
        strbuf_puts(out, descriptor_type(out->arena, argument->value.descriptor));
    } else if (argument->kind != TILE_ARGUMENT_TUPLE) {
        add_scalar_entry(out, specialisation, argument, i, constexprs);
    } else {
        if (argument->value.tuple.record)
            strbuf_printf(out, "@%u", argument->value.tuple.record - 1);
        strbuf_putc(out, '(');
        for (uint32_t k = 0; k < argument->value.tuple.count; k++) {
            strbuf_puts(out, k ? ", " : "");
            add_item_entry(out, specialisation, &argument->value.tuple.items[k], i, constexprs);
        }
        strbuf_putc(out, ')');
    }
}

const char *argument_entry(Arena *arena, const Specialisation *specialisation,
                           const tile_argument *arguments, const Packed *packed, size_t i) {
    Constexprs constexprs;
    StrBuf out = strbuf(arena);
    Specialisation of_items = *specialisation;
    of_items.limits = is_nested(&arguments[i]) ? NULL : specialisation->limits;
    find_constexprs(specialisation, arguments, packed, &constexprs);
    add_item_entry(&out, &of_items, &arguments[i], i, &constexprs);
    return out.ptr;
}
