#!/usr/bin/env python3
"""The functions of libdevice against references of more precision, on the interpreter, the simulator or a GPU.

    run.py --tilec build/release/src/cli/tilec [--device cpu|sim|cuda] [--filter TEXT]

functions.py has the table: how many units of the last place each may err. Without --device: interpreter and simulator."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

from functions import DISCRETE, FUNCTIONS, INTEGERS, recorded

BLOCK = 1024
# Where a call of `run` goes to: elements that each function is tried on.
SIZES = {"cpu": 32768, "sim": 4096, "cuda": 1 << 20}
DTYPES = {"fp32": np.float32, "fp64": np.float64}


def special_values(dtype):
    info = np.finfo(dtype)
    near = [info.eps, 1 + info.eps, 1 - info.epsneg, info.max, info.tiny, info.smallest_subnormal, info.tiny / 2, np.pi, np.pi / 2, np.e, 0.1,
            0.25, 0.5, 1, 1.5, 2, 2.5, 3, 10, 100, 171, 1000, 87, 88.5, 89.25, 103, 127, 128, 149, 709.5, 710.25, 745, 1023, 1024, np.inf, 0]
    values = np.array(near, dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


def inputs(dtype, count, numbers, low, high, points=()):
    """Special values, random bits, all magnitudes around 1, and the interval where most happens."""
    bits = np.uint32 if dtype == np.float32 else np.uint64
    quarter = count // 4
    parts = [special_values(dtype), np.array(points, dtype), numbers.integers(0, np.iinfo(bits).max, quarter, bits, endpoint=True).view(dtype),
             (numbers.uniform(-1, 1, quarter) * 2.0 ** numbers.integers(-30, 8, quarter)).astype(dtype), numbers.uniform(low, high, count).astype(dtype)]
    return np.concatenate(parts)[:count]


def pairs(dtype, count, numbers, low, high):
    """All pairs of special values, then as above; a quarter of them near each other."""
    values = special_values(dtype)
    first, second = (grid.ravel() for grid in np.meshgrid(values, values))
    a = np.concatenate([first, inputs(dtype, count, numbers, low, high)])[:count]
    b = np.concatenate([second, numbers.permutation(inputs(dtype, count, numbers, low, high))])[:count]
    last = slice(3 * count // 4, None)
    with np.errstate(all="ignore"):
        b[last] = a[last] * numbers.uniform(0.2, 3, len(a[last])).astype(dtype)
    return [a, b]


def source(name, count):
    names = [f"a{i}" for i in range(count)]
    loads = "".join(f"    {n} = tl.load({n}_ptr + at)\n" for n in names)
    return ("import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n\n@triton.jit\n"
            f"def apply({', '.join(n + '_ptr' for n in names)}, out_ptr, BLOCK: tl.constexpr):\n"
            f"    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n{loads}    tl.store(out_ptr + at, libdevice.{name}({', '.join(names)}))\n")


def run(tilec, device, name, arguments, out_type):
    """What libdevice.name gives of arrays, or a message."""
    length = len(arguments[0])
    padding = -length % BLOCK
    arguments = [np.concatenate([a, np.repeat(a[-1:], padding)]) for a in arguments]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "apply.py")
        with open(path, "w") as file:
            file.write(source(name, len(arguments)))
        command = [tilec, "run", path, "--grid", f"({len(arguments[0]) // BLOCK},)", "-D", f"BLOCK={BLOCK}", "--cache-dir", "none"]
        command += ["--device", device] if device != "cuda" else []
        for i, array in enumerate(arguments):
            np.save(os.path.join(folder, f"a{i}.npy"), array)
            command += ["-a", f"a{i}_ptr={os.path.join(folder, f'a{i}.npy')}"]
        np.save(os.path.join(folder, "out.npy"), np.zeros(len(arguments[0]), out_type))
        command += ["-a", f"out_ptr={os.path.join(folder, 'out.npy')}", "--out", f"out_ptr={os.path.join(folder, 'got.npy')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr[-2000:] if done.returncode else np.load(os.path.join(folder, "got.npy"))[:length]


def units(got, wanted, dtype):
    """Distance in units of the last place of the type, infinite where one is no number and the other is."""
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype)
        size = np.clip(np.abs(wanted), np.longdouble(info.tiny), np.longdouble(info.max))
        _, exponent = np.frexp(np.where(np.isfinite(wanted), size, 1))
        distance = np.abs(got.astype(np.longdouble) - wanted) / np.ldexp(np.longdouble(1), exponent - 1 - info.nmant)
        same = (np.isnan(got) & np.isnan(wanted)) | ((got == rounded) & ~np.isfinite(rounded))
        return np.where(same, 0, np.where(np.isnan(distance), np.inf, distance))


def wrong_signs(got, wanted):
    return (got == 0) & (wanted == 0) & (np.signbit(got) != np.signbit(wanted))


def shown(arguments, at):
    return ", ".join(repr(a[at].item()) for a in arguments)


def judge(what, got, wanted, bound, arguments, dtype, failures, absolute=-1):
    if isinstance(got, str):
        failures.append(f"{what}: {got}")
        return 0
    distance = np.where(wrong_signs(got, wanted), np.inf, units(got, wanted, dtype))
    distance = np.where(np.abs(got - wanted) <= absolute, 0, distance)
    at = int(distance.argmax())
    if distance[at] > bound:
        failures.append(f"{what}: {int((distance > bound).sum())} of {len(got)} beyond {bound} ulp; at most {float(distance[at]):.4g}, of "
                        f"({shown(arguments, at)}): {got[at].item()!r}, wanted {float(wanted[at])!r}")
    return float(distance[at])


def check_floats(tilec, device, only, failures, found):
    wide = np.finfo(np.longdouble).nmant >= 60  # else there is no reference for fp64 here
    for name, function in FUNCTIONS.items():
        if only not in name:
            continue
        for type_name, dtype in DTYPES.items():
            if type_name not in function.bounds:
                continue
            numbers = np.random.default_rng(sum(map(ord, name)))
            if function.arguments == 1:
                arguments = [inputs(dtype, SIZES[device], numbers, *function.interval, function.points)]
            else:
                arguments = pairs(dtype, SIZES[device], numbers, *function.interval)
                arguments += [numbers.permutation(arguments[0]) for _ in range(function.arguments - 2)]
            if function.shape:
                arguments = function.shape(*arguments)
            sets = []
            if function.reference and (dtype == np.float32 or (wide and not function.single_only)):
                with np.errstate(all="ignore"):
                    sets.append((arguments, function.reference(*[a.astype(np.longdouble) for a in arguments])))
            if name in recorded(dtype):
                sets.append(recorded(dtype)[name])
            for arrays, wanted in sets:
                if function.outside:
                    keep = ~function.outside(*arrays)
                    arrays, wanted = [a[keep] for a in arrays], wanted[keep]
                got = run(tilec, device, name, arrays, dtype)
                absolute = np.where(np.abs(arrays[0]) >= function.absolute_from, (function.absolute or {}).get(type_name, -1), -1)
                worst = judge(f"{name} {type_name} {device}", got, wanted, function.bounds[type_name], arrays, dtype, failures, absolute)
                found[name, type_name] = max(worst, found.get((name, type_name), 0))


def check_discrete(tilec, device, only, failures):
    for name, arguments, out_type, reference in [*DISCRETE(special_values, pairs, inputs, SIZES[device]), *INTEGERS(SIZES[device])]:
        if only not in name:
            continue
        what = f"{name} {' '.join(a.dtype.name for a in arguments)} {device}"
        got = run(tilec, device, name, arguments, out_type)
        if isinstance(got, str):
            failures.append(f"{what}: {got}")
            continue
        wanted = [reference(*[v.item() for v in row]) for row in zip(*arguments)]
        for at, (value, want) in enumerate(zip(got.tolist(), wanted)):
            same = value == want and (not isinstance(value, float) or np.signbit(value) == np.signbit(want)) or (value != value and want != want)
            if not same:
                failures.append(f"{what}: of ({shown(arguments, at)}): {value!r}, wanted {want!r}")
                break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tilec", required=True)
    parser.add_argument("--device", choices=SIZES)
    parser.add_argument("--filter", default="")
    parser.add_argument("--list", action="store_true", help="print the largest error of each function")
    arguments = parser.parse_args()
    failures, found = [], {}
    np.seterr(all="ignore")
    for device in [arguments.device] if arguments.device else ["cpu", "sim"]:
        check_floats(os.path.abspath(arguments.tilec), device, arguments.filter, failures, found)
        check_discrete(os.path.abspath(arguments.tilec), device, arguments.filter, failures)
    if arguments.list:
        for (name, type_name), worst in found.items():
            print(f"{name:12} {type_name} {worst:.3f} of {FUNCTIONS[name].bounds[type_name]}")
    for failure in failures:
        print(failure)
    print(f"{len(found)} functions of a type, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
