/* Microseconds a launch costs the calling thread: the driver's own call, tile_launch and
 * tile_function_launch of the same arguments, batches in turn.
 *
 *     bench_launch launch.tile
 *
 * For each number of arguments, without and with tensor maps, from one thread and from eight, into
 * a stream and into a graph that is captured. Every launch writes its arguments anew. The driver is
 * called with what a captured tile_launch left in its graph: the same function, grid, hidden
 * parameters and tensor maps, ready made. Prints {"cases": [{"kernel": .., "arguments": ..,
 * "tensor_maps": .., "threads": .., "capture": .., "us": {..}, "ratio": {..}}, ..]}: medians over
 * batches, and of the ratios to the driver's batch of the same round. */
#include "common.h"
#include "driver.h"
#include <pthread.h>

enum { BLOCK = 64, SIZE = 96, LAUNCHES = 100, THREADS = 8, ROUNDS = 51, MOST_ARGUMENTS = 40 };

typedef enum Way { WAY_DRIVER, WAY_LAUNCH, WAY_FUNCTION, WAYS } Way;

static const char *const way_names[WAYS] = {"driver", "tile_launch", "tile_function_launch"};

/* The first `pointers` of the arguments are addresses; constexprs follow them all. */
typedef struct Kernel {
    const char *name;
    size_t arguments, pointers, constexprs;
    tile_dtype type;
} Kernel;

static const Kernel kernels[] = {
    {"add3", 3, 2, 1, TILE_FP32},       {"add12", 12, 6, 1, TILE_FP32},
    {"add30", 30, 15, 1, TILE_FP32},    {"product3", 3, 3, 2, TILE_BF16},
    {"product12", 12, 6, 1, TILE_BF16}, {"product30", 30, 12, 1, TILE_BF16},
};

typedef struct Bench {
    const Kernel *kernel;
    Cuda cuda;
    CUcontext primary;
    tile_context *context;
    tile_device *device;
    uint64_t memory[MOST_ARGUMENTS];
    tile_function *function;
    const tile_executable *executable;
    size_t maps;
    CudaKernelNode node; /* of a captured launch */
    CUgraph graph;       /* whose that is */
    size_t node_params;
    bool capture;
    pthread_barrier_t barrier;
} Bench;

/* A thread that launches, and what each of its rounds took, in microseconds a launch. */
typedef struct Worker {
    Bench *bench;
    pthread_t thread;
    CUstream stream;
    double us[WAYS][ROUNDS];
} Worker;

/* The values of a call, as they lie about in a program. */
typedef union Value {
    uint64_t address;
    int32_t integer;
} Value;

static const uint32_t grid[3] = {1, 1, 1};

static CUresult launch_bare(const Bench *b, CUstream stream, Value *values) {
    const CudaKernelNode *n = &b->node;
    void *params[2 * MOST_ARGUMENTS];
    for (size_t i = 0; i < b->kernel->arguments; i++)
        params[i] = &values[i];
    for (size_t i = b->kernel->arguments; n->params && i < b->node_params; i++)
        params[i] = n->params[i];
    /* A driver may keep the arguments of a node in one piece. */
    return b->cuda.launch(n->function, n->grid_x, n->grid_y, n->grid_z, n->block_x, n->block_y,
                          n->block_z, n->shared_bytes, stream, n->params ? params : NULL,
                          n->params ? NULL : n->extra);
}

static tile_status launch_executable(const Bench *b, CUstream stream, Value *values) {
    void *params[MOST_ARGUMENTS];
    for (size_t i = 0; i < b->kernel->arguments; i++)
        params[i] = &values[i];
    return tile_launch(b->executable, grid, stream, params, b->kernel->arguments);
}

static size_t arguments_of(const Bench *b, const Value *values, tile_argument *arguments) {
    const Kernel *kernel = b->kernel;
    size_t count = 0;
    for (; count < kernel->pointers; count++)
        arguments[count] = tile_pointer(values[count].address, kernel->type);
    for (; count < kernel->arguments; count++)
        arguments[count] = tile_int(values[count].integer);
    for (size_t i = kernel->constexprs; i > 0; i--)
        arguments[count++] = tile_constexpr_int(i > 1 ? SIZE : BLOCK);
    return count;
}

