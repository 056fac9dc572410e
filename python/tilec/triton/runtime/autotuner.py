"""@autotune and @heuristics: which of several configurations a call uses, and arguments that follow from others.

Configurations are measured by the first call of each key, in Python, since hooks and models of cost are the program's own: all are
compiled at once beforehand, on several threads, and then timed one after another. Where nothing can be timed, on devices that are
this machine, the first that compiles is taken."""
import functools
import hashlib
import inspect
import json
import math
import time
import warnings

from tilec.triton import knobs
from tilec.triton.runtime.errors import AutotunerError, OutOfResources, PTXASError
from tilec.triton.runtime.jit import JITFunction, KernelInterface

QUANTILES = (0.5, 0.2, 0.8)


class Config:
    """What a configuration sets: `kwargs`, constexprs by name, and how the kernel is compiled. `pre_hook(arguments)` is called before
    each launch with it, with all arguments by name."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_ctas = num_ctas
        self.num_stages = num_stages
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def __setstate__(self, state):
        self.__init__({})
        self.__dict__.update(state)

    def _options(self):
        return {"num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages, "maxnreg": self.maxnreg,
                "ir_override": self.ir_override}

    def all_kwargs(self):
        """What a launch is given by name."""
        return {**self.kwargs, **{name: value for name, value in self._options().items() if value is not None}}

    def __str__(self):
        words = [f"{name}: {value}" for name, value in self.kwargs.items()]
        words += [f"{name}: {value}" for name, value in self._options().items() if name != "ir_override"]
        return ", ".join(words)

    def __repr__(self):
        return f"<Config {self}>"

    def _identity(self):
        return *self.all_kwargs().items(), self.pre_hook

    def __hash__(self):
        return hash(self._identity())

    def __eq__(self, other):
        return isinstance(other, Config) and self._identity() == other._identity()


def _launch(fn, args, keywords):
    """fn.run(*args, **keywords), by the way that launches take."""
    if keywords["warmup"]:
        return fn.run(*args, **keywords)
    keywords = dict(keywords)
    grid = keywords.pop("grid")
    del keywords["warmup"]
    return fn[grid](*args, **keywords)


class Autotuner(KernelInterface):
    """A kernel with configurations. `cache`: the configuration of each key that was seen; `best_config`: of the last call;
    `configs_timings`, `bench_time`: of the last tuning, milliseconds (median, 20 %, 80 %) and seconds."""

    def __init__(self, fn, arg_names, configs, key, reset_to_zero, restore_value, pre_hook=None, post_hook=None, prune_configs_by=None,
                 warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
        self.fn = fn
        self.base_fn = fn
        while not inspect.isfunction(self.base_fn):
            self.base_fn = self.base_fn.fn
        self.arg_names = arg_names
        self.configs = configs or [Config({})]
        self.keys = key
        self._warn_of_names(key)
        self.cache = {}
        self.cache_results = (cache_results or knobs.autotuning.cache) and not knobs.runtime.interpret
        self.nargs = self.best_config = None
        self._set_hooks(reset_to_zero, restore_value, pre_hook, post_hook)
        prune = prune_configs_by or {}
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.early_config_prune = prune.get("early_config_prune")
        self.num_warmups, self.num_reps, self.use_cuda_graph = warmup, rep, use_cuda_graph
        self._do_bench = do_bench
        if warmup is not None or rep is not None or use_cuda_graph:
            warnings.warn("warmup, rep and use_cuda_graph of autotune are deprecated: give do_bench", DeprecationWarning, stacklevel=3)
            self._do_bench = self._deprecated_bench(warmup, rep, use_cuda_graph)

    def _warn_of_names(self, keys):
        """Triton up to 3.6 takes no notice of a key that is no argument, so that programs have some."""
        for name in keys or ():
            if name not in self.arg_names:
                warnings.warn(f"{name!r} of autotune's key is no argument of {self.base_fn.__name__}, and is not looked at: these are "
                              f"{', '.join(self.arg_names)}", UserWarning, stacklevel=4)

    def _check_names(self, names, what):
        for name in names or ():
            if name not in self.arg_names:
                raise ValueError(f"{name!r} of autotune's {what} is no argument of {self.base_fn.__name__}: "
                                 f"these are {', '.join(self.arg_names)}")

    def _set_hooks(self, reset_to_zero, restore_value, pre_hook, post_hook):
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        self._check_names(self.reset_to_zero, "reset_to_zero")
        self._check_names(self.restore_value, "restore_value")
        self.restore_copies = {}
        self.user_defined_pre_hook, self.user_defined_post_hook = bool(pre_hook), bool(post_hook)
        self.pre_hook = pre_hook or self._reset
        self.post_hook = post_hook or self._restore

    def _reset(self, arguments, reset_only=False):
        for name in self.reset_to_zero:
            arguments[name].zero_()
        if not reset_only:
            self.restore_copies = {name: arguments[name].clone() for name in self.restore_value}

    def _restore(self, arguments, exception=None):
        for name, copy in self.restore_copies.items():
            arguments[name].copy_(copy)
        self.restore_copies = {}

    @staticmethod
    def _deprecated_bench(warmup, rep, use_cuda_graph):
        from tilec.triton import testing

        rep = 100 if rep is None else rep
        if use_cuda_graph:
            return functools.partial(testing.do_bench_cudagraph, rep=rep)
        return functools.partial(testing.do_bench, warmup=25 if warmup is None else warmup, rep=rep)

    @functools.cached_property
    def do_bench(self):
        from tilec.triton.runtime.driver import driver

        return self._do_bench or driver.active.get_benchmarker()

    # Calls

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        try:
            config = self.best_config = self._choose(args, kwargs)
            if config.pre_hook:
                config.pre_hook(self._arguments(kwargs, config))
            return _launch(self.fn, args, {**kwargs, **config.all_kwargs()})
        finally:
            self.nargs = None

    def warmup(self, *args, **kwargs):
        """Compiles all configurations that pruning leaves; what fn.warmup gives for each."""
        self.nargs = dict(zip(self.arg_names, args))
        try:
            return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in self.prune_configs(kwargs)]
        finally:
            self.nargs = None

    def _arguments(self, kwargs, config):
        return {**self.nargs, **kwargs, **config.all_kwargs()}

    def _key(self, kwargs):
        given = {name: value for name, value in {**self.nargs, **kwargs}.items() if name in self.arg_names}
        return *(given[name] for name in self.keys if name in given), *(str(v.dtype) for v in given.values() if hasattr(v, "dtype"))

    def _choose(self, args, kwargs):
        if len(self.configs) == 1:
            return self.configs[0]
        key = self._key(kwargs)
        if key not in self.cache:
            configs = self.prune_configs(kwargs)
            kept = self._kept(key, configs) if self.cache_results else None
            if not (kept and self._recall(kept, key)):
                self._tune(key, configs, args, kwargs)
                if kept:
                    self._keep(kept, key)
        return self.cache[key]

    def prune_configs(self, kwargs):
        """The configurations that are worth trying for these arguments."""
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(configs, self.nargs, **kwargs)
            if not configs:
                raise AutotunerError("No valid autotuner configs after pruning. `early_config_prune` should return at least one config.")
        if not self.perf_model:
            return configs
        most = self.configs_top_k
        if isinstance(most, float) and most <= 1.0:
            most = int(len(self.configs) * most)
        elif not isinstance(most, int):
            raise TypeError("Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int")
        if len(configs) <= most:
            return configs
        return sorted(configs, key=lambda config: self.perf_model(**self._arguments(kwargs, config)))[:most]

    # Measuring

    def _tune(self, key, configs, args, kwargs):
        begin = time.time()
        self._compile_all(configs, args, kwargs)
        if self._is_timed():
            timings = {config: self._bench(*args, config=config, **kwargs) for config in configs}
        else:
            timings = self._first_that_compiles(configs, args, kwargs)
        self.bench_time = time.time() - begin
        self.configs_timings = timings
        best = self.cache[key] = min(timings, key=lambda config: timings[config][0])
        self.pre_hook(self._arguments(kwargs, best), reset_only=True)
        if knobs.autotuning.print:
            print(f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                  f"finished after {self.bench_time:.2f}s,\nbest config selected: {best};")
        if knobs.autotuning.listener:
            knobs.autotuning.listener(fn=self.base_fn, key=key, inputs=self.nargs, args=self.nargs, bench_time=self.bench_time,
                                      configs_timings=timings, cache_hit=False, best_config=best)

    def _is_timed(self):
        from tilec.triton.backends.driver import HostDriver
        from tilec.triton.runtime.driver import driver

        return self._do_bench is not None or not isinstance(driver.active, HostDriver)

    def _check_conflicts(self, config, kwargs):
        twice = kwargs.keys() & config.kwargs.keys()
        if twice:
            raise ValueError(f"Conflicting meta-parameters: {', '.join(sorted(twice))}."
                             " Make sure that you don't re-define auto-tuned symbols.")

    def _compile_all(self, configs, args, kwargs):
        """On several threads: compilations need no GIL. What fails is said where the configuration is timed."""
        from concurrent.futures import ThreadPoolExecutor
        import os

        for config in configs:
            self._check_conflicts(config, kwargs)
        given = {name: value for name, value in kwargs.items() if name != "warmup"}
        if len(configs) < 2 or not hasattr(self.fn, "warmup") or any(config.pre_hook for config in configs):
            return
        with ThreadPoolExecutor(max_workers=min(len(configs), os.cpu_count() or 1)) as pool:
            for future in [pool.submit(self.fn.warmup, *args, **given, **config.all_kwargs()) for config in configs]:
                future.exception()

    def _first_that_compiles(self, configs, args, kwargs):
        given = {name: value for name, value in kwargs.items() if name != "warmup"}
        for config in configs:
            if config.pre_hook:  # which may say what blocks of descriptors are
                config.pre_hook(self._arguments(kwargs, config))
            try:
                self.fn.warmup(*args, **given, **config.all_kwargs())
            except self._failures():
                continue
            return {config: [math.nan] * len(QUANTILES)}
        return {configs[0]: [math.inf] * len(QUANTILES)}

    @staticmethod
    def _failures():
        from tilec.triton.compiler.errors import CompileTimeAssertionFailure

        return OutOfResources, CompileTimeAssertionFailure, PTXASError

    def _bench(self, *args, config, **meta):
        """Its milliseconds, by QUANTILES; infinite ones where it does not run."""
        self._check_conflicts(config, meta)
        if knobs.autotuning.print:
            print(f"Autotuning kernel {self.base_fn.__name__} with config {config}")
        given = {**meta, **config.all_kwargs()}
        arguments = {**self.nargs, **given}

        def launch():
            if config.pre_hook:
                config.pre_hook(arguments)
            self.pre_hook(arguments)
            error = None
            try:
                _launch(self.fn, args, given)
            except Exception as caught:
                error = caught
                raise
            finally:
                self.post_hook(arguments, exception=error)

        try:
            return self.do_bench(launch, quantiles=QUANTILES)
        except self._failures() as error:
            if knobs.autotuning.print:
                print(f"Autotuning failed with {error}")
            return [math.inf] * len(QUANTILES)

    # What other processes have measured

    def _jit(self):
        fn = self.fn
        while not isinstance(fn, JITFunction):
            fn = fn.fn
        return fn

    def _kept(self, key, configs):
        """The file of such a tuning; None: hooks cannot be told apart."""
        from tilec.triton.runtime.cache import get_cache_manager, triton_key
        from tilec.triton.runtime.driver import driver

        if not key or any(config.pre_hook for config in configs):
            return None
        fn = self._jit()
        words = [triton_key(), repr(driver.active.get_current_target()), fn.cache_key, str(key), *map(str, configs)]
        manager = get_cache_manager(hashlib.sha256("\n".join(words).encode()).hexdigest())
        return manager, f"{fn.__name__[:150]}.autotune.json"

    def _recall(self, kept, key):
        manager, name = kept
        path = manager.get_file(name)
        if not path:
            return False
        try:
            with open(path, encoding="utf-8") as file:
                timings = {Config(**config): times for config, times in json.load(file)["configs_timings"]}
            self.cache[key] = min(timings, key=timings.get)
        except (OSError, ValueError, KeyError, TypeError):
            return False  # of another version, or damaged: measured anew
        self.configs_timings = timings
        return True

    def _keep(self, kept, key):
        manager, name = kept
        timings = [(vars(config), times) for config, times in self.configs_timings.items()]
        manager.put(json.dumps({"key": [str(each) for each in key], "configs_timings": timings}), name, binary=False)


def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None,
             rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """A decorator behind @jit: each call uses the fastest of `configs`, found once for each value of the arguments that `key` names
    and the types of all arrays.

    `prune_configs_by`: {"early_config_prune": f(configs, named_args, **kwargs) -> configs, "perf_model": f(**arguments) -> cost,
    "top_k": how many, or which part, of the cheapest}. `reset_to_zero`, `restore_value`: arrays that are zeroed, or put back, for each
    run that is measured. `pre_hook(arguments, reset_only=False)`, `post_hook(arguments, exception)` go around each of these runs.
    `do_bench(launch, quantiles)` measures. `cache_results`: other processes find what was measured, by files."""

    def decorate(fn):
        return Autotuner(fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook=pre_hook, post_hook=post_hook,
                         prune_configs_by=prune_configs_by, warmup=warmup, rep=rep, use_cuda_graph=use_cuda_graph, do_bench=do_bench,
                         cache_results=cache_results)

    return decorate


class Heuristics(KernelInterface):
    """A kernel with arguments that follow from others."""

    def __init__(self, fn, arg_names, values):
        self.fn, self.arg_names, self.values = fn, arg_names, values

    def _fill(self, args, kwargs):
        for name, heuristic in self.values.items():
            kwargs[name] = heuristic({**dict(zip(self.arg_names, args)), **kwargs})
        return kwargs

    def run(self, *args, **kwargs):
        return _launch(self.fn, args, self._fill(args, kwargs))

    def warmup(self, *args, **kwargs):
        return self.fn.warmup(*args, **self._fill(args, kwargs))


def heuristics(values):
    """A decorator: `values` has a function for each argument that it sets, of a dict of the other arguments."""

    def decorate(fn):
        return Heuristics(fn, fn.arg_names, values)

    return decorate
