/* Two kernels side by side: what their PTX is made of, loop by loop, and what they take of an SM.
 *
 *     a source, compiled --+
 *     a PTX file ----------+--> CodeFacts --+
 *     JSON, as saved ------+               +--> CodeComparison --> tables, JSON, limits
 *                             CodeFacts --+
 *
 * Counts are of instructions as they stand in the PTX, not of those that run. Everything lies in
 * the arena of the context. */
#ifndef TILEC_INSPECT_COMPARE_H
#define TILEC_INSPECT_COMPARE_H
#include "runtime/tools/resources.h"
#include "support/ctx.h"

typedef enum Measure {
#define MEASURE(id, ...) MEASURE_##id,
#include "inspect/measures.def"
    MEASURE_COUNT
} Measure;

typedef enum MeasureBetter { BETTER_LOWER, BETTER_HIGHER, BETTER_SAME } MeasureBetter;
typedef enum MeasureGroup { MEASURES_RESOURCES, MEASURES_CODE, MEASURES_CLASSES } MeasureGroup;

typedef struct MeasureInfo {
    const char *name, *unit; /* "" for plain numbers */
    MeasureBetter better;
    MeasureGroup group;
    const char *what;
} MeasureInfo;
extern const MeasureInfo measure_info[MEASURE_COUNT];

/* By name; -1: there is none. */
int measure_find(Str name);
/* The rows as lines of a help text: "registers, live-registers, ..". */
const char *measure_list(Arena *arena);

typedef enum MeasureState { MEASURED_NOT, MEASURED_ESTIMATE, MEASURED } MeasureState;

typedef struct MeasureValue {
    MeasureState state;
    int64_t value;
    const char *why; /* it is not known, or an estimate */
} MeasureValue;

/* How many instructions of one form there are: "fma.f32", "ld.global.b128",
 * "mma.m16n8k16.f32.f16.f16.f32". */
typedef struct FormCount {
    Str form;
    int class; /* an InsnClass of sim/parse/module.h */
    uint32_t count;
} FormCount;
typedef VEC(FormCount) FormCounts;

/* A line of a source and the instructions that were made of it. */
typedef struct CodeLine {
    Str file; /* its path as the PTX has it */
    uint32_t line;
    Str text; /* empty: the source is not there */
    uint32_t count;
} CodeLine;
typedef VEC(CodeLine) CodeLines;

/* Instructions of a line within a loop. */
typedef struct LineUse {
    uint32_t line; /* index into the kernel's lines */
    uint32_t count;
} LineUse;
typedef VEC(LineUse) LineUses;

enum { NO_LINE = UINT32_MAX };

/* A loop of the control-flow graph with all that is within it. */
typedef struct CodeLoop {
    int32_t parent;       /* index of the loop around it; -1: none */
    uint32_t depth;       /* 1: within no other */
    uint32_t at;          /* the line that it stands at; NO_LINE */
    uint32_t first, last; /* lines of the PTX */
    bool is_wait;         /* it does nothing but wait for a barrier */
    bool is_inner;        /* none but such are within it */
    uint32_t instructions;
    FormCounts forms;
    LineUses lines;
} CodeLoop;
typedef VEC(CodeLoop) CodeLoops;

/* What is known of one kernel. */
typedef struct CodeFacts {
    Str path, kernel, target; /* as given, its name in the code, "sm_90a" */
    Str limited_by;           /* what limits CTAs on an SM; empty: not known */
    MeasureValue measures[MEASURE_COUNT];
    FormCounts forms; /* by class, then by name */
    CodeLoops loops;  /* outer ones before those within them, in the order of the text */
    CodeLines lines;  /* by file and number */
    uint32_t no_line; /* instructions of no line */
} CodeFacts;

/* A kernel in PTX. */
typedef struct CodeRequest {
    const char *path;  /* for messages and tables */
    uint32_t file;     /* of the context's sources: the PTX */
    Str kernel;        /* empty: the only one */
    const char *ptxas; /* to ask of `resources`, as ptxas_find takes it, unless they are known */
    Resources resources;
    int32_t threads;        /* of a CTA; 0: what the PTX says */
    int64_t dynamic_shared; /* bytes; -1: none where the PTX has no such memory, else not known */
} CodeRequest;

/* False after reports: PTX that cannot be read, located; a kernel that is not there. */
bool code_inspect(Ctx *ctx, const CodeRequest *request, CodeFacts *facts);
/* Instructions of a class. */
uint32_t code_class_count(const FormCounts *forms, int class);

/* The facts as a JSON object, and read again from source `file`; false after located reports. */
void code_json(const CodeFacts *facts, StrBuf *out);
bool code_read(Ctx *ctx, uint32_t file, const char *path, CodeFacts *facts);

/* What --limit says: by how much B may be worse. */
typedef struct MeasureLimit {
    Measure measure;
    double amount;
    bool is_percent;
    Str text;
} MeasureLimit;

typedef struct LimitResult {
    MeasureLimit limit;
    int64_t worse; /* by how much B is; at most 0: it is not */
    bool holds;
} LimitResult;

/* "registers=0", "instructions=5%", "shared=+1024". False: `problem` says what is wrong. */
bool limit_parse(Arena *arena, const char *text, MeasureLimit *limit, const char **problem);
/* False: the measure is not known of both; `problem` says why. */
bool limit_check(Arena *arena, const MeasureLimit *limit, const CodeFacts *a, const CodeFacts *b,
                 LimitResult *result, const char **problem);

/* Indices of what belongs together; -1: there is none on that side. */
typedef struct CodePair {
    int32_t a, b;
} CodePair;
typedef VEC(CodePair) CodePairs;

typedef struct CodeComparison {
    const CodeFacts *a, *b;
    CodePairs lines; /* in the order of A's, each of B's behind its predecessor */
    CodePairs loops; /* likewise; without those that only wait where both sides have the same */
    bool same;       /* everything that is known of both */
    const LimitResult *limits;
    uint32_t limit_count;
} CodeComparison;

CodeComparison compare_code(Arena *arena, const CodeFacts *a, const CodeFacts *b);

typedef struct CompareView {
    bool all;   /* rows that are equal, too */
    bool lines; /* instructions by line */
} CompareView;

/* Tables of at most 120 columns. */
void compare_print(const CodeComparison *comparison, const CompareView *view, StrBuf *out);
/* Members of a JSON object: "same": .., "a": {..}, "b": {..}, "measures": [..], .. */
void compare_json(const CodeComparison *comparison, StrBuf *out);
#endif
