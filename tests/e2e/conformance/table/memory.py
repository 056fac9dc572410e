"""Loads and stores: masks, `other`, hints, scalars; block pointers; tensor descriptors."""
import numpy as np

from formats import FORMATS, NUMBERS
from rows import Row, changed, given, out
from table.reductions import any_of, grid_of

MEMORY = "language.md#memory"
BLOCKS = "language.md#block-pointers-and-tensor-descriptors"
N = 64


def accesses():
    for t in [*NUMBERS, "i1", "fp8e4nv", "fp8e5"]:
        array = any_of(t, (N,), "load") if FORMATS[t].bits > 1 else given(t, np.arange(N) % 3 == 0)
        copy = f"i = tl.arange(0, {N})\n"
        yield Row(f"load {t}", ("load", "store"), MEMORY, {"x_p": array, "o_p": out(t, N)}, copy + "tl.store(o_p + i, tl.load(x_p + i))",
                  lambda x_p: x_p, types=(t,))
        other = "True" if t == "i1" else "0" if t.startswith("fp8") else "5"
        value = {"True": 1, "0": 0.0, "5": 5}[other]
        yield Row(f"load masked {t}", ("load",), MEMORY, {"x_p": array, "o_p": out(t, N)},
                  copy + f"tl.store(o_p + i, tl.load(x_p + i, mask=i % 3 != 0, other={other}))",
                  lambda x_p, v=value: np.where(np.arange(N) % 3 != 0, x_p, v).astype(x_p.dtype), types=(t,),
                  apart="" if not t.startswith("fp8") else "other of fp8")
        yield Row(f"store masked {t}", ("store",), MEMORY, {"x_p": array,
                                                            "o_p": changed(any_of(t, (N,), "old") if FORMATS[t].bits > 1 else given(t, np.zeros(N)))},
                  copy + "tl.store(o_p + i, tl.load(x_p + i), mask=i % 5 < 2)", lambda x_p, o_p: np.where(np.arange(N) % 5 < 2, x_p, o_p), types=(t,))
        yield Row(f"load scalar {t}", ("load",), MEMORY, {"x_p": array, "o_p": out(t, 1)}, "tl.store(o_p, tl.load(x_p + 5))", lambda x_p: x_p[5:6],
                  types=(t,))
    array = any_of("i32", (N,), "hint")
    copy = f"i = tl.arange(0, {N})\n"
    for option in ('cache_modifier=".ca"', 'cache_modifier=".cg"', 'cache_modifier=".cv"', 'eviction_policy="evict_first"',
                   'eviction_policy="evict_last"',
                   "volatile=True"):
        yield Row(f"load {option}", ("load",), MEMORY, {"x_p": array, "o_p": out("i32", N)}, copy + f"tl.store(o_p + i, tl.load(x_p + i, {option}))",
                  lambda x_p: x_p, types=("i32",))
    for option in ('cache_modifier=".wb"', 'cache_modifier=".cg"', 'cache_modifier=".cs"', 'cache_modifier=".wt"', 'eviction_policy="evict_first"',
                   'eviction_policy="evict_last"'):
        yield Row(f"store {option}", ("store",), MEMORY, {"x_p": array, "o_p": out("i32", N)},
                  copy + f"tl.store(o_p + i, tl.load(x_p + i), {option})", lambda x_p: x_p, types=("i32",))
    for shape in ((1, 64), (64, 1), (8, 8), (1, 1), (4, 2, 8)):
        array = any_of("fp32", shape, "tile")
        g = grid_of(shape)
        yield Row(f"tile {shape}", ("load", "store"), MEMORY, {"x_p": array, "o_p": out("fp32", shape)}, f"tl.store(o_p + {g}, tl.load(x_p + {g}))",
                  lambda x_p: x_p, types=("fp32",))
    array = any_of("i32", (8, 16), "broadcast mask")
    g = grid_of((8, 16))
    body = f"m = tl.arange(0, 16)[None, :] < 11\nx = tl.load(x_p + {g}, mask=m, other=-1)\n" \
           f"tl.store(o_p + {g}, x, mask=(tl.arange(0, 8)[:, None] != 3))"
    yield Row("masks of sides of 1", ("load", "store"), MEMORY, {"x_p": array, "o_p": out("i32", (8, 16))}, body,
              lambda x_p: kept_where_off(np.where(np.arange(16) < 11, x_p, -1), np.arange(8) != 3), types=("i32",))
    for name, mask in (("off", "i < 0"), ("on", "i < 64"), ("one", "i == 17"), ("scalar", "False"), ("scalar on", "True")):
        body = copy + f"tl.store(o_p + i, tl.load(x_p + i, mask={mask}, other=9))"
        line = any_of("i32", (N,), "hint")
        keep = {"off": np.zeros(N, bool), "on": np.ones(N, bool), "one": np.arange(N) == 17, "scalar": np.zeros(N, bool),
                "scalar on": np.ones(N, bool)}[name]
        yield Row(f"mask {name}", ("load",), MEMORY, {"x_p": line, "o_p": out("i32", N)}, body, lambda x_p, k=keep: np.where(k, x_p, 9),
                  types=("i32",))
    yield Row("other tile", ("load",), MEMORY, {"x_p": any_of("fp16", (N,), "a"), "y_p": any_of("fp16", (N,), "b"), "o_p": out("fp16", N)},
              copy + "tl.store(o_p + i, tl.load(x_p + i, mask=i % 2 == 0, other=tl.load(y_p + i)))",
              lambda x_p, y_p: np.where(np.arange(N) % 2 == 0, x_p, y_p), types=("fp16",))
    yield Row("other converted", ("load",), MEMORY, {"x_p": any_of("fp16", (N,), "a"), "o_p": out("fp16", N)},
              copy + "tl.store(o_p + i, tl.load(x_p + i, mask=i % 2 == 0, other=0.1))",
              lambda x_p: np.where(np.arange(N) % 2 == 0, x_p, float(np.float16(0.1))), types=("fp16",))
    yield Row("method store", ("store",), MEMORY, {"x_p": any_of("i32", (N,), "a"), "o_p": out("i32", N)}, copy + "(o_p + i).store(tl.load(x_p + i))",
              lambda x_p: x_p,
              types=("i32",))
    yield Row("pointer arithmetic", ("load",), "language.md#operators", {"x_p": any_of("i32", (N,), "a"), "o_p": out("i32", N)},
              "p = x_p + tl.arange(0, 32) * 2 + 1\np -= 1\np = 32 + p - 16 - 16\n"
              "q = o_p + tl.arange(0, 32)\ntl.store(q, tl.load(p))\ntl.store(q + 32, tl.load(p + 1))",
              lambda x_p: np.concatenate([x_p[::2], x_p[1::2]]), types=("i32",), topic="`+` `-` with a pointer")
    yield Row("scalar arguments", (), "language.md#values-and-types", {"o_p": out("fp64", 8), "a": 7, "b": -3, "c": 2.5, "d": 2**40, "e": True,
                                                                       "f": 1},
              "tl.store(o_p, a)\ntl.store(o_p + 1, b)\ntl.store(o_p + 2, c)\ntl.store(o_p + 3, d)\n"
              "tl.store(o_p + 4, e.to(tl.int32))\ntl.store(o_p + 5, f)\n"
              "tl.store(o_p + 6, a * b)\ntl.store(o_p + 7, d + b)", lambda a, b, c, d, e, f: np.array([a, b, c, d, 1, f, a * b, d + b], np.float64),
              types=("fp64",),
              topic="parameters")


