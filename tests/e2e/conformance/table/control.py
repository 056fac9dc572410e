"""Control flow, functions, tuples; what is evaluated while a kernel is compiled."""
import math

import numpy as np

from formats import Numbers
from rows import Row, given, out
from table.reductions import any_of

FLOW = "language.md#control-flow"
VALUES = "language.md#values-and-types"
STATIC = "language.md#compile-time"
PYTHON = "language.md#python"
N = 32


def simple(name, body, exact, arguments=None, builtins=(), doc=FLOW, topic="control flow", **rest):
    """x_p: 32 integers; the kernel stores `r`, of them or of `i`."""
    text = f"i = tl.arange(0, {N})\nx = tl.load(x_p + i)\n{body}\ntl.store(o_p + i, r)"
    given_arguments = {"x_p": given("i32", Numbers(name).integers(-20, 20, N)), **(arguments or {}), "o_p": out(rest.pop("result", "i32"), N)}
    return Row(name, builtins, doc, given_arguments, text, lambda x_p, **others: exact(x_p, **others), types=("i32",),
               topic="" if builtins else topic, **rest)


def branches():
    for n in (5, -5):
        yield simple(f"if {n}", "if n > 0:\n    r = x + 1\nelse:\n    r = x * 2", lambda x, n: x + 1 if n > 0 else x * 2, {"n": n})
        yield simple(f"if without else {n}", "r = x\nif n > 0:\n    r = x * n", lambda x, n: x * n if n > 0 else x, {"n": n})
        yield simple(f"elif {n}", "if n == 3:\n    r = x\nelif n == 5:\n    r = x - 1\nelse:\n    r = x - 2", lambda x, n: x - 1 if n == 5 else x - 2,
                     {"n": n})
        yield simple(f"conditional expression {n}", "k = 2 if n > 0 else 3\nr = x * k", lambda x, n: x * (2 if n > 0 else 3), {"n": n})
        yield simple(f"return {n}", "r = x\nif n > 0:\n    tl.store(o_p + i, x * 3)\n    return", lambda x, n: x * 3 if n > 0 else x, {"n": n})
        yield simple(f"nested if {n}", "r = x\nif n > 0:\n    if n > 3:\n        r = x + 10\n    else:\n        r = x + 20\nr += 1",
                     lambda x, n: x + 11 if n > 3 else x + 1, {"n": n})
    yield simple("if of tiles' sum", "r = x\nif tl.sum(x) > 1000000:\n    r = x * 0", lambda x: x)
    yield simple("assigned in a branch", "k = 1\nif n > 2:\n    k = 4\nr = x * k", lambda x, n: x * 4, {"n": 3})


