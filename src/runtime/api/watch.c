/* Public API: compilations as the context's watch, counters and record see them. */
#include "runtime/api/api_compile.h"
#include "runtime/compile/record.h"
#include "runtime/status.h"
#include "support/file.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* What a context has recorded, by the hashes of lines. */
typedef struct Recording {
    const Allocator *allocator;
    pthread_mutex_t lock;
    uint64_t *lines;
    size_t count, capacity;
    bool was_told; /* that the file cannot be written */
} Recording;

static void end_recording(Recording *recording) {
    if (!recording)
        return;
    pthread_mutex_destroy(&recording->lock);
    allocator_give(recording->allocator, recording->lines,
                   recording->capacity * sizeof *recording->lines);
    allocator_give(recording->allocator, recording, sizeof *recording);
}

/* NULL: there is no memory for it. */
static Recording *recording_of(tile_context *context) {
    pthread_mutex_lock(&context->lock);
    if (!context->recording) {
        context->recording = allocator_take(context->arena.allocator, sizeof *context->recording);
        context->end_recording = end_recording;
        if (context->recording) {
            context->recording->allocator = context->arena.allocator;
            pthread_mutex_init(&context->recording->lock, NULL); /* which cannot fail */
        }
    }
    pthread_mutex_unlock(&context->lock);
    return context->recording;
}

/* Under the lock. One that there is no memory to remember is written again. */
static bool is_new(Recording *recording, uint64_t hash) {
    for (size_t i = 0; i < recording->count; i++)
        if (recording->lines[i] == hash)
            return false;
    if (recording->count == recording->capacity) {
        const size_t capacity = recording->capacity ? 2 * recording->capacity : 64;
        uint64_t *larger =
            recording->lines
                ? allocator_resize(recording->allocator, recording->lines,
                                   recording->capacity * sizeof *larger, capacity * sizeof *larger)
                : allocator_take(recording->allocator, capacity * sizeof *larger);
        if (!larger)
            return true;
        recording->lines = larger;
        recording->capacity = capacity;
    }
    recording->lines[recording->count++] = hash;
    return true;
}

static void record(Call *call, const char *path, Str line) {
    Recording *recording = recording_of(call->context);
    if (!recording)
        return;
    pthread_mutex_lock(&recording->lock);
    const int error =
        is_new(recording, XXH3_64bits(line.ptr, line.len)) ? record_append(path, line) : 0;
    const bool tells = error && !recording->was_told;
    recording->was_told |= error != 0;
    pthread_mutex_unlock(&recording->lock);
    if (tells)
        ctx_diag(call->ctx, (Span){0}, record_unwritable, path,
                 file_error_text(&call->ctx->arena, error));
}

static const tile_named *api_named(Arena *arena, const NamedText *named, uint32_t count) {
    tile_named *list = ARENA_ARRAY(arena, tile_named, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (tile_named){text_of(named[i].name), text_of(named[i].text)};
    return list;
}

static tile_request *describe(Call *call, const CompileRequest *request) {
    Arena *arena = &call->ctx->arena;
    const ElaborateRequest *kernel = &request->kernel;
    tile_request *told = ARENA_NEW(arena, tile_request);
    *told = (tile_request){
        .size = sizeof *told,
        .path = text_of(str_from(request->path)),
        .kernel = text_of(str_keep(arena, kernel->kernel)),
        .target = text_of(str_from(request->target->name)),
        .signature = text_of(str_keep(arena, kernel->signature)),
        .types = api_named(arena, kernel->types, kernel->type_count),
        .type_count = kernel->type_count,
        .constexprs = api_named(arena, kernel->defines, kernel->define_count),
        .constexpr_count = kernel->define_count,
        .num_warps = kernel->num_warps,
        .num_stages = kernel->num_stages,
        .num_ctas = kernel->num_ctas,
        .manifest = text_of(record_line(call->ctx, request)),
    };
    return told;
}

static tile_outcome outcome_of(const Ctx *ctx, const Compiled *compiled, bool ok) {
    return ok ? compiled->from_cache ? TILE_FOUND : TILE_COMPILED
           : status_of(&ctx->diags) == TILE_ERROR_NOT_COMPILED ? TILE_REFUSED
                                                               : TILE_FAILED;
}

bool call_compile(Call *call, const CompileRequest *request, Compiled *compiled) {
    Requested *requested = ARENA_NEW(&call->ctx->arena, Requested);
    const double start = clock_ms();
    const char *path = record_path(call->context->record);
    *requested = (Requested){call->requested, TILE_FAILED, NULL}; /* which leaving by a jump is */
    if (call->context->watch)
        requested->told = describe(call, request);
    if (requested->told)
        requested->told->outcome = TILE_FAILED;
    call->requested = requested;
    const bool ok = compile_kernel(call->ctx, request, compiled);
    requested->outcome = outcome_of(call->ctx, compiled, ok);
    if (!requested->told && !path)
        return ok;
    const Str line = record_line(call->ctx, request);
    if (requested->told) {
        requested->told->outcome = requested->outcome;
        requested->told->milliseconds = clock_ms() - start;
        requested->told->manifest = text_of(line);
    }
    if (path && line.len && requested->outcome != TILE_FAILED)
        record(call, path, line);
    return ok;
}
