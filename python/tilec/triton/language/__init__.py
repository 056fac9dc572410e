"""triton.language: the names that kernels use. What is a function of kernels raises ValueError on the host."""
from tilec.triton import _refused
from tilec.triton.language import _names, core, extra, math, random, standard, target_info
from tilec.triton.language.core import (
    TRITON_MAX_TENSOR_NUMEL, PropagateNan, bfloat16, block_type, condition, const, constexpr, constexpr_type, dtype, float16, float32,
    float64, float8e4b15, float8e4b8, float8e4nv, float8e5, float8e5b16, int1, int16, int32, int64, int8, pi32_t, pointer_type, range,
    slice, static_range, tensor, tensor_descriptor, tensor_descriptor_type, tuple, tuple_type, uint16, uint32, uint64, uint8, void)

def str_to_ty(name, c):
    """The type that a signature names: "i32", "*kfp16", "tensordesc<fp16[16, 64]>", tuples of these; "constexpr": of the value c."""
    import builtins

    if isinstance(name, builtins.tuple):
        return tuple_type([str_to_ty(item, c) for item in name], getattr(type(name), "_fields", None))
    if name.startswith("*"):
        element = name[1:].removeprefix("k")
        return pointer_type(str_to_ty(element, c), const=name.startswith("*k"))
    if name.startswith("tensordesc"):
        return _descriptor_type(name)
    return constexpr_type(c) if name.startswith("constexpr") else _SCALARS[name]


def _descriptor_type(name):
    element, _, rest = name.removeprefix("tensordesc").strip("<>").partition("[")
    sizes, _, layout = rest.partition("]")
    if layout:
        raise ValueError(f"{name}: layouts are Gluon's, which tilec does not compile")
    block = [int(size) for size in sizes.split(",")]
    return tensor_descriptor_type(block_type(_SCALARS[element], block), tuple_type([int32] * len(block)),
                                  tuple_type([int64] * len(block)))


def _scalars():
    short = {"B": int1, "u1": int1, "i1": int1}
    short |= {f"{letter}{bits}": core.get_int_dtype(bits, letter == "i") for letter in "iu" for bits in (8, 16, 32, 64)}
    return short | {name: dtype(name) for name in dtype.FP_TYPES}


_SCALARS = _scalars()

__all__ = sorted({*(name for name in _names.define(globals(), "tl") if name[0] != "_"), *(
    "TRITON_MAX_TENSOR_NUMEL PropagateNan block_type condition const constexpr constexpr_type dtype pi32_t pointer_type range slice "
    "static_range tensor tensor_descriptor tensor_descriptor_type tuple tuple_type void bfloat16 float16 float32 float64 float8e4b15 "
    "float8e4b8 float8e4nv float8e5 float8e5b16 int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 target_info").split()})
__getattr__ = _refused.lookup("triton.language", _names.missing("tl") | {
    "semantic": "import triton.language.semantic, which has TritonSemantic by name alone"})
