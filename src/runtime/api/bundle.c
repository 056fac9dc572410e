/* Public API: bundles, and functions whose instances they have. */
#include "runtime/api/function.h"
#include "runtime/launch/variants.h"
#include "runtime/status.h"
#include "support/file.h"

struct tile_bundle {
    Arena arena;
    tile_context *context;
    const char *name; /* in messages */
    Bundle bundle;
    tile_kernel *kernels; /* one a variant */
};

typedef struct BundledFunction {
    tile_function function; /* first: what the API hands out */
    tile_bundle *bundle;
    const Variant **variants; /* of the kernel, compiled with the options */
    uint32_t variant_count;
    NamedLiteral *constexprs; /* which hold for every call */
    size_t constexpr_count;
} BundledFunction;

/* Opening */

enum { BUNDLE_SIZE_LIMIT = 1 << 30 };

/* The bytes where they may stay. */
static bool bundle_bytes(Call *call, const tile_bundle_options *options, const char *name,
                         Str *bytes) {
    Arena *arena = &call->object;
    *bytes = (Str){options->data, options->data_size};
    if (!options->data) {
        int error = file_read(&call->ctx->arena, name, BUNDLE_SIZE_LIMIT, bytes);
        if (error)
            return report_unreadable(&call->ctx->diags, name, error);
    }
    if (options->data && (uintptr_t)options->data % BUNDLE_ALIGNMENT == 0)
        return true;
    char *room = arena_alloc(arena, bytes->len + BUNDLE_ALIGNMENT);
    room += -(uintptr_t)room % BUNDLE_ALIGNMENT;
    if (bytes->len)
        memcpy(room, bytes->ptr, bytes->len);
    bytes->ptr = room;
    return true;
}

static bool check_content(Call *call, const char *name, const Bundle *bundle, Str bytes,
                          Str wanted) {
    return !wanted.len || bundle_is_signed(bundle, bytes, wanted) ||
           ctx_diag(call->ctx, (Span){0}, bundle_content, name, bundle->sha256, STR_ARG(wanted));
}

static void take_variant(const Variant *variant, tile_kernel *kernel) {
    kernel->facts = variant->facts;
    kernel->outputs[TILE_OUTPUT_CUBIN] = variant->cubin;
    kernel->outputs[TILE_OUTPUT_PTX] = variant->ptx;
}

static bool open_bundle(Call *call, const tile_bundle_options *options, tile_bundle *made) {
    Arena *arena = &call->object;
    Str bytes;
    made->name = options->path.size ? text_dup(arena, options->path) : "<bundle>";
    if (!bundle_bytes(call, options, made->name, &bytes) ||
        !bundle_read(arena, &call->ctx->diags, made->name, bytes, &made->bundle) ||
        !check_content(call, made->name, &made->bundle, bytes, text_str(options->sha256)))
        return false;
    made->kernels = ARENA_ARRAY(arena, tile_kernel, made->bundle.count + 1);
    for (uint32_t i = 0; i < made->bundle.count; i++)
        take_variant(&made->bundle.variants[i], &made->kernels[i]);
    return true;
}

tile_status tile_bundle_open(tile_context *context, const tile_bundle_options *given,
                             tile_bundle **bundle, tile_diagnostics **diagnostics) {
    tile_bundle_options options;
    if (!context || !bundle || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size) ||
        (!options.data && !options.path.size) ||
        (options.sha256.size && options.sha256.size != SHA256_TEXT_SIZE - 1))
        return invalid_argument(diagnostics);
    Call *call = call_begin(context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    tile_bundle *made = ARENA_NEW(&call->object, tile_bundle);
    made->context = context;
    if (open_bundle(call, &options, made)) {
        call_keep(call, &made->arena);
        *bundle = made;
    }
    return call_end(call, TILE_OK);
}

void tile_bundle_close(tile_bundle *bundle) {
    if (!bundle)
        return;
    Arena arena = bundle->arena;
    arena_free(&arena);
}

