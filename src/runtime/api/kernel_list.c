/* Public API: which kernels sources have. */
#include "frontend/heuristics.h"
#include "runtime/api/api_compile.h"
#include "runtime/compile/folder.h"

typedef struct ListedParam {
    Str name, annotation, default_value;
    bool is_constexpr, is_derived;
} ListedParam;

typedef struct ListedKernel {
    Str name, path;
    LineColumn at;
    bool is_helper;
    ListedParam *params;
    uint32_t param_count;
} ListedKernel;

struct tile_kernel_list {
    Arena arena;
    VEC(ListedKernel) kernels;
};

typedef struct Listing {
    Call *call;
    const CompileRequest *request;
    tile_kernel_list *list;
} Listing;

/* The words of a source; empty for none. */
static Str words_of(Listing *l, const Source *source, const Expr *expr) {
    if (!expr || expr->span.file == 0 || expr->span.hi > source->text.len ||
        expr->span.lo > expr->span.hi)
        return STR("");
    return str_keep(&l->call->object, (Str){source->text.ptr + expr->span.lo,
                                            (size_t)(expr->span.hi - expr->span.lo)});
}

static ListedParam list_param(Listing *l, const Source *source, const Param *param) {
    return (ListedParam){.name = str_keep(&l->call->object, param->name),
                         .annotation = words_of(l, source, param->annotation),
                         .default_value = words_of(l, source, param->default_value),
                         .is_constexpr = ast_is_constexpr(param->annotation)};
}

static bool list_kernel(Listing *l, const AstFile *syntax, const FuncDef *def, bool is_helper) {
    Arena *arena = &l->call->object;
    const Source *source = source_get(&l->call->ctx->sources, syntax->file);
    Heuristics heuristics;
    ListedKernel kernel = {.name = str_keep(arena, def->name),
                           .path = str_keep(arena, source->path),
                           .at = source_locate(source, def->name_span.lo),
                           .is_helper = is_helper,
                           .params = ARENA_ARRAY(arena, ListedParam, def->param_count + 1),
                           .param_count = def->param_count};
    if (!heuristics_read(l->call->ctx, &l->call->ctx->arena, syntax, def, NULL, &heuristics))
        return false;
    for (uint32_t i = 0; i < def->param_count; i++) {
        kernel.params[i] = list_param(l, source, &def->params[i]);
        kernel.params[i].is_derived = heuristics_set(&heuristics, i);
    }
    vec_push(arena, &l->list->kernels, kernel);
    return true;
}

static bool list_file(Listing *l, const CompileRequest *request) {
    Ctx *ctx = l->call->ctx;
    uint32_t file, entries;
    const FuncDef **defs;
    const Str wanted = l->request->kernel.kernel;
    const AstFile *syntax = compile_parse_request(ctx, request, &file);
    if (!syntax)
        return false;
    const uint32_t count = frontend_kernels(ctx, syntax, &defs, &entries);
    for (uint32_t i = 0; i < count; i++)
        if ((!wanted.len || str_eq(wanted, defs[i]->name)) &&
            !list_kernel(l, syntax, defs[i], i >= entries))
            return false;
    return true;
}

/* One that cannot be read keeps nobody from the others: its first error is a warning. */
static void list_folder(Listing *l) {
    Ctx *ctx = l->call->ctx;
    FolderFiles files = {0};
    if (!folder_files(ctx, l->request, &files))
        return;
    vec_for_each (path, &files) {
        const DiagMark before = diag_mark(&ctx->diags);
        const size_t listed = l->list->kernels.len;
        if (list_file(l, &(CompileRequest){.path = path->ptr}))
            continue;
        const Diagnostic *error = before.last ? before.last->next : ctx->diags.first;
        while (error && error->severity != SEV_ERROR)
            error = error->next;
        const Span span = error ? error->span : (Span){0};
        const char *text = error ? error->text : "it has errors";
        l->list->kernels.len = listed;
        diag_rewind(&ctx->diags, before);
        ctx_diag(ctx, span, folder_unlisted, path->ptr, text);
    }
}

static tile_status build_list(Call *call, tile_context *context,
                              const tile_compile_options *options, tile_kernel_list **list) {
    CompileRequest request;
    tile_compile_options only = *options;
    only.target = (tile_text){0};
    if (!request_from_options(call, context, &only, &request))
        return TILE_ERROR_INVALID_ARGUMENT;
    compile_use_files(call->ctx, &request);
    Listing l = {call, &request, ARENA_NEW(&call->object, tile_kernel_list)};
    if (folder_is(call->ctx, &request))
        list_folder(&l);
    else
        list_file(&l, &request);
    if (call->ctx->diags.errors)
        return TILE_OK; /* which becomes what was said */
    call_keep(call, &l.list->arena);
    *list = l.list;
    return TILE_OK;
}

tile_status tile_kernel_list_create(tile_context *context, const tile_compile_options *given,
                                    tile_kernel_list **list, tile_diagnostics **diagnostics) {
    tile_compile_options options;
    if (!context || !list || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, build_list(call, context, &options, list));
}

void tile_kernel_list_destroy(tile_kernel_list *list) {
    if (!list)
        return;
    Arena arena = list->arena;
    arena_free(&arena);
}

size_t tile_kernel_list_count(const tile_kernel_list *list) {
    return list ? list->kernels.len : 0;
}

tile_status tile_kernel_list_get(const tile_kernel_list *list, size_t index,
                                 tile_listed_kernel *kernel) {
    if (!kernel || index >= tile_kernel_list_count(list))
        return TILE_ERROR_INVALID_ARGUMENT;
    const ListedKernel *found = &list->kernels.data[index];
    const tile_listed_kernel known = {.name = text_of(found->name),
                                      .path = text_of(found->path),
                                      .line = found->at.line,
                                      .column = found->at.column,
                                      .is_helper = found->is_helper,
                                      .param_count = found->param_count};
    return info_copy(kernel, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status tile_kernel_list_get_param(const tile_kernel_list *list, size_t index, size_t param,
                                       tile_listed_param *info) {
    if (!info || index >= tile_kernel_list_count(list) ||
        param >= list->kernels.data[index].param_count)
        return TILE_ERROR_INVALID_ARGUMENT;
    const ListedParam *found = &list->kernels.data[index].params[param];
    const tile_listed_param known = {.name = text_of(found->name),
                                     .annotation = text_of(found->annotation),
                                     .default_value = text_of(found->default_value),
                                     .is_constexpr = found->is_constexpr,
                                     .is_derived = found->is_derived};
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}
