"""The text of a kernel, its syntax tree, and edits of one place of it."""
import ast
import random
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Lines, from 1, of the statement that was changed: of a compound one its header."""

    first: int
    last: int


@dataclass(frozen=True)
class Mutant:
    kind: str
    place: Place
    text: str


class KernelText:
    """A source and the functions decorated with `jit` in it.

    `ints`, `pointers`: names of the kernel's parameters by what they are at run time; `constexprs`: those that are known."""

    def __init__(self, text, kernel, ints=(), pointers=(), constexprs=()):
        self.text = text.encode()
        self.kernel = kernel
        self.ints, self.pointers, self.constexprs = list(ints), list(pointers), list(constexprs)
        self.starts = [0]
        for line in self.text.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.tree = ast.parse(text)
        functions = {f.name: f for f in self.tree.body if isinstance(f, ast.FunctionDef)}
        self.jit = {name: f for name, f in functions.items() if any("jit" in ast.unparse(d) for d in f.decorator_list)}
        self.reached = self._reached()
        self.parents = {child: node for f in self.reached for node in ast.walk(f) for child in ast.iter_child_nodes(node)}
        self.module_names = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | set(functions)

    def _reached(self):
        """The kernel and the functions that it calls by name."""
        found, todo = {}, [self.kernel]
        while todo:
            name = todo.pop()
            if name in found or name not in self.jit:
                continue
            found[name] = self.jit[name]
            todo += [n.id for n in ast.walk(self.jit[name]) if isinstance(n, ast.Name)]
        return list(found.values())

    def nodes(self, *kinds):
        """Nodes of the bodies that are reached, in the order of the text."""
        found = [n for f in self.reached for statement in f.body for n in ast.walk(statement) if isinstance(n, kinds)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    def function_of(self, node):
        while not isinstance(node, ast.FunctionDef):
            node = self.parents[node]
        return node

    def in_loop(self, node):
        while not isinstance(node, ast.FunctionDef):
            node = self.parents[node]
            if isinstance(node, (ast.For, ast.While)):
                return True
        return False

    def offset(self, line, column):
        return self.starts[line - 1] + column

    def span(self, node):
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node):
        lo, hi = self.span(node)
        return self.text[lo:hi].decode()

    def statement(self, node):
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def place(self, node):
        """Where the statement of `node` stands."""
        statement = self.statement(node)
        body = getattr(statement, "body", None)
        last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno
        return Place(statement.lineno, last)

    def edited(self, kind, node, lo, hi, replacement):
        """The mutant with bytes [lo, hi) replaced; its place is that of the statement of `node`."""
        text = self.text[:lo] + replacement.encode() + self.text[hi:]
        place = self.place(node)
        added = replacement.count("\n") - self.text[lo:hi].count(b"\n")
        return Mutant(kind, Place(place.first, place.last + max(0, added)), text.decode())

    def replaced(self, kind, node, replacement):
        return self.edited(kind, node, *self.span(node), replacement)

    def inserted_before(self, kind, node, line):
        """The mutant with a line of the same indentation in front of the statement of `node`."""
        statement = self.statement(node)
        at = self.offset(statement.lineno, 0)
        text = self.text[:at] + (" " * statement.col_offset + line + "\n").encode() + self.text[at:]
        return Mutant(kind, Place(statement.lineno, statement.lineno + line.count("\n")), text.decode())

    def reindented(self, kind, node, by):
        """The mutant in which the first line of the statement of `node` has so many more blanks in front."""
        statement = self.statement(node)
        at = self.offset(statement.lineno, 0)
        text = self.text[:at] + b" " * (statement.col_offset + by) + self.text[at + statement.col_offset:]
        return Mutant(kind, self.place(node), text.decode())

    def calls(self, *names):
        """Calls of tl.NAME."""
        return [n for n in self.nodes(ast.Call) if isinstance(n.func, ast.Attribute) and isinstance(n.func.value, ast.Name) and
                n.func.value.id == "tl" and (not names or n.func.attr in names)]


def misspelt(name, taken, rng: random.Random):
    """`name` with two letters exchanged, one dropped or one doubled; none of `taken`."""
    for _ in range(40):
        at = rng.randrange(len(name))
        how = rng.randrange(3)
        if how == 0 and at + 1 < len(name):
            result = name[:at] + name[at + 1] + name[at] + name[at + 2:]
        elif how == 1 and len(name) > 2:
            result = name[:at] + name[at + 1:]
        else:
            result = name[:at] + name[at] + name[at:]
        if result != name and result not in taken and re.fullmatch(r"[A-Za-z_]\w*", result):
            return result
    return name + "_"
