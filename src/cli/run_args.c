/* Arguments of `tilec run`: what stands after NAME= and what the kernel makes of it. */
#include "cli/run.h"
#include "frontend/parse.h"
#include "runtime/data/generate.h"
#include "runtime/data/npy.h"
#include "runtime/launch/specialise.h"
#include "types/float_bits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* One argument being read: its text is source `file`, for messages. */
typedef struct Reader {
    Ctx *ctx;
    uint32_t file, stream;
    Str text;
    Span place;  /* in a file, of all of the text; file 0: nowhere */
    size_t most; /* elements of an array that are made; SIZE_MAX: all */
    RunArg *arg;
} Reader;

static Span span_of(const Reader *r, Str part) {
    if (r->place.file)
        return r->place;
    if (!part.len)
        return (Span){r->file, 0, (uint32_t)r->text.len};
    uint32_t lo = (uint32_t)(part.ptr - r->text.ptr);
    return (Span){r->file, lo, lo + (uint32_t)part.len};
}

static bool find_elem(Str text, Elem *elem) {
    static const struct {
        const char *text;
        Elem elem;
    } names[] = {
#define ELEM(id, name, text, ...) {text, ELEM_##id}, {name, ELEM_##id},
#define ALIAS(text, id) {text, ELEM_##id},
#include "frontend/elems.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (str_is(text, names[i].text)) {
            *elem = names[i].elem;
            return true;
        }
    }
    return false;
}

static bool unknown_type(const Reader *r, Str text) {
    return ctx_diag(r->ctx, span_of(r, text), run_type, STR_ARG(text));
}

/* @[TYPE:]FILE. A file's name may hold colons: only what names a type is one. */
static bool read_file(Reader *r, Str path) {
    Elem as = ELEM_COUNT;
    const char *colon = memchr(path.ptr, ':', path.len);
    if (colon && find_elem((Str){path.ptr, (size_t)(colon - path.ptr)}, &as)) {
        size_t skip = (size_t)(colon - path.ptr) + 1;
        path = (Str){path.ptr + skip, path.len - skip};
    }
    r->arg->is_array = true;
    return npy_read(r->ctx, str_dup(&r->ctx->arena, path), as, &r->arg->array);
}

static bool parse_integer(const char *text, int64_t *integer, bool *is_unsigned) {
    char *end;
    bool negative = *text == '-';
    const char *digits = text + negative;
    int base = digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10;
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    unsigned long long magnitude = strtoull(digits, &end, base);
    if (*end || errno || (negative && magnitude > (uint64_t)1 << 63))
        return false;
    *integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    *is_unsigned = !negative && magnitude > INT64_MAX;
    return true;
}

static Elem default_integer(int64_t value, bool is_unsigned) {
    if (is_unsigned)
        return ELEM_U64;
    return value >= INT32_MIN && value <= INT32_MAX ? ELEM_I32 : ELEM_I64;
}

