/* Public API: which of a function's configurations calls use; docs/tuning.md.
 *
 * What was chosen hangs in a table beside the instances, by what the function is tuned by, and is
 * read without a lock. A call whose key is new chooses under a lock of its own: calls that are
 * tuned go on meanwhile, calls of the same key wait and find the choice. */
#include "runtime/api/function_compile.h"

#include "frontend/reach.h"
#include "runtime/compile/stack.h"
#include "runtime/driver/faults.h"
#include "runtime/tune/tune.h"

#include <stdlib.h>

typedef struct Choosing {
    Call *call;
    CompiledFunction *function;
    Asked asked; /* of the call */
    size_t count;
    const CallPlace *place;
    HostValue values[DERIVE_MAX_NAMES]; /* given */
    bool *kept;                         /* of each configuration: pruning left it */
    Str code;                           /* what the kernel depends on in its file */
    TuneCandidate *candidates;
    const TuneConfig **configs; /* of each candidate */
    uint32_t candidate_count;
    const Packed *packed; /* of the first candidate: what launches take */
    bool ok, is_chosen;
} Choosing;

/* What a call uses. */
typedef struct Chosen {
    uint32_t candidate;
    Str key;
    bool is_measured; /* for this key */
    bool is_empty;    /* the call launches nothing */
} Chosen;

/* What the source says: which configurations are left, and what its times belong to. */
static void read_source(void *user) {
    Choosing *c = user;
    Ctx *ctx = c->call->ctx;
    const tile_compile_options *options = &c->function->options;
    const Derivation *derivation = &c->function->derivation;
    const DiagMark before = diag_mark(&ctx->diags);
    CompileRequest request = {.text = text_str(options->source),
                              .path = text_dup(&ctx->arena, options->path)};
    uint32_t file;
    const AstFile *syntax = units_from_options(ctx, options, &request.kernel.units)
                                ? compile_parse_request(ctx, &request, &file)
                                : NULL;
    const FuncDef *def =
        syntax ? frontend_find_kernel(ctx, syntax, text_str(options->kernel)) : NULL;
    diag_rewind(&ctx->diags, before); /* said when the function was made */
    if (!def)
        return;
    StrBuf units = strbuf(&ctx->arena);
    units_write(&ctx->sources, file, &request.kernel.units, false, &units);
    if (options->unit_count)
        c->code = strbuf_str(&units);
    else if (!frontend_meaning(ctx, syntax, def, &c->code))
        c->code = text_str(options->source);
    const Target *target = c->asked.device->device.target;
    autotune_prune(ctx, file, def, target ? target->capability : 0, &derivation->autotune,
                   c->values, c->kept);
    c->ok = true;
}

static int32_t option_of(const Choosing *c, const TuneConfig *config, uint32_t option) {
    const HostValue value = config->values[c->function->derivation.autotune.param_count + option];
    return value.kind == HOST_INT ? (int32_t)value.i : 0;
}

/* What it is a variant of: a candidate, since the compiler's choice comes before its variants. */
static void place_variant(const Choosing *c, const TuneConfig *config, TuneCandidate *candidate) {
    const Autotune *autotune = &c->function->derivation.autotune;
    if (!config->variant_of)
        return;
    candidate->launch = (TriedLaunch){option_of(c, config, HEURISTIC_num_warps),
                                      option_of(c, config, HEURISTIC_num_stages)};
    for (uint32_t i = 0; i < c->candidate_count; i++)
        if (c->configs[i] == &autotune->configs[config->variant_of - 1])
            candidate->variant_of = i + 1;
}

