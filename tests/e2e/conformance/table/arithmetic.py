"""Operators on integers and floats: of one type, mixed, with literals."""
import numpy as np

from formats import FLOATS, FORMATS, INTS, SIGNED, UNSIGNED, decode, encode
from rows import Row, Ulp, elementwise, given, out, pair, some

OPERATORS = "language.md#operators"
N = 64


def bits_of(kind):
    return FORMATS[kind].bits


def wider(x, y):
    """The type of two integers, or of two floats."""
    if x == y:
        return x
    a, b = FORMATS[x], FORMATS[y]
    if a.is_float and b.is_float:
        if {x, y} == {"fp16", "bf16"}:
            return "fp16"
        return x if a.bits > b.bits else y
    if a.bits != b.bits:
        return x if a.bits > b.bits else y
    return x if a.kind == "uint" else y


def one_type():
    for t in INTS:
        for name, op in (("add", "+"), ("sub", "-"), ("mul", "*")):
            f = {"+": np.add, "-": np.subtract, "*": np.multiply}[op]
            yield elementwise(f"{name} {t}", (), OPERATORS, f"x {op} y", pair(t, t, N, name), t, f, topic=f"`{op}`")
        for name, op, f in (("and", "&", np.bitwise_and), ("or", "|", np.bitwise_or), ("xor", "^", np.bitwise_xor)):
            yield elementwise(f"{name} {t}", (), OPERATORS, f"x {op} y", pair(t, t, N, name), t, f, topic=f"`{op}`")
        yield elementwise(f"invert {t}", (), OPERATORS, "~x", [some(t, N)], t, np.invert, topic="`~`")
        yield elementwise(f"negate {t}", (), OPERATORS, "-x", [some(t, N)], t, lambda x: (np.zeros_like(x) - x), topic="unary `-`")
        yield elementwise(f"plus {t}", (), OPERATORS, "+x", [some(t, N)], t, lambda x: x, topic="unary `+`", apart="no unary plus")
        for name, op in (("floordiv", "//"), ("mod", "%")):
            undefined = (lambda a, b: (b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min))) if t in SIGNED else (lambda a, b: b == 0)
            yield elementwise(f"{name} {t}", (), OPERATORS, f"x {op} y", pair(t, t, N, name, undefined), t, truncated(op), topic=f"`{op}`")
        width = bits_of(t)
        count = given(t, np.arange(N) % width)
        yield elementwise(f"shl {t}", (), OPERATORS, "x << y", [some(t, N, "shl"), count], t, np.left_shift, topic="`<<`")
        yield elementwise(f"shr {t}", (), OPERATORS, "x >> y", [some(t, N, "shr"), count], t, np.right_shift, topic="`>>`")
        yield elementwise(f"div {t}", (), OPERATORS, "x / y", pair(t, t, N, "div", lambda a, b: b == 0), "fp32",
                          lambda x, y: x.astype(np.float32).astype(np.longdouble) / y.astype(np.float32).astype(np.longdouble), compare=Ulp(2),
                          topic="`/`")
    for t in FLOATS:
        for name, op, f in (("add", "+", np.add), ("sub", "-", np.subtract), ("mul", "*", np.multiply)):
            yield elementwise(f"{name} {t}", (), OPERATORS, f"x {op} y", pair(t, t, 256, name), t, f, topic=f"`{op}`")
        yield elementwise(f"negate {t}", (), "language.md#differences-from-triton", "-x", [some(t, N)], t, np.negative,
                          apart="-0.0 of 0.0", topic="unary `-`")
        as_fp32 = t if t == "fp64" else "fp32"
        yield elementwise(f"mod {t}", (), OPERATORS, "x % y", pair(t, t, 256, "mod"), as_fp32, np.fmod, topic="`%`")
        yield elementwise(f"div {t}", (), OPERATORS, "x / y", pair(t, t, 256, "div"), as_fp32,
                          lambda x, y, t=t: x / y if t == "fp64" else x.astype(np.longdouble) / y, topic="`/`",
                          compare="bits" if t == "fp64" else Ulp(2, beside=4))


