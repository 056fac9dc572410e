/* Asynchronous copies from global to shared memory: cp.async.
 *
 * An instruction copies 4, 8 or 16 bytes. Its second size is how many of them come from global
 * memory, the rest is zero: 0 where the mask is off, and then global memory is not touched. 16
 * bytes bypass L1, which operand tiles gain nothing from, unless the op says otherwise. */
#include "codegen/lowerings.h"
#include "codegen/memory/access.h"
#include "codegen/memory/shared_pointer.h"
#include "codegen/values/builder.h"
#include "codegen/values/plans.h"
#include "codegen/values/values.h"
#include <stdio.h>

typedef struct AsyncCopy {
    Lv shared, global;
    Lv mask;      /* NULL: on */
    Lv predicate; /* of the thread; NULL: all */
    int bytes;
    bool caches; /* in L1 */
} AsyncCopy;

static const char *level_of(const AsyncCopy *copy) {
    return copy->bytes == 16 && !copy->caches ? "cg" : "ca";
}

static void copy_plain(Cg *cg, const AsyncCopy *copy, Lv size) {
    char name[64];
    snprintf(name, sizeof name, "llvm.nvvm.cp.async.%s.shared.global.%d%s", level_of(copy),
             copy->bytes, size ? ".s" : "");
    cg_intrinsic(cg, name, NULL, 0, (Lv[]){copy->shared, copy->global, size}, size ? 3 : 2);
}

static void copy_predicated(Cg *cg, const AsyncCopy *copy, Lv size) {
    char text[64];
    snprintf(text, sizeof text, "@$0 cp.async.%s.shared.global [$1], [$2], %d, $3;", level_of(copy),
             copy->bytes);
    Lv args[] = {copy->predicate, copy->shared, copy->global,
                 size ? size : cg_i32(cg, copy->bytes)};
    cg_asm(cg, cg->t_void, text, "b,r,l,r,~{memory}", args, 4, ASM_EFFECTS);
}

static void emit_copy(Cg *cg, const AsyncCopy *copy) {
    Lv size = NULL;
    if (copy->mask && !lv_is_true(copy->mask))
        size = LLVMBuildSelect(cg->b, copy->mask, cg_i32(cg, copy->bytes), cg_i32(cg, 0), "");
    if (copy->predicate)
        copy_predicated(cg, copy, size);
    else
        copy_plain(cg, copy, size);
}

void lower_async_copy(Cg *cg, const Op *op) {
    const Type *type = op_in(op, 0)->type, *buffer = op_in(op, 1)->type;
    uint32_t width = op_access_width(op);
    int bytes = type_element_bytes(buffer);
    if (layout_async_width(cg->ctx, type->layout, buffer->layout, (int)width) < (int)width) {
        cg_unsupported_layout(cg, op);
        return;
    }
    const Plan *plan = cg_plan(cg, type->layout);
    const Plan *offsets =
        cg_plan(cg, layout_compose(cg->ctx, layout_invert(cg->ctx, buffer->layout), type->layout));
    Lv *ptr = cg_in(cg, op, 0), *mask = cg_in(cg, op, 2), base = cg_scalar(cg, op_in(op, 1));
    Lv owner = cg_owner(cg, type->layout);
    for (uint32_t reg = 0; reg < plan->count; reg += width) {
        if (plan->rep[reg] != reg)
            continue;
        uint32_t image = layout_reg_image(offsets->layout, reg);
        emit_copy(cg, &(AsyncCopy){.shared = cg_shared_pointer(cg, offsets, base, bytes, image),
                                   .global = ptr[reg],
                                   .mask = mask ? mask[reg] : NULL,
                                   .predicate = owner,
                                   .bytes = bytes * (int)width,
                                   .caches = async_copy_attrs(op)->cache == CACHE_CA});
    }
}

void lower_async_commit(Cg *cg, const Op *op) {
    cg_intrinsic(cg, "llvm.nvvm.cp.async.commit.group", NULL, 0, NULL, 0);
}

void lower_async_wait(Cg *cg, const Op *op) {
    Lv pending = cg_i32(cg, async_wait_attrs(op)->pending);
    cg_intrinsic(cg, "llvm.nvvm.cp.async.wait.group", NULL, 0, &pending, 1);
}
