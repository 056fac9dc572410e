/* Products of one warp on its tensor core: mma.sync, and the ldmatrix that fetch its operands.
 *
 * Dots that follow each other, with the loads of their operands among them, become one piece of
 * PTX, its instructions in the order of the ops:
 *
 *     %b0 = local_load %v                                  ldmatrix {%m0, %m1, %m2, %m3}, [$130];
 *     %b1 = local_load %v {at = 2048}                      ...
 *     %s0 = dot %a0, %b0, %acc {unit = mma}       ->       mma.sync {$0, $1, $2, $3}, ..
 *     %s1 = dot %a1, %b1, %s0 {unit = mma}                 mma.sync {$0, $1, $2, $3}, ..
 *
 * What is loaded for them alone, transposed or not, are registers of the piece, and sums stay in
 * place, so that LLVM sees the operands that come from elsewhere and the last sums, not four values
 * an instruction.
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
#include "codegen/values/builder.h"
#include "codegen/values/debug_info.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "codegen/values/words.h"
#include "support/bits.h"
#include "target/mma.h"
#include <assert.h>

/* A register in the text. The number of a zero is its bits. */
typedef enum NameKind { NAME_NONE, NAME_RESULT, NAME_INPUT, NAME_OWN, NAME_ZERO } NameKind;

typedef struct Name {
    NameKind kind;
    uint32_t number;
} Name;

/* What an op of the piece leaves: the names of a dot's sums by register, of a load's words by
 * number. */
typedef struct Held {
    const Op *op;
    Name *names;
    bool is_result; /* an operand of the piece, for others than its dots */
} Held;

enum { MOST_OPS = 256, MOST_POINTERS = 32 };

typedef struct Piece {
    Cg *cg;
    const Op *first, *last;
    Held held[MOST_OPS];
    uint32_t held_count;
    uint32_t results, own; /* names so far */
    LLVMTypeRef *result_types;
    Lv *inputs;
    uint32_t input_count, input_room;
    struct Pointer {
        Lv pointer;
        Name name;
    } pointers[MOST_POINTERS]; /* those of shared memory that are operands, the latest */
    uint32_t pointer_count;
    bool takes_zero[2]; /* of 32 bits, of 64 */
    bool loads;
    StrBuf text, constraints;
} Piece;

/* A dot, or an operand, with the registers that hold its elements. */
typedef struct Tile {
    const Type *type;
    Lv *regs;             /* NULL: the piece loads it, or adds to it */
    const Held *held;     /* then */
    const uint32_t *find; /* by the register part of the index: register number + 1; 0: none */
    Name *words;          /* operand of the instruction that begins at a register, once named */
} Tile;

typedef struct Product {
    const Mma *mma;
    Tile a, b, acc;
    Name *sums;  /* by register of acc */
    int m, n, k; /* log2 of the tile's sides */
} Product;

/* Layouts */

static bool same_threads(const Layout *a, const Layout *b) {
    if (layout_thread_bits(a) != layout_thread_bits(b))
        return false;
    for (int bit = 0; bit < layout_thread_bits(a); bit++)
        if (layout_thread_basis(a, bit) != layout_thread_basis(b, bit))
            return false;
    return true;
}

static const Mma *mma_of(const Cg *cg, const Op *op) {
    return mma_find(op_in(op, 0)->type->dtype, op_in(op, 1)->type->dtype, op->out[0].type->dtype,
                    cg->func->capability);
}

