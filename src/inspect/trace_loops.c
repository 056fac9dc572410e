/* What an iteration of a loop does, when, and who does it.
 *
 * Ops begin in the order of the text when their operands are there, at the figures of the machine
 * (passes/analysis/op_work.h), one warp of each role alone. Copies and products go on beside what
 * follows them; who waits for a copy that was started iterations ahead waits for what is left of it
 * then. All warps together keep tensor cores, shared memory and the way to L2 busy, and no
 * iteration is shorter than that. Latencies and rates are those of the simulator's clock, and data
 * come from where that has them come from: from L2, unless the launch touches more than it has.
 * Left out are bank conflicts, and that warps wait for each other. */
#include "inspect/trace.h"

#include "passes/analysis/op_work.h"
#include "support/ptrmap.h"

#include <math.h>

/* What is no product, copy or wait by its traits, a row an op. */
static const uint8_t kind_of_op[OP_COUNT] = {
    [OP_async_copy] = TRACE_OP_COPY + 1,         [OP_async_commit] = TRACE_OP_BARRIER + 1,
    [OP_async_wait] = TRACE_OP_WAIT + 1,         [OP_mbarrier_wait] = TRACE_OP_WAIT + 1,
    [OP_mbarrier_expect] = TRACE_OP_BARRIER + 1, [OP_mbarrier_arrive] = TRACE_OP_BARRIER + 1,
    [OP_wgmma_wait] = TRACE_OP_WAIT + 1,         [OP_store_wait] = TRACE_OP_WAIT + 1,
    [OP_turn_wait] = TRACE_OP_WAIT + 1,          [OP_turn_pass] = TRACE_OP_BARRIER + 1,
    [OP_grid_wait] = TRACE_OP_WAIT + 1,          [OP_convert_layout] = TRACE_OP_EXCHANGE + 1,
    [OP_reduce] = TRACE_OP_EXCHANGE + 1,         [OP_scan] = TRACE_OP_EXCHANGE + 1,
    [OP_gather] = TRACE_OP_EXCHANGE + 1,         [OP_histogram] = TRACE_OP_EXCHANGE + 1,
    [OP_effect_asm] = TRACE_OP_INLINE + 1,       [OP_inline_asm] = TRACE_OP_INLINE + 1,
};

static TraceOpKind kind_of(const Op *op) {
    if (kind_of_op[op->code])
        return (TraceOpKind)(kind_of_op[op->code] - 1);
    if (op_has(op, TENSOR_COPY))
        return TRACE_OP_COPY;
    if (op_has(op, ACCUMULATES))
        return TRACE_OP_PRODUCT;
    if (op_has(op, SYNC))
        return TRACE_OP_BARRIER;
    if (op_is_control(op) || op_has(op, TERMINATOR))
        return TRACE_OP_CONTROL;
    if (op_has(op, SAYS))
        return TRACE_OP_CONTROL;
    if (op_has(op, READS | WRITES))
        return TRACE_OP_GLOBAL;
    if (op_has(op, LREADS | LWRITES))
        return TRACE_OP_SHARED;
    return TRACE_OP_ARITHMETIC;
}

const char *const trace_unit_name[] = {
    [TRACE_TENSOR] = "tensor cores",
    [TRACE_SHARED] = "shared memory and L1",
    [TRACE_L2] = "L2 to an SM",
};

typedef struct Loops {
    Trace *trace;
    WorkContext context;
    double share;    /* warps of a scheduler */
    double *ready;   /* by Value.id: the clock at which it is there */
    PtrMap lines;    /* Op to its number + 1 in the notes' list */
    const Str *text; /* lines of the last Tile IR */
    size_t text_lines;
    double far; /* latency of global memory that is new to the program */
    double units[TRACE_UNITS];
    double products; /* when those that are under way end */
    double copied;   /* how long a copy takes at least */
    double started;  /* when the last copy of the iteration was, if there is one */
    double ahead;    /* iterations from a copy to the wait for it */
    double waits;    /* clocks that an iteration waits for copies, if they are started ahead */
} Loops;

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double figure(const Loops *l, Figure which) {
    return target_figure(l->context.target, which);
}

/* Texts */

static void split_lines(Loops *l, Str text) {
    Str *lines = ARENA_ARRAY(&l->trace->ctx->arena, Str, text.len + 1);
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        const size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        lines[l->text_lines++] = (Str){text.ptr + at, len};
        at += len + 1;
    }
    l->text = lines;
}

