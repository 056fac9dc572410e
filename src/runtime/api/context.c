/* Public API: contexts, diagnostics, and what every call needs. */
#include "runtime/api/api.h"
#include "runtime/driver/faults.h"
#include "runtime/status.h"

struct tile_diagnostics {
    Arena arena;
    tile_diagnostics *earlier; /* whose texts stand in this list, too; NULL: none */
    tile_diagnostic *items;
    size_t count;
    tile_text text, json;
};

#define NUMBER_TEXT(number) #number
#define VERSION_TEXT(major, minor, patch)                                                          \
    NUMBER_TEXT(major) "." NUMBER_TEXT(minor) "." NUMBER_TEXT(patch)

const char *tile_version(void) {
    return VERSION_TEXT(TILE_VERSION_MAJOR, TILE_VERSION_MINOR, TILE_VERSION_PATCH);
}

const char *text_dup(Arena *arena, tile_text text) {
    return text.data && text.size ? str_dup(arena, text_str(text)) : NULL;
}

Str text_str(tile_text text) {
    return (Str){text.data ? text.data : "", text.data ? text.size : 0};
}

tile_text text_of(Str text) {
    tile_text result = {text.ptr, text.len};
    return result;
}

static tile_text text_copy(Arena *arena, Str text) {
    return text_of((Str){str_dup(arena, text), text.len});
}

bool options_copy(void *to, size_t to_size, const void *from, size_t minimum) {
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < minimum)
        return false;
    memset(to, 0, to_size);
    memcpy(to, from, size < to_size ? size : to_size);
    return true;
}

bool info_copy(void *to, const void *from, size_t from_size) {
    size_t size;
    memcpy(&size, to, sizeof size);
    if (size <= sizeof size)
        return false;
    size_t known = size < from_size ? size : from_size;
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, known - sizeof size);
    if (size > known)
        memset((char *)to + known, 0, size - known);
    return true;
}

/* Contexts */

/* Without functions where it is none: of another size, or one of them is missing. */
static Allocator read_allocator(const tile_allocator *given) {
    tile_allocator known = {.size = sizeof known};
    if (!given || !options_copy(&known, sizeof known, given, sizeof known) || !known.allocate ||
        !known.reallocate || !known.release)
        return (Allocator){0};
    return (Allocator){known.allocate, known.reallocate, known.release, known.user};
}

tile_status tile_context_create(const tile_context_options *given, tile_context **context) {
    tile_context_options options = {.size = sizeof options};
    if (!context || (given && !options_copy(&options, sizeof options, given, sizeof options.size)))
        return TILE_ERROR_INVALID_ARGUMENT;
    const Allocator allocator = read_allocator(options.allocator);
    if (options.allocator && !allocator.allocate)
        return TILE_ERROR_INVALID_ARGUMENT;
    jmp_buf oom;
    Arena arena = {.oom = &oom, .allocator = options.allocator ? &allocator : NULL};
    if (setjmp(oom)) {
        arena_free(&arena);
        return TILE_ERROR_OUT_OF_MEMORY;
    }
    tile_context *made = ARENA_NEW(&arena, tile_context);
    made->allocator = allocator;
    made->cache_config = (CacheConfig){.folder = text_dup(&arena, options.cache_folder),
                                       .max_bytes = options.cache_max_bytes,
                                       .trusted = text_dup(&arena, options.trusted_caches),
                                       .wait_ms = options.cache_wait_ms,
                                       .remote = text_dup(&arena, options.remote_cache),
                                       .remote_key = text_dup(&arena, options.remote_cache_key)};
    made->ptxas = text_dup(&arena, options.ptxas);
    made->cuda_library = text_dup(&arena, options.cuda_library);
    made->memory_limit = options.memory_limit;
    made->time_limit_ms = options.time_limit_ms;
    made->compile_limit_ms = options.compile_limit_ms;
    made->worker = text_dup(&arena, options.worker);
    made->log = options.log;
    made->log_user = options.log_user;
    made->check_launches = options.check_launches;
    made->strict = options.strict;
    made->watch = options.watch;
    made->watch_user = options.watch_user;
    made->record = text_dup(&arena, options.record);
    for (int i = 0; i <= TILE_FAILED; i++)
        atomic_init(&made->counts[i], 0);
    atomic_init(&made->has_driver, false);
    atomic_init(&made->has_cache, false);
    atomic_init(&made->devices, 0);
    if (pthread_mutex_init(&made->lock, NULL))
        longjmp(oom, 1);
    made->arena = arena;
    made->arena.oom = NULL;
    made->arena.allocator = options.allocator ? &made->allocator : NULL;
    *context = made;
    return TILE_OK;
}