static bool holds_fragments(Cg *cg, const Mma *mma, const Op *op) {
    const Type *acc = op_in(op, 2)->type;
    int64_t warps[MAX_RANK];
    for (int d = 0; d < MAX_RANK; d++)
        warps[d] = 1;
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

/* Which ops */

static bool is_product(Cg *cg, const Op *op) {
    if (op->code != OP_dot || dot_attrs(op)->unit != UNIT_MMA)
        return false;
    const Mma *mma = mma_of(cg, op);
    return mma && holds_fragments(cg, mma, op) &&
           cg_count(op->out[0].type) <= MAX_REGISTERS_OF_TILE;
}

/* Do the words that ldmatrix loads hold what an instruction takes as operand `index`: neighbours
 * along k? */
static bool loads_operand_words(const Type *type, uint32_t index) {
    int step = index == 0 ? 0 : log2_exact(type->shape[type->rank - 1]);
    int word_bits = log2_exact(4 / type_element_bytes(type));
    for (int bit = 0; bit < word_bits; bit++)
        if (type->layout->basis[bit] != 1u << (bit + step))
            return false;
    return true;
}

/* Do products take the registers of a load, transposed perhaps, as operands and by its words? */
static bool is_multiplied(const Value *value) {
    bool multiplied = false;
    value_for_each_use (use, value) {
        uint32_t index = (uint32_t)(use - use->user->in);
        if (use->user->code == OP_transpose) {
            if (!is_multiplied(&use->user->out[0]))
                return false;
            multiplied = true;
        } else if (use->user->code == OP_dot && dot_attrs(use->user)->unit == UNIT_MMA) {
            if (index > 1 || !loads_operand_words(value->type, index))
                return false;
            multiplied = true;
        }
    }
    return multiplied;
}

static bool is_operand_load(Cg *cg, const Op *op) {
    MatrixLoad matrices;
    WordLoad words;
    return op->code == OP_local_load && op->nin == 1 && type_element_bytes(op->out[0].type) <= 4 &&
           cg_count(op->out[0].type) <= MAX_REGISTERS_OF_TILE && is_multiplied(&op->out[0]) &&
           (cg_find_matrix_load(cg, op, &matrices) || cg_find_word_load(cg, op, &words));
}

static bool is_renaming(const Op *op) {
    return op->code == OP_slice || op->code == OP_transpose;
}

static bool is_from_to(const Op *first, const Op *last, const Op *op) {
    for (const Op *at = first; at; at = at == last ? NULL : at->next)
        if (at == op)
            return true;
    return false;
}

static bool is_in(const Piece *piece, const Op *op) {
    return is_from_to(piece->first, piece->last, op);
}

/* Registers that are there already, or those of a load transposed. */
static bool may_rename(const Op *first, const Op *op) {
    const Op *def = op_in(op, 0)->def;
    if (op == first || !is_from_to(first, op, def))
        return op != first;
    return op->code == OP_transpose && def->code == OP_local_load;
}

/* From `op` to the last dot that no other op is in front of: what takes apart or
 * transposes registers is done on the way. */
static bool find_piece(Piece *piece, const Op *op) {
    Cg *cg = piece->cg;
    piece->first = op;
    uint32_t count = 0;
    for (const Op *at = op; at && count < MOST_OPS; at = at->next, count++) {
        if (is_product(cg, at))
            piece->last = at;
        else if (is_renaming(at) ? !may_rename(op, at) : !is_operand_load(cg, at))
            break;
    }
    return piece->last != NULL;
}

static const Held *find_held(const Piece *piece, const Value *value) {
    if (value->def && value->def->code == OP_transpose && is_in(piece, value->def))
        value = op_in(value->def, 0); /* the same registers */
    for (uint32_t i = 0; i < piece->held_count; i++)
        if (piece->held[i].op == value->def)
            return &piece->held[i];
    return NULL;
}

static bool is_used_outside(const Piece *piece, const Value *value) {
    value_for_each_use (use, value) {
        const Op *user = use->user;
        if (!is_in(piece, user) || (user->code != OP_dot && user->code != OP_transpose) ||
            (user->code == OP_transpose && is_used_outside(piece, &user->out[0])))
            return true;
    }
    return false;
}

/* Names */

static Name new_result(Piece *piece, LLVMTypeRef type) {
    piece->result_types[piece->results] = type;
    return (Name){NAME_RESULT, piece->results++};
}

static Name new_input(Piece *piece, Lv value) {
    assert(piece->input_count < piece->input_room);
    piece->inputs[piece->input_count] = value;
    return (Name){NAME_INPUT, piece->input_count++};
}

/* Sums of f16 are pairs in a word. */
static bool has_pairs(const Type *acc) {
    return acc->dtype == DT_F16;
}

static void name_sums(Piece *piece, Held *held) {
    const Op *op = held->op;
    const Type *acc = op->out[0].type;
    const Held *before = find_held(piece, op_in(op, 2));
    if (before && value_has_one_use(op_in(op, 2))) {
        held->names = before->names;
        ((Held *)before)->is_result = false;
        return;
    }
    const Plan *plan = cg_plan(piece->cg, acc->layout);
    held->names = ARENA_ARRAY(piece->cg->arena, Name, plan->count);
    LLVMTypeRef type = has_pairs(acc) ? piece->cg->t_i32 : cg_dtype(piece->cg, acc->dtype);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] != reg)
            held->names[reg] = held->names[plan->rep[reg]];
        else if (has_pairs(acc) && reg & 1)
            held->names[reg] = held->names[reg ^ 1];
        else
            held->names[reg] = new_result(piece, type);
}

