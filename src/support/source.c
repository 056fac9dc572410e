#include "support/source.h"

#include "support/file.h"

#include <errno.h>

static bool is_anothers(const SourceMap *map, Str name, Str path) {
    vec_for_each (source, &map->sources)
        if (str_eq((*source)->name, name) && !str_eq((*source)->path, path))
            return true;
    return false;
}

/* Two files of one name are told apart, as they are in the same order everywhere. */
static Str name_of(const SourceMap *map, Str path, Str below) {
    if (map->full_paths || !path.len || path.ptr[0] != '/')
        return path;
    Str name = below;
    for (int i = 2; is_anothers(map, name, path); i++)
        name = str_from(str_format(map->arena, "%.*s#%d", STR_ARG(below), i));
    return name;
}

static uint32_t add(SourceMap *map, Str path, Str below, Str text) {
    Source *source = ARENA_NEW(map->arena, Source);
    const Str name = name_of(map, path, below);
    source->path = (Str){str_dup(map->arena, path), path.len};
    source->name = (Str){str_dup(map->arena, name), name.len};
    source->text = (Str){str_dup(map->arena, text), text.len};
    vec_push(map->arena, &source->line_starts, 0);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n')
            vec_push(map->arena, &source->line_starts, (uint32_t)(i + 1));
    vec_push(map->arena, &map->sources, source);
    return (uint32_t)map->sources.len;
}

uint32_t source_add(SourceMap *map, Str path, Str text) {
    return add(map, path, file_name(path), text);
}

const Source *source_get(const SourceMap *map, uint32_t file) {
    return file && file <= map->sources.len ? map->sources.data[file - 1] : NULL;
}

uint32_t source_add_import(SourceMap *map, Str path, Str below, Str text) {
    uint32_t file = add(map, path, below, text);
    map->sources.data[file - 1]->is_import = true;
    return file;
}

uint32_t source_add_part(SourceMap *map, Str path, Str text, LineColumn begin, bool is_import) {
    uint32_t file = source_add(map, path, text);
    Source *source = map->sources.data[file - 1];
    source->lines_before = begin.line - 1;
    source->columns_before = begin.column - 1;
    source->is_import = is_import;
    return file;
}

uint32_t source_copy(SourceMap *map, const Source *source) {
    Source *copy = ARENA_NEW(map->arena, Source);
    const size_t lines = source->line_starts.len;
    *copy = *source;
    copy->path = (Str){str_dup(map->arena, source->path), source->path.len};
    copy->name = (Str){str_dup(map->arena, source->name), source->name.len};
    copy->text = (Str){str_dup(map->arena, source->text), source->text.len};
    copy->line_starts.data = ARENA_ARRAY(map->arena, uint32_t, lines + 1);
    copy->line_starts.cap = lines + 1;
    if (lines)
        memcpy(copy->line_starts.data, source->line_starts.data, lines * sizeof(uint32_t));
    vec_push(map->arena, &map->sources, copy);
    return (uint32_t)map->sources.len;
}

int source_read(const SourceMap *map, const char *path, size_t limit, Str *text) {
    if (map->files.read && map->files.read(map->files.user, str_from(path), text))
        return text->len > limit ? EFBIG : 0;
    return file_read(map->arena, file_join(map->arena, map->folder, str_from(path)), limit, text);
}

LineColumn source_locate(const Source *source, uint32_t offset) {
    size_t lo = 0, hi = source->line_starts.len;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (source->line_starts.data[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    return (LineColumn){(uint32_t)lo + 1 + source->lines_before,
                        offset - source->line_starts.data[lo] + 1 + source->columns_before};
}

/* Of the lines of the text; false: there is no such line. */
static bool own_line(const Source *source, uint32_t *line) {
    *line -= source->lines_before; /* one before them is beyond their number */
    return *line && *line <= source->line_starts.len;
}

bool source_has_line(const Source *source, uint32_t line) {
    return own_line(source, &line);
}

uint32_t source_offset(const Source *source, LineColumn at) {
    if (!own_line(source, &at.line) || at.column <= source->columns_before)
        return UINT32_MAX;
    const uint64_t offset =
        (uint64_t)source->line_starts.data[at.line - 1] + at.column - 1 - source->columns_before;
    return offset <= source->text.len ? (uint32_t)offset : UINT32_MAX;
}

Str source_line(const Source *source, uint32_t line) {
    if (!own_line(source, &line))
        return STR("");
    size_t begin = source->line_starts.data[line - 1];
    size_t end =
        line < source->line_starts.len ? source->line_starts.data[line] - 1 : source->text.len;
    if (end > begin && source->text.ptr[end - 1] == '\r')
        end--;
    return (Str){source->text.ptr + begin, end - begin};
}
