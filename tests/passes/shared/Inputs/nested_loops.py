"""nested_loops.py DEPTH: a kernel with so many loops in each other, the innermost one of which acquires and then multiplies tiles."""
import sys

depth = int(sys.argv[1])
print("""import triton
import triton.language as tl


@triton.jit
def nested(a_ptr, f_ptr, o_ptr, n):
    a = tl.make_tensor_descriptor(a_ptr, [1024, 1024], [1024, 1], [64, 64])
    acc = tl.zeros((64, 64), tl.float32)""")
for i in range(depth):
    print("    " * (i + 1) + f"for i{i} in range(n):")
print("    " * (depth + 1) + "acc += tl.atomic_add(f_ptr, 1).to(tl.float32)")
print("    " * (depth + 1) + "for k in range(0, n, 64):")
print("    " * (depth + 2) + "acc = tl.dot(a.load([0, k]), a.load([k, 0]), acc)")
print("""    r = tl.arange(0, 64)
    tl.store(o_ptr + r[:, None] * 64 + r[None, :], acc)""")
