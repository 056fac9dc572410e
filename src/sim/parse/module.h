/* A decoded PTX module: what the parser leaves for the executor.
 *
 * Instructions of all functions lie in one array; their index is the program counter. Operands are
 * numbers of registers in three banks: the frame of the function that runs, the module's constants,
 * and the special registers of the warp. Everything lies in the arena of the context the module was
 * parsed in and is read-only afterwards, so that launches may share it. */
#ifndef TILEC_SIM_PARSE_MODULE_H
#define TILEC_SIM_PARSE_MODULE_H
#include "sim/sim.h"
#include "support/ctx.h"
#include "support/vec.h"

typedef enum Word {
    WORD_none,
#define WORD(id, text, field) WORD_##id,
#include "sim/parse/words.def"
    WORD_COUNT
} Word;

/* Two words of a field exclude each other. */
typedef enum Field {
    FIELD_ROUND,
    FIELD_ACCURACY,
    FIELD_FTZ,
    FIELD_SAT,
    FIELD_RELU,
    FIELD_NAN,
    FIELD_XORSIGN,
    FIELD_ABS,
    FIELD_CARRY,
    FIELD_COMPARE,
    FIELD_OPERATION,
    FIELD_CLAMP,
    FIELD_SPACE,
    FIELD_SEMANTICS,
    FIELD_SCOPE,
    FIELD_CACHE,
    FIELD_READONLY,
    FIELD_L1,
    FIELD_L2,
    FIELD_HINT,
    FIELD_PREFETCH,
    FIELD_UNIFIED,
    FIELD_VECTOR,
    FIELD_NOFTZ,
    FIELD_SYNC,
    FIELD_ALIGNED,
    FIELD_WARP,
    FIELD_SHAPE,
    FIELD_TIMES,
    FIELD_TRANS,
    FIELD_LAYOUT_A,
    FIELD_LAYOUT_B,
    FIELD_ASYNC,
    FIELD_FRACTIONAL,
    FIELD_LEVEL,
    FIELD_BULK,
    FIELD_REDUCE,
    FIELD_TENSOR,
    FIELD_DIM,
    FIELD_MODE,
    FIELD_COMPLETION,
    FIELD_MULTICAST,
    FIELD_READ,
    FIELD_EXPECT,
    FIELD_PARITY,
    FIELD_PROXY,
    FIELD_PROXY_KIND,
    FIELDS
} Field;

typedef enum Type {
#define TYPE(id, bits, kind) TYPE_##id,
#include "sim/parse/types.def"
    TYPE_COUNT
} Type;

typedef enum TypeKind {
    KIND_BITS,
    KIND_UINT,
    KIND_SINT,
    KIND_FLOAT,
    KIND_PACKED,
    KIND_PRED
} TypeKind;

typedef struct TypeInfo {
    const char *name;
    uint8_t bits, kind;
} TypeInfo;

typedef enum Special {
#define SPECIAL(id, text, bits, changes) SPECIAL_##id,
#include "sim/parse/specials.def"
    SPECIAL_COUNT
} Special;

typedef struct SpecialInfo {
    const char *name;
    uint8_t bits;
    bool changes;
} SpecialInfo;

/* What instructions are counted as. */
typedef enum InsnClass {
    CLASS_INTEGER,
    CLASS_FLOAT,
    CLASS_HALF,
    CLASS_DOUBLE,
    CLASS_SPECIAL,
    CLASS_CONVERT,
    CLASS_MOVE,
    CLASS_PREDICATE,
    CLASS_GLOBAL,
    CLASS_SHARED,
    CLASS_LOCAL,
    CLASS_PARAM,
    CLASS_ATOMIC,
    CLASS_WARP,
    CLASS_TENSOR,
    CLASS_ASYNC,
    CLASS_BARRIER,
    CLASS_CONTROL,
    CLASS_MEMORY,
    CLASS_COUNT
} InsnClass;

/* Registers: the two top bits are the bank. */
typedef uint32_t RegRef;
enum {
    BANK_FRAME = 0,
    BANK_CONST = 1,
    BANK_SPECIAL = 2,
    BANK_SHIFT = 30,
    REG_SINK = 0,  /* of every frame: `_` */
    REG_CARRY = 1, /* of every frame: the condition code of add.cc */
    REG_FIRST = 2
};
#define NO_REG UINT32_MAX
#define NO_PC UINT32_MAX
#define REG_IN(bank, index) ((RegRef)(bank) << BANK_SHIFT | (RegRef)(index))

