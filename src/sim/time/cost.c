/* See cost.h. */
#include "sim/time/cost.h"

#include "sim/report/report.h"
#include "target/machine.h"

#include <stdio.h>

typedef struct CostRow {
    const char *name;
    Word word;
    uint8_t bits;
    float issues;
    TimeUnit unit;
    float times, steps;
} CostRow;

static const CostRow rows[] = {
#define COST(name, word, bits, issues, unit, times, steps)                                         \
    {#name, WORD_##word, bits, issues, TIME_##unit, times, steps},
#include "sim/time/cost.def"
};

static const char *const unit_name[TIME_UNITS] = {
    [TIME_ISSUE] = "issue",
    [TIME_INTEGER] = "integers",
    [TIME_MULTIPLY] = "integer products",
    [TIME_FLOAT] = "f32",
    [TIME_HALF] = "f16",
    [TIME_DOUBLE] = "f64",
    [TIME_SPECIAL] = "special functions",
    [TIME_CONVERT] = "conversions",
    [TIME_CONVERT_LONG] = "conversions of 64 bits",
    [TIME_COUNT] = "bit counts",
    [TIME_VOTE] = "votes",
    [TIME_REDUX] = "redux",
    [TIME_TENSOR] = "tensor cores",
    [TIME_SHUFFLE] = "shuffles",
    [TIME_ADDRESS] = "addresses",
    [TIME_SHARED] = "shared memory and L1",
    [TIME_L2] = "L2 to an SM",
};

_Static_assert((int)SIM_UNITS == (int)TIME_UNITS, "what reports call units are those of the clock");

const char *sim_unit_name(unsigned unit) {
    return unit < TIME_UNITS ? unit_name[unit] : "";
}

/* What a unit does at which rate and latency. */
static const struct {
    Figure rate, latency;
} units[TIME_UNITS] = {
    [TIME_ISSUE] = {FIGURE_RATE_ISSUE, FIGURE_LATENCY_ALU},
    [TIME_INTEGER] = {FIGURE_RATE_INTEGER, FIGURE_LATENCY_ALU},
    [TIME_MULTIPLY] = {FIGURE_RATE_MULTIPLY, FIGURE_LATENCY_MULTIPLY},
    [TIME_FLOAT] = {FIGURE_RATE_FLOAT, FIGURE_LATENCY_ALU},
    [TIME_HALF] = {FIGURE_RATE_HALF, FIGURE_LATENCY_HALF},
    [TIME_DOUBLE] = {FIGURE_RATE_DOUBLE, FIGURE_LATENCY_DOUBLE},
    [TIME_SPECIAL] = {FIGURE_RATE_SPECIAL, FIGURE_LATENCY_SPECIAL},
    [TIME_CONVERT] = {FIGURE_RATE_CONVERT, FIGURE_LATENCY_CONVERT},
    [TIME_CONVERT_LONG] = {FIGURE_RATE_CONVERT_LONG, FIGURE_LATENCY_CONVERT},
    [TIME_COUNT] = {FIGURE_RATE_COUNT, FIGURE_LATENCY_CONVERT},
    [TIME_VOTE] = {FIGURE_RATE_VOTE, FIGURE_LATENCY_SHUFFLE},
    [TIME_REDUX] = {FIGURE_RATE_REDUX, FIGURE_LATENCY_SHUFFLE},
    [TIME_SHUFFLE] = {FIGURE_RATE_SHUFFLE, FIGURE_LATENCY_SHUFFLE},
    [TIME_ADDRESS] = {FIGURE_RATE_ADDRESS, FIGURE_LATENCY_ALU},
};

static double figure(const Target *target, Figure which) {
    return target_figure(target, which);
}

static bool is_float(Type type) {
    return type_info[type].kind == KIND_FLOAT || type == TYPE_f16x2 || type == TYPE_bf16x2;
}

static CostRow of(float issues, TimeUnit unit, float times, float steps) {
    return (CostRow){.issues = issues, .unit = unit, .times = times, .steps = steps};
}

/* Among integers it is a move or nothing, but for signs of 64 bits and parts of a register; between
 * floats of 16 and 32 bits one simple instruction. */
static CostRow of_conversion(const Insn *insn) {
    Type to = (Type)insn->type[0], from = (Type)insn->type[1];
    bool to_float = is_float(to), from_float = is_float(from);
    bool is_long = type_info[to].bits == 64 || type_info[from].bits == 64;
    if (!to_float && !from_float)
        return type_info[to].bits == 64 && type_info[from].kind == KIND_SINT
                   ? of(1, TIME_INTEGER, 1, 0)
                   : of(0, TIME_INTEGER, 0, 0);
    if (is_long)
        return of(1, TIME_CONVERT_LONG, 1, 0);
    if (to_float && from_float && type_info[to].bits >= 16 && type_info[from].bits >= 16)
        return of(1, TIME_INTEGER, 1, 0);
    return of(1, TIME_CONVERT, 1, 0);
}

/* 64 bits are two registers. */
static CostRow of_integer(const Insn *insn) {
    bool is_long = type_info[insn->type[0]].bits == 64;
    if (!strcmp(insn->row->name, "div") || !strcmp(insn->row->name, "rem"))
        return is_long ? of(80, TIME_SPECIAL, 2, 50) : of(18, TIME_SPECIAL, 1, 12);
    return is_long ? of(2, TIME_INTEGER, 2, 1) : of(1, TIME_INTEGER, 1, 0);
}

static CostRow of_class(const Insn *insn) {
    switch (sim_insn_class(insn)) {
    case CLASS_INTEGER:
        return of_integer(insn);
    case CLASS_FLOAT:
        return of(1, TIME_FLOAT, 1, 0);
    case CLASS_HALF:
        return of(1, TIME_HALF, 1, 0);
    case CLASS_DOUBLE:
        return !strcmp(insn->row->name, "div") ? of(22, TIME_DOUBLE, 10, 60)
                                               : of(1, TIME_DOUBLE, 1, 0);
    case CLASS_SPECIAL:
        return of(1, TIME_SPECIAL, 1, 0);
    case CLASS_CONVERT:
        return of_conversion(insn);
    case CLASS_MOVE:
    case CLASS_PARAM:
        return of(0, TIME_INTEGER, 0, 0);
    case CLASS_PREDICATE:
        return of_integer(insn);
    case CLASS_WARP:
        return of(1, TIME_SHUFFLE, 1, 0);
    default:
        return of(1, TIME_ISSUE, 0, 0);
    }
}

static CostRow row_of(const Insn *insn) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(insn->row->name, rows[i].name) &&
            (rows[i].word == WORD_none || insn_has(insn, rows[i].word)) &&
            (!rows[i].bits || rows[i].bits == type_info[insn->type[0]].bits))
            return rows[i];
    return of_class(insn);
}

