/* LLVM's side: target machine, pass pipeline, emission, and turning LLVM's complaints into
 * diagnostics.
 *
 * LLVM reports recoverable trouble to the context's diagnostic handler; what it considers fatal
 * goes to one handler per process and must not return. That handler jumps back to machine_guard of
 * the thread that was compiling; the LLVM context of that compilation is then abandoned, not freed,
 * because its state is unknown. */
#define _GNU_SOURCE
#include "codegen/cg.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>

/* The one piece of thread state: LLVM's fatal-error handler takes no context. */
static _Thread_local jmp_buf *fatal_return;
static _Thread_local char fatal_text[512];

static void on_fatal(const char *reason) {
    if (fatal_return) {
        snprintf(fatal_text, sizeof fatal_text, "%s", reason);
        longjmp(*fatal_return, 1);
    }
}

/* The plain back end (level 0) joins copies too: else the inputs and results of every piece of PTX
 * and every value that a loop carries are copied, products in flight among them, which ptxas then
 * has to wait for. An LLVM without the option ignores it. */
static void choose_back_end(void) {
    const char *const arguments[] = {"tilec", "-optimize-regalloc"};
    LLVMParseCommandLineOptions(2, arguments, "");
}

static void initialise(void) {
    LLVMInstallFatalErrorHandler(on_fatal);
    choose_back_end();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

/* Copies LLVM's text into the arena, or into a diagnostic, and frees it. */
static Str take_text(Cg *cg, char *text) {
    cg->message = text;
    Str copy = {str_dup(cg->arena, str_from(text)), strlen(text)};
    cg->message = NULL;
    LLVMDisposeMessage(text);
    return copy;
}

static bool report(Cg *cg, char *text) {
    return ctx_diag(cg->ctx, cg->func->span, llvm_error, take_text(cg, text).ptr);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    Cg *cg = user;
    Str text = take_text(cg, LLVMGetDiagInfoDescription(info));
    switch (LLVMGetDiagInfoSeverity(info)) {
    case LLVMDSError:
        cg->failed = true;
        ctx_diag(cg->ctx, cg->func->span, llvm_error, text.ptr);
        break;
    case LLVMDSWarning:
        ctx_diag(cg->ctx, cg->func->span, llvm_warning, text.ptr);
        break;
    case LLVMDSRemark:
    case LLVMDSNote:
        break;
    }
}

static void machine_dispose(Cg *cg) {
    if (cg->llvm) {
        if (cg->b)
            LLVMDisposeBuilder(cg->b);
        if (cg->entry)
            LLVMDisposeBuilder(cg->entry);
        if (cg->di)
            LLVMDisposeDIBuilder(cg->di);
        LLVMDisposeModule(cg->module);
        LLVMContextDispose(cg->llvm);
    }
    if (cg->machine)
        LLVMDisposeTargetMachine(cg->machine);
    if (cg->buffer)
        LLVMDisposeMemoryBuffer(cg->buffer);
    if (cg->message)
        LLVMDisposeMessage(cg->message);
}

/* Running out of memory in the arena passes through here too, for LLVM's objects are not in it. */
bool machine_guard(Cg *cg, bool (*body)(Cg *cg)) {
    jmp_buf fatal, oom;
    jmp_buf *volatile outer_oom = cg->arena->oom;
    volatile bool done = false;
    fatal_return = &fatal;
    if (setjmp(fatal)) {
        cg->llvm = NULL; /* its state is unknown: it is left as it is */
        ctx_diag(cg->ctx, cg->func->span, llvm_error, fatal_text);
    } else if (outer_oom && setjmp(oom)) {
        fatal_return = NULL;
        cg->arena->oom = outer_oom;
        machine_dispose(cg);
        longjmp(*outer_oom, 1);
    } else {
        if (outer_oom)
            cg->arena->oom = &oom;
        done = body(cg) && !cg->failed;
    }
    fatal_return = NULL;
    cg->arena->oom = outer_oom;
    machine_dispose(cg);
    return done;
}

static const char triple[] = "nvptx64-nvidia-cuda";

static bool create_target_machine(Cg *cg, LLVMCodeGenOptLevel level) {
    const Target *target = cg->meta.target;
    LLVMTargetRef nvptx = NULL;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(triple, &nvptx, &error))
        return report(cg, error);
    if (cg->machine)
        LLVMDisposeTargetMachine(cg->machine);
    cg->machine = LLVMCreateTargetMachine(nvptx, triple, target->llvm_cpu, target->llvm_features,
                                          level, LLVMRelocDefault, LLVMCodeModelDefault);
    return cg->machine || ctx_diag(cg->ctx, cg->func->span, llvm_error, "no target machine");
}

bool machine_create(Cg *cg) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    if (!create_target_machine(cg, LLVMCodeGenLevelDefault))
        return false;
    cg->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(cg->llvm, on_diagnostic, cg);
    LLVMContextSetDiscardValueNames(cg->llvm, !cg->options->keep_llvm);
    cg->module = LLVMModuleCreateWithNameInContext("tilec", cg->llvm);
    LLVMSetTarget(cg->module, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(cg->machine);
    LLVMSetModuleDataLayout(cg->module, layout);
    LLVMDisposeTargetData(layout);
    return true;
}

