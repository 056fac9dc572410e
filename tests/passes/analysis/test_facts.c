/* Facts against the values themselves: random integer arithmetic is run by the interpreter with
 * every value stored, and each claim is checked on what comes out; a table pins down claims that
 * code generation lives on, so that facts cannot get weaker unnoticed. */
#include "../../ir/ir_testing.h"
#include "../../ir/splitmix.h"

#include "interp/interp.h"
#include "passes/analysis/facts.h"

/* Random functions */

enum { NUMEL = 64, MAX_VALUES = 40, PROGRAMS = 5, STEPS = 24 };

typedef struct Made {
    Ctx *ctx;
    Module *module;
    Func *func;
    Builder b;
    uint64_t state;
    DType dtype; /* i64: little wraps; i32: products do; narrower: sums do */
    Value *pool[MAX_VALUES];
    uint32_t count;
} Made;

static uint32_t below(Made *m, uint32_t limit) {
    return (uint32_t)(splitmix64(&m->state) >> 32) % limit;
}

static const Type *shape_type(Made *m, DType dtype, int shape) {
    static const int64_t shapes[2][2] = {{NUMEL, 0}, {8, NUMEL / 8}};
    return type_get(m->ctx, TYPE_NUMBER, dtype, shape + 1, shapes[shape], NULL);
}

static Value *add(Made *m, Value *value) {
    if (m->count < MAX_VALUES)
        m->pool[m->count++] = value;
    return value;
}

static Value *pick(Made *m, const Type *type) {
    for (uint32_t tries = 0; tries < 32; tries++) {
        Value *value = m->pool[below(m, m->count)];
        if (value->type == type)
            return value;
    }
    static const int64_t constants[] = {0, 1, 2, 3, 4, 5, 8, 12, 16, 24, 48, 64, -1, -8, -20};
    return build_constant_int(&m->b, constants[below(m, sizeof constants / sizeof *constants)],
                              type);
}

static bool is_narrow(DType dtype) {
    return dtype == DT_I8 || dtype == DT_I16;
}

/* Of i32. */
static Value *resize(Made *m, Value *x) {
    const Type *type = type_with_dtype(m->ctx, x->type, m->dtype);
    if (x->type == type)
        return x;
    return is_narrow(m->dtype) ? build_trunci(&m->b, x, type) : build_extsi(&m->b, x, type);
}

/* %out: ptr<i64>, %n: divisible by 16, %k: anything, both small. */
static void begin(Made *m, uint64_t seed, DType dtype) {
    *m = (Made){.ctx = testing_ctx(), .state = seed, .dtype = dtype};
    m->module = module_create(m->ctx);
    const Type *types[] = {type_pointer(m->ctx, DT_I64), type_scalar(m->ctx, dtype),
                           type_scalar(m->ctx, dtype)};
    FuncParam params[] = {{.name = STR("out"), .divisible = 16},
                          {.name = STR("n"), .divisible = 16},
                          {.name = STR("k")}};
    m->func = func_create(m->module, STR("values"), 3, params, types);
    m->b = builder_at_end(m->func->body);
    add(m, &m->func->body->args[1]);
    add(m, &m->func->body->args[2]);
    add(m, resize(m, build_program_id(&m->b, 0)));
    Value *range = build_range(&m->b, 0, shape_type(m, DT_I32, 0));
    add(m, resize(m, range));
    add(m,
        resize(m, build_range(&m->b, 16 * ((int64_t)below(m, 5) - 3), shape_type(m, DT_I32, 0))));
    int64_t rows_shape[] = {8, 1}, cols_shape[] = {1, NUMEL / 8};
    Value *rows = build_reshape(
        &m->b,
        build_range(&m->b, 0, type_get(m->ctx, TYPE_NUMBER, DT_I32, 1, (int64_t[]){8}, NULL)),
        type_get(m->ctx, TYPE_NUMBER, DT_I32, 2, rows_shape, NULL));
    Value *cols = build_expand_dims(
        &m->b,
        build_range(&m->b, 0,
                    type_get(m->ctx, TYPE_NUMBER, DT_I32, 1, (int64_t[]){NUMEL / 8}, NULL)),
        0);
    assert_int_equal(cols->type->shape[1], cols_shape[1]);
    add(m, resize(m, build_broadcast(&m->b, rows, shape_type(m, DT_I32, 1))));
    add(m, resize(m, build_broadcast(&m->b, cols, shape_type(m, DT_I32, 1))));
}

