/* Which line of the source a line of LLVM IR, of PTX or of machine code comes from, by what these
 * texts say of it themselves: !dbg and the metadata behind it, .file and .loc, the comments of
 * nvdisasm. */
#include "inspect/trace.h"

typedef struct Numbered {
    uint32_t file; /* of the context's sources */
    uint32_t line;
    uint32_t scope; /* of a location: the node that says the file */
} Numbered;

typedef struct Places {
    Ctx *ctx;
    VEC(Numbered) nodes; /* of LLVM's metadata, or files of PTX: by number */
} Places;

/* Scanning */

static Str next_line(Str *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    const size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    const Str line = {rest->ptr, len};
    const size_t skip = end ? len + 1 : len;
    *rest = (Str){rest->ptr + skip, rest->len - skip};
    return line;
}

/* Where `word` begins in the line; the line's length: nowhere. */
static size_t find(Str line, const char *word) {
    const size_t len = strlen(word);
    for (size_t i = 0; i + len <= line.len; i++)
        if (!memcmp(line.ptr + i, word, len))
            return i;
    return line.len;
}

/* What stands behind `word`; empty where that does not occur. */
static Str behind(Str line, const char *word) {
    const size_t at = find(line, word);
    if (at == line.len)
        return (Str){"", 0};
    const size_t skip = at + strlen(word);
    return (Str){line.ptr + skip, line.len - skip};
}

