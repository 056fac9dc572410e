/* A compilation: stages in order, each timed, its output kept if wanted and dumped if asked for. */
#include "runtime/compile/compile.h"

#include "codegen/codegen.h"
#include "passes/analysis/pointer_origin.h"
#include "passes/lint/lint.h"
#include "runtime/cache/lease.h"
#include "runtime/compile/folder.h"
#include "runtime/compile/limit.h"
#include "runtime/compile/missing.h"
#include "runtime/compile/recall.h"
#include "runtime/compile/stack.h"
#include "runtime/compile/worker.h"
#include "runtime/launch/facts.h"
#include "runtime/status.h"
#include "runtime/tools/ptxas.h"
#include "support/file.h"

#include <stdlib.h>
#include <time.h>

const OutputInfo output_info[OUTPUT_COUNT] = {
#define OUTPUT(id, name, file, summary) {name, file, summary},
#include "runtime/compile/outputs.def"
};

const char *const stage_name[STAGE_COUNT] = {
#define STAGE(id, name) name,
#include "runtime/compile/stages.def"
};

/* One compilation: what every stage needs. */
typedef struct Compilation {
    Ctx *ctx;
    const CompileRequest *request;
    Compiled *compiled;
    double stage_start;
    Str assembler;     /* identifies it; empty: none is needed */
    Str key, code_key; /* of the cache; empty: none */
    Reach reach;       /* with a code_key */
    bool has_place;    /* the key is that of this place: see recall_place_key */
    CacheLease lease;
    bool dump_failed;
    bool ok;              /* what came of it */
    const char *ptxas;    /* NULL: none */
    Driver driver;        /* loaded here when neither ptxas nor a device was there */
    const Driver *linker; /* the driver that assembles; NULL: ptxas does, or nothing is assembled */
} Compilation;

double clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Time since the last call goes to the stage. */
static void end_stage(Compilation *c, StageKind stage) {
    double now = clock_ms();
    c->compiled->ms[stage] += now - c->stage_start;
    c->stage_start = now;
}

/* Whether every stage is looked at. */
static bool shows_stages(const CompileRequest *request) {
    return request->dump_folder || request->observer.see;
}

static bool wants(const Compilation *c, uint32_t outputs) {
    return shows_stages(c->request) || (c->request->want & outputs);
}

static void dump(Compilation *c, const char *file, Str text) {
    const char *folder = c->request->dump_folder;
    if (!folder || c->dump_failed)
        return;
    Arena *arena = &c->ctx->arena;
    const char *path = file_join(arena, str_from(folder), str_from(file));
    int error = file_write(arena, path, text, false);
    if (error) {
        c->dump_failed = true;
        report_unwritable(&c->ctx->diags, path, error);
    }
}

/* A stage for the dump folder and for who looks on. */
static void show(Compilation *c, const StageText *stage) {
    const StageObserver *observer = &c->request->observer;
    if (!shows_stages(c->request) || !stage->text.len)
        return;
    double start = clock_ms();
    dump(c, stage->file, stage->text);
    if (observer->see)
        observer->see(observer->user, stage);
    double spent = clock_ms() - start;
    c->compiled->ms[STAGE_dump] += spent;
    c->stage_start += spent;
}

static void put_output(Compilation *c, OutputKind kind, Str text) {
    c->compiled->outputs[kind] = text;
    if (output_info[kind].file)
        show(c, &(StageText){output_info[kind].file, kind, .pass = PASS_COUNT, .text = text});
}

/* `notes`: NULL, or empty. */
static Str print_func(Compilation *c, const Func *func, PrintNotes *notes) {
    StrBuf text = strbuf(&c->ctx->arena);
    if (notes)
        notes->arena = &c->ctx->arena;
    module_print(func->module, &(PrintOptions){.notes = notes}, &text);
    return strbuf_str(&text);
}

/* Shows the Tile IR that there is now, and gives its text. */
static Str show_func(Compilation *c, const char *file, PassId pass) {
    Func *func = c->compiled->func;
    PrintNotes notes = {0};
    const bool is_seen = c->request->observer.see;
    Str text = print_func(c, func, is_seen ? &notes : NULL);
    show(c, &(StageText){file, OUTPUT_tir, pass, text, is_seen ? &notes.lines : NULL,
                         is_seen ? &notes : NULL, func});
    return text;
}

