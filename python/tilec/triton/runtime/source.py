"""Functions as units of the compiler: their text, and what the names in it stand for (docs/python.md)."""
import hashlib
import linecache
import math
import os
import re
import types
from enum import Enum

from tilec import _tilec
from tilec.triton.language import core
from tilec.triton.language._builtin import Builtin
from tilec.triton.runtime import builtins, exec_text

_GLOBAL = ("Cannot access global variable {0} from within @jit'ed function. Kernels see globals only that are constexprs "
           "(`{0} = triton.language.constexpr(..)`; an annotation makes none), functions and modules. "
           "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1 allows others, as they are when the kernel is compiled")


class Text:
    """Where a function stands, and its lines from `def` on as they are in the file."""

    def __init__(self, fn):
        code = fn.__code__
        lines = linecache.getlines(code.co_filename, fn.__globals__) or exec_text.find(code)
        if not lines:
            raise ValueError("@jit functions should be defined in a Python file")
        whole = "".join(lines)
        self.first_line, end, self.def_line, self.column = _tilec.extent(whole, code.co_firstlineno)
        self.path = code.co_filename
        self.raw = lines[self.first_line - 1:end]
        self.source = "".join(lines[self.def_line - 1:end])


def _frees(fn):
    """Values of the names of enclosing functions."""
    found = {}
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass  # not assigned yet
    return found


class Enclosing:
    """Names of the functions around one, as they are by now."""

    def __init__(self, fn):
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))

    def __contains__(self, name):
        return self.get(name, _NOTHING) is not _NOTHING

    def get(self, name, default=None):
        try:
            return self._cells[name].cell_contents
        except (KeyError, ValueError):  # none of them, or not assigned yet
            return default

    def holder(self, name):
        """What has the value as `cell_contents`."""
        return self._cells[name]


_NOTHING = object()
_COMPUTED = ("math", "copy")  # modules of Python's whose functions kernels call with constexprs, as Triton's may


def _is_ours(value):
    """A module of the language's; those of tools have functions as any program has."""
    name = f"{value.__name__}." if isinstance(value, types.ModuleType) else ""
    return name.startswith("tilec.triton.") and not name.startswith("tilec.triton.tools.")


def _path(name):
    """A name of the package as the language has it: tilec.triton.language.load is triton.language.load."""
    return re.sub(r"^(triton\.language)\._\w+", r"\1.core", name.removeprefix("tilec."))  # of files that core is made of


