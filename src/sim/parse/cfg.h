/* The control-flow graph of a function: for finding where threads meet, and which registers live.
 */
#ifndef TILEC_SIM_PARSE_CFG_H
#define TILEC_SIM_PARSE_CFG_H
#include "sim/parse/module.h"

typedef struct Block {
    uint32_t begin, end;
    uint32_t *next; /* blocks that may follow */
    uint32_t next_count;
    uint32_t order; /* in the reverse post-order from the exit; UINT32_MAX: not reached */
    uint32_t meet;  /* immediate post-dominator */
    VEC(uint32_t) before;
} Block;

typedef struct Graph {
    const SimModule *module;
    const Func *func;
    Arena *arena;
    Block *blocks; /* in the order of the text; the last one is the exit */
    uint32_t count;
    uint32_t *block_of; /* by instruction, from the function's first */
    uint32_t *sequence; /* blocks in reverse post-order */
    uint32_t reached;
} Graph;

/* The blocks of a function with a body and the edges between them, in `arena`. */
Graph cfg_graph(const SimModule *module, const Func *func, Arena *arena);

/* Numbers the targets of branches and finds where threads that part meet again. */
void cfg_build(SimModule *module, Func *func);
#endif
