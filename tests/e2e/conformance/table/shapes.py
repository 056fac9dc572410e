"""Programs, tiles and their shapes: what is made, moved, joined, taken apart."""
import numpy as np

from formats import NUMBERS, language
from rows import Row, given, out
from table.orders import tile
from table.reductions import any_of, grid_of

SHAPES_DOC = "language.md#shapes"
TILES = "language.md#programs-tiles"
OPERATORS = "language.md#operators"


def made():
    for t in NUMBERS + ["i1"]:
        value = "True" if t == "i1" else "3"
        yield Row(f"full {t}", ("full",), TILES, {"o_p": out(t, (4, 8))},
                  f"v = tl.full((4, 8), {value}, {language(t)})\ntl.store(o_p + {grid_of((4, 8))}, v)",
                  lambda t=t: np.full((4, 8), 1 if t == "i1" else 3), types=(t,))
        yield Row(f"zeros {t}", ("zeros",), TILES, {"o_p": out(t, (4, 8))},
                  f"v = tl.zeros((4, 8), {language(t)})\ntl.store(o_p + {grid_of((4, 8))}, v)",
                  lambda: np.zeros((4, 8)), types=(t,))
    for t in ("i8", "fp16", "bf16", "i64"):
        array = any_of(t, (4, 8), "like")
        yield tile(f"zeros_like {t}", ("zeros_like",), array, "tl.zeros_like(x)", (4, 8), np.zeros_like, doc=TILES)
        yield tile(f"full_like {t}", ("full_like",), array, "tl.full_like(x, 5)", (4, 8), lambda x: np.full_like(x, 5), doc=TILES, apart="not in 3.6")
    for start, end in ((0, 64), (0, 1), (16, 32), (5, 13), (100, 228)):
        yield Row(f"arange {start} {end}", ("arange",), TILES, {"o_p": out("i32", end - start)},
                  f"v = tl.arange({start}, {end})\ntl.static_assert(v.dtype == tl.int32)\ntl.store(o_p + v - {start}, v)", lambda s=start,
                  e=end: np.arange(s, e), types=("i32",))
    yield Row("program_id", ("program_id", "num_programs"), TILES, {"o_p": out("i32", (2, 3, 4))},
              "x = tl.program_id(0)\ny = tl.program_id(1)\nz = tl.program_id(2)\nat = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x\n"
              "tl.store(o_p + at, x + 10 * y + 100 * z + 1000 * tl.num_programs(2))",
              lambda: np.array([[[x + 10 * y + 100 * z + 2000 for x in range(4)] for y in range(3)] for z in range(2)]), grid=(4, 3, 2),
              types=("i32",))
    yield Row("to_tensor", ("to_tensor",), TILES, {"o_p": out("i32", 16)},
              "v = tl.core.to_tensor(7)\ntl.store(o_p + tl.arange(0, 16), v + tl.arange(0, 16))",
              lambda: 7 + np.arange(16), types=("i32",))
    yield Row("swizzle2d", ("swizzle2d",), "language.md#elementwise", {"a_p": out("i32", (6, 8)), "b_p": out("i32", (6, 8))},
              "i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), 6, 8, 4)\n"
              "at = tl.program_id(0) * 8 + tl.program_id(1)\ntl.store(a_p + at, i)\ntl.store(b_p + at, j)",
              swizzled, grid=(6, 8), types=("i32",))


def swizzled():
    """Of a 6 by 8 grid in groups of 4 rows."""
    a, b = np.zeros((6, 8), np.int32), np.zeros((6, 8), np.int32)
    for linear in range(48):
        group, within = divmod(linear, 32)
        rows = min(6 - group * 4, 4)
        a.flat[linear], b.flat[linear] = group * 4 + within % rows, within // rows
    return {"a_p": a, "b_p": b}


