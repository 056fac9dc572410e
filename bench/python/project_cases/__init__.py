"""What projects.py runs: functions of public projects, and what their results should be by torch in float64."""
import dataclasses
import math
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    module: str  # which the call gets, imported
    inputs: Callable  # of Inputs: the arguments
    call: Callable  # of the module and the arguments: results
    reference: Callable  # of the arguments, in float64: the same results
    slack: float = 1  # by how much more than others it may err, for a reason that a comment says
    needs_gpu: bool = False  # it refuses tensors of the CPU
    dtype: str = ""  # of its inputs, where it takes no other

    @property
    def project(self):
        return self.name.split()[0]


class Inputs:
    """Makes arguments, the same for each variant: n(large, small) is a size, at() a leaf of normal random numbers."""

    def __init__(self, torch, device, dtype, is_small):
        self.torch, self.device, self.dtype, self.is_small = torch, device, dtype, is_small
        self.generator = torch.Generator(device).manual_seed(7)

    def n(self, large, small):
        return small if self.is_small else large

    def normal(self, *shape):
        return self.torch.randn(shape, generator=self.generator, device=self.device)

    def uniform(self, *shape):
        return self.torch.rand(shape, generator=self.generator, device=self.device)

    def leaf(self, tensor, dtype=None):
        return tensor.detach().to(dtype or self.dtype).requires_grad_()

    def fixed(self, tensor, dtype=None):
        return tensor.detach().to(dtype or self.dtype)

    def at(self, *shape, scale=1.0, dtype=None):
        return self.leaf(self.normal(*shape) * scale, dtype)

    def near(self, value, *shape, dtype=None):
        """Weights: about a value."""
        return self.leaf(self.normal(*shape) * 0.1 + value, dtype)

    def below(self, high, *shape):
        return self.torch.randint(0, high, shape, generator=self.generator, device=self.device)

    def log_sigmoid(self, *shape, shift=0.0, dtype=None):
        return self.leaf(self.torch.nn.functional.logsigmoid(self.normal(*shape) + shift), dtype)

    def sigmoid(self, *shape, dtype=None):
        return self.leaf(self.normal(*shape).sigmoid(), dtype)

    def unit(self, *shape, dtype=None):
        """Rows of length 1."""
        return self.leaf(self.torch.nn.functional.normalize(self.normal(*shape), dim=-1), dtype)

    def angles(self, length, width):
        """(cos, sin) of rotary embeddings, [length, width]."""
        frequencies = 10000.0 ** (-self.torch.arange(0, width, 2, device=self.device) / width)
        angles = self.torch.arange(length, device=self.device)[:, None] * frequencies[None, :]
        angles = self.torch.cat([angles, angles], -1)
        return self.fixed(angles.cos()), self.fixed(angles.sin())


def rms_norm(x, weight=None, eps=1e-6, offset=0.0):
    y = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    return y if weight is None else y * (weight + offset)


def layer_norm(x, weight, bias, eps=1e-5):
    x = x - x.mean(-1, keepdim=True)
    y = x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    return y * weight + (0 if bias is None else bias)


def rotated(x):
    import torch

    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rope(x, cos, sin):
    return x * cos + rotated(x) * sin


def gelu_tanh(x):
    return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh())


def all_cases():
    from . import fla, liger, unsloth

    return liger.CASES + unsloth.CASES + fla.CASES
