/* See documents.h. */
#include "lsp/documents.h"

#include "runtime/compile/compile.h"

/* URIs */

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool uri_path(Arena *arena, Str uri, Str *path) {
    static const char scheme[] = "file://";
    const size_t length = sizeof scheme - 1;
    if (uri.len <= length || memcmp(uri.ptr, scheme, length) != 0)
        return false;
    size_t at = length;
    while (at < uri.len && uri.ptr[at] != '/')
        at++; /* the host */
    StrBuf out = strbuf(arena);
    for (; at < uri.len; at++) {
        const int high = uri.ptr[at] == '%' && at + 2 < uri.len ? hex_value(uri.ptr[at + 1]) : -1;
        const int low = high >= 0 ? hex_value(uri.ptr[at + 2]) : -1;
        const int byte = low >= 0 ? high << 4 | low : (unsigned char)uri.ptr[at];
        if (!byte)
            return false;
        strbuf_putc(&out, (char)byte);
        at += low >= 0 ? 2 : 0;
    }
    *path = strbuf_str(&out);
    return out.len > 0;
}

/* Documents */

Document *documents_find(const Documents *documents, Str uri) {
    for (Document *document = documents->first; document; document = document->next)
        if (str_eq(document->uri, uri))
            return document;
    return NULL;
}

/* A path without "." and without empty components; "x/.." is nothing. */
static Str plain_path(Str path, char *out) {
    size_t len = 0;
    for (size_t at = 0; at <= path.len;) {
        size_t end = at;
        while (end < path.len && path.ptr[end] != '/')
            end++;
        const Str part = {path.ptr + at, end - at};
        if (str_is(part, "..") && len) {
            while (len && out[len - 1] != '/')
                len--;
            len -= len > 0;
        } else if (part.len && !str_is(part, ".")) {
            out[len++] = '/';
            memcpy(out + len, part.ptr, part.len);
            len += part.len;
        }
        at = end + 1;
    }
    return (Str){out, len};
}

Document *documents_of_path(const Documents *documents, Str path) {
    enum { LONGEST = 4096 };
    char wanted[LONGEST + 2], other[LONGEST + 2];
    if (path.len > LONGEST)
        return NULL;
    const Str plain = plain_path(path, wanted);
    for (Document *document = documents->first; document; document = document->next)
        if (document->path.len <= LONGEST && str_eq(plain, plain_path(document->path, other)))
            return document;
    return NULL;
}

static bool set_text(Document *document, Str head, Str middle, Str tail, bool utf8) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return false;
    }
    const size_t size = head.len + middle.len + tail.len;
    char *bytes = ARENA_ARRAY(&ctx->arena, char, size + 1);
    if (head.len)
        memcpy(bytes, head.ptr, head.len);
    if (middle.len)
        memcpy(bytes + head.len, middle.ptr, middle.len);
    if (tail.len)
        memcpy(bytes + head.len + middle.len, tail.ptr, tail.len);
    const Text text = text_split(&ctx->arena, (Str){bytes, size}, utf8);
    ctx_destroy(document->ctx);
    document->ctx = ctx;
    document->text = text;
    document->is_stale = true;
    document->is_told = false;
    document->changed_ms = clock_ms();
    return true;
}

static Document *document_create(Str uri) {
    Ctx *ctx = ctx_create();
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        return NULL;
    }
    Document *document = ARENA_NEW(&ctx->arena, Document);
    document->home = ctx;
    document->uri = document->path = str_keep(&ctx->arena, uri);
    Str path;
    if (uri_path(&ctx->arena, uri, &path))
        document->path = path;
    return document;
}

bool documents_open(Documents *documents, Str uri, Str text, int64_t version, bool utf8) {
    Document *document = documents_find(documents, uri);
    const bool is_new = !document;
    if (is_new)
        document = document_create(uri);
    if (!document)
        return false;
    if (!set_text(document, text, (Str){0}, (Str){0}, utf8)) {
        if (is_new)
            ctx_destroy(document->home);
        return false;
    }
    document->version = version;
    if (is_new) {
        document->next = documents->first;
        documents->first = document;
    }
    return true;
}

static void forget(Document *document) {
    for (KernelAnalysis *kernel = document->good, *next; kernel; kernel = next) {
        next = kernel->next;
        kernel_analysis_destroy(kernel);
    }
    analysis_destroy(document->now);
    analysis_destroy(document->parsed);
}

void documents_close(Documents *documents, Document *document) {
    Document **at = &documents->first;
    while (*at != document)
        at = &(*at)->next;
    *at = document->next;
    forget(document);
    ctx_destroy(document->ctx);
    ctx_destroy(document->home);
}

void documents_close_all(Documents *documents) {
    while (documents->first)
        documents_close(documents, documents->first);
}

bool document_replace(Document *document, uint32_t lo, uint32_t hi, Str text) {
    const Str bytes = document->text.bytes;
    if (hi < lo)
        hi = lo;
    if (bytes.len - (hi - lo) + text.len > FRONTEND_SOURCE_LIMIT)
        return false;
    return set_text(document, (Str){bytes.ptr, lo}, text, (Str){bytes.ptr + hi, bytes.len - hi},
                    document->text.utf8);
}

void documents_spoil(Documents *documents) {
    for (Document *document = documents->first; document; document = document->next) {
        document->is_stale = true;
        document->is_told = false;
        document->changed_ms = clock_ms();
    }
}

/* What is known */

static KernelAnalysis *find_kernel(KernelAnalysis *list, Str name) {
    while (list && !str_eq(list->name, name))
        list = list->next;
    return list;
}

/* Nothing is kept of a kernel that is not in the text any more, once that parses, nor of one whose
 * types nobody says any more. */
static void keep_good(Document *document, KernelAnalysis *old) {
    const Analysis *now = document->now;
    const KernelAnalysis *replaced = find_kernel(now->kernels, old->name);
    if (replaced ? replaced->ok || replaced->is_untyped : now->parses) {
        kernel_analysis_destroy(old);
        return;
    }
    old->next = document->good;
    document->good = old;
}

void document_take(Document *document, Analysis *analysis) {
    Analysis *before = document->now;
    KernelAnalysis *good = document->good;
    document->now = analysis;
    document->good = NULL;
    document->is_stale = false;
    KernelAnalysis *kernels = before ? before->kernels : NULL;
    if (before)
        before->kernels = NULL;
    for (KernelAnalysis *kernel = kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        if (kernel->ok)
            keep_good(document, kernel);
        else
            kernel_analysis_destroy(kernel);
    }
    for (KernelAnalysis *kernel = good, *next; kernel; kernel = next) {
        next = kernel->next;
        if (find_kernel(document->good, kernel->name))
            kernel_analysis_destroy(kernel); /* there is a later one */
        else
            keep_good(document, kernel);
    }
    if (analysis->parses) {
        analysis_destroy(document->parsed);
        document->parsed = NULL;
    }
    if (before && before->parses && !analysis->parses) {
        analysis_destroy(document->parsed);
        document->parsed = before;
    } else {
        analysis_destroy(before);
    }
}

static bool read_open(void *user, Str path, Str *text) {
    Document *document = documents_of_path(user, path);
    if (!document)
        return false;
    document->is_imported = true;
    *text = document->text.bytes;
    return true;
}

SourceFiles documents_files(Documents *documents) {
    return (SourceFiles){read_open, documents};
}