def kept_where_off(values, written):
    """Rows that a store left alone keep the bytes that an output begins with."""
    return np.where(np.asarray(written)[:, None], values, np.int32(0x35353535))


def block_pointers():
    for t in ("i8", "fp16", "fp32", "i64", "bf16", "u16"):
        array = any_of(t, (13, 21), "block")
        body = """
a = tl.make_block_ptr(x_p, (13, 21), (21, 1), (8, 16), (8, 8), (1, 0))
b = tl.make_block_ptr(o_p, (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))
tl.store(b, tl.load(a, boundary_check=(0, 1), padding_option="zero"))"""
        yield Row(f"make_block_ptr {t}", ("make_block_ptr", "load", "block_store"), BLOCKS, {"x_p": array, "o_p": out(t, (8, 8))}, body,
                  lambda x_p: np.pad(x_p, ((0, 8), (0, 8)))[8:16, 16:24], types=(t,))
    for t in ("fp32", "fp16", "fp64"):
        body = """
a = tl.make_block_ptr(x_p, (13, 21), (21, 1), (8, 16), (8, 8), (1, 0))
b = tl.make_block_ptr(o_p, (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))
tl.store(b, tl.load(a, boundary_check=(0, 1), padding_option="nan"))"""
        yield Row(f"block of NaN {t}", ("make_block_ptr",), BLOCKS, {"x_p": any_of(t, (13, 21), "block"), "o_p": out(t, (8, 8))}, body,
                  lambda x_p: np.pad(x_p, ((0, 8), (0, 8)), constant_values=np.nan)[8:16, 16:24], types=(t,))
    array = any_of("i32", (16, 32), "advance")
    body = """
a = tl.make_block_ptr(x_p, (16, 32), (32, 1), (0, 0), (8, 8), (1, 0))
b = tl.make_block_ptr(o_p, (8, 32), (32, 1), (0, 0), (8, 8), (1, 0))
a = tl.advance(a, (8, 0))
for k in range(4):
    tl.store(b, tl.load(a))
    a = tl.advance(a, (0, 8))
    b = tl.advance(b, [0, 8])"""
    yield Row("advance", ("advance",), BLOCKS, {"x_p": array, "o_p": out("i32", (8, 32))}, body, lambda x_p: x_p[8:], types=("i32",))
    body = """
a = tl.make_block_ptr(x_p, (32, 16), (1, 32), (0, 0), (32, 16), (0, 1))
b = tl.make_block_ptr(o_p, (32, 16), (16, 1), (0, 0), (32, 16), (1, 0))
tl.store(b, tl.load(a))"""
    yield Row("block transposed", ("make_block_ptr",), BLOCKS, {"x_p": array, "o_p": out("i32", (32, 16))}, body, lambda x_p: x_p.T, types=("i32",))
    body = """
a = tl.make_block_ptr(x_p, (512,), (1,), (-8,), (32,), (0,))
i = tl.arange(0, 32)
tl.store(o_p + i, tl.load(a, boundary_check=(0,), padding_option="zero"))"""
    yield Row("block at a negative place", ("make_block_ptr",), BLOCKS, {"x_p": array, "o_p": out("i32", 32)}, body,
              lambda x_p: np.concatenate([np.zeros(8, np.int32), x_p.reshape(-1)[:24]]), types=("i32",))
    body = """
b = tl.make_block_ptr(o_p, (5, 11), (16, 1), (0, 0), (8, 16), (1, 0))
x = tl.load(x_p + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 16)[None, :])
tl.store(b, x, boundary_check=(0, 1))"""
    yield Row("block store checked", ("block_store",), BLOCKS, {"x_p": array, "o_p": out("i32", (8, 16))}, body, checked, types=("i32",))
    body = """
b = tl.make_block_ptr(o_p, (8, 16), (16, 1), (0, 0), (8, 16), (1, 0))
x = tl.load(x_p + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 16)[None, :])
b.store(x)"""
    yield Row("block methods", ("block_store",), BLOCKS, {"x_p": array, "o_p": out("i32", (8, 16))}, body, lambda x_p: x_p[:8, :16], types=("i32",))


