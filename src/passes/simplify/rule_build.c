/* Building results of rules; see rule.h. */
#include "passes/analysis/fold.h"
#include "passes/simplify/rule.h"

typedef struct Maker {
    const RuleMatch *match;
    Builder builder;
    const ValueMap *map; /* NULL: values are as they were matched */
    bool scalars;        /* values are the same in all elements, of which one is wanted */
} Maker;

static IntPredicate predicate(const RuleNode *node, const RuleMatch *match) {
    IntPredicate matched = (IntPredicate)match->pred;
    switch (node->pred) {
    case PRED_ANY:
        return matched;
    case PRED_SWAPPED:
        return predicate_swap(matched);
    case PRED_INVERTED:
        return predicate_invert(matched);
    default: /* one of its own */
        return (IntPredicate)node->pred;
    }
}

static void set_attributes(Op *op, const RuleNode *node, const RuleMatch *match) {
    if (op->code == OP_cmpi)
        cmpi_attrs(op)->pred = predicate(node, match);
    else if (op->code == OP_cmpf)
        cmpf_attrs(op)->pred = (FloatPredicate)node->pred;
    else if (op->code == match->root->code)
        op_copy_attrs(op, match->root);
}

static uint32_t operand_count(const RuleNode *node) {
    uint32_t count = 0;
    while (count < RULE_MAX_OPERANDS && node->in[count])
        count++;
    return count;
}

/* What a constant among the operands has for a type: that of the result, or of a comparison that
 * of its first operand. */
static const Type *operand_type(const RuleMatch *match, const RuleNode *node, const Type *result) {
    bool compares = node->code == OP_cmpi || node->code == OP_cmpf;
    return compares ? match->values[node->in[0]->slot]->type : result;
}

static bool evaluate(const RuleMatch *match, const RuleNode *node, const Type *type, Scalar *out);

/* An op that is in no block, for its folding. */
static bool evaluate_op(const RuleMatch *match, const RuleNode *node, const Type *type,
                        Scalar *out) {
    Scalar in[RULE_MAX_OPERANDS];
    Value values[RULE_MAX_OPERANDS], result = {.type = type};
    Use uses[RULE_MAX_OPERANDS];
    union {
        struct cmpi_attrs cmpi;
        struct cmpf_attrs cmpf;
    } attrs = {{0}};
    if (!(op_info[node->code].traits & ELEMENTWISE) ||
        op_info[node->code].attr_bytes > sizeof attrs)
        return false;
    Op op = {.code = (OpCode)node->code, .nin = operand_count(node), .nout = 1};
    op.in = uses;
    op.out = &result;
    op.attrs = &attrs;
    for (uint32_t i = 0; i < op.nin; i++) {
        const RuleNode *operand = node->in[i];
        const Value *named = match->values[operand->slot];
        values[i].type =
            operand->kind <= RULE_UNIFORM ? named->type : operand_type(match, node, type);
        uses[i] = (Use){.value = &values[i], .user = &op};
        if (!evaluate(match, operand, values[i].type, &in[i]))
            return false;
    }
    set_attributes(&op, node, match);
    return fold_elementwise(&op, in, out);
}

/* The constant of the type that the tree is; false: it is none. */
static bool evaluate(const RuleMatch *match, const RuleNode *node, const Type *type, Scalar *out) {
    DType dtype = type->dtype;
    switch ((RuleKind)node->kind) {
    case RULE_VALUE:
    case RULE_CONSTANT:
    case RULE_UNIFORM:
        return scalar_of_value(match->values[node->slot], out);
    case RULE_INT:
        out->i = int_wrap(dtype, node->i);
        return true;
    case RULE_LOWEST:
        out->i = int_lowest(dtype);
        return true;
    case RULE_HIGHEST:
        out->i = int_highest(dtype);
        return true;
    case RULE_FLOAT:
        out->f = node->f;
        return true;
    case RULE_OP:
        return evaluate_op(match, node, type, out);
    case RULE_NAMED: /* only in patterns */
    case RULE_PRODUCT:
        break;
    }
    return false;
}

static Value *mapped(const ValueMap *map, Value *value) {
    Value *copy = map ? value_map_get(map, value) : NULL;
    return copy ? copy : value;
}

static Value *make_name(Maker *maker, const RuleNode *node, const Type *type) {
    Value *value = mapped(maker->map, maker->match->values[node->slot]);
    if (node->kind == RULE_UNIFORM)
        return build_splat(&maker->builder, value_uniform_scalar(&maker->builder, value), type);
    return maker->scalars ? value_uniform_scalar(&maker->builder, value) : value;
}

static Value *make_constant(Maker *maker, const Type *type, Scalar constant) {
    return type_is_int(type) ? rewrite_int(&maker->builder, type, constant.i)
                             : rewrite_float(&maker->builder, type, constant.f);
}

/* The value of the tree; `type` is that of the op, or of a constant. */
static Value *make(Maker *maker, const RuleNode *node, const Type *type) {
    const RuleMatch *match = maker->match;
    Scalar constant;
    if (node->kind <= RULE_UNIFORM)
        return make_name(maker, node, type);
    if (evaluate(match, node, type, &constant))
        return make_constant(maker, type, constant);
    Value *in[RULE_MAX_OPERANDS];
    uint32_t nin = operand_count(node);
    const Type *wanted = operand_type(match, node, type);
    if (maker->scalars)
        wanted = type_element(maker->builder.ctx, wanted);
    for (uint32_t i = 0; i < nin; i++)
        in[i] = make(maker, node->in[i], wanted);
    if (node->code == OP_reduce) {
        const Op *reduce = mapped(maker->map, op_out(match->root))->def;
        return op_out(rewrite_reduce(&maker->builder, reduce, in, reduce_attrs(reduce)->keep));
    }
    Op *op = op_create(&maker->builder, (OpCode)node->code, nin, in, 1, &type);
    set_attributes(op, node, match);
    return op_out(op);
}

Value *rule_gate(const RuleMatch *match, Builder *builder) {
    Scalar constant;
    const Type *type = type_scalar(builder->ctx, DT_I1);
    if (evaluate(match, match->rule->gate, type, &constant))
        return NULL;
    Maker maker = {.match = match, .builder = *builder, .scalars = true};
    return make(&maker, match->rule->gate, type);
}

static bool is_outside(const RuleMatch *match, const RuleNode *node, const Op *op) {
    if (node->kind <= RULE_UNIFORM)
        return value_is_outside(match->values[node->slot], op);
    for (uint32_t i = 0; i < operand_count(node); i++)
        if (!is_outside(match, node->in[i], op))
            return false;
    return true;
}

bool rule_gate_is_outside(const RuleMatch *match, const Op *op) {
    return is_outside(match, match->rule->gate, op);
}

bool rule_gate_may_hold(const RuleMatch *match) {
    Scalar constant;
    const Type *type = type_scalar(func_ctx(match->root->block->func), DT_I1);
    return !evaluate(match, match->rule->gate, type, &constant) || constant.i;
}

void rule_apply(const RuleMatch *match, const ValueMap *map) {
    Op *root = mapped(map, op_out(match->root))->def;
    Maker maker = {.match = match, .builder = builder_before(root), .map = map};
    if (match->values[SLOT_at])
        maker.builder.span = match->values[SLOT_at]->def->span;
    rewrite_replace(root, make(&maker, match->rule->result, root->out[0].type));
}

bool rules_apply(Op *op, const Glance *glance) {
    RuleMatch match;
    if (!rules_find(op, glance, &match))
        return false;
    rule_apply(&match, NULL);
    return true;
}
