/* Buffers and plain accesses to them. Matrix loads and asynchronous copies are in matrix.c and
 * async.c. */
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/matrix.h"
#include "codegen/memory/shared_access.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "types/gf2.h"

void lower_local_alloc(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_shared_at(cg, local_alloc_attrs(op)->offset);
}

/* Copy (index + ahead) mod copies, without a division: both are below the number of copies. */
void lower_local_view(Cg *cg, const Op *op) {
    const Value *buffer = op_in(op, 0);
    int64_t copies = local_copies(buffer), ahead = local_view_attrs(op)->ahead;
    Lv copy = cg_scalar(cg, op_in(op, 1));
    if (ahead) {
        Lv on = LLVMBuildNUWAdd(cg->b, copy, cg_i32(cg, ahead), "");
        Lv around = LLVMBuildSub(cg->b, copy, cg_i32(cg, copies - ahead), "");
        Lv past = LLVMBuildICmp(cg->b, LLVMIntUGE, copy, cg_i32(cg, copies - ahead), "");
        copy = LLVMBuildSelect(cg->b, past, around, on, "");
    }
    Lv offset = LLVMBuildNUWMul(cg->b, copy, cg_i32(cg, local_stride(buffer)), "");
    int64_t constant = 0;
    Lv base = cg_without_constants(cg, cg_scalar(cg, buffer), &constant),
       first = cg_i32(cg, constant);
    Lv at = LLVMBuildGEP2(cg->b, cg->t_i8, base, &offset, 1, "");
    cg_new(cg, &op->out[0])[0] = LLVMBuildGEP2(cg->b, cg->t_i8, at, &first, 1, "");
}

/* Of access `i` of those, in the part of the buffer that begins at offset `first`. */
static Lv shared_pointer(Cg *cg, const SharedAccess *access, Lv base, int bytes, uint32_t i,
                         uint32_t first) {
    uint32_t image = layout_reg_image(access->plan->layout, access->order[i]);
    return cg_shared_pointer(cg, access->plan, base, bytes, image ^ first);
}

/* Pointers travel as integers. */
static DType shared_dtype(const Type *type) {
    return type->kind == TYPE_POINTER ? DT_I64 : type->dtype;
}

/* Parts of tiles. The registers of a thread whose elements are in the part together are a coset of
 * those that do not leave it: what threads put where among the bits that tell parts apart decides
 * which of the cosets that is. Threads that hold nothing of the part have none. */

/* Of a tile's registers one coset, as a layout of the part's own indices. */
typedef struct Share {
    const Layout *layout;
    const uint32_t *reg; /* of the tile, by register of `layout` */
    uint32_t first;      /* index of the coset's first */
    Lv predicate;        /* of the threads that have it; NULL: all */
} Share;

typedef struct Sharing {
    Cg *cg;
    const Layout *tile, *kept; /* the layout, and that of the registers that stay in a part */
    const uint32_t *inner;     /* registers of the tile by those of `kept` */
    uint32_t mask, at;         /* index bits that tell parts apart, and those of this part */
    uint32_t within;           /* register bits that are clear in the lowest of a coset */
    Gf2 threads;               /* what lanes and warps make of those bits */
} Sharing;

static Sharing sharing_of(Cg *cg, const Type *tile, const Type *part, int64_t at) {
    const Layout *l = tile->layout;
    Sharing s = {.cg = cg,
                 .tile = l,
                 .mask = layout_part_mask(tile->rank, part->shape, tile->shape),
                 .at = (uint32_t)at};
    Layout kept = {.bits = {0, l->bits[LAYOUT_LANE], l->bits[LAYOUT_WARP]}};
    kept.out_bits = (uint8_t)(l->out_bits - __builtin_popcount(s.mask));
    uint32_t stays[LAYOUT_MAX_BASES];
    Gf2 leaving = {0};
    int n = 0;
    for (int bit = 0; bit < l->bits[LAYOUT_REG]; bit++) {
        uint32_t moved = l->basis[bit] & s.mask, regs = 1u << bit;
        gf2_reduce(&leaving, &moved, &regs);
        if (moved)
            gf2_insert(&leaving, l->basis[bit] & s.mask, 1u << bit);
        else
            stays[n++] = regs;
        s.within |= moved ? 0 : 1u << bit;
    }
    for (int i = 0; i < n; i++)
        kept.basis[i] = bits_drop(layout_reg_image(l, stays[i]), s.mask);
    kept.bits[LAYOUT_REG] = (uint8_t)n;
    for (int bit = 0; bit < layout_thread_bits(l); bit++) {
        uint32_t image = layout_thread_basis(l, bit);
        gf2_insert(&s.threads, image & s.mask, 0);
        kept.basis[n + bit] = bits_drop(image, s.mask);
    }
    uint32_t *inner = ARENA_ARRAY(cg->arena, uint32_t, (size_t)1 << n);
    for (uint32_t reg = 1; reg < 1u << n; reg++)
        inner[reg] = inner[reg & (reg - 1)] ^ stays[__builtin_ctz(reg)];
    s.kept = layout_get(cg->ctx, &kept);
    s.inner = inner;
    return s;
}

