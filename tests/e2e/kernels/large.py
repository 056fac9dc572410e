#!/usr/bin/env python3
"""Compile time grows no faster than programs do, whatever their shape.

    large.py --tilec build/release/src/cli/tilec [--filter TEXT] [--time]

Each shape is compiled to PTX for every target within SECONDS of processor time, so that the load of the machine does not matter.
Sizes are such that a step that is quadratic in them, or exponential in a depth, takes many times that; --time prints what was taken."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile

SECONDS = 20
TARGETS = ["sm_80", "sm_90a"]
HEAD = "import triton\nimport triton.language as tl\n\n\n"
JIT = "@triton.jit\n"


def block(depth, *lines):
    return "".join("    " * depth + line + "\n" for line in lines)


def kernel(*parts):
    """Parameters: two arrays of f32, two numbers. `row` is one index for each of 1024 elements."""
    return JIT + "def k(a, b, n, m):\n" + block(1, "row = tl.arange(0, 1024)") + "".join(parts)


def each(count, make, depth=1):
    return "".join(block(depth, *make(i)) for i in range(count))


def nested(count, make, depth=1):
    """make(i): lines of which the last opens a block, in which the next ones are."""
    return "".join(block(depth + i, *make(i)) for i in range(count))


def elif_chain(count):
    return kernel(block(1, "if n == 0:", "    x = 5"), each(count, lambda i: (f"elif n == {i}:", f"    x = {i * 3}")),
                  block(1, "else:", "    x = -1", "tl.store(a, x)"))


def elif_chain_of_tiles(count):
    return kernel(block(1, "x = tl.load(a + row)", "if n == 0:", "    x = tl.exp(x)"),
                  each(count, lambda i: (f"elif n == {i}:", f"    x = x * {i} + tl.load(b + row + {i})")),
                  block(1, "else:", "    x = -x", "tl.store(a + row, x)"))


def early_returns(count):
    return kernel(each(count, lambda i: (f"if n == {i}:", f"    tl.store(a, {i})", "    return")), block(1, "tl.store(a, -1)"))


def nested_loops(count):
    return kernel(block(1, "x = 0"), nested(count, lambda i: (f"for i{i} in range(n):",)), block(count + 1, "x += 1"),
                  block(1, "tl.store(a, x)"))


def nested_loops_of_sums(count):
    """Each loop has a tile that it carries and a reduction across warps, on either side of the loop in it."""
    down = nested(count, lambda i: ("x = x / tl.sum(x)", f"for i{i} in range(n):"))
    up = "".join(block(i + 1, f"x += tl.load(b + row + i{i - 1})", "x = x / tl.sum(x)") for i in range(count, 0, -1))
    return kernel(block(1, "x = tl.load(a + row)"), down, block(count + 1, "x += 1"), up, block(1, "tl.store(a + row, x)"))


def conditions(count):
    return kernel(block(1, "x = n < m"), each(count, lambda i: (f"x = x & (n + {i} < m * {i})",)), block(1, "tl.store(a, x)"))


def conditions_used_twice(count):
    """As many ways lead from the first to the last as a Fibonacci number says."""
    return kernel(block(1, "x = n < m", "y = n > 1"), each(count, lambda i: (f"x, y = x & y & (n < m + {i}), x",)),
                  block(1, "tl.assume(x)", "tl.store(a, n // 2)"))


def masked_copies(count):
    return kernel(each(count, lambda i: (f"tl.store(a + row + {i} * m, tl.load(b + row + {i} * m, mask=row + {i} < n), mask=row < n)",)))


def sums_of_masked_loads(count):
    """Elements of each load are undefined where its mask is off, and stored."""
    return kernel(block(1, "x = tl.zeros((1024,), tl.float32)"),
                  each(count, lambda i: (f"x += tl.load(b + row + {i} * m, mask=row + {i} < n)",)), block(1, "tl.store(a + row, x)"))


def masked_loads_in_a_loop(count):
    return kernel(block(1, "x = tl.load(a + row)", "for i in range(0, n, 1024):"),
                  each(count, lambda i: (f"x += tl.load(b + row + i + {i} * m, mask=row + i + {i} < n, other=0.0)",), 2),
                  block(1, "tl.store(a + row, x)"))


def carried_values(count):
    return kernel(each(count, lambda i: (f"x{i} = n + {i}",)), block(1, "for i in range(n):"),
                  each(count, lambda i: (f"x{i} = x{i} * x{(i + 1) % count} + i",), 2),
                  each(count, lambda i: (f"tl.store(a + {i}, x{i})",)))


# What is compiled, how large.
def exponentials(count):
    """Two values of which each line uses one; what was loaded is used by all of them."""
    return kernel(block(1, "x = tl.load(a + row)", "y = x"), each(count, lambda i: (f"y = tl.exp(x * {1 + i / 4096}) + y",)), block(1, "tl.store(b + row, y)"))


def branches_that_copy(count):
    """Each has a barrier of its own, and what any of them leaves pending meets what comes behind."""
    return kernel(each(count, lambda i: (f"if n > {i}:", f"    tl.store(b + row + {i} * m, tl.load(a + row + {i} * n))")))


def branches_that_add(count):
    """The same through shared memory."""
    return kernel(block(1, "x = tl.load(a + row)"), each(count, lambda i: (f"if n > {i}:", f"    x += tl.sum(x * {i}.0, 0)")),
                  block(1, "tl.store(b + row, x)"))


def branches_that_add_in_a_loop(count):
    return kernel(block(1, "x = tl.load(a + row)", "for i in range(m):"), each(count, lambda i: (f"if n > {i}:", f"    x += tl.sum(x * {i}.0, 0)"), 2),
                  block(1, "tl.store(b + row, x)"))


def sums(count):
    """Of one tile, each through a buffer of its own."""
    return kernel(block(1, "x = tl.load(a + row)", "y = 0.0"), each(count, lambda i: (f"y += tl.sum(x * {i}.0 + x * x, 0)",)), block(1, "tl.store(b, y)"))


def copies(count):
    return kernel(each(count, lambda i: (f"tl.store(b + row + {i * 1024}, tl.load(a + row + {i} * n) + {i})",)))


def helpers(count):
    """Each called once, with a branch of its own."""
    functions = "".join(f"{JIT}def h{i}(x, n):\n    if n > {i}:\n        x = x * 2 + {i}\n    return x + 1\n\n\n" for i in range(count))
    return functions + kernel(block(1, "x = tl.load(a + row)"), each(count, lambda i: (f"x = h{i}(x, n)",)), block(1, "tl.store(b + row, x)"))


def kernels(count):
    """Beside the one that is compiled, each a kernel or a helper, by who names whom."""
    others = "".join(f"{JIT}def k{i}(a):\n    tl.store(a, {i})\n\n\n" for i in range(count))
    return others + kernel(block(1, "tl.store(b + row, tl.load(a + row))"))


def nested_helpers(count):
    functions = JIT + "def h0(x, n):\n    return x + 1\n\n\n"
    functions += "".join(f"{JIT}def h{i}(x, n):\n    for t in range(n):\n        if n > {i}:\n            x = h{i - 1}(x, n)\n    return x + {i}\n\n\n"
                         for i in range(1, count))
    return functions + kernel(block(1, f"tl.store(b + row, h{count - 1}(tl.load(a + row), n))"))


def unrolled(count):
    return kernel(block(1, "x = tl.load(a + row)", f"for i in tl.static_range({count}):", "    x += tl.load(a + row + i * 1024, mask=row + i < n, other=0.0)",
                        "tl.store(b + row, x)"))


def products(count):
    """Of tiles of 64 rows, each with what came of the one before."""
    return kernel(block(1, "i = tl.arange(0, 64)", "at = i[:, None] * 64 + i[None, :]", "x = tl.load(a + at).to(tl.float16)", "y = x",
                        "sums = tl.zeros((64, 64), tl.float32)"),
                  each(count, lambda i: ("sums = tl.dot(x, y, sums)", f"y = (sums * {0.5 + i / 100}).to(tl.float16)")), block(1, "tl.store(b + at, sums)"))


def masks_used_twice(count):
    """A mask as conditions_used_twice, of a store of products: nothing looks at all ways, nor computes on all."""
    return kernel(block(1, "r = tl.arange(0, 64)", "at = tl.program_id(0) * 4096 + r[:, None] * 64 + r[None, :]", "x = r < n", "y = r < m"),
                  each(count, lambda i: (f"x, y = x & y & (r < n + {i}), x",)),
                  block(1, "sums = tl.zeros((64, 64), tl.float32)", "for i in range(m):", "    p = tl.load(a + at + i * 4096).to(tl.float16)",
                        "    sums = tl.dot(p, p, sums)", "tl.store(b + at, sums, mask=x[:, None])"))


def masks_used_twice_in_a_loop(count):
    """The same of what is loaded and added in a loop: bounds for the loop are asked for along all ways."""
    return kernel(block(1, "r = tl.arange(0, 64)", "at = r[:, None] * 64 + r[None, :]", "sums = tl.zeros((64, 64), tl.float32)", "for j in range(m):",
                        "    at_j = r + j * 64", "    x = at_j < n", "    y = at_j < m * 5"),
                  each(count, lambda i: (f"x, y = x & y & (at_j < n + {i % 3}), x",), 2),
                  block(2, "p = tl.load(a + at + j * 4096, mask=x[:, None], other=0.0).to(tl.float16)", "sums = tl.where(x[:, None], tl.dot(p, p, sums), 0.0)"),
                  block(1, "tl.store(b + at, sums)"))


def searches(count):
    """In a row that is loaded, each step from where the one before led; places are combined along the same dimension."""
    return kernel(block(1, "x = tl.load(a + row)", "at = row * 0"),
                  each(count, lambda i: (f"at = tl.where(tl.load(b + at + {i}, mask=at < n, other=0.0) < x, at + {i % 7}, at // 2)",)),
                  block(1, "tl.store(a + row + tl.sum(at), tl.cumsum(at))"))


def chosen(count):
    """All by indices from one tile, which also has other uses."""
    return kernel(block(1, "x = tl.load(a + row)", "y = x"), each(count, lambda i: (f"y += tl.gather(x, (row + {i}) % 1024, 0) * x",)),
                  block(1, "tl.store(b + row, y)"))


# Those that say so hold to 512 MiB.
SHAPES = [
    (exponentials, 3000, 512),
    (copies, 1500, 512),
    (branches_that_copy, 500),
    (branches_that_add, 500),
    (branches_that_add_in_a_loop, 200),
    (sums, 1500),
    (helpers, 200, 512),
    (kernels, 30000, 512),
    (nested_helpers, 30, 512),
    (unrolled, 1000, 512),
    (products, 64, 512),
    (elif_chain, 190),
    (elif_chain_of_tiles, 190),
    (early_returns, 190),
    (nested_loops, 90),
    (nested_loops_of_sums, 90),
    (conditions, 16000),
    (conditions_used_twice, 100),
    (masks_used_twice, 100, 512),
    (masks_used_twice_in_a_loop, 100, 512),
    (chosen, 800, 512),
    (searches, 6000),
    (masked_copies, 2600),
    (sums_of_masked_loads, 1200),
    (masked_loads_in_a_loop, 1000),
    (carried_values, 1700),
]


def limit_processor_time():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def compile_shape(options, folder, shape, count, target, mib=0):
    """None, or what went wrong."""
    path = os.path.join(folder, shape.__name__ + ".py")
    with open(path, "w") as file:
        file.write(HEAD + shape(count))
    run = subprocess.Popen([options.tilec, "compile", path, "-k", "k", "-s", "*fp32:16, *fp32:16, i32, i32", "-t", target, "--num-warps", "4",
                          "--cache-dir", "none", "-o", os.path.join(folder, "k.ptx")], stderr=subprocess.PIPE, text=True,
                           preexec_fn=limit_processor_time)
    said = run.stderr.read().strip().splitlines()
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if options.time:
        print(f"{shape.__name__} {count} {target}: {used.ru_utime:.2f} s, {used.ru_maxrss >> 10} MiB")
    if run.returncode == 0:
        return None if not mib or used.ru_maxrss >> 10 <= mib else f"{used.ru_maxrss >> 10} MiB, wanted {mib}"
    return said[0] if run.returncode > 0 and said else f"not within {SECONDS} s (status {run.returncode})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    failed = done = 0
    with tempfile.TemporaryDirectory() as folder:
        for shape, count, *mib in SHAPES:
            for target in TARGETS:
                if options.filter not in shape.__name__:
                    continue
                done += 1
                wrong = compile_shape(options, folder, shape, count, target, *mib)
                if wrong:
                    failed += 1
                    print(f"{shape.__name__} {count} {target}: {wrong}")
    print(f"{done - failed} of {done} compiled")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
