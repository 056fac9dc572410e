/* How many stages of pipeline-loads fit shared memory.
 *
 * Rings lie beside what others take while their loop runs. What that is the passes that take it say
 * themselves: feed-wgmma and stage-shared of operands and of what is stored (exchanges.c),
 * stage-blocks of blocks (block_buffers.c), codegen of atomics (ir/scratch.h), specialise-warps of
 * its producer and teams (specialise.h). */
#include "ir/registers.h"
#include "ir/scratch.h"
#include "passes/analysis/pressure.h"
#include "passes/blocks/block_buffers.h"
#include "passes/layout/layout_rules.h"
#include "passes/schedule/pipeline_loads.h"
#include "passes/schedule/specialise.h"
#include "target/target.h"
#include "target/wgmma.h"

/* Its bytes are counted elsewhere. */
static bool has_buffer(const Pipelined *p, const Op *op) {
    while (op && op_adds_or_drops_ones(op))
        op = op_in(op, 0)->def;
    vec_for_each (staged, &p->loads)
        if (op == staged->load)
            return true;
    return op && op->code == OP_load_block;
}

/* What products read in the loop from buffers other than the rings: operands that are computed in
 * it, and in front of it if `around`: those may wait in registers instead. */
static int64_t bytes_of_operands(const Pipelined *p, bool around) {
    int64_t bytes = 0;
    block_for_each (dot, p->body) {
        if (dot->code != OP_dot || dot_attrs(dot)->unit == UNIT_FMA)
            continue;
        for (int i = 0; i < 2; i++) {
            bool transposed;
            const Op *op = dot_operand_source(dot, i, &transposed);
            if (!dot_operand_is_exchanged(dot, op))
                continue;
            Op *source = op_in(op, 0)->def;
            bool inside = !source || op_ancestor_in(source, p->body);
            if (!has_buffer(p, source) && (around || inside))
                bytes += type_bytes(op_out(op)->type);
        }
    }
    return bytes;
}

static bool is_used_in(const Value *value, const Op *loop) {
    value_for_each_use (use, value) {
        if (op_ancestor_in(use->user, loop->regions[0]) ||
            (op_rearranges(use->user) && is_used_in(op_out(use->user), loop)))
            return true;
    }
    return false;
}

/* Bytes of the blocks that are loaded before the loop and wait in buffers for it. */
static int64_t other_buffers(const Pipelined *p) {
    int64_t bytes = 0;
    for (const Op *loop = p->loop, *around = loop; around; around = around->block->parent)
        block_for_each (op, around->block)
            if (op->code == OP_load_block && is_used_in(op_out(op), loop))
                bytes += block_buffer_bytes(block_buffer_type(p->ctx, op));
    return bytes;
}

/* Of what is stored: tiles that cross warps on their way, blocks that tensor copies take. */
static int64_t bytes_of_stores(const Pipelined *p, const Block *block) {
    int64_t bytes = 0;
    block_for_each (op, block) {
        const Op *convert =
            op->code == OP_store && op->nin > 1 ? value_def(op_in(op, 1), OP_convert_layout) : NULL;
        const Type *exchanged = convert ? convert_exchanged(p->ctx, convert) : NULL;
        if (op->code == OP_store_block)
            bytes += block_buffer_bytes(block_buffer_type(p->ctx, op));
        else if (exchanged)
            bytes += type_bytes(exchanged);
    }
    return bytes;
}

/* What is chosen from by index, and counts, in the block and all in it: the former lies in a
 * buffer, for as long as the loop runs where it comes from outside. */
static int64_t bytes_of_gathers(const Block *block) {
    int64_t bytes = 0;
    block_for_each (op, block) {
        bytes += op->code == OP_gather      ? type_bytes(op_in(op, 0)->type)
                 : op->code == OP_histogram ? type_bytes(op_out(op)->type)
                                            : 0;
        for (uint32_t i = 0; i < op->nregions; i++)
            bytes += bytes_of_gathers(op->regions[i]);
    }
    return bytes;
}

/* In an iteration, in its branches too. */
static int64_t bytes_of_all_stores(const Pipelined *p, const Block *block) {
    int64_t bytes = bytes_of_stores(p, block);
    block_for_each (op, block)
        for (uint32_t i = 0; i < op->nregions && op->code == OP_if; i++)
            bytes += bytes_of_all_stores(p, op->regions[i]);
    return bytes;
}

