/* The work of ops, from their layouts and the figures of the machine.
 *
 * What a lowering makes of an op is known to the lowering alone. Here it is taken to be what a
 * thread has registers for, with the few exceptions of the table's traits: tiles that only rename
 * registers are free, quotients by known numbers are products, narrow floats come in pairs;
 * functions take what was counted of each, and indices that count up one for each run. That is
 * enough to tell launches of one kernel apart, in which the same ops have other layouts
 * (docs/performance.md has how near it comes to machine code). */
#include "passes/analysis/op_work.h"
#include "passes/rewrite.h"
#include "target/wgmma.h"
#include "types/lane_move.h"

/* Instructions: estimates of what the lowerings make. */
enum {
    WARP = 32,
    ADDRESS_OPS = 2, /* a mask's and an address's share of a global access */
    ADDRESS_REGISTERS = 2,
    QUOTIENT_OPS = 20,         /* an integer quotient by what is no constant */
    LONG_QUOTIENT_OPS = 6,     /* in 64 bits, beside the one in 32 that is mostly enough */
    CONSTANT_QUOTIENT_OPS = 3, /* the high half of a product, a shift, a sign */
    QUOTIENT_CLOCKS = 100,
    ATOMIC_OPS = 3,
    APART_CLOCKS = 20, /* from the first to the last warp that comes to a barrier */
    COPY_OPS = 14, /* of an asynchronous copy: two addresses, a mask, and the stage of its buffer */
    SHARED_OPS = 4,   /* of a load from a buffer: its address, by stage */
    SHARED_WIDTH = 4, /* registers of a shared access where rows lie so */
    MMA_OPERANDS = 1, /* instructions beside an mma, of two, that bring its fragments */
};

static double figure(const WorkContext *c, Figure id) {
    return target_figure(c->target, id);
}

static double at_least(double least, double value) {
    return value < least ? least : value;
}

/* Clocks that a scheduler is kept by an instruction whose unit gives `rate` results a clock. */
static double pace(const WorkContext *c, Figure rate) {
    return figure(c, FIGURE_RATE_ISSUE) / figure(c, rate);
}

/* Elements of a thread, each counted once. */
static double elements(const Type *type) {
    return type_is_tile(type) && type->layout ? layout_owned_registers(type->layout) : 1;
}

static double registers(const Type *type) {
    double bytes = elements(type) * type_element_bytes(type);
    return at_least(1, bytes / 4);
}

/* Global memory */

/* Elements along a dimension to what a bit of lanes or registers moves to. */
static int64_t step_along(const Type *type, uint32_t basis, int dim) {
    uint32_t mask = layout_dim_mask(type->rank, type->shape, dim);
    return mask ? (basis & mask) >> __builtin_ctz(mask) : 0;
}

/* Do lanes that differ in the bit have the same addresses? */
static bool is_same(const Type *type, const ValueFacts *facts, uint32_t lane) {
    for (int dim = 0; dim < type->rank; dim++)
        if (step_along(type, lane, dim) >= facts->constant[dim])
            return false;
    return true;
}

/* Sectors of one access of a warp: runs of lanes along the dimension whose elements are
 * neighbours, as far as they are. */
static double sectors_of(const WorkContext *c, const Value *ptr, double bytes) {
    const Type *type = ptr->type;
    if (!type_is_tile(type) || !type->layout)
        return 1;
    int fastest = facts_fastest_dim(c->facts, ptr);
    const ValueFacts *facts = facts_of(c->facts, ptr);
    const uint32_t *lanes = layout_bases(type->layout, LAYOUT_LANE);
    double run = bytes, runs = 1;
    for (int i = 0; i < type->layout->bits[LAYOUT_LANE]; i++) {
        int64_t step = fastest < 0 ? 0 : step_along(type, lanes[i], fastest);
        if (is_same(type, facts, lanes[i]))
            continue;
        if (step && step < facts->contiguous[fastest])
            run *= 2;
        else
            runs *= 2;
    }
    return runs * at_least(1, run / TARGET_SECTOR_BYTES);
}

/* Where no elements are neighbours in memory, each has an address of its own. */
static bool is_scattered(const WorkContext *c, const Value *ptr) {
    int fastest = facts_fastest_dim(c->facts, ptr);
    return fastest >= 0 && facts_of(c->facts, ptr)->contiguous[fastest] == 1;
}

