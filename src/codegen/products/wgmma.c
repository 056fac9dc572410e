/* Tensor cores of four warps: wgmma with operands in shared memory, the first one in registers too.
 *
 * An op becomes one piece of PTX: fence, the products of all steps along K for each 64 rows and up
 * to 256 columns of a warpgroup, commit, wait. Several products of one operand a (wgmma_joint) take
 * turns in it, or are one instruction where their operands b lie one behind the other. The
 * accumulators go through it in place. Operands in shared memory are given by descriptors (PTX ISA,
 * "Matrix Descriptor Format"); only their address differs between steps and parts, so that each
 * operand has one, to which constants are added.
 *
 * Contract with the layouts: accumulator and buffers are those of target/wgmma.h, operand a in
 * registers is that of mma.sync (target/mma.h). */
#include "target/wgmma.h"
#include "codegen/lowerings.h"
#include "codegen/products/dot_remark.h"
#include "codegen/products/wgmma_product.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "support/bits.h"
#include "target/mma.h"

enum {
    UNIT_LOG2 = 4, /* addresses and strides count 16 bytes */
    ADDRESS_MASK = 0x3FFF,
    LEADING_SHIFT = 16,
    SWIZZLE_SHIFT = 30, /* in the high half */
    A_WORDS = 4         /* of an instruction's operand a in each thread */
};

/* The element of a buffer at place `mn` along M or N and `k` along K. */
static uint32_t index_of(const WgmmaOperand *operand, int64_t mn, int64_t k) {
    int64_t row = operand->k == 0 ? k : mn, column = operand->k == 0 ? mn : k;
    return (uint32_t)(row << log2_exact(operand->type->shape[1]) | column);
}

/* Where it lies, in units of 16 bytes; of the first of a part, which begins a unit. */
static int64_t unit_of(const WgmmaOperand *operand, int64_t mn, int64_t k) {
    int64_t offset = layout_apply(operand->offsets, index_of(operand, mn, k), 0, 0, 0);
    return offset * type_element_bytes(operand->type) >> UNIT_LOG2;
}

/* Everything but the address. */
static uint64_t descriptor_constant(const WgmmaOperand *operand) {
    const Panels *lies = &operand->lies;
    uint64_t swizzle = lies->span == PANEL_MOST_SPAN ? 1 : lies->span == 64 ? 2 : 3;
    uint64_t stride = (uint64_t)(PANEL_LINES * lies->span) >> UNIT_LOG2;
    /* From one panel to the next, where an instruction reads several. */
    uint64_t leading = 1;
    if (lies->line != operand->k)
        leading = (uint64_t)(operand->type->shape[operand->k] * lies->span) >> UNIT_LOG2;
    return (swizzle << SWIZZLE_SHIFT | stride) << 32 | leading << LEADING_SHIFT;
}

/* Units from the buffer's start to the part of the thread's warpgroup, by the sum that the operand
 * goes into. One value in a warp, and seen to be: descriptors live in uniform registers. */
static Lv warpgroup_units(Cg *cg, const WgmmaOperand *operand, const Type *acc, bool is_a) {
    const uint32_t *warps = layout_bases(acc->layout, LAYOUT_WARP);
    int columns_log2 = log2_exact(acc->shape[1]), bits = acc->layout->bits[LAYOUT_WARP];
    uint32_t basis[LAYOUT_MAX_BASES] = {0}, any = 0;
    for (int i = 2; i < bits; i++) {
        int64_t row = warps[i] >> columns_log2, column = warps[i] & (acc->shape[1] - 1);
        basis[i] = (uint32_t)unit_of(operand, is_a ? row : column, 0);
        any |= basis[i];
    }
    if (!any)
        return NULL;
    LLVMBuilderRef b = cg->b;
    cg->b = cg->entry;
    Lv warp = cg_uniform(cg, cg->warp);
    cg->b = b;
    return cg_linear(cg, cg->entry, warp, basis, bits);
}

/* Of operand a, or the b of a product. */
static Lv descriptor(Cg *cg, const Value *buffer, const WgmmaOperand *operand, const Type *acc,
                     bool is_a) {
    Lv at = LLVMBuildPtrToInt(cg->b, cg_scalar(cg, buffer), cg->t_i32, "");
    at = LLVMBuildLShr(cg->b, at, cg_i32(cg, UNIT_LOG2), "");
    Lv part = warpgroup_units(cg, operand, acc, is_a);
    if (part)
        at = LLVMBuildAdd(cg->b, at, part, "");
    at = LLVMBuildAnd(cg->b, at, cg_i32(cg, ADDRESS_MASK), "");
    Lv constant = LLVMConstInt(cg->t_i64, descriptor_constant(operand), false);
    return LLVMBuildOr(cg->b, LLVMBuildZExt(cg->b, at, cg->t_i64, ""), constant, "");
}

