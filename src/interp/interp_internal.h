/* Inside the interpreter: values, findings and the functions behind the op table.
 *
 * A function is compiled once into arrays of `Inst` (one per op, with its handler and the values
 * that die after it), then run program by program. A value is a `Slot`: a typed array over all
 * elements of the tile in their storage form (i1 as bytes 0 and 1, f16 as its bits, pointers as
 * addresses with the number of their array), and a parallel array of undefinedness that exists only
 * while some element is undefined. Buffers are counted and come from free lists, so that a run
 * touches little memory and keeps it in cache.
 *
 * `Run.width` is 1, except inside the region of a reduce, scan or map: there each scalar of the
 * region stands for `width` scalars, and one pass over the region combines as many pairs. */
#ifndef TILEC_INTERP_INTERP_INTERNAL_H
#define TILEC_INTERP_INTERP_INTERNAL_H
#include "interp/interp.h"
#include "support/vec.h"
#include "types/float_bits.h"

typedef struct Run Run;
typedef struct Inst Inst;
typedef struct Elem Elem;

typedef void InterpFn(Run *run, const Inst *inst);
typedef void ElemFn(Elem *e);

/* Counted storage from the run's free lists; not cleared. */
typedef struct Buf {
    struct Buf *next_free;
    uint32_t refs;
    uint32_t size_class; /* log2 of the capacity in bytes */
    _Alignas(16) uint8_t bytes[];
} Buf;

typedef struct Slot {
    Buf *data_buf, *undef_buf; /* what keeps the pointers below alive */
    uint8_t *data;
    uint8_t *undef; /* per element 0 or the number of an Origin; NULL: all elements are defined */
    uint32_t n;     /* elements */
} Slot;

typedef struct InstBlock {
    const Block *block;
    Inst *insts;
    uint32_t count;
    bool may_delay; /* some load of it may be delayed: its operands and result live to the end */
} InstBlock;

struct Inst {
    const Op *op;
    InterpFn *run;
    ElemFn *elem; /* ops of class OP_E */
    InstBlock *regions;
    const Value **dead; /* values whose last use this is */
    uint32_t ndead;
    uint64_t work; /* elements that an execution computes, those of regions not counted */
    Slot *carry; /* room for the values a region passes on: one per result, or per loop variable */
    bool vectorised; /* by element: the region is elementwise and may run on many at once */
};

/* Why an element has no value. UNDEF(id, text): the text follows the place it names. */
#define UNDEF_CAUSES(UNDEF)                                                                        \
    UNDEF(MASKED_LOAD, "the mask of this load was off and it has no `other`")                      \
    UNDEF(MASKED_ATOMIC, "the mask of this atomic was off")                                        \
    UNDEF(UNWRITTEN, "this load read memory that was never written")                               \
    UNDEF(UNWRITTEN_SHARED, "this shared memory was never written")                                \
    UNDEF(UNDER_WAY, "this copy to shared memory was not waited for")                              \
    UNDEF(IN_FLIGHT, "this product was not waited for")                                            \
    UNDEF(NO_PRODUCT, "there was no product here")                                                 \
    UNDEF(NO_ELEMENT, "no element has this index")                                                 \
    UNDEF(DIVISION, "this divided by zero, or the minimum by -1")                                  \
    UNDEF(UNDEF, "this has no value")                                                              \
    UNDEF(SHIFT, "this shifted by the width of the type or more")                                  \
    UNDEF(CONVERSION, "this converted a float that the integer type cannot hold")

typedef enum UndefCause {
#define UNDEF(id, text) UNDEF_##id,
    UNDEF_CAUSES(UNDEF)
#undef UNDEF
        UNDEF_COUNT
} UndefCause;

typedef struct Origin {
    const Op *op;
    UndefCause cause;
} Origin;

/* COMBINE_SLOTS: for each operand of a reduce or scan its working copy, the two sides and the
 * outcome of a combination, and the same three for one pair. */
enum { MAX_ORIGINS = 255, SIZE_CLASSES = 32, COMBINE_SLOTS = 7 };

/* An asynchronous copy under way: what it brings, and where. */
typedef struct AsyncCopy {
    Slot from, to;
    uint32_t group; /* number of its group: async_commits before it */
    uint32_t element_bytes;
} AsyncCopy;

/* The elements of a block of a tensor: where they are, and which of them lie in the tensor. */
typedef struct BlockLanes {
    const Type *tile;
    Buf *addresses, *mask;
    bool defined; /* base, extents, strides and offsets are; otherwise the mask is off */
} BlockLanes;

/* A copy of a block to a buffer that the phase of an mbarrier awaits, and one from a buffer. */
typedef struct BlockFetch {
    const Op *op;
    Slot from, to, barrier;
} BlockFetch;

