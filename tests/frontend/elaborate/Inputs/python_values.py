"""Functions evaluated at compile time against Python's results: python_values.py TILEC.

Every function of FUNCTIONS is called by Python, and by a kernel that asserts that it returns the same text."""
import ast
import subprocess
import sys
import tempfile
import types

FUNCTIONS = '''
import math
import triton
import triton.language as tl

TABLE = [4, 8, 16]
NAMES = {"a": 1, "b": [1, 2]}


def plain(xs, x):
    xs.append(x)
    return len(xs)


def kept(x, rest=[1, 2]):
    return rest + [x]


def first_of(pair):
    return pair[0]


def primes(n):
    found = []
    for i in range(2, n):
        for p in found:
            if i % p == 0:
                break
        else:
            found.append(i)
    return found


def displays():
    return [], [1, "a", 2.5, None], {}, {"a": 1, 2: [3]}, [[1], [2, [3]]], list(), dict(), list((1, 2)), list("abc"), tuple([1, 2])


def divided():
    floats = [1.5, -1.5, 1e-5, -1e-5, 0.0, -0.0, 3.0, -2.25, 1e300, -1e300, 0.1, 7, -7, 2**70, -2**70]
    return [(a / b, a // b, a % b) for a in floats for b in floats if b != 0] + [0 / -2**70, 0 / -3, -1 // 10.0**20]


def bits():
    numbers = [0, 1, -1, 7, 8, -8, 255, 256, 2**31, -2**31, 2**63 - 1, 2**63, -2**63, 2**64 - 1, 2**127, -2**127, 2**200 - 1, True, False]
    return [(n.bit_length(), n.bit_count()) for n in numbers]


def aliases():
    a = [1, 2]
    b = a
    c = a[:]
    b.append(3)
    a += [4]
    a = a + [5]
    d = [a, a]
    d[0].append(6)
    return a, b, c, d, a is d[0], a is a[:], b == [1, 2, 3, 4]


def unpacked_onto_itself():
    xs, ys = [1, 2], [1, 2, 3]
    xs[1], xs[0] = xs
    ys[2], *rest = ys
    return xs, ys, rest


def changed_by_a_call():
    xs = []
    n = plain(xs, 1) + plain(xs, (2, 3))
    return xs, n, kept(3), kept(4)


def list_methods():
    xs = [5, 3, 9, 3]
    xs.extend([1, 2])
    xs.extend((7,))
    xs.insert(0, "front")
    xs.insert(-1, "near")
    xs.insert(100, "back")
    out = [xs.pop(), xs.pop(0), xs.pop(2), xs.count(3), xs.index(3)]
    xs.remove("near")
    xs.reverse()
    ys = xs.copy()
    ys.sort()
    zs = ys.copy()
    zs.sort(reverse=True)
    ws = [1]
    ws.clear()
    return out, xs, ys, zs, ws, (1, 2, 1).count(1), (4, 5).index(5)


def items():
    xs = [0, 1, 2, 3, 4, 5, 6]
    xs[0] = "a"
    xs[-1] = "z"
    xs[2] += 10
    del xs[3]
    xs[1:3] = [7, 8, 9]
    ys = list(range(10))
    ys[::2] = [0, 0, 0, 0, 0]
    del ys[1::4]
    zs = [1, 2, 3]
    zs[1:1] = zs
    del zs[:2]
    ws = [[0] * 2 for _ in range(2)]
    ws[1][0] = 5
    ws[0][1] += 3
    vs = [1, 2, 3, 4]
    del vs[0], vs[-1]
    vs[5:] = "xy"
    return xs, ys, zs, ws, vs


def slices():
    xs = list(range(8))
    t = (1, 2, 3, 4, 5)
    s = "abcdefg"
    return (xs[2:5], xs[:-2], xs[::3], xs[::-1], xs[6:1:-2], xs[-3:], xs[10:], xs[3:1], xs[-100:100:2], t[::2], t[::-1], t[1:-1], s[1:3], s[::-1],
            s[-2:], s[::2], s[True], xs[False:True])


def operators():
    return ([1] + [2, 3], [0] * 3, 2 * [1, 2], [1] * 0, [1] * -1, (1,) + (2,), [1, 2] == [1, 2], [1] == (1,), [1, 2] != [2, 1], [1, 2] < [1, 3], [1] < [1, 0],
            [] < [0], (1, "a") < (1, "b"), 2 in [1, 2], 3 not in [1, 2], [1] in [[1], 2], "a" in {"a": 1}, 1 in {"a": 1}, "b" not in {"a": 1},
            {"a": 1} == {"a": 1.0}, {"a": 1, "b": 2} == {"b": 2, "a": 1}, {"a": 1} != {"a": 2}, {"a": 1} | {"b": 2, "a": 3}, not [], not {}, not [0],
            1 if [] else 2, 1 if {1: 2} else 2, [] or "none", [1] and "some", True * [1])


def in_place():
    xs = [1]
    ys = xs
    xs += (2, 3)
    xs *= 2
    d = {"a": 1}
    e = d
    d |= {"b": 2}
    return xs, ys, d, e


def dict_methods():
    d = {"a": 1}
    d["b"] = 2
    d["a"] = 3
    d[(1, 2)] = "t"
    d[None] = 0
    out = [d.get("a"), d.get("x"), d.get("x", 7), d.setdefault("a", 9), d.setdefault("n", []), d.pop("b"), d.pop("b", "gone")]
    d.setdefault("n", 1).append(4)
    d.update({"u": 1, "a": 5})
    d.update([("v", 2), ("w", 3)])
    out += [list(d), list(d.keys()), list(d.values()), list(d.items()), len(d), len(d.items())]
    del d["u"]
    c = d.copy()
    c["a"] = "copy"
    d.clear()
    return out, c, d


def dict_keys():
    d = {1: "int"}
    d[1.0] = "float"
    d[True] = "bool"
    d["1"] = "text"
    keys = d.keys()
    d["late"] = 0
    return d, list(keys), 1 in keys, "late" in keys, ("1", "text") in d.items(), "text" in d.values(), dict(d, x=1), dict(a=1, b=2), dict([(1, 2), [3, 4]])


def merged():
    a = {"x": 1, "y": 2}
    return {**a, "y": 3, **{"z": 4}}, [*[1, 2], *(3,), *"ab"], (*[1], 2)


def comprehensions():
    xs = [1, 2, 3, 4]
    x = "outer"
    made = [x * x for x in xs if x % 2 == 0]
    return (made, x, {k: v for k, v in zip("ab", xs)}, [a * b for a in xs for b in xs if a < b], [[i] * i for i in range(3)], {i: {j: i + j for j in range(2)} for i in (0, 1)},
            [k for k in {"p": 1, "q": 2}], [i for i in range(10) if i % 2 if i % 3], [c for c in "abc"], sum(x for x in xs), tuple(i + 1 for i in xs), max(len(w) for w in ["a", "bcd"]),
            [(last := i) for i in xs], last)


def functions():
    xs = [3, 1, 2]
    return (len(xs), sum(xs), sum(xs, 10), sum([[1], [2]], []), sum([]), sum([0.5, 1]), any([0, 1]), any([]), all([1, 0]), all([]), sorted(xs), sorted(xs, reverse=True), sorted("cab"),
            sorted({"b": 1, "a": 2}), list(reversed(xs)), list(reversed("abc")), list(reversed(range(3))), list(zip(xs, "abc", (1, 2))), list(zip()), list(enumerate("ab")),
            list(enumerate(xs, 5)), min(xs), max(xs), min(3, 1), max("b", "a"), min(["b", "a"]), max((1, 2), (1, 3)), max([1.5, 2]), list(range(5, 0, -2)), len(range(7)), 3 in range(5))


def sorting():
    pairs = [(2, "b"), (1, "z"), (2, "a"), (0, "q"), (1, "a")]
    stable = sorted(pairs, key=first_of)
    back = sorted(pairs, key=first_of, reverse=True)
    words = ["ccc", "a", "bb", "aa", "c"]
    words.sort(key=len)
    return sorted(pairs), stable, back, words, sorted([3, 1.5, True]), sorted([[2], [1, 5], [1]]), sorted(words, key=len, reverse=True)


def iterators():
    z = zip([1, 2], [3, 4])
    first = list(z)
    again = list(z)
    e = enumerate([7, 8, 9])
    some = []
    for i, x in e:
        some.append((i, x))
        if i == 1:
            break
    nested = [(i, a, b) for i, (a, b) in enumerate(zip("xy", [1, 2]))]
    return first, again, some, list(e), nested, list(zip(enumerate("ab"), [True, False]))


def live():
    xs = [1, 2, 3]
    for x in xs:
        if x < 20:
            xs.append(x * 10)
    ys = [1, 2, 3, 4]
    for y in ys:
        if y % 2:
            ys.remove(y)
    zs = [1, 2, 3]
    seen = []
    for i, z in enumerate(zs):
        seen.append(z)
        if i < 3:
            zs.append(z + 100)
    d = {"a": 1, "b": 2}
    for k, v in d.items():
        d[k] = v + 1
    ws = [1, 2, 3]
    for w in reversed(ws):
        ws.pop()
    return xs, ys, seen, d, ws


def loops():
    out = []
    n = 0
    while True:
        n += 1
        if n == 3:
            continue
        if n > 6:
            break
        out.append(n)
    while n > 4:
        n -= 1
    else:
        out.append("else")
    for x in []:
        pass
    else:
        out.append("empty")
    for x in out:
        if x == 4:
            break
    else:
        out.append("not reached")
    for i, (a, b) in [(0, (1, 2)), (1, (3, 4))]:
        out.append(a * b + i)
    for c in "xy":
        out.append(c)
    for k in {"k": 1}:
        out.append(k)
    return out, x, n


def early():
    for i in range(10):
        for j in [1, 2, 3]:
            if i * j == 6:
                return [i, j]
    return None


def unpacked():
    a, b = [1, 2]
    c, *rest = [1, 2, 3]
    *front, last = (1, 2, 3)
    h, *mid, t = "abcd"
    (p, q), [r] = (1, 2), [3]
    x, y = y, x = 1, 2
    s = [0, 0]
    s[0], s[1] = 5, 6
    return a, b, c, rest, front, last, h, mid, t, p, q, r, x, y, s


def globals_read():
    copy = list(TABLE)
    copy.append(32)
    return TABLE + [1], copy, TABLE[1], len(TABLE), NAMES["b"][1], [k for k in NAMES], TABLE == [4, 8, 16], dict(NAMES, c=3)


def kinds():
    return (isinstance([1], list), isinstance((1,), list), isinstance([1], tuple), isinstance({}, dict), isinstance([], dict), isinstance([], (tuple, list)), isinstance("a", list))


def text():
    xs = [1, "a'b", 2.0, (1,), {"k": None}]
    return str(xs), f"{xs} {xs!r} {len(xs):>3} {[True]}", "-".join([str(x) for x in [1, 2]]), "a b".split(), ",".join({"x": 1}), "a,b".split(",")[1], "ab" * 3, 2 * "-", "x" * -1, "" * 5


def several():
    return primes(40), [p for p in primes(20) if p > 5], {p: p * p for p in primes(8)}


def factors():
    n, out = 360, {}
    p = 2
    while n > 1:
        while n % p == 0:
            out[p] = out.get(p, 0) + 1
            n //= p
        p += 1
    return out, sorted(out.items(), reverse=True)


def matrix():
    rows = [[(i + 1) * (j + 2) for j in range(3)] for i in range(3)]
    turned = [list(r) for r in zip(*rows)]
    flat = [x for r in rows for x in r]
    return rows, turned, flat, [sum(r) for r in rows], [rows[i][i] for i in range(3)]


def queue():
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": [], "e": ["a"]}
    seen, todo = [], ["a"]
    while todo:
        n = todo.pop(0)
        if n in seen:
            continue
        seen.append(n)
        todo += graph[n]
    return seen


def swizzle():
    order = [0] * 16
    for i in range(16):
        order[i ^ (i >> 2)] = i
    return order, order[order[3]]


def deleted():
    x = [1]
    del x
    x = 2
    return x


def large_ints():
    a = 1 << 200
    b = -(3 ** 90)
    return (a, b, 2**300 % 97, (1 << 130) - 1 >> 100, a >> 199, a + b, a - a, a * b, a // 7, a % 1000003, b // a, b % a, a // b, a % b, -a // b, -a % b, a & (a - 1), a | 1,
            b & 0xffffffffffffffffffffffffffffffffffffffff, b | 12345, b ^ a, ~a, ~b, -a, +b, a == 2**200, a == float(2**200), a > b, a < 1e300, a != a + 1, b < -1.5, abs(b), bool(a),
            a >> 500, b >> 500, b >> 100, 0 << 10000, 1 >> (1 << 100), a / (1 << 199), a / b, 1 / 3, (2**60 + 1) / 3, 10**23 / 10**22, a * 0.5, a ** 3, a ** 0, (-1) ** (a + 1), 0 ** a, a ** -1,
            7 ** 60 // 7 ** 59, 340282366920938463463374607431768211455 + 1, 0x1_0000_0000_0000_0000_0000_0000_0000_0000_0000, 0b1 << 127, -(1 << 127), (1 << 127) - 1, int("9" * 50),
            int("-1_000_000_000_000_000_000_000_000_000_000_000_000_000_000"), int(" 12345678901234567891 "), int(1e30), int(-2.0**150), float(1 << 140), str(a), f"{a:x} {a:,} {b:b} {b:_} {a:e} {-a:>70}",
            max(a, b, 3), min(a, b, 3), sorted([a, 1.5, b, 2**64]), sum([a, a]), {a: 1}[2**200], [a, b].index(b), isinstance(a, int), math.floor(1e40), math.ceil(1.5e30), math.log2(a), math.sqrt(1 << 150),
            True << 130, (1 << 130) == True, 1 << 128 > 1e38, 2**53 + 1 == float(2**53), 2**63 > 9.223372036854775e18)


def factorial():
    n = 1
    digits = 0
    for i in range(1, 200):
        n *= i
    m = n
    while m:
        m //= 10
        digits += 1
    return n, digits, n % (10**9 + 7), [int(c) for c in str(n)[:20]]


def hashed():
    h = 0xcbf29ce484222325
    for c in "abcdef":
        h = (h * 0x100000001b3 ^ len(c)) % 2**64
    return h, h >> 1, (h << 64 | h) % 1000007
'''
INTS = (3, -7, 2**31, -(2**32), 2**64 - 1, 10**19, 2**127, -(2**127), 3**100, 2**500 - 1, -(5**200))
OPERATORS = ("+", "-", "*", "//", "%", "/", "&", "|", "^", "<", "==")
PAIRS = [f"({a}) {op} ({b})" for a in INTS for b in INTS for op in OPERATORS]
SHIFTS = [f"({a}) {op} {n}" for a in INTS for n in (0, 1, 31, 32, 33, 64, 129, 300) for op in ("<<", ">>")]
for number, line in enumerate(PAIRS[i:i + 50] for i in range(0, len(PAIRS), 50)):
    FUNCTIONS += f"\n\ndef pairs_{number}():\n    return [{', '.join(line)}]\n"
