#include "frontend/objects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const ElemInfo elem_info[ELEM_COUNT] = {
#define ELEM(id, name, text, ir, class, is_signed, mantissa)                                       \
    [ELEM_##id] = {name, text, DT_##ir, ELEM_##class, is_signed, mantissa},
#include "frontend/elems.def"
};

static const struct {
    const char *text;
    Elem elem;
} elem_aliases[] = {
#define ELEM(id, name, text, ...) {text, ELEM_##id}, {name, ELEM_##id},
#define ALIAS(text, id) {text, ELEM_##id},
#include "frontend/elems.def"
};

enum { ALIAS_COUNT = sizeof elem_aliases / sizeof *elem_aliases };

Wide elem_max(Elem elem) {
    int bits = elem_bits(elem) - elem_info[elem].is_signed;
    return ((Wide)1 << bits) - 1;
}

Wide elem_min(Elem elem) {
    return elem_info[elem].is_signed ? -elem_max(elem) - 1 : 0;
}

Elem elem_int(int bits, bool is_signed) {
    for (int elem = 0; elem < ELEM_COUNT; elem++)
        if (elem_is_int((Elem)elem) && elem_bits((Elem)elem) == bits &&
            (elem_info[elem].is_signed == is_signed || bits == 1))
            return (Elem)elem;
    return ELEM_I32;
}

static bool strip(Str *text, const char *prefix) {
    size_t n = strlen(prefix);
    if (text->len < n || memcmp(text->ptr, prefix, n) != 0)
        return false;
    text->ptr += n;
    text->len -= n;
    return true;
}

bool scalar_parse(Str text, ScalarType *type) {
    *type = (ScalarType){0};
    if (strip(&text, "*")) {
        type->pointer = true;
        type->is_const = strip(&text, "k");
    }
    if (!strip(&text, "tl."))
        strip(&text, "triton.language.");
    for (size_t i = 0; i < ALIAS_COUNT; i++) {
        if (str_is(text, elem_aliases[i].text)) {
            type->elem = elem_aliases[i].elem;
            return true;
        }
    }
    return false;
}

uint32_t scalar_spellings(Str *out, uint32_t capacity) {
    uint32_t n = 0;
    for (; n < ALIAS_COUNT && n < capacity; n++)
        out[n] = str_from(elem_aliases[n].text);
    return n;
}

const char *scalar_text(Arena *arena, ScalarType type) {
    if (!type.pointer)
        return elem_info[type.elem].text;
    return str_format(arena, "*%s%s", type.is_const ? "k" : "", elem_info[type.elem].text);
}

const Type *scalar_ir(Ctx *ctx, ScalarType type, const Type *like) {
    DType dtype = elem_info[type.elem].ir;
    TypeKind kind = type.pointer ? TYPE_POINTER : TYPE_NUMBER;
    if (like && like->rank > 0)
        return type_with_element(ctx, like, kind, dtype);
    return type.pointer ? type_pointer(ctx, dtype) : type_scalar(ctx, dtype);
}

uint32_t val_size(Val v) {
    size_t size = v.kind == VAL_STRING ? v.s.len : v.kind == VAL_TUPLE ? v.tuple.size : 1;
    return size == 0 ? 1 : size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

Val val_tuple(const Val *items, uint32_t count) {
    uint64_t size = 0;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++) {
        size += val_size(items[i]);
        if (items[i].kind == VAL_TUPLE && items[i].tuple.depth > depth)
            depth = items[i].tuple.depth;
    }
    return (Val){
        .kind = VAL_TUPLE,
        .tuple = {items, count, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, depth + 1, NULL}};
}

Val val_tuple_of(Unit *record, const Val *items, uint32_t count) {
    Val v = val_tuple(items, count);
    v.tuple.record = record;
    return v;
}

bool val_is_aggregate(Val v) {
    return v.kind == VAL_TUPLE && v.tuple.record && v.tuple.record->given->is_aggregate;
}