static Figure tensor_rate(Type type) {
    switch (type) {
    case TYPE_tf32:
        return FIGURE_TENSOR_TF32;
    case TYPE_f64:
        return FIGURE_TENSOR_F64;
    case TYPE_e4m3:
    case TYPE_e5m2:
        return FIGURE_TENSOR_F8;
    case TYPE_u8:
    case TYPE_s8:
        return FIGURE_TENSOR_I8;
    default:
        return FIGURE_TENSOR_F16;
    }
}

/* m16n8k16: rows, columns and depth of the shape's word. */
static double shape_product(const Insn *insn) {
    const char *text = word_text[insn->field[FIELD_SHAPE]];
    unsigned m = 0, n = 0, k = 0;
    sscanf(text, "m%un%uk%u", &m, &n, &k);
    return (double)m * n * k;
}

static void cost_tensor(const Target *target, const Insn *insn, Cost *cost) {
    enum { ROWS = 64, DEPTH_BITS = 256, WARPS = 4 };
    Type type = (Type)insn->type[1];
    double rate = figure(target, tensor_rate(type));
    cost->unit = TIME_TENSOR;
    if (!strcmp(insn->row->name, "mma")) {
        double reached = rate * figure(target, FIGURE_MMA_PERCENT) / 100;
        cost->busy = (float)(shape_product(insn) / reached);
        cost->latency = (float)figure(target, FIGURE_LATENCY_MMA);
    } else if (cost->kind == COST_WGMMA) {
        double depth = DEPTH_BITS / (double)(type == TYPE_tf32 ? 32 : type_info[type].bits);
        cost->busy = (float)(ROWS * depth * insn->number / rate / WARPS);
    }
}

static CostKind kind_in_flight(const Insn *insn, CostKind starts) {
    return insn_has(insn, WORD_commit_group)                                  ? COST_COMMIT
           : insn_has(insn, WORD_wait_group) || insn_has(insn, WORD_wait_all) ? COST_WAIT_GROUP
                                                                              : starts;
}

static CostKind kind_of(const Insn *insn) {
    switch (sim_insn_class(insn)) {
    case CLASS_GLOBAL:
    case CLASS_SHARED:
    case CLASS_LOCAL:
    case CLASS_MEMORY:
        return COST_ACCESS;
    case CLASS_ATOMIC:
        return COST_ATOMIC;
    case CLASS_PARAM:
        return COST_NOTHING;
    case CLASS_ASYNC:
        return kind_in_flight(insn, COST_COPY);
    case CLASS_TENSOR:
        if (!strcmp(insn->row->name, "mma"))
            return COST_PLAIN;
        return insn_has(insn, WORD_mma_async) ? COST_WGMMA : kind_in_flight(insn, COST_WAIT);
    case CLASS_BARRIER:
    case CLASS_CONTROL:
        return COST_WAIT;
    default:
        return COST_PLAIN;
    }
}

static bool waits_for_device(const Insn *insn) {
    return insn->row->class == CLASS_BARRIER &&
           (insn_has(insn, WORD_gpu) || insn_has(insn, WORD_gl) || insn_has(insn, WORD_sys)) &&
           (!strcmp(insn->row->name, "fence") || !strcmp(insn->row->name, "membar"));
}

