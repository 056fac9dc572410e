"""What a launch from Python takes where nothing has changed: 3, 12 and 30 arguments, by tilec and, where it is installed, by Triton.

    python launch.py [--seconds S]     prints JSON: microseconds of kernel[grid](..), by arguments; `empty` is a call of Python's own

With torch and a GPU arguments are its tensors; else objects that have what tensors are asked for, for a driver that does nothing
(TILEC_CUDA_LIBRARY=tests/runtime/libfake_cuda.so). Each figure is the least of seven runs, between which the device is waited for."""
import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time

TENSORS = {3: 2, 12: 4, 30: 10}  # of so many arguments; the last one is a constexpr
RUNS = 7


def source(module, count):
    names = [f"a{i}" for i in range(count - 1)]
    return (f"import {module} as triton\nimport {module}.language as tl\n\n\n@triton.jit\ndef kernel({', '.join(names)}, BLOCK: tl.constexpr):\n"
            f"    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    tl.store(a0 + i, tl.load(a1 + i), mask=i < "
            f"{names[-1] if count > TENSORS[count] + 1 else 'BLOCK'})\n")


def load(module, count, folder):
    path = os.path.join(folder, f"{module.replace('.', '_')}_{count}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source(module, count))
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.kernel


class Array:
    """Memory that a driver of no device is told of."""

    is_cuda, dtype = True, "float32"

    def __init__(self, address):
        self.data_ptr = address.__index__
        self.device = type("Device", (), {"index": 0, "__str__": lambda self: "cuda:0"})()


def arguments(count, torch):
    tensors = [torch.zeros(4096, device="cuda") if torch else Array(1 << 20 | i << 14) for i in range(TENSORS[count])]
    return tensors + [1024 + 48 * i for i in range(count - 1 - TENSORS[count])]


def measure(call, synchronize, seconds):
    """Microseconds of one call."""
    call()
    begin = time.perf_counter()
    for _ in range(100):
        call()
    once = max((time.perf_counter() - begin) / 100, 1e-8)
    count = max(100, min(int(seconds / once / RUNS), 20000))  # fewer than a full queue makes wait, if launches are quick
    best = float("inf")
    for _ in range(RUNS):
        synchronize()
        numbers = range(min(count, 1000))
        total = 0.0
        for _ in range(-(-count // 1000)):
            begin = time.perf_counter()
            for _ in numbers:
                call()
            total += time.perf_counter() - begin
            synchronize()
        best = min(best, total / (len(numbers) * -(-count // 1000)))
    return round(best * 1e6, 3)


def calls(kernel, given, block=128):
    """As programs write it: by place and by keyword; in a function, whose call `empty` is."""
    grid = (8,)
    scope = {"kernel": kernel, "grid": grid, **{f"v{i}": value for i, value in enumerate(given)}}
    values = ", ".join(f"v{i}" for i in range(len(given)))
    text = (f"def plain(): kernel[grid]({values}, {block})\ndef keyword(): kernel[grid]({values}, BLOCK={block})\n"
            f"def options(): kernel[grid]({values}, BLOCK={block}, num_warps=4)\n"
            f"def computed(): kernel[lambda meta: (8,)]({values}, BLOCK={block})\ndef empty(): pass\n")
    exec(text, scope)
    return {name: scope[name] for name in ("plain", "keyword", "options", "computed", "empty")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="for one figure")
    wanted = parser.parse_args()
    torch = None
    if importlib.util.find_spec("torch"):
        import torch
        torch = torch if torch.cuda.is_available() else None
    synchronize = torch.cuda.synchronize if torch else lambda: None
    found = {"python": sys.version.split()[0], "torch": torch and torch.__version__, "device": torch and torch.cuda.get_device_name()}
    modules = ["tilec.triton"] + (["triton"] if torch and importlib.util.find_spec("triton") else [])
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            rows = found[module] = {"version": importlib.import_module(module).__version__}
            for count in TENSORS:
                kernel, given = load(module, count, folder), arguments(count, torch)
                rows[count] = {name: measure(call, synchronize, wanted.seconds) for name, call in calls(kernel, given).items()}
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
