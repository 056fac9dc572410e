"""What Triton has and tilec has not: named where it is reached, with what to use instead."""


def lookup(module, table, otherwise=None):
    """`__getattr__` of a module: AttributeError, so that hasattr() is false, in words for names of `table` {name: what instead}."""

    def missing(name):
        instead = table.get(name) or (otherwise and not name.startswith("__") and otherwise(name))
        if instead:
            raise AttributeError(f"{module}.{name} is not in tilec: {instead}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


def function(name, instead):
    """A name that can be imported and raises NotImplementedError when it is called."""

    def refused(*args, **keywords):
        raise NotImplementedError(f"{name} is not in tilec: {instead}")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    refused.__doc__ = f"Not in tilec: {instead}."
    return refused
