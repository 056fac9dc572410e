/* Tensor cores of four warps: wgmma with operands in shared memory, the first one in registers too.
 *
 * An op becomes one piece of PTX: fence, the products of all steps along K for each 64 rows and up
 * to 256 columns of a warpgroup, commit, wait. The accumulators go through it in place. Operands in
 * shared memory are given by descriptors (PTX ISA, "Matrix Descriptor Format"); only their address
 * differs between steps and parts, so that each operand has one, to which constants are added.
 *
 * Contract with the layouts: accumulator and buffers are those of ir/wgmma.h, operand a in
 * registers is that of mma.sync (ir/mma.h). */
#include "ir/wgmma.h"
#include "codegen/cg.h"
#include "ir/mma.h"

enum {
    UNIT_LOG2 = 4, /* addresses and strides count 16 bytes */
    ADDRESS_MASK = 0x3FFF,
    LEADING_SHIFT = 16,
    LINES = 8,
    SWIZZLE_SHIFT = 30, /* in the high half */
    A_WORDS = 4         /* of an instruction's operand a in each thread */
};

typedef struct Operand {
    const Type *type; /* of the buffer or tile */
    bool in_registers;
    const Layout *offsets;
    WgmmaBuffer lies;
    int k; /* dimension of the buffer that is K */
} Operand;

typedef struct Product {
    Operand in[2];
    const Type *acc;
    int64_t rows, columns, depth; /* of a warpgroup */
    int64_t n, k;                 /* of an instruction */
} Product;

static bool operand_of(Cg *cg, const Op *op, uint32_t index, Operand *out) {
    bool turned = op->attrs[0].i >> index & 1;
    out->type = op_in(op, index)->type;
    out->k = (index == 0) ^ turned;
    out->in_registers = out->type->kind != TYPE_BUFFER;
    if (out->in_registers)
        return out->type->layout == wgmma_operand_in_registers(cg->ctx, op->out[0].type, out->type);
    out->offsets = layout_invert(cg->ctx, out->type->layout);
    return wgmma_buffer(cg->ctx, out->type, out->type->layout, &out->lies);
}

bool cg_wgmma_operand(Cg *cg, const Op *op, uint32_t index, WgmmaBuffer *out) {
    Operand operand = {0};
    bool found = operand_of(cg, op, index, &operand) && !operand.in_registers;
    *out = operand.lies;
    return found;
}

static bool product_of(Cg *cg, const Op *op, Product *out) {
    int64_t groups[2];
    out->acc = op->out[0].type;
    if (!wgmma_grouping(cg->ctx, out->acc, groups) || !operand_of(cg, op, 0, &out->in[0]) ||
        !operand_of(cg, op, 1, &out->in[1]))
        return false;
    const Type *a = out->in[0].type;
    out->rows = out->acc->shape[0] / groups[0];
    out->columns = out->acc->shape[1] / groups[1];
    out->depth = a->shape[out->in[0].k];
    out->n = out->columns < WGMMA_MAX_N ? out->columns : WGMMA_MAX_N;
    out->k = WGMMA_K_BYTES / type_element_bytes(a);
    return out->depth >= out->k &&
           wgmma_takes(a->dtype, out->in[1].type->dtype, out->acc->dtype, cg->func->capability);
}

static void instruction_name(StrBuf *text, const Product *p) {
    strbuf_printf(text, "m64n%lldk%lld.%s.%s.%s", (long long)p->n, (long long)p->k,
                  type_is_int(p->acc) ? "s32" : "f32", wgmma_type_name(p->in[0].type->dtype),
                  wgmma_type_name(p->in[1].type->dtype));
}

const char *cg_wgmma_name(Cg *cg, const Op *op) {
    Product p;
    StrBuf text = strbuf(cg->arena);
    strbuf_puts(&text, "wgmma.");
    if (product_of(cg, op, &p))
        instruction_name(&text, &p);
    return strbuf_str(&text).ptr;
}

static int log2_of(int64_t size) {
    return __builtin_ctzll((unsigned long long)size);
}

