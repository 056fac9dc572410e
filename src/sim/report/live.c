/* How many registers the values of a function take: liveness of PTX's virtual registers.
 *
 * The usual backward data flow over the blocks of the control-flow graph, one set of registers a
 * block (those that live where it begins). Predicates take none of the 32-bit registers, wide
 * values two. What an assembler makes of it differs: it keeps addresses and constants elsewhere,
 * computes values again, and moves instructions for speed. */
#include "sim/report/live.h"

#include "sim/parse/cfg.h"

enum { MAX_SET_BYTES = 1 << 26, BITS = 64 };

typedef struct Live {
    const SimModule *module;
    Graph graph;
    uint32_t *number; /* by register: its number among those that are used, from 1; 0: none */
    uint8_t *weight;  /* by number: 32-bit registers */
    uint32_t count, words;
    uint64_t *begins; /* by block: what lives where it begins */
    uint64_t *set;    /* what lives at the instruction that is looked at */
    uint32_t sum;     /* of the weights in the set */
    uint32_t *calls;  /* by function: the registers that it needs, + 1; UINT32_MAX: being found */
    uint32_t *at;     /* by program counter: the registers there; NULL: nobody asks */
} Live;

typedef void Visit(Live *live, RegRef reg, unsigned bits, bool write);

static void visit_reg(Live *live, RegRef reg, unsigned bits, bool write, Visit *visit) {
    if (reg != NO_REG && reg >> BANK_SHIFT == BANK_FRAME && reg >= REG_FIRST)
        visit(live, reg, bits, write);
}

static void visit_operand(Live *live, const Operand *operand, bool write, Visit *visit) {
    switch ((OperandKind)operand->kind) {
    case OPERAND_NONE:
    case OPERAND_LABEL:
    case OPERAND_NUMBER:
        return;
    case OPERAND_REG:
        visit_reg(live, operand->reg, operand->bits, write, visit);
        if (write)
            visit_reg(live, operand->second, 1, true, visit);
        return;
    case OPERAND_VECTOR:
        for (uint32_t i = 0; i < operand->count; i++)
            visit_reg(live, operand->regs[i], operand->bits, write, visit);
        return;
    case OPERAND_ADDRESS:
        visit_reg(live, operand->reg, operand->bits, false, visit);
        return;
    case OPERAND_TENSOR:
        visit_reg(live, operand->reg, operand->bits, false, visit);
        for (uint32_t i = 0; i < operand->count; i++)
            visit_reg(live, operand->regs[i], 32, false, visit);
        return;
    }
}

/* Whether the operand of this number is written: its entry of the row's list begins with =. */
static bool is_written(const char *list, unsigned index) {
    for (; index && *list; list++)
        index -= *list == ' ';
    return *list == '=';
}

static void visit_insn(Live *live, const Insn *insn, bool writes, Visit *visit) {
    for (unsigned i = 0; i < insn->operand_count; i++)
        if (is_written(insn->row->operands, i) == writes)
            visit_operand(live, &insn->operand[i], writes, visit);
    const Call *call = insn->call;
    if (!writes)
        visit_reg(live, insn->guard, 1, false, visit);
    if (!call)
        return;
    const Operand *operands = writes ? call->results : call->args;
    uint32_t count = writes ? call->result_count : call->arg_count;
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].kind == OPERAND_REG)
            visit_reg(live, operands[i].reg, operands[i].bits, writes, visit);
    if (!writes && call->kind == CALL_INDIRECT)
        visit_reg(live, call->pointer.reg, call->pointer.bits, false, visit);
}

static void number_register(Live *live, RegRef reg, unsigned bits, bool write) {
    (void)write;
    if (!live->number[reg])
        live->number[reg] = ++live->count;
    /* Words narrower than a register take one; a 128-bit register is two of 64. */
    uint8_t weight = bits == 1 ? 0 : bits > 32 ? 2 : 1;
    if (weight > live->weight[live->number[reg]])
        live->weight[live->number[reg]] = weight;
}

static void add_register(Live *live, RegRef reg, unsigned bits, bool write) {
    (void)bits, (void)write;
    uint32_t at = live->number[reg];
    uint64_t bit = UINT64_C(1) << at % BITS;
    if (live->set[at / BITS] & bit)
        return;
    live->set[at / BITS] |= bit;
    live->sum += live->weight[at];
}

static void remove_register(Live *live, RegRef reg, unsigned bits, bool write) {
    (void)bits, (void)write;
    uint32_t at = live->number[reg];
    uint64_t bit = UINT64_C(1) << at % BITS;
    if (!(live->set[at / BITS] & bit))
        return;
    live->set[at / BITS] &= ~bit;
    live->sum -= live->weight[at];
}

/* From behind the instruction to in front of it. */
static void step_back(Live *live, const Insn *insn) {
    if (insn->guard == NO_REG)
        visit_insn(live, insn, true, remove_register);
    visit_insn(live, insn, false, add_register);
}

