/* What belongs together of two kernels, and whether anything differs. */
#include "inspect/compare_parts.h"

static bool same_forms(const FormCounts *a, const FormCounts *b) {
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len; i++)
        if (!str_eq(a->data[i].form, b->data[i].form) || a->data[i].class != b->data[i].class ||
            a->data[i].count != b->data[i].count)
            return false;
    return true;
}

static bool same_measures(const CodeFacts *a, const CodeFacts *b) {
    for (int i = 0; i < MEASURE_COUNT; i++) {
        const MeasureValue *x = &a->measures[i], *y = &b->measures[i];
        if (x->state == y->state && x->state != MEASURED_NOT && x->value != y->value)
            return false;
    }
    return true;
}

/* Loops that wait are as many as barriers are waited for: those that are the same on both sides say
 * nothing. */
static CodePairs without_waits(Arena *arena, const CodePairs *pairs, const CodeFacts *a,
                               const CodeFacts *b) {
    CodePairs kept = {0};
    vec_for_each (pair, pairs) {
        const CodeLoop *x = pair->a < 0 ? NULL : &a->loops.data[pair->a];
        const CodeLoop *y = pair->b < 0 ? NULL : &b->loops.data[pair->b];
        if (!x || !y || !x->is_wait || !same_forms(&x->forms, &y->forms))
            vec_push(arena, &kept, *pair);
    }
    return kept;
}

static bool same_loops(const CodeComparison *c) {
    vec_for_each (pair, &c->loops)
        if (pair->a < 0 || pair->b < 0 ||
            !same_forms(&c->a->loops.data[pair->a].forms, &c->b->loops.data[pair->b].forms))
            return false;
    return true;
}

CodeComparison compare_code(Arena *arena, const CodeFacts *a, const CodeFacts *b) {
    CodeComparison c = {.a = a, .b = b, .lines = align_lines(arena, a, b)};
    const CodePairs loops = align_loops(arena, a, b, &c.lines);
    c.loops = without_waits(arena, &loops, a, b);
    c.same = same_measures(a, b) && same_forms(&a->forms, &b->forms) && same_loops(&c);
    return c;
}
