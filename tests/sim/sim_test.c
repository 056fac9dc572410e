/* Running small PTX texts on arrays. */
#include "sim_test.h"

SimTest sim_test_begin(void) {
    SimTest test = {.ctx = ctx_create()};
    assert_non_null(test.ctx);
    test.ctx->arena.oom = test.ctx->scratch.oom = NULL;
    return test;
}

void sim_test_end(SimTest *test) {
    ctx_destroy(test->ctx);
}

SimModule *sim_test_parse(SimTest *test, const char *text) {
    uint32_t file = source_add(&test->ctx->sources, STR("test.ptx"), str_from(text));
    test->module = sim_parse(test->ctx, file);
    return test->module;
}

bool sim_test_run(SimTest *test, SimLaunch launch, const SimArrayArg *arrays, uint32_t count) {
    Arena *arena = &test->ctx->arena;
    SimMemory *memory = sim_memory_create(test->ctx);
    uint64_t *addresses = ARENA_ARRAY(arena, uint64_t, count + 1);
    const void **params = ARENA_ARRAY(arena, const void *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        addresses[i] = sim_map(memory, str_from(arrays[i].name), arrays[i].data, arrays[i].bytes,
                               arrays[i].defined, false);
        params[i] = &addresses[i];
    }
    test->output = strbuf(arena);
    launch.params = params;
    launch.param_count = count;
    launch.output = &test->output;
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = launch.grid[i] ? launch.grid[i] : 1;
        launch.block[i] = launch.block[i] ? launch.block[i] : i ? 1 : 32;
    }
    return sim_launch(test->module, memory, &launch, &test->counts);
}

const char *sim_test_messages(SimTest *test) {
    StrBuf out = strbuf(&test->ctx->arena);
    strbuf_puts(&out, "");
    diag_print_all(&test->ctx->diags, &out);
    return out.ptr ? out.ptr : "";
}

bool sim_test_has(const SimTest *test, DiagId id) {
    for (const Diagnostic *d = test->ctx->diags.first; d; d = d->next)
        if (d->id == id)
            return true;
    return false;
}
