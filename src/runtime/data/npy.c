/* .npy files. The header is text from a file and thus the user's: it becomes a source of the
 * context, so that what is wrong with it is shown underlined in it. */
#include "runtime/data/npy.h"

#include "support/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* A header: version, then as the file has it. */
typedef struct NpyHeader {
    Str descr;
    Span descr_span, shape_span;
    bool fortran;
    bool has_descr, has_fortran, has_shape;
    HostArray array;
} NpyHeader;

/* The parser of the header's dict */

typedef struct HeaderParser {
    Ctx *ctx;
    uint32_t file;
    Str text;
    size_t at;
} HeaderParser;

static Span span_of(const HeaderParser *p, size_t lo, size_t hi) {
    return (Span){p->file, (uint32_t)lo, (uint32_t)hi};
}

static Span span_from(const HeaderParser *p, size_t lo) {
    return span_of(p, lo, p->at);
}

static void skip_space(HeaderParser *p) {
    while (p->at < p->text.len && strchr(" \t\r\n\f", p->text.ptr[p->at]) && p->text.ptr[p->at])
        p->at++;
}

/* The character here, 0 at the end (and for a zero byte, which nothing accepts). */
static char peek(HeaderParser *p) {
    skip_space(p);
    return p->at < p->text.len ? p->text.ptr[p->at] : 0;
}

static bool header_error(HeaderParser *p, const char *wanted) {
    char c = peek(p);
    char found[8] = "the end";
    if (p->at < p->text.len)
        snprintf(found, sizeof found, c >= ' ' && c <= '~' ? "'%c'" : "\\x%02x", (unsigned char)c);
    Span here = span_of(p, p->at, p->at + (p->at < p->text.len));
    return ctx_diag(p->ctx, here, npy_header, found, wanted);
}

static bool expect(HeaderParser *p, char c, const char *wanted) {
    if (peek(p) != c)
        return header_error(p, wanted);
    p->at++;
    return true;
}

static bool parse_string(HeaderParser *p, Str *value) {
    char quote = peek(p);
    if (quote != '\'' && quote != '"')
        return header_error(p, "a string");
    size_t lo = ++p->at;
    while (p->at < p->text.len && p->text.ptr[p->at] != quote && p->text.ptr[p->at] != '\n')
        p->at++;
    *value = (Str){p->text.ptr + lo, p->at - lo};
    return expect(p, quote, "the string's end");
}

static bool parse_bool(HeaderParser *p, bool *value) {
    static const struct {
        Str word;
        bool value;
    } words[] = {{STR("True"), true}, {STR("False"), false}};
    peek(p);
    for (size_t i = 0; i < 2; i++) {
        Str here = {p->text.ptr + p->at, words[i].word.len};
        if (p->text.len - p->at >= here.len && str_eq(here, words[i].word)) {
            *value = words[i].value;
            p->at += here.len;
            return true;
        }
    }
    return header_error(p, "True or False");
}

/* A size, with the L that Python 2 wrote behind long ones. */
static bool parse_size(HeaderParser *p, int64_t *value) {
    char c = peek(p);
    if (c < '0' || c > '9')
        return header_error(p, "a size or ')'");
    size_t lo = p->at;
    *value = 0;
    for (; p->at < p->text.len && (c = p->text.ptr[p->at]) >= '0' && c <= '9'; p->at++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, c - '0', value))
            return ctx_diag(p->ctx, span_from(p, lo), npy_shape, "a size does not fit 63 bits");
    if (p->at < p->text.len && p->text.ptr[p->at] == 'L')
        p->at++;
    return true;
}

