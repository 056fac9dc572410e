/* Launches: their options, what they do not do, inside captures, on several devices, and ends of
 * what is launched. */
#include "api_testing.h"
#include "cuda_extra.h"
#include "runtime/api/api.h"
#include "support/heap.h"

static const uint32_t grid[3] = {8, 1, 1};

/* The linker puts this in the place of the one that the library calls. */
static _Thread_local unsigned locks;
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    locks++;
    return __real_pthread_mutex_lock(mutex);
}

/* What the runtime does not call, of the fake driver. */
typedef struct Graphs {
#define X(field, symbol, parameters) CUresult(*field) parameters;
    CUDA_EXTRA_FUNCTIONS(X)
#undef X
} Graphs;

static Graphs find_graphs(void) {
    void *library = dlopen(TILEC_FAKE_CUDA, RTLD_NOW);
    Graphs graphs;
#define X(field, symbol, parameters) *(void **)&graphs.field = dlsym(library, symbol);
    CUDA_EXTRA_FUNCTIONS(X)
#undef X
    return graphs;
}

/* Values of a launch of `scale`. */
typedef struct Values {
    uint64_t x;
    int32_t n;
    float factor;
} Values;

typedef struct Scale {
    tile_device *device;
    tile_kernel *kernel;
    tile_executable *executable;
    tile_function *function;
} Scale;

/* Four warps have a block to themselves; those that the compiler chooses share one. */
static Scale make_scale(Fixture *f, tile_device *device, int32_t num_warps) {
    Scale made = {.device = device};
    tile_compile_options options = scale_options();
    options.signature = text("*fp32:16, i32, fp32, 64");
    options.num_warps = num_warps;
    options.want = 0;
    options.device = device;
    assert_int_equal(tile_compile(f->context, &options, &made.kernel, NULL), TILE_OK);
    assert_int_equal(tile_load(made.kernel, device, &made.executable, NULL), TILE_OK);
    options.signature = (tile_text){0};
    options.device = NULL;
    assert_int_equal(tile_function_create(f->context, &options, &made.function, NULL), TILE_OK);
    memcpy(f->cuda->param_bytes, (unsigned char[]){8, 4, 4}, 3);
    return made;
}

static void free_scale(Scale *made) {
    tile_function_destroy(made->function);
    tile_executable_destroy(made->executable);
    tile_kernel_destroy(made->kernel);
    tile_device_close(made->device);
}

static tile_status launch_with(const Scale *s, const uint32_t programs[3], tile_stream stream,
                               const tile_launch_options *options, tile_diagnostics **said) {
    Values values = {0x1000, 7, 2.0f};
    void *params[] = {&values.x, &values.n, &values.factor};
    return tile_launch_with(s->executable, programs, stream, params, 3, options, said);
}

static tile_status call_with(const Scale *s, const uint32_t programs[3], tile_stream stream,
                             const tile_launch_options *options, tile_diagnostics **said) {
    const tile_argument arguments[] = {tile_pointer(0x1000, TILE_FP32), tile_int(7),
                                       tile_float(2.0), tile_constexpr_int(64)};
    return tile_function_launch_with(s->function, s->device, programs, stream, arguments, 4,
                                     options, said);
}

typedef tile_status LaunchWith(const Scale *s, const uint32_t programs[3], tile_stream stream,
                               const tile_launch_options *options, tile_diagnostics **said);

static LaunchWith *const ways[] = {launch_with, call_with};

