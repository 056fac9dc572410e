"""Atomic operations, each element by one thread: what they return and what they leave."""
import numpy as np

from formats import FORMATS
from rows import Row, changed, given, out
from table.reductions import any_of

DOC = "language.md#memory"
N = 64


def operation(name, t, f, values, old, mask="", **rest):
    arguments = {"x_p": values, "o_p": changed(old), "r_p": out(t, N)}
    on = np.arange(N) % 3 != 0 if mask else np.ones(N, bool)
    keep = ", mask=i % 3 != 0" if mask else ""
    body = f"i = tl.arange(0, {N})\nr = tl.{name}(o_p + i, tl.load(x_p + i){keep}{rest.pop('options', '')})\ntl.store(r_p + i, r{keep})"

    def exact(x_p, o_p):
        untouched = np.full(N * np.dtype(FORMATS[t].stored).itemsize, 0x35, np.uint8).view(FORMATS[t].stored)
        found = {"o_p": np.where(on, f(o_p, x_p), o_p).astype(o_p.dtype)}
        if not FORMATS[t].is_float:
            found["r_p"] = np.where(on, o_p, untouched)
        elif not mask:
            found["r_p"] = o_p
        return found

    row = rest.pop("row", f"{name} {t}{' masked' if mask else ''}")
    return Row(row, (name,), DOC, arguments, body, exact, types=(t,), **rest)


def of_bits(f, t):
    """What f makes of two floats' bits."""
    stored = np.dtype(FORMATS[t].stored)
    bits = f"u{stored.itemsize}"
    return lambda old, new: f(old.astype(stored).view(bits), new.astype(stored).view(bits)).view(stored)


def arithmetic():
    for name, f in (("atomic_add", np.add), ("atomic_max", np.maximum), ("atomic_min", np.minimum)):
        for t in ("i32", "u32", "i64", "u64"):
            yield operation(name, t, f, any_of(t, (N,), "new"), any_of(t, (N,), "old"))
            yield operation(name, t, f, any_of(t, (N,), "new"), any_of(t, (N,), "old"), "masked")
    for t in ("fp16", "bf16", "fp32", "fp64"):
        values, old = given(t, np.arange(N) % 17 - 8), given(t, np.arange(N) % 11)
        yield operation("atomic_add", t, np.add, values, old)
        yield operation("atomic_add", t, np.add, values, old, "masked")
        if t in ("fp32", "fp64"):
            for name, f in (("atomic_max", np.maximum), ("atomic_min", np.minimum)):
                yield operation(name, t, f, values, old)
    for name, f in (("atomic_and", np.bitwise_and), ("atomic_or", np.bitwise_or), ("atomic_xor", np.bitwise_xor)):
        for t in ("i32", "u32", "i64", "u64"):
            yield operation(name, t, f, any_of(t, (N,), "new"), any_of(t, (N,), "old"))
        yield operation(name, "i32", f, any_of("i32", (N,), "new"), any_of("i32", (N,), "old"), "masked")
        for t in ("fp32", "fp64"):
            values, old = given(t, 1.5 + np.arange(N) % 17), given(t, np.arange(N) % 11 - 5.25)
            yield operation(name, t, of_bits(f, t), values, old)
            yield operation(name, t, of_bits(f, t), values, old, "masked")
    for t in ("i32", "u64", "fp32", "fp64", "i64"):
        yield operation("atomic_xchg", t, lambda old, new: new, any_of(t, (N,), "new"), any_of(t, (N,), "old"))
    for sem in ("relaxed", "acquire", "release", "acq_rel"):
        yield operation("atomic_add", "i32", np.add, any_of("i32", (N,), "new"), any_of("i32", (N,), "old"), options=f', sem="{sem}"',
                        row=f"atomic_add {sem}")
    for scope in ("cta", "gpu", "sys"):
        yield operation("atomic_add", "i32", np.add, any_of("i32", (N,), "new"), any_of("i32", (N,), "old"), options=f', scope="{scope}"',
                        row=f"atomic_add {scope}")


