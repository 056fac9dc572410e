/* Tensor cores of one warp: mma.sync, ldmatrix that fetches its operands, and stmatrix that brings
 * results to where tensor copies take them.
 *
 * Contract with the layouts: the lanes and warps of acc, a and b are those of
 * layout_mma_accumulator and layout_mma_operand (ir/mma.h); which register holds what is read from
 * the maps. */
#include "codegen/cg.h"
#include "ir/mma.h"
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

bool cg_load_matrices(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type, *buffer = op_in(op, 0)->type;
    int bytes = type_element_bytes(type);
    LoadedPart part = cg_loaded_part(cg, op);
    LayoutMatrices m;
    if (type->kind != TYPE_NUMBER || type->dtype == DT_I1 ||
        part.first % (MATRIX_ROW_BYTES / (uint32_t)bytes) ||
        !layout_matrices(cg->ctx, part.layout, buffer->layout, bytes, &m))
        return false;
    static const char *const names[2][3] = {{"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16"},
                                            {"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16",
                                             "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"}};
    const char *name = names[m.transposed][m.matrix_bits];
    Lv base = cg_scalar(cg, op_in(op, 0)), *out = cg_new(cg, &op->out[0]);
    const Plan *rows = cg_plan(cg, m.offsets);
    int row_bits = m.offsets->bits[LAYOUT_REG] - m.load_bits;
    uint32_t matrices = 1u << m.matrix_bits, per_word = 1u << m.word_bits;
    LLVMTypeRef element = cg_dtype(cg, type->dtype);
    for (uint32_t load = 0; load < 1u << m.load_bits; load++) {
        uint32_t image = layout_reg_image(m.offsets, load << row_bits);
        Lv at = cg_shared_pointer(cg, rows, base, bytes, image ^ part.first);
        Lv words = cg_intrinsic(cg, name, &cg->t_shared, 1, &at, 1);
        for (uint32_t i = 0; i < matrices; i++) {
            Lv word = matrices > 1 ? LLVMBuildExtractValue(cg->b, words, i, "") : words;
            uint32_t first = (i | load << m.matrix_bits) << m.word_bits;
            if (per_word == 1) {
                out[first] = LLVMBuildBitCast(cg->b, word, element, "");
                continue;
            }
            Lv vector = LLVMBuildBitCast(cg->b, word, LLVMVectorType(element, per_word), "");
            for (uint32_t k = 0; k < per_word; k++)
                out[first + k] = LLVMBuildExtractElement(cg->b, vector, cg_i32(cg, k), "");
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
    const char *text =
        str_format(cg->arena, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$0], %s;",
                   1 << m.matrix_bits, m.transposed ? ".trans" : "", registers[m.matrix_bits]);
    Lv *values = cg_in(cg, op, 0), base = cg_scalar(cg, op_in(op, 1)), args[5];
    const Plan *rows = cg_plan(cg, m.offsets);
    int row_bits = m.offsets->bits[LAYOUT_REG] - m.load_bits;
    uint32_t matrices = 1u << m.matrix_bits;
    for (uint32_t store = 0; store < 1u << m.load_bits; store++) {
        uint32_t image = layout_reg_image(m.offsets, store << row_bits);
        args[0] = cg_shared_pointer(cg, rows, base, type_element_bytes(type), image);
        for (uint32_t i = 0; i < matrices; i++)
            args[1 + i] = cg_word(cg, values + ((i | store << m.matrix_bits) << m.word_bits),
                                  1u << m.word_bits);
        cg_asm(cg, cg->t_void, text, constraints[m.matrix_bits], args, 1 + matrices,
               ASM_CONVERGENT);
    }
    return true;
}

/* mma.sync */

/* One operand or the accumulator: its registers by what they hold. */
typedef struct Tile {
    const Type *type;
    Lv *regs;
    const uint32_t *find; /* by the register part of the index: register number + 1; 0: none */
    Lv *words; /* operand of the instruction that begins at a register; NULL: not packed yet */
} Tile;

typedef struct Product {
    const Mma *mma;
    Tile a, b, acc;
    int m, n, k; /* log2 of the tile's sides */
} Product;

static const uint32_t *registers_by_image(Cg *cg, const Layout *l) {
    uint32_t *table = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << l->out_bits);
    for (uint32_t reg = 0; reg < 1u << l->bits[LAYOUT_REG]; reg++)
        if (!table[layout_reg_image(l, reg)])
            table[layout_reg_image(l, reg)] = reg + 1;
    return table;
}

