/* See json.h. */
#include "support/json.h"
#include "support/vec.h"

enum { MAX_DEPTH = 64 };

typedef struct Reader {
    Diags *diags;
    Arena *arena;
    uint32_t file;
    Str text;
    size_t at;
    unsigned depth;
} Reader;

static const Json *read_value(Reader *r);

static Span span_from(const Reader *r, size_t start) {
    return (Span){r->file, (uint32_t)start, (uint32_t)(r->at > start ? r->at : start + 1)};
}

static const Json *fail(Reader *r, size_t at, const char *wanted) {
    diag(r->diags, ((Span){r->file, (uint32_t)at, (uint32_t)at + 1}), json_syntax, wanted);
    return NULL;
}

static void skip_spaces(Reader *r) {
    while (r->at < r->text.len && strchr(" \t\r\n", r->text.ptr[r->at]) && r->text.ptr[r->at])
        r->at++;
}

static bool take(Reader *r, char c) {
    skip_spaces(r);
    if (r->at >= r->text.len || r->text.ptr[r->at] != c)
        return false;
    r->at++;
    return true;
}

static Json *make(Reader *r, JsonKind kind, size_t start) {
    Json *json = ARENA_NEW(r->arena, Json);
    json->kind = kind;
    json->span = span_from(r, start);
    return json;
}

/* Strings */