static void options_become_attributes(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    for (int way = 0; way < 2; way++) {
        tile_launch_options options = {.size = sizeof options};
        assert_int_equal(ways[way](&s, grid, NULL, NULL, NULL), TILE_OK);
        assert_int_equal(ways[way](&s, grid, NULL, &options, NULL), TILE_OK);
        assert_int_equal(f->cuda->programmatic + f->cuda->cooperative, 0);
        assert_int_equal(f->cuda->cluster[0], 0);
        options.programmatic = true;
        assert_int_equal(ways[way](&s, grid, NULL, &options, NULL), TILE_OK);
        assert_int_equal(f->cuda->programmatic, 1);
        assert_int_equal(f->cuda->cooperative, 0);
        options.cooperative = true;
        options.cluster[0] = 4;
        assert_int_equal(ways[way](&s, (uint32_t[]){8, 3, 1}, NULL, &options, NULL), TILE_OK);
        assert_int_equal(f->cuda->programmatic, 1);
        assert_int_equal(f->cuda->cooperative, 1);
        assert_memory_equal(f->cuda->cluster, ((unsigned[]){4, 1, 1}), 12);
        assert_memory_equal(f->cuda->grid, ((unsigned[]){8, 3, 1}), 12);
        assert_true(f->cuda->values[0] == 0x1000);
        /* Of a program that knows fewer options, and of one whose header is none. */
        options.size = offsetof(tile_launch_options, cooperative);
        assert_int_equal(ways[way](&s, grid, NULL, &options, NULL), TILE_OK);
        assert_int_equal(f->cuda->programmatic, 1);
        assert_int_equal(f->cuda->cooperative, 0);
        options.size = 0;
        assert_int_equal(ways[way](&s, grid, NULL, &options, NULL), TILE_ERROR_INVALID_ARGUMENT);
    }
    assert_int_equal(f->cuda->launches, 10);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
    free_scale(&s);
}

/* Nothing is launched, and the message says why. */
static void assert_refused(Fixture *f, const Scale *s, const uint32_t programs[3],
                           tile_launch_options options, tile_status status, const char *why) {
    const unsigned launches = f->cuda->launches;
    options.size = sizeof options;
    for (int way = 0; way < 2; way++) {
        tile_diagnostics *said = NULL;
        assert_int_equal(ways[way](s, programs, NULL, &options, NULL), status);
        assert_int_equal(ways[way](s, programs, NULL, &options, &said), status);
        assert_non_null(said);
        assert_non_null(strstr(tile_diagnostics_text(said).data, why));
        tile_diagnostics_destroy(said);
    }
    assert_int_equal(f->cuda->launches, launches);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
}

static void old_devices_refuse_options(void **state) {
    Fixture *f = *state;
    f->cuda->major = 8;
    Scale s = make_scale(f, open_device(f), 4);
    assert_refused(f, &s, grid, (tile_launch_options){.programmatic = true}, TILE_ERROR_NO_DEVICE,
                   "a programmatic launch needs a GPU of capability 9.0 or newer, and GPU 0 has "
                   "8.0");
    assert_refused(f, &s, grid, (tile_launch_options){.cluster = {2}}, TILE_ERROR_NO_DEVICE,
                   "a launch in clusters needs a GPU of capability 9.0 or newer");
    const tile_launch_options options = {
        .size = sizeof options, .cooperative = true, .cluster = {1, 1, 1}};
    assert_int_equal(launch_with(&s, grid, NULL, &options, NULL), TILE_OK);
    assert_int_equal(f->cuda->cooperative, 1);
    free_scale(&s);
}

static void cooperative_launches_fit_the_device(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    const tile_launch_options options = {.size = sizeof options, .cooperative = true};
    assert_int_equal(launch_with(&s, (uint32_t[]){264, 1, 1}, NULL, &options, NULL), TILE_OK);
    assert_refused(f, &s, (uint32_t[]){133, 2, 1}, options, TILE_ERROR_INVALID_ARGUMENT,
                   "a cooperative launch of 'scale' has 266 blocks, and GPU 0 holds 264 of them at "
                   "once, 2 on each of 132 processors");
    s.device->device.cooperative = 0;
    assert_refused(f, &s, grid, options, TILE_ERROR_NO_DEVICE,
                   "GPU 0 takes no cooperative launches");
    free_scale(&s);
}

