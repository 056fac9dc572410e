"""Of Triton's extension what programs use beside kernels: cuBLAS, to compare with. Triton's IR and passes are not in tilec."""
import types

from tilec.triton import _refused


class CublasLt:
    """Products by cuBLAS, which torch calls: with a workspace of torch's own, so that none need be given. Operands are torch tensors of one GPU."""

    def __init__(self, workspace=None):
        import torch

        self._torch = torch

    def matmul(self, a, b, c):
        """c = a @ b.T, fp32 as tf32; of 8-bit floats a and b have 16 n columns, and rows of a and b are contiguous."""
        torch = self._torch
        if "float8" in str(a.dtype):
            one = torch.ones((), device=a.device)
            torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=c.dtype, out=c)
            return
        self.gemm(a, b, c, c, 1.0, 0.0)

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * a @ b.T + beta * c, fp32 as tf32."""
        torch = self._torch
        settings = torch.backends.cuda.matmul
        before, settings.allow_tf32 = settings.allow_tf32, True
        try:
            torch.addmm(c, a, b.t(), beta=beta, alpha=alpha, out=d)
        finally:
            settings.allow_tf32 = before

    block_scaled_matmul_mxfp8 = _refused.function("libtriton.nvidia.cublas.CublasLt.block_scaled_matmul_mxfp8", "torch._scaled_mm has it")
    block_scaled_matmul_nvfp4 = _refused.function("libtriton.nvidia.cublas.CublasLt.block_scaled_matmul_nvfp4", "torch._scaled_mm has it")


nvidia = types.SimpleNamespace(cublas=types.SimpleNamespace(CublasLt=CublasLt))
_OWN = "tilec compiles by libtilec; tilec._tilec is its extension"
__getattr__ = _refused.lookup("triton._C.libtriton", dict.fromkeys(("amd", "getenv", "getenv_bool", "gluon_ir", "interpreter", "ir", "linear_layout",
                                                                   "llvm", "native_specialize_impl", "passes", "proton"), _OWN))