/* The line of the op, without what surrounds it and the types of its results. */
static Str text_of(const Loops *l, const Op *op) {
    const size_t at = (size_t)(uintptr_t)ptrmap_get(&l->lines, op);
    if (!at || at > l->trace->notes.ops.len)
        return str_from(op_info[op->code].name);
    const uint32_t line = l->trace->notes.ops.data[at - 1].line;
    if (line >= l->text_lines)
        return str_from(op_info[op->code].name);
    Str text = l->text[line];
    while (text.len && text.ptr[0] == ' ')
        text = (Str){text.ptr + 1, text.len - 1};
    for (size_t i = 0; i + 2 < text.len; i++)
        if (!memcmp(text.ptr + i, " : ", 3) && (i < 2 || text.ptr[i - 1] != '"'))
            return (Str){text.ptr, i};
    if (text.len > 2 && !memcmp(text.ptr + text.len - 2, " {", 2))
        text.len -= 2;
    return text;
}

/* Trips */

static int64_t trips_of(const Op *loop) {
    int64_t from, to, step;
    if (loop->code != OP_for || !value_int_constant(op_in(loop, 0), &from) ||
        !value_int_constant(op_in(loop, 1), &to) || !value_int_constant(op_in(loop, 2), &step) ||
        step <= 0)
        return 0;
    return to > from ? (to - from + step - 1) / step : 0;
}

/* Copies */

static int64_t buffer_copies(const Op *copy) {
    for (uint32_t i = 0; i < copy->nin; i++)
        if (op_in(copy, i)->type->kind == TYPE_BUFFER &&
            local_alloc_of(op_in(copy, i))->code == OP_local_alloc)
            return local_copies(op_in(copy, i));
    return 1;
}

/* What it fills, or brings to memory: the largest of its buffers, of which mbarriers are some. */
static double copied_bytes(const Op *copy) {
    double bytes = 0;
    for (uint32_t i = 0; i < copy->nin; i++)
        if (op_in(copy, i)->type->kind == TYPE_BUFFER)
            bytes = larger(bytes, (double)type_numel(op_in(copy, i)->type) *
                                      type_element_bytes(op_in(copy, i)->type));
    return bytes;
}

static double copy_clocks(const Loops *l, const Op *copy) {
    double bytes = copied_bytes(copy);
    double tensor = op_has(copy, TENSOR_COPY) ? figure(l, FIGURE_LATENCY_TMA) : 0;
    return tensor + l->far + bytes / figure(l, FIGURE_BYTES_L2);
}

/* Ops in time */

static double block_clocks(Loops *l, const Block *block, double start, TraceRole *role);

/* What an op with regions takes: a loop as often as it runs, where that is known. */
static double control_clocks(Loops *l, const Op *op, double start) {
    double end = start;
    const double trips = op_has(op, LOOP) ? larger((double)trips_of(op), 1) : 1;
    for (uint32_t r = 0; r < op->nregions; r++) {
        const Block *body = op->regions[r];
        for (uint32_t i = 0; i < body->nargs; i++)
            l->ready[body->args[i].id] = start;
        const double once = block_clocks(l, body, start, NULL) - start;
        end = op_has(op, LOOP) ? end + once * trips : larger(end, start + once);
    }
    return end;
}

/* The first wait of an iteration has all that copies lack; those of this iteration take all they
 * take. */
static double wait_until(Loops *l, const Op *op, double now) {
    if (op->code == OP_async_wait || op->code == OP_mbarrier_wait) {
        const double waits = l->waits;
        l->waits = 0;
        return l->ahead > 0 ? now + waits : larger(now, l->started + l->copied);
    }
    if (op->code == OP_wgmma_wait && !op_pending(op))
        return larger(now, l->products);
    return now;
}

static void set_ready(Loops *l, const Op *op, double when) {
    for (uint32_t i = 0; i < op->nout; i++)
        l->ready[op->out[i].id] = when;
}

/* Loads come from where the simulator's clock has them come from. Of products by threads each step
 * follows the one before while those of other elements are issued. */
