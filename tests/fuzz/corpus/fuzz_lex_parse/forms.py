import triton
import triton.language as tl
try:
    from foo import bar
    HAS=True
except ImportError:
    HAS=False
X: tl.constexpr = 3
if HAS:
    @triton.jit
    def f(x, y: tl.constexpr=3, *a, k=2, **kw) -> int:
        "doc"
        z = x + y*2 if x > 3 else -1.5e-3
        z: tl.constexpr = 5
        for i in range(0, 10, 2):
            z += i
            if not z and i:
                return z
            elif z is not None or 1 < z <= 3:
                pass
            else: a, b = b, a
        while True: break
        x[:, None]; x[1:2, ..., ::3]
        print(f"a{x}b{y!r:>{w}}" "c" '\x41\n')
        f(1, 2, *z, a=3, **b)
        with a as b, c: pass
        try:
            x
        except E:
            y
        assert x, "a"
else:
    def f(x): pass
@triton.autotune(configs=[triton.Config({'B': b}, num_warps=w) for b in [1,2] for w in [4]], key=['N'])
@triton.heuristics({'E': lambda args: args['N'] % 2 == 0})
@triton.jit(do_not_specialize=['N'])
def g(x):
    return x
class A:
    @triton.jit
    def m(x): return ((