static void begin_at_end(Live *live, const Block *block) {
    memset(live->set, 0, live->words * sizeof *live->set);
    for (uint32_t n = 0; n < block->next_count; n++)
        for (uint32_t w = 0; w < live->words; w++)
            live->set[w] |= live->begins[(size_t)block->next[n] * live->words + w];
    live->sum = 0;
    for (uint32_t w = 0; w < live->words; w++)
        for (uint64_t left = live->set[w]; left; left &= left - 1)
            live->sum += live->weight[w * BITS + (unsigned)__builtin_ctzll(left)];
}

static void find_begins(Live *live) {
    const Insn *insns = live->module->insns.data;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = live->graph.count; b--;) {
            const Block *block = &live->graph.blocks[b];
            uint64_t *begins = live->begins + (size_t)b * live->words;
            begin_at_end(live, block);
            for (uint32_t pc = block->end; pc-- > block->begin;)
                step_back(live, &insns[pc]);
            changed |= memcmp(begins, live->set, live->words * sizeof *begins) != 0;
            memcpy(begins, live->set, live->words * sizeof *begins);
        }
    }
}

static uint32_t function_registers(const SimModule *module, const Func *func, Arena *scratch,
                                   uint32_t *calls, uint32_t *at);

/* What a call needs besides what lives across it. */
static uint32_t callee_registers(Live *live, const Insn *insn, Arena *scratch) {
    const Func *callee = insn->call ? insn->call->callee : NULL;
    if (!callee || !callee->has_body)
        return 0;
    return function_registers(live->module, callee, scratch, live->calls, live->at);
}

static uint32_t most_live(Live *live, Arena *scratch) {
    uint32_t most = 0;
    for (uint32_t b = 0; b < live->graph.count; b++) {
        const Block *block = &live->graph.blocks[b];
        begin_at_end(live, block);
        for (uint32_t pc = block->end; pc-- > block->begin;) {
            const Insn *insn = &live->module->insns.data[pc];
            uint32_t here = live->sum + callee_registers(live, insn, scratch);
            visit_insn(live, insn, true, add_register);
            here = live->sum > here ? live->sum : here;
            step_back(live, insn);
            here = live->sum > here ? live->sum : here;
            most = here > most ? here : most;
            if (live->at)
                live->at[pc] = here;
        }
    }
    return most;
}

/* 0 for a function that calls itself, within itself, and for one too large to look at. */
static uint32_t function_registers(const SimModule *module, const Func *func, Arena *scratch,
                                   uint32_t *calls, uint32_t *at) {
    uint32_t *known = &calls[func->address - 1];
    if (*known)
        return *known == UINT32_MAX ? 0 : *known - 1;
    *known = UINT32_MAX;
    ArenaMark mark = arena_mark(scratch);
    Live live = {
        .module = module, .graph = cfg_graph(module, func, scratch), .calls = calls, .at = at};
    live.number = ARENA_ARRAY(scratch, uint32_t, func->regs + 1);
    live.weight = ARENA_ARRAY(scratch, uint8_t, func->regs + 1);
    for (uint32_t pc = func->begin; pc < func->end; pc++) {
        visit_insn(&live, &module->insns.data[pc], true, number_register);
        visit_insn(&live, &module->insns.data[pc], false, number_register);
    }
    /* Addresses in the frame are offsets from the stack pointer. */
    vec_for_each (address, &func->frame_addresses)
        live.weight[live.number[address->reg]] = 0;
    live.words = live.count / BITS + 1;
    uint32_t most = 0;
    if ((uint64_t)live.graph.count * live.words * sizeof(uint64_t) <= MAX_SET_BYTES) {
        live.begins = ARENA_ARRAY(scratch, uint64_t, (size_t)live.graph.count * live.words);
        live.set = ARENA_ARRAY(scratch, uint64_t, live.words);
        find_begins(&live);
        most = most_live(&live, scratch);
    }
    arena_rewind(scratch, mark);
    *known = most + 1;
    return most;
}

uint32_t live_registers(const SimModule *module, const Func *func, Arena *scratch) {
    ArenaMark mark = arena_mark(scratch);
    uint32_t *calls = ARENA_ARRAY(scratch, uint32_t, module->funcs.len + 1);
    uint32_t most = function_registers(module, func, scratch, calls, NULL);
    arena_rewind(scratch, mark);
    return most;
}

void live_registers_at(const SimModule *module, const Func *func, Arena *scratch, uint32_t *at) {
    ArenaMark mark = arena_mark(scratch);
    uint32_t *calls = ARENA_ARRAY(scratch, uint32_t, module->funcs.len + 1);
    function_registers(module, func, scratch, calls, at);
    arena_rewind(scratch, mark);
}
