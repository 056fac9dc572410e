/* What a launcher must know of a kernel beside its code; see docs/runtime.md. */
#ifndef TILEC_TARGET_KERNEL_META_H
#define TILEC_TARGET_KERNEL_META_H
#include "support/vec.h"
#include "target/target.h"
#include "target/tensor_map.h"

/* How a parameter of the source arrives at the kernel. */
typedef struct KernelParam {
    Str name;
    bool is_constexpr; /* not passed at launch; `text` is its value as a Python literal */
    bool is_default;   /* a constexpr that nobody gave: what its default makes it */
    bool is_fixed;     /* compiled for the value `fixed`; still passed */
    Str text;          /* canonical type (`*fp32`, `i32`, `fp32`) or constexpr value */
    int64_t divisible; /* 1 to 16 */
    int64_t fixed;
    bool is_only_read; /* of a pointer: nothing is written where it leads; else that may be */
} KernelParam;

/* Two pointers among what is passed, by their numbers. The code loads through one of them ahead of
 * what it stores through the other: a launch that gives both one value needs the form for launches
 * in place. */
typedef struct ApartParams {
    uint32_t loaded, stored;
} ApartParams;

typedef VEC(ApartParams) ApartList;

/* What a kernel is compiled for instead where the arguments of a launch do not suit it; members of
 * a set, since both may be the case. */
typedef enum KernelForm {
    FORM_PLAIN = 1,    /* no tensor copies */
    FORM_IN_PLACE = 2, /* arguments may be one array */
    FORM_SETS = 4
} KernelForm;

typedef struct KernelMeta {
    Str name; /* entry symbol */
    const Target *target;
    int32_t num_warps; /* per program, as it is launched */
    int32_t programs_per_cta;
    int32_t teams;    /* of num_warps warps each, which share the programs of a CTA */
    int32_t num_ctas; /* per cluster */
    /* Of a CTA: 32 * num_warps * programs_per_cta * teams, 32 of a producer, beside teams 128. */
    int32_t threads;
    int32_t shared_bytes; /* dynamic shared memory of a CTA */
    /* With programs_per_cta > 1 the launch grid's x is ceil(grid_x / programs_per_cta) and one i32
     * parameter, the logical grid_x, follows the kernel's own. */
    bool has_grid_parameter;
    /* The launch is of CTAs along x, any number of them, which share the programs; three i32
     * parameters, the logical grid's x, y and z, follow the kernel's own. */
    bool is_persistent;
    /* None of the two, no tensor maps, and a CTA, or num_ctas of them, for each program: any
     * launcher can launch it. */
    bool plain_abi;
    /* Tensor maps: each is a parameter of 128 bytes, aligned to 64, by value, in this order after
     * all others. */
    TensorMapRecipes tensor_maps;
    ApartList apart; /* none in the form for launches in place, and in most kernels */
} KernelMeta;

/* Parameters that hold the logical grid, from x on. */
static inline int meta_grid_parameters(const KernelMeta *meta) {
    return meta->is_persistent ? 3 : meta->has_grid_parameter;
}
#endif