/* What default<O3> does beyond this costs several times as much and changed no instruction count of
 * the kernels measured: the IR arrives without allocas, calls or nested address expressions. A
 * second instcombine at the end would narrow accumulators that end in f16 to 16-bit copies of
 * themselves in front of the loop. Afterwards NVPTX strength-reduces and rewrites the induction
 * variables of loops. */
static const char pipeline[] =
    "function(early-cse,simplifycfg,instcombine<no-verify-fixpoint>,reassociate,loop-mssa(licm),"
    "separate-const-offset-from-gep,early-cse<memssa>,simplifycfg,adce),globaldce";

/* Without loops ptxas finds all but two things itself: reassociation, which keeps what a row shares
 * out of registers of every element, and immediate offsets of accesses. This and selection without
 * combining take half of the time, for the same number of instructions and registers. */
static const char straight_pipeline[] =
    "function(early-cse,simplifycfg,reassociate,instsimplify,early-cse<memssa>,"
    "separate-const-offset-from-gep,early-cse,adce),globaldce";

/* Where tensor copies and descriptors have taken the place of addresses, what is left for LLVM is
 * to share constants and numbers of threads between ops and to move them out of loops: a sixth of
 * the time of the passes above and of the back end that goes with them. ptxas combines and
 * schedules the same arithmetic in the same number of instructions. */
static const char plain_pipeline[] = "function(early-cse,simplifycfg,loop-mssa(licm),"
                                     "separate-const-offset-from-gep,simplifycfg,adce),globaldce";

enum { LARGE_STRAIGHT_CODE = 600 };

static bool is_loop(Op *op, void *user) {
    return op->code != OP_for && op->code != OP_while;
}

static bool is_large_and_straight(Cg *cg) {
    if (!func_walk(cg->func, is_loop, NULL))
        return false;
    unsigned count = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(cg->fn); block;
         block = LLVMGetNextBasicBlock(block))
        for (Lv inst = LLVMGetFirstInstruction(block); inst; inst = LLVMGetNextInstruction(inst))
            count++;
    return count >= LARGE_STRAIGHT_CODE;
}

/* What the lowerings built, checked where assertions are: that takes a thirtieth of a
 * compilation. */
static bool verify(Cg *cg) {
#ifndef NDEBUG
    char *text = NULL;
    if (LLVMVerifyModule(cg->module, LLVMReturnStatusAction, &text))
        return report(cg, text);
    LLVMDisposeMessage(text);
#endif
    return true;
}

/* How a function goes through LLVM, and the level of the back end. */
typedef struct Way {
    const char *passes;
    LLVMCodeGenOptLevel back_end;
} Way;

static Way way_of(Cg *cg, char *level, size_t size) {
    if (cg->options->llvm_level) {
        snprintf(level, size, "default<O%d>", cg->options->llvm_level);
        return (Way){level, LLVMCodeGenLevelDefault};
    }
    if (cg->products_are_fed)
        return (Way){cg->has_few_pointers ? plain_pipeline : pipeline, LLVMCodeGenLevelNone};
    if (is_large_and_straight(cg))
        return (Way){straight_pipeline, LLVMCodeGenLevelNone};
    return (Way){pipeline, LLVMCodeGenLevelDefault};
}

bool machine_optimise(Cg *cg) {
    if (!verify(cg))
        return false;
    char level[16];
    Way way = way_of(cg, level, sizeof level);
    if (way.back_end != LLVMCodeGenLevelDefault && !create_target_machine(cg, way.back_end))
        return false;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(cg->module, way.passes, cg->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!error) {
        schedule_function(cg);
        return true;
    }
    char *message = LLVMGetErrorMessage(error), copy[512];
    snprintf(copy, sizeof copy, "%s", message);
    LLVMDisposeErrorMessage(message);
    return ctx_diag(cg->ctx, cg->func->span, llvm_error, copy);
}

/* Where `part` begins in the text, or its end. */
static size_t find_text(Str text, const char *part) {
    const char *at = memmem(text.ptr, text.len, part, strlen(part));
    return at ? (size_t)(at - text.ptr) : text.len;
}

/* LLVM marks PTX with line tables as made for debugging (", debug" after the target, DWARF sections
 * at the end), and ptxas then does not optimise. Lines alone (.file, .loc), which LLVM calls
 * directives only and its C API cannot ask for, do not have that price. */
static Str lines_only(Cg *cg, Str ptx) {
    static const char mark[] = ", debug\n";
    size_t end = find_text(ptx, "\t.section\t.debug_");
    size_t at = find_text((Str){ptx.ptr, end}, mark);
    StrBuf out = strbuf(cg->arena);
    strbuf_add(&out, ptx.ptr, at);
    if (at < end)
        strbuf_add(&out, ptx.ptr + at + sizeof mark - 2, end - at - (sizeof mark - 2));
    return strbuf_str(&out);
}

bool machine_emit(Cg *cg, Str *ptx) {
    char *error = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(cg->machine, cg->module, LLVMAssemblyFile, &error,
                                            &cg->buffer))
        return report(cg, error);
    Str text = {LLVMGetBufferStart(cg->buffer), LLVMGetBufferSize(cg->buffer)};
    *ptx = lines_only(cg, text);
    return true;
}

Str machine_text(Cg *cg) {
    return take_text(cg, LLVMPrintModuleToString(cg->module));
}