typedef struct BlockStore {
    const Op *op;
    BlockLanes lanes;
    Slot from; /* the buffer; once `was_read`, what it held */
    bool was_read;
} BlockStore;

/* What the producer does once the mbarrier that it waits for lets it: an op and its operands. */
typedef struct Deferred {
    const Inst *inst;
    Slot *in;
} Deferred;

typedef struct Finding {
    const Op *op;
    DiagId id;
} Finding;

struct Run {
    Ctx *ctx;
    Func *func;
    Arena *arena; /* of this run alone */
    InterpArray *arrays;
    uint32_t narrays;
    const InterpOptions *options;
    Slot *slots; /* by Value.id */
    Buf *free_bufs[SIZE_CLASSES];
    uint32_t pid[3]; /* of a persistent function: the CTA's number, 0, 0 */
    uint32_t ctas;
    uint32_t width;
    uint64_t steps, work;
    Origin origins[MAX_ORIGINS +
                   1]; /* number 0 is none; the last one stands for all that did not fit */
    uint32_t norigins;
    VEC(AsyncCopy) copies;
    uint32_t committed; /* groups */
    VEC(BlockFetch) fetches;
    VEC(const Op *) products; /* of wgmma, under way in this order */
    VEC(BlockStore) stores;
    VEC(Deferred) deferred; /* of the producer, in order */
    size_t resumed;         /* so many of them are done */
    bool producing;         /* the producer's region is being run */
    int turns[2]; /* passed on to the first and the second warpgroup, not yet waited for */
    VEC(Finding) findings;
    unsigned errors; /* among them */
    bool failed;     /* an error was reported */
    bool stopped;    /* enough errors, or the step limit: unwind */
    bool returned;   /* the program met `return` */
};

/* Pointers carry the number of the array they came from, and how far they are from its beginning,
 * so that no overrun, to either side, reaches another array, nor does a stride that wrapped to a
 * power of two, as numbers are apart by a prime; the lowest bits are those of the address, for
 * alignment. What programs see as integers has no such number where the array was
 * given an address; pointers made of integers have none, and are looked up by address. The numbers
 * begin where no address of a 64-bit machine lies, and are few, so that integers of any kind are
 * hardly ever taken for one. */
enum {
    POINTER_OFFSET_BITS = 40,
    POINTER_MAX_ARRAYS = 1 << 15,
    POINTER_FIRST_ARRAY = 0x9d7a53,
    POINTER_ARRAY_STEP = 97
};
static inline uint64_t array_pointer(const Run *run, uint32_t array, int64_t offset) {
    const uint64_t address = run->arrays[array].address;
    if (array >= POINTER_MAX_ARRAYS)
        return address + (uint64_t)offset;
    const uint64_t number = POINTER_FIRST_ARRAY + (uint64_t)array * POINTER_ARRAY_STEP;
    const uint64_t middle = UINT64_C(1) << (POINTER_OFFSET_BITS - 1);
    return (number << POINTER_OFFSET_BITS) + middle + address % 4096 + (uint64_t)offset;
}
/* The array that it carries the number of; UINT32_MAX: none. */
static inline uint32_t pointer_array(const Run *run, uint64_t pointer) {
    const uint64_t distance = (pointer >> POINTER_OFFSET_BITS) - POINTER_FIRST_ARRAY;
    const uint64_t number = distance / POINTER_ARRAY_STEP;
    return distance % POINTER_ARRAY_STEP == 0 && number < run->narrays &&
                   number < POINTER_MAX_ARRAYS
               ? (uint32_t)number
               : UINT32_MAX;
}
/* As programs see it. */
static inline uint64_t pointer_integer(const Run *run, uint64_t pointer) {
    const uint32_t array = pointer_array(run, pointer);
    const bool is_seen = array != UINT32_MAX && run->arrays[array].address;
    return is_seen ? pointer - array_pointer(run, array, 0) + run->arrays[array].address : pointer;
}

/* Values (interp.c) */

static inline Slot *value_slot(Run *run, const Value *value) {
    return &run->slots[value->id];
}
static inline Slot *in_slot(Run *run, const Op *op, uint32_t index) {
    return value_slot(run, op->in[index].value);
}
/* Elements a value of this type has here: more than the type's inside a region. */
static inline uint32_t run_numel(const Run *run, const Type *type) {
    return (uint32_t)type_numel(type) * run->width;
}
Buf *buf_new(Run *run, size_t bytes);
void buf_release(Run *run, Buf *buf); /* NULL is allowed */
/* Releases what the slot holds. */
void slot_clear(Run *run, Slot *slot);
/* Fresh storage for n elements, all defined, values arbitrary. */
void *slot_new(Run *run, Slot *slot, uint32_t n, size_t element_bytes);
/* Fresh, zeroed undefinedness. */
uint8_t *slot_new_undef(Run *run, Slot *slot);
/* `to` becomes a second reference to the elements [first, first + n) of `from`. `to` may be `from`.
 */