typedef enum OperandKind {
    OPERAND_NONE,
    OPERAND_REG,     /* `reg`; bits: of the register */
    OPERAND_VECTOR,  /* `regs[count]` */
    OPERAND_ADDRESS, /* value of `reg` + offset */
    OPERAND_TENSOR,  /* the address of a tensor map, and `regs[count]` coordinates */
    OPERAND_LABEL,   /* pc */
    OPERAND_NUMBER,  /* an immediate the instruction needs while decoding: `offset` */
} OperandKind;

typedef struct Operand {
    uint8_t kind;
    uint8_t bits;
    bool negated; /* !%p */
    bool
        in_frame; /* an address relative to the frame's local memory: .param of a device function */
    uint32_t count;
    RegRef reg;
    RegRef second; /* the predicate of d|p */
    const RegRef *regs;
    int64_t offset;
} Operand;

typedef struct Insn Insn;
typedef struct Warp Warp;

typedef enum ExecResult {
    EXEC_NEXT,   /* go on behind the instruction */
    EXEC_JUMPED, /* the executor has set the program counter, or ended threads */
    EXEC_WAIT,   /* the warp or the split must wait; the instruction runs again */
    EXEC_YIELD,  /* go on behind the instruction, but let others run first */
} ExecResult;

/* Runs the instruction for the threads of `mask`. */
typedef ExecResult Executor(Warp *warp, const Insn *insn, uint32_t mask);
/* The result's bits from the source operands' bits, for instructions that work on each thread
 * alone. */
typedef uint64_t Scalar(const Insn *insn, const uint64_t *x);
/* Which bits of that result are known when of the operands only those in `known` are. */
typedef uint64_t KnownBits(const Insn *insn, const uint64_t *x, const uint64_t *known);
/* What is wrong with operands that the row alone cannot check; NULL when nothing is. */
typedef const char *OperandCheck(const Insn *insn);

enum { MAX_OPERANDS = 8, MAX_TYPES = 4 };

/* One form of an instruction: a row of instructions.def. */
typedef struct Row {
    const char *name, *modifiers, *types, *operands;
    InsnClass class;
    Executor *exec;
    Scalar *scalar;
    KnownBits *known; /* NULL: all bits are when all operands are */
    OperandCheck *check;
} Row;

struct Insn {
    const Row *row;
    uint32_t lo, hi; /* text, in the module's file */
    uint32_t loc;    /* index into the module's places; 0: none */
    RegRef guard;    /* NO_REG: none */
    bool guard_negated;
    bool reads_clock;    /* some operand is a special register that changes */
    bool is_branch;      /* bra: has target, and reconverges if predicated */
    bool touches_matrix; /* names a register that some wgmma of its function uses */
    uint16_t number;     /* what # stood for in a word of its name */
    uint8_t type[MAX_TYPES];
    uint16_t field[FIELDS]; /* a Word each */
    uint8_t operand_count;
    Operand operand[MAX_OPERANDS];
    uint32_t target, reconverge;
    struct Call *call;
    const uint32_t *table; /* brx.idx: targets */
    uint32_t table_count;
};

/* A place in the source that was compiled, from .loc. */
typedef struct Place {
    uint32_t file, line, column;
    uint32_t caller; /* the place it was inlined at: an earlier one of the module; 0: none */
    uint32_t lo;     /* where that is said, in the module's file */
} Place;

typedef enum SpaceKind {
    SPACE_generic,
    SPACE_global,
    SPACE_shared,
    SPACE_local,
    SPACE_const,
    SPACE_param
} SpaceKind;

typedef struct Variable {
    Str name;
    SpaceKind space;
    uint64_t size, align;
    uint64_t address; /* offset in its space; of global and const ones in the module's image */
    bool is_extern;   /* .extern .shared: its size is given at the launch */
    bool in_frame;    /* .local, and .param of calls and device functions */
    const struct Func *owner; /* .shared of a kernel's body: that kernel; NULL: of all */
    const uint8_t *init; /* `size` bytes; NULL: zero for .global and .const, undefined elsewhere */
} Variable;

typedef struct Func Func;

/* A register that holds an address in the frame's local memory: filled when a frame starts. */
typedef struct FrameAddress {
    uint32_t reg;
    uint64_t offset;
} FrameAddress;

typedef struct Call {
    Func *callee; /* NULL: indirect, or one of the functions below */
    enum { CALL_FUNC, CALL_VPRINTF, CALL_ASSERT, CALL_INDIRECT } kind;
    Str name;
    Operand pointer;
    /* Addresses in the caller's frame, or registers. */
    const Operand *args, *results;
    uint32_t arg_count, result_count;
} Call;