static Value *positive(Made *m, const Type *type) {
    static const int64_t divisors[] = {1, 2, 3, 4, 8, 12, 16, 32};
    return build_constant_int(&m->b, divisors[below(m, 8)], type);
}

static Value *elementwise(Made *m, Value *a, Value *c, Value *small) {
    Builder *b = &m->b;
    switch (below(m, 20)) {
    case 0:
    case 1:
    case 2:
        return build_addi(b, a, c);
    case 3:
        return build_subi(b, a, c);
    case 4:
        return build_muli(b, a, small); /* by constants: i64 never overflows */
    case 5:
        return build_divsi(b, a, small);
    case 6:
        return build_divui(b, a, small);
    case 7:
        return build_remsi(b, a, small);
    case 8:
        return build_remui(b, a, small);
    case 9:
        return build_andi(b, a, build_subi(b, small, build_constant_int(b, 1, a->type)));
    case 10:
        return build_andi(b, a, c);
    case 11:
        return build_ori(b, a, c);
    case 12:
        return build_xori(b, a, c);
    case 13:
        return build_shli(b, a, build_constant_int(b, below(m, 4), a->type));
    case 14:
        return build_shrsi(b, a, build_constant_int(b, below(m, 6), a->type));
    case 15:
        return build_shrui(b, a, build_constant_int(b, below(m, 6), a->type));
    case 16:
        return build_minsi(b, a, c);
    case 17:
        return build_maxsi(b, a, c);
    case 18:
        return build_absi(b, a);
    default:
        return build_minui(b, a, c);
    }
}

/* A pointer of the pool or the parameter, in the shape of `type`. Never accessed, so it may point
 * anywhere. */
static Value *pick_pointer(Made *m, const Type *type) {
    const Type *wanted = type_with_element(m->ctx, type, TYPE_POINTER, DT_I64);
    for (uint32_t tries = 0; tries < 8; tries++) {
        Value *value = m->pool[below(m, m->count)];
        if (value->type == wanted)
            return value;
    }
    Value *out = &m->func->body->args[0];
    return type->rank ? build_splat(&m->b, out, wanted) : out;
}

/* for i in [0, n) by 16 or the like, carrying a value that is added to. */
static void step_loop(Made *m, const Type *type) {
    if (is_narrow(m->dtype))
        return;
    const Type *index = type_scalar(m->ctx, m->dtype);
    Value *init = pick(m, type), *addend = pick(m, type);
    Op *loop = build_for(&m->b, build_constant_int(&m->b, 8 * (int64_t)below(m, 3), index),
                         &m->func->body->args[1],
                         build_constant_int(&m->b, 8 << below(m, 3), index), 1, &init);
    Builder outer = m->b;
    m->b = builder_at_end(loop->regions[0]);
    Value *carried = &loop->regions[0]->args[1], *i = &loop->regions[0]->args[0];
    Value *step = type->rank ? build_splat(&m->b, i, type) : i;
    Value *sum = build_addi(&m->b, carried, below(m, 2) ? addend : step);
    build_yield(&m->b, 1, &sum);
    m->b = outer;
    add(m, &loop->out[0]);
}

static void step(Made *m) {
    int shape = (int)below(m, 3);
    const Type *type = shape == 2 ? type_scalar(m->ctx, m->dtype) : shape_type(m, m->dtype, shape);
    Value *a = pick(m, type), *c = pick(m, type);
    switch (below(m, 12)) {
    case 0:
        if (type->rank)
            add(m, build_splat(&m->b, pick(m, type_scalar(m->ctx, m->dtype)), type));
        return;
    case 1:
        add(m, build_cmpi(&m->b, a, c, (IntPredicate)below(m, IPRED_COUNT)));
        return;
    case 2:
        add(m, build_select(&m->b, build_cmpi(&m->b, a, c, (IntPredicate)below(m, IPRED_COUNT)),
                            pick(m, type), pick(m, type)));
        return;
    case 3:
        if (type->rank)
            add(m, build_reshape(&m->b, a, shape_type(m, m->dtype, 1 - shape)));
        return;
    case 4:
        if (type->rank == 2)
            add(m, build_transpose(&m->b, a, (Ints){(int64_t[]){1, 0}, 2}));
        return;
    case 5:
        step_loop(m, type);
        return;
    case 6:
        if (!is_narrow(m->dtype))
            add(m, build_addptr(&m->b, pick_pointer(m, type), a));
        return;
    default:
        add(m, elementwise(m, a, c, positive(m, type)));
    }
}

