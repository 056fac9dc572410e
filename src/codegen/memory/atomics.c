/* Atomic operations on global memory: inline PTX under a predicate, once per element, or per
 * `width` elements of which nobody wants the old values.
 *
 * A thread that holds only a copy of an element takes no part; where the old value is used, it gets
 * it from the owner (hand_round.h). Without a user the operation becomes `red`. What PTX lacks
 * (bf16 addition before sm_90) is a loop of compare-and-swap.
 *
 * Where a thread has several elements one fence before them releases, and one behind them acquires,
 * for all of them, which are relaxed themselves: a fence followed by a relaxed access is a release,
 * and one behind a relaxed access an acquire. Each with a fence of its own, which waits for all
 * that the thread has written, would wait for the one before it. Elements of a tile have no order
 * among each other that this could lose. */
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/barrier.h"
#include "codegen/memory/hand_round.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include "ir/scratch.h"
#include "target/target.h"
#include <stdio.h>

typedef struct AtomicForm {
    const char *op, *type;
    char constraint;
} AtomicForm;

static const char *const sem_text[SEM_COUNT] = {
    [SEM_ACQ_REL] = "acq_rel",
    [SEM_ACQUIRE] = "acquire",
    [SEM_RELEASE] = "release",
    [SEM_RELAXED] = "relaxed",
};

static const char *const scope_text[SCOPE_COUNT] = {
    [SCOPE_GPU] = "gpu",
    [SCOPE_CTA] = "cta",
    [SCOPE_SYS] = "sys",
};

static char width_constraint(DType dtype) {
    int bits = dtype_info[dtype].bits;
    return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
}

static const char *by_width(DType dtype, const char *b16, const char *b32, const char *b64) {
    int bits = dtype_info[dtype].bits;
    return bits == 64 ? b64 : bits == 32 ? b32 : b16;
}

static AtomicForm atomic_form(AtomicOp kind, DType dtype) {
    const char *unsigned_type = by_width(dtype, "u16", "u32", "u64");
    const char *signed_type = by_width(dtype, "s16", "s32", "s64");
    const char *bits_type = by_width(dtype, "b16", "b32", "b64");
    char c = width_constraint(dtype);
    switch (kind) {
    case RMW_ADD:
        return (AtomicForm){"add", unsigned_type, c};
    case RMW_FADD:
        if (dtype == DT_F16 || dtype == DT_BF16)
            return (AtomicForm){"add.noftz", dtype == DT_F16 ? "f16" : "bf16", 'h'};
        return (AtomicForm){"add", dtype == DT_F32 ? "f32" : "f64", dtype == DT_F32 ? 'f' : 'd'};
    case RMW_SMAX:
        return (AtomicForm){"max", signed_type, c};
    case RMW_UMAX:
        return (AtomicForm){"max", unsigned_type, c};
    case RMW_SMIN:
        return (AtomicForm){"min", signed_type, c};
    case RMW_UMIN:
        return (AtomicForm){"min", unsigned_type, c};
    case RMW_AND:
        return (AtomicForm){"and", bits_type, c};
    case RMW_OR:
        return (AtomicForm){"or", bits_type, c};
    case RMW_XOR:
        return (AtomicForm){"xor", bits_type, c};
    case RMW_XCHG:
        return (AtomicForm){"exch", bits_type, c};
    case RMW_COUNT:
        break;
    }
    return (AtomicForm){"", "", 0};
}

static LLVMTypeRef register_type(Cg *cg, char constraint) {
    switch (constraint) {
    case 'h':
        return cg->t_i16;
    case 'r':
        return cg->t_i32;
    case 'l':
        return cg->t_i64;
    case 'f':
        return cg->t_f32;
    default:
        return cg->t_f64;
    }
}

/* `@p atom.sem.scope.global.op.type old, [ptr], values..` with old preset to zero; red without
 * `wanted`. */
static Lv atomic_asm(Cg *cg, const AtomicForm *form, MemorySemantic sem, MemoryScope scope, Lv ptr,
                     uint32_t nvalues, const Lv *values, Lv predicate, bool wanted) {
    LLVMTypeRef type = LLVMTypeOf(values[0]), word = register_type(cg, form->constraint);
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv args[5];
    unsigned nargs = 0, place = 0;
    if (wanted) {
        strbuf_printf(&constraints, "=%c,0,", form->constraint);
        args[nargs++] = cg_zero(word);
        place = 2;
    }
    if (predicate) {
        strbuf_printf(&text, "@$%u ", place++);
        strbuf_puts(&constraints, "b,");
        args[nargs++] = predicate;
    }
    /* red has no acquire side: nothing is read. */
    if (!wanted && (sem == SEM_ACQ_REL || sem == SEM_ACQUIRE))
        sem = sem == SEM_ACQ_REL ? SEM_RELEASE : SEM_RELAXED;
    strbuf_printf(&text, "%s.%s.%s.global.%s.%s ", wanted ? "atom" : "red", sem_text[sem],
                  scope_text[scope], form->op, form->type);
    if (wanted)
        strbuf_puts(&text, "$0, ");
    strbuf_printf(&text, "[$%u]", place++);
    strbuf_puts(&constraints, "l");
    args[nargs++] = ptr;
    for (uint32_t i = 0; i < nvalues; i++) {
        strbuf_printf(&text, ", $%u", place++);
        strbuf_printf(&constraints, ",%c", form->constraint);
        args[nargs++] = LLVMBuildBitCast(cg->b, values[i], word, "");
    }
    strbuf_puts(&text, ";");
    strbuf_puts(&constraints, ",~{memory}");
    Lv old =
        cg_asm(cg, wanted ? word : cg->t_void, text.ptr, constraints.ptr, args, nargs, ASM_EFFECTS);
    return wanted ? LLVMBuildBitCast(cg->b, old, type, "") : NULL;
}