static bool parse_shape(HeaderParser *p, HostArray *array) {
    size_t lo = p->at;
    bool comma = true;
    if (!expect(p, '(', "a tuple of sizes"))
        return false;
    for (array->rank = 0; peek(p) != ')'; array->rank++) {
        if (!comma)
            return header_error(p, "',' or ')'");
        if (array->rank == HOST_MAX_RANK)
            return ctx_diag(p->ctx, span_from(p, lo), npy_shape, "it has more than 32 dimensions");
        if (!parse_size(p, &array->shape[array->rank]))
            return false;
        comma = peek(p) == ',';
        p->at += comma;
    }
    /* (3) is no tuple. */
    if (array->rank == 1 && !comma)
        return header_error(p, "',' as in (3,)");
    p->at++;
    return true;
}

static bool parse_entry(HeaderParser *p, NpyHeader *header) {
    Str key;
    peek(p);
    size_t key_at = p->at;
    if (!parse_string(p, &key))
        return false;
    Span key_span = span_from(p, key_at);
    if (!expect(p, ':', "':'"))
        return false;
    peek(p);
    size_t lo = p->at;
    bool ok, *seen;
    if (str_is(key, "descr")) {
        seen = &header->has_descr;
        if (peek(p) == '[')
            return ctx_diag(p->ctx, span_of(p, lo, lo + 1), npy_dtype, "a structured type",
                            "one number an element; save the fields one by one");
        ok = parse_string(p, &header->descr);
        header->descr_span = span_from(p, lo);
    } else if (str_is(key, "fortran_order")) {
        seen = &header->has_fortran;
        ok = parse_bool(p, &header->fortran);
    } else if (str_is(key, "shape")) {
        seen = &header->has_shape;
        ok = parse_shape(p, &header->array);
        header->shape_span = span_from(p, lo);
    } else {
        return ctx_diag(p->ctx, key_span, npy_key, "unknown", STR_ARG(key));
    }
    if (ok && *seen)
        return ctx_diag(p->ctx, key_span, npy_key, "repeated", STR_ARG(key));
    *seen = true;
    return ok;
}

static bool parse_header(HeaderParser *p, NpyHeader *header) {
    if (!expect(p, '{', "'{'"))
        return false;
    while (peek(p) != '}') {
        if (!parse_entry(p, header))
            return false;
        if (peek(p) == '}')
            break;
        if (!expect(p, ',', "',' or '}'"))
            return false;
    }
    p->at++;
    if (peek(p) || p->at < p->text.len)
        return header_error(p, "nothing after '}'");
    const char *missing = !header->has_descr     ? "descr"
                          : !header->has_fortran ? "fortran_order"
                          : !header->has_shape   ? "shape"
                                                 : NULL;
    if (missing)
        return ctx_diag(p->ctx, span_of(p, 0, p->at), npy_key, "missing",
                        STR_ARG(str_from(missing)));
    return true;
}

/* Element types */

/* The letter of NumPy's type string. */
static char elem_letter(Elem elem) {
    switch (elem_info[elem].class) {
    case ELEM_BOOL:
        return 'b';
    case ELEM_INT:
        return elem_info[elem].is_signed ? 'i' : 'u';
    case ELEM_FLOAT:
        break;
    }
    return elem == ELEM_F16 || elem == ELEM_F32 || elem == ELEM_F64 ? 'f' : 'V';
}

static const char *wanted_types =
    "little-endian f2, f4, f8, i1 to i8, u1 to u8, b1, or V1, V2 for f8, bf16";

static bool dtype_error(Ctx *ctx, const NpyHeader *header) {
    const char *found = str_format(&ctx->arena, "'%.*s'", STR_ARG(header->descr));
    ctx_diag(ctx, header->descr_span, npy_dtype, found, wanted_types);
    if (header->descr.len && header->descr.ptr[0] == '>')
        diag_hint(&ctx->diags, "np.save(path, a.astype(a.dtype.newbyteorder('<')))");
    return false;
}

