"""What projects import and their kernels have no use for, where it is not there: modules that have the names. The projects' files stay as
they are."""
import importlib
import logging
import os
import sys
import types


def _module(name, **names):
    module = types.ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


def _untouched(*arguments, **words):
    """A decorator, with arguments or without, that changes nothing; a function that patches something else."""
    return arguments[0] if len(arguments) == 1 and callable(arguments[0]) and not words else _untouched


def _unsloth(folder, is_cpu):
    """The package without its __init__.py, which patches transformers, and without unsloth_zoo, of which kernels use a few names."""
    from packaging.version import Version

    if is_cpu:
        os.environ["UNSLOTH_ALLOW_CPU"] = "1"
    os.environ["UNSLOTH_ZOO_IS_PRESENT"] = "1"
    _module("unsloth_zoo", __path__=[])
    _module("unsloth_zoo.utils", Version=lambda text: Version(str(text).split("+")[0]))
    _module("unsloth_zoo.log", logger=logging.getLogger("unsloth_zoo"))
    _module("unsloth_zoo.temporary_patches", __path__=[])
    _module("unsloth_zoo.temporary_patches.common", torch_compile=_untouched)
    _module("unsloth_zoo.loss_utils", patch_loss_functions=_untouched, post_patch_loss_function=_untouched)
    _module("unsloth_zoo.patching_utils", patch_layernorm=_untouched)
    package = _module("unsloth", __path__=[folder])
    from unsloth import device_type

    package.DEVICE_TYPE = device_type.DEVICE_TYPE


def _hopper():
    """Tensors of the CPU go the way of a GPU: what projects ask of torch.cuda where there is none."""
    import torch

    properties = types.SimpleNamespace(name="NVIDIA H200", major=9, minor=0, multi_processor_count=4, total_memory=1 << 37, warp_size=32,
                                       shared_memory_per_block=49152, shared_memory_per_block_optin=232448)
    torch.cuda.get_device_properties = lambda device=None: properties
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_device_name = lambda device=None: properties.name
    try:
        from liger_kernel import utils
    except ImportError:
        return
    utils.infer_device = lambda: "cuda"


def install(is_cpu):
    """Of the projects that sys.path leads to."""
    if is_cpu:
        _hopper()
    for folder in sys.path:
        if os.path.isfile(os.path.join(folder, "unsloth", "device_type.py")):
            _unsloth(os.path.join(folder, "unsloth"), is_cpu)
            break


def load(name):
    """The module, which what prints its tables of configurations need not be there for."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
    _module("pandas", DataFrame=None)
    try:
        return importlib.import_module(name)
    finally:
        del sys.modules["pandas"]  # others ask whether it is there
