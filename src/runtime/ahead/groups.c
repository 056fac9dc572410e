/* See groups.h. */
#include "runtime/ahead/groups.h"

#include "runtime/launch/launch.h"

#include <errno.h>
#include <stdlib.h>

const KernelFacts *group_facts(const Group *group) {
    return &group->variants[0]->facts;
}

Str group_grid(const Group *group) {
    return group->variants[0]->grid;
}

static bool same_types(const KernelFacts *a, const KernelFacts *b) {
    bool same = a->param_count == b->param_count;
    for (uint32_t i = 0; same && i < a->param_count; i++)
        same = a->params[i].is_constexpr == b->params[i].is_constexpr &&
               str_eq(a->params[i].name, b->params[i].name) &&
               (a->params[i].is_constexpr || str_eq(a->params[i].text, b->params[i].text));
    return same;
}

static bool same_kernel(const Variant *a, const Variant *b) {
    return str_eq(a->path, b->path) && str_eq(a->facts.meta.name, b->facts.meta.name);
}

bool groups_same_kernel(const Group *a, const Group *b) {
    return same_kernel(a->variants[0], b->variants[0]);
}

bool groups_same_params(const Group *a, const Group *b) {
    const KernelFacts *x = group_facts(a), *y = group_facts(b);
    bool same = x->param_count == y->param_count;
    for (uint32_t i = 0; same && i < x->param_count; i++)
        same = str_eq(x->params[i].name, y->params[i].name);
    return same;
}

/* Forms of parameters */

bool literal_is_integer(Str text, int64_t *value) {
    char digits[32], *end;
    if (!text.len || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return !*end && !errno;
}

const char *literal_real(Arena *arena, Str text) {
    int64_t value;
    if (literal_is_integer(text, &value))
        return str_dup(arena, text);
    if (str_is(text, "float('inf')"))
        return "__builtin_inf()";
    if (str_is(text, "float('-inf')"))
        return "-__builtin_inf()";
    /* An integer beyond 64 bits is no double: others would be the same. */
    if (!text.len || !strchr("0123456789-", text.ptr[0]) ||
        (!memchr(text.ptr, '.', text.len) && !memchr(text.ptr, 'e', text.len)))
        return NULL;
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789.e+-", text.ptr[i]))
            return NULL;
    return str_dup(arena, text);
}

/* How a constexpr chooses among the group's variants. */
static FormOfParam form_that_chooses(Arena *arena, const Group *group, uint32_t param) {
    bool integers = true, flags = true, reals = true;
    int64_t value;
    for (uint32_t i = 0; i < group->count; i++) {
        const Str text = group->variants[i]->facts.params[param].text;
        integers &= literal_is_integer(text, &value);
        flags &= str_is(text, "True") || str_is(text, "False");
        reals &= literal_real(arena, text) != NULL;
    }
    return integers ? PARAM_INTEGER : flags ? PARAM_FLAG : reals ? PARAM_REAL : PARAM_TEXT;
}

static FormOfParam form_of(Arena *arena, const Group *group, uint32_t param) {
    const KernelParam *first = &group_facts(group)->params[param];
    if (!first->is_constexpr)
        return PARAM_VALUE;
    for (uint32_t i = 1; i < group->count; i++)
        if (!str_eq(group->variants[i]->facts.params[param].text, first->text))
            return form_that_chooses(arena, group, param);
    return PARAM_FIXED;
}

static void find_forms(Arena *arena, Group *group) {
    const uint32_t count = group_facts(group)->param_count;
    group->forms = ARENA_ARRAY(arena, FormOfParam, count + 1);
    for (uint32_t i = 0; i < count; i++)
        group->forms[i] = form_of(arena, group, i);
}

/* Parameters that are fixed in one group and arguments in another. */
static void join_forms(Arena *arena, Groups *groups) {
    vec_for_each (group, groups)
        for (uint32_t i = 0; i < group_facts(group)->param_count; i++) {
            bool is_argument = false;
            vec_for_each (other, groups)
                is_argument |= groups_same_kernel(group, other) &&
                               i < group_facts(other)->param_count &&
                               other->forms[i] != PARAM_FIXED;
            if (is_argument && group->forms[i] == PARAM_FIXED)
                group->forms[i] = form_that_chooses(arena, group, i);
        }
}

uint32_t group_argument(const Group *group, uint32_t param) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < param; i++)
        at += group->forms[i] != PARAM_FIXED;
    return at;
}

uint32_t group_count_arguments(const Group *group) {
    return group_argument(group, group_facts(group)->param_count);
}

uint32_t group_count_values(const Group *group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < group_facts(group)->param_count; i++)
        count += group->forms[i] == PARAM_VALUE;
    return count;
}

/* Checks */

/* One of two that are for the same calls is never chosen. */
static bool same_calls(const Variant *a, const Variant *b) {
    bool same = a->facts.meta.target == b->facts.meta.target && a->forms == b->forms;
    for (uint32_t i = 0; same && i < a->facts.param_count; i++) {
        const KernelParam *p = &a->facts.params[i], *q = &b->facts.params[i];
        same = str_eq(p->text, q->text) && p->is_fixed == q->is_fixed && p->fixed == q->fixed &&
               p->divisible == q->divisible;
    }
    return same;
}

static bool check_group(Ctx *ctx, const Group *group) {
    const uint32_t count = group_count_arguments(group);
    if (count > LAUNCH_MAX_PARAMS)
        return ctx_diag(ctx, (Span){0}, too_many_params, STR_ARG(group_facts(group)->meta.name),
                        count, LAUNCH_MAX_PARAMS);
    for (uint32_t i = 0; i < group->count; i++) {
        const Variant *v = group->variants[i];
        const Str name = v->facts.meta.name;
        if (v->facts.meta.num_ctas > 1)
            return ctx_diag(ctx, (Span){0}, emit_c_clusters, STR_ARG(name));
        if (!str_eq(v->grid, group_grid(group)))
            return ctx_diag(ctx, (Span){0}, emit_c_grids, STR_ARG(name), STR_ARG(v->path));
        for (uint32_t j = 0; j < i; j++)
            if (same_calls(group->variants[j], v))
                return ctx_diag(ctx, (Span){0}, emit_c_same, STR_ARG(name), STR_ARG(v->path),
                                v->facts.meta.target->name);
    }
    return true;
}

bool groups_make(Ctx *ctx, const Variant *variants, uint32_t count, GroupsFor which,
                 Groups *groups) {
    *groups = (Groups){0};
    for (uint32_t i = 0; i < count; i++) {
        Group *found = NULL;
        vec_for_each (group, groups)
            if (same_kernel(group->variants[0], &variants[i]) &&
                same_types(group_facts(group), &variants[i].facts))
                found = group;
        if (!found) {
            const Group made = {.variants = ARENA_ARRAY(&ctx->arena, const Variant *, count)};
            vec_push(&ctx->arena, groups, made);
            found = &groups->data[groups->len - 1];
        }
        found->variants[found->count++] = &variants[i];
    }
    vec_for_each (group, groups)
        find_forms(&ctx->arena, group);
    if (which == GROUPS_TOGETHER)
        join_forms(&ctx->arena, groups);
    vec_for_each (group, groups)
        if (!check_group(ctx, group))
            return false;
    return true;
}