void tile_context_destroy(tile_context *context) {
    if (!context)
        return;
    if (atomic_load(&context->has_driver))
        driver_close(&context->driver);
    if (context->close_cache)
        context->close_cache(&context->cache);
    if (context->end_recording)
        context->end_recording(context->recording);
    pthread_mutex_destroy(&context->lock);
    const Allocator allocator = context->allocator; /* which lies in what it frees */
    Arena arena = context->arena;
    arena.allocator = arena.allocator ? &allocator : NULL;
    arena_free(&arena);
}

tile_status tile_context_get_counts(const tile_context *context, tile_context_counts *counts) {
    if (!context || !counts)
        return TILE_ERROR_INVALID_ARGUMENT;
    const tile_context_counts known = {.found = atomic_load(&context->counts[TILE_FOUND]),
                                       .compiled = atomic_load(&context->counts[TILE_COMPILED]),
                                       .refused = atomic_load(&context->counts[TILE_REFUSED]),
                                       .failed = atomic_load(&context->counts[TILE_FAILED])};
    return info_copy(counts, &known, sizeof known) ? TILE_OK : TILE_ERROR_INVALID_ARGUMENT;
}

bool context_once(tile_context *context, Diags *diags, atomic_bool *done,
                  bool (*make)(tile_context *context, Diags *diags)) {
    if (atomic_load_explicit(done, memory_order_acquire))
        return true;
    /* Reports allocate, and running out of memory must not leave the lock taken. */
    pthread_mutex_lock(&context->lock);
    jmp_buf *outer = diags->arena->oom, here;
    if (setjmp(here)) {
        context->arena.oom = NULL;
        pthread_mutex_unlock(&context->lock);
        diags->arena->oom = outer;
        longjmp(*outer, 1);
    }
    diags->arena->oom = context->arena.oom = &here;
    bool ok = atomic_load(done) || make(context, diags);
    atomic_store_explicit(done, ok, memory_order_release);
    context->arena.oom = NULL;
    diags->arena->oom = outer;
    pthread_mutex_unlock(&context->lock);
    return ok;
}

static bool open_driver(tile_context *context, Diags *diags) {
    return driver_open(&context->driver, diags, context->cuda_library);
}

const Driver *context_driver(tile_context *context, Diags *diags) {
    return context_once(context, diags, &context->has_driver, open_driver) ? &context->driver
                                                                           : NULL;
}

/* Diagnostics */

static void copy_place(Arena *arena, const Diags *diags, Span span, tile_diagnostic *to) {
    const Source *source = source_get(diags->sources, span.file);
    to->path = text_of(STR(""));
    if (!source)
        return;
    LineColumn lo = source_locate(source, span.lo), hi = source_locate(source, span.hi);
    to->path = text_copy(arena, source->path);
    to->line = lo.line;
    to->column = lo.column;
    to->end_line = hi.line;
    to->end_column = hi.column;
}

static void copy_notes(Arena *arena, const Diags *diags, const DiagNote *from,
                       tile_diagnostic *to) {
    size_t count = 0;
    for (const DiagNote *note = from; note; note = note->next)
        count++;
    const tile_diagnostic **notes =
        (const tile_diagnostic **)arena_array(arena, count + 1, sizeof *notes);
    for (; from; from = from->next) {
        tile_diagnostic *note = ARENA_NEW(arena, tile_diagnostic);
        note->size = sizeof *note;
        note->severity = TILE_REMARK;
        note->id = text_of(str_from(from->is_hint ? "hint" : "note"));
        note->message = text_copy(arena, str_from(from->text));
        note->rendered = text_of(STR(""));
        copy_place(arena, diags, from->span, note);
        notes[to->note_count++] = note;
    }
    to->notes = notes;
}

static void copy_diagnostic(Arena *arena, const Diags *diags, const Diagnostic *from,
                            tile_diagnostic *to) {
    static const tile_severity severities[] = {
        [SEV_REMARK] = TILE_REMARK, [SEV_WARNING] = TILE_WARNING, [SEV_ERROR] = TILE_ERROR};
    StrBuf rendered = strbuf(diags->arena);
    diag_print(diags, from, &rendered);
    to->size = sizeof *to;
    to->severity = severities[from->severity];
    to->id = text_of(str_from(diag_name(from->id)));
    to->message = text_copy(arena, str_from(from->text));
    to->rendered = text_copy(arena, strbuf_str(&rendered));
    to->required = from->required;
    to->limit = from->limit;
    to->has_program = from->has_program;
    memcpy(to->program, from->program, sizeof to->program);
    copy_place(arena, diags, from->span, to);
    copy_notes(arena, diags, from->notes, to);
}

