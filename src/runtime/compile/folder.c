/* See folder.h. Only files in which "def NAME" stands are parsed on the way to a kernel. */
#include "runtime/compile/folder.h"

#include "runtime/status.h"
#include "support/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_FILES = 10000 };

typedef struct Walk {
    Ctx *ctx;
    Str base; /* where relative paths begin */
    Str at;   /* the folder that is read */
    DIR *open;
    FolderFiles folders, files;
    int error;
} Walk;

static const char *on_disk(Ctx *ctx, Str base, Str path) {
    return file_join(&ctx->arena, base, path);
}

bool folder_is(Ctx *ctx, const CompileRequest *request) {
    struct stat info;
    return !request->text.ptr &&
           stat(on_disk(ctx, request->folder, str_from(request->path)), &info) == 0 &&
           S_ISDIR(info.st_mode);
}

static bool ends_in(const char *name, const char *ending) {
    const size_t len = strlen(name), end = strlen(ending);
    return len > end && !strcmp(name + len - end, ending);
}

static void add_entry(Walk *walk, const char *name) {
    Arena *arena = &walk->ctx->arena;
    struct stat info;
    if (name[0] == '.' || !strcmp(name, "__pycache__"))
        return;
    const Str path = str_from(file_join(arena, walk->at, str_from(name)));
    const bool is_source = ends_in(name, ".tile") || ends_in(name, ".py");
    if (lstat(on_disk(walk->ctx, walk->base, path), &info))
        return; /* it is gone again */
    if (S_ISDIR(info.st_mode))
        vec_push(arena, &walk->folders, path);
    else if (is_source)
        vec_push(arena, &walk->files, path);
}

static void read_entries(void *user) {
    Walk *walk = user;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(walk->open)); errno = 0)
        add_entry(walk, entry->d_name);
    walk->error = errno;
}

static void close_folder(void *user) {
    const Walk *walk = user;
    closedir(walk->open);
}

static int in_order(const void *a, const void *b) {
    return str_order(*(const Str *)a, *(const Str *)b);
}

bool folder_files(Ctx *ctx, const CompileRequest *request, FolderFiles *files) {
    Walk walk = {.ctx = ctx, .base = request->folder};
    vec_push(&ctx->arena, &walk.folders, str_from(request->path));
    for (size_t i = 0; i < walk.folders.len; i++) {
        walk.at = walk.folders.data[i];
        const char *path = on_disk(ctx, walk.base, walk.at);
        walk.open = opendir(path);
        if (!walk.open)
            return report_unreadable(&ctx->diags, path, errno);
        ctx_finally(ctx, read_entries, close_folder, &walk);
        if (walk.error)
            return report_unreadable(&ctx->diags, path, walk.error);
        if (walk.files.len + walk.folders.len > MOST_FILES)
            return ctx_diag(ctx, (Span){0}, folder_large, request->path, (int)MOST_FILES);
    }
    if (walk.files.len)
        qsort(walk.files.data, walk.files.len, sizeof *walk.files.data, in_order);
    files->data = walk.files.data;
    files->len = walk.files.len;
    files->cap = walk.files.cap;
    return true;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The name behind the next "def" from *at on; false: there is none. */
static bool next_def(Str text, size_t *at, Str *name) {
    while (*at + 4 < text.len) {
        const char *def = memmem(text.ptr + *at, text.len - *at, "def", 3);
        if (!def)
            return false;
        size_t i = (size_t)(def - text.ptr) + 3, start = i;
        *at = i;
        while (i < text.len && (text.ptr[i] == ' ' || text.ptr[i] == '\t'))
            i++;
        if (i == start || (def > text.ptr && is_word(def[-1])))
            continue;
        for (start = i; i < text.len && is_word(text.ptr[i]);)
            i++;
        *name = (Str){text.ptr + start, i - start};
        *at = i;
        return true;
    }
    return false;
}

typedef struct Search {
    Ctx *ctx;
    const CompileRequest *request;
    Str path;             /* of the file that has it; ptr NULL: none so far */
    const FuncDef *found; /* the first */
    uint32_t count;
    FolderFiles names; /* of all functions */
} Search;

static bool may_define(Search *s, Str text) {
    bool found = false;
    Str name;
    for (size_t at = 0; next_def(text, &at, &name);) {
        found |= str_eq(name, s->request->kernel.kernel);
        vec_push(&s->ctx->arena, &s->names, name);
    }
    return found;
}

/* False after a report. */
static bool look_into(Search *s, Str path) {
    Ctx *ctx = s->ctx;
    uint32_t file;
    Str text;
    const int error = source_read(&ctx->sources, path.ptr, FRONTEND_SOURCE_LIMIT, &text);
    if (error)
        return report_unreadable(&ctx->diags, path.ptr, error);
    if (!may_define(s, text))
        return true;
    const AstFile *syntax = compile_parse(ctx, path.ptr, text, &file);
    if (!syntax)
        return false;
    const FuncDef *def = frontend_choose_kernel(ctx, syntax, s->request->kernel.kernel);
    if (!def)
        return true; /* a function of the host, or a helper's inside */
    if (s->count++ == 0) {
        s->path = path;
        s->found = def;
    } else if (s->count == 2) {
        ctx_diag(ctx, s->found->name_span, folder_ambiguous, s->request->path, STR_ARG(def->name));
        diag_note(&ctx->diags, def->name_span, "and here");
    } else {
        diag_note(&ctx->diags, def->name_span, "and here");
    }
    return true;
}

static bool report_missing(const Search *s) {
    const Str name = s->request->kernel.kernel;
    ctx_diag(s->ctx, (Span){0}, folder_kernel, s->request->path, STR_ARG(name));
    const int nearest = str_nearest(name, s->names.data, s->names.len);
    if (nearest >= 0)
        diag_hint(&s->ctx->diags, "did you mean '%.*s'?", STR_ARG(s->names.data[nearest]));
    return false;
}

static bool find_kernel(Search *s) {
    FolderFiles files = {0};
    if (!s->request->kernel.kernel.len)
        return ctx_diag(s->ctx, (Span){0}, folder_which_kernel, s->request->path);
    if (!folder_files(s->ctx, s->request, &files))
        return false;
    vec_for_each (path, &files)
        if (!look_into(s, *path))
            return false;
    return s->count == 1 || (s->count == 0 && report_missing(s));
}

const CompileRequest *folder_resolve(Ctx *ctx, const CompileRequest *request) {
    if (!folder_is(ctx, request))
        return request;
    Search s = {.ctx = ctx, .request = request};
    const DiagMark before = diag_mark(&ctx->diags);
    const size_t sources = ctx->sources.sources.len;
    if (!find_kernel(&s))
        return NULL;
    /* Whoever compiles it reads it as if nobody had, and hears what the parser says. */
    diag_rewind(&ctx->diags, before);
    ctx->sources.sources.len = sources;
    CompileRequest *resolved = ARENA_NEW(&ctx->arena, CompileRequest);
    *resolved = *request;
    resolved->path = s.path.ptr;
    return resolved;
}
