/* A function of the Tile IR as an LLVM kernel: prologue, then op by op through the table made from
 * ops.def. */
#include "codegen/build.h"
#include <assert.h>

enum { CALLING_CONVENTION_PTX_KERNEL = 71 };

typedef struct Lowering {
    Lv (*emit)(Cg *cg, const Op *op, const Lv *in); /* elementwise ops */
    void (*lower)(Cg *cg, const Op *op);            /* the others */
} Lowering;

static const Lowering lowering[OP_COUNT] = {
#define OP(name, ...) [OP_##name] = {.lower = lower_##name},
#define OP_E(name, ...) [OP_##name] = {.emit = emit_##name},
#define OP_R(name, ...) [OP_##name] = {.lower = lower_##name},
#include "ir/ops.def"
};

void cg_unsupported_layout(Cg *cg, const Op *op) {
    cg->failed = true;
    ctx_diag(cg->ctx, op->span, codegen_layout, op_info[op->code].name);
}

/* The other half of a 32-bit product, if it stands in the same block: random numbers take both, and
 * mul.wide gives them by one instruction, which LLVM need not find by reasoning about 64-bit
 * products. */
static const Op *other_half(const Op *op) {
    OpCode wanted = op->code == OP_muli ? OP_mulhui : OP_muli;
    if ((op->code != OP_muli && op->code != OP_mulhui) || op->out[0].type->dtype != DT_I32)
        return NULL;
    /* It uses both operands: one of them may have very many uses. */
    const Use *a = op_in(op, 0)->uses, *b = op_in(op, 1)->uses;
    for (; a && b; a = a->next, b = b->next)
        for (int i = 0; i < 2; i++) {
            const Op *user = i ? b->user : a->user;
            if (user->code == wanted && user->block == op->block &&
                ((op_in(user, 0) == op_in(op, 0) && op_in(user, 1) == op_in(op, 1)) ||
                 (op_in(user, 0) == op_in(op, 1) && op_in(user, 1) == op_in(op, 0))))
                return user;
        }
    return NULL;
}

/* Both results at the first of the two ops. */
static void lower_wide_product(Cg *cg, const Op *op, const Op *other) {
    if (cg->regs[other->out[0].id])
        return;
    const Value *low = op->code == OP_muli ? &op->out[0] : &other->out[0];
    const Value *high = op->code == OP_muli ? &other->out[0] : &op->out[0];
    const Plan *plan = type_is_tile(low->type) ? cg_plan(cg, low->type->layout) : NULL;
    Lv *a = cg_in(cg, op, 0), *b = cg_in(cg, op, 1);
    Lv *lows = cg_new(cg, low), *highs = cg_new(cg, high);
    LLVMTypeRef pair =
        LLVMStructTypeInContext(cg->llvm, (LLVMTypeRef[]){cg->t_i32, cg->t_i32}, 2, false);
    for (uint32_t reg = 0; reg < cg_count(low->type); reg++) {
        if (plan && plan->rep[reg] != reg) {
            lows[reg] = lows[plan->rep[reg]];
            highs[reg] = highs[plan->rep[reg]];
            continue;
        }
        Lv product = cg_asm(cg, pair,
                            "{ .reg .b64 product; mul.wide.u32 product, $2, $3; "
                            "mov.b64 {$0, $1}, product; }",
                            "=r,=r,r,r", (Lv[]){a[reg], b[reg]}, 2, ASM_PURE);
        lows[reg] = LLVMBuildExtractValue(cg->b, product, 0, "");
        highs[reg] = LLVMBuildExtractValue(cg->b, product, 1, "");
    }
}

