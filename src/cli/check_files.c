/* See check.h. A worker takes the next file, checks it in a context that goes with it, and keeps
 * what was said of it in a small one, so that a folder of any size fits into memory. */
#include "cli/check.h"

#include "passes/lint/lint.h"
#include "runtime/compile/folder.h"
#include "runtime/compile/stack.h"
#include "support/file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_JOBS = 64 };

/* ---- which files ---- */

typedef struct Collecting {
    Ctx *ctx;
    const CompileRequest *request;
    CheckedFiles *files;
    VEC(struct stat) seen;
} Collecting;

static bool was_seen(const Collecting *c, const struct stat *info) {
    vec_for_each (other, &c->seen)
        if (other->st_dev == info->st_dev && other->st_ino == info->st_ino)
            return true;
    return false;
}

static bool is_python(Str path) {
    return path.len > 3 && !memcmp(path.ptr + path.len - 3, ".py", 3);
}

/* A path that is not there is for its check to report. */
static void add_file(Collecting *c, Str path, bool may_lack) {
    struct stat info;
    const bool is_there = !stat(path.ptr, &info);
    if (is_there && was_seen(c, &info))
        return;
    if (is_there)
        vec_push(&c->ctx->arena, &c->seen, info);
    vec_push(&c->ctx->arena, c->files,
             (CheckedFile){.path = path, .may_lack = may_lack || is_python(path)});
}

static void add_standard_input(Collecting *c) {
    const Str path = str_from(c->request->path);
    vec_for_each (file, c->files)
        if (file->text.ptr)
            return;
    vec_push(&c->ctx->arena, c->files, (CheckedFile){.path = path, .text = c->request->text});
}

bool check_collect(Ctx *ctx, const TextList *arguments, const CompileRequest *request,
                   CheckedFiles *files) {
    Collecting c = {.ctx = ctx, .request = request, .files = files};
    const bool several = arguments->len > 1;
    vec_for_each (argument, arguments) {
        const CompileRequest folder = {.path = *argument};
        FolderFiles found = {0};
        if (!strcmp(*argument, "-")) {
            add_standard_input(&c);
        } else if (!folder_is(ctx, &folder)) {
            add_file(&c, str_from(*argument), several && request->kernel.kernel.len);
        } else {
            if (!folder_files(ctx, &folder, &found))
                return false;
            vec_for_each (path, &found)
                add_file(&c, *path, true);
        }
    }
    return true;
}

/* ---- one file ---- */

/* True when every parameter has a default or an annotation that may be a type. */
static bool may_be_typed(const FuncDef *def) {
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Param *param = &def->params[i];
        if (!param->default_value && (!param->annotation || ast_is_constexpr(param->annotation)))
            return false;
    }
    return true;
}

/* How a function is checked that a file has. */
typedef struct Candidate {
    const FuncDef *def;
    bool is_meant;  /* the types given are for it */
    bool is_helper; /* others of the file call it */
} Candidate;

/* Whether what was said since then is no mistake of a function for which nobody gave types: its
 * annotations are not such (`axis: int`), or it is a helper, which may return something. */
static bool is_untyped(const Diags *diags, DiagMark mark, bool is_helper) {
    const Diagnostic *d = mark.last ? mark.last->next : diags->first;
    for (; d; d = d->next)
        if (d->id == DIAG_elab_param_missing || (is_helper && d->id == DIAG_elab_kernel_returns))
            return true;
    return false;
}

static Checked check_kernel(Ctx *ctx, const AstFile *syntax, Candidate candidate,
                            const CompileRequest *request) {
    if (!candidate.is_meant && !may_be_typed(candidate.def))
        return CHECKED_PARSED;
    ElaborateRequest kernel = request->kernel;
    if (!candidate.is_meant) {
        kernel.signature = (Str){0};
        kernel.type_count = kernel.define_count = 0;
    }
    kernel.kernel = candidate.def->name;
    kernel.file = syntax->file;
    kernel.capability = request->target->capability;
    Elaborated elaborated;
    const DiagMark before = diag_mark(&ctx->diags);
    if (!frontend_elaborate(ctx, syntax, &kernel, &elaborated)) {
        if (candidate.is_meant || !is_untyped(&ctx->diags, before, candidate.is_helper))
            return CHECKED_WRONG;
        diag_rewind(&ctx->diags, before);
        return CHECKED_PARSED;
    }
    elaborated.func->capability = kernel.capability;
    elaborated.func->deterministic = request->deterministic;
    lint_func(elaborated.func);
    return ctx->diags.errors == before.errors ? CHECKED_TYPED : CHECKED_WRONG;
}