static OpWork access_work(const WorkContext *c, const Op *op, const Type *accessed) {
    const Value *ptr = op_in(op, 0);
    double width = at_least(1, op_access_width(op));
    double bytes = type_element_bytes(accessed);
    double accesses = at_least(1, elements(ptr->type) / width);
    double clocks =
        sectors_of(c, ptr, width * bytes) * TARGET_SECTOR_BYTES / figure(c, FIGURE_BYTES_L1);
    double all = type_is_tile(ptr->type) ? (double)type_numel(ptr->type) : 1;
    return (OpWork){.issue = accesses * ADDRESS_OPS,
                    .memory = accesses * c->warps * at_least(1, clocks),
                    .bytes = all * bytes};
}

static OpWork copy_work(const WorkContext *c, const Op *op) {
    OpWork work = access_work(c, op, op_in(op, 1)->type);
    work.issue += COPY_OPS;
    return work;
}

static OpWork load_work(const WorkContext *c, const Op *op) {
    const Value *ptr = op_in(op, 0);
    OpWork work = access_work(c, op, op->out[0].type);
    work.latency = figure(c, FIGURE_LATENCY_GLOBAL);
    if (is_scattered(c, ptr))
        work.addresses = ADDRESS_REGISTERS * elements(ptr->type) / at_least(1, op_access_width(op));
    return work;
}

static OpWork atomic_work(const WorkContext *c, const Op *op) {
    double accesses = at_least(1, elements(op_in(op, 0)->type) / op_access_width(op));
    return (OpWork){.issue = accesses * ATOMIC_OPS,
                    .memory = accesses * c->warps * pace(c, FIGURE_RATE_ADDRESS),
                    .latency = figure(c, FIGURE_LATENCY_GLOBAL)};
}

/* Threads with each other */

static OpWork shared_work(const WorkContext *c, const Type *type, bool waits) {
    double count = registers(type);
    return (OpWork){.issue = 1 + count / SHARED_WIDTH + (waits ? SHARED_OPS : 0),
                    .memory = count * c->warps * WARP * 4 / figure(c, FIGURE_BYTES_SHARED),
                    .latency = waits ? figure(c, FIGURE_LATENCY_SHARED) : 0};
}

/* An access and its address for each element. */
static OpWork gather_work(const WorkContext *c, const Type *type) {
    OpWork work = shared_work(c, type, true);
    work.issue = 3 * registers(type);
    return work;
}

/* Within threads registers are renamed, which is free, or chosen by the thread among several. */
static double selections(const Layout *to, const Layout *from) {
    LaneMove move = lane_move(to, from);
    uint32_t chosen_by = 0;
    for (int i = 0; i < move.threads; i++)
        chosen_by |= move.reg_of_thread[i];
    double among = (double)(UINT64_C(1) << __builtin_popcount(chosen_by));
    return (double)layout_owned_registers(to) * (among - 1);
}

/* As the lowering goes; between lanes words of registers are shuffled and selected. */
static OpWork convert_work(const WorkContext *c, const Op *op) {
    const Layout *to = op->out[0].type->layout, *from = op_in(op, 0)->type->layout;
    if (layout_classify(to, from) <= CONVERT_REGISTERS)
        return (OpWork){.issue = selections(to, from)};
    LaneMoveCost cost = lane_move_cost(op->out[0].type, to, from);
    double shuffles = (double)cost.shuffles;
    return (OpWork){.issue = shuffles + (double)cost.selects,
                    .memory = shuffles * c->warps * WARP / figure(c, FIGURE_RATE_SHUFFLE),
                    .latency = figure(c, FIGURE_LATENCY_SHUFFLE)};
}

/* Of an f32: instructions of machine code, those of them that go to the special function unit, and
 * simple ones that depend on each other. What sixteen elements of a thread have more than four in
 * code of ptxas 13 for sm_90a; of sines what angles take that are not large. */
typedef struct Function {
    OpCode code;
    double ops, special, steps;
} Function;

