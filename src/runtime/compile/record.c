/* See record.h. Names of members are those of ahead/manifest.def. */
#include "runtime/compile/record.h"

#include "support/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_name(StrBuf *out, const char *name) {
    strbuf_printf(out, "%s\"%s\": ", out->ptr[out->len - 1] == '{' ? "" : ", ", name);
}

static void add_text(StrBuf *out, const char *name, Str text) {
    if (!text.len)
        return;
    add_name(out, name);
    strbuf_json(out, text);
}

static void add_number(StrBuf *out, const char *name, int32_t number) {
    if (!number)
        return;
    add_name(out, name);
    strbuf_printf(out, "%d", number);
}

static void add_flag(StrBuf *out, const char *name, bool flag) {
    if (!flag)
        return;
    add_name(out, name);
    strbuf_puts(out, "true");
}

static void add_member(StrBuf *out, Str name, Str text) {
    if (out->ptr[out->len - 1] != '{')
        strbuf_puts(out, ", ");
    strbuf_json(out, name);
    strbuf_puts(out, ": ");
    strbuf_json(out, text);
}

static void add_named(StrBuf *out, const char *name, const NamedText *named, uint32_t count) {
    if (!count)
        return;
    add_name(out, name);
    strbuf_putc(out, '{');
    for (uint32_t i = 0; i < count; i++)
        add_member(out, named[i].name, named[i].text);
    strbuf_putc(out, '}');
}

static void add_texts(StrBuf *out, const char *name, const Str *texts, uint32_t count) {
    if (!count)
        return;
    add_name(out, name);
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(out, i ? ", " : "[");
        strbuf_json(out, texts[i]);
    }
    strbuf_putc(out, ']');
}

/* Files of the list, and imports that a callback gave. */
static void add_files(StrBuf *out, Ctx *ctx, const CompileRequest *request) {
    VEC(NamedText) files = {0};
    for (uint32_t i = 0; i < request->file_count; i++)
        vec_push(&ctx->arena, &files, request->files[i]);
    vec_for_each (read, &ctx->sources.sources) {
        const NamedText file = {(*read)->path, (*read)->text};
        bool is_new = request->reader.read && (*read)->is_import;
        for (size_t i = 0; is_new && i < files.len; i++)
            is_new = !str_eq(files.data[i].name, file.name);
        if (is_new)
            vec_push(&ctx->arena, &files, file);
    }
    add_named(out, "files", files.data, (uint32_t)files.len);
}

static void add_source(StrBuf *out, const CompileRequest *request) {
    char folder[PATH_MAX];
    if (request->folder.len)
        add_text(out, "folder", request->folder);
    else if (request->path[0] != '/' && getcwd(folder, sizeof folder))
        add_text(out, "folder", str_from(folder));
    add_text(out, "file", str_from(request->path));
    if (request->text.ptr && !request->text_of_path)
        add_text(out, "source", request->text);
    add_texts(out, "include", request->kernel.search_paths, request->kernel.search_path_count);
}

Str record_line(Ctx *ctx, const CompileRequest *request) {
    const ElaborateRequest *kernel = &request->kernel;
    StrBuf out = strbuf(&ctx->arena);
    if (kernel->units.count)
        return STR("");
    strbuf_puts(&out, "{\"kernels\": [{");
    add_source(&out, request);
    add_files(&out, ctx, request);
    add_text(&out, "kernel", kernel->kernel);
    add_text(&out, "entry_name", kernel->entry_name);
    add_text(&out, "signatures", kernel->signature);
    add_named(&out, "types", kernel->types, kernel->type_count);
    add_named(&out, "constexprs", kernel->defines, kernel->define_count);
    add_text(&out, "targets", str_from(request->target->name));
    if (!(request->want & OUTPUT_BIT(cubin)))
        add_text(&out, "code", STR("ptx"));
    add_number(&out, "num_warps", kernel->num_warps);
    add_number(&out, "num_stages", kernel->num_stages);
    add_number(&out, "num_ctas", kernel->num_ctas);
    add_number(&out, "max_registers", request->max_registers);
    add_number(&out, "max_shared", request->max_shared);
    add_flag(&out, "plain_abi", request->plain_abi);
    add_flag(&out, "no_tensor_copies", request->no_tensor_copies);
    add_flag(&out, "no_persistence", request->no_persistence);
    add_flag(&out, "in_place", request->in_place);
    add_flag(&out, "no_line_info", !request->line_info);
    add_flag(&out, "no_fp_fusion", request->no_fp_fusion);
    add_flag(&out, "full_paths", request->full_paths);
    add_flag(&out, "debug", kernel->debug);
    add_flag(&out, "sanitize_overflow", kernel->sanitize_overflow);
    add_flag(&out, "no_ftz", request->no_ftz);
    add_flag(&out, "deterministic", request->deterministic);
    add_number(&out, "language", kernel->language);
    add_texts(&out, "warnings", request->warnings, request->warning_count);
    strbuf_puts(&out, "}]}\n");
    return strbuf_str(&out);
}

const char *record_path(const char *given) {
    const char *path = given && *given ? given : getenv("TILEC_RECORD");
    return path && *path && strcmp(path, "none") != 0 ? path : NULL;
}

/* What was written in part, on a disk that filled up, is taken back. */
static int append_locked(int fd, Str line) {
    struct stat before;
    if (flock(fd, LOCK_EX) && errno != ENOLCK && errno != EOPNOTSUPP)
        return errno;
    if (fstat(fd, &before))
        return errno;
    const int error = file_write_all(fd, line);
    if (error && S_ISREG(before.st_mode) && ftruncate(fd, before.st_size))
        return error;
    return error;
}

int record_append(const char *path, Str line) {
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return errno;
    const int error = append_locked(fd, line);
    return close(fd) && !error ? errno : error;
}