uint32_t record_field(const Unit *record, Str name) {
    for (uint32_t i = 0; record && i < record->given->field_count; i++)
        if (str_eq(record->given->fields[i].name, name))
            return i;
    return UINT32_MAX;
}

static bool block_info_equal(const BlockInfo *a, const BlockInfo *b) {
    return a->is_descriptor == b->is_descriptor && a->padding == b->padding && a->tile == b->tile &&
           scalar_equal(a->scalar, b->scalar);
}

bool val_equal(Val a, Val b) {
    if ((val_is_int(a) || a.kind == VAL_FLOAT) && (val_is_int(b) || b.kind == VAL_FLOAT))
        return val_compare_numbers(a, b) == 0;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VAL_ERROR:
    case VAL_ABSENT:
    case VAL_NONE:
        return true;
    case VAL_UNDEFINED:
        return a.undefined == b.undefined;
    case VAL_BOOL:
    case VAL_INT:
    case VAL_BIGINT:
    case VAL_FLOAT:
        break; /* numbers were handled */
    case VAL_STRING:
        return str_eq(a.s, b.s);
    case VAL_TUPLE:
        if (a.tuple.count != b.tuple.count)
            return false;
        if (a.tuple.items == b.tuple.items) /* as Python: elements that are the same are equal */
            return true;
        for (uint32_t i = 0; i < a.tuple.count; i++)
            if (!val_equal(a.tuple.items[i], b.tuple.items[i]))
                return false;
        return true;
    case VAL_LIST:
    case VAL_DICT:
    case VAL_VIEW:
    case VAL_ITERATOR:
        return object_equal(a, b);
    case VAL_TYPE:
        if (!scalar_equal(a.type.scalar, b.type.scalar) || !a.type.block != !b.type.block)
            return false;
        return !a.type.block || type_same_shape(a.type.block, b.type.block);
    case VAL_CONSTEXPR_TYPE:
        return val_equal(*a.constant, *b.constant);
    case VAL_RECORD:
        return a.record == b.record;
    case VAL_FUNCTION:
        return a.function.def == b.function.def;
    case VAL_BUILTIN:
        return a.builtin == b.builtin;
    case VAL_FOREIGN:
        return str_eq(a.foreign.binding->text, b.foreign.binding->text);
    case VAL_METHOD:
        return val_equal(*a.method.self, *b.method.self) &&
               val_equal(*a.method.callee, *b.method.callee);
    case VAL_MODULE:
        return a.module.unit == b.module.unit && str_eq(a.module.path, b.module.path);
    case VAL_ELLIPSIS:
        return true;
    case VAL_SLICE:
        return val_equal(a.slice[0], b.slice[0]) && val_equal(a.slice[1], b.slice[1]) &&
               val_equal(a.slice[2], b.slice[2]);
    case VAL_BLOCK:
        if (!block_info_equal(a.block.info, b.block.info))
            return false;
        for (uint32_t i = 0; i < val_block_parts(a); i++)
            if (!val_equal(a.block.parts[i], b.block.parts[i]))
                return false;
        return true;
    case VAL_TILE:
        return a.tile.ir == b.tile.ir && scalar_equal(a.tile.scalar, b.tile.scalar);
    }
    return false;
}

Val val_constexpr_type(Arena *arena, Val v) {
    Val *constant = ARENA_NEW(arena, Val);
    *constant = v;
    return (Val){.kind = VAL_CONSTEXPR_TYPE, .constant = constant};
}