def loops():
    for n in (0, 1, 7):
        name = {0: "none", 1: "once", 7: "seven"}[n]
        yield simple(f"for {name}", "r = x\nfor k in range(n):\n    r += k * x", lambda x, n: x + x * sum(range(n)), {"n": n}, ("range",), FLOW)
        yield simple(f"for step {name}", "r = x * 0\nfor k in range(1, n, 2):\n    r += k", lambda x, n: 0 * x + sum(range(1, n, 2)), {"n": n},
                     ("range",), FLOW)
        yield simple(f"while {name}", "r = x\nk = n\nwhile k > 0:\n    r = r + k\n    k -= 1", lambda x, n: x + sum(range(n + 1)), {"n": n})
        yield simple(f"tl.range {name}", "r = x\nfor k in tl.range(n, num_stages=2):\n    r = r * 3 + k", lambda x, n: looped(x, n), {"n": n},
                     ("tl_range",), FLOW)
    yield simple("for backwards", "r = x * 0\nfor k in range(9, 0, -2):\n    r = r * 2 + k",
                 lambda x: 0 * x + [v := 0, [v := v * 2 + k for k in range(9, 0, -2)]][1][-1],
                 builtins=("range",))
    yield simple("static_range", "r = x\nfor k in tl.static_range(4):\n    r = r * 2 + k", lambda x: x * 16 + (0 * 8 + 1 * 4 + 2 * 2 + 3),
                 builtins=("static_range",), doc=STATIC)
    yield simple("static_range step", "r = x * 0\nfor k in tl.static_range(2, 9, 3):\n    r += k", lambda x: 0 * x + 2 + 5 + 8,
                 builtins=("static_range",), doc=STATIC)
    yield simple("nested loops", "r = x * 0\nfor a in range(n):\n    for b in range(a, n):\n        r += a * b",
                 lambda x, n: 0 * x + sum(a * b for a in range(n) for b in range(a, n)), {"n": 5})
    yield simple("loop carries two", "a = x\nb = x + 1\nfor k in range(n):\n    a, b = b, a + b\nr = a", fibonacci, {"n": 9})
    yield simple("tl.range options",
                 "r = x\nfor k in tl.range(0, n, loop_unroll_factor=2, disallow_acc_multi_buffer=True, disable_licm=True):\n    r += k",
                 lambda x, n: x + sum(range(n)), {"n": 7}, ("tl_range",), FLOW)
    yield simple("condition", "r = x\nk = n\nwhile tl.condition(k > 0, disable_licm=True):\n    r += 2\n    k -= 1", lambda x, n: x + 2 * n, {"n": 6},
                 ("condition",), STATIC)
    yield simple("loop of 64 bits", "r = x.to(tl.int64)\nfor k in range(n, n + 3):\n    r += k", lambda x, n: x.astype(np.int64) + 3 * n + 3,
                 {"n": 2**40}, ("range",), FLOW,
                 result="i64")


def looped(x, n):
    for k in range(n):
        x = x * np.int32(3) + np.int32(k)
    return x


def fibonacci(x, n):
    a, b = x, x + 1
    for _ in range(n):
        a, b = b, a + b
    return a


HELPERS = """

@triton.jit
def scaled_sum(a, b, by: tl.constexpr = 2):
    return a * by + b


@triton.jit
def split_sign(a):
    return tl.maximum(a, 0), tl.minimum(a, 0)


@triton.jit
def factorial(n: tl.constexpr):
    if n <= 1:
        return 1
    else:
        return n * factorial(n - 1)


@triton.jit
def summed(first, others):
    for k in tl.static_range(len(others)):
        first += others[k]
    return first


@triton.constexpr_function
def doubled(n):
    return 2 * n


THREE = tl.constexpr(3)
PAIR = tl.constexpr((4, 9))
"""


def functions():
    def row(name, body, exact, arguments=None, **rest):
        return simple(name, body, exact, arguments, helpers=HELPERS, topic="functions, tuples", **rest)

    yield row("call", "r = scaled_sum(x, i)", lambda x: x * 2 + np.arange(N))
    yield row("call by name", "r = scaled_sum(b=x, a=i, by=5)", lambda x: np.arange(N) * 5 + x)
    yield row("two results", "a, b = split_sign(x)\nr = a - b", np.abs)
    yield row("recursion", "r = x * factorial(5)", lambda x: x * 120)
    yield row("tuple argument", "r = summed(x, (1, i, x))", lambda x: 2 * x + 1 + np.arange(N))
    yield row("constexpr_function", "r = x + doubled(21)", lambda x: x + 42)
    yield row("global constexpr", "r = x * THREE", lambda x: x * 3)
    yield row("global tuple", "r = x * PAIR[0] + PAIR[1]", lambda x: x * 4 + 9)
    yield row("tuples", "t = (x, x + 1, 7)\na, b, c = t\nr = t[0] + b * c + len(t)", lambda x: x + (x + 1) * 7 + 3)
    yield row("tuple swapped", "a = x\nb = i\na, b = b, a\nr = a * 100 + b", lambda x: np.arange(N) * 100 + x)
    yield row("tuple sliced", "t = (1, 2, 3, 4)\nr = x * t[1:3][1]", lambda x: x * 3)
    yield row("constexpr parameter", "r = x * K + K", lambda x, K: x * 6 + 6, {"K": 6}, hinted=("K",))
    yield row("augmented", "r = x\nr += 3\nr *= 2\nr -= i\nr <<= 1\nr |= 1\nr ^= 5\nr &= 255", augmented)
    yield row("assert", "tl.device_assert(x > -100, 'small')\ntl.static_assert(N == 32)\nassert x.dtype == tl.int32\nr = x", lambda x, N: x,
              {"N": 32}, hinted=("N",))