static bool take_number(Str *text, uint32_t *number) {
    size_t i = 0;
    uint64_t value = 0;
    while (i < text->len && (text->ptr[i] == ' ' || text->ptr[i] == '\t'))
        i++;
    const size_t first = i;
    for (; i < text->len && text->ptr[i] >= '0' && text->ptr[i] <= '9' && value <= UINT32_MAX; i++)
        value = 10 * value + (uint64_t)(text->ptr[i] - '0');
    if (i == first || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    *text = (Str){text->ptr + i, text->len - i};
    return true;
}

static uint32_t number_behind(Str line, const char *word) {
    Str rest = behind(line, word);
    uint32_t number = 0;
    take_number(&rest, &number);
    return number;
}

/* The text between the next two quotes; escapes stay as they are. */
static Str quoted(Str text) {
    const char *open = text.len ? memchr(text.ptr, '"', text.len) : NULL;
    if (!open)
        return (Str){"", 0};
    const size_t left = text.len - (size_t)(open + 1 - text.ptr);
    const char *close = memchr(open + 1, '"', left);
    return close ? (Str){open + 1, (size_t)(close - open - 1)} : (Str){"", 0};
}

/* The source that code calls so; one that has the line, where several are. */
static uint32_t source_named(Ctx *ctx, Str name, uint32_t line) {
    uint32_t found = 0;
    for (uint32_t i = 1; name.len && i <= ctx->sources.sources.len; i++) {
        const Source *source = source_get(&ctx->sources, i);
        if ((str_eq(source->name, name) || str_eq(source->path, name)) &&
            (!found || (source_has_line(source, line) &&
                        !source_has_line(source_get(&ctx->sources, found), line))))
            found = i;
    }
    return found;
}

static Numbered *node_at(Places *places, uint32_t number) {
    enum { MOST_NODES = 1 << 24 };
    if (number >= MOST_NODES)
        return NULL;
    while (places->nodes.len <= number)
        vec_push(&places->ctx->arena, &places->nodes, (Numbered){0});
    return &places->nodes.data[number];
}

static Numbered node_of(const Places *places, uint32_t number) {
    return number < places->nodes.len ? places->nodes.data[number] : (Numbered){0};
}

/* LLVM IR: `!12 = !DILocation(line: 18, column: 9, scope: !5)`; a scope or what is around it names
 * a file. */

static void read_node(Places *places, Str line) {
    Str rest = {line.ptr + 1, line.len - 1};
    uint32_t number;
    Numbered *node = line.len && line.ptr[0] == '!' && take_number(&rest, &number)
                         ? node_at(places, number)
                         : NULL;
    if (!node)
        return;
    if (find(line, "!DIFile(") < line.len) {
        node->file = source_named(places->ctx, quoted(behind(line, "filename:")), 1);
    } else if (find(line, "!DILocation(") < line.len) {
        node->line = number_behind(line, "line: ");
        node->scope = number_behind(line, "scope: !");
    } else if (find(line, "file: !") < line.len) {
        node->scope = number_behind(line, "file: !");
    }
}

static TracePlace place_of_node(const Places *places, uint32_t number) {
    enum { MOST_SCOPES = 8 };
    const Numbered location = node_of(places, number);
    Numbered scope = location;
    for (int i = 0; i < MOST_SCOPES && !scope.file && scope.scope; i++)
        scope = node_of(places, scope.scope);
    const bool is_known = scope.file && location.line;
    return is_known ? (TracePlace){scope.file, location.line} : (TracePlace){0};
}

static TracePlaces places_of_llvm(Places *places, Str text) {
    TracePlaces at = {0};
    for (Str rest = text; rest.len;)
        read_node(places, next_line(&rest));
    for (Str rest = text; rest.len;) {
        const Str line = next_line(&rest);
        uint32_t node = line.len && line.ptr[0] != '!' ? number_behind(line, "!dbg !") : 0;
        vec_push(&places->ctx->arena, &at, place_of_node(places, node));
    }
    return at;
}

/* PTX: `.file 1 "softmax.tile"`, also behind the code, and `.loc 1 18 9`, which holds for all
 * instructions up to the next one. */

static Str trim(Str line) {
    while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
        line = (Str){line.ptr + 1, line.len - 1};
    return line;
}

static void read_file(Places *places, Str line) {
    Str rest = behind(line, ".file");
    uint32_t number;
    Numbered *node = take_number(&rest, &number) ? node_at(places, number) : NULL;
    if (node)
        node->file = source_named(places->ctx, quoted(rest), 1);
}

static bool is_instruction(Str line) {
    static const char none[] = ".{}()/$)";
    return line.len && !memchr(none, line.ptr[0], sizeof none - 1);
}

static TracePlaces places_of_ptx(Places *places, Str text) {
    TracePlaces at = {0};
    TracePlace now = {0};
    for (Str rest = text; rest.len;) {
        const Str line = trim(next_line(&rest));
        if (str_begins(line, ".file"))
            read_file(places, line);
    }
    for (Str rest = text; rest.len;) {
        const Str line = trim(next_line(&rest));
        bool is_loc = str_begins(line, ".loc");
        if (is_loc) {
            Str numbers = behind(line, ".loc");
            uint32_t file = 0, number = 0;
            take_number(&numbers, &file);
            take_number(&numbers, &number);
            now = (TracePlace){node_of(places, file).file, number};
            if (!now.file || !now.line)
                now = (TracePlace){0};
        }
        if (find(line, ".entry") < line.len || find(line, ".func") < line.len)
            now = (TracePlace){0};
        const bool has_place = is_loc || is_instruction(line);
        vec_push(&places->ctx->arena, &at, has_place ? now : (TracePlace){0});
    }
    return at;
}

/* nvdisasm: `//## File "softmax.tile", line 18`, for what follows. */
static TracePlaces places_of_sass(Places *places, Str text) {
    TracePlaces at = {0};
    TracePlace now = {0};
    for (Str rest = text; rest.len;) {
        const Str line = trim(next_line(&rest));
        if (str_begins(line, "//## File")) {
            now.line = number_behind(line, "\", line ");
            now.file = source_named(places->ctx, quoted(line), now.line);
            if (!now.file)
                now.line = 0;
        }
        if (str_begins(line, ".section"))
            now = (TracePlace){0};
        vec_push(&places->ctx->arena, &at,
                 str_begins(line, "/*") || str_begins(line, "//##") ? now : (TracePlace){0});
    }
    return at;
}

TracePlace trace_place(Ctx *ctx, Span span) {
    const Source *source = source_get(&ctx->sources, span.file);
    return source ? (TracePlace){span.file, source_locate(source, span.lo).line} : (TracePlace){0};
}

TracePlaces trace_places(Ctx *ctx, TraceKind kind, Str text) {
    Places places = {.ctx = ctx};
    switch (kind) {
    case TRACE_ll:
        return places_of_llvm(&places, text);
    case TRACE_ptx:
        return places_of_ptx(&places, text);
    case TRACE_sass:
        return places_of_sass(&places, text);
    case TRACE_ast:
    case TRACE_tir:
        break;
    }
    return (TracePlaces){0};
}
