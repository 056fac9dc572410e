"""Settings that are environment variables until a program sets them; hooks; what a compilation took."""
import functools
import os
from contextlib import contextmanager
from dataclasses import dataclass


class Env:
    """`knobs.env` as a value: what the environment says."""


env = Env()
# Called with nothing whenever a setting or a chain of hooks changes: launchers read these once.
watchers = []
_ABSENT = object()


def changed():
    for watcher in watchers:
        watcher()


def getenv(key, default=None):
    return os.environ.get(key, default)


def getenv_bool(key, default=False):
    value = os.environ.get(key)
    return default if value is None else value.lower() in ("1", "true", "yes", "on", "y")


def setenv(key, value):
    """What a program sets goes to the processes that it starts, unless knobs.propagate_env is false."""
    from tilec.triton import knobs

    if knobs.propagate_env:
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def toenv(val):
    """(text,) of a value that a variable can hold, (None,) of None, None of others."""
    if val is None or type(val) is str:
        return (val,)
    if type(val) is bool:
        return ("1" if val else "0",)
    return (str(val),) if type(val) is int else None


class env_base:
    """A setting: what a program set, else what `get` reads. `instead`: of one that tilec does not follow, what to use."""

    def __init__(self, key, default=None, instead=None):
        self.key, self.default, self.instead = key, default, instead

    def __set_name__(self, objclass, name):
        self.name = name

    def __get__(self, obj, objclass=None):
        if obj is None:
            return self
        value = obj.__dict__.get(self.name, _ABSENT)
        return self.get() if value is _ABSENT else self.transform(value)

    def get(self):
        raise NotImplementedError(f"{type(self).__name__} reads nothing")

    def transform(self, val):
        return val

    def __set__(self, obj, value):
        if isinstance(value, Env):
            obj.__dict__.pop(self.name, None)
        else:
            obj.__dict__[self.name] = value
            text = toenv(value)
            if text:
                setenv(self.key, text[0])
        changed()

    def __delete__(self, obj):
        obj.__dict__.pop(self.name, None)
        changed()


class env_str(env_base):
    def get(self):
        return getenv(self.key, self.default)


class env_opt_str(env_str):
    pass


class env_str_callable_default(env_base):
    def get(self):
        value = getenv(self.key)
        return self.default() if value is None else value


class env_bool(env_base):
    def __init__(self, key, default=False, instead=None):
        super().__init__(key, default, instead)

    def get(self):
        return getenv_bool(self.key, self.default)


class env_opt_bool(env_base):
    def get(self):
        return getenv_bool(self.key, None)


class env_int(env_base):
    def __init__(self, key, default=0, instead=None):
        super().__init__(key, default, instead)

    def get(self):
        value = getenv(self.key)
        try:
            return self.default if value is None else int(value)
        except ValueError as error:
            raise RuntimeError(f"Unable to use {self.key}={value}: expected int") from error


class env_class(env_base):
    """MODULE:CLASS, of a class that is called `type` or has one of that name among its bases."""

    def __init__(self, key, type, instead=None):
        super().__init__(key, None, instead)
        self.type = type

    def get(self):
        value = getenv(self.key)
        if value is None:
            return None
        module, separator, name = value.partition(":")
        if not separator:
            raise RuntimeError(f"Unable to read {self.key}: '{value}' isn't of the form MODULE:CLASS")
        from importlib import import_module

        found = getattr(import_module(module), name)
        if self.type not in (base.__name__ for base in found.mro()):
            raise RuntimeError(f"Unable to use '{value}' from {self.key}: not of type '{self.type}'")
        return found


@dataclass
class NvidiaTool:
    """A program of CUDA's, and the version that it says it has: "13.1"."""

    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path):
        """None where there is no such program."""
        import re
        import subprocess

        try:
            said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        version = re.search(r"\brelease (\d+\.\d+)", said.decode("utf-8", "replace"))
        return NvidiaTool(path, version.group(1)) if version else None


class env_nvidia_tool(env_base):
    """TRITON_<NAME>_PATH, then where libtilec looks, then wheels of CUDA's."""

    def __init__(self, binary):
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")
        self.binary = binary

    def get(self):
        return self.transform(getenv(self.key))

    def _places(self):
        import glob
        import shutil
        import site
        import sysconfig

        if self.binary == "ptxas":
            yield getenv("TILEC_PTXAS")
        for home in ("CUDA_HOME", "CUDA_PATH"):
            yield os.path.join(getenv(home, ""), "bin", self.binary) if getenv(home) else None
        yield shutil.which(self.binary)
        yield os.path.join("/usr/local/cuda/bin", self.binary)
        for folder in {sysconfig.get_path("purelib"), *site.getsitepackages()}:
            yield from sorted(glob.glob(os.path.join(folder, "nvidia", "cu*", "bin", self.binary)))
            yield os.path.join(folder, "triton", "backends", "nvidia", "bin", self.binary)

    def transform(self, path):
        for place in (path, *self._places()):
            tool = NvidiaTool.from_path(place) if place else None
            if tool:
                return tool
        raise RuntimeError(f"Cannot find {self.binary}: {self.key} may say where it is")


class base_knobs:
    """A group of settings. Those of `hidden` are plain attributes."""

    @property
    def knob_descriptors(self):
        return {name: value for name, value in type(self).__dict__.items() if isinstance(value, env_base)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        changed()

    def copy(self):
        made = type(self)()
        made.__dict__.update(self.__dict__)
        return made

    def reset(self):
        """Forgets what was set: the environment counts again."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self):
        """Settings and their variables are afterwards what they were."""
        variables = {knob.key: getenv(knob.key) for knob in self.knob_descriptors.values()}
        held = dict(self.__dict__)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(held)
            for key, value in variables.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
            changed()


class HookChain:
    """Functions that are called one after another, each once; `reversed`: the last one first."""

    def __init__(self, reversed=False):
        self.calls = []
        self.reversed = reversed

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)
            changed()

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)
            changed()

    def __call__(self, *args, **kwargs):
        for call in reversed(self.calls) if self.reversed else [*self.calls]:
            call(*args, **kwargs)


@dataclass(frozen=True)
class CompileTimes:
    """What a compilation took, in microseconds; `lowering_stages`: [(name, microseconds)]."""

    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self):
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self):
        return self.ir_initialization + self.total_lowering + self.store_results