void slot_view(Run *run, Slot *to, const Slot *from, uint32_t first, uint32_t n,
               size_t element_bytes);
void slot_share(Run *run, Slot *to, const Slot *from);
/* Drops the undefinedness if no element is undefined any more. */
void slot_settle(Run *run, Slot *slot);
/* A view of n elements: the slot itself, or its only element repeated. */
void slot_expand(Run *run, Slot *to, const Slot *from, uint32_t n, size_t element_bytes);
/* The slot of a result, with storage for all its elements. */
Slot *new_result(Run *run, const Op *op, uint32_t index);
/* Element of an integer value, sign-extended; i1 is 0 or 1. */
int64_t slot_int(const Slot *slot, const Type *type, uint32_t i);

/* Runs the ops of a region up to its terminator, which is returned; NULL when the run stopped or
 * the program returned. The terminator's operands are still alive: see release_dead. */
const Inst *run_block(Run *run, const InstBlock *block);
void release_dead(Run *run, const Inst *inst);
static inline bool run_halted(const Run *run) {
    return run->stopped || run->returned;
}

/* Findings (interp_findings.c) */

/* finding(run, op, id, format arguments..) reports at the op unless this op had the same finding
 * before, then evaluates to true if it did report; the run stops once it has enough errors. */
#define finding(run, op, id, ...)                                                                  \
    (finding_begin((run), (op), DIAG_##id)                                                         \
         ? (ctx_diag((run)->ctx, (op)->span, id, __VA_ARGS__), finding_end(run), true)             \
         : false)
bool finding_begin(Run *run, const Op *op, DiagId id);
void finding_end(Run *run);
/* "program (0, 0, 0), element (3, 5)": the element only for tiles. */
const char *finding_place(Run *run, const Type *type, uint32_t i);
/* The number for elements that this op leaves undefined. */
uint8_t origin_of(Run *run, const Op *op, UndefCause cause);
/* Reports that an undefined value reached `op`; `use` says as what: "the stored value". */
void finding_undefined(Run *run, const Op *op, const char *use, uint8_t origin, const Type *type,
                       uint32_t i);
/* Element i of operand `index` if it is defined; otherwise false after a report. */
bool require_defined(Run *run, const Op *op, uint32_t index, uint32_t i, const char *use);

/* Elementwise ops (interp_int.c, interp_float.c, interp_convert.c) */

struct Elem {
    Run *run;
    const Op *op;
    uint32_t n;
    void *out;
    const void *in[3];
    const uint8_t *in_undef[3];
    DType dtype;     /* of the first operand; I64 for pointers */
    DType out_dtype; /* of the result; I64 for pointers */
    Slot *result;    /* result->undef: undefinedness this op made itself */
};

#define OP_E(name, ...) ElemFn elem_##name;
#define OP(name, ...) InterpFn interp_##name;
#define OP_R(name, ...) InterpFn interp_##name;
#include "ir/ops.def"
InterpFn interp_elementwise;

/* Marks element i of the result undefined. */
void elem_undefine(Elem *e, uint32_t i, UndefCause cause);

/* Undefinedness of a result that has been computed (interp_undef.c): an element is undefined where
 * an operand's is, unless the result is the same whatever that element is. */
void elem_join_undef(Elem *e);

/* Loads what operand 0 of `op` points at into `out`, which has its storage. Where the mask (NULL:
 * on everywhere) is off, the element is that of `other`, or undefined without it (interp_memory.c).
 */
void interp_load_elements(Run *run, const Op *op, const Slot *mask, const Slot *other,
                          int64_t width, Slot *out);

/* Reports the loads of the block that may be delayed and by now would load something else
 * (interp_delay.c). */
void interp_check_delays(Run *run, const InstBlock *block);

/* Blocks of tensors (interp_memory.c). Operands that are not defined are reported. */
BlockLanes block_lanes(Run *run, const Op *op);
void block_lanes_release(Run *run, BlockLanes *lanes);
/* `out` has its storage; `padding` is what elements outside the tensor are. */
void interp_read_block(Run *run, const Op *op, const BlockLanes *lanes, uint64_t padding,
                       Slot *out);
void interp_write_block(Run *run, const Op *op, const BlockLanes *lanes, const Slot *value);

/* Forgets the asynchronous copies of the program before (interp_async.c). */
void interp_async_reset(Run *run);
/* Reports tensor copies that the program did not wait for, and forgets them (interp_tensor.c). */
void interp_tensor_end(Run *run);

/* Helpers shared by shape ops and reductions (interp_shape.c) */

/* dst[i] (contiguous, row-major over shape) = src[sum of index[d] * strides[d]], in elements. */
void copy_strided(void *dst, const void *src, size_t element_bytes, int rank, const int64_t *shape,
                  const int64_t *strides);
#endif
