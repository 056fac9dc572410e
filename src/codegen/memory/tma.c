/* Tensor copies (TMA) and the mbarriers that await them.
 *
 * One thread of the program issues everything: predicates instead of a branch keep control flow
 * flat around wgmma. A block takes a copy for each of its boxes (target/panels.h). Coordinates are
 * signed elements: what lies outside the tensor comes as zeros, and counts; stores leave it out.
 *
 * A producer is one warp more, the last one. It goes its own way from the beginning and makes the
 * mbarriers ready, one of its threads goes through its region, and it ends there; the barriers of
 * the others do not count it, but for the one at which they wait for the mbarriers.
 */
#include "codegen/memory/tma.h"
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/barrier.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/memory/tensor_maps.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "codegen/values/plans.h"
#include "codegen/values/ptxas.h"
#include "codegen/values/regions.h"
#include "codegen/values/threads.h"
#include "codegen/values/values.h"
#include "target/panels.h"
#include "target/wgmma.h"

/* Threads that issue copies for the program, as i1. */
typedef struct Issuers {
    Lv elected;              /* NULL before it is asked for */
    Lv copier;               /* the same thread, chosen anew behind a wait; NULL: none was */
    LLVMBasicBlockRef block; /* where that holds */
} Issuers;

static const CacheKind issuers_kind = {sizeof(Issuers)};

static Lv elected(Cg *cg) {
    Issuers *issuers = cg_cache(cg, &issuers_kind);
    if (!issuers->elected)
        issuers->elected = LLVMBuildICmp(cg->entry, LLVMIntEQ, cg->thread, cg_i32(cg, 0), "");
    return issuers->elected;
}

/* Kernel entry */

static bool is_no_mbarrier(Op *op, void *user) {
    (void)user;
    return op->code != OP_mbarrier_alloc;
}

static bool has_mbarriers(Cg *cg) {
    return !func_walk(cg->func, is_no_mbarrier, NULL);
}

static bool init_mbarrier(Op *op, void *user) {
    Cg *cg = user;
    if (op->code != OP_mbarrier_alloc)
        return true;
    const struct mbarrier_alloc_attrs *attrs = mbarrier_alloc_attrs(op);
    int64_t arrivals = attrs->arrivals ? attrs->arrivals : 1;
    for (int64_t i = 0; i < local_copies(&op->out[0]); i++) {
        Lv args[] = {cg_shared_at(cg, attrs->offset + MBARRIER_BYTES * i), cg_i32(cg, arrivals)};
        cg_asm(cg, cg->t_void, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,n,~{memory}", args, 2,
               ASM_EFFECTS);
    }
    return true;
}

/* One thread does it in a branch: under predicates, all warps would go through it. */
static void prepare_copies(Cg *cg) {
    LLVMBasicBlockRef prepare = cg_block(cg, "prepare"), prepared = cg_block(cg, "prepared");
    LLVMBuildCondBr(cg->b, elected(cg), prepare, prepared);
    cg_position(cg, prepare);
    for (size_t i = 0; i < cg->meta.tensor_maps.len; i++) {
        Lv map = LLVMGetParam(cg->fn, cg_first_tensor_map(cg) + (unsigned)i);
        cg_asm(cg, cg->t_void, "prefetch.tensormap [$0];", "l,~{memory}", &map, 1, ASM_EFFECTS);
    }
    func_walk(cg->func, init_mbarrier, cg);
    if (has_mbarriers(cg))
        cg_asm(cg, cg->t_void, "fence.mbarrier_init.release.cluster;", "~{memory}", NULL, 0,
               ASM_EFFECTS);
    LLVMBuildBr(cg->b, prepared);
    cg_position(cg, prepared);
}

/* A producer prepares them itself. */
void cg_begin_tensor_copies(Cg *cg) {
    bool waits = has_mbarriers(cg);
    if (cg->has_producer || (!waits && !cg->meta.tensor_maps.len))
        return;
    prepare_copies(cg);
    if (waits)
        cg_barrier(cg);
}

/* mbarriers */

void lower_mbarrier_alloc(Cg *cg, const Op *op) {
    cg_new(cg, &op->out[0])[0] = cg_shared_at(cg, mbarrier_alloc_attrs(op)->offset);
}

/* The thread that issues, where the i1 `on` is. */
static Lv issuer(Cg *cg, const Value *on) {
    Lv is_on = cg_scalar(cg, on);
    const Issuers *issuers = cg_cache(cg, &issuers_kind);
    bool anew = issuers->copier && LLVMGetInsertBlock(cg->b) == issuers->block;
    Lv thread = anew ? issuers->copier : elected(cg);
    return lv_is_true(is_on) ? thread : LLVMBuildAnd(cg->b, thread, is_on, "");
}

