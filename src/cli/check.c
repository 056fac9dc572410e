/* `tilec check`: everything that can be said about a file without compiling it. */
#include "cli/kernel_options.h"
#include "passes/lint/lint.h"

typedef struct CheckOptions {
    KernelOptions kernel;
    bool json;
} CheckOptions;

#define OPTIONS_OF CheckOptions
static const Option check_options[] = {
#include "cli/options/check.def"
};

const CommandSpec check_spec = {
    .name = "check",
    .arguments = "FILE",
    .extensions = "tile|py",
    .description = "Parses a file and lists its kernels. A kernel whose types are given, by "
                   "annotations in the source or by -s, -a and -D, is also type-checked: "
                   "elaborated to Tile IR and verified.",
    .notes = HELP_ENTRIES(KERNEL_TYPES_NOTE, TARGETS_NOTE),
    .examples = HELP_ENTRIES({"The kernels of a file, one of them with its types",
                              "tilec check softmax.tile -k softmax \\\n"
                              "      -s \"*fp32, *fp32, i32, i32, i32, 1024\""}),
    OPTION_TABLE(check_options),
    .min_arguments = 1,
    .max_arguments = 1,
};

typedef enum Checked { CHECKED_PARSED, CHECKED_TYPED, CHECKED_WRONG } Checked;

static const char *const checked_text[] = {"parsed; give types with -s to check them", "checked",
                                           "wrong"};
static const char *const checked_name[] = {"parsed", "checked", "wrong"};

/* True when every parameter has a default or an annotation that is a type. */
static bool is_typed(const FuncDef *def) {
    for (uint32_t i = 0; i < def->param_count; i++) {
        const Param *param = &def->params[i];
        if (!param->default_value && (!param->annotation || ast_is_constexpr(param->annotation)))
            return false;
    }
    return true;
}

static bool has_types(const ElaborateRequest *given) {
    return given->signature.len || given->type_count || given->define_count;
}

/* `meant`: the types given are for this function. */
static Checked check_kernel(Ctx *ctx, const AstFile *syntax, const FuncDef *def, bool meant,
                            const CompileRequest *request) {
    if (!meant && !is_typed(def))
        return CHECKED_PARSED;
    ElaborateRequest kernel = request->kernel;
    if (!meant) {
        kernel.signature = (Str){0};
        kernel.type_count = kernel.define_count = 0;
    }
    kernel.kernel = def->name;
    kernel.file = syntax->file;
    kernel.capability = request->target->capability;
    Elaborated elaborated;
    unsigned errors = ctx->diags.errors;
    if (!frontend_elaborate(ctx, syntax, &kernel, &elaborated))
        return CHECKED_WRONG;
    elaborated.func->capability = kernel.capability;
    elaborated.func->deterministic = request->deterministic;
    lint_func(elaborated.func);
    return ctx->diags.errors == errors ? CHECKED_TYPED : CHECKED_WRONG;
}

static void add_result(const CheckOptions *options, const FuncDef *def, Checked checked, bool first,
                       StrBuf *out) {
    if (!options->json) {
        strbuf_printf(out, "%.*s: %s\n", STR_ARG(def->name), checked_text[checked]);
        return;
    }
    strbuf_puts(out, first ? "{\"name\": " : ", {\"name\": ");
    strbuf_json(out, def->name);
    strbuf_printf(out, ", \"state\": \"%s\"}", checked_name[checked]);
}

static void check_file(Ctx *ctx, const CheckOptions *options, const CompileRequest *request,
                       StrBuf *results) {
    uint32_t file;
    if (!compile_choose_warnings(ctx, request))
        return;
    const AstFile *syntax = compile_parse(ctx, request->path, request->text, &file);
    if (!syntax)
        return;
    const FuncDef **defs;
    uint32_t entries, count = frontend_kernels(ctx, syntax, &defs, &entries);
    Str wanted = request->kernel.kernel;
    const FuncDef *target = NULL;
    if (has_types(&request->kernel) || wanted.len || count == 0) {
        target = frontend_find_kernel(ctx, syntax, wanted);
        if (!target)
            return;
    }
    bool first = true;
    for (uint32_t i = 0; i < count; i++) {
        if (wanted.len && !str_eq(wanted, defs[i]->name))
            continue;
        bool meant = defs[i] == target && has_types(&request->kernel);
        Checked checked = check_kernel(ctx, syntax, defs[i], meant, request);
        add_result(options, defs[i], checked, first, results);
        first = false;
    }
}

int command_check(Ctx *ctx, int argc, char **argv) {
    CheckOptions options = {0};
    TextList arguments = {0};
    OptionsResult parsed =
        options_parse(&check_spec, &ctx->arena, argc, argv, &options, &arguments);
    if (parsed != OPTIONS_OK)
        return parsed == OPTIONS_HELP ? STATUS_OK : STATUS_USAGE;
    Cache cache;
    CompileRequest request;
    int status =
        cli_kernel_request(ctx, &options.kernel, arguments.data[0], NULL, &cache, &request);
    if (status == STATUS_USAGE)
        return status;
    StrBuf results = strbuf(&ctx->arena);
    if (status == STATUS_OK)
        check_file(ctx, &options, &request, &results);
    status = cli_status(ctx);
    if (!options.json) {
        cli_print_diags(ctx);
        cli_write(strbuf_str(&results));
        return status;
    }
    StrBuf out = strbuf(&ctx->arena);
    strbuf_printf(&out, "{\"ok\": %s, \"kernels\": [%.*s], \"diagnostics\": ",
                  status == STATUS_OK ? "true" : "false", STR_ARG(strbuf_str(&results)));
    diag_json(&ctx->diags, &out);
    strbuf_puts(&out, "}\n");
    cli_write(strbuf_str(&out));
    return status;
}
