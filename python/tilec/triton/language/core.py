"""Triton's module of that name: types, values and the greater part of the functions."""
from enum import Enum

from tilec.triton import _refused
from tilec.triton._utils import TRITON_MAX_TENSOR_NUMEL, get_primitive_bitwidth, validate_block_shape
from tilec.triton.language import _names
from tilec.triton.language._aggregate import _aggregate, aggregate_replace
from tilec.triton.language._builtin import TRITON_BUILTIN, builtin, extern, is_builtin, must_use_result
from tilec.triton.language._types import (
    _normalize_tuple, _shape_check_impl, _type_for_tuple_values, _unwrap_if_constexpr, _unwrap_iterable, _unwrap_shape, base_type,
    base_value, bfloat16, block_type, constexpr, constexpr_type, dtype, float16, float32, float64, float8e4b15, float8e4b8, float8e4nv,
    float8e5, float8e5b16, get_int_dtype, int1, int16, int32, int64, int8, pi32_t, pointer_type, slice, slice_type, tuple, tuple_type,
    uint16, uint32, uint64, uint8, void)
from tilec.triton.language._values import (
    condition, range, static_range, tensor, tensor_descriptor, tensor_descriptor_base, tensor_descriptor_base_type,
    tensor_descriptor_type)

CONSTEXPR_0 = constexpr(0)


class const:
    """Annotation of a pointer through which a kernel does not store."""


class PropagateNan(Enum):
    """What minimum() and maximum() make of NaN: the other operand, or NaN."""

    NONE = 0
    ALL = 0xFFFF

    def __int__(self):
        return self.value


class const:
    """Annotation of a pointer through which a kernel does not store."""


_names.define(globals(), "core")

_BUILDS = "it builds Triton's IR, and tilec has none: what it does for kernels is the compiler's"
__getattr__ = _refused.lookup("triton.language.core", _names.missing("core") | {
    "ir": _BUILDS, "dispatch": _BUILDS, "extern_elementwise": "functions of other libraries are not linked; libdevice's are "
    "triton.language.extra.libdevice", "binary_op_type_legalization": _BUILDS, "_tensor_member_fn": _BUILDS, "_wrap_axis": _BUILDS,
    "_unsplat": _BUILDS, "_insertion_guard": _BUILDS, "builtin_max": "kernels call Python's max", "builtin_min": "kernels call "
    "Python's min", "is_negative_zero": "compare with math.copysign(1.0, x)", "check_bit_width": "the compiler warns of such shifts"})