void lower_mbarrier_expect(Cg *cg, const Op *op) {
    Lv args[] = {cg_scalar(cg, op_in(op, 0)), cg_i32(cg, mbarrier_expect_attrs(op)->bytes),
                 issuer(cg, op_in(op, 1))};
    if (lv_is_true(args[2]))
        cg_asm(cg, cg->t_void, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
               "r,r,~{memory}", args, 2, ASM_EFFECTS);
    else
        cg_asm(cg, cg->t_void, "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
               "r,r,b,~{memory}", args, 3, ASM_EFFECTS);
}

/* What a tile's products give is computed with behind the op: ptxas would do so before it arrives,
 * or starts a copy, however long that takes, unless it may not (cg_keep_order). Rounding alone
 * takes no time. */
static void keep_before(Cg *cg, const Op *op) {
    bool computes = false;
    block_for_each (other, op->block)
        if (op_is_wgmma(other))
            return;
    for (const Op *next = op->next; next && !computes; next = next->next)
        computes =
            op_has(next, ELEMENTWISE) && next->code != OP_truncf && type_is_tile(next->out[0].type);
    if (computes)
        cg_keep_order(cg);
}

/* One thread of as many warps as make one arrival, of warpgroups whose products it has waited for.
 */
void lower_mbarrier_arrive(Cg *cg, const Op *op) {
    int64_t arrivals = mbarrier_arrivals(op_in(op, 0));
    int64_t threads = TARGET_WARP_SIZE * cg->func->num_warps / arrivals;
    if (!threads) {
        cg_unsupported_layout(cg, op);
        return;
    }
    Lv within = LLVMBuildAnd(cg->entry, cg->thread, cg_i32(cg, threads - 1), "");
    Lv first = LLVMBuildICmp(cg->entry, LLVMIntEQ, within, cg_i32(cg, 0), "");
    Lv on = cg_scalar(cg, op_in(op, 1));
    Lv args[] = {lv_is_true(on) ? first : LLVMBuildAnd(cg->b, first, on, ""),
                 cg_scalar(cg, op_in(op, 0))};
    cg_asm(cg, cg->t_void, "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}", args, 2,
           ASM_EFFECTS);
    keep_before(cg, op);
}

static bool is_in_producer(const Op *op) {
    while (op && op->code != OP_producer)
        op = op->block->parent;
    return op;
}

/* The condition under which this warp waits; NULL: it always does. For arrivals only the warp does
 * that starts copies, whose number is one for all its threads, and ptxas is to know it. */
static Lv waits(Cg *cg, const Op *op) {
    Lv on = op->nin > 2 ? cg_scalar(cg, op_in(op, 2)) : NULL;
    if (!mbarrier_arrivals(op_in(op, 0)) || is_in_producer(op))
        return on;
    Lv warp = cg_uniform(cg, cg->warp);
    Lv copies = LLVMBuildICmp(cg->b, LLVMIntEQ, warp, cg_i32(cg, 0), "");
    return on ? LLVMBuildAnd(cg->b, copies, on, "") : copies;
}

/* The thread that starts copies behind a wait of its warp, as one that ptxas knows to be one. */
static void elect_copier(Cg *cg) {
    Lv warp = cg_uniform(cg, cg->warp);
    Lv first = LLVMBuildICmp(cg->b, LLVMIntEQ, warp, cg_i32(cg, 0), "");
    Issuers *issuers = cg_cache(cg, &issuers_kind);
    issuers->copier = LLVMBuildAnd(cg->b, first, cg_elect(cg), "");
    issuers->block = LLVMGetInsertBlock(cg->b);
}

void lower_mbarrier_wait(Cg *cg, const Op *op) {
    bool is_copiers = mbarrier_arrivals(op_in(op, 0)) && !is_in_producer(op);
    Lv args[3] = {cg_scalar(cg, op_in(op, 0)), cg_scalar(cg, op_in(op, 1)), waits(cg, op)};
    if (args[2]) {
        cg_asm(cg, cg->t_void,
               "{\n\t.reg .pred done;\n\t@!$2 bra DONE;\nWAIT:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t"
               "@!done bra WAIT;\nDONE:\n\t}",
               "r,r,b,~{memory}", args, 3, ASM_CONVERGENT);
        if (is_copiers)
            elect_copier(cg);
        return;
    }
    cg_asm(cg, cg->t_void,
           "{\n\t.reg .pred done;\nWAIT:\n\t"
           "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n\t"
           "@!done bra WAIT;\n\t}",
           "r,r,~{memory}", args, 2, ASM_CONVERGENT);
}

