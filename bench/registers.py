#!/usr/bin/env python3
"""Registers, spills and hot loops of products beside the same source under Triton; no GPU is needed.

    $TRITON_PYTHON bench/registers.py --tilec build/release/src/cli/tilec [--filter TEXT] [--arch 80]

Both compile for the same warps and stages, and one ptxas assembles both. The hot loop is the one with the most
matrix instructions; disassembled by the nvdisasm that comes with Triton. Fails where tilec takes more registers or more
instructions than Triton, or spills what Triton does not.
"""
import argparse
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NVDISASM = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "nvdisasm")
SHOWN = "{:52} {:>5} {:>9} {:>9} {:>13} {:>13} {:>9}"


@dataclass
class Row:
    """A launch: types of arguments as `tilec compile -s` takes them, and constexprs."""

    name: str
    file: str
    kernel: str
    types: dict
    constants: dict
    warps: int = 0  # 0: what tilec chooses, for Triton too
    stages: int = 3


@dataclass
class Code:
    registers: int
    spilled: int  # bytes, stores and loads together
    loop: list = field(default_factory=list)  # mnemonics

    def count(self, name):
        return sum(insn.startswith(name) for insn in self.loop)


def matmul(dtype, m, n, k, warps, b="n", stages=3, out="fp16", aligned=True, a="n"):
    """The plain product of tests/e2e/tensor, each operand by rows (n) or by columns (t)."""
    size, stride = ("i32:16", "i32:16") if aligned else ("i32", "i32")
    pointer = f"*{dtype}:16"
    types = dict(a_ptr=pointer, b_ptr=pointer, c_ptr=f"*{out}:16", M="i32", N=size, K=size)
    types.update(zip(("stride_am", "stride_ak"), (stride, "1") if a == "n" else ("1", stride)))
    types.update(zip(("stride_bk", "stride_bn"), (stride, "1") if b == "n" else ("1", stride)))
    types.update(stride_cm=stride, stride_cn="1")
    said = f"{m} x {n} x {k}, {a}{b}, {dtype}, {stages} stages{'' if aligned else ', unaligned'}"
    return Row(said, "tests/e2e/tensor/Inputs/matmul.tile", "matmul", types,
               dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, PRECISION="tf32"), warps, stages)


def attention(m, n, dim, warps, causal=False, stages=3):
    pointers = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "*fp16:16")
    types = pointers | dict(lse_ptr="*fp32:16", q_start_ptr="*i32:16", k_start_ptr="*i32:16", slopes_ptr="*fp32:16")
    types |= {f"stride_{tensor}{dim_}": "i32:16" for tensor in "qkvo" for dim_ in ("b", "h", "n" if tensor in "kv" else "m")}
    types |= dict(queries="i32", keys="i32", scale="fp32")
    return Row(f"attention {m} x {n}, head {dim}{', causal' if causal else ''}, {stages} stages", "kernels/attention.tile",
               "attention_forward", types, dict(HEAD_DIM=dim, BLOCK_M=m, BLOCK_N=n, CAUSAL=causal), warps, stages)


ROWS = (
    matmul("fp16", 128, 128, 32, 4),
    matmul("fp16", 128, 128, 32, 8),
    matmul("fp16", 128, 128, 64, 8, b="t"),
    matmul("fp16", 64, 64, 64, 4),
    matmul("fp16", 128, 128, 32, 4, b="t", stages=4),
    matmul("bf16", 128, 256, 32, 8),
    matmul("fp16", 128, 64, 32, 4, stages=4),
    matmul("fp32", 128, 128, 32, 8),
    matmul("fp32", 64, 64, 32, 4, b="t"),
    matmul("fp16", 128, 128, 64, 4),
    matmul("fp16", 128, 256, 64, 8),
    matmul("fp16", 64, 128, 64, 4, a="t"),
    matmul("fp16", 128, 256, 64, 0),
    matmul("fp16", 256, 128, 64, 0, b="t"),
    matmul("fp16", 128, 128, 64, 0),
    matmul("fp16", 128, 128, 64, 0, aligned=False),
    matmul("fp16", 128, 128, 64, 0, a="t", aligned=False),
    matmul("fp16", 128, 128, 64, 0, b="t", aligned=False),
    matmul("fp16", 64, 64, 16, 0),
    attention(128, 64, 64, 0),
    attention(128, 64, 64, 0, causal=True),
    attention(128, 64, 128, 0),
    attention(64, 64, 64, 0),
    attention(64, 32, 128, 0),
)


def signature(row):
    """`NAME=TYPE` for each argument, constexprs as literals."""
    options = []
    for name, type_ in row.types.items():
        options += ["-a", f"{name}={type_}"]
    for name, value in row.constants.items():
        options += ["-D", f"{name}={value!r}"]
    return options


