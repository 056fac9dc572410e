"""What happens around a compilation that a call needs: hooks of Triton's knobs, tables of kernels, other threads that compile.

    a call that finds no instance
      v
    jit_cache_hook            true: nothing is compiled, the call gives None
      v
    AsyncCompileMode?         its executor compiles, and the call gives a FutureKernel
      v
    the library compiles      without the GIL
      v
    device_caches, jit_post_compile_hook"""
import hashlib
import json
import time
from collections import defaultdict, namedtuple
from weakref import WeakValueDictionary

from tilec.triton import knobs
from tilec.triton._utils import find_paths_if, get_iterable_path
from tilec.triton.runtime import _async_compile, specialization
from tilec.triton.runtime.driver import driver

JitFunctionInfo = namedtuple("JitFunctionInfo", "module name jit_function")
_functions = WeakValueDictionary()  # by "module:name", for constants of preload()


def register(function):
    _functions[f"{function.module}:{function.fn.__qualname__}"] = function


class KernelCache(dict):
    """Kernels by key. What is taken out is compiled anew by the next call that needs it."""

    def __delitem__(self, key):
        _forget(self.pop(key))

    def pop(self, key, *default):
        found = super().pop(key, *default)
        _forget(found)
        return found

    def popitem(self):
        key, found = super().popitem()
        _forget(found)
        return key, found

    def clear(self):
        for found in [*self.values()]:  # other threads may launch
            _forget(found)
        super().clear()


class DeviceCaches(defaultdict):
    """What create_binder() gives, by device. What is taken out is forgotten with all its kernels."""

    def __missing__(self, device):
        return self[0] if device == "cpu" else super().__missing__(device)  # torch's name of this machine, which is device 0

    def __delitem__(self, device):
        self.pop(device)

    def pop(self, device, *default):
        found = super().pop(device, *default)
        if isinstance(found, tuple):
            found[0].clear()
        return found

    def clear(self):
        for device in [*self]:
            self.pop(device)


def _forget(kernel):
    origin = getattr(kernel, "_origin", None) if not isinstance(kernel, _async_compile.FutureKernel) else None
    if origin is not None:
        origin.forget()


class Call(namedtuple("Call", "function units device stream ordinal arguments keywords")):
    """A call of a _tilec.Function, with what that takes; `units`: of which it is made; `ordinal`: of a
    GPU, else None."""

    __slots__ = ()

    def without_memory(self):
        """Of the same key; keeps no array."""
        return self._replace(arguments=[*map(specialization.without_memory, self.arguments)])


class SpecializedCall:
    """Triton's words for a call's arguments: types by name, constants and what is promised by path."""

    def __init__(self, fn, backend, values):
        self.specialized = [specialization.specialization_of(param, backend, value) for param, value in zip(fn.params, values)]
        kinds = [kind for kind, _ in self.specialized]
        self.signature = dict(zip(fn.arg_names, kinds))
        self.constants = {path: get_iterable_path(values, path) for path in find_paths_if(kinds, lambda _, kind: kind == "constexpr")}
        known = ["" if kind == "constexpr" else what for kind, what in self.specialized]
        self.attrs = {path: backend.parse_attr(get_iterable_path(known, path))
                      for path in find_paths_if(known, lambda _, what: isinstance(what, str))}


class Request(SpecializedCall):
    """A call for which something is to be compiled. `values`: the call's own, in order of parameters; `given`: its options."""

    def __init__(self, fn, call, values, given):
        self.given = given
        self.ordinal = driver.active.get_current_device()
        self.cache, key_cache, self.target, backend, _ = fn.device_caches[self.ordinal]
        self.options = backend.parse_options(given)
        super().__init__(fn, backend, values)
        self.key = specialization.compute_cache_key(key_cache, self.specialized, given)
        name = fn.entry_name(self.signature, self.constants)
        self.call = call if name is None else call._replace(keywords={**call.keywords, "entry_name": name})


class Origin:
    """The instance of a call that a CompiledKernel is of."""

    def __init__(self, fn, request, instance):
        self.fn, self.instance, self.call = fn, instance, request.call.without_memory()
        self.target, self.options, self.key = request.target, request.options, request.key

    def hash(self):
        from tilec.triton.runtime.cache import triton_key

        text = f"{triton_key()}-{self.fn.cache_key}-{self.key}-{self.options.hash()}-{self.target}"
        return hashlib.sha256(text.encode()).hexdigest()

    def kernel(self, want):
        from tilec._fault import TilecError
        from tilec.triton.compiler.errors import raise_translated

        call = self.call
        try:
            return call.function.kernel(want, call.device, None, call.arguments, **call.keywords)
        except TilecError as error:
            raise_translated(error, call.units.functions)

    def loaded(self):
        return self.call.function.loaded(self.instance)

    def forget(self):
        self.fn._kernels.pop(self.instance, None)
        self.call.function.forget(self.instance)

    def launch(self, grid, stream, args):
        self.fn._launch(self.call._replace(stream=stream, arguments=self.fn._arguments_of(args, self.call.units)), grid, args)