/* Digits and nothing else, however many. */
static bool is_whole(const char *text) {
    const char *digits = text + (*text == '-');
    bool is_hex = digits[0] == '0' && (digits[1] | 32) == 'x';
    digits += is_hex ? 2 : 0;
    return *digits && !digits[strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789")];
}

/* True when the integer has a representation in the type. */
static bool integer_fits(int64_t value, bool is_unsigned, Elem elem) {
    __int128 min, max, exact = is_unsigned ? (__int128)(uint64_t)value : (__int128)value;
    host_elem_range(elem, &min, &max);
    return exact >= min && exact <= max;
}

/* NUMBER[:TYPE], True, False. */
static bool read_scalar(Reader *r) {
    RunArg *arg = r->arg;
    const char *colon = memchr(r->text.ptr, ':', r->text.len);
    Str number = {r->text.ptr, colon ? (size_t)(colon - r->text.ptr) : r->text.len};
    Str type = colon ? (Str){colon + 1, r->text.len - number.len - 1} : STR("");
    Elem wanted = ELEM_COUNT;
    if (type.len && !find_elem(type, &wanted))
        return unknown_type(r, type);
    const char *text = str_dup(&r->ctx->arena, number);
    bool is_unsigned = false, is_bool = str_is(number, "True") || str_is(number, "False");
    if (is_bool || parse_integer(text, &arg->integer, &is_unsigned)) {
        if (is_bool)
            arg->integer = str_is(number, "True");
        arg->number = is_unsigned ? (double)(uint64_t)arg->integer : (double)arg->integer;
        arg->elem = wanted != ELEM_COUNT ? wanted
                    : is_bool            ? ELEM_I1
                                         : default_integer(arg->integer, is_unsigned);
        if (elem_is_float(arg->elem) || integer_fits(arg->integer, is_unsigned, arg->elem))
            return true;
        return ctx_diag(r->ctx, span_of(r, number), run_range, STR_ARG(number),
                        elem_info[arg->elem].text);
    }
    char *end;
    arg->number = strtod(text, &end);
    arg->elem = wanted != ELEM_COUNT ? wanted : ELEM_F32;
    if (is_whole(text) && (wanted == ELEM_COUNT || !elem_is_float(wanted)))
        return ctx_diag(r->ctx, span_of(r, number), run_range, STR_ARG(number),
                        wanted != ELEM_COUNT ? elem_info[wanted].text
                        : *text == '-'       ? "i64"
                                             : "u64");
    if (number.len && !*end && elem_is_float(arg->elem))
        return true;
    if (number.len && !*end)
        return ctx_diag(r->ctx, span_of(r, number), run_float_as_int, STR_ARG(number),
                        elem_info[arg->elem].text);
    ctx_diag(r->ctx, span_of(r, (Str){0}), run_argument, STR_ARG(r->text));
    diag_hint(&r->ctx->diags, "write a number as 1000 or 1e-5:fp32, an array as randn:fp32[1000], "
                              "a file as x.npy or @bf16:x.npy");
    return false;
}

static bool ends_with(Str text, const char *suffix) {
    size_t len = strlen(suffix);
    return text.len >= len && memcmp(text.ptr + text.len - len, suffix, len) == 0;
}

static bool read_generated(Reader *r) {
    const uint32_t file = r->place.file ? r->place.file : r->file;
    const uint32_t offset = r->place.file ? r->place.lo + 1 : 0; /* behind the quote */
    RunArg *arg = r->arg;
    return r->most == SIZE_MAX
               ? generate_array(r->ctx, file, offset, r->text, r->stream, &arg->array)
               : generate_part(r->ctx, file, offset, r->text, r->stream, r->most, &arg->array,
                               &arg->part);
}

static bool read_value(Reader *r) {
    r->arg->is_none = str_is(r->text, "None");
    if (r->arg->is_none)
        return true;
    if (generate_is_generator(r->text)) {
        r->arg->is_array = true;
        return read_generated(r);
    }
    if (r->text.len && r->text.ptr[0] == '@')
        return read_file(r, (Str){r->text.ptr + 1, r->text.len - 1});
    if (ends_with(r->text, ".npy"))
        return read_file(r, r->text);
    return read_scalar(r);
}

static bool read_named(Ctx *ctx, const NamedText *named, Reader reader) {
    *reader.arg = (RunArg){.name = named->name};
    reader.ctx = ctx;
    if (!reader.place.file) {
        Str label = str_from(str_format(&ctx->arena, "<argument %.*s>", STR_ARG(named->name)));
        reader.file = source_add(&ctx->sources, label, named->text);
    }
    reader.text = reader.place.file ? named->text : source_get(&ctx->sources, reader.file)->text;
    return read_value(&reader);
}

bool run_read_part(Ctx *ctx, const NamedText *named, Span place, uint32_t stream, size_t most,
                   RunArg *arg) {
    if (!read_named(ctx, named,
                    (Reader){.place = place, .stream = stream, .most = most, .arg = arg}))
        return false;
    if (arg->is_array && arg->array.data)
        arg->part = arg->array;
    return true;
}

bool run_read_args(Ctx *ctx, const TextList *texts, RunArgs *args) {
    for (size_t i = 0; i < texts->len; i++) {
        NamedText named;
        if (!cli_split_named(texts->data[i], "--arg", &named))
            return false;
        if (run_find_arg(args, named.name))
            return ctx_diag(ctx, (Span){0}, run_argument_twice, STR_ARG(named.name));
        RunArg arg;
        const RunArg *other = run_find_arg(args, named.text);
        if (other && other->is_array) {
            arg = *other;
            arg.name = named.name;
            arg.owner = other->owner.len ? other->owner : other->name;
            vec_push(&ctx->arena, args, arg);
            continue;
        }
        if (!read_named(ctx, &named,
                        (Reader){.stream = (uint32_t)i, .most = SIZE_MAX, .arg = &arg}))
            return false;
        vec_push(&ctx->arena, args, arg);
    }
    return true;
}

int run_one_shape(Ctx *ctx, const TextList *texts, const char *grid, ShapesFile *problem) {
    Arena *arena = &ctx->arena;
    ShapeArg *args = ARENA_ARRAY(arena, ShapeArg, texts->len + 1);
    Str *names = ARENA_ARRAY(arena, Str, texts->len + 1);
    HostValue *values = ARENA_ARRAY(arena, HostValue, texts->len + 1);
    Shape *shape = ARENA_NEW(arena, Shape);
    StrBuf text = strbuf(arena);
    if (!grid)
        return cli_usage_error("no grid: add --grid, as in --grid \"cdiv(n, BLOCK)\", or --shapes");
    *shape = (Shape){.names = names, .values = values, .args = args, .flops = -1, .bytes = -1};
    for (size_t i = 0; i < texts->len; i++) {
        NamedText named;
        if (!cli_split_named(texts->data[i], "--arg", &named))
            return STATUS_USAGE;
        for (size_t j = 0; j < i; j++)
            if (str_eq(args[j].name, named.name)) {
                ctx_diag(ctx, (Span){0}, run_argument_twice, STR_ARG(named.name));
                return STATUS_INPUT;
            }
        const HostValue value = host_read(named.text);
        args[shape->arg_count++] = (ShapeArg){.name = named.name, .text = named.text};
        if (value.kind != HOST_INT)
            continue;
        names[shape->size_count] = named.name;
        values[shape->size_count++] = value;
        strbuf_printf(&text, "%s%.*s=%" PRId64, text.len ? ", " : "", STR_ARG(named.name), value.i);
    }
    shape->name_count = shape->size_count;
    shape->text = text.len ? text.ptr : "as given";
    const uint32_t file = source_add(&ctx->sources, STR("<grid>"), str_from(grid));
    *problem = (ShapesFile){.grid = str_from(grid),
                            .grid_expr = parse_expression(&ctx->diags, file),
                            .shapes = shape,
                            .count = 1};
    return problem->grid_expr ? STATUS_OK : STATUS_INPUT;
}

RunArg *run_find_arg(const RunArgs *args, Str name) {
    for (size_t i = 0; i < args->len; i++)
        if (str_eq(args->data[i].name, name))
            return &args->data[i];
    return NULL;
}

RunArg *run_owner(const RunArgs *args, RunArg *arg) {
    return arg->owner.len ? run_find_arg(args, arg->owner) : arg;
}

/* Arrays are aligned to more than 16 bytes wherever they are put. */
static Str type_of(Ctx *ctx, const RunArg *arg, FixedValues constexprs) {
    if (arg->is_none)
        return STR("None");
    Elem elem = arg->is_array ? arg->array.elem : arg->elem;
    const char *text = elem_info[elem].text;
    if (arg->is_array)
        return str_from(str_format(&ctx->arena, "*%s:16", text));
    if (elem_is_float(elem) || elem == ELEM_I1)
        return str_from(text);
    Special special = special_of_integer(arg->integer, constexprs);
    return str_from(str_format(&ctx->arena, "%s%s", text, special_hint(&ctx->arena, special)));
}

const NamedText *run_types(Ctx *ctx, const RunArgs *args, const ElaborateRequest *kernel) {
    int64_t *constexprs = ARENA_ARRAY(&ctx->arena, int64_t, kernel->define_count + 1);
    size_t count = 0;
    for (uint32_t i = 0; i < kernel->define_count; i++)
        count += special_constexpr(kernel->defines[i].text, &constexprs[count]);
    NamedText *types = ARENA_ARRAY(&ctx->arena, NamedText, args->len + 1);
    for (size_t i = 0; i < args->len; i++)
        types[i] = (NamedText){args->data[i].name,
                               type_of(ctx, &args->data[i], (FixedValues){constexprs, count})};
    return types;
}

const GridName *run_grid_names(Ctx *ctx, const RunArgs *args, const ElaborateRequest *kernel,
                               uint32_t *count) {
    GridName *names = ARENA_ARRAY(&ctx->arena, GridName, args->len + kernel->define_count + 1);
    *count = 0;
    for (size_t i = 0; i < args->len; i++) {
        const RunArg *arg = &args->data[i];
        if (!arg->is_array && !arg->is_none && elem_is_int(arg->elem))
            names[(*count)++] = (GridName){arg->name, arg->integer};
    }
    for (uint32_t i = 0; i < kernel->define_count; i++) {
        int64_t value;
        bool is_unsigned;
        const char *text = str_dup(&ctx->arena, kernel->defines[i].text);
        if (parse_integer(text, &value, &is_unsigned) && !is_unsigned)
            names[(*count)++] = (GridName){kernel->defines[i].name, value};
    }
    return names;
}

bool run_order_args(Ctx *ctx, const RunArgs *args, const KernelFacts *facts, RunArg ***ordered,
                    uint32_t *count) {
    *ordered = ARENA_ARRAY(&ctx->arena, RunArg *, facts->param_count + 1);
    *count = 0;
    for (uint32_t i = 0; i < facts->param_count; i++) {
        const KernelParam *param = &facts->params[i];
        if (param->is_constexpr)
            continue;
        RunArg *arg = run_find_arg(args, param->name);
        if (!arg) {
            ctx_diag(ctx, (Span){0}, run_argument_missing, STR_ARG(param->name),
                     STR_ARG(param->text));
            diag_hint(&ctx->diags, "add -a %.*s=...", STR_ARG(param->name));
            return false;
        }
        (*ordered)[(*count)++] = run_owner(args, arg);
    }
    return true;
}

uint64_t run_scalar_bits(const RunArg *arg) {
    if (elem_is_float(arg->elem))
        return float_to_bits(elem_info[arg->elem].ir, arg->number);
    return (uint64_t)arg->integer;
}
