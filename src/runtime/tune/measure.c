/* See measure.h. */
#include "runtime/tune/measure.h"

#include "runtime/compile/compile.h"
#include "runtime/driver/faults.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* What is written between runs: more than any L2, of which the device may not say all. */
enum { FLUSH_LEAST = 64 << 20, FLUSH_NO_CACHE = 4096 };

static bool check(const Measurer *m, Diags *diags, DriverFunction function, CUresult result) {
    return fault_check(m->device, diags, function, result);
}

static bool save_buffers(Measurer *m, Diags *diags) {
    const Driver *driver = m->device->driver;
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        MeasureBuffer *buffer = &m->buffers[i];
        buffer->saved = 0;
        if (!buffer->restores || !buffer->bytes)
            continue;
        if (!device_allocate(m->device, diags, buffer->bytes, &buffer->saved))
            return false;
        const CUresult result =
            driver->copy_on_device(buffer->saved, buffer->address, buffer->bytes, m->stream);
        if (!check(m, diags, DRIVER_copy_on_device, result))
            return false;
    }
    return true;
}

static bool make_events(Measurer *m, Diags *diags) {
    for (; m->event_count < 2 * MEASURE_MAX_RUNS; m->event_count++) {
        const CUresult result =
            m->device->driver->event_create(&m->events[m->event_count], CUDA_EVENT_DEFAULT);
        if (!check(m, diags, DRIVER_event_create, result))
            return false;
    }
    return true;
}

/* A driver that runs PTX itself has no caches: there it is written for the order of calls alone. */
static size_t flush_bytes(const Device *device) {
    const size_t l2 = (size_t)(device->l2_bytes > 0 ? device->l2_bytes : 0);
    if (driver_runs_ptx(device->driver))
        return FLUSH_NO_CACHE;
    return 2 * l2 > FLUSH_LEAST ? 2 * l2 : FLUSH_LEAST;
}

bool measure_open(Measurer *m, Diags *diags, const Device *device, CUstream stream,
                  const tile_launch_options *options, MeasureBuffer *buffers,
                  uint32_t buffer_count) {
    *m = (Measurer){.device = device,
                    .stream = stream,
                    .options = options,
                    .buffers = buffers,
                    .buffer_count = buffer_count,
                    .flush_bytes = flush_bytes(device)};
    if (device_allocate(device, diags, m->flush_bytes, &m->flush) && save_buffers(m, diags) &&
        make_events(m, diags) &&
        check(m, diags, DRIVER_stream_wait, device->driver->stream_wait(stream)))
        return true;
    measure_close(m);
    return false;
}

/* What stood there, or zeros. */
static CUresult prepare_buffers(const Measurer *m) {
    const Driver *driver = m->device->driver;
    CUresult result = CUDA_OK;
    for (uint32_t i = 0; i < m->buffer_count && result == CUDA_OK; i++) {
        const MeasureBuffer *buffer = &m->buffers[i];
        if (!buffer->bytes)
            continue;
        if (buffer->restores && buffer->saved)
            result =
                driver->copy_on_device(buffer->address, buffer->saved, buffer->bytes, m->stream);
        else if (!buffer->restores)
            result = driver->set_bytes(buffer->address, 0, buffer->bytes, m->stream);
    }
    return result;
}

void measure_close(Measurer *m) {
    const Driver *driver = m->device->driver;
    if (!m->is_stuck) {
        if (m->has_run)
            prepare_buffers(m);
        driver->stream_wait(m->stream);
        for (uint32_t i = 0; i < m->buffer_count; i++)
            if (m->buffers[i].saved)
                driver->memory_free(m->buffers[i].saved);
        if (m->flush)
            driver->memory_free(m->flush);
    }
    for (uint32_t i = 0; i < m->event_count; i++) /* which waits for nobody */
        driver->event_destroy(m->events[i]);
}

static void tell(const Measurer *m, const MeasureRun *run) {
    if (m->watch)
        m->watch(m->user, run);
}