/* Where something else in the file changed than what the kernel's code depends on, or the request
 * says the same in other words, the cache has it under what there was before. Messages of the
 * parser are not what it remembers. */
static bool find_same_code(Compilation *c, DiagMark before) {
    Ctx *ctx = c->ctx;
    const CompileRequest *request = c->request;
    const FuncDef *kernel;
    CompileRequest by_name = *request;
    if (!c->key.len || request->kernel.units.count || diag_said_since(&ctx->diags, before) ||
        !(kernel = frontend_choose_kernel(ctx, c->compiled->syntax, request->kernel.kernel)) ||
        !frontend_by_name(ctx, kernel, &request->kernel, &by_name.kernel) ||
        !frontend_reach(ctx, c->compiled->syntax, kernel, &c->reach))
        return false;
    c->code_key = recall_code_key(ctx, &by_name, &c->reach, c->assembler);
    bool found = recall_get_code(ctx, request, c->key, c->code_key, c->compiled);
    if (found)
        c->compiled->syntax = NULL;
    end_stage(c, STAGE_cache);
    return found;
}

static bool parse_stage(Compilation *c) {
    Ctx *ctx = c->ctx;
    AstFile *syntax = compile_parse_read(ctx, c->request, c->compiled->file);
    c->compiled->syntax = syntax;
    if (!syntax)
        return false;
    if (wants(c, OUTPUT_BIT(ast))) {
        StrBuf text = strbuf(&ctx->arena);
        SpanList lines = {0};
        ast_print_file_lines(syntax, &text, &lines);
        c->compiled->outputs[OUTPUT_ast] = strbuf_str(&text);
        show(c, &(StageText){output_info[OUTPUT_ast].file, OUTPUT_ast, PASS_COUNT,
                             strbuf_str(&text), .lines = &lines});
    }
    end_stage(c, STAGE_parse);
    return true;
}

/* Of the kernel as it was elaborated, before passes change what its pointers are. */
static void note_written(Compilation *c, const Elaborated *elaborated) {
    Func *func = elaborated->func;
    bool *written = ARENA_ARRAY(&c->ctx->arena, bool, (size_t)func->body->nargs + 1);
    func_written(func, written);
    for (uint32_t i = 0, passed = 0; i < elaborated->param_count; i++) {
        KernelParam *param = &elaborated->params[i];
        if (param->is_constexpr)
            continue;
        param->is_only_read = type_is_pointer(func->body->args[passed].type) && !written[passed];
        passed++;
    }
}

static bool elaborate_stage(Compilation *c) {
    ElaborateRequest request = c->request->kernel;
    request.file = c->compiled->file;
    request.capability = c->request->target->capability;
    Elaborated elaborated;
    if (!frontend_elaborate(c->ctx, c->compiled->syntax, &request, &elaborated))
        return false;
    c->compiled->func = elaborated.func;
    c->compiled->func->capability = request.capability;
    c->compiled->func->register_request = c->request->max_registers;
    c->compiled->func->max_shared = c->request->max_shared;
    c->compiled->func->no_tensor_copies = c->request->no_tensor_copies;
    c->compiled->func->no_persistence = c->request->no_persistence;
    c->compiled->func->in_place = c->request->in_place;
    c->compiled->func->deterministic = c->request->deterministic;
    if (c->request->plain_abi)
        func_plain_abi(c->compiled->func);
    lint_func(c->compiled->func);
    if (c->ctx->diags.errors)
        return false;
    c->compiled->asked = elaborated.asked;
    c->compiled->imports = elaborated.imports;
    note_written(c, &elaborated);
    c->compiled->facts.params = elaborated.params;
    c->compiled->facts.param_count = elaborated.param_count;
    if (wants(c, OUTPUT_BIT(tir)))
        c->compiled->outputs[OUTPUT_tir] = show_func(c, output_info[OUTPUT_tir].file, PASS_COUNT);
    end_stage(c, STAGE_elaborate);
    return true;
}