tile_status tile_bundle_get_info(const tile_bundle *bundle, tile_bundle_info *info) {
    if (!bundle || !info)
        return TILE_ERROR_INVALID_ARGUMENT;
    const tile_bundle_info known = {.variant_count = bundle->bundle.count,
                                    .sha256 = text_of(str_from(bundle->bundle.sha256))};
    return info_copy(info, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

tile_status tile_bundle_get_variant(const tile_bundle *bundle, size_t index,
                                    const tile_kernel **kernel, tile_variant_info *info) {
    if (!bundle || !kernel || index >= bundle->bundle.count)
        return TILE_ERROR_INVALID_ARGUMENT;
    const Variant *variant = &bundle->bundle.variants[index];
    const tile_variant_info known = {.path = text_of(variant->path),
                                     .num_warps = variant->num_warps,
                                     .num_stages = variant->num_stages,
                                     .num_ctas = variant->num_ctas,
                                     .is_other_form = (variant->forms & FORM_PLAIN) != 0,
                                     .is_in_place = (variant->forms & FORM_IN_PLACE) != 0};
    if (info && !info_copy(info, &known, sizeof known))
        return TILE_ERROR_INVALID_ARGUMENT;
    *kernel = &bundle->kernels[index];
    return TILE_OK;
}

/* Functions */

/* NULL after a report. */
static const Variant *find_variant(Call *call, const Asked *asked, unsigned forms) {
    const BundledFunction *function = (const BundledFunction *)asked->function;
    uint32_t count;
    const ArgumentLeaf *leaves = argument_leaves(&call->ctx->arena, function->function.params,
                                                 asked->arguments, asked->packed->given, &count);
    const VariantCall wanted = {.device = &asked->device->device,
                                .arguments = leaves,
                                .count = count,
                                .constexprs = function->constexprs,
                                .constexpr_count = function->constexpr_count,
                                .forms = forms};
    const Variant *variant = variants_choose(function->variants, function->variant_count, &wanted);
    if (!variant)
        ctx_diag(call->ctx, (Span){0}, bundle_no_variant, STR_ARG(function->function.name),
                 variants_explain(&call->ctx->arena, function->variants, function->variant_count,
                                  &wanted));
    return variant;
}

static bool find_in_bundle(Call *call, const Asked *asked, unsigned forms, InstanceImage *found) {
    const Variant *variant = find_variant(call, asked, forms);
    if (!variant)
        return false;
    *found = (InstanceImage){.image = facts_image(&call->ctx->arena, &variant->facts,
                                                  variant_code(variant, &asked->device->device)),
                             .origin = variant};
    return true;
}

/* Which has code, and no other outputs. */
static tile_status kernel_in_bundle(Call *call, const Asked *asked, unsigned forms, uint32_t want,
                                    tile_kernel **kernel) {
    const Variant *variant = find_variant(call, asked, forms);
    tile_kernel found = {0};
    if (!variant)
        return TILE_OK;
    take_variant(variant, &found);
    return kernel_create(asked->function->context, &found, kernel);
}

/* The options say nothing of how to compile. */
static bool options_choose_only(const tile_compile_options *o) {
    return !o->source.data && !o->signature.size && !o->type_count && !o->search_path_count &&
           !o->target.size && !o->device && !o->max_registers && !o->want && !o->dump_folder.size &&
           !o->no_line_info && !o->no_fp_fusion && !o->no_cache && !o->debug &&
           !o->sanitize_overflow && !o->no_ftz && !o->deterministic && !o->language &&
           !o->entry_name.size && !o->no_persistence && !o->max_shared && !o->isolated &&
           !o->warning_count && !o->cancellation && !o->tune_nearest && !o->tune_limit_ms &&
           !o->tune_count && !o->tune_generated && !o->files && !o->file_count && !o->read_file &&
           !o->full_paths && !o->grid.size && (o->constexprs || !o->constexpr_count);
}

static bool is_asked(int32_t wanted, int32_t given) {
    return !wanted || wanted == given;
}

static bool options_fit(const tile_compile_options *options, const Variant *variant) {
    const KernelMeta *meta = &variant->facts.meta;
    return (is_asked(options->num_warps, variant->num_warps) ||
            is_asked(options->num_warps, meta->num_warps)) &&
           is_asked(options->num_stages, variant->num_stages) &&
           (is_asked(options->num_ctas, variant->num_ctas) ||
            is_asked(options->num_ctas, meta->num_ctas)) &&
           (!options->plain_abi || meta->plain_abi) &&
           (!options->no_tensor_copies || !meta->tensor_maps.len) &&
           (!options->in_place || !meta->apart.len);
}

static void list_kernels(const Bundle *bundle, StrBuf *list) {
    for (uint32_t i = 0; i < bundle->count; i++) {
        const Str name = bundle->variants[i].facts.meta.name;
        bool is_new = true;
        for (uint32_t j = 0; j < i && is_new; j++)
            is_new = !str_eq(bundle->variants[j].facts.meta.name, name);
        if (is_new)
            strbuf_printf(list, "%s%.*s", list->len ? ", " : "", STR_ARG(name));
    }
}

/* The variants of the kernel that the options mean; false after a report. */
static bool choose_kernel(Call *call, const tile_compile_options *options,
                          BundledFunction *function) {
    const tile_bundle *bundle = function->bundle;
    const Str wanted = text_str(options->kernel), path = text_str(options->path);
    const Variant *first = NULL;
    bool is_one = true;
    for (uint32_t i = 0; i < bundle->bundle.count; i++) {
        const Variant *variant = &bundle->bundle.variants[i];
        if ((wanted.len && !str_eq(wanted, variant->facts.meta.name)) ||
            (path.len && !str_eq(path, variant->path)))
            continue;
        first = first ? first : variant;
        is_one &= str_eq(first->facts.meta.name, variant->facts.meta.name);
        if (is_one && !str_eq(first->path, variant->path))
            return ctx_diag(call->ctx, (Span){0}, bundle_which_source,
                            STR_ARG(first->facts.meta.name), bundle->name, STR_ARG(first->path),
                            STR_ARG(variant->path));
        if (options_fit(options, variant))
            function->variants[function->variant_count++] = variant;
    }
    if (!first || !is_one) {
        StrBuf known = strbuf(&call->ctx->arena);
        list_kernels(&bundle->bundle, &known);
        if (first)
            return ctx_diag(call->ctx, (Span){0}, bundle_which_kernel, bundle->name, known.ptr);
        return ctx_diag(call->ctx, (Span){0}, bundle_kernel, STR_ARG(wanted), bundle->name,
                        known.ptr ? known.ptr : "none");
    }
    function->function.name = first->facts.meta.name;
    return function->variant_count || ctx_diag(call->ctx, (Span){0}, bundle_options,
                                               STR_ARG(function->function.name), bundle->name);
}

static bool holds(const BundledFunction *function, Str name) {
    for (size_t i = 0; i < function->constexpr_count; i++)
        if (str_eq(function->constexprs[i].name, name))
            return true;
    return false;
}

static bool check_constexprs(Call *call, const BundledFunction *function) {
    const KernelFacts *facts = &function->variants[0]->facts;
    for (size_t i = 0; i < function->constexpr_count; i++) {
        const Str name = function->constexprs[i].name;
        bool found = false;
        for (uint32_t j = 0; j < facts->param_count; j++)
            found |= str_eq(facts->params[j].name, name);
        if (!found)
            return ctx_diag(call->ctx, (Span){0}, bundle_constexpr,
                            STR_ARG(function->function.name), function->bundle->name,
                            STR_ARG(name));
    }
    return true;
}

/* The parameter that a value belongs to: of "x.0", of "x.shape.1", x. */
static Str root_of(Str name) {
    const char *dot = memchr(name.ptr, '.', name.len);
    return dot ? (Str){name.ptr, (size_t)(dot - name.ptr)} : name;
}

/* What variants fix the values `first` up to `end` to. */
static FixedValues fixed_values(Arena *arena, const BundledFunction *function, uint32_t first,
                                uint32_t end) {
    int64_t *values =
        ARENA_ARRAY(arena, int64_t, (size_t)function->variant_count * (end - first) + 1);
    size_t count = 0;
    for (uint32_t i = 0; i < function->variant_count; i++)
        for (uint32_t p = first; p < end; p++) {
            const KernelParam *param = &function->variants[i]->facts.params[p];
            if (param->is_fixed)
                values[count++] = param->fixed;
        }
    return (FixedValues){values, count};
}

/* Some variant took the parameter's default. */
static bool may_leave_out(const BundledFunction *function, uint32_t param) {
    for (uint32_t i = 0; i < function->variant_count; i++)
        if (function->variants[i]->facts.params[param].is_default)
            return true;
    return false;
}

/* Variants of one source have the same parameters, by what they are compiled from; a bundle made
 * otherwise is refused. */
static bool same_params(Call *call, const BundledFunction *function) {
    const KernelFacts *first = &function->variants[0]->facts;
    for (uint32_t i = 1; i < function->variant_count; i++) {
        const KernelFacts *facts = &function->variants[i]->facts;
        bool same = facts->param_count == first->param_count;
        for (uint32_t j = 0; same && j < first->param_count; j++)
            same = str_eq(facts->params[j].name, first->params[j].name);
        if (!same)
            return ctx_diag(call->ctx, (Span){0}, bundle_invalid, function->bundle->name,
                            "variants of one kernel differ in their parameters");
    }
    return true;
}

static void keep_params(Arena *arena, BundledFunction *made) {
    tile_function *function = &made->function;
    const KernelFacts *facts = &made->variants[0]->facts;
    FixedValues *fixed = ARENA_ARRAY(arena, FixedValues, facts->param_count + 1);
    function->params = ARENA_ARRAY(arena, Str, facts->param_count + 1);
    for (uint32_t i = 0, end = 0; i < facts->param_count; i = end) {
        const Str name = root_of(facts->params[i].name);
        for (end = i + 1; end < facts->param_count; end++)
            if (!str_eq(root_of(facts->params[end].name), name))
                break;
        if (holds(made, name))
            continue;
        fixed[function->param_count] = fixed_values(arena, made, i, end);
        function->params[function->param_count++] = name;
        if (!may_leave_out(made, i))
            function->required_count = function->param_count;
    }
    function->specialisation.fixed = fixed;
}

static tile_status build_function(Call *call, tile_bundle *bundle,
                                  const tile_compile_options *options, tile_function **function) {
    Arena *arena = &call->object;
    BundledFunction *made = ARENA_NEW(arena, BundledFunction);
    made->function.context = bundle->context;
    made->function.find = find_in_bundle;
    made->function.find_kernel = kernel_in_bundle;
    made->bundle = bundle;
    made->variants = ARENA_ARRAY(arena, const Variant *, bundle->bundle.count + 1);
    made->constexprs = ARENA_ARRAY(arena, NamedLiteral, options->constexpr_count + 1);
    for (; made->constexpr_count < options->constexpr_count; made->constexpr_count++) {
        const tile_named *given = &options->constexprs[made->constexpr_count];
        made->constexprs[made->constexpr_count] = (NamedLiteral){
            str_keep(arena, text_str(given->name)), str_keep(arena, text_str(given->value))};
    }
    if (!choose_kernel(call, options, made) || !same_params(call, made) ||
        !check_constexprs(call, made))
        return TILE_OK;
    keep_params(arena, made);
    return function_open(call, &made->function, function);
}

tile_status tile_bundle_function(tile_bundle *bundle, const tile_compile_options *given,
                                 tile_function **function, tile_diagnostics **diagnostics) {
    tile_compile_options options;
    if (!bundle || !function || !given ||
        !options_copy(&options, sizeof options, given, sizeof options.size) ||
        !options_choose_only(&options))
        return invalid_argument(diagnostics);
    Call *call = call_begin(bundle->context, diagnostics);
    if (!call || setjmp(call->ctx->oom))
        return call_end(call, TILE_ERROR_OUT_OF_MEMORY);
    return call_end(call, build_function(call, bundle, &options, function));
}
