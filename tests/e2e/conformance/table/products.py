"""Products of tiles: kinds, precisions, shapes, sums; microscaled ones. Of small integers, with which every sum is exact, and of real numbers."""
import numpy as np

from formats import Numbers, language
from rows import Row, Ulp, codes, given, out
from table.reductions import exact_small, grid_of

DOC = "language.md#operators"


def product(name, a, b, m, n, k, sums, result, expression="tl.dot(x, y)", inputs=None, exact=None, **rest):
    x, y = inputs or (exact_small(a, (m, k), "a", -4, 4), exact_small(b, (k, n), "b", -4, 4))
    body = f"x = tl.load(x_p + {grid_of((m, k))})\ny = tl.load(y_p + {grid_of((k, n))})\nr = {expression}\n" \
           f"tl.static_assert(r.dtype == {language(result)})\ntl.store(o_p + {grid_of((m, n))}, r)"
    wanted = exact or (lambda x_p, y_p: x_p.astype(sums) @ y_p.astype(sums))
    return Row(name, rest.pop("builtins", ("dot",)), DOC, {"x_p": x, "y_p": y, "o_p": out(result, (m, n))}, body, wanted,
               types=(a, b) if a != b else (a,), **rest)


def kinds():
    for t in ("fp16", "bf16", "fp32", "fp64", "fp8e5", "fp8e4nv"):
        made = "fp64" if t == "fp64" else "fp32"
        for m, n, k in ((16, 16, 32), (32, 16, 16), (16, 32, 64)):
            if t.startswith("fp8") and k < 32:
                k = 32
            expression = "tl.dot(x, y)" if t != "fp64" else "tl.dot(x, y, out_dtype=tl.float64)"
            yield product(f"dot {t} {m} {n} {k}", t, t, m, n, k, np.float64, made, expression)
    yield product("dot i8", "i8", "i8", 16, 16, 32, np.int32, "i32", "tl.dot(x, y, out_dtype=tl.int32)")
    yield product("dot i8 wide", "i8", "i8", 32, 32, 64, np.int32, "i32", "tl.dot(x, y, out_dtype=tl.int32)")
    yield product("dot i8 extremes", "i8", "i8", 16, 16, 32, np.int32, "i32", "tl.dot(x, y, out_dtype=tl.int32)",
                  (exact_small("i8", (16, 32), "e", -128, 127), exact_small("i8", (32, 16), "f", -128, 127)))
    yield product("dot fp8 mixed", "fp8e5", "fp8e4nv", 16, 16, 32, np.float64, "fp32")
    yield product("dot fp8 mixed back", "fp8e4nv", "fp8e5", 16, 16, 32, np.float64, "fp32")
    yield product("dot fp16 sums", "fp16", "fp16", 16, 16, 32, np.float64, "fp16", "tl.dot(x, y, out_dtype=tl.float16)")
    for precision in ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"):
        yield product(f"dot fp32 {precision}", "fp32", "fp32", 16, 16, 16, np.float64, "fp32", f'tl.dot(x, y, input_precision="{precision}")')
    yield product("dot allow_tf32", "fp32", "fp32", 16, 16, 16, np.float64, "fp32", "tl.dot(x, y, allow_tf32=False)")
    for count in (0, 32):
        yield product(f"dot imprecise {count}", "fp8e5", "fp8e5", 32, 32, 64, np.float64, "fp32", f"tl.dot(x, y, max_num_imprecise_acc={count})")
    for t in ("fp16", "fp32"):
        yield product(f"dot accumulated {t}", t, t, 16, 16, 16, np.float64, "fp32", "tl.dot(x, y, tl.full((16, 16), 3, tl.float32))",
                      exact=lambda x_p, y_p: x_p @ y_p + 3)
        yield product(f"dot of products {t}", t, t, 16, 16, 16, np.float64, "fp32", f"tl.dot(tl.dot(x, y).to({language(t)}), y)",
                      (exact_small(t, (16, 16), "p", -1, 1),
                      exact_small(t, (16, 16), "q", -1, 1)), exact=lambda x_p, y_p: x_p @ y_p @ y_p)
        yield product(f"dot transposed {t}", t, t, 16, 16, 16, np.float64, "fp32", "tl.dot(tl.trans(x), tl.trans(y))",
                      exact=lambda x_p, y_p: x_p.T @ y_p.T)
    for m, n, k in ((1, 1, 1), (1, 16, 16), (16, 1, 8), (2, 4, 8), (8, 8, 8)):
        apart = "K of at least 16" if k < 16 else ""
        yield product(f"dot small {m} {n} {k}", "fp32", "fp32", m, n, k, np.float64, "fp32", apart=apart)
        yield product(f"dot small fp16 {m} {n} {k}", "fp16", "fp16", m, n, k, np.float64, "fp32", apart=apart)
    for t in ("fp16", "fp32", "i8"):
        x, y = exact_small(t, (2, 16, 32), "batch", -4, 4), exact_small(t, (2, 32, 16), "batch b", -4, 4)
        made = "i32" if t == "i8" else "fp32"
        body = f"x = tl.load(x_p + {grid_of((2, 16, 32))})\ny = tl.load(y_p + {grid_of((2, 32, 16))})\n" \
               f"r = tl.dot(x, y, out_dtype={language(made)})\ntl.store(o_p + {grid_of((2, 16, 16))}, r)"
        yield Row(f"dot batches {t}", ("dot",), DOC, {"x_p": x, "y_p": y, "o_p": out(made, (2, 16, 16))}, body,
                  lambda x_p, y_p, d=np.int32 if t == "i8" else np.float64: x_p.astype(d) @ y_p.astype(d), types=(t,))


