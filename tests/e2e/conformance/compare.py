"""How far what a kernel left is from what must be there."""
import numpy as np

from formats import FORMATS, decode, encode
from rows import Stored, Ulp


def equal_bits(name, got, want):
    """Element by element; of a NaN only that it is one is compared."""
    if not FORMATS[name].is_float:
        return got == want
    unsigned = np.dtype(f"u{FORMATS[name].bits // 8}")
    return (got.view(unsigned) == want.view(unsigned)) | (np.isnan(decode(name, got)) & np.isnan(decode(name, want)))


def ulps(name, got, want):
    """Distance of values in units of the last place of the wanted ones; infinite where one is no number and the other is."""
    f = FORMATS[name]
    with np.errstate(all="ignore"):
        got, want = np.asarray(got, np.longdouble), np.asarray(want, np.longdouble)
        rounded = decode(name, encode(name, want)) if f.bits < 64 else want.astype(np.float64)
        same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | (np.isnan(got) & np.isnan(want))
        largest = np.longdouble(decode(name, encode(name, np.array([np.inf]),
                                                    saturate=True))[0]) if f.bits <= 16 else np.longdouble(np.finfo(f.stored).max)
        _, exponent = np.frexp(np.where(np.isfinite(want), np.clip(np.abs(want), np.longdouble(2.0)**f.least, largest), 1))
        distance = np.abs(got - want) / np.ldexp(np.longdouble(1), exponent - 1 - f.fraction)
        overflowed = ~np.isfinite(got) & np.isfinite(want) & ~np.isfinite(rounded) & (np.signbit(got) == np.signbit(want))
        signs = (got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want))
        return np.where(same | overflowed, 0, np.where(np.isfinite(distance) & ~signs, distance, np.inf)).astype(np.float64)


def is_subnormal(name, values):
    with np.errstate(invalid="ignore"):
        return (np.abs(values) <= 2.0**FORMATS[name].least) & (values != 0)  # the least normal number: it is seen before it is rounded


def flushed(row, kind, *values):
    """Where Triton's fp32 functions flush what they are given or give: docs/language.md, "Differences from Triton"."""
    given = [(a.type, np.asarray(decode(a.type, a.stored)).reshape(-1)) for a in row.inputs.values() if getattr(a, "type", "") in ("fp32", "fp64")]
    found = [is_subnormal(kind, v) for v in values] if kind == "fp32" else []
    found += [is_subnormal("fp32", v) for t, v in given if v.size == values[0].size and (t == "fp32" or kind == "fp32")]
    return np.any(found, axis=0) if found else np.zeros(values[0].size, bool)


def shown(row, at):
    given = [a.values.reshape(-1) for n, a in row.inputs.items() if hasattr(a, "values") and a.stored.size]
    return ", ".join(repr(v[at].item()) for v in given if len(v) > at)


def judge(row, name, got, want, recorded=False):
    """None, or what is wrong with output `name`: `got` stored elements, `want` values, or stored elements that were recorded."""
    array = row.arguments[name]
    kind, compare = array.type, row.compare
    got = np.asarray(got).reshape(-1)
    if isinstance(want, Stored):
        return judge(row, name, got, want.array, recorded=True)
    want = np.asarray(want).reshape(-1)
    if got.size != want.size:
        return f"{name}: {got.size} elements, the reference has {want.size}"
    if isinstance(compare, Ulp) and FORMATS[kind].is_float:
        wanted, found = decode(kind, want) if recorded else want, decode(kind, got)
        distance = ulps(kind, found, wanted)
        units, absolute = (v(row) if callable(v) else v for v in (compare.units, compare.absolute))
        bound = units + np.maximum(compare.beside, units + 1) if recorded else units
        if recorded:  # beside the largest number lies infinity
            most = np.finfo(FORMATS[kind].stored).max if FORMATS[kind].bits >= 32 else 3.3895313892515355e38 if kind == "bf16" else 65504.0
            distance = np.where(np.isinf(found) & (np.abs(wanted) == most) & (np.sign(found) == np.sign(wanted)), 1, distance)
        with np.errstate(invalid="ignore"):
            good = (distance <= bound) | ((np.abs(found - wanted) <= absolute * (2 if recorded else 1)) & (np.asarray(absolute) > 0))
            if compare.flushes:
                good |= (found == 0) & (np.abs(wanted) < 2.0**FORMATS[kind].least)
                good |= (wanted == 0) & (np.abs(found) < 2.0**FORMATS[kind].least) if recorded else False
        far = f"{distance[~good].max():.4g} ulp" if not good.all() else ""
    else:
        wanted = want if recorded else encode(kind, want) if FORMATS[kind].is_float or want.dtype != FORMATS[kind].stored else want
        good, far, found = equal_bits(kind, got, wanted), "", decode(kind, got)
        wanted = decode(kind, wanted)
    if recorded and row.group in ("functions", "libdevice", "choices"):
        good = good | flushed(row, kind, found, wanted)
    if good.all():
        return None
    at = int(np.argmin(good))
    return f"{name}: {int((~good).sum())} of {good.size} differ{', at most ' + far if far else ''}; first [{at}] of ({shown(row, at)}): " \
           f"{found[at].item()!r}, wanted {float(wanted[at]) if FORMATS[kind].is_float else wanted[at].item()!r}"
