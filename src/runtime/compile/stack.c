/* The stack is mapped, not taken from malloc: only the part that is used costs memory, it goes back
 * to the system at the end, and the page below it faults before other memory is overwritten. */
#include "runtime/compile/stack.h"

#include "support/c_locale.h"
#include "support/file.h"
#include "support/heap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for chains of 262144 values (CTX_STACK_PER_VALUE), several times what unrolling and
 * elaboration let a source reach. Where the address space is limited, a half, a quarter, .. of it
 * down to CTX_LEAST_STACK. AddressSanitizer cleans stacks up to 64 MiB when a jump leaves frames.
 */
#ifdef TILEC_SANITIZED
enum { MOST_STACK = 64 << 20 };
#else
enum { MOST_STACK = 256 << 20 };
#endif

typedef struct Stack {
    char *base; /* the guard page, below the stack */
    size_t guard, size;
} Stack;

typedef struct Job {
    Ctx *ctx;
    void (*body)(void *user);
    void *user;
    bool out_of_memory;
} Job;

static bool stack_map(Stack *stack) {
    stack->guard = (size_t)sysconf(_SC_PAGESIZE);
    for (stack->size = MOST_STACK; stack->size >= CTX_LEAST_STACK; stack->size /= 2) {
        stack->base = mmap(NULL, stack->guard + stack->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (stack->base != MAP_FAILED)
            return true;
    }
    return false;
}

static void *run_job(void *user) {
    Job *job = user;
    Ctx *ctx = job->ctx;
    jmp_buf oom;
    Heap heap = {.limit = ctx->arena.limit};
    heap_use(&heap);
    c_locale_enter(); /* to the thread's end */
    ctx->arena.oom = ctx->scratch.oom = &oom;
    if (setjmp(oom))
        job->out_of_memory = true;
    else
        job->body(job->user);
    return NULL;
}

/* Signals go to the program's own threads: their handlers may count on the stack they know. */
static int run_thread(const Stack *stack, Job *job) {
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_attr_setstack(&attributes, stack->base + stack->guard, stack->size);
    if (!error)
        error = pthread_create(&thread, &attributes, run_job, job);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error)
        return error;
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_join(thread, NULL);
    pthread_setcancelstate(cancel, NULL);
    return 0;
}

static int run_on(const Stack *stack, Job *job) {
    Ctx *ctx = job->ctx;
    jmp_buf *arena_oom = ctx->arena.oom, *scratch_oom = ctx->scratch.oom;
    const uint32_t depth = ctx->max_depth;
    ctx->max_depth = (uint32_t)(stack->size / CTX_STACK_PER_VALUE);
    ctx->has_stack = true;
    int error = mprotect(stack->base, stack->guard, PROT_NONE) ? errno : run_thread(stack, job);
    ctx->has_stack = false;
    ctx->max_depth = depth;
    ctx->arena.oom = arena_oom;
    ctx->scratch.oom = scratch_oom;
    return error;
}

void stack_limit_memory(Ctx *ctx, size_t bytes) {
    Heap *heap = heap_of_thread();
    ctx->arena.limit = bytes;
    if (heap)
        heap->limit = bytes;
}

bool stack_run(Ctx *ctx, void (*body)(void *user), void *user) {
    if (ctx->has_stack) {
        body(user);
        return true;
    }
    Stack stack;
    Job job = {ctx, body, user, false};
    int error = ENOMEM;
    if (stack_map(&stack)) {
        error = run_on(&stack, &job);
        munmap(stack.base, stack.guard + stack.size);
    }
    if (job.out_of_memory)
        longjmp(*ctx->arena.oom, 1);
    return !error ||
           ctx_diag(ctx, (Span){0}, stack_unavailable, file_error_text(&ctx->arena, error));
}