/* Checking */

/* Stores every value of the pool to its own row of `out`, as i64 in row-major order. */
static void store_pool(Made *m) {
    for (uint32_t i = 0; i < m->count; i++) {
        Value *value = m->pool[i];
        const Type *flat = type_get(m->ctx, TYPE_NUMBER, DT_I32, 1, (int64_t[]){NUMEL}, NULL);
        if (type_is_pointer(value->type))
            value = build_ptrtoint(&m->b, value,
                                   type_with_element(m->ctx, value->type, TYPE_NUMBER, DT_I64));
        if (value->type->rank == 0)
            value = build_splat(&m->b, value, type_with_dtype(m->ctx, flat, value->type->dtype));
        else
            value = build_reshape(&m->b, value, type_with_dtype(m->ctx, flat, value->type->dtype));
        if (value->type->dtype == DT_I1)
            value = build_extui(&m->b, value, type_with_dtype(m->ctx, flat, DT_I64));
        else if (value->type->dtype != DT_I64)
            value = build_extsi(&m->b, value, type_with_dtype(m->ctx, flat, DT_I64));
        Value *out = &m->func->body->args[0];
        Value *pid = build_program_id(&m->b, 0);
        Value *rows = build_constant_int(&m->b, MAX_VALUES * NUMEL, pid->type);
        Value *row = build_constant_int(&m->b, (int64_t)i * NUMEL, pid->type);
        out = build_addptr(&m->b, out, build_addi(&m->b, build_muli(&m->b, pid, rows), row));
        Value *ptrs =
            build_splat(&m->b, out, type_with_element(m->ctx, flat, TYPE_POINTER, DT_I64));
        build_store(&m->b, build_addptr(&m->b, ptrs, build_range(&m->b, 0, flat)), value, NULL,
                    CACHE_NONE, EVICT_NORMAL, 0);
    }
    build_return(&m->b);
}

typedef struct Claim {
    const Made *made;
    const Value *value;
    const ValueFacts *facts;
    const int64_t *at; /* the value's elements in row-major order */
    bool wraps;        /* some value of the function may have wrapped */
    uint64_t seed;
} Claim;

/* Are consecutive values that wrap still consecutive, and signs those of what wrapped? Indices are
 * taken not to wrap; what is narrower is no index yet. */
static bool holds_if_wrapped(const Claim *claim) {
    return !claim->wraps || is_narrow(claim->value->type->dtype);
}

static bool is_value(const Claim *claim, int64_t value, int64_t wanted) {
    return value == wanted ||
           (is_narrow(claim->value->type->dtype) &&
            value == dtype_sign_extend(claim->value->type->dtype, (uint64_t)wanted));
}

static void refute(const Claim *claim, const char *what, int dim) {
    fail_msg("seed %llu: claim '%s' along %d is wrong for a result of '%s' in\n%s",
             (unsigned long long)claim->seed, what, dim,
             claim->value->def ? op_info[claim->value->def->code].name : "argument",
             testing_print(claim->made->module));
}

/* One line of elements along `dim`, `stride` apart. */
static void check_line(const Claim *claim, int dim, int64_t start, int64_t size, int64_t stride) {
    const ValueFacts *f = claim->facts;
    int64_t unit = type_is_pointer(claim->value->type) ? 8 : 1; /* bytes of an element */
    for (int64_t i = 0; i < size; i++) {
        int64_t value = claim->at[start + i * stride];
        int64_t run = i % f->contiguous[dim], same = i % f->constant[dim];
        if (holds_if_wrapped(claim) &&
            !is_value(claim, value, claim->at[start + (i - run) * stride] + run * unit))
            refute(claim, "contiguous", dim);
        if (value != claim->at[start + (i - same) * stride])
            refute(claim, "constant", dim);
        if (run == 0 && value % f->divisible[dim] != 0)
            refute(claim, "divisible", dim);
        if (f->has_range && (value < f->lo || value > f->hi))
            refute(claim, "range", dim);
        if (holds_if_wrapped(claim) && f->sign == SIGN_NONNEGATIVE && value < 0)
            refute(claim, "nonnegative", dim);
    }
}

