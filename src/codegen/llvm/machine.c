/* LLVM's side: target machine, emission, and turning LLVM's complaints into diagnostics.
 *
 * LLVM reports recoverable trouble to the context's diagnostic handler. What it considers fatal
 * goes to one handler per process and must not return: that handler jumps back to machine_guard of
 * the thread that was compiling. The LLVM context of that compilation is then abandoned, not freed,
 * because its state is unknown; nothing else of LLVM's is, since fatal errors are not raised where
 * LLVM holds what compilations share.
 *
 * LLVM has no way to fail for want of memory, or to give up. heap.h counts what this thread takes
 * and keeps a reserve for when malloc fails; what is over, or cancelled, is left where LLVM holds
 * nothing that others wait for: between its runs, whose objects are freed, and between passes of
 * the back end (the yield callback), where the context is abandoned. Only when the reserve does not
 * reach that far is LLVM left in the middle of an allocation. A lock of its own may then be held
 * for ever: LLVM is lost to this process, and further compilations say so. */
#define _GNU_SOURCE
#include "codegen/llvm/machine.h"
#include "support/heap.h"
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* The thread state there must be: LLVM's fatal-error handler takes no context. */
static _Thread_local jmp_buf *fatal_return;
static _Thread_local char fatal_text[512];

/* Of the process, as LLVM is. */
static pthread_mutex_t llvm_lock = PTHREAD_MUTEX_INITIALIZER;
static bool llvm_ready; /* under the lock */
static atomic_bool llvm_lost;

/* Of one compilation. */
struct Guard {
    char *message;              /* LLVM's text and buffer being copied: held here so that running */
    LLVMMemoryBufferRef buffer; /* out of memory meanwhile frees them */
    Heap *heap, own_heap;       /* of the thread; ours where it has none */
    jmp_buf *outer_oom;         /* the arena's target outside of machine_guard; may be NULL */
    jmp_buf *leave;             /* where LLVM is left when it takes too much */
};

static void on_fatal(const char *reason) {
    if (fatal_return) {
        snprintf(fatal_text, sizeof fatal_text, "%s", reason);
        longjmp(*fatal_return, 1);
    }
}

/* The plain back end (level 0) joins copies too: else the inputs and results of every piece of PTX
 * and every value that a loop carries are copied, products in flight among them, which ptxas then
 * has to wait for (docs/ptxas.md). An LLVM without the option ignores it. */
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
    cg->guard->message = text;
    Str copy = {str_dup(cg->arena, str_from(text)), strlen(text)};
    cg->guard->message = NULL;
    LLVMDisposeMessage(text);
    return copy;
}

bool machine_report(Cg *cg, char *text) {
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
    if (cg->guard->buffer)
        LLVMDisposeMemoryBuffer(cg->guard->buffer);
    if (cg->guard->message)
        LLVMDisposeMessage(cg->guard->message);
}

/* Once for the process; leaves the lock as it was when memory runs out. */
static void initialise_once(Heap *heap) {
    jmp_buf *outer = heap->exhausted, here;
    pthread_mutex_lock(&llvm_lock);
    if (!llvm_ready) {
        if (setjmp(here)) {
            pthread_mutex_unlock(&llvm_lock);
            longjmp(*outer, 1);
        }
        heap->exhausted = &here;
        initialise();
        heap->exhausted = outer;
        llvm_ready = true;
    }
    pthread_mutex_unlock(&llvm_lock);
}

static _Noreturn void out_of_memory(Cg *cg) {
    if (!cg->guard->outer_oom)
        abort(); /* as an arena without a target does */
    longjmp(*cg->guard->outer_oom, 1);
}

/* There is no more memory for LLVM, or nobody wants what it makes. */
static bool is_to_leave(const Cg *cg) {
    return heap_is_over(cg->guard->heap) || cancel_is_requested(cg->arena->cancel);
}

void machine_leave_if_due(Cg *cg) {
    if (is_to_leave(cg) && cg->arena->oom)
        longjmp(*cg->arena->oom, 1);
}

/* Between passes of the back end. */
static void on_yield(LLVMContextRef llvm, void *user) {
    Cg *cg = user;
    if (is_to_leave(cg))
        longjmp(*cg->guard->leave, 1);
}

static void begin_guard(Cg *cg, jmp_buf *exhausted) {
    cg->guard->outer_oom = cg->arena->oom;
    cg->guard->heap = heap_of_thread();
    if (!cg->guard->heap) {
        cg->guard->heap = &cg->guard->own_heap;
        heap_use(cg->guard->heap);
    }
    if (!heap_begin(cg->guard->heap, exhausted)) {
        heap_use(cg->guard->heap == &cg->guard->own_heap ? NULL : cg->guard->heap);
        out_of_memory(cg);
    }
}