def truncated(op):
    """C's division."""
    def apply(x, y):
        if x.dtype.kind == "u":
            return x // y if op == "//" else x % y
        quotient = np.array([abs(int(a)) // abs(int(b)) * (-1 if (a < 0) != (b < 0) else 1) for a, b in zip(x, y)], x.dtype)
        return quotient if op == "//" else (x - quotient * y).astype(x.dtype)
    return apply


def mixed():
    for i, x in enumerate(INTS):
        for y in INTS[i + 1:]:
            t = wider(x, y)
            stored = FORMATS[t].stored
            yield elementwise(f"add {x} {y}", (), OPERATORS, "x + y", pair(x, y, N), t,
                              lambda a, b, s=stored: a.astype(s) + b.astype(s), topic="`+`, mixed")
            if FORMATS[x].kind == FORMATS[y].kind:
                yield elementwise(f"floordiv {y} {x}", (), OPERATORS, "x // y",
                                  pair(y, x, N, "q", lambda a, b: (b == 0) | ((b == -1) & (a.astype(np.float64) < -100))), t,
                                  lambda a, b, s=stored: truncated("//")(a.astype(s), b.astype(s)), topic="`//`, mixed")
    for i, x in enumerate(FLOATS):
        for y in FLOATS[i + 1:]:
            t = wider(x, y)
            yield elementwise(f"mul {x} {y}", (), OPERATORS, "x * y", pair(x, y, 128), t,
                              lambda a, b, t=t: through(t, a) * through(t, b), topic="`*`, mixed")
    for x in INTS:
        for y in FLOATS:
            t = "fp32" if y == "bf16" else y
            yield elementwise(f"sub {x} {y}", (), OPERATORS, "x - y", pair(x, y, 128), t, lambda a, b, t=t: through(t, a) - b, topic="`-`, mixed")
    for x in FLOATS:
        for y in INTS:
            t = "fp32" if x == "bf16" else x
            yield elementwise(f"rmul {x} {y}", (), OPERATORS, "x * y", pair(x, y, 64, "r"), t,
                              lambda a, b, t=t: a * through(t, b), topic="`*`, mixed")


def through(kind, values):
    """Values rounded to a float type; integers once."""
    if FORMATS[kind].bits == 32:
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64)
    return decode(kind, encode(kind, np.asarray(values).astype(np.float64)))


def literals():
    for t in INTS:
        yield elementwise(f"add literal {t}", (), OPERATORS, "x + 3", [some(t, N)], t, lambda x: x + x.dtype.type(3), topic="literals")
        yield elementwise(f"literal sub {t}", (), OPERATORS, "7 - x", [some(t, N)], t, lambda x: x.dtype.type(7) - x, topic="literals")
        yield elementwise(f"mul float literal {t}", (), OPERATORS, "x * 0.5", [some(t, N)], "fp32",
                          lambda x: x.astype(np.float32).astype(np.float64) * 0.5, topic="literals")
        yield elementwise(f"shl literal {t}", (), OPERATORS, "x << 3", [some(t, N)], t, lambda x: x << x.dtype.type(3), topic="literals")
        yield elementwise(f"literal shl {t}", (), OPERATORS, "1 << x", [given(t, np.arange(N) % bits_of(t))], t,
                          lambda x: np.ones_like(x) << x, topic="literals")
        yield elementwise(f"floordiv literal {t}", (), OPERATORS, "x // 7", [some(t, N)], t, lambda x: truncated("//")(x, np.full_like(x, 7)),
                          topic="literals")
        yield elementwise(f"mod literal {t}", (), OPERATORS, "x % 16", [some(t, N)], t, lambda x: truncated("%")(x, np.full_like(x, 16)),
                          topic="literals")
        yield elementwise(f"and literal {t}", (), OPERATORS, "x & 15", [some(t, N)], t, lambda x: x & x.dtype.type(15), topic="literals")
    for t in FLOATS:
        yield elementwise(f"add literal {t}", (), OPERATORS, "x + 3", [some(t, N)], t, lambda x: x + 3, topic="literals")
        yield elementwise(f"literal sub {t}", (), OPERATORS, "0.5 - x", [some(t, N)], t, lambda x: 0.5 - x, topic="literals")
        yield elementwise(f"mul float literal {t}", (), OPERATORS, "x * 1.1", [some(t, N)], t,
                          lambda x, t=t: x * float(decode(t, encode(t, np.array([1.1 if t == "fp64" else float(np.float32(1.1))])))[0]),
                          topic="literals")
    for t, text in (("i8", "127"), ("u8", "255"), ("i16", "-32768"), ("u64", "18446744073709551615"), ("i64", "-9223372036854775808")):
        yield elementwise(f"extreme literal {t}", (), OPERATORS, f"x ^ ({text})", [some(t, N)], t,
                          lambda x, v=int(text): x ^ x.dtype.type(v), topic="literals")
    numbers = [("2147483647", "i32"), ("2147483648", "u32"), ("4294967296", "i64"), ("9223372036854775808", "u64"), ("-5", "i32"),
               ("1.5", "fp32"), ("1e300", "fp64"), ("True", "i1")]
    for text, t in numbers:
        body = f"v = {text}\nv = tl.core.to_tensor(v)\ntl.static_assert(v.dtype == tl.{FORMATS[t].language})\n" \
               f"tl.store(o_p, v)"
        yield Row(f"number {text}", ("to_tensor",), "language.md#values-and-types", {"o_p": out(t, 1)}, body,
                  lambda v=eval(text): np.array([v]) if not isinstance(v, int) or v < 2**63 else np.array([v], np.uint64), types=(t,))


def functions():
    for name, f in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        for t in ("i8", "i32", "u64", "fp16", "bf16", "fp32", "fp64"):
            yield elementwise(f"tl.{name} {t}", (name,), "language.md#elementwise", f"tl.{name}(x, y)", pair(t, t, N, "f"), t, f)
        yield elementwise(f"tl.{name} unsanitized", (name,), "language.md#control-flow", f"tl.{name}(x, y, sanitize_overflow=False)",
                          pair("i32", "i32", N, "u"), "i32", f)
    for t in INTS:
        yield elementwise(f"cdiv {t}", ("cdiv",), "language.md#elementwise", "tl.cdiv(x, y)",
                          [given(t, np.arange(N) % 100), given(t, 1 + np.arange(N) % 9)], t,
                          lambda x, y: -(-x.astype(np.int64) // y.astype(np.int64)).astype(x.dtype))
    yield elementwise("cdiv literal", ("cdiv",), "language.md#elementwise", "tl.cdiv(x, 16)", [given("i32", np.arange(N))], "i32",
                      lambda x: -(-x // 16))
    yield elementwise("triton.cdiv constant", ("triton_cdiv",), "language.md#compile-time", "x + triton.cdiv(100, 16)", [some("i32", N)], "i32",
                      lambda x: x + np.int32(7))
    for t in ("i32", "u32", "i64", "u64"):
        yield elementwise(f"umulhi {t}", ("umulhi",), "language.md#elementwise", "tl.umulhi(x, y)", pair(t, t, N), t,
                          lambda x, y, b=bits_of(t): np.array([(int(p) % 2**b * (int(q) % 2**b)) >> b for p, q in zip(x, y)],
                                                              np.uint64).astype(x.dtype))


def logical():
    for t in ("i1", "i32", "i8"):
        x, y = pair(t, t, N, "logic")
        if t == "i1":
            yield elementwise("and keyword", (), OPERATORS, "(x and y).to(tl.int8)", [x, y], "i8", lambda a, b: (a & b).astype(np.int8),
                              topic="`and` `or` `not`")
            yield elementwise("or keyword", (), OPERATORS, "(x or y).to(tl.int8)", [x, y], "i8", lambda a, b: (a | b).astype(np.int8),
                              topic="`and` `or` `not`")
            yield elementwise("not keyword", (), OPERATORS, "(not x).to(tl.int8)", [x], "i8", lambda a: (1 - a).astype(np.int8),
                              topic="`and` `or` `not`")
            yield elementwise("invert i1", (), OPERATORS, "~x", [x], "i1", lambda a: 1 - a, topic="`~`")
            for word, op, f in (("and", "&", np.bitwise_and), ("or", "|", np.bitwise_or), ("xor", "^", np.bitwise_xor)):
                yield elementwise(f"{word} i1", (), OPERATORS, f"x {op} y", [x, y], "i1", f, topic=f"`{op}`")
        yield elementwise(f"logical_and {t}", ("logical_and",), "language.md#elementwise", "x.logical_and(y)", [x, y], "i1",
                          lambda a, b: ((a != 0) & (b != 0)).astype(np.uint8), apart="" if t == "i1" else "of int1 alone")
        yield elementwise(f"logical_or {t}", ("logical_or",), "language.md#elementwise", "x.logical_or(y)", [x, y], "i1",
                          lambda a, b: ((a != 0) | (b != 0)).astype(np.uint8), apart="" if t == "i1" else "of int1 alone")


def comparisons():
    expression = "((x == y).to(tl.int32) | ((x != y).to(tl.int32) << 1) | ((x < y).to(tl.int32) << 2) | ((x <= y).to(tl.int32) << 3)" \
                 " | ((x > y).to(tl.int32) << 4) | ((x >= y).to(tl.int32) << 5))"

    def exact(a, b):
        return sum(f(a, b).astype(np.int32) << i for i, f in enumerate((np.equal, np.not_equal, np.less, np.less_equal, np.greater,
                                                                        np.greater_equal)))

    for t in INTS + FLOATS:
        yield elementwise(f"compare {t}", (), OPERATORS, expression, pair(t, t, 128, "cmp"), "i32", exact, topic="comparisons")
    for x, y in (("i8", "i32"), ("u8", "u64"), ("u8", "i16"), ("i32", "i64"), ("u16", "i64")):
        yield elementwise(f"compare {x} {y}", (), OPERATORS, expression, pair(x, y, 128, "cmp"), "i32",
                          lambda a, b: exact(a.astype(object), b.astype(object)), topic="comparisons, mixed")
    for x, y in (("i32", "u32"), ("i64", "u64"), ("i8", "u8"), ("i32", "u64")):
        t = FORMATS[wider(x, y)].stored
        yield elementwise(f"compare {x} {y}", (), OPERATORS, expression, pair(x, y, 128, "cmp"), "i32",
                          lambda a, b, t=t: exact(a.astype(t), b.astype(t)), topic="comparisons, mixed")
    for x, y in (("fp16", "fp32"), ("bf16", "fp32"), ("fp16", "fp64"), ("fp32", "fp64")):
        yield elementwise(f"compare {x} {y}", (), OPERATORS, expression, pair(x, y, 128, "cmp"), "i32", exact, topic="comparisons, mixed")
    for x, y in (("i8", "fp16"), ("i32", "fp32"), ("u16", "fp32"), ("i64", "fp64")):
        yield elementwise(f"compare {x} {y}", (), OPERATORS, expression, pair(x, y, 128, "cmp"), "i32",
                          lambda a, b, y=y: exact(through(y, a), b), topic="comparisons, mixed")
    for t in SIGNED + UNSIGNED:
        yield elementwise(f"less literal {t}", (), OPERATORS, "(x < 300).to(tl.int8)", [some(t, N)], "i8",
                          lambda x: np.array([int(v) < 300 for v in x], np.int8),
                          topic="comparisons, literals")
    for t in FLOATS:
        yield elementwise(f"less literal {t}", (), OPERATORS, "(x < 0.5).to(tl.int8)", [some(t, N)], "i8", lambda x: (x < 0.5).astype(np.int8),
                          topic="comparisons, literals")


def promoted():
    """Operators whose operands differ, beyond sums and products."""
    def common(x, y, f):
        stored = FORMATS[wider(x, y)].stored
        return lambda a, b: f(a.astype(stored), b.astype(stored))

    for x, y in (("i8", "i32"), ("i32", "i8"), ("u8", "i32"), ("i32", "u32"), ("u32", "i32"), ("i64", "u32"), ("u8", "i8"), ("i16", "u64")):
        t = wider(x, y)
        for name, op, f in (("and", "&", np.bitwise_and), ("or", "|", np.bitwise_or), ("xor", "^", np.bitwise_xor)):
            yield elementwise(f"{name} {x} {y}", (), OPERATORS, f"x {op} y", pair(x, y, N, name), t, common(x, y, f), topic=f"`{op}`, mixed")
        few = given(y, np.arange(N) % min(bits_of(x), bits_of(y)))
        yield elementwise(f"shl {x} {y}", (), OPERATORS, "x << y", [some(x, N, "shl"), few], t, common(x, y, np.left_shift), topic="`<<`, mixed")
        yield elementwise(f"shr {x} {y}", (), OPERATORS, "x >> y", [some(x, N, "shr"), few], t, shifted_right(x, t), topic="`>>`, mixed")
        for name, f in (("minimum", np.minimum), ("maximum", np.maximum)):
            yield elementwise(f"{name} {x} {y}", (name,), OPERATORS, f"tl.{name}(x, y)", pair(x, y, N, name), t, common(x, y, f))
        yield elementwise(f"where {x} {y}", ("where",), OPERATORS, "tl.where(x > 3, x, y)", pair(x, y, N, "where"), t,
                          lambda a, b, s=FORMATS[t].stored: np.where(a > 3, a.astype(s), b.astype(s)))
    for x, y in (("fp16", "i32"), ("bf16", "i8"), ("fp32", "i64"), ("fp64", "u32")):
        t = "fp32" if x == "bf16" else x
        yield elementwise(f"where {x} {y}", ("where",), OPERATORS, "tl.where(x > 0, x, y)", pair(x, y, N, "where"), t,
                          lambda a, b, t=t: np.where(a > 0, a, through(t, b)))
        yield elementwise(f"compare {x} {y} equal", (), OPERATORS, "x == y", [given(x, np.arange(N) % 7), given(y, np.arange(N) % 5)], "i1",
                          lambda a, b: (a == b).astype(np.uint8), topic="comparisons, mixed")


def shifted_right(x, t):
    """With the sign of the left operand."""
    def apply(a, b):
        kept = f"i{bits_of(t) // 8}" if FORMATS[x].signed else f"u{bits_of(t) // 8}"
        return (a.astype(FORMATS[t].stored).view(kept) >> b.astype(kept)).view(FORMATS[t].stored)

    return apply


def booleans():
    x, y = pair("i1", "i1", N, "booleans")
    for name, expression, t, f in (("add", "x + y", "i1", lambda a, b: a ^ b), ("sub", "x - y", "i1", lambda a, b: a ^ b),
                                   ("mul", "x * y", "i1", lambda a, b: a & b), ("less", "x < y", "i1", lambda a, b: (a < b).astype(np.uint8)),
                                   ("equal", "x == y", "i1", lambda a, b: (a == b).astype(np.uint8)),
                                   ("add one", "x + 1", "i32", lambda a, b: a.astype(np.int32) + 1),
                                   ("times float", "x * 2.5", "fp32", lambda a, b: a * 2.5),
                                   ("where", "tl.where(x, y, x)", "i1", lambda a, b: np.where(a, b, a))):
        yield elementwise(f"booleans {name}", (), OPERATORS, expression, [x, y], t, f, topic="int1")
    for t in ("i8", "i32", "u64", "fp16", "fp32"):
        z = some(t, N, "with booleans")
        yield elementwise(f"booleans add {t}", (), OPERATORS, "x + y", [x, z], t, lambda a, b: a.astype(b.dtype) + b, topic="int1")
        yield elementwise(f"booleans mul {t}", (), OPERATORS, "x * y", [z, y], t, lambda a, b: a * b.astype(a.dtype), topic="int1")


def odd_literals():
    for name, t, expression, result, f in (
            ("bool", "i32", "x + True", "i32", lambda x: x + 1), ("float of fp16", "fp16", "x * 70000.0", "fp16", lambda x: x * np.inf),
            ("large of fp32", "fp32", "x + 1e300", "fp32", lambda x: x + np.inf), ("int of fp16", "fp16", "x + 4096", "fp16", lambda x: x + 4096),
            ("int of bf16", "bf16", "x + 257", "bf16", lambda x: x + 256),
            ("float of i64", "i64", "x + 0.5", "fp32", lambda x: x.astype(np.float32).astype(np.float64) + 0.5),
            ("infinity", "fp32", "x * float('inf')", "fp32", lambda x: x * np.inf), ("nan", "fp16", "x + float('nan')", "fp16", lambda x: x * np.nan),
            ("minus infinity", "fp64", "x - float('-inf')", "fp64", lambda x: x + np.inf),
            ("subnormal", "fp32", "x + 1e-45", "fp32", lambda x: x + 2.0**-149), ("minus zero", "fp32", "x + -0.0", "fp32", lambda x: x + -0.0),
            ("hexadecimal", "u32", "x ^ 0xDEADBEEF", "u32", lambda x: x ^ np.uint32(0xDEADBEEF)),
            ("none equal", "u8", "x == 300", "i1", lambda x: np.zeros_like(x)),
            ("expression", "i32", "x * (3 + 4 * 2) - (7 // 2)", "i32", lambda x: x * 11 - 3),
            ("reversed shift", "i64", "x >> 63", "i64", lambda x: x >> 63),
            ("reversed divide", "fp64", "1.0 / x", "fp64", lambda x: 1 / x),
            ("reversed modulo", "i32", "100 % (x * 0 + 7)", "i32", lambda x: x * 0 + 2),
            ("reversed and", "u8", "0x3C & x", "u8", lambda x: x & np.uint8(0x3C))):
        yield elementwise(f"literal {name}", (), OPERATORS, expression, [some(t, N)], result, f, topic="literals")


def rows():
    for part in (promoted, booleans, odd_literals, one_type, mixed, literals, functions, logical, comparisons):
        yield from part()