/* Turns of two warpgroups: a named barrier for each, at which it waits and the other one arrives.
 */

enum { FIRST_TURN = 2, SECOND_TURN = 3 };

/* All but the producer's. */
static int32_t warps_of_teams(const Cg *cg) {
    return cg->func->num_warps * cg->meta.teams;
}

static Lv is_first_warpgroup(Cg *cg) {
    if (cg->meta.teams > 1)
        return LLVMBuildICmp(cg->b, LLVMIntEQ, cg_team(cg), cg_i32(cg, 0), "");
    Lv warp = cg_uniform(cg, cg->warp);
    return LLVMBuildICmp(cg->b, LLVMIntULT, warp, cg_i32(cg, WGMMA_WARPS), "");
}

void lower_turn_wait(Cg *cg, const Op *op) {
    Lv args[] = {is_first_warpgroup(cg), cg_i32(cg, FIRST_TURN), cg_i32(cg, SECOND_TURN),
                 cg_i32(cg, TARGET_WARP_SIZE * warps_of_teams(cg))};
    cg_asm(cg, cg->t_void, "@$0 bar.sync $1, $3;\n\t@!$0 bar.sync $2, $3;", "b,n,n,n,~{memory}",
           args, 4, ASM_CONVERGENT);
}

void lower_turn_pass(Cg *cg, const Op *op) {
    Lv is_first = is_first_warpgroup(cg), is_second = LLVMBuildNot(cg->b, is_first, "");
    Lv to_second = LLVMBuildAnd(cg->b, is_first, cg_scalar(cg, op_in(op, 0)), "");
    Lv to_first = LLVMBuildAnd(cg->b, is_second, cg_scalar(cg, op_in(op, 1)), "");
    Lv args[] = {to_second, to_first, cg_i32(cg, FIRST_TURN), cg_i32(cg, SECOND_TURN),
                 cg_i32(cg, TARGET_WARP_SIZE * warps_of_teams(cg))};
    cg_asm(cg, cg->t_void, "@$0 bar.arrive $3, $4;\n\t@$1 bar.arrive $2, $4;",
           "b,b,n,n,n,~{memory}", args, 5, ASM_CONVERGENT);
}

/* All threads of the CTA, at its barrier: the producer's arrive there and go on. */
static void meet_producer(Cg *cg, bool is_producer) {
    Lv args[] = {cg_i32(cg, -1), cg_i32(cg, TARGET_WARP_SIZE * (warps_of_teams(cg) + 1))};
    if (is_producer)
        cg_asm(cg, cg->t_void, "bar.warp.sync $0;\n\tbar.arrive 0, $1;", "n,n,~{memory}", args, 2,
               ASM_CONVERGENT);
    else
        cg_asm(cg, cg->t_void, "bar.sync 0, $0;", "n,~{memory}", args + 1, 1, ASM_CONVERGENT);
}

static void set_registers(Cg *cg, const char *direction, int32_t registers) {
    StrBuf text = strbuf(cg->arena);
    strbuf_printf(&text, "setmaxnreg.%s.sync.aligned.u32 %d;", direction, (int)registers);
    cg_asm(cg, cg->t_void, strbuf_str(&text).ptr, "~{memory}", NULL, 0, ASM_CONVERGENT);
}

/* Registers change hands between whole warpgroups: the producer's has three warps more, which end.
 */
static void give_registers(Cg *cg, Lv is_first) {
    LLVMBasicBlockRef first = cg_block(cg, "first"), rest = cg_block(cg, "idle");
    set_registers(cg, "dec", PRODUCER_REGISTERS);
    LLVMBuildCondBr(cg->b, is_first, first, rest);
    cg_position(cg, rest);
    LLVMBuildRetVoid(cg->b);
    cg_position(cg, first);
}

/* The number of the warp is one for all its threads, and ptxas is to know it. What the first copies
 * need the producer makes itself, so that they wait for no other warp. One of its threads goes
 * through the region: where all do and one issues, addresses are none that ptxas keeps uniform. */