static void clusters_are_whole(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    assert_refused(
        f, &s, (uint32_t[]){7, 1, 1}, (tile_launch_options){.cluster = {2}},
        TILE_ERROR_INVALID_ARGUMENT,
        "the grid of 'scale', 7 x 1 x 1 blocks, is no multiple of clusters of 2 x 1 x 1");
    assert_refused(f, &s, grid, (tile_launch_options){.cluster = {4, 4, 1}},
                   TILE_ERROR_INVALID_ARGUMENT,
                   "a cluster of 4 x 4 x 1 blocks is too large: it may have 8");
    assert_refused(f, &s, grid, (tile_launch_options){.cluster = {1u << 31, 1u << 31, 4}},
                   TILE_ERROR_INVALID_ARGUMENT, "is too large");
    free_scale(&s);

    /* Programs that share blocks: those past the grid end at once. */
    s = make_scale(f, open_device(f), 0);
    tile_kernel_info info = {.size = sizeof info};
    assert_int_equal(tile_kernel_get_info(s.kernel, &info), TILE_OK);
    assert_true(info.has_grid_parameter);
    const tile_launch_options options = {.size = sizeof options, .cluster = {4}};
    assert_int_equal(launch_with(&s, (uint32_t[]){9, 1, 1}, NULL, &options, NULL), TILE_OK);
    assert_int_equal(f->cuda->grid[0], 4); /* three hold the programs */
    assert_int_equal(f->cuda->cluster[0], 4);
    free_scale(&s);
}

/* Those of a kernel itself win, and other ones are refused. */
static void kernels_keep_their_clusters(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    s.executable->executable.num_ctas = 2;
    tile_launch_options options = {.size = sizeof options, .programmatic = true};
    assert_int_equal(launch_with(&s, grid, NULL, &options, NULL), TILE_OK);
    assert_int_equal(f->cuda->grid[0], 16);
    assert_memory_equal(f->cuda->cluster, ((unsigned[]){2, 1, 1}), 12);
    assert_int_equal(f->cuda->programmatic, 1);
    options.cluster[0] = 2;
    assert_int_equal(launch_with(&s, grid, NULL, &options, NULL), TILE_OK);
    options.cluster[0] = 4;
    tile_diagnostics *said = NULL;
    assert_int_equal(launch_with(&s, grid, NULL, &options, &said), TILE_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(tile_diagnostics_text(said).data,
                           "'scale' is compiled for clusters of 2 blocks along x, and cannot be "
                           "launched in clusters of 4 x 1 x 1"));
    tile_diagnostics_destroy(said);
    free_scale(&s);
}

/* Any number of blocks goes through the programs of a persistent kernel. */
static void persistent_kernels_round_to_clusters(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    Executable *e = &s.executable->executable;
    e->shape = (LaunchShape){.is_persistent = true, .resident_ctas = 263};
    e->grid_parameters = 3;
    const tile_launch_options options = {.size = sizeof options, .cluster = {2}};
    static const struct {
        uint32_t programs, blocks;
    } cases[] = {{1, 2}, {2, 2}, {5, 4}, {262, 262}, {1000, 262}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t programs[3] = {cases[i].programs, 1, 1};
        assert_int_equal(launch_with(&s, programs, NULL, &options, NULL), TILE_OK);
        assert_int_equal(f->cuda->grid[0], cases[i].blocks);
    }
    free_scale(&s);
}