/* The coset that begins with register `reg`; false: none does, or no thread has it in the part. */
static bool share_of(const Sharing *s, uint32_t reg, Share *out) {
    Cg *cg = s->cg;
    uint32_t image = layout_reg_image(s->tile, reg), wanted = (image & s->mask) ^ s->at;
    if (reg & s->within || !gf2_contains(&s->threads, wanted))
        return false;
    uint32_t count = 1u << s->kept->bits[LAYOUT_REG];
    uint32_t *regs = ARENA_ARRAY(cg->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        regs[i] = s->inner[i] ^ reg;
    *out = (Share){s->kept, regs, bits_drop(image, s->mask), NULL};
    if (s->threads.rank) {
        Lv own =
            LLVMBuildAnd(cg->b, cg_plan_base(cg, cg_plan(cg, s->tile)), cg_i32(cg, s->mask), "");
        out->predicate = LLVMBuildICmp(cg->b, LLVMIntEQ, own, cg_i32(cg, wanted), "");
    }
    return true;
}

typedef struct SharedMove {
    const Type *tile;
    SharedAccess access;
    Lv base;
    uint32_t first;        /* offset of the part */
    const uint32_t *order; /* registers of the tile by those of the access */
    Lv predicate;
} SharedMove;

static Access access_at(Cg *cg, const SharedMove *move, uint32_t i) {
    return (Access){.space = SPACE_SHARED,
                    .dtype = shared_dtype(move->tile),
                    .width = move->access.width,
                    .pointer = shared_pointer(cg, &move->access, move->base,
                                              type_element_bytes(move->tile), i, move->first),
                    .predicate = move->predicate};
}

static void store_registers(Cg *cg, const SharedMove *move, const Lv *values) {
    const SharedAccess *access = &move->access;
    Lv group[16];
    for (uint32_t i = 0; i < access->count; i += access->width) {
        for (uint32_t k = 0; k < access->width; k++) {
            group[k] = values[move->order[access->order[i + k]]];
            if (move->tile->kind == TYPE_POINTER)
                group[k] = LLVMBuildPtrToInt(cg->b, group[k], cg->t_i64, "");
        }
        Access to = access_at(cg, move, i);
        cg_store(cg, &to, group);
    }
}

/* Where threads have none `out` stays as it is. */
static void load_registers(Cg *cg, const SharedMove *move, Lv *out) {
    const SharedAccess *access = &move->access;
    Lv group[16], old[16];
    for (uint32_t i = 0; i < access->count; i += access->width) {
        for (uint32_t k = 0; k < access->width; k++)
            old[k] = out[move->order[access->order[i + k]]];
        Access from = access_at(cg, move, i);
        cg_load(cg, &from, old, group);
        for (uint32_t k = 0; k < access->width; k++)
            out[move->order[access->order[i + k]]] =
                move->tile->kind == TYPE_POINTER
                    ? LLVMBuildIntToPtr(cg->b, group[k], cg->t_global, "")
                    : group[k];
    }
    for (uint32_t reg = 0; reg < access->plan->count; reg++)
        out[move->order[reg]] = out[move->order[access->plan->rep[reg]]];
}

/* Between the registers of a share and a buffer of the part. */
static SharedMove move_of(Cg *cg, const Type *tile, const Value *buffer, const Share *share) {
    const Layout *shared = buffer->type->layout;
    SharedMove move = {.tile = tile, .base = cg_scalar(cg, buffer), .order = share->reg};
    move.first = layout_apply(layout_invert(cg->ctx, shared), share->first, 0, 0, 0);
    move.predicate = share->predicate;
    move.access = cg_shared_access(cg, share->layout, shared, type_element_bytes(tile), move.first);
    return move;
}

void lower_local_store(Cg *cg, const Op *op) {
    const Value *buffer = op_in(op, 1);
    const Type *type = op_in(op, 0)->type;
    Sharing sharing = sharing_of(cg, type, buffer->type, local_store_attrs(op)->at);
    Share share;
    for (uint32_t reg = 0; reg < cg_count(type); reg++) {
        if (!share_of(&sharing, reg, &share))
            continue;
        SharedMove move = move_of(cg, type, buffer, &share);
        move.predicate = cg_and(cg, share.predicate, cg_owner(cg, type->layout));
        Lv *values = cg_in(cg, op, 0);
        if (move.predicate ||
            !cg_store_matrices(cg, share.layout, share.reg, move.first, values, buffer))
            store_registers(cg, &move, values);
    }
}

/* The tile in `old`, but for what the buffer holds of it. */
static void load_into(Cg *cg, const Op *op) {
    const Value *buffer = op_in(op, 0);
    const Type *type = op->out[0].type;
    Sharing sharing = sharing_of(cg, type, buffer->type, local_load_attrs(op)->at);
    Lv *out = cg_new(cg, &op->out[0]);
    memcpy(out, cg_in(cg, op, 1), cg_count(type) * sizeof *out);
    Share share;
    for (uint32_t reg = 0; reg < cg_count(type); reg++) {
        if (!share_of(&sharing, reg, &share))
            continue;
        SharedMove move = move_of(cg, type, buffer, &share);
        load_registers(cg, &move, out);
    }
}

void lower_local_load(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type, *buffer = op_in(op, 0)->type;
    if (op->nin > 1) {
        load_into(cg, op);
        return;
    }
    if (cg_load_matrices(cg, op))
        return;
    LoadedPart part = cg_loaded_part(cg, op);
    uint32_t count = cg_count(type), *regs = ARENA_ARRAY(cg->arena, uint32_t, count);
    for (uint32_t reg = 0; reg < count; reg++)
        regs[reg] = reg;
    SharedMove move = {.tile = type, .base = cg_scalar(cg, op_in(op, 0)), .first = part.first};
    move.order = regs;
    move.access =
        cg_shared_access(cg, part.layout, buffer->layout, type_element_bytes(type), part.first);
    load_registers(cg, &move, cg_new(cg, &op->out[0]));
}
