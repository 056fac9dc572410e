"""undefined_loads.py COUNT: a kernel that adds up so many masked loads whose other elements are undefined."""
import sys

print("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef sums(x, y, n):\n    at = tl.arange(0, 64)\n    s = tl.zeros((64,), tl.float32)")
for i in range(int(sys.argv[1])):
    print(f"    s += tl.load(x + at + {i} * n, mask=at < n)")
print("    tl.store(y + at, s)")
