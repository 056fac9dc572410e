/* Many threads serve requests of different shapes: one context, shared functions, a stream for each
 * thread. Before it serves, the program has all that requests can ask for compiled; the context
 * that serves is strict, so that no request waits for a compiler.
 *
 *     server [--threads N] [--seconds S] [--requests N] [--kernels FOLDER]
 *
 * Ends after that time or number of requests, or at SIGINT or SIGTERM: what was accepted is
 * answered, then everything is given back. Needs a cache to bring kernels from one context to the
 * other (TILEC_CACHE_DIR). */
#include "pipeline.h"
#include "queue.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 64, CHECK_EVERY = 16 };
static const double bound = 2e-5; /* of results, relative */

typedef struct Options {
    const char *kernels;
    int threads;
    double seconds;
    int64_t requests;
} Options;

typedef struct Server Server;

typedef struct Worker {
    Server *server;
    pthread_t thread;
    uint32_t random;
    uint64_t requests;
    double *latencies; /* seconds, of each request */
    size_t room;
    double worst; /* of results that were checked */
} Worker;

struct Server {
    Pipeline pipeline;
    Queue queue;
    Worker workers[MAX_THREADS];
    atomic_bool failed;
};

/* All that a handler of signals may touch. */
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool keep_latency(Worker *worker, double latency) {
    if (worker->requests == worker->room) {
        const size_t room = worker->room ? 2 * worker->room : 1024;
        double *grown = realloc(worker->latencies, room * sizeof *grown);
        if (!grown)
            return false;
        worker->latencies = grown;
        worker->room = room;
    }
    worker->latencies[worker->requests++] = latency;
    return true;
}

static bool serve(Worker *worker, Lane *lane, const Request *request) {
    const uint32_t width = widths[request->width];
    for (uint32_t i = 0; i < 2 * request->rows * width; i++)
        lane->host_in[i] = 4 * (float)next_random(&worker->random) / (float)(1 << 24) - 2;
    if (!lane_run(lane, &worker->server->pipeline, request->rows, width) ||
        !keep_latency(worker, seconds() - request->arrived))
        return false;
    if (worker->requests % CHECK_EVERY != 1)
        return true;
    const double off = lane_check(lane, request->rows, width);
    worker->worst = !(off <= worker->worst) ? off : worker->worst;
    return off < bound;
}

/* One that fails closes the queue, so that all end. */
static void *work(void *user) {
    Worker *worker = user;
    Server *server = worker->server;
    Lane lane;
    Request request;
    bool going = lane_open(&lane, &server->pipeline);
    while (going && queue_take(&server->queue, &request))
        going = serve(worker, &lane, &request);
    lane_close(&lane, &server->pipeline);
    if (!going) {
        atomic_store(&server->failed, true);
        queue_close(&server->queue);
    }
    return NULL;
}

/* Requests come as fast as they are taken. */
static void accept_requests(Server *server, const Options *options) {
    const double end = seconds() + options->seconds;
    uint32_t random = 1;
    for (int64_t i = 0; !stopped && (!options->requests || i < options->requests); i++) {
        const Request request = {.rows = next_random(&random) % MAX_ROWS + 1,
                                 .width = next_random(&random) % WIDTHS,
                                 .arrived = seconds()};
        if (request.arrived > end || !queue_put(&server->queue, &request))
            break;
    }
    queue_close(&server->queue);
}

static int by_value(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Whether all that was asked for was there, and right. */
static bool report(const Server *server, const Options *options, double taken) {
    tile_context_counts counts = {.size = sizeof counts};
    uint64_t requests = 0;
    double worst = 0;
    for (int i = 0; i < options->threads; i++)
        requests += server->workers[i].requests;
    double *all = malloc((requests + 1) * sizeof *all);
    if (!all || !ok(tile_context_get_counts(server->pipeline.context, &counts), NULL))
        return free(all), false;
    size_t count = 0;
    for (int i = 0; i < options->threads; i++) {
        const Worker *worker = &server->workers[i];
        if (worker->requests)
            memcpy(all + count, worker->latencies, worker->requests * sizeof *all);
        count += worker->requests;
        worst = !(worker->worst <= worst) ? worker->worst : worst;
    }
    qsort(all, count, sizeof *all, by_value);
    printf(
        "%d threads: %llu requests, %.0f launches/s, latency %.3f ms in the middle, %.3f ms for 99 "
        "of 100\n",
        options->threads, (unsigned long long)requests, (double)(requests * STAGES) / taken,
        count ? 1e3 * all[count / 2] : 0, count ? 1e3 * all[count * 99 / 100] : 0);
    printf(
        "while serving: %llu kernels from the cache, %llu compiled, %llu refused; results within "
        "%.2g\n",
        (unsigned long long)counts.found, (unsigned long long)counts.compiled,
        (unsigned long long)counts.refused, worst);
    free(all);
    return requests && !counts.compiled && !counts.refused;
}

static bool run(Server *server, const Options *options) {
    const double begin = seconds();
    int started = 0;
    queue_open(&server->queue);
    for (; started < options->threads; started++) {
        Worker *worker = &server->workers[started];
        *worker = (Worker){.server = server, .random = (uint32_t)started + 1};
        if (pthread_create(&worker->thread, NULL, work, worker))
            break;
    }
    if (started == options->threads)
        accept_requests(server, options);
    else
        atomic_store(&server->failed, true);
    queue_close(&server->queue);
    for (int i = 0; i < started; i++)
        pthread_join(server->workers[i].thread, NULL);
    queue_destroy(&server->queue);
    const bool right = report(server, options, seconds() - begin) && !atomic_load(&server->failed);
    for (int i = 0; i < started; i++)
        free(server->workers[i].latencies);
    return right;
}

/* In a context of its own, whose work the caches keep. */
static int prepare(const Options *options) {
    Pipeline pipeline;
    int status = pipeline_open(&pipeline, options->kernels, false);
    if (!status)
        status = !pipeline_prepare(&pipeline);
    pipeline_close(&pipeline);
    return status;
}

static bool read_number(const char *text, double least, double most, double *number) {
    char *end;
    *number = strtod(text, &end);
    return *text && !*end && *number >= least && *number <= most;
}

static bool read_options(int argc, char **argv, Options *options) {
    double number = 0;
    *options = (Options){.kernels = "kernels", .threads = 8, .seconds = 2};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--kernels"))
            options->kernels = value;
        else if (!strcmp(name, "--threads") && read_number(value, 1, MAX_THREADS, &number))
            options->threads = (int)number;
        else if (!strcmp(name, "--seconds") && read_number(value, 0, 1e6, &number))
            options->seconds = number;
        else if (!strcmp(name, "--requests") && read_number(value, 1, 1e12, &number))
            options->requests = (int64_t)number;
        else
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv) {
    static Server server;
    Options options;
    if (!read_options(argc, argv, &options)) {
        fputs("server [--threads N] [--seconds S] [--requests N] [--kernels FOLDER]\n", stderr);
        return 2;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    int status = prepare(&options);
    if (status)
        return status;
    status = pipeline_open(&server.pipeline, options.kernels, true);
    if (!status)
        status = !run(&server, &options);
    pipeline_close(&server.pipeline);
    return status;
}