static void check_claim(const Claim *claim) {
    const Type *type = claim->value->type;
    if (type->rank == 0) {
        check_line(claim, 0, 0, 1, 1);
        return;
    }
    int64_t stride = NUMEL;
    for (int dim = 0; dim < type->rank; dim++) {
        int64_t size = type->shape[dim];
        stride /= size;
        for (int64_t start = 0; start < NUMEL; start++)
            if (start / stride % size == 0)
                check_line(claim, dim, start, size, stride);
    }
}

/* 64 bits wrap too once an unsigned op met a negative number. */
static bool is_large(const int64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i] > INT64_C(1) << 56 || values[i] < -(INT64_C(1) << 56))
            return true;
    return false;
}

static void check_function(uint64_t seed, DType dtype) {
    Made m;
    begin(&m, seed, dtype);
    for (int i = 0; i < STEPS; i++)
        step(&m);
    store_pool(&m);
    if (!module_verify(m.module))
        fail_msg("%s", testing_messages(m.ctx));
    Facts *facts = facts_compute(m.func, &m.ctx->arena);
    int64_t *out = test_calloc(PROGRAMS * MAX_VALUES * NUMEL, sizeof *out);
    static const int64_t numbers[][2] = {{0, 0}, {16, 7}, {48, -3}, {112, 64}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        InterpArray array = {
            .name = STR("out"), .data = out, .bytes = PROGRAMS * MAX_VALUES * NUMEL * sizeof *out};
        InterpArg args[] = {{.is_array = true}, {.i = numbers[k][0]}, {.i = numbers[k][1]}};
        InterpOptions options = {.grid = {PROGRAMS, 1, 1}};
        if (!interp_run(m.func, args, &array, 1, &options))
            fail_msg("%s", testing_messages(m.ctx));
        bool wraps = dtype != DT_I64 || is_large(out, array.bytes / sizeof *out);
        for (uint32_t program = 0; program < PROGRAMS; program++)
            for (uint32_t i = 0; i < m.count; i++)
                check_claim(&(Claim){&m, m.pool[i], facts_of(facts, m.pool[i]),
                                     out + (program * MAX_VALUES + i) * NUMEL, wraps, seed});
    }
    test_free(out);
    ctx_destroy(m.ctx);
}

static void test_random_values(void **state) {
    for (uint64_t seed = 1; seed <= 400; seed++) {
        check_function(seed, DT_I64);
        check_function(seed, DT_I32);
        check_function(seed, DT_I16);
        check_function(seed, DT_I8);
    }
}

/* Claims that must be made: value %v of the function along one dimension, 0: not looked at. */
typedef struct Expected {
    const char *body;
    int dim;
    int64_t contiguous, divisible, constant, lo, hi; /* lo > hi: not looked at */
} Expected;

#define HEAD                                                                                       \
    "func @f(%p: ptr<f32> {divisible = 16}, %h: ptr<f16>, %n: i32 {divisible = 16}, %k: i32) {\n"  \
    "%pid = program_id {axis = 0} : i32\n%y = program_id {axis = 1} : i32\n"                       \
    "%r = range {start = 0} : tile<1024xi32>\n%c1024 = constant_int {value = 1024} : i32\n"        \
    "%first = muli %pid, %c1024 : i32\n%firsts = splat %first : tile<1024xi32>\n"                  \
    "%at = addi %firsts, %r : tile<1024xi32>\n%ns = splat %n : tile<1024xi32>\n"                   \
    "%ks = splat %k : tile<1024xi32>\n%ps = splat %p : tile<1024xptr<f32>>\n"                      \
    "%c16 = constant_int {value = 16} : tile<1024xi32>\n"