static bool read_hex4(Reader *r, uint32_t *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char c = r->at < r->text.len ? r->text.ptr[r->at] : 0;
        const char *digits = "0123456789abcdef", *digit = c ? strchr(digits, c | 0x20) : NULL;
        if (!digit || (c < '0'))
            return false;
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

static void add_utf8(StrBuf *out, uint32_t c) {
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    strbuf_putc(out, (char)(lead[more] | c >> 6 * more));
    for (int i = more - 1; i >= 0; i--)
        strbuf_putc(out, (char)(0x80 | (c >> 6 * i & 0x3f)));
}

static bool read_escape(Reader *r, StrBuf *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char c = r->at < r->text.len ? r->text.ptr[r->at++] : 0;
    const char *plain = c ? strchr(from, c) : NULL;
    if (plain) {
        strbuf_putc(out, to[plain - from]);
        return true;
    }
    uint32_t high, low;
    if (c != 'u' || !read_hex4(r, &high) || (high >= 0xdc00 && high < 0xe000))
        return false;
    if (high >= 0xd800 && high < 0xdc00) {
        if (r->at + 2 > r->text.len || memcmp(r->text.ptr + r->at, "\\u", 2))
            return false;
        r->at += 2;
        if (!read_hex4(r, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(out, high);
    return true;
}

static const Json *read_string(Reader *r) {
    const size_t start = r->at++;
    StrBuf out = strbuf(r->arena);
    for (;;) {
        if (r->at >= r->text.len)
            return fail(r, start, "a closing quote for this string");
        const char *next = r->text.ptr + r->at;
        const size_t len = str_utf8_length(r->text, r->at);
        if (!len)
            return fail(r, r->at, "UTF-8");
        r->at += len;
        if (*next == '"')
            break;
        if ((unsigned char)*next < 0x20)
            return fail(r, r->at - 1, "an escape for this control character");
        if (*next != '\\')
            strbuf_add(&out, next, len);
        else if (!read_escape(r, &out))
            return fail(r, r->at - 1, "an escape that JSON has");
    }
    Json *json = make(r, JSON_STRING, start);
    json->text = strbuf_str(&out);
    return json;
}

/* Numbers and words */

static size_t digits(Reader *r) {
    const size_t start = r->at;
    while (r->at < r->text.len && r->text.ptr[r->at] >= '0' && r->text.ptr[r->at] <= '9')
        r->at++;
    return r->at - start;
}

static bool take_one(Reader *r, const char *of) {
    if (r->at >= r->text.len || !r->text.ptr[r->at] || !strchr(of, r->text.ptr[r->at]))
        return false;
    r->at++;
    return true;
}

static const Json *read_number(Reader *r) {
    const size_t start = r->at;
    take_one(r, "-");
    const size_t first = r->at;
    if (!digits(r) || (r->text.ptr[first] == '0' && r->at - first > 1))
        return fail(r, start, "a value");
    if (take_one(r, ".") && !digits(r))
        return fail(r, start, "digits behind the point");
    if (take_one(r, "eE")) {
        take_one(r, "+-");
        if (!digits(r))
            return fail(r, start, "an exponent");
    }
    Json *json = make(r, JSON_NUMBER, start);
    json->text = (Str){r->text.ptr + start, r->at - start};
    return json;
}

static bool take_word(Reader *r, const char *word) {
    const size_t len = strlen(word);
    if (r->text.len - r->at < len || memcmp(r->text.ptr + r->at, word, len))
        return false;
    r->at += len;
    return true;
}

/* Lists and objects */

static const Json *read_list(Reader *r) {
    const size_t start = r->at++;
    VEC(const Json *) items = {0};
    while (!take(r, ']')) {
        if (items.len && !take(r, ','))
            return fail(r, r->at, "`,` or `]`");
        const Json *item = read_value(r);
        if (!item)
            return NULL;
        vec_push(r->arena, &items, item);
    }
    Json *json = make(r, JSON_LIST, start);
    json->items = items.data;
    json->count = (uint32_t)items.len;
    return json;
}

static const Json *read_object(Reader *r) {
    const size_t start = r->at++;
    VEC(JsonMember) members = {0};
    while (!take(r, '}')) {
        if (members.len && !take(r, ','))
            return fail(r, r->at, "`,` or `}`");
        skip_spaces(r);
        if (r->at >= r->text.len || r->text.ptr[r->at] != '"')
            return fail(r, r->at, "a name in quotes");
        const Json *name = read_string(r);
        if (!name)
            return NULL;
        vec_for_each (member, &members)
            if (str_eq(member->name, name->text)) {
                diag(r->diags, name->span, json_twice, STR_ARG(name->text));
                return NULL;
            }
        if (!take(r, ':'))
            return fail(r, r->at, "`:`");
        const Json *value = read_value(r);
        if (!value)
            return NULL;
        vec_push(r->arena, &members, ((JsonMember){name->text, name->span, value}));
    }
    Json *json = make(r, JSON_OBJECT, start);
    json->members = members.data;
    json->count = (uint32_t)members.len;
    return json;
}

static const Json *read_nested(Reader *r, bool is_list) {
    if (r->depth == MAX_DEPTH)
        return fail(r, r->at, "fewer than 64 values within each other");
    r->depth++;
    const Json *json = is_list ? read_list(r) : read_object(r);
    r->depth--;
    return json;
}

static const Json *read_value(Reader *r) {
    static const struct {
        const char *word;
        JsonKind kind;
    } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    skip_spaces(r);
    const size_t start = r->at;
    if (start >= r->text.len)
        return fail(r, start, "a value");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (take_word(r, words[i].word))
            return make(r, words[i].kind, start);
    const char c = r->text.ptr[start];
    return c == '"'               ? read_string(r)
           : c == '[' || c == '{' ? read_nested(r, c == '[')
                                  : read_number(r);
}

const Json *json_read_next(Diags *diags, uint32_t file, size_t *at) {
    Reader r = {diags, diags->arena, file, source_get(diags->sources, file)->text, *at, 0};
    const Json *json = read_value(&r);
    skip_spaces(&r);
    *at = r.at;
    return json;
}

const char *json_kind_text(JsonKind kind) {
    switch (kind) {
    case JSON_NULL:
        return "null";
    case JSON_FALSE:
    case JSON_TRUE:
        return "a truth value";
    case JSON_NUMBER:
        return "a number";
    case JSON_STRING:
        return "a string";
    case JSON_LIST:
        return "a list";
    case JSON_OBJECT:
        break;
    }
    return "an object";
}

const Json *json_find(const Json *object, const char *name) {
    for (uint32_t i = 0; i < object->count; i++)
        if (str_is(object->members[i].name, name))
            return object->members[i].value;
    return NULL;
}

bool json_literal(const Json *json, Str *text) {
    switch (json->kind) {
    case JSON_NULL:
        *text = STR("None");
        return true;
    case JSON_FALSE:
        *text = STR("False");
        return true;
    case JSON_TRUE:
        *text = STR("True");
        return true;
    case JSON_NUMBER:
    case JSON_STRING:
        *text = json->text;
        return true;
    case JSON_LIST:
    case JSON_OBJECT:
        break;
    }
    return false;
}

bool json_wrong(Diags *diags, const Json *json, const char *wanted) {
    return diag(diags, json->span, json_value, json_kind_text(json->kind), wanted);
}

bool json_unknown(Diags *diags, const JsonMember *member, const char *document, const Str *known,
                  size_t count) {
    diag(diags, member->span, json_name, STR_ARG(member->name), document);
    const int nearest = str_nearest(member->name, known, count);
    if (nearest >= 0)
        diag_hint(diags, "did you mean \"%.*s\"?", STR_ARG(known[nearest]));
    return false;
}