/* The element of a buffer at place `mn` along M or N and `k` along K. */
static uint32_t index_of(const Operand *operand, int64_t mn, int64_t k) {
    int64_t row = operand->k == 0 ? k : mn, column = operand->k == 0 ? mn : k;
    return (uint32_t)(row << log2_of(operand->type->shape[1]) | column);
}

/* Where it lies, in units of 16 bytes; of the first of a part, which begins a unit. */
static int64_t unit_of(const Operand *operand, int64_t mn, int64_t k) {
    int64_t offset = layout_apply(operand->offsets, index_of(operand, mn, k), 0, 0, 0);
    return offset * type_element_bytes(operand->type) >> UNIT_LOG2;
}

/* Everything but the address. */
static uint64_t descriptor_constant(const Operand *operand) {
    const WgmmaBuffer *lies = &operand->lies;
    uint64_t swizzle = lies->span == 128 ? 1 : lies->span == 64 ? 2 : 3;
    uint64_t stride = (uint64_t)(LINES * lies->span) >> UNIT_LOG2;
    /* From one panel to the next, where an instruction reads several. */
    uint64_t leading = 1;
    if (lies->line != operand->k)
        leading = (uint64_t)(operand->type->shape[operand->k] * lies->span) >> UNIT_LOG2;
    return (swizzle << SWIZZLE_SHIFT | stride) << 32 | leading << LEADING_SHIFT;
}

/* Units from the buffer's start to the part of the thread's warpgroup. One value in a warp, and
 * seen to be: descriptors live in uniform registers. */
static Lv warpgroup_units(Cg *cg, const Product *p, int index) {
    const Operand *operand = &p->in[index];
    const Layout *acc = p->acc->layout;
    const uint32_t *warps = layout_bases(acc, LAYOUT_WARP);
    int columns_log2 = log2_of(p->acc->shape[1]), bits = acc->bits[LAYOUT_WARP];
    uint32_t basis[LAYOUT_MAX_BASES] = {0}, any = 0;
    for (int i = 2; i < bits; i++) {
        int64_t row = warps[i] >> columns_log2, column = warps[i] & (p->acc->shape[1] - 1);
        basis[i] = (uint32_t)unit_of(operand, index == 0 ? row : column, 0);
        any |= basis[i];
    }
    if (!any)
        return NULL;
    LLVMBuilderRef b = cg->b;
    cg->b = cg->entry;
    Lv warp = cg_shuffle(cg, "idx", cg->warp, cg_i32(cg, 0));
    cg->b = b;
    return cg_linear(cg, cg->entry, warp, basis, bits);
}

static Lv descriptor(Cg *cg, const Op *op, const Product *p, int index) {
    Lv at = LLVMBuildPtrToInt(cg->b, cg_scalar(cg, op_in(op, (uint32_t)index)), cg->t_i32, "");
    at = LLVMBuildLShr(cg->b, at, cg_i32(cg, UNIT_LOG2), "");
    Lv part = warpgroup_units(cg, p, index);
    if (part)
        at = LLVMBuildAdd(cg->b, at, part, "");
    at = LLVMBuildAnd(cg->b, at, cg_i32(cg, ADDRESS_MASK), "");
    Lv constant = LLVMConstInt(cg->t_i64, descriptor_constant(&p->in[index]), false);
    return LLVMBuildOr(cg->b, LLVMBuildZExt(cg->b, at, cg->t_i64, ""), constant, "");
}

/* Registers in the order of the instructions: parts of 64 rows, in them parts of n columns. */
static uint32_t *ordered_registers(Cg *cg, const Product *p) {
    const Layout *layout = p->acc->layout;
    uint32_t count = 1u << layout->bits[LAYOUT_REG], n = 0;
    uint32_t *by_image = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << layout->out_bits);
    uint32_t *order = ARENA_ARRAY(cg->arena, uint32_t, count);
    for (uint32_t reg = 0; reg < count; reg++)
        by_image[layout_reg_image(layout, reg)] = reg;
    int row_shift = log2_of(p->acc->shape[1]);
    for (int64_t row = 0; row < p->rows; row += WGMMA_M)
        for (int64_t column = 0; column < p->columns; column += p->n)
            for (int64_t i = 0; i < p->n / 2; i++) {
                int64_t m = row + 8 * (i >> 1 & 1), at = column + 8 * (i >> 2) + (i & 1);
                order[n++] = by_image[m << row_shift | at];
            }
    return order;
}