/* How a tile's operation, of which a thread has `count` elements, is ordered: each by itself, or by
 * fences around all of them. */
typedef struct Ordering {
    MemorySemantic sem; /* of each element */
    MemoryScope scope;
    bool releases, acquires; /* by a fence */
} Ordering;

static Ordering order_elements(MemorySemantic sem, MemoryScope scope, uint32_t count, bool wanted) {
    Ordering order = {.sem = sem, .scope = scope};
    if (count < 2)
        return order;
    order.releases = sem == SEM_ACQ_REL || sem == SEM_RELEASE;
    order.acquires = wanted && (sem == SEM_ACQ_REL || sem == SEM_ACQUIRE);
    order.sem = SEM_RELAXED;
    return order;
}

/* `@p red.relaxed.scope.global.op.vN.type [ptr], {values..}`: each element is atomic by itself. */
static void red_vector(Cg *cg, const AtomicForm *form, const Ordering *order, Lv ptr,
                       uint32_t width, const Lv *values, Lv predicate) {
    LLVMTypeRef word = register_type(cg, form->constraint);
    StrBuf text = strbuf(cg->arena), constraints = strbuf(cg->arena);
    Lv args[2 + ATOMIC_MOST_WIDTH];
    unsigned nargs = 0;
    if (predicate) {
        strbuf_puts(&text, "@$0 ");
        strbuf_puts(&constraints, "b,");
        args[nargs++] = predicate;
    }
    strbuf_printf(&text, "red.%s.%s.global.%s.v%u.%s [$%u], {", sem_text[order->sem],
                  scope_text[order->scope], form->op, width, form->type, nargs);
    strbuf_puts(&constraints, "l");
    args[nargs++] = ptr;
    for (uint32_t i = 0; i < width; i++) {
        strbuf_printf(&text, "%s$%u", i ? ", " : "", nargs);
        strbuf_printf(&constraints, ",%c", form->constraint);
        args[nargs++] = LLVMBuildBitCast(cg->b, values[i], word, "");
    }
    strbuf_puts(&text, "};");
    strbuf_puts(&constraints, ",~{memory}");
    cg_asm(cg, cg->t_void, text.ptr, constraints.ptr, args, nargs, ASM_EFFECTS);
}

static void fence(Cg *cg, MemoryScope scope) {
    StrBuf text = strbuf(cg->arena);
    strbuf_printf(&text, "fence.acq_rel.%s;", scope_text[scope]);
    cg_asm(cg, cg->t_void, text.ptr, "~{memory}", NULL, 0, ASM_EFFECTS);
}

/* Elements that a thread has, copies not counted. */
static uint32_t own_elements(const Plan *plan) {
    uint32_t count = 0;
    for (uint32_t reg = 0; plan && reg < plan->count; reg++)
        count += plan->rep[reg] == reg;
    return plan ? count : 1;
}

/* The value a thread expects at first; relaxed, since others may write meanwhile. */
static Lv load_relaxed(Cg *cg, MemoryScope scope, Lv ptr) {
    StrBuf text = strbuf(cg->arena);
    strbuf_printf(&text, "ld.relaxed.%s.global.b16 $0, [$1];", scope_text[scope]);
    return cg_asm(cg, cg->t_i16, text.ptr, "=h,l,~{memory}", &ptr, 1, ASM_EFFECTS);
}

/* Goes on when what was found is what was expected; otherwise that is expected the next time.
 * Returns the old value. */