static void name_words(Piece *piece, Held *held) {
    const Type *type = held->op->out[0].type;
    uint32_t words = cg_count(type) * (uint32_t)type_element_bytes(type) / 4;
    held->names = ARENA_ARRAY(piece->cg->arena, Name, words);
    held->is_result = is_used_outside(piece, &held->op->out[0]);
    for (uint32_t i = 0; i < words; i++)
        held->names[i] =
            held->is_result ? new_result(piece, piece->cg->t_i32) : (Name){NAME_OWN, piece->own++};
}

/* Results are numbered before inputs, so before there is text. */
static void name_results(Piece *piece) {
    Cg *cg = piece->cg;
    uint32_t results = 0, inputs = 0;
    for (const Op *op = piece->first;; op = op->next) {
        results += is_renaming(op) ? 0 : cg_count(op->out[0].type);
        if (op->code == OP_dot)
            for (uint32_t i = 0; i < 3; i++)
                inputs += cg_count(op_in(op, i)->type);
        else if (op->code == OP_local_load)
            inputs += cg_count(op->out[0].type);
        if (op == piece->last)
            break;
    }
    piece->result_types = ARENA_ARRAY(cg->arena, LLVMTypeRef, results);
    piece->inputs = ARENA_ARRAY(cg->arena, Lv, inputs);
    piece->input_room = inputs;
    for (const Op *op = piece->first;; op = op->next) {
        if (!is_renaming(op)) {
            Held *held = &piece->held[piece->held_count++];
            *held = (Held){.op = op, .is_result = true};
            if (op->code == OP_dot)
                name_sums(piece, held);
            else
                name_words(piece, held);
        }
        if (op == piece->last)
            break;
    }
}

/* Without printf, which would take as long as the rest: an attention has ten thousand. */
static void put_numbered(StrBuf *text, const char *prefix, uint32_t number) {
    char digits[10];
    int first = (int)sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    strbuf_puts(text, prefix);
    strbuf_add(text, digits + first, sizeof digits - (size_t)first);
}

static void put_name(Piece *piece, Name name) {
    switch (name.kind) {
    case NAME_RESULT:
        put_numbered(&piece->text, "$", name.number);
        return;
    case NAME_INPUT:
        put_numbered(&piece->text, "$", piece->results + name.number);
        return;
    case NAME_OWN:
        put_numbered(&piece->text, "%m", name.number);
        return;
    case NAME_ZERO:
        put_numbered(&piece->text, "%zero", name.number);
        return;
    case NAME_NONE:
        break;
    }
    assert(false && "a register without a name");
}

/* "{$0, $1}" */
static void put_names(Piece *piece, const Name *names, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        strbuf_puts(&piece->text, i ? ", " : "{");
        put_name(piece, names[i]);
    }
    strbuf_puts(&piece->text, "}");
}

/* Loads */

static Name pointer_name(Piece *piece, Lv pointer) {
    uint32_t count = piece->pointer_count < MOST_POINTERS ? piece->pointer_count : MOST_POINTERS;
    for (uint32_t i = 0; i < count; i++)
        if (piece->pointers[i].pointer == pointer)
            return piece->pointers[i].name;
    Name name = new_input(piece, pointer);
    piece->pointers[piece->pointer_count++ % MOST_POINTERS] = (struct Pointer){pointer, name};
    return name;
}

/* "[$130+512];", of the element in the buffer that `image` of the rows or registers is. */
static void put_address(Piece *piece, const Op *op, const Plan *plan, uint32_t image) {
    int64_t constant;
    Lv base = cg_scalar(piece->cg, op_in(op, 0));
    Lv pointer = cg_shared_offset(piece->cg, plan, base, type_element_bytes(op->out[0].type), image,
                                  &constant);
    strbuf_puts(&piece->text, ", [");
    put_name(piece, pointer_name(piece, pointer));
    strbuf_printf(&piece->text, "+%lld];\n\t", (long long)constant);
}

