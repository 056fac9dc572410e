/* Matrices of 8 x 8 between shared memory and registers: ldmatrix, which fetches operands of
 * mma.sync (those that a product follows: mma.c), and stmatrix, which brings results to where
 * tensor copies take them. */
#include "codegen/memory/matrix.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "target/panels.h"
#include "target/target.h"

enum { MATRIX_ROW_BYTES = 16, MOST_MATRICES = 4 /* of one instruction */ };

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

/* The words of one stmatrix. */
typedef struct StoredWords {
    Lv *elements; /* `each` of every word */
    uint32_t words, each;
} StoredWords;

/* Operands $1 and on, and in the text what names the words: themselves, or what the text rounds
 * f32 to. */
static uint32_t put_words(Cg *cg, const StoredWords *s, Lv *args, StrBuf *text, StrBuf *names) {
    Lv from[2 * MOST_MATRICES];
    const char *rounds = "";
    for (uint32_t i = 0; i < s->words && rounds; i++)
        rounds = cg_rounded_word(cg, s->elements + i * s->each, s->each, from + 2 * i);
    if (rounds)
        strbuf_puts(text, ".reg .b32 %w<4>;\n\t");
    for (uint32_t i = 0; i < s->words; i++) {
        strbuf_printf(names, rounds ? "%s%%w%u" : "%s$%u", i ? ", " : "", rounds ? i : 1 + i);
        if (rounds)
            strbuf_printf(text, "%s %%w%u, $%u, $%u;\n\t", rounds, i, 2 * i + 2, 2 * i + 1);
        else
            args[i] = cg_word(cg, s->elements + i * s->each, s->each);
    }
    if (rounds)
        memcpy(args, from, 2 * s->words * sizeof *from);
    return rounds ? 2 * s->words : s->words;
}

static void put_stored(Cg *cg, const LayoutMatrices *m, Lv at, int64_t constant, Lv *elements) {
    StoredWords words = {elements, 1u << m->matrix_bits, 1u << m->word_bits};
    StrBuf text = strbuf(cg->arena), names = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv args[1 + 2 * MOST_MATRICES] = {at};
    strbuf_puts(&text, "{\n\t");
    uint32_t count = put_words(cg, &words, args + 1, &text, &names);
    strbuf_printf(&text, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$0+%lld], {%s};\n\t}",
                  1 << m->matrix_bits, m->transposed ? ".trans" : "", (long long)constant,
                  strbuf_str(&names).ptr);
    strbuf_puts(&constraints, "r");
    for (uint32_t i = 0; i < count; i++)
        strbuf_puts(&constraints, count > words.words ? ",f" : ",r");
    strbuf_puts(&constraints, ",~{memory}");
    cg_asm(cg, cg->t_void, strbuf_str(&text).ptr, strbuf_str(&constraints).ptr, args, 1 + count,
           ASM_CONVERGENT);
}

/* stmatrix: as ldmatrix, the other way. Only in panels, whose swizzle suits it. */
bool cg_store_matrices(Cg *cg, const Layout *layout, const uint32_t *regs, uint32_t first,
                       const Lv *values, const Value *to) {
    const Type *buffer = to->type;
    int bytes = type_element_bytes(buffer);
    LayoutMatrices m;
    Panels panels;
    if (!target_has(cg->func->capability, FEATURE_STMATRIX) ||
        first % (MATRIX_ROW_BYTES / (uint32_t)bytes) ||
        !layout_find_panels(cg->ctx, buffer, buffer->layout, &panels) ||
        !layout_matrices(cg->ctx, layout, buffer->layout, bytes, &m))
        return false;
    Lv base = cg_scalar(cg, to), elements[4 * MOST_MATRICES];
    const Plan *rows = cg_plan(cg, m.offsets);
    int row_bits = m.offsets->bits[LAYOUT_REG] - m.load_bits;
    uint32_t count = 1u << m.matrix_bits << m.word_bits;
    for (uint32_t store = 0; store < 1u << m.load_bits; store++) {
        uint32_t image = layout_reg_image(m.offsets, store << row_bits) ^ first;
        int64_t constant;
        Lv at = cg_shared_offset(cg, rows, base, bytes, image, &constant);
        for (uint32_t i = 0; i < count; i++)
            elements[i] = cg_to_memory(cg, buffer->dtype, values[regs[store * count + i]]);
        put_stored(cg, &m, at, constant, elements);
    }
    return true;
}