static const Expected expected[] = {
    {"%v = addi %at, %c16 : tile<1024xi32>\n", 0, 1024, 16, 1, 1, 0},
    {"%v = cmpi %at, %ns {pred = slt} : tile<1024xi1>\n", 0, 1, 1, 16, 0, 1},
    {"%v = cmpi %ns, %at {pred = sgt} : tile<1024xi1>\n", 0, 1, 1, 16, 0, 1},
    {"%v = cmpi %at, %ns {pred = sge} : tile<1024xi1>\n", 0, 1, 1, 16, 0, 1},
    {"%v = cmpi %at, %ns {pred = sle} : tile<1024xi1>\n", 0, 1, 1, 1, 0, 1},
    {"%v = cmpi %at, %ks {pred = slt} : tile<1024xi1>\n", 0, 1, 1, 1, 0, 1},
    {"%m = cmpi %at, %ns {pred = slt} : tile<1024xi1>\n%z = cmpi %ks, %ns {pred = slt} : "
     "tile<1024xi1>\n%v = andi %m, %z : tile<1024xi1>\n",
     0, 1, 1, 16, 0, 1},
    {"%c = constant_int {value = 1024} : tile<1024xi32>\n"
     "%v = cmpi %r, %c {pred = slt} : tile<1024xi1>\n",
     0, 1, 1, 1024, 1, 1},
    {"%v = addptr %ps, %at : tile<1024xptr<f32>>\n", 0, 1024, 16, 1, 1, 0},
    {"%v = addptr %ps, %ks : tile<1024xptr<f32>>\n", 0, 1, 4, 1024, 1, 0},
    {"%hs = splat %h : tile<1024xptr<f16>>\n%v = addptr %hs, %at : tile<1024xptr<f16>>\n", 0, 1024,
     2, 1, 1, 0},
    {"%v = remsi %at, %ns : tile<1024xi32>\n%q = addptr %ps, %v : tile<1024xptr<f32>>\n", 0, 16, 16,
     1, 1, 0},
    /* What no address is computed from may wrap, and its quotients then count the other way. */
    {"%v = remsi %at, %ns : tile<1024xi32>\n", 0, 1, 1, 1, 1, 0},
    {"%x = xori %at, %ks : tile<1024xi32>\n%q = addptr %ps, %x : tile<1024xptr<f32>>\n"
     "%v = divsi %at, %c16 : tile<1024xi32>\n",
     0, 1, 1, 1, 1, 0},
    /* The sum of what an address has in two steps. */
    {"%b = addptr %p, %first : ptr<f32>\n%bs = splat %b : tile<1024xptr<f32>>\n"
     "%q = addptr %bs, %r : tile<1024xptr<f32>>\n%v = divsi %at, %c16 : tile<1024xi32>\n",
     0, 1, 1, 16, 1, 0},
    {"%z = constant_int {value = 0} : i32\n%o = constant_int {value = 1} : i32\n"
     "%w = for %z, %k, %o, %at : tile<1024xi32> (%i: i32, %a: tile<1024xi32>) {\n"
     "%b = addi %a, %ns : tile<1024xi32>\nyield %b\n}\n"
     "%q = addptr %ps, %w : tile<1024xptr<f32>>\n%v = divsi %at, %c16 : tile<1024xi32>\n",
     0, 1, 1, 16, 1, 0},
    {"%v = remsi %at, %ks : tile<1024xi32>\n", 0, 1, 1, 1, 1, 0},
    /* pid // k is taken to be no less than zero, whatever k is. */
    {"%q = divsi %pid, %k : i32\n%b = muli %q, %c1024 : i32\n%bs = splat %b : tile<1024xi32>\n"
     "%a = addi %bs, %r : tile<1024xi32>\n%v = remsi %a, %ns : tile<1024xi32>\n"
     "%e = addptr %ps, %v : tile<1024xptr<f32>>\n",
     0, 16, 16, 1, 1, 0},
    {"%v = divsi %at, %c16 : tile<1024xi32>\n%q = addptr %ps, %v : tile<1024xptr<f32>>\n", 0, 1, 1,
     16, 1, 0},
    /* What is cut off may leave a negative number: quotients and remainders count the other way. */
    {"%w = extsi %at : tile<1024xi64>\n%c = constant_int {value = 4294967296} : tile<1024xi64>\n"
     "%u = addi %w, %c : tile<1024xi64>\n%t = trunci %u : tile<1024xi32>\n"
     "%v = remsi %t, %c16 : tile<1024xi32>\n",
     0, 1, 1, 1, 1, 0},
    {"%t = trunci %r : tile<1024xi8>\n%c = constant_int {value = 16} : tile<1024xi8>\n"
     "%v = divsi %t, %c : tile<1024xi8>\n",
     0, 1, 1, 1, 1, 0},
    /* Bytes that count up are negative from the 128th on. */
    {"%t = trunci %r : tile<1024xi8>\n%c = constant_int {value = 0} : tile<1024xi8>\n"
     "%v = cmpi %t, %c {pred = slt} : tile<1024xi1>\n",
     0, 1, 1, 128, 0, 1},
    {"%t = trunci %r : tile<1024xi8>\n%v = extui %t : tile<1024xi32>\n", 0, 128, 128, 1, 0, 255},
    {"%t = trunci %r : tile<1024xi16>\n%c = constant_int {value = 16} : tile<1024xi16>\n"
     "%v = divsi %t, %c : tile<1024xi16>\n",
     0, 1, 1, 16, 0, 63},
    {"%v = divsi %r, %c16 : tile<1024xi32>\n", 0, 1, 1, 16, 0, 63},
    {"%c15 = constant_int {value = 15} : tile<1024xi32>\n%v = andi %at, %c15 : tile<1024xi32>\n", 0,
     16, 16, 1, 0, 15},
    {"%w = extsi %at : tile<1024xi64>\n%n64 = extsi %ns : tile<1024xi64>\n"
     "%v = addi %w, %n64 : tile<1024xi64>\n",
     0, 1024, 16, 1, 1, 0},
    {"%e = expand_dims %at {axis = 0} : tile<1x1024xi32>\n"
     "%v = broadcast %e : tile<4x1024xi32>\n",
     1, 1024, 1024, 1, 1, 0},
    {"%e = expand_dims %at {axis = 0} : tile<1x1024xi32>\n"
     "%v = broadcast %e : tile<4x1024xi32>\n",
     0, 1, 1, 4, 1, 0},
    {"%v = hint_divisible %ks {values = [8]} : tile<1024xi32>\n", 0, 1, 8, 1024, 1, 0},
    {"%t = muli %at, %ks : tile<1024xi32>\n"
     "%v = hint_contiguous %t {values = [4]} : tile<1024xi32>\n",
     0, 4, 1, 1, 1, 0},
    {"%v = minsi %y, %c1024 : i32\n", 0, 1, 1, 1, 0, 1024},
    {"%z = constant_int {value = 0} : i32\n%s = constant_int {value = 64} : i32\n"
     "%v = for %z, %n, %s, %z : i32 (%i: i32, %a: i32) {\n"
     "%b = addi %a, %i : i32\nyield %b\n}\n",
     0, 1, 64, 1, 1, 0},
    {"%z = constant_int {value = 0} : i32\n%s = constant_int {value = 64} : i32\n"
     "%d = constant_int {value = -4} : i32\n"
     "%v = for %z, %n, %s, %z : i32 (%i: i32, %a: i32) {\n"
     "%b = addi %a, %d : i32\nyield %b\n}\n",
     0, 1, 4, 1, INT32_MIN, INT32_MAX},
    {"%z = constant_int {value = 0} : i32\n%s = constant_int {value = 1} : i32\n"
     "%step = constant_int {value = 32} : tile<1024xi32>\n"
     "%v = for %z, %k, %s, %ps : tile<1024xptr<f32>> (%i: i32, %a: tile<1024xptr<f32>>) {\n"
     "%w = addptr %a, %r : tile<1024xptr<f32>>\n%x = load %w : tile<1024xf32>\n"
     "%b = addptr %a, %step : tile<1024xptr<f32>>\nyield %b\n}\n",
     0, 1, 16, 1024, 1, 0},
    /* What is assumed of a value is known of it from where it is made, of others nothing. */
    {"%z = constant_int {value = 0} : i32\n%v = addi %k, %n : i32\n"
     "%c = cmpi %v, %z {pred = sge} : i1\nassume %c\n",
     0, 1, 1, 1, 0, INT32_MAX},
    {"%z = constant_int {value = 8} : i32\n%c = cmpi %z, %k {pred = sgt} : i1\n"
     "%d = cmpi %n, %z {pred = eq} : i1\n%e = andi %c, %d : i1\nassume %e\n"
     "%v = maxsi %k, %n : i32\n",
     0, 1, 1, 1, 8, 8},
    {"%z = constant_int {value = 0} : i32\n%b = cmpi %n, %z {pred = sgt} : i1\nif %b {\n"
     "%c = cmpi %k, %z {pred = sge} : i1\nassume %c\nyield\n} {\nyield\n}\n"
     "%v = addi %k, %z : i32\n",
     0, 1, 1, 1, INT32_MIN, INT32_MAX},
    /* What iterations assume of what they carry says nothing of what the last one leaves. */
    {"%z = constant_int {value = 0} : i32\n%s = constant_int {value = 1} : i32\n"
     "%v = for %z, %k, %s, %n : i32 (%i: i32, %a: i32) {\n"
     "%c = cmpi %a, %z {pred = sgt} : i1\nassume %c\n%b = subi %a, %s : i32\nyield %b\n}\n",
     0, 1, 1, 1, INT32_MIN, INT32_MAX},
    {"%z = constant_int {value = 0} : i32\n%s = constant_int {value = 1} : i32\n"
     "%o = constant_int {value = 5} : i32\n"
     "%v = for %z, %k, %s, %o : i32 (%i: i32, %a: i32) {\n"
     "%c = cmpi %a, %z {pred = sgt} : i1\nassume %c\nyield %z\n}\n",
     0, 1, 1, 1, 0, 5},
};

