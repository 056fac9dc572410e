/* One compilation: arena, sources, diagnostics and interned types, layouts and strings.
 *
 * A context belongs to one thread; contexts share nothing. Everything reachable from it dies with
 * it. Whoever creates a context handles running out of memory in one place:
 *
 *     Ctx *ctx = ctx_create();
 *     if (!ctx || setjmp(ctx->oom)) { ctx_destroy(ctx); return TILE_ERROR_OUT_OF_MEMORY; }
 */
#ifndef TILEC_SUPPORT_CTX_H
#define TILEC_SUPPORT_CTX_H
#include "support/diag.h"
#include "support/str.h"

typedef struct InternTable InternTable;

typedef struct Ctx {
    Arena arena;
    Arena scratch; /* of the pass that runs: it takes a mark and rewinds to it */
    jmp_buf oom;
    SourceMap sources;
    Diags diags;
    InternTable *types, *layouts, *strings;
    /* What the stack of the thread at work has room for: values in a chain, each of which needs the
     * one before (see func_check_depth). */
    uint32_t max_depth;
    bool has_stack; /* the thread is one of the library's own, made for this context */
} Ctx;

/* Bytes of stack for each value of a chain. Walks take up to 400 in passes and 250 in LLVM 22. */
enum { CTX_STACK_PER_VALUE = 1024, CTX_LEAST_STACK = 8 << 20 };

/* For a thread with a stack of CTX_LEAST_STACK bytes. NULL when out of memory. */
Ctx *ctx_create(void);
/* The same, with its memory from an allocator, which outlives it; NULL: malloc. */
Ctx *ctx_create_with(const Allocator *allocator);
/* From a request on, work in this context is left as it is when memory runs out: by the jump, at
 * the next allocation. NULL: nothing cancels it. */
void ctx_cancel_with(Ctx *ctx, const Cancel *cancel);
/* Calls `work`, and then `release`, also when one of the context's arenas jumps out of the work;
 * the jump goes on from there. */
void ctx_finally(Ctx *ctx, void (*work)(void *user), void (*release)(void *user), void *user);
/* NULL is allowed. */
void ctx_destroy(Ctx *ctx);

/* The interned copy: equal strings have equal pointers; terminated. */
Str ctx_intern(Ctx *ctx, Str text);

/* Shorthand: ctx_error(ctx, span, id, ...) reports and is false. */
#define ctx_diag(ctx, span, ...) diag(&(ctx)->diags, (span), __VA_ARGS__)

/* Interning for types and layouts: returns the stored object equal to the `size` bytes at `key`
 * (no padding may differ), adding a copy if there is none. */
const void *intern(Ctx *ctx, InternTable *table, const void *key, size_t size);
#endif