/* What is said when there is no memory to say more with. */
#define NO_MEMORY "out of memory"
static const tile_diagnostic no_memory_item = {
    .size = sizeof no_memory_item,
    .severity = TILE_ERROR,
    .id = {"out_of_memory", 13},
    .message = {NO_MEMORY, sizeof NO_MEMORY - 1},
    .path = {"", 0},
    .rendered = {"tilec: error: " NO_MEMORY "\n", sizeof "tilec: error: " NO_MEMORY "\n" - 1},
};
#define NO_MEMORY_JSON                                                                             \
    "[{\"severity\": \"error\", \"id\": \"out_of_memory\", \"message\": \"" NO_MEMORY              \
    "\", \"notes\": []}]"
static tile_diagnostics no_memory = {
    .items = (tile_diagnostic *)&no_memory_item,
    .count = 1,
    .text = {"tilec: error: " NO_MEMORY "\n", sizeof "tilec: error: " NO_MEMORY "\n" - 1},
    .json = {NO_MEMORY_JSON, sizeof NO_MEMORY_JSON - 1},
};

/* For a status of TILE_ERROR_OUT_OF_MEMORY: which memory it was. A cancellation is said in any
 * case.
 */
static void report_no_memory(Diags *diags, size_t limit) {
    for (const Diagnostic *d = diags->first; d; d = d->next)
        if (d->severity == SEV_ERROR)
            return;
    if (limit)
        diag(diags, (Span){0}, memory_limit, limit);
    else
        diag(diags, (Span){0}, out_of_memory);
}

/* A JSON array whose elements stand behind those of another one; both have some. */
static void join_json(Str first, Str second, StrBuf *out) {
    strbuf_add(out, first.ptr, first.len - 1);
    strbuf_puts(out, ", ");
    strbuf_add(out, second.ptr + 1, second.len - 1);
}

static size_t count_of(const tile_diagnostics *list) {
    return list ? list->count : 0;
}

/* What was said `earlier`, by other parts of the call, and what the list says. */
static void fill_list(tile_diagnostics *list, Arena *arena, Diags *diags,
                      tile_diagnostics *earlier) {
    size_t at = count_of(earlier);
    list->earlier = earlier;
    list->count = at;
    for (const Diagnostic *d = diags->first; d; d = d->next)
        list->count++;
    list->items = ARENA_ARRAY(arena, tile_diagnostic, list->count);
    for (size_t i = 0; i < at; i++)
        list->items[i] = earlier->items[i];
    for (const Diagnostic *d = diags->first; d; d = d->next)
        copy_diagnostic(arena, diags, d, &list->items[at++]);
    StrBuf text = strbuf(diags->arena), json = strbuf(diags->arena), joined = strbuf(diags->arena);
    if (earlier)
        strbuf_puts(&text, earlier->text.data);
    diag_print_all(diags, &text);
    diag_json(diags, &json);
    if (earlier)
        join_json(text_str(earlier->json), strbuf_str(&json), &joined);
    list->text = text_copy(arena, strbuf_str(&text));
    list->json = text_copy(arena, strbuf_str(earlier ? &joined : &json));
}

/* `limit` is that of the call, if it ran out of memory. What was said earlier becomes the list's.
 */
static tile_diagnostics *diagnostics_create(Diags *diags, tile_status status, size_t limit,
                                            tile_diagnostics *earlier) {
    jmp_buf oom, *outer = diags->arena->oom;
    Arena arena = {.oom = &oom, .allocator = diags->arena->allocator};
    if (setjmp(oom)) {
        diags->arena->oom = outer;
        arena_free(&arena);
        tile_diagnostics_destroy(earlier);
        return &no_memory;
    }
    diags->arena->oom = &oom;
    if (status == TILE_ERROR_OUT_OF_MEMORY)
        report_no_memory(diags, limit);
    if (status == TILE_ERROR_CANCELLED)
        diag(diags, (Span){0}, cancelled);
    tile_diagnostics *list = ARENA_NEW(&arena, tile_diagnostics);
    fill_list(list, &arena, diags, earlier);
    diags->arena->oom = outer;
    list->arena = arena;
    list->arena.oom = NULL;
    return list;
}

size_t tile_diagnostics_count(const tile_diagnostics *diagnostics) {
    return diagnostics ? diagnostics->count : 0;
}

tile_status tile_diagnostics_get(const tile_diagnostics *diagnostics, size_t index,
                                 tile_diagnostic *diagnostic) {
    if (!diagnostics || !diagnostic || index >= diagnostics->count ||
        !info_copy(diagnostic, &diagnostics->items[index], sizeof *diagnostic))
        return TILE_ERROR_INVALID_ARGUMENT;
    return TILE_OK;
}

