/* An entry of a signature: the type of a parameter, the value of a constexpr, a tuple of entries,
 * or a descriptor. */
#include "frontend/signature.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

Str text_trim(Str s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t' || s.ptr[0] == '\n'))
        s = (Str){s.ptr + 1, s.len - 1};
    while (s.len &&
           (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t' || s.ptr[s.len - 1] == '\n'))
        s.len--;
    return s;
}

void signature_split(Arena *arena, Str text, Entries *entries) {
    if (text_trim(text).len == 0)
        return;
    int depth = 0;
    char quote = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.ptr[i] : ',';
        if (quote && i < text.len) {
            if (c == '\\' && i + 1 < text.len)
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '<') {
            depth++;
        } else if ((c == ')' || c == ']' || c == '>') && depth > 0) {
            depth--;
        } else if (c == ',' && (depth == 0 || i == text.len)) {
            vec_push(arena, entries, text_trim((Str){text.ptr + start, i - start}));
            start = i + 1;
        }
    }
}

/* Values */

Val entry_parse_value(EntryOf *a, Str text) {
    Elab *e = a->e;
    if (a->unit->given)
        return units_literal(e, a->name, text);
    const char *path = str_format(e->arena, "<value of %.*s>", STR_ARG(a->name));
    uint32_t file = source_add(&e->ctx->sources, str_from(path), text);
    Expr *expr = parse_expression(&e->ctx->diags, file);
    return expr ? elab_eval_in(e, a->unit, expr) : val_error();
}

bool entry_set_value(EntryOf *a, Val v, Specialized *out) {
    Value *inside;
    if (val_failed(v))
        return false;
    if (val_flatten(v, &inside, 1)) {
        elab_fail(a->e, a->param->span, elab_want_constexpr, "a constexpr parameter",
                  elab_type_text(a->e, v));
        return false;
    }
    *out = (Specialized){.name = a->name, .is_constexpr = true, .value = v, .divisible = 1};
    return true;
}

/* The value after `:=`: a decimal integer of the type. */
static bool parse_fixed(Str text, ScalarType type, int64_t *value) {
    char digits[24], *end;
    if (!text.len || text.len >= sizeof digits ||
        (!isdigit((unsigned char)text.ptr[0]) && text.ptr[0] != '-'))
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    bool is_signed = elem_info[type.elem].is_signed;
    int bits = elem_bits(type.elem) - is_signed;
    int64_t most = bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    int64_t least = is_signed ? -most - 1 : 0;
    return !*end && !errno && end[-1] != '-' && *value >= least && *value <= most;
}

/* Types */

/* The hint after a type: `:16`, `:8`, `:1` or `:=VALUE`. */
static bool apply_hint(EntryOf *a, Str text, Str hint, Specialized *out) {
    bool fixed = str_is(hint, "1");
    int64_t divisible = str_is(hint, "16") ? 16 : str_is(hint, "8") ? 8 : 1;
    int64_t value = 1;
    if (hint.ptr[0] == '=')
        fixed = parse_fixed((Str){hint.ptr + 1, hint.len - 1}, out->type, &value);
    if ((!fixed && divisible == 1) || (fixed && !scalar_is_int(out->type)) ||
        (divisible > 1 && scalar_is_float(out->type))) {
        elab_fail(a->e, a->param->span, elab_signature_hint, STR_ARG(text), STR_ARG(a->name));
        elab_hint(a->e,
                  ":16 and :8 (divisible by it) go with pointers and integers, :1 (equal to 1) and "
                  ":=N (equal to N, which the type must hold) with integers");
        return false;
    }
    if (a->hints.no_value)
        return true;
    out->divisible = a->hints.no_alignment ? 1 : divisible;
    out->is_fixed = fixed;
    out->fixed = fixed ? value : 0;
    return true;
}

static bool is_type_text(Str text, Str *type, Str *hint) {
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    *type = text;
    *hint = (Str){0};
    if (colon) {
        *type = text_trim((Str){text.ptr, (size_t)(colon - text.ptr)});
        *hint = text_trim((Str){colon + 1, text.len - (size_t)(colon + 1 - text.ptr)});
    }
    ScalarType scalar;
    /* `float` and `tl.float16` alone are values when a constexpr parameter takes them. */
    return scalar_parse(*type, &scalar);
}

/* By a type: such a parameter is never a number of Python's, as in Triton. */
static bool is_annotated(const EntryOf *a) {
    const Expr *annotation = a->param->annotation;
    ScalarType type;
    return !a->depth && annotation &&
           (annotation_type(a->param, &type) ||
            (annotation->kind == EXPR_name && scalar_parse(annotation->u.name, &type)));
}

static bool set_type(EntryOf *a, Str text, Specialized *out) {
    Elab *e = a->e;
    Str type, hint;
    *out = (Specialized){.name = a->name, .divisible = 1};
    if (!is_type_text(text, &type, &hint)) {
        Str names[64];
        elab_fail(e, a->param->span, elab_signature_type, STR_ARG(text), STR_ARG(a->name));
        Str bare = type.len && type.ptr[0] == '*' ? (Str){type.ptr + 1, type.len - 1} : type;
        elab_suggest(e, bare, names, scalar_spellings(names, 64));
        return false;
    }
    scalar_parse(type, &out->type);
    out->is_annotated = is_annotated(a);
    return hint.len == 0 || apply_hint(a, text, hint, out);
}

/* Descriptors: tensordesc<fp16[16, 64]>, tensordesc<fp16[16, 64], nan>, and with :16 or :8 behind
 * where the tensor's last extent is a multiple of that */

enum { MAX_DESCRIPTOR_RANK = 5, DESCRIPTOR_ALIGNMENT = 16 };

static bool between(Str text, const char *open, char close, Str *inside) {
    const size_t n = strlen(open);
    if (text.len < n + 1 || memcmp(text.ptr, open, n) != 0 || text.ptr[text.len - 1] != close)
        return false;
    *inside = text_trim((Str){text.ptr + n, text.len - n - 1});
    return true;
}

/* What is in its brackets, and its hint. */
static bool is_descriptor(Str text, Str *inside, Str *hint) {
    size_t end = text.len;
    while (end && text.ptr[end - 1] != '>')
        end--;
    *hint = text_trim((Str){text.ptr + end, text.len - end});
    return between((Str){text.ptr, end}, "tensordesc<", '>', inside) &&
           (!hint->len || hint->ptr[0] == ':');
}

static bool is_descriptor_text(Str text) {
    Str inside, hint;
    return is_descriptor(text, &inside, &hint);
}

typedef struct DescriptorText {
    ScalarType scalar;
    Padding padding;
    int rank;
    int64_t shape[MAX_DESCRIPTOR_RANK];
    int64_t divisible; /* of the tensor's last extent */
} DescriptorText;

/* NULL, or what is wrong with it. */
static const char *read_extents(Str text, DescriptorText *out) {
    static const char *const wrong = "the extents of a block are one to five powers of two";
    const ScalarType number = scalar_number(ELEM_I32);
    int64_t elements = 1;
    while (text.len) {
        const char *comma = memchr(text.ptr, ',', text.len);
        const size_t len = comma ? (size_t)(comma - text.ptr) : text.len;
        int64_t extent;
        if (out->rank == MAX_DESCRIPTOR_RANK ||
            !parse_fixed(text_trim((Str){text.ptr, len}), number, &extent) || extent < 1 ||
            (extent & (extent - 1)))
            return wrong;
        out->shape[out->rank++] = extent;
        elements *= extent;
        if (elements > INT64_C(1) << MAX_TILE_BITS)
            return "a block has too many elements";
        text = (Str){text.ptr + len + (comma != NULL), text.len - len - (comma != NULL)};
        if (comma && !text_trim(text).len)
            return wrong;
    }
    return out->rank ? NULL : wrong;
}

/* NULL, or what is wrong with it. */
static const char *read_descriptor(Arena *arena, Str text, DescriptorText *out) {
    Str inside, hint, extents;
    Entries parts = {0};
    *out = (DescriptorText){.padding = PADDING_ZERO};
    is_descriptor(text, &inside, &hint);
    out->divisible = str_is(hint, ":16") ? 16 : str_is(hint, ":8") ? 8 : 1;
    if (hint.len && out->divisible == 1)
        return "the hint of a descriptor is :16 or :8, a multiple of which the last extent of the "
               "tensor is";
    signature_split(arena, inside, &parts);
    const Str block = parts.len ? parts.data[0] : STR("");
    const char *bracket = block.len ? memchr(block.ptr, '[', block.len) : NULL;
    const size_t name = bracket ? (size_t)(bracket - block.ptr) : 0;
    if (!bracket || parts.len > 2 ||
        !between((Str){bracket, block.len - name}, "[", ']', &extents) ||
        !scalar_parse(text_trim((Str){block.ptr, name}), &out->scalar) || out->scalar.pointer)
        return "a descriptor is tensordesc<fp16[16, 64]>, the type of its elements and the "
               "extents of a block, or tensordesc<fp16[16, 64], nan>";
    const char *wrong = read_extents(extents, out);
    if (wrong)
        return wrong;
    if (out->shape[out->rank - 1] * dtype_bytes(elem_info[out->scalar.elem].ir) <
        DESCRIPTOR_ALIGNMENT)
        return "the last extent of a block has at least 16 bytes";
    if (parts.len == 2 && str_is(parts.data[1], "nan"))
        out->padding = PADDING_NAN;
    else if (parts.len == 2 && !str_is(parts.data[1], "zero"))
        return "padding is zero or nan";
    return out->padding == PADDING_NAN &&
                   (!scalar_is_float(out->scalar) || scalar_is_held_as_bits(out->scalar))
               ? "integers cannot be padded with NaN"
               : NULL;
}

static Specialized part_of_descriptor(EntryOf *a, const char *part, int index, ScalarType type) {
    const char *name = index < 0
                           ? str_format(a->e->arena, "%.*s.%s", STR_ARG(a->name), part)
                           : str_format(a->e->arena, "%.*s.%s.%d", STR_ARG(a->name), part, index);
    return (Specialized){.name = str_from(name), .type = type, .divisible = 1};
}

static Specialized fact_of_descriptor(EntryOf *a, const char *part, Val value) {
    Specialized fact = part_of_descriptor(a, part, -1, (ScalarType){0});
    fact.is_constexpr = true;
    fact.value = value;
    return fact;
}

static Val extents_of(Arena *arena, const DescriptorText *read) {
    Val *extents = ARENA_ARRAY(arena, Val, (size_t)read->rank);
    for (int d = 0; d < read->rank; d++)
        extents[d] = val_int(read->shape[d]);
    return val_tuple(extents, (uint32_t)read->rank);
}

/* What every descriptor promises: its rows, and their first element, are aligned to 16 bytes, and
 * the elements of a row are adjacent. */
static bool set_descriptor(EntryOf *a, Str text, Specialized *out) {
    Elab *e = a->e;
    DescriptorText read;
    const char *wrong = read_descriptor(e->arena, text, &read);
    if (wrong) {
        elab_fail(e, a->param->span, elab_signature_descriptor, STR_ARG(text), STR_ARG(a->name),
                  wrong);
        return false;
    }
    const Elem elem = read.scalar.elem == ELEM_I1 ? ELEM_I8 : read.scalar.elem;
    const DType dtype = elem_info[elem].ir;
    const int rank = read.rank;
    const ScalarType base = {.elem = elem, .pointer = true};
    Specialized *items = ARENA_ARRAY(e->arena, Specialized, 3 + 2 * (size_t)rank);
    items[0] = part_of_descriptor(a, "ptr", -1, base);
    items[0].divisible = DESCRIPTOR_ALIGNMENT;
    for (int d = 0; d < rank; d++) {
        Specialized *stride = &items[1 + rank + d];
        items[1 + d] = part_of_descriptor(a, "shape", d, scalar_number(ELEM_I32));
        items[1 + d].divisible = d == rank - 1 ? read.divisible : 1;
        *stride = part_of_descriptor(a, "strides", d, scalar_number(ELEM_I64));
        stride->is_fixed = d == rank - 1;
        stride->fixed = stride->is_fixed;
        stride->divisible = stride->is_fixed ? 1 : DESCRIPTOR_ALIGNMENT / dtype_bytes(dtype);
    }
    items[1 + 2 * rank] = fact_of_descriptor(a, "block", extents_of(e->arena, &read));
    items[2 + 2 * rank] = fact_of_descriptor(
        a, "padding", val_string(read.padding == PADDING_NAN ? STR("nan") : STR("zero")));
    BlockInfo *info = ARENA_NEW(e->arena, BlockInfo);
    *info = (BlockInfo){.is_descriptor = true,
                        .padding = read.padding,
                        .scalar = scalar_number(elem),
                        .tile = type_get(e->ctx, TYPE_NUMBER, dtype, rank, read.shape, NULL)};
    *out = (Specialized){.name = a->name,
                         .divisible = 1,
                         .items = items,
                         .count = 3 + 2 * (uint32_t)rank,
                         .block = info};
    return true;
}

static Str descriptor_spelling(Arena *arena, Str text) {
    DescriptorText read;
    if (read_descriptor(arena, text, &read))
        return text;
    StrBuf out = strbuf(arena);
    strbuf_printf(&out, "tensordesc<%s[", scalar_text(arena, read.scalar));
    for (int d = 0; d < read.rank; d++)
        strbuf_printf(&out, "%s%lld", d ? ", " : "", (long long)read.shape[d]);
    strbuf_puts(&out, read.padding == PADDING_NAN ? "], nan>" : "]>");
    if (read.divisible > 1)
        strbuf_printf(&out, ":%lld", (long long)read.divisible);
    return strbuf_str(&out);
}

/* Tuples: (*fp32:16, i32, =4, (i64)), where items are entries, values too as `=4`; @2(*fp32, i32)
 * of the class of named tuples that is unit 2 */

/* What is before the bracket of a named tuple, which is taken off. */
static Str take_record(Str *text) {
    const char *bracket =
        text->len && text->ptr[0] == '@' ? memchr(text->ptr, '(', text->len) : NULL;
    const size_t len = bracket ? (size_t)(bracket - text->ptr) : 0;
    const Str record = {text->ptr, len};
    *text = (Str){text->ptr + len, text->len - len};
    return record;
}

/* Whether it is one pair of brackets; what is in it. A comma may be behind the last item. */
static bool is_bracketed(Str text, Str *inside) {
    int depth = 0;
    char quote = 0;
    if (!between(text, "(", ')', inside))
        return false;
    for (size_t i = 0; i + 1 < text.len; i++) {
        const char c = text.ptr[i];
        if (quote) {
            i += c == '\\';
            quote = c == quote ? 0 : quote;
            continue;
        }
        quote = c == '\'' || c == '"' ? c : 0;
        depth += (c == '(') - (c == ')');
        if (!depth)
            return false;
    }
    if (inside->len && inside->ptr[inside->len - 1] == ',')
        *inside = text_trim((Str){inside->ptr, inside->len - 1});
    return true;
}

/* Whether it says anything but values as Python has them: a type, or `=4`. A constexpr takes types
 * as values, too, where they look like it. */
static bool is_tuple(Arena *arena, bool is_constexpr, Str text, uint32_t depth) {
    Str inside, type, hint;
    Entries items = {0};
    take_record(&text);
    if (depth > MAX_TUPLE_DEPTH || !is_bracketed(text, &inside))
        return depth > MAX_TUPLE_DEPTH;
    signature_split(arena, inside, &items);
    for (size_t i = 0; i < items.len; i++) {
        const Str item = items.data[i];
        if (!item.len)
            continue;
        if (item.ptr[0] == '=' || item.ptr[0] == '*' || is_descriptor_text(item) ||
            is_tuple(arena, is_constexpr, item, depth + 1))
            return true;
        if (is_type_text(item, &type, &hint) &&
            (!is_constexpr || hint.len || !memchr(type.ptr, '.', type.len)))
            return true;
    }
    return false;
}

/* False after a report. */
static bool find_record(EntryOf *a, Str text, size_t count, Unit **record) {
    const Val v = text.len && a->unit->given ? entry_parse_value(a, text) : val_error();
    if (text.len && (v.kind != VAL_RECORD || v.record->given->field_count != count)) {
        elab_fail(a->e, a->param->span, elab_signature_record, STR_ARG(text),
                  STR_ARG(a->param->name), count);
        return false;
    }
    *record = text.len ? v.record : NULL;
    return true;
}

/* Items are specialised whatever jit is told of the parameter, as in Triton. */
static bool set_tuple(EntryOf *a, Str text, Specialized *out) {
    Str inside;
    Entries entries = {0};
    if (a->depth >= MAX_TUPLE_DEPTH) {
        elab_fail(a->e, a->param->span, elab_signature_tuple, STR_ARG(a->param->name),
                  MAX_TUPLE_DEPTH);
        return false;
    }
    const Str name = take_record(&text);
    is_bracketed(text, &inside);
    signature_split(a->e->arena, inside, &entries);
    Unit *record;
    if (!find_record(a, name, entries.len, &record))
        return false;
    Specialized *items = ARENA_ARRAY(a->e->arena, Specialized, entries.len + 1);
    bool ok = elab_spend(a->e, a->param->span, entries.len);
    for (size_t i = 0; ok && i < entries.len; i++) {
        EntryOf item = *a;
        item.name = str_from(str_format(a->e->arena, "%.*s.%zu", STR_ARG(a->name), i));
        item.hints = (ParamHints){0};
        item.depth = a->depth + 1;
        ok = entry_apply(&item, entries.data[i], &items[i]);
    }
    *out = (Specialized){.name = a->name,
                         .divisible = 1,
                         .items = items,
                         .count = (uint32_t)entries.len,
                         .record = record};
    return ok;
}

/* A tuple of a constexpr, whose items are all values. */
static bool set_constexpr_tuple(EntryOf *a, Str text, Specialized *out) {
    Specialized tuple;
    if (!set_tuple(a, text, &tuple))
        return false;
    Val *items = ARENA_ARRAY(a->e->arena, Val, tuple.count + 1);
    for (uint32_t i = 0; i < tuple.count; i++)
        items[i] = tuple.items[i].value;
    return entry_set_value(a, val_tuple_of(tuple.record, items, tuple.count), out);
}

/* Entries */

static bool is_number_or_name(Str text) {
    return strchr("+-.'\"(0123456789", text.ptr[0]) || str_is(text, "True") ||
           str_is(text, "False") || str_is(text, "None");
}

bool entry_is_value(Arena *arena, const Param *param, Str text) {
    Str type, hint;
    if (ast_is_constexpr(param->annotation))
        return true;
    if (text.len && text.ptr[0] == '=')
        return true;
    if (is_type_text(text, &type, &hint) || is_descriptor_text(text) ||
        is_tuple(arena, false, text, 0) || !text.len || text.ptr[0] == '*' || hint.len)
        return false;
    return is_number_or_name(text);
}

/* A constexpr that gets a type. */
static bool refuse_type(EntryOf *a, Str text) {
    elab_fail(a->e, a->param->span, elab_signature_constexpr, STR_ARG(a->name), STR_ARG(text));
    elab_hint(a->e, "give its value: a number, True, None, 'text' or tl.float16");
    return false;
}

bool entry_apply(EntryOf *a, Str text, Specialized *out) {
    Str type, hint;
    const bool is_constexpr = ast_is_constexpr(a->param->annotation);
    if (text.len && text.ptr[0] == '=')
        return entry_set_value(
            a, entry_parse_value(a, text_trim((Str){text.ptr + 1, text.len - 1})), out);
    if (is_tuple(a->e->arena, is_constexpr, text, 0))
        return is_constexpr ? set_constexpr_tuple(a, text, out) : set_tuple(a, text, out);
    if (is_descriptor_text(text))
        return is_constexpr ? refuse_type(a, text) : set_descriptor(a, text, out);
    if (!entry_is_value(a->e->arena, a->param, text))
        return set_type(a, text, out);
    const bool is_type = is_type_text(text, &type, &hint);
    const bool looks_like_type = text.len && (text.ptr[0] == '*' || hint.len);
    if (looks_like_type || (is_type && !memchr(type.ptr, '.', type.len)))
        return refuse_type(a, text);
    return text.len ? entry_set_value(a, entry_parse_value(a, text), out) : set_type(a, text, out);
}

static Str spell(Arena *arena, Str text, ParamHints hints, uint32_t depth);

static Str spell_tuple(Arena *arena, Str record, Str inside, uint32_t depth) {
    Entries items = {0};
    StrBuf out = strbuf(arena);
    signature_split(arena, inside, &items);
    strbuf_printf(&out, "%.*s(", STR_ARG(record));
    for (size_t i = 0; i < items.len; i++) {
        const Str item = spell(arena, items.data[i], (ParamHints){0}, depth + 1);
        strbuf_printf(&out, "%s%.*s", i ? ", " : "", STR_ARG(item));
    }
    strbuf_putc(&out, ')');
    return strbuf_str(&out);
}

static Str spell_scalar(Arena *arena, Str text, ParamHints hints) {
    Str type, hint;
    ScalarType scalar;
    int64_t value;
    if (!is_type_text(text, &type, &hint))
        return text;
    scalar_parse(type, &scalar);
    const bool is_multiple = str_is(hint, "16") || str_is(hint, "8");
    if (hints.no_value || (is_multiple && hints.no_alignment))
        hint = STR("");
    else if (hint.len && hint.ptr[0] == '=' &&
             parse_fixed((Str){hint.ptr + 1, hint.len - 1}, scalar, &value))
        hint = str_from(value == 1 ? "1" : str_format(arena, "=%" PRId64, value));
    return str_from(str_format(arena, "%s%s%.*s", scalar_text(arena, scalar), hint.len ? ":" : "",
                               STR_ARG(hint)));
}

static Str spell(Arena *arena, Str text, ParamHints hints, uint32_t depth) {
    Str inside;
    if (is_descriptor_text(text))
        return descriptor_spelling(arena, text);
    Str bare = text;
    const Str record = take_record(&bare);
    if (depth < MAX_TUPLE_DEPTH && is_tuple(arena, false, text, 0) && is_bracketed(bare, &inside))
        return spell_tuple(arena, record, inside, depth);
    return spell_scalar(arena, text, hints);
}

Str entry_spelling(Arena *arena, Str text, ParamHints hints) {
    return spell(arena, text, hints, 0);
}
