#include "rule_instance.h"

#include "interp/interp.h"
#include "types/float_bits.h"

#include <math.h>
#include <string.h>

/* splitmix64: seeds next to each other give numbers that have nothing in common. */
static uint32_t next(RuleInstance *in, uint32_t below) {
    uint64_t mixed = in->random += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((mixed ^ mixed >> 31) % below);
}

/* An element of a type: DT_COUNT is a pointer. */
static int random_element(RuleInstance *in) {
    return next(in, 2) ? in->prefer : (int)next(in, DT_COUNT + 1);
}

static const Type *tile_of(RuleInstance *in, int element, bool scalar) {
    static const int64_t shape[] = {RULE_ROWS, RULE_COLUMNS};
    TypeKind kind = element == DT_COUNT ? TYPE_POINTER : TYPE_NUMBER;
    /* Pointers to different things come up both. */
    DType dtype = element == DT_COUNT ? (next(in, 2) ? DT_F32 : DT_I32) : (DType)element;
    return type_get(in->ctx, kind, dtype, scalar ? 0 : 2, shape, NULL);
}

static Value *array(RuleInstance *in, uint32_t parameter, int64_t at, DType dtype) {
    Builder *b = &in->builder;
    Value *index = build_constant_int(b, at * RULE_ARRAY_BYTES, type_scalar(in->ctx, DT_I64));
    Value *bytes = build_addptr(b, &in->func->body->args[parameter], index);
    return build_bitcast(b, bytes, type_pointer(in->ctx, dtype));
}

/* Pointers to the elements of an array, or to its first. */
static Value *pointers(RuleInstance *in, uint32_t parameter, int64_t at, const Type *type) {
    Builder *b = &in->builder;
    Value *first = array(in, parameter, at, type->dtype);
    if (type->rank == 0)
        return first;
    int64_t elements = (int64_t)1 << type->log2_numel;
    const Type *i32 = type_scalar(in->ctx, DT_I32);
    Value *range = build_range(b, 0, type_with_shape(in->ctx, i32, 1, &elements));
    Value *index = build_reshape(b, range, type_with_element(in->ctx, type, TYPE_NUMBER, DT_I32));
    const Type *tile = type_with_element(in->ctx, type, TYPE_POINTER, type->dtype);
    return build_addptr(b, build_splat(b, first, tile), index);
}

static Value *load_name(RuleInstance *in, uint8_t slot, const Type *type) {
    Value *pointer = pointers(in, 0, slot, type);
    if (type->kind == TYPE_POINTER)
        return pointer;
    return build_load(&in->builder, pointer, NULL, NULL, CACHE_NONE, EVICT_NORMAL, false, 0, false,
                      false, false, 0);
}

static double random_float(RuleInstance *in) {
    static const double specials[] = {0x1.6a09e6p-1,
                                      -0x1.6a09e6p-1,
                                      0x1.6a09e6p+0,
                                      -0x1.6a09e6p+0,
                                      0.5,
                                      2,
                                      4,
                                      0.25,
                                      1,
                                      -1,
                                      0.0,
                                      -0.0,
                                      3,
                                      INFINITY,
                                      -INFINITY,
                                      1e-3,
                                      100};
    return next(in, 5) ? specials[next(in, sizeof specials / sizeof *specials)]
                       : (double)next(in, 100000) / 1000 - 50;
}

static int64_t random_int(RuleInstance *in) {
    static const int64_t specials[] = {0, 1, -1, 2, 3, 7, INT32_MIN, INT32_MAX, 127, -128, 255};
    return next(in, 2) ? specials[next(in, sizeof specials / sizeof *specials)]
                       : (int64_t)next(in, 64) - (next(in, 4) ? 0 : 32);
}