static void put_matrix_load(Piece *piece, const Op *op, const MatrixLoad *load, const Name *names) {
    const LayoutMatrices *m = &load->matrices;
    uint32_t matrices = 1u << m->matrix_bits;
    for (uint32_t i = 0; i < 1u << m->load_bits; i++) {
        strbuf_printf(&piece->text, "ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", matrices,
                      m->transposed ? ".trans" : "");
        put_names(piece, names + i * matrices, matrices);
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
            loaded[k] = names[access->order[i + k * load->per_word] / load->per_word];
        strbuf_puts(&piece->text, words == 4   ? "ld.shared.v4.b32 "
                                  : words == 2 ? "ld.shared.v2.b32 "
                                               : "ld.shared.b32 ");
        if (words == 1)
            put_name(piece, loaded[0]);
        else
            put_names(piece, loaded, words);
        put_address(piece, op, access->plan, cg_word_load_image(load, i));
    }
}

static void put_load(Piece *piece, const Op *op) {
    const Name *names = find_held(piece, &op->out[0])->names;
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
    return new_input(piece,
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
        return tile->held->names[reg / word];
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
    put_names(piece, names, n);
    strbuf_puts(&piece->text, ", ");
    n = 0;
    for (uint32_t k = 0; k < (uint32_t)mma->k; k += half)
        names[n++] =
            operand_name(piece, p, &p->b, (Place){at.batch, at.m, at.n, at.k + k}, index_in_b);
    put_names(piece, names, n);
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
        to[words] = repeats ? (Name){NAME_OWN, piece->own++} : p->sums[reg];
        from[words++] = at.k ? p->sums[reg] : addend_name(piece, p, reg, per_word);
    }
    strbuf_puts(&piece->text, "mma.sync.aligned.");
    strbuf_puts(&piece->text, mma->name);
    strbuf_puts(&piece->text, " ");
    put_names(piece, to, words);
    strbuf_puts(&piece->text, ", ");
    put_operands(piece, p, at);
    strbuf_puts(&piece->text, ", ");
    put_names(piece, from, words);
    strbuf_puts(&piece->text, ";\n\t");
}

static Tile tile_of(Piece *piece, const Op *op, uint32_t index) {
    Cg *cg = piece->cg;
    const Type *type = op_in(op, index)->type;
    const Held *held = find_held(piece, op_in(op, index));
    return (Tile){.type = type,
                  .regs = held ? NULL : cg_in(cg, op, index),
                  .held = held,
                  .find = cg_registers_by_image(cg, type->layout),
                  .words = ARENA_ARRAY(cg->arena, Name, cg_count(type))};
}

