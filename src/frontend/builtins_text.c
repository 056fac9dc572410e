/* Methods of strings known at compile time, with Python's meaning, of ASCII text: what would need
 * Unicode's tables is an error. */
#include "frontend/builtins.h"
#include "frontend/objects.h"

static Val string_of(const char *ptr, size_t len) {
    return val_string((Str){ptr, len});
}

static bool is_ascii(Str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The string that the method is of. */
static bool text_of(Call *call, Str *text) {
    *text = call->args[0].s;
    if (is_ascii(*text))
        return true;
    elab_fail(call->e, call->span, elab_text_ascii, call->builtin->name);
    return false;
}

/* A parameter that is a string; absent or None: `fallback`. */
static bool text_argument(Call *call, int param, Str fallback, Str *out) {
    const Val v = call->args[param];
    *out = val_missing(v) ? fallback : v.s;
    if (val_missing(v) || v.kind == VAL_STRING)
        return true;
    elab_fail(call->e, call->spans[param], elab_argument, call->builtin->name,
              call_param_name(call, param), "a string", elab_type_text(call->e, v));
    return false;
}

static bool starts(Str text, size_t at, Str with) {
    return at + with.len <= text.len && memcmp(text.ptr + at, with.ptr, with.len) == 0;
}

/* Where `what` begins from `from` on; text.len + 1: nowhere. */
static size_t find(Str text, Str what, size_t from) {
    for (size_t i = from; i + what.len <= text.len; i++)
        if (starts(text, i, what))
            return i;
    return text.len + 1;
}

Val builtin_text_case(Call *call) {
    Str text;
    if (!text_of(call, &text))
        return val_error();
    const BuiltinId id = call_id(call);
    char *out = ARENA_ARRAY(call->e->arena, char, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
        const bool raise = id == BUILTIN_text_upper || (id == BUILTIN_text_capitalize && i == 0);
        out[i] = raise && lower    ? (char)(c - 'a' + 'A')
                 : !raise && upper ? (char)(c - 'A' + 'a')
                                   : c;
    }
    return string_of(out, text.len);
}

static bool stripped(Str characters, bool any_space, char c) {
    return any_space ? is_space(c) : memchr(characters.ptr, c, characters.len) != NULL;
}

Val builtin_text_strip(Call *call) {
    Str text, characters;
    if (!text_of(call, &text) || !text_argument(call, 1, STR(""), &characters))
        return val_error();
    const bool spaces = val_missing(call->args[1]);
    const BuiltinId id = call_id(call);
    size_t lo = 0, hi = text.len;
    while (id != BUILTIN_text_rstrip && lo < hi && stripped(characters, spaces, text.ptr[lo]))
        lo++;
    while (id != BUILTIN_text_lstrip && hi > lo && stripped(characters, spaces, text.ptr[hi - 1]))
        hi--;
    return string_of(text.ptr + lo, hi - lo);
}

static bool has_affix(Call *call, Str text, Str affix) {
    if (call_id(call) == BUILTIN_text_startswith)
        return starts(text, 0, affix);
    return affix.len <= text.len && starts(text, text.len - affix.len, affix);
}

/* startswith, endswith: of a string or one of a tuple. */
Val builtin_text_affix(Call *call) {
    const Val affix = call->args[1];
    const Val *all = affix.kind == VAL_TUPLE ? affix.tuple.items : &affix;
    const uint32_t count = affix.kind == VAL_TUPLE ? affix.tuple.count : 1;
    for (uint32_t i = 0; i < count; i++)
        if (all[i].kind != VAL_STRING)
            return elab_fail(call->e, call->spans[1], elab_argument, call->builtin->name,
                             call_param_name(call, 1), "a string or a tuple of strings",
                             elab_type_text(call->e, all[i]));
    for (uint32_t i = 0; i < count; i++)
        if (has_affix(call, call->args[0].s, all[i].s))
            return val_bool(true);
    return val_bool(false);
}

Val builtin_text_remove(Call *call) {
    Str affix, text = call->args[0].s;
    if (!text_argument(call, 1, STR(""), &affix))
        return val_error();
    if (call_id(call) == BUILTIN_text_removeprefix && starts(text, 0, affix))
        return string_of(text.ptr + affix.len, text.len - affix.len);
    if (call_id(call) == BUILTIN_text_removesuffix && affix.len && affix.len <= text.len &&
        starts(text, text.len - affix.len, affix))
        return string_of(text.ptr, text.len - affix.len);
    return call->args[0];
}

Val builtin_text_replace(Call *call) {
    Str old, new, text = call->args[0].s;
    if (!text_argument(call, 1, STR(""), &old) || !text_argument(call, 2, STR(""), &new))
        return val_error();
    if (!old.len)
        return elab_fail(call->e, call->spans[1], elab_argument, call->builtin->name, "old",
                         "a string that is not empty", "an empty one");
    StrBuf out = strbuf(call->e->arena);
    for (size_t at = 0; at < text.len;) {
        const bool here = starts(text, at, old);
        const Str part = here ? new : (Str){text.ptr + at, 1};
        if (!elab_spend(call->e, call->span, part.len))
            return val_error();
        strbuf_add(&out, part.ptr, part.len);
        at += here ? old.len : 1;
    }
    return val_string(strbuf_str(&out));
}

/* The end of the word, or of what stands in front of the separator, that begins at `at`. */
static size_t word_end(Str text, Str separator, bool by_space, size_t at) {
    if (!by_space) {
        const size_t end = find(text, separator, at);
        return end > text.len ? text.len : end;
    }
    while (at < text.len && !is_space(text.ptr[at]))
        at++;
    return at;
}

Val builtin_text_split(Call *call) {
    Str text, separator;
    if (!text_of(call, &text) || !text_argument(call, 1, STR(" "), &separator))
        return val_error();
    const bool by_space = val_missing(call->args[1]);
    if (!separator.len)
        return elab_fail(call->e, call->spans[1], elab_argument, "split", "sep",
                         "a string that is not empty", "an empty one");
    struct {
        Val *data;
        size_t len, cap;
    } parts = {0};
    for (size_t at = 0;;) {
        while (by_space && at < text.len && is_space(text.ptr[at]))
            at++;
        if (by_space && at == text.len)
            break;
        const size_t end = word_end(text, separator, by_space, at);
        vec_push(call->e->arena, &parts, string_of(text.ptr + at, end - at));
        if (end == text.len)
            break;
        at = end + (by_space ? 1 : separator.len);
    }
    return object_sequence(call->e, call->span, parts.data, (uint32_t)parts.len);
}

Val builtin_text_join(Call *call) {
    const Val *items;
    uint32_t count;
    if (!elab_items(call->e, call->spans[1], call->args[1], &items, &count))
        return val_error();
    StrBuf out = strbuf(call->e->arena);
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != VAL_STRING)
            return elab_fail(call->e, call->spans[1], elab_argument, "join", "iterable",
                             "a tuple of strings", elab_type_text(call->e, items[i]));
        const Str between = call->args[0].s;
        if (!elab_spend(call->e, call->span, items[i].s.len + between.len))
            return val_error();
        strbuf_add(&out, between.ptr, i ? between.len : 0);
        strbuf_add(&out, items[i].s.ptr, items[i].s.len);
    }
    return val_string(strbuf_str(&out));
}

Val builtin_text_find(Call *call) {
    Str text, what;
    if (!text_of(call, &text) || !text_argument(call, 1, STR(""), &what))
        return val_error();
    if (call_id(call) == BUILTIN_text_find) {
        const size_t at = find(text, what, 0);
        return val_int(at > text.len ? -1 : (Wide)at);
    }
    int64_t times = 0;
    for (size_t at = find(text, what, 0); at <= text.len; times++)
        at = find(text, what, at + (what.len ? what.len : 1));
    return val_int(times);
}

static bool is_class_of(BuiltinId id, char c) {
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z',
               upper = c >= 'A' && c <= 'Z';
    return id == BUILTIN_text_isdigit   ? digit
           : id == BUILTIN_text_isalpha ? lower || upper
                                        : digit || lower || upper;
}

Val builtin_text_is(Call *call) {
    Str text;
    if (!text_of(call, &text))
        return val_error();
    for (size_t i = 0; i < text.len; i++)
        if (!is_class_of(call_id(call), text.ptr[i]))
            return val_bool(false);
    return val_bool(text.len != 0);
}
