/* State and helpers shared by the lowerings.
 *
 * A value of the Tile IR is an array of LLVM values, one per register of its layout (one for
 * scalars). Registers that a layout makes copies of each other hold the same LLVM value. Everything
 * is allocated in the context's arena; LLVM objects die with their context at the end of
 * codegen_ptx. */
#ifndef TILEC_CODEGEN_CG_H
#define TILEC_CODEGEN_CG_H
#include "codegen/codegen.h"
#include "support/heap.h"
#include "support/ptrmap.h"
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

/* More cannot be meant, and LLVM would take minutes over them. */
enum { MAX_REGISTERS_OF_TILE = 4096 };

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3, SPACE_CONST = 4 };

typedef LLVMValueRef Lv;

/* What the code of a thread needs to know about a linear map from (register, thread) to numbers: a
 * layout, or the offsets in a shared buffer. Kept per layout, so that each is computed once in the
 * entry block. */
typedef struct Plan {
    struct Plan *next;
    const Layout *layout;
    uint32_t count;       /* registers */
    const uint32_t *rep;  /* lowest register holding the same element */
    uint32_t thread_bits; /* union of the bases of lanes and warps */
    Lv base;              /* i32: the thread's part; NULL before it is asked for */
    Lv owner;             /* i1: the thread holds no copy; NULL: every thread owns, or not asked */
    bool has_owner;
} Plan;

/* Line `lines` of memory past line `first`, as an addptr found it last; see elementwise.c. */
typedef struct LineBefore {
    const Op *op;
    Lv base, first, stride;
    int64_t lines;
    Lv at;
} LineBefore;

/* Where a thread's part of a map to offsets leads in a buffer; see shared.c. */
typedef struct TurnedPointer {
    const Plan *plan;
    LLVMBasicBlockRef block;
    Lv base;
    int bytes;
    uint32_t image;
    Lv pointer;
} TurnedPointer;

enum { TURNED_POINTERS = 8 };

typedef struct Cg {
    Ctx *ctx;
    Arena *arena;
    Func *func;
    const CodegenOptions *options;
    KernelMeta meta;

    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    char *message;              /* LLVM's text and buffer being copied: held here so that running */
    LLVMMemoryBufferRef buffer; /* out of memory meanwhile frees them */
    Heap *heap, own_heap;       /* of the thread; ours where it has none */
    jmp_buf *outer_oom;         /* the arena's target outside of machine_guard; may be NULL */
    jmp_buf *leave;             /* where LLVM is left when it takes too much */
    LLVMBuilderRef b;           /* where code goes */
    LLVMBuilderRef entry;       /* the end of the entry block, for what every block may use */
    Lv fn;
    LLVMTypeRef t_void, t_i1, t_i8, t_i16, t_i32, t_i64, t_f16, t_bf16, t_f32, t_f64;
    LLVMTypeRef t_global, t_shared, t_generic; /* pointers */

    LLVMDIBuilderRef di;
    LLVMMetadataRef di_scope;  /* of the kernel */
    LLVMMetadataRef *di_files; /* by source number: the scope of its lines */

    Lv **regs; /* by value id */
    Plan *plans;
    Lv thread, lane, warp; /* i32, within the program; warp is 0 when it has only one */
    Lv slot;               /* i32, which program of the CTA; NULL with one program a CTA */
    Lv cta_thread;         /* i32, within the CTA */
    Lv team;               /* i32, of this warp, behind the producer; NULL with one team */
    Lv program_ids[3];     /* i32; NULL: the CTA's own place in the launch, see programs.c */
    Lv grid_x;             /* the hidden parameter; NULL without */
    Lv shared;             /* the program's dynamic shared memory; NULL before it is asked for */
    struct Reciprocal *reciprocals; /* of the divisors of `reciprocals_of`; see math.c */
    const Op *reciprocals_of;
    struct BaseSum *base_sums; /* of the registers of `base_sums_of`; see elementwise.c */
    const Op *base_sums_of;
    const char *intrinsic_name; /* the latest intrinsic, found by its name; NULL: none */
    LLVMTypeRef intrinsic_on, intrinsic_type;
    Lv intrinsic;
    LineBefore line_before;
    TurnedPointer turned[TURNED_POINTERS]; /* the latest */
    int turned_next;
    const Op *batch_end;   /* the last of the loads that batch.c keeps together; NULL: none */
    Str dot_said;          /* the last remark about a dot, */
    Span dot_said_at;      /* and where */
    bool is_swizzled;      /* buffers are, by address: they begin at multiples of PANEL_ALIGNMENT */
    bool products_are_fed; /* by wgmma, and threads compute few addresses beside them */
    bool has_few_pointers; /* nor has the rest of the function many */
    Lv elected; /* i1: the thread that issues tensor copies; NULL before it is asked for */
    Lv copier;  /* i1: that thread, chosen anew behind a wait; NULL: none was */
    LLVMBasicBlockRef copier_block; /* where that holds */
    PtrMap map_numbers;             /* op to the number of its tensor map, from 1 on */
    unsigned first_map;             /* parameter */
    uint32_t globals;               /* numbers the names of strings */
    bool failed;                    /* an error was reported */
    Span span;                      /* of the op being lowered */
} Cg;

