/* See nearest.h. A key is taken apart at its commas, which stand neither in a string nor in
 * parentheses: items of "name=value". */
#include "runtime/tune/nearest.h"

#include <math.h>
#include <stdlib.h>

typedef VEC(Str) Items;

/* The best of a key so far. */
typedef struct Known {
    Str key;
    Items items;
    double distance;
    uint32_t config;
    double ms;
} Known;

typedef struct Search {
    Ctx *ctx;
    const NearestQuestion *question;
    Items asked;
    TuneEntry subject; /* of no configuration */
    VEC(Known) known;
} Search;

static Items take_apart(Arena *arena, Str key) {
    Items items = {0};
    int depth = 0;
    char quote = 0;
    size_t begin = 0;
    for (size_t i = 0; i < key.len; i++) {
        const char c = key.ptr[i];
        if (quote) {
            i += c == '\\';
            quote = c == quote ? 0 : quote;
            continue;
        }
        if (c == '\'' || c == '"')
            quote = c;
        depth += (c == '(') - (c == ')');
        if (c == ',' && !depth) {
            const Str item = {key.ptr + begin, i - begin};
            vec_push(arena, &items, item);
            begin = i + 2; /* and the space */
        }
    }
    const Str last = {key.ptr + begin, begin < key.len ? key.len - begin : 0};
    vec_push(arena, &items, last);
    return items;
}

/* The number of an item, which begins behind its '='. */
static bool number_of(Arena *arena, Str item, double *number) {
    const char *equal = item.len ? memchr(item.ptr, '=', item.len) : NULL;
    if (!equal)
        return false;
    const char *text = str_dup(arena, (Str){equal + 1, item.len - (size_t)(equal + 1 - item.ptr)});
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && isfinite(*number);
}

static bool same_name(Str a, Str b) {
    const char *end = a.len ? memchr(a.ptr, '=', a.len) : NULL;
    const size_t len = end ? (size_t)(end - a.ptr) + 1 : 0;
    return len && b.len >= len && !memcmp(a.ptr, b.ptr, len);
}

/* Infinite: they do not compare. */
static double distance_of(Arena *arena, const Items *a, const Items *b) {
    double distance = 0;
    if (a->len != b->len)
        return INFINITY;
    for (size_t i = 0; i < a->len; i++) {
        double x, y;
        if (str_eq(a->data[i], b->data[i]))
            continue;
        if (!same_name(a->data[i], b->data[i]) || !number_of(arena, a->data[i], &x) ||
            !number_of(arena, b->data[i], &y) || !(x * y > 0))
            return INFINITY;
        distance += fabs(log2(x / y));
    }
    return distance;
}

/* Of two that compare: the first number that differs is smaller. */
static bool is_smaller(Arena *arena, const Items *a, const Items *b) {
    for (size_t i = 0; i < a->len; i++) {
        double x, y;
        if (number_of(arena, a->data[i], &x) && number_of(arena, b->data[i], &y) && x != y)
            return x < y;
    }
    return false;
}

static void add(Search *s, Str key, const char *config, double ms) {
    Arena *arena = &s->ctx->arena;
    const NearestQuestion *q = s->question;
    uint32_t at = 0;
    while (at < q->config_count && (!q->configs[at] || strcmp(q->configs[at], config) != 0))
        at++;
    if (at == q->config_count)
        return;
    vec_for_each (known, &s->known) {
        if (!str_eq(known->key, key))
            continue;
        if (ms < known->ms) {
            known->ms = ms;
            known->config = at;
        }
        return;
    }
    Known known = {.key = str_keep(arena, key), .config = at, .ms = ms};
    known.items = take_apart(arena, known.key);
    known.distance = distance_of(arena, &known.items, &s->asked);
    if (isfinite(known.distance))
        vec_push(arena, &s->known, known);
}

/* The folder is open here: a jump goes by the arena that is given. */
static void consider(void *user, Arena *scratch, const TuneEntry *entry) {
    Search *s = user;
    for (int i = 0; i < TUNE_FIELD_COUNT; i++)
        if (i != TUNE_key && i != TUNE_config && !str_eq(entry->fields[i], s->subject.fields[i]))
            return;
    if (!isfinite(entry->record.ms))
        return;
    s->ctx->arena.oom = scratch->oom;
    add(s, entry->fields[TUNE_key], str_dup(scratch, entry->fields[TUNE_config]), entry->record.ms);
}

bool nearest_find(Ctx *ctx, const NearestQuestion *question, Nearest *nearest) {
    Search s = {.ctx = ctx, .question = question};
    jmp_buf *outer = ctx->arena.oom;
    s.subject = tune_entry(&ctx->arena, question->subject, "");
    s.asked = take_apart(&ctx->arena, question->subject->key);
    tune_visit(question->cache, &ctx->scratch, consider, &s);
    ctx->arena.oom = outer;
    arena_check(&ctx->arena);
    for (uint32_t i = 0; i < question->chosen_count; i++)
        add(&s, question->chosen[i].key, question->chosen[i].config, 0);
    const Known *best = NULL;
    vec_for_each (known, &s.known)
        if (!best || known->distance < best->distance ||
            (known->distance == best->distance &&
             is_smaller(&ctx->arena, &known->items, &best->items)))
            best = known;
    if (best)
        *nearest = (Nearest){.key = best->key, .config = best->config};
    return best != NULL;
}
