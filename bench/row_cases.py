"""The row kernels as both compilers get them: arguments, check against float64, bytes moved.

Each case works on rows x cols without padding, inputs normally distributed, outputs poisoned.
"""
import os

import torch

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels")
TORCH = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# Relative error in the 2-norm that rounding the result alone explains, with room for the arithmetic.
TOLERANCE = {"fp32": 1e-5, "bf16": 5e-3, "fp16": 6e-4}


# Columns that are no power of two, rows that begin at no multiple of 16 bytes, results wider than what is read.
SWEEP_COLUMNS, SWEEP_DTYPES = (3000, 4095, 5000, 12288), ("fp32", "bf16", "fp16>fp32")


class RowCase:
    """One kernel at one shape. `arguments` are the run-time ones in the kernel's order."""

    file = kernel = None

    def __init__(self, dtype, rows, cols):
        dtype, _, out = dtype.partition(">")
        self.dtype, self.out, self.rows, self.cols = dtype, out or dtype, rows, cols
        self.block = 1 << (cols - 1).bit_length()
        self.grid = (rows, 1, 1)
        generator = torch.Generator("cuda").manual_seed(rows + cols)
        self.x = torch.randn(rows, cols, device="cuda", dtype=torch.float32, generator=generator).to(TORCH[dtype])
        self.y = torch.empty_like(self.x, dtype=TORCH[self.out])

    @property
    def name(self):
        types = self.dtype if self.out == self.dtype else f"{self.dtype}>{self.out}"
        return f"{self.kernel} {types} {self.rows}x{self.cols}"

    @property
    def path(self):
        return os.path.join(KERNELS, self.file)

    @property
    def bytes(self):
        return self.x.numel() * (self.x.element_size() + self.y.element_size())

    def poison(self):
        self.y.fill_(float("nan"))

    def error(self, limit=2048):
        """Relative 2-norm error against float64 over the first, middle and last rows; NaN never passes."""
        part = sorted({*range(min(self.rows, limit)), *range(self.rows // 2, min(self.rows, self.rows // 2 + 16)),
                       *range(max(0, self.rows - 16), self.rows)})
        expected = self.reference(self.x[part].double())
        return ((self.y[part].double() - expected).norm() / expected.norm()).item()

    def passes(self):
        error = self.error()
        return error <= TOLERANCE[self.out] and bool(torch.isfinite(self.y).all())


class Softmax(RowCase):
    file, kernel = "softmax.tile", "softmax"

    @property
    def arguments(self):
        return [self.x, self.y, self.cols, self.cols, self.cols]

    def reference(self, x):
        return torch.softmax(x, dim=1)

    def torch(self):
        torch.softmax(self.x, dim=1)


class LayerNorm(RowCase):
    file, kernel = "layernorm.tile", "layernorm"

    def __init__(self, dtype, rows, cols):
        super().__init__(dtype, rows, cols)
        self.w, self.b = (torch.randn(cols, device="cuda", dtype=torch.float32).to(TORCH[self.dtype]) for _ in range(2))
        self.mean = torch.empty(rows, device="cuda", dtype=torch.float32)
        self.rstd = torch.empty(rows, device="cuda", dtype=torch.float32)

    @property
    def arguments(self):
        return [self.x, self.y, self.w, self.b, self.mean, self.rstd, self.cols, self.cols, 1e-5]

    def reference(self, x):
        return torch.nn.functional.layer_norm(x, (self.cols,), self.w.double(), self.b.double(), 1e-5)

    def torch(self):
        torch.nn.functional.layer_norm(self.x, (self.cols,), self.w, self.b, 1e-5)


ROW_KERNELS = {"softmax": Softmax, "layernorm": LayerNorm}
