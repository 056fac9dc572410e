"""`import triton` as `import tilec.triton`: the same module objects under both names."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys

ALIAS, REAL = "triton", "tilec.triton"


class _Loader(importlib.abc.Loader):
    """Gives a module that is there already; it stays what it is."""

    def create_module(self, spec):
        module = importlib.import_module("tilec." + spec.name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state

    def get_code(self, name):
        """For `python -m triton.X`."""
        spec = importlib.util.find_spec("tilec." + name)
        return spec.loader.get_code(spec.name)


class _Distribution(importlib.metadata.Distribution):
    """What asks for the version of an installed `triton`."""

    def read_text(self, filename):
        if filename != "METADATA":
            return None
        from tilec.triton import __version__

        return f"Metadata-Version: 2.1\nName: {ALIAS}\nVersion: {__version__}\n"

    def locate_file(self, path):
        return importlib.util.find_spec(REAL).submodule_search_locations[0] + "/" + str(path)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != ALIAS and not name.startswith(ALIAS + "."):
            return None
        real = importlib.util.find_spec("tilec." + name)
        if not real:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Loader(), origin=real.origin,
                                              is_package=real.submodule_search_locations is not None)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        if context.name is None or re.sub(r"[-_.]+", "-", context.name).lower() == ALIAS:
            yield _Distribution()


_finder = _Finder()


def _ours():
    return [name for name in sys.modules if (name == ALIAS or name.startswith(ALIAS + ".")) and
            sys.modules.get("tilec." + name) is sys.modules[name]]


def install():
    module = sys.modules.get(ALIAS)
    if module is not None and module is not sys.modules.get(REAL):
        raise ImportError(f"another triton is imported already, from {getattr(module, '__file__', '?')}: "
                          "call tilec.install() before it is", name=ALIAS)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        importlib.invalidate_caches()


def uninstall():
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    for name in _ours():
        del sys.modules[name]