bool val_truth(Val v) {
    switch (v.kind) {
    case VAL_NONE:
    case VAL_ABSENT:
    case VAL_ERROR:
    case VAL_UNDEFINED:
        return false;
    case VAL_BOOL:
    case VAL_INT:
        return v.i != 0;
    case VAL_FLOAT:
        return v.f != 0;
    case VAL_STRING:
        return v.s.len != 0;
    case VAL_TUPLE:
        return v.tuple.count != 0;
    case VAL_LIST:
    case VAL_DICT:
    case VAL_VIEW:
        return object_count(v) != 0;
    case VAL_BIGINT:
    case VAL_ITERATOR:
    case VAL_TYPE:
    case VAL_CONSTEXPR_TYPE:
    case VAL_RECORD:
    case VAL_FUNCTION:
    case VAL_BUILTIN:
    case VAL_FOREIGN:
    case VAL_METHOD:
    case VAL_MODULE:
    case VAL_SLICE:
    case VAL_ELLIPSIS:
    case VAL_BLOCK:
    case VAL_TILE:
        return true;
    }
    return true;
}

static const char *shaped_text(Arena *arena, ScalarType scalar, const Type *shape) {
    if (!shape || shape->rank == 0)
        return scalar_text(arena, scalar);
    StrBuf out = strbuf(arena);
    strbuf_printf(&out, "%s[", scalar_text(arena, scalar));
    for (int i = 0; i < shape->rank; i++)
        strbuf_printf(&out, "%s%lld", i ? ", " : "", (long long)shape->shape[i]);
    strbuf_putc(&out, ']');
    return out.ptr;
}

const char *val_type_text(Arena *arena, Val v) {
    switch (v.kind) {
    case VAL_ERROR:
    case VAL_ABSENT:
    case VAL_UNDEFINED:
        return "nothing";
    case VAL_NONE:
        return "None";
    case VAL_BOOL:
        return "a constexpr bool";
    case VAL_INT:
        return "a constexpr int";
    case VAL_BIGINT:
        return "a constexpr int beyond 127 bits";
    case VAL_FLOAT:
        return "a constexpr float";
    case VAL_STRING:
        return "a string";
    case VAL_TUPLE:
        if (v.tuple.record)
            return str_format(arena, "%s '%.*s'",
                              val_is_aggregate(v) ? "an aggregate" : "a named tuple",
                              STR_ARG(v.tuple.record->given->name));
        return str_format(arena, "a tuple of %u", v.tuple.count);
    case VAL_LIST:
        return str_format(arena, "a list of %u", v.object->count);
    case VAL_DICT:
        return str_format(arena, "a dictionary of %u", v.object->count);
    case VAL_VIEW:
        return "a view of a dictionary";
    case VAL_ITERATOR:
        return "an iterator";
    case VAL_TYPE:
    case VAL_CONSTEXPR_TYPE:
        return "a type";
    case VAL_RECORD:
        return "a class";
    case VAL_FUNCTION:
    case VAL_FOREIGN:
        return "a function";
    case VAL_BUILTIN:
    case VAL_METHOD:
        return "a builtin function";
    case VAL_MODULE:
        return "a module";
    case VAL_SLICE:
        return "a slice";
    case VAL_ELLIPSIS:
        return "`...`";
    case VAL_BLOCK:
        return str_format(arena, "a %s of %s",
                          v.block.info->is_descriptor ? "tensor descriptor" : "block pointer",
                          shaped_text(arena, v.block.info->scalar, v.block.info->tile));
    case VAL_TILE:
        return shaped_text(arena, v.tile.scalar, val_ir_type(v));
    }
    return "";
}

void print_wide(Wide i, StrBuf *out) {
    char digits[48];
    size_t at = sizeof digits;
    unsigned __int128 rest = i < 0 ? -(unsigned __int128)i : (unsigned __int128)i;
    do
        digits[--at] = (char)('0' + (int)(rest % 10));
    while ((rest /= 10) != 0);
    if (i < 0)
        digits[--at] = '-';
    strbuf_add(out, digits + at, sizeof digits - at);
}

static void print_big(BigInt big, StrBuf *out) {
    const Str digits = big_digits(out->arena, big, 10);
    strbuf_puts(out, big.negative ? "-" : "");
    strbuf_add(out, digits.ptr, digits.len);
}

