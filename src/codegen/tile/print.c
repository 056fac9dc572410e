/* device_print through vprintf, and assertions through __assertfail, which the driver provides.
 *
 * A line is what the interpreter prints: `pid (0, 0, 0) idx ( 3) prefix: value`, by the owner of
 * each element. */
#include "codegen/lowerings.h"
#include "codegen/tile/convert.h"
#include "codegen/values/builder.h"
#include "codegen/values/cache.h"
#include "codegen/values/plans.h"
#include "codegen/values/programs.h"
#include "codegen/values/values.h"
#include <stdio.h>

/* Runs what follows only in threads where `predicate` holds (NULL: all); returns where to go on. */
static LLVMBasicBlockRef begin_guarded(Cg *cg, Lv predicate) {
    if (!predicate)
        return NULL;
    LLVMBasicBlockRef then = cg_block(cg, "print"), after = cg_block(cg, "after_print");
    LLVMBuildCondBr(cg->b, predicate, then, after);
    cg_position(cg, then);
    return after;
}

static void end_guarded(Cg *cg, LLVMBasicBlockRef after) {
    if (!after)
        return;
    LLVMBuildBr(cg->b, after);
    cg_position(cg, after);
}

static Lv external(Cg *cg, const char *name, LLVMTypeRef type) {
    Lv fn = LLVMGetNamedFunction(cg->module, name);
    return fn ? fn : LLVMAddFunction(cg->module, name, type);
}

/* Numbers the names of constants. */
typedef struct StringCount {
    uint32_t count;
} StringCount;

static const CacheKind string_count_kind = {sizeof(StringCount)};

/* A generic pointer to the text as a constant, terminated. */
static Lv string_constant(Cg *cg, Str text) {
    StringCount *strings = cg_cache(cg, &string_count_kind);
    Lv init = LLVMConstStringInContext2(cg->llvm, text.ptr, text.len, false);
    char name[32];
    snprintf(name, sizeof name, "tilec$text%u", strings->count++);
    Lv global = LLVMAddGlobalInAddressSpace(cg->module, LLVMTypeOf(init), name, SPACE_GLOBAL);
    LLVMSetInitializer(global, init);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    return LLVMConstAddrSpaceCast(global, cg->t_generic);
}

/* On the stack for the whole function, which only the first block's are. */
static Lv stack_room(Cg *cg, LLVMTypeRef type) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cg->llvm);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(cg->fn)));
    Lv room = LLVMBuildAlloca(b, type, "");
    LLVMDisposeBuilder(b);
    return room;
}

/* vprintf(format, buffer): arguments lie in a struct on the stack. */
static void call_vprintf(Cg *cg, Str format, Lv *args, unsigned nargs) {
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, nargs);
    for (unsigned i = 0; i < nargs; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef frame = LLVMStructTypeInContext(cg->llvm, types, nargs, false);
    Lv buffer = stack_room(cg, frame);
    for (unsigned i = 0; i < nargs; i++)
        LLVMBuildStore(cg->b, args[i], LLVMBuildStructGEP2(cg->b, frame, buffer, i, ""));
    LLVMTypeRef type =
        LLVMFunctionType(cg->t_i32, (LLVMTypeRef[]){cg->t_generic, cg->t_generic}, 2, false);
    Lv fn = external(cg, "vprintf", type);
    LLVMBuildCall2(cg->b, type, fn, (Lv[]){string_constant(cg, format), buffer}, 2, "");
}

static void add_literal(StrBuf *format, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        strbuf_putc(format, text.ptr[i]);
        if (text.ptr[i] == '%')
            strbuf_putc(format, '%');
    }
}

static int decimal_width(int64_t size) {
    int width = 1;
    for (int64_t last = size - 1; last >= 10; last /= 10)
        width++;
    return width;
}

/* The indices along each dimension of element number `index`. */
static unsigned add_index(Cg *cg, StrBuf *format, const Type *type, Lv index, Lv *args) {
    strbuf_puts(format, " idx (");
    int below = type->log2_numel;
    for (int d = 0; d < type->rank; d++) {
        below -= __builtin_ctzll((unsigned long long)type->shape[d]);
        strbuf_printf(format, "%s%%%du", d ? ", " : "", decimal_width(type->shape[d]));
        Lv shifted = LLVMBuildLShr(cg->b, index, cg_i32(cg, below), "");
        args[d] = LLVMBuildAnd(cg->b, shifted, cg_i32(cg, type->shape[d] - 1), "");
    }
    strbuf_putc(format, ')');
    return (unsigned)type->rank;
}

/* The prefix without the blanks and the colon that Triton's wrapper puts around it. */
static void add_prefix(StrBuf *format, Str prefix) {
    while (prefix.len && (prefix.ptr[prefix.len - 1] == ' ' || prefix.ptr[prefix.len - 1] == ':'))
        prefix.len--;
    while (prefix.len && prefix.ptr[0] == ' ')
        prefix = (Str){prefix.ptr + 1, prefix.len - 1};
    if (prefix.len)
        strbuf_putc(format, ' ');
    add_literal(format, prefix);
}

