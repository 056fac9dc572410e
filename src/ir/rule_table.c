/* The rule of each op. */
#include "ir/rules.h"

OpRule *const op_rule[OP_COUNT] = {
#define OP(name, in, at, out, ...) [OP_##name] = RULE_##out,
#define OP_E OP
#define OP_R OP
#include "ir/ops.def"
};
