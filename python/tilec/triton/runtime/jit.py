"""@triton.jit: functions that are kernels.

A call binds its arguments as Python does, makes of constexprs literals, and goes to a function of the library that is made once for
each set of options; which instance that uses, and whether it has to be compiled, the library decides."""
import collections
import functools
import inspect
import os
import re
import threading
from enum import Enum

import tilec
from tilec import _tilec
from tilec.triton import _refused, knobs
from tilec.triton._utils import type_canonicalisation_dict
from tilec.triton.runtime import _async_compile, builtins
from tilec.triton.runtime import arguments as _arguments
from tilec.triton.runtime.arguments import KernelParam, _normalize_ty
from tilec.triton.backends.compiler import BaseBackend
from tilec.triton.backends.nvidia.compiler import CUDABackend, library_settings, target_name
from tilec.triton.compiler.errors import raise_translated
from tilec.triton.runtime.callable import JITCallable, get_full_name, get_jit_fn_file_line
from tilec.triton.runtime.hooks import Call, Compilations, JitFunctionInfo, Request, SpecializedCall, register
from tilec.triton.runtime.source import Units, literal
from tilec.triton.runtime.specialization import (
    compute_cache_key, mangle_type, native_specialize_impl, serialize_specialization_data)
from tilec.triton.runtime.wrappers import MockTensor, TensorWrapper, reinterpret


class KernelInterface:
    """What can be launched: kernel[grid](arguments)."""

    def warmup(self, *args, grid, **kwargs):
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run not implemented")

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid, warmup=False)


# What @jit's calls may be given besides arguments: the option of the library, or what it has to be.
_OPTIONS = {"num_warps": "num_warps", "num_stages": "num_stages", "num_ctas": "num_ctas", "maxnreg": "max_registers", "debug": "debug",
            "deterministic": "deterministic"}
_LAUNCH = {"launch_pdl": "programmatic", "launch_cooperative_grid": "cooperative"}  # of launches, not of kernels
_DEFAULTS = {"enable_fp_fusion": (True, False, None), "warp_size": (32,), "ir_override": (None,), "extern_libs": (None, {}),
             "enable_reflect_ftz": (True, False, None), "sanitize_overflow": (None, True, False), "instrumentation_mode": ("",)}


Specialization = collections.namedtuple("Specialization", "constants signature")