/* Shows what a pass changed; the numbers go on from the elaborator's 01. */
static void observe_pass(void *user, const Func *func, PassId pass, unsigned position, bool changed,
                         double milliseconds) {
    Compilation *c = user;
    vec_push(&c->ctx->arena, &c->compiled->passes, (PassTime){pass, changed, milliseconds});
    (void)func; /* the compilation's own */
    if (changed && shows_stages(c->request))
        show_func(c, str_format(&c->ctx->arena, "%02u-%s.tir", position + 2, pass_info[pass].name),
                  pass);
}

static bool passes_stage(Compilation *c) {
    PipelineOptions options = {c->request->check_passes, observe_pass, c, c->compiled->contracts};
    if (!pipeline_run(c->compiled->func, &options))
        return false;
    if (wants(c, OUTPUT_BIT(tir_final)))
        put_output(c, OUTPUT_tir_final, print_func(c, c->compiled->func, NULL));
    end_stage(c, STAGE_passes);
    return true;
}

/* Runs code generation; its times add up over runs. */
static bool generate(Compilation *c, CodegenResult *result) {
    const CompileRequest *request = c->request;
    Compiled *compiled = c->compiled;
    CodegenOptions options = {.line_info = request->line_info,
                              .keep_llvm = wants(c, OUTPUT_BIT(ll) | OUTPUT_BIT(ll_before)),
                              .llvm_level = request->llvm_level,
                              .no_fp_fusion = request->no_fp_fusion,
                              .no_ftz = request->no_ftz};
    *result = (CodegenResult){0};
    bool ok = codegen_ptx(compiled->func, &options, result);
    compiled->ms[STAGE_build] += result->build_ms;
    compiled->ms[STAGE_optimise] += result->optimise_ms;
    compiled->ms[STAGE_emit] += result->emit_ms;
    c->stage_start = clock_ms();
    return ok;
}

static void put_code(Compilation *c, const CodegenResult *result) {
    c->compiled->facts.meta = result->meta;
    put_output(c, OUTPUT_ll_before, result->llvm_before);
    put_output(c, OUTPUT_ll, result->llvm_after);
    put_output(c, OUTPUT_ptx, result->ptx);
}

/* What a launcher will rely on: a form that it goes to does not send it there again. */
static bool check_forms(Compilation *c, const KernelMeta *meta) {
    if (c->request->in_place && meta->apart.len)
        return ctx_diag(c->ctx, c->compiled->func->span, apart_unwanted, STR_ARG(meta->name));
    if (c->request->no_tensor_copies && meta->tensor_maps.len)
        return ctx_diag(c->ctx, c->compiled->func->span, tensor_map_unwanted, STR_ARG(meta->name));
    vec_for_each (recipe, &meta->tensor_maps) {
        if (recipe_valid(recipe))
            continue;
        StrBuf text = strbuf(&c->ctx->arena);
        strbuf_printf(&text, "rank %d ", recipe->rank);
        if (recipe->rank >= 0 && recipe->rank <= RECIPE_MAX_RANK)
            recipe_print(recipe, &text);
        return ctx_diag(c->ctx, c->compiled->func->span, tensor_map_invalid, STR_ARG(meta->name),
                        text.ptr);
    }
    return true;
}

static bool codegen_stage(Compilation *c) {
    CodegenResult result;
    if (!generate(c, &result) || !check_forms(c, &result.meta))
        return false;
    put_code(c, &result);
    const Target *target = c->request->target;
    if (result.meta.shared_bytes <= target->shared_per_block)
        return true;
    ctx_diag(c->ctx, c->compiled->func->span, kernel_shared_limit, STR_ARG(result.meta.name),
             result.meta.shared_bytes, target->name, target->shared_per_block);
    diag_hint(&c->ctx->diags, "use smaller tiles or fewer stages");
    return false;
}

/* Finds what turns PTX into cubin; its identity is part of the cache's key. False after a report.
 */
