#!/usr/bin/env python3
"""Launches kernels of the table in one process, with Triton or with tilec in its place.

    worker.py MODULES RESULTS [--tilec PACKAGE] [--gpu] < NAMES

MODULES has a file of kernels for each group; NAMES, a line each, are rows. RESULTS becomes a pickle of {name: {output: stored elements}, or the
text of what went wrong and the ids of tilec's diagnostics}, written anew after each row: what is missing from it ended the process. With
--tilec `import triton` is that package, without --gpu on this machine, by TILEC_DEVICE and TILEC_SIM_TARGET."""
import argparse
import importlib.util
import os
import pickle
import sys

import numpy as np

from formats import FORMATS
from rows import Array

CONTEXT_LOST = 9  # exit status: behind a fault a GPU runs nothing more for the process


class HostArray:
    """Bytes of this machine, aligned as a GPU's allocations are, as tilec takes arrays of any library."""

    def __init__(self, array):
        self.nbytes, self.dtype = array.stored.nbytes, array.type
        self.memory = np.zeros(self.nbytes + 256, np.uint8)
        begin = -self.memory.ctypes.data % 256
        self.bytes = self.memory[begin:begin + self.nbytes]
        self.bytes[:] = array.stored.view(np.uint8)
        self.is_cuda = False

    def data_ptr(self):
        return self.bytes.ctypes.data

    def fetch(self):
        return self.bytes


class DeviceArray:
    """A tensor of torch's whose elements are taken as of the type."""

    def __init__(self, array):
        import torch
        import triton
        import triton.language as tl

        self.tensor = torch.from_numpy(array.stored.view(np.uint8).copy()).cuda()
        self.argument = triton.reinterpret(self.tensor, getattr(tl, FORMATS[array.type].language))

    def fetch(self):
        return self.tensor.cpu().numpy()


def launch(kernel, row, gpu):
    """{output: stored elements}."""
    held = {n: (DeviceArray if gpu else HostArray)(a) for n, a in row.arguments.items() if isinstance(a, Array)}
    values = []
    for name, argument in row.arguments.items():
        values.append((held[name].argument if gpu else held[name]) if name in held else argument)
    kernel[row.grid](*values, num_warps=row.warps)
    return {n: held[n].fetch().view(FORMATS[a.type].stored).copy() for n, a in row.outputs.items()}


def module_of(folder, group):
    spec = importlib.util.spec_from_file_location(f"conformance_{group}", os.path.join(folder, f"{group}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare(options):
    if options.tilec:
        sys.path.insert(0, options.tilec)
        import tilec

        tilec.install()
    import triton

    if options.gpu and not options.tilec:
        import torch

        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


def said_by(error):
    """(text, ids of errors)"""
    found = []
    while error is not None:
        found += [d.id for d in getattr(error, "diagnostics", ()) if d.severity == "error"]
        last, error = error, error.__cause__
    return f"{type(last).__name__}: {last}", found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules")
    parser.add_argument("results")
    parser.add_argument("--tilec")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    import warnings

    warnings.simplefilter("ignore")
    prepare(options)
    from table import all_rows

    rows = {row.name: row for row in all_rows()}
    modules, results = {}, open(options.results, "wb")
    for name in sys.stdin.read().split("\n"):
        if not name:
            continue
        row = rows[name]
        if row.group not in modules:
            modules[row.group] = module_of(options.modules, row.group)
        try:
            result = launch(getattr(modules[row.group], row.kernel), row, options.gpu)
        except Exception as error:  # whatever the compiler or the device says is the result
            result = said_by(error)
        pickle.dump((name, result), results)
        results.flush()
        if isinstance(result, tuple) and options.gpu and "illegal" in result[0]:
            return CONTEXT_LOST
    return 0


if __name__ == "__main__":
    sys.exit(main())
