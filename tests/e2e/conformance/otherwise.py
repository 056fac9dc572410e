"""Rows of which Triton 3.6 left other results than ours, which exact arithmetic or a reference of more precision confirms: "group: row" -> why.

What stands here is checked to differ. Subnormals that its functions of fp32 flush are no difference (compare.py)."""

REMAINDER = "computes x - trunc(x / y) * y: 0.0 of -0.0"
BESSEL = "errs by 1e-14, and loses the sign of zero or keeps it"
OVERFLOWS = "overflows although the result is finite"

OTHERWISE = {
    "arithmetic: literal minus zero": "-x is 0 - x",
    **{f"arithmetic: mod {t}": REMAINDER for t in ("fp16", "bf16", "fp32", "fp64")},
    "conversions: fp8e5 to bf16": "infinity becomes 65536",
    "functions: libdevice.sqrt fp32": "approximates",
    "functions: fdiv ieee fp32": "approximates although ieee_rounding is asked for",
    **{f"libdevice: {name} fp64": BESSEL for name in ("j0", "j1", "y0", "y1")},
    "libdevice: hypot fp64": OVERFLOWS,
    "libdevice: norm4d fp64": OVERFLOWS,
}
