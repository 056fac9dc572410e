/* Products of one warp on its tensor core: mma.sync, and the ldmatrix that fetch its operands, as
 * part of a piece of PTX (piece.h).
 *
 * Contract with the layouts: the lanes and warps of acc, a and b are those of
 * layout_mma_accumulator and layout_mma_operand (target/mma.h); which register holds what is read
 * from the maps. */
#include "codegen/products/mma.h"
#include "codegen/lowerings.h"
#include "codegen/memory/matrix.h"
#include "codegen/memory/shared_access.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/products/dot_remark.h"
#include "codegen/products/piece.h"
#include "codegen/values/builder.h"
#include "codegen/values/debug_info.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "support/bits.h"
#include "target/mma.h"
#include <assert.h>

/* A dot, or an operand, with the registers that hold its elements. */
typedef struct Tile {
    const Type *type;
    Lv *regs;             /* NULL: the piece loads it, or adds to it */
    const Member *held;   /* then */
    const uint32_t *find; /* by the register part of the index: register number + 1; 0: none */
    Name *words;          /* operand of the instruction that begins at a register, once named */
} Tile;

typedef struct Product {
    const Mma *mma;
    Tile a, b, acc;
    Name *sums;  /* by register of acc */
    int m, n, k; /* log2 of the tile's sides */
} Product;

/* Loads */

static Name pointer_name(Piece *piece, Lv pointer) {
    uint32_t count = piece->pointer_count < PIECE_POINTERS ? piece->pointer_count : PIECE_POINTERS;
    for (uint32_t i = 0; i < count; i++)
        if (piece->pointers[i].pointer == pointer)
            return piece->pointers[i].name;
    Name name = piece_new_input(piece, pointer);
    piece->pointers[piece->pointer_count++ % PIECE_POINTERS] = (struct Pointer){pointer, name};
    return name;
}

/* "[$130+512];", of the element in the buffer that `image` of the rows or registers is. */
static void put_address(Piece *piece, const Op *op, const Plan *plan, uint32_t image) {
    int64_t constant;
    Lv base = cg_scalar(piece->cg, op_in(op, 0));
    Lv pointer = cg_shared_offset(piece->cg, plan, base, type_element_bytes(op->out[0].type), image,
                                  &constant);
    strbuf_puts(&piece->text, ", [");
    piece_put_name(piece, pointer_name(piece, pointer));
    strbuf_printf(&piece->text, "+%lld];\n\t", (long long)constant);
}

static void put_matrix_load(Piece *piece, const Op *op, const MatrixLoad *load, const Name *names) {
    const LayoutMatrices *m = &load->matrices;
    uint32_t matrices = 1u << m->matrix_bits, per_word = piece_per_word(op->out[0].type);
    for (uint32_t i = 0; i < 1u << m->load_bits; i++) {
        strbuf_printf(&piece->text, "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", matrices,
                      m->transposed ? ".trans" : "");
        Name loaded[4];
        for (uint32_t k = 0; k < matrices; k++)
            loaded[k] = names[(i * matrices + k) * per_word];
        piece_put_names(piece, loaded, matrices);
        put_address(piece, op, load->rows, cg_matrix_load_image(load, i));
    }
}

/* By neighbours in memory, which need not be neighbours in the registers. */
static void put_word_load(Piece *piece, const Op *op, const WordLoad *load, const Name *names) {
    const SharedAccess *access = &load->access;
    uint32_t words = access->width / load->per_word;
    for (uint32_t i = 0; i < access->count; i += access->width) {
        Name loaded[4];
        for (uint32_t k = 0; k < words; k++)
            loaded[k] = names[access->order[i + k * load->per_word]];
        strbuf_puts(&piece->text, words == 4   ? "ld.shared.v4.b32 "
                                  : words == 2 ? "ld.shared.v2.b32 "
                                               : "ld.shared.b32 ");
        if (words == 1)
            piece_put_name(piece, loaded[0]);
        else
            piece_put_names(piece, loaded, words);
        put_address(piece, op, access->plan, cg_word_load_image(load, i));
    }
}