/* May specialise-warps give the copies to a warp of their own, which goes on to the next tile while
 * this one is stored? */
static bool may_have_producer(const Pipelined *p) {
    const Op *around = p->loop->block->parent;
    if (!p->in_flight || p->next || !around || around->code != OP_for ||
        !specialise_has_place(p->body->func))
        return false;
    vec_for_each (staged, &p->loads)
        if (staged->means != BY_TENSOR_COPY || !specialise_can_place(p->arena, staged->load))
            return false;
    return true;
}

/* Rings lie beside what is stored then, and all their buffers but one are ahead of the product. */
static bool fit_ring(Pipelined *p, int64_t bytes, int64_t room) {
    int copies = p->stages + 1;
    while (copies > PIPELINE_LEAST_STAGES && copies * bytes > room)
        copies--;
    if (copies <= PIPELINE_LEAST_STAGES || copies < p->stages)
        return false;
    p->copies = copies;
    p->stages = copies - 1;
    return true;
}

static bool fit_producer(Pipelined *p, int64_t bytes, int64_t room) {
    const Func *func = p->body->func;
    int64_t stored = bytes_of_stores(p, p->loop->block);
    if (!may_have_producer(p))
        return false;
    bool has_teams =
        specialise_wants_teams(func) && specialise_is_alone((p->stages + 1) * bytes + stored, room);
    return (has_teams && fit_ring(p, bytes, room - SPECIALISE_TEAMS * stored)) ||
           fit_ring(p, bytes, room - stored);
}

static bool has_warpgroup_products(const Pipelined *p) {
    block_for_each (op, p->body)
        if (op->code == OP_dot && dot_attrs(op)->unit == UNIT_WGMMA)
            return true;
    return false;
}

int64_t pipeline_thread_copies(const Pipelined *p) {
    int64_t copies = 0, threads = (int64_t)p->body->func->num_warps * TARGET_WARP_SIZE;
    vec_for_each (staged, &p->loads)
        if (staged->means == BY_ASYNC_COPY)
            copies +=
                (type_numel(op_out(staged->load)->type) / staged->width + threads - 1) / threads;
    return copies;
}

/* Other CTAs of an SM compute while one waits for its loads, which in a loop that stores have more
 * than products to wait for. Bytes for its rings with which those of two stages leave half of the
 * CTAs that registers let in, and further stages cost none; 0: there is no such number, or copies
 * would take the registers that tiles need. */
static int64_t room_beside_ctas(const Pipelined *p, int64_t bytes, int64_t beside) {
    Func *func = p->body->func;
    const Target *target = target_by_capability(func->capability);
    if (!target)
        return INT64_MAX;
    int64_t need = (int64_t)pressure_most_in_thread(func) + RESERVE_COPIES;
    int64_t copies = pipeline_thread_copies(p);
    if ((has_warpgroup_products(p) || p->computed) && copies > 0 &&
        need + COPY_REGISTERS * copies > TARGET_MAX_REGISTERS)
        return 0;
    need = need < TARGET_MAX_REGISTERS ? need : TARGET_MAX_REGISTERS;
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t threads = func->num_warps * programs * TARGET_WARP_SIZE;
    int64_t by_registers = target_occupancy(target, (int32_t)need, threads, 0).ctas;
    int64_t each = target->shared_per_sm / programs, least = PIPELINE_LEAST_STAGES * bytes;
    if (each / least < (by_registers + 1) / 2)
        return 0;
    int64_t ctas = each / (least + beside);
    ctas = ctas < by_registers ? ctas : by_registers;
    int64_t room = each / (ctas > 1 ? ctas : 1) - beside;
    return room > least ? room : least;
}

/* Operands that threads store anew in each iteration are waited for by a warpgroup's products, and
 * these by the threads: what an SM does meanwhile is another CTA's. Of one warpgroup registers
 * always allow two. The room with which shared memory does, too, if that is so for at least two
 * stages. */
static int64_t room_beside_another(const Pipelined *p, int64_t bytes, int64_t room) {
    const Func *func = p->body->func;
    const Target *target = target_by_capability(func->capability);
    if (!target || func->num_warps > WGMMA_WARPS || p->in_flight || !bytes_of_operands(p, true) ||
        !has_warpgroup_products(p))
        return room;
    int64_t reserved = target->shared_per_sm - target->shared_per_block;
    int64_t half = target->shared_per_sm / 2 - reserved - (func_shared_room(func) - room);
    return half >= PIPELINE_LEAST_STAGES * bytes && half < room ? half : room;
}