void print_double(double f, StrBuf *out) {
    if (isnan(f)) {
        strbuf_puts(out, "nan");
        return;
    }
    if (isinf(f)) {
        strbuf_puts(out, f < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    int digits = 1;
    for (; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, f);
        if (strtod(text, NULL) == f)
            break;
    }
    /* With an exponent from 1e16 on and below 1e-4, as Python. */
    const int exponent = atoi(strchr(text, 'e') + 1);
    const bool fixed = exponent >= -4 && exponent < 16;
    const int behind = digits - 1 - exponent; /* the point */
    if (fixed)
        snprintf(text, sizeof text, "%.*f", behind > 0 ? behind : 0, f);
    strbuf_puts(out, text);
    if (fixed && behind <= 0)
        strbuf_puts(out, ".0");
}

static void print_quoted(Str s, StrBuf *out) {
    char quote = memchr(s.ptr, '\'', s.len) && !memchr(s.ptr, '"', s.len) ? '"' : '\'';
    strbuf_putc(out, quote);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '\\' || c == (unsigned char)quote)
            strbuf_printf(out, "\\%c", c);
        else if (c == '\n')
            strbuf_puts(out, "\\n");
        else if (c == '\t')
            strbuf_puts(out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            strbuf_printf(out, "\\x%02x", c);
        else
            strbuf_putc(out, (char)c);
    }
    strbuf_putc(out, quote);
}

static void print_builtin(const Builtin *row, StrBuf *out) {
    const char *module = elab_module_of(row);
    strbuf_printf(out, "%s%s%s", module ? module : "", module ? "." : "", row->name);
}

/* By a name that leads to it: functions of the compiler's library stand in modules. */
static void print_function(Val v, StrBuf *out) {
    const Str name = v.function.def->name;
    static const uint32_t places[] = {IN_TL, IN_LIBDEVICE, ~(uint32_t)(IN_PYTHON | IN_STD)};
    for (size_t i = 0; v.function.unit->is_std && i < sizeof places / sizeof *places; i++) {
        const Builtin *row = builtin_find(name, places[i]);
        if (row && row->flags & BUILTIN_STD) {
            print_builtin(row, out);
            return;
        }
    }
    strbuf_printf(out, "%s%.*s", v.function.unit->is_std ? "tl." : "", STR_ARG(name));
}

static void print_tuple(Val v, StrBuf *out) {
    const GivenUnit *record = v.tuple.record ? v.tuple.record->given : NULL;
    if (record)
        strbuf_printf(out, "%.*s", STR_ARG(record->name));
    strbuf_putc(out, '(');
    for (uint32_t i = 0; i < v.tuple.count; i++) {
        strbuf_puts(out, i ? ", " : "");
        if (record)
            strbuf_printf(out, "%.*s=", STR_ARG(record->fields[i].name));
        val_print(v.tuple.items[i], true, out);
    }
    strbuf_puts(out, v.tuple.count == 1 && !record ? ",)" : ")");
}

/* A float as a literal that Python reads back: infinities and NaN have none of their own. */
static void print_float_literal(double f, bool repr, StrBuf *out) {
    bool finite = isfinite(f);
    strbuf_puts(out, repr && !finite ? "float('" : "");
    print_double(f, out);
    strbuf_puts(out, repr && !finite ? "')" : "");
}

