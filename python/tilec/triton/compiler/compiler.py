"""triton.compile, and what compilations give: CompiledKernel.

A kernel that is compiled by itself is in the plain form, which launchers of others take (docs/ahead-of-time.md), and leaves its files
where Triton's users find them; one of a call, kernel[grid](..), is the function's, and what it says of itself is asked for when
somebody looks."""
import hashlib
import json
import os
from collections import namedtuple

from tilec import _tilec
from tilec._fault import TilecError
from tilec.triton import knobs
from tilec.triton.backends import backends
from tilec.triton.backends.compiler import GPUTarget, Language
from tilec.triton.backends.nvidia.compiler import library_options
from tilec.triton.compiler.errors import raise_translated
from tilec.triton.runtime.cache import get_cache_key, get_cache_manager, get_dump_manager, triton_key
from tilec.triton.runtime.driver import driver
from tilec.triton.runtime.errors import OutOfResources
from tilec.triton.version import __version__

_TEXTS = ("tir", "ptx")  # that every kernel has, beside its cubin
_LATER = ("ast", "tir-final", "ll-before", "llir", "sass")
_INSTEAD = "tilec's Tile IR is asm['tir'], after all passes asm['tir-final']"


class ASTSource:
    """A kernel with types: `signature` {name: "*fp32", "i32", "constexpr", ..}, `constexprs` {name or path: value}, `attrs`
    {path: [["tt.divisibility", 16]]}; a path is (i,) of parameter i, (i, j) of an item of a tuple."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature = fn, signature
        self.language, self.ext, self.name = Language.TRITON, "ttir", fn.__name__
        self.constants = {}
        for path, value in (constexprs or {}).items():
            path = (fn.arg_names.index(path),) if isinstance(path, str) else path
            assert isinstance(path, tuple), f"{path!r} names no parameter"
            self.constants[path] = value
        self.attrs = attrs or {}
        for name in signature:
            if not isinstance(name, str):
                raise TypeError("Signature keys must be string")

    def hash(self):
        name = self.fn.entry_name(self.signature, self.constants)
        values = "-".join(getattr(value, "cache_key", None) or str(value) for _, value in sorted(self.constants.items()))
        text = f"{self.fn.cache_key}-{self.attrs}-{sorted(self.signature.items())}-{values}" + (f"-{name}" if name else "")
        return hashlib.sha256(text.encode()).hexdigest()

    def parse_options(self):
        return {}

    def _type(self, path, kind):
        """A parameter's type, or an item's, as the compiler has it: with what is promised, constexprs as values."""
        if isinstance(kind, (tuple, list)):
            items = [self._type((*path, i), item) for i, item in enumerate(kind)]
            return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
        if kind == "constexpr":
            return "=" + self._literal(path)
        promised = [value for name, value in self.attrs.get(path, ()) if name == "tt.divisibility"]
        return kind + (f":{promised[0]}" if promised else "")

    def _literal(self, path):
        from tilec.triton.runtime.source import literal

        value = self.constants.get(path)
        text = literal(value, self._units.number)
        if text is None:
            raise TypeError(f"{self.fn.arg_names[path[0]]}={value!r} is no value for a constexpr")
        return text

    def request(self):
        """(units, {"types": .., "constexprs": ..}) for the compiler."""
        from tilec.triton.runtime.source import Units

        functions = [value for value in self.constants.values() if hasattr(value, "_unit_text")]
        self._units = Units(self.fn, functions) if functions else self.fn.units
        try:
            types, constexprs = {}, {}
            for i, name in enumerate(self.fn.arg_names):
                kind = self.signature.get(name, "constexpr" if (i,) in self.constants else None)
                if kind is None:
                    raise TypeError(f"the signature has no type of {name!r}")
                if kind != "constexpr":
                    types[name] = self._type((i,), kind)
                elif (i,) in self.constants:
                    constexprs[name] = self._literal((i,))
            return self._units, {"types": types, "constexprs": constexprs}
        finally:
            del self._units


class IRSource:
    def __init__(self, path, context=None, backend=None):
        raise NotImplementedError(f"{path}: files of Triton's IR are not compiled: {_INSTEAD}, and `tilec opt` runs passes over .tir files")


def make_backend(target):
    found = [backend.compiler for backend in backends.values() if backend.compiler.supports_target(target)]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} compatible backends for target ({target.backend}) ({found}). There should only be one.")
    return found[0](target)


def max_shared_mem(device):
    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


def filter_traceback(e):
    """Takes the frames of this package off an exception's traceback, and of those that led to it."""
    if knobs.compilation.front_end_debugging:
        return
    for inner in (e.__cause__, e.__context__):
        if inner is not None:
            filter_traceback(inner)
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kept, trace = [], e.__traceback__
    while trace is not None:
        if not os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(own):
            kept.append(trace)
        trace = trace.tb_next
    for trace, following in zip(kept, [*kept[1:], None]):
        trace.tb_next = following
    e.__traceback__ = kept[0] if kept else None


