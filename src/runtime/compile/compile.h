/* The stages of a compilation, from a file or text to whatever is wanted of it.
 *
 *     read -> (cache) -> parse -> elaborate -> passes -> LLVM -> PTX -> cubin -> (store)
 *
 * Stages beyond the last one that is wanted do not run. Contexts are independent: compilations run
 * in parallel, each with its own. */
#ifndef TILEC_RUNTIME_COMPILE_COMPILE_H
#define TILEC_RUNTIME_COMPILE_COMPILE_H
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "runtime/cache/cache.h"
#include "runtime/launch/facts.h"

typedef enum OutputKind {
#define OUTPUT(id, name, file, summary) OUTPUT_##id,
#include "runtime/compile/outputs.def"
    OUTPUT_COUNT
} OutputKind;

typedef enum StageKind {
#define STAGE(id, name) STAGE_##id,
#include "runtime/compile/stages.def"
    STAGE_COUNT
} StageKind;

typedef struct OutputInfo {
    const char *name, *file, *summary;
} OutputInfo;
extern const OutputInfo output_info[OUTPUT_COUNT];
extern const char *const stage_name[STAGE_COUNT];

#define OUTPUT_BIT(id) (1u << OUTPUT_##id)

/* A stage as text, when it has been left. */
typedef struct StageText {
    const char *file; /* what a dump folder has it as, "22-choose-layouts.tir" */
    OutputKind kind;  /* OUTPUT_tir: Tile IR of any stage */
    PassId pass;      /* that left it; PASS_COUNT: none did */
    Str text;
    const SpanList *lines;   /* of the syntax tree and of Tile IR; NULL: the text says it itself */
    const PrintNotes *notes; /* of Tile IR; so is `func`, which goes on to change */
    Func *func;
} StageText;

/* Is shown each stage in order; what code generation makes once more, again. */
typedef struct StageObserver {
    void (*see)(void *user, const StageText *stage); /* NULL: nobody */
    void *user;
} StageObserver;

typedef struct CompileRequest {
    const char *path;  /* of units only a name in messages. Read unless `text` is given; names the
                          source in messages. A folder: the  file in it that has the kernel */
    Str text;          /* ptr NULL: read `path` */
    bool text_of_path; /* and `text` is what was read there */
    Str folder;        /* where relative paths of sources begin; empty: the working directory */
    ElaborateRequest kernel; /* what to compile; `file` and `capability` are filled in */
    const Target *target;
    const NamedText *files; /* path and text: there for imports, and for `path`, before the disk */
    uint32_t file_count;
    SourceFiles reader;  /* asked behind `files`; not with `isolated` */
    const Str *warnings; /* as diag_choose takes them */
    uint32_t warning_count;
    int32_t max_registers;   /* 0: as the code needs */
    int32_t max_shared;      /* bytes of a block; 0: as many as the target has */
    uint32_t want;           /* OUTPUT_BIT(...) | ... */
    const char *dump_folder; /* NULL: none. Every stage is written there */
    StageObserver observer;  /* sees what would be dumped; not with isolated */
    bool line_info;          /* source lines in PTX and cubin */
    bool full_paths;         /* code names sources by their paths as given: see Source */
    bool no_tensor_copies;   /* see Func */
    bool no_persistence;     /* see Func */
    bool in_place;           /* see Func */
    bool plain_abi;          /* see Func */
    bool no_fp_fusion;       /* see CodegenOptions */
    bool no_ftz;             /* likewise */
    bool deterministic;      /* see Func */
    bool check_passes;       /* hold every pass to its contract */
    bool keep_func;          /* the Tile IR itself is needed: no answer from the cache */
    bool until_passes;       /* with keep_func: run the passes, whatever is wanted */
    bool is_strict;       /* answer from the cache or refuse; nothing is compiled or waited for */
    bool explains;        /* a refusal says what is there that comes nearest */
    int32_t llvm_level;   /* see CodegenOptions */
    double time_limit_ms; /* of a tool or a worker; 0: PROCESS_TIME_LIMIT_MS */
    double compile_limit_ms; /* of the whole compilation; 0: none */
    size_t memory_limit;     /* of a worker; 0: none */
    bool isolated;           /* in a process of its own; not with keep_func */
    const char *worker;      /* that program; NULL: found; see worker.c */
    const char *ptxas;       /* NULL: found; see ptxas_find */
    const Device
        *device; /* whose driver assembles when there is no ptxas; NULL: device 0 is opened */
    const char *cuda_library; /* of that driver; NULL: found */
    Cache *cache;             /* NULL: none */
} CompileRequest;

