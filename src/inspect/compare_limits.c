/* Limits: by how much the second kernel may be worse. */
#include "inspect/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char *suggestion(Arena *arena, Str name) {
    Str names[MEASURE_COUNT];
    for (int i = 0; i < MEASURE_COUNT; i++)
        names[i] = str_from(measure_info[i].name);
    const int nearest = str_nearest(name, names, MEASURE_COUNT);
    return nearest < 0 ? ""
                       : str_format(arena, " (did you mean '%s'?)", measure_info[nearest].name);
}

/* The sign that means worse may stand in front. */
static bool takes_sign(MeasureBetter better, char sign) {
    return (sign == '+' && better == BETTER_LOWER) || (sign == '-' && better == BETTER_HIGHER);
}

bool limit_parse(Arena *arena, const char *text, MeasureLimit *limit, const char **problem) {
    const Str name = {text, strcspn(text, "=")};
    const int measure = measure_find(name);
    if (measure < 0) {
        *problem = str_format(arena, "there is no measure '%.*s'%s: wanted one of %s",
                              STR_ARG(name), suggestion(arena, name), measure_list(arena));
        return false;
    }
    *limit = (MeasureLimit){.measure = (Measure)measure, .text = str_from(text)};
    const char *value = text[name.len] ? text + name.len + 1 : "";
    const char *digits = value + takes_sign(measure_info[measure].better, *value);
    char *end = NULL;
    if (*digits >= '0' && *digits <= '9')
        limit->amount = strtod(digits, &end);
    if (end && *end == '%') {
        limit->is_percent = true;
        end++;
    }
    if (end && !*end && isfinite(limit->amount) &&
        (limit->is_percent || limit->amount == floor(limit->amount)))
        return true;
    const char *sign = measure_info[measure].better == BETTER_HIGHER  ? "-"
                       : measure_info[measure].better == BETTER_LOWER ? "+"
                                                                      : "";
    *problem = str_format(arena, "'%s' says not by how much: wanted %s=0, %s=%s16 or %s=5%%", text,
                          measure_info[measure].name, measure_info[measure].name, sign,
                          measure_info[measure].name);
    return false;
}

static const char *not_measured(Arena *arena, const MeasureValue *value, Measure measure,
                                const char *side) {
    const char *name = measure_info[measure].name;
    if (value->state == MEASURED_NOT)
        return str_format(arena, "%s of %s is not known: %s", name, side, value->why);
    const char *hint = measure == MEASURE_registers ? "; live-registers needs none" : "";
    return str_format(arena, "%s of %s is an estimate, which nothing is held to: %s%s", name, side,
                      value->why, hint);
}

bool limit_check(Arena *arena, const MeasureLimit *limit, const CodeFacts *a, const CodeFacts *b,
                 LimitResult *result, const char **problem) {
    const MeasureValue *x = &a->measures[limit->measure], *y = &b->measures[limit->measure];
    if (x->state != MEASURED || y->state != MEASURED) {
        const bool of_a = x->state != MEASURED;
        *problem = not_measured(arena, of_a ? x : y, limit->measure, of_a ? "A" : "B");
        return false;
    }
    int64_t worse = y->value - x->value;
    switch (measure_info[limit->measure].better) {
    case BETTER_LOWER:
        break;
    case BETTER_HIGHER:
        worse = -worse;
        break;
    case BETTER_SAME:
        worse = llabs(worse);
        break;
    }
    const double most =
        limit->is_percent ? limit->amount * fabs((double)x->value) / 100 : limit->amount;
    *result = (LimitResult){*limit, worse, (double)worse <= most};
    return true;
}