void val_print(Val v, bool repr, StrBuf *out) {
    switch (v.kind) {
    case VAL_ERROR:
    case VAL_ABSENT:
    case VAL_UNDEFINED:
        strbuf_puts(out, "<undefined>");
        return;
    case VAL_NONE:
        strbuf_puts(out, "None");
        return;
    case VAL_BOOL:
        strbuf_puts(out, v.i ? "True" : "False");
        return;
    case VAL_INT:
        print_wide(v.i, out);
        return;
    case VAL_BIGINT:
        print_big(*v.big, out);
        return;
    case VAL_FLOAT:
        print_float_literal(v.f, repr, out);
        return;
    case VAL_STRING:
        if (repr)
            print_quoted(v.s, out);
        else
            strbuf_add(out, v.s.ptr, v.s.len);
        return;
    case VAL_TUPLE:
        print_tuple(v, out);
        return;
    case VAL_LIST:
    case VAL_DICT:
        object_print(v, out);
        return;
    case VAL_VIEW:
    case VAL_ITERATOR:
        strbuf_printf(out, "<%s>", val_type_text(out->arena, v));
        return;
    case VAL_TYPE:
        if (repr && !v.type.block && !v.type.scalar.pointer)
            strbuf_printf(out, "tl.%s", elem_info[v.type.scalar.elem].name);
        else
            strbuf_puts(out, shaped_text(out->arena, v.type.scalar, v.type.block));
        return;
    case VAL_CONSTEXPR_TYPE:
        strbuf_puts(out, repr ? "tl.constexpr_type(" : "constexpr_type[");
        val_print(*v.constant, true, out);
        strbuf_putc(out, repr ? ')' : ']');
        return;
    case VAL_RECORD:
        strbuf_printf(out, "%.*s", STR_ARG(v.record->given->name));
        return;
    case VAL_FUNCTION:
        print_function(v, out);
        return;
    case VAL_BUILTIN:
        print_builtin(v.builtin, out);
        return;
    case VAL_FOREIGN:
        strbuf_printf(out, "%.*s", STR_ARG(v.foreign.binding->name));
        return;
    case VAL_METHOD:
    case VAL_MODULE:
    case VAL_SLICE:
    case VAL_ELLIPSIS:
    case VAL_BLOCK:
    case VAL_TILE:
        strbuf_printf(out, "<%s>", val_type_text(out->arena, v));
        return;
    }
}

const char *val_text(Arena *arena, Val v) {
    StrBuf out = strbuf(arena);
    val_print(v, true, &out);
    return out.ptr ? out.ptr : "";
}

/* The values that make up a tuple or a block; none for others. */
static uint32_t val_parts(Val v, const Val **parts) {
    if (v.kind == VAL_BLOCK) {
        *parts = v.block.parts;
        return val_block_parts(v);
    }
    *parts = v.kind == VAL_TUPLE ? v.tuple.items : NULL;
    return v.kind == VAL_TUPLE ? v.tuple.count : 0;
}

uint32_t val_flatten(Val v, Value **out, uint32_t capacity) {
    if (v.kind == VAL_TILE) {
        if (capacity)
            out[0] = v.tile.ir;
        return 1;
    }
    const Val *parts;
    uint32_t n = 0, count = val_parts(v, &parts);
    for (uint32_t i = 0; i < count; i++)
        n += val_flatten(parts[i], capacity > n ? out + n : NULL, capacity > n ? capacity - n : 0);
    return n;
}

Val val_rebuild(Arena *arena, Val v, Value *const **next) {
    if (v.kind == VAL_TILE)
        v.tile.ir = *(*next)++;
    const Val *parts;
    uint32_t count = val_parts(v, &parts);
    if (!parts)
        return v;
    Val *items = ARENA_ARRAY(arena, Val, count);
    for (uint32_t i = 0; i < count; i++)
        items[i] = val_rebuild(arena, parts[i], next);
    if (v.kind == VAL_TUPLE)
        return val_tuple_of(v.tuple.record, items, count);
    v.block.parts = items;
    return v;
}

bool val_same_shape(Val a, Val b) {
    if (a.kind != b.kind)
        return false;
    if (a.kind == VAL_TILE)
        return a.tile.ir->type == b.tile.ir->type && scalar_equal(a.tile.scalar, b.tile.scalar);
    if ((a.kind == VAL_BLOCK && !block_info_equal(a.block.info, b.block.info)) ||
        (a.kind == VAL_TUPLE && a.tuple.record != b.tuple.record))
        return false;
    if (a.kind != VAL_TUPLE && a.kind != VAL_BLOCK)
        return val_equal(a, b);
    const Val *x, *y;
    uint32_t count = val_parts(a, &x);
    if (val_parts(b, &y) != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!val_same_shape(x[i], y[i]))
            return false;
    return true;
}
