#!/usr/bin/env python3
"""Compiles every row with Triton itself, for capability 9.0: those that Triton is asked must compile, those that it refuses must not.

Run by hand with a Python that has Triton and NumPy; no GPU is needed.
    /path/to/python tests/e2e/conformance/triton_accepts.py [--filter TEXT] [-j N]"""
import argparse
import concurrent.futures
import multiprocessing
import os
import sys
import tempfile

import launch
from rows import Array
from table import all_rows


def signature_of(row):
    """(signature, constants, attributes) as a launch chooses them."""
    signature, constants, attributes = {}, {}, {}
    for index, (name, value) in enumerate(row.arguments.items()):
        if isinstance(value, Array):
            signature[name] = "*" + ("u1" if value.type == "i1" else value.type)
            attributes[(index,)] = [["tt.divisibility", 16]]
        elif name in row.hinted or value is None or (value == 1 and isinstance(value, int) and not isinstance(value, bool)):
            signature[name] = "constexpr"
            constants[(index,)] = value
        elif isinstance(value, bool):
            signature[name] = "u1"
        elif isinstance(value, float):
            signature[name] = "fp32"
        else:
            signature[name] = "i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64"
            if value % 16 == 0:
                attributes[(index,)] = [["tt.divisibility", 16]]
    return signature, constants, attributes


def compile_row(task):
    """(name, what Triton says, or "")."""
    row_name, folder = task
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import worker

    if not hasattr(compile_row, "rows"):
        compile_row.rows, compile_row.modules = {r.name: r for r in all_rows()}, {}
    row = compile_row.rows[row_name]
    if row.group not in compile_row.modules:
        compile_row.modules[row.group] = worker.module_of(folder, row.group)
    signature, constants, attributes = signature_of(row)
    try:
        source = ASTSource(getattr(compile_row.modules[row.group], row.kernel), signature, constants, attributes)
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": row.warps})
    except Exception as error:
        text = []
        while error is not None:
            text.append(f"{type(error).__name__}: {error}"[-700:])
            error = error.__cause__
        return row_name, "\n".join(text)
    return row_name, ""


def compile_all(tasks, jobs):
    """{name: what Triton says}. What ends the process is refused, too; the others of that process are compiled one by one."""
    found, context = {}, multiprocessing.get_context("spawn")
    for workers, left in [(jobs, tasks), *((1, [task]) for task in tasks)]:
        left = [task for task in left if task[0] not in found]
        if left:
            with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
                futures = {pool.submit(compile_row, task): task for task in left}
                for future, (name, _) in futures.items():
                    try:
                        found[name] = future.result()[1]
                    except concurrent.futures.process.BrokenProcessPool:
                        if len(left) == 1:
                            found[name] = "the process ended"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="")
    parser.add_argument("--apart", action="store_true", help="only those that Triton is not asked: whether it would compile them")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    rows = [r for r in all_rows() if options.filter in f"{r.group}: {r.name}"]
    asked = [r for r in rows if bool(r.apart) == options.apart]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        launch.write_modules(rows, folder)
        os.environ.setdefault("TRITON_CACHE_DIR", folder + "/cache")
        found = compile_all([(r.name, folder) for r in asked], options.jobs)
    for row in asked:
        said = found[row.name]
        if options.apart:
            print(f"{row.group}: {row.name}: apart, {row.apart}: {'refused' if said else 'compiles'}")
        elif bool(said) != bool(row.refused):
            wrong += 1
            print(f"NOT AS EXPECTED {row.group}: {row.name}: {said or 'Triton compiles it'}")
    print(f"{len(asked)} rows, {wrong} not as expected")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