static void end_guard(Cg *cg) {
    fatal_return = NULL;
    cg->arena->oom = cg->guard->outer_oom;
    heap_end(cg->guard->heap);
    if (cg->guard->heap == &cg->guard->own_heap)
        heap_use(NULL);
}

/* How the body came to its end, by a jump or not. */
typedef enum Way { WAY_DONE, WAY_FATAL, WAY_ARENA_FULL, WAY_LEFT, WAY_EXHAUSTED } Way;

static Way run_guarded(Cg *cg, bool (*body)(Cg *cg), bool *done) {
    jmp_buf fatal, oom, leave, exhausted;
    if (setjmp(exhausted))
        return WAY_EXHAUSTED;
    begin_guard(cg, &exhausted);
    if (setjmp(fatal))
        return WAY_FATAL;
    if (setjmp(leave))
        return WAY_LEFT;
    if (setjmp(oom))
        return WAY_ARENA_FULL;
    fatal_return = &fatal;
    cg->guard->leave = &leave;
    if (cg->guard->outer_oom)
        cg->arena->oom = &oom;
    *done = body(cg) && !cg->failed;
    return WAY_DONE;
}

bool machine_guard(Cg *cg, bool (*body)(Cg *cg)) {
    bool done = false;
    if (atomic_load(&llvm_lost)) {
        ctx_diag(cg->ctx, cg->func->span, llvm_lost);
        diag_hint(&cg->ctx->diags, "compile in a process of its own, or start this one anew");
        return false;
    }
    cg->guard = ARENA_NEW(cg->arena, struct Guard);
    Way way = run_guarded(cg, body, &done);
    end_guard(cg);
    if (way == WAY_EXHAUSTED) {
        atomic_store(&llvm_lost, true);
        out_of_memory(cg);
    }
    if (way == WAY_FATAL || way == WAY_LEFT)
        cg->llvm = NULL; /* its state is unknown: it is left as it is */
    if (way == WAY_FATAL)
        ctx_diag(cg->ctx, cg->func->span, llvm_error, fatal_text);
    if (way == WAY_LEFT)
        cg->machine = NULL;
    machine_dispose(cg);
    if (way == WAY_LEFT || way == WAY_ARENA_FULL)
        out_of_memory(cg);
    return done;
}

static const char triple[] = "nvptx64-nvidia-cuda";

bool machine_set_level(Cg *cg, LLVMCodeGenOptLevel level) {
    const Target *target = cg->meta.target;
    LLVMTargetRef nvptx = NULL;
    unsigned llvm;
    LLVMGetVersion(&llvm, NULL, NULL);
    if ((int)llvm < target->first_llvm)
        return ctx_diag(cg->ctx, cg->func->span, target_llvm, target->name, target->first_llvm,
                        llvm);
    char *error = NULL;
    if (LLVMGetTargetFromTriple(triple, &nvptx, &error))
        return machine_report(cg, error);
    if (cg->machine)
        LLVMDisposeTargetMachine(cg->machine);
    cg->machine = LLVMCreateTargetMachine(nvptx, triple, target->name, target->llvm_features, level,
                                          LLVMRelocDefault, LLVMCodeModelDefault);
    return cg->machine || ctx_diag(cg->ctx, cg->func->span, llvm_error, "no target machine");
}

bool machine_create(Cg *cg) {
    initialise_once(cg->guard->heap);
    if (!machine_set_level(cg, LLVMCodeGenLevelDefault))
        return false;
    cg->llvm = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(cg->llvm, on_diagnostic, cg);
    LLVMContextSetYieldCallback(cg->llvm, on_yield, cg);
    LLVMContextSetDiscardValueNames(cg->llvm, !cg->options->keep_llvm);
    cg->module = LLVMModuleCreateWithNameInContext("tilec", cg->llvm);
    LLVMSetTarget(cg->module, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(cg->machine);
    LLVMSetModuleDataLayout(cg->module, layout);
    LLVMDisposeTargetData(layout);
    return true;
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
                                            &cg->guard->buffer))
        return machine_report(cg, error);
    machine_leave_if_due(cg);
    Str text = {LLVMGetBufferStart(cg->guard->buffer), LLVMGetBufferSize(cg->guard->buffer)};
    *ptx = lines_only(cg, text);
    return true;
}

Str machine_text(Cg *cg) {
    return take_text(cg, LLVMPrintModuleToString(cg->module));
}
