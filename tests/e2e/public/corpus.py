"""A folder of public kernels, as the judge of tests/e2e/public reads it.

    kernels/index.jsonl   a kernel a line: id ("repository:path:line:name"), file, kernel, signature, constexprs, divisible16, equal_to_1,
                          num_warps, num_stages, and, if known, grid_rank (axes of the grid)
    kernels/*.py          the kernels, each in one file with what it calls
    args.jsonl            by id: grid, args {parameter: number or recipe}, constexprs to replace; why, where there are none

A recipe describes a flat array of n elements whose first is where the pointer points: ["randn", type, n], ["rand", type, n, low, high],
["zeros", type, n], ["ones", type, n], ["full", type, n, value], ["arange", type, n, start, step], ["randint", type, n, low, high],
["mod", type, n, m] (i % m), ["div", type, n, m] (i // m), ["chunks", type, n, m] (pairs j // m, j % m), ["clip", type, n, step, high]
(min(i * step, high)), ["values", type, n, [value, ..]]. Nothing of such a folder belongs to the project; exceptions.tsv names kernels and says why they are exceptions."""
import json
import os
import re
import sys
import zlib

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "kernels"))
from cases import FP8, from_bf16_bits, fp8_values, to_bf16_bits, to_fp8_bits  # noqa: E402

EXCEPTIONS = os.path.join(HERE, "exceptions.tsv")
# What a file holds for each element type.
STORED = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "bf16": np.uint16, "fp8e4nv": np.uint8, "fp8e5": np.uint8,
          "i1": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32,
          "i64": np.int64, "u64": np.uint64}
FLOATS = ("fp64", "fp32", "fp16", "bf16", "fp8e4nv", "fp8e5")


def encode(values, dtype):
    """float64 or integer values as the stored elements of a type."""
    if dtype == "bf16":
        return to_bf16_bits(values)
    if dtype in FP8:
        return to_fp8_bits(np.asarray(values, np.float64), dtype)
    return np.asarray(values).astype(STORED[dtype])


def decode(stored, dtype):
    """Stored elements of a float type as float64."""
    if dtype == "bf16":
        return from_bf16_bits(stored).astype(np.float64)
    return fp8_values(dtype)[stored] if dtype in FP8 else stored.astype(np.float64)


