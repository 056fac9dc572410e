/* Values of the scopes so far are kept in a pool; each step takes operands from it, or makes
 * constants where it has none of the type, and adds its results. */
#include "random_ir.h"
#include "splitmix.h"

enum { MAX_DEPTH = 3, DEFAULT_SIZE = 40, RESULTS = 24 };

typedef struct Random {
    Ctx *ctx;
    Module *module;
    Func *func;
    Builder b;
    uint64_t state;
    VEC(Value *) pool;
    int depth;
} Random;

static uint32_t below(Random *r, uint32_t limit) {
    return (uint32_t)(splitmix64(&r->state) >> 32) % limit;
}

static void add(Random *r, Value *value) {
    vec_push(&r->ctx->arena, &r->pool, value);
}

/* Types and operands */

static const Type *random_shape(Random *r, DType dtype) {
    static const struct {
        int rank;
        int64_t shape[2];
    } shapes[] = {{0, {0}},     {1, {64}},     {1, {16}},     {2, {8, 16}},
                  {2, {16, 8}}, {2, {16, 16}}, {2, {16, 16}}, {1, {128}}};
    uint32_t i = below(r, sizeof shapes / sizeof *shapes);
    return type_get(r->ctx, TYPE_NUMBER, dtype, shapes[i].rank, shapes[i].shape, NULL);
}

static Value *int_constant(Random *r, const Type *type, int64_t value) {
    return build_constant_int(&r->b, value, type);
}

static Value *float_constant(Random *r, const Type *type, double value) {
    return build_constant_float(&r->b, value, type);
}

static Value *constant_of(Random *r, const Type *type) {
    static const int64_t ints[] = {0, 1, 2, 3, 7, 64, -1, -5, 127, 1000003};
    static const double floats[] = {0, 1, -1, 0.5, 3, -2.25, 1024, 0.0078125};
    if (type_is_int(type))
        return int_constant(r, type, ints[below(r, sizeof ints / sizeof *ints)]);
    return float_constant(r, type, floats[below(r, sizeof floats / sizeof *floats)]);
}

typedef bool Wanted(const Type *type);

static bool any_type(const Type *type) {
    return true;
}

static bool wide_tile(const Type *type) {
    return type->rank > 0 && type->shape[type->rank - 1] > 1;
}

/* A value of the pool, or NULL. */
static Value *pick_where(Random *r, Wanted *wanted) {
    for (int tries = 0; tries < 16 && r->pool.len; tries++) {
        Value *value = r->pool.data[below(r, (uint32_t)r->pool.len)];
        if (wanted(value->type))
            return value;
    }
    return NULL;
}

static Value *pick_of(Random *r, const Type *type) {
    Value *found = NULL;
    uint32_t count = 0;
    vec_for_each (value, &r->pool)
        if ((*value)->type == type && below(r, ++count) == 0)
            found = *value;
    return found && below(r, 8) ? found : constant_of(r, type);
}

static Value *pick_class(Random *r, Wanted *wanted, DType dtype) {
    Value *value = pick_where(r, wanted);
    return value ? value : constant_of(r, random_shape(r, dtype));
}

/* Elementwise steps */