def augmented(x):
    return ((((x + 3) * 2 - np.arange(N, dtype=np.int32)) << 1 | 1) ^ 5) & 255


CLASSES = """
from collections import namedtuple

Point = namedtuple("Point", ("x", "y"))


@tl.core._aggregate
class Span:
    low: tl.tensor
    high: tl.tensor

    @triton.constexpr_function
    def __init__(self, low, high):
        self.low = low
        self.high = high

    @triton.jit
    def width(self):
        return self.high - self.low
"""


def classes():
    def row(name, body, exact, builtins=(), **rest):
        return simple(name, body, exact, builtins=builtins, doc=FLOW, topic="classes", helpers=CLASSES, **rest)

    yield row("namedtuple", "p = Point(x, i)\nr = p.x * 2 + p.y + p[1]", lambda x: x * 2 + 2 * np.arange(N), ("namedtuple",))
    yield row("aggregate", "s = Span(i, x)\nr = s.width() + s.low * 3", lambda x: x + 2 * np.arange(N))
    yield row("aggregate_replace", "s = tl.aggregate_replace(Span(i, x), high=i + 5)\nr = s.width() + x", lambda x: x + 5, ("aggregate_replace",),
              apart="not in 3.6")


def evaluated():
    def row(name, builtins, expression, value, doc=STATIC, **rest):
        return simple(f"static {name}", f"k: tl.constexpr = {expression}\nr = x + k", lambda x: x + np.int32(value), builtins=builtins, doc=doc,
                      **rest)

    only = "no builtin of Triton's kernels"
    yield row("len", ("len",), "len((1, 2, 3))", 3, PYTHON)
    yield row("min max", ("py_min", "py_max"), "min(3, 9) + max(4, 2, 7)", 10, PYTHON)
    yield row("int", ("int",), "int(3.7)", 3, PYTHON)
    yield row("float", ("float", "int"), "int(float(7) / 2)", 3, PYTHON)
    yield row("bool", ("bool",), "3 if bool(2) else 4", 3, PYTHON, apart=only)
    yield row("str", ("str",), "3 if str(12) == '12' else 4", 3, PYTHON, apart=only)
    yield row("tuple", ("tuple",), "len(tuple((1, 2)))", 2, PYTHON, apart=only)
    yield row("list", ("list",), "len(list((1, 2)))", 2, PYTHON)
    yield row("abs", ("py_abs",), "abs(-4)", 4, PYTHON, apart=only)
    yield row("isinstance", ("isinstance", "tensor"), "3 if isinstance(i, tl.tensor) else 4", 3, PYTHON)
    yield row("isinstance constexpr", ("isinstance", "constexpr"), "3 if isinstance(tl.constexpr(3), tl.constexpr) else 4", 4, PYTHON)
    yield row("getattr", ("getattr",), "3 if getattr(tl, 'int32') == tl.int32 else 4", 3, PYTHON)
    yield row("hasattr", ("hasattr",), "3 if hasattr(tl, 'load') else 4", 3, PYTHON)
    for name, value in (("log", math.log(100.0)), ("log2", 6.64385618977), ("exp", math.exp(2.5)), ("sqrt", 10.0), ("ceil", 3), ("floor", 2)):
        text = {"log": "math.log(100.0)", "log2": "math.log2(100.0)", "exp": "math.exp(2.5)", "sqrt": "math.sqrt(100.0)", "ceil": "math.ceil(2.5)",
                "floor": "math.floor(2.5)"}[name]
        yield row(f"math.{name}", (f"math_fn_{name}",), f"int(1000 * {text})", int(1000 * value), PYTHON)
    yield row("next_power_of_2", ("next_power_of_2",), "triton.next_power_of_2(100)", 128)
    yield row("triton.cdiv", ("triton_cdiv",), "triton.cdiv(100, 16)", 7)
    yield row("arithmetic", (), "(7 // 2) * 3 + 7 % 4 - (-7 // 2) + 2 ** 5", 9 + 3 + 4 + 32, VALUES)
    yield row("comparison", (), "3 if 1 < 2 and not 3 == 4 else 4", 3, VALUES)
    yield row("dtype", ("dtype",), "3 if tl.dtype('fp16') == tl.float16 else 4", 3)
    yield row("pointer_type", ("pointer_type",), "3 if x_p.dtype == tl.pointer_type(tl.int32) else 4", 3)
    yield row("block_type", ("block_type",), "3 if x.type == tl.block_type(tl.int32, [32]) else 4", 3)
    yield row("get_int_dtype", ("get_int_dtype",), "3 if tl.core.get_int_dtype(16, True) == tl.int16 else 4", 3)
    yield row("tl.constexpr", ("constexpr",), "tl.constexpr(5)", 5)
    yield row("constexpr_type", ("constexpr_type",), "3 if tl.core.constexpr_type(4) == tl.core.constexpr_type(4) else 4", 3)
    yield row("unwrap", ("unwrap_if_constexpr",), "tl.core._unwrap_if_constexpr(6)", 6)
    yield row("tl.tuple", ("tuple",), "len(tl.tuple((1, 2, 3)))", 3)
    yield row("log2 of std", ("std_log2",), "tl.standard._log2(64)", 6)
    yield row("power of two", ("std_is_power_of_two",), "3 if tl.standard._is_power_of_two(64) else 4", 3)
    yield row("is_cuda", ("is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4"),
              "3 if tl.target_info.is_cuda() and not tl.target_info.is_hip() and not "
              "tl.target_info.is_hip_cdna3() and not tl.target_info.is_hip_cdna4() else 4", 3)
    yield row("capability", ("cuda_capability_geq",), "3 if tl.target_info.cuda_capability_geq(8, 0) else 4", 3)
    yield simple("static_assert", "tl.static_assert(x.dtype == tl.int32, 'integers')\nr = x", lambda x: x, builtins=("static_assert",), doc=STATIC)
    yield simple("static_print", "tl.static_print('of', x.dtype)\nr = x", lambda x: x, builtins=("static_print",), doc=STATIC)
    yield simple("num_warps", "r = x + num_threads() + 1000 * num_warps()", lambda x: x + 128 + 4000, builtins=("num_threads", "num_warps"),
                 doc="language.md#hints-debugging-synchronisation", helpers="\nfrom triton.language.extra.cuda import num_threads, num_warps\n")