static tile_status launch_function(const Bench *b, CUstream stream, Value *values) {
    tile_argument arguments[MOST_ARGUMENTS];
    const size_t count = arguments_of(b, values, arguments);
    return tile_function_launch(b->function, b->device, grid, stream, arguments, count, NULL);
}

static bool launch_once(const Bench *b, Way way, CUstream stream, Value *values) {
    return way == WAY_DRIVER   ? launch_bare(b, stream, values) == CUDA_OK
           : way == WAY_LAUNCH ? launch_executable(b, stream, values) == TILE_OK
                               : launch_function(b, stream, values) == TILE_OK;
}

static void fill_values(const Bench *b, Value *values) {
    for (size_t i = 0; i < b->kernel->arguments; i++)
        if (i < b->kernel->pointers)
            values[i].address = b->memory[i];
        else
            values[i].integer = SIZE;
}

/* Microseconds a launch. The queue is drained, and what was captured thrown away, outside of the
 * time. */
static double batch(Worker *w, Way way) {
    Bench *b = w->bench;
    Value values[MOST_ARGUMENTS];
    CUgraph graph;
    bool good = true;
    fill_values(b, values);
    if (b->capture)
        cuda_must(b->cuda.capture_begin(w->stream, CUDA_CAPTURE_THREAD_LOCAL), "begin of capture");
    pthread_barrier_wait(&b->barrier);
    const double begin = now_us();
    for (int i = 0; i < LAUNCHES; i++)
        good &= launch_once(b, way, w->stream, values);
    const double us = (now_us() - begin) / LAUNCHES;
    if (!good) {
        fprintf(stderr, "%s: %s failed\n", b->kernel->name, way_names[way]);
        exit(1);
    }
    if (b->capture) {
        cuda_must(b->cuda.capture_end(w->stream, &graph), "end of capture");
        cuda_must(b->cuda.graph_destroy(graph), "graph");
    }
    cuda_must(b->cuda.stream_wait(w->stream), "synchronize");
    pthread_barrier_wait(&b->barrier);
    return us;
}

/* The first round, of which nothing is kept, warms up; who begins changes. */
static void *work(void *argument) {
    Worker *w = argument;
    cuda_must(w->bench->cuda.context_set(w->bench->primary), "context");
    for (int way = 0; way < WAYS; way++)
        batch(w, (Way)way);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < WAYS; i++) {
            const Way way = (Way)((i + round) % WAYS);
            w->us[way][round] = batch(w, way);
        }
    return NULL;
}

static void print_medians(const char *name, double samples[][ROUNDS], int from, double share) {
    printf(", \"%s\": {", name);
    for (int way = from; way < WAYS; way++)
        printf("%s\"%s\": %.3f", way > from ? ", " : "", way_names[way],
               median(samples[way], ROUNDS) * share);
    printf("}");
}

/* Threads' rounds are added up: all launch at the same time. */
static void report(const Bench *b, const Worker *workers, unsigned threads, bool first) {
    static double us[WAYS][ROUNDS], ratio[WAYS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < WAYS; way++) {
            us[way][round] = 0;
            for (unsigned i = 0; i < threads; i++)
                us[way][round] += workers[i].us[way][round];
            ratio[way][round] = us[way][round] / us[WAY_DRIVER][round];
        }
    printf("%s\n  {\"kernel\": \"%s\", \"arguments\": %zu, \"tensor_maps\": %zu, \"threads\": %u, "
           "\"capture\": %s",
           first ? "" : ",", b->kernel->name, b->kernel->arguments, b->maps, threads,
           b->capture ? "true" : "false");
    print_medians("us", us, WAY_DRIVER, 1.0 / threads);
    print_medians("ratio", ratio, WAY_LAUNCH, 1);
    printf("}");
    fflush(stdout);
}

