/* Every row of rules.def, on the element types that it takes: what the interpreter computes of the
 * pattern and of the result is the same, as exactly as the row says. A row that never matches is
 * wrong too, and one that an earlier row always takes the place of. */
#include "../../ir/ir_testing.h"
#include "rule_instance.h"

#include "types/float_bits.h"

#include <math.h>
#include <string.h>

enum { TRIES = 800, WANTED = 8 };

/* What became of the tries of a row. */
typedef struct Tally {
    unsigned matched, compared, found;
} Tally;

static uint64_t bits_of(const RuleArrays *arrays, int output, DType dtype, size_t i) {
    uint64_t bits = 0;
    size_t bytes = (size_t)dtype_bytes(dtype);
    memcpy(&bits, arrays->out[output] + i * bytes, bytes);
    return bits;
}

/* The largest finite magnitude of element i among the values on the way; NaN: one is not finite. */
static double magnitude(const RuleInstance *before, const RuleArrays *arrays, size_t i) {
    double largest = 0;
    for (int output = 0; output < RULE_MAX_OUTPUTS; output++) {
        const Type *type = before->outputs[output];
        if (!type || output == 1)
            continue;
        double value = float_from_bits(type->dtype, bits_of(arrays, output, type->dtype, i));
        if (!isfinite(value))
            return NAN;
        largest = fmax(largest, fabs(value));
    }
    return largest;
}

static bool is_as_exact(const RuleInstance *before, const RuleArrays *old, const RuleArrays *new,
                        size_t i) {
    const Rule *rule = before->rule;
    DType dtype = before->outputs[0]->dtype;
    uint64_t a = bits_of(old, 0, dtype, i), b = bits_of(new, 0, dtype, i);
    if (a == b || rule->exactness == EXACT)
        return a == b;
    if (!dtype_is_float(dtype))
        return false;
    double x = float_from_bits(dtype, a), y = float_from_bits(dtype, b);
    if (isnan(x) && isnan(y))
        return true;
    if (rule->exactness == EXACT_NAN)
        return false;
    double largest = magnitude(before, old, i);
    return isnan(largest) || fabs(x - y) <= rule->ulps * 0x1p-24 * largest;
}

/* simplify finds this row, or a row with a gate, which it leaves alone, stands before others that
 * match. */
static bool is_found(const RuleInstance *instance) {
    RuleMatch match;
    const RuleGroup *group = &rule_groups[instance->root->code];
    Glance glance = glance_at(instance->root);
    if (!instance->rule->gate)
        return rules_find(instance->root, &glance, &match) && match.rule == instance->rule;
    for (uint32_t i = 0; i < group->count; i++)
        if (group->rules[i].gate && rule_match(&group->rules[i], instance->root, NULL, &match))
            return &group->rules[i] == instance->rule;
    return false;
}

static bool gate_holds(const RuleInstance *after, const RuleArrays *arrays) {
    return !after->outputs[1] || arrays->out[1][0];
}

static void compare(const RuleInstance *before, RuleInstance *after, RuleArrays *old,
                    RuleArrays *new, uint64_t seed, const char *text) {
    rule_instance_fill(before, old, seed);
    *new = *old;
    if (!rule_instance_run(before, old))
        fail_msg("%s: %s\n%s", before->rule->name, testing_messages(before->ctx), text);
    if (!rule_instance_run(after, new))
        fail_msg("%s: %s\n%s", before->rule->name, testing_messages(after->ctx),
                 testing_print(after->func->module));
    size_t elements = (size_t)1 << before->outputs[0]->log2_numel;
    for (size_t i = 0; gate_holds(after, new) && i < elements; i++)
        if (!is_as_exact(before, old, new, i))
            fail_msg("%s: element %zu is %llx, was %llx:\n%s\nbecomes\n%s", before->rule->name, i,
                     (unsigned long long)bits_of(new, 0, before->outputs[0]->dtype, i),
                     (unsigned long long)bits_of(old, 0, before->outputs[0]->dtype, i), text,
                     testing_print(after->func->module));
}

static void apply(RuleInstance *instance, const RuleMatch *match) {
    if (match->rule->gate) {
        Builder builder = builder_before(instance->root);
        Value *gate = rule_gate(match, &builder);
        if (gate)
            rule_instance_store(instance, instance->root, gate, 1);
    }
    rule_apply(match, NULL);
    if (!module_verify(instance->func->module))
        fail_msg("%s: %s\n%s", match->rule->name, testing_messages(instance->ctx),
                 testing_print(instance->func->module));
}

static void try_once(const Rule *rule, int prefer, uint64_t seed, Tally *tally,
                     RuleArrays *arrays) {
    Ctx *ctx = testing_ctx();
    RuleInstance before, after;
    RuleMatch match;
    if (rule_instance(&after, ctx, rule, prefer, seed, false) &&
        rule_match(rule, after.root, NULL, &match) && (!rule->gate || rule_gate_may_hold(&match))) {
        rule_instance(&before, ctx, rule, prefer, seed, true);
        const char *text = testing_print(before.func->module);
        tally->matched++;
        tally->found += is_found(&after);
        apply(&after, &match);
        compare(&before, &after, &arrays[0], &arrays[1], seed, text);
        tally->compared += gate_holds(&after, &arrays[1]);
    }
    ctx_destroy(ctx);
}

static void test_row(const Rule *rule, OpCode code, RuleArrays *arrays) {
    Tally all = {0};
    assert_int_equal(rule->pattern->code, code);
    for (int prefer = 0; prefer <= DT_COUNT; prefer++) {
        Tally tally = {0};
        for (uint64_t i = 0; i < TRIES && tally.matched < WANTED; i++)
            try_once(rule, prefer, (uint64_t)prefer << 32 | (i * 7919 + 1), &tally, arrays);
        all.matched += tally.matched;
        all.compared += tally.compared;
        all.found += tally.found;
    }
    if (!all.compared || !all.found)
        fail_msg("%s: matched %u times, compared %u times, %u times the row that is taken",
                 rule->name, all.matched, all.compared, all.found);
}

static void test_rules(void **state) {
    RuleArrays *arrays = test_malloc(2 * sizeof *arrays);
    for (int code = 0; code < OP_COUNT; code++)
        for (uint32_t i = 0; i < rule_groups[code].count; i++)
            test_row(&rule_groups[code].rules[i], (OpCode)code, arrays);
    test_free(arrays);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
