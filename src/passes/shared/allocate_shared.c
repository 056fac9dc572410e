/* allocate-shared: offsets of shared buffers.
 *
 *     %s = local_alloc {offset = -1}   ->   %s = local_alloc {offset = 0}
 *     ...                                   ...
 *     %t = local_alloc {offset = -1}        %t = local_alloc {offset = 16384}
 *
 * A buffer lives from its first to its last access, through every loop that has an access but not
 * its local_alloc, and until its asynchronous copies and tensor copies from it are waited for;
 * mbarriers live through the whole function. Buffers that never live at
 * once may share bytes, but sharing orders their accesses by barriers: so every buffer has bytes of
 * its own as long as they all fit in the program's share of an SM that is full of threads, or as
 * long as overlap would not let more programs run. Beyond, the largest buffers are placed first,
 * each at the lowest offset that no buffer living at the same time has; nor one of the same loop,
 * where barriers would be passed in each iteration, if as many programs run without. Where that
 * leaves gaps for which a program does not fit, those that live longest are placed first. No more
 * programs run than registers let in: that is reckoned with where these are few, and there are
 * products, whose copies pass by the L1 cache.
 *
 * Buffers that a wgmma_joint reads as one operand lie one behind the other, copy by copy:
 *
 *     %b = local_alloc {copies = 2}   ->   %b = local_alloc {offset = 0, .., stride = 24576}
 *     %c = local_alloc {copies = 2}        %c = local_alloc {offset = 16384, .., stride = 24576}
 *
 * Behind the buffers is the scratch of ops that exchange results by themselves (ir/scratch.h).
 *
 * Needs func->capability. Leaves offsets and func->shared_bytes; programs_per_cta is lowered until
 * the CTA's buffers fit, and what does not fit alone is reported. Runs before place-barriers, which
 * looks at offsets. */
#include "passes/shared/allocate_shared.h"
#include "ir/registers.h"
#include "ir/scratch.h"
#include "passes/analysis/pressure.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/bits.h"
#include "support/ptrmap.h"
#include "support/vec.h"
#include "target/panels.h"
#include "target/target.h"
#include <stdlib.h>

enum {
    SMALL_ALIGNMENT = 16,
    LARGE_ALIGNMENT = 128,
    FEW_WARPS = 8 /* of an SM, as many as threads of 168 registers and more let in */
};

typedef struct Buffer {
    Op *alloc;
    int64_t bytes, offset;
    uint32_t first, last; /* positions of the accesses, inclusive */
    uint32_t from, to;    /* and of the outermost loop around it, if there is one */
    bool swizzled;        /* by address: wgmma or tensor copies access it */
} Buffer;

/* A buffer that lies behind another one, in each copy of it. */
typedef struct Follower {
    Op *alloc, *leader;
    int64_t behind; /* bytes */
} Follower;

typedef struct Allocation {
    Arena *arena;
    PtrMap start, end; /* position of ops + 1; end: of the last op inside */
    VEC(Buffer) buffers;
    VEC(Follower) followers;
    int64_t scratch; /* of ops, behind all buffers */
} Allocation;

static uint32_t number_ops(Allocation *allocation, Block *block, uint32_t position) {
    block_for_each (op, block) {
        ptrmap_set(&allocation->start, op, (void *)(uintptr_t)++position);
        for (uint32_t i = 0; i < op->nregions; i++)
            position = number_ops(allocation, op->regions[i], position);
        ptrmap_set(&allocation->end, op, (void *)(uintptr_t)position);
    }
    return position;
}

static uint32_t position_of(const PtrMap *map, const Op *op) {
    return (uint32_t)(uintptr_t)ptrmap_get(map, op);
}

static int64_t alignment_of(const Buffer *buffer) {
    return buffer->swizzled                   ? PANEL_ALIGNMENT
           : buffer->bytes >= LARGE_ALIGNMENT ? LARGE_ALIGNMENT
                                              : SMALL_ALIGNMENT;
}

/* The outermost loop that the access stands in and the buffer does not; else the access itself. */
static const Op *extent_of(const Op *alloc, Op *access) {
    const Op *around = op_ancestor_in(access, alloc->block);
    for (const Op *op = access; op != around; op = op->block->parent)
        if (op_has(op->block->parent, LOOP))
            return around;
    return access;
}