static void step_int(Random *r) {
    Value *a = pick_class(r, type_is_int, DT_I32), *c = pick_of(r, a->type);
    const Type *type = a->type;
    int64_t width = dtype_info[type->dtype].bits;
    /* A divisor of 1, 3, 5 or 7; a shift below the width. Every shift of an i1 is by 0. */
    Value *divisor =
        build_ori(&r->b, build_andi(&r->b, c, int_constant(r, type, 7)), int_constant(r, type, 1));
    Value *shift = build_andi(&r->b, c, int_constant(r, type, width - 1));
    if (width == 1)
        divisor = int_constant(r, type, 1);
    switch (below(r, 16)) {
    case 0:
        return add(r, build_addi(&r->b, a, c));
    case 1:
        return add(r, build_subi(&r->b, a, c));
    case 2:
        return add(r, build_muli(&r->b, a, c));
    case 3:
        return add(r, build_mulhui(&r->b, a, c));
    case 4:
        return add(r, width == 1 ? a : build_divsi(&r->b, a, divisor));
    case 5:
        return add(r, build_divui(&r->b, a, divisor));
    case 6:
        return add(r, width == 1 ? a : build_remsi(&r->b, a, divisor));
    case 7:
        return add(r, build_remui(&r->b, a, divisor));
    case 8:
        return add(r, build_andi(&r->b, a, c));
    case 9:
        return add(r, build_xori(&r->b, a, c));
    case 10:
        return add(r, build_shli(&r->b, a, shift));
    case 11:
        return add(r, build_shrsi(&r->b, a, shift));
    case 12:
        return add(r, build_shrui(&r->b, a, shift));
    case 13:
        return add(r, build_minsi(&r->b, a, c));
    case 14:
        return add(r, build_maxui(&r->b, a, c));
    default:
        return add(r, width == 1 ? build_ori(&r->b, a, c) : build_absi(&r->b, a));
    }
}

static void step_float(Random *r) {
    Value *a = pick_class(r, type_is_float, DT_F32), *c = pick_of(r, a->type);
    switch (below(r, 12)) {
    case 0:
        return add(r, build_addf(&r->b, a, c));
    case 1:
        return add(r, build_subf(&r->b, a, c));
    case 2:
        return add(r, build_mulf(&r->b, a, c));
    case 3:
        return add(r, build_divf_rn(&r->b, a, c));
    case 4:
        return add(r, build_fma(&r->b, a, c, pick_of(r, a->type)));
    case 5:
        return add(r, build_minf(&r->b, a, c));
    case 6:
        return add(r, build_maxf(&r->b, a, c));
    case 7:
        return add(r, build_maxf_nan(&r->b, a, c));
    case 8:
        return add(r, build_negf(&r->b, a));
    case 9:
        return add(r, build_absf(&r->b, a));
    case 10:
        return add(r, build_sqrt_rn(&r->b, a));
    default:
        return add(r, build_floor(&r->b, a));
    }
}

static void step_compare(Random *r) {
    Value *a = pick_class(r, any_type, DT_I32), *c = pick_of(r, a->type);
    if (type_is_int(a->type))
        return add(r, build_cmpi(&r->b, a, c, (IntPredicate)below(r, IPRED_COUNT)));
    add(r, build_cmpf(&r->b, a, c, (FloatPredicate)below(r, FPRED_COUNT)));
}

static void step_select(Random *r) {
    Value *a = pick_class(r, any_type, DT_F32), *c = pick_of(r, a->type);
    const Type *cond =
        below(r, 4) ? type_with_dtype(r->ctx, a->type, DT_I1) : type_scalar(r->ctx, DT_I1);
    add(r, build_select(&r->b, pick_of(r, cond), a, c));
}

/* A float in [-100, 100], NaN included as 100: any integer of 8 bits holds it. */
static Value *clamp(Random *r, Value *x, double low) {
    Value *high = build_minf(&r->b, x, float_constant(r, x->type, 100));
    return build_maxf(&r->b, high, float_constant(r, x->type, low));
}

static Value *int_to(Random *r, Value *x, DType dtype) {
    const Type *type = type_with_dtype(r->ctx, x->type, dtype);
    int from = dtype_info[x->type->dtype].bits, to = dtype_info[dtype].bits;
    if (from == to)
        return x;
    if (from > to)
        return build_trunci(&r->b, x, type);
    return below(r, 2) ? build_extsi(&r->b, x, type) : build_extui(&r->b, x, type);
}

static Value *float_to(Random *r, Value *x, DType dtype) {
    const Type *type = type_with_dtype(r->ctx, x->type, dtype);
    if (x->type->dtype == dtype)
        return x;
    return dtype_info[dtype].bits > dtype_info[x->type->dtype].bits
               ? build_extf(&r->b, x, type)
               : build_truncf(&r->b, x, ROUND_RTNE, type);
}

