/* See search.h. The syntax of the source at hand and the places in it lie in the context's scratch
 * arena, what is tried above them; only what is found moves to its arena. */
#include "reduce/search.h"

#include "reduce/arguments.h"
#include "reduce/edits.h"
#include "runtime/status.h"
#include "support/file.h"
#include "support/sha256.h"

enum { SOURCE_LIMIT = 64 << 20 };

typedef struct Seen {
    unsigned char (*digests)[SHA256_SIZE];
    size_t len, cap; /* cap is a power of two, or 0; digests of zeros are free */
} Seen;

/* Of the source and of the command, in this order. */
typedef struct Size {
    double part[MEASURE_PARTS + ARGUMENT_PARTS];
} Size;

typedef struct Search {
    Ctx *ctx;
    const ReduceRequest *request;
    Probe probe;
    Str text; /* the least so far */
    Words words;
    Size size;
    uint32_t mistakes;
    ReduceSize first;
    Seen seen;
    const char *kind;
    bool stopped; /* after a report */
} Search;

/* ---- what was run before ---- */

static bool is_free(const unsigned char *digest) {
    static const unsigned char zeros[SHA256_SIZE];
    return !memcmp(digest, zeros, SHA256_SIZE);
}

static unsigned char *slot_of(const Seen *seen, const unsigned char *digest) {
    size_t hash;
    memcpy(&hash, digest, sizeof hash);
    for (size_t i = hash & (seen->cap - 1);; i = (i + 1) & (seen->cap - 1))
        if (is_free(seen->digests[i]) || !memcmp(seen->digests[i], digest, SHA256_SIZE))
            return seen->digests[i];
}

static void grow(Arena *arena, Seen *seen) {
    enum { FIRST_CAP = 1024 };
    Seen larger = {.len = seen->len, .cap = seen->cap ? 2 * seen->cap : FIRST_CAP};
    larger.digests = arena_array(arena, larger.cap, SHA256_SIZE);
    for (size_t i = 0; i < seen->cap; i++)
        if (!is_free(seen->digests[i]))
            memcpy(slot_of(&larger, seen->digests[i]), seen->digests[i], SHA256_SIZE);
    *seen = larger;
}

/* Adds it; whether it was there. */
static bool was_run(Search *s, Str text, const Words *words) {
    unsigned char digest[SHA256_SIZE];
    StrBuf all = strbuf(&s->ctx->scratch);
    for (size_t i = 0; i < words->len; i++)
        strbuf_add(&all, words->data[i], strlen(words->data[i]) + 1);
    strbuf_add(&all, text.ptr, text.len);
    sha256(strbuf_str(&all), digest);
    if (2 * s->seen.len >= s->seen.cap)
        grow(&s->ctx->arena, &s->seen);
    unsigned char *slot = slot_of(&s->seen, digest);
    if (!is_free(slot))
        return true;
    memcpy(slot, digest, SHA256_SIZE);
    s->seen.len++;
    return false;
}

/* ---- one candidate ---- */

static Size size_of(const Syntax *syntax, const Words *words) {
    Size size;
    const Measure measure = syntax_measure(syntax);
    memcpy(size.part, measure.part, sizeof measure.part);
    arguments_measure(words, size.part + MEASURE_PARTS);
    return size;
}

/* Neither the source nor the command becomes larger, and one of them smaller. */
static bool is_smaller(const Size *a, const Size *b) {
    enum { SOURCE = MEASURE_PARTS, ALL = MEASURE_PARTS + ARGUMENT_PARTS };
    int source = 0, command = 0;
    for (int i = 0; i < SOURCE && !source; i++)
        source = (a->part[i] > b->part[i]) - (a->part[i] < b->part[i]);
    for (int i = SOURCE; i < ALL && !command; i++)
        command = (a->part[i] > b->part[i]) - (a->part[i] < b->part[i]);
    return source <= 0 && command <= 0 && (source < 0 || command < 0);
}

static ReduceSize size_in_lines(Str text) {
    ReduceSize size = {.bytes = text.len};
    for (size_t i = 0; i < text.len; i++)
        size.lines += text.ptr[i] == '\n' || i + 1 == text.len;
    return size;
}

