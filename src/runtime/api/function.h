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
    Str entry_name;                  /* empty: likewise */
} Asked;

/* What an instance is loaded from. */
typedef struct InstanceImage {
    KernelImage image;
    const void *origin; /* NULL: made for this call. Else what it was found as: instances of the
                           same origin share one load, whose code stays as long as the function */
} InstanceImage;

/* What the call needs, of `asked`, in the call's arena; in `forms` (KernelForm) of what the
 * arguments need. Several threads at once, for different instances. False after a report. */
typedef bool FindImage(Call *call, const Asked *asked, unsigned forms, InstanceImage *found);

/* The kernel of an instance with the outputs of `want` besides its own, as far as there are any.
 * TILE_OK, also after a report, or TILE_ERROR_OUT_OF_MEMORY. */
typedef tile_status FindKernel(Call *call, const Asked *asked, unsigned forms, uint32_t want,
                               tile_kernel **kernel);

/* Where a call goes, for those that have to be measured first. */
typedef struct CallPlace {
    const uint32_t *grid; /* NULL: what the function's options say */
    tile_stream stream;
    const tile_launch_options *options; /* NULL: none */
    bool prepares;                      /* what is missing is chosen, and made */
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
                               const tile_executable **used, tile_diagnostics **diagnostics);
/* See tile_function_forget; false: the handle is none of an instance there. */
typedef bool ForgetOnHost(tile_function *function, const tile_executable *executable);

/* Reports why a call is underived: see Packed. */
typedef void ReportUnderived(Call *call, const Asked *asked, size_t count);

/* Code on a device for the calls of one key. */
typedef struct Instance {
    KeyEntry entry;
    Arena arena;
    tile_executable *executable; /* in the arena unless it shares another instance's */
    bool shares;
    const void *origin;    /* of what was loaded; see InstanceImage */
    unsigned forms;        /* KernelForm: what it was made as */
    struct Instance *next; /* of those that are forgotten */
    /* By what it is besides, if arguments need that: see instance_other. NULL: not so far. */
    _Atomic(struct Instance *) others[2];
} Instance;

struct tile_function {
    Arena arena;
    tile_context *context;
    FindImage *find;
    FindKernel *find_kernel;
    ReportUnderived *report_underived;
    ChooseConfig *choose;                     /* NULL: nothing is tuned */
    GridOfCall *grid_of_call;                 /* NULL: each call says its grid */
    CallOnHost *call_on_host;                 /* NULL: it runs on GPUs alone */
    ForgetOnHost *forget_on_host;             /* NULL likewise */
    void (*destroy)(tile_function *function); /* NULL: there is nothing else to free */
    Str name;                                 /* of the kernel */
    Str *params;                              /* names of the arguments a call takes, in order */
    uint32_t param_count;
    uint32_t required_count; /* of them: those behind have defaults */
    Specialisation specialisation;
    const tile_cancellation *cancellation; /* of the options; NULL: none */
    bool in_turn;          /* instances are made one by one: they write into one folder */
    KeyTableRoot table;    /* of instances */
    pthread_mutex_t lock;  /* of writers, and of what follows */
    pthread_cond_t made;   /* something of the list is */
    struct Making *making; /* what threads make just now */
    Instance *forgotten;   /* which nobody finds any more, and calls may still use */
};

/* The instance of a call; NULL: there is none so far. Takes no lock. */
static inline Instance *function_find(const Asked *asked) {
    const Packed *packed = asked->packed;
    return (Instance *)key_table_find(&asked->function->table, asked->hash, packed->key,
                                      packed->key_len);
}
/* Where the instance's other form is, which is `form` besides. */
static inline _Atomic(Instance *) *instance_other(Instance *instance, KernelForm form) {
    return &instance->others[form == FORM_IN_PLACE];
}

/* Why an instance does not do for a call. */
typedef struct OtherForm {
    Instance *instance;
    KernelForm form; /* that is needed besides what the instance is */
    TensorMapProblem problem;
} OtherForm;

/* Makes it, or waits for another thread that does; ends the call. `other` is NULL for the first
 * form. */
tile_status function_make(Call *call, const Asked *asked, const OtherForm *other, Instance **made);
/* Readies a function that lies in the call's object, filled in up to the table; it is the caller's
 * then. Needs no destruction where it fails. */
tile_status function_open(Call *call, tile_function *made, tile_function **function);
/* Packs the arguments of a call into `packed`, which `asked` points at then, choosing a
 * configuration first where that is wanted. TILE_OK, also after a report and where nothing is to be
 * launched, which leave `asked` without; or TILE_ERROR_INVALID_ARGUMENT after a report, or
 * TILE_ERROR_NOT_COMPILED. */
tile_status function_pack(Call *call, Asked *asked, Packed *packed, size_t count,
                          const CallPlace *place);
/* The integers among constexprs that hold for every call. */
FixedValues function_constants(Arena *arena, const tile_named *constexprs, size_t count);
#endif
