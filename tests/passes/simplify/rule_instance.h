/* Functions made of the patterns of algebraic rules, on random element types, constants and ways
 * round, and their runs in the interpreter. */
#ifndef TILEC_TESTS_RULE_INSTANCE_H
#define TILEC_TESTS_RULE_INSTANCE_H
#include "passes/simplify/rule.h"

enum {
    RULE_ROWS = 8,
    RULE_COLUMNS = 32,
    RULE_ELEMENTS = RULE_ROWS * RULE_COLUMNS,
    RULE_ARRAY_BYTES = RULE_ELEMENTS * 8,
    RULE_MAX_OUTPUTS = 12
};

/* Input arrays are by name (RuleSlot). Output 0 is what the pattern gives, 1 the gate, the others
 * are values on the way. */
typedef struct RuleArrays {
    _Alignas(16) unsigned char in[SLOT_COUNT][RULE_ARRAY_BYTES];
    _Alignas(16) unsigned char out[RULE_MAX_OUTPUTS][RULE_ARRAY_BYTES];
} RuleArrays;

typedef struct RuleInstance {
    Ctx *ctx;
    Func *func;
    Op *root;
    Builder builder;
    uint64_t random;
    const Rule *rule;
    int prefer; /* the type that names have more often than others */
    Value *values[SLOT_COUNT];
    unsigned divides, shifts; /* bits of names that must not be 0, that must be below the width */
    const Type *outputs[RULE_MAX_OUTPUTS]; /* of numbers; NULL: there is none */
} RuleInstance;

/* A function of the pattern. The same seed gives the same one. False: the types that came up do not
 * fit. `on_the_way`: what ops of the pattern give is stored too. */
bool rule_instance(RuleInstance *instance, Ctx *ctx, const Rule *rule, int prefer, uint64_t seed,
                   bool on_the_way);
/* Stores a value as output `index`. */
void rule_instance_store(RuleInstance *instance, Op *before, Value *value, int index);
/* Special and random values of the types of the names. */
void rule_instance_fill(const RuleInstance *instance, RuleArrays *arrays, uint64_t seed);
bool rule_instance_run(const RuleInstance *instance, RuleArrays *arrays);
#endif