static bool same_threads(const Layout *a, const Layout *b) {
    if (layout_thread_bits(a) != layout_thread_bits(b))
        return false;
    for (int bit = 0; bit < layout_thread_bits(a); bit++)
        if (layout_thread_basis(a, bit) != layout_thread_basis(b, bit))
            return false;
    return true;
}

static bool holds_fragments(Cg *cg, const Mma *mma, const Op *op) {
    const Type *acc = op_in(op, 2)->type;
    int64_t warps[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const Layout *one_warp = layout_mma_accumulator(cg->ctx, mma, acc, warps, 0);
    bool ok = true;
    for (int bit = 0; bit < LAYOUT_LANE_BITS; bit++)
        ok &= layout_thread_basis(acc->layout, bit) == layout_thread_basis(one_warp, bit);
    for (int i = 0; i < 2; i++) {
        const Type *operand = op_in(op, (uint32_t)i)->type;
        ok &= same_threads(operand->layout,
                           layout_mma_operand(cg->ctx, mma, acc, acc->layout, operand, i));
    }
    return ok;
}

/* Coordinates of a product's element within the whole tiles. */
typedef struct Place {
    uint32_t batch, m, n, k;
} Place;

static uint32_t bits_of(uint32_t value, int bits) {
    return value & ((1u << bits) - 1);
}

static uint32_t index_in_a(const Product *p, Place at) {
    return (at.batch << p->m | bits_of(at.m, p->m)) << p->k | at.k;
}

static uint32_t index_in_b(const Product *p, Place at) {
    return (at.batch << p->k | at.k) << p->n | bits_of(at.n, p->n);
}

static uint32_t index_in_acc(const Product *p, Place at) {
    return (at.batch << p->m | bits_of(at.m, p->m)) << p->n | bits_of(at.n, p->n);
}

static Lv packed_operand(Cg *cg, DType dtype, const Lv *elements, uint32_t count) {
    if (dtype == DT_F64)
        return elements[0];
    return dtype == DT_F16 ? vector_of(cg, elements, count) : cg_word(cg, elements, count);
}

/* A register of an instruction: the elements of `tile` from `at` on along k. Packed once for all
 * instructions that take it. */
static Lv operand_word(Cg *cg, const Product *p, const Tile *tile, Place at,
                       uint32_t (*index_in)(const Product *, Place)) {
    Lv elements[4];
    uint32_t word = (uint32_t)mma_word(p->mma);
    DType dtype = tile->type->dtype;
    if (at.k >= 1u << p->k) {
        for (uint32_t i = 0; i < word; i++)
            elements[i] = cg_zero(cg_dtype(cg, dtype));
        return packed_operand(cg, dtype, elements, word);
    }
    Lv *packed = &tile->words[tile->find[index_in(p, at)] - 1];
    if (!*packed) {
        for (uint32_t i = 0; i < word; i++, at.k++)
            elements[i] = tile->regs[tile->find[index_in(p, at)] - 1];
        *packed = packed_operand(cg, dtype, elements, word);
    }
    return *packed;
}

/* Registers of A are ordered by row, then by k; those of B by k. */
static unsigned operand_words(Cg *cg, const Product *p, Place at, Lv *args) {
    const Mma *mma = p->mma;
    unsigned n = 0;
    uint32_t half = (uint32_t)mma_least_k(mma);
    for (uint32_t k = 0; k < (uint32_t)mma->k; k += half)
        for (uint32_t m = 0; m < (uint32_t)mma->m; m += 8)
            args[n++] =
                operand_word(cg, p, &p->a, (Place){at.batch, at.m + m, at.n, at.k + k}, index_in_a);
    for (uint32_t k = 0; k < (uint32_t)mma->k; k += half)
        args[n++] = operand_word(cg, p, &p->b, (Place){at.batch, at.m, at.n, at.k + k}, index_in_b);
    return n;
}

/* The accumulators of one instruction, in place: element i is row 8 (i / 2), column i % 2. */
static void multiply(Cg *cg, const Product *p, Place at) {
    const Mma *mma = p->mma;
    unsigned count = (unsigned)mma->m / 4; /* of 8 columns in 4 lanes, rows in 8 */
    bool pairs = mma->acc == DT_F16;
    Lv args[10];
    unsigned nargs = operand_words(cg, p, at, args);
    uint32_t reg[4];
    for (unsigned i = 0; i < count; i++) {
        Place element = {at.batch, at.m + (i & 2) * 4, at.n + (i & 1), 0};
        reg[i] = p->acc.find[index_in_acc(p, element)] - 1;
    }
    for (unsigned i = 0; i < count; i += pairs ? 2 : 1) {
        Lv x = p->acc.regs[reg[i]];
        if (pairs) {
            Lv both[2] = {x, p->acc.regs[reg[i + 1]]};
            x = vector_of(cg, both, 2);
        }
        args[nargs++] = x;
    }
    Lv result = cg_intrinsic(cg, mma->intrinsic, NULL, 0, args, nargs);
    for (unsigned i = 0; i < count; i++) {
        if (!pairs) {
            p->acc.regs[reg[i]] = LLVMBuildExtractValue(cg->b, result, i, "");
            continue;
        }
        Lv both = LLVMBuildExtractValue(cg->b, result, i / 2, "");
        p->acc.regs[reg[i]] = LLVMBuildExtractElement(cg->b, both, cg_i32(cg, i & 1), "");
    }
}

static int log2_of(int64_t size) {
    return __builtin_ctzll((unsigned long long)size);
}

static Tile tile_of(Cg *cg, const Op *op, uint32_t index) {
    const Type *type = op_in(op, index)->type;
    return (Tile){type, cg_in(cg, op, index), registers_by_image(cg, type->layout),
                  ARENA_ARRAY(cg->arena, Lv, cg_count(type))};
}

void cg_dot_mma(Cg *cg, const Op *op) {
    const Type *a = op_in(op, 0)->type, *acc = op_in(op, 2)->type;
    const Mma *mma =
        mma_find(a->dtype, op_in(op, 1)->type->dtype, acc->dtype, cg->func->capability);
    if (!mma || !holds_fragments(cg, mma, op)) {
        cg_unsupported_layout(cg, op);
        return;
    }
    Product p = {.mma = mma,
                 .a = tile_of(cg, op, 0),
                 .b = tile_of(cg, op, 1),
                 .acc = tile_of(cg, op, 2),
                 .m = log2_of(acc->shape[acc->rank - 2]),
                 .n = log2_of(acc->shape[acc->rank - 1]),
                 .k = log2_of(a->shape[a->rank - 1])};
    cg_dot_remark(cg, op, mma);
    const Plan *plan = cg_plan(cg, acc->layout);
    Lv *out = cg_new(cg, &op->out[0]);
    memcpy(out, p.acc.regs, plan->count * sizeof *out);
    p.acc.regs = out;
    /* k outermost: consecutive instructions are independent. */
    for (uint32_t k = 0; k < 1u << p.k; k += (uint32_t)mma->k)
        for (uint32_t reg = 0; reg < plan->count; reg++) {
            uint32_t at = layout_reg_image(acc->layout, reg);
            Place place = {.batch = at >> (p.n + p.m),
                           .m = bits_of(at >> p.n, p.m),
                           .n = bits_of(at, p.n),
                           .k = k};
            if (plan->rep[reg] == reg && place.m % (uint32_t)mma->m == 0 &&
                place.n % (uint32_t)mma->n == 0)
                multiply(cg, &p, place);
        }
    for (uint32_t reg = 0; reg < plan->count; reg++)
        out[reg] = out[plan->rep[reg]];
}
