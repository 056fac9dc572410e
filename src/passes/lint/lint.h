/* Warnings about a kernel as it was written.
 *
 * Each analysis is one row of lints.def and one file. It looks at the function that the elaborator
 * made, changes nothing, and warns only of what is wrong however the kernel is launched, or wrong
 * unless a launch avoids on purpose what the kernel is written for. */
#ifndef TILEC_PASSES_LINT_LINT_H
#define TILEC_PASSES_LINT_LINT_H
#include "passes/analysis/affine.h"

/* Runs all of them; what they say is in the context's diagnostics, errors too where the user asked
 * for that. */
void lint_func(Func *func);

/* What an analysis sees. Lives in `arena`. */
typedef struct LintInput {
    Func *func;
    Arena *arena;
    Affines *affines;
    const uint32_t *varies; /* by Value.id: bit d: elements differ along dimension d, or may */
} LintInput;

#define LINT(name, summary) void lint_##name(const LintInput *input);
#include "passes/lint/lints.def"

/* Sets of properties that flow from operands to results, from where loops begin and from one
 * iteration to the next, and out of branches: the least solution. */
typedef struct Flow Flow;
/* The set of result `index` of an op without regions that carry values, from the sets of its
 * operands. */
typedef uint32_t FlowTransfer(const Flow *flow, const Op *op, uint32_t index);

struct Flow {
    FlowTransfer *transfer;
    void *user;
    bool follows_control; /* results of loops and branches also have what decides about them */
    uint32_t *sets;       /* by Value.id */
    bool changed;
};

void flow_solve(Flow *flow, Func *func, Arena *arena);
static inline uint32_t flow_of(const Flow *flow, const Value *value) {
    return flow->sets[value->id];
}
/* The union over the op's operands. */
uint32_t flow_of_operands(const Flow *flow, const Op *op);

/* Sets of dimensions: those of an op's result, from those of its operand 0; false: the op is no
 * change of shape whose dimensions stay apart. */
bool lint_move_dims(const Op *op, uint32_t dims, uint32_t *moved);
/* Without dimension `axis`, those behind it one place further to the front. */
uint32_t lint_drop_dim(uint32_t dims, int axis);

/* The operand that says where an access goes; NULL: the op is none. */
Value *lint_pointer(const Op *op);
#endif