static void step_convert(Random *r) {
    static const DType ints[] = {DT_I1, DT_I8, DT_I16, DT_I32, DT_I64};
    static const DType floats[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
    Value *x = pick_class(r, any_type, DT_I32);
    DType to_int = ints[below(r, 5)], to_float = floats[below(r, 4)];
    const Type *int_type = type_with_dtype(r->ctx, x->type, to_int);
    const Type *float_type = type_with_dtype(r->ctx, x->type, to_float);
    bool to_class = below(r, 2);
    if (type_is_int(x->type) && to_class)
        add(r, int_to(r, x, to_int));
    else if (type_is_int(x->type))
        add(r, below(r, 2) ? build_sitof(&r->b, x, float_type) : build_uitof(&r->b, x, float_type));
    else if (to_class || to_int == DT_I1)
        add(r, float_to(r, x, to_float));
    else if (below(r, 2))
        add(r, build_ftosi(&r->b, clamp(r, x, -100), int_type));
    else
        add(r, build_ftoui(&r->b, clamp(r, x, 0), int_type));
}

/* Shapes */

static const Type *in_row(Random *r, const Type *type) {
    return type_with_shape(r->ctx, type, 1, (int64_t[]){type_numel(type)});
}

/* Of a type of rank 2, its rows as pairs. */
static const Type *in_pairs(Random *r, const Type *type) {
    return type_with_shape(r->ctx, type, 3, (int64_t[]){type->shape[0], type->shape[1] / 2, 2});
}

static void step_shape(Random *r) {
    Value *x = pick_class(r, any_type, DT_I32);
    const Type *type = x->type;
    if (type->rank == 0) {
        const Type *shape = random_shape(r, type->dtype);
        return add(r, shape->rank ? build_splat(&r->b, x, shape) : x);
    }
    if (type->rank == 1) {
        int axis = (int)below(r, 2);
        int64_t shape[2] = {type->shape[0], type->shape[0]};
        Value *expanded = build_expand_dims(&r->b, x, axis);
        shape[axis] = 16;
        return add(r, build_broadcast(&r->b, expanded, type_with_shape(r->ctx, type, 2, shape)));
    }
    int64_t order[] = {1, 0};
    switch (below(r, 3)) {
    case 0:
        return add(r, build_transpose(&r->b, x, (Ints){order, 2}));
    case 1:
        return add(r, build_reshape(&r->b, x, in_row(r, type)));
    default:
        break;
    }
    bool is_split = below(r, 2), is_joined = !is_split || below(r, 2);
    if (is_joined)
        x = build_join(&r->b, x, pick_of(r, type));
    else
        x = build_reshape(&r->b, x, in_pairs(r, type));
    if (!is_split)
        return add(r, build_reshape(&r->b, x, in_row(r, x->type)));
    const Type *half = type_with_shape(r->ctx, x->type, 2, x->type->shape),
               *halves[] = {half, half};
    Op *split = build_split(&r->b, x, 2, halves);
    add(r, &split->out[0]);
    add(r, &split->out[1]);
}

/* Reductions: only such combinations of floats as give the same bits in every order. */

static Value *combine(Random *r, Builder *b, Value *a, Value *c, uint32_t how) {
    if (type_is_float(a->type))
        return how & 1 ? build_maxf(b, a, c) : build_minf(b, a, c);
    switch (how) {
    case 0:
        return build_addi(b, a, c);
    case 1:
        return build_maxsi(b, a, c);
    case 2:
        return build_xori(b, a, c);
    default:
        return build_minui(b, a, c);
    }
}

static void step_reduce(Random *r) {
    Value *x = pick_where(r, wide_tile);
    if (!x)
        return;
    int64_t axis = below(r, (uint32_t)x->type->rank);
    uint32_t how = below(r, 4);
    bool scan = below(r, 3) == 0;
    int64_t keep = below(r, 4) ? 0 : below(r, (uint32_t)x->type->shape[axis]);
    Op *op = scan ? build_scan(&r->b, 1, &x, axis, below(r, 2), below(r, 4) == 0)
                  : build_reduce(&r->b, 1, &x, axis, keep);
    Builder inner = builder_at_end(op->regions[0]);
    Value *args = op->regions[0]->args;
    Value *combined = combine(r, &inner, &args[0], &args[1], how);
    build_yield(&inner, 1, &combined);
    add(r, op_out(op));
}

/* The maximum and where it is; the lower index wins a tie, so the order does not matter. */
static void step_argmax(Random *r) {
    const Type *tile = type_get(r->ctx, TYPE_NUMBER, DT_I32, 1, (int64_t[]){64}, NULL);
    Value *xs[] = {pick_of(r, tile), build_range(&r->b, 0, tile)};
    Op *op = build_reduce(&r->b, 2, xs, 0, 0);
    Value *args = op->regions[0]->args; /* a, i, b, j */
    Builder b = builder_at_end(op->regions[0]);
    Value *more = build_cmpi(&b, &args[0], &args[2], IPRED_SGT);
    Value *same = build_cmpi(&b, &args[0], &args[2], IPRED_EQ);
    Value *lower = build_cmpi(&b, &args[1], &args[3], IPRED_SLT);
    Value *first = build_ori(&b, more, build_andi(&b, same, lower));
    Value *results[] = {build_select(&b, first, &args[0], &args[2]),
                        build_select(&b, first, &args[1], &args[3])};
    build_yield(&b, 2, results);
    add(r, &op->out[0]);
    add(r, &op->out[1]);
}

/* An integer product is exact in every order. */
static void step_dot(Random *r) {
    int64_t square[] = {16, 16};
    const Type *acc = type_get(r->ctx, TYPE_NUMBER, DT_I32, 2, square, NULL);
    Value *a = build_trunci(&r->b, pick_of(r, acc), type_with_dtype(r->ctx, acc, DT_I8));
    Value *c = build_trunci(&r->b, pick_of(r, acc), type_with_dtype(r->ctx, acc, DT_I8));
    add(r, build_dot(&r->b, a, c, pick_of(r, acc), PRECISION_TF32, 0, UNIT_FMA));
}

/* Memory */

/* in[index mod RANDOM_IR_ELEMENTS], now and then under a mask. */
static void step_load(Random *r) {
    const Type *type = random_shape(r, DT_I32);
    Value *index =
        build_andi(&r->b, pick_of(r, type), int_constant(r, type, RANDOM_IR_ELEMENTS - 1));
    Value *base = &r->func->body->args[below(r, 2)];
    const Type *pointers = type_with_element(r->ctx, type, TYPE_POINTER, base->type->dtype);
    Value *ptr = type->rank ? build_splat(&r->b, base, pointers) : base;
    ptr = build_addptr(&r->b, ptr, index);
    Value *mask = NULL, *other = NULL;
    if (below(r, 2)) {
        mask = pick_of(r, type_with_dtype(r->ctx, type, DT_I1));
        other = pick_of(r, type_with_dtype(r->ctx, type, base->type->dtype));
    }
    add(r, build_load(&r->b, ptr, mask, other, CACHE_NONE, EVICT_NORMAL, false, 0, false, false,
                      false, 0));
}

/* A block of a small tensor, which it may overlap in part or not at all. */
static void step_load_block(Random *r) {
    const Type *shape = random_shape(r, DT_I32), *wide = type_scalar(r->ctx, DT_I64);
    const Type *narrow = type_scalar(r->ctx, DT_I32);
    Value *base = &r->func->body->args[below(r, 2)];
    if (shape->rank == 0)
        return;
    Value *extents[2], *strides[2], *begins[2];
    for (int d = 0; d < shape->rank; d++) {
        extents[d] = int_constant(r, wide, below(r, 40));
        strides[d] = int_constant(r, wide, below(r, 3) ? 1 : below(r, 100));
        Value *at = build_andi(&r->b, pick_of(r, narrow), int_constant(r, narrow, 31));
        begins[d] = build_subi(&r->b, at, int_constant(r, narrow, 10));
    }
    const Type *tile = type_with_dtype(r->ctx, shape, base->type->dtype);
    int64_t all = (1 << shape->rank) - 1;
    Op *op =
        build_block_access(&r->b, OP_load_block, base, NULL, extents, strides, begins, all, tile);
    add(r, op_out(op));
}

/* Control flow */

static void steps(Random *r, unsigned count);

/* Fills a block and gives the pool back as it was; `types` are yielded after `first`, if any. */
static void fill(Random *r, Block *block, unsigned size, Value *first, uint32_t ntypes,
                 const Type *const *types) {
    Builder outer = r->b;
    size_t scope = r->pool.len;
    Value *values[4];
    uint32_t count = 0;
    r->b = builder_at_end(block);
    r->depth++;
    for (uint32_t i = 0; i < block->nargs; i++)
        add(r, &block->args[i]);
    steps(r, size);
    if (first)
        values[count++] = first;
    for (uint32_t i = 0; i < ntypes; i++)
        values[count++] = pick_of(r, types[i]);
    build_yield(&r->b, count, values);
    r->depth--;
    r->pool.len = scope;
    r->b = outer;
}

static void step_if(Random *r) {
    const Type *types[] = {pick_class(r, any_type, DT_I32)->type,
                           pick_class(r, any_type, DT_F32)->type};
    uint32_t ntypes = below(r, 3);
    Op *op = build_if(&r->b, pick_of(r, type_scalar(r->ctx, DT_I1)), ntypes, types);
    for (int i = 0; i < 2; i++)
        fill(r, op->regions[i], below(r, 5), NULL, ntypes, types);
    for (uint32_t i = 0; i < ntypes; i++)
        add(r, &op->out[i]);
}

/* The first carried value advances by the loop's index, if it may. */
static void advance_by_index(const Op *loop) {
    Block *body = loop->regions[0];
    Value *index = &body->args[0], *carried = &body->args[1];
    if (carried->type->dtype != index->type->dtype)
        return;
    Builder b = builder_before(body->last);
    Value *by = carried->type->rank ? build_splat(&b, index, carried->type) : index;
    op_set_operand(body->last, 0, build_addi(&b, carried, by));
}

static void step_for(Random *r) {
    const Type *index = type_scalar(r->ctx, below(r, 4) ? DT_I32 : DT_I64);
    Value *inits[] = {pick_class(r, any_type, DT_I32), pick_class(r, any_type, DT_F32)};
    const Type *types[] = {inits[0]->type, inits[1]->type};
    uint32_t ninits = below(r, 3);
    Value *trips = build_andi(&r->b, pick_of(r, index), int_constant(r, index, 3));
    Value *zero = int_constant(r, index, 0);
    bool down = below(r, 4) == 0;
    Op *op = build_for(&r->b, down ? trips : zero, down ? zero : trips,
                       int_constant(r, index, down ? -1 : (int64_t)below(r, 2) + 1), ninits, inits);
    fill(r, op->regions[0], 1 + below(r, 6), NULL, ninits, types);
    if (ninits && below(r, 2))
        advance_by_index(op);
    for (uint32_t i = 0; i < ninits; i++)
        add(r, &op->out[i]);
}

/* Counts down from at most 3. */
static void step_while(Random *r) {
    const Type *index = type_scalar(r->ctx, DT_I32);
    Value *x = pick_class(r, any_type, DT_F32);
    Value *inits[] = {build_andi(&r->b, pick_of(r, index), int_constant(r, index, 3)), x};
    Op *op = build_while(&r->b, 2, inits);
    Builder cond = builder_at_end(op->regions[0]);
    Value *args = op->regions[0]->args;
    Value *values[] = {build_cmpi(&cond, &args[0], build_constant_int(&cond, 0, index), IPRED_SGT),
                       &args[0], &args[1]};
    build_condition(&cond, 3, values);
    Builder body = builder_at_end(op->regions[1]);
    Value *less = build_subi(&body, &op->regions[1]->args[0], build_constant_int(&body, 1, index));
    fill(r, op->regions[1], 1 + below(r, 4), less, 1, &x->type);
    add(r, &op->out[0]);
    add(r, &op->out[1]);
}

static void steps(Random *r, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        uint32_t kind = below(r, r->depth < MAX_DEPTH ? 24 : 20);
        if (kind < 5)
            step_int(r);
        else if (kind < 9)
            step_float(r);
        else if (kind < 11)
            step_compare(r);
        else if (kind < 12)
            step_select(r);
        else if (kind < 14)
            step_convert(r);
        else if (kind < 16)
            step_shape(r);
        else if (kind < 17)
            step_reduce(r);
        else if (kind < 18)
            below(r, 2) ? step_argmax(r) : step_dot(r);
        else if (kind < 20)
            below(r, 3) ? step_load(r) : step_load_block(r);
        else if (kind < 22)
            step_for(r);
        else if (kind < 23)
            step_while(r);
        else
            step_if(r);
    }
}

