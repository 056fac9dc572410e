/* See variants.h. */
#include "runtime/launch/variants.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Literals */

typedef struct Number {
    bool is_integer;
    int64_t integer;
    double real; /* 0 of an integer */
} Number;

/* Decimal, or an integer with 0x. */
static bool is_number(Str text, Number *number) {
    char copy[64], *end;
    if (!text.len || text.len >= sizeof copy || !strchr("0123456789.-+", text.ptr[0]))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    errno = 0;
    *number = (Number){0};
    number->integer = strtoll(copy, &end, strpbrk(copy, "xX") ? 16 : 10);
    number->is_integer = !*end && !errno;
    if (number->is_integer || !*end) /* one beyond 64 bits is a text: many are the same double */
        return number->is_integer;
    number->integer = 0;
    number->real = strtod(copy, &end);
    return !*end;
}

static bool is_plain_string(Str text, Str *inside) {
    if (text.len < 2 || (text.ptr[0] != '\'' && text.ptr[0] != '"') ||
        text.ptr[text.len - 1] != text.ptr[0])
        return false;
    *inside = (Str){text.ptr + 1, text.len - 2};
    return !memchr(inside->ptr, '\\', inside->len) &&
           !memchr(inside->ptr, text.ptr[0], inside->len);
}

static Str skip_spaces(Str text) {
    while (text.len && text.ptr[0] == ' ')
        text = (Str){text.ptr + 1, text.len - 1};
    return text;
}

/* Spaces within strings count. */
static bool same_but_spaces(Str a, Str b) {
    char quote = 0;
    bool is_escaped = false;
    for (;;) {
        if (!quote) {
            a = skip_spaces(a);
            b = skip_spaces(b);
        }
        if (!a.len || !b.len || a.ptr[0] != b.ptr[0])
            return !a.len && !b.len;
        const char c = a.ptr[0];
        if (!is_escaped && (quote ? c == quote : c == '\'' || c == '"'))
            quote = quote ? 0 : c;
        is_escaped = quote && c == '\\' && !is_escaped;
        a = (Str){a.ptr + 1, a.len - 1};
        b = (Str){b.ptr + 1, b.len - 1};
    }
}

bool literal_same(Str a, Str b) {
    Number x, y;
    Str s, t;
    if (str_eq(a, b))
        return true;
    if (is_number(a, &x) && is_number(b, &y))
        return x.is_integer == y.is_integer && x.integer == y.integer && x.real == y.real;
    if (is_plain_string(a, &s) || is_plain_string(b, &t))
        return is_plain_string(a, &s) && is_plain_string(b, &t) && str_eq(s, t);
    return same_but_spaces(a, b);
}

/* Devices */

/* 0: its machine code does not run there; else more, the nearer. Code runs on later chips of the
 * same generation, unless it is for one alone. */
static int cubin_rank(const Target *target, const Device *device) {
    const int capability = 10 * device->major + device->minor;
    bool runs = target_is_specific(target)
                    ? target->capability == capability
                    : target->capability / 10 == device->major && target->capability <= capability;
    return runs ? 1000 + target->capability : 0;
}

/* The driver assembles PTX for any later chip. */
static int ptx_rank(const Target *target, const Device *device) {
    const int capability = 10 * device->major + device->minor;
    bool runs = target_is_specific(target) ? target->capability == capability
                                           : target->capability <= capability;
    return runs ? target->capability : 0;
}

static int device_rank(const Variant *variant, const Device *device, Str *code) {
    const Target *target = variant->facts.meta.target;
    *code = STR("");
    if (variant->facts.meta.shared_bytes > device->shared_per_block)
        return 0;
    int rank = variant->cubin.len ? cubin_rank(target, device) : 0;
    if (rank) {
        *code = variant->cubin;
        return rank;
    }
    rank = variant->ptx.len ? ptx_rank(target, device) : 0;
    if (rank)
        *code = variant->ptx;
    return rank;
}

Str variant_code(const Variant *variant, const Device *device) {
    Str code;
    device_rank(variant, device, &code);
    return code;
}

/* Arguments */

enum { NO_MATCH = -1, FIXED_SCORE = 8 };

static const NamedLiteral *find_constexpr(const VariantCall *call, Str name) {
    for (size_t i = 0; i < call->constexpr_count; i++)
        if (str_eq(call->constexprs[i].name, name))
            return &call->constexprs[i];
    return NULL;
}

/* What the parameter's promise is worth, or NO_MATCH where the argument does not keep it. NULL: the
 * call leaves it out. */
static int param_score(const KernelParam *param, const tile_argument *argument) {
    char digits[24];
    if (!argument)
        return param->is_default ? 0 : NO_MATCH;
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR_INT) {
        snprintf(digits, sizeof digits, "%" PRId64, argument->value.integer);
        return param->is_constexpr && literal_same(param->text, str_from(digits)) ? 0 : NO_MATCH;
    }
    if (argument->kind == TILE_ARGUMENT_CONSTEXPR) {
        const tile_text text = argument->value.text;
        return param->is_constexpr && literal_same(param->text, (Str){text.data, text.size})
                   ? 0
                   : NO_MATCH;
    }
    if (param->is_constexpr || !argument_fits(argument, param->text))
        return NO_MATCH;
    if (param->is_fixed)
        return argument->value.integer == param->fixed ? FIXED_SCORE : NO_MATCH;
    if (param->divisible <= 1)
        return 0;
    return argument->value.integer % param->divisible ? NO_MATCH : param->divisible > 8 ? 4 : 3;
}