typedef struct PassTime {
    PassId pass;
    bool changed;
    double ms;
} PassTime;

typedef struct Compiled {
    DiagMark before;           /* what the compilation says comes behind it */
    uint32_t file;             /* the source in ctx->sources */
    const AstFile *syntax;     /* NULL when the cache answered */
    Func *func;                /* NULL when the cache answered */
    KernelFacts facts;         /* facts.meta.name is empty before codegen */
    Str outputs[OUTPUT_COUNT]; /* the wanted ones; empty when their stage was not reached */
    Str asked;                 /* see Elaborated; empty when the cache answered */
    ImportsMade imports;       /* see Elaborated */
    Str from_entry; /* the same as an entry has it, when the cache or a worker answered */
    bool from_cache;
    int store_error; /* errno: what was compiled is not in the own folder */
    double ms[STAGE_COUNT], total_ms;
    VEC(PassTime) passes;
    PassContract contracts[PASS_COUNT]; /* with check_passes */
} Compiled;

/* Asks for these forms (KernelForm) of the kernel, besides what the request asks for already. */
static inline void request_forms(CompileRequest *request, unsigned forms) {
    request->no_tensor_copies |= (forms & FORM_PLAIN) != 0;
    request->in_place |= (forms & FORM_IN_PLACE) != 0;
}

/* False after errors were reported, the end of compile_limit_ms among them; the times and outputs
 * up to there are filled in. Running out of memory, and a cancellation of what works in `ctx`
 * (ctx_cancel_with), leave by the arena's jump.
 */
bool compile_kernel(Ctx *ctx, const CompileRequest *request, Compiled *compiled);

/* What the request says of warnings, for a context without messages yet. False after an error. */
bool compile_choose_warnings(Ctx *ctx, const CompileRequest *request);

/* From here on sources are read as the request says; it stays as long as the context reads any. */
void compile_use_files(Ctx *ctx, const CompileRequest *request);

/* The source's number in the context; `text` is its text unless its pointer is NULL. 0 after a
 * report. */
uint32_t compile_read(Ctx *ctx, const char *path, Str text);

/* The same of what a request names; of units the first one's. */
uint32_t compile_read_request(Ctx *ctx, const CompileRequest *request);
/* Parses that; NULL after errors were reported. */
AstFile *compile_parse_read(Ctx *ctx, const CompileRequest *request, uint32_t file);

/* Reads and parses only. NULL after errors were reported. */
AstFile *compile_parse_request(Ctx *ctx, const CompileRequest *request, uint32_t *file);
AstFile *compile_parse(Ctx *ctx, const char *path, Str text, uint32_t *file);

/* What a device of the driver loads; see facts_code. */
KernelImage compiled_image(Arena *arena, const Compiled *compiled, const Driver *driver);

/* The table of stages and passes, and the same as members of a JSON object: "stages": [{name, ms},
 * ..], "total_ms": .., "passes": [{name, ms, changed}, ..]. Of passes that were held to their
 * contract also what could be compared: "contract": [{pass, runs, changed, ..}, ..]. */
void compiled_print_times(const Compiled *compiled, StrBuf *out);
void compiled_json_times(const Compiled *compiled, StrBuf *out);

/* Is a deterministic form wanted: by an option, or by TILEC_DETERMINISTIC in the environment? */
bool compile_asks_deterministic(bool option);
/* The version of the language, 36 for 3.6: of an option that is not 0, else of TILEC_LANGUAGE. 0:
 * none is asked for; -1: TILEC_LANGUAGE is none. */
int32_t compile_asks_language(int32_t option);

/* Milliseconds of a steady clock. */
double clock_ms(void);
#endif
