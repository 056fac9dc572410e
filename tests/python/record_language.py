"""Makes Inputs/language.json: answers of the Triton that is installed for the Python which runs this.

    python record_language.py > Inputs/language.json"""
import inspect
import json
import sys

from language_cases import expressions, outcome, scope

MODULES = ("triton.language", "triton.language.core", "triton.language.math", "triton.language.standard", "triton.language.random",
           "triton.language.extra.libdevice", "triton.language.extra.cuda", "triton.language.target_info")


def parameters(value):
    """Of a function, without what only Triton's compiler passes; None of what is no function."""
    value = getattr(value, "fn", value)
    if not inspect.isfunction(value):
        return None
    return [name for name in inspect.signature(value).parameters if not name.startswith("_")]


def public(module):
    """Names that are Triton's own, and not what its modules import."""
    for name, value in sorted(vars(module).items()):
        home = getattr(value, "__module__", None) or type(value).__module__
        if not name.startswith("_") and name != "T" and not inspect.ismodule(value) and home.startswith("triton") and not home.startswith("triton.runtime"):
            yield name, parameters(value)


def main():
    import importlib

    import triton

    where = scope()
    names = {name: dict(public(importlib.import_module(name))) for name in MODULES}
    json.dump({"version": triton.__version__, "names": names,
               "answers": {expression: outcome(expression, where) for expression in expressions()}},
              sys.stdout, indent=0, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