/* Once the instance is there a launch allocates nothing and takes no lock. */
static void launches_are_lean(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    const tile_launch_options options = {.size = sizeof options, .programmatic = true};
    Heap heap = {0};
    Heap *before = heap_use(&heap);
    assert_int_equal(call_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    assert_true(heap.peak > 0); /* the instance was made: heap and locks are seen */
    assert_true(locks > 0);
    heap = (Heap){0};
    locks = 0;
    for (int way = 0; way < 2; way++) {
        assert_int_equal(ways[way](&s, grid, NULL, NULL, NULL), TILE_OK);
        assert_int_equal(ways[way](&s, grid, NULL, &options, NULL), TILE_OK);
    }
    assert_int_equal(heap.peak, 0);
    assert_int_equal(locks, 0);
    heap_use(before);
    free_scale(&s);
}

/* A launch into a stream that is captured becomes a node of its graph, with options and all. */
static void captured_launches_become_nodes(void **state) {
    Fixture *f = *state;
    const Graphs graphs = find_graphs();
    Scale s = make_scale(f, open_device(f), 4);
    tile_stream stream;
    assert_int_equal(tile_stream_create(s.device, &stream), TILE_OK);
    for (int way = 0; way < 2; way++) {
        assert_int_equal(ways[way](&s, grid, NULL, NULL, NULL), TILE_OK);
        const unsigned launches = f->cuda->launches;
        tile_launch_options options = {.size = sizeof options, .programmatic = true};
        CUgraph graph;
        CUgraphNode nodes[4];
        CUgraphExec exec;
        CudaKernelNode node;
        size_t count = 4;
        assert_int_equal(graphs.capture_begin(stream, CUDA_CAPTURE_GLOBAL), 0);
        assert_int_equal(ways[way](&s, (uint32_t[]){3, 2, 1}, stream, NULL, NULL), TILE_OK);
        assert_int_equal(ways[way](&s, grid, stream, &options, NULL), TILE_OK);
        assert_int_equal(graphs.capture_end(stream, &graph), 0);
        assert_int_equal(f->cuda->launches, launches);
        assert_int_equal(graphs.graph_nodes(graph, nodes, &count), 0);
        assert_int_equal(count, 2);
        assert_int_equal(graphs.kernel_node(nodes[0], &node), 0);
        assert_int_equal(node.grid_x, 3);
        assert_int_equal(node.grid_y, 2);
        assert_int_equal(*(uint64_t *)node.params[0], 0x1000);
        assert_int_equal(*(int32_t *)node.params[1], 7);
        /* It runs as often as the graph does. */
        assert_int_equal(graphs.graph_instantiate(&exec, graph, 0), 0);
        for (unsigned round = 1; round <= 2; round++) {
            assert_int_equal(graphs.graph_launch(exec, stream), 0);
            assert_int_equal(f->cuda->launches, launches + 2 * round);
            assert_int_equal(f->cuda->programmatic, 1);
            assert_int_equal(f->cuda->grid[0], 8);
        }
        graphs.graph_exec_destroy(exec);
        graphs.graph_destroy(graph);
    }
    tile_stream_destroy(s.device, stream);
    free_scale(&s);
}

/* What is not there yet cannot be loaded: the call says what to do, and works after the capture. */
static void capture_wants_loaded_kernels(void **state) {
    Fixture *f = *state;
    const Graphs graphs = find_graphs();
    Scale s = make_scale(f, open_device(f), 4);
    tile_stream stream;
    tile_diagnostics *said = NULL;
    CUgraph graph;
    assert_int_equal(tile_stream_create(s.device, &stream), TILE_OK);
    assert_int_equal(graphs.capture_begin(stream, CUDA_CAPTURE_GLOBAL), 0);
    assert_int_equal(call_with(&s, grid, stream, NULL, &said), TILE_ERROR_DRIVER);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "before the capture begins"));
    tile_diagnostics_destroy(said);
    said = NULL;
    assert_int_equal(launch_with(&s, grid, stream, NULL, &said), TILE_ERROR_DRIVER);
    assert_non_null(strstr(tile_diagnostics_text(said).data, "before the capture begins"));
    tile_diagnostics_destroy(said);
    assert_int_equal(graphs.capture_end(stream, &graph), 901);
    assert_int_equal(call_with(&s, grid, stream, NULL, NULL), TILE_OK);
    tile_stream_destroy(s.device, stream);
    free_scale(&s);
}