tile_text tile_diagnostics_text(const tile_diagnostics *diagnostics) {
    return diagnostics ? diagnostics->text : text_of(STR(""));
}

tile_text tile_diagnostics_json(const tile_diagnostics *diagnostics) {
    return diagnostics ? diagnostics->json : text_of(STR("[]"));
}

void tile_diagnostics_destroy(tile_diagnostics *diagnostics) {
    if (!diagnostics || diagnostics == &no_memory)
        return;
    tile_diagnostics_destroy(diagnostics->earlier);
    Arena arena = diagnostics->arena;
    arena_free(&arena);
}

/* Calls */

tile_status invalid_argument(tile_diagnostics **diagnostics) {
    if (diagnostics)
        *diagnostics = NULL;
    return TILE_ERROR_INVALID_ARGUMENT;
}

Call *call_begin(tile_context *context, tile_diagnostics **diagnostics) {
    if (diagnostics)
        *diagnostics = NULL;
    Ctx *ctx = ctx_create_with(context->arena.allocator);
    if (!ctx || setjmp(ctx->oom)) {
        ctx_destroy(ctx);
        if (diagnostics)
            *diagnostics = &no_memory;
        return NULL;
    }
    ctx->arena.limit = context->memory_limit;
    Call *call = ARENA_NEW(&ctx->arena, Call);
    call->ctx = ctx;
    call->context = context;
    call->diagnostics = diagnostics;
    call->object.oom = ctx->arena.oom;
    call->object.allocator = ctx->arena.allocator;
    call->locale = c_locale_enter();
    return call;
}

Call *call_continue(tile_context *context, tile_diagnostics **diagnostics) {
    tile_diagnostics *earlier = diagnostics ? *diagnostics : NULL;
    Call *call = call_begin(context, diagnostics);
    if (!call) {
        tile_diagnostics_destroy(earlier);
    } else if (earlier) {
        *diagnostics = earlier;
        call->earlier = earlier;
    }
    return call;
}

void call_keep(Call *call, Arena *owner) {
    *owner = call->object;
    owner->oom = NULL;
    call->object = (Arena){.oom = call->ctx->arena.oom, .allocator = call->ctx->arena.allocator};
}

/* Requests are counted, and told in their order. */
static void tell_requests(tile_context *context, const Requested *requested) {
    if (!requested)
        return;
    tell_requests(context, requested->next);
    atomic_fetch_add_explicit(&context->counts[requested->outcome], 1, memory_order_relaxed);
    if (requested->told)
        context->watch(context->watch_user, requested->told);
}

/* What the call says goes to the context's log and to the caller, as far as they want it. */
static void hand_over(Call *call, tile_status status) {
    Ctx *ctx = call->ctx;
    const tile_context *context = call->context;
    const bool left = status == TILE_ERROR_OUT_OF_MEMORY || status == TILE_ERROR_CANCELLED;
    if ((!call->diagnostics && !context->log) || (!ctx->diags.first && !left))
        return;
    const size_t limit = ctx->arena.limit;
    ctx->arena.limit = 0;
    const size_t told = count_of(call->earlier);
    tile_diagnostics *list = diagnostics_create(&ctx->diags, status, limit, call->earlier);
    for (size_t i = list == &no_memory ? 0 : told; context->log && i < list->count; i++)
        context->log(context->log_user, &list->items[i]);
    if (call->diagnostics)
        *call->diagnostics = list;
    else
        tile_diagnostics_destroy(list);
}

tile_status call_end(Call *call, tile_status status) {
    if (!call)
        return TILE_ERROR_OUT_OF_MEMORY;
    Ctx *ctx = call->ctx;
    if (status == TILE_OK)
        status = status_of(&ctx->diags);
    else if (status == TILE_ERROR_OUT_OF_MEMORY && cancel_is_requested(ctx->arena.cancel))
        status = TILE_ERROR_CANCELLED;
    ctx_cancel_with(ctx, NULL);
    c_locale_leave(call->locale);
    tell_requests(call->context, call->requested);
    hand_over(call, status);
    arena_free(&call->object);
    ctx_destroy(ctx);
    return status;
}

Ctx *call_leave(Call *call) {
    Ctx *ctx = call->ctx;
    ctx_cancel_with(ctx, NULL);
    tell_requests(call->context, call->requested);
    arena_free(&call->object);
    return ctx;
}

tile_status status_of_result(CUresult result) {
    return result == LAUNCH_NO_TENSOR_MAP ? TILE_ERROR_TENSOR_MAP
           : result == LAUNCH_IN_PLACE    ? TILE_ERROR_IN_PLACE
                                          : fault_status(result);
}