/* A register of a product's sum. */
typedef struct SumRegister {
    uint32_t product, reg;
} SumRegister;

static const uint32_t *registers_by_image(Cg *cg, const Layout *layout) {
    uint32_t *by_image = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << layout->out_bits);
    for (uint32_t reg = 0; reg < 1u << layout->bits[LAYOUT_REG]; reg++)
        by_image[layout_reg_image(layout, reg)] = reg;
    return by_image;
}

/* Registers in the order of the instructions: parts of 64 rows, in them product by product and
 * column by column. */
static SumRegister *ordered_registers(Cg *cg, const WgmmaProduct *p, uint32_t *count) {
    const uint32_t *by_image[MAX_JOINT_PRODUCTS];
    for (uint32_t i = 0; i < p->count; i++)
        by_image[i] = registers_by_image(cg, p->acc[i]->layout);
    uint32_t n = 0;
    SumRegister *order =
        ARENA_ARRAY(cg->arena, SumRegister, (size_t)(p->rows / WGMMA_M * p->all_columns / 2));
    for (int64_t row = 0; row < p->rows; row += WGMMA_M)
        for (uint32_t i = 0; i < p->count; i++)
            for (int64_t c = 0; c < p->columns[i] / 2; c++) {
                int64_t m = row + 8 * (c >> 1 & 1), at = 8 * (c >> 2) + (c & 1);
                int64_t image = m << log2_exact(p->acc[i]->shape[1]) | at;
                order[n++] = (SumRegister){i, by_image[i][image]};
            }
    *count = n;
    return order;
}

/* WgmmaOperand a as arguments of the piece: words, or a descriptor; where `rounds` is set, pairs of
 * f32, of which that instruction makes words. */
typedef struct OperandA {
    Lv *args;
    uint32_t count;
    const char *rounds;
} OperandA;

/* In registers: the words of each part of 64 rows, in them those of each step along K. */
static OperandA ordered_words(Cg *cg, const Op *op, const WgmmaProduct *p) {
    const Type *type = p->a.type;
    uint32_t regs = 1u << type->layout->bits[LAYOUT_REG], n = 0;
    const uint32_t *by_image = registers_by_image(cg, type->layout);
    int row_shift = log2_exact(p->depth);
    uint32_t per_word = WGMMA_WORD_BYTES / (uint32_t)type_element_bytes(type);
    Lv *in = cg_in(cg, op, 0), *elements = ARENA_ARRAY(cg->arena, Lv, regs);
    for (int64_t row = 0; row < p->rows; row += WGMMA_M)
        for (int64_t k = 0; k < p->depth; k += p->k)
            for (int i = 0; i < A_WORDS; i++) {
                int64_t m = row + 8 * (i & 1), at = k + 4ll * per_word * (i >> 1);
                for (uint32_t e = 0; e < per_word; e++)
                    elements[n++] = in[by_image[m << row_shift | (at + e)]];
            }
    OperandA a = {ARENA_ARRAY(cg->arena, Lv, n), n, ""};
    for (uint32_t i = 0; i < n && a.rounds; i += per_word)
        a.rounds = cg_rounded_word(cg, elements + i, per_word, a.args + i);
    if (!a.rounds) {
        a.count = n / per_word;
        for (uint32_t i = 0; i < a.count; i++)
            a.args[i] = cg_word(cg, elements + i * per_word, per_word);
    }
    return a;
}

/* Operands of the piece of PTX: results and their inputs, then operand a, then the b. */
typedef struct Places {
    uint32_t results, a, b;
    const char *rounds; /* operand a is made by the piece, as %w0, %w1, ... */
} Places;

/* One instruction: rows from `row` on, columns from `column` of operand b `index` on, K from `k`
 * on; its first register is that of column `first` of all. */