class JITFunction(_tilec.Launcher, Compilations, JITCallable, KernelInterface):
    """A kernel, or a function that kernels call."""

    _device_kind = None  # "cpu" or "sim" of what runs on this machine alone
    _is_quick = None  # whether launches may go by what others have found out: known with the first

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None,
                 repr=None, launch_metadata=None):
        super().__init__(fn)
        self.module, self.version = fn.__module__, version
        for param in self.signature.parameters.values():
            if param.kind is param.VAR_KEYWORD:
                raise TypeError(f"{fn.__name__}: kernels have no **{param.name}")
        self.do_not_specialize = list(do_not_specialize or ())
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or ())
        self.params = [KernelParam(i, param, i in self.do_not_specialize or name in self.do_not_specialize,
                                   i in self.do_not_specialize_on_alignment or name in self.do_not_specialize_on_alignment)
                       for i, (name, param) in enumerate(self.signature.parameters.items())]
        self.arg_names = [param.name for param in self.params]
        self.constexprs = [param.num for param in self.params if param.is_constexpr]
        self.debug, self.noinline = debug, noinline
        self._repr, self.launch_metadata = repr, launch_metadata
        self.kernel = None
        register(self)

    def _begin_process(self):
        super()._begin_process()
        self._forget()

    def _forget(self):
        super()._forget()
        self._functions = {}
        self._begin_caches()
        self._forget_launches()

    def repr(self, specialization):
        """What the kernel is called for a Specialization."""
        return self._fn_name if self._repr is None else self._repr(specialization)

    def entry_name(self, signature, constants):
        """What the kernel is called in code, for Triton's words for arguments and constants by path; None: as the function."""
        if self._repr is None:
            return None
        named = {self.arg_names[path[0]]: value for path, value in constants.items() if len(path) == 1}
        return str(self.repr(Specialization(named, signature))).rpartition(".")[2]

    def _names_of(self, names):
        return [self.arg_names[name] if isinstance(name, int) else name for name in names]

    def add_pre_run_hook(self, hook):
        """hook(*args, **kwargs) is called before each run with what that is given."""
        assert callable(hook)
        self.pre_run_hooks.append(hook)

    def __repr__(self):
        return f"JITFunction({self.module}:{self.__qualname__})"

    # Calls

    def run(self, *args, grid, warmup, **kwargs):
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        values, given = self._bind(args, kwargs)
        arch = given.get("arch") or knobs.runtime.override_arch
        if arch and self._is_elsewhere(arch, values):
            return self._compile_elsewhere(values, given, grid, warmup)
        call = self._call(values, given, arch)
        kernel = self._find_kernel(call, values, given, warmup)
        if kernel is None or warmup:
            return kernel
        kernel, sides = kernel.result(), self._sides(grid, values)
        kernel.load_hooked()
        if _has_launch_hooks():
            self._launch_hooked(kernel, call, sides, values)
            return kernel
        used = self._launch(call, sides, values)
        if used and call.ordinal is not None:
            self._remember_launch(values, given, call, used, kernel)
        return kernel

    def _is_elsewhere(self, arch, values):
        """Is the code for another architecture than that of the GPU where the call goes?"""
        target = target_name(CUDABackend.capability_of(arch))
        where, _ = self._place(values)
        return where == "cuda" and target != target_name(_driver().active.get_current_target().arch)

    def _compile_elsewhere(self, values, given, grid, warmup):
        """A kernel that this GPU does not load, as it is compiled ahead of time."""
        from tilec.triton.compiler.compiler import ASTSource, compile

        _, _, target, backend, _ = self.device_caches[_driver().active.get_current_device()]
        words = SpecializedCall(self, backend, values)
        kernel = compile(ASTSource(self, words.signature, words.constants, words.attrs), target, given)
        if not warmup:
            kernel[self._sides(grid, values)](*values)
        return kernel

    def _call(self, values, given, arch=None):
        units, function = self._function(self._options(given), [*_arguments.collect_units(values, {}).values()])
        units.check_globals()
        device, stream, ordinal = self._device(values, arch)
        return Call(function, units, device, stream, ordinal, self._arguments_of(values, units),
                    {"params": self._param_types, "units": units.records or None,
                     **{name: True for option, name in _LAUNCH.items() if given.get(option)}})

    def _arguments_of(self, values, units):
        return _arguments.of_call(self.__name__, self.params, values, units.number)

    def _find_kernel(self, call, values, given, warmup):
        """The CompiledKernel of a call, which may have to be made: see Compilations."""
        try:
            instance = call.function.find(call.device, None, call.arguments, **call.keywords)
        except tilec.TilecError as error:
            raise_translated(error, call.units.functions)
        found = self._kernels.get(instance)
        if found is not None and _async_compile.active_mode.get() is None:
            return found
        request = Request(self, call, values, given)
        return self._pending(request) or found or self._compiled(request, warmup)

    def _launch_hooked(self, kernel, call, sides, values):
        enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
        said = kernel.launch_metadata(sides, call.stream, *values)
        if enter:
            enter(said)
        self._launch(call, sides, values)
        if leave:
            leave(said)

    def _launch(self, call, sides, values):
        """The instance that was launched; 0 where launches of its kind have to be looked at."""
        function, device, stream, arguments = call.function, call.device, call.stream, call.arguments
        try:
            used, is_held_back = function.call(device, sides, arguments, stream, **call.keywords)
            if is_held_back:
                self._check_written(function.written(device, sides, arguments, **call.keywords), values)
                function.call(device, sides, arguments, stream, checked=True, **call.keywords)
        except tilec.TilecError as error:
            raise_translated(error, call.units.functions)
        return 0 if is_held_back else used

    def _remember_launch(self, values, given, call, used, kernel):
        """Lets launches like this one go the quick way (csrc/launcher.h), as long as no setting changes."""
        if self._is_quick is None:
            self._is_quick = type(self).run is JITFunction.run and all(param._param.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                                                                       for param in self.params)
            if self._is_quick:
                self._setup(tuple((param.name, param.annotation_type or None, param.is_constexpr,
                                   *([param.default] if param.has_default else [])) for param in self.params))
        if not self._is_quick:
            return
        _use_streams()
        units = call.units
        constants = [(namespace, name, value) if isinstance(namespace, dict) else (namespace.holder(name), "cell_contents", value)
                     for (name, _), (value, namespace) in units.used.items() if "." not in name]
        records = units.records

        def meaning_of(value):
            return records.get(id(value)) if isinstance(value, type) else _arguments.meaning(value, units.number)

        self._remember(values, given, call.function, call.device, call.ordinal, constants, meaning_of, used, kernel)

    def _kernel_of(self, instance):
        return self._kernels.get(instance)

    def _check_written(self, written, values):
        for name in _arguments.find_read_only(self.params, values):
            if name in written:
                raise ValueError(f"{self.__name__} writes to {name!r}, an array that is read-only")

    @functools.cached_property
    def _binder(self):
        return _arguments.make_binder(self.__name__, self.signature)

    @functools.cached_property
    def _param_types(self):
        return tuple((param.name, param.annotation_type or None) for param in self.params)

    def _bind(self, args, keywords):
        """Values of the parameters, and keywords that are none of them."""
        try:
            return self._binder(*args, **keywords)
        except TypeError as error:
            raise _arguments.explain_missing(error, self.params, args, keywords) from None

    def _options(self, given):
        """Options of the library."""
        options = {}
        for name, value in given.items():
            if name in _OPTIONS:
                if value is not None:
                    options[_OPTIONS[name]] = value
            elif name in _LAUNCH and value in (None, False, True) or name == "arch":
                pass  # see _call()
            elif name not in _DEFAULTS and name not in _LAUNCH:
                raise _arguments.unknown_keyword(name, [*self.arg_names, "arch", *_OPTIONS, *_LAUNCH, *_DEFAULTS])
            elif name == "extern_libs" and set(value or ()) == {"libdevice"}:
                pass  # its functions are the compiler's own, whatever file is named
            elif value not in _DEFAULTS.get(name, ()):
                raise TypeError(f"{name}={value!r} is not supported by tilec yet")
        warps = options.get("num_warps", 1)
        assert warps > 0 and warps & (warps - 1) == 0, "num_warps must be a power of 2"
        if (self.debug if given.get("debug") is None else False) or knobs.runtime.debug:
            options["debug"] = True
        if options.get("debug") and given.get("sanitize_overflow") is not False:
            options["sanitize_overflow"] = True
        if not knobs.language.fp_fusion_enabled(given.get("enable_fp_fusion")):
            options["no_fp_fusion"] = True
        if given.get("enable_reflect_ftz") is False:
            options["no_ftz"] = True
        return options | library_settings()

    def _sides(self, grid, values):
        """The counts of programs that a launch is given; of a function, what that gives for the arguments by name."""
        if callable(grid):
            grid = grid(dict(zip(self.arg_names, values)))
        try:
            return tuple(grid)
        except TypeError:
            raise TypeError(f"a grid is a tuple of one to three integers, or a function that gives one, not {grid!r}: "
                            f"{self.__name__}[(8,)](..)") from None

    def _function(self, options, also):
        key = (tuple(sorted(options.items())), tuple((id(each), getattr(each, "cache_key", None)) for each in also))
        found = self._functions.get(key)
        if found is None:
            units = Units(self, also) if also else self.units
            try:
                made = _tilec.Function(units.tuples, options, units.evaluated and Evaluation(units) or None)
            except tilec.TilecError as error:
                raise_translated(error, units.functions)
            with self._lock:
                found = self._functions.setdefault(key, (units, made, also))
        return found[:2]

    def _place(self, values):
        """("cuda", None), or (None, "interpreter" or "simulator"): where a call goes."""
        from tilec.triton.runtime.driver import device_kind

        kind = self._device_kind or device_kind()
        where = _arguments.choose_place(_arguments.find_places(self.params, values), kind, lambda: _driver().active.get_current_device())
        if where == "cuda" or where is None and kind in ("auto", "cuda") and _driver().active.get_current_target().backend == "cuda":
            return "cuda", None
        return None, "simulator" if kind == "sim" else "interpreter"

    def _device(self, values, arch=None):
        """(device, stream, its number) of a call: the GPU in use where an array lies on one, else this machine, which has none."""
        where, kind = self._place(values)
        if where == "cuda":
            active = _driver().active
            device = active.get_current_device()
            return _kept(device, lambda: _tilec.Device(device)), active.get_current_stream(device), device
        target = os.environ.get("TILEC_SIM_TARGET", "") if kind == "simulator" else ""
        if arch:
            target = target_name(CUDABackend.capability_of(arch))
        return _kept((kind, target), lambda: _tilec.HostDevice(kind, target)), 0, None