def by_tilec(options, row, folder):
    """PTX, as tilec leaves it once ptxas has told of spills, and the warps it is for."""
    dump = os.path.join(folder, "dump")
    command = [options.tilec, "compile", os.path.join(ROOT, row.file), "-k", row.kernel, "--target", f"sm_{options.arch}",
               "--cache-dir", "none", "--num-stages", str(row.stages), "-o", os.path.join(folder, "tilec.ptx"),
               "--dump-dir", dump] + signature(row)
    if row.warps:
        command += ["--num-warps", str(row.warps)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{row.name}: tilec says\n{done.stderr}")
    with open(os.path.join(dump, "kernel.ptx")) as file:
        text = file.read()
    threads = re.search(r"\.reqntid (\d+)", text)
    return text, int(threads.group(1)) // 32


def kernel_of(row):
    path = os.path.join(ROOT, row.file)
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path).replace(".", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return getattr(module, row.kernel)


def by_triton(options, row, warps):
    kernel = kernel_of(row)
    types, constants, attributes = {}, {}, {}
    for index, name in enumerate(kernel.arg_names):
        written = row.types.get(name)
        if written is None:
            types[name] = "constexpr"
            constants[(index,)] = row.constants.get(name, kernel.params[index].default)
        elif written == "1":
            types[name] = "constexpr"
            constants[(index,)] = 1
        else:
            types[name] = written.split(":")[0]
            if written.endswith(":16"):
                attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", options.arch, 32),
                              options={"num_warps": warps, "num_stages": row.stages})
    return compiled.asm["ptx"]


def hot_loop(text):
    """Mnemonics of the loop with the most matrix instructions."""
    labels, insns, best = {}, [], (0, 0, 0)
    for line in text.splitlines():
        label = re.match(r"\s*(\.L_x_\d+):", line)
        if label:
            labels[label.group(1)] = len(insns)
        insn = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", line)
        if insn:
            insns.append(re.sub(r"^@!?U?P\d+ ", "", insn.group(1).strip("{ ")))
        jump = insn and re.search(r"BRA.*`\((\.L_x_\d+)\)", insn.group(1))
        if jump and jump.group(1) in labels:
            first = labels[jump.group(1)]
            products = sum("MMA" in one for one in insns[first:])
            best = max(best, (products, -first, len(insns)))
    return [insn.split()[0] for insn in insns[-best[1]:best[2]]] if best[0] else []


def assemble(options, ptx, folder):
    source, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    with open(source, "w") as file:
        file.write(ptx)
    arch = f"sm_{options.arch}{'a' if options.arch == 90 else ''}"
    said = subprocess.run([options.ptxas, f"-arch={arch}", "-v", source, "-o", cubin], capture_output=True, text=True,
                          check=True).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    sass = subprocess.run([NVDISASM, "-c", cubin], capture_output=True, text=True, check=True).stdout
    return Code(int(re.search(r"Used (\d+) registers", said).group(1)), spilled, hot_loop(sass))


def pair(ours, theirs):
    return f"{ours} / {theirs}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--arch", type=int, default=80)
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", help="a folder for the PTX of both")
    options = parser.parse_args()
    print(f"tilec / Triton {triton.__version__}, sm_{options.arch}")
    print(SHOWN.format("", "warps", "registers", "spilled", "hot loop", "of it loads", "barriers"))
    worse = 0
    for row in ROWS:
        if options.filter not in row.name:
            continue
        with tempfile.TemporaryDirectory(prefix="tilec-registers-") as folder:
            ours, warps = by_tilec(options, row, folder)
            theirs = by_triton(options, row, warps)
            if options.keep:
                os.makedirs(options.keep, exist_ok=True)
                for side, ptx in (("tilec", ours), ("triton", theirs)):
                    with open(os.path.join(options.keep, f"{re.sub(r'[^a-z0-9]+', '-', row.name)}.{side}.ptx"), "w") as file:
                        file.write(ptx)
            a, b = assemble(options, ours, folder), assemble(options, theirs, folder)
        bad = a.registers > b.registers or a.spilled > b.spilled or len(a.loop) > len(b.loop)
        worse += bad
        print(SHOWN.format(row.name, warps, pair(a.registers, b.registers), pair(a.spilled, b.spilled),
                           pair(len(a.loop), len(b.loop)), pair(a.count("LDS"), b.count("LDS")),
                           pair(a.count("BAR"), b.count("BAR"))) + ("  worse" if bad else ""), flush=True)
    print(f"{worse} worse than Triton")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