/* A configuration as a candidate. False after a report. */
static bool add_candidate(Choosing *c, const TuneConfig *config) {
    Call *call = c->call;
    Arena *arena = &call->ctx->arena;
    Derivation derivation = c->function->derivation;
    Specialisation specialisation = c->asked.function->specialisation;
    TuneCandidate *candidate = &c->candidates[c->candidate_count];
    Packed *packed = ARENA_NEW(arena, Packed);
    Asked asked = c->asked;
    HostValue values[DERIVE_MAX_NAMES];
    HostError error;
    derivation.forced = config;
    specialisation.derivation = &derivation;
    if (!arguments_pack(packed, &specialisation, asked.device->number, asked.arguments, c->count))
        return false;
    asked.packed = packed;
    if (!function_request(call, c->function, &asked, &derivation, &candidate->planned.request))
        return false;
    candidate->text = autotune_text(arena, &derivation.autotune, config);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        if (!strcmp(c->candidates[i].text, candidate->text))
            return true; /* they differ in what the function's options set */
    candidate->planned.path = str_from(candidate->planned.request.path);
    if (c->place->grid)
        memcpy(candidate->grid, c->place->grid, sizeof candidate->grid);
    else if (!derive_values(&derivation, asked.arguments, c->count, config, values, &error) ||
             !grid_run(&c->function->grid, values, candidate->grid, &error))
        return host_report(call->ctx, &error);
    if (!c->packed)
        c->packed = packed;
    place_variant(c, config, candidate);
    c->configs[c->candidate_count++] = config;
    return true;
}

/* "n=1024, x=*fp32": what the function is tuned by, for records and messages. */
static Str key_text(const Choosing *c) {
    const Derivation *d = &c->function->derivation;
    Arena *arena = &c->call->ctx->arena;
    StrBuf text = strbuf(arena);
    for (uint32_t i = 0; i < d->autotune.key_count; i++) {
        HostValue value;
        if (!autotune_key_value(&d->autotune, i, c->values, &value))
            continue;
        strbuf_printf(&text, "%s%.*s=", text.len ? ", " : "",
                      STR_ARG(d->autotune.names[d->autotune.keys[i]]));
        if (value.kind == HOST_POINTER)
            strbuf_printf(&text, "*%.*s", STR_ARG(value.text));
        else
            host_print(value, &text);
    }
    uint32_t leaf_count;
    const ArgumentLeaf *leaves = argument_leaves(arena, c->asked.function->params,
                                                 c->asked.arguments, c->count, &leaf_count);
    for (uint32_t i = 0; i < leaf_count; i++)
        if (leaves[i].argument.kind == TILE_ARGUMENT_POINTER)
            strbuf_printf(&text, "%s%.*s=%s", text.len ? ", " : "", STR_ARG(leaves[i].name),
                          argument_type(arena, &leaves[i].argument));
    return strbuf_str(&text);
}

static int by_name(const void *a, const void *b) {
    const tile_named *x = a, *y = b;
    return str_order(text_str(x->name), text_str(y->name));
}

static void add_option(StrBuf *text, const char *name, Str value) {
    strbuf_printf(text, "%s%s=%.*s", text->len ? ", " : "", name, STR_ARG(value));
}