def _driver():
    from tilec.triton.runtime.driver import driver

    return driver


def _has_launch_hooks():
    return any(getattr(hook, "calls", hook) for hook in (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook))


_MEMBER = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|@(\d+)""")  # strings first, which may have an @


def _member(found):
    return f"_unit({found.group(1)})" if found.group(1) else found.group(0)


class Evaluation:
    """Calls constexpr functions of the user's while a kernel is compiled."""

    def __init__(self, units):
        self.units = units

    def __call__(self, unit, name, key, arguments, keywords, capability):
        from tilec.triton import language as tl

        function = self.units.evaluated[unit, name]
        if builtins.is_marked(function):
            return builtins.call(function, arguments, keywords, lambda text: self._value(text, False, tl),
                                 lambda value: literal(value, self.units.number))
        values = [self._value(*each, tl) for each in arguments]
        named = {each: self._value(*value, tl) for each, value in keywords.items()}
        objects = [value for value in (*values, *named.values()) if isinstance(value, (list, dict))]
        before = [repr(value) for value in objects]
        held = tl.constexpr if getattr(function, "_is_constexpr_function", False) else lambda value: value  # a list by itself comes as a copy
        given = [held(value) if isinstance(value, list) else value for value in values]
        by_name = {each: held(value) if isinstance(value, list) else value for each, value in named.items()}
        result = literal(function(*given, **by_name), self._known)
        if before != [repr(value) for value in objects]:
            raise TypeError(f"{name} changes its argument, which is a copy of the kernel's")
        if result is None:
            raise TypeError(f"{name} gives what is no constexpr")
        return result

    def _value(self, text, is_run_time, tl):
        if is_run_time:
            raise TypeError(f"an argument is known when the kernel runs only: {text}")
        return eval(_MEMBER.sub(_member, text), {"tl": tl, "float": float, "_unit": self._unit})

    def _unit(self, number):
        """What @2 is in a literal; @2(1, x=2) calls it, and members of enums are their names and values."""
        member = self.units.members[number]
        return (lambda name, value: member[name]) if isinstance(member, type) and issubclass(member, Enum) else member

    def _known(self, member):
        """A unit's number: a kernel has those that its names lead to."""
        if not any(member is each for each in self.units.members):
            raise TypeError(f"{member!r} is nothing that the kernel's names lead to")
        return self.units.number(member)