static bool find_assembler(Compilation *c, Str *identity) {
    Arena *arena = &c->ctx->arena;
    *identity = STR("");
    if (!wants(c, OUTPUT_BIT(cubin) | OUTPUT_BIT(sass)))
        return true;
    c->ptxas = ptxas_find(arena, c->request->ptxas);
    if (c->ptxas) {
        *identity = recall_assembler(c->ctx, c->request->cache, c->ptxas);
        return true;
    }
    if (c->request->is_strict && recall_prewarmed_by(c->ctx, c->request->cache, identity))
        return true;
    Diags quiet = {.arena = arena, .sources = &c->ctx->sources};
    if (c->request->device) {
        c->linker = c->request->device->driver;
    } else if (driver_load(&c->driver, &quiet, c->request->cuda_library)) {
        c->linker = &c->driver;
    } else {
        bool demanded = c->request->want & (OUTPUT_BIT(cubin) | OUTPUT_BIT(sass));
        if (demanded)
            ctx_diag(c->ctx, (Span){0}, assembler_missing, quiet.first->text);
        else if (c->request->dump_folder)
            ctx_diag(c->ctx, (Span){0}, dump_without_cubin, quiet.first->text);
        else
            return true;
        diag_hint(&c->ctx->diags, "set TILEC_PTXAS to a ptxas of CUDA 12 or newer%s",
                  demanded ? ", or emit ptx" : "");
        return !demanded;
    }
    *identity = driver_runs_ptx(c->linker)
                    ? STR("simulator")
                    : str_from(str_format(arena, "driver %d", c->linker->version));
    return true;
}

/* Machine code and what it takes of an SM. */
typedef struct Assembled {
    Str cubin;
    Resources resources;
} Assembled;

static bool link_with(Compilation *c, const Device *device, Str ptx, Str *cubin, Str *log) {
    bool pushed;
    CUresult result = device_enter(device, &pushed);
    if (!driver_check(device->driver, &c->ctx->diags, DRIVER_context_push, result))
        return false;
    bool ok = driver_assemble(device, &c->ctx->diags, ptx, c->request->line_info, cubin, log);
    device_leave(device, pushed);
    return ok;
}

/* The driver cannot be interrupted, and has things that it wants back: a cancellation waits for it.
 */
static bool assemble_with_driver(Compilation *c, Str ptx, Assembled *assembled) {
    Arena *arena = &c->ctx->arena;
    const Cancel *cancel = arena->cancel;
    Str log = STR("");
    bool ok;
    ctx_cancel_with(c->ctx, NULL);
    if (c->request->device) {
        ok = link_with(c, c->request->device, ptx, &assembled->cubin, &log);
    } else {
        Device device;
        driver_close(&c->driver);
        ok = driver_open(&c->driver, &c->ctx->diags, c->request->cuda_library) &&
             device_open(&c->driver, &c->ctx->diags, 0, &device);
        if (ok) {
            ok = link_with(c, &device, ptx, &assembled->cubin, &log);
            device_close(&device);
        }
    }
    ctx_cancel_with(c->ctx, cancel);
    arena_check(arena);
    if (ok)
        resources_parse(log, c->compiled->facts.meta.name, &assembled->resources);
    return ok;
}

/* A dump without it says nothing of that. False only when it was asked for. */
static bool disassemble(Compilation *c) {
    const bool demanded = c->request->want & OUTPUT_BIT(sass);
    const DiagMark before = diag_mark(&c->ctx->diags);
    Str sass;
    if (cubin_disassemble(c->ctx, c->compiled->outputs[OUTPUT_cubin], c->request->time_limit_ms,
                          &sass)) {
        put_output(c, OUTPUT_sass, sass);
        return true;
    }
    if (!demanded)
        diag_rewind(&c->ctx->diags, before);
    return !demanded;
}

static bool assemble(Compilation *c, Str ptx, Assembled *assembled) {
    *assembled = (Assembled){0};
    const AssembleRequest request = {ptx, c->compiled->facts.meta.name, c->request->target,
                                     c->request->line_info, c->request->time_limit_ms};
    bool ok = c->ptxas ? ptxas_assemble(c->ctx, c->ptxas, &request, &assembled->cubin,
                                        &assembled->resources)
                       : assemble_with_driver(c, ptx, assembled);
    end_stage(c, STAGE_assemble);
    return ok;
}