static bool tell(Search *s, bool improved) {
    const ReduceStep step = {.kind = s->kind,
                             .text = s->text,
                             .words = &s->words,
                             .first = s->first,
                             .now = size_in_lines(s->text),
                             .runs = s->probe.runs,
                             .improved = improved};
    s->stopped |= !s->request->step(s->request->user, &step);
    return !s->stopped;
}

static void keep(Search *s, Str text, const Words *words, const Size *size, uint32_t mistakes) {
    Arena *arena = &s->ctx->arena;
    Words kept = {0};
    for (size_t i = 0; i < words->len; i++)
        vec_push(arena, &kept, str_dup(arena, str_from(words->data[i])));
    s->text = str_keep(arena, text);
    s->words = kept;
    s->size = *size;
    s->mistakes = mistakes;
    tell(s, true);
}

static bool try_candidate(Search *s, Str text, const Words *words) {
    Syntax syntax;
    ProbeEnd end;
    syntax_read(&s->ctx->scratch, text, &syntax);
    const Size size = size_of(&syntax, words);
    if (syntax.mistakes > s->mistakes || !is_smaller(&size, &s->size) || was_run(s, text, words))
        return false;
    if (!probe_run(&s->probe, text, words, &end)) {
        s->stopped = true;
        return false;
    }
    if (!probe_is_wanted(&s->probe, &end))
        return false;
    keep(s, text, words, &size, syntax.mistakes);
    return true;
}

/* Whether the source with the edit is kept; where its parameter's arguments go with it, they do. */
static bool try_edit(Search *s, const Edit *edit) {
    Arena *arena = &s->ctx->scratch;
    const ArenaMark mark = arena_mark(arena);
    const Str text = edits_apply(arena, s->text, edit);
    Words without;
    bool kept = try_candidate(s, text, &s->words);
    if (!kept && !s->stopped && s->request->arguments && edit->parameter.len &&
        arguments_without(arena, &s->words, edit->parameter, edit->parameter_index, &without))
        kept = try_candidate(s, text, &without);
    arena_rewind(arena, mark);
    return kept;
}

/* ---- kinds of edits ---- */

/* The source at hand, and where it may be changed. */
typedef struct Base {
    ArenaMark mark;
    Syntax syntax;
    Places places;
} Base;

static void read_base(Search *s, EditKind kind, Base *base) {
    arena_rewind(&s->ctx->scratch, base->mark);
    syntax_read(&s->ctx->scratch, s->text, &base->syntax);
    edits_find(&base->syntax, kind, &base->places);
}

static bool try_part(Search *s, const Place *place, size_t begin, size_t end) {
    Edit edit;
    return edits_delete(&s->ctx->scratch, place, begin, end, &edit) && try_edit(s, &edit);
}

/* Leaves out ever smaller parts of the list at `index`, the last ones first: what others need
 * stands in front of them. */
static bool reduce_list(Search *s, EditKind kind, Base *base, size_t index) {
    bool changed = false;
    size_t part = base->places.data[index].items.len;
    while (part && !s->stopped) {
        size_t end = base->places.data[index].items.len;
        while (end && !s->stopped) {
            const size_t begin = end > part ? end - part : 0;
            if (try_part(s, &base->places.data[index], begin, end)) {
                changed = true;
                read_base(s, kind, base);
                if (index >= base->places.len)
                    return true;
                const size_t left = base->places.data[index].items.len;
                end = begin < left ? begin : left;
            } else {
                end = begin;
            }
        }
        part /= 2;
    }
    return changed;
}

static bool try_choices(Search *s, const Place *place) {
    for (size_t i = 0; i < place->choices.len && !s->stopped; i++)
        if (try_edit(s, &place->choices.data[i]))
            return true;
    return false;
}

static bool reduce_kind(Search *s, EditKind kind) {
    bool changed = false;
    Base base = {.mark = arena_mark(&s->ctx->scratch)};
    s->kind = edits_name[kind];
    read_base(s, kind, &base);
    for (size_t i = 0; i < base.places.len && !s->stopped;) {
        if (base.places.data[i].items.len) {
            changed |= reduce_list(s, kind, &base, i++);
        } else if (try_choices(s, &base.places.data[i])) {
            changed = true;
            read_base(s, kind, &base); /* what is there now is tried again */
        } else {
            i++;
        }
    }
    arena_rewind(&s->ctx->scratch, base.mark);
    return !s->stopped && tell(s, false) && changed;
}