class Compilations:
    """The part of JITFunction that compiles. `_kernels`: those of calls by their instance's number."""

    def _begin_caches(self):
        self._kernels = {}
        self.device_caches = DeviceCaches(self.create_binder)

    def create_binder(self):
        """(kernels by key, keys by specialization, target, backend, what binds arguments) of the current device."""
        from tilec.triton.backends.compiler import GPUTarget
        from tilec.triton.compiler.compiler import make_backend

        target = driver.active.get_current_target()
        # This machine runs what a GPU would get, and options mean what they mean there.
        backend = make_backend(target if target.backend == "cuda" else GPUTarget("cuda", 90, 32))

        def bind(*args, **kwargs):
            named = {name: value for name, value in kwargs.items() if name in self.signature.parameters}
            bound = self.signature.bind(*args, **named)
            bound.apply_defaults()
            values = bound.arguments
            return (dict(values), [specialization.specialization_of(param, backend, values[param.name]) for param in self.params],
                    {name: value for name, value in kwargs.items() if name not in named})

        return KernelCache(), {}, target, backend, bind

    def _hook(self, hook, request, is_warmup):
        if not hook or not getattr(hook, "calls", True):
            return None
        options = request.options
        named = {name: getattr(options, name) for name in ("num_warps", "num_ctas", "num_stages", "enable_fp_fusion",
                                                           "launch_cooperative_grid")}
        words = ", ".join(f"{name}: {kind}" for name, kind in request.signature.items())
        said = f"{self.fn.__qualname__}[{', '.join(f'{name}={value}' for name, value in named.items())}]({words})"
        data = specialization.serialize_specialization_data(self._fn_name, request.signature, request.constants, request.attrs, options,
                                                            request.key, request.target, request.given)
        compiled = {"key": request.key, "signature": request.signature, "device": request.ordinal, "constants": request.constants, **named,
                    "extern_libs": options.extern_libs, "configs": [request.attrs], "specialization_data": data, "is_warmup": is_warmup}
        return hook(key=request.key, repr=said, fn=JitFunctionInfo(self.fn.__module__, self.fn.__qualname__, self), compile=compiled,
                    is_manual_warmup=is_warmup, already_compiled=False)

    def _pending(self, request):
        """What other threads make for such a call: a FutureKernel while there is an AsyncCompileMode, else what it becomes."""
        pending = request.cache.get(request.key)
        if not isinstance(pending, _async_compile.FutureKernel):
            return None
        return pending if _async_compile.active_mode.get() else pending.result()

    def _compiled(self, request, is_warmup):
        """The kernel of a call whose instance is not there, or a FutureKernel; None: a hook says that it is not to be compiled."""
        knobs.check()
        if self._hook(knobs.runtime.jit_cache_hook, request, is_warmup):
            return None
        mode = _async_compile.active_mode.get()
        if mode is None:
            kernel = self._compile(request)
            self._finish(request, kernel, is_warmup)
            return kernel

        def leave(future):
            if request.cache.get(request.key) is future:
                dict.pop(request.cache, request.key)

        future = mode.submit((self.cache_key, request.key, request.options.hash(), request.target), lambda: self._compile(request),
                             lambda kernel: self._finish(request, kernel, is_warmup), leave)
        request.cache[request.key] = future
        return future

    def _compile(self, request):
        from tilec._fault import TilecError
        from tilec.triton.compiler.compiler import ASTSource, CompiledKernel
        from tilec.triton.compiler.errors import raise_translated

        call, begin = request.call, time.perf_counter_ns()
        try:
            instance, _ = call.function.call(call.device, None, call.arguments, 0, True, **call.keywords)
        except TilecError as error:
            raise_translated(error, call.units.functions)
        made = CompiledKernel.of_call(ASTSource(self, request.signature, request.constants, request.attrs),
                                      Origin(self, request, instance))
        if knobs.compilation.listener:
            spent = (time.perf_counter_ns() - begin) // 1000
            knobs.compilation.listener(src=made.src, metadata=made.metadata._asdict(), metadata_group=made.metadata_group, cache_hit=False,
                                       times=knobs.CompileTimes(0, [("cubin", spent)], 0))
        return self._kernels.setdefault(instance, made)

    def _finish(self, request, kernel, is_warmup):
        # Two instances may be one by Triton's rules, which tell fewer apart; both are in the table.
        key, others = request.key, 0
        while isinstance(request.cache.get(key), type(kernel)) and request.cache[key] is not kernel:
            others += 1
            key = f"{request.key}~{others}"
        request.cache[key] = kernel
        self._hook(knobs.runtime.jit_post_compile_hook, request, is_warmup)

    def preload(self, specialization_data):
        """Compiles what a hook was given as specialization_data, perhaps in another process."""
        given = json.loads(specialization_data)
        if given["name"] != self._fn_name:
            raise RuntimeError(f"Specialization data is for {given['name']} but trying to preload for {self._fn_name}")
        target = self.device_caches[driver.active.get_current_device()][2]
        if target.__dict__ != given["target"]:
            raise RuntimeError(f"Specialization data is for {given['target']} but trying to preload for {target}")
        constants = {tuple(path): specialization.decoded(value, _functions)
                     for path, value in zip(given["constant_keys"], given["constant_vals"])}
        known = {tuple(path): value for path, value in zip(given["attrs_keys"], given["attrs_vals"])}
        values = [self._stand_in((i,), specialization.tuples(given["signature"][name]), constants, known)
                  for i, name in enumerate(self.arg_names)]
        options = given.get("given")
        if options is None:  # Triton's own: all options, of which num_warps and the like count
            options = {name: value for name, value in given["options"].items() if name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
        request = Request(self, self._call(values, options), values, options)
        request.key = given["key"]
        return self._compiled(request, True)

    def _stand_in(self, path, kind, constants, known):
        if kind == "constexpr":
            return constants[path]
        if isinstance(kind, tuple):
            return tuple(self._stand_in((*path, i), item, constants, known) for i, item in enumerate(kind))
        return specialization.stand_in(kind, known.get(path))
