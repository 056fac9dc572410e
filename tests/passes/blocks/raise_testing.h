/* Shared by the tests of raise-pointers on kernels: sizes, arrays and arguments of a launch, drawn
 * at random, and the comparison of what a kernel stores before and after the pass.
 *
 * Arrays are exactly as long as the kernel may reach, so that a block that reads more is found. How
 * many accesses are raised is checked too: stores only where lines are promised to be of whole 16
 * elements, and then with extents that are no multiples of tiles either. */
#ifndef TILEC_TESTS_RAISE_TESTING_H
#define TILEC_TESTS_RAISE_TESTING_H
#include "../../ir/ir_testing.h"

#include "interp/interp.h"

enum { TRIAL_MAX_ARGS = 32 };

/* One launch. Setups append arguments in the order of the kernel's parameters. */
typedef struct Trial {
    Ctx *ctx;
    Func *func;
    uint64_t state;
    InterpArg args[TRIAL_MAX_ARGS];
    uint32_t nargs, narrays;
    InterpArray arrays[TRIAL_MAX_ARGS];
    uint32_t grid[3];
    bool whole; /* lines that are stored have whole 16 elements, as the signature promises */
} Trial;

/* At least 0, below the limit. */
int64_t trial_below(Trial *t, int64_t limit);
/* From 1 on; often small, rarely a multiple of a tile. */
int64_t trial_size(Trial *t, int64_t limit);
/* The same of a line that is stored. */
int64_t trial_line_size(Trial *t, int64_t limit);

void trial_number(Trial *t, int64_t value);
void trial_scale(Trial *t, double value);
/* Of random small numbers, which may be written over. */
void *trial_array(Trial *t, DType dtype, int64_t elements);

/* A stride of whole 16 elements and some room. */
static inline int64_t stride(int64_t length) {
    return (length + 15) / 16 * 16 + 16;
}

static inline int64_t cdiv(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* Elements of a matrix of `lines` lines, without the room behind the last. */
static inline int64_t extent(int64_t lines, int64_t line, int64_t along) {
    return lines && line ? (lines - 1) * along + line : 0;
}

typedef struct Subject {
    const char *file, *kernel;
    const char *signature; /* PROMISE: behind the extent of lines that are stored */
    const char *defines[6][2];
    void (*setup)(Trial *, int variant);
    int variant;       /* what that means is the setup's */
    int loads, stores; /* that become block accesses; stores where the promise is given */
} Subject;

#define PROMISE "?"
#define F16_3 "*fp16:16, *fp16:16, *fp16:16, "
#define I4 "i32:16, i32:16, i32:16, i32:16"
#define TILE32 ", 32, 32, 32"

/* With the promise, if the signature has one, and without. */
void check_subjects(const Subject *subjects, size_t count);
#endif
