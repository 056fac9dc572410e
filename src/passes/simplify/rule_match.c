/* Matching patterns of rules; see rule.h. */
#include "passes/analysis/fold.h"
#include "passes/simplify/rule.h"

#include <math.h>

/* How far a product may be associated. */
enum { MAX_FACTORS_DEPTH = 3 };

static bool match_node(RuleMatch *m, const RuleNode *node, Value *value);

static bool is_name(const RuleNode *node) {
    return node->kind == RULE_VALUE || node->kind == RULE_CONSTANT;
}

static bool is_constant(const RuleNode *node) {
    return node->kind != RULE_VALUE && node->kind != RULE_UNIFORM && node->kind < RULE_OP;
}

static bool bind(RuleMatch *m, uint8_t slot, Value *value) {
    if (m->values[slot])
        return m->values[slot] == value;
    m->values[slot] = value;
    return true;
}

static bool match_float(const Value *value, double wanted) {
    double constant;
    return type_is_float(value->type) && value_float_constant(value, &constant) &&
           constant == wanted && signbit(constant) == signbit(wanted);
}

/* Names first: they say which way round the others stand. */
static bool match_operands(RuleMatch *m, const RuleNode *node, Value *const *in, uint32_t nin) {
    for (uint32_t i = 0; i < nin; i++)
        if (is_name(node->in[i]) && !match_node(m, node->in[i], in[i]))
            return false;
    for (uint32_t i = 0; i < nin; i++)
        if (!is_name(node->in[i]) && !match_node(m, node->in[i], in[i]))
            return false;
    return true;
}

/* The region of the reduction combines by one op. */
static bool combines_by(const Op *reduce, OpCode code) {
    if (reduce->nin != 1 || reduce->out[0].type->rank == 0)
        return false;
    const Block *region = reduce->regions[0];
    const Op *combine = region->first;
    return combine->code == code && combine->next == region->last &&
           op_in(region->last, 0) == op_out(combine) && op_in(combine, 0) != op_in(combine, 1);
}

static bool match_attributes(RuleMatch *m, const RuleNode *node, const Op *op) {
    if (op->code == OP_reduce)
        return combines_by(op, (OpCode)node->combine);
    if (op->code == OP_cmpf)
        return node->pred == (int)cmpf_attrs(op)->pred;
    if (op->code != OP_cmpi)
        return true;
    m->pred = (int)cmpi_attrs(op)->pred;
    return node->pred == PRED_ANY || node->pred == m->pred;
}

/* `first` takes the place of the first operand, unless it is NULL. What does not match may leave
 * names bound. */
static bool match_op(RuleMatch *m, const RuleNode *node, const Op *op, Value *first) {
    if (op->code != node->code || op->nin > RULE_MAX_OPERANDS || !match_attributes(m, node, op))
        return false;
    Value *in[RULE_MAX_OPERANDS];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = i == 0 && first ? first : op_in(op, i);
    RuleMatch before = *m;
    if (match_operands(m, node, in, op->nin))
        return true;
    if (!op_has(op, COMMUTES) || is_constant(node->in[1]))
        return false;
    *m = before;
    return match_operands(m, node, (Value *[]){in[1], in[0]}, 2);
}

/* The factor that is an op, through products that nothing else takes. NULL: it is not there. */
static Value *find_factor(RuleMatch *m, const RuleNode *factor, Value *value, int depth) {
    if (!value_has_one_use(value))
        return NULL;
    RuleMatch before = *m;
    if (match_node(m, factor, value))
        return value;
    *m = before;
    const Op *product = value_def(value, OP_mulf);
    Value *found = NULL;
    for (uint32_t i = 0; product && depth && !found && i < 2; i++)
        found = find_factor(m, factor, op_in(product, i), depth - 1);
    return found;
}

typedef struct Factors {
    const Value *wanted[2];
    int counts[2];
    double constant;
} Factors;

static bool collect_factors(Factors *factors, const Value *value, int depth) {
    double constant;
    for (int i = 0; i < 2; i++) {
        if (value != factors->wanted[i])
            continue;
        factors->counts[i]++;
        return true;
    }
    if (value_float_constant(value, &constant)) {
        factors->constant *= constant;
        return true;
    }
    const Op *product = value_def(value, OP_mulf);
    return product && depth && collect_factors(factors, op_in(product, 0), depth - 1) &&
           collect_factors(factors, op_in(product, 1), depth - 1);
}