def moved():
    for t in ("i8", "fp16", "i32", "fp64", "bf16", "fp8e5"):
        array = any_of(t, (8, 16), "shape")
        yield tile(f"trans {t}", ("trans",), array, "tl.trans(x)", (16, 8), np.transpose, doc=SHAPES_DOC)
        yield tile(f"reshape {t}", ("reshape",), array, "tl.reshape(x, (4, 32))", (4, 32), lambda x: x.reshape(4, 32), doc=SHAPES_DOC)
        yield tile(f"expand {t}", ("expand_dims",), array, "tl.expand_dims(x, 1)", (8, 1, 16), lambda x: x[:, None], doc=SHAPES_DOC)
        yield tile(f"permute {t}", ("permute",), any_of(t, (4, 8, 2), "permute"), "tl.permute(x, (2, 0, 1))", (2, 4, 8),
                   lambda x: x.transpose(2, 0, 1), doc=SHAPES_DOC)
    for shape, dims in (((2, 4, 8), (0, 2, 1)), ((1, 8, 4), (1, 0, 2)), ((1, 16), (1, 0)), ((2, 2, 2, 8), (3, 1, 0, 2)), ((64, 1), (1, 0))):
        yield tile(f"permute {shape} {dims}", ("permute",), any_of("i32", shape, "permute"), f"x.permute({', '.join(map(str, dims))})",
                   tuple(shape[d] for d in dims), lambda x, d=dims: x.transpose(d), doc=SHAPES_DOC)
        yield tile(f"trans {shape} {dims}", ("trans",), any_of("i32", shape, "trans"), f"tl.trans(x, {', '.join(map(str, dims))})",
                   tuple(shape[d] for d in dims), lambda x, d=dims: x.transpose(d), doc=SHAPES_DOC)
    for shape, to in (((64,), (8, 8)), ((8, 8), (64,)), ((1, 64), (64, 1)), ((4, 4, 4), (2, 32)), ((16,), (1, 16, 1)), ((2, 1, 8), (16,))):
        text = f"({', '.join(map(str, to))},)"
        yield tile(f"reshape {shape} {to}", ("reshape",), any_of("i32", shape, "r"), f"tl.reshape(x, {text})", to, lambda x, to=to: x.reshape(to),
                   doc=SHAPES_DOC)
        yield tile(f"reshape method {shape} {to}", ("reshape",), any_of("i32", shape, "r"), f"x.reshape({', '.join(map(str, to))})", to,
                   lambda x, to=to: x.reshape(to), doc=SHAPES_DOC)
        yield tile(f"view {shape} {to}", ("view",), any_of("i32", shape, "v"), f"tl.view(x, {text})", to, lambda x, to=to: x.reshape(to),
                   doc=SHAPES_DOC,
                   apart="the order of elements may change")
    yield tile("ravel", ("ravel",), any_of("i32", (4, 16), "ravel"), "tl.ravel(x)", (64,), np.ravel, doc=SHAPES_DOC)
    yield tile("squeeze", ("squeeze",), any_of("i32", (4, 1, 16), "sq"), "tl.squeeze(x, 1)", (4, 16), lambda x: x[:, 0], doc=SHAPES_DOC,
               apart="not in 3.6")
    yield tile("unsqueeze", ("unsqueeze",), any_of("i32", (4, 16), "sq"), "tl.unsqueeze(x, 0)", (1, 4, 16), lambda x: x[None], doc=SHAPES_DOC,
               apart="not in 3.6")
    for index, to in (("x[:, None]", (16, 1)), ("x[None, :]", (1, 16)), ("x[None, :, None]", (1, 16, 1))):
        yield tile(f"index to {to}", (), any_of("i32", (16,), "index"), index, to, lambda x, to=to: x.reshape(to), doc=OPERATORS,
                   topic="`x[:, None]`")
    yield tile("expand_dims twice", ("expand_dims",), any_of("i32", (16,), "ex"), "x.expand_dims(0).expand_dims(-1)", (1, 16, 1),
               lambda x: x[None, :, None], doc=SHAPES_DOC)
    yield Row("item", ("item",), SHAPES_DOC, {"x_p": given("i32", [[41]]), "o_p": out("i32", 1)},
              "x = tl.load(x_p + tl.arange(0, 1)[:, None] + tl.arange(0, 1)[None, :])\ntl.store(o_p, x.item() + 1)", lambda x_p: x_p[0] + 1,
              types=("i32",))


def broadcasts():
    for shape, to in (((1, 16), (8, 16)), ((8, 1), (8, 16)), ((1, 1), (4, 8)), ((2, 1, 4), (2, 8, 4))):
        text = f"{to}"
        for t in ("i32", "fp16"):
            yield tile(f"broadcast_to {t} {shape}", ("broadcast_to",), any_of(t, shape, "b"), f"tl.broadcast_to(x, {text})", to,
                       lambda x, to=to: np.broadcast_to(x, to), doc=SHAPES_DOC)
        yield tile(f"broadcast_to method {shape}", ("broadcast_to",), any_of("i32", shape, "b"), f"x.broadcast_to({', '.join(map(str, to))})", to,
                   lambda x, to=to: np.broadcast_to(x, to), doc=SHAPES_DOC)
    for a, b in (((8, 1), (1, 16)), ((1, 1), (8, 16)), ((8, 16), (1, 16)), ((2, 1, 4), (1, 8, 1)), ((1, 32), (32, 1))):
        full = np.broadcast_shapes(a, b)
        arrays = {"x_p": any_of("i32", a, "left"), "y_p": any_of("i32", b, "right")}
        loads = f"x = tl.load(x_p + {grid_of(a)})\ny = tl.load(y_p + {grid_of(b)})\n"
        yield Row(f"operands {a} {b}", (), OPERATORS, {**arrays, "o_p": out("i32", full)}, loads + f"tl.store(o_p + {grid_of(full)}, x - y)",
                  lambda x_p, y_p: x_p - y_p, types=("i32",), topic="shapes of operands")
        yield Row(f"broadcast {a} {b}", ("broadcast",), SHAPES_DOC, {**arrays, "o_p": out("i32", full), "q_p": out("i32", full)},
                  loads + f"u, v = tl.broadcast(x, y)\ntl.store(o_p + {grid_of(full)}, u)\ntl.store(q_p + {grid_of(full)}, v)",
                  lambda x_p, y_p, f=full: {"o_p": np.broadcast_to(x_p, f), "q_p": np.broadcast_to(y_p, f)}, types=("i32",))
    yield Row("operands of two ranks", (), OPERATORS, {"x_p": any_of("i32", (4, 16), "a"), "y_p": any_of("i32", (16,), "b"),
                                                       "o_p": out("i32", (4, 16))},
              f"x = tl.load(x_p + {grid_of((4, 16))})\ny = tl.load(y_p + tl.arange(0, 16))\ntl.store(o_p + {grid_of((4, 16))}, x + y)",
              lambda x_p, y_p: x_p + y_p, types=("i32",), topic="shapes of operands")