/* values.c */

uint32_t cg_count(const Type *type);
LLVMTypeRef cg_type(Cg *cg, const Type *type); /* of one element in a register */
LLVMTypeRef cg_dtype(Cg *cg, DType dtype);
LLVMTypeRef cg_memory_type(Cg *cg, DType dtype); /* of one element in memory: i1 is i8 */
Lv *cg_get(Cg *cg, const Value *value);
Lv *cg_in(Cg *cg, const Op *op, uint32_t index); /* NULL: absent */
/* A fresh array for the value's registers, to be filled; the value's from now on. */
Lv *cg_new(Cg *cg, const Value *value);
void cg_set(Cg *cg, const Value *value, Lv *regs); /* shares `regs` */
Lv cg_scalar(Cg *cg, const Value *value);
const Plan *cg_plan(Cg *cg, const Layout *layout);
/* The thread's part of the map and the element of register `reg`, as i32. */
Lv cg_plan_base(Cg *cg, const Plan *plan);
Lv cg_plan_at(Cg *cg, const Plan *plan, uint32_t reg);
/* The thread's part of the map together with `image`, what registers make of it. */
Lv cg_plan_with(Cg *cg, const Plan *plan, uint32_t image);
/* The predicate under which stores and atomics of this layout happen; NULL: all threads. For a
 * scalar (layout NULL): the first thread of the program. */
Lv cg_owner(Cg *cg, const Layout *layout);
/* For each register of `dst`, the register of `src` that holds the element with the same number
 * after `drop` deleted index bits of dst; lane and warp bases must agree. False if they do not. */
bool cg_match_registers(Cg *cg, const Layout *dst, uint32_t drop, const Layout *src, uint32_t *map);
/* Image of register number `reg` alone. */
uint32_t layout_reg_image(const Layout *layout, uint32_t reg);
/* Deletes the bits of `mask` from `index` and closes the gaps. */
uint32_t bits_drop(uint32_t index, uint32_t mask);
/* Bases of lanes and warps, counted from lane bit 0. */
static inline uint32_t layout_thread_basis(const Layout *l, int bit) {
    return l->basis[l->bits[LAYOUT_REG] + bit];
}
static inline int layout_thread_bits(const Layout *l) {
    return l->bits[LAYOUT_LANE] + l->bits[LAYOUT_WARP];
}
/* XOR over the set bits of `x` (an i32) of basis[bit]: a few masks and shifts. */
Lv cg_linear(Cg *cg, LLVMBuilderRef b, Lv x, const uint32_t *basis, int bits);

/* programs (programs.c): numbers along an axis, i32 */

Lv cg_cta_id(Cg *cg, int64_t axis);
Lv cg_cta_count(Cg *cg, int64_t axis);
Lv cg_program_id(Cg *cg, int64_t axis);
/* At entry: which program this CTA runs, where that is not its place in the launch. */
void cg_order_programs(Cg *cg);

/* build helpers (values.c) */

Lv cg_i1(Cg *cg, bool v);
Lv cg_i32(Cg *cg, int64_t v);
Lv cg_i64(Cg *cg, int64_t v);
Lv cg_real(LLVMTypeRef type, double v);
Lv cg_zero(LLVMTypeRef type);
bool lv_is_true(Lv v);
bool lv_is_false(Lv v);
/* a && b, either may be NULL (true); NULL if both are. */
Lv cg_and(Cg *cg, Lv a, Lv b);
/* An intrinsic overloaded on `ntypes` types. */
Lv cg_intrinsic(Cg *cg, const char *name, const LLVMTypeRef *types, unsigned ntypes, Lv *args,
                unsigned nargs);
