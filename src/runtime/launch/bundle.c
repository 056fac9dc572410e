/* See bundle.h. Whatever the bytes are, reading them touches nothing outside of them: the checksums
 * tell damage, and what they do not tell, since somebody made them fit, is checked in its place. */
#include "runtime/launch/bundle.h"

#include <inttypes.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    HEADER_SIZE = 128,
    AT_VERSION = 8,
    AT_COUNT = 12,
    AT_FILE_SIZE = 16,
    AT_INDEX_SIZE = 24,
    AT_XXH3 = 32,
    AT_SHA256 = 48,
    AT_HEADER_XXH3 = 120,
    MAGIC_SIZE = 8,
};

static const char magic[MAGIC_SIZE] = {'T', 'I', 'L', 'E', 'B', 'N', 'D', 'L'};

static void put_number(unsigned char *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_number(const char *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return value;
}

/* Writing */

typedef struct Place {
    Str code;
    size_t offset;
} Place;

typedef struct Writer {
    Arena *arena;
    VEC(Place) places;
    size_t end; /* of the payloads so far, from their beginning */
} Writer;

static size_t align(size_t offset) {
    return (offset + BUNDLE_ALIGNMENT - 1) / BUNDLE_ALIGNMENT * BUNDLE_ALIGNMENT;
}

/* `size` bytes of code, of which a PTX has one more than its text. */
static size_t place_code(Writer *w, Str code) {
    if (!code.len)
        return 0;
    vec_for_each (place, &w->places)
        if (str_eq(place->code, code))
            return place->offset;
    Place place = {code, w->end};
    w->end = align(w->end + code.len + 1);
    vec_push(w->arena, &w->places, place);
    return place.offset;
}

/* Offsets are from the beginning of the payloads, which the length of the index decides. */
static void write_index(Writer *w, const Variant *variants, uint32_t count, size_t payloads,
                        StrBuf *index) {
    for (uint32_t i = 0; i < count; i++) {
        const Variant *v = &variants[i];
        StrBuf facts = strbuf(w->arena);
        facts_write(&v->facts, &facts);
        const size_t cubin = place_code(w, v->cubin), ptx = place_code(w, v->ptx);
        strbuf_printf(index, "variant %zu %zu %zu %zu %zu %d %d %d %d %.*s\n", facts.len,
                      v->cubin.len ? payloads + cubin : 0, v->cubin.len,
                      v->ptx.len ? payloads + ptx : 0, v->ptx.len, v->num_warps, v->num_stages,
                      v->num_ctas, (int)v->forms, STR_ARG(v->path));
        strbuf_add(index, facts.ptr, facts.len);
    }
}

static void pad(StrBuf *out, size_t size) {
    static const char zeros[BUNDLE_ALIGNMENT];
    while (out->len < size)
        strbuf_add(out, zeros, size - out->len < sizeof zeros ? size - out->len : sizeof zeros);
}

void bundle_write(const Variant *variants, uint32_t count, StrBuf *out) {
    Writer w = {.arena = out->arena};
    /* The index names offsets behind it, and is as long as their digits make it. */
    size_t payloads = 0, needed = HEADER_SIZE;
    StrBuf index;
    do {
        payloads = needed;
        w = (Writer){.arena = out->arena};
        index = strbuf(out->arena);
        write_index(&w, variants, count, payloads, &index);
        needed = align(HEADER_SIZE + index.len);
    } while (needed > payloads);
    unsigned char header[HEADER_SIZE] = {0};
    strbuf_add(out, header, sizeof header);
    strbuf_add(out, index.ptr, index.len);
    vec_for_each (place, &w.places) {
        pad(out, payloads + place->offset);
        strbuf_add(out, place->code.ptr, place->code.len);
    }
    pad(out, payloads + w.end);
    const Str content = {out->ptr + HEADER_SIZE, out->len - HEADER_SIZE};
    memcpy(header, magic, MAGIC_SIZE);
    put_number(header + AT_VERSION, BUNDLE_VERSION, 4);
    put_number(header + AT_COUNT, count, 4);
    put_number(header + AT_FILE_SIZE, out->len, 8);
    put_number(header + AT_INDEX_SIZE, index.len, 8);
    XXH128_canonicalFromHash((XXH128_canonical_t *)(header + AT_XXH3),
                             XXH3_128bits(content.ptr, content.len));
    sha256(content, header + AT_SHA256);
    put_number(header + AT_HEADER_XXH3, XXH3_64bits(header, AT_HEADER_XXH3), 8);
    memcpy(out->ptr, header, sizeof header);
}

/* Reading */

typedef struct Reader {
    Arena *arena;
    Diags *diags;
    const char *name;
    Str data;
    size_t payloads; /* where they begin, at the earliest */
} Reader;

static bool refuse(Reader *r, const char *why) {
    return diag(r->diags, (Span){0}, bundle_invalid, r->name, why);
}

static bool check_header(Reader *r) {
    const char *at = r->data.ptr;
    if (r->data.len < HEADER_SIZE || memcmp(at, magic, MAGIC_SIZE))
        return refuse(r, "it does not begin as a bundle does");
    if (get_number(at + AT_VERSION, 4) != BUNDLE_VERSION)
        return diag(r->diags, (Span){0}, bundle_version, r->name,
                    (unsigned)get_number(at + AT_VERSION, 4), BUNDLE_VERSION);
    if (get_number(at + AT_HEADER_XXH3, 8) != XXH3_64bits(at, AT_HEADER_XXH3))
        return refuse(r, "its header is damaged");
    const uint64_t size = get_number(at + AT_FILE_SIZE, 8);
    if (size != r->data.len)
        return refuse(
            r, str_format(r->arena, "it has %zu bytes, and says %" PRIu64, r->data.len, size));
    XXH128_canonical_t found;
    XXH128_canonicalFromHash(&found, XXH3_128bits(at + HEADER_SIZE, r->data.len - HEADER_SIZE));
    if (memcmp(&found, at + AT_XXH3, sizeof found))
        return refuse(r, "its content is damaged: the checksum differs");
    const uint64_t index = get_number(at + AT_INDEX_SIZE, 8);
    if (index > r->data.len - HEADER_SIZE || get_number(at + AT_COUNT, 4) > BUNDLE_MAX_VARIANTS)
        return refuse(r, "its header is not that of a bundle");
    r->payloads = HEADER_SIZE + (size_t)index;
    return true;
}

static bool take_number(Str *rest, uint64_t *number) {
    size_t i = 0;
    for (*number = 0; i < rest->len && rest->ptr[i] >= '0' && rest->ptr[i] <= '9'; i++) {
        const unsigned digit = (unsigned)(rest->ptr[i] - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    if (!i || i == rest->len || rest->ptr[i] != ' ')
        return false;
    *rest = (Str){rest->ptr + i + 1, rest->len - i - 1};
    return true;
}

/* The code lies within the payloads; PTX is one byte longer, and ends with a zero. */
static bool code_at(const Reader *r, uint64_t offset, uint64_t size, bool is_text, Str *code) {
    *code = STR("");
    if (!size)
        return !offset;
    if (offset < r->payloads || offset % BUNDLE_ALIGNMENT || offset > r->data.len ||
        size + is_text > r->data.len - offset || size > r->data.len)
        return false;
    *code = (Str){r->data.ptr + offset, (size_t)size};
    return !is_text || !code->ptr[code->len];
}

static bool read_variant(const Reader *r, Str *index, Variant *variant) {
    static const char word[] = "variant ";
    enum { FACTS, CUBIN, CUBIN_SIZE, PTX, PTX_SIZE, WARPS, STAGES, CTAS, FORM, NUMBERS };
    const char *end = index->len ? memchr(index->ptr, '\n', index->len) : NULL;
    if (!end)
        return false;
    Str line = {index->ptr, (size_t)(end - index->ptr)};
    *index = (Str){end + 1, index->len - line.len - 1};
    if (line.len < sizeof word - 1 || memcmp(line.ptr, word, sizeof word - 1))
        return false;
    line = (Str){line.ptr + sizeof word - 1, line.len - (sizeof word - 1)};
    uint64_t n[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        if (!take_number(&line, &n[i]) || (i >= WARPS && n[i] > INT32_MAX))
            return false;
    if (n[FACTS] > index->len || n[FORM] >= FORM_SETS)
        return false;
    *variant = (Variant){.path = str_keep(r->arena, line),
                         .num_warps = (int32_t)n[WARPS],
                         .num_stages = (int32_t)n[STAGES],
                         .num_ctas = (int32_t)n[CTAS],
                         .forms = (unsigned)n[FORM]};
    const Str facts = {index->ptr, (size_t)n[FACTS]};
    *index = (Str){index->ptr + facts.len, index->len - facts.len};
    return facts_read(r->arena, facts, &variant->facts) &&
           code_at(r, n[CUBIN], n[CUBIN_SIZE], false, &variant->cubin) &&
           code_at(r, n[PTX], n[PTX_SIZE], true, &variant->ptx) &&
           (variant->cubin.len || variant->ptx.len);
}

bool bundle_read(Arena *arena, Diags *diags, const char *name, Str data, Bundle *bundle) {
    Reader r = {arena, diags, name, data, 0};
    if (!check_header(&r))
        return false;
    Str index = {data.ptr + HEADER_SIZE, r.payloads - HEADER_SIZE};
    VEC(Variant) variants = {0};
    const uint32_t count = (uint32_t)get_number(data.ptr + AT_COUNT, 4);
    while (variants.len < count) {
        Variant variant;
        if (!read_variant(&r, &index, &variant))
            return refuse(&r,
                          str_format(arena, "its variant %zu cannot be read", variants.len + 1));
        vec_push(arena, &variants, variant);
    }
    if (index.len)
        return refuse(&r, "its index is longer than its variants");
    *bundle = (Bundle){.variants = variants.data, .count = count};
    sha256_text((const unsigned char *)data.ptr + AT_SHA256, bundle->sha256);
    return true;
}

bool bundle_is_signed(const Bundle *bundle, Str data, Str wanted) {
    unsigned char digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    sha256((Str){data.ptr + HEADER_SIZE, data.len - HEADER_SIZE}, digest);
    sha256_text(digest, text);
    for (size_t i = 0; i < wanted.len && i < SHA256_TEXT_SIZE; i++)
        if ((wanted.ptr[i] | 0x20) != text[i] && wanted.ptr[i] != text[i])
            return false;
    return wanted.len == SHA256_TEXT_SIZE - 1 && !strcmp(text, bundle->sha256);
}
