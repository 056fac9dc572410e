/* Tensor maps of a kernel: a recipe for each that its copies need, made of the operands of the
 * copies, and a parameter of 128 bytes by value. Copies with one base, shape, strides, box and
 * swizzle share a map. */
#include "codegen/memory/tensor_maps.h"
#include "codegen/values/cache.h"
#include "codegen/values/values.h"
#include "ir/recipe.h"
#include "support/ptrmap.h"
#include "target/panels.h"
#include "target/wgmma.h"

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 64 };
/* Of a dimension that is not checked: coordinates are within. */
#define UNBOUNDED (INT64_C(1) << 31)

typedef struct MapNumbers {
    PtrMap of_op; /* from 1 on */
} MapNumbers;

static const CacheKind map_numbers_kind = {sizeof(MapNumbers)};

static bool not_at_launch(Cg *cg, const Op *op) {
    cg->failed = true;
    return ctx_diag(cg->ctx, op->span, codegen_tensor_map, op_info[op->code].name);
}

const Type *cg_copied_part(Cg *cg, const Op *op) {
    const Type *tile = block_access(op).tile;
    if (op->code != OP_store_block_from || !store_block_from_attrs(op)->warpgroups)
        return tile;
    int64_t shape[MAX_RANK];
    for (int d = 0; d < tile->rank; d++)
        shape[d] = tile->shape[d];
    shape[tile->rank - STORED_RANK] /= cg->func->num_warps / WGMMA_WARPS;
    return type_with_shape(cg->ctx, tile, tile->rank, shape);
}

static bool recipe_of(Cg *cg, const Op *op, TensorMapRecipe *out) {
    BlockAccess access = block_access(op);
    Panels panels;
    Boxes boxes;
    if (!layout_find_panels(cg->ctx, access.tile, access.tile->layout, &panels) ||
        !boxes_of(cg_copied_part(cg, op), panels, &boxes)) {
        cg_unsupported_layout(cg, op);
        return false;
    }
    *out =
        (TensorMapRecipe){.dtype = access.tile->dtype, .rank = boxes.rank, .swizzle = panels.span};
    bool ok = recipe_expr_build(cg->arena, op_in(op, 0), &out->base);
    for (int i = 0; i < boxes.rank && ok; i++) {
        uint32_t dim = (uint32_t)boxes.dims[i];
        out->box[i] = boxes.sides[i];
        if (block_checks(&access, (int)dim))
            ok = recipe_expr_build(cg->arena, op_in(op, access.shape + dim), &out->extents[i]);
        else
            out->extents[i] = recipe_expr_constant(cg->arena, UNBOUNDED);
        if (ok && i > 0)
            ok = recipe_expr_build(cg->arena, op_in(op, access.strides + dim), &out->strides[i]);
    }
    return ok || not_at_launch(cg, op);
}

static uint32_t number_of(Cg *cg, const TensorMapRecipe *recipe) {
    uint32_t number = 0;
    vec_for_each (known, &cg->meta.tensor_maps) {
        if (recipe_equal(known, recipe))
            return number;
        number++;
    }
    vec_push(cg->arena, &cg->meta.tensor_maps, *recipe);
    return number;
}

static bool collect(Op *op, void *user) {
    Cg *cg = user;
    TensorMapRecipe recipe;
    if (!op_has(op, TENSOR_COPY))
        return true;
    if (!recipe_of(cg, op, &recipe))
        return false;
    MapNumbers *numbers = cg_cache(cg, &map_numbers_kind);
    ptrmap_set(&numbers->of_op, op, (void *)(uintptr_t)(number_of(cg, &recipe) + 1));
    return true;
}

bool cg_collect_tensor_maps(Cg *cg) {
    MapNumbers *numbers = cg_cache(cg, &map_numbers_kind);
    numbers->of_op.arena = cg->arena;
    return func_walk(cg->func, collect, cg);
}

unsigned cg_first_tensor_map(const Cg *cg) {
    return cg->func->body->nargs + (unsigned)meta_grid_parameters(&cg->meta);
}

void cg_declare_tensor_map(Cg *cg, unsigned param) {
    static const char constant[] = "nvvm.grid_constant";
    LLVMAttributeIndex index = (LLVMAttributeIndex)param + 1;
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMTypeRef bytes = LLVMArrayType2(cg->t_i8, MAP_BYTES);
    LLVMAddAttributeAtIndex(cg->fn, index, LLVMCreateTypeAttribute(cg->llvm, byval, bytes));
    LLVMAddAttributeAtIndex(cg->fn, index, LLVMCreateEnumAttribute(cg->llvm, align, MAP_ALIGNMENT));
    LLVMAddAttributeAtIndex(
        cg->fn, index, LLVMCreateStringAttribute(cg->llvm, constant, sizeof constant - 1, "", 0));
}

Lv cg_tensor_map(Cg *cg, const Op *op) {
    const MapNumbers *numbers = cg_cache(cg, &map_numbers_kind);
    uintptr_t number = (uintptr_t)ptrmap_get(&numbers->of_op, op);
    return LLVMGetParam(cg->fn, cg_first_tensor_map(cg) + (unsigned)number - 1);
}