def texts():
    """Methods of strings, while a kernel is compiled."""
    for name, expression in (("upper", "'aBc1'.upper() == 'ABC1'"), ("lower", "'aBc1'.lower() == 'abc1'"),
                             ("capitalize", "'aBC'.capitalize() == 'Abc'"),
                             ("strip", "' a '.strip() == 'a'"), ("lstrip", "'xxa'.lstrip('x') == 'a'"), ("rstrip", "'a  '.rstrip() == 'a'"),
                             ("startswith", "'fp16'.startswith('fp')"), ("endswith", "'fp16'.endswith('16')"),
                             ("removeprefix", "'fp16'.removeprefix('fp') == '16'"), ("removesuffix", "'fp16'.removesuffix('16') == 'fp'"),
                             ("replace", "'a-b-c'.replace('-', '+') == 'a+b+c'"), ("split", "'a b c'.split()[1] == 'b'"),
                             ("join", "'-'.join(('a', 'b')) == 'a-b'"), ("find", "'abcabc'.find('c') == 2"), ("count", "'abcabc'.count('bc') == 2"),
                             ("isdigit", "'16'.isdigit() and not 'fp16'.isdigit()"), ("isalpha", "'fp'.isalpha() and not 'fp16'.isalpha()"),
                             ("isalnum", "'fp16'.isalnum() and not '-'.isalnum()")):
        yield simple(f"text {name}", f"k: tl.constexpr = 3 if {expression} else 4\nr = x + k", lambda x: x + 3, builtins=(f"text_{name}",),
                     doc="language.md#strings", apart="of numbers and texts that are no constexprs" if name == "join" else "")


