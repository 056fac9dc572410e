"""Records the launches that a project's own functions make, without a GPU, as a folder of kernels for `bench/public.py --as-launched`.

    $TRITON_PYTHON record_launches.py CASES.py FOLDER      needs torch and Triton

CASES.py says what to call; it runs with these names:

    project("vllm", PATH)       where a package is that is taken without its __init__.py, and whose modules are stand-ins where they cannot be
                                loaded, as are packages that it imports and this machine lacks
    load("vllm.x.y")            one of its modules, or an error that says why it cannot be loaded
    @case("name", (0, 3))       calls the function, once for each number of a configuration that autotuning is to take

Tensors are on the CPU, whatever device is asked for, and launches do nothing: what a function computes of their results is wrong, what it
launches by their shapes is right. Arrays of integers keep their values, up to 2^17, all others become random numbers (corpus.py has the recipes).
Launches that need what Triton's language has not are left out, and named."""
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import sys
import traceback
import types

import torch
import triton.language as tl
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from flatten import CannotFlatten, Flattened, dtype_name

MOST_VALUES = 1 << 17
TYPES = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float8_e4m3fn: "fp8e4nv",
         torch.float8_e5m2: "fp8e5", torch.bool: "i1", torch.int8: "i8", torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32",
         torch.int64: "i64", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}


class StandIn:
    """Of what cannot be loaded: anything, and false."""

    def __init__(self, name):
        self.stands_for = name

    def __call__(self, *arguments, **named):
        decorates = len(arguments) == 1 and not named and callable(arguments[0]) and not isinstance(arguments[0], StandIn)
        return arguments[0] if decorates else StandIn(self.stands_for + "()")

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self.stands_for}.{name}")

    def __getitem__(self, key):
        return StandIn(self.stands_for + "[]")

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __add__(self, other):
        return other

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __or__ = __ror__ = __add__

    def __lt__(self, other):
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __mro_entries__(self, bases):
        return ()