static const Value *find_value(Func *func, const char *name) {
    block_for_each (op, func->body)
        if (op->nout && str_is(op->out[0].name, name))
            return &op->out[0];
    return NULL;
}

static void test_expected_claims(void **state) {
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        Ctx *ctx = testing_ctx();
        const Expected *want = &expected[i];
        StrBuf text = strbuf(&ctx->arena);
        strbuf_printf(&text, "%s%sreturn\n}\n", HEAD, want->body);
        Func *func = testing_parse_good(ctx, text.ptr)->funcs;
        const Value *value = find_value(func, "v");
        const ValueFacts *got = facts_of(facts_compute(func, &ctx->arena), value);
        if (got->contiguous[want->dim] != want->contiguous ||
            got->divisible[want->dim] != want->divisible ||
            got->constant[want->dim] != want->constant ||
            (want->lo <= want->hi && (got->lo != want->lo || got->hi != want->hi)))
            fail_msg("%s: contiguous %lld, divisible %lld, constant %lld, range %lld..%lld",
                     want->body, (long long)got->contiguous[want->dim],
                     (long long)got->divisible[want->dim], (long long)got->constant[want->dim],
                     (long long)got->lo, (long long)got->hi);
        ctx_destroy(ctx);
    }
}

/* Access widths: bytes of the element, mask, what comes out. */
static void test_access_width(void **state) {
    static const struct {
        const char *body;
        bool masked;
        int width;
    } cases[] = {
        {"%v = addptr %ps, %at : tile<1024xptr<f32>>\n", false, 4},
        {"%v = addptr %ps, %at : tile<1024xptr<f32>>\n%m = cmpi %at, %ns {pred = slt} : "
         "tile<1024xi1>\n",
         true, 4},
        {"%v = addptr %ps, %at : tile<1024xptr<f32>>\n%m = cmpi %at, %ks {pred = slt} : "
         "tile<1024xi1>\n",
         true, 1},
        {"%hs = splat %h : tile<1024xptr<f16>>\n%v = addptr %hs, %at : tile<1024xptr<f16>>\n",
         false, 1},
        {"%hs = splat %h : tile<1024xptr<f16>>\n"
         "%hd = hint_divisible %hs {values = [16]} : tile<1024xptr<f16>>\n"
         "%v = addptr %hd, %at : tile<1024xptr<f16>>\n",
         false, 8},
        {"%o = addi %at, %ks : tile<1024xi32>\n%v = addptr %ps, %o : tile<1024xptr<f32>>\n", false,
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ctx *ctx = testing_ctx();
        StrBuf text = strbuf(&ctx->arena);
        strbuf_printf(&text, "%s%sreturn\n}\n", HEAD, cases[i].body);
        Func *func = testing_parse_good(ctx, text.ptr)->funcs;
        const Facts *facts = facts_compute(func, &ctx->arena);
        const Value *ptr = find_value(func, "v");
        const Value *mask = cases[i].masked ? find_value(func, "m") : NULL;
        assert_int_equal(facts_access_width(facts, ptr, mask, facts_fastest_dim(facts, ptr)),
                         cases[i].width);
        ctx_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_expected_claims),
        cmocka_unit_test(test_access_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
