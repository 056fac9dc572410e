/* Kernels written as Tile IR text, run on arrays. */
#ifndef TILEC_TESTS_INTERP_TEXT_TESTING_H
#define TILEC_TESTS_INTERP_TEXT_TESTING_H
#include "interp/interp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MAX_PARAMS = 6 };

typedef struct TextRun {
    Ctx *ctx;
    Func *func;
    InterpArray arrays[MAX_PARAMS];
    InterpArg args[MAX_PARAMS];
    uint32_t nargs, narrays;
    InterpOptions options;
    StrBuf output;
} TextRun;

static inline const char *text_messages(TextRun *t) {
    StrBuf out = strbuf(&t->ctx->arena);
    diag_print_all(&t->ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

/* Parses the module; its first function is the kernel. One program, unless options.grid says
 * otherwise. */
static inline TextRun text_begin(const char *text) {
    TextRun t = {.ctx = ctx_create(), .options = {.grid = {1, 1, 1}}};
    assert_non_null(t.ctx);
    t.ctx->arena.oom = NULL; /* out of memory aborts the test */
    Module *module = module_parse(t.ctx, source_add(&t.ctx->sources, STR("k.tir"), str_from(text)));
    if (!module)
        fail_msg("%s", text_messages(&t));
    t.func = module->funcs;
    t.output = strbuf(&t.ctx->arena);
    return t;
}

/* Arguments in order; an array takes the name of its parameter. */
static inline void text_array(TextRun *t, void *data, size_t bytes) {
    t->arrays[t->narrays] =
        (InterpArray){.name = t->func->params[t->nargs].name, .data = data, .bytes = bytes};
    t->args[t->nargs++] = (InterpArg){.is_array = true, .array = t->narrays++};
}

static inline void text_int(TextRun *t, int64_t value) {
    t->args[t->nargs++] = (InterpArg){.i = value};
}

static inline bool text_run(TextRun *t) {
    assert_int_equal(t->nargs, t->func->body->nargs);
    t->options.output = &t->output;
    return interp_run(t->func, t->args, t->arrays, t->narrays, &t->options);
}

static inline void text_end(TextRun *t) {
    ctx_destroy(t->ctx);
}

static inline void text_run_clean(TextRun *t) {
    if (!text_run(t))
        fail_msg("%s", text_messages(t));
}

/* The run fails and reports exactly this. */
static inline void text_run_reports(TextRun *t, const char *messages) {
    assert_false(text_run(t));
    assert_string_equal(text_messages(t), messages);
}

/* y[0..8) = x[0..8); MASK: ", %m" for the first six alone. */
#define COPY_KERNEL(MASK)                                                                          \
    "func @k(%x: ptr<f32>, %y: ptr<f32>) {\n"                                                      \
    "  %i = range {start = 0} : tile<8xi32>\n"                                                     \
    "  %n = constant_int {value = 6} : tile<8xi32>\n"                                              \
    "  %m = cmpi %i, %n {pred = slt} : tile<8xi1>\n"                                               \
    "  %xs = splat %x : tile<8xptr<f32>>\n"                                                        \
    "  %xp = addptr %xs, %i : tile<8xptr<f32>>\n"                                                  \
    "  %v = load %xp" MASK " : tile<8xf32>\n"                                                      \
    "  %ys = splat %y : tile<8xptr<f32>>\n"                                                        \
    "  %yp = addptr %ys, %i : tile<8xptr<f32>>\n"                                                  \
    "  store %yp, %v" MASK "\n"                                                                    \
    "  return\n"                                                                                   \
    "}\n"
#endif
