/* The lock, the primary context and the stack of contexts that each thread has. */
#include "simdriver/state.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* A CUDA driver is state of the process by its interface; this is all there is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static SimDriver state;
static _Atomic(pid_t) process; /* that initialised it; 0: none did */

enum { MAX_CONTEXTS = 64 };
static _Thread_local struct {
    CUcontext contexts[MAX_CONTEXTS];
    unsigned count;
} stack;

bool state_is_begun(void) {
    return atomic_load(&process) == getpid();
}

static void take(void) {
    pthread_mutex_lock(&lock);
    state.locale = c_locale_enter();
}

CUresult state_begin(void) {
    if (state_is_begun())
        return CUDA_OK;
    if (atomic_load(&process))
        return CUDA_NOT_INITIALIZED;
    take();
    if (!atomic_load(&process) && settings_read(&state.settings))
        atomic_store(&process, getpid());
    return state_leave(state_is_begun() ? CUDA_OK : CUDA_INVALID_VALUE);
}

SimDriver *state_lock(void) {
    if (!state_is_begun())
        return NULL;
    take();
    return &state;
}

CUresult state_leave(CUresult result) {
    c_locale_leave(state.locale);
    pthread_mutex_unlock(&lock);
    return result;
}

CUcontext state_context(void) {
    return (CUcontext)(void *)&state.primary;
}

static CUresult usable(const SimDriver *driver) {
    if (!stack.count || !stack.contexts[stack.count - 1])
        return CUDA_INVALID_CONTEXT;
    return driver->primary.retains ? driver->primary.fault : CUDA_CONTEXT_DESTROYED;
}

SimDriver *state_enter(CUresult *result) {
    SimDriver *driver = state_lock();
    *result = driver ? usable(driver) : CUDA_NOT_INITIALIZED;
    if (*result == CUDA_OK)
        return driver;
    if (driver)
        state_leave(*result);
    return NULL;
}

CUresult simulated_context_current(CUcontext *context) {
    if (!state_is_begun())
        return CUDA_NOT_INITIALIZED;
    *context = stack.count ? stack.contexts[stack.count - 1] : NULL;
    return CUDA_OK;
}

CUresult simulated_context_push(CUcontext context) {
    if (context != state_context() || stack.count == MAX_CONTEXTS)
        return CUDA_INVALID_CONTEXT;
    stack.contexts[stack.count++] = context;
    return CUDA_OK;
}

CUresult simulated_context_pop(CUcontext *context) {
    if (!stack.count)
        return CUDA_INVALID_CONTEXT;
    const CUcontext top = stack.contexts[--stack.count];
    if (context)
        *context = top;
    return CUDA_OK;
}

CUresult simulated_context_set(CUcontext context) {
    if (context && context != state_context())
        return CUDA_INVALID_CONTEXT;
    stack.count -= stack.count != 0;
    if (context)
        stack.contexts[stack.count++] = context;
    return CUDA_OK;
}

CUresult simulated_context_device(CUdevice *device) {
    *device = 0;
    return stack.count ? CUDA_OK : CUDA_INVALID_CONTEXT;
}

CUresult simulated_context_id(CUcontext context, unsigned long long *id) {
    const CUcontext wanted = context || !stack.count ? context : stack.contexts[stack.count - 1];
    const SimDriver *driver = state_lock();
    if (!driver)
        return CUDA_NOT_INITIALIZED;
    *id = driver->primary.id;
    return state_leave(wanted == state_context() ? CUDA_OK : CUDA_INVALID_CONTEXT);
}

/* Work is done when its call returns: waiting finds out what became of it. */
CUresult simulated_context_wait(void) {
    CUresult result;
    return state_enter(&result) ? state_leave(CUDA_OK) : result;
}

void state_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr);
    fputs("tilec simulator: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(arguments);
}

void state_print(Ctx *ctx) {
    StrBuf text = strbuf(&ctx->scratch);
    diag_print_all(&ctx->diags, &text);
    fwrite(text.ptr, 1, text.len, stderr);
}
