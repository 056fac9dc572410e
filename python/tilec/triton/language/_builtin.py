"""Functions of the language as objects: they have names and signatures, and run in kernels alone."""
TRITON_BUILTIN = "__triton_builtin__"

_OUTSIDE = ("Did you forget to add @triton.jit ? (`_semantic` argument must be provided outside of JIT functions.) "
            "tl.{0} works in kernels, not on the host")
_INSIDE = ("tl.{0} in a function marked as builtin, which tilec runs in Python, where nothing is built: "
           "make it a @triton.jit function")


class Builtin:
    """One name of src/frontend/builtins.def. `params`: its parameters, as text."""

    __triton_builtin__ = True

    def __init__(self, name, params, module):
        self.__name__ = self.__qualname__ = name
        self.__module__ = module
        self.params = params
        self.__doc__ = f"{name}({params}): in kernels; docs/language.md of tilec says where it differs from Triton's."

    def __call__(self, *args, **keywords):
        if keywords.get("_semantic") is None:
            raise ValueError(_OUTSIDE.format(self.__name__))
        raise NotImplementedError(_INSIDE.format(self.__name__))

    def __getattr__(self, name):
        """`__signature__` when it is first asked for, with Triton's hidden parameter."""
        if name != "__signature__":
            raise AttributeError(f"tl.{self.__name__} has no attribute {name!r}")
        import inspect

        from tilec.triton import language

        hidden = ", ".join([self.params, "_semantic=None"] if self.params else ["_semantic=None"])
        self.__signature__ = inspect.signature(eval(f"lambda {hidden}: None", {"tl": language}))
        return self.__signature__

    def __repr__(self):
        return f"<function {self.__module__}.{self.__name__} of the language>"

    def __reduce__(self):
        return self.__qualname__


class HostBuiltin(Builtin):
    """One that the host may call as well: `fn` does there what the compiler does with constants."""

    def __init__(self, fn, module):
        code = fn.__code__
        super().__init__(fn.__name__, ", ".join(code.co_varnames[:code.co_argcount]), module)
        self.fn, self.__doc__ = fn, fn.__doc__

    def __call__(self, *args, _semantic=None, **keywords):
        from tilec.triton.language.core import _unwrap_if_constexpr, constexpr

        made = self.fn(*map(_unwrap_if_constexpr, args), **{name: _unwrap_if_constexpr(x) for name, x in keywords.items()})
        return made if _semantic is None else constexpr(made)


def host_builtin(fn):
    return HostBuiltin(fn, fn.__module__)


def builtin(fn):
    """Marks a function of the user's: kernels that call it have it run in Python while they are compiled."""
    import functools

    assert callable(fn), f"{fn!r} cannot be called"

    @functools.wraps(fn)
    def marked(*args, **keywords):
        if keywords.get("_semantic") is None:
            raise ValueError(_OUTSIDE.format(fn.__name__))
        return fn(*args, **keywords)

    marked.__triton_builtin__ = True
    return marked


def extern(fn):
    """builtin(), by the name it has for functions of libraries."""
    return builtin(fn)


def is_builtin(fn):
    return getattr(fn, TRITON_BUILTIN, False)


def must_use_result(x, s=True):
    """Marks a function whose result is lost by mistake where nothing takes it; with a text: a decorator that says so."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x
