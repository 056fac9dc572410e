"""Descriptors of tensors whose rows belong to slices of any length, one behind the other: blocks of a slice are loaded and stored with
the bounds of that slice, though the descriptor is one for all.

A descriptor checks each index against an extent, from 0 up, and its address is what the indices' strides add up to, with 64 bits. So
rows are counted such that the slice's end is _ROWS, the extent: row r of a slice of n rows that begins at row s has the index
_ROWS - n + r. That is too far by (_ROWS - n - s) rows, which two more dimensions take back: one whose stride is a row's, by s + n, and
one whose index is always _ROWS, by a stride of 2^34 less a row, since _ROWS * 2^34 is 2^64, nothing."""
import tilec.triton as triton
import tilec.triton.language as tl
from tilec.triton.tools.tensor_descriptor import TensorDescriptor

_ROWS = tl.constexpr(1 << 30)
_ANY = 0x7FFF0000  # an extent that no index reaches


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """Of a tensor of two or three dimensions, of which `ragged_dim`, not the last one, is cut into slices."""
    rank, block = len(T.shape), list(block_shape)
    at = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    assert rank <= 3, "read-write ragged descriptors must have at most 3 dimensions"
    assert 0 <= at < rank - 1, "last dimension cannot be ragged"
    assert len(block) == rank, "block shape must have same length as tensor shape"
    assert T.shape[at] <= _ROWS.value, "number of rows may not exceed 2**30"
    strides = list(T.stride())
    shape = [_ROWS.value if i == at else size for i, size in enumerate(T.shape)]
    return TensorDescriptor(T, [_ANY, _ANY, *shape], [(1 << 34) - strides[at], strides[at], *strides], [1, 1, *block])


@triton.jit
def to_ragged_indices(slice_off, slice_size, row):
    """The indices of the two dimensions in front, and that of a row of a slice."""
    return _ROWS, slice_off + slice_size, _ROWS - slice_size + row


@triton.jit
def _indices(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr):
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA must be a read-write ragged descriptor")
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    return [first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:]


@triton.jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """The block at `coords` of the slice; 0 beyond it."""
    block = TMA.load(_indices(TMA, slice_off, slice_size, coords, ragged_dim))
    return tl.reshape(block, block.shape[2:])


@triton.jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Stores a block at `coords` of the slice, and nothing beyond it."""
    TMA.store(_indices(TMA, slice_off, slice_size, coords, ragged_dim), tl.reshape(data, [1, 1] + data.shape))


@triton.jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a block at `coords` of the slice, and nothing beyond it."""
    TMA.atomic_add(_indices(TMA, slice_off, slice_size, coords, ragged_dim), tl.reshape(data, [1, 1] + data.shape))
