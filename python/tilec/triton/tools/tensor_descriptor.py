"""Descriptors of tensors as arguments: kernels load and store them in blocks, desc.load([i, j])."""
from dataclasses import dataclass
from typing import Any, List

from tilec import _tilec
from tilec.triton._utils import canonicalize_dtype, validate_block_shape

_MOST_DIMENSIONS = 5
_ALIGNMENT = 16


@dataclass
class TensorDescriptor:
    """A tensor, or a part of it that begins at `base`, with its shape, its strides in elements, and the shape of the blocks that a
    kernel takes of it. `padding`: what is loaded from beyond it, "zero" or "nan". Fields may change between launches."""

    base: Any
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self):
        rank = len(self.shape)
        assert len(self.strides) == rank and len(self.block_shape) == rank, f"rank mismatch: {self}"
        assert rank > 0, "rank must not be zero"
        assert rank <= _MOST_DIMENSIONS, "rank cannot be more than 5"
        if type(self.base).__name__ not in ("FakeTensor", "FunctionalTensor"):  # torch's, which have no memory
            assert self.base.data_ptr() % _ALIGNMENT == 0, "base must be 16-byte aligned"
        validate_block_shape(self.block_shape)
        dtype = self.base.dtype
        assert all(stride * dtype.itemsize % _ALIGNMENT == 0 for stride in self.strides[:-1]), "strides must be 16-byte aligned"
        assert all(extent > 0 for extent in self.shape), "shape must be positive"
        assert self.strides[-1] == 1, "Last dimension must be contiguous"
        assert self.padding in ("zero", "nan"), "Illegal value for padding"
        assert self.padding == "zero" or dtype.is_floating_point, "Padding option `nan` is only supported for floating point tensors"
        if self.round_f32_to_tf32:
            assert canonicalize_dtype(dtype) == "fp32", "round_f32_to_tf32 is only supported for float32 tensors"
            raise NotImplementedError("TensorDescriptor(round_f32_to_tf32=True) is not in tilec: tl.dot rounds its operands to tf32 "
                                      "where it uses it (input_precision)")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero", round_f32_to_tf32=False):
        """Of a whole tensor."""
        return TensorDescriptor(tensor, tensor.shape, tensor.stride(), block_shape, padding, round_f32_to_tf32)


_tilec.set_descriptor_type(TensorDescriptor)
