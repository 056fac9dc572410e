"""How kernels are compiled for NVIDIA's GPUs."""
import hashlib
import re
from dataclasses import dataclass, fields

from tilec.triton import knobs
from tilec.triton.backends.compiler import BaseBackend

_STAGES = "a compilation is libtilec's, in one; asm of a CompiledKernel has what it passes through"
_ARCH = r"^sm(\d+)$"


@dataclass(frozen=True)
class CUDAOptions:
    """What a kernel may be compiled with. None: chosen for the target or by the compiler."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    enable_reflect_ftz: bool = True
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple = ("fp8e5", "fp8e4b15")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int | None = None
    extern_libs: tuple | dict | None = None
    debug: bool = False
    backend_name: str = "cuda"
    sanitize_overflow: bool = True
    arch: str | None = None
    instrumentation_mode: str = ""
    deterministic: bool = False

    def __post_init__(self):
        assert self.num_warps > 0 and not self.num_warps & (self.num_warps - 1), "num_warps must be a power of 2"
        # libdevice's functions are the compiler's own: whichever file a program names for it says nothing.
        libraries = dict(self.extern_libs or {})
        others = [name for name in libraries if name != "libdevice"]
        if others:
            raise ValueError(f"extern_libs has {', '.join(others)}: functions of other libraries are not linked; write them as "
                             "@triton.jit functions")
        object.__setattr__(self, "extern_libs", tuple(libraries.items()))

    def hash(self):
        text = "_".join(f"{name}-{value}" for name, value in sorted(self.__dict__.items()))
        return hashlib.sha256(text.encode()).hexdigest()


_TARGETS = {90: "sm_90a", 100: "sm_100a", 103: "sm_103a", 120: "sm_120a", 121: "sm_121a"}


def target_name(arch):
    """The compiler's name of a capability, 90 or "sm90"."""
    digits = str(arch).removeprefix("sm").lstrip("_").rstrip("af")
    return _TARGETS.get(int(digits), f"sm_{digits}")


# What kernels are compiled with alone, and what it has to be.
_ONLY = {"warp_size": (32,), "ir_override": (None,), "ptx_version": (None,),
         "ptx_options": (None, ""), "instrumentation_mode": ("",), "default_dot_input_precision": ("tf32",)}


def library_options(options):
    """The library's of CUDAOptions; TypeError: it cannot follow one."""
    for name, values in _ONLY.items():
        if getattr(options, name) not in values:
            raise TypeError(f"{name}={getattr(options, name)!r} is not supported by tilec yet")
    made = {"num_warps": options.num_warps, "num_stages": options.num_stages, "num_ctas": options.num_ctas, "debug": bool(options.debug),
            "target": target_name(options.arch), **library_settings()}
    if options.debug and options.sanitize_overflow:
        made["sanitize_overflow"] = True
    if not knobs.language.fp_fusion_enabled(options.enable_fp_fusion):
        made["no_fp_fusion"] = True
    if not options.enable_reflect_ftz:
        made["no_ftz"] = True
    if options.deterministic:
        made["deterministic"] = True
    if options.maxnreg:
        made["max_registers"] = options.maxnreg
    return made


def library_settings():
    """The library's of what the environment, or the program, has set for all kernels."""
    made = {}
    if knobs.compilation.disable_line_info:
        made["no_line_info"] = True
    if knobs.compilation.always_compile:
        made["no_cache"] = True
    if knobs.compilation.deterministic:
        made["deterministic"] = True
    if knobs.compilation.language:
        made["language"] = _language_number(knobs.compilation.language)
    return made


def _language_number(version):
    """36 of "3.6"."""
    if not re.fullmatch(r"3\.[2-9]", version):
        raise ValueError(f"knobs.compilation.language is a version of Triton from 3.2 to 3.9, not {version!r}")
    return int(version.replace(".", ""))


class CUDABackend(BaseBackend):
    binary_ext = "cubin"
    instrumentation = None

    @staticmethod
    def supports_target(target):
        return target.backend == "cuda"

    @staticmethod
    def capability_of(arch):
        match = re.fullmatch(_ARCH, str(arch))
        if not match:
            raise ValueError(f"TRITON_OVERRIDE_ARCH must have the form {_ARCH}, and is {arch!r}")
        return int(match.group(1))

    def get_target_name(self, options):
        return f"cuda:{self.capability_of(options.arch)}"

    def parse_options(self, opts):
        """CUDAOptions of those in a dict that are options, and of what the target has."""
        given = {"arch": knobs.runtime.override_arch or f"sm{self.target.arch}"}
        given |= {field.name: opts[field.name] for field in fields(CUDAOptions) if opts.get(field.name) is not None}
        capability = self.capability_of(given["arch"])
        if given.get("num_ctas", 1) > 1 and capability < 90:
            raise ValueError(f"num_ctas > 1 requires NVIDIA SM90+ (Hopper). Current target is sm_{capability}. This configuration will "
                             "fail. Please set num_ctas=1 or target an SM90+ GPU.")
        of_target = {"supported_fp8_dtypes": tuple(sorted({*CUDAOptions.supported_fp8_dtypes, *(["fp8e4nv"] if capability >= 89 else [])})),
                     "deprecated_fp8_dot_operand_dtypes": ("fp8e4b15",) if capability >= 90 else (),
                     "enable_fp_fusion": knobs.language.fp_fusion_enabled(None),
                     "deterministic": bool(knobs.compilation.deterministic)}
        # Triton's own rule: what a caller says of this one does not count.
        given["max_num_imprecise_acc_default"] = 2**30 if capability == 90 else 0
        return CUDAOptions(**of_target | given)

    def pack_metadata(self, metadata):
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_module_map(self):
        from tilec.triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def hash(self):
        """The compiler's build, the assembler's version, the target."""
        from tilec.triton.runtime.cache import triton_key

        try:
            assembler = knobs.nvidia.ptxas.version
        except RuntimeError:
            assembler = "driver"
        return f"{triton_key()}-{assembler}-{self.target.arch}"

    def add_stages(self, stages, options, language=None):
        raise NotImplementedError(f"CUDABackend.add_stages is not in tilec: {_STAGES}")

    def load_dialects(self, context):
        raise NotImplementedError(f"CUDABackend.load_dialects is not in tilec: {_STAGES}")

    def get_codegen_implementation(self, options):
        raise NotImplementedError(f"CUDABackend.get_codegen_implementation is not in tilec: {_STAGES}")