/* Copies that are under way touch the buffer until they are waited for. */
static const Op *wait_after(const Op *alloc, Op *copy, OpCode wait) {
    const Op *op = op_ancestor_in(copy, alloc->block);
    while (op && (op->code != wait || op_pending(op)))
        op = op->next;
    return op ? op : alloc->block->last;
}

static void extend(const Allocation *allocation, Buffer *buffer, const Op *extent) {
    uint32_t first = position_of(&allocation->start, extent);
    uint32_t last = position_of(&allocation->end, extent);
    bool used = buffer->last > 0;
    buffer->first = !used || first < buffer->first ? first : buffer->first;
    buffer->last = !used || last > buffer->last ? last : buffer->last;
}

static void collect_uses(const Allocation *allocation, Buffer *buffer, const Value *value) {
    value_for_each_use (use, value) {
        if (use->user->code == OP_local_view) {
            collect_uses(allocation, buffer, op_out(use->user));
            continue;
        }
        extend(allocation, buffer, extent_of(buffer->alloc, use->user));
        OpCode code = use->user->code;
        buffer->swizzled |= buffer->alloc->code == OP_local_alloc &&
                            (op_is_wgmma(use->user) || op_has(use->user, TENSOR_COPY));
        if (code == OP_async_copy)
            extend(allocation, buffer, wait_after(buffer->alloc, use->user, OP_async_wait));
        if (code == OP_store_block_from)
            extend(allocation, buffer, wait_after(buffer->alloc, use->user, OP_store_wait));
    }
}

static void collect_buffer(Allocation *allocation, Op *alloc) {
    Buffer buffer = {.alloc = alloc,
                     .bytes = local_bytes(op_out(alloc)) * local_copies(op_out(alloc))};
    collect_uses(allocation, &buffer, op_out(alloc));
    if (alloc->code == OP_mbarrier_alloc)
        buffer.first = 0, buffer.last = UINT32_MAX;
    if (!buffer.last)
        buffer.first = buffer.last = position_of(&allocation->start, alloc);
    const Op *loop = op_outermost_loop(alloc);
    buffer.from = buffer.first, buffer.to = buffer.last;
    if (loop && position_of(&allocation->start, loop) < buffer.from)
        buffer.from = position_of(&allocation->start, loop);
    if (loop && position_of(&allocation->end, loop) > buffer.to)
        buffer.to = position_of(&allocation->end, loop);
    vec_push(allocation->arena, &allocation->buffers, buffer);
}

static void collect_buffers(Allocation *allocation, Block *block) {
    block_for_each (op, block) {
        if (op_has(op, ALLOCATES))
            collect_buffer(allocation, op);
        for (uint32_t i = 0; i < op->nregions; i++)
            collect_buffers(allocation, op->regions[i]);
    }
}

/* What is read as one operand */

static bool is_joined(const Allocation *allocation, const Op *alloc) {
    vec_for_each (follower, &allocation->followers)
        if (follower->alloc == alloc || follower->leader == alloc)
            return true;
    return false;
}

static size_t find_buffer(const Allocation *allocation, const Op *alloc) {
    size_t i = 0;
    while (allocation->buffers.data[i].alloc != alloc)
        i++;
    return i;
}

/* The buffer becomes part of the leader's. */
static void follow(Allocation *allocation, Op *leader, Op *alloc) {
    Buffer *buffers = allocation->buffers.data;
    size_t to = find_buffer(allocation, leader), from = find_buffer(allocation, alloc);
    Buffer *all = &buffers[to], *one = &buffers[from];
    Follower follower = {alloc, leader, all->bytes / local_copies(op_out(leader))};
    all->bytes += one->bytes;
    all->first = one->first < all->first ? one->first : all->first;
    all->last = one->last > all->last ? one->last : all->last;
    all->from = one->from < all->from ? one->from : all->from;
    all->to = one->to > all->to ? one->to : all->to;
    all->swizzled |= one->swizzled;
    *one = buffers[--allocation->buffers.len];
    vec_push(allocation->arena, &allocation->followers, follower);
}

/* Each buffer has one place: two groups of which it is part are one group, or stay apart, which
 * codegen reports. */