def build(recipe, seed):
    """The stored elements that a recipe describes; the same for the same seed."""
    kind, dtype, n, *v = recipe
    rng = np.random.default_rng(seed)
    if kind == "randn":
        return encode(rng.standard_normal(n, np.float32), dtype)
    if kind == "rand":
        return encode(rng.random(n, np.float32) * (v[1] - v[0]) + v[0], dtype)
    if kind == "randint":
        return encode(rng.integers(v[0], v[1], n), dtype)
    if kind == "values":
        return encode(v[0][:n], dtype)
    if kind in ("zeros", "ones", "full"):
        return encode(np.full(n, {"zeros": 0, "ones": 1}.get(kind, v[0] if v else 0)), dtype)
    i = np.arange(n, dtype=np.int64)
    values = {"arange": lambda: v[0] + i * v[1], "mod": lambda: i % v[0], "div": lambda: i // v[0],
              "chunks": lambda: np.where(i % 2, i // 2 % v[0], i // 2 // v[0]), "clip": lambda: np.minimum(i * v[0], v[1])}
    return encode(values[kind](), dtype)


def literal(value):
    """A constexpr of the index as Python text."""
    if isinstance(value, dict):
        if "dtype" in value:
            return "tl." + value["dtype"]
        if "float" in value:
            return f"float('{value['float']}')"
        return "(" + "".join(literal(x) + ", " for x in value["tuple"]) + ")"
    return repr(value)


class Kernel:
    """One kernel: what the index says of it and, where there are any, the arguments to run it with.

    `grid` is None where there are none to run with, and `why` then says why."""

    def __init__(self, folder, entry, arguments):
        self.id = entry["id"]
        self.name = self.id.rsplit(":", 1)[0]
        self.path = os.path.join(folder, "kernels", entry["file"])
        self.kernel, self.signature = entry["kernel"], entry["signature"]
        self.divisible, self.ones = set(entry["divisible16"]), set(entry["equal_to_1"])
        self.num_warps, self.num_stages = entry["num_warps"], entry["num_stages"]
        self.rank = entry.get("grid_rank") or 1
        known = bool(arguments) and "args" in arguments
        self.grid = tuple(arguments["grid"]) if known else None
        self.args = arguments["args"] if known else {}
        self.why = "" if known else (arguments or {}).get("why", "no arguments")
        # What the index compiles with, and what the launch needs instead.
        self.constexprs = {n: entry["constexprs"].get(n) for n, t in self.signature.items() if t == "constexpr"}
        self.launch_constexprs = {**self.constexprs, **(arguments.get("constexprs", {}) if known else {})}

    def arithmetic(self):
        """What the kernel computes with, as difference.py's tolerances distinguish it: "narrow" types, "products", or "plain" otherwise."""
        with open(self.path) as file:
            source = file.read()
        types = " ".join(t for t in self.signature.values() if isinstance(t, str))
        if re.search(r"\b(fp16|bf16|fp8\w+)\b", types) or re.search(r"\bb?float(16|8)", source):
            return "narrow"
        return "products" if re.search(r"\bdot\b", source) else "plain"

    def arrays(self):
        """Parameter -> (element type, stored elements)."""
        return {n: (r[1], build(r, zlib.crc32(f"{self.id}/{n}".encode()))) for n, r in self.args.items() if isinstance(r, list)}

    def options(self):
        """What all commands about the kernel have in common."""
        return [self.path, "-k", self.kernel, "--num-warps", str(self.num_warps), "--num-stages", str(self.num_stages),
                "--json", "--cache-dir", "none"]

    def types(self):
        """The command line's types of the index's signature."""
        out = []
        for n, t in self.signature.items():
            if t == "constexpr":
                out += ["-D", f"{n}={literal(self.constexprs[n])}"]
                continue
            spelled = t if isinstance(t, str) else "(" + ", ".join(t) + ")"
            out += ["-a", f"{n}={spelled}{':1' if n in self.ones else ':16' if n in self.divisible else ''}"]
        return out

    def data(self, files):
        """The command line's arguments of a launch; `files` has the .npy file of each array."""
        out = []
        for n, t in self.signature.items():
            if t == "constexpr":
                out += ["-D", f"{n}={literal(self.launch_constexprs[n])}"]
            elif n in files:
                dtype = t[1:]
                out += ["-a", f"{n}=@{dtype + ':' if dtype == 'bf16' or dtype in FP8 else ''}{files[n]}"]
            else:
                value = self.args[n]
                out += ["-a", f"{n}={int(value) if t == 'i1' else value}{'' if t == 'i32' else ':' + t}"]
        return out


def read(folder, only=None):
    """The kernels of a folder whose id contains the text, in the index's order."""
    with open(os.path.join(folder, "args.jsonl")) as file:
        arguments = {line["id"]: line for line in map(json.loads, file)}
    with open(os.path.join(folder, "kernels", "index.jsonl")) as file:
        kernels = [Kernel(folder, entry, arguments.get(entry["id"])) for entry in map(json.loads, file)]
    return [k for k in kernels if not only or only in k.id]


def exceptions(device):
    """name -> (state, reason) of the kernels that exceptions.tsv has for a device, "cpu" or "cuda"."""
    found = {}
    with open(EXCEPTIONS) as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            if len(fields) != 4:
                raise SystemExit(f"{EXCEPTIONS}:{number}: four fields divided by tabs: devices, kernel, state, reason")
            if device in fields[0].split(","):
                found[fields[1]] = (fields[2], fields[3])
    return found


def folder_of_kernels(argument):
    """The folder that the command line or TILEC_PUBLIC_KERNELS names, else shared/public beside the repository; None if that is not there.

    Ends the process where the folder that was named is none."""
    named = argument or os.environ.get("TILEC_PUBLIC_KERNELS")
    path = os.path.abspath(named or os.path.join(HERE, "..", "..", "..", "..", "shared", "public"))
    if os.path.exists(os.path.join(path, "kernels", "index.jsonl")):
        return path
    if named:
        print(f"run.py: {path} has no kernels/index.jsonl", file=sys.stderr)
        sys.exit(2)
    return None