def others():
    for t in ("i32", "u32", "i64", "u64", "i16", "fp32"):
        old = any_of(t, (N,), "cas") if not FORMATS[t].is_float else given(t, np.arange(N) % 4 + 1)
        wanted = given(t, np.where(np.arange(N) % 2 == 0, old.values, old.values + np.ones_like(old.values)))
        new = any_of(t, (N,), "cas new") if not FORMATS[t].is_float else given(t, np.arange(N) * 0.5)
        body = f"i = tl.arange(0, {N})\nr = tl.atomic_cas(o_p + i, tl.load(c_p + i), tl.load(x_p + i))\ntl.store(r_p + i, r)"
        yield Row(f"atomic_cas {t}", ("atomic_cas",), DOC, {"c_p": wanted, "x_p": new, "o_p": changed(old), "r_p": out(t, N)}, body,
                  lambda c_p, x_p, o_p: {"o_p": np.where(o_p == c_p, x_p, o_p), "r_p": o_p}, types=(t,))
    for t in ("i32", "i64", "u32"):
        yield Row(f"atomic scalar {t}", ("atomic_add",), DOC, {"o_p": changed(given(t, [5])), "r_p": out(t, 1)},
                  "tl.store(r_p, tl.atomic_add(o_p, 7))", lambda o_p: {"o_p": o_p + 7, "r_p": o_p}, types=(t,))
        yield Row(f"atomic_cas scalar {t}", ("atomic_cas",), DOC, {"o_p": changed(given(t, [5])), "r_p": out(t, 1)},
                  "tl.store(r_p, tl.atomic_cas(o_p, 5, 9))", lambda o_p: {"o_p": np.array([9]).astype(o_p.dtype), "r_p": o_p}, types=(t,),
                  apart="" if t != "i64" else "numbers are of 32 bits")
    yield Row("atomic sums of programs", ("atomic_add",), DOC, {"o_p": changed(given("i32", np.zeros(16)))},
              "i = tl.arange(0, 16)\ntl.atomic_add(o_p + i, i * (tl.program_id(0) + 1))", lambda o_p: np.arange(16, dtype=np.int32) * 10, grid=(4,),
              types=("i32",))
    yield Row("atomic one place", ("atomic_add",), DOC, {"o_p": changed(given("i32", [0]))}, "i = tl.arange(0, 64)\ntl.atomic_add(o_p + i * 0, i)",
              lambda o_p: np.array([2016], np.int32), types=("i32",))
    for name, f in (("max", 63), ("min", -5)):
        yield Row(f"atomic_{name} one place", (f"atomic_{name}",), DOC, {"o_p": changed(given("i32", [-5 if name == "max" else 70]))},
                  f"i = tl.arange(0, 64)\ntl.atomic_{name}(o_p + i * 0, i - {0 if name == 'max' else 5})", lambda o_p, v=f: np.array([v], np.int32),
                  types=("i32",))
    lacks = "not in 3.6"
    for t in ("i32", "u64"):
        yield Row(f"atomic_load {t}", ("atomic_load", "atomic_store"), DOC, {"x_p": changed(any_of(t, (N,), "l")), "o_p": out(t, N)},
                  f"i = tl.arange(0, {N})\ntl.atomic_store(o_p + i, tl.atomic_load(x_p + i))", lambda x_p: {"o_p": x_p, "x_p": x_p}, types=(t,),
                  apart=lacks)
        yield Row(f"atomic_poll {t}", ("atomic_poll",), DOC, {"x_p": changed(given(t, [7])), "o_p": out(t, 1)},
                  "tl.store(o_p, tl.atomic_poll(x_p, 7))",
                  lambda x_p: {"o_p": np.ones_like(x_p), "x_p": x_p}, types=(t,), apart=lacks)
    yield Row("atomic_or of a number in fp32", ("atomic_or",), DOC, {"o_p": changed(given("fp32", [1.0, 2.5])), "r_p": out("fp32", 2)},
              "i = tl.arange(0, 2)\ntl.store(r_p + i, tl.atomic_or(o_p + i, 3))",
              lambda o_p: {"o_p": of_bits(np.bitwise_or, "fp32")(o_p, np.full(2, 3.0)), "r_p": o_p}, types=("fp32",))
    yield Row("atomic methods", ("atomic_add", "atomic_xchg"), DOC, {"o_p": changed(given("i32", [5, 6]))},
              "(o_p + 0).atomic_add(3)\n(o_p + 1).atomic_xchg(8)",
              lambda o_p: np.array([8, 8], np.int32), types=("i32",))


def rows():
    for part in (arithmetic, others):
        yield from part()