class ConstexprFunction:
    """A function of Python's that kernels call with constexprs, while they are compiled."""

    _is_constexpr_function = True

    def __init__(self, fn):
        self.fn = fn
        functools.update_wrapper(self, fn)

    @property
    def cache_key(self):
        return f"{self.fn.__module__}.{self.fn.__qualname__}\n{inspect.getsource(self.fn)}"

    def __get__(self, instance, owner=None):
        return self if instance is None else BoundConstexprFunction(instance, self)

    def __call__(self, *args, **kwargs):
        from tilec.triton.language.core import _unwrap_if_constexpr

        return self.fn(*map(_unwrap_if_constexpr, args), **{name: _unwrap_if_constexpr(value) for name, value in kwargs.items()})


class BoundConstexprFunction:
    """A method of a host's object that kernels call with constexprs."""

    _is_constexpr_function = True

    def __init__(self, instance, function):
        self.__self__, self.__func__ = instance, function
        self.fn = functools.partial(function.fn, instance)

    @property
    def cache_key(self):
        return f"{self.__func__.cache_key}\n{self.__self__!r}"

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)


def constexpr_function(fn):
    """A decorator: kernels call it with constexprs, the host with values."""
    return ConstexprFunction(fn)


# Devices

_hosts = {}
_streams = None


def _use_streams():
    """Tells launches where to ask for the current device and stream: torch, if it drives GPUs, else the driver in use."""
    global _streams
    from tilec.triton.backends.driver import torch_with_gpu
    from tilec.triton.backends.nvidia.driver import CudaDriver
    from tilec.triton.runtime.driver import driver

    torch = torch_with_gpu() if type(driver.active) is CudaDriver else None
    if torch:
        found = torch._C._cuda_getDevice, torch._C._cuda_getCurrentRawStream, torch.cuda.device_count()
    else:
        found = driver.active.get_current_device, driver.active.get_current_stream, _tilec.device_count()
    if found != _streams:
        _tilec.set_streams(*found)
        _streams = found


knobs.watchers.append(_tilec.settings_changed)
os.register_at_fork(after_in_child=_tilec.settings_changed)  # the driver works in the parent alone


def _kept(key, make):
    found = _hosts.get(key)
    return found if found is not None else _hosts.setdefault(key, make())


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None, do_not_specialize_on_alignment=None,
        debug=None, noinline=None):
    """A decorator: the function is a kernel, or called by kernels.

    `do_not_specialize`, `do_not_specialize_on_alignment`: parameters, by name or number, whose values make no code of their own.
    `debug`: keep tl.device_assert."""

    def decorate(fn):
        assert callable(fn)
        kind = JITFunction
        if knobs.runtime.interpret:
            from tilec.triton.runtime.interpreter import InterpretedFunction as kind
        return kind(fn, version=version, do_not_specialize=do_not_specialize,
                    do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline, repr=repr,
                    launch_metadata=launch_metadata)

    return decorate if fn is None else decorate(fn)


_INSTEAD = "calls are bound by the names of a function's parameters, in C"
__getattr__ = _refused.lookup("triton.runtime.jit", {
    "DependenciesFinder": "what a function reaches is `units` of it, by the compiler's own parser",
    "create_function_from_signature": _INSTEAD})
