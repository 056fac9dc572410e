/* A kernel on a device: loading and launching. */
#ifndef TILEC_RUNTIME_LAUNCH_LAUNCH_H
#define TILEC_RUNTIME_LAUNCH_LAUNCH_H
#include "runtime/launch/promises.h"
#include "runtime/launch/tensor_maps.h"
#include "target/kernel_meta.h"
#include "tilec.h"

enum {
    LAUNCH_MAX_PARAMS = 512,
    /* Programs of a persistent kernel: the number of one, and CTAs to go on by, add up to i32. */
    LAUNCH_MAX_PERSISTENT = 1 << 30
};

/* What executable_launch returns besides what the driver does. */
enum {
    LAUNCH_NO_TENSOR_MAP = -1, /* a tensor map cannot hold the arguments */
    LAUNCH_REFUSED = -2,       /* its options do not go with the device, the kernel or the grid */
    LAUNCH_IN_PLACE = -3 /* two arguments are one array, and the code takes them to be apart */
};

/* What is loaded. */
typedef struct KernelImage {
    Str code; /* cubin, or PTX terminated by a zero */
    const KernelMeta *meta;
    const Str *param_names; /* of those passed at launch */
    uint32_t param_count;
    const KernelParam *params; /* of the source */
    uint32_t source_count;
} KernelImage;

/* What the blocks of a launch follow from, besides the programs. */
typedef struct LaunchShape {
    uint32_t programs_per_cta;
    bool is_persistent;
    uint32_t resident_ctas; /* of a persistent kernel: those that the device holds at once */
} LaunchShape;

/* Without resident_ctas, which the device decides. */
LaunchShape launch_shape(const KernelMeta *meta);
/* The blocks that run a grid of programs: none where a side of it is 0. False: the programs are too
 * many for a persistent kernel. */
bool launch_shape_blocks(const LaunchShape *shape, const uint32_t grid[3], uint32_t blocks[3]);

/* What a launch reads comes first, copies of what lies elsewhere too: behind a driver's call each
 * line of memory has to be fetched anew, and one that another one leads to has to wait for it. */
typedef struct Executable {
    const Device *device;
    CUcontext context;                                          /* the device's */
    __typeof__(((Driver *)0)->context_current) context_current; /* the driver's */
    __typeof__(((Driver *)0)->launch) launch;
    CUfunction function;
    TensorMaps *maps;   /* NULL: none */
    const Apart *apart; /* NULL: no pairs */
    LaunchShape shape;
    uint32_t threads, shared_bytes, num_ctas;
    uint32_t param_count;     /* without the hidden ones */
    uint32_t grid_parameters; /* see meta_grid_parameters */
    Str name;                 /* in the arena */
    CUmodule module;
    const Promise *promises;    /* of each parameter but the hidden ones */
    int registers, local_bytes; /* of a thread, as loaded */
    int max_threads;            /* of a block that the device can hold of it */
} Executable;

/* Loads the image and readies the kernel for launches; the arena lives as long as the executable.
 * False after an error was reported; nothing stays loaded then. */
bool executable_load(Executable *executable, Arena *arena, Diags *diags, const Device *device,
                     const KernelImage *image);
void executable_unload(Executable *executable);

/* A launch besides its arguments. */
typedef struct Launch {
    const uint32_t *grid; /* programs along three axes */
    CUstream stream;
    const tile_launch_options *options; /* NULL: none. All of the struct is there */
} Launch;

/* Launches; see tile_launch. No allocation, no lock. `problem` is filled in with
 * LAUNCH_NO_TENSOR_MAP. */
CUresult executable_launch(const Executable *executable, const Launch *launch, void *const *params,
                           TensorMapProblem *problem);
/* The form that a launch needs, or would need, for what it gave: LAUNCH_NO_TENSOR_MAP or
 * LAUNCH_IN_PLACE. 0: for something else. */
static inline unsigned launch_needs_form(CUresult result) {
    return result == LAUNCH_NO_TENSOR_MAP ? FORM_PLAIN
           : result == LAUNCH_IN_PLACE    ? FORM_IN_PLACE
                                          : 0;
}
/* Which form such arguments need besides what the kernel is; 0: none. `problem`: of FORM_PLAIN. */
unsigned executable_needs_form(const Executable *executable, void *const *params,
                               TensorMapProblem *problem);
/* Reports what a launch gave, unless that needs another form. */
void executable_report(const Executable *executable, const Launch *launch, Diags *diags,
                       CUresult result);
/* Whether a launch keeps what the code takes for granted of it; false after a report. */
bool executable_check(const Executable *executable, Diags *diags, const uint32_t grid[3],
                      void *const *params);
/* Why a launch needs another form: see tensor_maps_explain, apart_explain. */
const char *executable_explain(const Executable *executable, Arena *arena, void *const *params,
                               unsigned form, const TensorMapProblem *problem);
#endif