def integers():
    """Methods of integers, while a kernel is compiled."""
    for name, bits in (("bit_length", 7), ("bit_count", 3)):
        yield simple(f"integer {name}", f"n: tl.constexpr = 100\nk: tl.constexpr = n.value.{name}()\nr = x + k", lambda x, bits=bits: x + bits,
                     builtins=(f"int_{name}",), doc="language.md#integers")


OBJECTS = """
@triton.constexpr_function
def primes(n):
    found = []
    for i in range(2, n):
        if all(i % p for p in found):
            found.append(i)
    return found


@triton.constexpr_function
def factors(n):
    found, p = {}, 2
    while n > 1:
        while n % p == 0:
            found[p] = found.get(p, 0) + 1
            n //= p
        p += 1
    return found


@triton.constexpr_function
def shared():
    row = [0] * 3
    rows = [row, row, list(row)]
    rows[0][1] += 5
    rows.sort(key=len)
    return [sum(r) for r in rows]


@triton.constexpr_function
def large(n):
    return (1 << n) - 1
"""


def objects():
    def row(name, body, exact):
        return simple(name, body, exact, doc="language.md#functions-evaluated-at-compile-time", topic="functions evaluated at compile time", helpers=OBJECTS)

    yield row("list", "k: tl.constexpr = primes(20)\nr = x * k[3] + len(k) + k[-1]", lambda x: x * 7 + 8 + 19)
    yield row("list of one list", "k: tl.constexpr = shared()\nr = x * k[1] + k[2]", lambda x: x * 5)
    yield row("dictionary", "k: tl.constexpr = factors(360)\nr = x * k.get(3) + len(k)", lambda x: x * 2 + 3)
    yield row("int of 200 bits", "k: tl.constexpr = large(200)\nr = x + k % 1000003 + (k >> 195)", lambda x: x + np.int32(((1 << 200) - 1) % 1000003 + 31))


HINTS = "language.md#hints-debugging-synchronisation"


def hints():
    for name in ("multiple_of", "max_contiguous", "max_constancy"):
        yield simple(name, f"at = tl.{name}(i // 8, {8 if name == 'max_constancy' else 1})\nr = x + at", lambda x: x + np.arange(N) // 8,
                     builtins=(name,), doc=HINTS)
    yield simple("multiple_of 16", "at = tl.multiple_of(n, 16)\nr = tl.load(x_p + at * 0 + i) + at", lambda x, n: x + 48, {"n": 48},
                 builtins=("multiple_of",), doc=HINTS)
    yield simple("assume", "tl.assume(n > 0)\nr = x // n", lambda x, n: np.fix(x / 7).astype(np.int32), {"n": 7}, builtins=("assume",), doc=HINTS)
    yield simple("debug_barrier", "tl.store(o_p + i, x)\ntl.debug_barrier()\nr = tl.load(o_p + (31 - i))\ntl.debug_barrier()", lambda x: x[::-1],
                 builtins=("debug_barrier",), doc=HINTS)
    yield simple("device_assert", "tl.device_assert(x < 100, 'large', mask=i < 16)\nr = x", lambda x: x, builtins=("device_assert",), doc=HINTS)
    for name, apart in (("tl.device_print", ""), ("print", ""), ("tl.printf", "not in 3.6")):
        yield simple(name, f"{name}('x', x)\nr = x", lambda x: x, builtins=(name.removeprefix("tl."),), doc=HINTS, apart=apart)
    yield simple("globaltimer", "r = x + (globaltimer() > 0).to(tl.int32)", lambda x: x + 1, builtins=("globaltimer",), doc=HINTS,
                 helpers="\nfrom triton.language.extra.cuda import globaltimer\n")
    yield simple("smid", "r = x + (smid() < 4096).to(tl.int32)", lambda x: x + 1, builtins=("smid",), doc=HINTS,
                 helpers="\nfrom triton.language.extra.cuda import smid\n")
    yield simple("gdc", "gdc_wait()\ngdc_launch_dependents()\nr = x", lambda x: x, builtins=("gdc_wait", "gdc_launch_dependents"), doc=HINTS,
                 helpers="\nfrom triton.language.extra.cuda import gdc_launch_dependents, gdc_wait\n")


