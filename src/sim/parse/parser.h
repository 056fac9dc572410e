/* What the files of the PTX parser share. */
#ifndef TILEC_SIM_PARSE_PARSER_H
#define TILEC_SIM_PARSE_PARSER_H
#include "sim/parse/lex.h"
#include "sim/parse/module.h"

/* What a name stands for. Names of a function and of its scopes shadow those outside. */
typedef struct Name {
    Str text;
    enum {
        NAME_REG,
        NAME_REGS,
        NAME_VARIABLE,
        NAME_LABEL,
        NAME_FUNC,
        NAME_TABLE,
        NAME_PROTOTYPE
    } kind;
    unsigned depth; /* of its scope */
    RegRef reg;     /* NAME_REG; of NAME_REGS (%r<8>) the first one */
    uint32_t count; /* NAME_REGS; such a name is none of its own: another thing may have it, too */
    uint8_t bits;   /* of registers */
    Variable *variable;
    Func *func;
    uint32_t pc;     /* NAME_LABEL: NO_PC until it is defined */
    uint32_t *table; /* NAME_TABLE */
    uint32_t table_count;
    struct Name *next;  /* in its bucket */
    struct Name *older; /* in its scope */
} Name;

enum { NAME_BUCKETS = 1024, MAX_SCOPES = 64 };

/* A use of a label before its definition. */
typedef struct LabelUse {
    Str name;
    uint32_t lo, hi;
    uint32_t insn;   /* whose target it is */
    uint32_t *where; /* an entry of a table instead; NULL: the target */
} LabelUse;

/* .alias, resolved at the end of the module. */
typedef struct Alias {
    PtxToken token, target;
} Alias;

typedef struct Parser {
    Ctx *ctx;
    Arena *arena;
    SimModule *module;
    uint32_t file;
    const char *text;
    uint32_t length;
    PtxToken token;   /* the one to look at */
    uint32_t last_hi; /* end of the token before */
    bool failed;      /* an error was reported in this statement */
    Func *func;       /* the function whose body is read */
    uint32_t place;   /* index of the last .loc */
    Name *buckets[NAME_BUCKETS];
    Name *scopes[MAX_SCOPES]; /* names added in each open scope */
    unsigned depth;
    VEC(LabelUse) uses;
    VEC(Alias) aliases;
    size_t first_use[MAX_SCOPES];
    uint32_t constant_heads[NAME_BUCKETS]; /* index + 1 */
    VEC(uint32_t) constant_next;
} Parser;

/* Tokens. */
void ptx_next(Parser *parser);
Str ptx_text(const Parser *parser, PtxToken token);
bool ptx_at(const Parser *parser, char punct);
bool ptx_at_word(const Parser *parser, const char *word);
/* Takes the token if it is there. */
bool ptx_take(Parser *parser, char punct);
bool ptx_take_word(Parser *parser, const char *word);
/* Takes it or reports what was found instead. */
bool ptx_expect(Parser *parser, char punct);
bool ptx_expect_int(Parser *parser, int64_t *value);
bool ptx_expect_name(Parser *parser, Str *name);
/* Reports that `wanted` was expected; false. */
bool ptx_wanted(Parser *parser, const char *wanted);
Span ptx_span(const Parser *parser, uint32_t lo, uint32_t hi);
#define ptx_error(parser, lo, hi, ...)                                                             \
    ((parser)->failed = true, ctx_diag((parser)->ctx, ptx_span((parser), (lo), (hi)), __VA_ARGS__))
/* An integer literal's value; false when it needs more than 64 bits. */
bool ptx_int_value(Str text, uint64_t *value);

/* Names. */
Name *ptx_find(const Parser *parser, Str name);
/* The registers among which a numbered name is, %r12 of %r<20>, and its number; NULL: none. */
const Name *ptx_find_numbered(const Parser *parser, Str name, uint32_t *number);
/* NULL after a report: the name is taken in this scope. */
Name *ptx_declare(Parser *parser, Str name, uint32_t lo, uint32_t hi);
/* The same for registers with numbers below `count`. */
Name *ptx_declare_numbered(Parser *parser, Str name, uint32_t count, uint32_t lo, uint32_t hi);
bool ptx_open_scope(Parser *parser);
void ptx_close_scope(Parser *parser);
/* Branches of this scope to labels of this scope; others wait for the scope around it. */
void ptx_resolve_labels(Parser *parser);

/* The register of a value that does not change. */
RegRef ptx_constant(Parser *parser, uint64_t value);
/* The address of a variable plus an offset, as a register. */
RegRef ptx_address_of(Parser *parser, const Variable *variable, int64_t offset);

/* A directive of the module, or of a function's body, that declares nothing: .version, .loc, ...
 * False when the token is none of them; else `ok` says whether it could be read. */
bool ptx_parse_directive(Parser *parser, bool in_function, bool *ok);
/* Performance directives between the parameters and the body: .reqntid, .maxnreg, ... */
bool ptx_parse_tuning(Parser *parser, Func *func);
/* What is between the parentheses behind .attribute says where a variable lies: nothing that a
 * simulated program could tell. */
bool ptx_skip_attribute(Parser *parser);
/* Gives the names of .alias what they stand for. */
bool ptx_resolve_aliases(Parser *parser);

/* .reg, .local, .shared, .global, .const, .param within functions, module variables. */
bool ptx_parse_variable(Parser *parser, SpaceKind space, bool is_extern);
bool ptx_parse_regs(Parser *parser);
/* One parameter of a function: .param .b64 .ptr .global .align 16 name, or .reg .b32 name. */
bool ptx_parse_param(Parser *parser, Func *func, bool is_result);
/* The bits of a floating-point literal as a value of 32 or 64 bits. */
bool ptx_parse_float(Parser *parser, unsigned bits, bool negative, uint64_t *value);
/* One instruction with its guard, up to and with the semicolon. */
bool ptx_parse_insn(Parser *parser);
/* Whether the module's target has the instruction; reports if not. */
bool ptx_check_target(Parser *parser, const Insn *insn);

/* Finds the row of a name and its words (each without its dot) and fills in row, types and fields.
 * Otherwise returns the index of the word that fits no row, or the count when words are missing,
 * and says in `problem` what is wrong; -1 when it was found. */
int insn_match(Arena *arena, Str name, const Str *words, unsigned count, Insn *insn,
               const char **problem);

/* Finds the registers that wgmma of the function use, and the instructions that name them. */
void ptx_mark_matrix_registers(SimModule *module, Func *func);
#endif
