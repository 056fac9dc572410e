/* Streams and events: work has happened when its call returns, so that streams order nothing more.
 * Events hold the time of the host. */
#include "simdriver/state.h"

#include <stdlib.h>
#include <time.h>

struct CUstream_st {
    unsigned flags;
};

struct CUevent_st {
    bool recorded;
    double ms;
};

static CUresult in_context(void) {
    CUresult result;
    return state_enter(&result) ? state_leave(CUDA_OK) : result;
}

CUresult simulated_stream_create(CUstream *stream, unsigned flags) {
    const CUresult result = in_context();
    if (result != CUDA_OK)
        return result;
    *stream = malloc(sizeof **stream);
    if (!*stream)
        return CUDA_OUT_OF_MEMORY;
    (*stream)->flags = flags;
    return CUDA_OK;
}

CUresult simulated_stream_destroy(CUstream stream) {
    if (!stream)
        return CUDA_INVALID_HANDLE;
    free(stream);
    return in_context();
}

CUresult simulated_stream_wait(CUstream stream) {
    return in_context();
}

CUresult simulated_stream_query(CUstream stream) {
    return in_context();
}

/* Nothing is ever captured. */
CUresult simulated_stream_capturing(CUstream stream, int *status) {
    *status = 0;
    return in_context();
}

CUresult simulated_stream_wait_event(CUstream stream, CUevent event, unsigned flags) {
    return event ? in_context() : CUDA_INVALID_HANDLE;
}

CUresult simulated_event_create(CUevent *event, unsigned flags) {
    const CUresult result = in_context();
    if (result != CUDA_OK)
        return result;
    *event = calloc(1, sizeof **event);
    return *event ? CUDA_OK : CUDA_OUT_OF_MEMORY;
}

CUresult simulated_event_destroy(CUevent event) {
    if (!event)
        return CUDA_INVALID_HANDLE;
    free(event);
    return in_context();
}

CUresult simulated_event_record(CUevent event, CUstream stream) {
    CUresult result;
    struct timespec now;
    if (!event)
        return CUDA_INVALID_HANDLE;
    if (!state_enter(&result))
        return result;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    event->recorded = true;
    return state_leave(CUDA_OK);
}

CUresult simulated_event_wait(CUevent event) {
    return event ? in_context() : CUDA_INVALID_HANDLE;
}

CUresult simulated_event_query(CUevent event) {
    return event ? in_context() : CUDA_INVALID_HANDLE;
}

CUresult simulated_event_elapsed(float *milliseconds, CUevent begin, CUevent end) {
    CUresult result;
    if (!begin || !end)
        return CUDA_INVALID_HANDLE;
    if (!state_enter(&result))
        return result;
    if (!begin->recorded || !end->recorded)
        return state_leave(CUDA_INVALID_HANDLE);
    *milliseconds = (float)(end->ms - begin->ms);
    return state_leave(CUDA_OK);
}