static const Function functions[] = {
    {OP_exp, 2, 1, 1},   {OP_exp2, 1, 1, 0},     {OP_log, 26, 0, 18},    {OP_log2, 27, 0, 18},
    {OP_sin, 26, 0, 16}, {OP_cos, 26, 0, 16},    {OP_tanh, 14, 2, 6},    {OP_erf, 20, 1, 10},
    {OP_erfc, 11, 1, 8}, {OP_gelu, 12, 1, 8},    {OP_sqrt, 4, 1, 3},     {OP_rsqrt, 4, 1, 3},
    {OP_divf, 8, 1, 5},  {OP_sqrt_rn, 15, 1, 9}, {OP_divf_rn, 14, 1, 9}, {OP_remf, 28, 0, 14},
};

/* By a number from 1 on, which needs no care; by one for many elements, which is inverted once. */
static Function quotient(const Op *op, const Function *usual) {
    if (value_is_uniform(op_in(op, 1)))
        return (Function){OP_divf, 2, 0, 2};
    if (divf_attrs(op)->from_one)
        return divf_attrs(op)->flushed ? (Function){OP_divf, 2, 1, 1}
                                       : (Function){OP_divf, 6, 1, 3};
    return *usual;
}

static bool function_of(const Op *op, Function *function) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].code == op->code) {
            *function = op->code == OP_divf ? quotient(op, &functions[i]) : functions[i];
            return true;
        }
    return false;
}

static double region_ops(const Op *op) {
    double ops = 0;
    Function function;
    block_for_each (inner, op->regions[0])
        if (!op_has(inner, TERMINATOR))
            ops += function_of(inner, &function) ? function.ops : 1;
    return ops;
}

/* Bits of lanes, or of a thread's registers, that move along the axis. */
static int bits_along(const Type *type, LayoutDim of, int axis) {
    uint32_t mask = layout_dim_mask(type->rank, type->shape, axis);
    const uint32_t *bases = layout_bases(type->layout, of);
    int bits = 0;
    for (int i = 0; i < type->layout->bits[of]; i++)
        bits += (bases[i] & mask) != 0;
    return bits;
}

static uint32_t words_of(const Op *op) {
    uint32_t words = 0;
    for (uint32_t i = 0; i < op->nin; i++)
        words += (uint32_t)(type_element_bytes(op_in(op, i)->type) + 3) / 4;
    return words;
}

static OpWork reduce_work(const WorkContext *c, const Op *op) {
    const Type *in = op_in(op, 0)->type;
    double ops = region_ops(op), kept = elements(op->out[0].type);
    int steps = in->layout ? bits_along(in, LAYOUT_LANE, (int)reduce_attrs(op)->axis) : 0;
    LaneReduction across = {.results = (uint32_t)kept,
                            .steps = (uint32_t)steps,
                            .ops = (uint32_t)ops,
                            .words = words_of(op)};
    uint32_t shared = lane_shared_steps(&across);
    LaneReductionWork work = lane_reduction_work(&across, shared);
    double clocks = ops * figure(c, FIGURE_LATENCY_ALU);
    double waits = steps + (shared ? 1 : 0);
    return (OpWork){.issue = (elements(in) - kept + work.combinations) * ops + work.shuffles,
                    .memory = work.shuffles * c->warps * WARP / figure(c, FIGURE_RATE_SHUFFLE),
                    .latency = waits * figure(c, FIGURE_LATENCY_SHUFFLE) + (steps + 1) * clocks};
}

/* A thread goes through its elements of each line, lanes then scan what these came to, and it goes
 * through them again with what stands before. */
static OpWork scan_work(const WorkContext *c, const Op *op) {
    const Type *in = op_in(op, 0)->type;
    double ops = region_ops(op), count = elements(in), words = words_of(op);
    int axis = (int)scan_attrs(op)->axis;
    int steps = in->layout ? bits_along(in, LAYOUT_LANE, axis) : 0;
    double length = in->layout ? (double)(UINT32_C(1) << bits_along(in, LAYOUT_REG, axis)) : count;
    double lines = at_least(1, count / length), shuffles = steps ? lines * (steps + 1) * words : 0;
    double again = steps ? count * (ops + words) : 0;
    double clocks = ops * figure(c, FIGURE_LATENCY_ALU);
    return (OpWork){.issue =
                        (count - lines) * ops + shuffles + lines * steps * (ops + words) + again,
                    .memory = shuffles * c->warps * WARP / figure(c, FIGURE_RATE_SHUFFLE),
                    .latency = steps * (figure(c, FIGURE_LATENCY_SHUFFLE) + clocks) +
                               (length + (steps ? 1 : 0)) * clocks};
}

