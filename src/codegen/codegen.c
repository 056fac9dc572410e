/* codegen_ptx: checks what the passes promise, then builds, optimises and emits. */
#include "codegen/codegen.h"
#include "codegen/build.h"
#include "codegen/llvm/llvm_pipeline.h"
#include "codegen/llvm/machine.h"
#include "ir/registers.h"
#include "ir/scratch.h"
#include "target/target.h"
#include "target/wgmma.h"
#include <time.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool bad_launch(const Func *func, const char *what, int32_t found, const char *wanted) {
    return ctx_diag(func_ctx(func), func->span, codegen_launch, STR_ARG(func->name), what,
                    (int)found, wanted);
}

static bool is_power_of_two(int32_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

static bool take_end(Op *op, void *user) {
    int64_t *end = user;
    if (!op_has(op, ALLOCATES))
        return true;
    if (op_offset(op) + local_extent(op_out(op)) > *end)
        *end = op_offset(op) + local_extent(op_out(op));
    return true;
}

/* Bytes of shared memory that buffers end at, and what ops take beside them. */
static int64_t used_bytes(Func *func) {
    int64_t end = 0;
    func_walk(func, take_end, &end);
    return end + func_scratch_bytes(func);
}

/* Named barriers are numbered 1 to 15, one per program of a CTA. */
static bool check_launch(Func *func, const Target *target, const KernelMeta *meta) {
    if (!target)
        return bad_launch(func, "the compute capability", func->capability, "one of the targets");
    if (!is_power_of_two(meta->num_warps) || meta->num_warps > TARGET_MAX_WARPS)
        return bad_launch(func, "num_warps", meta->num_warps, "a power of two from 1 to 32");
    if (!is_power_of_two(meta->programs_per_cta) ||
        meta->programs_per_cta * meta->num_warps > TARGET_MAX_WARPS)
        return bad_launch(func, "programs_per_cta", meta->programs_per_cta,
                          "a power of two with at most 32 warps in all");
    if (meta->programs_per_cta > 15 && meta->num_warps > 1)
        return bad_launch(func, "programs_per_cta", meta->programs_per_cta,
                          "at most 15 where programs have several warps");
    if (func_producer(func) && (meta->programs_per_cta > 1 || meta->num_warps == TARGET_MAX_WARPS))
        return bad_launch(func, "the number of warps of a CTA beside its producer",
                          meta->num_warps * meta->programs_per_cta, "one program of at most 16");
    if (meta->teams > 1 && (!func_producer(func) || !target_has(target->capability, FEATURE_WGMMA)))
        return bad_launch(func, "teams", meta->teams,
                          "1 where there is no producer, and on other targets than sm_90a");
    if (meta->num_ctas != 1)
        return bad_launch(func, "num_ctas", meta->num_ctas, "1: clusters are not generated");
    const int32_t limit = func_register_limit(func);
    if (limit && (limit < TARGET_MIN_REGISTERS || limit > TARGET_MAX_REGISTERS))
        return bad_launch(func, "the limit of a thread's registers", limit,
                          "0 for none, or from 24 to 255");
    if (meta->shared_bytes > target->shared_per_block)
        return bad_launch(func, "shared memory", meta->shared_bytes,
                          "no more bytes than a block of the target may have");
    if (func->shared_bytes < used_bytes(func))
        return ctx_diag(func_ctx(func), func->span, codegen_shared, STR_ARG(func->name),
                        (int)func->shared_bytes, (long long)used_bytes(func));
    return true;
}

static bool find_bare_tile(Op *op, void *user) {
    for (uint32_t i = 0; i < op->nout; i++)
        if (op->out[i].type->rank > 0 && !op->out[i].type->layout)
            return false;
    return true;
}

/* What PTX does not allow in a name is written as `$` and two hexadecimal digits. */
static Str entry_name(const Func *func) {
    StrBuf name = strbuf(&func_ctx(func)->arena);
    for (size_t i = 0; i < func->name.len; i++) {
        unsigned char c = (unsigned char)func->name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (letter || (i && c >= '0' && c <= '9'))
            strbuf_putc(&name, (char)c);
        else
            strbuf_printf(&name, "$%02x", c);
    }
    if (!name.len)
        strbuf_puts(&name, "$kernel");
    return strbuf_str(&name);
}

static KernelMeta launch_of(const Func *func) {
    KernelMeta meta = {
        .name = entry_name(func),
        .target = target_by_capability(func->capability),
        .num_warps = func->launched_warps ? func->launched_warps : func->num_warps,
        .programs_per_cta = func->programs_per_cta ? func->programs_per_cta : 1,
        .teams = func->teams ? func->teams : 1,
        .num_ctas = func->num_ctas ? func->num_ctas : 1,
    };
    int32_t producers = func_producer(func) ? (meta.teams > 1 ? WGMMA_WARPS : 1) : 0;
    meta.threads =
        TARGET_WARP_SIZE * (meta.num_warps * meta.programs_per_cta * meta.teams + producers);
    /* Each program's part is aligned like the whole. */
    meta.shared_bytes = ((func->shared_bytes + 15) & -16) * meta.programs_per_cta;
    meta.has_grid_parameter = meta.programs_per_cta > 1;
    meta.is_persistent = func->is_persistent;
    meta.plain_abi = func->plain_abi;
    for (uint32_t i = 0; i + 1 < func->apart.len; i += 2)
        vec_push(&func_ctx(func)->arena, &meta.apart,
                 ((ApartParams){(uint32_t)func->apart.ptr[i], (uint32_t)func->apart.ptr[i + 1]}));
    return meta;
}

typedef struct Job {
    Cg cg;
    CodegenResult *result;
} Job;

static bool generate(Cg *cg) {
    CodegenResult *result = ((Job *)cg)->result;
    double start = now_ms();
    if (!machine_create(cg) || !build_kernel(cg))
        return false;
    if (cg->options->keep_llvm)
        result->llvm_before = machine_text(cg);
    double built = now_ms();
    if (!llvm_pipeline_run(cg))
        return false;
    double optimised = now_ms();
    if (cg->options->keep_llvm)
        result->llvm_after = machine_text(cg);
    double printed = now_ms();
    bool emitted = machine_emit(cg, &result->ptx);
    result->meta = cg->meta;
    result->build_ms = built - start;
    result->optimise_ms = optimised - built;
    result->emit_ms = now_ms() - printed;
    return emitted;
}

bool codegen_ptx(Func *func, const CodegenOptions *options, CodegenResult *result) {
    Ctx *ctx = func_ctx(func);
    *result = (CodegenResult){.meta = launch_of(func)};
    if (!func_check_depth(func) || !check_launch(func, result->meta.target, &result->meta))
        return false;
    if (!func_walk(func, find_bare_tile, NULL))
        return ctx_diag(ctx, func->span, codegen_no_layout, STR_ARG(func->name));
    /* In the arena: LLVM's handlers may jump back here. */
    Job *job = ARENA_NEW(&ctx->arena, Job);
    job->result = result;
    job->cg = (Cg){.ctx = ctx,
                   .arena = &ctx->arena,
                   .func = func,
                   .options = options,
                   .meta = result->meta,
                   .has_producer = func_producer(func) != NULL};
    return machine_guard(&job->cg, generate);
}
