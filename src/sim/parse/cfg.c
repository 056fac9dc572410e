/* Control flow of a function: where the threads that a branch separates meet again.
 *
 * That is the branch's immediate post-dominator. Blocks are found from branch targets;
 * post-dominators with the iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph,
 * rooted at the exit that every function ends with. Code that reaches no exit meets nowhere: the
 * exit stands for that. */
#include "sim/parse/cfg.h"

static const Insn *insn_at(const Graph *graph, uint32_t pc) {
    return &graph->module->insns.data[pc];
}

static bool ends_block(const Insn *insn) {
    return insn->is_branch || insn->table ||
           (insn->row->class == CLASS_CONTROL && insn->guard == NO_REG &&
            (!strcmp(insn->row->name, "exit") || !strcmp(insn->row->name, "trap")));
}

static void find_blocks(Graph *graph) {
    uint32_t begin = graph->func->begin, size = graph->func->end - begin;
    bool *leads = ARENA_ARRAY(graph->arena, bool, size + 1);
    leads[0] = leads[size - 1] = true;
    for (uint32_t i = 0; i < size; i++) {
        const Insn *insn = insn_at(graph, begin + i);
        if (insn->target != NO_PC)
            leads[insn->target - begin] = true;
        for (uint32_t t = 0; t < insn->table_count; t++)
            leads[insn->table[t] - begin] = true;
        if (ends_block(insn))
            leads[i + 1] = true;
    }
    graph->block_of = ARENA_ARRAY(graph->arena, uint32_t, size);
    for (uint32_t i = 0; i < size; i++)
        graph->count += leads[i];
    graph->blocks = ARENA_ARRAY(graph->arena, Block, graph->count);
    uint32_t at = UINT32_MAX;
    for (uint32_t i = 0; i < size; i++) {
        if (leads[i])
            graph->blocks[++at].begin = begin + i;
        graph->blocks[at].end = begin + i + 1;
        graph->block_of[i] = at;
    }
}

static void add_edge(Graph *graph, uint32_t from, uint32_t to) {
    Block *block = &graph->blocks[from];
    block->next[block->next_count++] = to;
    vec_push(graph->arena, &graph->blocks[to].before, from);
}

static void find_edges(Graph *graph) {
    uint32_t begin = graph->func->begin, exit = graph->count - 1;
    for (uint32_t b = 0; b < graph->count; b++) {
        Block *block = &graph->blocks[b];
        const Insn *last = insn_at(graph, block->end - 1);
        block->next = ARENA_ARRAY(graph->arena, uint32_t, 2 + last->table_count);
        if (b == exit)
            continue;
        bool always = last->guard == NO_REG;
        if (last->target != NO_PC)
            add_edge(graph, b, graph->block_of[last->target - begin]);
        for (uint32_t t = 0; t < last->table_count; t++)
            add_edge(graph, b, graph->block_of[last->table[t] - begin]);
        if (!ends_block(last) || !always)
            add_edge(graph, b, b + 1);
        else if (!block->next_count)
            add_edge(graph, b, exit);
    }
}

/* Reverse post-order of the reversed graph from the exit, without recursion. */
static void number_blocks(Graph *graph) {
    uint32_t *stack = ARENA_ARRAY(graph->arena, uint32_t, graph->count + 1);
    uint32_t *position = ARENA_ARRAY(graph->arena, uint32_t, graph->count);
    bool *seen = ARENA_ARRAY(graph->arena, bool, graph->count);
    graph->sequence = ARENA_ARRAY(graph->arena, uint32_t, graph->count);
    uint32_t depth = 0, done = 0;
    stack[depth++] = graph->count - 1;
    seen[graph->count - 1] = true;
    while (depth) {
        uint32_t b = stack[depth - 1];
        const Block *block = &graph->blocks[b];
        if (position[b] == block->before.len) {
            graph->sequence[graph->count - 1 - done++] = b;
            depth--;
            continue;
        }
        uint32_t to = block->before.data[position[b]++];
        if (!seen[to]) {
            seen[to] = true;
            stack[depth++] = to;
        }
    }
    graph->reached = done;
    graph->sequence += graph->count - done;
    for (uint32_t b = 0; b < graph->count; b++)
        graph->blocks[b].order = UINT32_MAX;
    for (uint32_t i = 0; i < done; i++)
        graph->blocks[graph->sequence[i]].order = i;
}

static uint32_t common_meet(const Graph *graph, uint32_t a, uint32_t b) {
    while (a != b) {
        while (graph->blocks[a].order > graph->blocks[b].order)
            a = graph->blocks[a].meet;
        while (graph->blocks[b].order > graph->blocks[a].order)
            b = graph->blocks[b].meet;
    }
    return a;
}

static void find_meets(Graph *graph) {
    uint32_t exit = graph->count - 1;
    for (uint32_t b = 0; b < graph->count; b++)
        graph->blocks[b].meet = UINT32_MAX;
    graph->blocks[exit].meet = exit;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < graph->reached; i++) {
            Block *block = &graph->blocks[graph->sequence[i]];
            uint32_t meet = UINT32_MAX;
            for (uint32_t n = 0; n < block->next_count; n++) {
                uint32_t next = block->next[n];
                if (graph->blocks[next].meet == UINT32_MAX)
                    continue;
                meet = meet == UINT32_MAX ? next : common_meet(graph, meet, next);
            }
            changed |= meet != block->meet;
            block->meet = meet;
        }
    }
}

Graph cfg_graph(const SimModule *module, const Func *func, Arena *arena) {
    Graph graph = {.module = module, .func = func, .arena = arena};
    find_blocks(&graph);
    find_edges(&graph);
    return graph;
}

void cfg_build(SimModule *module, Func *func) {
    ArenaMark mark = arena_mark(&module->ctx->scratch);
    Graph graph = cfg_graph(module, func, &module->ctx->scratch);
    number_blocks(&graph);
    find_meets(&graph);
    for (uint32_t pc = func->begin; pc < func->end; pc++) {
        Insn *insn = &module->insns.data[pc];
        if (!insn->is_branch && !insn->table)
            continue;
        uint32_t meet = graph.blocks[graph.block_of[pc - func->begin]].meet;
        insn->reconverge = meet == UINT32_MAX ? func->end - 1 : graph.blocks[meet].begin;
    }
    arena_rewind(&module->ctx->scratch, mark);
}