class LazyDict:
    """A dict that grows by what functions give once somebody asks for it."""

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        while self.extras:
            function, args = self.extras.pop(0)
            self.data = self.data | function(*args)
        return self.data

    def add(self, func, args):
        self.extras.append((func, args))


class AsmDict(dict):
    """A kernel's texts, and its cubin as bytes. `make(name)` gives those that are asked for later; the items are what is there."""

    _make = None

    def __missing__(self, key):
        if key not in (*_LATER, "cubin"):
            hint = f"; {_INSTEAD}" if key in ("ttir", "ttgir") else ""
            raise KeyError(f"Unknown key: '{key}'{hint}")
        value = self._make(key) if self._make else None
        if value is None and key == "sass" and dict.__contains__(self, "cubin"):
            from tilec.triton.tools.disasm import get_sass

            value = get_sass(self["cubin"])
        if value is None:
            raise KeyError(f"asm['{key}'] is not in this process: who compiled the kernel can ask for it")
        self[key] = value
        return value

    def __contains__(self, key):
        if dict.__contains__(self, key):
            return True
        return key in (*_LATER, "cubin") and self._make is not None or key == "sass" and dict.__contains__(self, "cubin")

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __reduce__(self):
        return AsmDict, (dict(self),)


def compile(src, target=None, options=None, _env_vars=None):
    """An ASTSource for a target, in the plain form. Its files are in TRITON_CACHE_DIR, in the folder of the kernel's hash."""
    knobs.check()
    begin = _now()
    target = driver.active.get_current_target() if target is None else target
    assert isinstance(target, GPUTarget), "target must be of GPUTarget type"
    backend = make_backend(target)
    if not isinstance(src, ASTSource):
        src = IRSource(src)
    options = backend.parse_options({**(options or {}), **src.parse_options()})
    hash = hashlib.sha256(get_cache_key(src, backend, options, _env_vars or {}).encode()).hexdigest()
    manager, name = get_cache_manager(hash), src.name[:150]
    group = None if knobs.compilation.always_compile else manager.get_group(f"{name}.json")
    is_hit = group is not None and all(f"{name}.{part}" in group for part in ("json", "cubin", "tilec"))
    times = [_now()]
    if not is_hit:
        made = _compile(src, options)
        times.append(_now())
        group = _store(manager, name, made, _metadata(made.info(), hash, target, options, True))
        times.append(_now())
    kernel = CompiledKernel(src, group, hash)
    kernel.asm._make = lambda key: _compile(src, options, (key,)).output(key)
    if knobs.compilation.listener:
        spent = [max(end - start, 1) for start, end in zip([begin, *times], times)]  # units and key, the compiler, files
        knobs.compilation.listener(src=src, metadata=kernel.metadata._asdict(), metadata_group=group, cache_hit=is_hit,
                                   times=knobs.CompileTimes(spent[0], [] if is_hit else [("cubin", spent[1])], 0 if is_hit else spent[2]))
    return kernel


def _now():
    import time

    return time.perf_counter_ns() // 1000


def _compile(src, options, want=()):
    from tilec.triton.runtime.jit import Evaluation

    units, asked = src.request()
    asked |= library_options(options) | {"plain_abi": True}
    name = src.fn.entry_name(src.signature, src.constants)
    if name:
        asked["entry_name"] = name
    if knobs.compilation.dump_ir:
        asked["dump_folder"] = get_dump_manager(src.hash()).cache_dir
    try:
        return _tilec.compile(units.tuples, asked, ("tir", "ptx", "cubin", "json", *want),
                              Evaluation(units) if units.evaluated else None)
    except TilecError as error:
        raise_translated(error, units.functions)