/* Each device has its own instance, and a launch goes to the device it names, whatever context is
 * current. */
static void devices_have_their_own(void **state) {
    Fixture *f = *state;
    f->cuda->device_count = 2;
    Scale s = make_scale(f, open_device(f), 4);
    Scale other = s;
    assert_int_equal(tile_device_open(f->context, 1, &other.device, NULL), TILE_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(call_with(&s, grid, NULL, NULL, NULL), TILE_OK);
        assert_ptr_equal(f->cuda->launch_context, s.device->device.context);
        assert_int_equal(call_with(&other, grid, NULL, NULL, NULL), TILE_OK);
        assert_ptr_equal(f->cuda->launch_context, other.device->device.context);
    }
    assert_ptr_not_equal(s.device->device.context, other.device->device.context);
    assert_int_equal(f->cuda->loads, 3); /* the executable, and two instances */
    f->cuda->current = other.device->device.context;
    const unsigned pushes = f->cuda->pushes;
    assert_int_equal(call_with(&other, grid, NULL, NULL, NULL), TILE_OK);
    assert_int_equal(f->cuda->pushes, pushes);
    assert_int_equal(launch_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    assert_ptr_equal(f->cuda->launch_context, s.device->device.context);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
    f->cuda->current = NULL;
    free_scale(&s);
    tile_device_close(other.device);
    assert_int_equal(f->cuda->loads, f->cuda->unloads);
    assert_int_equal(f->cuda->retains, f->cuda->releases);
}

/* Two contexts use one device; what ends in one stays in the other. */
static void contexts_are_apart(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    Fixture second = *f;
    second.context = make_context(f->folder);
    Scale other = make_scale(&second, open_device(&second), 4);
    assert_ptr_equal(s.device->device.context, other.device->device.context);
    assert_int_equal(call_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    assert_int_equal(call_with(&other, grid, NULL, NULL, NULL), TILE_OK);
    assert_int_equal(f->cuda->loads, 4);
    free_scale(&other);
    tile_context_destroy(second.context);
    assert_int_equal(f->cuda->unloads, 2);
    assert_int_equal(f->cuda->releases, 1);
    assert_int_equal(call_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    assert_int_equal(launch_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    free_scale(&s);
    assert_int_equal(f->cuda->releases, 2);
}

static void *destroy_executable(void *executable) {
    tile_executable_destroy(executable);
    return NULL;
}

/* The driver waits for kernels when their module goes, and so does whoever destroys them. */
static void destroy_waits_for_kernels(void **state) {
    Fixture *f = *state;
    Scale s = make_scale(f, open_device(f), 4);
    pthread_t thread;
    assert_int_equal(launch_with(&s, grid, NULL, NULL, NULL), TILE_OK);
    atomic_store(&f->cuda->kernel_runs, true);
    assert_int_equal(pthread_create(&thread, NULL, destroy_executable, s.executable), 0);
    while (!atomic_load(&f->cuda->unload_waits))
        sched_yield();
    assert_int_equal(f->cuda->unloads, 0);
    assert_int_equal(f->cuda->pushes, f->cuda->pops + 1); /* it has not returned */
    atomic_store(&f->cuda->kernel_runs, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(f->cuda->unloads, 1);
    assert_int_equal(f->cuda->pushes, f->cuda->pops);
    s.executable = NULL;
    free_scale(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(options_become_attributes),
        TEST(old_devices_refuse_options),
        TEST(cooperative_launches_fit_the_device),
        TEST(clusters_are_whole),
        TEST(kernels_keep_their_clusters),
        TEST(persistent_kernels_round_to_clusters),
        TEST(launches_are_lean),
        TEST(captured_launches_become_nodes),
        TEST(capture_wants_loaded_kernels),
        TEST(devices_have_their_own),
        TEST(contexts_are_apart),
        TEST(destroy_waits_for_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
