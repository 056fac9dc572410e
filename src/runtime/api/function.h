/* What functions are made of, wherever their instances come from. */
#ifndef TILEC_RUNTIME_API_FUNCTION_H
#define TILEC_RUNTIME_API_FUNCTION_H
#include "runtime/api/api.h"
#include "runtime/api/key_table.h"
#include "runtime/launch/arguments.h"

/* What a call asks for, and with what. */
typedef struct Asked {
    tile_function *function;
    tile_device *device;
    const tile_argument *arguments;
    const Packed *packed;
    uint64_t hash;                   /* of the key */
    tile_cancellation *cancellation; /* NULL: that of the function's options */
} Asked;

/* What an instance is loaded from. */
typedef struct InstanceImage {
    KernelImage image;
    const void *origin; /* NULL: made for this call. Else what it was found as: instances of the
                           same origin share one load, whose code stays as long as the function */
} InstanceImage;

/* Under the function's lock: what the call needs, of `asked`, in the call's arena; without tensor
 * copies where no tensor map holds the arguments. False after a report. */
typedef bool FindImage(Call *call, const Asked *asked, bool no_tensor_copies, InstanceImage *found);

/* Where a call goes, for those that have to be measured first. */
typedef struct CallPlace {
    const uint32_t *grid; /* NULL: what the function's options say */
    tile_stream stream;
    const tile_launch_options *options; /* NULL: none */
    bool launches;                      /* false: the instance alone is wanted */
} CallPlace;

/* Makes a call that is_untuned (see Packed) tuned: finds which configuration it uses. False: it
 * reported why there is none, or the call launches nothing, whatever the configuration, and says
 * nothing of the calls to come. */
typedef bool ChooseConfig(Call *call, const Asked *asked, size_t count, const CallPlace *place);

/* The grid that the function's options say for a call that is tuned, if it has to be. */
typedef tile_status GridOfCall(const Asked *asked, size_t count, uint32_t grid[3],
                               tile_diagnostics **diagnostics);

/* The whole of a call on a device that is this machine; its options are checked. */
typedef tile_status CallOnHost(tile_function *function, const tile_call *call,
                               tile_diagnostics **diagnostics);

/* Reports why a call is underived: see Packed. */
typedef void ReportUnderived(Call *call, const Asked *asked, size_t count);

struct tile_function {
    Arena arena;
    tile_context *context;
    FindImage *find;
    ReportUnderived *report_underived;
    ChooseConfig *choose;                     /* NULL: nothing is tuned */
    GridOfCall *grid_of_call;                 /* NULL: each call says its grid */
    CallOnHost *call_on_host;                 /* NULL: it runs on GPUs alone */
    void (*destroy)(tile_function *function); /* NULL: there is nothing else to free */
    Str name;                                 /* of the kernel */
    Str *params;                              /* names of the arguments a call takes, in order */
    uint32_t param_count;
    uint32_t required_count; /* of them: those behind have defaults */
    Specialisation specialisation;
    pthread_mutex_t lock; /* of writers */
    KeyTableRoot table;   /* of instances */
};

/* Readies a function that lies in the call's object, filled in up to the lock; it is the caller's
 * then. Needs no destruction where it fails. */
tile_status function_open(Call *call, tile_function *made, tile_function **function);
/* Packs the arguments of a call into `packed`, choosing a configuration first where that is wanted;
 * `asked` points at it then, or, with TILE_OK, at nothing: after a report, or where nothing is to
 * be launched. TILE_ERROR_INVALID_ARGUMENT after a report. */
tile_status function_pack(Call *call, Asked *asked, Packed *packed, size_t count,
                          const CallPlace *place);
/* The integers among constexprs that hold for every call. */
FixedValues function_constants(Arena *arena, const tile_named *constexprs, size_t count);
#endif