static void put_load(Piece *piece, const Member *member) {
    const Op *op = member->op;
    const Name *names = member->names;
    MatrixLoad matrices;
    WordLoad words;
    if (cg_find_matrix_load(piece->cg, op, &matrices))
        put_matrix_load(piece, op, &matrices, names);
    else if (cg_find_word_load(piece->cg, op, &words))
        put_word_load(piece, op, &words, names);
    else
        assert(false && "a load that the piece cannot do");
    piece->loads = true;
}

/* Products */

/* Sums of f16 are pairs in a word. */
static bool has_pairs(const Type *acc) {
    return acc->dtype == DT_F16;
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

static Name zero_name(Piece *piece, const Mma *mma) {
    bool wide = mma->acc == DT_F64;
    piece->takes_zero[wide] = true;
    return (Name){NAME_ZERO, wide ? 64 : 32};
}

static bool are_zero(const Lv *elements, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!LLVMIsConstant(elements[i]) || !LLVMIsNull(elements[i]))
            return false;
    return true;
}

static Name word_name(Piece *piece, const Mma *mma, const Lv *elements, uint32_t count) {
    if (are_zero(elements, count))
        return zero_name(piece, mma);
    LLVMTypeRef type = LLVMTypeOf(elements[0]);
    bool whole = type == piece->cg->t_f64 || type == piece->cg->t_f32;
    return piece_new_input(piece,
                           whole && count == 1 ? elements[0] : cg_word(piece->cg, elements, count));
}

/* A register of an instruction: the elements of `tile` from `at` on along k. Packed once for all
 * instructions that take it. */
static Name operand_name(Piece *piece, const Product *p, const Tile *tile, Place at,
                         uint32_t (*index_in)(const Product *, Place)) {
    uint32_t word = (uint32_t)mma_word(p->mma);
    if (at.k >= 1u << p->k)
        return zero_name(piece, p->mma);
    uint32_t reg = tile->find[index_in(p, at)] - 1;
    if (tile->held)
        return tile->held->names[reg];
    if (tile->words[reg].kind == NAME_NONE) {
        Lv elements[4];
        for (uint32_t i = 0; i < word; i++, at.k++)
            elements[i] = tile->regs[tile->find[index_in(p, at)] - 1];
        if (word == 1 && tile->type->dtype == DT_F32)
            elements[0] = LLVMBuildBitCast(piece->cg->b, elements[0], piece->cg->t_i32, "");
        tile->words[reg] = word_name(piece, p->mma, elements, word);
    }
    return tile->words[reg];
}

/* Registers of A are ordered by row, then by k; those of B by k. */
static void put_operands(Piece *piece, const Product *p, Place at) {
    const Mma *mma = p->mma;
    Name names[4];
    uint32_t n = 0, half = (uint32_t)mma_least_k(mma);
    for (uint32_t k = 0; k < (uint32_t)mma->k; k += half)
        for (uint32_t m = 0; m < (uint32_t)mma->m; m += 8)
            names[n++] = operand_name(piece, p, &p->a, (Place){at.batch, at.m + m, at.n, at.k + k},
                                      index_in_a);
    piece_put_names(piece, names, n);
    strbuf_puts(&piece->text, ", ");
    n = 0;
    for (uint32_t k = 0; k < (uint32_t)mma->k; k += half)
        names[n++] =
            operand_name(piece, p, &p->b, (Place){at.batch, at.m, at.n, at.k + k}, index_in_b);
    piece_put_names(piece, names, n);
}

/* What the first instruction adds to, from register `reg` on. */
static Name addend_name(Piece *piece, const Product *p, uint32_t reg, uint32_t count) {
    const Tile *acc = &p->acc;
    if (acc->held)
        return acc->held->names[reg];
    if (acc->words[reg].kind == NAME_NONE)
        acc->words[reg] = word_name(piece, p->mma, acc->regs + reg, count);
    return acc->words[reg];
}

/* One instruction. Element i of its sums is row 8 (i / 2), column i % 2; rows that do not exist
 * repeat those that do, and their sums go nowhere. */
