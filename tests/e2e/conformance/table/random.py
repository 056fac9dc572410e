"""Random numbers, bit for bit: Philox in Python's integers."""
import numpy as np

from formats import language
from rows import Row, Ulp, elementwise, given, out, some

DOC = "language.md#random-numbers"
N = 64
KEYS = {32: (0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157)}


def philox(c, k, rounds, bits):
    key_a, key_b, round_a, round_b = KEYS[bits]
    mask = (1 << bits) - 1
    c0, c1, c2, c3 = (v & mask for v in c)
    k0, k1 = (v & mask for v in k)
    for _ in range(rounds):
        c0, c2, c1, c3 = (round_b * c2 >> bits) ^ c1 ^ k0, (round_a * c0 >> bits) ^ c3 ^ k1, round_b * c2 & mask, round_a * c0 & mask
        k0, k1 = k0 + key_a & mask, k1 + key_b & mask
    return c0, c1, c2, c3


def four(seed, offset, rounds=10):
    """What philox(seed, offset, 0, 0, 0) gives."""
    return philox((offset, 0, 0, 0), (seed, seed >> 32), rounds, 32)


def columns(rows, dtype):
    return [np.array(c, object).astype(dtype) for c in zip(*rows)]


def uniform(words):
    """uint_to_uniform_float of unsigned words of 32 bits, in fp32."""
    x = np.asarray(words, np.uint32).view(np.int32).astype(np.int64)
    x = np.where(x < 0, -x - 1, x)
    return x.astype(np.float32).astype(np.float64) * float(np.float32(4.6566127342e-10))


def stored(name, text, dtype, exact, seed, **rest):
    arguments = {"o_p": out(dtype, N), "seed": seed}
    body = f"i = tl.arange(0, {N})\nr = {text}\ntl.static_assert(r.dtype == {language(dtype)})\ntl.store(o_p + i, r)"
    return Row(f"{name} {seed}", (name,), DOC, arguments, body, lambda seed: exact(seed), types=(dtype,), **rest)


def whole():
    for seed in (0, 42, -7, 2**40 + 5):
        yield stored("randint", "tl.randint(seed, i)", "u32", lambda s: columns([four(s, i) for i in range(N)], np.uint32)[0], seed)
        yield stored("rand", "tl.rand(seed, i)", "fp32", lambda s: uniform([four(s, i)[0] for i in range(N)]), seed)
        arguments = {f"o{j}_p": out("u32", N) for j in range(4)}
        body = f"i = tl.arange(0, {N})\na, b, c, d = tl.randint4x(seed, i)\n" + "".join(f"tl.store(o{j}_p + i, {c})\n" for j, c in enumerate("abcd"))
        yield Row(f"randint4x {seed}", ("randint4x",), DOC, {**arguments, "seed": seed}, body,
                  lambda seed: dict(zip([f"o{j}_p" for j in range(4)], columns([four(seed, i) for i in range(N)], np.uint32))), types=("u32",))
        arguments = {f"o{j}_p": out("fp32", N) for j in range(4)}
        yield Row(f"rand4x {seed}", ("rand4x",), DOC, {**arguments, "seed": seed}, body.replace("randint4x", "rand4x"),
                  lambda seed: {f"o{j}_p": uniform(c) for j, c in enumerate(columns([four(seed, i) for i in range(N)], np.uint32))}, types=("fp32",))
        yield stored("randn", "tl.randn(seed, i)", "fp32", lambda s: normal(*columns([four(s, i)[:2] for i in range(N)], np.uint32))[0], seed,
                     compare=Ulp(16, beside=16, absolute=2.0**-20))
        yield Row(f"randn4x {seed}", ("randn4x",), DOC, {**arguments, "seed": seed}, body.replace("randint4x", "randn4x"), four_normal,
                  types=("fp32",),
                  compare=Ulp(16, beside=16, absolute=2.0**-20))
    yield stored("randint", "tl.randint(seed, i, n_rounds=7)", "u32", lambda s: columns([four(s, i, 7) for i in range(N)], np.uint32)[0], 9)
    yield stored("randint", "tl.randint(seed, i.to(tl.int64) + 4294967296)", "u32",
                 lambda s: columns([philox((i, 1, 0, 0), (s, 0), 10, 32) for i in range(N)], np.uint32)[0], 11)
    arguments = {f"o{j}_p": out("u32", N) for j in range(4)}
    body = f"i = tl.arange(0, {N})\na, b, c, d = tl.philox(seed, i, i * 3, i + 1, i * 7)\n" + "".join(f"tl.store(o{j}_p + i, {c})\n" for j,
                                                                                                      c in enumerate("abcd"))
    yield Row("philox", ("philox",), DOC, {**arguments, "seed": 1234567}, body,
              lambda seed: dict(zip(arguments, columns([philox((i, i * 3, i + 1, i * 7), (seed, 0), 10, 32) for i in range(N)], np.uint32))),
              types=("u32",))
    body = f"i = tl.arange(0, {N}).to(tl.uint32)\na, b, c, d = tl.random.philox_impl(i, i * 3, i + 1, i * 7, i + 5, i + 6)\n" + \
        "".join(f"tl.store(o{j}_p + i, {c})\n" for j, c in enumerate("abcd"))
    wide = {f"o{j}_p": out("u64", N) for j in range(4)}
    yield Row("philox_impl u64", ("philox_impl",), DOC, wide, body.replace("uint32", "uint64"),
              lambda: dict(zip(wide, columns([philox((i, i * 3, i + 1, i * 7), (i + 5, i + 6), 10, 64) for i in range(N)], np.uint64))),
              types=("u64",))
    yield Row("philox_impl", ("philox_impl",), DOC, arguments, body,
              lambda: dict(zip(arguments, columns([philox((i, i * 3, i + 1, i * 7), (i + 5, i + 6), 10, 32) for i in range(N)], np.uint32))),
              types=("u32",))


