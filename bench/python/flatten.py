"""A kernel of Triton with all that it calls, as the text of one file."""
import ast
import builtins
import inspect
import re
import textwrap
import types

import torch
import triton.language as tl
from triton.runtime.jit import JITFunction

class CannotFlatten(Exception):
    """Something that the kernel needs is no part of Triton's language."""


def unwrapped(function):
    """The function itself, whatever tunes it."""
    while not isinstance(function, JITFunction) and hasattr(function, "fn"):
        function = function.fn
    return function


def dtype_name(dtype):
    """tl.float32 -> "float32", by which name the language has it."""
    return next(name for name, value in vars(tl).items() if isinstance(value, tl.dtype) and value == dtype)


class Flattened:
    """`heads`: imports; `parts`: functions, those that are called first."""

    def __init__(self, kernel):
        self.names, self.parts, self.heads = {}, [], {"import triton", "import triton.language as tl"}
        self.add(kernel)
        if len(set(self.names.values())) != len(self.names):
            raise CannotFlatten("two functions of one name")

    def text(self):
        return "\n".join(sorted(self.heads)) + "\n\n\n" + "\n\n\n".join(self.parts)

    def add(self, function):
        if id(function) in self.names:
            return
        self.names[id(function)] = function.fn.__name__
        source = textwrap.dedent(inspect.getsource(function.fn))
        source = source[re.search(r"^def ", source, re.M).start():]
        tree = ast.parse(source)
        known = function.fn.__globals__ | inspect.getclosurevars(function.fn).nonlocals
        own = {argument.arg for argument in tree.body[0].args.args}
        before = []
        for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own):
            if name in known:
                source = self.add_global(name, known[name], before, source)
        self.parts.append("\n".join([*before, "@triton.jit", source]))

    def add_global(self, name, value, before, source):
        """Says what the name is, in a line before the function or in its source, which comes back."""
        inner = unwrapped(value)
        if isinstance(inner, JITFunction):
            self.add(inner)
            if self.names[id(inner)] != name:
                before.append(f"{name} = {self.names[id(inner)]}")
        elif isinstance(value, types.ModuleType):
            if not value.__name__.startswith(("triton", "math")):
                raise CannotFlatten(f"module {value.__name__}")
            self.heads.add(f"import {value.__name__} as {name}")
        elif isinstance(value, (torch.finfo, torch.iinfo)):
            for field in ("min", "max", "eps", "tiny", "bits"):
                if hasattr(value, field):
                    source = re.sub(rf"\b{name}\.{field}\b", repr(getattr(value, field)), source)
        elif isinstance(value, tl.constexpr):
            before.append(f"{name} = tl.constexpr({constant_text(value.value)})")
        elif isinstance(value, (bool, int, float, str, tl.dtype)):
            before.append(f"{name} = {constant_text(value)}")
        elif getattr(value, "__module__", "").startswith("triton"):
            self.heads.add(f"from {value.__module__} import {value.__name__} as {name}")
        elif not hasattr(builtins, name):
            raise CannotFlatten(f"{name}, a {type(value).__name__}")
        return source


def constant_text(value):
    return f"tl.{dtype_name(value)}" if isinstance(value, tl.dtype) else repr(value)
