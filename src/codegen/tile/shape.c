/* Constants, indices, and the ops that rearrange elements without touching them: for these the
 * lowering only says which register of the operand each register of the result is. */
#include "codegen/tile/shape.h"
#include "codegen/lowerings.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/programs.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/threads.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "types/float_bits.h"
#include "types/lane_move.h"

/* Constants and indices */

static void lower_constant(Cg *cg, const Op *op, Lv constant) {
    const Value *out = &op->out[0];
    Lv *regs = cg_new(cg, out);
    for (uint32_t i = 0; i < cg_count(out->type); i++)
        regs[i] = constant;
}

void lower_constant_int(Cg *cg, const Op *op) {
    lower_constant(
        cg, op,
        LLVMConstInt(cg_type(cg, op->out[0].type), (uint64_t)constant_int_attrs(op)->value, true));
}

void lower_constant_float(Cg *cg, const Op *op) {
    DType dtype = op->out[0].type->dtype;
    uint64_t bits = float_to_bits(dtype, constant_float_attrs(op)->value);
    LLVMTypeRef as_int = LLVMIntTypeInContext(cg->llvm, dtype_info[dtype].bits);
    lower_constant(cg, op,
                   LLVMConstBitCast(LLVMConstInt(as_int, bits, false), cg_dtype(cg, dtype)));
}

/* Some value, the same each time: nothing follows from its being undefined. */
void lower_undef(Cg *cg, const Op *op) {
    lower_constant(cg, op, LLVMConstNull(cg_type(cg, op->out[0].type)));
}

void lower_program_id(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_program_id(cg, program_id_attrs(op)->axis);
}

void lower_num_programs(Cg *cg, const Op *op) {
    int64_t axis = num_programs_attrs(op)->axis;
    bool hidden = axis < meta_grid_parameters(&cg->meta);
    cg_new(cg, &op->out[0])[0] = hidden
                                     ? LLVMGetParam(cg->fn, cg->func->body->nargs + (unsigned)axis)
                                     : cg_cta_count(cg, axis);
}

void lower_cta_id(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_cta_id(cg, 0);
}

void lower_cta_count(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_cta_count(cg, 0);
}

/* The same in all threads of a warp, which ptxas is to know. */
void lower_team_id(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_team(cg);
}

void lower_team_count(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_i32(cg, cg->meta.teams);
}

void lower_range(Cg *cg, const Op *op) {
    const Value *out = &op->out[0];
    const Plan *plan = cg_plan(cg, out->type->layout);
    Lv *regs = cg_new(cg, out);
    for (uint32_t reg = 0; reg < plan->count; reg++) {
        if (plan->rep[reg] != reg) {
            regs[reg] = regs[plan->rep[reg]];
            continue;
        }
        regs[reg] = cg_plan_at(cg, plan, reg);
        if (range_attrs(op)->start)
            regs[reg] = LLVMBuildNSWAdd(cg->b, regs[reg], cg_i32(cg, range_attrs(op)->start), "");
    }
}

/* Shapes */

void lower_splat(Cg *cg, const Op *op) {
    lower_constant(cg, op, cg_scalar(cg, op_in(op, 0)));
}

static void same_registers(Cg *cg, const Op *op) {
    cg_set(cg, &op->out[0], cg_get(cg, op_in(op, 0)));
}

void lower_expand_dims(Cg *cg, const Op *op) {
    same_registers(cg, op);
}

void lower_reshape(Cg *cg, const Op *op) {
    same_registers(cg, op);
}

/* Bases are permuted within themselves: every register keeps its element. */
void lower_transpose(Cg *cg, const Op *op) {
    same_registers(cg, op);
}

/* Adds a zero that nobody knows to be one to each 32-bit register, in place: of narrow elements to
 * several at once, and a second time to the sum is no sooner x than the first was. */
void lower_optimization_barrier(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    uint32_t count = cg_count(type), per_word = 4 / (uint32_t)type_element_bytes(type);
    Lv *in = cg_in(cg, op, 0), *out = cg_new(cg, &op->out[0]), args[2] = {NULL, cg_opaque_zero(cg)};
    uint32_t *members = ARENA_ARRAY(cg->arena, uint32_t, count), n = 0;
    for (uint32_t reg = 0; reg < count; reg++)
        if (!plan || plan->rep[reg] == reg)
            members[n++] = reg;
    for (uint32_t first = 0; first < n; first += per_word) {
        Lv elements[4];
        for (uint32_t i = 0; i < per_word; i++)
            elements[i] = in[members[first + i < n ? first + i : n - 1]];
        LLVMTypeRef element = LLVMTypeOf(elements[0]);
        args[0] = cg_word(cg, elements, per_word);
        Lv word = cg_asm(cg, cg->t_i32, "add.u32 $0, $1, $2;", "=r,r,r", args, 2, ASM_PURE);
        bool whole = per_word == 1;
        Lv parts =
            LLVMBuildBitCast(cg->b, word, whole ? element : LLVMVectorType(element, per_word), "");
        for (uint32_t i = 0; i < per_word && first + i < n; i++)
            out[members[first + i]] =
                whole ? parts : LLVMBuildExtractElement(cg->b, parts, cg_i32(cg, i), "");
    }
    for (uint32_t reg = 0; plan && reg < count; reg++)
        out[reg] = out[plan->rep[reg]];
}

void lower_hint_divisible(Cg *cg, const Op *op) {
    same_registers(cg, op);
}