static Lv add_value(Cg *cg, StrBuf *format, const Op *op, uint32_t k, Lv value) {
    const Type *type = op_in(op, k)->type;
    const bool hex = print_attrs(op)->hex;
    if (hex || type_is_pointer(type)) {
        int digits = type_is_bool(type) ? 1 : type_element_bytes(type) * 2;
        strbuf_printf(format, "0x%%0%dllx", digits);
        if (type_is_pointer(type))
            return LLVMBuildPtrToInt(cg->b, value, cg->t_i64, "");
        LLVMTypeRef bits = LLVMIntTypeInContext(cg->llvm, dtype_info[type->dtype].bits);
        return LLVMBuildZExt(cg->b, LLVMBuildBitCast(cg->b, value, bits, ""), cg->t_i64, "");
    }
    if (type_is_float(type)) {
        strbuf_puts(format, "%f");
        if (type->dtype == DT_F64)
            return value;
        return LLVMBuildFPExt(cg->b, cg_to_f32(cg, type->dtype, value), cg->t_f64, "");
    }
    const bool is_signed = !print_is_unsigned(op, k);
    strbuf_puts(format, is_signed ? "%lld" : "%llu");
    if (type_is_bool(type) || !is_signed)
        return LLVMBuildZExt(cg->b, value, cg->t_i64, "");
    return LLVMBuildSExt(cg->b, value, cg->t_i64, "");
}

static unsigned add_program(Cg *cg, StrBuf *format, Lv *args) {
    strbuf_puts(format, "pid (%u, %u, %u)");
    for (int axis = 0; axis < 3; axis++)
        args[axis] = cg_program_id(cg, axis);
    return 3;
}

/* In a region for single elements each thread has scalars of its own. */
static bool is_by_element(const Op *op) {
    for (const Op *parent = op->block->parent; parent; parent = parent->block->parent)
        if (op_has(parent, BY_ELEMENT))
            return true;
    return false;
}

static void print_operand(Cg *cg, const Op *op, uint32_t k) {
    const Type *type = op_in(op, k)->type;
    const Plan *plan = type_is_tile(type) ? cg_plan(cg, type->layout) : NULL;
    Lv *values = cg_in(cg, op, k), args[3 + MAX_RANK + 1];
    LLVMBasicBlockRef after =
        begin_guarded(cg, is_by_element(op) ? NULL : cg_owner(cg, type->layout));
    for (uint32_t reg = 0; reg < cg_count(type); reg++) {
        if (plan && plan->rep[reg] != reg)
            continue;
        StrBuf format = strbuf(cg->arena);
        unsigned nargs = add_program(cg, &format, args);
        Lv index = plan ? cg_plan_at(cg, plan, reg) : cg_i32(cg, 0);
        nargs += add_index(cg, &format, type, index, args + nargs);
        add_prefix(&format, print_attrs(op)->prefix);
        strbuf_puts(&format, ": ");
        if (op->nin > 1)
            strbuf_printf(&format, "(operand %u) ", k);
        args[nargs++] = add_value(cg, &format, op, k, values[reg]);
        strbuf_putc(&format, '\n');
        call_vprintf(cg, strbuf_str(&format), args, nargs);
    }
    end_guarded(cg, after);
}

void lower_print(Cg *cg, const Op *op) {
    for (uint32_t k = 0; k < op->nin; k++)
        print_operand(cg, op, k);
    if (op->nin)
        return;
    StrBuf format = strbuf(cg->arena);
    Lv args[3];
    LLVMBasicBlockRef after = begin_guarded(cg, is_by_element(op) ? NULL : cg_owner(cg, NULL));
    unsigned nargs = add_program(cg, &format, args);
    add_prefix(&format, print_attrs(op)->prefix);
    strbuf_putc(&format, '\n');
    call_vprintf(cg, strbuf_str(&format), args, nargs);
    end_guarded(cg, after);
}

/* __assertfail(message, file, line, function, character size) prints and stops the kernel. */
void lower_assert(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 0)->type;
    Lv *cond = cg_in(cg, op, 0), all = NULL;
    for (uint32_t reg = 0; reg < cg_count(type); reg++)
        all = cg_and(cg, all, cond[reg]);
    const Source *source = source_get(&cg->ctx->sources, op->span.file);
    unsigned line = source ? source_locate(source, op->span.lo).line : 0;
    LLVMBasicBlockRef fail = cg_block(cg, "assert_fail"), pass = cg_block(cg, "assert_pass");
    LLVMBuildCondBr(cg->b, all, pass, fail);
    cg_position(cg, fail);
    LLVMTypeRef params[] = {cg->t_generic, cg->t_generic, cg->t_i32, cg->t_generic, cg->t_i64};
    LLVMTypeRef fn_type = LLVMFunctionType(cg->t_void, params, 5, false);
    Lv fn = external(cg, "__assertfail", fn_type);
    Lv args[] = {string_constant(cg, assert_attrs(op)->message),
                 string_constant(cg, source ? source->name : STR("?")), cg_i32(cg, line),
                 string_constant(cg, cg->func->name), cg_i64(cg, 1)};
    LLVMBuildCall2(cg->b, fn_type, fn, args, 5, "");
    LLVMBuildBr(cg->b, pass);
    cg_position(cg, pass);
}