def checked(x_p):
    left = np.full((8, 16), 0x35353535, np.int32)
    left[:5, :11] = x_p[:5, :11]
    return left


def descriptors():
    for t in ("i8", "u8", "fp16", "bf16", "fp32", "i32", "i64", "fp8e5", "fp64"):
        array = any_of(t, (16, 32), "descriptor")
        body = """
d = tl.make_tensor_descriptor(x_p, [13, 32], [32, 1], [8, 16])
e = tl.make_tensor_descriptor(o_p, [8, 16], [16, 1], [8, 16])
e.store([0, 0], d.load([8, 16]))"""
        yield Row(f"descriptor {t}", ("make_tensor_descriptor", "descriptor_load", "descriptor_store"), BLOCKS,
                  {"x_p": array, "o_p": out(t, (8, 16))}, body,
                  lambda x_p: np.pad(x_p[8:13, 16:], ((0, 3), (0, 0))), types=(t,))
    array = any_of("fp32", (16, 32), "padding")
    body = """
d = tl.make_tensor_descriptor(x_p, [13, 32], [32, 1], [8, 16], padding_option="nan")
i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
tl.store(o_p + i, tl.load_tensor_descriptor(d, [8, 24]))"""
    yield Row("descriptor NaN", ("load_tensor_descriptor",), BLOCKS, {"x_p": array, "o_p": out("fp32", (8, 16))}, body,
              lambda x_p: np.pad(x_p[8:13, 24:], ((0, 3), (0, 8)), constant_values=np.nan), types=("fp32",))
    body = """
d = tl._experimental_make_tensor_descriptor(x_p, [16, 32], [32, 1], [8, 16])
e = tl._experimental_make_tensor_descriptor(o_p, [8, 16], [16, 1], [8, 16])
tl._experimental_descriptor_store(e, tl._experimental_descriptor_load(d, [8, 16], [8, 16], tl.float32), [0, 0])"""
    yield Row("descriptor by old names", ("old_make_tensor_descriptor", "old_descriptor_load", "old_descriptor_store"), BLOCKS,
              {"x_p": array, "o_p": out("fp32", (8, 16))}, body, lambda x_p: x_p[8:, 16:], types=("fp32",), apart="of 3.2 and 3.3")
    body = """
d = tl.make_tensor_descriptor(o_p, [5, 16], [16, 1], [8, 16])
i = tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 16)[None, :]
tl.store_tensor_descriptor(d, [0, 0], tl.load(x_p + i))"""
    yield Row("descriptor store outside", ("store_tensor_descriptor",), BLOCKS, {"x_p": any_of("i32", (16, 32), "d"), "o_p": out("i32", (8, 16))},
              body,
              lambda x_p: kept_where_off(x_p[:8, :16], np.arange(8) < 5), types=("i32",))
    for rank, shape, block in ((1, (64,), (32,)), (3, (2, 8, 16), (2, 4, 16)), (3, (4, 4, 16), (1, 4, 8))):
        steps = [int(np.prod(shape[i + 1:])) for i in range(rank)]
        array = any_of("i32", shape, "rank")
        body = f"d = tl.make_tensor_descriptor(x_p, {list(shape)}, {steps}, {list(block)})\n" \
               f"x = d.load([{', '.join(['0'] * rank)}])\ntl.store(o_p + {grid_of(block)}, x)"
        yield Row(f"descriptor {shape} {block}", ("make_tensor_descriptor", "descriptor_load"), BLOCKS, {"x_p": array, "o_p": out("i32", block)},
                  body,
                  lambda x_p, b=block: x_p[tuple(slice(0, n) for n in b)], types=("i32",))
    operations = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    for name, f in operations.items():
        for t in ("i32", "u32") + (("fp32", "fp16", "u64") if name == "add" else ()) + (("i64",) if name in ("max", "min") else ()):
            is_float = FORMATS[t].is_float
            x = given(t, np.arange(128).reshape(8, 16) % 7) if is_float else any_of(t, (8, 16), f"{name} a")
            o = changed(given(t, np.arange(128).reshape(8, 16) % 5)) if is_float else changed(any_of(t, (8, 16), f"{name} b"))
            body = f"""
d = tl.make_tensor_descriptor(o_p, [8, 16], [16, 1], [8, 16])
i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
d.atomic_{name}([0, 0], tl.load(x_p + i))"""
            yield Row(f"descriptor atomic_{name} {t}", (f"descriptor_{name}",), BLOCKS, {"x_p": x, "o_p": o}, body, lambda x_p, o_p, f=f: f(o_p, x_p),
                      types=(t,))
    array = any_of("fp16", (32, 32), "gather")
    rows_given = given("i32", np.array([3, 31, 0, 7, 7, 12, 30, 1]))
    body = """
d = tl.make_tensor_descriptor(x_p, [32, 32], [32, 1], [1, 16])
r = tl.load(r_p + tl.arange(0, 8))
i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
tl.store(o_p + i, d.gather(r, 16))"""
    only = "copies by rows are of capability 10"
    yield Row("descriptor gather", ("descriptor_gather",), BLOCKS, {"x_p": array, "r_p": rows_given, "o_p": out("fp16", (8, 16))}, body,
              lambda x_p, r_p: x_p[r_p][:, 16:], types=("fp16",), apart=only)
    body = """
d = tl.make_tensor_descriptor(o_p, [16, 16], [16, 1], [1, 16])
r = tl.load(r_p + tl.arange(0, 8)) % 16
i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
d.scatter(tl.load(x_p + i), r, 0)"""
    rows_apart = given("i32", np.array([3, 15, 0, 7, 6, 12, 14, 1]))
    yield Row("descriptor scatter", ("descriptor_scatter",), BLOCKS, {"x_p": any_of("fp16", (8, 16), "s"), "r_p": rows_apart,
                                                                      "o_p": changed(given("fp16", np.zeros((16, 16))))},
              body, scattered, types=("fp16",), apart=only)


def scattered(x_p, r_p, o_p):
    o_p = o_p.copy()
    o_p[r_p] = x_p
    return o_p


def rows():
    for part in (accesses, block_pointers, descriptors):
        yield from part()


