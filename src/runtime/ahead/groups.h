/* Variants in the groups that C code has a function, or a door, for: those of the same source and
 * kernel whose parameters have the same types. A constexpr is a parameter where it chooses. */
#ifndef TILEC_RUNTIME_AHEAD_GROUPS_H
#define TILEC_RUNTIME_AHEAD_GROUPS_H
#include "runtime/launch/bundle.h"
#include "support/ctx.h"

/* How a parameter of the source stands in C. */
typedef enum FormOfParam {
    PARAM_VALUE,   /* passed to the kernel */
    PARAM_FIXED,   /* a constexpr that all variants have the same value of: not there */
    PARAM_INTEGER, /* constexprs that choose: int64_t, bool, double, const char * */
    PARAM_FLAG,
    PARAM_REAL,
    PARAM_TEXT,
} FormOfParam;

typedef struct Group {
    const Variant **variants;
    uint32_t count;
    FormOfParam *forms;   /* of each parameter of the source */
    const char *function; /* its name in C */
    const char **names;   /* of the parameters in C */
} Group;

typedef VEC(Group) Groups;

typedef enum GroupsFor {
    GROUPS_APART,    /* each group has parameters of its own */
    GROUPS_TOGETHER, /* all groups of a kernel have the same: what is one in any is one in all */
} GroupsFor;

/* `function` and `names` are left to the caller. False after an error: there are variants that
 * nothing tells apart, or that C code does not launch. */
bool groups_make(Ctx *ctx, const Variant *variants, uint32_t count, GroupsFor which,
                 Groups *groups);
/* Of the same kernel of the same source. */
bool groups_same_kernel(const Group *a, const Group *b);
/* By name and number. Sources of one path may differ in them: manifests may give texts. */
bool groups_same_params(const Group *a, const Group *b);
const KernelFacts *group_facts(const Group *group);
/* The expression of its grid; empty: calls say it. */
Str group_grid(const Group *group);
/* Which argument of a call the parameter is: those that are fixed are none. */
uint32_t group_argument(const Group *group, uint32_t param);
/* How many arguments calls have, and how many of them go to the kernel. */
uint32_t group_count_arguments(const Group *group);
uint32_t group_count_values(const Group *group);

/* A constexpr's text. */
bool literal_is_integer(Str text, int64_t *value);
/* As a double of C; NULL: it is no float, nor an integer of 64 bits. */
const char *literal_real(Arena *arena, Str text);
#endif