static Value *constant(RuleInstance *in, const Type *type, const RuleNode *node) {
    DType dtype = type->dtype;
    if (type->kind != TYPE_NUMBER)
        return NULL;
    if (dtype_is_float(dtype)) {
        double value = node->kind == RULE_FLOAT ? node->f : random_float(in);
        if (node->kind == RULE_INT)
            return NULL;
        if (dtype != DT_F64)
            value = float_from_bits(dtype, float_to_bits(dtype, value));
        return rewrite_float(&in->builder, type, value);
    }
    if (node->kind == RULE_FLOAT)
        return NULL;
    int64_t value = node->kind == RULE_INT       ? node->i
                    : node->kind == RULE_LOWEST  ? int_lowest(dtype)
                    : node->kind == RULE_HIGHEST ? int_highest(dtype)
                                                 : random_int(in);
    return rewrite_int(&in->builder, type, value);
}

static Value *make(RuleInstance *in, const RuleNode *node, const Type *type);

/* An op with a type that its row of ops.def accepts; NULL: it has none. */
static Value *checked(RuleInstance *in, OpCode code, uint32_t nin, Value *const *operands,
                      const Type *type, const RuleNode *node) {
    for (uint32_t i = 0; i < nin; i++)
        if (!operands[i])
            return NULL;
    Op *op = op_create(&in->builder, code, nin, operands, 1, &type);
    if (code == OP_cmpi)
        cmpi_attrs(op)->pred =
            node->pred < PRED_ANY ? (IntPredicate)node->pred : (IntPredicate)next(in, IPRED_COUNT);
    if (code == OP_cmpf)
        cmpf_attrs(op)->pred = (FloatPredicate)node->pred;
    if (!op_infer(in->ctx, op, type) || op_out(op)->type != type)
        return NULL;
    return op_out(op);
}

static Value *make_reduce(RuleInstance *in, const RuleNode *node, Value *x) {
    if (!x)
        return NULL;
    Op *reduce = build_reduce(&in->builder, 1, &x, 1, 0);
    Block *region = reduce->regions[0];
    Builder b = builder_at_end(region);
    Value *operands[] = {&region->args[0], &region->args[1]};
    Op *combine = op_create(&b, (OpCode)node->combine, 2, operands, 1, &operands[0]->type);
    build_yield(&b, 1, (Value *[]){op_out(combine)});
    return op_out(reduce);
}

static bool is_conversion(OpCode code) {
    return code == OP_trunci || code == OP_extsi || code == OP_extui || code == OP_truncf ||
           code == OP_extf || code == OP_sitof || code == OP_uitof || code == OP_bitcast ||
           code == OP_ptrtoint || code == OP_inttoptr;
}

/* The type of operand `index` of an op that gives `type`. */
static const Type *operand_type(RuleInstance *in, const RuleNode *node, uint32_t index,
                                const Type *type, const Type *others) {
    if (node->code == OP_select && index == 0)
        return tile_of(in, DT_I1, false);
    if (node->code == OP_splat)
        return type_get(in->ctx, type->kind, type->dtype, 0, NULL, NULL);
    return is_conversion((OpCode)node->code) || node->code == OP_cmpi || node->code == OP_cmpf
               ? others
               : type;
}

static void note_domains(RuleInstance *in, const RuleNode *node) {
    const RuleNode *second = node->in[1];
    bool divides = node->code == OP_divsi || node->code == OP_divui || node->code == OP_remsi ||
                   node->code == OP_remui;
    bool shifts = node->code == OP_shli || node->code == OP_shrsi || node->code == OP_shrui;
    if (divides && second->kind == RULE_VALUE)
        in->divides |= 1u << second->slot;
    if (shifts && second->kind == RULE_VALUE)
        in->shifts |= 1u << second->slot;
}

