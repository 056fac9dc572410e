/* What a piece of PTX computes element by element: f32, rounded to pairs of 16 bits in the end. */
#include "codegen/products/piece.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include <math.h>

static bool is_f32_tile(const Type *type) {
    return type_is_tile(type) && type->kind == TYPE_NUMBER && type->dtype == DT_F32;
}

/* Rounded to words of neighbouring registers, each of which holds an element of its own. */
static bool rounds_to_words(Cg *cg, const Op *op) {
    const Type *to = op->out[0].type;
    if (!is_f32_tile(op_in(op, 0)->type) || (to->dtype != DT_F16 && to->dtype != DT_BF16) ||
        truncf_attrs(op)->rounding == ROUND_RTZ)
        return false;
    const Plan *plan = cg_plan(cg, to->layout);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] != reg)
            return false;
    return plan->count > 1;
}

/* Of f32: the instruction, without its type. NULL: none. */
static const char *instruction_of(const Cg *cg, const Op *op) {
    const bool fuses = !cg->options->no_fp_fusion && !cg->func->deterministic;
    switch ((int)op->code) {
    case OP_addf:
        return fuses ? "add.f32 " : "add.rn.f32 ";
    case OP_subf:
        return fuses ? "sub.f32 " : "sub.rn.f32 ";
    case OP_mulf:
        return fuses ? "mul.f32 " : "mul.rn.f32 ";
    case OP_fma:
        return "fma.rn.f32 ";
    case OP_minf:
        return "min.f32 ";
    case OP_maxf:
        return "max.f32 ";
    case OP_negf:
        return "neg.f32 ";
    case OP_exp2:
        return cg->options->no_ftz ? "ex2.approx.f32 " : "ex2.approx.ftz.f32 ";
    default:
        return NULL;
    }
}

bool piece_computes(const Cg *cg, const Op *op) {
    if (op->code == OP_truncf)
        return type_is_tile(op->out[0].type) && rounds_to_words((Cg *)cg, op);
    return (op->code == OP_select || instruction_of(cg, op)) && is_f32_tile(op->out[0].type) &&
           cg_count(op->out[0].type) <= MAX_REGISTERS_OF_TILE;
}

/* Does the sum take this product as the factors of an fma? The first one, if both are. */
static bool takes_factors(const Piece *piece, const Op *sum, const Op *product) {
    const Op *first = op_in(sum, 0)->def;
    return product == first || !first || !piece_is_fused(piece, first);
}

bool piece_is_fused(const Piece *piece, const Op *op) {
    if (op->code != OP_mulf || piece->cg->options->no_fp_fusion || piece->cg->func->deterministic ||
        !value_has_one_use(&op->out[0]) || !ptrmap_get(&piece->held, op))
        return false;
    const Op *sum = op->out[0].uses->user;
    return (sum->code == OP_addf || sum->code == OP_subf) && ptrmap_get(&piece->held, sum) &&
           takes_factors(piece, sum, op);
}

/* Names */

static Name input_name(Piece *piece, Lv value) {
    Lv *known = ptrmap_get(&piece->input_names, value);
    if (known)
        return (Name){NAME_INPUT, (uint32_t)(known - piece->inputs)};
    Name name = piece_new_input(piece, value);
    ptrmap_set(&piece->input_names, value, &piece->inputs[name.number]);
    return name;
}

static Name constant_name(Piece *piece, Lv constant) {
    LLVMBool loses;
    float value = (float)LLVMConstRealGetDouble(constant, &loses);
    if (isnan(value))
        return input_name(piece, constant);
    union {
        float value;
        uint32_t bits;
    } as = {value};
    return (Name){NAME_F32, as.bits};
}