static bool has_products_of_warps(const Pipelined *p) {
    block_for_each (op, p->body)
        if (op->code == OP_dot && dot_attrs(op)->unit == UNIT_MMA)
            return true;
    return false;
}

/* Has an SM fewer than two warps for each scheduler with so many stages beside so many bytes, and
 * another CTA with one less? */
static bool stage_takes_cta(const Pipelined *p, const Target *target, int64_t stages, int64_t bytes,
                            int64_t beside) {
    enum { WARPS_OF_SCHEDULER = 2 };
    const Func *func = p->body->func;
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t threads = func->num_warps * programs * TARGET_WARP_SIZE;
    int64_t with = (beside + stages * bytes) * programs, without = with - bytes * programs;
    Occupancy now = target_occupancy(target, 0, threads, (int32_t)with);
    Occupancy then = target_occupancy(target, 0, threads, (int32_t)without);
    return now.warps < WARPS_OF_SCHEDULER * TARGET_PARTITIONS && then.ctas > now.ctas;
}

/* A warp that multiplies by mma.sync waits for fragments and for the product before. Where an SM
 * has fewer than two warps for each scheduler, as registers always allow, one stage less is worth
 * another CTA: its copies still have an iteration in which to come. The room of that stage less.
 * It must be so whatever waits in registers; and rings that are the smaller part of what is used
 * say too little of how many CTAs there are. */
static int64_t room_of_schedulers(const Pipelined *p, int64_t bytes, int64_t room) {
    const Func *func = p->body->func;
    const Target *target = target_by_capability(func->capability);
    int64_t stages = bytes && p->stages * bytes > room ? room / bytes : p->stages;
    int64_t most = func_shared_room(func) - room;
    int64_t least = most - (bytes_of_operands(p, true) - bytes_of_operands(p, false)) -
                    PIPELINE_MOST_STAGES * MBARRIER_BYTES;
    if (!target || stages <= PIPELINE_LEAST_STAGES || most > stages * bytes ||
        has_warpgroup_products(p) || !has_products_of_warps(p))
        return room;
    return stage_takes_cta(p, target, stages, bytes, most) &&
                   stage_takes_cta(p, target, stages, bytes, least > 0 ? least : 0)
               ? (stages - 1) * bytes
               : room;
}

/* Rings of one buffer */

static bool may_be_refilled(const Pipelined *p) {
    return p->keeps_registers && p->async && !p->bytes && !p->next && !has_warpgroup_products(p) &&
           has_products_of_warps(p);
}

/* Of what crosses warps or is stored in an iteration, apart from what rings hold: allocate-shared
 * has them share their bytes where that lets another CTA in. */
static int64_t largest_exchange(const Pipelined *p, const Block *block) {
    int64_t largest = 0;
    block_for_each (op, block) {
        int64_t bytes = 0;
        const Type *exchanged =
            op->code == OP_convert_layout ? convert_exchanged(p->ctx, op) : NULL;
        if (exchanged && !has_buffer(p, op_in(op, 0)->def))
            bytes = type_bytes(exchanged);
        else if (op->code == OP_store_block)
            bytes = block_buffer_bytes(block_buffer_type(p->ctx, op));
        else if (op->code == OP_if)
            for (uint32_t i = 0; i < op->nregions; i++) {
                int64_t inside = largest_exchange(p, op->regions[i]);
                bytes = bytes > inside ? bytes : inside;
            }
        largest = largest > bytes ? largest : bytes;
    }
    return largest;
}

static bool add_ring(Op *op, void *user) {
    int64_t *bytes = user;
    if (op->code == OP_local_alloc)
        *bytes += type_bytes(op_out(op)->type) * local_copies(op_out(op));
    return true;
}

/* Of loops that were looked at before. What crosses warps there is taken to be as much as here. */
static int64_t bytes_of_other_rings(const Pipelined *p) {
    int64_t bytes = 0;
    func_walk(p->body->func, add_ring, &bytes);
    return bytes;
}