static Lv swap_until_found(Cg *cg, const Ordering *order, Lv ptr, Lv value) {
    static const AtomicForm form = {"cas", "b16", 'h'};
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->b), again = cg_block(cg, "swap"),
                      done = cg_block(cg, "swapped");
    Lv first = load_relaxed(cg, order->scope, ptr);
    LLVMBuildBr(cg->b, again);
    cg_position(cg, again);
    Lv expected = LLVMBuildPhi(cg->b, cg->t_i16, "");
    Lv sum = LLVMBuildFAdd(cg->b, LLVMBuildBitCast(cg->b, expected, type, ""), value, "");
    Lv operands[] = {expected, LLVMBuildBitCast(cg->b, sum, cg->t_i16, "")};
    Lv found = atomic_asm(cg, &form, order->sem, order->scope, ptr, 2, operands, NULL, true);
    LLVMAddIncoming(expected, (Lv[]){first, found}, (LLVMBasicBlockRef[]){from, again}, 2);
    LLVMBuildCondBr(cg->b, LLVMBuildICmp(cg->b, LLVMIntEQ, found, expected, ""), done, again);
    cg_position(cg, done);
    return LLVMBuildBitCast(cg->b, found, type, "");
}

/* The bf16 sum before sm_90, in blocks of its own behind the predicate. It touches nothing but the
 * two bytes: the word around them may end behind the array. */
static Lv rmw_loop(Cg *cg, const Ordering *order, Lv ptr, Lv value, Lv predicate) {
    LLVMBasicBlockRef from = LLVMGetInsertBlock(cg->b), then = cg_block(cg, "atomic"),
                      after = cg_block(cg, "after_atomic");
    if (predicate)
        LLVMBuildCondBr(cg->b, predicate, then, after);
    else
        LLVMBuildBr(cg->b, then);
    cg_position(cg, then);
    Lv old = swap_until_found(cg, order, ptr, value);
    LLVMBasicBlockRef end = LLVMGetInsertBlock(cg->b);
    LLVMBuildBr(cg->b, after);
    cg_position(cg, after);
    if (!predicate)
        return old;
    Lv phi = LLVMBuildPhi(cg->b, LLVMTypeOf(value), "");
    LLVMAddIncoming(phi, (Lv[]){old, cg_zero(LLVMTypeOf(value))}, (LLVMBasicBlockRef[]){end, from},
                    2);
    return phi;
}

void lower_atomic_rmw(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    Lv *ptr = cg_in(cg, op, 0), *values = cg_in(cg, op, 1), *mask = cg_in(cg, op, 2);
    Lv *out = cg_new(cg, &op->out[0]), owner = cg_owner(cg, type->layout);
    AtomicOp kind = atomic_rmw_attrs(op)->kind;
    AtomicForm form = atomic_form(kind, type->dtype);
    bool wanted = !value_unused(&op->out[0]) || kind == RMW_XCHG;
    uint32_t width = wanted ? 1 : op_access_width(op);
    Ordering order = order_elements(atomic_rmw_attrs(op)->sem, atomic_rmw_attrs(op)->scope,
                                    own_elements(plan), wanted);
    bool loop = kind == RMW_FADD && type->dtype == DT_BF16 &&
                !target_has(cg->func->capability, FEATURE_BF16_ATOMICS);
    if (atomic_meets_before(op))
        cg_barrier(cg);
    if (order.releases)
        fence(cg, order.scope);
    for (uint32_t reg = 0; reg < cg_count(type); reg += width) {
        if (plan && plan->rep[reg] != reg)
            continue;
        Lv predicate = cg_and(cg, mask ? mask[reg] : NULL, owner);
        if (width > 1) {
            red_vector(cg, &form, &order, ptr[reg], width, values + reg, predicate);
            continue;
        }
        out[reg] = loop ? rmw_loop(cg, &order, ptr[reg], values[reg], predicate)
                        : atomic_asm(cg, &form, order.sem, order.scope, ptr[reg], 1, &values[reg],
                                     predicate, wanted);
    }
    if (order.acquires)
        fence(cg, order.scope);
    if (!value_unused(&op->out[0]))
        cg_hand_round(cg, op, out);
    if (atomic_meets_after(op))
        cg_barrier(cg);
}

void lower_atomic_cas(Cg *cg, const Op *op) {
    const Type *type = op->out[0].type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    Lv *ptr = cg_in(cg, op, 0), *expected = cg_in(cg, op, 1), *desired = cg_in(cg, op, 2);
    Lv *out = cg_new(cg, &op->out[0]), owner = cg_owner(cg, type->layout);
    Ordering order = order_elements(atomic_cas_attrs(op)->sem, atomic_cas_attrs(op)->scope,
                                    own_elements(plan), true);
    AtomicForm form = {"cas", by_width(type->dtype, "b16", "b32", "b64"),
                       width_constraint(type->dtype)};
    if (atomic_meets_before(op))
        cg_barrier(cg);
    if (order.releases)
        fence(cg, order.scope);
    for (uint32_t reg = 0; reg < cg_count(type); reg++) {
        if (plan && plan->rep[reg] != reg)
            continue;
        Lv values[] = {expected[reg], desired[reg]};
        out[reg] = atomic_asm(cg, &form, order.sem, order.scope, ptr[reg], 2, values, owner, true);
    }
    if (order.acquires)
        fence(cg, order.scope);
    if (!value_unused(&op->out[0]))
        cg_hand_round(cg, op, out);
    if (atomic_meets_after(op))
        cg_barrier(cg);
}
