"""Tensors of microscaling formats, on the host: elements of four bits (e2m1), and scales that are powers of two (e8m0)."""
import torch

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # by the three bits below the sign
_BIAS, _NAN = 127, 255


class MXFP4Tensor:
    """Elements in `data`, a byte each. Of a tensor of numbers, rounded to nearest, ties to even, or of `size` for random()."""

    def __init__(self, data=None, size=None, device=None):
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "data is a tensor"
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("either data or a size is needed")

    def random(self):
        """All bits random."""
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype):
        """The numbers, as torch.float32."""
        assert dtype == torch.float32, "the numbers are given as float32"
        magnitudes = torch.tensor(_MAGNITUDES, device=self.data.device)[(self.data & 7).long()]
        return torch.where(self.data & 8 != 0, -magnitudes, magnitudes)

    @staticmethod
    def _from_float(values):
        middles = torch.tensor([(a + b) / 2 for a, b in zip(_MAGNITUDES, _MAGNITUDES[1:])], device=values.device)
        magnitudes = values.float().abs()
        below = torch.bucketize(magnitudes, middles)
        is_tie = magnitudes == middles[below.clamp(max=len(middles) - 1)]
        below += (is_tie & (below % 2 == 1) & (below < len(middles))).long()
        return (below | torch.signbit(values.float()).long() << 3).to(torch.uint8)

    def to_packed_tensor(self, dim):
        """Two elements a byte, pairs along a dimension; the first one in the lower bits. An odd one is followed by a zero."""
        size = self.data.shape[dim]
        data = self.data
        if size % 2:
            shape = [*data.shape]
            shape[dim] = 1
            data = torch.cat([data, data.new_zeros(shape)], dim)
        low, high = (data.index_select(dim, torch.arange(i, data.shape[dim], 2, device=data.device)) for i in (0, 1))
        return high << 4 | low

    def unpack_packed_tensor(self, packed_tensor, dim, original_shape):
        """Of to_packed_tensor(): the elements, as they were."""
        pairs = torch.stack([packed_tensor & 15, packed_tensor >> 4], dim + 1 if dim >= 0 else dim)
        shape = [*packed_tensor.shape]
        shape[dim] *= 2
        return pairs.reshape(shape).narrow(dim, 0, original_shape[dim])


class MXScaleTensor:
    """Exponents in `data`, a byte each, with a bias of 127; 255 is a NaN. Of a tensor of numbers, rounded down to powers of two, or of
    `size` for random()."""

    def __init__(self, data=None, size=None, device=None):
        self.device = device
        if data is not None:
            assert isinstance(data, torch.Tensor), "data is a tensor"
            self.device = data.device
            self.data = self._from_float(data)
        elif size is not None:
            self.size = size if isinstance(size, tuple) else (size,)
        else:
            raise ValueError("either data or a size is needed")

    def random(self, low=None, high=None):
        """Powers of two from `low` to `high`, which are rounded down; without them all that there are."""
        least, most = (_exponent(bound) for bound in (low, high))
        self.data = torch.randint(0 if low is None else least, (254 if high is None else most) + 1, self.size, dtype=torch.uint8,
                                  device=self.device)
        return self

    def to(self, dtype):
        assert dtype == torch.float32, "the numbers are given as float32"
        powers = torch.exp2(self.data.float() - _BIAS)
        return torch.where(self.data == _NAN, torch.full_like(powers, float("nan")), powers)

    @staticmethod
    def _from_float(values):
        is_number = torch.isfinite(values) & (values > 0)
        exponents = torch.frexp(torch.where(is_number, values, torch.ones_like(values)).double())[1] - 1
        biased = (exponents + _BIAS).clamp(0, 254)
        return torch.where(is_number, biased, torch.full_like(biased, _NAN)).to(torch.uint8)


def _exponent(bound):
    from math import frexp

    return None if bound is None else min(max(frexp(bound)[1] - 1 + _BIAS, 0), 254)
