/* Which ops become one piece of PTX: from one of its own on to the last product that can be reached
 * without passing effects, or ops that need what is of the piece and are not of it. Those in
 * between that need nothing of it are computed in front. */
#include "codegen/memory/matrix.h"
#include "codegen/memory/shared_access.h"
#include "codegen/products/piece.h"
#include "codegen/tile/shape.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "support/bits.h"

enum { MOST_OPS = 256 };

/* Products */

const Mma *piece_mma(const Cg *cg, const Op *op) {
    return mma_find(op_in(op, 0)->type->dtype, op_in(op, 1)->type->dtype, op->out[0].type->dtype,
                    cg->func->capability);
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

static bool is_mma(const Op *op) {
    return op->code == OP_dot && dot_attrs(op)->unit == UNIT_MMA;
}

static bool is_product(Cg *cg, const Op *op) {
    if (!is_mma(op))
        return false;
    const Mma *mma = piece_mma(cg, op);
    return mma && holds_fragments(cg, mma, op) &&
           cg_count(op->out[0].type) <= MAX_REGISTERS_OF_TILE;
}

/* Do the words of a tile's neighbouring registers hold what an instruction takes as operand
 * `index`: neighbours along k? */
static bool holds_operand_words(const Type *type, uint32_t index) {
    int step = index == 0 ? 0 : log2_exact(type->shape[type->rank - 1]);
    int word_bits = log2_exact(4 / type_element_bytes(type));
    for (int bit = 0; bit < word_bits; bit++)
        if (type->layout->basis[bit] != 1u << (bit + step))
            return false;
    return true;
}

/* Loads */

/* Do products take the registers of a load, transposed perhaps, as operands and by its words? */
static bool is_multiplied(const Value *value) {
    bool multiplied = false;
    value_for_each_use (use, value) {
        uint32_t index = (uint32_t)(use - use->user->in);
        if (use->user->code == OP_transpose) {
            if (!is_multiplied(&use->user->out[0]))
                return false;
            multiplied = true;
        } else if (is_mma(use->user)) {
            if (index > 1 || !holds_operand_words(value->type, index))
                return false;
            multiplied = true;
        }
    }
    return multiplied;
}

static bool is_plain_load(const Op *op) {
    return op->code == OP_local_load && op->nin == 1 && type_element_bytes(op->out[0].type) <= 4 &&
           cg_count(op->out[0].type) <= MAX_REGISTERS_OF_TILE;
}

static bool is_operand_load(Cg *cg, const Op *op) {
    MatrixLoad matrices;
    WordLoad words;
    return is_plain_load(op) && is_multiplied(&op->out[0]) &&
           (cg_find_matrix_load(cg, op, &matrices) || cg_find_word_load(cg, op, &words));
}

/* Of numbers that elements are computed with. */
static bool is_element_load(Cg *cg, const Op *op) {
    WordLoad words;
    return is_plain_load(op) && op->out[0].type->dtype == DT_F32 &&
           cg_find_word_load(cg, op, &words);
}

/* What lies between */

/* Each register of the result is one of the operand's. */
static bool is_renaming(const Op *op) {
    return op_has(op, MOVES) && op->nin == 1 && op->nout == 1 && type_is_tile(op_in(op, 0)->type) &&
           type_is_tile(op->out[0].type);
}

/* Do words stay together? */
static bool keeps_words(const uint32_t *map, uint32_t count, uint32_t per_word) {
    for (uint32_t reg = 0; reg < count; reg++)
        if (map[reg] != map[reg - reg % per_word] + reg % per_word ||
            map[reg] % per_word != reg % per_word)
            return false;
    return true;
}

static const uint32_t *find_renaming(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type;
    const uint32_t *map = cg_renamed_registers(cg, op);
    uint32_t count = cg_count(type), per_word = piece_per_word(type);
    return map && count >= per_word && keeps_words(map, count, per_word) ? map : NULL;
}

/* Does each product that takes these 16-bit elements take words of them? */
static bool fits_products(const Value *value) {
    value_for_each_use (use, value) {
        uint32_t index = (uint32_t)(use - use->user->in);
        if (is_renaming(use->user)
                ? !fits_products(&use->user->out[0])
                : is_mma(use->user) && (index > 1 || !holds_operand_words(value->type, index)))
            return false;
    }
    return true;
}

static bool is_computed(Cg *cg, const Op *op) {
    return piece_computes(cg, op) && (op->code != OP_truncf || fits_products(&op->out[0]));
}

/* Where warpgroups have products of their own, what is computed between those of warps stays
 * outside: ptxas then orders it together with what is around, and on an H200 the code takes 1.1 %
 * less time. */
static bool joins_elements(const Cg *cg) {
    return !target_has(cg->func->capability, FEATURE_WGMMA);
}

/* Is it lowered in the order of the block alone for what it computes? */
static bool may_be_in_front(const Op *op) {
    return !op->nregions && !op_has(op, TERMINATOR) && (op_has(op, PURE) || is_plain_load(op));
}

/* Of which products of the range are made, through ops of the piece. */
static bool is_wanted(const Op *op, const PtrMap *wanted) {
    if (op->nout != 1)
        return false;
    bool narrow = op->out[0].type->kind == TYPE_NUMBER && type_element_bytes(op->out[0].type) == 2;
    value_for_each_use (use, &op->out[0]) {
        uint32_t index = (uint32_t)(use - use->user->in);
        if (ptrmap_get(wanted, use->user) && (!is_mma(use->user) || narrow == (index < 2)))
            return true;
    }
    return false;
}

static void mark_wanted(Cg *cg, PtrMap *wanted, const Member *members, uint32_t count) {
    for (uint32_t i = count; i-- > 0;) {
        const Op *op = members[i].op;
        bool may_be = is_renaming(op) || is_computed(cg, op) || is_element_load(cg, op);
        if (is_mma(op) || (may_be && is_wanted(op, wanted)))
            ptrmap_set(wanted, op, (void *)op);
    }
}

static bool takes_of_piece(const Piece *piece, const Op *op) {
    for (uint32_t i = 0; i < op->nin; i++)
        if (op_in(op, i) && piece_member(piece, op_in(op, i)))
            return true;
    return false;
}

static Role role_of(const Piece *piece, const PtrMap *wanted, Member *member) {
    Cg *cg = piece->cg;
    const Op *op = member->op;
    if (is_product(cg, op))
        return ROLE_PRODUCT;
    if (is_operand_load(cg, op) || (ptrmap_get(wanted, op) && is_element_load(cg, op)))
        return ROLE_LOAD;
    if (is_renaming(op) && piece_member(piece, op_in(op, 0)))
        return (member->map = find_renaming(cg, op)) ? ROLE_RENAMING : ROLE_APART;
    bool is_between = ptrmap_get(wanted, op) && takes_of_piece(piece, op);
    return is_between && is_computed(cg, op) ? ROLE_COMPUTED : ROLE_APART;
}

/* The members of the first `count` up to the last product; their number. */
static uint32_t sort_out(Piece *piece, uint32_t count) {
    PtrMap wanted = {.arena = piece->cg->arena};
    piece->held = (PtrMap){.arena = piece->cg->arena};
    mark_wanted(piece->cg, &wanted, piece->members, count);
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        Member *member = &piece->members[i];
        member->role = role_of(piece, &wanted, member);
        if (member->role != ROLE_APART)
            ptrmap_set(&piece->held, member->op, member);
        else if (takes_of_piece(piece, member->op))
            break;
        if (member->role == ROLE_PRODUCT)
            last = i + 1;
    }
    return last;
}