static Value *make_op(RuleInstance *in, const RuleNode *node, const Type *type) {
    Value *operands[RULE_MAX_OPERANDS];
    uint32_t nin = 0;
    const Type *others = tile_of(in, random_element(in), false);
    note_domains(in, node);
    if (node->code == OP_reduce)
        return make_reduce(in, node, make(in, node->in[0], others));
    for (; nin < RULE_MAX_OPERANDS && node->in[nin]; nin++) {
        operands[nin] = make(in, node->in[nin], operand_type(in, node, nin, type, others));
        if (!operands[nin])
            return NULL;
    }
    bool right = nin == 2 && (node->in[1]->kind < RULE_OP && node->in[1]->kind != RULE_VALUE &&
                              node->in[1]->kind != RULE_UNIFORM);
    if ((op_info[node->code].traits & COMMUTES) && !right && next(in, 2)) {
        Value *first = operands[0];
        operands[0] = operands[1];
        operands[1] = first;
    }
    return checked(in, (OpCode)node->code, nin, operands, type, node);
}

static Value *times(RuleInstance *in, Value *a, Value *b, const Type *type) {
    bool swap = a && a->def && a->def->code == OP_constant_float;
    return checked(in, OP_mulf, 2, swap ? (Value *[]){b, a} : (Value *[]){a, b}, type, NULL);
}

/* The factors in any order, the constant in one piece or two. */
static Value *make_product(RuleInstance *in, const RuleNode *node, const Type *type) {
    if (type->kind != TYPE_NUMBER || !dtype_is_float(type->dtype))
        return NULL;
    Value *factors[4];
    int count = 0;
    double f = node->in[2]->f;
    bool split = next(in, 3) == 0;
    factors[count++] = make(in, node->in[0], type);
    factors[count++] = make(in, node->in[1], type);
    factors[count++] = rewrite_float(&in->builder, type, split ? f / 2 : f);
    if (split)
        factors[count++] = rewrite_float(&in->builder, type, 2);
    while (count > 1) {
        uint32_t i = next(in, (uint32_t)count), j = next(in, (uint32_t)count - 1);
        j += j >= i;
        Value *product = times(in, factors[i], factors[j], type);
        if (!product)
            return NULL;
        factors[i < j ? i : j] = product;
        factors[i < j ? j : i] = factors[--count];
    }
    return factors[0];
}

static Value *make(RuleInstance *in, const RuleNode *node, const Type *type) {
    Value *scalar;
    switch ((RuleKind)node->kind) {
    case RULE_VALUE:
        if (!in->values[node->slot])
            in->values[node->slot] = load_name(in, node->slot, type);
        return in->values[node->slot]->type == type ? in->values[node->slot] : NULL;
    case RULE_UNIFORM:
        if (next(in, 2))
            return in->values[node->slot] = constant(in, type, node);
        scalar =
            load_name(in, node->slot, type_get(in->ctx, type->kind, type->dtype, 0, NULL, NULL));
        in->values[node->slot] = scalar;
        return build_splat(&in->builder, scalar, type);
    case RULE_CONSTANT:
    case RULE_INT:
    case RULE_FLOAT:
    case RULE_LOWEST:
    case RULE_HIGHEST:
        return constant(in, type, node);
    case RULE_NAMED:
        return make(in, node->in[0], type);
    case RULE_OP:
        return make_op(in, node, type);
    case RULE_PRODUCT:
        return make_product(in, node, type);
    }
    return NULL;
}

void rule_instance_store(RuleInstance *in, Op *before, Value *value, int index) {
    in->builder = before ? builder_before(before) : builder_at_end(in->func->body);
    if (type_is_pointer(value->type))
        value = build_ptrtoint(&in->builder, value,
                               type_with_element(in->ctx, value->type, TYPE_NUMBER, DT_I64));
    in->outputs[index] = value->type;
    build_store(&in->builder, pointers(in, 1, index, value->type), value, NULL, CACHE_NONE,
                EVICT_NORMAL, 0);
}

static void store_on_the_way(RuleInstance *in) {
    const Op *first = in->func->body->first;
    Value *found[RULE_MAX_OUTPUTS];
    int count = 2;
    for (const Op *op = first; op && count < RULE_MAX_OUTPUTS; op = op->next)
        if (op != in->root && op->nout == 1 && op->out[0].type == op_out(in->root)->type &&
            type_is_float(op->out[0].type) && op->code != OP_load)
            found[count++] = op_out(op);
    for (int i = 2; i < count; i++)
        rule_instance_store(in, NULL, found[i], i);
}

