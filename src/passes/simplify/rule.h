/* Algebraic rules: patterns of ops and what stands for them, as data. Private to src/passes.
 *
 * The rows are in rules.def, by the op that a pattern ends with, and a few functions here match and
 * apply them. A pattern is a tree of ops over names; a name that occurs twice means the same value.
 * Operands of ops that commute match either way round, except that a constant stands on the right,
 * where simplify puts it. A result is a tree over the same names. What of it is constant becomes a
 * constant at once.
 *
 * Rows with a gate hold where the gate does, which the program may find out only as it runs: they
 * are for a pass that can have both forms. simplify applies the others. */
#ifndef TILEC_PASSES_SIMPLIFY_RULE_H
#define TILEC_PASSES_SIMPLIFY_RULE_H
#include "passes/rewrite.h"

typedef enum RuleKind {
    RULE_VALUE,    /* any value */
    RULE_CONSTANT, /* any integer or float constant */
    RULE_UNIFORM,  /* a value that is the same in all elements */
    RULE_INT,      /* this integer, wrapped to the type */
    RULE_FLOAT,    /* this float, with its sign if it is a zero */
    RULE_LOWEST,   /* the bounds of a signed type */
    RULE_HIGHEST,
    RULE_OP,
    RULE_NAMED,  /* in[0], with a name */
    RULE_PRODUCT /* mulf of all of in[], associated in any way; only in patterns */
} RuleKind;

/* Names of values in rows. */
typedef enum RuleSlot {
    SLOT_x,
    SLOT_y,
    SLOT_z,
    SLOT_c,
    SLOT_d,
    SLOT_k,
    SLOT_s,
    SLOT_at, /* the op whose place in the source the result takes; without it, that of the root */
    SLOT_root,
    SLOT_COUNT
} RuleSlot;

/* The predicate of a comparison of integers in a row: one of the op's own, or made of the one that
 * ANY matched. */
enum { PRED_ANY = IPRED_COUNT, PRED_SWAPPED, PRED_INVERTED };

enum { RULE_MAX_OPERANDS = 3 };

typedef struct RuleNode {
    uint8_t kind, slot, pred;
    uint16_t code, combine; /* OpCodes; `combine` of reduce is the one op of its region */
    int64_t i;
    double f;
    const struct RuleNode *in[RULE_MAX_OPERANDS];
} RuleNode;

/* What a pattern matched. */
typedef struct RuleMatch {
    const struct Rule *rule;
    Op *root;
    Value *values[SLOT_COUNT]; /* NULL: not in the pattern */
    int pred;
} RuleMatch;

typedef bool RuleCondition(const RuleMatch *match);

typedef enum RuleExactness {
    EXACT,     /* bit for bit */
    EXACT_NAN, /* bit for bit, but for the bits of a NaN */
    ROUNDED    /* within `ulps` roundings of the largest value on the way */
} RuleExactness;

typedef struct Rule {
    const char *name;
    const RuleNode *pattern, *result;
    const RuleNode *gate; /* an i1 of values that are the same in all elements; NULL: none */
    RuleCondition *when;
    RuleExactness exactness;
    int ulps;
} Rule;

typedef struct RuleGroup {
    const Rule *rules;
    uint32_t count;
} RuleGroup;

/* The rows whose pattern ends with the op, in the order in which they are tried. */
extern const RuleGroup rule_groups[OP_COUNT];

/* `root` matches the row, whatever its gate is. `operand` takes the place of the root's first
 * operand; NULL: it stays. */
bool rule_match(const Rule *rule, Op *root, Value *operand, RuleMatch *match);

/* The gate is not known to be false. */
bool rule_gate_may_hold(const RuleMatch *match);
/* The gate at the builder's place; NULL: it is true. */
Value *rule_gate(const RuleMatch *match, Builder *builder);
/* All that the gate is made of is defined outside the regions of `op`. */
bool rule_gate_is_outside(const RuleMatch *match, const Op *op);

/* Replaces the root by the result. Where `map` is not NULL, in the copy that it has values of. */
void rule_apply(const RuleMatch *match, const ValueMap *map);

/* What tells of most rows that they do not match, found once for all rows of an op. */
typedef struct Glance {
    uint32_t nin;
    OpCode codes[RULE_MAX_OPERANDS]; /* of what defines the operands; OP_COUNT: no op does */
    bool constant[RULE_MAX_OPERANDS];
    bool is_pair; /* the first two are one value */
} Glance;
Glance glance_at(const Op *op);

/* The first row without a gate that matches; false: there is none. */
bool rules_find(Op *op, const Glance *glance, RuleMatch *match);
/* It is found and applied. */
bool rules_apply(Op *op, const Glance *glance);
#endif