/* Operands of one shape and layout, or scalars (the condition of select), register by register. */
static void lower_elementwise(Cg *cg, const Op *op) {
    const Value *out = &op->out[0];
    const Op *other = other_half(op);
    if (other && other_half(other) == op) {
        lower_wide_product(cg, op, other);
        return;
    }
    const Plan *plan = type_is_tile(out->type) ? cg_plan(cg, out->type->layout) : NULL;
    Lv *regs = cg_new(cg, out), *in[OP_MAX_FIXED], element[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        in[i] = cg_in(cg, op, i);
    for (uint32_t reg = 0; reg < cg_count(out->type); reg++) {
        if (plan && plan->rep[reg] != reg) {
            regs[reg] = regs[plan->rep[reg]];
            continue;
        }
        for (uint32_t i = 0; i < op->nin; i++)
            element[i] = in[i][type_is_tile(op_in(op, i)->type) ? reg : 0];
        regs[reg] = lowering[op->code].emit(cg, op, element);
    }
}

static bool fits_registers(Cg *cg, const Op *op) {
    for (uint32_t i = 0; i < op->nout; i++) {
        const Type *type = op->out[i].type;
        if (cg_count(type) > MAX_REGISTERS_OF_TILE) {
            cg->failed = true;
            return ctx_diag(cg->ctx, op->span, codegen_registers, (long long)type_numel(type),
                            cg_count(type), (unsigned)MAX_REGISTERS_OF_TILE);
        }
    }
    return true;
}

const Op *cg_lower_block(Cg *cg, const Block *block) {
    block_for_each (op, block) {
        if (op_has(op, TERMINATOR))
            return op;
        cg->span = op->span;
        cg_debug_op(cg, op->span);
        const Op *last = cg_lower_products(cg, op);
        if (last)
            op = (Op *)last;
        else if (!fits_registers(cg, op))
            for (uint32_t i = 0; i < op->nout; i++)
                cg_new(cg, &op->out[i]);
        else if (lowering[op->code].emit)
            lower_elementwise(cg, op);
        else
            lowering[op->code].lower(cg, op);
        if (cg->failed)
            break;
    }
    return block->last;
}

void cg_inline_region(Cg *cg, const Block *block, const Lv *args, uint32_t nargs, Lv *out,
                      uint32_t nout) {
    for (uint32_t i = 0; i < nargs; i++)
        cg_new(cg, &block->args[i])[0] = args[i];
    const Op *yield = cg_lower_block(cg, block);
    for (uint32_t i = 0; i < nout && !cg->failed; i++)
        out[i] = cg_scalar(cg, op_in(yield, i));
}

/* Parameters: i1 is passed as a byte, f8 as one. */
static LLVMTypeRef param_type(Cg *cg, const Type *type) {
    return type->kind == TYPE_POINTER ? cg->t_global : cg_memory_type(cg, type->dtype);
}

static void string_attribute(Cg *cg, const char *name, const char *value) {
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(cg->llvm, name, (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

static void int_attribute(Cg *cg, const char *name, int32_t value) {
    string_attribute(cg, name, str_format(cg->arena, "%d", (int)value));
}

#if LLVM_VERSION_MAJOR < 21
/* Older versions read launch bounds from metadata. */
static void annotate(Cg *cg, const char *name, int32_t value) {
    LLVMMetadataRef node[] = {LLVMValueAsMetadata(cg->fn),
                              LLVMMDStringInContext2(cg->llvm, name, strlen(name)),
                              LLVMValueAsMetadata(cg_i32(cg, value))};
    LLVMAddNamedMetadataOperand(
        cg->module, "nvvm.annotations",
        LLVMMetadataAsValue(cg->llvm, LLVMMDNodeInContext2(cg->llvm, node, 3)));
}
#endif

static void launch_attributes(Cg *cg) {
    LLVMSetFunctionCallConv(cg->fn, CALLING_CONVENTION_PTX_KERNEL);
#if LLVM_VERSION_MAJOR < 21
    annotate(cg, "reqntidx", cg->meta.threads);
    annotate(cg, "reqntidy", 1);
    annotate(cg, "reqntidz", 1);
    if (cg->func->max_registers)
        annotate(cg, "maxnreg", cg->func->max_registers);
    if (cg->options->min_blocks_per_sm)
        annotate(cg, "minctasm", cg->options->min_blocks_per_sm);
#else
    string_attribute(cg, "nvvm.reqntid", str_format(cg->arena, "%d,1,1", (int)cg->meta.threads));
    if (cg->func->max_registers)
        int_attribute(cg, "nvvm.maxnreg", cg->func->max_registers);
    if (cg->options->min_blocks_per_sm)
        int_attribute(cg, "nvvm.minctasm", cg->options->min_blocks_per_sm);
#endif
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->llvm, nounwind, 0));
}

static void create_kernel(Cg *cg) {
    const Func *func = cg->func;
    uint32_t nparams = func->body->nargs, maps = (uint32_t)cg->meta.tensor_maps.len;
    cg->first_map = nparams + (uint32_t)meta_grid_parameters(&cg->meta);
    uint32_t count = cg->first_map + maps;
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, count + 1);
    for (uint32_t i = 0; i < nparams; i++)
        types[i] = param_type(cg, func->body->args[i].type);
    for (uint32_t i = nparams; i < cg->first_map; i++)
        types[i] = cg->t_i32;
    for (uint32_t i = cg->first_map; i < count; i++)
        types[i] = cg->t_generic;
    cg->fn = LLVMAddFunction(cg->module, cg->meta.name.ptr,
                             LLVMFunctionType(cg->t_void, types, count, false));
    launch_attributes(cg);
    for (uint32_t i = cg->first_map; i < count; i++)
        cg_declare_tensor_map(cg, i);
    unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
    /* A launch gives every argument: LLVM proves at length what it is not told. */
    unsigned noundef = LLVMGetEnumAttributeKindForName("noundef", 7);
    for (uint32_t i = 0; i < count; i++)
        LLVMAddAttributeAtIndex(cg->fn, i + 1, LLVMCreateEnumAttribute(cg->llvm, noundef, 0));
    for (uint32_t i = 0; i < nparams; i++) {
        LLVMSetValueName2(LLVMGetParam(cg->fn, i), func->params[i].name.ptr,
                          func->params[i].name.len);
        /* LLVM takes powers of two only. */
        int64_t divisible = func->params[i].divisible & -func->params[i].divisible;
        if (func->body->args[i].type->kind == TYPE_POINTER && divisible > 1)
            LLVMAddAttributeAtIndex(
                cg->fn, i + 1,
                LLVMCreateEnumAttribute(cg->llvm, align,
                                        (uint64_t)(divisible > 4096 ? 4096 : divisible)));
    }
}

static Lv read_register(Cg *cg, const char *name) {
    return cg_intrinsic(cg, name, NULL, 0, NULL, 0);
}

/* What decides whether products are fed: by wgmma, and no thread computes many addresses where they
 * are: of tiles of pointers, and of tiles between registers and buffers. */
typedef struct Accesses {
    Arena *arena;
    VEC(const Op *) loops;  /* whose iterations have products, not only loops in them */
    VEC(const Op *) around; /* loops around those */
    bool products, others;  /* by wgmma, and by what takes its operands through registers */
    bool copies;            /* of blocks, by tensor maps */
    bool many;              /* addresses beside products */
    uint32_t pointers;      /* that a thread accesses memory by, in all */
} Accesses;

static bool note_product(Op *op, void *user) {
    Accesses *accesses = user;
    accesses->others |= op->code == OP_dot;
    accesses->copies |= op->code == OP_copy_block || op->code == OP_store_block_from;
    if (!op_is_wgmma(op))
        return true;
    accesses->products = true;
    const Op *loop = op_loop_around(op);
    if (loop)
        vec_push(accesses->arena, &accesses->loops, loop);
    while (loop && (loop = op_loop_around(loop)))
        vec_push(accesses->arena, &accesses->around, loop);
    return true;
}

static bool is_line(const Type *type) {
    int long_dims = 0;
    for (int dim = 0; dim < type->rank; dim++)
        long_dims += type->shape[dim] > 1;
    return long_dims <= 1;
}

static bool is_among(const Op *const *ops, size_t count, const Op *op) {
    for (size_t i = 0; i < count; i++)
        if (ops[i] == op)
            return true;
    return false;
}

/* The tile whose elements the op's threads address one after the other, in global memory or in a
 * buffer; NULL: none. */
static const Type *addressed_tile(const Op *op) {
    const Type *type = op->nin ? op_in(op, 0)->type : NULL;
    if (op->code == OP_local_load)
        type = op->out[0].type;
    else if (op->code != OP_local_store &&
             !(op_has(op, READS | WRITES) && type && type->kind == TYPE_POINTER))
        return NULL;
    return type_is_tile(type) ? type : NULL;
}

/* Around the loops with products only pointers count that are used one by one: the addresses of
 * others are few, and mostly a number and constants. */
static bool is_beside(const Accesses *accesses, const Op *op) {
    bool in_buffer = op->code == OP_local_load || op->code == OP_local_store;
    bool one_by_one = !in_buffer && op_access_width(op) == 1;
    for (const Op *loop = op_loop_around(op); loop; loop = op_loop_around(loop))
        if (is_among(accesses->loops.data, accesses->loops.len, loop) ||
            (one_by_one && is_among(accesses->around.data, accesses->around.len, loop)))
            return true;
    return false;
}

static bool note_access(Op *op, void *user) {
    Accesses *accesses = user;
    const Type *tile = addressed_tile(op);
    if (!tile)
        return true;
    if (tile->kind == TYPE_POINTER)
        accesses->pointers += (uint32_t)layout_owned_registers(tile->layout) / op_access_width(op);
    if (!is_line(tile))
        accesses->many |= is_beside(accesses, op);
    return true;
}

static void note_accesses(Cg *cg) {
    enum { FEW_POINTERS = 16 };
    Accesses accesses = {.arena = cg->arena};
    func_walk(cg->func, note_product, &accesses);
    func_walk(cg->func, note_access, &accesses);
    cg->is_swizzled = accesses.products || accesses.copies;
    cg->products_are_fed = accesses.products && !accesses.others && !accesses.many;
    cg->has_few_pointers = accesses.pointers <= FEW_POINTERS;
}

/* Thread numbers, the program's place in the CTA, and the end of programs past the grid. */
static void lower_prologue(Cg *cg, LLVMBasicBlockRef body) {
    note_accesses(cg);
    const KernelMeta *meta = &cg->meta;
    int32_t threads = 32 * meta->num_warps, programs = meta->programs_per_cta;
    Lv tid = read_register(cg, "llvm.nvvm.read.ptx.sreg.tid.x");
    bool is_part = programs > 1 || meta->teams > 1;
    cg->cta_thread = tid;
    cg->thread = is_part ? LLVMBuildAnd(cg->b, tid, cg_i32(cg, threads - 1), "") : tid;
    cg->lane = threads > 32 || is_part ? LLVMBuildAnd(cg->b, tid, cg_i32(cg, 31), "") : tid;
    cg->warp = threads > 32 ? LLVMBuildLShr(cg->b, cg->thread, cg_i32(cg, 5), "") : cg_i32(cg, 0);
    cg_order_programs(cg);
    if (programs == 1)
        return;
    cg->slot = LLVMBuildLShr(cg->b, tid, cg_i32(cg, __builtin_ctz((unsigned)threads)), "");
    Lv cta = cg_cta_id(cg, 0);
    cg->program_ids[0] =
        LLVMBuildAdd(cg->b, LLVMBuildMul(cg->b, cta, cg_i32(cg, programs), ""), cg->slot, "");
    cg->grid_x = LLVMGetParam(cg->fn, cg->func->body->nargs);
}

/* The entry block stays open until the body is complete: it takes what layouts compute once. */
static void close_entry(Cg *cg, LLVMBasicBlockRef body) {
    if (!cg->slot) {
        LLVMBuildBr(cg->entry, body);
        return;
    }
    LLVMBasicBlockRef past = cg_block(cg, "past_grid");
    Lv inside = LLVMBuildICmp(cg->entry, LLVMIntULT, cg->program_ids[0], cg->grid_x, "");
    LLVMBuildCondBr(cg->entry, inside, body, past);
    LLVMPositionBuilderAtEnd(cg->entry, past);
    LLVMBuildRetVoid(cg->entry);
}

static void lower_params(Cg *cg) {
    const Block *body = cg->func->body;
    for (uint32_t i = 0; i < body->nargs; i++) {
        Lv param = LLVMGetParam(cg->fn, i);
        if (type_is_bool(body->args[i].type))
            param = LLVMBuildICmp(cg->b, LLVMIntNE, param, cg_zero(cg->t_i8), "");
        cg_new(cg, &body->args[i])[0] = param;
    }
}

static void make_types(Cg *cg) {
    LLVMContextRef c = cg->llvm;
    cg->t_void = LLVMVoidTypeInContext(c);
    cg->t_i1 = LLVMInt1TypeInContext(c);
    cg->t_i8 = LLVMInt8TypeInContext(c);
    cg->t_i16 = LLVMInt16TypeInContext(c);
    cg->t_i32 = LLVMInt32TypeInContext(c);
    cg->t_i64 = LLVMInt64TypeInContext(c);
    cg->t_f16 = LLVMHalfTypeInContext(c);
    cg->t_bf16 = LLVMBFloatTypeInContext(c);
    cg->t_f32 = LLVMFloatTypeInContext(c);
    cg->t_f64 = LLVMDoubleTypeInContext(c);
    cg->t_generic = LLVMPointerTypeInContext(c, SPACE_GENERIC);
    cg->t_global = LLVMPointerTypeInContext(c, SPACE_GLOBAL);
    cg->t_shared = LLVMPointerTypeInContext(c, SPACE_SHARED);
}

bool build_kernel(Cg *cg) {
    make_types(cg);
    cg->b = LLVMCreateBuilderInContext(cg->llvm);
    cg->entry = LLVMCreateBuilderInContext(cg->llvm);
    cg->regs = ARENA_ARRAY(cg->arena, Lv *, func_number(cg->func));
    if (!cg_collect_tensor_maps(cg))
        return false;
    create_kernel(cg);
    cg_debug_begin(cg);
    LLVMBasicBlockRef entry = cg_block(cg, "entry"), body = cg_block(cg, "body");
    cg_position(cg, entry);
    lower_prologue(cg, body);
    lower_params(cg);
    LLVMPositionBuilderAtEnd(cg->entry, entry);
    cg_position(cg, body);
    cg_begin_tensor_copies(cg);
    cg_find_batch(cg);
    cg_lower_block(cg, cg->func->body);
    LLVMBuildRetVoid(cg->b);
    close_entry(cg, body);
    cg_debug_end(cg);
    return !cg->failed;
}
