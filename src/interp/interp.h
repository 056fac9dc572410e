/* The Tile IR interpreter: runs a function on host arrays, exactly and with checks.
 *
 * It is the oracle for the passes and code generation, and `tilec run --device cpu`. Programs run
 * one after another; every access is checked against the exact bounds of the array its pointer came
 * from, and its address against its size. Pointers that are made of integers, such as those that
 * programs find in memory, lead to the arrays that were given an address. Values nobody may rely on
 * (masked loads without `other`, bytes never written, division by zero, shifts by the width or
 * more, floats an integer cannot hold) are followed until they reach a store, a mask, a branch, a
 * loop or an address and are reported there, with a note at their origin; `print` shows them as
 * "undefined". Assertions, assumptions, hints, the width an access claims, and the parameters'
 * promised divisibility are checked. It runs IR at any stage: layouts change no values, shared
 * buffers are arrays.
 *
 * Floats follow ops.def: every result is rounded once to its type. f32 approximate functions are
 * computed in double and rounded, so they differ from a GPU in the last bits; dot products are
 * summed in double and rounded once, their f32 operands reduced as `precision` says. Sums of a
 * reduction are paired by halves, which is one of the orders a GPU may take. */
#ifndef TILEC_INTERP_INTERP_H
#define TILEC_INTERP_INTERP_H
#include "ir/ir.h"

typedef struct InterpArray {
    Str name;
    void *data; /* not owned; written by stores */
    size_t bytes;
    uint8_t
        *defined; /* one byte per data byte, 0xff: initialised; NULL: all are. Updated by stores */
    bool read_only;
    uint64_t address; /* what programs see as its address, below 2^48; other arrays have others. 0:
                         one that leads nowhere else */
} InterpArray;

typedef struct InterpArg {
    bool is_array;
    uint32_t array; /* index into the arrays; the pointer's value is its base plus byte_offset */
    int64_t byte_offset;
    int64_t i; /* integers, by value */
    double f;  /* floats, by value */
} InterpArg;

/* What a run took, counted as its limits are. */
typedef struct InterpSpent {
    uint64_t steps, work;
} InterpSpent;

typedef struct InterpOptions {
    uint32_t grid[3];
    uint32_t ctas;        /* that share the programs of a persistent function; 0: one for each */
    unsigned max_reports; /* findings kept before the run stops; 0: 1 */
    uint64_t max_steps;   /* ops executed before giving up (endless loops); 0: no limit */
    uint64_t max_work;    /* elements computed before giving up, where time counts; 0: no limit */
    StrBuf *output;       /* device_print goes here; NULL: discarded */
    bool *gave_up;        /* set where a limit of steps or work ends the run; NULL: nobody asks */
    InterpSpent *spent;   /* NULL: nobody asks */
    bool warnings_fail; /* what is found and is a warning, a hint that does not hold, fails the run
                         */
} InterpOptions;

/* One argument per parameter. Findings are diagnostics at the op's span, one per op and kind, with
 * program id, element index, address and bounds. False if there was an error among them, or what
 * fails the run. Allocation failures go to the jump target of ctx->arena. */
bool interp_run(Func *func, const InterpArg *args, InterpArray *arrays, uint32_t narrays,
                const InterpOptions *options);
#endif
