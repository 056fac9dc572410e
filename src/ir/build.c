/* Making modules, functions, blocks and ops; one builder per row of ops.def.
 *
 * The generated builders name their locals with a trailing underscore, so that operand and
 * attribute names of ops.def cannot collide with them. */
#include "ir/build.h"
#include "ir/rules.h"

#include <stdio.h>
#include <stdlib.h>

Module *module_create(Ctx *ctx) {
    Module *module = ARENA_NEW(&ctx->arena, Module);
    module->ctx = ctx;
    return module;
}

Block *block_create(Func *func, Op *parent) {
    Block *block = ARENA_NEW(&func_ctx(func)->arena, Block);
    block->func = func;
    block->parent = parent;
    return block;
}

Func *func_create(Module *module, Str name, uint32_t nparams, const FuncParam *params,
                  const Type *const *types) {
    Ctx *ctx = module->ctx;
    Func *func = ARENA_NEW(&ctx->arena, Func);
    func->module = module;
    func->name = ctx_intern(ctx, name);
    func->params = ARENA_ARRAY(&ctx->arena, FuncParam, nparams);
    func->body = block_create(func, NULL);
    block_set_args(func->body, nparams, types);
    for (uint32_t i = 0; i < nparams; i++) {
        func->params[i] = params[i];
        func->params[i].name = func->body->args[i].name = ctx_intern(ctx, params[i].name);
    }
    Func **tail = &module->funcs;
    while (*tail)
        tail = &(*tail)->next;
    *tail = func;
    return func;
}

Builder builder_at_end(Block *block) {
    return (Builder){.ctx = func_ctx(block->func), .block = block};
}

Builder builder_before(Op *op) {
    return (Builder){func_ctx(op->block->func), op->block, op, op->span};
}

Builder builder_after(Op *op) {
    return (Builder){func_ctx(op->block->func), op->block, op->next, op->span};
}

Op *op_create(Builder *builder, OpCode code, uint32_t nin, Value *const *in, uint32_t nout,
              const Type *const *out_types) {
    Arena *arena = &builder->ctx->arena;
    const OpInfo *info = &op_info[code];
    Op *op = ARENA_NEW(arena, Op);
    op->code = code;
    op->span = builder->span;
    op->nin = nin;
    op->nout = nout;
    op->in = ARENA_ARRAY(arena, Use, ir_capacity(nin));
    op->out = ARENA_ARRAY(arena, Value, ir_capacity(nout));
    op->attrs = arena_alloc(arena, info->attr_bytes);
    for (uint32_t i = 0; i < nin; i++) {
        op->in[i].user = op;
        use_link(&op->in[i], in[i]);
    }
    for (uint32_t i = 0; i < nout; i++)
        op->out[i] = (Value){.type = out_types ? out_types[i] : NULL, .def = op, .index = i};
    op->nregions = info->regions;
    op->regions = ARENA_ARRAY(arena, Block *, info->regions);
    for (uint32_t i = 0; i < op->nregions; i++)
        op->regions[i] = block_create(builder->block->func, op);
    op_link(op, builder->block, builder->before);
    return op;
}

/* Integer constants are kept sign-extended from the width of their type (i1: 0 or 1), so that equal
 * constants are equal attributes. */
static void normalize_int_constant(Op *op) {
    int bits = dtype_info[op->out[0].type->dtype].bits;
    int64_t *value = &constant_int_attrs(op)->value;
    if (bits == 1)
        *value &= 1;
    else
        *value = (int64_t)((uint64_t)*value << (64 - bits)) >> (64 - bits);
}

static bool counts_fit(Ctx *ctx, const Op *op) {
    const OpInfo *info = &op_info[op->code];
    uint32_t nout = info->results != RESULT_NONE;
    if (info->max_operands >= 0 &&
        (op->nin < (uint32_t)info->min_operands || op->nin > (uint32_t)info->max_operands)) {
        char wanted[32];
        if (info->min_operands == info->max_operands)
            snprintf(wanted, sizeof wanted, "%d", info->min_operands);
        else
            snprintf(wanted, sizeof wanted, "%d to %d", info->min_operands, info->max_operands);
        return ctx_diag(ctx, op->span, ir_operand_count, info->name, op->nin, wanted);
    }
    if (info->results != RESULT_VARIADIC && op->nout != nout)
        return ctx_diag(ctx, op->span, ir_result_count, info->name, op->nout, nout);
    return true;
}

bool op_check(Ctx *ctx, const Op *op, const Type *stated, const Type **result) {
    ArenaMark mark = arena_mark(&ctx->scratch);
    bool ok = counts_fit(ctx, op) && op_rule[op->code](ctx, op, stated, result);
    arena_rewind(&ctx->scratch, mark);
    return ok;
}

