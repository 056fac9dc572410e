"""tilec: Triton's language, compiled, launched and checked by libtilec.

`import tilec.triton as triton` uses it in one file; `tilec.install()`, or `python -m tilec SCRIPT`, makes `import triton` mean it
everywhere, in subprocesses too."""
import os as _os

__all__ = ["install", "uninstall", "devices", "version"]


def install():
    """From here on `import triton`, and all that is below it, is tilec.triton: in this process and in those it starts.

    ImportError if another Triton was imported before."""
    from tilec import _alias

    _alias.install()
    _os.environ["TILEC_TRITON"] = "1"


def uninstall():
    """Undoes install(): later imports of triton find what is installed under that name."""
    from tilec import _alias

    _alias.uninstall()
    _os.environ.pop("TILEC_TRITON", None)


def version():
    """"0.1.0": of libtilec."""
    from tilec import _tilec

    return _tilec.version()


def devices():
    """The GPUs of this machine, each a dict of its properties; [] where there is no driver."""
    from tilec import _tilec

    return [_tilec.Device(i).properties() for i in range(_tilec.device_count())]


def __getattr__(name):
    if not name.startswith("_"):
        from importlib import import_module

        fault = import_module("tilec._fault")
        if name in fault.PUBLIC:
            return getattr(fault, name)
    raise AttributeError(f"module 'tilec' has no attribute {name!r}")