static int32_t spilled(const Resources *resources) {
    return resources->spill_stores + resources->spill_loads;
}

/* Whether the code with all registers is better than the first, which spills. One register that is
 * stored and loaded once costs less than the room of a block on an SM, and two less than that of
 * more than half of the blocks. */
static bool is_better(const Compilation *c, const Resources *first, const Resources *retried) {
    enum { ONE_REGISTER = 8 };
    if (!retried->known || spilled(retried) >= spilled(first))
        return false;
    const KernelMeta *meta = &c->compiled->facts.meta;
    Resources few = *first, all = *retried;
    resources_occupancy(&few, meta->target, meta->threads, meta->shared_bytes);
    resources_occupancy(&all, meta->target, meta->threads, meta->shared_bytes);
    int32_t worth = 2 * all.blocks_per_sm < few.blocks_per_sm ? 2 * ONE_REGISTER : ONE_REGISTER;
    return all.blocks_per_sm >= few.blocks_per_sm || spilled(first) > worth;
}

/* The assembler spills a few bytes at times to keep room for more blocks on an SM, and so does a
 * pass's limit on registers; the spills then cost more than the room is worth. The code is made
 * once more without either, and kept if it is better. What is said of a version not kept is
 * dropped. */
static void retry_with_all_registers(Compilation *c, Assembled *assembled) {
    Ctx *ctx = c->ctx;
    Func *func = c->compiled->func;
    const DiagMark before = diag_mark(&ctx->diags);
    func->all_registers = true;
    CodegenResult code;
    Assembled retried;
    bool better = generate(c, &code) && assemble(c, code.ptx, &retried) &&
                  is_better(c, &assembled->resources, &retried.resources);
    diag_rewind(&ctx->diags, before);
    if (!better) {
        func->all_registers = false;
        return;
    }
    *assembled = retried;
    put_code(c, &code);
    if (wants(c, OUTPUT_BIT(tir_final)))
        put_output(c, OUTPUT_tir_final, print_func(c, func, NULL));
}

static void report_resources(Compilation *c) {
    Compiled *compiled = c->compiled;
    Resources *resources = &compiled->facts.resources;
    if (!resources->known)
        return;
    resources_occupancy(resources, compiled->facts.meta.target, compiled->facts.meta.threads,
                        compiled->facts.meta.shared_bytes);
    if (spilled(resources))
        ctx_diag(c->ctx, compiled->func->span, kernel_spills, STR_ARG(compiled->facts.meta.name),
                 resources->spill_stores, resources->spill_loads, resources->registers);
}

static bool assemble_stage(Compilation *c) {
    if (!c->ptxas && !c->linker)
        return true;
    Assembled assembled;
    if (!assemble(c, c->compiled->outputs[OUTPUT_ptx], &assembled))
        return false;
    if (spilled(&assembled.resources) && !c->request->max_registers)
        retry_with_all_registers(c, &assembled);
    c->compiled->facts.resources = assembled.resources;
    report_resources(c);
    put_output(c, OUTPUT_cubin, assembled.cubin);
    return true;
}

/* What follows machine code, whether it was compiled or recalled. */
static bool finish(Compilation *c) {
    if (wants(c, OUTPUT_BIT(sass)) && c->compiled->outputs[OUTPUT_cubin].len && !disassemble(c))
        return false;
    if (wants(c, OUTPUT_BIT(meta))) {
        StrBuf text = strbuf(&c->ctx->arena);
        strbuf_putc(&text, '{');
        facts_json(&c->compiled->facts, &text);
        strbuf_puts(&text, "}\n");
        put_output(c, OUTPUT_meta, strbuf_str(&text));
    }
    return !c->dump_failed;
}

