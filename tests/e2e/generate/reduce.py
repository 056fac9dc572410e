"""Makes a program that fails as small as it gets while it fails alike, by delta debugging on its statements.

A candidate must be valid to the reference; what it does is not asked."""
import time
from dataclasses import replace

from formats import FORMATS
from launch import check
from program import Statement, copied, statements, tidied
from values import Invalid


class Reduction:
    def __init__(self, tilec, program, failure, folder, seconds):
        self.tilec, self.program, self.failure, self.folder = tilec, program, failure, folder
        self.end = time.monotonic() + seconds
        self.tried = 0

    def accepts(self, candidate):
        """Takes the candidate over if it fails alike."""
        candidate = tidied(candidate)
        if repr(candidate) == repr(self.program) or time.monotonic() > self.end:
            return False
        self.tried += 1
        try:
            failure = check(self.tilec, candidate, self.folder, [self.failure.way])
        except (Invalid, KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError):
            return False
        if failure is None or not failure.is_like(self.failure):
            return False
        self.program, self.failure = candidate, failure
        return True

    def run(self):
        self.accepts(self.program)
        size = None
        while size != repr(self.program) and time.monotonic() < self.end:
            size = repr(self.program)
            self.launch()
            self.delete()
            self.unwrap()
            self.bypass()
            self.plainer_arguments()
            self.shrink()
            self.retype()
        return self.program, self.failure

    # Each step goes over the program until nothing more is taken.

    def with_body(self, change):
        """The program with `change` applied to a copy of its blocks; None: it did nothing."""
        body = copied(self.program.body)
        return replace(self.program, body=body) if change(body) else None

    def blocks(self, body):
        yield body
        for s in body:
            for block in s.blocks:
                yield from self.blocks(block)

    def delete(self):
        count = sum(1 for _ in statements(self.program.body))
        chunk = max(1, count // 2)
        while chunk:
            at = 0
            while at < sum(len(block) for block in self.blocks(self.program.body)):

                def change(body, at=at, chunk=chunk):
                    first = at
                    for block in self.blocks(body):
                        if first < len(block):
                            del block[first:first + chunk]
                            return True
                        first -= len(block)
                    return False

                candidate = self.with_body(change)
                if not candidate or not self.accepts(candidate):
                    at += chunk
                if time.monotonic() > self.end:
                    return
            chunk //= 2

    def each(self, make):
        """Candidates that `make(body, number)` changes in place, for number 0, 1, .. until it says None."""
        number = 0
        while time.monotonic() < self.end:
            body = copied(self.program.body)
            result = make(body, number)
            if result is None:
                return
            if not result or not self.accepts(replace(self.program, body=body)):
                number += 1

    def places(self, body):
        return [(block, i) for block in self.blocks(body) for i in range(len(block))]

    def unwrap(self):
        def make(body, number):
            owners = [(block, i) for block, i in self.places(body) if block[i].blocks]
            if number >= 2 * len(owners):
                return None
            block, i = owners[number // 2]
            s = block[i]
            if number % 2 >= len(s.blocks):
                return False
            first = [Statement("copy", s.dst, (s.args[0],))] if s.op == "for" else []
            block[i:i + 1] = first + s.blocks[number % 2]
            return True

        self.each(make)

    def bypass(self):
        """Uses of a result become uses of an operand."""

        def make(body, number):
            places = [(block[i], k) for block, i in self.places(body) for k in range(len(block[i].args)) if len(block[i].dst) == 1]
            if number >= len(places):
                return None
            s, k = places[number]
            if not isinstance(s.args[k], str) or s.op == "for":
                return False
            name, by = s.dst[0], s.args[k]
            for other in statements(body):
                other.args = tuple(by if a == name else a for a in other.args)
            return True

        self.each(make)

    def plainer_arguments(self):
        def make(body, number):
            places = [(block[i], k, value) for block, i in self.places(body) for k in range(len(block[i].args))
                      for value in (None, 0, 1) if block[i].args[k] is not None and block[i].args[k] not in (0, 1)]
            if number >= len(places):
                return None
            s, k, value = places[number]
            if value is None and s.op not in ("load", "store", "atomic"):
                return False
            s.args = tuple(value if i == k else a for i, a in enumerate(s.args))
            return True

        self.each(make)

    def shrink(self):
        """Extents become half as large everywhere."""

        def extents(value):
            return value if isinstance(value, tuple) and all(type(x) is int for x in value) else ()

        sizes = {x for s in statements(self.program.body) for key in ("shape", "tile", "stop") if key in s.attrs
                 for x in extents(s.attrs[key]) + ((s.attrs[key],) if key == "stop" else ()) if x > 1}
        for size in sorted(sizes, reverse=True):

            def change(body, size=size):
                for s in statements(body):
                    for key in ("shape", "tile", "extents", "stop"):
                        if key in s.attrs:
                            old = s.attrs[key]
                            s.attrs[key] = (size // 2 if old == size else old) if key == "stop" else tuple(size // 2 if x == size else x for x in old)
                return True

            self.accepts(self.with_body(change))

    def retype(self):
        used = {a.dtype for a in self.program.arrays.values()} | {s.attrs["dtype"] for s in statements(self.program.body) if "dtype" in s.attrs}
        for dtype in sorted(used):
            for simpler in ("i32", "fp32"):
                if dtype == simpler or FORMATS[dtype].is_float != FORMATS[simpler].is_float:
                    continue

                def change(body, dtype=dtype, simpler=simpler):
                    for s in statements(body):
                        if s.attrs.get("dtype") == dtype:
                            s.attrs["dtype"] = simpler
                    return True

                candidate = self.with_body(change)
                arrays = {n: replace(a, dtype=simpler) if a.dtype == dtype else a for n, a in candidate.arrays.items()}
                self.accepts(replace(candidate, arrays=arrays))

    def launch(self):
        p = self.program
        for changes in ({"nested": False}, {"grid": (1,)}, {"grid": (2,)}, {"grid": (p.programs,)}, {"stages": 2}, {"stages": 1}, {"warps": 4}, {"warps": 1}):
            self.accepts(replace(self.program, **changes))
        for name, (dtype, value) in self.program.scalars.items():
            for smaller in (1, 2, 3):
                if smaller < value:
                    self.accepts(replace(self.program, scalars={**self.program.scalars, name: (dtype, smaller)}))
        for name, array in self.program.arrays.items():
            low, high = (-3, 4) if FORMATS[array.dtype].kind != "uint" else (0, 4)
            if (array.low, array.high) != (low, high) and array.high > array.low + 1:
                self.accepts(replace(self.program, arrays={**self.program.arrays, name: replace(array, low=low, high=high)}))


def reduced(tilec, program, failure, folder, seconds=120):
    """The smaller program and how it fails."""
    return Reduction(tilec, program, failure, folder, seconds).run()
