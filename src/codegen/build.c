/* A function of the Tile IR as an LLVM kernel: its parameters and attributes, prologue, body. */
#include "codegen/build.h"
#include "codegen/dispatch.h"
#include "codegen/memory/tensor_maps.h"
#include "codegen/memory/tma.h"
#include "codegen/traits.h"
#include "codegen/values/builder.h"
#include "codegen/values/debug_info.h"
#include "codegen/values/regions.h"
#include "codegen/values/threads.h"
#include "codegen/values/values.h"
#include "ir/registers.h"

enum { CALLING_CONVENTION_PTX_KERNEL = 71 };

/* Parameters: i1 is passed as a byte, f8 as one. */
static LLVMTypeRef param_type(Cg *cg, const Type *type) {
    return type->kind == TYPE_POINTER ? cg->t_global : cg_memory_type(cg, type->dtype);
}

static void string_attribute(Cg *cg, const char *name, const char *value) {
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(cg->llvm, name, (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

static void int_attribute(Cg *cg, const char *name, int32_t value) {
    string_attribute(cg, name, str_format(cg->arena, "%d", (int)value));
}

#if LLVM_VERSION_MAJOR < 21
/* Older versions read launch bounds from metadata. */
static void annotate(Cg *cg, const char *name, int32_t value) {
    LLVMMetadataRef node[] = {LLVMValueAsMetadata(cg->fn),
                              LLVMMDStringInContext2(cg->llvm, name, strlen(name)),
                              LLVMValueAsMetadata(cg_i32(cg, value))};
    LLVMAddNamedMetadataOperand(
        cg->module, "nvvm.annotations",
        LLVMMetadataAsValue(cg->llvm, LLVMMDNodeInContext2(cg->llvm, node, 3)));
}
#endif

/* Left alone, ptxas weighs registers against occupancy and may spill a few bytes for it. That an SM
 * is to hold one block at least (.minnctapersm 1) lets it use all registers. */
static void launch_attributes(Cg *cg) {
    const int32_t limit = func_register_limit(cg->func);
    LLVMSetFunctionCallConv(cg->fn, CALLING_CONVENTION_PTX_KERNEL);
#if LLVM_VERSION_MAJOR < 21
    annotate(cg, "reqntidx", cg->meta.threads);
    annotate(cg, "reqntidy", 1);
    annotate(cg, "reqntidz", 1);
    if (limit)
        annotate(cg, "maxnreg", limit);
    if (cg->func->all_registers)
        annotate(cg, "minctasm", 1);
#else
    string_attribute(cg, "nvvm.reqntid", str_format(cg->arena, "%d,1,1", (int)cg->meta.threads));
    if (limit)
        int_attribute(cg, "nvvm.maxnreg", limit);
    if (cg->func->all_registers)
        int_attribute(cg, "nvvm.minctasm", 1);
#endif
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(cg->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(cg->llvm, nounwind, 0));
}

static void create_kernel(Cg *cg) {
    const Func *func = cg->func;
    uint32_t nparams = func->body->nargs, first_map = cg_first_tensor_map(cg);
    uint32_t count = first_map + (uint32_t)cg->meta.tensor_maps.len;
    LLVMTypeRef *types = ARENA_ARRAY(cg->arena, LLVMTypeRef, count + 1);
    for (uint32_t i = 0; i < nparams; i++)
        types[i] = param_type(cg, func->body->args[i].type);
    for (uint32_t i = nparams; i < first_map; i++)
        types[i] = cg->t_i32;
    for (uint32_t i = first_map; i < count; i++)
        types[i] = cg->t_generic;
    cg->fn = LLVMAddFunction(cg->module, cg->meta.name.ptr,
                             LLVMFunctionType(cg->t_void, types, count, false));
    launch_attributes(cg);
    for (uint32_t i = first_map; i < count; i++)
        cg_declare_tensor_map(cg, i);
    unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
    /* A launch gives every argument: LLVM proves at length what it is not told. */
    unsigned noundef = LLVMGetEnumAttributeKindForName("noundef", 7);
    for (uint32_t i = 0; i < count; i++)
        LLVMAddAttributeAtIndex(cg->fn, i + 1, LLVMCreateEnumAttribute(cg->llvm, noundef, 0));
    for (uint32_t i = 0; i < nparams; i++) {
        LLVMSetValueName2(LLVMGetParam(cg->fn, i), func->params[i].name.ptr,
                          func->params[i].name.len);
        /* LLVM takes powers of two only. */
        int64_t divisible = func->params[i].divisible & -func->params[i].divisible;
        if (func->body->args[i].type->kind == TYPE_POINTER && divisible > 1)
            LLVMAddAttributeAtIndex(
                cg->fn, i + 1,
                LLVMCreateEnumAttribute(cg->llvm, align,
                                        (uint64_t)(divisible > 4096 ? 4096 : divisible)));
    }
}

static void lower_params(Cg *cg) {
    const Block *body = cg->func->body;
    for (uint32_t i = 0; i < body->nargs; i++) {
        Lv param = LLVMGetParam(cg->fn, i);
        if (type_is_bool(body->args[i].type))
            param = LLVMBuildICmp(cg->b, LLVMIntNE, param, cg_zero(cg->t_i8), "");
        cg_new(cg, &body->args[i])[0] = param;
    }
}

static void make_types(Cg *cg) {
    LLVMContextRef c = cg->llvm;
    cg->t_void = LLVMVoidTypeInContext(c);
    cg->t_i1 = LLVMInt1TypeInContext(c);
    cg->t_i8 = LLVMInt8TypeInContext(c);
    cg->t_i16 = LLVMInt16TypeInContext(c);
    cg->t_i32 = LLVMInt32TypeInContext(c);
    cg->t_i64 = LLVMInt64TypeInContext(c);
    cg->t_f16 = LLVMHalfTypeInContext(c);
    cg->t_bf16 = LLVMBFloatTypeInContext(c);
    cg->t_f32 = LLVMFloatTypeInContext(c);
    cg->t_f64 = LLVMDoubleTypeInContext(c);
    cg->t_generic = LLVMPointerTypeInContext(c, SPACE_GENERIC);
    cg->t_global = LLVMPointerTypeInContext(c, SPACE_GLOBAL);
    cg->t_shared = LLVMPointerTypeInContext(c, SPACE_SHARED);
}

bool build_kernel(Cg *cg) {
    make_types(cg);
    cg->traits = kernel_traits(cg->func);
    cg->lower = dispatch_op;
    cg->b = LLVMCreateBuilderInContext(cg->llvm);
    cg->entry = LLVMCreateBuilderInContext(cg->llvm);
    cg->regs = ARENA_ARRAY(cg->arena, Lv *, func_number(cg->func));
    if (!cg_collect_tensor_maps(cg))
        return false;
    create_kernel(cg);
    cg_debug_begin(cg);
    LLVMBasicBlockRef entry = cg_block(cg, "entry"), body = cg_block(cg, "body");
    cg_position(cg, entry);
    cg_begin_threads(cg);
    lower_params(cg);
    LLVMPositionBuilderAtEnd(cg->entry, LLVMGetInsertBlock(cg->b));
    cg_position(cg, body);
    cg_begin_tensor_copies(cg);
    cg_lower_block(cg, cg->func->body);
    LLVMBuildRetVoid(cg->b);
    cg_end_entry(cg, body); /* open until here for what layouts compute once */
    cg_debug_end(cg);
    return !cg->failed;
}