static OpWork work_of(const Loops *l, const Op *op) {
    OpWork work = op_work(&l->context, op);
    if (op_has(op, ACCUMULATES) && !op_is_wgmma(op) && work.tensor == 0)
        work.latency = larger(work.latency - work.issue, figure(l, FIGURE_LATENCY_ALU));
    if (op->code == OP_load || op_has(op, ATOMIC))
        work.latency -= figure(l, FIGURE_LATENCY_GLOBAL) - l->far;
    return work;
}

/* Copies by threads are lines of L1, and write what they copy to shared memory. */
static void occupy(Loops *l, const Op *op, TraceOpKind kind, const OpWork *work) {
    const double copied = kind == TRACE_OP_COPY ? copied_bytes(op) : 0;
    const double passes = op->code == OP_async_copy ? 2 : 1;
    l->units[TRACE_TENSOR] += work->tensor;
    l->units[TRACE_SHARED] +=
        kind == TRACE_OP_COPY ? passes * copied / figure(l, FIGURE_BYTES_SHARED) : work->memory;
    l->units[TRACE_L2] += (copied > 0 ? copied : work->bytes) / figure(l, FIGURE_BYTES_L2);
}

/* One op that begins at `now` or when its operands are there; `ends`: when its effect is there.
 * Gives when the next one may begin. */
static double op_clocks(Loops *l, const Op *op, double now, TraceOp *told) {
    const TraceOpKind kind = kind_of(op);
    OpWork work = {0};
    double begin = now, next, end;
    for (uint32_t i = 0; i < op->nin; i++)
        begin = larger(begin, l->ready[op_in(op, i)->id]);
    if (op->nregions && op_is_control(op)) {
        next = end = control_clocks(l, op, begin);
    } else if (kind == TRACE_OP_WAIT) {
        next = end = wait_until(l, op, begin);
    } else if (kind == TRACE_OP_COPY) {
        work = op->code == OP_async_copy ? op_work(&l->context, op) : (OpWork){.issue = 1};
        next = begin + work.issue * l->share;
        end = next + copy_clocks(l, op);
        l->started = begin;
    } else {
        work = work_of(l, op);
        next = begin + work.issue * l->share;
        end = next + work.latency;
        if (op_has(op, SYNC))
            next = end;
    }
    if (op_is_wgmma(op)) {
        begin = larger(begin, now);
        end = l->products = larger(l->products, begin) + work.latency;
        if (!op_in_flight(op))
            next = end;
    }
    occupy(l, op, kind, &work);
    set_ready(l, op, kind == TRACE_OP_COPY || op_is_wgmma(op) ? next : end);
    *told = (TraceOp){.op = op,
                      .kind = kind,
                      .at = trace_place(l->trace->ctx, op->span),
                      .from = begin,
                      .to = end,
                      .ahead = kind == TRACE_OP_COPY ? buffer_copies(op) - 1 : 0};
    return kind == TRACE_OP_ARITHMETIC ? now + work.issue * l->share : next;
}

/* Ops that only name what there is cost nothing and say nothing. */
static bool is_told(const TraceOp *op) {
    if (op_has(op->op, TERMINATOR | CONSTANT | HINT | ALLOCATES))
        return false;
    return op->kind != TRACE_OP_ARITHMETIC || op->to > op->from;
}

/* Gives when the block ends. `role`: gets its ops; NULL: nobody asks. */
static double block_clocks(Loops *l, const Block *block, double start, TraceRole *role) {
    double now = start, end = start;
    block_for_each (op, block) {
        TraceOp told;
        now = op_clocks(l, op, now, &told);
        end = larger(end, now);
        const bool has_effect = !op_has(op, PURE) && told.kind != TRACE_OP_COPY;
        if (has_effect && !op_is_wgmma(op))
            end = larger(end, told.to);
        if (role && is_told(&told)) {
            told.text = text_of(l, op);
            vec_push(&l->trace->ctx->arena, &role->ops, told);
        }
    }
    return end;
}

/* The longest copy of the loop and how many iterations it has. */
static void look_at_copies(Loops *l, const Op *loop, int64_t *ahead) {
    block_for_each (op, loop->regions[loop->nregions - 1]) {
        if (kind_of(op) != TRACE_OP_COPY || op_has(op, WRITES))
            continue;
        const int64_t copies = buffer_copies(op);
        l->copied = larger(l->copied, copy_clocks(l, op));
        *ahead = copies - 1 > *ahead ? copies - 1 : *ahead;
    }
}

