/* See missing.h.
 *
 * An entry has the text of its key, lines of "word value" (recall.c). Those of parameters
 * (signature, type NAME, define NAME) are brought to one form, as a call would ask for them, and
 * compared one by one; the others by their words. Nearest is what differs least. Of the first
 * parameter that differs all values are said that are there and as near. */
#include "runtime/compile/missing.h"

#include "runtime/launch/variants.h"

typedef struct KeyLine {
    Str word, value;
} KeyLine;

/* A key, taken apart. */
typedef struct KeyParts {
    ElaborateRequest kernel; /* names, signature, types, defines */
    VEC(NamedText) types, defines;
    VEC(KeyLine) others;
} KeyParts;

/* Lines beside parameters: LINE(word of the key, what it is called, weight). What weighs more is
 * farther away: another option of the same source is nearer than another source. */
#define KEY_LINES(LINE)                                                                            \
    LINE(target, "target", 2)                                                                      \
    LINE(warps, "num_warps", 2)                                                                    \
    LINE(stages, "num_stages", 2)                                                                  \
    LINE(ctas, "num_ctas", 2)                                                                      \
    LINE(registers, "max_registers", 2)                                                            \
    LINE(shared, "max_shared", 2)                                                                  \
    LINE(lines, "line info", 2)                                                                    \
    LINE(llvm_level, "LLVM's level", 2)                                                            \
    LINE(debug, "debug", 2)                                                                        \
    LINE(no_tensor_copies, "no_tensor_copies", 2)                                                  \
    LINE(no_persistence, "no_persistence", 2)                                                      \
    LINE(in_place, "in_place", 2)                                                                  \
    LINE(plain_abi, "plain_abi", 2)                                                                \
    LINE(no_fp_fusion, "no_fp_fusion", 2)                                                          \
    LINE(sanitize_overflow, "sanitize_overflow", 2)                                                \
    LINE(no_ftz, "no_ftz", 2)                                                                      \
    LINE(deterministic, "deterministic", 2)                                                        \
    LINE(language, "language", 2)                                                                  \
    LINE(entry_name, "entry_name", 2)                                                              \
    LINE(name, "the source's name", 3)                                                             \
    LINE(source, "the source's text (bytes, hash)", 3)                                             \
    LINE(assembler, "the assembler", 3)                                                            \
    LINE(llvm, "LLVM", 3)                                                                          \
    LINE(compiler, "the compiler", 3)

static const struct KeyWord {
    const char *word, *called;
    unsigned weight;
} key_words[] = {
#define KEY_LINE(word, called, weight) {#word, called, weight},
    KEY_LINES(KEY_LINE)
#undef KEY_LINE
};

enum { KEY_WORDS = sizeof key_words / sizeof *key_words, PARAM_WEIGHT = 2 };

typedef struct Nearest {
    unsigned distance;
    uint32_t first; /* the first parameter that differs; the kernel's number of them: none does */
    Str rest;       /* the other differences, in words */
    StrBuf wanted;  /* values of the first one */
    bool is_there;
} Nearest;

typedef struct Search {
    Ctx *ctx;
    const FuncDef *def;
    KeyParts asked;
    Nearest nearest;
} Search;

static Str take(Str *rest, char end) {
    const char *at = rest->len ? memchr(rest->ptr, end, rest->len) : NULL;
    const size_t len = at ? (size_t)(at - rest->ptr) : rest->len;
    const Str taken = {rest->ptr, len},
              left = {rest->ptr + len + (at != NULL), rest->len - len - (at != NULL)};
    *rest = left;
    return taken;
}

/* What a JSON string of a key stands for. Characters that are written by their number stay so on
 * both sides. */
static Str unquote(Arena *arena, Str json) {
    if (json.len < 2 || json.ptr[0] != '"')
        return json;
    StrBuf text = strbuf(arena);
    for (size_t i = 1; i + 1 < json.len; i++) {
        const bool is_escaped = json.ptr[i] == '\\' && i + 2 < json.len && json.ptr[i + 1] != 'u';
        i += is_escaped;
        const char c = json.ptr[i];
        strbuf_putc(&text, !is_escaped ? c
                           : c == 'n'  ? '\n'
                           : c == 't'  ? '\t'
                           : c == 'r'  ? '\r'
                                       : c);
    }
    return strbuf_str(&text);
}

/* False: it is a key of something else. */
static bool take_apart(Arena *arena, Str key, KeyParts *parts) {
    *parts = (KeyParts){0};
    bool has_source = false;
    while (key.len) {
        Str line = take(&key, '\n');
        const Str word = take(&line, ' ');
        has_source |= str_is(word, "source");
        if (str_is(word, "type") || str_is(word, "define")) {
            const Str name = take(&line, ' ');
            const NamedText named = {name, unquote(arena, line)};
            if (str_is(word, "type"))
                vec_push(arena, &parts->types, named);
            else
                vec_push(arena, &parts->defines, named);
        } else if (str_is(word, "signature")) {
            parts->kernel.signature = unquote(arena, line);
        } else if (str_is(word, "kernel")) {
            parts->kernel.kernel = unquote(arena, line);
        } else {
            const KeyLine other = {word, unquote(arena, line)};
            vec_push(arena, &parts->others, other);
        }
    }
    parts->kernel.types = parts->types.data;
    parts->kernel.type_count = (uint32_t)parts->types.len;
    parts->kernel.defines = parts->defines.data;
    parts->kernel.define_count = (uint32_t)parts->defines.len;
    return has_source;
}

