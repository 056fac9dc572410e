/* Parts of pipeline-loads: pipeline_loads.c chooses the loops, loads and stages and makes a
 * Pipelined of each loop, pipeline_rewrite.c makes rings, copies and waits of that. */
#ifndef TILEC_PASSES_SCHEDULE_PIPELINE_LOADS_H
#define TILEC_PASSES_SCHEDULE_PIPELINE_LOADS_H
#include "ir/ir.h"
#include "passes/rewrite.h"
#include "support/ptrmap.h"
#include "support/vec.h"

/* How a load's data come. */
typedef enum Means { BY_REGISTERS, BY_ASYNC_COPY, BY_TENSOR_COPY } Means;

typedef struct Staged {
    Op *load;
    Means means;
    int width;            /* elements of an asynchronous copy */
    const Layout *copied; /* of such copies: their pointers and masks are computed in it */
    const Type *buffer;   /* of a tensor copy */
    const Layout *shared; /* of the ring */
    Value *ring;
    Value *early; /* through registers: what this iteration loads */
} Staged;

typedef struct Pipelined {
    Ctx *ctx;
    Arena *arena;
    Op *loop;
    Block *body;
    VEC(Staged) loads;
    PtrSet written;        /* arguments through which the body stores */
    PtrSet slice;          /* ops of the body that addresses and masks need */
    VEC(uint32_t) carried; /* numbers of the body's arguments among what they need */
    int stages;
    /* Of each ring: as many as stages, one more where products stay in flight; one, where the
     * iteration that has read it fills it anew. */
    int copies;
    int64_t step;
    bool writes;            /* memory, through the arguments in `written` */
    bool asked;             /* the loop has num_stages of its own */
    bool keeps_registers;   /* for what it writes: no load waits in them */
    bool async;             /* some load is an asynchronous copy */
    bool computed;          /* all operands of products are made of what is loaded */
    bool branches;          /* of the body may run ahead */
    bool lines;             /* of a loop without products: all its loads are lines and numbers */
    int64_t beside;         /* bytes of the lines and numbers that come ahead besides its loads */
    Value *full;            /* mbarriers of the tensor copies; NULL: there are none */
    int64_t bytes;          /* that tensor copies bring in an iteration */
    bool in_flight;         /* the product of an iteration may be under way in the next */
    struct Pipelined *next; /* the loop that goes on with the rings; NULL: none */
    Op *last;               /* such loop, or the loop itself: copies go on to its end */
} Pipelined;

enum { PIPELINE_LEAST_STAGES = 2, PIPELINE_MOST_STAGES = 16 };

/* pipeline_fit.c: chooses as many stages as were asked for and shared memory has room for, and the
 * copies of each ring. False: there is no room for two. */
bool pipeline_fit_stages(Pipelined *p);
/* Asynchronous copies that a thread starts for one iteration. */
int64_t pipeline_thread_copies(const Pipelined *p);

/* pipeline_chain.c: the loop that may go on with the rings of `last`, the last one so far of those
 * from `first` on; NULL: there is none. Then whether it does, once its loads are known. */
Op *pipeline_next_loop(const Pipelined *first, const Pipelined *last);
bool pipeline_goes_on(const Pipelined *last, const Pipelined *next);

/* Two arguments are taken to point to different memory, unless the function is for launches in
 * place, or for launchers that do not tell; which ones were pipeline_take_apart notes once the
 * loads come ahead, but for a loop that was given its own stages: then who gave them has said so.
 */
bool pipeline_may_be_written(const Pipelined *p, const Op *load);
void pipeline_take_apart(const Pipelined *p);
/* Adds what an op needs to the slice; false where that cannot be computed ahead. */
bool pipeline_add_operands(Pipelined *p, Op *op);

/* pipeline_branches.c: branches of the body that do nothing but load lines become masked loads. */
bool pipeline_flatten_branches(const Pipelined *p);

/* pipeline_lines.c: may what is loaded, a line or a number, come ahead if its address is known? */
bool pipeline_is_line(const Pipelined *p, const Op *load);
/* Does the loop store, and a tile that it carries become another by more than adding to it? */
bool pipeline_is_recurrence(const Pipelined *p);
/* Has the loop, which has no products, nothing to wait for but lines, each of
 * which can be loaded ahead? What it stores through is known. Then adds them all. */
bool pipeline_has_lines(const Pipelined *p, bool asked);
void pipeline_add_lines(Pipelined *p);
/* Of a loop with products that stores: bytes of the lines and numbers, besides its loads, that can
 * come ahead too. Then adds them. */
int64_t pipeline_bytes_beside(const Pipelined *p);
void pipeline_add_beside(Pipelined *p);

/* Rewrites the loop and those that go on with its rings, once everything but the rings is chosen:
 * stages, copies and what is a sum over the loads are told by the first. */
void pipeline_rewrite(Pipelined *p);
#endif