/* CTAs of an SM, each with so many bytes, as far as registers let them in. */
static int64_t ctas_with(const Pipelined *p, const Target *target, int64_t bytes) {
    Func *func = p->body->func;
    int64_t need = (int64_t)pressure_most_in_thread(func) + RESERVE_COPIES;
    need = need < TARGET_MAX_REGISTERS ? need : TARGET_MAX_REGISTERS;
    int32_t programs = func->programs_per_cta ? func->programs_per_cta : 1;
    int32_t threads = func->num_warps * programs * TARGET_WARP_SIZE;
    return target_occupancy(target, (int32_t)need, threads, (int32_t)(bytes * programs)).ctas;
}

/* While a loop that stores waits for what it has just begun to load, other CTAs compute: twice as
 * many are worth more than a second buffer of each ring. */
static bool is_better_refilled(const Pipelined *p, int64_t bytes) {
    const Target *target = target_by_capability(p->body->func->capability);
    int64_t beside = largest_exchange(p, p->body), others = bytes_of_other_rings(p) + beside;
    if (!target || bytes + beside > func_shared_room(p->body->func))
        return false;
    int64_t most = ctas_with(p, target, 0), alone = ctas_with(p, target, bytes);
    int64_t once = bytes + beside, twice = PIPELINE_LEAST_STAGES * bytes + beside;
    int64_t one = ctas_with(p, target, once > others ? once : others);
    int64_t two = ctas_with(p, target, twice > others ? twice : others);
    return alone >= (most + 1) / 2 && one >= 2 * two;
}

/* A product that stays under way in the next iteration takes a buffer more. One warpgroup leaves
 * the tensor cores idle whenever it waits, whatever is under way, and another CTA's products run
 * meanwhile: where that buffer takes its place, copies are ahead by one iteration less. */
static void fit_in_flight(Pipelined *p, int64_t bytes, int64_t beside, int64_t room) {
    const Func *func = p->body->func;
    const Target *target = target_by_capability(func->capability);
    bool spare = p->in_flight && (p->stages + 1) * bytes <= room;
    int64_t with = (p->stages + 1) * bytes + beside, without = with - bytes;
    if (spare && target && func->num_warps <= WGMMA_WARPS && ctas_with(p, target, with) == 1 &&
        ctas_with(p, target, without) > 1) {
        spare = p->stages > PIPELINE_LEAST_STAGES;
        p->stages -= spare;
    }
    p->copies = p->stages + spare;
}

bool pipeline_fit_stages(Pipelined *p) {
    const Func *func = p->body->func;
    int64_t bytes = 0, room = func_shared_room(func);
    int64_t beside = 0;
    for (const Pipelined *one = p; one; one = one->next) {
        int64_t more = bytes_of_operands(one, true) + bytes_of_all_stores(one, one->body) +
                       bytes_of_gathers(one->body);
        beside = beside > more ? beside : more;
    }
    room -= beside + other_buffers(p) + PIPELINE_MOST_STAGES * MBARRIER_BYTES +
            func_scratch_bytes(p->body->func);
    vec_for_each (staged, &p->loads)
        bytes += type_bytes(op_out(staged->load)->type);
    bytes += p->beside;
    if (may_be_refilled(p) && is_better_refilled(p, bytes)) {
        p->stages = PIPELINE_LEAST_STAGES;
        p->copies = 1;
        return true;
    }
    if (p->keeps_registers && bytes) {
        int64_t limit = room_beside_ctas(p, bytes, beside);
        room = limit < room ? limit : room;
    }
    int asked = p->stages;
    if (fit_producer(p, bytes, room))
        return true;
    room = room_beside_another(p, bytes, room);
    room = room_of_schedulers(p, bytes, room);
    /* A load in registers is one iteration ahead, however many there are. */
    if (!p->async && !p->bytes)
        p->stages = PIPELINE_LEAST_STAGES;
    while (p->stages >= PIPELINE_LEAST_STAGES && p->stages * bytes > room)
        p->stages--;
    if (p->stages < asked && (p->async || p->bytes))
        ctx_diag(p->ctx, p->loop->span, fewer_stages, asked, (long long)(asked * bytes),
                 (long long)room, p->stages < PIPELINE_LEAST_STAGES ? 1 : p->stages);
    fit_in_flight(p, bytes, beside, room);
    return p->stages >= PIPELINE_LEAST_STAGES;
}
