/* Warps: functions that run, threads that share a program counter, what a warp knows and waits for.
 */
#ifndef TILEC_SIM_STATE_WARP_H
#define TILEC_SIM_STATE_WARP_H
#include "sim/parse/module.h"
#include "sim/state/machine.h"
#include "sim/state/reg.h"
#include "sim/state/vector_clock.h"

enum {
    MAX_SPLITS = 80,
    MAX_CALL_DEPTH = 256,
    SPIN_LIMIT = 1000 /* instructions of a warp that polls before threads go on alone */
};

typedef struct Mbarrier Mbarrier;

/* A function that runs: its registers, and where it goes on. */
typedef struct Frame {
    const Func *func;
    Reg *regs;
    struct Frame *caller;
    const Insn *call;
    uint32_t return_pc, depth;
    uint64_t local_base;      /* of its local variables, in each thread's local memory */
    struct MatrixReg *matrix; /* by register, when the function has wgmma */
    uint32_t *stack_begin;    /* by lane: of what alloca gave it; NULL: nothing */
} Frame;

/* What alloca gives the threads of a warp, lane by lane. */
typedef struct Stack {
    uint8_t *data, *defined;
    uint64_t size; /* of a lane's part */
    uint32_t used[LANES];
} Stack;

typedef enum WaitKind {
    WAIT_NONE,
    WAIT_CHILDREN,
    WAIT_BARRIER,
    WAIT_CLUSTER,   /* at the barrier of the cluster */
    WAIT_REGISTERS, /* setmaxnreg.inc, for the program's pool */
    WAIT_LANES,
    WAIT_WARPGROUP, /* for the other warps that execute a wgmma */
    WAIT_MBARRIER,
} WaitKind;

/* Threads of a warp that share a program counter. */
typedef struct Split {
    uint32_t pc, mask;
    uint32_t rpc; /* where it ends and its parent goes on; NO_PC for the root */
    Frame *frame, *rframe;
    struct Split *parent;
    unsigned children;
    WaitKind wait;
    uint32_t wait_mask;   /* WAIT_LANES: who is here; otherwise who waits */
    uint32_t wait_member; /* WAIT_LANES: who must come */
    uint32_t barrier;
    Mbarrier *mbarrier;      /* waited at, until the wait has run again */
    uint32_t mbarrier_phase; /* that is to end */
    bool timed_out;          /* its wait gives false now */
    bool used;
} Split;

/* One cp.async of one thread, or several of a warp. */
typedef struct Copy {
    struct Copy *next;
    const Insn *insn;
    uint32_t lane;
    uint32_t group;  /* UINT32_MAX: not committed */
    uint32_t number; /* of the warp's copies */
    uint64_t dst;    /* address in shared memory */
    uint64_t src;    /* generic address */
    uint32_t size, source_size;
} Copy;

struct Warp {
    Cta *cta;
    Machine *machine;
    uint32_t index;       /* in its program */
    uint32_t clock_index; /* in its cluster: the warp as an actor of vector clocks */
    uint32_t threads;     /* lanes that exist */
    uint32_t alive;       /* lanes that have not exited */
    Split splits[MAX_SPLITS];
    Split *current;
    unsigned turn;
    Reg special[SPECIAL_COUNT];
    uint8_t *local, *local_def; /* lane by lane */
    uint64_t local_bytes;       /* of a lane */
    Stack stack;
    uint32_t epoch; /* of its accesses now; the first is 1 */
    Clock clock;    /* what all lanes know */
    Clock extra;    /* what `extra_lanes` know besides */
    uint32_t extra_lanes;
    Clock fence_clock; /* what `fence_lanes` knew at their last fence that releases */
    uint32_t fence_lanes;
    Clock flag_clock; /* what `flag_lanes` found at flags since their last fence */
    uint32_t flag_lanes;
    uint32_t cluster_arrived; /* lanes that arrived at the barrier of the cluster */
    uint32_t cluster_passed;  /* lanes for which it is complete and that have not waited yet */
    uint32_t registers, registers_wanted; /* of a thread (setmaxnreg); 0: not known */
    uint32_t register_changes;            /* setmaxnreg instructions executed */
    uint32_t register_epoch;              /* of the last one */
    const Insn *register_insn;
    uint64_t executed;
    uint64_t last_meeting;       /* `executed` when threads last met */
    bool polled;                 /* an atomic or strong load since then */
    bool released;               /* threads went on without those they should have met */
    uint32_t spin_pc;            /* the last atomic or strong load */
    uint64_t spin_events;        /* the cluster's events then */
    uint32_t spins;              /* how often in a row it was that, or nothing had happened since */
    uint32_t polls;              /* all of them since others had their turn */
    Copy *copies;                /* newest first */
    uint32_t copy_count;         /* issued so far */
    uint32_t groups[LANES];      /* committed groups of a lane */
    struct WgmmaState *wgmma;    /* NULL until it executes a wgmma instruction */
    struct BulkCopy *bulks;      /* stores, newest first */
    uint32_t bulk_groups[LANES]; /* committed groups of a lane */
    uint32_t poll_pc;            /* of the last mbarrier.test_wait that gave false */
    uint64_t poll_events;        /* the cluster's events then */
};

/* The register that an operand names, of the function that the warp runs. */
static inline Reg *reg_of(Warp *warp, RegRef ref) {
    switch (ref >> BANK_SHIFT) {
    case BANK_FRAME:
        return &warp->current->frame->regs[ref];
    case BANK_CONST:
        return &warp->machine->constants[ref & ((1u << BANK_SHIFT) - 1)];
    default:
        return &warp->special[ref & ((1u << BANK_SHIFT) - 1)];
    }
}

/* A predicate operand, with its negation. */
static inline bool predicate(const Operand *operand, const Reg *reg, uint32_t lane) {
    return (reg->v[lane] != 0) != operand->negated;
}

static inline uint32_t insn_pc(const Warp *warp, const Insn *insn) {
    return (uint32_t)(insn - warp->machine->module->insns.data);
}
#endif