static void put_instruction(StrBuf *text, const WgmmaProduct *p, const Places *at, int64_t row,
                            uint32_t index, int64_t column, int64_t first, int64_t k, bool adds) {
    const WgmmaOperand *a = &p->a, *b = &p->b[index];
    uint32_t steps = (uint32_t)(p->depth / p->k), part = (uint32_t)(row / WGMMA_M);
    uint32_t registers = (uint32_t)wgmma_columns_at_once(p, index) / 2;
    uint32_t reg = part * (uint32_t)p->all_columns / 2 + (uint32_t)first / 2;
    if (!a->in_registers)
        strbuf_printf(text, "add.s64 %%wa, $%u, %lld;\n\t", at->a, (long long)unit_of(a, row, k));
    strbuf_printf(text, "add.s64 %%wb, $%u, %lld;\n\t", at->b + index,
                  (long long)unit_of(b, column, k));
    strbuf_puts(text, "wgmma.mma_async.sync.aligned.");
    wgmma_put_name(text, p, index);
    strbuf_puts(text, " {");
    for (uint32_t i = 0; i < registers; i++)
        strbuf_printf(text, "%s$%u", i ? ", " : "", reg + i);
    strbuf_puts(text, "}, ");
    uint32_t word = (part * steps + (uint32_t)(k / p->k)) * A_WORDS;
    if (!a->in_registers)
        strbuf_puts(text, "%wa");
    else if (at->rounds)
        strbuf_printf(text, "{%%w%u, %%w%u, %%w%u, %%w%u}", word, word + 1, word + 2, word + 3);
    else
        strbuf_printf(text, "{$%u, $%u, $%u, $%u}", at->a + word, at->a + word + 1,
                      at->a + word + 2, at->a + word + 3);
    strbuf_printf(text, ", %%wb, %s", adds ? "1" : "0");
    if (!type_is_int(p->acc[index]))
        strbuf_puts(text, ", 1, 1"); /* not negated */
    if (!a->in_registers && wgmma_takes_mn_major(a->type))
        strbuf_printf(text, ", %d", a->lies.line != a->k);
    if (wgmma_takes_mn_major(b->type))
        strbuf_printf(text, ", %d", b->lies.line != b->k);
    strbuf_puts(text, ";\n\t");
}

/* All columns for the rows from `row` on and K from `k` on. */
static void put_row(StrBuf *text, const WgmmaProduct *p, const Places *at, int64_t row, int64_t k,
                    bool adds) {
    int64_t first = 0;
    for (uint32_t i = 0; i < (p->adjacent ? 1 : p->count); i++) {
        int64_t n = wgmma_columns_at_once(p, i);
        for (int64_t column = 0; column < (p->adjacent ? n : p->columns[i]); column += n)
            put_instruction(text, p, at, row, i, column, first + column, k, adds);
        first += p->columns[i];
    }
}

static void put_products(StrBuf *text, const WgmmaProduct *p, const Places *at, bool from_zero) {
    for (int64_t k = 0; k < p->depth; k += p->k)
        for (int64_t row = 0; row < p->rows; row += WGMMA_M)
            put_row(text, p, at, row, k, k > 0 || !from_zero);
}

