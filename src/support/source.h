/* Source texts and places in them. A `Span` is a range of bytes of one source; lines and columns
 * are computed only when something is printed. */
#ifndef TILEC_SUPPORT_SOURCE_H
#define TILEC_SUPPORT_SOURCE_H
#include "support/str.h"
#include "support/vec.h"

typedef struct Span {
    uint32_t file;   /* number of the source in its SourceMap; 0: nowhere */
    uint32_t lo, hi; /* byte offsets, hi exclusive */
} Span;

typedef struct Source {
    Str path; /* as given by the user, for messages */
    Str name; /* for what outlives this machine, code: `path`, but without folders from the root */
    Str text; /* not terminated by contract; may hold any bytes */
    VEC(uint32_t) line_starts;
    uint32_t lines_before;   /* in `path`, before the text */
    uint32_t columns_before; /* that every line lacks at its beginning */
    bool is_import;          /* what another source imports */
} Source;

/* The place that each line of a text is of. */
typedef VEC(Span) SpanList;

/* Files that are asked for before those on disk. `read` gives the text of one it has, which stays
 * as long as the sources do. */
typedef struct SourceFiles {
    bool (*read)(void *user, Str path, Str *text); /* NULL: there are none */
    void *user;
} SourceFiles;

/* All sources of a compilation, numbered from 1. */
typedef struct SourceMap {
    Arena *arena;
    SourceFiles files;
    bool full_paths; /* names are paths as they are */
    Str folder;      /* where relative paths are opened from; empty: the working directory */
    VEC(Source *) sources;
} SourceMap;

typedef struct LineColumn {
    uint32_t line, column; /* both from 1; the column counts bytes */
} LineColumn;

/* Copies path and text; returns the file number for spans. Texts of 4 GiB and more are the caller's
 * to refuse. */
uint32_t source_add(SourceMap *map, Str path, Str text);
/* The same of a file that another one imports; `below`: its path below the folder where it was
 * looked for, which is its name if the path begins at the root. */
uint32_t source_add_import(SourceMap *map, Str path, Str below, Str text);
/* A part of a file, whose lines lack what is before `begin.column`; spans, lines and columns are as
 * in the file. */
uint32_t source_add_part(SourceMap *map, Str path, Str text, LineColumn begin, bool is_import);
/* A source of another map, with texts of its own. */
uint32_t source_copy(SourceMap *map, const Source *source);
/* The text of a file of at most `limit` bytes, of `files` or on disk, which is no source yet: 0 or
 * an errno. */
int source_read(const SourceMap *map, const char *path, size_t limit, Str *text);
/* NULL for file 0 or an unknown number. */
const Source *source_get(const SourceMap *map, uint32_t file);
LineColumn source_locate(const Source *source, uint32_t offset);
/* The reverse; UINT32_MAX where there is no such place. */
uint32_t source_offset(const Source *source, LineColumn at);
/* Whether the line, as in the file, is one of the text's. */
bool source_has_line(const Source *source, uint32_t line);
/* The text of a line, without its newline and what it lacks; empty: there is no such line. */
Str source_line(const Source *source, uint32_t line);

static inline Span span_join(Span a, Span b) {
    if (!a.file)
        return b;
    if (!b.file || a.file != b.file)
        return a;
    return (Span){a.file, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}
#endif