def reals():
    for t, relative in (("fp16", 2.0**-20), ("bf16", 2.0**-20), ("fp64", 2.0**-50), ("fp32", 2.0**-9)):
        made = "fp64" if t == "fp64" else "fp32"
        numbers = Numbers(f"real {t}")
        x, y = given(t, numbers.uniform(-1, 1, 512).reshape(16, 32)), given(t, numbers.uniform(-1, 1, 512).reshape(32, 16))
        yield product(f"dot real {t}", t, t, 16, 16, 32, np.float64, made, "tl.dot(x, y)" if t != "fp64" else "tl.dot(x, y, out_dtype=tl.float64)",
                      (x, y),
                      compare=Ulp(0, absolute=32 * relative))
    numbers = Numbers("real precise")
    x, y = given("fp32", numbers.uniform(-1, 1, 256).reshape(16, 16)), given("fp32", numbers.uniform(-1, 1, 256).reshape(16, 16))
    for precision, relative in (("ieee", 2.0**-22), ("tf32x3", 2.0**-19), ("bf16x6", 2.0**-19), ("bf16x3", 2.0**-14)):
        yield product(f"dot real {precision}", "fp32", "fp32", 16, 16, 16, np.float64, "fp32", f'tl.dot(x, y, input_precision="{precision}")', (x, y),
                      compare=Ulp(0, absolute=16 * relative))


def e2m1(code):
    return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])[code]


def operand(kind, rows, columns, seed):
    """(array as the kernel takes it, values), `columns` along K."""
    numbers = Numbers(f"{kind} {seed}")
    if kind == "e2m1":
        both = numbers.integers(0, 15, rows * columns).reshape(rows, columns)
        return codes("u8", (both[:, ::2] | both[:, 1::2] << 4).astype(np.uint8)), e2m1(both)
    t = {"e4m3": "fp8e4nv", "e5m2": "fp8e5", "bf16": "bf16", "fp16": "fp16"}[kind]
    values = numbers.integers(-4, 4, rows * columns).reshape(rows, columns).astype(np.float64)
    return given(t, values), values


def scaled():
    for a, b in (("e5m2", "e5m2"), ("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e5m2"), ("e2m1", "e4m3"), ("bf16", "e4m3"), ("fp16", "e2m1"),
                 ("e5m2", "bf16")):
        m, n, k = 16, 16, 64
        x, x_values = operand(a, m, k, "left")
        y, y_values = operand(b, n, k, "right")
        scale = {}
        for side, kind, rows in (("a", a, m), ("b", b, n)):
            scale[side] = None if kind in ("bf16", "fp16") else codes("u8",
                                                                      (127 + Numbers(f"{side}{a}{b}").integers(-2, 2,
                                                                                                               rows * k // 32)).astype(np.uint8),
                                                                      (rows, k // 32))
        arguments = {"x_p": x, "y_p": y}
        loads = f"x = tl.load(x_p + {grid_of(x.shape)})\ny = tl.trans(tl.load(y_p + {grid_of(y.shape)}))\n"
        for side in "ab":
            if scale[side]:
                arguments[f"s{side}_p"] = scale[side]
                loads += f"s{side} = tl.load(s{side}_p + {grid_of(scale[side].shape)})\n"
        names = {side: f"s{side}" if scale[side] else "None" for side in "ab"}
        body = loads + f'r = tl.dot_scaled(x, {names["a"]}, "{a}", y, {names["b"]}, "{b}")\ntl.store(o_p + {grid_of((m, n))}, r)'

        def exact(x_p, y_p, sa_p=None, sb_p=None, xv=x_values, yv=y_values):
            def factor(s):
                return 1.0 if s is None else np.repeat(2.0**(s.astype(np.float64) - 127), 32, 1)
            return (xv * factor(sa_p)) @ (yv * factor(sb_p)).T

        yield Row(f"dot_scaled {a} {b}", ("dot_scaled",), DOC, {**arguments, "o_p": out("fp32", (m, n))}, body, exact,
                  types=tuple(dict.fromkeys((a, b))))


def rows():
    for part in (kinds, reals, scaled):
        yield from part()