def joined():
    for t in NUMBERS:
        arrays = {"x_p": any_of(t, (4, 8), "a"), "y_p": any_of(t, (4, 8), "b")}
        loads = f"x = tl.load(x_p + {grid_of((4, 8))})\ny = tl.load(y_p + {grid_of((4, 8))})\n"
        yield Row(f"join {t}", ("join",), SHAPES_DOC, {**arrays, "o_p": out(t, (4, 8, 2))},
                  loads + f"tl.store(o_p + {grid_of((4, 8, 2))}, tl.join(x, y))",
                  lambda x_p, y_p: np.stack([x_p, y_p], -1), types=(t,))
        yield Row(f"interleave {t}", ("interleave",), SHAPES_DOC, {**arrays, "o_p": out(t, (4, 16))},
                  loads + f"tl.store(o_p + {grid_of((4, 16))}, tl.interleave(x, y))",
                  lambda x_p, y_p: np.stack([x_p, y_p], -1).reshape(4, 16), types=(t,))
        yield Row(f"split {t}", ("split",), SHAPES_DOC, {"x_p": any_of(t, (4, 8, 2), "s"), "o_p": out(t, (4, 8)), "q_p": out(t, (4, 8))},
                  f"x = tl.load(x_p + {grid_of((4, 8, 2))})\na, b = tl.split(x)\n"
                  f"tl.store(o_p + {grid_of((4, 8))}, a)\ntl.store(q_p + {grid_of((4, 8))}, b)",
                  lambda x_p: {"o_p": x_p[..., 0], "q_p": x_p[..., 1]}, types=(t,))
    for t in ("i32", "fp16", "i8"):
        arrays = {"x_p": any_of(t, (32,), "a"), "y_p": any_of(t, (32,), "b")}
        loads = "x = tl.load(x_p + tl.arange(0, 32))\ny = tl.load(y_p + tl.arange(0, 32))\n"
        yield Row(f"cat {t}", ("cat",), SHAPES_DOC, {**arrays, "o_p": out(t, 64)},
                  loads + "tl.store(o_p + tl.arange(0, 64), tl.cat(x, y, can_reorder=True))",
                  lambda x_p, y_p: np.concatenate([x_p, y_p]), types=(t,), apart="the order of elements may change")
        two = {"x_p": any_of(t, (4, 8), "a"), "y_p": any_of(t, (4, 8), "b")}
        for dim in (0, 1):
            shape = (8, 8) if dim == 0 else (4, 16)
            yield Row(f"cat {t} dim {dim}", ("cat",), SHAPES_DOC, {**two, "o_p": out(t, shape)},
                      f"x = tl.load(x_p + {grid_of((4, 8))})\ny = tl.load(y_p + {grid_of((4, 8))})\n"
                      f"tl.store(o_p + {grid_of(shape)}, tl.cat(x, y, dim={dim}))",
                      lambda x_p, y_p, d=dim: np.concatenate([x_p, y_p], d), types=(t,), apart="cat has no dim")
    for shape in ((1,), (16, 1), (1, 16)):
        arrays = {"x_p": any_of("i32", shape, "a"), "y_p": any_of("i32", shape, "b"), "o_p": out("i32", shape + (2,))}
        yield Row(f"join {shape}", ("join",), SHAPES_DOC, arrays,
                  f"x = tl.load(x_p + {grid_of(shape)})\ny = tl.load(y_p + {grid_of(shape)})\ntl.store(o_p + {grid_of(shape + (2,))}, tl.join(x, y))",
                  lambda x_p, y_p: np.stack([x_p, y_p], -1), types=("i32",))
    yield Row("join scalars", ("join",), SHAPES_DOC, {"x_p": given("i32", [3, 4]), "o_p": out("i32", 2)},
              "tl.store(o_p + tl.arange(0, 2), tl.join(tl.load(x_p), tl.load(x_p + 1)))", lambda x_p: x_p, types=("i32",))
    yield Row("split one dimension", ("split",), SHAPES_DOC, {"x_p": given("i32", [3, 4]), "o_p": out("i32", 2)},
              "a, b = tl.split(tl.load(x_p + tl.arange(0, 2)))\ntl.store(o_p, b)\ntl.store(o_p + 1, a)", lambda x_p: x_p[::-1], types=("i32",))


def rows():
    for part in (made, moved, broadcasts, joined):
        yield from part()