FUNCTIONS += f"\n\ndef shifts():\n    return [{', '.join(SHIFTS)}]\n"
SKIPPED = ("plain", "kept", "first_of", "primes")


class Anything(types.ModuleType):
    def __getattr__(self, name):
        return Anything(name)


def expected():
    for name in ("triton", "triton.language"):
        sys.modules[name] = Anything(name)
    space = {}
    exec(FUNCTIONS, space)
    names = [node.name for node in ast.parse(FUNCTIONS).body if isinstance(node, ast.FunctionDef) and node.name not in SKIPPED]
    return {name: str([space[name]()]) for name in names}


def kernel(wanted):
    shown = "".join(f"@triton.constexpr_function\ndef shown_{name}():\n    return str([{name}()])\n\n" for name in wanted)
    lines = "".join(f'    tl.static_print("{name}", shown_{name}())\n' for name in wanted)
    return FUNCTIONS + "\n\n" + shown + f"@triton.jit\ndef kernel(p):\n{lines}    tl.store(p, 1)\n"


def main():
    wanted = expected()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(kernel(wanted))
        file.flush()
        done = subprocess.run([sys.argv[1], "check", file.name, "-s", "*i32"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    found = {name: text for line in said.split("\n") for mark, _, rest in [line.partition("remark: ")] if _ for name, _, text in [rest.partition(" ")]}
    wrong = [name for name in wanted if found.get(name) != wanted[name]]
    for name in wrong:
        print(f"{name}: Python gives\n  {wanted[name]}\nand tilec\n  {found.get(name, 'nothing')}")
    if wrong or done.returncode:
        print(said[said.find(": error:") - 200:] if ": error:" in said else "")
        return 1
    print(f"{len(wanted)} functions as in Python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