/* Products */

static Figure tensor_rate(const Type *operand) {
    switch (type_element_bytes(operand)) {
    case 1:
        return FIGURE_TENSOR_F8;
    case 2:
        return FIGURE_TENSOR_F16;
    case 4:
        return FIGURE_TENSOR_TF32;
    default:
        return FIGURE_TENSOR_F64;
    }
}

/* Of products by mma.sync and by threads; warps of one have the tensor cores of their schedulers
 * alone. */
static OpWork dot_work(const WorkContext *c, const Op *op) {
    const Type *a = op_in(op, 0)->type, *out = op->out[0].type;
    double length = (double)a->shape[a->rank - 1];
    if (dot_attrs(op)->unit != UNIT_MMA)
        return (OpWork){.issue = elements(out) * length,
                        .latency = length * figure(c, FIGURE_LATENCY_ALU)};
    enum { ROWS = 16, COLUMNS = 8, DEPTH_BYTES = 32 };
    double depth = DEPTH_BYTES / (double)type_element_bytes(a);
    double products = (double)type_numel(out) * length / (ROWS * COLUMNS * depth);
    double own = at_least(1, products / c->warps);
    double rate = figure(c, tensor_rate(a)) * figure(c, FIGURE_MMA_PERCENT) / 100;
    double clocks = ROWS * COLUMNS * depth / rate;
    double chain = figure(c, FIGURE_LATENCY_MMA) * at_least(1, length / depth) / 2;
    double alone = own * clocks * TARGET_PARTITIONS;
    return (OpWork){.issue = own * (2 + MMA_OPERANDS) / 2.0,
                    .tensor = own * c->warps * clocks,
                    .latency = at_least(chain, alone)};
}

/* Of warpgroups, which share the tensor cores of all schedulers; what waits for it has waited for
 * all that is under way. */
static OpWork wgmma_work(const WorkContext *c, const Op *op) {
    enum { STEP_BYTES = 32, ROWS = 64 };
    const Type *a = op_in(op, 0)->type;
    double tensor = 0, steps = 0;
    for (uint32_t i = 0; i < op->nout; i++) {
        const Type *acc = op->out[i].type;
        double rows = (double)acc->shape[acc->rank - 2];
        double length = (double)type_numel(a) / rows;
        tensor += (double)type_numel(acc) * length / figure(c, tensor_rate(a));
        steps += length * type_element_bytes(a) / STEP_BYTES *
                 at_least(1, rows / ROWS * WGMMA_WARPS / c->warps);
    }
    return (OpWork){
        .issue = steps, .tensor = tensor, .latency = figure(c, FIGURE_LATENCY_WGMMA) + tensor};
}

/* Elements of tiles */

static OpWork function_work(const WorkContext *c, const Function *function, double count,
                            double wide) {
    double clocks = figure(c, FIGURE_RATE_ISSUE) / figure(c, FIGURE_RATE_SPECIAL);
    double special = function->special * figure(c, FIGURE_LATENCY_SPECIAL);
    return (OpWork){.issue = count * function->ops * wide,
                    .special = count * function->special * c->warps * clocks / TARGET_PARTITIONS,
                    .latency = special + function->steps * wide * figure(c, FIGURE_LATENCY_ALU)};
}

/* Of integers, or the rest of one. By a number that is known it is a product; in 64 bits it
 * branches by whether 32 do, for one element after the other. */
static OpWork quotient_work(const WorkContext *c, const Op *op, double count) {
    const ValueFacts *by = facts_of(c->facts, op_in(op, 1));
    bool is_long = type_element_bytes(op->out[0].type) > 4;
    if (by->has_range && by->lo == by->hi)
        return (OpWork){.issue = count * (is_long ? 2 : 1) * CONSTANT_QUOTIENT_OPS,
                        .latency = CONSTANT_QUOTIENT_OPS * figure(c, FIGURE_LATENCY_ALU)};
    double turns = is_long ? at_least(1, count) : 1;
    return (OpWork){.issue = count * (QUOTIENT_OPS + (is_long ? LONG_QUOTIENT_OPS : 0)),
                    .latency = turns * (QUOTIENT_CLOCKS +
                                        (is_long ? 2 * figure(c, FIGURE_LATENCY_BRANCH) : 0))};
}

