/* Private: the handlers of builtins.def. */
#ifndef TILEC_FRONTEND_BUILTINS_H
#define TILEC_FRONTEND_BUILTINS_H
#include "frontend/elaborate.h"

#define builtin_NONE NULL
BuiltinHandler builtin_len, builtin_int, builtin_float, builtin_bool, builtin_str, builtin_tuple,
    builtin_py_min_max, builtin_py_abs, builtin_isinstance, builtin_getattr, builtin_hasattr,
    builtin_pymath;
BuiltinHandler builtin_namedtuple, builtin_text_case, builtin_text_strip, builtin_text_affix,
    builtin_text_remove, builtin_text_replace, builtin_text_split, builtin_text_join,
    builtin_text_find, builtin_text_is, builtin_int_bits;
BuiltinHandler builtin_type_predicate, builtin_identity, builtin_condition, builtin_dtype,
    builtin_block_type, builtin_constexpr_type, builtin_pointer_type, builtin_static_assert,
    builtin_static_print, builtin_triton_cdiv, builtin_next_power_of_2, builtin_get_int_dtype,
    builtin_to_tensor, builtin_is_cuda, builtin_num_threads, builtin_cuda_capability_geq;
BuiltinHandler builtin_program_id, builtin_arange, builtin_full, builtin_broadcast,
    builtin_broadcast_to, builtin_expand_dims, builtin_reshape, builtin_item, builtin_permute,
    builtin_join, builtin_split, builtin_cat;
BuiltinHandler builtin_load, builtin_store, builtin_atomic, builtin_atomic_cas;
BuiltinHandler builtin_make_block_ptr, builtin_advance, builtin_make_tensor_descriptor,
    builtin_descriptor_load, builtin_descriptor_store, builtin_descriptor_atomic,
    builtin_descriptor_gather, builtin_descriptor_scatter;
BuiltinHandler builtin_cast, builtin_where, builtin_arithmetic, builtin_min_max, builtin_clamp,
    builtin_unary, builtin_abs, builtin_fma, builtin_fdiv, builtin_div_rn, builtin_fmod,
    builtin_umulhi, builtin_popc, builtin_lib_floats;
BuiltinHandler builtin_reduce, builtin_scan, builtin_choose, builtin_count, builtin_map_elementwise,
    builtin_dot;
BuiltinHandler builtin_hint, builtin_assume, builtin_debug_barrier, builtin_gdc_wait,
    builtin_gdc_launch_dependents, builtin_device_print, builtin_device_assert, builtin_inline_asm,
    builtin_language, builtin_not_covered;

/* tl.load and tl.store of a block pointer (builtins_block.c), with cache hints already read. */
Val block_load(Call *call, CacheModifier cache, EvictionPolicy evict, bool is_volatile);
Val block_store(Call *call, CacheModifier cache, EvictionPolicy evict);

/* The row's number, for handlers that serve several. */
static inline BuiltinId call_id(const Call *call) {
    return (BuiltinId)(call->builtin - builtins);
}
#endif