static void put_product(Piece *piece, const Product *p, Place at) {
    const Mma *mma = p->mma;
    uint32_t count = (uint32_t)mma->m / 4; /* of 8 columns in 4 lanes, rows in 8 */
    uint32_t per_word = has_pairs(p->acc.type) ? 2 : 1, words = 0;
    Name to[4], from[4];
    for (uint32_t i = 0; i < count; i += per_word) {
        Place element = {at.batch, at.m + (i & 2) * 4, at.n + (i & 1), 0};
        uint32_t reg = p->acc.find[index_in_acc(p, element)] - 1;
        bool repeats = (i & 2) && bits_of(element.m, p->m) == bits_of(at.m, p->m);
        to[words] = repeats ? piece_new_own(piece) : p->sums[reg];
        from[words++] = at.k ? p->sums[reg] : addend_name(piece, p, reg, per_word);
    }
    strbuf_puts(&piece->text, "mma.sync.aligned.");
    strbuf_puts(&piece->text, mma->name);
    strbuf_puts(&piece->text, " ");
    piece_put_names(piece, to, words);
    strbuf_puts(&piece->text, ", ");
    put_operands(piece, p, at);
    strbuf_puts(&piece->text, ", ");
    piece_put_names(piece, from, words);
    strbuf_puts(&piece->text, ";\n\t");
}

static Tile tile_of(Piece *piece, const Op *op, uint32_t index) {
    Cg *cg = piece->cg;
    const Type *type = op_in(op, index)->type;
    const Member *held = piece_member(piece, op_in(op, index));
    return (Tile){.type = type,
                  .regs = held ? NULL : cg_in(cg, op, index),
                  .held = held,
                  .find = cg_registers_by_image(cg, type->layout),
                  .words = ARENA_ARRAY(cg->arena, Name, cg_count(type))};
}

static void put_dot(Piece *piece, const Op *op) {
    Cg *cg = piece->cg;
    const Type *a = op_in(op, 0)->type, *acc = op_in(op, 2)->type;
    Product p = {.mma = piece_mma(cg, op),
                 .a = tile_of(piece, op, 0),
                 .b = tile_of(piece, op, 1),
                 .acc = tile_of(piece, op, 2),
                 .sums = piece_member(piece, &op->out[0])->names,
                 .m = log2_exact(acc->shape[acc->rank - 2]),
                 .n = log2_exact(acc->shape[acc->rank - 1]),
                 .k = log2_exact(a->shape[a->rank - 1])};
    cg_dot_remark(cg, op, p.mma);
    const Plan *plan = cg_plan(cg, acc->layout);
    /* k outermost: consecutive instructions are independent. */
    for (uint32_t k = 0; k < 1u << p.k; k += (uint32_t)p.mma->k)
        for (uint32_t reg = 0; reg < plan->count; reg++) {
            uint32_t at = layout_reg_image(acc->layout, reg);
            Place place = {.batch = at >> (p.n + p.m),
                           .m = bits_of(at >> p.n, p.m),
                           .n = bits_of(at, p.n),
                           .k = k};
            if (plan->rep[reg] == reg && place.m % (uint32_t)p.mma->m == 0 &&
                place.n % (uint32_t)p.mma->n == 0)
                put_product(piece, &p, place);
        }
}

static void put_member(Piece *piece, const Member *member, LowerAlone *alone) {
    switch (member->role) {
    case ROLE_APART:
        alone(piece->cg, member->op);
        return;
    case ROLE_LOAD:
        put_load(piece, member);
        return;
    case ROLE_PRODUCT:
        put_dot(piece, member->op);
        return;
    case ROLE_COMPUTED:
        piece_put_computed(piece, member);
        return;
    case ROLE_RENAMING:
        return;
    }
}

const Op *cg_lower_products(Cg *cg, const Op *op, LowerAlone *alone) {
    if (op->code != OP_dot && op->code != OP_local_load)
        return NULL;
    Piece *piece = ARENA_NEW(cg->arena, Piece);
    piece->cg = cg;
    if (!piece_find(piece, op))
        return NULL;
    piece->text = strbuf(cg->arena);
    piece->constraints = strbuf(cg->arena);
    piece->input_names = (PtrMap){.arena = cg->arena};
    piece_name_registers(piece);
    const Op *product = NULL;
    for (uint32_t i = 0; i < piece->count; i++) {
        const Member *member = &piece->members[i];
        cg_debug_op(cg, member->op->span);
        put_member(piece, member, alone);
        if (!product && member->role == ROLE_PRODUCT)
            product = member->op;
    }
    cg_debug_op(cg, product->span); /* one line holds for all of an inline asm */
    piece_build(piece, alone);
    return piece->members[piece->count - 1].op;
}
