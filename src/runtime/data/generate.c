/* The reader of generator descriptions, and the generators. */
#include "runtime/data/generate.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Random words */

void philox_4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c0 * 0xd2511f53, b = (uint64_t)c2 * 0xcd9e8d57;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

typedef struct Random {
    uint64_t seed;
    uint32_t stream;
} Random;

/* Two independent 64-bit words for element i. */
static void random_words(const Random *random, uint64_t i, uint64_t words[2]) {
    const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), random->stream, 0};
    const uint32_t key[2] = {(uint32_t)random->seed, (uint32_t)(random->seed >> 32)};
    uint32_t out[4];
    philox_4x32_10(counter, key, out);
    words[0] = (uint64_t)out[0] << 32 | out[1];
    words[1] = (uint64_t)out[2] << 32 | out[3];
}

/* A uniform multiple of 2^-bits in [0, 1). */
static double unit_interval(uint64_t word, int bits) {
    return ldexp((double)(word >> (64 - bits)), -bits);
}

/* The reader */

/* A value as written: an integer, exact, or a float. */
typedef struct Number {
    bool is_int;
    __int128 i;
    double f;
    Span span;
} Number;

enum { MAX_VALUES = 2 };

typedef struct Spec {
    Ctx *ctx;
    Str text;
    uint32_t file, offset;
    size_t at;
    const char *name;
    unsigned nvalues;
    Number values[MAX_VALUES];
    Random random;
    HostArray array;
} Spec;

typedef bool Generate(Spec *spec);

#define GENERATOR(name, ...) static Generate generate_##name;
#include "runtime/data/generators.def"

