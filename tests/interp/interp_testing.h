/* Kernels made with the builders, run on arrays, for the interpreter's tests. */
#ifndef TILEC_TESTS_INTERP_TESTING_H
#define TILEC_TESTS_INTERP_TESTING_H
#include "interp/interp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_ARRAYS = 6 };

/* One kernel on up to six arrays; parameter i points at array i. */
typedef struct Kernel {
    Ctx *ctx;
    Module *module;
    Func *func;
    Builder b;
    uint32_t narrays;
    InterpArray arrays[MAX_ARRAYS];
    InterpArg args[MAX_ARRAYS];
    InterpOptions options;
    StrBuf output;
} Kernel;

static const char *const array_names[MAX_ARRAYS] = {"a", "b", "c", "d", "e", "f"};

/* Parameters a, b, .. point at elements of these types; arrays are set by kernel_array. */
static inline Kernel kernel_begin(uint32_t narrays, const DType *dtypes) {
    Kernel k = {.ctx = ctx_create(), .narrays = narrays, .options = {.grid = {1, 1, 1}}};
    assert_non_null(k.ctx);
    k.ctx->arena.oom = NULL; /* out of memory aborts the test */
    k.module = module_create(k.ctx);
    FuncParam params[MAX_ARRAYS];
    memset(params, 0, sizeof params);
    const Type *types[MAX_ARRAYS];
    for (uint32_t i = 0; i < narrays; i++) {
        params[i].name = str_from(array_names[i]);
        types[i] = type_pointer(k.ctx, dtypes[i]);
    }
    k.func = func_create(k.module, STR("kernel"), narrays, params, types);
    k.b = builder_at_end(k.func->body);
    k.output = strbuf(&k.ctx->arena);
    return k;
}

static inline void kernel_array(Kernel *k, uint32_t i, void *data, size_t bytes) {
    k->arrays[i] = (InterpArray){.name = str_from(array_names[i]), .data = data, .bytes = bytes};
    k->args[i] = (InterpArg){.is_array = true, .array = i};
}

static inline const Type *tile_type(Kernel *k, DType dtype, int64_t n) {
    return type_get(k->ctx, TYPE_NUMBER, dtype, 1, &n, NULL);
}

/* Pointers to the first n elements of array i. */
static inline Value *kernel_pointers(Kernel *k, uint32_t i, int64_t n) {
    Value *base = &k->func->body->args[i];
    const Type *pointers = type_get(k->ctx, TYPE_POINTER, base->type->dtype, 1, &n, NULL);
    Value *range = build_range(&k->b, 0, tile_type(k, DT_I32, n));
    return build_addptr(&k->b, build_splat(&k->b, base, pointers), range);
}

static inline Value *load_at(Kernel *k, Value *pointers, Value *mask, Value *other) {
    return build_load(&k->b, pointers, mask, other, CACHE_NONE, EVICT_NORMAL, false, 0, false,
                      false, false, 0);
}

static inline void store_at(Kernel *k, Value *pointers, Value *value, Value *mask) {
    build_store(&k->b, pointers, value, mask, CACHE_NONE, EVICT_NORMAL, 0);
}

static inline Value *kernel_load(Kernel *k, uint32_t i, int64_t n) {
    return load_at(k, kernel_pointers(k, i, n), NULL, NULL);
}

static inline void kernel_store(Kernel *k, uint32_t i, int64_t n, Value *value) {
    store_at(k, kernel_pointers(k, i, n), value, NULL);
}

/* Ends the kernel, verifies and runs it. */
static inline bool kernel_run(Kernel *k) {
    build_return(&k->b);
    k->options.output = &k->output;
    return interp_run(k->func, k->args, k->arrays, k->narrays, &k->options);
}

/* All diagnostics as the user sees them. */
static inline const char *kernel_messages(Kernel *k) {
    StrBuf out = strbuf(&k->ctx->arena);
    diag_print_all(&k->ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static inline void kernel_end(Kernel *k) {
    ctx_destroy(k->ctx);
}

static inline void assert_clean(Kernel *k) {
    if (!kernel_run(k))
        fail_msg("%s", kernel_messages(k));
}
#endif