bool op_infer(Ctx *ctx, Op *op, const Type *stated) {
    ResultKind results = op_info[op->code].results;
    const Type *type = NULL;
    if (!op_check(ctx, op, stated, &type))
        return false;
    if (results == RESULT_INFERRED || results == RESULT_STATED)
        op->out[0].type = type;
    if (op->code == OP_constant_int)
        normalize_int_constant(op);
    return true;
}

void block_set_args(Block *block, uint32_t nargs, const Type *const *types) {
    block->args = ARENA_ARRAY(&func_ctx(block->func)->arena, Value, ir_capacity(nargs));
    block->nargs = nargs;
    for (uint32_t i = 0; i < nargs; i++)
        block->args[i] = (Value){.type = types[i], .owner = block, .index = i};
}

/* Builders */

static int64_t keep_int(Ctx *ctx, int64_t value) {
    return value;
}

static double keep_float(Ctx *ctx, double value) {
    return value;
}

static Str keep_str(Ctx *ctx, Str value) {
    return ctx_intern(ctx, value);
}

static Ints keep_ints(Ctx *ctx, Ints value) {
    int64_t *copy = ARENA_ARRAY(&ctx->arena, int64_t, value.len);
    if (value.len)
        memcpy(copy, value.ptr, value.len * sizeof *copy);
    return (Ints){copy, value.len};
}

/* The value of an attribute as the op may hold it: what it points at lives as long as the op. */
#define KEEP(ctx, value)                                                                           \
    _Generic((value), double                                                                       \
             : keep_float, Str                                                                     \
             : keep_str, Ints                                                                      \
             : keep_ints, default                                                                  \
             : keep_int)(ctx, value)

/* A broken rule is the caller's bug: debug builds stop here, others leave the diagnostic. */
static void builder_finish(Ctx *ctx, Op *op, const Type *stated) {
    if (op_infer(ctx, op, stated))
        return;
    ctx_diag(ctx, op->span, ir_builder, op_info[op->code].name);
    /* Callers go on until they look at the diagnostics: no result may be without a type. */
    for (uint32_t i = 0; i < op->nout; i++)
        if (!op->out[i].type)
            op->out[i].type = stated ? stated : type_scalar(ctx, DT_I32);
#ifndef NDEBUG
    StrBuf text = strbuf(&ctx->arena);
    diag_print_all(&ctx->diags, &text);
    fputs(text.ptr, stderr);
    abort();
#endif
}

/* Operands up to the first absent one; a later one that is present makes the count wrong. */
static uint32_t present(uint32_t count, Value *const *operands) {
    while (count && !operands[count - 1])
        count--;
    for (uint32_t i = 0; i < count; i++)
        if (!operands[i])
            return 0;
    return count;
}

#define CNT_IN0() 0
#define CNT_IN1(a) 1
#define CNT_IN2(a, b) 2
#define CNT_IN3(a, b, c) 3
#define CNT_INO2(min, a, b) present(2, in_)
#define CNT_INO(min, a, b, c) present(3, in_)
#define CNT_INO4(min, a, b, c, d) present(4, in_)
#define CNT_INV(xs) n_##xs
#define ARR_IN0() (Value *const *)NULL
#define ARR_IN1(a)                                                                                 \
    (Value *const[]) {                                                                             \
        a                                                                                          \
    }
#define ARR_IN2(a, b)                                                                              \
    (Value *const[]) {                                                                             \
        a, b                                                                                       \
    }
#define ARR_IN3(a, b, c)                                                                           \
    (Value *const[]) {                                                                             \
        a, b, c                                                                                    \
    }
#define ARR_INO2(min, a, b) ARR_IN2(a, b)
#define ARR_INO(min, a, b, c) ARR_IN3(a, b, c)
#define ARR_INO4(min, a, b, c, d)                                                                  \
    (Value *const[]) {                                                                             \
        a, b, c, d                                                                                 \
    }