static CUresult queue_run(Measurer *m, const MeasureRun *run, CUevent begin, CUevent end) {
    const Driver *driver = m->device->driver;
    const Launch launch = {.grid = run->grid, .stream = m->stream, .options = m->options};
    TensorMapProblem problem;
    m->has_run = true;
    tell(m, run);
    CUresult result = prepare_buffers(m);
    if (result == CUDA_OK)
        result = driver->set_bytes(m->flush, 0, m->flush_bytes, m->stream);
    if (result == CUDA_OK)
        result = driver->event_record(begin, m->stream);
    if (result == CUDA_OK)
        result = executable_launch(run->executable, &launch, run->params, &problem);
    if (result == CUDA_OK)
        result = driver->event_record(end, m->stream);
    return result;
}

/* Runs that are under way: which, and between which events. */
typedef struct Queue {
    MeasureRun *runs[MEASURE_MAX_RUNS];
    uint32_t numbers[MEASURE_MAX_RUNS];
    uint32_t count;
} Queue;

/* Until a run has ended, whose turn it is: looks more seldom the longer it takes. */
static CUresult wait_for_end(Measurer *m, CUevent end) {
    enum { SHORT_NS = 20 * 1000, LONG_NS = 1000 * 1000 };
    const double start = clock_ms();
    for (;;) {
        const CUresult result = m->device->driver->event_query(end);
        if (result != CUDA_NOT_READY)
            return result;
        const double waited = clock_ms() - start;
        m->is_stuck = waited > m->limit_ms;
        if (m->is_stuck)
            return MEASURE_ENDLESS;
        nanosleep(&(struct timespec){.tv_nsec = waited < 1 ? SHORT_NS : LONG_NS}, NULL);
    }
}

static CUresult collect(Measurer *m, Queue *queue, uint32_t *failed) {
    const Driver *driver = m->device->driver;
    for (uint32_t i = 0; i < queue->count; i++) {
        float ms = 0;
        CUresult result = driver->event_wait(m->events[2 * i]);
        tell(m, queue->runs[i]);
        if (result == CUDA_OK)
            result = wait_for_end(m, m->events[2 * i + 1]);
        if (result == CUDA_OK)
            result = driver->event_elapsed(&ms, m->events[2 * i], m->events[2 * i + 1]);
        *failed = queue->numbers[i];
        if (result != CUDA_OK)
            return result;
        queue->runs[i]->ms[queue->runs[i]->count++] = ms;
    }
    queue->count = 0;
    tell(m, NULL);
    return CUDA_OK;
}

/* Everything is queued before anything is waited for, as far as there are events for it, and each
 * turn begins with another run: who comes behind a wait finds a device that was idle. */
CUresult measure_runs(Measurer *m, MeasureRun *runs, const bool *wanted, uint32_t count,
                      uint32_t times, uint32_t *failed) {
    Queue queue = {.count = 0};
    *failed = 0;
    for (uint32_t i = 0; i < count; i++)
        runs[i].queued = runs[i].count;
    for (uint32_t step = 0; step < times * count; step++) {
        const uint32_t turn = step / count, i = (step + turn) % count;
        if (!wanted[i] || runs[i].queued == MEASURE_MAX_RUNS)
            continue;
        const uint32_t slot = queue.count++;
        queue.runs[slot] = &runs[i];
        queue.numbers[slot] = i;
        runs[i].queued++;
        CUresult result = queue_run(m, &runs[i], m->events[2 * slot], m->events[2 * slot + 1]);
        if (result != CUDA_OK) {
            *failed = i;
            return result;
        }
        if (queue.count == MEASURE_MAX_RUNS)
            result = collect(m, &queue, failed);
        if (result != CUDA_OK)
            return result;
    }
    return collect(m, &queue, failed);
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double measure_quartile_ms(const MeasureRun *run) {
    float sorted[MEASURE_MAX_RUNS];
    if (!run->count)
        return INFINITY;
    memcpy(sorted, run->ms, run->count * sizeof *sorted);
    qsort(sorted, run->count, sizeof *sorted, by_value);
    return sorted[run->count / 4];
}

double measure_least_ms(const MeasureRun *run) {
    double least = INFINITY;
    for (uint32_t i = 0; i < run->count; i++)
        least = run->ms[i] < least ? run->ms[i] : least;
    return least;
}