void lower_producer(Cg *cg, const Op *op) {
    Lv own = LLVMBuildLShr(cg->b, cg->cta_thread, cg_i32(cg, 5), "");
    Lv warp = cg_uniform(cg, own), issuing = elected(cg);
    Issuers *issuers = cg_cache(cg, &issuers_kind);
    Lv teams = cg_i32(cg, warps_of_teams(cg));
    bool has_more = cg->meta.teams > 1;
    Lv is_producer = LLVMBuildICmp(cg->b, has_more ? LLVMIntUGE : LLVMIntEQ, warp, teams, "");
    LLVMBasicBlockRef producer = cg_block(cg, "producer");
    LLVMBasicBlockRef others = LLVMCreateBasicBlockInContext(cg->llvm, "others");
    LLVMBuildCondBr(cg->b, is_producer, producer, others);
    cg_position(cg, producer);
    if (has_more)
        give_registers(cg, LLVMBuildICmp(cg->b, LLVMIntEQ, warp, teams, ""));
    issuers->elected = cg_elect(cg);
    prepare_copies(cg);
    meet_producer(cg, true);
    LLVMBasicBlockRef copies = cg_block(cg, "copies"), over = cg_block(cg, "over");
    LLVMBuildCondBr(cg->b, issuers->elected, copies, over);
    cg_position(cg, copies);
    issuers->elected = LLVMConstInt(cg->t_i1, 1, false);
    cg_lower_block(cg, op->regions[0]);
    LLVMBuildBr(cg->b, over);
    cg_position(cg, over);
    LLVMBuildRetVoid(cg->b);
    LLVMAppendExistingBasicBlock(cg->fn, others);
    cg_position(cg, others);
    issuers->elected = issuing;
    if (has_more) {
        set_registers(cg, "inc", TEAM_REGISTERS);
        Lv is_second = LLVMBuildICmp(cg->b, LLVMIntUGE, warp, cg_i32(cg, cg->func->num_warps), "");
        cg->team = LLVMBuildZExt(cg->b, is_second, cg->t_i32, "");
    }
    meet_producer(cg, false);
}

/* Copies */

typedef struct TensorCopy {
    Cg *cg;
    BlockAccess access;
    const Type *part; /* of the block that a thread copies */
    Boxes boxes;
    const Layout *offsets;                   /* from the element to where it lies in the buffer */
    Lv begin[BOX_MAX_RANK];                  /* of its own type, in the order of the map */
    Lv issuer, map, buffer, barrier, policy; /* policy: NULL for none */
} TensorCopy;

/* Tensors reach to coordinate INT32_MAX (RECIPE_MAX_EXTENT). An offset of a load that is no number
 * of 32 bits lies outside, and so does what it becomes; past INT32_MAX the sum wraps to below 0,
 * outside as well. */
static Lv coordinate(const TensorCopy *copy, int i, int64_t step) {
    Cg *cg = copy->cg;
    Lv at = copy->begin[i];
    if (LLVMTypeOf(at) != cg->t_i32) {
        Lv low = LLVMBuildTrunc(cg->b, at, cg->t_i32, "");
        Lv fits = LLVMBuildICmp(cg->b, LLVMIntEQ, LLVMBuildSExt(cg->b, low, cg->t_i64, ""), at, "");
        at = LLVMBuildSelect(cg->b, fits, low, cg_i32(cg, INT32_MIN), "");
    }
    return LLVMBuildAdd(cg->b, at, cg_i32(cg, step), "");
}

/* Which thread starts the copy of this box. A store must not begin below 0: a box past INT32_MAX,
 * where no tensor is, has no copy. */
static Lv issuer_of_box(const TensorCopy *copy, const int64_t origin[MAX_RANK]) {
    Cg *cg = copy->cg;
    Lv issuer = copy->issuer;
    for (int i = 0; i < copy->boxes.rank && !copy->barrier; i++) {
        int dim = copy->boxes.dims[i];
        bool is_wide = LLVMTypeOf(copy->begin[i]) != cg->t_i32;
        if ((!is_wide && !origin[dim]) || !block_checks(&copy->access, dim))
            continue;
        int64_t last = INT32_MAX - origin[dim];
        Lv inside = LLVMBuildICmp(cg->b, LLVMIntSLE, copy->begin[i],
                                  is_wide ? cg_i64(cg, last) : cg_i32(cg, last), "");
        issuer = lv_is_true(inside) ? issuer : LLVMBuildAnd(cg->b, issuer, inside, "");
    }
    return issuer;
}