Lv cg_intrinsic1(Cg *cg, const char *name, Lv x);       /* overloaded on x's type */
Lv cg_intrinsic2(Cg *cg, const char *name, Lv x, Lv y); /* overloaded on x's type */
typedef enum AsmEffect { ASM_PURE, ASM_READS, ASM_EFFECTS, ASM_CONVERGENT } AsmEffect;
/* Inline PTX; ASM_CONVERGENT: effects, and every thread of the warp must execute it together. */
Lv cg_asm(Cg *cg, LLVMTypeRef result, const char *text, const char *constraints, Lv *args,
          unsigned nargs, AsmEffect effect);
LLVMBasicBlockRef cg_block(Cg *cg, const char *name);
void cg_position(Cg *cg, LLVMBasicBlockRef block);
Lv cg_string(Cg *cg, Str text); /* generic pointer to a terminated constant */
/* Marks floating-point results as contractible (a*b+c may round once), as nvcc and Triton do. */
Lv cg_contract(Lv v);

/* build.c */

/* Reports that the op's layouts, which passes are to have prevented, cannot be lowered. */
void cg_unsupported_layout(Cg *cg, const Op *op);

/* Lowers the ops of a block up to its terminator, which is returned. */
const Op *cg_lower_block(Cg *cg, const Block *block);
/* Lowers a region of scalars given the values of its arguments; out: what it yields. */
void cg_inline_region(Cg *cg, const Block *block, const Lv *args, uint32_t nargs, Lv *out,
                      uint32_t nout);

/* memory.c */

/* One access of up to 16 bytes of consecutive elements, in a state space, under a predicate (NULL:
 * always). */
typedef struct Access {
    unsigned space;
    DType dtype;    /* of the elements; pointers travel as I64 */
    uint32_t width; /* elements */
    Lv pointer;     /* to the first */
    Lv predicate;
    CTYPE_CACHE cache;
    CTYPE_EVICT evict;
    bool is_volatile;
    bool may_delay; /* of a load: see schedule.c */
} Access;
void cg_load(Cg *cg, const Access *access, const Lv *other, Lv *out);
void cg_store(Cg *cg, const Access *access, const Lv *values);
/* An L2 cache policy for operand `cache-policy`; `evict` is not EVICT_NORMAL. */
Lv cg_l2_policy(Cg *cg, CTYPE_EVICT evict);
/* The program's shared memory for an op that takes some beside buffers (ir/scratch.h). */
Lv cg_scratch(Cg *cg);
/* The program's threads meet, without its producer. */
void cg_barrier(Cg *cg);
/* The number of the thread's warpgroup in its program, seen to be one value in a warp. */
Lv cg_warpgroup(Cg *cg);
/* The element in a buffer at `base` whose offset is the thread's part of `plan`, a map to offsets,
 * together with `image`, that of a register. */
Lv cg_shared_pointer(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image);
/* The same as a pointer that accesses share and a constant number of bytes. */
Lv cg_shared_offset(Cg *cg, const Plan *plan, Lv base, int bytes, uint32_t image,
                    int64_t *constant);
/* A local_load as maps: the layout of its result in indices of the buffer, and the offset there of
 * the first element of the part that it loads. */
typedef struct LoadedPart {
    const Layout *layout;
    uint32_t first;
} LoadedPart;
LoadedPart cg_loaded_part(Cg *cg, const Op *op);

/* Byte `offset` of the program's dynamic shared memory. */
Lv cg_shared_at(Cg *cg, int64_t offset);

/* tensor_maps.c */

/* Recipes for all tensor copies of the function, in cg->meta. False after a report. */
bool cg_collect_tensor_maps(Cg *cg);
/* Makes parameter `param` one that is passed by value and never copied. */
void cg_declare_tensor_map(Cg *cg, unsigned param);
Lv cg_tensor_map(Cg *cg, const Op *op);
/* What one thread copies of the block, by the shape of a tile: all, or the part of a warpgroup
 * along the first of the last two dimensions, which are the buffer's. */
enum { STORED_RANK = 2 };
const Type *cg_copied_part(Cg *cg, const Op *op);

/* tma.c */

/* At the kernel's entry: initialises mbarriers, prefetches maps. */
void cg_begin_tensor_copies(Cg *cg);
/* The predicate of the thread that issues tensor copies for the program. */
Lv cg_elected(Cg *cg);
/* The number of the team, the same in all threads of a warp. */
Lv cg_team(Cg *cg);

/* matrix.c */