/* Operand a in registers: the words of each part of 64 rows, in them those of each step along K. */
static Lv *ordered_words(Cg *cg, const Op *op, const Product *p, uint32_t *count) {
    const Type *type = p->in[0].type;
    const Layout *layout = type->layout;
    uint32_t regs = 1u << layout->bits[LAYOUT_REG], n = 0;
    uint32_t *by_image = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << layout->out_bits);
    for (uint32_t reg = 0; reg < regs; reg++)
        by_image[layout_reg_image(layout, reg)] = reg;
    int per_word = WGMMA_WORD_BYTES / type_element_bytes(type), row_shift = log2_of(p->depth);
    Lv *in = cg_in(cg, op, 0), *words = ARENA_ARRAY(cg->arena, Lv, regs);
    for (int64_t row = 0; row < p->rows; row += WGMMA_M)
        for (int64_t k = 0; k < p->depth; k += p->k)
            for (int i = 0; i < A_WORDS; i++) {
                int64_t m = row + 8 * (i & 1), at = k + 4ll * per_word * (i >> 1);
                Lv elements[WGMMA_WORD_BYTES];
                for (int e = 0; e < per_word; e++)
                    elements[e] = in[by_image[m << row_shift | (at + e)]];
                words[n++] = cg_word(cg, elements, (uint32_t)per_word);
            }
    *count = n;
    return words;
}

/* Operands of the piece of PTX: results and their inputs, then operand a, then operand b. */
typedef struct Places {
    uint32_t results, a, b;
} Places;

/* One instruction: rows from `row` on, columns from `column` on, K from `k` on. */
static void put_instruction(StrBuf *text, const Product *p, const Places *at, int64_t row,
                            int64_t column, int64_t k, bool adds) {
    const Operand *a = &p->in[0], *b = &p->in[1];
    uint32_t steps = (uint32_t)(p->depth / p->k), part = (uint32_t)(row / WGMMA_M);
    uint32_t first =
        (part * (uint32_t)(p->columns / p->n) + (uint32_t)(column / p->n)) * (uint32_t)p->n / 2;
    if (!a->in_registers)
        strbuf_printf(text, "add.s64 %%wa, $%u, %lld;\n\t", at->a, (long long)unit_of(a, row, k));
    strbuf_printf(text, "add.s64 %%wb, $%u, %lld;\n\t", at->b, (long long)unit_of(b, column, k));
    strbuf_puts(text, "wgmma.mma_async.sync.aligned.");
    instruction_name(text, p);
    strbuf_puts(text, " {");
    for (uint32_t i = 0; i < (uint32_t)p->n / 2; i++)
        strbuf_printf(text, "%s$%u", i ? ", " : "", first + i);
    strbuf_puts(text, "}, ");
    uint32_t word = at->a + (part * steps + (uint32_t)(k / p->k)) * A_WORDS;
    if (a->in_registers)
        strbuf_printf(text, "{$%u, $%u, $%u, $%u}", word, word + 1, word + 2, word + 3);
    else
        strbuf_puts(text, "%wa");
    strbuf_printf(text, ", %%wb, %s", adds ? "1" : "0");
    if (!type_is_int(p->acc))
        strbuf_puts(text, ", 1, 1"); /* not negated */
    if (!a->in_registers && wgmma_takes_mn_major(a->type))
        strbuf_printf(text, ", %d", a->lies.line != a->k);
    if (wgmma_takes_mn_major(b->type))
        strbuf_printf(text, ", %d", b->lies.line != b->k);
    strbuf_puts(text, ";\n\t");
}

