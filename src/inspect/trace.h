/* A compilation kept whole, for reports: its stages as lines with the place of the source that each
 * is of, and what the compiler knows of layouts, shared memory, loops and registers.
 *
 * Everything lies in the arena of the context of the compilation, whose Tile IR it refers to. */
#ifndef TILEC_INSPECT_TRACE_H
#define TILEC_INSPECT_TRACE_H
#include "runtime/compile/compile.h"
#include "sim/sim.h"

/* A line of a source of the context; file 0: none. */
typedef struct TracePlace {
    uint32_t file, line;
} TracePlace;

typedef VEC(TracePlace) TracePlaces;

/* STAGE_KIND(id): what a stage is written in, as reports call it. */
#define TRACE_KINDS(STAGE_KIND)                                                                    \
    STAGE_KIND(ast) STAGE_KIND(tir) STAGE_KIND(ll) STAGE_KIND(ptx) STAGE_KIND(sass)
typedef enum TraceKind {
#define STAGE_KIND(id) TRACE_##id,
    TRACE_KINDS(STAGE_KIND)
#undef STAGE_KIND
} TraceKind;
extern const char *const trace_kind_name[];

typedef struct TraceStage {
    const char *id; /* "22-choose-layouts", as a dump folder has it */
    const char *title, *summary;
    TraceKind kind;
    Str text;
    TracePlaces at; /* of each line */
} TraceStage;

/* Who holds which element of some values, at a stage. */
typedef struct TraceLayout {
    const char *name;  /* "#L0", as the stage's text has it */
    const char *stage; /* its id */
    const Layout *layout;
    const Type *type; /* of the first of the values; they have one shape */
    VEC(const char *) values;
    TracePlaces at; /* of what makes them, without repetitions */
} TraceLayout;

/* A buffer of shared memory. */
typedef struct TraceBuffer {
    const char *name; /* "%44" */
    TracePlace at;
    const char *type;              /* "128x64xf16", "mbarrier" */
    int64_t offset, bytes, copies; /* bytes of all copies */
    uint32_t from, to;             /* steps: numbers of ops, from 1 */
    /* Wavefronts of an access for each that would do, the most of all accesses by threads whose
     * layouts say it; 0: there is none. */
    double banks_read, banks_written;
} TraceBuffer;

/* TRACE_OP_KIND(id, name): what an op does. */
/* clang-format off */
#define TRACE_OP_KINDS(OP_KIND)                                                                    \
    OP_KIND(COPY, "copy") OP_KIND(WAIT, "wait") OP_KIND(PRODUCT, "product")                        \
    OP_KIND(BARRIER, "barrier") OP_KIND(GLOBAL, "global") OP_KIND(SHARED, "shared")                \
    OP_KIND(EXCHANGE, "exchange") OP_KIND(ARITHMETIC, "arithmetic")                                \
    OP_KIND(INLINE, "inline") OP_KIND(CONTROL, "control")
/* clang-format on */
typedef enum TraceOpKind {
#define OP_KIND(id, name) TRACE_OP_##id,
    TRACE_OP_KINDS(OP_KIND)
#undef OP_KIND
} TraceOpKind;
extern const char *const trace_op_kind_name[];

/* An op of the final Tile IR. */
typedef struct TraceOp {
    const Op *op;
    Str text; /* without results' types */
    TraceOpKind kind;
    TracePlace at;
    double from, to; /* clocks since the iteration began, by the machine's figures */
    int64_t ahead;   /* of a copy in a pipeline: iterations before the one that reads it */
} TraceOp;

/* What the model of an iteration shares among all warps. */
typedef enum TraceUnit { TRACE_TENSOR, TRACE_SHARED, TRACE_L2, TRACE_UNITS } TraceUnit;
extern const char *const trace_unit_name[];

typedef struct TraceRole {
    const Op *loop;            /* whose iterations they are */
    const char *name;          /* "all", "producer", "consumer" */
    const char *warps;         /* "1", "2 x 4" */
    int32_t warp_count;        /* that go around it */
    double clocks;             /* of an iteration */
    double units[TRACE_UNITS]; /* that all warps keep each busy in it */
    VEC(TraceOp) ops;
} TraceRole;