def _store(manager, name, made, metadata):
    """Puts the kernel's files down, its facts last: whoever finds these finds the others."""
    group = {}
    for part in ("cubin", *_TEXTS):
        text = made.output(part)
        if text is not None:
            group[f"{name}.{part}"] = manager.put(text, f"{name}.{part}", binary=part == "cubin")
    group[f"{name}.tilec"] = manager.put(made.pack(), f"{name}.tilec")
    group[f"{name}.json"] = manager.put(json.dumps(metadata, default=_plain), f"{name}.json", binary=False)
    manager.put_group(f"{name}.json", group)
    return group


def _plain(value):
    return value.__dict__ if hasattr(value, "__dict__") else str(value)


def _metadata(info, hash, target, options, is_plain):
    """Triton's names, then the compiler's own."""
    facts = {"hash": hash, "target": target, **options.__dict__, "triton_version": __version__, "tilec_version": triton_key(),
             "name": info["name"], "shared": info["shared_bytes"], "tmem_size": 0, "tensordesc_meta": [],
             "num_warps": info["num_warps"], "num_ctas": info["num_ctas"], "cluster_dims": (info["num_ctas"], 1, 1),
             "threads": info["threads"], "programs_per_cta": info["programs_per_cta"], "is_persistent": info["is_persistent"],
             "tensor_maps": info["tensor_maps"], "plain_abi": info["plain_abi"], "occupancy": info["occupancy"]}
    if not is_plain:  # of the plain form launchers would pass pointers to it
        facts |= {"global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0, "profile_scratch_align": 1}
    return facts


def _named(facts):
    return namedtuple("KernelMetadata", sorted(facts))(**facts)


class CompiledKernel:
    """A kernel with its code. `asm`: its texts and its cubin; `metadata`: what is known of it; `n_regs`, `n_spills`, `n_max_threads`:
    as the driver loaded it. kernel[grid](*args) launches it with all of the function's arguments, constexprs too."""

    # Not in __dict__, which others copy and pickle.
    __slots__ = ("_executable", "_origin", "__dict__", "__weakref__")

    def __init__(self, src, metadata_group, hash):
        path = next(path for name, path in metadata_group.items() if name.endswith(".json"))
        with open(path, encoding="utf-8") as file:
            facts = json.load(file)
        facts["target"] = GPUTarget(**facts["target"])
        asm = {}
        for name, path in metadata_group.items():
            ext = name.rpartition(".")[2]
            if ext != "json":
                with open(path, "rb") as file:
                    asm[ext] = file.read() if ext in ("cubin", "tilec") else file.read().decode()
        self._packed = asm.pop("tilec")
        self.src, self.hash, self.metadata_group = src, hash, metadata_group
        self._set(_named({name: _tuples(value) for name, value in facts.items()}), AsmDict(asm))
        self.module = self.function = self._run = None

    @classmethod
    def of_call(cls, src, origin):
        """Of a call. `origin`: what knows the instance, see runtime/jit.py."""
        kernel = cls.__new__(cls)
        kernel._origin = origin
        kernel.src = src
        kernel.module = kernel.function = kernel._run = None
        return kernel

    def _set(self, metadata, asm):
        self.metadata, self.name, self.asm = metadata, metadata.name, asm
        self.packed_metadata = (metadata.num_warps, metadata.num_ctas, metadata.shared)
        self.kernel = asm.get("cubin")

    def __getattr__(self, name):
        if name in ("metadata", "name", "asm", "packed_metadata", "kernel", "_packed") and self._is_of_call():
            self._describe()
            return self.__dict__[name]
        if name in ("hash", "metadata_group") and self._is_of_call():
            value = self._origin.hash() if name == "hash" else {}
            self.__dict__[name] = value
            return value
        if name in ("n_regs", "n_spills", "n_max_threads"):
            self._init_handles()
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _is_of_call(self):
        return _slot(self, "_origin") is not None

    def _describe(self):
        origin = self._origin
        made = origin.kernel(_TEXTS)
        asm = {part: made.output(part) for part in ("cubin", *_TEXTS)}
        self._packed = made.pack()
        self._set(_named(_metadata(made.info(), self.hash, origin.target, origin.options, False)),
                  AsmDict({part: text for part, text in asm.items() if text is not None}))
        self.asm._make = lambda key: origin.kernel((key,)).output(key)

    def __getstate__(self):
        if self._is_of_call():
            self._describe()
            self.hash, self.metadata_group
        state = {**self.__dict__, "metadata": self.metadata._asdict(), "module": None, "function": None, "_run": None}
        return {name: value for name, value in state.items() if name not in ("n_regs", "n_spills", "n_max_threads")}

    def __setstate__(self, state):
        self.__dict__.update(state, metadata=_named(state["metadata"]))

    def result(self):
        return self

    # On a GPU

    def _init_handles(self):
        if self.module is not None:
            return
        hooks = (self.module, self.function, self.name, self.metadata_group, self.hash) if _is_hooked() else None
        if hooks:
            knobs.runtime.kernel_load_start_hook(*hooks)
        self._load()
        if hooks:
            knobs.runtime.kernel_load_end_hook(self.module, self.function, *hooks[2:])

    def load_hooked(self):
        """Before a launch that a function makes, which loads by itself: tells hooks, if there are any."""
        if self.module is None and _is_hooked():
            self._init_handles()

    def _load(self):
        if self._is_of_call():
            loaded = self._origin.loaded()
        else:
            loaded = self._load_plain()
        self.module, self.function, self.n_regs, local_bytes, self.n_max_threads = loaded
        self.n_spills = local_bytes // 4
        self._run = self._launch

    def _load_plain(self):
        device = driver.active.get_current_device()
        if not hasattr(driver.active, "device"):
            raise RuntimeError("there is no GPU that the kernel could be loaded on: this machine runs kernels by kernel[grid](..)")
        try:
            self._executable = _tilec.unpack(self._packed).load(driver.active.device(device))
        except TilecError as error:
            raise_translated(error)
        loaded = self._executable.info()
        threads = self.metadata.num_warps * self.metadata.warp_size
        if threads > loaded[4]:
            raise OutOfResources(threads, loaded[4], "threads")
        return loaded

    def close(self):
        """Lets the code go that was loaded for this kernel alone."""
        executable, self._executable = _slot(self, "_executable"), None
        if executable is not None:
            knobs.runtime.kernel_unload_hook(self.module, self.function, self.name, self.metadata_group, self.hash)
            self.module = self.function = self._run = None

    def __del__(self):
        if _slot(self, "_executable") is not None:
            self.close()

    @property
    def run(self):
        """run(x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args)"""
        self._init_handles()
        return self._launch

    def _launch(self, x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
        if enter_hook is not None:
            enter_hook(launch_metadata)
        try:
            if self._is_of_call():
                self._origin.launch((x, y, z), stream, args)
            else:
                self._executable.launch((x, y, z), stream, self._values(args), self.metadata.launch_pdl,
                                        self.metadata.launch_cooperative_grid)
        except TilecError as error:
            raise_translated(error)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _values(self, args):
        """Those of the parameters that the code has."""
        kinds = self.src.signature.values()
        values = []
        for kind, value in zip(kinds, args):
            _add_values(kind, value, values)
        return tuple(values)

    def launch_metadata(self, grid, stream, *args):
        """What hooks are given: None where there are none, else a LazyDict."""
        if not getattr(knobs.runtime.launch_enter_hook, "calls", knobs.runtime.launch_enter_hook):
            return None
        self._init_handles()
        made = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        fn = getattr(self.src, "fn", None)
        if getattr(fn, "launch_metadata", None) is not None:
            made.add(fn.launch_metadata, (grid, self.metadata, dict(zip(fn.arg_names, args))))
        return made

    def __getitem__(self, grid):
        self._init_handles()
        sides = (*grid, 1, 1)[:3]

        def runner(*args, stream=None):
            if stream is None:
                stream = driver.active.get_current_stream(driver.active.get_current_device())
            self._launch(*sides, stream, self.function, None, self.launch_metadata(grid, stream, *args),
                         knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook, *args)

        return runner


def _slot(kernel, name):
    try:
        return object.__getattribute__(kernel, name)
    except AttributeError:
        return None


def _is_hooked():
    return any(getattr(hook, "calls", hook) for hook in (knobs.runtime.kernel_load_start_hook, knobs.runtime.kernel_load_end_hook))


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _add_values(kind, value, values):
    if kind == "constexpr":
        return
    if isinstance(kind, (tuple, list)):
        for each, item in zip(kind, value):
            _add_values(each, item, values)
    elif kind.startswith("tensordesc"):
        from tilec.triton.backends.nvidia.driver import make_tensordesc_arg

        values.extend(make_tensordesc_arg(value, None))
    else:
        values.append(value)
