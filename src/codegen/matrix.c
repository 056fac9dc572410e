/* Matrices of 8 x 8 between shared memory and registers: ldmatrix, which fetches operands of
 * mma.sync (those that a product follows: mma.c), and stmatrix, which brings results to where
 * tensor copies take them. */
#include "codegen/cg.h"
#include "ir/panels.h"

enum { MATRIX_ROW_BYTES = 16 };

/* Words */

/* The vector whose elements these are, if they were taken from one in order. */
static Lv vector_behind(const Lv *elements, uint32_t count) {
    Lv vector = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!LLVMIsAExtractElementInst(elements[i]))
            return NULL;
        Lv from = LLVMGetOperand(elements[i], 0), index = LLVMGetOperand(elements[i], 1);
        if ((vector && from != vector) || !LLVMIsAConstantInt(index) ||
            LLVMConstIntGetZExtValue(index) != i)
            return NULL;
        vector = from;
    }
    return LLVMGetVectorSize(LLVMTypeOf(vector)) == count ? vector : NULL;
}

static Lv vector_of(Cg *cg, const Lv *elements, uint32_t count) {
    Lv vector = vector_behind(elements, count);
    if (vector)
        return vector;
    vector = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(elements[0]), count));
    for (uint32_t i = 0; i < count; i++)
        vector = LLVMBuildInsertElement(cg->b, vector, elements[i], cg_i32(cg, i), "");
    return vector;
}

Lv cg_word(Cg *cg, const Lv *elements, uint32_t count) {
    if (count == 1)
        return LLVMBuildBitCast(cg->b, elements[0], cg->t_i32, "");
    Lv vector = vector_of(cg, elements, count);
    if (LLVMIsABitCastInst(vector) && LLVMTypeOf(LLVMGetOperand(vector, 0)) == cg->t_i32)
        return LLVMGetOperand(vector, 0);
    return LLVMBuildBitCast(cg->b, vector, cg->t_i32, "");
}

/* ldmatrix */

bool cg_find_matrix_load(Cg *cg, const Op *op, MatrixLoad *load) {
    const Type *type = op->out[0].type, *buffer = op_in(op, 0)->type;
    int bytes = type_element_bytes(type);
    LoadedPart part = cg_loaded_part(cg, op);
    if (type->kind != TYPE_NUMBER || type->dtype == DT_I1 ||
        part.first % (MATRIX_ROW_BYTES / (uint32_t)bytes) ||
        !layout_matrices(cg->ctx, part.layout, buffer->layout, bytes, &load->matrices))
        return false;
    load->first = part.first;
    load->rows = cg_plan(cg, load->matrices.offsets);
    return true;
}

uint32_t cg_matrix_load_image(const MatrixLoad *load, uint32_t index) {
    const LayoutMatrices *m = &load->matrices;
    int row_bits = m->offsets->bits[LAYOUT_REG] - m->load_bits;
    return layout_reg_image(m->offsets, index << row_bits) ^ load->first;
}

void cg_split_word(Cg *cg, Lv word, LLVMTypeRef element, uint32_t count, Lv *out) {
    if (count == 1) {
        out[0] = LLVMBuildBitCast(cg->b, word, element, "");
        return;
    }
    Lv vector = LLVMBuildBitCast(cg->b, word, LLVMVectorType(element, count), "");
    for (uint32_t i = 0; i < count; i++)
        out[i] = LLVMBuildExtractElement(cg->b, vector, cg_i32(cg, i), "");
}

bool cg_load_matrices(Cg *cg, const Op *op) {
    MatrixLoad load;
    if (!cg_find_matrix_load(cg, op, &load))
        return false;
    static const char *const names[2][3] = {{"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16"},
                                            {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"}};
    const LayoutMatrices *m = &load.matrices;
    const char *name = names[m->transposed][m->matrix_bits];
    Lv base = cg_scalar(cg, op_in(op, 0)), *out = cg_new(cg, &op->out[0]);
    int bytes = type_element_bytes(op->out[0].type);
    uint32_t matrices = 1u << m->matrix_bits, per_word = 1u << m->word_bits;
    LLVMTypeRef element = cg_dtype(cg, op->out[0].type->dtype);
    for (uint32_t i = 0; i < 1u << m->load_bits; i++) {
        Lv at = cg_shared_pointer(cg, load.rows, base, bytes, cg_matrix_load_image(&load, i));
        Lv words = cg_intrinsic(cg, name, &cg->t_shared, 1, &at, 1);
        for (uint32_t k = 0; k < matrices; k++) {
            Lv word = matrices > 1 ? LLVMBuildExtractValue(cg->b, words, k, "") : words;
            cg_split_word(cg, word, element, per_word, out + ((k | i * matrices) << m->word_bits));
        }
    }
    return true;
}

/* stmatrix: as ldmatrix, the other way. Only in panels, whose swizzle suits it. */
bool cg_store_matrices(Cg *cg, const Op *op) {
    enum { FIRST_CAPABILITY = 90 };
    const Type *type = op_in(op, 0)->type, *buffer = op_in(op, 1)->type;
    LayoutMatrices m;
    Panels panels;
    if (cg->func->capability < FIRST_CAPABILITY || cg_owner(cg, type->layout) ||
        !layout_find_panels(cg->ctx, buffer, buffer->layout, &panels) ||
        !layout_matrices(cg->ctx, type->layout, buffer->layout, type_element_bytes(type), &m))
        return false;
    static const char *const registers[] = {"{$1}", "{$1, $2}", "{$1, $2, $3, $4}"};
    static const char *const constraints[] = {"r,r,~{memory}", "r,r,r,~{memory}",
                                              "r,r,r,r,r,~{memory}"};
    Lv *values = cg_in(cg, op, 0), base = cg_scalar(cg, op_in(op, 1)), args[5];
    const Plan *rows = cg_plan(cg, m.offsets);
    int row_bits = m.offsets->bits[LAYOUT_REG] - m.load_bits;
    uint32_t matrices = 1u << m.matrix_bits;
    for (uint32_t store = 0; store < 1u << m.load_bits; store++) {
        uint32_t image = layout_reg_image(m.offsets, store << row_bits);
        int64_t constant;
        args[0] = cg_shared_offset(cg, rows, base, type_element_bytes(type), image, &constant);
        const char *text =
            str_format(cg->arena, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$0+%lld], %s;",
                       1 << m.matrix_bits, m.transposed ? ".trans" : "", (long long)constant,
                       registers[m.matrix_bits]);
        for (uint32_t i = 0; i < matrices; i++)
            args[1 + i] = cg_word(cg, values + ((i | store << m.matrix_bits) << m.word_bits),
                                  1u << m.word_bits);
        cg_asm(cg, cg->t_void, text, constraints[m.matrix_bits], args, 1 + matrices,
               ASM_CONVERGENT);
    }
    return true;
}
