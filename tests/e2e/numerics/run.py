#!/usr/bin/env python3
"""Conversions between floats, order and NaN, bit for bit against NumPy, by the interpreter and on the simulator.

    run.py --tilec build/release/src/cli/tilec [--filter TEXT]

The rules are those of docs/language.md. Of a NaN only that it is one is compared."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.py")
STORED = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "bf16": np.uint16, "fp8e4nv": np.uint8, "fp8e5": np.uint8,
          "i32": np.int32, "i8": np.int8}
# bits of the fraction, the exponent's bias, the largest finite code, whether it has infinities
FORMATS = {"fp16": (10, 15, 0x7BFF, True), "bf16": (7, 127, 0x7F7F, True), "fp8e4nv": (3, 7, 0x7E, False), "fp8e5": (2, 15, 0x7B, True)}
# Where kernels run: the interpreter, with the passes of a target and without, and that target's code.
DEVICES = [("cpu", "sm_90a", ""), ("cpu", "sm_80", "--final-ir"), ("sim", "sm_80", ""), ("sim", "sm_89", ""), ("sim", "sm_90a", "")]


def code_width(dtype):
    return 8 if dtype.startswith("fp8") else 16


def decode(dtype, codes):
    """Stored elements as float64."""
    if dtype not in FORMATS or dtype == "fp16":
        with np.errstate(invalid="ignore"):
            return codes.astype(np.float64)
    fraction_bits, bias, largest, infinite = FORMATS[dtype]
    width = code_width(dtype)
    codes = codes.astype(np.int64)
    magnitude = codes & ((1 << (width - 1)) - 1)
    exponent, fraction = magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1)
    value = np.where(exponent == 0, np.ldexp(fraction.astype(np.float64), 1 - bias - fraction_bits),
                     np.ldexp((fraction + (1 << fraction_bits)).astype(np.float64), exponent - bias - fraction_bits))
    if infinite:
        value = np.where(magnitude == largest + 1, np.inf, value)
    value = np.where(magnitude > largest + infinite, np.nan, value)
    return np.where(codes >> (width - 1) & 1, -value, value)


def encode(dtype, values, rounding):
    """float64 as codes of a narrower type; NaN is the code with all bits set below the sign."""
    fraction_bits, bias, largest, infinite = FORMATS[dtype]
    sign = np.signbit(values).astype(np.int64) << (code_width(dtype) - 1)
    magnitude = np.abs(values)
    table = np.abs(decode(dtype, np.arange(largest + 1).astype(STORED[dtype])
                          if dtype != "fp16" else np.arange(largest + 1, dtype=np.uint16).view(np.float16)))
    below = np.searchsorted(table, np.nan_to_num(magnitude, nan=0, posinf=0), side="right") - 1
    step = table[largest] - table[largest - 1]
    above_value = np.append(table, table[largest] + step)[below + 1]
    if rounding == "rtne":
        middle = (table[below] + above_value) / 2
        below = below + ((magnitude > middle) | ((magnitude == middle) & (below % 2 == 1)))
    saturates = rounding == "rtz" or dtype.startswith("fp8")
    below = np.minimum(below, largest if saturates else largest + 1)
    keeps_infinity = infinite and not (dtype.startswith("fp8") and rounding == "rtne")
    below = np.where(np.isinf(magnitude), largest + 1 if keeps_infinity else largest, below)
    below = np.where(np.isnan(magnitude), (1 << (code_width(dtype) - 1)) - 1, below)
    return (below | sign).astype(np.uint8 if code_width(dtype) == 8 else np.uint16)


def run(tilec, kernel, device, grid, arrays, defines, outputs, options=()):
    """arrays: name -> (type, array). What the kernel leaves in `outputs`, or its message."""
    which, target, rest = device
    with tempfile.TemporaryDirectory() as folder:
        command = [tilec, "run", KERNELS, "-k", kernel, "--device", which, "--target", target, "--grid", f"({grid},)", "--cache-dir", "none",
                   *rest.split(), *options]
        for name, (dtype, array) in arrays.items():
            path = os.path.join(folder, name + ".npy")
            np.save(path, array)
            command += ["-a", f"{name}=@{dtype}:{path}" if STORED[dtype] in (np.uint8, np.uint16) else f"{name}={path}"]
        for name, value in defines.items():
            command += ["-D", f"{name}={value}"]
        for name in outputs:
            command += ["--out", f"{name}={os.path.join(folder, 'out_' + name + '.npy')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr[-2000:]
        results = {name: np.load(os.path.join(folder, f"out_{name}.npy")) for name in outputs}
        return {name: array.view(STORED[arrays[name][0]]) for name, array in results.items()}


def differences(dtype, got, wanted):
    """How many elements differ; those that are NaN in both do not."""
    values = decode(dtype, got) if np.issubdtype(got.dtype, np.floating) or dtype in FORMATS else got
    expected = decode(dtype, wanted) if np.issubdtype(wanted.dtype, np.floating) or dtype in FORMATS else wanted
    if not np.issubdtype(values.dtype, np.floating):
        return np.flatnonzero(values != expected)
    same = (values == expected) & (np.signbit(values) == np.signbit(expected))
    return np.flatnonzero(~(same | (np.isnan(values) & np.isnan(expected))))


def compare(what, results, wanted, inputs, failures):
    """wanted: name -> (type, array)."""
    if isinstance(results, str):
        failures.append(f"{what}: {results}")
        return
    for name, (dtype, array) in wanted.items():
        bad = differences(dtype, results[name].reshape(-1), array.reshape(-1))
        if len(bad):
            at = bad[0]
            shown = ", ".join(f"{values.reshape(-1)[at % values.size]!r}" for values in inputs)
            failures.append(f"{what}: {name}: {len(bad)} differ, first [{at}] of {shown}: {results[name].reshape(-1)[at]!r}, "
                            f"wanted {array.reshape(-1)[at]!r}")


def special_fp32():
    """Every boundary of the narrower types, what lies beside and between, powers of two, random bits."""
    edges = [np.array([0, np.inf, np.nan, 2.0**-149, 3.4028234663852886e38])]
    for dtype in FORMATS:
        codes = np.arange(FORMATS[dtype][2] + 1)
        if len(codes) > 1024:
            codes = np.concatenate([codes[:64], codes[::97], codes[-64:]])
        codes = codes.astype(np.uint16).view(np.float16) if dtype == "fp16" else codes.astype(STORED[dtype])
        table = np.abs(decode(dtype, codes))
        edges += [table, (table[1:] + table[:-1]) / 2, np.array([table[-1] + (table[-1] - table[-2]) * f for f in (0.25, 0.5, 0.75, 1, 2)])]
    with np.errstate(over="ignore"):
        values = np.concatenate(edges).astype(np.float32)
    bits = values.view(np.uint32).astype(np.int64)
    bits = np.concatenate([bits, bits + 1, np.maximum(bits - 1, 0)]).astype(np.uint32)
    bits = np.concatenate([bits, np.random.default_rng(1).integers(0, 2**32, 4096, dtype=np.uint32)])
    return np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)


def padded(array, block):
    return np.concatenate([array, np.zeros(-len(array) % block, array.dtype)])


def conversions(tilec, failures, wants):
    every = np.arange(65536, dtype=np.uint16)
    sources = {"fp16": every.view(np.float16), "bf16": every, "fp32": padded(special_fp32(), 1024)}
    outs = {"f16_ptr": "fp16", "bf16_ptr": "bf16", "e4m3_ptr": "fp8e4nv", "e5m2_ptr": "fp8e5"}
    for dtype, source in sources.items():
        values = decode(dtype, source)
        for rounding in ("rtne", "rtz"):
            wanted = {name: (to, encode(to, values, rounding)) for name, to in outs.items() if dtype == "fp32" or to.startswith("fp8")}
            wanted = {name: (to, codes.view(np.float16) if to == "fp16" else codes) for name, (to, codes) in wanted.items()}
            arrays = {"x_ptr": (dtype, source), **{name: (to, np.zeros(len(source), STORED[to])) for name, to in outs.items()}}
            for device in DEVICES:
                what = f"convert {dtype} {rounding} {' '.join(device)}"
                if wants(what):
                    results = run(tilec, "convert", device, len(source) // 1024, arrays, {"ROUNDING": f"'{rounding}'", "BLOCK": 1024}, wanted)
                    compare(what, results, wanted, [source], failures)


def constants(tilec, failures, wants):
    values = np.array([0.0, -0.0, 1.0, 448, 464, 480, 57344, 61440, 65504, 65520, 1e38, 3.4e38, np.inf, -np.inf, 2.0**-9, 2.0**-10, 2.0**-16, 2.0**-17,
                       3 * 2.0**-17, 2.0**-24, 2.0**-25, -1e-8, 0.1, -1 / 3], np.float32)
    outs = {"f16_ptr": "fp16", "bf16_ptr": "bf16", "e4m3_ptr": "fp8e4nv", "e5m2_ptr": "fp8e5"}
    for rounding in ("rtne", "rtz"):
        wanted = {name: (to, encode(to, values.astype(np.float64), rounding)) for name, to in outs.items()}
        wanted = {name: (to, codes.view(np.float16) if to == "fp16" else codes) for name, (to, codes) in wanted.items()}
        arrays = {name: (to, np.zeros(len(values), STORED[to])) for name, to in outs.items()}
        text = "(" + ", ".join(str(int(bits)) for bits in values.view(np.uint32)) + ")"
        for device in DEVICES:
            what = f"convert_constants {rounding} {' '.join(device)}"
            if wants(what):
                results = run(tilec, "convert_constants", device, 1, arrays, {"ROUNDING": f"'{rounding}'", "VALUES": text}, wanted)
                compare(what, results, wanted, [values], failures)


def widening(tilec, failures, wants):
    codes = np.arange(256, dtype=np.uint8)
    wanted = {"e4m3_out": ("fp32", decode("fp8e4nv", codes).astype(np.float32)), "e5m2_out": ("fp32", decode("fp8e5", codes).astype(np.float32)),
              "constants_out": ("fp32", decode("fp8e5", codes[0x78:0x80]).astype(np.float32))}
    arrays = {"e4m3_ptr": ("fp8e4nv", codes), "e5m2_ptr": ("fp8e5", codes),
              **{name: ("fp32", np.zeros(len(array), np.float32)) for name, (_, array) in wanted.items()}}
    for device in DEVICES:
        what = f"widen {' '.join(device)}"
        if wants(what):
            compare(what, run(tilec, "widen", device, 1, arrays, {"BLOCK": 256}, wanted), wanted, [codes], failures)


def ordered_bits(values):
    """Integers in the order of the numbers, -0 below +0; of float64 without NaN."""
    bits = values.astype(np.float64).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)


def larger(x, y, is_max, propagate):
    x, y = x.astype(np.float64), y.astype(np.float64)
    first = ordered_bits(x) >= ordered_bits(y) if is_max else ordered_bits(x) <= ordered_bits(y)
    result = np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.where(first, x, y)))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, result) if propagate else result


def clamped(x, lo, hi, propagate, symmetric):
    if symmetric:
        return larger(larger(x, hi, False, propagate), lo, True, propagate)
    return larger(larger(x, lo, True, propagate), hi, False, propagate)


def orders(tilec, failures, wants):
    numbers = np.array([0.0, -0.0, 1, -1, 2.5, -2.5, np.inf, -np.inf, np.nan, 3])
    x, y, z = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers, np.array([0.0, 1, 2, np.inf, np.nan])))
    x, y, z = (padded(values, 512) for values in (x, y, z))
    block, limit = len(x), 2.0
    for dtype in ("fp32", "fp16", "bf16", "fp64"):
        stored = [encode("bf16", v, "rtne") if dtype == "bf16" else v.astype(STORED[dtype]) for v in (x, y, z)]
        result = "fp32" if dtype == "bf16" else dtype
        for propagate in (False, True):
            parts = [larger(x, y, True, propagate), larger(x, y, False, propagate), clamped(x, y, z, propagate, False),
                     clamped(x, -z, z, propagate, dtype != "bf16"), clamped(x, np.full_like(x, -limit), np.full_like(x, limit), propagate, True),
                     clamped(x, np.full_like(x, -1), np.full_like(x, limit), propagate, False)]
            wanted = {"out_ptr": (result, np.concatenate(parts).astype(STORED[result]))}
            arrays = {"x_ptr": (dtype, stored[0]), "y_ptr": (dtype, stored[1]), "z_ptr": (dtype, stored[2]),
                      "out_ptr": (result, np.zeros(6 * block, STORED[result]))}
            for device in DEVICES:
                what = f"order {dtype} propagate={propagate} {' '.join(device)}"
                if wants(what):
                    results = run(tilec, "order", device, 1, arrays, {"LIMIT": limit, "PROPAGATE": propagate, "BLOCK": block}, wanted)
                    compare(what, results, wanted, [x, y, z], failures)


def order_of_constants(tilec, failures, wants):
    numbers = np.array([0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan, 3])
    x, y = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    limit = 2.0

    def text(values):
        return "(" + ", ".join(f"float('{v}')" for v in values) + ")"

    for propagate in (False, True):
        parts = [larger(x, y, True, propagate), larger(x, y, False, propagate),
                 clamped(x, np.full_like(x, -limit), np.full_like(x, limit), propagate, True),
                 clamped(x, np.full_like(x, -1), np.full_like(x, limit), propagate, False)]
        wanted = {"out_ptr": ("fp32", np.concatenate(parts).astype(np.float32))}
        arrays = {"out_ptr": ("fp32", np.zeros(4 * len(x), np.float32))}
        for device in DEVICES:
            what = f"order_constants propagate={propagate} {' '.join(device)}"
            if wants(what):
                defines = {"XS": text(x), "YS": text(y), "LIMIT": limit, "PROPAGATE": propagate, "BLOCK": len(x)}
                compare(what, run(tilec, "order_constants", device, 1, arrays, defines, wanted), wanted, [x, y], failures)


def first_extreme(x, axis, is_max):
    """The stated rule: numbers before NaN, the lowest index of an element equal to the extreme of them (0.0 equals -0.0)."""
    values = x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x.astype(np.int64)
    is_nan = np.isnan(values) if values.dtype == np.float64 else np.zeros(values.shape, bool)
    signed = values if is_max else -values
    best = np.where(is_nan, np.iinfo(np.int64).min if values.dtype == np.int64 else -np.inf, signed).max(axis=axis, keepdims=True)
    candidates = np.where(is_nan.all(axis=axis, keepdims=True), True, ~is_nan & (signed == best))
    return candidates.argmax(axis=axis).astype(np.int32)


def reductions(tilec, failures, wants):
    rng = np.random.default_rng(3)
    pool = np.array([0.0, -0.0, 1, -1, 7, -7, np.inf, -np.inf, np.nan, np.nan])
    for dtype in ("fp32", "fp16", "bf16", "fp64", "i32"):
        for shape in ((8, 64), (128, 16)):
            if dtype == "i32":
                x = rng.integers(-3, 3, shape).astype(np.int32)
                stored = x
            else:
                x = rng.choice(pool, shape)
                x[rng.random(shape) < 0.3] = np.nan
                x[2, :] = np.nan
                x[:, 3] = np.nan
                x[4, :5] = [np.nan, -np.inf, np.nan, np.nan, -np.inf]
                stored = encode("bf16", x, "rtne") if dtype == "bf16" else x.astype(STORED[dtype])
            indexed = "fp32" if dtype == "bf16" else dtype
            whole = {"fp64": "fp64", "i32": "i32"}.get(dtype, "fp32")
            for axis in (0, 1):
                largest_at, smallest_at = first_extreme(x, axis, True), first_extreme(x, axis, False)
                signs = ordered_bits(x) if dtype != "i32" else x.astype(np.int64)
                is_nan = np.isnan(x)
                whole_max = np.take_along_axis(x, np.expand_dims(np.where(is_nan, np.iinfo(np.int64).min, signs).argmax(axis), axis), axis).squeeze(axis)
                whole_min = np.take_along_axis(x, np.expand_dims(np.where(is_nan, np.iinfo(np.int64).max, signs).argmin(axis), axis), axis).squeeze(axis)
                wanted = {"max_ptr": (indexed, whole_max.astype(STORED[indexed])), "argmax_ptr": ("i32", largest_at),
                          "min_ptr": (indexed, whole_min.astype(STORED[indexed])), "argmin_ptr": ("i32", smallest_at),
                          "whole_ptr": (whole, np.concatenate([whole_max, whole_min]).astype(STORED[whole])),
                          "any_ptr": ("i32", np.concatenate([largest_at, smallest_at]))}
                arrays = {"x_ptr": (dtype, stored), **{name: (t, np.zeros(array.shape, STORED[t])) for name, (t, array) in wanted.items()}}
                plans = [(DEVICES[0], ()), (DEVICES[1], ())] + [(device, ("--num-warps", str(warps))) for device, warps in
                                                                 ((DEVICES[2], 1), (DEVICES[2], 2), (DEVICES[2], 8), (DEVICES[4], 4), (DEVICES[4], 1))]
                for device, options in plans:
                    what = f"extremes {dtype} {shape} axis={axis} {' '.join(device)} {' '.join(options)}"
                    if wants(what):
                        results = run(tilec, "extremes", device, 1, arrays, {"M": shape[0], "N": shape[1], "AXIS": axis}, wanted, options)
                        compare(what, results, wanted, [], failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--filter", default="", help="only cases whose name has this in it")
    args = parser.parse_args()
    failures, count = [], 0

    def wants(what):
        nonlocal count
        count += args.filter in what
        return args.filter in what

    for group in (conversions, constants, widening, orders, order_of_constants, reductions):
        group(args.tilec, failures, wants)
    print("\n".join(failures))
    print(f"{count} runs, {len(failures)} failures")
    sys.exit(1 if failures or not count else 0)


if __name__ == "__main__":
    main()