static bool try_words(Search *s, const Words *words) {
    const ArenaMark mark = arena_mark(&s->ctx->scratch);
    const bool kept = try_candidate(s, s->text, words);
    arena_rewind(&s->ctx->scratch, mark);
    return kept;
}

static bool reduce_arguments(Search *s) {
    Arena *arena = &s->ctx->scratch;
    const ArenaMark mark = arena_mark(arena);
    bool changed = false;
    size_t i = 0;
    s->kind = "command";
    for (;;) {
        WordsList list = {0};
        arena_rewind(arena, mark);
        arguments_smaller(arena, &s->words, &list);
        while (i < list.len && !s->stopped && !try_words(s, &list.data[i]))
            i++;
        if (i >= list.len || s->stopped)
            break;
        changed = true;
    }
    arena_rewind(arena, mark);
    return !s->stopped && tell(s, false) && changed;
}

/* Names are changed at the end: nothing else depends on what they are. */
static void reduce_all(Search *s) {
    for (bool changed = true; changed && !s->stopped;) {
        changed = false;
        for (int kind = 0; kind < EDITS_NAMES && !s->stopped; kind++)
            changed |= reduce_kind(s, (EditKind)kind);
        if (s->request->arguments && !s->stopped)
            changed |= reduce_arguments(s);
    }
    if (!s->stopped)
        reduce_kind(s, EDITS_NAMES);
}

/* ---- the first run ---- */

static bool run_first(Search *s) {
    Ctx *ctx = s->ctx;
    Syntax syntax;
    ProbeEnd end;
    const ArenaMark mark = arena_mark(&ctx->scratch);
    syntax_read(&ctx->scratch, s->text, &syntax);
    s->size = size_of(&syntax, &s->words);
    s->mistakes = syntax.mistakes;
    was_run(s, s->text, &s->words);
    arena_rewind(&ctx->scratch, mark);
    if (!probe_run(&s->probe, s->text, &s->words, &end))
        return false;
    s->probe.wanted = end;
    if (!end.matched)
        return ctx_diag(ctx, (Span){0}, reduce_unmatched, s->request->match);
    if (end.exit_code == 0 && !s->request->match) {
        ctx_diag(ctx, (Span){0}, reduce_succeeds);
        diag_hint(&ctx->diags, "--match REGEX asks for something in its output");
        return false;
    }
    s->first = size_in_lines(s->text);
    s->kind = "source";
    return tell(s, true);
}

static bool search_in_folder(Ctx *ctx, const WorkFolder *folder, void *user) {
    Search *s = user;
    const char *path = s->request->path;
    s->probe.file = work_file(ctx, folder, str_dup(&ctx->arena, file_name(str_from(path))));
    const int error = probe_link_neighbours(ctx, path, folder);
    if (error)
        return report_unreadable(&ctx->diags, path, error);
    if (!run_first(s))
        return false;
    reduce_all(s);
    return !s->stopped;
}

typedef struct Matching {
    Search search;
    regex_t pattern;
    bool ok;
} Matching;

static void search_with_pattern(void *user) {
    Matching *m = user;
    m->ok = work_folder_use(m->search.ctx, search_in_folder, &m->search);
}

static void free_pattern(void *user) {
    Matching *m = user;
    if (m->search.probe.pattern)
        regfree(&m->pattern);
}

static bool compile_pattern(Ctx *ctx, const char *match, Matching *m) {
    char text[256];
    const int error = regcomp(&m->pattern, match, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
    m->search.probe.pattern = error ? NULL : &m->pattern;
    if (!error)
        return true;
    regerror(error, &m->pattern, text, sizeof text);
    return ctx_diag(ctx, (Span){0}, reduce_pattern, match, text);
}

bool reduce_search(Ctx *ctx, const ReduceRequest *request) {
    Matching m = {.search = {.ctx = ctx, .request = request}};
    Search *s = &m.search;
    s->probe = (Probe){.ctx = ctx, .timeout_ms = request->timeout_ms};
    const int error = file_read(&ctx->arena, request->path, SOURCE_LIMIT, &s->text);
    if (error)
        return report_unreadable(&ctx->diags, request->path, error);
    s->words = *request->command;
    s->probe.program = probe_find_program(ctx, request->command->data[0]);
    if (!s->probe.program || (request->match && !compile_pattern(ctx, request->match, &m)))
        return false;
    ctx_finally(ctx, search_with_pattern, free_pattern, &m);
    return m.ok;
}