static bool copy_of(Cg *cg, const Op *op, TensorCopy *copy) {
    Panels panels;
    *copy = (TensorCopy){.cg = cg, .access = block_access(op), .map = cg_tensor_map(cg, op)};
    const Type *type = copy->access.tile;
    copy->part = cg_copied_part(cg, op);
    if (!layout_find_panels(cg->ctx, type, type->layout, &panels) ||
        !boxes_of(copy->part, panels, &copy->boxes)) {
        cg_unsupported_layout(cg, op);
        return false;
    }
    copy->offsets = layout_invert(cg->ctx, type->layout);
    copy->buffer = cg_scalar(cg, op_in(op, 1));
    for (int i = 0; i < copy->boxes.rank; i++) {
        uint32_t dim = (uint32_t)copy->boxes.dims[i];
        copy->begin[i] = cg_scalar(cg, op_in(op, copy->access.offsets + dim));
    }
    EvictionPolicy evict = op_evict(op);
    const Value *policy = block_access_policy(op);
    copy->policy = policy                  ? cg_scalar(cg, policy)
                   : evict != EVICT_NORMAL ? cg_l2_policy(cg, evict)
                                           : NULL;
    return true;
}

/* Operands of a piece of PTX. */
typedef struct Operands {
    Lv values[BOX_MAX_RANK + 5];
    unsigned count;
    StrBuf constraints;
} Operands;

static unsigned add_operand(Operands *operands, Lv value, const char *constraint) {
    strbuf_printf(&operands->constraints, "%s,", constraint);
    operands->values[operands->count] = value;
    return operands->count++;
}

static Lv box_address(const TensorCopy *copy, const int64_t origin[MAX_RANK]) {
    Cg *cg = copy->cg;
    const Type *type = copy->access.tile;
    uint32_t index = 0;
    for (int d = 0; d < type->rank; d++)
        index = index * (uint32_t)type->shape[d] + (uint32_t)origin[d];
    Lv offset =
        cg_i32(cg, (int64_t)layout_apply(copy->offsets, index, 0, 0, 0) * type_element_bytes(type));
    return LLVMBuildGEP2(cg->b, cg->t_i8, copy->buffer, &offset, 1, "");
}

/* `[map, {c0, c1, ..}]` of the box. */
static void put_place(const TensorCopy *copy, const int64_t origin[MAX_RANK], StrBuf *text,
                      Operands *operands) {
    strbuf_printf(text, "[$%u, {", add_operand(operands, copy->map, "l"));
    for (int i = 0; i < copy->boxes.rank; i++) {
        Lv at = coordinate(copy, i, origin[copy->boxes.dims[i]]);
        strbuf_printf(text, "%s$%u", i ? ", " : "", add_operand(operands, at, "r"));
    }
    strbuf_puts(text, "}]");
}

static void emit_box(const TensorCopy *copy, uint32_t number) {
    Cg *cg = copy->cg;
    int64_t origin[MAX_RANK];
    box_origin(&copy->boxes, copy->part, number, origin);
    StrBuf text = strbuf(cg->arena);
    Operands operands = {.constraints = strbuf(cg->arena)};
    const char *hint = copy->policy ? ".L2::cache_hint" : "";
    Lv on = issuer_of_box(copy, origin);
    if (!lv_is_true(on))
        strbuf_printf(&text, "@$%u ", add_operand(&operands, on, "b"));
    unsigned shared = add_operand(&operands, box_address(copy, origin), "r");
    if (copy->barrier) {
        strbuf_printf(&text,
                      "cp.async.bulk.tensor.%dd.shared::cluster.global.tile"
                      ".mbarrier::complete_tx::bytes%s [$%u], ",
                      copy->boxes.rank, hint, shared);
        put_place(copy, origin, &text, &operands);
        strbuf_printf(&text, ", [$%u]", add_operand(&operands, copy->barrier, "r"));
    } else {
        strbuf_printf(&text, "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group%s ",
                      copy->boxes.rank, hint);
        put_place(copy, origin, &text, &operands);
        strbuf_printf(&text, ", [$%u]", shared);
    }
    if (copy->policy)
        strbuf_printf(&text, ", $%u", add_operand(&operands, copy->policy, "l"));
    strbuf_puts(&text, ";");
    strbuf_puts(&operands.constraints, "~{memory}");
    cg_asm(cg, cg->t_void, strbuf_str(&text).ptr, strbuf_str(&operands.constraints).ptr,
           operands.values, operands.count, ASM_EFFECTS);
}

static void emit_boxes(const TensorCopy *copy) {
    for (uint32_t i = 0; i < copy->boxes.count; i++)
        emit_box(copy, i);
}

