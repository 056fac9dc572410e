"""Classes whose values are records of values in kernels."""
import builtins
import inspect

from tilec.triton.language._types import base_type, base_value, constexpr, tuple, tuple_type

_REQUIRED = object()


class _aggregate_type(base_type):
    """Of a record: its class, and [(name, type)]."""

    def __init__(self, base_cls, fields):
        self.base_cls, self.fields = base_cls, fields

    def __eq__(self, other):
        return isinstance(other, _aggregate_type) and (self.base_cls, self.fields) == (other.base_cls, other.fields)

    def __hash__(self):
        return hash((self.base_cls, *self.fields))

    def mangle(self):
        inner = ", ".join(type.mangle() for _, type in self.fields)
        return f"{self.base_cls.__module__}.{self.base_cls.__qualname__}<{inner}>"


def _as_value(x):
    """Plain values in fields are constants."""
    if isinstance(x, base_value):
        return x
    if isinstance(x, builtins.tuple):
        items = [_as_value(item) for item in x]
        return tuple(items, tuple_type([item.type for item in items], getattr(x, "_fields", None)))
    return constexpr(x)


def _fields_of(cls):
    """{name: annotation} and {name: default}, those of its bases first."""
    annotations, defaults = {}, {}
    for base in reversed(cls.__mro__[1:]):
        if base in (object, base_value):
            continue
        if not getattr(base, "__triton_aggregate__", False):
            raise TypeError(f"Aggregates can only inherit from other aggregates, but got non-aggregate base: {base}")
        annotations.update(inspect.get_annotations(base))
        defaults.update(getattr(base, "__aggregate_defaults__", {}))
    for name, annotation in inspect.get_annotations(cls, eval_str=True).items():
        annotations[name] = annotation
        value = cls.__dict__.get(name, _REQUIRED)
        if value is not _REQUIRED and (isinstance(value, base_value) or not callable(value)):
            defaults[name] = value
    return annotations, defaults


def _constructor(cls, annotations, defaults):
    """What a class without __init__ gets: its fields by place and by name."""
    Parameter = inspect.Parameter
    # A field without a default may stand behind one that has one: Python's signatures forbid it, so defaults are filled in here.
    signature = inspect.Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name, _REQUIRED))
                                   for name in annotations])

    def __init__(self, *args, **keywords):
        try:
            given = signature.bind(*args, **keywords)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.__init__() {error}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            if value is _REQUIRED:
                raise TypeError(f"{cls.__name__}.__init__() missing required argument: '{name}'")
            setattr(self, name, _as_value(value))

    __init__.__triton_builtin__ = True
    return __init__


def _aggregate(cls):
    """Decorator: the annotated fields of a class are what its values consist of in a kernel."""
    annotations, defaults = _fields_of(cls)
    init = cls.__dict__.get("__init__") or _constructor(cls, annotations, defaults)
    hidden = set() if not inspect.isfunction(init) else {"_semantic", "_generator"} & set(inspect.signature(init).parameters)

    class aggregate_value(base_value):
        __triton_builtin__ = True
        __triton_aggregate__ = True
        __annotations__ = annotations

        @classmethod
        def _get_instance(this):
            return object.__new__(this)

        def __new__(this, *args, _semantic=None, _generator=None, **keywords):
            made = this._get_instance()
            given = {"_semantic": _semantic, "_generator": _generator}
            init(made, *args, **{name: given[name] for name in hidden}, **keywords)
            for name in annotations:
                if name not in made.__dict__:
                    raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
            return made

        def __setattr__(self, name, value):
            if name not in annotations:
                raise AttributeError(f"{cls.__name__} has no attribute '{name}'")
            if not isinstance(value, annotations[name]):
                raise TypeError(f"Expected {annotations[name]} for attribute '{name}', got {type(value)}")
            super().__setattr__(name, value)

        @property
        def type(self):
            return _aggregate_type(aggregate_value, [(name, getattr(self, name).type) for name in annotations])

    members = {name: member for base in reversed(cls.__mro__[:-1]) for name, member in vars(base).items()
               if not name.startswith("__annot") and name not in vars(aggregate_value) and name not in annotations
               and (callable(member) or isinstance(member, (property, staticmethod, classmethod)))}
    for name, member in members.items():
        if name != "__init__":
            setattr(aggregate_value, name, member)
    aggregate_value.hash_attrs = [init, *(member for name, member in members.items() if name != "__init__")]
    aggregate_value.__aggregate_fields__ = builtins.tuple(annotations)
    aggregate_value.__aggregate_defaults__ = defaults
    aggregate_value.__aggregate_members__ = members  # __init__ among them where the class has one
    for name in ("__name__", "__module__", "__qualname__", "__doc__"):
        setattr(aggregate_value, name, getattr(cls, name))
    return aggregate_value


def aggregate_replace(instance, **changes):
    """A copy of a record with some of its fields replaced."""
    cls = type(instance)
    if not getattr(cls, "__triton_aggregate__", False):
        raise TypeError(f"aggregate_replace() expects an aggregate instance, got {cls}")
    for name in changes:
        if name not in cls.__aggregate_fields__:
            raise TypeError(f"{cls.__name__} has no field '{name}'")
    return cls(**{name: getattr(instance, name) for name in cls.__aggregate_fields__} | changes)


aggregate_replace.__module__ = "tilec.triton.language.core"  # by which kernels name it
