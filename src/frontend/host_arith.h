/* Python's arithmetic on the values of host expressions, with integers of 64 bits. */
#ifndef TILEC_FRONTEND_HOST_ARITH_H
#define TILEC_FRONTEND_HOST_ARITH_H
#include "frontend/host_expr.h"

enum { HOST_MAX_ARGUMENTS = 8 };

/* Of what can fail: HOST_PROBLEM_COUNT is no problem. */
typedef struct HostFunction {
    const char *name;
    uint32_t least, most; /* arguments */
    HostProblem (*call)(const HostValue *operands, uint32_t count, HostValue *value);
} HostFunction;

/* By its last name: cdiv of triton.cdiv. NULL: there is none. */
const HostFunction *host_function(Str name);
HostProblem host_unary(AstOperator op, HostValue operand, HostValue *value);
HostProblem host_binary(AstOperator op, HostValue a, HostValue b, HostValue *value);
/* ==, <, is, ..; not membership. */
HostProblem host_compare(AstOperator op, HostValue a, HostValue b, bool *holds);
/* As ==; configurations and functions are equal to themselves alone. */
bool host_values_equal(HostValue a, HostValue b);
/* The value under a key; NULL: there is none. */
HostValue *host_dict_find(const HostDict *dict, HostValue key);
#endif
