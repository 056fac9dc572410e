/* Loops of a control-flow graph, one within another.
 *
 * A loop is a strongly connected part of the graph; the loops within it are those of what is left
 * without its header, the first of its blocks in the text at which it is entered. That gives the
 * natural loops where every loop has one entry, and takes loops of several entries as well. Parts
 * are found by Tarjan's algorithm, without recursion. */
#include "inspect/compare_parts.h"

#include <stdlib.h>

typedef struct Region {
    const uint32_t *blocks;
    uint32_t count;
    int32_t loop; /* around it; -1: the function */
} Region;

typedef struct Finder {
    const Graph *graph;
    Arena *arena;
    uint32_t *region; /* by block: the number of the region it is in now */
    uint32_t *part;   /* by block: the last loop that it was found in, + 1 */
    uint32_t current;
    uint32_t *number, *low; /* of Tarjan's algorithm, from 1; 0: not reached in this region */
    uint32_t *position;     /* by block: the next edge to follow */
    uint32_t *path, *open;  /* stacks: blocks being visited, blocks of no part yet */
    bool *is_open;
    uint32_t path_count, open_count, numbered;
    VEC(Region) regions;
    FoundLoops *loops;
} Finder;

static bool has_edge(const Block *block, uint32_t to) {
    for (uint32_t n = 0; n < block->next_count; n++)
        if (block->next[n] == to)
            return true;
    return false;
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Whether some edge enters the block from outside of its loop. */
static bool is_entered(const Finder *f, uint32_t block) {
    const Block *at = &f->graph->blocks[block];
    for (size_t i = 0; i < at->before.len; i++)
        if (f->part[at->before.data[i]] != f->part[block])
            return true;
    return block == 0;
}

/* The part of these blocks is a loop; what is within it is looked at later. */
static void add_loop(Finder *f, const uint32_t *blocks, uint32_t count, int32_t parent) {
    uint32_t *sorted = ARENA_ARRAY(f->arena, uint32_t, count);
    const int32_t loop = (int32_t)f->loops->len;
    memcpy(sorted, blocks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < count; i++)
        f->part[sorted[i]] = (uint32_t)loop + 1;
    uint32_t header = 0;
    while (header < count && !is_entered(f, sorted[header]))
        header++;
    header = header == count ? 0 : header;
    const FoundLoop found = {parent, parent < 0 ? 1 : f->loops->data[parent].depth + 1,
                             sorted[header]};
    vec_push(f->arena, f->loops, found);
    for (uint32_t i = 0; i < count; i++)
        f->loops->innermost[sorted[i]] = loop;
    memmove(sorted + header, sorted + header + 1, (count - header - 1) * sizeof *sorted);
    vec_push(f->arena, &f->regions, ((Region){sorted, count - 1, loop}));
}

static void reach(Finder *f, uint32_t block) {
    f->number[block] = f->low[block] = ++f->numbered;
    f->position[block] = 0;
    f->path[f->path_count++] = block;
    f->open[f->open_count++] = block;
    f->is_open[block] = true;
}

/* The block is done: what is open from it on is a part of its own if it reaches no earlier one. */
static void leave(Finder *f, uint32_t block, int32_t loop) {
    f->path_count--;
    if (f->path_count) {
        uint32_t *low = &f->low[f->path[f->path_count - 1]];
        *low = f->low[block] < *low ? f->low[block] : *low;
    }
    if (f->low[block] != f->number[block])
        return;
    uint32_t from = f->open_count;
    do
        f->is_open[f->open[--from]] = false;
    while (f->open[from] != block);
    const uint32_t count = f->open_count - from;
    f->open_count = from;
    if (count > 1 || has_edge(&f->graph->blocks[block], block))
        add_loop(f, f->open + from, count, loop);
}

static void visit_from(Finder *f, uint32_t start, int32_t loop) {
    reach(f, start);
    while (f->path_count) {
        const uint32_t at = f->path[f->path_count - 1];
        const Block *block = &f->graph->blocks[at];
        if (f->position[at] == block->next_count) {
            leave(f, at, loop);
            continue;
        }
        const uint32_t to = block->next[f->position[at]++];
        if (f->region[to] != f->current)
            continue;
        if (!f->number[to])
            reach(f, to);
        else if (f->is_open[to] && f->number[to] < f->low[at])
            f->low[at] = f->number[to];
    }
}

static void search_region(Finder *f, const Region *region) {
    f->current++;
    for (uint32_t i = 0; i < region->count; i++) {
        f->region[region->blocks[i]] = f->current;
        f->number[region->blocks[i]] = 0;
    }
    for (uint32_t i = 0; i < region->count; i++)
        if (!f->number[region->blocks[i]])
            visit_from(f, region->blocks[i], region->loop);
}

static int by_header(const void *a, const void *b) {
    return by_number(&((const FoundLoop *)a)->header, &((const FoundLoop *)b)->header);
}

/* The loops in order: by their headers, and behind each those within it. The headers say which is
 * which, since no two loops have the same. */
static void list_in_order(const FoundLoops *found, const int32_t *of_header, Arena *arena,
                          int32_t *order) {
    const int32_t count = (int32_t)found->len;
    FoundLoop *sorted = ARENA_ARRAY(arena, FoundLoop, found->len + 1);
    /* By loop, and last of all of the function: its first loop; by loop: the one beside it. */
    int32_t *first = ARENA_ARRAY(arena, int32_t, found->len + 1);
    int32_t *beside = ARENA_ARRAY(arena, int32_t, found->len + 1);
    if (!count)
        return;
    memcpy(sorted, found->data, found->len * sizeof *sorted);
    qsort(sorted, found->len, sizeof *sorted, by_header);
    for (int32_t i = 0; i <= count; i++)
        first[i] = -1;
    for (int32_t i = count; i--;) {
        const int32_t loop = of_header[sorted[i].header];
        const int32_t within = sorted[i].parent < 0 ? count : sorted[i].parent;
        beside[loop] = first[within];
        first[within] = loop;
    }
    int32_t listed = 0;
    for (int32_t at = first[count]; at >= 0;) {
        order[listed++] = at;
        if (first[at] >= 0) {
            at = first[at];
            continue;
        }
        while (at >= 0 && beside[at] < 0)
            at = found->data[at].parent;
        at = at < 0 ? -1 : beside[at];
    }
}

static void sort_loops(FoundLoops *loops, uint32_t blocks, Arena *arena) {
    const size_t len = loops->len;
    int32_t *order = ARENA_ARRAY(arena, int32_t, len + 1);
    int32_t *place = ARENA_ARRAY(arena, int32_t, len + 1);
    FoundLoop *sorted = ARENA_ARRAY(arena, FoundLoop, len + 1);
    int32_t *of_header = ARENA_ARRAY(arena, int32_t, blocks);
    for (size_t i = 0; i < len; i++)
        of_header[loops->data[i].header] = (int32_t)i;
    list_in_order(loops, of_header, arena, order);
    for (size_t i = 0; i < len; i++)
        place[order[i]] = (int32_t)i;
    for (size_t i = 0; i < len; i++) {
        sorted[i] = loops->data[order[i]];
        if (sorted[i].parent >= 0)
            sorted[i].parent = place[sorted[i].parent];
    }
    for (uint32_t b = 0; b < blocks; b++)
        if (loops->innermost[b] >= 0)
            loops->innermost[b] = place[loops->innermost[b]];
    loops->data = sorted;
}

FoundLoops loops_find(const Graph *graph, Arena *arena) {
    FoundLoops loops = {0};
    const uint32_t count = graph->count;
    Finder f = {.graph = graph, .arena = arena, .loops = &loops};
    uint32_t *all = ARENA_ARRAY(arena, uint32_t, count);
    uint32_t **arrays[] = {&f.region, &f.part, &f.number, &f.low, &f.position, &f.path, &f.open};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = ARENA_ARRAY(arena, uint32_t, count);
    f.is_open = ARENA_ARRAY(arena, bool, count);
    loops.innermost = ARENA_ARRAY(arena, int32_t, count);
    for (uint32_t b = 0; b < count; b++) {
        all[b] = b;
        loops.innermost[b] = -1;
    }
    vec_push(arena, &f.regions, ((Region){all, count, -1}));
    for (size_t i = 0; i < f.regions.len; i++) {
        const Region region = f.regions.data[i];
        search_region(&f, &region);
    }
    sort_loops(&loops, count, arena);
    return loops;
}
