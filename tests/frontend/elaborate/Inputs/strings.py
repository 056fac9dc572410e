"""Strings at compile time against Python's: strings.py TILEC compiles a kernel of assertions that hold in Python."""
import math
import random
import subprocess
import sys
import tempfile

VALUES = [0, 1, -1, 7, 123456, -98765, 2**100, True, False, 0.0, -0.0, 1.5, -2.75, 1e20, 1234.5, 100.0, 1e-7, math.inf, -math.inf, math.nan, "relu", "", 3.14159265]
PARTS = [["", "", "<", ">", "^", "=", "*<", "*>", "_^"], ["", "+", " ", "-"], ["", "#"], ["", "0"], ["", "5", "12"], ["", "", ",", "_"],
         ["", ".0", ".1", ".3", ".8"], ["", *"dbxXoeEfFgG%s"]]
EXPRESSIONS = [
    "'ReLU x'.upper()", "'ReLU'.lower()", "'reLU x'.capitalize()", "'  a b '.strip()", "'xxaxx'.strip('x')", "'xyaxy'.lstrip('yx')", "'a\\t '.rstrip()",
    "'fp16_x'.startswith('fp16')", "'fp16'.startswith(('bf', 'fp'))", "'fp16'.startswith('')", "'fp16'.endswith(('32', '8'))", "'abc'.endswith('abcd')",
    "'abcabc'.removeprefix('abc')", "'abc'.removesuffix('c')", "'abc'.removesuffix('')", "'a-b-c'.replace('-', '+')", "'aaa'.replace('aa', 'b')",
    "tuple('a b  c'.split())", "tuple(' a,b,,c'.split(','))", "tuple(''.split())", "tuple(''.split(','))", "tuple('a::b::'.split('::'))",
    "'-'.join(('a', 'b', 'c'))", "', '.join(())", "'abcabc'.find('ca')", "'abc'.find('x')", "'abc'.find('')", "'banana'.count('ana')", "'abc'.count('')",
    "'123'.isdigit()", "''.isdigit()", "'a1'.isalnum()", "'a1'.isalpha()", "str(100.0)", "str(1e16)", "str(1e-5)", "f'{1e15} {0.1} {-1.5e300!r} {None} {(1, 2.0)}'",
]


def literal(value):
    return f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def assertions():
    numbers = random.Random(1)
    for expression in EXPRESSIONS:
        yield f"{expression} == {eval(expression)!r}"
    count = 0
    while count < 800:
        value, spec = numbers.choice(VALUES), "".join(numbers.choice(part) for part in PARTS)
        zeros_in_groups = "0" in spec.lstrip("<>^=*_+ -#")[:1] and any(c in spec[1:] for c in ",_")  # not supported
        try:
            wanted = format(value, spec)
        except ValueError:
            continue
        if not zeros_in_groups:
            count += 1
            yield f'f"{{{literal(value)}:{spec}}}" == {wanted!r}'


def main():
    source = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(out):\n"
    source += "".join(f"    tl.static_assert({a})\n" for a in assertions()) + "    tl.store(out, 1)\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        return subprocess.run([sys.argv[1], "compile", file.name, "-k", "kernel", "-s", "*i32", "-e", "ptx", "-o", "/dev/null", "--cache-dir", "none"]).returncode


if __name__ == "__main__":
    sys.exit(main())