typedef struct Fit {
    int score;
    uint32_t misses, first_miss; /* parameters that do not match; the first, by its number */
    const tile_argument *missed; /* the argument for it; NULL: left out, or held for every call */
} Fit;

static Fit fit(const Variant *variant, const VariantCall *call) {
    Fit found = {0};
    size_t next = 0;
    for (uint32_t i = 0; i < variant->facts.param_count; i++) {
        const KernelParam *param = &variant->facts.params[i];
        const NamedLiteral *held = find_constexpr(call, param->name);
        const tile_argument *argument = NULL;
        int score = 0;
        if (held) {
            score = param->is_constexpr && literal_same(param->text, held->literal) ? 0 : NO_MATCH;
        } else {
            argument = next < call->count ? &call->arguments[next++].argument : NULL;
            score = param_score(param, argument);
        }
        if (score != NO_MATCH) {
            found.score += score;
        } else if (!found.misses++) {
            found.first_miss = i;
            found.missed = argument;
        }
    }
    return found;
}

/* What stands beside another variant is for the calls that need it. Of itself a variant may be what
 * they need. */
static bool has_form(const Variant *variant, const VariantCall *call) {
    const KernelMeta *meta = &variant->facts.meta;
    const unsigned is = variant->forms | (meta->tensor_maps.len ? 0 : FORM_PLAIN) |
                        (meta->apart.len ? 0 : FORM_IN_PLACE);
    return !(call->forms & ~is) && !(variant->forms & ~call->forms);
}

const Variant *variants_choose(const Variant *const *variants, uint32_t count,
                               const VariantCall *call) {
    const Variant *best = NULL;
    int best_score = 0, best_rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        Str code;
        const int rank = device_rank(variants[i], call->device, &code);
        if (!rank || !has_form(variants[i], call))
            continue;
        const Fit found = fit(variants[i], call);
        if (found.misses ||
            (best && (rank < best_rank || (rank == best_rank && found.score <= best_score))))
            continue;
        best = variants[i];
        best_score = found.score;
        best_rank = rank;
    }
    return best;
}

/* Explanation */

static const char *promise_text(Arena *arena, const KernelParam *param) {
    if (param->is_constexpr)
        return str_format(arena, "the constexpr %.*s", STR_ARG(param->text));
    Special special = {param->is_fixed        ? SPECIAL_FIXED
                       : param->divisible > 8 ? SPECIAL_16
                       : param->divisible > 1 ? SPECIAL_8
                                              : SPECIAL_NONE,
                       param->fixed};
    return str_format(arena, "%.*s%s", STR_ARG(param->text), special_hint(arena, special));
}

static const char *argument_text(Arena *arena, const tile_argument *argument) {
    Str literal;
    if (!argument)
        return "left out";
    if (argument_constexpr(arena, argument, &literal))
        return str_format(arena, "the constexpr %.*s", STR_ARG(literal));
    const char *type = argument_type(arena, argument);
    if (argument->kind == TILE_ARGUMENT_POINTER)
        return str_format(arena, "%s at 0x%" PRIx64, type, argument->value.address);
    return argument->kind == TILE_ARGUMENT_INT
               ? str_format(arena, "%s %" PRId64, type, argument->value.integer)
               : type;
}

void wanted_add(StrBuf *list, const char *text) {
    const size_t len = strlen(text);
    for (const char *at = list->ptr; at && (at = strstr(at, text)); at += len)
        if ((at == list->ptr || at[-1] == ' ') && (!at[len] || at[len] == ','))
            return;
    strbuf_printf(list, "%s%s", list->len ? ", " : "", text);
}

static const char *explain_device(Arena *arena, const Variant *const *variants, uint32_t count,
                                  const Device *device) {
    StrBuf wanted = strbuf(arena);
    for (uint32_t i = 0; i < count; i++)
        wanted_add(&wanted, variants[i]->facts.meta.target->name);
    return str_format(arena,
                      "'%s' has capability %d.%d and %d bytes of shared memory a block, "
                      "wanted what runs code for %s",
                      device->name, device->major, device->minor, device->shared_per_block,
                      wanted.ptr ? wanted.ptr : "nothing");
}

const char *variants_explain(Arena *arena, const Variant *const *variants, uint32_t count,
                             const VariantCall *call) {
    Fit nearest = {.misses = UINT32_MAX};
    const Variant *example = NULL;
    StrBuf wanted = strbuf(arena);
    for (int collect = 0; collect < 2; collect++)
        for (uint32_t i = 0; i < count; i++) {
            if (!variant_code(variants[i], call->device).len || !has_form(variants[i], call))
                continue;
            const Fit found = fit(variants[i], call);
            if (!collect && found.misses < nearest.misses) {
                nearest = found;
                example = variants[i];
            } else if (collect && found.misses == nearest.misses &&
                       found.first_miss == nearest.first_miss) {
                wanted_add(&wanted,
                           promise_text(arena, &variants[i]->facts.params[found.first_miss]));
            }
        }
    if (!example)
        return call->forms & FORM_IN_PLACE ? "there is none for one array as two arguments"
               : call->forms               ? "there is none without tensor copies"
                                           : explain_device(arena, variants, count, call->device);
    return str_format(arena, "'%.*s' is %s, wanted %s",
                      STR_ARG(example->facts.params[nearest.first_miss].name),
                      argument_text(arena, nearest.missed), wanted.ptr ? wanted.ptr : "nothing");
}