static void measure(Bench *b, unsigned threads, bool first) {
    static Worker workers[THREADS];
    pthread_barrier_init(&b->barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].bench = b;
        cuda_must(b->cuda.stream_create(&workers[i].stream, CUDA_STREAM_NON_BLOCKING), "stream");
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            exit(1);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        cuda_must(b->cuda.stream_destroy(workers[i].stream), "stream");
    }
    pthread_barrier_destroy(&b->barrier);
    report(b, workers, threads, first);
}

/* Parameters of the entry, hidden ones included, and how many of them are tensor maps. */
static size_t count_params(const Bench *b, CUfunction function, size_t *maps) {
    size_t count = 0, offset, size;
    for (*maps = 0; b->cuda.function_param(function, count, &offset, &size) == CUDA_OK; count++)
        *maps += size == sizeof(CudaTensorMap);
    return count;
}

/* What a launch gives the driver, from a graph that it is captured into. */
static void capture_node(Bench *b) {
    Value values[MOST_ARGUMENTS];
    CUstream stream;
    CUgraphNode node;
    size_t nodes = 1;
    fill_values(b, values);
    cuda_must(b->cuda.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), "stream");
    cuda_must(b->cuda.capture_begin(stream, CUDA_CAPTURE_THREAD_LOCAL), "begin of capture");
    must(launch_executable(b, stream, values), NULL, "launch");
    cuda_must(b->cuda.capture_end(stream, &b->graph), "end of capture");
    cuda_must(b->cuda.graph_nodes(b->graph, &node, &nodes), "nodes");
    cuda_must(b->cuda.kernel_node(node, &b->node), "node");
    cuda_must(b->cuda.stream_destroy(stream), "stream");
    b->node_params = count_params(b, b->node.function, &b->maps);
}

static void measure_kernel(Bench *b, const Kernel *kernel, const char *path, bool first) {
    static const unsigned threads[] = {1, THREADS};
    tile_diagnostics *said = NULL;
    const tile_compile_options options = {
        .size = sizeof options, .path = text_of(path), .kernel = text_of(kernel->name)};
    Value values[MOST_ARGUMENTS];
    tile_argument arguments[MOST_ARGUMENTS];
    b->kernel = kernel;
    fill_values(b, values);
    must(tile_function_create(b->context, &options, &b->function, &said), &said, kernel->name);
    const size_t count = arguments_of(b, values, arguments);
    must(tile_function_instance(b->function, b->device, arguments, count, &b->executable, &said),
         &said, kernel->name);
    tile_diagnostics_destroy(said);
    capture_node(b);
    for (int i = 0; i < 4; i++, first = false) {
        b->capture = i % 2;
        measure(b, threads[i / 2], first);
    }
    cuda_must(b->cuda.graph_destroy(b->graph), "graph");
    tile_function_destroy(b->function);
}

int main(int argc, char **argv) {
    enum { BYTES = SIZE * SIZE * 4 };
    Bench b = {0};
    tile_diagnostics *said = NULL;
    CUdevice gpu;
    if (argc != 2) {
        fprintf(stderr, "usage: bench_launch launch.tile\n");
        return 2;
    }
    cuda_load(&b.cuda);
    must(tile_context_create(NULL, &b.context), NULL, "context");
    must(tile_device_open(b.context, 0, &b.device, &said), &said, "device");
    cuda_must(b.cuda.device_get(&gpu, 0), "device");
    cuda_must(b.cuda.primary_retain(&b.primary, gpu), "context");
    cuda_must(b.cuda.context_set(b.primary), "context");
    for (size_t i = 0; i < MOST_ARGUMENTS; i++) {
        must(tile_memory_allocate(b.device, BYTES, &b.memory[i], &said), &said, "memory");
        must(tile_memory_set(b.device, b.memory[i], 0, BYTES, NULL), NULL, "memory");
    }
    must(tile_stream_synchronize(b.device, NULL, &said), &said, "memory");
    printf("{\"cases\": [");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        measure_kernel(&b, &kernels[i], argv[1], i == 0);
    printf("\n]}\n");
    for (size_t i = 0; i < MOST_ARGUMENTS; i++)
        tile_memory_free(b.device, b.memory[i]);
    tile_device_close(b.device);
    tile_context_destroy(b.context);
    return 0;
}