/* Once as if copies were there, which says how long an iteration is and when it starts its copies;
 * then with what these lack, which is shared by the iterations that they are started ahead. */
static void iterate(Loops *l, const Op *loop, double ahead, TraceRole *role) {
    const Block *body = loop->regions[loop->nregions - 1];
    double waits = 0;
    l->ahead = ahead;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < body->nargs; i++)
            l->ready[body->args[i].id] = 0;
        l->products = l->started = 0;
        l->waits = waits;
        role->ops.len = 0;
        memset(l->units, 0, sizeof l->units);
        role->clocks = block_clocks(l, body, 0, role);
        for (int unit = 0; unit < TRACE_UNITS; unit++)
            role->clocks = larger(role->clocks, l->units[unit]);
        if (ahead > 0)
            waits = larger(l->copied + l->started - ahead * role->clocks, 0) / ahead;
    }
    memcpy(role->units, l->units, sizeof role->units);
}

/* Loops */

/* The producer's copy of a loop; NULL: it has none. */
static const Op *find_same(const Block *block, const Op *loop) {
    const Op *found = NULL;
    block_for_each (op, block) {
        if (op->code == loop->code && op->span.file == loop->span.file &&
            op->span.lo == loop->span.lo && op->span.hi == loop->span.hi)
            return op;
        for (uint32_t r = 0; r < op->nregions && !found; r++)
            found = find_same(op->regions[r], loop);
        if (found)
            return found;
    }
    return NULL;
}

static const char *warps_text(Arena *arena, const Func *func) {
    return func->teams > 1 ? str_format(arena, "%d x %d", func->teams, func->num_warps)
                           : str_format(arena, "%d", func->num_warps);
}

static bool has_unknown_trips(const Block *block) {
    block_for_each (op, block) {
        if (op_has(op, LOOP) && !trips_of(op))
            return true;
        for (uint32_t r = 0; r < op->nregions; r++)
            if (has_unknown_trips(op->regions[r]))
                return true;
    }
    return false;
}

static void add_loop(Loops *l, const Op *op) {
    Arena *arena = &l->trace->ctx->arena;
    const Func *func = l->trace->compiled->func;
    const Op *producer = func_producer(func);
    const Op *feeds = producer ? find_same(producer->regions[0], op) : NULL;
    int64_t ahead = 0;
    l->copied = 0;
    look_at_copies(l, op, &ahead);
    if (feeds)
        look_at_copies(l, feeds, &ahead);
    TraceLoop loop = {.loop = op,
                      .at = trace_place(l->trace->ctx, op->span),
                      .stages = ahead + 1,
                      .trips = trips_of(op)};
    loop.once = has_unknown_trips(op->regions[op->nregions - 1]);
    trace_find_asked(l->trace, &loop);
    TraceRole own = {.loop = op,
                     .name = feeds ? "consumer" : "all",
                     .warps = warps_text(arena, func),
                     .warp_count = func->num_warps * (func->teams > 1 ? func->teams : 1)};
    iterate(l, op, (double)ahead, &own);
    if (feeds) {
        TraceRole copies = {.loop = feeds, .name = "producer", .warps = "1", .warp_count = 1};
        const double copied = l->copied;
        l->copied = 0; /* it waits for room, not for copies */
        iterate(l, feeds, 0, &copies);
        l->copied = copied;
        vec_push(arena, &loop.roles, copies);
    }
    vec_push(arena, &loop.roles, own);
    vec_push(arena, &l->trace->loops, loop);
}

static const char *unit_of(const Op *op) {
    if (op_is_wgmma(op))
        return "wgmma";
    return dot_attrs(op)->unit == UNIT_MMA ? "mma" : "fma";
}

/* How wide an access could be by its layout and its neighbours alone. */
static void add_access(Loops *l, const Op *op) {
    enum { WIDEST = 16 };
    const Value *ptr = op_in(op, 0);
    if (!type_is_tile(ptr->type) || !ptr->type->layout)
        return;
    const Type *accessed = op->nout ? op->out[0].type : op_in(op, 1)->type;
    const int fastest = facts_fastest_dim(l->context.facts, ptr);
    if (fastest < 0)
        return;
    const int64_t bytes = type_element_bytes(accessed);
    const int64_t run = facts_of(l->context.facts, ptr)->contiguous[fastest];
    const int64_t own = (int64_t)1 << ptr->type->layout->bits[LAYOUT_REG];
    const int64_t elements = run < own ? run : own;
    TraceAccess access = {.at = trace_place(l->trace->ctx, op->span),
                          .bytes = op_access_width(op) * bytes,
                          .possible = elements * bytes > WIDEST ? WIDEST : elements * bytes,
                          .aligned = facts_of(l->context.facts, ptr)->divisible[fastest]};
    if (access.possible > access.bytes)
        vec_push(&l->trace->ctx->arena, &l->trace->accesses, access);
}