static void put_dot(Piece *piece, const Op *op) {
    Cg *cg = piece->cg;
    const Type *a = op_in(op, 0)->type, *acc = op_in(op, 2)->type;
    Product p = {.mma = mma_of(cg, op),
                 .a = tile_of(piece, op, 0),
                 .b = tile_of(piece, op, 1),
                 .acc = tile_of(piece, op, 2),
                 .sums = find_held(piece, &op->out[0])->names,
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

/* The piece */

static char constraint_of(const Cg *cg, LLVMTypeRef type) {
    return type == cg->t_f32 ? 'f' : type == cg->t_f64 ? 'd' : type == cg->t_shared ? 'l' : 'r';
}

/* Results are written before the last input is read. */
static void put_constraints(Piece *piece) {
    StrBuf *out = &piece->constraints;
    for (uint32_t i = 0; i < piece->results; i++)
        strbuf_printf(out, "%s=&%c", i ? "," : "",
                      constraint_of(piece->cg, piece->result_types[i]));
    for (uint32_t i = 0; i < piece->input_count; i++)
        strbuf_printf(out, ",%c", constraint_of(piece->cg, LLVMTypeOf(piece->inputs[i])));
    if (piece->loads)
        strbuf_puts(out, ",~{memory}");
}

static Str whole_text(Piece *piece) {
    StrBuf out = strbuf(piece->cg->arena);
    strbuf_puts(&out, "{\n\t");
    if (piece->own)
        strbuf_printf(&out, ".reg .b32 %%m<%u>;\n\t", piece->own);
    for (int wide = 0; wide < 2; wide++) {
        int bits = wide ? 64 : 32;
        if (piece->takes_zero[wide])
            strbuf_printf(&out, ".reg .b%d %%zero%d;\n\tmov.b%d %%zero%d, 0;\n\t", bits, bits, bits,
                          bits);
    }
    Str text = strbuf_str(&piece->text);
    strbuf_add(&out, text.ptr, text.len);
    strbuf_puts(&out, "}");
    return strbuf_str(&out);
}

static void take_sums(Piece *piece, const Held *held, const Lv *results) {
    Cg *cg = piece->cg;
    const Type *acc = held->op->out[0].type;
    const Plan *plan = cg_plan(cg, acc->layout);
    Lv *out = cg_new(cg, &held->op->out[0]);
    for (uint32_t reg = 0; reg < plan->count; reg++)
        if (plan->rep[reg] != reg)
            out[reg] = out[plan->rep[reg]];
        else if (!has_pairs(acc))
            out[reg] = results[held->names[reg].number];
        else if (!(reg & 1))
            cg_split_word(cg, results[held->names[reg].number], cg->t_f16, 2, out + reg);
}

static void take_words(Piece *piece, const Held *held, const Lv *results) {
    Cg *cg = piece->cg;
    const Type *type = held->op->out[0].type;
    uint32_t per_word = 4 / (uint32_t)type_element_bytes(type);
    Lv *out = cg_new(cg, &held->op->out[0]);
    for (uint32_t i = 0; i < cg_count(type) / per_word; i++)
        cg_split_word(cg, results[held->names[i].number], cg_dtype(cg, type->dtype), per_word,
                      out + i * per_word);
}

static void build_piece(Piece *piece) {
    Cg *cg = piece->cg;
    put_constraints(piece);
    bool one = piece->results == 1;
    LLVMTypeRef type =
        one ? piece->result_types[0]
            : LLVMStructTypeInContext(cg->llvm, piece->result_types, piece->results, false);
    Lv all = cg_asm(cg, type, whole_text(piece).ptr, strbuf_str(&piece->constraints).ptr,
                    piece->inputs, piece->input_count, ASM_CONVERGENT);
    Lv *results = ARENA_ARRAY(cg->arena, Lv, piece->results);
    for (uint32_t i = 0; i < piece->results; i++)
        results[i] = one ? all : LLVMBuildExtractValue(cg->b, all, i, "");
    for (uint32_t i = 0; i < piece->held_count; i++) {
        const Held *held = &piece->held[i];
        if (held->is_result && held->op->code == OP_dot)
            take_sums(piece, held, results);
        else if (held->is_result)
            take_words(piece, held, results);
    }
}

/* Behind the piece where it loads them. */
static void put_transpose(Piece *piece, const Op *op) {
    if (!find_held(piece, op_in(op, 0)))
        lower_transpose(piece->cg, op);
}

static void take_transposed(Piece *piece) {
    for (const Op *op = piece->first; op != piece->last; op = op->next)
        if (op->code == OP_transpose && find_held(piece, op_in(op, 0)) &&
            is_used_outside(piece, &op->out[0]))
            lower_transpose(piece->cg, op);
}

const Op *cg_lower_products(Cg *cg, const Op *op) {
    if (op->code != OP_dot && op->code != OP_local_load)
        return NULL;
    Piece *piece = ARENA_NEW(cg->arena, Piece);
    piece->cg = cg;
    if (!find_piece(piece, op))
        return NULL;
    piece->text = strbuf(cg->arena);
    piece->constraints = strbuf(cg->arena);
    name_results(piece);
    const Op *product = op;
    while (product != piece->last && product->code != OP_dot)
        product = product->next;
    cg_debug_op(cg, product->span); /* one line holds for all of an inline asm */
    for (const Op *at = op;; at = at->next) {
        if (at->code == OP_slice)
            lower_slice(cg, at);
        else if (at->code == OP_transpose)
            put_transpose(piece, at);
        else if (at->code == OP_local_load)
            put_load(piece, at);
        else
            put_dot(piece, at);
        if (at == piece->last)
            break;
    }
    build_piece(piece);
    take_transposed(piece);
    return piece->last;
}