static bool run_all_stages(Compilation *c) {
    const CompileRequest *request = c->request;
    const uint32_t after_parse = ~OUTPUT_BIT(ast), after_elaborate = after_parse & ~OUTPUT_BIT(tir),
                   after_passes = after_elaborate & ~OUTPUT_BIT(tir_final);
    const DiagMark before = diag_mark(&c->ctx->diags);
    if (!parse_stage(c))
        return false;
    if (find_same_code(c, before))
        return finish(c);
    if (request->is_strict)
        return missing_report(c->ctx, request, &(Missing){c->compiled->syntax, c->key});
    if (request->isolated)
        return true;
    if (!request->keep_func && !wants(c, after_parse))
        return true;
    if (!elaborate_stage(c))
        return false;
    if (!request->until_passes && !wants(c, after_elaborate))
        return true;
    if (!passes_stage(c))
        return false;
    if (!wants(c, after_passes))
        return true;
    return codegen_stage(c) && assemble_stage(c) && finish(c);
}

static void stages_on_stack(void *user) {
    Compilation *c = user;
    c->ok = run_all_stages(c);
}

/* A source that no cache may know goes to the worker unread. */
static bool run_stages(Compilation *c) {
    const bool isolated = c->request->isolated;
    if ((!isolated || c->key.len) && (!stack_run(c->ctx, stages_on_stack, c) || !c->ok))
        return false;
    return !isolated || c->compiled->from_cache || worker_compile(c->ctx, c->request, c->compiled);
}

/* The cache knows code and facts, not what lies before them. */
static bool may_recall(const CompileRequest *request) {
    const uint32_t known =
        OUTPUT_BIT(ptx) | OUTPUT_BIT(cubin) | OUTPUT_BIT(sass) | OUTPUT_BIT(meta);
    return request->cache && cache_is_on(request->cache) && (request->want & known) &&
           !(request->want & ~known) && !shows_stages(request) && !request->keep_func;
}

static void make_and_store(Compilation *c) {
    c->ok = run_stages(c);
    if (!c->ok)
        return;
    c->stage_start = clock_ms();
    if (c->code_key.len && !c->compiled->from_cache &&
        !recall_is_covered(c->ctx, &c->reach, c->compiled))
        c->code_key = STR("");
    c->compiled->store_error = recall_put(c->ctx, c->request, c->key, c->code_key, c->compiled);
    end_stage(c, STAGE_store);
}

/* Of several that want the same at once one makes it. */
static void find_or_make(void *user) {
    Compilation *c = user;
    for (bool look = true; look;) {
        const RecallResult found = recall_get(c->ctx, c->request, c->key, c->compiled);
        end_stage(c, STAGE_cache);
        if (found == RECALL_HIT)
            break;
        if (found == RECALL_OTHER_IMPORTS && !c->has_place) {
            c->key = recall_place_key(c->ctx, c->key, c->request, c->compiled->file);
            c->has_place = true;
            cache_lease_close(&c->lease);
            cache_lease_open(&c->lease, c->request->cache, c->key);
            continue;
        }
        look = !c->request->is_strict && cache_lease_wait(&c->lease, c->ctx->arena.cancel);
        end_stage(c, STAGE_wait);
    }
    if (c->compiled->from_cache)
        c->ok = finish(c);
    else
        make_and_store(c);
}

static void end_lease(void *user) {
    Compilation *c = user;
    cache_lease_close(&c->lease);
}

static bool compile_source(Compilation *c) {
    if (!find_assembler(c, &c->assembler))
        return false;
    if (!may_recall(c->request))
        return c->request->is_strict ? missing_report_uncached(c->ctx, c->request) : run_stages(c);
    c->key = recall_key(c->ctx, c->request, c->compiled->file, c->assembler);
    cache_lease_open(&c->lease, c->request->cache, c->key);
    ctx_finally(c->ctx, find_or_make, end_lease, c);
    cache_report(c->request->cache, &c->ctx->diags, c->compiled->store_error);
    return c->ok;
}

bool compile_choose_warnings(Ctx *ctx, const CompileRequest *request) {
    bool ok = true;
    for (uint32_t i = 0; i < request->warning_count; i++)
        ok &= diag_choose(&ctx->diags, request->warnings[i]);
    return ok;
}

static void read_and_compile(void *user) {
    Compilation *c = user;
    c->compiled->file = compile_read_request(c->ctx, c->request);
    end_stage(c, STAGE_read);
    c->ok = c->compiled->file && compile_source(c);
}

static void release_driver(void *user) {
    Compilation *c = user;
    driver_close(&c->driver);
}