/* "num_warps=4, BLOCK=64": other options of the function that decide its code, in one order. */
static Str options_text(const Choosing *c) {
    const tile_compile_options *o = &c->function->options;
    Arena *arena = &c->call->ctx->arena;
    StrBuf text = strbuf(arena);
    const size_t count = o->constexpr_count;
    tile_named *sorted = ARENA_ARRAY(arena, tile_named, count + 1);
#define OPTION(field)                                                                              \
    if (o->field)                                                                                  \
        add_option(&text, #field, str_from(str_format(arena, "%d", (int)o->field)));
    OPTION(num_warps)
    OPTION(num_stages)
    OPTION(num_ctas)
    OPTION(max_registers)
    OPTION(max_shared)
    OPTION(no_tensor_copies)
    OPTION(no_persistence)
    OPTION(in_place)
    OPTION(no_fp_fusion)
    OPTION(debug)
    OPTION(sanitize_overflow)
    OPTION(no_ftz)
#undef OPTION
    const int32_t language = compile_asks_language(o->language);
    if (language)
        add_option(&text, "language", str_from(str_format(arena, "%d", language)));
    if (compile_asks_deterministic(o->deterministic))
        add_option(&text, "deterministic", STR("1"));
    if (count) {
        memcpy(sorted, o->constexprs, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_name);
    }
    for (size_t i = 0; i < count; i++)
        add_option(&text, str_dup(arena, text_str(sorted[i].name)), text_str(sorted[i].value));
    return strbuf_str(&text);
}

/* What this function has found for other keys on the device. */
static void list_chosen(const Choosing *c, TuneCall *tuning) {
    KeyTable *table = atomic_load(&c->function->choices);
    const uint64_t device = c->asked.device->number;
    TuneChosen *chosen = ARENA_ARRAY(&c->call->ctx->arena, TuneChosen, key_table_slots(table) + 1);
    for (size_t i = 0; i < key_table_slots(table); i++) {
        const Choice *choice = (const Choice *)key_table_at(table, i);
        /* The key begins with the device. */
        if (choice && choice->is_measured && !memcmp(choice->entry.key, &device, sizeof device))
            chosen[tuning->chosen_count++] = (TuneChosen){choice->key, choice->text};
    }
    tuning->chosen = chosen;
}

/* The memory of arguments that are reset or put back for each run. */
static void find_buffers(const Choosing *c, TuneCall *tuning) {
    const Derivation *d = &c->function->derivation;
    Arena *arena = &c->call->ctx->arena;
    tuning->buffers = ARENA_ARRAY(arena, MeasureBuffer, TILE_MAX_ARGUMENTS);
    for (size_t i = 0; i < c->count; i++) {
        const uint32_t param = d->params[i];
        uint32_t leaf_count;
        if (!d->autotune.resets[param] && !d->autotune.restores[param])
            continue;
        const ArgumentLeaf *leaves = argument_leaves(arena, &c->asked.function->params[i],
                                                     &c->asked.arguments[i], 1, &leaf_count);
        for (uint32_t k = 0; k < leaf_count; k++) {
            const tile_argument *argument = &leaves[k].argument;
            if (argument->kind != TILE_ARGUMENT_POINTER)
                continue;
            if (!argument->value.memory.bytes)
                tuning->unsized = leaves[k].name;
            tuning->buffers[tuning->buffer_count++] =
                (MeasureBuffer){.address = argument->value.address,
                                .bytes = argument->value.memory.bytes,
                                .restores = d->autotune.restores[param]};
        }
    }
}

static void say_what_was_found(const Choosing *c, const TuneCall *tuning, const Tuned *tuned) {
    Ctx *ctx = c->call->ctx;
    const TuneCandidate *best = &c->candidates[tuned->best];
    if (tuned->nearest.len) {
        ctx_diag(ctx, (Span){0}, tune_nearest, STR_ARG(tuning->subject.kernel), best->text,
                 STR_ARG(tuned->nearest), STR_ARG(tuning->subject.key));
        return;
    }
    for (uint32_t i = 0; i < c->candidate_count; i++)
        if (c->candidates[i].record.reason.len && !c->candidates[i].is_known)
            ctx_diag(ctx, (Span){0}, tune_struck, STR_ARG(tuning->subject.kernel),
                     c->candidates[i].text, STR_ARG(c->candidates[i].record.reason));
    ctx_diag(ctx, (Span){0}, tuned, STR_ARG(tuning->subject.kernel), best->text,
             best->record.ms * 1e3, tuned->measured + tuned->known, tuned->struck, tuned->known,
             STR_ARG(tuning->subject.key));
}

static bool measure(Choosing *c, Chosen *chosen) {
    Call *call = c->call;
    const Device *device = &c->asked.device->device;
    TuneCall tuning = {.subject = {.kernel = c->asked.function->name,
                                   .code = c->code,
                                   .key = key_text(c),
                                   .options = options_text(c),
                                   .device = device},
                       .cache = c->candidates[0].planned.request.cache,
                       .stream = (CUstream)c->place->stream,
                       .options = c->place->options,
                       .params = c->packed->params,
                       .param_count = c->packed->count,
                       .only_known = c->asked.function->context->strict,
                       .takes_nearest = c->function->options.tune_nearest,
                       .limit_ms = c->function->options.tune_limit_ms,
                       .watch = c->asked.function->context->tune_watch};
    Tuned tuned;
    bool pushed;
    list_chosen(c, &tuning);
    find_buffers(c, &tuning);
    if (!fault_check(device, &call->ctx->diags, DRIVER_context_push, device_enter(device, &pushed)))
        return false;
    const bool ok = tune_candidates(call->ctx, &tuning, c->candidates, c->candidate_count, &tuned);
    device_leave(device, pushed);
    if (!ok)
        return false;
    if (!tuned.is_empty)
        say_what_was_found(c, &tuning, &tuned);
    *chosen = (Chosen){tuned.best, tuning.subject.key, !tuned.nearest.len, tuned.is_empty};
    return true;
}

/* Of a device that is this machine, whose times say nothing. */
static void take_first(const Choosing *c, Chosen *chosen) {
    const Str name = c->asked.function->name;
    *chosen = (Chosen){.key = key_text(c)};
    ctx_diag(c->call->ctx, (Span){0}, host_tuned, STR_ARG(name), c->candidates[0].text,
             c->asked.device->device.name);
}

static void publish(Choosing *c, const Chosen *chosen) {
    Call *call = c->call;
    ChoiceKey *key = ARENA_NEW(&call->ctx->arena, ChoiceKey);
    CompiledFunction *function = c->function;
    derive_choice_key(&function->derivation, c->asked.device->number, c->asked.arguments, c->count,
                      c->values, key);
    KeyTable *table = key_table_reserve(&function->choices, &call->ctx->arena);
    Choice *choice = ARENA_NEW(&call->object, Choice);
    unsigned char *kept = arena_alloc(&call->object, key->size);
    memcpy(kept, key->bytes, key->size);
    choice->entry = (KeyEntry){key_hash(kept, key->size), kept, key->size};
    choice->config = c->configs[chosen->candidate];
    choice->key = str_keep(&call->object, chosen->key);
    choice->text = str_dup(&call->object, str_from(c->candidates[chosen->candidate].text));
    choice->is_measured = chosen->is_measured;
    call_keep(call, &choice->arena);
    key_table_place(table, &choice->entry);
}

static void choose(Choosing *c) {
    const Autotune *autotune = &c->function->derivation.autotune;
    Arena *arena = &c->call->ctx->arena;
    Chosen chosen = {0};
    c->kept = ARENA_ARRAY(arena, bool, autotune->count);
    c->candidates = ARENA_ARRAY(arena, TuneCandidate, autotune->count);
    c->configs = (const TuneConfig **)arena_array(arena, autotune->count, sizeof *c->configs);
    if (!stack_run(c->call->ctx, read_source, c) || !c->ok)
        return;
    for (uint32_t i = 0; i < autotune->count; i++)
        if (c->kept[i] && !add_candidate(c, &autotune->configs[i]))
            return;
    if (!c->candidate_count) {
        ctx_diag(c->call->ctx, (Span){0}, tune_pruned, STR_ARG(c->asked.function->name));
        return;
    }
    const TuneWatch *watch = c->asked.function->context->tune_watch;
    if (c->candidate_count > 1 && c->asked.device->host_calls)
        take_first(c, &chosen);
    else if (c->candidate_count > 1 && !measure(c, &chosen))
        return;
    if (c->candidate_count == 1 && watch)
        watch->found(watch->user, c->candidates, 1, &(Tuned){.best = 0});
    if (chosen.is_empty && c->place->launches)
        return;
    publish(c, &chosen);
    c->is_chosen = true;
}

/* Under the lock: unless another thread has chosen meanwhile. Whatever runs out of memory goes by
 * the unlocking. */
static void choose_once(void *user) {
    Choosing *c = user;
    c->call->object.oom = c->call->ctx->arena.oom;
    c->is_chosen = derive_config(&c->function->derivation, c->asked.device->number,
                                 c->asked.arguments, c->count, c->values) != NULL;
    if (!c->is_chosen)
        choose(c);
}

static void unlock(void *user) {
    Choosing *c = user;
    c->call->object.oom = c->call->ctx->arena.oom;
    pthread_mutex_unlock(&c->function->tuning_lock);
}

bool function_tune(Call *call, const Asked *asked, size_t count, const CallPlace *place) {
    CompiledFunction *function = (CompiledFunction *)asked->function;
    if (!place->grid && !function->grid.rank)
        return ctx_diag(call->ctx, (Span){0}, tune_no_grid, STR_ARG(asked->function->name));
    Choosing *c = ARENA_NEW(&call->ctx->arena, Choosing);
    *c = (Choosing){
        .call = call, .function = function, .asked = *asked, .count = count, .place = place};
    derive_given(&function->derivation, asked->arguments, count, c->values);
    pthread_mutex_lock(&function->tuning_lock);
    ctx_finally(call->ctx, choose_once, unlock, c);
    return c->is_chosen;
}