static void put_roundings(StrBuf *text, const Places *at, uint32_t words) {
    strbuf_printf(text, ".reg .b32 %%w<%u>;\n\t", words);
    for (uint32_t i = 0; i < words; i++)
        strbuf_printf(text, "%s %%w%u, $%u, $%u;\n\t", at->rounds, i, at->a + 2 * i + 1,
                      at->a + 2 * i);
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

static bool all_zero(Cg *cg, const Op *op, const WgmmaProduct *p) {
    for (uint32_t i = 0; i < p->count; i++) {
        const Lv *regs = cg_in(cg, op, wgmma_sum_operand(op, i));
        for (uint32_t reg = 0; reg < 1u << p->acc[i]->layout->bits[LAYOUT_REG]; reg++)
            if (!LLVMIsConstant(regs[reg]) || !LLVMIsNull(regs[reg]))
                return false;
    }
    return true;
}

/* The sums in order, operand a, the descriptors of b. */
static Lv *arguments(Cg *cg, const Op *op, const WgmmaProduct *p, const SumRegister *order,
                     uint32_t count, bool from_zero, OperandA *a) {
    const Lv *sums[MAX_JOINT_PRODUCTS];
    for (uint32_t i = 0; i < p->count; i++)
        sums[i] = cg_in(cg, op, wgmma_sum_operand(op, i));
    if (p->a.in_registers) {
        *a = ordered_words(cg, op, p);
    } else {
        *a = (OperandA){ARENA_NEW(cg->arena, Lv), 1, NULL};
        a->args[0] = descriptor(cg, op_in(op, 0), &p->a, p->acc[0], true);
    }
    Lv *args = ARENA_ARRAY(cg->arena, Lv, count + a->count + p->count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Lv sum = sums[order[i].product][order[i].reg];
        args[i] = from_zero ? LLVMGetUndef(LLVMTypeOf(sum)) : sum;
    }
    memcpy(args + count, a->args, a->count * sizeof *a->args);
    for (uint32_t i = 0; i < p->count; i++)
        args[count + a->count + i] = descriptor(cg, op_in(op, 1 + i), &p->b[i], p->acc[i], false);
    return args;
}

/* Waits for those before it, and for it too unless it is in flight; beside others, for none. */
static void put_end(StrBuf *text, const Op *op) {
    bool in_flight = op_in_flight(op), beside = op_beside(op);
    strbuf_puts(text, "wgmma.commit_group.sync.aligned;\n\t");
    if (!in_flight || !beside)
        strbuf_printf(text, "wgmma.wait_group.sync.aligned %d;\n\t", in_flight);
}

static void lower_products(Cg *cg, const Op *op) {
    WgmmaProduct p;
    if (!wgmma_product_of(cg, op, &p)) {
        cg_unsupported_layout(cg, op);
        return;
    }
    cg_wgmma_remark(cg, op);
    uint32_t count;
    OperandA a;
    bool from_zero = all_zero(cg, op, &p);
    const SumRegister *order = ordered_registers(cg, &p, &count);
    Lv *args = arguments(cg, op, &p, order, count, from_zero, &a);
    uint32_t operands_b = p.adjacent ? 1 : p.count;

    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    const Places at = {count, 2 * count, 2 * count + a.count, a.rounds};
    bool guarded = op->code == OP_wgmma && op->nin > 3;
    strbuf_puts(&text, "{\n\t.reg .b64 %wa, %wb;\n\t");
    /* One value in all threads: a warpgroup goes one way. */
    if (guarded) {
        args[count + a.count + operands_b] = cg_scalar(cg, op_in(op, 3));
        strbuf_printf(&text, "@!$%u bra NONE;\n\t", at.b + operands_b);
    }
    if (a.rounds)
        put_roundings(&text, &at, a.count / 2);
    strbuf_puts(&text, "wgmma.fence.sync.aligned;\n\t");
    put_products(&text, &p, &at, from_zero);
    put_end(&text, op);
    strbuf_puts(&text, guarded ? "\nNONE:\n\t}" : "}");
    put_constraints(&constraints, op->out[0].type, count);
    for (uint32_t i = 0; i < a.count; i++)
        strbuf_puts(&constraints, a.rounds ? ",f" : p.a.in_registers ? ",r" : ",l");
    for (uint32_t i = 0; i < operands_b; i++)
        strbuf_puts(&constraints, ",l");
    strbuf_puts(&constraints, guarded ? ",b,~{memory}" : ",~{memory}");
    Lv result = cg_asm(cg, struct_of(cg, LLVMTypeOf(args[0]), count), strbuf_str(&text).ptr,
                       strbuf_str(&constraints).ptr, args, count + a.count + operands_b + guarded,
                       ASM_CONVERGENT);
    Lv *out[MAX_JOINT_PRODUCTS];
    for (uint32_t i = 0; i < p.count; i++)
        out[i] = cg_new(cg, &op->out[i]);
    for (uint32_t i = 0; i < count; i++)
        out[order[i].product][order[i].reg] = LLVMBuildExtractValue(cg->b, result, i, "");
}

void lower_wgmma(Cg *cg, const Op *op) {
    lower_products(cg, op);
}

void lower_wgmma_joint(Cg *cg, const Op *op) {
    lower_products(cg, op);
}

/* The registers go through it, so that none is read before. */
void lower_wgmma_wait(Cg *cg, const Op *op) {
    uint32_t count = 1u << op->out[0].type->layout->bits[LAYOUT_REG];
    Lv *in = cg_in(cg, op, 0), *out = cg_new(cg, &op->out[0]);
    StrBuf constraints = strbuf(cg->arena);
    put_constraints(&constraints, op->out[0].type, count);
    strbuf_puts(&constraints, ",~{memory}");
    StrBuf text = strbuf(cg->arena);
    strbuf_printf(&text, "wgmma.wait_group.sync.aligned %lld;",
                  (long long)wgmma_wait_attrs(op)->pending);
    Lv result = cg_asm(cg, struct_of(cg, LLVMTypeOf(in[0]), count), strbuf_str(&text).ptr,
                       strbuf_str(&constraints).ptr, in, count, ASM_CONVERGENT);
    for (uint32_t i = 0; i < count; i++)
        out[i] = LLVMBuildExtractValue(cg->b, result, i, "");
}
