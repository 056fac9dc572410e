"""difference.py and widen.py on arrays whose errors are known, and values that an argument has by its recipe; prints what is wrong, exit status 1."""
import sys

import numpy as np

import corpus
import difference
import widen

ZERO = np.zeros(4, np.float32)
ONES = np.ones(4, np.float32)
OFF = np.array([1, 1, 1 + 2e-3, 1], np.float32)  # relative to magnitude and root mean square: half of that
NAN = np.array([1, np.nan, 1, 1], np.float32)
HALF = np.array([0x3F80, 0x3F80, 0x3F81, 0], np.uint16)  # 1, 1, 1 + 2**-7, 0


def expect(what, found, low, high):
    if not low <= found <= high:
        print(f"{what}: {found}, wanted {low} to {high}")
    return low <= found <= high


def main():
    error = difference.error
    fine = [expect("equal", error(ONES, ONES, ZERO, "fp32", "plain"), 0, 0),
            expect("NaN in both", error(NAN, NAN.copy(), ZERO, "fp32", "plain"), 0, 0),
            expect("NaN in one", error(ONES, NAN, ZERO, "fp32", "narrow"), 100, 100),
            expect("infinity in one", error(ONES, np.array([1, 1, np.inf, 1], np.float32), ZERO, "fp32", "narrow"), 100, 100),
            expect("plain", error(ONES, OFF, ZERO, "fp32", "plain"), 19, 21),
            expect("products", error(ONES, OFF, ZERO, "fp32", "products"), 0.95, 1.05),
            expect("a number where nothing was written", error(ONES, ZERO, ZERO, "fp32", "narrow"), 50, 101),
            expect("integers", error(np.array([1, 2]), np.array([1, 3]), np.array([0, 0]), "i64", "narrow"), 100, 100),
            expect("bf16", error(HALF, np.array([0x3F80, 0x3F80, 0x3F80, 0], np.uint16), HALF * 0, "bf16", "plain"), 0.2, 0.3)]
    start, wide = {"y": ("fp32", ZERO)}, {"y": ("fp64", ZERO.astype(np.float64))}
    reference = {"y": np.array([1.0, 1.0, 1.0, 0.0])}  # the last one is not written
    nonfinite, relative = widen.distance({"y": np.array([1, np.nan, 1.5, 7], np.float32)}, reference, start, wide)
    listed = corpus.build(["values", "i32", 3, [7, -1, 2, 9]], 1)
    fine += [expect("values of a recipe, as many as it says", listed.tolist() == [7, -1, 2], 1, 1)]
    fine += [expect("finite on one side", nonfinite, 1, 1), expect("relative", relative, 0.353, 0.354)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
