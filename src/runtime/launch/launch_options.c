#include "runtime/launch/launch_options.h"

enum {
    CLUSTER_BLOCKS = 8,  /* that every GPU with clusters takes */
    NEWER_CAPABILITY = 9 /* major: clusters, and launches that begin before others end */
};

typedef struct Cluster {
    uint32_t side[3];
} Cluster;

static Cluster asked_cluster(const tile_launch_options *options) {
    Cluster cluster;
    for (int axis = 0; axis < 3; axis++)
        cluster.side[axis] = options->cluster[axis] ? options->cluster[axis] : 1;
    return cluster;
}

static bool is_one_block(Cluster cluster) {
    return cluster.side[0] == 1 && cluster.side[1] == 1 && cluster.side[2] == 1;
}

static bool is_small(Cluster cluster) {
    uint64_t blocks = 1;
    for (int axis = 0; axis < 3; axis++)
        if ((blocks *= cluster.side[axis]) > CLUSTER_BLOCKS)
            return false;
    return true;
}

/* Blocks of a persistent kernel share the programs, however many they are, and blocks past the grid
 * of one whose programs share blocks end at once. */
static void make_whole(const Executable *e, Cluster cluster, uint32_t blocks[3]) {
    const uint32_t side = cluster.side[0], rest = blocks[0] % side;
    if (!e->grid_parameters || !rest)
        return;
    if (e->shape.is_persistent && blocks[0] > side)
        blocks[0] -= rest;
    else
        blocks[0] += side - rest;
}

static LaunchRefusal apply_cluster(const Executable *e, Cluster cluster, uint32_t blocks[3]) {
    if (is_one_block(cluster))
        return LAUNCH_ALLOWED;
    if (e->num_ctas > 1)
        return cluster.side[0] == e->num_ctas && cluster.side[1] == 1 && cluster.side[2] == 1
                   ? LAUNCH_ALLOWED
                   : LAUNCH_OTHER_CLUSTERS;
    if (e->device->major < NEWER_CAPABILITY)
        return LAUNCH_NO_CLUSTERS;
    if (!is_small(cluster))
        return LAUNCH_CLUSTER_SIZE;
    make_whole(e, cluster, blocks);
    for (int axis = 0; axis < 3; axis++)
        if (blocks[axis] % cluster.side[axis])
            return LAUNCH_CLUSTER_GRID;
    return LAUNCH_ALLOWED;
}

LaunchRefusal launch_options_apply(const Executable *executable, const tile_launch_options *options,
                                   uint32_t blocks[3]) {
    const Device *device = executable->device;
    if (options->programmatic && device->major < NEWER_CAPABILITY)
        return LAUNCH_NO_PROGRAMMATIC;
    if (options->cooperative && !device->cooperative)
        return LAUNCH_NO_COOPERATIVE;
    return apply_cluster(executable, asked_cluster(options), blocks);
}

unsigned launch_options_attributes(const Executable *executable, const tile_launch_options *options,
                                   CudaLaunchAttribute attributes[LAUNCH_MAX_ATTRIBUTES]) {
    Cluster cluster = {{executable->num_ctas, 1, 1}};
    unsigned count = 0;
    if (options && executable->num_ctas == 1)
        cluster = asked_cluster(options);
    if (!is_one_block(cluster))
        attributes[count++] = (CudaLaunchAttribute){
            .id = CUDA_LAUNCH_CLUSTER,
            .value.cluster = {cluster.side[0], cluster.side[1], cluster.side[2]}};
    if (options && options->programmatic)
        attributes[count++] =
            (CudaLaunchAttribute){.id = CUDA_LAUNCH_PROGRAMMATIC, .value.is_on = 1};
    if (options && options->cooperative)
        attributes[count++] =
            (CudaLaunchAttribute){.id = CUDA_LAUNCH_COOPERATIVE, .value.is_on = 1};
    return count;
}

static void report_capability(const Device *device, Diags *diags, const char *what) {
    diag(diags, (Span){0}, launch_capability, what, NEWER_CAPABILITY, device->ordinal,
         device->major, device->minor);
}

void launch_options_report(const Executable *executable, const tile_launch_options *options,
                           const uint32_t blocks[3], Diags *diags) {
    const Executable *e = executable;
    const Cluster cluster = asked_cluster(options);
    const uint32_t *side = cluster.side;
    uint32_t whole[3] = {blocks[0], blocks[1], blocks[2]};
    switch (launch_options_apply(e, options, whole)) {
    case LAUNCH_ALLOWED:
        break;
    case LAUNCH_NO_PROGRAMMATIC:
        report_capability(e->device, diags, "a programmatic launch");
        break;
    case LAUNCH_NO_COOPERATIVE:
        diag(diags, (Span){0}, launch_no_cooperative, e->device->ordinal);
        break;
    case LAUNCH_NO_CLUSTERS:
        report_capability(e->device, diags, "a launch in clusters");
        break;
    case LAUNCH_OTHER_CLUSTERS:
        diag(diags, (Span){0}, launch_other_clusters, STR_ARG(e->name), e->num_ctas, side[0],
             side[1], side[2]);
        break;
    case LAUNCH_CLUSTER_SIZE:
        diag(diags, (Span){0}, launch_cluster_size, side[0], side[1], side[2], CLUSTER_BLOCKS);
        break;
    case LAUNCH_CLUSTER_GRID:
        diag(diags, (Span){0}, launch_cluster_grid, STR_ARG(e->name), whole[0], whole[1], whole[2],
             side[0], side[1], side[2]);
        break;
    }
}

void launch_report_cooperative(const Executable *executable, const tile_launch_options *options,
                               const uint32_t blocks[3], Diags *diags) {
    const Executable *e = executable;
    uint32_t whole[3] = {blocks[0], blocks[1], blocks[2]};
    int each = 0;
    launch_options_apply(e, options, whole);
    e->device->driver->occupancy(&each, e->function, (int)e->threads, e->shared_bytes);
    const uint64_t wanted = (uint64_t)whole[0] * e->num_ctas * whole[1] * whole[2];
    const int most = each * e->device->sm_count;
    diag(diags, (Span){0}, launch_cooperative_large, STR_ARG(e->name), wanted, e->device->ordinal,
         most, each, e->device->sm_count);
    diag_resource(diags, wanted, (uint64_t)most);
}