static const struct {
    const char *name;
    unsigned fewest, most;
    const char *arguments;
    Generate *generate;
} generators[] = {
#define GENERATOR(name, fewest, most, arguments, summary)                                          \
    {#name, fewest, most, arguments, generate_##name},
#include "runtime/data/generators.def"
};

enum { NGENERATORS = sizeof generators / sizeof *generators };

static Span span_from(const Spec *s, size_t lo) {
    return (Span){s->file, s->offset + (uint32_t)lo, s->offset + (uint32_t)s->at};
}

static char peek(Spec *s) {
    while (s->at < s->text.len && s->text.ptr[s->at] == ' ')
        s->at++;
    return s->at < s->text.len ? s->text.ptr[s->at] : 0;
}

static bool syntax_error(Spec *s, const char *wanted) {
    peek(s);
    size_t lo = s->at;
    s->at += s->at < s->text.len;
    const char *found = "the end";
    if (lo < s->text.len)
        found = str_format(&s->ctx->arena, "'%c'", s->text.ptr[lo]);
    return ctx_diag(s->ctx, span_from(s, lo), generate_syntax, found, wanted);
}

static bool accept(Spec *s, char c) {
    if (peek(s) != c)
        return false;
    s->at++;
    return true;
}

static bool expect(Spec *s, char c, const char *wanted) {
    return accept(s, c) || syntax_error(s, wanted);
}

/* Letters, digits, underscores and what numbers have besides. */
static Str scan_word(Spec *s, const char *also) {
    peek(s);
    size_t lo = s->at;
    for (; s->at < s->text.len; s->at++) {
        char c = s->text.ptr[s->at];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || (c && strchr(also, c));
        if (!letter)
            break;
    }
    return (Str){s->text.ptr + lo, s->at - lo};
}

/* Decimal digits with an optional sign, up to 20 of them: more than any element type holds. */
static bool read_integer(Str word, __int128 *value) {
    bool negative = word.len && word.ptr[0] == '-';
    *value = 0;
    if (word.len == negative || word.len > 20 + (size_t)negative)
        return false;
    for (size_t i = negative; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9')
            return false;
        *value = *value * 10 + (word.ptr[i] - '0');
    }
    if (negative)
        *value = -*value;
    return true;
}

static bool parse_number(Spec *s, Number *number) {
    peek(s);
    size_t lo = s->at;
    Str word = scan_word(s, "+-.");
    char *end, *text = str_dup(&s->ctx->arena, word);
    *number = (Number){.span = span_from(s, lo)};
    number->is_int = read_integer(word, &number->i);
    number->f = number->is_int ? (double)number->i : strtod(text, &end);
    if (number->is_int || (word.len && *end == 0))
        return true;
    s->at = lo;
    return syntax_error(s, "a number");
}

/* At the word `seed` in front of `=`. */
static bool parse_seed(Spec *s) {
    Number seed;
    s->at += 4;
    if (!expect(s, '=', "'=' and an integer") || !parse_number(s, &seed))
        return false;
    if (!seed.is_int || seed.i < 0 || seed.i > UINT64_MAX)
        return ctx_diag(s->ctx, seed.span, generate_value, "the seed",
                        "an unsigned 64-bit integer");
    s->random.seed = (uint64_t)seed.i;
    return true;
}

static bool at_seed(Spec *s) {
    peek(s);
    return s->text.len - s->at >= 4 && memcmp(s->text.ptr + s->at, "seed", 4) == 0;
}

static bool parse_values(Spec *s, const char *arguments, unsigned fewest, unsigned most) {
    size_t lo = s->at;
    if (accept(s, '(') && !accept(s, ')')) {
        for (;;) {
            Number number;
            bool seed = at_seed(s);
            if (seed ? !parse_seed(s) : !parse_number(s, &number))
                return false;
            if (!seed && s->nvalues < MAX_VALUES)
                s->values[s->nvalues] = number;
            s->nvalues += !seed;
            if (seed || !accept(s, ','))
                break;
        }
        if (!expect(s, ')', "',' or ')'"))
            return false;
    }
    if (s->nvalues >= fewest && s->nvalues <= most)
        return true;
    return ctx_diag(s->ctx, span_from(s, lo), generate_arguments, s->name, arguments, s->nvalues);
}

static bool parse_type(Spec *s) {
    peek(s);
    size_t lo = s->at;
    ScalarType type;
    Str word = scan_word(s, "*");
    if (scalar_parse(word, &type) && !type.pointer) {
        s->array.elem = type.elem;
        return true;
    }
    if (!word.len)
        return syntax_error(s, "an element type such as fp32");
    ctx_diag(s->ctx, span_from(s, lo), generate_syntax,
             str_format(&s->ctx->arena, "'%.*s'", STR_ARG(word)), "an element type such as fp32");
    Str spellings[64];
    uint32_t count = scalar_spellings(spellings, 64);
    int near = str_nearest(word, spellings, count);
    if (near >= 0)
        diag_hint(&s->ctx->diags, "did you mean %.*s?", STR_ARG(spellings[near]));
    return false;
}

static bool parse_shape(Spec *s) {
    size_t lo = s->at;
    if (!expect(s, '[', "'[' and the sizes"))
        return false;
    for (s->array.rank = 0; !accept(s, ']'); s->array.rank++) {
        Number size;
        if (s->array.rank && !expect(s, ',', "',' or ']'"))
            return false;
        if (!parse_number(s, &size))
            return false;
        if (!size.is_int || size.i < 0 || size.i > INT64_MAX)
            return ctx_diag(s->ctx, size.span, generate_value, "the size",
                            "an integer of 0 or more");
        if (s->array.rank == HOST_MAX_RANK)
            return ctx_diag(s->ctx, span_from(s, lo), generate_shape,
                            "it has more than 32 dimensions");
        s->array.shape[s->array.rank] = (int64_t)size.i;
    }
    return host_array_measure(&s->array) ||
           ctx_diag(s->ctx, span_from(s, lo), generate_shape, "the array is larger than memory");
}

static int find_generator(Str name) {
    for (int i = 0; i < NGENERATORS; i++)
        if (str_is(name, generators[i].name))
            return i;
    return -1;
}

bool generate_is_generator(Str text) {
    size_t len = 0;
    while (len < text.len && text.ptr[len] >= 'a' && text.ptr[len] <= 'z')
        len++;
    return len < text.len && (text.ptr[len] == ':' || text.ptr[len] == '(') &&
           find_generator((Str){text.ptr, len}) >= 0;
}

static bool unknown_generator(Spec *s, Str name, size_t lo) {
    ctx_diag(s->ctx, span_from(s, lo), generate_unknown, STR_ARG(name));
    Str names[NGENERATORS];
    for (int i = 0; i < NGENERATORS; i++)
        names[i] = str_from(generators[i].name);
    int near = str_nearest(name, names, NGENERATORS);
    StrBuf all = strbuf(&s->ctx->arena);
    for (int i = 0; i < NGENERATORS; i++)
        strbuf_printf(&all, "%s%s", i ? ", " : "", generators[i].name);
    if (near >= 0)
        diag_hint(&s->ctx->diags, "did you mean %s?", generators[near].name);
    else
        diag_hint(&s->ctx->diags, "generators are %s", all.ptr);
    return false;
}

/* The whole description, whose generator it returns; -1 after a report. */
static int parse_spec(Spec *s) {
    peek(s);
    size_t lo = s->at;
    Str name = scan_word(s, "");
    int g = find_generator(name);
    if (g < 0) {
        unknown_generator(s, name, lo);
        return -1;
    }
    s->name = generators[g].name;
    if (!parse_values(s, generators[g].arguments, generators[g].fewest, generators[g].most) ||
        !expect(s, ':', "':' and a type") || !parse_type(s) || !parse_shape(s))
        return -1;
    if (!peek(s))
        return g;
    syntax_error(s, "nothing after the shape");
    return -1;
}

bool generate_array(Ctx *ctx, uint32_t file, uint32_t offset, Str text, uint32_t stream,
                    HostArray *array) {
    Spec s = {.ctx = ctx, .text = text, .file = file, .offset = offset, .random.stream = stream};
    const int g = parse_spec(&s);
    if (g < 0)
        return false;
    host_array_alloc(&ctx->arena, &s.array);
    if (!generators[g].generate(&s))
        return false;
    *array = s.array;
    return true;
}

bool generate_part(Ctx *ctx, uint32_t file, uint32_t offset, Str text, uint32_t stream, size_t most,
                   HostArray *array, HostArray *part) {
    Spec s = {.ctx = ctx, .text = text, .file = file, .offset = offset, .random.stream = stream};
    const int g = parse_spec(&s);
    if (g < 0)
        return false;
    *array = s.array;
    const bool is_whole = generators[g].generate == generate_arange || s.array.count < most;
    s.array.rank = 1;
    s.array.shape[0] = (int64_t)(is_whole ? array->count : most);
    if (!host_array_measure(&s.array))
        return false;
    host_array_alloc(&ctx->arena, &s.array);
    *part = s.array;
    return !s.array.count || generators[g].generate(&s);
}

/* The generators */

static bool wrong_type(Spec *s) {
    return ctx_diag(s->ctx, span_from(s, 0), generate_type, s->name, elem_info[s->array.elem].text);
}

/* The value must be one of the element type: an integer in its range, or any float. */
static bool check_value(Spec *s, const Number *number) {
    __int128 min, max;
    if (elem_is_float(s->array.elem))
        return true;
    host_elem_range(s->array.elem, &min, &max);
    if (number->is_int && number->i >= min && number->i <= max)
        return true;
    const char *type = str_format(&s->ctx->arena, "of type %s", elem_info[s->array.elem].text);
    return ctx_diag(s->ctx, number->span, generate_value, "the value", type);
}

/* Filling, on several threads where an array is large */

enum { FILL_PART = 1 << 18, FILL_THREADS = 16 };

/* Sets the elements from `lo` to below `hi`, each from its number alone. */
typedef void FillElements(Spec *s, const void *how, size_t lo, size_t hi);

typedef struct FillPart {
    Spec *spec;
    FillElements *elements;
    const void *how;
    size_t lo, hi;
} FillPart;

static void *fill_part(void *user) {
    const FillPart *part = user;
    part->elements(part->spec, part->how, part->lo, part->hi);
    return NULL;
}

static void fill(Spec *s, FillElements *elements, const void *how) {
    FillPart parts[FILL_THREADS];
    pthread_t threads[FILL_THREADS];
    bool apart[FILL_THREADS] = {false};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = processors > FILL_THREADS ? FILL_THREADS : processors > 1 ? processors : 1;
    if (count > s->array.count / FILL_PART + 1)
        count = s->array.count / FILL_PART + 1;
    for (size_t i = 0; i < count; i++) {
        const size_t share = s->array.count / count;
        parts[i] = (FillPart){s, elements, how, i * share,
                              i + 1 == count ? s->array.count : (i + 1) * share};
        apart[i] = i + 1 < count && !pthread_create(&threads[i], NULL, fill_part, &parts[i]);
        if (!apart[i])
            fill_part(&parts[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (apart[i])
            pthread_join(threads[i], NULL);
}

static void set_same(Spec *s, const void *how, size_t lo, size_t hi) {
    const Number *number = how;
    for (size_t i = lo; i < hi; i++)
        if (elem_is_float(s->array.elem))
            host_array_set_float(&s->array, i, number->f);
        else
            host_array_set_int(&s->array, i, number->i);
}

static void set_all(Spec *s, const Number *number) {
    fill(s, set_same, number);
}

static Number number_of(int value) {
    return (Number){.is_int = true, .i = value, .f = value};
}

static bool generate_zeros(Spec *s) {
    return true;
}

static bool generate_ones(Spec *s) {
    Number one = number_of(1);
    set_all(s, &one);
    return true;
}

static bool generate_full(Spec *s) {
    if (!check_value(s, &s->values[0]))
        return false;
    set_all(s, &s->values[0]);
    return true;
}

static bool generate_arange(Spec *s) {
    Number start = s->nvalues > 0 ? s->values[0] : number_of(0);
    Number step = s->nvalues > 1 ? s->values[1] : number_of(1);
    if (elem_is_float(s->array.elem)) {
        for (size_t i = 0; i < s->array.count; i++)
            host_array_set_float(&s->array, i, start.f + (double)i * step.f);
        return true;
    }
    if (!check_value(s, &start) || (!step.is_int && !check_value(s, &step)))
        return false;
    /* The array exists, so that its count is far below 2^62: the product does not overflow. */
    Number last = {.is_int = true, .i = step.i, .span = span_from(s, 0)};
    size_t steps = s->array.count ? s->array.count - 1 : 0;
    if (step.i >= -((__int128)1 << 64) && step.i <= (__int128)1 << 64)
        last.i = start.i + (__int128)steps * step.i;
    if (steps > 0 && !check_value(s, &last))
        return false;
    for (size_t i = 0; i < s->array.count; i++)
        host_array_set_int(&s->array, i, start.i + (__int128)i * step.i);
    return true;
}

typedef struct Uniform {
    double low, high;
    int bits;
} Uniform;

static void set_uniform(Spec *s, const void *how, size_t lo, size_t hi) {
    const Uniform *u = how;
    for (size_t i = lo; i < hi; i++) {
        uint64_t words[2];
        random_words(&s->random, i, words);
        host_array_set_float(&s->array, i,
                             u->low + (u->high - u->low) * unit_interval(words[0], u->bits));
    }
}

/* As many random bits as the type holds in [0.5, 1), so that no value rounds to the upper bound of
 * the unit interval. */
static bool generate_rand(Spec *s) {
    if (!elem_is_float(s->array.elem)) {
        wrong_type(s);
        diag_hint(&s->ctx->diags, "randint(0, 100):%s[..] makes integers",
                  elem_info[s->array.elem].text);
        return false;
    }
    const Uniform uniform = {s->nvalues > 0 ? s->values[0].f : 0,
                             s->nvalues > 1 ? s->values[1].f : 1,
                             elem_info[s->array.elem].mantissa + 1};
    fill(s, set_uniform, &uniform);
    return true;
}

typedef struct Normal {
    double mean, deviation;
} Normal;

/* Box and Muller; the radius takes 1 - u, which is never 0. */
static void set_normal(Spec *s, const void *how, size_t lo, size_t hi) {
    static const double two_pi = 6.283185307179586;
    const Normal *n = how;
    for (size_t i = lo; i < hi; i++) {
        uint64_t words[2];
        random_words(&s->random, i, words);
        double radius = sqrt(-2 * log(1 - unit_interval(words[0], 53)));
        double angle = two_pi * unit_interval(words[1], 53);
        host_array_set_float(&s->array, i, n->mean + n->deviation * radius * cos(angle));
    }
}

static bool generate_randn(Spec *s) {
    if (!elem_is_float(s->array.elem))
        return wrong_type(s);
    const Normal normal = {s->nvalues > 0 ? s->values[0].f : 0,
                           s->nvalues > 1 ? s->values[1].f : 1};
    fill(s, set_normal, &normal);
    return true;
}

typedef struct Integers {
    __int128 low;
    unsigned __int128 range;
} Integers;

/* The high half of range * word: its bias is below 2^-64 of the range. */
static void set_integers(Spec *s, const void *how, size_t lo, size_t hi) {
    const Integers *n = how;
    for (size_t i = lo; i < hi; i++) {
        uint64_t words[2];
        random_words(&s->random, i, words);
        uint64_t offset = n->range >> 64 ? words[0] : (uint64_t)(n->range * words[0] >> 64);
        host_array_set_int(&s->array, i, n->low + offset);
    }
}

static bool generate_randint(Spec *s) {
    if (elem_is_float(s->array.elem))
        return wrong_type(s);
    Number *low = &s->values[0], *high = &s->values[1], last = *high;
    last.i--;
    if (!check_value(s, low) || !check_value(s, &last))
        return false;
    if (high->i <= low->i)
        return ctx_diag(s->ctx, high->span, generate_value, "the upper bound",
                        "above the lower bound");
    const Integers integers = {low->i, (unsigned __int128)(high->i - low->i)};
    fill(s, set_integers, &integers);
    return true;
}