ASM = "language.md#operators"


def pieces():
    def row(name, text, constraints, operands, dtype, exact, pure=True, pack=1, result="i32", types=("i32",), loads=""):
        arguments = {"x_p": any_of(types[0], (64,), name), "y_p": any_of(types[-1], (64,), name + " y"), "o_p": out(result, 64)}
        body = f"i = tl.arange(0, 64)\nx = tl.load(x_p + i)\ny = tl.load(y_p + i)\n{loads}" \
               f"r = tl.inline_asm_elementwise({text!r}, {constraints!r}, {operands}, dtype={dtype}, is_pure={pure}, pack={pack})\n" \
               "tl.store(o_p + i, r)"
        return Row(f"asm {name}", ("inline_asm_elementwise",), ASM, arguments, body, lambda x_p, y_p: exact(x_p, y_p), types=types)

    yield row("add", "add.s32 $0, $1, $2;", "=r,r,r", "[x, y]", "tl.int32", lambda x, y: x + y)
    yield row("lop3", "lop3.b32 $0, $1, $2, $3, 0x96;", "=r,r,r,r", "[x, y, i]", "tl.int32", lambda x, y: x ^ y ^ np.arange(64, dtype=np.int32))
    yield row("shift", "shl.b32 $0, $1, 3;", "=r,r", "[x]", "tl.int32", lambda x, y: x << 3)
    yield row("float", "fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", "[tl.load(f_p + i), tl.load(f_p + i)]".replace("tl.load(f_p + i)",
                                                                                                              "x.to(tl.int8).to(tl.float32)"),
              "tl.float32",
              lambda x, y: (lambda v: v * v + v)(x.astype(np.int8).astype(np.float64)), result="fp32")
    yield row("packed bytes", "and.b32 $0, $1, 0x0F0F0F0F;", "=r,r", "[x]", "tl.int8", lambda x, y: x & 0x0F, pack=4, result="i8", types=("i8",))
    yield row("wide", "sub.s64 $0, $1, $2;", "=l,l,l", "[x, y]", "tl.int64", lambda x, y: x - y, result="i64", types=("i64",))
    two = {"x_p": any_of("i32", (64,), "two"), "a_p": out("i32", 64), "b_p": out("i32", 64)}
    body = "i = tl.arange(0, 64)\nx = tl.load(x_p + i)\na, b = tl.inline_asm_elementwise('add.s32 $0, $2, 1; sub.s32 $1, $2, 1;', '=r,=r,r', [x], " \
           "dtype=(tl.int32, tl.int32), is_pure=True, pack=1)\ntl.store(a_p + i, a)\ntl.store(b_p + i, b)"
    yield Row("asm two results", ("inline_asm_elementwise",), ASM, two, body, lambda x_p: {"a_p": x_p + 1, "b_p": x_p - 1}, types=("i32",))


def rows():
    for part in (branches, loops, functions, classes, evaluated, objects, texts, integers, hints, pieces):
        yield from part()