static bool is_used_outside(const Piece *piece, const Value *value) {
    value_for_each_use (use, value) {
        const Member *user = ptrmap_get(&piece->held, use->user);
        if (!user || (user->role == ROLE_RENAMING && is_used_outside(piece, &use->user->out[0])))
            return true;
    }
    return false;
}

/* `between`: also what lies between the products, or has to be in front of them. */
static bool takes_part(Cg *cg, const Op *op, bool between) {
    bool is_turned = op->code == OP_transpose;
    return is_mma(op) || (between ? may_be_in_front(op) : is_turned || is_operand_load(cg, op));
}

bool piece_find(Piece *piece, const Op *op) {
    uint32_t count = 0, products = 0;
    const Op *at = op;
    bool between = joins_elements(piece->cg);
    for (; at && count < MOST_OPS && takes_part(piece->cg, at, between); at = at->next, count++)
        products += is_mma(at);
    if (!products)
        return false;
    piece->members = ARENA_ARRAY(piece->cg->arena, Member, count);
    at = op;
    for (uint32_t i = 0; i < count; i++, at = at->next)
        piece->members[i].op = at;
    piece->count = sort_out(piece, count);
    if (!piece->count)
        return false;
    sort_out(piece, piece->count); /* without what later products alone want */
    for (uint32_t i = 0; i < piece->count; i++) {
        Member *member = &piece->members[i];
        member->is_used_outside =
            member->role != ROLE_APART && is_used_outside(piece, &member->op->out[0]);
    }
    return piece->members[0].role != ROLE_APART;
}