void lower_hint_contiguous(Cg *cg, const Op *op) {
    same_registers(cg, op);
}

/* Registers of a run have what its first one has: what the others would be computed from is dead.
 * Counts that are no powers of two hold for the largest one that divides, as in facts. */
void lower_hint_constant(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type;
    if (!type_is_tile(type)) {
        same_registers(cg, op);
        return;
    }
    int64_t run[MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        int64_t said = hint_constant_attrs(op)->values.ptr[d], power = said & -said;
        run[d] = power < type->shape[d] ? power : type->shape[d];
    }
    uint32_t within = layout_registers_in_part(type->layout, type->rank, run, type->shape);
    Lv *in = cg_get(cg, op_in(op, 0)), *out = cg_new(cg, &op->out[0]);
    for (uint32_t reg = 0; reg < cg_count(type); reg++)
        out[reg] = in[reg & ~within];
}

/* Which registers of the operand the result's are */

static const uint32_t *broadcast_registers(Cg *cg, const Op *op) {
    const Type *from = op_in(op, 0)->type, *to = op->out[0].type;
    uint32_t repeated = 0;
    for (int i = 0; i < to->rank; i++)
        if (from->shape[i] != to->shape[i])
            repeated |= layout_dim_mask(to->rank, to->shape, i);
    uint32_t *map = ARENA_ARRAY(cg->arena, uint32_t, cg_count(to));
    return cg_match_registers(cg, to->layout, repeated, from->layout, map) ? map : NULL;
}

static const uint32_t *slice_registers(Cg *cg, const Op *op) {
    const Type *whole = op_in(op, 0)->type, *part = op->out[0].type;
    const Layout *in_whole =
        layout_of_part(cg->ctx, part->layout, part->rank, part->shape, whole->shape);
    /* One more register bit leads from the tile's first elements to those of the part. */
    Layout moved = *in_whole;
    uint32_t count = cg_count(part), moved_by = slice_attrs(op)->at ? count : 0;
    if (moved_by) {
        int at = in_whole->bits[LAYOUT_REG];
        memmove(moved.basis + at + 1, in_whole->basis + at,
                (size_t)(layout_in_bits(in_whole) - at) * sizeof *moved.basis);
        moved.basis[at] = (uint32_t)slice_attrs(op)->at;
        moved.bits[LAYOUT_REG]++;
    }
    uint32_t *map = ARENA_ARRAY(cg->arena, uint32_t, 2 * (size_t)count);
    return cg_match_registers(cg, &moved, 0, whole->layout, map) ? map + moved_by : NULL;
}

/* Where every thread keeps to itself, and takes the same registers as the others. */
static const uint32_t *converted_registers(Cg *cg, const Op *op) {
    const Type *to = op->out[0].type;
    LaneMove s = lane_move(to->layout, op_in(op, 0)->type->layout);
    LayoutConversion kind = layout_classify(to->layout, op_in(op, 0)->type->layout);
    if (kind != CONVERT_NOTHING && kind != CONVERT_REGISTERS)
        return NULL;
    for (int bit = 0; bit < s.threads; bit++)
        if (s.reg_of_thread[bit])
            return NULL;
    uint32_t *map = ARENA_ARRAY(cg->arena, uint32_t, cg_count(to));
    for (uint32_t reg = 0; reg < cg_count(to); reg++)
        map[reg] = lane_move_apply(s.reg_of_reg, reg);
    return map;
}

static const uint32_t *own_registers(Cg *cg, const Op *op) {
    uint32_t count = cg_count(op->out[0].type), *map = ARENA_ARRAY(cg->arena, uint32_t, count);
    for (uint32_t reg = 0; reg < count; reg++)
        map[reg] = reg;
    return map;
}

const uint32_t *cg_renamed_registers(Cg *cg, const Op *op) {
    switch ((int)op->code) {
    case OP_broadcast:
        return broadcast_registers(cg, op);
    case OP_slice:
        return slice_registers(cg, op);
    case OP_convert_layout:
        return converted_registers(cg, op);
    default:
        return own_registers(cg, op);
    }
}

static void take_registers(Cg *cg, const Op *op, const uint32_t *map) {
    Lv *in = cg_get(cg, op_in(op, 0)), *out = cg_new(cg, &op->out[0]);
    if (!map)
        cg_unsupported_layout(cg, op);
    for (uint32_t i = 0; i < cg_count(op->out[0].type); i++)
        out[i] = in[map ? map[i] : 0];
}

void lower_broadcast(Cg *cg, const Op *op) {
    take_registers(cg, op, broadcast_registers(cg, op));
}

void lower_slice(Cg *cg, const Op *op) {
    take_registers(cg, op, slice_registers(cg, op));
}

void lower_join(Cg *cg, const Op *op) {
    Lv *out = cg_new(cg, &op->out[0]);
    for (uint32_t i = 0; i < cg_count(op->out[0].type); i++)
        out[i] = cg_in(cg, op, i & 1)[i >> 1];
}

void lower_split(Cg *cg, const Op *op) {
    Lv *in = cg_in(cg, op, 0);
    for (uint32_t half = 0; half < 2; half++) {
        Lv *out = cg_new(cg, &op->out[half]);
        for (uint32_t i = 0; i < cg_count(op->out[half].type); i++)
            out[i] = in[2 * i + half];
    }
}

void lower_assume(Cg *cg, const Op *op) {
    cg_intrinsic(cg, "llvm.assume", NULL, 0, (Lv[]){cg_scalar(cg, op_in(op, 0))}, 1);
}