/* Threads that hold the same elements of what the op computes. */
static int64_t threads_of_element(const Op *op) {
    const Type *type = op_has(op, COMBINES) ? op_in(op, 0)->type : op->out[0].type;
    if (!type_is_tile(type) || !type->layout)
        return 1;
    const uint32_t repeated = layout_free_bits(type->layout) >> type->layout->bits[LAYOUT_REG];
    return (int64_t)1 << __builtin_popcount(repeated);
}

/* What loads and exchanges take is in all of a line, and none of it repeated. */
static void add_repeat(Loops *l, const Op *op) {
    enum { USUAL_TRIPS = 8 };
    Trace *trace = l->trace;
    if (op_is_control(op) || op_has(op, TERMINATOR))
        return;
    const TracePlace at = trace_place(trace->ctx, op->span);
    double work = op_work(&l->context, op).issue;
    for (const Op *loop = op_loop_around(op); loop; loop = op_loop_around(loop))
        work *= trips_of(loop) ? (double)trips_of(loop) : USUAL_TRIPS;
    const bool computes = op_is_pure(op) && op->nout && op->code != OP_convert_layout;
    const int64_t threads = computes ? threads_of_element(op) : 1;
    TraceRepeat *found = NULL;
    vec_for_each (repeat, &trace->repeats)
        if (repeat->at.file == at.file && repeat->at.line == at.line)
            found = repeat;
    if (!found) {
        vec_push(&trace->ctx->arena, &trace->repeats, (TraceRepeat){.at = at, .threads = 1});
        found = &trace->repeats.data[trace->repeats.len - 1];
    }
    found->all += work;
    found->repeated += work * (1 - 1 / (double)threads);
    if (work > 0 && threads > found->threads)
        found->threads = threads;
}

static void add_ops(Loops *l, const Block *block) {
    Trace *trace = l->trace;
    block_for_each (op, block) {
        if (op->code == OP_producer)
            continue;
        if (op_has(op, LOOP))
            add_loop(l, op);
        if (op_is_pointer_access(op) && !op_has(op, ATOMIC))
            add_access(l, op);
        add_repeat(l, op);
        if (op->code == OP_dot || op_is_wgmma(op))
            vec_push(&trace->ctx->arena, &trace->dots,
                     (TraceDot){trace_place(trace->ctx, op->span), unit_of(op), op});
        for (uint32_t r = 0; r < op->nregions; r++)
            add_ops(l, op->regions[r]);
    }
}

void trace_loops(Trace *trace) {
    Arena *arena = &trace->ctx->arena;
    Func *func = trace->compiled->func;
    const Target *target = target_by_capability(func->capability);
    const uint32_t values = func_number(func);
    const double warps = func->num_warps > 0 ? func->num_warps : 1;
    Loops l = {
        .trace = trace,
        .context = {target, facts_compute(func, arena), (int32_t)warps},
        .share = larger(1, warps / TARGET_PARTITIONS),
        .far = target_figure(target, trace->from_dram ? FIGURE_LATENCY_GLOBAL : FIGURE_LATENCY_L2),
        .ready = ARENA_ARRAY(arena, double, values + 1),
        .lines = {.arena = arena}};
    for (size_t i = 0; i < trace->notes.ops.len; i++)
        ptrmap_set(&l.lines, trace->notes.ops.data[i].op, (void *)(uintptr_t)(i + 1));
    const TraceStage *last = NULL;
    vec_for_each (stage, &trace->stages)
        if (stage->kind == TRACE_tir)
            last = stage;
    if (last)
        split_lines(&l, last->text);
    add_ops(&l, func->body);
}

void trace_loops_from_dram(Trace *trace) {
    if (trace->from_dram || !trace->loops.len)
        return;
    trace->from_dram = true;
    trace->loops.len = trace->dots.len = trace->accesses.len = trace->repeats.len = 0;
    trace_loops(trace);
}
