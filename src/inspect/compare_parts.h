/* What the files of a comparison share. */
#ifndef TILEC_INSPECT_COMPARE_PARTS_H
#define TILEC_INSPECT_COMPARE_PARTS_H
#include "inspect/compare.h"
#include "sim/parse/cfg.h"

/* What the measures of a kernel are taken from. */
typedef struct CodeTaken {
    const CodeFacts *facts; /* with forms and loops */
    const Target *target;   /* NULL: not one of the table */
    Resources resources;
    const char *not_assembled; /* why resources are not known */
    uint32_t live;             /* 32-bit registers */
    uint64_t static_shared;
    int64_t dynamic_shared; /* -1: not known */
    int32_t threads;        /* 0: not known */
    bool threads_at_most;   /* they are a bound */
    uint32_t classes[CLASS_COUNT];
    uint32_t instructions, loops, loop_instructions, inner_instructions;
} CodeTaken;

/* Fills in the measures and what limits CTAs. */
void measures_take(const CodeTaken *taken, CodeFacts *facts);

/* The place, by its number, or the call in the kernel's own source that it was inlined at. */
Place own_place(const SimModule *module, uint32_t index);

/* A loop of a graph: its blocks are those whose innermost loop it is, or one within it. */
typedef struct FoundLoop {
    int32_t parent; /* -1: none */
    uint32_t depth; /* from 1 */
    uint32_t header;
} FoundLoop;

typedef struct FoundLoops {
    FoundLoop *data; /* outer ones before those within them, by the order of their headers */
    size_t len, cap;
    int32_t *innermost; /* by block: its loop; -1: none */
} FoundLoops;

FoundLoops loops_find(const Graph *graph, Arena *arena);
/* Whether `loop` is `outer` or within it. */
static inline bool loop_is_within(const FoundLoops *loops, int32_t loop, int32_t outer) {
    while (loop >= 0 && loop != outer)
        loop = loops->data[loop].parent;
    return loop == outer;
}

/* By class, then by name; by file, then by number: below, at or above zero. */
int form_order(const FormCount *a, const FormCount *b);
int line_order(const CodeLine *a, const CodeLine *b);

enum { CODE_JSON_VERSION = 1 };

/* Lines of A and B that are the same line of a source, or of two versions of it. */
CodePairs align_lines(Arena *arena, const CodeFacts *a, const CodeFacts *b);
/* Loops of A and B that are the same loop. */
CodePairs align_loops(Arena *arena, const CodeFacts *a, const CodeFacts *b, const CodePairs *lines);

/* Forms of two lists side by side, by class and name. */
typedef struct FormPair {
    Str form;
    int class;
    uint32_t a, b;
} FormPair;
typedef VEC(FormPair) FormPairs;
FormPairs pair_forms(Arena *arena, const FormCounts *a, const FormCounts *b);
#endif