/* An op, a name in it and a constant, each once. */
static bool match_product(RuleMatch *m, const RuleNode *node, const Op *op) {
    if (op->code != OP_mulf)
        return false;
    Value *found = find_factor(m, node->in[0], op_in(op, 0), MAX_FACTORS_DEPTH);
    if (!found)
        found = find_factor(m, node->in[0], op_in(op, 1), MAX_FACTORS_DEPTH);
    if (!found)
        return false;
    Factors factors = {.wanted = {found, m->values[node->in[1]->slot]}, .constant = 1};
    return collect_factors(&factors, op_in(op, 0), MAX_FACTORS_DEPTH) &&
           collect_factors(&factors, op_in(op, 1), MAX_FACTORS_DEPTH) && factors.counts[0] == 1 &&
           factors.counts[1] == 1 && factors.constant == node->in[2]->f;
}

static bool match_int(const Value *value, const RuleNode *node) {
    if (!type_is_int(value->type))
        return false;
    DType dtype = value->type->dtype;
    switch ((RuleKind)node->kind) {
    case RULE_LOWEST:
        return value_is_int(value, int_lowest(dtype));
    case RULE_HIGHEST:
        return value_is_int(value, int_highest(dtype));
    default: /* a number */
        return value_is_int(value, int_wrap(dtype, node->i));
    }
}

static bool match_node(RuleMatch *m, const RuleNode *node, Value *value) {
    Scalar constant;
    switch ((RuleKind)node->kind) {
    case RULE_VALUE:
        return bind(m, node->slot, value);
    case RULE_CONSTANT:
        return scalar_of_value(value, &constant) && bind(m, node->slot, value);
    case RULE_UNIFORM:
        return value_is_uniform(value) && bind(m, node->slot, value);
    case RULE_INT:
    case RULE_LOWEST:
    case RULE_HIGHEST:
        return match_int(value, node);
    case RULE_FLOAT:
        return match_float(value, node->f);
    case RULE_NAMED:
        return match_node(m, node->in[0], value) && bind(m, node->slot, value);
    case RULE_OP:
        return value->def && match_op(m, node, value->def, NULL);
    case RULE_PRODUCT: /* only the root */
        break;
    }
    return false;
}

bool rule_match(const Rule *rule, Op *root, Value *operand, RuleMatch *match) {
    *match = (RuleMatch){.rule = rule, .root = root};
    match->values[SLOT_root] = op_out(root);
    const RuleNode *pattern = rule->pattern;
    bool matches = pattern->kind == RULE_PRODUCT ? match_product(match, pattern, root)
                                                 : match_op(match, pattern, root, operand);
    return matches && rule->when(match);
}

Glance glance_at(const Op *op) {
    Glance glance = {.nin = op->nin};
    glance.is_pair = op->nin > 1 && op_in(op, 0) == op_in(op, 1);
    Scalar constant;
    for (uint32_t i = 0; i < op->nin && i < RULE_MAX_OPERANDS; i++) {
        const Op *def = op_in(op, i)->def;
        glance.codes[i] = def ? def->code : OP_COUNT;
        glance.constant[i] = def && def->nin <= 1 && scalar_of_value(op_in(op, i), &constant);
    }
    return glance;
}

static bool may_be(const RuleNode *node, const Glance *glance, uint32_t operand) {
    if (is_constant(node))
        return glance->constant[operand];
    if (node->kind == RULE_NAMED)
        node = node->in[0];
    return node->kind != RULE_OP || node->code == glance->codes[operand];
}

static bool may_match_in_order(const RuleNode *pattern, const Glance *glance) {
    for (uint32_t i = 0; i < glance->nin; i++)
        if (!may_be(pattern->in[i], glance, i))
            return false;
    return true;
}

static bool may_match(const Rule *rule, const Glance *glance) {
    const RuleNode *pattern = rule->pattern, *first = pattern->in[0], *second = pattern->in[1];
    if (rule->gate)
        return false;
    if (pattern->kind == RULE_PRODUCT)
        return glance->codes[0] == OP_mulf || glance->codes[1] == OP_mulf ||
               may_be(first, glance, 0) || may_be(first, glance, 1);
    if (first == second) /* one name */
        return glance->is_pair;
    if (may_match_in_order(pattern, glance))
        return true;
    return (op_info[pattern->code].traits & COMMUTES) && may_be(first, glance, 1) &&
           may_be(second, glance, 0);
}

bool rules_find(Op *op, const Glance *glance, RuleMatch *match) {
    const RuleGroup *group = &rule_groups[op->code];
    /* What is rounded otherwise than the source says may depend on how often a value is taken. */
    const bool exact = op->block->func->deterministic;
    for (uint32_t i = 0; i < group->count; i++)
        if ((!exact || group->rules[i].exactness != ROUNDED) &&
            may_match(&group->rules[i], glance) && rule_match(&group->rules[i], op, NULL, match))
            return true;
    return false;
}