static void compile_and_release(void *user) {
    Compilation *c = user;
    ctx_finally(c->ctx, read_and_compile, release_driver, c);
}

bool compile_kernel(Ctx *ctx, const CompileRequest *request, Compiled *compiled) {
    *compiled = (Compiled){.before = diag_mark(&ctx->diags)};
    Compilation c = {.ctx = ctx, .request = request, .compiled = compiled};
    double start = c.stage_start = clock_ms();
    arena_check(&ctx->arena);
    compile_use_files(ctx, request);
    if (request->isolated && request->reader.read)
        return ctx_diag(ctx, (Span){0}, reader_isolated);
    if (request->isolated && request->kernel.evaluator.call)
        return ctx_diag(ctx, (Span){0}, evaluate_isolated);
    if (!compile_choose_warnings(ctx, request))
        return false;
    if (request->dump_folder) {
        int error = file_make_folder(&ctx->arena, request->dump_folder);
        if (error)
            return ctx_diag(ctx, (Span){0}, folder_unwritable, request->dump_folder,
                            file_error_text(&ctx->arena, error));
    }
    c.request = folder_resolve(ctx, request);
    if (!c.request)
        return false;
    const bool in_time = limit_run(ctx, request->compile_limit_ms, compile_and_release, &c);
    compiled->total_ms = clock_ms() - start;
    return in_time && c.ok;
}

static bool was_checked(const Compiled *compiled) {
    bool checked = false;
    for (int pass = 0; pass < PASS_COUNT; pass++)
        checked |= compiled->contracts[pass].runs != 0;
    return checked;
}

void compiled_print_times(const Compiled *compiled, StrBuf *out) {
    strbuf_puts(out, "stage                 ms\n");
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (compiled->ms[i] == 0)
            continue;
        strbuf_printf(out, "%-16s %7.3f\n", stage_name[i], compiled->ms[i]);
        if (i != STAGE_passes)
            continue;
        for (size_t j = 0; j < compiled->passes.len; j++) {
            const PassTime *pass = &compiled->passes.data[j];
            strbuf_printf(out, "  %-14s %7.3f%s\n", pass_info[pass->pass].name, pass->ms,
                          pass->changed ? "" : "  no change");
        }
    }
    strbuf_printf(out, "%-16s %7.3f\n", "total", compiled->total_ms);
    if (was_checked(compiled))
        contracts_print(compiled->contracts, out);
}

void compiled_json_times(const Compiled *compiled, StrBuf *out) {
    strbuf_puts(out, "\"stages\": [");
    const char *separator = "";
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (compiled->ms[i] == 0)
            continue;
        strbuf_printf(out, "%s{\"name\": \"%s\", \"ms\": %.4f}", separator, stage_name[i],
                      compiled->ms[i]);
        separator = ", ";
    }
    strbuf_printf(out, "], \"total_ms\": %.4f, \"passes\": [", compiled->total_ms);
    for (size_t i = 0; i < compiled->passes.len; i++) {
        const PassTime *pass = &compiled->passes.data[i];
        strbuf_printf(out, "%s{\"name\": \"%s\", \"ms\": %.4f, \"changed\": %s}", i ? ", " : "",
                      pass_info[pass->pass].name, pass->ms, pass->changed ? "true" : "false");
    }
    strbuf_putc(out, ']');
    if (was_checked(compiled)) {
        strbuf_puts(out, ", \"contract\": ");
        contracts_json(compiled->contracts, out);
    }
}

KernelImage compiled_image(Arena *arena, const Compiled *compiled, const Driver *driver) {
    return facts_image(
        arena, &compiled->facts,
        facts_code(driver, compiled->outputs[OUTPUT_cubin], compiled->outputs[OUTPUT_ptx]));
}

int32_t compile_asks_language(int32_t option) {
    const char *set = getenv("TILEC_LANGUAGE");
    if (option || !set || !*set)
        return option;
    const int32_t version = frontend_language(str_from(set));
    return version ? version : -1;
}

bool compile_asks_deterministic(bool option) {
    const char *set = getenv("TILEC_DETERMINISTIC");
    return option || (set && *set && strcmp(set, "0") != 0);
}