static bool join_buffers(Op *op, void *user) {
    Allocation *allocation = user;
    if (op->code != OP_wgmma_joint || !wgmma_joint_attrs(op)->adjacent)
        return true;
    Op *leader = local_alloc_of(op_in(op, 1))->out[0].def;
    bool free = true;
    for (uint32_t i = 0; i < wgmma_products(op); i++) {
        const Value *buffer = op_in(op, 1 + i);
        free &= !is_joined(allocation, local_alloc_of(buffer)) &&
                local_copies(buffer) == local_copies(op_in(op, 1));
        for (uint32_t k = 0; k < i; k++)
            free &= local_alloc_of(buffer) != local_alloc_of(op_in(op, 1 + k));
    }
    for (uint32_t i = 1; i < wgmma_products(op) && free; i++)
        follow(allocation, leader, local_alloc_of(op_in(op, 1 + i))->out[0].def);
    return true;
}

/* Bytes of a program whose buffers end there. */
static int64_t with_scratch(const Allocation *allocation, int64_t end) {
    return allocation->scratch ? align_up(end, SMALL_ALIGNMENT) + allocation->scratch : end;
}

/* Those of the greatest alignment first, so that little is left between them. */
static int64_t place_apart(Allocation *allocation) {
    int64_t end = 0;
    for (int swizzled = 1; swizzled >= 0; swizzled--)
        vec_for_each (buffer, &allocation->buffers) {
            if (buffer->swizzled != swizzled)
                continue;
            buffer->offset = align_up(end, alignment_of(buffer));
            end = buffer->offset + buffer->bytes;
        }
    return with_scratch(allocation, end);
}

/* `loops`: those of one loop do, whenever in it. */
static bool live_together(const Buffer *a, const Buffer *b, bool loops) {
    return loops ? a->from <= b->to && b->from <= a->to
                 : a->first <= b->last && b->first <= a->last;
}