bool rule_instance(RuleInstance *in, Ctx *ctx, const Rule *rule, int prefer, uint64_t seed,
                   bool on_the_way) {
    *in = (RuleInstance){.ctx = ctx, .rule = rule, .prefer = prefer, .random = seed};
    const Type *bytes = type_pointer(ctx, DT_I8);
    FuncParam params[] = {{.name = STR("in"), .divisible = 16},
                          {.name = STR("out"), .divisible = 16}};
    in->func =
        func_create(module_create(ctx), STR("rule"), 2, params, (const Type *[]){bytes, bytes});
    in->builder = builder_at_end(in->func->body);
    const RuleNode *pattern = rule->pattern;
    int element = pattern->code == OP_cmpi ? DT_I1 : random_element(in);
    Value *value = make(in, pattern, tile_of(in, element, false));
    if (!value)
        return false;
    in->root = value->def;
    rule_instance_store(in, NULL, value, 0);
    if (on_the_way)
        store_on_the_way(in);
    in->builder = builder_at_end(in->func->body);
    build_return(&in->builder);
    return true;
}

/* Inputs */

static uint64_t random_bits(RuleInstance *in, DType dtype) {
    static const double floats[] = {0.0, -0.0,  1,     -1,     INFINITY, -INFINITY, NAN,
                                    0.5, 65504, 1e-45, -1e-45, 1e38,     6e-8,      1e-40};
    static const int64_t ints[] = {0,         1, -1,  INT32_MIN, INT32_MAX, INT64_MIN,
                                   INT64_MAX, 2, 128, -128,      32767};
    uint64_t bits = (uint64_t)next(in, 1u << 31) << 40 ^ (uint64_t)next(in, 1u << 31) << 20 ^
                    next(in, 1u << 31);
    uint32_t kind = next(in, 8);
    if (!dtype_is_float(dtype))
        return dtype == DT_I1 ? bits & 1
               : kind < 4     ? (uint64_t)ints[next(in, sizeof ints / sizeof *ints)]
                              : bits;
    if (kind == 0)
        return bits;
    return float_to_bits(dtype, kind < 4 ? floats[next(in, sizeof floats / sizeof *floats)]
                                         : ((double)(bits & 0xFFFFFF) / 0x1p24 - 0.5) *
                                               (1 << 2 * kind) / 64);
}

void rule_instance_fill(const RuleInstance *instance, RuleArrays *arrays, uint64_t seed) {
    RuleInstance in = *instance;
    in.random = seed;
    memset(arrays, 0, sizeof *arrays);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        if (!in.values[slot] || type_is_pointer(in.values[slot]->type))
            continue;
        DType dtype = in.values[slot]->type->dtype;
        size_t bytes = (size_t)dtype_bytes(dtype);
        for (size_t i = 0; i < RULE_ELEMENTS; i++) {
            uint64_t bits = random_bits(&in, dtype);
            if (in.divides >> slot & 1 && int_unsigned(dtype, (int64_t)bits) == 0)
                bits = 1;
            if (in.shifts >> slot & 1)
                bits %= dtype_info[dtype].bits;
            memcpy(arrays->in[slot] + i * bytes, &bits, bytes);
        }
    }
}

bool rule_instance_run(const RuleInstance *in, RuleArrays *arrays) {
    InterpArray memory[] = {{.name = STR("in"), .data = arrays->in, .bytes = sizeof arrays->in},
                            {.name = STR("out"), .data = arrays->out, .bytes = sizeof arrays->out}};
    InterpArg args[] = {{.is_array = true, .array = 0}, {.is_array = true, .array = 1}};
    InterpOptions options = {.grid = {1, 1, 1}};
    return interp_run(in->func, args, memory, 2, &options);
}
