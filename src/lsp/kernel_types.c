/* See kernel_types.h. */
#include "lsp/kernel_types.h"

#include "frontend/autotune.h"
#include "frontend/signature.h"
#include "lsp/comment.h"
#include "runtime/driver/choose_target.h"

static Str signature_of(const Settings *settings, Str kernel) {
    for (uint32_t i = 0; i < settings->signature_count; i++)
        if (str_eq(settings->signatures[i].name, kernel))
            return settings->signatures[i].text;
    return (Str){0};
}

static bool is_named(const NamedText *list, uint32_t count, Str name) {
    for (uint32_t i = 0; i < count; i++)
        if (str_eq(list[i].name, name))
            return true;
    return false;
}

/* What the first configuration sets of parameters that nothing else says. What is wrong with the
 * decorator is not for here: whoever launches the kernel reads it. */
static void add_config(KernelAnalysis *kernel, uint32_t entries) {
    Ctx *ctx = kernel->ctx;
    Autotune autotune;
    const DiagMark mark = diag_mark(&ctx->diags);
    bool has_config = false;
    for (uint32_t i = 0; i < kernel->def->decorators.count; i++)
        has_config |= str_is(ast_decorator_name(kernel->def->decorators.items[i]), "autotune");
    if (!has_config ||
        !autotune_read(ctx, &ctx->arena, kernel->file, kernel->def, kernel->target->capability,
                       &autotune) ||
        !autotune.count) {
        diag_rewind(&ctx->diags, mark);
        return;
    }
    diag_rewind(&ctx->diags, mark);
    ElaborateRequest *request = &kernel->request, tuned = {0};
    const Heuristics none = {.names = autotune.names,
                             .name_count = autotune.name_count,
                             .param_count = autotune.param_count};
    autotune_request(&autotune, &autotune.configs[0], &none, &ctx->arena, &tuned);
    NamedText *defines =
        ARENA_ARRAY(&ctx->arena, NamedText, (size_t)request->define_count + tuned.define_count + 1);
    uint32_t count = 0;
    for (; count < request->define_count; count++)
        defines[count] = request->defines[count];
    for (uint32_t i = 0; i < tuned.define_count; i++) {
        uint32_t place = 0;
        while (place < kernel->def->param_count &&
               !str_eq(kernel->def->params[place].name, tuned.defines[i].name))
            place++;
        if (place >= entries && !is_named(defines, count, tuned.defines[i].name))
            defines[count++] = tuned.defines[i];
    }
    request->defines = defines;
    request->define_count = count;
    if (!request->num_warps)
        request->num_warps = tuned.num_warps;
    if (!request->num_stages)
        request->num_stages = tuned.num_stages;
    if (!request->num_ctas)
        request->num_ctas = tuned.num_ctas;
}

/* Whether something says what every parameter is. */
static bool is_typed(const KernelAnalysis *kernel, uint32_t entries) {
    const ElaborateRequest *request = &kernel->request;
    for (uint32_t i = entries; i < kernel->def->param_count; i++) {
        const Param *param = &kernel->def->params[i];
        ScalarType type;
        if (!param->default_value && !annotation_type(param, &type) &&
            !is_named(request->types, request->type_count, param->name) &&
            !is_named(request->defines, request->define_count, param->name))
            return false;
    }
    return true;
}

bool kernel_types(KernelAnalysis *kernel, const Settings *settings) {
    Ctx *ctx = kernel->ctx;
    KernelComment comment;
    Entries entries = {0};
    if (!comment_read(ctx, kernel->file, kernel->def, &comment))
        return false;
    const Str target = comment.target.len ? comment.target : settings->target;
    const Str language = comment.language.len ? comment.language : settings->language;
    kernel->target = choose_target(&ctx->diags, target, NULL, NULL);
    if (!kernel->target)
        return false;
    kernel->request = (ElaborateRequest){.file = kernel->file,
                                         .kernel = kernel->name,
                                         .signature = comment.signature.len
                                                          ? comment.signature
                                                          : signature_of(settings, kernel->name),
                                         .types = comment.types.data,
                                         .type_count = (uint32_t)comment.types.len,
                                         .defines = comment.defines.data,
                                         .define_count = (uint32_t)comment.defines.len,
                                         .search_paths = settings->include,
                                         .search_path_count = settings->include_count,
                                         .num_warps = comment.num_warps,
                                         .num_stages = comment.num_stages,
                                         .num_ctas = comment.num_ctas,
                                         .capability = kernel->target->capability,
                                         .language = frontend_language(language),
                                         .heuristics_done = true,
                                         .autotune_done = true};
    if (language.len && !kernel->request.language)
        return ctx_diag(ctx, comment.span, comment_value, "language",
                        "a version of Triton from 3.2 to 3.9");
    signature_split(&ctx->arena, kernel->request.signature, &entries);
    add_config(kernel, (uint32_t)entries.len);
    kernel->is_typed = comment.span.file || kernel->request.signature.len ||
                       is_typed(kernel, (uint32_t)entries.len);
    kernel->is_untyped = !kernel->is_typed;
    return true;
}