struct Func {
    Str name;
    uint32_t lo, hi;
    bool is_entry, has_body;
    uint32_t begin, end; /* instructions; the last one is the exit that all rets lead to */
    uint32_t regs;       /* registers of a frame */
    uint64_t frame_bytes;
    VEC(Variable *) params;  /* of entries: offsets in the parameter buffer */
    VEC(Variable *) results; /* of device functions */
    VEC(FrameAddress) frame_addresses;
    VEC(RegRef) param_regs, result_regs; /* .reg parameters; NO_REG: a .param one */
    uint64_t param_bytes;
    uint64_t shared_end; /* of entries: bytes of shared variables up to its own ones */
    uint32_t reqntid[3], maxntid[3], cluster[3];   /* 0: not given */
    uint32_t min_ctas, max_regs, max_cluster_rank; /* 0: not given */
    bool explicit_cluster;                         /* must be launched with a cluster */
    bool blocks_are_clusters;                      /* the launch counts clusters */
    uint32_t address;                              /* its number + 1, as a function pointer */
    bool *matrix_regs; /* by register: some wgmma names it; NULL: there is no wgmma */
};

struct SimModule {
    Ctx *ctx;
    uint32_t file;
    Str text;
    uint32_t slot;        /* where its variables lie: see sim_image_base */
    unsigned version, sm; /* 83 for 8.3; 90 for sm_90a */
    char sm_suffix;       /* 'a' or 'f'; 0: none */
    VEC(Insn) insns;
    VEC(Func *) funcs;
    VEC(Variable *)
    variables; /* .global, .const, .shared and .local of the module and of functions */
    VEC(uint64_t) constants;
    VEC(Place) places;               /* the first one is none */
    VEC(Str) file_names;             /* by number of .file */
    VEC(uint32_t) dynamic_constants; /* those that hold addresses of .extern .shared variables */
    /* Shared variables that kernels have in common, and those of the kernel being read: their
     * bytes without gaps, and the address behind them and their gaps (0: none yet). */
    uint64_t static_shared, shared_next;
    uint64_t shared_end, shared_end_next; /* the same behind the variables of all kernels read */
    uint64_t dynamic_align;               /* of dynamic shared memory */
    uint64_t dynamic_shared;              /* the address where dynamic shared memory begins */
    bool has_wgmma;
    uint64_t image_bytes; /* of .global and .const variables */
    bool has_mbarriers;   /* some instruction is of mbarriers */
    bool has_bulk;        /* some instruction is of the asynchronous proxy */
};

/* Address windows of the generic address space. Those that belong to modules and programs lie above
 * all addresses that hosts give to processes (48 bits), since arrays may be mapped at theirs. */
#define SIM_GLOBAL_BASE UINT64_C(0x700000000000) /* arrays without an address of their own */
#define SIM_GLOBAL_END UINT64_C(0x7ffd00000000)
#define SIM_IMAGE_BASE                                                                             \
    UINT64_C(0x1600000000000) /* .global and .const variables, 4 GiB a module                      \
                               */
#define SIM_PARAM_BASE UINT64_C(0x17ffd00000000)
#define SIM_LOCAL_BASE UINT64_C(0x17ffe00000000)
#define SIM_SHARED_BASE UINT64_C(0x17fff00000000)
#define SIM_WINDOW UINT64_C(0x100000000)
/* Shared memory of a program begins here, so that address 0 is nowhere. */
enum { SIM_SHARED_START = 1024 };
/* In local memory: above all frames. */
#define SIM_STACK_START UINT64_C(0xc0000000)
/* Bytes of the static shared variables of a kernel: those of the module and of device functions,
 * and its own. */
uint64_t sim_static_shared(const SimModule *module, const Func *kernel);
/* The same with what aligns dynamic shared memory behind them. */
uint64_t sim_aligned_shared(const SimModule *module, const Func *kernel);

/* In shared::cluster the program of rank r has its shared memory at (r + 1) << this; below lies the
 * own program's. */
enum { SIM_RANK_SHIFT = 24 };

static inline uint64_t sim_image_base(const SimModule *module) {
    return SIM_IMAGE_BASE + (uint64_t)module->slot * SIM_WINDOW;
}

extern const TypeInfo type_info[TYPE_COUNT];
extern const SpecialInfo special_info[SPECIAL_COUNT];
extern const char *const word_text[WORD_COUNT];
extern const Field word_field[WORD_COUNT];

/* The number of a source that .file names, and its path: one of the context that has the place's
 * line, or read now; 0 when it cannot be. */
uint32_t sim_source_of(const SimModule *module, const Place *place, Str *path);

/* The space a modifier names; generic when there is none. */
SpaceKind insn_space(const Insn *insn);

static inline bool insn_has(const Insn *insn, Word word) {
    return insn->field[word_field[word]] == word;
}

/* Whether it is a register that instructions of the function name. */
static inline bool is_frame_register(const Func *func, RegRef reg) {
    return reg >> BANK_SHIFT == BANK_FRAME && reg >= REG_FIRST && reg < func->regs;
}
#endif