def normal(u1, u2):
    a = np.maximum(1.0e-7, uniform(u1)).astype(np.longdouble)
    th, r = np.longdouble(6.283185307179586) * uniform(u2).astype(np.longdouble), np.sqrt(-2 * np.log(a))
    return r * np.cos(th), r * np.sin(th)


def four_normal(seed):
    a, b, c, d = columns([four(seed, i) for i in range(N)], np.uint32)
    return dict(zip(("o0_p", "o1_p", "o2_p", "o3_p"), (*normal(a, b), *normal(c, d))))


def floats():
    yield elementwise("uint_to_uniform_float u32", ("uint_to_uniform_float",), DOC, "tl.random.uint_to_uniform_float(x)", [some("u32", N)], "fp32",
                      uniform)
    yield elementwise("uint32_to_uniform_float", ("uint32_to_uniform_float",), DOC, "tl.random.uint32_to_uniform_float(x)", [some("u32", N)], "fp32",
                      uniform, apart="not in 3.6")
    yield elementwise("uint_to_uniform_float i32", ("uint_to_uniform_float",), DOC, "tl.random.uint_to_uniform_float(x)", [some("i32", N)], "fp32",
                      lambda x: uniform(x.view(np.uint32)))
    u1, u2 = given("fp32", (np.arange(N) + 0.5) / N), given("fp32", (np.arange(N) * 7 % N) / N)
    body = f"i = tl.arange(0, {N})\na, b = tl.pair_uniform_to_normal(tl.load(x_p + i), tl.load(y_p + i))\ntl.store(a_p + i, a)\ntl.store(b_p + i, b)"

    def exact(x_p, y_p):
        a = np.maximum(1.0e-7, x_p).astype(np.longdouble)
        th, r = np.longdouble(6.283185307179586) * y_p.astype(np.longdouble), np.sqrt(-2 * np.log(a))
        return {"a_p": r * np.cos(th), "b_p": r * np.sin(th)}

    yield Row("pair_uniform_to_normal", ("pair_uniform_to_normal",), DOC, {"x_p": u1, "y_p": u2, "a_p": out("fp32", N), "b_p": out("fp32", N)}, body,
              exact,
              compare=Ulp(16, beside=16, absolute=2.0**-20), types=("fp32",))


def rows():
    yield from whole()
    yield from floats()