static Name element_name(Piece *piece, const Op *op, uint32_t index, uint32_t reg) {
    const Member *held = piece_member(piece, op_in(op, index));
    reg = type_is_tile(op_in(op, index)->type) ? reg : 0;
    if (held)
        return held->names[reg];
    Lv value = cg_in(piece->cg, op, index)[reg];
    return LLVMIsAConstantFP(value) ? constant_name(piece, value) : input_name(piece, value);
}

/* Instructions */

static void put_instruction(Piece *piece, const char *instruction, Name to, const Name *from,
                            uint32_t count) {
    piece_put(piece, instruction);
    piece_put_name(piece, to);
    for (uint32_t i = 0; i < count; i++) {
        piece_put(piece, ", ");
        piece_put_name(piece, from[i]);
    }
    piece_put(piece, ";\n\t");
}

static Name negated(Piece *piece, Name name) {
    if (name.kind == NAME_F32)
        return (Name){NAME_F32, name.number ^ 0x80000000u};
    Name minus = piece_new_own(piece);
    put_instruction(piece, "neg.f32 ", minus, &name, 1);
    return minus;
}

/* a * b + c, a * b - c or c - a * b, where operand `index` of the sum is the product. */
static void put_fused(Piece *piece, const Op *sum, uint32_t index, uint32_t reg, Name to) {
    const Op *product = op_in(sum, index)->def;
    Name from[] = {element_name(piece, product, 0, reg), element_name(piece, product, 1, reg),
                   element_name(piece, sum, 1 - index, reg)};
    if (sum->code == OP_subf) {
        Name *minus = &from[index ? 0 : 2];
        *minus = negated(piece, *minus);
    }
    put_instruction(piece, "fma.rn.f32 ", to, from, 3);
}

static void put_choice(Piece *piece, const Op *op, uint32_t reg, Name to) {
    Name from[] = {element_name(piece, op, 1, reg), element_name(piece, op, 2, reg), {0}};
    Lv mask = cg_in(piece->cg, op, 0)[type_is_tile(op_in(op, 0)->type) ? reg : 0];
    if (LLVMIsConstant(mask)) {
        put_instruction(piece, "mov.b32 ", to, &from[lv_is_true(mask) ? 0 : 1], 1);
        return;
    }
    from[2] = input_name(piece, mask);
    put_instruction(piece, "selp.f32 ", to, from, 3);
}

static void put_element(Piece *piece, const Op *op, uint32_t reg, Name to) {
    for (uint32_t i = 0; i < op->nin && (op->code == OP_addf || op->code == OP_subf); i++) {
        const Op *product = op_in(op, i)->def;
        if (product && piece_is_fused(piece, product)) {
            put_fused(piece, op, i, reg, to);
            return;
        }
    }
    Name from[OP_MAX_FIXED];
    for (uint32_t i = 0; i < op->nin; i++)
        from[i] = element_name(piece, op, i, reg);
    put_instruction(piece, instruction_of(piece->cg, op), to, from, op->nin);
}

/* The upper half first. */
static void put_rounded(Piece *piece, const Op *op, const Name *to) {
    const char *instruction =
        op->out[0].type->dtype == DT_F16 ? "cvt.rn.f16x2.f32 " : "cvt.rn.bf16x2.f32 ";
    for (uint32_t reg = 0; reg < cg_count(op->out[0].type); reg += 2) {
        Name from[] = {element_name(piece, op, 0, reg + 1), element_name(piece, op, 0, reg)};
        put_instruction(piece, instruction, to[reg], from, 2);
    }
}

void piece_put_computed(Piece *piece, const Member *member) {
    const Op *op = member->op;
    if (op->code == OP_truncf) {
        put_rounded(piece, op, member->names);
        return;
    }
    if (piece_is_fused(piece, op))
        return;
    const Plan *plan = cg_plan(piece->cg, op->out[0].type->layout);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] == reg && op->code == OP_select)
            put_choice(piece, op, reg, member->names[reg]);
        else if (plan->rep[reg] == reg)
            put_element(piece, op, reg, member->names[reg]);
}