static Cost cost_of(const Target *target, const Insn *insn) {
    CostRow row = row_of(insn);
    Cost cost = {.kind = (uint8_t)kind_of(insn), .unit = (uint8_t)row.unit, .issues = row.issues};
    double rate = figure(target, units[row.unit].rate);
    double last = row.times > 0 ? figure(target, units[row.unit].latency) : 0;
    cost.busy = (float)(row.times * TARGET_WARP_SIZE / rate);
    cost.latency = (float)(row.steps * figure(target, FIGURE_LATENCY_ALU) + last);
    cost.queue = insn_has(insn, WORD_bulk)          ? QUEUE_STORES
                 : insn->row->class == CLASS_TENSOR ? QUEUE_PRODUCTS
                                                    : QUEUE_COPIES;
    if (insn->row->class == CLASS_TENSOR)
        cost_tensor(target, insn, &cost);
    if (cost.kind == COST_ACCESS || cost.kind == COST_ATOMIC) {
        cost.unit = TIME_ADDRESS;
        cost.busy = (float)(TARGET_WARP_SIZE / figure(target, FIGURE_RATE_ADDRESS));
        cost.latency = 0;
    }
    if (waits_for_device(insn))
        cost.latency = (float)figure(target, FIGURE_LATENCY_L2);
    return cost;
}

/* Registers. */

typedef VEC(RegRef) RegList;

static void add_reg(Arena *arena, RegList *list, RegRef reg) {
    if (reg != NO_REG && reg >> BANK_SHIFT == BANK_FRAME && reg >= REG_FIRST)
        vec_push(arena, list, reg);
}

static void add_operand(Arena *arena, RegList *list, const Operand *operand, bool writes,
                        bool is_written) {
    bool has_base = operand->kind == OPERAND_ADDRESS || operand->kind == OPERAND_TENSOR;
    if (has_base && !writes)
        add_reg(arena, list, operand->reg);
    if (operand->kind == OPERAND_TENSOR && !writes)
        for (uint32_t i = 0; i < operand->count; i++)
            add_reg(arena, list, operand->regs[i]);
    if (has_base || writes != is_written)
        return;
    if (operand->kind == OPERAND_REG)
        add_reg(arena, list, operand->reg);
    if (operand->kind == OPERAND_REG && writes)
        add_reg(arena, list, operand->second);
    if (operand->kind == OPERAND_VECTOR)
        for (uint32_t i = 0; i < operand->count; i++)
            add_reg(arena, list, operand->regs[i]);
}

static uint32_t add_operands(Arena *arena, RegList *list, const Insn *insn, bool writes) {
    const char *spec = insn->row->operands;
    size_t before = list->len;
    if (!writes)
        add_reg(arena, list, insn->guard);
    for (unsigned i = 0; i < insn->operand_count; i++) {
        add_operand(arena, list, &insn->operand[i], writes, spec && *spec == '=');
        const char *next = spec ? strchr(spec, ' ') : NULL;
        spec = next ? next + 1 : NULL;
    }
    return (uint32_t)(list->len - before);
}

static TimeFigures figures_of(const Target *target) {
    return (TimeFigures){
        .simple = figure(target, FIGURE_LATENCY_ALU),
        .branch = figure(target, FIGURE_LATENCY_BRANCH),
        .barrier = figure(target, FIGURE_LATENCY_BARRIER),
        .mbarrier = figure(target, FIGURE_LATENCY_MBARRIER),
        .shared = figure(target, FIGURE_LATENCY_SHARED),
        .l1 = figure(target, FIGURE_LATENCY_L1),
        .l2 = figure(target, FIGURE_LATENCY_L2),
        .global = figure(target, FIGURE_LATENCY_GLOBAL),
        .atomic_shared = figure(target, FIGURE_LATENCY_ATOMIC_SHARED),
        .tma = figure(target, FIGURE_LATENCY_TMA),
        .wgmma = figure(target, FIGURE_LATENCY_WGMMA),
        .sector_clocks = TARGET_SECTOR_BYTES / figure(target, FIGURE_BYTES_L2),
        .partitions = TARGET_PARTITIONS,
    };
}

Costs *costs_create(const SimModule *module, Arena *arena) {
    const Target *target = target_by_name(str_from(str_format(arena, "sm_%u", module->sm)));
    if (!target)
        return NULL;
    Costs *costs = ARENA_NEW(arena, Costs);
    RegList regs = {0};
    costs->figures = figures_of(target);
    costs->insns = ARENA_ARRAY(arena, Cost, module->insns.len + 1);
    for (size_t pc = 0; pc < module->insns.len; pc++) {
        const Insn *insn = &module->insns.data[pc];
        Cost *cost = &costs->insns[pc];
        *cost = cost_of(target, insn);
        cost->read_at = (uint32_t)regs.len;
        cost->read_count = add_operands(arena, &regs, insn, false);
        cost->written_at = (uint32_t)regs.len;
        cost->written_count = add_operands(arena, &regs, insn, true);
        cost->loads = cost->written_count > 0;
    }
    costs->regs = regs.data;
    vec_for_each (func, &module->funcs)
        if ((*func)->regs > costs->reg_count)
            costs->reg_count = (*func)->regs;
    return costs;
}
