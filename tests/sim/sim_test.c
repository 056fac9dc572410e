/* Running small PTX texts on arrays. */
#include "sim_test.h"

#include <string.h>

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
        launch.cluster[i] = launch.cluster[i] ? launch.cluster[i] : launch.cluster[0] ? 1 : 0;
    }
    return sim_launch(test->module, memory, &launch, &test->counts);
}

bool sim_test_version(SimTest *test, const SimFault *fault, const char *text,
                      SimSchedule schedule) {
    uint32_t x[64], y[64];
    for (unsigned i = 0; i < 64; i++)
        x[i] = y[i] = i;
    if (!sim_test_parse(test, text))
        return false;
    SimLaunch launch = {.grid = {fault->programs},
                        .block = {fault->threads},
                        .cluster = {fault->cluster},
                        .schedule = schedule,
                        .seed = 7,
                        .max_steps = 1000000};
    return sim_test_run(test, launch,
                        (SimArrayArg[]){{"x", x, sizeof x, NULL}, {"y", y, sizeof y, NULL}}, 2);
}

void sim_test_faults(const SimFault *faults, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const SimFault *fault = &faults[i];
        for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
            SimTest test = sim_test_begin();
            if (!sim_test_version(&test, fault, fault->sound, (SimSchedule)schedule))
                fail_msg("%s: the sound version: %s", fault->name, sim_test_messages(&test));
            sim_test_end(&test);
            test = sim_test_begin();
            bool ok = sim_test_version(&test, fault, fault->faulty, (SimSchedule)schedule);
            const char *messages = sim_test_messages(&test);
            if (ok || !sim_test_has(&test, fault->id) || !strstr(messages, fault->message))
                fail_msg("%s: the faulty version (%s): %s", fault->name, diag_name(fault->id),
                         messages);
            sim_test_end(&test);
        }
    }
}

void sim_test_threads(const SimCase *one, SimLaunch launch) {
    launch.block[0] = CASE_THREADS;
    launch.seed = 3;
    launch.max_steps = 1000000;
    for (int schedule = SIM_ROUND_ROBIN; schedule <= SIM_ADVERSARIAL; schedule++) {
        uint32_t y[2 * CASE_THREADS] = {0};
        SimTest test = sim_test_begin();
        launch.schedule = (SimSchedule)schedule;
        if (!sim_test_parse(&test, one->text) ||
            !sim_test_run(&test, launch, (SimArrayArg[]){{"y", y, sizeof y, NULL}}, 1))
            fail_msg("%s: %s", one->name, sim_test_messages(&test));
        for (uint32_t t = 0; t < CASE_THREADS; t++)
            if (y[t] != one->expect(t))
                fail_msg("%s: thread %u has %#x, wanted %#x", one->name, t, y[t], one->expect(t));
        sim_test_end(&test);
    }
}

void sim_test_refusals(const char *declarations, const SimRefusal *refusals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        SimTest test = sim_test_begin();
        StrBuf text = strbuf(&test.ctx->arena);
        strbuf_printf(&text, PTX_HEADER ".visible .entry k() { %s %s ret; }\n", declarations,
                      refusals[i].text);
        assert_null(sim_test_parse(&test, text.ptr));
        if (!strstr(sim_test_messages(&test), refusals[i].message))
            fail_msg("%s: %s", refusals[i].text, sim_test_messages(&test));
        sim_test_end(&test);
    }
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