def _is_record(kind):
    """A class of named tuples."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _dict_literal(value, unit_of):
    items = [(literal(key, unit_of), literal(item, unit_of)) for key, item in value.items()]
    return None if any(None in item for item in items) else "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"


def _tuple_literal(value, unit_of):
    items = [literal(item, unit_of) for item in value]
    if None in items:
        return None
    if isinstance(value, list):
        return "[" + ", ".join(items) + "]"
    if _is_record(type(value)) and unit_of:
        return f"@{unit_of(type(value))}(" + ", ".join(items) + ")"
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


def literal(value, unit_of=None):
    """A value as a literal of units; None: it has none. `unit_of(unit)`: the number of the unit of a jit function or class."""
    if isinstance(value, core.constexpr):
        return literal(value.value, unit_of)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return str.__repr__(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        value = float(value)
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, core.pointer_type):
        element = literal(value.element_ty)
        return element and f"tl.pointer_type({element}, const={value.const})"
    if isinstance(value, core.dtype):
        return f"tl.{value.codegen_name()}" if not (value.is_void() or value.is_block()) else None
    if isinstance(value, (tuple, list, core.tuple)):
        return _tuple_literal(value, unit_of)
    if type(value) is dict:
        return _dict_literal(value, unit_of)
    if isinstance(value, Enum) and unit_of:
        text = literal(value.value, unit_of)
        return text and f"@{unit_of(type(value))}({value.name!r}, {text})"
    if unit_of and hasattr(value, "_unit_text"):
        return f"@{unit_of(value)}"
    if isinstance(value, Builtin):
        return _path(f"{value.__module__}.{value.__qualname__}").replace("triton.language", "tl", 1)
    return None


def _record(kind):
    """The unit of a class of named tuples, and of an enum, whose members have a name and a value."""
    if issubclass(kind, Enum):
        return "record", kind.__name__, [("name", None), ("value", None)]
    return "record", kind.__name__, [(name, literal(kind._field_defaults[name]) if name in kind._field_defaults else None)
                                     for name in kind._fields]


def _is_aggregate(kind):
    return isinstance(kind, type) and getattr(kind, "__triton_aggregate__", False)


def _method_unit(kind, name, member):
    """A method as a function with a text, `__init__` and constexpr functions among them; None: kernels cannot call it."""
    from tilec.triton.runtime.jit import JITFunction

    if hasattr(member, "_unit_text"):
        return member
    if not (getattr(member, "_is_constexpr_function", False) or (name == "__init__" and isinstance(member, types.FunctionType))):
        return None
    units = kind.__dict__.get("__aggregate_units__")
    if units is None:
        units = kind.__aggregate_units__ = {}
    if name not in units:
        units[name] = JITFunction(getattr(member, "fn", member))
        units[name]._is_constexpr_unit = True
    return units[name]


class Units:
    """The units that a kernel reaches, itself first, in the order in which they are met."""

    def __init__(self, kernel, also=()):
        self.members, self.tuples = [], []  # functions and classes, and these as the compiler takes them
        self.evaluated = {}  # (unit, name): function of Python
        self.used = {}  # (name, number of its namespace): (value, namespace), of constexprs
        self._enclosing = {}  # by function: names of those around it
        for member in (kernel, *also):
            self.number(member)
        for member in self.members:  # grows as names lead to others
            self.tuples.append(self._aggregate(member) if _is_aggregate(member) else _record(member) if isinstance(member, type)
                               else self._unit(member))

    @property
    def functions(self):
        return [member for member in self.members if not isinstance(member, type)]

    @property
    def records(self):
        """{id(class of named tuples): number of its unit}"""
        return {id(member): i for i, member in enumerate(self.members) if _is_record(member)}

    def number(self, member):
        for i, known in enumerate(self.members):
            if known is member:
                return i
        self.members.append(member)
        return len(self.members) - 1

    def _aggregate(self, kind):
        """The unit of an aggregate: its fields, and its methods as bindings."""
        defaults = kind.__aggregate_defaults__
        fields = [(name, literal(defaults[name], self.number) if name in defaults else None) for name in kind.__aggregate_fields__]
        methods = []
        for name, member in kind.__aggregate_members__.items():
            is_static = isinstance(member, staticmethod)
            unit = _method_unit(kind, name, member.__func__ if is_static else member)
            if unit is not None:
                methods.append((name, "unit", "static" if is_static else None, self.number(unit)))
        return "aggregate", kind.__name__, fields, methods

    def _unit(self, function):
        text = function._unit_text
        self._check_parameters(function)
        bindings = {}
        for name, line, _, where in _tilec.names(text.source):
            if where != "decorator":
                self._bind(function, name, where, bindings)
        must_use = getattr(function, "_must_use_result", None)
        kind = "constexpr" if getattr(function, "_is_constexpr_unit", False) else "function"
        return (kind, text.path, function.__name__, text.source, text.def_line, 1, bool(function.noinline), [*bindings.values()],
                tuple(function._names_of(function.do_not_specialize)), tuple(function._names_of(function.do_not_specialize_on_alignment)),
                (must_use if isinstance(must_use, str) else "") if must_use else None)

    @staticmethod
    def _check_parameters(function):
        from tilec.triton.compiler.errors import CompilationError

        for param in function.params:
            if param.is_constexpr and (param.do_not_specialize or param.do_not_specialize_on_alignment):
                raise CompilationError(function.src, None, f"{param.name} marked as constexpr and listed in do_not_specialize or "
                                       "do_not_specialize_on_alignment: a constexpr is always specialised on")

    def _bind(self, function, dotted, where, bindings):
        fn = function.fn
        root, *rest = dotted.split(".")
        frees = self._enclosing.setdefault(function, Enclosing(fn))
        namespace = frees if root in frees else fn.__globals__
        value = namespace.get(root, _NOTHING)
        if value is _NOTHING:
            return  # Python's own, or nobody's: the compiler says so where it stands
        name = root
        while rest and isinstance(value, (types.ModuleType, type)) and not _is_ours(value) and not _is_aggregate(value):
            bindings.setdefault(name, (name, "namespace", None, -1))
            value = getattr(value, rest[0], _NOTHING)
            if value is _NOTHING:
                return
            name += "." + rest.pop(0)
        made = self._binding(function, name, value, where, namespace)
        if name not in bindings or bindings[name][1] == "unusable":
            bindings[name] = made

    def _binding(self, function, name, value, where, namespace):
        if _is_ours(value):
            return name, "language", _path(value.__name__), -1
        if hasattr(value, "_unit_text"):
            return name, "unit", None, self.number(value)
        if isinstance(value, types.ModuleType):
            return name, "namespace", None, -1
        if _is_record(value) or _is_aggregate(value):
            return name, "unit", None, self.number(value)
        if getattr(value, "_is_constexpr_function", False):
            self.evaluated[self.number(function), name] = value
            return name, "evaluate", value.cache_key, -1
        if builtins.is_marked(value):
            self.evaluated[self.number(function), name] = value
            return name, "evaluate", builtins.key(value), -1
        if getattr(value, "__module__", "") and str(value.__module__).startswith("tilec.triton") and hasattr(value, "__qualname__"):
            return name, "language", _path(f"{value.__module__}.{value.__qualname__}"), -1
        return self._value(function, name, value, where, namespace)

    def _value(self, function, name, value, where, namespace):
        text = literal(value, self.number)
        is_constant = isinstance(value, (core.constexpr, core.dtype, Enum))
        if text is not None and (is_constant or "." in name or where in ("default", "annotation") or _globals_allowed()):
            if is_constant or where not in ("default", "annotation"):
                self.used[name, id(namespace)] = (value, namespace)
            return name, "literal", text, -1
        if getattr(value, "__module__", None) in _COMPUTED and callable(value):
            self.evaluated[self.number(function), name] = value
            return name, "evaluate", f"{value.__module__}.{value.__qualname__}", -1
        if callable(value):
            return name, "unusable", f"Unsupported function referenced: {value!r}: kernels call @triton.jit functions", -1
        return name, "unusable", _GLOBAL.format(name), -1

    def key(self):
        """Identifies what the units say, in every process."""
        return hashlib.sha256(repr(self.tuples).encode()).hexdigest()

    def check_globals(self):
        """RuntimeError if a constexpr that a kernel was compiled with is another one by now."""
        for (name, _), (value, namespace) in self.used.items():
            now = namespace.get(name.partition(".")[0], _NOTHING)
            if "." in name or now is value:
                continue
            if now is _NOTHING or literal(now) != literal(value):
                raise RuntimeError(f"Global variable {name} has changed since we compiled this kernel, from {value} to {now}")


def _globals_allowed():
    return os.environ.get("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "0") == "1"

