#include "fake_graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST_ATTRIBUTES = 8 };
enum {
#define FAULT(ours, theirs, value, lost, status, hint) ours = value,
#include "runtime/driver/faults.def"
};

typedef struct CUgraphNode_st Node;
typedef struct CUgraph_st Graph;
typedef struct CUstream_st Stream;

/* A launch with copies of what it was given. */
struct CUgraphNode_st {
    Node *next;
    CUfunction function;
    CudaLaunchConfig config;
    CudaLaunchAttribute attributes[MOST_ATTRIBUTES];
    void *params[FAKE_MAX_VALUES]; /* empty where the state does not say how long they are */
    CudaTensorMap values[FAKE_MAX_VALUES];
};

struct CUgraph_st {
    Node *first, **last;
};

struct CUstream_st {
    Stream *next;
    Graph *captured;  /* NULL: is not captured */
    int mode;         /* of the capture: which threads must not do what spoils it */
    pthread_t thread; /* that began it */
    bool is_invalid;
};

/* Of streams, and of graphs that are captured. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Stream *streams;

#define DRIVER(field, symbol, parameters) CUresult fake_##field parameters __asm__(symbol);
#include "runtime/driver/driver.def"
#define X(field, symbol, parameters) CUresult fake_##field parameters __asm__(symbol);
CUDA_EXTRA_FUNCTIONS(X)
#undef X
#define FAKE(field, ...) EXPORT CUresult fake_##field(__VA_ARGS__)

/* Under the lock: tests use handles of their own, too. */
static Stream *find_stream(CUstream handle) {
    Stream *stream = streams;
    while (stream && stream != handle)
        stream = stream->next;
    return stream;
}

FAKE(stream_create, CUstream *stream, unsigned flags) {
    Stream *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    made->next = streams;
    streams = made;
    pthread_mutex_unlock(&lock);
    *stream = made;
    return CUDA_OK;
}

FAKE(stream_destroy, CUstream stream) {
    pthread_mutex_lock(&lock);
    Stream **place = &streams;
    while (*place && *place != stream)
        place = &(*place)->next;
    Stream *found = *place;
    if (found)
        *place = found->next;
    pthread_mutex_unlock(&lock);
    if (found && found->captured)
        fake_graph_destroy(found->captured);
    free(found);
    return found ? CUDA_OK : CUDA_INVALID_VALUE;
}

FAKE(stream_capturing, CUstream stream, int *status) {
    pthread_mutex_lock(&lock);
    const Stream *found = find_stream(stream);
    *status = !found || !found->captured ? 0 : found->is_invalid ? 2 : 1;
    pthread_mutex_unlock(&lock);
    return CUDA_OK;
}

CUresult fake_capture_refuses(const char *symbol) {
    CUresult result = CUDA_OK;
    pthread_mutex_lock(&lock);
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->captured && (stream->mode == CUDA_CAPTURE_GLOBAL ||
                                 pthread_equal(stream->thread, pthread_self()))) {
            stream->is_invalid = true;
            result = CUDA_CAPTURE_UNSUPPORTED;
        }
    pthread_mutex_unlock(&lock);
    return result;
}

static Node *node_create(const FakeCuda *state, CUfunction function, const CudaLaunchConfig *config,
                         void **params) {
    Node *node = aligned_alloc(_Alignof(Node), sizeof *node);
    if (!node)
        return NULL;
    *node = (Node){.function = function, .config = *config};
    for (unsigned i = 0; i < config->attribute_count && i < MOST_ATTRIBUTES; i++)
        node->attributes[i] = config->attributes[i];
    node->config.attributes = node->attributes;
    for (unsigned i = 0; i < FAKE_MAX_VALUES && state->param_bytes[i]; i++) {
        memcpy(&node->values[i], params[i], state->param_bytes[i]);
        node->params[i] = &node->values[i];
    }
    return node;
}

bool fake_capture_launch(const FakeCuda *state, CUfunction function, const CudaLaunchConfig *config,
                         void **params, CUresult *result) {
    pthread_mutex_lock(&lock);
    Stream *stream = find_stream(config->stream);
    const bool is_captured = stream && stream->captured;
    if (is_captured && stream->is_invalid) {
        *result = CUDA_CAPTURE_INVALIDATED;
    } else if (is_captured) {
        Node *node = node_create(state, function, config, params);
        *result = node ? CUDA_OK : CUDA_OUT_OF_MEMORY;
        if (node) {
            *stream->captured->last = node;
            stream->captured->last = &node->next;
        }
    }
    pthread_mutex_unlock(&lock);
    return is_captured;
}

FAKE(capture_begin, CUstream stream, int mode) {
    Graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return CUDA_OUT_OF_MEMORY;
    graph->last = &graph->first;
    pthread_mutex_lock(&lock);
    Stream *found = find_stream(stream);
    const bool begins = found && !found->captured;
    if (begins) {
        found->captured = graph;
        found->mode = mode;
        found->thread = pthread_self();
        found->is_invalid = false;
    }
    pthread_mutex_unlock(&lock);
    if (!begins)
        free(graph);
    return begins ? CUDA_OK : CUDA_INVALID_VALUE;
}

FAKE(capture_end, CUstream stream, CUgraph *graph) {
    pthread_mutex_lock(&lock);
    Stream *found = find_stream(stream);
    Graph *captured = found ? found->captured : NULL;
    const bool is_invalid = captured && found->is_invalid;
    if (captured)
        found->captured = NULL;
    pthread_mutex_unlock(&lock);
    if (is_invalid) {
        fake_graph_destroy(captured);
        captured = NULL;
    }
    *graph = captured;
    return captured ? CUDA_OK : is_invalid ? CUDA_CAPTURE_INVALIDATED : CUDA_INVALID_VALUE;
}

FAKE(graph_nodes, CUgraph graph, CUgraphNode *nodes, size_t *count) {
    size_t room = nodes ? *count : 0;
    *count = 0;
    for (Node *node = graph->first; node; node = node->next, ++*count)
        if (*count < room)
            nodes[*count] = node;
    return CUDA_OK;
}

FAKE(kernel_node, CUgraphNode node, CudaKernelNode *params) {
    const CudaLaunchConfig *config = &node->config;
    *params = (CudaKernelNode){.function = node->function,
                               .grid_x = config->grid_x,
                               .grid_y = config->grid_y,
                               .grid_z = config->grid_z,
                               .block_x = config->block_x,
                               .block_y = config->block_y,
                               .block_z = config->block_z,
                               .shared_bytes = config->shared_bytes,
                               .params = node->params[0] ? node->params : NULL};
    return CUDA_OK;
}

FAKE(graph_destroy, CUgraph graph) {
    for (Node *node = graph->first, *next; node; node = next) {
        next = node->next;
        free(node);
    }
    free(graph);
    return CUDA_OK;
}

/* A graph that can run is the graph itself, which must stay for as long. */
FAKE(graph_instantiate, CUgraphExec *made, CUgraph graph, unsigned long long flags) {
    *made = (CUgraphExec)graph;
    return CUDA_OK;
}

FAKE(graph_launch, CUgraphExec graph, CUstream stream) {
    for (Node *node = ((CUgraph)graph)->first; node; node = node->next)
        fake_run(node->function, &node->config, node->params);
    return CUDA_OK;
}

FAKE(graph_exec_destroy, CUgraphExec graph) {
    return CUDA_OK;
}