static int larger_first(const void *a, const void *b) {
    const Buffer *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* What lives through rings of several loops is no gap between them then; mbarriers, which are small
 * and need no alignment, go where there is room. */
static int longer_first(const void *a, const void *b) {
    const Buffer *x = a, *y = b;
    bool is_small = x->bytes < LARGE_ALIGNMENT, is_other_small = y->bytes < LARGE_ALIGNMENT;
    uint32_t life = x->last - x->first, other = y->last - y->first;
    if (is_small != is_other_small)
        return is_small ? 1 : -1;
    if (life != other)
        return life < other ? 1 : -1;
    return larger_first(a, b);
}

typedef int BufferOrder(const void *a, const void *b);

/* The lowest offset clear of the `count` buffers that are placed, which are in order of their
 * offsets: past one of them, or 0. */
static int64_t lowest_offset(const Buffer *const *placed, size_t count, const Buffer *buffer,
                             bool loops) {
    int64_t offset = 0;
    for (size_t i = 0; i < count && placed[i]->offset < offset + buffer->bytes; i++)
        if (offset < placed[i]->offset + placed[i]->bytes &&
            live_together(buffer, placed[i], loops))
            offset = align_up(placed[i]->offset + placed[i]->bytes, alignment_of(buffer));
    return offset;
}

static int64_t place_overlapping(Allocation *allocation, BufferOrder *order, bool loops) {
    int64_t end = 0;
    size_t count = allocation->buffers.len;
    const Buffer **placed = ARENA_ARRAY(allocation->arena, const Buffer *, count + 1);
    if (count)
        qsort(allocation->buffers.data, count, sizeof(Buffer), order);
    for (size_t i = 0; i < count; i++) {
        Buffer *buffer = &allocation->buffers.data[i];
        buffer->offset = lowest_offset(placed, i, buffer, loops);
        if (buffer->offset + buffer->bytes > end)
            end = buffer->offset + buffer->bytes;
        size_t at = i;
        for (; at > 0 && placed[at - 1]->offset > buffer->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = buffer;
    }
    return with_scratch(allocation, end);
}

static int64_t place_by_lifetime(Allocation *allocation, int64_t room) {
    int64_t bytes = place_overlapping(allocation, larger_first, false);
    if (bytes <= room)
        return bytes;
    int64_t longer = place_overlapping(allocation, longer_first, false);
    return longer <= room ? longer : place_overlapping(allocation, larger_first, false);
}

static bool is_of_warpgroups(const Op *op, const void *user) {
    return op_is_wgmma(op);
}

/* CTAs of which an SM has the registers, each thread of which needs so many for tiles. */
static int64_t ctas_by_registers(const Func *func, const Target *target, uint64_t tiles) {
    int32_t programs = func->programs_per_cta > 0 ? func->programs_per_cta : 1;
    int32_t warps = func->num_warps > 0 ? func->num_warps : 1;
    int32_t registers = (int32_t)tiles + RESERVE_SCALARS, room = func_register_room(func, warps);
    int32_t threads = warps * programs * TARGET_WARP_SIZE;
    return target_occupancy(target, registers < room ? registers : room, threads, 0).ctas;
}

/* Programs that the registers of an SM hold at most, where these are surely few: for fewer
 * registers of a thread what tiles take is too rough a measure. Beside products of warpgroups it is
 * one for more than they need: ptxas computes what comes of scores where it is wanted, so that a
 * tile and its multiple are one. Those without products leave shared memory to the L1 cache, by
 * which they load. INT32_MAX: any number. */
static int64_t most_by_registers(Func *func, const Target *target) {
    if (!block_multiplies(func->body))
        return INT32_MAX;
    int32_t programs = func->programs_per_cta > 0 ? func->programs_per_cta : 1;
    int32_t warps = func->num_warps > 0 ? func->num_warps : 1;
    int64_t ctas = ctas_by_registers(func, target, pressure_streamed_in_thread(func));
    if (ctas * programs * warps > FEW_WARPS)
        return INT32_MAX;
    if (block_any(func->body, is_of_warpgroups, NULL))
        ctas = ctas_by_registers(func, target, pressure_summed_in_thread(func));
    return ctas > 0 ? ctas * programs : 1;
}

/* Programs that an SM holds, whose shared memory is that and of which registers let in `most`; CTAs
 * of one program. */
static int64_t programs_held(const Target *target, int64_t bytes, int64_t most) {
    int64_t held =
        target->shared_per_sm / (bytes + target->shared_per_sm - target->shared_per_block);
    return held < most ? held : most;
}

/* Each program's part of a CTA's memory begins as its buffers ask. */
static int64_t program_bytes(const Allocation *allocation, int64_t bytes) {
    vec_for_each (buffer, &allocation->buffers)
        if (buffer->swizzled)
            return align_up(bytes, PANEL_ALIGNMENT);
    return bytes;
}

/* Apart, unless more programs run at once if buffers overlap; those of a loop unless yet more do.
 */
static int64_t place(Allocation *allocation, Func *func, const Target *target) {
    int64_t apart = place_apart(allocation);
    int threads = TARGET_WARP_SIZE * (func->num_warps > 0 ? func->num_warps : 1);
    int64_t full = (int64_t)target->shared_per_sm * threads / target->threads_per_sm;
    int32_t room = func_shared_room(func);
    if (apart <= full && apart <= room)
        return apart;
    int64_t overlapped = place_by_lifetime(allocation, room);
    int64_t most = most_by_registers(func, target);
    int64_t held = programs_held(target, overlapped, most);
    if (apart <= room && programs_held(target, apart, most) >= held)
        return place_apart(allocation);
    int64_t looped = place_overlapping(allocation, larger_first, true);
    return looped <= room && programs_held(target, looped, most) >= held
               ? looped
               : place_by_lifetime(allocation, room);
}

/* Bytes of the buffers that live at a position. */
static int64_t live_at(const Allocation *allocation, uint32_t position) {
    int64_t bytes = 0;
    vec_for_each (buffer, &allocation->buffers)
        if (buffer->first <= position && position <= buffer->last)
            bytes = align_up(bytes, alignment_of(buffer)) + buffer->bytes;
    return bytes;
}

/* Notes for the largest of the buffers that live at a position, but for the one already named. */
static void note_buffers(Ctx *ctx, const Allocation *allocation, uint32_t position,
                         const Op *named) {
    enum { MOST_NOTES = 8 };
    int left = MOST_NOTES;
    vec_for_each (buffer, &allocation->buffers) { /* the largest first */
        const Op *alloc = buffer->alloc;
        if (alloc == named || buffer->first > position || position > buffer->last || left == 0)
            continue;
        left--;
        int64_t copies = local_copies(op_out(alloc));
        if (copies > 1)
            diag_note(&ctx->diags, alloc->span, "%lld bytes for %lld stages of this",
                      (long long)buffer->bytes, (long long)copies);
        else
            diag_note(&ctx->diags, alloc->span, "%lld bytes for this", (long long)buffer->bytes);
    }
}

/* Bytes of the buffers that live at a position, if none had more than so many stages. */
static int64_t live_with_stages(const Allocation *allocation, uint32_t position, int64_t most) {
    int64_t bytes = 0;
    vec_for_each (buffer, &allocation->buffers) {
        if (buffer->first > position || position > buffer->last)
            continue;
        const int64_t copies = local_copies(op_out(buffer->alloc));
        const int64_t kept = copies > most ? buffer->bytes / copies * most : buffer->bytes;
        bytes = align_up(bytes, alignment_of(buffer)) + kept;
    }
    return with_scratch(allocation, bytes);
}

/* What helps: fewer stages, which cost no other code, if they do; else smaller blocks. */
static void hint_remedy(Ctx *ctx, const Allocation *allocation, uint32_t position, int64_t room) {
    int64_t stages = 1;
    vec_for_each (buffer, &allocation->buffers)
        if (buffer->first <= position && position <= buffer->last &&
            local_copies(op_out(buffer->alloc)) > stages)
            stages = local_copies(op_out(buffer->alloc));
    for (int64_t fewer = stages - 1; fewer > 0; fewer--)
        if (live_with_stages(allocation, position, fewer) <= room) {
            diag_hint(&ctx->diags, "choose fewer num_stages: with %lld of the %lld it fits",
                      (long long)fewer, (long long)stages);
            return;
        }
    diag_hint(&ctx->diags, stages > 1 ? "make the blocks smaller: with one stage it would not fit"
                                      : "make the blocks smaller");
}

/* Reports a program that needs more than a CTA may have: at what takes most of it where most is
 * alive, with what is alive beside that. */
static bool report_excess(Func *func, Allocation *allocation, const Target *target, int64_t bytes) {
    Ctx *ctx = func_ctx(func);
    place_overlapping(allocation, larger_first, false);
    uint32_t position = 0;
    vec_for_each (buffer, &allocation->buffers)
        if (live_at(allocation, buffer->first) > live_at(allocation, position))
            position = buffer->first;
    const Op *largest = func_most_scratch(func);
    int64_t most = allocation->scratch;
    vec_for_each (buffer, &allocation->buffers) {
        if (buffer->first > position || position > buffer->last)
            continue;
        if (buffer->bytes > most) {
            largest = buffer->alloc;
            most = buffer->bytes;
        }
    }
    ctx_diag(ctx, largest->span, shared_exceeded, STR_ARG(func->name), (long long)bytes,
             target->name, (int)func_shared_room(func), (long long)most);
    diag_resource(&ctx->diags, (uint64_t)bytes, (uint64_t)func_shared_room(func));
    note_buffers(ctx, allocation, position, largest);
    hint_remedy(ctx, allocation, position, func_shared_room(func));
    return false;
}

static bool check_limit(Func *func, Allocation *allocation, const Target *target, int64_t bytes) {
    int32_t room = func_shared_room(func);
    while (func->programs_per_cta > 1 && bytes * func->programs_per_cta > room)
        func->programs_per_cta /= 2;
    return bytes <= room || report_excess(func, allocation, target, bytes);
}

static bool set_place(Op *alloc, int64_t offset, int64_t stride) {
    bool has_stride = alloc->code == OP_local_alloc;
    bool changed =
        op_offset(alloc) != offset || (has_stride && local_alloc_attrs(alloc)->stride != stride);
    op_set_offset(alloc, offset);
    if (has_stride)
        local_alloc_attrs(alloc)->stride = stride;
    return changed;
}

static bool set_offsets(Allocation *allocation) {
    bool changed = false;
    vec_for_each (buffer, &allocation->buffers) {
        int64_t copies = local_copies(op_out(buffer->alloc)), stride = 0;
        vec_for_each (follower, &allocation->followers)
            if (follower->leader == buffer->alloc)
                stride = buffer->bytes / copies;
        changed |= set_place(buffer->alloc, buffer->offset, stride);
        vec_for_each (follower, &allocation->followers)
            if (follower->leader == buffer->alloc)
                changed |= set_place(follower->alloc, buffer->offset + follower->behind, stride);
    }
    return changed;
}

static Allocation collect(Func *func) {
    Arena *arena = &func_ctx(func)->scratch;
    Allocation allocation = {.arena = arena, .start = {.arena = arena}, .end = {.arena = arena}};
    number_ops(&allocation, func->body, 0);
    collect_buffers(&allocation, func->body);
    func_walk(func, join_buffers, &allocation);
    allocation.scratch = func_scratch_bytes(func);
    return allocation;
}

int64_t shared_bytes_beside(Func *func, const PtrSet *allocs) {
    ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
    Allocation allocation = collect(func);
    size_t kept = 0;
    vec_for_each (buffer, &allocation.buffers)
        if (!ptr_set_has(allocs, buffer->alloc))
            allocation.buffers.data[kept++] = *buffer;
    allocation.buffers.len = kept;
    int64_t bytes = place_by_lifetime(&allocation, func_shared_room(func));
    arena_rewind(&func_ctx(func)->scratch, mark);
    return bytes;
}

int64_t shared_bytes_apart(Func *func) {
    ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
    Allocation allocation = collect(func);
    int64_t bytes = place_apart(&allocation);
    arena_rewind(&func_ctx(func)->scratch, mark);
    return bytes;
}

static int in_order(const void *a, const void *b) {
    const SharedLife *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

SharedLives shared_lives(Func *func, Arena *arena, uint32_t *ops) {
    SharedLives lives = {0};
    ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
    Allocation allocation = collect(func);
    *ops = number_ops(&allocation, func->body, 0);
    vec_for_each (buffer, &allocation.buffers) {
        uint32_t last = buffer->last < *ops ? buffer->last : *ops;
        SharedLife life = {buffer->alloc, buffer->first > 0 ? buffer->first : 1, last};
        vec_push(arena, &lives, life);
        vec_for_each (follower, &allocation.followers)
            if (follower->leader == buffer->alloc)
                vec_push(arena, &lives, (SharedLife){follower->alloc, life.first, last});
    }
    if (lives.len)
        qsort(lives.data, lives.len, sizeof *lives.data, in_order);
    arena_rewind(&func_ctx(func)->scratch, mark);
    return lives;
}

/* Where more than `room` bytes are alive at once: first positions of buffers, behind which no more
 * are until the next one. */
typedef VEC(uint32_t) Positions;

static Positions crowded_positions(const Allocation *allocation, int64_t room) {
    Positions positions = {0};
    vec_for_each (buffer, &allocation->buffers)
        if (with_scratch(allocation, live_at(allocation, buffer->first)) > room)
            vec_push(allocation->arena, &positions, buffer->first);
    return positions;
}

/* Some time while the buffer is alive? */
static bool is_crowded(const Positions *positions, const Buffer *buffer) {
    vec_for_each (position, positions)
        if (buffer->first <= *position && *position <= buffer->last)
            return true;
    return false;
}

/* The largest of those that can be made smaller and live where too much does; of all, where that is
 * nowhere: then there are gaps. */
static uint32_t largest_size(const Allocation *allocation, int64_t room, const SharedSize *sizes,
                             uint32_t count) {
    Positions crowded = crowded_positions(allocation, room);
    uint32_t largest = count;
    for (uint32_t i = 0; i < count; i++) {
        const Buffer *buffer = &allocation->buffers.data[find_buffer(allocation, sizes[i].alloc)];
        if (!sizes[i].is_least && (largest == count || sizes[i].bytes > sizes[largest].bytes) &&
            (!crowded.len || is_crowded(&crowded, buffer)))
            largest = i;
    }
    return largest;
}

bool shared_fits(Func *func, int64_t room, const SharedSize *sizes, uint32_t count,
                 uint32_t *largest) {
    ArenaMark mark = arena_mark(&func_ctx(func)->scratch);
    Allocation allocation = collect(func);
    for (uint32_t i = 0; i < count; i++)
        allocation.buffers.data[find_buffer(&allocation, sizes[i].alloc)].bytes = sizes[i].bytes;
    bool fits = place_by_lifetime(&allocation, func_shared_room(func)) <= room;
    if (!fits)
        *largest = largest_size(&allocation, room, sizes, count);
    arena_rewind(&func_ctx(func)->scratch, mark);
    return fits;
}

bool pass_allocate_shared(Func *func) {
    Ctx *ctx = func_ctx(func);
    const Target *target = target_by_capability(func->capability);
    ArenaMark mark = arena_mark(&ctx->scratch);
    Allocation allocation = collect(func);
    int64_t bytes = place(&allocation, func, target);
    if (func->programs_per_cta > 1)
        bytes = program_bytes(&allocation, bytes);
    bool changed = false;
    if (check_limit(func, &allocation, target, bytes)) {
        changed = func->shared_bytes != bytes;
        func->shared_bytes = (int32_t)bytes;
        changed |= set_offsets(&allocation);
    }
    arena_rewind(&ctx->scratch, mark);
    return changed;
}