/* The element type for a type string; bf16 for V2 and ELEM_COUNT for V1. */
static bool find_elem(Ctx *ctx, NpyHeader *header) {
    Str descr = header->descr;
    bool ok = descr.len == 3 && strchr("<|=", descr.ptr[0]) && descr.ptr[0];
    size_t bytes = ok ? (size_t)(descr.ptr[2] - '0') : 0;
    /* '|' stands for types without byte order. */
    if (!ok || (descr.ptr[0] == '|' && bytes != 1 && descr.ptr[1] != 'V'))
        return dtype_error(ctx, header);
    if (descr.ptr[1] == 'V' && bytes == 1) {
        header->array.elem = ELEM_COUNT;
        return true;
    }
    for (Elem elem = 0; elem < ELEM_COUNT; elem++)
        if (elem_letter(elem) == descr.ptr[1] && host_elem_bytes(elem) == bytes) {
            header->array.elem = elem;
            return true;
        }
    return dtype_error(ctx, header);
}

/* Raw bytes may be any type of their size; unsigned integers one that NumPy has no name for. */
static bool apply_request(Ctx *ctx, NpyHeader *header, Elem as) {
    char letter = header->descr.ptr[1];
    size_t bytes = (size_t)(header->descr.ptr[2] - '0');
    bool wanted = as != ELEM_COUNT && host_elem_bytes(as) == bytes &&
                  (letter == 'V' || (letter == 'u' && elem_letter(as) == 'V'));
    if (wanted)
        header->array.elem = as;
    if (header->array.elem != ELEM_COUNT)
        return true;
    ctx_diag(ctx, header->descr_span, npy_dtype, "'|V1'", "to know which type the bytes are");
    diag_hint(&ctx->diags, "state the element type of the argument: fp8e4nv or fp8e5");
    return false;
}

/* Data */

/* Elements in order of memory to row-major order: the last index of `from` is the slowest. */
static void *row_major_from_fortran(Arena *arena, const HostArray *array, const char *from) {
    char *to = arena_alloc(arena, array->bytes);
    size_t size = host_elem_bytes(array->elem);
    int64_t index[HOST_MAX_RANK] = {0};
    for (size_t i = 0; i < array->count; i++) {
        size_t at = 0;
        for (int32_t d = array->rank; d-- > 0;)
            at = at * (size_t)array->shape[d] + (size_t)index[d];
        memcpy(to + i * size, from + at * size, size);
        for (int32_t d = array->rank; d-- > 0 && ++index[d] == array->shape[d];)
            index[d] = 0;
    }
    return to;
}

static void normalise_bools(HostArray *array) {
    uint8_t *data = array->data;
    for (size_t i = 0; elem_info[array->elem].class == ELEM_BOOL && i < array->count; i++)
        data[i] = data[i] != 0;
}

static void place_data(Ctx *ctx, const NpyHeader *header, char *data, HostArray *array) {
    *array = header->array;
    if (header->fortran && array->rank > 1)
        array->data = row_major_from_fortran(&ctx->arena, array, data);
    else if ((uintptr_t)data % host_elem_bytes(array->elem) == 0)
        array->data = data;
    else
        array->data = arena_grow(&ctx->arena, data, array->bytes, array->bytes);
    normalise_bools(array);
}

/* Reading */

static bool truncated(Ctx *ctx, const char *path, const char *part, size_t wanted, size_t there) {
    return ctx_diag(ctx, (Span){0}, npy_truncated, path, part, wanted, there);
}

static bool check_size(Ctx *ctx, const char *path, NpyHeader *header, size_t there) {
    if (!host_array_measure(&header->array))
        return ctx_diag(ctx, header->shape_span, npy_shape, "the array is larger than memory");
    if (there < header->array.bytes)
        return truncated(ctx, path, "data", header->array.bytes, there);
    if (there > header->array.bytes)
        return ctx_diag(ctx, (Span){0}, npy_trailing, path, there - header->array.bytes);
    return true;
}