class Projects(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages by name -> folder in which they are, and why modules of theirs are stand-ins."""

    def __init__(self):
        self.folders, self.failed, self.missing = {}, {}, set()

    def path(self, name):
        """Without ".py" where it is a module; None: there is none."""
        top = name.split(".")[0]
        base = os.path.join(self.folders[top], *name.split(".")) if top in self.folders else ""
        return base if os.path.isdir(base) or os.path.isfile(base + ".py") else None

    def find_spec(self, name, path, target=None):
        top = name.split(".")[0]
        if top in self.folders:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        frame = sys._getframe(1)  # pylint: disable=protected-access
        while frame and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        asker = frame.f_globals.get("__name__", "") if frame else ""
        wanted = top in self.missing or asker.split(".")[0] in self.folders
        if not wanted or importlib.machinery.PathFinder.find_spec(name, path):
            return None
        self.missing.add(top)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        finder = self

        class Module(types.ModuleType):
            def __getattr__(self, name):
                if name.startswith("__") and name.endswith("__"):
                    raise AttributeError(name)
                inner = f"{self.__name__}.{name}"
                return importlib.import_module(inner) if finder.path(inner) else StandIn(inner)

        return Module(spec.name)

    def exec_module(self, module):
        base = self.path(module.__name__)
        module.__path__ = [base] if base and os.path.isdir(base) else []
        if not base or os.path.isdir(base):
            return
        module.__file__ = base + ".py"
        try:
            with open(module.__file__, encoding="utf-8") as file:
                exec(compile(file.read(), module.__file__, "exec"), module.__dict__)  # pylint: disable=exec-used
        except Exception as error:
            self.failed[module.__name__] = f"{type(error).__name__}: {error}"[:200]


class OnCpu(TorchFunctionMode):
    """What asks for a tensor on the GPU gets one on the CPU."""

    def __torch_function__(self, function, kinds, arguments=(), named=None):
        named = dict(named or {})
        if "cuda" in str(named.get("device")):
            named["device"] = "cpu"
        moved = ["cpu" if isinstance(x, (str, torch.device)) and str(x).startswith("cuda") else x for x in arguments]
        return function(*moved, **named)


class Driver:
    """Of a GPU that is not there."""

    class utils:
        @staticmethod
        def get_device_properties(_):
            return {"multiprocessor_count": 132, "max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32}

    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda _=0: 0)
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))


def pretend_there_is_a_gpu():
    properties = types.SimpleNamespace(multi_processor_count=132, major=9, minor=0, name="NVIDIA H200", total_memory=140 << 30, warp_size=32,
                                       shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472, L2_cache_size=50 << 20)
    answers = {"get_device_properties": properties, "get_device_capability": (9, 0), "get_device_name": "NVIDIA H200", "is_available": True,
               "current_device": 0, "synchronize": None, "current_stream": types.SimpleNamespace(cuda_stream=0),
               "device": contextlib.nullcontext(), "device_of": contextlib.nullcontext()}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    torch.Tensor.is_cuda = property(lambda _: True)
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor
    driver.set_active(Driver())


class Recorder:
    """Stands for launches and autotuning while it is `installed`."""

    def __init__(self):
        self.launches, self.case, self.configuration = [], "", 0

    def install(self):
        JITFunction.run = lambda function, *arguments, **named: self.launch(function, arguments, named)
        Autotuner.run = lambda tuner, *arguments, **named: self.tune(tuner, arguments, named)

    def launch(self, function, arguments, named):
        grid = named.pop("grid")
        named.pop("warmup", None)
        values = dict(zip(function.arg_names, arguments)) | {n: v for n, v in named.items() if n in function.arg_names}
        for parameter in function.params:
            if parameter.name not in values and parameter.has_default:
                values[parameter.name] = parameter.default
        grid = grid(values) if callable(grid) else grid
        grid = [int(n) for n in (grid if isinstance(grid, (tuple, list)) else (grid,))]
        options = {n: v for n, v in named.items() if n not in function.arg_names}
        self.launches.append((self.case, function, values, options, grid + [1] * (3 - len(grid))))
        return types.SimpleNamespace(n_regs=0, n_spills=0, asm={})

    def tune(self, tuner, arguments, named):
        tuner.nargs = dict(zip(tuner.arg_names, arguments))
        configurations = tuner.prune_configs(named) if len(tuner.configs) > 1 else tuner.configs
        tuner.best_config = chosen = configurations[self.configuration % len(configurations)]
        if chosen.pre_hook:
            chosen.pre_hook(tuner.nargs | named | chosen.all_kwargs())
        return tuner.fn.run(*arguments, **named, **chosen.all_kwargs())


def recipe(tensor):
    """Of all elements from the first on."""
    kind = TYPES[tensor.dtype]
    count = max(1, tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset())
    if kind[0] not in "iu" or kind == "i1":
        return ["randint", kind, count, 0, 2] if kind == "i1" else ["randn", kind, count]
    flat = torch.as_strided(tensor, (count,), (1,), tensor.storage_offset()).to(torch.int64)
    first, step = int(flat[0]), int(flat[1] - flat[0]) if count > 1 else 0
    if (flat == first + torch.arange(count) * step).all():
        return ["arange", kind, count, first, step]
    if count <= MOST_VALUES:
        return ["values", kind, count, flat.tolist()]
    return ["randint", kind, count, max(int(flat.min()), -128), min(int(flat.max()) + 1, 128)]


def constant(value):
    value = value.value if isinstance(value, tl.constexpr) else value
    if isinstance(value, tl.dtype):
        return {"dtype": dtype_name(value)}
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return {"float": str(value)}
    if isinstance(value, (tuple, list)):
        return {"tuple": [constant(x) for x in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise CannotFlatten(f"a constant that is a {type(value).__name__}")


def described(function, values):
    """(what the index says of the parameters, the arguments)."""
    entry, arguments = {"signature": {}, "constexprs": {}, "divisible16": [], "equal_to_1": []}, {}
    for parameter in function.params:
        name, value = parameter.name, values[parameter.name]
        value = False if isinstance(value, StandIn) else value
        if isinstance(value, torch.Tensor) and not parameter.is_constexpr:
            entry["signature"][name], arguments[name] = "*" + TYPES[value.dtype], recipe(value)
            aligned = value.data_ptr() % 16 == 0
        elif isinstance(value, (bool, int, float)) and not parameter.is_constexpr:
            wide = isinstance(value, int) and not -2**31 <= value < 2**31
            kind = "i1" if isinstance(value, bool) else "fp32" if isinstance(value, float) else "i64" if wide else "i32"
            entry["signature"][name], arguments[name] = kind, int(value) if kind == "i1" else value
            told = kind[0] == "i" and kind != "i1" and not parameter.do_not_specialize
            aligned = told and value % 16 == 0
            entry["equal_to_1"] += [name] * (told and value == 1)
        elif value is None or parameter.is_constexpr or isinstance(value, (str, tl.dtype, tl.constexpr)):
            entry["signature"][name], entry["constexprs"][name], aligned = "constexpr", constant(value), False
        else:
            raise CannotFlatten(f"an argument that is a {type(value).__name__}")
        entry["divisible16"] += [name] * aligned
    return entry, arguments


def save(folder, recorder, projects):
    os.makedirs(os.path.join(folder, "kernels"), exist_ok=True)
    index, all_arguments, seen, left = [], [], set(), set()
    for case, function, values, options, grid in recorder.launches:
        name, path = function.fn.__name__, inspect.getsourcefile(function.fn)
        try:
            entry, arguments = described(function, values)
            text = Flattened(function).text()
        except CannotFlatten as error:
            left.add(f"{case}, {name}: {error}")
            continue
        key = json.dumps([text, entry, options.get("num_warps"), options.get("num_stages"), arguments, grid])
        if key in seen:
            continue
        seen.add(key)
        top = next((n for n, at in projects.folders.items() if path.startswith(os.path.join(at, n) + os.sep)), "kernels")
        ident = f"{top}:{os.path.relpath(path, projects.folders.get(top, os.path.dirname(path)))}:{case}.{len(index)}:{name}"
        file = f"{len(index):04d}_{name}.py"
        with open(os.path.join(folder, "kernels", file), "w", encoding="utf-8") as out:
            out.write(f"# {ident}\n{text}")
        rank = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
        index.append({"id": ident, "file": file, "kernel": name, "repo": top, "grid_rank": rank, "num_warps": options.get("num_warps", 4),
                      "num_stages": options.get("num_stages", 3), **entry})
        all_arguments.append({"id": ident, "state": "valid", "why": "", "grid": grid, "args": arguments})
    for file, lines in (("kernels/index.jsonl", index), ("args.jsonl", all_arguments)):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
    print(f"{len(recorder.launches)} launches, {len(index)} of them kept")
    for line in sorted(left):
        print(f"left out: {line}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    projects, recorder = Projects(), Recorder()
    sys.meta_path.insert(0, projects)
    pretend_there_is_a_gpu()
    recorder.install()

    def load(name):
        if not projects.path(name):
            raise RuntimeError(f"{name}: there is no such module")
        module = importlib.import_module(name)
        if name in projects.failed:
            raise RuntimeError(f"{name}: {projects.failed[name]}")
        return module

    def case(name, configurations=(0,)):
        def call(function):
            for recorder.configuration in configurations:
                recorder.case = f"{name}-{recorder.configuration}" if len(configurations) > 1 else name
                try:
                    with OnCpu():
                        function()
                except Exception as error:
                    at = traceback.extract_tb(error.__traceback__)[-1]
                    print(f"{recorder.case}: {type(error).__name__}: {error} ({at.filename}:{at.lineno})"[:300])
            return function
        return call

    names = {"project": projects.folders.__setitem__, "load": load, "case": case, "torch": torch, "tl": tl, "__name__": "cases"}
    with open(sys.argv[1], encoding="utf-8") as file:
        exec(compile(file.read(), sys.argv[1], "exec"), names)  # pylint: disable=exec-used
    save(sys.argv[2], recorder, projects)
    return 0 if recorder.launches else 1


if __name__ == "__main__":
    sys.exit(main())