static void put_products(StrBuf *text, const Product *p, const Places *at, bool from_zero) {
    for (int64_t k = 0; k < p->depth; k += p->k)
        for (int64_t row = 0; row < p->rows; row += WGMMA_M)
            for (int64_t column = 0; column < p->columns; column += p->n)
                put_instruction(text, p, at, row, column, k, k > 0 || !from_zero);
}

static void put_constraints(StrBuf *text, const Type *acc, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(text, "%s=%c", i ? "," : "", type_is_int(acc) ? 'r' : 'f');
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(text, ",%u", i);
}

static LLVMTypeRef struct_of(Cg *cg, LLVMTypeRef element, uint32_t count) {
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, count);
    for (uint32_t i = 0; i < count; i++)
        types[i] = element;
    return LLVMStructTypeInContext(cg->llvm, types, count, false);
}

static bool all_zero(const Lv *regs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!LLVMIsConstant(regs[i]) || !LLVMIsNull(regs[i]))
            return false;
    return true;
}

void lower_wgmma(Cg *cg, const Op *op) {
    Product p;
    if (!product_of(cg, op, &p)) {
        cg_unsupported_layout(cg, op);
        return;
    }
    cg_wgmma_remark(cg, op);
    uint32_t count = 1u << p.acc->layout->bits[LAYOUT_REG];
    const uint32_t *order = ordered_registers(cg, &p);
    uint32_t words = 1;
    Lv first = p.in[0].in_registers ? NULL : descriptor(cg, op, &p, 0);
    const Lv *a = first ? &first : ordered_words(cg, op, &p, &words);
    Lv *acc = cg_in(cg, op, 2), *out = cg_new(cg, &op->out[0]);
    Lv *args = ARENA_ARRAY(cg->arena, Lv, count + words + 1);
    bool from_zero = all_zero(acc, count);
    for (uint32_t i = 0; i < count; i++)
        args[i] = from_zero ? LLVMGetUndef(LLVMTypeOf(acc[i])) : acc[order[i]];
    memcpy(args + count, a, words * sizeof *a);
    args[count + words] = descriptor(cg, op, &p, 1);

    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    const Places at = {count, 2 * count, 2 * count + words};
    strbuf_puts(&text, "{\n\t.reg .b64 %wa, %wb;\n\twgmma.fence.sync.aligned;\n\t");
    put_products(&text, &p, &at, from_zero);
    strbuf_printf(&text,
                  "wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned %d;\n\t}",
                  op->attrs[1].i ? 1 : 0);
    put_constraints(&constraints, op->out[0].type, count);
    for (uint32_t i = 0; i < words; i++)
        strbuf_puts(&constraints, first ? ",l" : ",r");
    strbuf_puts(&constraints, ",l,~{memory}");
    Lv result = cg_asm(cg, struct_of(cg, LLVMTypeOf(acc[0]), count), strbuf_str(&text).ptr,
                       strbuf_str(&constraints).ptr, args, count + words + 1, ASM_CONVERGENT);
    for (uint32_t i = 0; i < count; i++)
        out[order[i]] = LLVMBuildExtractValue(cg->b, result, i, "");
}

/* The registers go through it, so that none is read before. */
void lower_wgmma_wait(Cg *cg, const Op *op) {
    uint32_t count = 1u << op->out[0].type->layout->bits[LAYOUT_REG];
    Lv *in = cg_in(cg, op, 0), *out = cg_new(cg, &op->out[0]);
    StrBuf constraints = strbuf(cg->arena);
    put_constraints(&constraints, op->out[0].type, count);
    strbuf_puts(&constraints, ",~{memory}");
    Lv result =
        cg_asm(cg, struct_of(cg, LLVMTypeOf(in[0]), count), "wgmma.wait_group.sync.aligned 0;",
               strbuf_str(&constraints).ptr, in, count, ASM_CONVERGENT);
    for (uint32_t i = 0; i < count; i++)
        out[i] = LLVMBuildExtractValue(cg->b, result, i, "");
}