bool npy_parse(Ctx *ctx, const char *path, void *bytes, size_t len, Elem as, HostArray *array) {
    static const char magic[] = "\x93NUMPY";
    enum { MAGIC = 6, VERSION_END = 8, MAX_HEADER = 64 * 1024 };
    const uint8_t *b = bytes;
    if (len < VERSION_END || memcmp(bytes, magic, MAGIC) != 0) {
        bool prefix = len < VERSION_END && memcmp(bytes, magic, len < MAGIC ? len : MAGIC) == 0;
        return prefix ? truncated(ctx, path, "header", VERSION_END, len)
                      : ctx_diag(ctx, (Span){0}, npy_magic, path);
    }
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return ctx_diag(ctx, (Span){0}, npy_version, path, b[6], b[7]);
    size_t start = b[6] == 1 ? 10 : 12;
    if (len < start)
        return truncated(ctx, path, "header", start, len);
    size_t header_len = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        header_len |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (header_len > MAX_HEADER)
        return ctx_diag(ctx, (Span){0}, npy_header_size, path, header_len, MAX_HEADER);
    if (len - start < header_len)
        return truncated(ctx, path, "header", header_len, len - start);
    Str text = {(const char *)bytes + start, header_len};
    uint32_t file = source_add(&ctx->sources, str_from(path), text);
    HeaderParser parser = {ctx, file, text, 0};
    NpyHeader header = {.array = {.elem = ELEM_COUNT}};
    if (!parse_header(&parser, &header) || !find_elem(ctx, &header) ||
        !apply_request(ctx, &header, as) ||
        !check_size(ctx, path, &header, len - start - header_len))
        return false;
    place_data(ctx, &header, (char *)bytes + start + header_len, array);
    return true;
}

bool npy_read(Ctx *ctx, const char *path, Elem as, HostArray *array) {
    Str text;
    int error = file_read(&ctx->arena, path, PTRDIFF_MAX / 2, &text);
    if (error == ENOMEM)
        longjmp(*ctx->arena.oom, 1);
    if (error)
        return ctx_diag(ctx, (Span){0}, file_unreadable, path, file_error_text(&ctx->arena, error));
    /* The bytes are a fresh block of the arena: nobody else holds them. */
    return npy_parse(ctx, path, (char *)text.ptr, text.len, as, array);
}

/* Writing */

void npy_header(const HostArray *array, StrBuf *out) {
    size_t bytes = host_elem_bytes(array->elem);
    char letter = elem_letter(array->elem);
    StrBuf dict = strbuf(out->arena);
    strbuf_printf(&dict, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                  bytes == 1 ? '|' : '<', letter, bytes);
    for (int32_t d = 0; d < array->rank; d++)
        strbuf_printf(&dict, "%s%" PRId64, d ? ", " : "", array->shape[d]);
    strbuf_puts(&dict, array->rank == 1 ? ",), }" : "), }");
    /* The data begins at a multiple of 64 bytes, the header ends with a newline. */
    enum { PRELUDE = 10, ALIGNMENT = 64 };
    size_t total = (PRELUDE + dict.len + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    while (dict.len + 1 < total - PRELUDE)
        strbuf_putc(&dict, ' ');
    strbuf_putc(&dict, '\n');
    const uint8_t prelude[PRELUDE] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)dict.len, (uint8_t)(dict.len >> 8)};
    strbuf_add(out, prelude, sizeof prelude);
    strbuf_add(out, dict.ptr, dict.len);
}

bool npy_write(Ctx *ctx, const char *path, const HostArray *array) {
    ArenaMark mark = arena_mark(&ctx->scratch);
    StrBuf header = strbuf(&ctx->scratch);
    npy_header(array, &header);
    char *file = arena_alloc(&ctx->scratch, header.len + array->bytes);
    memcpy(file, header.ptr, header.len);
    if (array->bytes)
        memcpy(file + header.len, array->data, array->bytes);
    int error = file_write(&ctx->scratch, path, (Str){file, header.len + array->bytes}, false);
    arena_rewind(&ctx->scratch, mark);
    if (error == ENOSPC || error == EDQUOT)
        return ctx_diag(ctx, (Span){0}, disk_full, path, file_error_text(&ctx->arena, error));
    if (error)
        return ctx_diag(ctx, (Span){0}, file_unwritable, path, file_error_text(&ctx->arena, error));
    return true;
}
