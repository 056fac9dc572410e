/* Kernels written in the language, elaborated and run by the interpreter on small arrays of
 * numbers. */
#ifndef TILEC_TESTS_ELABORATE_TESTING_H
#define TILEC_TESTS_ELABORATE_TESTING_H
#include "frontend/frontend.h"
#include "frontend/value.h"
#include "interp/interp.h"
#include "types/float_bits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Imports resolve next to the file, which need not exist. */
#define TESTING_FOLDER TILEC_SOURCE_DIR "/tests/frontend/elaborate/"

enum { MAX_ARGS = 8, MAX_ELEMENTS = 64 };

typedef struct TestArray {
    uint8_t bytes[MAX_ELEMENTS * 8];
    Elem elem;
    size_t count;
} TestArray;

typedef struct KernelRun {
    Ctx *ctx;
    Elaborated kernel;
    TestArray arrays[MAX_ARGS];
    InterpArray memory[MAX_ARGS];
    InterpArg args[MAX_ARGS];
    uint32_t narrays, nargs;
    InterpOptions options;
} KernelRun;

static inline const char *run_messages(KernelRun *run) {
    StrBuf out = strbuf(&run->ctx->arena);
    diag_print_all(&run->ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

static inline void run_begin(KernelRun *run, const char *source, const char *signature) {
    *run = (KernelRun){.ctx = ctx_create(), .options = {.grid = {1, 1, 1}, .max_steps = 1000000}};
    assert_non_null(run->ctx);
    run->ctx->arena.oom = NULL; /* out of memory aborts the test */
    uint32_t file = source_add(&run->ctx->sources, STR(TESTING_FOLDER "k.tile"), str_from(source));
    AstFile *syntax = parse_file(&run->ctx->diags, file);
    ElaborateRequest request = {
        .file = file, .kernel = STR("k"), .signature = str_from(signature), .debug = true};
    if (run->ctx->diags.errors || !frontend_elaborate(run->ctx, syntax, &request, &run->kernel))
        fail_msg("%s\n%s", source, run_messages(run));
}

static inline void element_set(TestArray *array, size_t i, double value) {
    size_t size = (size_t)dtype_bytes(elem_info[array->elem].ir);
    uint64_t bits = elem_is_float(array->elem) ? float_to_bits(elem_info[array->elem].ir, value)
                    : value < 0                ? (uint64_t)(int64_t)value
                                               : (uint64_t)value;
    memcpy(array->bytes + i * size, &bits, size);
}

static inline double element_get(const TestArray *array, size_t i) {
    size_t size = (size_t)dtype_bytes(elem_info[array->elem].ir);
    uint64_t bits = 0;
    memcpy(&bits, array->bytes + i * size, size);
    if (elem_is_float(array->elem))
        return float_from_bits(elem_info[array->elem].ir, bits);
    if (!elem_info[array->elem].is_signed)
        return (double)bits;
    unsigned shift = 64 - 8 * (unsigned)size;
    return (double)((int64_t)(bits << shift) >> shift);
}

static inline TestArray *run_array(KernelRun *run, Elem elem, size_t count, const double *values) {
    TestArray *array = &run->arrays[run->narrays];
    *array = (TestArray){.elem = elem, .count = count};
    for (size_t i = 0; i < count; i++)
        element_set(array, i, values ? values[i] : 0);
    run->memory[run->narrays] =
        (InterpArray){.name = run->kernel.func->params[run->nargs].name,
                      .data = array->bytes,
                      .bytes = count * (size_t)dtype_bytes(elem_info[elem].ir)};
    run->args[run->nargs++] = (InterpArg){.is_array = true, .array = run->narrays++};
    return array;
}

static inline void run_int(KernelRun *run, int64_t value) {
    run->args[run->nargs++] = (InterpArg){.i = value};
}

static inline void run_end(KernelRun *run) {
    ctx_destroy(run->ctx);
}

static inline void run_kernel(KernelRun *run) {
    assert_int_equal(run->nargs, run->kernel.func->body->nargs);
    if (!interp_run(run->kernel.func, run->args, run->memory, run->narrays, &run->options))
        fail_msg("%s", run_messages(run));
}

static inline void expect_elements(const char *what, const TestArray *array, const double *wanted) {
    for (size_t i = 0; i < array->count; i++) {
        double got = element_get(array, i);
        bool same = got == wanted[i] || (isnan(got) && isnan(wanted[i]));
        if (!same)
            fail_msg("%s: element %zu is %.17g, wanted %.17g", what, i, got, wanted[i]);
    }
}
#endif
