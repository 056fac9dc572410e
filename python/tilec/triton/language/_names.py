"""Which function is found where: from _table.py, which CMake makes of the compiler's own table (src/frontend/builtins.def)."""
from tilec.triton.language._builtin import Builtin
from tilec.triton.language._table import ROWS

# Modules by the name that ROWS and callers use.
PATHS = {name: "tilec.triton.language." + name for name in ("core", "standard", "math", "random")} | {
    "libdevice": "tilec.triton.language.extra.libdevice", "cuda": "tilec.triton.language.extra.cuda.gdc"}


def _homes(modules, kinds):
    """Modules in Triton's places: the one where a function is defined comes first."""
    if "tl" in modules and not {"math", "random"} & {*modules}:
        modules = [*modules, *(("standard", "core") if "std" in kinds else ("core", "standard"))]
    return sorted(modules, key=lambda name: name in ("tl", "triton", "libdevice", "cuda"))


class _Row:
    """A function, or what is known by name alone. `modules`: where it is found; `made`: the object of it."""

    def __init__(self, name, params, modules, kinds):
        self.name, self.params, self.kinds = name, params, kinds.split()
        self.modules = _homes(modules.split(), self.kinds)
        self.is_there = "absent" not in self.kinds
        home = PATHS.get(self.modules[0]) if self.modules else None
        self.made = Builtin(name, params, home) if self.is_there and home else None


_ROWS = [_Row(*row) for row in ROWS]

# (of what, name, parameters): x.name(..)
METHODS = [(kind, row.name, row.params) for row in _ROWS for kind in row.kinds
           if row.is_there and kind in ("method", "pointer", "descriptor")]


def define(scope, module):
    """Puts a module's functions into its globals, but for those that it has of its own. Their names."""
    for row in _ROWS:
        if module in row.modules and row.made:
            scope.setdefault(row.name, row.made)
    return [row.name for row in _ROWS if module in row.modules and row.made]


def missing(module):
    """{name: why} of what Triton has in that module and the compiler has not."""
    why = "the compiler has no such function; docs/language.md says which it has"
    return {row.name: why for row in _ROWS if module in row.modules and not row.is_there}