/* Results */

/* Stores the elements of x at *offset of an output and moves the offset on. */
static void store_result(Random *r, Value *x, int64_t offsets[2]) {
    bool is_float = type_is_float(x->type);
    int64_t numel = type_numel(x->type), *offset = &offsets[is_float];
    if (*offset + numel > RANDOM_IR_ELEMENTS)
        return;
    x = is_float ? float_to(r, x, DT_F32) : int_to(r, x, DT_I32);
    const Type *index = type_scalar(r->ctx, DT_I32);
    Value *ptr = &r->func->body->args[2 + is_float], *at = int_constant(r, index, *offset);
    if (x->type->rank) {
        index = type_with_shape(r->ctx, type_with_dtype(r->ctx, x->type, DT_I32), 1, &numel);
        x = build_reshape(&r->b, x, type_with_shape(r->ctx, x->type, 1, &numel));
        at = build_range(&r->b, *offset, index);
        ptr = build_splat(&r->b, ptr,
                          type_with_element(r->ctx, index, TYPE_POINTER, ptr->type->dtype));
    }
    Value *mask = below(r, 3) ? NULL : pick_of(r, type_with_dtype(r->ctx, index, DT_I1));
    if (x->type->rank && below(r, 4) == 0) {
        const Type *wide = type_scalar(r->ctx, DT_I64);
        Value *extent = int_constant(r, wide, *offset + numel - below(r, 5));
        Value *one = int_constant(r, wide, 1), *begin = int_constant(r, wide, *offset);
        build_block_access(&r->b, OP_store_block, &r->func->body->args[2 + is_float], x, &extent,
                           &one, &begin, 1, x->type);
        *offset += numel;
        return;
    }
    build_store(&r->b, build_addptr(&r->b, ptr, at), x, mask, CACHE_NONE, EVICT_NORMAL, 0);
    *offset += numel;
}

