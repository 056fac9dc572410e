"""Triton's settings. Those that tilec cannot follow are there as well: check() refuses them by name once one is set."""
import os

from tilec.triton._knob_types import (
    CompileTimes, Env, HookChain, NvidiaTool, base_knobs, env, env_base, env_bool, env_class, env_int, env_nvidia_tool, env_opt_bool,
    env_opt_str, env_str, env_str_callable_default, getenv, getenv_bool, setenv, toenv, watchers)

propagate_env = True

_IR = "Triton's IR is not made; tilec's is asm['tir'] of a kernel, and `tilec opt` runs passes over it"
_REMOTE = "TILEC_REMOTE_CACHE names a server that keeps what is compiled (docs/caches.md)"
_AMD = "tilec compiles for NVIDIA's GPUs"
_PTXAS = "ptxas gets the options that kernels need, and PTX of the version that it reads"
_PROTON = "triton.profiler measures by events"
_NOTHING_BUILT = "nothing is built by a C compiler at run time"


class build_knobs(base_knobs):
    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH", instead=_NOTHING_BUILT)
    cudart_path = env_opt_str("TRITON_CUDART_PATH", instead=_NOTHING_BUILT)
    impl = None

    @property
    def backend_dirs(self):
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}", _REMOTE)
    host = env_str("TRITON_REDIS_HOST", "localhost", _REMOTE)
    port = env_int("TRITON_REDIS_PORT", 6379, _REMOTE)


class cache_knobs(base_knobs):
    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"))
    dump_dir = env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    dir = env_str_callable_default("TRITON_CACHE_DIR", lambda: cache.get_triton_dir("cache"))
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager", "tilec keeps what it compiles itself (docs/caches.md)")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend", _REMOTE)

    def get_triton_dir(self, dirname):
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE", instead=_IR)
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES", instead="variables are not described in PTX")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY", instead="a kernel's texts are made when they are asked for")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC", instead=_IR)
    enable_asan = env_bool("TRITON_ENABLE_ASAN", instead="TILEC_DEVICE=sim finds what is out of bounds")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    fpsan_homomorphic_casts = env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS", instead="kernels are not instrumented")
    instrumentation_mode = getenv("TRITON_INSTRUMENTATION_MODE", "")
    deterministic = env_bool("TILEC_DETERMINISTIC")  # of tilec alone: docs/deterministic.md
    language = env_opt_str("TILEC_LANGUAGE")  # of tilec alone: the version of Triton whose meaning constructs have that changed
    listener = None


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")
    listener = None


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    debug = getenv_bool("TRITON_DEBUG")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")
    launch_enter_hook = HookChain()
    launch_exit_hook = HookChain(reversed=True)
    kernel_load_start_hook = HookChain()
    kernel_load_end_hook = HookChain(reversed=True)
    kernel_unload_hook = HookChain()
    jit_cache_hook = None
    jit_post_compile_hook = None
    add_stages_inspection_hook = None


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION")

    def fp_fusion_enabled(self, requested):
        """Whether a*b + c may be one rounding, for a kernel that asks for it, against it, or for nothing (None)."""
        return not self.force_disable_fp_fusion and (self.default_fp_fusion if requested is None else requested)


class nvidia_knobs(base_knobs):
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP", instead="TRITON_KERNEL_DUMP=1 leaves the PTX in TRITON_DUMP_DIR")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS", instead=_PTXAS)
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION", instead=_PTXAS)
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")  # libdevice's functions are the compiler's own, whichever file this names
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True, _AMD)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True, _AMD)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE", False, _AMD)
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP", False, _AMD)
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH", None, _AMD)
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG", None, _AMD)
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE", None, _AMD)
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY", False, _AMD)
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS", False, _AMD)


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_opt_str("TRITON_CUPTI_LIB_PATH", None, _PROTON)
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True, _PROTON)
    enable_hw_trace = env_bool("TRITON_ENABLE_HW_TRACE", False, _PROTON)


build, redis, cache, compilation, autotuning = build_knobs(), redis_knobs(), cache_knobs(), compilation_knobs(), autotuning_knobs()
runtime, language, nvidia, amd, proton = runtime_knobs(), language_knobs(), nvidia_knobs(), amd_knobs(), proton_knobs()
_GROUPS = ("build", "redis", "cache", "compilation", "autotuning", "runtime", "language", "nvidia", "amd", "proton")
# (group, attribute, its default, what instead) of those that are no variables.
_PLAIN = (("build", "impl", None, _NOTHING_BUILT),
          ("compilation", "instrumentation_mode", "", "kernels are not instrumented; TILEC_DEVICE=sim checks them"),
          ("runtime", "add_stages_inspection_hook", None, "stages of a compilation are tilec's; `tilec compile --dump-dir` shows them"))
# Variables that Triton's C++ reads, which say "1" or more.
_VARIABLES = {**dict.fromkeys(("MLIR_ENABLE_DUMP", "MLIR_DUMP_PATH", "LLVM_IR_ENABLE_DUMP", "TRITON_REPRODUCER_PATH"),
                              "`tilec compile --dump-dir` writes what every pass made; TRITON_KERNEL_DUMP=1 leaves texts in TRITON_DUMP_DIR"),
              **dict.fromkeys(("MLIR_ENABLE_TIMING", "LLVM_ENABLE_TIMING"), "`tilec compile --time` says what each stage took"),
              **dict.fromkeys(("TRITON_ENABLE_LLVM_DEBUG", "TRITON_LLVM_DEBUG_ONLY", "LLVM_PASS_PLUGIN_PATH"), _IR)}


def refused():
    """[(name, value, what instead)] of the settings that are set and that tilec does not follow."""
    found = []
    for group in _GROUPS:
        settings = globals()[group]
        for name, knob in settings.knob_descriptors.items():
            given = settings.__dict__.get(name, getenv(knob.key))
            # A variable that says what is so without it is no wish.
            if knob.instead and given is not None and getattr(settings, name) != knob.default:
                found.append((f"knobs.{group}.{name} ({knob.key})", getattr(settings, name), knob.instead))
    for group, name, default, instead in _PLAIN:
        value = getattr(globals()[group], name)
        if value != default:
            found.append((f"knobs.{group}.{name}", value, instead))
    for key, instead in _VARIABLES.items():
        if getenv(key) not in (None, "", "0"):
            found.append((key, getenv(key), instead))
    return found


def check():
    """Called before something is compiled. RuntimeError that names every setting of refused()."""
    wrong = refused()
    if wrong:
        raise RuntimeError("\n".join(f"{name} is {value!r}, which tilec does not follow: {instead}" for name, value, instead in wrong))


def refresh_knobs():
    """Reads again what is read once, at import."""
    runtime.debug = getenv_bool("TRITON_DEBUG")
    compilation.instrumentation_mode = getenv("TRITON_INSTRUMENTATION_MODE", "")
