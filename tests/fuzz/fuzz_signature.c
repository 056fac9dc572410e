/* Signatures, types and values given by name, for one of a few fixed kernels. A line of the input:
 *
 *     k <kernel>    a <name>=<type>    D <name>=<literal>    s <signature>    g    (-g, assertions)
 *
 * Beyond not crashing: what is refused has a message inside its source; what is accepted verifies,
 * and the parameters it is described by, given back as types and values, make the same Tile IR. */
#include "frontend/frontend.h"
#include "fuzz.h"

enum { MAX_NAMED = 16 };

static const char kernels[] =
    "import triton\n"
    "import triton.language as tl\n"
    "LIMIT: tl.constexpr = 64\n"
    "@triton.jit\n"
    "def twice(x):\n"
    "    return x + x\n"
    "@triton.jit\n"
    "def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    x = tl.load(x_ptr + i, mask=i < n)\n"
    "    tl.store(y_ptr + i, x + 1, mask=i < n)\n"
    "@triton.jit\n"
    "def annotated(p: '*fp16', n: tl.int64, scale: 'fp32' = 2.0, MODE: tl.constexpr = 'max'):\n"
    "    tl.static_assert(MODE == 'max' or MODE == 'sum', 'MODE')\n"
    "    x = tl.load(p + n).to(tl.float32) * scale\n"
    "    tl.store(p + n, x if MODE == 'max' else 0.0)\n"
    "@triton.jit(do_not_specialize=['n', 2])\n"
    "def frozen(p, n, m):\n"
    "    for i in range(n):\n"
    "        tl.store(p + i, m)\n"
    "@triton.jit\n"
    "def general(p, D: tl.constexpr = tl.float16, F: tl.constexpr = twice, T: tl.constexpr = "
    "(1,),\n"
    "            N: tl.constexpr = None, X=3):\n"
    "    v = tl.load(p)\n"
    "    if N is not None:\n"
    "        v = v + N\n"
    "    for t in tl.static_range(len(T)):\n"
    "        v = v * T[t]\n"
    "    tl.store(p, (F(v) + X).to(D))\n"
    "@triton.jit\n"
    "def unused(a, b, c, d: tl.constexpr, e: tl.constexpr = LIMIT):\n"
    "    pass\n";

typedef struct Texts {
    ElaborateRequest request;
    NamedText types[MAX_NAMED], defines[MAX_NAMED];
} Texts;

static void add_named(Str line, NamedText *list, uint32_t *count) {
    const char *equals = line.len ? memchr(line.ptr, '=', line.len) : NULL;
    if (!equals || *count == MAX_NAMED)
        return;
    size_t len = (size_t)(equals - line.ptr);
    list[(*count)++] = (NamedText){{line.ptr, len}, {equals + 1, line.len - len - 1}};
}

static void read_line(Texts *texts, Str line) {
    ElaborateRequest *request = &texts->request;
    char kind = line.len ? line.ptr[0] : 0;
    Str rest = line.len >= 2 ? (Str){line.ptr + 2, line.len - 2} : STR("");
    if (kind == 'k')
        request->kernel = rest;
    else if (kind == 'a')
        add_named(rest, texts->types, &request->type_count);
    else if (kind == 'D')
        add_named(rest, texts->defines, &request->define_count);
    else if (kind == 's')
        request->signature = rest;
    else if (kind == 'g')
        request->debug = true;
}

static void read_texts(Texts *texts, Str input) {
    texts->request.types = texts->types;
    texts->request.defines = texts->defines;
    for (size_t start = 0; start < input.len;) {
        const char *end = memchr(input.ptr + start, '\n', input.len - start);
        size_t stop = end ? (size_t)(end - input.ptr) : input.len;
        read_line(texts, (Str){input.ptr + start, stop - start});
        start = stop + 1;
    }
}

static Str print(const Module *module) {
    StrBuf out = strbuf(&module->ctx->arena);
    module_print(module, NULL, &out);
    return strbuf_str(&out);
}

static void check_messages(Ctx *ctx) {
    for (const Diagnostic *d = ctx->diags.first; d; d = d->next) {
        const Source *source = source_get(&ctx->sources, d->span.file);
        FUZZ_CHECK(d->span.lo <= d->span.hi && (!source || d->span.hi <= source->text.len + 3));
    }
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
    diag_json(&ctx->diags, &text);
}

/* The parameters as they were described: types as -a, values as -D. */
static void describe(Ctx *ctx, const Elaborated *kernel, Texts *again) {
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const KernelParam *param = &kernel->params[i];
        const char *hint = "";
        if (param->divisible > 1)
            hint = str_format(&ctx->arena, ":%lld", (long long)param->divisible);
        if (param->is_fixed)
            hint = str_format(&ctx->arena, ":=%lld", (long long)param->fixed);
        const char *text = str_format(&ctx->arena, "%.*s%s", STR_ARG(param->text), hint);
        NamedText named = {param->name, str_from(text)};
        if (param->is_constexpr)
            again->defines[again->request.define_count++] = named;
        else
            again->types[again->request.type_count++] = named;
    }
}

/* The text of a value is a literal of the language unless it holds a function of the file, or a
 * type that only the compiler can name. Tuples and descriptors are described by their parts. */
static bool has_literals(const Elaborated *kernel) {
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const KernelParam *param = &kernel->params[i];
        if (memchr(param->name.ptr, '.', param->name.len))
            return false;
        for (size_t c = 0; param->is_constexpr && c < param->text.len; c++)
            if (strchr("<*[", param->text.ptr[c]))
                return false;
    }
    return true;
}

static void check_again(Ctx *ctx, const AstFile *syntax, const Texts *texts,
                        const Elaborated *kernel) {
    Texts again = {.request = {.file = texts->request.file,
                               .kernel = kernel->def->name,
                               .debug = texts->request.debug}};
    again.request.types = again.types;
    again.request.defines = again.defines;
    describe(ctx, kernel, &again);
    Elaborated second;
    FUZZ_CHECK(frontend_elaborate(ctx, syntax, &again.request, &second));
    FUZZ_CHECK(second.param_count == kernel->param_count);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const KernelParam *a = &kernel->params[i], *b = &second.params[i];
        FUZZ_CHECK(str_eq(a->text, b->text) && a->is_constexpr == b->is_constexpr &&
                   a->is_fixed == b->is_fixed && a->fixed == b->fixed &&
                   a->divisible == b->divisible);
    }
    FUZZ_CHECK(str_eq(print(kernel->module), print(second.module)));
}

static void check(Ctx *ctx, Str input) {
    Texts *texts = ARENA_NEW(&ctx->arena, Texts);
    read_texts(texts, input);
    texts->request.file = source_add(&ctx->sources, STR("kernels.tile"), str_from(kernels));
    const AstFile *syntax = parse_file(&ctx->diags, texts->request.file);
    FUZZ_CHECK(ctx->diags.errors == 0);
    Elaborated kernel;
    bool ok = frontend_elaborate(ctx, syntax, &texts->request, &kernel);
    FUZZ_CHECK(ok == (ctx->diags.errors == 0));
    check_messages(ctx);
    if (ok) {
        FUZZ_CHECK(module_verify(kernel.module));
        if (has_literals(&kernel))
            check_again(ctx, syntax, texts, &kernel);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Ctx *ctx = ctx_create();
    FUZZ_CHECK(ctx);
    ctx->arena.oom = ctx->scratch.oom = NULL; /* running out of memory aborts */
    ctx->arena.limit = (size_t)512 << 20;
    check(ctx, (Str){(const char *)data, size});
    ctx_destroy(ctx);
    return 0;
}
