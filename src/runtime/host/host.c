/* See host.h. */
#include "runtime/host/host.h"
#include "runtime/host/memory.h"
#include "runtime/host/simulate.h"
#include "types/float_bits.h"

/* Of the PTX in messages. */
#define PTX_PATH STR("kernel.ptx")

enum { PROGRAMS_OF_A_CTA = 3, MAX_CHOSEN_CTAS = 132 /* an H200's processors */ };

void host_request(HostMachine machine, CompileRequest *request) {
    request->device = NULL;
    request->want = 0;
    if (machine == HOST_SIMULATOR) {
        request->want = OUTPUT_BIT(ptx);
        request->line_info = true;
        return;
    }
    request->keep_func = true;
    request->kernel.debug = true;
    request->isolated = false;
    request->is_strict = false; /* elaborating is cheap, and no cache keeps what it gives */
}

uint32_t host_ctas(const uint32_t grid[3], uint32_t asked) {
    const uint64_t wide = (uint64_t)grid[0] * grid[1];
    const uint64_t programs = wide > UINT32_MAX ? UINT32_MAX : wide * grid[2];
    const uint64_t ctas = (programs + PROGRAMS_OF_A_CTA - 1) / PROGRAMS_OF_A_CTA;
    if (asked)
        return asked;
    return ctas > MAX_CHOSEN_CTAS ? MAX_CHOSEN_CTAS : (uint32_t)ctas;
}

bool host_kernel_open(Ctx *ctx, HostMachine machine, const Compiled *compiled, HostKernel *kernel) {
    *kernel = (HostKernel){.ctx = ctx, .facts = compiled->facts, .func = compiled->func};
    if (machine == HOST_INTERPRETER)
        return true;
    const uint32_t file = source_add(&ctx->sources, PTX_PATH, compiled->outputs[OUTPUT_ptx]);
    kernel->module = sim_parse(ctx, file);
    return kernel->module != NULL;
}

static InterpArg interp_arg(const HostRun *run, const Type *type, const void *value) {
    uint64_t bits = 0;
    memcpy(&bits, value, (size_t)type_element_bytes(type));
    if (type_is_float(type))
        return (InterpArg){.f = float_from_bits(type->dtype, bits)};
    const uint32_t array =
        type_is_pointer(type) ? host_memory_find(run->arrays, run->array_count, bits) : UINT32_MAX;
    if (array != UINT32_MAX)
        return (InterpArg){.is_array = true,
                           .array = array,
                           .byte_offset = (int64_t)(bits - run->arrays[array].address)};
    const uint32_t unused = 64 - 8 * (uint32_t)type_element_bytes(type);
    return (InterpArg){.i = (int64_t)(bits << unused) >> unused};
}

static bool interpret(HostKernel *kernel, const HostRun *run) {
    Arena *arena = run->arena;
    const Block *body = kernel->func->body;
    InterpArg *args = ARENA_ARRAY(arena, InterpArg, run->param_count + 1);
    InterpArray *arrays = ARENA_ARRAY(arena, InterpArray, run->array_count + 1);
    for (uint32_t i = 0; i < run->param_count; i++)
        args[i] = interp_arg(run, body->args[i].type, run->params[i]);
    memcpy(arrays, run->arrays, run->array_count * sizeof *arrays);
    const InterpOptions options = {.grid = {run->grid[0], run->grid[1], run->grid[2]},
                                   .ctas = host_ctas(run->grid, run->settings->ctas),
                                   .max_reports = run->settings->max_reports,
                                   .max_steps = run->settings->max_steps,
                                   .output = run->output};
    return interp_run(kernel->func, args, arrays, run->array_count, &options);
}

static bool run_simulation(HostKernel *kernel, const HostRun *run, unsigned *other_form) {
    const HostSettings *settings = run->settings;
    SimMemory *memory = sim_memory_create(kernel->ctx);
    for (uint32_t i = 0; i < run->array_count; i++) {
        const InterpArray *array = &run->arrays[i];
        sim_map_at(memory, array->address, array->name, array->data, array->bytes, array->defined,
                   array->read_only);
    }
    Simulation simulation = {.facts = &kernel->facts,
                             .module = kernel->module,
                             .memory = memory,
                             .params = run->params,
                             .param_count = run->param_count,
                             .grid = run->grid,
                             .ctas = host_ctas(run->grid, settings->ctas),
                             .launch = {.schedule = settings->schedule,
                                        .seed = settings->seed,
                                        .early = settings->early,
                                        .threads = settings->threads,
                                        .max_reports = settings->max_reports,
                                        .max_steps = settings->max_steps,
                                        .output = run->output}};
    const bool ok = simulate(kernel->ctx, &simulation);
    *other_form = simulation.other_form;
    if (run->counts && simulation.counts)
        sim_json_counts(kernel->module, simulation.counts, run->counts);
    return ok;
}

/* Findings of the simulator lie at instructions of the PTX, with a note at the line that each was
 * compiled from. Who launches functions has written that line, and never saw the PTX. */
static void begin_with_source(const Ctx *ctx, Str ptx) {
    for (Diagnostic *d = ctx->diags.first; d; d = d->next) {
        const Source *source = source_get(&ctx->sources, d->span.file);
        DiagNote *note = d->notes;
        if (!source || !str_eq(source->path, ptx) || !note || note->is_hint || !note->span.file)
            continue;
        const Span instruction = d->span;
        d->span = note->span;
        note->span = instruction;
        note->text = "at this instruction of its PTX";
    }
}

bool host_kernel_run(HostKernel *kernel, const HostRun *run, unsigned *other_form) {
    *other_form = 0;
    if (!kernel->module)
        return interpret(kernel, run);
    const bool ok = run_simulation(kernel, run, other_form);
    begin_with_source(kernel->ctx, PTX_PATH);
    return ok;
}