#define ARR_INV(xs) xs
#define SET(op, index, kind, name) op##_attrs(op_)->name = KEEP(builder->ctx, name);
#define NOUT_OUT0(r) 0, NULL
#define NOUT_OUT1(r) 1, NULL
#define NOUT_OUTT(r) 1, NULL
#define NOUT_OUTV(r) ntypes, types
#define STATED_OUT0(r) NULL
#define STATED_OUT1(r) NULL
#define STATED_OUTT(r) type
#define STATED_OUTV(r) NULL
#define GIVE_OUT0(r) op_
#define GIVE_OUT1(r) op_out(op_)
#define GIVE_OUTT(r) op_out(op_)
#define GIVE_OUTV(r) op_
#define OP(name, in, at, out, traits, summary)                                                     \
    RET_##out build_##name(Builder *builder PAR_##in EACH_ATTR(ATTR_PARAMETER, name, at)           \
                               PAR_##out) {                                                        \
        Value *const *in_ = ARR_##in;                                                              \
        Op *op_ = op_create(builder, OP_##name, CNT_##in, in_, NOUT_##out);                        \
        EACH_ATTR(SET, name, at) builder_finish(builder->ctx, op_, STATED_##out);                  \
        return GIVE_##out;                                                                         \
    }
#define OP_E OP
#define OP_R(...)
#include "ir/ops.def"

/* Builders of ops with regions */

static const Type **types_of(Ctx *ctx, uint32_t count, Value *const *values) {
    const Type **types = ARENA_ARRAY(&ctx->arena, const Type *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        types[i] = values[i]->type;
    return types;
}

Op *build_for(Builder *builder, Value *lo, Value *hi, Value *step, uint32_t ninits,
              Value *const *inits) {
    Arena *arena = &builder->ctx->arena;
    uint32_t nin = FOR_FIXED_OPERANDS + ninits;
    Value **in = ARENA_ARRAY(arena, Value *, nin);
    in[0] = lo;
    in[1] = hi;
    in[2] = step;
    for (uint32_t i = 0; i < ninits; i++)
        in[FOR_FIXED_OPERANDS + i] = inits[i];
    /* The types from `step` on are those of the region: index, carried values. */
    const Type **types = types_of(builder->ctx, nin, in) + FOR_FIXED_OPERANDS - 1;
    Op *op = op_create(builder, OP_for, nin, in, ninits, types + 1);
    block_set_args(op->regions[0], ninits + 1, types);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

Op *build_while(Builder *builder, uint32_t ninits, Value *const *inits) {
    const Type **types = types_of(builder->ctx, ninits, inits);
    Op *op = op_create(builder, OP_while, ninits, inits, ninits, types);
    block_set_args(op->regions[0], ninits, types);
    block_set_args(op->regions[1], ninits, types);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

Op *build_if(Builder *builder, Value *cond, uint32_t ntypes, const Type *const *types) {
    Op *op = op_create(builder, OP_if, 1, &cond, ntypes, types);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

Op *build_producer(Builder *builder) {
    Op *op = op_create(builder, OP_producer, 0, NULL, 0, NULL);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

static void set_combiner_args(Ctx *ctx, Op *op) {
    const Type **types = ARENA_ARRAY(&ctx->arena, const Type *, 2 * (size_t)op->nin);
    for (uint32_t i = 0; i < op->nin; i++) {
        const Type *tile = op_in(op, i)->type;
        types[i] = types[op->nin + i] = type_get(ctx, tile->kind, tile->dtype, 0, NULL, NULL);
    }
    block_set_args(op->regions[0], 2 * op->nin, types);
}

Op *build_map(Builder *builder, uint32_t nxs, Value *const *xs) {
    Op *op = op_create(builder, OP_map, nxs, xs, 0, NULL);
    const Type **types = ARENA_ARRAY(&builder->ctx->arena, const Type *, (size_t)nxs + 1);
    for (uint32_t i = 0; i < nxs; i++)
        types[i] = type_get(builder->ctx, xs[i]->type->kind, xs[i]->type->dtype, 0, NULL, NULL);
    block_set_args(op->regions[0], nxs, types);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

Op *build_reduce(Builder *builder, uint32_t nxs, Value *const *xs, int64_t axis, int64_t keep) {
    const Type **types = types_of(builder->ctx, nxs, xs);
    for (uint32_t i = 0; i < nxs; i++) {
        const Type *type = types[i];
        /* With a bad axis or mask the rule below reports; no type follows from them. */
        if (axis >= 0 && axis < type->rank && keep >= 0 && keep < type->shape[axis])
            types[i] = reduce_result_type(builder->ctx, type, (int)axis, keep);
    }
    Op *op = op_create(builder, OP_reduce, nxs, xs, nxs, types);
    *reduce_attrs(op) = (struct reduce_attrs){.axis = axis, .keep = keep};
    set_combiner_args(builder->ctx, op);
    builder_finish(builder->ctx, op, NULL);
    return op;
}

Op *build_scan(Builder *builder, uint32_t nxs, Value *const *xs, int64_t axis, bool reverse,
               bool exclusive) {
    Op *op = op_create(builder, OP_scan, nxs, xs, nxs, types_of(builder->ctx, nxs, xs));
    *scan_attrs(op) = (struct scan_attrs){.axis = axis, .reverse = reverse, .exclusive = exclusive};
    set_combiner_args(builder->ctx, op);
    builder_finish(builder->ctx, op, NULL);
    return op;
}