typedef struct FileCheck {
    const CompileRequest *request;
    Ctx *ctx;
    CheckedFile *file;
} FileCheck;

/* Python without kernels is no business of this compiler's, nor are its mistakes: no text of a
 * kernel lacks this word. */
static bool cannot_have_kernels(const CheckedFile *file, Str text) {
    return file->may_lack && !memmem(text.ptr, text.len, "jit", 3);
}

static void check_syntax(FileCheck *c, const AstFile *syntax) {
    Ctx *ctx = c->ctx;
    CheckedFile *file = c->file;
    const FuncDef **defs;
    const Str wanted = c->request->kernel.kernel;
    const bool has_types = check_has_types(&c->request->kernel);
    uint32_t entries, count = frontend_kernels(ctx, syntax, &defs, &entries);
    for (uint32_t i = 0; i < count; i++)
        file->has_wanted |= str_eq(wanted, defs[i]->name);
    file->passed_over = file->may_lack && (!count || (wanted.len && !file->has_wanted));
    if (file->passed_over)
        return;
    const FuncDef *target = NULL;
    if (has_types || wanted.len || count == 0) {
        target = frontend_find_kernel(ctx, syntax, wanted);
        if (!target)
            return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (wanted.len && !str_eq(wanted, defs[i]->name))
            continue;
        const Candidate candidate = {defs[i], defs[i] == target && has_types, i >= entries};
        const Checked checked = check_kernel(ctx, syntax, candidate, c->request);
        vec_push(&file->kept->arena, &file->kernels,
                 (CheckedKernel){str_keep(&file->kept->arena, defs[i]->name), checked});
    }
}

static void check_file(void *user) {
    FileCheck *c = user;
    CheckedFile *file = c->file;
    const char *path = str_dup(&c->ctx->arena, file->path);
    if (!compile_choose_warnings(c->ctx, c->request))
        return;
    const uint32_t number = compile_read(c->ctx, path, file->text);
    file->unread = !number;
    if (file->unread)
        return;
    file->passed_over = cannot_have_kernels(file, source_get(&c->ctx->sources, number)->text);
    if (file->passed_over)
        return;
    const CompileRequest request = {.path = path};
    const AstFile *syntax = compile_parse_read(c->ctx, &request, number);
    if (syntax)
        check_syntax(c, syntax);
}

/* Either context may run out of memory; both ways end here. */
static void check_apart(FileCheck *c, size_t memory_limit) {
    c->file->kept = ctx_create();
    c->ctx = ctx_create();
    if (!c->file->kept || !c->ctx || setjmp(c->file->kept->oom) || setjmp(c->ctx->oom)) {
        c->file->unread = c->file->no_memory = true;
        c->file->status = STATUS_MACHINE;
    } else {
        stack_limit_memory(c->ctx, memory_limit);
        stack_run(c->ctx, check_file, c);
        diag_append(&c->file->kept->diags, &c->ctx->diags);
        c->file->status = cli_status(c->file->kept);
    }
    ctx_destroy(c->ctx);
}

/* ---- many ---- */

typedef struct Checking {
    const CompileRequest *request;
    CheckedFiles *files;
    atomic_size_t next;
} Checking;

static void *work(void *user) {
    Checking *checking = user;
    size_t i;
    while ((i = atomic_fetch_add(&checking->next, 1)) < checking->files->len) {
        FileCheck check = {.request = checking->request, .file = &checking->files->data[i]};
        check_apart(&check, checking->request->memory_limit);
    }
    return NULL;
}

void check_files(Ctx *ctx, const CompileRequest *request, unsigned jobs, CheckedFiles *files) {
    Checking checking = {.request = request, .files = files};
    pthread_t threads[MAX_JOBS];
    size_t wanted = jobs ? jobs : (size_t)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
    wanted = wanted > files->len ? files->len : wanted;
    wanted = wanted > MAX_JOBS ? MAX_JOBS : wanted;
    while (started + 1 < wanted && !pthread_create(&threads[started], NULL, work, &checking))
        started++;
    work(&checking);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

void check_release(const CheckedFiles *files) {
    vec_for_each (file, files)
        ctx_destroy(file->kept);
}