/* In the form that a call asks in; false: it is another kernel's. */
static bool read_key(Search *s, Str key, KeyParts *parts) {
    if (!take_apart(&s->ctx->arena, key, parts) ||
        (parts->kernel.kernel.len && !str_eq(parts->kernel.kernel, s->def->name)))
        return false;
    const ElaborateRequest given = parts->kernel;
    return frontend_by_name(s->ctx, s->def, &given, &parts->kernel);
}

static const char *param_text(Arena *arena, const ElaborateRequest *kernel, Str name) {
    for (uint32_t i = 0; i < kernel->define_count; i++)
        if (str_eq(kernel->defines[i].name, name))
            return str_format(arena, "the constexpr %.*s", STR_ARG(kernel->defines[i].text));
    for (uint32_t i = 0; i < kernel->type_count; i++)
        if (str_eq(kernel->types[i].name, name))
            return str_dup(arena, kernel->types[i].text);
    return "left out";
}

static Str line_of(const KeyParts *parts, const char *word) {
    vec_for_each (line, &parts->others)
        if (str_is(line->word, word))
            return line->value;
    return STR("");
}

static void add_difference(StrBuf *out, const char *what, const char *is, const char *there) {
    strbuf_printf(out, "%s%s is %s, wanted %s", out->len ? "; " : "", what, *is ? is : "none",
                  *there ? there : "none");
}

/* How far the entry is; `first` with what it has there. */
static unsigned compare(Search *s, const KeyParts *entry, uint32_t *first, const char **has,
                        StrBuf *rest) {
    Arena *arena = &s->ctx->arena;
    unsigned distance = 0;
    *first = s->def->param_count;
    for (uint32_t i = 0; i < s->def->param_count; i++) {
        const Str name = s->def->params[i].name;
        const char *asked = param_text(arena, &s->asked.kernel, name);
        const char *there = param_text(arena, &entry->kernel, name);
        if (!strcmp(asked, there))
            continue;
        distance += PARAM_WEIGHT;
        if (*first == s->def->param_count) {
            *first = i;
            *has = there;
        } else {
            add_difference(rest, str_format(arena, "'%.*s'", STR_ARG(name)), asked, there);
        }
    }
    for (int i = 0; i < KEY_WORDS; i++) {
        const Str asked = line_of(&s->asked, key_words[i].word);
        const Str there = line_of(entry, key_words[i].word);
        if (str_eq(asked, there))
            continue;
        distance += key_words[i].weight;
        add_difference(rest, key_words[i].called, str_dup(arena, asked), str_dup(arena, there));
    }
    return distance;
}

static void consider(Search *s, Str key) {
    KeyParts entry;
    uint32_t first;
    const char *has = "";
    StrBuf rest = strbuf(&s->ctx->arena);
    Nearest *nearest = &s->nearest;
    if (!read_key(s, key, &entry))
        return;
    const unsigned distance = compare(s, &entry, &first, &has, &rest);
    if (nearest->is_there &&
        (distance > nearest->distance ||
         (distance == nearest->distance && (first != nearest->first || rest.len))))
        return;
    if (!nearest->is_there || distance < nearest->distance)
        *nearest = (Nearest){distance, first, strbuf_str(&rest), strbuf(&s->ctx->arena), true};
    if (first < s->def->param_count)
        wanted_add(&nearest->wanted, has);
}

/* Subfolders are open here, which a jump of the scratch arena closes. */
static void visit(void *user, Arena *scratch, const CacheEntry *entry, CacheSection *sections) {
    Search *s = user;
    (void)sections;
    if (entry->state != CACHE_HIT || entry->is_reference)
        return;
    s->ctx->arena.oom = scratch->oom;
    consider(s, entry->key);
}

static void search_folders(Search *s, Cache *cache) {
    jmp_buf *outer = s->ctx->arena.oom;
    for (uint32_t layer = cache->folder ? 0 : 1; layer <= cache->trusted_count; layer++) {
        cache_visit(cache, &s->ctx->scratch, layer, NULL, 0, visit, s); /* what cannot be read has
                                                                           nothing */
        s->ctx->arena.oom = outer;
        arena_check(&s->ctx->arena);
    }
}

static const char *describe(Search *s) {
    Arena *arena = &s->ctx->arena;
    const Nearest *nearest = &s->nearest;
    if (!nearest->is_there)
        return "the caches' folders have nothing of it";
    if (!nearest->distance)
        return "what is there was made of other imported files, or asked for in other words";
    if (nearest->first == s->def->param_count)
        return nearest->rest.ptr;
    const Str name = s->def->params[nearest->first].name;
    return str_format(arena, "'%.*s' is %s, wanted %s%s%.*s", STR_ARG(name),
                      param_text(arena, &s->asked.kernel, name), nearest->wanted.ptr,
                      nearest->rest.len ? "; " : "", STR_ARG(nearest->rest));
}

bool missing_report(Ctx *ctx, const CompileRequest *request, const Missing *missing) {
    Search s = {.ctx = ctx,
                .def = frontend_find_kernel(ctx, missing->syntax, request->kernel.kernel)};
    if (!s.def)
        return false;
    const char *text = "what is there was not compared";
    if (request->explains && read_key(&s, missing->key, &s.asked)) {
        search_folders(&s, request->cache);
        text = describe(&s);
    }
    return ctx_diag(ctx, s.def->name_span, not_compiled, STR_ARG(s.def->name), text);
}

bool missing_report_uncached(Ctx *ctx, const CompileRequest *request) {
    const Str name = request->kernel.kernel.len ? request->kernel.kernel : str_from(request->path);
    return ctx_diag(ctx, (Span){0}, not_compiled, STR_ARG(name),
                    request->cache && cache_is_on(request->cache)
                        ? "the cache has PTX, cubins and facts, and nothing else that is wanted"
                        : "there is no cache");
}