/* Of numbers that count up or stay as they are from register to register the first of a run is
 * computed: accesses take addresses and masks of it. */
static double distinct(const WorkContext *c, const Op *op) {
    const Value *out = &op->out[0];
    const Type *type = out->type;
    double count = elements(type);
    if (!type->layout || !dtype_is_int(type->dtype))
        return count;
    const ValueFacts *facts = facts_of(c->facts, out);
    const uint32_t *registers = layout_bases(type->layout, LAYOUT_REG);
    for (int i = 0; i < type->layout->bits[LAYOUT_REG]; i++) {
        bool runs = registers[i] != 0;
        for (int dim = 0; dim < type->rank && runs; dim++) {
            int64_t step = step_along(type, registers[i], dim);
            runs = step < facts->constant[dim] || step < facts->contiguous[dim];
        }
        if (runs)
            count /= 2;
    }
    return at_least(1, count);
}

/* Scalars are computed once for a warp, mostly beside what it does for its lanes. */
static OpWork element_work(const WorkContext *c, const Op *op) {
    const Type *type = op->nout ? op->out[0].type : NULL;
    double alu = figure(c, FIGURE_LATENCY_ALU);
    if (!type || !type_is_tile(type))
        return (OpWork){.issue = 0.25, .latency = alu};
    double count = distinct(c, op), bytes = type_element_bytes(type);
    double wide = bytes > 4 ? 2 : 1;
    Function function;
    if (function_of(op, &function))
        return function_work(c, &function, count, wide);
    assert(!op_has(op, COST_SPECIAL | TRANSCENDENTAL)); /* each has a row of `functions` */
    if (op_has(op, MAY_TRAP))
        return quotient_work(c, op, count);
    double packed = bytes < 4 && op_has(op, COST_FMA) ? 0.5 : 1;
    return (OpWork){.issue = count * wide * packed, .latency = alu * wide};
}

/* Addresses of a thread's elements differ by constants, which accesses hold. */
static OpWork address_work(const WorkContext *c, const Op *op) {
    double count = elements(op->out[0].type);
    return (OpWork){.issue = count > 4 ? count / 4 : count,
                    .latency = 2 * figure(c, FIGURE_LATENCY_ALU)};
}

/* A warp need not wait for itself; several seldom arrive at once. */
static OpWork barrier_work(const WorkContext *c) {
    if (c->warps == 1)
        return (OpWork){0};
    return (OpWork){.issue = 1, .latency = figure(c, FIGURE_LATENCY_BARRIER) + APART_CLOCKS};
}

static bool is_free(const Op *op) {
    return op_has(op, CONSTANT | HINT | SAYS | ALLOCATES | TERMINATOR) ||
           (op_has(op, MOVES) && op->code != OP_convert_layout) || op->code == OP_bitcast;
}

OpWork op_work(const WorkContext *c, const Op *op) {
    if (is_free(op))
        return (OpWork){0};
    switch (op->code) {
    case OP_load:
        return load_work(c, op);
    case OP_async_copy:
        return copy_work(c, op);
    case OP_store:
        return access_work(c, op, op_in(op, 1)->type);
    case OP_atomic_rmw:
    case OP_atomic_cas:
        return atomic_work(c, op);
    case OP_local_store:
        return shared_work(c, op_in(op, 0)->type, false);
    case OP_local_load:
        return shared_work(c, op->out[0].type, true);
    case OP_gather:
    case OP_local_gather:
        return gather_work(c, op->out[0].type);
    case OP_histogram:
    case OP_local_count:
        return gather_work(c, op_in(op, 0)->type);
    case OP_convert_layout:
        return convert_work(c, op);
    case OP_reduce:
        return reduce_work(c, op);
    case OP_scan:
        return scan_work(c, op);
    case OP_dot:
        return dot_work(c, op);
    case OP_wgmma:
    case OP_wgmma_joint:
        return wgmma_work(c, op);
    case OP_wgmma_wait:
        return (OpWork){.issue = 1};
    case OP_addptr:
        return address_work(c, op);
    case OP_barrier:
        return barrier_work(c);
    case OP_map: {
        double ops = region_ops(op);
        return (OpWork){.issue = elements(op->out[0].type) * ops,
                        .latency = ops * figure(c, FIGURE_LATENCY_ALU)};
    }
    default:
        return element_work(c, op);
    }
}
