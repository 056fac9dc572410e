"""What @triton.jit makes of a function, apart from launches: its text, its place, its identity."""
import functools
import importlib
import inspect
import textwrap
import threading

from tilec.triton._knob_types import changed
from tilec.triton.runtime.source import Text, Units

# Made anew where a function comes to by pickling.
_OF_PROCESS = ("_functions", "_lock", "_units", "_kernels", "device_caches", "_hash_lock", "_binder", "_param_types",
               "_is_quick")


def get_full_name(fn):
    return f"{fn.__module__}.{fn.__qualname__}"


def get_jit_fn_file_line(fn):
    """(file, line of its def), also of what @autotune and others made of it."""
    while not isinstance(fn, JITCallable):
        fn = fn.fn
    return fn.file_name, fn.def_file_line_number


class JITCallable:
    """A function of Triton's language. Attributes are Triton's; `units`: what it reaches, for the compiler."""

    def __init__(self, fn):
        self.fn = fn
        self.signature = inspect.signature(fn)
        self._fn_name = get_full_name(fn)
        self._unit_text = Text(fn)
        self._hash = None
        functools.update_wrapper(self, fn)
        del self.__wrapped__  # inspect would look for the text there, whichever it is by now
        self.__globals__ = fn.__globals__
        self._begin_process()

    def _begin_process(self):
        self._lock, self._hash_lock, self._units = threading.Lock(), threading.RLock(), None

    # Text

    @property
    def src(self):
        """Its text from `def` on, dedented."""
        return textwrap.dedent(self._unit_text.source)

    @src.setter
    def src(self, text):
        raise AttributeError("Cannot set attribute 'src' directly. Use '_unsafe_update_src()' and manually clear `.hash` of all callers"
                             "instead.")

    def _unsafe_update_src(self, text):
        """Another text in its place; callers have to be told by `hash = None`."""
        self._unit_text.source = text
        self.hash = None

    @property
    def raw_src(self):
        return self._unit_text.raw

    @property
    def starting_line_number(self):
        return self._unit_text.first_line

    @property
    def file_name(self):
        return self._unit_text.path

    @property
    def def_file_line_number(self):
        return self._unit_text.def_line

    @property
    def def_file_col_number(self):
        return self._unit_text.column - 1

    def parse(self):
        import ast

        tree = ast.parse(self.src)
        assert len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef)
        return tree

    # Identity

    @property
    def units(self):
        if self._units is None:
            self._units = Units(self)
        return self._units

    @property
    def hash(self):
        """The cache key, if it was asked for; None forgets it, and what was compiled."""
        return self._hash

    @hash.setter
    def hash(self, value):
        self._hash = value
        if value is None:
            self._forget()
            changed()  # launchers have found kernels that it is an argument of

    def _forget(self):
        self._units = None

    @property
    def cache_key(self):
        """The same in every process for the same text, place, and all that it reaches."""
        if self._hash is None:
            self._hash = self.units.key()
        return self._hash

    @property
    def used_global_vals(self):
        """{(name, number of its namespace): (value, namespace)} of constexprs that it was compiled with."""
        kept = self.__dict__.get("used_global_vals")
        return kept if kept or self.fn is None else self.units.used  # torch takes `fn` away from what it pickles

    @used_global_vals.setter
    def used_global_vals(self, value):
        self.__dict__["used_global_vals"] = value

    def get_capture_scope(self):
        """What names of the function stand for: its module's, and those of functions around it."""
        from tilec.triton.runtime.source import _frees

        return self.__globals__ | _frees(self.fn)

    @property
    def type(self):
        from tilec.triton.language.core import constexpr_type

        return constexpr_type(self)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    # Pickling: by name where the module has it, else what it holds.

    def __reduce_ex__(self, protocol):
        if self.fn is not None and find_function(self.fn.__module__, self.fn.__qualname__) is self:
            return _by_name, (self.fn.__module__, self.fn.__qualname__)
        return _made, (type(self),), {name: value for name, value in self.__dict__.items() if name not in _OF_PROCESS}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._begin_process()


def find_function(module, name):
    """The function that a module has under a name, behind what decorators made of it; None: there is none."""
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    while not isinstance(found, JITCallable) and hasattr(found, "fn"):
        found = found.fn
    return found


def _by_name(module, name):
    found = find_function(module, name)
    if not isinstance(found, JITCallable):
        raise AttributeError(f"module {module!r} has no function {name!r} of @triton.jit")
    return found


def _made(kind):
    return kind.__new__(kind)