/* A loop of the final Tile IR, with that of the producer that feeds it. */
typedef struct TraceLoop {
    const Op *loop;
    TracePlace at;
    int64_t stages; /* buffers that its copies go around in; 1: nothing is copied ahead */
    int64_t asked;  /* num_stages that it was compiled with */
    bool asks;      /* of its own, not of the launch */
    Str asked_by;   /* the constexpr parameter that says so; empty: none does */
    int64_t trips;  /* 0: only a launch knows */
    bool once;      /* a loop within, of which only a launch knows that, counts as one iteration */
    VEC(TraceRole) roles;
} TraceLoop;

/* A loop that has num_stages of its own in the source. */
typedef struct TraceAsked {
    Span span;
    int64_t stages;
} TraceAsked;

/* A product of the final Tile IR. */
typedef struct TraceDot {
    TracePlace at;
    const char *unit; /* "wgmma", "mma", "fma" */
    const Op *op;
} TraceDot;

/* Loads and stores by pointers whose elements are neighbours in memory. */
typedef struct TraceAccess {
    TracePlace at;
    int64_t bytes;    /* of one access of a thread */
    int64_t possible; /* if addresses were aligned: 4 to 16 */
    int64_t aligned;  /* what is known of them */
} TraceAccess;

/* What a line of the source computes: instructions of a thread, each op once, and how many of
 * them other threads execute for the same elements as well. */
typedef struct TraceRepeat {
    TracePlace at;
    double all, repeated;
    int64_t threads; /* that hold the same elements, at most */
} TraceRepeat;

typedef struct Trace {
    Ctx *ctx;
    const Compiled *compiled;
    VEC(TraceStage) stages;
    VEC(TraceLayout) layouts;
    VEC(TraceBuffer) buffers;
    uint32_t steps; /* ops of the final Tile IR */
    VEC(TraceLoop) loops;
    VEC(TraceAsked) asked;
    bool elaborated; /* `asked` is known */
    bool from_dram;  /* what loops load lies there, not in L2 */
    VEC(TraceDot) dots;
    VEC(TraceAccess) accesses;
    VEC(TraceRepeat) repeats;
    SimModule *module;   /* of the PTX; NULL: it could not be read */
    uint32_t *live;      /* registers by line of the PTX */
    uint32_t live_lines; /* how many there are */
    int32_t registers;   /* of a thread: of the assembler, else an estimate; 0: not known */
    bool registers_estimated;
    int32_t shared; /* bytes of a CTA: buffers, and what PTX in the source declares */
    Occupancy occupancy;
    PrintNotes notes; /* of the last Tile IR that was shown */
} Trace;

/* Makes the request one whose stages the trace sees; `compiled` is what will come of it. */
void trace_request(Trace *trace, Ctx *ctx, const Compiled *compiled, CompileRequest *request);
/* What follows from the compilation, which has succeeded. */
void trace_finish(Trace *trace);
/* The stage with that id; NULL: there is none. */
const TraceStage *trace_stage(const Trace *trace, const char *id);

/* Parts of trace_finish, in files of their own. */

TracePlace trace_place(Ctx *ctx, Span span);
/* The places that lines of LLVM IR, PTX and disassemblies name, in `text`. */
TracePlaces trace_places(Ctx *ctx, TraceKind kind, Str text);
/* Layouts of the Tile IR of the stage with that id. */
void trace_layouts(Trace *trace, const char *stage, const PrintNotes *notes);
void trace_shared(Trace *trace);
void trace_loops(Trace *trace);
/* Says it anew of a launch that touches more than L2 has. */
void trace_loops_from_dram(Trace *trace);
/* Notes what loops of the Tile IR ask for, before passes go on to change it. */
void trace_note_asked(Trace *trace, const Func *func);
/* Says it of a loop of the final Tile IR. */
void trace_find_asked(const Trace *trace, TraceLoop *loop);
#endif
