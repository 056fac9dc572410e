"""expressions.py MANIFEST: writes a manifest of kernels k0, k1, .. whose grids are EXPRESSIONS, of integers n and m, a float x and a constexpr."""
import json
import math
import sys

EXPRESSIONS = [
    "n", "-n", "+n, m", "n + m", "n - m, m", "n * m", "n // m", "n // -m", "n % m", "n % -m, 2", "-n // 3 + 10", "cdiv(n, BLOCK)", "cdiv(-n, 3) + 7",
    "triton.cdiv(n, BLOCK), m, 2", "(cdiv(n, BLOCK), m)", "[1, m]", "min(n, m, 9)", "max(n, m, 9)", "abs(n)", "next_power_of_2(n)", "m ** 3", "2 ** m", "m ** -1",
    "1 << m", "n >> 2", "n >> 70", "n << 62", "n & 12", "n | m", "n ^ m", "~n + 20", "n if n > m else m", "n < m", "0 < n < 20", "n == 17 or m", "n and m",
    "not n", "n != 0 and 100 // n", "1 if m == 0 else n // m", "int(n / m)", "math.ceil(n / BLOCK)", "math.floor(n / 4)", "int(x)", "math.ceil(x) + 1", "math.floor(x) + 5",
    "int(x * 2 + n)", "int(-x / 4 + float(m))", "int(n * 9223372036854775807)", "n * 9223372036854775807", "9223372036854775807 + m", "bool(n) + 1", "int(True) + m",
    "x > 1 and 3", "n, n, n", "65536, 1", "1, 65536", "2 if x >= m else 3", "int(1.5) + (n is m)", "n // (m - m)", "int(1 / (m - m))", "1 if n else 0 ** m",
    "4 if (2 if n else 3) else 5", "(n or 5) if n == n else 1", "(n < m) < 3", "not (n > 4 > 2)", "not (x or 3)", "7 if x == x else 2", "bool(2 if m else 3) + 1",
]


class Overflow(Exception):
    pass


def checked(value):
    """Integers have 64 bits."""
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        raise Overflow
    return value


class Whole(int):
    """An integer whose results fit."""


def _operator(name):
    def apply(self, other=None):
        value = getattr(int, name)(self) if other is None else getattr(int, name)(self, other)
        return value if value is NotImplemented or isinstance(value, (float, bool)) else Whole(checked(value))
    return apply


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow", "lshift", "rlshift", "rshift", "rrshift", "neg", "abs"):
    setattr(Whole, f"__{_name}__", _operator(f"__{_name}__"))


def cdiv(a, b):
    return checked(-(-a // b))


class Triton:
    cdiv = staticmethod(cdiv)


def next_power_of_2(n):
    return Whole(1 << max(n - 1, 0).bit_length())


def python_grid(expression, values):
    """Three sides; None: there is no such grid."""
    names = {name: Whole(value) if isinstance(value, int) else value for name, value in values.items()}
    try:
        grid = eval(expression, {"cdiv": cdiv, "triton": Triton, "math": math, "next_power_of_2": next_power_of_2, **names})  # pylint: disable=eval-used
    except (ArithmeticError, ValueError, Overflow):
        return None
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    grid = tuple(int(side) if isinstance(side, bool) else side for side in grid + (1,) * (3 - len(grid)))
    if any(not isinstance(side, int) or not 0 <= side <= most for side, most in zip(grid, (2**31 - 1, 65535, 65535))):
        return None
    return tuple(int(side) for side in grid)


KERNEL = """
@triton.jit
def k{number}(out, n, m, x, BLOCK: tl.constexpr):
    first = (tl.program_id(0) == 0) & (tl.program_id(1) == 0) & (tl.program_id(2) == 0)
    tl.store(out, tl.num_programs(0), mask=first)
    tl.store(out + 1, tl.num_programs(1), mask=first)
    tl.store(out + 2, tl.num_programs(2), mask=first)
"""

if __name__ == "__main__":
    kernels = [{"file": f"k{i}.tile", "source": "import triton\nimport triton.language as tl\n" + KERNEL.format(number=i), "grid": expression,
                "signatures": "*i32, i32, i32, fp64, 16"} for i, expression in enumerate(EXPRESSIONS)]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump({"targets": "sm_90a", "code": "ptx", "kernels": kernels}, file, indent=1)
