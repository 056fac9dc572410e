"""@triton.jit: functions that are kernels.

A call binds its arguments as Python does, makes of constexprs literals, and goes to a function of the library that is made once for
each set of options; which instance that uses, and whether it has to be compiled, the library decides."""
import functools
import inspect
import os
import textwrap
import threading

import tilec
from tilec import _tilec
from tilec._arrays import is_scalar
from tilec.triton.runtime.source import Text, Units, literal


class KernelInterface:
    """What can be launched: kernel[grid](arguments)."""

    def warmup(self, *args, grid, **kwargs):
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError("run not implemented")

    def __getitem__(self, grid):
        return functools.partial(self.run, grid=grid, warmup=False)


class MockTensor:
    """A type where warmup() wants an array: nothing is launched with it."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, shape or [1]

    @staticmethod
    def wrap_dtype(argument):
        kind = type(argument)
        return MockTensor(argument) if (kind.__module__, kind.__name__) == ("torch", "dtype") else argument

    def stride(self):
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.insert(0, strides[0] * size)
        return tuple(strides)

    @staticmethod
    def data_ptr():
        return 0

    @staticmethod
    def ptr_range():
        return 0


class KernelParam:
    """One parameter of a kernel."""

    def __init__(self, num, param, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = num, param
        self.do_not_specialize, self.do_not_specialize_on_alignment = do_not_specialize, do_not_specialize_on_alignment

    @property
    def name(self):
        return self._param.name

    @property
    def annotation(self):
        """As text; empty: there is none."""
        annotation = self._param.annotation
        if annotation is inspect.Parameter.empty:
            return ""
        return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))

    @property
    def is_constexpr(self):
        return "constexpr" in self.annotation

    @property
    def is_const(self):
        return "const" in self.annotation and not self.is_constexpr

    @property
    def has_default(self):
        return self._param.default is not inspect.Parameter.empty

    @property
    def default(self):
        return self._param.default


# What @jit's calls may be given besides arguments: the option of the library, or what it has to be.
_OPTIONS = {"num_warps": "num_warps", "num_stages": "num_stages", "num_ctas": "num_ctas", "maxnreg": "max_registers", "debug": "debug"}
_DEFAULTS = {"enable_fp_fusion": (True,), "warp_size": (32,), "ir_override": (None,), "extern_libs": (None, {}), "launch_pdl": (False,),
             "launch_cooperative_grid": (False,), "sanitize_overflow": (True, False), "instrumentation_mode": ("",)}


class JITFunction(KernelInterface):
    """A function of Triton's language. Attributes are Triton's; `units`: what it reaches, for the compiler."""

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None,
                 repr=None, launch_metadata=None):
        self.fn, self.module, self.version = fn, fn.__module__, version
        self.signature = inspect.signature(fn)
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
        self.repr = repr or (lambda _: fn.__qualname__)
        self.launch_metadata = launch_metadata
        self.pre_run_hooks = []
        self._unit_text = Text(fn)
        self._functions, self._lock, self._units = {}, threading.Lock(), None
        functools.update_wrapper(self, fn)

    # What it is

    @property
    def src(self):
        """Its text from `def` on, dedented."""
        return textwrap.dedent(self._unit_text.source)

    @src.setter
    def src(self, text):
        raise AttributeError("Cannot set attribute 'src' directly. Use '_unsafe_update_src()' and manually clear `.hash` of all callers"
                             "instead.")

    def _unsafe_update_src(self, text):
        """Another text in its place; whoever calls it has to be told by hand."""
        self._unit_text.source = text
        self._forget()

    @property
    def raw_src(self):
        return self._unit_text.raw

    @property
    def starting_line_number(self):
        return self._unit_text.first_line

    def _forget(self):
        self._functions, self._units = {}, None

    @property
    def units(self):
        if self._units is None:
            self._units = Units(self)
        return self._units

    @property
    def cache_key(self):
        return self.units.key()

    @property
    def used_global_vals(self):
        return self.units.used

    def _names_of(self, names):
        return [self.arg_names[name] if isinstance(name, int) else name for name in names]

    def add_pre_run_hook(self, hook):
        """hook(*args, **kwargs) is called before each run with what that is given."""
        assert callable(hook)
        self.pre_run_hooks.append(hook)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self):
        return f"JITFunction({self.module}:{self.fn.__qualname__})"

    def __reduce__(self):
        return _by_name, (self.module, self.fn.__qualname__)

    # Calls

    def run(self, *args, grid, warmup, **kwargs):
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        options, named = self._split(kwargs)
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        values = bound.arguments
        also = [value for value in values.values() if hasattr(value, "_unit_text")]
        units, function = self._function(options, also)
        units.check_globals()
        arguments = [self._argument(param, values[param.name], units) for param in self.params]
        device, stream = _device_of(values.values())
        sides = (1,) if warmup else tuple(grid(dict(values)) if callable(grid) else grid)
        try:
            function.call(device, sides, arguments, stream, warmup)
        except tilec.SourceError as error:
            raise self._compilation_error(error) from error.__cause__

    def _split(self, kwargs):
        """Options of the library, and arguments by name."""
        options, named = {}, {}
        for name, value in kwargs.items():
            if name in self.signature.parameters:
                named[name] = value
            elif name in _OPTIONS:
                if value is not None:
                    options[_OPTIONS[name]] = value
            elif name not in _DEFAULTS:
                raise KeyError(f"Keyword argument {name} was specified but unrecognised")
            elif value not in _DEFAULTS[name]:
                raise TypeError(f"{name}={value!r} is not supported by tilec yet")
        if self.debug and "debug" not in options:
            options["debug"] = True
        return options, named

    def _function(self, options, also):
        key = (tuple(sorted(options.items())), tuple(map(id, also)))
        found = self._functions.get(key)
        if found is None:
            units = Units(self, also) if also else self.units
            try:
                made = _tilec.Function(units.tuples, options, units.evaluated and Evaluation(units) or None)
            except tilec.SourceError as error:
                raise self._compilation_error(error) from error.__cause__
            with self._lock:
                found = self._functions.setdefault(key, (units, made, also))
        return found[:2]

    def _argument(self, param, value, units):
        if is_scalar(value):
            value = value.item()
        if not param.is_constexpr and not hasattr(value, "_unit_text"):
            return value
        text = literal(value, units.number)
        if text is None:
            raise TypeError(f"{param.name}={value!r} is no value for a constexpr")
        return _tilec.Constexpr(text)

    def _compilation_error(self, error):
        """The compiler's, at the place in this function's text, or in that of the one it calls."""
        from tilec.triton.compiler.errors import CompilationError

        for found in error.diagnostics:
            if found.severity != "error":
                continue
            for function in self.units.functions:
                text = function._unit_text
                count = text.source.count("\n") + 1
                if found.path == text.path and text.def_line <= found.line < text.def_line + count:
                    place = _Place(found.line - text.def_line + 1, max(found.column - text.column, 0))
                    return _with(CompilationError(function.src, place, str(error)), error)
        return _with(CompilationError(None, None, str(error)), error)


class _Place:
    """Where something stands in a function's text."""

    def __init__(self, lineno, col_offset):
        self.lineno, self.col_offset = lineno, col_offset


