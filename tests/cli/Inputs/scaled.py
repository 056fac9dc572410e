"""make CODES SCALE: operands of scaled.tile. check CODES SCALE C: is C their product?"""
import sys

import numpy as np

action, codes_path, scale_path = sys.argv[1:4]
if action == "make":
    rng = np.random.default_rng(3)
    np.save(codes_path, rng.integers(0, 16, (16, 64)).astype(np.uint8))
    np.save(scale_path, rng.integers(124, 130, (16, 2)).astype(np.uint8))
else:
    e2m1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
    values = e2m1[np.load(codes_path)] * np.repeat(2.0 ** (np.load(scale_path) - 127.0), 32, axis=1)
    found = np.load(sys.argv[4])
    assert (found == values @ values.T).all(), found