void lower_copy_block(Cg *cg, const Op *op) {
    TensorCopy copy;
    if (!copy_of(cg, op, &copy))
        return;
    copy.barrier = cg_scalar(cg, op_in(op, 2));
    copy.issuer = issuer(cg, op_in(op, 3));
    emit_boxes(&copy);
}

/* One thread, which ptxas is to know; see elect_copier. */
static Lv elect_in_warpgroup(Cg *cg) {
    Lv warp = cg_uniform(cg, cg->warp);
    Lv within = LLVMBuildAnd(cg->b, warp, cg_i32(cg, WGMMA_WARPS - 1), "");
    Lv first = LLVMBuildICmp(cg->b, LLVMIntEQ, within, cg_i32(cg, 0), "");
    return LLVMBuildAnd(cg->b, first, cg_elect(cg), "");
}

/* Rows of the buffer and of the tensor follow those of the warpgroups before. */
static void take_part(TensorCopy *copy) {
    Cg *cg = copy->cg;
    const Type *type = copy->access.tile;
    Lv warpgroup = cg_warpgroup(cg);
    uint32_t basis[LAYOUT_MAX_BASES];
    int bits = __builtin_ctz((unsigned)cg->func->num_warps / WGMMA_WARPS);
    for (int i = 0; i < bits; i++) {
        uint32_t first = (uint32_t)type_numel(copy->part) << i;
        basis[i] = layout_apply(copy->offsets, first, 0, 0, 0) * (uint32_t)type_element_bytes(type);
    }
    Lv offset = cg_linear(cg, cg->b, warpgroup, basis, bits);
    copy->buffer = LLVMBuildGEP2(cg->b, cg->t_i8, copy->buffer, &offset, 1, "");
    for (int i = 0; i < copy->boxes.rank; i++)
        if (copy->boxes.dims[i] == type->rank - STORED_RANK) {
            int64_t rows = copy->part->shape[type->rank - STORED_RANK];
            Lv row = LLVMBuildMul(cg->b, warpgroup, cg_i32(cg, rows), "");
            Lv begin = LLVMBuildSExt(cg->b, copy->begin[i], cg->t_i64, "");
            row = LLVMBuildZExt(cg->b, row, cg->t_i64, "");
            copy->begin[i] = LLVMBuildAdd(cg->b, begin, row, "");
        }
    copy->issuer = elect_in_warpgroup(cg);
}

/* No checked dimension has the whole block behind its extent. */
static Lv reaches_tensor(Cg *cg, const Op *op) {
    BlockAccess access = block_access(op);
    Lv reaches = LLVMConstInt(cg->t_i1, 1, false);
    for (uint32_t d = 0; d < (uint32_t)access.rank; d++) {
        if (!block_checks(&access, (int)d))
            continue;
        Lv begin = cg_scalar(cg, op_in(op, access.offsets + d));
        Lv wide = LLVMBuildSExt(cg->b, begin, cg->t_i64, "");
        Lv extent = cg_scalar(cg, op_in(op, access.shape + d));
        Lv inside = LLVMBuildICmp(cg->b, LLVMIntSLT, wide, extent, "");
        reaches = LLVMBuildAnd(cg->b, reaches, inside, "");
    }
    return reaches;
}

/* The boxes of a block, or of a part of it, are one group, which may be empty: store_wait counts.
 */
void lower_store_block_from(Cg *cg, const Op *op) {
    TensorCopy copy;
    if (!copy_of(cg, op, &copy))
        return;
    if (store_block_from_attrs(op)->warpgroups)
        take_part(&copy);
    else
        copy.issuer = elected(cg);
    Lv committer = copy.issuer;
    if (op_guarded(op))
        copy.issuer = LLVMBuildAnd(cg->b, committer, reaches_tensor(cg, op), "");
    emit_boxes(&copy);
    cg_asm(cg, cg->t_void, "@$0 cp.async.bulk.commit_group;", "b,~{memory}", &committer, 1,
           ASM_EFFECTS);
    keep_before(cg, op);
}

/* Threads that issued nothing have nothing to wait for. */
void lower_store_wait(Cg *cg, const Op *op) {
    const char *text = str_format(cg->arena, "cp.async.bulk.wait_group%s %lld;",
                                  store_wait_attrs(op)->read ? ".read" : "",
                                  (long long)store_wait_attrs(op)->pending);
    cg_asm(cg, cg->t_void, text, "~{memory}", NULL, 0, ASM_EFFECTS);
}