def _with(made, error):
    made.diagnostics = error.diagnostics
    return made


def _by_name(module, name):
    found = __import__("importlib").import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Evaluation:
    """Calls constexpr functions of the user's while a kernel is compiled."""

    def __init__(self, units):
        self.units = units

    def __call__(self, unit, name, key, arguments, keywords, capability):
        from tilec.triton import language as tl

        function = self.units.evaluated[unit, name]
        values = [self._value(*each, tl) for each in arguments]
        named = {each: self._value(*value, tl) for each, value in keywords.items()}
        result = literal(function(*values, **named), self.units.number)
        if result is None:
            raise TypeError(f"{name} gives what is no constexpr")
        return result

    def _value(self, text, is_run_time, tl):
        if is_run_time:
            raise TypeError(f"an argument is known when the kernel runs only: {text}")
        return eval(text, {"tl": tl, "float": float})


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
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        from tilec.triton.language.core import _unwrap_if_constexpr

        return self.fn(*map(_unwrap_if_constexpr, args), **{name: _unwrap_if_constexpr(value) for name, value in kwargs.items()})


def constexpr_function(fn):
    """A decorator: kernels call it with constexprs, the host with values."""
    return ConstexprFunction(fn)


# Devices

_hosts = {}


def _is_cuda(value):
    return getattr(value, "is_cuda", False) or (hasattr(value, "__cuda_array_interface__") and not hasattr(value, "data_ptr"))


def _device_of(values):
    """(device, stream): the GPU that is current where an array lies on one, else this machine."""
    from tilec.triton.runtime.driver import device_kind, driver

    arrays = [value for value in values if hasattr(value, "data_ptr") or hasattr(value, "__array_interface__") or _is_cuda(value)]
    on_gpu = [value for value in arrays if _is_cuda(value)]
    if on_gpu and len(on_gpu) < len(arrays):
        raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?): some arrays lie on a GPU and others on the host")
    if on_gpu:
        device = driver.active.get_current_device()
        return _kept(device, lambda: _tilec.Device(device)), driver.active.get_current_stream(device)
    kind = "simulator" if device_kind() == "sim" else "interpreter"
    target = os.environ.get("TILEC_SIM_TARGET", "") if kind == "simulator" else ""
    return _kept((kind, target), lambda: _tilec.HostDevice(kind, target)), 0


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
        return JITFunction(fn, version=version, do_not_specialize=do_not_specialize,
                           do_not_specialize_on_alignment=do_not_specialize_on_alignment, debug=debug, noinline=noinline, repr=repr,
                           launch_metadata=launch_metadata)

    return decorate if fn is None else decorate(fn)
