/* Any bytes as a source file, of which every kernel is compiled as far as the simplified Tile IR.
 * Parameters without a type get one by the signature in the file's first "#:" line, else pointers
 * where the name says so, else i32; constexprs without a value get 16.
 *
 * Beyond not crashing: what is refused has a message with places inside the sources, what is
 * accepted verifies, before and after simplify, and prints as text that parses back the same.
 * No input takes long or much memory: the elaborator gives up with a message first. Memory is
 * bounded here, time by what runs this (-timeout of libFuzzer, TIMEOUT of CTest): a loaded machine
 * is no finding. */
#include "frontend/frontend.h"
#include "fuzz.h"
#include "passes/passes.h"

enum { MAX_KERNELS = 8, MAX_TYPES = 32, MEMORY_LIMIT_MIB = 512 };

/* The rest of the line that starts with "#:". */
static Str signature_line(Str text) {
    for (size_t i = 0; i + 1 < text.len; i++) {
        bool line_start = i == 0 || text.ptr[i - 1] == '\n';
        if (!line_start || text.ptr[i] != '#' || text.ptr[i + 1] != ':')
            continue;
        const char *start = text.ptr + i + 2;
        const char *end = memchr(start, '\n', text.len - i - 2);
        return (Str){start, end ? (size_t)(end - start) : text.len - i - 2};
    }
    return STR("");
}

static bool is_constexpr(const Param *param) {
    const Expr *annotation = param->annotation;
    return annotation && annotation->kind == EXPR_attribute &&
           str_is(annotation->u.attribute.name, "constexpr");
}

static bool is_pointer_name(Str name) {
    return name.len && (name.ptr[0] == 'p' || name.ptr[name.len - 1] == 'r' ||
                        str_is(name, "out") || str_is(name, "x") || str_is(name, "y"));
}

static void guess_types(const FuncDef *def, NamedText *types, NamedText *defines,
                        ElaborateRequest *request) {
    for (uint32_t i = 0; i < def->param_count && i < MAX_TYPES; i++) {
        const Param *param = &def->params[i];
        if (param->default_value)
            continue;
        if (is_constexpr(param))
            defines[request->define_count++] = (NamedText){param->name, STR("16")};
        else
            types[request->type_count++] = (NamedText){
                param->name, is_pointer_name(param->name) ? STR("*fp32:16") : STR("i32")};
    }
}

static Str print(const Module *module) {
    StrBuf out = strbuf(&module->ctx->arena);
    module_print(module, NULL, &out);
    return strbuf_str(&out);
}

static void check_text(Ctx *ctx, const Module *module) {
    Str text = print(module);
    Module *again = module_parse(ctx, source_add(&ctx->sources, STR("printed.tir"), text));
    FUZZ_CHECK(again && str_eq(print(again), text));
}

static void check_messages(Ctx *ctx) {
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
        const Source *source = source_get(&ctx->sources, d->span.file);
        FUZZ_CHECK(d->span.lo <= d->span.hi && (!source || d->span.hi <= source->text.len + 3));
    }
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
}

static void check_kernel(Ctx *ctx, const AstFile *syntax, uint32_t file, const FuncDef *def) {
    NamedText types[MAX_TYPES], defines[MAX_TYPES];
    ElaborateRequest request = {.file = file,
                                .kernel = def->name,
                                .signature = signature_line(source_get(&ctx->sources, file)->text),
                                .types = types,
                                .defines = defines,
                                .capability = 90,
                                .debug = true};
    if (!request.signature.len)
        guess_types(def, types, defines, &request);
    Elaborated kernel;
    ctx->diags = (Diags){.arena = &ctx->arena, .sources = &ctx->sources};
    bool ok = frontend_elaborate(ctx, syntax, &request, &kernel);
    FUZZ_CHECK(ok == (ctx->diags.errors == 0));
    check_messages(ctx);
    if (!ok)
        return;
    FUZZ_CHECK(module_verify(kernel.module));
    check_text(ctx, kernel.module);
    pass_simplify(kernel.func);
    FUZZ_CHECK(module_verify(kernel.module));
    check_text(ctx, kernel.module);
}

/* The kernel at `index` of the file, in a context of its own. False: there are no more. */
static bool run(Str text, uint32_t index) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    ctx->arena.limit = (size_t)MEMORY_LIMIT_MIB << 20;
    uint32_t file = source_add(&ctx->sources, STR("input.tile"), text);
    const AstFile *syntax = parse_file(&ctx->diags, file);
    const FuncDef **kernels = NULL;
    uint32_t entries,
        count = ctx->diags.errors ? 0 : frontend_kernels(ctx, syntax, &kernels, &entries);
    if (index < count)
        check_kernel(ctx, syntax, file, kernels[index]);
    ctx_destroy(ctx);
    return index + 1 < count && index + 1 < MAX_KERNELS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (uint32_t i = 0; run((Str){(const char *)data, size}, i); i++)
        continue;
    return 0;
}