Func *random_ir(Module *module, uint64_t seed, unsigned size) {
    Ctx *ctx = module->ctx;
    FuncParam params[RANDOM_IR_PARAMS] = {{.name = STR("in_i"), .divisible = 16},
                                          {.name = STR("in_f"), .divisible = 16},
                                          {.name = STR("out_i"), .divisible = 16},
                                          {.name = STR("out_f"), .divisible = 16},
                                          {.name = STR("n")},
                                          {.name = STR("x")}};
    const Type *types[RANDOM_IR_PARAMS] = {type_pointer(ctx, DT_I32), type_pointer(ctx, DT_F32),
                                           type_pointer(ctx, DT_I32), type_pointer(ctx, DT_F32),
                                           type_scalar(ctx, DT_I32),  type_scalar(ctx, DT_F32)};
    Random r = {.ctx = ctx, .module = module, .state = seed};
    r.func = func_create(module, STR("random"), RANDOM_IR_PARAMS, params, types);
    r.b = builder_at_end(r.func->body);
    add(&r, &r.func->body->args[4]);
    add(&r, &r.func->body->args[5]);
    const Type *row = type_get(ctx, TYPE_NUMBER, DT_I32, 1, (int64_t[]){64}, NULL);
    add(&r, build_range(&r.b, 0, row));
    step_load(&r);
    step_load(&r);
    steps(&r, size ? size : DEFAULT_SIZE);
    int64_t offsets[2] = {0, 0};
    for (int i = 0; i < RESULTS; i++)
        store_result(&r, r.pool.data[below(&r, (uint32_t)r.pool.len)], offsets);
    build_return(&r.b);
    return r.func;
}