/* A local_load by ldmatrix. */
typedef struct MatrixLoad {
    LayoutMatrices matrices;
    const Plan *rows; /* of the rows' offsets */
    uint32_t first;   /* offset of the part that is loaded */
} MatrixLoad;
/* False if the layouts do not allow it. */
bool cg_find_matrix_load(Cg *cg, const Op *op, MatrixLoad *load);
/* What instruction `index` makes of the rows' offsets. */
uint32_t cg_matrix_load_image(const MatrixLoad *load, uint32_t index);
/* Lowers a local_load by ldmatrix; false, and nothing emitted, if the layouts do not allow it. */
bool cg_load_matrices(Cg *cg, const Op *op);
/* Stores by stmatrix the registers `regs` of `values`, by register of a layout of the buffer's
 * indices in which all threads have elements of their own, `first` being the offset of the first;
 * false, and nothing emitted, if the layouts do not allow it. */
bool cg_store_matrices(Cg *cg, const Layout *layout, const uint32_t *regs, uint32_t first,
                       const Lv *values, const Value *to);
/* `count` elements of up to 32 bits together as one i32, and back. */
Lv cg_word(Cg *cg, const Lv *elements, uint32_t count);
/* The instruction that rounds two f32, the higher half first, to a word of these elements, and in
 * `from` the two, lower half first; NULL if that is not what the elements are. A piece of PTX that
 * takes the word saves LLVM the five instructions that make it. */
const char *cg_rounded_word(Cg *cg, const Lv *elements, uint32_t count, Lv *from);
void cg_split_word(Cg *cg, Lv word, LLVMTypeRef element, uint32_t count, Lv *out);

/* mma.c */

/* Lowers the dots by mma.sync that follow `op`, which one of them or a load of their operands is,
 * together; what comes after the last. NULL, and nothing emitted: `op` is none of those. */
const Op *cg_lower_products(Cg *cg, const Op *op);

/* wgmma.c */

struct Panels;
/* The instruction that computes a product of `op`, as in PTX; for remarks. */
const char *cg_wgmma_name(Cg *cg, const Op *op, uint32_t product);
/* How an operand a or b of a wgmma lies in its buffer. */
bool cg_wgmma_operand(Cg *cg, const Op *op, uint32_t index, struct Panels *out);

/* shuffle.c */

Lv cg_shuffle(Cg *cg, const char *mode, Lv value, Lv lane_or_mask);
Lv cg_shuffle_xor(Cg *cg, Lv value, uint32_t mask);
/* value where bit test of (x & mask) has odd parity; mask's zero gives false. */
Lv cg_parity(Cg *cg, Lv x, uint32_t mask);

/* math.c: for one element, operands and results of the element's type */

Lv cg_to_f32(Cg *cg, DType from, Lv x); /* exact for narrower types */
Lv cg_from_f32(Cg *cg, DType to, Lv x); /* rounds to nearest even; f8 saturates */

/* dot_remark.c: says what became of a dot that `mma` computes. */
struct Mma;
void cg_dot_remark(Cg *cg, const Op *op, const struct Mma *mma);
void cg_wgmma_remark(Cg *cg, const Op *op);

/* debug_info.c */
void cg_debug_begin(Cg *cg);
void cg_debug_op(Cg *cg, Span span);
void cg_debug_end(Cg *cg);

/* machine.c */
bool machine_create(Cg *cg);
bool machine_optimise(Cg *cg);

/* batch.c */
/* Decides which loads to keep together, before anything is lowered. */
void cg_find_batch(Cg *cg);
/* Behind each load. */
void cg_end_batch(Cg *cg, const Op *load);

/* schedule.c */
/* Marks a load or store of global memory. */
void schedule_mark(Cg *cg, Lv access, bool may_delay);
/* Puts marked loads to where they are needed. */
void schedule_function(Cg *cg);
bool machine_emit(Cg *cg, Str *ptx);
Str machine_text(Cg *cg); /* the module as LLVM IR */
/* Runs `body` and releases LLVM's objects; what LLVM would abort the process for becomes a
 * diagnostic and false. */
bool machine_guard(Cg *cg, bool (*body)(Cg *cg));

/* One function per op. Elementwise ops: for one element; `in` holds the operands' elements. */
#define OP(name, ...) void lower_##name(Cg *cg, const Op *op);
#define OP_E(name, ...) Lv emit_##name(Cg *cg, const Op *op, const Lv *in);
#define OP_R(name, ...) void lower_##name(Cg *cg, const Op *op);
#include "ir/ops.def"
#endif
